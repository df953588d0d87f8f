"""Runs one impact in an engine. Needs no package but that of the engine, so that it also runs as a program.

`python -I worker.py FILE CLASS` runs in the environment of an engine that does not share Carom's. It answers each line
of JSON on its standard input, `{"bodies": [...], "planes": [...], "restitution": c}`, by one line
`{"velocities": [...], "steps": k}`.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import Any

QUIET_STEPS = 10  # consecutive steps without a change of any linear velocity after which the impact is over
QUIET = 1e-6  # change that counts as none, relative to the fastest component: some engines have single precision
MOST_STEPS = 4000  # an impact that is not over by then is measured as it is


def load(file: str, name: str) -> Any:
    """The class `name` of a Python file."""
    spec = importlib.util.spec_from_file_location(f"engine_{name.lower()}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def run(engine: Any, bodies: Any, planes: Any, restitution: float) -> tuple[list[list[float]], int]:
    """Velocities of the bodies after the impact, in the order of `bodies`, and the number of steps made.

    The impact is over when no linear velocity changes any more; spins of boxes change in free flight too. The answer is
    the state right after the last change.

    Raises NotImplementedError if the engine has no way to set the scene up.
    """
    engine.start(restitution)
    for point, normal, speed in planes:
        engine.add_plane(point, normal, speed)
    for mass, size, position, velocity, *parts in bodies:
        if not parts:
            engine.add_body(mass, size, position, velocity)
        elif hasattr(engine, "add_parts"):
            engine.add_parts(mass, parts[0], position, velocity)
        else:
            raise NotImplementedError("a body of several parts (add_parts)")
    answer, quiet, steps = [list(map(float, body[3])) for body in bodies], 0, 0
    count = len(answer[0]) // 3 + 1  # of linear components: 2 of 3, or 3 of 6
    before = answer
    while quiet < QUIET_STEPS and steps < MOST_STEPS:
        engine.step()
        after = [list(map(float, velocity)) for velocity in engine.velocities()]
        top = max(abs(v) for row in before + after for v in row)
        change = max(abs(a - b) for new, old in zip(after, before) for a, b in zip(new[:count], old[:count]))
        if change <= QUIET * top:
            quiet += 1
        else:
            answer, quiet = after, 0
        before, steps = after, steps + 1
    return answer, steps


def main(file: str, name: str) -> None:
    """Answers requests until standard input ends."""
    engine = load(file, name)()
    facts = {key: getattr(engine, key) for key in ("title", "settings", "dimension")}
    print(json.dumps(facts), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            velocities, steps = run(engine, request["bodies"], request["planes"], request["restitution"])
        except NotImplementedError as reason:
            print(json.dumps({"refused": str(reason)}), flush=True)
        else:
            print(json.dumps({"velocities": velocities, "steps": steps}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

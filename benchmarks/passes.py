"""What a step passes through: Python calls per step, and the files and functions of a step with uncompiled kernels.

`python -m benchmarks.passes` prints both, and the size of the packages between bodies and velocities. All numbers are
counts, so that they do not depend on the speed of the machine.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import carom
from carom.scene.shapes import Box
from carom.scenes import make_scene

from .report import Row
from .settling import settling

PACKAGE = Path(carom.__file__).parent
MIDDLE = ("contact", "problem", "resolve", "solvers", "friction", "stepping")  # from bodies to velocities
WIDE = 8  # arguments; functions with more are counted
TRACE = "--trace"


# ---- the way of one step


def traced(scene: str, steps: int) -> dict[str, int]:
    """Files, functions and changes of file of the longest way that a step takes; kernels must be uncompiled.

    What runs while a module is imported, which steps do late, is no part of the way.
    """
    sim = carom.Simulation(make_scene(scene))
    longest = {"files": 0, "functions": 0, "changes": 0}
    functions: set[tuple[str, str, int]] = set()
    changes, last, imports = 0, "", 0

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal changes, last, imports
        name = frame.f_code.co_filename
        if frame.f_code.co_name == "<module>" and event in ("call", "return"):
            imports += 1 if event == "call" else -1
        elif event == "call" and imports == 0 and name.startswith(str(PACKAGE)):
            functions.add((name, frame.f_code.co_name, frame.f_code.co_firstlineno))
            changes, last = changes + int(name != last), name

    for _ in range(steps):
        functions, changes, last = set(), 0, ""
        sys.setprofile(watch)
        sim.step()
        sys.setprofile(None)
        way = {"files": len({name for name, *_ in functions}), "functions": len(functions), "changes": changes}
        longest = max(longest, way, key=lambda w: w["functions"])
    return longest


def uncompiled_trace(scene: str, steps: int) -> dict[str, int]:
    """`traced` in a process without compiled kernels."""
    command = [sys.executable, "-m", "benchmarks.passes", TRACE, scene, str(steps)]
    here = Path(__file__).resolve().parents[1]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def python_calls(sim: carom.Simulation, steps: int) -> float:
    """Calls of Python functions per step, those of libraries included."""
    count = 0

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(watch)
    for _ in range(steps):
        sim.step()
    sys.setprofile(None)
    return count / steps


def boxes_at_rest(count: int = 50) -> carom.Simulation:
    """Boxes that have settled for three seconds."""
    sim = carom.Simulation(settling(Box((0.8, 0.8, 0.8)), count))
    sim.run(until=720 * sim.time_step)
    return sim


def boxes_settling(count: int = 1000, steps: int = 200) -> carom.Simulation:
    """Boxes in the middle of their fall into a heap."""
    sim = carom.Simulation(settling(Box((0.8, 0.8, 0.8)), count))
    sim.run(until=steps * sim.time_step)
    return sim


# ---- size


def middle_size() -> tuple[int, int]:
    """Lines and files of the packages between bodies and velocities."""
    files = [path for part in MIDDLE for path in (PACKAGE / part).rglob("*.py")]
    return sum(path.read_text(encoding="utf-8").count("\n") for path in files), len(files)


def wide_functions() -> list[str]:
    """All functions of the source with more than WIDE arguments, the widest first."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                count = len(node.args.args) + len(node.args.kwonlyargs)
                if count > WIDE:
                    found.append((-count, f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}"))
    return [f"{-count} {name}" for count, name in sorted(found)]


def run(quick: bool = False) -> list[Row]:
    """Counts of a step, beside their bounds."""
    rows = []
    for name, scene, steps, most in (
        ("pool break", "pool_break", 100, 18),
        ("3D box on a plane", "sliding_box", 100, 28),
    ):
        found = uncompiled_trace(scene, steps)
        text = f"{found['files']} files, {found['functions']} functions, {found['changes']} changes of file"
        rows.append(Row(f"step of a {name}", f"<= {most} files", text, found["files"] <= most))
    cases = [("50 boxes at rest", boxes_at_rest, 150)]
    cases += [] if quick else [("1,000 boxes settling", boxes_settling, 600)]
    for name, make, most in cases:
        calls = python_calls(make(), 20)
        rows.append(Row(f"Python calls per step, {name}", f"<= {most}", f"{calls:.0f}", calls <= most))
    lines, files = middle_size()
    asked = "<= 15,500 lines, 85 files"
    rows.append(
        Row("from bodies to velocities", asked, f"{lines:,} lines, {files} files", lines <= 15500 and files <= 85)
    )
    wide = wide_functions()
    rows.append(Row(f"functions with more than {WIDE} arguments", "<= 60", str(len(wide)), len(wide) <= 60))
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == [TRACE]:
        print(json.dumps(traced(sys.argv[2], int(sys.argv[3]))))
    else:
        from .report import table

        print(table(run("--quick" in sys.argv)))
        print("\n".join(wide_functions()))

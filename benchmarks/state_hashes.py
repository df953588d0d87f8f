"""State hashes of many runs, to compare before and after a change that must not change behavior.

`python -m benchmarks.state_hashes OUT.json [TEXT ...]` runs all cases, or those whose names contain one of the texts,
and writes {name: hash}. `python -m benchmarks.state_hashes --compare OLD.json NEW.json` lists the differences. Hashes
are those of one machine: another processor or another version of NumPy or Numba may give other bits.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import carom
from carom import simulation
from carom.scenes import make_scene
from carom.towers import Tower
from carom.towers.named import named_tower
from carom.trajectory import state_hash

LAWS = ("gr", "qce", "lcp", "gauss_seidel", "jacobi", "lzb", "etm", "sqm", "smm", "none")
Case = tuple[str, dict[str, Any], int, dict[str, Any]]  # scene, its parameters, steps, arguments of simulate

RUNS: list[Case] = [
    *(("pool_break", {"rows": 4}, 150, {"law": law}) for law in LAWS),
    ("pool_break", {}, 200, {"law": "gr", "stepper": "drift_safe"}),
    ("pool_break", {}, 40, {"law": "qce", "stepper": "time_of_impact"}),
    ("newtons_cradle", {}, 200, {"law": "gr"}),
    ("newtons_cradle_disturbed", {}, 200, {"law": "qce"}),
    ("bernoulli", {}, 60, {"law": "gr", "stepper": "time_of_impact"}),
    ("butterfly", {}, 500, {"law": "gr"}),
    ("splash", {"side": 8}, 150, {"law": "qce"}),
    ("energy_drum", {"side": 5}, 300, {"law": "lcp"}),
    ("drop", {"side": 30}, 150, {"law": "gr"}),
    ("gas", {"side": 25}, 60, {"law": "qce"}),
    ("maxwells_demon", {"side": 6, "width": 15.0}, 300, {}),
    ("box_stack", {"boxes": 5}, 100, {}),
    ("box_stack", {"boxes": 5}, 100, {"law": "qce", "friction_model": "cone"}),
    ("granular_wave_2d", {"columns": 8, "rows": 5}, 150, {}),
    ("sliding_block", {}, 200, {}),
    ("rolling_disc", {}, 200, {}),
    ("flat_box", {}, 150, {"law": "gr"}),
    ("flat_box", {}, 60, {"law": "qce", "stepper": "time_of_impact"}),
    ("box_on_edge", {}, 60, {"law": "qce"}),
    ("box_2x2x1", {}, 60, {"law": "etm"}),
    ("two_tetrahedra", {}, 100, {"law": "gr"}),
    ("matryoshka", {}, 100, {}),
    ("eight_cubes", {}, 200, {"law": "gr"}),
    ("eight_cubes", {}, 100, {"law": "qce", "stepper": "time_of_impact"}),
    ("trefoil_drop", {"detail": 16}, 120, {"law": "gr"}),
    ("cradle_3d", {}, 150, {}),
    ("pool_break_3d", {}, 150, {}),
    ("sphere_packing", {"count": 60, "side": 5.0}, 200, {}),
    ("sphere_packing", {"count": 60, "side": 5.0}, 80, {"law": "qce", "friction_model": "pyramid"}),
    ("box_tower_3d", {"boxes": 4}, 100, {}),
    ("card_house", {"stories": 2, "width": 2}, 150, {}),
    ("rolling_sphere", {}, 150, {}),
    ("sliding_box", {}, 150, {}),
    ("spinning_box", {}, 150, {}),
    ("spinning_top_free", {}, 300, {}),
]
TOWERS: list[tuple[str, Tower, dict[str, Any]]] = [
    ("diamond 5", Tower.diamond(5), {}),
    ("diamond 4", Tower.diamond(4), {"method": "acceleration"}),
    ("arch", named_tower("arch"), {}),
    ("diamond 3", Tower.diamond(3), {"coordinates": "framework"}),
]
RESUMED: list[Case] = [
    ("pool_break", {"rows": 4}, 80, {}),
    ("card_house", {"stories": 2, "width": 2}, 80, {}),
    ("box_stack", {"boxes": 4}, 80, {"stepper": "drift_safe"}),
]


class Stop(Exception):
    """Ends a run in the middle."""


def run_hash(case: Case) -> str:
    """Hash of the last state of a run."""
    scene, parameters, steps, options = case
    made = make_scene(scene, **parameters)
    return state_hash(carom.simulate(made, duration=steps * made.step, **options).last)


def resumed_hash(case: Case) -> str:
    """The same for a run that is stopped half way and resumed."""
    scene, parameters, steps, options = case
    made = make_scene(scene, **parameters)

    def stop(progress: simulation.Progress) -> None:
        if progress.step >= steps // 2:
            raise Stop

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.h5"
        with contextlib.suppress(Stop):
            carom.simulate(made, duration=steps * made.step, output=path, progress=stop, **options)
        with carom.resume(path) as run:
            return state_hash(run.last)


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--compare"]:
        old, new = (json.loads(Path(name).read_text()) for name in arguments[1:3])
        changed = [name for name in old if name in new and old[name] != new[name]]
        print(f"{len(old.keys() & new.keys())} compared, {len(changed)} differ", *changed, sep="\n")
        sys.exit(bool(changed))
    if not arguments:
        sys.exit(__doc__)
    out, wanted = Path(arguments[0]), arguments[1:]
    jobs = {" ".join(map(str, case)): lambda case=case: run_hash(case) for case in RUNS}
    for name, tower, options in TOWERS:
        jobs[f"tower {name} {options}"] = lambda t=tower, o=options: state_hash(t.collapse(steps=60, **o).last)
    jobs |= {f"resumed {' '.join(map(str, case))}": lambda case=case: resumed_hash(case) for case in RESUMED}
    found = {}
    for name, job in jobs.items():
        if not wanted or any(text in name for text in wanted):
            found[name] = job()
            print(f"{found[name][:16]}  {name}", flush=True)
    out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

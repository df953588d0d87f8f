"""The same bits for any number of threads, run and resumed, from Python and the command line, compiled and loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.state_hashes import resumed_hash, run_hash

import carom
from carom.cli.errors import run
from carom.cli.main import app
from carom.files import CACHE
from carom.scenes import make_scene
from carom.towers import Tower

SHORT = [
    ("drop", {"side": 12}, 60, {"law": "gr"}),
    ("pool_break", {"rows": 4}, 30, {"law": "qce", "stepper": "time_of_impact"}),
    ("granular_wave_2d", {"columns": 8, "rows": 5}, 60, {}),
    ("sphere_packing", {"count": 60, "side": 5.0}, 60, {}),
]
LONG = [  # the first five have 2,000 bodies and more
    ("drop", {"side": 101}, 200, {"law": "gr"}),
    ("gas", {"side": 101}, 100, {"law": "qce"}),
    ("drop", {"side": 50}, 60, {"law": "gr", "stepper": "drift_safe"}),
    ("granular_wave_2d", {"columns": 50, "rows": 40}, 200, {}),
    ("sphere_packing", {"count": 2000, "side": 12.0}, 600, {}),
    ("maxwells_demon", {}, 100, {}),
    ("card_house", {"stories": 2, "width": 2}, 60, {}),
    ("eight_cubes", {}, 60, {"law": "gr"}),
    ("box_stack", {"boxes": 5}, 100, {"law": "qce", "friction_model": "cone"}),
    ("pool_break_3d", {}, 100, {"law": "qce"}),
]


def command_hash(case, capsys) -> str:
    """The state hash that `carom run` prints for the same run."""
    scene, parameters, steps, options = case
    given = [word for name, value in parameters.items() for word in ("--set", f"{name}={value}")]
    given += [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    duration = repr(steps * make_scene(scene, **parameters).step)
    assert run(app, ["run", scene, *given, "--duration", duration, "--threads", "2", "-q", "--json"]) == 0
    return str(json.loads(capsys.readouterr().out)["state_hash"])


@pytest.mark.parametrize(
    "case", [*SHORT, *(pytest.param(case, marks=pytest.mark.long) for case in LONG)], ids=lambda c: c[0]
)
def test_the_same_bits_however_a_run_is_made(case, capsys, tmp_path, monkeypatch):
    """Tolerance 0. A run of one step less has another hash, so that equal hashes mean something."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("carom.simulation.TELL_SECONDS", 0.0)  # so that the run is stopped exactly half way
    scene, parameters, steps, options = case
    one, two = (run_hash((scene, parameters, steps, {**options, "threads": k})) for k in (1, 2))
    shorter = run_hash((scene, parameters, steps - 1, options))
    assert one == two == resumed_hash(case) == command_hash(case, capsys) != shorter


def test_a_resumed_tower_has_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr("carom.simulation.TELL_SECONDS", 0.0)

    def stop(progress):
        if progress.step == 10:
            raise InterruptedError

    whole = Tower.diamond(3).collapse(steps=20).state_hash
    with pytest.raises(InterruptedError):
        Tower.diamond(3).collapse(steps=20, output=tmp_path / "run.h5", progress=stop)
    with carom.resume(tmp_path / "run.h5") as run:
        assert run.state_hash == whole


@pytest.mark.long
def test_the_same_bits_with_an_empty_and_a_full_kernel_cache(tmp_path):
    """Kernels that are compiled and kernels that are loaded from disk, each in a process of its own."""
    cases = ["pool_break {'rows': 4} 150 {'law': 'gr'}", "box_stack {'boxes': 5} 100 {}", "tower diamond 3"]
    environment = {**os.environ, CACHE: str(tmp_path / "kernels")}
    found = []
    for name in ("cold.json", "warm.json"):
        command = [sys.executable, "-m", "benchmarks.state_hashes", name, *cases]
        subprocess.run(command, check=True, cwd=tmp_path, env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)})
        found.append(json.loads((tmp_path / name).read_text()))
    assert len(found[0]) == len(cases) and found[0] == found[1]


# ---- the order of bodies


def reordered(scene, order):
    """The scene with the bodies of its only group in another order."""
    (group,) = scene.bodies
    changed = {}
    for name in ("position", "velocity", "angle", "spin", "orientation"):
        value = np.asarray(getattr(group, name))
        if value.shape[:1] == order.shape:
            changed[name] = value[order]
    if np.shape(getattr(group.shape, "radius", 0.0)) == order.shape:
        changed["shape"] = replace(group.shape, radius=group.shape.radius[order])
    return scene.with_(bodies=[replace(group, **changed)])


def difference(name, parameters, steps, law) -> float:
    """Largest difference of positions and velocities between a run and one with its bodies in another order."""
    scene = make_scene(name, **parameters)
    order = np.random.default_rng(5).permutation(scene.bodies[0].count)
    with (
        carom.simulate(scene, law, steps * scene.step) as run,
        carom.simulate(reordered(scene, order), law, steps * scene.step) as other,
    ):
        a, b = run.last, other.last
        return max(float(np.abs(getattr(a, q)[order] - getattr(b, q)).max()) for q in ("position", "velocity"))


ORDERED = [
    ("pool_break", {"rows": 4}, 100),
    ("pool_break_3d", {}, 100),
    ("drop", {"side": 12}, 100),
    ("granular_wave_2d", {"columns": 8, "rows": 5}, 60),
]


@pytest.mark.parametrize("case", ORDERED, ids=lambda c: c[0])
def test_the_order_of_bodies_changes_rounding_only(case):
    """1e-9 on lengths up to 17 and speeds up to 15: rounding of 1e-15, which these few impacts amplify to 1e-11.

    gauss_seidel serves contacts in their order, so that its answer must differ: by a few percent of the speeds or more.
    """
    assert difference(*case, "gr") < 1e-9
    assert difference(*case, "qce") < 1e-9
    assert difference(*case, "gauss_seidel") > 0.1

"""What must hold at any speed: structures stand, energy never rises, checks pass, resumed runs keep their bits."""

from __future__ import annotations

import numpy as np

import carom
from carom import scenes
from carom.analysis.checks import check_run
from carom.analysis.runs import energy_rise
from carom.scene import Bodies, Material, Scene
from carom.scene.boundaries import Container
from carom.scene.shapes import Box, Capsule, Cylinder, Disc, Rectangle, Shape, Sphere
from carom.scenes import SCENES, make_scene
from carom.trajectory import Trajectory

from .report import Row
from .state_hashes import RESUMED, resumed_hash, run_hash

RISE = 1e-9  # of the largest kinetic energy: far above rounding errors, the bound of `carom check`
SHAPES: dict[int, tuple[Shape, ...]] = {
    2: (Disc(0.4), Rectangle(0.7, 0.5)),
    3: (Sphere(0.4), Box((0.6, 0.5, 0.4)), Capsule(0.2, 0.4), Cylinder(0.3, 0.5)),
}


def missed_steps(run: Trajectory) -> str:
    """Steps whose residual is above the tolerance of the run, where the run records a tolerance."""
    tolerance = getattr(run.settings, "tolerance", None)
    residual = np.asarray(run.steps["residual"])
    if tolerance is None:
        return f"residual at most {residual.max():.0e}"
    return f"residual at most {residual.max():.0e}, {int((residual > tolerance).sum())} steps missed {tolerance:g}"


def run_standing(quick: bool = False) -> list[Row]:
    """A house of cards and towers of ten boxes stand still."""
    cases = {
        "card house": (scenes.card_house(balls=False), 1.0 if quick else 10.0, 1e-3),
        "tower of ten, 2D": (scenes.box_stack(), 1.0 if quick else 60.0, 1e-3),
        "tower of ten, 3D": (scenes.box_tower_3d(), 1.0 if quick else 60.0, 1e-3),
    }
    rows = []
    for name, (scene, duration, bound) in cases.items():
        run = carom.simulate(scene, duration=duration)
        moved = float(np.abs(run.positions[:] - run.positions[0]).max())
        print(f"  {name}: moved by {moved:.1e}; {missed_steps(run)}", flush=True)
        name = f"{name} stands, {duration:g} s"
        rows.append(Row(name, f"moves <= {bound:g} of a length", f"{moved:.1e}", moved <= bound))
    return rows


def random_scene(seed: int) -> Scene:
    """Bodies of a few shapes with random velocities in a container; material, law and stepper are random, too."""
    chance = np.random.default_rng(seed)
    dimension = int(chance.integers(2, 4))
    across = int(chance.integers(2, 4))
    corner = np.stack(np.meshgrid(*[np.arange(across)] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    place = corner + 0.5 - 0.5 * across + chance.uniform(-0.03, 0.03, corner.shape)
    order = chance.permutation(len(place))
    groups = []
    for shape, members in zip(SHAPES[dimension], np.array_split(order, len(SHAPES[dimension]))):
        spin = chance.normal(size=(len(members), 3)) if dimension == 3 else chance.normal(size=len(members))
        groups.append(Bodies(shape, place[members], chance.normal(size=(len(members), dimension)), spin=spin, mass=1.0))
    half = 0.5 * across + 0.05
    gravity = np.zeros(dimension)
    gravity[-1] = chance.choice([0.0, -9.81])
    return Scene(
        name=f"random_{seed}",
        bodies=[group for group in groups if group.count],
        boundaries=[Container((-half,) * dimension, (half,) * dimension)],
        materials={"default": Material(float(chance.uniform(0.0, 1.0)), float(chance.choice([0.0, 0.2, 0.7])))},
        gravity=tuple(gravity),
        step=float(chance.choice([0.002, 0.01])),
        stepper=str(chance.choice(["drift_safe", "synchronous"])),
        law=str(chance.choice(["gr", "qce"])),
    )


def run_fuzz(quick: bool = False) -> list[Row]:
    """The largest rise of energy in random scenes."""
    count, steps = (10, 20) if quick else (300, 60)
    rises = []
    for seed in range(count):
        scene = random_scene(seed)
        rises.append(float(energy_rise(carom.simulate(scene, duration=steps * scene.step)).max()))
    worst = int(np.argmax(rises))
    failed = int((np.array(rises) > RISE).sum())
    measured = f"{rises[worst]:.1e} (scene {worst}), {failed} scenes above"
    return [Row(f"energy of {count} random scenes", f"rises <= {RISE:g}", measured, failed == 0)]


def run_checks(quick: bool = False) -> list[Row]:
    """`carom check` on every scene of the library, with its default parameters and duration."""
    failed, count = [], 0
    for name, entry in SCENES.items():
        scene = make_scene(name, **(entry.small if quick else {}))
        run = carom.simulate(scene, duration=min(20 * scene.step, scene.duration) if quick else None)
        bad = [check for check in check_run(run) if check.passed is False]
        count += 1
        if bad:
            failed.append(name)
            text = ", ".join(f"{check.name} {check.value:.1e} > {check.bound:.1e}" for check in bad)
            print(f"  {name}: {text}; {missed_steps(run)}", flush=True)
    measured = f"{count - len(failed)} of {count} pass" + (f"; not {', '.join(failed)}" if failed else "")
    return [Row("carom check on every scene", "all pass", measured, not failed)]


def run_resume(quick: bool = False) -> list[Row]:
    """Runs that are stopped half way and resumed have the bits of runs that are not."""
    cases = RESUMED[:1] if quick else RESUMED
    same = [run_hash(case) == resumed_hash(case) for case in cases]
    return [Row("resumed runs", "same bits", f"{sum(same)} of {len(same)}", all(same))]

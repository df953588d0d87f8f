"""The workloads whose kernels make the manifest: small runs that use each family of kernels once."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..kernels.families import LIBRARY
from ..kernels.manifest import Entry, Manifest, load, recording

STEPS = 40  # of a run, unless it says otherwise: enough for the first impacts
WHOLE_RUN, START_OF_RUN = 2400, 300  # most steps of a scene with its small parameters, and with its own
SMALL_IMPACT = 20  # contacts up to which laws solve impacts with dense matrices
FEW_CONTACTS = 3  # of impacts whose derivatives are taken


@dataclass(frozen=True)
class Workload:
    """Something to run. Kernels that the families of `uses` do not have are added to `family`."""

    family: str
    run: Callable[[], object]
    uses: tuple[str, ...] = ()


def workloads() -> Iterator[Workload]:
    """All workloads, those whose families others use first."""
    from .. import friction, laws

    yield Workload("2d/discs", partial(_run, "pool_break", {"rows": 4}, STEPS, law="none"))
    yield Workload("3d/spheres", partial(_run, "cradle_3d", {}, STEPS, law="none"))
    for law in laws.names():
        family = f"laws/{law}"
        yield Workload(family, partial(_impacts, law))
        yield Workload(family, partial(_run, "pool_break", {"rows": 4}, 60, law=law), ("2d/discs",))
    yield from _plane()
    yield from _space()
    for model in friction.MODELS:
        yield from _with_friction(model)
    yield from _others()
    yield from _library()


def _plane() -> Iterator[Workload]:
    uses = ("laws/gr", "2d/discs")
    yield Workload("2d/discs", partial(_run, "energy_drum", {"side": 4}, 60), uses)
    yield Workload("2d/discs", partial(_run, "newtons_cradle", {}, 60), uses)
    yield Workload("2d/discs", partial(_run, "gas", {"side": 6}, 20), uses)
    yield Workload("2d/polygons", partial(_run, "box_stack", {"boxes": 3}, STEPS, frictionless=True), uses)
    for stepper in ("drift_safe", "time_of_impact", "substepped"):
        family = f"2d/{stepper}"
        yield Workload(family, partial(_run, "pool_break", {"rows": 4}, 60, stepper=stepper), uses)
        polygons = partial(_run, "box_stack", {"boxes": 3}, STEPS, frictionless=True, stepper=stepper)
        yield Workload(family, polygons, (*uses, "2d/polygons"))


def _space() -> Iterator[Workload]:
    uses = ("laws/gr", "3d/spheres")
    yield Workload("3d/spheres", partial(_run, "cradle_3d", {}, STEPS, frictionless=True), uses)
    yield Workload("3d/solids", partial(_run, "flat_box", {}, 60), uses)
    yield Workload("3d/solids", partial(_run, "two_tetrahedra", {}, 60), uses)
    yield Workload("3d/meshes", partial(_run, "trefoil_drop", {"detail": 16}, 60), (*uses, "3d/solids"))
    for stepper in ("drift_safe", "time_of_impact", "substepped"):
        family = f"3d/{stepper}"
        yield Workload(family, partial(_run, "cradle_3d", {}, 20, frictionless=True, stepper=stepper), uses)
        yield Workload(family, partial(_run, "flat_box", {}, 60, stepper=stepper), (*uses, "3d/solids"))
        cards = partial(_run, "card_house", {"stories": 2, "width": 2}, 60, frictionless=True, stepper=stepper)
        yield Workload(f"{family}-pairs", cards, (*uses, "3d/solids"))


def _with_friction(model: str) -> Iterator[Workload]:
    solids = ("3d/spheres", "3d/solids")
    pairs = (*solids, "3d/drift_safe-pairs")
    for dimension, scene, parameters, shapes in (
        (2, "granular_wave_2d", {"columns": 5, "rows": 3}, ("2d/discs",)),
        (2, "box_stack", {"boxes": 3}, ("2d/discs", "2d/polygons")),
        (3, "rolling_sphere", {}, ("3d/spheres",)),
        (3, "sliding_box", {}, solids),
        (3, "box_on_edge", {}, pairs),
        (3, "box_tower_3d", {"boxes": 3}, pairs),
    ):
        family, uses = f"friction/{model}/{dimension}d", ("laws/gr", *shapes)
        run = partial(_run, scene, parameters, law="gr", friction_model=model)
        yield Workload(family, partial(run, steps=STEPS), uses)
        yield Workload(family, partial(run, steps=100, stepper="drift_safe"), uses)


def _others() -> Iterator[Workload]:
    every = ("laws", "2d", "3d", "friction")
    yield Workload("large", _lattice, every)
    yield Workload("large", _pile, every)
    yield Workload("large", partial(_run, "drop", {"side": 60}, 400), every)
    yield Workload(
        "large", partial(_run, "granular_wave", {"count": 400, "side": 6.0}, 60, stepper="drift_safe"), every
    )
    yield Workload("derivatives", _derivatives, ("laws", "2d", "3d"))
    yield Workload("towers", _towers)
    yield Workload("demo", _demo)  # with all that it calls: `make demo` compiles nothing else
    yield Workload("draw/2d", partial(_picture, "pool_break"), every)
    yield Workload("draw/3d", partial(_picture, "flat_box"), every)


def _library() -> Iterator[Workload]:
    """Every scene of the library: what its run needs besides the families that are compiled for it anyway."""
    from .. import laws
    from ..kernels.families import families_of_run
    from ..scenes import SCENES

    for name, entry in SCENES.items():
        for parameters, steps in ((entry.small, WHOLE_RUN), ({}, START_OF_RUN)):
            scene = entry(**parameters)
            uses = families_of_run(scene, laws.make(scene.law), scene.stepper, scene.friction_model)
            yield Workload(f"{LIBRARY}/{name}", partial(_from_library, name, parameters, steps), tuple(uses))


def _from_library(name: str, parameters: Mapping[str, Any], most_steps: int) -> None:
    """A scene as `carom run` runs it; its events; the distance grids of its meshes, which a new user has to compute."""
    from .. import simulate
    from ..geometry import distance_grid
    from ..scenes import make_scene

    fetch, distance_grid.fetch = distance_grid.fetch, lambda key, shape: None
    distance_grid._grids.clear()
    try:
        scene = make_scene(name, **parameters)
        with tempfile.TemporaryDirectory() as folder:
            duration = min(most_steps * scene.step, scene.duration)
            with simulate(scene, duration=duration, output=Path(folder) / "run.h5") as run:
                assert run.events is not None  # they are read by a kernel, too
    finally:
        distance_grid.fetch = fetch


def _impacts(law: str) -> None:
    """All problems of the catalogue with few contacts."""
    from .. import catalogue, solve_impact

    for entry in catalogue.entries():
        if entry.problem.contact_count <= SMALL_IMPACT:
            with contextlib.suppress(Exception):  # a law may refuse a problem
                solve_impact(entry.problem, law).audit()


def _derivatives() -> None:
    """Derivatives of impacts under every law, of a chain that is struck, and of throws of two balls or boxes."""
    from .. import ProblemError, catalogue, laws, sensitivity, solve_impact
    from ..scene import Bodies, Disc, Material, Plane, Rectangle, Scene, Sphere
    from ..scenes import make_scene

    sensitivity(make_scene("three_ball_chain")).derivative("bodies.0.velocity")  # impacts of more than one contact
    for law in laws.names():
        for entry in catalogue.entries():
            if entry.problem.contact_count <= FEW_CONTACTS:
                with contextlib.suppress(ProblemError):  # a law may refuse a problem, or have no derivatives
                    found = solve_impact(entry.problem, law)
                    found.derivative(["velocity", "restitution"])
                    found.vjp(np.ones_like(found.velocity))
    for shape in (Disc(0.1), Rectangle(0.2, 0.1), Sphere(0.1)):
        dimension = 3 if isinstance(shape, Sphere) else 2
        up, along = np.eye(dimension)[-1], np.eye(dimension)[0]
        turned: dict[str, Any] = {"angle": np.array([0.3, 1.0])} if isinstance(shape, Rectangle) else {}
        thrown = Bodies(shape, np.array([up, up + 0.25 * along]), np.array([0.3 * along, -0.1 * along]), **turned)
        scene = Scene(
            "throw", [thrown], [Plane()], materials={"default": Material(0.8, 0.1)}, gravity=tuple(-9.81 * up),
            duration=0.8,
        )  # fmt: skip
        run = sensitivity(scene)
        run.derivative(["materials.default.restitution", "bodies.0.velocity"])
        run.vjp(["bodies.0.velocity"], position=np.ones((2, dimension)))


def _lattice(side: int = 12) -> None:
    """A lattice of discs that all touch: one island, for the methods of large cone problems."""
    from .. import ImpactProblem, solve_impact

    row, column = np.divmod(np.arange(side * side), side)
    place, one = np.stack([column + 0.5 * (row % 2), 0.75**0.5 * row], axis=1), np.ones(side * side)
    velocity = np.random.default_rng(0).normal(size=place.shape)
    solve_impact(ImpactProblem.from_discs(place, 0.5 * one, one, velocity, restitution=0.5), "gr")


def _pile(side: int = 15) -> None:
    """A lattice of spheres on a plane: an island that is swept in slabs, which threads share."""
    from .. import simulate
    from ..scene import Bodies, Material, Plane, Scene, Sphere

    place = np.stack(np.unravel_index(np.arange(side**3), (side, side, side)), axis=1).astype(np.float64) + 0.5
    materials = {"default": Material(0.0, 0.5)}
    scene = Scene(
        "pile", [Bodies(Sphere(0.5), place)], [Plane()], materials=materials, gravity=(0.0, 0.0, -10.0), step=0.01
    )
    simulate(scene, "gr", stepper="drift_safe", duration=0.02)


def _run(
    name: str, parameters: dict[str, Any], steps: int, law: str = "gr", frictionless: bool = False, **settings: Any
) -> None:
    from .. import scenes, simulate

    scene = scenes.make_scene(name, **parameters)
    if frictionless:
        materials = {key: replace(material, friction=0.0) for key, material in scene.materials.items()}
        scene = scene.with_(materials=materials, pairs={})
    settings.setdefault("stepper", "synchronous")
    simulate(scene, law, duration=steps * scene.step, **settings)


def _demo() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _command("demo", "-o", folder)


def _towers() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder) / "run.h5")
        _command("tower", "check", "diamond-4")
        _command("tower", "collapse", "diamond-4", "--steps", "40", "-o", run)


def _picture(scene: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder) / "run.h5")
        _command("run", scene, "--duration", "0.1", "-q", "-o", run)
        _command("render", run, "--at", "0", "-o", str(Path(folder) / "picture.png"))
        _command("render", run, "--to", "0.1", "--fps", "20", "-q", "-o", str(Path(folder) / "film.gif"))


def _command(*arguments: str) -> None:
    from .main import app

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            app(list(arguments), standalone_mode=False)
        except Exception as error:
            raise RuntimeError(f"carom {' '.join(arguments)}: {error} {errors.getvalue()}") from error


def record(tell: Callable[[str], None]) -> Manifest:
    """Runs all workloads and returns the manifest of what they used. A workload that fails is reported and left out.

    A kernel that Python may call by the manifest of before stays so: tests call some that only kernels call elsewhere,
    and would compile them a second time.
    """
    called_by_python = {entry.key for entry in load().entries if not entry.nested}
    entries: dict[str, Entry] = {}
    needs: dict[str, list[str]] = {}
    families: dict[str, list[str]] = {}
    for workload in workloads():
        with recording() as used:
            try:
                workload.run()
            except Exception as error:
                tell(f"{workload.family}: {type(error).__name__}: {error}")
        names = [name for name in families if any(name == u or name.startswith(f"{u}/") for u in workload.uses)]
        known = {key for name in names if name != workload.family for key in families[name]}
        own = families.setdefault(workload.family, [])
        own.extend(key for key in used.entries if key not in known and key not in own)
        for key, entry in used.entries.items():
            entry.nested &= entries.get(key, entry).nested and key not in called_by_python
        entries |= used.entries
        needs |= used.needs
        tell(f"{workload.family}: {len(used.entries)} kernels used, {len(own)} in the family")
    families = {name: keys for name, keys in families.items() if keys or not name.startswith(f"{LIBRARY}/")}
    numbers = {key: i for i, key in enumerate(entries)}
    for key, entry in entries.items():
        entry.needs = [numbers[needed] for needed in needs[key]]
    return Manifest(list(entries.values()), {name: sorted(numbers[k] for k in keys) for name, keys in families.items()})

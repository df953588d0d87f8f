"""Damaged trajectories: each is read completely and correctly, or refused with one short message."""

from __future__ import annotations

import contextlib
import hashlib
import io
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import carom
from carom.errors import ProblemError
from carom.scene import Bodies, Disc, Pin, Plane, Rectangle, Rod, Rope, Scene, Sphere, Spring
from carom.trajectory import Recorder, Trajectory

from .campaign import Campaign
from .files import fault
from .mutations import chosen, damaged_bytes

FIRST = 1 << 14  # bytes: they have most of the structure, and half of the damage


class Case(NamedTuple):
    """Name of the run, and its damaged bytes."""

    kind: str
    content: bytes


class Trajectories(Campaign):
    title = "damaged trajectories: a message, or the right content"
    quick = 120

    def case(self, rng: np.random.Generator) -> Case:
        kind = chosen(rng, list(runs()))
        data = runs()[kind][0]
        whole = rng.random() < 0.5
        return Case(kind, damaged_bytes(rng, data) if whole else damaged_bytes(rng, data[:FIRST]) + data[FIRST:])

    def check(self, case: Case, folder: Path) -> str | None:
        path = folder / "run.h5"
        path.write_bytes(case.content)
        wrong = _refusal(lambda: _read(path, runs()[case.kind][1]))
        wrong = wrong or _refusal(lambda: _commands(path))
        if not wrong and case.kind.startswith("stopped"):
            wrong = _refusal(lambda: Recorder.resume(path).recorder.abort())
        return wrong or (None if path.read_bytes() == case.content else "changed: the file was written to")

    def group(self, case: Case) -> str:
        return case.kind

    def save(self, case: Case, folder: Path) -> None:
        (folder / "run.h5").write_bytes(case.content)


def _refusal(act: Any) -> str | None:
    """What is wrong with the message of a refusal, or what `act` returns."""
    try:
        return act()
    except ProblemError as refusal:
        return fault(str(refusal))


def _read(path: Path, expected: str) -> str | None:
    with Trajectory(path) as run:
        found = contents(run)
    return None if found == expected else "unnoticed: the content differs"


def contents(run: Trajectory) -> str:
    """A digest of all that can be read."""
    digest = hashlib.sha256()
    for array in (run.time, run.positions, run.orientations, run.velocities, run.spins, run.boundary_poses, run.steps):
        digest.update(np.asarray(array).tobytes())
    for name in sorted(run.geometry):
        digest.update(name.encode() + np.asarray(run.geometry[name]).tobytes())
    last = run.last
    for k in range(len(run)):
        impulses = run.impulses(k)
        for array in vars(impulses).values() if impulses is not None else ():
            digest.update(np.asarray(array).tobytes())
    for array in (run.events, *(run.unlisted_events or ())):
        digest.update(b"" if array is None else np.asarray(array).tobytes())
    about = (run.name, run.law, run.carom_version, run.finished, run.settings, run.scene.bodies[0].name, run.state_hash)
    digest.update(repr((about, last.time, last.step, last.position.tolist(), last.velocity.tolist())).encode())
    return digest.hexdigest()


def _commands(path: Path) -> None:
    """What `carom info` and `carom check` compute."""
    from carom.analysis.checks import check_run
    from carom.analysis.statistics import file_summary

    with Trajectory(path) as run, contextlib.redirect_stdout(io.StringIO()):
        file_summary(run)
        check_run(run, {})


@cache
def runs() -> dict[str, tuple[bytes, str]]:
    """Small runs, finished and stopped: their bytes and the digest of their content."""
    import tempfile

    balls = Bodies(Disc(0.5), np.array([[0.0, 0.5], [1.1, 1.5], [2.5, 0.5]]), velocity=(0.1, 0.0))
    bricks = Bodies(Rectangle(1.0, 0.5), np.array([[5.0, 0.25]]), spin=0.1)
    spheres = Bodies(Sphere(0.5), np.array([[0.0, 0.0, 0.5], [0.2, 0.0, 1.6]]))
    plane = Scene("plane", [balls, bricks], [Plane()], gravity=(0.0, -9.81))
    space = Scene("space", [spheres], [Plane()], gravity=(0.0, 0.0, -9.81))
    links = Bodies(Rectangle(0.8, 0.1), np.array([[0.4, 3.0], [1.2, 3.0], [2.0, 3.0]]), name="link")
    joints = (
        Pin(("world", 0), (0.0, 3.0), limits=(-3.0, 0.5)),
        Rod((1, 2), ((1.2, 3.0), (2.0, 3.0))),
        Rope((0, "link[2]"), ((0.4, 3.0), (2.0, 3.0)), length=2.0, restitution=0.5),
        Spring((0, 1), ((0.8, 3.0), (0.9, 3.0)), 10.0, 0.1),
    )
    jointed = Scene("jointed", [links], [Plane()], gravity=(0.0, -9.81), joints=joints)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for scene in (plane, space, jointed):
            path = Path(folder) / f"{scene.name}.h5"
            carom.simulate(scene, "gr", 0.4, path, step=0.01, impulses=scene is plane).close()
            found[f"finished, {scene.name}"] = path
            stopped = Path(folder) / f"{scene.name}_stopped.h5"
            with contextlib.suppress(KeyboardInterrupt):
                carom.simulate(scene, "gr", 0.4, stopped, step=0.01, progress=_stop)
            found[f"stopped, {scene.name}"] = stopped
        out = {}
        for name, path in found.items():
            with Trajectory(path) as run:
                out[name] = path.read_bytes(), contents(run)
    return out


def _stop(_: Any) -> None:
    raise KeyboardInterrupt


CAMPAIGN = Trajectories()

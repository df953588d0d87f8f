"""Damaged scene, tower, problem, SCISim and mesh files: each is read, or refused with one short message."""

from __future__ import annotations

import io
import json
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from carom.errors import ProblemError, has_controls

from .campaign import Campaign
from .mutations import chosen, damaged_array, damaged_bytes, damaged_text, damaged_tree

LONGEST = 500  # characters of a message
MOST = 20_000  # bodies of a scene that is built: a large one that is valid may take longer
SCENES = ("newtons_cradle", "butterfly", "sliding_block", "maxwells_demon", "flat_box", "eight_cubes", "cradle_3d")
PROBLEMS = 5  # each fifth problem of the catalogue

COPIES = """
[scene]
gravity = [0.0, -9.81]
[materials.ice]
friction = 0.01
restitution = 0.3
[[bodies]]
name = "ball"
template = true
radius = 0.5
position = [0.0, 3.0]
material = "ice"
[[generators]]
kind = "copies"
name = "row"
of = "ball"
offsets = [[0.0, 0.0], [2.0, 0.0]]
[[generators]]
kind = "copies"
of = "row"
rows = 2
columns = 3
spacing = 4.5
[[generators]]
kind = "grid"
shape = "rectangle"
width = 0.4
height = 0.3
rows = 3
columns = 2
spacing = 0.6
start = [-8.0, 1.0]
[[boundaries]]
kind = "plane"
normal = [0.0, 1.0]
"""

XML = """<ball2d_scene>
<camera cx="0.0" cy="0.5" scale_factor="3.75" fps="50" render_at_fps="0" locked="0"/>
<integrator type="verlet" dt="1/100"/>
<impact_operator type="gr" CoR="0.5" v_tol="1e-9" cache_impulses="0"><solver name="ql" tol="1e-12"/></impact_operator>
<gravity fx="0.0" fy="-9.81"/>
<static_plane x="0 -3" n="0 1"/>
<static_drum x="0" y="0" r="10"/>
<ball x="0" y="0" vx="1" vy="0" m="1" r="0.5" fixed="0"/>
<ball x="2" y="0" vx="-1" vy="0" m="2" r="0.25" fixed="1"/>
</ball2d_scene>
"""
XML_3D = """<rigidbody3d_scene>
<integrator type="dmv" dt="0.01"/>
<sobogus_friction_solver mu="0.4" CoR="0.25" max_iters="50" tol="1e-9" eval_every="5" staggering="geometric"/>
<near_earth_gravity f="0 -9.81 0"/>
<geometry type="sphere" r="0.5"/>
<geometry type="box" r="0.5 1 1.5"/>
<static_plane x="0 -2 0" n="0 1 0"/>
<rigid_body_with_density x="0 0 0" v="1 2 3" omega="4 5 6" rho="2" fixed="0" geo_idx="0"/>
<rigid_body_with_density x="3 0 0" v="0 0 0" omega="0 0 0" rho="2" fixed="1" geo_idx="1"/>
</rigidbody3d_scene>
"""
MESH_SCENE = """
[[bodies]]
shape = "mesh"
path = "{}"
position = [0.0, 0.0, 0.0]
repair = true
"""
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float64)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


class Case(NamedTuple):
    """A file by its name and content."""

    kind: str
    name: str
    content: bytes


class Files(Campaign):
    title = "damaged files of all kinds: a message, no error, no hang, no crash"
    quick = 150

    def case(self, rng: np.random.Generator) -> Case:
        kind = chosen(rng, list(KINDS))
        name, content = KINDS[kind][0](rng)
        return Case(kind, name, content)

    def check(self, case: Case, folder: Path) -> str | None:
        (folder / case.name).write_bytes(case.content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                KINDS[case.kind][1](folder / case.name)
        except ProblemError as refusal:
            return fault(str(refusal))
        return None

    def group(self, case: Case) -> str:
        return case.kind

    def save(self, case: Case, folder: Path) -> None:
        (folder / case.name).write_bytes(case.content)


def fault(message: str) -> str | None:
    """What is wrong with a message."""
    if len(message) > LONGEST:
        return f"long message: {len(message)} characters: {message[:100]!r}"
    if has_controls(message) or len(message.split("\n")) > 1:
        return f"message with control characters: {message!r}"[:300]
    return None


# ---- scenes


@cache
def _scenes() -> list[str]:
    from carom.scene.file.write import scene_to_toml
    from carom.scenes import make_scene

    return [COPIES, *(scene_to_toml(make_scene(name)) for name in SCENES)]


def _scene(rng: np.random.Generator) -> tuple[str, bytes]:
    deep = chosen(rng, ("a.", "[", "{a=", "[[", '"x".'))
    return "scene.toml", damaged_text(rng, chosen(rng, _scenes()), deep).encode("utf-8", "replace")


def _read_scene(path: Path) -> None:
    from carom.build import build
    from carom.scene.file import load_scene

    scene = load_scene(path)
    if sum(group.count for group in scene.bodies) <= MOST:
        build(scene)


def _xml(rng: np.random.Generator) -> tuple[str, bytes]:
    return "scene.xml", damaged_text(rng, chosen(rng, (XML, XML_3D)), "<a>").encode("utf-8", "replace")


# ---- towers


@cache
def _towers() -> list[str]:
    from carom.towers import named
    from carom.towers.files import tower_to_toml

    made = [named.wall(3, 2), named.stack([0, "1/2", "3/4"])]
    texts = [tower_to_toml(tower) for tower in made]
    pinned = '[tower]\nname = "two"\n[[brick]]\nx = 0\ny = 0.5\nwidth = 3\nheight = 1\n[[brick]]\nx = "1/2"\ny = 1.5\n'
    return [*texts, pinned + "width = 3\nheight = 1\ndensity = 2\n[[pin]]\nbricks = [0, 1]\nat = [0.5, 1]\n"]


def _tower(rng: np.random.Generator) -> tuple[str, bytes]:
    return "tower.toml", damaged_text(rng, chosen(rng, _towers()), "a.").encode("utf-8", "replace")


def _read_tower(path: Path) -> None:
    from carom.towers.files import load_tower

    tower = load_tower(path)
    if tower.count <= 200:
        _ = tower.contacts


# ---- problems


@cache
def _problems() -> list[dict[str, Any]]:
    from carom.catalogue import entries

    found: list[dict[str, Any]] = [
        {"chain": {"masses": [1, 2, 1], "velocities": [1, 0, -1]}},
        {"discs": {"positions": [[0, 0], [1, 0]], "velocities": [[1, 0], [0, 0]], "radii": 0.5, "masses": 1}},
    ]
    with tempfile.TemporaryDirectory() as folder:
        for entry in entries()[::PROBLEMS]:
            entry.problem.save(Path(folder) / "p.json")
            found.append(json.loads((Path(folder) / "p.json").read_text()))
    return found


def _json(rng: np.random.Generator) -> tuple[str, bytes]:
    data = chosen(rng, _problems())
    if rng.random() < 0.3:
        return "problem.json", damaged_text(rng, json.dumps(data, indent=1), "[").encode("utf-8", "replace")
    return "problem.json", _json_text(damaged_tree(rng, data)).encode("utf-8", "replace")


def _json_text(data: Any) -> str:
    """JSON, also of integers with more digits than Python prints by default."""
    if isinstance(data, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {_json_text(v)}" for k, v in data.items()) + "}"
    if isinstance(data, list):
        return "[" + ", ".join(map(_json_text, data)) + "]"
    if isinstance(data, int) and abs(data) > 10**4000:
        return "1" + "0" * 5000
    return json.dumps(data)


def _npz(rng: np.random.Generator) -> tuple[str, bytes]:
    plain = [data for data in _problems() if "format" in data]
    arrays = {key: np.array(value) for key, value in chosen(rng, plain).items()}
    for _ in range(int(rng.integers(0, 3))):
        key = chosen(rng, list(arrays))
        if rng.random() < 0.2:
            del arrays[key]
        else:
            arrays[key] = damaged_array(rng, arrays[key])
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    data = buffer.getvalue()
    return "problem.npz", damaged_bytes(rng, data) if rng.random() < 0.4 else data


def _read_problem(path: Path) -> None:
    from carom.problem.problem import ImpactProblem

    ImpactProblem.load(path)


# ---- meshes


@cache
def _meshes() -> dict[str, bytes]:
    import h5py
    import trimesh

    mesh = trimesh.Trimesh(CORNERS, FACES, process=False)
    found = {f"mesh.{kind}": bytes(mesh.export(file_type=kind)) for kind in ("stl", "ply", "glb")}
    for kind in ("obj", "stl_ascii", "off"):
        text = mesh.export(file_type=kind)
        found["mesh2.stl" if kind == "stl_ascii" else f"mesh.{kind}"] = text.encode() if isinstance(text, str) else text
    found.pop("mesh.off")
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver="earliest") as file:
        file["mesh/vertices"], file["mesh/faces"] = CORNERS.T, FACES.T.astype(np.uint32)
        file["moments/volume"], file["moments/x"], file["moments/R"] = 1 / 6, np.zeros(3), np.eye(3)
    found["mesh.h5"] = buffer.getvalue()
    return found


def _mesh(rng: np.random.Generator) -> tuple[str, bytes]:
    name = chosen(rng, sorted(_meshes()))
    data = _meshes()[name]
    if name in ("mesh.obj", "mesh2.stl") and rng.random() < 0.8:
        return name, damaged_text(rng, data.decode()).encode("utf-8", "replace")
    return name, damaged_bytes(rng, data)


def _read_mesh(path: Path) -> None:
    from carom.build import build
    from carom.geometry.meshes import read_scisim_mesh
    from carom.scene.file import parse_toml

    if path.suffix == ".h5":
        try:
            read_scisim_mesh(path)
        except ValueError as refusal:
            if type(refusal) is not ValueError and not isinstance(refusal, ProblemError):
                raise
            raise ProblemError("mesh", path.name, str(refusal)) from None
        return
    build(parse_toml(MESH_SCENE.format(path.name), folder=path.parent))


KINDS: dict[str, tuple[Callable[[np.random.Generator], tuple[str, bytes]], Callable[[Path], None]]] = {
    "scene": (_scene, _read_scene),
    "SCISim": (_xml, _read_scene),
    "tower": (_tower, _read_tower),
    "problem, JSON": (_json, _read_problem),
    "problem, npz": (_npz, _read_problem),
    "mesh": (_mesh, _read_mesh),
}

CAMPAIGN = Files()

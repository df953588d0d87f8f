"""glTF 2.0 in binary form (.glb): one node per body with an animation of its pose, equal shapes share a mesh.

Numbers are in single precision, as the format demands: relative errors up to 6e-8. The format is that of the Khronos
specification 2.0 (ISO/IEC 12113:2022), in which y is up and colors are linear.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..draw.meshes import Mesh
from ..errors import ProblemError
from ..solvers.rows import Floats
from .content import MARK, Content, linear

FLOAT, UNSIGNED, VERTICES, TRIANGLES = 5126, 5125, 34962, 34963  # constants of the specification
TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}
LARGEST_BUFFER = (1 << 32) - (
    1 << 24
)  # bytes: the lengths in the head of a file have 32 bits; the rest is for the head
ROUGHNESS = 0.6


class _Document:
    """The JSON of a file, and its binary chunk."""

    def __init__(self) -> None:
        self.json: dict[str, list[Any]] = {k: [] for k in ("nodes", "meshes", "materials", "accessors", "bufferViews")}
        self.chunks: list[bytes] = []
        self.length = 0

    def add(self, table: str, entry: dict[str, Any]) -> int:
        self.json[table].append(entry)
        return len(self.json[table]) - 1

    def array(self, values: np.ndarray, target: int | None = None, bounds: bool = False) -> int:
        """An accessor of (k,), (k, 3) or (k, 4) numbers."""
        data = np.ascontiguousarray(values)
        view: dict[str, Any] = {"buffer": 0, "byteOffset": self.length, "byteLength": data.nbytes}
        self.chunks.append(data.tobytes())
        self.length += data.nbytes
        number = self.add("bufferViews", view | ({} if target is None else {"target": target}))
        entry = {
            "bufferView": number,
            "componentType": FLOAT if data.dtype == np.float32 else UNSIGNED,
            "count": len(data),
            "type": TYPES[1 if data.ndim == 1 else data.shape[1]],
        }
        if bounds:
            entry |= {name: np.atleast_1d(f(data, axis=0)).tolist() for name, f in (("min", np.min), ("max", np.max))}
        return self.add("accessors", entry)

    def material(self, color: Sequence[int], opacity: float | None = None, double: bool = False) -> int:
        rgb = linear(np.array(color, np.uint8)).tolist()
        surface = {"metallicFactor": 0.0, "roughnessFactor": ROUGHNESS}
        entry: dict[str, Any] = {"pbrMetallicRoughness": {"baseColorFactor": [*rgb, opacity or 1.0], **surface}}
        if opacity is not None:
            entry["alphaMode"] = "BLEND"
        return self.add("materials", entry | ({"doubleSided": True} if double else {}))

    def surface(self, mesh: Mesh) -> dict[str, Any]:
        """A primitive without material."""
        vertices = mesh.vertices.astype(np.float32)
        attributes = {
            "POSITION": self.array(vertices, VERTICES, bounds=True),
            "NORMAL": self.array(normals(mesh).astype(np.float32), VERTICES),
        }
        return {"attributes": attributes, "indices": self.array(mesh.faces.astype(np.uint32).ravel(), TRIANGLES)}

    def bytes(self, more: dict[str, Any]) -> bytes:
        """The whole file."""
        if self.length > LARGEST_BUFFER:
            many = f"{self.length / 1e9:.1f} GB of poses"
            raise ProblemError("glTF", many, "at most 4 GB: choose fewer frames (every, start, end)")
        tables = {name: table for name, table in self.json.items() if table}
        head = json.dumps({**more, **tables, "buffers": [{"byteLength": self.length}]}, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 4)
        body = b"".join(self.chunks)
        total = 12 + 8 + len(head) + 8 + len(body)
        start = struct.pack("<4sII", b"glTF", 2, total) + struct.pack("<I4s", len(head), b"JSON") + head
        return start + struct.pack("<I4s", len(body), b"BIN\0") + body


def write(content: Content, path: Path) -> None:
    """Writes the frames of a run as one animated scene."""
    document = _Document()
    root = document.add("nodes", {"name": content.run.name, "rotation": _upright(content.up), "children": []})
    tracks = _add_bodies(document, content, root)
    scales = _presence(document, content, [node for node, _, _ in tracks])
    tracks += _add_boundaries(document, content, root)
    run = content.run
    more: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": f"Carom {run.carom_version}"},
        "scene": 0,
        "scenes": [{"nodes": [root], "extras": {"scene": run.name, "law": run.law, "state_hash": run.state_hash}}],
    }
    if len(content.frames) > 1 and tracks:
        more["animations"] = [_animation(document, content, tracks, scales)]
    path.write_bytes(document.bytes(more))


Track = tuple[int, Floats, Floats]  # node, positions (k, 3), quaternions (k, 4)


def _add_bodies(document: _Document, content: Content, root: int) -> list[Track]:
    meshes, parts = content.shapes
    surfaces = [document.surface(mesh) for mesh in meshes]
    paint = content.colors(0)
    materials: dict[tuple[int, ...], int] = {}
    known: dict[tuple[int, int], int] = {}
    pointer = np.searchsorted(parts.body, np.arange(content.run.count + 1))
    group = document.add("nodes", {"name": "bodies", "children": []})
    document.json["nodes"][root]["children"].append(group)
    tracks = []
    for body in range(content.run.count):
        position, turn = content.position[:, body], content.turn[:, body]
        node: dict[str, Any] = {"name": f"body_{body}", **_pose(position[0], turn[0])}
        children = []
        for part in range(pointer[body], pointer[body + 1]):
            color = MARK if parts.mark[part] else tuple(paint[body].tolist())
            if color not in materials:
                materials[color] = document.material(color)
            key = (int(parts.mesh[part]), materials[color])
            if key not in known:
                known[key] = document.add("meshes", {"primitives": [{**surfaces[key[0]], "material": key[1]}]})
            drawn: dict[str, Any] = {"mesh": known[key], "scale": parts.scale[part].tolist()}
            if pointer[body + 1] - pointer[body] == 1 and not parts.place[part].any() and parts.turn[part, 0] == 1.0:
                node |= drawn
            else:
                children.append(document.add("nodes", drawn | _pose(parts.place[part], parts.turn[part])))
        number = document.add("nodes", node | ({"children": children} if children else {}))
        document.json["nodes"][group]["children"].append(number)
        tracks.append((number, position, turn))
    return tracks


def _add_boundaries(document: _Document, content: Content, root: int) -> list[Track]:
    tracks = []
    place, turn = content.boundary_poses
    children = []
    flat = content.run.dimension == 2
    for k, surface in enumerate(content.boundaries):
        # Surfaces in 3D show their inner side only, so that one looks into a container from outside.
        material = document.material(surface.color, surface.opacity, double=flat or surface.opacity is None)
        mesh = document.add("meshes", {"primitives": [{**document.surface(surface.mesh), "material": material}]})
        node = {"name": f"boundary_{k}", "mesh": mesh, **_pose(place[0, k], turn[0, k])}
        children.append(document.add("nodes", node))
        tracks.append((children[-1], place[:, k], turn[:, k]))
    if children:
        group = document.add("nodes", {"name": "boundaries", "children": children})
        document.json["nodes"][root]["children"].append(group)
    return tracks


def _presence(document: _Document, content: Content, nodes: list[int]) -> dict[int, Floats]:
    """Scales (k, 3) of the nodes of bodies that appear or vanish: zero while they are absent."""
    out: dict[int, Floats] = {}
    for body, node in enumerate(nodes if content.present is not None else []):
        assert content.present is not None
        there = content.present[:, body]
        if not there.all():
            own = document.json["nodes"][node].get("scale", [1.0, 1.0, 1.0])
            out[node] = there[:, None] * np.array(own)
            document.json["nodes"][node]["scale"] = out[node][0].tolist()
    return out


def _animation(document: _Document, content: Content, tracks: list[Track], scales: dict[int, Floats]) -> dict[str, Any]:
    """The poses of all nodes that move. Bodies that jump or appear are not interpolated."""
    times = document.array(content.time.astype(np.float32), bounds=True)
    how = "STEP" if content.periodic or content.present is not None else "LINEAR"
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    for node, position, turn in tracks:
        values_of = {"translation": position, "rotation": turn[:, [1, 2, 3, 0]]}
        if node in scales:
            values_of["scale"] = scales[node]
        for path, values in values_of.items():
            if (values != values[0]).any():
                channels.append({"sampler": len(samplers), "target": {"node": node, "path": path}})
                output = document.array(values.astype(np.float32))
                samplers.append({"input": times, "output": output, "interpolation": how})
    return {"name": "run", "samplers": samplers, "channels": channels}


def _pose(position: Floats, turn: Floats) -> dict[str, Any]:
    """Translation and rotation (x, y, z, w) of a node."""
    return {"translation": position.tolist(), "rotation": turn[[1, 2, 3, 0]].tolist()}


def _upright(up: Floats) -> list[float]:
    """The quaternion (x, y, z, w) of the shortest rotation from `up` to the y axis."""
    y = np.array([0.0, 1.0, 0.0])
    w = 1.0 + float(up @ y)
    if w < 1e-9:
        return [1.0, 0.0, 0.0, 0.0]
    q = np.array([*np.cross(up, y), w])
    return [float(c) for c in q / np.linalg.norm(q)]


def normals(mesh: Mesh) -> Floats:
    """Unit normals (k, 3) of the vertices: means of those of their triangles, weighted by area."""
    v = mesh.vertices.astype(np.float64)
    corners = v[mesh.faces]
    each = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    out = np.zeros_like(v)
    for k in range(3):
        np.add.at(out, mesh.faces[:, k], each)
    size = np.linalg.norm(out, axis=1, keepdims=True)
    return np.where(size > 0.0, out / np.where(size > 0.0, size, 1.0), np.array([0.0, 0.0, 1.0]))

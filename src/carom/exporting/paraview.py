"""VTK XML for ParaView: a collection (.pvd) with the time of each frame, and a folder of files (.vtp) beside it.

Per frame: the surfaces of bodies, of boundaries and of walls that hide bodies (single precision), the centers of bodies
with velocities and orientations, and the contact points with impulses where recorded (double precision). Arrays are
zlib-compressed and base64-encoded, as VTK's own writer does.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from ..solvers.rows import Ints
from .content import MARK, Content, contact_vectors, in_3d_stack, turned

NAMES = {"f4": "Float32", "f8": "Float64", "u1": "UInt8", "i8": "Int64"}
Arrays = Mapping[str, np.ndarray]


def write(content: Content, path: Path, folder: Path, name: str) -> None:
    """Writes the collection to `path` and its files to `folder`, which will be called `name` beside the collection."""
    folder.mkdir()
    rows = []
    for k, time in enumerate(content.time.tolist()):
        parts = {"bodies": _surfaces(content, k), "centers": _centers(content, k)}
        for part, see_through in (("boundaries", False), ("walls", True)):
            if any((m.opacity is not None) == see_through for m in content.boundaries):
                parts[part] = _boundaries(content, k, see_through)
        contacts = _contacts(content, k)
        if contacts is not None:
            parts["contacts"] = contacts
        for number, (part, text) in enumerate(parts.items()):
            file = f"{part}_{k:06d}.vtp"
            (folder / file).write_text(text, encoding="utf-8")
            where = quoteattr(f"{name}/{file}")
            rows.append(f'<DataSet timestep="{time!r}" part="{number}" name="{part}" file={where}/>')
    head = '<VTKFile type="Collection" version="1.0" byte_order="LittleEndian"><Collection>'
    path.write_text("\n".join(['<?xml version="1.0"?>', head, *rows, "</Collection></VTKFile>", ""]), encoding="utf-8")


def _surfaces(content: Content, k: int) -> str:
    """The triangles of all bodies, with number, color, velocity and speed of the body at each triangle."""
    meshes, parts = content.shapes
    vertex, body, faces, paint, start = [], [], [], [], 0
    colors, there = content.colors(k), _there(content, k)
    for index, mesh in enumerate(meshes):
        own = np.flatnonzero((parts.mesh == index) & there[parts.body])
        local = mesh.vertices.astype(np.float64)[None] * parts.scale[own, None]
        local = turned(parts.turn[own, None], local) + parts.place[own, None]
        owner = parts.body[own]
        vertex.append((turned(content.turn[k, owner, None], local) + content.position[k, owner, None]).reshape(-1, 3))
        shift = start + len(mesh.vertices) * np.arange(len(own))
        faces.append((mesh.faces.astype(np.int64)[None] + shift[:, None, None]).reshape(-1, 3))
        start += len(own) * len(mesh.vertices)
        body.append(np.repeat(owner, len(mesh.faces)))
        shade = np.array([MARK], np.uint8) if parts.mark[own].all() else colors[owner]
        paint.append(np.repeat(np.broadcast_to(shade, (len(own), 3)), len(mesh.faces), axis=0))
    owner = np.concatenate(body)
    velocity = in_3d_stack(content.run.velocities[int(content.frames[k])][None])[0]
    cells = {
        "body": owner,
        "color": np.concatenate(paint),
        "velocity": velocity[owner].astype(np.float32),
        "speed": np.linalg.norm(velocity, axis=1)[owner].astype(np.float32),
    }
    return poly_data(np.concatenate(vertex).astype(np.float32), np.concatenate(faces), {}, cells)


def _centers(content: Content, k: int) -> str:
    """One vertex per body, for glyphs and tables."""
    run, frame = content.run, int(content.frames[k])
    geometry = run.geometry
    spin = np.asarray(run.spins[frame], dtype=np.float64)
    arrays: dict[str, np.ndarray] = {
        "body": np.arange(run.count),
        "radius": np.asarray(geometry["radius"], dtype=np.float64),
        "mass": np.asarray(geometry["mass"], dtype=np.float64),
        "free": np.asarray(geometry["free"]).astype(np.uint8),
        "velocity": in_3d_stack(run.velocities[frame][None])[0],
        "spin": spin,
        "orientation": content.turn[k],
        "color": content.colors(k),
    }
    there = _there(content, k)
    return poly_data(content.position[k][there], None, {name: values[there] for name, values in arrays.items()}, {})


def _there(content: Content, k: int) -> np.ndarray:
    """(n,) which bodies are present in frame k."""
    return np.ones(content.run.count, bool) if content.present is None else content.present[k]


def _boundaries(content: Content, k: int, see_through: bool) -> str:
    """The opaque boundaries, or those that should be seen through, for which the format has no setting."""
    place, turn = content.boundary_poses
    vertex, faces, paint, number, start = [], [], [], [], 0
    for index, surface in enumerate(content.boundaries):
        if (surface.opacity is not None) != see_through:
            continue
        mesh = surface.mesh
        vertex.append(turned(turn[k, index], mesh.vertices.astype(np.float64)) + place[k, index])
        faces.append(mesh.faces.astype(np.int64) + start)
        start += len(mesh.vertices)
        paint.append(np.tile(np.array(surface.color, np.uint8), (len(mesh.faces), 1)))
        number.append(np.full(len(mesh.faces), surface.number, np.int64))
    cells: dict[str, np.ndarray] = {"boundary": np.concatenate(number), "color": np.concatenate(paint)}
    return poly_data(np.concatenate(vertex).astype(np.float32), np.concatenate(faces), {}, cells)


def _contacts(content: Content, k: int) -> str | None:
    found = content.impulses(k)
    if found is None:
        return None
    point, push = contact_vectors(found)
    arrays: dict[str, np.ndarray] = {
        "impulse": push,
        "normal_impulse": found.normal_impulse,
        "first": found.first,
        "second": found.second,
    }
    return poly_data(point, None, arrays, {})


# ---- the format


def poly_data(points: np.ndarray, faces: Ints | None, at_points: Arrays, at_cells: Arrays) -> str:
    """A PolyData file: triangles (f, 3), or with None one vertex per point."""
    count = len(points)
    kind, cells = ("Verts", np.arange(count)[:, None]) if faces is None else ("Polys", faces)
    ends = cells.shape[1] * np.arange(1, len(cells) + 1)
    numbers = {"Verts": 0, "Polys": 0} | {kind: len(cells)}
    sizes = f'NumberOfPoints="{count}" NumberOfVerts="{numbers["Verts"]}" NumberOfPolys="{numbers["Polys"]}"'
    lines = [
        '<?xml version="1.0"?>',
        '<VTKFile type="PolyData" version="1.0" byte_order="LittleEndian" header_type="UInt64" '
        'compressor="vtkZLibDataCompressor"><PolyData>',
        f"<Piece {sizes}>",
        f"<Points>{_array('Points', points)}</Points>",
        f"<{kind}>{_array('connectivity', cells.ravel())}{_array('offsets', ends)}</{kind}>",
    ]
    for tag, arrays in (("PointData", at_points), ("CellData", at_cells)):
        lines.append(f"<{tag}>" + "".join(_array(name, values) for name, values in arrays.items()) + f"</{tag}>")
    return "\n".join([*lines, "</Piece></PolyData></VTKFile>", ""])


def _array(name: str, values: np.ndarray) -> str:
    data = np.ascontiguousarray(values)
    kind = data.dtype.newbyteorder("<")
    raw = data.astype(kind, copy=False).tobytes()
    packed = zlib.compress(raw, 1)
    # One block: number of blocks, size of a block, size of a last partial block (0: none), compressed size.
    head = struct.pack("<4Q", *((1, len(raw), 0, len(packed)) if raw else (0, 0, 0, 0)))
    text = (base64.b64encode(head) + base64.b64encode(packed if raw else b"")).decode()
    components = 1 if data.ndim == 1 else data.shape[1]
    attributes = f'type="{NAMES[kind.str[1:]]}" Name={quoteattr(name)} NumberOfComponents="{components}"'
    return f'<DataArray {attributes} format="binary">{text}</DataArray>'

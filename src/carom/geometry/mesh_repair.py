"""Checks that a triangle mesh bounds a solid. If allowed, equal vertices are merged and faces reversed.

The functions of trimesh for this are not used: they also merge vertices that are only close, orient faces
by the first one instead of the majority, and turn hollows inside a solid outward.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from .mass_properties import signed_volume, winding_number

_PROBES = 12  # points of a component that are tested
_HINT = "; repair = true would mend it"


def closed_surface(
    path: str, name: str, vertices: Floats, faces: Ints, merge: bool, repair: bool
) -> tuple[Floats, Ints]:
    """Vertices and faces of a closed surface, counterclockwise from outside, or a ProblemError.

    `path` is the field in messages, and `name` the file, followed by a colon. Without `merge` and `repair` nothing is
    changed.
    """
    if merge:
        vertices, faces = _merged(vertices, faces)
    _check_triangles(path, name, vertices, faces)
    _check_closed(path, name, vertices, faces)
    turned = _consistent(path, name, faces)
    if not repair and (turned != faces).any():
        count = int((turned != faces).any(axis=1).sum())
        raise ProblemError(
            path, f"{name}{count} of {len(faces)} triangles face the other way", f"all facing out{_HINT}"
        )
    faces = turned
    volume = signed_volume(vertices, faces)
    extent = float(np.ptp(vertices, axis=0).max())
    outward = _outward(path, name, vertices, faces)
    if abs(signed_volume(vertices, outward)) <= 1e-12 * extent**3:
        raise ProblemError(path, f"{name}a mesh of volume {abs(volume):.3g}", "a mesh that encloses a volume")
    if not repair and (outward != faces).any():
        raise ProblemError(path, f"{name}an inverted mesh, of volume {volume:.4g}", f"triangles that face out{_HINT}")
    return vertices, outward


def _merged(vertices: Floats, faces: Ints) -> tuple[Floats, Ints]:
    """Merges equal vertices, in the order of their first use, and drops faces that lose a vertex by that."""
    _, first, which = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    faces = first[which.reshape(-1)][faces]
    faces = faces[~_repeated(faces)]
    used = np.unique(faces)
    number = np.zeros(len(vertices), dtype=np.int64)
    number[used] = np.arange(len(used))
    return vertices[used], number[faces]


def _repeated(faces: Ints) -> np.ndarray:
    return (faces[:, 0] == faces[:, 1]) | (faces[:, 1] == faces[:, 2]) | (faces[:, 2] == faces[:, 0])


def _check_triangles(path: str, name: str, vertices: Floats, faces: Ints) -> None:
    """Refuses triangles without area, which cannot be repaired: a sliver may face either way."""
    if not len(faces):
        raise ProblemError(path, f"{name}a mesh of volume 0", "a mesh that encloses a volume")
    corners = vertices[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    longest = np.ptp(vertices, axis=0).max()
    bad = _repeated(faces) | (area <= 1e-14 * longest**2)
    if bad.all():
        raise ProblemError(path, f"{name}a mesh of volume 0", "a mesh that encloses a volume")
    if bad.any():
        k = int(np.argmax(bad))
        value = f"{name}triangle {k} of vertices {tuple(map(int, faces[k]))} has no area"
        raise ProblemError(path, value, f"triangles with area ({int(bad.sum())} of {len(faces)} have none)")


def _edges(faces: Ints) -> tuple[Ints, np.ndarray]:
    """Edges (3 f, 2) of all faces with the lower vertex first, and whether the face traverses them in that order."""
    directed = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    return np.sort(directed, axis=1), directed[:, 0] < directed[:, 1]


def _check_closed(path: str, name: str, vertices: Floats, faces: Ints) -> None:
    edges, count = np.unique(_edges(faces)[0], axis=0, return_counts=True)
    open_edges = edges[count % 2 == 1]
    if not len(open_edges):
        return
    a, b = (tuple(float(f"{x:.4g}") for x in vertices[k]) for k in open_edges[0])
    value = f"{name}an open mesh: {len(open_edges)} edges belong to an odd number of triangles, such as {a} - {b}"
    equal = len(np.unique(vertices, axis=0)) < len(vertices)
    hint = "; some vertices are equal, and repair = true merges them" if equal else ""
    raise ProblemError(path, value, f"a closed (watertight) mesh{hint}")


def _consistent(path: str, name: str, faces: Ints) -> Ints:
    """Faces reversed so that neighbors traverse their common edge in opposite directions; the majority stays."""
    edges, upward = _edges(faces)
    _, which, count = np.unique(edges, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    order = order[count[which[order]] == 2].reshape(-1, 2)  # where four faces meet, the pairing is ambiguous
    one, two = order[:, 0] // 3, order[:, 1] // 3
    against = upward[order[:, 0]] == upward[order[:, 1]]  # these two faces have opposite orientations
    out = faces.copy()
    if against.any():
        flip = _flips(len(faces), one, two, against)
        out[flip] = out[flip][:, ::-1]
        if (flip[one] ^ flip[two] ^ against).any():
            raise ProblemError(path, f"{name}a one-sided surface", "a mesh with an inside and an outside")
    edges, upward = _edges(out)
    _, which = np.unique(edges, axis=0, return_inverse=True)
    if np.bincount(which.reshape(-1), np.where(upward, 1.0, -1.0)).any():
        raise ProblemError(path, f"{name}triangles that meet at an edge disagree", "a mesh whose triangles face out")
    return out


def _flips(count: int, one: Ints, two: Ints, against: np.ndarray) -> np.ndarray:
    """Which faces to reverse: the parity of the disagreements along a spanning tree of each component."""
    links = {}
    for a, b, bad in zip(one.tolist(), two.tolist(), against.tolist()):
        links[a, b] = links[b, a] = bad
    graph = coo_array((np.ones(len(one)), (one, two)), shape=(count, count)).tocsr()
    pieces, label = connected_components(graph, directed=False)
    flip = np.zeros(count, dtype=bool)
    for piece in range(pieces):
        members = np.flatnonzero(label == piece)
        walk, before = breadth_first_order(graph, members[0], directed=False)
        for face in walk[1:].tolist():
            parent = int(before[face])
            flip[face] = flip[parent] ^ links[parent, face]
        if 2 * flip[members].sum() > len(members):  # the majority is taken as correct
            flip[members] = ~flip[members]
    return flip


def _outward(path: str, name: str, vertices: Floats, faces: Ints) -> Ints:
    """Faces that point outward, or inward where their component lies inside an odd number of others: a hollow."""
    _, which = np.unique(_edges(faces)[0], axis=0, return_inverse=True)
    owner = np.arange(3 * len(faces)) // 3
    owns = coo_array((np.ones(len(owner)), (owner, which.reshape(-1)))).tocsr()
    pieces, label = connected_components(owns @ owns.T, directed=False)
    out = faces.copy()
    members = [np.flatnonzero(label == piece) for piece in range(pieces)]
    for mine in members:
        if signed_volume(vertices, out[mine]) < 0.0:
            out[mine] = out[mine][:, ::-1]
    outer = [out[mine] for mine in members]
    for k, mine in enumerate(members if pieces > 1 else []):
        probes = vertices[faces[mine[:: max(len(mine) // _PROBES, 1)]]].mean(axis=1)
        others = [outer[j] for j in range(pieces) if j != k]
        inside = {sum(round(winding_number(vertices, other, p)) for other in others) % 2 for p in probes}
        if len(inside) > 1:
            raise ProblemError(path, f"{name}a mesh whose pieces cross each other", "pieces within each other or apart")
        if inside == {1}:
            out[mine] = out[mine][:, ::-1]
    return out

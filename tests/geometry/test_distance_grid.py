"""Signed distance grids against exact distances, and their cache."""

from __future__ import annotations

import numpy as np
import pytest

from carom.contact.grid_distance import grid_normal, grid_of, grid_value
from carom.geometry.distance_grid import distance_grid, fetch, grid_key, make_tree
from carom.geometry.hulls import box as make_box
from carom.geometry.surfaces import icosphere, torus
from carom.geometry.vectors import Vec3
from carom.scene.parts import make_shapes
from carom.scene.shapes import Mesh

RADIUS, TUBE = 1.0, 0.4


def torus_distance(x):
    return np.hypot(np.hypot(x[..., 0], x[..., 1]) - RADIUS, x[..., 2]) - TUBE


def nodes(grid):
    index = np.stack(np.meshgrid(*(np.arange(n) for n in grid.value.shape), indexing="ij"), axis=-1)
    return grid.low + grid.spacing * index


def test_torus_at_the_nodes():
    """The mesh departs from the torus by its sagittas, tube * (pi / around)^2 / 2 and the like along it."""
    grid, overlap = distance_grid(*torus(RADIUS, TUBE, 48, 96), 0.08)
    assert overlap is None
    exact = torus_distance(nodes(grid))
    sagitta = TUBE * (np.pi / 48) ** 2 / 2 + (RADIUS + TUBE) * (np.pi / 96) ** 2 / 2
    assert 0.5 * sagitta < np.abs(grid.value - exact).max() < 1.05 * sagitta
    far = np.abs(exact) > sagitta
    assert (np.sign(grid.value) == np.sign(exact))[far].all()


def test_box_at_the_nodes_is_exact():
    """Nodes lie on faces, edges and corners, and lines of nodes run within faces: signs must not slip."""
    box = make_box(np.array([1.0, 0.5, 0.25]))
    faces = np.array([(loop[0], loop[k], loop[k + 1]) for loop in box.loops for k in (1, 2)])
    grid, overlap = distance_grid(box.vertices, faces, 0.0625)
    assert overlap is None
    beyond = np.abs(nodes(grid)) - np.array([0.5, 0.25, 0.125])
    exact = np.linalg.norm(np.maximum(beyond, 0.0), axis=-1) + np.minimum(beyond.max(axis=-1), 0.0)
    assert np.abs(grid.value - exact).max() < 1e-14
    # Even about the middle, as the box is.
    assert np.abs(grid.value - grid.value[::-1]).max() < 1e-14


def test_between_the_nodes_the_error_falls_with_the_square_of_the_spacing():
    errors, slants = [], []
    random = np.random.default_rng(2)
    points = random.normal(size=(400, 3))
    outward = points / np.linalg.norm(points, axis=1, keepdims=True)
    points = outward * random.uniform(0.9, 1.1, (400, 1))
    vertices, faces = icosphere(1.0, 5)
    for spacing in (0.12, 0.06):
        solids, _ = make_shapes([("bodies[0]", Mesh(vertices=vertices, faces=faces, spacing=spacing), 1)])
        value = np.array([grid_value(grid_of(solids, 0), Vec3(*p)) for p in points])
        normal = np.array([grid_normal(grid_of(solids, 0), Vec3(*p)) for p in points])
        errors.append(np.abs(value - (np.linalg.norm(points, axis=1) - 1.0)).max())
        slants.append(np.abs(np.cross(normal, outward)).max())
        assert np.linalg.norm(normal, axis=1) == pytest.approx(np.ones(400))
        assert (np.einsum("ij,ij->i", normal, outward) > 0.9).all()
    # h^2 / 8 times the sum of both curvatures and what they grow to inside; the mesh's own sagitta is 3e-4.
    assert errors[1] < 0.06**2 / 4 + 1e-3
    assert 2.5 < errors[0] / errors[1] < 5.0
    assert slants[1] < 0.005
    assert 2.5 < slants[0] / slants[1] < 6.0


def test_normals_near_edges_are_those_of_the_faces():
    """Half a cell from the edge of a box, over its face."""
    box = make_box(np.array([1.0, 1.0, 1.0]))
    faces = np.array([(loop[0], loop[k], loop[k + 1]) for loop in box.loops for k in (1, 2)])
    solids, _ = make_shapes([("bodies[0]", Mesh(vertices=box.vertices, faces=faces, spacing=0.0625), 1)])
    assert grid_normal(grid_of(solids, 0), Vec3(0.47, 0.0, 0.51)) == pytest.approx((0.0, 0.0, 1.0), abs=1e-12)
    assert grid_normal(grid_of(solids, 0), Vec3(0.47, -0.47, 0.51)) == pytest.approx((0.0, 0.0, 1.0), abs=1e-12)


def test_outside_the_grid_the_value_is_a_continuous_lower_bound():
    vertices, faces = icosphere(1.0, 4)
    solids, _ = make_shapes([("bodies[0]", Mesh(vertices=vertices, faces=faces, spacing=0.1), 1)])
    side = solids.grid_low[0, 0]
    for point in np.random.default_rng(1).uniform(-3.0, 3.0, (200, 3)):
        assert grid_value(grid_of(solids, 0), Vec3(*point)) <= np.linalg.norm(point) - 1.0 + 0.01
    for step in (1e-6, -1e-6):
        assert grid_value(grid_of(solids, 0), Vec3(side + step, 0.1, 0.2)) == pytest.approx(
            grid_value(grid_of(solids, 0), Vec3(side, 0.1, 0.2)), abs=2e-6
        )
    assert grid_value(grid_of(solids, 0), Vec3(5.0, 0.0, 0.0)) == pytest.approx(4.0, abs=1e-3)
    assert grid_normal(grid_of(solids, 0), Vec3(5.0, 0.0, 0.0)) == pytest.approx((1.0, 0.0, 0.0))


def test_the_cache_gives_the_same_bits(own_cache, monkeypatch):
    from carom.geometry import distance_grid as module

    surface = torus(RADIUS, TUBE, 60, 84)
    one, _ = distance_grid(*surface, 0.05)
    assert distance_grid(*surface, 0.05)[0] is one  # from memory
    monkeypatch.setattr(module, "_grids", {})
    monkeypatch.setattr(module, "node_distances", None)  # must not be needed
    two, _ = distance_grid(*surface, 0.05)
    assert two.value.tobytes() == one.value.tobytes()
    assert not list(own_cache.rglob("*.part*"))


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "folder"])
def test_a_damaged_cache_is_made_anew(own_cache, monkeypatch, damage):
    from carom.geometry import distance_grid as module

    surface = torus(RADIUS, TUBE, 12, 16)
    one, _ = distance_grid(*surface, 0.1)
    (file,) = own_cache.rglob("*.npz")
    content = bytearray(file.read_bytes())
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        content[len(content) // 2] ^= 0x40
        file.write_bytes(content)
    elif damage == "empty":
        file.write_bytes(b"")
    else:
        file.unlink()
        file.mkdir()
    monkeypatch.setattr(module, "_grids", {})
    assert fetch(grid_key(*surface, 0.1), one.value.shape) is None
    two, _ = distance_grid(*surface, 0.1)
    assert two.value.tobytes() == one.value.tobytes()


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    from carom.geometry import distance_grid as module

    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(module, "user_cache", lambda: tmp_path / "file")
    grid, _ = distance_grid(*torus(RADIUS, TUBE, 12, 16), 0.1)
    assert grid.value.min() < -0.3


def test_the_key_sees_everything():
    vertices, faces = torus(RADIUS, TUBE, 12, 16)
    keys = {
        grid_key(vertices, faces, 0.1),
        grid_key(vertices, faces, 0.2),
        grid_key(vertices, faces[::-1], 0.1),
        grid_key(np.nextafter(vertices, 9.0), faces, 0.1),
    }
    assert len(keys) == 4


def test_the_hierarchy_of_a_large_mesh_is_balanced():
    """10,080 triangles: each in one leaf of at most 6, at a depth of at most log2(10080 / 6) rounded up.

    That bounds the work per node of the grid, whatever the speed of the machine.
    """
    vertices, faces = torus(RADIUS, TUBE, 70, 72)
    _, order, _, _, child, begin, end = make_tree(vertices[faces])
    depth = np.zeros(len(child), dtype=int)
    for node in np.flatnonzero(child >= 0):
        depth[child[node] : child[node] + 2] = depth[node] + 1
    leaf = child < 0
    assert (end - begin)[leaf].max() <= 6
    assert sorted(np.concatenate([order[b:e] for b, e in zip(begin[leaf], end[leaf])])) == list(range(len(faces)))
    assert depth.max() <= np.ceil(np.log2(len(faces) / 6))

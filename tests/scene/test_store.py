"""A scene as plain data and arrays: nothing is lost, and nothing foreign is loaded."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.scene.rich_scenes import TETRAHEDRON, WORLD, obj_file, rich_2d, rich_3d, same

from carom import ProblemError
from carom.build import build
from carom.scene import Bodies, Disc, Mesh, Scene, Scripted, Sphere
from carom.scene.store import agrees, pack, unpack


def test_packing_keeps_everything_and_survives_json():
    scene = rich_2d()
    meta, arrays = pack(scene)
    again = unpack(json.loads(json.dumps(meta)), arrays)
    assert same(scene, again)
    assert set(arrays) == {"bodies[0].position", "bodies[0].velocity", "bodies[0].shape.radius"}
    assert not same(scene.with_(step=0.1), again)
    moved = Bodies(scene.bodies[0].shape, np.nextafter(scene.bodies[0].position, 9.0))
    assert not same(scene.with_(bodies=[moved, *scene.bodies[1:]]), again)


def test_what_cannot_be_packed_is_listed():
    pushed = Scene("s", [Bodies(Disc(1.0), np.zeros((1, 2)))], force=lambda t, x, v: x, parameters={"f": print})
    meta, arrays = pack(pushed)
    assert sorted(meta["not_stored"]) == ["force", "parameters.f"]
    left = unpack(meta, arrays)
    assert left.force is None and left.parameters == {}
    assert unpack(meta, arrays, pushed) is pushed
    with pytest.raises(ProblemError, match="unchanged"):
        unpack(meta, arrays, pushed.with_(step=0.5))


def test_a_scripted_motion_needs_its_scene_again():
    scripted = Scene("s", [Bodies(Disc(1.0), np.zeros((1, 2)), motion=Scripted(lambda t: (t, 0.0)))])
    meta, arrays = pack(scripted)
    assert meta["not_stored"] == ["bodies[0].motion"]
    with pytest.raises(ProblemError, match="passed again"):
        unpack(meta, arrays)
    assert unpack(meta, arrays, scripted) is scripted


def test_a_stored_scene_cannot_name_foreign_objects():
    meta, arrays = pack(rich_2d())
    meta["symmetries"] = [{"object": "subprocess:Popen", "fields": {"args": "true"}}]
    with pytest.raises(ProblemError, match="subprocess"):
        unpack(meta, arrays)


def test_packing_in_3d_keeps_everything():
    scene = rich_3d()
    meta, arrays = pack(scene)
    assert meta["not_stored"] == []
    again = unpack(json.loads(json.dumps(meta)), arrays)
    assert same(scene, again)
    a, b = build(scene, check_overlap=False), build(again, check_overlap=False)
    for field in WORLD:
        np.testing.assert_array_equal(getattr(a[0], field), getattr(b[0], field))
    assert not same(scene.with_(integrator="dmv"), again)
    turned = Bodies(Sphere(1.0), np.zeros((1, 3)), orientation=(1.0, 0.0, 0.0, 1e-16))
    plain = Bodies(Sphere(1.0), np.zeros((1, 3)))
    assert not same(Scene("s", [turned]), Scene("s", [plain]))


def test_a_mesh_is_stored_with_its_triangles(tmp_path):
    """Read where the file is not: the same world; and a file that has changed since is noticed."""
    path = tmp_path / "corner.obj"
    obj_file(path)
    scene = Scene("s", [Bodies(Mesh(path=str(path), scale=2.0), np.zeros((1, 3)))])
    meta, arrays = pack(scene)
    by_arrays = Scene("s", [Bodies(Mesh(vertices=TETRAHEDRON[0], faces=TETRAHEDRON[1], scale=2.0), np.zeros((1, 3)))])
    assert agrees(by_arrays, meta, arrays) and agrees(scene, meta, arrays)
    obj_file(path, stretch=1.5)
    assert not agrees(scene, meta, arrays)
    path.unlink()
    mesh = unpack(meta, arrays).bodies[0].shape
    assert mesh.path is None and mesh.scale == 2.0
    np.testing.assert_array_equal(mesh.vertices, TETRAHEDRON[0])
    np.testing.assert_array_equal(mesh.faces, TETRAHEDRON[1])
    with pytest.raises(ProblemError, match=r"bodies\[0\]\.shape\.path.*existing file"):
        pack(scene)

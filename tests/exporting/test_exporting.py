"""Exports are read again by other libraries: same bodies, times and positions."""

from __future__ import annotations

import base64
import csv
import json
import xml.etree.ElementTree as ElementTree
import zlib

import numpy as np
import pytest

import carom
from carom.errors import ProblemError
from carom.exporting.content import in_3d_stack, linear, quaternions, turned
from carom.trajectory import Trajectory

# Single precision has a relative rounding error of 6e-8; a position passes through at most three roundings.
SINGLE = 1e-6


@pytest.fixture(params=["flat", "solid", "jointed"])
def run(request) -> Trajectory:
    return request.getfixturevalue(request.param)


def centers(run: Trajectory) -> np.ndarray:
    return in_3d_stack(np.asarray(run.positions))


def close(found, wanted, run: Trajectory, bound: float = SINGLE) -> None:
    """Equal up to `bound`, relative to the size of the scene."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= bound * np.abs(centers(run)).max()


def rotations_agree(found, wanted) -> None:
    """Unit quaternions of the same rotations: |p . q| = 1."""
    assert np.abs(np.abs((np.asarray(found) * wanted).sum(axis=-1)) - 1.0).max() < SINGLE


# ---- glTF


def accessor(document, number: int) -> np.ndarray:
    a = document.accessors[number]
    view = document.bufferViews[a.bufferView]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[a.type]
    kind = {5126: "<f4", 5125: "<u4"}[a.componentType]
    values = np.frombuffer(document.binary_blob(), kind, a.count * width, view.byteOffset)
    return values if width == 1 else values.reshape(-1, width)


def test_gltf_has_every_body_at_every_time(run, tmp_path):
    pygltflib = pytest.importorskip("pygltflib", reason="pygltflib re-reads the file")
    carom.export(run, tmp_path / "run.glb")
    document = pygltflib.GLTF2().load(str(tmp_path / "run.glb"))
    bodies = {node.name: k for k, node in enumerate(document.nodes) if (node.name or "").startswith("body_")}
    assert len(bodies) == run.count
    animation = document.animations[0]
    channels = {(c.target.node, c.target.path): animation.samplers[c.sampler] for c in animation.channels}
    wanted, turns = centers(run), quaternions(np.asarray(run.orientations))
    for body in range(run.count):
        node = document.nodes[bodies[f"body_{body}"]]
        close(node.translation, wanted[0, body], run)
        moved = channels.get((bodies[f"body_{body}"], "translation"))
        if moved is None:  # a body that never moves has no channel
            assert not np.ptp(wanted[:, body], axis=0).any()
        else:
            np.testing.assert_allclose(accessor(document, moved.input), run.time, atol=SINGLE)
            close(accessor(document, moved.output), wanted[:, body], run)
        turned_ = channels.get((bodies[f"body_{body}"], "rotation"))
        if turned_ is not None:
            rotations_agree(accessor(document, turned_.output)[:, [3, 0, 1, 2]], turns[:, body])


def test_gltf_shapes_are_those_of_the_bodies(run, tmp_path):
    trimesh = pytest.importorskip("trimesh")
    carom.export(run, tmp_path / "run.glb", every=1000, color="body")
    loaded = trimesh.load(str(tmp_path / "run.glb"))
    graph, root = loaded.graph, loaded.graph.transforms.children[loaded.graph.base_frame][0]
    upright = graph[root][0]
    scale = np.abs(centers(run)).max()
    for body in range(run.count):
        name = f"body_{body}"
        names = [name, *graph.transforms.successors(name)]
        points = [
            trimesh.transform_points(loaded.geometry[graph[n][1]].vertices, np.linalg.inv(upright) @ graph[n][0])
            for n in names
            if graph[n][1] is not None
        ]
        flat = np.concatenate(points)[:, : run.dimension] - np.asarray(run.positions[0])[body]
        # The bounding radius of a body is the largest distance of its surface from the center of mass; prisms of 2D
        # bodies have it in the plane. A polygon of 64 corners is inscribed in its disc and has corners on it.
        reach = np.linalg.norm(flat, axis=1).max()
        assert reach == pytest.approx(run.geometry["radius"][body], abs=2e-6 * scale), name


def test_gltf_colors_are_those_of_the_viewer(flat, tmp_path):
    pygltflib = pytest.importorskip("pygltflib", reason="pygltflib re-reads the file")
    from carom.draw.colors import Coloring

    carom.export(flat, tmp_path / "run.glb", color="group")
    document = pygltflib.GLTF2().load(str(tmp_path / "run.glb"))
    wanted = linear(Coloring.of(flat, "group").rgb(0))
    for body in range(flat.count):
        node = next(n for n in document.nodes if n.name == f"body_{body}")
        mesh = node.mesh if node.mesh is not None else document.nodes[node.children[0]].mesh
        material = document.materials[document.meshes[mesh].primitives[0].material]
        np.testing.assert_allclose(material.pbrMetallicRoughness.baseColorFactor[:3], wanted[body], atol=1e-12)


def test_gltf_moves_the_boundaries(flat, tmp_path):
    pygltflib = pytest.importorskip("pygltflib", reason="pygltflib re-reads the file")
    carom.export(flat, tmp_path / "run.glb")
    document = pygltflib.GLTF2().load(str(tmp_path / "run.glb"))
    animation = document.animations[0]
    tracks = [
        accessor(document, animation.samplers[c.sampler].output)
        for c in animation.channels
        if document.nodes[c.target.node].name.startswith("boundary_")
    ]
    assert len(tracks) == 2  # the line of the floor and the band behind it; the drum rests
    for track in tracks:
        close(track[:, 1] - track[0, 1], np.asarray(flat.boundary_poses)[:, 0, 1], flat)


# ---- USD


@pytest.mark.long  # usd-core has 209 MB
def test_usd_has_every_body_at_every_time(run, tmp_path):
    usd = pytest.importorskip("pxr.Usd", reason="usd-core re-reads the file")
    from pxr import UsdGeom

    carom.export(run, tmp_path / "run.usdc")
    stage = usd.Stage.Open(str(tmp_path / "run.usdc"))
    rate = stage.GetTimeCodesPerSecond()
    bodies = stage.GetPrimAtPath("/run/bodies").GetChildren()
    assert len(bodies) == run.count
    wanted, turns = centers(run), quaternions(np.asarray(run.orientations))
    for body, prim in enumerate(bodies):
        samples = usd.TimeCode(0.0), *(usd.TimeCode(t * rate) for t in run.time[1:])
        matrices = [np.array(UsdGeom.Xformable(prim).GetLocalTransformation(code)) for code in samples]
        close([m[3, :3] for m in matrices], wanted[:, body], run)
        # Row vectors: the rows of the matrix are the axes of the body.
        for m, q in zip(matrices, turns[:, body]):
            np.testing.assert_allclose(m[:3, :3], turned(q[None], np.eye(3)), atol=SINGLE)
        mesh = UsdGeom.Mesh(prim.GetChildren()[0])
        assert len(mesh.GetPointsAttr().Get()) > 3
    moving = next(p for p in bodies if UsdGeom.Xformable(p).GetTimeSamples())
    np.testing.assert_allclose(np.array(UsdGeom.Xformable(moving).GetTimeSamples()) / rate, run.time, atol=1e-12)


@pytest.mark.long  # usd-core has 209 MB
def test_usd_hides_bodies_that_are_absent(tmp_path):
    usd = pytest.importorskip("pxr.Usd", reason="usd-core re-reads the file")
    from pxr import UsdGeom

    run = carom.simulate(carom.scenes.hopper(grains=20, fill=0.5, drain=1.0))
    carom.export(run, tmp_path / "run.usdc")
    stage, wanted = usd.Stage.Open(str(tmp_path / "run.usdc")), np.asarray(run.present)
    assert wanted.any() and not wanted.all()
    for body, prim in enumerate(stage.GetPrimAtPath("/run/bodies").GetChildren()):
        codes = np.round(run.time * stage.GetTimeCodesPerSecond(), 9)
        shown = [UsdGeom.Imageable(prim).GetVisibilityAttr().Get(code) != "invisible" for code in codes.tolist()]
        assert shown == wanted[:, body].tolist()


@pytest.mark.long  # usd-core has 209 MB
def test_usd_contacts_have_the_recorded_impulses(flat, tmp_path):
    usd = pytest.importorskip("pxr.Usd", reason="usd-core re-reads the file")
    from pxr import UsdGeom

    carom.export(flat, tmp_path / "run.usda")
    stage = usd.Stage.Open(str(tmp_path / "run.usda"))
    points = UsdGeom.Points(stage.GetPrimAtPath("/run/contacts"))
    push = UsdGeom.PrimvarsAPI(points).GetPrimvar("impulse")
    for frame in (1, 9):
        found, code = flat.impulses(frame), float(flat.time[frame]) * stage.GetTimeCodesPerSecond()
        close(np.array(points.GetPointsAttr().Get(code))[:, :2], found.point, flat)
        normal = (np.array(push.Get(code))[:, :2] * found.normal).sum(axis=1)
        np.testing.assert_allclose(normal, found.normal_impulse * (found.normal**2).sum(axis=1), rtol=1e-5)


# ---- ParaView


def by_format(path) -> dict[str, np.ndarray]:
    """Arrays of a file by their names, as the format is published: base64 of a head of four numbers, then zlib."""
    found = {}
    for element in ElementTree.parse(path).getroot().iter("DataArray"):
        kind = np.dtype(element.attrib["type"].lower()).newbyteorder("<")
        text, head = element.text or "", 4 * ((8 * 4 + 2) // 3)  # of 32 bytes
        blocks, size, partial, packed = np.frombuffer(base64.b64decode(text[:head]), "<u8").tolist()
        raw = zlib.decompress(base64.b64decode(text[head:])[:packed]) if blocks else b""
        assert (len(raw), partial) == (size, 0)
        values, components = np.frombuffer(raw, kind), int(element.attrib["NumberOfComponents"])
        found[element.attrib["Name"]] = values.reshape(-1, components) if components > 1 else values
    return found


def by_vtk(path) -> dict[str, np.ndarray]:
    pytest.importorskip("vtkmodules", reason="vtk re-reads the files")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOXML import vtkXMLPolyDataReader

    reader = vtkXMLPolyDataReader()
    reader.SetFileName(str(path))
    reader.Update()
    content = reader.GetOutput()
    cells = content.GetPolys() if content.GetNumberOfPolys() else content.GetVerts()
    found = {"connectivity": vtk_to_numpy(cells.GetConnectivityArray())}
    found["Points"] = vtk_to_numpy(content.GetPoints().GetData()) if content.GetNumberOfPoints() else np.zeros((0, 3))
    for data in (content.GetPointData(), content.GetCellData()):
        for number in range(data.GetNumberOfArrays()):
            found[data.GetArrayName(number)] = vtk_to_numpy(data.GetArray(number))
    return found


READERS = pytest.mark.parametrize("read", [by_format, pytest.param(by_vtk, marks=pytest.mark.long)])  # vtk has 564 MB


@READERS
def test_paraview_files_have_what_was_recorded(run, tmp_path, read):
    carom.export(run, tmp_path / "run.pvd")
    rows = [row.attrib for row in ElementTree.parse(tmp_path / "run.pvd").getroot().iter("DataSet")]
    assert sorted({float(row["timestep"]) for row in rows}) == run.time.tolist()

    def part(name: str, frame: int) -> dict[str, np.ndarray]:
        return read(tmp_path / [row["file"] for row in rows if row["name"] == name][frame])

    for frame in (0, len(run) - 1):
        points = part("centers", frame)
        assert np.array_equal(points["Points"], centers(run)[frame])
        assert np.array_equal(points["velocity"][:, : run.dimension], run.velocities[frame])
        assert set(part("bodies", frame)["body"].tolist()) == set(range(run.count))
        found = run.impulses(frame)
        contacts = part("contacts", frame)
        assert len(contacts["Points"]) == len(found.first)
        if len(found.first):
            assert np.array_equal(contacts["normal_impulse"], found.normal_impulse)


@READERS
def test_paraview_surfaces_stand_at_the_poses(solid, tmp_path, read):
    """Crosses are symmetric, so the mean of the vertices of a body is its center of mass."""
    carom.export(solid, tmp_path / "run.pvd", every=1000)
    surface = read(tmp_path / "run_frames" / "bodies_000000.vtp")
    faces = surface["connectivity"].reshape(-1, 3)
    for body in range(solid.count):
        own = surface["Points"][np.unique(faces[surface["body"] == body])]
        close(own.mean(axis=0, dtype=np.float64), centers(solid)[0, body], solid)


# ---- tables


def test_csv_has_all_digits(run, tmp_path):
    carom.export(run, tmp_path / "run.csv")
    with (tmp_path / "run.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(run) * run.count
    axes = "xyz"[: run.dimension]
    found = np.array([[float(row[axis]) for axis in axes] for row in rows]).reshape(len(run), run.count, -1)
    assert np.array_equal(found, np.asarray(run.positions))
    assert [float(row["time"]) for row in rows[:: run.count]] == run.time.tolist()
    with (tmp_path / "run_bodies.csv").open() as file:
        assert [float(row["radius"]) for row in csv.DictReader(file)] == run.geometry["radius"].tolist()
    with (tmp_path / "run_impulses.csv").open() as file:
        given = [float(row["normal_impulse"]) for row in csv.DictReader(file)]
    assert given == np.concatenate([run.impulses(k).normal_impulse for k in range(len(run))]).tolist()


def test_npz_has_the_arrays(run, tmp_path):
    carom.export(run, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as found:
        assert np.array_equal(found["time"], run.time)
        for name, wanted in (("position", run.positions), ("orientation", run.orientations), ("spin", run.spins)):
            assert np.array_equal(found[name], np.asarray(wanted))
        assert np.array_equal(found["world_mass"], run.geometry["mass"])
        start, end = found["impulse_ptr"][1:3]
        assert np.array_equal(found["impulse_normal_impulse"][start:end], run.impulses(1).normal_impulse)
        assert json.loads(str(found["about"]))["state_hash"] == run.state_hash


# ---- frames, errors, files


def test_frames_are_chosen_by_time_and_number(flat, tmp_path):
    carom.export(flat, tmp_path / "run.npz", every=2, start=flat.time[3], end=flat.time[8])
    with np.load(tmp_path / "run.npz") as found:
        assert found["time"].tolist() == flat.time[3:9:2].tolist()


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("run.fbx", {}, [".glb", ".usdc", ".pvd", ".csv", ".npz"]),
        ("run", {}, [".glb"]),
        ("run.glb", {"every": 0}, ["every", "at least 1"]),
        ("run.glb", {"start": -1.0}, ["start", "from 0 to 0.4"]),
        ("run.glb", {"end": 7.0}, ["end", "from 0 to 0.4"]),
        ("run.glb", {"start": 0.3, "end": 0.2}, ["end"]),
        ("run.glb", {"color": "speed"}, ["speed", "body, group, depth"]),
        ("run.pvd", {"color": "taste"}, ["taste", "speed"]),
    ],
)
def test_bad_input_is_one_error_and_no_file(flat, tmp_path, name, options, words):
    with pytest.raises(ProblemError) as caught:
        carom.export(flat, tmp_path / name, **options)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert not list(tmp_path.iterdir())


def test_missing_folders_are_made_but_not_below_a_file(flat, tmp_path):
    assert carom.export(flat, tmp_path / "new" / "deep" / "run.npz")[0].is_file()
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(ProblemError, match="folder"):
        carom.export(flat, tmp_path / "taken" / "run.npz")


@pytest.mark.parametrize("name", ["run.glb", "run.pvd", "run.csv", "run.npz"])
def test_existing_files_stay_unless_overwrite_is_given(flat, tmp_path, name):
    written = carom.export(flat, tmp_path / name, every=10)
    before = (tmp_path / name).read_bytes()
    with pytest.raises(ProblemError, match="overwrite"):
        carom.export(flat, tmp_path / name, every=5)
    assert (tmp_path / name).read_bytes() == before
    carom.export(flat, tmp_path / name, every=5, overwrite=True)
    assert (tmp_path / name).read_bytes() != before
    assert set(tmp_path.iterdir()) == set(written)  # no temporary files are left


def test_a_folder_of_other_files_is_not_replaced(flat, tmp_path):
    carom.export(flat, tmp_path / "run.pvd", every=10)
    (tmp_path / "run_frames" / "notes.txt").write_text("mine")
    with pytest.raises(ProblemError, match=r"only"):
        carom.export(flat, tmp_path / "run.pvd", overwrite=True)
    assert (tmp_path / "run_frames" / "notes.txt").read_text() == "mine"


def test_a_failure_leaves_no_file(flat, tmp_path, monkeypatch):
    from carom.exporting import paraview

    monkeypatch.setattr(paraview, "_contacts", lambda content, k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        carom.export(flat, tmp_path / "run.pvd")
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named_with_its_extra(flat, tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(ProblemError, match=r"usd-core.*`export`"):
        carom.export(flat, tmp_path / "run.usdc")


def test_a_single_frame_has_no_animation(flat, tmp_path):
    pygltflib = pytest.importorskip("pygltflib", reason="pygltflib re-reads the file")
    carom.export(flat, tmp_path / "run.glb", every=1000)
    assert not pygltflib.GLTF2().load(str(tmp_path / "run.glb")).animations

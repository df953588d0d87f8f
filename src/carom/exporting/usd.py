"""Universal Scene Description (.usdc binary, .usda text, .usdz): one mesh prim per part, poses as time samples.

The stage has the up axis of the run and one time code per frame interval. Poses are in double precision: readers
compute the angle of a rotation by an arc cosine, which loses half of the digits. Bodies of equal shape reference one
prototype.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..draw.meshes import Mesh
from ..errors import ProblemError
from ..solvers.rows import Floats
from .content import MARK, Content, contact_vectors, linear


def need_usd() -> Any:
    """The package pxr of usd-core; the error says how to install it."""
    try:
        import pxr
    except ImportError:
        how = "pip install usd-core, or the extra `export` of Carom"
        raise ProblemError("usd-core", "not installed", how, f"USD export needs the package usd-core: {how}") from None
    return pxr


def write(content: Content, path: Path) -> None:
    """Writes the frames of a run as one stage with time samples."""
    need_usd()
    from pxr import Sdf, Usd, UsdGeom

    run = content.run
    stage = Usd.Stage.CreateNew(str(path))
    # Rounded to nine digits, so that 25 frames per unit of time have whole numbers as time codes.
    rate = float(f"{1.0 / np.diff(run.time).min():.9g}") if len(run) > 1 else 24.0
    codes = np.round(content.time * rate, 9)
    stage.SetTimeCodesPerSecond(rate)
    stage.SetFramesPerSecond(rate)
    stage.SetStartTimeCode(float(codes[0]))
    stage.SetEndTimeCode(float(codes[-1]))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y if content.up[1] > 0.5 else UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    root = UsdGeom.Xform.Define(stage, "/run").GetPrim()
    stage.SetDefaultPrim(root)
    for name, text in (("scene", run.name), ("law", run.law), ("state_hash", run.state_hash)):
        root.CreateAttribute(f"carom:{name}", Sdf.ValueTypeNames.String).Set(text)
    _add_bodies(stage, content, codes)
    _add_boundaries(stage, content, codes)
    _add_contacts(stage, content, codes)
    stage.GetRootLayer().Save()


def _add_bodies(stage: Any, content: Content, codes: Floats) -> None:
    from pxr import UsdGeom

    meshes, parts = content.shapes
    for k, mesh in enumerate(meshes):
        stage.CreateClassPrim(f"/shape_{k}").SetTypeName("Mesh")
        _fill(UsdGeom.Mesh(stage.GetPrimAtPath(f"/shape_{k}")), mesh)
    UsdGeom.Scope.Define(stage, "/run/bodies")
    paint = linear(np.stack([content.colors(k) for k in range(len(codes))]))
    pointer = np.searchsorted(parts.body, np.arange(content.run.count + 1))
    for body in range(content.run.count):
        name = f"/run/bodies/body_{body}"
        xform = UsdGeom.Xform.Define(stage, name)
        _move(xform, content.position[:, body], content.turn[:, body], codes)
        if content.present is not None:
            for code, there in zip(codes.tolist(), content.present[:, body].tolist()):
                xform.GetVisibilityAttr().Set("inherited" if there else "invisible", code)
        for part in range(pointer[body], pointer[body + 1]):
            drawn = UsdGeom.Mesh.Define(stage, f"{name}/part_{part - pointer[body]}")
            drawn.GetPrim().GetReferences().AddInternalReference(f"/shape_{parts.mesh[part]}")
            _place(drawn, parts.place[part], parts.turn[part], parts.scale[part])
            color = linear(np.array([MARK], np.uint8)) if parts.mark[part] else paint[:, body]
            _paint(drawn, color, codes)


def _add_boundaries(stage: Any, content: Content, codes: Floats) -> None:
    from pxr import UsdGeom

    place, turn = content.boundary_poses
    if content.boundaries:
        UsdGeom.Scope.Define(stage, "/run/boundaries")
    for k, surface in enumerate(content.boundaries):
        mesh = UsdGeom.Mesh.Define(stage, f"/run/boundaries/boundary_{k}")
        _fill(mesh, surface.mesh)
        mesh.GetDoubleSidedAttr().Set(content.run.dimension == 2 or surface.opacity is None)
        _move(mesh, place[:, k], turn[:, k], codes)
        _paint(mesh, linear(np.array([surface.color], np.uint8)), codes)
        if surface.opacity is not None:
            mesh.CreateDisplayOpacityAttr([float(surface.opacity)])


def _add_contacts(stage: Any, content: Content, codes: Floats) -> None:
    """Contact points, with the impulse on the second body as a primvar; both change from frame to frame."""
    if content.impulses(0) is None:
        return
    from pxr import Sdf, UsdGeom, Vt

    points = UsdGeom.Points.Define(stage, "/run/contacts")
    interface = UsdGeom.PrimvarsAPI(points)
    vectors = interface.CreatePrimvar("impulse", Sdf.ValueTypeNames.Vector3fArray, UsdGeom.Tokens.vertex)
    size = float(0.1 * np.median(content.run.geometry["radius"]))
    for k, code in enumerate(codes.tolist()):
        found = content.impulses(k)
        assert found is not None
        place, push = contact_vectors(found)
        points.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(place.astype(np.float32)), code)
        points.GetWidthsAttr().Set(Vt.FloatArray.FromNumpy(np.full(len(place), size, np.float32)), code)
        vectors.Set(Vt.Vec3fArray.FromNumpy(push.astype(np.float32)), code)


def _fill(target: Any, mesh: Mesh) -> None:
    """Points and triangles of a mesh, without subdivision."""
    from pxr import UsdGeom, Vt

    vertices = np.ascontiguousarray(mesh.vertices, dtype=np.float32)
    target.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(vertices))
    target.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(mesh.faces), 3, np.int32)))
    target.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(mesh.faces.astype(np.int32).ravel()))
    target.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    target.CreateExtentAttr(Vt.Vec3fArray.FromNumpy(np.stack([vertices.min(axis=0), vertices.max(axis=0)])))


def _place(target: Any, place: Floats, turn: Floats, scale: Floats) -> None:
    from pxr import Gf, UsdGeom

    target.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*place.tolist()))
    target.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Quatd(*turn.tolist()))
    target.AddScaleOp().Set(Gf.Vec3f(*scale.tolist()))


def _move(target: Any, position: Floats, turn: Floats, codes: Floats) -> None:
    """Poses as time samples; a pose that does not change has no samples."""
    from pxr import Gf, UsdGeom

    shift, rotation = (
        target.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble),
        target.AddOrientOp(UsdGeom.XformOp.PrecisionDouble),
    )
    shift.Set(Gf.Vec3d(*position[0].tolist()))
    rotation.Set(Gf.Quatd(*turn[0].tolist()))
    if (position != position[0]).any():
        for code, value in zip(codes.tolist(), position.tolist()):
            shift.Set(Gf.Vec3d(*value), code)
    if (turn != turn[0]).any():
        for code, value in zip(codes.tolist(), turn.tolist()):
            rotation.Set(Gf.Quatd(*value), code)


def _paint(target: Any, colors: Floats, codes: Floats) -> None:
    """One color (1, 3), or one per frame (k, 3)."""
    from pxr import Gf

    attribute = target.CreateDisplayColorAttr([Gf.Vec3f(*colors[0].tolist())])
    if (colors != colors[0]).any():
        for code, value in zip(codes.tolist(), colors.tolist()):
            attribute.Set([Gf.Vec3f(*value)], code)

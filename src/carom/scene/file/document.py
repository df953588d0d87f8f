"""The whole scene file: [scene], [materials.NAME], [[pairs]], bodies, generators, [[boundaries]] and [periodic]."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ..barriers import KINDS as BARRIERS
from ..boundaries import KINDS as WALLS
from ..boundaries import Boundary, Periodic
from ..model import Material
from ..motion import FIXED
from ..symmetry import Symmetry
from .bodies import BodiesTable
from .generators import GeneratorTable
from .tables import UP, FileTable, MotionTable, motion_of
from .values import (
    Dimension,
    Flag,
    IntegratorName,
    MixedName,
    NotNegative,
    Number,
    Positive,
    Share,
    StepperName,
    Text,
)
from .vectors import Axis, AxisName, Direction, Interval, Point

BOUNDARY: dict[str, type[Boundary]] = WALLS | BARRIERS


class BoundaryFields(FileTable):
    material: Text = "default"
    motion: MotionTable = "fixed"

    def plain(self) -> dict[str, Any]:
        """Keyword arguments of the boundary."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name not in ("kind", "motion")}
        return {**fields, "motion": motion_of(self.motion) or FIXED}


class WallFields(BoundaryFields):
    """Boundaries of the plane."""

    only_axes = 2
    instead = ", ".join(BARRIERS)


class BarrierFields(BoundaryFields):
    """Boundaries of space."""

    only_axes = 3
    instead = ", ".join(WALLS)


class HalfPlaneTable(WallFields):
    """Bodies stay on the side to which `normal` points."""

    kind: Literal["half_plane"]
    point: Point = (0.0, 0.0)
    normal: Direction = (0.0, 1.0)


class BoxTable(WallFields):
    """Four walls; bodies stay inside."""

    kind: Literal["box"]
    lower: Point
    upper: Point


class DrumTable(WallFields):
    """A circle; bodies stay inside, or outside."""

    kind: Literal["drum"]
    radius: Positive
    center: Point = (0.0, 0.0)
    inside: Flag = True


class SegmentTable(WallFields):
    """A thin wall between two points; both sides count."""

    kind: Literal["segment"]
    start: Point
    end: Point


class PlaneTable(BarrierFields):
    """Bodies stay on the side to which `normal` points."""

    kind: Literal["plane"]
    point: Point = (0.0, 0.0, 0.0)
    normal: Direction = (0.0, 0.0, 1.0)


class ContainerTable(BarrierFields):
    """Six walls; bodies stay inside."""

    kind: Literal["container"]
    lower: Point
    upper: Point
    open_top: Flag = Field(False, description="leaves out the wall at the upper z")


class TubeTable(BarrierFields):
    """The inside of an endless round cylinder."""

    kind: Literal["tube"]
    radius: Positive
    point: Point = (0.0, 0.0, 0.0)
    axis: Axis = UP


class ShellTable(BarrierFields):
    """The inside of a sphere."""

    kind: Literal["shell"]
    radius: Positive
    center: Point = (0.0, 0.0, 0.0)


BoundaryTable = Annotated[
    HalfPlaneTable | BoxTable | DrumTable | SegmentTable | PlaneTable | ContainerTable | TubeTable | ShellTable,
    Field(discriminator="kind"),
]


class PeriodicTable(FileTable):
    """[periodic]: what leaves at one side comes in at the other."""

    space_keys: ClassVar[tuple[str, ...]] = ("z",)

    x: Interval | None = Field(None, description="[low, high]")
    y: Interval | None = Field(None, description="[low, high]")
    z: Interval | None = Field(None, description="[low, high]")
    shear_rate: Number = Field(0.0, description="Lees-Edwards: the image moves at shear_rate times the width")
    sheared: AxisName = Field("y", description="the axis whose sides are sheared")

    def periodic(self) -> Periodic:
        return Periodic(self.x, self.y, self.shear_rate, self.sheared, self.z)


class MaterialTable(FileTable):
    """[materials.NAME]."""

    restitution: Share = 1.0
    friction: NotNegative = 0.0
    density: Positive = Field(
        1.0, description="mass / area, in space mass / volume, for bodies without a mass of their own"
    )

    def material(self) -> Material:
        return Material(self.restitution, self.friction, self.density)


class PairTable(FileTable):
    """[[pairs]]: how two materials meet, where the rule for two different materials does not suit."""

    between: list[Text] = Field(min_length=2, max_length=2)
    restitution: Share | None = None
    friction: NotNegative | None = None


class SceneTable(FileTable):
    """[scene]: its name, gravity, and how it wants to be run."""

    space_keys: ClassVar[tuple[str, ...]] = ("integrator",)

    name: Text = ""
    description: Text = ""
    dimension: Dimension | None = Field(None, description="2 or 3; if not given, as the shapes are")
    gravity: Point | None = Field(None, description="none if not given")
    step: Positive = 0.01
    duration: Positive = 10.0
    frame_rate: Positive = Field(50.0, description="frames a time unit")
    stepper: StepperName = "drift_safe"
    integrator: IntegratorName = Field("dmv", description="of rotation in space")
    law: Text = "gr"
    restitution_model: Text | None = None
    friction_model: Text | None = None
    mixed_restitution: MixedName = "refuse"
    parameters: dict[str, Any] = Field(default_factory=dict, description="for the record; Carom does not read it")


class SymmetryTable(FileTable):
    """[[symmetries]]: `x -> center + matrix (x - center)` carries the bodies onto each other. For analysis."""

    matrix: list[Point] = Field(min_length=2, max_length=3)
    center: Point | None = None
    name: Text = "symmetry"

    def symmetry(self) -> Symmetry:
        return Symmetry(self.matrix, self.center, self.name)


class SceneFile(FileTable):
    """A scene file."""

    scene: SceneTable = Field(default_factory=lambda: SceneTable.model_validate({}))
    materials: dict[str, MaterialTable] = Field(default_factory=dict)
    pairs: list[PairTable] = Field(default_factory=list)
    bodies: list[BodiesTable] = Field(default_factory=list)
    generators: list[GeneratorTable] = Field(default_factory=list)
    boundaries: list[BoundaryTable] = Field(default_factory=list)
    periodic: PeriodicTable | None = None
    symmetries: list[SymmetryTable] = Field(default_factory=list)

"""The whole scene file: [scene], [materials.NAME], [[pairs]], bodies, generators, [[boundaries]] and [periodic]."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ..boundaries import Boundary, Box, Drum, HalfPlane, Periodic, Segment
from ..model import Material
from ..motion import FIXED
from ..symmetry import Symmetry
from .bodies import BodiesTable
from .generators import GeneratorTable
from .tables import FileTable, MotionTable, motion_of
from .values import (
    AxisName,
    Direction,
    Flag,
    Interval,
    MixedName,
    NotNegative,
    Number,
    Point,
    Positive,
    Share,
    StepperName,
    Text,
)


class BoundaryFields(FileTable):
    material: Text = "default"
    motion: MotionTable = "fixed"

    def plain(self) -> dict[str, Any]:
        """Keyword arguments of the boundary."""
        fields = {name: getattr(self, name) for name in type(self).model_fields if name not in ("kind", "motion")}
        return {**fields, "motion": motion_of(self.motion) or FIXED}


class HalfPlaneTable(BoundaryFields):
    """Bodies stay on the side to which `normal` points."""

    kind: Literal["half_plane"]
    point: Point = (0.0, 0.0)
    normal: Direction = (0.0, 1.0)


class BoxTable(BoundaryFields):
    """Four walls; bodies stay inside."""

    kind: Literal["box"]
    lower: Point
    upper: Point


class DrumTable(BoundaryFields):
    """A circle; bodies stay inside, or outside."""

    kind: Literal["drum"]
    radius: Positive
    center: Point = (0.0, 0.0)
    inside: Flag = True


class SegmentTable(BoundaryFields):
    """A thin wall between two points; both sides count."""

    kind: Literal["segment"]
    start: Point
    end: Point


BOUNDARY: dict[str, type[Boundary]] = {"half_plane": HalfPlane, "box": Box, "drum": Drum, "segment": Segment}
BoundaryTable = Annotated[HalfPlaneTable | BoxTable | DrumTable | SegmentTable, Field(discriminator="kind")]


class PeriodicTable(FileTable):
    """[periodic]: what leaves at one side comes in at the other."""

    x: Interval | None = Field(None, description="[low, high]")
    y: Interval | None = Field(None, description="[low, high]")
    shear_rate: Number = Field(0.0, description="Lees-Edwards: the image moves at shear_rate times the width")
    sheared: AxisName = Field("y", description="the axis whose sides are sheared")

    def periodic(self) -> Periodic:
        return Periodic(self.x, self.y, self.shear_rate, self.sheared)


class MaterialTable(FileTable):
    """[materials.NAME]."""

    restitution: Share = 1.0
    friction: NotNegative = 0.0
    density: Positive = Field(1.0, description="mass / area, for bodies without a mass of their own")

    def material(self) -> Material:
        return Material(self.restitution, self.friction, self.density)


class PairTable(FileTable):
    """[[pairs]]: how two materials meet, where the rule for two different materials does not suit."""

    between: list[Text] = Field(min_length=2, max_length=2)
    restitution: Share | None = None
    friction: NotNegative | None = None


class SceneTable(FileTable):
    """[scene]: its name, gravity, and how it wants to be run."""

    name: Text = ""
    description: Text = ""
    gravity: Point = (0.0, 0.0)
    step: Positive = 0.01
    duration: Positive = 10.0
    frame_rate: Positive = Field(50.0, description="frames a time unit")
    stepper: StepperName = "drift_safe"
    law: Text = "gr"
    restitution_model: Text | None = None
    friction_model: Text | None = None
    mixed_restitution: MixedName = "refuse"
    parameters: dict[str, Any] = Field(default_factory=dict, description="for the record; Carom does not read it")


class SymmetryTable(FileTable):
    """[[symmetries]]: `x -> center + matrix (x - center)` carries the bodies onto each other. For analysis."""

    matrix: list[Point] = Field(min_length=2, max_length=2)
    center: Point = (0.0, 0.0)
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

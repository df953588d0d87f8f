"""Bodies in a scene file: place, motion and what else they have; radii by chance."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, ValidationInfo, model_validator

from .shapes import ShapeFields, TurnFields
from .tables import FileTable, MotionTable
from .values import Flag, NotNegative, Numbers, Positive, Positives, Text, wrong
from .vectors import Inertias, Points, Spins, axes


class UniformRadius(FileTable):
    """Radii spread evenly between two bounds."""

    kind: Literal["uniform"] = "uniform"
    low: Positive
    high: Positive

    @model_validator(mode="after")
    def _ordered(self) -> UniformRadius:
        if not self.low <= self.high:
            raise wrong(f"at least low = {self.low:g}", self.high, ("high",))
        return self


class NormalRadius(FileTable):
    """Normally distributed radii; those outside [low, high] are drawn again."""

    kind: Literal["normal"]
    mean: Positive
    deviation: NotNegative
    low: Positive | None = Field(None, description="mean / 2 if not given")
    high: Positive | None = Field(None, description="3 mean / 2 if not given")

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low or 0.5 * self.mean, self.high or 1.5 * self.mean

    @model_validator(mode="after")
    def _ordered(self) -> NormalRadius:
        low, high = self.bounds
        if not low <= self.mean <= high:
            raise wrong(f"a number from low = {low:g} to high = {high:g}", self.mean, ("mean",))
        return self


class ChoiceRadius(FileTable):
    """One of a few radii, all alike or by weight."""

    kind: Literal["choice"]
    values: list[Positive] = Field(min_length=1)
    weights: list[Positive] | None = None

    @model_validator(mode="after")
    def _one_each(self) -> ChoiceRadius:
        if self.weights is not None and len(self.weights) != len(self.values):
            raise wrong(f"{len(self.values)} numbers, one for each value", self.weights, ("weights",))
        return self


def _radius_kind(value: Any) -> Any:
    return value.get("kind", "uniform") if isinstance(value, dict) else "numbers"


RadiusTable = Annotated[
    Annotated[Positives, Tag("numbers")]
    | Annotated[UniformRadius, Tag("uniform")]
    | Annotated[NormalRadius, Tag("normal")]
    | Annotated[ChoiceRadius, Tag("choice")],
    Discriminator(_radius_kind),
]


class BodyFields(ShapeFields, TurnFields):
    """What explicit bodies and generated ones have in common. Lists have one entry for each body."""

    plane_keys: ClassVar[tuple[str, ...]] = (*ShapeFields.plane_keys, "angle")
    space_keys: ClassVar[tuple[str, ...]] = (*ShapeFields.space_keys, *TurnFields.space_keys)

    name: Text = ""
    radius: RadiusTable | None = Field(None, description="of discs, spheres, capsules and cylinders")
    velocity: Points | None = None
    angle: Numbers = Field(0.0, description="radians, anticlockwise; of the plane alone")
    spin: Spins = Field(0.0, description="radians a time unit; in space [x, y, z] along the axes of the world")
    mass: Positives | None = Field(None, description="density times area or volume if not given")
    inertia: Inertias | None = Field(None, description="of a homogeneous body if not given; in space three moments")
    material: Text = "default"
    rotates: Flag = True
    motion: MotionTable = Field("free", description='"free", "fixed" or a table {kind = ...}')
    template: Flag = Field(False, description="not part of the scene itself, only of its copies")

    @model_validator(mode="after")
    def _its_shape(self, info: ValidationInfo) -> BodyFields:
        self.check_shape(axes(info))
        return self


class BodiesTable(BodyFields):
    """[[bodies]]: one body, or one for each point in `position`."""

    position: Points
    radius: Positives | None = Field(None, description="of discs, spheres, capsules and cylinders")

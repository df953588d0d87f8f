"""Random radii, places, orientations and velocities of generated bodies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ..errors import ProblemError
from ..solvers.rows import Floats
from .checks import FLAG, NOT_NEGATIVE, POSITIVE, POSITIVES, Choice, ListOf, Schema, Where, or_list
from .fields import KindOf

Vector = tuple[float, ...]


class Chance:
    """Random numbers of one generator. Each use has its own stream: jitter does not change the velocities."""

    USES = ("radius", "place", "jitter", "velocity", "angle")

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __call__(self, use: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.USES.index(use)])


# ---- random radii


@dataclass(frozen=True)
class UniformRadius:
    """Radii distributed evenly between two bounds."""

    low: Annotated[float, POSITIVE]
    high: Annotated[float, POSITIVE]

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ProblemError("radius.high", self.high, f"at least low = {self.low:g}")

    def draw(self, count: int, random: np.random.Generator) -> Floats:
        return random.uniform(self.low, self.high, count)


@dataclass(frozen=True)
class NormalRadius:
    """Normally distributed radii; those outside [low, high] are drawn again."""

    mean: Annotated[float, POSITIVE]
    deviation: Annotated[float, NOT_NEGATIVE]
    low: Annotated[float | None, POSITIVE, "mean / 2 by default"] = None
    high: Annotated[float | None, POSITIVE, "3 mean / 2 by default"] = None

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low or 0.5 * self.mean, self.high or 1.5 * self.mean

    def __post_init__(self) -> None:
        low, high = self.bounds
        if not low <= self.mean <= high:
            raise ProblemError("radius.mean", self.mean, f"a number from low = {low:g} to high = {high:g}")

    def draw(self, count: int, random: np.random.Generator) -> Floats:
        low, high = self.bounds
        drawn = random.normal(self.mean, self.deviation, count)
        for _ in range(100):
            outside = np.flatnonzero((drawn < low) | (drawn > high))
            if not len(outside):
                return drawn
            drawn[outside] = random.normal(self.mean, self.deviation, len(outside))
        return np.clip(drawn, low, high)  # bounds too narrow for the draws to meet


@dataclass(frozen=True)
class ChoiceRadius:
    """One of several radii, with equal probability or by weight."""

    values: Annotated[Vector, ListOf(POSITIVE, 1, text="a list that is not empty")]
    weights: Annotated[Vector | None, ListOf(POSITIVE)] = None

    def __post_init__(self) -> None:
        if self.weights is not None and len(self.weights) != len(self.values):
            raise ProblemError("radius.weights", self.weights, f"{len(self.values)} numbers, one for each value")

    def draw(self, count: int, random: np.random.Generator) -> Floats:
        weights = np.ones(len(self.values)) if self.weights is None else np.array(self.weights)
        return random.choice(np.array(self.values), size=count, p=weights / weights.sum())


RADIUS_KINDS = {"uniform": UniformRadius, "normal": NormalRadius, "choice": ChoiceRadius}


class RadiusOf(KindOf):
    """Radii of generated bodies: a number, a list, or a table of a distribution."""

    text = "a number above 0"

    def read(self, value: Any, where: Where) -> Any:
        return super().read(value, where) if isinstance(value, Mapping) else POSITIVES.read(value, where)

    def schema(self) -> Schema:
        return {"anyOf": [*or_list(POSITIVE.schema())["anyOf"], *super().schema()["anyOf"]]}


RADIUS = RadiusOf(RADIUS_KINDS, "uniform")


# ---- places, velocities, orientations


@dataclass(frozen=True)
class RandomVelocity:
    """A random velocity, added to `velocity`.

    normal: each component has the standard deviation `speed`; uniform: each lies within +-speed; direction: of length
    `speed`, in a random direction.
    """

    speed: Annotated[float, NOT_NEGATIVE]
    kind: Annotated[str, Choice(("normal", "uniform", "direction"))] = "normal"
    no_drift: Annotated[bool, FLAG, "subtract the mean, so that the bodies do not move as a whole"] = False

    def draw(self, count: int, dimension: int, random: np.random.Generator) -> Floats:
        """Velocities (count, D)."""
        if self.kind == "normal":
            velocity = random.normal(scale=abs(self.speed), size=(count, dimension))
        elif self.kind == "uniform":
            velocity = random.uniform(-self.speed, self.speed, size=(count, dimension))
        else:
            velocity = self.speed * _directions(count, dimension, random)
        return velocity - velocity.mean(axis=0) if self.no_drift else velocity


def jittered(points: Floats, reach: float, random: np.random.Generator) -> Floats:
    """Each point moved by a random vector, uniformly distributed in the disc or ball of radius `reach`."""
    count, d = points.shape
    if d == 2:
        way = _directions(count, d, random)
        return points + (reach * np.sqrt(random.random(count)))[:, None] * way
    return points + reach * np.cbrt(random.random(count))[:, None] * _directions(count, d, random)


def random_orientations(count: int, random: np.random.Generator) -> Floats:
    """Uniformly distributed unit quaternions (count, 4): directions of a normal distribution in four dimensions."""
    q = random.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def _directions(count: int, dimension: int, random: np.random.Generator) -> Floats:
    """Uniformly distributed unit vectors (count, D). In 3D their heights are uniform (Archimedes)."""
    if dimension == 2:
        angle = 2.0 * np.pi * random.random(count)
        return np.column_stack([np.cos(angle), np.sin(angle)])
    height, angle = random.uniform(-1.0, 1.0, count), 2.0 * np.pi * random.random(count)
    across = np.sqrt(1.0 - height * height)
    return np.column_stack([across * np.cos(angle), across * np.sin(angle), height])

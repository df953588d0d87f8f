"""The `--camera` of a picture: what is asked for, read from text and checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ProblemError

PLANE = "fit, all, zoom, follow, follow:BODY, or x,y,width"
SPACE = (
    "fit, all, or any of azimuth=, elevation= (degrees), distance=, target=x:y:z, turn= (degrees a second), with commas"
)


@dataclass(frozen=True)
class PlaneCamera:
    """Of the plane: what happens, all of it, drawing back, following something, or a place and a width."""

    everything: bool = False
    zoom: bool = False
    follow: bool = False
    body: int | None = None
    center: tuple[float, float] | None = None
    width: float = 0.0


@dataclass(frozen=True)
class SpaceCamera:
    """Of space. None means that the picture chooses: so that nearly everything is seen, and near."""

    azimuth: float | None = None
    elevation: float | None = None
    distance: float | None = None
    target: tuple[float, float, float] | None = None
    everything: bool = False
    turn: float = 0.0  # degrees in a second of the film


def plane_camera(text: str, count: int) -> PlaneCamera:
    """For a run of so many bodies."""
    word = text.strip().lower()
    if word in ("fit", "all", "zoom", "follow"):
        return PlaneCamera(everything=word == "all", zoom=word == "zoom", follow=word == "follow")
    if word.startswith("follow:"):
        number = word.removeprefix("follow:")
        if not number.isdigit() or int(number) >= count:
            raise ProblemError("--camera", text, f"follow:BODY with a number from 0 to {count - 1}")
        return PlaneCamera(follow=True, body=int(number))
    x, y, width = _numbers(text, word.split(","), 3, PLANE)
    if not width > 0.0:
        raise ProblemError("--camera", text, "x,y,width with a width above 0")
    return PlaneCamera(center=(x, y), width=width)


def space_camera(text: str) -> SpaceCamera:
    word = text.strip().lower()
    if word in ("fit", "all"):
        return SpaceCamera(everything=word == "all")
    given: dict[str, object] = {}
    for part in word.split(","):
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or key not in ("azimuth", "elevation", "distance", "target", "turn"):
            raise ProblemError("--camera", text, SPACE)
        if key == "target":
            given[key] = tuple(_numbers(text, value.split(":"), 3, "target=x:y:z"))
        else:
            given[key] = _numbers(text, [value], 1, f"{key}= with a number")[0]
    camera = SpaceCamera(**given)  # type: ignore[arg-type]
    if camera.elevation is not None and not -90.0 <= camera.elevation <= 90.0:
        raise ProblemError("--camera", text, "elevation= with degrees from -90 to 90")
    if camera.distance is not None and not camera.distance > 0.0:
        raise ProblemError("--camera", text, "distance= with a number above 0")
    return camera


def _numbers(text: str, parts: list[str], count: int, wanted: str) -> list[float]:
    try:
        values = [float(part) for part in parts]
    except ValueError:
        values = []
    if len(values) != count or not np.isfinite(values).all():
        raise ProblemError("--camera", text, wanted)
    return values

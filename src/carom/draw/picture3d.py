"""Pictures of space: the camera of a film, bodies with light and shadow, and lines over them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..contact.boundaries import boundaries_at
from ..scene.model import Scene
from ..world import State, World
from .camera import FIELD, level_axes, upward
from .camera_option import SpaceCamera
from .colors import Bytes, Floats
from .containers import container_tops
from .framing import Area, together
from .layers import Page, Picture
from .raycast import Camera, Look, looking_at, render
from .raycast.picture import extent
from .timeline import Timeline

SAMPLES = 24  # frames that the camera is made for
MARGIN = 0.04


@dataclass(frozen=True, eq=False)
class Shot:
    """The camera of a film: at rest, or turning about the upward axis."""

    camera: Camera
    target: Floats
    up: Floats
    turn: float  # radians a time unit
    start: float

    def at(self, time: float) -> Camera:
        if not self.turn:
            return self.camera
        angle = self.turn * (time - self.start)
        return _turned(self.camera, self.target, self.up, angle)


def shot(timeline: Timeline, asked: SpaceCamera, aspect: float, start: float, stop: float, speed: float) -> Shot:
    """A camera that sees nearly all that happens from start to stop."""
    world = timeline.run.world
    up = upward(world.gravity)
    centers, radius = _seen(timeline, start, stop, asked.everything)
    if asked.distance is None and asked.target is None:
        camera = looking_at(centers, radius, up, asked.azimuth, asked.elevation, aspect, MARGIN)
    else:
        camera = _placed(asked, centers, radius, up, aspect)
    target = 0.5 * (camera.low + camera.high) if asked.target is None else np.array(asked.target)
    if asked.turn and asked.distance is None:
        camera = _wide_enough(camera, target, centers, radius, up)
    return Shot(camera, target, up, np.radians(asked.turn) / speed, start)


def _placed(asked: SpaceCamera, centers: Floats, radius: Floats, up: Floats, aspect: float) -> Camera:
    """A camera at a distance from a target, or at the least distance from which all is seen."""
    base = looking_at(centers, radius, up, asked.azimuth, asked.elevation, aspect, MARGIN)
    target = 0.5 * (base.low + base.high) if asked.target is None else np.array(asked.target)
    distance = asked.distance
    if distance is None:
        arm = centers - target
        across = np.hypot(arm @ base.right / aspect, arm @ base.up) + radius
        distance = float((across / FIELD - arm @ base.forward).max())
    return replace(base, eye=target - distance * base.forward)


def _wide_enough(camera: Camera, target: Floats, centers: Floats, radius: Floats, up: Floats) -> Camera:
    """Farther away, so that all is seen from every side."""
    arm = centers - target
    height = arm @ up
    level = np.linalg.norm(arm - height[:, None] * up, axis=1) + radius
    tilt = abs(float(camera.forward @ up))
    tall = np.abs(height) * np.sqrt(1.0 - tilt * tilt) + level * tilt + radius
    far = max(float((level / (FIELD * camera.aspect)).max()), float((tall / FIELD).max())) + float(level.max())
    return replace(camera, eye=target - far * camera.forward)


def _turned(camera: Camera, target: Floats, up: Floats, angle: float) -> Camera:
    across, ahead, top = level_axes(up)
    basis = np.stack([across, ahead, top])
    cos, sin = np.cos(angle), np.sin(angle)
    turn = basis.T @ np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]]) @ basis
    eye = target + turn @ (camera.eye - target)
    return replace(camera, eye=eye, right=turn @ camera.right, up=turn @ camera.up, forward=turn @ camera.forward)


def _seen(timeline: Timeline, start: float, stop: float, everything: bool) -> tuple[Floats, Floats]:
    """Spheres (k, 3), (k,) that the film must show; unless `everything`, not those that are far away."""
    world, scene = timeline.run.world, timeline.run.scene
    times = np.linspace(start, stop, SAMPLES if stop > start else 1)
    states = [timeline.frame(k) for k in np.unique([timeline.nearest(t) for t in times]).tolist()]
    free = world.free if world.free.any() else np.ones(world.count, bool)
    kept = np.ones((len(states), world.count), bool)
    if not everything:
        near = together(np.concatenate([s.position[free] for s in states]), int(free.sum()))
        kept[:, free] = near.reshape(len(states), -1)
    kept[~kept.any(axis=1)] = True  # a frame from which all have gone
    found = []
    for state, mask in zip(states, kept):
        walls = boundaries_at(world, state.time, 1e-6)[0]
        found.append(extent(world, state, walls, container_tops(scene, state.time), mask))
    place, radius = zip(*found)
    return np.concatenate(place), np.concatenate(radius)


@dataclass(frozen=True, eq=False)
class View:
    """A picture of space on a page, and where on the page a place of space is seen."""

    picture: Picture
    depth: NDArray[np.float32]  # (rows, columns)
    camera: Camera

    @classmethod
    def of(
        cls, world: World, scene: Scene, state: State, colors: Bytes, camera: Camera, page: Page, area: Area
    ) -> View:
        top = round(area.top)
        tops = container_tops(scene, state.time)
        made = render(world, state, colors / 255.0, camera, Look(rows=page.height - top), None, tops)
        return cls(Picture(made.pixels, top), made.depth, camera)

    def scale_at(self, place: Floats) -> float:
        """Pixels for a length unit across the view, at the depth of a place."""
        depth = float((place - self.camera.eye) @ self.camera.forward)
        return self.depth.shape[0] / (2.0 * self.camera.field * depth) if depth > 0.0 else 0.0

    def project(self, places: Floats) -> Floats:
        """Places (..., 3) to pixels (..., 2) of the page; what is behind the camera is not a number."""
        return self._seen(places)[0].reshape(*places.shape[:-1], 2)

    def project_seen(self, places: Floats) -> Floats:
        """The same; what is hidden by bodies is not a number either."""
        out, depth = self._seen(places)
        rows, columns = self.depth.shape
        finite = np.nan_to_num(out, nan=-1.0)
        j = np.clip(finite[:, 0].astype(int), 0, columns - 1)
        i = np.clip((finite[:, 1] - self.picture.top).astype(int), 0, rows - 1)
        out[depth > 1.002 * self.depth[i, j]] = np.nan
        return out.reshape(*places.shape[:-1], 2)

    def _seen(self, places: Floats) -> tuple[Floats, Floats]:
        rows, columns = self.depth.shape
        x, y, depth = self.camera.project(places.reshape(-1, 3)).T
        out = np.stack([columns * x, self.picture.top + rows * y], axis=1)
        out[~(depth > 0.0)] = np.nan
        return out, depth

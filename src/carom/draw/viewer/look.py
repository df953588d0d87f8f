"""The appearance of the page: panel, background, lamps, and the cameras of its windows."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from ...solvers.rows import Floats
from . import tone
from .layout import Layout

BRAND = (38, 92, 150)
SPOT = 0.75  # half angle of the lamp that casts shadows, radians: it covers the whole ground
WIDTH = 372  # width of the panel in pixels
# In a narrow window viser puts the panel over the lower part of the picture. The server knows the size of the picture
# only, so a narrow and tall one is taken for that of a telephone.
NARROW, TALL = 450, 0.8  # largest width in pixels, and largest ratio of width and height
ABOVE = 0.4  # share of the height of such a window that is above the panel


def set_up_panel(server: Any) -> None:
    """Docks the panel at the right and removes viser's own buttons."""
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=BRAND)
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(WIDTH)


def set_up_page(server: Any, layout: Layout, shadows: bool) -> None:
    """Sets up background and lamps."""
    scene = server.scene
    scene.configure_default_lights(False)
    scene.configure_environment_map(None)
    scene.world_axes.visible = False
    scene.set_up_direction(tuple(layout.box.up))
    _add_lights(server, _LIGHTS[layout.box.dimension](layout), shadows)


def lamp_of(layout: Layout) -> Floats:
    """The unit vector to the main lamp."""
    place = _LIGHTS[layout.box.dimension](layout).lamps[0].place
    return np.asarray(place / np.linalg.norm(place))


class Lamp(NamedTuple):
    """A distant lamp; intensities are relative to the light under which colors are shown unchanged."""

    name: str
    intensity: float
    place: Floats  # (3,)
    shadows: bool = False  # whether bodies may cast shadows in its light


class Lights(NamedTuple):
    """The lights of a page; the first lamp is the main one."""

    ambient: float
    lamps: tuple[Lamp, ...]


def _lights_2d(layout: Layout) -> Lights:
    """One lamp in front of the page."""
    return Lights(0.34, (Lamp("front", 0.66, np.array([0.0, 0.0, 10.0])),))


def _lights_3d(layout: Layout) -> Lights:
    """The main lamp above and to the left of the viewer, and a weak one at the right."""
    right, ahead = _level(layout)
    key = 9.0 * layout.box.up - 4.0 * right - 2.5 * ahead
    key = 10.0 * key / np.linalg.norm(key)
    fill = 2.0 * layout.box.up + 6.0 * right - 5.0 * ahead
    return Lights(0.24, (Lamp("key", 0.88, key, True), Lamp("fill", 0.18, fill)))


_LIGHTS = {2: _lights_2d, 3: _lights_3d}


def _level(layout: Layout) -> tuple[Floats, Floats]:
    """Horizontal unit vectors to the right and ahead in the initial view."""
    view = layout.view()
    ahead = view.target - view.eye
    ahead = ahead - (ahead @ view.up) * view.up
    ahead = ahead / np.linalg.norm(ahead)
    return np.cross(ahead, view.up), ahead


def _add_lights(server: Any, lights: Lights, shadows: bool) -> None:
    whole = np.pi * tone.GAIN
    server.scene.add_light_ambient("/light/ambient", intensity=lights.ambient * whole)
    for name, part, place, casts in lights.lamps:
        if not (casts and shadows):
            server.scene.add_light_directional(f"/light/{name}", intensity=part * whole, position=tuple(place))
            continue
        # A spot without decay: viser's shadows of directional lights depend on the distance of the camera.
        server.scene.add_light_spot(
            f"/light/{name}",
            intensity=part * whole,
            decay=0.0,
            angle=SPOT,
            position=tuple(place),
            direction=tuple(-place),
            cast_shadow=True,
        )


class Cameras:
    """The cameras of all windows. Each sees everything until its user moves it."""

    def __init__(self, server: Any, layout: Layout) -> None:
        self._server, self._layout = server, layout
        self._given: dict[int, list[Floats]] = {}  # positions that the camera of each window was given
        self._aspect: dict[int, float] = {}
        self._lock = threading.RLock()
        self._start()
        server.on_client_connect(self._met)
        server.on_client_disconnect(self._left)

    def use(self, layout: Layout) -> None:
        """Adopts a new layout; cameras that were not moved follow it."""
        with self._lock:
            unmoved = [client for client in self._server.get_clients().values() if self._unmoved(client)]
            self._layout = layout
            self._start()
            for client in unmoved:
                self.fit(client)

    def fit(self, client: Any) -> None:
        """Moves the camera of one window so that it sees everything."""
        camera, number = client.camera, client.client_id
        with self._lock, client.atomic():
            self._aspect[number] = float(camera.aspect)
            narrow = 0 < camera.image_width <= NARROW and self._aspect[number] < TALL
            view = self._layout.view(self._aspect[number] / (ABOVE if narrow else 1.0))
            view = view.in_upper_part(ABOVE) if narrow else view
            self._given.setdefault(number, [self._layout.view().eye]).append(view.eye)
            camera.fov = view.angle
            camera.position = view.eye
            camera.look_at = view.target

    def _start(self) -> None:
        view, start = self._layout.view(), self._server.initial_camera
        start.position, start.look_at, start.fov = view.eye, view.target, view.angle

    def _met(self, client: Any) -> None:
        self.fit(client)
        client.camera.on_update(lambda camera: self._resized(client))
        self._resized(client)  # the window may have been resized in between

    def _left(self, client: Any) -> None:
        with self._lock:
            self._given.pop(client.client_id, None)
            self._aspect.pop(client.client_id, None)

    def _resized(self, client: Any) -> None:
        with self._lock:
            before = self._aspect.get(client.client_id)
            if before is not None and abs(float(client.camera.aspect) - before) > 1e-3 and self._unmoved(client):
                self.fit(client)

    def _unmoved(self, client: Any) -> bool:
        """Whether the camera is at a position that it was given; its last position may not be known yet."""
        place = client.camera.position
        given = self._given.get(client.client_id, [])
        return any(np.linalg.norm(place - eye) < 1e-3 * np.linalg.norm(eye) for eye in given)

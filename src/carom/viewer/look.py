"""How pages look: light background, no clutter, lamps that suit the plane and space, a camera that sees all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..solvers.rows import Floats
from . import tone
from .framing import Layout, View

BRAND = (38, 92, 150)
WIDTH = 372  # pixels of the panel


def set_up_page(server: Any, layout: Layout, shadows: bool) -> None:
    """Panel, colours and lamps."""
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=BRAND)
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(WIDTH)
    scene = server.scene
    scene.configure_default_lights(False)
    scene.configure_environment_map(None)
    scene.world_axes.visible = False
    scene.set_up_direction(tuple(layout.box.up))
    if layout.box.dimension == 2:
        _lamps(server, 0.34, (("front", 0.66, np.array([0.0, 0.0, 10.0]), False),))
        return
    view = layout.view()
    ahead = view.target - view.eye
    ahead = ahead - (ahead @ view.up) * view.up
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, view.up)
    key, fill = 9.0 * view.up - 4.0 * right - 2.5 * ahead, 2.0 * view.up + 6.0 * right - 5.0 * ahead
    _lamps(server, 0.30, (("key", 0.78, key, shadows), ("fill", 0.22, fill, False)))


def _lamps(server: Any, ambient: float, lamps: tuple[tuple[str, float, Floats, bool], ...]) -> None:
    """Lamps far away, their intensities in parts of the light under which colours are what they are."""
    whole = np.pi * tone.GAIN
    server.scene.add_light_ambient("/light/ambient", intensity=ambient * whole)
    for name, part, place, shadows in lamps:
        server.scene.add_light_directional(
            f"/light/{name}", intensity=part * whole, position=place, cast_shadow=shadows
        )


def point_cameras(server: Any, layout: Layout) -> None:
    """Every window, now or later, starts with a view of everything; it fits the window until the user moves it."""
    _initial(server, layout.view())

    @server.on_client_connect  # type: ignore[untyped-decorator]
    def _(client: Any) -> None:
        point_camera(client, layout)
        fitted = [float(client.camera.aspect), layout.view(float(client.camera.aspect)).eye]

        @client.camera.on_update  # type: ignore[untyped-decorator]
        def _(camera: Any) -> None:
            aspect, eye = fitted
            unmoved = np.linalg.norm(camera.position - eye) < 1e-3 * np.linalg.norm(eye)
            if unmoved and abs(float(camera.aspect) - aspect) > 1e-3:
                point_camera(client, layout)
                fitted[:] = [float(camera.aspect), layout.view(float(camera.aspect)).eye]


def point_camera(client: Any, layout: Layout) -> None:
    """Lets one window see everything."""
    camera = client.camera
    view = layout.view(float(camera.aspect))
    with client.atomic():
        camera.fov = view.angle
        camera.position = view.eye
        camera.look_at = view.target


def _initial(server: Any, view: View) -> None:
    start = server.initial_camera
    start.position, start.look_at, start.fov = view.eye, view.target, view.angle

"""Light that is measured at some pixels and blended in between is the light that all pixels would measure."""

from __future__ import annotations

import numpy as np

from carom.build import build
from carom.contact.boundaries import boundaries_at
from carom.draw.camera import looking_at, upward
from carom.draw.framing import extent_3d
from carom.draw.raycast import background, light
from carom.draw.raycast.background import backdrop
from carom.draw.raycast.light import gathered, lights, summed
from carom.draw.raycast.picture import ground_of
from carom.draw.raycast.visible import placed_parts
from carom.scene import Bodies, Scene
from carom.scene.boundaries import Plane
from carom.scene.shapes import Box, Sphere

ROWS, SMOOTH = 360, 2


def test_blended_light_on_a_floor_is_the_measured_light():
    bodies = [
        Bodies(Box((1.0, 0.1, 2.0)), np.array([[0.0, 0.0, 1.0]])),
        Bodies(Sphere(0.4), np.array([[1.2, 0.3, 0.4]])),
    ]
    world, state = build(Scene("light", bodies, [Plane()], gravity=(0.0, 0.0, -10.0)), check_overlap=False)
    floor, up = boundaries_at(world, 0.0, 1e-6)[0], upward(world.gravity)
    extent = extent_3d(world, [state])
    camera = looking_at(extent.centers, extent.radii, up)
    rays = camera.rays(ROWS * SMOOTH, round(ROWS * camera.aspect) * SMOOTH)
    ground = ground_of(world, camera, up)
    back = backdrop(rays, SMOOTH, floor, ground)
    lamps = lights(placed_parts(world.shapes_3d, state), world.shapes_3d, camera, up, ROWS)
    known = background._measured(rays, SMOOTH, back, floor, lamps)

    rng = np.random.default_rng(3)
    rows, columns = np.nonzero(back.boundary >= 0)
    errors, blended, shades = [], 0, []
    for pick in rng.integers(len(rows), size=3000).tolist():
        i, j = int(rows[pick]), int(columns[pick])
        x, y, z = light.point(rays, i, j, float(back.depth[i, j]))
        if background._alpha(ground, x, y, z, True) <= 0.0:
            continue
        quick = light.light(known, i, j, 0, lamps, (x, y, z), (0.0, 0.0, 1.0))
        lamp, sky = gathered(lamps.lamp, x, y, z, 0.0, 0.0, 1.0), gathered(lamps.sky, x, y, z, 0.0, 0.0, 1.0)
        errors.append(abs(quick - summed(lamps, lamp, sky, 0.0, 0.0, 1.0)))
        shades.append(quick)
        blended += bool(known.even[i // known.step, j // known.step])
    # There is shade to get wrong, and most of the floor is blended.
    assert np.ptp(shades) > 0.5 and blended > 0.6 * len(errors)
    # A byte of sRGB counts steps of 0.01 of a lit floor's light: half a step on average, two at edges of shadows.
    assert np.mean(errors) < 0.005 and np.quantile(errors, 0.99) < 0.02

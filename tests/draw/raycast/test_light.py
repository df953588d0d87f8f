"""Light that is measured at some pixels and blended in between is the light that all pixels would measure."""

from __future__ import annotations

import numpy as np

from carom.build import build
from carom.contact.boundaries import boundaries_at
from carom.draw.camera import looking_at, upward
from carom.draw.framing import extent_3d
from carom.draw.raycast import background, light, shade
from carom.draw.raycast.background import backdrop
from carom.draw.raycast.light import gathered, lights, summed
from carom.draw.raycast.picture import ground_of
from carom.draw.raycast.visible import placed_parts, seen
from carom.scene import Bodies, Scene
from carom.scene.boundaries import Plane
from carom.scene.shapes import Box, Sphere

ROWS, SMOOTH = 360, 2


def staged():
    """A box and a sphere on a floor: world, state, the floor, the camera's rays and the lights."""
    bodies = [
        Bodies(Box((1.0, 0.1, 2.0)), np.array([[0.0, 0.0, 1.0]])),
        Bodies(Sphere(0.4), np.array([[1.2, 0.3, 0.4]])),
    ]
    world, state = build(Scene("light", bodies, [Plane()], gravity=(0.0, 0.0, -10.0)), check_overlap=False)
    extent, up = extent_3d(world, [state]), upward(world.gravity)
    camera = looking_at(extent.centers, extent.radii, up)
    rays = camera.rays(ROWS * SMOOTH, round(ROWS * camera.aspect) * SMOOTH)
    parts = placed_parts(world.shapes_3d, state)
    lamps = lights(parts, world.shapes_3d, camera, up, ROWS)
    return world, parts, camera, rays, lamps


def measured(lamps, place, normal):
    lamp, sky = gathered(lamps.lamp, *place, *normal), gathered(lamps.sky, *place, *normal)
    return summed(lamps, lamp, sky, *normal)


def test_blended_light_on_a_floor_is_the_measured_light():
    world, _, camera, rays, lamps = staged()
    floor, ground = boundaries_at(world, 0.0, 1e-6)[0], ground_of(world, camera, upward(world.gravity))
    back = backdrop(rays, SMOOTH, floor, ground)
    known = light.empty(rays, SMOOTH)
    background._measure(rays, known, back, floor, lamps)

    rng = np.random.default_rng(3)
    rows, columns = np.nonzero(back.boundary >= 0)
    errors, blended, shades = [], 0, []
    for pick in rng.integers(len(rows), size=3000).tolist():
        i, j = int(rows[pick]), int(columns[pick])
        x, y, z = light.point(rays, i, j, float(back.depth[i, j]))
        if background._alpha(ground, x, y, z, True) <= 0.0:
            continue
        quick = light.light(known, i, j, 0, lamps, (x, y, z), (0.0, 0.0, 1.0))
        errors.append(abs(quick - measured(lamps, (x, y, z), (0.0, 0.0, 1.0))))
        shades.append(quick)
        blended += known.cell[i // known.step, j // known.step] == light.EVEN
    # There is shade to get wrong, and most of the floor is blended.
    assert np.ptp(shades) > 0.5 and blended > 0.6 * len(errors)
    # A byte of sRGB counts steps of 0.01 of a lit floor's light: half a step on average, two at edges of shadows.
    assert np.mean(errors) < 0.005 and np.quantile(errors, 0.99) < 0.02


def test_light_on_bodies_where_nothing_hides_the_lamp_is_the_measured_light():
    world, parts, _, rays, lamps = staged()
    buffers = seen(rays, parts, world.shapes_3d)
    known = light.empty(rays, SMOOTH)
    shade._measure(rays, known, buffers, lamps)
    errors, cells = [], []
    for i, j in np.argwhere(buffers.part == 1)[::7].tolist():  # the sphere, where the light of the lamp is not even
        place = light.point(rays, i, j, float(buffers.depth[i, j]))
        normal = tuple(float(n) for n in buffers.normal[i, j])
        quick = light.light(known, i, j, shade.FACES, lamps, place, normal)
        errors.append(abs(quick - measured(lamps, place, normal)))
        cells.append(known.cell[i // known.step, j // known.step])
    # Most of the sphere is in full light, and some of it is not: its lower half faces away from the lamp.
    assert 0.4 < np.mean(np.array(cells) == light.OPEN) < 0.98
    assert np.mean(errors) < 0.005 and np.quantile(errors, 0.99) < 0.02  # as on the floor

"""Height fields in 2D and 3D: flat ones are planes, balls roll into valleys, and nothing passes through."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom.build import build
from carom.contact.detector import find_contacts
from carom.scene import Bodies, Box, Disc, Ellipsoid, HeightField, Material, Plane, Rectangle, Scene, Sphere, Vibrating

GRAVITY = 10.0
X = 0.1 * np.arange(21)  # places of the heights, from 0 to 2
BOWL_2D = 0.5 * (X - 1.0) ** 2
BOWL_3D = BOWL_2D[:, None] + BOWL_2D[None, :]


def scene_of(bodies, ground, duration, restitution=0.0, friction=0.5):
    bodies = bodies if isinstance(bodies, list) else [bodies]
    down = (*(0.0,) * (bodies[0].shape.dimension - 1), -GRAVITY)
    materials = {"default": Material(restitution, friction)}
    return Scene("field", bodies, [ground], gravity=down, materials=materials, step=0.005, duration=duration,
                 frame_rate=50.0)  # fmt: skip


def hilly(places):
    """Height of hills in a bowl at places (..., 2 or 3)."""
    x, y = places[..., 0], places[..., 1]
    return (x - 1.0) ** 2 + (y - 1.0) ** 2 + 0.1 * np.sin(4.0 * x) * np.cos(3.0 * y)


def free_states(run):
    """Positions (frames, n, D) of the free bodies."""
    return np.array([position[run.world.free] for position in run.positions])


def test_a_ball_on_a_flat_field_moves_as_on_a_plane():
    """Rolling and sliding across many cells; the grid interpolates a plane exactly, and straight segments are one.

    The rocking of an ellipsoid amplifies differences of impacts that are not resolved exactly when they occur.
    """
    disc = Bodies(Disc(0.1), [[0.35, 0.1]], velocity=[[1.0, 0.0]], spin=-4.0)
    ball = Bodies(Sphere(0.1), [[0.35, 0.4, 0.1]], velocity=[[1.0, 0.2, 0.0]], spin=[[-2.0, 4.0, 3.0]])
    egg = Bodies(Ellipsoid((0.15, 0.1, 0.08)), [[0.5, 0.5, 0.2]], velocity=[[0.5, 0.2, 0.0]])
    flat, held, timed = np.zeros((10, 10)), "drift_safe", "time_of_impact"
    for body, field, stepper in ((disc, [0.0] * 10, held), (ball, flat, held), (egg, flat, timed)):
        scenes = [scene_of(body, ground, 0.8) for ground in (HeightField(field, 0.2), Plane())]
        ends = [carom.simulate(scene, stepper=stepper).last for scene in scenes]
        assert ends[0].position[:1] == pytest.approx(ends[1].position, abs=1e-9)
        assert ends[0].velocity[:1] == pytest.approx(ends[1].velocity, abs=1e-8)


def test_a_ball_on_a_slope_moves_as_on_a_tilted_plane():
    """A field that rises evenly along x and y is a plane; a ball that rolls down covers 5/7 of g sin a t^2 / 2."""
    slope, time = np.array([0.3, 0.2]), 0.4
    heights = 0.1 * (slope[0] * np.arange(31)[:, None] + slope[1] * np.arange(31)[None, :])
    normal = np.array([-slope[0], -slope[1], 1.0]) / np.sqrt(1.0 + slope @ slope)
    start = np.array([2.0, 2.0, slope @ [2.0, 2.0]]) + 0.1 * normal
    end = carom.simulate(scene_of(Bodies(Sphere(0.1), [start]), HeightField(heights, 0.1), time)).last.position[0]
    sine = np.linalg.norm(np.cross(normal, [0.0, 0.0, 1.0]))
    assert np.linalg.norm(end - start) == pytest.approx(5.0 / 14.0 * GRAVITY * sine * time**2, rel=0.02)  # first order
    assert (end - start) @ normal == pytest.approx(0.0, abs=1e-9)


@pytest.mark.covering
@pytest.mark.parametrize("shape", [Disc(0.05), Rectangle(0.12, 0.08), Sphere(0.05), Ellipsoid((0.08, 0.06, 0.04))])
def test_a_body_stays_in_the_valley(shape):
    """Nothing passes through, the energy does not rise, and no body climbs higher than it began."""
    two = shape.dimension == 2
    place = [[0.6, 0.3]] if two else [[0.6, 0.8, 0.3]]
    run = carom.simulate(scene_of(Bodies(shape, place), HeightField(BOWL_2D if two else BOWL_3D, 0.1), 2.0, 0.3))
    path = free_states(run)[:, 0]
    ground = 0.5 * ((path[:, :-1] - 1.0) ** 2).sum(axis=1)
    assert (path[:, -1] > ground + 0.03).all()
    energy = run.steps["kinetic"] + run.steps["potential"]
    assert np.diff(energy).max() < 1e-9 * np.abs(energy).max()
    assert energy[-1] < energy[0]
    assert path[:, -1].max() <= 0.3 + 1e-12


@pytest.mark.parametrize(("shape", "share"), [(Disc(0.05), 2.0 / 3.0), (Sphere(0.05), 5.0 / 7.0)], ids=["disc", "ball"])
def test_a_ball_that_rolls_in_a_valley_has_the_period_of_its_curvature(shape, share):
    """In a valley of the radius R its center moves on a circle of the radius R - r: w^2 = share g / (R - r), with the
    share of the weight that rolling leaves. Heights 0.05 apart lie within 3e-4 of a parabola with R = 1; an amplitude
    of 0.2 changes the period by 2 %. On a plane it would not come back."""
    x = 0.05 * np.arange(41)
    heights = 0.5 * (x - 1.0) ** 2
    ground = HeightField(heights if shape.dimension == 2 else heights[:, None] + np.zeros((1, 9)), 0.05)
    tilt = np.arctan(0.2)
    start = np.array([1.2 - 0.05 * np.sin(tilt), *(0.2,) * (shape.dimension - 2), 0.021 + 0.05 * np.cos(tilt)])
    run = carom.simulate(scene_of(Bodies(shape, start[None]), ground, 2.5, friction=1.0).with_(frame_rate=200.0))
    x = free_states(run)[:, 0, 0] - 1.0
    k = np.flatnonzero(x[1:] * x[:-1] < 0.0)
    crossing = (k + x[k] / (x[k] - x[k + 1])) / 200.0
    assert len(crossing) >= 2
    assert np.pi / np.diff(crossing).mean() == pytest.approx(np.sqrt(share * GRAVITY / 0.95), rel=0.05)


@pytest.mark.parametrize("stepper", ["synchronous", "drift_safe"])
def test_nothing_falls_through_hills(stepper):
    """Boxes, balls and ellipsoids rain on hills in a bowl; all centers stay above the ground, also of fast ones."""
    rng = np.random.default_rng(1)
    spots = np.array([(x, y) for x in (0.55, 0.85, 1.15, 1.45) for y in (0.6, 1.0, 1.4)])
    places = np.c_[spots, hilly(spots) + 0.2 + 0.1 * rng.random(12)]
    shapes = [Sphere(0.08), Box((0.2, 0.15, 0.1)), Ellipsoid((0.12, 0.08, 0.05))]
    bodies = [Bodies(shape, places[k::3], velocity=(0.0, 0.0, -8.0 if k else 0.0)) for k, shape in enumerate(shapes)]
    nodes = np.stack(np.meshgrid(X, X, indexing="ij"), axis=-1)
    run = carom.simulate(scene_of(bodies, HeightField(hilly(nodes), 0.1), 0.6, 0.2), stepper=stepper)
    path = free_states(run)
    assert ((path[..., :2] > 0.0) & (path[..., :2] < 2.0)).all()
    assert (path[..., 2] > hilly(path) + 0.02).all()  # half of the thinnest body, less the sag of a cell


def test_a_vibrating_field_shakes_what_lies_on_it():
    """The field moves as told, and takes the ball along; a fixed one does not."""
    heights, speeds = np.full((8, 8), 0.0), []
    heights[:2], heights[-2:], heights[:, :2], heights[:, -2:] = 0.3, 0.3, 0.3, 0.3
    for motion in ({"motion": Vibrating(0.05, 3.0, (0.0, 0.0, 1.0))}, {}):
        run = carom.simulate(
            scene_of(Bodies(Sphere(0.1), [[0.7, 0.7, 0.1001]]), HeightField(heights, 0.2, **motion), 1.0)
        )
        path = free_states(run)[:, 0]
        assert (path[:, 2] > -0.05 + 0.09).all()
        speeds.append(np.ptp(path[:, 2]))
    assert speeds[0] > 0.05 and speeds[1] < 1e-3


@pytest.mark.parametrize("cell", [0.05, 0.025])
def test_gaps_are_exact_in_flat_parts_and_rounded_within_a_cell_of_an_edge(cell):
    """Against the distance from a roof with slopes of 0.5: the error is at most a quarter of a cell."""
    heights = np.minimum(0.5 * np.arange(11), 0.5 * np.arange(10, -1, -1))[:, None] * 0.1 + np.zeros((1, 11))
    ground, radius, worst = HeightField(heights, 0.1, cell=cell), 0.05, {True: 0.0, False: 0.0}
    for x in np.linspace(0.3, 0.7, 41):
        top = 0.25 - 0.5 * abs(x - 0.5)
        height = top + 0.06
        # Nearest on the roof: a slope, if the foot of the perpendicular is on it, else the ridge.
        near_ridge = abs(x - 0.5) < 0.5 * 0.8 * (height - top)
        exact = np.hypot(x - 0.5, height - 0.25) if near_ridge else (height - top) / np.hypot(1.0, 0.5)
        world, state = build(scene_of(Bodies(Sphere(radius), [[x, 0.5, height]]), ground, 1.0))
        gap = find_contacts(world, state, state, 0.05).gap.min()
        far = abs(x - 0.5) > 0.03 + 2.0 * cell
        worst[far] = max(worst[far], abs(gap + radius - exact))
    assert worst[True] < 1e-9
    assert 1e-6 < worst[False] < 0.25 * cell

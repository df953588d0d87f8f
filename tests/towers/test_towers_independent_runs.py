"""Runs of towers against closed forms and conservation laws; bricks are placed again from the recorded angles."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from carom.towers import Brick, Tower
from carom.towers.loop import Loop, LoopOptions

G = 9.81


def corners_of(tower, run, frame):
    """Corners of all bricks in a frame, from the recorded centroids and angles alone."""
    turn = np.asarray(run.angles[frame]) - np.asarray(run.angles[0])
    now, then = np.asarray(run.positions[frame]), np.asarray(run.positions[0])
    out = []
    for i, corners in enumerate(tower.corners):
        c, s = math.cos(turn[i]), math.sin(turn[i])
        out.append((corners - then[i]) @ np.array([[c, s], [-s, c]]) + now[i])
    return out


def separation(first, second) -> float:
    """Largest gap that an edge of either leaves; minus the depth of an overlap."""
    best = -np.inf
    for one, other in ((first, second), (second, first)):
        along = np.roll(one, -1, axis=0) - one
        out = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.hypot(*along.T)[:, None]
        best = max(best, float(np.min(out @ other.T - (out * one).sum(axis=1)[:, None], axis=1).max()))
    return best


def deepest(tower, run, every=1) -> float:
    """Deepest overlap of any frame."""
    worst = 0.0
    for frame in range(0, len(run), every):
        bodies = corners_of(tower, run, frame)
        low, high = np.array([b.min(axis=0) for b in bodies]), np.array([b.max(axis=0) for b in bodies])
        worst = max(worst, -float(low[:, 1].min()))
        near = (low[:, None] <= high[None]).all(axis=2)
        for i, j in np.argwhere(np.triu(near & near.T, 1)):
            worst = max(worst, -separation(bodies[i], bodies[j]))
    return worst


def vector(tower, **rows):
    out = np.zeros((tower.count, 3))
    for key, value in rows.items():
        out[int(key[1:])] = value
    return out


# ---- theorem 5.1


@pytest.mark.covering
@pytest.mark.parametrize("coordinates", ["reduced", "framework"])
@pytest.mark.parametrize("which", ["diamond", "wall", "harmonic", "pins"])
def test_both_loops_take_the_same_way(which, coordinates):
    towers = {
        "diamond": lambda: Tower.diamond(5),
        "wall": lambda: Tower.wall(5, 5, gap="1/10"),
        "harmonic": lambda: Tower.harmonic(5).moved(5, "1/50"),
        "pins": lambda: Tower.from_bricks(
            [(1, 9, 2, "1/5"), (3, 9, 2, "1/5"), (3, 1, 1, 2)], pins=[(0, -1, (0, 9)), (0, 1, (2, 9))]
        ),
    }
    tower = towers[which]()
    one = Loop(tower, LoopOptions(0.005, lengths="previous", sides="turning", passes=1, coordinates=coordinates))
    two = Loop(tower, LoopOptions(0.005, method="acceleration", passes=1, coordinates=coordinates))
    moved = 0.0
    for _ in range(120):
        one.advance()
        two.advance()
        moved = max(moved, float(np.abs(one.coordinates.corners() - np.concatenate(tower.corners)).max()))
        assert np.abs(one.coordinates.corners() - two.coordinates.corners()).max() < 1e-9
    assert moved > 0.01


# ---- inelastic impacts of two bodies


@pytest.mark.covering
@pytest.mark.parametrize("height", [0.0, 0.3, -0.4])
@pytest.mark.parametrize("densities", [(1, 1), (5, 1), (1, 20)])
def test_a_corner_on_a_face(height, densities):
    """A brick on its corner flies against the side of another: impulse v_n / (1/m + 1/m' + r^2/I + r'^2/I')."""
    half = math.sqrt(0.5)
    flying = Brick.polygon([(-2 * half, 5), (-half, 5 - half), (0, 5), (-half, 5 + half)], density=densities[0])
    struck = Brick.rectangle(1, 5 - height, 2, 3, density=densities[1])
    tower = Tower.from_bricks([flying, struck], floating=True, gravity=0)
    before = vector(tower, b0=(2.0, 0.5, 1.5), b1=(-1.0, 0.0, 0.0))
    (m, n), (i, j) = tower.mass, tower.inertia
    closing = 2.0 + 1.0  # the corner lies level with its center: its spin moves it across the normal only
    impulse = closing / (1 / m + 1 / n + height**2 / j)
    expected = before + np.array([(-impulse / m, 0, 0), (impulse / n, 0, -impulse * height / j)])
    loop = Loop(tower, LoopOptions(1e-5, passes=1), before)
    loop.advance()
    assert i > 0 and np.abs(loop.motion / 1e-5 - expected).max() < 1e-9
    run = tower.collapse(steps=50, step=1e-4, velocity=before)
    after = np.column_stack([np.asarray(run.velocities[1]), np.asarray(run.spins[1])])
    assert np.abs(after - expected).max() < 2e-3  # of the step: bricks turn while they touch


def test_a_face_on_a_face_goes_on_together():
    tower = Tower.from_bricks([(-1, 5, 2, 2), (Fraction(3, 2), 5, 3, 2)], floating=True, gravity=0)
    run = tower.collapse(steps=20, velocity=vector(tower, b0=(3, 0, 0)))
    assert np.abs(np.asarray(run.velocities[-1]) - [(1.2, 0), (1.2, 0)]).max() < 1e-8  # 3 * 4 / (4 + 6)
    assert run.energy[-1] == pytest.approx(0.5 * 10 * 1.2**2)


# ---- closed forms


def test_free_flight():
    tower = Tower.from_bricks([(0, 9, 2, 1, 0.3)], floating=True)
    run = tower.collapse(steps=50, step=0.02, velocity=[[1, 2, 3]])
    t = np.asarray(run.time)
    place = np.asarray(run.positions[:])[:, 0]
    assert np.abs(place - np.stack([t, 9 + 2 * t - G * t * t / 2], axis=1)).max() < 1e-11
    assert np.abs(np.asarray(run.angles[:])[:, 0] - 0.3 - 3 * t).max() < 1e-11
    assert np.ptp(run.energy) < 1e-10 * run.energy[0]
    assert np.ptp(np.asarray(run.velocities[:])[:, 0, 0]) < 1e-12


def test_a_brick_that_falls_flat_stops_dead():
    tower = Tower.from_bricks([(0, 3, 2, 1)], floating=True)
    run = tower.collapse(steps=100)
    assert np.asarray(run.positions[-1])[0] == pytest.approx([0, 0.5], abs=1e-9)
    assert float(run.angles[-1][0]) == 0.0
    assert np.abs(run.velocities[-1]).max() < 1e-7  # gaps are closed to 1e-9, over the step 1e-7
    assert np.asarray(run.positions[:])[:, 0, 1].min() > 0.5 - 1e-9


def tipping(time):
    """A brick 2 x 1 on the edge of a table at the origin, its center 1/5 beyond: x, y, angle by its own equations."""
    m, i = 2.0, 2.0 * (4 + 1) / 12

    def rate(_, s):
        c, v, angle, spin = s[:2], s[3:5], s[2], s[5]
        normal, along = np.array([-np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
        row = np.array([*normal, -along @ c])
        needed = 2 * spin * (along @ v) + spin**2 * (normal @ c)  # for the corner to stay on the face
        free, inverse = np.array([0, -G, 0]), np.array([1 / m, 1 / m, 1 / i])
        force = (needed - row @ free) / (row * inverse @ row)
        assert force > 0
        return [*s[3:], *(free + inverse * row * force)]

    return solve_ivp(rate, (0, time), [0.2, 0.5, 0, 0, 0, 0], rtol=1e-11, atol=1e-12).y[:3, -1]


def test_a_tipping_brick_to_second_order():
    tower = Tower.from_bricks([Brick.rectangle(-5, 2, 10, 4, fixed=True), (Fraction(1, 5), Fraction(9, 2), 2, 1)])
    expected = tipping(0.4) + np.array([0, 4, 0])
    errors = []
    for step in (0.02, 0.01, 0.005):
        run = tower.collapse(steps=round(0.4 / step), step=step)
        errors.append(np.abs([*run.positions[-1][1], run.angles[-1][1]] - expected).max())
    assert errors[1] < 2e-4
    assert errors[0] / errors[1] > 3.5  # 4 for second order
    assert errors[1] / errors[2] > 3.5


def test_a_ladder_leaves_the_wall_at_two_thirds():
    """A bar that slides down between wall and ground without friction: the wall's force ends at 2/3 of its height."""
    bar = Brick.rectangle(0, 0, 2, 1e-3, math.pi - 1.2)
    bar = bar.moved(-bar.corners[:, 0].min(), -bar.corners[:, 1].min())
    tower = Tower.from_bricks([Brick.rectangle(-1, 2, 2, 4, fixed=True), bar])
    run = tower.collapse(steps=310, step=0.002, impulses=True)
    pushes = [run.impulses(k) for k in range(1, len(run))]
    last = 1 + max(k for k, p in enumerate(pushes) if (0, 1) in zip(p.first.tolist(), p.second.tolist()))
    tip = [float(corners_of(tower, run, k)[1][:, 1].max()) for k in (0, last)]
    assert tip[1] / tip[0] == pytest.approx(2 / 3, abs=4e-3)  # the tip falls 4e-3 of it in a step


def test_a_pendulum():
    tower = Tower.from_bricks([(1, 5, 2, "1/5")], pins=[(0, -1, (0, 5))])
    about = tower.inertia[0] + tower.mass[0]
    run = tower.collapse(steps=100, step=0.01)
    angle = solve_ivp(
        lambda _, s: [s[1], -tower.mass[0] * G * math.cos(s[0]) / about], (0, 1), [0, 0], rtol=1e-11, atol=1e-12
    ).y[0, -1]
    assert float(run.angles[-1][0]) == pytest.approx(angle, abs=5e-4)
    assert np.ptp(run.energy) < 2e-3 * tower.mass[0] * G
    place = np.asarray(run.positions[:])[:, 0]
    assert np.abs(np.hypot(place[:, 0], place[:, 1] - 5) - 1).max() < 1e-9


def test_a_chain_keeps_its_energy_near():
    tower = Tower.from_bricks([(1, 9, 2, "1/5"), (3, 9, 2, "1/5")], pins=[(0, -1, (0, 9)), (0, 1, (2, 9))])
    spread = [np.ptp(tower.collapse(steps=round(4 / h), step=h).energy) / (tower.mass[0] * G) for h in (0.02, 0.01)]
    assert spread[1] < 5e-3
    assert spread[0] / spread[1] > 3  # second order: it does not drift


# ---- conservation, similarity, symmetry

COLLAPSES = {
    "diamond": lambda: Tower.diamond(5),
    "wall": lambda: Tower.wall(5, 5, gap="1/10"),
    "corners": lambda: Tower.diamond(5, mass_model="corners"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", ["diamond", "wall", "corners"])
def test_a_long_collapse(name):
    """1,000 steps: mirror-symmetric to 1e-6 widths, no overlap of 1e-3, momentum, energy."""
    tower = COLLAPSES[name]()
    run = tower.collapse(steps=1000)
    place, angle = np.asarray(run.positions[:]), np.asarray(run.angles[:])
    twin = [int(np.abs(place[0] - [-x, y]).sum(axis=1).argmin()) for x, y in place[0]]
    odd = max(np.abs(place[:, twin, 0] + place[:, :, 0]).max(), np.abs(place[:, twin, 1] - place[:, :, 1]).max())
    assert max(odd, np.abs(angle[:, twin] + angle).max()) < 1e-6 * 3
    assert np.abs(place[-1] - place[0]).max() > 3
    assert deepest(tower, run, 20) < 1e-3
    weight = tower.mass.sum() * G
    fastest = (tower.mass[:, None] * np.abs(np.asarray(run.velocities[:])[:, :, 0]).T).max()
    assert np.abs(run.momentum[:, 0]).max() < 1e-9 * fastest
    energy = np.asarray(run.energy)
    assert (energy - np.minimum.accumulate(energy)).max() < 1e-3 * weight  # of one brick height; found: 2e-5


def test_momenta_in_free_flight():
    """Bricks that hit each other in the air: momentum, and angular momentum as the loop carries it."""
    tower = Tower.from_bricks([(0, 9, 2, 1, 0.3), (4, 9.3, 1, 1, 0.5), (8, 8.7, 3, 1, 1.0)], floating=True, gravity=0)
    run = tower.collapse(steps=300, velocity=vector(tower, b0=(5, 0, 1), b1=(0, 0, -2), b2=(-5, 0, 0)))
    assert run.kinetic[-1] < 0.9 * run.kinetic[0]  # they did hit
    assert np.ptp(run.momentum, axis=0).max() < 1e-11
    spin = np.asarray(run.angular_momentum)
    assert np.ptp(spin) < 2e-3 * np.abs(spin).max()


def test_similarity():
    """Bricks 4 times as large under the same gravity: the same fall in twice the time."""
    small, large = Tower.wall(3, 3, (3, 1), "1/10"), Tower.wall(3, 3, (12, 4), "4/10")
    one, two = small.collapse(steps=100, step=0.01), large.collapse(steps=100, step=0.02)
    assert np.abs(np.asarray(one.positions[-1]) - np.asarray(two.positions[-1]) / 4).max() < 1e-9
    assert np.abs(np.asarray(one.angles[-1]) - np.asarray(two.angles[-1])).max() < 1e-9
    assert np.abs(one.angles[-1]).max() > 0.05


def leaning(sign=1, shift=0):
    places = [(0, 1, 2, 2), (Fraction(6, 5), Fraction(5, 2), 3, 1), (Fraction(-1, 2), Fraction(7, 2), 2, 1)]
    return Tower.from_bricks([(sign * x + shift, y, w, h) for x, y, w, h in places])


def test_shifted_and_mirrored_towers():
    straight, moved, mirrored = (t.collapse(steps=150) for t in (leaning(), leaning(shift=7), leaning(-1)))
    place = np.asarray(straight.positions[:])
    assert np.abs(np.asarray(moved.positions[:]) - place - [7, 0]).max() < 1e-8
    assert np.abs(np.asarray(mirrored.positions[:]) * [-1, 1] - place).max() < 1e-8
    assert np.abs(np.asarray(mirrored.angles[:]) + np.asarray(straight.angles[:])).max() < 1e-8
    assert np.abs(place[-1] - place[0]).max() > 0.3


def test_the_same_tower_falls_the_same_way():
    one, two = (Tower.diamond(5).collapse(steps=60) for _ in range(2))
    assert one.state_hash == two.state_hash


# ---- hard runs


def test_nothing_flies_through():
    """A small brick at 100 brick sizes a second, 5 in a step, against a thin fixed wall, and against a free one."""
    thin = Brick.rectangle(5, "5/2", "1/10", 5, fixed=True)
    tower = Tower.from_bricks([thin, (0, 3, "1/5", "1/5"), (0, "3/2", "1/5", "1/5", 0.4)], floating=True)
    run = tower.collapse(steps=150, velocity=vector(tower, b1=(30, 1, 0), b2=(100, 3, 7)))
    assert np.asarray(run.positions[:])[:, 1:, 0].max() < 5
    assert deepest(tower, run) < 1e-3 * 0.1
    wall = Tower.wall(6, 4, (2, 1))
    tower = Tower.from_bricks([*wall.bricks, (-12, 3, 1, 1)], floating=True)
    run = tower.collapse(steps=100, velocity=vector(tower, **{f"b{wall.count}": (30, 2, 3)}))
    assert deepest(tower, run) < 1e-3
    assert run.kinetic[5:].max() <= run.kinetic[0] * 1.05
    assert np.abs(run.momentum[:, 0] - 30).max() < 1e-9


def hexagon(x, y, r):
    return Brick.polygon([(x + r * math.cos(a), y + r * math.sin(a)) for a in np.arange(6) * math.pi / 3])


def rain():
    rng = np.random.default_rng(2)
    bricks = [Brick.rectangle(x, 2, 0.4, 4, fixed=True) for x in (-3.2, 3.2)]
    for k in range(24):
        x, y = 1.5 * (k % 4) - 2.2 + rng.uniform(-0.1, 0.1), 1 + 1.5 * (k // 4)
        size = rng.uniform(0.3, 0.6)
        bricks.append(hexagon(x, y, size) if k % 3 else Brick.rectangle(x, y, size, size / 2, rng.uniform(0, 3)))
    return Tower.from_bricks(bricks, floating=True)


def arch():
    at = [math.pi * k / 9 for k in range(10)]
    ring = [[(r * math.cos(a), r * math.sin(a)) for r in (3, 4)] for a in at]
    return Tower.from_bricks([Brick.polygon([a[0], a[1], b[1], b[0]]) for a, b in pairwise(ring)])


HARD = {
    "rain": (rain, 0.01, 200),
    "arch": (arch, 0.01, 150),
    "hexagons": (lambda: Tower.from_bricks([hexagon(2.05 * j + 1.02 * (i % 2), (i + 0.5) * 3**0.5, 1)
                                            for i in range(4) for j in range(4)], floating=True), 0.01, 200),
    "sizes": (lambda: Tower.from_bricks([(0, ".05", ".1", ".1"), (".3", ".05", ".1", ".1"), (".5", "5.1", 10, 10)]),
              0.01, 200),
    "long step": (lambda: Tower.diamond(5), 0.05, 60),
    "short step": (lambda: Tower.diamond(4, gap="1/2"), 0.0005, 200),
}  # fmt: skip


@pytest.mark.parametrize(
    "name", [n if n in ("rain", "arch", "sizes") else pytest.param(n, marks=pytest.mark.long) for n in HARD]
)
def test_hard_runs(name):
    make, step, steps = HARD[name]
    tower = make()
    run = tower.collapse(steps=steps, step=step)
    assert np.isfinite(run.positions[-1]).all()
    assert deepest(tower, run, 4) < 1e-3 * tower.size
    energy, weight = np.asarray(run.energy), tower.mass[tower.free].sum() * G
    assert (energy - np.minimum.accumulate(energy)).max() < 2e-2 * weight * tower.size


@pytest.mark.parametrize("made", [
    lambda: Tower.wall(4, 3, bond="stacked"),  # aligned columns without bond
    lambda: Tower.from_bricks([Brick.polygon([(0, 0), (2, 2), (0, 4), (-2, 2)])]),  # on its corner
    lambda: Tower.harmonic(6),
    lambda: Tower.diamond(4),
])  # fmt: skip
def test_what_stands_stays(made):
    tower = made()
    run = tower.collapse(steps=200)
    assert np.abs(np.asarray(run.positions[-1]) - np.asarray(run.positions[0])).max() < 1e-9
    assert tower.initial_collapse().stands

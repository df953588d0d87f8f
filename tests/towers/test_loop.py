"""The loops: frameworks and reduced bricks move alike, what each form of the constraints keeps, what the paper's do."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import carom
from carom import simulation
from carom.towers import Brick, Tower
from carom.towers.bricks import point_masses
from carom.towers.contacts import near_pairs, pair_contacts
from carom.towers.framework import BRACINGS, framework
from carom.towers.loop import Loop, LoopOptions
from carom.towers.named import named_tower
from carom.towers.symmetry import mirror_of


def go(tower: Tower, steps: int, **options) -> Loop:
    loop = Loop(tower, LoopOptions(0.01, **options))
    for _ in range(steps):
        loop.advance()
    return loop


def deepest_overlap(loop: Loop) -> float:
    """The largest depth by which two bricks, or a brick and the ground, overlap; 0 if none do."""
    corners = np.split(loop.coordinates.corners(), loop.layout.ptr[1:-1])
    pairs = [-pair_contacts(corners[i], corners[j], 0.0).separation for i, j in near_pairs(corners, 0.0)]
    return max(0.0, -min(float(c[:, 1].min()) for c in corners), *pairs)


def length_error(loop: Loop) -> float:
    """Largest relative change of a distance within a brick, of a bar in framework coordinates."""
    c = loop.coordinates
    if loop.options.coordinates == "reduced":
        return float(np.abs(np.abs(c.turn) - 1.0).max())
    return float(np.abs(np.hypot(*(c.point[c.bar[:, 0]] - c.point[c.bar[:, 1]]).T) / c.length - 1.0).max())


# ---- the model


def test_nine_points_match_a_brick_to_degree_two():
    """In fractions: 1, x, y, x^2, xy, y^2 over a rectangle, exactly."""
    w, h, x0, y0 = Fraction(3), Fraction(7, 5), Fraction(1, 3), Fraction(2)
    points, masses = point_masses(Brick.rectangle(x0, y0, w, h).exact, Fraction(2), "uniform")
    assert len(points) == 9
    area = w * h
    exact = {
        (0, 0): area, (1, 0): area * x0, (0, 1): area * y0, (1, 1): area * x0 * y0,
        (2, 0): area * (x0**2 + w**2 / 12), (0, 2): area * (y0**2 + h**2 / 12),
    }  # fmt: skip
    for (p, q), value in exact.items():
        assert sum(m * x**p * y**q for m, (x, y) in zip(masses, points)) == 2 * value
    corners = point_masses(Brick.rectangle(x0, y0, w, h).exact, Fraction(2), "corners")
    assert sum(m * x * x for m, (x, _) in zip(corners.masses, corners.points)) != 2 * exact[2, 0]


def test_points_of_a_polygon_match_its_moments():
    """Against integrals over triangles by the rule of the three side middles, which is exact to degree two."""
    corners = [
        (Fraction(0), Fraction(0)),
        (Fraction(3), Fraction(1, 2)),
        (Fraction(2), Fraction(3)),
        (Fraction(-1), Fraction(1)),
    ]
    points, masses = point_masses(corners, Fraction(1), "uniform")
    assert min(masses) > 0
    (ox, oy) = corners[0]
    for p, q in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)):
        whole = Fraction(0)
        for (ax, ay), (bx, by) in pairwise(corners[1:]):
            area = ((ax - ox) * (by - oy) - (ay - oy) * (bx - ox)) / 2
            middles = [
                ((u + x) / 2, (v + y) / 2)
                for (u, v), (x, y) in (((ox, oy), (ax, ay)), ((ax, ay), (bx, by)), ((bx, by), (ox, oy)))
            ]
            whole += area / 3 * sum(x**p * y**q for x, y in middles)
        assert sum(m * x**p * y**q for m, (x, y) in zip(masses, points)) == whole


@pytest.mark.covering
@pytest.mark.parametrize("bracing", BRACINGS)
@pytest.mark.parametrize("mass_model", ["uniform", "corners"])
def test_frameworks_are_rigid(bracing, mass_model):
    """The bars leave three motions: the rank of the rigidity matrix is 2p - 3. "minimal" has no bar to spare."""
    for brick in (
        Brick.rectangle(0, 1, 3, 2),
        Brick.polygon([(0, 0), (2, 0), (3, 1), (1, 2)]),
        Brick.polygon([(0, 0), (2, 0), (1, 1)]),
    ):
        frame = framework(Tower.from_bricks([brick], mass_model=mass_model), bracing)
        rigidity = np.zeros((len(frame.bar), 2 * len(frame.point)))
        for row, (i, j) in enumerate(frame.bar):
            d = frame.point[i] - frame.point[j]
            rigidity[row, 2 * i : 2 * i + 2], rigidity[row, 2 * j : 2 * j + 2] = d, -d
        rank = 2 * len(frame.point) - 3
        assert np.linalg.matrix_rank(rigidity) == rank
        assert len(frame.bar) == rank if bracing == "minimal" else len(frame.bar) >= rank


# ---- the same motion in all coordinates


@pytest.mark.covering
@pytest.mark.parametrize("bracing", BRACINGS)
@pytest.mark.parametrize(
    ("lengths", "sides", "passes"), [("original", "plain", 8), ("original", "plain", 1), ("previous", "turning", 1)]
)
def test_frameworks_move_as_reduced_bricks_do(bracing, lengths, sides, passes):
    """Both solve the same problem; over 60 steps rounding may grow tenfold every ten steps and stay below 1e-8."""
    options = {"lengths": lengths, "sides": sides, "passes": passes}
    for mass_model in ("uniform", "corners"):
        tower = Tower.wall(3, 3, gap="1/5", mass_model=mass_model)
        one, other = go(tower, 60, **options), go(tower, 60, coordinates="framework", bracing=bracing, **options)
        assert np.abs(one.coordinates.corners() - other.coordinates.corners()).max() <= 1e-8
        assert np.abs(one.coordinates.corners() - np.concatenate(tower.corners)).max() > 0.05  # it does move


def test_pins_in_both_coordinates():
    tower = Tower.from_bricks(
        [(0, Fraction(9, 2), 4, 1, 0), (Fraction(5, 2), Fraction(9, 2), 3, 1, 0)],
        pins=[(0, -1, (-2, 5)), (0, 1, (1.5, 4.5))], floating=True,
    )  # fmt: skip
    one, other = go(tower, 100), go(tower, 100, coordinates="framework")
    assert np.abs(one.coordinates.corners() - other.coordinates.corners()).max() <= 1e-7
    assert np.abs(one.coordinates.pin_gaps(np.zeros((2, 3)), np.ones(2))).max() <= 1e-9
    assert one.coordinates.corners()[:, 1].min() < 3.0  # it swings


# ---- what the constraints keep


def test_lengths():
    """Exact passes keep lengths; the paper's (L'') leaves theta^2 / 2, its (L') drifts, the penalty gives way."""
    tower = Tower.diamond(5)
    error = {}
    for name, options in {
        "exact": {}, "L''": {"passes": 1}, "L'": {"lengths": "previous", "sides": "turning", "passes": 1},
        "framework": {"coordinates": "framework"},
        "penalty": {"lengths": "penalty", "coordinates": "framework", "passes": 1},
    }.items():  # fmt: skip
        loop, worst, turn = Loop(tower, LoopOptions(0.01, **options)), 0.0, 0.0
        for _ in range(200):
            before = loop.coordinates.pose()[1]
            loop.advance()
            worst = max(worst, length_error(loop))
            turn = max(turn, float(np.abs(np.angle(loop.coordinates.pose()[1] / before)).max()))
        error[name] = worst
        if name == "L''":
            assert worst == pytest.approx(turn**2 / 2, rel=0.05)
    assert error["exact"] <= 1e-12 and error["framework"] <= 1e-9
    assert error["L''"] > 1e-5 and error["L'"] > error["L''"] and error["penalty"] > error["L''"]


@pytest.mark.parametrize(
    "tower",
    [
        Tower.diamond(5),
        pytest.param(Tower.wall(5, 5, gap="1/10"), marks=pytest.mark.long),
        pytest.param(Tower.diamond(5, mass_model="corners"), marks=pytest.mark.long),
        *(pytest.param(Tower.diamond(n), marks=pytest.mark.long) for n in (10, 17, 20)),
    ],
)
def test_symmetric_towers_stay_symmetric(tower):
    """1,000 steps: mirror images to 1e-6 of a brick's width, no overlap over 1e-3, lengths to 1e-6."""
    partner = mirror_of(tower)
    loop, worst, overlap, residual = Loop(tower, LoopOptions(0.01)), 0.0, 0.0, 0.0
    for number in range(1000):
        loop.advance()
        center = loop.coordinates.pose()[0]
        worst = max(worst, float(np.abs(center[partner] + np.conj(center)).max()))
        residual = max(residual, loop.report.certificate)
        if number % 10 == 0:
            overlap = max(overlap, deepest_overlap(loop))
    assert residual <= 1e-8, "programs are solved to less than the tolerance of 1e-12 of a side in a motion of 1e-3"
    assert worst <= 1e-6 * 3.0 and overlap <= 1e-3 and length_error(loop) <= 1e-6
    assert np.abs(loop.coordinates.corners() - np.concatenate(tower.corners)).max() > 10.0


def test_contradicting_pins_and_contacts_are_an_error():
    """The ends of the pinned chain jam between the posts: a step without a solution is refused, not accepted."""
    with pytest.raises(carom.ProblemError, match="contradict"):
        named_tower("chain").collapse(steps=40)


def test_dropping_what_is_not_symmetric_drops_rounding_alone():
    """A disturbance of 1e-3 is no rounding: with the same switch on, it is kept and grows."""
    tower = Tower.diamond(5)
    push = np.zeros((25, 3))
    push[-1, 0] = 1e-3
    loop = Loop(tower, LoopOptions(0.01), push)
    for _ in range(50):
        loop.advance()
    center = loop.coordinates.pose()[0]
    assert np.abs(center[mirror_of(tower)] + np.conj(center)).max() > 1e-4


def test_the_papers_choice_of_edge_holds_a_tipping_brick_fast():
    """Section 8.5 takes the smaller separation: the overhanging corner must stay above the table's line for ever."""
    tower = Tower.harmonic(1).moved(1, "1/5")
    ours, theirs = go(tower, 50), go(tower, 50, edges="paper", passes=1)
    assert ours.coordinates.pose()[1][1].imag < -0.05  # it tips over the edge, clockwise
    assert abs(theirs.coordinates.pose()[1][1].imag) < 1e-9
    assert tower.initial_collapse().acceleration[1, 2] < -1.0


def test_what_just_stands_goes_on_standing():
    """Each part's weight is right above an edge. Nothing moves; 1e-15 is how center and arm add up to a corner."""
    loop = go(Tower.harmonic(6), 1000)
    assert loop.still.all()
    assert np.abs(loop.coordinates.corners() - np.concatenate(Tower.harmonic(6).corners)).max() <= 2e-15


def test_the_plain_acceleration_loop_drifts():
    """Without feedback bricks sink into each other and grow; with it they do not more than the step allows."""
    tower = Tower.diamond(5)
    plain, fed = go(tower, 250, method="acceleration", feedback=False), go(tower, 250, method="acceleration")
    depth = [deepest_overlap(loop) for loop in (plain, fed)]
    assert depth[0] > 1e-2 > 1e-3 > depth[1]


# ---- runs


def test_a_collapse_is_a_trajectory_like_every_other(tmp_path):
    tower = Tower.wall(3, 3, gap="1/5")
    run = tower.collapse(steps=60, output=tmp_path / "run.h5", impulses=True)
    again = carom.Trajectory(tmp_path / "run.h5")
    assert run.finished and again.state_hash == run.state_hash and len(again) == 61
    assert again.law == "gauss" and again.count == tower.count
    assert np.abs(again.positions[0] - tower.center).max() <= 1e-15
    # Newton's law for the whole tower in one step: forces between bricks cancel. 1e-9: forces are known to that.
    push, (first, second, third) = again.impulses(3), (again.positions[k][:, 1] for k in (1, 2, 3))
    gained = tower.mass @ (third - 2.0 * second + first) / 0.01
    weight = tower.mass.sum() * tower.gravity * 0.01
    assert abs(push.normal_impulse[push.second < 0].sum() - weight - gained) <= 1e-9 * weight
    assert -gained > 1e-3 * weight  # part of it falls


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"method": "acceleration"}, marks=pytest.mark.long),
        pytest.param({"coordinates": "framework"}, marks=pytest.mark.long),
        pytest.param({"velocity": np.full((8, 3), 0.1), "passes": 1}, marks=pytest.mark.long),
    ],
)
def test_a_collapse_that_was_interrupted_has_the_same_bits(tmp_path, monkeypatch, options):
    """Killed after 23 of 40 steps, with contacts that push and a step computed ahead; at step 0 as well."""
    monkeypatch.setattr(simulation, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(simulation, "TELL_SECONDS", 0.0)
    tower = Tower.wall(3, 3, gap="1/5")
    whole = tower.collapse(steps=40, impulses=True, **options)
    for last in (1, 23):

        def stop(progress, last=last):
            if progress.step == last:
                raise RuntimeError

        path = tmp_path / f"{last}.h5"
        with pytest.raises(RuntimeError):
            tower.collapse(steps=40, output=path, impulses=True, progress=stop, **options)
        assert carom.Trajectory(path).last.step == last
        run = carom.resume(path)
        assert run.finished and run.state_hash == whole.state_hash and len(run) == 41
        assert np.array_equal(run.impulses(30).normal_impulse, whole.impulses(30).normal_impulse)
        for name in ("contacts", "iterations", "residual", "kinetic"):
            assert np.array_equal(run.steps[name], whole.steps[name])


def test_a_tower_in_the_engine_with_friction():
    """Rough bricks stand where smooth ones fall: a block leaning on nothing but friction would be another matter."""
    tower = Tower.stack([0, 0.1, 0.2])
    scene = carom.scenes.from_tower(tower, friction=0.6)
    run = carom.simulate(scene, duration=0.5)
    assert scene.count == 3
    assert np.abs(run.positions[-1] - tower.center).max() <= 1e-6


def test_pins_in_the_engine_hold_bricks_or_are_refused():
    """A shelf with two pins to the ground carries a brick, although nothing is below it; one pin would be a hinge."""
    bricks = [(0, 2.5, 4, 1), (0.5, 3.5, 1, 1)]
    tower = Tower.from_bricks(bricks, pins=[(0, -1, (-1, 2.5)), (0, -1, (1, 2.5))])
    run = carom.simulate(carom.scenes.from_tower(tower), duration=0.3)
    # 1e-6 as for a stack at rest; without the pins both would fall by 0.44.
    assert np.abs(run.positions[-1] - tower.center).max() <= 1e-6
    with pytest.raises(carom.ProblemError, match=r"pins\[0\].*a hinge at \(0, 0\)"):
        carom.scenes.from_tower(Tower.from_bricks([(0, 0.5, 1, 1)], pins=[(0, -1, (0, 0))]))

"""Measurements of runs, against what follows from the scene by hand."""

from __future__ import annotations

import numpy as np
import pytest

import carom
from carom import ProblemError
from carom.analysis import checks, runs
from carom.analysis.checks import check_run, energy_rule
from carom.analysis.run_momentum import angular_momentum_drift, momentum_drift
from carom.analysis.run_panels import PANELS, overview, panel, solver_overview, thinned
from carom.analysis.statistics import contact_statistics, run_summary
from carom.scene import Bodies, Container, Disc, Drum, Material, Periodic, Plane, Rectangle, Rotating, Scene, Segment
from carom.scene import Vibrating as Shaking
from carom.scene.symmetry import mirror, turn

ROUNDING = 1e-12  # of sums over a few hundred steps with numbers of order 1


def discs(position, velocity, radius=1.0, **fields) -> Bodies:
    return Bodies(Disc(radius), np.array(position, float), np.array(velocity, float), mass=1.0, rotates=False, **fields)


def free_flight(*groups, duration=2.0, **fields):
    """Law none: every body goes its way through all others, so that places at all times are known."""
    scene = Scene("flight", groups, step=0.1, frame_rate=10.0, duration=duration, stepper="synchronous", **fields)
    return carom.simulate(scene, "none")


@pytest.fixture(scope="module")
def pool():
    return carom.simulate(carom.scenes.pool_break(rows=4), "gr", duration=2.0, frame_rate=100.0)


@pytest.fixture(scope="module")
def sequential_pool():
    return carom.simulate(carom.scenes.pool_break(rows=4), "gauss_seidel", duration=2.0)


@pytest.fixture(scope="module")
def gas():
    return carom.simulate(carom.scenes.energy_drum(side=4), "gr", duration=10.0, frame_rate=100.0)


@pytest.fixture(scope="module")
def splash():
    return carom.simulate(carom.scenes.splash(side=4), "gr", frame_rate=100.0)


# ---- energy


def test_energy_is_that_of_positions_and_velocities(splash):
    g = np.array(splash.scene.gravity)
    kinetic = 0.5 * (np.asarray(splash.velocities) ** 2).sum(axis=(1, 2))
    potential = -(np.asarray(splash.positions) @ g).sum(axis=1)
    total = kinetic + potential
    assert runs.energy_scale(splash) == pytest.approx(kinetic.max(), rel=ROUNDING)
    drift = (total - total[0]) / kinetic.max()
    assert len(splash) == len(splash.steps)  # a frame for each step
    assert runs.energy_drift(splash) == pytest.approx(drift, abs=ROUNDING)
    assert np.abs(runs.energy_drift(splash)).max() < ROUNDING


def test_energy_of_what_stands_is_measured_in_a_fall_by_its_half_width():
    run = carom.simulate(carom.scenes.box_stack(boxes=3, width=1.0, height=0.5), duration=0.5)
    assert run.steps["kinetic"].max() < 1e-12
    assert runs.energy_scale(run) == pytest.approx(3 * 0.5 * 10.0 * 0.25)  # mass, gravity, half of the lower side


def test_energy_rise_sees_what_drift_cannot():
    """It falls and comes back up: the drift at the end is nothing, the rise is all of it."""
    run = free_flight(discs([[0, 0]], [[0, 1]]), gravity=(0.0, -1.0))
    changed = np.array(run.steps)
    changed["potential"] = -changed["kinetic"] + np.abs(changed["time"] - 1.0)
    run.__dict__["steps"] = changed
    scale = runs.energy_scale(run)
    assert runs.energy_drift(run)[-1] == pytest.approx(0.0, abs=ROUNDING)
    assert runs.energy_rise(run).max() * scale == pytest.approx(1.0)


# ---- momentum


def test_free_bodies_keep_all_momentum(pool):
    for drift in (momentum_drift(pool), angular_momentum_drift(pool)):
        assert drift.conserved and drift.value.max() < ROUNDING and len(drift.value) == len(pool.steps)


def test_momentum_drift_is_that_of_the_velocities():
    """A law that pushes a single body: one step of the table is changed by 0.5 in x."""
    run = free_flight(discs([[0, 0], [9, 0]], [[1, 0], [0, 2]]))
    changed = np.array(run.steps)
    changed["momentum_x"][7:] += 0.5
    run.__dict__["steps"] = changed
    assert momentum_drift(run).value.max() == pytest.approx(0.5 / np.sqrt(2 * 2.0 * 2.5))  # M = 2, K = 5/2


def test_gravity_is_taken_off():
    run = free_flight(discs([[0, 0], [9, 3]], [[1, 0], [0, 2]]), gravity=(1.0, -9.81))
    drift = momentum_drift(run)
    assert drift.conserved and drift.value.max() < ROUNDING and "gravity" in drift.why
    assert np.ptp(run.momentum[:, 1]) > 30.0
    assert not angular_momentum_drift(run).conserved


def test_a_smooth_floor_leaves_momentum_along_it():
    floor = Plane((0.0, -1.0), (0.0, 1.0), motion=Shaking(0.1, 1.0))
    bodies = discs([[0, 0], [3, 1]], [[1, 0], [-1, 0]])
    run = carom.simulate(
        Scene("floor", [bodies], [floor], gravity=(0.0, -10.0), duration=1.0, stepper="synchronous"), "gr"
    )
    drift = momentum_drift(run)
    assert drift.conserved and "along" in drift.why and drift.value.max() < ROUNDING
    rough = run.scene.with_(materials={"default": Material(1.0, 0.3)})
    found = momentum_drift(carom.simulate(rough, "gr"))
    assert not found.conserved and "friction" in found.why and found.value.max() > 1e-3


def test_a_smooth_drum_leaves_angular_momentum_about_its_center(gas):
    assert angular_momentum_drift(gas).value.max() < ROUNDING
    assert angular_momentum_drift(gas).conserved and not momentum_drift(gas).conserved
    center = np.array([30.0, -40.0])
    moved = gas.scene.with_(
        bodies=[discs(gas.frame(0).position + center, gas.frame(0).velocity)],
        boundaries=[Drum(gas.scene.boundaries[0].radius, tuple(center))],
        duration=5.0,
    )
    drift = angular_momentum_drift(carom.simulate(moved, "gr"))
    assert drift.conserved and drift.value.max() < ROUNDING
    # About the origin it is not: the drum pushes.
    steps = carom.simulate(moved, "gr").steps
    assert np.ptp(steps["angular_momentum"]) > 1.0


@pytest.mark.parametrize(
    ("fields", "linear", "angular"),
    [
        ({"boundaries": [Container((-9, -9), (9, 9))]}, "every direction", "boundaries push"),
        ({"boundaries": [Drum(9.0, motion=Rotating(1.0))]}, "every direction", "boundaries push"),
        ({"boundaries": [Plane((0, -9), (0, 1), motion=Rotating(1.0))]}, "every direction", "boundaries push"),
        ({"boundaries": [Segment((5, 0), (5, 1))]}, "every direction", "boundaries push"),
        ({"force": lambda t, x, v: np.zeros((len(x), 2))}, "Python", "Python"),
        ({"periodic": Periodic((-9, 9), (-9, 9), shear_rate=0.1)}, "sheared", "periodic"),
    ],
)
def test_what_pushes_from_outside_is_named(fields, linear, angular):
    run = free_flight(discs([[0, 0]], [[0, 0.1]]), duration=0.2, **fields)
    for drift, word in ((momentum_drift(run), linear), (angular_momentum_drift(run), angular)):
        assert not drift.conserved and word in drift.why


def test_held_bodies_push():
    run = free_flight(discs([[0, 0]], [[0, 0.1]]), discs([[5, 0]], [[0, 0]], motion=carom.scene.FIXED))
    assert momentum_drift(run).why == "bodies are held"


def test_periodic_sides_keep_linear_momentum_only():
    run = free_flight(discs([[0, 0]], [[3, 1]]), periodic=Periodic(x=(-2.0, 2.0)))
    assert momentum_drift(run).conserved and momentum_drift(run).value.max() < ROUNDING
    assert not angular_momentum_drift(run).conserved


# ---- overlap


@pytest.mark.parametrize("many", [1, runs.THREADED_BODIES], ids=["threads", "one thread"])
def test_overlap_of_discs_that_fly_through_each_other(many, monkeypatch):
    monkeypatch.setattr(runs, "THREADED_BODIES", many)
    run = free_flight(discs([[-2, 0], [2, 0]], [[1, 0], [-1, 0]], radius=0.5), duration=4.0)
    distance = np.abs(4.0 - 2.0 * run.time)
    assert runs.overlap(run) == pytest.approx(np.maximum(1.0 - distance, 0.0) / 0.5, abs=ROUNDING)


def test_overlap_is_measured_in_the_smallest_free_body():
    big, small = discs([[0, 0]], [[1, 0]], radius=2.0), discs([[-9, -9]], [[0, 0]], radius=0.25)
    tiny = discs([[-9, 9]], [[0, 0]], radius=0.01, motion=carom.scene.FIXED)
    run = free_flight(big, small, tiny, boundaries=[Plane((3.0, 0.0), (-1.0, 0.0))], duration=3.0)
    assert runs.overlap(run)[-1] == pytest.approx((3.0 + 2.0 - 3.0) / 0.25)


def test_overlap_of_boxes_and_of_images():
    boxes = Bodies(Rectangle(2.0, 1.0), np.array([[0.0, 0.0], [3.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    run = free_flight(boxes, duration=1.5)
    assert runs.overlap(run)[-1] == pytest.approx(0.5 / 0.5)  # they met after 1, and half the lower side is 0.5
    across = discs([[-1.5, 0], [1.0, 0]], [[0, 0], [0.5, 0]], radius=0.5)
    run = free_flight(across, duration=2.0, periodic=Periodic(x=(-2.5, 2.5)))
    assert runs.overlap(run)[-1] == pytest.approx(0.0) and len(runs.overlap(run)) == len(run)
    run = free_flight(across, duration=3.6, periodic=Periodic(x=(-2.5, 2.5)))
    assert runs.overlap(run)[-1] == pytest.approx((1.0 - (5.0 - 2.5 - 1.8)) / 0.5)


def test_fastest(gas):
    speed = np.linalg.norm(np.asarray(gas.velocities), axis=2)
    assert runs.fastest(gas) == pytest.approx(speed.max(axis=1))


# ---- symmetry


def test_symmetry_error_of_a_body_that_strays():
    """Mirror images at x = -3 and 3; the right one drifts up at 0.2: after t it is 0.2 t off, in radii of 0.5."""
    run = free_flight(discs([[-3, 0], [3, 0]], [[0, 0], [0, 0.2]], radius=0.5), symmetries=[mirror()])
    assert runs.symmetry_error(run) == pytest.approx(0.2 * run.time / 0.5, abs=ROUNDING)
    assert runs.symmetry_error(run, turn(2)) == pytest.approx(0.2 * run.time / 0.5, abs=ROUNDING)


def test_of_several_symmetries_the_worst_counts():
    square = discs([[1, 1], [-1, 1], [-1, -1], [1, -1]], [[0.1, 0], [-0.1, 0], [-0.1, 0], [0.1, 0]], radius=0.1)
    run = free_flight(square, symmetries=[mirror(), turn(4)], duration=1.0)
    assert runs.symmetry_error(run, mirror()).max() < ROUNDING
    assert runs.symmetry_error(run)[-1] == pytest.approx(np.hypot(0.1, 0.1) / 0.1)


def test_turning_breaks_symmetry_too():
    """Equal spins are symmetric under a turn, and opposite ones under a mirror."""
    pair = Bodies(Rectangle(1.0, 1.0), np.array([[-3.0, 0.0], [3.0, 0.0]]), spin=0.3)
    run = free_flight(pair)
    assert runs.symmetry_error(run, turn(2)).max() < ROUNDING
    assert runs.symmetry_error(run, mirror()) == pytest.approx(2 * 0.3 * run.time * np.sqrt(0.5) / 0.5)


def test_symmetry_across_periodic_sides():
    """They leave at opposite sides at the same time, and rounding may decide differently for each."""
    pair = discs([[-2, 0], [2, 0]], [[-1, 0], [1, 0]], radius=0.5)
    run = free_flight(pair, periodic=Periodic(x=(-3.0, 3.0)), symmetries=[mirror()], duration=5.0)
    assert runs.symmetry_error(run).max() < 1e-9


def test_a_scene_without_symmetry_is_refused(gas):
    with pytest.raises(ProblemError, match="not registered"):
        runs.symmetry_error(gas)
    with pytest.raises(ProblemError, match="no partner"):
        runs.symmetry_error(free_flight(discs([[0, 0], [3, 1]], [[0, 0], [0, 0]])), mirror())


def test_laws_differ_in_symmetry(pool, sequential_pool):
    assert runs.symmetry_error(pool).max() < 1e-12
    assert runs.symmetry_error(sequential_pool).max() > 1.0


# ---- sides and spread


def test_sides_count_centers():
    run = free_flight(discs([[-1, 0], [-5, 0], [4, 0]], [[1, 0], [0, 0], [0, 0]], radius=0.1))
    found = runs.sides(run)
    assert (found.left[0], found.right[0]) == (2, 1) and (found.left[-1], found.right[-1]) == (1, 2)
    assert found.fuller == pytest.approx(2 / 3)
    assert runs.sides(run, -6.0).fuller == pytest.approx(1.0)
    with pytest.raises(ProblemError, match="dividing line"):
        runs.sides(run, float("nan"))


def test_the_demons_wall_divides():
    run = carom.simulate(carom.scenes.maxwells_demon(side=2, width=10.0), duration=0.5)
    assert runs.dividing_line(run) == 0.0 and runs.sides(run).left[0] == 4
    moved = free_flight(discs([[0, 0]], [[0, 0]]), boundaries=[Segment((1, 5), (1, 9))], duration=0.1)
    assert runs.sides(moved).x == 1.0 and runs.sides(moved).left[0] == 1


def test_spread_of_bodies_that_part():
    pair = discs([[-1, 0], [1, 0]], [[-1, 0], [1, 0]], radius=0.1, name="pair")
    run = free_flight(pair, discs([[50, 0]], [[0, 0]], name="far"))
    assert runs.spread(run, "pair") == pytest.approx(1.0 + run.time)
    assert runs.spread(run, 0) == pytest.approx(1.0 + run.time)
    x = np.asarray(run.positions)
    about = x - x.mean(axis=1, keepdims=True)
    assert runs.spread(run) == pytest.approx(np.sqrt((about**2).sum(axis=2).mean(axis=1)))
    with pytest.raises(ProblemError, match="did you mean 'pair'"):
        runs.spread(run, "pairs")
    with pytest.raises(ProblemError, match="from 0 to 1"):
        runs.spread(run, 2)


def test_splash_scatters_under_gr_and_not_under_lcp(splash):
    lump = carom.simulate(splash.scene, "lcp")
    assert runs.spread(lump)[-1] < 1.01 * runs.spread(lump)[0]
    assert runs.spread(splash)[-1] > 1.5 * runs.spread(splash)[0]


# ---- reading in pieces, and stopped runs


def test_blocks_do_not_change_a_number(splash, monkeypatch):
    whole = [f(splash) for f in (runs.symmetry_error, runs.spread, runs.fastest)] + [runs.sides(splash).left]
    monkeypatch.setattr(runs, "BLOCK", 8 * 2 * splash.count * 3)  # three frames
    assert [s.stop - s.start for s in runs.blocks(splash, 2 * splash.count)][:2] == [3, 3]
    pieces = [f(splash) for f in (runs.symmetry_error, runs.spread, runs.fastest)] + [runs.sides(splash).left]
    for a, b in zip(whole, pieces):
        assert a == pytest.approx(b, rel=1e-14, abs=1e-14)  # sums may be taken in another order
    assert len(list(runs.blocks(splash, 10**12))) == len(splash)


def test_a_stopped_run_is_measured_as_far_as_it_went(tmp_path, monkeypatch):
    def stop(p):
        if p.step >= 50:
            raise RuntimeError("killed")

    monkeypatch.setattr(carom.simulation, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(carom.simulation, "TELL_SECONDS", 0.0)
    path = tmp_path / "stopped.h5"
    with pytest.raises(RuntimeError):
        carom.simulate(carom.scenes.pool_break(rows=3), "gr", output=path, progress=stop)
    with carom.Trajectory(path) as run:
        assert not run.finished and 0 < run.last.step < run.settings.steps
        assert len(runs.overlap(run)) == len(runs.symmetry_error(run)) == len(run)
        assert all(c.passed for c in check_run(run) if c.passed is not None)
        assert run_summary(run)["step"] == run.last.step


# ---- statistics


def test_statistics_are_those_of_the_table(splash):
    steps, found = splash.steps[1:], contact_statistics(splash)
    assert found["contacts"] == {"mean": pytest.approx(steps["contacts"].mean()), "max": steps["contacts"].max()}
    assert found["statuses"]["resolved"] == len(steps) == found["steps"]
    assert found["seconds"]["impact"] == pytest.approx(steps["seconds_impact"].sum())
    late = contact_statistics(splash, after=len(steps) - 10)
    assert late["steps"] == 10 and late["contacts"]["max"] == steps["contacts"][-10:].max()
    assert contact_statistics(splash, after=10**6)["contacts"] is None


# ---- checks


def verdicts(run, **bounds):
    return {c.name: c.passed for c in check_run(run, bounds)}


def test_a_good_run_passes(pool, gas, splash):
    assert verdicts(pool) == dict.fromkeys(verdicts(pool), True)
    assert all(v is not False for run in (gas, splash) for v in verdicts(run).values())


def test_each_law_fails_what_it_fails(pool, sequential_pool):
    assert [name for name, passed in verdicts(sequential_pool).items() if not passed] == ["symmetry"]
    exploding = carom.simulate(pool.scene, "jacobi", duration=1.0)
    assert verdicts(exploding)["energy"] is False
    note = {c.name: c.note for c in check_run(exploding)}["energy"]
    assert "must be kept" in note and "does not claim KIN" in note
    through = free_flight(discs([[-2, 0], [2, 0]], [[1, 0], [-1, 0]]))
    assert verdicts(through)["overlap"] is False and verdicts(through)["energy"] is True


def test_bounds_can_be_given(pool):
    assert verdicts(pool, symmetry=1e-30)["symmetry"] is False
    assert verdicts(pool, overlap=1e-30)["overlap"] is False
    for name, value in (("energi", 1.0), ("energy", -1.0), ("energy", float("nan"))):
        with pytest.raises(ProblemError):
            check_run(pool, {name: value})


def test_where_energy_must_be_kept():
    s = carom.scenes
    for scene, expected, word in (
        (s.pool_break(rows=2), "kept", "elastic"),
        (s.pool_break(rows=2, restitution=0.5), "never rises", "restitution"),
        (s.pool_break(rows=2).with_(materials={"default": Material(1.0, 0.2)}), "never rises", "friction"),
        (s.splash(side=2), "kept", "elastic"),
        (s.splash(side=2).with_(stepper="drift_safe"), "never rises", "resting"),
        (s.maxwells_demon(side=1, width=5.0), "free", "moving"),
    ):
        rule, why = energy_rule(carom.simulate(scene, duration=0.02))
        assert rule == expected and word in why, (scene.name, rule, why)


def test_energy_that_rises_where_it_must_fall_is_found():
    lossy = carom.simulate(carom.scenes.pool_break(rows=4, restitution=0.9), "gr", duration=1.0)
    assert verdicts(lossy)["energy"] is True and runs.energy_drift(lossy)[-1] < -0.05
    gaining = carom.simulate(lossy.scene, "jacobi", duration=1.0)
    assert verdicts(gaining)["energy"] is False


def test_a_force_that_was_not_stored_is_not_forgotten(tmp_path):
    scene = carom.scenes.pool_break(rows=2).with_(force=lambda t, x, v: np.ones((len(x), 2)))
    carom.simulate(scene, duration=0.1, output=tmp_path / "force.h5").close()
    with carom.Trajectory(tmp_path / "force.h5") as run:
        assert run.scene.force is None
        assert verdicts(run)["energy"] is None and verdicts(run)["momentum"] is None


# ---- panels


def test_thinned_curves_keep_mean_and_largest():
    time, value = np.arange(1000.0), np.zeros(1000)
    value[617] = 5.0
    t, mean = thinned(time, value, most=100)
    assert len(t) == 100 and t[-1] == 999.0 and mean.sum() * 10 == pytest.approx(5.0)
    assert thinned(time, value, largest=True, most=100)[1].max() == 5.0
    assert thinned(time[:50], value[:50], most=100)[0] is not None and len(thinned(time[:50], value[:50])[0]) == 50


def test_every_panel_of_every_kind_of_run(pool, gas):
    for name in PANELS:
        for c in panel(pool, name).curves:
            assert len(c.time) == len(c.value) and np.isfinite(c.value).all()
    assert [p.name for p in overview(pool)] == ["energy", "momentum", "contacts", "speed"]
    assert [p.name for p in solver_overview(pool)] == ["drift", "overlap", "iterations", "symmetry"]
    assert [p.name for p in solver_overview(gas)] == ["drift", "overlap", "iterations", "residual"]
    largest, mean = panel(pool, "speed").curves
    first = np.linalg.norm(pool.frame(0).velocity[:, :2], axis=1)
    assert largest.value[0] == first.max() and mean.value[0] == pytest.approx(first.mean())
    with pytest.raises(ProblemError, match="did you mean 'energy'"):
        panel(pool, "energi")


@pytest.mark.parametrize(
    ("errors", "passed", "until"),
    [
        ([0.0, 1e-15, 1e-14, 1e-13], True, None),
        ([0.0, 1e-15, 1e-11, 1e-8, 1e-4, 10.0], True, 3),  # amplified from impact to impact
        ([0.0, 1e-15, 1e-15, 1e-4, 10.0], False, None),  # broken by one impact
        ([1e-3, 1e-3], False, None),  # never there
    ],
)
def test_rounding_errors_may_grow_but_symmetry_may_not_break(pool, monkeypatch, errors, passed, until):
    monkeypatch.setattr(checks, "symmetry_error", lambda _: np.array(errors))
    found = next(c for c in checks.check_run(pool) if c.name == "symmetry")
    assert found.passed is passed and (found.value <= 1e-6) is passed
    if until is not None:
        assert f"up to time {pool.time[until]:g}" in found.note
        asked = next(c for c in checks.check_run(pool, {"symmetry": 1e-6}) if c.name == "symmetry")
        assert asked.passed is False and asked.value == 10.0

"""The table of events: it explains the momentum of every body, at any frame rate, after a kill, within its budget."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import carom
from carom import ProblemError
from carom.analysis.checks import EXPLAINED
from carom.analysis.run_momentum import unexplained_momentum, unexplained_reason
from carom.scene import Bodies, Disc, Material, Plane, Scene
from carom.scenes import SCENES
from carom.stepping.events import KINDS
from carom.trajectory import Trajectory, events
from carom.trajectory.event_filter import selected

STEPPERS = ("synchronous", "drift_safe", "time_of_impact", "substepped")


def bouncing(restitution: float = 0.5) -> Scene:
    """Three discs that fall on a plane one after the other, bounce and come to rest."""

    discs = Bodies(Disc(0.5), np.array([[0.0, 1.0], [2.0, 1.5], [0.3, 2.6]]), velocity=[[0.1, 0], [0, 0], [0, -1.0]])
    return Scene(
        "bouncing", [discs], [Plane()], gravity=(0.0, -9.81), materials={"default": Material(restitution, 0.3)}
    )


def short_run(name: str, steps: int, **options) -> Trajectory:
    entry = SCENES[name]
    scene = entry(**entry.small)
    return carom.simulate(scene, duration=min(scene.duration, steps * scene.step), **options)


@pytest.mark.long  # a fast test of test_scenes.py states it for the first 20 steps
def test_momentum_of_every_body_in_every_scene_is_explained():
    """Impulses are stored in double precision: only the rounding of sums is left, far below the bound of 1e-9."""
    checked = 0
    for name in SCENES:
        with short_run(name, 30, frame_rate=1.0) as run:
            if not unexplained_reason(run):
                checked += 1
                assert unexplained_momentum(run) <= 1e-11, name
            else:
                assert run.world.joints is not None, name
    assert checked >= 40


def test_momentum_is_explained_where_sub_steps_see_the_present_bodies_alone():
    """The stepper numbers the bodies that are present, events all of them: so must the names of contacts."""
    with short_run("hopper", 100, frame_rate=1.0, stepper="substepped") as run:
        assert 0 < run.present[-1].sum() < run.world.count
        assert unexplained_momentum(run) <= EXPLAINED


@pytest.mark.long
@pytest.mark.parametrize("stepper", STEPPERS)
def test_momentum_is_explained_by_all_steppers(stepper):
    rolls = ("repose", "rube_goldberg") if stepper in ("synchronous", "substepped") else ()
    for name in SCENES:
        if name not in rolls and SCENES[name](**SCENES[name].small).joints == ():
            with short_run(name, 200, frame_rate=1.0, stepper=stepper) as run:
                assert unexplained_momentum(run) <= EXPLAINED, name


@pytest.mark.long
def test_impacts_at_the_start_of_a_step_that_goes_on_at_rest_are_listed():
    """Balls that are struck and held in one step: the impact is in the report although no time has passed before."""
    with short_run("granular_wave_2d", 60, frame_rate=1.0, stepper="time_of_impact") as run:
        assert unexplained_momentum(run) <= EXPLAINED


@pytest.mark.parametrize("stepper", STEPPERS)
def test_a_missing_event_is_noticed(stepper):
    with carom.simulate(bouncing(), duration=1.5, step=0.01, stepper=stepper) as run:
        assert unexplained_momentum(run) <= 1e-11
        assert len(run.events.impacts) >= 3 and (stepper == "synchronous" or len(run.events.rests) >= 1)
        run.__dict__["events"] = run.events[1:]
        assert unexplained_momentum(run) > 1e-6


def test_no_impact_is_missing_at_any_frame_rate():
    tables = [carom.simulate(bouncing(), duration=1.0, step=0.01, frame_rate=rate).events for rate in (1.0, 7.0, 100.0)]
    assert all(np.array_equal(np.asarray(tables[0]), np.asarray(other)) for other in tables[1:])


def test_an_impact_in_numbers():
    """A disc of mass pi / 4 falls on a plane with restitution 0.5: closed forms of speed, impulse, energy, time."""
    disc = Bodies(Disc(0.5), np.array([[0.0, 1.0]]))

    scene = Scene("one", [disc], [Plane()], gravity=(0.0, -10.0), materials={"default": Material(0.5, 0.0)})
    with carom.simulate(scene, duration=0.5, step=0.01, stepper="time_of_impact") as run:
        first, mass = run.events[0], float(run.world.mass[0])
    time, speed = np.sqrt(2.0 * 0.5 / 10.0), np.sqrt(2.0 * 10.0 * 0.5)
    assert first["time"] == pytest.approx(time, abs=1e-9)
    assert (first["approach"], first["separation"]) == pytest.approx((speed, 0.5 * speed), rel=1e-6)  # single precision
    assert first["normal_impulse"] == pytest.approx(1.5 * mass * speed, rel=1e-9)
    assert first["energy"] == pytest.approx(0.5 * mass * speed**2 * 0.75, rel=1e-6)
    assert (first["first"], first["second"], KINDS[first["kind"]]) == (0, -1, "impact")


def test_rest_has_its_duration_and_the_weight():
    """A disc at rest on a plane for 0.5: one period, whose impulse is weight times time."""
    scene = Scene("still", [Bodies(Disc(0.5), np.array([[0.0, 0.5]]))], [Plane()], gravity=(0.0, -10.0))
    with carom.simulate(scene, duration=0.5, step=0.01, stepper="drift_safe") as run:
        (row,) = run.events
        assert KINDS[row["kind"]] == "rest" and row["duration"] == pytest.approx(0.5, rel=1e-12)
        assert row["normal_impulse"] == pytest.approx(float(run.world.mass[0]) * 10.0 * 0.5, rel=1e-9)


def test_frames_have_the_impulses_since_the_frame_before():
    with carom.simulate(bouncing(), duration=1.0, step=0.01, frame_rate=9.0, impulses=True) as run:
        mass, gravity = run.world.mass[:, None], run.world.gravity
        for i in range(1, len(run)):
            given, some = np.zeros((3, 2)), run.impulses(i)
            tangent = np.stack([-some.normal[:, 1], some.normal[:, 0]], axis=1) * some.tangent_impulse[:, None]
            push = some.normal_impulse[:, None] * some.normal + tangent
            np.add.at(given, some.first, -push)
            np.add.at(given, some.second[some.second >= 0], push[some.second >= 0])
            change = mass * (run.velocities[i] - run.velocities[i - 1])
            assert np.allclose(change, given + mass * gravity * (run.time[i] - run.time[i - 1]), atol=1e-12)


OTHER_OPTIONS = [pytest.param(options, marks=pytest.mark.long) for options in ({}, {"stepper": "synchronous"})]


@pytest.mark.parametrize("options", [{"impulses": True}, *OTHER_OPTIONS])
def test_resumed_and_extended_runs_have_each_event_once(tmp_path, monkeypatch, options):
    monkeypatch.setattr("carom.simulation.CHECKPOINT_SECONDS", -1.0)
    monkeypatch.setattr("carom.simulation.TELL_SECONDS", -1.0)
    path, how = tmp_path / "run.h5", {"step": 0.01, "frame_rate": 30.0, **options}

    def stop(progress):
        if progress.step >= 45:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carom.simulate(bouncing(), duration=1.0, output=path, progress=stop, **how)
    with Trajectory(path) as run:
        assert not run.finished and unexplained_momentum(run) <= 1e-11
    for end in (1.0, 1.43):
        with carom.resume(path, duration=end) as run, carom.simulate(bouncing(), duration=end, **how) as whole:
            assert np.array_equal(run._file["events"][()], whole._file["events"][()])
            assert np.array_equal(np.asarray(run.events), np.asarray(whole.events))


def test_beyond_the_budget_weak_events_are_summed(monkeypatch, tmp_path):
    """Never silently: their number is stored, and the momentum is explained as before."""
    monkeypatch.setattr(events, "RESERVE", 86 * 20)
    monkeypatch.setattr(events, "BUDGET_SHARE", 0.0)
    whole = short_run("drop", 120, events="all")
    with short_run("drop", 120, frame_rate=0.1, output=tmp_path / "run.h5") as run:
        assert len(run.events) == 20 and len(whole.events) == 20 + run.unlisted_events.total
        assert unexplained_momentum(run) <= 1e-11
        last = run.events["step"].max()  # the step in which the budget was used up: its strongest events are listed
        sizes, kept = (np.linalg.norm(e[e["step"] == last].impulse, axis=1) for e in (whole.events, run.events))
        assert len(kept) < len(sizes)
        assert np.allclose(np.sort(kept), np.sort(sizes)[-len(kept) :], rtol=1e-12, atol=0.0)
    assert short_run("drop", 20, events="none").events is None


def test_events_explain_the_momentum_of_mechanisms():
    """A chain that falls on a floor: the momentum that it is slowed by, lest its energy rise, is a correction."""
    with carom.simulate("falling_chain", duration=0.56) as run:
        assert unexplained_reason(run) == ""
        assert (run.events["kind"] == KINDS.index("correction")).any()
        assert unexplained_momentum(run) <= EXPLAINED
    with carom.simulate("double_pendulum", duration=0.1) as run:
        assert unexplained_reason(run) == "joints to the world push on every free body"


def test_conditions():
    with carom.simulate(bouncing(), duration=1.0, step=0.01) as run:
        found = run.events
    assert len(found.where("kind == 'impact'")) == len(found.impacts)
    assert len(found.where("impulse > 0.1 and not (second >= 0 or kind != 'impact')")) <= len(found.impacts)
    assert len(found.where("abs(tangent_impulse) <= 0.3 * normal_impulse + 1e-12")) == len(found)
    with pytest.raises(ProblemError, match="unknown column 'foo'"):
        found.where("foo > 1")
    with pytest.raises(ProblemError, match="unknown kind 'impakt': did you mean 'impact'"):
        found.where("kind == 'impakt'")
    for bad in ("__import__('os')", "time.real > 1", "time", "1 <", "kind > 1", "time and 1", "(lambda: 1)()",
                "time[0] > 1", "", "x" * 2000, "-" * 300 + "1 > 0",
                "time > 1 if 1 else 2", "[t for t in time]", "None == 1", "9**9**9**9 > 1 > 'a'"):  # fmt: skip
        with pytest.raises(ProblemError) as refusal:
            selected(bad, found.columns())
        assert "\n" not in str(refusal.value)


def test_tables_of_other_packages():
    with carom.simulate(bouncing(), duration=0.6, step=0.01) as run:
        frame, table = run.events.to_pandas(), run.events.to_arrow()
        assert len(frame) == len(run.events) == table.num_rows
        assert frame["normal_impulse"].to_numpy().tolist() == run.events["normal_impulse"].tolist()
        assert set(frame["kind"]) <= set(KINDS) and frame.columns.tolist() == table.column_names


def test_old_files_are_read(tmp_path):
    """A file of format 4, with the impulses of the step before each frame."""

    path = tmp_path / "old.h5"
    path.write_bytes(gzip.decompress(Path(__file__).with_name("format4.h5.gz").read_bytes()))
    with Trajectory(path) as run:
        assert run.events is None and run.unlisted_events is None
        assert run.settings.impulses and run.impulses(len(run) - 1) is not None
        assert "step before each frame" in run.settings.recorded_impulses
        assert sum(len(run.impulses(i).first) for i in range(len(run))) > 0
    with pytest.raises(ProblemError, match="older version"):
        carom.resume(path, duration=2.0)


def test_damaged_events_give_one_line(tmp_path):
    """Rows that cannot be of the run, with correct checksums, are refused where they are read."""
    import h5py

    from carom.hdf5.journal import USER_BLOCK

    path = tmp_path / "run.h5"
    carom.simulate(bouncing(), duration=0.8, step=0.01, output=path, events="all").close()
    whole = path.read_bytes()
    assert USER_BLOCK > 0
    for column, value in (("first", 7), ("second", -9), ("kind", 5), ("time", np.nan), ("step", 10**6), ("status", -1)):
        path.write_bytes(whole)
        with h5py.File(path, "r+") as file:
            rows = file["events"][()]
            rows[column][0] = value
            file["events"][...] = rows
        with Trajectory(path) as run, pytest.raises(ProblemError, match="damaged"):
            run.events  # noqa: B018
    path.write_bytes(whole)
    with h5py.File(path, "r+") as file:
        file["events"].resize(1, axis=0)
    with Trajectory(path) as run, pytest.raises(ProblemError, match="does not fit"):
        run.events  # noqa: B018

"""Worlds whose bodies appear and vanish: sources, sinks, changes from Python, and what is left of them in a run."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

import carom
from carom import Change, ProblemError, Simulation
from carom.analysis.checks import check_run
from carom.analysis.run_momentum import unexplained_momentum
from carom.analysis.runs import overlap, sides, spread
from carom.analysis.sensors import Flow
from carom.scene import Bodies, Box, Disc, Material, Plane, Rectangle, Rod, Rope, Scene, Segment, Sink, Source, Sphere
from carom.scene.file.document import parse_toml
from carom.scene.file.write import scene_to_toml
from carom.scene.model import FREE
from carom.scene.motion import FIXED
from carom.scene.store import pack, unpack
from carom.stepping.events import APPEARANCE, REMOVAL
from carom.trajectory import Trajectory

ROUGH = {"default": Material(0.3, 0.4)}


def hopper(grains: int = 30, **changes) -> Scene:
    """A small funnel under a source; what falls out is poured in again."""
    radius = np.linspace(0.04, 0.06, grains)
    return Scene(
        "hopper",
        [Bodies(Disc(radius), np.zeros((grains, 2)), (0.0, -1.0), name="grains", present=False)],
        [
            *(Segment((side * 0.6, 0.5), (side * 0.25, 0.0)) for side in (-1, 1)),
            *(Segment((side * 0.6, 0.5), (side * 0.6, 3.0)) for side in (-1, 1)),
        ],
        materials=ROUGH,
        gravity=(0.0, -9.81),
        sources=[Source("grains", (-0.4, 1.0), (0.4, 1.4), rate=60.0)],
        sinks=[Sink(upper=(9.0, -0.5))],
        step=0.005,
        duration=1.5,
    ).with_(**changes)


def pair(present: bool, **changes) -> Scene:
    """Two discs that fall beside each other, and a third one where the second lands."""
    bodies = [Bodies(Disc(0.5), [[0.0, 1.0], [2.0, 1.5]], name="two"), Bodies(Disc(0.5), [[2.1, 0.5]], name="third")]
    bodies = bodies if present is None else [bodies[0], replace(bodies[1], present=present)]
    return Scene("pair", bodies, [Plane()], gravity=(0.0, -9.81), materials=ROUGH, step=0.01).with_(**changes)


# ---- absent bodies


@pytest.mark.parametrize("stepper", ["synchronous", "drift_safe", "substepped", "time_of_impact"])
def test_an_absent_body_changes_no_bit(stepper):
    """The bodies that are there move as in the scene without the absent one; a present one is struck."""
    alone = pair(None)
    alone = alone.with_(bodies=alone.bodies[:1])
    runs = [carom.simulate(s, duration=1.0, stepper=stepper) for s in (alone, pair(False), pair(True))]
    ends = [run.last.position[:2] for run in runs]
    assert np.array_equal(ends[0], ends[1]) and not np.allclose(ends[0], ends[2])
    assert runs[0].kinetic[-1] == runs[1].kinetic[-1] and runs[1].last.velocity[2].tolist() == [0.0, 0.0, 0.0]


def test_absent_shapes_of_every_family():
    """Spheres and boxes in 3D, discs and polygons in 2D, absent in the middle of the numbers."""
    solids = [Bodies(Box((1.0, 1.0, 1.0)), [[0.0, 0.0, 0.6]]), Bodies(Sphere(0.4), [[0.1, 0.0, 1.6]])]
    figures = [Bodies(Rectangle(1.0, 1.0), [[0.0, 0.6]]), Bodies(Disc(0.4), [[0.1, 1.6]])]
    for groups, gravity in ((solids, (0.0, 0.0, -9.81)), (figures, (0.0, -9.81))):
        ground = [Plane((0.0,) * len(gravity), tuple(-np.sign(gravity)))]
        scene = Scene("two", groups, ground, gravity=gravity, materials=ROUGH)
        hidden = replace(groups[0], present=False)
        both = [groups[0], replace(hidden, position=groups[1].position), groups[1]]
        plain, more = (carom.simulate(s, duration=0.5) for s in (scene, scene.with_(bodies=both)))
        assert np.array_equal(plain.last.position, more.last.position[[0, 2]])


# ---- sources and sinks


def test_a_source_keeps_its_rate_and_reuses_what_a_sink_removes():
    """60 per unit of time from time 0 on: 90 bodies appear in steps before time 1.5, 50 slots serve them all."""
    run = carom.simulate(hopper(50))
    changes, lives = run.events.changes, np.abs(run.last.life)
    born = changes[changes["kind"] == APPEARANCE]
    assert lives.sum() == len(born) == 90 and lives.max() > 1
    assert (changes["kind"] == REMOVAL).sum() == len(born) - run.last.present.sum()
    assert np.array_equal(born["time"], np.sort(born["time"])) and born["time"].max() < 1.5
    place = born["point"]
    assert (np.abs(place[:, 0]) <= 0.4).all() and (place[:, 1] >= 1.0).all() and (place[:, 1] <= 1.4).all()
    assert run.present.sum(axis=1)[0] == 0 and run.present.shape == (len(run), 50)


def test_a_source_without_room_waits():
    """A point source: a disc of radius 0.05 that falls leaves its place after sqrt(2 * 0.1 / g) = 0.14."""
    scene = Scene(
        "gun",
        [Bodies(Disc(0.05), np.zeros((20, 2)), name="balls", present=False)],
        gravity=(0.0, -9.81),
        sources=[Source("balls", (0.0, 0.0), (0.0, 0.0))],
        step=0.01,
    )
    run = carom.simulate(scene, duration=1.0)
    times = run.events.changes["time"]
    assert len(times) == 7 and np.diff(times) == pytest.approx(0.15, abs=1e-9)
    assert overlap(run).max() == 0.0


def test_start_stop_and_total():
    scene = hopper(sinks=[], sources=[Source("grains", (-0.4, 1.0), (0.4, 1.4), 100.0, start=0.1, stop=0.2)])
    times = carom.simulate(scene, duration=0.5).events.changes["time"]
    assert times.min() == pytest.approx(0.1) and times.max() < 0.2 and len(times) == 10
    few = hopper(sinks=[], sources=[Source("grains", (-0.4, 1.0), (0.4, 1.4), total=7)])
    assert carom.simulate(few, duration=0.1).last.present.sum() == 7


def test_sinks_by_region_time_and_impact():
    falls = pair(True)
    gone = falls.with_(sinks=[Sink(start=0.2, bodies=("third",))])
    run = carom.simulate(gone, duration=0.3)
    assert run.last.life.tolist() == [1, 1, -1] and run.events.changes["time"].tolist() == pytest.approx([0.2])
    out = falls.with_(sinks=[Sink((-1.0, -1.0), (1.0, 9.0), outside=True)])
    assert carom.simulate(out, duration=0.02).last.life.tolist() == [1, -1, -1]
    # The first disc falls 0.5, lands at 0.32 with 3.13 and an impulse above m v; the second one later, the third rests.
    struck = falls.with_(sinks=[Sink(bodies=("two",), impulse=1.0)], stepper="time_of_impact")
    run = carom.simulate(struck, duration=1.0)
    landed = run.events.impacts["time"][run.events.impacts["first"] == 0][0]
    assert landed == pytest.approx(np.sqrt(2 * 0.5 / 9.81), abs=1e-9)
    gone = run.events.changes["time"][run.events.changes["first"] == 0]
    assert len(gone) == 1 and 0.0 <= gone[0] - landed <= 0.01 and run.last.life[[0, 2]].tolist() == [-1, 1]


# ---- a run with changes


@pytest.mark.parametrize("stepper", ["synchronous", "drift_safe", "substepped"])
def test_momentum_is_explained_and_energy_does_not_rise(stepper):
    run = carom.simulate(hopper(stepper=stepper))
    found = {check.name: check for check in check_run(run)}
    assert found["events"].value < 1e-12 and found["energy"].passed and found["overlap"].value < 0.5
    assert found["momentum"].passed is None and "appear" in found["momentum"].note
    # Without the appearances it is not explained: they bring the momentum m v.
    rows = np.asarray(run.events)
    run.__dict__["events"] = rows[rows["kind"] != APPEARANCE].view(type(run.events))
    assert unexplained_momentum(run) > 0.1


def test_a_resumed_run_has_the_same_bits(tmp_path):
    whole = carom.simulate(hopper(), duration=1.2)
    for name, scene in (("a", hopper()), ("b", unpack(*pack(hopper()))), ("c", parse_toml(scene_to_toml(hopper())))):
        path = tmp_path / f"{name}.h5"
        carom.simulate(scene, output=path, duration=0.77).close()
        run = carom.resume(path, duration=1.2)
        assert run.state_hash == whole.state_hash and np.array_equal(run.lives[:], whole.lives[:])
        assert np.array_equal(np.asarray(run.events), np.asarray(whole.events))


def test_changes_of_a_callback_are_resumed(tmp_path):
    """A change that is wanted after the last step before a checkpoint is made after it."""

    def change(state):
        if state.step == 20:
            return Change(remove=[1])
        if state.step == 40:
            return Change(add=[1], position=[[3.0, 2.0]], velocity=[[0.5, 0.0]])
        return None

    path = tmp_path / "run.h5"
    carom.simulate(pair(True), output=path, duration=0.2, on_step=change).close()
    carom.resume(path, duration=0.4, on_step=change).close()
    run = carom.resume(path, duration=0.6, on_step=change)
    whole = carom.simulate(pair(True), duration=0.6, on_step=change)
    assert run.finished and run.state_hash == whole.state_hash
    assert run.events.changes["kind"].tolist() == [REMOVAL, APPEARANCE]
    assert run.lives[:, 1].tolist() == [1] * 11 + [-1] * 10 + [2] * 10
    assert unexplained_momentum(run) < 1e-12


def test_an_exception_or_a_bad_change_loses_no_step(tmp_path):
    for change, text in ((Change(remove=[7]), "remove"), (Change(add=[0]), "add"), (Change(remove=[0.5]), "remove")):
        path = tmp_path / f"{text}{len(str(change.remove))}.h5"
        with pytest.raises(ProblemError, match=rf"^{text}: "):
            carom.simulate(pair(True), output=path, on_step=lambda s, c=change: c if s.step == 30 else None)
        with Trajectory(path) as run:
            assert run.last.step == 30 and len(run.steps) == 31


def test_bodies_added_and_removed_step_by_step():
    sim = Simulation(pair(False))
    with pytest.raises(ProblemError, match="overlap nothing"):
        sim.add([2], position=[[0.3, 1.0]])
    sim.add([2], velocity=[0.0, 1.0])
    assert sim.state.life.tolist() == [1, 1, 1] and sim.state.velocity[2].tolist() == [0.0, 1.0, 0.0]
    sim.step()
    assert sim.events.changes["first"].tolist() == [2] and sim.report["kinetic"] > 0.0
    sim.remove([0, 2])
    sim.run(0.5)
    assert sim.state.life.tolist() == [-1, 1, -1] and sim.contacts.first.tolist() in ([], [1])
    plain = Simulation(carom.scenes.pool_break())  # a scene that does not declare changes
    plain.run(0.1)
    plain.remove(range(56))
    assert plain.step().present.sum() == 0 and plain.report["kinetic"] == 0.0


# ---- joints


def target(grains: int = 20, **changes) -> Scene:
    """Four boxes between rods and a rope, hung over a plane, on which grains fall; those that land vanish."""
    boxes = Bodies(Rectangle(0.5, 0.2), [[0.6 * k, 1.0] for k in range(4)], name="boxes")
    radius = np.linspace(0.1, 0.12, max(grains, 1))  # not below half of a box: the length scale is that of the boxes
    ends = [((0.6 * k + 0.2, 1.0), (0.6 * k + 0.4, 1.0)) for k in range(3)]
    rods = [Rod((f"boxes[{k}]", f"boxes[{k + 1}]"), ends[k]) for k in range(2)]
    rope = Rope(("boxes[2]", "boxes[3]"), ends[2], length=0.25)
    hung = [Rod(("world", f"boxes[{k}]"), ((0.6 * k, 2.5), (0.6 * k, 1.1))) for k in (0, 3)]
    pool = Bodies(Disc(radius), np.zeros((len(radius), 2)), (0.0, -2.0), name="grains", present=False)
    return Scene(
        "target",
        [pool, boxes] if grains else [boxes],
        [Plane()],
        joints=[*rods, rope, *hung],
        materials=ROUGH,
        gravity=(0.0, -9.81),
        sources=[Source("grains", (-0.3, 1.5), (2.1, 2.2), rate=40.0)] if grains else [],
        sinks=[Sink(upper=(9.0, 0.3))] if grains else [],
        step=0.005,
        duration=1.0,
    ).with_(**changes)


def test_bodies_come_and_go_around_a_mechanism(tmp_path):
    """Absent bodies, numbered before the jointed ones, change no bit; then grains strike boxes, which stay."""
    alone = carom.simulate(target(0))
    absent = carom.simulate(target(5, sources=[], sinks=[]))
    assert np.array_equal(absent.last.position[5:], alone.last.position)
    assert np.array_equal(absent.last.velocity[5:], alone.last.velocity)
    whole = carom.simulate(target())
    assert (np.abs(whole.last.life[:20]) > 1).any() and whole.present[:, 20:].all()
    struck = whole.events.impacts
    assert ((struck["first"] < 20) & (struck["second"] >= 20)).any()
    found = {check.name: check for check in check_run(whole)}
    assert all(check.passed is not False for check in found.values()), found
    carom.simulate(target(), output=tmp_path / "run.h5", duration=0.52).close()
    assert carom.resume(tmp_path / "run.h5", duration=1.0).state_hash == whole.state_hash


def test_bodies_with_joints_stay():
    sim = Simulation(target())
    for body in (20, 23):
        with pytest.raises(ProblemError, match=r"^remove: .* without joints"):
            sim.remove([body])
    assert carom.simulate(target(sinks=[Sink(upper=(9.0, 9.0))]), duration=0.05).last.life[20:].tolist() == [1] * 4
    for changes in ({"sources": [Source("boxes", **BOX)]}, {"sinks": [Sink(bodies=("boxes",))]}):
        with pytest.raises(ProblemError, match=rf"^{next(iter(changes))}\[0\].bodies: .* do not appear or vanish"):
            Simulation(target(**changes))


# ---- analysis, sensors, files


def test_measurements_leave_absent_bodies_out():
    run = carom.simulate(pair(False, sinks=[Sink(start=0.5, bodies=("two",), lower=(1.0, -1.0))]), duration=1.0)
    found = sides(run, 1.0)
    assert found.right[0] == 1 and found.right[-1] == 0 and found.left[-1] == 1
    assert spread(run)[-1] == 0.0 and spread(run)[0] == pytest.approx(0.5 * np.hypot(2.0, 0.5))


def test_a_flow_does_not_count_bodies_that_come_back():
    sim = Simulation(hopper())
    sensor = Flow(sim.world, np.zeros(2), np.array([0.0, -1.0]), sim.state)
    for _ in range(300):
        sim.step()
        sensor.add(sim.state, sim.impulses, sim.time_step)
    through = (np.abs(sim.state.life) - sim.state.present).sum()  # removed below the plane
    between = ((sim.state.position[:, 1] < 0.0) & sim.state.present).sum()
    assert sensor.series[:, 0].sum() * sim.time_step == pytest.approx(through + between)


def test_pictures_show_the_bodies_that_are_there():
    """Discs without gravity, of which the second appears after half of the time; spheres seen from above alike."""
    from carom.draw.films import Look, Span, Studio

    for shape, dim in ((Disc(0.5), 2), (Sphere(0.5), 3)):
        places = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])[:, :dim]
        groups = [Bodies(shape, places[:1]), Bodies(shape, places[1:], name="late", present=False)]
        source = Source("late", tuple(places[1]), tuple(places[1]), start=0.5)
        run = carom.simulate(Scene("two", groups, sources=[source]), duration=1.0, stepper="synchronous")
        look = Look(size=(320, 180), caption=False, camera="elevation=90" if dim == 3 else "1,0,4")
        studio = Studio(run, look, Span(0.0, 1.0))
        ink = [(studio.picture(time).astype(int).sum(axis=2) < 700).sum() for time in (0.2, 0.8)]
        assert ink[1] == pytest.approx(2 * ink[0], rel=0.1), (dim, ink)
        assert ink[0] > 500
    nothing = Scene("late", groups[1:], [Plane((0.0, 0.0, -1.0), (0.0, 0.0, 1.0))], sources=[source])
    run = carom.simulate(nothing, duration=1.0, stepper="synchronous")
    assert Studio(run, Look(size=(160, 90)), Span(0.0, 1.0)).picture(0.1).shape == (90, 160, 3)
    empty = carom.simulate(hopper(), duration=0.1)
    assert (Studio(empty, Look(size=(320, 180)), Span(0.0, 0.1)).picture(0.0) != 255).any()


def test_exports_have_the_bodies_that_are_there(tmp_path):
    import csv
    import json
    import struct

    run = carom.simulate(hopper(), duration=0.4, frame_rate=20)
    count = int(run.present.sum())
    carom.export(run, tmp_path / "run.csv")
    with (tmp_path / "run.csv").open() as file:
        assert len(list(csv.reader(file))) == 1 + count
    carom.export(run, tmp_path / "run.npz")
    assert (np.load(tmp_path / "run.npz")["life"] > 0).sum() == count
    carom.export(run, tmp_path / "run.glb")
    data = (tmp_path / "run.glb").read_bytes()
    head = json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])
    scaled = [c for c in head["animations"][0]["channels"] if c["target"]["path"] == "scale"]
    assert len(scaled) == run.present.any(axis=0).sum()
    carom.export(run, tmp_path / "run.html")
    assert (tmp_path / "run.html").stat().st_size > 10_000


def test_usd_hides_absent_bodies(tmp_path):
    pxr = pytest.importorskip("pxr.Usd")
    from pxr import UsdGeom

    run = carom.simulate(hopper(10), duration=0.4, frame_rate=20)
    carom.export(run, tmp_path / "run.usda")
    stage = pxr.Stage.Open(str(tmp_path / "run.usda"))
    prims = [UsdGeom.Imageable(stage.GetPrimAtPath(f"/run/bodies/body_{k}")) for k in range(10)]
    shown = [[prim.ComputeVisibility(float(code)) == "inherited" for prim in prims] for code in range(len(run))]
    assert np.array_equal(shown, run.present[:]) and not np.all(shown) and np.any(shown)


def test_the_play_page_gets_no_place_for_absent_bodies():
    from carom.play.runs import Colors, _film

    run = carom.simulate(hopper(10), duration=1.5, frame_rate=4)
    film = _film(run, Colors.of([run]))
    place = np.frombuffer(b64decode(film["position"]), "<f4").reshape(len(run), 10, 2)
    assert np.array_equal(np.isfinite(place).all(axis=2), run.present[:]) and not run.present[:].all()
    lives = np.frombuffer(b64decode(film["lives"]), "u1").reshape(len(run), 10)
    assert np.array_equal(lives, np.maximum(run.lives[:], 0))
    assert ((lives[:-1] > 0) & (lives[1:] > lives[:-1])).any()  # without an absence in any frame: not interpolated


# ---- bad input


BOX = {"lower": (-0.4, 1.0), "upper": (0.4, 1.4)}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"sources": [Source("grain", **BOX)]}, "grain"),
        ({"sources": [Source("grains", **BOX)] * 2}, "without another source"),
        ({"sources": [Source("grains", (0.6, 1.0), (0.6, 1.4))]}, r"sources\[0\]: .* inside a wall"),
        ({"sources": [Source("grains", (0.0, 1.0, 0.0), (0.1, 1.0, 0.0))]}, "2 numbers"),
        ({"sinks": [Sink(bodies=("sand",))]}, "sand"),
        ({"joints": [Rod((0, 1), ((0.0, 0.0), (1.0, 0.0)))]}, r"bodies\[0\].present: .* have joints"),
        ({"bodies": [Bodies(Disc(0.1), [[0.0, 2.0]], motion=FIXED, present=False, name="grains")]}, "free"),
    ],
)
def test_bad_sources_and_sinks_are_refused_before_a_run(changes, text):
    with pytest.raises(ProblemError, match=text) as refusal:
        Simulation(hopper(**changes))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Source("g", (1.0, 0.0), (0.0, 0.0)), r"source.upper"),
        (lambda: Source("g", (0.0, 0.0), (0.0, 0.0), rate=0.0), r"source.rate"),
        (lambda: Source("g", (0.0, 0.0), (0.0, 0.0), start=2.0, stop=1.0), r"source.stop"),
        (lambda: Sink(impulse=-1.0), r"sink.impulse"),
    ],
)
def test_bad_numbers_are_refused_when_declared(make, text):
    with pytest.raises(ProblemError, match=text):
        make()


def test_runs_that_change_have_no_derivatives():
    with pytest.raises(ProblemError, match="appear and vanish"):
        carom.sensitivity(pair(False), duration=0.1, stepper="time_of_impact")


def test_a_pool_in_a_scene_file():
    text = """
[scene]
gravity = [0, -9.81]
[[generators]]
kind = "pool"
count = 12
shape = "disc"
radius = {kind = "uniform", low = 0.04, high = 0.06}
name = "grains"
[[boundaries]]
kind = "plane"
[[sources]]
bodies = "grains"
lower = [-0.5, 1]
upper = [0.5, 1.5]
rate = 20
[[sinks]]
upper = [9, 0.2]
lower = [-9, -1]
"""
    scene = parse_toml(text)
    assert scene.count == 12 and scene.bodies[0].motion is FREE and not scene.bodies[0].present
    run = carom.simulate(scene, duration=2.0)
    assert np.abs(run.last.life).sum() == 40 and not run.last.present.all()
    with pytest.raises(ProblemError, match=r"sinks\[0\].uper: no such field; did you mean 'upper'"):
        parse_toml(text.replace("upper = [9", "uper = [9"))

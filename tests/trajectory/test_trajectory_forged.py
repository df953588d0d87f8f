"""Settings of a stranger's file, with correct checksums: each is accepted, or refused with one line that names it."""

from __future__ import annotations

import contextlib
import io
import json

import h5py
import numpy as np
import pytest
from fuzz import forgeries as forged

import carom
from carom import ProblemError
from carom.cli.errors import run as run_command
from carom.cli.main import app
from carom.errors import has_controls
from carom.scene import Bodies, Disc, Plane, Scene
from carom.settings import Settings
from carom.trajectory import Trajectory, checkpoint

ESCAPE, C1, BELL = "\x1b[31m\x1b]0;owned\x07", "\x9b31m", "gr\x07"
WRONG_TYPES = (None, True, 7, -1, 0.5, "", "x", [], ["gr"], {}, {"a": 1}, [[1]], 10**400)
CODES = (ESCAPE, C1, BELL, "gr\r\n", "gr\u202e", "\ud800", "\x7f", "x" * 5000)
MARKUP = ("[/]", "[bold]gr", "[link=http://x]gr[/link]", "\\[", "[red")
NUMBERS = (0, -1, -0.5, float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 1e308, 5e-324, 10**30, 2**63, 10**4000)
OPTIONS = (
    *({"tolerance": v} for v in (float("nan"), -1.0, 2.0, "x", None, True, [1.0], 10**30)),
    *({"max_iterations": v} for v in (-1, 0.5, 1e30, 10**30, "x", None, True, [], {}, float("inf"))),
    *({name: 1} for name in ("unknown", ESCAPE, "", "[/]")),
)
OF_LAWS = (
    ("lcp", {"repeat": "no"}),
    ("gauss_seidel", {"seed": "x"}),
    ("gauss_seidel", {"seed": -1}),
    ("gauss_seidel", {"order": ESCAPE}),
    ("gauss_seidel", {"order": ["index"]}),
    ("jacobi", {"max_growth": "x"}),
    ("jacobi", {"max_growth": float("nan")}),
    ("lzb", {"stiffness": [1.0, "x"]}),
    ("lzb", {"stiffness": [[1.0]]}),
    ("lzb", {"eta": None}),
    ("etm", {"lam": 0}),
    ("etm", {"lam": 1e3}),
    ("etm", {"history": 3}),
    ("none", {"x": 1}),
)


def changes() -> list[dict]:
    """Forged settings, one or two entries each."""
    names = ("law", "restitution_model", "friction_model", "stepper")
    out = [{name: value} for name in names for value in (*WRONG_TYPES, *CODES, *MARKUP)]
    out += [{name: value} for name in ("step", "steps", "frame_every", "tolerance") for value in NUMBERS]
    out += [
        {name: value} for name in ("step", "steps", "frame_every", "tolerance") for value in ("x", ESCAPE, [], True)
    ]
    out += [{"frame_every": 1.5}, {"steps": 40.0}, {"step": 1e-300}, {"step": None}, {"steps": None}]
    out += [{"impulses": value} for value in (None, 1, "yes", ESCAPE, [], True)]
    out += [{"law_options": value} for value in (None, 7, "x", [], ["tolerance"], ESCAPE, *OPTIONS)]
    out += [{"law": law, "law_options": options} for law, options in OF_LAWS]
    out += [{"stepper": f"tower_{name}"} for name in ("", "position", ESCAPE, "x")]
    out += [{"stepper": name} for name in ("drift_safe", "time_of_impact")]  # of another run
    out += [{"law_options": {f"o{i}": 1 for i in range(1000)}}, {"law_options": {"tolerance": "[" * 5000}}]
    return out


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run that was stopped and a finished one."""
    scene = Scene("two", [Bodies(Disc(0.5), [[0.0, 0.5], [0.9, 1.8]])], [Plane()], gravity=(0.0, -9.81))
    folder = tmp_path_factory.mktemp("forged")

    def stop(progress):
        if progress.step >= 5:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr("carom.simulation.CHECKPOINT_SECONDS", -1.0)  # at every step
        patch.setattr("carom.simulation.TELL_SECONDS", -1.0)
        carom.simulate(scene, "gr", 0.4, folder / "s.h5", step=0.01, stepper="synchronous", progress=stop)
    carom.simulate(scene, "gr", 0.4, folder / "f.h5", step=0.01, stepper="synchronous").close()
    return {"stopped": (folder / "s.h5").read_bytes(), "finished": (folder / "f.h5").read_bytes()}


def refused(act) -> str:
    """The message of the refusal of `act`, or nothing; any other exception is a failure of the test."""
    try:
        with contextlib.closing(act()):
            return ""
    except ProblemError as refusal:
        text = str(refusal)
        assert len(text) <= 500 and "\n" not in text and not has_controls(text), text
        return text


def is_accepted(settings: dict) -> bool:
    try:
        Settings.from_dict(settings)
    except ProblemError:
        return False
    return True


def printed(*arguments) -> tuple[int, str]:
    """Exit code of a command and all that it prints, as to a terminal."""
    streams = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        code = run_command(app, [str(a) for a in arguments])
    return code, "".join(stream.getvalue() for stream in streams)


def test_enough_values():
    assert len(changes()) >= 130


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)])
def test_every_reader_gives_one_line(runs, tmp_path, every):
    """`info`, `check` and reading agree: the run is described, or refused with the same message.

    The commands get all control characters and a third of the other values: messages are those of the reader.
    """
    accepted = 0
    for i, change in enumerate(changes()[::every]):
        path = forged.forge(
            runs["stopped" if i % 2 else "finished"], tmp_path / f"{i}.h5", forged.with_settings(**change)
        )
        before = path.read_bytes()
        message = refused(lambda path=path: Trajectory(path))
        for command in ("info", "check")[i % 2 :] if i % 3 == 0 or any(v in CODES for v in change.values()) else ():
            code, text = printed(command, path)
            assert not has_controls(text), (change, text)
            assert code in ((0, 1) if not message else (2,)), (change, command, text)
            assert not message or text == f"carom: {message}\n", (change, text)
        assert path.read_bytes() == before
        accepted += not message
    assert 10 < accepted * every < len(changes()) / 2, (
        "names that another program may have registered, and other finite values"
    )


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)])
def test_resuming_ends_or_is_refused(runs, tmp_path, every):
    """A resumed run ends: its number of steps is bounded, and the law and its options are valid.

    Of the settings that no reader accepts a third are tried: the reader refuses them before.
    """
    path = tmp_path / "run.h5"
    path.write_bytes(runs["stopped"])
    with Trajectory(path) as run:
        good = run.settings.as_dict()
    for i, change in enumerate(changes()[every - 1 :: every]):
        if i % 3 and not is_accepted(good | change):
            continue
        path = forged.forge(runs["stopped"], tmp_path / f"{i}.h5", forged.with_settings(**change))
        before = path.read_bytes()
        message = refused(lambda path=path: carom.resume(path))
        assert not message or path.read_bytes() == before, change


def test_a_refusal_names_field_value_and_what_is_right(runs, tmp_path):
    for change, words in (
        ({"steps": 10**30}, ("settings.steps", "1" + "0" * 30, "a whole number from 1 to")),
        ({"step": float("nan")}, ("settings.step", "nan", "a finite number above 0")),
        ({"tolerance": "x"}, ("settings.tolerance", "'x'", "exact")),
        ({"frame_every": ESCAPE}, ("settings.frame_every", "\\x1b", "text without control characters")),
        ({"law": None}, ("settings.law", "None", "a name")),
        ({"law_options": 7}, ("settings.law_options", "7", "options")),
        ({"impulses": 1}, ("settings.impulses", "1", "true or false")),
    ):
        path = forged.forge(runs["stopped"], tmp_path / "run.h5", forged.with_settings(**change))
        message = refused(lambda path=path: Trajectory(path))
        assert all(word in message for word in words), message


def test_unknown_names_are_read_and_not_resumed(runs, tmp_path):
    """Another program may have registered them."""
    for name in ("law", "restitution_model", "friction_model", "stepper"):
        path = forged.forge(runs["stopped"], tmp_path / "run.h5", forged.with_settings(**{name: "mine"}))
        with Trajectory(path) as run:
            assert getattr(run.settings, name) == "mine"
        assert "mine" in refused(lambda path=path: carom.resume(path))


def test_settings_must_fit_the_rest_of_the_file(runs, tmp_path):
    for change in ({"steps": 2}, {"step": 0.02}, {"impulses": True}):
        path = forged.forge(runs["stopped"], tmp_path / "run.h5", forged.with_settings(**change))
        assert "do not fit" in refused(lambda path=path: Trajectory(path))


def test_options_of_a_collapse(tmp_path):
    """Towers keep the options of their loop in the same place."""
    from carom.towers import named

    def stop(_):
        raise KeyboardInterrupt

    tower = named.stack([0, "1/2", "3/4"])
    with contextlib.suppress(KeyboardInterrupt):
        tower.collapse(steps=40, step=0.01, output=tmp_path / "tower.h5", progress=stop)
    content = (tmp_path / "tower.h5").read_bytes()
    with Trajectory(tmp_path / "tower.h5") as run:
        options, stepper = dict(run.settings.law_options), run.settings.stepper
    for name, value in (
        *(("passes", v) for v in ("x", 0, 1e30, 10**12, None, [8])),
        *(("penalty", v) for v in ("x", -1.0, float("nan"), [])),
        *(("lengths", v) for v in ("x", 7, None, [], ESCAPE)),
        *(("coordinates", v) for v in ("x", 7)),
        *(("feedback", v) for v in ("x", 1, None)),
        ("unknown", 1),
    ):
        path = forged.forge(content, tmp_path / "run.h5", forged.with_settings(law_options={**options, name: value}))
        assert refused(lambda path=path: carom.resume(path)) or (name, value) == ("passes", None), (name, value)
    path = forged.forge(content, tmp_path / "run.h5", forged.with_settings(stepper="tower_x"))
    assert "method" in refused(lambda path=path: carom.resume(path))
    path = forged.forge(content, tmp_path / "run.h5", forged.with_settings(stepper=stepper))
    assert not refused(lambda path=path: carom.resume(path))


def test_texts_of_the_scene(runs, tmp_path):
    def change(file):
        meta = json.loads(file["scene/meta"][()])
        meta["name"] = ESCAPE
        forged.replace_json(file["scene"], "meta", meta)
        file.attrs["scene"] = forged.fixed_text(ESCAPE)

    path = forged.forge(runs["finished"], tmp_path / "run.h5", change)
    for command in ("info", "check"):
        assert not has_controls(printed(command, path)[1])


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("bodies", [], "do not fit"),
        ("bodies", 7, "scene.bodies"),
        ("bodies", ["x"], r"scene.bodies\[0\]"),
        ("boundaries", [7], r"scene.boundaries\[0\]"),
        ("symmetries", "x", "scene.symmetries"),
        ("symmetries", [True], r"scene.symmetries\[0\]"),
        ("materials", 1.5, "scene.materials"),
        ("materials", {"map": {"default": 3}}, "scene.materials.default"),
        ("periodic", "x", "scene.periodic"),
        ("gravity", [0.0, [1.0, 2.0]], "gravity"),
        ("gravity", None, "gravity"),
    ],
)
def test_scenes_hold_what_they_declare(runs, tmp_path, name, value, words):
    def change(file):
        meta = json.loads(file["scene/meta"][()])
        forged.replace_json(file["scene"], "meta", meta | {name: value})

    path = forged.forge(runs["stopped"], tmp_path / "run.h5", change)
    with Trajectory(path) as run, pytest.raises(ProblemError, match=words):
        _ = run.world
    assert refused(lambda: carom.resume(path))


def test_programs_cannot_write_what_is_not_read():
    good = {**dict.fromkeys(("restitution_model", "friction_model")), "law": "gr", "law_options": (), "impulses": False}
    good |= {"stepper": "synchronous", "step": 0.1, "steps": 10, "frame_every": 1}
    assert Settings.from_dict(Settings(**good).as_dict()) == Settings(**good)
    for wrong in ({"steps": 0}, {"step": -1.0}, {"law": ESCAPE}, {"step": 1e300, "steps": 10**9}):
        with pytest.raises(ProblemError, match=r"settings\."):
            Settings(**good | wrong)


@pytest.mark.parametrize("name", ["linear_drag", "step", "gravity"])
def test_numbers_of_the_scene_are_not_text(runs, tmp_path, name):
    """NumPy reads a number from text; the scene would keep the text, with which a step cannot calculate."""

    def change(file):
        meta = json.loads(file["scene/meta"][()])
        forged.replace_json(file["scene"], "meta", meta | {name: ["0", "1"] if name == "gravity" else "1"})

    path = forged.forge(runs["stopped"], tmp_path / "run.h5", change)
    message = refused(lambda: carom.resume(path))
    assert name in message and "'1'" in message


@pytest.fixture(scope="module")
def resting(tmp_path_factory):
    """A stopped run with contacts at rest, whose checkpoint has a warm start and open periods of rest."""
    path = tmp_path_factory.mktemp("resting") / "run.h5"
    scene = Scene("rest", [Bodies(Disc(0.5), [[0.0, 0.5], [2.0, 0.5]])], [Plane()], gravity=(0.0, -9.81))

    def stop(progress):
        if progress.step >= 5:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr("carom.simulation.CHECKPOINT_SECONDS", -1.0)
        patch.setattr("carom.simulation.TELL_SECONDS", -1.0)
        carom.simulate(scene, "gr", 0.4, path, step=0.01, progress=stop)
    return path.read_bytes()


MEMORIES = {
    "rest_key": (lambda a: a.astype("S3"), lambda a: a[:1], lambda a: a[None]),
    "rest_impulse": (lambda a: a.astype(complex), lambda a: a[:1], lambda a: a.ravel(), lambda a: a * np.nan),
    "events_count": (lambda a: a[:2], lambda a: -a, lambda a: a.astype(float), lambda a: a + 1),
    "events_key": (lambda a: a[:1], lambda a: a * 0 + 2**62, lambda a: a.astype("S3"), lambda a: a[None]),
    "events_sums": (lambda a: a[:, :4], lambda a: a * np.inf, lambda a: a + 1e300, lambda a: a.astype("U5")),
}


def test_memory_of_a_checkpoint(resting, tmp_path):
    """Arrays of other types, shapes and values, or missing ones, give one line before anything is computed."""
    with h5py.File(io.BytesIO(resting), "r") as file:
        memory = checkpoint.load(file["checkpoint"])[1]
    assert all(len(memory[name]) for name in MEMORIES)
    whole = forged.forge(resting, tmp_path / "whole.h5", lambda file: forged.replace_memory(file, dict(memory)))
    assert not refused(lambda: carom.resume(whole)), "a forgery without a change is resumed"
    for name, changes in MEMORIES.items():
        for k, change in enumerate((None, *changes)):
            rest = {key: value for key, value in memory.items() if key != name}
            with np.errstate(all="ignore"):
                made = rest if change is None else rest | {name: change(memory[name])}
            path = forged.forge(resting, tmp_path / "run.h5", lambda file, m=made: forged.replace_memory(file, m))
            before = path.read_bytes()
            assert refused(lambda path=path: carom.resume(path)), (name, k)
            assert path.read_bytes() == before

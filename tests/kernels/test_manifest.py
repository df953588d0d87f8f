"""Families of kernels: signatures as data, the manifest, and compilation before it is needed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import typeof, types

import carom
from carom import kernels, laws
from carom.analysis.cradles import cradles
from carom.cli.warmup_workloads import _from_library, _run
from carom.kernels import files, manifest, warmup
from carom.kernels.families import families_of_law, families_of_run
from carom.kernels.manifest import Entry, Manifest, recording
from carom.kernels.notice import Notice, notice, using
from carom.kernels.signatures import Unsupported, decode, encode
from carom.scenes import SCENES, make_scene
from carom.solvers.rows import Rows, speeds


def read_only(array):
    array.setflags(write=False)
    return array


@pytest.mark.parametrize(
    "numba_type",
    [
        types.float64,
        types.int32,
        types.boolean,
        types.none,
        types.literal(3),
        types.Omitted(1e-9),
        types.Tuple([types.int64, types.float64]),
        typeof(np.zeros((2, 3))),
        typeof(np.zeros((2, 3), order="F")),
        typeof(np.zeros((4, 4))[::2, ::2]),
        typeof(read_only(np.zeros(2, dtype=np.int8))),
        types.Dispatcher(speeds),
        types.NamedUniTuple(typeof(np.zeros(1)), len(Rows._fields), Rows),
    ],
    ids=lambda given: str(given).partition(" at 0x")[0],
)
def test_a_signature_survives_json(numba_type):
    assert decode(json.loads(json.dumps(encode(numba_type)))) == numba_type


def test_a_type_without_a_form_says_so():
    with pytest.raises(Unsupported):
        encode(types.unicode_type)


def has_arrays(numba_type):
    return isinstance(numba_type, list) and (numba_type[0] == "array" or any(map(has_arrays, numba_type[1:])))


def test_lean_kernels_call_lean_kernels():
    """Others, compiled for other callers first, count references: that took a fifth of a step of 1,000 boxes."""
    entries, inside, counting = manifest.load().entries, set(), set()

    def option(entry, name):
        return entry.dispatcher().targetoptions.get(name)

    def follow(k):
        if k in inside:
            return
        inside.add(k)
        for called in entries[k].needs:
            inlined = option(entries[called], "inline") == "always"
            if (
                not inlined
                and option(entries[called], "_nrt") is not False
                and any(map(has_arrays, entries[called].types))
            ):
                counting.add(f"{entries[called].kernel}, called by {entries[k].kernel}")
            follow(called)

    for k, entry in enumerate(entries):
        if option(entry, "_nrt") is False:
            follow(k)
    assert inside
    assert not counting


def test_families_follow_the_scene():
    gr, etm = laws.make("gr"), laws.make("etm")
    assert families_of_run(make_scene("pool_break"), gr, "synchronous", None) == [
        "laws/gr",
        "2d/discs",
        "2d/synchronous",
        "scenes/pool_break",
    ]
    boxes = families_of_run(make_scene("box_tower_3d"), gr, "drift_safe", "cone")
    pairs = ["3d/drift_safe-pairs", "3d/drift_safe", "scenes/box_tower_3d"]
    assert boxes == ["laws/gr", "friction/cone/3d", "3d/spheres", "3d/solids", *pairs]
    assert families_of_law(etm, True, None) == ["laws/etm"]  # it has friction of its own


@pytest.mark.parametrize(
    ("scene", "parameters", "law", "settings"),
    [
        ("pool_break", {"rows": 5}, "gr", {}),
        ("pool_break", {"rows": 3}, "qce", {"stepper": "drift_safe"}),
        ("box_stack", {"boxes": 2}, "gr", {"friction_model": "cone"}),
        ("flat_box", {}, "qce", {"stepper": "time_of_impact"}),
        ("box_on_edge", {}, "gr", {"friction_model": "coulomb_fixed_direction"}),
    ],
)
def test_the_families_of_a_run_have_all_its_kernels(scene, parameters, law, settings):
    """If this fails, kernels have moved or changed their signatures: run `carom warmup --record`."""
    families = families_of_run(
        make_scene(scene, **parameters),
        laws.make(law),
        settings.get("stepper", "synchronous"),
        settings.get("friction_model"),
    )
    known = manifest.load()
    there = {known.entries[i].key: known.entries[i] for i in known.select(families)}
    with recording() as used:
        _run(scene, parameters, 20, law=law, **settings)
    assert used.entries
    assert sorted(set(used.entries) - set(there)) == []
    assert [key for key, entry in used.entries.items() if there[key].nested and not entry.nested] == []
    assert {entry.nested for entry in used.entries.values()} == {True, False}


def test_the_family_of_the_demo_has_all_its_kernels():
    """If this fails, run `carom warmup --record`: `make demo` compiles this family while packages are installed."""
    known = manifest.load()
    there = {known.entries[i].key for i in known.select(["demo"])}
    with recording() as used:
        cradles()
        _run("pool_break", {"rows": 4}, 60, law="gauss_seidel", stepper=make_scene("pool_break").stepper)
    assert sorted(set(used.entries) - there) == []


def test_a_family_can_stand_for_others(monkeypatch):
    """What the demo does not call is not compiled for it; families that it does not stand for are."""
    asked = []
    monkeypatch.setattr(kernels, "_prepared", set())
    monkeypatch.setattr(warmup, "warm_up", asked.extend)
    kernels.prepare(["demo"], instead_of=["laws"])
    kernels.prepare(["laws/gr", "2d/discs"])
    kernels.prepare(["2d/discs", "demo"])
    assert asked == ["demo", "2d/discs"]


def test_no_family_is_empty():
    """A family without kernels is one whose workload has lost its purpose: its kernels compile inside a run."""
    assert [name for name, found in manifest.load().families.items() if not found] == []


def test_large_impacts_have_their_kernels_listed():
    """Those of the relaxation are in the families of laws as well, whose kernels `large` does not repeat."""
    listed = manifest.load()
    for family, wanted in {"large": ("qp.sparse", "qp.interior", "contact_slabs"), "laws/gr": ("qp.relax",)}.items():
        names = {listed.entries[i].kernel.partition(":")[0] for i in listed.families[family]}
        assert {f"carom.solvers.{name}" for name in wanted} <= names


def test_every_entry_of_the_manifest_exists():
    """If this fails, kernels have moved or been renamed: run `carom warmup --record`."""
    paths = [entry.path() for entry in manifest.load().entries]
    assert [entry.kernel for entry, path in zip(manifest.load().entries, paths, strict=True) if path is None] == []
    # A type that a kernel no longer takes shows when it is compiled: the warm-up before the tests leaves a mark.
    assert [path.name for path in paths if path.with_suffix(manifest.FAILED).exists()] == []


@pytest.mark.long
def test_the_makefile_installs_what_kernels_need():
    """`make` compiles kernels while other packages are installed: modules that need these would be left out."""
    root = Path(__file__).resolve().parents[2]
    make, project = ((root / name).read_text(encoding="utf-8") for name in ("Makefile", "pyproject.toml"))
    first = set(re.search(r'FOR_KERNELS := .*"\(([^)]*)\)', make)[1].split("|"))
    declared = set(re.findall(r'"([\w-]+)', project.partition("\ndependencies = [")[2].partition("]")[0]))
    later = {name.replace("-", "_") for name in declared - first}
    assert {"rich", "typer"} <= later
    code = f"import sys; sys.modules.update(dict.fromkeys({sorted(later)}))\n"
    code += "from carom.kernels.manifest import load\nprint([e.kernel for e in load().entries if e.path() is None])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


SOURCE = """
from carom.kernels import kernel

@kernel
def leaf(x):
    return 2.0 * x

@kernel
def caller(x):
    return leaf(x) + 1.0

@kernel
def broken(x):
    return x.no_such_field
"""


class Counting(Notice):
    """Remembers what it was told."""

    def __init__(self):
        super().__init__()
        self.said = []

    def begin(self, kernels=0):
        self.said.append(kernels)

    def advance(self, done, kernels):
        self.said.append((done, kernels))


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A manifest of two kernels, one of which calls the other, and of entries that cannot be compiled."""
    (tmp_path / "warmed.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "warmed", raising=False)
    monkeypatch.setenv("CAROM_CACHE_DIR", str(tmp_path / "cache"))
    files.cache_folder.cache_clear()
    names = ("warmed:leaf", "warmed:caller", "warmed:broken", "warmed:gone", "no.such:module")
    entries = [Entry(name, ["float64"], 1.0) for name in names]
    entries[1].needs, entries[0].nested = [0], True
    made = Manifest(entries, {"some/kernels": [0, 1], "some/stale": [2, 3, 4]})
    monkeypatch.setattr(warmup, "load", lambda: made)
    yield made
    files.cache_folder.cache_clear()


@pytest.mark.parametrize("processes", [1, 2])
def test_a_warm_up_compiles_what_is_missing_and_skips_what_is_stale(small, processes):
    with using(Counting()):
        first = warmup.warm_up(["some"], processes)
        said = notice().said
        second = warmup.warm_up(["some"], processes)
    assert first.kernels == 3  # entries whose kernel is gone do not count
    assert [line.partition(":")[0] for line in first.skipped] == ["warmed"]
    assert said[0] == 3 and (3, 3) in said
    assert second.kernels == 0
    caller = small.entries[1].dispatcher()
    assert caller(2.0) == 5.0
    if processes == 1:
        assert sum(caller.stats.cache_misses.values()) == 1


def test_callees_are_compiled_first_and_long_chains_before_short_ones():
    entries = [Entry("short", [], 1.0), Entry("leaf", [], 0.5), Entry("middle", [], 1.0, [1]), Entry("top", [], 1, [2])]
    queue = warmup._Queue(Manifest(entries, {}), [0, 1, 2, 3])
    taken = []
    while (number := queue.take()) is not None:
        taken.append(entries[number].kernel)
        queue.finish(number, "")
    assert taken == ["leaf", "middle", "top", "short"] or taken == ["leaf", "middle", "short", "top"]


def test_compile_time_is_counted_and_announced_once(small, capfd, monkeypatch):
    monkeypatch.delenv("CAROM_QUIET", raising=False)
    before = kernels.compile_seconds()
    with using(Notice()):
        warmup.warm_up(["some/kernels"], 1)
        warmup.warm_up(["some/stale"], 1)
    assert kernels.compile_seconds() > before
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("carom: compiling 2 kernels (once; kept in ")


def test_a_quiet_process_says_nothing(small, capfd, monkeypatch):
    monkeypatch.setenv("CAROM_QUIET", "1")
    with using(Notice()):
        warmup.warm_up(["some"], 1)
    assert capfd.readouterr().err == ""


def test_a_manifest_survives_its_file(small, tmp_path):
    small.save(tmp_path / "manifest.json")
    assert manifest.load(tmp_path / "manifest.json") == small


def test_a_warm_up_goes_on_alone_where_no_process_can_be_started(small, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(warmup.subprocess, "Popen", refused)
    assert warmup.warm_up(["some/kernels"], 2).kernels == 2
    assert small.entries[1].dispatcher()(2.0) == 5.0


@pytest.mark.long
@pytest.mark.parametrize("name", SCENES)
def test_a_recorded_run_of_a_scene_uses_listed_kernels_only(name):
    """A scene as `carom run` runs it, with its events: after a warm-up of its families nothing is compiled.

    If this fails, run `carom warmup --record`.
    """
    scene, known = make_scene(name, **SCENES[name].small), manifest.load()
    families = families_of_run(scene, laws.make(scene.law), scene.stepper, scene.friction_model)
    there = {known.entries[i].key for i in known.select(families)}
    with recording() as used:
        _from_library(name, SCENES[name].small, 400)
    assert sorted(set(used.entries) - there) == []


def test_runs_with_events_joints_and_derivatives_use_listed_kernels_only():
    """A disc that comes to rest, a pendulum, an event-driven gas, and a derivative; the long test has every scene."""
    known = manifest.load()
    for name, parameters in (("rolling_disc", {}), ("double_pendulum", {}), ("gas", {"side": 5})):
        scene = make_scene(name, **parameters)
        families = families_of_run(scene, laws.make(scene.law), scene.stepper, scene.friction_model)
        there = {known.entries[i].key for i in known.select(families)}
        with recording() as used:
            _from_library(name, parameters, 30)
        assert sorted(set(used.entries) - there) == [], name
    with recording() as used:
        problem = carom.ImpactProblem.chain([1.0, 2.0, 1.0], [1.0, 0.0, 0.0])
        carom.solve_impact(problem, "gr").derivative(["velocity", "restitution"])
        carom.sensitivity(make_scene("three_ball_chain"), duration=0.2).derivative("scene.gravity")
    there = {known.entries[i].key for i in known.select(["derivatives", "laws", "2d"])}
    assert sorted(set(used.entries) - there) == []

"""Kernels that come with the package: the same bytes from every build, read where they fit, and never touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from carom.kernels import files, processor, shipped
from carom.kernels.notice import short

from .test_kernels_cache import LONG

SOURCE = f"""
import numpy as np
from carom.kernels import kernel

@kernel
def long(y):
    for i in range(len(y)):
        x = y[i]
{LONG}
        y[i] = x
    return y.sum()

@kernel
def expression(y):
    return (2.0 * y + y * y).sum()  # Numba names a function for it by its address

@kernel
def top(y):
    return long(y) + expression(y)
"""

# A process with a manifest of its own. It builds into a folder, or calls the kernel and says what was compiled.
PROCESS = """
import json, sys
from pathlib import Path
import numpy as np
from carom.kernels import compile_seconds, files, shipped, warmup
from carom.kernels.manifest import Entry, Manifest
import shipping
task, folder, factor = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
if task == "build":
    array = ["array", "float64", 1, "C"]
    entries = [Entry(f"shipping:{name}", [array], 1.0, needs, name != "top")
               for name, needs in (("long", []), ("expression", []), ("top", [0, 1]))]
    warmup.load = lambda: Manifest(entries, {"all": [0, 1, 2]})
    shipped.build(folder, ["all"])
else:
    files.SHIPPED = folder
    shipping.top(np.full(3, factor))
    print(json.dumps([sum(shipping.top.stats.cache_misses.values()), compile_seconds() > 0.0, shipped.unsuitable()]))
"""
ANNOUNCED = "carom: compiling kernels (once; kept in {}{})\n"
BASELINE = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "", "PYTHONHASHSEED": "0"}
pytestmark = pytest.mark.skipif(
    processor.target()[0].partition("-")[0] != "x86_64" or bool(processor.missing_features("x86-64-v3")),
    reason="the kernels of these tests are built for x86-64-v3",
)


def start(home, task, folder, source=SOURCE, **variables):
    """A process whose user's cache lies in `home`."""
    modules = home.parent / "source"
    modules.mkdir(exist_ok=True)
    (modules / "shipping.py").write_text(source)
    paths = os.pathsep.join([str(modules), *filter(None, sys.path)])
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "CAROM_"))}
    environment = {**inherited, "CAROM_CACHE_DIR": str(home), "PYTHONPATH": paths, **variables}
    command = [sys.executable, "-B", "-c", PROCESS, task, str(folder), "2.0"]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True)


def run(*args, **variables):
    return start(*args, **variables).stdout


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The folder of a build."""
    folder = tmp_path_factory.mktemp("wheel")
    run(tmp_path_factory.mktemp("build") / "home", "build", folder, **BASELINE)
    return folder


def test_two_builds_give_the_same_bytes(wheel, tmp_path):
    (tmp_path / "again").mkdir()
    run(tmp_path / "home", "build", tmp_path / "again", **BASELINE)
    assert contents(tmp_path / "again") == contents(wheel)
    assert json.loads((wheel / shipped.FACTS).read_text())["kernels"] == len(contents(wheel)) - 1 == 3


def test_shipped_kernels_serve_the_host_and_are_only_read(wheel, tmp_path):
    before = {path: path.stat() for path in (wheel, *wheel.iterdir())}
    assert json.loads(run(tmp_path / "home", "call", wheel)) == [0, False, ""]
    assert contents(tmp_path / "home" / "kernels") == {}
    assert {path: path.stat().st_mtime_ns for path in before} == {p: s.st_mtime_ns for p, s in before.items()}


@pytest.mark.long  # test_cache.py damages files of the user's cache
def test_a_damaged_file_is_compiled_and_left_as_it_is(wheel, tmp_path):
    damaged = tmp_path / "wheel"
    damaged.mkdir()
    for name, content in contents(wheel).items():
        (damaged / name).write_bytes(content[:-9] if "top" in name else content)
    before = contents(damaged)
    assert json.loads(run(tmp_path / "home", "call", damaged)) == [1, True, ""]
    assert contents(damaged) == before
    # The kernel that was compiled is linked to the large one of the package, and is asked first from now on.
    (own,) = contents(tmp_path / "home" / "kernels")
    assert own.startswith("shipping.top-") and own in before
    assert next(iter(files.read(tmp_path / "home" / "kernels" / own)[0]["links"])) in before
    assert json.loads(run(tmp_path / "home", "call", damaged)) == [0, False, ""]


@pytest.mark.long  # the reason is tested below
def test_below_the_baseline_kernels_are_compiled(wheel, tmp_path):
    below = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+sse3"}
    compiled_and_announced(wheel, tmp_path, "those of the package need a processor with cx16, sahf, popcnt", **below)


def test_with_another_numba_kernels_are_compiled(wheel, tmp_path):
    other = tmp_path / "wheel"
    other.mkdir()
    for name, content in contents(wheel).items():
        (other / name).write_bytes(content)
    facts = json.loads((wheel / shipped.FACTS).read_text())
    (other / shipped.FACTS).write_text(json.dumps({**facts, "Numba": "0.1"}))
    compiled_and_announced(other, tmp_path, "those of the package are for Numba 0.1, and this is ")


@pytest.mark.long  # the reason is tested below
def test_kernels_of_the_host_are_compiled_where_they_are_asked_for(wheel, tmp_path):
    reason = "those of the package are for x86-64-v3, and CAROM_NATIVE asks for this processor"
    compiled_and_announced(wheel, tmp_path, reason, CAROM_NATIVE="1")


def compiled_and_announced(wheel, tmp_path, reason, **variables):
    """One line announces the three kernels; a second process compiles nothing, and the wheel stays as it was."""
    before = contents(wheel)
    first = start(tmp_path / "home", "call", wheel, **variables)
    misses, compiled, said = json.loads(first.stdout)
    assert (misses, compiled) == (1, True) and said.startswith(reason)
    folder = tmp_path / "home" / "kernels"
    assert first.stderr == ANNOUNCED.format(short(folder), f"; {said}")
    assert len(contents(folder)) == 3
    second = start(tmp_path / "home", "call", wheel, **variables)
    assert (json.loads(second.stdout), second.stderr) == ([0, False, said], "")
    assert contents(wheel) == before


@pytest.mark.long  # test_cache.py edits kernels of the user's cache
def test_an_edited_kernel_and_its_callers_are_compiled(wheel, tmp_path):
    before = contents(wheel)
    edited = SOURCE.replace("2.0 * y + y * y", "3.0 * y + y * y")
    first = start(tmp_path / "home", "call", wheel, edited)
    assert json.loads(first.stdout) == [1, True, ""]
    assert first.stderr == ANNOUNCED.format(short(tmp_path / "home" / "kernels"), "")
    names = sorted(name.partition("-")[0] for name in contents(tmp_path / "home" / "kernels"))
    assert names == ["shipping.expression", "shipping.top"]  # the third is that of the package
    assert contents(wheel) == before


@pytest.mark.parametrize("what", ["Python", "Numba", "llvmlite", "system"])
def test_kernels_of_another_build_are_not_used(monkeypatch, what):
    here = {**shipped._versions(), "baseline": "x86-64-v3", "kernels": 1}
    for facts, suits in ((here, True), ({**here, what: "another"}, False)):
        monkeypatch.setattr(shipped, "built", lambda facts=facts: facts)
        assert (shipped.unsuitable.__wrapped__() == "") == suits
    assert shipped.unsuitable.__wrapped__() == (
        f"those of the package are for {what} another, and this is {here[what]}"
    )


@pytest.mark.parametrize("what", ["processor", "wish"])
def test_kernels_for_another_processor_are_not_used(monkeypatch, what):
    here = {**shipped._versions(), "baseline": "x86-64-v3", "kernels": 1}
    monkeypatch.setattr(shipped, "built", lambda: here)
    monkeypatch.setattr(processor, "baseline", processor.baseline.__wrapped__)
    if what == "processor":
        monkeypatch.setattr(processor, "target", lambda: (here["system"], "generic", "+sse3"))
        reason = "those of the package need a processor with cx16, sahf, popcnt"
    else:
        monkeypatch.setenv(processor.NATIVE_VARIABLE, "1")
        reason = "those of the package are for x86-64-v3, and CAROM_NATIVE asks for this processor"
    assert shipped.unsuitable.__wrapped__().startswith(reason)


def test_without_a_build_there_is_nothing_to_explain(monkeypatch):
    monkeypatch.setattr(files, "SHIPPED", Path("none"))
    assert shipped.built.__wrapped__() == {}
    monkeypatch.setattr(shipped, "built", dict)
    assert shipped.unsuitable.__wrapped__() == "" and not shipped.serve()

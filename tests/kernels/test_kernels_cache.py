"""A kernel is compiled again if and only if something that its machine code depends on has changed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from types import ModuleType

import numpy as np
import pytest

from carom import kernels
from carom.kernels import files
from carom.kernels.digest import options_text

LEAF = '''
"""Kernels that others call."""
from collections import namedtuple
from enum import IntEnum
from carom.kernels import kernel

FACTOR = 2.0
Pair = namedtuple("Pair", "first second")

class Kind(IntEnum):
    PLANE = 3

@kernel
def scaled(x, by=1.5):
    """The docstring."""
    return FACTOR * x * by

@kernel
def unrelated(x):
    return x
'''

CALLER = """
from carom.kernels import kernel
import leaf
from leaf import Kind, Pair, scaled

@kernel
def direct(x):
    return scaled(x) + 1.0

@kernel
def through_module(x):
    return leaf.scaled(x) + 1.0

@kernel
def of_enumeration(x):
    return x + Kind.PLANE

@kernel
def of_pair(pair):
    return pair.first - pair.second

@kernel
def recursive(n):
    if n <= 1:
        return 1.0
    return n * recursive(n - 1)

def factory(power):
    @kernel
    def inner(x):
        return x**power
    return inner

squared = factory(2.0)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path)
    monkeypatch.setenv("CAROM_QUIET", "1")
    return tmp_path


def imported(monkeypatch, leaf=LEAF, caller=CALLER):
    """The module `caller`, made of source text as if it had just been imported."""
    found = {}
    for name, source in (("leaf", leaf), ("caller", caller)):
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(source, f"{name}.py", "exec"), module.__dict__)
        found[name] = module
    return found["caller"]


def result(kernel, *arguments):
    """The value of a kernel, and whether it was compiled for it."""
    value = kernel(*arguments)
    return value, sum(kernel.stats.cache_misses.values()) > 0


def test_the_second_import_loads_what_the_first_compiled(folder, monkeypatch):
    assert result(imported(monkeypatch).direct, 2.0) == (7.0, True)
    assert result(imported(monkeypatch).direct, 2.0) == (7.0, False)


@pytest.mark.covering
@pytest.mark.parametrize("kernel", ["direct", "through_module"])
@pytest.mark.parametrize(
    ("before", "after", "value"),
    [
        ("FACTOR * x * by", "FACTOR * x - by", 3.5),
        ("FACTOR = 2.0", "FACTOR = 4.0", 13.0),
        ("by=1.5", "by=2.5", 11.0),
    ],
    ids=["body", "constant", "default argument"],
)
def test_an_edit_of_a_called_kernel_compiles_its_caller_again(folder, monkeypatch, kernel, before, after, value):
    assert result(getattr(imported(monkeypatch), kernel), 2.0) == (7.0, True)
    edited = imported(monkeypatch, leaf=LEAF.replace(before, after))
    assert result(getattr(edited, kernel), 2.0) == (value, True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""The docstring."""', '"""Another docstring."""'),
        ("@kernel\ndef scaled", "# a comment\n\n@kernel\ndef scaled"),
        ("return x\n", "return x + 1\n"),
    ],
    ids=["docstring", "comment", "unrelated kernel"],
)
def test_other_edits_compile_nothing(folder, monkeypatch, before, after):
    assert before in LEAF
    assert result(imported(monkeypatch).direct, 2.0) == (7.0, True)
    assert result(imported(monkeypatch, leaf=LEAF.replace(before, after)).direct, 2.0) == (7.0, False)


def test_the_order_of_a_set_of_options_does_not_count():
    # Strings have another order in each process; these numbers have two orders in one.
    first, second = {"fastmath": {0, 8}}, {"fastmath": {8, 0}}
    assert repr(first) != repr(second)
    assert options_text(first) == options_text(second) != options_text({"fastmath": {0}})


def test_the_fields_of_a_named_tuple_count_though_its_types_stay(folder, monkeypatch):
    first = imported(monkeypatch)
    assert result(first.of_pair, first.Pair(5.0, 3.0)) == (2.0, True)
    swapped = imported(monkeypatch, leaf=LEAF.replace("first second", "second first"))
    assert result(swapped.of_pair, swapped.Pair(5.0, 3.0)) == (-2.0, True)


def test_the_values_of_an_enumeration_count(folder, monkeypatch):
    assert result(imported(monkeypatch).of_enumeration, 1) == (4, True)
    assert result(imported(monkeypatch, leaf=LEAF.replace("PLANE = 3", "PLANE = 5")).of_enumeration, 1) == (6, True)


def test_a_closure_counts(folder, monkeypatch):
    assert result(imported(monkeypatch).squared, 3.0) == (9.0, True)
    assert result(imported(monkeypatch).squared, 3.0) == (9.0, False)
    cubed = imported(monkeypatch, caller=CALLER.replace("factory(2.0)", "factory(3.0)"))
    assert result(cubed.squared, 3.0) == (27.0, True)


def test_python_can_call_a_kernel_that_was_compiled_for_kernels_alone(folder, monkeypatch):
    def names():
        return sorted(path.name for path in folder.glob("*.kernel"))

    caller = imported(monkeypatch)
    assert result(caller.direct, 2.0) == (7.0, True)
    assert [name.endswith(files.NESTED) for name in names()] == [False, True]  # caller.direct, leaf.scaled
    assert result(caller.scaled, 2.0) == (6.0, True)
    assert caller.direct(2.0) == 7.0
    again = imported(monkeypatch)
    assert result(again.scaled, 2.0) == (6.0, False)
    assert result(again.through_module, 2.0) == (7.0, True)
    assert len(names()) == 4  # no third version of `scaled`


def test_a_kernel_calls_the_version_for_python_where_there_is_one(folder, monkeypatch):
    caller = imported(monkeypatch)
    assert result(caller.scaled, 2.0) == (6.0, True)
    assert result(caller.direct, 2.0) == (7.0, True)
    assert not list(folder.glob(f"*{files.NESTED}"))
    assert result(imported(monkeypatch).direct, 2.0) == (7.0, False)


LONG = "\n".join(f"        x = (x + {k}.0) * x" for k in range(60))  # instructions: more than are copied
LINKED = f"""
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
def between(y):
    return long(y) + 1.0

@kernel
def top(y):
    return between(y) * 2.0
"""


@pytest.mark.long  # a fast test of test_shipped.py calls a kernel that is linked to a large one
def test_callers_of_a_large_kernel_are_linked_to_it(tmp_path):
    (tmp_path / "linked.py").write_text(LINKED)
    cache = tmp_path / "kernels"
    paths = [str(tmp_path), *filter(None, sys.path)]
    environment = {**os.environ, "CAROM_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(paths)}
    code = "import linked, numpy; print(linked.top(numpy.ones(3)), sum(linked.top.stats.cache_misses.values()))"

    def run():
        value, compiled = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True).split()
        return float(value), int(compiled)

    value, compiled = run()
    assert compiled == 1
    (large,), (caller,) = cache.glob("linked.long-*"), cache.glob("linked.top-*")
    assert [*files.read(caller)[0]["links"]] == [large.name]  # the kernel between them is small, and copied
    kept = large.read_bytes()
    large.unlink()  # the caller cannot be loaded without it, and is compiled again together with it
    assert run() == (value, 1)
    large.write_bytes(kept)  # another process has compiled it: the symbol has changed
    assert run() == (value, 1)
    assert run() == (value, 0)


def test_a_recursive_kernel_is_kept(folder, monkeypatch):
    assert result(imported(monkeypatch).recursive, 5) == (120.0, True)
    assert result(imported(monkeypatch).recursive, 5) == (120.0, False)


def test_a_read_only_array_is_another_signature(folder, monkeypatch):
    first = imported(monkeypatch).direct
    array = np.ones(2)
    first(array)
    array.setflags(write=False)
    first(array)
    assert len(list(folder.glob("*.kernel"))) == 4  # the kernel and its callee, twice


@pytest.mark.parametrize("damage", [b"", b"short", b"\x00" * 5000])
def test_a_damaged_file_is_compiled_again(folder, monkeypatch, damage):
    imported(monkeypatch).direct(2.0)
    (path,) = folder.glob("caller.direct-*.kernel")
    whole = path.read_bytes()
    path.write_bytes(damage or whole[:-10] + b"0123456789")
    assert result(imported(monkeypatch).direct, 2.0) == (7.0, True)
    assert result(imported(monkeypatch).direct, 2.0) == (7.0, False)


def test_a_kernel_that_fails_to_compile_frees_its_lock(folder, monkeypatch):
    direct = imported(monkeypatch).direct
    for _ in range(2):  # with the lock held the second call would wait for ever
        with pytest.raises(Exception, match=r"No implementation|Cannot determine|unsupported|Failed"):
            direct("text")
    assert not list(folder.glob("*.lock"))


def test_without_a_folder_kernels_are_compiled_and_not_kept(monkeypatch, capfd):
    monkeypatch.setattr(kernels, "cache_folder", lambda: None)
    assert result(imported(monkeypatch).direct, 2.0)[0] == 7.0
    assert "Traceback" not in capfd.readouterr().err


def test_files_that_nobody_used_for_long_are_removed(folder, monkeypatch):
    caller = imported(monkeypatch)
    caller.direct(2.0)
    caller.squared(2.0)
    for path in folder.iterdir():
        os.utime(path, (0.0, 0.0))
    imported(monkeypatch).squared(2.0)
    files.prune(folder)
    assert [path.name.partition("-")[0] for path in folder.iterdir()] == ["caller.factory.inner"]


@pytest.fixture
def fresh_search():
    files.cache_folder.cache_clear()
    yield
    files.cache_folder.cache_clear()


def test_folders_that_cannot_be_written_are_passed_over(tmp_path, monkeypatch, fresh_search):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("CAROM_CACHE_DIR", str(blocked))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert files.cache_folder() in tmp_path.iterdir()
    files.cache_folder.cache_clear()
    monkeypatch.setattr(tempfile, "tempdir", str(blocked))
    assert files.cache_folder() is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of POSIX")
def test_a_folder_that_others_can_write_to_is_not_trusted(tmp_path, monkeypatch, fresh_search):
    shared, own = tmp_path / "kernels", tmp_path / "own"
    shared.mkdir()
    shared.chmod(0o777)
    own.mkdir()
    monkeypatch.setenv("CAROM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    assert files.cache_folder().parent == own


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks on Windows: both processes compile")
def test_two_processes_compile_once(tmp_path):
    (tmp_path / "leaf.py").write_text(LEAF)
    (tmp_path / "caller.py").write_text(CALLER)
    code = "import caller; caller.direct(2.0); print(sum(caller.direct.stats.cache_misses.values()))"
    paths = [str(tmp_path), *filter(None, sys.path)]
    environment = {**os.environ, "CAROM_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(paths)}
    both = [subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE) for _ in range(2)]
    compiled = [int(process.communicate()[0]) for process in both]
    assert sum(compiled) == 1
    assert len(list((tmp_path / "kernels").glob("*.kernel"))) == 2
    assert not list((tmp_path / "kernels").glob("*.lock"))

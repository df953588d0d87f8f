"""Each private interface of Numba exists in this version; without it kernels are plain ones of Numba, and right.

The workflow runs these tests with the oldest and the newest Numba that `pyproject.toml` allows.
"""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from llvmlite import binding
from numba.core import caching, compiler, config, inline_closurecall, ir, postproc
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import CPUCodegen, CPUCodeLibrary
from numba.core.runtime import _nrt_python as counters
from numba.core.runtime import rtsys
from numba.core.types.functions import BaseFunction
from numba.np import arrayobj

from carom import kernels
from carom.kernels import KernelCache, hooks, kernel


class Without:
    """A dispatcher that lacks one attribute."""

    def __init__(self, dispatcher, name):
        self.dispatcher, self.name = dispatcher, name

    def __getattr__(self, name):
        if name == self.name:
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


def squared(x):
    return x * x


def test_this_version_has_all_of_them():
    assert hooks.missing(numba.njit(squared)) == []


@pytest.mark.parametrize(
    "name", ["_cache", "get_call_template", "compile", "add_overload", "overloads", "_reset_overloads"]
)
def test_a_dispatcher_without_one(name):
    assert hooks.missing(Without(numba.njit(squared), name)) == [f"dispatcher.{name}"]


@pytest.mark.parametrize(
    ("owner", "name", "said"),
    [
        (caching, "_Cache", "caching._Cache"),
        (FunctionIdentity, "_unique_ids", "FunctionIdentity._unique_ids"),
        (compiler.CompileResult, "_reduce", "CompileResult._reduce"),
        (compiler.CompileResult, "_rebuild", "CompileResult._rebuild"),
        (CPUCodegen, "_create_empty_module", "codegen._create_empty_module"),
        (CPUCodeLibrary, "add_ir_module", "CPUCodeLibrary.add_ir_module"),
    ],
)
def test_kernels_are_plain_where_numba_lacks_one(monkeypatch, tmp_path, owner, name, said):
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, None)
        patch.setattr(hooks, "_fits", {})
        patch.setattr(kernels, "cache_folder", lambda: tmp_path)
        assert hooks.missing(numba.njit(squared)) == [said]
        plain = kernel(squared)
    assert not isinstance(plain._cache, KernelCache) and isinstance(kernel(squared)._cache, KernelCache)
    assert plain(3.0) == 9.0
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_that_cannot_be_written_is_right(monkeypatch, tmp_path):
    """A library whose module has another name: the kernel runs, and nothing is kept."""
    monkeypatch.setattr(kernels, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr("carom.kernels.linking.links", lambda compiled: compiled.library._no_such_module)
    assert kernel(squared)(3.0) == 9.0
    assert not list(tmp_path.glob("*.kernel"))


def test_blocks_of_one_function_share_their_copied_scope():
    """A second copy of the function has a scope of its own, since inlining adds names to it."""
    loc = ir.Loc("nowhere", 1)
    scope = ir.Scope(None, loc)
    blocks = [ir.Block(scope, loc), ir.Block(scope, loc)]
    for block in blocks:
        block.append(ir.Assign(ir.Const(1, loc), scope.get_or_define("x", loc), loc))
    copies = hooks._Copies()
    first, second = [[copies(block) for block in blocks] for _ in range(2)]
    assert first[0].scope is first[1].scope is not scope and second[0].scope is second[1].scope
    assert second[0].scope is not first[0].scope
    assert first[0].body[0].target.scope is first[0].scope and first[0] == blocks[0]


def test_kernels_do_not_import_scipys_linear_algebra_unless_they_use_it():
    """Numba asks for it before its first kernel; products of matrices still find it."""
    program = """
import sys
import numpy as np
from carom.kernels import kernel

@kernel
def halved(x):
    return 0.5 * x.sum()

@kernel
def product(a, b):
    return np.dot(a, b)

a = np.arange(4.0).reshape(2, 2)
assert halved(a) == 3.0 and "scipy.linalg" not in sys.modules
assert (product(a, a) == a @ a).all()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


def test_a_call_is_typed_by_the_template_that_has_served_its_types():
    """The second time as the first; with a constant, which a tuple needs as an index; an impossible call is refused."""
    picked = numba.njit(lambda pair, x: pair[1] + x)
    for x in (1, 2.5):
        assert picked((1.0, 2), x) == 2 + x
        assert numba.njit(lambda pair, x: pair[1] + x)((1.0, 2), x) == 2 + x
    with pytest.raises(numba.TypingError, match="No implementation of function"):
        numba.njit(lambda x: x + "text")(1.0)


def with_shares(a):
    total = 0.0
    for i in range(len(a)):
        if a[i] > 1.0:
            share = a[i] - 1.0
            total += share * share
    return total


def test_lifetimes_of_variables_are_those_that_numba_finds(monkeypatch):
    """A function whose variables are deleted in branches and loops, with the hook and by Numba's own pass."""
    found = []
    for run in (postproc.PostProcessor.run, plain_run()):
        with monkeypatch.context() as patch:
            patch.setattr(postproc.PostProcessor, "run", run)
            function = compiler.run_frontend(with_shares)
            postproc.PostProcessor(function).run()
            found.append([sorted(names) for names in function.variable_lifetime.livemap.values()])
            assert numba.njit(with_shares)(np.array([3.0, 0.5, 2.0])) == 5.0
    assert found[0] == found[1]


def plain_run():
    """Numba's own pass, which the hook keeps for functions that it does not serve."""
    return postproc.PostProcessor.run.__closure__[0].cell_contents


def test_parts_that_save_time_are_left_alone_where_they_do_not_fit(monkeypatch):
    """Other names inside of Numba: nothing is replaced."""

    def other(self, *args, **options):
        return None

    with monkeypatch.context() as patch:
        patch.setattr(inline_closurecall, "copy", SimpleNamespace(deepcopy=None))
        patch.setattr(postproc.PostProcessor, "run", other)
        patch.setattr(BaseFunction, "__init__", other)
        patch.setattr(BaseFunction, "get_call_type", other)
        hooks.hasten()
        assert inline_closurecall.copy.deepcopy is None
        assert postproc.PostProcessor.run is other and BaseFunction.get_call_type is other


@pytest.mark.skipif(not hooks.has_passes(), reason="this version of Numba has LLVM's older managers of passes")
def test_kernels_alone_get_the_passes_of_this_module(monkeypatch):
    """And machine code is told apart by them; without LLVM's newer managers Numba's own sequence stays."""
    levels = []
    builder = CPUCodegen._pass_builder

    def noted(generator, **options):
        levels.append(options.get("opt", config.OPT))
        return builder(generator, **options)

    monkeypatch.setattr(CPUCodegen, "_pass_builder", noted)
    monkeypatch.setattr(kernels, "cache_folder", lambda: None)
    assert numba.njit(squared)(3.0) == 9.0
    assert hooks.LEVEL not in levels
    levels.clear()
    assert kernel(squared)(3.0) == 9.0
    assert hooks.LEVEL in levels
    assert hooks.pipeline()
    monkeypatch.delattr(binding, "create_new_function_pass_manager")
    monkeypatch.setattr(CPUCodegen, "_module_pass_manager", squared)
    hooks.hasten()
    assert CPUCodegen._module_pass_manager is squared and not hooks.pipeline()


def test_reference_counts_within_tuples_are_kept(monkeypatch):
    """Arrays in tuples in tuples, made in a kernel, handed on and returned: none is freed early, and none is kept."""
    monkeypatch.setattr(kernels, "cache_folder", lambda: None)

    @kernel
    def latest(n):
        kept = ((np.zeros(2), 1.0), np.ones((1, 2)))
        for i in range(n):
            kept = ((kept[0][0] + i, kept[0][1] + 1.0), np.full((1, 2), kept[0][0][0]))
        return kept

    latest(0)  # compiled
    counters.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    (summed, count), last = latest(4)
    assert (summed == 6.0).all() and count == 5.0 and (last == 3.0).all()
    del summed, last
    after = rtsys.get_allocation_stats()
    counters.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0


def test_an_assignment_between_shapes_has_a_short_message_in_kernels_alone():
    def assigned(a, b):
        a[:] = b

    own = "cannot assign slice"
    short = "a slice of another shape" if hasattr(arrayobj, "raise_with_shape_context") else own
    for compiled, message in ((kernel(assigned), short), (numba.njit(assigned), own)):
        with pytest.raises(ValueError, match=message):
            compiled(np.zeros(3), np.zeros(2))

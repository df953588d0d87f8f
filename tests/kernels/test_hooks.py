"""Each private interface of Numba exists in this version; without it kernels are plain ones of Numba, and right."""

from __future__ import annotations

import subprocess
import sys

import numba
import pytest
from numba.core import caching, compiler, ir
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import CPUCodegen, CPUCodeLibrary

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


@pytest.mark.parametrize("name", ["_cache", "get_call_template", "compile", "add_overload", "_reset_overloads"])
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


def test_flags_are_equal_as_numba_compares_them():
    """The hash is that of equal flags, and a default that is set equals one that is not."""
    plain, set_to_default, other = compiler.Flags(), compiler.Flags(), compiler.Flags()
    set_to_default.nrt = plain.nrt
    other.nrt = not plain.nrt
    for one in (plain, set_to_default, other):
        assert hash(one) == hash(tuple(sorted(one.values())))
        for two in (plain, set_to_default, other):
            assert (one == two) is (one.values() == two.values())
    assert plain == set_to_default != other and plain != "flags"


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


def test_variables_of_an_instruction_are_those_that_numba_lists():
    here, names = ir.Loc("", 1), [ir.Var(None, name, ir.Loc("", 1)) for name in "abcd"]
    call = ir.Expr.call(names[0], names[1:3], [("key", names[3])], here)
    assert [var.name for var in call.list_vars()] == ["a", "b", "c", "d"]
    assert [var.name for var in ir.Assign(call, names[0], here).list_vars()] == ["a", "b", "c", "d", "a"]


def test_a_call_is_typed_by_the_template_that_has_served_its_types():
    """The second time as the first; with a constant, which a tuple needs as an index; an impossible call is refused."""
    picked = numba.njit(lambda pair, x: pair[1] + x)
    for x in (1, 2.5):
        assert picked((1.0, 2), x) == 2 + x
        assert numba.njit(lambda pair, x: pair[1] + x)((1.0, 2), x) == 2 + x
    with pytest.raises(numba.TypingError, match="No implementation of function"):
        numba.njit(lambda x: x + "text")(1.0)

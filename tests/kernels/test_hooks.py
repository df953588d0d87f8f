"""Each private interface of Numba exists in this version; without it kernels are plain ones of Numba, and right."""

from __future__ import annotations

import subprocess
import sys

import numba
import pytest
from numba.core import caching, compiler
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

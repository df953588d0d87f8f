"""Kernels run uncompiled too, with the same answers: a contributor can step through them in a debugger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.kernels.uncompiled import cases

# The contact solver and the integration of `lzb` let LLVM reorder sums, and iterate to 1e-12 of a speed; `smm`
# decomposes a matrix. In runs with friction answers differ by at most 4e-16, under lzb by 1e-14. All others have the
# same bits.
ROUNDED = ("box_stack", "sliding", "rolling", "card_house", "friction", "law smm", "law lzb")
TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def uncompiled():
    """The answers of a process in which kernels are plain Python."""
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "tests.kernels.uncompiled"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", cases())
def test_compiled_and_uncompiled_kernels_agree(name, uncompiled):
    mine = cases()[name]()
    theirs = np.array(uncompiled[name])
    assert mine.shape == theirs.shape
    bound = TOLERANCE * max(np.abs(mine).max(), 1.0) if name.startswith(ROUNDED) else 0.0
    assert np.abs(mine - theirs).max() <= bound

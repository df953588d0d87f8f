"""The notice appears when a kernel is compiled, and only then."""

from __future__ import annotations

import io

import numpy as np
import pytest
from numba import njit
from rich.console import Console

from carom.cli import compiling
from carom.cli.compiling import compile_notice
from carom.kernels.notice import notice


def fresh_kernel():
    @njit
    def twice(x):
        return 2 * x

    return twice


@pytest.mark.parametrize("terminal", [False, True])
def test_it_says_so_once(terminal):
    text = io.StringIO()
    with compile_notice(Console(file=text, force_terminal=terminal, width=300, highlight=False)) as report:
        fresh_kernel()(np.ones(3))
        fresh_kernel()(np.ones(3))
    assert report.kernels == 2
    assert report.seconds > 0
    assert text.getvalue().count("compiling kernels (once; kept in ") == 1
    assert "compiled 2 kernels" in text.getvalue()


def test_it_is_silent_when_nothing_is_compiled():
    kernel = fresh_kernel()
    kernel(np.ones(3))
    text = io.StringIO()
    with compile_notice(Console(file=text)) as report:
        kernel(np.ones(3))
    assert report.kernels == 0
    assert text.getvalue() == ""


def test_an_error_inside_passes_through():
    with pytest.raises(ValueError, match="inside"), compile_notice(Console(file=io.StringIO())):
        raise ValueError("inside")


def test_kernels_that_are_compiled_in_parallel_count():
    text = io.StringIO()
    with compile_notice(Console(file=text, width=300, highlight=False)) as report:
        notice().begin(7)  # as `carom.kernels.prepare` does
        notice().advance(7, 7)
    assert report.kernels == 7
    assert "compiling 7 kernels" in text.getvalue()
    assert "compiled 7 kernels" in text.getvalue()


def test_a_log_shows_that_compiling_goes_on(monkeypatch):
    monkeypatch.setattr(compiling, "EVERY", 0.0)
    text = io.StringIO()
    with compile_notice(Console(file=text, width=300, highlight=False)):
        notice().begin(3)
        for done in (1, 2, 3):
            notice().advance(done, 3)
    assert text.getvalue().splitlines()[1:3] == ["compiling kernels: 1 of 3", "compiling kernels: 2 of 3"]


def test_the_spinner_counts_until_all_announced_kernels_are_compiled():
    console = Console(file=io.StringIO(), force_terminal=True, width=300, highlight=False)
    with compile_notice(console) as report:
        notice().begin(2)
        notice().advance(1, 2)
        fresh_kernel()(np.ones(3))  # compiled by this process as one of them
        assert report.spinner is not None and report.spinner.status == "compiling kernels: 1 of 2"
        notice().advance(2, 2)
        assert report.spinner is None

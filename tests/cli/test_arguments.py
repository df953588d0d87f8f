"""The parsing of KEY=VALUE pairs."""

from __future__ import annotations

import pytest

from carom import ProblemError
from carom.cli.arguments import typed

DEFAULTS = {"order": "index", "seed": 0, "tolerance": 1e-10, "warm": True, "stiffness": None}


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("order=worst", "worst"),
        ("order=1", "1"),
        ("seed=7", 7),
        ("seed=1e3", 1000),
        ("tolerance=1e-6", 1e-6),
        ("tolerance=1", 1.0),
        ("warm=false", False),
        ("warm=True", True),
        ("stiffness=2.5", 2.5),
        ("stiffness=[1, 2, 4]", (1, 2, 4)),
        ("stiffness=None", None),
    ],
)
def test_values_take_the_type_of_the_default(pair, value):
    key = pair.split("=")[0]
    chosen = typed([pair], DEFAULTS, "--option", "option of law 'gr'", lists=True)
    assert chosen == {key: value}
    assert type(chosen[key]) is type(value)


@pytest.mark.parametrize("pair", ["seed=1.5", "seed=true", "tolerance=small", "tolerance=nan", "warm=1", "=3", "seed"])
def test_values_that_do_not_fit(pair):
    with pytest.raises(ProblemError):
        typed([pair], DEFAULTS, "--option", "option of law 'gr'", lists=True)

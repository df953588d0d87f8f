"""`carom warmup`."""

from __future__ import annotations

import json

from carom.kernels.manifest import load


def test_it_lists_families_and_what_is_compiled(carom):
    found = json.loads(carom("warmup", "--list", "--json").out)
    assert list(found) == list(load().families)
    assert all(0 <= family["compiled"] <= family["kernels"] for family in found.values())
    assert "laws/gr" in carom("warmup", "--list").out


def test_it_compiles_a_family_and_then_has_nothing_to_do(carom):
    assert carom("warmup", "laws/none").code == 0
    assert json.loads(carom("warmup", "laws/none", "--json").out)["compiled"] == 0
    assert "all kernels are compiled" in carom("warmup", "laws/none").err


def test_an_unknown_family_is_refused_with_the_known_ones(carom):
    ended = carom("warmup", "4d")
    assert ended.code != 0
    assert "4d" in ended.err and "laws" in ended.err

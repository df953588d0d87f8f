"""`carom laws`."""

from __future__ import annotations

import json

import pytest

from carom import laws


@pytest.mark.parametrize("columns", [80, 100, 120, 200])
def test_every_law_is_listed_and_fits(carom, columns):
    ended = carom("laws", columns=columns)
    assert ended.code == 0
    for name, law in laws.every():
        assert name in ended.out
        assert law.paper.key in ended.out
        for option in law.options():
            assert option in ended.out.replace("\n", ""), (name, option)
    assert max(map(len, ended.out.splitlines())) <= columns
    assert "…" not in ended.out  # nothing was cut


def test_a_tick_for_each_claim_and_only_for_those(carom):
    for line in carom("laws", columns=80).out.splitlines():
        words = line.split()
        if words and words[0] in laws.names() and ("✓" in words or "·" in words):
            law = laws.make(words[0])
            marks = [w for w in words if w in "✓·"]
            assert marks == ["✓" if key in law.claims else "·" for key in laws.DESIDERATA], line


def test_json_is_pure(carom):
    data = json.loads(carom("laws", "--json").out)
    assert list(data) == laws.names()
    for name, law in laws.every():
        assert data[name]["claims"] == sorted(law.claims)
        assert data[name]["paper"] == law.paper.text


def test_a_law_of_the_user_is_listed_too(carom, monkeypatch):
    registry = dict(laws._LAWS)
    monkeypatch.setattr(laws, "_LAWS", registry)
    laws.register("my_own", laws.NoImpulse)
    assert "my_own" in carom("laws").out

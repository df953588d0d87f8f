"""`carom doctor`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import carom as package
from carom import laws
from carom.problem.contacts import Impulses


def test_every_law_passes_its_self_test(carom):
    ended = carom("doctor", "--json")
    data = json.loads(ended.out)
    assert [t["law"] for t in data["self_test"]] == laws.names()
    assert [t for t in data["self_test"] if not t["passed"]] == []
    assert ended.code == 0


def test_it_names_versions_threads_and_cache(carom):
    out = carom("doctor").out
    for word in (package.__version__, np.__version__, "numba", "piqp", "threading layer", "kernel cache"):
        assert word in out


@dataclass(frozen=True)
class Pull(laws.Law):
    """Claims everything and pulls the balls together."""

    name: ClassVar[str] = "pull"
    title: ClassVar[str] = "a broken law"
    paper: ClassVar[laws.Paper] = laws.NoImpulse.paper
    claims: ClassVar[frozenset[str]] = frozenset(laws.DESIDERATA)
    restitution_models: ClassVar[tuple[str, ...]] = ("energetic",)

    def impulses(self, contacts):
        return Impulses(normal=np.full(contacts.count, -1.0))


@dataclass(frozen=True)
class Crash(Pull):
    """Fails as a broken installation would."""

    def impulses(self, contacts):
        raise RuntimeError("no compiler")


def test_a_broken_law_is_found(carom, monkeypatch):
    monkeypatch.setattr(laws, "_LAWS", {"pull": Pull(), "crash": Crash(), "none": laws.NoImpulse()})
    ended = carom("doctor", "--json")
    verdicts = {t["law"]: (t["passed"], t["problem"]) for t in json.loads(ended.out)["self_test"]}
    assert ended.code == 1
    assert verdicts["none"][0]
    # Its answer raises the energy, so that it is replaced by the inelastic one, which loses energy.
    assert not verdicts["pull"][0] and "KIN" in verdicts["pull"][1]
    assert not verdicts["crash"][0] and "no compiler" in verdicts["crash"][1]

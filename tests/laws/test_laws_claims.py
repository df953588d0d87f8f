"""Every non-claim shown failing: what a law does not claim, it was seen to break."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from carom import catalogue, laws
from carom.analysis import desiderata

# Where each failure is at its plainest. A new law's non-claims are looked for over the whole catalogue.
PLAIN = {
    ("none", "BRK"): "cradle_5_1",
    ("none", "FEA"): "cradle_5_1",
    ("lcp", "BRK"): "cradle_5_1",
    ("gauss_seidel", "SYM"): "bernoulli",
    ("jacobi", "KIN"): "bernoulli",
    ("etm", "SYM"): "bernoulli",
    ("gauss_seidel", "SMP"): "box_tilted",
    ("jacobi", "SMP"): "box_tilted",
    ("gr", "SMP"): "box_lifting",
    ("qce", "SMP"): "box_tilted",
    ("lzb", "SMP"): "box_tilted",
    ("etm", "SMP"): "box_lifting",
    ("sqm", "SMP"): "box_lifting",
    ("smm", "SMP"): "box_lifting",
    ("smm", "KIN"): "three_walls",
    ("smm", "ONE"): "three_walls",
    ("sqm", "SYM"): "box_flat_3d",
}
NON_CLAIMS = [(name, d) for name, law in laws.every() for d in desiderata.ORDER if d not in law.claims]


@pytest.mark.parametrize(("name", "desideratum"), NON_CLAIMS, ids=[f"{n}-{d}" for n, d in NON_CLAIMS])
def test_what_is_not_claimed_fails(name, desideratum):
    place = PLAIN.get((name, desideratum))
    entries = (catalogue.entry(place),) if place else catalogue.entries()
    finding = desiderata.Examination(laws.make(name), entries).finding(desideratum)
    assert not finding.passed, f"{name} passes {desideratum} ({finding.worst:.3g}): claim it"


def test_the_table_in_the_docs_is_that_of_the_claims():
    """Ticks of docs/audit.md are the claims, which the other tests hold against measurements."""
    text = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| ([✓✗].*) \|$", text, flags=re.MULTILINE)
    table = {
        name: {d for d, cell in zip(desiderata.ORDER, cells.split(" | "), strict=True) if cell.startswith("✓")}
        for name, cells in rows
    }
    assert table == {name: set(law.claims) for name, law in laws.every()}

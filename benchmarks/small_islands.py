"""GR on problems whose islands have at most 20 contacts, against the same loop with PIQP inside."""

from __future__ import annotations

import importlib.util

import numpy as np

from carom.laws.gr import ELASTIC_STRETCH, reflections

from .piles import cluster_field
from .piqp_loop import reflect_with_piqp
from .report import Row, best_time


def run() -> list[Row]:
    if importlib.util.find_spec("piqp") is None:
        return [Row("GR, islands up to 20 contacts", ">= 50 times faster", "PIQP is not installed", None)]
    rows = []
    for clusters, contacts in ((1, 3), (1, 10), (1, 20), (30, 20), (1000, 20)):
        impact = cluster_field(clusters, contacts).contacts.without_friction()
        tol = 1e-10 * impact.approach()
        arguments = (impact.rows, impact.velocity, np.full(impact.count, ELASTIC_STRETCH), tol, 100000)
        mine, answer = best_time(lambda args=arguments: reflections(*args), 30)
        repeats = 3 if clusters == 1000 else 20
        other = min((reflect_with_piqp(impact, tol) for _ in range(repeats)), key=lambda o: o.total)
        difference = np.abs(other.velocity - answer[1]).max()
        ratio = other.inside / mine
        print(
            f"{clusters} islands of up to {contacts} ({impact.count} contacts): carom {mine * 1e6:.0f} us, "
            f"piqp {other.inside * 1e6:.0f} us inside, {other.total * 1e6:.0f} us in all; "
            f"{answer[2].iterations} and {other.iterations} iterations; velocities differ by {difference:.0e}"
        )
        name = f"GR, {clusters} island{'s' if clusters > 1 else ''} of up to {contacts} contacts"
        measured = f"{other.total / mine:.0f} times ({ratio:.0f} counting PIQP's own time only)"
        rows.append(Row(name, ">= 50 times faster than PIQP inside", measured, other.total / mine >= 50.0))
    return rows

"""GR on three hard steps of a 48,400-disc drop, against the same loop with PIQP inside."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from carom.laws.gr import ELASTIC_STRETCH, reflections
from carom.laws.qce import passes
from carom.problem.contacts import Contacts
from carom.solvers.rows import rows_from_csr

from .piqp_loop import reflect_with_piqp, slowest
from .report import Row, best_time

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "cone"
TOLERANCE = 1e-9


def load(path: Path) -> Contacts:
    """Unit discs in a drum: normals from first body to second, outward for the wall."""
    data = np.load(path)
    a, b, normal = data["body_a"].astype(np.int64), data["body_b"].astype(np.int64), data["normal"]
    pair = b >= 0
    ptr = np.concatenate([[0], np.cumsum(1 + pair)]).astype(np.int64)
    body, val = np.empty(ptr[-1], np.int64), np.empty((ptr[-1], 2))
    body[ptr[:-1]], val[ptr[:-1]] = a, -normal
    body[ptr[:-1][pair] + 1], val[ptr[:-1][pair] + 1] = b[pair], normal[pair]
    rows = rows_from_csr(ptr, body, val, len(data["velocity"]))
    return Contacts(rows, np.array(data["velocity"]), np.ones(len(a)))


def run() -> list[Row]:
    files = sorted(DATA.glob("*.npz"))
    if not files:
        return [Row("GR against PIQP, hard drop steps", ">= 3 times faster", "no data files", None)]
    if importlib.util.find_spec("piqp") is None:
        return [Row("GR against PIQP, hard drop steps", ">= 3 times faster", "PIQP is not installed", None)]
    rows = []
    for path in files:
        contacts = load(path)
        arguments = (contacts.rows, contacts.velocity, TOLERANCE, 100000)
        elastic = (*arguments[:2], np.full(contacts.count, ELASTIC_STRETCH), *arguments[2:])
        mine, (_, x, end) = best_time(lambda args=elastic: reflections(*args), 7)
        count, left, residual = end.iterations, end.violators, end.worst
        other = min((reflect_with_piqp(contacts, TOLERANCE) for _ in range(3)), key=lambda o: o.total)
        weighted = (*arguments[:2], contacts.shares, *arguments[2:])
        qce, answer = best_time(lambda args=weighted: passes(*args), 5)
        energy = abs(np.sum(x**2) / np.sum(contacts.velocity**2) - 1)
        print(
            f"{path.stem}: {contacts.count} contacts\n"
            f"  carom gr  {mine * 1e3:7.1f} ms, {count} iterations, residual {residual:.1e}, "
            f"energy error {energy:.1e}, slowest {slowest(contacts, x):.1e}, left {left}\n"
            f"  piqp gr   {other.total * 1e3:7.1f} ms ({other.inside * 1e3:.1f} ms inside PIQP), "
            f"{other.iterations} iterations, residual {other.residual:.1e}\n"
            f"  carom qce {qce * 1e3:7.1f} ms, {answer[2]} passes"
        )
        ratio, inner = other.total / mine, other.inside / mine
        measured = f"{ratio:.1f} times ({inner:.1f} counting PIQP's own time only), residual {residual:.0e}"
        rows.append(Row(f"GR on {path.stem}", ">= 3 times faster than PIQP inside", measured, ratio >= 3.0))
    return rows

"""Impacts per CPU second of event-driven steps, by the number of balls: an elastic gas at volume fraction 0.3."""

from __future__ import annotations

from time import process_time

import carom
from carom.reproduce.gases import gas, impact_rate

from .report import Row

FRACTION = 0.3
IMPACTS_PER_BALL = 4.0  # in one step
COUNTS = (1_000, 10_000, 100_000, 1_000_000)
ASKED_RATE, ASKED_RATIO = 150_000, 2.0


def impacts_per_second(count: int, dimension: int, steps: int) -> tuple[float, float]:
    """Impacts per CPU second, and the relative change of the energy."""
    step = IMPACTS_PER_BALL / impact_rate(FRACTION, dimension)
    sim = carom.Simulation(gas(count, FRACTION, dimension=dimension, step=step))
    sim.step()  # compiles, and leaves the lattice
    energy, impacts, start = float((sim.state.velocity**2).sum()), 0, process_time()
    for _ in range(steps):
        sim.step()
        impacts += int(sim.report["rounds"])
    seconds = process_time() - start
    return impacts / seconds, abs(float((sim.state.velocity**2).sum()) / energy - 1.0)


def run(quick: bool = False) -> list[Row]:
    """Discs and spheres from a thousand to a million."""
    rows = []
    for dimension, name in ((2, "discs"), (3, "spheres")):
        rates = {}
        for count in COUNTS[:2] if quick else COUNTS:
            rate, error = impacts_per_second(count, dimension, max(1, 50_000 // count))
            rates[count] = rate
            asked = f">= {ASKED_RATE:,}/s" if count == 10_000 else "runs"
            passed = rate >= ASKED_RATE if count == 10_000 else True
            rows.append(Row(f"gas of {count:,} {name}", asked, f"{rate:,.0f}/s, energy {error:.0e}", passed))
        ratio = max(rates.values()) / min(rates.values())
        rows.append(Row(f"cost per impact, {name}", f"<= x {ASKED_RATIO:g}", f"x {ratio:.2f}", ratio <= ASKED_RATIO))
    return rows

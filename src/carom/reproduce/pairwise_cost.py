"""The cost of pairwise reflections against restitution, for 10,000 balls.

After Smith 2012, figure 4 d. A touching grid of balls with random velocities runs for some steps under `gauss_seidel`
with the model `newton`, `u+ = -c_r u` in every reflection, and beside it under `gr` with the model `energetic`, whose
iteration is elastic for every c_r. Reflections are counted, because seconds depend on the machine.
"""

from __future__ import annotations

from time import process_time

import numpy as np

from ..draw.style import law_style, styled, write
from ..scene.model import Material
from ..scenes import gas
from ..stepwise import Simulation
from .evidence import Case, Evidence, Row, claim

COEFFICIENTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MODELS = {"gauss_seidel": "newton", "gr": "energetic"}


def run(case: Case, side: int = 100, steps: int = 6, coefficients: tuple[float, ...] = COEFFICIENTS) -> Evidence:
    """Counts reflections for side x side balls; writes pairwise_cost.png, .svg, .pdf and .csv."""
    counts = np.zeros((2, len(coefficients)))
    seconds, first = np.zeros((2, len(coefficients))), np.zeros(len(coefficients))
    for k, c in enumerate(coefficients):
        scene = gas(side=side).with_(materials={"default": Material(c)})
        for j, (law, model) in enumerate(MODELS.items()):
            case.tell((2 * k + j) / (2 * len(coefficients)), f"{law}, c_r = {c:g}")
            sim = Simulation(scene, law, restitution_model=model, tolerance="exact")
            began = process_time()
            for step in range(steps):
                sim.step()
                counts[j, k] += sim.report["iterations"] / steps
                first[k] = sim.report["iterations"] if (j, step) == (0, 0) else first[k]
            seconds[j, k] = (process_time() - began) / steps
    order = np.argsort(coefficients)
    rise = float(counts[0, order[0]] / counts[0, order[-1]])
    monotone, fewest = (np.diff(counts[0, order]) <= 0.0).all(), coefficients[int(np.argmin(counts[0]))]
    alone = "holds" if (np.diff(first[order]) <= 0.0).all() else "fails"
    remark = f"fewest reflections at c_r = {fewest:g}: a gas that loses energy has fewer contacts in later steps"
    remark += f"; in the first step alone the claim {alone}"
    rows = [Row(f"reflections per step at c_r = {c:g}", None, float(n)) for c, n in zip(coefficients, counts[0])]
    low, high = coefficients[order[0]], coefficients[order[-1]]
    rows += [
        Row(f"reflections at c_r = {low:g} over those at c_r = {high:g}", "blows up", rise, "times", rise > 10.0),
        claim("the cost rises whenever c_r falls", monotone, remark),
        Row("gr, energetic: most iterations per step", None, float(counts[1].max())),
        Row("gauss_seidel: CPU time per step, largest", None, float(seconds[0].max()), "s"),
        Row("gr, energetic: CPU time per step, largest", None, float(seconds[1].max()), "s"),
    ]
    findings = (f"from c_r = {high:g} to {low:g} the number of pairwise reflections per step rises {rise:,.0f}-fold",)
    with styled(2, height=2.7) as (figure, panels):
        for j, law in enumerate(MODELS):
            look = {**law_style(law), "label": f"{law}, {MODELS[law]}"}
            panels[0].plot(coefficients, counts[j], **look)
            panels[1].plot(coefficients, seconds[j], **look)
        panels[0].set(yscale="log", xlabel="restitution $c_r$", title="reflections or iterations per step")
        panels[1].set(yscale="log", xlabel="restitution $c_r$", title="CPU seconds per step")
        panels[0].legend(loc="center right")
        table = {"c_r": coefficients} | {f"{law}_iterations": counts[j] for j, law in enumerate(MODELS)}
        table |= {f"{law}_seconds": seconds[j] for j, law in enumerate(MODELS)}
        files = write(figure, case.out, "pairwise_cost", table)
    return Evidence(tuple(rows), files, findings, {"balls": side**2, "h": 0.01})

"""Identical balls: figures 5, 6 and 7 of Zhang 2015."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..analysis.runs import energy_drift, symmetry_error
from ..scenes import butterfly, cradle_3d, pool_break
from ..scenes.balls import RADIUS
from .evidence import Case, Evidence, Row
from .stills import Still, write_stills

KEPT_SYMMETRY = 1e-6  # radii: a mirror error below this is amplified rounding


def pool(case: Case, rows: int = 5, duration: float = 3.0) -> Evidence:
    """Figure 5: a break of 15 balls under qce and gr; writes pool_break.png, .svg, .pdf and .csv."""
    scene = pool_break(rows=rows)
    laws = ("qce", "gr", "gauss_seidel")
    runs = {law: case.simulate(law, scene, law, duration, tolerance="exact", frame_rate=20.0) for law in laws}
    error = {law: float(symmetry_error(run).max()) for law, run in runs.items()}
    apart = np.linalg.norm(runs["qce"].positions[-1] - runs["gr"].positions[-1], axis=1) / RADIUS
    out = [
        Row(f"{law}: largest mirror error", None, error[law], "radii",
            error[law] <= KEPT_SYMMETRY if law != "gauss_seidel" else None)
        for law in laws
    ]  # fmt: skip
    out += [
        Row("largest distance of a ball under qce from the same ball under gr, at the end", None, float(apart.max()),
            "radii", holds=bool(apart.max() <= 1.0),
            remark="claim: the patterns are highly similar; they would coincide within a radius. The laws answer the "
            "first impact differently, and the distances grow from there"),
        Row("median of these distances", None, float(np.median(apart)), "radii"),
        *(
            Row(f"{law}: relative energy drift", None, float(np.abs(energy_drift(run)).max()))
            for law, run in runs.items()
        ),
    ]  # fmt: skip
    stills = [
        Still(run, f"{law}: off by {error[law]:.2g} radii", look={"trails": ("all",)}) for law, run in runs.items()
    ]
    table = {
        f"{law}_{axis} (length units)": run.positions[-1][:, k]
        for law, run in runs.items()
        for k, axis in enumerate("xy")
    }
    files = write_stills(case.out, "pool_break", stills, table)
    findings = (
        "gr and qce keep the mirror symmetry, gauss_seidel breaks it",
        f"of {len(apart)} balls, {int((apart <= 1.0).sum())} end within a radius of each other under gr and qce",
    )
    return Evidence(tuple(out), files, findings, {"rows": rows, "duration": duration, "step": scene.step})


def cradle(case: Case, balls: int = 5) -> Evidence:
    """Figure 6: Newton's cradle of spheres, one to three striking; writes cradle.png, .svg, .pdf and .csv."""
    rows, speeds, stills = [], {}, []
    for law in ("qce", "gr", "lcp"):
        for striking in (1, 2, 3):
            run = case.simulate(f"{law}_{striking}", cradle_3d(balls=balls, striking=striking), law, tolerance="exact")
            v = run.velocities[-1][:, 0]
            ideal = np.arange(balls) >= balls - striking
            off = float(np.abs(v - ideal).max())
            speeds[f"{law}, {striking} striking"] = v
            name = f"{law}: {striking} of {balls} strike; largest deviation from as many leaving"
            # Claim: break-away under qce and gr, sticking under lcp.
            rows.append(Row(name, None, off, "of the speed", holds=off <= 1e-9 if law != "lcp" else off > 0.1))
            if law == "qce" and striking == 2:
                stills = [Still(run, "(a) before", 0.0), Still(run, "(b) after, law qce")]
            elif law == "lcp" and striking == 2:
                stills.append(Still(run, "(c) after, law lcp"))
    files = write_stills(case.out, "cradle", stills, {"ball": range(1, balls + 1)} | speeds)
    return Evidence(
        tuple(rows), files, ("as many balls leave as came in under qce and gr; under lcp they stick",), {"balls": balls}
    )


def circle(case: Case, duration: float = 150.0) -> Evidence:
    """Figure 7: four balls in a drum; writes four_balls.png, .svg, .pdf and .csv."""
    scene, rows, stills = butterfly(), [], []
    table: dict[str, Any] = {}
    for law in ("qce", "gr", "gauss_seidel"):
        run = case.simulate(law, scene, law, duration, tolerance="exact")
        error = symmetry_error(run)
        holds = bool(error.max() <= KEPT_SYMMETRY) if law != "gauss_seidel" else None
        rows.append(
            Row(f"{law}: largest mirror error in {duration:g} time units", None, float(error.max()), "radii", holds)
        )
        stills.append(Still(run, f"{law}: mirror error {error.max():.2g}"))
        table |= {"time (time units)": run.time, f"{law}_mirror_error (radii)": error}
    files = write_stills(case.out, "four_balls", stills, table)
    finding = f"qce keeps the symmetry for {duration:g} time units ({round(duration / scene.step)} steps)"
    return Evidence(tuple(rows), files, (finding,), {"step": scene.step, "duration": duration})

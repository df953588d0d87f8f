"""Planar impacts of a real ellipse: which law with which coefficients explains them, beside six published models.

N. Fazeli, S. Zapolsky, E. Drumwright, A. Rodriguez, "Learning data-efficient rigid-body contact models: case study of
planar impact", CoRL 2017, arXiv 1710.05947, measured 1,718 impacts of an ellipse that falls in a plane. Their files
contain the velocities that six models of the literature predict. The data are not part of Carom; `SOURCE` says where
they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..draw.style import GRAY, law_style, styled, write
from ..errors import ProblemError
from ..problem.problem import ImpactProblem
from ..resolve.impulses import solve_impact
from ..solvers.rows import Floats
from .evidence import Case, Evidence, Row, claim
from .tosses import distinct, error_row, estimate, spread, steps

SOURCE = "the folder processed_data of the repository mcubelab/planar-impact-dataset"
IMPACTS, PREDICTIONS = "data_ellipse.mat", "v_models.mat"
MASS, GYRATION = 0.0364, 0.0192  # kg, m
HALF_AXES = (0.025, 0.035)  # m
MARGIN = 1e-3  # m: how far a stored contact point may lie outside of what these half axes allow
SPEEDS = (0.2, 20.0)  # m/s: limits of the fastest approach of all impacts, which tell mm/s and diameters/s from m/s
MODELS = ("Drumwright-Shell", "Anitescu-Potra, Poisson", "Anitescu-Potra, Newton", "Mirtich", "Wang-Mason", "Whittaker")
LAWS = ("gr", "qce", "lcp", "gauss_seidel", "lzb", "etm", "sqm", "smm")
FRICTIONS = tuple(k / 100 for k in range(13))
RESTITUTIONS = tuple(k / 100 for k in range(48, 73, 3))
BEGIN = 0.6  # restitution with which friction is fitted first


class Impacts(NamedTuple):
    """Measured impacts; a velocity is (vx, vy, spin)."""

    before: Floats  # (n, 3)
    after: Floats  # (n, 3)
    point: Floats  # (n, 2) of contact, from the center
    predicted: Floats  # (n, k, 3) by the models of the literature

    def part(self, which: slice) -> Impacts:
        """Some of the impacts."""
        return Impacts(*(values[which] for values in self))


def read_impacts(folder: str | Path) -> Impacts:
    """The impacts of the data set, from its folder or one that contains it."""
    from scipy.io import loadmat  # slow to import

    found = sorted(Path(folder).rglob(IMPACTS))
    if not found:
        raise ProblemError("data", str(folder), f"{SOURCE}, with {IMPACTS} and {PREDICTIONS}")
    try:
        data = loadmat(found[0], squeeze_me=True)["data"][()]
        before, after, normal, tangent = (np.asarray(data[k], float) for k in ("states_i", "states_f", "n", "d"))
        predicted = np.asarray(loadmat(found[0].with_name(PREDICTIONS))["v_models"], float)
    except Exception as error:  # SciPy's reader raises almost anything for a damaged file
        raise ProblemError("data", f"{found[0].name} or {PREDICTIONS} ({error})", "the files of the data set") from None
    n = len(before)
    shapes = (before.shape, after.shape, normal.shape, tangent.shape, predicted.shape)
    if n < 4 or shapes != ((n, 6), (n, 6), (n, 3), (n, 3), (n, 3 * len(MODELS))):
        expected = f"(n, 6), (n, 6), (n, 3), (n, 3), (n, {3 * len(MODELS)}) with n of at least 4"
        raise ProblemError("data", f"arrays of shapes {shapes}", expected)
    if not all(np.isfinite(values).all() for values in (before, after, normal, tangent, predicted)):
        raise ProblemError("data", "numbers that are not finite", "finite numbers")
    if np.abs(normal[:, :2] - (0.0, 1.0)).max() > 1e-9 or np.abs(tangent[:, :2] - (1.0, 0.0)).max() > 1e-9:
        raise ProblemError("data", "rows n and d", "the normal (0, 1) and the tangent (1, 0), each with its moment")
    point = np.column_stack([normal[:, 2], -tangent[:, 2]])
    _check_body(point)
    _check_speeds(before[:, 4], predicted)
    return Impacts(before[:, 3:], after[:, 3:], point, predicted.reshape(n, len(MODELS), 3))


def _check_body(point: Floats) -> None:
    """Refuses contact points that are not those of the ellipse on flat ground: another body, or another unit."""
    short, long = HALF_AXES
    across, height = np.abs(point).T
    if height.min() < short - MARGIN or height.max() > long + MARGIN or across.max() > long - short + MARGIN:
        found = f"contact points {height.min():.3g} to {height.max():.3g} below the center, {across.max():.3g} aside"
        expected = f"meters, and the ellipse with half axes of {short:g} and {long:g}"
        raise ProblemError("data", found, expected)


def _check_speeds(falling: Floats, predicted: Floats) -> None:
    """Refuses velocities in another unit."""
    fastest = float(-falling.min())
    if not SPEEDS[0] <= fastest <= SPEEDS[1]:
        raise ProblemError("data", f"a fastest approach of {fastest:.3g}", f"m/s, {SPEEDS[0]:g} to {SPEEDS[1]:g}")
    linear = float(np.abs(predicted.reshape(len(predicted), -1, 3)[:, :, :2]).max())
    if linear > SPEEDS[1]:
        raise ProblemError("data", f"predicted speeds up to {linear:.3g}", f"m/s, at most {SPEEDS[1]:g}")


def error(impacts: Impacts, velocity: Floats) -> Floats:
    """(n,) distance of velocities (n, 3) from the measured ones, over the speed before: both as roots of energies."""
    root = np.sqrt(MASS * np.array([1.0, 1.0, GYRATION**2]))
    distance = np.linalg.norm(root * (velocity - impacts.after), axis=1)
    return np.asarray(distance / np.linalg.norm(root * impacts.before, axis=1))


def answer(impacts: Impacts, law: str, restitution: float, friction: float, **models: Any) -> Floats:
    """The velocities (n, 3) after all impacts: one problem of as many islands."""
    n = len(impacts.before)
    problem = ImpactProblem.from_contacts(
        np.zeros((n, 2)),
        np.full(n, MASS),
        np.full(n, MASS * GYRATION**2),
        impacts.before,
        np.column_stack([np.full(n, -1), np.arange(n)]),
        impacts.point,
        np.tile((0.0, 1.0), (n, 1)),
        restitution=restitution,
        friction=friction,
    )
    return np.asarray(solve_impact(problem, law, **models).velocity).reshape(n, 3)


class Fit(NamedTuple):
    """Coefficients of one law with standard errors, and errors by coefficient (k, n)."""

    friction: tuple[float, float]
    restitution: tuple[float, float]
    by_friction: Floats
    by_restitution: Floats


def fitted(impacts: Impacts, law: str, frictions: Sequence[float], restitutions: Sequence[float]) -> Fit:
    """Friction, restitution, and friction again, each at the estimate of the other."""

    def tried(e: float, mu: float) -> Floats:
        return error(impacts, answer(impacts, law, e, mu))

    first = estimate(frictions, np.array([tried(BEGIN, mu) for mu in frictions]))[0]
    by_restitution = np.array([tried(e, first) for e in restitutions])
    restitution = estimate(restitutions, by_restitution)
    by_friction = np.array([tried(restitution[0], mu) for mu in frictions])
    return Fit(estimate(frictions, by_friction), restitution, by_friction, by_restitution)


def run(
    case: Case,
    laws: Sequence[str] = LAWS,
    frictions: Sequence[float] = FRICTIONS,
    restitutions: Sequence[float] = RESTITUTIONS,
) -> Evidence:
    """Coefficients of the ellipse under every law, and the errors of the laws beside those of six published models.

    Every second impact is fitted, the others are compared. Writes ellipse.png, .svg, .pdf and .csv.
    """
    impacts = read_impacts(case.data or "")
    half, other = impacts.part(slice(0, None, 2)), impacts.part(slice(1, None, 2))
    fits: dict[str, Fit] = {}
    errors: dict[str, Floats] = {}
    for part, law in case.each(laws):
        part.tell(0.0, law)
        fits[law] = fitted(half, law, frictions, restitutions)
        errors[law] = error(other, answer(other, law, fits[law].restitution[0], fits[law].friction[0]))
    theirs = {model: error(other, other.predicted[:, k]) for k, model in enumerate(MODELS)}
    e, mu = (value[0] for value in (fits[laws[0]].restitution, fits[laws[0]].friction))
    fixed = answer(other, laws[0], e, mu, friction_model="coulomb_fixed_direction")
    rows = [Row("impacts, half of them fitted", None, float(len(impacts.before)))]
    for law, fit in fits.items():
        rows.append(Row(f"{law}: coefficient of friction", None, fit.friction[0], remark=f"± {fit.friction[1]:.4f}"))
        rows.append(
            Row(f"{law}: coefficient of restitution", None, fit.restitution[0], remark=f"± {fit.restitution[1]:.4f}")
        )
    rows += [error_row(f"{law}: error", found, found - errors[laws[0]], laws[0]) for law, found in errors.items()]
    rows += [
        error_row(f"{laws[0]} with the fixed direction of friction: error", error(other, fixed)),
        error_row(f"{laws[0]} without friction: error", error(other, answer(other, laws[0], e, 0.0))),
        error_row("no impulse: error", error(other, other.before)),
        *(error_row(f"{model}, as stored with the data: error", found) for model, found in theirs.items()),
        claim(f"{laws[0]} explains the impacts at least as well as the best of the six models",
              not distinct(least := errors[laws[0]] - min(theirs.values(), key=np.mean)) or least.mean() < 0.0),
    ]  # fmt: skip
    same = [law for law, found in errors.items() if not distinct(found - errors[laws[0]])]
    best = min(theirs, key=lambda model: float(theirs[model].mean()))
    findings = (
        f"under {laws[0]} the error is {errors[laws[0]].mean():.3f} of the speed before; that of the best of the six"
        f" published models ({best}) is {theirs[best].mean():.3f}",
        f"laws whose error these impacts cannot tell from that of {laws[0]}: {', '.join(same)}",
    )
    files = _figure(case, fits, errors, theirs, frictions)
    return Evidence(tuple(rows), files, findings, {"frictions": steps(frictions), "restitutions": steps(restitutions)})


def _figure(
    case: Case, fits: dict[str, Fit], errors: dict[str, Floats], theirs: dict[str, Floats], frictions: Sequence[float]
) -> tuple[Path, ...]:
    with styled(2, height=3.4) as (figure, (left, right)):
        for law, fit in fits.items():
            mean = fit.by_friction.mean(axis=1)
            left.plot(frictions, mean, **law_style(law) | {"markerfacecolor": "white"}, label=law)
        left.set(xlabel="coefficient of friction", ylabel="mean error over the speed before")
        left.set_title("(a) friction, with the fitted restitution")
        for k, (name, found) in enumerate([*errors.items(), *theirs.items()]):
            style = law_style(name) if name in errors else {"color": GRAY, "marker": "s"}
            right.errorbar(found.mean(), k, xerr=3.0 * spread(found), **style, markersize=5, capsize=3)
        right.set(yticks=range(len(errors) + len(theirs)), yticklabels=[*errors, *theirs])
        right.invert_yaxis()
        right.set(xlabel="mean error over the speed before", title="(b) laws, and published models")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=8, handlelength=2.5)
        columns: dict[str, Any] = {"friction": frictions}
        columns |= {law: fit.by_friction.mean(axis=1) for law, fit in fits.items()}
        return write(figure, case.out, "ellipse", columns)

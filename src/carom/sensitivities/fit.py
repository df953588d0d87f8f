"""Least squares fits of the parameters of a scene to measured motion, with the derivatives of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..checks import scalar
from ..errors import ProblemError
from ..laws import Law
from ..scene.model import Scene
from ..solvers.rows import Floats, Ints
from ..stepwise import Simulation
from .measurements import COLUMNS, Measurements, measurements
from .parameters import Parameters, names_of
from .run import Frames, Sensitivity, _scene

CONFIDENCE = 0.95
WINDOWS = (0.25, 0.5, 1.0)  # parts of the measured time, fitted one after the other: bounces are matched one by one
BLIND = 1e-10  # effect of a combination of parameters on the data, relative to the strongest, that is none
SMALL = 1e-3  # smallest scale of a number
FAINT = 1e-7  # effect of a number on the data of a window, relative, from which on it is fitted there
OTHER_STARTS = (0.5, 0.25, 2.0)  # factors of numbers without effect
BETTER = 1e-3  # relative decrease of the sum of squares that counts
MOST_RUNS = 100  # of one window
WEAK = 0.999  # correlation of two estimates from which on a warning is given
REFUSED = 1e3  # residual, relative to the largest at the start, of parameters whose run cannot be made
STOP = 1e-13  # relative change at which the fit ends
_LIMITS = {"restitution": (0.0, 1.0), "friction": (0.0, np.inf)}
_POSITIVE = ("radius", "density", "mass", "inertia", "width", "height", "size")


@dataclass(frozen=True, eq=False)
class Fit:
    """Estimates with their uncertainty; `names` has one entry for each number, such as `scene.gravity[1]`."""

    names: tuple[str, ...]
    estimate: Floats  # (p,)
    standard_error: Floats  # (p,) infinite where the data do not determine a number
    interval: Floats  # (p, 2) of 95 percent
    correlation: Floats  # (p, p)
    noise: float  # standard deviation of the residuals, in units of `sigma` where that is given
    residual: Floats  # (k,) measured minus fitted
    data: Measurements
    warnings: tuple[str, ...]
    evaluations: int  # runs that the fit has made
    scene: Scene  # with the estimates
    run: Sensitivity

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{n} = {v:.6g} +- {s:.2g}" for n, v, s in zip(self.names, self.estimate, self.standard_error)
        )
        return f"<Fit to {self.data.count:,} numbers: {shown}>"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "parameters": {
                n: {"estimate": float(v), "standard_error": float(s), "interval": i.tolist()}
                for n, v, s, i in zip(self.names, self.estimate, self.standard_error, self.interval)
            },
            "correlation": self.correlation.tolist(),
            "noise": self.noise,
            "numbers": self.data.count,
            "evaluations": self.evaluations,
            "warnings": list(self.warnings),
        }


def fit(
    scene: Scene | str | PathLike[str],
    data: Any,
    vary: str | Iterable[str],
    *,
    law: str | Law | None = None,
    step: float | None = None,
    stepper: str | None = None,
    restitution_model: str | None = None,
    friction_model: str | None = None,
    sigma: float | Mapping[str, float] | None = None,
) -> Fit:
    """Estimates parameters of a scene from measured motion.

    >>> carom.fit("scene.toml", "data.csv", ["materials.default.restitution", "bodies.0.velocity"])

    `data` is a CSV or Parquet file, or a mapping of columns: time, body, and some of x, y, z, angle, vx, vy, vz, spin;
    missing values are allowed. `vary` are paths of parameters, whose values in the scene are the start of the fit.
    `sigma` is the standard deviation of the noise, one number or one for each column; without it all columns count
    alike, and the noise is estimated. Impacts are those of the stepper `time_of_impact`, unless another one is given.
    """
    made = _scene(scene)
    folder = None if isinstance(scene, Scene) else Path(fspath(scene)).parent
    chosen = "time_of_impact" if stepper is None else stepper
    options = {"law": law, "step": step, "stepper": chosen, "restitution_model": restitution_model}
    options["friction_model"] = friction_model
    h = scalar("step", made.step if step is None else step, 0.0, above=True)
    model = _Model(Parameters(made, h, folder), names_of(vary), measurements(data, made), options, sigma)
    return model.fitted()


class _End(NamedTuple):
    """The end of a fit to the data up to some time."""

    x: Floats
    status: int  # of scipy.optimize.least_squares; 0 if it has not converged
    cost: float  # sum of squares
    blind: Ints  # numbers without effect at its start


class _Model:
    """Residuals and their derivatives as functions of the numbers that vary."""

    def __init__(
        self,
        parameters: Parameters,
        paths: tuple[str, ...],
        data: Measurements,
        options: dict[str, Any],
        sigma: float | Mapping[str, float] | None,
    ) -> None:
        self.parameters, self.paths, self.data, self.options = parameters, paths, data, options
        self.shapes = [parameters.value(path).shape for path in paths]
        self.start = np.concatenate([parameters.value(path).ravel() for path in paths])
        self.names = tuple(name for path, shape in zip(paths, self.shapes) for name in _labels(path, shape))
        if len(set(paths)) != len(paths):
            raise ProblemError("vary", ", ".join(paths), "each parameter once")
        if data.count < len(self.start):
            raise ProblemError("data", f"{data.count} numbers", f"at least {len(self.start)}, one for each parameter")
        self.sigma, self.known = self._sigma(sigma)
        self.times, self.when = np.unique(data.time, return_inverse=True)
        self.evaluations, self.large = 0, np.nan
        self.kept: tuple[bytes, Floats, Floats, Sensitivity] | None = None

    def _sigma(self, given: float | Mapping[str, float] | None) -> tuple[Floats, bool]:
        columns = self.data.columns
        if given is None:
            return np.ones(self.data.count), False
        each = given if isinstance(given, Mapping) else dict.fromkeys(columns, given)
        for name in (*each, *columns):
            if name not in each or name not in columns:
                raise ProblemError("sigma", name, f"one number, or one for each of {', '.join(columns)}")
        values = np.array([scalar(f"sigma of {name}", each[name], 0.0, above=True) for name in columns])
        return values[self.data.column], True

    def scene(self, x: Floats) -> Scene:
        """The scene at values of the numbers that vary."""
        values, at = {}, 0
        for path, shape in zip(self.paths, self.shapes):
            size = int(np.prod(shape))
            values[path] = x[at : at + size].reshape(shape)
            at += size
        return self.parameters.scene_with(values)

    def evaluated(self, x: Floats, until: float) -> tuple[Floats, Floats, Sensitivity]:
        """Weighted residuals (k,), their derivatives (k, p), and the run, up to a time."""
        key = x.tobytes() + np.float64(until).tobytes()
        if self.kept is None or self.kept[0] != key:
            self.evaluations += 1
            used = self.times[self.times <= until]
            scene = self.scene(x)
            sim = Simulation(scene, **self.options, tolerance="exact")
            steps = max(int(np.ceil(used[-1] / sim.time_step - 1e-9)), 1)
            own = Parameters(scene, sim.time_step, self.parameters.folder)
            run = Sensitivity(sim, own, steps)
            frames = run.derivative(self.paths, np.minimum(used, run.state.time))
            value, slopes = self._predicted(frames, used)
            rows = self.data.time <= until
            weights = 1.0 / self.sigma[rows]
            self.kept = key, (value - self.data.value[rows]) * weights, slopes * weights[:, None], run
        return self.kept[1:]

    def _predicted(self, frames: Frames, used: Floats) -> tuple[Floats, Floats]:
        rows = self.data.time <= used[-1]
        when, body, column = self.when[rows], self.data.body[rows], self.data.column[rows]
        values, slopes = np.empty(len(when)), np.empty((len(when), len(self.start)))
        for k, name in enumerate(self.data.columns):
            mine = column == k
            values[mine] = _column(frames, name)[when[mine], body[mine]]
            parts = [_column(frames[path], name)[when[mine], body[mine]].reshape(mine.sum(), -1) for path in self.paths]
            slopes[mine] = np.concatenate(parts, axis=1)
        return values, slopes

    def fitted(self) -> Fit:
        """The fit: windows of growing length, then the statistics at its end."""
        x, last = np.clip(self.start, *_bounds(self.names)), float(self.times[-1])
        best = _End(x, 1, np.inf, np.arange(0))
        for part in WINDOWS:
            until = float(self.times[max(int(np.ceil(part * len(self.times))) - 1, 0)])
            best = self._window(best.x, until)
        # Friction of a contact that sticks has no effect, where a smaller one would have: other starts are tried.
        for factor in OTHER_STARTS if len(best.blind) and best.cost > 0.0 else ():
            other = best.x.copy()
            other[best.blind] = np.clip(factor * other[best.blind], *(b[best.blind] for b in _bounds(self.names)))
            try:
                found = self._window(other, last)
            except ProblemError:
                continue
            best = found if found.cost < (1.0 - BETTER) * best.cost else best
        return self._result(best.x, last, best.status)

    def _window(self, x: Floats, until: float) -> _End:
        """The fit to the data up to a time. Numbers without effect on them keep their values."""
        from scipy.optimize import least_squares  # slow to import

        low, high = _bounds(self.names)
        residual, slopes, _ = self.evaluated(x, until)
        self.large = REFUSED * (1.0 + float(np.abs(residual).max(initial=0.0)))
        scale = np.maximum(np.abs(x), SMALL)
        effect = np.linalg.norm(slopes, axis=0) * scale
        seen = np.flatnonzero(effect > FAINT * effect.max(initial=0.0))
        blind = np.setdiff1d(np.arange(len(x)), seen)
        if not len(seen):
            return _End(x, 1, float(residual @ residual), blind)

        def placed(y: Floats) -> Floats:
            out = x.copy()
            out[seen] = y
            return out

        found = least_squares(
            lambda y: self._residual(placed(y), until),
            x[seen],
            lambda y: self.evaluated(placed(y), until)[1][:, seen],
            bounds=(low[seen], high[seen]),
            x_scale=scale[seen],
            xtol=STOP,
            ftol=STOP,
            gtol=STOP,
            max_nfev=MOST_RUNS,
        )
        return _End(placed(found.x), int(found.status), 2.0 * float(found.cost), blind)

    def _residual(self, x: Floats, until: float) -> Floats:
        try:
            return self.evaluated(x, until)[0]
        except ProblemError:  # bodies that come to rest, overlap at the start, and so on: not this way
            return np.full(int((self.data.time <= until).sum()), self.large)

    def _result(self, x: Floats, until: float, status: int) -> Fit:
        from scipy.stats import t as student

        residual, slopes, run = self.evaluated(x, until)
        k, p = slopes.shape
        free = max(k - p, 1)
        noise = float(np.sqrt(residual @ residual / free))
        effect = np.linalg.norm(slopes, axis=0) * np.maximum(np.abs(x), SMALL)
        none = effect <= BLIND * float(np.linalg.norm(self.data.value / self.sigma))
        covariance, warnings = _covariance(slopes, self.names, none)
        with np.errstate(invalid="ignore"):  # infinite variances
            covariance = covariance * (1.0 if self.known else max(noise**2, 1e-300))
        error = np.sqrt(np.diag(covariance))
        half = student.ppf(0.5 + 0.5 * CONFIDENCE, np.inf if self.known else free) * error
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = covariance / np.outer(error, error)
        correlation[~np.isfinite(correlation)] = 0.0
        np.fill_diagonal(correlation, 1.0)
        for i in range(p):
            for j in range(i):
                if abs(correlation[i, j]) > WEAK and np.isfinite(error[[i, j]]).all():
                    warnings.append(f"{self.names[j]} and {self.names[i]} are hardly told apart by the data")
        low, high = _bounds(self.names)
        edge = (x - low < 1e-9) | (high - x < 1e-9)
        warnings += [f"{self.names[i]} ends at its limit" for i in np.flatnonzero(edge)]
        if status == 0:
            warnings.append("the fit has not converged: start nearer to the data, or vary fewer parameters")
        warnings += list(run.warnings) + [f"kink at time {t:g}: {why}" for t, why in run.kinks]
        raw = -residual * self.sigma
        interval = np.stack([x - half, x + half], axis=1)
        final = (x, error, interval, correlation, noise, raw, self.data, tuple(warnings))
        return Fit(self.names, *final, self.evaluations, self.scene(x), run)


def _column(frames: Frames, name: str) -> Floats:
    """A column of the data, (times, n, ...)."""
    if name in ("x", "y", "z"):
        return frames.position[:, :, "xyz".index(name)]
    if name in ("vx", "vy", "vz"):
        return frames.velocity[:, :, "xyz".index(name[1])]
    return frames.rotation if name == "angle" else frames.spin


def _covariance(slopes: Floats, names: tuple[str, ...], none: np.ndarray) -> tuple[Floats, list[str]]:
    """`(J^T J)^-1`, and warnings about numbers that the data do not determine, whose variance is infinite.

    `none` (p,) are numbers whose effect is rounding error beside the measured numbers.
    """
    size = np.linalg.norm(slopes, axis=0)
    blind = none | (size <= BLIND * max(size.max(initial=0.0), 1e-300))
    warnings = [f"{names[i]} has no effect on the data" for i in np.flatnonzero(blind)]
    p = len(names)
    out = np.zeros((p, p))
    seen = np.flatnonzero(~blind)
    out[blind, blind] = np.inf
    if not len(seen):
        return out, warnings
    _, s, vt = np.linalg.svd(slopes[:, seen] / size[seen], full_matrices=False)
    weak = s <= np.sqrt(BLIND) * s[0]
    good = vt[~weak].T / s[~weak]
    inner = good @ good.T
    for row in vt[weak]:
        who = np.flatnonzero(np.abs(row) > 0.1)
        together = ", ".join(names[seen[i]] for i in who)
        warnings.append(f"a change of {together} together has no effect on the data: fix one of them")
        inner[who, who] = np.inf
    with np.errstate(invalid="ignore"):
        out[np.ix_(seen, seen)] = inner / np.outer(size[seen], size[seen])
    return out, warnings


def _labels(path: str, shape: tuple[int, ...]) -> list[str]:
    return [path + "".join(f"[{k}]" for k in index if len(shape)) for index in np.ndindex(*shape)]


def _bounds(names: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Limits of the numbers, by the last word of their paths."""
    ends = []
    for name in names:
        word = name.split("[")[0].split(".")[-1]
        ends.append(_LIMITS.get(word, (1e-300, np.inf) if word in _POSITIVE else (-np.inf, np.inf)))
    return np.array([low for low, _ in ends]), np.array([high for _, high in ends])


__all__ = ["COLUMNS", "Fit", "fit"]

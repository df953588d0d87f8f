"""Tosses of a real cube onto a board: which law with which coefficients explains them.

S. Pfrommer, M. Halm, M. Posa, "ContactNets: Learning discontinuous contact dynamics with smooth, implicit
representations", CoRL 2020, filmed 570 tosses of an acrylic cube at 148 Hz. The data are not part of Carom; `SOURCE`
says where they are.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..draw.style import CYCLE, GRAY, law_style, styled, write
from ..errors import ProblemError
from ..geometry.rotations import matrices
from ..laws.lzb import SMALLEST_RESTITUTION
from ..scene.boundaries import Plane
from ..scene.model import Bodies, Material, Scene
from ..scene.shapes import Box
from ..simulation import completed, simulate
from ..solvers.rows import Floats
from .evidence import Case, Evidence, Row, claim

SOURCE = "the folder data/tosses_processed of the repository DAIRLab/contact-nets"
RATE = 148.0  # frames per second
HALF = 0.0524  # half of the edge in meters, which is the unit of length of the files
MASS, INERTIA, GRAVITY = 0.37, 0.00081, 9.81  # kg, kg m^2, m / s^2
STORED_FRICTION, STORED_RESTITUTION = 0.18, 0.125  # the coefficients of the authors, stored beside the data
COLUMNS = 19  # position (3), quaternion (4), velocity (3), spin in the body frame (3), six zeros
WATCHED = 1.0  # seconds of each toss that are compared; nearly all cubes lie still by then
APART = 4.0  # meters between the cubes of one scene, which never meet
MAGIC, PROTOCOL = 0x1950A86A20F9469CFC6C, 1001  # of tensor files before the zip format
STORAGES = {"FloatStorage": "<f4", "DoubleStorage": "<f8"}

LAWS = ("gr", "qce", "lcp", "gauss_seidel", "lzb", "etm", "sqm", "smm")
FRICTIONS = tuple(k / 100 for k in range(13, 24))
RESTITUTIONS = tuple(k / 20 for k in range(8))
RESAMPLES = 400  # of the bootstrap


class Toss(NamedTuple):
    """A cube in SI units, one row per frame: position (t, 3) and orientation (t, 4); velocity and spin at the start."""

    position: Floats
    orientation: Floats
    velocity: Floats
    spin: Floats  # in the frame of the world


# ---- files


class _Tensors(pickle.Unpickler):
    """Reads the description of one tensor and nothing else: no other name of a stranger's file is looked up."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, size, stride, *_: (storage, offset, size, stride)
        if module == "torch" and name in STORAGES:
            return name
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        raise pickle.UnpicklingError(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        return pid


def _tensor(file: BinaryIO) -> Floats:
    """The array of a tensor file: header, description, keys, then the numbers."""
    if (_Tensors(file).load(), _Tensors(file).load()) != (MAGIC, PROTOCOL):
        raise ValueError("no tensor file")
    _Tensors(file).load()  # byte order and sizes of integers
    (_, kind, _, _, count, *_), offset, size, stride = _Tensors(file).load()
    _Tensors(file).load()  # keys of the storages: there is one
    dtype = np.dtype(STORAGES[kind])
    if int.from_bytes(file.read(8), "little") != count or offset != 0:
        raise ValueError("a view of something else")
    numbers = np.frombuffer(file.read(count * dtype.itemsize), dtype)
    if len(numbers) != count or np.prod(size) != count or tuple(stride)[-1] != 1:
        raise ValueError("numbers are missing")
    return numbers.reshape(size).astype(np.float64)


def read_tosses(folder: str | Path, most: int | None = None) -> list[Toss]:
    """The tosses 0.pt, 1.pt, ... of the data set, from its folder or one that contains it; at most `most` of them."""
    paths = sorted((p for p in Path(folder).rglob("*.pt") if p.stem.isdigit()), key=lambda p: int(p.stem))[:most]
    if not paths:
        raise ProblemError("data", str(folder), f"{SOURCE}, with files 0.pt, 1.pt, ...")
    return [_toss(path) for path in paths]


def _toss(path: Path) -> Toss:
    try:
        with path.open("rb") as file:
            rows = _tensor(file)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        EOFError,
        AttributeError,
        pickle.PickleError,
    ) as error:
        raise ProblemError("data", f"{path.name} ({error})", "a tensor file of the tosses") from None
    rows = rows.reshape(-1, rows.shape[-1]) if rows.ndim else rows
    if rows.ndim != 2 or rows.shape[1] != COLUMNS or len(rows) < 2 or not np.isfinite(rows).all():
        raise ProblemError("data", f"{path.name} with shape {rows.shape}", f"finite numbers (frames, {COLUMNS})")
    if np.abs(np.linalg.norm(rows[:, 3:7], axis=1) - 1.0).max() > 1e-3:
        raise ProblemError("data", f"{path.name}, columns 3 to 6", "quaternions of length 1, the real part first")
    if not 0.5 < rows[:, 2].min() < 2.0:
        where = f"{path.name}, lowest height {rows[:, 2].min():.3g}"
        raise ProblemError("data", where, "heights in half edges: a cube at rest has 1")
    velocity = HALF * rows[0, 7:10]
    velocity[2] -= 0.5 * GRAVITY / RATE  # velocities are differences to the frame before, half a frame too early
    spin = matrices(rows[:1, 3:7].copy())[0] @ rows[0, 10:13]
    return Toss(HALF * rows[:, :3], rows[:, 3:7].copy(), velocity, spin)


# ---- the cubes again, and how far they are from the film


def cubes(tosses: Sequence[Toss], restitution: float, friction: float, steps: int = 4) -> Scene:
    """All tosses in one scene, far apart; `steps` is the number of time steps per frame."""
    begin = np.array([toss.position[0] for toss in tosses]) + _places(len(tosses))
    body = Bodies(
        Box((2.0 * HALF,) * 3),
        begin,
        np.array([toss.velocity for toss in tosses]),
        spin=np.array([toss.spin for toss in tosses]),
        orientation=np.array([toss.orientation[0] for toss in tosses]),
        mass=MASS,
        inertia=np.full(3, INERTIA),
    )
    materials = {"default": Material(restitution, friction)}
    longest = min(WATCHED, max(len(toss.position) - 1 for toss in tosses) / RATE)
    return Scene(
        "tosses",
        [body],
        [Plane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))],
        materials=materials,
        gravity=(0.0, 0.0, -GRAVITY),
        step=1.0 / RATE / steps,
        duration=longest,
        frame_rate=RATE,
    )


def _places(count: int) -> Floats:
    side = int(np.ceil(np.sqrt(count)))
    k = np.arange(count)
    return APART * np.column_stack([k % side, k // side, np.zeros(count)]).astype(np.float64)


def errors(tosses: Sequence[Toss], position: Floats, orientation: Floats) -> Floats:
    """(n,) root mean square distance of the eight corners from those of the film, averaged over time, in edges.

    position (t, n, 3) and orientation (t, n, 4) have a frame for each frame of the film.
    """
    ends = HALF * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    out = np.zeros(len(tosses))
    for k, toss in enumerate(tosses):
        frames = min(len(toss.position), len(position))
        ours = position[:frames, k, None] + ends @ np.swapaxes(
            matrices(np.ascontiguousarray(orientation[:frames, k])), 1, 2
        )
        film = toss.position[:frames, None] + ends @ np.swapaxes(matrices(toss.orientation[:frames]), 1, 2)
        out[k] = np.sqrt(((ours - film) ** 2).sum(axis=2).mean(axis=1)).mean() / (2.0 * HALF)
    return out


class Again(NamedTuple):
    """The tosses under one law: positions (t, n, 3), orientations (t, n, 4), errors (n,)."""

    position: Floats
    orientation: Floats
    errors: Floats


def again(
    tosses: Sequence[Toss], law: str, restitution: float, friction: float, steps: int = 4, **models: Any
) -> Again:
    """The tosses from their first frames on, under a law."""
    scene = cubes(tosses, restitution, friction, steps)
    run = completed(simulate(scene, law, **models))
    position = np.asarray(run.positions[:]) - _places(len(tosses))
    orientation = np.asarray(run.orientations[:])
    return Again(position, orientation, errors(tosses, position, orientation))


# ---- coefficients by least error, with their spread


def lowest(places: Sequence[float], values: Floats) -> Floats:
    """Where the parabola through the lowest of `values` (..., k) and its neighbors has its minimum, within `places`."""
    x = np.asarray(places)
    k = np.clip(values.argmin(axis=-1), 1, len(x) - 2)
    at = np.stack([k - 1, k, k + 1], axis=-1)
    a, b, c = np.moveaxis(np.take_along_axis(values, at, axis=-1), -1, 0)
    bend = a - 2.0 * b + c
    shift = np.where(bend > 0.0, 0.5 * (a - c) / np.where(bend > 0.0, bend, 1.0), np.where(a < c, -1.0, 1.0))
    return np.asarray(x[k] + np.clip(shift, -1.0, 1.0) * (x[1] - x[0]))


def estimate(places: Sequence[float], by_toss: Floats) -> tuple[float, float]:
    """The place of the least mean error and its standard error; by_toss (k, n). Tosses are drawn again with a seed."""
    n = by_toss.shape[1]
    drawn = np.random.default_rng(1).integers(0, n, (RESAMPLES, n))
    means = by_toss[:, drawn].mean(axis=2).T
    return float(lowest(places, by_toss.mean(axis=1))), float(lowest(places, means).std(ddof=1))


class Fit(NamedTuple):
    """Coefficients of one law with standard errors, errors by coefficient (k, n), and the tosses with the best ones."""

    friction: tuple[float, float]
    restitution: tuple[float, float]
    by_friction: Floats
    by_restitution: Floats
    best: Again


def fitted(
    case: Case, tosses: Sequence[Toss], law: str, frictions: Sequence[float], restitutions: Sequence[float]
) -> Fit:
    """Friction first, which decides most, then restitution; every second toss is left out of both."""
    half = slice(0, None, 2)
    if law == "lzb":
        restitutions = [e for e in restitutions if e >= SMALLEST_RESTITUTION]
    count = len(frictions) + len(restitutions) + 1
    done = iter(range(count))

    def tried(restitution: float, friction: float) -> Again:
        case.tell(next(done) / count, law)
        return again(tosses, law, restitution, friction)

    by_friction = np.array([tried(STORED_RESTITUTION, mu).errors for mu in frictions])
    friction = estimate(frictions, by_friction[:, half])
    by_restitution = np.array([tried(e, friction[0]).errors for e in restitutions])
    restitution = estimate(restitutions, by_restitution[:, half])
    return Fit(friction, restitution, by_friction, by_restitution, tried(restitution[0], friction[0]))


def run(
    case: Case,
    laws: Sequence[str] = LAWS,
    frictions: Sequence[float] = FRICTIONS,
    restitutions: Sequence[float] = RESTITUTIONS,
    most: int | None = None,
) -> Evidence:
    """Coefficients of the cube under every law, and how far each law with its coefficients is from the film.

    Every second toss is fitted, the others are compared. Writes tosses.png, .svg, .pdf and .csv.
    """
    tosses = read_tosses(case.data or "", most)
    if len(tosses) < 4:
        raise ProblemError("data", f"{len(tosses)} tosses", "at least 4: half of them are fitted")
    fits = {law: fitted(part, tosses, law, frictions, restitutions) for part, law in case.part(0.0, 0.9).each(laws)}
    other = slice(1, None, 2)
    first = fits[laws[0]]
    e, mu = first.restitution[0], first.friction[0]
    models = {"coulomb_fixed_direction": "the fixed direction", "pyramid": "the pyramid"}
    with_model = {
        name: again(tosses, laws[0], e, mu, friction_model=name).errors[other] for name in models
    }  # fmt: skip
    smooth = again(tosses, laws[0], e, 0.0).errors[other]
    finer = again(tosses, laws[0], e, mu, steps=16).errors[other]
    rows = [Row("tosses, half of them fitted", None, float(len(tosses)))]
    for law, fit in fits.items():
        stored = (STORED_FRICTION, STORED_RESTITUTION) if law == laws[0] else (None, None)
        for name, value, theirs in zip(("friction", "restitution"), (fit.friction, fit.restitution), stored):
            rows.append(Row(f"{law}: coefficient of {name}", theirs, value[0], "", remark=f"± {value[1]:.4f}"))
    for law, fit in fits.items():
        apart = fit.best.errors[other] - first.best.errors[other]
        rows.append(error_row(f"{law}: error", fit.best.errors[other], apart, laws[0], "edges"))
    rows += [
        error_row(f"{laws[0]} with {models[name]} of friction: error", found, unit="edges")
        for name, found in with_model.items()
    ]
    rows += [
        error_row(f"{laws[0]} without friction: error", smooth, unit="edges"),
        error_row(f"{laws[0]}, time step a quarter: error", finer, unit="edges"),
        claim("friction explains the tosses better than none", distinct(smooth - first.best.errors[other])),
    ]
    files = _figure(case, tosses, fits, frictions, other)
    same = [law for law, fit in fits.items() if not distinct(fit.best.errors[other] - first.best.errors[other])]
    median = np.median(first.best.errors[other])
    spans = [float(np.ptp(by[:, other].mean(axis=1))) for by in (first.by_friction, first.by_restitution)]
    findings = (
        f"under {laws[0]} half of the cubes are at most {median:.2f} edges from the film, averaged over time",
        f"laws whose error these tosses cannot tell from that of {laws[0]}: {', '.join(same)}",
        f"the mean error changes by {spans[0]:.2f} edges over the tried coefficients of friction, and by {spans[1]:.2f}"
        " over those of restitution",
    )
    return Evidence(tuple(rows), files, findings, {"frictions": steps(frictions), "restitutions": steps(restitutions)})


def error_row(
    quantity: str, found: Floats, apart: Floats | None = None, first: str = "", unit: str = "of the speed before"
) -> Row:
    """The row of a mean error with its standard error; `apart` are its differences to the errors of the law `first`."""
    remark = f"± {spread(found):.4f}; median {np.median(found):.3f}"
    if apart is not None and apart.any():
        remark += f"; minus that of {first}: {apart.mean():+.4f} ± {spread(apart):.4f}"
    return Row(quantity, None, float(found.mean()), unit, remark=remark)


def steps(places: Sequence[float]) -> str:
    """Equal steps in words."""
    return f"{places[0]:g} to {places[-1]:g} in steps of {(places[-1] - places[0]) / (len(places) - 1):g}"


def spread(values: Floats) -> float:
    """The standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def distinct(differences: Floats) -> bool:
    """Whether the mean is more than three standard errors from zero."""
    return bool(abs(differences.mean()) > 3.0 * spread(differences))


def _figure(
    case: Case, tosses: Sequence[Toss], fits: dict[str, Fit], frictions: Sequence[float], other: slice
) -> tuple[Path, ...]:
    first = next(iter(fits.values()))
    found = first.best.errors
    typical = int(np.argsort(found)[len(found) // 2])
    film = tosses[typical].position[:, 2][: len(first.best.position)]
    time = np.arange(len(film)) / RATE
    with styled(3, height=3.2) as (figure, (left, middle, right)):
        for law, fit in fits.items():
            mean = fit.by_friction[:, other].mean(axis=1)
            left.plot(frictions, mean, **law_style(law) | {"markerfacecolor": "white"}, label=law)
        left.set(xlabel="coefficient of friction", ylabel="mean error in edges", title="(a) friction decides")
        for k, (law, fit) in enumerate(fits.items()):
            value = fit.best.errors[other]
            middle.errorbar(k, value.mean(), 3.0 * spread(value), **law_style(law), markersize=5, capsize=3)
        middle.set(xticks=range(len(fits)), ylabel="mean error in edges", title="(b) each law at its best")
        middle.set_xticklabels(list(fits), rotation=60, ha="right")
        middle.set_ylim(0.0, None)
        right.plot(time, 100.0 * film, color=GRAY, linewidth=3.0, label="film")
        right.plot(time, 100.0 * first.best.position[: len(film), typical, 2], color=CYCLE[0], label=next(iter(fits)))
        right.set(xlabel="time, s", ylabel="height of the center, cm", title="(c) a toss of median error")
        right.legend()
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=8, handlelength=2.5)
        columns: dict[str, Any] = {"friction": frictions}
        columns |= {f"{law} (edges)": fit.by_friction[:, other].mean(axis=1) for law, fit in fits.items()}
        return write(figure, case.out, "tosses", columns)

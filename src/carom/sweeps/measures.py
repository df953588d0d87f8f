"""Measurements of a sweep by name: functions of a Trajectory that return a number, a text, or several by name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..analysis import granular, runs
from ..analysis.run_momentum import Drift, angular_momentum_drift, momentum_drift
from ..errors import ProblemError
from ..scene.boundaries import Container
from ..scene.model import Scene
from ..scene.motion import Table, Vibrating
from ..scene.shapes import Sphere
from ..solvers.rows import Floats
from ..trajectory import Trajectory
from .source import function_of, own_function

Measured = Any  # a number, text, true, false, None, or a mapping of names to such


@dataclass(frozen=True)
class Measure:
    """A measurement of the library. `suits` says what a scene must have, or returns an empty text."""

    function: Callable[[Trajectory], Measured]
    line: str
    suits: Callable[[Scene], str] | None = None


@dataclass(frozen=True)
class Column:
    """A measurement of a sweep: one column, or several that begin with its name.

    Of a user's file the text is kept, so that workers on other machines need no copy of the file.
    """

    name: str
    library: str | None = None
    file: str | None = None
    code: str | None = None
    function: Callable[[Trajectory], Measured] | None = None

    def check(self, scene: Scene) -> None:
        """Raises ProblemError if the measurement is not defined for the scene."""
        suits = None if self.library is None else MEASURES[self.library].suits
        missing = suits(scene) if suits is not None else ""
        if missing:
            raise ProblemError("measure", self.name, f"a measurement for {scene.name!r}: this one needs {missing}")

    @property
    def record(self) -> dict[str, Any]:
        """For the fingerprint of the sweep."""
        if self.code is not None:
            return {"name": self.name, "sha256": hashlib.sha256(self.code.encode()).hexdigest()}
        return {"name": self.name, "function": self.library or _title(self.function)}

    def measured(self, run: Trajectory) -> dict[str, Any]:
        """The columns of one run."""
        if self.library is not None:
            found = MEASURES[self.library].function(run)
        elif self.code is not None:
            found = function_of(str(self.file), self.name, self.code)(run)
        else:
            assert self.function is not None
            found = self.function(run)
        if isinstance(found, Mapping):
            return {f"{self.name}_{key}": _scalar(f"{self.name}.{key}", value) for key, value in found.items()}
        return {self.name: _scalar(self.name, found)}


def measures_of(given: Any) -> list[Column]:
    """The measurements that a plan names. Raises ProblemError for those that do not exist."""
    items = [given] if isinstance(given, str) or callable(given) else given
    if not isinstance(items, list | tuple) or not items:
        raise ProblemError("measure", given, f"names, or file.py:function, or functions; known: {', '.join(MEASURES)}")
    out = [_column(item) for item in items]
    names = [column.name for column in out]
    for name in names:
        if names.count(name) > 1:
            raise ProblemError("measure", name, "every name once")
    return out


def _column(item: Any) -> Column:
    if callable(item):
        return Column(getattr(item, "__name__", type(item).__name__), function=item)
    if not isinstance(item, str):
        raise ProblemError("measure", item, "a name, file.py:function, or a function")
    if ".py:" in item:
        file, _, name = item.rpartition(":")
        return Column(name, file=file, code=own_function(item)[1])
    if item not in MEASURES:
        raise ProblemError.unknown("measure", item, MEASURES)
    return Column(item, library=item)


def _title(function: Any) -> str:
    return f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', function)}"


def _scalar(name: str, value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.item() if value.size == 1 else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ProblemError(name, value, "a number, a text, true or false, or a mapping of names to them")


# ---- measurements


def _largest(values: Floats) -> float:
    return float(np.max(values, initial=0.0))


def _drift(drift: Drift) -> float | None:
    return _largest(drift.value) if drift.conserved else None


def _contact_number(run: Trajectory) -> float:
    numbers = granular.contact_numbers(run.world, run.last)
    return float(numbers[run.world.free].mean())


def _impacts(run: Trajectory) -> tuple[float, float, float]:
    """Rate of the impacts, the energy that they have lost, and the largest impulse of one; those not listed count."""
    if run.events is None or run.unlisted_events is None:
        raise ProblemError("measure", "a run without events", "a run that records them")
    found, rest = run.events.impacts, run.unlisted_events
    span = run.last.time - float(run.time[0])
    rate = (len(found) + int(rest.counts[0])) / span if span > 0.0 else 0.0
    largest = max(_largest(np.linalg.norm(found.impulse, axis=1)), rest.largest)
    return rate, float(found["energy"].sum()) + rest.energy, largest


def _demon(run: Trajectory) -> float:
    return float(runs.sides(run).fuller[-1])


def _floor(scene: Scene) -> granular.Sides:
    """The periodic floor of a layer."""
    sides = scene.periodic
    assert sides is not None
    assert sides.x is not None
    assert sides.y is not None
    return (sides.x[0], sides.x[1]), (sides.y[0], sides.y[1])


def _is_layer(scene: Scene) -> str:
    sides = scene.periodic is not None and scene.periodic.x is not None and scene.periodic.y is not None
    return "" if scene.dimension == 3 and sides else "3D and periodic x and y"


def _pattern(run: Trajectory) -> dict[str, Any]:
    """The pattern with the largest contrast of the last two periods of the plate; without a plate, that of the end."""
    speeds = [b.motion.frequency for b in run.scene.boundaries if isinstance(b.motion, Vibrating)]
    _, best, _ = granular.clearest_map(run, _floor(run.scene), 1.0 / speeds[0] if speeds else 0.0)
    diameter = 2.0 * run.world.length_scale
    return {"kind": best.kind, "wavelength": best.wavelength / diameter, "contrast": best.contrast / diameter}


def _container(scene: Scene) -> Container | None:
    found = [b for b in scene.boundaries if isinstance(b, Container)]
    return found[0] if found and scene.dimension == 3 else None


def _has_container(scene: Scene) -> str:
    return "" if _container(scene) is not None else "3D and a container"


def _repose(run: Trajectory) -> dict[str, float]:
    box = _container(run.scene)
    assert box is not None
    floor = ((box.lower[0], box.upper[0]), (box.lower[1], box.upper[1]))
    slope = granular.angle_of_repose(run.last.position[run.geometry["free"]], floor)
    return {"mean": slope.mean, "spread": slope.spread}


def _has_spheres(scene: Scene) -> str:
    same = all(isinstance(group.shape, Sphere) for group in scene.bodies if group.motion is None)
    return "" if same and _container(scene) is not None else "spheres in a 3D container"


def _packing_fraction(run: Trajectory) -> float:
    """Volume fraction in the inner half of the container's width, up to nine tenths of the height of the centers."""
    box = _container(run.scene)
    assert box is not None
    free = run.geometry["free"]
    place, radius = run.last.position[free], run.world.shapes.radius[free]
    lower, upper = np.array(box.lower, float), np.array(box.upper, float)
    low, high = 0.75 * lower + 0.25 * upper, 0.25 * lower + 0.75 * upper
    low[2] = lower[2] + 2.0 * radius.max()
    high[2] = low[2] + 0.9 * (place[:, 2].max() - low[2])
    return granular.packing_fraction(place, 4.0 / 3.0 * np.pi * radius**3, low, high)


def _rise(scene: Scene) -> tuple[float, float] | None:
    """When the first boundary that moves by a table begins to rise, and its largest upward speed."""
    for motion in (b.motion for b in scene.boundaries if isinstance(b.motion, Table)):
        height = np.asarray(motion.y if scene.dimension == 2 else motion.z, float)
        time = np.asarray(motion.times, float)
        if len(height) and (np.diff(height) > 0.0).any():
            speed = np.diff(height) / np.diff(time)
            return float(time[:-1][speed > 0.0][0]), float(speed.max())
    return None


def _wave_speed(run: Trajectory) -> float:
    """Speed of the front that a rising container sends up. It arrives with half of the container's largest speed."""
    found = _rise(run.scene)
    assert found is not None
    return granular.wave_front(run, found[0], 0.5 * found[1]).speed


MEASURES: dict[str, Measure] = {
    "energy": Measure(lambda run: float(run.energy[-1]), "kinetic plus potential energy at the end"),
    "kinetic": Measure(lambda run: float(run.kinetic[-1]), "kinetic energy at the end"),
    "energy_drift": Measure(
        lambda run: _largest(np.abs(runs.energy_drift(run))), "largest change of the energy, over the energy scale"
    ),
    "energy_rise": Measure(
        lambda run: _largest(runs.energy_rise(run)), "largest rise of the energy above its minimum so far"
    ),
    "momentum_drift": Measure(
        lambda run: _drift(momentum_drift(run)), "of the conserved components; none if nothing is conserved"
    ),
    "angular_momentum_drift": Measure(
        lambda run: _drift(angular_momentum_drift(run)), "of the conserved components; none if nothing is conserved"
    ),
    "max_speed": Measure(lambda run: _largest(runs.fastest(run)), "of any body in any frame"),
    "overlap": Measure(
        lambda run: _largest(run.steps["overlap"]) / run.world.length_scale, "deepest of any step, in length scales"
    ),
    "residual": Measure(lambda run: _largest(run.steps["residual"]), "largest of any step"),
    "missed_steps": Measure(lambda run: len(run.missed_steps), "steps that missed the tolerance"),
    "contacts": Measure(lambda run: float(run.steps["contacts"].mean()), "mean number per step that the law treated"),
    "max_contacts": Measure(lambda run: int(run.steps["contacts"].max()), "largest number per step"),
    "iterations": Measure(lambda run: float(run.steps["iterations"].mean()), "of the law, mean per step"),
    "impact_rate": Measure(lambda run: _impacts(run)[0], "impacts per unit of time"),
    "impact_energy": Measure(lambda run: _impacts(run)[1], "kinetic energy that all impacts have lost"),
    "largest_impulse": Measure(lambda run: _impacts(run)[2], "of any impact"),
    "spread": Measure(lambda run: float(runs.spread(run)[-1]), "rms distance from the centroid at the end"),
    "symmetry_error": Measure(
        lambda run: _largest(runs.symmetry_error(run)),
        "largest of any frame, in length scales",
        lambda scene: "" if scene.symmetries else "a symmetry",
    ),
    "demon": Measure(_demon, "fraction of the bodies on the fuller side at the end"),
    "contact_number": Measure(_contact_number, "mean number of bodies and boundaries that touch a body at the end"),
    "packing_fraction": Measure(_packing_fraction, "of spheres, inside of the packing at the end", _has_spheres),
    "wave_speed": Measure(
        _wave_speed,
        "of the front in a pile whose container is lifted",
        lambda scene: "" if _rise(scene) is not None else "a boundary that rises by a table",
    ),
    "repose": Measure(_repose, "angle of repose at the end in degrees: mean and spread", _has_container),
    "pattern": Measure(_pattern, "of a layer: kind, wavelength and contrast in diameters", _is_layer),
    "state_hash": Measure(lambda run: run.state_hash, "SHA-256 of the state at the end"),
}

"""The plan of a sweep: what is varied, over which values, and the list of runs that follows. All of it is checked."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from .. import laws
from ..errors import ProblemError
from ..kernels.families import families_of_run
from ..laws.own import fingerprint, is_file, law_named
from ..resolve.response import Response
from ..scene.model import Scene
from ..settings import RUN_SETTINGS, STEPPERS
from .measures import Column, measures_of
from .source import Source, source_of

MODES = ("grid", "list", "random")
SETTINGS = tuple(name for name, setting in RUN_SETTINGS.items() if setting.axis)
RANGE = ("from", "to", "count", "scale")
SCALES = ("linear", "log")
LARGEST_PLAN = 100_000  # runs of one sweep
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One run of a sweep."""

    id: int
    parameters: dict[str, Any]  # of the scene, with the seed
    law: str
    options: dict[str, Any]  # of the law
    settings: dict[str, Any]  # of the run
    seed: int | None

    def columns(self) -> dict[str, Any]:
        """Its row of the table, as far as it is known before the run."""
        scene = {name: value for name, value in self.parameters.items() if name != "seed" or self.seed is None}
        options = {f"law.{name}": value for name, value in self.options.items()}
        settings = {f"run.{name}": value for name, value in self.settings.items()}
        seed = {} if self.seed is None else {"seed": self.seed}
        return {"id": self.id, **scene, "law": self.law, **options, **settings, **seed}


@dataclass(frozen=True)
class Plan:
    """What a sweep varies and measures.

    scene: the name of a scene of the library, a scene file, a `Scene`, or a function that returns one. `parameters` of
    the scene, `law_options` and `settings` of the run (SETTINGS) map names to values. A value is a list, a range
    {"from": a, "to": b, "count": n, "scale": "linear" or "log"}, or a single value for all runs. `law` is a name, or
    "file.py:Class" for a law of your own, or a list of them; `seeds` is a list, or a number n for 0 to n - 1. Laws and
    seeds multiply the other combinations.

    mode: "grid" combines all values with each other, the last name varies fastest. "list" takes the first value of
    every list, then the second, and so on. "random" draws `samples` combinations, uniformly from ranges and lists, with
    a generator that starts from `seed`. measure: names of MEASURES, "file.py:function", or functions of a Trajectory.
    keep: one trajectory file per run.
    """

    scene: Any
    parameters: Values = field(default_factory=dict)
    law: str | Sequence[str] | None = None
    law_options: Values = field(default_factory=dict)
    settings: Values = field(default_factory=dict)
    seeds: int | Sequence[int] | None = None
    measure: Any = ("energy_drift",)
    mode: str = "grid"
    samples: int | None = None
    seed: int = 0
    keep: bool = False

    @property
    def varied(self) -> list[str]:
        """The columns that differ between runs by the plan."""
        found = [name for name, values in self._axes() if len(values) > 1 or isinstance(values, Mapping)]
        named = [] if self.law is None or isinstance(self.law, str) or len(self.law) < 2 else ["law"]
        return found + named

    def _axes(self) -> list[tuple[str, Any]]:
        """(column, list of values or, in random mode, range) in the order of the plan."""
        out = []
        groups = (("", "parameters"), ("law.", "law_options"), ("run.", "settings"))
        for prefix, group in groups:
            table = getattr(self, group)
            if not isinstance(table, Mapping):
                raise ProblemError(group, table, "a table of names and values")
            out += [(prefix + name, _values(f"{group}.{name}", table[name], self.mode)) for name in table]
        return out


def read_plan(path: str | Path) -> Plan:
    """The plan of a TOML file. Relative paths in it are relative to its folder."""
    from ..scene.file.text import parse, read

    path = Path(path)
    document = parse(read(path, "sweep"), path.name)
    top, tables = document.pop("sweep", None), ("parameters", "law_options", "settings")
    if not isinstance(top, Mapping):
        raise ProblemError(f"{path.name}: sweep", top if top is not None else "nothing", "a table [sweep]")
    for name in document:
        if name not in tables:
            raise ProblemError.unknown(f"table of {path.name}", name, ["sweep", *tables])
    known = [f.name for f in fields(Plan) if f.name not in tables]
    for name in top:
        if name not in known:
            raise ProblemError.unknown(f"key of [sweep] in {path.name}", name, known)
    if not isinstance(top.get("scene"), str):
        raise ProblemError(f"{path.name}: sweep.scene", top.get("scene", "nothing"), "a scene, or a scene file")
    given = dict(top)
    given["scene"] = _beside(path, given["scene"])
    if "measure" in given:
        named = [given["measure"]] if isinstance(given["measure"], str) else given["measure"]
        if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
            raise ProblemError(f"{path.name}: sweep.measure", named, "a list of names")
        given["measure"] = [_beside(path, name) for name in named]
    if isinstance(given.get("law"), str | list):
        named = [given["law"]] if isinstance(given["law"], str) else given["law"]
        given["law"] = [_beside(path, name) if isinstance(name, str) else name for name in named]
    return Plan(**given, **document)


def _beside(plan: Path, name: str) -> str:
    """A path relative to the folder of the plan; other names stay as they are."""
    is_file = name.endswith((".toml", ".xml", ".urdf")) or ".py:" in name
    return str(plan.parent / name) if is_file and not Path(name).is_absolute() else name


# ---- values and combinations


def _values(field: str, given: Any, mode: str) -> Any:
    """A list of values; in random mode a range stays a range."""
    if isinstance(given, Mapping):
        return _range(field, given, mode)
    if isinstance(given, np.ndarray | list | tuple | range):
        if len(given) == 0:
            raise ProblemError(field, "an empty list", "at least one value")
        return [_plain(field, value) for value in given]
    return [_plain(field, given)]


def _range(field: str, given: Mapping[str, Any], mode: str) -> Any:
    for name in given:
        if name not in RANGE:
            raise ProblemError.unknown(f"key of the range {field}", name, RANGE)
    low, high = (_number(f"{field}.{name}", given.get(name)) for name in ("from", "to"))
    scale = given.get("scale", "linear")
    if scale not in SCALES:
        raise ProblemError.unknown(f"scale of {field}", scale, SCALES)
    if scale == "log" and not (low > 0.0 and high > 0.0):
        raise ProblemError(field, dict(given), "limits above 0 for a logarithmic scale")
    if mode == "random":
        if "count" in given:
            raise ProblemError(f"{field}.count", given["count"], "nothing: [sweep] samples gives the number of runs")
        return {"from": low, "to": high, "scale": scale}
    count = given.get("count")
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= LARGEST_PLAN:
        raise ProblemError(f"{field}.count", count, f"a whole number from 1 to {LARGEST_PLAN:,}")
    space = np.geomspace if scale == "log" else np.linspace
    return space(low, high, count).tolist()


def _number(field: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise ProblemError(field, value, "a finite number")
    return float(value)


def _plain(field: str, value: Any) -> Any:
    """A value as JSON has it: NumPy scalars and arrays converted, tuples as lists."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, tuple):
        value = list(value)
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        raise ProblemError(field, value, "a number, a text, true, false, or a list of them") from None
    return value


def _combinations(plan: Plan) -> Iterator[dict[str, Any]]:
    """The combinations of all axes but laws and seeds, by column."""
    axes = plan._axes()
    if plan.mode == "random":
        yield from _drawn(plan, axes)
        return
    if plan.samples is not None:
        raise ProblemError("samples", plan.samples, 'nothing: it is for mode = "random"')
    names, lists = [name for name, _ in axes], [values for _, values in axes]
    if plan.mode == "grid":
        for chosen in itertools.product(*lists):
            yield dict(zip(names, chosen))
        return
    count = max(map(len, lists), default=1)
    for name, values in axes:
        if len(values) not in (1, count):
            raise ProblemError(name, f"{len(values)} values", f"one value or {count}, as the longest list has")
    for k in range(count):
        yield {name: values[k if len(values) > 1 else 0] for name, values in axes}


def _drawn(plan: Plan, axes: list[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
    if isinstance(plan.samples, bool) or not isinstance(plan.samples, int) or not 1 <= plan.samples <= LARGEST_PLAN:
        raise ProblemError("samples", plan.samples, f"a whole number from 1 to {LARGEST_PLAN:,}")
    if isinstance(plan.seed, bool) or not isinstance(plan.seed, int) or plan.seed < 0:
        raise ProblemError("seed", plan.seed, "a whole number from 0 up")
    chance = np.random.default_rng(plan.seed)
    for _ in range(plan.samples):
        yield {name: _draw(chance, values) for name, values in axes}


def _draw(chance: np.random.Generator, values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values[int(chance.integers(len(values)))]
    if values["scale"] == "log":
        return float(np.exp(chance.uniform(np.log(values["from"]), np.log(values["to"]))))
    return float(chance.uniform(values["from"], values["to"]))


# ---- the checked sweep


@dataclass(frozen=True)
class Prepared:
    """A plan that has been checked: its runs, what they measure, and the kernels that they need."""

    plan: Plan
    source: Source
    cases: list[Case]
    columns: list[Column]
    families: list[str]
    record: dict[str, Any]  # the plan as JSON

    @property
    def fingerprint(self) -> str:
        """SHA-256 of everything that determines the runs, contents of files included, in hexadecimal."""
        return hashlib.sha256(json.dumps(self.record, sort_keys=True).encode()).hexdigest()


def prepared(plan: Plan) -> Prepared:
    """Checks a plan: every value of every run that can be checked without running it. Raises ProblemError."""
    if plan.mode not in MODES:
        raise ProblemError.unknown("mode", plan.mode, MODES)
    if not isinstance(plan.keep, bool):
        raise ProblemError("keep", plan.keep, "true or false")
    plan._axes()
    source, columns = source_of(plan.scene), measures_of(plan.measure)
    names, seeds = _laws(plan.law), _seeds(plan.seeds, source)
    for name in plan.settings:
        if name not in SETTINGS:
            raise ProblemError.unknown("run setting", name, SETTINGS)
    known = source.parameters
    for name in plan.parameters:
        source.check(name)
        if name == "seed" and plan.seeds is not None:
            raise ProblemError("parameters.seed", plan.parameters["seed"], "nothing beside seeds")
    if known is not None and plan.seeds is not None and "seed" not in known:
        raise ProblemError("seeds", plan.seeds, f"nothing: {source.title} has no parameter seed")
    cases, families = _cases(plan, source, names, seeds, columns)
    return Prepared(plan, source, cases, columns, families, _record(plan, source, columns))


def _cases(
    plan: Plan, source: Source, names: list[str | None], seeds: list[int | None], columns: list[Column]
) -> tuple[list[Case], list[str]]:
    cases: list[Case] = []
    families: dict[str, None] = {}
    checked: set[str] = set()
    for values in _combinations(plan):
        scene_values, options, settings = _split(values)
        for seed in seeds:
            parameters = scene_values if seed is None else {**scene_values, "seed": seed}
            scene = source.scene(parameters)
            for column in columns:
                column.check(scene)
            for name in names:
                law = scene.law if name is None else name
                if len(cases) == LARGEST_PLAN:
                    raise ProblemError("sweep", "too many combinations", f"at most {LARGEST_PLAN:,} runs")
                key = json.dumps([law, options, settings])
                if key not in checked:
                    checked.add(key)
                    _check_run(law, options, settings, scene)
                made = laws.make(law, **options)
                stepper = settings.get("stepper", scene.stepper)
                families |= dict.fromkeys(
                    families_of_run(scene, made, stepper, settings.get("friction_model", scene.friction_model))
                )
                cases.append(Case(len(cases), parameters, law, options, settings, seed))
    return cases, list(families)


def _split(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parameters of the scene, options of the law, and settings of the run."""
    options = {name[4:]: value for name, value in values.items() if name.startswith("law.")}
    settings = {name[4:]: value for name, value in values.items() if name.startswith("run.")}
    return {name: v for name, v in values.items() if not name.startswith(("law.", "run."))}, options, settings


def _check_run(law: str, options: dict[str, Any], settings: dict[str, Any], scene: Scene) -> None:
    """What `simulate` checks of law and settings."""
    made = laws.make(law, **options)
    models = ("restitution_model", "friction_model", "stepper")  # names that programs may add
    for name in (name for name in SETTINGS if name in settings and name not in models):
        RUN_SETTINGS[name].check(f"settings.{name}", settings[name])
    if settings.get("stepper", STEPPERS[0]) not in STEPPERS:
        raise ProblemError.unknown("stepper", settings["stepper"], STEPPERS)
    step = settings.get("step", scene.step)
    if settings.get("duration", scene.duration) < step:
        raise ProblemError("settings.duration", settings.get("duration"), f"at least one step of {step:g}")
    Response.of(made, settings.get("restitution_model"), settings.get("friction_model"))


def _laws(given: Any) -> list[str | None]:
    if given is None:
        return [None]
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise ProblemError("law", given, "the name of a law, or a list of names")
    unique = list(dict.fromkeys(names))
    found: list[str | None] = [law_named(name).name if is_file(name) else name for name in unique]
    if len(set(found)) < len(found):
        raise ProblemError("law", given, f"laws of different names, not {', '.join(map(str, found))}")
    return found


def _seeds(given: Any, source: Source) -> list[int | None]:
    if given is None:
        return [None]
    numbers = list(range(given)) if isinstance(given, int) and not isinstance(given, bool) else given
    if not isinstance(numbers, list | tuple | range | np.ndarray) or not len(numbers):
        raise ProblemError("seeds", given, "a number of seeds above 0, or a list of whole numbers")
    out: list[int | None] = []
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
            raise ProblemError("seeds", number, "whole numbers from 0 up")
        out.append(int(number))
    if source.parameters is None:
        raise ProblemError("seeds", given, f"nothing: {source.title} has no parameter seed")
    return out


def _record(plan: Plan, source: Source, columns: list[Column]) -> dict[str, Any]:
    axes = [[name, values] for name, values in plan._axes()]
    law = plan.law
    if law is not None:
        law = fingerprint(law) if isinstance(law, str) else list(map(fingerprint, law))
    seeds = plan.seeds if plan.seeds is None or isinstance(plan.seeds, int) else [int(s) for s in plan.seeds]
    return {
        "scene": source.record,
        "axes": axes,
        "law": law,
        "seeds": seeds,
        "mode": plan.mode,
        "samples": plan.samples,
        "seed": plan.seed if plan.mode == "random" else None,
        "measure": [column.record for column in columns],
        "keep": plan.keep,
    }

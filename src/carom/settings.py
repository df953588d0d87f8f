"""The settings of a run: everything besides the scene that determines its outcome.

What a run can be told is declared once, by `RUN_SETTINGS`. The keywords of `simulate` and `Simulation`, the keys of
[scene] in files with their JSON schema, the options of commands, the axes of sweeps and the record in trajectory files
are derived from it.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass
from typing import Annotated, Any, TypedDict, TypeVar, get_args, get_type_hints

from .errors import ProblemError

# Names of the steppers, for scene files and help texts, which must not import Numba. The classes, with title and
# guarantee, are in `carom.stepping`, whose `register` adds names.
STEPPERS = ["synchronous", "drift_safe", "time_of_impact", "substepped"]

# Which contacts the synchronous step resolves: those of the state at the end of free motion; these and the pairs that
# would pass through each other (3D); all pairs that overlap at any time of the step. None is the default of the world.
ACTIVE_SETS = ("end", "crossing", "swept")
# Which events a run records: those that its budget allows, with the sums of the others; all; none.
EVENTS = ("budget", "all", "none")
EXACT = "exact"  # the tolerance by name
EXACT_TOLERANCE = 1e-10  # what it means: far below any effect of physics, above the rounding errors of large islands
LARGEST_TOLERANCE = 0.1  # a tenth of the fastest speed: with more, contact would not stop what approaches
WHOLE_STEP = 1e-9  # fraction of a step by which a time may differ from a whole number of steps
MOST_STEPS = 10**9  # of a run: its table of steps alone would have 200 GB
LONGEST_TEXT = 1000  # characters of a name or of an option that is a text
MOST_OPTIONS, OPTION_LEVELS = 100, 4  # of a law, and lists within lists of an option
LARGEST_FLOAT, LARGEST_INTEGER = sys.float_info.max, 2**63 - 1
TOLERANCE_WORDS = f'a number above 0 up to {LARGEST_TOLERANCE:g}, or "{EXACT}"'


def tolerance_number(field: str, value: Any) -> float:
    """The tolerance of a run as a number; `field` names it in the ProblemError for any other value."""
    if isinstance(value, str):
        if value == EXACT:
            return EXACT_TOLERANCE
        raise ProblemError(field, repr(value), TOLERANCE_WORDS)
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(field, value, TOLERANCE_WORDS) from None
    if not 0.0 < number <= LARGEST_TOLERANCE:
        raise ProblemError(field, value, TOLERANCE_WORDS)
    return number


def step_count(field: str, duration: float, step: float) -> int:
    """The number of steps that a duration takes; `field` names the duration in errors."""
    number = duration / step - WHOLE_STEP
    if not number <= MOST_STEPS:
        raise ProblemError(field, duration, f"at most {MOST_STEPS:,} steps of {step:g}")
    return math.ceil(number)


# ---- the declaration: what a run can be told

# Kinds of settings: NUMBER is above 0 for runs, LIST one of texts that may be repeated.
NUMBER, NAME, TOLERANCE, FLAG, COUNT, LIST = "number", "name", "tolerance", "flag", "count", "list"


@dataclass(frozen=True)
class Setting:
    """One setting of a run: the kind of its value, and its description for scene files and for the command line."""

    kind: str
    about: str = ""  # in the JSON schema of scene files
    help: str = ""  # of the option
    metavar: str | None = None
    names: tuple[str, ...] = ()  # values of a NAME that programs cannot add to
    in_scene: bool = True  # whether [scene] has its default
    axis: bool = True  # whether sweeps vary it as a setting
    default: Any = None
    shown: bool = False  # whether the help of the option shows the default
    flag: str = ""  # of the option, if it is not the name of the setting

    def check(self, field: str, value: Any) -> Any:
        """The value in its type; `field` names it in the ProblemError for any other value."""
        if self.names:
            return _one_of(field, value, self.names)
        return KINDS[self.kind](field, value)


LAW = Setting(NAME, help="Impact law; `carom laws` lists them. FILE.py:CLASS takes one of your own.", axis=False)
DURATION = Setting(NUMBER, help="Duration of the run in units of time.", metavar="TIME")


class StepSettings(TypedDict, total=False):
    """What each step of a run depends on, as keywords of `Simulation` and `simulate`. None: the value of the scene."""

    step: Annotated[float | None, Setting(NUMBER, "time step", "Time step.", "TIME")]
    stepper: Annotated[str | None, Setting(NAME, help=f"One of {', '.join(STEPPERS)}.", metavar="NAME")]
    restitution_model: Annotated[
        str | None,
        Setting(
            NAME,
            help="Meaning of the coefficient of restitution. Default: the first model of the law.",
            metavar="NAME",
        ),
    ]
    friction_model: Annotated[str | None, Setting(NAME, help="How friction is solved.", metavar="NAME")]
    tolerance: Annotated[
        float | str | None,
        Setting(
            TOLERANCE,
            "speed that the impulses of a step may leave, relative to the fastest approach or slip before them",
            f"Speed that a step may leave at its contacts, relative to the fastest there: {TOLERANCE_WORDS}.",
            "SHARE",
        ),
    ]
    active_set: Annotated[
        str | None,
        Setting(
            NAME,
            "contacts that the stepper synchronous resolves: of the end of the step, crossing (3D), or swept",
            f"Contacts that the stepper synchronous resolves: {', '.join(ACTIVE_SETS)}.",
            "NAME",
            names=ACTIVE_SETS,
        ),
    ]


class RunSettings(StepSettings, total=False):
    """What a recorded run depends on, as keywords of `simulate`. None: the value of the scene."""

    frame_rate: Annotated[float | None, Setting(NUMBER, "frames per unit of time", "Frames per unit of time.", "RATE")]
    impulses: Annotated[
        bool,
        Setting(
            FLAG,
            help="Record all events, with periods of rest that end at each frame.",
            in_scene=False,
            axis=False,
            default=False,
        ),
    ]
    events: Annotated[
        str | None,
        Setting(
            NAME,
            help="Which events are recorded; default: budget.",
            metavar="|".join(EVENTS),
            names=EVENTS,
            in_scene=False,
            axis=False,
        ),
    ]
    threads: Annotated[
        int | None,
        Setting(
            COUNT,
            help="Maximum number of threads. Results are bitwise identical for any value.",
            metavar="N",
            in_scene=False,
            axis=False,
        ),
    ]
    seconds: Annotated[
        float | None,
        Setting(
            NUMBER,
            help="Wall time after which the run stops, to be continued with --resume.",
            metavar="SECONDS",
            in_scene=False,
            axis=False,
        ),
    ]


class CollapseSettings(TypedDict, total=False):
    """How a collapse of a tower is integrated, as keywords of `Tower.collapse`; `towers.collapse` explains them."""

    lengths: Annotated[
        str,
        Setting(
            NAME,
            help="Length constraint of the bars: original, previous or penalty.",
            metavar="NAME",
            default="original",
        ),
    ]
    coordinates: Annotated[
        str | None,
        Setting(NAME, help="reduced (three per brick) or framework (bars and joints).", metavar="NAME"),
    ]
    bracing: Annotated[
        str,
        Setting(NAME, help="Bars of the framework: minimal, braced or overbraced.", metavar="NAME", default="braced"),
    ]
    penalty: Annotated[
        float,
        Setting(NUMBER, help="Weight of the bars with --lengths penalty.", metavar="WEIGHT", default=100.0),
    ]
    edges: Annotated[
        str,
        Setting(
            NAME,
            help="Separating edge of a pair of bricks: separating, or paper (section 8.5).",
            metavar="NAME",
            default="separating",
        ),
    ]
    passes: Annotated[int | None, Setting(COUNT, help="Programs per step at most; 1 as in the paper.", metavar="N")]
    sides: Annotated[str, Setting(NAME, default="plain")]
    feedback: Annotated[bool, Setting(FLAG, default=True)]
    keep_symmetry: Annotated[bool, Setting(FLAG, default=True)]


def settings_of(owner: type) -> dict[str, Setting]:
    """The settings that a class declares, by name."""
    hints = get_type_hints(owner, include_extras=True)
    return {name: note for name, hint in hints.items() for note in get_args(hint)[1:] if isinstance(note, Setting)}


RUN_SETTINGS = {"law": LAW, "duration": DURATION, **settings_of(RunSettings)}
F = TypeVar("F", bound=Callable[..., Any])


def keywords_of(*owners: type) -> Callable[[F], F]:
    """Decorator of a function with the keywords of settings classes: its signature names them, and it has no others."""
    hints = {name: hint for owner in owners for name, hint in get_type_hints(owner).items()}
    defaults = {name: setting.default for owner in owners for name, setting in settings_of(owner).items()}

    def decorated(function: F) -> F:
        old = inspect.signature(function)
        own = [p for p in old.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        keyword = inspect.Parameter.KEYWORD_ONLY
        new = [inspect.Parameter(n, keyword, default=defaults[n], annotation=hint) for n, hint in hints.items()]
        known = {p.name for p in own} | set(hints)

        @functools.wraps(function)
        def called(*args: Any, **given: Any) -> Any:
            for name in given:
                if name not in known:
                    raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}")
            return function(*args, **given)

        called.__signature__ = old.replace(parameters=[*own, *new])  # type: ignore[attr-defined]
        return called  # type: ignore[return-value]

    return decorated


# ---- the record of a run


@dataclass(frozen=True)
class Settings:
    """Law, models, stepper, time step and tolerance. Two runs of one scene with equal settings have equal bits.

    Values are validated by CHECKS, whether a program or a file gives them. Names must be printable text: which laws,
    models and steppers exist is known where they are used, because programs may register their own.
    """

    law: str
    law_options: tuple[tuple[str, Any], ...]  # sorted (name, value) pairs
    restitution_model: str | None  # None for the default of the law
    friction_model: str | None
    stepper: str
    step: float  # time step
    steps: int
    frame_every: int  # number of steps from one recorded frame to the next
    impulses: bool  # whether periods of rest end with each frame, so that frames have the impulses since the last one
    # Speed that the impulses of a step may leave, relative to the fastest approach or slip before them; None for
    # engines with bounds of their own, such as towers.
    tolerance: float | None = None
    active_set: str | None = None  # one of ACTIVE_SETS; None for steppers that do not have the choice
    events: str = "none"  # one of EVENTS

    def __post_init__(self) -> None:
        for name, check in CHECKS.items():
            object.__setattr__(self, name, check(f"settings.{name}", getattr(self, name)))
        if not math.isfinite(self.duration):
            raise ProblemError("settings.step", self.step, f"a time step of which {self.steps:,} are a finite time")

    @property
    def duration(self) -> float:
        """Simulated time of the whole run."""
        return self.step * self.steps

    @property
    def recorded_impulses(self) -> str:
        """Of which steps the impulses are recorded, for summaries; empty if they are not."""
        if not self.impulses or self.events != "none":
            return "of every step" if self.impulses else ""
        # Of an older version:
        share = f"of the step before each frame only, one step in {self.frame_every:,}"
        return "of every step" if self.frame_every == 1 else share

    def as_dict(self) -> dict[str, Any]:
        """The settings as JSON values, for a file."""
        return {**asdict(self), "law_options": dict(self.law_options)}

    @classmethod
    def from_dict(cls, data: Any) -> Settings:
        """The settings that `as_dict` wrote; unknown entries are ignored. Raises ProblemError for anything else."""
        if not isinstance(data, Mapping):
            raise ProblemError("settings", data, "a table of settings")
        known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
        for name, field in cls.__dataclass_fields__.items():
            if name not in data and field.default is MISSING:
                raise ProblemError(f"settings.{name}", "nothing", "a value")
        options = known["law_options"]
        if not isinstance(options, Mapping):
            raise ProblemError("settings.law_options", options, "a table of options")
        return cls(**{**known, "law_options": tuple(sorted(options.items()))})


# ---- checks: each returns the value in its type, or raises ProblemError


def _text(field: str, value: Any, what: str = "a name") -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT or not value.isprintable():
        shown = repr(value) if isinstance(value, str) else value
        raise ProblemError(field, shown, f"{what} of at most {LONGEST_TEXT} printable characters")
    return value


def _name(field: str, value: Any) -> str:
    if value == "":
        raise ProblemError(field, "''", "a name")
    return _text(field, value)


def _optional(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda field, value: None if value is None else check(field, value)


def _positive(field: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= LARGEST_FLOAT:
        raise ProblemError(field, value, "a finite number above 0")
    return float(value)


def _count(field: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_STEPS:
        raise ProblemError(field, value, f"a whole number from 1 to {MOST_STEPS:,}")
    return int(value)


def _flag(field: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ProblemError(field, value, "true or false")
    return value


def _options(field: str, value: Any) -> tuple[tuple[str, Any], ...]:
    if not isinstance(value, tuple) or len(value) > MOST_OPTIONS:
        raise ProblemError(field, value, f"at most {MOST_OPTIONS} options by name")
    return tuple((_name(field, name), _option(f"{field}.{name}", item)) for name, item in value)


def _option(field: str, value: Any, level: int = 0) -> Any:
    """An option of a law: a truth value, a number, a text, nothing, or lists and tables of these."""
    if isinstance(value, list | tuple | Mapping) and level < OPTION_LEVELS:
        named = value.items() if isinstance(value, Mapping) else enumerate(value)
        for name, item in named:
            if isinstance(value, Mapping):
                _name(field, name)
            _option(f"{field}.{name}", item, level + 1)
    elif isinstance(value, str):
        _text(field, value, "a text")
    elif value is not None and not isinstance(value, bool):
        number = isinstance(value, int | float) and value == value  # which NaN is not
        if not number or (isinstance(value, int) and abs(value) > LARGEST_INTEGER):
            raise ProblemError(field, value, "a number (integers below 2^63), a text, true, false, or a list of these")
    return value


def _one_of(field: str, value: Any, names: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in names:
        shown = repr(value) if isinstance(value, str) else value
        raise ProblemError(field, shown, f"one of {', '.join(names)}")
    return value


KINDS = {NUMBER: _positive, NAME: _name, TOLERANCE: tolerance_number, FLAG: _flag, COUNT: _count}
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "law": LAW.check,
    "law_options": _options,
    "steps": _count,
    "frame_every": _count,
    **{
        name: setting.check if name in ("step", "stepper", "impulses", "events") else _optional(setting.check)
        for name, setting in settings_of(RunSettings).items()
        if name in Settings.__dataclass_fields__
    },
}

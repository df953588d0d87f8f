"""The table of events of a run: as stored, within its budget, and as users see it.

A run records its events within a budget: BUDGET_SHARE of the bytes of its frames and steps so far, and always RESERVE.
Where a step has more events than are left, its weakest ones are not listed: their number, their energy and the momentum
that they have given to each body are summed, so that the momentum of every body is still explained.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..settings import Settings
from ..solvers.rows import Floats, Ints
from ..stepping import events as rows_of
from ..stepping.events import COLUMNS, DIRECTION, EMITTED, ENERGY, IMPULSE, KINDS, NO_BODY, PLACE
from ..stepping.report import STATUSES, ContactImpulses, step_table
from ..world import State, World

BUDGET_SHARE = 0.12  # of the bytes of frames and steps: with what checkpoints hold less than a fifth of a file
RESERVE = 1 << 18  # bytes that are always allowed: those of a short run, beside the constant parts of a file
FIRST_ROWS = 1 << 10  # of a chunk: runs with few events stay small
AXES = "xyz"
STEP_ROUNDING = 1e-6  # of a step, by which the time of a beginning may be below a whole number of steps
# Entries of the counter of a checkpoint: events that are listed; by kind those that are not; the step at which the run
# began; open periods of rest.
COUNTS = ("listed", "impacts", "rests", "corrections", "first", "held")
PERIOD_BYTES = int(2.5 * 8 * (1 + rows_of.REST_COLUMNS))  # of an open period in both checkpoints, with room to grow

# Stored name, column of the rows of numbers, type. Vectors have one column per axis. What is needed to explain momenta
# is stored in double precision.
SCALARS: tuple[tuple[str, int, Any], ...] = (
    ("time", rows_of.TIME, np.float64),
    ("step", rows_of.STEP, np.int32),
    ("first", rows_of.BODY, np.int32),
    ("second", rows_of.OTHER, np.int32),
    ("gap", rows_of.GAP_THEN, np.float32),
    ("approach", rows_of.APPROACH, np.float32),
    ("separation", rows_of.SEPARATION, np.float32),
    ("energy", ENERGY, np.float32),
    ("duration", rows_of.DURATION, np.float64),
    ("kind", rows_of.KIND, np.int8),
    ("status", rows_of.STATUS, np.int8),
)
VECTORS: tuple[tuple[str, int, Any], ...] = (
    ("point", PLACE, np.float32),
    ("normal", DIRECTION, np.float64),
    ("impulse", IMPULSE, np.float64),
)


def stored_columns(dimension: int) -> list[tuple[str, int, Any]]:
    """Name, column of the rows of numbers, and type of each stored column."""
    parts = [(f"{name}_{axis}", at + k, kind) for name, at, kind in VECTORS for k, axis in enumerate(AXES[:dimension])]
    return [*SCALARS, *parts]


def stored_table(dimension: int) -> np.dtype[Any]:
    """The type of a row of the dataset /events."""
    return np.dtype([(name, kind) for name, _, kind in stored_columns(dimension)])


def packed(rows: Floats, dimension: int) -> NDArray[Any]:
    """Rows of numbers as they are stored."""
    out = np.empty(len(rows), stored_table(dimension))
    for name, column, _ in stored_columns(dimension):
        out[name] = rows[:, column]
    return out


def unpacked(stored: NDArray[Any], dimension: int) -> Floats:
    """Stored rows as rows of numbers."""
    out = np.zeros((len(stored), COLUMNS))
    for name, column, _ in stored_columns(dimension):
        out[:, column] = stored[name]
    return out


# ---- recording


class Unlisted(NamedTuple):
    """The events that were not listed, because a step had more than the budget allows."""

    counts: Ints  # (3,) impacts, periods of rest and corrections
    energy: float  # that these impacts have lost
    largest: float  # largest impulse among them
    momentum: Floats  # (n, D) that they have given to each body

    @property
    def total(self) -> int:
        """The number of these events."""
        return int(self.counts.sum())


class Ledger:
    """Decides which events of a run are listed, and sums the others."""

    def __init__(self, world: World, state: State, settings: Settings) -> None:
        frame = 8 * sum(getattr(state, name).size for name in ("position", "orientation", "velocity"))
        self.row_bytes = stored_table(world.dimension).itemsize
        self.per_step = BUDGET_SHARE * (frame / settings.frame_every + step_table(world.dimension).itemsize)
        self.all = settings.events == "all"
        self.listed, self.first = 0, state.step
        self.held = 0  # periods of rest that were open when they were last looked through
        self.unlisted = Unlisted(np.zeros(3, np.int64), 0.0, 0.0, np.zeros((world.count, world.dimension)))

    def allowed(self, step: int) -> int:
        """The number of events that may be listed up to a step."""
        left = max(RESERVE, self.per_step * (step - self.first)) - self.held * PERIOD_BYTES
        return max(int(left // self.row_bytes), 0)

    def taken(self, rows: Floats) -> Floats:
        """Those of the rows that are listed. Rows are ordered by the steps in which they were noticed."""
        if self.all or not len(rows) or self.listed + len(rows) <= self.allowed(int(rows[0, EMITTED])):
            self.listed += len(rows)
            return rows
        parts = []
        for part in _by_step(rows):
            room = max(self.allowed(int(part[0, EMITTED])) - self.listed, 0)
            if room < len(part):
                summed = part[:, rows_of.KIND] < rows_of.SUMMED_KINDS  # appearances and removals are always listed
                if summed.all():
                    part = self._strongest(part, room)
                else:
                    room = max(room - int((~summed).sum()), 0)
                    if room < summed.sum():
                        part = np.concatenate([part[~summed], self._strongest(part[summed], room)])
            self.listed += len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _strongest(self, rows: Floats, room: int) -> Floats:
        """The `room` strongest rows; the others are summed."""
        size, old = rows_of.squares(rows), self.unlisted
        least = np.partition(size, len(size) - room)[len(size) - room] if room else np.inf
        kept, counts, energy, largest = rows_of.strongest(rows, size, float(least), room, old.momentum)
        sums = (old.counts + counts, old.energy + energy, max(old.largest, largest))
        self.unlisted = Unlisted(*sums, old.momentum)
        return rows[kept]

    def memory(self) -> dict[str, NDArray[Any]]:
        u = self.unlisted
        counts = (self.listed, *u.counts, self.first, self.held)
        made: dict[str, NDArray[Any]] = {"events_count": np.array(counts, np.int64)}
        if u.total:
            made |= {"events_unlisted": np.array([u.energy, u.largest]), "events_momentum": u.momentum.copy()}
        return made

    def remember(self, memory: dict[str, NDArray[Any]]) -> None:
        self.listed, self.unlisted = listed_count(memory), unlisted_of(memory, *self.unlisted.momentum.shape)
        self.first, self.held = (int(value) for value in _counter(memory)[4:])


def _by_step(rows: Floats) -> list[Floats]:
    """The rows of each step in which some were noticed."""
    if rows[0, EMITTED] == rows[-1, EMITTED]:
        return [rows]
    return np.split(rows, np.flatnonzero(np.diff(rows[:, EMITTED])) + 1)


def listed_count(memory: dict[str, NDArray[Any]]) -> int:
    """The number of rows of the table of events, according to a checkpoint."""
    return int(_counter(memory)[0])


def unlisted_of(memory: dict[str, NDArray[Any]], count: int, dimension: int) -> Unlisted:
    """The events that were not listed, according to a checkpoint. Raises ValueError if that is damaged."""
    counts = _counter(memory)[1:4]
    sums, momentum = memory.get("events_unlisted", np.zeros(2)), memory.get("events_momentum")
    momentum = np.zeros((count, dimension)) if momentum is None else momentum
    if sums.shape != (2,) or momentum.shape != (count, dimension) or not np.isfinite(momentum).all():
        raise ValueError("the sums of the events that are not listed do not fit the run")
    return Unlisted(counts.copy(), float(sums[0]), float(sums[1]), np.array(momentum, np.float64))


def _counter(memory: dict[str, NDArray[Any]]) -> Ints:
    counts = memory.get("events_count")
    if counts is None or counts.shape != (len(COUNTS),) or counts.dtype != np.int64 or (counts < 0).any():
        raise ValueError("the checkpoint has no number of events")
    return counts


# ---- reading


def check_rows(stored: NDArray[Any], bodies: int, boundaries: int, last: State) -> None:
    """Raises ValueError unless the rows can be events of a run with `bodies` bodies up to the state `last`."""
    first, second, kind = stored["first"], stored["second"], stored["kind"]
    known = ((second >= -boundaries) & (second < bodies)) | ((second == NO_BODY) & (kind >= rows_of.CORRECTION))
    good = (first >= 0) & (first < bodies) & known & (kind >= 0) & (kind < len(KINDS))
    good &= (stored["status"] >= 0) & (stored["status"] < len(STATUSES)) & (stored["step"] >= 0)
    good &= stored["step"] <= last.step
    rounding = STEP_ROUNDING * last.time
    good &= (stored["time"] >= -rounding) & (stored["time"] <= last.time + rounding)
    for name in stored.dtype.names or ():
        if stored.dtype[name].kind == "f":
            good &= np.isfinite(stored[name])
    if not good.all():
        raise ValueError(f"row {int(np.argmin(good)):,} of its events is not one of this run")


def open_rows(memory: dict[str, NDArray[Any]], bodies: int, boundaries: int, step: int, dimension: int) -> Floats:
    """The rows of the periods of rest that had not ended at a checkpoint. Raises ValueError if they are damaged."""
    key, sums = memory.get("events_key"), memory.get("events_sums")
    if key is None or sums is None:
        raise ValueError("the checkpoint has no periods of rest")
    if key.ndim != 1 or key.dtype != np.int64 or sums.shape != (len(key), rows_of.REST_COLUMNS):
        raise ValueError("the periods of rest of its checkpoint are damaged")
    if sums.dtype != np.float64 or not np.isfinite(sums).all():
        raise ValueError("the periods of rest of its checkpoint are damaged")
    book = rows_of.Book(key.copy(), sums.copy(), np.full(4, -1, np.int64))
    return rows_of.swept(book, len(key), np.inf, step, (bodies + boundaries, boundaries), dimension)[1]


def check_memory(memory: dict[str, NDArray[Any]], listed: int, bodies: int, boundaries: int, last: State) -> None:
    """Raises ValueError unless a run with `listed` events can be resumed from the memory of its checkpoint `last`."""
    if listed_count(memory) != listed:
        raise ValueError("the table of events does not fit the checkpoint")
    unlisted_of(memory, bodies, last.position.shape[1])
    open_events(memory, bodies, boundaries, last)


def open_events(memory: dict[str, NDArray[Any]], bodies: int, boundaries: int, last: State) -> NDArray[Any]:
    """The periods of rest that had not ended at the checkpoint `last`, as stored and checked."""
    dimension = last.position.shape[1]
    rows = open_rows(memory, bodies, boundaries, last.step, dimension)
    with np.errstate(over="ignore", invalid="ignore"):  # of forged numbers, which do not pass the check
        stored = packed(rows, dimension)
    check_rows(stored, bodies, boundaries, last)
    return stored


def impulses_between(events: Events, begin: int, end: int, step: float) -> ContactImpulses:
    """The impulses of the steps after `begin` up to `end`; of a longer period of rest the share of these steps."""
    whole = np.asarray(events)
    first = np.floor(whole["time"] / step + STEP_ROUNDING).astype(np.int64)  # the step before the one of the beginning
    lasting = np.isin(whole["kind"], (rows_of.REST, rows_of.CORRECTION)) & (whole["step"] - first > 0)
    first = np.where(lasting, first, whole["step"] - 1)
    common = np.minimum(whole["step"], end) - np.maximum(first, begin)
    chosen = (common > 0) & (whole["kind"] < rows_of.SUMMED_KINDS)  # others are no impulses of contacts
    some, share = whole[chosen], common[chosen] / (whole["step"] - first)[chosen]
    tangent = some["tangent_impulse"] * (share if some["tangent_impulse"].ndim == 1 else share[:, None])
    return ContactImpulses(
        some["first"], some["second"], some["point"], some["normal"], some["normal_impulse"] * share, tangent
    )


class Events(np.ndarray):
    """A table of events: a structured array with the columns of `stepping.events.event_table`, ordered by time.

    `events["time"]` is a column, `events[events["kind"] == 0]` the impacts. `second` is a body, or -1 - k for boundary
    k. Impulses act on `second`, and with opposite sign on `first`.
    """

    @property
    def impulse(self) -> Floats:
        """(m, D) impulses that act on `second`, normal and tangential parts together."""
        return rows_of.impulse_of(np.asarray(self))

    @property
    def impacts(self) -> Events:
        """The impacts alone."""
        return self[np.asarray(self["kind"]) == KINDS.index("impact")]

    @property
    def rests(self) -> Events:
        """The periods of resting contact alone."""
        return self[np.asarray(self["kind"]) == KINDS.index("rest")]

    @property
    def changes(self) -> Events:
        """The appearances and removals of bodies alone."""
        return cast("Events", self[np.asarray(self["kind"]) >= rows_of.APPEARANCE])

    def momentum(self, count: int) -> Floats:
        """(count, D) momentum that the events have given to each of `count` bodies."""
        return rows_of.momentum_of(np.asarray(self), count)

    def where(self, condition: str) -> Events:
        """The events that satisfy a condition on their columns, such as "impulse > 0.1 and second < 0"."""
        from .event_filter import selected

        return cast("Events", self[selected(condition, self.columns())])

    def columns(self) -> dict[str, NDArray[Any]]:
        """One-dimensional columns by name: vectors have one per axis, and `impulse` is the size of the impulse."""
        whole, out = np.asarray(self), {}
        for name in whole.dtype.names or ():
            values = whole[name]
            if name in ("kind", "status"):
                words = np.array(KINDS if name == "kind" else STATUSES)
                out[name] = words[values]
            elif values.ndim == 1:
                out[name] = values
            else:
                out |= {f"{name}_{axis}": values[:, k] for k, axis in zip(range(values.shape[1]), AXES)}
        out["impulse"] = np.linalg.norm(self.impulse, axis=1)
        return out

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame with the columns of `columns`."""
        return _needed("pandas").DataFrame(self.columns())

    def to_arrow(self) -> Any:
        """The table as a pyarrow Table with the columns of `columns`."""
        _needed("pyarrow")
        import pyarrow

        return pyarrow.table({name: np.ascontiguousarray(values) for name, values in self.columns().items()})


def _needed(name: str) -> Any:
    """A package that a conversion needs; the error says how to install it."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        how = f"pip install {name}"
        raise ProblemError(name, "not installed", how, f"this conversion needs the package {name}: {how}") from None


def as_table(rows: Floats, dimension: int) -> Events:
    """The table of events from rows of numbers, ordered by time."""
    order = np.argsort(rows[:, rows_of.TIME], kind="stable")
    return rows_of.as_events(rows[order], dimension).view(Events)

"""The time-of-impact step: from one impact to the next, each resolved when and where it occurs (Tang 2014, sec. 2).

Worlds of discs or spheres are event-driven (`event_driven.py`). For other bodies, and where balls rest, `Interval2D`
has the motion from impact to impact in 2D; that in 3D is the drift-safe step, divided at every impact.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import ClassVar, Protocol

from ..contact.contact_set import TOUCH_FLIGHT, TOUCH_MARGIN, ContactSet, deepest_overlap
from ..contact.containment import NOTED_OVERLAP, Violation
from ..contact.detector import Detector
from ..contact.motion import displacements
from ..problem.assemble import Assembly
from ..resolve.response import Response
from ..solvers.rows import Floats
from ..solvers.thresholds import EXACT_CONTACTS
from ..world import State, World
from .drift_safe import Ahead, DriftSafe
from .event_driven import LAW_REPEATS, EventDriven, is_event_driven
from .integrator import free_motion, prescribed
from .report import SEARCH_AT_ENDS, StepReport
from .stepper import FEW_CONTACTS_TOLERANCE

IMPACTS_PER_STEP = 200  # bound on the number of impacts per step, plus ...
IMPACTS_PER_BODY = 4  # ... this many for each body
EVENT_DRIVEN_FACTOR = 200  # times as many impacts in the compiled loop, which takes microseconds for each
# Sub-steps shorter than this fraction of a step are drift-safe steps: bodies that overlap and still approach have no
# time of impact.
SHORTEST_IMPACT_STEP = 0.02
# In 3D:
NO_TIME = 1e-12  # fraction of a step or interval below which no time is left and two times are equal
MOST_SEARCH_ITERATIONS = 40  # of the search for one impact
MOTION_CLEARANCE = 0.25  # in half widths of the thinnest body: within this motion no two bodies pass each other
SMALLEST_SEARCH_STEP = 1e-3  # of the search, as a fraction of its bracket: the secant converges slowly for curved gaps


class Interval(Protocol):
    """The motion of a step from impact to impact; the recipe of `TimeOfImpact` is the same in 2D and 3D."""

    most_impacts: float  # largest bound on the number of impacts of a step

    def begin(self, state: State, h: float, report: StepReport) -> None:
        """Starts an interval of the time h at `state`, whose stages add to the report."""

    def next_impact(self) -> bool:
        """Finds the earliest impact that is left in the step; False if there is none."""

    def resolve(self) -> None:
        """Resolves that impact, and holds the contacts that rest after it."""

    def finish(self) -> None:
        """Completes the rest of the step with all its impacts resolved at one time."""

    def end(self) -> State:
        """The state at the end of the step."""

    @property
    def deepest(self) -> Violation | None:
        """The deepest overlap that held bodies had at an impact, if it is more than one that may stay."""


class TimeOfImpact(DriftSafe):
    """Moves to the earliest impact, resolves all contacts that touch there under the law, and goes on.

    Bodies do not pass through bodies or boundaries, however fast they move. All contacts that touch the bodies of an
    impact are resolved with it, so that a cradle or a rack is struck as a whole.

    Discs and spheres under gravity alone are event-driven (`EventDriven`), at a few microseconds per impact, until they
    come to rest: a contact that gravity closes, and that bounces for less than a fifth of a step (a fiftieth where no
    contact dissipates energy), is left with the rest of the step to the motion below, which also is that of other
    bodies.

    In 2D (`Interval2D`) bodies move on parabolas between impacts; a force function is taken as constant from one impact
    to the next; scripted bodies and boundaries move straight within a step. Bounces of less than a fifth of a step (a
    fiftieth where no contact dissipates energy) are taken for rest: such contacts are held, without restitution and
    with friction, until the end of the step or the next impact of a body that they hold.

    In 3D (`Interval3D`) an impact is a contact that closes faster than free fall in two steps would make it; all other
    contacts rest, and are held as in the drift-safe step from one impact to the next. Impacts are timed on the true
    paths of free motion, to the gap at which bodies count as touching, 1e-9 of the length scale. Pairs that would pass
    through each other are found by the swept test (`contact.swept`). A held body moves as the resting solve determines,
    and meets others at the end of the step at the latest.

    After 200 + 4 n impacts in one step (in 2D at most 30,000; event-driven 200 times as many), or when the step has
    done the work that it may do, the rest of it is a drift-safe step, in 2D a synchronous step if nothing is held.
    `rounds` is the number of impacts of the step; it is one above the bound if the bound was reached. For piles use
    `drift_safe`: here every small impact on a pile is an impact of the whole pile.
    """

    name: ClassVar[str] = "time_of_impact"
    title: ClassVar[str] = "every impact at its own time (Tang 2014, sec. 2)"
    guarantee: ClassVar[str] = "bodies never pass through each other; the cost grows with the number of impacts"

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.interval: Interval
        if world.dimension == 2 and world.joints is None:  # bodies move on parabolas
            from .interval_2d import Interval2D

            self.interval = Interval2D(self)
        else:
            self.interval = Interval3D(self)
        self.in_interval = False  # whether the last sub-step was one from impact to impact
        self.bound = min(IMPACTS_PER_STEP + IMPACTS_PER_BODY * world.count, self.interval.most_impacts)
        self.events = EventDriven(self) if is_event_driven(world, response) else None

    def step(self, state: State) -> tuple[State, StepReport]:
        if self.events is None:
            return super().step(state)
        self.watch(state)
        report, bound = self.begin(), EVENT_DRIVEN_FACTOR * self.bound
        end, left = self.events.advance(state, self.h, int(bound), report)
        if left > NO_TIME * self.h:
            if left == self.h:
                report.substeps = 0
            end, report, _ = self._contained(end, left, report, 0)
        return self.finish(end, state.step + 1, report)

    def allowed(self, report: StepReport, count: int, found: int = 0) -> float:
        """As in other steps, but all impacts of balls with up to EXACT_CONTACTS contacts are solved to rounding."""
        if self.events is not None and count <= EXACT_CONTACTS:
            return min(self.tolerance, FEW_CONTACTS_TOLERANCE) * report.scale
        return super().allowed(report, count, found)

    def _violation(self, start: State, end: State, report: StepReport) -> tuple[Violation | None, float]:
        """As for every contained step, and also at the impacts within it: bodies that are held move straight, and what
        overlaps meanwhile may be removed by the end."""
        wrong, growth = super()._violation(start, end, report)
        if wrong is None and self.in_interval and (wrong := self.interval.deepest) is not None:
            before = self.containment.overlap(start)
            growth = wrong.share - (NOTED_OVERLAP if before is None else before.share)
        return wrong, growth

    def advance(self, state: State, h: float, report: StepReport) -> State:
        self.in_interval = h >= SHORTEST_IMPACT_STEP * self.h and report.clock.work <= self.most_work
        if not self.in_interval:
            return super().advance(state, h, report)
        self.interval.begin(state, h, report)
        impacts = 0
        while self.interval.next_impact():
            report.rounds, impacts = report.rounds + 1, impacts + 1
            if impacts > self.bound or report.clock.work > self.most_work:
                self.interval.finish()
                break
            self.interval.resolve()
        return self.interval.end()


# ---- 3D


class Interval3D:
    """The part of a step that is still ahead. `now` is the state reached, `left` the time that is left."""

    most_impacts: float = inf
    deepest: Violation | None = None  # held bodies move here as in drift-safe steps

    def __init__(self, stepper: DriftSafe) -> None:
        self.stepper, self.world = stepper, stepper.world
        self.search = ImpactSearch(self.world, self._move, stepper.touch, stepper.margin)

    def _move(self, state: State, time: float) -> State:
        return free_motion(self.world, state, time)

    def begin(self, state: State, h: float, report: StepReport) -> None:
        self.now, self.left, self.h, self.report = state, h, h, report

    def next_impact(self) -> bool:
        """Advances until contacts touch that approach faster than resting ones, or the work of the step is done.

        Searches may end without a touch, where gaps jump: those of meshes do when another of their points is nearest.
        """
        s = self.stepper
        while self.left > NO_TIME * self.h:
            self.start = prescribed(self.world, self.now, self.left)
            self.slow, _ = s.bounds(self.start, self.h)
            if self.report.clock.work > s.most_work:
                return True
            self.impact = self._impact()
            if self.impact is not None:
                return True
            self._advance()
        return False

    def resolve(self) -> None:
        """Applies the law, repeatedly while its answer leaves a fast approach, and advances to the next impact."""
        for _ in range(LAW_REPEATS):
            if self.impact is None:
                break
            found, assembly = self.impact
            self.start = self.stepper.collide(self.start, found, assembly, self.report)
            # Other vertices may approach now: contacts are detected again once these do not.
            self.impact = self._fast(found, assembly.moving(self.start.velocity)) or self._impact()
        self._advance()

    def finish(self) -> None:
        """The impacts of the rest of the step are resolved as in the drift-safe step."""
        s, report, rounds = self.stepper, self.report, self.report.rounds
        _, searched = s.bounds(self.start, self.left)
        ahead = s.look_ahead(self.start, self.left, self.slow, searched, report)
        ahead = s.resolve_impacts(ahead, report)
        report.rounds = rounds  # the rounds of the drift-safe step are not counted
        self.now, self.left = s.hold_resting(ahead, report), 0.0

    def end(self) -> State:
        return self.now

    def _impact(self) -> tuple[ContactSet, Assembly] | None:
        """The contacts that touch now, if one of them approaches fast."""
        s = self.stepper
        found = self.search.touching(self.start, self.left)
        self.report.clock.lap("detect")
        if not found.count:
            return None
        return self._fast(found, s.assemble(self.start, found, self.left, self.report))

    def _fast(self, found: ContactSet, impact: Assembly) -> tuple[ContactSet, Assembly] | None:
        """The contacts and their assembly, if one of them approaches fast."""
        return (found, impact) if (impact.contacts.speeds() < -found.larger(self.slow)).any() else None

    def _advance(self) -> None:
        """Moves to the next impact or the end of the step, with resting contacts held."""
        s, report = self.stepper, self.report
        time, iterations = self.search.next_impact(self.start, self.left, self.slow)
        report.clock.lap("detect", 1.0 + SEARCH_AT_ENDS * iterations)
        self.left -= time
        end = s.move(self.start, time, report)
        found = s.find(self.start, end, s.margin, report)
        overlap = deepest_overlap(found.table)
        report.overlap = max(report.overlap, overlap)
        impact = s.assemble(self.start, found, time, report) if found.count else None
        self.now = s.hold_resting(Ahead(self.start, end, time, self.slow, self.slow, found, impact, overlap), report)


# ---- the contacts that touch at one instant, and the time until the next impact


Move = Callable[[State, float], State]


class ImpactSearch:
    """Search for the contacts that touch now, and for the time of the next impact of bodies that do not touch yet.

    Impacts are timed on the true paths of free motion, `move(state, time)`. Pairs that would pass through each other
    within the interval are found by the swept test.

    An impact is a gap that closes faster than the resting speeds `slow` (n,) of its bodies. `touch` is the gap up to
    which bodies count as touching.
    """

    def __init__(self, world: World, move: Move, touch: float, margin: float) -> None:
        self.world, self.move, self.touch, self.margin = world, move, touch, margin
        self.detector = Detector(world)
        self.thinnest = float(world.shapes.inner.min())

    def touching(self, state: State, interval: float) -> ContactSet:
        """The contacts that touch in `state`."""
        most = self._farthest(state, self.move(state, interval))
        short = interval * min(1.0, TOUCH_FLIGHT * self.touch / most) if most > 0.0 else interval
        found = self.detector.find(state, self.move(state, short), TOUCH_MARGIN * self.touch)
        return found.take(found.gap <= TOUCH_MARGIN * self.touch)

    def next_impact(self, start: State, interval: float, slow: Floats) -> tuple[float, int]:
        """Time from `start` until the next impact, at most `interval`, and the iterations of the search.

        The bracket lies between a time without an impact and one at which a gap has closed. The next guess is the
        earliest root of the gaps, taken as linear in time, until a gap is as small as that of touching bodies. Only
        the first guess needs the swept test: until its root, and a little longer, no bodies pass through each other.
        """
        end = self.move(start, interval)
        closed = self._closed(start, end, slow, self.detector.find(start, end, self.margin))
        if closed is None:
            return interval, 0
        low, high, time = 0.0, interval, interval * closed[0]
        most = self._farthest(start, end)
        if most > MOTION_CLEARANCE * self.thinnest:
            high = min(high, time + MOTION_CLEARANCE * self.thinnest / most * interval)
        for iteration in range(MOST_SEARCH_ITERATIONS):
            if high - low <= NO_TIME * interval:
                break
            least = SMALLEST_SEARCH_STEP * (high - low)
            time = min(max(time, low + least), high - least)
            end = self.move(start, time)
            closed = self._closed(start, end, slow, self.detector.at_ends(start, end, self.margin))
            if closed is None:
                low = time
                time = 0.5 * (low + high)
                continue
            if abs(closed[1]) <= self.touch:
                return time, iteration + 1
            if closed[1] > 0.0:
                low, time = time, time * closed[0]
            else:
                high, time = time, time * closed[0]
        return high if low == 0.0 else low, iteration + 1

    def _farthest(self, start: State, end: State) -> float:
        """Largest displacement of any point of a body."""
        return displacements(self.world, start, end).largest

    def _closed(self, start: State, end: State, slow: Floats, found: ContactSet) -> tuple[float, float] | None:
        """Of the gaps that are open in `start` and (nearly) closed in `end`: earliest root and smallest value.

        The root is a fraction of the time between, and above 1 for a gap that is not quite closed. None if there is no
        such gap.
        """
        fast = found.gap - found.predicted > (end.time - start.time) * found.larger(slow)
        new = (found.gap > TOUCH_MARGIN * self.touch) & fast
        if not new.any():
            return None
        gap, then = found.gap[new], found.predicted[new]
        return float((gap / (gap - then)).min()), float(then.min())

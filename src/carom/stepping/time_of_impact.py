"""The time-of-impact step: from one impact to the next, each resolved when and where it occurs (Tang 2014, sec. 2)."""

from __future__ import annotations

from typing import ClassVar, Protocol

from ..resolve.response import Response
from ..world import State, World
from .drift_safe import DriftSafe
from .report import StepReport

IMPACTS = 200  # bound on the number of impacts per step, plus ...
IMPACTS_PER_BODY = 4  # ... this many for each body
# Sub-steps shorter than this fraction of a step are drift-safe steps: bodies that overlap and still approach have no
# time of impact.
SHORTEST = 0.02


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


class TimeOfImpact(DriftSafe):
    """Moves to the earliest impact, resolves all contacts that touch there under the law, and goes on.

    Bodies do not pass through bodies or boundaries, however fast they move. All contacts that touch the bodies of an
    impact are resolved with it, so that a cradle or a rack is struck as a whole.

    In 2D (`Interval2D`) bodies move on parabolas between impacts; a force function is taken as constant from one impact
    to the next; scripted bodies and boundaries move straight within a step. Bounces of less than a fifth of a step (a
    fiftieth where no contact dissipates energy) are taken for rest: such contacts are held, without restitution and
    with friction, until the end of the step or the next impact of a body that they hold. After 200 + 4 n impacts in one
    step (at most 30,000) the rest of it is a synchronous step, in which fast bodies may overlap.

    In 3D (`Interval3D`) an impact is a contact that closes faster than free fall in two steps would make it; all other
    contacts rest, and are held as in the drift-safe step from one impact to the next. Impacts are timed on the true
    paths of free motion, to the gap at which bodies count as touching, 1e-9 of the length scale. Pairs that would pass
    through each other are found by the swept test (`contact.swept`). A held body moves as the resting solve determines,
    and meets others at the end of the step at the latest. After 200 + 4 n impacts the rest is a drift-safe step.

    `rounds` is the number of impacts of the step; it is one above the bound if the bound was reached. For piles use
    `drift_safe`: here every small impact on a pile is an impact of the whole pile.
    """

    name: ClassVar[str] = "time_of_impact"
    title: ClassVar[str] = "every impact at its own time (Tang 2014, sec. 2)"
    guarantee: ClassVar[str] = "bodies never pass through each other; the cost grows with the number of impacts"

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.interval: Interval
        if world.dimension == 2:
            from .interval_2d import Interval2D

            self.interval = Interval2D(self)
        else:
            from .interval_3d import Interval3D

            self.interval = Interval3D(self)
        self.bound = min(IMPACTS + IMPACTS_PER_BODY * world.count, self.interval.most_impacts)

    def advance(self, state: State, h: float, report: StepReport) -> State:
        if h < SHORTEST * self.h:
            return super().advance(state, h, report)
        self.interval.begin(state, h, report)
        impacts = 0
        while self.interval.next_impact():
            report.rounds, impacts = report.rounds + 1, impacts + 1
            if impacts > self.bound:
                self.interval.finish()
                break
            self.interval.resolve()
        return self.interval.end()

"""The time-of-impact step in space: the drift-safe step, cut wherever something strikes."""

from __future__ import annotations

from typing import ClassVar

from ..contact.contact_set import ContactSet
from ..contact.find import find_contacts
from ..contact.solids.swept import travels, with_swept
from ..solvers.rows import Floats
from ..world import State
from .drift_safe import DriftSafe
from .flight import fly, landed, prescribed

SUBSTEPS = 200  # impacts in one step, besides ...
SUBSTEPS_EACH = 4  # ... so many for each body
LOOKS = 40  # times at which the gaps are looked at for one impact
SAME_TIME = 1e-12  # times this close (in parts of a step) are one
FLIGHT = 10.0  # contacts of an impact are seen again after a flight of this many touching distances, ...
CLEAR = 25.0  # ... and count up to a gap that such a flight cannot open
REPEATS = 8  # times that the law is applied to one impact


class TimeOfImpactSpace(DriftSafe):
    """Flies to the earliest impact, resolves all that touches there under the law, and goes on to the end of the step.

    An impact is what closes faster than free fall in two steps would make it: all else is rest, and is held as in the
    drift-safe step, from one impact to the next. Impacts are timed on the true paths of free flight, to the gap at
    which bodies count as touching, 1e-9 of the smallest body. Pairs that would pass through each other within a step
    are found as `contact.solids.swept` says, so nothing that flies tunnels, at any speed; a body that is held moves as
    the resting solve tells, and what it meets on the way is met at the end of the step at the latest.

    After 200 + 4 n impacts in one step the rest of it is a drift-safe step; `rounds`, the number of impacts, is one
    above that bound then.
    """

    name: ClassVar[str] = "time_of_impact"
    title: ClassVar[str] = "every impact at its own time (Tang 2014, s. 2)"

    def step(self, state: State) -> State:
        self._clear()
        whole, number = self.h, state.step + 1
        bound = SUBSTEPS + SUBSTEPS_EACH * self.world.count
        now, left = state, whole
        try:
            while left > SAME_TIME * whole:
                self.h = left
                start = prescribed(self.world, now, left)
                slow = self._slow(start, whole)
                if self.rounds > bound:
                    self.rounds = 0  # rounds of the drift-safe step have a bound of their own
                    start, now, found, impact = self._impacts(start, slow)
                    self.rounds, left = bound + 1, 0.0
                else:
                    start = self._strike(start, slow)
                    self.h = self._next_touch(start, left, slow)
                    left -= self.h
                    now = self._timed("move", fly, self.world, start, self.h)
                    found = self.find(start, now, self.margin)
                    impact = self.assemble(start, found) if found.count else None
                self.saw(found)
                if impact is not None:
                    now = self._rest(start, now, found, impact, slow)
        finally:
            self.h = whole
        end = landed(self.world, now, number * whole, number)
        self.report(end)
        return end

    def _slow(self, state: State, whole: float) -> Floats:
        """Speeds of rest, by the length of the whole step."""
        left, self.h = self.h, whole
        slow = self._resting_speed(state)
        self.h = left
        return slow

    def _strike(self, state: State, slow: Floats) -> State:
        """The law on all contacts that touch now, again while its answer leaves something approaching fast."""
        for repeat in range(REPEATS):
            found = self.find(state, fly(self.world, state, self._short(state)), CLEAR * self.touch)
            found = found.take(found.gap <= CLEAR * self.touch)
            if not found.count:
                break
            impact = self.assemble(state, found)
            if not (impact.contacts.speeds() < -self._resting_speeds(found, slow)).any():
                break
            self.rounds += repeat == 0
            state = self.collide(state, found, impact)
        return state

    def _short(self, state: State) -> float:
        """A time in which nothing moves farther than some touching distances."""
        end = fly(self.world, state, self.h)
        solids = self.world.shapes_3d
        way = travels(state.position, end.position, state.orientation, end.orientation, solids.round, solids.radius)
        most = float(way.max(initial=0.0))
        return self.h * min(1.0, FLIGHT * self.touch / most) if most > 0.0 else self.h

    def _next_touch(self, start: State, left: float, slow: Floats) -> float:
        """The time until the next impact of bodies that do not touch yet, at most `left`.

        Between a time without touch and one by which something has closed, the earliest root of the gaps as they are
        seen at both, until a gap is as small as that of touching bodies.
        """
        closed = self._closed(start, left, slow)
        if closed is None:
            return left
        low, high, time = 0.0, left, left * closed[0]
        for _ in range(LOOKS):
            if high - low <= SAME_TIME * left:
                break
            # The secant may creep along a curved gap: never less than a thousandth of what is left to search.
            time = min(max(time, low + 1e-3 * (high - low)), high - 1e-3 * (high - low))
            closed = self._closed(start, time, slow)
            if closed is None:
                low = time
                time = 0.5 * (low + high)
                continue
            if abs(closed[1]) <= self.touch:
                return time
            if closed[1] > 0.0:
                low, time = time, time * closed[0]
            else:
                high, time = time, time * closed[0]
        return high if low == 0.0 else low

    def _closed(self, start: State, time: float, slow: Floats) -> tuple[float, float] | None:
        """Of the gaps that are open now and (nearly) closed fast after `time`: the earliest root, the least value.

        The root is in parts of `time`, and above 1 for a gap that is not quite closed.
        """
        end = self._timed("move", fly, self.world, start, time)
        found = self._timed("detect", self._found, start, end)
        fast = found.gap - found.predicted > time * self._resting_speeds(found, slow)
        new = (found.gap > CLEAR * self.touch) & fast
        if not new.any():
            return None
        gap, then = found.gap[new], found.predicted[new]
        return float((gap / (gap - then)).min()), float(then.min())

    def _found(self, start: State, end: State) -> ContactSet:
        return with_swept(self.world, start, end, find_contacts(self.world, start, end, self.margin))

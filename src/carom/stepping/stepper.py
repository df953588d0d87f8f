"""The bases of steppers: `Stepper` has the stages that steps share, `Contained` keeps bodies apart.

A contained step that does not keep bodies apart is repeated in two halves, each of which is tested in the same way.
Half the time means half the motion, so that sub-steps resolve the impacts that a step has missed one after the other.
Sub-steps are steps of the same stepper, so that whatever it conserves or never adds holds for them. A step whose solver
misses its tolerance is repeated in the same way, with fewer impacts at a time, down to length SHORTEST_RETRY.

Bodies that press on each other may also creep into each other, by curvature or because an island lacks the energy to
be pushed apart. Shorter steps do not help there. Such a step is accepted, with the status `not_converged` while the
overlap is larger than LARGEST_OVERLAP. The run ends with a message where bodies pass through each other or overlap by
more than DEEPEST_OVERLAP.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..contact.boundaries import boundaries_at
from ..contact.contact_set import ContactSet
from ..contact.containment import NOTED_OVERLAP, Containment, Violation
from ..contact.detector import Detector
from ..errors import ProblemError
from ..kernels import kernel, lean
from ..laws.inelastic import inelastic
from ..problem.assemble import Assembly, assemble_contacts, through_joints
from ..problem.contacts import FINISHED_INELASTICALLY, NOT_CONVERGED, Contacts, Impulses, worse
from ..problem.patches import patch_shares
from ..resolve.impulses import resolve
from ..resolve.response import Response
from ..settings import RUN_SETTINGS
from ..solvers.rows import Floats, Ints, row_speed
from ..solvers.thresholds import EXACT_CONTACTS, EXACT_IMPACT_CONTACTS
from ..world import State, World
from .integrator import end_of_step, free_motion
from .report import (
    STATUSES,
    Clock,
    StageImpulses,
    StepReport,
    Stretch,
    WarmStart,
    check_warm_start,
    combined,
    step_table,
    totals,
)

if TYPE_CHECKING:
    from .quiet import QuietSteps

NO_TANGENTS = np.empty((0, 0))
TOUCHING_GAP = 1e-9  # gap, relative to the length scale of the world, up to which bodies count as touching
FEW_CONTACTS_TOLERANCE = 1e-12  # for stages with few contacts: it costs little, and bodies at rest lose no energy
# Work of an impact, relative to the kinetic energy of its bodies: more is taken back, up to a share of the impulses.
WORK_ROUNDING, TAKEN_BACK = 1e-14, 1e-9
APPROACH_NOISE = 1e-12  # approach, relative to the fastest body, that is rounding: touching bodies that move together

# Overlap of contained steps, in half widths of the smaller body.
MEASURED_OVERLAP = 1e-3  # from which on the step table has the exact overlap
LARGEST_OVERLAP = 0.05  # in a step that reports success
DEEPEST_OVERLAP = 0.25  # in any step
OVERLAP_CREEP = 0.01  # growth per step that shorter steps need not prevent
STILL_MOTION = 1e-3  # displacement, in half widths of the two bodies, below which shorter sub-steps do not help
SHORTEST_RETRY = 0.25  # length of a sub-step, relative to the step, down to which one that misses its tolerance is cut
SHORTEST_SUBSTEP = 1e-7  # relative to the step: shorter ones are not cut
MOST_ATTEMPTS = 4000  # bound on the sub-steps that are tried per step

# Bound on the work of a step, in multiplications: less than a second for up to 50 bodies. Once a step has done it,
# impacts are inelastic and without friction, which is one solve each; once it has done CUTTING_WORK times as much,
# sub-steps that do not keep bodies apart are no longer cut.
STEP_WORK, STEP_WORK_PER_BODY, CUTTING_WORK = 4e7, 8e5, 2.0
BARELY_SPENT = 1.0 + 1e-9  # of that bound: more than it
ATTEMPT_WORK = 4e4  # of a sub-step that is tried, besides its stages: Python and the test of containment


# Gain of energy, relative to what the start of a run and its moving boundaries explain, at which a run under a law that
# does not claim KIN is stopped: bodies are a hundred times too fast.
RUNAWAY_GAIN = 1e4


class Stepper:
    """Base of the steppers. A subclass defines `name`, `title`, `guarantee` and `step`.

    `step(state)` returns the state after the time step `h`, and the report of the step. A step begins with `begin`,
    passes its report to the stages below, which add to it, and ends with `finish`.
    """

    name: ClassVar[str]
    title: ClassVar[str]  # one line for lists
    guarantee: ClassVar[str] = ""  # what it conserves or prevents, one line for lists
    has_active_set: ClassVar[bool] = False  # whether a run may choose which contacts are active
    active_set: str | None = None  # one of `settings.ACTIVE_SETS`; None where there is no choice

    def __init__(self, world: World, response: Response, step: float) -> None:
        self.world, self.response, self.h = world, response, step
        self.masses, self.surfaces = world.masses, world.surfaces  # made here, and not in the first step
        self.tolerance = response.tolerance
        self.fall = float(np.linalg.norm(world.gravity))
        self.touch = TOUCHING_GAP * world.length_scale
        self.detector = Detector(world)
        self.warm_start: WarmStart | None = None  # of steppers that hold resting contacts
        self.explained: tuple[float, float] | None = None  # energy at the start of the run, and the scale of gains
        self.most_work = max(STEP_WORK, STEP_WORK_PER_BODY * world.count)

    def step(self, state: State) -> tuple[State, StepReport]:
        """The state one time step later, and the report of the step."""
        raise NotImplementedError(f"{type(self).__name__} must define step(state)")

    def stretch(self, state: State, most: int) -> Stretch:
        """The next step, or up to `most` steps in which nothing happens but free flight and rest (`quiet.py`)."""
        quiet = None if self.quiet is None else self.quiet.steps(state, most)
        if quiet is not None:
            return quiet
        end, report = self.step(state)
        return Stretch((end,), (report.row,), report)

    @cached_property
    def quiet(self) -> QuietSteps | None:
        """What makes the quiet steps of small worlds; None if the steps of this one are all made by `step`."""
        from .quiet import quiet_steps  # late: it imports the steppers

        return quiet_steps(self)

    def choose_active_set(self, name: str) -> None:
        """Sets which contacts are active."""
        name = RUN_SETTINGS["active_set"].check("active_set", name)
        if not self.has_active_set:
            raise ProblemError("active_set", name, f"no value: the stepper {self.name} does not have the choice")
        if name == "crossing" and self.world.dimension == 2:
            raise ProblemError("active_set", name, "end or swept in 2D")
        self.active_set = name

    def memory(self) -> dict[str, np.ndarray]:
        """Arrays besides the state on which the next step depends; they are stored in checkpoints."""
        return {} if self.warm_start is None else {f"rest_{k}": v for k, v in self.warm_start._asdict().items()}

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Restores the arrays of a checkpoint, which may be those of a stranger's file."""
        if self.warm_start is not None and {"rest_key", "rest_impulse"} <= memory.keys():
            kept = WarmStart(memory["rest_key"], memory["rest_impulse"])
            check_warm_start(kept, self.world)
            self.warm_start = WarmStart(kept.key.copy(), kept.impulse.copy())

    # ---- stages of a step

    def begin(self) -> StepReport:
        """The report of a step in which nothing has happened yet."""
        report = StepReport(self.world.dimension, 2.0 * self.h * self.fall, Clock(self.world), [])
        if self.warm_start is not None:
            report.warm_start = self.warm_start
        return report

    def start(self, state: State) -> StepReport:
        """The report on a state before the first step."""
        report = self.begin()
        report.finish(self.world, state)
        return report

    def move(self, state: State, step: float, report: StepReport, turning: bool = True) -> State:
        """The state after free motion for a time; without `turning` for the search of contacts of round bodies."""
        end = free_motion(self.world, state, step, turning)
        report.clock.lap("move")
        return end

    def find(self, before: State, after: State, margin: float | Floats, report: StepReport) -> ContactSet:
        """Contacts with a gap of at most `margin` in `after`; in 3D also of pairs that pass through each other."""
        found = self.detector.find(before, after, margin)
        report.clock.lap("detect")
        return found

    def assemble(self, state: State, found: ContactSet, step: float, report: StepReport) -> Assembly:
        """The impact of the contacts `found`; boundaries move at their mean velocity in the coming time `step`."""
        impact = self.assemble_contacts(state, found, step, report)
        return self.through_joints(impact, state, found, step, report) if impact.direct else impact

    def through_joints(
        self, impact: Assembly, state: State, found: ContactSet, step: float, report: StepReport
    ) -> Assembly:
        """Direct contacts as rows on the motions that joints allow."""
        impact = through_joints(impact, state)
        if impact.jammed is not None:
            _note_jammed(impact.jammed, found, step, report)
        report.clock.lap("assemble")
        return impact

    def assemble_contacts(self, state: State, found: ContactSet, step: float, report: StepReport) -> Assembly:
        """As `assemble`, with direct rows in a world with joints."""
        world = self.world
        moving = boundaries_at(world, state.time, step)[0] if world.moving_boundaries else world.boundaries
        impact = assemble_contacts(world, state, found, moving)
        if getattr(self.response.law, "patch_weights", False):
            impact = replace(
                impact, weights=patch_shares(np.stack([found.first, found.second], axis=1), found.point, found.normal)
            )
        report.clock.lap("assemble")
        return impact

    def collide(self, state: State, found: ContactSet, impact: Assembly, report: StepReport) -> State:
        """The state with the velocities after the impact of all contacts under the law."""
        report.scale = max(report.scale, fastest_speed(impact.rows, impact.velocity))
        _, after = self.resolve(impact.contacts, found, None, state.time, report)
        velocity = impact.unwhitened(after, state.velocity)
        return State(state.time, state.step, state.position, state.orientation, velocity)

    def resolve(
        self, contacts: Contacts, found: ContactSet, chosen: Ints | None, time: float | Floats, report: StepReport
    ) -> tuple[Impulses, Floats]:
        """The impulses of an impact under the law, and the whitened velocities (n, d) after it.

        `contacts` are the contacts `chosen` of `found`, or all of them; `time` is when they are struck, together or
        each one.
        """
        fastest, m = contacts.fastest(), len(contacts.restitution)
        if not (report.pushed or report.stages):  # bodies fall until the time of the first impact
            report.scale = max(report.scale, fastest)
        left = self.allowed(report, m, len(found.table))
        spent = report.clock.work > self.most_work
        result = _inelastic(contacts, left, fastest) if spent else resolve(contacts, self.response, left)
        work = report.clock.work + result.iterations * self.response.law.iteration_work(m)
        # An application of the law that exceeds the bound does not use up the work that is left for cutting.
        report.clock.work = work if spent else min(work, BARELY_SPENT * self.most_work)
        after = contacts.after(result.normal, result.tangent)
        tangent = NO_TANGENTS if result.tangent is None else np.ascontiguousarray(result.tangent)
        about = speeds_and_energy(contacts.rows, contacts.velocity, after, result.normal, tangent)
        if about[2].sum() < 0.0 and not tangent.any() and "KIN" in self.response.law.claims:
            normal = _without_gain(contacts, result.normal, -about[2])
            if normal is not result.normal:
                result, after = replace(result, normal=normal), contacts.after(normal, result.tangent)
                about = speeds_and_energy(contacts.rows, contacts.velocity, after, normal, tangent)
        code = STATUSES.index(result.status)
        stage = StageImpulses(found, chosen, result.normal, result.tangent, time, None, about, code)
        report.note_impact(stage, result, fastest, self.tolerance)
        report.clock.lap("impact")
        return result, after

    def allowed(self, report: StepReport, count: int, found: int = 0) -> float:
        """The speed of approach or slip that a stage with `count` of the `found` contacts of the step may leave.

        Stages with few contacts are solved almost to rounding, in steps without impacts also larger ones.
        """
        few = EXACT_IMPACT_CONTACTS if report.struck or report.rounds else EXACT_CONTACTS
        exact = count <= few and found <= EXACT_CONTACTS
        return (min(self.tolerance, FEW_CONTACTS_TOLERANCE) if exact else self.tolerance) * report.scale

    def noise(self, state: State) -> float:
        """Speed of approach up to which an approach is rounding error."""
        return APPROACH_NOISE * float(fastest_component(state.velocity, self.world.dimension))

    def watch(self, start: State) -> None:
        """Notes what explains energy: that at the start of the run, a fall through its extent, moving boundaries."""
        world = self.world
        if "KIN" in self.response.law.claims or world.force is not None:
            return
        kinetic, potential = totals(world, start)[:2]
        first, scale = self.explained or (float(kinetic + potential), float(kinetic))
        mass, extent = float(world.mass[world.free].sum()), float(np.ptp(start.position, axis=0).max())
        fastest = float(np.abs(start.velocity[~world.free]).max(initial=0.0))
        if world.moving_boundaries:
            moving = np.abs(boundaries_at(world, start.time, self.h)[0].velocity)
            fastest = max(fastest, float(moving.max(initial=0.0)) * max(extent, 1.0))
        if self.explained is None:
            scale += mass * self.fall * (extent + world.length_scale)
        self.explained = first, max(scale, mass * fastest * fastest)

    def _stop_runaway(self, report: StepReport) -> None:
        """Ends a run whose energy has grown by more than RUNAWAY_GAIN: when, how much, and what to change."""
        if self.explained is None:
            return
        (first, scale), row = self.explained, dict(zip(step_table(self.world.dimension).names or (), report.row))
        gain = row["kinetic"] + row["potential"] - first
        if scale > 0.0 and not gain <= RUNAWAY_GAIN * scale:
            law, time = self.response.law.name, row["time"]
            what = f"{gain / scale:.1e} times the energy that its start and its boundaries explain"
            advice = f"a law that never adds energy, such as gr or qce (law {law!r} may)"
            text = f"stopped at time {time:g}: the bodies have gained {what}; try {advice}"
            raise ProblemError(f"step at time {time:g}", f"a gain of {what}", advice, text)

    def finish(self, end: State, number: int, report: StepReport) -> tuple[State, StepReport]:
        """The state at the end of step `number`, and the complete report."""
        end = end_of_step(self.world, end, number * self.h, number)
        report.finish(self.world, end)
        self._stop_runaway(report)
        if self.warm_start is not None:
            self.warm_start = report.warm_start
        return end, report


def _note_jammed(approach: Floats, found: ContactSet, step: float, report: StepReport) -> None:
    """Reports contacts that close within a step although no impulse can move their bodies apart.

    `approach` (m,) is the speed at which boundaries or motors drive them together.
    """
    closes = approach - np.maximum(found.gap, 0.0) / step if step > 0.0 else np.where(found.gap <= 0.0, approach, 0.0)
    left = float(closes.max(initial=0.0))
    if left > APPROACH_NOISE * report.scale:
        report.scale = max(report.scale, left)
        report.note_residual(left)
        report.note_status(NOT_CONVERGED)


def _inelastic(contacts: Contacts, tolerance: float, fastest: float) -> Impulses:
    """The impulses of the inelastic law without friction, and a status that says so."""
    result = inelastic(contacts, tolerance)
    residual = result.residual * contacts.approach() / fastest if fastest > 0.0 else 0.0
    return replace(result, residual=residual, status=worse(FINISHED_INELASTICALLY, result.status))


def _without_gain(contacts: Contacts, normal: Floats, work: Floats) -> Floats:
    """The impulses (m,), scaled by a little less than 1 on the islands whose kinetic energy their rounding raises.

    `work` (m,) is that of each impulse. Where bodies are clamped, impulses a thousand times as large as momenta cancel:
    so do errors of speeds in the last digits, times these impulses. For impulses `s z` the work is
    `s z . u + s^2 z . A z / 2`, which is 0 for `s = z . u / (z . u - W)`, with W the work for s = 1.
    """
    label, allowed = contacts.island_labels(), WORK_ROUNDING * 0.5 * float((contacts.velocity**2).sum())
    gain, first = np.bincount(label, work), np.bincount(label, normal * contacts.speeds())
    gaining = (gain > allowed) & (gain < -TAKEN_BACK * first)  # a larger gain is not one of rounding
    if not gaining.any():
        return normal
    share = np.ones(len(gain))
    share[gaining] = first[gaining] / (first[gaining] - gain[gaining])
    return share[label] * normal


@lean
def fastest_speed(rows, x):
    """The fastest approach or slip of all contacts."""
    top = 0.0
    most = min(1 + rows.tangents, rows.base.shape[1])
    for i in range(len(rows.base)):
        top = max(top, -(row_speed(rows, x, i, 0) + rows.base[i, 0]))
        for row in range(1, most):
            top = max(top, abs(row_speed(rows, x, i, row) + rows.base[i, row]))
    return top


@lean
def fastest_component(velocity, dimension):
    """The largest component of a linear velocity."""
    top = 0.0
    for i in range(len(velocity)):
        for k in range(dimension):
            top = max(top, abs(velocity[i, k]))
    return top


@kernel
def speeds_and_energy(rows, before, after, normal, tangent):
    """(3, m) normal speeds before and after an impact, and the kinetic energy that it has lost at each contact.

    The energy changes by `z . (u- + u+) / 2`, for impulses z and speeds u along the rows of the contact.
    """
    out = np.empty((3, len(normal)))
    for i in range(len(normal)):
        if normal[i] == 0.0:  # no event
            out[0, i], out[1, i], out[2, i] = 0.0, 0.0, 0.0
            continue
        base = rows.base[i, 0]
        out[0, i], out[1, i] = row_speed(rows, before, i, 0) + base, row_speed(rows, after, i, 0) + base
        work = normal[i] * (out[0, i] + out[1, i])
        for k in range(min(tangent.shape[1], rows.base.shape[1] - 1)):  # without friction there are no such rows
            slip = row_speed(rows, before, i, 1 + k) + row_speed(rows, after, i, 1 + k) + 2.0 * rows.base[i, 1 + k]
            work += tangent[i, k] * slip
        out[2, i] = -0.5 * work
    return out


class Contained(Stepper):
    """Base of steppers that keep bodies apart. A subclass defines `advance` in place of `step`."""

    def __init__(self, world: World, response: Response, step: float) -> None:
        super().__init__(world, response, step)
        self.containment = Containment(world, self.detector)
        self.keeps_apart = response.law.name != "none"  # no impulse, no containment

    def advance(self, state: State, h: float, report: StepReport) -> State:
        """The state after the time h; adds to the report."""
        raise NotImplementedError(f"{type(self).__name__} must define advance(state, h, report)")

    def step(self, state: State) -> tuple[State, StepReport]:
        self.watch(state)
        so_far = self.begin()
        so_far.substeps = 0
        end, report, _ = self._contained(state, self.h, so_far, 0)
        return self.finish(end, state.step + 1, report)

    def _contained(self, start: State, h: float, so_far: StepReport, attempts: int) -> tuple[State, StepReport, int]:
        """The state after the time h, in as few sub-steps as keep bodies apart.

        `so_far` is the report of the sub-steps before; the one of all is returned, with the number of attempts.
        """
        report, attempts = so_far.following(h / self.h), attempts + 1
        report.clock.work += ATTEMPT_WORK
        end = self.advance(start, h, report)
        self._measure_overlap(start, report)
        missed = (
            report.residual > self.tolerance and h / self.h > SHORTEST_RETRY and report.clock.work <= self.most_work
        )
        if not missed:
            wrong, growth = self._violation(start, end, report)
            spent = attempts >= MOST_ATTEMPTS or report.clock.work > CUTTING_WORK * self.most_work
            if wrong is None or spent or not self._helps(start, end, wrong, growth, h):
                self._accept(start, wrong, h, report)
                return end, combined(so_far, report), attempts
        middle, so_far, attempts = self._contained(start, 0.5 * h, so_far, attempts)
        middle = end_of_step(self.world, middle, middle.time, start.step)
        return self._contained(middle, 0.5 * h, so_far, attempts)

    def _measure_overlap(self, start: State, report: StepReport) -> None:
        """Replaces a large overlap by an exact one: gaps of contacts are those of one normal for the whole step."""
        deep = report.overlap > MEASURED_OVERLAP * self.containment.least
        if deep and self.keeps_apart and report.near is not None:
            report.overlap = self.containment.overlap_of(start, report.near)

    def _violation(self, start: State, end: State, report: StepReport) -> tuple[Violation | None, float]:
        """What was not kept apart, and by how much the deepest overlap has grown, in half widths."""
        if not self.keeps_apart:
            return None, 0.0
        known = report.deepest if report.deepest < np.inf else report.overlap
        wrong = self.containment.violation(start, end, known)
        report.clock.lap("detect")
        if wrong is None:
            return None, 0.0
        before = self.containment.overlap(start)
        return wrong, wrong.share - (NOTED_OVERLAP if before is None else before.share)

    def _helps(self, start: State, end: State, wrong: Violation, growth: float, h: float) -> bool:
        """Whether bodies that a sub-step has not kept apart may be kept apart in shorter ones."""
        if growth <= OVERLAP_CREEP * (h / self.h) or h < SHORTEST_SUBSTEP * self.h:
            return False
        moved = self.containment.displacement(start, end)
        return bool(max(moved[wrong.first], moved[wrong.second] if wrong.second >= 0 else 0.0) >= STILL_MOTION)

    def _accept(self, start: State, wrong: Violation | None, h: float, report: StepReport) -> None:
        """Records in the status of a sub-step that is not cut further what it has missed: its tolerance, or overlap."""
        if report.residual > self.tolerance:
            report.note_status(NOT_CONVERGED)
        if wrong is not None and wrong.share > LARGEST_OVERLAP:
            if wrong.share > DEEPEST_OVERLAP:
                self._stop(start, wrong, h)
            report.note_status(NOT_CONVERGED)

    def _stop(self, start: State, wrong: Violation, h: float) -> None:
        """Ends the run: which bodies, when, and what to change."""
        other = f"body {wrong.second}" if wrong.second >= 0 else f"boundary {-1 - wrong.second}"
        what = f"overlap by {wrong.overlap:.3g} ({100.0 * wrong.share:.3g} % of the smaller half width)"
        if wrong.overlap == 0.0:
            what = "pass through each other"
        law = self.response.law.name
        advice = f"a shorter time step than {self.h:g}, or a law that keeps bodies apart (the law is {law!r})"
        text = f"stopped at time {start.time:g}: body {wrong.first} and {other} {what}, even in steps of {h:.2g}"
        raise ProblemError(f"step at time {start.time:g}", what, advice, f"{text}; try {advice}")

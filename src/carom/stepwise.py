"""Simulation of a scene step by step, for programs with a loop of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import laws, stepping
from .build import build
from .changing import Change, ChangingEngine
from .checks import scalar
from .contact.boundaries import boundaries_at
from .contact.contact_set import ContactSet
from .errors import ProblemError, StopRun
from .kernels import prepare
from .kernels.families import families_of_run
from .laws import Law
from .resolve.response import DEFAULT_TOLERANCE, Response
from .scene.model import Scene, forces_of
from .settings import WHOLE_STEP, Settings, StepSettings, keywords_of, step_count, tolerance_number
from .shown import counted
from .stepping.events import as_events, step_events
from .stepping.integrator import accelerations, prescribed
from .stepping.report import ContactImpulses, step_table
from .stepping.stepper import Stepper
from .world import State, World

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .trajectory.events import Events

OPTION_TYPES: dict[Any, Any] = {"bool": bool, "int": int, "float": int | float, "str": str}  # of laws
UNIT = 1e-6  # difference from 1 up to which the length of a quaternion given by the user is accepted


class Simulation:
    """A scene that is simulated step by step, for programs with a loop of their own.

    >>> sim = carom.Simulation(carom.scenes.pool_break(), law="gr")
    >>> sim.step()
    >>> sim.run(until=1.0)
    >>> sim.state.position, sim.impulses.normal_impulse

    Arguments that are None have the value of the scene. `law` is a name or a configured law, `step` the time step.
    `tolerance` is the speed that the impulses of a step may leave, as approach or as slip against friction: a number
    above 0 up to 0.1, or "exact" (1e-10). It is relative to the fastest approach or slip at any contact of the step
    before its impulses. If the speed gained in two steps of free fall is larger, it is relative to that. `active_set`
    says which contacts the stepper synchronous resolves: "end", "crossing" (3D) or "swept". The bits of a state are
    those of `simulate` with the same arguments. The state may be replaced between two steps.
    """

    engine: Stepper | ChangingEngine
    _changes: np.ndarray | None = None  # rows of events of bodies that appeared or vanished before the last step

    @keywords_of(StepSettings)
    def __init__(self, scene: Scene, law: str | Law | None = None, **told: Unpack[StepSettings]) -> None:
        step, stepper, tolerance, active_set = (
            told.get("step"),
            told.get("stepper"),
            told.get("tolerance"),
            told.get("active_set"),
        )
        restitution_model, friction_model = told.get("restitution_model"), told.get("friction_model")
        given = None if tolerance is None else tolerance_number("tolerance", tolerance)
        _prepare_kernels(scene, law, stepper, friction_model)
        world, start = build(scene)
        chosen = laws.make(law if law is not None else scene.law)
        h = scalar("step", scene.step if step is None else step, 0.0, above=True)
        name = scene.stepper if stepper is None else stepper
        if name not in stepping.STEPPERS:
            raise ProblemError.unknown("stepper", name, stepping.STEPPERS)
        _check_rolling(world, name)
        models = _models(scene, chosen, restitution_model, friction_model)
        if given is None:
            given = DEFAULT_TOLERANCE if scene.tolerance is None else tolerance_number("tolerance", scene.tolerance)
        if active_set is None and stepping.has_active_set(name):
            active_set = scene.active_set
        self._set_up(scene, world, chosen, models, (name, active_set), h, given)
        # The functions of the scene are called once, so that a wrong one is refused before anything else is done.
        accelerations(world, prescribed(world, start, h))
        boundaries_at(world, start.time, h)
        self._begin(start)

    def _begin(self, state: State) -> None:
        if state.life is not None:
            engine = self._changing()
            engine.check_sources(state)
            self.engine = engine
        self._state, self._report = state, self.engine.start(state)

    def _changing(self) -> ChangingEngine:
        """The engine of a world whose bodies appear and vanish."""
        engine, name = self.engine, self.stepper

        def make(world: World) -> Stepper:
            return stepping.make(name, world, engine.response, self.time_step, engine.active_set)

        return ChangingEngine(self.scene, self.world, make)

    def __repr__(self) -> str:
        what = f"law {self.law.name}, stepper {self.stepper}, {counted(self.world.count, 'body', 'bodies')}"
        return f"<Simulation {self.scene.name}: {what}, step {self.state.step:,}, t = {self.time:g}>"

    def _set_up(
        self,
        scene: Scene,
        world: World,
        law: Law,
        models: tuple[str | None, str | None],
        stepper: tuple[str, str | None],
        step: float,
        tolerance: float,
    ) -> None:
        world = replace(world, force=forces_of(scene, world.mass, step))  # the step of the run, not of the scene
        self.scene, self.world, self.law = scene, world, law
        self.restitution_model, self.friction_model = models
        self.stepper, self.time_step, self.tolerance = stepper[0], step, tolerance
        response = Response.for_run(law, *models, tolerance=tolerance)
        self.engine = stepping.make(stepper[0], world, response, step, stepper[1])

    @classmethod
    def restored(cls, scene: Scene, settings: Settings, state: State, memory: dict[str, np.ndarray]) -> Simulation:
        """The simulation of an interrupted run at a checkpoint, which consists of `state` and `memory`."""
        sim = cls.__new__(cls)
        _prepare_kernels(scene, settings.law, settings.stepper, settings.friction_model)
        world, _ = build(scene, check_overlap=False)
        law = laws.make(settings.law, **law_options(settings))
        models = settings.restitution_model, settings.friction_model
        tolerance = DEFAULT_TOLERANCE if settings.tolerance is None else settings.tolerance
        sim._set_up(scene, world, law, models, (settings.stepper, settings.active_set), settings.step, tolerance)
        if state.life is not None:
            engine = sim._changing()
            engine.use(state)
            sim.engine = engine
        sim.engine.remember(memory)
        sim._state, sim._report = state, sim.engine.start(state)
        return sim

    @property
    def state(self) -> State:
        """The current state: time, step number, positions, orientations and velocities of all bodies.

        A state that is assigned must have arrays of the same shapes with finite numbers, unit quaternions in 3D, and a
        time of `step * time_step`. To change velocities: `sim.state = dataclasses.replace(sim.state, velocity=v)`.
        """
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = _checked(state, self._state, self.time_step)

    @property
    def time(self) -> float:
        """Simulated time of the current state."""
        return self._state.time

    @property
    def contacts(self) -> ContactSet:
        """Contacts that the law or the resting solver treated in the last step, each once."""
        return self._report.treated_contacts()

    @property
    def impulses(self) -> ContactImpulses:
        """The nonzero impulses of the last step."""
        return self._report.impulses()

    @property
    def events(self) -> Events:
        """The events of the last step: its impacts, the contacts that it held at rest, and changes before it."""
        from .trajectory.events import Events

        found = step_events(self._report, self._state.step)
        if self._changes is not None and len(self._changes):
            found = np.concatenate([as_events(self._changes, self.world.dimension), found])
        return found.view(Events)

    @property
    def report(self) -> dict[str, Any]:
        """The row of the last step in the table of steps, by column: contacts, iterations, energies, momenta, ..."""
        return dict(zip(step_table(self.world.dimension).names or (), self._report.row))

    # ---- bodies that appear and vanish

    def allow_changes(self) -> None:
        """Lets bodies appear and vanish in a scene that does not declare it; `add` and `remove` do so themselves."""
        if isinstance(self.engine, ChangingEngine):
            return
        engine = self._changing()
        engine.stepper, self.engine = self.engine, engine
        self._state = replace(self._state, life=np.ones(self.world.count, np.int32))

    def change(self, wanted: Change) -> State:
        """Makes bodies appear or vanish now, between two steps, and returns the state."""
        self.allow_changes()
        assert isinstance(self.engine, ChangingEngine)
        self._state = self.engine.change(self._state, wanted)
        return self._state

    def remove(self, bodies: Any) -> State:
        """Makes bodies vanish, by their numbers."""
        return self.change(Change(remove=bodies))

    def add(self, bodies: Any, position: Any = None, velocity: Any = None, orientation: Any = None) -> State:
        """Makes absent bodies appear, by their numbers: of a group that is declared with `present=False`, or removed.

        What is None is as declared. Bodies must not overlap others.
        """
        return self.change(Change((), bodies, position, velocity, orientation))

    def step(self) -> State:
        """Advances the simulation by one time step and returns the new state."""
        made = self.engine.stretch(self._state, 1)
        self._report, self._state, self._changes = made.report, made.states[-1], made.changes
        return self._state

    def run(
        self,
        until: float,
        *,
        on_impact: Callable[[Events], Any] | None = None,
        on_step: Callable[[State], Any] | None = None,
    ) -> State:
        """Advances by whole steps until the time `until` is reached, and returns the state.

        `on_impact` is called after each step with impacts, with the table of these, and `on_step` after each step, with
        the state. Either ends it there by returning True or raising `carom.StopRun`; other exceptions are passed on.

        Ctrl-C raises KeyboardInterrupt after the current step, so that the simulation can be continued.
        """
        from .trajectory.interrupts import stop_on_request

        end = scalar("until", until)
        if end < self.time - WHOLE_STEP * self.time_step:
            raise ProblemError("until", end, f"a time not before the current one, {self.time:g}")
        steps = step_count("until", end, self.time_step)
        with stop_on_request() as stop:
            while self._state.step < steps:
                self.step()
                if self._ended(on_impact, on_step):
                    break
                if stop.asked:
                    raise KeyboardInterrupt
        return self._state

    def _ended(self, on_impact: Callable[[Events], Any] | None, on_step: Callable[[State], Any] | None) -> bool:
        """Calls the functions of the user after a step; whether one of them ends the run."""
        try:
            found = self.events.impacts if on_impact is not None else None
            stop = found is not None and on_impact is not None and len(found) > 0 and on_impact(found) is True
            return (on_step is not None and on_step(self._state) is True) or stop
        except StopRun:
            return True


# ---- arguments


def law_options(settings: Settings) -> dict[str, Any]:
    """The options of the law of recorded settings, each of the type that the law declares for it."""
    law = laws.make(settings.law)
    known: Any = fields(law) if is_dataclass(law) else ()
    declared: dict[str, Any] = {field.name: getattr(field.type, "__name__", field.type) for field in known}
    for name, value in settings.law_options:
        kind = declared.get(name)
        fits = isinstance(value, OPTION_TYPES.get(kind, object))
        if not fits or (isinstance(value, bool) and kind in ("int", "float")):
            raise ProblemError(f"settings.law_options.{name}", value, f"a value of type {kind}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.law_options}


def _prepare_kernels(scene: Scene, law: str | Law | None, stepper: str | None, friction_model: str | None) -> None:
    """Compiles the kernels of a run in parallel, so that none is compiled in the middle of it."""
    try:
        chosen = laws.make(scene.law if law is None else law)
        families = families_of_run(scene, chosen, stepper or scene.stepper, friction_model or scene.friction_model)
    except (ProblemError, AttributeError, TypeError, ValueError):
        return  # the checks that follow say what is wrong
    prepare(families)


def _check_rolling(world: World, stepper: str) -> None:
    """Refuses rolling and torsional friction where no stage of the step would apply them."""
    acts = world.rolling_friction is not None or world.torsional_friction is not None
    if acts and stepper in ("synchronous", "substepped"):
        wanted = "drift_safe or time_of_impact: their resting solve has rolling and torsional friction"
        raise ProblemError("stepper", stepper, wanted)


def _models(
    scene: Scene, law: Law, restitution_model: str | None, friction_model: str | None
) -> tuple[str | None, str | None]:
    """Restitution and friction model of a run, None for the default of the law."""
    restitution = scene.restitution_model if restitution_model is None else restitution_model
    friction = scene.friction_model if friction_model is None else friction_model
    if restitution is not None and restitution_model is None and restitution not in law.restitution_models:
        restitution = None  # the model of the scene belongs to the law of the scene; another law has its own default
    Response.of(law, restitution, friction)  # validates them
    return restitution, friction


def _checked(state: State, like: State, step: float) -> State:
    """A copy of a state given by the user, with arrays as kernels expect them."""
    if not isinstance(state, State):
        raise ProblemError("state", state, "a carom.world.State, such as dataclasses.replace(sim.state, velocity=v)")
    arrays: dict[str, np.ndarray] = {}
    for name in ("position", "orientation", "velocity"):
        shape = getattr(like, name).shape
        try:
            array = np.array(getattr(state, name), dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise ProblemError(f"state.{name}", getattr(state, name), f"numbers of shape {shape}") from None
        if array.shape != shape or not np.isfinite(array).all():
            raise ProblemError(f"state.{name}", f"an array of shape {array.shape}", f"finite numbers of shape {shape}")
        arrays[name] = array
    if like.orientation.ndim == 2:
        worst = float(np.abs(np.linalg.norm(arrays["orientation"], axis=1) - 1.0).max(initial=0.0))
        if worst > UNIT:
            raise ProblemError(
                "state.orientation", f"quaternions whose length differs from 1 by {worst:.3g}", "unit ones"
            )
    number, time = state.step, scalar("state.time", state.time)
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise ProblemError("state.step", number, "a whole number of at least 0")
    if abs(time - number * step) > WHOLE_STEP * step:
        raise ProblemError("state.time", time, f"step number times time step, {number} * {step:g}")
    return State(time, int(number), arrays["position"], arrays["orientation"], arrays["velocity"], _life(state, like))


def _life(state: State, like: State) -> np.ndarray | None:
    """The lives of bodies in a state given by the user, checked."""
    if like.life is None or state.life is None:
        if like.life is not state.life:
            what = "none" if state.life is None else "given"
            raise ProblemError("state.life", what, "lives of bodies where these appear and vanish, and only there")
        return None
    life = np.array(state.life)
    if life.shape != like.life.shape or life.dtype.kind != "i":
        raise ProblemError("state.life", f"{life.dtype} of shape {life.shape}", f"integers of shape {like.life.shape}")
    return life.astype(np.int32)

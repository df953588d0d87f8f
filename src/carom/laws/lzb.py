"""Liu-Zhao-Brogliato: impulses grow together in ratios given by the energies of compliant contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import ProblemError
from ..problem.contacts import Contacts, Impulses
from ..solvers.rows import Floats
from .inelastic import finish_inelastically
from .law import IMPULSE_WORK, LIU_2008, Law

SMALLEST_RESTITUTION = 0.05  # springs relax 1/e^2 times faster than they load, without limit as e goes to 0


@dataclass(frozen=True)
class LZB(Law):
    """Contact i stores `E_i = k_i D_i^(eta + 1) / (eta + 1)`, and impulses grow in the ratio

        dP_j / dP_i = (k_j / k_i)^(1 / (eta + 1)) (E_j / E_i)^(eta / (eta + 1)).

    That ratio is singular where energies start at zero, so the same law is integrated in the pseudo-time s with
    `dP_i/ds = k_i D_i^eta` (see `carom.laws.springs`). A contact returns `e_i^2` of the energy
    that it stored.

    Each change of a contact ends a step of its whole island, so the cost of an island grows with the square of its
    contacts. The law is an accurate reference for chains and clusters, not for large piles.

    eta: 3/2 for Hertz's contact of round bodies, 1 for linear springs; from 1 to 3.
    stiffness: one number, or one for each contact, times the weights of the contacts; only ratios matter.
    tolerance: relative error allowed in one step of the adaptive integration.
    max_steps: trial steps allowed for one island of m connected contacts. 0 means 30,000 + 12,000 m. It is less, but at
    least 200 m, where that would take more than about a second (a fifth of a second in a step of a run).
    patch_weights: in a simulation, weights are the shares of the touching faces that contacts stand for
    (`carom.problem.patches`) instead of 1. A problem has its own weights.
    """

    name: ClassVar[str] = "lzb"
    title: ClassVar[str] = "compliant contacts in impulse time (Liu-Zhao-Brogliato)"
    paper: ClassVar = LIU_2008
    cost: ClassVar[str] = (
        "integration of m energies, growing with the square of m on one island; at most 30,000 + 12,000 m steps"
    )
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "SYM", "KIN", "MOM", "ONE", "WAV", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("stronge",)

    eta: float = 1.5
    stiffness: float | tuple[float, ...] = 1.0
    tolerance: float = 1e-14
    max_steps: int = 0
    patch_weights: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "eta", _number("eta", self.eta, 1.0, 3.0))
        object.__setattr__(self, "tolerance", _number("tolerance", self.tolerance, 1e-15, 1e-3))
        object.__setattr__(self, "stiffness", _stiffness(self.stiffness))

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        """The approach that may be left has no meaning here: the tolerance of the law is that of its integration.

        Steps of a run, which give a tolerance, have a lower bound on the work than a single impact.
        """
        low = float(contacts.restitution.min())
        if low < SMALLEST_RESTITUTION:
            raise ProblemError(
                "restitution",
                low,
                f"at least {SMALLEST_RESTITUTION} under lzb, whose springs relax 1/e^2 times faster than "
                "they load, without limit as e goes to 0; for less take another law, such as gr or qce",
            )
        # scipy.integrate takes half a second to import.
        from .springs import RUN_STEPS_WORK, STEPS_WORK, integrate_islands

        lam, steps, error, cut = integrate_islands(
            contacts.rows,
            np.array(contacts.velocity, order="C"),  # copies: read-only arrays would compile the kernel again
            self._stiffness_of(contacts.count) * contacts.shares,
            self.eta,
            np.array(contacts.restitution),
            self.tolerance,
            self.max_steps,
            RUN_STEPS_WORK if tolerance > 0.0 else STEPS_WORK,
        )
        lam = _without_gain(contacts, lam)
        if cut:
            reason = f"lzb reached its bound of steps on {cut} island{'s' if cut > 1 else ''}"
            return finish_inelastically(contacts, lam, contacts.after(lam), steps, reason, error)
        return Impulses(normal=lam, iterations=steps, residual=error, messages=_collapse(contacts, lam))

    def iteration_work(self, contacts: int) -> float:
        """A step of the integration, which is compiled."""
        return IMPULSE_WORK * (1.0 + contacts / 30.0)

    def _stiffness_of(self, m: int) -> Floats:
        if isinstance(self.stiffness, float):
            return np.full(m, self.stiffness)
        if len(self.stiffness) != m:
            raise ProblemError("stiffness", f"{len(self.stiffness)} numbers", f"one, or {m}: one for each contact")
        return np.array(self.stiffness)


def _without_gain(contacts: Contacts, lam: Floats) -> Floats:
    """The impulses, scaled down where the error of the integration has raised the energy of an island.

    The work of `s lam` on an island is `s lam . u + s^2 lam . (u+ - u) / 2`, which is 0 at a factor s next to 1.
    """
    u, label = contacts.speeds(), contacts.island_labels()
    change = contacts.speeds(contacts.after(lam)) - u
    given, taken = np.bincount(label, 0.5 * lam * change), -np.bincount(label, lam * u)
    factor = np.divide(taken, given, out=np.ones_like(given), where=given > 0.0)
    return lam * np.clip(factor, 0.0, 1.0)[label]


def _collapse(contacts: Contacts, lam: Floats) -> tuple[str, ...]:
    """A message if only the tolerance on speeds has ended an infinite sequence of weaker and weaker compressions."""
    if (contacts.restitution == 1.0).all():
        return ()
    from .springs import OPEN_SPEED

    fastest = float(-contacts.speeds().min(initial=0.0))
    slow = float(-contacts.speeds(contacts.after(lam)).min(initial=0.0))
    if slow <= 1e-3 * OPEN_SPEED * fastest:
        return ()
    return (f"inelastic collapse: compressions faded out at an approach speed of {slow:.1e}",)


def _number(field: str, value: Any, low: float, high: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not low <= number <= high:
        raise ProblemError(field, value, f"a number from {low:g} to {high:g}")
    return number


def _stiffness(value: Any) -> float | tuple[float, ...]:
    try:
        k = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        k = np.empty(0)
    if k.ndim > 1 or k.size == 0 or not (np.isfinite(k) & (k > 0)).all():
        raise ProblemError("stiffness", value, "a positive number, or one for each contact")
    return float(k) if k.ndim == 0 else tuple(k.tolist())

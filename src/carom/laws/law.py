"""The base class of the impact laws: a name, a paper, claims that the audit tests, and one method."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ..problem import checks
from ..problem.contacts import Contacts, Impulses
from ..solvers.rows import Floats, Rows
from .inelastic import finish_inelastically

DESIDERATA = {
    "BRK": "break-away: touching bodies may separate",
    "SYM": "symmetry: symmetric problems have symmetric answers, whatever the order of contacts",
    "KIN": "energy: kept for restitution 1, never raised below it",
    "MOM": "momentum: linear and angular, kept",
    "ONE": "one-sidedness: impulses never pull",
    "WAV": "wave effect: three balls exchange velocities, continuously",
    "FEA": "feasibility: nothing approaches after impact",
    "SMP": "sampling: contact points that add no constraint do not change the answer",
}


@dataclass(frozen=True)
class Paper:
    """The publication that a law or a friction model comes from."""

    key: str  # short name, such as "Smith 2012"
    text: str  # full reference
    bibtex: str = ""  # entry for a bibliography; empty: one is made from key and text

    def citation(self) -> str:
        """A BibTeX entry."""
        if self.bibtex:
            return self.bibtex
        return "@misc{" + self.key.replace(" ", "").lower() + ",\n  note = {" + self.text + "}\n}"


class Law:
    """Base of all impact laws. A law is a frozen dataclass whose fields are its options.

    A subclass defines the class variables below and the method `impulses`. Options named `tolerance` and `max_...` are
    validated here.
    """

    name: ClassVar[str]  # under which it is registered
    title: ClassVar[str]  # for tables, a few words
    paper: ClassVar[Paper]
    cost: ClassVar[str] = ""  # work and bound for m contacts, in a few words
    claims: ClassVar[frozenset[str]]  # keys of DESIDERATA; each generates tests
    restitution_models: ClassVar[tuple[str, ...]]  # keys of carom.resolve.restitution.MODELS; the first is the default
    has_history: ClassVar[bool] = False  # whether it has an option `history`: see `Impulses.history`
    one_by_one: ClassVar[bool] = False  # whether an iteration is one impulse at one contact, rather than at all of them
    own_friction: ClassVar[bool] = False  # whether `impulses` reads contacts.friction and returns tangential impulses

    def __post_init__(self) -> None:
        checks.options(self)

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        """The impulses of one impact: the only method that a law must define.

        `tolerance` is the approach that may be left, relative to the fastest one; 0 asks for the accuracy of the law
        itself. A law may leave the parameter out, and is then always solved to its own accuracy.

        `contacts` describes m contacts among n bodies with d velocity components each, in whitened coordinates, where
        the mass matrix is the identity. It must not be changed.

        - `contacts.rows`: the rows G = J L^-T of the contacts, for M = L L^T, as `carom.solvers.rows.Rows`, over the
          bodies that each contact touches. The kernels `speed`, `push`, `speeds` and `pushed` of that module read them;
          `contacts.matrix()` and `contacts.delassus()` give G and A = G G^T = J M^-1 J^T of the normal rows as scipy
          matrices. `rows.diag` is the diagonal of A, 1/kg, positive.
        - `contacts.velocity`: (n, d) whitened velocity x = L^T v before the impact.
        - `contacts.boundary_speed`: (m,) prescribed normal speed w of the boundary at each contact, m/s.
        - `contacts.speeds(x)`: (m,) separation speeds u = G x + w, m/s; **negative means approaching**. Without an
          argument, those before the impact. `contacts.approach()` is the fastest approach, not negative.
        - `contacts.restitution`: (m,) from 0 to 1. Under the restitution models "newton" and "stronge" the law reads
          it. Under "energetic" and "qce_lcp" the law is only called with 1 everywhere, and the model takes care of
          restitution.
        - `contacts.friction`, `contacts.tangent_speeds(x)`, `contacts.tangent_count`: for laws with `own_friction`
          only; other laws receive normal rows, and a friction model adds friction afterwards.

        Returns `Impulses` with

        - `normal`: (m,) impulses lam in N s. The velocity after the impact is `contacts.after(lam)` = x + G^T lam; a
          positive impulse pushes the bodies apart. A new array, not a view of `contacts`.
        - `tangent`: (m, t) along the tangent rows, from laws with `own_friction`; else None.
        - `iterations`: how many iterations, passes or reflections the law took.
        - `status`: "resolved"; "finished_inelastically" if the law has reached its bound, in which case
          `finish_inelastically` stops the remaining approach, so that every law ends; "infeasible" if no velocity
          keeps all contacts apart.
        - `residual`: how far the answer is from satisfying the equations of the law, relative; 0 means solved. For laws
          built on the cone problem, `max |min(A_ii y_i, (A y + c)_i)|` over all their solves, relative to the fastest
          approach before the impact.
        - `messages`: sentences for the user about anything unusual.

        There is at least one contact. The answer must not depend on the number of threads.
        """
        raise NotImplementedError(f"{type(self).__name__} must define impulses(contacts)")

    def iteration_work(self, contacts: int) -> float:
        """Multiplications of one iteration on a number of contacts; steps bound their sum."""
        return IMPULSE_WORK if self.one_by_one else PASS_WORK + IMPULSE_WORK * min(contacts, FRONT_CONTACTS)

    def options(self) -> dict[str, Any]:
        """The options of the law and their values, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def approach_left(self, contacts: Contacts, tolerance: float) -> float:
        """The speed of approach that counts as none: the larger one of two shares of the fastest approach, the option
        `tolerance` of the law and the given one."""
        return float(max(getattr(self, "tolerance", 0.0), tolerance) * contacts.approach())


@cache
def _takes_tolerance(kind: Any) -> bool:
    """Whether the method `impulses` of a class of laws has the parameter `tolerance`."""
    parameters = list(inspect.signature(kind.impulses).parameters.values())
    return len(parameters) > 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)


def impulses_of(law: Law, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
    """The impulses of a law, which may leave an approach of `tolerance` times the fastest one if it has that parameter.

    A law of a user that has no such parameter takes its own tolerance.
    """
    if tolerance > 0.0 and _takes_tolerance(type(law)):  # type: ignore[arg-type]
        return law.impulses(contacts, tolerance)
    return law.impulses(contacts)


# Work that a single impulse costs besides looking at the contacts of its bodies, and bound on the work of a law that
# applies them one by one: less than a second for up to 30 contacts. Light bodies between heavy ones need most impulses.
IMPULSE_WORK, LAW_WORK = 180.0, 5e7
PASS_WORK = 2500.0  # of an iteration that treats several contacts, whatever their number
FRONT_CONTACTS = 100  # that an iteration of a law changes at most: impacts of many contacts move through them in fronts
RUN_SHARE = 0.2  # of that work in an impact of a run, whose tolerance is not 0; a step may have many


def affordable_impulses(rows: Rows, tangents: int = 0, tolerance: float = 0.0) -> int:
    """The number of single impulses that a law may apply, bounded by their work, in multiplications.

    `tolerance` is that of `Law.impulses`.
    """
    m = len(rows.diag)
    looked_at = float((np.diff(rows.touch_ptr) ** 2).sum()) / m
    each = (1 + tangents) * (IMPULSE_WORK + 4.0 * looked_at * (len(rows.touch) / m) * rows.val.shape[3])
    work = LAW_WORK * max(1.0 + 70.0 / max(m, 2) ** 4, (m / 30.0) ** 1.5)
    return int((RUN_SHARE if tolerance else 1.0) * work / each)


# Above the threshold of inelastic collapse the last reflection leaves every contact clearly separating. An approach
# above this share of the tolerance means that only the tolerance has ended an infinite sequence.
COLLAPSE_SHARE = 1e-3


def reflected(contacts: Contacts, lam: Floats, x: Floats, count: int, left: int, tol: float, name: str) -> Impulses:
    """The result of a law that reflects contacts one by one: `count` reflections, `left` contacts still approaching."""
    if left:
        return finish_inelastically(contacts, lam, x, count, f"{name} reached its bound of {count} reflections")
    messages: tuple[str, ...] = ()
    if tol > 0.0 and bool((contacts.restitution < 1.0).any()):
        slow = float(-contacts.speeds(x).min(initial=0.0))
        if slow > COLLAPSE_SHARE * tol and count > contacts.count:
            messages = (f"inelastic collapse: cut off after {count} reflections at speed {slow:.1e}",)
    return Impulses(normal=lam, iterations=count, messages=messages, residual=float(np.finfo(float).eps))


SMITH_2012 = Paper(
    "Smith 2012",
    "B. Smith, D. M. Kaufman, E. Vouga, R. Tamstorf, E. Grinspun. Reflections on Simultaneous Impact. "
    "ACM Trans. Graph. 31(4), 106, 2012.",
    """\
@article{smith2012reflections,
  author  = {Smith, Breannan and Kaufman, Danny M. and Vouga, Etienne and Tamstorf, Rasmus and Grinspun, Eitan},
  title   = {Reflections on Simultaneous Impact},
  journal = {ACM Transactions on Graphics},
  volume  = {31},
  number  = {4},
  pages   = {106:1--106:12},
  year    = {2012},
  doi     = {10.1145/2185520.2185602}
}""",
)
ZHANG_2015 = Paper(
    "Zhang 2015",
    "T. Zhang, S. Li, G. Wang, D. Manocha, H. Sun. Quadratic Contact Energy Model for Multi-impact "
    "Simulation. Computer Graphics Forum 34(7), 2015.",
    """\
@article{zhang2015quadratic,
  author  = {Zhang, Tianxiang and Li, Sheng and Wang, Guoping and Manocha, Dinesh and Sun, Hanqiu},
  title   = {Quadratic Contact Energy Model for Multi-impact Simulation},
  journal = {Computer Graphics Forum},
  volume  = {34},
  number  = {7},
  year    = {2015}
}""",
)
TANG_2014 = Paper(
    "Tang 2014",
    "X. Tang, A. Paluszny, R. W. Zimmerman. An impulse-based energy tracking method for collision "
    "resolution. Comput. Methods Appl. Mech. Eng. 278, 160-185, 2014.",
    """\
@article{tang2014impulse,
  author  = {Tang, XuHai and Paluszny, Adriana and Zimmerman, Robert W.},
  title   = {An impulse-based energy tracking method for collision resolution},
  journal = {Computer Methods in Applied Mechanics and Engineering},
  volume  = {278},
  pages   = {160--185},
  year    = {2014},
  doi     = {10.1016/j.cma.2014.05.004}
}""",
)
LIU_2008 = Paper(
    "Liu 2008",
    "C. Liu, Z. Zhao, B. Brogliato. Frictionless multiple impacts in multibody systems. I. Theoretical "
    "framework. Proc. R. Soc. A 464, 3193-3211, 2008.",
    """\
@article{liu2008frictionless,
  author  = {Liu, Caishan and Zhao, Zhen and Brogliato, Bernard},
  title   = {Frictionless multiple impacts in multibody systems. {I}. Theoretical framework},
  journal = {Proceedings of the Royal Society A},
  volume  = {464},
  pages   = {3193--3211},
  year    = {2008},
  doi     = {10.1098/rspa.2008.0078}
}""",
)

"""The figures and tables that `carom reproduce` makes. Each names its module, its sizes and its measured time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from .evidence import Case, Evidence

PAPERS = {
    "smith": "Smith, Kaufman, Vouga, Tamstorf, Grinspun (2012): Reflections on Simultaneous Impact",
    "zhang": "Zhang, Li, Wang, Manocha, Sun (2015): Quadratic Contact Energy Model for Multi-impact Simulation",
    "tang": "Tang, Paluszny, Zimmerman (2014): An impulse-based energy tracking method for collision resolution",
    "collapse": "The collapse of brick towers by Gauss' principle of least restraint (SIAM proceedings)",
    "carom": "Checks of this library",
}
SCALES = ("small", "paper")


@dataclass(frozen=True)
class Entry:
    """One figure or table. `run(case, **sizes)` of `module` makes it.

    `small` and `paper` are the sizes of the two scales; `seconds` are their times on two cores, measured for `small`
    and measured or estimated for `paper`.
    """

    key: str  # PAPER-figure-N, PAPER-table-N or PAPER-section-N
    title: str
    module: str
    small: Mapping[str, Any] = field(default_factory=dict)
    paper: Mapping[str, Any] = field(default_factory=dict)
    seconds: tuple[float, float] = (0.0, 0.0)
    function: str = "run"

    def sizes(self, scale: str) -> Mapping[str, Any]:
        """The keyword arguments of the function at a scale."""
        return self.small if scale == "small" else self.paper

    def make(self) -> Callable[..., Evidence]:
        """The function that makes the figure or table; its first argument is a `Case`, the others are sizes."""
        made: Callable[..., Evidence] = getattr(import_module(f".{self.module}", __package__), self.function)
        return made

    def parameters(self, scale: str) -> dict[str, Any]:
        """All parameters of the function at a scale, those with default values included."""
        known = list(signature(self.make()).parameters.values())[1:]
        return {p.name: p.default for p in known if p.kind != Parameter.VAR_KEYWORD} | dict(self.sizes(scale))

    def run(self, case: Case, scale: str = "small") -> Evidence:
        """Makes the figure or table."""
        return self.make()(case, **self.sizes(scale))


_SMITH = (
    Entry("smith-figure-4", "pairwise reflections with restitution below 1 that never end", "inelastic_collapse"),
    Entry("smith-figure-5", "a pool break of 56 balls: which laws keep its mirror symmetry", "clean_break"),
    Entry("smith-figure-6", "a touching grid falls into a drum: scattered under gr, whole under lcp", "splash"),
    Entry("smith-section-9", "81 balls in a drum: which laws keep the energy", "energy_drum", {"duration": 100.0}),
    Entry(
        "smith-figure-11",
        "288 shaken balls gather on one side of a wall",
        "maxwells_demon",
        {"seeds": 2, "controls": 1},
    ),
)

_ZHANG = (
    Entry("zhang-figure-4", "three balls collide: every law against the exchange and the Hertz ODE", "three_ball"),
    Entry("zhang-figure-12", "Newton's cradle with tiny random disturbances", "disturbance"),
)

_TANG: tuple[Entry, ...] = ()

_COLLAPSE: tuple[Entry, ...] = ()

_CAROM = (
    Entry(
        "carom-tumbling",
        "a T-handle tumbles freely: its flips, and what two integrators keep in a million steps",
        "tumbling",
        {"steps": 100_000},
    ),
)

ENTRIES: dict[str, Entry] = {entry.key: entry for entry in (*_SMITH, *_ZHANG, *_TANG, *_COLLAPSE, *_CAROM)}

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
    Entry("smith-table-1", "which law satisfies which desideratum", "chart", seconds=(3, 3)),
    Entry(
        "smith-figure-1",
        "a box dropped on its face rebounds straight, or tumbles",
        "break_away",
        function="run_box",
        seconds=(4, 4),
    ),
    Entry(
        "smith-figure-2",
        "nested dolls open, or bounce as one body",
        "break_away",
        function="run_dolls",
        seconds=(33, 33),
    ),
    Entry(
        "smith-figure-4",
        "pairwise reflections with restitution below 1 that never end",
        "inelastic_collapse",
        seconds=(3, 3),
    ),
    Entry("smith-figure-4d", "the cost of pairwise reflections for 10,000 balls", "pairwise_cost", seconds=(15, 15)),
    Entry(
        "smith-figure-5", "a pool break of 56 balls: which laws keep its mirror symmetry", "clean_break", seconds=(3, 3)
    ),
    Entry(
        "smith-figure-6",
        "a touching grid falls into a drum: scattered under gr, whole under lcp",
        "splash",
        seconds=(4, 4),
    ),
    Entry(
        "smith-figure-7",
        "four balls in a drum: symmetric paths, and where gr and lcp coincide",
        "butterfly",
        seconds=(5, 5),
    ),
    Entry(
        "smith-section-9",
        "81 balls in a drum: which laws keep the energy",
        "energy_drum",
        {"duration": 100.0},
        seconds=(8, 70),
    ),
    Entry(
        "smith-figure-8",
        "cubes, a knot and rabbits: energy and symmetry for a long time",
        "symmetric_solids",
        {"duration": 20.0},
        {"duration": 100.0, "detail": 24},
        seconds=(13, 90),
    ),
    Entry(
        "smith-section-10.3",
        "two rabbits in a pot: momentum for a long time",
        "rabbits",
        {"duration": 50.0, "detail": 16},
        {"duration": 1000.0},
        function="run_pot",
        seconds=(15, 300),
    ),
    Entry(
        "smith-figure-9",
        "piles of rabbits: restitution controls the dissipation",
        "rabbits",
        {"count": 8, "duration": 2.0, "coefficients": (0.0, 0.5, 0.8, 1.0)},
        {"count": 1000},
        function="run_pile",
        seconds=(9, 7200),
    ),
    Entry(
        "smith-table-2",
        "drops and gases of 10K to 1M discs: constraints, iterations, seconds",
        "scaling",
        {},
        {
            "runs": (
                ("drop", 101, 1500),
                ("gas", 101, 18000),
                ("drop", 317, 1500),
                ("gas", 317, 3000),
                ("drop", 1001, 200),
                ("gas", 1001, 200),
            )
        },
        seconds=(43, 1500),
    ),
    Entry(
        "smith-figure-11",
        "288 shaken balls gather on one side of a wall",
        "maxwells_demon",
        {"seeds": 2, "controls": 1},
        seconds=(47, 200),
    ),
    Entry(
        "smith-figure-12",
        "patterns of a vibrated layer at three published points",
        "layers",
        {"width": 30, "periods": 12.0},
        function="run_patterns",
        seconds=(60, 3600),
    ),
    Entry(
        "smith-table-3",
        "the vibrated layer against the time step: wavelength, constraints, iterations",
        "layers",
        {"width": 20, "periods": 10.0, "steps": (1e-3, 5e-4, 2e-4)},
        function="run_steps",
        seconds=(15, 4800),
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

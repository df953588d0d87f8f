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
    "laboratory": "Published laboratory experiments (docs/laboratory.md)",
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
    Entry(
        "zhang-table-1",
        "which law satisfies which desideratum",
        "chart",
        {"paper": "Zhang 2015"},
        {"paper": "Zhang 2015"},
        seconds=(2.0, 2.0),
    ),
    Entry("zhang-figure-4", "three balls collide: every law against the exchange and the Hertz ODE", "three_ball"),
    Entry(
        "zhang-figure-5",
        "a pool break of 15 balls under qce and gr",
        "identical_objects",
        seconds=(3.0, 3.0),
        function="pool",
    ),
    Entry("zhang-figure-6", "Newton's cradle of spheres", "identical_objects", seconds=(4.0, 4.0), function="cradle"),
    Entry(
        "zhang-figure-7",
        "four balls in a drum stay symmetric",
        "identical_objects",
        seconds=(9.0, 9.0),
        function="circle",
    ),
    Entry(
        "zhang-figure-8",
        "a shock runs up through grains",
        "grains",
        {"count": 300, "side": 5.0, "settle": 1.6, "columns": 30},
        seconds=(10.0, 400.0),
        function="shock",
    ),
    Entry(
        "zhang-table-2",
        "patterns of a vibrated layer (figure 9), iterations and time per step of qce",
        "grains",
        {"width": 24, "periods": 12.0},
        seconds=(41.0, 900.0),
        function="patterns",
    ),
    Entry(
        "zhang-figure-10",
        "rabbits under pawns, and the energy error of section 5.4",
        "complex_scenes",
        {"rabbits": 16, "pawns": 4, "duration": 4.0, "elastic": 1.2},
        seconds=(33.0, 900.0),
        function="rabbits",
    ),
    Entry(
        "zhang-figure-11",
        "the Rube Goldberg machine, by stages",
        "complex_scenes",
        {"duration": 10.0},
        seconds=(43.0, 130.0),
        function="machine",
    ),
    Entry("zhang-figure-12", "Newton's cradle with tiny random disturbances", "disturbance"),
    Entry(
        "zhang-section-5.4",
        "a card house stands, falls and comes to rest",
        "complex_scenes",
        {"rest": 1.0, "after": 5.0},
        seconds=(26.0, 90.0),
        function="cards",
    ),
)

_TANG = (
    Entry(
        "tang-figure-6",
        "one contact in increments (and figure 4)",
        "energy_tracking",
        seconds=(2.0, 2.0),
        function="single",
    ),
    Entry(
        "tang-equation-69",
        "energy error of one contact by lambda",
        "energy_tracking",
        seconds=(2.0, 2.0),
        function="errors",
    ),
    Entry(
        "tang-figure-8",
        "boxes that land flat: etm against smm (figure 7) and sqm",
        "energy_tracking",
        seconds=(3.0, 3.0),
        function="flat_boxes",
    ),
    Entry(
        "tang-figure-9",
        "energy of 540 and 1,080 elastic spheres in a box",
        "packings",
        {"duration": 1.2},
        seconds=(6.0, 5.0),
        function="energy",
    ),
    Entry(
        "tang-figure-15",
        "packings and angles of repose of spheres, cubes and crosses (figures 11 to 15)",
        "packings",
        {
            "counts": {"spheres": 60, "cubes": 60, "crosses": 48},
            "frictions": (0.0, 0.2, 0.6),
            "settle": 3.0,
            "flow": 5.0,
            "step": 1.0 / 300.0,
        },
        {
            "counts": {"spheres": 540, "cubes": 325, "crosses": 325},
            "frictions": (0.0, 0.05, 0.1, 0.2, 0.4, 0.6),
            "flow": 8.0,
        },
        seconds=(135.0, 6500.0),
        function="slopes",
    ),
)

_COLLAPSE = (
    Entry(
        "collapse-figure-1", "the overhang of stable towers", "brick_towers", seconds=(4.0, 4.0), function="overhang"
    ),
    Entry(
        "collapse-figure-2",
        "the unstable tower of 5 x 5 bricks: initial collapse",
        "brick_towers",
        seconds=(1.0, 1.0),
        function="unstable",
    ),
    Entry(
        "collapse-figure-10",
        "nine masses that equal a homogeneous brick",
        "brick_towers",
        seconds=(1.0, 1.0),
        function="nine_points",
    ),
    Entry(
        "collapse-figure-11",
        "the fall of the tower of 5 x 5 bricks",
        "brick_towers",
        seconds=(7.0, 7.0),
        function="collapse",
    ),
    Entry(
        "collapse-theorems",
        "theorems 5.1 and 7.1 and section 8.5, measured",
        "brick_towers",
        seconds=(4.0, 4.0),
        function="theorems",
    ),
)

_LABORATORY = (
    Entry(
        "laboratory-cradle",
        "three real spheres: the striker moves back",
        "laboratory",
        seconds=(2.0, 2.0),
        function="cradle",
    ),
    Entry(
        "laboratory-solitary-wave",
        "the pulse in a chain of beads",
        "laboratory",
        seconds=(3.0, 3.0),
        function="solitary_wave",
    ),
    Entry("laboratory-column", "a column of beads on a wall", "laboratory", seconds=(2.0, 2.0), function="column"),
    Entry(
        "laboratory-restitution",
        "restitution that falls with speed",
        "laboratory",
        seconds=(3.0, 3.0),
        function="restitution",
    ),
)

_CAROM = (
    Entry(
        "carom-tumbling",
        "a T-handle tumbles freely: its flips, and what two integrators keep in a million steps",
        "tumbling",
        {"steps": 100_000},
    ),
)

ENTRIES: dict[str, Entry] = {
    entry.key: entry for entry in (*_SMITH, *_ZHANG, *_TANG, *_COLLAPSE, *_LABORATORY, *_CAROM)
}

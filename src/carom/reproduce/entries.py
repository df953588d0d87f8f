"""The figures and tables that `carom reproduce` makes. Each names its function, its times and its sizes."""

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
    "gas": "Kinetic theory of gases and granular gases: Carnahan and Starling (1969), Henderson (1975), Haff (1983)",
    "silo": "Discharge and wall pressure of silos: Beverloo and others (1961), Janssen (1895)",
    "carom": "Checks of this library",
}
SCALES = ("small", "paper")


@dataclass(frozen=True)
class Entry:
    """One figure or table, made by a function of a `Case` and sizes: `made_by` is MODULE:FUNCTION, or MODULE for `run`.

    `small` and `paper` are the sizes of the two scales; `seconds` are their times on two cores, measured for `small`
    and measured or estimated for `paper`. `needs` says which folder of measurements an entry needs; without one the
    entry is left out.
    """

    key: str  # PAPER-figure-N, PAPER-table-N or PAPER-section-N
    title: str
    made_by: str
    seconds: tuple[float, float] = (0.0, 0.0)
    small: Mapping[str, Any] = field(default_factory=dict)
    paper: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""

    def sizes(self, scale: str) -> Mapping[str, Any]:
        """The keyword arguments of the function at a scale."""
        return self.small if scale == "small" else self.paper

    def make(self) -> Callable[..., Evidence]:
        """The function that makes the figure or table; its first argument is a `Case`, the others are sizes."""
        module, _, name = self.made_by.partition(":")
        made: Callable[..., Evidence] = getattr(import_module(f".{module}", __package__), name or "run")
        return made

    def parameters(self, scale: str) -> dict[str, Any]:
        """All parameters of the function at a scale, those with default values included."""
        known = list(signature(self.make()).parameters.values())[1:]
        return {p.name: p.default for p in known if p.kind != Parameter.VAR_KEYWORD} | dict(self.sizes(scale))

    def run(self, case: Case, scale: str = "small") -> Evidence:
        """Makes the figure or table."""
        return self.make()(case, **self.sizes(scale))


# fmt: off
_ENTRIES = (
    Entry("smith-table-1", "which law satisfies which desideratum", "chart", (3, 3)),
    Entry("smith-figure-1", "a box dropped on its face rebounds straight, or tumbles", "break_away:run_box", (4, 4)),
    Entry("smith-figure-2", "nested dolls open, or bounce as one body", "break_away:run_dolls", (33, 33)),
    Entry("smith-figure-3", "a cradle, and Bernoulli's problem: where lcp and gauss_seidel fail", "model_problems",
          (2, 2)),
    Entry("smith-figure-4", "pairwise reflections with restitution below 1 that never end", "inelastic_collapse",
          (3, 3)),
    Entry("smith-figure-4d", "the cost of pairwise reflections for 10,000 balls", "pairwise_cost", (15, 15)),
    Entry("smith-figure-5", "a pool break of 56 balls: which laws keep its mirror symmetry", "clean_break", (3, 3)),
    Entry("smith-figure-6", "a touching grid falls into a drum: scattered under gr, whole under lcp", "splash", (4, 4)),
    Entry("smith-figure-7", "four balls in a drum: symmetric paths, and where gr and lcp coincide", "butterfly",
          (5, 5)),
    Entry("smith-section-9", "81 balls in a drum: which laws keep the energy", "energy_drum",
          (8, 70), {"duration": 100.0}),
    Entry("smith-figure-8", "cubes, a knot and rabbits: energy and symmetry for a long time", "symmetric_solids",
          (13, 90), {"duration": 20.0}, {"duration": 100.0, "detail": 24}),
    Entry("smith-section-10.3", "two rabbits in a pot: momentum for a long time", "rabbits:run_pot",
          (15, 300), {"duration": 50.0, "detail": 16}, {"duration": 1000.0}),
    Entry("smith-figure-9", "piles of rabbits: restitution controls the dissipation", "rabbits:run_pile",
          (23, 3600), {"count": 12, "duration": 2.0, "coefficients": (0.0, 0.5, 0.8, 1.0), "seeds": 6},
          {"count": 1000}),
    Entry("smith-table-2", "drops and gases of 10K to 1M discs: constraints, iterations, seconds", "scaling",
          (43, 1500), {}, {"runs": (("drop", 101, 1500), ("gas", 101, 18000), ("drop", 317, 1500),
                                    ("gas", 317, 3000), ("drop", 1001, 200), ("gas", 1001, 200))}),
    Entry("smith-figure-11", "288 shaken balls gather on one side of a wall", "maxwells_demon",
          (47, 200), {"seeds": 2, "controls": 1}),
    Entry("smith-figure-12", "patterns of a vibrated layer at three published points", "layers:run_patterns",
          (45, 3300), {"width": 24, "periods": 12.0}),
    Entry("smith-table-3", "the vibrated layer against the time step: wavelength, constraints, iterations",
          "layers:run_steps", (60, 5000), {"width": 20, "periods": 8.0}),
    Entry("smith-section-12", "cubes in a nonlinear potential: the energy of gr walks, that of jacobi explodes",
          "nonlinear_potential", (7, 40), {}, {"duration": 200.0}),
    Entry("smith-supplement", "six theorems on interpolated impacts, and a lemma on lcp, measured",
          "theorems:interpolation", (3, 20), {}, {"problems": 2000}),
    Entry("zhang-table-1", "which law satisfies which desideratum", "chart",
          (2, 2), {"paper": "Zhang 2015"}, {"paper": "Zhang 2015"}),
    Entry("zhang-figure-4", "three balls collide: every law against the exchange and the Hertz ODE", "three_ball",
          (2, 2)),
    Entry("zhang-figure-5", "a pool break of 15 balls under qce and gr", "identical_objects:pool", (3, 3)),
    Entry("zhang-figure-6", "Newton's cradle of spheres", "identical_objects:cradle", (4, 4)),
    Entry("zhang-figure-7", "four balls in a drum stay symmetric", "identical_objects:circle", (9, 9)),
    Entry("zhang-figure-8", "a shock runs up through grains", "grains:shock",
          (29, 500), {"count": 300, "side": 5.0, "settle": 1.6, "columns": 12, "seeds": 2}),
    Entry("zhang-table-2", "patterns of a vibrated layer (figure 9), iterations and time per step of qce",
          "layers:run_table_2", (41, 3500), {"width": 24, "periods": 12.0}),
    Entry("zhang-figure-10", "rabbits under pawns, and the energy error of section 5.4", "complex_scenes:rabbits",
          (33, 900), {"rabbits": 16, "pawns": 4, "duration": 4.0, "elastic": 1.2}),
    Entry("zhang-figure-11", "the Rube Goldberg machine, by stages", "complex_scenes:machine",
          (43, 130), {"duration": 10.0}),
    Entry("zhang-figure-12", "Newton's cradle with tiny random disturbances", "disturbance", (2, 2)),
    Entry("zhang-section-5.4", "a card house stands, falls and comes to rest", "complex_scenes:cards",
          (26, 90), {"rest": 1.0, "after": 5.0}),
    Entry("zhang-appendix", "lemma and theorem of the appendix, measured", "theorems:appendix",
          (3, 20), {}, {"problems": 2000}),
    Entry("tang-lemmas", "lemmas 3.1 and 3.2 on single contacts", "theorems:lemmas", (2, 2)),
    Entry("tang-figure-6", "one contact in increments (and figure 4)", "energy_tracking:single", (2, 2)),
    Entry("tang-equation-69", "energy error of one contact by lambda", "energy_tracking:errors", (2, 2)),
    Entry("tang-figure-8", "boxes that land flat: etm against smm (figure 7) and sqm", "energy_tracking:flat_boxes",
          (3, 3)),
    Entry("tang-figure-9", "energy of 540 and 1,080 elastic spheres in a box", "packings:energy",
          (6, 5), {"duration": 1.2}),
    Entry("tang-figure-12", "piles settle with friction and restitution of 0.64", "packings:settling",
          (20, 1200), {"counts": {"spheres": 30, "cubes": 30, "crosses": 20}, "duration": 6.0},
          {"counts": {"spheres": 540, "cubes": 325, "crosses": 325}}),
    Entry("tang-figure-15", "packings and angles of repose of spheres, cubes and crosses (figures 11, 13 to 15)",
          "repose:slopes", (60, 900),
          {"counts": {"spheres": 80, "cubes": 80, "crosses": 64}, "frictions": (0.0, 0.2, 0.6), "seeds": 2,
           "flow": 10.0, "strips": 4},
          {"counts": {"spheres": 540, "cubes": 325, "crosses": 325}, "frictions": (0.0, 0.05, 0.2, 0.6),
           "flow": 10.0}),
    Entry("collapse-figure-1", "the overhang of stable towers", "brick_towers:overhang", (4, 4)),
    Entry("collapse-figure-2", "the unstable tower of 5 x 5 bricks: initial collapse", "brick_towers:unstable", (1, 1)),
    Entry("collapse-figure-9", "two equal balls: inelastic and elastic impact", "model_problems:two_balls", (2, 2)),
    Entry("collapse-figure-10", "nine masses that equal a homogeneous brick", "brick_towers:nine_points", (1, 1)),
    Entry("collapse-figure-11", "the fall of the tower of 5 x 5 bricks", "brick_towers:collapse", (7, 7)),
    Entry("collapse-theorems", "theorems 5.1 and 7.1 and section 8.5, measured", "brick_towers:theorems", (4, 4)),
    Entry("collapse-section-8.2", "three numbers per brick, or points and bars: which is faster",
          "frameworks:variables", (3, 20), {}, {"sides": (3, 5, 7, 9, 11), "steps": 200}),
    Entry("collapse-section-8.4", "redundant bars, and bars as a penalty", "frameworks:redundant_bars",
          (4, 15), {}, {"steps": 200}),
    Entry("laboratory-cradle", "three real spheres: the striker moves back", "laboratory:cradle", (2, 2)),
    Entry("laboratory-solitary-wave", "the pulse in a chain of beads", "laboratory:solitary_wave", (3, 3)),
    Entry("laboratory-column", "a column of beads on a wall", "laboratory:column", (2, 2)),
    Entry("laboratory-restitution", "restitution that falls with speed", "laboratory:restitution", (3, 3)),
    Entry("laboratory-ellipse", "1,718 impacts of a real ellipse: the laws beside six published models", "ellipse",
          (20, 20), needs="processed_data of the repository mcubelab/planar-impact-dataset"),
    Entry("laboratory-tosses", "tosses of a real cube: its coefficients, and the error of each law", "tosses",
          (110, 320), {"most": 190}, needs="data/tosses_processed of the repository DAIRLab/contact-nets"),
    Entry("gas-pressure", "pressure and mean free path of hard discs and spheres against kinetic theory",
          "gases:run_pressure", (17, 300), {"count": 4000, "impacts": 200.0}, {"count": 10_000, "impacts": 1000.0}),
    Entry("gas-cooling", "a granular gas cools by Haff's law: exponent and rate against kinetic theory",
          "gases:run_cooling", (5, 60), {"seeds": 4}, {"count": 8000, "seeds": 8}),
    Entry("silo-discharge", "discharge of a silo by the width of its outlet: exponent and constants of Beverloo's law",
          "silos:run_discharge", (70, 1500),
          {"outlets": (7.0, 9.5, 12.5, 16.0), "grains": 1800, "settle": 30.0, "measure": 50.0},
          {"outlets": (8.0, 10.0, 12.0, 14.0, 17.0, 20.0), "width": 60.0,
                                                 "grains": 3600, "measure": 200.0}),
    Entry("silo-wall-pressure", "wall pressure of a column of grains against Janssen's law",
          "silos:run_wall_pressure", (30, 300), {"seeds": 4}, {"width": 12.0, "grains": 2000, "seeds": 12}),
    Entry("carom-patterns", "patterns of a vibrated layer in containers that fit them", "fitted_layers",
          (6, 450), {"layers": (("hexagons", "gr", 22, 25, 12.0),)}),
    Entry("carom-stiff-springs", "every elastic law against stiff Hertz springs, by kind of problem", "stiff_springs",
          (9, 9)),
    Entry("carom-tumbling", "a T-handle tumbles freely: its flips, and what two integrators keep in a million steps",
          "tumbling", (2, 10), {"steps": 100_000}),
)
# fmt: on

ENTRIES: dict[str, Entry] = {entry.key: entry for entry in _ENTRIES}

_DRAWING = "a drawing that defines terms; nothing is measured"
_LISTING = "a listing; the entries of its paper run it"
# Every figure, table, theorem, lemma and experiment of the papers: the key of its entry, or why there is none.
CONTENTS: dict[str, dict[str, str]] = {
    "smith": {
        "table 1": "smith-table-1", "table 2": "smith-table-2", "table 3": "smith-table-3",
        **{f"figure {k}": f"smith-figure-{k}" for k in (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12)},
        "figure 4 (d)": "smith-figure-4d",
        "figure 10": "smith-table-2",
        "algorithms 1 to 4": _LISTING,
        "section 4, lemma": "smith-supplement",
        "section 9, energy of 81 balls": "smith-section-9",
        "sections 10.1 and 10.2, energy and symmetry": "smith-figure-8",
        "section 10.3, momentum": "smith-section-10.3",
        "section 10.4, dissipation": "smith-figure-9",
        "section 10.5, break-away": "smith-figure-2",
        "section 11.2, scaling": "smith-table-2",
        "section 11.3, Maxwell's demon": "smith-figure-11",
        "section 11.4, patterns": "smith-figure-12",
        "section 12, nonlinear potential": "smith-section-12",
        "supplement, lemma and theorems 1.1 to 1.6": "smith-supplement",
    },
    "zhang": {
        "table 1": "zhang-table-1", "table 2": "zhang-table-2",
        "figure 1": "a collage of the scenes of figures 6, 8 and 11",
        "figure 2": "zhang-figure-4",
        "figure 3": _DRAWING,
        **{f"figure {k}": f"zhang-figure-{k}" for k in (4, 5, 6, 7, 8, 10, 11, 12)},
        "figure 9": "zhang-table-2",
        "algorithm 1": _LISTING,
        "section 5.4, card house": "zhang-section-5.4",
        "section 5.4, energy error": "zhang-figure-10",
        "appendix, lemma and theorem": "zhang-appendix",
    },
    "tang": {
        **{f"figure {k}": _DRAWING for k in (1, 2, 3, 5)},
        "figure 4": "tang-figure-6", "figure 6": "tang-figure-6",
        "figure 7": "tang-figure-8", "figure 8": "tang-figure-8",
        "figure 9": "tang-figure-9",
        "figure 10": "tang-figure-15",
        "figure 12": "tang-figure-12",
        **{f"figure {k}": "tang-figure-15" for k in (11, 13, 14, 15)},
        "lemmas 3.1 and 3.2": "tang-lemmas",
        "equation 69": "tang-equation-69",
        "algorithms 1 and 2": _LISTING,
    },
    "collapse": {
        **{f"figure {k}": f"collapse-figure-{k}" for k in (1, 2, 9, 10, 11)},
        **{f"figure {k}": _DRAWING for k in (4, 5, 8)},
        **{f"figure {k}": "a loop; collapse-theorems runs both of its forms" for k in (3, 6, 7)},
        "theorems 5.1 and 7.1": "collapse-theorems",
        "section 8.1, point masses": "collapse-figure-10",
        "section 8.2, number of variables": "collapse-section-8.2",
        "section 8.3, lengths": "collapse-figure-11",
        "section 8.4, redundant bars": "collapse-section-8.4",
        "section 8.5, separating edge": "collapse-theorems",
    },
}  # fmt: skip

"""Carom: simultaneous impact of many rigid bodies."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import catalogue, friction, laws, scenes, sweeps, testing
    from .analysis.audit import audit
    from .analysis.checks import check_run as check
    from .analysis.comparison import compare
    from .analysis.outcomes import outcomes
    from .analysis.statistics import file_summary as info
    from .changing import Change
    from .draw.rendering import render
    from .errors import ProblemError, StopRun
    from .exporting import export
    from .problem.problem import ImpactProblem, Symmetry
    from .problem.solution import ImpactSolution
    from .resolve.impulses import solve_impact, solve_impacts
    from .resuming import branch, resume
    from .scene.file import load_scene
    from .scene.model import Scene
    from .sensitivities.fit import fit
    from .sensitivities.run import sensitivity
    from .simulation import simulate
    from .stepwise import Simulation
    from .sweeps import sweep
    from .trajectory import Trajectory

__version__ = "0.1.0"
__all__ = [
    "Change",
    "ImpactProblem",
    "ImpactSolution",
    "ProblemError",
    "Scene",
    "Simulation",
    "StopRun",
    "Symmetry",
    "Trajectory",
    "audit",
    "branch",
    "catalogue",
    "check",
    "compare",
    "export",
    "fit",
    "friction",
    "info",
    "laws",
    "load_scene",
    "outcomes",
    "render",
    "resume",
    "scenes",
    "sensitivity",
    "simulate",
    "solve_impact",
    "solve_impacts",
    "sweep",
    "sweeps",
    "testing",
]

# Module of each public name, and its name there if it has another one. Names are imported on first use, so that
# `carom --version` does not import Numba.
_HOME = {
    "Change": ".changing",
    "ImpactProblem": ".problem.problem",
    "ImpactSolution": ".problem.solution",
    "ProblemError": ".errors",
    "Scene": ".scene.model",
    "Simulation": ".stepwise",
    "StopRun": ".errors",
    "Symmetry": ".problem.problem",
    "Trajectory": ".trajectory",
    "audit": ".analysis.audit",
    "branch": ".resuming",
    "catalogue": ".catalogue",
    "check": ".analysis.checks:check_run",
    "compare": ".analysis.comparison",
    "export": ".exporting",
    "fit": ".sensitivities.fit",
    "friction": ".friction",
    "info": ".analysis.statistics:file_summary",
    "laws": ".laws",
    "load_scene": ".scene.file",
    "outcomes": ".analysis.outcomes",
    "render": ".draw.rendering",
    "resume": ".resuming",
    "scenes": ".scenes",
    "sensitivity": ".sensitivities.run",
    "simulate": ".simulation",
    "solve_impact": ".resolve.impulses",
    "solve_impacts": ".resolve.impulses",
    "sweep": ".sweeps",
    "sweeps": ".sweeps",
    "testing": ".testing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, _, own = _HOME[name].partition(":")
    module = importlib.import_module(home, __name__)
    value = module if home == f".{name}" else getattr(module, own or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

"""Sweeps: many runs of one scene over parameters, laws, settings and seeds, with one table of measurements."""

from .measures import MEASURES
from .plan import Plan, read_plan
from .run import Progress, sweep
from .store import Results, load

__all__ = ["MEASURES", "Plan", "Progress", "Results", "load", "read_plan", "sweep"]

"""Trajectories: one HDF5 file a run, written so that a killed run loses nothing but its last moments."""

from .checkpoint import state_hash
from .reader import Trajectory
from .recorder import Recorder, Resumed

__all__ = ["Recorder", "Resumed", "Trajectory", "state_hash"]

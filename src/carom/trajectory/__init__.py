"""Trajectories: one HDF5 file per run, from which a killed run can be resumed at its last checkpoint."""

from .checkpoint import state_hash
from .reader import Trajectory
from .recorder import Recorder, Resumed

__all__ = ["Recorder", "Resumed", "Trajectory", "state_hash"]

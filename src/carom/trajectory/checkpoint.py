"""The state of a run and the memory of its stepper, as a checkpoint stores them."""

from __future__ import annotations

import hashlib
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ..hdf5 import slots
from ..world import State


def state_hash(state: State) -> str:
    """SHA-256 of step, positions, orientations, velocities and absences, in hexadecimal."""
    digest = hashlib.sha256(int(state.step).to_bytes(8, "little", signed=True))
    for array in (state.position, state.orientation, state.velocity):
        digest.update(np.ascontiguousarray(array, dtype="<f8").data)
    if state.life is not None and (state.life != 1).any():  # a world in which nothing has changed is like any other
        digest.update(np.ascontiguousarray(state.life, dtype="<i4").data)
    return digest.hexdigest()


def arrays_of(state: State) -> dict[str, NDArray[Any]]:
    """The arrays of a state by their names in files."""
    turn = "angle" if state.orientation.ndim == 1 else "orientation"
    return {"position": state.position, turn: state.orientation, "velocity": state.velocity}


def load(group: h5py.Group) -> tuple[State, dict[str, NDArray[Any]], Any]:
    """State, memory and record of the current checkpoint. Raises ValueError if a checksum does not match."""
    source, memory, record = slots.load(group)
    turn = "angle" if "angle" in source else "orientation"
    place, turned, velocity = (source[name][()] for name in ("position", turn, "velocity"))
    life = memory.get("life")
    if life is not None and (life.shape != place.shape[:1] or life.dtype != np.int32):
        raise ValueError("the presence of bodies in its checkpoint is damaged")
    state = State(float(record["time"]), int(record["step"]), place, turned, velocity, life)
    if state_hash(state).encode() != record["state_hash"]:
        raise ValueError("the checksum of the checkpoint does not match")
    return state, memory, record

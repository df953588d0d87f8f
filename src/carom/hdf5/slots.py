"""Checkpoints: the arrays of a state and the memory of a stepper, in two slots that are written alternately.

A slot has a fixed place in the file, and the slot that is not current may be overwritten in place. A checkpoint of a
million bodies is therefore written once, and neither kept in memory nor written to the journal.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from .safe_file import SafeFile

Arrays = dict[str, NDArray[Any]]
ALIGNMENT = 64  # bytes; of arrays inside the packed memory
RECORD = np.dtype(
    [
        ("serial", np.int64),  # 1, 2, 3, ...; the slot with the larger number is current
        ("step", np.int64),
        ("time", np.float64),
        ("frames", np.int64),  # number of frames
        ("steps", np.int64),  # rows of the step table
        ("memory", np.int64),  # bytes in use
        ("memory_crc", np.int64),
        ("state_hash", "S64"),
        ("crc", np.int64),  # CRC-32 of the other fields
    ]
)


class Written(NamedTuple):
    """What a checkpoint counts: step and time of its state, its hash, and rows of frames and steps."""

    step: int
    time: float
    frames: int
    steps: int
    state_hash: str


class Slots:
    """The group /checkpoint of a file that is being written."""

    def __init__(self, group: h5py.Group, safe: SafeFile) -> None:
        self.group, self._safe = group, safe
        self._current = int(np.argmax(group["record"]["serial"]))
        for slot in ("0", "1"):
            for dataset in group[slot].values():
                self._allow(dataset, now=True)

    @staticmethod
    def create(group: h5py.Group, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Creates two empty slots for arrays of these shapes."""
        group.create_dataset("record", data=np.zeros(2, RECORD))
        for slot in ("0", "1"):
            target = group.create_group(slot)
            for name, array in arrays.items():
                _contiguous(target, name, array.shape, np.float64)
            _contiguous(target, "memory", (ALIGNMENT,), np.uint8)

    def save(self, arrays: Mapping[str, NDArray[Any]], memory: Mapping[str, NDArray[Any]], written: Written) -> None:
        """Writes to the slot that is not current; a commit followed by `settle` makes it the current one."""
        records = self.group["record"][()]
        slot = 1 - self._current
        target = self.group[str(slot)]
        for name, array in arrays.items():
            target[name].write_direct(np.ascontiguousarray(array, dtype=np.float64))
        packed = pack_memory(memory)
        self._room(target, len(packed))[: len(packed)] = packed
        *numbers, digest = written
        stored = (len(packed), zlib.crc32(packed.data), digest.encode(), 0)
        records[slot] = (records["serial"].max() + 1, *numbers, *stored)
        records["crc"][slot] = _record_crc(records[slot])
        self.group["record"][...] = records

    def settle(self) -> None:
        """Exchanges the slots after a commit."""
        self._current = 1 - self._current

    def _room(self, target: h5py.Group, count: int) -> h5py.Dataset:
        """The memory of the slot, enlarged if needed, by a quarter more than needed so that this is rare."""
        dataset = target["memory"]
        if count > dataset.size:
            self._safe.disallow(dataset.id.get_offset())
            del target["memory"]
            dataset = _contiguous(target, "memory", (count + count // 4,), np.uint8)
            self._allow(dataset)
        return dataset

    def _allow(self, dataset: h5py.Dataset, now: bool = False) -> None:
        start = dataset.id.get_offset()
        if start is not None:
            self._safe.allow(start, start + dataset.nbytes, now)


def current(group: h5py.Group) -> tuple[Any, h5py.Group]:
    """Record and group of the current checkpoint. Raises ValueError if the record is damaged."""
    records = group["record"][()]
    if records.dtype != RECORD or records.shape != (2,):
        raise ValueError("the record of the checkpoints is damaged")
    slot = int(np.argmax(records["serial"]))
    for record in records[records["serial"] != 0] if records["serial"].any() else records:
        if record["crc"] != _record_crc(record):
            raise ValueError("the record of a checkpoint is damaged")
    return records[slot], group[str(slot)]


def _record_crc(record: Any) -> int:
    """CRC-32 of a record without its last field."""
    return zlib.crc32(record.tobytes()[: -RECORD["crc"].itemsize])


def load(group: h5py.Group) -> tuple[h5py.Group, Arrays, Any]:
    """Group, memory and record of the current checkpoint. Raises ValueError if a checksum does not match."""
    record, source = current(group)
    packed = source["memory"][: int(record["memory"])]
    if zlib.crc32(packed.data) != record["memory_crc"]:
        raise ValueError("the checksum of the checkpoint does not match")
    return source, unpack_memory(packed), record


def pack_memory(memory: Mapping[str, NDArray[Any]]) -> NDArray[np.uint8]:
    """Packs arrays: length of a JSON index, the index, then the arrays, each at a multiple of ALIGNMENT."""
    index, parts, at = {}, [], 0
    for name, value in memory.items():
        array = np.ascontiguousarray(value)
        index[name] = {"dtype": array.dtype.str, "shape": list(np.shape(value)), "at": at}
        parts.append((at, array))
        at += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    text = json.dumps(index).encode()
    first = -(-(8 + len(text)) // ALIGNMENT) * ALIGNMENT
    packed = np.zeros(first + at, np.uint8)
    packed[:8] = np.frombuffer(len(text).to_bytes(8, "little"), np.uint8)
    packed[8 : 8 + len(text)] = np.frombuffer(text, np.uint8)
    for start, array in parts:
        packed[first + start : first + start + array.nbytes] = array.reshape(-1).view(np.uint8)
    return packed


def unpack_memory(packed: NDArray[np.uint8]) -> Arrays:
    """The inverse of `pack_memory`."""
    length = int.from_bytes(packed[:8].tobytes(), "little")
    first = -(-(8 + length) // ALIGNMENT) * ALIGNMENT
    out: Arrays = {}
    for name, entry in json.loads(packed[8 : 8 + length].tobytes()).items():
        dtype, start = np.dtype(entry["dtype"]), first + entry["at"]
        count = int(np.prod(entry["shape"], dtype=np.int64)) * dtype.itemsize
        out[name] = packed[start : start + count].copy().view(dtype).reshape(entry["shape"])
    return out


def _contiguous(group: h5py.Group, name: str, shape: tuple[int, ...], dtype: Any) -> h5py.Dataset:
    """A dataset whose place in the file is allocated at once."""
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    space, kind = h5py.h5s.create_simple(shape), h5py.h5t.py_create(np.dtype(dtype))
    h5py.h5d.create(group.id, name.encode(), kind, space, how)
    return group[name]

"""Datasets that grow along their first axis, written a chunk at a time and compressed while the run goes on."""

from __future__ import annotations

import math
import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from .deflate import shuffle_deflate
from .interrupts import uninterrupted

CHUNK = 1 << 18  # bytes: large enough for compression, small enough to read one frame of a small scene quickly
WORKERS = 2
Row = tuple[int, ...]
Offset = tuple[int, ...]


class Series:
    """Rows are collected in memory until a chunk is full; `flush` writes the part that is there.

    A row that is larger than a chunk is split along its first axis. Full chunks are compressed by other threads
    (zlib releases the GIL) and written when the next ones are full, or at `flush`; only this thread calls HDF5.
    """

    def __init__(self, dataset: h5py.Dataset) -> None:
        self.dataset = dataset
        self.rows: int = dataset.chunks[0]
        self.count: int = dataset.shape[0]
        shape = (self.rows, *dataset.shape[1:])
        self._buffer, self._spare = np.zeros(shape, dataset.dtype), np.zeros(shape, dataset.dtype)
        self._filled = self.count % self.rows
        self._dirty = False
        self._underway: list[tuple[Offset, Future[bytes]]] = []
        self._written = self.count  # rows that the dataset will have once those are there
        if self._filled:
            self._buffer[: self._filled] = dataset[self.count - self._filled :]

    @classmethod
    def create(cls, group: h5py.Group, name: str, row: Row, dtype: Any, expected: int = 0) -> Series:
        """`row` is the shape of one row; `expected` rows, if given, keep the chunks of short runs small."""
        dataset = group.create_dataset(
            name,
            shape=(0, *row),
            maxshape=(None, *row),
            dtype=dtype,
            chunks=_chunk_shape(row, np.dtype(dtype).itemsize, expected),
            shuffle=True,
            compression="gzip",
            compression_opts=1,
        )
        return cls(dataset)

    def append(self, row: Any) -> None:
        self._buffer[self._filled] = row
        self._advance(1)

    def extend(self, rows: NDArray[Any]) -> None:
        done = 0
        while done < len(rows):
            take = min(len(rows) - done, self.rows - self._filled)
            self._buffer[self._filled : self._filled + take] = rows[done : done + take]
            done += take
            self._advance(take)

    def _advance(self, rows: int) -> None:
        self._filled += rows
        self.count += rows
        self._dirty = True
        if self._filled == self.rows:
            self._compress()
            self._buffer, self._spare = self._spare, self._buffer
            self._filled = 0

    def flush(self) -> None:
        if self._dirty:
            self._compress()
        self._write()

    def _compress(self) -> None:
        """Hands the buffer to the other threads, after writing what they did before."""
        self._write()  # waits, so that the spare buffer is free again
        self._buffer[self._filled :] = np.zeros((), self._buffer.dtype)
        first, width = self.count - self._filled, self._width
        for start in range(0, self._buffer.shape[1] if self._buffer.ndim > 1 else 1, width):
            offset = (first, start, *(0,) * (self._buffer.ndim - 2))[: self._buffer.ndim]
            self._underway.append((offset, _workers().submit(_packed, self._buffer, start, width)))
        self._written = self.count
        self._dirty = False

    def _write(self) -> None:
        if not self._underway:
            return
        with uninterrupted():
            self.dataset.resize(self._written, axis=0)
            for offset, packed in self._underway:
                self.dataset.id.write_direct_chunk(offset, packed.result())
            self._underway = []

    @property
    def _width(self) -> int:
        return int(self.dataset.chunks[1]) if self._buffer.ndim > 1 else 1


def _packed(buffer: NDArray[Any], start: int, width: int) -> bytes:
    """One chunk, compressed: columns `start` to `start + width`; at the edge it is filled up with zeros."""
    if buffer.ndim == 1 or width == buffer.shape[1]:
        return shuffle_deflate(buffer)
    columns = buffer[:, start : start + width]
    if columns.shape[1] < width:
        piece = np.zeros((len(buffer), width, *buffer.shape[2:]), buffer.dtype)
        piece[:, : columns.shape[1]] = columns
        return shuffle_deflate(piece)
    return shuffle_deflate(np.ascontiguousarray(columns))


@cache
def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(WORKERS, thread_name_prefix="carom-record")


if hasattr(os, "register_at_fork"):  # a forked process has none of these threads
    os.register_at_fork(after_in_child=_workers.cache_clear)


def _chunk_shape(row: Row, itemsize: int, expected: int) -> tuple[int, ...]:
    size = itemsize * math.prod(row)
    if size <= CHUNK:
        rows = CHUNK // size
        return max(1, min(rows, expected) if expected else rows), *row
    pieces = math.ceil(size / CHUNK)
    return 1, math.ceil(row[0] / pieces), *row[1:]


def store_array(group: h5py.Group, name: str, array: NDArray[Any]) -> None:
    """An array that never changes. Short ones stand as they are, long ones are compressed."""
    if array.ndim == 0 or array.nbytes < 1 << 14 or array.dtype.hasobject:
        group.create_dataset(name, data=array)
        return
    series = Series.create(group, name, array.shape[1:], array.dtype)
    series.extend(array)
    series.flush()

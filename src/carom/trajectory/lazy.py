"""Arrays that are read from the file when, and as far as, they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import h5py
import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray


class LazyArray(NDArrayOperatorsMixin):
    """Looks like a NumPy array of shape (k, n, ...), and reads only what is indexed.

    `run.positions[-1]` reads one frame, `run.positions[:, 5]` the track of one body. Arithmetic, NumPy functions and
    array methods read all of it. `last` picks components of the dataset's last axis: a slice, or a number.
    """

    def __init__(
        self,
        dataset: h5py.Dataset,
        last: slice | int | None = None,
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._dataset, self._last, self._guard = dataset, last, guard
        shape = tuple(dataset.shape)
        if isinstance(last, slice):
            shape = (*shape[:-1], len(range(*last.indices(shape[-1]))))
        self.shape: tuple[int, ...] = shape[:-1] if isinstance(last, int) else shape
        self.dtype = dataset.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        if not _basic(keys) or len(keys) > self.ndim:
            return np.asarray(self)[key]
        return self._read(tuple(_within(k, size) for k, size in zip(keys, self.shape)))

    def _read(self, keys: tuple[int | slice, ...]) -> Any:
        whole = (*keys, *(slice(0, size) for size in self.shape[len(keys) :]))
        if isinstance(self._last, int):
            whole = (*whole, self._last)
        elif self._last is not None:
            whole = (*whole[:-1], _shifted(whole[-1], self._last.start or 0))
        with self._guard():
            return self._dataset[whole]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array: NDArray[Any] = np.asarray(self._read(()))
        return array if dtype is None else array.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*(np.asarray(x) if isinstance(x, LazyArray) else x for x in inputs), **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(np.asarray(self), name)

    def __repr__(self) -> str:
        return f"LazyArray(shape={self.shape}, dtype={self.dtype}, {self.nbytes / 1e6:.1f} MB when read)"


def _basic(keys: tuple[Any, ...]) -> bool:
    """Whether the file can do it: numbers and slices that go forward."""
    return all(
        (isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_)))
        or (isinstance(k, slice) and (k.step is None or k.step > 0))
        for k in keys
    )


def _within(key: Any, size: int) -> int | slice:
    if isinstance(key, slice):
        start, stop, step = key.indices(size)
        return slice(start, max(start, stop), step)
    index = int(key)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range for {size}")
    return index % size


def _shifted(key: int | slice, by: int) -> int | slice:
    return slice(key.start + by, key.stop + by, key.step) if isinstance(key, slice) else key + by

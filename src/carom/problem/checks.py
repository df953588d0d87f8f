"""Validation of user input. Each function raises a ProblemError that names the field, the value and what is allowed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..late import sparse as sp
from ..solvers.rows import Floats, Ints


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only array that no other reference can change; copied only if one could."""
    if array.flags.writeable or array.base is not None:
        array = np.array(array, order="C")
        array.setflags(write=False)
    return array


def finite(field: str, value: Any) -> Floats:
    """An array of finite real numbers."""
    if sp.issparse(value):
        value = value.toarray()
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "bifu":
            raise TypeError
        array = raw.astype(np.float64)
    except (TypeError, ValueError):
        raise ProblemError(field, value, "an array of real numbers") from None
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        spot = f"{array[where]} at index {where if len(where) > 1 else where[0]}" if where else str(array)
        raise ProblemError(field, spot, "finite numbers")
    return array


def not_empty(field: str, count: int) -> None:
    if count == 0:
        raise ProblemError(field, "nothing", "at least one body")


def shaped(field: str, array: Floats, shape: tuple[int, ...]) -> Floats:
    if array.shape != shape:
        raise ProblemError(field, f"shape {array.shape}", f"shape {shape}")
    return array


def positive(field: str, array: Floats) -> Floats:
    if (array <= 0).any():
        where = tuple(int(i) for i in np.argwhere(array <= 0)[0])
        raise ProblemError(field, f"{array[where]:g} for body {where[0]}", "positive numbers")
    return array


def per_contact(field: str, value: Any, m: int, low: float | None, high: float | None) -> Floats:
    """One number, or one per contact, within [low, high], as an (m,) array."""
    array = finite(field, value)
    if array.shape not in ((), (1,), (m,)):
        raise ProblemError(field, f"shape {array.shape}", f"one number or one for each of {m} contacts")
    wrong = np.zeros(array.shape, bool)
    if low is not None:
        wrong |= array < low
    if high is not None:
        wrong |= array > high
    if wrong.any():
        limits = f"from {low:g} to {high:g}" if high is not None else f"not below {low:g}"
        raise ProblemError(field, float(np.atleast_1d(array)[np.atleast_1d(wrong)][0]), f"numbers {limits}")
    return np.broadcast_to(array, (m,)).copy()


def rows_matrix(field: str, value: Any, n: int) -> sp.csr_matrix:
    """A (rows, n) matrix in CSR form with no stored zeros."""
    if not sp.issparse(value):
        value = finite(field, value)
        if value.ndim != 2:
            raise ProblemError(field, f"shape {value.shape}", f"shape (contacts, {n})")
    matrix = sp.csr_matrix(value, dtype=np.float64)
    if matrix.shape[1] != n:
        raise ProblemError(field, f"shape {matrix.shape}", f"{n} columns, as many as velocity has numbers")
    if not np.isfinite(matrix.data).all():
        raise ProblemError(field, "NaN or infinity", "finite numbers")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def tangent_matrix(value: Any, m: int, n: int) -> sp.csr_matrix:
    """Tangent rows as an (m * t, n) matrix, t = 1 or 2."""
    if not sp.issparse(value):
        value = finite("tangents", value)
        if value.ndim == 3:
            value = value.reshape(-1, value.shape[2])
    matrix = rows_matrix("tangents", value, n)
    if m == 0 or matrix.shape[0] not in (m, 2 * m):
        raise ProblemError("tangents", f"{matrix.shape[0]} rows", f"{m} or {2 * m} rows (1 or 2 per contact)")
    return matrix


def body_pairs(value: Any, n: int) -> Ints:
    """An (m, 2) array of body numbers, -1 for the world, two different ones per contact."""
    pair = finite("bodies", value)
    if pair.size == 0:
        return np.zeros((0, 2), np.int64)
    if pair.ndim != 2 or pair.shape[1] != 2:
        raise ProblemError("bodies", f"shape {pair.shape}", "shape (contacts, 2)")
    whole = pair.astype(np.int64)
    if (whole != pair).any() or (whole < -1).any() or (whole >= n).any():
        bad = pair[(whole != pair) | (whole < -1) | (whole >= n)][0]
        raise ProblemError("bodies", f"{bad:g}", f"whole numbers from 0 to {n - 1}, or -1 for the world")
    same = whole[:, 0] == whole[:, 1]
    if same.any():
        i = int(np.argmax(same))
        raise ProblemError("bodies", f"contact {i} between {whole[i, 0]} and itself", "two different bodies")
    return whole


def permutation(field: str, value: Any, m: int) -> Ints:
    """The numbers 0 to m - 1 in some order."""
    order = finite(field, value)
    if order.shape != (m,) or not np.array_equal(np.sort(order), np.arange(m)):
        raise ProblemError(field, value, f"a permutation: the numbers 0 to {m - 1}, each once")
    return order.astype(np.int64)


def whole(field: str, value: Any, low: int, high: int) -> Ints:
    """A list of whole numbers from low to high."""
    array = finite(field, value)
    if array.ndim != 1:
        raise ProblemError(field, f"shape {array.shape}", "a list of whole numbers")
    bad = (array != np.floor(array)) | (array < low) | (array > high)
    if bad.any():
        raise ProblemError(field, f"{array[bad][0]:g}", f"whole numbers from {low} to {high}")
    return array.astype(np.int64)


def no_zero_rows(field: str, ptr: Ints, val: Floats) -> None:
    length = np.add.reduceat(np.append((val * val).sum(axis=1), 0.0), ptr[:-1]) * (np.diff(ptr) > 0)
    if (length == 0).any():
        i = int(np.argmax(length == 0))
        raise ProblemError(field, f"row {i} is zero", "rows that move at least one body")


def symmetric(mass: Any, n: int) -> sp.csr_matrix:
    """A symmetric (n, n) matrix with a positive diagonal; definiteness is checked by the factorization."""
    if not sp.issparse(mass):
        mass = finite("mass", mass)
    matrix = sp.csr_matrix(mass, dtype=np.float64)
    if matrix.shape != (n, n):
        raise ProblemError("mass", f"shape {matrix.shape}", f"shape ({n}, {n}) or ({n},)")
    if not np.isfinite(matrix.data).all():
        raise ProblemError("mass", "NaN or infinity", "finite numbers")
    lopsided = abs(matrix - matrix.T)
    if lopsided.nnz and lopsided.max() > 1e-10 * abs(matrix).max():
        raise ProblemError("mass", f"asymmetric by {lopsided.max():g}", "a symmetric matrix")
    low = matrix.diagonal().min()
    if low <= 0:
        raise ProblemError("mass", f"{low:g} on the diagonal", "a symmetric positive definite matrix")
    matrix.eliminate_zeros()
    return matrix


def options(model: Any) -> None:
    """Validates the options that laws and friction models share: `tolerance`, and bounds named max_..."""
    for field in fields(model):
        value = getattr(model, field.name)
        whole_number = isinstance(value, int | np.integer) and not isinstance(value, bool)
        number = whole_number or isinstance(value, float | np.floating)
        if field.name == "tolerance" and not (number and 0.0 <= value < 1.0):
            raise ProblemError("tolerance", value, "a number from 0 to below 1")
        if field.name.startswith("max_") and field.type == "int" and not (whole_number and value >= 0):
            raise ProblemError(field.name, value, "a whole number, not negative")

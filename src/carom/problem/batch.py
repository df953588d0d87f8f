"""Batch: small problems without friction side by side, for kernels that loop over problems."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ..kernels import kernel
from ..solvers.rows import Floats, Ints, Rows


class Pieces(NamedTuple):
    """One problem with m contacts among n bodies: the arrays that a batch joins."""

    body: Ints  # (m, w) and so on as in `Rows`
    val: Floats  # (m, w, 1, d)
    base: Floats  # (m, 1)
    diag: Floats  # (m,)
    touch_ptr: Ints  # (n + 1,)
    touch: Ints  # (e,)
    white: Floats  # (n, d) whitened velocity before the impact
    weights: Floats  # (m,)
    jacobian: Floats  # (e, d) normal rows before whitening, contact by contact
    velocity: Floats  # (n, d) before the impact
    mass: Floats  # (n, d) diagonal of the mass matrix
    restitution: Floats  # (1,)


class Batch(NamedTuple):
    """Problems side by side; bodies and contacts keep their numbers within a problem.

    Problem k has the contacts contact[k]:contact[k + 1]; bodies and entries of rows likewise.
    """

    contact: Ints
    bodies: Ints
    entry: Ints
    rows: Rows
    white: Floats
    weights: Floats
    jacobian: Floats
    velocity: Floats
    mass: Floats
    restitution: Floats  # (problems,)


class Answer(NamedTuple):
    """Impulses of a law for a batch."""

    normal: Floats  # (contacts,) N s
    iterations: Ints  # (problems,)
    residual: Floats  # (problems,) relative to the fastest approach; infinite where the law has not ended by itself


def joined(pieces: Sequence[Pieces]) -> Batch:
    """A batch of problems with the same number d of components per body and the same width w of rows."""
    sizes = [(len(p.diag), len(p.white), len(p.touch)) for p in pieces]
    contact, bodies, entry = (np.array([0, *accumulate(size)]) for size in zip(*sizes, strict=True))
    one = pieces[0] if len(pieces) == 1 else Pieces(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))
    rows = Rows(one.body, one.val, one.base, np.zeros((0, 3)), 1, one.diag, one.touch_ptr, one.touch)
    return Batch(contact, bodies, entry, rows, *one[6:])


def no_answer(batch: Batch) -> Answer:
    """Room for the answer of a law."""
    problems = len(batch.restitution)
    return Answer(np.zeros(len(batch.weights)), np.zeros(problems, np.int64), np.zeros(problems))


@kernel(inline="always")
def part(batch, k):
    """Rows, whitened velocity and weights of problem k."""
    a, b = batch.contact[k], batch.contact[k + 1]
    c, d = batch.bodies[k], batch.bodies[k + 1]
    whole = batch.rows
    touch_ptr, touch = whole.touch_ptr[c + k : d + k + 1], whole.touch[batch.entry[k] : batch.entry[k + 1]]
    rows = Rows(
        whole.body[a:b], whole.val[a:b], whole.base[a:b], whole.bound, whole.tangents, whole.diag[a:b], touch_ptr, touch
    )
    return rows, batch.white[c:d], batch.weights[a:b]


@kernel(inline="always")
def put(answer, batch, k, normal, iterations, residual):
    """Writes the answer of problem k."""
    first = batch.contact[k]
    for i in range(len(normal)):
        answer.normal[first + i] = normal[i]
    answer.iterations[k], answer.residual[k] = iterations, residual

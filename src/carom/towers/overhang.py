"""Stacks of bricks that reach far beyond the edge of a table: found by search, proved stable in fractions.

After M. Paterson and U. Zwick, Overhang, American Mathematical Monthly 116 (2009), who give the best stacks of few
bricks. Nothing of theirs is built in: the tests compare.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic
from typing import Any

from ..errors import ProblemError
from ..scene.numbers import scalar
from .blas_threads import one_blas_thread
from .bricks import Brick
from .checks import count, shown
from .makers import size_of
from .overhang_proof import HALF, ExactRows, StackProof, balance
from .overhang_rounding import proved
from .overhang_search import Found, Search
from .tower import Tower

Progress = Callable[[int, int, float], None]  # steps done, steps in all, best overhang so far

WIDTH = 6  # stacks of each size that are grown further
FIRST_WIDTH = 2  # of the first of several passes, when there is a time limit; each later one has twice as many
MOST_BRICKS = 100
MOST_SEED = 2**63 - 1
TABLE_LENGTH = 3  # brick lengths beyond what stands on it
STEPS = 1000  # of the progress


@dataclass(frozen=True, eq=False)
class Overhang:
    """A stack at the edge x = 0 of a table and the proof that it stands.

    `overhang` is in brick lengths. That the stack stands is proved; that no other reaches further is not claimed.
    `history` has the furthest stack of each size on the way, (bricks, overhang), as the search found it.
    """

    tower: Tower
    overhang: Fraction
    proof: StackProof
    evaluations: int  # stacks that the search brought to their largest overhang
    history: tuple[tuple[int, float], ...]


def largest_overhang(
    n: int,
    brick: Sequence[Any] = (1, Fraction(1, 4)),
    seconds: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Overhang:
    """The stack of n identical bricks, none turned, with the largest overhang that was found and could be proved.

    The first brick of its tower is the table, fixed; the others follow level by level, from left to right. Without
    `seconds` the search makes one pass and the result depends on n and `seed` alone. With it, passes follow that keep
    more and more stacks until the time is over; the smallest possible search takes about a second all the same.
    """
    (n, seed), (width, height), limit = _checked(n, seed, progress), size_of(brick), _limit(seconds)
    best = _harmonic(n)
    evaluations, history = 0, dict[int, float]()
    for search in _passes(n, limit, seed, progress):
        with one_blas_thread():
            best = _furthest(search.run(), best)
        evaluations += search.evaluations
        history |= {size: max(reach, history.get(size, 0.0)) for size, reach in search.history}
    if progress is not None:
        progress(STEPS, STEPS, float(_reach(best)))
    return Overhang(_tower(best, width, height), _reach(best), best, evaluations, tuple(sorted(history.items())))


def _passes(n: int, limit: float | None, seed: int, progress: Progress | None) -> Iterator[Search]:
    """Searches to run: one, or one after the other until the time is over."""
    if limit is None:
        yield Search(n, WIDTH, seed, progress=None if progress is None else _stepwise(progress, lambda part: part))
        return
    began = monotonic()
    tell = None if progress is None else _stepwise(progress, lambda part: (monotonic() - began) / limit)
    width = FIRST_WIDTH
    while width == FIRST_WIDTH or monotonic() < began + limit:
        yield Search(n, width, seed, began + limit, tell)
        width *= 2


def _stepwise(progress: Progress, done: Callable[[float], float]) -> Callable[[float, float], None]:
    return lambda part, best: progress(min(int(STEPS * done(part)), STEPS - 1), STEPS, best)


def _furthest(stacks: Sequence[Found], best: StackProof) -> StackProof:
    """The first stack beyond the best one that can be proved, or that one; stacks come with the furthest first."""
    for stack in stacks:
        if stack.overhang <= _reach(best):
            break
        proof = proved(stack.structure, stack.x)
        if proof is not None and _reach(proof) > _reach(best):
            return proof
    return best


def _harmonic(n: int) -> StackProof:
    """The harmonic stack: what remains if nothing better can be proved."""
    rows: ExactRows = []
    right = Fraction(0)
    for above in range(n, 0, -1):
        right += Fraction(1, 2 * above)
        rows.append([right - 1])
    proof = balance(rows)
    if proof is None:
        raise RuntimeError(f"no proof for the harmonic stack of {n} bricks")
    return proof


def _reach(proof: StackProof) -> Fraction:
    return max(row[-1] for row in proof.rows) + 1


def _tower(proof: StackProof, width: Fraction, height: Fraction) -> Tower:
    """The stack on a table as high as a brick is long."""
    long = width * (TABLE_LENGTH + max(0, math.ceil(-proof.rows[0][0])))
    bricks = [Brick.rectangle(-long / 2, width / 2, long, width, fixed=True, name="table")]
    for level, row in enumerate(proof.rows):
        y = width + height * (level + HALF)
        bricks += [Brick.rectangle(width * (x + HALF), y, width, height) for x in row]
    return Tower(tuple(bricks), name=f"overhang of {len(bricks) - 1}")


def _checked(n: Any, seed: Any, progress: Any) -> tuple[int, int]:
    if progress is not None and not callable(progress):
        raise ProblemError("progress", shown(progress), "a function of (steps done, steps in all, best overhang)")
    return count("n", n, MOST_BRICKS), count("seed", seed, MOST_SEED, least=0)


def _limit(seconds: Any) -> float | None:
    return None if seconds is None else scalar("seconds", seconds, 0.0, above=True)

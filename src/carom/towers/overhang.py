"""Search for stacks with a large overhang beyond the edge of a table, proved stable in fractions (Fig. 1 of the paper).

After M. Paterson and U. Zwick, Overhang, American Mathematical Monthly 116 (2009), who give the best stacks of few
bricks. Their stacks are not built in; the tests compare with them.

Up to ALL_UP_TO bricks, every distribution of the bricks among levels is tried, with every level as the one that
overhangs, from several random starts. Beyond that, each of the best stacks is extended by one brick in every possible
position: at either end of a level, or as a new level. A brick inserted at the bottom of a stack that stands on a single
brick, shifted out by 1 / 2n, always works, so a larger stack has a larger overhang than the one that it comes from.

From LOADED_FROM bricks on, most bricks are counterweights, and the search goes by way of loaded stacks
(`overhang_loads.py`). The stack of BASE bricks on more bricks is then what an early end of the search returns.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy
import numpy as np
import scipy

from ..checks import count, scalar, shown
from ..errors import ProblemError
from ..solvers.rows import Floats
from .bricks import Brick
from .named import size_of
from .overhang_loads import LoadedSearch
from .overhang_model import FEASIBLE, Balance, Structure, climb, merit, polish, with_forces
from .overhang_proof import HALF, ExactRows, StackProof, balance, proved
from .overhang_stacks import NEAR_PAIR, Found, Start, bottomed, everything, grown
from .tower import Tower

Progress = Callable[[int, int, float], None]  # steps done, steps in all, best overhang so far

LOADED_FROM = 12  # bricks from which on loaded stacks are searched
BASE = 8  # bricks of the stack that is returned, on more bricks, if no loaded one is completed
FIRST_LOADED_WIDTH, LOADED_WIDTH = 2, 6  # number of cores of each weight that are extended; the first pass is short
WIDTH = 6  # number of stacks of each size that are extended
FIRST_WIDTH = 2  # the same in the first pass of a search with a time limit; each later pass has twice as many
MOST_BRICKS = 100
MOST_SEED = 2**63 - 1
TABLE_LENGTH = 3  # in brick lengths, in addition to the part under the stack
STEPS = 1000  # number of progress steps
ALL_UP_TO = 5  # bricks up to which all structures are tried
CLIMBS = 8  # linear programs before SLSQP, if SLSQP alone fails
SAME_OVERHANG = 1e-6  # in brick lengths: closer overhangs are equal, and only the counterweights differ
TRIED = 0.75  # part of the extended stacks that is optimized, the best ones; with 0.5, 20 bricks have less overhang
WORK = 2.5  # exponent of the growth of the time with the size
ALIKE = 3  # largest number of stacks with equal overhang that are extended


@dataclass(frozen=True, eq=False)
class Overhang:
    """A stack at the edge x = 0 of a table and the proof that it is stable.

    `overhang` is in brick lengths. The stability of the stack is proved; that no other stack has a larger overhang is
    not claimed. `history` has the largest overhang that the search found for each size, (bricks, overhang). `finished`
    is False if Ctrl-C ended the search; the missing bricks were then added at the bottom.
    """

    tower: Tower
    overhang: Fraction
    proof: StackProof
    evaluations: int  # number of stacks that the search optimized
    history: tuple[tuple[int, float], ...]
    finished: bool = True


def largest_overhang(
    n: int,
    brick: Sequence[Any] = (1, Fraction(1, 4)),
    seconds: float | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Overhang:
    """The stack of n identical, unrotated bricks with the largest overhang that was found and proved stable.

    The first brick of its tower is the table, fixed; the others follow level by level, from left to right. Without
    `seconds` the search makes one pass, and the result depends on n and `seed` only. With it, further passes keep more
    and more stacks until the time has elapsed; the smallest possible search takes about a second in any case. Ctrl-C
    ends the search, which then returns the best stack that it has.
    """
    (n, seed), (width, height), limit = _checked(n, seed, progress), size_of(brick), _limit(seconds)
    best = _harmonic(n)
    evaluations, history, interrupted = 0, dict[int, float](), False
    searches = _passes if n < LOADED_FROM else _loaded_passes
    for search in searches(n, limit, seed, progress):
        with one_blas_thread():
            best = _furthest(search.run(), best)
        evaluations += search.evaluations
        history |= {size: max(reach, history.get(size, 0.0)) for size, reach in search.history}
        interrupted = search.interrupted
        if interrupted:
            break
    if progress is not None:
        progress(STEPS, STEPS, float(_reach(best)))
    known = tuple(sorted(history.items()))
    return Overhang(_tower(best, width, height), _reach(best), best, evaluations, known, not interrupted)


def _passes(n: int, limit: float | None, seed: int, progress: Progress | None) -> Iterator[Search]:
    """The searches to run: one, or a sequence that ends with the time."""
    if limit is None:
        yield Search(n, WIDTH, seed, progress=None if progress is None else _stepwise(progress, lambda part: part))
        return
    began = monotonic()
    tell = None if progress is None else _stepwise(progress, lambda part: (monotonic() - began) / limit)
    width = FIRST_WIDTH
    while width == FIRST_WIDTH or monotonic() < began + limit:
        yield Search(n, width, seed, began + limit, tell)
        width *= 2


def _loaded_passes(
    n: int, limit: float | None, seed: int, progress: Progress | None
) -> Iterator[Search | LoadedSearch]:
    """A base, a short pass and a long one; with a limit, passes of twice the width until the time has elapsed."""
    began, widths = monotonic(), [0, FIRST_LOADED_WIDTH, LOADED_WIDTH]
    deadline = float("inf") if limit is None else began + limit
    reached = [0.0]  # the largest overhang so far
    for k in itertools.count():
        if k >= len(widths):
            if limit is None:
                return
            widths.append(2 * widths[-1])
        if k and monotonic() >= deadline:
            return

        def tell(part: float, _: float = 0.0, k: int = k) -> None:
            if progress is not None:
                done = (k + part) / len(widths) if limit is None else (monotonic() - began) / limit
                progress(min(int(STEPS * done), STEPS - 1), STEPS, reached[0])

        search = (
            LoadedSearch(n, widths[k], seed, deadline, tell)
            if k
            else Search(BASE, FIRST_WIDTH, seed, deadline, tell, n)
        )
        yield search
        reached[0] = max([reached[0], *(overhang for _, overhang in search.history)])


def _stepwise(progress: Progress, done: Callable[[float], float]) -> Callable[[float, float], None]:
    """A progress function for a search, which reports the completed part of STEPS steps."""
    return lambda part, best: progress(min(int(STEPS * done(part)), STEPS - 1), STEPS, best)


def _furthest(stacks: Sequence[Found], best: StackProof) -> StackProof:
    """The first stack beyond the best one that can be proved, else the best one; the furthest stacks come first."""
    for stack in stacks:
        if stack.overhang <= _reach(best):
            break
        proof = proved(stack.structure, stack.x)
        if proof is not None and _reach(proof) > _reach(best):
            return proof
    return best


def _harmonic(n: int) -> StackProof:
    """The harmonic stack: the result if no better stack can be proved."""
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
    """The overhang of a stack."""
    return max(row[-1] for row in proof.rows) + 1


def _tower(proof: StackProof, width: Fraction, height: Fraction) -> Tower:
    """The stack on a table whose height is the length of a brick."""
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


SearchProgress = Callable[[float, float], None]  # part done, best overhang


class Attempt(NamedTuple):
    """A stack to start from, with the forces that violate the constraints least."""

    structure: Structure
    problem: Balance
    z: Floats
    merit: float


@dataclass
class Search:
    """One pass from few bricks to all of them, with the best `width` stacks of each size."""

    bricks: int
    width: int
    seed: int = 0
    deadline: float = float("inf")  # of time.monotonic; without time left, bricks are added at the bottom
    progress: SearchProgress | None = None
    target: int = 0  # bricks are added at the bottom up to this number
    evaluations: int = 0
    history: list[tuple[int, float]] = field(default_factory=list)  # (size, largest overhang)
    interrupted: bool = False  # by Ctrl-C

    def run(self) -> list[Found]:
        """Stacks with all the bricks, the one with the largest overhang first; after Ctrl-C those that it leads to."""
        size = min(self.bricks, ALL_UP_TO)
        found: list[Found] = []
        try:
            found = self._best(size, everything(size, np.random.default_rng(self.seed)))
            self.history.append((size, found[0].overhang))
            while size < self.bricks:
                larger = self._best(size + 1, [start for stack in found for start in grown(stack)])
                found = _choice([*larger, bottomed(found[0])], self.width)
                size += 1
                self.history.append((size, found[0].overhang))
        except KeyboardInterrupt:
            self.interrupted = True
        for _ in range(size, max(self.bricks, self.target)):
            found = [bottomed(stack) for stack in found]
        return found

    def _best(self, size: int, starts: list[Start]) -> list[Found]:
        """The best stacks of a size among those reached from `starts`."""
        attempts = [self._attempt(*start) for start in starts]
        if size > ALL_UP_TO:
            attempts.sort(key=lambda attempt: -attempt.merit)
            attempts = attempts[: math.ceil(TRIED * len(attempts))]
            if self.deadline < float("inf"):  # the time may not suffice for all: try a random sample
                attempts = [attempts[k] for k in np.random.default_rng(self.seed).permutation(len(attempts))]
        best: dict[Structure, Found] = {}
        until = self._until(size)
        for k, attempt in enumerate(attempts):
            if monotonic() > until:
                break
            self._tell(size, k / len(attempts))
            stack = self._ascend(attempt)
            known = best.get(attempt.structure)
            if stack is not None and (known is None or stack.overhang > known.overhang):
                best[attempt.structure] = stack
        return _choice(best.values(), self.width)

    def _until(self, size: int) -> float:
        """The end of the time for this size, in proportion to its work; the first size has no limit."""
        if size <= ALL_UP_TO or self.deadline == float("inf"):
            return float("inf")
        ahead = sum(k**WORK for k in range(size, self.bricks + 1))
        return monotonic() + max(0.0, self.deadline - monotonic()) * size**WORK / ahead

    def _attempt(self, structure: Structure, x: Floats) -> Attempt:
        problem = Balance(structure, structure.pairs(x, NEAR_PAIR))
        z = with_forces(problem, x)
        return Attempt(structure, problem, z, merit(problem, z))

    def _ascend(self, attempt: Attempt) -> Found | None:
        """The stack with the largest overhang of this structure, from these positions; None if it is infeasible."""
        self.evaluations += 1
        structure, problem, z, _ = attempt
        end = polish(problem, z)
        if end.broken > FEASIBLE and structure.bricks <= ALL_UP_TO:
            # Poor starts need this; for extended stacks it costs as much as two more stacks and finds less.
            end = polish(problem, climb(problem, z, CLIMBS).z)
        return None if end.broken > FEASIBLE else Found(structure, end.z[: structure.bricks], end.overhang)

    def _tell(self, size: int, part: float) -> None:
        if self.progress is not None:
            done = ((size - 1 + part) / self.bricks) ** (WORK + 1)
            self.progress(done, self.history[-1][1] if self.history else 0.0)


def _choice(stacks: Iterable[Found], width: int) -> list[Found]:
    """The stacks with the largest overhang, at most ALIKE with the same overhang, and at most half of all."""
    chosen: list[Found] = []
    most = min(ALIKE, max(1, width // 2))
    for stack in sorted(stacks, key=lambda s: -s.overhang):
        alike = sum(abs(other.overhang - stack.overhang) < SAME_OVERHANG for other in chosen)
        if alike < most and len(chosen) < width:
            chosen.append(stack)
    return chosen


PREFIXES = ("scipy_openblas", "openblas")
SUFFIXES = ("", "64_")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limits OpenBLAS from the wheels of SciPy and NumPy to one thread. Another BLAS is not affected.

    SLSQP calls LAPACK for matrices of a few dozen rows. With several OpenBLAS threads each call wakes and waits for all
    of them: on two busy processors the search for seven bricks took 84 s instead of 8 s, and the last bits of its sums
    depended on the machine. SciPy and NumPy have no option for this, so it is set in the library of their wheels.
    """
    with ExitStack() as undo:
        for package in (scipy, numpy):
            for get, put in _switches(Path(str(package.__file__)).parent.parent / f"{package.__name__}.libs"):
                undo.callback(put, get())
                put(1)
        yield


def _switches(folder: Path) -> Iterator[tuple[Callable[[], int], Callable[[int], None]]]:
    """(get, set) functions for the number of threads of each OpenBLAS in the folder, which is already loaded."""
    for path in sorted(folder.glob("*openblas*")):
        try:
            library = ctypes.CDLL(str(path))
        except OSError:
            continue
        for prefix in PREFIXES:
            for suffix in SUFFIXES:
                get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                put = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if get is not None and put is not None:
                    yield get, put

"""Figures of a tower: contact forces, the initial collapse, the resting shape.

Each contact has one arrow for the force on the brick above it (on the right brick, if neither is above), with a length
proportional to the force. It starts beside the dot of the contact, inside the brick on which it acts, because bricks
often share a corner. If bricks are fixed, the overhang beyond them is dimensioned.
For the initial collapse an arrow at each center of mass shows its acceleration; dashed outlines show where the bricks
move, and rings mark the contacts that open.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import choice, file_path, flag, scalar, shown
from ..errors import ProblemError
from ..solvers.rows import Floats, Ints
from .contacts import GROUND

if TYPE_CHECKING:
    from .sheet import Sheet
    from .tower import Tower

WHAT = ("forces", "velocities", "plain", "certificate", "resting")
SUFFIXES = (".png", ".svg", ".pdf")
GRAY = "#6B7280"
COLUMN, PAGE = 3.5, 7.2  # inches: one column of a paper, and both
MANY = 60  # bricks from which a figure takes both columns, so that arrows can be read
SHIFT = 0.45  # largest displacement of the dashed outlines, relative to the thickness of a brick
LEAST = 1e-6  # forces and motions below this fraction of the largest are left out


def draw(
    tower: Tower,
    path: str | PathLike[str],
    what: str = "forces",
    *,
    numbers: bool = False,
    caption: bool | str = False,
    width: float | None = None,
    overwrite: bool = True,
) -> Path:
    """Writes a figure as .png, .svg or .pdf and returns its path.

    `what` is "forces" (of the equilibrium, or of the initial collapse if the tower falls), "velocities" (the initial
    collapse), "certificate" (the motion that proves it unstable), "resting" (the shape of least energy for bricks that
    cannot slide) or "plain". `numbers` writes the number of each brick into it, `caption` adds a line below: True for
    the verdict, or a text. `width` is in inches; the default is one column of a paper, two from MANY bricks on.
    """
    target = picture_path(path, overwrite)
    choice("picture", what, WHAT)
    flag("numbers", numbers)
    if not isinstance(caption, bool | str):
        raise ProblemError("caption", shown(caption), "true, false, or text")
    inches = (PAGE if tower.count >= MANY else COLUMN) if width is None else scalar("width", width, 1.0, 30.0)
    found = _PARTS[what](tower)
    from .sheet import Sheet

    with Sheet.of(tower, inches, found.shown, found.legend_rows + bool(caption)) as page:
        found.on(page)
        if numbers:
            page.numbers()
        if caption:
            page.caption(found.caption if caption is True else str(caption))
        page.save(target)
    return target


def picture_path(path: str | PathLike[str], overwrite: bool = True) -> Path:
    """The file name, checked before any work."""
    target = file_path("path", path)
    flag("overwrite", overwrite)
    if target.suffix.lower() not in SUFFIXES:
        raise ProblemError(str(target), repr(target.suffix), f"a name that ends in {', '.join(SUFFIXES)}")
    if target.is_dir():
        raise ProblemError(str(target), "a folder", "a file name")
    if not target.absolute().parent.is_dir():
        raise ProblemError(str(target), "no such folder", "a folder that exists")
    if target.exists() and not overwrite:
        raise ProblemError(str(target), "a file that exists", "a new name, or overwrite=True")
    return target


class Plain:
    """The bricks alone."""

    def __init__(self, tower: Tower) -> None:
        self.tower = tower

    @property
    def legend_rows(self) -> int:
        """The number of text lines below the figure, besides the caption."""
        return 0

    @property
    def shown(self) -> list[Floats]:
        """Polygons that the figure must contain besides the tower."""
        return []

    @property
    def caption(self) -> str:
        t = self.tower
        return f"{t.name}: {t.count} bricks, {len(t.contacts.on)} contacts"

    def on(self, page: Sheet) -> None:
        page.bricks()
        page.overhang()


class Forces(Plain):
    """Forces of contacts and pins: of the equilibrium, or of the initial collapse if there is none."""

    def __init__(self, tower: Tower) -> None:
        super().__init__(tower)
        verdict = tower.stability()
        self.stable = bool(verdict.stable)
        found: Any = verdict if self.stable else tower.initial_collapse()
        forces = np.asarray(found.forces, dtype=np.float64)
        self.at, self.vectors, self.inward = acting(tower, forces, found.pin_forces)
        self.touching = len(forces)  # contacts are followed by pins

    @property
    def legend_rows(self) -> int:
        return int(bool(np.any(self.vectors)))

    @property
    def shown(self) -> list[Floats]:
        """The approximate tips of the arrows."""
        size = float(np.hypot(*self.vectors.T).max(initial=0.0))
        longest = max(thickness(self.tower), 0.2 * float(np.ptp(np.concatenate(self.tower.corners)[:, 0])) / COLUMN)
        return [self.at + longest / size * self.vectors] if size else []

    @property
    def caption(self) -> str:
        state = "stable" if self.stable else "falls; forces of the initial collapse"
        return f"{super().caption}; {state}"

    def on(self, page: Sheet) -> None:
        super().on(page)
        self.arrows(page)

    def arrows(self, page: Sheet) -> None:
        """Draws the forces, their contact points and their scale."""
        size = np.hypot(self.vectors[:, 0], self.vectors[:, 1])
        keep = size > LEAST * size.max(initial=0.0)
        page.dots(self.at[: self.touching][keep[: self.touching]], small=True)
        weight = self._weight()
        at = self.at[keep] + page.inside * self.inward[keep]
        unit = page.arrows(at, self.vectors[keep], "forces", weight or 1.0)
        times = "1 brick weight" if unit.value == 1.0 else f"{unit.value:g} brick weights"
        page.scale(unit, f"{times} = {unit.value * weight:.4g}" if weight else f"force {unit.value:g}")

    def _weight(self) -> float:
        """The weight of a brick if all weigh the same; else 0."""
        weight = self.tower.gravity * self.tower.mass[self.tower.free]
        return float(weight[0]) if len(weight) and np.ptp(weight) <= 1e-9 * weight[0] else 0.0


class InitialCollapse(Plain):
    """Accelerations of the initial collapse."""

    def __init__(self, tower: Tower) -> None:
        super().__init__(tower)
        self.motion, self.opens = self._first()
        self.moved = displaced(tower, self.motion)

    def _first(self) -> tuple[Floats, Any]:
        found = self.tower.initial_collapse()
        return np.asarray(found.acceleration, dtype=np.float64), np.asarray(found.opens, dtype=bool)

    @property
    def legend_rows(self) -> int:
        return int(bool(np.any(self.motion))) + int(len(self.opens) > 0)

    @property
    def shown(self) -> list[Floats]:
        return self.moved

    @property
    def caption(self) -> str:
        t = self.tower
        if not np.any(self.motion):
            return f"{t.name}: {t.count} bricks, stays at rest"
        return f"{t.name}: {t.count} bricks, {self.opens.sum()} of {len(self.opens)} contacts open"

    def on(self, page: Sheet) -> None:
        t = self.tower
        speed = np.hypot(self.motion[:, 0], self.motion[:, 1])
        shift = np.array([float(np.abs(new - old).max()) for new, old in zip(self.moved, t.corners)])
        moves = shift > LEAST * shift.max()
        page.bricks(moves)
        page.ghosts([new for new, moved in zip(self.moved, moves) if moved])
        page.dots(t.contacts.point[~self.opens])
        page.rings(t.contacts.point[self.opens])
        keep = moves & (speed > LEAST * speed.max(initial=0.0))
        unit = page.arrows(t.center[keep], self.motion[keep, :2], "motion", self._unit())
        page.scale(unit, self._unit_text(unit.value))
        page.marks_legend(self.opens.any(), bool((~self.opens).any()))

    def _unit(self) -> float:
        return self.tower.gravity or 1.0

    def _unit_text(self, value: float) -> str:
        g = self.tower.gravity
        return f"acceleration {value:g} g = {value * g:.4g}" if g else f"acceleration {value:g}"


class Certificate(InitialCollapse):
    """The motion that proves a tower unstable: contacts open or stay closed, pins hold, and the energy falls."""

    def _first(self) -> tuple[Floats, Any]:
        verdict = self.tower.stability()
        if verdict.stable:
            raise ProblemError("what", "certificate", "forces: a stable tower has no motion that proves it unstable")
        from .contacts import contact_rows

        motion = np.asarray(verdict.motion, dtype=np.float64)
        rate = contact_rows(self.tower) @ motion.ravel()
        return motion, rate > LEAST * float(np.abs(rate).max(initial=0.0))

    def _unit(self) -> float:
        return 1.0

    def _unit_text(self, value: float) -> str:
        return f"velocity {value:g}, where the fastest corner has 1"


class Resting(Forces):
    """The resting shape of bricks that sink but cannot slide, with the forces that hold them."""

    def __init__(self, tower: Tower) -> None:
        Plain.__init__(self, tower)
        self.shape = found = tower.resting_shape()
        self.moved = found.polygons
        left, right = found.left[found.upper], found.right[found.upper]
        share = (found.at - left) / (right - left)
        low, high = found.heights[found.upper].T
        self.at = np.stack([found.at, low + share * (high - low)], axis=1)
        self.vectors = np.stack([np.zeros_like(found.force), found.force], axis=1)
        self.inward = np.stack([np.sign(0.5 - share), np.zeros_like(share)], axis=1)
        self.touching = len(share)

    @property
    def shown(self) -> list[Floats]:
        return [*super().shown, *self.moved]

    @property
    def caption(self) -> str:
        return f"{self.tower.name}: bricks that cannot slide, energy lower by {self.shape.drop:.4g}"

    def on(self, page: Sheet) -> None:
        moved = [np.abs(new - old).max() > 1e-9 * self.tower.size for new, old in zip(self.moved, self.tower.corners)]
        page.bricks(moved, self.moved)
        page.ghosts([old for old, is_moved in zip(self.tower.corners, moved) if is_moved], GRAY)
        self.arrows(page)


def thickness(tower: Tower) -> float:
    """The median over the free bricks of area / longest side: the height of a brick that lies flat."""
    sizes = []
    for brick in [b for b in tower.bricks if not b.fixed] or tower.bricks:
        sides = np.roll(brick.corners, -1, axis=0) - brick.corners
        sizes.append(float(brick.area) / float(np.hypot(*sides.T).max()))
    return float(np.median(sizes))


def displaced(tower: Tower, motion: Floats) -> list[Floats]:
    """Corners after a small motion (dx, dy, angle) of each brick, scaled to a visible size."""
    arms = [c - tower.center[i] for i, c in enumerate(tower.corners)]
    reach = max(
        (float(np.hypot(*(d[:2, None] + d[2] * np.array([-a[:, 1], a[:, 0]]))).max()) for d, a in zip(motion, arms)),
        default=0.0,
    )
    if reach == 0.0:
        return [c.copy() for c in tower.corners]
    scale = SHIFT * thickness(tower) / reach
    out = []
    for center, arm, (dx, dy, turn) in zip(tower.center, arms, scale * motion):
        c, s = np.cos(turn), np.sin(turn)
        out.append(center + [dx, dy] + arm @ np.array([[c, s], [-s, c]]))
    return out


def carried(tower: Tower) -> tuple[Floats, Ints, Ints]:
    """For each contact: sign of the normal toward the brick above, that brick, and the one that pushes it up.

    If neither is above, the brick on the right takes its place.
    """
    found = tower.contacts
    level = np.abs(found.normal[:, 1]) <= 1e-9
    up = np.where(level, found.normal[:, 0] > 0.0, found.normal[:, 1] > 0.0) | (found.under == GROUND)
    return np.where(up, 1.0, -1.0), np.where(up, found.on, found.under), np.where(up, found.under, found.on)


def acting(tower: Tower, forces: Floats, pin_forces: Any) -> tuple[Floats, Floats, Floats]:
    """Points, forces and unit vectors along the contact into the brick on which it acts: contacts, then pins."""
    found, (sign, brick, _) = tower.contacts, carried(tower)
    vectors = (sign * forces)[:, None] * found.normal
    along = np.stack([-found.normal[:, 1], found.normal[:, 0]], axis=1)
    side = np.where(((tower.center[brick] - found.point) * along).sum(axis=1) >= 0.0, 1.0, -1.0)
    held = np.zeros((0, 2)) if pin_forces is None else np.asarray(pin_forces, dtype=np.float64).reshape(-1, 2)
    held = np.where(held[:, 1:] < 0.0, -held, held)
    pins = np.array([pin.at for pin in tower.pins], dtype=np.float64).reshape(-1, 2)[: len(held)]
    inward = np.concatenate([side[:, None] * along, np.zeros_like(pins)])
    return np.concatenate([found.point, pins]), np.concatenate([vectors, held]), inward


_PARTS: dict[str, Any] = {
    "plain": Plain,
    "forces": Forces,
    "velocities": InitialCollapse,
    "certificate": Certificate,
    "resting": Resting,
}

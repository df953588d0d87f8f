"""The linear map of an impact of several contacts, through the replay of the law."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..derivatives import linearize
from ..errors import ProblemError
from ..problem.problem import ImpactProblem
from ..problem.solution import ImpactSolution
from ..resolve.impulses import solve_impact
from ..resolve.response import Response
from ..solvers.rows import Floats, Ints
from .contact_map import (
    BODY,
    FRICTION,
    GRAVITY,
    INVERSE_INERTIA,
    INVERSE_MASS,
    LENGTH,
    RESTITUTION,
    A,
    B,
    V,
    geometry_map,
)
from .model import RECORD, Model
from .search import Cast, Found
from .single import contact_numbers, contact_places
from .tape import Event

SAME_INSTANT = 1e-7  # change of the time of a second contact over that of the first, relative, that is no difference


class Struck(NamedTuple):
    """One impact: contacts that touch at one time, with the impulses of the stepper (normal part, and vectors)."""

    time: float
    contacts: list[Found]
    normal: Floats  # (m,)
    impulse: Floats  # (m, 3) on the other body
    timed: bool  # whether it takes place when a gap closes, or at the start of a step


class Several:
    """An impact of several contacts, or of one contact whose answer has no closed form here."""

    def __init__(self, model: Model, cast: Cast, struck: Struck, vector: Floats, response: Response) -> None:
        self.model, self.struck = model, struck
        self.actors = np.array([contact[:2] for contact in struck.contacts])
        self.bodies = np.unique(self.actors[model.free[self.actors]])
        self.z = np.array([contact_numbers(model.layout, cast, c[:4], struck.time, vector) for c in struck.contacts])
        places = [contact_places(model.layout, contact[:4]) for contact in struck.contacts]
        self.inside: list[Ints] = [inside for inside, _ in places]
        self.ins = np.unique(np.concatenate([where for _, where in places]))
        self.columns: list[Ints] = [np.searchsorted(self.ins, where) for _, where in places]
        self.values, self.slopes = np.empty((len(self.z), 7)), np.zeros((len(self.z), 7, LENGTH))
        for k, (contact, inside) in enumerate(zip(struck.contacts, self.inside)):
            slopes = np.empty((7, len(inside)))
            self.values[k] = geometry_map(self.z[k], int(cast.kind[contact.other_feature]), inside, slopes)
            self.slopes[k][:, inside] = slopes
        self.since, self.falls = cast.since, cast.falls
        self.closing = np.zeros(len(self.z))  # speeds at which contacts may close
        self._begin()
        self._assemble()
        self._answer(response)

    def _begin(self) -> None:
        """Changes the numbers of the contacts to those with which the law is asked."""

    def _answer(self, response: Response) -> None:
        self.solution = self._solved(response)

    def _assemble(self) -> None:
        """Bodies, rows (m, 1 + t, 2, 6) along normals and tangents, and speeds (m, 1 + t) of what is not free."""
        m, t, free = len(self.z), self.model.dimension - 1, self.model.free[self.actors]
        self.pair = np.where(free, np.searchsorted(self.bodies, self.actors), -1)
        self.state, self.directions = np.zeros((len(self.bodies), BODY)), self._directions(self.values)
        for side, at in enumerate((A, B)):
            own = free[:, side]
            self.state[self.pair[own, side]] = self.z[own, at : at + BODY]
        self.locked = self.state[:, INVERSE_INERTIA] == 0.0
        self.rows, self.speed = np.zeros((m, 1 + t, 2, 6)), np.zeros((m, 1 + t))
        for side, (at, sign) in enumerate(((A, -1.0), (B, 1.0))):
            own, arm = free[:, side], (self.values[:, 4:] - self.z[:, at : at + 3])[:, None]
            entry = sign * np.concatenate([self.directions, np.cross(arm, self.directions)], axis=2)
            self.speed[~own] += np.einsum("mrk,mk->mr", entry[~own], self.z[~own, at + V : at + V + 6])
            entry[own & self.locked[self.pair[:, side]], :, 3:] = 0.0
            self.rows[own, :, side] = entry[own]
        inverse = np.repeat(self.state[:, [INVERSE_MASS, INVERSE_INERTIA]], 3, axis=1)
        self._massless = inverse == 0.0  # components that no impulse changes
        self.mass = 1.0 / np.where(self._massless, 1.0, inverse)

    def _solved(self, response: Response) -> ImpactSolution:
        c = self.model.components
        problem = ImpactProblem.from_blocks(
            self.mass[:, c],
            self.pair,
            np.ascontiguousarray(self.rows[:, 0][:, :, c]),
            self.state[:, V : V + 6][:, c],
            self.speed[:, 0] + self.closing,
            self.z[:, RESTITUTION],
            self.z[:, FRICTION],
            tangents=np.ascontiguousarray(self.rows[:, 1:][:, :, :, c]),
            tangent_speed=self.speed[:, 1:],
            name="impact of a run",
        )
        friction = response.friction_name if self.z[:, FRICTION].any() else None
        return solve_impact(
            problem, response.law, restitution_model=response.restitution_model, friction_model=friction
        )

    def _directions(self, values: Floats) -> Floats:
        """Normal and tangents (m, 1 + t, 3)."""
        n = values[:, 1:4]
        if self.model.dimension == 2:
            return np.stack([n, np.stack([-n[:, 1], n[:, 0], 0.0 * n[:, 0]], axis=1)], axis=1)
        helper = np.zeros_like(n)
        helper[np.arange(len(n)), np.argmin(np.abs(n), axis=1)] = 1.0
        self.helper = helper
        s = np.cross(n, helper)
        s /= np.linalg.norm(s, axis=1, keepdims=True)
        return np.stack([n, s, np.cross(n, s)], axis=1)

    def _direction_changes(self, dn: Floats) -> Floats:
        """Changes (m, 1 + t, 3, directions) of the normals and the tangents."""
        if self.model.dimension == 2:
            return np.stack([dn, np.stack([-dn[:, 1], dn[:, 0], 0.0 * dn[:, 0]], axis=1)], axis=1)
        n, helper = self.values[:, 1:4, None], self.helper[..., None]
        raw = np.cross(n, helper, axis=1)
        length = np.linalg.norm(raw, axis=1, keepdims=True)
        s = raw / length
        ds = np.cross(dn, helper, axis=1) / length
        ds = ds - s * (s * ds).sum(axis=1, keepdims=True)
        return np.stack([dn, ds, np.cross(dn, s, axis=1) + np.cross(n, ds, axis=1)], axis=1)

    @property
    def guard(self) -> int:
        """The contact whose closing gap sets the time: the fastest approach."""
        return int(np.argmin(self.solution.problem.separation_speed()))

    def event(self) -> tuple[Event, Floats, float]:
        """The event; velocities (k, 6) of the bodies after it; and by how much other contacts would shift its time."""
        c, zs = self.model.components, self._numbers()
        shift, other = self._shift(zs)
        moved = self._moved(zs, self.z, shift)
        q, after = self._of_bodies(zs, 0), self._after(zs, moved)
        before = self.state[:, V : V + 6]
        new = np.zeros_like(before)
        new[:, c] = self.solution.velocity
        outs, slopes = [], []
        gravity = np.concatenate([self.z[0, GRAVITY : GRAVITY + 3], np.zeros(3)])
        for b, actor in enumerate(self.bodies):
            position = q[b] + np.outer(before[b] - new[b], shift)
            velocity = after[b] - np.outer(gravity, shift)
            outs += [BODY * actor + k for k in (*c, *(V + c))] + [self.model.record_start + RECORD * int(actor)]
            slopes += [*position[c], *velocity[c], shift]
        flights = self.struck.time - self.since[self.bodies]
        fell = tuple(bool(falls) for falls in self.falls[self.bodies])
        event = Event(self.struck.time, self.bodies, flights, self.ins, np.array(outs), np.array(slopes), fell)
        return event, new, other

    def _shift(self, zs: Floats) -> tuple[Floats, float]:
        """Changes of the time of the impact, and the largest disagreement of its other contacts about it."""
        if not self.struck.timed:
            return np.zeros(zs.shape[2]), 0.0
        rate, g = self.solution.problem.separation_speed(), self.guard
        gaps = self._geometry(zs)[:, 0]
        shift = -gaps[g] / rate[g]
        left = np.abs(gaps + np.outer(rate, shift)).max(axis=1) / max(abs(rate[g]), 1e-300)
        left[g] = 0.0
        return shift, float(left.max() / max(np.abs(shift).max(), 1e-300))

    def _geometry(self, zs: Floats) -> Floats:
        """Changes (m, 7, directions) of gaps, normals and points."""
        return np.asarray(self.slopes @ zs)

    def _moved(self, zs: Floats, z: Floats, shift: Floats) -> Floats:
        """Changes of the numbers (m, LENGTH) of contacts at the changed time."""
        out, gravity = zs.copy(), z[:, GRAVITY : GRAVITY + 3, None]
        for side, at in enumerate((A, B)):
            out[:, at : at + 6] += z[:, at + V : at + V + 6, None] * shift
            out[:, at + V : at + V + 3] += np.where((self.pair[:, side] >= 0)[:, None, None], gravity * shift, 0.0)
        return out

    def _numbers(self) -> Floats:
        """Changes (m, LENGTH, directions) of the numbers of contacts at the unchanged time, for each of `ins`."""
        zs = np.zeros((len(self.z), LENGTH, len(self.ins)))
        for dz, inside, columns in zip(zs, self.inside, self.columns):
            dz[inside, columns] = 1.0
        return zs

    def _of_bodies(self, zs: Floats, at: int, count: int = 6) -> Floats:
        """Changes (k, count, directions) of the numbers of the bodies from the place `at` on."""
        out = np.zeros((len(self.bodies), count, zs.shape[2]))
        for side, start in enumerate((A, B)):
            own = self.pair[:, side] >= 0
            out[self.pair[own, side]] = zs[own, start + at : start + at + count]
        return out

    def _turned(self, moved: Floats) -> tuple[Floats, Floats]:
        """Changes of `rows` (m, 1 + t, 2, 6, directions) and `speed` (m, 1 + t, directions)."""
        rows, speed = np.zeros((*self.rows.shape, moved.shape[2])), np.zeros((*self.speed.shape, moved.shape[2]))
        geometry, e = self._geometry(moved), self.directions[..., None]
        de = self._direction_changes(geometry[:, 1:4])
        for side, (at, sign) in enumerate(((A, -1.0), (B, 1.0))):
            own = self.pair[:, side] >= 0
            arm = (self.values[:, 4:] - self.z[:, at : at + 3])[:, None, :, None]
            darm = (geometry[:, 4:] - moved[:, at : at + 3])[:, None]
            turn = np.cross(darm, e, axis=2) + np.cross(arm, de, axis=2)
            entry = sign * np.concatenate([de, turn], axis=2)
            if not own.all():
                row = sign * np.concatenate([e, np.cross(arm, e, axis=2)], axis=2)[~own, ..., 0]
                speed[~own] += np.einsum("mk,mrkc->mrc", self.z[~own, at + V : at + V + 6], entry[~own])
                speed[~own] += row @ moved[~own, at + V : at + V + 6]
            entry[own & self.locked[self.pair[:, side]], :, 3:] = 0.0
            rows[own, :, side] = entry[own]
        return rows, speed

    def _after(self, zs: Floats, moved: Floats, closing: Floats | float = 0.0) -> Floats:
        """Changes (k, 6, directions) of the velocities after the impact; `closing` are those of closing speeds."""
        dv, inverse = self._of_bodies(moved, V), self._of_bodies(zs, INVERSE_MASS, 2)
        t, c, count = self.model.dimension - 1, self.model.components, dv.shape[2]
        rows, speed = self._turned(moved)
        speed[:, 0] += closing
        inside = self.pair >= 0
        dmass = np.zeros((len(self.bodies), 6, count))
        dmass[:, :3] = -((self.mass[:, :1] ** 2)[:, :, None]) * inverse[:, :1]
        turning = -((self.mass[:, 3:4] ** 2)[:, :, None]) * inverse[:, 1:]
        dmass[:, 3:] = np.where(self.locked[:, None, None], 0.0, turning)
        changes = {
            "velocity": dv[:, c],
            "rows": rows[:, 0][inside][:, c],
            "tangents": rows[:, 1:][np.repeat(inside[:, None], t, 1)][:, c],
            "boundary_speed": speed[:, 0],
            "tangent_speed": speed[:, 1:],
            "restitution": moved[:, RESTITUTION],
            "friction": moved[:, FRICTION],
            "mass": dmass[:, c],
        }
        if not changes["restitution"].any():
            del changes["restitution"]
        try:
            lin = linearize(self.solution, tuple(changes))
        except ProblemError as error:
            raise ProblemError(f"impact at time {self.struck.time:g}", error.value, error.expected) from None
        self.linearization, self.names = lin, tuple(changes)
        found = lin._forward(changes, count).reshape(len(self.bodies), len(c), count)
        out = dv.copy()
        out[:, c] = found
        return out

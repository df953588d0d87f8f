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
        touched = [actor for contact in struck.contacts for actor in contact[:2] if model.free[actor]]
        self.bodies = np.unique(np.array(touched))
        self.d = len(model.components)
        self.z = np.array([contact_numbers(model.layout, cast, c[:4], struck.time, vector) for c in struck.contacts])
        self.where: list[Ints] = []
        inside: list[Ints] = []
        for contact in struck.contacts:
            ins, where = contact_places(model.layout, contact[:4])
            inside.append(ins)
            self.where.append(where)
        self.ins = np.unique(np.concatenate(self.where))
        self.values, self.slopes = np.empty((len(self.z), 7)), []
        for k, contact in enumerate(struck.contacts):
            slopes = np.empty((7, len(inside[k])))
            self.values[k] = geometry_map(self.z[k], int(cast.kind[contact.other_feature]), inside[k], slopes)
            self.slopes.append(slopes)
        self.inside = inside
        self.since, self.falls = cast.since, cast.falls
        self.closing = np.zeros(len(self.z))  # speeds at which contacts may close
        self.solution = self._solved(response)

    def _solved(self, response: Response) -> ImpactSolution:
        model, m, t = self.model, len(self.z), self.model.dimension - 1
        place = {int(b): k for k, b in enumerate(self.bodies)}
        self.pair = np.array([[place.get(actor, -1) for actor in c[:2]] for c in self.struck.contacts])
        state = np.zeros((len(self.bodies), BODY))
        for k in range(m):
            for side, at in enumerate((A, B)):
                if self.pair[k, side] >= 0:
                    state[self.pair[k, side]] = self.z[k, at : at + BODY]
        self.state = state
        directions = self._directions(self.values)
        rows = np.zeros((m, 1 + t, 2, 6))
        self.speed = np.zeros((m, 1 + t))
        for k in range(m):
            for side, (at, sign) in enumerate(((A, -1.0), (B, 1.0))):
                arm = self.values[k, 4:] - self.z[k, at : at + 3]
                for j, e in enumerate(directions[k]):
                    entry = sign * np.concatenate([e, np.cross(arm, e)])
                    if self.pair[k, side] >= 0:
                        rows[k, j, side] = entry
                    else:
                        self.speed[k, j] += entry @ self.z[k, at + V : at + V + 6]
        self.locked = state[:, INVERSE_INERTIA] == 0.0
        for k in range(m):
            for side in range(2):
                if self.pair[k, side] >= 0 and self.locked[self.pair[k, side]]:
                    rows[k, :, side, 3:] = 0.0
        self.rows, c = rows, model.components
        inverse = np.concatenate(
            [np.repeat(state[:, [INVERSE_MASS]], 3, 1), np.repeat(state[:, [INVERSE_INERTIA]], 3, 1)], axis=1
        )
        self.mass = 1.0 / np.where(inverse > 0.0, inverse, 1.0)
        problem = ImpactProblem.from_blocks(
            self.mass[:, c],
            self.pair,
            np.ascontiguousarray(rows[:, 0][:, :, c]),
            state[:, V : V + 6][:, c],
            self.speed[:, 0] + self.closing,
            self.z[:, RESTITUTION],
            self.z[:, FRICTION],
            tangents=np.ascontiguousarray(rows[:, 1:][:, :, :, c]),
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

    def _direction_changes(self, k: int, dn: Floats) -> Floats:
        """Changes (1 + t, 3, directions) of the normal and the tangents of contact k."""
        if self.model.dimension == 2:
            return np.stack([dn, np.stack([-dn[1], dn[0], 0.0 * dn[0]])])
        n, helper = self.values[k, 1:4], self.helper[k]
        raw = np.cross(n, helper)
        length = float(np.linalg.norm(raw))
        s = raw / length
        ds = np.cross(dn.T, helper).T / length
        ds = ds - np.outer(s, s @ ds)
        return np.stack([dn, ds, np.cross(dn.T, s).T + np.cross(n, ds.T).T])

    @property
    def guard(self) -> int:
        """The contact whose closing gap sets the time: the fastest approach."""
        return int(np.argmin(self.solution.problem.separation_speed()))

    def event(self) -> tuple[Event, Floats, float]:
        """The event; velocities (k, 6) of the bodies after it; and by how much other contacts would shift its time."""
        c, zs = self.model.components, self._numbers()
        shift, other = self._shift(zs)
        moved = [self._moved(dz, z, shift, contact) for dz, z, contact in zip(zs, self.z, self.struck.contacts)]
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

    def _shift(self, zs: list[Floats]) -> tuple[Floats, float]:
        """Changes of the time of the impact, and the largest disagreement of its other contacts about it."""
        if not self.struck.timed:
            return np.zeros(zs[0].shape[1]), 0.0
        rate, g = self.solution.problem.separation_speed(), self.guard
        gaps = np.array([self.slopes[k][0] @ zs[k][self.inside[k]] for k in range(len(zs))])
        shift = -gaps[g] / rate[g]
        left = np.abs(gaps + np.outer(rate, shift)).max(axis=1) / max(abs(rate[g]), 1e-300)
        left[g] = 0.0
        return shift, float(left.max() / max(np.abs(shift).max(), 1e-300))

    def _moved(self, dz: Floats, z: Floats, shift: Floats, contact: Found) -> Floats:
        """Changes of the numbers of a contact at the changed time."""
        out = dz.copy()
        for start, actor in ((A, contact.ball), (B, contact.other)):
            out[start : start + 6] += np.outer(z[start + V : start + V + 6], shift)
            if self.model.free[actor]:
                out[start + V : start + V + 3] += np.outer(z[GRAVITY : GRAVITY + 3], shift)
        return out

    def _numbers(self) -> list[Floats]:
        """Changes of the numbers of each contact at the unchanged time, for a change of each of the numbers `ins`."""
        change, at = np.eye(len(self.ins)), {int(v): k for k, v in enumerate(self.ins)}
        zs = [np.zeros((LENGTH, len(self.ins))) for _ in self.z]
        for dz, inside, where in zip(zs, self.inside, self.where):
            dz[inside] = change[[at[int(v)] for v in where]]
        return zs

    def _of_bodies(self, zs: list[Floats], at: int, count: int = 6) -> Floats:
        """Changes (k, count, directions) of the numbers of the bodies from the place `at` on."""
        out = np.zeros((len(self.bodies), count, zs[0].shape[1]))
        for dz, pair in zip(zs, self.pair):
            for b, start in zip(pair, (A, B)):
                if b >= 0:
                    out[b] = dz[start + at : start + at + count]
        return out

    def _after(self, zs: list[Floats], moved: list[Floats], closing: Floats | float = 0.0) -> Floats:
        """Changes (k, 6, directions) of the velocities after the impact; `closing` are those of closing speeds."""
        dv, inverse = self._of_bodies(moved, V), self._of_bodies(zs, INVERSE_MASS, 2)
        m, t, c, count = len(self.z), self.model.dimension - 1, self.model.components, dv.shape[2]
        rows, speed = np.zeros((m, 1 + t, 2, 6, count)), np.zeros((m, 1 + t, count))
        speed[:, 0] += closing
        directions = self._directions(self.values)
        for k in range(m):
            geometry = self.slopes[k] @ moved[k][self.inside[k]]
            de = self._direction_changes(k, geometry[1:4])
            for side, (at, sign) in enumerate(((A, -1.0), (B, 1.0))):
                arm, darm = self.values[k, 4:] - self.z[k, at : at + 3], geometry[4:] - moved[k][at : at + 3]
                for j in range(1 + t):
                    e = directions[k, j]
                    turn = np.cross(darm.T, e).T + np.cross(arm, de[j].T).T
                    entry = sign * np.concatenate([de[j], turn])
                    if self.pair[k, side] >= 0:
                        rows[k, j, side] = entry
                        if self.locked[self.pair[k, side]]:
                            rows[k, j, side, 3:] = 0.0
                    else:
                        own = sign * np.concatenate([e, np.cross(arm, e)])
                        v = self.z[k, at + V : at + V + 6]
                        speed[k, j] += v @ entry + own @ moved[k][at + V : at + V + 6]
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
            "restitution": np.array([moved[k][RESTITUTION] for k in range(m)]),
            "friction": np.array([moved[k][FRICTION] for k in range(m)]),
            "mass": dmass[:, c],
        }
        wants = np.abs(changes["restitution"]).any()
        if not wants:
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

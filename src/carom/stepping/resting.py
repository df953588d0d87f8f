"""The resting solve: inelastic contact with Coulomb friction, started from the last step's impulses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contact.contact_set import ContactSet
from ..impact.contacts import Contacts, Impulses
from ..impact.space_rows import along_tangents
from ..solvers.coulomb.active_set import coulomb_2d
from ..solvers.coulomb.islands_3d import coulomb_3d
from ..solvers.coulomb.sweeps import normal_sweeps
from ..solvers.qp.box import solve_cone
from ..solvers.rows import Floats, Ints
from ..world import World

TOLERANCE = 1e-8  # speeds, relative to the fastest at any contact
MANY = 3000  # frictionless contacts above which sweeps replace the exact solve
SWEEPS = 200
SPACE_SWEEPS = 12  # of islands too large for exact solves in space: the next step goes on from where they end


class Resting:
    """Remembers the impulses of the last step by the lasting names of their contacts.

    In space friction is kept as a vector of the world: the tangents of a contact may jump from one step to the next.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._key = np.empty(0, np.int64)
        self._normal, self._tangent = np.empty(0), np.empty(self._sized(0))

    def memory(self) -> dict[str, np.ndarray]:
        return {"rest_key": self._key, "rest_normal": self._normal, "rest_tangent": self._tangent}

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        if "rest_key" in memory:
            self._key = np.array(memory["rest_key"], np.int64)
            self._normal = np.array(memory["rest_normal"], np.float64)
            self._tangent = np.array(memory["rest_tangent"], np.float64)

    def __call__(self, contacts: Contacts, found: ContactSet, slack: Floats) -> Impulses | None:
        """Impulses for `u + slack >= 0`, slack a speed not below zero; None if that holds already."""
        wanted = replace(contacts, boundary=contacts.boundary + slack)
        if wanted.speeds().min() >= 0.0:
            self._key = np.empty(0, np.int64)
            return None
        key = self.names(found)
        normal, tangent = self._start(key, found.normal)
        result = self._solve(wanted, normal, tangent)
        if _gains(wanted, result):
            result = self._solve(wanted, np.zeros_like(normal), np.zeros_like(tangent))
        self._keep(key, found.normal, result)
        return result

    def _solve(self, contacts: Contacts, normal: Floats, tangent: Floats) -> Impulses:
        if contacts.tangents is None:
            return self._frictionless(contacts, normal)
        solve, sweeps = (coulomb_2d, SWEEPS) if tangent.ndim == 1 else (coulomb_3d, SPACE_SWEEPS)
        residual, systems = solve(
            contacts.rows,
            contacts.tangents,
            contacts.velocity,
            contacts.boundary,
            contacts.tangent_boundary,
            contacts.friction,
            normal,
            tangent,
            TOLERANCE,
            sweeps,
        )
        return Impulses(normal, tangent.reshape(len(normal), -1), systems, certificate=residual)

    def _frictionless(self, contacts: Contacts, normal: Floats) -> Impulses:
        if contacts.count <= MANY:
            normal, certificate = solve_cone(contacts.rows, contacts.speeds(), normal)
            return Impulses(normal, None, 1, certificate=certificate)
        x, w = contacts.velocity, contacts.boundary
        residual, sweeps = normal_sweeps(contacts.rows, x, w, normal, TOLERANCE, SWEEPS)
        return Impulses(normal, None, int(sweeps), certificate=float(residual))

    def names(self, found: ContactSet) -> Ints:
        """One number for each contact that lasts from step to step."""
        n, w = self.world.count, len(self.world.boundaries.kind)
        return ((found.first * (n + w) + found.second + w) << 20) ^ (found.feature_id & 0xFFFFF)

    def _sized(self, m: int) -> tuple[int, ...]:
        """Shape of the remembered friction of m contacts: a number each, in space a vector."""
        return (m,) if self.world.dimension == 2 else (m, 3)

    def _start(self, key: Ints, direction: Floats) -> tuple[Floats, Floats]:
        normal, tangent = np.zeros(len(key)), np.zeros(self._sized(len(key)))
        if len(self._key):
            at = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
            same = self._key[at] == key
            normal[same], tangent[same] = self._normal[at[same]], self._tangent[at[same]]
        return normal, tangent if tangent.ndim == 1 else _components(direction, tangent)

    def _keep(self, key: Ints, direction: Floats, result: Impulses) -> None:
        order = np.argsort(key, kind="stable")
        self._key, self._normal = key[order], result.normal[order]
        if result.tangent is None:
            self._tangent = np.zeros(self._sized(len(key)))
        elif self.world.dimension == 2:
            self._tangent = result.tangent[order, 0]
        else:
            self._tangent = along_tangents(direction, result.tangent)[order]


def _components(normal: Floats, vector: Floats) -> Floats:
    """Components (m, 2) of vectors along the tangents of their contacts."""
    out = np.empty((len(normal), 2))
    for s in range(2):
        one = np.zeros_like(out)
        one[:, s] = 1.0
        out[:, s] = np.einsum("ij,ij->i", along_tangents(normal, one), vector)
    return out


def _gains(contacts: Contacts, result: Impulses) -> bool:
    """Whether the impulses do work: then the warm start led astray, and the solve starts again from nothing."""
    x = contacts.after(result.normal, result.tangent)
    work = float(result.normal @ contacts.speeds(x))
    if result.tangent is not None:
        slip = contacts.tangent_speeds(x)
        if slip.shape[1] == 1:
            work += float(result.tangent[:, 0] @ slip[:, 0])
        else:
            work += float((result.tangent * slip).sum())
    before = float((contacts.velocity**2).sum())
    return work > 1e-9 * before

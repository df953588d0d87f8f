"""The resting solve: inelastic contact with Coulomb friction, started from the last step's impulses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contact.contact_set import ContactSet
from ..impact.contacts import Contacts, Impulses
from ..solvers.box import solve_cone
from ..solvers.coulomb import normal_sweeps
from ..solvers.coulomb_active_set import coulomb
from ..solvers.rows import Floats, Ints
from ..world import World

TOLERANCE = 1e-8  # speeds, relative to the fastest at any contact
MANY = 3000  # frictionless contacts above which sweeps replace the exact solve
SWEEPS = 200


class Resting:
    """Remembers the impulses of the last step by the lasting names of their contacts."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._key = np.empty(0, np.int64)
        self._normal, self._tangent = np.empty(0), np.empty(0)

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
        key = self._names(found)
        normal, tangent = self._start(key)
        result = self._solve(wanted, normal, tangent)
        if _gains(wanted, result):
            result = self._solve(wanted, np.zeros_like(normal), np.zeros_like(tangent))
        self._keep(key, result)
        return result

    def _solve(self, contacts: Contacts, normal: Floats, tangent: Floats) -> Impulses:
        if contacts.tangents is None:
            return self._frictionless(contacts, normal)
        residual, systems = coulomb(
            contacts.rows,
            contacts.tangents,
            contacts.velocity,
            contacts.boundary,
            contacts.tangent_boundary,
            contacts.friction,
            normal,
            tangent,
            TOLERANCE,
            SWEEPS,
        )
        return Impulses(normal, tangent[:, None], systems, certificate=residual)

    def _frictionless(self, contacts: Contacts, normal: Floats) -> Impulses:
        if contacts.count <= MANY:
            normal, certificate = solve_cone(contacts.rows, contacts.speeds(), normal)
            return Impulses(normal, None, 1, certificate=certificate)
        x, w = contacts.velocity, contacts.boundary
        residual, sweeps = normal_sweeps(contacts.rows, x, w, normal, TOLERANCE, SWEEPS)
        return Impulses(normal, None, int(sweeps), certificate=float(residual))

    def _names(self, found: ContactSet) -> Ints:
        n, w = self.world.count, len(self.world.walls.kind)
        return ((found.first * (n + w) + found.second + w) << 20) ^ (found.feature & 0xFFFFF)

    def _start(self, key: Ints) -> tuple[Floats, Floats]:
        normal, tangent = np.zeros(len(key)), np.zeros(len(key))
        if len(self._key):
            at = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
            same = self._key[at] == key
            normal[same], tangent[same] = self._normal[at[same]], self._tangent[at[same]]
        return normal, tangent

    def _keep(self, key: Ints, result: Impulses) -> None:
        order = np.argsort(key, kind="stable")
        self._key, self._normal = key[order], result.normal[order]
        self._tangent = np.zeros(len(key)) if result.tangent is None else result.tangent[order, 0]


def _gains(contacts: Contacts, result: Impulses) -> bool:
    """Whether the impulses do work: then the warm start led astray, and the solve starts again from nothing."""
    x = contacts.after(result.normal, result.tangent)
    work = float(result.normal @ contacts.speeds(x))
    if result.tangent is not None:
        work += float(result.tangent[:, 0] @ contacts.tangent_speeds(x)[:, 0])
    before = float((contacts.velocity**2).sum())
    return work > 1e-9 * before

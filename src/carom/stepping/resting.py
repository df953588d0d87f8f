"""The resting solve: inelastic contact with Coulomb friction, warm-started with the impulses of the last step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..contact.contact_set import ContactSet
from ..impact.contact_rows import friction_along_tangents, friction_in_world
from ..impact.contacts import Contacts, Impulses
from ..solvers.coulomb.active_set import coulomb_2d
from ..solvers.coulomb.islands_3d import coulomb_3d
from ..solvers.coulomb.sweeps import normal_sweeps
from ..solvers.qp.box import solve_cone
from ..solvers.rows import Floats, Ints
from ..solvers.thresholds import EXACT_REST_CONTACTS
from ..world import World
from .report import FRICTION_SHAPE

TOLERANCE = 1e-8  # residual of speeds, relative to the fastest at any contact
SWEEPS_2D = 200
SWEEPS_3D = 12  # for islands that are too large for an exact solve in 3D; the next step continues from their result
WORK_TOLERANCE = 1e-9  # work of the impulses, relative to twice the kinetic energy, above which the solve is repeated
FEATURE_BITS = 20  # bits of a feature in the key of a contact


class RestingSolver:
    """Solves for the impulses of resting contacts, and keeps them for the warm start of the next solve.

    Contacts are recognized by their bodies and feature. Friction is kept as `friction_in_world`, because in 3D the
    tangents of a contact may change abruptly from one step to the next.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._key = np.empty(0, np.int64)
        self._normal, self._tangent = np.empty(0), self._no_friction(0)

    def memory(self) -> dict[str, np.ndarray]:
        """The impulses of the last solve, for a checkpoint."""
        return {"rest_key": self._key, "rest_normal": self._normal, "rest_tangent": self._tangent}

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Restores the impulses of a checkpoint."""
        if "rest_key" in memory:
            self._key = np.array(memory["rest_key"], np.int64)
            self._normal = np.array(memory["rest_normal"], np.float64)
            self._tangent = np.array(memory["rest_tangent"], np.float64)

    def __call__(self, contacts: Contacts, found: ContactSet, slack: Floats) -> Impulses | None:
        """Impulses such that `u + slack >= 0`, with speeds slack >= 0; None if that holds without impulses."""
        wanted = replace(contacts, boundary_speed=contacts.boundary_speed + slack)
        if wanted.speeds().min() >= 0.0:
            self._key = np.empty(0, np.int64)
            return None
        key = self.keys(found)
        normal, tangent = self._warm_start(key, found.normal)
        result = self._solve(wanted, normal, tangent)
        if _do_work(wanted, result):  # the warm start was misleading
            result = self._solve(wanted, np.zeros_like(normal), np.zeros_like(tangent))
        self._keep(key, found.normal, result)
        return result

    def _solve(self, contacts: Contacts, normal: Floats, tangent: Floats) -> Impulses:
        if contacts.tangents is None:
            return self._frictionless(contacts, normal)
        solve, sweeps = (coulomb_2d, SWEEPS_2D) if tangent.shape[1] == 1 else (coulomb_3d, SWEEPS_3D)
        residual, systems = solve(
            contacts.rows,
            contacts.tangents,
            contacts.velocity,
            contacts.boundary_speed,
            contacts.tangent_boundary_speed,
            contacts.friction,
            normal,
            tangent if tangent.shape[1] > 1 else tangent[:, 0],
            TOLERANCE,
            sweeps,
        )
        return Impulses(normal, tangent, systems, residual=residual)

    def _frictionless(self, contacts: Contacts, normal: Floats) -> Impulses:
        if contacts.count <= EXACT_REST_CONTACTS:
            normal, residual = solve_cone(contacts.rows, contacts.speeds(), normal)
            return Impulses(normal, None, 1, residual=residual / max(contacts.approach(), np.finfo(float).tiny))
        x, w = contacts.velocity, contacts.boundary_speed
        residual, sweeps = normal_sweeps(contacts.rows, x, w, normal, TOLERANCE, SWEEPS_2D)
        return Impulses(normal, None, int(sweeps), residual=float(residual))

    def keys(self, found: ContactSet) -> Ints:
        """One number (m,) per contact that identifies it from step to step."""
        n, w = self.world.count, len(self.world.boundaries.kind)
        pair = found.first * (n + w) + found.second + w
        return (pair << FEATURE_BITS) ^ (found.feature_id & ((1 << FEATURE_BITS) - 1))

    def _no_friction(self, m: int) -> Floats:
        """Friction impulses of zero for m contacts, as `friction_in_world`."""
        return np.zeros((m, *FRICTION_SHAPE[self.world.dimension]))

    def _warm_start(self, key: Ints, direction: Floats) -> tuple[Floats, Floats]:
        """Normal (m,) and friction impulses (m, t) of the last solve; zero for new contacts."""
        normal, tangent = np.zeros(len(key)), self._no_friction(len(key))
        if len(self._key):
            at = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
            same = self._key[at] == key
            normal[same], tangent[same] = self._normal[at[same]], self._tangent[at[same]]
        return normal, friction_along_tangents(direction, tangent)

    def _keep(self, key: Ints, direction: Floats, result: Impulses) -> None:
        order = np.argsort(key, kind="stable")
        self._key, self._normal = key[order], result.normal[order]
        if result.tangent is None:
            self._tangent = self._no_friction(len(key))
        else:
            self._tangent = friction_in_world(direction, result.tangent)[order]


def _do_work(contacts: Contacts, result: Impulses) -> bool:
    """Whether the impulses add energy."""
    x = contacts.after(result.normal, result.tangent)
    work = float(result.normal @ contacts.speeds(x))
    if result.tangent is not None:
        slip = contacts.tangent_speeds(x)
        if slip.shape[1] == 1:
            work += float(result.tangent[:, 0] @ slip[:, 0])
        else:
            work += float((result.tangent * slip).sum())
    before = float((contacts.velocity**2).sum())
    return work > WORK_TOLERANCE * before

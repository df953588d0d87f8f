"""What is wrong with the solution of an impact problem, measured in extended precision."""

from __future__ import annotations

import numpy as np

from carom import laws
from carom.problem.contacts import RESOLVED
from carom.problem.mass import PhysicalRows
from carom.problem.solution import ImpactSolution

Long = np.ndarray
TOLERANCE = 1e-8  # residual of an answer that is called resolved, relative to the fastest approach or slip
GAIN = 1e-9  # energy gain of laws that claim KIN, relative
BALANCE = 1e-10  # momentum
ROUNDING = 1e-14  # error of a speed, relative to the largest sum |J| |v| that it is computed from


def long(array: object) -> Long:
    return np.asarray(array, dtype=np.longdouble)


def dense(rows: PhysicalRows, n: int) -> Long:
    """Rows (m, n d) as a matrix."""
    m, d = len(rows.ptr) - 1, rows.val.shape[1]
    out = np.zeros((m, n, d), np.longdouble)
    for i in range(m):
        for e in range(rows.ptr[i], rows.ptr[i + 1]):
            out[i, rows.body[e]] += rows.val[e]
    return out.reshape(m, n * d)


class Measured:
    """Speeds, impulses and scales of a solution in extended precision."""

    def __init__(self, s: ImpactSolution, restitution_model: str) -> None:
        p = s.problem
        # The models newton and stronge act inside the passes of a law, which then is not the inelastic law for e = 0.
        self.inelastic = restitution_model in ("energetic", "qce_lcp") and bool((p.restitution == 0.0).all())
        n, d = p.block
        self.solution, self.problem = s, p
        self.before, self.after = long(p.velocity).ravel(), long(s.velocity).ravel()
        self.mass = _mass(p.mass, n * d)
        self.jacobian = dense(p.rows, n)
        self.normal = long(s.impulse)
        self.u, self.u_after = (self.jacobian @ v + long(p.boundary_speed) for v in (self.before, self.after))
        m, t = p.contact_count, p.tangent_count
        self.rough = s.friction_impulse is not None and p.tangents is not None
        self.tangents = dense(p.tangents, n) if p.tangents is not None else np.zeros((0, n * d), np.longdouble)
        w = long(p.tangent_speed).ravel() if p.tangent_speed is not None else np.zeros(0, np.longdouble)
        self.slip, self.slip_after = ((self.tangents @ v + w).reshape(m, t) for v in (self.before, self.after))
        self.tangent = long(s.friction_impulse) if self.rough else np.zeros((m, t), np.longdouble)
        slipping = np.sqrt((self.slip**2).sum(axis=1)) * (p.friction > 0.0)
        fastest = max((-self.u).max(), slipping.max(initial=np.longdouble(0)), np.longdouble(0))
        sums = np.abs(self.jacobian) @ np.abs(self.before) + np.abs(p.boundary_speed)
        sums_after = np.abs(self.jacobian) @ np.abs(self.after) + np.abs(p.boundary_speed)
        self.noise = ROUNDING * max(sums.max(), sums_after.max()) / TOLERANCE
        self.scale = max(fastest, self.noise, np.longdouble(np.finfo(float).tiny) * 1e-8)

    def work(self) -> tuple[Long, Long]:
        """Work of the impulses, and the energy that it is compared with."""
        work = self.normal @ (self.u + self.u_after) / 2 + (self.tangent * (self.slip + self.slip_after)).sum() / 2
        diag = long(self.problem.contacts.rows.diag)
        energy = max(self.before @ (self.mass @ self.before) / 2, (self.u**2 / (2 * diag)).max())
        return work, energy


def _mass(mass: object, size: int) -> Long:
    values = getattr(mass, "values", None)
    if values is None:
        return long(mass.matrix.toarray())  # type: ignore[attr-defined]
    if values.ndim == 2:
        return np.diag(long(values).ravel())
    out, d = np.zeros((size, size), np.longdouble), values.shape[1]
    for b, block in enumerate(values):
        out[b * d : b * d + d, b * d : b * d + d] = block
    return out


def wrong_with(s: ImpactSolution, restitution_model: str = "energetic") -> str | None:
    """The first claim of the solution that does not hold, in one line, or None."""
    if not (np.isfinite(s.impulse).all() and np.isfinite(s.velocity).all() and np.isfinite(s.residual)):
        return f"nan: status {s.status}"
    if s.friction_impulse is not None and not np.isfinite(s.friction_impulse).all():
        return f"nan: friction, status {s.status}"
    m = Measured(s, restitution_model)
    claims = laws.make(s.law).claims
    return _energy(m, claims) or _momentum(m) or (_resolved(m, claims) if s.status == RESOLVED else None)


def _energy(m: Measured, claims: frozenset[str]) -> str | None:
    work, energy = m.work()
    if "KIN" in claims and work > GAIN * energy:
        return f"energy: gain {float(work / energy):.1e}, status {m.solution.status}"
    return None


def _momentum(m: Measured) -> str | None:
    change = m.mass @ (m.after - m.before)
    pushed = m.jacobian.T @ m.normal + m.tangents.T @ m.tangent.ravel()
    # Large impulses of nearly opposite contacts cancel: what is left of them has the rounding errors of the large ones.
    given = np.abs(m.jacobian).T @ np.abs(m.normal) + np.abs(m.tangents).T @ np.abs(m.tangent).ravel()
    size = max(np.abs(m.mass @ m.before).max(), given.max())
    error = np.abs(change - pushed).max()
    return f"momentum: error {float(error / size):.1e}" if error > BALANCE * size else None


def _resolved(m: Measured, claims: frozenset[str]) -> str | None:
    """The claims of the status `resolved`."""
    s, p = m.solution, m.problem
    if s.residual > TOLERANCE:
        return f"residual: reported {s.residual:.1e} as resolved"
    if "FEA" in claims and -m.u_after.min() > TOLERANCE * m.scale:
        return f"approach: {float(-m.u_after.min() / m.scale):.1e} after impact, reported {s.residual:.1e}"
    push = np.abs(m.normal).max()
    if "ONE" in claims and m.normal.min() < -TOLERANCE * push:
        return f"pull: {float(m.normal.min() / push):.1e}"
    if not p.friction.any():
        return _frictionless(m, claims)
    order = np.inf if (s.friction_model or "").startswith("pyramid") else 2
    size = np.abs(m.tangent).max(axis=1) if order == np.inf else np.sqrt((m.tangent**2).sum(axis=1))
    excess = size - long(p.friction) * np.maximum(m.normal, 0)
    if m.rough and excess.max() > TOLERANCE * max(push, size.max()):
        return f"bound: friction beyond mu lam by {float(excess.max() / push):.1e}"
    return _friction(m)


def _frictionless(m: Measured, claims: frozenset[str]) -> str | None:
    e, diag = m.problem.restitution, long(m.problem.contacts.rows.diag)
    if m.inelastic and "ONE" in claims:
        error = np.abs(np.minimum(diag * m.normal, m.u_after)).max() / m.scale
        if error > TOLERANCE and m.solution.law in ("gr", "qce", "lcp"):
            return f"complementarity: {float(error):.1e}"
    work, energy = m.work()
    if (e == 1.0).all() and "KIN" in claims and abs(work) > TOLERANCE * energy:
        return f"energy: elastic, changed by {float(work / energy):.1e}"
    return None


def _friction(m: Measured) -> str | None:
    """Friction of the models against the slip, where it is not interpolated between two answers."""
    s, p = m.solution, m.problem
    if s.friction_model in (None, "own") or not ((p.restitution == 1.0).all() or (p.restitution == 0.0).all()):
        return None
    mu = long(p.friction)[:, None] * np.maximum(m.normal, 0)[:, None]
    diag = long(p.contacts.tangent_diag)
    if (s.friction_model or "").startswith("pyramid"):
        step = np.clip(-m.slip_after, diag * (-mu - m.tangent), diag * (mu - m.tangent))
        error = np.abs(step).max()
    elif s.friction_model == "cone":
        stiff = diag.sum(axis=1, keepdims=True)
        moved = m.tangent - m.slip_after / np.where(stiff > 0, stiff, 1)
        size = np.sqrt((moved**2).sum(axis=1, keepdims=True))
        inside = np.where(size > mu, moved * mu / np.where(size > 0, size, 1), moved)
        error = (np.sqrt(((inside - m.tangent) ** 2).sum(axis=1, keepdims=True)) * stiff).max()
    else:
        error = _directed(m, mu)
    return f"friction: residual {float(error / m.scale):.1e}" if error > TOLERANCE * m.scale else None


def _directed(m: Measured, mu: Long) -> Long:
    """Residual of friction along the direction opposite to the slip before impact."""
    fast = np.sqrt((m.slip**2).sum(axis=1, keepdims=True))
    used = (fast > 1e-10 * max(fast.max(), np.abs(m.u).max())) & (mu > 0)
    direction = np.where(used, -m.slip / np.where(fast > 0, fast, 1), 0)
    z, speed = (m.tangent * direction).sum(axis=1), (m.slip_after * direction).sum(axis=1)
    t = m.tangent.shape[1]
    rows = (m.tangents.reshape(len(z), t, -1) * direction[:, :, None]).sum(axis=1)
    diag = np.array([_squared(m, row) for row in rows])
    step = np.clip(-speed, -diag * z, diag * (mu[:, 0] - z))
    return np.abs(np.where(used[:, 0], step, 0)).max()


def _squared(m: Measured, row: Long) -> Long:
    """`row M^-1 row^T`, to the precision of a scale."""
    mass = m.problem.mass
    unit = np.abs(row).max()
    if unit == 0:
        return np.longdouble(0)
    shape = m.problem.block
    return (
        np.longdouble(
            (np.asarray(row / unit, float) * mass.solve(np.asarray(row / unit, float).reshape(shape)).ravel()).sum()
        )
        * unit**2
    )

"""The simultaneous impulse method: one linear system reflects every approaching contact at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..kernels import kernel
from ..late import sparse as sp
from ..problem.contacts import Contacts, Impulses, as_matrix
from ..solvers.islands import islands
from ..solvers.rows import Floats, Ints, Rows, body_count, pushed, speeds
from ..solvers.thresholds import DENSE_SMM_CONTACTS
from .inelastic import finish_inelastically
from .law import RUN_SHARE, TANG_2014, Law

ROW_RANK = 1e-10  # singular values of the rows below this share of the largest count as zero
DIAGONAL_SHIFT = 1e-8  # regularization of the sparse factorization, relative to the largest A_ii
# Bound on the sum of the cubes of the numbers of equations, where a small system counts as SYSTEM_WORK: about a second,
# or this many systems of all contacts. In a run less, since a step may have many impacts.
SMM_WORK, LEAST_SYSTEMS, SYSTEM_WORK = 6e8, 20, 1e5
DENSE_ENTRIES = 1_000_000  # largest matrices of rows that are stored as arrays
DENSE_ROUGH_ROWS = 3 * DENSE_SMM_CONTACTS  # normal and tangential equations of a system that is solved densely
REFINED_RESIDUAL = 1e-13  # residual, relative to the right side, at which refinement stops


@dataclass(frozen=True)
class SMM(Law):
    """Repeats: V = approaching contacts; `A_VV lam = -(1 + e) u_V`; until V is empty (Tang 2014, appendix B).

    Where A_VV is singular lam is the least-squares solution of least norm, so that equal contacts get equal impulses
    and the order of contacts does not matter. Nothing keeps lam positive: a contact whose neighbors alone would reverse
    it too fast is held back by a pull. The law fails ONE, and WAV as do all laws that reflect all contacts at once.
    With one coefficient for all contacts a system changes the energy by `-(1 - e^2) u^T A^+ u / 2`; unequal
    coefficients can raise it, since pulls do work of the other sign. Pulls can also make the systems cycle, even where
    reflections without pulls would end; then the bound ends the law inelastically. So KIN is not claimed, although each
    elastic system conserves energy. For e < 1 the law can collapse inelastically; a message says so.

    Friction: the tangential impulse of a sliding contact is `mu q lam`, q against its slip before the system, so that
    `G_V (G_V + mu q T_V)^T lam = -(1 + e) u_V` (eqs. 87 to 108). These equations alone would reverse a slip that little
    friction stops, so contacts stick where that is within the friction cone, as in eqs. 50 to 55. Contacts that pull
    have no friction, and the pull of a later system reduces that of earlier ones to mu times the impulse that is left.

    tolerance: approach speed that counts as none, relative to the fastest approach.
    max_reflections: bound on the contacts reflected, over all systems; 0 means 300 + 100 m. The work is bounded, too.
    """

    name: ClassVar[str] = "smm"
    title: ClassVar[str] = "simultaneous impulse method"
    paper: ClassVar = TANG_2014
    cost: ClassVar[str] = (
        "one linear system over the approaching contacts per reflection; at most 300 + 100 m reflected contacts"
    )
    claims: ClassVar[frozenset[str]] = frozenset({"BRK", "SYM", "MOM", "FEA"})
    restitution_models: ClassVar[tuple[str, ...]] = ("newton",)
    own_friction: ClassVar[bool] = True

    tolerance: float = 1e-10
    max_reflections: int = 0

    def impulses(self, contacts: Contacts, tolerance: float = 0.0) -> Impulses:
        tol = self.approach_left(contacts, tolerance)
        bound = self.max_reflections or 300 + 100 * contacts.count
        lam = np.zeros(contacts.count)
        matrices = _matrices(contacts)
        beta = None if matrices is None else np.zeros_like(contacts.tangent_speeds())
        x, residual, count, reflected = contacts.velocity, 0.0, 0, 0
        width = 1 if beta is None else 1 + beta.shape[1]  # equations per contact
        share = RUN_SHARE if tolerance else 1.0
        work, most = 0.0, share * max(SMM_WORK, LEAST_SYSTEMS * float(width * contacts.count) ** 3)
        while True:
            u = contacts.speeds(x)
            approaching = np.flatnonzero(u < -tol)
            if len(approaching) == 0:
                return replace(self._resolved(contacts, lam, u, tol, count, residual), tangent=beta)
            if reflected >= bound or work > most:
                limit = f"{bound} reflections" if reflected >= bound else "its work"
                reason = f"smm reached its bound of {limit} in {count} linear systems"
                break
            target = -(1.0 + contacts.restitution[approaching]) * u[approaching]
            if beta is not None and matrices is not None:
                step, rough_step, step_residual, systems = _reflect_rough(contacts, matrices, x, approaching, target)
                beta[approaching] += rough_step
            else:
                (step, step_residual), systems = _reflect(contacts.rows, approaching, target), 1
            work += systems * (SYSTEM_WORK + float(width * len(approaching)) ** 3)
            count, reflected, residual = count + 1, reflected + len(approaching), max(residual, step_residual)
            if (np.abs(step) * contacts.rows.diag[approaching]).max() <= 1e-12 * target.max():
                reason = "smm cannot reflect boundaries that close in from both sides"
                break
            lam[approaching] += step
            if beta is not None:
                _reduce_friction(beta, contacts.friction * np.maximum(lam, 0.0))
            x = contacts.after(lam, beta)
        return replace(finish_inelastically(contacts, lam, x, count, reason, residual), tangent=beta)

    def iteration_work(self, contacts: int) -> float:
        """Linear systems are assembled and solved outside of compiled kernels, some of them several times."""
        return 4.0 * super().iteration_work(contacts)

    def _resolved(
        self, contacts: Contacts, lam: Floats, u: Floats, tol: float, count: int, residual: float
    ) -> Impulses:
        messages: tuple[str, ...] = ()
        slow = float(-u.min(initial=0.0))
        if (contacts.restitution < 1.0).any() and slow > 1e-3 * tol and count > contacts.count:
            messages = (f"inelastic collapse: cut off after {count} linear systems at speed {slow:.1e}",)
        return Impulses(normal=lam, iterations=count, residual=residual, messages=messages)


def _matrices(contacts: Contacts) -> tuple[Any, Any] | None:
    """Normal rows (m, n d) and tangent rows (m t, n d): arrays for few contacts, else sparse. None without friction."""
    if not contacts.tangent_count or not contacts.friction.any():
        return None
    both = contacts.matrix(), contacts.tangent_matrix()
    if sum(a.shape[0] * a.shape[1] for a in both) > DENSE_ENTRIES:
        return both
    return both[0].toarray(), both[1].toarray()


def _reduce_friction(beta: Floats, most: Floats) -> None:
    """Scales friction impulses (m, t) in place that are larger than `most` (m,)."""
    size = np.linalg.norm(beta, axis=1)
    over = size > most
    beta[over] *= (most[over] / size[over])[:, None]


def _reflect_rough(
    contacts: Contacts, matrices: tuple[Any, Any], x: Floats, subset: Ints, target: Floats
) -> tuple[Floats, Floats, float, int]:
    """Normal (k,) and friction impulses (k, t) that change the normal speeds of `subset` by `target`.

    Also the residual, and how many linear systems were solved.

    A contact sticks, `slip+ = 0`, if its impulse is then within the friction cone, and else slides, `p_t = mu q p_n`.
    All contacts stick at first, and those outside their cones change together, so that their order does not matter.
    """
    slip, mu = contacts.tangent_speeds(x)[subset], contacts.friction[subset]
    k, t = slip.shape
    size = np.linalg.norm(slip, axis=1)
    still = size <= 1e-12 * contacts.fastest()
    g, tangents = matrices[0][subset], matrices[1][(subset[:, None] * t + np.arange(t)).ravel()]
    stack = sp.vstack if sp.issparse(g) else np.vstack
    along, sticks = np.zeros((k, t)), mu > 0.0  # along: friction of sliding contacts per unit of normal impulse
    systems = 0
    while True:  # ends: a contact begins to slide once, and loses its friction once
        systems += 1
        held, pushes = tangents[np.repeat(sticks, t)], g
        for c in range(t):
            factor, rows = along[:, c], tangents[c::t]
            pushes = pushes + (sp.diags(factor) @ rows if sp.issparse(g) else factor[:, None] * rows)
        right = np.concatenate([target, -slip[sticks].ravel()])
        y, residual = _least_squares(stack([g, held]), stack([pushes, held]), right)
        normal, tangent = y[:k], along * y[:k, None]
        tangent[sticks] = y[k:].reshape(-1, t)
        strength = np.linalg.norm(tangent, axis=1)
        slides = sticks & (strength > mu * normal * (1.0 + 1e-12))
        pulls = ~sticks & (normal < 0.0) & along.any(axis=1)
        if not (slides | pulls).any():
            return normal, tangent, residual, systems
        # From rest slip begins against the impulse that would prevent it.
        q = (
            np.where(still[:, None], tangent, -slip)
            / np.where(still, strength, size).clip(np.finfo(float).tiny)[:, None]
        )
        along[slides], along[pulls] = (mu[:, None] * q)[slides], 0.0
        sticks &= ~slides


def _least_squares(rows: Any, pushes: Any, target: Floats) -> tuple[Floats, float]:
    """Least-squares solution of least norm of `rows pushes^T y = target`, and its relative residual."""
    a = rows @ pushes.T
    if len(target) <= DENSE_ROUGH_ROWS:
        a = a.toarray() if sp.issparse(a) else a
        y = np.linalg.lstsq(a, target, rcond=ROW_RANK)[0]
    else:
        from scipy.sparse.linalg import lsmr  # slow to import

        y = np.asarray(lsmr(a, target, atol=1e-14, btol=1e-14, conlim=0.0, maxiter=20 * len(target))[0])
    error = a.T @ (a @ y - target)
    return y, float(np.abs(error).max() / max(np.abs(a.T @ target).max(), np.finfo(float).tiny))


def _reflect(rows: Rows, subset: Ints, target: Floats) -> tuple[Floats, float]:
    """Least-norm least-squares solution of `A y = target` on the contacts `subset`, and its relative residual.

    The residual is that of the normal equations, `|A (A y - target)|`: zero for a least-squares solution.
    """
    n = body_count(rows)
    found = islands(rows.body, subset, np.empty(n, np.int64), np.empty(n, np.int64))
    y = np.zeros(len(subset))
    _solve_small(rows, found, target, y)
    for s in np.flatnonzero(np.diff(found.ptr) > DENSE_SMM_CONTACTS):
        part = found.order[found.ptr[s] : found.ptr[s + 1]]
        g = as_matrix(rows)[subset[part]]
        y[part] = _solve_large(sp.csr_matrix(g[:, np.unique(g.indices)]), target[part])
    return y, _residual(rows, subset, y, target)


def _residual(rows: Rows, subset: Ints, y: Floats, target: Floats) -> float:
    """`max |G^T (A y - target)| / max |G^T target|` over the rows of `subset`."""
    m, still = len(rows.diag), np.zeros((body_count(rows), rows.val.shape[3]))
    full, wanted = np.zeros(m), np.zeros(m)
    full[subset], wanted[subset] = y, target
    error = np.zeros(m)
    resting = rows._replace(base=np.zeros_like(rows.base))
    error[subset] = (speeds(resting, pushed(rows, full, still)) - wanted)[subset]
    scale = np.abs(pushed(rows, wanted, still)).max()
    return float(np.abs(pushed(rows, error, still)).max() / max(scale, np.finfo(float).tiny))


def _solve_large(g: sp.csr_matrix, b: Floats) -> Floats:
    """Sparse factorization of A + shift I with refinement; LSMR where that does not converge.

    Refinement multiplies the error along an eigenvector of A by shift / (shift + eigenvalue), and from zero it
    stays in the range of A, so its limit has the least norm. It diverges, slowly, if b is outside that range.
    """
    from scipy.sparse.linalg import lsmr, splu  # slow to import, and only large impacts come here

    a = sp.csc_matrix(g @ g.T)
    shift = DIAGONAL_SHIFT * a.diagonal().max()
    factor = splu(
        sp.csc_matrix(a + shift * sp.identity(len(b))),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    y = np.zeros(len(b))
    for _ in range(20):
        residual = b - a @ y
        if np.abs(residual).max() <= REFINED_RESIDUAL * np.abs(b).max():
            return y
        y += factor.solve(residual)
    limit = 20 * (g.shape[0] + g.shape[1])
    z = lsmr(g, b, atol=1e-15, btol=1e-15, conlim=0.0, maxiter=limit)[0]
    return np.asarray(lsmr(g.T, z, atol=1e-15, btol=1e-15, conlim=0.0, maxiter=limit)[0])


@kernel
def _solve_small(rows, found, target, y):
    """Solves islands of up to DENSE_SMM_CONTACTS contacts in place of y: `y = U S^-2 U^T b` from the singular values of
    the rows, which have twice as many accurate digits as the eigenvalues of A."""
    place, ptr = np.full(len(rows.touch_ptr) - 1, -1, np.int64), found.ptr
    for s in range(len(ptr) - 1):
        k = ptr[s + 1] - ptr[s]
        if k == 1:
            j = found.order[ptr[s]]
            y[j] = target[j] / rows.diag[found.chosen[j]]
        elif k <= DENSE_SMM_CONTACTS:
            part = found.order[ptr[s] : ptr[s + 1]]
            g = _dense_rows(rows, found.chosen[part], place)
            left, size, _ = np.linalg.svd(g, False)
            weight = left.T @ target[part]
            for c in range(len(size)):
                weight[c] = weight[c] / size[c] ** 2 if size[c] > ROW_RANK * size[0] else 0.0
            y[part] = left @ weight


@kernel(inline="always")
def _dense_rows(rows, contacts, place):
    """The normal rows of one island over the components of its bodies. `place` is scratch, -1 before and after."""
    w, d, count = rows.body.shape[1], rows.val.shape[3], 0
    for i in contacts:
        for side in range(w):
            b = rows.body[i, side]
            if b >= 0 and place[b] < 0:
                place[b] = count
                count += 1
    g = np.zeros((len(contacts), count * d))
    for r in range(len(contacts)):
        for side in range(w):
            b = rows.body[contacts[r], side]
            if b >= 0:
                for c in range(d):
                    g[r, place[b] * d + c] += rows.val[contacts[r], side, 0, c]
    for i in contacts:
        for side in range(w):
            if rows.body[i, side] >= 0:
                place[rows.body[i, side]] = -1
    return g

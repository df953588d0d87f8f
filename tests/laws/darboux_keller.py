"""One contact with Coulomb friction by the equations of Darboux and Keller: velocities over the normal impulse P.

`dv/dP = K (1, f)`, with f of size mu against the slip, or what keeps the contact from slipping if that is within the
friction cone. Compression ends at u_n = 0; the release ends when it has given back e^2 of the energy of compression.
"""

from __future__ import annotations

import numpy as np


def impact(k, u, mu, e, steps):
    """The velocity (normal, tangents) after the impact with collision matrix `k` (1 + t, 1 + t) and velocity `u`."""
    v, stored, released = np.array(u, dtype=float), 0.0, False
    hold = -np.linalg.solve(k[1:, 1:], k[1:, 0])  # friction per unit of P that keeps the slip at zero
    holds, small, unit = np.linalg.norm(hold) <= mu, 1e-9 * abs(u[0]), np.abs(u).max() / k[0, 0] / steps
    for _ in range(200 * steps):
        size, dp = np.linalg.norm(v[1:]), unit
        if size > small:
            q = -v[1:] / size
            rate = (k @ [1.0, *(mu * q)])[1:] @ q
            if rate > 0.0 and size / rate < 1e-6 * unit:
                v[1:] = 0.0
                continue
            if rate > 0.0:  # the end of the slip: at once in the plane, where its direction does not change
                dp = min(dp, size / rate * (1.0 if len(u) == 2 else 0.2))
            middle = v + 0.5 * dp * (k @ [1.0, *(mu * q)])
            if len(u) == 3:
                q = -middle[1:] / np.linalg.norm(middle[1:])
            dv = k @ [1.0, *(mu * q)]
        else:
            dv = k @ [1.0, *(hold if holds else mu * leaving(k, hold, mu))]
            dp = 1e9 * unit if holds else unit  # a contact that sticks does so to the end of the stage
        new = v + dp * dv
        work = -0.5 * dp * (v[0] + new[0])
        if not released and new[0] >= 0.0 and dv[0] > 0.0:
            dp = -v[0] / dv[0]
            stored = e * e * (stored - 0.5 * dp * v[0])
            v, released = v + dp * dv, True
            v[0] = 0.0
            if stored <= 0.0:
                return v
        elif released and stored + work <= 0.0:
            return v + dv * 2.0 * stored / (v[0] + np.sqrt(max(v[0] ** 2 + 2.0 * dv[0] * stored, 0.0)))
        else:
            v, stored = new, stored + work
    raise AssertionError("the impact does not end")


def leaving(k, hold, mu):
    """The direction of friction when slip begins: against the slip that it allows."""
    q = hold / np.linalg.norm(hold)
    for _ in range(200):
        rate = (k @ [1.0, *(mu * q)])[1:]
        q = q - 0.3 * (rate / np.linalg.norm(rate) + q)
        q /= np.linalg.norm(q)
    return q

"""Impacts as a function of JAX (extra `jax`), with derivatives in reverse mode, under `jit` and `vmap`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import numpy as np

from ..problem.problem import ImpactProblem
from .host import Impacts


def impact(
    problem: ImpactProblem,
    law: Any = "gr",
    wrt: str | Iterable[str] = "velocity",
    *,
    restitution_model: str | None = None,
    friction_model: Any = None,
) -> Callable[..., jax.Array]:
    """`f(*parameters)`: the velocity after impact of a problem whose parameters `wrt` are arrays, in this order.

    A parameter with one more axis in front is a batch of problems. Impacts are computed in double precision on the
    host, and returned with the type of the first parameter: set `jax_enable_x64` for double precision. At a kink the
    derivative is that of the side on which the law has decided.
    """
    impacts = Impacts(problem, law, wrt, restitution_model, friction_model)

    def run(*parameters: Any) -> Any:
        count = impacts.batch([p.shape for p in parameters])
        shape = problem.velocity.shape if count is None else (count, *problem.velocity.shape)
        kind = parameters[0].dtype

        def host(*values: Any) -> Any:
            return impacts.velocity([np.asarray(v) for v in values]).astype(kind)

        result = jax.ShapeDtypeStruct(shape, kind)
        return jax.pure_callback(host, result, *parameters, vmap_method="sequential")

    @jax.custom_vjp
    def solved(*parameters: Any) -> Any:
        return run(*parameters)

    def forward(*parameters: Any) -> Any:
        return run(*parameters), parameters

    def backward(parameters: Any, weights: Any) -> Any:
        kinds = [p.dtype for p in parameters]

        def host(weights: Any, *values: Any) -> Any:
            slopes = impacts.adjoints([np.asarray(v) for v in values], np.asarray(weights))
            return tuple(s.astype(kind) for s, kind in zip(slopes, kinds, strict=True))

        shapes = tuple(jax.ShapeDtypeStruct(p.shape, p.dtype) for p in parameters)
        return jax.pure_callback(host, shapes, weights, *parameters, vmap_method="sequential")

    solved.defvjp(forward, backward)

    def f(*parameters: Any) -> jax.Array:
        result: jax.Array = solved(*(jax.numpy.asarray(p) for p in parameters))
        return result

    return f

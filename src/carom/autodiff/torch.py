"""Impacts as a function of PyTorch (extra `torch`), with derivatives in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ..problem.problem import ImpactProblem
from .host import Impacts


def impact(
    problem: ImpactProblem,
    law: Any = "gr",
    wrt: str | Iterable[str] = "velocity",
    *,
    restitution_model: str | None = None,
    friction_model: Any = None,
) -> Callable[..., torch.Tensor]:
    """`f(*parameters)`: the velocity after impact of a problem whose parameters `wrt` are tensors, in this order.

    A parameter with one more axis in front is a batch of problems. Tensors are computed in double precision on the
    processor, and returned with the type and on the device of the first parameter. At a kink the derivative is that of
    the side on which the law has decided.
    """
    impacts = Impacts(problem, law, wrt, restitution_model, friction_model)

    class Impact(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(*parameters: Any) -> Any:
            return torch.as_tensor(impacts.velocity(_arrays(parameters))).to(parameters[0])

        @staticmethod
        def setup_context(context: Any, inputs: Any, output: Any) -> None:
            context.save_for_backward(*inputs)
            context.save_for_forward(*inputs)

        @staticmethod
        def backward(context: Any, weights: Any) -> Any:
            given = context.saved_tensors
            slopes = impacts.adjoints(_arrays(given), _arrays([weights])[0])
            return tuple(torch.as_tensor(s).to(p) for s, p in zip(slopes, given, strict=True))

        @staticmethod
        def jvp(context: Any, *changes: Any) -> Any:
            given = context.saved_tensors
            moved = [torch.zeros_like(p) if c is None else c for p, c in zip(given, changes, strict=True)]
            return torch.as_tensor(impacts.tangents(_arrays(given), _arrays(moved))).to(given[0])

    def f(*parameters: torch.Tensor) -> torch.Tensor:
        impacts.batch([p.shape for p in parameters])
        result: torch.Tensor = Impact.apply(*parameters)
        return result

    return f


def _arrays(tensors: Iterable[torch.Tensor]) -> list[Any]:
    """Tensors as arrays of NumPy, in double precision."""
    return [t.detach().cpu().double().numpy() for t in tensors]

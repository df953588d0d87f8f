"""Conditions on the columns of the table of events: comparisons, arithmetic, `and`, `or`, `not`.

Conditions are parsed by Python's own parser and then evaluated here, node by node: nothing but columns, numbers, texts
and a few functions is known, and nothing is executed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ProblemError
from ..stepping.events import KINDS
from ..stepping.report import STATUSES

LONGEST_CONDITION = 1000  # characters
DEEPEST = 50  # levels of brackets and operators
EXPECTED = 'comparisons of columns such as "impulse > 0.1 and second < 0"'

_ARITHMETIC: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Mod: np.mod,
}
_COMPARISONS: dict[type, Callable[..., Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_NAMES = {"kind": KINDS, "status": STATUSES}  # what the columns of texts may contain
_FUNCTIONS: dict[str, Callable[..., Any]] = {"abs": np.abs, "sqrt": np.sqrt}


def selected(condition: str, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Which rows satisfy the condition. Raises ProblemError for anything that is not a condition on the columns."""
    if not isinstance(condition, str) or len(condition) > LONGEST_CONDITION:
        raise ProblemError("where", str(condition)[:60], f"a condition of at most {LONGEST_CONDITION} characters")
    try:
        tree = ast.parse(condition.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ProblemError("where", condition, EXPECTED) from None
    with np.errstate(all="ignore"):
        found = _Condition(condition, columns).value(tree, 0)
    count = len(next(iter(columns.values())))
    if np.asarray(found).dtype != np.bool_:
        raise ProblemError("where", condition, f"a condition: {EXPECTED}")
    return np.broadcast_to(np.asarray(found, np.bool_), count)


class _Condition:
    """The evaluation of one condition."""

    def __init__(self, text: str, columns: Mapping[str, NDArray[Any]]) -> None:
        self.text, self.columns = text, columns

    def value(self, node: ast.AST, level: int) -> Any:
        """The value of a node: a column, a number, a text, or a mask."""
        if level > DEEPEST:
            raise ProblemError("where", self.text, f"at most {DEEPEST} levels of brackets and operators")
        if isinstance(node, ast.Constant):
            return self._constant(node.value)
        if isinstance(node, ast.Name):
            if node.id not in self.columns:
                raise ProblemError.unknown("column", node.id, list(self.columns))
            return self.columns[node.id]
        if isinstance(node, ast.BoolOp):
            parts = [self._mask(part, level) for part in node.values]
            return (np.logical_and if isinstance(node.op, ast.And) else np.logical_or).reduce(parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self._mask(node.operand, level)
        return self._calculated(node, level)

    def _calculated(self, node: ast.AST, level: int) -> Any:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._number(node.operand, level)
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            left, right = self._number(node.left, level), self._number(node.right, level)
            return _ARITHMETIC[type(node.op)](left, right)
        if isinstance(node, ast.Compare) and all(type(op) in _COMPARISONS for op in node.ops):
            return self._compared(node, level)
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name in _FUNCTIONS:
                return _FUNCTIONS[name](self._number(node.args[0], level))
        raise ProblemError("where", self.text, EXPECTED)

    def _compared(self, node: ast.Compare, level: int) -> Any:
        parts = (node.left, *node.comparators)
        values = [self.value(part, level + 1) for part in parts]
        for column in (part.id for part in parts if isinstance(part, ast.Name) and part.id in _NAMES):
            for text in (value for value in values if isinstance(value, str)):
                if text not in _NAMES[column]:
                    raise ProblemError.unknown(column, text, _NAMES[column])
        out: Any = True
        for op, left, right in zip(node.ops, values, values[1:]):
            texts = [np.asarray(side).dtype.kind == "U" for side in (left, right)]
            if texts[0] != texts[1] or (texts[0] and type(op) not in (ast.Eq, ast.NotEq)):
                raise ProblemError("where", self.text, "numbers compared with numbers, kind and status with names")
            out = out & np.asarray(_COMPARISONS[type(op)](left, right), np.bool_)
        return out

    def _constant(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ProblemError("where", self.text, EXPECTED)
        return value if isinstance(value, str) else float(value)

    def _number(self, node: ast.AST, level: int) -> Any:
        found = self.value(node, level + 1)
        if np.asarray(found).dtype.kind not in "fi":
            raise ProblemError("where", self.text, EXPECTED)
        return np.asarray(found, np.float64)

    def _mask(self, node: ast.AST, level: int) -> NDArray[np.bool_]:
        found = np.asarray(self.value(node, level + 1))
        if found.dtype != np.bool_:
            raise ProblemError("where", self.text, f"comparisons around and, or, not: {EXPECTED}")
        return found

"""`scipy.sparse`, imported when it is used first: most commands and runs never need it, and it takes 0.1 s."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy import sparse
else:

    class _Sparse:
        """Stands for the module."""

        def issparse(self, value: Any) -> bool:
            """Whether a value is a sparse matrix, which it cannot be before the module is imported."""
            module = sys.modules.get("scipy.sparse")
            return module is not None and module.issparse(value)

        def __getattr__(self, name: str) -> Any:
            import scipy.sparse

            return getattr(scipy.sparse, name)

    sparse = _Sparse()

__all__ = ["sparse"]

"""The table of operators: how each of ATen's becomes StableHLO, one file a family.

Operators without a row are opened by torch's own decompositions; those that have neither are refused.
"""

from __future__ import annotations

from meshwright.torch.operators import (  # noqa: F401  for their rows
    _creation,
    _elementwise,
    _indexing,
    _products,
    _reductions,
    _shapes,
    _windows,
)
from meshwright.torch.operators._table import TABLE

__all__ = ["TABLE"]

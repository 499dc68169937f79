"""The front end for PyTorch: plans of modules, and modules that run them on DTensors.

import meshwright as mw

plan = mw.torch.plan(module, (ids,), loss=loss, targets=(labels,), optimizer=optimizer,
                     cluster="8xh100-sxm")
module, optimizer = mw.torch.parallelize(module, plan)   # on every process
"""

from __future__ import annotations

from meshwright.torch import _version  # noqa: F401  before what older versions have not
from meshwright.torch._parallel import Parallel, parallelize
from meshwright.torch._planning import TorchPlan, plan

__all__ = ["Parallel", "TorchPlan", "parallelize", "plan"]

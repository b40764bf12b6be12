"""The one place where tensors, nodes and kernels meet: run the kernel, wire the node (set_history), wrap the result.

Operators come as arguments; nothing here knows any of them. See Note [Plans] in ``plan.py``.
"""

from tapegrad._src.dispatch.call_cache import call, plan_for, waiting_runner
from tapegrad._src.dispatch.codegen.runner import runner
from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad, gradient_edge
from tapegrad._src.dispatch.nodes.error import DelayedError, Error, UndefinedGrad
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.dispatch.nodes.saved_tensor import SavedTensor
from tapegrad._src.dispatch.plan import Plan

__all__ = [
    "AccumulateGrad",
    "DelayedError",
    "Error",
    "OperatorNode",
    "Plan",
    "SavedTensor",
    "UndefinedGrad",
    "call",
    "gradient_edge",
    "plan_for",
    "runner",
    "waiting_runner",
]

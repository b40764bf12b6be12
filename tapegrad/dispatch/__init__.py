"""The one place where tensors, nodes and kernels meet: run the kernel, wire the node (set_history), wrap the result.

Operators come as arguments; nothing here knows any of them. See Note [Plans] in ``plan.py``.
"""

from tapegrad.dispatch.call import call
from tapegrad.dispatch.nodes import AccumulateGrad, DelayedError, Error, OperatorNode, gradient_edge, legacy_type_name
from tapegrad.dispatch.plan import Plan

__all__ = [
    "AccumulateGrad",
    "DelayedError",
    "Error",
    "OperatorNode",
    "Plan",
    "call",
    "gradient_edge",
    "legacy_type_name",
]

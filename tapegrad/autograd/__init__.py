"""``torch.autograd``: ``backward``, ``grad``, grad modes and the graph."""

from tapegrad.autograd import forward_ad, grad_mode, graph
from tapegrad.autograd.differentiate import backward, engine, grad
from tapegrad.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from tapegrad.tensor.tensor import Tensor as Variable

__all__ = [
    "Variable",
    "backward",
    "enable_grad",
    "engine",
    "forward_ad",
    "grad",
    "grad_mode",
    "graph",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]

"""``torch.autograd.graph``: the graph as users see it, and what they can hang into it. Nothing is defined here."""

from tapegrad.autograd.differentiate import _engine_run_backward
from tapegrad.autograd.edges import GradientEdge, Node, get_gradient_edge
from tapegrad.autograd.grad_mode import increment_version
from tapegrad.autograd.multi_grad_hooks import register_multi_grad_hook
from tapegrad.autograd.mutation import (
    allow_mutation_on_saved_tensors,
    saved_tensors_survive_mutation,
    set_saved_tensors_survive_mutation,
)
from tapegrad.autograd.saved_tensors import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "GradientEdge", "Node", "_engine_run_backward", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
    "saved_tensors_survive_mutation", "set_saved_tensors_survive_mutation",
]  # fmt: skip

"""A log of the nodes that backward calls run, for whoever sets the logger ``tapegrad.autograd.graph`` to DEBUG."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from tapegrad._src.engine import GraphRoot
from tapegrad._src.tape.node import Node
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, describe

log = logging.getLogger("tapegrad.autograd.graph")


class Logged:
    """A gradient type that logs each node that is run with it."""

    def __init__(self, gradient_ops: Any) -> None:
        self.gradient_ops = gradient_ops

    def __getattr__(self, name: str) -> Any:
        return getattr(self.gradient_ops, name)

    def run(self, node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Log a node with the shapes and dtypes of what it gets, and run it."""
        if not isinstance(node, GraphRoot):
            log.debug(f"Executing: {node} with grad_outputs: [{','.join(map(short_form, grads))}]")
        return self.gradient_ops.run(node, grads, needed)


def short_form(grad: Any) -> str:
    """A gradient's dtype and shape: ``f32[2, 3]``, or ``None``."""
    if grad is None:
        return "None"
    spec: Spec = grad._spec if isinstance(grad, Tensor) else describe(grad)
    return f"{spec.dtype.abbr}[{', '.join(map(str, spec.shape))}]"

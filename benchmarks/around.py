"""What stands around the engine, and what it costs: hooks, packed saved tensors, custom functions, anomaly mode.

Each program is the chain of multiplies, forward and backward, with one feature in use at every operator; what the
feature costs is the difference to the chain without it, in the same round.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from benchmarks.chains import chain_data

Grown = Callable[[Any], None]


def on_every_tensor(torch: Any) -> Grown:
    """A hook on every tensor of the chain."""
    return lambda y: y.register_hook(_look_at_one)


def before_every_node(torch: Any) -> Grown:
    """A hook before every node of the chain."""
    return lambda y: y.grad_fn.register_prehook(_look_at_one)


def after_every_node(torch: Any) -> Grown:
    """A hook after every node of the chain."""
    return lambda y: y.grad_fn.register_hook(_look_at_both)


def retained(torch: Any) -> Grown:
    """``retain_grad`` on every tensor of the chain."""
    return lambda y: y.retain_grad()


def _look_at_one(grad: Any) -> None: ...


def _look_at_both(grad_inputs: Any, grad_outputs: Any) -> None: ...


HOOKS = {
    "a hook on every tensor": on_every_tensor,
    "a hook before every node": before_every_node,
    "a hook after every node": after_every_node,
    "retain_grad on every tensor": retained,
}


def packing(torch: Any) -> AbstractContextManager:
    """Every saved tensor goes through a pair of hooks that do nothing."""
    return torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)


def detecting(torch: Any) -> AbstractContextManager:
    """Anomaly mode."""
    with warnings.catch_warnings():  # it warns that it is slow
        warnings.simplefilter("ignore")
        return torch.autograd.detect_anomaly()


CONTEXTS = {"packed saved tensors": packing, "anomaly mode": detecting}


def multiply(torch: Any) -> Callable[[Any, Any], Any]:
    """A product as a custom function."""

    class Multiply(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(y)
            return x * y

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (y,) = ctx.saved_tensors
            return grad * y, None

    return Multiply.apply


def chain(torch: Any, length: int, feature: str) -> Callable[[], object]:
    """The chain, forward and backward, with a feature: a key of HOOKS or CONTEXTS, "nothing" or "custom functions"."""
    data = {name: torch.tensor(array) for name, array in chain_data().items()}
    x, c, seed = data["x"].requires_grad_(), data["c"], data["seed"]
    product = multiply(torch) if feature == "custom functions" else torch.mul
    grown = HOOKS[feature](torch) if feature in HOOKS else None
    context = CONTEXTS.get(feature, lambda torch: nullcontext())

    def run() -> object:
        x.grad = None
        y = x
        with context(torch):
            for _ in range(length):
                y = product(y, c)
                if grown is not None:
                    grown(y)
            y.backward(seed)
        return x.grad.numpy()

    return run


FEATURES = ("nothing", *HOOKS, *CONTEXTS, "custom functions")

"""Functions that do more than give a value: they are called though nobody takes what they give."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad.autograd.grad_mode import _set_grad_enabled

F = TypeVar("F", bound=Callable)

RANDOM = (
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "normal", "poisson",
    "multinomial",
)  # fmt: skip
"""The functions that draw random numbers, as PyTorch lists them for graphs."""

CHECKS = ["_assert", "_assert_async"]

_side_effectful_functions: set[Any] = {operator.setitem, _set_grad_enabled} | {
    NAMESPACES["torch"][name] for name in CHECKS if name in NAMESPACES["torch"]
}
"""The functions that are called though nobody takes what they give."""

_random_functions = {NAMESPACES["torch"][name] for name in RANDOM if name in NAMESPACES["torch"]}


def has_side_effect(fn: F) -> F:
    """Note that a function does more than give a value, and give it back.

    >>> @torch.fx.has_side_effect
    ... def log(x):
    ...     print(x)
    >>> graph = torch.fx.Graph()
    >>> graph.call_function(log, (graph.placeholder("x"),)).is_impure()
    True
    """
    _side_effectful_functions.add(fn)
    return fn


def is_impure_call(target: Any, impure_random: bool) -> bool:
    """Tell whether calling a function does more than give a value.

    >>> is_impure_call(torch.add, True), is_impure_call(torch.ops.aten.add_.Tensor, True)
    (False, True)
    """
    if getattr(target, "__module__", None) == "torch._ops.aten" and writes(target.__name__):
        return True
    return target in _side_effectful_functions or (impure_random and target in _random_functions)


def writes(name: str) -> bool:
    """Tell whether an operator's identity of this name writes to its arguments.

    >>> writes("add_.Tensor"), writes("add.out"), writes("add.Tensor"), writes("__and__.Scalar")
    (True, True, False, False)
    """
    base, _, overload = name.partition(".")
    return (base.endswith("_") and not base.endswith("__")) or overload.endswith("out")

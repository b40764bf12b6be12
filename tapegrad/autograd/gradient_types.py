"""The two gradient types of a backward call: values, and tensors that record. See ``engine/gradient_ops.py``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.dispatch.nodes.gradient_check import checked, hook_name
from tapegrad._src.engine import on_values
from tapegrad._src.execution.array_functions.sums import add_into
from tapegrad._src.execution.kernels.kernel import add_values, record_sum
from tapegrad._src.tape.node import Node
from tapegrad._src.tensor.tensor import Tensor, describe, shown, value_of, wrap


class Values:
    """Raw values, for a backward that is not recorded: one kernel call for each node.

    What post-hooks see of a gradient that an accumulator has kept is a tensor already, on the memory of the ``.grad``.
    """

    plain = False  # said, because to find that a class says nothing takes time
    add: Callable = staticmethod(add_values)
    add_into: Callable | None = staticmethod(add_into)
    run = staticmethod(on_values)
    seed = staticmethod(value_of)
    """Turns the gradient of a root, as the user gave it, into one of this gradient type."""

    @staticmethod
    def to_hook(grad: Any) -> Tensor:
        return grad if isinstance(grad, Tensor) else shown(grad)

    @staticmethod
    def from_hook(given: Tensor | None, returned: Any, hook: Callable) -> Any:
        return value_of(given if returned is None else checked(given, returned, hook))  # type: ignore[arg-type]

    @staticmethod
    def to_hooks(grads: Sequence) -> tuple:
        return tuple(None if grad is None else Values.to_hook(grad) for grad in grads)

    @staticmethod
    def from_hooks(given: tuple, returned: Any, hook: Callable) -> list:
        return [None if grad is None else value_of(grad) for grad in checked_all(given, returned, hook)]


class RecordedValues(Values):
    """Raw values in deferred mode: nothing is put anywhere before the program is run."""

    add = staticmethod(record_sum)
    add_into = None


class InferenceValues(Values):
    """Raw values, for a backward in inference mode: what it gives to the user are inference tensors."""

    @staticmethod
    def run(node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        leaf = node.variable if isinstance(node, AccumulateGrad) and node.variable._grad is None else None
        results = node.apply_values(grads, needed)
        if leaf is not None and leaf._grad is not None:  # made just now; one that was there stays what it is
            leaf._grad._spec = leaf._grad._spec.replace(inference=True)
        return results

    @staticmethod
    def to_hook(grad: Any) -> Tensor:
        return grad if isinstance(grad, Tensor) else wrap(grad, describe(grad).replace(inference=True))

    @staticmethod
    def to_hooks(grads: Sequence) -> tuple:
        return tuple(None if grad is None else InferenceValues.to_hook(grad) for grad in grads)


class Tensors:
    """Tensors, for ``create_graph=True``: the formulas record themselves."""

    @staticmethod
    def add(left: Any, right: Any) -> Any:
        return left + right

    add_into = add

    @staticmethod
    def run(node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        return node.apply(grads, needed)

    @staticmethod
    def to_hook(grad: Tensor) -> Tensor:
        return grad

    seed = to_hook

    @staticmethod
    def from_hook(given: Tensor | None, returned: Any, hook: Callable) -> Tensor | None:
        return given if returned is None else checked(given, returned, hook)

    to_hooks = staticmethod(tuple)

    @staticmethod
    def from_hooks(given: tuple, returned: Any, hook: Callable) -> list:
        return list(checked_all(given, returned, hook))


def checked_all(given: tuple, returned: Any, hook: Callable) -> tuple:
    """The results of a hook of a node in place of several gradients, checked; those it left alone if it returned None.
    Raises TypeError: neither None nor a tuple. RuntimeError: not as many, or one that doesn't resemble its gradient.
    """
    if returned is None:
        return given
    if not isinstance(returned, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(returned).__name__}'")
    if len(returned) != len(given):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values "
            f"(got {len(returned)}, but expected {len(given)})"
        )
    return tuple(
        None if new is None else checked(old, new, hook) for old, new in zip(given, returned, strict=True)
    )

"""Updates of optimizers, each as one kernel: of all parameters that lie behind one another in a row, at once.

They compute what the ``update`` of the optimizer does call by call, in the same order, so that both give the same bits.
Numbers of a step, as its learning rate, are arguments; what is left out of a formula makes another kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from tapegrad._src.execution.kernels.kernel import Kernel, kernel_for
from tapegrad._src.execution.tiers.host_trace import WIDE
from tapegrad._src.tape.modes import thread


def run_update(rule: Callable, options: tuple[bool, ...], arrays: list[Any], numbers: tuple[float, ...]) -> Any:
    """The parameters and states that an update makes of the given ones.

    Args:
        rule: one of the functions below.
        options: what they take first.
        arrays: the parameters, their gradients and states, of one shape and dtype.
        numbers: what they take last.
    """
    one, counts = (arrays[0].shape, arrays[0].dtype), (len(arrays), len(numbers))
    return kernel_for(_update, rule, options, one, counts, thread.modes.without)(*arrays, *numbers)


def _update(rule: Callable, options: tuple[bool, ...], one: tuple, counts: tuple[int, int], _: Any) -> Callable:
    arguments = [one] * counts[0] + [float] * counts[1]
    wide = one[1] in WIDE
    kernel = Kernel(lambda *values: rule(*options, *values), name=rule.__name__, wide=wide, arguments=arguments)
    return kernel.dispatcher()


def descent(maximize: bool, decays: bool, p: Any, grad: Any, decay: Any, step: Any) -> Any:
    """``SGD`` without momentum."""
    return p + step * _direction(maximize, decays, p, grad, decay)


def momentum_descent(
    maximize: bool, decays: bool, nesterov: bool, p: Any, grad: Any, buffer: Any, decay: Any, step: Any,
    momentum: Any, share: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """``SGD`` with momentum, from the second step on."""
    grad = _direction(maximize, decays, p, grad, decay)
    buffer = buffer * momentum + share * grad
    return p + step * (grad + momentum * buffer if nesterov else buffer), buffer


def adam(
    maximize: bool, decays: bool, shrinks: bool, p: Any, grad: Any, mean: Any, square: Any, decay: Any, step: Any,
    kept: Any, share: Any, square_kept: Any, square_share: Any, root_bias: Any, eps: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """``Adam``, whose weights may shrink by themselves."""
    grad = _direction(maximize, decays, p, grad, decay)
    p = p * kept if shrinks else p
    mean = mean + share * (grad - mean)
    square = square * square_kept + square_share * grad * grad
    return p + step * mean / (jnp.sqrt(square) / root_bias + eps), mean, square


def _direction(maximize: bool, decays: bool, p: Any, grad: Any, decay: Any) -> Any:
    grad = -grad if maximize else grad
    return grad + decay * p if decays else grad

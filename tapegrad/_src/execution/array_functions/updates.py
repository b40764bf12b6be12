"""Updates of optimizers, each as one kernel: of all parameters that lie behind one another in a row, at once.

They compute what the ``update`` of the optimizer does call by call, in the same order, so that both give the same bits.
Numbers of a step, as its learning rate, are arguments; what is left out of a formula makes another kernel.

Note [Updates in place]
A large parameter needs no others beside it: the same formulas are computed by NumPy in its own memory, in strips of
``STRIP`` elements, which stay in the cache from the first operation to the last. The strips of all large parameters of
a group are one list, of which several threads take (Note [Threads that help] in ``state/threads.py``). An interrupt
waits until all are written.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.kernels.kernel import Kernel, kernel_for
from tapegrad._src.execution.state.threads import helpers
from tapegrad._src.execution.tiers.entry import quietly
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


# -- in place ----------------------------------------------------------------------------------------------------------

STRIP = 1 << 17
"""The number of elements of a strip."""

SHARED = 100_000
"""The least average number of elements of strips that several threads compute: where operations are shorter, threads
wait for the interpreter longer than they compute."""


class PlacedUpdate(NamedTuple):
    """An update of one parameter. See Note [Updates in place].

    Attributes:
        rule, options, numbers: as ``run_update`` takes them; the rule is one of ``IN_PLACE``.
        written: the parameter and its states, contiguous, which are written to.
        gradient: contiguous, of as many elements.
    """

    rule: Callable
    options: tuple[bool, ...]
    numbers: tuple[float, ...]
    written: list[np.ndarray]
    gradient: np.ndarray


def run_in_place(updates: Sequence[PlacedUpdate]) -> None:
    """Update parameters, whose memory nobody else has, but for other gradients: they are taken as they were before."""
    written = {id(array) for one in updates for array in one.written}
    updates = [
        one._replace(gradient=one.gradient.copy()) if {id(one.gradient), id(one.gradient.base)} & written else one
        for one in updates
    ]
    strips = [
        (IN_PLACE[one.rule], one, flat, slice(start, start + STRIP))
        for one in updates
        for flat in [[array.reshape(-1) for array in (one.gradient, *one.written)]]
        for start in range(0, flat[0].size, STRIP)
    ]

    def work(number: int) -> None:
        function, one, flat, where = strips[number]
        gradient, *written = [array[where] for array in flat]
        function(*one.options, gradient, *written, *[np.empty_like(gradient) for _ in range(3)], *one.numbers)

    def alone() -> None:
        for number in range(len(strips)):
            work(number)

    with interrupts_held():
        if sum([one.gradient.size for one in updates]) >= SHARED * len(strips):
            quietly(helpers.run, work, len(strips))
        else:
            quietly(alone)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Have an interrupt (ctrl-C) wait until a block has ended: what it writes is written as a whole."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():  # others have none
        yield
        return
    came: list[tuple[int, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for number, frame in came[:1]:
            handler(number, frame)


Array = np.ndarray


def _descend(
    maximize: bool, decays: bool, grad: Array, p: Array, first: Array, second: Array, _: Array, decay: float,
    step: float,
) -> None:  # fmt: skip
    grad = _direction_in(first, second, maximize, decays, p, grad, decay)
    np.multiply(grad, step, second)
    np.add(p, second, p)


def _descend_with_momentum(
    maximize: bool, decays: bool, nesterov: bool, grad: Array, p: Array, buffer: Array, first: Array, second: Array,
    _: Array, decay: float, step: float, momentum: float, share: float,
) -> None:  # fmt: skip
    grad = _direction_in(first, second, maximize, decays, p, grad, decay)
    np.multiply(buffer, momentum, buffer)
    np.add(buffer, np.multiply(grad, share, second), buffer)
    towards = np.add(grad, np.multiply(buffer, momentum, second), second) if nesterov else buffer
    np.add(p, np.multiply(towards, step, second), p)


def _adam_in_place(
    maximize: bool, decays: bool, shrinks: bool, grad: Array, p: Array, mean: Array, square: Array, first: Array,
    second: Array, third: Array, decay: float, step: float, kept: float, share: float, square_kept: float,
    square_share: float, root_bias: float, eps: float,
) -> None:  # fmt: skip
    grad = _direction_in(first, second, maximize, decays, p, grad, decay)
    if shrinks:
        np.multiply(p, kept, p)
    np.subtract(grad, mean, second)
    np.add(mean, np.multiply(second, share, second), mean)
    np.multiply(square, square_kept, square)
    np.multiply(np.multiply(grad, square_share, second), grad, second)
    np.add(square, second, square)
    np.divide(np.sqrt(square, second), root_bias, second)
    np.add(second, eps, second)
    np.divide(np.multiply(mean, step, third), second, third)
    np.add(p, third, p)


def _direction_in(
    first: Array, second: Array, maximize: bool, decays: bool, p: Array, grad: Array, decay: float
) -> Array:
    """``_direction``, in memory that is given if it is not the gradient itself."""
    grad = np.negative(grad, first) if maximize else grad
    return np.add(grad, np.multiply(p, decay, second), first) if decays else grad


IN_PLACE: dict[Callable, Callable[..., None]] = {
    descent: _descend, momentum_descent: _descend_with_momentum, adam: _adam_in_place,
}  # fmt: skip
"""By each rule what computes the same in place: takes the options, the gradient, what it writes to, three arrays of as
many elements, and the numbers."""

"""jax's derivatives of a function on tensors by the formulas of the tape.

Note [Whose rules]
jax differentiates what kernels compute, by its own rules (Note [What jax differentiates] in ``to_jax.py``). With
``rules="tape"`` it is told another derivative instead, that of the tape's forward mode: PyTorch's at kinks, nothing
through ``detach``. The derivative is again a function on tensors with such a rule, so that all orders and modes go by
it: jax makes reverse mode of it by transposing, as it always does.

The rule computes value and derivative one by one, as ``jax.checkpoint`` needs it: what they have in common XLA finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.dispatch.function_levels import at, lift, lower
from tapegrad._src.execution.array_functions.host import array_of
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.dual import tangent_of
from tapegrad._src.tensor.lifted import TOGETHER, Level
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.forward_ad import make_dual, unpack_dual
from tapegrad.errors import message
from tapegrad.interop.arrays import from_jax_array
from tapegrad.ops.foreign import is_flowing

Program = Callable[..., tuple[Tensor, ...]]
"""A function of tensors only, that returns a tuple of tensors."""


@contextmanager
def outside_transforms() -> Iterator[None]:
    """Arrays belong to no function transform of ours: what is done with them is done outside of all."""
    if not thread.modes.level:
        yield
        return
    inside = thread.modes, thread.levels, thread.duals
    thread.modes, thread.levels, thread.duals = thread.modes.replace(level=0, forward_level=-1), (), []
    try:
        yield
    finally:
        thread.modes, thread.levels, thread.duals = inside


def given_back(leaf: Any) -> Any:
    """A result as jax gets it: a tensor's value, whatever history it has.
    Raises TypeError: it has a tangent, or belongs to a function transform around all this.
    """
    if not isinstance(leaf, Tensor):
        return leaf
    if tangent_of(leaf) is not None:
        raise TypeError(message("a function made by to_jax returned a tensor with a forward gradient",
                                hint="return its primal, its tangent, or both"))  # fmt: skip
    value = value_of(leaf)
    if isinstance(value, Opaque):
        raise TypeError(message("a function made by to_jax returned a tensor of a function transform around it",
                                hint="make it an argument"))  # fmt: skip
    return array_of(value)


def by_tape(program: Program) -> Callable:
    """A program as a function of arrays, that jax differentiates by the tape. See Note [Whose rules]."""

    @jax.custom_jvp
    def run(*arrays: Any) -> tuple:
        with outside_transforms():
            return tuple(map(given_back, program(*map(tensor_of, arrays))))

    @run.defjvp
    def rule(primals: tuple, tangents: tuple) -> tuple[tuple, tuple]:
        moves = tuple(is_flowing(primal.dtype) for primal in primals)
        given = [tangent for tangent, moving in zip(tangents, moves, strict=True) if moving]
        outputs, derivatives = run(*primals), by_tape(partial(pushed, program, moves))(*primals, *given)
        return outputs, tuple(
            derivative if is_flowing(out.dtype) else np.zeros(out.shape, jax.dtypes.float0)
            for out, derivative in zip(outputs, derivatives, strict=True)
        )

    return run


def tensor_of(array: Any) -> Tensor:
    """A tensor around what jax gives a function: an array, a tracer, or a NumPy array in a wrapper of its own."""
    return from_jax_array(array if isinstance(array, jax.Array) else jnp.asarray(array))


def pushed(program: Program, moves: tuple[bool, ...], *tensors: Tensor) -> tuple[Tensor, ...]:
    """The tangents of the outputs of a program; instead of that of an integral output, the output.

    Args:
        moves: for each input, whether it has a tangent.
        tensors: the inputs, and the tangents of those that have one.
    """
    given = iter(tensors[len(moves) :])
    with Level(None, TOGETHER, forward_level=0, forward_grad=True) as level:
        inputs = [
            make_dual(lift(x, level), lift(next(given), level)) if moving else lift(x, level)
            for x, moving in zip(tensors, moves, strict=False)
        ]
        return tuple(lower(tangent(at(out, level)), level)[0] for out in program(*inputs))


def tangent(output: Tensor) -> Tensor:
    """The tangent of an output, zeros if it has none; an integral output itself."""
    if not is_flowing(output.dtype):
        return output
    primal, direction = unpack_dual(output)
    return zeros_like(primal) if direction is None else direction

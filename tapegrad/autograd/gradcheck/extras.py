"""Checks of ``gradcheck`` apart from Jacobians: zero, undefined and batched gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tapegrad._src.bindings.state.generator import default_generator
from tapegrad._src.dispatch import UndefinedGrad
from tapegrad._src.functions.conversion import host_array
from tapegrad._src.functions.random import randn_like
from tapegrad._src.tensor.level_messages import RANDOM_IN_BATCH
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.differentiate import grad
from tapegrad.autograd.forward_ad import dual_level
from tapegrad.autograd.gradcheck.analytical_jacobian import dual_of, gradients, tangent_of
from tapegrad.autograd.gradcheck.messages import (
    BATCHED,
    BATCHED_FORWARD,
    UNDEFINED_NOT_HANDLED,
    UNDEFINED_NOT_ZERO,
    UNDEFINED_WARNING,
    GradcheckError,
    batch_mismatch,
)
from tapegrad.autograd.gradcheck.numerical_jacobian import as_tuple, has_derivative, tensor_of

BATCH = 2

# Zero and undefined gradients ---------------------------------------------------------------------------------------


def of_zeros(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
    """The gradients of ``inputs`` where those of ``outputs`` are zero."""
    zeros = [tensor_of(np.zeros(tuple(out.shape), out.dtype.numpy), out) for out in outputs]
    return tuple(grad(outputs, inputs, zeros, allow_unused=True))


def all_zero(grads: Sequence[Tensor | None], tolerance: float = 0) -> bool:
    """Tell whether gradients are zero or undefined."""
    return all(found is None or bool((abs(host_array(found)) <= tolerance).all()) for found in grads)


def check_multiplied(outputs: Sequence[Tensor], inputs: Sequence[Tensor], tolerance: float) -> None:
    """Raise a ``GradcheckError`` unless the gradients of zeros are zeros. The graph is freed."""
    if not all_zero(of_zeros(outputs, inputs), tolerance):
        raise GradcheckError("backward not multiplied by grad_output")


def check_undefined_backward(evaluate: Callable[[], list[Tensor]], inputs: Sequence[Tensor]) -> None:
    """Raise a ``GradcheckError`` unless undefined gradients of outputs, all or one of them, are taken as zeros.

    ``evaluate`` gives the differentiable outputs, anew with each call.
    """
    cases = [[UndefinedGrad()(out) for out in evaluate()]]
    if len(cases[0]) > 1:
        for undefined in range(len(cases[0])):
            outputs = evaluate()
            cases.append([UndefinedGrad()(out) if i == undefined else out for i, out in enumerate(outputs)])
    for case in cases:
        try:
            grads = of_zeros(case, inputs)
        except RuntimeError as error:
            warn(UNDEFINED_WARNING)
            raise GradcheckError(UNDEFINED_NOT_HANDLED) from error
        if not all_zero(grads):
            warn(UNDEFINED_WARNING)
            raise GradcheckError(UNDEFINED_NOT_ZERO)


def check_undefined_forward(
    func: Callable, inputs: Sequence[Any], wanted: Sequence[int], directions: Sequence[np.ndarray]
) -> None:
    """Raise a ``GradcheckError`` unless an input without a tangent is taken as one whose tangent is zero.

    All other inputs at ``wanted`` have their direction for a tangent.
    """
    with dual_level():
        duals = list(inputs)
        for position, direction in zip(wanted, directions, strict=True):
            duals[position] = dual_of(inputs[position], direction)
        for position in wanted:
            x = inputs[position]
            zero = dual_of(x, np.zeros(tuple(x.shape)))
            materialized, undefined = (_results(func, duals, position, one) for one in (zero, x.detach()))
            for index, (out, other) in enumerate(zip(materialized, undefined, strict=False)):
                _check_tangents(out, other, index, x)


def _results(func: Callable, inputs: Sequence[Any], position: int, replaced: Tensor) -> list[Tensor]:
    results = as_tuple(func(*(replaced if i == position else x for i, x in enumerate(inputs))))
    return [out for out in results if has_derivative(out._spec)]


def _check_tangents(materialized: Tensor, undefined: Tensor, index: int, x: Tensor) -> None:
    got, expected = tangent_of(materialized), tangent_of(undefined)
    if got is not None and expected is not None and not close(got, expected):
        shown = [tensor_of(one.reshape(tuple(materialized.shape)), x) for one in (got, expected)]
        raise GradcheckError(
            "Mismatch in tangent values for output with index: ",
            index,
            " when input: ",
            x,
            " has an undefined tangent value. ",
            " Got: ",
            shown[0],
            " but expected: ",
            shown[1],
        )


# Batches ------------------------------------------------------------------------------------------------------------


def close(got: np.ndarray, expected: np.ndarray) -> bool:
    """PyTorch's ``allclose`` with its defaults."""
    return bool(np.allclose(got, expected, rtol=1e-5, atol=1e-8))


@contextmanager
def batching(explanation: str) -> Iterator[None]:
    """Run a computation on a batch: one that fails, or draws random numbers, as vmap can't, fails the check."""
    before = host_array(default_generator.get_state()).tobytes()
    try:
        yield
        if host_array(default_generator.get_state()).tobytes() != before:
            raise RuntimeError(RANDOM_IN_BATCH)
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{explanation}") from error


def check_batched_backward(output: Tensor, inputs: Sequence[Tensor], number: int) -> None:
    """Raise a ``GradcheckError`` unless a batch of gradients of an output gives what they give one by one."""
    seeds = [host_array(randn_like(output)) for _ in range(BATCH)]
    rows = [gradients(inputs, output, seed) for seed in seeds]
    batch = tensor_of(np.stack(seeds), output)
    with batching(BATCHED):
        found = grad(output, inputs, batch, retain_graph=True, allow_unused=True, is_grads_batched=True)
    for position, (got, *expected) in enumerate(zip(found, *rows, strict=True)):
        if got is not None:
            _check_batch(host_array(got), np.stack([host_array(one) for one in expected]), output, number, position)


def check_batched_forward(func: Callable, inputs: Sequence[Any], wanted: Sequence[int]) -> None:
    """Raise a ``GradcheckError`` unless tangents give in a batch what they give one by one.

    ``func.vmap`` stands on this room and can't be used in it: the batch would be the loop that it is compared with.
    What is left to find out is whether ``func`` gives the same again: its last element is computed once more.
    """
    detached = [x.detach() if isinstance(x, Tensor) else x for x in inputs]
    for position in wanted:
        x = inputs[position]
        directions = [host_array(randn_like(x)) for _ in range(BATCH)]
        expected = [_tangents(func, detached, position, direction) for direction in directions]
        with batching(BATCHED_FORWARD):
            found = [*expected[:-1], _tangents(func, detached, position, directions[-1])]
        for number, shards in enumerate(zip(*expected, strict=True)):
            got = np.stack([row[number] for row in found])
            _check_batch(got, np.stack(shards), x, number, number, forward=True)


def _tangents(func: Callable, inputs: Sequence[Any], position: int, direction: np.ndarray) -> list[np.ndarray]:
    with dual_level():
        dual = dual_of(inputs[position], direction)
        results = as_tuple(func(*(dual if i == position else x for i, x in enumerate(inputs))))
        found = []
        for out in results:
            if out is not None:
                tangent = tangent_of(out)
                shape = tuple(out.shape)
                found.append(np.zeros(shape, out.dtype.numpy) if tangent is None else tangent.reshape(shape))
        return found


def _check_batch(
    got: np.ndarray, expected: np.ndarray, on: Tensor, output: int, input: int, forward: bool = False
) -> None:
    if not close(got, expected):
        shown = tensor_of(got, on), tensor_of(expected, on)
        raise GradcheckError(batch_mismatch(*shown, output, input, forward))

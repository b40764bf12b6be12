"""Jacobians by reverse and by forward mode, for ``gradcheck``. See Note [Gradcheck works on the host]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad._src.functions.conversion import host_array
from tapegrad._src.progress import progress
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.differentiate import grad
from tapegrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from tapegrad.autograd.gradcheck.messages import NONDETERMINISTIC, GradcheckError
from tapegrad.autograd.gradcheck.numerical_jacobian import as_tuple, has_derivative, tensor_of


def unit_vectors(tensor: Tensor) -> Iterator[np.ndarray]:
    """Arrays like a tensor, each with a single 1, the last index moving fastest."""
    for index in np.ndindex(*tensor.shape):
        one = np.zeros(tensor.shape, tensor.dtype.numpy)
        one[index] = 1
        yield one


# Reverse mode -------------------------------------------------------------------------------------------------------


def backward_jacobian(
    inputs: Sequence[Tensor], output: Tensor, nondet_tol: float, check_grad_dtypes: bool,
    directions: Sequence[np.ndarray] | None = None,
) -> list[np.ndarray]:  # fmt: skip
    """The gradients of ``inputs`` for each element of ``output``, or for each given direction. Computed twice.

    Returns:
        For each input an array of shape (elements of the input, elements of ``output`` or number of directions).

    Raises:
        GradcheckError: a gradient is not like its input, or the second time is not like the first.
    """
    first, second = (_rows(inputs, output, directions) for _ in range(2))
    for row in first:
        check_like(row, inputs, check_grad_dtypes)
    jacobians, again = stacked(first, inputs), stacked(second, inputs)
    if not same(jacobians, again, nondet_tol):
        raise GradcheckError(
            "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
            "different values, although analytical gradient matches numerical gradient."
            f"The tolerance for nondeterminism was {nondet_tol}.{NONDETERMINISTIC}"
        )
    return jacobians


def _rows(
    inputs: Sequence[Tensor], output: Tensor, directions: Sequence[np.ndarray] | None
) -> list[tuple[Tensor | None, ...]]:
    """The gradients of ``inputs`` for each element of ``output``, or for each given direction."""
    seeds: Iterable[np.ndarray] = unit_vectors(output) if directions is None else directions
    count = output._spec.numel if directions is None else len(directions)
    return [gradients(inputs, output, seed) for seed in progress(seeds, "gradcheck: gradients", count)]


def gradients(inputs: Sequence[Tensor], output: Tensor, seed: np.ndarray) -> tuple[Tensor | None, ...]:
    """The gradients of ``inputs`` for one gradient of ``output``; the graph is kept."""
    seed = seed.reshape(tuple(output.shape))
    return tuple(grad(output, inputs, tensor_of(seed, output), retain_graph=True, allow_unused=True))


def stacked(rows: Sequence[tuple[Tensor | None, ...]], inputs: Sequence[Tensor]) -> list[np.ndarray]:
    """For each input its gradients as the columns of an array; zeros where there is none."""
    jacobians = [np.zeros((x._spec.numel, len(rows)), x.dtype.numpy) for x in inputs]
    for column, row in enumerate(rows):
        for matrix, found in zip(jacobians, row, strict=True):
            if found is not None:
                matrix[:, column] = host_array(found).ravel()
    return jacobians


def check_like(grads: Sequence[Tensor | None], inputs: Sequence[Tensor], check_dtypes: bool) -> None:
    """Raise a ``GradcheckError`` unless each gradient has its input's shape and, if asked for, its dtype."""
    for found, x in zip(grads, inputs, strict=True):
        if found is not None and check_dtypes and found.dtype is not x.dtype:
            raise GradcheckError("Gradient has dtype mismatch")
        if found is not None and found.shape != x.shape:
            raise GradcheckError("Analytical gradient has incorrect size")


def same(jacobians: list[np.ndarray], again: list[np.ndarray], tolerance: float) -> bool:
    """Tell whether no element differs by more than ``tolerance``."""
    with np.errstate(all="ignore"):
        return not any(np.any(np.abs(one - other) > tolerance) for one, other in zip(jacobians, again, strict=True))


# Forward mode -------------------------------------------------------------------------------------------------------


def forward_jacobian(
    func: Callable, inputs: Sequence[Any], wanted: Sequence[int], outputs: Sequence[Tensor],
    check_grad_dtypes: bool = False, directions: Sequence[np.ndarray] | None = None,
) -> list[list[np.ndarray | None]]:  # fmt: skip
    """The tangents of all results of ``func`` for each element of each of the inputs at ``wanted``.

    With ``directions``, one for each of these inputs, the tangents along these alone. The other inputs have zeros for
    a tangent; none requires grad while ``func`` runs.

    Returns:
        For each input and each output an array of shape (elements of the input or 1, elements of the output); None for
        an integral output.

    Raises:
        GradcheckError: a tangent is complex and its primal is not, or the other way round; if asked for.
    """
    found = []
    with dual_level():
        duals = with_zero_tangents(inputs, wanted)
        for number, position in enumerate(wanted):
            given = unit_vectors(inputs[position]) if directions is None else [directions[number]]
            rows = []
            count = inputs[position]._spec.numel if directions is None else 1
            for direction in progress(given, "gradcheck: tangents", count):
                dual = dual_of(inputs[position], direction)
                results = as_tuple(func(*(dual if i == position else x for i, x in enumerate(duals))))
                rows.append([tangent_of(out, check_grad_dtypes) for out in results])
            found.append([_matrix(rows, index, out) for index, out in enumerate(outputs)])
    return found


def _matrix(rows: list[list[np.ndarray | None]], index: int, output: Tensor) -> np.ndarray | None:
    if not has_derivative(output._spec):
        return None
    matrix = np.zeros((len(rows), output._spec.numel), output.dtype.numpy)
    for number, row in enumerate(rows):
        tangent = row[index]
        if tangent is not None:
            matrix[number] = tangent
    return matrix


def dual_of(tensor: Tensor, direction: np.ndarray) -> Tensor:
    """The data of a tensor with a tangent."""
    tangent = direction.reshape(tuple(tensor.shape)).astype(tensor.dtype.numpy, copy=False)
    return make_dual(tensor.detach(), tensor_of(tangent, tensor))


def with_zero_tangents(inputs: Sequence[Any], wanted: Sequence[int]) -> list[Any]:
    """The inputs, those at ``wanted`` with a tangent of zeros."""
    return [dual_of(x, np.zeros(tuple(x.shape))) if i in wanted else x for i, x in enumerate(inputs)]


def tangent_of(result: Any, check_dtype: bool = False) -> np.ndarray | None:
    """The tangent of a result as a flat array; None if it has none."""
    if not has_derivative(result._spec):
        return None
    primal, tangent = unpack_dual(result)
    if tangent is None:
        return None
    if check_dtype and primal.is_complex() != tangent.is_complex():
        raise GradcheckError("Forward AD gradient has dtype mismatch.")
    return host_array(tangent).ravel()

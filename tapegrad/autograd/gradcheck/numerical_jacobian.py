"""Derivatives by central differences, for ``gradcheck``.

Note [Gradcheck works on the host]
Perturbed inputs, differences, Jacobians and comparisons are NumPy arrays, and become tensors only where they are
shown. So the operators do not take part in the check of operators, and no kernel is compiled for the shape of a
Jacobian.

Note [Perturbing an input]
The function under test need not use its arguments: it may know an input otherwise. So it is called with the inputs
themselves, and it is their data that is replaced while it runs. All handles on the same storage see that; no version
counter does. The data is put back however the call ends. Views have values of their own as yet: a function that reads
an input through a view made before the check does not see the perturbation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tapegrad._src.execution.array_functions.host import from_host
from tapegrad._src.functions.conversion import host_array
from tapegrad._src.progress import progress
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, describe, put, value_of, wrap

Run = Callable[[], Any]
"""The function under test with its inputs in place."""


def as_tuple(given: Any) -> tuple:
    """A tuple or a list as a tuple; anything else as a tuple of it."""
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def has_derivative(spec: Spec) -> bool:
    """Tell whether a tensor can have a derivative: it is floating or complex."""
    return spec.dtype.is_floating_point or spec.dtype.is_complex


def tensor_of(array: np.ndarray, like: Tensor) -> Tensor:
    """An array as a tensor on the device of another one."""
    value = from_host(np.asarray(array), like.device)
    return wrap(value, describe(value, on=like.device))


def jacobian(run: Run, tensor: Tensor, outputs: Sequence[Tensor], eps: float) -> list[np.ndarray | None]:
    """The derivatives of all results of ``run`` with respect to each element of ``tensor``, one element at a time.

    Args:
        run: called twice for each element, four times where they are complex.
        tensor: what is perturbed; it requires grad.
        outputs: what ``run`` gives.
        eps: the length of a step.

    Returns:
        For each output an array of shape (elements of ``tensor``, elements of the output); None for an integral one.

    Raises:
        AssertionError: shapes or dtypes of the results depend on the data.
    """
    complex_dtype = tensor.dtype.numpy if tensor.dtype.is_complex else None
    found = [
        np.zeros((tensor._spec.numel, out._spec.numel), complex_dtype or out.dtype.numpy)
        if has_derivative(out._spec)
        else None
        for out in outputs
    ]
    places = progress(np.ndindex(*tensor.shape), "gradcheck: differences", tensor._spec.numel)
    for row, index in enumerate(places):
        one = np.zeros(tensor.shape, tensor.dtype.to_real().numpy)
        one[index] = 1
        slopes = derivatives(run, tensor, (one, one), eps, f"on index {index} ")
        for matrix, slope in zip(found, slopes, strict=False):
            if matrix is not None:
                matrix[row] = slope
    return found


def derivatives(
    run: Run, tensor: Tensor, direction: tuple[np.ndarray, ...], eps: float, where: str = ""
) -> list[np.ndarray]:
    """The derivatives of all results of ``run``, flat, along a direction of ``tensor``.

    Of a complex tensor, ``direction`` has one array for the real and one for the imaginary part; the results, which
    must be real, then have the conjugate Wirtinger derivative: the one with respect to the real part, plus i times
    the one with respect to the imaginary part.
    """
    steps = [part.reshape(tuple(tensor.shape)) * eps for part in direction]
    along = _differences(run, tensor, steps[0], eps, where)
    if not tensor.dtype.is_complex:
        return along
    across = _differences(run, tensor, steps[1] * 1j, eps, where)
    return [one + 1j * other for one, other in zip(along, across, strict=True)]


def _differences(run: Run, tensor: Tensor, step: np.ndarray, eps: float, where: str) -> list[np.ndarray]:
    origin = host_array(tensor)
    samples = []
    with perturbable(tensor) as put:
        for moved in (origin - step, origin + step):
            put(np.where(step == 0, origin, moved).astype(origin.dtype))  # -0.0 + 0.0 would be another number
            samples.append([(out._spec, host_array(out)) for out in as_tuple(run())])
    return [_slope(below, above, eps, where) for below, above in zip(*samples, strict=False)]


def _slope(below: tuple[Spec, np.ndarray], above: tuple[Spec, np.ndarray], eps: float, where: str) -> np.ndarray:
    for what in ("shape", "dtype"):
        one, other = (getattr(spec, what) for spec, _ in (below, above))
        if one != other:
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {eps}, "
                f"but got: {what}s {one} and {other}."
            )
    low, high = (array.astype(np.int8) if array.dtype == bool else array for _, array in (below, above))
    with np.errstate(all="ignore"):
        return ((high - low) / (2 * eps)).ravel()


@contextmanager
def perturbable(tensor: Tensor) -> Iterator[Callable[[np.ndarray], None]]:
    """Gives a function that replaces the data of a tensor. See Note [Perturbing an input]."""
    before = value_of(tensor)
    try:
        yield lambda array: _replace(tensor, from_host(array, tensor.device))
    finally:
        _replace(tensor, before)


def _replace(tensor: Tensor, value: Any) -> None:
    if tensor._storage is None:
        tensor._value = value
    else:
        put(tensor, value)

"""PyTorch's membership, places counted in a row, and hashes."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._src.bindings.arguments import not_implemented
from tapegrad._src.bindings.declaration.declarations import EXPECTED, Out
from tapegrad._src.bindings.declaration.registry import UNSET, public
from tapegrad._src.bindings.declaration.scalars import common_dtype, is_number, no_overload
from tapegrad._src.execution.array_functions.host import from_host
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.dtypes import COMPLEX, INTEGRAL
from tapegrad._src.functions.joining import unbind
from tapegrad._src.functions.reductions import check_nonempty, several_dims
from tapegrad._src.tensor.lifted import fresh
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import sets as ops

_ISIN = (
    "Tensor elements, Tensor test_elements, *, bool assume_unique = False, bool invert = False, Tensor out = None",
    "Number element, Tensor test_elements, *, bool assume_unique = False, bool invert = False, Tensor out = None",
    "Tensor elements, Number test_element, *, bool assume_unique = False, bool invert = False, Tensor out = None",
)


@public("torch", out=Out(EXPECTED, history="none"))
def isin(
    elements: Any = UNSET, test_elements: Any = UNSET, *, assume_unique: bool = False, invert: bool = False,
    element: Any = UNSET, test_element: Any = UNSET,
) -> Tensor:  # fmt: skip
    """Tell whether each element is (``invert``: is not) among the test elements; one of the two may be a number.

    ``assume_unique`` says that no element occurs twice, and changes nothing here.

    Args:
        elements, element: what is looked for: a tensor, or a number.
        test_elements, test_element: where: a tensor, or a number.

    Raises:
        RuntimeError: bool or complex elements.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 5]))
    tensor([False,  True, False])
    """
    elements = element if elements is UNSET else elements
    test_elements = test_element if test_elements is UNSET else test_elements
    given = [value for value in (elements, test_elements) if value is not UNSET]
    tensors = [value for value in given if isinstance(value, Tensor)]
    if len(given) < 2 or not tensors or not all(isinstance(value, Tensor) or is_number(value) for value in given):
        raise no_overload("isin", given, _ISIN)
    for value in given:
        kind = value.dtype if isinstance(value, Tensor) else common_dtype(value, value)
        if kind.category == COMPLEX or kind is dtypes.bool:
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind.scalar_name}")
    x, members = (value if isinstance(value, Tensor) else _scalar(value, tensors[0]) for value in given)
    return ops.isin(x, members, invert=invert)


def _scalar(value: Any, like: Tensor) -> Tensor:
    """A number as a 0-dim tensor of its own type."""
    kind = common_dtype(value, value)
    return fresh(from_host(np.asarray(value, kind.numpy), like.device), Spec.of((), kind, like.device))


@public("torch", "functional")
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The indices, one int64 tensor for each dimension of ``shape``, of places counted in row-major order.

    Raises:
        TypeError: indices that are not integers; a shape that is no int, and no ints.
        ValueError: negative lengths.

    >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    if indices.dtype.category != INTEGRAL:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(size)}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    if 0 in sizes and indices._spec.numel:
        raise RuntimeError("ZeroDivisionError")
    if not sizes:
        return ()
    return unbind(ops.unravel_index(indices, shape=sizes), -1)


@public("torch", "Tensor", out=Out(history="none"))
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the first ``size`` nonzero elements: int64 of shape (size, ndim), with ``fill_value`` where there
    are fewer. Unlike ``nonzero`` it works under ``jax.jit``.

    Raises:
        RuntimeError: a negative size.

    >>> torch.nonzero_static(torch.tensor([0, 3]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if isinstance(size, (bool, float, str)) or size is None:
        raise TypeError(f"nonzero_static(): argument 'size' must be int, not {type(size).__name__}")
    size = operator.index(size)
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    return ops.nonzero_static(input, size=size, fill_value=operator.index(fill_value))


@public("torch", "Tensor", out=Out("Expected result to be of dtype uint64, but got {O}", history="none"))
def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The exclusive or, over all elements or over ``dim``, of their bits in float64 or int64: uint64.

    Raises:
        RuntimeError: another mode than 0; nothing to reduce.
        NotImplementedError: complex elements.

    >>> torch.hash_tensor(torch.tensor([1, 2, 3]))
    tensor(0, dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    axes = several_dims("hash_tensor", dim, input.ndim)
    whole = dim is None or (isinstance(dim, (tuple, list)) and not dim)
    if whole and not input._spec.numel:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    check_nonempty("hash_tensor", input, axes, ": ")
    if input.dtype.category == COMPLEX:
        raise not_implemented("xor_sum_cpu", input.dtype)
    return ops.hash_tensor(input, axis=axes, keepdims=keepdim, dtype=dtypes.uint64)

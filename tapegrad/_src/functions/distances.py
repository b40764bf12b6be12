"""PyTorch's distances of all pairs of rows: ``cdist``, ``pdist``."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.execution.data.sizes import at_most
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import distances
from tapegrad.ops.checks import expect_same_scalar_type
from tapegrad.ops.kinds import broadcast_shapes, broadcast_to
from tapegrad.ops.shape import view

MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
"""True if ``cdist`` uses a matrix product: where there are many rows, always, never."""

_MANY_ROWS = 25


def _check_order(name: str, p: Any) -> float | int:
    if not isinstance(p, (int, float)):
        raise TypeError(f"{name}(): argument 'p' (position 3) must be float, not {type(p).__name__}")
    p = float(p)
    if not p >= 0:
        raise RuntimeError(f"{name} only supports non-negative p values")
    return int(p) if p.is_integer() else p


def _check_rows(name: str, x: Tensor) -> None:
    if x.dtype.category != FLOATING:
        raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.scalar_name}")


@public("torch", "functional")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = MODES[0]) -> Tensor:
    """The ``p``-norms of the differences of all rows of ``x1`` (..., m, k) and ``x2`` (..., n, k): (..., m, n).

    The gradient is 0 where rows are equal. Euclidean distances of many rows are computed by a matrix product, as
    ``compute_mode`` says; other ones have no second derivative.

    Raises:
        RuntimeError: fewer than two dimensions, other columns, integers, a negative ``p``.
        ValueError: an unknown ``compute_mode``.

    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if compute_mode not in MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    _check_rows("X1", x1)
    _check_rows("X2", x2)
    order = _check_order("cdist", p)
    batch = broadcast_shapes([x1.shape[:-2], x2.shape[:-2]])
    expect_same_scalar_type(x1, x2)
    refuse_halves("cdist", x1)
    many = not (at_most(x1.shape[-2], _MANY_ROWS) and at_most(x2.shape[-2], _MANY_ROWS))
    by_product = order == 2 and (compute_mode == MODES[1] or (compute_mode == MODES[0] and many))
    if not by_product or not x1._spec.numel or not x2._spec.numel:
        return distances.cdist(x1, x2, p=order)
    both = [x if tuple(x.shape[:-2]) == batch else broadcast_to(x, shape=(*batch, *x.shape[-2:])) for x in (x1, x2)]
    return view(distances.euclidean_dist(*both), shape=(*batch, x1.shape[-2], x2.shape[-2]))


def refuse_halves(kernel: str, x: Tensor) -> None:
    """Refuse the half types. Raises NotImplementedError: PyTorch's message."""
    if x.dtype.itemsize < 4:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{x.dtype.scalar_name}'")


@public("torch", "nn.functional", native=True)
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The ``p``-norms of the differences of all pairs of rows of a matrix (n, k), in order: (n (n - 1) / 2,).

    The gradient is 0 where rows of ``input`` are equal; there is no second derivative.

    Raises:
        RuntimeError: no matrix, integers, a negative ``p``.

    >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 4.0]]))
    tensor([5., 4., 3.])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if input.dtype.category != FLOATING:
        raise RuntimeError("pdist only supports floating-point dtypes")
    order = _check_order("pdist", p)
    refuse_halves("pdist", input)
    return distances.pdist(input, p=order)

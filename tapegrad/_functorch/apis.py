"""``torch._functorch.apis``. Nothing is defined here but an old name."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tapegrad.func.gradients import grad, grad_and_value
from tapegrad.func.mapping import batched_inputs, vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable:  # fmt: skip
    """``vmap``, in so many parts.

    Args:
        func, in_dims, out_dims, randomness: as in ``vmap``.
        chunks: how many parts; of fewer examples each is one.

    >>> chunk_vmap(lambda x: x * 2, chunks=2)(torch.arange(3))
    tensor([0, 2, 4])
    """

    @wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        size, *_ = batched_inputs(in_dims, args, func)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=-(-size // chunks))(*args, **kwargs)

    return vmap(func, in_dims, out_dims, randomness) if chunks == 1 else wrapped

"""``torch._functorch.vmap``: the pieces of PyTorch's ``vmap``. Libraries exchange them; here nobody would notice.

What says which inputs are mapped, and what messages call a function, is the same. What wraps tensors by hand is
refused when it is called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.absent import refused, refusing
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import broadcast_prefix as _broadcast_to_and_flatten
from tapegrad.func.mapping import batched_inputs, vmap
from tapegrad.func.mapping import name_of as _get_name
from tapegrad.utils._pytree import TreeSpec, tree_flatten, tree_map_, tree_unflatten

__all__ = [
    "Tensor", "TreeSpec", "_add_batch_dim", "_broadcast_to_and_flatten", "_create_batched_inputs", "_get_name",
    "_maybe_remove_batch_dim", "_process_batched_inputs", "_remove_batch_dim", "_unwrap_batched",
    "_validate_and_get_batch_size", "in_dims_t", "out_dims_t", "tree_flatten", "tree_map_", "tree_unflatten", "vmap",
]  # fmt: skip

in_dims_t = out_dims_t = int | tuple[Any, ...] | None

LEVELS = "torch.vmap enters and leaves its level by itself; map over trees of tensors, or over a dimension by in_dims"

__getattr__ = refusing(__name__)
_add_batch_dim = refused("torch._functorch.vmap._add_batch_dim", LEVELS)
_create_batched_inputs = refused("torch._functorch.vmap._create_batched_inputs", LEVELS)
_maybe_remove_batch_dim = refused("torch._functorch.vmap._maybe_remove_batch_dim", LEVELS)
_remove_batch_dim = refused("torch._functorch.vmap._remove_batch_dim", LEVELS)
_unwrap_batched = refused("torch._functorch.vmap._unwrap_batched", LEVELS)


def _process_batched_inputs(in_dims: Any, args: tuple, func: Callable) -> tuple[int, list, list, TreeSpec]:
    """The number of examples, the dimensions and the leaves of the arguments, and their structure.

    Raises:
        ValueError: ``in_dims`` doesn't fit the arguments.

    >>> _process_batched_inputs(0, (torch.ones(3, 2),), print)[:2]
    (3, [0])
    """
    return batched_inputs(in_dims, args, func)


def _validate_and_get_batch_size(flat_in_dims: list[int | None], flat_args: list[Any]) -> int:
    """The number of examples.

    Raises:
        ValueError: there are none, or not as many in each argument.

    >>> _validate_and_get_batch_size([0, None], [torch.ones(3, 2), torch.ones(5)])
    3
    """
    sizes = [arg.size(dim) for dim, arg in zip(flat_in_dims, flat_args, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if set(sizes) != {sizes[0]}:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return sizes[0]

"""Which part of a tensor on a mesh a process has, as PyTorch deals parts out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.distributed.tensor.placement_types import Placement, Shard


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: Any, placements: Sequence[Placement], skip_offset: bool = False
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's part of a tensor, and where it begins in each dimension.

    Args:
        global_shape: of the whole tensor.
        mesh: on which it lies.
        placements: for each dimension of the mesh.
        skip_offset: whether to leave out where it begins.

    Returns:
        the shape and the offsets; ``((0,), ())`` for a process that has no part in the mesh.

    >>> import tapegrad as torch
    >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
    >>> compute_local_shape_and_global_offset((5, 3), mesh, [Shard(0)])
    ((5, 3), (0, 0))
    """
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return (0,), ()
    shape, offset = list(global_shape), [0] * len(global_shape)
    for place, count, placement in zip(coordinate, mesh.shape, placements, strict=True):
        if isinstance(placement, Shard):
            dim, size = placement.dim, shape[placement.dim]
            chunk = -(-size // count)
            begin = min(place * chunk, size)
            shape[dim] = min(chunk, size - begin)
            offset[dim] = offset[dim] + begin if shape[dim] else global_shape[dim]
    return tuple(shape), () if skip_offset else tuple(offset)

"""Tensors that are made on a mesh, in a layout: no device has more of them than its part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.functions import creation, random
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributed.device_mesh import DeviceMesh
from tapegrad.distributed.tensor.placement_types import Placement, checked, device_for

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def zeros(*size: Any, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **options: Any) -> Tensor:
    """Zeros on a mesh.

    >>> zeros(2, 3, device_mesh=DeviceMesh("cpu", [0])).placements
    (Replicate(),)
    """
    return _made(creation.zeros, size, (), device_mesh, placements, options)


def ones(*size: Any, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **options: Any) -> Tensor:
    """Ones on a mesh."""
    return _made(creation.ones, size, (), device_mesh, placements, options)


def empty(*size: Any, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **options: Any) -> Tensor:
    """A tensor on a mesh that is to be written yet; here zeros."""
    return _made(creation.empty, size, (), device_mesh, placements, options)


def full(
    size: Any, fill_value: Any, *, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None,
    **options: Any,
) -> Tensor:  # fmt: skip
    """A tensor on a mesh whose every element is ``fill_value``."""
    return _made(creation.full, (size,), (fill_value,), device_mesh, placements, options)


def rand(*size: Any, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **options: Any) -> Tensor:
    """Random numbers between 0 and 1 on a mesh: those that one device would get."""
    return _made(random.rand, size, (), device_mesh, placements, options)


def randn(*size: Any, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None, **options: Any) -> Tensor:
    """Normal random numbers on a mesh: those that one device would get."""
    return _made(random.randn, size, (), device_mesh, placements, options)


def _made(
    make: Callable, size: Sequence[Any], more: tuple, mesh: DeviceMesh, placements: Sequence[Placement] | None,
    options: dict[str, Any],
) -> Tensor:  # fmt: skip
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], Sequence) else tuple(size)
    on = device_for(checked(placements, mesh, len(shape)), mesh, shape)
    return make(shape, *more, device=on, **options)

"""``torch.distributed.device_mesh``: devices in a grid, whose dimensions have names.

A mesh is one of jax's, with axes of type Auto: XLA decides how results are spread, and which elements travel. A part of
a mesh, ``mesh["tp"]``, is the same devices, of which only these dimensions are spoken of.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, Mesh

from tapegrad._src.doors import Door
from tapegrad._src.execution.data.devices import MeshDevice
from tapegrad._src.functions.construction import tensor
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import message

__all__ = ["DeviceMesh", "init_device_mesh"]

PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "gpu": "gpu", "tpu": "tpu"}


class DeviceMesh:
    """Devices in a grid.

    Args:
        device_type: "cpu", "cuda" or "tpu".
        mesh: the numbers of the devices, of all processes, as a nested sequence or a tensor.
        mesh_dim_names: what the dimensions are called; ``mesh["name"]`` is the mesh of these alone.

    Raises:
        RuntimeError: there are fewer devices.
        ValueError: names that are not as many as the dimensions, or come twice.

    >>> DeviceMesh("cpu", [0], mesh_dim_names=("data",))
    DeviceMesh((data=1), 'cpu', stride=(1,))
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None) -> None:
        numbers = np.asarray(mesh.tolist() if isinstance(mesh, Tensor) else mesh, np.int64)
        if numbers.ndim == 0:
            numbers = numbers.reshape(1)
        names = _checked_names(mesh_dim_names, numbers.ndim)
        found = _devices(device_type)
        if numbers.size and int(numbers.max()) >= len(found):
            number, hint = int(numbers.max()), "start more processes, or take a smaller mesh"
            raise RuntimeError(message(f"the mesh asks for device {number}", expected=f"one of {len(found)}",
                                       got=number, hint=hint))  # fmt: skip
        grid = np.array([found[i] for i in numbers.flat], dtype=object).reshape(numbers.shape)
        axis_names = names or tuple(f"dim_{i}" for i in range(numbers.ndim))
        self.device_type = "cuda" if device_type == "gpu" else device_type
        self.mesh_dim_names = names
        self._jax = Mesh(grid, axis_names, axis_types=(AxisType.Auto,) * numbers.ndim)
        self._axes = axis_names
        self._root = self

    @classmethod
    def _part(cls, root: DeviceMesh, axes: tuple[str, ...], named: bool = True) -> DeviceMesh:
        part = object.__new__(cls)
        part.device_type, part.mesh_dim_names = root.device_type, axes if named else None
        part._jax, part._axes, part._root = root._jax, axes, root
        return part

    @classmethod
    def of(cls, on: MeshDevice) -> DeviceMesh:
        """The mesh on which a tensor lies that was made from an array of jax's."""
        root = object.__new__(cls)
        root.device_type, root._jax, root._axes, root._root = on.type, on.mesh, tuple(on.mesh.axis_names), root
        unnamed = all(name == f"dim_{i}" for i, name in enumerate(root._axes))
        root.mesh_dim_names = None if unnamed else root._axes
        return root

    @property
    def axes(self) -> tuple[str, ...]:
        """The names of the dimensions, as jax has them."""
        return self._axes

    @property
    def jax(self) -> Mesh:
        """The mesh of jax's; of a part, that of which it is a part."""
        return self._jax

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of devices along each dimension."""
        return tuple(self._jax.shape[axis] for axis in self._axes)

    @property
    def mesh(self) -> Tensor:
        """The numbers of the devices; of a part, of those that are together with this process's first one."""
        numbers = np.vectorize(_devices(self.device_type).index, otypes=[np.int64])(self._jax.devices)
        here = self._here() or (0,) * self._jax.devices.ndim
        places = tuple(slice(None) if axis in self._axes else here[i] for i, axis in enumerate(self._jax.axis_names))
        kept = [axis for axis in self._jax.axis_names if axis in self._axes]
        return tensor(numbers[places].transpose([kept.index(axis) for axis in self._axes]).tolist())

    def size(self, mesh_dim: int | None = None) -> int:
        """Count the devices along one dimension or in all."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def numel(self) -> int:
        """Count the devices in all."""
        return self.size()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """The coordinate of the first device of this process; None if it has none here."""
        here = self._here()
        return None if here is None else tuple(here[self._jax.axis_names.index(axis)] for axis in self._axes)

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The place of this process's first device along a dimension, which may be left out if there is one only.

        Raises:
            RuntimeError: no dimension is named of several, or this process has no device in the mesh.
        """
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions, Optional kwarg `mesh_dim` needs to be specified "
                "when device_mesh.ndim > 1."
            )
        coordinate = self.get_coordinate()
        if coordinate is None:
            raise RuntimeError(message("this process has no device in the mesh", got=repr(self)))
        return coordinate[self._axes.index(mesh_dim) if isinstance(mesh_dim, str) else mesh_dim or 0]

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The group of the processes that are together with this one along a dimension of the mesh.

        Raises:
            RuntimeError: the mesh has several dimensions, and it isn't said which.
        """
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions, Optional kwarg `mesh_dim` needs to "
                               "be specified when device_mesh.ndim > 1.")  # fmt: skip
        axis = mesh_dim if isinstance(mesh_dim, str) else self._axes[mesh_dim or 0]
        here = self._here() or (0,) * self._jax.devices.ndim
        place = tuple(slice(None) if name == axis else here[i] for i, name in enumerate(self._jax.axis_names))
        return group_of.content(sorted({device.process_index for device in self._jax.devices[place]}))

    def get_rank(self) -> int:
        """The number of this process's first device."""
        return _devices(self.device_type).index(_local(self._jax))

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        wanted = (names,) if isinstance(names, str) else tuple(names)
        unknown = [name for name in wanted if name not in self.mesh_dim_names]
        if unknown or len({*wanted}) < len(wanted):
            raise KeyError(f"Invalid mesh_dim_name {unknown[0] if unknown else wanted} specified. Valid mesh_dim_names "
                           f"are {list(self.mesh_dim_names)}.")  # fmt: skip
        return self if wanted == self._axes else DeviceMesh._part(self._root, wanted)

    def _here(self) -> tuple[int, ...] | None:
        device = _local(self._jax, None)
        if device is None:
            return None
        return tuple(int(found[0]) for found in np.nonzero(self._jax.devices == device))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (self._jax, self._axes) == (other._jax, other._axes)

    def __hash__(self) -> int:
        return hash((self._jax, self._axes))

    def __repr__(self) -> str:
        names = None if self.mesh_dim_names is None else zip(self._axes, self.shape, strict=True)
        shape = self.shape if names is None else f"({', '.join(f'{name}={size}' for name, size in names)})"
        whole, names_of_all = self._jax.shape, self._jax.axis_names
        after = lambda axis: math.prod(whole[name] for name in names_of_all[names_of_all.index(axis) + 1 :])
        stride = tuple(map(after, self._axes))
        return f"DeviceMesh({shape}, '{self.device_type}', stride={stride})"


group_of: Door[Callable[[Sequence[int]], Any]] = Door("group_of", filled_by="distributed/distributed_c10d.py")
"""Makes a group of processes."""

meet: Door[Callable[[str], None]] = Door("meet", filled_by="distributed/distributed_c10d.py")
"""Has the processes meet that a launcher has started, if they have not."""


def init_device_mesh(
    device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None
) -> DeviceMesh:
    """A mesh of the first devices, of all processes; which meet for it, if a launcher has started them.

    >>> init_device_mesh("cpu", (1,), mesh_dim_names=("data",)).size()
    1
    """
    if meet.is_filled:
        meet.content(device_type)
    shape = tuple(mesh_shape)
    if mesh_dim_names is not None and len(mesh_dim_names) != len(shape):
        raise RuntimeError(
            f"mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): {len(mesh_dim_names)} "
            f"and len(mesh_shape):{len(shape)}."
        )
    return DeviceMesh(device_type, np.arange(math.prod(shape)).reshape(shape), mesh_dim_names=mesh_dim_names)


def _checked_names(names: Sequence[str] | None, ndim: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    if len({*names}) < len(names):
        raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {names}")
    if len(names) != ndim:
        raise ValueError(message("a mesh has a name for each dimension", expected=f"{ndim} names", got=tuple(names)))
    return tuple(names)


def _devices(device_type: str) -> list[Any]:
    if not isinstance(device_type, str) or device_type not in PLATFORMS:
        raise RuntimeError(message("a mesh is of devices of one type", expected=", ".join(PLATFORMS), got=device_type))
    try:
        return jax.devices(PLATFORMS[device_type])
    except RuntimeError as error:
        raise RuntimeError(f"No devices of type {device_type} are available: {error}") from None


_MISSING: Any = object()


def _local(mesh: Mesh, default: Any = _MISSING) -> Any:
    """The first device of a mesh that this process has."""
    own = jax.process_index()
    found = next((device for device in mesh.devices.flat if device.process_index == own), default)
    if found is _MISSING:
        raise RuntimeError(message("this process has no device in the mesh", got=mesh))
    return found

"""Placements of tensors along a dimension of a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jax.sharding import PartitionSpec

from tapegrad._src.absent import RefusedClass
from tapegrad._src.execution.data.devices import MeshDevice
from tapegrad.distributed.device_mesh import DeviceMesh
from tapegrad.errors import message

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """The placement of a tensor along a dimension of a mesh."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Tell whether it is split, along this dimension of the tensor if one is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Tell whether each device has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Tell whether each device has a summand of it."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each device along the dimension of the mesh has a part of the tensor: it is split along ``dim``.

    >>> Shard(0), Shard(1).is_shard(0)
    (Shard(dim=0), False)
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """The length of a device's part of a dimension, and the place where that begins.

        Args:
            curr_local_size: the length of all.
            num_chunks: the number of devices.
            rank: the device's place among them.

        >>> Shard.local_shard_size_and_offset(5, 2, 1), Shard.local_shard_size_and_offset(5, 4, 3)
        ((2, 3), (0, 5))
        """
        whole = -(-curr_local_size // num_chunks)
        begin = min(whole * rank, curr_local_size)
        return min(whole, curr_local_size - begin), begin

    def _local_shard_size_and_offset(self, curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """``local_shard_size_and_offset``, of one placement."""
        return self.local_shard_size_and_offset(curr_local_size, num_chunks, rank)


class _StridedShard(RefusedClass, Placement):
    """Parts that are no stretches: in PyTorch, where two dimensions of a mesh split one from the right. Refused."""

    refusal = (
        "_StridedShard",
        "where several dimensions of a mesh split one of a tensor, parts are dealt out from the left; give Shard for "
        "each",
    )


@dataclass(frozen=True)
class Replicate(Placement):
    """Each device along the dimension of the mesh has all of the tensor."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Each device along the dimension of the mesh has a summand of the tensor.

    No array of jax is so: XLA sums before a result is seen. So there is no tensor whose placement it is; it says of
    what ``DTensor.from_local`` is given that it is to be summed.
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


def checked(placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """One placement for each dimension of a mesh, with dimensions of the tensor counted from the front.

    Raises:
        ValueError: there are not as many.
        TypeError: one is no placement.
        IndexError: a tensor of ``ndim`` dimensions has no such dimension.
    """
    given = (Replicate(),) * mesh.ndim if placements is None else tuple(placements)
    if len(given) != mesh.ndim:
        raise ValueError(f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
                         f"{len(given)}, and device_mesh.ndim: {mesh.ndim}.")  # fmt: skip
    found = []
    for placement in given:
        if not isinstance(placement, Placement):
            raise TypeError(message("a tensor can't be placed so", expected="Shard(dim), Replicate() or Partial()",
                                    got=placement))  # fmt: skip
        if isinstance(placement, Shard):
            if not -ndim <= placement.dim < ndim:
                raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got "
                                 f"{placement.dim})")  # fmt: skip
            placement = Shard(placement.dim % ndim)
        found.append(placement)
    return tuple(found)


def device_for(
    placements: Sequence[Placement], mesh: DeviceMesh, shape: Sequence[int], present: MeshDevice | None = None
) -> MeshDevice:
    """The mesh with the layout that placements name, for tensors of a shape.

    Args:
        placements: one for each dimension of the mesh, ``checked``.
        present: the layout now, which says how the tensor is placed along other dimensions of the mesh that this one is
            a part of.

    Raises:
        RuntimeError: a dimension can't be split evenly, or a sum would be asked for.
    """
    axes: list[list[str]] = [[] for _ in shape]
    if present is not None and present.axes is not None and present.mesh == mesh.jax:
        for dim, names in enumerate(present.axes):
            axes[dim] += [name for name in names_in(names) if name not in mesh.axes]
    for name, placement in zip(mesh.axes, placements, strict=True):
        if isinstance(placement, Partial):
            hint = "XLA sums before a result is seen; give summands to DTensor.from_local"
            raise RuntimeError(message("Can not redistribute to Partial!", hint=hint))
        if isinstance(placement, Shard):
            axes[placement.dim].append(name)
    on = MeshDevice(mesh.jax, spec_of(axes, mesh))
    for dim, length in enumerate(shape):
        if length % on.parts(dim):
            even = length + -length % on.parts(dim)
            hint = (f"pad it to {even} (torch.nn.functional.pad), make a layer so wide, choose another dimension, or "
                    "write Replicate()")  # fmt: skip
            raise RuntimeError(message(f"dimension {dim} of a tensor of shape {tuple(shape)} can't be split evenly",
                                       expected=f"a multiple of {on.parts(dim)}", got=length, hint=hint))  # fmt: skip
    return on


def spec_of(axes: Sequence[Sequence[str]], mesh: DeviceMesh) -> PartitionSpec:
    """The axes of a mesh over which each dimension is split, as jax has it, the outer ones first."""
    order = mesh.jax.axis_names.index
    entries = [tuple(sorted(names, key=order)) for names in axes]
    while entries and not entries[-1]:
        entries.pop()
    return PartitionSpec(*[names[0] if len(names) == 1 else names or None for names in entries])


def names_in(entry: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """The axes in an entry of a ``PartitionSpec``."""
    return () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)


def placements_in(spec: PartitionSpec, mesh: DeviceMesh) -> tuple[Placement, ...]:
    """The placements along the dimensions of a mesh of what is split so.

    >>> placements_in(PartitionSpec(None, "data"), DeviceMesh("cpu", [0], mesh_dim_names=("data",)))
    (Shard(dim=1),)
    """
    dims = {name: dim for dim, entry in enumerate(spec) for name in names_in(entry)}
    return tuple(Shard(dims[name]) if name in dims else Replicate() for name in mesh.axes)

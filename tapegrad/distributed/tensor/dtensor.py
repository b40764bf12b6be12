"""``DTensor``: a tensor that is spread over a mesh, and the ways to and from what one process has.

Note [Distributed tensors]
A tensor that lies on a mesh is as any other: its array is spread, and XLA sees to the rest (Note [Layouts] in
``execution/data/devices.py``). So ``DTensor`` is no class of tensors, but what ``isinstance`` says of those on a mesh,
which have its attributes. As everywhere in jax a process is one party, whatever number of devices it has: what is
*local* is its part of the mesh, that of all its devices together. With one device a process that is PyTorch's notion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec

from tapegrad._src.bindings.protocols import OfSome, mesh_writer
from tapegrad._src.execution.array_functions.host import array_of, may_look, read_only
from tapegrad._src.execution.array_functions.layouts import lay_out, sharded
from tapegrad._src.execution.data.devices import MeshDevice, mesh_device_of
from tapegrad._src.execution.state.processes import processes
from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor.printing import tensor_str
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, value_of, wrap
from tapegrad.autograd.function import Function
from tapegrad.distributed.device_mesh import DeviceMesh
from tapegrad.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    checked,
    device_for,
    names_in,
    placements_in,
)
from tapegrad.errors import message
from tapegrad.interop.arrays import from_jax_array

__all__ = ["DTensor", "distribute_tensor"]


class OnMesh(type(Tensor)):  # type: ignore[misc]
    """The class of ``DTensor``: its instances are the tensors that lie on a mesh."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.device.sharded

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls


class DTensor(metaclass=OnMesh):
    """A tensor that lies on a mesh.

    It is made by ``distribute_tensor``, ``DTensor.from_local`` and ``interop.from_jax_array``.

    >>> isinstance(torch.ones(2), DTensor)
    False
    """

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> Tensor:
        """The tensor of which each process has a part, which is this one here. The gradient goes back to the parts.

        Args:
            local_tensor: this process's part; all of them have one shape.
            device_mesh, placements: how the whole is placed; what is ``Partial()`` is summed.
            run_check: whether what is ``Replicate()`` is to be that of the first process; otherwise it must be equal.
            shape, stride: accepted; all parts are equal here.
            grad_placements: accepted; XLA places gradients.
        """
        found = checked(placements, device_mesh, local_tensor.ndim)
        if run_check:
            local_tensor = _of_first(local_tensor)
        partial = [axis for axis, given in zip(device_mesh.axes, found, strict=True) if isinstance(given, Partial)]
        if not partial:
            return _FromLocal.apply(local_tensor, device_mesh, found)
        extra = tuple(Shard(0) if isinstance(p, Partial) else _moved(p, 1) for p in found)
        own = math.prod(device_mesh.jax.local_mesh.shape[axis] for axis in partial)  # of these, one has the summand
        row = local_tensor[None]
        row = row if own == 1 else cat([row, row.detach().new_zeros(own - 1, *local_tensor.shape)])
        parts = _FromLocal.apply(row, device_mesh, extra)
        kept = tuple(Replicate() if isinstance(p, Partial) else p for p in found)
        return redistribute(parts.sum(0), device_mesh, kept)


def _moved(placement: Placement, by: int) -> Placement:
    return Shard(placement.dim + by) if isinstance(placement, Shard) else placement


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Tensor:
    """A leaf as a new leaf that is spread over a mesh; by default each device has all of it.

    Args:
        tensor: the leaf, which all processes have; its elements are those of the first.
        src_data_rank: 0, or None if all processes have the same elements anyway, so that nothing need be sent.

    Raises:
        RuntimeError: it is no leaf, or a dimension can't be split evenly.

    >>> mesh = DeviceMesh("cpu", [0])
    >>> distribute_tensor(torch.arange(4), mesh, [Shard(0)]).placements
    (Shard(dim=0),)
    """
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    if tensor.device.sharded:
        wanted = checked(placements, device_mesh, tensor.ndim)
        same = wanted == placements_of(tensor, device_mesh)
        return (
            tensor if same else redistribute(tensor.detach(), device_mesh, wanted).requires_grad_(tensor.requires_grad)
        )
    wanted = checked(placements, device_mesh, tensor.ndim)
    on = device_for(wanted, device_mesh, tensor.shape)
    source = tensor.detach() if src_data_rank is None else _of_first(tensor.detach())
    made = wrap(sharded(value_of(source), on), tensor._spec.bare.replace(device=on))
    return made.requires_grad_(tensor.requires_grad)


same_everywhere: list[Callable[[Tensor], Tensor]] = []
"""Gives the elements that the first process has, where there are several."""


def _of_first(tensor: Tensor) -> Tensor:
    return same_everywhere[0](tensor) if same_everywhere and jax.process_count() > 1 else tensor


# What tensors on a mesh have ------------------------------------------------------------------------------------------


def placements_of(tensor: Tensor, mesh: DeviceMesh | None = None) -> tuple[Placement, ...]:
    """The placements of a tensor along each dimension of its mesh, or of another one that is a part of it."""
    on = tensor._spec.device
    mesh = mesh or DeviceMesh.of(on)  # type: ignore[arg-type]
    axes = on.axes if on.axes is not None else _layout_of(tensor).axes  # type: ignore[attr-defined]
    return placements_in(axes, mesh)  # type: ignore[arg-type]


def _layout_of(tensor: Tensor) -> MeshDevice:
    """The layout that XLA has given to a result."""
    if not may_look():
        raise RuntimeError(message("while a step is captured nobody knows how XLA will place its results",
                                   hint="x.redistribute(placements=...) says how"))  # fmt: skip
    return mesh_device_of(array_of(value_of(tensor)))


def redistribute(
    self: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    async_op: bool = False,
    forward_dtype: Any = None,
    backward_dtype: Any = None,
) -> Tensor:
    """This tensor placed in another way. Its gradient is placed as this tensor is.
    Raises ValueError: no placements. RuntimeError: a dimension can't be split evenly.
    """
    if placements is None:
        raise RuntimeError("placements is needed for redistribute!")
    mesh = device_mesh or DeviceMesh.of(self._spec.device)  # type: ignore[arg-type]
    present = self._spec.device
    on = device_for(checked(placements, mesh, self.ndim), mesh, self.shape, present)  # type: ignore[arg-type]
    given = self if forward_dtype is None else self.to(forward_dtype)
    return given if on is present else _Redistribute.apply(given, on, backward_dtype)


def _laid_out(tensor: Tensor, on: MeshDevice) -> Tensor:
    value = value_of(tensor)
    value = lay_out(value, on) if on.free is tensor.device else sharded(value, on)
    return wrap(value, tensor._spec.bare.replace(device=on))


class _Redistribute(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, on: MeshDevice, backward_dtype: Any) -> Tensor:
        ctx.source, ctx.dtype = tensor._spec.device, backward_dtype
        return _laid_out(tensor, on)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        grad = grad if ctx.dtype is None else grad.to(ctx.dtype)
        return _Redistribute.apply(grad, ctx.source, None), None, None


def full_tensor(self: Tensor, *, grad_placements: Any = None) -> Tensor:
    """All elements, as a tensor of this process alone. All processes call it; each gets the same."""
    mesh = DeviceMesh.of(self._spec.device)  # type: ignore[arg-type]
    return to_local(redistribute(self, mesh, (Replicate(),) * mesh.ndim), alone=True)


def to_local(self: Tensor, *, grad_placements: Any = None, alone: bool = False) -> Tensor:
    """Give this process's part of the tensor; its gradient is this process's part of the tensor's gradient.

    With one device it lies there; with several, on the mesh of these (``alone``: on the first, of what all have).
    """
    if not may_look():
        on: Any = self._spec.device
        if not alone and on.mesh.local_mesh == on.mesh and on.mesh.size > 1:  # all of it is here
            return _Redistribute.apply(self, on, None)
        raise RuntimeError(message(
            "while a step is captured a tensor can't leave its mesh: one program is compiled for all its devices, and "
            "what only one process has is no value of it", hint="let the step return it, and call to_local() or "
            "full_tensor() outside; or compute with it on the mesh, and write x.redistribute(...)",
        ))  # fmt: skip
    return _ToLocal.apply(self, alone)


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, alone: bool) -> Tensor:
        array = array_of(value_of(tensor))
        ctx.on = mesh_device_of(array)
        return from_jax_array(array.addressable_shards[0].data if alone else local_part(array))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        return _assembled(grad, ctx.on), None


class _FromLocal(Function):
    @staticmethod
    def forward(ctx: Any, local: Tensor, mesh: DeviceMesh, placements: tuple) -> Tensor:
        if processes.compare is not None:
            ranks = tuple(sorted({device.process_index for device in mesh.jax.devices.flat}))
            processes.compare("the parts that from_local puts together", [f"{[*local.shape]} {local.dtype}"], ranks)
        if not may_look():
            raise RuntimeError(message("while a step is captured nothing can be put on a mesh", hint="call from_local "
                                       "outside, and give the step what it returns"))  # fmt: skip
        lengths = list(local.shape)
        for axis, placement in zip(mesh.axes, placements, strict=True):
            if isinstance(placement, Shard):
                lengths[placement.dim] *= mesh.jax.shape[axis] // mesh.jax.local_mesh.shape[axis]
        ctx.on, ctx.source = device_for(placements, mesh, lengths), local.device
        return _assembled(local, ctx.on)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        own = _ToLocal.apply(_Redistribute.apply(grad, ctx.on, None), False)
        return own.to(ctx.source), None, None


def _assembled(local: Tensor, on: MeshDevice) -> Tensor:
    """The tensor of which each process has a part, in a layout."""
    whole = whole_of(array_of(value_of(local)), on)
    return wrap(whole, Spec.of(whole.shape, local.dtype, on))


def global_shape(shape: Sequence[int], on: MeshDevice) -> tuple[int, ...]:
    """The shape of a whole of which this process's part has a shape."""
    local = on.mesh.local_mesh.shape
    lengths = list(shape)
    for dim, entry in enumerate(on.axes or ()):
        for name in names_in(entry):
            lengths[dim] *= on.mesh.shape[name] // local[name]
    return tuple(lengths)


def whole_of(array: Any, on: MeshDevice) -> Any:
    """The array of which each process has a part."""
    with jax.enable_x64(True):
        if on.mesh.local_mesh == on.mesh:
            return jax.device_put(array, on.sharding)
        here = NamedSharding(on.mesh.local_mesh, on.axes or PartitionSpec())
        own = jax.device_put(array, here)
        parts = [shard.data for shard in own.addressable_shards]
        return jax.make_array_from_single_device_arrays(global_shape(array.shape, on), on.sharding, parts)


def local_part(array: Any) -> Any:
    """This process's part of an array that is spread over a mesh."""
    sharding = array.sharding
    local = sharding.mesh.local_mesh
    parts = [shard.data for shard in array.addressable_shards]
    if local.size == 1:
        return parts[0]
    if local == sharding.mesh:
        return array
    here = NamedSharding(local, sharding.spec)
    shape = [stop - start for start, stop in _bounds(array)]
    return jax.make_array_from_single_device_arrays(tuple(shape), here, parts)


def _bounds(array: Any) -> list[tuple[int, int]]:
    """From where to where the parts reach that are here, in each dimension."""
    indices = [shard.index for shard in array.addressable_shards]
    found = []
    for dim, length in enumerate(array.shape):
        spans = [index[dim].indices(length)[:2] for index in indices]
        found.append((min(start for start, _ in spans), max(stop for _, stop in spans)))
    return found


def _text(tensor: Tensor) -> str:
    """The text of a tensor on a mesh: of its elements those that this process has."""
    local = tensor_str(read_only(local_part(array_of(value_of(tensor)))), dtype=tensor.dtype)
    mesh = DeviceMesh.of(tensor._spec.device)  # type: ignore[arg-type]
    return f"DTensor(local_tensor={local}, device_mesh={mesh}, placements={placements_of(tensor)})"


mesh_writer.fill(_text)


class _Attribute(OfSome):
    """An attribute that tensors on a mesh have, and others have not."""

    def __init__(self, name: str, found: Callable[[Tensor], Any], doc: str | None) -> None:
        self.name, self.found, self.__doc__ = name, found, doc

    def __get__(self, tensor: Tensor | None, owner: type | None = None) -> Any:
        if tensor is None:
            return self
        if not self.had_by(tensor):
            raise AttributeError(f"'{type(tensor).__name__}' object has no attribute '{self.name}'")
        return self.found(tensor)

    def had_by(self, tensor: Tensor) -> bool:
        return tensor._spec.device.sharded


def _method(function: Callable) -> Callable[[Tensor], Any]:
    return lambda tensor: function.__get__(tensor)


for _name, _found, _doc in (
    ("placements", placements_of, placements_of.__doc__),
    ("device_mesh", lambda tensor: DeviceMesh.of(tensor._spec.device), "The mesh on which the tensor lies."),
    ("redistribute", _method(redistribute), redistribute.__doc__),
    ("full_tensor", _method(full_tensor), full_tensor.__doc__),
    ("to_local", _method(to_local), to_local.__doc__),
):
    setattr(Tensor, _name, _Attribute(_name, _found, _doc))
    setattr(DTensor, _name, vars(Tensor)[_name])

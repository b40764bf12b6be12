"""Views in place: ``t_``, ``unsqueeze_``, ``as_strided_``, …: a tensor shows its memory in another way from then on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import squeeze_axes, wrap_dim
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.outside import OutsideTensor, count_outside, lift_again, outside_of, stays_where_it_is
from tapegrad._src.bindings.placement import set_history
from tapegrad._src.bindings.state.memory import checked_geometry, strided_arguments, tangent_window
from tapegrad._src.bindings.viewing import VIEW_RULES, geometry_of
from tapegrad._src.bindings.writes.in_place import before_write, refuse_in_place
from tapegrad._src.dispatch.nodes.accumulate_grad import refit
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tape.node import Edge
from tapegrad._src.tensor.dual import set_tangent, tangent_of
from tapegrad._src.tensor.geometry import Geometry
from tapegrad._src.tensor.placing import lie_alike, set_memory
from tapegrad._src.tensor.refusals import refuse_to_change
from tapegrad._src.tensor.tensor import Tensor, count_write, leave, storage_of, value_of
from tapegrad.ops import shape as ops
from tapegrad.ops import strided


def _refuse(tensor: Tensor, called: str) -> None:
    """Refuse to change what may not be written to, or was captured by a transform, by the method that is called so."""
    refuse_in_place(tensor, overlapping=True)
    refuse_to_change(called, tensor)


def become_view(self: Tensor, name: str, op: OperatorLike, **settings: Any) -> Tensor:
    """Let a tensor, which may be changed, become a view that an operator gives of it.

    What was lifted becomes such a view further out, unless it has a tangent.

    Args:
        name: what the node is called then.
    """
    known = None if not self._spec.level or self._spec.requires_grad else outside_of(self)
    if known is not None and not self._spec.dual:
        return _become_view_outside(self, known, name, op, settings)
    result = op(before_write(self), **settings)
    spot = VIEW_RULES[op](geometry_of(self), **settings)
    assert spot is not None
    turned(self, result, spot, name)
    if known is not None:
        count_outside(known)
    tangent = tangent_of(self)
    if tangent is not None:
        become_view(tangent, name, op, **settings)
    return self


def _become_view_outside(self: Tensor, known: OutsideTensor, name: str, op: OperatorLike, settings: dict) -> Tensor:
    """``become_view`` of what shares its memory with a tensor outside, which becomes the view there."""
    dim = known.dim
    if dim is not None:
        op, settings, dim = _with_examples(op, settings, dim, self._spec.shape)
        name = {"TBackward1": "TransposeBackward1", "SqueezeBackward4": "SqueezeBackward5"}.get(name, name)
    with known.level.outside():
        become_view(known.tensor, name, op, **settings)
    return lift_again(self, known._replace(dim=dim))


def _with_examples(op: OperatorLike, settings: dict, dim: int, shape: Sequence[int]) -> tuple[Any, dict, int]:
    """The same view of a tensor that has a dimension of examples, too, and which of its dimensions that is then.

    Args:
        op, settings: what gives the view of one example, of this ``shape``.
        dim: the dimension of examples.
    """
    beside = lambda axis: axis + (axis >= dim)
    if op is ops.unsqueeze:
        return op, {"axis": beside(settings["axis"])}, dim + (settings["axis"] < dim)
    if op is ops.t or op is ops.transpose:
        first, second = (0, len(shape) - 1) if op is ops.t else (settings["axis0"], settings["axis1"])
        return ops.transpose, {"axis0": beside(first), "axis1": beside(second)}, dim
    among = settings.get("axis", tuple(range(len(shape))))
    gone = [beside(axis) for axis in (among if isinstance(among, tuple) else (among,)) if shape[axis] == 1]
    return ops.squeeze_axes, {"axis": tuple(gone)}, dim - sum(axis < dim for axis in gone)


def turned(self: Tensor, result: Tensor, spot: Geometry, name: str) -> Tensor:
    """Let a tensor show what ``result`` has, elsewhere in its memory."""
    edge: Edge | None = renamed(result, name)._edge
    value = value_of(result)
    count_write(self)
    storage = storage_of(self)
    remade = edge is not None or (self._view is not None and self._view.base._spec.requires_grad)
    mismatched = not remade and refit(self, result._spec)  # it keeps its place in the graph
    set_memory(self, storage, spot, self.dtype, self._view_bits)
    self._value, self._seen, self._spec = value, storage.data_version, self._spec.replace(mismatched=mismatched)
    if edge is not None:
        set_history(self, edge)
    return self


@public("Tensor")
def t_(self: Tensor) -> Tensor:
    """Transpose this matrix, in place: its elements stay where they are in memory.

    Raises:
        RuntimeError: more than two dimensions.

    >>> torch.ones(2, 3).t_().shape
    torch.Size([3, 2])
    """
    _refuse(self, "t_")
    if self.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return become_view(self, "TBackward1", ops.t)


@public("Tensor")
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions, in place.

    Args:
        dim0, dim1: the two dimensions.
    """
    return _exchange(self, dim0, dim1, "transpose_")


@public("Tensor")
def swapdims_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """``transpose_``.

    Args:
        dim0, dim1: the two dimensions.
    """
    return _exchange(self, dim0, dim1, "swapdims_")


@public("Tensor")
def swapaxes_(self: Tensor, axis0: int, axis1: int) -> Tensor:
    """``transpose_``.

    Args:
        axis0, axis1: the two dimensions.
    """
    return _exchange(self, axis0, axis1, "swapaxes_")


def _exchange(tensor: Tensor, dim0: int, dim1: int, called: str) -> Tensor:
    _refuse(tensor, called)
    axes = wrap_dim(dim0, tensor.ndim), wrap_dim(dim1, tensor.ndim)
    return become_view(tensor, "TransposeBackward1", ops.transpose, axis0=axes[0], axis1=axes[1])


@public("Tensor")
def squeeze_(self: Tensor, dim: Any = None) -> Tensor:
    """Drop the dimensions of length 1, or those among ``dim``, in place."""
    overload = "" if dim is None else ".dims" if isinstance(dim, (tuple, list)) else ".dim"
    _refuse(self, f"squeeze_{overload}")
    if dim is None:
        return become_view(self, "SqueezeBackward3", ops.squeeze)
    if isinstance(dim, (tuple, list)):
        axes = squeeze_axes(dim, self.ndim)
        return become_view(self, "SqueezeBackward5", ops.squeeze_axes, axis=axes)
    return become_view(self, "SqueezeBackward4", ops.squeeze_axis, axis=wrap_dim(dim, self.ndim))


@public("Tensor")
def unsqueeze_(self: Tensor, dim: int) -> Tensor:
    """Put in a dimension of length 1, in place.

    Args:
        dim: where it is to be.
    """
    _refuse(self, "unsqueeze_")
    return become_view(self, "UnsqueezeBackward1", ops.unsqueeze, axis=wrap_dim(dim, self.ndim + 1))


@public("torch", "Tensor")
def as_strided_(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """``as_strided`` in place: from now on the tensor shows that part of its memory.

    Args:
        size, stride, storage_offset: the lengths; how far apart, and where the first element is: all counted in
            elements.

    >>> torch.arange(6).as_strided_((2,), (3,), 1)
    tensor([1, 4])
    """
    _refuse(input, "as_strided_")
    if stays_where_it_is(input):
        return input
    spot = checked_geometry(input, size, stride, storage_offset, "as_strided_")
    arguments, settings = strided_arguments(input, spot)
    result, tangent = strided.as_strided(before_write(input), *arguments, **settings), tangent_of(input)
    known = outside_of(input)
    if known is not None:
        count_outside(known)
    if tangent is not None:
        alike = lie_alike(tangent, input)
        set_tangent(input, as_strided_(tangent, *spot) if alike else tangent_window(input, spot, settings))
    leave(input)
    return turned(input, result, spot, "AsStridedBackward1")

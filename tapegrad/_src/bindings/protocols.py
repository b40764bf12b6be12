"""Python's protocols of a tensor beside numbers: its text, its hash, copies, pickles."""

from __future__ import annotations

import copyreg
from collections import OrderedDict
from collections.abc import Callable
from copy import deepcopy
from textwrap import indent
from typing import Any

from tapegrad._src.bindings.declaration.handing import DISPATCH
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.dispatching import WrapperValue
from tapegrad._src.bindings.state.attributes import as_instance, sharing
from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.doors import Door
from tapegrad._src.execution.array_functions.host import from_host, is_traced, to_host
from tapegrad._src.execution.array_functions.windows import read_window
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import dtype, from_numpy
from tapegrad._src.execution.data.opaque import Meta
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.dual import tangent_of
from tapegrad._src.tensor.geometry import Geometry
from tapegrad._src.tensor.lifted import Lifted, fresh
from tapegrad._src.tensor.placing import nbytes_of, set_memory
from tapegrad._src.tensor.printing import body_str, tensor_str
from tapegrad._src.tensor.refusals import refuse_memory
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import Tensor, edge_of, memory_layout, share, value_of, wrap

CPU = device("cpu")

mesh_writer: Door[Callable[[Tensor], str]] = Door("mesh_writer", filled_by="distributed/tensor/dtensor.py")

# Text ---------------------------------------------------------------------------------------------------------------


@public("Tensor")
def __repr__(self: Tensor, *, tensor_contents: Any = None) -> str:
    """PyTorch's text of a tensor: its numbers, and what of its dtype, device and history is not obvious."""
    value = value_of(self)
    while isinstance(value, Lifted):
        if value.batched or not value.level.maps:
            return _lifted_text(value)
        value = value_of(value.tensor)
    name = getattr(type(self), "_repr_name", "tensor" if type(self) is Tensor else type(self).__name__)
    on_meta = type(value) is Meta
    if isinstance(value, WrapperValue):
        return wrapper_text(self, name)
    if not (on_meta or hasattr(value, "__array__")):  # what jax put in place of an array: a shape, a placement
        return f"{name}({value!r})"
    if is_traced(value):
        return f"{name}(..., size={tuple(self.shape)}, dtype={self.dtype}, traced={value})"
    if self.device.sharded and mesh_writer.is_filled:
        return mesh_writer.content(self)
    tangent = tangent_of(self) if thread.modes.forward_grad else None
    return tensor_str(
        value if on_meta else to_host(value),
        dtype=self.dtype,
        device_suffix=None if self.device is CPU else str(self.device),
        requires_grad=self._spec.requires_grad,
        grad_fn_name=_shown_node(self),
        tangent=None if tangent is None else format(tangent),
        class_prefix=f"{name}(",
    )


def wrapper_text(tensor: Tensor, name: str) -> str:
    """The text of a tensor without data: of the elements that its class gives for it, if they are of another."""
    with switched(grad=False):
        shown: Any = tensor.reshape(-1)
        if type(shown) is not Tensor:
            size = f", size={tuple(tensor.shape)}" if tensor.numel() else ""
            return f"{name}(..., dtype={tensor.dtype}, device={tensor.device}{size})"
    array = to_host(value_of(shown)).reshape(tuple(tensor.shape))
    return tensor_str(array, dtype=shown.dtype, device_suffix=None, requires_grad=tensor._spec.requires_grad,
                      grad_fn_name=_shown_node(tensor), class_prefix=f"{name}(")  # fmt: skip


def _tensor_str(self: Tensor, indent: int) -> str:
    """The numbers of a tensor in their brackets, as PyTorch's function of this name gives them."""
    return body_str(to_host(value_of(self)), indent)


def _lifted_text(value: Lifted) -> str:
    """The text of a tensor at a level, as one within the other. A level that is over has no number."""
    level, inner = value.level, repr(value.tensor)
    if level.maps:
        head = f"BatchedTensor(lvl={level.depth}, bdim=0, value="
    else:
        head = f"GradTrackingTensor(lvl={level.depth if level.alive else -2}, value="
    return "\n".join((head, indent(inner, "    "), ")"))


def _shown_node(tensor: Tensor) -> str | None:
    """The text of a tensor's ``grad_fn``: also where a view must not be used any more, after a write."""
    try:
        node = tensor.grad_fn
    except RuntimeError:
        return "Invalid"
    return None if node is None or isinstance(node, AccumulateGrad) else type(node).__name__


class OfSome:
    """An attribute that only some tensors have: ``had_by`` says which. ``dir`` of others does not list it."""

    def had_by(self, tensor: Tensor) -> bool:
        """Tell whether a tensor has it."""
        raise NotImplementedError


@public("Tensor", name="__dir__")
def attribute_names(self: Tensor) -> list[str]:
    """The names of attributes, without those that only warn, and those that only other tensors have."""
    lacking = {name for name, value in vars(Tensor).items() if isinstance(value, OfSome) and not value.had_by(self)}
    return sorted((set(dir(type(self))) | set(self.__dict__)) - lacking - {"volatile"})


@public("Tensor")
def __reversed__(self: Tensor) -> Tensor:
    """The tensor with its first dimension flipped; a 0-dim one as it is."""
    return self.flip(0) if self.ndim else self


# Copies -------------------------------------------------------------------------------------------------------------

_STATE = frozenset(Tensor.__annotations__)


def own_attributes(tensor: Tensor) -> dict[str, Any]:
    """The attributes that were put on a tensor from outside: all of its dictionary that is not the tensor's own
    state."""
    return {name: value for name, value in tensor.__dict__.items() if name not in _STATE}


@public("Tensor")
def __copy__(self: Tensor) -> Tensor:
    """A leaf of the same class that shares the data, with the same attributes."""
    refuse_memory(self)
    shared = sharing(self, self._spec.requires_grad)
    result = as_instance(type(self), shared)
    result.__dict__.update(own_attributes(self))
    return result


@public("Tensor")
def __deepcopy__(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with data, gradient and attributes of its own; tensors that share data still do in the copy.

    Raises:
        RuntimeError: this is no leaf.
    """
    if edge_of(self) is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    refuse_memory(self)
    if id(self) in memo:
        return memo[id(self)]
    if self._spec.overrides == DISPATCH:
        result = self.detach().clone()
        result._spec = result._spec.replace(requires_grad=self._spec.requires_grad)
        memo[id(self)] = result
        return result
    result = _copied_leaf(self, memo)
    memo[id(self)] = result
    if self._grad is not None:
        result._grad = deepcopy(self._grad, memo)
    if type(self) is not Tensor:
        for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
            if slot not in Tensor.__slots__ and hasattr(self, slot):
                setattr(result, slot, deepcopy(getattr(self, slot), memo))
    result.__dict__.update(deepcopy(own_attributes(self), memo))
    return result


def _copied_leaf(tensor: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with the value of ``tensor``; on the memory of the copies, if any, of those that share its memory."""
    spec = tensor._spec.replace(overrides=False, inference=thread.modes.inference, plain=True, window=False)
    result, storage = wrap(value_of(tensor), spec), tensor._storage
    if tensor._view_bits:  # conjugates are copied as they are
        result._spec = spec.fresh
    elif storage is not None:
        if id(storage) not in memo:
            memo[id(storage)] = _all_of(storage, tensor._spec)
            memo.setdefault(id(memo), []).append(storage)  # keeps the id taken, as copy.deepcopy does
        share(result, memo[id(storage)], tensor._offset)
    return as_instance(type(tensor), result)


def _all_of(storage: Storage, spec: Spec) -> Tensor:
    """A tensor on a copy of a memory, all of it."""
    value = storage.value
    return wrap(value, Spec.of(value.shape, from_numpy(value.dtype), spec.device, strides=storage.strides))


# Pickles ------------------------------------------------------------------------------------------------------------


def rebuild_tensor(
    cls: type | None, array: Any, d: dtype | str, on: device | str, requires_grad: bool, backward_hooks: Any = None,
    strides: tuple[int, ...] | None = None, spot: tuple | None = None,
) -> Tensor:  # fmt: skip
    """The tensor that was pickled as these parts.

    Args:
        cls: its class; None for Tensor itself.
        d, on: its dtype and device, or their names, which stay where classes are moved.
        array: its elements; or those of its whole memory as a row, if it shows them in some other way.
        spot: how, then: shape, strides, offset and view_bits.
    """
    d = getattr(dtypes, d) if isinstance(d, str) else d
    on = device(on) if isinstance(on, str) else on
    if spot is None:
        made = fresh(from_host(array, on), Spec.of(array.shape, d, on, requires_grad, strides=strides))
    else:
        *geometry, view_bits = spot
        shown = fresh(None, Spec.of(geometry[0], d, on, requires_grad))
        made = set_memory(shown, Storage(from_host(array, on)), Geometry(*geometry), d, view_bits)
    return made if cls in (None, Tensor) else as_instance(cls, made)


rebuild_tensor.__module__ = "tapegrad._utils"  # as pickles name it, wherever it is


def tensor_parts(tensor: Tensor) -> tuple:
    """The arguments of ``rebuild_tensor`` for a tensor."""
    spec, storage = tensor._spec, tensor._storage
    on = spec.device if spec.device.sharded else str(spec.device)
    described: tuple = spec.dtype.name, on, spec.requires_grad, OrderedDict()
    if storage is None or (nbytes_of(storage) == spec.numel * spec.dtype.itemsize and not tensor._view_bits
                           and spec.fresh.strides == spec.strides):  # fmt: skip
        return _elements(value_of(tensor)), *described, spec.fresh.strides
    row = (nbytes_of(storage) // spec.dtype.itemsize,)
    memory = read_window(storage.value, memory_layout(storage), row, (1,), 0, spec.dtype.numpy, 0)
    return _elements(memory), *described, None, (tuple(spec.shape), spec.layout, tensor._offset, tensor._view_bits)


def _elements(value: Any) -> Any:
    """The pickled form of a value: an array on the host, or the shape and the dtype of what has no elements."""
    return value if type(value) is Meta else to_host(value)


@public("Tensor")
def __reduce_ex__(self: Tensor, proto: int) -> tuple:
    """The pickled form of a tensor: data, whether it requires grad, attributes; no gradient and no history."""
    refuse_memory(self)
    attributes = own_attributes(self)
    reduced = rebuild_tensor, (None if type(self) is Tensor else type(self), *tensor_parts(self))
    return (*reduced, attributes) if attributes else reduced


@public("Tensor")
def __setstate__(self: Tensor, state: Any) -> None:
    """Restore the attributes of a pickled tensor."""
    self.__dict__.update(state)


# Modules ------------------------------------------------------------------------------------------------------------


@public("Tensor")
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """Give the tensor that takes this one's place when a module loads another, if tensors are swapped then.

    Args:
        other: the tensor of the state dict.
        assign: whether it is to take this one's place as it is, and not only its elements.
    """
    return other.detach() if assign else self.copy_(other).detach()

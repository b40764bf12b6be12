"""The state of a tensor as users see and set it: ``requires_grad``, ``grad``, ``data``, ``detach``; and its flags."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.factory import named_device
from tapegrad._src.bindings.declaration.handing import overriding, taking_part
from tapegrad._src.bindings.declaration.registry import NAMESPACES, PROPERTIES, public
from tapegrad._src.bindings.dispatching import is_wrapper, show_detached
from tapegrad._src.bindings.viewing import data_version_of, sharing
from tapegrad._src.dispatch.nodes.accumulate_grad import refit
from tapegrad._src.dispatch.view_history import give_edges_to_written_views, tell_views
from tapegrad._src.execution.array_functions.host import has_accelerator, may_look
from tapegrad._src.execution.array_functions.layouts import own_layout
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.dtypes import FLOATING, dtype, get_default_dtype
from tapegrad._src.execution.data.values import materialized
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.hooks import NodeHooks
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.positions import here
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.dual import set_tangent
from tapegrad._src.tensor.lifted import Lifted, level_of
from tapegrad._src.tensor.refusals import is_example_here, refuse_to_call, refuse_to_change
from tapegrad._src.tensor.spec import core_type_name, legacy_type_name
from tapegrad._src.tensor.storage import Counter
from tapegrad._src.tensor.tensor import (
    Tensor,
    edge_of,
    leave,
    new_tensor,
    passes_for_leaf,
    share,
    storage_of,
    storage_to_write,
    value_of,
)
from tapegrad._src.warn import warn
from tapegrad.errors import INFERENCE_REQUIRES_GRAD
from tapegrad.ops.checks import cpp_name

# Sharing ------------------------------------------------------------------------------------------------------------


def without_history(tensor: Tensor, how: str) -> Tensor:
    """A leaf on the memory of ``tensor`` that requires no grad; if lines are recorded, it remembers why."""
    result = sharing(tensor)
    if tensor._spec.level and how == "detach":  # what is ``data`` at a level is as recorded as ever further out
        sever(result)
    if tensor._spec.inference and not thread.modes.inference:
        result._counter = Counter()
    if thread.modes.recording and tensor._spec.requires_grad:
        result._lost_grad = ((f"its gradient was lost in {how}", here()),)
    return result


def sever(tensor: Tensor) -> None:
    """Let a tensor have no history further out. See Note [Histories further out] in ``tensor/lifted.py``."""
    value = value_of(tensor)
    tensor._detached_from_outside = True
    if isinstance(value, Lifted):  # a part of what was captured, and written since, is read where it lies
        tensor._value = value.detached_from_outside()
    if not tensor._spec.plain:
        tensor._spec, tensor._seen = tensor._spec.replace(window=True), data_version_of(tensor)


def as_instance(cls: type, tensor: Tensor) -> Tensor:
    """``tensor`` as an instance of a subclass: a new object, with the same value and the same place in the graph."""
    result: Any = new_tensor(cls)
    spec = tensor._spec.replace(plain=True, window=False, overrides=taking_part(cls))
    result._value, result._spec, result._edge = value_of(tensor), spec, edge_of(tensor)
    result._view = tensor._view
    return result if tensor._storage is None else share(result, tensor)


@public("Tensor", "torch")
def detach(input: Tensor) -> Tensor:
    """The same data as a leaf that does not require grad; a write to one is seen on the other, and counted."""
    return without_history(input, "detach")


@public("Tensor", "torch")
def detach_(input: Tensor) -> Tensor:
    """Make this tensor a leaf that does not require grad. In inference mode it does nothing, as PyTorch's.

    Raises:
        RuntimeError: it is a view.
    """
    if thread.modes.inference:
        return input
    refuse_to_change("detach_", input)
    if input._view is not None or is_example_here(input):
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
            "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
            "detach_() cannot be called on these gradients. To fix this error, please refer to the "
            "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
        )
    storage_of(input)  # while its node is known: it must learn of writes to what it saved
    give_edges_to_written_views(input)
    level = level_of(input)
    if level is not None and level.maps:  # where a level differentiates, PyTorch's stays recorded further out
        sever(input)
    input._edge = None
    input._spec = input._spec.replace(requires_grad=False)
    if input._spec.dual:
        set_tangent(input, None)
    tell_views(input)
    if input._hooks is not None:  # what was registered on this version is the leaf's from here on
        input._leaf_hooks = NodeHooks()
        input._leaf_hooks.attach_tensor(0, input._hooks)
    return input


def _get_data(self: Tensor) -> Tensor:
    """The same data without history and with a version counter of its own: writes to it go uncounted here.

    Setting it gives this tensor the data, shape and dtype of another one, but leaves its place in the graph.
    """
    if is_example_here(self):
        raise RuntimeError("accessing `data` under vmap transform is not allowed")
    if overriding.dispatches and is_wrapper(self):
        result = self.detach()
        result._counter = Counter()
        return result
    result = without_history(self, "data")
    if overriding.shows:
        show_detached(self)
    if not (self._spec.inference and thread.modes.inference):
        result._counter = Counter()
    return result


def _set_data(self: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if self._spec.level:
        where = "under vmap" if is_example_here(self) else "inside functorch"
        raise RuntimeError(f"mutating directly with `.data` {where} transform is not allowed.")
    if self._spec.requires_grad and value._spec.dtype.category < FLOATING:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    if (value._spec.device is META) != (self._spec.device is META) or value._spec.dtype is dtypes.complex32:
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
        )
    counter, mismatched = leave(self), refit(self, value._spec)
    dual = self._spec.dual and value._spec.bare is self._spec.bare  # the tangent stays, if it can
    self._value = value_of(value)  # before it is seen: it may be the tensor itself, which was written to
    self._seen, self._offset = data_version_of(value), value._offset
    self._spec = value._spec.replace(
        requires_grad=self._spec.requires_grad, plain=True, window=False, overrides=self._spec.overrides,
        mismatched=mismatched, dual=dual,
    )
    share(self, value)
    self._counter = counter
    if counter.version or counter.astray:  # what is plain counts as never written
        storage_to_write(self)


def _delete_data(self: Tensor) -> None:
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


PROPERTIES["data"] = property(_get_data, _set_data, _delete_data)


# Types --------------------------------------------------------------------------------------------------------------

LEGACY_DTYPES = {
    "Float": dtypes.float32, "Double": dtypes.float64, "Half": dtypes.float16, "BFloat16": dtypes.bfloat16,
    "Int": dtypes.int32, "Long": dtypes.int64, "Short": dtypes.int16, "Char": dtypes.int8, "Byte": dtypes.uint8,
    "Bool": dtypes.bool, "ComplexFloat": dtypes.complex64, "ComplexDouble": dtypes.complex128,
}  # fmt: skip
"""The dtypes by the names of PyTorch's first types: ``FloatTensor``, ``LongTensor``, ..."""


def legacy_dtype(given: Any) -> tuple[dtype, str | None]:
    """The dtype, and the device type if that is given too, which ``Tensor.type`` is called with.
    Raises TypeError, ValueError: PyTorch's messages.
    """
    if isinstance(given, dtype):
        return given, None
    if given is Tensor:
        return get_default_dtype(), None
    if isinstance(given, str):
        name = given
    elif isinstance(given, type):
        name = f"{given.__module__}.{given.__name__}".removeprefix("builtins.")
    else:
        raise TypeError("dtype must be a type, str, or dtype object")
    home, _, short = name.rpartition(".")
    prefix = short.removesuffix("Tensor")
    if prefix not in LEGACY_DTYPES or home not in ("torch", "torch.cuda"):
        raise ValueError(f"invalid type: '{name}'")
    return LEGACY_DTYPES[prefix], "cuda" if home == "torch.cuda" else "cpu"


# Gradients ----------------------------------------------------------------------------------------------------------


def _get_requires_grad(self: Tensor) -> bool:
    """Tell whether operators on this tensor are recorded; can be set on leaves of a floating or complex dtype."""
    return self._spec.requires_grad


def _set_requires_grad(self: Tensor, value: Any) -> None:
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if not passes_for_leaf(self):
        _refuse_non_leaf(value)
    if value and self.dtype.category < FLOATING:
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    set_flag(self, value)


def _delete_requires_grad(self: Tensor) -> None:
    raise RuntimeError("requires_grad must be a bool")


PROPERTIES["requires_grad"] = property(_get_requires_grad, _set_requires_grad, _delete_requires_grad)


def set_flag(tensor: Tensor, value: bool) -> None:
    """Set ``requires_grad`` of a leaf that can have it; inference tensors can in inference mode only."""
    if value and tensor._spec.inference and not thread.modes.inference:
        raise RuntimeError(INFERENCE_REQUIRES_GRAD)
    if tensor._view is not None:
        tensor._view.leaf = value
        value = value or tensor._view.base._spec.requires_grad
    on = tensor._spec.device
    if value and on.sharded and may_look():
        on = own_layout(materialized(value_of(tensor)), on)  # gradients are to lie there, and what optimizers keep
    tensor._spec = tensor._spec.replace(requires_grad=value, device=on)
    tell_views(tensor)


def _refuse_non_leaf(value: bool) -> None:
    text = "you can only change requires_grad flags of leaf variables."
    if not value:
        text += (
            " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
            "var_no_grad = var.detach()."
        )
    raise RuntimeError(text)


@public("Tensor")
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set ``requires_grad`` and return this tensor.

    Raises:
        RuntimeError: a non-leaf, or an integral dtype.
    """
    refuse_to_call("requires_grad_", "(or perhaps using torch.autograd.functional.* APIs) ")
    if not isinstance(requires_grad, bool):
        raise TypeError(
            f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type(requires_grad).__name__}"
        )
    if not passes_for_leaf(self):
        if not requires_grad:
            _refuse_non_leaf(requires_grad)
        return self
    if requires_grad and self.dtype.category < FLOATING:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    set_flag(self, requires_grad)
    return self


def _get_grad(self: Tensor) -> Tensor | None:
    """The gradient that backward accumulated for this leaf (or non-leaf with ``retain_grad``), or None."""
    if self._edge is not None and not self._retains and self._grad is None:
        warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
            "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
            "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make "
            "sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
        )
    if capturing.by is not None:
        capturing.by.reads_grad = True
    return self._grad


def _set_grad(self: Tensor, value: Any) -> None:
    if value is not None:
        check_grad(self, value)
    if capturing.by is not None:
        capturing.by.reads_grad = True
    self._grad = value


def _delete_grad(self: Tensor) -> None:
    if capturing.by is not None:
        capturing.by.reads_grad = True
    self._grad = None


PROPERTIES["grad"] = property(_get_grad, _set_grad, _delete_grad)


def check_grad(tensor: Tensor, grad: Any) -> None:
    """Refuse what can't be a tensor's ``.grad``. Raises TypeError, RuntimeError."""
    if not isinstance(grad, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(grad).__name__}")
    if grad is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    ours, theirs = tensor._spec, grad._spec
    kept = ours.dtype if tensor._grad_dtype is False else tensor._grad_dtype
    if kept is not None and theirs.dtype is not kept:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{cpp_name(theirs.dtype)}' to a tensor with grad_dtype "
            f"'{kept.scalar_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
            "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. "
            "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match."
        )
    if theirs.device.free is not ours.device.free:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{theirs.device.type}' to a tensor with device type "
            f"'{ours.device.type}'. Please ensure that the gradient and the tensor are on the same device"
        )
    if theirs.shape != ours.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(theirs.shape)}' to a tensor of size '{list(ours.shape)}'. "
            "Please ensure that the gradient and the tensor are the same size"
        )


# Flags --------------------------------------------------------------------------------------------------------------


def _constant(value: Any, doc: str) -> property:
    return property(lambda self: value, doc=doc)


def _on(device_type: str) -> property:
    return property(
        lambda self: self.device.type == device_type, doc=f"Whether the data lies on a {device_type} device."
    )


for _name in ("sparse", "sparse_csr"):
    PROPERTIES[f"is_{_name}"] = _constant(False, "Whether the tensor has that sparse layout.")
for _name in ("quantized", "mkldnn", "nested", "xpu", "ipu", "vulkan", "maia", "mtia"):
    PROPERTIES[f"is_{_name}"] = _constant(False, "False: there are no such tensors here, but nested ones.")
for _name, _type in (("cuda", "cuda"), ("cpu", "cpu"), ("xla", "tpu"), ("mps", "mps"), ("meta", "meta")):
    PROPERTIES[f"is_{_name}"] = _on(_type)
PROPERTIES["layout"] = _constant(layouts.strided, "``torch.strided``, but of sparse and nested tensors.")
NAMESPACES.setdefault("torch", {}).update(
    {name: value for name, value in vars(layouts).items() if not name.startswith("_") and name != "annotations"}
)
PROPERTIES["_grad_fn"] = property(lambda self: self.grad_fn, doc="``grad_fn``.")
PROPERTIES["_cdata"] = property(id, doc="A number by which it is known while it lives.")
PROPERTIES["_has_symbolic_sizes_strides"] = _constant(False, "False: lengths are numbers.")
PROPERTIES["_python_dispatch"] = property(
    lambda self: self._spec.overrides == "dispatch", doc="Whether its class has a ``__torch_dispatch__``."
)

PROPERTIES["itemsize"] = property(lambda self: self.dtype.itemsize, doc="The number of bytes of one element.")
PROPERTIES["nbytes"] = property(
    lambda self: self.dtype.itemsize * self._spec.numel, doc="The number of bytes of all elements."
)


def _volatile(self: Tensor) -> bool:
    warn("volatile was removed (Variable.volatile is always False)")
    return False


def _set_volatile(self: Tensor, value: Any) -> None:
    warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")


PROPERTIES["volatile"] = property(_volatile, _set_volatile, doc="False: what it was for is ``no_grad`` now.")
PROPERTIES["name"] = _constant(None, "None: tensors have no names any more.")


@public("Tensor")
def element_size(self: Tensor) -> int:
    """The number of bytes of one element."""
    return self.dtype.itemsize


@public("torch", name="numel")
def _numel(input: Tensor) -> int:
    """The number of elements."""
    return input._spec.numel


@public("torch", "Tensor")
def is_floating_point(input: Tensor) -> bool:
    """Tell whether the dtype is a floating one."""
    return input.dtype.is_floating_point


@public("torch", "Tensor")
def is_complex(input: Tensor) -> bool:
    """Tell whether the dtype is a complex one."""
    return input.dtype.is_complex


@public("torch", "Tensor")
def is_signed(input: Tensor) -> bool:
    """Tell whether the dtype has negative numbers."""
    return input.dtype.is_signed


@public("torch", "Tensor")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Tell whether two tensors have the same shape."""
    return input.shape == other.shape


@public("Tensor", "torch")
def get_device(input: Tensor) -> int:
    """The index of the tensor's accelerator; -1 on the CPU, and on ``meta``."""
    return -1 if input.device.type in ("cpu", "meta") else input.device.index or 0


@public("Tensor")
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """False: memory is not pinned here."""
    if device is not None:
        named_device("is_pinned", device)
    return False


@public("Tensor")
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor itself, where there is an accelerator.

    Raises:
        RuntimeError: there is none.
    """
    if self.device is META:
        raise RuntimeError(f"cannot pin '{core_type_name(self._spec)}' only dense CPU tensors can be pinned")
    if self.device.type == "cpu" and not has_accelerator():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return self


@public("Tensor")
def _is_zerotensor(self: Tensor) -> bool:
    """False: zeros have memory as all numbers have."""
    return False


@public("torch", asks="nobody", native=True)
def is_vulkan_available() -> bool:
    """False."""
    return False


@public("torch", asks="nobody")
def is_tensor(obj: Any, /) -> bool:
    """Tell whether ``obj`` is a tensor."""
    return isinstance(obj, Tensor)


@public("torch")
def typename(obj: Any, /) -> str:
    """PyTorch's name of the type of a tensor, or the qualified name of a class, or of an object's class.

    Args:
        obj: anything.

    >>> torch.typename(torch.ones(1)), torch.typename(torch.nn.Linear)
    ('torch.FloatTensor', 'torch.nn.modules.linear.Linear')
    """
    if isinstance(obj, Tensor):
        return legacy_type_name(obj._spec)
    if isinstance(obj, dtype):
        return "torch.dtype"
    if obj is Tensor:
        return "torch.Tensor"
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    if module.split(".")[0] == "tapegrad":
        module = ".".join(["torch", *module.split(".")[1:]])
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"

"""Tensors to other dtypes and devices, and to what is no tensor: NumPy arrays, Python numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.factory import named_device, named_dtype, no_overload
from tapegrad._src.bindings.declaration.handing import DISPATCH
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.layouts import checked_format, copy_strides, laid_out, suggested_format
from tapegrad._src.bindings.state.attributes import legacy_dtype
from tapegrad._src.dispatch.nodes.accumulate_grad import gradient_edge
from tapegrad._src.execution.array_functions.host import element_of, to_host, transfer
from tapegrad._src.execution.array_functions.windows import CONJUGATED
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.devices import device as device_class
from tapegrad._src.execution.data.dtypes import BOOL, FLOATING, INTEGRAL, dtype
from tapegrad._src.execution.data.promotion import warn_of_cast
from tapegrad._src.execution.data.row_layout import inverse, memory_order
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.functions.construction import from_numpy, warn_scalar_requires_grad
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import Node, next_sequence_nr
from tapegrad._src.tensor.exposing import exposed
from tapegrad._src.tensor.layout import memory_format, preserve_format
from tapegrad._src.tensor.level_messages import CONTROL_FLOW, NO_ITEM, NO_MEMORY
from tapegrad._src.tensor.refusals import refuse_examples, refuse_number
from tapegrad._src.tensor.spec import legacy_type_name
from tapegrad._src.tensor.tensor import Tensor, value_of, wrap
from tapegrad.errors import ComplexHalfError, message
from tapegrad.ops.conversion import truncate
from tapegrad.ops.kinds import cast

# To another dtype or device -----------------------------------------------------------------------------------------


class ToCopyBackward0(Node):
    """The backward of a copy to another device: the gradient goes back to where the data came from."""

    __slots__ = ("source",)

    def __init__(self, tensor: Tensor) -> None:
        self.source = tensor.device
        self.next_edges = (gradient_edge(tensor),)
        self.sequence_nr = next_sequence_nr()

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> tuple:
        return (None if grads[0] is None else transfer(grads[0], self.source),)

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> tuple:
        return (None if grads[0] is None else _moved(grads[0], self.source),)


ToCopyBackward0.__module__ = "builtins"  # as PyTorch's, and those of operators


def _moved(tensor: Tensor, on: device_class) -> Tensor:
    recorded = tensor._spec.requires_grad and thread.modes.grad
    value = transfer(value_of(tensor), on)
    spec = tensor._spec.bare.replace(device=on, requires_grad=recorded, inference=thread.modes.inference)
    return wrap(value, spec, (ToCopyBackward0(tensor), 0) if recorded else None)


def converted_to(
    tensor: Tensor, d: dtype, on: device_class, copy: bool = False, order: memory_format = preserve_format
) -> Tensor:
    """A tensor in a dtype, on a device and in a memory format: itself if it is so already and no copy is asked for.

    A conversion is recorded; its gradient has the dtype and the device of ``tensor``.
    """
    if d is dtypes.complex32:
        raise ComplexHalfError("to")
    if order is not preserve_format:
        copy = copy or order is not suggested_format(tensor)
        changed = converted_to(tensor, d, on, copy)
        return changed if changed is tensor else laid_out(changed, copy_strides("to", tensor, order))
    moves = on is not tensor.device
    if d is tensor.dtype and not moves and not copy:
        return tensor
    if d is not tensor.dtype and tensor.dtype.category >= FLOATING and d.category == INTEGRAL:
        warn_of_cast(tensor.dtype, d)
        tensor = truncate(tensor, dtype=d)
    elif d is not tensor.dtype or not moves:
        warn_of_cast(tensor.dtype, d)
        tensor = cast(tensor, dtype=d)
    return _moved(tensor, on) if moves else tensor


_TO = (
    "torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None",
    "torch.dtype dtype, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None",
    "Tensor tensor, bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None",
)


@public("Tensor")
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``to(dtype)``, ``to(device)``, ``to(device, dtype)`` or ``to(other)``: this tensor in a dtype and on a device.

    The tensor itself if nothing changes, unless ``copy=True``. ``non_blocking`` changes nothing here.
    """
    if len(args) == 1 and not kwargs and type(args[0]) is dtype:
        return converted_to(self, args[0], self.device)
    on, d, _, order, copy = parse_to(args, kwargs)
    return converted_to(self, d or self.dtype, on or self.device, copy, order or preserve_format)


def parse_to(args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any, bool]:
    """The arguments of ``to``: device, dtype, ``non_blocking``, memory format and ``copy``; None for what isn't said.
    Raises TypeError: PyTorch's ``to`` doesn't take them.
    """
    names = _to_names(args)
    given = dict(zip(names, args, strict=False)) | kwargs
    if len(args) > 4:
        raise TypeError(f"to() takes from 0 to 4 positional arguments but {len(args)} were given")
    if (
        len(args) > len(names)
        or len(given) < len(args) + len(kwargs)
        or not given.keys() <= {*names, "device", "dtype", "memory_format"}
    ):
        raise no_overload("to", args, kwargs, _TO)
    order = given.get("memory_format")
    if order is not None and not isinstance(order, memory_format):
        raise no_overload("to", args, kwargs, _TO)
    d, where = given.get("dtype"), given.get("device")
    d = d if d is None or d is dtypes.complex32 else named_dtype("to", d)
    where = None if where is None else named_device("to", where)
    if isinstance(given.get("tensor"), Tensor):
        d, where = given["tensor"].dtype, given["tensor"].device
    return where, d, bool(given.get("non_blocking")), order, bool(given.get("copy"))


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The arguments of ``to`` as modules ask for them: device, dtype, ``non_blocking`` and memory format."""
    return parse_to(args, kwargs)[:4]


def _to_names(args: tuple) -> tuple[str, ...]:
    """The names of the positional arguments of ``to``, by the type of the first."""
    first = args[0] if args else None
    if isinstance(first, Tensor):
        return ("tensor", "non_blocking", "copy")
    if isinstance(first, dtype) or first in (bool, int, float, complex):
        return ("dtype", "non_blocking", "copy")
    if first is None or isinstance(first, (str, int, device_class)):
        return ("device", "dtype", "non_blocking", "copy")
    raise no_overload("to", args, {}, _TO)


def _declare_cast(name: str, d: dtype) -> None:
    def method(self: Tensor, memory_format: Any = None) -> Tensor:
        if memory_format is None:
            return converted_to(self, d, self.device)
        return converted_to(self, d, self.device, order=checked_format(name, memory_format))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"This tensor in the dtype ``{d}``; itself if it has it."
    public("Tensor")(method)


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
}.items():  # fmt: skip
    _declare_cast(_name, _dtype)


@public("Tensor", out=False, in_place=False)
def chalf(self: Tensor, memory_format: Any = None) -> Tensor:
    """This tensor in the dtype ``torch.complex32``; itself if it has it.

    Raises:
        RuntimeError: numbers that PyTorch makes no such numbers of.

    >>> x = torch.view_as_complex(torch.zeros(1, 2, dtype=torch.float16))
    >>> x.chalf() is x
    True
    """
    raise ComplexHalfError("chalf")


@public("Tensor")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype and on the device of another one."""
    return converted_to(self, other.dtype, other.device)


@public("Tensor", name="type")
def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of this tensor's type, such as ``torch.FloatTensor``; or, given a type, this tensor converted to it.

    Args:
        dtype: a dtype, the name of a type, or one of the type classes (``torch.LongTensor``).
        non_blocking: accepted, and changes nothing.
    """
    if dtype is None:
        return legacy_type_name(self._spec)
    wanted, kind = legacy_dtype(dtype)
    on = self.device if kind in (None, self.device.type) else named_device("type", kind)
    return converted_to(self, wanted, on)


@public("Tensor")
def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """This tensor on the CPU."""
    return converted_to(self, self.dtype, named_device("cpu", "cpu"))


@public("Tensor")
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """This tensor on a GPU, the first if none is named.

    Raises:
        AssertionError: there is none.
        RuntimeError: a device of another kind.
    """
    where = named_device("cuda", "cuda" if device is None else device)
    if where.type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    return converted_to(self, self.dtype, where)


@public("Tensor")
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool = True) -> Tensor:
    """The tensor itself (in another dtype, if one is given); of a sparse one, a dense one with its elements.

    Args:
        dtype: another dtype, of a dense tensor.
        masked_grad: changes nothing: the gradient of a sparse tensor has its places.
    """
    return self if dtype is None else to(self, dtype)


# To NumPy and Python ------------------------------------------------------------------------------------------------


def _check_memory(tensor: Tensor) -> None:
    if tensor._spec.level:
        raise RuntimeError(NO_MEMORY)


def host_array(tensor: Tensor) -> np.ndarray:
    """The elements of a tensor as a read-only array, whether it requires grad or not."""
    return to_host(value_of(tensor))


def only_element(tensor: Tensor) -> bool | int | float | complex:
    """The element of a tensor that has one, as a Python number; waits for it.
    Raises RuntimeError: there is no data, on the device ``meta``.
    """
    refuse_number(tensor)
    return element_of(value_of(tensor))


@public("Tensor")
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """The elements as a NumPy array that shares the tensor's memory: a write to one side is seen on the other.

    What is written through the array counts no version, and autograd does not learn of it.

    Args:
        force: also of a tensor that requires grad, is on another device, or shows conjugates: these two are copied.

    Raises:
        RuntimeError: the tensor requires grad, in grad mode.
        TypeError: it is on another device, or NumPy has no such dtype.
    """
    if self._spec.overrides == DISPATCH:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")
    if not force:
        if self._spec.requires_grad and thread.modes.grad and self.device is not META:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device.sharded:
            hint = "x.full_tensor().numpy() gathers it, x.to_local().numpy() has what is here"
            raise TypeError(message("can't convert a tensor that is spread over a mesh to numpy", hint=hint))
        if self.device.type != "cpu":
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
                "memory first."
            )
    _check_memory(self)
    if self.dtype.numpy.kind not in "biufc":
        raise TypeError(f"Got unsupported ScalarType {self.dtype.scalar_name}")
    if self._view_bits and not force:
        bit, way = ("conjugate", "conj") if self._view_bits & CONJUGATED else ("negative", "neg")
        raise RuntimeError(
            f"Can't call numpy() on Tensor that has {bit} bit set. Use tensor.resolve_{way}().numpy() instead."
        )
    if self._view_bits or not self.device.is_host:
        axes = memory_order(tuple(self.shape), self._spec.layout)
        return host_array(self).transpose(axes).copy().transpose(inverse(axes))
    return exposed(self)


@public("Tensor")
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """The elements as an array, which shares their memory if no other dtype is wanted; raises as ``numpy`` does.

    Raises:
        ValueError: ``copy=False``, of which PyTorch knows nothing.
    """
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    array = numpy(self)
    if copy:
        return array.astype(array.dtype if dtype is None else dtype)
    return array if dtype is None else array.astype(dtype, copy=False)


@public("Tensor")
def __array_wrap__(self: Tensor, array: np.ndarray, context: Any = None, return_scalar: bool = False) -> Tensor:
    """The result of a NumPy function that was given tensors: a tensor, which nothing recorded.

    Truth values become ``uint8``, as PyTorch's do.

    >>> import numpy as np, tapegrad as torch
    >>> np.maximum(torch.tensor([0.25, 1.0]), 0.5)
    tensor([0.5000, 1.0000])
    """
    return from_numpy(array.astype(np.uint8) if array.dtype == bool else array)


@public("Tensor")
def item(self: Tensor) -> bool | int | float | complex:
    """The only element as a Python number.

    Raises:
        RuntimeError: there is not exactly one.
    """
    if self._spec.numel != 1:
        refuse_examples(NO_ITEM, self)
        raise RuntimeError(f"a Tensor with {self._spec.numel} elements cannot be converted to Scalar")
    if capturing.by is not None and self.dtype.category in _LATE:
        late = capturing.by.read_late(value_of(self), _LATE[self.dtype.category])
        if late is not None:
            return late
    return only_element(self)


_LATE = {INTEGRAL: int, FLOATING: float}
"""The types of numbers that a captured call may read late, by the categories of dtypes."""


@public("Tensor")
def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; of a 0-dim tensor, the number.

    Raises:
        RuntimeError: of a class with a ``__torch_dispatch__``.
    """
    refuse_examples(NO_MEMORY, self)
    if self._spec.overrides == DISPATCH:
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")
    array = host_array(self)
    return array.tolist() if array.dtype.kind in "biufc" else array.astype(np.float64).tolist()


def _python_scalar(tensor: Tensor, *, warn: bool = True) -> Any:
    if tensor._spec.numel != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    if warn and tensor._spec.requires_grad and thread.modes.grad:
        warn_scalar_requires_grad()
    return only_element(tensor)


def _real_scalar(tensor: Tensor, cpp_type: str) -> Any:
    number = _python_scalar(tensor, warn=cpp_type == "double")
    if isinstance(number, complex):
        if number.imag:
            raise RuntimeError(f"value cannot be converted to type {cpp_type} without overflow")
        return number.real
    return number


@public("torch", "Tensor")
def is_nonzero(input: Tensor) -> bool:
    """Tell whether the only element is not zero.

    Raises:
        RuntimeError: there is not exactly one.
    """
    refuse_examples(CONTROL_FLOW, input)
    if input._spec.numel != 1:
        how_many = "more than one value" if input._spec.numel else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {how_many} is ambiguous")
    return bool(only_element(input))


@public("torch")
def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Refuse a tensor whose only element is zero.

    Raises:
        RuntimeError: it is; with ``assert_msg``, if that is given.
    """
    if not is_nonzero(input):
        raise RuntimeError(
            "Expected Tensor with single nonzero value, but got zero" if assert_msg is None else assert_msg
        )


@public("Tensor", aliases=("__nonzero__",))
def __bool__(self: Tensor) -> bool:
    """Tell whether the only element is not zero."""
    return is_nonzero(self)


@public("Tensor")
def __float__(self: Tensor) -> float:
    """The only element as a float."""
    return float(_real_scalar(self, "double"))


@public("Tensor", aliases=("__long__",))
def __int__(self: Tensor) -> int:
    """The only element as an int, cut off towards zero; nan and infinity raise as Python's do."""
    number = _real_scalar(self, "int64_t")
    return int(number) if isinstance(number, int) else math.trunc(number)


@public("Tensor")
def __complex__(self: Tensor) -> complex:
    """The only element as a complex number."""
    return complex(_python_scalar(self))


@public("Tensor")
def __index__(self: Tensor) -> int:
    """The only element of an integral or boolean tensor, to index sequences with.

    Raises:
        TypeError: another dtype, or not exactly one element.
    """
    if self.dtype.category not in (BOOL, INTEGRAL) or self._spec.numel != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(only_element(self))  # type: ignore[arg-type]


@public("Tensor")
def __format__(self: Tensor, format_spec: str) -> str:
    """The number of a 0-dim tensor in the format given; otherwise the text of the tensor, which takes none."""
    if self.ndim == 0 and type(self) is Tensor and self.device is not META:
        return format(only_element(self), format_spec)
    return object.__format__(self, format_spec)


@public("Tensor")
def __contains__(self: Tensor, element: Any, /) -> bool:
    """Tell whether any element equals a number or (broadcast) tensor."""
    if not isinstance(element, (Tensor, bool, int, float, complex)):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    return bool((self == element).any().item())

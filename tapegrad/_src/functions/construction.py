"""Tensors made from data: ``tensor``, ``as_tensor``, ``from_numpy`` and their relatives.

Note [Whose memory]
As in PyTorch ``tensor`` copies; ``from_numpy``, ``as_tensor``, ``asarray`` and ``frombuffer`` share memory with an
array or a buffer, where neither the dtype nor the device is changed: a write to one side is seen on the other (Note
[Memory that NumPy sees] in ``tensor/shared.py``). What can't be written to is copied: PyTorch shares it, too, and warns
that a write through the tensor has undefined behaviour; the warning is given here, and a write through the tensor stays
its own. In a function transform (``vmap``, ``grad``) everything is copied: a tensor at a level has no memory.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NoReturn, Unpack

import numpy as np

from tapegrad._src.bindings.capsules import is_capsule, opened
from tapegrad._src.bindings.declaration.factory import (
    Target,
    TensorOptions,
    cast_array,
    named_device,
    target,
    type_name,
)
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import element, python_number
from tapegrad._src.bindings.layouts import copy_strides, laid_out
from tapegrad._src.bindings.state.storage_methods import tensor_of_file
from tapegrad._src.bindings.state.storages import TypedStorage, UntypedStorage
from tapegrad._src.bindings.state.storages import shown as memory_shown
from tapegrad._src.execution.array_functions.host import is_immutable
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.dtypes import BOOL, COMPLEX, FLOATING, INTEGRAL, dtype, get_default_dtype
from tapegrad._src.execution.data.promotion import inferred_dtype, promote_types
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.exposing import tensor_on
from tapegrad._src.tensor.lifted import Lifted, raised
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad._src.warn import warn
from tapegrad.errors import warn_once

DISCARDED = "Casting complex values to real discards the imaginary part"

_INDICES = {BOOL: (float, np.integer, np.bool_), INTEGRAL: (float, np.integer)}
"""NumPy's numbers that a whole dtype takes, and booleans."""

_SCALARS = (bool, int, float, complex)


@public("torch", asks="modes")
def tensor(data: Any = ..., *args: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """A new tensor with a copy of ``data``: a number, nested sequences of numbers, an array, a tensor.

    The dtype is that of an array, and is inferred from numbers: bool, int64, the default dtype or its complex one. It
    has no history: a leaf, whatever ``data`` is.

    Raises:
        TypeError, ValueError, RuntimeError: PyTorch's messages, for ragged sequences, for what is no number, and for
            numbers that the dtype can't hold.

    >>> torch.tensor([[1, 2.5], [3, 4]], requires_grad=True)
    tensor([[1.0000, 2.5000],
            [3.0000, 4.0000]], requires_grad=True)
    """
    if data is ...:
        raise TypeError('tensor() missing 1 required positional arguments: "data"')
    if args:
        raise TypeError(f"tensor() takes 1 positional argument but {len(args) + 1} were given")
    if "requires_grad" in options and not isinstance(options["requires_grad"], bool):
        raise TypeError(f"tensor(): argument 'requires_grad' must be bool, not {type_name(options['requires_grad'])}")
    return constructed("tensor", data, options)


@public("Tensor")
def new_tensor(self: Tensor, data: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """A new tensor with a copy of ``data``, of this tensor's dtype and device if none are given."""
    return constructed("new_tensor", data, options, self.dtype, self)


def constructed(
    function: str, data: Any, options: TensorOptions, default: dtype | None = None, like: Tensor | None = None
) -> Tensor:
    """The tensor that ``tensor(data)`` gives, where ``default`` is used for the dtype if there is one."""
    on = None if like is None else like.device
    if isinstance(data, Tensor):
        whose = "torch.tensor" if like is None else "tensor.new_tensor"
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            f"sourceTensor.detach().clone().requires_grad_(True), rather than {whose}(sourceTensor)."
        )
        made = target(function, options, default or data.dtype, on or data.device)
        return _copied(made, data)
    wanted = options.get("dtype") or default
    if isinstance(data, _SCALARS) and not isinstance(data, np.generic):
        made = target(function, options, default if wanted is not None else _number_dtype(data.__class__), on)
        return made.full((), _elements([data], made.dtype)[0])
    if isinstance(data, (UntypedStorage, TypedStorage)):
        return _of_storage(function, data, options, default)
    if isinstance(data, np.generic) and wanted is not None:
        checked_array(np.asarray(data))
        made = target(function, options, default, on)
        return made.full((), _elements([data], made.dtype)[0])
    if _is_array(data):
        array = checked_array(np.asarray(data))
        made = target(function, options, default or dtypes.from_numpy(array.dtype), on)
        _warn_of_complex(array, made)
        return made.tensor(array.copy("K") if array.dtype == made.dtype.numpy else array)
    shape = _shape(data)
    inferred = None if wanted is not None else _infer(data)
    made = target(function, options, default or inferred, on)
    made.room(*shape)
    elements: list = []
    if 0 not in shape:
        _flatten(data, shape, 0, elements)
    return made.tensor(_elements(elements, made.dtype).reshape(shape))


def _copied(made: Target, data: Tensor) -> Tensor:
    """The data of a tensor as a new leaf; immutable values need no copy of their own."""
    source = data.detach()
    result = source.to(made.device, made.dtype)
    value = value_of(result)
    if isinstance(value, Lifted):
        return raised(value, made.requires_grad)
    return laid_out(made.wrap(value), copy_strides("clone", data, None))


def _of_storage(
    function: str, data: UntypedStorage | TypedStorage, options: TensorOptions, default: dtype | None
) -> Tensor:
    """The tensor on all of a storage's memory: its bytes are read as numbers of the dtype, int64 if none is given."""
    own = data.dtype if isinstance(data, TypedStorage) else None
    untyped = data if isinstance(data, UntypedStorage) else data._untyped_storage
    made = target(function, options, default or own or dtypes.int64, untyped.device)
    if own not in (None, made.dtype):
        raise RuntimeError(
            f"Expected a Storage of type {made.dtype.scalar_name} or an UntypedStorage, but got {own.scalar_name}"
        )
    result = memory_shown(untyped.storage, made.dtype).to(made.device)
    return result.requires_grad_() if made.requires_grad else result


def _warn_of_complex(array: np.ndarray, made: Target) -> None:
    if array.dtype.kind == "c" and made.dtype.category not in (BOOL, COMPLEX):
        warn_once(DISCARDED)


def _is_array(data: Any) -> bool:
    return isinstance(data, (np.ndarray, np.generic)) or (
        hasattr(data, "__array__") and not isinstance(data, (list, tuple))
    )


def checked_array(array: np.ndarray) -> np.ndarray:
    """An array that PyTorch would take.
    Raises TypeError: a dtype that tensors don't have. ValueError: swapped bytes, or negative strides.
    """
    dtypes.from_numpy(array.dtype)
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "currently supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    return dtypes.canonical(array)


# Nested sequences ---------------------------------------------------------------------------------------------------


def _is_sequence(data: Any) -> bool:
    """Tell whether PyTorch walks into it: anything with a length and items by position; tensors count as numbers."""
    if isinstance(data, (list, tuple, np.ndarray)):
        return True
    if isinstance(data, (Tensor, dict, set, frozenset)):
        return False
    return isinstance(data, Sequence) or (hasattr(data, "__len__") and hasattr(data, "__getitem__"))


def _shape(data: Any) -> tuple[int, ...]:
    """The lengths of the first item of the first item of ..."""
    lengths: list[int] = []
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    while _is_sequence(data) and not isinstance(data, bytes):
        if isinstance(data, str):
            raise ValueError("too many dimensions 'str'")
        lengths.append(len(data))
        if len(lengths) > 1 and isinstance(data, np.ndarray):
            warn_once(
                "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the "
                "list to a single numpy.ndarray with numpy.array() before converting to a tensor."
            )
        if lengths[-1] == 0:
            break
        data = data[0]
    return tuple(lengths)


def _infer(data: Any) -> dtype:
    """The dtype that holds all the numbers in nested sequences."""
    if isinstance(data, np.ndarray):
        return dtypes.from_numpy(data.dtype)
    if not _is_sequence(data) or isinstance(data, (str, bytes)):
        return _infer_number(data)
    if len(data) == 0:
        return get_default_dtype()
    kinds: dict[type, Any] = {type(item): item for item in data}
    if all(kind in _SCALARS for kind in kinds):
        found = map(_number_dtype, kinds)
    else:
        found = map(_infer, data)
    return functools.reduce(promote_types, found)


def _number_dtype(kind: type) -> dtype:
    """The dtype of Python's numbers of a type. Raises RuntimeError: complex, and the default dtype has no such one."""
    if issubclass(kind, complex) and get_default_dtype() is dtypes.bfloat16:
        raise RuntimeError("invalid default scalar type for complex")
    return inferred_dtype(kind)


def _infer_number(item: Any) -> dtype:
    if isinstance(item, Tensor):
        return item.dtype
    if isinstance(item, np.generic):
        return dtypes.from_numpy(item.dtype)
    if isinstance(item, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(item).__name__}'")
    if isinstance(item, _SCALARS):
        return _number_dtype(item.__class__)
    raise RuntimeError(f"Could not infer dtype of {type(item).__name__}")


def _flatten(data: Any, shape: tuple[int, ...], axis: int, elements: list) -> None:
    """Append the numbers in nested sequences of a shape to ``elements``."""
    if axis == len(shape):
        elements.append(data)
        return
    if not _is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[axis]:
        raise ValueError(f"expected sequence of length {shape[axis]} at dim {axis} (got {len(data)})")
    if axis == len(shape) - 1:
        elements.extend(data.tolist() if isinstance(data, np.ndarray) else data)
    else:
        for item in data:
            _flatten(item, shape, axis + 1, elements)


def _elements(numbers: list, of: dtype) -> np.ndarray:
    """Python numbers (and one-element tensors) as an array of a dtype.
    Raises TypeError: something that is no number, or a complex number for a real dtype. RuntimeError, ValueError,
    OverflowError: a number that the dtype can't hold.
    """
    kinds = set(map(type, numbers))
    if not kinds <= set(_SCALARS):
        numbers = [_plain_number(item, of) for item in numbers]
        kinds = set(map(type, numbers))
    if of.category == BOOL:
        return np.array([bool(number) for number in numbers], bool)
    if of.category == COMPLEX:
        return np.array(numbers, np.complex128).astype(of.numpy)
    if complex in kinds:
        raise TypeError("must be real number, not complex")
    if of.category == FLOATING:
        return cast_array(np.array([float(number) for number in numbers] if int in kinds else numbers, np.float64), of)
    return _integers(numbers, kinds, of)


def _plain_number(item: Any, of: dtype) -> Any:
    if isinstance(item, Tensor):
        if item._spec.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if item._spec.requires_grad:
            warn_scalar_requires_grad()
        if of.category <= INTEGRAL and item.dtype.category >= FLOATING:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return _real(item.item(), of)
    if isinstance(item, np.generic) and of.category <= INTEGRAL and not isinstance(item, _INDICES[of.category]):
        raise TypeError(f"'numpy.{type(item).__name__}' object cannot be interpreted as an integer")
    if isinstance(item, (*_SCALARS, np.generic)):
        number = python_number(item)
        if isinstance(item, np.complexfloating) and number is not (number := _real(number, of)):
            warn_once(DISCARDED, np.exceptions.ComplexWarning)
        return number
    if of.category in (BOOL, INTEGRAL):
        raise TypeError(f"'{type(item).__name__}' object cannot be interpreted as an integer")
    raise TypeError(f"must be real number, not {type(item).__name__}")


def _real(number: Any, of: dtype) -> Any:
    """A number as a dtype of floats takes it: of a complex one the real part."""
    return number.real if isinstance(number, complex) and of.category == FLOATING else number


def warn_scalar_requires_grad() -> None:
    """PyTorch's warning, once per process: a number made of a tensor that requires grad has no history."""
    warn_once(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
        "Consider using tensor.detach() first."
    )


def _integers(numbers: list, kinds: set[type], of: dtype) -> np.ndarray:
    if of is dtypes.uint64 and float not in kinds:
        for number in numbers:
            _check_uint64(number)
        return np.array(numbers, np.uint64)
    if float in kinds:
        return np.array([_whole(number, of) for number in numbers], np.int64).astype(of.numpy)
    try:
        whole = np.array(numbers, np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    limits = np.iinfo(of.numpy)
    low = int(limits.min) if of.is_signed else -int(limits.max)
    if whole.size and not (low <= whole.min() and whole.max() <= limits.max):
        _refuse(of)
    return whole.astype(of.numpy)


def _check_uint64(number: int) -> None:
    if number < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if number >= 2**64:
        raise OverflowError("int too big to convert")


def _whole(number: float, of: dtype) -> int:
    limits = np.iinfo(of.numpy)
    if not math.isfinite(number) or not limits.min <= number <= limits.max:
        _refuse(of)
    return int(number)


def _refuse(of: dtype) -> NoReturn:
    raise RuntimeError(f"value cannot be converted to type {of.name} without overflow")


# Arrays, buffers, numbers -------------------------------------------------------------------------------------------


@public("torch", asks="modes")
def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Tensor:
    """``data`` as a tensor: itself if it is one of this dtype and device, else like ``tensor``.

    A conversion of a tensor is recorded. An array of this dtype shares its memory with the tensor, on the CPU.
    """
    if isinstance(data, Tensor):
        where = data.device if device is None else named_device("as_tensor", device)
        made = target("as_tensor", {"dtype": dtype}, data.dtype)
        return data.to(where, made.dtype)
    options: TensorOptions = {"dtype": dtype, "device": device}
    alias = _alias("as_tensor", data, options)
    return constructed("as_tensor", data, options) if alias is None else alias


def _alias(function: str, data: Any, options: TensorOptions) -> Tensor | None:
    """The tensor on the memory of an array; None if ``data`` is none, is jax's, or has to be copied or converted."""
    if not _is_array(data) or isinstance(data, np.generic) or is_immutable(data):
        return None
    array = checked_array(np.asarray(data))
    made = target(function, options, dtypes.from_numpy(array.dtype))
    if made.dtype.numpy != array.dtype or made.device.type != "cpu" or made.device.index:
        _warn_of_writes(array)
        return None
    result = shared_with(array)
    return result.requires_grad_() if made.requires_grad else result


def shared_with(array: np.ndarray) -> Tensor:
    """A new leaf on the memory of an array; on a copy, if that can't be written to. See Note [Whose memory]."""
    _warn_of_writes(array)
    if array.flags.writeable and array.size and not thread.modes.level:
        return tensor_on(np.asarray(array))
    return copy_of(array)


def _warn_of_writes(array: np.ndarray) -> None:
    if not array.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor. This type of warning will be suppressed for "
            "the rest of this program."
        )


def copy_of(array: np.ndarray) -> Tensor:
    """A new leaf with the elements of an array, laid out alike."""
    return target("from_numpy", {"device": "cpu"}, dtypes.from_numpy(array.dtype)).tensor(array.copy("K"))


@public("torch", asks="modes")
def asarray(
    obj: Any, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None, requires_grad: Any = None
) -> Tensor:
    """``obj`` as a tensor, as the array API has it.

    Args:
        obj: a tensor, an array, a buffer, a capsule of DLPack's, a number or nested sequences of numbers.
        dtype, device: of the result; those of ``obj`` if None.
        copy: whether to copy; None copies if need be, and False raises ValueError where a copy is needed. An array or
            a buffer that is not copied shares its memory with the tensor.
        requires_grad: of the result; None leaves a tensor as it is.

    Raises:
        ValueError, RuntimeError: ``copy=False``, and a copy is needed.

    >>> torch.asarray([1, 2], dtype=torch.float32)
    tensor([1., 2.])
    """
    if is_capsule(obj):
        obj = opened(obj)
    shown = _shown(obj, dtype, copy, bool(requires_grad))
    if shown is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return _requiring(constructed("asarray", obj, {"dtype": dtype, "device": device}), bool(requires_grad))
    if requires_grad is None:
        requires_grad = shown._spec.requires_grad
        if requires_grad:
            warn_once(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
                "requires_grad=False explicitly to get the old behavior and silence this warning."
            )
    where = shown.device if device is None else named_device("asarray", device)
    made = target("asarray", {"dtype": dtype}, shown.dtype)
    fits = where is shown.device and made.dtype is shown.dtype
    if copy and _is_scalar(obj):  # which is a copy already
        copy = False
    if copy or (copy is None and not fits):
        shown = shown.clone() if fits else shown.to(where, made.dtype, copy=bool(copy))
    else:
        _check_alias(shown, where, made.dtype)
    if not (requires_grad or shown.is_leaf):
        return shown.detach()
    return _requiring(shown, requires_grad)


def _requiring(made: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad and made.dtype.category < FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_(requires_grad) if requires_grad is not made._spec.requires_grad else made


def _is_scalar(obj: Any) -> bool:
    """Tell whether NumPy calls something a scalar: arrays without dimensions, too."""
    return isinstance(obj, np.generic) or (isinstance(obj, np.ndarray) and not obj.ndim)


def _shown(obj: Any, dtype: dtype | None, copy: bool | None, requires_grad: bool) -> Tensor | None:
    """The tensor on the memory of a tensor, an array or a buffer, or on a copy if it is to be copied; else None."""
    if isinstance(obj, Tensor):
        return obj
    if _is_scalar(obj):
        if copy is False and isinstance(obj, np.generic):
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
        return copy_of(checked_array(np.asarray(obj)))
    if isinstance(obj, np.ndarray):
        array = checked_array(obj)
        return copy_of(array) if copy or dtype not in (None, dtypes.from_numpy(array.dtype)) else shared_with(array)
    if _is_array(obj):
        return None
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtype or get_default_dtype(), requires_grad=requires_grad)


def _check_alias(shown: Tensor, where: Any, to: dtype) -> None:
    if where is not shown.device:
        raise ValueError(f"can't alias tensor from device '{shown.device}' to '{where}'.")
    if to is not shown.dtype:
        raise ValueError(f"can't alias tensor with dtype '{shown.dtype.scalar_name}' into dtype '{to.scalar_name}'.")


@public("torch", asks="nobody")
def from_numpy(ndarray: Any) -> Tensor:
    """The tensor on the memory of a NumPy array: writes to one side are seen on the other, and count no version.

    What autograd saves stays what it was, though the array is written to. An array that can't be written to is copied,
    with PyTorch's warning.

    Args:
        ndarray: an array of any shape, and of a dtype that tensors have.

    Raises:
        TypeError: no array, or a dtype that tensors don't have.
        ValueError: negative strides, such that are no whole number of elements, or swapped bytes.

    >>> import numpy as np, tapegrad as torch
    >>> a = np.zeros(3)
    >>> x = torch.from_numpy(a)
    >>> a[0] = 5
    >>> x.add_(1), a
    (tensor([6., 1., 1.], dtype=torch.float64), array([6., 1., 1.]))
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    return shared_with(checked_array(ndarray))


@public("torch", asks="modes")
def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: dtype | None = None,
    layout: Any = None, device: Any = None, pin_memory: bool | None = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The 1-dim tensor of the first ``size`` elements of a file.

    Args:
        filename: its path.
        shared: whether what is written to the tensor is written to the file, which is made, or made longer, if need be.
        size: how many elements.

    Raises:
        TypeError: ``filename`` is no string.
        RuntimeError: there is no such file, or it is too short.
        NotImplementedError: on ``meta``.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers")
    ...     _ = path.write_bytes(bytes([1, 2, 3]))
    ...     torch.from_file(str(path), size=2, dtype=torch.uint8)
    tensor([1, 2], dtype=torch.uint8)
    """
    if not isinstance(filename, str):
        raise TypeError(f"from_file(): argument 'filename' (position 1) must be str, not {type_name(filename)}")
    options: TensorOptions = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    made = target("from_file", options)
    if made.device is META:
        raise NotImplementedError("aten::from_file: there is no file behind Meta tensors")
    result = tensor_of_file(filename, bool(shared), size or 0, made.dtype).to(made.device)
    return result.requires_grad_() if requires_grad else result


@public("torch")
def frombuffer(buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """The 1-dim tensor of ``count`` elements (-1: all) found in a buffer after ``offset`` bytes, on its memory.

    A buffer that can't be written to is copied, with PyTorch's warning.

    Raises:
        ValueError: no buffer, or one that does not have that many elements.

    >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
    tensor([1, 2], dtype=torch.int16)
    """
    made = target("frombuffer", {"dtype": dtype})
    try:
        held = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if not held.c_contiguous:
        raise RuntimeError("could not retrieve buffer from object")
    length = held.nbytes
    if held.readonly:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can "
            "write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the "
            "buffer to protect its data or make it writable before converting it to a tensor. This type of warning "
            "will be suppressed for the rest of this program."
        )
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if count < 0 and (length - offset) % made.dtype.itemsize:
        raise ValueError(
            f"buffer length ({length} bytes) after offset ({offset} bytes) must be a multiple of element size "
            f"({made.dtype.itemsize})"
        )
    array = np.frombuffer(buffer, made.dtype.numpy, count, offset)
    shared = array.flags.writeable and array.size and not thread.modes.level
    return _requiring(tensor_on(array) if shared else made.tensor(array.copy()), requires_grad)


@public("torch")
def scalar_tensor(s: Any, **options: Unpack[TensorOptions]) -> Tensor:
    """The 0-dim tensor of a number, of the default dtype if none is given.

    Args:
        s: the number.

    Raises:
        TypeError: ``s`` is no number.
    """
    if isinstance(s, Tensor) and s.ndim == 0:
        s = s.item()
    if not isinstance(s, (*_SCALARS, np.generic)):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type_name(s)}")
    made = target("scalar_tensor", options)
    return made.full((), element(python_number(s), made.dtype))

"""The common part of functions that make tensors: read the options, check the size, wrap the value."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np

from tapegrad._src.bindings.declaration.scalars import python_number
from tapegrad._src.execution.array_functions.host import committed, filled, from_host, may_look, resolve
from tapegrad._src.execution.array_functions.layouts import own_layout
from tapegrad._src.execution.data.devices import device, get_default_device
from tapegrad._src.execution.data.dtypes import COMPLEX, FLOATING, complex32, dtype, get_default_dtype, require_dtype
from tapegrad._src.execution.data.sizes import SYMBOL
from tapegrad._src.execution.data.values import known_array
from tapegrad._src.execution.recording.capturing import is_dynamic
from tapegrad._src.tensor.geometry import is_dense
from tapegrad._src.tensor.layout import layout, strided
from tapegrad._src.tensor.lifted import fresh, fresh_examples, mapping, sizes_of
from tapegrad._src.tensor.spec import Spec, named_strides
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.errors import ComplexHalfError
from tapegrad.ops import assignment

OPTIONS = (
    "torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool "
    "requires_grad = False"
)
"""The options that every factory takes, as PyTorch's messages spell them."""


class TensorOptions(TypedDict, total=False):
    """The keywords of factories: the dtype, the layout, the device, whether to pin memory, whether to require grad."""

    dtype: dtype | None
    layout: layout | None
    device: Any
    pin_memory: bool | None
    requires_grad: bool | None
    memory_format: Any


class Target(NamedTuple):
    """The dtype, device and flags that the options of a factory come to."""

    dtype: dtype
    device: device
    requires_grad: bool

    def spec(self, shape: Sequence[int]) -> Spec:
        """The spec of a new leaf of a shape."""
        return Spec.of(tuple(shape), self.dtype, self.device, self.requires_grad)

    def room(self, *shape: int) -> None:
        """Refuse a shape that is too large, before its elements are computed."""
        self.spec(shape)

    def wrap(self, value: Any) -> Tensor:
        """A new leaf around a value of this dtype on this device."""
        return fresh(value, self.spec(value.shape))

    def tensor(self, array: np.ndarray) -> Tensor:
        """A new leaf with the elements of an array, in its order; it must not be written to afterwards."""
        made = self.wrap(from_host(cast_array(array, self.dtype), self.device))
        if not array.flags.c_contiguous:
            strides = tuple(stride // array.itemsize for stride in array.strides)
            if is_dense(array.shape, strides):
                made._spec = made._spec.replace(strides=named_strides(array.shape, strides))
        return made

    def full(self, shape: tuple[int, ...], number: Any, like: Tensor | None = None) -> Tensor:
        """A new leaf whose every element is ``number``; if it is to be ``like`` an example of a ``vmap``, another."""
        levels = mapping(like) if like is not None and like._spec.level else ()
        spec = self.spec(shape)
        if is_dynamic(number) and not (self.requires_grad or levels):
            return assignment.fill_number(self.full(shape, 0), number)
        value = filled((*sizes_of(levels), *shape), number, self.dtype, self.device)
        return fresh_examples(value, spec, levels)


def target(
    function: str, options: Mapping[str, Any], default: dtype | None = None, on: device | None = None,
    like: bool = False,
) -> Target:  # fmt: skip
    """Read the options of ``function``, where ``default`` and ``on`` are the dtype and the device if none is given.
    Raises TypeError: an option that there is not, or of the wrong type. RuntimeError: ``requires_grad`` for a dtype
    that can't.
    """
    _check_options(function, options, like)
    given = options.get("dtype")
    d = (default or get_default_dtype()) if given is None else named_dtype(function, given)
    if d is complex32:
        raise ComplexHalfError(function)
    where = options.get("device")
    located = resolve(on or get_default_device()) if where is None else named_device(function, where)
    requires_grad = bool(options.get("requires_grad"))
    if requires_grad and d.category < FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return Target(d, located, requires_grad)


def device_like(tensor: Tensor, shape: tuple[int, ...] | None = None) -> device:
    """The place of something made like a tensor: on a mesh in the layout of its value, as far as that is known.

    Not where it has another ``shape``: that is on each device.
    """
    on = tensor._spec.device
    if shape is not None and shape != tensor._spec.shape:
        return on
    return own_layout(known_array(value_of(tensor)), on) if on.sharded and may_look() else on


def _check_options(function: str, options: Mapping[str, Any], like: bool) -> None:
    for name, value in options.items():
        if name not in TensorOptions.__annotations__ or (name == "memory_format" and not like):
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
        if name in ("requires_grad", "pin_memory") and value is not None and not isinstance(value, bool):
            raise TypeError(f"{function}(): argument '{name}' must be bool, not {type_name(value)}")
    if options.get("layout") not in (None, strided):
        raise NotImplementedError(f"{function}(): only strided tensors are made by it here, not "
                                  f"{options['layout']}: torch.sparse_coo_tensor(size) makes an empty one")
    if options.get("pin_memory") and not committed():
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on "
            "this system."
        )


def named_dtype(function: str, given: Any) -> dtype:
    """The dtype given to a function, Python's ``float`` meaning float64.
    Raises TypeError: PyTorch's message, for anything else. ComplexHalfError: it is complex32.
    """
    try:
        named = require_dtype(given, function, "dtype", 1)
    except TypeError:
        raise TypeError(f"{function}(): argument 'dtype' must be torch.dtype, not {type(given).__name__}") from None
    if named is complex32:
        raise ComplexHalfError(function)
    return named


def named_device(function: str, given: Any) -> device:
    """The device given to a function by a ``device``, a string or an accelerator's index."""
    if not isinstance(given, (str, int, device)) or isinstance(given, bool):
        raise TypeError(f"{function}(): argument 'device' must be torch.device, not {type_name(given)}")
    return resolve(device(given))


def type_name(value: Any) -> str:
    """The name of the type of an argument in PyTorch's messages."""
    cls = type(value)
    if isinstance(value, (dtype, device)):
        return f"torch.{cls.__name__}"
    return f"numpy.{cls.__name__}" if cls.__module__ == "numpy" else cls.__name__


def no_overload(
    function: str, args: Sequence[Any], keywords: Mapping[str, Any], signatures: Sequence[str]
) -> TypeError:
    """PyTorch's error for arguments that fit none of a function's overloads."""
    named = [f"{name}={type_name(value)}" for name, value in keywords.items()]
    got = ", ".join([*map(type_name, args), *named]) + (", " if named and not args else "")
    expected = "".join(f" * ({signature})\n" for signature in signatures)
    return TypeError(
        f"{function}() received an invalid combination of arguments - got ({got}), but expected one of:\n{expected}"
    )


def size_of_arguments(function: str, args: tuple, options: Any) -> tuple[int, ...]:
    """The size given as ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``; ``size`` is taken out of the options.
    Raises TypeError: PyTorch's messages, if there is none or it has something else than integers. RuntimeError: a
    negative length.
    """
    if "size" in options:
        if args:
            raise TypeError(f"{function}() got multiple values for argument 'size'")
        args = (options.pop("size"),)
    if not args:
        raise TypeError(f'{function}() missing 1 required positional arguments: "size"')
    if isinstance(args[0], (tuple, list)):
        if len(args) > 1:
            raise TypeError(f"{function}() takes 1 positional argument but {len(args)} were given")
        args = tuple(args[0])
    elif not is_integer(args[0]):
        raise TypeError(f"{function}(): argument 'size' (position 1) must be tuple of ints, not {type_name(args[0])}")
    return checked_size(function, args)


def checked_size(function: str, size: Any, position: int = 1) -> tuple[int, ...]:
    """A size as a tuple of non-negative ints. Raises TypeError, RuntimeError: PyTorch's messages."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"{function}(): argument 'size' (position {position}) must be tuple of ints, not {type_name(size)}"
        )
    lengths = []
    for number, length in enumerate(size, 1):
        if not isinstance(length, int) and not is_integer(length):
            raise TypeError(
                f"{function}(): argument 'size' failed to unpack the object at pos {number} with error "
                f'"type must be tuple of ints,but got {type_name(length)}"'
            )
        lengths.append(length if type(length) is SYMBOL else operator.index(length))
    for length in lengths:
        if length < 0 and function == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        if length < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {lengths}")
    return tuple(lengths)


def is_integer(value: Any) -> bool:
    """Tell whether a value is an integer that is no truth value: Python's, NumPy's, a one-element integral tensor, or
    an object of the program's that has ``__index__``."""
    if isinstance(value, Tensor):
        return value.dtype.category == 1 and value._spec.numel == 1
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iu"
    if isinstance(value, (int, np.integer, SYMBOL)):
        return not isinstance(value, bool)
    return hasattr(type(value), "__index__") and not isinstance(value, np.generic)  # np.bool_ has one


def whole(value: Any) -> Any:
    """The int of what is an integer, and anything else as it is.

    >>> whole(np.int32(3)), whole(2.0), whole(True)
    (3, 2.0, True)
    """
    plain = isinstance(value, (int, SYMBOL)) or not is_integer(value)
    return value if plain else operator.index(value)


def cast_array(array: np.ndarray, to: dtype) -> np.ndarray:
    """An array with the elements of another dtype, as PyTorch converts them.

    The halves are reached through float32; a complex number loses its imaginary part.
    """
    if array.dtype == to.numpy:
        return array
    if array.dtype.kind == "c" and to.category not in (0, COMPLEX):
        array = array.real
    with np.errstate(over="ignore", invalid="ignore"):
        if array.dtype == np.float64 and to.category == FLOATING and to.itemsize < 4:
            array = array.astype(np.float32)
        if array.dtype.kind not in "biuc" and to.category == 1 and to.itemsize < 4:
            array = array.astype(np.int32)
        return array.astype(to.numpy)


def filling(function: str, value: Any, position: int = 2) -> Any:
    """The number given as ``fill_value``: a number, or a 0-dim tensor that does not require grad.
    Raises TypeError: PyTorch's message, for anything else.
    """
    if isinstance(value, Tensor) and value.ndim == 0 and not value._spec.requires_grad:
        return value.item()
    if isinstance(value, (int, float, complex, np.generic)):
        return python_number(value)
    raise TypeError(f"{function}(): argument 'fill_value' (position {position}) must be Number, not {type_name(value)}")

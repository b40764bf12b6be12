"""Element types: PyTorch's `dtype` objects, their limits, and the default one.

A `dtype` is a singleton that carries everything the other rooms ask about an element type, worked out once.

>>> float32, float32.itemsize, bfloat16.to_complex()
(torch.float32, 4, torch.complex64)
>>> as_dtype(np.dtype("int16")) is short
True

PyTorch's names `bool`, `int` and `float` are dtypes in this module; Python's own are reached through `builtins`.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn, Self

import ml_dtypes
import numpy as np

from tapegrad._src.doors import Door
from tapegrad.errors import message

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)  # the values of `dtype.category`, in the order of promotion


class dtype:
    """The type of a tensor's elements. Instances are singletons: compare them with `is` or `==`.

    Beside PyTorch's attributes: `name` ("float32"), `scalar_name` (what PyTorch's messages call it: "Float"),
    `numpy` (the `np.dtype`), `category` (0 bool, 1 integral, 2 floating, 3 complex) and `is_64bit` (whether kernels
    that touch it must be traced under `jax.enable_x64`).

    >>> float64.is_64bit, float64.numpy, float64.category
    (True, dtype('float64'), 2)
    """

    __module__ = "tapegrad"
    __slots__ = (
        "_complex", "_real", "category", "is_64bit", "is_complex", "is_floating_point", "is_signed", "itemsize",
        "name", "numpy", "scalar_name",
    )  # fmt: skip

    name: str
    scalar_name: str
    numpy: np.dtype
    category: builtins.int
    itemsize: builtins.int
    is_64bit: builtins.bool
    is_floating_point: builtins.bool
    is_complex: builtins.bool
    is_signed: builtins.bool
    _real: dtype
    _complex: dtype | None

    def __new__(cls) -> Self:
        raise TypeError("cannot create 'torch.dtype' instances")

    @property
    def abbr(self) -> str:
        """The name as logs have it: ``f32``, ``i64``, ``b8``.

        >>> float32.abbr, bfloat16.abbr, bool.abbr
        ('f32', 'bf16', 'b8')
        """
        short = re.sub("uint|int|float|complex", lambda match: match[0][0], self.name)
        return short.replace("bool", "b8").replace("_", "")

    def to_real(self) -> dtype:
        """The dtype of a complex type's parts; any other dtype is its own."""
        return self._real

    def to_complex(self) -> dtype:
        """The complex dtype whose parts hold this one.

        Raises:
            RuntimeError: there is none.
        """
        if self._complex is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.scalar_name}")
        return self._complex

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"attribute '{name}' of 'torch.dtype' objects is not writable")

    def __reduce__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return "torch." + self.name


def _fill(instance: dtype, **attributes: object) -> None:
    for name, value in attributes.items():
        object.__setattr__(instance, name, value)


def _declare(name: str, scalar_name: str, category: builtins.int, numpy_type: object) -> dtype:
    new = object.__new__(dtype)
    numpy = np.dtype(numpy_type)  # type: ignore[call-overload]
    _fill(
        new,
        name=name,
        scalar_name=scalar_name,
        numpy=numpy,
        category=category,
        itemsize=numpy.itemsize,
        is_64bit=name in ("int64", "uint64", "float64", "complex128"),
        is_floating_point=category == FLOATING,
        is_complex=category == COMPLEX,
        is_signed=category >= FLOATING or numpy.kind == "i",
        _real=new,
        _complex=new if category == COMPLEX else None,
    )
    return new


bool = _declare("bool", "Bool", BOOL, np.bool_)
uint8 = _declare("uint8", "Byte", INTEGRAL, np.uint8)
int8 = _declare("int8", "Char", INTEGRAL, np.int8)
int16 = short = _declare("int16", "Short", INTEGRAL, np.int16)
int32 = int = _declare("int32", "Int", INTEGRAL, np.int32)
int64 = long = _declare("int64", "Long", INTEGRAL, np.int64)
uint16 = _declare("uint16", "UInt16", INTEGRAL, np.uint16)
uint32 = _declare("uint32", "UInt32", INTEGRAL, np.uint32)
uint64 = _declare("uint64", "UInt64", INTEGRAL, np.uint64)
float16 = half = _declare("float16", "Half", FLOATING, np.float16)
bfloat16 = _declare("bfloat16", "BFloat16", FLOATING, ml_dtypes.bfloat16)
float32 = float = _declare("float32", "Float", FLOATING, np.float32)
float64 = double = _declare("float64", "Double", FLOATING, np.float64)
# complex32 exists by name: JAX has no arrays of it. NumPy's nearest is a pair of halves.
complex32 = chalf = _declare("complex32", "ComplexHalf", COMPLEX, [("real", np.float16), ("imag", np.float16)])
complex64 = cfloat = _declare("complex64", "ComplexFloat", COMPLEX, np.complex64)
complex128 = cdouble = _declare("complex128", "ComplexDouble", COMPLEX, np.complex128)
float8_e4m3fn = _declare("float8_e4m3fn", "Float8_e4m3fn", FLOATING, ml_dtypes.float8_e4m3fn)
float8_e5m2 = _declare("float8_e5m2", "Float8_e5m2", FLOATING, ml_dtypes.float8_e5m2)
float8_e4m3fnuz = _declare("float8_e4m3fnuz", "Float8_e4m3fnuz", FLOATING, ml_dtypes.float8_e4m3fnuz)
float8_e5m2fnuz = _declare("float8_e5m2fnuz", "Float8_e5m2fnuz", FLOATING, ml_dtypes.float8_e5m2fnuz)

_fill(float16, _complex=complex32)
_fill(bfloat16, _complex=complex64)
_fill(float32, _complex=complex64)
_fill(float64, _complex=complex128)
_fill(complex32, _real=float16)
_fill(complex64, _real=float32)
_fill(complex128, _real=float64)

ALL_DTYPES: tuple[dtype, ...] = tuple(dict.fromkeys(d for d in list(globals().values()) if isinstance(d, dtype)))
_FROM_NUMPY: dict[np.dtype, dtype] = {d.numpy: d for d in ALL_DTYPES if d is not complex32}


def from_numpy(np_dtype: np.dtype) -> dtype:
    """The dtype of arrays of `np_dtype`; TypeError if PyTorch has none, ValueError if its bytes are swapped.

    >>> from_numpy(np.arange(3).dtype)
    torch.int64
    """
    known = _FROM_NUMPY.get(np_dtype)
    return known if known is not None else _refuse_numpy(np_dtype)


def canonical(array: np.ndarray) -> np.ndarray:
    """The array with the one object that NumPy has of its dtype: what is unpickled brings another, which is equal.

    >>> import pickle
    >>> unpickled = pickle.loads(pickle.dumps(np.arange(3)))
    >>> unpickled.dtype is np.dtype(np.int64), canonical(unpickled).dtype is np.dtype(np.int64)
    (False, True)
    """
    known = _FROM_NUMPY.get(array.dtype)
    return array if known is None or known.numpy is array.dtype else array.view(known.numpy)


def _refuse_numpy(np_dtype: np.dtype) -> NoReturn:
    if not np_dtype.isnative and np_dtype.newbyteorder() in _FROM_NUMPY:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    raise TypeError(
        f"can't convert np.ndarray of type {np_dtype.type.__module__}.{np_dtype.type.__name__}. The only supported "
        "types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, "
        "uint16, uint8, and bool."
    )


def as_dtype(x: object) -> dtype:
    """`x` as a dtype: one already, or something NumPy reads as one (`np.dtype`, `np.float32`, `jnp.float32`, Python's
    `float`); TypeError for anything else, strings and None included.

    >>> as_dtype(np.float16), as_dtype(builtins.float)
    (torch.float16, torch.float64)
    """
    if isinstance(x, dtype):
        return x
    if isinstance(x, (np.dtype, type)):
        return from_numpy(np.dtype(x))
    raise TypeError(message("not a dtype", expected="a torch.dtype or a numpy.dtype", got=repr(x)))


_PYTHON_TYPES: dict[object, dtype] = {
    builtins.bool: bool,
    builtins.int: int64,
    builtins.float: float64,
    builtins.complex: complex128,
}


def require_dtype(x: object, function: str, argument: str, position: builtins.int) -> dtype:
    """`x` where an argument must be a dtype; else PyTorch's TypeError. Python's `float` stands for float64, and so on.

    >>> require_dtype("float32", "iinfo", "type", 1)
    Traceback (most recent call last):
    TypeError: iinfo(): argument 'type' (position 1) must be torch.dtype, not str
    """
    if isinstance(x, dtype):
        return x
    if isinstance(x, type) and x in _PYTHON_TYPES:
        return _PYTHON_TYPES[x]
    raise TypeError(
        f"{function}(): argument '{argument}' (position {position}) must be torch.dtype, not {type(x).__name__}"
    )


# The default dtype -------------------------------------------------------------------------------------------------

_default_dtype = float32
default_dtype_listener: Door[Callable[[], None]] = Door("default_dtype_listener", filled_by="ops/operator.py")
"""Called after a change: what was planned before is stale."""


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats: float32 until `set_default_dtype`."""
    return _default_dtype


def set_default_dtype(d: dtype, /) -> None:
    """Make `d` (float16, bfloat16, float32 or float64) the default; TypeError for any other.

    Raises:
        TypeError: any other dtype; what is no dtype.

    >>> set_default_dtype(float64); get_default_dtype()
    torch.float64
    >>> set_default_dtype(float32)
    """
    global _default_dtype
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if d.itemsize == 1:
        raise TypeError(f"couldn't find storage object {d.scalar_name}Storage")
    if d is not _default_dtype:
        _default_dtype = d
        default_dtype_listener.content()


# Limits ------------------------------------------------------------------------------------------------------------



@cache
def _float_limits(d: dtype) -> dict[str, builtins.float]:
    info = ml_dtypes.finfo(d.numpy)
    limits = {name: builtins.float(getattr(info, name)) for name in ("eps", "max", "min", "tiny", "smallest_normal")}
    limits["resolution"] = builtins.float(f"1e-{math.floor(info.nmant * math.log10(2))}")
    if d is float8_e5m2fnuz:
        limits["eps"] = 0.125  # PyTorch's number; a mantissa of two bits would give 0.25
    return limits


class finfo:
    """Limits of a floating point dtype (of a complex dtype's parts; of the default dtype if none is given).

    TypeError for an integral dtype.

    Args:
        type: the dtype.

    Raises:
        TypeError: an integral dtype.

    >>> finfo(bfloat16).eps, finfo().dtype
    (0.0078125, 'float32')
    """

    __module__ = "tapegrad"
    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")
    __hash__ = None  # type: ignore[assignment]

    bits: builtins.int
    dtype: str
    eps: builtins.float
    max: builtins.float
    min: builtins.float
    resolution: builtins.float
    smallest_normal: builtins.float
    tiny: builtins.float

    def __init__(self, type: object = ...) -> None:
        given = _default_dtype if type is ... else require_dtype(type, "finfo", "type", 1)
        real = given.to_real()
        if not real.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        self.bits = 8 * real.itemsize
        self.dtype = real.name
        for name, value in _float_limits(real).items():
            setattr(self, name, value)

    def __eq__(self, other: object) -> builtins.bool:
        return self.dtype == other.dtype if isinstance(other, finfo) else NotImplemented

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integral dtype; TypeError for any other, bool included.

    Args:
        type: the dtype.

    Raises:
        TypeError: any other dtype.

    >>> iinfo(int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __module__ = "tapegrad"
    __slots__ = ("bits", "dtype", "max", "min")
    __hash__ = None  # type: ignore[assignment]

    bits: builtins.int
    dtype: str
    max: builtins.int
    min: builtins.int

    def __init__(self, type: object) -> None:
        given = require_dtype(type, "iinfo", "type", 1)
        if given.category >= FLOATING:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if given is bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        info = np.iinfo(given.numpy)
        self.bits = 8 * given.itemsize
        self.dtype = given.name
        self.max = builtins.int(info.max)
        self.min = builtins.int(info.min)

    def __eq__(self, other: object) -> builtins.bool:
        return self.dtype == other.dtype if isinstance(other, iinfo) else NotImplemented

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def _element_size(dtype: Any) -> builtins.int:
    """The size of an element in bytes.

    Raises:
        RuntimeError: no dtype.
    """
    if not isinstance(dtype, dtype_class):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize


dtype_class = dtype

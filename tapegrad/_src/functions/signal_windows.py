"""Windows: ``torch.hann_window`` and its relatives, by default periodic, and ``torch.signal.windows``, symmetric.

The older ones are computed on the host in float64. Those of ``torch.signal.windows`` are programs on tensors, as in
PyTorch, where with ``requires_grad`` they have a history.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypedDict, Unpack

import numpy as np

from tapegrad._src.bindings.declaration.factory import OPTIONS, is_integer, no_overload, target, type_name
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import is_number, unsupported
from tapegrad._src.execution.data.dtypes import COMPLEX, FLOATING, dtype, float32, float64, get_default_dtype
from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.creation import arange, empty, linspace, ones
from tapegrad._src.tensor.layout import strided
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import arithmetic, reductions, shape, special, unary
from tapegrad.ops.checks import cpp_name

# -- torch.hann_window and its relatives -------------------------------------------------------------------------------


def _raised_cosine(turns: np.ndarray, alpha: float = 0.54, beta: float = 0.46) -> np.ndarray:
    return alpha - beta * np.cos(2 * math.pi * turns)


def _hann(turns: np.ndarray) -> np.ndarray:
    return _raised_cosine(turns, 0.5, 0.5)


def _bartlett(turns: np.ndarray) -> np.ndarray:
    return 1 - np.abs(2 * turns - 1)


def _blackman(turns: np.ndarray) -> np.ndarray:
    return 0.42 - 0.5 * np.cos(2 * math.pi * turns) + 0.08 * np.cos(4 * math.pi * turns)


def _kaiser(turns: np.ndarray, beta: float = 12.0) -> np.ndarray:
    return np.i0(beta * np.sqrt(np.maximum(1 - (2 * turns - 1) ** 2, 0))) / np.i0(beta)


def _made(function: str, length: int, options: Any) -> Any:
    """The options of the tensor that the window goes to, checked."""
    made = target(function, options)
    if made.dtype.category < FLOATING:
        raise RuntimeError(
            f"{function} expects floating point dtypes, got: TensorOptions(dtype={cpp_name(made.dtype)}, "
            f"device={made.device}, layout=Strided (default), requires_grad=false (default), pinned_memory=false, "
            "memory_format=(nullopt))"
        )
    if length < 0:
        raise RuntimeError(f"{function} requires non-negative window_length, got window_length={length}")
    if made.dtype.category == COMPLEX:
        raise unsupported("arange_cpu", made.dtype)
    return made


def _read(function: str, args: tuple, options: dict, extras: tuple[str, ...]) -> tuple[int, bool, list[float]]:
    """The length, whether the window is periodic, and the shape's numbers; they are taken out of the options."""
    names = ("window_length", "periodic", *extras)
    given = dict(zip(names, args, strict=False)) | {name: options.pop(name) for name in names if name in options}
    numbers = [given[name] for name in extras if name in given]
    wrong = len(args) > len(names) or list(given) != list(names[: len(given)]) or "window_length" not in given
    if wrong or type(given.get("periodic", True)) is not bool or not all(map(is_number, numbers)) or "out" in options:
        kinds = ["int window_length", "bool periodic", *[f"float {name}" for name in extras]]
        signatures = [f"{', '.join(kinds[:count])}, *, {OPTIONS}" for count in range(1, len(kinds) + 1)]
        keywords = {name: value for name, value in given.items() if name not in names[: len(args)]} | options
        raise no_overload(function, args, keywords, signatures)
    length = given["window_length"]
    if not is_integer(length):
        raise TypeError(f"{function}(): argument 'window_length' (position 1) must be int, not {type_name(length)}")
    return int(length), given.get("periodic", True), [float(number) for number in numbers]


def _declare(function: str, formula: Callable[..., np.ndarray], *extras: str) -> None:
    def window(*args: Any, **options: Any) -> Tensor:
        length, periodic, numbers = _read(function, args, options, extras)
        made = _made(function, length, options)
        if length <= 1:
            return made.full((length,), 1)
        made.room(length + bool(periodic))
        turns = np.arange(length) / (length if periodic else length - 1)
        return made.tensor(formula(turns, *numbers))

    window.__name__ = function
    more = "".join(f", {name}" for name in extras)
    window.__doc__ = f"""A window: ``{function}(window_length, periodic=True{more})``, a vector.

    A periodic one is the symmetric one of a length that is one more, without its last number. ``torch.signal.windows``
    says what its numbers are.

    Raises:
        TypeError: a length that is no int.
        RuntimeError: a negative length, a dtype that is not floating.

    >>> torch.{function}(5, periodic=False)[2], torch.{function}(4).shape
    (tensor(1.), torch.Size([4]))
    """
    public("torch")(window)


_declare("hann_window", _hann)
_declare("hamming_window", _raised_cosine, "alpha", "beta")
_declare("bartlett_window", _bartlett)
_declare("blackman_window", _blackman)
_declare("kaiser_window", _kaiser, "beta")


# -- torch.signal.windows ----------------------------------------------------------------------------------------------


class WindowOptions(TypedDict, total=False):
    """The keywords of windows: of the dtypes only float32 and float64, of the layouts only the strided one."""

    dtype: dtype | None
    layout: Any
    device: Any
    requires_grad: bool


def _options(function: str, M: Any, options: Any) -> dict[str, Any]:
    """The options, checked and complete."""
    unknown = set(options) - set(WindowOptions.__annotations__)
    if unknown:
        raise TypeError(f"{function}() got an unexpected keyword argument '{min(unknown)}'")
    chosen = options.get("dtype") or get_default_dtype()
    if M < 0:
        raise ValueError(f"{function} requires non-negative window length, got M={M}")
    if options.get("layout", strided) is not strided:
        raise ValueError(f"{function} is implemented for strided tensors only, got: {options['layout']}")
    if chosen not in (float32, float64):
        raise ValueError(f"{function} expects float32 or float64 dtypes, got: {chosen}")
    return {**options, "dtype": chosen}


def _periods(M: int, sym: bool) -> int:
    """The number of steps of the window's period."""
    return M if not sym and M > 1 else M - 1


def _line(M: int, start: float, step: float, options: dict[str, Any]) -> Tensor:
    return linspace(start, start + (M - 1) * step, M, **options)


@public("signal.windows")
def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Unpack[WindowOptions]
) -> Tensor:
    """``exp(-|n - center| / tau)``.

    Raises:
        ValueError: ``tau`` is not positive, or a symmetric window has a ``center``.
    """
    made = _options("exponential", M, options)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return empty(0, **made)
    middle = _periods(M, sym) / 2 if center is None else center
    return unary.exp(unary.neg(unary.abs(_line(M, -middle / tau, 1 / tau, made))))


@public("signal.windows")
def cosine(M: int, *, sym: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """``sin(pi (n + 1/2) / M)``."""
    made = _options("cosine", M, options)
    if M == 0:
        return empty(0, **made)
    step = math.pi / (_periods(M, sym) + 1)
    return unary.sin(_line(M, step / 2, step, made))


@public("signal.windows")
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """``exp(-(n - c)^2 / (2 std^2))`` around the middle ``c``.

    Raises:
        ValueError: ``std`` is not positive.
    """
    made = _options("gaussian", M, options)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return empty(0, **made)
    step = 1 / (std * math.sqrt(2))
    k = _line(M, -_periods(M, sym) / 2 * step, step, made)
    return unary.exp(unary.neg(unary.power(k, exponent=2)))


@public("signal.windows")
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """``i0(beta sqrt(1 - x^2)) / i0(beta)``, where ``x`` goes from -1 to 1.

    Raises:
        ValueError: ``beta`` is negative.
    """
    made = _options("kaiser", M, options)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return (ones if M else empty)(M, **made)
    end = min(beta, -beta + (M - 1) * 2 * beta / _periods(M, sym))
    k = linspace(-beta, end, M, **made)
    largest = tensor(beta, dtype=made["dtype"], device=made.get("device"))
    rest = unary.sqrt(arithmetic.mul(largest, largest) - unary.power(k, exponent=2))
    return arithmetic.div(special.i0(rest), special.i0(largest))


@public("signal.windows")
def bartlett(M: int, *, sym: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """``1 - |x|``, where ``x`` goes from -1 to 1."""
    made = _options("bartlett", M, options)
    if M < 2:
        return (ones if M else empty)(M, **made)
    return 1 - unary.abs(_line(M, -1, 2 / _periods(M, sym), made))


@public("signal.windows")
def general_cosine(M: int, *, a: Iterable, sym: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """The sum of ``(-1)^i a_i cos(2 pi i n / (M - 1))``.

    Raises:
        TypeError: ``a`` is no list or tuple.
        ValueError: ``a`` is empty.

    >>> torch.signal.windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    made = _options("general_cosine", M, options)
    if M < 2:
        return (ones if M else empty)(M, **made)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    k = _line(M, 0, 2 * math.pi / _periods(M, sym), made)
    rest = {name: value for name, value in made.items() if name != "layout"}
    weights = tensor([(-1) ** i * weight for i, weight in enumerate(a)], **rest)
    orders = arange(len(weights), **made)
    waves = unary.cos(arithmetic.mul(shape.unsqueeze(orders, axis=1), k))
    return reductions.sum(arithmetic.mul(shape.unsqueeze(weights, axis=1), waves), axis=(0,))


@public("signal.windows")
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """``alpha - (1 - alpha) cos(2 pi n / (M - 1))``."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


@public("signal.windows")
def hamming(M: int, *, sym: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """``0.54 - 0.46 cos(2 pi n / (M - 1))``."""
    return general_hamming(M, sym=sym, **options)


@public("signal.windows")
def hann(M: int, *, sym: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """``sin(pi n / (M - 1))^2``."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


@public("signal.windows")
def blackman(M: int, *, sym: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """``0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1))``."""
    _options("blackman", M, options)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


@public("signal.windows")
def nuttall(M: int, *, sym: bool = True, **options: Unpack[WindowOptions]) -> Tensor:
    """Nuttall's minimum four-term Blackman-Harris window."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)

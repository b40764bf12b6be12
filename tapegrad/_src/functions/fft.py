"""``torch.fft``: discrete Fourier transforms of complex, real and Hermitian signals, shifts and frequencies.

Note [Which transform]
Three operators do everything: complex to complex, real to complex, half complex to real. As in PyTorch a real input of
a one-dimensional transform is not made complex first, and its backward transform is the conjugate of the forward one.

Note [How transforms lie in memory]
PyTorch's kernel for CPUs puts the dimensions that it doesn't transform first, as they lie in the input, and behind them
those that it does, whose order is also that of the input but for the last one of a real signal. What it gives is a
block of memory in this order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.declarations import OTHER_DTYPE, Out
from tapegrad._src.bindings.declaration.factory import TensorOptions, checked_size, is_integer, target, type_name
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import is_number, unsupported
from tapegrad._src.bindings.layouts import both_laid_out
from tapegrad._src.execution.data.dtypes import COMPLEX, FLOATING, dtype, get_default_dtype
from tapegrad._src.functions.arrangement import roll
from tapegrad._src.functions.creation import COUNTED
from tapegrad._src.functions.retyping import conj
from tapegrad._src.functions.slicing import sliced
from tapegrad._src.tensor.geometry import Ints
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import arrangement, unary
from tapegrad.ops import fft as ops
from tapegrad.ops.kinds import cast

# -- what all of them check --------------------------------------------------------------------------------------------


def promoted(input: Tensor, complex: bool) -> Tensor:
    """``input`` in a dtype that can be transformed: integers as floats, real numbers as complex ones if asked for.
    Raises RuntimeError: the halves.
    """
    d = input.dtype if input.dtype.category >= FLOATING else get_default_dtype()
    if d.category == FLOATING and d.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {d.scalar_name}")
    d = d.to_complex() if complex else d
    return input if d is input.dtype else cast(input, dtype=d)


def normalization(function: str, norm: Any, forward: bool) -> int:
    """Which factor a transform has: 0 is none, 1 is ``1 / sqrt(n)``, 2 is ``1 / n``."""
    if norm is not None and not isinstance(norm, str):
        raise TypeError(f"fft_{function}(): argument 'norm' must be str, not {type_name(norm)}")
    modes = {None: 0 if forward else 2, "backward": 0 if forward else 2, "forward": 2 if forward else 0, "ortho": 1}
    if norm not in modes:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return modes[norm]


def one_axis(function: str, input: Tensor, dim: Any) -> int:
    """The dimension of a one-dimensional transform."""
    if not is_integer(dim):
        raise TypeError(f"fft_{function}(): argument 'dim' must be int, not {type_name(dim)}")
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, input.ndim)


def several_axes(dims: tuple[int, ...], input: Tensor) -> tuple[int, ...]:
    """The dimensions of a transform."""
    if dims and input.ndim == 0:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return tuple(wrap_dim(dim, input.ndim) for dim in dims)


def points(count: int) -> int:
    """The length of a transform, checked."""
    if count < 1:
        raise RuntimeError(f"Invalid number of data points ({count}) specified")
    return count


def given_points(function: str, n: Any) -> int | None:
    """The length given as ``n``."""
    if n is not None and not is_integer(n):
        raise TypeError(f"fft_{function}(): argument 'n' (position 2) must be int, not {type_name(n)}")
    return n


def resized(input: Tensor, axes: tuple[int, ...], lengths: tuple[int, ...]) -> Tensor:
    """``input`` with zeros behind it, or its first items only, along some dimensions."""
    shape = tuple(input._spec.shape)
    if [shape[axis] for axis in axes] == [*lengths]:
        return input
    widths = [(0, 0)] * input.ndim
    for axis, length in zip(axes, lengths, strict=True):
        if length < input.shape[axis]:
            input = sliced(input, axis, 0, length)
        widths[axis] = (0, length - input.shape[axis])
    return arrangement.constant_pad(input, 0, widths=tuple(widths)) if any(map(any, widths)) else input


def into(name: str, real: bool = False, exact: Callable[[Tensor], bool] = lambda input: False) -> Out:
    """The particulars of ``out=`` of a transform, which messages call ``name``.

    Args:
        real: whether it gives real numbers, which go into a target of real ones, of any width; others go into others.
        exact: whether what it gives for an input goes into a target of its very dtype only.
    """
    kind, category = ("floating point", FLOATING) if real else ("complex", COMPLEX)

    def said(arguments: tuple, target: dtype) -> str | None:
        if target.category != category:
            return f"{name} expects a {kind} output tensor, but got {{O}}"
        return OTHER_DTYPE if exact(arguments[0]) else None

    called = "_fft_c2r" if real else "_fft_r2c" if name.startswith("rfft") else "_fft_c2c"
    return Out(said, called=called, resizes=True, rows=True)


# -- where the result lies ---------------------------------------------------------------------------------------------


def strides_behind(shape: Ints, lies: Ints, axes: Sequence[int], last: int | None = None) -> Ints:
    """The strides of a transform along ``axes``, and then along the ``last`` one, of what ``lies`` so.

    See Note [How transforms lie in memory].

    >>> strides_behind((2, 3, 4), (12, 4, 1), (0, 1))
    (3, 1, 6)
    """
    others = [axis for axis in range(len(shape)) if axis not in axes and axis != last]
    order = [axis for group in (others, axes) for axis in sorted(group, key=lambda axis: -lies[axis])]
    strides, step = [0] * len(shape), 1
    for axis in reversed(order if last is None else [*order, last]):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def lying(result: Tensor, input: Tensor, axes: Sequence[int], last: int | None = None, real: bool = False) -> Tensor:
    """The transform of ``input``, laid out as PyTorch's. One to ``real`` numbers is two, if need be."""
    if not (axes or last is not None) or not result._spec.numel or result._spec.level:
        return result
    lies, shape = input._spec.layout, tuple(result.shape)
    if real and axes:
        lies, axes = strides_behind(tuple(input.shape), lies, axes), ()
    return both_laid_out(result, strides_behind(shape, lies, axes, last))


def fft_c2c(x: Tensor, *, axes: tuple[int, ...], norm: int, forward: bool) -> Tensor:
    return lying(ops.fft_c2c(x, axes=axes, norm=norm, forward=forward), x, axes)


def fft_r2c(x: Tensor, *, axes: tuple[int, ...], norm: int, onesided: bool) -> Tensor:
    return lying(ops.fft_r2c(x, axes=axes, norm=norm, onesided=onesided), x, axes[:-1], axes[-1])


def fft_c2r(x: Tensor, *, axes: tuple[int, ...], norm: int, length: int) -> Tensor:
    return lying(ops.fft_c2r(x, axes=axes, norm=norm, length=length), x, axes[:-1], axes[-1], real=True)


# -- one dimension -----------------------------------------------------------------------------------------------------


def _to_complex(function: str, input: Tensor, n: Any, dim: Any, norm: Any, forward: bool, onesided: bool) -> Tensor:
    if onesided and input.dtype.is_complex:
        raise RuntimeError(f"{function} expects a real input tensor, but got {input.dtype.scalar_name}")
    n = given_points(function, n)
    x = promoted(input, complex=False)
    axis = one_axis(function, x, dim)
    x = resized(x, (axis,), (points(x.shape[axis] if n is None else n),))
    mode = normalization(function, norm, forward)
    if x.dtype.is_complex:
        return fft_c2c(x, axes=(axis,), norm=mode, forward=forward)
    spectrum = fft_r2c(x, axes=(axis,), norm=mode, onesided=onesided)
    return spectrum if forward else conj(spectrum)


def _to_real(function: str, input: Tensor, n: Any, dim: Any, norm: Any, forward: bool) -> Tensor:
    n = given_points(function, n)
    x = promoted(input, complex=True)
    axis = one_axis(function, x, dim)
    length = points(2 * (x.shape[axis] - 1) if n is None else n)
    x = x if n is None else resized(x, (axis,), (length // 2 + 1,))
    mode = normalization(function, norm, forward)
    return fft_c2r(conj(x) if forward else x, axes=(axis,), norm=mode, length=length)


def _in_one_dimension(
    name: str, text: str, example: str, transform: Callable, *, forward: bool, **options: bool
) -> None:
    def function(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        return transform(name, input, n, dim, norm, forward, **options)

    def is_conjugate(input: Tensor) -> bool:
        return transform is _to_complex and not (forward or input.dtype.is_complex)

    function.__name__, function.__doc__ = name, text + _ONE + _shown(f"torch.fft.{name}", example)
    public("fft", out=into(name, transform is _to_real, is_conjugate))(function)


def _shown(call: str, example: str) -> str:
    """An example as docstrings have it: the arguments of a call, and what is printed."""
    arguments, _, printed = example.partition(" -> ")
    return f"\n    >>> {call}({arguments})\n    {printed}\n    "


_ONE = """ along ``dim``.

    ``n`` is the length of the signal: zeros are put behind a shorter one, a longer one is cut off. ``norm`` is
    ``"backward"`` (1/n in the backward transform), ``"forward"`` (1/n in the forward one) or ``"ortho"`` (1/sqrt(n) in
    both).

    Raises:
        RuntimeError: halves, no points, an unknown ``norm``.
        IndexError: ``dim`` is out of range.
    """

_in_one_dimension(
    "fft", "The Fourier transform",
    "torch.tensor([1.0, 1.0]) -> tensor([2.+0.j, 0.+0.j])", _to_complex, forward=True, onesided=False,
)  # fmt: skip
_in_one_dimension(
    "ifft", "The backward Fourier transform",
    "torch.tensor([2.0, 0.0]) -> tensor([1.-0.j, 1.-0.j])", _to_complex, forward=False, onesided=False,
)  # fmt: skip
_in_one_dimension(
    "rfft", "The first half of the transform of a real signal",
    "torch.tensor([1.0, 2.0, 1.0, 2.0]) -> tensor([ 6.+0.j,  0.+0.j, -2.+0.j])",
    _to_complex, forward=True, onesided=True,
)  # fmt: skip
_in_one_dimension(
    "ihfft", "The backward transform of a real signal, halved",
    "torch.tensor([2.0, 4.0, 2.0, 4.0]) -> tensor([ 3.-0.j,  0.-0.j, -1.-0.j])",
    _to_complex, forward=False, onesided=True,
)  # fmt: skip
_in_one_dimension(
    "irfft", "The real signal that has this half spectrum",
    "torch.tensor([3.0, 1.0]) -> tensor([2., 1.])", _to_real, forward=False,
)  # fmt: skip
_in_one_dimension(
    "hfft", "The transform of a Hermitian signal of which half is given",
    "torch.tensor([3.0, 1.0]) -> tensor([4., 2.])", _to_real, forward=True,
)  # fmt: skip


# -- several dimensions ------------------------------------------------------------------------------------------------


class Extent(NamedTuple):
    """Which dimensions are transformed, and how long they are."""

    axes: tuple[int, ...]
    lengths: tuple[int, ...]


def _as_tuple(function: str, name: str, value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    if is_integer(value):
        return (int(value),)
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"fft_{function}(): argument '{name}' must be tuple of ints, not {type_name(value)}")
    return tuple(value)


def extent(function: str, input: Tensor, s: Any, dim: Any) -> Extent:
    """The dimensions given by ``dim`` and the lengths given by ``s``; -1 is the length that there is.
    Raises RuntimeError: a dimension twice, as many lengths as there are not dimensions, a length below 1.
    """
    sizes, dims = _as_tuple(function, "s", s), _as_tuple(function, "dim", dim)
    axes = tuple(range(input.ndim))
    if dims is not None:
        axes = several_axes(dims, input)
        if len(set(axes)) < len(axes):
            raise RuntimeError("FFT dims must be unique")
    if sizes is not None:
        if dims is not None and len(dims) != len(sizes):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(sizes) > input.ndim:
            raise RuntimeError(f"Got shape with {len(sizes)} values but input tensor only has {input.ndim} dimensions.")
        axes = axes if dims is not None else axes[input.ndim - len(sizes) :]
    sizes = (-1,) * len(axes) if sizes is None else sizes
    shape = tuple(input._spec.shape)
    lengths = [shape[axis] if size == -1 else size for axis, size in zip(axes, sizes, strict=True)]
    return Extent(axes, tuple(map(points, lengths)))


def _some(name: str, found: Extent) -> Extent:
    if not found.axes:
        raise RuntimeError(f"{name} must transform at least one axis")
    return found


def half_extent(function: str, name: str, input: Tensor, s: Any, dim: Any) -> tuple[Extent, int]:
    """The extent of a half spectrum, and the length of the real signal along the last dimension."""
    axes, lengths = _some(name, extent(function, input, s, dim))
    sizes = _as_tuple(function, "s", s)
    known = sizes is not None and sizes[-1] != -1
    last = points(lengths[-1] if known else 2 * (input.shape[axes[-1]] - 1))
    return Extent(axes, (*lengths[:-1], last // 2 + 1)), last


def _fftn(function: str, input: Tensor, s: Any, dim: Any, norm: Any, forward: bool = True) -> Tensor:
    axes, lengths = extent(function, input, s, dim)
    x = resized(promoted(input, complex=True), axes, lengths)
    return fft_c2c(x, axes=axes, norm=normalization(function, norm, forward), forward=forward)


def _rfftn(function: str, input: Tensor, s: Any, dim: Any, norm: Any) -> Tensor:
    if input.dtype.is_complex:
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {input.dtype.scalar_name}")
    x = promoted(input, complex=False)
    axes, lengths = _some("rfftn", extent(function, x, s, dim))
    mode = normalization(function, norm, True)
    return fft_r2c(resized(x, axes, lengths), axes=axes, norm=mode, onesided=True)


def _irfftn(function: str, input: Tensor, s: Any, dim: Any, norm: Any) -> Tensor:
    (axes, lengths), last = half_extent(function, "irfftn", input, s, dim)
    x = resized(promoted(input, complex=True), axes, lengths)
    return fft_c2r(x, axes=axes, norm=normalization(function, norm, False), length=last)


def _hfftn(function: str, input: Tensor, s: Any, dim: Any, norm: Any) -> Tensor:
    (axes, lengths), last = half_extent(function, "hfftn", input, s, dim)
    x = resized(promoted(input, complex=True), axes, lengths)
    mode = normalization(function, norm, True)
    if len(axes) > 1:
        x = fft_c2c(x, axes=axes[:-1], norm=mode, forward=True)
    return fft_c2r(conj(x), axes=axes[-1:], norm=mode, length=last)


def _ihfftn(function: str, input: Tensor, s: Any, dim: Any, norm: Any) -> Tensor:
    axes, lengths = _some("ihfftn", extent(function, input, s, dim))
    if input.dtype.is_complex:
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {input.dtype.scalar_name}")
    x = resized(promoted(input, complex=False), axes, lengths)
    mode = normalization(function, norm, False)
    spectrum = fft_r2c(x, axes=axes[-1:], norm=mode, onesided=True)
    if len(axes) == 1:
        return conj(spectrum)
    return fft_c2c(unary.conj_physical(spectrum), axes=axes[:-1], norm=mode, forward=False)


def _in_several_dimensions(stem: str, text: str, example: str, transform: Callable, **options: bool) -> None:
    def of_all(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
        return transform(f"{stem}n", input, s, dim, norm, **options)

    def of_two(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
        return transform(f"{stem}2", input, s, dim, norm, **options)

    all_of_them, last_two = (f" along {which} dimensions, or those in ``dim``." for which in ("all", "the last two"))
    of_all.__name__, of_two.__name__ = f"{stem}n", f"{stem}2"
    of_all.__doc__ = text + all_of_them + _SEVERAL + _shown(f"torch.fft.{stem}n", example)
    of_two.__doc__ = text + last_two + _SEVERAL + _shown(f"torch.fft.{stem}2", example)
    target = into(f"{'' if transform is _fftn else stem.removesuffix('fft')}fftn", transform in (_irfftn, _hfftn))
    public("fft", out=target)(of_all)
    public("fft", out=target)(of_two)


_SEVERAL = """

    ``s`` holds the lengths of the signal in these dimensions (-1: as it is); ``norm`` is as in ``fft``.

    Raises:
        RuntimeError: halves, no points, a dimension twice, lengths that don't match ``dim``, an unknown ``norm``.
        IndexError: ``dim`` is out of range.
    """

_in_several_dimensions(
    "fft", "The Fourier transform",
    "torch.ones(1, 2) -> tensor([[2.+0.j, 0.+0.j]])", _fftn,
)  # fmt: skip
_in_several_dimensions(
    "ifft", "The backward Fourier transform",
    "torch.ones(1, 2) -> tensor([[1.+0.j, 0.+0.j]])", _fftn, forward=False,
)  # fmt: skip
_in_several_dimensions(
    "rfft", "The transform of a real signal, halved in the last of the dimensions,",
    "torch.ones(1, 2) -> tensor([[2.+0.j, 0.+0.j]])", _rfftn,
)  # fmt: skip
_in_several_dimensions(
    "irfft", "The real signal that has this half spectrum",
    "torch.ones(1, 2) -> tensor([[1., 0.]])", _irfftn,
)  # fmt: skip
_in_several_dimensions(
    "hfft", "The transform of a Hermitian signal of which half is given",
    "torch.ones(1, 2) -> tensor([[2., 0.]])", _hfftn,
)  # fmt: skip
_in_several_dimensions(
    "ihfft", "The backward transform of a real signal, halved in the last dimension,",
    "torch.ones(1, 2) -> tensor([[1.+0.j, 0.+0.j]])", _ihfftn,
)  # fmt: skip


# -- shifts and frequencies --------------------------------------------------------------------------------------------


def _shifted(function: str, input: Tensor, dim: Any, sign: int) -> Tensor:
    dims = _as_tuple(function, "dim", dim)
    axes = tuple(range(input.ndim)) if dims is None else several_axes(dims, input)
    lengths = [input.shape[axis] for axis in axes]
    return roll(input, tuple(length // 2 if sign > 0 else (length + 1) // 2 for length in lengths), axes)


@public("fft")
def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """``input`` with the frequency 0 moved to the middle of the dimensions in ``dim``, or of all.

    >>> torch.fft.fftshift(torch.tensor([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
    return _shifted("fftshift", input, dim, 1)


@public("fft")
def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Undo ``fftshift``.

    Args:
        dim: the dimensions, an int or ints; all if it is not given.

    >>> torch.fft.ifftshift(torch.fft.fftshift(torch.arange(5)))
    tensor([0, 1, 2, 3, 4])
    """
    return _shifted("ifftshift", input, dim, -1)


def _frequencies(
    function: str, count: int, steps: Callable[[], np.ndarray], spacing: Any, options: TensorOptions
) -> Tensor:
    if not is_number(spacing):
        raise TypeError(f"fft_{function}(): argument 'd' (position 2) must be float, not {type_name(spacing)}")
    made = target(f"fft_{function}", options)
    if made.dtype.category < FLOATING:
        raise RuntimeError(f"{function} requires a floating point or complex dtype")
    if made.dtype.category == COMPLEX:
        raise unsupported("arange_cpu", made.dtype)
    working = made.dtype.numpy if made.dtype.itemsize > 2 else np.float32
    made.room(count if function == "fftfreq" else count // 2 + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.asarray(np.float64(1.0) / np.float64(count * spacing), working)
        return made.tensor((steps().astype(working) * factor).astype(made.dtype.numpy))


def _count(function: str, n: Any) -> int:
    if n is None:
        raise TypeError(f'fft_{function}() missing 1 required positional arguments: "n"')
    if not is_integer(n):
        raise TypeError(f"fft_{function}(): argument 'n' (position 1) must be int, not {type_name(n)}")
    return int(n)


@public("fft", out=COUNTED)
def fftfreq(n: Any = None, d: float = 1.0, **options: Unpack[TensorOptions]) -> Tensor:
    """The frequencies of a transform of ``n`` points that are ``d`` apart: first those from 0 on, then the negative.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    count = _count("fftfreq", n)
    checked_size("fftfreq", (count,))
    return _frequencies("fftfreq", count, lambda: np.fft.ifftshift(np.arange(count) - count // 2), d, options)


@public("fft", out=COUNTED)
def rfftfreq(n: Any = None, d: float = 1.0, **options: Unpack[TensorOptions]) -> Tensor:
    """The frequencies of the half spectrum of ``n`` points that are ``d`` apart."""
    count = _count("rfftfreq", n)
    checked_size("rfftfreq", (count // 2 + 1,))
    return _frequencies("rfftfreq", count, lambda: np.arange(count // 2 + 1), d, options)

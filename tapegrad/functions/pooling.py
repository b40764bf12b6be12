"""Pooling: the greatest, the mean or the norm of windows."""

from __future__ import annotations

from typing import Any

from tapegrad.bindings.registry import public
from tapegrad.bindings.windows import adaptive, hashable, several, windows
from tapegrad.execution.dtypes import int64
from tapegrad.execution.sizes import check_size
from tapegrad.ops import activations, arithmetic, pooling, reductions, resampling, unary
from tapegrad.ops.checks import refuse_dtypes
from tapegrad.ops.kinds import cast
from tapegrad.tensor.tensor import Tensor

Sizes = Any
"""An int, or one for each dimension of space."""


def _kernel(function: str) -> str:
    """What PyTorch calls the kernel of a function in messages."""
    names = {
        "max_pool1d": "max_pool1d_impl", "avg_pool1d": "avg_pool2d", "avg_pool3d": "avg_pool3d_out_frame",
        "adaptive_avg_pool1d": "adaptive_avg_pool2d", "adaptive_avg_pool3d": "adaptive_avg_pool3d_cpu",
        "adaptive_max_pool1d": "adaptive_max_pool2d", "adaptive_max_pool3d": "adaptive_max_pool3d_cpu",
    }  # fmt: skip
    return names.get(function, function)


def _shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)


# -- the greatest ------------------------------------------------------------------------------------------------------


def _max_pool(
    dims: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    return_indices: bool,
) -> Any:  # fmt: skip
    name = f"max_pool{dims}d"
    arguments = map(hashable, (kernel_size, stride, padding, dilation))
    samplings = windows(name, dims, _shape(input), *arguments, ceil_mode, "", None)
    refuse_dtypes(_kernel(name), input._spec, bool=True, integral=dims == 1, complex=True)
    out, indices = pooling.MAXIMA[dims](input, samplings=samplings)
    return (out, cast(indices, dtype=int64)) if return_indices else out


@public("nn.functional", "torch")
def max_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The greatest of each window: (batch, channels, length), or (channels, length). See ``max_pool2d``.

    Raises:
        RuntimeError: shapes or numbers that don't fit.
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@public("nn.functional", "torch")
def max_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The greatest of each window along the last two dimensions, and, if wanted, the flat index of each (int64).

    Windows are ``stride`` apart (``kernel_size`` by default); padding never wins. Of equals the first has the gradient.

    Raises:
        RuntimeError: shapes or numbers that don't fit.

    >>> import tapegrad as torch
    >>> torch.nn.functional.max_pool2d(torch.arange(16.0).view(1, 1, 4, 4), 2)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@public("nn.functional", "torch")
def max_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The greatest of each window along the last three dimensions. See ``max_pool2d``.

    Raises:
        RuntimeError: shapes or numbers that don't fit.
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@public("nn.functional", "torch")
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """``max_pool1d``, and the indices in any case."""
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, True)


@public("nn.functional")
def max_pool2d_with_indices(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """``max_pool2d``, and the indices in any case."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, True)


@public("nn.functional")
def max_pool3d_with_indices(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """``max_pool3d``, and the indices in any case."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _check_pooled(input: Tensor, samplings: tuple[Any, ...]) -> None:
    """Refuse results that no memory can hold."""
    sizes = [sampling.size for sampling in samplings]
    check_size((*input.shape[: -len(sizes)], *sizes), input.dtype.itemsize, input.device.type)


def _adaptive_max_pool(dims: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    name = f"adaptive_max_pool{dims}d"
    samplings = adaptive(name, dims, _shape(input), hashable(output_size))
    refuse_dtypes(_kernel(name), input._spec, bool=True, integral=True, complex=True)
    _check_pooled(input, samplings)
    out, indices = pooling.ADAPTIVE_MAXIMA[dims](input, samplings=samplings)
    return (out, cast(indices, dtype=int64)) if return_indices else out


@public("nn.functional")
def adaptive_max_pool1d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The greatest of each of ``output_size`` windows of (nearly) equal length. See ``adaptive_max_pool2d``.

    Raises:
        RuntimeError: shapes or sizes that don't fit.
    """
    return _adaptive_max_pool(1, input, output_size, return_indices)


@public("nn.functional")
def adaptive_max_pool2d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The greatest of each window, of which there are ``output_size`` along each dimension (None: one per element).

    Raises:
        RuntimeError: shapes or sizes that don't fit.
    """
    return _adaptive_max_pool(2, input, output_size, return_indices)


@public("nn.functional")
def adaptive_max_pool3d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The greatest of each window along the last three dimensions. See ``adaptive_max_pool2d``.

    Raises:
        RuntimeError: shapes or sizes that don't fit.
    """
    return _adaptive_max_pool(3, input, output_size, return_indices)


@public("nn.functional")
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """``adaptive_max_pool1d``, and the indices in any case."""
    return _adaptive_max_pool(1, input, output_size, True)


@public("nn.functional")
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """``adaptive_max_pool2d``, and the indices in any case."""
    return _adaptive_max_pool(2, input, output_size, True)


@public("nn.functional")
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """``adaptive_max_pool3d``, and the indices in any case."""
    return _adaptive_max_pool(3, input, output_size, True)


@public("torch", name="adaptive_max_pool1d")
def torch_adaptive_max_pool1d(input: Tensor, output_size: Sizes) -> Any:
    """``nn.functional.adaptive_max_pool1d``, and the indices in any case."""
    return _adaptive_max_pool(1, input, output_size, True)


# -- the mean ----------------------------------------------------------------------------------------------------------


def _avg_pool(
    dims: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    name = f"avg_pool{dims}d"
    arguments = map(hashable, (kernel_size, stride, padding))
    counted = "padded" if count_include_pad else "inside"
    samplings = windows(name, dims, _shape(input), *arguments, 1, ceil_mode, counted, divisor_override)
    refuse_dtypes(_kernel(name), input._spec, bool=True, integral=input.dtype is not int64, complex=True)
    return resampling.AVERAGES[dims](input, samplings=samplings)


@public("nn.functional", "torch", native=True)
def avg_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window: (batch, channels, length), or (channels, length). See ``avg_pool2d``.

    Raises:
        RuntimeError: shapes or numbers that don't fit.
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@public("nn.functional", native=True)
def avg_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window along the last two dimensions; windows are ``stride`` apart (``kernel_size`` by default).

    Padding counts as zeros, unless ``count_include_pad`` is False; ``divisor_override`` replaces the number of
    elements.

    Raises:
        RuntimeError: shapes or numbers that don't fit.
    """
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@public("nn.functional", native=True)
def avg_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window along the last three dimensions. See ``avg_pool2d``.

    Raises:
        RuntimeError: shapes or numbers that don't fit.
    """
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive_avg_pool(dims: int, input: Tensor, output_size: Any) -> Tensor:
    name = f"adaptive_avg_pool{dims}d"
    samplings = adaptive(name, dims, _shape(input), hashable(output_size))
    refuse_dtypes(_kernel(name), input._spec, bool=True, integral=True, complex=True)
    _check_pooled(input, samplings)
    if dims > 1 and all(sampling.size == 1 for sampling in samplings):
        return reductions.mean(input, axis=tuple(range(input.ndim - dims, input.ndim)), keepdims=True)
    return resampling.ADAPTIVE_AVERAGES[dims](input, samplings=samplings)


@public("nn.functional", "torch", native=True)
def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of each of ``output_size`` windows of (nearly) equal length. See ``adaptive_avg_pool2d``.

    Raises:
        RuntimeError: shapes or sizes that don't fit.
    """
    return _adaptive_avg_pool(1, input, output_size)


@public("nn.functional")
def adaptive_avg_pool2d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of each window, of which there are ``output_size`` along each dimension (None: one per element).

    Window ``i`` of ``n`` reaches from ``floor(i * length / n)`` to ``ceil((i + 1) * length / n)``.

    Raises:
        RuntimeError: shapes or sizes that don't fit.
    """
    return _adaptive_avg_pool(2, input, output_size)


@public("nn.functional")
def adaptive_avg_pool3d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of each window along the last three dimensions. See ``adaptive_avg_pool2d``.

    Raises:
        RuntimeError: shapes or sizes that don't fit.
    """
    return _adaptive_avg_pool(3, input, output_size)


# -- the norm ----------------------------------------------------------------------------------------------------------


def _lp_pool(dims: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    kernel = several(f"lp_pool{dims}d", "kernel_size", kernel_size, dims)
    count = 1
    for length in kernel:
        count *= length
    powers = unary.power(input, exponent=norm_type)
    means = _avg_pool(dims, powers, kernel, stride, 0, ceil_mode, True)
    positive = arithmetic.mul(unary.sign(means), activations.relu(unary.abs(means)))
    return unary.power(arithmetic.mul(positive, count), exponent=1.0 / norm_type)


@public("nn.functional")
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(x**p)**(1/p)`` of each window, ``p`` being ``norm_type``."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@public("nn.functional")
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(x**p)**(1/p)`` of each window, ``p`` being ``norm_type``."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@public("nn.functional")
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(x**p)**(1/p)`` of each window, ``p`` being ``norm_type``."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)

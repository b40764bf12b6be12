"""Pooling: the greatest, the mean or the norm of windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tapegrad._src.bindings.declaration.declarations import EXPECTED, Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import unsupported
from tapegrad._src.bindings.dispatching import hidden
from tapegrad._src.bindings.layouts import format_strides, laid_out, suggested_format
from tapegrad._src.bindings.viewing import view_of
from tapegrad._src.bindings.windows import adaptive, hashable, several, windows
from tapegrad._src.execution.data.dtypes import FLOATING, int64
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.layout import contiguous_format
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import activations, arithmetic, pooling, reductions, resampling, shape, unary
from tapegrad.ops.checks import refuse_dtypes
from tapegrad.ops.kinds import cast

Sizes = Any
"""An int, or one for each dimension of space."""


LINE = resampling.Sampling("window", 1)
"""The settings of planes of one row that are sampled along it."""


def _kernel(function: str) -> str:
    """PyTorch's name of the kernel of a function in messages."""
    names = {
        "max_pool1d": "max_pool1d_impl", "avg_pool1d": "avg_pool2d", "avg_pool3d": "avg_pool3d_out_frame",
        "adaptive_avg_pool1d": "adaptive_avg_pool2d", "adaptive_avg_pool3d": "adaptive_avg_pool3d_cpu",
        "adaptive_max_pool1d": "adaptive_max_pool2d", "adaptive_max_pool3d": "adaptive_max_pool3d_cpu",
    }  # fmt: skip
    return names.get(function, function)


def _shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)


def in_planes(operator: Callable[..., Any], axis: int, *lines: Tensor) -> Any:
    """The results of an operator of lines as planes that have length 1 along ``axis``: views of its results, as
    PyTorch's.

    Args:
        operator: of tensors with one dimension more, with one result or several.
        axis: of their planes: -2 or -1.
        lines: what it is given, (batch, channels, length), or without the batch.
    """
    axis = lines[0].ndim + 1 + axis
    results = operator(*[view_of(line, shape.unsqueeze, axis=axis) for line in lines])
    if isinstance(results, tuple):
        return tuple([view_of(plane, shape.squeeze_axis, axis=axis) for plane in results])
    return view_of(results, shape.squeeze_axis, axis=axis)


# -- the greatest ------------------------------------------------------------------------------------------------------


def _max_pool(
    dims: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool,
    return_indices: bool,
) -> Any:  # fmt: skip
    name = f"max_pool{dims}d"
    arguments = map(hashable, (kernel_size, stride, padding, dilation))
    samplings = windows(name, dims, _shape(input), *arguments, ceil_mode, "", None)
    alone = dims == 1 and not (return_indices or _differentiated(input))
    kernel = "max_pool2d" if dims == 1 and not alone else _kernel(name)
    refuse_dtypes(kernel, input._spec, bool=True, integral=alone, complex=True)
    if alone:
        return pooling.MAXIMA[1](input, samplings=samplings)[0]
    return _greatest(pooling.MAXIMA, input, samplings, return_indices)


def _differentiated(input: Tensor) -> bool:
    """Tell whether PyTorch computes indices, though nobody wants them: for derivatives, on other devices, in
    transforms."""
    spec = input._spec
    recorded = spec.requires_grad and thread.modes.grad
    return recorded or spec.dual or spec.overrides or bool(spec.level) or not spec.device.is_host


def _greatest(operators: Mapping, input: Tensor, samplings: tuple[Any, ...], return_indices: bool) -> Any:
    if len(samplings) == 1:
        planes = (LINE, *samplings)
        return in_planes(lambda input: _greatest(operators, input, planes, return_indices), -2, input)
    out, indices = operators[len(samplings)](input, samplings=samplings)
    if not return_indices:
        return out
    with hidden():
        return out, cast(indices, dtype=int64)


@public("nn.functional", "torch")
def max_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The greatest of each window, and, if wanted, the index of each (int64).

    Args:
        input: floats, (batch, channels, length), or (channels, length).
        kernel_size: how many elements a window has: an int, or a tuple of one, like the numbers below.
        stride: how far windows are apart; ``kernel_size`` by default.
        padding: how many elements are put at both ends, at most half a window. They never win.
        dilation: how far a window's elements are apart.
        ceil_mode: also take a last window that reaches beyond the end, if it begins before it.
        return_indices: return (values, indices), as ``max_unpool1d`` wants them.

    Raises:
        RuntimeError: shapes or numbers that don't fit.

    >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 5.0, 2.0, 3.0]]), 2, stride=1)
    tensor([[5., 5., 3.]])
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@public("nn.functional", "torch")
def max_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The greatest of each window along the last two dimensions, and, if wanted, the flat index of each (int64).

    Args:
        input: floats or integers, (batch, channels, height, width), or without the batch.
        kernel_size: the size of a window: an int, or a pair (height, width), like the numbers below.
        stride: how far windows are apart; ``kernel_size`` by default.
        padding: how many elements are put at each side, at most half a window. They never win.
        dilation: how far a window's elements are apart.
        ceil_mode: also take a last window that reaches beyond the end, if it begins before it.
        return_indices: return (values, indices); an index counts the elements of one plane, row by row.

    Of equal elements the first has the gradient.

    Raises:
        RuntimeError: shapes or numbers that don't fit.

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
    """The greatest of each window along the last three dimensions of (batch, channels, depth, height, width).

    The batch may be left out of ``input``. ``kernel_size``, ``stride``, ``padding`` and ``dilation`` are ints, or three
    of them; ``ceil_mode`` and ``return_indices`` are as in ``max_pool2d``.

    Raises:
        RuntimeError: shapes or numbers that don't fit.

    >>> torch.nn.functional.max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), kernel_size=2, stride=1)
    tensor([[[[7.]]]])
    """
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@public("nn.functional", "torch")
def max_pool1d_with_indices(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """``max_pool1d``, and the indices in any case, whatever ``return_indices`` says.

    ``input``, ``kernel_size``, ``stride``, ``padding``, ``dilation`` and ``ceil_mode`` are those of ``max_pool1d``.

    >>> torch.nn.functional.max_pool1d_with_indices(torch.tensor([[1.0, 5.0, 2.0, 3.0]]), 2)
    (tensor([[5., 3.]]), tensor([[1, 3]]))
    """
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, True)


@public("nn.functional")
def max_pool2d_with_indices(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """``max_pool2d``, and the indices in any case, whatever ``return_indices`` says.

    ``input``, ``kernel_size``, ``stride``, ``padding``, ``dilation`` and ``ceil_mode`` are those of ``max_pool2d``.

    >>> torch.nn.functional.max_pool2d_with_indices(torch.arange(4.0).view(1, 2, 2), 2)
    (tensor([[[3.]]]), tensor([[[3]]]))
    """
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, True)


@public("nn.functional")
def max_pool3d_with_indices(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """``max_pool3d``, and the indices in any case, whatever ``return_indices`` says.

    ``input``, ``kernel_size``, ``stride``, ``padding``, ``dilation`` and ``ceil_mode`` are those of ``max_pool3d``.

    >>> values, indices = torch.nn.functional.max_pool3d_with_indices(torch.arange(8.0).view(1, 2, 2, 2), 2)
    >>> indices.item()
    7
    """
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
    return _greatest(pooling.ADAPTIVE_MAXIMA, input, samplings, return_indices)


@public("nn.functional")
def adaptive_max_pool1d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The greatest of each of ``output_size`` windows of (nearly) equal length: floats (batch, channels, length).

    The batch may be left out of ``input``. With ``return_indices`` the result is (values, indices). See
    ``adaptive_avg_pool2d`` for where windows lie.

    Raises:
        RuntimeError: shapes or sizes that don't fit.

    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1.0, 5.0, 2.0, 3.0, 4.0]]), 2)
    tensor([[5., 4.]])
    """
    return _adaptive_max_pool(1, input, output_size, return_indices)


@public("nn.functional")
def adaptive_max_pool2d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The greatest of each window, of which there are ``output_size`` along each dimension (None: one per element).

    ``input`` are floats (batch, channels, height, width), or without the batch; ``output_size`` is an int or a pair.
    With ``return_indices`` the result is (values, indices), int64, each counting the elements of a plane row by row.
    See ``adaptive_avg_pool2d`` for where windows lie.

    Raises:
        RuntimeError: shapes or sizes that don't fit.

    >>> torch.nn.functional.adaptive_max_pool2d(torch.arange(9.0).view(1, 3, 3), (1, None))
    tensor([[[6., 7., 8.]]])
    """
    return _adaptive_max_pool(2, input, output_size, return_indices)


@public("nn.functional")
def adaptive_max_pool3d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """The greatest of each window along the last three dimensions of (batch, channels, depth, height, width).

    The batch may be left out of ``input``; ``output_size`` is an int or three (None: one per element). With
    ``return_indices`` the result is (values, indices). See ``adaptive_avg_pool2d`` for where windows lie.

    Raises:
        RuntimeError: shapes or sizes that don't fit.

    >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), (1, 1, 2))
    tensor([[[[6., 7.]]]])
    """
    return _adaptive_max_pool(3, input, output_size, return_indices)


@public("nn.functional")
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """``adaptive_max_pool1d`` of ``input`` and ``output_size``, and the indices, whatever ``return_indices`` says."""
    return _adaptive_max_pool(1, input, output_size, True)


@public("nn.functional")
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """``adaptive_max_pool2d`` of ``input`` and ``output_size``, and the indices, whatever ``return_indices`` says."""
    return _adaptive_max_pool(2, input, output_size, True)


@public("nn.functional")
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Any:
    """``adaptive_max_pool3d`` of ``input`` and ``output_size``, and the indices, whatever ``return_indices`` says."""
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
    if dims == 2:
        input.size(-3)  # PyTorch looks at it before it counts them
    arguments = map(hashable, (kernel_size, stride, padding))
    counted = "padded" if count_include_pad else "inside"
    samplings = windows(name, dims, _shape(input), *arguments, 1, ceil_mode, counted, divisor_override)
    refuse_dtypes(_kernel(name), input._spec, bool=True, integral=input.dtype is not int64, complex=True)
    if dims == 3 and input.dtype.category == FLOATING and input.dtype.itemsize < 4:
        raise unsupported(_kernel(name), input.dtype)
    return _sampled(resampling.AVERAGES, input, samplings)


def _sampled(operators: Mapping, input: Tensor, samplings: tuple[Any, ...]) -> Tensor:
    if len(samplings) == 1:
        return in_planes(lambda planes: _sampled(operators, planes, (LINE, *samplings)), -2, input)
    return operators[len(samplings)](input, samplings=samplings)


def _mean(input: Tensor, dims: int) -> Tensor:
    if dims == 1:
        return in_planes(lambda planes: _mean(planes, 2), -2, input)
    mean = reductions.mean(input, axis=tuple(range(input.ndim - dims, input.ndim)), keepdims=True)
    chosen = suggested_format(input)
    return mean if chosen is contiguous_format else laid_out(mean, format_strides(chosen, tuple(mean.shape)))


@public("nn.functional", "torch", native=True)
def avg_pool1d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window of ``input``: (batch, channels, length), or (channels, length).

    ``kernel_size``, ``stride`` and ``padding`` are ints, or tuples of one; ``ceil_mode`` and ``count_include_pad`` are
    as in ``avg_pool2d``.

    Raises:
        RuntimeError: shapes or numbers that don't fit.

    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1.0, 5.0, 2.0, 3.0]]), 2, padding=1, count_include_pad=False)
    tensor([[1.0000, 3.5000, 3.0000]])
    """
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@public("nn.functional", native=True, is_settled=True, out=Out(EXPECTED))
def avg_pool2d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window along the last two dimensions.

    Args:
        input: floats or int64, (batch, channels, height, width), or without the batch.
        kernel_size: the size of a window: an int, or a pair (height, width), like the numbers below.
        stride: how far windows are apart; ``kernel_size`` by default.
        padding: how many zeros are put at each side, at most half a window.
        ceil_mode: also take a last window that reaches beyond the end, if it begins before it.
        count_include_pad: divide by the number of elements with the padding in a window, not by that without.
        divisor_override: divide by this number instead.

    Raises:
        RuntimeError: shapes or numbers that don't fit.

    >>> torch.nn.functional.avg_pool2d(torch.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    >>> torch.nn.functional.avg_pool2d(torch.ones(1, 2, 2), 2, stride=1, padding=1, divisor_override=1)
    tensor([[[1., 2., 1.],
             [2., 4., 2.],
             [1., 2., 1.]]])
    """
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@public("nn.functional", native=True, out=Out(EXPECTED))
def avg_pool3d(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window along the last three dimensions of (batch, channels, depth, height, width).

    The batch may be left out of ``input``. ``kernel_size``, ``stride`` and ``padding`` are ints, or three of them;
    ``ceil_mode``, ``count_include_pad`` and ``divisor_override`` are as in ``avg_pool2d``.

    Raises:
        RuntimeError: shapes or numbers that don't fit.

    >>> torch.nn.functional.avg_pool3d(torch.arange(8.0).view(1, 2, 2, 2), (1, 2, 2)).flatten()
    tensor([1.5000, 5.5000])
    """
    return _avg_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _adaptive_avg_pool(dims: int, input: Tensor, output_size: Any) -> Tensor:
    name = f"adaptive_avg_pool{dims}d"
    samplings = adaptive(name, dims, _shape(input), hashable(output_size))
    one = all(sampling.size == 1 for sampling in samplings)
    if one and input.dtype.category < FLOATING:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
            f"{input.dtype.scalar_name}"
        )
    refuse_dtypes(_kernel(name), input._spec, bool=True, integral=True, complex=not one)
    _check_pooled(input, samplings)
    if one:
        return _mean(input, dims)
    return _sampled(resampling.ADAPTIVE_AVERAGES, input, samplings)


@public("nn.functional", "torch", native=True)
def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of each of ``output_size`` windows of (nearly) equal length: floats (batch, channels, length).

    The batch may be left out of ``input``. See ``adaptive_avg_pool2d`` for where windows lie.

    Raises:
        RuntimeError: shapes or sizes that don't fit.

    >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1.0, 5.0, 2.0, 3.0, 4.0]]), 2)
    tensor([[2.6667, 3.0000]])
    """
    return _adaptive_avg_pool(1, input, output_size)


@public("nn.functional")
def adaptive_avg_pool2d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of each window, of which there are ``output_size`` along each dimension (None: one per element).

    ``input`` are floats (batch, channels, height, width), or without the batch; ``output_size`` is an int or a pair.
    Window ``i`` of ``n`` reaches from ``floor(i * length / n)`` to ``ceil((i + 1) * length / n)``, so that windows may
    share elements.

    Raises:
        RuntimeError: shapes or sizes that don't fit.

    >>> torch.nn.functional.adaptive_avg_pool2d(torch.arange(9.0).view(1, 3, 3), (1, 2))
    tensor([[[3.5000, 4.5000]]])
    """
    return _adaptive_avg_pool(2, input, output_size)


@public("nn.functional")
def adaptive_avg_pool3d(input: Tensor, output_size: Sizes) -> Tensor:
    """The mean of each window along the last three dimensions of (batch, channels, depth, height, width).

    The batch may be left out of ``input``; ``output_size`` is an int or three (None: one per element). See
    ``adaptive_avg_pool2d`` for where windows lie.

    Raises:
        RuntimeError: shapes or sizes that don't fit.

    >>> torch.nn.functional.adaptive_avg_pool3d(torch.arange(8.0).view(1, 2, 2, 2), (1, 1, 2))
    tensor([[[[3., 4.]]]])
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
    """``sum(x**p)**(1/p)`` of each window of ``input``, (batch, channels, length), ``p`` being ``norm_type``.

    ``kernel_size``, ``stride`` and ``ceil_mode`` are as in ``avg_pool1d``. A negative sum, which odd ``p`` can give,
    has no root: nan.

    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0, 5.0, 12.0]]), norm_type=2, kernel_size=2)
    tensor([[ 5., 13.]])
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@public("nn.functional")
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(x**p)**(1/p)`` of each window of ``input``, (batch, channels, height, width), ``p`` being ``norm_type``.

    ``kernel_size``, ``stride`` and ``ceil_mode`` are as in ``avg_pool2d``. A negative sum, which odd ``p`` can give,
    has no root: nan.

    >>> torch.nn.functional.lp_pool2d(torch.tensor([[[3.0, 4.0], [0.0, 12.0]]]), norm_type=2, kernel_size=2)
    tensor([[[13.]]])
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@public("nn.functional")
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(x**p)**(1/p)`` of each window along the last three dimensions of ``input``, ``p`` being ``norm_type``.

    ``kernel_size``, ``stride`` and ``ceil_mode`` are as in ``avg_pool3d``. A negative sum, which odd ``p`` can give,
    has no root: nan.

    >>> torch.nn.functional.lp_pool3d(torch.full((1, 2, 2, 2), 2.0), norm_type=3, kernel_size=2)
    tensor([[[[4.]]]])
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)

"""Fractional max pooling: the greatest of windows that lie at random."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from tapegrad._src.bindings.bounds import outside, refuse_elements
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.windows import several
from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.functions.losses import refuse_gradient
from tapegrad._src.functions.pooling import Sizes, in_planes
from tapegrad._src.functions.random import rand
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import unpooling
from tapegrad.ops.checks import refuse_dtypes
from tapegrad.ops.kinds import cast

AXES = ("time", "height", "width")


def _numbers(value: Any, name: str, dims: int) -> tuple[int, ...]:
    """An int, or one for each dimension of space. Raises RuntimeError: another number of them."""
    numbers = (value,) * dims if isinstance(value, int) else tuple(value)
    if len(numbers) != dims:
        count = {2: "Ints", 3: "three Ints"}[dims]
        raise RuntimeError(f"fractional_max_pool{dims}d: {name} must either be a single Int or tuple of {count}")
    return numbers


def _check_lengths(input: Tensor, kernel: Sequence[int], sizes: Sequence[int]) -> None:
    """Refuse windows that don't fit. Raises RuntimeError: PyTorch's messages."""
    dims = len(sizes)
    name = {2: "fractional_max_pool2d()", 3: "fractional_max_pool3d_out()"}[dims]
    for axis in range(input.ndim - dims - 1, input.ndim):
        if not input.shape[axis]:
            raise RuntimeError(
                f"{name}: Expected input to have non-zero size for non-batch dimensions, but got{list(input.shape)} "
                f"with dimension {axis} being empty."
            )
    for which, k, size, length in zip(AXES[3 - dims :], kernel, sizes, input.shape[-dims:], strict=True):
        if size + k - 1 > length or (dims == 3 and size + k - 1 == length):
            raise RuntimeError(f"{name}: pool {which} {k} too large relative to input {which} {length}")


def _check_samples(samples: Tensor, input: Tensor, dims: int) -> None:
    if samples.dtype is not input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    batch = input.shape[0] if input.ndim == dims + 2 else 1
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != input.shape[-dims - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}.")


def _pooled(
    dims: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None
) -> tuple[Tensor, Tensor]:
    name = f"fractional_max_pool{dims}d"
    if output_size is None:
        if output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if len(output_ratio) > dims:
            raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
        lengths = [input.shape[axis] for axis in range(-dims, 0)]
        output_size = tuple(int(lengths[axis] * output_ratio[axis]) for axis in range(dims))
    if input.ndim <= dims:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got "
            f"{-dims - 1})"
        )
    if samples is None:
        if input.dtype.category < 2:
            raise NotImplementedError(f"\"check_uniform_bounds\" not implemented for '{input.dtype.scalar_name}'")
        batch = input.shape[0] if input.ndim == dims + 2 else 1
        samples = rand(batch, input.shape[-dims - 1], dims, dtype=input.dtype, device=input.device)
    refuse_gradient(name, "random_samples", samples)
    kernel, sizes = _numbers(kernel_size, "kernel_size", dims), _numbers(output_size, "output_size", dims)
    _check_lengths(input, kernel, sizes)
    _check_samples(samples, input, dims)
    out, indices = unpooling.FRACTIONAL[dims](input, samples, kernel=kernel, sizes=sizes)
    return out, cast(indices, dtype=int64)


@public("nn.functional")
def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """``fractional_max_pool2d``, and the indices in any case, whatever ``return_indices`` says.

    ``input``, ``kernel_size``, ``output_size``, ``output_ratio`` and ``_random_samples`` are those of
    ``fractional_max_pool2d``.

    >>> x = torch.arange(16.0).view(1, 4, 4)
    >>> values, indices = torch.nn.functional.fractional_max_pool2d_with_indices(x, 2, output_size=3)
    >>> indices.shape, indices.dtype
    (torch.Size([1, 3, 3]), torch.int64)
    """
    return _pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)


@public("nn.functional")
def fractional_max_pool2d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """The greatest of ``output_size`` windows along each of the last two dimensions, which begin at random places.

    Args:
        input: floats, (batch, channels, height, width), or without the batch.
        kernel_size: the size of a window: an int, or a pair.
        output_size: how many windows there are: an int, or a pair.
        output_ratio: their numbers as ratios to the input's lengths, a pair, instead of them.
        return_indices: return (values, indices), the indices int64, counting the elements of a plane row by row.
        _random_samples: (batch, channels, 2), from [0, 1), decide where windows lie; drawn, if they are not given.

    Pooling at random places is from Graham, "Fractional Max-Pooling" (2014).

    Raises:
        ValueError: neither size nor ratio.
        IndexError: too few dimensions.
        RuntimeError: windows or samples that don't fit.

    >>> samples = torch.full((1, 1, 2), 0.5)
    >>> x = torch.arange(16.0).view(1, 1, 4, 4)
    >>> torch.nn.functional.fractional_max_pool2d(x, 2, output_size=2, _random_samples=samples)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    result = _pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return result if return_indices else result[0]


@public("nn.functional")
def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """``fractional_max_pool3d``, and the indices in any case, whatever ``return_indices`` says.

    ``input``, ``kernel_size``, ``output_size``, ``output_ratio`` and ``_random_samples`` are those of
    ``fractional_max_pool3d``.

    >>> x = torch.zeros(1, 4, 4, 4)
    >>> values, indices = torch.nn.functional.fractional_max_pool3d_with_indices(x, 2, output_size=2)
    >>> indices.shape
    torch.Size([1, 2, 2, 2])
    """
    return _pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)


@public("nn.functional")
def fractional_max_pool3d(
    input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """The greatest of ``output_size`` windows along the last three dimensions of ``input``, which begin at random.

    ``kernel_size`` and ``output_size`` are ints, or three of them, ``output_ratio`` three numbers, and
    ``_random_samples`` is (batch, channels, 3). With ``return_indices`` the result is (values, indices). See
    ``fractional_max_pool2d``.

    >>> torch.nn.functional.fractional_max_pool3d(torch.zeros(1, 4, 4, 4), 2, output_ratio=(0.5, 0.5, 0.5)).shape
    torch.Size([1, 2, 2, 2])
    """
    result = _pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return result if return_indices else result[0]


# -- max pooling undone -----------------------------------------------------------------------------------------------


def _max_unpool(
    dims: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    name = f"max_unpool{dims}d"
    kernel = several(name, "kernel_size", kernel_size, dims)
    strides = kernel if stride is None else several(name, "stride", stride, dims)
    paddings = several(name, "padding", padding, dims)
    lengths = input.shape[-dims:]
    if len(lengths) < dims:
        raise IndexError("tuple index out of range")
    if output_size is not None and not isinstance(output_size, Collection):
        raise TypeError(f"object of type '{type(output_size).__name__}' has no len()")
    default = tuple((n - 1) * s + k - 2 * p for n, s, k, p in zip(lengths, strides, kernel, paddings, strict=True))
    sizes = default if output_size is None else tuple(output_size)
    if len(sizes) not in (dims, dims + 2):
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
            f"'{len(sizes)}'"
        )
    sizes = sizes[-dims:]
    for axis, (size, usual, s) in enumerate(zip(sizes, default, strides, strict=True)):
        if not usual - s < size < usual + s:
            raise ValueError(
                f'invalid output_size "{tuple(sizes)}" (dim {axis} must be between {usual - s} and {usual + s})'
            )
    _check_unpooled(dims, input, indices)
    if indices.dtype is not int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype.scalar_name}")
    count = 1
    for size in sizes:
        count *= size
    volume = "x".join(map(str, sizes if dims > 1 else (*sizes, 1)))
    text = f"(output volumes are of size {volume})"
    refuse_elements(
        indices, outside, 0, count,
        complaint=lambda found: RuntimeError(f"Found an invalid max index: {found.number} {text}"),
    )  # fmt: skip
    if dims == 1:
        return in_planes(partial(unpooling.UNPOOLS[2], lengths=(*sizes, 1)), -1, input, indices)
    return unpooling.UNPOOLS[dims](input, indices, lengths=sizes)


def _check_unpooled(dims: int, input: Tensor, indices: Tensor) -> None:
    """Refuse shapes that don't fit. Raises RuntimeError: PyTorch's messages."""
    plane, given = max(dims, 2), input.ndim + (dims == 1)
    if given not in (plane + 1, plane + 2):
        raise RuntimeError(
            f"Input to max_unpooling{plane}d should be a {plane + 1}d or {plane + 2}d Tensor, but got a tensor with "
            f"{given} dimensions."
        )
    if indices.shape != input.shape:
        one = [1] if dims == 1 else []
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({[*input.shape, *one]}) but got "
            f"indices tensor with shape: {[*indices.shape, *one]}"
        )
    refuse_dtypes(f"max_unpool{plane}d", input._spec, bool=True, integral=True, complex=True)


@public("nn.functional")
def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Zeros, with the input at the indices that ``max_pool1d`` gave.

    Args:
        input: what was pooled, (batch, channels, length), or (channels, length).
        indices: int64 of the same shape, into the longer dimension that results.
        kernel_size: that of the pooling: an int, or a tuple of one, like ``stride`` (``kernel_size`` by default) and
            ``padding``. They say how long the result is: ``(length - 1) * stride + kernel_size - 2 * padding``.
        stride: see there.
        padding: see there.
        output_size: the length of the result, where poolings of several lengths give the same: (length,), or a whole
            shape.

    Raises:
        ValueError: an ``output_size`` that such a pooling can't have had.
        RuntimeError: indices that are not int64, or out of range.

    >>> values, indices = torch.nn.functional.max_pool1d(torch.tensor([[1.0, 5.0, 2.0, 3.0]]), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool1d(values, indices, 2)
    tensor([[0., 5., 0., 3.]])
    """
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


@public("nn.functional")
def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Zeros, with the ``input`` (batch, channels, height, width) at the ``indices`` that ``max_pool2d`` gave.

    ``kernel_size``, ``stride`` and ``padding`` are those of the pooling: ints, or pairs. ``output_size``, the last two
    lengths of the result or its shape, is needed where poolings of several sizes give the same. See ``max_unpool1d``.

    >>> torch.nn.functional.max_unpool2d(torch.tensor([[[7.0]]]), torch.tensor([[[2]]]), kernel_size=2)
    tensor([[[0., 0.],
             [7., 0.]]])
    """
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


@public("nn.functional")
def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Zeros, with the ``input`` (batch, channels, *space) at the ``indices`` that ``max_pool3d`` gave.

    ``kernel_size``, ``stride`` and ``padding`` are those of the pooling: ints, or three of them. ``output_size``, the
    last three lengths of the result or its shape, is needed where poolings of several sizes give the same. See
    ``max_unpool1d``.

    >>> torch.nn.functional.max_unpool3d(torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1).long(), kernel_size=(1, 1, 2))
    tensor([[[[1., 0.]]]])
    """
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)

"""Convolutions of sequences, images and volumes, and transposed ones.

Sizes are one number, or one for each dimension. Shapes: 1d (N, C, L), 2d (N, C, H, W), 3d (N, C, D, H, W), each also
without N. Of a length L a convolution makes

    floor((L + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)

and a transposed one, which has the connections of a convolution in the other direction,

    (L - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding + 1

The ``weight`` is (out_channels, in_channels / groups, *kernel_size), of a transposed one (in_channels, out_channels /
groups, *kernel_size). At first its elements, and those of ``bias``, are uniform within ``1 / sqrt(fan_in)`` of 0: see
Note [Fans] in ``nn/init.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tapegrad._src.functions.creation import empty, empty_like
from tapegrad._src.tensor.layout import contiguous_format
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nn import functional as F
from tapegrad.nn import init
from tapegrad.nn.modules.lazy import LazyModuleMixin
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.utils import OfDimensions, _ntuple, _reverse_repeat_tuple
from tapegrad.nn.parameter import Parameter, UninitializedParameter

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

PADDING_MODES = {"zeros", "reflect", "replicate", "circular"}


class _ConvNd(Module):
    """The base class of all convolutions: settings that were spread over the dimensions, parameters, and what is
    shown."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels",
        "kernel_size",
    ]  # fmt: skip
    bias: Parameter | None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...],
        padding: str | tuple[int, ...], dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...],
        groups: int, bias: bool, padding_mode: str, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        check_settings(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride, self.padding, self.dilation = kernel_size, stride, padding, dilation
        self.transposed, self.output_padding = transposed, output_padding
        self.groups, self.padding_mode = groups, padding_mode
        self._reversed_padding_repeated_twice = both_sides(padding, kernel_size, dilation)
        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return first, second // self.groups, *self.kernel_size

    def reset_parameters(self) -> None:
        """Draw the parameters as at first."""
        with no_grad():
            if self.weight.is_contiguous():
                init.kaiming_uniform_(self.weight, a=math.sqrt(5))
            else:  # so that the memory's order makes no difference
                drawn = empty_like(self.weight, memory_format=contiguous_format)
                self.weight.copy_(init.kaiming_uniform_(drawn, a=math.sqrt(5)))
            if self.bias is not None:
                fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
                bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            shown += "" if value == (usual,) * len(value) else f", {name}={value}"
        shown += "" if self.groups == 1 else f", groups={self.groups}"
        shown += ", bias=False" if self.bias is None else ""
        return shown + ("" if self.padding_mode == "zeros" else f", padding_mode={self.padding_mode}")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"padding_mode": "zeros", **state})


def check_settings(
    in_channels: int, out_channels: int, stride: Sequence[int], padding: Any, groups: int, padding_mode: str
) -> None:
    """Refuse what no convolution can be made with.
    Raises ValueError: channels that can't be shared out among the groups; an unknown padding or mode of padding;
    padding to the same length with a stride.
    """
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of { {'same', 'valid'} }")
        if padding == "same" and any(step != 1 for step in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if padding_mode not in PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {PADDING_MODES}, but got padding_mode='{padding_mode}'")


def both_sides(padding: Any, kernel_size: Sequence[int], dilation: Sequence[int]) -> list[int] | tuple[int, ...]:
    """The padding of each side, the last dimension first, as ``F.pad`` takes it.

    >>> both_sides((1, 2), (3, 3), (1, 1)), both_sides("same", (4,), (1,))
    ((2, 2, 1, 1), [1, 2])
    """
    if not isinstance(padding, str):
        return _reverse_repeat_tuple(padding, 2)
    found: list[int] = []
    for size, step in zip(reversed(kernel_size), reversed(dilation), strict=True):
        total = step * (size - 1) if padding == "same" else 0
        found += [total // 2, total - total // 2]
    return found


# -- convolutions ------------------------------------------------------------------------------------------------------


class _Convolution(OfDimensions, _ConvNd):
    """The base class of convolutions that aren't transposed.

    Args:
        in_channels, out_channels: how many channels come in and go out.
        kernel_size: of the window that each output is computed from.
        stride: from one window to the next.
        padding: how much is put at both ends; ``"valid"`` for nothing, ``"same"`` to keep the length.
        dilation: from one element of a window to the next.
        groups: how many convolutions side by side there are, each with its part of the channels.
        bias: whether there is one for each output channel.
        padding_mode: what is put there: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device, dtype: those of the parameters.

    Raises:
        ValueError: see ``check_settings``.
    """

    _about = (
        "``kernel_size``, ``stride`` and ``dilation`` are {sizes}, and so is ``padding``, which may\n"
        "be ``\"same\"`` or ``\"valid\"`` too. ``groups`` is into how many groups channels are cut,\n"
        "``bias`` whether there is one. ``padding_mode``, if not ``\"zeros\"``, is\n"
        "``\"reflect\"``, ``\"replicate\"`` or ``\"circular\"``."
    )
    _convolve: ClassVar[Callable]

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        spread = _ntuple(self._dims)
        super().__init__(
            in_channels, out_channels, spread(kernel_size), spread(stride),
            padding if isinstance(padding, str) else spread(padding), spread(dilation), False, spread(0), groups, bias,
            padding_mode, device=device, dtype=dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
            padding = (0,) * self._dims
        return self._convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, *self._two("_parameters", "weight", "bias"))


class Conv1d(_Convolution):
    """A convolution of sequences: (N, in_channels, L) to (N, out_channels, L').

    >>> Conv1d(3, 4, 3, padding=1)(torch.ones(2, 3, 5)).shape
    torch.Size([2, 4, 5])
    """

    _dims, _convolve = 1, staticmethod(F.conv1d)


class Conv2d(_Convolution):
    """A convolution of images: (N, in_channels, H, W) to (N, out_channels, H', W').

    >>> layer = Conv2d(3, 4, 3, stride=2)
    >>> layer, layer(torch.ones(2, 3, 5, 7)).shape
    (Conv2d(3, 4, kernel_size=(3, 3), stride=(2, 2)), torch.Size([2, 4, 2, 3]))
    """

    _dims, _convolve = 2, staticmethod(F.conv2d)


class Conv3d(_Convolution):
    """A convolution of volumes: (N, in_channels, D, H, W) to (N, out_channels, D', H', W').

    >>> torch.nn.Conv3d(2, 3, 3, padding="same")(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 3, 4, 4, 4])
    """

    _dims, _convolve = 3, staticmethod(F.conv3d)


# -- transposed --------------------------------------------------------------------------------------------------------


class _ConvTransposeNd(_ConvNd):
    """The base class of transposed convolutions, once their settings are spread over the dimensions."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, ...], stride: tuple[int, ...],
        padding: tuple[int, ...], dilation: tuple[int, ...], transposed: bool, output_padding: tuple[int, ...],
        groups: int, bias: bool, padding_mode: str, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups,
            bias, padding_mode, device=device, dtype=dtype,
        )  # fmt: skip

    def _output_padding(
        self, input: Tensor, output_size: Any, stride: Sequence[int], padding: Any,
        kernel_size: Sequence[int], num_spatial_dims: int, dilation: Sequence[int] | None = None,
    ) -> Sequence[int]:  # fmt: skip
        """The length by which the output has to be longer than it would be, to be of a given size.
        Raises ValueError: a size with another number of dimensions, or one that no padding makes.
        """
        if output_size is None:
            return self.output_padding
        given, before = output_size, 2 if input.dim() == num_spatial_dims + 2 else 1
        if len(output_size) == before + num_spatial_dims:
            output_size = output_size[before:]
        if len(output_size) != num_spatial_dims:
            raise ValueError(
                f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have {num_spatial_dims} "
                f"or {before + num_spatial_dims} elements (got {len(given)})"
            )
        dilation = dilation or [1] * num_spatial_dims
        rows = zip(input.shape[before:], stride, padding, dilation, kernel_size, strict=True)
        least = [(n - 1) * step - 2 * pad + apart * (size - 1) + 1 for n, step, pad, apart, size in rows]
        most = [length + step - 1 for length, step in zip(least, stride, strict=True)]
        if not all(low <= size <= high for low, size, high in zip(least, output_size, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} "
                f"(for an input of {input.size()[2:]})"
            )
        return [size - low for size, low in zip(output_size, least, strict=True)]


class _Transposed(OfDimensions, _ConvTransposeNd):
    """The base class of transposed convolutions.

    Args:
        in_channels, out_channels: how many channels come in and go out.
        kernel_size, stride, padding, dilation: those of the convolution that goes the other way.
        output_padding: how much longer the output is: several lengths come to the same by a convolution with a stride.
        groups: how many convolutions side by side there are, each with its part of the channels.
        bias: whether there is one for each output channel.
        padding_mode: ``"zeros"``.
        device, dtype: those of the parameters.

    ``forward`` takes the ``output_size`` besides, from which the output padding is found.

    Raises:
        ValueError: see ``check_settings``; another mode of padding; an output size that can't be.
    """

    _about = (
        "``kernel_size``, ``stride``, ``padding`` (what is cut off of the result), ``output_padding`` (what it is\n"
        "longer at one side) and ``dilation`` are {sizes}. ``groups`` is into how many groups channels are cut,\n"
        "``bias`` whether there is one. ``padding_mode`` is ``\"zeros\"``."
    )
    _convolve: ClassVar[Callable]

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        spread = _ntuple(self._dims)
        super().__init__(
            in_channels, out_channels, spread(kernel_size), spread(stride), spread(padding), spread(dilation), True,
            spread(output_padding), groups, bias, padding_mode, device=device, dtype=dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        if self.padding_mode != "zeros":
            raise ValueError(f"Only `zeros` padding mode is supported for ConvTranspose{self._dims}d")
        output_padding = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, self._dims, self.dilation
        )
        return self._convolve(
            input, *self._two("_parameters", "weight", "bias"), self.stride, self.padding, output_padding, self.groups,
            self.dilation,
        )  # fmt: skip


class ConvTranspose1d(_Transposed):
    """A transposed convolution of sequences: (N, in_channels, L) to (N, out_channels, L').

    >>> ConvTranspose1d(3, 4, 3, stride=2)(torch.ones(2, 3, 5), output_size=[12]).shape
    torch.Size([2, 4, 12])
    """

    _dims, _convolve = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_Transposed):
    """A transposed convolution of images: (N, in_channels, H, W) to (N, out_channels, H', W').

    >>> torch.nn.ConvTranspose2d(2, 3, 2, stride=2)(torch.ones(1, 2, 4, 4)).shape
    torch.Size([1, 3, 8, 8])
    """

    _dims, _convolve = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_Transposed):
    """A transposed convolution of volumes: (N, in_channels, D, H, W) to (N, out_channels, D', H', W').

    >>> torch.nn.ConvTranspose3d(2, 3, 2, stride=2)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 3, 8, 8, 8])
    """

    _dims, _convolve = 3, staticmethod(F.conv_transpose3d)


# -- lazy --------------------------------------------------------------------------------------------------------------


class _LazyConvXdMixin(LazyModuleMixin):
    """A base class that makes a convolution lazy: ``in_channels`` is learnt from the first input."""

    _dims: int
    in_channels: int
    out_channels: int
    groups: int
    weight: Any
    bias: Any

    def _uninitialize(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        """Have uninitialized parameters."""
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters as at first, if their shapes are known."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Read ``in_channels`` off an input, and draw the parameters."""
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if not isinstance(self.weight, UninitializedParameter):
            raise AssertionError("self.weight must be an UninitializedParameter")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            if not isinstance(self.bias, UninitializedParameter):
                raise AssertionError("self.bias must be an UninitializedParameter")
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input: Tensor) -> int:
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise RuntimeError(
                f"Expected {self._dims + 1}D (unbatched) or {self._dims + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[input.dim() - self._dims - 1]

    def _get_num_spatial_dims(self) -> int:
        return self._dims


class _LazyConvolution(_LazyConvXdMixin):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device=device, dtype=dtype
        )
        self._uninitialize(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConvXdMixin):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device=device,
            dtype=dtype,
        )  # fmt: skip
        self._uninitialize(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvolution, Conv1d):
    """A ``Conv1d`` that learns ``in_channels`` from its first input; ``out_channels`` come out.

    >>> torch.nn.LazyConv1d(3, 2)(torch.ones(1, 2, 4)).shape
    torch.Size([1, 3, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """A ``Conv2d`` that learns ``in_channels`` from its first input; ``out_channels`` come out.

    >>> layer = LazyConv2d(4, 3)
    >>> layer(torch.ones(2, 3, 5, 7)).shape, layer
    (torch.Size([2, 4, 3, 5]), Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1)))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """A ``Conv3d`` that learns ``in_channels`` from its first input; ``out_channels`` come out.

    >>> torch.nn.LazyConv3d(3, 2)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 3, 3, 3, 3])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A ``ConvTranspose1d`` that learns ``in_channels`` from its first input; ``out_channels`` come out.

    >>> torch.nn.LazyConvTranspose1d(3, 2, stride=2)(torch.ones(1, 2, 4)).shape
    torch.Size([1, 3, 8])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A ``ConvTranspose2d`` that learns ``in_channels`` from its first input; ``out_channels`` come out.

    >>> torch.nn.LazyConvTranspose2d(3, 2, stride=2)(torch.ones(1, 2, 4, 4)).shape
    torch.Size([1, 3, 8, 8])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A ``ConvTranspose3d`` that learns ``in_channels`` from its first input; ``out_channels`` come out.

    >>> torch.nn.LazyConvTranspose3d(3, 2, stride=2)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 3, 8, 8, 8])
    """

    cls_to_become = ConvTranspose3d

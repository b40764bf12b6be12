"""Written by ``python -m tapegrad.stubs``: see ``tapegrad/stubs/__init__.py``."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, Self, SupportsIndex, overload

import jax
import numpy as np

from tapegrad.execution.devices import device as _device
from tapegrad.execution.dtypes import dtype as _dtype
from tapegrad.bindings.generator import Generator
from tapegrad.bindings.storages import TypedStorage, UntypedStorage
from tapegrad.bindings import return_types
from tapegrad.tape.hooks import RemovableHandle
from tapegrad.tape.node import Node
from tapegrad.tensor.layout import layout as _layout
from tapegrad.tensor.layout import memory_format as _memory_format
from tapegrad.tensor.spec import Size
from tapegrad.tensor.tensor import Tensor

_Number = _int | _float | _complex
_Scalar = _int | _float | _complex | Tensor

def _canonical_mask(mask: Tensor | None, mask_name: _str, other_type: _dtype | None, other_name: _str, target_type: _dtype, check_other: _bool = ...) -> Tensor | None:
    """A mask to be added: -inf where one of booleans is True, in ``target_type``. A warning, if another mask is there,"""
def _get_softmax_dim(name: _str, ndim: _int, stacklevel: _int) -> _int:
    """The dimension that is meant where none is given, with a warning that says so."""
def _none_or_dtype(input: Tensor | None) -> _dtype | None:
    """The dtype of ``input``, a mask; None for none."""
def _threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = ...) -> Tensor:
    """``input`` where above the threshold, ``value`` elsewhere. ``inplace`` writes it to ``input``."""
def _verify_batch_size(size: Sequence[_int]) -> None:
    """Refuse a batch that has one value of each channel. Raises ValueError."""
def _verify_spatial_size(size: Sequence[_int]) -> None:
    """Refuse examples that have one value of each channel. Raises ValueError."""
def adaptive_avg_pool1d(input: Tensor, output_size: Sequence[_int] | _int) -> Tensor:
    """The mean of each of ``output_size`` windows of (nearly) equal length: floats (batch, channels, length)."""
def adaptive_avg_pool2d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor:
    """The mean of each window, of which there are ``output_size`` along each dimension (None: one per element)."""
def adaptive_avg_pool3d(input: Tensor, output_size: _int | Sequence[_int]) -> Tensor:
    """The mean of each window along the last three dimensions of (batch, channels, depth, height, width)."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int], return_indices: Literal[False] = ...) -> Tensor:
    """The greatest of each of ``output_size`` windows of (nearly) equal length: floats (batch, channels, length)."""
@overload
def adaptive_max_pool1d(input: Tensor, output_size: _int | Sequence[_int], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The greatest of each of ``output_size`` windows of (nearly) equal length: floats (batch, channels, length)."""
@overload
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: _int | Sequence[_int], return_indices: Literal[False] = ...) -> Tensor:
    """``adaptive_max_pool1d`` of ``input`` and ``output_size``, and the indices, whatever ``return_indices`` says."""
@overload
def adaptive_max_pool1d_with_indices(input: Tensor, output_size: _int | Sequence[_int], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool1d`` of ``input`` and ``output_size``, and the indices, whatever ``return_indices`` says."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | Sequence[_int], return_indices: Literal[False] = ...) -> Tensor:
    """The greatest of each window, of which there are ``output_size`` along each dimension (None: one per element)."""
@overload
def adaptive_max_pool2d(input: Tensor, output_size: _int | Sequence[_int], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The greatest of each window, of which there are ``output_size`` along each dimension (None: one per element)."""
@overload
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: _int | Sequence[_int], return_indices: Literal[False] = ...) -> Tensor:
    """``adaptive_max_pool2d`` of ``input`` and ``output_size``, and the indices, whatever ``return_indices`` says."""
@overload
def adaptive_max_pool2d_with_indices(input: Tensor, output_size: _int | Sequence[_int], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool2d`` of ``input`` and ``output_size``, and the indices, whatever ``return_indices`` says."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | Sequence[_int], return_indices: Literal[False] = ...) -> Tensor:
    """The greatest of each window along the last three dimensions of (batch, channels, depth, height, width)."""
@overload
def adaptive_max_pool3d(input: Tensor, output_size: _int | Sequence[_int], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The greatest of each window along the last three dimensions of (batch, channels, depth, height, width)."""
@overload
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: _int | Sequence[_int], return_indices: Literal[False] = ...) -> Tensor:
    """``adaptive_max_pool3d`` of ``input`` and ``output_size``, and the indices, whatever ``return_indices`` says."""
@overload
def adaptive_max_pool3d_with_indices(input: Tensor, output_size: _int | Sequence[_int], *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool3d`` of ``input`` and ``output_size``, and the indices, whatever ``return_indices`` says."""
def affine_grid(theta: Tensor, size: Sequence[_int], align_corners: _bool | None = ...) -> Tensor:
    """The points to which affine maps take those of a plane or volume of this ``size``."""
def alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Dropout that keeps mean and variance of standard normal inputs: dropped elements get the floor of SELU."""
def avg_pool1d(input: Tensor, kernel_size: Sequence[_int] | _int, stride: Sequence[_int] | _int | None = ..., padding: Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> Tensor:
    """The mean of each window of ``input``: (batch, channels, length), or (channels, length)."""
def avg_pool2d(input: Tensor, kernel_size: Sequence[_int] | _int, stride: Sequence[_int] | _int | None = ..., padding: Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The mean of each window along the last two dimensions."""
def avg_pool3d(input: Tensor, kernel_size: Sequence[_int] | _int, stride: Sequence[_int] | _int | None = ..., padding: Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The mean of each window along the last three dimensions of (batch, channels, depth, height, width)."""
def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = ..., bias: Tensor | None = ..., training: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """Each channel (dimension 1) less its mean, over its standard deviation, times ``weight``, plus ``bias``."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """``input1 @ weight[o] @ input2 + bias[o]`` for each output o, with a weight (out, in1, in2)."""
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """``-(target log(input) + (1 - target) log(1 - input))`` of probabilities, logarithms cut at -100."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ..., pos_weight: Tensor | None = ...) -> Tensor:
    """``binary_cross_entropy`` of ``sigmoid(input)``, accurate far out."""
def celu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input / alpha) - 1)``. ``inplace`` writes it to ``input``."""
def celu_(input: Tensor, alpha: _Scalar = ...) -> Tensor:
    """In-place version of ``celu``, with the same arguments."""
def channel_shuffle(input: Tensor, groups: _int | Tensor) -> Tensor:
    """``input`` (N, C, ...) with the channels of ``groups`` groups dealt out in turn."""
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, length), or (in, length), with a weight (out, in / groups, kernel)."""
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: _str = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, length), or (in, length), with a weight (out, in / groups, kernel)."""
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, height, width) with a weight (out, in / groups, *kernel). See ``conv1d``."""
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: _str = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, height, width) with a weight (out, in / groups, *kernel). See ``conv1d``."""
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, depth, height, width) with a weight (out, in / groups, *kernel). See"""
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: _str = ..., dilation: Sequence[_int] | _int = ..., groups: _int | Tensor = ...) -> Tensor:
    """The cross-correlation of (batch, in, depth, height, width) with a weight (out, in / groups, *kernel). See"""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int | Tensor = ...) -> Tensor:
    """``conv1d`` with the dimensions in another order."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., output_padding: Sequence[_int] | _int = ..., groups: _int | Tensor = ..., dilation: Sequence[_int] | _int = ...) -> Tensor:
    """The transpose of ``conv1d``: what takes its outputs' gradients to its input's."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., output_padding: Sequence[_int] | _int = ..., groups: _int | Tensor = ..., dilation: Sequence[_int] | _int = ...) -> Tensor:
    """The transpose of ``conv2d``: ``input`` (batch, in, height, width), with a weight (in, out / groups, *kernel)."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Sequence[_int] | _int = ..., padding: Sequence[_int] | _int = ..., output_padding: Sequence[_int] | _int = ..., groups: _int | Tensor = ..., dilation: Sequence[_int] | _int = ...) -> Tensor:
    """The transpose of ``conv3d``: ``input`` (batch, in, depth, height, width), a weight (in, out / groups, *kernel)."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """``1 - cos`` of pairs whose target is 1, ``max(0, cos - margin)`` of those with -1."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = ..., eps: _float | Tensor = ...) -> Tensor:
    """The inner product of ``x1`` and ``x2`` along ``dim``, over both norms (each at least ``eps``)."""
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: _str = ..., label_smoothing: _float = ...) -> Tensor:
    """The cross entropy of logits and classes, or probabilities of classes: ``nll_loss`` of ``log_softmax``."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = ..., reduction: _str = ..., zero_infinity: _bool = ...) -> Tensor:
    """Minus the logarithm of how likely labels are, over all ways to spread them over time."""
def dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """The input with elements set to 0 with probability ``p``, the others divided by ``1 - p``."""
def dropout1d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """``dropout`` of whole channels of ``input``: (batch, channels, length), or (channels, length)."""
def dropout2d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """``dropout`` of whole channels of ``input``: (batch, channels, height, width)."""
def dropout3d(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """``dropout`` of whole channels of ``input``: (batch, channels, depth, height, width), or without the batch."""
def elu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor:
    """``input`` where positive, else ``alpha * (exp(input) - 1)``. ``inplace`` writes it to ``input``."""
def elu_(input: Tensor, alpha: _Scalar = ..., scale: _Scalar = ..., input_scale: _Scalar = ...) -> Tensor:
    """In-place version of ``elu``, of ``input_scale * input`` where that is negative, times ``scale``."""
def embedding(input: Tensor, weight: Tensor, padding_idx: _int | None = ..., max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """The rows of ``weight`` (count, width) with the numbers in ``input`` (any shape): (*shape, width)."""
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = ..., max_norm: _float | None = ..., norm_type: _float = ..., scale_grad_by_freq: _bool = ..., mode: _str = ..., sparse: _bool = ..., per_sample_weights: Tensor | None = ..., include_last_offset: _bool = ..., padding_idx: _int | None = ...) -> Tensor:
    """The sum, the mean or the greatest of the rows of ``weight`` in each bag of numbers: (bags, width)."""
def feature_alpha_dropout(input: Tensor, p: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """``alpha_dropout`` of whole channels (dimension 1) of ``input``, each with probability ``p``."""
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> Tensor:
    """Columns added to the windows of a plane: (batch, channels * taps, windows) to (batch, channels, *output_size)."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: Literal[False] = ..., _random_samples: Tensor | None = ...) -> Tensor:
    """The greatest of ``output_size`` windows along each of the last two dimensions, which begin at random places."""
@overload
def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., *, return_indices: Literal[True], _random_samples: Tensor | None = ...) -> tuple[Tensor, Tensor]:
    """The greatest of ``output_size`` windows along each of the last two dimensions, which begin at random places."""
def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: _bool = ..., _random_samples: Tensor | None = ...) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool2d``, and the indices in any case, whatever ``return_indices`` says."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: Literal[False] = ..., _random_samples: Tensor | None = ...) -> Tensor:
    """The greatest of ``output_size`` windows along the last three dimensions of ``input``, which begin at random."""
@overload
def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., *, return_indices: Literal[True], _random_samples: Tensor | None = ...) -> tuple[Tensor, Tensor]:
    """The greatest of ``output_size`` windows along the last three dimensions of ``input``, which begin at random."""
def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = ..., output_ratio: Any = ..., return_indices: _bool = ..., _random_samples: Tensor | None = ...) -> tuple[Tensor, Tensor]:
    """``fractional_max_pool3d``, and the indices in any case, whatever ``return_indices`` says."""
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: _bool = ..., eps: _float = ..., reduction: _str = ...) -> Tensor:
    """``(log(var) + (input - target)**2 / var) / 2``, ``var`` at least ``eps`` (which its gradient does not notice)."""
def gelu(input: Tensor, *, approximate: _str = ..., out: Tensor | None = ...) -> Tensor:
    """``input`` times the standard normal distribution function of it; ``approximate="tanh"`` for a cheaper one."""
def glu(input: Tensor, dim: _int = ...) -> Tensor:
    """The first half of ``input`` along ``dim`` times the sigmoid of the second."""
def grid_sample(input: Tensor, grid: Tensor, mode: _str = ..., padding_mode: _str = ..., align_corners: _bool | None = ...) -> Tensor:
    """The input (batch, channels, *space) at the points of a grid (batch, *points, dimensions of space)."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """The input less its mean, over its standard deviation, both over each of ``num_groups`` groups of channels and"""
def grouped_mm(mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = ..., bias: Tensor | None = ..., out_dtype: Any = ...) -> Tensor:
    """The matrix products of groups, which may have different numbers of rows."""
def gumbel_softmax(logits: Tensor, tau: _float = ..., hard: _bool = ..., eps: _float = ..., dim: _int = ...) -> Tensor:
    """A sample of the Gumbel-softmax distribution: ``softmax((logits + noise) / tau)`` along ``dim``."""
def hardshrink(input: Tensor, lambd: _Scalar = ..., *, out: Tensor | None = ...) -> Tensor:
    """0 within ``[-lambd, lambd]``, ``input`` outside."""
def hardsigmoid(input: Tensor, inplace: _bool = ...) -> Tensor:
    """``input / 6 + 1/2``, limited to ``[0, 1]``. ``inplace`` writes it to ``input``."""
def hardswish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """``input * hardsigmoid(input)`` (Howard et al., "Searching for MobileNetV3", 2019). ``inplace`` writes it to"""
def hardtanh(input: Tensor, min_val: _float = ..., max_val: _float = ..., inplace: _bool = ...) -> Tensor:
    """``input`` limited to ``[min_val, max_val]``; no gradient at the bounds. ``inplace`` writes it to ``input``."""
def hardtanh_(input: Tensor, min_val: _Scalar = ..., max_val: _Scalar = ...) -> Tensor:
    """In-place version of ``hardtanh``: ``input`` limited to ``[min_val, max_val]``. Crossed bounds give the upper one."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1."""
def huber_loss(input: Tensor, target: Tensor, reduction: _str = ..., delta: _float = ..., weight: Tensor | None = ...) -> Tensor:
    """Quadratic where the distance ``d`` is at most ``delta`` (``d**2 / 2``), ``delta (d - delta / 2)`` elsewhere."""
def instance_norm(input: Tensor, running_mean: Tensor | None = ..., running_var: Tensor | None = ..., weight: Tensor | None = ..., bias: Tensor | None = ..., use_input_stats: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """Each channel of each element of the batch less its mean, over its standard deviation, times ``weight``, plus"""
def interpolate(input: Tensor, size: Any = ..., scale_factor: Any = ..., mode: _str = ..., align_corners: _bool | None = ..., recompute_scale_factor: _bool | None = ..., antialias: _bool = ...) -> Tensor:
    """The input (batch, channels, *space) in another size of space, or scaled by a factor."""
def kl_div(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ..., log_target: _bool = ...) -> Tensor:
    """``target (log(target) - input)``: the divergence of probabilities (or their logarithms) from log-probabilities."""
def l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ..., weight: Tensor | None = ...) -> Tensor:
    """The absolute differences of ``input`` and ``target``, or their mean or sum; the gradient is 0 where they are 0."""
def layer_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """The input less its mean, over its standard deviation, both over the last dimensions (which must be"""
def leaky_relu(input: Tensor, negative_slope: _float = ..., inplace: _bool = ...) -> Tensor:
    """``input`` where positive, else ``negative_slope * input``. ``inplace`` writes it to ``input``."""
def leaky_relu_(input: Tensor, negative_slope: _Scalar = ...) -> Tensor:
    """In-place version of ``leaky_relu``, with the same arguments."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """``input @ weight.T + bias``: (..., in) to (..., out), with a weight (out, in) or (in,) and a bias (out,)."""
def linear_cross_entropy(input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = ..., weight: Tensor | None = ..., reduction: _str = ..., ignore_index: _int | None = ..., label_smoothing: _float = ..., options: Any = ...) -> Tensor:
    """``cross_entropy`` of ``linear(input, linear_weight, linear_bias)``."""
def local_response_norm(input: Tensor, size: _int, alpha: _float = ..., beta: _float = ..., k: _float = ...) -> Tensor:
    """The input over ``(k + alpha * mean) ** beta``, with the mean of the squares of ``size`` neighbouring channels."""
def log_softmax(input: Tensor, dim: _int | None = ..., _stacklevel: _int = ..., dtype: _dtype | None = ...) -> Tensor:
    """``torch.log_softmax`` of ``input`` along ``dim``, which should be given: a guess is deprecated."""
def logsigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``log(sigmoid(input))``, without overflow."""
def lp_pool1d(input: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
    """``sum(x**p)**(1/p)`` of each window of ``input``, (batch, channels, length), ``p`` being ``norm_type``."""
def lp_pool2d(input: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
    """``sum(x**p)**(1/p)`` of each window of ``input``, (batch, channels, height, width), ``p`` being ``norm_type``."""
def lp_pool3d(input: Tensor, norm_type: _float, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., ceil_mode: _bool = ...) -> Tensor:
    """``sum(x**p)**(1/p)`` of each window along the last three dimensions of ``input``, ``p`` being ``norm_type``."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """``max(0, margin - target (input1 - input2))``: a target of 1 wants the first input higher, -1 the second."""
@overload
def max_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: Literal[False] = ...) -> Tensor:
    """The greatest of each window, and, if wanted, the index of each (int64)."""
@overload
def max_pool1d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The greatest of each window, and, if wanted, the index of each (int64)."""
@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: Literal[False] = ...) -> Tensor:
    """``max_pool1d``, and the indices in any case, whatever ``return_indices`` says."""
@overload
def max_pool1d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """``max_pool1d``, and the indices in any case, whatever ``return_indices`` says."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: Literal[False] = ...) -> Tensor:
    """The greatest of each window along the last two dimensions, and, if wanted, the flat index of each (int64)."""
@overload
def max_pool2d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The greatest of each window along the last two dimensions, and, if wanted, the flat index of each (int64)."""
@overload
def max_pool2d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: Literal[False] = ...) -> Tensor:
    """``max_pool2d``, and the indices in any case, whatever ``return_indices`` says."""
@overload
def max_pool2d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """``max_pool2d``, and the indices in any case, whatever ``return_indices`` says."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: Literal[False] = ...) -> Tensor:
    """The greatest of each window along the last three dimensions of (batch, channels, depth, height, width)."""
@overload
def max_pool3d(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """The greatest of each window along the last three dimensions of (batch, channels, depth, height, width)."""
@overload
def max_pool3d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., return_indices: Literal[False] = ...) -> Tensor:
    """``max_pool3d``, and the indices in any case, whatever ``return_indices`` says."""
@overload
def max_pool3d_with_indices(input: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., dilation: _int | Sequence[_int] = ..., ceil_mode: _bool = ..., *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]:
    """``max_pool3d``, and the indices in any case, whatever ``return_indices`` says."""
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., output_size: Any = ...) -> Tensor:
    """Zeros, with the input at the indices that ``max_pool1d`` gave."""
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., output_size: Any = ...) -> Tensor:
    """Zeros, with the ``input`` (batch, channels, height, width) at the ``indices`` that ``max_pool2d`` gave."""
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: _int | Sequence[_int], stride: _int | Sequence[_int] | None = ..., padding: _int | Sequence[_int] = ..., output_size: Any = ...) -> Tensor:
    """Zeros, with the ``input`` (batch, channels, *space) at the ``indices`` that ``max_pool3d`` gave."""
def mish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """``input * tanh(softplus(input))`` (Misra, 2019). ``inplace`` writes it to ``input``."""
def mse_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ..., weight: Tensor | None = ...) -> Tensor:
    """The squared differences of ``input`` and ``target``, or their mean (weighted by ``weight``) or sum."""
def multi_head_attention_forward(query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: _int, num_heads: _int, in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: _bool, dropout_p: _float, out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: _bool = ..., key_padding_mask: Tensor | None = ..., need_weights: _bool = ..., attn_mask: Tensor | None = ..., use_separate_proj_weight: _bool = ..., q_proj_weight: Tensor | None = ..., k_proj_weight: Tensor | None = ..., v_proj_weight: Tensor | None = ..., static_k: Tensor | None = ..., static_v: Tensor | None = ..., average_attn_weights: _bool = ..., is_causal: _bool = ...) -> tuple[Tensor, Tensor | None]:
    """What ``num_heads`` heads, each of an equal share of the width E, attend to; and with what weights, if wanted."""
def multi_margin_loss(input: Tensor, target: Tensor, p: _int = ..., margin: _float = ..., weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """``max(0, margin - x[t] + x[i])**p`` of all classes but ``t``, the target, over their number: (N, C), (N,)."""
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """``max(0, 1 - x[j] + x[i])`` of all labels ``j`` and all classes ``i`` that are none, over the number of classes."""
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """The mean over the classes (last dimension) of the binary cross entropy of logits, weighted by class."""
def native_channel_shuffle(input: Tensor, groups: _int | Tensor) -> Tensor:
    """``input`` (N, C, ...) with the channels of ``groups`` groups dealt out in turn."""
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """Minus the log-probability of each target class."""
def normalize(input: Tensor, p: _float = ..., dim: Any = ..., eps: _float = ...) -> Tensor:
    """``input`` over its ``p``-norm along ``dim``, or over ``eps`` where that is more."""
def one_hot(input: Tensor, num_classes: _int = ...) -> Tensor:
    """int64 zeros with a one at each class, along a new last dimension as long as there are classes."""
def pad(input: Tensor, pad: Sequence[_int], mode: _str = ..., value: _float | None = ...) -> Tensor:
    """``input`` with something put around it: ``pad`` holds (before, after) of the last dimension, then of the one"""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float | Tensor = ..., eps: _float | Tensor = ..., keepdim: _bool = ...) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension, which stays, with length 1, if ``keepdim``."""
def pdist(input: Tensor, p: _float | Tensor = ...) -> Tensor:
    """The ``p``-norms of the differences of all pairs of rows of a matrix (n, k), in order: (n (n - 1) / 2,)."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """(..., C r^2, H, W) to (..., C, H r, W r), ``upscale_factor`` being r: the channels of ``input`` become blocks."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """(..., C, H r, W r) to (..., C r^2, H, W), ``downscale_factor`` being r: the inverse of ``pixel_shuffle``."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool = ..., full: _bool = ..., size_average: _bool | None = ..., eps: _float = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """``exp(input) - target * input``: the negative log likelihood of counts, whose (log) rate is ``input``."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``input`` where positive, else ``weight * input``, with one weight or one for each channel (dimension 1)."""
def relu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """``input`` where positive, else 0; the gradient at 0 is 0. ``inplace`` writes it to ``input``."""
def relu6(input: Tensor, inplace: _bool = ...) -> Tensor:
    """``input`` limited to ``[0, 6]``; no gradient at the bounds. ``inplace`` writes it to ``input``."""
def relu_(input: Tensor) -> Tensor:
    """In-place version of ``relu``, with the same arguments."""
def rms_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
    """The input over the root mean square of its last dimensions, times ``weight``."""
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """``input`` where positive, else times a slope: in ``training`` drawn from [``lower``, ``upper``) for each element."""
def rrelu_(input: Tensor, lower: _Scalar = ..., upper: _Scalar = ..., training: _bool = ..., generator: Generator | None = ...) -> Tensor:
    """In-place version of ``rrelu``: negative elements of ``input`` times a slope between ``lower`` and ``upper``."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: _float | Tensor = ..., is_causal: _bool = ..., *, scale: _float | Tensor | None = ..., enable_gqa: _bool = ...) -> Tensor:
    """``softmax(query @ key.mT * scale + mask) @ value``: (..., n, d), (..., m, d) and (..., m, e) to (..., n, e)."""
def selu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """``elu`` with constants that keep mean 0 and variance 1 through layers (Klambauer et al., 2017)."""
def selu_(input: Tensor) -> Tensor:
    """In-place version of ``selu``, with the same arguments."""
def sigmoid(input: Tensor) -> Tensor:
    """``1 / (1 + exp(-input))``."""
def silu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """``input * sigmoid(input)``, also called swish. ``inplace`` writes it to ``input``."""
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ..., beta: _float = ...) -> Tensor:
    """Quadratic where the distance ``d`` is less than ``beta`` (``d**2 / (2 beta)``), ``d - beta / 2`` elsewhere."""
def soft_margin_loss(input: Tensor, target: Tensor, size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """``log(1 + exp(-target * input))``, for targets of 1 and -1."""
def softmax(input: Tensor, dim: _int | None = ..., _stacklevel: _int = ..., dtype: _dtype | None = ...) -> Tensor:
    """``torch.softmax`` of ``input`` along ``dim``, which should be given: a guess is deprecated."""
def softmin(input: Tensor, dim: _int | None = ..., _stacklevel: _int = ..., dtype: _dtype | None = ...) -> Tensor:
    """``softmax`` of the negative of ``input`` along ``dim``, which should be given: a guess is deprecated."""
def softplus(input: Tensor, beta: _Scalar = ..., threshold: _Scalar = ..., *, out: Tensor | None = ...) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``; ``input`` itself where ``beta * input`` is above the threshold."""
def softshrink(input: Tensor, lambd: _Scalar = ..., *, out: Tensor | None = ...) -> Tensor:
    """``input`` moved towards 0 by ``lambd``, not beyond."""
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``."""
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``."""
def threshold(input: Tensor, threshold: _float, value: _float, inplace: _bool = ...) -> Tensor:
    """``input`` where above the threshold, ``value`` elsewhere. ``inplace`` writes it to ``input``."""
def threshold_(input: Tensor, threshold: _Scalar, value: _Scalar) -> Tensor:
    """In-place version of ``threshold``, with the same arguments."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = ..., p: _float = ..., eps: _float = ..., swap: _bool = ..., size_average: _bool | None = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """``max(0, margin + d(anchor, positive) - d(anchor, negative))`` with the distance of ``pairwise_distance``."""
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable | None = ..., margin: _float = ..., swap: _bool = ..., reduction: _str = ...) -> Tensor:
    """``triplet_margin_loss`` with a distance of one's own; without, that of ``pairwise_distance``."""
def unfold(input: Tensor, kernel_size: Any, dilation: Any = ..., padding: Any = ..., stride: Any = ...) -> Tensor:
    """Every window of a plane as a column: (batch, channels, height, width) to (batch, channels * taps, windows)."""
def upsample(input: Tensor, size: Any = ..., scale_factor: Any = ..., mode: _str = ..., align_corners: _bool | None = ...) -> Tensor:
    """The old name of ``interpolate``, of whose arguments it takes ``input``, ``size``, ``scale_factor``, ``mode`` and"""
def upsample_bilinear(input: Tensor, size: Any = ..., scale_factor: Any = ...) -> Tensor:
    """``interpolate`` of ``input`` to a ``size`` or by a ``scale_factor`` with ``mode="bilinear"`` and aligned corners,"""
def upsample_nearest(input: Tensor, size: Any = ..., scale_factor: Any = ...) -> Tensor:
    """``interpolate`` of ``input`` to a ``size`` or by a ``scale_factor`` with ``mode="nearest"``, under its old name."""

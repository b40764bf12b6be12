"""``torch.nn.init``: functions that fill a tensor with a layer's initial values, and return it.

None of them is recorded. Those whose names have no trailing underscore are PyTorch's old ones, which warn.

Note [Fans]
The weight of a layer is ``(outputs, inputs, *kernel)``. Each of its outputs is a sum over ``fan_in = inputs * kernel``
terms, and each input is in ``fan_out = outputs * kernel`` of them. Weights of the variance ``1 / fan_in`` keep the
variance of what goes forward, those of ``1 / fan_out`` that of the gradients (Glorot and Bengio 2010, He et al. 2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.overriding import handle_torch_function, has_torch_function_unary
from tapegrad._src.functions.creation import arange, empty_like
from tapegrad._src.functions.creation import eye as identity_matrix
from tapegrad._src.functions.joining import stack
from tapegrad._src.functions.qr import qr
from tapegrad._src.functions.random import randperm
from tapegrad._src.functions.selection import where
from tapegrad._src.functions.slicing import diag
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.grad_mode import no_grad

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse",
    "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform",
    "xavier_uniform_", "zeros_",
]  # fmt: skip

GAINS = {
    "linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "conv_transpose1d": 1, "conv_transpose2d": 1,
    "conv_transpose3d": 1, "sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4,
}  # fmt: skip


# -- fans and gains ----------------------------------------------------------------------------------------------------


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a function calls for larger weights, so that variances stay what they are.

    Args:
        nonlinearity: ``"linear"``, ``"conv1d"`` and its like, ``"sigmoid"``, ``"tanh"``, ``"relu"``,
            ``"leaky_relu"`` or ``"selu"``.
        param: the negative slope of ``"leaky_relu"``, 0.01 if None.

    Raises:
        ValueError: a function that isn't known, or a slope that is no number.

    >>> calculate_gain("tanh"), round(calculate_gain("leaky_relu", 1.0), 6)
    (1.6666666666666667, 1.0)
    """
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """``fan_in`` and ``fan_out`` of a weight. See Note [Fans]."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *kernel = tensor.shape
    return inputs * math.prod(kernel), outputs * math.prod(kernel)


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """One of the two, by its name."""
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


# -- distributions and constants ---------------------------------------------------------------------------------------


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill ``tensor`` with numbers from the interval [a, b); ``generator`` draws them.

    >>> bool((uniform_(torch.empty(8), 2.0, 3.0) >= 2).all())
    True
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(uniform_, (tensor,), tensor=tensor, a=a, b=b, generator=generator)
    return _no_grad_uniform_(tensor, a, b, generator)


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill ``tensor`` with normal numbers of this ``mean`` and standard deviation ``std``; ``generator`` draws them.

    >>> w = torch.nn.init.normal_(torch.empty(10000), mean=5.0, std=0.01)
    >>> round(w.mean().item(), 1)
    5.0
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(normal_, (tensor,), tensor=tensor, mean=mean, std=std, generator=generator)
    return _no_grad_normal_(tensor, mean, std, generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill ``tensor`` with one number, ``val``.

    >>> constant_(torch.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    if has_torch_function_unary(tensor):
        return handle_torch_function(constant_, (tensor,), tensor=tensor, val=val)
    return _no_grad_fill_(tensor, val)


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill ``tensor`` with ones."""
    return _no_grad_fill_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill ``tensor`` with zeros."""
    return _no_grad_zero_(tensor)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    with no_grad():
        return tensor.zero_()


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill with normal numbers, of which those outside [a, b] are drawn again.

    Args:
        tensor: what is filled.
        mean, std: of the distribution that is cut off.
        a, b: the smallest and the largest number there may be.
        generator: what draws; the default one if None.

    >>> bool((trunc_normal_(torch.empty(100), a=-0.5, b=0.5).abs() <= 0.5).all())
    True
    """
    return _no_grad_trunc_normal_(tensor, mean, std, a, b, generator)


def _no_grad_trunc_normal_(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any = None
) -> Tensor:  # fmt: skip
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect."
        )
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    with no_grad():
        draw = _normal_between if inside > 0.3 else _uniform_thinned
        return draw(tensor, mean, std, a, b, generator)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _normal_between(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Normal numbers, drawn until all are in [a, b]: quick where most of them are."""
    low, high = (tensor.new_tensor(bound, device="cpu").item() for bound in (a, b))  # as the dtype has them
    result = tensor.normal_(mean, std, generator=generator)
    while (outside := (result < low) | (result > high)).any():
        result = where(outside, empty_like(result).normal_(mean, std, generator=generator), result)
    return tensor if result is tensor else tensor.copy_(result)


def _uniform_thinned(tensor: Any, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Uniform numbers, each taken with a chance that is to 1 as its density to the highest one in [a, b]."""
    mode = max(a, min(mean, b))
    highest = -0.5 * ((mode - mean) / std) ** 2

    def refused(candidates: Any) -> Any:
        chance = empty_like(candidates).uniform_(generator=generator).log_()
        return chance > ((candidates - mean) / std).pow_(2).mul_(-0.5).sub_(highest)

    result = tensor.uniform_(a, b, generator=generator)
    pending = refused(result)
    while pending.any():
        candidates = empty_like(tensor).uniform_(a, b, generator=generator)
        result = where(pending, candidates, result)
        pending = pending & refused(candidates)
    return tensor if result is tensor else tensor.copy_(result)


# -- matrices that keep what passes through them -----------------------------------------------------------------------


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on the diagonal and zeros elsewhere.

    Raises:
        ValueError: it is no matrix.

    >>> eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(identity_matrix(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it passes its input on, as far as there are channels.

    Args:
        tensor: of three, four or five dimensions: ``(outputs, inputs, *kernel)``.
        groups: how many convolutions side by side it is for; each passes on its own input.

    Raises:
        ValueError: another number of dimensions, or outputs that can't be shared out among the groups.

    >>> dirac_(torch.empty(2, 2, 3))
    tensor([[[0., 1., 0.],
             [0., 0., 0.]],
            [[0., 0., 0.],
             [0., 1., 0.]]])
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outputs, inputs, *kernel = tensor.size()
    if outputs % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    per_group = outputs // groups
    channels = list(range(min(per_group, inputs)))
    rows = [group * per_group + channel for group in range(groups) for channel in channels]
    with no_grad():
        tensor.zero_()
        if rows:
            tensor[(rows, channels * groups, *(length // 2 for length in kernel))] = 1
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a matrix whose rows, or columns if there are fewer, are orthogonal and of length ``gain``.

    Each such matrix is as likely as any other (Saxe et al. 2013; Mezzadri 2006).

    Args:
        tensor: of two or more dimensions; those behind the first count as one.
        gain: the length.
        generator: what draws; the default one if None.

    Raises:
        ValueError: fewer than two dimensions.

    >>> w = orthogonal_(torch.empty(3, 5))
    >>> torch.allclose(w @ w.T, torch.eye(3), atol=1e-5)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    with no_grad():
        q, r = qr(drawn.t() if rows < columns else drawn)
        q = q * diag(r, 0).sign()
        tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal numbers, but the same share of each column, at random places, with zeros.

    Args:
        tensor: a matrix.
        sparsity: the share of zeros.
        std: the standard deviation of the other numbers.
        generator: what draws these; the default one if None.

    Raises:
        ValueError: it is no matrix.

    >>> (sparse_(torch.empty(4, 2), 0.5) == 0).sum(0)
    tensor([2, 2])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        if columns:
            places = stack([randperm(rows)[:zeros] for _ in range(columns)])
            tensor[places, arange(columns).unsqueeze(1)] = 0
    return tensor


# -- by the fans of a layer --------------------------------------------------------------------------------------------


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill ``tensor`` with uniform numbers of the variance ``gain**2 * 2 / (fan_in + fan_out)``.

    ``generator`` draws them. From Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks" (2010).

    Raises:
        ValueError: fewer than two dimensions.

    >>> bool((xavier_uniform_(torch.empty(4, 2)).abs() <= 1).all())
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    with no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill ``tensor`` with normal numbers of the variance ``gain**2 * 2 / (fan_in + fan_out)``.

    ``generator`` draws them. From Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks" (2010).

    Raises:
        ValueError: fewer than two dimensions.
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    with no_grad():
        return tensor.normal_(0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator=generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill with uniform numbers of the variance ``gain**2 / fan``, which keeps the size of what layers hand on.

    From He et al., "Delving Deep into Rectifiers" (2015).

    Args:
        tensor: what is filled; nothing is done if it has no elements.
        a: the negative slope of a leaky ReLU behind the layer.
        mode: which fan, ``"fan_in"`` (of values that go forward) or ``"fan_out"`` (of gradients that go backward).
        nonlinearity: the function behind the layer, which decides on the gain: see ``calculate_gain``.
        generator: what draws; the default one if None.

    Raises:
        ValueError: fewer than two dimensions, an unknown mode or function.

    >>> w = torch.nn.init.kaiming_uniform_(torch.empty(4, 6), nonlinearity="relu")
    >>> bool((w.abs() <= 1).all())
    True
    """
    if has_torch_function_unary(tensor):
        options = {"a": a, "mode": mode, "nonlinearity": nonlinearity, "generator": generator}
        return handle_torch_function(kaiming_uniform_, (tensor,), tensor=tensor, **options)
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    bound = math.sqrt(3.0) * (calculate_gain(nonlinearity, a) / math.sqrt(fan))
    with no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill with normal numbers of the variance ``gain**2 / fan``. See ``kaiming_uniform_``.

    Args:
        tensor: what is filled; nothing is done if it has no elements.
        a: the negative slope of a leaky ReLU behind the layer.
        mode: which fan, ``"fan_in"`` or ``"fan_out"``.
        nonlinearity: the function behind the layer, which decides on the gain: see ``calculate_gain``.
        generator: what draws; the default one if None.

    Raises:
        ValueError: fewer than two dimensions, an unknown mode or function.

    >>> w = torch.nn.init.kaiming_normal_(torch.empty(400, 200), nonlinearity="relu")
    >>> round(w.std().item(), 2)
    0.1
    """
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    with no_grad():
        return tensor.normal_(0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator=generator)


# -- old names ---------------------------------------------------------------------------------------------------------


def _deprecated(function: Callable) -> Any:
    """A function by its old name, which warns."""
    new = function.__name__
    old = new[:-1]

    def called_by_old_name(*args: Any, **kwargs: Any) -> Any:
        warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning)
        return function(*args, **kwargs)

    called_by_old_name.__name__ = called_by_old_name.__qualname__ = old
    called_by_old_name.__doc__ = f"The old name of ``{new}``."
    return called_by_old_name


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

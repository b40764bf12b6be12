"""Dropout, of elements and of whole channels."""

from __future__ import annotations

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.state.generator import Sample, next_key
from tapegrad._src.bindings.writes.in_place import become, before_write, refuse_in_place
from tapegrad._src.execution.array_functions import random as sampling
from tapegrad._src.tensor.geometry import preserved_strides
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ops import arithmetic
from tapegrad.ops import dropout as ops


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def check_native_probability(p: float) -> None:
    """Refuse what is no probability, as the functions of ``torch`` do: the number as C++ shows it."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


def _dropped(input: Tensor, p: float, training: bool, inplace: bool, *, channels: bool, alpha: bool) -> Tensor:
    """The common part: ``channels`` drops whole slices of the first two dimensions, ``alpha`` to the floor of SELU."""
    check_native_probability(p)
    if not training or p == 0 or not input._spec.numel:
        return input
    if channels and input.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if inplace:
        refuse_in_place(input)
        return become(input, _dropped(before_write(input), p, training, False, channels=channels, alpha=alpha))
    if p == 1:
        return arithmetic.mul(input, 0)
    if input.dtype.is_complex:
        raise NotImplementedError(f"\"bernoulli_scalar_cpu_\" not implemented for '{input.dtype.scalar_name}'")
    if input.dtype.category != 2:
        raise RuntimeError(f"result type Float can't be cast to the desired output type {input.dtype.scalar_name}")
    shape = (*input.shape[:2], *[1] * (input.ndim - 2)) if channels else tuple(input.shape)

    def kept() -> Sample:
        strides = None if channels else preserved_strides(shape, input._spec.layout)
        return Sample(sampling.bernoulli, shape, input.dtype, (1 - p,), strides)

    key = next_key("dropout", None, input.device, sample=kept)
    return (ops.alpha_dropout if alpha else ops.dropout)(input, key, p=float(p), shape=shape)


@public("nn.functional")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """The input with elements set to 0 with probability ``p``, the others divided by ``1 - p``.

    Not in ``training``, or with ``p=0``, the input itself. ``inplace`` writes the result to ``input``, which are
    floats.

    Raises:
        ValueError: ``p`` outside [0, 1].
        RuntimeError: integers.

    >>> kept = torch.nn.functional.dropout(torch.ones(100), p=0.5)
    >>> kept.unique()
    tensor([0., 2.])
    """
    _check_probability(p)
    return _dropped(input, p, training, inplace, channels=False, alpha=False)


@public("torch", name="dropout")
def torch_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """See ``torch.nn.functional.dropout``.

    Args:
        p: the probability that an element is set to 0.
        train: whether any is.
    """
    return _dropped(input, p, train, False, channels=False, alpha=False)


@public("nn.functional")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels of ``input``: (batch, channels, length), or (channels, length).

    Each channel is set to 0 with probability ``p``; outside ``training`` none is. ``inplace`` writes to ``input``.

    Raises:
        ValueError: ``p`` outside [0, 1].
        RuntimeError: another number of dimensions; integers.

    >>> kept = torch.nn.functional.dropout1d(torch.ones(100, 2, 5))
    >>> kept.mean(-1).unique()
    tensor([0., 2.])
    """
    _check_probability(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input. Note that dropout1d exists to "
            "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _of_channels(input, p, training, inplace, unbatched=input.ndim == 2)


@public("nn.functional")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels of ``input``: (batch, channels, height, width).

    Each channel is set to 0 with probability ``p``; outside ``training`` none is. ``inplace`` writes to ``input``.
    Three dimensions count as (batch, channels, length), and other numbers of them than four are warned of.

    Raises:
        ValueError: ``p`` outside [0, 1].
        RuntimeError: fewer than two dimensions; integers.

    >>> kept = torch.nn.functional.dropout2d(torch.ones(100, 2, 3, 3), p=0.75)
    >>> kept.mean((-2, -1)).unique()
    tensor([0., 4.])
    """
    _check_probability(p)
    if input.ndim not in (3, 4):
        warn(
            f"dropout2d: Received a {input.ndim}-D input to dropout2d, which is deprecated and will result in an error "
            "in a future release. To retain the behavior and silence this warning, please use dropout instead. Note "
            "that dropout2d exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 3D or 4D inputs)."
        )
    if input.ndim == 3:
        warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired "
            "- input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a "
            "future release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
            "the 1D channel-wise dropout behavior, please switch to using dropout1d instead."
        )
    return _of_channels(input, p, training, inplace, unbatched=False)


@public("nn.functional")
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels of ``input``: (batch, channels, depth, height, width), or without the batch.

    Each channel is set to 0 with probability ``p``; outside ``training`` none is. ``inplace`` writes to ``input``.
    Other numbers of dimensions are warned of.

    Raises:
        ValueError: ``p`` outside [0, 1].
        RuntimeError: fewer than two dimensions; integers.

    >>> kept = torch.nn.functional.dropout3d(torch.ones(100, 2, 2, 2, 2))
    >>> kept.mean((-3, -2, -1)).unique()
    tensor([0., 2.])
    """
    _check_probability(p)
    if input.ndim not in (4, 5):
        warn(
            f"dropout3d: Received a {input.ndim}-D input to dropout3d, which is deprecated and will result in an error "
            "in a future release. To retain the behavior and silence this warning, please use dropout instead. Note "
            "that dropout3d exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 4D or 5D inputs)."
        )
    return _of_channels(input, p, training, inplace, unbatched=input.ndim == 4)


def _of_channels(input: Tensor, p: float, training: bool, inplace: bool, *, unbatched: bool) -> Tensor:
    if not unbatched:
        return _dropped(input, p, training, inplace, channels=True, alpha=False)
    if not inplace:
        return _dropped(input.unsqueeze(0), p, training, False, channels=True, alpha=False).squeeze(0)
    if training and p != 0:
        refuse_in_place(input)
        whole = before_write(input).unsqueeze(0)
        become(input, _dropped(whole, p, training, False, channels=True, alpha=False).squeeze(0))
    return input


@public("nn.functional")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of standard normal inputs: dropped elements get the floor of SELU.

    With probability ``p`` an element of ``input`` becomes ``-1.7580993``, and all are scaled and shifted then, so that
    mean and variance are again 0 and 1 (Klambauer et al., "Self-Normalizing Neural Networks", 2017). Outside
    ``training``, which is the default here, it is the input itself. ``inplace`` writes to ``input``.

    Raises:
        ValueError: ``p`` outside [0, 1].
        RuntimeError: integers.

    >>> x = torch.randn(100000)
    >>> torch.nn.functional.alpha_dropout(x, 0.2, training=True).std().round(decimals=1)
    tensor(1.)
    """
    _check_probability(p)
    return _dropped(input, p, training, inplace, channels=False, alpha=True)


@public("nn.functional")
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """``alpha_dropout`` of whole channels (dimension 1) of ``input``, each with probability ``p``.

    Outside ``training``, which is the default here, it is the input itself. ``inplace`` writes to ``input``.

    Raises:
        ValueError: ``p`` outside [0, 1].
        RuntimeError: fewer than two dimensions; integers.

    >>> dropped = torch.nn.functional.feature_alpha_dropout(torch.ones(8, 4, 3), p=0.5, training=True)
    >>> (dropped == dropped[..., :1]).all()
    tensor(True)
    """
    _check_probability(p)
    return _dropped(input, p, training, inplace, channels=True, alpha=True)


@public("torch")
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """The input with whole channels (slices of the first two dimensions) set to 0 with probability ``p``.

    Args:
        train: whether any channel is set to 0.
    """
    return _dropped(input, p, train, False, channels=True, alpha=False)


@public("torch")
def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``feature_dropout`` in place."""
    return _dropped(input, p, train, True, channels=True, alpha=False)

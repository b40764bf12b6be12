"""Distances and similarities, and the losses with a margin that are made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.parser import is_large
from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.execution.data.dtypes import BOOL, FLOATING, INTEGRAL, float32
from tapegrad._src.execution.data.promotion import result_dtype
from tapegrad._src.functions.arithmetic import BOOL_FROM_BOOL, check_subtraction
from tapegrad._src.functions.losses import no_cast, reduced, refuse_gradient, resolve_reduction
from tapegrad._src.functions.shape import expanded
from tapegrad._src.functions.unary import NEGATED_BOOL, check
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import activations, arithmetic, losses, norms, reductions, selection, unary
from tapegrad.ops.comparison import eq, ne
from tapegrad.ops.kinds import broadcast_shapes, broadcast_to, cast
from tapegrad.ops.special import plus


def _sum_along(x: Tensor, axis: int) -> Tensor:
    return reductions.sum(x, axis=(axis,) if x.ndim else (), keepdims=False)


def _scaled_to_one(x: Tensor, axis: int, eps: float) -> Tensor:
    """``x`` over its norm, which counts as at least ``eps`` but keeps its derivative."""
    norm = norms.vector_norm(x, ord=2, axis=(axis,) if x.ndim else (), keepdims=True)
    return arithmetic.div(x, losses.floored(norm, eps))


@public("nn.functional", "torch", native=True)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The inner product of ``x1`` and ``x2`` along ``dim``, over both norms (each at least ``eps``).

    ``x1`` and ``x2`` are floats of shapes that broadcast; the result has that shape without ``dim``.

    Raises:
        RuntimeError: integers or complex numbers; shapes that don't broadcast.
        IndexError: ``dim`` out of range.

    >>> torch.nn.functional.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0], [0.0, 2.0]]), dim=1)
    tensor([0.7071, 0.0000])
    """
    shape = broadcast_shapes([x1.shape, x2.shape])
    common = result_dtype([(x1.dtype, len(shape)), (x2.dtype, len(shape))])  # PyTorch expands a 0-dim one first
    if common.category != FLOATING:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common.scalar_name}")
    axis = wrap_dim(dim, len(shape))
    unit = []
    for x in (x1, x2):
        x = x if x.dtype is common else cast(x, dtype=common)
        x = x if tuple(x.shape) == shape else expanded(x, shape)
        unit.append(_scaled_to_one(x, axis, eps))
    return _sum_along(arithmetic.mul(*unit), axis)


@public("nn.functional", "torch", native=True)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension, which stays, with length 1, if ``keepdim``.

    ``x1`` and ``x2`` have shapes that broadcast, such as (batch, width). The sum with ``eps`` keeps the gradient finite
    where both are equal.

    Raises:
        RuntimeError: shapes that don't broadcast.

    >>> torch.nn.functional.pairwise_distance(torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2), eps=0.0)
    tensor([5.])
    """
    difference = plus(NAMESPACES["Tensor"]["sub"](x1, x2), eps)
    axis = (difference.ndim - 1,) if difference.ndim else ()
    p = float(p)
    return norms.distance_norm(difference, ord=int(p) if p.is_integer() else p, axis=axis, keepdims=keepdim)


def _is_number(value: Any) -> bool:
    return type(value) is float or (type(value) is int and not is_large(value))


def _are_dims(dim: Any) -> bool:
    return all(type(one) is int for one in (dim if isinstance(dim, (tuple, list)) else (dim,)))


@public("nn.functional", out=Out(called="div", unlisted=True))
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """``input`` over its ``p``-norm along ``dim``, or over ``eps`` where that is more.

    ``input`` are floats or complex numbers; ``dim`` is an int, or several.

    Raises:
        RuntimeError: integers.

    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0], [0.0, 0.0]]), p=2.0, dim=1)
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    if input.dtype.category < 2:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {input.dtype.scalar_name}"
        )
    if not (_is_number(p) and _is_number(eps) and _are_dims(dim)):  # with PyTorch's functions, which judge the others
        norm = NAMESPACES["Tensor"]["norm"](input, p, dim, keepdim=True)
        return NAMESPACES["Tensor"]["div"](input, expanded(NAMESPACES["Tensor"]["clamp_min"](norm, eps), input.shape))
    axes = tuple(wrap_dim(one, input.ndim) for one in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    p = float(p)
    norm = norms.vector_norm(
        input, ord=int(p) if p.is_integer() else p, axis=axes if input.ndim else (), keepdims=True
    )
    return arithmetic.div(input, broadcast_to(selection.clamp_min(norm, eps), shape=tuple(input.shape)))


# -- losses with a margin ----------------------------------------------------------------------------------------------


def _above_zero(values: Tensor) -> Tensor:
    return selection.clamp_min(values, 0)


@public("nn.functional")
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, margin - target (input1 - input2))``: a target of 1 wants the first input higher, -1 the second.

    All three have as many dimensions, of lengths that broadcast; ``reduction`` is as in ``mse_loss``.

    Raises:
        RuntimeError: inputs with different numbers of dimensions.
        ValueError: an unknown ``reduction``.

    >>> one, other = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 1.0])
    >>> torch.nn.functional.margin_ranking_loss(one, other, torch.tensor([1, 1]), margin=0.5, reduction="none")
    tensor([1.5000, 0.0000])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    check_subtraction(input1, input2)
    check(target, {BOOL: (RuntimeError, NEGATED_BOOL)})
    product = arithmetic.mul(unary.neg(target), arithmetic.sub(input1, input2))
    return reduced(_above_zero(plus(product, float(margin))), reduction)


@public("nn.functional")
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1.

    ``input`` holds distances, ``target`` 1 for what is alike and -1 for what is not, of a shape that broadcasts;
    ``reduction`` is as in ``mse_loss``.

    Raises:
        ValueError: an unknown ``reduction``.
        RuntimeError: booleans; the mean of whole numbers.

    >>> distances, target = torch.tensor([0.3, 0.3]), torch.tensor([1, -1])
    >>> torch.nn.functional.hinge_embedding_loss(distances, target, margin=1.0, reduction="none")
    tensor([0.3000, 0.7000])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if input.dtype.category < FLOATING:  # the margin counts as one of the whole numbers
        if input.dtype.category == BOOL:
            raise RuntimeError(BOOL_FROM_BOOL)
        margin = int(margin)
    apart = selection.where(ne(target, 1), _above_zero(arithmetic.sub(margin, input)), 0)
    together = selection.where(ne(target, -1), input, 0)
    return reduced(arithmetic.add(apart, together), reduction)


@public("nn.functional")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``1 - cos`` of pairs whose target is 1, ``max(0, cos - margin)`` of those with -1.

    ``input1`` and ``input2`` are (N, D), ``target`` (N,); or (D,) and (). ``reduction`` is as in ``mse_loss``.

    Raises:
        RuntimeError: numbers of dimensions that don't fit.

    >>> one, other = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    >>> torch.nn.functional.cosine_embedding_loss(one, other, torch.tensor([1]))
    tensor(1.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.ndim == input2.ndim == target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    cosines = _cosines(input1, input2, target.ndim)
    together = selection.where(eq(target, 1), arithmetic.sub(1.0, cosines), 0)
    beyond = renamed(plus(cosines, -margin), "SubBackward1")
    apart = selection.where(eq(target, -1), _above_zero(beyond), 0)
    return reduced(arithmetic.add(together, apart), reduction)


def _cosines(x: Tensor, y: Tensor, axis: int) -> Tensor:
    """The cosine, with PyTorch's 1e-12 under the root of each squared norm."""
    eps = 1e-12
    product = _sum_along(arithmetic.mul(x, y), axis)
    squares = [plus(_sum_along(arithmetic.mul(one, one), axis), eps) for one in (x, y)]
    return arithmetic.div(product, unary.sqrt(arithmetic.mul(*squares)))


def _triplets(above: Tensor, to_negative: Tensor, between: Tensor | None, reduction: str) -> Tensor:
    """The loss of triplets by their distances; ``above`` is the margin above that to the positive."""
    if between is not None:
        to_negative = selection.minimum(to_negative, between)
    return reduced(_above_zero(arithmetic.sub(above, to_negative)), reduction)


def _check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )


@public("nn.functional")
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, margin + d(anchor, positive) - d(anchor, negative))`` with the distance of ``pairwise_distance``.

    Args:
        anchor: floats (batch, width), or (width,).
        positive: what should be near, of the same shape.
        negative: what should be further away, by ``margin`` at least; of the same shape.
        margin: more than 0.
        p: the norm.
        eps: as in ``pairwise_distance``.
        swap: take the distance from the positive to the negative where that is less (Balntas et al., "Learning local
            feature descriptors with triplets and shallow convolutional neural networks", 2016).
        reduction: as in ``mse_loss``.

    Raises:
        ValueError: a margin that is not positive; an unknown ``reduction``.
        RuntimeError: different numbers of dimensions.

    >>> anchor, positive, negative = torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]), torch.tensor([[6.0, 8.0]])
    >>> torch.nn.functional.triplet_margin_loss(anchor, positive, negative, margin=6.0, eps=0.0)
    tensor(1.)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)
    to_positive, to_negative = [pairwise_distance(anchor, one, p, eps) for one in (positive, negative)]
    between = pairwise_distance(positive, negative, p, eps) if swap else None
    return _triplets(plus(to_positive, margin), to_negative, between, reduction)


@public("nn.functional")
def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``triplet_margin_loss`` with a distance of one's own; without, that of ``pairwise_distance``.

    ``distance_function`` takes two of ``anchor``, ``positive`` and ``negative``, and gives a number for each pair;
    ``margin``, ``swap`` and ``reduction`` are those of ``triplet_margin_loss``.

    Raises:
        ValueError: a margin that is not positive; an unknown ``reduction``.
        RuntimeError: different numbers of dimensions.

    >>> def furthest(x, y):
    ...     return (x - y).abs().amax(-1)
    >>> loss = torch.nn.functional.triplet_margin_with_distance_loss
    >>> loss(torch.zeros(1, 2), torch.ones(1, 2), torch.tensor([[0.0, 1.5]]), distance_function=furthest)
    tensor(0.5000)
    """
    reduction = resolve_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)
    distance = distance_function or pairwise_distance
    to_positive, to_negative = distance(anchor, positive), distance(anchor, negative)
    between = distance(positive, negative) if swap else None
    return _triplets(arithmetic.add(to_positive, margin), to_negative, between, reduction)


@public("nn.functional")
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``log(1 + exp(-target * input))``, for targets of 1 and -1.

    ``input`` are floats; the shape of ``target`` broadcasts to theirs. ``reduction`` is as in ``mse_loss``.

    Raises:
        RuntimeError: a target that requires grad, or of another shape; integers.
        ValueError: an unknown ``reduction``.

    >>> torch.nn.functional.soft_margin_loss(torch.tensor([0.0, 2.0]), torch.tensor([1.0, -1.0]), reduction="none")
    tensor([0.6931, 2.1269])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    refuse_gradient("soft_margin_loss", "target", target)
    check(input, {BOOL: (RuntimeError, NEGATED_BOOL)})
    if input.dtype.category < 2:
        raise no_cast(float32, input.dtype)
    shape = broadcast_shapes([input.shape, target.shape])
    if shape != tuple(input.shape):
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
    return losses.soft_margin_loss(input, target.to(input.dtype), reduction=reduction)


@public("nn.functional")
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The mean over the classes (last dimension) of the binary cross entropy of logits, weighted by class.

    ``input`` are logits (N, C) or (C,), ``target`` is 0 or 1 for each, ``weight`` (C,) multiplies the losses of the
    classes. ``reduction``, of the N numbers that are left, is as in ``mse_loss``.

    Raises:
        IndexError: no dimension.
        ValueError: an unknown ``reduction``.

    >>> logits, target = torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0]])
    >>> torch.nn.functional.multilabel_soft_margin_loss(logits, target)
    tensor(1.4100)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if input.ndim == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    check(input, {BOOL: "log_sigmoid_cpu", INTEGRAL: "log_sigmoid_cpu"})
    check_subtraction(1, target)
    positive = arithmetic.mul(target, activations.logsigmoid(input))
    negative = arithmetic.mul(arithmetic.rsub(target, 1), activations.logsigmoid(unary.neg(input)))
    values = unary.neg(arithmetic.add(positive, negative))
    if weight is not None:
        values = arithmetic.mul(values, weight)
    total = _sum_along(values, input.ndim - 1)
    return reduced(arithmetic.div(total, input.shape[-1]), reduction)

"""Losses: of regression, of probabilities, and of classes."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from tapegrad._src.bindings.arguments import not_implemented
from tapegrad._src.bindings.bounds import negative, not_in_unit_interval, outside, refuse_elements
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import unsupported
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.execution.data.dtypes import BOOL, dtype, float32, float64, int64
from tapegrad._src.execution.data.promotion import result_dtype
from tapegrad._src.execution.kernels.deferred_checks import Finding
from tapegrad._src.functions.arithmetic import BOOL_FROM_BOOL, check_subtraction
from tapegrad._src.tape.modes import Modes, thread
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ops import arithmetic, losses, reductions, selection, softmax, special, unary
from tapegrad.ops.checks import cpp_name, refuse_dtypes
from tapegrad.ops.comparison import eq, lt, ne
from tapegrad.ops.kinds import broadcast_shapes, broadcast_to, cast, zeros_of
from tapegrad.ops.shape import view
from tapegrad.ops.special import times


def resolve_reduction(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> str:
    """``reduction``, or what the deprecated flags say. Raises ValueError: not ``"none"``, ``"mean"`` or ``"sum"``."""
    if size_average is not None or reduce is not None:
        average, kept = (True if flag is None else flag for flag in (size_average, reduce))
        reduction = ("mean" if average else "sum") if kept else "none"
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(values: Tensor, reduction: str) -> Tensor:
    """The losses of the elements as they are, or their mean or sum."""
    if reduction == "none":
        return values
    if reduction == "sum":
        return reductions.sum_all(values)
    if values.dtype.category < 2:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {values.dtype.scalar_name}"
        )
    return reductions.mean_all(values)


def together(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The arguments of a loss that broadcasts them, which is rarely meant: it says so.

    A 0-dim tensor is expanded first where dtypes differ, as PyTorch expands both: it then counts like the other.
    """
    if input.shape != target.shape:
        warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
        )
        broadcast_shapes([input.shape, target.shape])  # what doesn't fit is refused before dtypes are
        if input.dtype is not target.dtype and not (input.ndim and target.ndim):
            shape = tuple(target.shape if target.ndim else input.shape)
            return tuple(x if x.ndim else broadcast_to(x, shape=shape) for x in (input, target))  # type: ignore[return-value]
    return input, target


def no_cast(result: dtype, wanted: dtype) -> RuntimeError:
    """PyTorch's error for a result that the dtype it is to have can't hold."""
    return RuntimeError(
        f"result type {result.scalar_name} can't be cast to the desired output type {wanted.scalar_name}"
    )


def refuse_gradient(function: str, argument: str, tensor: Tensor | None) -> None:
    """Refuse an argument that requires grad, where PyTorch has no derivative for it.
    Raises RuntimeError: PyTorch's message.
    """
    if tensor is not None and tensor.requires_grad and thread.modes.grad:
        raise RuntimeError(
            f"The function '{function}' is not differentiable with respect to argument '{argument}'. "
            "This input cannot have requires_grad True."
        )


def _weighted(values: Tensor, weight: Tensor, input: Tensor, reduction: str) -> Tensor:
    """Losses of elements times weights; the mean is over the weights."""
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    weighted = arithmetic.mul(values, weight)
    if reduction == "none":
        return weighted
    total = reductions.sum_all(weighted)
    return total if reduction == "sum" else arithmetic.div(total, reductions.sum_all(weight))


# -- regression --------------------------------------------------------------------------------------------------------


@public("nn.functional")
def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The squared differences of ``input`` and ``target``, or their mean (weighted by ``weight``) or sum.

    Args:
        input: floats of any shape.
        target: floats, best of the same shape: others broadcast, with a warning.
        reduction: ``"none"`` for the losses of the elements, ``"mean"`` or ``"sum"``. The deprecated ``size_average``
            and ``reduce`` say the same in two booleans.
        weight: a factor for each element, of the input's shape; ``"mean"`` divides by their sum.

    Raises:
        RuntimeError: shapes that don't broadcast.
        NotImplementedError: integers or complex numbers without a ``weight``.
        ValueError: an unknown ``reduction``; a weight of another shape.

    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    input, target = together(input, target)
    reduction = resolve_reduction(reduction, size_average, reduce)
    if weight is None:
        return losses.mse_loss(input, target, reduction=reduction)
    check_subtraction(input, target)
    return _weighted(unary.power(arithmetic.sub(input, target), exponent=2), weight, input, reduction)


@public("nn.functional")
def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The absolute differences of ``input`` and ``target``, or their mean or sum; the gradient is 0 where they are 0.

    The arguments are those of ``mse_loss``: ``weight`` weighs the elements, ``reduction`` is ``"none"``, ``"mean"`` or
    ``"sum"``. Here numbers of all dtypes will do; complex ones give real losses.

    Raises:
        RuntimeError: shapes that don't broadcast; booleans; the mean of integers.
        ValueError: an unknown ``reduction``; a weight of another shape.

    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]), reduction="none")
    tensor([0., 2.])
    """
    input, target = together(input, target)
    reduction = resolve_reduction(reduction, size_average, reduce)
    check_subtraction(input, target)
    distances = unary.abs(arithmetic.sub(input, target))
    return reduced(distances, reduction) if weight is None else _weighted(distances, weight, input, reduction)


@public("nn.functional")
def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """Quadratic where the distance ``d`` is less than ``beta`` (``d**2 / (2 beta)``), ``d - beta / 2`` elsewhere.

    ``input`` and ``target`` are floats of shapes that broadcast; ``reduction`` is as in ``mse_loss``. The loss is from
    Girshick, "Fast R-CNN" (2015).

    Raises:
        RuntimeError: a negative ``beta``; shapes that don't broadcast.
        NotImplementedError: integers or complex numbers.
        ValueError: an unknown ``reduction``.

    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    input, target = together(input, target)
    reduction = resolve_reduction(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        check_subtraction(input, target)
        return reduced(unary.abs(arithmetic.sub(input, target)), reduction)
    return losses.smooth_l1_loss(input, target, beta=float(beta), reduction=reduction)


@public("nn.functional")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Quadratic where the distance ``d`` is at most ``delta`` (``d**2 / 2``), ``delta (d - delta / 2)`` elsewhere.

    ``input`` and ``target`` are floats of shapes that broadcast; ``reduction`` is as in ``mse_loss``. ``weight``, of
    the input's shape, multiplies the losses, and does not count in the mean.

    Raises:
        RuntimeError: a ``delta`` that is not positive; shapes that don't broadcast; a target of a kind of numbers that
            the input's dtype can't hold.
        NotImplementedError: integers or complex numbers.
        ValueError: an unknown ``reduction``; a weight of another shape.

    >>> torch.nn.functional.huber_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), delta=2.0, reduction="none")
    tensor([0.1250, 4.0000])
    """
    input, target = together(input, target)
    reduction = resolve_reduction(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    common, own_type = result_dtype([(x.dtype, x.ndim) for x in (input, target)]), input.dtype
    if common.category > own_type.category:
        raise no_cast(common, own_type)
    own = reduction if weight is None else "none"
    result = losses.huber_loss(input, target, delta=float(delta), reduction=own)
    if result.dtype is not input.dtype:
        result = renamed(cast(result, dtype=input.dtype), "HuberLossBackward0")
    if weight is None:
        return result
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    return reduced(arithmetic.mul(result, weight), reduction)


# -- probabilities -----------------------------------------------------------------------------------------------------


@public("nn.functional")
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``-(target log(input) + (1 - target) log(1 - input))`` of probabilities, logarithms cut at -100.

    Args:
        input: probabilities, floats of any shape.
        target: probabilities of the same shape and dtype.
        weight: a factor for each element, of a shape that broadcasts to the input's. It does not count in the mean.
        reduction: as in ``mse_loss``.

    Raises:
        ValueError: shapes that differ; an unknown ``reduction``.
        RuntimeError: dtypes that differ; an input or target outside [0, 1]; a weight that doesn't fit or requires grad.
        NotImplementedError: integers or complex numbers.

    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5, 0.0]), torch.tensor([1.0, 1.0]), reduction="none")
    tensor([  0.6931, 100.0000])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    refuse_gradient("binary_cross_entropy", "weight", weight)
    for other in (target, weight):
        if other is not None and other.dtype is not input.dtype:
            raise RuntimeError(f"Found dtype {other.dtype.scalar_name} but expected {input.dtype.scalar_name}")
    if weight is not None:
        _check_weight_shape(weight, input)
    refuse_dtypes("binary_cross_entropy", input._spec, bool=True, integral=True, complex=True)
    for name, given in (("input", input), ("target", target)):
        refuse_elements(given, not_in_unit_interval, complaint=partial(_no_probability, name))
    return losses.binary_cross_entropy(input, target, weight, reduction=reduction)


def _no_probability(name: str, _: Any) -> RuntimeError:
    return RuntimeError(f"all elements of {name} should be between 0 and 1")


def _check_weight_shape(weight: Tensor, input: Tensor) -> None:
    offset = input.ndim - weight.ndim
    for axis in reversed(range(weight.ndim)):
        if offset < 0 or weight.shape[axis] not in (1, input.shape[axis + offset]):
            raise RuntimeError(
                f"Attempting to broadcast a dimension of length {weight.shape[axis]} at {axis - weight.ndim}! "
                f"Mismatching argument at index 1 had {weight.shape}; but expected shape should be broadcastable to "
                f"{list(input.shape)}"
            )


@public("nn.functional")
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``binary_cross_entropy`` of ``sigmoid(input)``, accurate far out.

    Args:
        input: logits, floats of any shape.
        target: probabilities of the same shape. The result has their dtype.
        weight: a factor for each element, of a shape that broadcasts. It does not count in the mean.
        reduction: as in ``mse_loss``.
        pos_weight: how often targets of 1 count: one number for each class (the last dimension), or any shape that
            broadcasts.

    Raises:
        ValueError: shapes that differ; an unknown ``reduction``.
        RuntimeError: integral targets; weights that don't broadcast or require grad.
        NotImplementedError: integers or complex numbers.

    >>> logits, target = torch.tensor([0.0, 200.0]), torch.tensor([1.0, 0.0])
    >>> torch.nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    tensor([  0.6931, 200.0000])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    refuse_gradient("binary_cross_entropy_with_logits", "weight", weight)
    refuse_gradient("binary_cross_entropy_with_logits", "pos_weight", pos_weight)
    if input.dtype.category < 2:
        raise not_implemented("log_sigmoid_cpu", input.dtype)
    if target.dtype.category == BOOL:
        raise RuntimeError(BOOL_FROM_BOOL)  # from the number 1 targets are subtracted
    if target.dtype.category < 2:
        raise no_cast(input.dtype, target.dtype)
    result = losses.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction=reduction)
    if result.dtype is target.dtype:
        return result
    return renamed(cast(result, dtype=target.dtype), "BinaryCrossEntropyWithLogitsBackward0")


@public("nn.functional")
def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """``target (log(target) - input)``: the divergence of probabilities (or their logarithms) from log-probabilities.

    Args:
        input: log-probabilities, floats.
        target: probabilities, of a shape that broadcasts; log-probabilities with ``log_target``.
        reduction: as in ``mse_loss``. ``"batchmean"`` is the sum over the length of the first dimension, as the
            divergence of distributions is defined; ``"mean"``, over all elements, is not.
        log_target: whether ``target`` holds logarithms.

    Raises:
        RuntimeError: integers or complex numbers; shapes that don't broadcast.
        ValueError: an unknown ``reduction``.

    >>> p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.75]])
    >>> torch.nn.functional.kl_div(q.log(), p, reduction="batchmean")
    tensor(0.1438)
    """
    by_batch = reduction == "batchmean"
    reduction = "sum" if by_batch else resolve_reduction(reduction, size_average, reduce)
    if reduction == "mean" and not by_batch:
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
            "'mean' will be changed to behave the same as 'batchmean' in the next major release."
        )
    for tensor in (input, target):
        if tensor.dtype.category != 2:
            kind = "Complex" if tensor.dtype.is_complex else "Integral"
            raise RuntimeError(f"kl_div: {kind} inputs not supported.")
    if log_target:  # the last factor first: that is the order of PyTorch's nodes, and backward goes by it
        difference = arithmetic.sub(target, input)
        values = arithmetic.mul(unary.exp(target), difference)
    else:
        crossed = arithmetic.mul(target, input)
        values = arithmetic.sub(special.xlogy(target, target), crossed)
    result = reduced(values, reduction)
    return arithmetic.div(result, input.shape[0]) if by_batch and input.ndim else result


@public("nn.functional")
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``exp(input) - target * input``: the negative log likelihood of counts, whose (log) rate is ``input``.

    Args:
        input: logarithms of rates, floats; the rates themselves with ``log_input=False``, the loss then being ``input -
            target * log(input + eps)``.
        target: the counts, of a shape that broadcasts.
        log_input: whether ``input`` holds logarithms.
        full: add Stirling's approximation of ``log(target!)`` where the target is more than 1.
        eps: keeps the logarithm of a rate of 0 finite.
        reduction: as in ``mse_loss``.

    Raises:
        RuntimeError: booleans.
        ValueError: an unknown ``reduction``.

    >>> torch.nn.functional.poisson_nll_loss(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 3.0]), reduction="none")
    tensor([ 1.0000, -0.2817])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    if log_input:
        expected, met = unary.exp(input), arithmetic.mul(target, input)
    else:
        expected, met = input, arithmetic.mul(target, unary.log(arithmetic.add(input, eps)))
    check_subtraction(expected, met)
    values = arithmetic.sub(expected, met)
    if full:
        values = arithmetic.add(values, _stirling(target))
    return reduced(values, reduction)


def _stirling(target: Tensor) -> Tensor:
    """An approximation of ``log(target!)``, 0 up to 1."""
    middle = arithmetic.sub(arithmetic.mul(target, unary.log(target)), target)
    term = arithmetic.add(middle, arithmetic.mul(unary.log(arithmetic.mul(target, 2 * math.pi)), 0.5))
    return selection.where(lt(1, target), term, 0)


@public("nn.functional")
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """``(log(var) + (input - target)**2 / var) / 2``, ``var`` at least ``eps`` (which its gradient does not notice).

    Args:
        input: the means, floats.
        target: the numbers that were observed, of the same shape.
        var: their variances: of the input's shape, of that without the last dimension or with one of 1, or a number.
        full: add the constant ``log(2 pi) / 2``.
        eps: the least variance.
        reduction: as in ``mse_loss``.

    Raises:
        ValueError: a negative variance; a ``var`` of another shape than the input's, that with a last dimension of 1,
            or without the last dimension; an unknown ``reduction``.

    >>> mean, target, var = torch.tensor([0.0, 0.0]), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0])
    >>> torch.nn.functional.gaussian_nll_loss(mean, target, var, reduction="none")
    tensor([0.5000, 1.1931])
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = arithmetic.add(zeros_of(input, shape=tuple(input.shape), dtype=input.dtype), float(var))
    else:
        var = _variance_like(var, input)
        if var.dtype.is_complex:
            raise unsupported("lt_cpu", var.dtype)
        refuse_elements(var, negative, complaint=lambda _: ValueError("var has negative entry/entries"))
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    _refuse_floor(var, eps)
    var = losses.floored(var, eps)
    check_subtraction(input, target)
    squares = unary.power(arithmetic.sub(input, target), exponent=2)
    values = arithmetic.mul(arithmetic.add(unary.log(var), arithmetic.div(squares, var)), 0.5)
    if full:
        values = arithmetic.add(values, 0.5 * math.log(2 * math.pi))
    return reduced(values, reduction)


def _refuse_floor(var: Tensor, eps: float) -> None:
    """Refuse a variance that can't be limited. Raises RuntimeError: PyTorch's message."""
    result = result_dtype([(var.dtype, var.ndim), type(eps)])
    if result.category > var.dtype.category:
        names = result.scalar_name, cpp_name(var.dtype)
        raise RuntimeError("result type {} can't be cast to the desired output type {}".format(*names))


def _variance_like(var: Tensor, input: Tensor) -> Tensor:
    """A variance that broadcasts against the input."""
    if var.shape == input.shape:
        return var
    if input.shape[:-1] == var.shape:
        return view(var, shape=(*var.shape, 1))
    lengths = zip(input.shape, var.shape, strict=False)
    if input.ndim == var.ndim and sum(own for length, own in lengths if length != own) == 1:
        return var
    raise ValueError("var is of incorrect size")


# -- classes -----------------------------------------------------------------------------------------------------------


@public("nn.functional")
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability of each target class.

    Args:
        input: log-probabilities of the classes, floats (N, C, ...) or (C,).
        target: the classes, int64 (N, ...) or ().
        weight: (C,), a weight for each class; ``"mean"`` divides by the weights of the targets.
        ignore_index: targets that are equal to it don't count, in the mean neither.
        reduction: as in ``mse_loss``.

    Raises:
        ValueError: a 0-dim input; another number of targets; an unknown ``reduction``.
        RuntimeError: a target of another dtype or shape; a weight that doesn't fit or requires grad.
        IndexError: a target that is no class.

    >>> logs = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    >>> torch.nn.functional.nll_loss(logs, torch.tensor([0, 1]), reduction="none")
    tensor([0.6931, 0.2877])
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    return _nll_loss(input, target, weight, ignore_index, reduction)


def _nll_loss(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> Tensor:
    shape, given = input._spec.shape, target._spec.shape
    ndim = len(shape)
    if ndim == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if ndim > 1 and (not given or shape[0] != given[0]):
        got = given[0] if given else 0
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({got}).")
    if ndim <= 2 and len(given) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if ndim == 1 and len(given) == 1:
        if given[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {given[0]}")
        target = view(target, shape=())
    axis = 0 if ndim == 1 else 1
    refuse_gradient("nll_loss_forward" if ndim <= 2 else "nll_loss2d_forward", "weight", weight)
    operator = losses.nll_loss if ndim <= 2 else losses.nll_loss2d
    if reduction == "none" and ndim not in (1, 2, 4):
        operator = losses.nll_loss_of_any
    result = operator(input, target, weight, axis=axis, reduction=reduction, ignore_index=ignore_index)
    _refuse_classes(target, shape[axis], ignore_index)  # after what is refused for its shape
    return result


def _refuse_classes(target: Tensor, classes: int, ignore_index: int) -> None:
    refuse_elements(target, outside, 0, classes, ignore_index, complaint=_no_class)


def _no_class(found: Finding) -> IndexError:
    return IndexError(f"Target {found.number} is out of bounds.")


@public("nn.functional")
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """The cross entropy of logits and classes, or probabilities of classes: ``nll_loss`` of ``log_softmax``.

    Args:
        input: logits, floats (N, C, ...) or (C,).
        target: the classes, int64 (N, ...) or (); or floats of the input's shape, their probabilities.
        weight: (C,), a weight for each class; ``"mean"`` divides by the weights of the targets, if those are classes.
        ignore_index: targets that are equal to it don't count, in the mean neither.
        reduction: as in ``mse_loss``.
        label_smoothing: how much of each target is spread evenly over all classes (Szegedy et al., "Rethinking the
            Inception Architecture", 2015).

    Raises:
        RuntimeError: a ``label_smoothing`` outside [0, 1]; probabilities of integers, or with ``ignore_index``.
        ValueError, IndexError: as ``nll_loss``.

    >>> torch.nn.functional.cross_entropy(torch.zeros(2, 4), torch.tensor([1, 3]))
    tensor(1.3863)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    classes = 0 if weight is not None or label_smoothing else _classes_of_loss_alone(input._spec, target._spec)
    if classes:
        loss = losses.loss_of_classes(input, target, reduction=reduction, ignore_index=ignore_index)
        _refuse_classes(target, classes, ignore_index)
        return loss
    axis = 0 if input.ndim == 1 else 1
    if input.shape == target.shape:
        _check_probabilities(target, ignore_index, label_smoothing)
        if not input.ndim:
            raise IndexError("Dimension specified as 1 but tensor has no dimensions")
        return _probabilities_loss(input, target, weight, axis, reduction, label_smoothing)
    if label_smoothing < 0 or label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    logarithms = _log_softmax(input, axis)
    loss = _nll_loss(logarithms, target, weight, ignore_index, reduction)
    if label_smoothing == 0:
        return loss
    smooth = _smoothing_loss(logarithms, target, weight, axis, ignore_index, reduction)
    classes = input.shape[axis]
    return arithmetic.add(times(loss, 1 - label_smoothing), times(smooth, label_smoothing / classes))


UNSEEN = frozenset((Modes.of(), Modes.of(grad=False), Modes.of(inference=True)))
"""The modes in which nobody sees what a function is made of, but by its graph."""


def _classes_of_loss_alone(input: Spec, target: Spec) -> int:
    """The number of classes of rows whose ``log_softmax`` nobody wants besides the loss: there is no graph, and nothing
    to be refused for its shape or dtype; 0 if it is not so."""
    modes, shape = thread.modes, input.shape
    if modes not in UNSEEN or (input.requires_grad and modes.grad) or input.dtype not in (float32, float64):
        return 0
    if len(shape) != 2 or target.dtype is not int64:
        return 0
    rows, classes = shape
    return classes if target.shape == (rows,) else 0


def _log_softmax(input: Tensor, axis: int) -> Tensor:
    if input.dtype.category != 2:
        last = "_lastdim" if axis == max(input.ndim, 1) - 1 else ""
        raise not_implemented(f"log_softmax{last}_kernel_impl", input.dtype)
    return softmax.log_softmax(input, axis=axis)


def _class_shape(weight: Tensor, ndim: int, axis: int) -> Tensor:
    """A weight for each class, in the shape that broadcasts against the input."""
    return view(weight, shape=tuple(weight.shape[0] if i == axis else 1 for i in range(ndim)))


def _check_probabilities(target: Tensor, ignore_index: int, label_smoothing: float) -> None:
    if target.dtype.category != 2:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype.scalar_name}"
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if label_smoothing < 0 or label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def _probabilities_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, axis: int, reduction: str, label_smoothing: float
) -> Tensor:
    logarithms = _log_softmax(input, axis)
    if label_smoothing > 0:
        uniform = label_smoothing / input.shape[axis]
        target = arithmetic.add(arithmetic.mul(target, 1 - label_smoothing), uniform)
    products = arithmetic.mul(logarithms, target)
    if weight is not None:
        products = arithmetic.mul(products, _class_shape(weight, input.ndim, axis))
    if reduction == "none":
        return unary.neg(reductions.sum(products, axis=(axis,), keepdims=False))
    total = unary.neg(reductions.sum_all(products))
    if reduction == "sum":
        return total
    count = 1
    for position, length in enumerate(input.shape):
        count *= 1 if position == axis else length
    return losses.over_count(total, count=count)


def _smoothing_loss(
    logarithms: Tensor, target: Tensor, weight: Tensor | None, axis: int, ignore_index: int, reduction: str
) -> Tensor:
    """The loss of a target spread over all classes, for the targets that count."""
    if weight is not None:
        logarithms = arithmetic.mul(logarithms, _class_shape(weight, logarithms.ndim, axis))
    spread = unary.neg(reductions.sum(logarithms, axis=(axis,), keepdims=False))
    values = selection.masked_fill(spread, eq(target, ignore_index), 0)
    if reduction == "none":
        return values
    total = reductions.sum_all(values)
    if reduction == "sum":
        return total
    return arithmetic.div(
        total, _weight_of_targets(values, target, weight, tuple(logarithms.shape), axis, ignore_index)
    )


def _weight_of_targets(
    values: Tensor, target: Tensor, weight: Tensor | None, logits_shape: tuple[int, ...], axis: int, ignore_index: int
) -> Tensor:
    """The number of targets that count; with weights, the sum of their weights."""
    counted = cast(ne(target, ignore_index), dtype=values.dtype)
    if weight is None:
        return reductions.sum_all(counted)
    minus_ones = arithmetic.sub(zeros_of(values, shape=logits_shape, dtype=values.dtype), 1)
    operator = losses.nll_loss if target.ndim <= 1 else losses.nll_loss2d
    return operator(minus_ones, target, weight, axis=axis, reduction="sum", ignore_index=ignore_index)

"""Losses of classes whose scores should stand apart by a margin."""

from __future__ import annotations

from tapegrad._src.bindings.bounds import outside, refuse_elements
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import FLOATING, int64
from tapegrad._src.functions.losses import refuse_gradient, resolve_reduction
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import margins


@public("nn.functional")
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, margin - x[t] + x[i])**p`` of all classes but ``t``, the target, over their number: (N, C), (N,).

    Args:
        input: scores of the classes, float32 or float64, (N, C) or (C,).
        target: int64, (N,) or ().
        p: 1 or 2.
        margin: how much higher than all others the target's score should be.
        weight: (C,), of which the target's multiplies each example's loss.
        reduction: as in ``mse_loss``.

    The number of classes, by which the sum is divided, counts the target too.

    Raises:
        ValueError: a ``p`` other than 1 and 2; a weight that is no vector; an unknown ``reduction``.
        RuntimeError: shapes or dtypes that don't fit; a target that is no class; a weight that requires grad.

    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.1, 0.2, 0.9]]), torch.tensor([1]))
    tensor(0.8667)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    refuse_gradient("multi_margin_loss", "weight", weight)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    count, classes = _check_scores(input)
    if target.ndim > 1 or target._spec.numel != count:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{count}], but got {list(target.shape)}. Input has shape "
            f"{list(input.shape)}."
        )
    if weight is not None and weight.shape[0] != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    _check_dtype("multi_margin_loss_cpu_kernel", input)
    _check_labels(target, 0, classes, "target out of range")
    return margins.multi_margin_loss(input, target, weight, p=int(p), margin=float(margin), reduction=reduction)


@public("nn.functional")
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """``max(0, 1 - x[j] + x[i])`` of all labels ``j`` and all classes ``i`` that are none, over the number of classes.

    ``input`` holds the scores ``x``, float32 or float64, (N, C) or (C,). ``target`` has the same shape: the labels of
    each example, int64, and -1 behind the last. ``reduction`` is as in ``mse_loss``.

    Raises:
        ValueError: an unknown ``reduction``.
        RuntimeError: shapes or dtypes that don't fit; a target that is no class.

    >>> scores, labels = torch.tensor([[0.1, 0.2, 0.9]]), torch.tensor([[2, -1, -1]])
    >>> torch.nn.functional.multilabel_margin_loss(scores, labels)
    tensor(0.1667)
    """
    reduction = resolve_reduction(reduction, size_average, reduce)
    _, classes = _check_scores(input)
    if target.shape != input.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    _check_dtype("multilabel_margin_loss_forward_out_frame", input)
    _check_labels(target, -1, classes, "argument #2 'target' is out of range")
    return margins.multilabel_margin_loss(input, target, reduction=reduction)[0]


def _check_scores(input: Tensor) -> tuple[int, int]:
    """The number of examples, and of classes. Raises RuntimeError: more than two dimensions, no classes."""
    if input.ndim > 2 or 0 in input.shape[-1:]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    return (1 if input.ndim < 2 else input.shape[0]), (input.shape[-1] if input.ndim else 1)


def _check_dtype(kernel: str, input: Tensor) -> None:
    """Refuse all but float32 and float64. Raises NotImplementedError: PyTorch's message."""
    if input.dtype.category != FLOATING or input.dtype.itemsize == 2:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_name}'")


def _check_labels(target: Tensor, least: int, classes: int, text: str) -> None:
    """Refuse targets that are no numbers of classes. Raises RuntimeError: with this text; another dtype than int64."""
    if target.dtype is not int64:
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.scalar_name}")
    refuse_elements(target, outside, least, classes, complaint=lambda _: RuntimeError(text))

"""The cross entropy of a linear map."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.functions.losses import cross_entropy
from tapegrad._src.functions.matmul import linear
from tapegrad._src.tensor.tensor import Tensor


@public("nn.functional")
def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """``cross_entropy`` of ``linear(input, linear_weight, linear_bias)``.

    Args:
        input: floats (N, F) or (F,).
        linear_weight: (C, *space, F).
        target: as in ``cross_entropy``: classes (N, *space), or probabilities.
        linear_bias: (C, *space).
        weight: (C,), a weight for each class.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        ignore_index: targets that are equal to it don't count; None for none such.
        label_smoothing: how much of each target is spread evenly over all classes.
        options: how PyTorch saves memory; here they change nothing.

    Raises:
        RuntimeError: shapes that don't fit; ``ignore_index`` with probabilities.

    >>> x, weight = torch.zeros(2, 3), torch.zeros(4, 3)
    >>> torch.nn.functional.linear_cross_entropy(x, weight, torch.tensor([1, 3]))
    tensor(1.3863)
    """
    _check_linear(input, linear_weight, linear_bias)
    classes, *space, width = linear_weight.shape
    shape = (*input.shape[:-1], classes, *space)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if space:
        count = math.prod(space) * classes
        linear_weight = linear_weight.reshape(count, width)
        linear_bias = None if linear_bias is None else linear_bias.reshape(count)
    logits = linear(input, linear_weight, linear_bias).reshape(shape)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _check_linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {weight.ndim}")
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    shape = tuple(weight.shape[:-1])
    if bias is not None and tuple(bias.shape) != shape:
        raise RuntimeError(f"expected linear_bias shape {shape}, got {tuple(bias.shape)}")
    if weight.ndim > 2 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires batched input, (N, "
            f"{input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )

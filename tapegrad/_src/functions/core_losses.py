"""Losses and dropouts as ``torch`` has them beside ``nn.functional``, with a number for the reduction.

Left out it is 0, none, whatever PyTorch's schemas say: so its functions behave when they are called.
"""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import wrong_type
from tapegrad._src.functions import dropout, losses, similarities
from tapegrad._src.tensor.tensor import Tensor


def named(function: str, position: int, reduction: Any) -> str:
    """The reduction that a number means: 1 the mean, 2 the sum, any other none. Raises TypeError: it is no integer."""
    if not isinstance(reduction, int) or isinstance(reduction, bool):
        raise wrong_type(function, "reduction", position, reduction, "int")
    return {1: "mean", 2: "sum"}.get(reduction, "none")


@public("torch")
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``nn.functional.alpha_dropout``.

    Args:
        p: the probability that an element is dropped.
        train: whether any is.
    """
    dropout.check_native_probability(p)
    return dropout.alpha_dropout(input, p, train)


@public("torch")
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``nn.functional.feature_alpha_dropout``.

    Args:
        p: the probability that a channel is dropped.
        train: whether any is.
    """
    dropout.check_native_probability(p)
    return dropout.feature_alpha_dropout(input, p, train)


@public("torch")
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """``nn.functional.binary_cross_entropy_with_logits``, with the reduction as a number (``named``).

    Args:
        target, weight, pos_weight: as there.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.binary_cross_entropy_with_logits(torch.zeros(2), torch.ones(2), None, None, 1)
    tensor(0.6931)
    """
    how = named("binary_cross_entropy_with_logits", 5, reduction)
    return losses.binary_cross_entropy_with_logits(input, target, weight, reduction=how, pos_weight=pos_weight)


@public("torch")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.cosine_embedding_loss``, with the reduction as a number (``named``).

    Args:
        input1, input2, target, margin: as there.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.cosine_embedding_loss(torch.eye(2), torch.eye(2), torch.tensor([1, -1]), 0.0, 2).round()
    tensor(1.)
    """
    how = named("cosine_embedding_loss", 5, reduction)
    return similarities.cosine_embedding_loss(input1, input2, target, margin, reduction=how)


@public("torch")
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """``nn.functional.hinge_embedding_loss``, with the reduction as a number (``named``).

    Args:
        target, margin: as there.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.hinge_embedding_loss(torch.tensor([2.0, 0.5]), torch.tensor([1, -1]), 1.0, 2)
    tensor(2.5000)
    """
    return similarities.hinge_embedding_loss(
        input, target, margin, reduction=named("hinge_embedding_loss", 4, reduction)
    )


@public("torch")
def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """``nn.functional.kl_div``, with the reduction as a number (``named``).

    Args:
        target, log_target: as there.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.kl_div(torch.zeros(2), torch.ones(2), 2)
    tensor(0.)
    """
    return losses.kl_div(input, target, reduction=named("kl_div", 3, reduction), log_target=log_target)


@public("torch")
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.margin_ranking_loss``, with the reduction as a number (``named``).

    Args:
        input1, input2, target, margin: as there.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]), 0.0, 2)
    tensor(2.)
    """
    how = named("margin_ranking_loss", 5, reduction)
    return similarities.margin_ranking_loss(input1, input2, target, margin, reduction=how)


@public("torch")
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """``nn.functional.poisson_nll_loss``, with the reduction as a number (``named``).

    Args:
        target, log_input, full, eps: as there.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.poisson_nll_loss(torch.zeros(2), torch.ones(2), True, False, 1e-8, 1)
    tensor(1.)
    """
    how = named("poisson_nll_loss", 6, reduction)
    return losses.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=how)


@public("torch")
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: int = 0,
) -> Tensor:  # fmt: skip
    """``nn.functional.triplet_margin_loss``, with the reduction as a number (``named``).

    Args:
        anchor, positive, negative, margin, p, eps, swap: as there.
        reduction: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.triplet_margin_loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 2), 3.0, 1.0, reduction=1).round()
    tensor(1.)
    """
    how = named("triplet_margin_loss", 8, reduction)
    return similarities.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=how)

"""Losses: how far predictions are from targets.

``reduction`` says what is given of the losses of all elements: their ``"mean"``, their ``"sum"``, or ``"none"`` for all
of them. ``size_average`` and ``reduce`` are PyTorch's old way to say so, which warns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.nn import functional as F
from tapegrad.nn._reduction import legacy_get_string
from tapegrad.nn.modules.distance import PairwiseDistance
from tapegrad.nn.modules.linear import Linear
from tapegrad.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
from tapegrad.nn.modules.module import Module
from tapegrad.nn.modules.utils import Explained

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "MSELoss", "MarginRankingLoss",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss",
    "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip

OldFlag = bool | None


class _Loss(Explained, Module):
    """The base class of all losses: how they are reduced."""

    _about = '``reduction`` of the losses of elements is ``"mean"``, ``"sum"`` or ``"none"``.'

    def __init__(self, size_average: OldFlag = None, reduce: OldFlag = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = legacy_get_string(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """The base class of losses that weigh classes or elements: the weight is a buffer."""

    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: OldFlag = None, reduce: OldFlag = None,
        reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


# -- of numbers --------------------------------------------------------------------------------------------------------


class L1Loss(_Loss):
    """``abs(input - target)``.

    Shape: (*), twice.

    >>> L1Loss()(torch.tensor([1.0, 4.0]), torch.zeros(2))
    tensor(2.5000)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """``(input - target) ** 2``.

    Shape: (*), twice.

    >>> MSELoss(reduction="sum")(torch.tensor([1.0, 4.0]), torch.zeros(2))
    tensor(17.)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """``(input - target) ** 2 / (2 * beta)`` where they are nearer than ``beta``, else ``abs(...) - beta / 2``.

    Shape: (*), twice.

    >>> SmoothL1Loss(reduction="none")(torch.tensor([0.5, 4.0]), torch.zeros(2))
    tensor([0.1250, 3.5000])
    """

    __constants__ = ["reduction"]

    def __init__(
        self, size_average: OldFlag = None, reduce: OldFlag = None, reduction: str = "mean", beta: float = 1.0
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """``(input - target) ** 2 / 2`` where they are nearer than ``delta``, else ``delta * (abs(...) - delta / 2)``.

    Shape: (*), twice.

    Raises:
        TypeError: ``delta`` is no number.

    >>> HuberLoss(reduction="none", delta=2)(torch.tensor([0.5, 4.0]), torch.zeros(2))
    tensor([0.1250, 6.0000])
    """

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class PoissonNLLLoss(_Loss):
    """The negative log-likelihood of counts under Poisson distributions.

    Args:
        log_input: whether inputs are logarithms of the means: ``exp(input) - target * input``; otherwise ``input -
            target * log(input + eps)``.
        full: whether the term is added that doesn't depend on the input, by Stirling's formula.
        eps: what keeps the logarithm finite.

    Shape: (*), twice.

    >>> PoissonNLLLoss()(torch.zeros(2), torch.ones(2))
    tensor(1.)
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(
        self, log_input: bool = True, full: bool = False, size_average: OldFlag = None, eps: float = 1e-8,
        reduce: OldFlag = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood under normal distributions: ``(log(var) + (input - target) ** 2 / var) / 2``.

    Args:
        full: whether the constant term is added.
        eps: the least variance that there is.

    Shape: input and target (*), variance (*), or with a last dimension that is left out or of length 1.

    >>> GaussianNLLLoss()(torch.tensor([2.0]), torch.zeros(1), torch.ones(1))
    tensor(2.)
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


# -- of classes --------------------------------------------------------------------------------------------------------


class NLLLoss(_WeightedLoss):
    """Minus the log-probability that the input gives to the target's class.

    The mean of losses is over the weights of the targets' classes.

    Args:
        weight: of each class, (C,).
        ignore_index: a target that doesn't count.

    Shape: log-probabilities (N, C, *), classes (N, *); or (C,) and ().

    >>> NLLLoss()(torch.tensor([[-1.0, -2.0]]), torch.tensor([1]))
    tensor(2.)
    """

    __constants__ = ["ignore_index", "reduction"]

    def __init__(
        self, weight: Tensor | None = None, size_average: OldFlag = None, ignore_index: int = -100,
        reduce: OldFlag = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class NLLLoss2d(NLLLoss):
    """``NLLLoss`` by its old name for images, which warns; ``weight``, ``ignore_index`` and ``reduction`` are as there.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.NLLLoss2d()(torch.full((1, 2, 1, 1), -1.5), torch.zeros(1, 1, 1).long())
    tensor(1.5000)
    """

    def __init__(
        self, weight: Tensor | None = None, size_average: OldFlag = None, ignore_index: int = -100,
        reduce: OldFlag = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss):
    """``NLLLoss`` of ``log_softmax(input)``; or, where targets are probabilities, ``-target * log_softmax(input)``.

    The mean of losses is over the weights of the targets' classes.

    Args:
        weight: of each class, (C,).
        ignore_index: a class that doesn't count.
        label_smoothing: what part of each target is shared out among all classes.

    Shape: inputs (N, C, *), targets classes (N, *) or probabilities (N, C, *); or without N.

    >>> CrossEntropyLoss()(torch.zeros(1, 4), torch.tensor([1]))
    tensor(1.3863)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(
        self, weight: Tensor | None = None, size_average: OldFlag = None, ignore_index: int = -100,
        reduce: OldFlag = None, reduction: str = "mean", label_smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip


class LinearCrossEntropyLoss(_WeightedLoss):
    """``CrossEntropyLoss`` of what a linear layer of its own, ``linear``, makes of the input.

    Args:
        in_features, num_classes: how many numbers come in, and how many classes there are.
        out_features: the shape of what is classified, if that is more than one thing.
        bias: whether the layer has one.
        device, dtype: those of its parameters.
        weight: of each class, (num_classes,).
        ignore_index: a class that doesn't count.
        label_smoothing: what part of each target is shared out among all classes.
        options: how PyTorch saves memory.

    Shape: inputs (N, in_features), targets classes (N, *out_features) or probabilities (N, num_classes,
    *out_features); or without N.

    Raises:
        RuntimeError: a weight of another shape, or a smoothing outside [0, 1].

    >>> LinearCrossEntropyLoss(3, 4)(torch.zeros(1, 3), torch.tensor([1]))
    tensor(1.3863, grad_fn=<NllLossBackward0>)
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
        device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Tensor | None = None,
        ignore_index: int | None = None, label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:  # fmt: skip
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if label_smoothing < 0 or label_smoothing > 1.0:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight, reduction=reduction)
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        outputs = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        linear, shape = self.linear, (self.num_classes, *self.out_features)
        return F.linear_cross_entropy(
            input, linear.weight.reshape((*shape, linear.in_features)), target,
            linear_bias=None if linear.bias is None else linear.bias.reshape(shape), weight=self.weight,
            reduction=self.reduction, ignore_index=self.ignore_index, label_smoothing=self.label_smoothing,
            options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        names = ("num_classes", "out_features", "bias", "reduction", "ignore_index", "label_smoothing", "options")
        shown = {**vars(self), "bias": self.linear.bias is not None}
        return ", ".join([f"in_features={self.linear.in_features}", *(f"{name}={shown[name]}" for name in names)])


class MultiMarginLoss(_WeightedLoss):
    """``sum(max(0, margin - x[y] + x[i]) ** p) / C`` over the classes i other than the target y.

    Args:
        p: 1 or 2.
        margin: by how much the target's score is to be above the others.
        weight: of each class, (C,).

    Shape: scores (N, C), classes (N,); or (C,) and ().

    Raises:
        ValueError: another ``p``; a weight that is no vector.

    >>> MultiMarginLoss()(torch.tensor([[0.0, 2.0]]), torch.tensor([0]))
    tensor(1.5000)
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: OldFlag = None,
        reduce: OldFlag = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead")
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """``sum(max(0, 1 - x[j] + x[i])) / C`` over the classes j of the target and the classes i that aren't.

    Shape: scores (N, C), classes (N, C), of which those count that are before the first -1; or without N.

    >>> MultiLabelMarginLoss()(torch.tensor([[0.0, 2.0]]), torch.tensor([[0, -1]]))
    tensor(1.5000)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class CTCLoss(_Loss):
    """Minus the log-probability of a sequence of labels, whatever the times at which they come (Graves et al. 2006).

    Args:
        blank: the class that stands between labels.
        zero_infinity: whether losses that are infinite, as where inputs are too short, count as 0.

    ``forward`` takes log-probabilities (T, N, C) or (T, C), targets (N, S) or all of them one after the other, and the
    lengths of inputs and targets, (N,) or ().
    """

    __constants__ = ["blank", "reduction"]

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        """See ``ctc_loss``.

        Args:
            log_probs: (time, batch, classes), or (time, classes).
            targets: (batch, length), or all in one row.
            input_lengths: how many steps of each are used, (batch,).
            target_lengths: how long each target is, (batch,).

        >>> torch.nn.CTCLoss()(torch.zeros(3, 1, 2).log_softmax(2), torch.tensor([[1]]), (3,), (1,))
        tensor(0.2877)
        """
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


# -- of probabilities --------------------------------------------------------------------------------------------------


class BCELoss(_WeightedLoss):
    """``-(target * log(input) + (1 - target) * log(1 - input))``, of probabilities.

    Args:
        weight: of each element.

    Shape: (*), twice.

    >>> BCELoss()(torch.tensor([0.5]), torch.ones(1))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """``BCELoss`` of ``sigmoid(input)``, in one and without overflow.

    Args:
        weight: of each element.
        pos_weight: of positive targets.

    Shape: (*), twice.

    >>> BCEWithLogitsLoss()(torch.tensor([0.0]), torch.ones(1))
    tensor(0.6931)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: OldFlag = None, reduce: OldFlag = None,
        reduction: str = "mean", pos_weight: Tensor | None = None,
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """See ``binary_cross_entropy_with_logits``; ``target`` has the shape of the logits."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """``target * (log(target) - input)``: inputs are log-probabilities, and so are targets with ``log_target``.

    Shape: (*), twice. The reduction ``"batchmean"`` divides the sum by the first length.

    >>> KLDivLoss(reduction="sum")(torch.tensor([0.5]).log(), torch.tensor([1.0]))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def __init__(
        self, size_average: OldFlag = None, reduce: OldFlag = None, reduction: str = "mean", log_target: bool = False
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


# -- of signs ----------------------------------------------------------------------------------------------------------


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target * input))``, of targets 1 and -1.

    Shape: (*), twice.

    >>> SoftMarginLoss()(torch.zeros(1), torch.ones(1))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean of ``BCEWithLogitsLoss`` over classes.

    Args:
        weight: of each class, (C,).

    Shape: (N, C) or (C,), twice.

    >>> MultiLabelSoftMarginLoss()(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """See ``multilabel_soft_margin_loss``; ``target`` has a 0 or 1 for each class."""
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1.

    Shape: (*), twice.

    >>> HingeEmbeddingLoss(reduction="none")(torch.tensor([0.5, 0.25]), torch.tensor([1, -1]))
    tensor([0.5000, 0.7500])
    """

    __constants__ = ["margin", "reduction"]

    def __init__(
        self, margin: float = 1.0, size_average: OldFlag = None, reduce: OldFlag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """``1 - cos`` where the target is 1, ``max(0, cos - margin)`` where it is -1, of the angle between two vectors.

    Shape: vectors (N, D), twice, and targets (N,); or without N.

    >>> CosineEmbeddingLoss()(torch.ones(1, 2), torch.tensor([[1.0, -1.0]]), torch.ones(1))
    tensor(1.)
    """

    __constants__ = ["margin", "reduction"]

    def __init__(
        self, margin: float = 0.0, size_average: OldFlag = None, reduce: OldFlag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """See ``cosine_embedding_loss``.

        Args:
            input1, input2: the vectors, (batch, features).
            target: 1 for pairs that are alike, -1 for others.
        """
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """``max(0, -target * (input1 - input2) + margin)``: a target of 1 wants the first larger, -1 the second.

    Shape: (N,) or (), three times.

    >>> MarginRankingLoss()(torch.zeros(1), torch.tensor([2.0]), torch.ones(1))
    tensor(2.)
    """

    __constants__ = ["margin", "reduction"]

    def __init__(
        self, margin: float = 0.0, size_average: OldFlag = None, reduce: OldFlag = None, reduction: str = "mean"
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


# -- of triplets -------------------------------------------------------------------------------------------------------


class TripletMarginLoss(_Loss):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``, with the distance by a p-norm.

    Args:
        margin: how much further away the negative is to be.
        p: which norm.
        eps: what keeps gradients finite where vectors are equal.
        swap: whether the distance from positive to negative counts if it is the smaller one.

    Shape: (N, D) or (D,), three times.

    Raises:
        ValueError: a margin that isn't positive.

    >>> TripletMarginLoss()(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[0.5, 0.0]]))
    tensor(0.5000)
    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
        size_average: OldFlag = None, reduce: OldFlag = None, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip


class TripletMarginWithDistanceLoss(_Loss):
    """``TripletMarginLoss`` with a distance of one's own.

    Args:
        distance_function: of two tensors; ``PairwiseDistance()`` if None.
        margin, swap: see ``TripletMarginLoss``.

    Raises:
        ValueError: a margin that isn't positive.

    >>> loss = TripletMarginWithDistanceLoss(distance_function=lambda x, y: (x - y).abs().sum(-1))
    >>> loss(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[0.25, 0.25]]))
    tensor(0.5000)
    """

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(
        self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
        swap: bool = False, reduction: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """See ``triplet_margin_with_distance_loss``: ``positive`` shall be nearer to ``anchor`` than ``negative``."""
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip

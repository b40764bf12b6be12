"""``AdaptiveLogSoftmaxWithLoss``: a softmax over very many classes, most of which are rare."""

from __future__ import annotations

from collections.abc import Sequence as Numbers
from typing import Any, NamedTuple

from tapegrad._src.functions.joining import cat
from tapegrad._src.functions.reductions import argmax
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn import functional as F
from tapegrad.nn.modules.container import ModuleList, Sequential
from tapegrad.nn.modules.linear import Linear
from tapegrad.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes in clusters, the most frequent classes in the first one (Grave et al. 2017).

    A head gives scores to the classes of the first cluster, and to each of the others as a whole; only for targets in
    one of these are its own scores computed, through a projection that is the smaller, the rarer its classes are.

    Args:
        in_features: how many numbers come in.
        n_classes: how many classes there are, numbered from the most frequent on.
        cutoffs: at which classes clusters end.
        div_value: by how much the projection of a cluster is smaller than that of the one before.
        head_bias: whether the head has a bias.
        device, dtype: those of the parameters.

    Shape: inputs (N, in_features), targets (N,), or without N. ``output`` are the targets' log-probabilities, (N,), and
    ``loss`` is minus their mean.

    Raises:
        ValueError: cutoffs that aren't integers in rising order, from 1 to n_classes - 1.
        RuntimeError: inputs and targets that don't fit; targets that are no classes.

    >>> layer = AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[5, 10])
    >>> x, y = torch.ones(3, 16), torch.tensor([0, 7, 19])
    >>> output, loss = layer(x, y)
    >>> torch.allclose(output, layer.log_prob(x).gather(1, y.unsqueeze(1)).squeeze(1))
    True
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Numbers[int], div_value: float = 4.0, head_bias: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = cutoffs == sorted(set(cutoffs)) and all(int(cutoff) == cutoff for cutoff in cutoffs)
        if not rising or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        kind = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for cluster, (first, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False), 1):
            width = int(in_features // div_value**cluster)
            down = Linear(in_features, width, bias=False, **kind)
            self.tail.append(Sequential(down, Linear(width, end - first, bias=False, **kind)))

    def reset_parameters(self) -> None:
        """Draw the parameters as at first."""
        self.head.reset_parameters()
        for projection in self.tail:
            for layer in projection:
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The logarithm of the probability of each target, and the mean of their negatives.

        Args:
            input_: (batch, in_features), or (in_features,).
            target_: the classes, (batch,), or a number.

        Raises:
            RuntimeError: shapes that don't fit together, or a class that is none.
        """
        check_shapes(input_, target_)
        if target_.dim() == 0:
            output, loss = self(input_.unsqueeze(0), target_.unsqueeze(0))
            return _ASMoutput(output.squeeze(0), loss)
        input: Any = input_
        target: Any = target_
        found = input.new_zeros(target.size(0))
        places = target.new_empty(target.size(0))
        used, starts = 0, [0, *self.cutoffs]
        for cluster, (first, end) in enumerate(zip(starts, self.cutoffs, strict=False)):
            inside = (target >= first) & (target < end)
            rows = inside.nonzero().squeeze(1)
            used += rows.numel()
            if rows.numel() and cluster == 0:
                places.index_copy_(0, rows, target[inside])
            elif rows.numel():
                scores = F.log_softmax(self.tail[cluster - 1](input.index_select(0, rows)), 1)
                places.index_fill_(0, rows, self.shortlist_size + cluster - 1)
                found.index_copy_(0, rows, scores.gather(1, (target[inside] - first).unsqueeze(1)).squeeze(1))
        if used != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        found += F.log_softmax(self.head(input), 1).gather(1, places.unsqueeze(1)).squeeze(1)
        return _ASMoutput(found, (-found).mean())

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head: Any = F.log_softmax(head_output, 1)
        parts = [head[:, : self.shortlist_size]]
        for cluster, projection in enumerate(self.tail, self.shortlist_size):
            parts.append(F.log_softmax(projection(input), 1) + head[:, cluster].unsqueeze(1))
        return cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: (N, in_features) to (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Any) -> Tensor:
        """The most likely class of each input: (N, in_features) to (N,)."""
        head = self.head(input)
        best: Any = argmax(head, dim=1)
        rare = best >= self.shortlist_size
        if not rare.any():
            return best
        if rare.all():
            return argmax(self._get_full_log_prob(input, head), dim=1)
        best[rare] = argmax(self._get_full_log_prob(input[rare], head[rare]), dim=1)
        return best


def check_shapes(input: Tensor, target: Tensor) -> None:
    """Refuse inputs and targets that don't fit."""
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.dim() == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != target.dim() + 1:
        raise RuntimeError(
            f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with size "
            f"{input.size()}"
        )

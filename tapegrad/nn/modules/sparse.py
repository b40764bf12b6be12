"""Embeddings: rows of a table that are looked up by their numbers."""

from __future__ import annotations

from typing import Any, Self

from tapegrad._src.functions.creation import empty
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nn import functional as F
from tapegrad.nn import init
from tapegrad.nn.modules.module import Module
from tapegrad.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _EmbeddingTable(Module):
    """The base class of embeddings: the table, at first of standard normal numbers."""

    weight: Any
    padding_idx: int | None

    def reset_parameters(self) -> None:
        """Draw the table as at first."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def _make_weight(self, given: Tensor | None, shape: list[int], frozen: bool, device: Any, dtype: Any) -> None:
        if given is None:
            self.weight = Parameter(empty(shape, device=device, dtype=dtype), requires_grad=not frozen)
            self.reset_parameters()
            return
        if list(given.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(given, requires_grad=not frozen)


def counted_from_start(padding_idx: int | None, rows: int, name: str) -> int | None:
    """The number of a row, where negative ones count from the end. Raises AssertionError: there is no such row."""
    if padding_idx is None:
        return None
    if not (-rows <= padding_idx < rows or padding_idx == 0):
        raise AssertionError(f"{name} must be within num_embeddings")
    return padding_idx + rows if padding_idx < 0 else padding_idx


class Embedding(_EmbeddingTable):
    """Rows of a table by their numbers.

    Args:
        num_embeddings, embedding_dim: how many rows there are, and how long they are.
        padding_idx: a row of zeros, at first, which gets no gradient.
        max_norm: the largest norm of a row: larger ones are scaled down when they are looked up.
        norm_type: which norm.
        scale_grad_by_freq: whether the gradient of a row is divided by how often it was looked up.
        sparse: whether the gradient of ``weight`` is to be sparse.
        device, dtype: those of the table.

    Attributes:
        weight: the table, (num_embeddings, embedding_dim).

    Shape: (*) integers to (*, embedding_dim).

    Raises:
        AssertionError: a padding row, or a table, that doesn't fit.

    >>> Embedding.from_pretrained(torch.tensor([[0.0, 1.0], [2.0, 3.0]]))(torch.tensor([1, 1, 0]))
    tensor([[2., 3.],
            [2., 3.],
            [0., 1.]])
    """

    __constants__ = [
        "num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse",
    ]  # fmt: skip

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Tensor | None = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = counted_from_start(padding_idx, num_embeddings, "Padding_idx")
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._make_weight(_weight, [num_embeddings, embedding_dim], _freeze, device, dtype)
        self.sparse = sparse

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Self:  # fmt: skip
        """An embedding with this table, which isn't trained if ``freeze``.

        Args:
            embeddings: the table, (rows, columns).
            freeze: whether it stays as it is; the other arguments are those of the class.

        Raises:
            AssertionError: the table is no matrix.
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings,
            _freeze=freeze,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in (("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            value = getattr(self, name)
            shown += "" if value is usual or value == usual else f", {name}={value}"
        return shown + ("" if self.sparse is False else ", sparse=True")


class EmbeddingBag(_EmbeddingTable):
    """Sums, means or maxima of rows of a table.

    Args:
        num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, sparse: see ``Embedding``.
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        include_last_offset: whether the offsets end with the number of all indices.
        padding_idx: a row that is left out of its bag.
        device, dtype: those of the table.

    ``forward`` takes bags of one length, (B, N), or all indices, (M,), with the ``offsets`` at which bags begin, (B,);
    and ``per_sample_weights`` for sums. It gives (B, embedding_dim).

    >>> bag = EmbeddingBag.from_pretrained(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), mode="sum")
    >>> bag(torch.tensor([0, 1, 1]), torch.tensor([0, 2]))
    tensor([[2., 4.],
            [2., 3.]])
    """

    __constants__ = [
        "num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
        "include_last_offset", "padding_idx",
    ]  # fmt: skip

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = counted_from_start(padding_idx, num_embeddings, "padding_idx")
        self._make_weight(_weight, [num_embeddings, embedding_dim], False, device, dtype)
        self.mode, self.sparse, self.include_last_offset = mode, sparse, include_last_offset

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:  # fmt: skip
        """An embedding with this table, which isn't trained if ``freeze``.

        Args:
            embeddings: the table, (rows, columns).
            freeze: whether it stays as it is; the other arguments are those of the class.

        Raises:
            AssertionError: the table is no matrix.
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(
            rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
            padding_idx,
        )  # fmt: skip
        made.weight.requires_grad = not freeze
        return made

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        shown += "" if self.max_norm is None else f", max_norm={self.max_norm}"
        shown += "" if self.norm_type == 2 else f", norm_type={self.norm_type}"
        shown += "" if self.scale_grad_by_freq is False else f", scale_grad_by_freq={self.scale_grad_by_freq}"
        shown += f", mode={self.mode!r}"
        return shown + ("" if self.padding_idx is None else f", padding_idx={self.padding_idx}")

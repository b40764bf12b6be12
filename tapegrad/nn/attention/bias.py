"""``torch.nn.attention.bias``: causal masks, which are told by their kind and lengths instead of their elements."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any

from tapegrad._src.execution.data.dtypes import bool as bool_
from tapegrad._src.functions.creation import empty, ones
from tapegrad._src.functions.slicing import tril
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.nn.functional import scaled_dot_product_attention

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """From which corner a causal mask goes down: ``UPPER_LEFT`` or ``LOWER_RIGHT``."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal mask for ``scaled_dot_product_attention``; make one by ``causal_upper_left`` or ``causal_lower_right``.

    Args:
        variant: which of the two.
        seq_len_q: how many queries there are.
        seq_len_kv: how many keys.

    Raises:
        AssertionError: ``variant`` is no CausalVariant.
    """

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        return empty(seq_len_q, seq_len_kv, device="meta").as_subclass(cls)

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!")

    def _materialize(self, device: Any = None) -> Tensor:
        """The mask with its elements: True for the keys that a query sees."""
        seen = ones(self.seq_len_q, self.seq_len_kv, device=device, dtype=bool_)
        is_left = self.variant is CausalVariant.UPPER_LEFT
        return tril(seen, diagonal=0 if is_left else self.seq_len_kv - self.seq_len_q)

    @staticmethod
    def _dispatch(
        query: Any, key: Any, value: Any, attn_mask: CausalBias, dropout_p: float = 0.0, is_causal: bool = False,
        scale: float | None = None, enable_gqa: bool = False,
    ) -> Tensor:  # fmt: skip
        """Attention under such a mask: causal where it goes down from the upper left."""
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        same = attn_mask.seq_len_q == attn_mask.seq_len_kv
        from_left = same or attn_mask.variant is CausalVariant.UPPER_LEFT
        return scaled_dot_product_attention(
            query, key, value, None if from_left else attn_mask._materialize(query.device), dropout_p, from_left,
            scale=scale, enable_gqa=enable_gqa,
        )  # fmt: skip

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Attention under the mask; whatever else is asked of one is a tensor's."""
        if func is scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        return super().__torch_function__(  # type: ignore[misc]
            func, types, args, kwargs or {}
        )

    def __repr__(self) -> str:  # type: ignore[override]
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """The mask by which query i sees keys up to i.

    Args:
        size: the numbers of queries and of keys.

    Raises:
        AssertionError: these are not two.

    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask by which the last query sees all keys, and each one before a key less.

    Args:
        size: the numbers of queries and of keys.

    Raises:
        AssertionError: these are not two.

    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)

"""Attention of several heads."""

from __future__ import annotations

from typing import Any, ClassVar

from tapegrad._src.declaring import on_demand
from tapegrad._src.functions.creation import empty
from tapegrad._src.functions.multihead import _canonical_mask, _none_or_dtype, multi_head_attention_forward
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nn.init import constant_, xavier_normal_, xavier_uniform_
from tapegrad.nn.modules.linear import NonDynamicallyQuantizableLinear
from tapegrad.nn.modules.module import Module
from tapegrad.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]
__getattr__, _ = on_demand(__name__, {})  # attention over nested tensors


class MultiheadAttention(Module):
    """Attention of several heads, each of an equal share of ``embed_dim``.

    Args:
        embed_dim: the width of queries and results.
        num_heads: how many heads there are.
        dropout: with which probability weights are dropped, in training.
        bias: whether projections have biases.
        add_bias_kv: whether a key and a value are learnt and added to those that are given.
        add_zero_attn: whether a key and a value of zeros are added.
        kdim, vdim: the widths of keys and values, ``embed_dim`` by default.
        batch_first: whether inputs are (batch, length, width) rather than (length, batch, width).

    Raises:
        ValueError, AssertionError: sizes that don't fit.

    >>> x = torch.ones(3, 1, 4)
    >>> y, weights = torch.nn.MultiheadAttention(4, 2)(x, x, x)
    >>> y.shape, weights.shape
    (torch.Size([3, 1, 4]), torch.Size([1, 3, 3]))
    """

    __constants__: ClassVar = ["batch_first"]

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        options = {"device": device, "dtype": dtype}
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._add_projections(options)
        self.register_parameter("in_proj_bias", Parameter(empty(3 * embed_dim, **options)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **options)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k, self.bias_v = (Parameter(empty((1, 1, embed_dim), **options)) for _ in "kv")
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _add_projections(self, options: dict[str, Any]) -> None:
        """One packed weight, or one for each of queries, keys and values."""
        width = self.embed_dim
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(empty((3 * width, width), **options))
            for letter in "qkv":
                self.register_parameter(f"{letter}_proj_weight", None)
            return
        self.q_proj_weight = Parameter(empty((width, width), **options))
        self.k_proj_weight = Parameter(empty((width, self.kdim), **options))
        self.v_proj_weight = Parameter(empty((width, self.vdim), **options))
        self.register_parameter("in_proj_weight", None)

    def _reset_parameters(self) -> None:
        """Draw all parameters anew: by ``xavier_uniform_``, learnt keys by ``xavier_normal_``; biases are 0."""
        if self._qkv_same_embed_dim:
            xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Give what queries (L, batch, embed_dim) find among keys (S, batch, kdim) and values (S, batch, vdim), and how
        they weigh them: see ``torch.nn.functional.multi_head_attention_forward``. All may come without the batch.

        Args:
            key_padding_mask: (batch, S), which keys don't count: True, or -inf, which is added.
            need_weights: whether weights (batch, L, S) are wanted; None is given in their place, if not.
            attn_mask: (L, S) or (batch * num_heads, L, S), which keys don't count for a query.
            average_attn_weights: whether weights are means over the heads; (batch, num_heads, L, S), if not.
            is_causal: whether ``attn_mask`` says that no query sees later keys.
        """
        if query.is_nested or key.is_nested or value.is_nested:
            masks, options = (key_padding_mask, attn_mask), {"average_attn_weights": average_attn_weights}
            return __getattr__("attention")(self, query, key, value, masks, need_weights=need_weights, **options)
        key_padding_mask = _canonical_mask(
            key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
        )
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        turned = self.batch_first and query.dim() == 3
        if turned:
            query, key, value = _turned(query, key, value)
        out, weights = multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (out.transpose(1, 0) if turned else out), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks in one, and of which kind it is: 0 (L, S), 1 (batch, S), 2 (batch, num_heads, L, S), None.

        Args:
            attn_mask: what is added to the scores, (L, S) or one for each head; or None.
            key_padding_mask: the same for all queries, (batch, S); or None.
            query: (batch, L, width).
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2


def _turned(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """With batch and length exchanged; what was the same tensor still is."""
    turned: dict[int, Tensor] = {}
    for x in (query, key, value):
        if id(x) not in turned:
            turned[id(x)] = x.transpose(1, 0)
    return turned[id(query)], turned[id(key)], turned[id(value)]

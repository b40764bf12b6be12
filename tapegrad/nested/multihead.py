"""Attention of several heads over nested tensors: where nothing is recorded, of the strided layout."""

from __future__ import annotations

from typing import Any

from tapegrad._src.functions.creation import arange
from tapegrad._src.functions.joining import stack
from tapegrad._src.functions.multihead import multi_head_attention_forward
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.construction import as_nested_tensor

NO_MASKS = (
    "supplying both src_key_padding_mask and src_mask at the same time                                  is not "
    "supported with NestedTensor input"
)
"""PyTorch's words, with the indentation of its source."""


def attention(module: Any, query: Tensor, key: Tensor, value: Tensor, masks: tuple, **options: Any) -> tuple:
    """The results of queries among keys and values, of each entry by itself, and their weights, padded.

    Raises:
        AssertionError: PyTorch computes nothing there either: gradients are wanted, the module trains, masks are given.
    """
    reason = refusal(module, query, key, value, masks)
    if reason is not None:
        raise AssertionError("MultiheadAttention does not support NestedTensor outside of its fast path. The fast path "
                             f"was not hit because {reason}")  # fmt: skip
    lengths = [entry.shape[0] for entry in query.unbind()]
    dense = query.to_padded_tensor(0.0).transpose(0, 1)
    behind = stack([arange(dense.shape[0], device=dense.device) >= length for length in lengths])
    found, weights = multi_head_attention_forward(
        dense, dense, dense, module.embed_dim, module.num_heads, module.in_proj_weight, module.in_proj_bias, None, None,
        False, 0.0, module.out_proj.weight, module.out_proj.bias, training=False, key_padding_mask=behind, **options,
    )  # fmt: skip
    if weights is not None:
        weights = weights.masked_fill(behind.view(len(lengths), *[1] * (weights.ndim - 3), -1, 1), 0.0)
    entries = [found[:length, place] for place, length in enumerate(lengths)]
    return as_nested_tensor(entries), weights


def refusal(module: Any, query: Tensor, key: Tensor, value: Tensor, masks: tuple) -> str | None:
    """The reason why a module does not take nested tensors now; None if it does."""
    weights = module.in_proj_weight, module.in_proj_bias, module.out_proj.weight, module.out_proj.bias
    recorded = thread.modes.grad and any(one is not None and one.requires_grad for one in (query, key, value, *weights))
    reasons = (
        (query.dim() != 3, f"input not batched; expected query.dim() of 3 but got {query.dim()}"),
        (query is not key or key is not value,
         "non-self attention was used (query, key, and value are not the same Tensor)"),
        (module.in_proj_weight is None, "in_proj_weight was None"),
        (module.training, "training is enabled"),
        (module.num_heads % 2 != 0, "self.num_heads is not even"),
        (not module.batch_first, "batch_first was not True"),
        (module.bias_k is not None, "self.bias_k was not None"),
        (module.add_zero_attn, "add_zero_attn was enabled"),
        (not module._qkv_same_embed_dim, "_qkv_same_embed_dim was not True"),
        (any(mask is not None for mask in masks), NO_MASKS),
        (query.layout is layouts.jagged, "some Tensor argument has_torch_function"),
        (recorded, "grad is enabled and at least one of query or the input/output projection weights or biases "
                   "requires_grad"),
    )  # fmt: skip
    return next((reason for holds, reason in reasons if holds), None)

"""Functions of layers: softmax, normalization, dropout, embedding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.functions.bags import embedding_bag
from tapegrad._src.functions.dropout import dropout
from tapegrad._src.functions.embedding import embedding
from tapegrad._src.functions.normalization import layer_norm, rms_norm
from tapegrad._src.functions.softmax import log_softmax, softmax
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.lengths import RaggedLength
from tapegrad.nested.overloads import unsupported
from tapegrad.nested.padding import padded, unpadded
from tapegrad.nested.shape import need_contiguous
from tapegrad.nested.tensor import Jagged, answers, is_jagged, lengths_of, state_of, with_values


@answers("softmax", "_softmax")
def _softmax(input: Tensor, dim: int, *args: Any, dtype: Any = None, **_: Any) -> Tensor:
    state = state_of(input)
    dtype = dtype if dtype is not None else next((arg for arg in args if type(arg).__name__ == "dtype"), None)
    found = wrap_dim(dim, len(state.shape))
    if found == 0:
        raise RuntimeError("softmax(): not supported when reducing across the batch dimension for NestedTensor")
    if found != state.ragged:
        return with_values(input, softmax(state.values, found - 1, dtype=dtype))
    if state.ragged > 1:
        raise RuntimeError("softmax(): not supported when reducing along the ragged dimension for ragged_idx > 1 for "
                           "NestedTensor")  # fmt: skip
    if state.lengths is not None:
        raise RuntimeError("softmax(): not supported where lengths is not None if reducing across the ragged dimension "
                           "for NestedTensor")  # fmt: skip
    return with_values(input, unpadded(softmax(padded(state, -float("inf")), 1, dtype=dtype), state))


@answers("softmin")
def _softmin(input: Tensor, dim: int, *_: Any, dtype: Any = None, **__: Any) -> Tensor:
    return _softmax(-input, dim, dtype=dtype)


@answers("log_softmax")
def _log_softmax(input: Tensor, dim: int, *args: Any, dtype: Any = None, **_: Any) -> Tensor:
    state = state_of(input)
    found = wrap_dim(dim, len(state.shape))
    if found in (0, state.ragged):
        where = "across the batch" if found == 0 else "along the ragged"
        raise RuntimeError(f"log_softmax(): not supported when reducing {where} dimension for NestedTensor")
    return with_values(input, log_softmax(state.values, found - 1, dtype=dtype))


@answers("layer_norm")
def _layer_norm(
    input: Tensor, normalized_shape: Sequence[Any], weight: Any = None, bias: Any = None, eps: float = 1e-5, *_: Any
) -> Tensor:
    state = state_of(input)
    if input.dim() <= 2:
        raise RuntimeError("layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions")
    if input.dim() == len(normalized_shape):
        raise RuntimeError("layer_norm(): not supported when normalizing over the batch dimension for NestedTensor")
    if not any(isinstance(length, RaggedLength) for length in normalized_shape):
        return with_values(input, layer_norm(state.values, list(normalized_shape), weight, bias, eps))
    if state.lengths is not None:
        raise RuntimeError("layer_norm(): not supported where lengths is not None if operating on the ragged dimension "
                           "for NestedTensor")  # fmt: skip
    return with_values(input, _normalized_entries(state, eps))


def _normalized_entries(state: Jagged, eps: float) -> Tensor:
    """The values, of which each entry has the mean 0 and the variance 1."""
    if state.ragged != 1:
        raise unsupported("native_layer_norm")
    flat = state.with_values(state.values.flatten(1))
    rows, there = padded(flat, 0), padded(state.with_values(state.values.new_ones(state.values.shape[0], 1)), 0)
    count = lengths_of(state).view(-1, 1, 1) * rows.shape[2]
    centered = (rows - rows.sum((1, 2), keepdim=True) / count) * there
    spread = (centered.square().sum((1, 2), keepdim=True) / count + eps).sqrt()
    return unpadded(centered / spread, flat).view(state.values.shape)


@answers("rms_norm")
def _rms_norm(input: Tensor, normalized_shape: Sequence[Any], weight: Any = None, eps: float | None = None) -> Tensor:
    state = state_of(input)
    if len(normalized_shape) > input.dim() - state.ragged - 1:
        raise ValueError("rms_norm(): Normalization over the ragged dim not supported for nested tensors")
    return with_values(input, rms_norm(state.values, list(normalized_shape), weight, eps))


@answers("dropout", "feature_dropout", "alpha_dropout")
def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, **named: Any) -> Tensor:
    training = named.get("train", training)
    if inplace:
        dropout(state_of(input).values, p, training, True)
        return input
    return with_values(input, dropout(state_of(input).values, p, training))


@answers("native_dropout")
def _native_dropout(input: Tensor, p: float, train: Any) -> tuple[Tensor, ...]:
    need_contiguous(input, "native_dropout_default(self: jt, float: any, train: any?)")
    return tuple(with_values(input, one) for one in state_of(input).values.native_dropout(p, train))


@answers("embedding")
def _embedding(input: Tensor, weight: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    if "indices" in kwargs or not is_jagged(input):  # torch.embedding has the weight first
        input, weight = kwargs.pop("indices", weight), input
    schema = "weight: t, indices: jt, padding_idx: any?, scale_grad_by_freq: any?, sparse: any?"
    need_contiguous(input, f"embedding_default({schema})", "indices")
    return with_values(input, embedding(state_of(input).values, weight, *args, **kwargs))


@answers("embedding_bag")
def _embedding_bag(input: Tensor, weight: Tensor, offsets: Any = None, *args: Any, **kwargs: Any) -> Tensor:
    if not is_jagged(input):
        input, weight = weight, input
    if offsets is not None:
        raise RuntimeError("embedding_bag(): offsets must be None for a nested input, which has its own")
    state = state_of(input)
    factors = kwargs.get("per_sample_weights")
    if factors is not None and is_jagged(factors):
        kwargs["per_sample_weights"] = state_of(factors).values
    kwargs["include_last_offset"] = True
    return embedding_bag(state.values, weight, state.offsets, *args, **kwargs)

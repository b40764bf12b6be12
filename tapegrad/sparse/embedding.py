"""Embeddings whose tables get sparse gradients, and how gradients are kept in ``.grad``."""

from __future__ import annotations

from typing import Any

from tapegrad._src.dispatch.nodes.accumulate_grad import sparse_accumulator
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tape.node import Node
from tapegrad._src.tensor.tensor import Tensor, describe, wrap
from tapegrad.autograd.function import Function
from tapegrad.ops import bags, embedding
from tapegrad.ops.sparse import sparse_constructor
from tapegrad.sparse.arithmetic import merged
from tapegrad.sparse.coordinates import made
from tapegrad.sparse.tensor import SparseTensor, SparseValue, become, is_coo, is_sparse


def sparse_rows(weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
    """The rows of a table with these numbers; its gradient is sparse."""
    return _Rows.apply(weight, indices, padding_idx, by_frequency)


class _Rows(Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
        ctx.save_for_backward(indices)
        ctx.shape, ctx.padding_idx, ctx.by_frequency = tuple(weight.shape), padding_idx, by_frequency
        return embedding.embedding(weight, indices, padding_idx=padding_idx, by_frequency=by_frequency)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        _refuse_frequencies(ctx.by_frequency)
        (indices,) = ctx.saved_tensors
        rows = grad.reshape(-1, ctx.shape[1])
        return _gradient(indices.reshape(-1), rows, ctx.padding_idx, ctx.shape), None, None, None


def _refuse_frequencies(by_frequency: bool) -> None:
    if by_frequency:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")


def _gradient(indices: Tensor, rows: Tensor, padding_idx: int, shape: tuple) -> Tensor:
    """The rows that a table's gradient has, but for those of the padding."""
    if padding_idx >= 0:
        kept = indices != padding_idx
        indices, rows = indices[kept], rows[kept]
    rows = sparse_constructor(rows) if rows._spec.requires_grad else rows
    return made(indices.long().unsqueeze(0), rows, shape)


def sparse_bags(
    weight: Tensor, indices: Tensor, offsets: Tensor, weights: Tensor | None, mode: str, padding_idx: int,
    by_frequency: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The result of ``ops.bags.embedding_bag``; the gradient of the table is sparse."""
    return _Bags.apply(weight, indices, offsets, weights, mode, padding_idx, by_frequency)


class _Bags(Function):
    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, indices: Tensor, offsets: Tensor, weights: Tensor | None, mode: str,
        padding_idx: int, by_frequency: bool,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        results = bags.embedding_bag(weight, indices, offsets, weights, mode=mode, padding_idx=padding_idx,
                                     by_frequency=by_frequency)  # fmt: skip
        ctx.save_for_backward(weight, indices, weights, *results[1:3])
        ctx.mark_non_differentiable(*results[1:])
        ctx.mode, ctx.padding_idx, ctx.by_frequency = mode, padding_idx, by_frequency
        return results

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Any) -> tuple:
        weight, indices, weights, bag, sizes = ctx.saved_tensors
        nothing = (None,) * 3
        of_weights = None
        if weights is not None and ctx.needs_input_grad[3]:
            of_weights = bags.bag_products(grad, weight, indices, bag, padding_idx=ctx.padding_idx)
        if not ctx.needs_input_grad[0]:
            return None, None, None, of_weights, *nothing
        _refuse_frequencies(ctx.by_frequency)
        if ctx.mode == "mean":
            grad = grad / sizes.clamp(min=1).unsqueeze(1)
        rows = grad.index_select(0, bag)
        rows = rows if weights is None else rows * weights.unsqueeze(1)
        return _gradient(indices, rows, ctx.padding_idx, tuple(weight.shape)), None, None, of_weights, *nothing


for _function, _name in ((_Rows, "EmbeddingBackward0"), (_Bags, "EmbeddingBagBackward0")):
    _function._backward_cls.__name__ = _function._backward_cls.__qualname__ = _name
    setattr(_function._backward_cls, "__repr__", Node.__repr__)  # noqa: B010 - as of other nodes


def accumulate(variable: Tensor, grad: Any) -> bool:
    """Add a gradient to ``.grad`` if one of both is sparse, and say whether that is so.

    Args:
        grad: a value, or a tensor where the backward pass is recorded.
    """
    present = variable._grad
    if not (isinstance(grad, (SparseValue, SparseTensor)) or isinstance(present, SparseTensor)):
        return False
    recorded = isinstance(grad, Tensor)
    tensor = grad if recorded else grad.as_tensor() if isinstance(grad, SparseValue) else wrap(grad, describe(grad))
    with switched(grad=recorded and thread.modes.grad):
        if present is None:
            variable._grad = tensor.clone() if tensor.requires_grad else tensor
        elif recorded and thread.modes.grad:
            variable._grad = tensor + present if is_sparse(present) else present + tensor
        elif is_coo(present) and is_coo(tensor):
            become(present, merged(present, tensor)._value)
        elif is_sparse(present):
            variable._grad = tensor + present
        else:
            present.add_(tensor)
    return True


sparse_accumulator.fill(accumulate)

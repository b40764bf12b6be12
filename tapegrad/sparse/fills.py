"""The gradient of what a sparse tensor has not.

Note [Fill values]
What a sparse tensor does not have counts as 0, its *fill value*, and PyTorch gives a leaf whose sum is taken a dense
gradient, that of the fill value everywhere else. So the sum adds to the values a tensor of the leaf (dense dimensions),
which is 0 and takes that gradient. A leaf has one as soon as somebody asks. What is made of a leaf by an operation that
is linear elementwise, or moves elements, says of which leaves its own fill value is made, and with which factors
(``fills``); what else is made of one has no gradient there. A gradient of both is one dense tensor, made when it is
read. Of coordinates that are there twice a gradient is there once, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.functions.creation import ones_like, zeros, zeros_like
from tapegrad._src.functions.selection import where
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.differentiate import grad as gradients
from tapegrad.autograd.source_lines import unused
from tapegrad.ops import sparse as ops
from tapegrad.sparse.tensor import SparseTensor, SparseValue, become, is_coo, is_sparse, state_of


def fills_of(state: SparseValue) -> tuple[tuple[SparseValue, Any], ...]:
    """The leaves that the fill value of a sparse tensor is made of, with a factor for each, None if it is 1."""
    values = state.values
    if not values._spec.requires_grad or values._spec.level:
        return ()
    return state.fills or (((state, None),) if values.is_leaf else ())


def filled(tensor: Tensor, *parts: tuple[Tensor, Any]) -> Any:
    """Say of a sparse tensor that its fill value is the sum of those of others, each times a factor; it is given."""
    state = state_of(tensor)
    if state.values._spec.requires_grad and not state.values.is_leaf:
        state.fills = tuple(
            (leaf, before if factor is None else factor if before is None else before * factor)
            for one, factor in parts for leaf, before in fills_of(state_of(one))
        )  # fmt: skip
    return tensor


def total(tensor: Tensor, dtype: Any = None) -> Tensor:
    """The sum of all elements, or of one with coordinates over its sparse dimensions."""
    state = state_of(tensor)
    values = state.values if dtype is None else state.values.to(dtype)
    fill = None
    for leaf, factor in fills_of(state):
        part = _fill_of(leaf) if factor is None else _fill_of(leaf) * factor
        fill = part if fill is None else fill + part
    if fill is None:
        return values.sum(0) if is_coo(tensor) else values.sum()
    return ops.sparse_total(values, fill.to(values.dtype))


def _fill_of(leaf: SparseValue) -> Tensor:
    if leaf.fill is None:
        shape = leaf.values.shape[1:] if leaf.layout is layouts.sparse_coo else ()
        leaf.fill = zeros(shape, dtype=leaf.values.dtype, device=leaf.values.device, requires_grad=True)
    return leaf.fill


def whole_gradient(state: SparseValue, grad: Tensor | None, fill: Tensor | None) -> Tensor:
    """A dense gradient: ``grad`` at the places of a tensor, and ``fill`` elsewhere."""
    values = state.values.detach()
    rows = zeros_like(values) if grad is None else grad
    there, found = (with_rows(state, part).to_dense() for part in (ones_like(values.real), rows))
    elsewhere = zeros((), dtype=found.dtype, device=found.device) if fill is None else fill
    return where(there != 0, found / there.clamp(min=1), elsewhere)  # of values at one place each has the gradient


def with_rows(state: SparseValue, values: Tensor) -> SparseTensor:
    """A tensor with these values at the places of another."""
    return SparseValue(state.indices, values, state.shape, coalesced=state.coalesced, layout=state.layout).as_tensor()


def sparse_gradient(state: SparseValue, grad: Tensor) -> Tensor:
    """The gradient of a sparse tensor, of that of its values; of coordinates that are there twice it is there once."""
    if state.layout is not layouts.sparse_coo or state.coalesced:
        return with_rows(state, grad)
    counts = state_of(with_rows(state, ones_like(grad.detach().real)).coalesce()).values
    found = state_of(with_rows(state, grad).coalesce())
    return with_rows(found, found.values / counts)


def kept_gradient(state: SparseValue) -> Tensor | None:
    """The ``.grad`` of a leaf, to which is added what has come since it was read last; dense if one of them was."""
    grad, fill, before = state.values.grad, None if state.fill is None else state.fill.grad, state.whole
    if grad is None and fill is None:
        return before
    if fill is None and grad is not None:
        found = grad if is_sparse(grad) else sparse_gradient(state, grad)
    else:
        found = whole_gradient(state, grad, fill)
    if before is not None:
        with switched(grad=found.requires_grad or before.requires_grad):
            found = _sum(before, found)
    keep_gradient(state, found)
    return found


def _sum(before: Tensor, found: Tensor) -> Tensor:
    """The sum of two gradients, in place of the first one where neither is recorded."""
    total = found + before if is_sparse(before) else before + found
    if total.requires_grad or is_sparse(before) != is_sparse(total):
        return total
    return become(before, state_of(total)) if is_sparse(before) else before.copy_(total)


def keep_gradient(state: SparseValue, grad: Tensor | None) -> None:
    """Set the ``.grad`` of a leaf."""
    state.whole, state.values.grad = grad, None
    if state.fill is not None:
        state.fill.grad = None


def gradients_of(outs: tuple, inputs: Sequence[Any], seeds: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """The gradients of tensors, of which some are sparse: of one that is a leaf dense, if its fill value has one.

    Args:
        outs, inputs, seeds, args, kwargs: as of ``torch.autograd.grad``; of sparse outputs the values.
    """
    options = dict(zip(GRAD_OPTIONS, args, strict=False)) | kwargs
    zeroed = options.pop("materialize_grads", False)
    allowed = options.pop("allow_unused", None) or zeroed
    parts = [state_of(one).values if is_sparse(one) else one for one in inputs]
    leaves = [None if options.get("is_grads_batched") else filled_leaf(one) for one in inputs]
    fills = [leaf.fill for leaf in leaves if leaf is not None]
    found = list(gradients(outs, (*parts, *fills), seeds, allow_unused=True, **options))
    of_fills, results = iter(found[len(inputs) :]), []
    for number, (one, part, grad, leaf) in enumerate(zip(inputs, parts, found, leaves, strict=False)):
        fill = None if leaf is None else next(of_fills)
        if grad is None and not allowed:
            raise RuntimeError(unused(number, part, outs))
        grad = zeros_like(part) if grad is None and zeroed else grad
        if leaf is not None and fill is not None:
            grad = whole_gradient(leaf, grad, fill)
        elif is_sparse(one) and grad is not None:
            grad = sparse_gradient(state_of(one), grad)
        results.append(grad)
    return tuple(results)


def filled_leaf(tensor: Any) -> SparseValue | None:
    """The state of a leaf whose fill value was asked for."""
    state = state_of(tensor) if is_sparse(tensor) else None
    return state if state is not None and state.fill is not None and state.values.is_leaf else None


GRAD_OPTIONS = ("retain_graph", "create_graph", "only_inputs", "allow_unused", "is_grads_batched", "materialize_grads")
"""The arguments of ``torch.autograd.grad`` behind those of the seeds, in order."""

"""The gradient of what a sparse tensor has not.

Note [Fill values]
What a sparse tensor does not have counts as 0, and many of PyTorch's functions give it a gradient: of ``s @ x``,
``s.sum()`` and ``dense + s`` that of ``s`` is dense; others, ``torch.sparse.mm`` and ``to_dense``, have one of values
alone. So a sparse tensor has a *fill* beside its values, a dense tensor of its shape, which is 0 everywhere and takes
that gradient; what it gets at places that are there doesn't count. An operator that has such a gradient takes the fill
as an operand which it does not read.

A fill is made when such an operator asks for it (``fill_of``), so that nothing of a matrix's size is made for others:
that of a leaf is a leaf. What is made of sparse tensors by an operation that is linear in each element, or moves them,
says of whose fills its own is the sum, and what becomes of each (``filled``); what else is made of one has none. Only
the fill of ``dense.to_sparse()`` is made with it, for the dense tensor may be written to. Values that are a tensor of
their own, as those given to ``sparse_coo_tensor``, come without one.

A tensor that would be larger than all memory has none: PyTorch's gradient of it can't be made, either. A sum has places
that a summand has not. Its values give what is made of dense tensors their gradient there, too (``reaching``); to a
leaf, whose matrix nobody has in full, they give none.

A gradient of both is one dense tensor, made when it is read. Of coordinates that are there twice a gradient is there
once, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.bindings.state.attributes import set_flag
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.functions.creation import ones_like, zeros, zeros_like
from tapegrad._src.functions.selection import where
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.differentiate import grad as gradients
from tapegrad.autograd.source_lines import unused
from tapegrad.ops import sparse as ops
from tapegrad.sparse.tensor import SparseTensor, SparseValue, become, is_coo, is_sparse, state_of


def filled(tensor: Tensor, *parts: tuple[Tensor, Callable | None]) -> Any:
    """Say of a sparse tensor that its fill is the sum of those of others, each as a function gives it; it is given."""
    state = state_of(tensor)
    if _is_recorded(state):
        given = [(state_of(one), function) for one, function in parts]
        state.fills += tuple(part for part in given if part[0] is not state and _has_fill(part[0]))
        state.from_dense = any(before.from_dense for before, _ in state.fills)
    return tensor


def _is_recorded(state: SparseValue) -> bool:
    spec = state.values._spec
    return spec.dual or (spec.requires_grad and thread.modes.grad)


def _has_fill(state: SparseValue) -> bool:
    made = state.fill is not None or bool(state.fills) or (state.values.is_leaf and not state.values._spec.level)
    return made and _is_recorded(state) and _fits(state)


def _fits(state: SparseValue) -> bool:
    spec = state.values._spec
    try:
        check_size(state.shape, spec.dtype.itemsize, spec.device.type)
    except RuntimeError:
        return False
    return True


def fill_of(tensor: Tensor) -> Tensor | None:
    """The fill of a sparse tensor, which is made now; None if gradients are not recorded, or do not go there."""
    state = state_of(tensor)
    if not _has_fill(state):
        return None
    waiting = [state]
    while waiting:
        one = waiting[-1]
        missing = [before for before, _ in one.fills if before.fill is None]
        waiting += missing
        if not missing:
            one.fill = one.fill if one.fill is not None else _made(one)
            waiting.pop()
    return state.fill


def _made(state: SparseValue) -> Tensor:
    """The fill of a leaf, or the sum of those of others, which are made."""
    values = state.values
    if not state.fills:
        with switched(grad=False):
            nothing = zeros((), dtype=values.dtype, device=values.device).expand(state.shape)
        set_flag(nothing, True)
        return nothing
    parts = [before.fill if function is None else function(before.fill) for before, function in state.fills]
    total: Any = parts[0]
    for part in parts[1:]:
        total = total + part
    if values.retains_grad:
        total.retain_grad()
    state.fills = ()
    return total


def total(tensor: Tensor, dtype: Any = None) -> Tensor:
    """The sum of all elements, or of one with coordinates over its sparse dimensions."""
    state, fill = state_of(tensor), fill_of(tensor)
    values = state.values if dtype is None else state.values.to(dtype)
    if fill is None:
        return values.sum(0) if is_coo(tensor) else values.sum()
    return ops.sparse_total(values, fill.to(values.dtype), ndim=values.ndim - 1 if is_coo(tensor) else 0)


def with_fill(dense: Tensor, tensor: Tensor, function: Callable | None = None) -> Tensor:
    """A dense tensor that was made of a sparse one, with the gradient of what the same function makes of its fill."""
    fill = fill_of(tensor)
    return dense if fill is None else ops.sparse_filled(dense, fill if function is None else function(fill))


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
    """The gradients of tensors, of which some are sparse: of one whose fill has one dense.

    Args:
        outs, inputs, seeds, args, kwargs: as of ``torch.autograd.grad``; of sparse outputs the values.
    """
    options = dict(zip(GRAD_OPTIONS, args, strict=False)) | kwargs
    zeroed = options.pop("materialize_grads", False)
    allowed = options.pop("allow_unused", None) or zeroed
    parts = [state_of(one).values if is_sparse(one) else one for one in inputs]
    owners = [None if options.get("is_grads_batched") else with_a_fill(one) for one in inputs]
    fills = [owner.fill for owner in owners if owner is not None]
    found = list(gradients(outs, (*parts, *fills), seeds, allow_unused=True, **options))
    of_fills, results = iter(found[len(inputs) :]), []
    for number, (one, part, grad, owner) in enumerate(zip(inputs, parts, found, owners, strict=False)):
        fill = None if owner is None else next(of_fills)
        if grad is None and not allowed:
            raise RuntimeError(unused(number, part, outs))
        grad = zeros_like(part) if grad is None and zeroed else grad
        if owner is not None and fill is not None:
            grad = whole_gradient(owner, grad, fill)
        elif is_sparse(one) and grad is not None:
            grad = sparse_gradient(state_of(one), grad)
        results.append(grad)
    return tuple(results)


def with_a_fill(tensor: Any) -> SparseValue | None:
    """The state of a sparse tensor whose fill was asked for."""
    state = state_of(tensor) if is_sparse(tensor) else None
    return state if state is not None and state.fill is not None else None


GRAD_OPTIONS = ("retain_graph", "create_graph", "only_inputs", "allow_unused", "is_grads_batched", "materialize_grads")
"""The arguments of ``torch.autograd.grad`` behind those of the seeds, in order."""

"""``torch.cond``: one of two functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._higher_order_ops.checks import INCOMPLETE
from tapegrad._src.caches import Cache
from tapegrad._src.execution.array_functions.host import is_readable
from tapegrad._src.functions.selection import where
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.lifted import Lifted
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad._src.tensor.trees import flatten, unflatten
from tapegrad.interop.loops import called, choosing
from tapegrad.interop.operator_lists import Like, is_fit, is_plain, traced, traced_or_none


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: tuple | list = ()) -> Any:
    """``true_fn(*operands)`` if ``pred`` is true, else ``false_fn(*operands)``.

    Where the predicate is known only one of them is called, as by Python's ``if``. In a captured or traced call both
    are traced, and one is run (``lax.cond``). For the examples of a ``vmap`` that have predicates of their own both are
    run, and of each example one result is taken.

    Args:
        pred: a bool, or a tensor with one element.
        true_fn, false_fn: functions of the operands. What they return has the same structure, shapes and dtypes.
        operands: a tuple or list of trees of tensors.

    Raises:
        RuntimeError: another predicate, branches that can't be called, operands that are no tensors; branches that
            return different things, where both are looked at.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: -x, (x,)).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    if isinstance(pred, (bool, int, float)):
        return true_fn(*operands) if pred else false_fn(*operands)
    check(pred, true_fn, false_fn, operands)
    if is_batched(pred):
        return of_each_example(pred, true_fn, false_fn, operands)
    if is_readable(value_of(pred)):
        look_at_both(true_fn, false_fn, operands)
        return true_fn(*operands) if bool(pred) else false_fn(*operands)
    return at_run_time(pred, true_fn, false_fn, operands)


def check(pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> None:
    """Refuse what is no predicate, no branch or no operand."""
    if not isinstance(pred, Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    leaves = flatten(operands)[0] if isinstance(operands, (tuple, list)) else [None]
    if not all(isinstance(leaf, Tensor) for leaf in leaves):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but "
            f"got {operands}."
        )


_fit = Cache("functions of jax")
"""Branches, by their code and their operands, that are known to return alike."""


def look_at_both(true_fn: Callable, false_fn: Callable, operands: Any) -> None:
    """Refuse branches that return different things, as far as they can be traced, before one is run."""
    leaves, structure = flatten(operands)
    likes = tuple(map(Like.of, leaves))
    codes = [getattr(branch, "__code__", None) for branch in (true_fn, false_fn)]
    key = (*codes, repr(structure), likes)
    if (_fit.get(key) and all(codes)) or (leaves and not is_fit(leaves)) or thread.modes.level:
        return
    ours, theirs = (
        traced_or_none(lambda *given, branch=branch: branch(*unflatten(given, structure)), likes)
        for branch in (true_fn, false_fn)
    )
    if ours is not None and theirs is not None:
        check_results(ours.likes, ours.structure, theirs.likes, theirs.structure, sizes=False)
    _fit.keep(key, True)


def is_batched(tensor: Tensor) -> bool:
    """Tell whether a tensor has a number of its own for each example of a ``vmap``."""
    value = value_of(tensor) if tensor._spec.level else None
    while isinstance(value, Lifted):
        if value.batched:
            return True
        with value.level.reading():
            value = value_of(value.tensor)
    return False


def of_each_example(pred: Tensor, true_fn: Callable, false_fn: Callable, operands: Any) -> Any:
    """The results of both branches, of which each example gets one."""
    ours, structure = flatten(true_fn(*operands))
    theirs, other = flatten(false_fn(*operands))
    check_results(ours, structure, theirs, other)
    chosen = pred.reshape(()).bool()
    return unflatten([where(chosen, one, two) if isinstance(one, Tensor) else one
                      for one, two in zip(ours, theirs, strict=True)], structure)  # fmt: skip


def at_run_time(pred: Tensor, true_fn: Callable, false_fn: Callable, operands: Any) -> Any:
    """The results of one operator that chooses when it is run."""
    leaves, structure = flatten(operands)
    if not is_plain([pred, *leaves]):
        return of_each_example(pred, true_fn, false_fn, operands)
    ours, theirs = (
        traced(lambda *given, branch=branch: branch(*unflatten(given, structure)), [*map(Like.of, leaves)])
        for branch in (true_fn, false_fn)
    )
    check_results(ours.likes, ours.structure, theirs.likes, theirs.structure)
    operator = choosing(ours.program, theirs.program, len(leaves), len(ours.captured))
    return unflatten(called(operator, [pred, *leaves, *ours.captured, *theirs.captured]), ours.structure)


def check_results(ours: Sequence[Any], structure: Any, theirs: Sequence[Any], other: Any, sizes: bool = True) -> None:
    """Refuse branches that return different things; of other sizes where both are computed (``sizes``)."""
    if len(ours) != len(theirs):
        specs = [flatten(tuple(leaves))[1] for leaves in (ours, theirs)]
        raise RuntimeError(
            f"Unmatched output spec from torch.cond branches: true branch tree_spec {specs[0]} vs false branch "
            f"tree_spec {specs[1]}."
        )
    if structure != other:
        raise RuntimeError(
            f"{INCOMPLETE}torch.cond: differing branch outputs\n  Higher Order Operator: torch.cond\n"
            "  Explanation: Expected branches to return the same pytree structure."
        )
    for one, two in zip(ours, theirs, strict=True):
        for name, left, right in compared(one, two, sizes):
            if left != right:
                raise RuntimeError(
                    f"When merging two branches' output in torch.cond,  expected same {name} but got {left} and "
                    f"{right}."
                )


def compared(one: Any, two: Any, sizes: bool) -> list[tuple[str, Any, Any]]:
    """The part that two results have to have in common."""
    if not isinstance(one, Tensor) or not isinstance(two, Tensor):
        return [("type", type(one), type(two))]
    found = [("dtype", one.dtype, two.dtype), ("device", one.device, two.device), ("dim", one.dim(), two.dim())]
    return [*found, ("size", tuple(one.shape), tuple(two.shape))] if sizes else found

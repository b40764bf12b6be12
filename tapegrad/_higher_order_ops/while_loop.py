"""``while_loop``: a function again and again, while a condition holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._higher_order_ops.checks import INCOMPLETE, check_alike
from tapegrad._higher_order_ops.cond import is_batched
from tapegrad._src.dispatch.function_levels import lower
from tapegrad._src.execution.array_functions.host import is_traced
from tapegrad._src.execution.data.dtypes import bool as bool_dtype
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.functions.selection import where
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad._src.tensor.trees import flatten, unflatten
from tapegrad.interop.loops import called, repeating
from tapegrad.interop.operator_lists import Like, is_plain, traced


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: Any) -> Any:
    """``carried_inputs = body_fn(*carried_inputs)`` while ``cond_fn(*carried_inputs)``.

    It is Python's loop, with gradients. In what jax traces it is ``lax.while_loop``, which has none, and in a compiled
    step, where it carries tensors of which none requires grad. Under a ``vmap``
    whose examples end their loops at different times all are computed until the last one ends.

    Args:
        cond_fn: returns a bool, or a boolean tensor without dimensions.
        body_fn: returns a tuple like ``carried_inputs``: of the same shapes and dtypes.
        carried_inputs: a tuple or list of trees of tensors and ints.

    Raises:
        RuntimeError: what can't be called, a condition that is neither, a body that returns other shapes or dtypes.
        AssertionError: what is carried is no tensor or int.

    >>> from tapegrad._higher_order_ops import while_loop
    >>> while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, 2 * x), (torch.tensor(0), torch.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    leaves, structure = flatten(carried_inputs)
    check_leaves(leaves)
    test = lambda *given: checked_condition(cond_fn(*unflatten(given, structure)))
    body = lambda *given: step_of(body_fn(*unflatten(given, structure)), given)
    if is_plain([leaf for leaf in leaves if isinstance(leaf, Tensor)]) and runs_later(leaves):
        return unflatten(in_one(test, body, leaves), structure)
    return unflatten(one_by_one(test, body, leaves), structure)


def runs_later(leaves: Sequence[Any]) -> bool:
    """Tell whether the loop is one operator: where jax traces, and in a captured call where no gradient is wanted of
    it."""
    if any(isinstance(leaf, Tensor) and is_traced(value_of(leaf)) for leaf in leaves):
        return True
    recorded = thread.modes.grad and any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in leaves)
    return capturing.by is not None and not recorded and all(isinstance(leaf, Tensor) for leaf in leaves)


def check_leaves(leaves: Sequence[Any]) -> None:
    """Refuse what can't be carried."""
    if not all(isinstance(leaf, (Tensor, int)) for leaf in leaves):
        raise AssertionError(
            f"{leaves} can only be of (<class 'torch.Tensor'>, <class 'int'>, <class 'torch.SymInt'>) but got "
            f"{tuple(map(type, leaves))}"
        )


def checked_condition(holds: Any) -> Any:
    """The result of a condition."""
    if isinstance(holds, bool) or (isinstance(holds, Tensor) and holds.dim() == 0 and holds.dtype is bool_dtype):
        return holds
    got = holds.shape if isinstance(holds, Tensor) else holds
    raise RuntimeError(
        f"{INCOMPLETE}torch.while_loop: unsupported cond_fn return type\n  Higher Order Operator: torch.while_loop\n"
        f"  Explanation: Expected cond_fn to return a scalar tensor or a bool but got {got}."
    )


def step_of(results: Any, given: Sequence[Any]) -> list:
    """The result of a body, which is like what it was given."""
    leaves = flatten(results)[0]
    check_alike(leaves, given, ("body_fn_output", "carried_inputs"))
    return leaves


def one_by_one(test: Callable, body: Callable, leaves: Sequence[Any]) -> list:
    """The loop as Python runs it: at least copies of what it was given."""
    carried = [leaf.clone() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    while True:
        holds = test(*carried)
        if not going_on(holds):
            return carried
        results = body(*carried)
        carried = [kept(holds, new, old) for new, old in zip(results, carried, strict=True)]


def going_on(holds: Any) -> bool:
    """Tell whether a condition holds: for one example at least."""
    while isinstance(holds, Tensor) and is_batched(holds):
        level = thread.levels[-1]
        below, _ = lower(holds, level)
        with level.outside():
            return going_on(below.any())
    return bool(holds)


def kept(holds: Any, new: Any, old: Any) -> Any:
    """The values that are carried on: where examples end at different times, each keeps what it ended with."""
    mixed = isinstance(holds, Tensor) and is_batched(holds) and isinstance(new, Tensor)
    return where(holds, new, old) if mixed else new


def in_one(test: Callable, body: Callable, leaves: Sequence[Any]) -> Sequence[Any]:
    """The loop as one operator."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    if len(tensors) < len(leaves):
        raise NotImplementedError("while_loop: an int can't be carried where jax traces; make it a tensor")
    likes = [*map(Like.of, tensors)]
    condition, step = traced(test, likes), traced(body, likes)
    operator = repeating(condition.program, step.program, len(tensors), len(condition.captured))
    return called(operator, [*tensors, *condition.captured, *step.captured])

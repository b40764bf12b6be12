"""``torch.library.opcheck``: whether an operator that a program has registered does what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.tensor.tensor import Tensor, storage_of
from tapegrad._src.tensor.trees import flatten, unflatten
from tapegrad.autograd.differentiate import grad
from tapegrad.autograd.libraries import OperatorOrName, found_operator
from tapegrad.autograd.registered_ops import RegisteredOperator, tensors_of
from tapegrad.compiler.step import compile
from tapegrad.ops.overloads import OpOverload, OpOverloadPacket
from tapegrad.testing.comparison import assert_close


class OpCheckError(Exception):
    """An operator does not do what it says."""


def opcheck(
    op: OperatorOrName, args: tuple, kwargs: dict[str, Any] | None = None, *,
    test_utils: str | Sequence[str] = (
        "test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic",
    ), raise_exception: bool = True, atol: float | None = None, rtol: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Check an operator on one call: that it writes to what its schema says, that what its backward gives is recorded,
    that on ``meta`` it has the shapes of its results, and that it does the same in a compiled step.

    Args:
        op: the operator, or what ``torch.ops`` has of it.
        args, kwargs: a call.
        test_utils: the names of the checks.
        raise_exception: whether what is found is raised, or given.
        atol, rtol: how far results and gradients of a compiled step may differ.

    Returns:
        For each check ``"SUCCESS"``, or the error.

    Raises:
        OpCheckError: a check fails.
        ValueError: a check of another name.

    >>> @torch.library.custom_op("docs::negated", mutates_args=())
    ... def negated(x: torch.Tensor) -> torch.Tensor:
    ...     return -x
    >>> torch.library.opcheck(negated, (torch.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not {*names} <= CHECKS.keys():
        raise ValueError(f"opcheck(op, ...): expected test_utils to be subset of {tuple(CHECKS)} but got {names}")
    found = checked_operator(op)
    results: dict[str, Any] = {}
    for name in names:
        try:
            CHECKS[name](found, args, kwargs or {}, {"atol": atol, "rtol": rtol})
            results[name] = "SUCCESS"
        except Exception as error:  # whatever an operator raises is what is found
            if raise_exception:
                told = f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                raise OpCheckError(told) from error
            results[name] = error
    return results


def checked_operator(op: OperatorOrName) -> Any:
    """An operator that a program has registered, or one of PyTorch's.

    Raises:
        RuntimeError: a name of one of PyTorch's that has overloads.
    """
    if isinstance(op, OpOverload) and op.namespace == "aten":
        return op
    if isinstance(op, OpOverloadPacket) and op._qualified_op_name.startswith("aten::"):
        raise RuntimeError(f"opcheck can only test operators without overloads. Got the following overloads for "
                           f"{op._qualified_op_name}: {op.overloads()}")  # fmt: skip
    return found_operator(op)


def tree_map(function: Callable[[Any], Any], given: Any) -> Any:
    """A structure with what a function makes of its leaves."""
    leaves, spec = flatten(given)
    return unflatten([function(leaf) for leaf in leaves], spec)


def copied(given: Any) -> Any:
    """Arguments, with copies of tensors."""
    def copy(one: Any) -> Any:
        if not isinstance(one, Tensor):
            return one
        return one.detach().clone().requires_grad_(one.requires_grad)

    return tree_map(copy, given)


def _schema(op: RegisteredOperator, args: tuple, kwargs: dict[str, Any], close: dict[str, Any]) -> None:
    """Check that arguments are written to that the schema marks, and no others, and that no result shares memory."""
    mine, named = copied((args, kwargs))
    before, before_named = copied((args, kwargs))
    output = op(*mine, **named)
    for place, argument in enumerate(op._schema.arguments):
        key: Any = argument.name if argument.name in named else place
        given, was = (named, before_named) if argument.name in named else (mine, before)
        if isinstance(key, int) and key >= len(given):
            continue
        for one, other in zip(tensors_of([given[key]]), tensors_of([was[key]]), strict=True):
            changed = not bool(((one == other) | ((one != one) & (other != other))).all())
            writes = argument.alias_info is not None and argument.alias_info.is_write
            if changed and not writes:
                raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
            if argument.alias_info is None and any(storage_of(one) is storage_of(out) for out in tensors_of([output])):
                raise RuntimeError(f"Argument {argument.name} is not defined to alias output but was aliasing")


def _autograd(op: RegisteredOperator, args: tuple, kwargs: dict[str, Any], close: dict[str, Any]) -> None:
    """Check that results require grad where an operator with a backward is given what does."""
    mine, named = copied((args, kwargs))
    wanted = any(one.requires_grad for one in tensors_of([*mine, *named.values()]))
    outputs = tensors_of([op(*mine, **named)])
    floating = [one for one in outputs if one.is_floating_point()]
    has_backward = getattr(op, "_backward", None) is not None
    if wanted and has_backward and floating and not any(one.requires_grad for one in floating):
        raise AssertionError("the operator has a backward, and no result requires grad")


def _fake(op: RegisteredOperator, args: tuple, kwargs: dict[str, Any], close: dict[str, Any]) -> None:
    """Check that the results on ``meta`` have the shapes and dtypes of those with data."""
    def on_meta(one: Any) -> Any:
        return one.detach().to("meta") if isinstance(one, Tensor) else one

    mine, named = copied((args, kwargs))
    theirs, theirs_named = tree_map(on_meta, (args, kwargs))
    real, fake = tensors_of([op(*mine, **named)]), tensors_of([op(*theirs, **theirs_named)])
    if [(one.shape, one.dtype) for one in real] != [(one.shape, one.dtype) for one in fake]:
        told = [[(tuple(one.shape), one.dtype) for one in found] for found in (real, fake)]
        raise AssertionError(f"results have shapes and dtypes {told[0]}, and on meta {told[1]}")


def _compiled(op: RegisteredOperator, args: tuple, kwargs: dict[str, Any], close: dict[str, Any]) -> None:
    """Check that a compiled step gives the same results and gradients."""
    def run(*args: Any, **kwargs: Any) -> tuple[list, list]:
        outputs = tensors_of([op(*args, **kwargs)])
        leaves = [one for one in tensors_of([*args, *kwargs.values()]) if one.requires_grad]
        sums = [one.sum() for one in outputs if one.requires_grad]
        if not (sums and leaves and getattr(op, "_backward", None) is not None):
            return [one.detach() for one in outputs], []
        found = grad(sums, leaves, allow_unused=True)
        return [one.detach() for one in outputs], [one for one in found if one is not None]

    step = compile(run)
    for _ in range(2):
        given, other = copied((args, kwargs)), copied((args, kwargs))
        for one, expected in zip(step(*given[0], **given[1]), run(*other[0], **other[1]), strict=True):
            for mine, theirs in zip(one, expected, strict=True):
                assert_close(mine, theirs, **close)


CHECKS: dict[str, Callable[..., None]] = {
    "test_schema": _schema, "test_autograd_registration": _autograd, "test_faketensor": _fake,
    "test_aot_dispatch_static": _compiled, "test_aot_dispatch_dynamic": _compiled,
}  # fmt: skip
"""The checks, by PyTorch's names."""

"""Sums and other reductions: of the values, or of a padded tensor where the ragged dimension goes alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.execution.data.dtypes import finfo
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.elementwise import computed
from tapegrad.nested.overloads import unsupported
from tapegrad.nested.padding import padded
from tapegrad.nested.shape import inner_dim
from tapegrad.nested.tensor import ANSWERS, Jagged, answers, lengths_of, state_of

Reduction = Callable[..., Any]


def _each(found: Any, function: Callable[[Tensor], Any]) -> Any:
    """A function of a result, or of each of several, as the same kind of tuple."""
    return type(found)([function(one) for one in found]) if isinstance(found, tuple) else function(found)


def reduced(called: str, input: Tensor, dim: Any, keepdim: bool, identity: Any, how: Reduction) -> Any:
    """The reduction of a nested tensor over dimensions.

    Args:
        called: the function, for messages.
        dim: one dimension, or several; None for all of them.
        keepdim: whether they stay, with length 1.
        identity: the number that changes nothing.
        how: the reduction of an ordinary tensor, over these dimensions.

    Raises:
        RuntimeError: over the batch without the ragged dimension, over that with others but without the batch, or over
            that where entries have gaps between them.
    """
    state = state_of(input)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        found = how(state.values, dim=dim, keepdim=keepdim)
        return _each(found, lambda one: one.unsqueeze(state.ragged)) if keepdim else found
    several = isinstance(dim, (tuple, list))
    dims = [wrap_dim(one, len(state.shape)) for one in (dim if several else (dim,))]
    inner = list(dict.fromkeys(inner_dim(one, state) for one in dims))
    given = inner if several else inner[0]
    if state.ragged in dims and state.lengths is not None:
        raise RuntimeError(f"{called}(): reducing across the ragged dimension is not supported for non-contiguous "
                           "nested tensors with holes")  # fmt: skip
    if state.ragged not in dims:
        if 0 in dims:
            raise RuntimeError(f"{called}(): reducing along the batch dimension but not the ragged dimension is not "
                               "supported for nested tensors")  # fmt: skip
        gone = 0 if keepdim else sum(one < state.ragged - 1 for one in inner)
        return _each(how(state.values, dim=given, keepdim=keepdim),
                     lambda one: state.with_values(one, state.ragged - gone).as_tensor())  # fmt: skip
    if 0 in dims:
        found = how(state.values, dim=given, keepdim=keepdim)
        return _each(found, lambda one: one.unsqueeze(0)) if keepdim else found
    if len(dims) > 1:
        raise RuntimeError(f"{called}(): reducing along a ragged and non-batch dimension is not supported for nested "
                           "tensors")  # fmt: skip
    return how(padded(state, identity), dim=[state.ragged] if several else state.ragged, keepdim=keepdim)


def _named(args: tuple, kwargs: dict, *, keeps: bool = True) -> tuple[Any, bool, dict]:
    """The dimensions, whether they stay, and the other arguments of a call of a reduction."""
    others = dict(kwargs)
    dim = others.pop("dim", others.pop("axis", None))
    keepdim = others.pop("keepdim", others.pop("keepdims", False))
    given = list(args)
    if given:
        dim = given.pop(0)
    if given and isinstance(given[0], bool):
        keepdim = given.pop(0)
    return dim, keepdim, others


def least(state: Jagged) -> Any:
    """The number that no element is less than."""
    kind = state.values.dtype
    return finfo(kind).min if kind.is_floating_point else -float("inf")


def greatest(state: Jagged) -> Any:
    """The number that no element is greater than."""
    kind = state.values.dtype
    return finfo(kind).max if kind.is_floating_point else float("inf")


def _declare(name: str, identity: Callable[[Jagged], Any]) -> None:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        dim, keepdim, others = _named(args, kwargs)
        method = getattr(Tensor, name)

        def how(values: Tensor, dim: Any, keepdim: bool) -> Any:
            if dim is None and not keepdim:
                return method(values, **others)
            return method(values, dim=dim, keepdim=keepdim, **others)

        return reduced(name, input, dim, keepdim, identity(state_of(input)), how)

    answers(name)(function)


for _name, _identity in (
    ("sum", lambda state: 0), ("prod", lambda state: 1), ("any", lambda state: False), ("all", lambda state: True),
    ("amax", least), ("max", least), ("argmax", least), ("amin", greatest), ("min", greatest), ("argmin", greatest),
):  # fmt: skip
    _declare(_name, _identity)


def _of_two(name: str) -> None:
    """Declare ``max`` or ``min``, which is also a function of two tensors."""
    over = ANSWERS[name]

    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        if isinstance(args[0] if args else kwargs.get("other"), Tensor):
            return computed(getattr(Tensor, name), name, (input, *args), kwargs)
        return over(input, *args, **kwargs)

    answers(name)(function)


_of_two("max")
_of_two("min")


@answers("mean")
def _mean(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    dim, keepdim, others = _named(args, kwargs)
    state = state_of(input)
    dims = [] if dim is None else [wrap_dim(one, len(state.shape)) for one in _listed(dim)]
    if state.ragged in dims and 0 not in dims:
        if len(dims) > 1:
            raise AssertionError("Cannot reduce on both ragged and non-batch dimensions without also reducing on batch")
        total = reduced("mean", input, dims, True, 0, lambda values, **given: values.sum(**given, **others))
        found = total / lengths_of(state).view(-1, *[1] * (total.ndim - 1))
        return found if keepdim else found.squeeze(state.ragged)

    def how(values: Tensor, dim: Any, keepdim: bool) -> Tensor:
        return values.mean(**others) if dim is None and not keepdim else values.mean(dim=dim, keepdim=keepdim, **others)

    return reduced("mean", input, dim if dim is None else _listed(dim), keepdim, 0, how)


def _listed(dim: int | Sequence[int]) -> list[int]:
    return [dim] if isinstance(dim, int) else list(dim)


@answers("count_nonzero")
def _count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    raise unsupported("count_nonzero.default" if dim is None or isinstance(dim, int) else "count_nonzero.dim_IntList")


@answers("nanmean")
def _nanmean(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    (~input.isnan()).sum(*args, **kwargs)  # refuses what sums refuse
    raise unsupported("nansum")

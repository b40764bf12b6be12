"""Refusals of function transforms, in PyTorch's words."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import flatten


def argument_at(argnum: Any, count: int) -> int:
    """The position that an ``argnum`` means.

    Raises:
        RuntimeError: it is no int, or there is no such argument.
    """
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if -count <= argnum < count:
        return argnum % count
    raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")


def positions_of(argnums: Any, count: int) -> tuple[int, ...]:
    """The positions that ``argnums`` means, an int or a tuple of them.

    Raises:
        RuntimeError: neither, or out of range, or not unique.
    """
    if isinstance(argnums, int):
        return (argument_at(argnums, count),)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    positions = tuple(argument_at(argnum, count) for argnum in argnums)
    if not positions:
        raise RuntimeError("argnums must be non-empty")
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {positions}")
    return positions


def picked(args: tuple, argnums: Any) -> Any:
    """The arguments that ``argnums`` names: one for an int, a tuple for a tuple."""
    positions = positions_of(argnums, len(args))
    return args[positions[0]] if isinstance(argnums, int) else tuple(args[position] for position in positions)


def all_picked(args: tuple, argnums: Any) -> tuple:
    """The arguments that ``argnums`` names, as a tuple even if that is an int."""
    return tuple(args[position] for position in positions_of(argnums, len(args)))


def put_back(args: tuple, given: Any, argnums: Any) -> tuple:
    """The arguments with those that ``argnums`` names replaced."""
    positions = positions_of(argnums, len(args))
    new = dict(zip(positions, (given,) if isinstance(argnums, int) else given, strict=True))
    return tuple(new.get(position, arg) for position, arg in enumerate(args))


def with_aux(output: Any, has_aux: bool, api: str) -> tuple[Any, Any]:
    """The output of a function, and what it returned besides.

    Raises:
        RuntimeError: it should have returned a pair.
    """
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return output


def check_outputs(output: list, api: str) -> None:
    """Refuse a function that returns nothing, or something else than tensors."""
    if not output or (len(output) == 1 and output[0] is None):
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {output})")
    for out in output:
        if not isinstance(out, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(out)}")


def check_tensors(given: list, api: str, name: str) -> None:
    """Refuse what isn't all tensors, or is nothing."""
    if not given:
        raise RuntimeError(f"{api}: Expected {name} to contain at least one Tensor.")
    for item in given:
        if not isinstance(item, Tensor):
            raise RuntimeError(f"{api}: Expected {name} to only contain Tensors, got {type(item)}")


def refuse_complex(api: str, args: Any, what: str) -> None:
    """Refuse complex tensors, of which ``jacrev`` and ``jacfwd`` know nothing."""
    for index, arg in enumerate(flatten(args)[0]):
        if isinstance(arg, Tensor) and arg.is_complex():
            raise RuntimeError(
                f"{api}: Expected all {what} to be real but received complex tensor at flattened input idx: {index}"
            )

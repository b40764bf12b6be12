"""Rules of functions inside functions, and of control flow.

What is called is written in place of its call; what is repeated, or is one of several, is a function of its own, which
takes arrays and gives a tuple of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from tapegrad.execution.host_tier.rules import Unwritable, rule
from tapegrad.execution.host_tier.shapes import clamped


@rule("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "remat", "remat2", "checkpoint",
      "custom_vmap_call")
def inlined(writer: Any, equation: Any) -> Any:
    """The equations of the function, in place of its call."""
    params = equation.params
    inner = next(params[name] for name in ("jaxpr", "call_jaxpr", "fun_jaxpr", "call") if name in params)
    closed = inner if hasattr(inner, "consts") else ClosedJaxpr(inner, ())
    return tuple(writer.jaxpr(closed, equation.operands, equation.wanted))


@rule("platform_index")
def platform_index(writer: Any, equation: Any) -> str:
    """Which of the branches for platforms is meant: that for the ``host``, if there is one, or that for the CPU, which
    then is XLA's. The index is known when the function is written."""
    platforms = equation.params["platforms"]
    named = [index for name in ("host", "cpu") for index, names in enumerate(platforms) if name in (names or ())]
    places = named or [index for index, names in enumerate(platforms) if names is None]
    return writer.literal(np.asarray(places[0], equation.aval.dtype))


@rule("cond")
def cond(writer: Any, equation: Any) -> Any:
    """The branch that is meant, if that is known; else a call of one of the branches' functions."""
    branches = equation.params["branches"]
    index, *operands = equation.operands
    known = writer.known(index)
    if known is not None:
        return tuple(writer.jaxpr(branches[clamped(known, len(branches) - 1)], operands))
    functions = "".join(f"{writer.function(branch)}, " for branch in branches)
    which = f"{writer.helper(clamped)}({index.source}, {len(branches) - 1})"
    return several(writer, equation, f"({functions})[{which}]({arguments(writer, equation, 1)})")


def arguments(writer: Any, equation: Any, first: int, end: int | None = None) -> str:
    """Some of an equation's inputs, in full, as they are handed to a function."""
    indices = range(len(equation.operands))[first:end]
    return "".join(f"{writer.full(equation, index)}, " for index in indices)


def several(writer: Any, equation: Any, source: str) -> tuple[str, ...]:
    """The results of an expression that gives a tuple."""
    results = writer.assigned(source)
    return tuple(f"{results}[{index}]" for index in range(len(equation.results)))


@rule("while")
def while_(writer: Any, equation: Any) -> Any:
    """Python's ``while``; where the test has dimensions, as it was mapped, each element goes on while its own holds."""
    params = equation.params
    asked, done = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    test, body = writer.function(params["cond_jaxpr"]), writer.function(params["body_jaxpr"])
    carried = writer.new(f"({arguments(writer, equation, done)})")
    tested = f"{test}({arguments(writer, equation, 0, asked)}*{carried})[0]"
    stepped = f"{body}({arguments(writer, equation, asked, done)}*{carried})"
    if params["cond_jaxpr"].out_avals[0].shape:
        goes_on = writer.variable()
        writer.lines.append(f"while ({goes_on} := {tested}).any():")
        stepped = f"{writer.helper(changed_where)}({goes_on}, {stepped}, {carried})"
    else:
        writer.lines.append(f"while {tested}:")
    writer.lines.append(f"    {carried} = {stepped}")
    return tuple(f"{carried}[{index}]" for index in range(len(equation.results)))


def changed_where(mask: np.ndarray, new: Sequence[np.ndarray], old: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The arrays of ``new`` where a mask of their first dimensions says so, those of ``old`` elsewhere.

    >>> changed_where(np.array([True, False]), [np.array([[1, 2], [3, 4]])], [np.zeros((2, 2), int)])
    (array([[1, 2],
           [0, 0]]),)
    """
    masks = (mask.reshape(mask.shape + (1,) * (one.ndim - mask.ndim)) for one in new)
    return tuple(map(np.where, masks, new, old))


@rule("scan")
def scan(writer: Any, equation: Any) -> Any:
    """A loop over the first dimension of some inputs, that carries others along."""
    params = equation.params
    consts, carried = params["num_consts"], params["num_consts"] + params["num_carry"]
    stacked = "".join(
        f"({writer.shape(aval.shape)}, {writer.dtype(aval.dtype)}), "
        for aval in equation.results[params["num_carry"] :]
    )
    groups = [
        arguments(writer, equation, 0, consts),
        arguments(writer, equation, consts, carried),
        arguments(writer, equation, carried),
        stacked,
    ]
    length = writer.size(params["length"])
    order = f"range({length})[::-1]" if params["reverse"] else f"range({length})"
    words = ", ".join([writer.function(params["jaxpr"]), *(f"({group})" for group in groups), order])
    return several(writer, equation, f"{writer.helper(scanned)}({words})")


def scanned(
    step: Callable,
    consts: tuple[np.ndarray, ...],
    carry: tuple[np.ndarray, ...],
    inputs: Sequence[np.ndarray],
    stacked: Sequence[tuple[tuple[int, ...], np.dtype]],
    order: range,
) -> tuple[np.ndarray, ...]:
    """What a step carries to the end, and all that it gives besides, stacked in the order of its inputs.

    Args:
        step: takes ``consts``, what is carried, and one element of each input; gives what is carried, and elements.
        stacked: shapes and dtypes of what is made of these.
    """
    results = [np.empty(shape, dtype) for shape, dtype in stacked]
    consts = tuple(in_order(one) for one in consts)
    carries = len(carry)
    for index in order:
        given = step(*consts, *carry, *[values[index, ...] for values in inputs])
        carry = given[:carries]
        for result, value in zip(results, given[carries:], strict=True):
            result[index] = value
    return (*carry, *results)


def in_order(array: np.ndarray) -> np.ndarray:
    """An array whose elements lie in their order, as a product that is made at each step of a loop reads them best.

    >>> in_order(np.ones((2, 3)).T).flags.c_contiguous
    True
    """
    return array if array.flags.c_contiguous else array.copy("C")


@rule("custom_linear_solve")
def custom_linear_solve(writer: Any, equation: Any) -> Any:
    """The solution, by the function that was given for it."""
    lengths, jaxprs = equation.params["const_lengths"], equation.params["jaxprs"]
    first = lengths.matvec + lengths.vecmat
    behind = first + lengths.solve + lengths.transpose_solve
    consts = equation.operands[first : first + lengths.solve]
    if jaxprs.solve is None:
        raise Unwritable("custom_linear_solve: no solution")
    return tuple(writer.jaxpr(jaxprs.solve, [*consts, *equation.operands[behind:]]))

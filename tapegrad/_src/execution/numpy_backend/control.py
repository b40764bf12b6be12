"""Rules of functions inside functions, and of control flow.

What is called is written in place of its call; what is repeated, or is one of several, is a function of its own, which
takes arrays and gives a tuple of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr

from tapegrad._src.execution.numpy_backend.expression import (
    BACKWARDS,
    Assign,
    Attribute,
    For,
    Index,
    Invocation,
    Name,
    Star,
    Walrus,
    While,
)
from tapegrad._src.execution.numpy_backend.operands import Operand, Unwritable, call, constant, rule
from tapegrad._src.execution.numpy_backend.shapes import clamped


@rule(
    "jit",
    "pjit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "remat",
    "remat2",
    "checkpoint",
    "custom_vmap_call",
)
def inlined(writer: Any, equation: Any) -> Any:
    """The equations of the function, in place of its call."""
    params = equation.params
    inner = next(params[name] for name in ("jaxpr", "call_jaxpr", "fun_jaxpr", "call") if name in params)
    closed = inner if hasattr(inner, "consts") else ClosedJaxpr(inner, ())
    return tuple(writer.jaxpr(closed, equation.operands, equation.wanted))


@rule("platform_index")
def platform_index(writer: Any, equation: Any) -> Operand:
    """Which of the branches for platforms is meant: that for the ``host``, if there is one, or that for the CPU, which
    then is XLA's. The index is known when the function is written."""
    return constant(np.asarray(branch_on_host(equation.params["platforms"]), equation.aval.dtype))


def branch_on_host(platforms: Any) -> int:
    """The number of the branch for the host, or the CPU, or all platforms."""
    named = [index for name in ("host", "cpu") for index, names in enumerate(platforms) if name in (names or ())]
    branches = named or [index for index, names in enumerate(platforms) if names is None]
    return branches[0]


@rule("cond")
def cond(writer: Any, equation: Any) -> Any:
    """The branch that is meant, if that is known; else a call of one of the branches' functions."""
    branches = equation.params["branches"]
    index, *operands = equation.operands
    if index.known is not None:
        return tuple(writer.jaxpr(branches[clamped(index.known, len(branches) - 1)], operands))
    functions = tuple([writer.function(branch) for branch in branches])
    branch = Index(functions, (call(clamped, index, len(branches) - 1),))
    return writer.several(call(branch, *equation.inputs(1)), len(equation.results))


@rule("while")
def while_(writer: Any, equation: Any) -> Any:
    """Python's ``while``; where the test has dimensions, as it was mapped, each element goes on while its own holds."""
    params = equation.params
    asked, done = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    test, body = writer.function(params["cond_jaxpr"]), writer.function(params["body_jaxpr"])
    carried = writer.new(equation.inputs(done))
    tested: Any = Index(call(test, *equation.inputs(0, asked), Star(carried)), (0,))
    stepped = call(body, *equation.inputs(asked, done), Star(carried))
    if params["cond_jaxpr"].out_avals[0].shape:
        goes_on = Name()
        tested = Invocation(Attribute(Walrus(goes_on, tested), "any"), ())
        stepped = call(changed_where, goes_on, stepped, carried)
    writer.statements.append(While(tested, (Assign(carried, stepped),)))
    return writer.several(carried, len(equation.results))


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
    """A loop over the first dimension of some inputs, that carries others along; what it gives besides is stacked.

    >>> import jax
    >>> from tapegrad._src.execution.numpy_backend.writer import written
    >>> pairs = jax.ShapeDtypeStruct((3, 2), "float32")
    >>> print(written(lambda x: jax.lax.scan(lambda c, y: (c + y, c * y), x[0], x)[1], [pairs]).source)
    def body(x0):
        v0 = x0[0]
        v1 = empty((3, 2), dtype_float32)
        for v2, v3 in zip(range(3), x0):
            v0, v4 = inner(v0, v3)
            v1[v2] = v4
        return v1
    """
    params, first = equation.params, equation.params["num_consts"]
    last = first + params["num_carry"]
    fixed = [writer.assigned(call(in_order, one)) for one in equation.inputs(0, first)]
    carried = [writer.new(one) for one in equation.inputs(first, last)]
    stacked = [writer.new(call(np.empty, aval.shape, aval.dtype)) for aval in equation.results[len(carried) :]]
    turned = (BACKWARDS,) if params["reverse"] else ()
    index, given, names = Name(), [], []
    lists: list[Any] = [call(range, params["length"])]
    for one in equation.inputs(last):
        one = writer.named(one)
        if len(one.shape) > 1:
            names.append(Name())
            lists.append(one.expression)
        given.append(names[-1] if len(one.shape) > 1 else Index(one.expression, (index, ...)))
    if turned:
        lists = [Index(one, turned) for one in lists]
    made = [Name() for _ in stacked]
    step = Assign((*carried, *made), call(writer.function(params["jaxpr"]), *fixed, *carried, *given))
    kept = [Assign(Index(array, (index,)), one) for array, one in zip(stacked, made, strict=True)]
    items, target = (call(zip, *lists), (index, *names)) if names else (lists[0], index)
    writer.statements.append(For(target, items, (step, *kept)))
    return (*carried, *stacked)


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

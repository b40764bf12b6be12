"""Kernels that are traced with symbols in place of lengths. See Note [Shape classes] in ``dispatch/shape_class.py``."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import export

from tapegrad._src.caches import remembered
from tapegrad._src.execution.numpy_backend.operands import Unwritable
from tapegrad._src.execution.numpy_backend.printing import symbolic
from tapegrad._src.execution.numpy_backend.writer import numbers_in, written_jaxpr
from tapegrad._src.execution.recording.capturing import unwatched
from tapegrad._src.execution.tiers.costs import Cost, cost_of
from tapegrad._src.execution.tiers.host_trace import HostFunction, dtypes_of, results_in
from tapegrad._src.tape.kept import defined


class GeneralTrace(NamedTuple):
    """A kernel of a structure, written for the host.

    Attributes:
        body: the function of the symbols that are ``free``, of the floats, and of the arguments.
        least: what a call costs whatever the lengths; ``cost``: what it costs at those it was first asked for with.
        dtypes: the dtype of each argument.
        results: dtype of each result, None for one that is left out, and whether it is one, not in a tuple.
        shapes: gives the shapes of the results for what all symbols and floats are.
    """

    body: Callable
    free: Sequence[str]
    least: Cost
    cost: Cost
    dtypes: tuple[Any, ...]
    results: tuple[list[np.dtype | None], bool]
    shapes: Callable

    def at(self, growth: float, numbers: dict[str, Any], floats: bool = True) -> HostFunction:
        """The function for other numbers, by their names, where results have ``growth`` times as many elements.

        Without ``floats`` these remain its first arguments.
        """
        given = [np.asarray(number) for name, number in numbers.items() if name[0] == "p"] if floats else []
        first = [*map(numbers.get, self.free), *given]
        body = partial(self.body, *first) if first else self.body
        cost = Cost(*(least + (cost - least) * growth for least, cost in zip(self.least, self.cost, strict=True)))
        results, single = self.results
        shapes = iter(self.shapes(*numbers.values()))
        sizes: list[Any] = [None if dtype is None else (next(shapes), dtype) for dtype in results]
        others = 0 if floats else sum(name[0] == "p" for name in numbers)
        return HostFunction(body, cost, (np.dtype(float),) * others + self.dtypes, (sizes, single))


def symbols(names: Sequence[str], constraints: Sequence[str]) -> dict[str, Any]:
    """A length that is not known for each name, of which no more is known than the constraints say.

    >>> symbols(["n", "m"], ["n >= 2", "m >= n"])
    {'n': n, 'm': m}
    """
    return dict(zip(names, _symbols(tuple(names), tuple(constraints)), strict=True)) if names else {}


@remembered("shape classes")
def _symbols(names: tuple[str, ...], constraints: tuple[str, ...]) -> Sequence[Any]:
    return export.symbolic_shape(", ".join(names), constraints=constraints)


def traced(function: Callable, arguments: Sequence[Any]) -> tuple[Any, Any]:
    """The jaxpr of a function, and shapes and dtypes of what it gives, for arguments as ``Kernel`` describes them."""
    examples = [one(1) if isinstance(one, type) else jax.ShapeDtypeStruct(*one) for one in arguments]
    with jax.enable_x64(True):  # jax remembers a jaxpr as long as there is the function
        trace = jax.jit(lambda *values: function(*values)).trace(*examples)
    return trace.jaxpr, trace.out_info


@unwatched()
def general(closed: Any, tree: Any, names: Sequence[str], lengths: dict[str, int]) -> GeneralTrace | None:
    """The result of ``traced``, written for the host; None if it can't be written.

    ``names`` are all symbols and floats; the floats are the first arguments, which are not the kernel's. ``lengths``
    are an example of what the symbols are.
    """
    floats = len(names) - len(lengths)
    described, single = results_in(tree)
    shapes = shapes_for([result[0] for result in described if result is not None], names)
    results = [None if result is None else result[1] for result in described], single
    variables = closed.jaxpr.invars[floats:]
    numbers = {variable: dtype for variable, dtype in numbers_in(closed.jaxpr).items() if variable in variables}
    try:
        body, _, free = written_jaxpr(closed, tree, None, numbers)
    except Unwritable:
        return None
    least, cost = cost_of(closed, dict.fromkeys(lengths, 0)), cost_of(closed, lengths)
    return GeneralTrace(body, free, least, cost, dtypes_of(variables, numbers), results, shapes)


def shapes_for(shapes: Sequence[Sequence[Any]], names: Sequence[str]) -> Callable:
    """The function that gives shapes for what symbols are."""
    scope: dict[str, Any] = {}
    sizes = [[str(size) if isinstance(size, int) else symbolic(size, scope) for size in shape] for shape in shapes]
    tuples = "".join(f"({''.join(f'{size}, ' for size in shape)}), " for shape in sizes)
    return defined([f"def shapes({', '.join(names)}):", f"    return ({tuples})"], "shapes", scope)


def let_frames_go() -> None:
    """Free what a trace with symbols leaves behind: errors and frames that hold each other, and all frames outside.

    In these are the user's tensors, which would live until some later collection.
    """
    gc.collect(0)

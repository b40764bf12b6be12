"""Traces of kernels, and the functions that the host runs in their place.

Note [Flat traces]
Most functions of ``jax.numpy`` are jitted, so that a kernel that calls ten of them has ten jaxprs in its own: jax sets
up a trace for each, which takes two thirds of the time, and a program whose shapes are new waits for that. What XLA
compiles, and what is written for the host, is the same without them. So kernels are traced while jitted functions are
called as they are. Loops would be unrolled then, and branches taken at once where what they depend on is a constant:
what has some is ``staged``, as are functions of others, of which nobody knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax

from tapegrad._src.execution.data.sizes import at_most
from tapegrad._src.execution.numpy_backend.writer import numbers_in, written_jaxpr
from tapegrad._src.execution.recording.capturing import unwatched
from tapegrad._src.execution.tiers.costs import Cost, cost_of, jaxprs_in
from tapegrad._src.tape.kept import defined
from tapegrad._src.tape.mechanisms import FLAT_TRACES

WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))
"""The NumPy dtypes for which JAX needs its 64-bit mode."""

Results = tuple[list[tuple[tuple[int, ...], np.dtype] | None], bool]
"""Shape and dtype of each result of a kernel, None for one that is left out; and whether it is one, not in a tuple."""


def results_in(tree: Any) -> Results:
    """The results of a kernel, by what jax says of them.

    >>> import jax
    >>> results_in((jax.ShapeDtypeStruct((2,), "int8"), None))
    ([((2,), dtype('int8')), None], False)
    """
    single = not isinstance(tree, (tuple, list))
    leaves = [tree] if single else tree
    return [None if leaf is None else (leaf.shape, np.dtype(leaf.dtype)) for leaf in leaves], single


class Trace(NamedTuple):
    """A trace by jax: the jaxpr, and shapes and dtypes of what it gives."""

    jaxpr: Any
    tree: Any

    @property
    def results(self) -> Results:
        """Shape and dtype of each result."""
        return results_in(self.tree)

    @property
    def is_narrow(self) -> bool:
        """True if a trace outside jax's 64-bit mode would be the same: there is nothing that it could make narrower."""
        return not has_wide(self.jaxpr)

    @unwatched()
    def written(self) -> HostFunction:
        """The function that the host runs.

        Raises:
            Unwritable: there is no rule for a primitive.
        """
        cost, numbers = cost_of(self.jaxpr), numbers_in(self.jaxpr.jaxpr)
        body = written_jaxpr(self.jaxpr, self.tree, None, numbers).body
        return HostFunction(body, cost, dtypes_of(self.jaxpr.jaxpr.invars, numbers), self.results)


def has_wide(jaxpr: Any) -> bool:
    """Tell whether a jaxpr, or one inside it, has anything of a 64-bit type, Python's numbers and a few integers aside.

    >>> import jax
    >>> has_wide(jax.make_jaxpr(jax.jit(lambda x: x + 1))(np.float32(1)))
    False
    """
    inside = getattr(jaxpr, "jaxpr", jaxpr)
    for atoms in (inside.invars, *[(*equation.invars, *equation.outvars) for equation in inside.eqns]):
        for atom in atoms:
            if getattr(atom.aval, "dtype", None) in WIDE and is_wide(atom.aval):
                return True
    parameters = [value for equation in inside.eqns for value in equation.params.values()]
    return any(has_wide(one) for value in parameters if value is not None for one in jaxprs_in(value))


FEW = 1 << 12
"""The number of integers that take no longer to compute with if they are twice as wide."""


def is_wide(aval: Any) -> bool:
    """Tell whether something of this type would be another number in a trace outside jax's 64-bit mode, or more costly.

    Signed integers inside are places and counts, which fit into 32 bits: what is made of them is the same.
    """
    if getattr(aval, "dtype", None) not in WIDE:
        return False
    few = aval.dtype.kind == "i" and at_most(math.prod(aval.shape), FEW)
    return not (aval.weak_type or few or (aval.dtype.kind == "u" and aval.shape == ()))


class HostFunction(NamedTuple):
    """A function that the host runs in place of a kernel: a function of NumPy arrays, what a call of it and of XLA's
    costs, the dtype of each argument, and what it gives (see ``results_in``)."""

    body: Any
    cost: Cost
    dtypes: tuple[np.dtype, ...]
    results: Results


def dtypes_of(variables: Sequence[Any], numbers: Mapping[Any, np.dtype]) -> tuple[np.dtype, ...]:
    """The dtypes in which what is written takes the arguments of a jaxpr, by its variables. See ``numbers_in``."""
    return tuple([numbers.get(variable) or np.dtype(variable.aval.dtype) for variable in variables])


def taking_numbers(function: Callable, dtypes: Sequence[Any], examples: Sequence[Any]) -> Callable:
    """A written function that takes Python numbers where the examples have their types, and converts them as jax does.

    >>> taking_numbers(lambda x: x * 2, [np.dtype("float32")], [float])(1.5)
    np.float32(3.0)
    """
    given = list(zip([one for one in examples if one is not type(None)], dtypes, strict=True))
    if not any([isinstance(example, type) for example, _ in given]):
        return function
    names = {"array": np.array, "written": function} | {f"dtype{i}": dtype for i, (_, dtype) in enumerate(given)}
    arguments = [f"x{i}" for i in range(len(given))]
    arrays = [f"array(x{i}, dtype{i})" if isinstance(one, type) else f"x{i}" for i, (one, _) in enumerate(given)]
    lines = [f"def body({', '.join(arguments)}):", f"    return written({', '.join(arrays)})"]
    return defined(lines, "body", names)


WORTH_KEEPING_APART = 1 << 16
"""From how many bytes on it matters what keeps an array alive."""


def largest_of(examples: Sequence[Any]) -> int:
    """The bytes of the largest array, of pairs of a shape and a dtype, and other things."""
    largest = 0
    for one in examples:
        if isinstance(one, tuple):
            shape, dtype = one
            largest = max(largest, math.prod(shape) * dtype.itemsize)
    return largest


def separating(body: Callable, examples: Sequence[Any]) -> Callable:
    """A written function whose results are no views of small parts of large arguments.

    Such a part would keep all of it alive, and from being written to in place (Note [Memory that is reused] in
    ``tensor/tensor.py``).
    """
    largest = largest_of(examples)
    if largest < WORTH_KEEPING_APART:
        return body

    def run(*arrays: Any) -> Any:
        return separated(body(*arrays), largest)

    return run


def separated(results: Any, largest: int) -> Any:
    """The results of a written function, of whose arguments the largest has so many bytes."""
    if type(results) is tuple:
        return tuple([separated(result, largest) for result in results])
    small = results is not None and results.base is not None and 2 * results.nbytes <= largest
    return results.copy() if small else results


def flat(function: Callable, *, own: bool = False) -> Callable:
    """An array function, to be traced without jaxprs inside its own. See Note [Flat traces].

    ``own``: whether it calls nothing but ours (Note [What is not watched], ``recording/capturing.py``).

    >>> jax.make_jaxpr(flat(lambda x: jax.numpy.square(x)))(1.0)
    { lambda ; a:f32[]. let b:f32[] = square a in (b,) }
    """

    @wraps(function)
    def call(*values: Any) -> Any:
        with unwatched(own), nullcontext() if FLAT_TRACES.off else jax.disable_jit():
            return function(*values)

    call.own = own  # type: ignore[attr-defined]
    return call


def is_own(function: Callable) -> bool:
    """Tell whether an array function was declared to call nothing but ours."""
    return getattr(function, "own", False)


def staged(function: Callable) -> Callable:
    """An array function that is traced as jax does it, inside kernels too.

    >>> "scan" in str(jax.make_jaxpr(flat(lambda x: scan(lambda a, b: (a + b, None), 0.0, x)))(jax.numpy.ones(3)))
    True
    """

    @wraps(function)
    def call(*values: Any, **settings: Any) -> Any:
        with jax.disable_jit(False):
            return function(*values, **settings)

    return call


scan, fori_loop, while_loop = staged(lax.scan), staged(lax.fori_loop), staged(lax.while_loop)

"""jax functions on the tape: ``from_jax``.

Note [What is traced]
A call of a function that came from jax is one call of a foreign operator (Note [Foreign operators] in
``ops/foreign.py``). Of its arguments, trees of anything, tensors and arrays and Python floats and complex numbers
are traced: the operator takes them, and a new value costs nothing. All else (integers, booleans, strings, functions,
the trees themselves) is *static*, as settings of operators are: it is what it is in the function, which may branch on
it or make it a shape, and a new value means another operator, compiled anew.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.caches import remembered
from tapegrad._src.functions.construction import from_numpy
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import message
from tapegrad.interop.arrays import from_jax_array, is_tensor
from tapegrad.interop.residuals import Keeping
from tapegrad.ops.foreign import name_of


class TracedLeaf(NamedTuple):
    """Stands for a traced leaf among the static ones; ``key`` names the kind of random key that it is, if it is one."""

    key: Any = None


TRACED = TracedLeaf()


class StaticLeaf(NamedTuple):
    """A leaf that is not traced. With its type, for ``1 == True``."""

    kind: type
    value: Any


class StaticCall:
    """The operator for one combination of static arguments, and how its results are put together.

    Args:
        name: of the operator.
        structure: the tree of (function, args, kwargs).
        marks: what is known of each of its leaves: ``TracedLeaf`` or ``StaticLeaf``.
        node: the name of the node, or None.
    """

    def __init__(self, name: str, structure: Any, marks: tuple, node: str | None) -> None:
        self.structure, self.marks = structure, marks
        self.results: dict[tuple, tuple] = {}
        self.operator = Keeping(self.run, name, node)

    def run(self, *arrays: Any) -> Any:
        """The function on the traced leaves. Its result's leaves; what they belong to is remembered."""
        given = iter(arrays)
        leaves = [mark.value if isinstance(mark, StaticLeaf) else as_given(next(given), mark) for mark in self.marks]
        function, args, kwargs = jax.tree.unflatten(self.structure, leaves)
        leaves, structure = jax.tree.flatten(function(*args, **kwargs))
        marks = tuple(TracedLeaf() if is_traced_kind(leaf) or isinstance(leaf, int) else leaf for leaf in leaves)
        traced = [jnp.asarray(leaf) for leaf, mark in zip(leaves, marks, strict=True) if isinstance(mark, TracedLeaf)]
        if not traced:
            result = jax.tree.unflatten(structure, leaves)
            raise TypeError(f"{self.operator.name}: there is no array in its result, {result!r}")
        self.results[shapes_of(arrays)] = structure, marks
        return traced[0] if len(traced) == 1 else tuple(traced)

    def __call__(self, leaves: list) -> Any:
        """Run the operator on the traced leaves."""
        if any(isinstance(leaf, Tensor) for leaf in leaves):
            results = self.operator(*leaves)
        else:  # nothing that an operator takes for a tensor
            results = jax.tree.map(from_jax_array, self.run(*leaves))
        structure, marks = self.results[shapes_of(leaves)]
        given = iter(results if isinstance(results, tuple) else (results,))
        return jax.tree.unflatten(structure, [next(given) if isinstance(mark, TracedLeaf) else mark for mark in marks])


def from_jax(function: Callable, *, name: str | None = None, node: str | None = None) -> Callable:
    """A function on tensors that runs a jax function, recorded as one node.

    Tensors, arrays, floats and complex numbers among the arguments, trees of anything, are traced; all else is static:
    the function may branch on it, and a new value means to compile it anew.

    Args:
        function: any jax function, of any trees: code in jnp and jax.scipy, ``lax.scan``, a ``custom_vjp``, the apply
            of a flax model, an equinox module. It should be pure, and is compiled by ``jax.jit``.
        name: of the operator; the function's own by default.
        node: the name of the node; ``<Name>Backward0`` by default.

    Returns:
        A function that takes the same arguments with tensors (or arrays) for arrays, and returns the same tree with
        tensors for arrays. Gradients are ``jax.vjp``'s (for complex numbers PyTorch's: their conjugates), in any order
        and in forward mode. jax's 64-bit mode is on if the process has it on, or if a 64-bit array is given.

    Raises:
        TypeError: a static argument that can't be hashed, or a result without any array.

    >>> import jax.numpy as jnp, tapegrad as torch
    >>> @from_jax
    ... def energy(parameters, *, power=2):
    ...     return {"total": jnp.sum(parameters["w"] ** power)}
    >>> w = torch.tensor([1.0, 3.0], requires_grad=True)
    >>> energy({"w": w}, power=3)["total"].backward()
    >>> w.grad
    tensor([ 3., 27.])
    """
    called = name or name_of(function)

    @remembered("functions of jax")
    def operator_for(structure: Any, marks: tuple) -> StaticCall:
        return StaticCall(called, structure, marks, node)

    @functools.wraps(function, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = jax.tree.flatten((function, args, kwargs), is_leaf=is_tensor)
        marks = tuple(map(mark_of, leaves))
        try:
            call = operator_for(structure, marks)
        except TypeError as error:
            raise unhashable(called, leaves, error) from None
        return call([taken(leaf) for leaf, mark in zip(leaves, marks, strict=True) if isinstance(mark, TracedLeaf)])

    return on_tensors


def is_traced_kind(leaf: Any) -> bool:
    """Tell whether a leaf is traced."""
    return isinstance(leaf, (Tensor, jax.Array, np.ndarray, np.generic, float, complex))


def is_key(leaf: Any) -> bool:
    """Tell whether a leaf is an array of random keys."""
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def mark_of(leaf: Any) -> TracedLeaf | StaticLeaf:
    """The mark of an argument, which an operator has to know beforehand."""
    if is_traced_kind(leaf):
        return TracedLeaf(jax.random.key_impl(leaf)) if is_key(leaf) else TRACED
    return StaticLeaf(type(leaf), leaf)


def taken(leaf: Any) -> Any:
    """A traced argument as the operator takes it: a tensor, or a Python number."""
    if isinstance(leaf, jax.Array):
        return from_jax_array(jax.random.key_data(leaf) if is_key(leaf) else leaf)
    return from_numpy(np.array(leaf)) if isinstance(leaf, (np.ndarray, np.generic)) else leaf


def as_given(array: Any, mark: TracedLeaf) -> Any:
    """The argument that ``taken`` took, as the function gets it."""
    return array if mark.key is None else jax.random.wrap_key_data(array, impl=mark.key)


def shapes_of(leaves: Any) -> tuple:
    """The shapes of arrays, tensors and numbers: the structure of a result may depend on them."""
    return tuple(tuple(getattr(leaf, "shape", ())) for leaf in leaves)


def unhashable(name: str, leaves: list, error: TypeError) -> TypeError:
    """The error about a static argument that can't be hashed, if it is one."""
    for leaf in leaves:
        try:
            hash(leaf)
        except TypeError:
            if not is_traced_kind(leaf):
                return TypeError(message(f"{name}: an argument that is neither an array nor hashable", got=type(leaf),
                                         hint="register its class as a pytree"))  # fmt: skip
    return error

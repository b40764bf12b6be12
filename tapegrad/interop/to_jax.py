"""Functions on tensors as functions of jax: ``to_jax``.

Note [What jax differentiates]
A function on tensors that is given tracers computes with them, and jax sees each kernel that it runs. So ``jax.grad``
of it is the derivative of the arithmetic that was done, by jax's rules: whether the tape recorded it or not (inside
``no_grad``, through ``detach``, through gradients that a ``backward`` inside computed), and at kinks by jax's
conventions (see ``tapegrad.subgradient``). To stop such a derivative, use ``from_jax(jax.lax.stop_gradient)``. With
``rules="tape"`` it is the tape's derivative (Note [Whose rules] in ``tape_rules.py``). Gradients of complex numbers are
jax's with either, the conjugates of PyTorch's.

Note [64-bit arrays in jax's transformations]
Kernels take 64-bit arrays in any mode. But what jax does with them by itself, between and after (derivatives, some
lowerings), is done in its own mode: wrap ``with jax.enable_x64(True)`` around transformations of 64-bit arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import jax

from tapegrad._src.execution.array_functions.host import array_of
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.errors import message
from tapegrad.interop.arrays import from_jax_array, is_tensor, to_tensors
from tapegrad.interop.tape_rules import by_tape, given_back, outside_transforms


def to_jax(function: Callable, *, rules: Literal["jax", "tape"] = "jax") -> Callable:
    """A jax function that runs a function on tensors: ``jit``, ``grad``, ``vmap``, ``jvp``, ``lax.scan`` and
    ``checkpoint`` take it as they take any other.

    jax differentiates the arithmetic that was done, whether the tape recorded it or not; ``jax.lax.stop_gradient``,
    through ``from_jax``, stops it.

    Args:
        function: of trees with tensors in them, and of anything else. It may use the tape inside: make an argument
            require grad (``x.requires_grad_()``), call ``backward`` or ``autograd.grad``, and return what it got.
        rules: by whose rules jax differentiates it: its own, or the tape's (``function`` then must not close over
            tracers).

    Returns:
        A function that takes the same trees with arrays for tensors, and returns arrays for tensors. Arguments are
        leaves that do not require grad; Python numbers stay numbers.

    Raises:
        TypeError: an argument is a tensor that requires grad: its gradient would be lost.
        ValueError: there are no such rules.

    >>> import jax
    >>> cube = to_jax(lambda x: (x * x * x).sum())
    >>> jax.jit(jax.grad(cube))(jax.numpy.array([1.0, 2.0]))
    Array([ 3., 12.], dtype=float32)
    >>> length = lambda x: x.norm()
    >>> [jax.grad(to_jax(length, rules=rules))(jax.numpy.zeros(2)).tolist() for rules in ("jax", "tape")]
    [[nan, nan], [0.0, 0.0]]
    """
    if rules not in ("jax", "tape"):
        raise ValueError(message("to_jax: no such rules", expected="'jax' or 'tape'", got=repr(rules)))
    run = run_by_jax if rules == "jax" else run_by_tape

    @functools.wraps(function, updated=())
    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        for leaf in jax.tree.leaves((args, kwargs), is_leaf=is_tensor):
            refuse_history(leaf)
        return run(function, args, kwargs)

    return on_arrays


def refuse_history(leaf: Any) -> None:
    """Refuse a tensor that requires grad among the arguments."""
    if isinstance(leaf, Tensor) and leaf._spec.requires_grad:
        hint = "call the function itself, or give this one tensor.detach().jax()"
        raise TypeError(message("a function made by to_jax was given a tensor that requires grad", hint=hint))


def run_by_jax(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Call it with tensors for arrays: jax sees what they are."""
    with outside_transforms():
        args, kwargs = to_tensors((args, kwargs))
        return jax.tree.map(given_back, function(*args, **kwargs), is_leaf=is_tensor)


def run_by_tape(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Call it as a program of tensors alone, whose derivative jax is told."""
    with outside_transforms():
        leaves, structure = jax.tree.flatten(to_tensors((args, kwargs)), is_leaf=is_tensor)
    places = [isinstance(leaf, Tensor) for leaf in leaves]
    rest: list = []  # what is no tensor in the result, and the result's structure

    def program(*tensors: Tensor) -> tuple[Tensor, ...]:
        given = iter(tensors)
        filled = [next(given) if place else leaf for leaf, place in zip(leaves, places, strict=True)]
        own_args, own_kwargs = jax.tree.unflatten(structure, filled)
        results, tree = jax.tree.flatten(function(*own_args, **own_kwargs), is_leaf=is_tensor)
        results = [from_jax_array(leaf) if isinstance(leaf, jax.Array) else leaf for leaf in results]
        rest[:] = tree, [None if isinstance(leaf, Tensor) else (leaf,) for leaf in results]
        return tuple(leaf for leaf in results if isinstance(leaf, Tensor))

    results = iter(by_tape(program)(*(array_of(value_of(leaf)) for leaf in leaves if isinstance(leaf, Tensor))))
    tree, others = rest
    return jax.tree.unflatten(tree, [next(results) if other is None else other[0] for other in others])

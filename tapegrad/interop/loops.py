"""Control flow of jax as operators on the tape: a whole loop is one node. See Note [Subprograms].

jax differentiates a loop; what a step's derivative is, the tape says (``by_tape``, Note [Whose rules]).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from tapegrad.caches import remembered
from tapegrad.interop.residuals import Keeping
from tapegrad.interop.subprograms import Subprogram
from tapegrad.interop.tape_rules import by_tape
from tapegrad.tensor.tensor import Tensor


def on_arrays(program: Subprogram, count: int) -> Callable:
    """A subprogram as a function of arrays: of ``count`` arguments, and what is captured behind them."""
    return by_tape(lambda *tensors: program.run(tensors[:count], tensors[count:]))


@remembered("functions of jax")
def scanning(program: Subprogram, carries: int, sliced: int) -> Keeping:
    """The operator of a loop over slices: of what it carries, what it slices, and what it has captured."""
    step = on_arrays(program, carries + sliced)

    def scan(*arrays: Any) -> tuple:
        start, xs, captured = arrays[:carries], arrays[carries : carries + sliced], arrays[carries + sliced :]

        def body(carry: tuple, x: tuple) -> tuple[tuple, tuple]:
            results = step(*carry, *x, *captured)
            return results[:carries], results[carries:]

        carry, ys = jax.lax.scan(body, start, xs)
        return (*carry, *ys)

    return Keeping(scan, "scan", "ScanAutogradOpBackward")


@remembered("functions of jax")
def mapping(program: Subprogram, sliced: int, given: int) -> Keeping:
    """The operator of a function of slices that knows nothing of other slices: all are computed together."""
    axes = (0,) * sliced + (None,) * given
    step = on_arrays(program, sliced + given)

    def mapped(*arrays: Any) -> tuple:
        every = axes + (None,) * (len(arrays) - len(axes))
        return jax.vmap(step, in_axes=every)(*arrays)

    return Keeping(mapped, "map", "MapAutogradOpBackward")


@remembered("functions of jax")
def choosing(true: Subprogram, false: Subprogram, count: int, captured: int) -> Keeping:
    """The operator of two branches: of the predicate, ``count`` operands, and what each branch has captured."""
    branches = on_arrays(true, count), on_arrays(false, count)

    def choose(predicate: Any, *arrays: Any) -> tuple:
        operands, own, other = arrays[:count], arrays[count : count + captured], arrays[count + captured :]
        return jax.lax.cond(
            predicate.reshape(()).astype(bool),
            lambda: branches[0](*operands, *own),
            lambda: branches[1](*operands, *other),
        )

    return Keeping(choose, "cond", "CondAutogradOpBackward")


@remembered("functions of jax")
def repeating(condition: Subprogram, body: Subprogram, count: int, captured: int) -> Keeping:
    """The operator of a loop that goes on while a condition holds; it has no gradients."""
    test, step = on_arrays(condition, count), on_arrays(body, count)

    def repeat(*arrays: Any) -> tuple:
        own, other = arrays[count : count + captured], arrays[count + captured :]
        return jax.lax.while_loop(
            lambda carry: test(*carry, *own)[0].reshape(()), lambda carry: step(*carry, *other), arrays[:count]
        )

    return Keeping(repeat, "while_loop", "WhileLoopAutogradOpBackward")


def called(operator: Keeping, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results of an operator, as a tuple however many there are."""
    results = operator(*tensors, x64=True)
    return results if isinstance(results, tuple) else (results,)

"""Control flow of jax as operators on the tape: a whole loop is one node. See Note [Operator lists].

jax differentiates a loop; what a step's derivative is, the tape says (``by_tape``, Note [Whose rules]). jax forgets
that when it differentiates a derivative of a loop backwards, so that with ``create_graph`` the loop is run again, step
by step, on tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from tapegrad._src.caches import remembered
from tapegrad._src.execution.array_functions.host import is_readable
from tapegrad._src.functions.joining import stack, unbind
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.differentiate import grad
from tapegrad.interop.operator_lists import OperatorList, is_plain
from tapegrad.interop.residuals import Keeping
from tapegrad.interop.tape_rules import by_tape


def on_arrays(program: OperatorList, count: int) -> Callable:
    """A list of operators as a function of arrays: of ``count`` arguments, and what is captured behind them."""
    return by_tape(lambda *tensors: program.run(tensors[:count], tensors[count:]))


class Loop(Keeping):
    """Control flow as an operator.

    Args:
        function: of arrays.
        name: of the operator.
        node: of its node.
        unrolled: the same function, of tensors, as the tape records it.
    """

    def __init__(self, function: Callable, name: str, node: str, unrolled: Callable) -> None:
        super().__init__(function, name, node)
        self.unrolled = unrolled

    def gradients(self, plan: Any, grads: Sequence, arrays: Sequence, wanted: tuple[bool, ...]) -> tuple:
        """The gradients of the wanted arguments; on tensors those of the loop as the tape records it."""
        tensors = [array for array in arrays if isinstance(array, Tensor)]
        if not is_plain(tensors) or not all(is_readable(value_of(tensor)) for tensor in tensors) or not tensors:
            return super().gradients(plan, grads, arrays, wanted)
        with switched(grad=True):
            inputs = [array.view(array.shape) for array in arrays]  # each place apart, if one tensor is in several
            outputs = self.unrolled(*inputs)
            pairs = [
                pair for pair in zip(outputs, grads, strict=True) if pair[0].requires_grad and pair[1] is not None
            ]
            if not pairs:
                return super().gradients(plan, grads, arrays, wanted)
            chosen = [one for one, want in zip(inputs, wanted, strict=True) if want]
            roots, seeds = zip(*pairs, strict=True)
            found = iter(grad(roots, chosen, seeds, create_graph=True, materialize_grads=True))
        return tuple(next(found) if want else None for want in wanted)


@remembered("functions of jax")
def scanning(program: OperatorList, carries: int, sliced: int) -> Loop:
    """The operator of a loop over slices: of what it carries, what it slices, and what it has captured."""
    step = on_arrays(program, carries + sliced)

    def scan(*arrays: Any) -> tuple:
        start, xs, captured = arrays[:carries], arrays[carries : carries + sliced], arrays[carries + sliced :]

        def body(carry: tuple, x: tuple) -> tuple[tuple, tuple]:
            results = step(*carry, *x, *captured)
            return results[:carries], results[carries:]

        carry, ys = jax.lax.scan(body, start, xs)
        return (*carry, *ys)

    def unrolled(*tensors: Tensor) -> tuple[Tensor, ...]:
        carry, captured, rows = tensors[:carries], tensors[carries + sliced :], []
        for parts in zip(*map(unbind, tensors[carries : carries + sliced]), strict=True):
            results = program.run((*carry, *parts), captured)
            carry = results[:carries]
            rows.append(results[carries:])
        return (*carry, *map(stack, zip(*rows, strict=True)))

    return Loop(scan, "scan", "ScanAutogradOpBackward", unrolled)


@remembered("functions of jax")
def mapping(program: OperatorList, sliced: int, given: int) -> Loop:
    """The operator of a function of slices that knows nothing of other slices: all are computed together."""
    axes = (0,) * sliced + (None,) * given
    step = on_arrays(program, sliced + given)

    def mapped(*arrays: Any) -> tuple:
        every = axes + (None,) * (len(arrays) - len(axes))
        return jax.vmap(step, in_axes=every)(*arrays)

    def unrolled(*tensors: Tensor) -> tuple[Tensor, ...]:
        parts, rest, captured = tensors[:sliced], tensors[sliced : sliced + given], tensors[sliced + given :]
        rows = [program.run((*part, *rest), captured) for part in zip(*map(unbind, parts), strict=True)]
        return tuple(map(stack, zip(*rows, strict=True)))

    return Loop(mapped, "map", "MapAutogradOpBackward", unrolled)


@remembered("functions of jax")
def choosing(true: OperatorList, false: OperatorList, count: int, captured: int) -> Loop:
    """The operator of two branches: of the predicate, ``count`` operands, and what each branch has captured."""
    branches = on_arrays(true, count), on_arrays(false, count)

    def choose(predicate: Any, *arrays: Any) -> tuple:
        operands, own, other = arrays[:count], arrays[count : count + captured], arrays[count + captured :]
        return jax.lax.cond(
            predicate.reshape(()).astype(bool),
            lambda: branches[0](*operands, *own),
            lambda: branches[1](*operands, *other),
        )

    def unrolled(predicate: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        operands, own, other = tensors[:count], tensors[count : count + captured], tensors[count + captured :]
        return true.run(operands, own) if predicate else false.run(operands, other)

    return Loop(choose, "cond", "CondAutogradOpBackward", unrolled)


@remembered("functions of jax")
def repeating(condition: OperatorList, body: OperatorList, count: int, captured: int) -> Loop:
    """The operator of a loop that goes on while a condition holds; it has no gradients."""
    test, step = on_arrays(condition, count), on_arrays(body, count)

    def repeat(*arrays: Any) -> tuple:
        own, other = arrays[count : count + captured], arrays[count + captured :]
        return jax.lax.while_loop(
            lambda carry: test(*carry, *own)[0].reshape(()), lambda carry: step(*carry, *other), arrays[:count]
        )

    def unrolled(*tensors: Tensor) -> tuple[Tensor, ...]:
        carry, own, other = tensors[:count], tensors[count : count + captured], tensors[count + captured :]
        while condition.run(carry, own)[0]:
            carry = body.run(carry, other)
        return tuple(carry)

    return Loop(repeat, "while_loop", "WhileLoopAutogradOpBackward", unrolled)


def called(operator: Loop, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The results of an operator, as a tuple however many there are."""
    results = operator(*tensors, x64=True)
    return results if isinstance(results, tuple) else (results,)

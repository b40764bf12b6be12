"""``linearize``: the derivative of a function at a point, as a linear function that can be called many times.

The function is run once. What reverse mode makes of it, the pullback, is linear in the cotangents: its own pullback is
the derivative itself. So the graph of the pullback is kept, and run backward for each tangent. That is so as long as
nobody meddles with gradients: what the backward of a custom function gives, or a hook, need be no pullback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tapegrad._src.dispatch.function_levels import at, lower
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.lifted import Level
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import TreeSpec, flatten, unflatten
from tapegrad.autograd.function_node import FunctionBase
from tapegrad.func.gradients import backward_of, differentiable, jvp, vjp
from tapegrad.ops.shape import clone


def linearize(func: Callable, *primals: Any) -> tuple[Any, Callable]:
    """The value of ``func`` at ``primals``, and the linear function of tangents that approximates it there.

    The function is run twice, as by PyTorch: for its value, and to be differentiated. It is run again for every
    tangent, in forward mode, if there is a custom function or a hook in it, or an operator that can't be differentiated
    twice in reverse mode.

    Args:
        primals: trees of tensors.

    Returns:
        ``(output, jvp_fn)``; ``jvp_fn`` takes tangents, of the structure, shapes and dtypes of the primals, and returns
        those of the output.

    Raises:
        ValueError: a primal is neither floating nor complex.

    >>> output, jvp_fn = torch.func.linearize(torch.sin, torch.zeros(2))
    >>> jvp_fn(torch.ones(2))
    tensor([1., 1.])
    """
    leaves, spec = flatten(primals)
    with switched(saved_hooks=False):  # nobody is told of what is saved
        return linearized(func, primals, leaves, spec)


def linearized(func: Callable, primals: tuple, leaves: list, spec: TreeSpec) -> tuple[Any, Callable]:
    """``linearize`` of a function, at these leaves of its primals."""
    output = func(*primals)
    for x in leaves:
        if not x.new_empty(()).dtype.category >= FLOATING:
            raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
    with Level() as level:
        inputs = differentiable(primals, level)
        items, structure = flatten(func(*inputs))
        items = [at(item, level) if isinstance(item, Tensor) else item for item in items]
        values = [lower(item, level)[0] if isinstance(item, Tensor) else item for item in items]
    flowing = [position for position, item in enumerate(items) if isinstance(item, Tensor) and item.requires_grad]
    given_back = [any(item is x for x in flatten(inputs)[0]) for item in items]
    push = pushed(flatten(inputs)[0], [items[i] for i in flowing], [values[i] for i in flowing])

    def flown(position: int, found: Tensor, given: Sequence) -> Tensor:
        """The tangent of an output: it is one of those given only where the output is an input."""
        return clone(found) if any(found is t for t in given) and not given_back[position] else found

    def jvp_fn(*tangents: Any) -> Any:
        given, their = flatten(tangents)
        check_tangents(leaves, spec, given, their)
        with suppress(RuntimeError):
            found = dict(zip(flowing, push(given), strict=True))
            results = [
                flown(i, found[i], given) if i in found else zeros_like(value) if isinstance(value, Tensor) else value
                for i, value in enumerate(values)
            ]
            return unflatten(results, structure)
        return jvp(func, primals, tangents)[1]

    return output, jvp_fn


def pushed(inputs: list[Tensor], outputs: list[Tensor], values: list[Tensor]) -> Callable:
    """The derivative of outputs, which have these values, as a function of a list of tangents of the inputs.

    What it raises if the graph can't be differentiated twice is a ``RuntimeError``.
    """
    if not outputs:
        return lambda tangents: ()
    if is_meddled_with(outputs):
        return refusing(RuntimeError("what flows backward may be no pullback"))

    def pull(*cotangents: Tensor) -> tuple:
        return tuple(backward_of(outputs, inputs, cotangents, True))

    try:
        _, push = vjp(pull, *(zeros_like(value) for value in values))
    except RuntimeError as error:
        return refusing(error)
    return lambda tangents: push(tuple(tangents))


def is_meddled_with(outputs: Sequence[Tensor]) -> bool:
    """Tell whether there is a custom function or a hook in a graph."""
    stack = [tensor.grad_fn for tensor in outputs]
    seen = set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        if isinstance(node, FunctionBase) or node.hook_slots is not None:
            return True
        seen.add(node)
        stack += [edge[0] for edge in node.next_edges if edge is not None]
    return False


def refusing(error: RuntimeError) -> Callable:
    """A function that raises an error."""

    def refuse(tangents: Any) -> Any:
        raise error

    return refuse


def check_tangents(leaves: Sequence[Tensor], spec: TreeSpec, given: Sequence, their: TreeSpec) -> None:
    """Refuse tangents that aren't like the primals.

    Raises:
        RuntimeError: PyTorch's messages.
    """
    if their != spec:
        raise RuntimeError(f"Expected the tangents {their} to have the same argspec as the primals {spec}")
    for index, (x, t) in enumerate(zip(leaves, given, strict=True)):
        for what in ("shape", "device", "dtype"):
            if getattr(t, what) != getattr(x, what):
                raise RuntimeError(
                    f"tangent:{index} with {what} {getattr(t, what)} in flattened pytree doesn't match the {what} "
                    f"{getattr(x, what)} of the corresponding primal."
                )

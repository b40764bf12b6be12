"""The cost of a kernel by XLA's own account: operations on numbers, and bytes of memory that are read and written.

XLA counts what the kernel says, before it fuses anything: what is read and written is what it would be without fusion.
Of a convolution it counts what meets the image, and not what meets the padding around it: a kernel of 3 by 3 over an
image of 4 by 4, padded by 1, takes 100 products for each pair of channels and not 144. Of a loop it counts one turn:
the others are added here, where the kernel says how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, jaxpr_as_fun

from tapegrad._src.caches import remembered
from tapegrad._src.execution.kernels.kernel import Kernel


class XlaCost(NamedTuple):
    """The cost of one call.

    Attributes:
        flops: operations on numbers; an exponential, a sine and the like counts as one.
        nbytes: bytes that are read and written.
    """

    flops: float
    nbytes: float


FREE = XlaCost(0.0, 0.0)
CODE = (ClosedJaxpr, Jaxpr)


@remembered("costs of kernels")
def xla_cost(kernel: Kernel, arguments: Sequence[Any]) -> XlaCost:
    """The cost of a call of a kernel; it is traced for that, not compiled, and nothing is run.

    Args:
        kernel: the kernel.
        arguments: for each argument a pair (shape, NumPy dtype), or the type of a Python number; a tuple.

    >>> import jax.numpy as jnp, numpy as np
    >>> matmul = Kernel(jnp.matmul, name="matmul", wide=False)
    >>> xla_cost(matmul, (((2, 3), np.dtype("float32")), ((3, 4), np.dtype("float32")))).flops
    48.0
    """
    examples = [one(1) if isinstance(one, type) else jax.ShapeDtypeStruct(*one) for one in arguments]
    with jax.core.eval_context(), jax.enable_x64(True) if kernel.wide else nullcontext():
        return cost_of_trace(kernel.function.trace(*examples))


def cost_of_trace(traced: Any) -> XlaCost:
    """The cost that XLA counts, and the turns of loops after the first ones."""
    analysis = traced.lower().cost_analysis() or {}
    flops = float(analysis.get("flops", 0.0) + analysis.get("transcendentals", 0.0))
    nbytes = float(analysis.get("bytes accessed", 0.0))
    for turns, body in loops_in(traced.jaxpr.jaxpr):
        once = cost_of_trace(jax.jit(jaxpr_as_fun(body)).trace(*map(described, body.in_avals)))
        flops, nbytes = flops + (turns - 1) * once.flops, nbytes + (turns - 1) * once.nbytes
    return XlaCost(flops, nbytes)


def described(abstract: Any) -> jax.ShapeDtypeStruct:
    """An argument of a loop's body."""
    return jax.ShapeDtypeStruct(abstract.shape, abstract.dtype)


def loops_in(jaxpr: Jaxpr) -> Iterator[tuple[int, ClosedJaxpr]]:
    """The loops of a known length, with what they do in each turn; loops inside of these are found in there."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "scan":
            yield equation.params["length"], equation.params["jaxpr"]
        elif equation.primitive.name != "while":
            for inner in jax.tree.leaves(tuple(equation.params.values()), is_leaf=lambda one: isinstance(one, CODE)):
                if isinstance(inner, CODE):
                    yield from loops_in(inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner)

"""What a kernel costs by XLA's own account: operations on numbers, and bytes of memory that are read and written.

XLA counts what the kernel says, before it fuses anything: what is read and written is what it would be without fusion.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import jax

from tapegrad.caches import remembered
from tapegrad.execution.kernel import Kernel


class XlaCost(NamedTuple):
    """What one call costs.

    Attributes:
        flops: operations on numbers; an exponential, a sine and the like counts as one.
        nbytes: bytes that are read and written.
    """

    flops: float
    nbytes: float


FREE = XlaCost(0.0, 0.0)


@remembered("costs of kernels")
def xla_cost(kernel: Kernel, arguments: Sequence[Any]) -> XlaCost:
    """What a call of a kernel costs; it is traced for that, not compiled, and nothing is run.

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
        found = kernel.function.lower(*examples).cost_analysis() or {}
    flops = found.get("flops", 0.0) + found.get("transcendentals", 0.0)
    return XlaCost(float(flops), float(found.get("bytes accessed", 0.0)))

"""Calls with very many arguments or results, which are run by a loop.

Note [Many operands]
Straight-line Python for hundreds of tensors takes longer to write and to compile than the call takes, and so does a
trace with hundreds of arguments; and the next call may have another count. So operators that put arrays together or
take one apart are declared with what NumPy does for any number of them (``OperandLoop``), and where the host runs
kernels, calls of more than ``MANY`` operands or results are made by a loop (``many_operands_code.py``), which calls
that, and so are those that take apart another length than a call before: of these there is no shape class, as it may be
in as many pieces. The node is an ordinary one. Where something is unusual about the call (watchers, other values than
NumPy's arrays, mixed dtypes) it is made like all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.tiers.costs import Cost
from tapegrad._src.execution.tiers.host_trace import HostFunction
from tapegrad._src.execution.tiers.settings import hosted
from tapegrad._src.tape.mechanisms import MANY_OPERANDS
from tapegrad._src.tensor.spec import Spec

MANY = 64
"""From how many operands or results on there are many."""

EACH = 500.0
"""The nanoseconds that NumPy takes for each."""

Shape = tuple[int, ...]


class OperandLoop(NamedTuple):
    """NumPy functions for any number of operands or results: they take and give lists of arrays.

    Attributes:
        shapes: ``shapes(shapes, **settings)`` gives the shapes of the results for arrays of some shapes.
        forward: ``forward(arrays, **settings)``.
        backward: ``backward(grads, shapes, **settings)`` gives the gradients of arrays of some shapes.
    """

    shapes: Callable
    forward: Callable
    backward: Callable


def shapes_of_many(op: OperatorLike, specs: tuple, settings: dict, many: int = MANY) -> list[tuple[int, ...]] | None:
    """The shapes of the results of a call with more arguments or results than ``many``; None of any other."""
    loop, count = op.loop, len(specs)
    if loop is None or not (count > MANY or count == 1) or not _are_alike(specs) or not hosted() or MANY_OPERANDS.off:
        return None
    shapes = loop.shapes([tuple(spec.shape) for spec in specs], **op.defaults, **settings)
    return shapes if max(count, len(shapes)) > many else None


def host_function(
    function: Callable, given: Sequence[Shape], results: Sequence[Shape], single: bool, dtype: Any, settings: dict
) -> HostFunction:
    """The function that the host runs for arrays and results of these shapes; it is never worth while to compile so
    many."""

    def body(*arrays: Any) -> Any:
        results = function(arrays, **settings)
        return results[0] if single else tuple(results)

    cost = EACH * max(len(given), len(results))
    shapes: list[Any] = [(shape, dtype) for shape in results]
    return HostFunction(body, Cost(cost, 2 * cost, math.inf), (dtype,) * len(given), (shapes, single))


def _are_alike(specs: tuple) -> bool:
    """Tell whether all are tensors of one dtype and as many dimensions, here."""
    first = specs[0]
    return all(
        isinstance(spec, Spec) and spec.dtype is first.dtype and spec.ndim == first.ndim and spec.level == 0
        and spec.device is not META and not spec.inference
        for spec in specs
    )  # fmt: skip

"""Many small tensors, put behind one another to be computed with at once.

Note [Together]
An elementwise update of ten thousand small tensors is ten thousand times the cost of a call, ten times over, and nearly
nothing of it is arithmetic. So their elements are put into one row (``row_of``), the update is computed on the row, and
each tensor gets its part of the result (``parts_given``): one write, and one more version, as if it had been computed
alone. It pays where values are arrays of the host, tensors are small, and nobody watches each call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad.execution.host import from_host, may_look, to_host
from tapegrad.execution.tiering import hosted
from tapegrad.tape.modes import thread
from tapegrad.tensor.spec import Spec
from tapegrad.tensor.tensor import Tensor, value_of, wrap, write

LARGEST = 4096
"""Elements of a tensor above which it is computed alone: from there on arithmetic costs more than calls do."""


def may_join() -> bool:
    """Whether tensors may be computed together now: at once, on the host, where no call is recorded or watched."""
    modes = thread.modes
    watched = modes.intercepted or modes.watched or modes.results_watched or modes.function_modes
    return not (modes.grad or modes.deferred or modes.inference or modes.level or watched) and may_look() and hosted()


def can_join(tensor: Any) -> bool:
    """Whether a tensor may be one of a row: small, of real numbers, a plain one, and nobody else's memory."""
    spec, storage = tensor._spec, tensor._storage
    return (
        spec.numel <= LARGEST
        and spec.strides is None
        and not (spec.window or spec.level or spec.inference or spec.dtype.is_complex or spec.overrides)
        and spec.device.type == "cpu"
        and (storage is None or not storage.shared)
        and tensor._tangent is None
    )


def row_of(tensors: Sequence[Tensor]) -> Tensor:
    """The elements of tensors of one dtype behind one another, as a tensor of one dimension."""
    arrays = [value if type(value := value_of(tensor)) is np.ndarray else to_host(value) for tensor in tensors]
    row = np.concatenate(arrays, axis=None)
    spec = tensors[0]._spec
    return wrap(from_host(row, spec.device), Spec.of(row.shape, spec.dtype, spec.device))


def parts_of(row: Tensor, likes: Sequence[Tensor]) -> Iterator[Any]:
    """The values of the parts of a row, in the shapes of tensors that were put behind one another."""
    array, start = to_host(value_of(row)), 0
    for like in likes:
        spec = like._spec
        part = array[start : start + spec.numel]
        start += spec.numel
        yield part if spec.ndim == 1 else part.reshape(spec.shape)


def parts_given(row: Tensor, tensors: Sequence[Tensor]) -> None:
    """Write to each tensor its part of a row."""
    for tensor, value in zip(tensors, parts_of(row, tensors), strict=True):
        write(tensor, value)


def parts_made(row: Tensor, likes: Sequence[Tensor]) -> list[Tensor]:
    """New tensors with the parts of a row, in the shapes of others."""
    return [wrap(value, Spec.of(value.shape, row.dtype, row.device)) for value in parts_of(row, likes)]


def number_given(number: Tensor, tensors: Sequence[Tensor]) -> None:
    """Write the same number to tensors without dimensions."""
    value = value_of(number)
    for tensor in tensors:
        write(tensor, value)


def is_same_number(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors without dimensions have the same number; nearly always they have the same value."""
    first, second = value_of(one), value_of(other)
    return first is second or bool(to_host(first) == to_host(second))

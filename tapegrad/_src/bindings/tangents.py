"""The tangents of tensors that share memory: that of a view shows the tangent of its base, and is written to with it.

See Note [Duals] in ``tensor/dual.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad._src.bindings.layouts import laid_out
from tapegrad._src.bindings.state.memory import as_strided
from tapegrad._src.bindings.viewing import view_of
from tapegrad._src.dispatch.function_levels import unreached
from tapegrad._src.dispatch.nodes.accumulate_grad import gradient_edge
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.execution.array_functions.host import filled
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.tape.modes import watching
from tapegrad._src.tensor.dual import set_tangent, tangent_of
from tapegrad._src.tensor.geometry import is_dense, overlaps_itself
from tapegrad._src.tensor.lifted import Lifted
from tapegrad._src.tensor.placing import lie_alike
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import Tensor, storage_of, value_of, views_of, wrap
from tapegrad.errors import SHOWN_TWICE
from tapegrad.ops.kinds import cast
from tapegrad.ops.shape import alias
from tapegrad.ops.shape import clone as cloned


def embedded(tangent: Tensor, tensor: Tensor) -> Tensor:
    """The tangent that a user gives to a tensor: itself, if it lies in its memory as the tensor does, or else a copy.
    Raises RuntimeError: a copy would have to show one place of its memory several times.
    """
    if lie_alike(tangent, tensor) and strides_that_matter(tangent) == strides_that_matter(tensor):
        return tangent
    strides = tensor._spec.strides
    if strides is not None and overlaps_itself(tensor._spec.shape, strides):
        raise RuntimeError(SHOWN_TWICE)
    laid = laid_like(tangent if tangent.dtype is tensor.dtype else cast(tangent, dtype=tensor.dtype), tensor)
    return cloned(laid) if laid is tangent else laid


def strides_that_matter(tensor: Tensor) -> list[int]:
    """The strides of a tensor along its dimensions of other lengths than 1."""
    return [stride for length, stride in zip(tensor.shape, tensor._spec.layout, strict=True) if length != 1]


def laid_like(tangent: Tensor, tensor: Tensor) -> Tensor:
    """A tangent that lies in memory as its primal does, so that views can show the same part of both."""
    strides = tensor._spec.strides
    if tangent._spec.strides == strides and not tensor._view_bits:
        return tangent
    fits = strides is None or is_dense(tuple(tensor.shape), strides)
    return laid_out(cloned(tangent), tensor._spec.layout if fits else tangent._spec.fresh.layout)


def written_tangent(tensor: Tensor) -> Tensor | None:
    """The tangent that a write to a tensor has to change: its own, or a part of its base's, zeros if that has none."""
    if not tensor._spec.dual and tensor._view is not None:
        base = tensor._view.base
        if not base._spec.dual and base.dtype.category >= FLOATING:
            zeros = filled(tuple(base.shape), 0, base.dtype, base.device)
            show_tangent(base, wrap(zeros, base._spec.bare))
    return tangent_of(tensor)


def unwritten_tangent(tensor: Tensor) -> Tensor:
    """A handle on what the tangent of a dual tensor is now, that a write to the tensor will not touch."""
    tangent = tensor._tangent
    assert tangent is not None
    value = value_of(tangent)
    value = unreached(value) if isinstance(value, Lifted) else value
    return wrap(value, tangent._spec.fresh, gradient_edge(tangent))


def lie_where_it_is_written(tensor: Tensor, operands: Iterable[Any]) -> bool:
    """Tell whether a write to a tensor reaches a tangent that is read for it: its own, or that of another operand."""
    others = [x for x in operands if isinstance(x, Tensor)]
    tangents = [x._tangent for x in (tensor, *others) if x._spec.dual]
    if not tangents or any(memory_of(x) is memory_of(tensor) for x in others):
        return False
    return any(memory_of(tangent) is memory_of(tensor) for tangent in tangents)  # type: ignore[arg-type]


def memory_of(tensor: Tensor) -> Storage:
    """The memory in which a tensor's elements are, outside all levels."""
    while tensor._spec.level:
        value = tensor._value if tensor._storage is None else tensor._storage.value
        if not isinstance(value, Lifted):
            break
        tensor = value.tensor if value.origin is None else value.origin
    return storage_of(tensor)


@contextmanager
def noting_who_reads(tensor: Tensor) -> Iterator[list[bool]]:
    """A block in which a list gets an entry for each operator of a tensor: whether a formula of it reads the value."""
    reads: list[bool] = []

    def see(op: OperatorLike, args: tuple, settings: dict) -> Any:
        names = {op.input_name(position) for position, arg in enumerate(args) if arg is tensor}
        formulas = () if op.tangent_of_result else op.formulas.values()
        reads.extend(any(name in formula.names for formula in formulas) for name in names)
        return op(*args, **settings)

    with watching(interceptor=see):
        yield reads


def take_tangent(tensor: Tensor, tangent: Tensor) -> None:
    """Give a tensor that had none the tangent of what was written to it, as memory of its own."""
    show_tangent(tensor, alias(tangent))


def show_tangent(tensor: Tensor, tangent: Tensor) -> None:
    """Give a tensor a tangent, and to its views what they show of it."""
    set_tangent(tensor, laid_like(tangent, tensor))
    for member in views_of(tensor):
        if not member._spec.dual and member.dtype.category >= FLOATING:
            set_tangent(member, _shown(member))


def _shown(view: Tensor) -> Tensor:
    """The part of the tangent of its base that a view shows."""
    made = view._view.reinterpretation  # type: ignore[union-attr]
    origin = view._view.base if made is None else made.origin  # type: ignore[union-attr]
    tangent = tangent_of(origin)
    if tangent is None:
        tangent = _shown(origin)
    if made is not None and made.op is not None:
        return view_of(tangent, made.op, *made.numbers, **made.settings)
    return as_strided(tangent, view.shape, view._spec.layout, view._offset - origin._offset + tangent._offset)

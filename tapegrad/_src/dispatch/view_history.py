"""The history of views: what a write through a view does to the graph, and how a view finds its place in it again.

Note [Views]
A view shows memory of its *base* (which is never itself a view). A write to either changes what both are:

- A write through a view gives the base a new place in the graph, a ``CopySlices`` node: its backward runs the node of
  the operator that was written with (the *inner* node) on the part of the gradient that the view shows, and puts what
  that gives for the view in its place.
- Any write leaves the places of the other views behind. Each remembers the version of the data that its place belongs
  to, and gets a new one when somebody asks (``edge_of``): that of a view of the present base, ``AsStridedBackward0``.

A view may have been *created* in a way that forbids this where gradients are recorded: as one of several outputs of a
function, in a custom function, without being recorded. A view of a view inherits that.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from tapegrad._src.caches import Cache
from tapegrad._src.dispatch.call_cache import replay
from tapegrad._src.dispatch.nodes.accumulate_grad import WorkerOfDevice, gradient_edge, node_made, rebase
from tapegrad._src.dispatch.nodes.gradient_check import fitting
from tapegrad._src.dispatch.nodes.operator import OperatorNode, SavedMismatch
from tapegrad._src.dispatch.nodes.saved_tensor import second_backward
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.doors import Door
from tapegrad._src.execution.array_functions.windows import CONJUGATED, NEGATED
from tapegrad._src.execution.data.boxes import box_forms
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.execution.kernels.kernel import Kernel, kernel_for
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tape.node import Edge, Node, function_of, next_sequence_nr
from tapegrad._src.tensor.geometry import Geometry, extent
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import (
    Tensor,
    View,
    counter_of,
    edge_of,
    storage_of,
    value_of,
    version_of,
    view_remaker,
    views_of,
    wrap,
)
from tapegrad.errors import CREATION, out_of_storage


class ViewOperators(NamedTuple):
    """The operators in which views speak of themselves."""

    as_strided: Any
    copy_slices: Any
    view_as_real: Any
    view_as_complex: Any
    conj: Any


view_operators: Door[ViewOperators] = Door("view_operators", filled_by="ops/strided.py")
"""The operators that show a region of a base, and write to it."""


class ViewRegion(NamedTuple):
    """The part of a base that a view shows: settings of the operators ``as_strided`` and ``copy_slices``.

    Strides and sizes are in real numbers where one of the two is complex and the other is not (``base_split``,
    ``part_split`` say which). ``view_bits``: whether the view shows conjugates, or negatives, of what the base shows.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    x_strides: tuple[int, ...]
    size: int
    box: str
    x_box: str
    base_split: bool = False
    part_split: bool = False
    view_bits: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that the operators are given."""
        return {name: getattr(self, name) for name in ("shape", "strides", "x_strides", "size", "box", "x_box")}

    def of(self, base: Any, offset: int, x_offset: int) -> Any:
        """The part of an array or a tensor that lies like the base."""
        base = view_operators.content.view_as_real(base) if self.base_split else base
        part = view_operators.content.as_strided(base, offset, x_offset, None, **self.settings)
        return self.through_view_bits(view_operators.content.view_as_complex(part) if self.part_split else part)

    def through_view_bits(self, part: Any) -> Any:
        """The part as the view shows it; and what lies there if the view shows this."""
        part = view_operators.content.conj(part) if self.view_bits & CONJUGATED else part
        return -part if self.view_bits & NEGATED else part

    def put(self, base: Any, part: Any, offset: int, x_offset: int) -> Any:
        """The base with that part replaced."""
        base = view_operators.content.view_as_real(base) if self.base_split else base
        if not isinstance(part, int):
            part = self.through_view_bits(part)
            part = view_operators.content.view_as_real(part) if self.part_split else part
        whole = view_operators.content.copy_slices(base, part, offset, x_offset, **self.settings)
        return view_operators.content.view_as_complex(whole) if self.base_split else whole


class Reinterpretation(NamedTuple):
    """The way in which a view came to show its base as other numbers (of another dtype, or conjugated).

    By an operator on ``origin``; or without one, as a window on ``origin``, which shows such numbers already.
    """

    origin: Tensor
    op: OperatorLike | None
    numbers: tuple
    settings: dict[str, Any]


def part_of(base: Tensor, view: Tensor) -> tuple[ViewRegion, int, int]:
    """The part of the base that a view shows, and the offsets at which view and base begin."""
    own, whole = (Geometry(tuple(x._spec.shape), x._spec.layout, x._offset) for x in (view, base))
    complex_base, complex_view = base._spec.dtype.is_complex, view._spec.dtype.is_complex
    base_split, part_split = complex_base and not complex_view, complex_view and not complex_base
    whole, own = (whole if not base_split else in_reals(whole)), (own if not part_split else in_reals(own))
    first = min(own.offset, whole.offset)
    size = max(extent(own), extent(whole), first) - first
    offset, x_offset = own.offset - first, whole.offset - first
    boxes = box_forms(size, (own.shape, own.strides, offset), (whole.shape, whole.strides, x_offset))
    view_bits = view._view_bits ^ (0 if base_split or part_split else base._view_bits)
    part = ViewRegion(own.shape, own.strides, whole.strides, size, *boxes, base_split, part_split, view_bits)
    return part, offset, x_offset


def in_reals(geometry: Geometry) -> Geometry:
    """The geometry of complex numbers, counted in real ones."""
    shape, strides, offset = geometry
    return Geometry((*shape, 2), (*(2 * stride for stride in strides), 1), 2 * offset)


def reader(part: ViewRegion, wide: bool) -> Any:
    """The kernel that takes the part of a gradient which a view shows."""
    return Kernel(part.of, name="CopySlices", wide=wide).dispatcher()


def writer(part: ViewRegion, zero: bool, wide: bool) -> Any:
    """The kernel that replaces that part, by zeros or by what is given."""

    def put_zeros(base: Any, offset: int, x_offset: int) -> Any:
        return part.put(base, 0, offset, x_offset)

    return Kernel(put_zeros if zero else part.put, name="CopySlices", wide=wide).dispatcher()


def sliced(
    plan: Any, part: ViewRegion, own: int | None, _: Any, wanted: tuple[bool, ...], base_wanted: bool, wide: bool
) -> Any:
    """The kernel of a ``CopySlices`` around an operator's node: the gradients of the base and of the other inputs."""

    def backward(base: Any, offset: int, x_offset: int, *saved: Any) -> tuple:
        results = list(plan.gradients([part.of(base, offset, x_offset)], saved, wanted))
        mine = None if own is None else results.pop(own)
        whole = part.put(base, 0 if mine is None else mine, offset, x_offset) if base_wanted else None
        return (whole, *results)

    return Kernel(backward, name="CopySlices", wide=wide).dispatcher()


_sliced = Cache("kernels")


class CopySlices(Node):
    """The place in the graph of a base that was written to through a view. See Note [Views].

    Attributes:
        inner: the node of the operator whose result was written; which backward call freed the graph, if one did.
        own: which edge of the inner node led to the view. If none did (several operators made the result), the gradient
            of what the view was comes along the edges.
        part, offsets: which part of the base was written.
        spec: that of the base.
    """

    __slots__ = ("inner", "own", "part", "offsets", "spec")
    worker: Any = WorkerOfDevice()

    def __init__(self, base: Tensor, view: Tensor, inner: Edge, own: int | None) -> None:
        self.inner, self.own = inner, own
        self.part, *self.offsets = part_of(base, view)
        self.spec = base._spec.bare
        edges = inner[0].next_edges
        self.next_edges = (gradient_edge(base), *(edge for i, edge in enumerate(edges) if i != own))
        self.sequence_nr = next_sequence_nr()

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        grad, wide = grads[0], self.spec.dtype.is_64bit
        if grad is None:
            return (None,) * len(self.next_edges)
        inner = self._inner_of_formulas()
        if inner is not None:
            with contextlib.suppress(SavedMismatch):
                return self._at_once(inner, grad, needed)
        results = self._inner_results("apply_values", kernel_for(reader, self.part, wide)(grad, *self.offsets), needed)
        if not self._wants_base(needed):
            return (None, *results[1:])
        part = () if results[0] is None else (results[0],)
        return (kernel_for(writer, self.part, not part, wide)(grad, *part, *self.offsets), *results[1:])

    def _wants_base(self, needed: tuple[bool, ...] | None) -> bool:
        return self.next_edges[0] is not None and (needed is None or needed[0])

    def _inner_of_formulas(self) -> OperatorNode | None:
        """The inner node, if all that it does is to run the formulas of an operator with one output."""
        inner = self.inner[0] if type(self.inner) is tuple else None
        if not isinstance(inner, OperatorNode) or type(inner).apply_values is not OperatorNode.apply_values:
            return None
        return inner if inner.plan.slots == 1 and type(inner.saved) is tuple else None

    def _at_once(self, inner: OperatorNode, grad: Any, needed: tuple[bool, ...] | None) -> Sequence:
        """The same in one kernel, where the inner node is an operator's."""
        plan, values = inner.plan, inner.saved_values()
        wide = plan.kernels.wide or self.spec.dtype.is_64bit
        wanted, base_wanted = plan.wanted(self._needed_by_inner(needed)), self._wants_base(needed)
        key = (self.part, self.own, plan.needed, wanted, base_wanted, wide)
        kernel = _sliced.get((plan.kernels, *key))
        if kernel is None:
            kernel = _sliced.keep((plan.kernels, *key), sliced(plan, *key))
        return kernel(grad, *self.offsets, *values)

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        grad = grads[0]
        if grad is None:
            return (None,) * len(self.next_edges)
        results = self._inner_results("apply", self.part.of(grad, *self.offsets), needed)
        part = 0 if results[0] is None else results[0]
        return (self.part.put(grad, part, *self.offsets), *results[1:])

    def _inner_results(self, how: str, grad: Any, needed: tuple[bool, ...] | None) -> list:
        """The gradients that the inner node gives for the view (or None), and for its other inputs."""
        if type(self.inner) is not tuple:
            raise RuntimeError(second_backward(self.inner))
        (inner, output_nr), own = self.inner, self.own
        grads = [grad if i == output_nr else None for i in range(inner.input_slots)]
        results = list(getattr(inner, how)(grads, self._needed_by_inner(needed)))
        return [None if own is None else results.pop(own), *results]

    def _needed_by_inner(self, needed: tuple[bool, ...] | None) -> tuple[bool, ...] | None:
        """Which of its gradients the inner node is to compute."""
        if needed is None or self.own is None:
            return None if needed is None else needed[1:]
        return (*needed[1 : self.own + 1], needed[0], *needed[self.own + 1 :])

    def release_variables(self) -> None:
        if type(self.inner) is tuple:
            self.inner[0].release_variables()
            self.inner = thread.backward_call

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    @property
    def _input_metadata(self) -> tuple[Spec, ...]:
        return (self.spec,)


class SlicesOutside(CopySlices):
    """A ``CopySlices`` of a view that shows memory which its base does not, as one of the two was put elsewhere.

    Attributes:
        refusal: what backward says.
    """

    __slots__ = ()
    refusal: str

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        if grads[0] is None:
            return (None,) * len(self.next_edges)
        raise RuntimeError(self.refusal)

    apply = apply_values


def refused_outside(base: Tensor, view: Tensor) -> str | None:
    """The error that PyTorch raises in backward of a write through a view that reaches beyond what its base spans; else
    None."""
    if view._view is None or view._view.reinterpretation is not None:
        return None
    offset = view._offset - base._offset
    if offset < 0:
        return f"Tensor: invalid storage offset {offset}"
    shape, strides, itemsize = tuple(view.shape), view._spec.layout, base.dtype.itemsize
    needed = extent(Geometry(shape, strides, offset))
    available = extent(Geometry(tuple(base.shape), base._spec.layout, 0))
    return None if needed <= available else out_of_storage(shape, strides, offset, itemsize, available * itemsize)


# -- after a write -----------------------------------------------------------------------------------------------------


def take_history(tensor: Tensor, edge: Edge) -> None:
    """Give a tensor that was written to, and its base if it is a view, the place in the graph of what was written."""
    view = tensor._view
    storage_of(tensor).comes_from(edge, counter_of(tensor))
    if view is None:
        rebase(tensor, edge)
        require_grad(tensor)
    else:
        inner: Any = edge[0]
        unfitted = getattr(type(inner), "unfitted", None)
        if unfitted is not None:  # what it gives for the view goes nowhere but into the base's gradient
            inner.__class__ = unfitted
        made_of = fitting(CopySlices) if unfitted is not None or view.base._spec.mismatched else CopySlices
        node = made_of(view.base, tensor, edge, _own_edge(tensor, inner))
        refusal = refused_outside(view.base, tensor) if counter_of(tensor).astray else None
        if refusal is not None:
            node.__class__, node.refusal = SlicesOutside, refusal
        if thread.modes.watched:
            node_made(node)
        rebase(view.base, (node, 0))
        require_grad(view.base)
        view.turn = next_sequence_nr(), version_of(tensor)
        if isinstance(edge[0], OperatorNode) and edge[0].plan.saved_outputs:
            _name_by_view(tensor, edge)


def _name_by_view(tensor: Tensor, edge: Edge) -> None:
    """Let errors name what a node saved of its output after the view that it was written through."""
    node, output_nr = edge
    node_of_view = weakref.ref(edge_of(tensor)[0])  # type: ignore[index]
    node.output_storages[output_nr] = node.output_storages[output_nr]._replace(view_node=node_of_view)  # type: ignore[index]


def _own_edge(view: Tensor, node: Node) -> int | None:
    """Which edge of a node leads to what a view was before the write; none, if another node stands between."""
    edges, before = node.next_edges, view._edge
    if before is not None:
        return next((i for i, edge in enumerate(edges) if edge is before), None)
    if isinstance(node, OperatorNode) and 0 in node.plan.positions:
        first = node.plan.positions.index(0)
        return first if edges[first] is None else None
    return 0 if edges and edges[0] is None else None


def require_grad(base: Tensor) -> None:
    """Let a tensor and its views require grad."""
    if not base._spec.requires_grad:
        mismatched = base._spec.mismatched or base._spec.dtype.category < FLOATING
        base._spec = base._spec.replace(requires_grad=True, mismatched=mismatched)
        tell_views(base)


def give_edges_to_written_views(base: Tensor) -> None:
    """Give the views through which a base was written their places; to be called before the base loses its own."""
    for member in views_of(base):
        turn = member._view.turn  # type: ignore[union-attr]
        if turn is not None and turn[1] == version_of(member):
            edge_of(member)


def tell_views(base: Tensor) -> None:
    """Let the views of a base require grad if it does, or if the user said so."""
    for member in views_of(base):
        if member._spec.dtype.category >= FLOATING or base._spec.dtype.category < FLOATING:
            leaf = member._view.leaf  # type: ignore[union-attr]
            needs = base._spec.requires_grad or leaf or member._edge is not None
            if member._spec.requires_grad is not needs:
                mismatched = member._spec.mismatched or member._spec.dtype.category < FLOATING
                member._spec = member._spec.replace(requires_grad=needs, mismatched=mismatched)


def recorded_window(base: Tensor, part: ViewRegion, offsets: Sequence[int]) -> Edge:
    """The place of a window on a base: the operator is recorded, not computed."""
    edge = gradient_edge(base)
    spec = base._spec.fresh.replace(requires_grad=True, overrides=False, inference=False, dual=False)
    stand_in = wrap(value_of(base), spec, edge)
    with switched(grad=True, inference=False):
        result = replay(view_operators.content.as_strided, (stand_in, *offsets, None), part.settings, lambda: None)
    node = result._edge[0]
    if edge is None:
        node.next_edges = (None, *node.next_edges[1:])
    return result._edge


def remake(tensor: Tensor, view: View) -> None:
    """Give a view whose memory was written to since its place was made a place in the graph again.

    Raises:
        RuntimeError: it was created in a way that forbids this.
    """
    if view.creation is not None:
        raise RuntimeError(refusal(tensor, "its base or another view of its base has been"))
    edge = _window(view.base, tensor) if view.reinterpretation is None else _made_again(tensor, view.reinterpretation)
    if view.turn is not None and view.turn[1] == version_of(tensor):
        edge[0].sequence_nr = view.turn[0]
    rebase(tensor, edge)
    view.version, view.turn = version_of(tensor), None
    dtype = view.base._spec.dtype
    if view.reinterpretation is None and tensor._spec.dtype is not dtype:  # it was given data of another dtype
        tensor._spec = tensor._spec.replace(mismatched=True)


def _made_again(tensor: Tensor, made: Reinterpretation) -> Edge:
    """The place of a view that shows its base as other numbers. All steps from the base on are new, as in PyTorch."""
    steps = [(tensor, made)]
    while (view := made.origin._view) is not None and view.reinterpretation is not None:
        tensor, made = made.origin, view.reinterpretation
        steps.append((tensor, made))
    first = made.origin
    shown = _at(first, gradient_edge(first) if view is None else _window(view.base, first))
    for target, made in reversed(steps):
        shown = _shown(shown, made, target)
    assert shown._edge is not None
    return shown._edge


def _at(tensor: Tensor, edge: Edge | None) -> Tensor:
    """A tensor with another place in the graph, that tells where in memory the tensor lies."""
    spec = tensor._spec.fresh.replace(requires_grad=True, strides=tensor._spec.strides)
    stand_in = wrap(value_of(tensor), spec, edge)
    stand_in._offset, stand_in._view_bits = tensor._offset, tensor._view_bits
    return stand_in


def _window(base: Tensor, tensor: Tensor) -> Edge:
    """The place of a tensor that is a window on another one, which shows the same numbers."""
    part, *offsets = part_of(base, tensor)
    return recorded_window(base, part, offsets)


def _shown(origin: Tensor, made: Reinterpretation, target: Tensor) -> Tensor:
    """A view of what stands for its origin."""
    if made.op is None:
        return _at(target, _window(origin, target))
    with switched(grad=True):
        shown = made.op(origin, *made.numbers, **made.settings)
    shown._spec = shown._spec.replace(strides=target._spec.strides)
    shown._offset, shown._view_bits = target._offset, target._view_bits
    return shown


view_remaker.fill(remake)


# -- what is forbidden -------------------------------------------------------------------------------------------------


def refuse_view(tensor: Tensor) -> None:
    """Refuse to record a write through a view that was created in a way that forbids it.

    Raises:
        RuntimeError: PyTorch's messages.
    """
    if tensor._view is not None and tensor._view.creation is not None:
        raise RuntimeError(refusal(tensor, "is being"))


def refusal(tensor: Tensor, what: str) -> str:
    """PyTorch's message for a write that a view forbids; ``what`` says to whom it happens."""
    view, edge = tensor._view, tensor._edge
    assert view is not None and view.creation is not None
    how, advice = CREATION[view.creation]
    if edge is not None:
        origin = f"Output {edge[1]} of {function_of(edge[0])} is a view"
        if how is None:
            return f"{origin} and {what} modified inplace. {advice}"
        return f"{origin} of a view which was created in {how[0]} and {what} modified inplace {how[1]}. {advice}"
    mode, where = how or CREATION["no_grad"][0]  # type: ignore[misc]
    return f"A view was created in {mode} and {what} modified inplace {where}. {advice}"


def creation_of(origin: Tensor, creation: str | None) -> str | None:
    """The creation that a view counts as, of a tensor that may itself be a view."""
    inherited = None if origin._view is None else origin._view.creation
    if thread.modes.inference or inherited == "inference":
        return "inference"
    return (creation or inherited) if thread.modes.grad else "no_grad"

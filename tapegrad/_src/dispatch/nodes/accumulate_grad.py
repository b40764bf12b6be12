"""The ends of gradients: the accumulators of leaves, and the place in the graph that a tensor's gradient goes to."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.dispatch.nodes.gradient_check import checked
from tapegrad._src.doors import Door
from tapegrad._src.execution.array_functions.layouts import lay_out
from tapegrad._src.execution.array_functions.sums import add_into
from tapegrad._src.execution.data.values import is_ready, known_array
from tapegrad._src.execution.kernels.kernel import add_values
from tapegrad._src.tape.hooks import making
from tapegrad._src.tape.modes import alone, thread
from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, Edge, Node
from tapegrad._src.tensor.geometry import is_contiguous, is_dense, overlaps_itself
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, describe, donatable, edge_of, sharing_handle, value_of, wrap, write
from tapegrad.errors import SHOWN_TWICE, warn_once

_accumulating = threading.RLock()
"""Held while a gradient is added to a leaf's ``.grad``: several threads may run backward to the same leaves."""


sparse_accumulator: Door[Callable[[Tensor, Any], bool]] = Door("sparse_accumulator", filled_by="sparse/embedding.py")
"""Adds a gradient to a leaf's ``.grad`` if one of them is sparse, and says whether that is so."""

UNSHARED = 5
"""The most references to a gradient that has become a ``.grad`` and that nobody else has.

PyTorch keeps such a gradient as it is, so that the accumulator's post-hooks, which are given it, see the memory of the
``.grad``; what the user gave, or another leaf gets too, it copies."""


class WorkerOfDevice:
    """``node.worker`` of nodes that know of what kind the gradients are which they take: where the first of them lies.

    None for the CPU, whose nodes run on the thread that calls backward.
    """

    def __get__(self, node: Any, owner: type | None = None) -> Any:
        if node is None:
            return self
        where = next((spec.device for spec in node._input_metadata if spec is not None), None)
        return None if where is None or where.type == "cpu" else where


class AccumulateGrad(Node):
    """The end of the tape: adds what arrives to the ``.grad`` of a leaf. There is at most one for each leaf."""

    __slots__ = ("variable",)
    next_edges: tuple = ()
    worker: Any = WorkerOfDevice()

    def __init__(self, variable: Tensor) -> None:
        self.variable = variable
        self.sequence_nr = HIGHEST_SEQUENCE_NR

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        (grad,), variable = grads, self.variable
        if grad is not None and self._is_leaf():
            with _accumulating:
                present = variable._grad
                if sparse_accumulator.is_filled and sparse_accumulator.content(variable, grad):
                    pass
                elif present is None:
                    spec = variable._spec.gradient
                    variable._grad = wrap(lay_out(grad, spec.device) if spec.device.sharded else grad, spec)
                    if self.hook_slots is not None and self.hook_slots.post and self._is_unshared(grad):
                        grads[0] = sharing_handle(variable._grad, None)  # which its post-hooks see
                else:
                    write(present, added(present, grad))
                    if present._spec.strides != variable._spec.strides:
                        warn_of_strides(present, variable)
        if self.hook_slots is not None:
            self._post_accumulate()
        return ()

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        grad, variable = grads[0], self.variable
        if grad is not None and self._is_leaf():
            with _accumulating:
                present = variable._grad
                if sparse_accumulator.is_filled and sparse_accumulator.content(variable, grad):
                    present = None
                elif present is None:
                    is_shown = not thread.modes.grad and (thread.modes.intercepted or grad._spec.overrides)
                    variable._grad = shown_kept(grad, variable) if is_shown else separate(grad, variable)
                elif not thread.modes.grad and (thread.modes.intercepted or grad._spec.overrides):
                    present.add_(grad)
                elif thread.modes.grad or thread.modes.forward_level < 0:
                    variable._grad = present + grad
                else:  # not recorded: these are tensors for the sake of their tangents
                    present.add_(grad)
                result = variable._grad
                if present is not None and result is not None and result._spec.strides != variable._spec.strides:
                    warn_of_strides(result, variable)
        if self.hook_slots is not None:
            self._post_accumulate()
        return ()

    def _is_unshared(self, grad: Any) -> bool:
        """Tell whether this gradient, which has become the ``.grad``, came from a node, and for this leaf alone."""
        computed = is_ready(grad) or known_array(grad) is not grad
        return sys.getrefcount(grad) - (not computed) <= UNSHARED  # a program holds what it computes

    def _is_leaf(self) -> bool:
        """Tell whether the leaf still requires grad.

        Raises:
            RuntimeError: it is no leaf any more; it was detached, and written to.
        """
        variable = self.variable
        if (variable._edge if variable._view is None else edge_of(variable)) is not None:
            raise RuntimeError("leaf variable has been moved into the graph interior")
        return variable._spec.requires_grad

    def _post_accumulate(self) -> None:
        """Hooks of the leaf, which see its new ``.grad``; what one returns the next are given, but it is an error."""
        given, replaced = self.variable, False
        for hook in [hook for hooks in self.own_hooks().post_accumulate for hook in hooks.values()]:
            returned = hook(given)
            if returned is not None:
                given, replaced = checked(given, returned, hook), replaced or returned is not given
        if replaced:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")

    @property
    def _input_metadata(self) -> tuple[Spec, ...]:
        return (self.variable._spec,)

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"


def warn_of_strides(grad: Tensor, leaf: Tensor) -> None:
    """Warn, once, of a ``.grad`` whose elements don't lie as those of its leaf do; row-major, if that has gaps."""
    shape, strides, own = tuple(grad.shape), grad._spec.layout, leaf._spec.layout
    if is_dense(leaf.shape, own):
        dimensions = zip(shape, strides, own, strict=True)
        lies = all(step == other if length != 1 else step for length, step, other in dimensions)
    else:
        lies = is_contiguous(shape, strides)
    if not lies:
        told = [f"sizes() = {list(one.shape)}, strides() = {list(one._spec.layout)}" for one in (grad, leaf)]
        warn_once(
            "grad and param do not obey the gradient layout contract. This is not an error, but may impair "
            f"performance.\ngrad.{told[0]}\nparam.{told[1]}", about="strides of gradients",
        )  # fmt: skip


class AccumulateMismatch(AccumulateGrad):
    """Accumulates into a leaf that was given data of another shape or dtype since: it takes what fitted then.

    Attributes:
        taken: the spec of the gradients that it takes.
    """

    __slots__ = ()
    taken: Spec

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        return self.apply([None if grads[0] is None else wrap(grads[0], self.taken.gradient)], needed)

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        grad, variable = grads[0], self.variable
        if grad is not None and self._is_leaf():
            with _accumulating:
                if variable._grad is not None:
                    variable._grad = variable._grad + grad if thread.modes.grad else variable._grad.add_(grad)
                elif _lies_like(grad, variable):
                    variable._grad = wrap(value_of(grad), grad._spec, grad._edge)
                else:
                    variable._grad = grad.new_empty(tuple(variable.shape)).copy_(grad)
        if self.hook_slots is not None:
            self._post_accumulate()
        return ()

    @property
    def _input_metadata(self) -> tuple[Spec, ...]:
        return (self.taken,)


class AccumulateCast(AccumulateGrad):
    """Accumulates into a leaf whose gradients may have another dtype than it has: ``Tensor.grad_dtype``.

    A hook of the leaf casts them before they come here, and before others see them.
    """

    __slots__ = ()

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        return self.apply([None if grads[0] is None else wrap(grads[0], describe(grads[0]))], needed)

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        grad, variable = grads[0], self.variable
        if grad is not None and self._is_leaf():
            with _accumulating:
                if variable._grad is None:
                    variable._grad = separate(grad, variable)
                elif thread.modes.grad:
                    variable._grad = variable._grad + grad
                else:
                    variable._grad.add_(grad)
        if self.hook_slots is not None:
            self._post_accumulate()
        return ()

    @property
    def _input_metadata(self) -> tuple[Spec, ...]:
        spec, kept = self.variable._spec, self.variable._grad_dtype
        return (spec.replace(dtype=kept) if kept else spec,)


def takes_any_dtype(edge: Edge | None) -> bool:
    """Tell whether an edge leads to a leaf whose ``grad_dtype`` is None."""
    return edge is not None and type(edge[0]) is AccumulateCast and edge[0].variable._grad_dtype is None


def _lies_like(grad: Tensor, variable: Tensor) -> bool:
    """Tell whether a gradient is kept as it is: its elements lie as those of the leaf do, as far as there are as many.

    Of a leaf that does not fill its memory there is nothing to follow.
    """
    if not is_dense(variable.shape, variable._spec.layout):
        return True
    if grad.ndim > variable.ndim:
        return False
    steps = zip(grad.shape, grad._spec.layout, variable._spec.layout, strict=False)  # as far as there are dimensions
    return all(length == 1 or own == step for length, own, step in steps)


def refit(tensor: Tensor, spec: Spec) -> bool:
    """Tell whether data of this spec would not be what a tensor's place in the graph takes gradients of.

    The accumulator of a leaf goes on to take what it took.
    """
    edge = tensor._edge
    if edge is not None:
        metadata = getattr(edge[0], "_input_metadata", ())
        taken = metadata[edge[1]] if edge[1] < len(metadata) else None
        return taken is not None and taken.bare is not spec.bare
    node: Any = None if tensor._accumulator is None else tensor._accumulator()
    if node is None or node._input_metadata[0].bare is spec.bare:
        return False
    if not isinstance(node, AccumulateMismatch):
        node.__class__ = AccumulateMismatch
        node.taken = tensor._spec
    if node.taken.dtype is spec.dtype and node.taken.device.free is spec.device.free:
        return True
    tensor._accumulator = None
    return False


def added(present: Tensor, grad: Any) -> Any:
    """A ``.grad`` and a gradient, put where the ``.grad`` lies if nobody can tell. See Note [Sums in place].

    Raises:
        RuntimeError: it shows one place of its memory several times.
    """
    storage, spec = present._storage, present._spec
    if spec.strides is not None and overlaps_itself(spec.shape, spec.strides):
        raise RuntimeError(SHOWN_TWICE)
    if storage is None or not storage.written or spec.window or spec.level:
        return add_values(value_of(present), grad)
    if present._value is not None and alone():  # it is not read any more, but it would count
        present._value = None
    holder = donatable(storage)
    return add_values(storage.value, grad) if holder is None else add_into(storage.value, grad, holder)


def separate(grad: Any, of: Tensor) -> Tensor:
    """A gradient of a tensor as one that can be written to without changing what others hold; laid out like it."""
    strides = of._spec.gradient.strides
    if grad._spec.requires_grad and strides == of._spec.strides:
        own = grad.new_empty(tuple(grad.shape))
        own._spec = own._spec.replace(strides=strides)
        return own.copy_(grad)
    if grad._spec.requires_grad or grad._spec.dual:
        return grad.clone()
    return wrap(value_of(grad), grad._spec.bare.replace(strides=strides, inference=thread.modes.inference))


def shown_kept(grad: Any, of: Tensor) -> Tensor:
    """``separate`` of a gradient where somebody is shown what is done: detached, or a copy if it lies otherwise."""
    if grad._spec.strides == of._spec.gradient.strides:
        return grad.detach()
    return grad.clone()


def leaf_edge(tensor: Tensor) -> Edge | None:
    """The edge to the accumulator of a leaf that requires grad; the accumulator is made when first asked for.

    A view that nothing recorded requires grad because its base does: it has no accumulator, unless the user said so.
    """
    reference = tensor._accumulator
    node = None if reference is None else reference()
    if node is not None:
        return (node, 0)
    return None if tensor._view is not None and not tensor._view.leaf else (_new_accumulator(tensor), 0)


def _new_accumulator(tensor: Tensor) -> Node:
    with making:
        node = None if tensor._accumulator is None else tensor._accumulator()
        if node is not None:
            return node
        node = AccumulateGrad(tensor)
        if tensor._leaf_hooks is not None:
            share_leaf_hooks(tensor, node)
        tensor._accumulator = weakref.ref(node)
    if thread.modes.watched:
        node_made(node)
    return node


def share_leaf_hooks(tensor: Tensor, node: Node) -> None:
    """Let the accumulator of a leaf run the leaf's hooks. Its own hooks stay its own, and die with it."""
    own, hooks = node.own_hooks(), tensor._leaf_hooks
    assert hooks is not None
    if tensor._grad_dtype is not False:
        node.__class__ = AccumulateCast
    own.tensor_pre, own.post_accumulate = hooks.tensor_pre, hooks.post_accumulate


def rebase(tensor: Tensor, edge: Edge | None) -> None:
    """Give a tensor that was written to its new place in the graph.

    Its hooks stay with the node of the version that they were registered on; ``retain_grad`` follows the tensor.
    """
    before, tensor._edge, tensor._hooks = tensor._edge, edge, None
    if tensor._retains and before is not None and edge is not None:
        output_nr, hooks = before[1], before[0].hook_slots
        if hooks is not None and hooks.retain and output_nr in hooks.retain:
            edge[0].own_hooks().keep(edge[1], hooks.retain.pop(output_nr))


def node_made(node: Node) -> None:
    """Tell this thread's watchers of a new node. See Note [Watchers] in ``tape/modes.py``."""
    for watcher in thread.node_watchers:
        watcher(node)


def gradient_edge(tensor: Tensor) -> Edge | None:
    """The edge that the gradient of a tensor goes along; None if it doesn't require one."""
    edge = tensor._edge if tensor._view is None else edge_of(tensor)
    return leaf_edge(tensor) if edge is None and tensor._spec.requires_grad else edge

"""The nodes that know tensors: of operators, of leaves, and of errors that wait for backward.

Note [Saved outputs and reference cycles]
A node that saves its own output must not own a tensor that owns the node. It keeps the output's value only; the tensor
is made again, with this node as its ``grad_fn``, when somebody asks.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tapegrad.dispatch.replacing import checked
from tapegrad.dispatch.saved import (
    DETACHED,
    FREED,
    NOTHING,
    SavedTensor,
    Saves,
    check_version,
    modified_output,
    output_handle,
    second_backward,
    was_written,
)
from tapegrad.execution.dtypes import FLOATING
from tapegrad.execution.kernel import add_values
from tapegrad.execution.sums import add_into
from tapegrad.tape.hooks import making
from tapegrad.tape.modes import alone, thread
from tapegrad.tape.node import HIGHEST_SEQUENCE_NR, Edge, Node, check_call, name_of, next_sequence_nr
from tapegrad.tape.positions import Position
from tapegrad.tensor.spec import Spec
from tapegrad.tensor.tensor import Tensor, describe, donatable, edge_of, value_of, version_of, wrap, write

if TYPE_CHECKING:
    from tapegrad.dispatch.plan import Plan


_accumulating = threading.RLock()
"""Held while a gradient is added to a leaf's ``.grad``: several threads may run backward to the same leaves."""


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
                if present is None:
                    variable._grad = wrap(grad, variable._spec.gradient)
                else:
                    write(present, added(present, grad))
        if self.hook_slots is not None:
            self._post_accumulate()
        return ()

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        grad, variable = grads[0], self.variable
        if grad is not None and self._is_leaf():
            with _accumulating:
                present = variable._grad
                if present is None:
                    variable._grad = separate(grad, variable)
                elif thread.modes.grad or thread.modes.forward_level < 0:
                    variable._grad = present + grad
                else:  # not recorded: these are tensors for the sake of their tangents
                    present.add_(grad)
        if self.hook_slots is not None:
            self._post_accumulate()
        return ()

    def _is_leaf(self) -> bool:
        """Whether the leaf still requires grad.

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


class AccumulateMisfit(AccumulateGrad):
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


def _lies_like(grad: Tensor, variable: Tensor) -> bool:
    """Whether a gradient is kept as it is: its elements lie as those of the leaf do, as far as there are as many."""
    if grad.ndim != variable.ndim:
        return False
    steps = zip(grad.shape, grad._spec.layout, variable._spec.layout, strict=True)
    return all(length == 1 or own == step for length, own, step in steps)


def refit(tensor: Tensor, spec: Spec) -> bool:
    """Whether data of this spec would not be what a tensor's place in the graph takes gradients of.

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
    if not isinstance(node, AccumulateMisfit):
        node.__class__ = AccumulateMisfit
        node.taken = tensor._spec
    if node.taken.dtype is spec.dtype and node.taken.device is spec.device:
        return True
    tensor._accumulator = None
    return False


def added(present: Tensor, grad: Any) -> Any:
    """A ``.grad`` and a gradient, put where the ``.grad`` lies if nobody can tell. See Note [Sums in place]."""
    storage = present._storage
    if storage is None or not storage.live or present._spec.window or present._spec.level:
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
    """Where the gradient of a tensor goes; None if it doesn't require one."""
    edge = edge_of(tensor)
    return leaf_edge(tensor) if edge is None and tensor._spec.requires_grad else edge


below: list[Callable] = []
"""How the formulas of a plan for lifted arguments are run; ``dispatch/levels.py`` puts it here."""


class SavedMisfit(RuntimeError):
    """What a node saved has another shape or dtype by now, so that its kernel can't be run on it."""


class OperatorNode(Node):
    """The backward of one call of an operator of the table. A subclass for each operator carries its name."""

    __slots__ = ("plan", "saved", "versions")

    worker: Any = WorkerOfDevice()
    plan: Plan
    saved: tuple | Saves | Position | None
    versions: tuple[int, ...]
    """Those at which inputs were saved; there only if one of them had been written to before."""
    _numbers: dict[int, Any]

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        saved, plan = self.saved, self.plan
        try:
            if type(saved) is tuple and (needed is None or plan.wanted(needed) == plan.needed):
                return plan.applier(self, grads, saved)
            return self.apply_some(grads, needed)
        except SavedMisfit:
            return self._apply_unpacked(grads, needed)

    def apply_some(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """``apply_values`` in any case, also where not all gradients are there or wanted."""
        plan = self.plan
        if type(self.saved) is not tuple:
            return self._apply_unpacked(grads, needed)
        values = self.saved_values()  # even where no gradient is defined: what was freed may not be used
        defined = tuple(grad is not None for grad in grads)
        if not any(defined):
            return (None,) * len(plan.needed)
        given = [grad for grad in grads if grad is not None]
        return plan.backward(plan.wanted(needed), defined)(*given, *values)

    def saved_values(self) -> list:
        """The values saved for backward, after checking that none was written since."""
        saved = self.saved
        if type(saved) is not tuple:
            raise RuntimeError(second_backward(saved))
        if self.output_storages is not None and not self.plan.modes.surviving:
            self._check_outputs()
            saved = self._as_they_are(saved)
        values = []
        for item, spec in zip(saved, self.plan.saved_specs):  # noqa: B905 - same length by construction, hot
            if spec is None:
                values.append(item)
            elif spec.plain and item._spec is spec:
                values.append(item._value)
            else:
                values.append(self._checked_value(item, len(values)))
        return values

    def _apply_unpacked(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """``apply_values`` where what was saved comes through hooks, which may give another shape or dtype than was."""
        if self._leads_nowhere():
            return (None,) * len(self.plan.needed)
        plan, items = self.plan, self.saved_tensors()
        defined = tuple(grad is not None for grad in grads)
        if not any(defined):
            return (None,) * len(plan.needed)
        if self._fit(items):
            values = [value_of(item) if isinstance(item, Tensor) else item for item in items]
            given = [grad for grad in grads if grad is not None]
            return plan.backward(plan.wanted(needed), defined)(*given, *values)
        tensors = [None if grad is None else wrap(grad, describe(grad)) for grad in grads]
        results = fitted_edges(self, plan.gradients(tensors, items, plan.wanted(needed)))
        return [None if result is None else value_of(result) for result in results]

    def _fit(self, items: list) -> bool:
        """Whether the items are what the backward kernel was made for."""
        plan = self.plan
        specs = [plan.specs[i] for i in plan.saved_inputs] + [plan.out_specs[i] for i in plan.saved_outputs]
        return all(
            isinstance(spec, Spec) and item._spec.bare is spec.bare
            for item, spec in zip(items, specs, strict=True)
            if isinstance(item, Tensor)
        )

    def _checked_value(self, tensor: Tensor, index: int) -> Any:
        spec = self.plan.saved_specs[index]
        if tensor._spec is not spec and spec.requires_grad and tensor._edge is None and not self._was_leaf(index):
            raise RuntimeError(DETACHED)
        expected = self._version_of(index)
        if version_of(tensor) != expected and self._is_read(index):
            check_version(tensor, expected, self)
        if tensor._spec.shape != spec.shape or tensor._spec.dtype is not spec.dtype:
            raise SavedMisfit(f"what {self.name()} saved was given data of another shape or dtype")
        return value_of(tensor)

    def _is_read(self, index: int) -> bool:
        """Whether a saved input is needed; PyTorch saves none for the gradient of one other input that goes nowhere.

        So it is of views that nothing recorded: they require grad, and have no place in the graph.
        """
        plan = self.plan
        if index >= len(plan.saved_inputs) or len(plan.positions) < 2:
            return True
        place = plan.saved_inputs[index]
        ends = zip(plan.positions, self.next_edges, strict=True)
        readers = [edge for position, edge in ends if ("input", place) in plan.sources.get(position, ())]
        return len(readers) != 1 or readers[0] is not None

    def _version_of(self, index: int) -> int:
        """The version at which a saved tensor was saved; outputs are new then."""
        versions = getattr(self, "versions", ())
        return versions[index] if index < len(versions) else 0

    def _was_leaf(self, index: int) -> bool:
        """Whether a saved tensor was a leaf, as far as the edges tell."""
        edge = self._edge_of(index)
        return edge is None or isinstance(edge[0], AccumulateGrad)

    def _edge_of(self, index: int) -> Edge | None:
        """Where the gradient of a saved input goes."""
        plan = self.plan
        position = plan.saved_inputs[index] if index < len(plan.saved_inputs) else None
        return self.next_edges[plan.positions.index(position)] if position in plan.positions else None

    def _check_outputs(self) -> None:
        """Refuse to go on if an output that was saved has been written to since."""
        for position in self.plan.saved_outputs:
            if was_written(self, position):
                raise RuntimeError(modified_output(self.plan.out_specs[position], self, position))

    def _as_they_are(self, saved: tuple) -> tuple:
        """What was saved, with the outputs as uncounted writes have left them."""
        plan, storages = self.plan, self.output_storages or {}
        first = len(plan.saved_inputs)
        outputs = [
            storages[position].now(value) if position in storages and not isinstance(value, Tensor) else value
            for position, value in zip(plan.saved_outputs, saved[first:], strict=True)
        ]
        return (*saved[:first], *outputs)

    def _leads_nowhere(self) -> bool:
        """Whether no gradient goes on from here: of views that nothing recorded.

        PyTorch saves nothing for it where an operator has several inputs, of which it asks each whether it is needed.
        """
        return len(self.plan.op.formulas) > 1 and not any(self.next_edges)

    def saved_tensors(self) -> list:
        """What was saved, as the formulas see it on tensors: inputs as they are, outputs with this node as grad_fn."""
        saved = self.saved
        if not isinstance(saved, (tuple, list)):
            raise RuntimeError(second_backward(saved))
        if isinstance(saved, Saves):
            return [item.unpack(self, strict=True) if isinstance(item, SavedTensor) else item for item in saved]
        with contextlib.suppress(SavedMisfit):
            self.saved_values()  # checks versions
        inputs = len(self.plan.saved_inputs)
        return [*saved[:inputs], *(self.saved_item(index) for index in range(inputs, len(saved)))]

    def saved_item(self, index: int) -> Any:
        """One of the items that were saved, as the user sees it."""
        saved = self.saved
        if not isinstance(saved, (tuple, list)):
            if index in self.plan.saved_numbers:
                return self._numbers[index]
            raise RuntimeError(second_backward(saved))
        item, inputs = saved[index], len(self.plan.saved_inputs)
        if isinstance(item, SavedTensor):
            return item.unpack(self)
        if isinstance(item, Tensor):
            check_version(item, self._version_of(index), self)
        elif index >= inputs:
            position = self.plan.saved_outputs[index - inputs]
            survives = self.plan.modes.surviving
            return output_handle(self, position, item, self.plan.out_specs[position], survives=survives)
        return item

    def raw_saved_item(self, index: int) -> Any:
        """One of the items that were saved, as a ``SavedTensor``, which the node keeps it as from here on."""
        saved = self.saved
        if not isinstance(saved, (tuple, list)):
            return SavedTensor.empty(FREED)
        if not isinstance(saved, Saves):
            saved = self.saved = Saves(self._as_saved(item, index) for index, item in enumerate(saved))
        return saved[index]

    def _as_saved(self, item: Any, index: int) -> Any:
        """An item of the tuple as a ``SavedTensor``; numbers that are no tensors to the user stay what they are."""
        plan, inputs = self.plan, len(self.plan.saved_inputs)
        item = plan.op.wrapped(item)
        if isinstance(item, Tensor):
            edge = self._edge_of(index) or gradient_edge(item)
            leaf = edge is None or isinstance(edge[0], AccumulateGrad)
            return SavedTensor.of_input(item, edge, self._version_of(index), leaf)
        if index >= inputs:
            position = plan.saved_outputs[index - inputs]
            return SavedTensor.of_output(item, plan.out_specs[position], position, plan.modes.surviving)
        return SavedTensor.empty(NOTHING) if item is None else item

    def save(self, inputs: tuple, outputs: tuple) -> None:
        """Keep inputs and outputs for backward as ``SavedTensor`` objects."""
        self.save_inputs(inputs)
        self.save_outputs(outputs)

    def save_inputs(self, inputs: tuple) -> None:
        """Keep inputs for backward with the hooks that are in force; called where there are some, before the kernel."""
        self.own_hooks()  # an unpack hook may register the node's first hook while it runs
        self.saved = Saves([SavedTensor.of(x, gradient_edge(x)) if isinstance(x, Tensor) else x for x in inputs])

    def save_outputs(self, outputs: tuple) -> None:
        """Keep outputs too; called after ``save_inputs``, when there are outputs."""
        self.saved.extend(SavedTensor.of(out, None, is_output=True) for out in outputs)  # type: ignore[union-attr]

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        plan = self.plan
        if self._leads_nowhere():
            return (None,) * len(plan.needed)
        saved = self.saved_tensors() if plan.saved_specs else []
        if all(grad is None for grad in grads):
            return (None,) * len(plan.needed)
        if plan.level or thread.modes.level:
            return below[0](plan, grads, saved, plan.wanted(needed))
        return plan.gradients(grads, saved, plan.wanted(needed))

    def release_variables(self) -> None:
        plan = self.plan
        if plan.releases:
            saved, self.saved = self.saved, thread.backward_call
            if type(saved) is Saves or plan.saved_numbers:
                self._let_go(saved)

    def _let_go(self, saved: Any) -> None:
        """Free what was saved, but for plain numbers."""
        if isinstance(saved, (tuple, list)):
            self._numbers = {index: saved[index] for index in self.plan.saved_numbers}
        if type(saved) is Saves:
            saved.release()

    def name(self) -> str:
        return self.plan.op.node

    @property
    def _input_metadata(self) -> tuple[Spec, ...]:
        return self.plan.out_specs[: self.input_slots]

    def __dir__(self) -> list[str]:
        op = self.plan.op
        raw = (f"_raw_saved_{field}" for field in op.saved_tensor_fields(self))
        hidden = ("_saved_", "_raw_saved_", "versions")  # of these a node has some only
        others = (name for name in super().__dir__() if not name.startswith(hidden))
        return [*others, *(f"_saved_{field}" for field in op.saved_fields()), *raw]


fitters: list[Callable] = []
"""How a gradient is made to fit its edge, or refused; ``autograd/function_node.py`` puts it here."""


def fitted_edges(node: Node, grads: Sequence) -> list:
    """The gradients that a node gives, as tensors, made to fit what its edges take."""
    results = list(grads)
    for index, edge in enumerate(node.next_edges):
        metadata = () if edge is None else getattr(edge[0], "_input_metadata", ())
        if results[index] is not None and edge is not None and edge[1] < len(metadata):
            results[index] = fitters[0](node, results[index], metadata[edge[1]], index)
    return results


def refuse_integers(node: Node, needed: tuple[bool, ...] | None) -> None:
    """Refuse to hand a gradient on to an integer tensor. See Note [Written integers] in ``ops/assignment.py``.

    Raises:
        RuntimeError: a gradient goes to one.
    """
    for index, edge in enumerate(node.next_edges):
        if edge is None or (needed is not None and not needed[index]):
            continue
        metadata = getattr(edge[0], "_input_metadata", ())
        spec = metadata[edge[1]] if edge[1] < len(metadata) else None
        if spec is not None and spec.dtype.category < FLOATING:
            raise RuntimeError(
                f"Function {name_of(node)} has a gradient at index {index} for a tensor of {spec.dtype}, into which a "
                "value that requires grad was written: integers have no gradients"
            )


@cache
def fitting(node_class: type) -> type:
    """The class of nodes like these whose gradients are made to fit, for inputs that are misfits: see ``Spec``."""

    def apply_values(node: Any, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        refuse_integers(node, needed)
        results = node_class.apply_values(node, grads, needed)  # type: ignore[attr-defined]
        tensors = [None if result is None else wrap(result, describe(result)) for result in results]
        return [None if result is None else value_of(result) for result in fitted_edges(node, tensors)]

    def apply(node: Any, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        refuse_integers(node, needed)
        return fitted_edges(node, node_class.apply(node, grads, needed))  # type: ignore[attr-defined]

    own = {"__slots__": (), "__module__": "builtins", "apply": apply, "apply_values": apply_values}
    own["unfitted"] = node_class
    return type(node_class.__name__, (node_class,), own)


class UnderivableNode(OperatorNode):
    """Of an operator that has no derivative: raises when backward reaches it, before other nodes run."""

    __slots__ = ()

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        raise RuntimeError(f"derivative for {self.plan.op.underivable} is not implemented")

    apply = apply_values


def saved_properties(op: Any) -> dict[str, Any]:
    """What the nodes of an operator show of what they saved, by PyTorch's names.

    These are properties of the class, for a class that has ``__getattr__`` pays for it at every attribute of its nodes.
    """
    fields = op.readable_fields()
    shown = {f"_saved_{field}": property(partial(_read_saved, field)) for field in fields}
    return shown | {f"_raw_saved_{field}": property(partial(_read_raw_saved, field)) for field in fields}


def _read_saved(field: str, node: OperatorNode) -> Any:
    return node.plan.op.read_saved(node, field)


def _read_raw_saved(field: str, node: OperatorNode) -> Any:
    return node.plan.op.read_raw_saved(node, field)


class Error(Node):
    """A node that raises when backward reaches it."""

    __slots__ = ("message",)

    def __init__(self, message: str, next_edges: Sequence[Edge | None], input_slots: int = 1) -> None:
        self.message = message
        self.next_edges = tuple(next_edges)
        self.sequence_nr = HIGHEST_SEQUENCE_NR
        self.input_slots = input_slots

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        raise RuntimeError(self.message)

    apply = apply_values

    def name(self) -> str:
        return "torch::autograd::Error"


class IdentityNode(Node):
    """A function of tensors that gives them back unchanged, with a node of its own kind between."""

    __slots__ = ()
    next_edges: tuple = ()

    def node_for(self, edges: list[Edge | None]) -> Node:
        """The node that the results get, if any gradient may be wanted."""
        raise NotImplementedError

    def __call__(self, *tensors: Any, **keywords: Any) -> Any:
        check_call(self, tensors, keywords)
        edges = [None if tensor is None else gradient_edge(tensor) for tensor in tensors]
        node = self.node_for(edges) if thread.modes.grad and any(edges) else None
        if node is not None and thread.modes.watched:
            node_made(node)
        results = tuple(
            None if tensor is None
            else wrap(value_of(tensor), tensor._spec.bare.replace(requires_grad=node is not None),
                      None if node is None else (node, position))
            for position, tensor in enumerate(tensors)
        )  # fmt: skip
        return results[0] if len(results) == 1 else results


class DelayedError(IdentityNode):
    """A function of tensors that gives them back unchanged; differentiating through the results raises.

    >>> import tapegrad as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = DelayedError("not today", 1)(x)
    >>> y.grad_fn.name()
    'torch::autograd::Error'
    """

    __slots__ = ("message",)

    def __init__(self, *arguments: Any) -> None:
        if len(arguments) != 2:
            raise RuntimeError(f"Requires two arguments, got {len(arguments)}")
        self.message, self.input_slots = arguments
        self.sequence_nr = next_sequence_nr()

    def node_for(self, edges: list[Edge | None]) -> Node:
        return Error(self.message, edges, len(edges))

    def name(self) -> str:
        return "torch::autograd::DelayedError"


class UndefinedGrad(IdentityNode):
    """A function that gives a tensor back unchanged; in backward the gradient ends there, undefined.

    >>> import tapegrad as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> (UndefinedGrad()(x * 1) + x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    __slots__ = ()

    def __init__(self, *arguments: Any) -> None:
        if arguments:
            raise RuntimeError(f"Requires zero arguments, got {len(arguments)}")
        self.sequence_nr = next_sequence_nr()

    def node_for(self, edges: list[Edge | None]) -> Node:
        return UndefinedGradBackward(edges)

    def name(self) -> str:
        return "torch::autograd::UndefinedGrad"


class UndefinedGradBackward(Node):
    """Takes a gradient and gives none."""

    __slots__ = ()

    def __init__(self, next_edges: Sequence[Edge | None]) -> None:
        self.next_edges = tuple(next_edges)
        self.sequence_nr = next_sequence_nr()

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        return (None,) * len(self.next_edges)

    apply = apply_values

    def name(self) -> str:
        return "torch::autograd::UndefinedGradBackward"

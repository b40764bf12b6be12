"""The nodes of operators: what the backward of one call reads, checks, and runs.

Note [Saved outputs and reference cycles]
A node that saves its own output must not own a tensor that owns the node. It keeps the output's value only; the tensor
is made again, with this node as its ``grad_fn``, when somebody asks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from tapegrad._src.dispatch.function_levels import gradients_below
from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad, WorkerOfDevice, gradient_edge
from tapegrad._src.dispatch.nodes.constant_gradients import with_history, with_history_below
from tapegrad._src.dispatch.nodes.gradient_check import fitted_edges, fitting
from tapegrad._src.dispatch.nodes.packing import EverythingSavedError
from tapegrad._src.dispatch.nodes.saved_tensor import (
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
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import Edge, Node
from tapegrad._src.tape.positions import Position
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, describe, value_of, version_of, wrap


class SavedMismatch(RuntimeError):
    """Something saved that has another shape or dtype by now, so that the node's kernel can't be run on it."""


class OperatorNode(Node):
    """The backward of one call of an operator of the table. A subclass for each operator carries its name."""

    __slots__ = ("plan", "saved", "versions")

    worker: Any = WorkerOfDevice()
    plan: Plan
    saved: tuple | Saves | Position | None
    versions: tuple[int, ...]
    """Those at which inputs were saved; there only if one of them had been written to before."""
    inputs: tuple
    """The inputs that can be differentiated, of a lifted call whose gradients have a history to them all the same."""
    _numbers: dict[int, Any]

    @property
    def turns(self) -> list[int] | None:
        """The positions of edges in the order in which their leaves have their turns. See Note [Turns]."""
        plan = self.plan
        declared = plan.op.turns
        names = declared(*plan.specs) if callable(declared) else declared
        if not names:
            return None
        inputs = plan.op.inputs
        order = [inputs.index(name) if isinstance(name, str) else name for name in names]
        declared = [plan.positions.index(position) for position in order if position in plan.positions]
        return [*declared, *(edge for edge in range(len(plan.positions)) if edge not in declared)]

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        saved, plan = self.saved, self.plan
        try:
            if type(saved) is tuple and (needed is None or plan.wanted(needed) == plan.needed):
                return plan.late.applier(self, grads, saved)
            return self.apply_some(grads, needed)
        except SavedMismatch:
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
        plan, items = self.plan, self.saved_items()
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
        """Tell whether the items are what the backward kernel was made for."""
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
            raise SavedMismatch(f"what {self.name()} saved was given data of another shape or dtype")
        return value_of(tensor)

    def _is_read(self, index: int) -> bool:
        """Tell whether a saved input is needed; PyTorch saves none for the gradient of one other input that goes
        nowhere.

        So it is of views that nothing recorded: they require grad, and have no place in the graph.
        """
        plan = self.plan
        if index >= len(plan.saved_inputs) or len(plan.positions) < 2:
            return True
        saved = plan.saved_inputs[index]
        ends = zip(plan.positions, self.next_edges, strict=True)
        readers = [edge for position, edge in ends if ("input", saved) in plan.sources.get(position, ())]
        return len(readers) != 1 or readers[0] is not None

    def _version_of(self, index: int) -> int:
        """The version at which a saved tensor was saved; outputs are new then."""
        versions = getattr(self, "versions", ())
        return versions[index] if index < len(versions) else 0

    def _was_leaf(self, index: int) -> bool:
        """Tell whether a saved tensor was a leaf, as far as the edges tell."""
        edge = self._edge_of(index)
        return edge is None or isinstance(edge[0], AccumulateGrad)

    def _edge_of(self, index: int) -> Edge | None:
        """The edge that the gradient of a saved input goes along."""
        plan = self.plan
        position = plan.saved_inputs[index] if index < len(plan.saved_inputs) else None
        return self.next_edges[plan.positions.index(position)] if position in plan.positions else None

    def _check_outputs(self) -> None:
        """Refuse to go on if an output that was saved has been written to since."""
        for position in self.plan.saved_outputs:
            if was_written(self, position):
                raise RuntimeError(modified_output(self.plan.out_specs[position], self, position))

    def _as_they_are(self, saved: tuple) -> tuple:
        """The saved items, with the outputs as uncounted writes have left them."""
        plan, storages = self.plan, self.output_storages or {}
        first = len(plan.saved_inputs)
        outputs = [
            storages[position].now(value) if position in storages and not isinstance(value, Tensor) else value
            for position, value in zip(plan.saved_outputs, saved[first:], strict=True)
        ]
        return (*saved[:first], *outputs)

    def _leads_nowhere(self) -> bool:
        """Tell whether no gradient goes on from here: of views that nothing recorded.

        PyTorch saves nothing for it where an operator has several inputs, of which it asks each whether it is needed.
        """
        return len(self.plan.op.formulas) > 1 and not any(self.next_edges)

    def saved_items(self) -> list:
        """The saved tensors, as the formulas see them: inputs as they are, outputs with this node as grad_fn."""
        saved = self.saved
        if not isinstance(saved, (tuple, list)):
            raise RuntimeError(second_backward(saved))
        if isinstance(saved, Saves):
            return [item.unpack(self, strict=True) if isinstance(item, SavedTensor) else item for item in saved]
        with contextlib.suppress(SavedMismatch):
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
        writing = thread.writing
        if writing is not None:
            writing.pack()
        try:
            self.saved = Saves([SavedTensor.of(x, gradient_edge(x)) if isinstance(x, Tensor) else x for x in inputs])
        except EverythingSavedError as error:
            if writing is None or not writing.saves_results:
                raise
            self.saved, writing.error = Saves(), error

    def save_outputs(self, outputs: tuple) -> None:
        """Keep outputs too; called after ``save_inputs``, when there are outputs."""
        if thread.writing is None:
            self.pack_outputs(outputs)
        else:
            thread.writing.keep(self, outputs)

    def pack_outputs(self, outputs: tuple) -> None:
        """``save_outputs``, now."""
        self.saved.extend(SavedTensor.of(out, None, is_output=True) for out in outputs)  # type: ignore[union-attr]

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        plan = self.plan
        if self._leads_nowhere():
            return (None,) * len(plan.needed)
        saved = self.saved_items() if plan.saved_specs else []
        if all(grad is None for grad in grads):
            return (None,) * len(plan.needed)
        if plan.level or thread.modes.level:
            given = gradients_below(plan, grads, saved, plan.wanted(needed))
            return with_history_below(self, given) if plan.level and plan.op.again and thread.modes.grad else given
        given = plan.gradients(grads, saved, plan.wanted(needed))
        return with_history(self, given) if plan.op.again and thread.modes.grad else given

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


class UnderivableNode(OperatorNode):
    """Of an operator that has no derivative: raises when backward reaches it, before other nodes run."""

    __slots__ = ()

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        raise RuntimeError(f"derivative for {self.plan.op.underivable} is not implemented")

    apply = apply_values


def node_class_of(op: OperatorLike, slots: int, specs: tuple) -> type[Node]:
    """The class of the nodes that calls make which have so many gradients: each operator has its own."""
    node_class = op.node_class(UnderivableNode if op.underivable else OperatorNode, slots)
    mismatches = any([isinstance(spec, Spec) and spec.mismatched for spec in specs])
    return fitting(node_class) if mismatches else node_class


def saved_properties(op: OperatorLike) -> dict[str, Any]:
    """Properties that show what the nodes of an operator saved, by PyTorch's names.

    These are properties of the class, for a class that has ``__getattr__`` pays for it at every attribute of its nodes.
    """
    shown: dict[str, Any] = {}
    for field in op.readable_fields():
        shown[f"_saved_{field}"] = property(partial(_read_saved, field))
        shown[f"_raw_saved_{field}"] = property(partial(_read_raw_saved, field))
    return shown


def _read_saved(field: str, node: OperatorNode) -> Any:
    return node.plan.op.read_saved(node, field)


def _read_raw_saved(field: str, node: OperatorNode) -> Any:
    return node.plan.op.read_raw_saved(node, field)

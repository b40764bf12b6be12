"""Fields of nodes that show what they saved, by PyTorch's names: ``_saved_NAME`` and ``_raw_saved_NAME``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.dispatch.nodes.saved_tensor import NOTHING, SavedTensor
from tapegrad._src.execution.array_functions.host import filled
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import device
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, wrap
from tapegrad.ops.facts import Facts

SAVED_NAMES: dict[str, str] = {
    "self": "x", "self_sym_sizes": "x_shape", "other": "y", "result": "out", "dim": "axis", "dims": "axes",
    "keepdim": "keepdims",
    "dim0": "axis0", "dim1": "axis1", "dim2": "axis2",
    "dimension": "axis", "split_size": "size", "split_sizes": "sizes",
}  # fmt: skip
"""PyTorch's names of saved fields, and ours, where an operator declares no others (``saved``)."""


NUMBERS = (bool, int, float, complex)


def number_tensor(number: Any) -> Tensor:
    """A Python number as the tensor of no dimensions that PyTorch makes of it."""
    kinds = {bool: dtypes.bool, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}
    kind, cpu = kinds[type(number)], device("cpu")
    return wrap(filled((), number, kind, cpu), Spec.of((), kind, cpu))


class SavedFields(Facts):
    """The fields that an operator's nodes show: those that are named here (``saved``), or else like the operator's
    own."""

    inputs: tuple[str, ...]
    variadic: str | None
    settings: tuple[str, ...]
    outputs: tuple[str, ...] | None
    formulas: dict[str, Any]

    def input_name(self, position: int) -> str:
        """The name of the argument at ``position``; those of a variadic input share theirs."""
        return self.inputs[position] if position < len(self.inputs) else str(self.variadic)

    def field(self, name: str) -> str:
        """PyTorch's name of a saved field, by ours."""
        return next((theirs for names in (self.saved, SAVED_NAMES) for theirs, ours in names.items()
                     if ours == name), name)  # fmt: skip

    def own_name(self, field: str) -> Any:
        """Our name of a saved field, how it is computed, or what it always is, by PyTorch's name."""
        return self.saved.get(field, SAVED_NAMES.get(field, field))

    def read_names(self) -> set[str]:
        """All that the formulas name."""
        return {name for formula in self.formulas.values() for name in formula.names}

    def saved_index(self, plan: Any, name: str) -> Any:
        """Which of the saved items a name means: a number, a tuple of them for a variadic input, None for none."""
        if name == self.variadic:
            return tuple(index for index, i in enumerate(plan.saved_inputs) if self.input_name(i) == name)
        outputs = self.outputs or ("out",)
        names = [self.input_name(i) for i in plan.saved_inputs] + [outputs[i] for i in plan.saved_outputs]
        return names.index(name) if name in names else None

    def read_saved(self, node: Any, field: str) -> Any:
        """The value of ``node._saved_FIELD``, by PyTorch's name of the field."""
        plan, name = node.plan, self.own_name(field)
        if callable(name):
            return name(plan)
        if not isinstance(name, str):
            return name
        if name in self.settings:
            return plan.settings[name]
        index = self.saved_index(plan, name)
        if isinstance(index, tuple):
            return tuple(map(node.saved_item, index))
        if index is not None:
            return self.wrapped(node.saved_item(index))
        for stem, attribute in ((name.removesuffix("_shape"), "shape"), (name.removesuffix("_dtype"), "dtype")):
            if stem != name and stem in self.inputs:
                return getattr(plan.specs[self.inputs.index(stem)], attribute)
        if name in self.read_names():
            return None
        raise AttributeError(f"'{node.name()}' object has no attribute '_saved_{field}'")

    def read_raw_saved(self, node: Any, field: str) -> Any:
        """The value of ``node._raw_saved_FIELD``: the saved tensor itself, a tuple of them, or one of nothing."""
        if field not in self.saved_tensor_fields(node):
            raise AttributeError(f"'{node.name()}' object has no attribute '_raw_saved_{field}'")
        index = self.saved_index(node.plan, self.own_name(field))
        if isinstance(index, tuple):
            return tuple(map(node.raw_saved_item, index))
        return SavedTensor.empty(NOTHING) if index is None else node.raw_saved_item(index)

    def wrapped(self, item: Any) -> Any:
        """A saved item as the user sees it: of some operators a number is a tensor of no dimensions."""
        return number_tensor(item) if self.wraps_numbers and isinstance(item, NUMBERS) else item

    def saved_fields(self) -> list[str]:
        """PyTorch's names of what the formulas read, as ``dir(node)`` shows them behind ``_saved_``."""
        named = {name for name in (*self.saved.values(), *SAVED_NAMES.values()) if isinstance(name, str)}
        shown = {*self.inputs, self.variadic, *self.settings, *(self.outputs or ("out",)), *named} & self.read_names()
        shown |= named.intersection(self.settings)
        fields = [self.field(name) for name in sorted(filter(None, shown))]
        others = [field for field, value in self.saved.items() if not isinstance(value, str)]
        return [*fields, *(field for field in others if field not in fields)]

    def readable_fields(self) -> set[str]:
        """The names by which a node gives what was saved, ours and PyTorch's; ``dir(node)`` shows one of each."""
        aliases = {**SAVED_NAMES, **self.saved}
        return {*self.saved_fields(), *self.read_names(), *self.settings, *aliases}

    def saved_tensor_fields(self, node: Any) -> list[str]:
        """Those of the fields that are tensors for this node, as ``dir(node)`` shows them behind ``_raw_saved_``."""
        outputs = self.outputs or ("out",)
        shown = self.read_names().difference(self.plain_inputs)
        names = [name for name in (*self.inputs, self.variadic, *outputs) if name in shown]
        specs = dict(zip(self.inputs, node.plan.specs, strict=False))
        return [self.field(name) for name in names if self.wraps_numbers or not isinstance(specs.get(name), type)]


def size(argument: int, axis: int) -> Callable[[Any], int]:
    """A saved field: the length of one dimension of an argument."""
    return lambda plan: plan.specs[argument].shape[axis]


def sizes(argument: int) -> Callable[[Any], tuple[int, ...]]:
    """A saved field: the shape of an argument."""
    return lambda plan: tuple(plan.specs[argument].shape)

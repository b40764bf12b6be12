"""Calls of public functions as calls of PyTorch's overloads: which schema they fit, and what its arguments are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tapegrad._src.bindings.declaration.parser_table import NUMBERS_AS_TENSORS
from tapegrad._src.execution.array_functions.host import resolve
from tapegrad._src.execution.data.devices import device, get_default_device
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.execution.data.sizes import SYMBOL
from tapegrad._src.tensor.layout import layout, memory_format
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.schemas import Argument, Schema, schemas_of

RENAMED = {"input": "self", "axis": "dim", "fill_value": "fill_value"}

def overload_for(
    name: str, args: tuple, kwargs: dict[str, Any], made: bool
) -> tuple[Schema, dict[str, Any]] | None:
    """The schema that a call fits, and what stands for its arguments; None if there is none."""
    if name == "randint" and len(args) == 3:
        kwargs, args = {"size": args[2], **kwargs}, args[:2]
    for schema in schemas_of(name).values():
        positional = [one for one in schema.arguments if not one.kwarg_only]
        bound = bound_by(schema, name, args, kwargs)
        if bound is None or (positional and positional[0].name not in bound):
            continue
        options = {one.name for one in schema.arguments if one.kwarg_only}
        if made and "device" in options:
            bound["device"] = resolve(device(bound["device"])) if "device" in bound else resolve(get_default_device())
        if "pin_memory" in options:
            bound.setdefault("pin_memory", False)
        return schema, bound
    return None


def with_size(schema: Schema, args: tuple) -> tuple:
    """Arguments with a size in place of lengths that stand one by one, as of ``torch.zeros(2, 3)``."""
    names = [one.name for one in schema.arguments if not one.kwarg_only]
    if names[-1:] not in (["size"], ["dims"], ["repeats"], ["shape"]) or len(names) > 2:
        return args
    lengths = args[len(names) - 1 :]
    whole = bool(lengths) and all(isinstance(one, LENGTH) for one in lengths)
    return (*args[: len(names) - 1], list(lengths)) if whole else args


def makes(name: str) -> str:
    """The kind of a factory: it makes tensors of ``"options"``, or like another (``"like"``); empty for others."""
    for schema in schemas_of(name).values():
        if any(one.name == "pin_memory" for one in schema.arguments) and not name.startswith("_"):
            return "like" if schema.arguments[0].name == "self" else "options"
    return ""


def accepts(name: str, argument: Argument, given: Any) -> bool:
    """Tell whether something may stand for an argument of an operator."""
    type_shown = argument.type
    if type_shown.endswith("?"):
        if given is None:
            return True
        type_shown = type_shown[:-1]
    if type_shown == "Tensor":
        return isinstance(given, Tensor) or (name in NUMBERS_AS_TENSORS and isinstance(given, NUMBER))
    if type_shown.startswith("Tensor"):
        return isinstance(given, (tuple, list)) and all(isinstance(one, (Tensor, type(None))) for one in given)
    if type_shown.startswith("int["):
        if argument.length and isinstance(given, LENGTH) and not isinstance(given, bool):
            return True
        return isinstance(given, (tuple, list)) and all(isinstance(one, LENGTH) for one in given)
    return isinstance(given, TYPES.get(type_shown, object))


LENGTH = (int, SYMBOL)
NUMBER = (bool, int, float, complex, SYMBOL)
TYPES: dict[str, Any] = {
    "Scalar": NUMBER, "float": (int, float), "int": LENGTH, "bool": bool, "str": str, "ScalarType": dtype,
    "Layout": layout, "Device": (device, str, int), "MemoryFormat": memory_format,
}  # fmt: skip
"""The types of Python that stand for those of schemas."""


def bound_by(schema: Schema, name: str, args: tuple, kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
    """The argument for each name of a schema in a call of a public function; None if the call does not fit."""
    spelled = {RENAMED.get(key, key): one for key, one in kwargs.items() if one is not None}
    return schema.bind(with_size(schema, args), spelled, lambda argument, one: accepts(name, argument, one))

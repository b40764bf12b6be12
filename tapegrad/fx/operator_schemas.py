"""``torch.fx.operator_schemas``: arguments of calls by the names that signatures have for them, defaults filled in."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable
from typing import Any, List, NamedTuple, Optional  # noqa: UP035 - signatures are printed with these

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.fx._naming import facade
from tapegrad.ops.overloads import OpOverload
from tapegrad.ops.schemas import Argument, Schema, composites_of, schemas_of

__all__ = [
    "ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op",
    "normalize_function", "normalize_module", "type_matches",
]  # fmt: skip

AMBIGUOUS = (
    "Tried to normalize arguments to {} but the schema match was ambiguous! Please provide argument types to the "
    "normalize_arguments() call. Available schemas:\n{}"
)

RENAMED = {"self": "input", "from": "from_"}
"""The names of arguments of schemas that functions call otherwise."""


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call, by position and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _kind(spelled: str) -> Any:
    """The type of Python that stands for one of a schema."""
    generic: Any = Optional if spelled.endswith("?") else List  # noqa: UP006
    if spelled.endswith(("?", "]")):
        return generic[_kind(spelled[: spelled.rindex("[")] if spelled[-1] == "]" else spelled[:-1])]
    named: dict[str, Any] = {
        "Tensor": Tensor, "Scalar": numbers.Number, "int": int, "float": float, "bool": bool, "str": str,
        "ScalarType": int, "Layout": int, "MemoryFormat": int, "Device": facade().device,
    }  # fmt: skip
    return named.get(spelled, Any)


def _parameter(argument: Argument) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    if argument.type.startswith("int[") and isinstance(default, int):
        default = [default] * (argument.length or 1)
    return inspect.Parameter(
        RENAMED.get(argument.name, argument.name), kind, default=default, annotation=_kind(argument.type)
    )


def _signature(schema: Schema) -> inspect.Signature:
    """The signature of a schema; where a name is taken already, the first stays."""
    parameters = {one.name: one for one in map(_parameter, schema.arguments)}
    return inspect.Signature(list(parameters.values()), return_annotation=_kind(schema.returned.split("(")[0]))


def _schemas(op: Any) -> list[Schema]:
    """The schemas of a function of PyTorch's C++, those that write into tensors left out; none of what is in Python."""
    if isinstance(op, OpOverload):
        return [] if op._schema is None else [op._schema]
    place = getattr(op, "torch_name", None) or ""
    if not place or place.startswith(("torch.functional.", "torch.nn.functional.", "torch._tensor.")):
        return []
    name = op.__name__
    return [*schemas_of(name).values(), *composites_of(name).values()]


def get_signature_for_torch_op(op: Callable, return_schemas: bool = False) -> Any:
    """The signatures of a function of PyTorch's C++, by its schemas; None if it has none, as one in Python.

    Args:
        op: the function.
        return_schemas: whether the schemas are wanted, too: then a pair is given.

    >>> [list(one.parameters) for one in get_signature_for_torch_op(torch.relu)]
    [['input']]
    """
    schemas = _schemas(op)
    if not schemas:
        return (None, None) if return_schemas else None
    signatures = list(map(_signature, schemas))
    return (signatures, schemas) if return_schemas else signatures


def check_for_mutable_operation(target: Callable, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse a call that writes to its arguments.

    Raises:
        RuntimeError: it does.
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    for signature, schema in zip(signatures or (), schemas or (), strict=True):
        if _binds(signature, args, kwargs) is not None and schema.is_mutable:
            raise RuntimeError(
                f"Tried to trace mutable operation {schema}. FX only supports functional code, so operations that "
                "mutate operands in-place (e.g. via `out` arguments) are not supported"
            )


def create_type_hint(x: Any) -> Any:
    """The type of a list or tuple of types; anything else as it is.

    >>> create_type_hint([int, int])
    typing.List[int]
    """
    if not isinstance(x, (list, tuple)) or not x:
        return List[Any] if isinstance(x, list) else tuple[Any, ...] if isinstance(x, tuple) else x  # noqa: UP006
    first: Any = x[0]
    alike = all(isinstance(one, type) and issubclass(one, first) for one in x) if isinstance(first, type) else False
    found = first if alike else Any
    generic: Any = List if isinstance(x, list) else tuple  # noqa: UP006
    return generic[found] if generic is not tuple else generic[found, ...]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Tell whether an argument of a type may stand where a signature has another.

    >>> type_matches(numbers.Number, int), type_matches(List[int], int), type_matches(int, torch.Tensor)
    (True, True, False)
    """
    if signature_type in (Any, argument_type):
        return True
    inner: tuple[Any, ...] = getattr(signature_type, "__args__", ())
    if type(None) in inner:
        return argument_type is type(None) or any(type_matches(one, argument_type) for one in inner)
    if inner:
        given: tuple[Any, ...] = getattr(argument_type, "__args__", ())
        return (argument_type is int and inner[0] is int) or (bool(given) and type_matches(inner[0], given[0]))
    if signature_type is numbers.Number:
        return argument_type in (int, float)
    return isinstance(argument_type, type) and isinstance(signature_type, type) and (
        issubclass(argument_type, signature_type)
    )  # fmt: skip


def _binds(signature: inspect.Signature, args: tuple, kwargs: dict[str, Any]) -> inspect.BoundArguments | None:
    try:
        return signature.bind(*args, **kwargs)
    except TypeError:
        return None


def _fits(signature: inspect.Signature, arg_types: tuple, kwarg_types: dict[str, Any]) -> bool:
    """Tell whether arguments of these types may stand in a signature."""
    bound = _binds(signature, arg_types, kwarg_types)
    if bound is None:
        return False
    return all(type_matches(signature.parameters[name].annotation, one) for name, one in bound.arguments.items())


def normalize_function(
    target: Callable, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None, kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a call with all defaults, by name where they may be; None if no signature takes them.

    Args:
        target: the function.
        args, kwargs: its arguments; they may be nodes, or anything else.
        arg_types, kwarg_types: their types, by which one of several signatures is chosen.
        normalize_to_only_use_kwargs: whether all are to be given by name.

    Raises:
        RuntimeError: several signatures take them, and types choose none.

    >>> normalize_function(torch.flatten, ("x", 1), normalize_to_only_use_kwargs=True).kwargs
    {'input': 'x', 'start_dim': 1, 'end_dim': -1}
    """
    kwargs = kwargs or {}
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        return _in_python(target, args, kwargs, normalize_to_only_use_kwargs)
    fitting = [one for one in signatures if _binds(one, args, kwargs) is not None]
    if len(fitting) > 1 and arg_types is not None:
        chosen = [one for one in fitting if _fits(one, arg_types, kwarg_types or {})]
        fitting = chosen[:1]
    elif len(fitting) > 1:
        listed = "\n".join(str(one).replace("tapegrad._src.tensor.tensor.Tensor", "torch.Tensor") for one in signatures)
        raise RuntimeError(AMBIGUOUS.format(f"torch._VariableFunctionsClass.{target.__name__}", listed))
    return _normalized(fitting[0], args, kwargs, normalize_to_only_use_kwargs) if fitting else None


NAMELESS = ("einsum",)
"""Functions whose arguments have no names."""


def _in_python(target: Any, args: tuple, kwargs: dict[str, Any], by_name: bool) -> ArgsKwargsPair | None:
    """The arguments of a function in Python."""
    if target.__name__ in NAMELESS or not (inspect.isfunction(target) or hasattr(target, "__wrapped__")):
        return None
    signature = inspect.signature(inspect.unwrap(target))
    known = signature.parameters
    own = [one for name, one in known.items() if not (name == "train" and "training" in known)]  # ours alone
    return _normalized(inspect.Signature(own), args, kwargs, by_name)


def normalize_module(
    root: Any, target: str, args: tuple[Any], kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a call of one of PyTorch's layers, with all defaults; None for other modules.

    Args:
        root: the module that has it.
        target: its path there.
        args, kwargs, normalize_to_only_use_kwargs: as for ``normalize_function``.

    Raises:
        RuntimeError: there is no such module.

    >>> normalize_module(torch.nn.Sequential(torch.nn.ReLU()), "0", ("x",), normalize_to_only_use_kwargs=True).kwargs
    {'input': 'x'}
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    cls = type(module)
    if getattr(facade().nn, cls.__name__, None) is not cls:
        return None
    signature = inspect.signature(inspect.unwrap(module.forward))
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalized(
    signature: inspect.Signature, args: tuple, kwargs: dict[str, Any], by_name: bool
) -> ArgsKwargsPair | None:
    """Arguments as a signature has them; None if it doesn't take them, or has arguments that have no name."""
    kinds = [one.kind for one in signature.parameters.values()]
    if any(kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY) for kind in kinds):
        return None
    bound = _binds(signature, args, kwargs)
    if bound is None:
        return None
    bound.apply_defaults()
    given, named = [], {}
    for place, name in enumerate(signature.parameters):
        if not by_name and place < len(args):
            given.append(bound.arguments[name])
        else:
            named[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(given), named)

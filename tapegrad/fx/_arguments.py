"""The arguments that a traced function is called with: proxies, and values that it is specialized for."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from types import FunctionType
from typing import Any

from tapegrad._src.bindings.checking import _assert
from tapegrad._src.warn import warn
from tapegrad.fx._codegen import _PyTreeCodeGen, _PyTreeInfo
from tapegrad.fx._naming import PACKAGE
from tapegrad.fx.node import base_types
from tapegrad.utils._pytree import tree_flatten, tree_map, tree_unflatten

STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class PHBase:
    """A mark for a proxy in a concrete argument that is a tree."""

    def __repr__(self) -> str:
        return "PH"


class PHWithMeta(PHBase):
    """A mark for a proxy whose node has the notes of ``ph_key``."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


PH = PHBase()
"""A mark for a proxy in a concrete argument that is a tree."""


def _assert_is_none(value: Any, msg: str) -> None:
    """Refuse what is not None, though the program was traced for None."""
    if value is not None:
        raise AssertionError(msg)


_assert_is_none.torch_name = "torch.fx._symbolic_trace._assert_is_none"  # type: ignore[attr-defined]


def arguments_for(tracer: Any, root_fn: Callable, is_module: bool, concrete: Any) -> tuple[Callable, list[Any]]:
    """The function to call for a graph, and what to call it with; see ``Tracer.create_args_for_root``."""
    analyzed: Any = inspect.unwrap(root_fn)
    code = analyzed.__code__
    total = code.co_argcount + code.co_kwonlyargcount
    if is_module and total == 0:
        raise RuntimeError("``self`` argument cannot be part of *args expansion!")
    args: list[Any] = [tracer.root] if is_module else []
    names = code.co_varnames[is_module:total]
    concrete = _by_name(concrete, names)
    signature = inspect.signature(analyzed)
    args += [_placeholder(tracer, name, concrete, signature, analyzed) for name in names]
    if code.co_kwonlyargcount or code.co_flags & STARRED:
        starred = _starred(code, total)
        args += [_placeholder(tracer, name, concrete, signature, analyzed) for name in starred]
        root_fn = without_stars(root_fn, len(args))
    leaves, spec = tree_flatten(tuple(args))
    if not concrete or all(child.is_leaf() for child in spec.children()):
        return root_fn, args
    tracer.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(list(code.co_varnames[:total]), spec, None))
    return _taking_leaves(tracer, root_fn, spec, is_module), leaves


def _by_name(concrete: Any, names: tuple[str, ...]) -> dict[str, Any] | None:
    if not isinstance(concrete, tuple):
        return concrete
    if len(names) != len(concrete):
        raise RuntimeError(f"Tracing expected {len(names)} arguments but got {len(concrete)} concrete arguments")
    return dict(zip(names, concrete, strict=True))


def _starred(code: Any, total: int) -> list[str]:
    """The parameters that take all that are left, as placeholders name them."""
    names = iter(code.co_varnames[total:])
    found = []
    if code.co_flags & inspect.CO_VARARGS:
        found.append(f"*{next(names)}")
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append(f"**{next(names)}")
    return found


def without_stars(fn: Any, count: int) -> FunctionType:
    """The function whose first variables are all plain parameters, so that a proxy stands for each."""
    code = fn.__code__.replace(
        co_flags=fn.__code__.co_flags & ~STARRED, co_posonlyargcount=0, co_argcount=count, co_kwonlyargcount=0
    )
    return FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


def _taking_leaves(tracer: Any, root_fn: Callable, spec: Any, is_module: bool) -> Callable:
    """The function of the leaves of the arguments; it gives the leaves of what it gives."""

    def flat(*leaves: Any) -> Any:
        given, out_spec = tree_flatten(root_fn(*tree_unflatten(list(leaves), spec)))
        codegen = tracer.graph._codegen
        inputs = spec._replace(below=spec.below[is_module:])
        codegen.pytree_info = codegen.pytree_info._replace(in_spec=inputs, out_spec=out_spec)
        return given

    return flat


def _placeholder(tracer: Any, name: str, concrete: Any, signature: Any, analyzed: Any) -> Any:
    """The proxy of an argument; its value, if it is to be taken as that."""
    default = () if name[0] == "*" else _default(signature, name)
    if concrete is None or name not in concrete:
        annotation = annotations_of(analyzed).get(name)
        return tracer.create_proxy("placeholder", name, default, {}, type_expr=annotation)
    count = 0

    def specialized(value: Any) -> Any:
        nonlocal count
        count += 1
        given = tracer.create_proxy("placeholder", f"{name}_{count}", default, {})
        if isinstance(value, PHBase):
            given.node.meta.update({key: item for key, item in vars(value).items() if item is not None})
            return given
        _demand(tracer, name, given, value)
        return value

    return tree_map(specialized, concrete[name])


def annotations_of(function: Any) -> dict[str, Any]:
    """The annotations of a function; those of this package, which are text, as types."""
    if not (function.__module__ or "").startswith(PACKAGE):
        return function.__annotations__
    try:
        found = typing.get_type_hints(function)
        return {name: kind for name, kind in found.items() if kind is not Any}
    except (NameError, TypeError):
        return {}


def _default(signature: inspect.Signature, name: str) -> tuple[Any, ...]:
    value = signature.parameters[name].default
    return () if value is inspect.Parameter.empty else (value,)


def _demand(tracer: Any, name: str, given: Any, value: Any) -> None:
    """Have the graph refuse another value of an argument than that for which it is traced."""
    message = f"{name} has been specialized to have value {value} but got another value"
    if isinstance(value, base_types):
        _assert(given == value, message)
    elif value is None:
        tracer.create_proxy("call_function", _assert_is_none, (given, message), {})
    else:
        warn(
            f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the "
            "user to make sure that your inputs match the inputs you specialized the function with."
        )

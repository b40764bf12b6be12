"""Operators that programs register: ``torch.library.custom_op``. A function of tensors, with a backward of its own.

The function is not looked into: it runs without a tape, and a call that has tensors which require grad is one node, as
a custom function is. What else is registered is asked where it counts: a *fake* one computes on the device ``meta``.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tapegrad._src.bindings.dispatching import is_wrapper
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.tensor.tensor import Tensor, storage_of
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.autograd.registered_ops import (
    BACKENDS,
    EXPLICIT,
    RegisteredOperator,
    checked_device,
    in_fake,
    register_shown,
    tensors_of,
)
from tapegrad.ops.schemas import Schema

__all__ = ["CustomOpDef", "custom_op", "infer_schema"]

_BASES: dict[Any, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", dtype: "ScalarType", device: "Device",
    int | float | bool: "Scalar",
}  # fmt: skip
_RETURNED = {"Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"}


# -- schemas ----------------------------------------------------------------------------------------------------------


def _schema_type(annotation: Any) -> str | None:
    """The word of a schema for an annotation; None if there is none."""
    if isinstance(annotation, typing.Hashable) and annotation in _BASES:
        return _BASES[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        if set(args) == {int, float, bool}:
            return "Scalar"
        rest = [one for one in args if one is not type(None)]
        inner = _schema_type(rest[0]) if len(rest) == 1 < len(args) else None
        return inner and f"{inner}?"
    if origin in (list, Sequence) and args:
        inner = _schema_type(args[0])
        return inner and f"{inner}[]"
    return None


def infer_schema(
    prototype_function: Callable, /, *, mutates_args: str | Iterable[str], op_name: str | None = None
) -> str:
    """The schema of a function, from its annotations.

    Args:
        prototype_function: whose arguments and results are annotated.
        mutates_args: the names of those that it writes to; ``"unknown"`` for all tensors.
        op_name: with which the schema is to begin.

    Raises:
        ValueError: an annotation is missing, or there is no word for it.

    >>> import tapegrad as torch
    >>> def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor: ...
    >>> infer_schema(scaled, mutates_args=())
    '(Tensor x, float factor=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def refuse(why: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {why} Got func with signature {signature})")

    hints = typing.get_type_hints(prototype_function)
    parts, starred = [], False
    for index, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if name not in hints:
            refuse(f"Parameter {name} must have a type annotation.")
        kind = _schema_type(hints[name])
        if kind is None:
            refuse(f"Parameter {name} has unsupported type {hints[name]}. The valid types are: {list(_BASES)}.")
        if not kind.startswith("Tensor") and mutates_args != "unknown" and name in mutates_args:
            refuse(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        if kind.startswith("Tensor") and (mutates_args == "unknown" or name in mutates_args):
            kind = kind.replace("Tensor", f"Tensor(a{index}!)", 1)
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        parts.append(f"{kind} {name}" + _shown_default(parameter.default))
    if mutates_args != "unknown" and (unknown := {*mutates_args} - {*signature.parameters}):
        refuse(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
            "names of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    if "return" not in hints:
        refuse("No return type annotation was provided. Please add one.")
    return f"{op_name or ''}({', '.join(parts)}) -> {_returned(hints['return'], refuse)}"


def _shown_default(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return ""
    if isinstance(default, (str, device)):
        return f'="{default}"'
    return f"={str(default).removeprefix('torch.')}"


def _returned(annotation: Any, refuse: Callable[[str], typing.NoReturn]) -> str:
    if annotation in (None, type(None)):
        return "()"
    if typing.get_origin(annotation) is tuple:
        return f"({', '.join(_returned(one, refuse) for one in typing.get_args(annotation))})"
    kind = _schema_type(annotation)
    if kind not in _RETURNED:
        refuse(f"Return has unsupported type {annotation}. The valid types are: {sorted(_RETURNED)}.")
    return kind


# -- operators --------------------------------------------------------------------------------------------------------


class CustomOpDef(RegisteredOperator):
    """An operator that a program has registered: ``custom_op`` makes it. It is called as its function is.

    Args:
        qualname: ``"namespace::name"``.
        function: what it computes.
        schema: what it takes and gives.
        mutates: the names of arguments that it writes to.
    """

    records_kernel = False

    def __init__(self, qualname: str, function: Callable, schema: str, mutates: str | Iterable[str]) -> None:
        super().__init__(Schema.parse(f"{qualname}{schema}"))
        self._qualname, self._init_fn, self._mutates = qualname, function, mutates

    @property
    def _opoverload(self) -> Any:
        return self.identity

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable | None = None, /) -> Callable:
        """Register what computes on some types of devices; a decorator if no function is given."""

        def register(fn: Callable) -> Callable:
            for kind in [device_types] if device_types is None or isinstance(device_types, str) else device_types:
                self._kernels[EXPLICIT if kind is None else BACKENDS.get(kind, kind.upper())] = fn
            return fn

        return register if fn is None else register(fn)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """A block in which what ``register_kernel`` has registered for a type of devices does not count, or does.

        Args:
            device_type: the type of devices.
            enabled: whether the kernel counts; the operator's first function computes if not.
        """
        key = BACKENDS.get(device_type, device_type.upper())
        before = self._kernels.get(key)
        if not enabled and before is not None:
            self._kernels[key] = self._init_fn
        try:
            yield
        finally:
            if before is not None:
                self._kernels[key] = before

    def register_fake(self, fn: Callable, /) -> Callable:
        """Register what gives the results' shapes and dtypes, for tensors on ``meta``; a decorator."""
        self._fake = in_fake(fn)
        return fn

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """Register a backward: of a context and the results' gradients it gives those of the inputs.

        Args:
            setup_context: called with a context, ``inputs`` and ``output``, to save what the backward needs; if there
                are arguments by keyword only, with ``keyword_only_inputs``, too.

        Raises:
            RuntimeError: the operator writes to its arguments.
        """
        if self._mutates:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self!r} with schema {self._schema}. "
                "Please create a functional operator and register an autograd formula for that."
            )
        self._backward, self._setup_context = backward, setup_context

    def register_vmap(self, func: Callable | None = None) -> Callable:
        """Register what is done under ``torch.vmap``; a decorator if no function is given.

        Without it the operator is called for one example after the other.

        Args:
            func: called with ``info`` (``batch_size`` and ``randomness`` of the transform), ``in_dims`` (which
                dimension of each argument has the examples, or None) and the operator's arguments; it gives the output,
                and which dimension of that, or of each of several, has the examples.
        """

        def register(func: Callable) -> Callable:
            self._vmap = func
            return func

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: dtype) -> None:
        """Cast floating tensors that it is given under autocast of a type of devices, whatever dtype that has."""
        self._autocast[checked_device(device_type)] = cast_inputs

    def register_torch_dispatch(self, torch_dispatch_class: type, fn: Callable | None = None, /) -> Callable:
        """Register what is done for a dispatch mode, or a class of tensors, in place of its ``__torch_dispatch__``."""
        return register_shown(self, torch_dispatch_class, fn)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        with no_grad():
            output = super()._run(*args, **kwargs)
        inputs, results = tensors_of([*args, *kwargs.values()]), tensors_of([output])
        memories = [
            id(storage_of(one)) for one in (*results, *inputs) if not one.device.sharded and not is_wrapper(one)
        ]
        own = len(results)
        if any(memory in memories[:at] or memory in memories[own:] for at, memory in enumerate(memories[:own])):
            raise RuntimeError(
                f"{self._name} (with implementation in {inspect.getmodule(self._init_fn)}): The output of this custom "
                "operator (1) must not also be an input to this custom operator and (2) may not alias any inputs to "
                "this custom operator or other returns. The most common way to trigger this error is if we have y = "
                "custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending output "
                "tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
            )
        return output

    def without_fake(self) -> Exception:
        return RuntimeError(
            f"There was no fake impl registered for {self!r}. This is necessary for torch.compile/export/fx "
            f"tracing to work. Please use `{self._init_fn.__name__}.register_fake` to add an fake impl."
        )


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Register a function of tensors as an operator, ``torch.ops.NAMESPACE.NAME``; a decorator if none is given.

    Args:
        name: ``"namespace::name"``.
        fn: the function; it may give no tensor that it was given, nor a view of one.
        mutates_args: the names of arguments that it writes to.
        device_types: where it computes, if others are registered for other devices; everywhere by default.
        schema: what it takes and gives; by default inferred from annotations.
        tags: accepted.

    Raises:
        ValueError: a name without a namespace; a schema can't be inferred.

    >>> import tapegrad as torch
    >>> @torch.library.custom_op("docs::squared", mutates_args=())
    ... def squared(x: torch.Tensor) -> torch.Tensor:
    ...     return x**2
    >>> squared.register_autograd(
    ...     lambda ctx, g: 2 * g * ctx.x, setup_context=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0])
    ... )
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.ops.docs.squared(x).backward()
    >>> x.grad
    tensor(6.)
    """
    mutates = mutates_args if isinstance(mutates_args, str) else {*mutates_args}

    def register(fn: Callable) -> CustomOpDef:
        found = CustomOpDef(name, fn, infer_schema(fn, mutates_args=mutates) if schema is None else schema, mutates)
        found.register_kernel(device_types, fn)
        found.register()
        return found

    if name.count("::") != 1:
        raise ValueError(f"Expected `name` to be of the form `namespace::name`, got {name!r}")
    return register if fn is None else register(fn)

"""``torch.library``: operators that are defined by their schemas, and what is registered for them."""

from __future__ import annotations

import contextlib
import re
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from tapegrad._src.execution.data.dtypes import dtype
from tapegrad.autograd import aten_kernels
from tapegrad.autograd.custom_ops import CustomOpDef
from tapegrad.autograd.dispatch_keys import key_of
from tapegrad.autograd.registered_ops import (
    BACKENDS,
    EXPLICIT,
    IMPLICIT,
    KEYS,
    RegisteredOperator,
    checked_device,
    in_fake,
    register_shown,
)
from tapegrad.ops.overloads import REGISTERED, OpOverload, OpOverloadPacket, namespace
from tapegrad.ops.schemas import Argument, Schema

OperatorOrName = RegisteredOperator | OpOverload | OpOverloadPacket | str
"""An operator that a program has registered: by itself, as ``torch.ops`` has it, or by its name."""

DEFINED: dict[str, str] = {}
"""The namespaces that a ``Library(..., "DEF")`` is for, and where it was made."""

RESERVED = ("prim",)


def place() -> str:
    """The place in the program that a call comes from, as PyTorch's messages say it."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("tapegrad."):
        frame = frame.f_back
    return "/dev/null:0" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """Stand for no kernel: who registers it leaves a call to the next one.

    Raises:
        NotImplementedError: it is called.
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """A set of operators that a program defines, or of kernels for such: what is registered goes away with it.

    Args:
        ns: the namespace, of ``torch.ops``.
        kind: ``"DEF"``, for all operators of a namespace; ``"FRAGMENT"``, for some; ``"IMPL"``, for kernels.
        dispatch_key: the key that kernels are for if they don't say another.

    Raises:
        ValueError: another kind, or a namespace that is reserved.
        RuntimeError: a second ``"DEF"`` for a namespace.

    >>> import tapegrad as torch
    >>> library = torch.library.Library("docs_library", "DEF")
    >>> library.define("scaled(Tensor x, float factor=2.0) -> Tensor")
    'scaled'
    >>> library.impl("scaled", lambda x, factor=2.0: x * factor, "CompositeImplicitAutograd")
    >>> torch.ops.docs_library.scaled(torch.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF" and ns in DEFINED:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your "
                "definitions in a single TORCH_LIBRARY block.  If you were trying to specify implementations, consider "
                "using TORCH_LIBRARY_IMPL (which can be duplicated).  If you really intended to define operators for a "
                "single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to explicitly indicate "
                f"this.  Previous registration of TORCH_LIBRARY was registered at {DEFINED[ns]}; latest registration "
                f"was registered at {place()}"
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._undo: list[Callable[[], None]] = []
        if kind == "DEF":
            DEFINED[ns] = place()
            self._undo.append(partial(withdraw, ns))
        namespace(ns)
        self._finalizer = weakref.finalize(self, undo, self._undo)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator by its schema, and give its name.

        Args:
            schema: ``"name(Tensor x, int n) -> Tensor"``.
            alias_analysis: ``""`` or ``"CONSERVATIVE"``.
            tags: accepted.

        Raises:
            RuntimeError: a schema of another form or namespace, or an operator that there is.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError("define() cannot be called on a Library of kind IMPL; use a fragment for that")
        parsed = parsed_schema(schema, self.ns)
        overload = parsed.overload_name or "default"
        if overload in REGISTERED.get(parsed.name, {}):
            raise RuntimeError(
                f"Tried to register an operator ({parsed}) with the same name and overload name multiple times. Each "
                f"overload's schema should only be registered with a single call to def(). Duplicate registration: "
                f"registered at {place()}. Original registration: registered at "
                f"{REGISTERED[parsed.name][overload].place}"
            )
        op = RegisteredOperator(parsed)
        op.place = place()  # type: ignore[attr-defined]
        op.register()
        self._undo.append(lambda: forget(op))
        return op._name

    def impl(
        self, op_name: Any, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:  # fmt: skip
        """Register a kernel of an operator for a dispatch key.

        Args:
            op_name: its name, with the overload if it has one, or the operator.
            fn: the kernel.
            dispatch_key: for which it is (``"CPU"``, ``"Meta"``, ``"Autograd"``, ``"CompositeImplicitAutograd"``, ...);
                the library's by default.
            with_keyset: whether the kernel gets the dispatch keys first; only of an operator of ``aten``.
            allow_override: accepted; a kernel takes the place of another. See Note [Kernels for aten].

        Raises:
            TypeError: ``fn`` is no function.
            RuntimeError: no key, or none of PyTorch's.
            NotImplementedError: ``with_keyset``, of an operator that a program has defined.
        """
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key or IMPLICIT
        if key not in KEYS:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        name = op_name if isinstance(op_name, str) else op_name.name()
        if self.ns == "aten" or name.startswith("aten::"):
            if fn is not fallthrough_kernel:
                self._undo.append(aten_kernels.register(name.removeprefix("aten::"), key, fn, with_keyset))
            return
        if with_keyset:
            raise NotImplementedError("Library.impl(with_keyset=True): only kernels of aten get dispatch keys here")
        op = found_operator(name if "::" in name else f"{self.ns}::{name}", missing=True)
        if op is None or fn is fallthrough_kernel:
            return
        before = op._kernels.get(key)
        op._kernels[key] = fn
        self._undo.append(lambda: restore(op, key, fn, before))

    def fallback(self, fn: Callable, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Refuse a kernel for all operators.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "Library.fallback: there is no dispatcher; a TorchDispatchMode sees all operators that are called"
        )

    def _destroy(self) -> None:
        """Take back all that it has registered."""
        self._finalizer()


def withdraw(ns: str) -> None:
    """Let a namespace have no library for all of it any more."""
    DEFINED.pop(ns, None)


def undo(actions: list[Callable[[], None]]) -> None:
    """Take back what a library has registered, the last first."""
    while actions:
        actions.pop()()


def forget(op: RegisteredOperator) -> None:
    """Let ``torch.ops`` have an operator no more."""
    overloads = REGISTERED.get(op._schema.name, {})
    overloads.pop(op._overload, None)
    if not overloads:
        REGISTERED.pop(op._schema.name, None)
        vars(namespace(op._namespace)).pop(op._name, None)


def restore(op: RegisteredOperator, key: str, kernel: Callable, before: Callable | None) -> None:
    """Put back the kernel that was there before one."""
    if op._kernels.get(key) is kernel:
        del op._kernels[key]
        if before is not None:
            op._kernels[key] = before


def parsed_schema(text: str, ns: str) -> Schema:
    """The schema that a program has written. Raises RuntimeError: it is none, or of another namespace."""
    try:
        found = Schema.parse(text)
        kinds = [one.type.partition("[")[0].rstrip("?") for one in (*found.arguments, *found.returns)]
        if unknown := next((kind for kind in kinds if kind not in KINDS), None):
            raise ValueError(f"unknown type specifier {unknown!r}")
    except ValueError as error:
        raise RuntimeError(
            "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for "
            "a full list, please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
            f":\n{text}\n({error})"
        ) from None
    own, _, name = found.name.rpartition("::")
    if own and own != ns:
        raise RuntimeError(
            f"Explicitly provided namespace ({own}) in schema string does not match namespace of enclosing "
            f"TORCH_LIBRARY block ({ns}).  Move this definition to the (unique) TORCH_LIBRARY block corresponding to "
            "this namespace (and consider deleting the namespace from your schema string.)  (Error occurred while "
            f"processing TORCH_LIBRARY block at {place()})"
        )
    arguments = [Argument.of(in_cpp(one.spelled), one.kwarg_only) for one in found.arguments]
    return Schema(f"{ns}::{name}", found.overload_name, arguments, found.returned)


KINDS = frozenset("""Tensor SymInt int float bool Scalar str ScalarType Layout Device MemoryFormat Generator Any Storage
    Dimname complex t number Stream QScheme""".split()) | {""}  # noqa: SIM905 - shorter # fmt: skip
"""The types of schemas."""


def in_cpp(text: str) -> str:
    """An argument with its default as C++ prints it: ``1.`` for 1.0, and double quotes."""
    text = re.sub(r"=(-?\d+)\.0$", r"=\1.", text)
    return re.sub(r"='([^']*)'$", r'="\1"', text)


def found_operator(op: OperatorOrName, missing: bool = False) -> RegisteredOperator | None:
    """An operator by itself, by its identity or by its name.

    Raises:
        AttributeError: there is none, unless it may be ``missing``.
    """
    if isinstance(op, RegisteredOperator):
        return op
    name = op.name() if isinstance(op, OpOverload) else getattr(op, "_qualified_op_name", op)
    if not isinstance(name, str):
        raise ValueError(f"register(op, ...): got unexpected type for op: {type(op)}")
    base, _, overload = name.partition(".")
    found = REGISTERED.get(base, {}).get(overload or "default")
    if found is None and not missing:
        ns, _, own = base.partition("::")
        raise AttributeError(f"'_OpNamespace' '{ns}' object has no attribute '{own}'")
    return found


def _known(op: OperatorOrName) -> RegisteredOperator:
    found = found_operator(op)
    assert found is not None
    return found


_kept: dict[str, Library] = {}
"""The libraries behind what is defined without one."""


def library_of(name: str, lib: Library | None) -> Library:
    """The library in which something is registered for an operator: the one given, or one that stays."""
    if lib is not None:
        return lib
    ns = name.partition("::")[0]
    return _kept.setdefault(ns, Library(ns, "FRAGMENT")) if ns not in _kept else _kept[ns]


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Define an operator ``"namespace::name"`` by the rest of its schema.

    Raises:
        ValueError: a name without a namespace, or a schema that is no text.
        RuntimeError: as of ``Library.define``.

    >>> define("docs::tripled", "(Tensor x) -> Tensor")
    >>> kernel = impl("docs::tripled", "default", lambda x: x * 3)
    >>> torch.ops.docs.tripled(torch.ones(1))
    tensor([3.])
    """
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    if qualname.count("::") != 1:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    if not re.fullmatch(r"\(.*\) -> .*", schema, re.DOTALL):
        raise ValueError(
            f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    library_of(qualname, lib).define(qualname.partition("::")[2] + schema, tags=tags)


def impl(qualname: str, types: str | Sequence[str], func: Callable | None = None, *, lib: Library | None = None) -> Any:
    """Register a kernel of an operator for types of devices, ``"default"`` for all; a decorator without ``func``.

    Raises:
        RuntimeError: a type that there is not.
    """

    def register(func: Callable) -> Callable:
        for kind in [types] if isinstance(types, str) else types:
            key = EXPLICIT if kind == "default" else kind if kind in KEYS else BACKENDS.get(checked_device(kind))
            library_of(qualname, lib).impl(qualname, func, key or kind.upper())
        return func

    return register if func is None else register(func)


def register_fake(
    op: OperatorOrName, func: Callable | None = None, /, *, lib: Library | None = None, **unused: Any
) -> Callable:
    """Register what gives the results' shapes and dtypes for tensors on ``meta``; a decorator without ``func``."""

    def register(func: Callable) -> Callable:
        operator(op)._fake = in_fake(func)
        return func

    return register if func is None else register(func)


def operator(op: OperatorOrName) -> RegisteredOperator:
    """An operator, or RuntimeError."""
    found = found_operator(op, missing=True)
    if found is None:
        raise RuntimeError(f"operator {op} does not exist")
    return found


def register_autograd(
    op: OperatorOrName, backward: Callable, /, *, setup_context: Callable | None = None, lib: Library | None = None
) -> None:
    """``CustomOpDef.register_autograd`` of an operator or its name."""
    found = _known(op)
    if isinstance(found, CustomOpDef):
        found.register_autograd(backward, setup_context=setup_context)
        return
    if found._schema.is_mutable:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {found.identity} with schema "
            f"{found._schema}. Please create a functional operator and register an autograd formula for that."
        )
    found._backward, found._setup_context = backward, setup_context


def register_kernel(
    op: OperatorOrName, device_types: str | Sequence[str] | None, func: Callable | None = None, /, *,
    lib: Library | None = None,
) -> Callable:
    """``CustomOpDef.register_kernel`` of an operator or its name."""
    name = op.name() if isinstance(op, OpOverload) else op
    if isinstance(name, str) and name.startswith("aten::"):
        return impl(name, "default" if device_types is None else device_types, func, lib=lib)
    found = _known(op)
    if isinstance(found, CustomOpDef):
        return found.register_kernel(device_types, func)
    return impl(found._schema.name, "default" if device_types is None else device_types, func, lib=lib)


def register_vmap(op: OperatorOrName, func: Callable | None = None, /, *, lib: Library | None = None) -> Callable:
    """``CustomOpDef.register_vmap`` of an operator or its name; a decorator if no function is given."""

    def register(func: Callable) -> Callable:
        _known(op)._vmap = func
        return func

    return register if func is None else register(func)


def register_autocast(
    op: OperatorOrName, device_type: str, cast_inputs: dtype, /, *, lib: Library | None = None
) -> None:
    """Cast floating tensors that an operator is given under autocast of a type of devices to ``cast_inputs``."""
    checked_device(device_type)
    _known(op)._autocast[device_type] = cast_inputs


def register_torch_dispatch(
    op: OperatorOrName, torch_dispatch_class: type, func: Callable | None = None, /, *, lib: Library | None = None
) -> Callable:
    """Register what answers for a dispatch mode or a class of tensors: ``func(mode, func, types, args, kwargs)``."""
    return register_shown(_known(op), torch_dispatch_class, func)


def _dispatch_has_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Tell whether an operator has a kernel for a dispatch key.

    Args:
        name: its name, with namespace and overload.
        key: the key, or its name.

    Raises:
        RuntimeError: there is no such operator, or no such key.
    """
    key = key_of(key).name
    own = found_operator(name, missing=True)
    if own is not None:
        return key in own._kernels
    if not _dispatch_has_kernel(name.partition(".")[0]):
        raise RuntimeError(f"operator {name} does not exist")
    full = name.removeprefix("aten::")
    if key in aten_kernels.KERNELS.get(full, {}):
        return True
    return key == IMPLICIT if aten_kernels.is_composite(full) else key in ("CPU", "Meta", "Autograd")


def _dispatch_has_kernel(name: str) -> bool:
    """Tell whether a program has registered an operator of this name, or PyTorch has it."""
    ns, _, own = name.partition("::")
    return found_operator(name, missing=True) is not None or (ns == "aten" and hasattr(namespace("aten"), own))


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A library for a block."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()

"""Kernels that programs register for operators of ``aten``, in place of those that are here.

Note [Kernels for aten]
``Library("aten", "IMPL").impl(name, fn, key)`` makes an operator call ``fn``. As long as nobody has done that nothing
here is asked. Then operators and functions are shown to what has these kernels as to a dispatch mode (Note [Dispatch]
in ``bindings/dispatching.py``), in all threads, after all modes. A kernel for a device computes below what records: the
node and its formulas stay the operator's, and the backward pass calls operators that are replaced, too. One for
``Autograd`` is called in its place, and what it calls is recorded; so is one for ``CompositeImplicitAutograd``, of what
PyTorch composes of others (``is_composite``). An operator with a kernel of its own asks for no other, and one for
a device that there is not is kept, and never called. In its own kernel an operator is what it was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad._src.bindings.declaration.handing import overriding
from tapegrad._src.bindings.dispatching import adopted, in_words, run_operator, values_of
from tapegrad._src.bindings.schema_calls import overload_for
from tapegrad._src.bindings.shown_calls import replacements
from tapegrad._src.dispatch.call_cache import replay
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tape.modes import all_states, everywhere, switched, thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.dispatch_keys import DispatchKeySet, _dispatch_keys, key_of
from tapegrad.ops.operator import TABLE
from tapegrad.ops.overloads import OpOverload, ShownCall, identity_of, schemas_of, shown

BACKENDS = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xla": "XLA"}
RECORDING, IMPLICIT = ("Autograd", "AutogradCPU", "AutogradCUDA"), "CompositeImplicitAutograd"
KERNELS: dict[str, dict[str, list[Callable]]] = {}
"""The kernels of operators, by name (with the overload, if it has one) and key; the last one is called."""


class _Running(threading.local):
    names: frozenset[str] = frozenset()


_running = _Running()
"""The operators whose kernel runs in this thread."""


class _Kernels:
    """A mode beneath all others, which operators are shown to."""

    sees_functions = True

    def intercept(self, op: OperatorLike, args: tuple, settings: dict[str, Any]) -> Any:
        """Run a call of an operator: by a kernel, if it has one."""
        func = identity_of(op, args)
        if kernels_of(func) is None:
            return op(*args, **settings)
        call = in_words(op, func, args, settings)
        recording = chosen(func, RECORDING)
        if recording is not None:
            with called(func):
                return recording(*call.args, **call.kwargs)
        found: list[Any] = []

        def meant(args: tuple, kwargs: dict[str, Any]) -> Any:
            return run_operator(op, func, call, args, kwargs, settings)

        def values() -> Any:
            with switched(grad=False), shown(ShownCall(func, call.args, call.kwargs, meant)):
                found.append(self.__torch_dispatch__(func, (), call.args, dict(call.kwargs)))
            return values_of(found[0])

        result = replay(op, args, settings, values)
        return adopted(found[0], result)

    intercept.lasts = True  # type: ignore[attr-defined]

    def __torch_dispatch__(self, func: OpOverload, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Run a call below what records."""
        tensors = [one for one in args if isinstance(one, Tensor)]
        where = tensors[0].device.type if tensors else "cpu"
        kernel = chosen(func, (BACKENDS.get(where, where),))
        if kernel is None:
            return func(*args, **(kwargs or {}))
        with called(func):
            return kernel(*args, **(kwargs or {}))


_INTERCEPT = _Kernels().intercept


def kernels_of(func: OpOverload) -> dict[str, list[Callable]] | None:
    """The kernels of an operator, but in one of them."""
    name = name_of(func)
    return None if name in _running.names else KERNELS.get(name)


def name_of(func: OpOverload) -> str:
    """The name of an operator, with its overload if that has one: ``mul.Tensor``."""
    return func._opname if func._overloadname == "default" else f"{func._opname}.{func._overloadname}"


def chosen(func: OpOverload, keys: tuple[str, ...]) -> Callable | None:
    """The kernel of an operator for one of these keys."""
    known = kernels_of(func) or {}
    return next((known[key][-1] for key in keys if known.get(key)), None)


@contextmanager
def called(func: OpOverload) -> Iterator[None]:
    """A block in which a kernel of an operator runs: others have theirs, and it is itself."""
    with inside(name_of(func)):
        interceptors, modes = thread.interceptors, thread.modes
        thread.interceptors = (*interceptors, _INTERCEPT)
        thread.modes = modes.replace(intercepted=True)
        try:
            yield
        finally:
            thread.interceptors, thread.modes = interceptors, modes


@contextmanager
def inside(name: str) -> Iterator[None]:
    """A block in which an operator of this name has no kernels of a program's."""
    before, _running.names = _running.names, _running.names | {name}
    try:
        yield
    finally:
        _running.names = before


def composite(name: str) -> Callable[..., Any]:
    """A function that is called in place of one which PyTorch composes of others."""

    def replaced(*args: Any, **kwargs: Any) -> Any:
        known = {} if name in _running.names else KERNELS.get(name, {})
        given = next((known[key][-1] for key in (*RECORDING, "CPU", IMPLICIT) if known.get(key)), None)
        if given is None:
            return NotImplemented
        args = as_list(name, args)
        found = overload_for(name, args, kwargs, made=False)
        words = (args, kwargs) if found is None else found[0].shown(found[1])
        with inside(name):
            return given(*words[0], **words[1])

    return replaced


COMPOSED = frozenset(("isclose", "isfinite", "isreal", "matmul", "one_hot"))
"""Operators here that PyTorch composes of others."""


def is_composite(name: str) -> bool:
    """Tell whether PyTorch composes a function of others: nothing else in the table has its name."""
    base = name.partition(".")[0]
    return base in COMPOSED or not any(
        op.aten.partition(".")[0] == base if isinstance(op.aten, str) else op.aten is not None and own == base
        for own, op in TABLE.items()
    )


def as_list(name: str, args: tuple) -> tuple:
    """Arguments with a list of tensors where the operator takes one, and ``torch.einsum``, say, one by one."""
    schema = next(iter(schemas_of(name).values()), None)
    first = next((place for place, one in enumerate(args) if isinstance(one, Tensor)), len(args))
    takes = [] if schema is None else [one.type for one in schema.arguments if not one.kwarg_only]
    listed = first if schema is None else first < min(len(args), len(takes)) and takes[first].startswith("Tensor[")
    return (*args[:first], list(args[first:])) if listed else args


def register(name: str, key: str, fn: Callable, with_keyset: bool = False) -> Callable[[], None]:
    """Register a kernel of an operator of ``aten``, and give what takes it back.

    Args:
        name: its name, with the overload.
        key: the name of a dispatch key.
        fn: the kernel.
        with_keyset: whether it gets the dispatch keys first.
    """
    name = name.removesuffix(".default")

    def with_keys(*args: Any, **kwargs: Any) -> Any:
        found = next((_dispatch_keys(one) for one in args if isinstance(one, Tensor)), DispatchKeySet())
        return fn(found if key in RECORDING else found & DispatchKeySet(key_of(key)), *args, **kwargs)

    kernel = with_keys if with_keyset else fn
    KERNELS.setdefault(name, {}).setdefault(key, []).append(kernel)
    if is_composite(name):
        replacements[name.partition(".")[0]] = composite(name)
    _install()

    def undo() -> None:
        kept = KERNELS[name][key]
        kept.remove(kernel)
        if not kept:
            del KERNELS[name][key]
        if not KERNELS[name]:
            del KERNELS[name]
            replacements.pop(name.partition(".")[0], None)
        _install()

    return undo


def _install() -> None:
    """Let all threads ask for kernels as long as there are any."""
    wanted = bool(KERNELS)
    if wanted == (everywhere.interceptor is not None):
        return
    everywhere.interceptor = _INTERCEPT if wanted else None
    overriding.admit(modes=1 if wanted else -1)
    for state in all_states():
        others = tuple([one for one in state.interceptors if one is not _INTERCEPT])
        state.interceptors = (_INTERCEPT, *others) if wanted else others
        state.modes = state.modes.replace(intercepted=bool(state.interceptors))

"""Questions of programs to the compiler, and their marks on functions for it. Python is captured: marks change nothing.

>>> torch.compiler.is_compiling()
False
>>> seen = []
>>> _ = torch.compile(lambda x: seen.append(torch.compiler.is_compiling()) or x + 1)(torch.ones(1))
>>> seen
[True]
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ContextDecorator, contextmanager
from typing import Any, TypeVar

from tapegrad._src.caches import clear_caches
from tapegrad._src.execution.data.sizes import exporting
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad.compiler.settings import BACKENDS, REGISTERED

F = TypeVar("F", bound=Callable)

EXPERIMENTAL = frozenset({"eager", "eager_noexcept", "aot_eager"})
"""Backends that PyTorch lists only when it is asked for all of them."""


STANCES = (
    "default", "eager_then_compile", "aot_eager_then_compile", "force_eager", "eager_on_recompile", "fail_on_recompile",
)  # fmt: skip
"""PyTorch's names of stances."""


class _Tracing(threading.local):
    on = False


_tracing = _Tracing()


@contextmanager
def tracing() -> Iterator[None]:
    """A block in which the calls of a function are recorded as graphs."""
    before, _tracing.on = _tracing.on, True
    try:
        yield
    finally:
        _tracing.on = before


def is_compiling() -> bool:
    """Tell whether the calling thread runs a function that ``torch.compile`` captures."""
    return capturing.by is not None or _tracing.on


def is_dynamo_compiling() -> bool:
    """As ``is_compiling``: there is one compiler."""
    return is_compiling()


def is_exporting() -> bool:
    """Tell whether the calling thread runs a module that ``torch.export`` traces."""
    return exporting.on


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, or what gives it back: a call of it is captured as the rest of the step is.

    What it does besides computing is seen by the compiler, which then runs the Python of the step at each call.

    Raises:
        AssertionError: ``fn`` can't be called.
    """
    if fn is None:
        return disable
    if not callable(fn):
        raise AssertionError("fn must be callable")
    return fn


class set_stance(ContextDecorator):
    """The care that the compiler takes, in PyTorch: accepted as a call, a context and a decorator; it changes nothing.

    Args:
        stance: its name.
        skip_guard_eval_unsafe, force_backend: accepted.

    Raises:
        RuntimeError: no such stance; a backend with one that isn't the default.
    """

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
        if stance not in STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


def allow_in_graph(fn: Any) -> Any:
    """The function itself, or each of several: all functions are allowed.

    Raises:
        AssertionError: it can't be called.
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(one) for one in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: F) -> F:
    """The function itself: what it gives is found out, and needn't be assumed."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """A new step begins, which is of no account: results are memory of their own."""


def reset() -> None:
    """Forget all that was compiled. It is compiled again when it is needed."""
    clear_caches()


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    """The names of backends: those that were registered, and PyTorch's own, which mean XLA.

    Args:
        exclude_tags: backends with one of these tags are left out.
    """
    hidden = set(exclude_tags or ())
    known = {name for name, (_, tags) in REGISTERED.items() if not tags & hidden}
    return sorted(known | (BACKENDS - (EXPERIMENTAL if exclude_tags else set())))

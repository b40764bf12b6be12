"""The arguments of ``compile`` that say how: PyTorch's, of which XLA needs none. Refused is what PyTorch refuses."""

from __future__ import annotations

from typing import Any

from tapegrad.compiler.options import check_options
from tapegrad.errors import message

BACKENDS = frozenset({"inductor", "eager", "eager_noexcept", "aot_eager", "cudagraphs", "openxla", "tvm"})
"""PyTorch's names of compilers. All mean XLA here."""

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
"""PyTorch's names of what its compiler should strive for."""


class InvalidBackend(RuntimeError):
    """There is no compiler of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


def check_settings(model: Any, backend: Any, mode: Any, options: Any, dynamic: Any, disable: bool) -> None:
    """Refuse what PyTorch refuses, in its words.

    Raises:
        RuntimeError: both a mode and options; a mode, a backend (``InvalidBackend``), or options that PyTorch has not.
        AssertionError: ``model`` can't be called; ``dynamic`` is no bool.
        NotImplementedError: the backend is a function: there is no graph that it could be given.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if callable(backend):
        what = "compile(): the backend is a function, which would be given a graph of PyTorch's"
        hint = (
            "leave backend= out, XLA compiles the program; to see its operators, call the function under a "
            "TorchDispatchMode, and to compile it otherwise, hand interop.to_jax(function) to that compiler"
        )
        raise NotImplementedError(message(what, hint=hint))
    if backend not in (None, *BACKENDS):
        raise InvalidBackend(backend)
    if mode is not None and mode not in MODES and backend in (None, "inductor"):
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if options and backend in (None, "inductor"):
        check_options(options)
    if disable:
        return
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if not isinstance(dynamic, (bool, type(None))):
        raise AssertionError(f"Expected enable to be a bool, got {type(dynamic)}")

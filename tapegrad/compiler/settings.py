"""The arguments of ``compile`` that say how: PyTorch's, of which XLA needs none. Refused is what PyTorch refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.declaring import on_demand
from tapegrad.compiler.options import check_options

__getattr__, _ = on_demand(__name__, {})

BACKENDS = frozenset({"inductor", "eager", "eager_noexcept", "aot_eager", "cudagraphs", "openxla", "tvm"})
"""PyTorch's names of compilers. All mean XLA here."""

REGISTERED: dict[str, tuple[Callable, frozenset[str]]] = {}
"""The backends that programs have given names, with their tags (``_dynamo/backends/registry.py``)."""

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
"""PyTorch's names of what its compiler should strive for."""


def graphs_compiled(function: Callable, fullgraph: bool, backend: Any, mode: Any, options: Any) -> Any:
    """A function whose calls are graphs, which a backend compiles: see Note [Graphs for backends].

    Args:
        function, fullgraph, mode, options: as for ``compile``.
        backend: the backend, or a name that it was registered under.
    """
    told = {} if mode in (None, "default") else {"mode": mode}
    told |= {} if options is None else {"options": options}
    return __getattr__("GraphCompiled")(function, fullgraph, REGISTERED.get(backend, (backend,))[0], told)


class InvalidBackend(RuntimeError):
    """There is no compiler of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


def check_settings(model: Any, backend: Any, mode: Any, options: Any, dynamic: Any, disable: bool) -> None:
    """Refuse what PyTorch refuses, in its words.

    Raises:
        RuntimeError: both a mode and options; a mode, a backend (``InvalidBackend``), or options that PyTorch has not.
        AssertionError: ``model`` can't be called; ``dynamic`` is no bool.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if not callable(backend) and backend is not None and backend not in BACKENDS and backend not in REGISTERED:
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

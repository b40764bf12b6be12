"""``torch._dynamo.backends.registry``: names of backends, which ``torch.compile`` takes as it takes functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.compiler import list_backends
from tapegrad.compiler.settings import BACKENDS, REGISTERED, InvalidBackend
from tapegrad.compiler.step import compile

__all__ = ["CompilerFn", "list_backends", "lookup_backend", "register_backend"]

CompilerFn = Callable[..., Callable[..., Any]]
"""A function of a ``torch.fx.GraphModule`` and a list of example inputs, which gives what is called in its place."""


def register_backend(compiler_fn: Any = None, name: str | None = None, tags: Sequence[str] = ()) -> Any:
    """Give a backend a name, by which ``torch.compile`` takes it; without the function a decorator.

    Args:
        compiler_fn: the backend: a function of a ``torch.fx.GraphModule`` and its example inputs.
        name: its name; the function's own, if there is none.
        tags: ``"debug"`` or ``"experimental"``, if ``list_backends()`` is not to list it.

    Raises:
        AssertionError: there is one of this name; or it is no function.

    >>> @register_backend
    ... def seen_first(gm, example_inputs):
    ...     print(len(gm.graph.nodes), "nodes")
    ...     return gm.forward
    >>> torch.compile(lambda x: x + 1, backend="seen_first")(torch.ones(2))
    3 nodes
    tensor([2., 2.])
    >>> "seen_first" in torch._dynamo.list_backends()
    True
    """
    if compiler_fn is None:
        return lambda function: register_backend(function, name, tags)
    if not callable(compiler_fn):
        raise AssertionError(f"compiler_fn must be callable, got {type(compiler_fn)}")
    name = name or compiler_fn.__name__
    if name in REGISTERED or name in BACKENDS:
        raise AssertionError(f"duplicate name: {name}")
    REGISTERED[name] = compiler_fn, frozenset(tags)
    return compiler_fn


def lookup_backend(compiler_fn: Any) -> CompilerFn:
    """The backend of a name; a function itself.

    Of PyTorch's own, ``eager`` and ``aot_eager`` run the graph as it is, and the others compile it with XLA.

    Raises:
        torch._dynamo.exc.InvalidBackend: there is none of this name.

    >>> gm = torch.fx.symbolic_trace(lambda x: x * 2)
    >>> lookup_backend("eager")(gm, [torch.ones(1)])(torch.ones(1))
    tensor([2.])
    """
    if not isinstance(compiler_fn, str):
        return compiler_fn
    if compiler_fn in REGISTERED:
        return REGISTERED[compiler_fn][0]
    if compiler_fn not in BACKENDS:
        raise InvalidBackend(compiler_fn)
    return {"eager": eager, "eager_noexcept": eager, "aot_eager": eager}.get(compiler_fn, by_xla)


def eager(gm: Any, fake_tensor_inputs: list[Any], **kwargs: Any) -> Callable[..., Any]:
    """A function that runs a graph as it is."""
    return gm.forward


def by_xla(gm: Any, example_inputs: list[Any], **kwargs: Any) -> Callable[..., Any]:
    """A function that runs a graph as a program of XLA."""
    return compile(gm.forward)

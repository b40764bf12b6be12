"""CompiledModules: the outermost modules that a call enters, each compiled by itself where the call can't be replayed.

Note [Compiled modules]
A step that prints, reads a clock or asks for the loss can't be left out. But most of what it computes is in its models,
whose calls can: so the modules that it calls, and that no other module has called, are compiled as ``torch.compile``
does it with a module. While such a step runs at once they have a ``_compiled_call_impl``, which ``Module.__call__``
calls; it is taken away again in the end. What they return has a history (Note [Histories that leave a call]), whose
backward pass is a program, too.

A module whose calls can't be replayed either is asked for those that it calls in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

CALL = "_compiled_call_impl"
"""The attribute by which a module is called, if it has that."""

MOST = 16
"""So many modules of one step are compiled by themselves."""


class CompiledModule(NamedTuple):
    """A module, and what calls it: a ``Compiled``."""

    module: Any
    call: Any


class CompiledModules:
    """The modules that the calls of one function enter.

    Args:
        compile: makes a ``Compiled`` of a function.

    Attributes:
        latest: those of the last call that was captured.
    """

    def __init__(self, compile: Callable[[Callable], Any]) -> None:
        self._compile = compile
        self._known: dict[int, CompiledModule] = {}
        self.latest: Sequence[CompiledModule] = ()

    def of(self, modules: Sequence[Any]) -> Sequence[CompiledModule]:
        """Those of a call that enters some modules; none, if they are others in each call."""
        found = []
        for module in modules:
            known = self._known.get(id(module))
            if known is None and module.__dict__.get(CALL) is None and len(self._known) < MOST:
                known = self._known[id(module)] = CompiledModule(module, self._compile(module._call_impl))
            if known is not None:
                found.append(known)
        self.latest = tuple(found)
        return self.latest


@contextmanager
def compiled(modules: Sequence[CompiledModule]) -> Iterator[None]:
    """Have some modules compiled, in a block."""
    mine = [(module.__dict__, call) for module, call in modules if call.pays and module.__dict__.get(CALL) is None]
    try:
        for inside, call in mine:
            inside[CALL] = call
        yield
    finally:
        for inside, call in mine:
            if inside.get(CALL) is call:
                del inside[CALL]

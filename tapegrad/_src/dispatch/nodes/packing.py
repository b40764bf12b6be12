"""The time at which hooks on saved tensors get results of functions that write: after the write, which they may
interrupt.

A hook may raise. What it gets of an operator's inputs comes before the kernel, and may prevent it; a function in place
has written its result when a hook gets that, as in PyTorch, where the write is part of the kernel.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tapegrad._src.tape.modes import thread


class EverythingSavedError(Exception):
    """Raised by a hook that has got all that it wants."""


class Writing:
    """A block that runs operators and writes the result of the last one, while hooks on saved tensors are in force.

    Args:
        saves_results: whether hooks get something after the write, in PyTorch, that no hook gets here: then
            ``EverythingSavedError``, which is raised for the last tensor that is saved, comes after the write.

    Attributes:
        replayed: whether the results come from an earlier run, so that nothing is to be written.
    """

    __slots__ = ("saves_results", "waiting", "outer", "error", "replayed")

    def __init__(self, saves_results: bool = False) -> None:
        self.saves_results, self.error, self.replayed = saves_results, None, False
        self.waiting: tuple[Any, tuple] | None = None

    def __enter__(self) -> Writing:
        self.outer, thread.writing = thread.writing, self
        return self

    def __exit__(self, error: Any, *exception: object) -> None:
        thread.writing = self.outer
        if error is None:
            if self.error is not None:
                raise self.error
            self.pack()

    def keep(self, node: Any, outputs: tuple) -> None:
        """Let hooks get these outputs of a node when they are written, or when another node saves something."""
        self.pack()
        self.waiting = node, outputs

    def pack(self) -> None:
        """Let hooks get the outputs that wait."""
        if self.waiting is not None:
            (node, outputs), self.waiting = self.waiting, None
            node.pack_outputs(outputs)


_DIRECT = nullcontext(Writing())


def while_writing(saves_results: bool = False) -> AbstractContextManager[Writing]:
    """The block for a function that writes: a ``Writing`` where there are hooks."""
    return Writing(saves_results) if thread.modes.saved_hooks else _DIRECT

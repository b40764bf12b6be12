"""Tensors whose values are computed later: what a program sees of calls that are recorded and have not been run.

Note [Calls that are run later]
A call that is recorded is made once in a capture (``compiler/capture/capture.py``), which computes nothing: its results
have shape, dtype, history and everything but elements. They are *shadows*. Before the graph is run, all that was there
before is made what it was (``undo``); then each shadow *becomes* the result of the graph that it stands for: the same
object of Python, with the value, the memory and the history of that result. Whoever asks for elements in between has
the graph run first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.tape.hooks import making
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.compiler.capture.capture import Capture, DataDependentError, captured

STATE = tuple(name for name in Tensor.__annotations__ if name not in ("_value", "_spec", "_edge"))
"""The state of a tensor that is in its dictionary, where it has any."""


class ShadowCapture(Capture):
    """A capture of single calls; ``wanted`` is called when somebody asks for elements outside of them."""

    __slots__ = ("wanted",)

    def __init__(self, wanted: Callable[[], None]) -> None:
        super().__init__(splits=False)
        self.wanted: Callable[[], None] | None = wanted

    def made(self, call: Callable[[], Any]) -> tuple[bool, Any]:
        """Make a call, and give its result; or say that it asks for elements.

        Returns:
            Whether the call was made, and its result.
        """
        try:
            return True, captured(self, call)
        except DataDependentError:
            if self.refused is None:
                raise
            self.refused = None
            return False, None

    def evaluate(self, value: Any) -> Any:
        """The elements of a result, which somebody asks for outside of a call: the graph is run."""
        wanted, self.wanted = self.wanted, None
        if wanted is not None:
            wanted()
        return super().evaluate(value)


def become(shadow: Tensor, result: Tensor) -> None:
    """Make a shadow the result that it stands for.

    Args:
        shadow: the tensor that the program has.
        result: what the graph gave; nobody else has it.
    """
    inside, given = shadow.__dict__, result.__dict__
    for name in STATE:
        inside.pop(name, None)
        if name in given:
            inside[name] = given[name]
    shadow._value, shadow._spec, shadow._edge = result._value, result._spec, result._edge
    storage = result._storage
    if storage is None:
        return
    with making:
        storage.admit(shadow)
        for member in storage.living():
            if member._view is not None and member._view.base is result:
                member._view.base = shadow

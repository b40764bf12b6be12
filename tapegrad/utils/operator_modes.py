"""Contexts that see each operator by the name that PyTorch gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tape.modes import thread, watching
from tapegrad.ops.overloads import OpOverload, identity_of
from tapegrad.ops.wording import NAMES


class OperatorMode:
    """A context in which every call of an operator is given to ``handle``; it may be entered again once it is left.

    Attributes:
        sees_functions: whether it sees functions that are no operators, and the backward pass, too.
    """

    sees_functions = False
    _entered: tuple[AbstractContextManager[None], ...] = ()  # of the class: not all subclasses call its __init__

    def handle(self, op: OperatorLike, func: OpOverload, args: tuple, settings: dict) -> Any:
        """Answer a call of ``op``, whose PyTorch name is ``func``, usually by ``op(*args, **settings)``."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        context = watching(interceptor=self._intercept)
        context.__enter__()
        self._entered = (*self._entered, context)
        return self

    def __exit__(self, *exception: Any) -> None:
        self._entered, context = self._entered[:-1], self._entered[-1]
        context.__exit__(*exception)

    @contextmanager
    def again(self) -> Iterator[None]:
        """A block in which it gets calls once more, while it has one."""
        interceptors, modes = thread.interceptors, thread.modes
        thread.interceptors = (*interceptors, self._intercept)
        thread.modes = modes.replace(intercepted=True)
        try:
            yield
        finally:
            thread.interceptors, thread.modes = interceptors, modes

    def _intercept(self, op: OperatorLike, args: tuple, settings: dict) -> Any:
        return self.handle(op, identity_of(op, args), args, settings)


def in_pytorch_words(settings: dict) -> dict:
    """The settings of an operator by PyTorch's names, with lists for tuples."""
    return {
        NAMES.get(name, name): list(value) if isinstance(value, tuple) else value
        for name, value in settings.items()
    }


def each_output(out: Any, function: Callable[[Any], Any]) -> Any:
    """``function`` of the output of an operator, or of each of several."""
    return tuple(map(function, out)) if isinstance(out, tuple) else function(out)

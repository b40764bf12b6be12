"""Rules: how NumPy says each of jax's primitives. The table that they make is ``RULES``.

A rule is called ``rule(writer, equation)``, with a ``Writer`` and an ``Equation`` of ``writer.py``, and gives an
expression of Python for each output of the equation, as a string or an ``Operand``; one, or a tuple of them. It may
write lines of its own before (``writer.assigned``), and raises ``Unwritable`` for what it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jax.extend.core import JaxprEqn

RULES: dict[str, Callable] = {}
"""The rules by the names of the primitives."""


def rule(*primitives: str) -> Callable[[Callable], Callable]:
    """Make a function the rule of some primitives."""

    def register(function: Callable) -> Callable:
        for primitive in primitives:
            assert primitive not in RULES, primitive
            RULES[primitive] = function
        return function

    return register


class Unwritable(Exception):
    """A kernel has a primitive that has no rule, or is used in a way that its rule does not know; names it."""


class Operand(NamedTuple):
    """An input of an equation as it is written: an expression, and the shape of the array that it gives."""

    source: str
    shape: tuple[Any, ...]


class Equation:
    """An equation of a jaxpr, as rules see it.

    Attributes:
        primitive: its name; ``params``: its parameters.
        operands: its inputs as they are written, perhaps not yet broadcast; ``avals``: their shapes and dtypes.
        results: shapes and dtypes of its outputs; ``wanted``: which of them anybody reads.
    """

    def __init__(self, equation: JaxprEqn, operands: Sequence[Operand], wanted: Sequence[bool]) -> None:
        self.primitive = equation.primitive.name
        self.params = equation.params
        self.operands = list(operands)
        self.avals: list[Any] = [atom.aval for atom in equation.invars]
        self.results: list[Any] = [variable.aval for variable in equation.outvars]
        self.wanted = wanted

    @property
    def aval(self) -> Any:
        """Shape and dtype of its only output."""
        (aval,) = self.results
        return aval

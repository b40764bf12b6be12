"""Rules: how NumPy says each of jax's primitives. The table that they make is ``RULES``.

A rule is called ``rule(writer, equation)``, with a ``Writer`` of ``writer.py`` and an ``Equation``, and gives an
``Operand`` for each output of the equation, or an expression, of an array that has the output's shape; one, or a tuple
of them. It may write statements before (``writer.named``), and raises ``Unwritable`` for what it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jax.extend.core import JaxprEqn, Var

from tapegrad._src.execution.numpy_backend.operands import Operand, broadcast

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


class Equation:
    """An equation of a jaxpr, as rules see it.

    Attributes:
        primitive: its name; ``params``: its parameters.
        operands: its inputs as they are written, perhaps not yet broadcast; ``avals``: their shapes and dtypes.
        results: shapes and dtypes of its outputs; ``wanted``: which of them anybody reads.
    """

    def __init__(self, equation: JaxprEqn, operands: list[Operand], uses: Mapping[Var, int]) -> None:
        self.primitive = equation.primitive.name
        self.params = equation.params
        self.operands = operands
        self.avals: list[Any] = [atom.aval for atom in equation.invars]
        self.results: list[Any] = [variable.aval for variable in equation.outvars]
        self.wanted = [uses[variable] > 0 for variable in equation.outvars]

    @property
    def aval(self) -> Any:
        """Shape and dtype of its only output."""
        (aval,) = self.results
        return aval

    def full(self, index: int) -> Operand:
        """An input, an array of the shape that its variable has."""
        return broadcast(self.operands[index], self.avals[index].shape)

    def inputs(self, first: int = 0, end: int | None = None) -> tuple[Operand, ...]:
        """All inputs in full, or some."""
        return tuple([self.full(index) for index in range(len(self.operands))[first:end]])

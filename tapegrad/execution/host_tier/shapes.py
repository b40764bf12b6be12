"""Rules of what moves elements: reshapes, transpositions, broadcasts, slices, joins."""

from __future__ import annotations

from typing import Any

from tapegrad.execution.host_tier.rules import Operand, rule


@rule("broadcast_in_dim")
def broadcast_in_dim(writer: Any, equation: Any) -> Any:
    """Late: see Note [Broadcast late] in ``writer.py``."""
    shape, places = equation.params["shape"], equation.params["broadcast_dimensions"]
    source, given = equation.operands[0]
    given = (1,) * (len(places) - len(given)) + tuple(given)
    first = min(places, default=len(shape))
    new = [1] * (len(shape) - first)
    for place, size in zip(places, given, strict=True):
        new[place - first] = size
    if tuple(new) != tuple(equation.operands[0].shape):
        source = f"{source}.reshape({writer.shape(new)})"
    return Operand(source, tuple(new))


@rule("reshape")
def reshape(writer: Any, equation: Any) -> str:
    """``numpy.ndarray.reshape``."""
    return f"{writer.full(equation, 0)}.reshape({writer.shape(equation.params['new_sizes'])})"


@rule("squeeze")
def squeeze(writer: Any, equation: Any) -> str:
    """A reshape, too."""
    return f"{writer.full(equation, 0)}.reshape({writer.shape(equation.aval.shape)})"


@rule("transpose")
def transpose(writer: Any, equation: Any) -> str:
    """``numpy.ndarray.transpose``."""
    return f"{writer.full(equation, 0)}.transpose({tuple(equation.params['permutation'])})"

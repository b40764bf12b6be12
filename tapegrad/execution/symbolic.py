"""Kernels that are traced with symbols in place of lengths. See Note [Structures] in ``dispatch/structures.py``."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import export

from tapegrad.execution.costs import Cost, cost_of
from tapegrad.execution.host_tier.rules import Unwritable
from tapegrad.execution.host_tier.writer import written_jaxpr
from tapegrad.execution.tiering import HostFunction, dtypes_of


class General(NamedTuple):
    """A kernel of a structure, written for the host.

    Attributes:
        body: the function of the symbols that are ``free``, of the floats, and of the arguments.
        least: what a call costs whatever the lengths; ``cost``: what it costs at those it was first asked for with.
        dtypes: the dtype of each argument, or None for one that is absent.
    """

    body: Callable
    free: Sequence[str]
    least: Cost
    cost: Cost
    dtypes: tuple[Any, ...]

    def at(self, growth: float, numbers: dict[str, Any]) -> HostFunction:
        """The function for other numbers, by their names, where results have ``growth`` times as many elements."""
        floats = [np.asarray(number) for name, number in numbers.items() if name[0] == "p"]
        first = [*map(numbers.get, self.free), *floats]
        body = partial(self.body, *first) if first else self.body
        cost = Cost(*(least + (cost - least) * growth for least, cost in zip(self.least, self.cost, strict=True)))
        return HostFunction(body, cost, self.dtypes)


def symbols(names: Sequence[str], constraints: Sequence[str]) -> dict[str, Any]:
    """A length that is not known for each name, of which no more is known than the constraints say.

    >>> symbols(["n", "m"], ["n >= 2", "m >= n"])
    {'n': n, 'm': m}
    """
    if not names:
        return {}
    return dict(zip(names, export.symbolic_shape(", ".join(names), constraints=constraints), strict=True))


def traced(function: Callable, arguments: Sequence[Any]) -> tuple[Any, Any]:
    """The jaxpr of a function, and shapes and dtypes of what it gives, for arguments as ``Kernel`` describes them."""
    examples = [one(1) if isinstance(one, type) else jax.ShapeDtypeStruct(*one) for one in arguments]
    with jax.enable_x64(True):
        return jax.make_jaxpr(function, return_shape=True)(*examples)


def general(closed: Any, tree: Any, floats: int, lengths: dict[str, int]) -> General | None:
    """What ``traced`` gave, written for the host; None if it can't be written.

    The first ``floats`` arguments are no arguments of the kernel's. ``lengths`` are an example.
    """
    try:
        body, _, free = written_jaxpr(closed, tree)
    except Unwritable:
        return None
    least, cost = cost_of(closed, dict.fromkeys(lengths, 0)), cost_of(closed, lengths)
    variables = closed.jaxpr.invars[floats:]
    return General(body, free, least, cost, dtypes_of(variables, [True] * len(variables)))


def let_frames_go() -> None:
    """Free what a trace with symbols leaves behind: errors and frames that hold each other, and all frames outside.

    In these are the user's tensors, which would live until some later collection.
    """
    gc.collect(0)

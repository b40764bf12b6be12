"""Functions for which NumPy has a better way than to do what their equations say.

Note [Forms]
What is written for the host does what a kernel's jaxpr says, equation by equation. Where that is a loop in place of a
function that NumPy has, such as a binary search, the function for the host is declared beside the one for jax::

    @on_host(searched)
    def _searched(ascending, values, *, right): ...

In a jaxpr it is one equation then, a ``composite``, of which XLA compiles what is inside. It takes arrays by position,
and settings by name. What ``vmap`` makes of it is what is inside, mapped; what jax differentiates is what is inside, if
it is declared to be ``smooth``, and nothing if not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap

from tapegrad.execution.host_tier.rules import rule


class Form(NamedTuple):
    """A function for the host, and about how many nanoseconds it takes for each element."""

    function: Callable[..., np.ndarray]
    nanoseconds: float


FORMS: dict[str, Form] = {}
"""The functions for the host by the names of the equations."""


def on_host(
    form: Callable[..., np.ndarray], smooth: bool = False, nanoseconds: float = 60.0
) -> Callable[[Callable], Callable]:
    """Declare what the host calls in place of an array function that gives one array. See Note [Forms].

    >>> doubled = on_host(lambda x: x + x)(lambda x: 2 * x)
    >>> float(doubled(np.float32(3)))
    6.0
    """

    def declare(function: Callable) -> Callable:
        name = f"tapegrad.{function.__name__}"
        FORMS[name] = Form(form, nanoseconds)
        composite = lax.composite(function, name)

        def call(*arrays: Any, **settings: Any) -> Any:
            @custom_vmap
            def whole(*arrays: Any) -> Any:
                return composite(*arrays, **settings)

            @whole.def_vmap
            def mapped(size: int, batched: list[bool], *arrays: Any) -> tuple[Any, bool]:
                axes = [0 if is_batched else None for is_batched in batched]
                return jax.vmap(partial(function, **settings), axes, axis_size=size)(*arrays), True

            if not smooth:
                return whole(*lax.stop_gradient(arrays))
            differentiable = jax.custom_jvp(whole)
            differentiable.defjvp(partial(jax.jvp, partial(function, **settings)))
            return differentiable(*arrays)

        return call

    return declare


@rule("composite")
def composite(writer: Any, equation: Any) -> tuple[str]:
    """A call of the function that is declared."""
    settings = {key: repr(tree.unflatten(leaves)) for key, leaves, tree in equation.params["attributes"]}
    return (writer.call(FORMS[equation.params["name"]].function, equation, **settings),)

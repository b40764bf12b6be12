"""Functions for which NumPy has a better way than to do what their equations say.

Note [Forms]
What is written for the host does what a kernel's jaxpr says, equation by equation. Where that is a loop in place of a
function that NumPy has, such as a binary search, the function for the host is declared beside the one for jax::

    @on_host(searched, smooth=False)
    def _searched(ascending, values, *, right): ...

In a jaxpr it is one equation then, a ``composite``, of which XLA compiles what is inside. It takes arrays by position,
and settings by name. What ``vmap`` makes of it is what is inside, mapped; what jax differentiates is what is inside;
nothing, if it is declared not to be ``smooth``, as a place in an order.

Where lengths are symbols (Note [Shape classes] in ``dispatch/shape_class.py``) jax could often not trace what is
inside: a scan has as many steps as its length says. If it is declared which array comes out (``gives``), nothing inside
is traced there, for such a jaxpr is never XLA's; and what that would cost is told by figures. What is exported is
XLA's, and what is inside stands in its program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax.custom_batching import custom_vmap
from jax.extend.core import Primitive

from tapegrad._src.execution.data.sizes import exporting
from tapegrad._src.execution.numpy_backend.operands import call, rule


class Form(NamedTuple):
    """A function for the host, and about how many nanoseconds it takes for each element, and XLA for what is inside."""

    function: Callable[..., np.ndarray]
    nanoseconds: float
    by_xla: float = 5.0


FORMS: dict[str, Form] = {}
"""The functions for the host by the names of the equations."""


def on_host(
    form: Callable[..., np.ndarray],
    smooth: bool = True,
    nanoseconds: float = 60.0,
    gives: Callable[..., tuple] | None = None,
) -> Callable[[Callable], Callable]:
    """Declare what the host calls in place of an array function that gives one array. See Note [Forms].

    Without ``smooth`` its results have no derivatives. ``gives(*arrays, **settings)`` is the shape and the dtype of
    that one, for arrays of any lengths.

    >>> doubled = on_host(lambda x: x + x)(lambda x: 2 * x)
    >>> float(doubled(np.float32(3)))
    6.0
    """

    def declare(function: Callable) -> Callable:
        name = f"tapegrad.{function.__name__}"
        FORMS[name] = Form(form, nanoseconds)
        composite = lax.composite(function, name)

        def call(*arrays: Any, **settings: Any) -> Any:
            symbolic = any(not isinstance(size, int) for array in arrays for size in array.shape)
            if symbolic and exporting.on:
                return function(*(arrays if smooth else lax.stop_gradient(arrays)), **settings)
            if gives is not None and symbolic:
                shape, dtype = gives(*arrays, **settings)
                return unseen.bind(*arrays, name=name, shape=tuple(shape), dtype=dtype, settings=(*settings.items(),))

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


def like_last(*arrays: Any, **settings: Any) -> tuple:
    """The description of a function's result that is as its last argument."""
    return arrays[-1].shape, arrays[-1].dtype


unseen = Primitive("tapegrad_form")
"""A call of a function of which nothing is traced, as lengths are symbols."""


@unseen.def_abstract_eval
def _unseen(*avals: Any, shape: tuple, dtype: Any, **params: Any) -> Any:
    return jax.core.ShapedArray(shape, dtype)


@rule(unseen.name)
def unseen_form(writer: Any, equation: Any) -> Any:
    """The same for arrays of any lengths, which may be among the settings."""
    params = equation.params
    return call(FORMS[params["name"]].function, *equation.inputs(), **dict(params["settings"]))


@rule("composite")
def composite(writer: Any, equation: Any) -> Any:
    """A call of the function that is declared."""
    settings = {key: tree.unflatten(leaves) for key, leaves, tree in equation.params["attributes"]}
    return call(FORMS[equation.params["name"]].function, *equation.inputs(), **settings)

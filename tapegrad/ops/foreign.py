"""Functions of jax as operators: any function of arrays on the tape, differentiated by jax.

Note [Foreign operators]
An operator of the table has formulas of ours. A foreign operator is made of a jax function when somebody first asks
for it, and has none: its backward is ``jax.vjp`` of the function, compiled as one kernel like any other, with PyTorch's
convention for complex numbers (conjugates of jax's, on the way in and on the way out). On tensors (``create_graph``)
that pullback is itself a foreign operator, of the gradients and the inputs; so is the forward-mode derivative, which
is ``jax.jvp``. So derivatives of any order and any mixture of modes are there without a rule.

The pullback computes the function again from its inputs, which is all that a node saves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.execution.tiers.host_trace import staged
from tapegrad._src.tensor.spec import Spec
from tapegrad.ops.kinds import General

_OWN = "_tapegrad_operators"
"""The attribute in which a function keeps its operators, so that they live exactly as long as it does."""


class Foreign(General):
    """A jax function of arrays as an operator. See Note [Foreign operators]; made by ``foreign``.

    Args:
        function: takes arrays (or Python numbers) positionally, returns an array or a tuple of arrays.
        name: what kernels, ``repr`` and messages call it.
        node: the name of its node, if it is not ``<Name>Backward0``.
    """

    kind = "foreign"
    listed = False
    joint = True

    def __init__(self, function: Callable, name: str, node: str | None = None) -> None:
        @staged
        def kernel(*arrays: Any, x64: bool = False) -> Any:
            return function(*arrays)

        rule = lambda gs, arrays: None  # only the names count: they say what is saved
        super().__init__(kernel, {"arrays": rule}, name=name, node=node or 0)
        self.given = function
        self.__doc__ = function.__doc__
        self.derived: dict[tuple, Foreign] = {}

    def __call__(self, *args: Any, **settings: Any) -> Any:
        return super().__call__(*args, x64=settings.get("x64", jax.config.read("jax_enable_x64")))

    # -- kernels ---------------------------------------------------------------------------------------------------

    def is_wide(self, specs: Sequence, settings: dict) -> bool:
        """Tell whether jax runs in its 64-bit mode: if the process does, or an argument has a 64-bit type."""
        return settings["x64"] or any(isinstance(spec, Spec) and spec.dtype.is_64bit for spec in specs)

    def prepare(self, specs: Sequence, settings: dict) -> Callable:
        """The function in the mode that it is to be run in, though shapes are always inferred in the 64-bit one."""
        function, wide = self.given, self.is_wide(specs, settings)

        def prepared(*values: Any) -> Any:
            with jax.enable_x64(wide):
                return jax.tree.map(strong, function(*values))

        return prepared

    # -- reverse mode ----------------------------------------------------------------------------------------------

    def gradients(self, plan: Any, grads: Sequence, arrays: Sequence, wanted: tuple[bool, ...]) -> tuple:
        """The gradients of the wanted arguments, on arrays, tracers or tensors; None for the others."""
        flows = tuple(spec.dtype.category >= FLOATING for spec in plan.out_specs)
        if not any(wanted):
            return (None,) * len(wanted)
        given = [grad for grad, flowing in zip(grads, flows, strict=True) if flowing]
        results = iter(self.pullback(flows, wanted, plan.single)(*given, *arrays, x64=plan.settings["x64"]))
        return tuple(next(results) if want else None for want in wanted)

    def pullback(self, flows: tuple[bool, ...], wanted: tuple[bool, ...], single: bool) -> Foreign:
        """The operator of (gradients, arguments) that gives the gradients of the wanted arguments.

        ``flows`` tells for each output whether there are gradients of it: of integers and booleans there are none.
        """
        key = ("vjp", flows, wanted, single)
        if key not in self.derived:
            function, count = self.given, sum(flows)

            def pull(*values: Any) -> tuple:
                return pulled(function, values[:count], values[count:], wanted)

            self.derived.setdefault(key, Foreign(pull, f"{self.name}_vjp", f"{self.node.removesuffix('0')}Backward0"))
        return self.derived[key]

    # -- forward mode ----------------------------------------------------------------------------------------------

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        """The tangents of the outputs, on arrays or tensors; None for integers and booleans."""
        moves = tuple(tangent is not None for tangent in tangents)
        key = ("jvp", moves)
        if key not in self.derived:
            function, count = self.given, len(primals)

            def push(*values: Any) -> Any:
                return pushed(function, values[:count], values[count:], moves)

            self.derived.setdefault(key, Foreign(push, f"{self.name}_jvp"))
        given = [tangent for tangent in tangents if tangent is not None]
        results = self.derived[key](*primals, *given, **settings)
        outputs = out if isinstance(out, tuple) else (out,)
        flows = [is_flowing(output.dtype) for output in outputs]
        given = [result if flowing else None for result, flowing in zip(results, flows, strict=True)]
        return tuple(given) if isinstance(out, tuple) else given[0]


def foreign(function: Callable, *, name: str | None = None, node: str | None = None) -> Foreign:
    """The operator of a jax function, made when first asked for and kept as long as the function lives.

    Args:
        function: takes arrays (or Python numbers) positionally, returns an array or a tuple of arrays.
        name: of the operator; the function's own by default.
        node: the name of its node, if it is not ``<Name>Backward0``.

    >>> import jax.numpy as jnp, tapegrad as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> foreign(jnp.cumprod)(x).sum().backward()
    >>> x.grad
    tensor([3., 1.])
    """
    key = name or name_of(function), node
    known = getattr(function, _OWN, {})
    if key in known and known[key].given is function:
        return known[key]
    made = Foreign(function, *key)
    own = {key: made, **{k: op for k, op in known.items() if op.given is function}}  # functools.wraps copies attributes
    with suppress(AttributeError, TypeError):  # nothing can be put on it: the caller has to keep the operator
        setattr(function, _OWN, own)
    return made


def name_of(function: Callable) -> str:
    """The name of a function, also of one without a name of its own."""
    while not hasattr(function, "__name__") and hasattr(function, "func"):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return "lambda" if name == "<lambda>" else name.strip("_") or "function"


def strong(output: Any) -> jax.Array:
    """A result as an array, that does not promote as a Python number does: tensors know nothing of that."""
    array = jnp.asarray(output)
    return jax.lax.convert_element_type(array, array.dtype) if array.weak_type else array


def is_flowing(dtype: Any) -> bool:
    """Tell whether jax differentiates values of a dtype."""
    numpy_dtype = getattr(dtype, "numpy", dtype)
    return bool(jnp.issubdtype(numpy_dtype, jnp.inexact))


def pulled(function: Callable, grads: Sequence, arrays: Sequence, wanted: tuple[bool, ...]) -> tuple:
    """The gradients of the wanted arguments of a jax function, in PyTorch's convention.

    Args:
        grads: one for each output that has gradients.
        wanted: for each argument, whether its gradient is asked for.
    """
    chosen = [array for array, want in zip(arrays, wanted, strict=True) if want]
    outputs, pull = jax.vjp(lambda *free: function(*filled_in(arrays, free, wanted)), *chosen)
    given = iter(grads)
    cotangents = [
        jnp.conj(next(given)) if is_flowing(out.dtype) else np.zeros(jnp.shape(out), jax.dtypes.float0)
        for out in (outputs if isinstance(outputs, tuple) else (outputs,))
    ]
    results = pull(tuple(cotangents) if isinstance(outputs, tuple) else cotangents[0])
    return tuple(map(jnp.conj, results))


def pushed(function: Callable, primals: Sequence, tangents: Sequence, moves: tuple[bool, ...]) -> tuple:
    """The tangents of the outputs of a jax function: zeros of no use for integers and booleans.

    Args:
        tangents: one for each argument that has one.
        moves: for each argument, whether it has.
    """
    chosen = [primal for primal, has in zip(primals, moves, strict=True) if has]
    outputs, results = jax.jvp(lambda *free: function(*filled_in(primals, free, moves)), tuple(chosen), tuple(tangents))
    pairs = zip(outputs, results, strict=True) if isinstance(outputs, tuple) else [(outputs, results)]
    return tuple(result if is_flowing(out.dtype) else jnp.zeros((), bool) for out, result in pairs)


def filled_in(arguments: Sequence, free: Sequence, places: tuple[bool, ...]) -> list:
    """The arguments with those at the marked places taken from ``free``."""
    given = iter(free)
    return [next(given) if place else argument for argument, place in zip(arguments, places, strict=True)]

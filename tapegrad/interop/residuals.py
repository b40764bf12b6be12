"""Residuals: values that a jax function computed on the way, kept for its backward.

Note [Residuals]
``jax.vjp`` divides a function into what can be done at once and what has to wait for the gradient; what is handed from
the one to the other are the *residuals*. A call that is recorded runs the first part, keeps the residuals at its node,
and backward runs the second part: nothing is computed twice. What is kept is what jax decides to keep; a function that
is to keep less and compute more says so in jax's words (``jax.checkpoint``, with a policy).

Residuals that are arguments or results of the function are not kept again. Derivatives of higher order
(``create_graph``), calls of which somebody else decides what is kept (hooks on saved tensors, checkpoints), forward
mode and function transforms go the way of all foreign operators: they compute the function again from its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.dispatch.call_cache import replay
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.ops.foreign import Foreign, filled_in, is_flowing, strong


class Parts:
    """The two parts of a function, for arguments of certain types of which certain ones are to be differentiated.

    Args:
        function: of arrays.
        free: for each argument, whether it is to be differentiated.
        wide: whether jax is to run in its 64-bit mode.
        name: what kernels are called.
    """

    def __init__(self, function: Callable, free: tuple[bool, ...], wide: bool, name: str) -> None:
        self.function, self.free, self.wide, self.name = function, free, wide, name
        self.single = True
        self.places: list[int] = []  # of each residual, among arguments, results and what else is kept
        self.rest: Any = None  # the second part: the tree whose leaves are the residuals
        self.types: list = []  # of the results
        self.forward = Kernel(self.first, name=name, wide=wide).dispatcher()
        self.backwards: dict[tuple, Callable] = {}

    def first(self, *values: Any) -> tuple:
        """The results, and after them the residuals that are neither among these nor among the arguments."""
        chosen = [value for value, free in zip(values, self.free, strict=True) if free]
        whole = lambda *given: jax.tree.map(strong, self.function(*filled_in(values, given, self.free)))
        outputs, pull = jax.vjp(whole, *chosen)
        self.single, outputs = not isinstance(outputs, tuple), as_tuple(outputs)
        residuals, self.rest = jax.tree.flatten(pull)
        known = [*values, *outputs]
        self.places = [placed(residual, known) for residual in residuals]
        self.types = [(out.shape, out.dtype) for out in outputs]
        return tuple(known[len(values) :])

    def backward(self, defined: tuple[bool, ...], wanted: tuple[bool, ...]) -> Callable:
        """The kernel of the second part, of the defined gradients and the residuals."""
        kernel = self.backwards.get((defined, wanted))
        if kernel is None:

            def second(*values: Any) -> tuple:
                given, residuals = iter(values), values[sum(defined) :]
                cotangents = [
                    jnp.conj(next(given)) if has else np.zeros(shape, dtype if is_flowing(dtype) else jax.dtypes.float0)
                    for has, (shape, dtype) in zip(defined, self.types, strict=True)
                ]
                pull = jax.tree.unflatten(self.rest, residuals)
                results = iter(pull(cotangents[0] if self.single else tuple(cotangents)))
                every = [jnp.conj(next(results)) if free else None for free in self.free]
                return tuple(grad if want else None for grad, want in zip(every, wanted, strict=True))

            kernel = Kernel(second, name=f"{self.name}_backward", wide=self.wide).dispatcher()
            self.backwards[defined, wanted] = kernel
        return kernel


def as_tuple(results: Any) -> tuple:
    """Several results, or the only one, as a tuple."""
    return results if isinstance(results, tuple) else (results,)


def placed(residual: Any, known: list) -> int:
    """The place of a residual among the values that are known, to which it is added if it is new."""
    place = next((place for place, value in enumerate(known) if value is residual), len(known))
    if place == len(known):
        known.append(residual)
    return place


class ResidualNode(OperatorNode):
    """The node of a jax function: it has the residuals, if there are any, beside the arguments."""

    __slots__ = ()

    parts: Parts | None = None
    residuals: list = []

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        if self.parts is None or type(self.saved) is not tuple:
            return super().apply_values(grads, needed)
        self.saved_values()  # checks versions
        defined = tuple(grad is not None for grad in grads) + (False,) * (len(self.parts.types) - len(grads))
        if not any(defined):
            return (None,) * len(self.plan.needed)
        kernel = self.parts.backward(defined, self.plan.wanted(needed))
        return kernel(*(grad for grad in grads if grad is not None), *self.residuals)

    def release_variables(self) -> None:
        super().release_variables()
        self.residuals = []


class Keeping(Foreign):
    """A foreign operator that keeps residuals for its backward where it can. See Note [Residuals]."""

    def __init__(self, function: Callable, name: str, node: str | None = None) -> None:
        super().__init__(function, name, node)

    def node_class(self, base: type, num_outputs: int) -> type:
        """Nodes that can have residuals."""
        return super().node_class(ResidualNode if base is OperatorNode else base, num_outputs)

    def __call__(self, *args: Any, **settings: Any) -> Any:
        x64 = settings.get("x64", jax.config.read("jax_enable_x64"))
        if not keeps(args):
            return super().__call__(*args, x64=x64)
        parts = self.parts_for(args, x64)
        values = [value_of(arg) if isinstance(arg, Tensor) else arg for arg in args]
        outputs = parts.forward(*values)
        results = replay(self, args, {"x64": x64}, lambda: outputs[0] if parts.single else outputs[: len(parts.types)])
        node = next((out._edge[0] for out in as_tuple(results) if out._edge is not None), None)
        if node is not None:
            known = [*values, *outputs]
            node.parts, node.residuals = parts, [known[place] for place in parts.places]
        return results

    def parts_for(self, args: Sequence, x64: bool) -> Parts:
        """The two parts of the function for these arguments."""
        key = (Parts, x64, *(arg._spec.bare.replace(requires_grad=arg._spec.requires_grad) if isinstance(arg, Tensor)
                             else type(arg) for arg in args))  # fmt: skip
        parts = self.calls.exact.get(key)
        if parts is None:
            free = tuple(isinstance(arg, Tensor) and arg._spec.requires_grad for arg in args)
            wide = self.is_wide([arg._spec for arg in args if isinstance(arg, Tensor)], {"x64": x64})
            parts = self.calls.exact.keep(key, Parts(self.given, free, wide, self.name))
        return parts


def keeps(args: Sequence) -> bool:
    """Tell whether a call of these arguments is recorded, and nobody else has a say in what is kept."""
    modes, specs = thread.modes, [arg._spec for arg in args if isinstance(arg, Tensor)]
    if not modes.grad or modes.saved_hooks or modes.intercepted or not any(spec.requires_grad for spec in specs):
        return False
    alike = all(spec.device.free is specs[0].device.free for spec in specs)
    return alike and not any(spec.dual or spec.level or spec.inference for spec in specs)

"""Operators that levels need: one that JAX has batched, and the backward of a node in one piece.

See Note [Levels] in ``tensor/lifted.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from tapegrad._src.dispatch.call_keys import key_of
from tapegrad._src.dispatch.function_levels import LevelOperators, level_operators, lower
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.dispatch.planning import plan_call
from tapegrad._src.tensor.lifted import Level, Lifted, raised
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.foreign import foreign
from tapegrad.ops.kinds import General, broadcast_to, sum_to


class Vmapped(General):
    """An operator on a batch of examples: those arguments that ``mask`` names have one more dimension in front.

    The kernel is ``jax.vmap`` of the operator's; derivatives are the operator's own, mapped likewise.
    """

    kind = "vmapped"
    joint = True

    def __init__(self, op: General, mask: tuple[bool, ...]) -> None:
        vars(self).update(vars(op))
        vars(self).pop("check", None)
        self.op, self.mask, self.loop = op, mask, None  # what is put together are arrays of one example
        self.remember_nothing()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(vars(self)["op"], name)

    def examples(self, specs: Sequence) -> list:
        """The description of the arguments of one example."""
        return [example(spec) if mapped else spec for spec, mapped in zip(specs, self.mask, strict=True)]

    def prepare(self, specs: Sequence, settings: dict) -> Callable:
        function = self.op.prepare(self.examples(specs), settings)
        axes = tuple(0 if mapped else None for spec, mapped in zip(specs, self.mask, strict=True) if spec is not None)
        return jax.vmap(function, in_axes=axes)

    def check(self, specs: Sequence, settings: dict) -> None:
        self.op.check(self.examples(specs), settings)

    def is_wide(self, specs: Sequence, settings: dict) -> bool:
        return self.op.is_wide(self.examples(specs), settings)

    def locate(self, name: str, position: int, specs: Sequence, num_outputs: int) -> tuple[str, Any]:
        return self.op.locate(name, position, self.examples(specs), num_outputs)

    def output_strides(self, shape: tuple[int, ...], specs: Sequence) -> None:
        return None

    def differentiable(self, position: int) -> bool:
        return self.op.differentiable(position)

    def single(self, plan: Plan) -> Plan:
        """The plan for one example of a plan for the batch."""
        key = key_of(("one example", plan.modes, *plan.specs), plan.settings)
        found = self.calls.exact.get(key)
        if found is None:
            single = plan_call(self.op, tuple(self.examples(plan.specs)), plan.settings, plan.modes)
            found = self.calls.exact.keep(key, single)
        return found

    def gradients(self, plan: Plan, grads: Sequence, saved: Sequence, wanted: tuple[bool, ...]) -> tuple:
        """The gradients of all wanted arguments; of one that all examples share, the sum over the examples."""
        single = self.single(plan)
        grads, inputs = grads[: single.slots], [self.mask[i] for i in single.saved_inputs]
        batched = [True] * len(grads) + inputs + [True] * len(single.saved_outputs)

        def run(*items: Any) -> tuple:
            return single.gradients(items[: len(grads)], items[len(grads) :], wanted)

        results = over_examples(run, (*grads, *saved), batched)
        return tuple(
            grad if grad is None or self.mask[position] else sum_to(grad, shape=tuple(grad.shape[1:]))
            for position, grad in zip(single.positions, results, strict=True)
        )

    def jvp(self, primals: Sequence, tangents: Sequence, out: Any, **settings: Any) -> Any:
        count = len(primals)
        outputs = out if isinstance(out, tuple) else (out,)

        def run(*items: Any) -> Any:
            results = items[2 * count :]
            results = results if isinstance(out, tuple) else results[0]
            return self.op.jvp(items[:count], items[count : 2 * count], results, **settings)

        return over_examples(run, (*primals, *tangents, *outputs), [*self.mask, *self.mask, *(True for _ in outputs)])


def example(spec: Spec) -> Spec:
    """The spec of one example of a batch."""
    return spec.fresh.replace(shape=spec.shape[1:], strides=None)


def over_examples(run: Callable, items: Sequence, batched: Sequence[bool]) -> Any:
    """A function of arrays, or of tensors, run on each example of those that are batched; the results all are."""
    if not any(isinstance(item, Tensor) for item in items):
        axes = tuple(0 if mapped and item is not None else None for item, mapped in zip(items, batched, strict=True))
        return jax.vmap(run, in_axes=axes)(*items)
    size = next(item.shape[0] for item, mapped in zip(items, batched, strict=True) if mapped and item is not None)
    with Level(size, "same") as level:
        given = [
            raised(Lifted(item, level, True)) if mapped and isinstance(item, Tensor) else item
            for item, mapped in zip(items, batched, strict=True)
        ]
        results = run(*given)
        if isinstance(results, (tuple, list)):
            return tuple(None if result is None else whole(result, level) for result in results)
        return None if results is None else whole(results, level)


def whole(result: Tensor, level: Level) -> Tensor:
    """A result of a mapped function outside, with the mapped dimension in front; one of all examples is repeated."""
    tensor, batched = lower(result, level)
    if batched:
        return tensor
    with level.outside():
        return broadcast_to(tensor, shape=(level.size, *tensor.shape))


class Gradients(General):
    """The backward of a node in one piece: all formulas of a plan that are wanted. It has no derivatives itself."""

    kind = "gradients"
    listed = False

    def __init__(self, plan: Plan, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> None:
        count, formulas = sum(defined), plan.replace()

        def gradients(*values: Any) -> tuple:
            given = iter(values[:count])
            grads = [next(given) if has else None for has in defined]
            results = formulas.gradients(grads, values[count:], wanted)
            self.wanted = tuple(result is not None for result in results)
            return tuple(result for result in results if result is not None) or values[:1]  # it must have an output

        super().__init__(gradients, {}, name=plan.node_class.__name__)
        self.wanted = wanted
        self.wide = plan.kernels.wide

    def is_wide(self, specs: Sequence, settings: dict) -> bool:
        return self.wide


def gradients_of(plan: Plan, wanted: tuple[bool, ...], defined: tuple[bool, ...]) -> Gradients:
    """The backward of a plan as an operator, made when first asked for."""
    key = ("operator", plan.needed, wanted, defined)
    found = plan.kernels.backwards.get(key)
    if found is None:
        found = plan.kernels.backwards.setdefault(key, Gradients(plan, wanted, defined))
    return found


def vmapped(op: General, mask: tuple[bool, ...]) -> Vmapped:
    """An operator on a batch, made when first asked for."""
    variants = op.__dict__.setdefault("variants", {})
    found = variants.get(mask)
    if found is None:
        found = variants.setdefault(mask, Vmapped(op, mask))
        found.variants = {}
    return found


level_operators.fill(LevelOperators(vmapped, gradients_of, foreign))

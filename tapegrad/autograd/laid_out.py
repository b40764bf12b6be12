"""Gradients with the strides that PyTorch's have, for those whom users see. See Note [Gradients as views]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tapegrad._src.caches import remembered
from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.engine.gradient_ops import on_values
from tapegrad._src.tape.node import Node
from tapegrad._src.tensor.geometry import Ints, contiguous_strides, elementwise_strides, is_dense, preserved_strides
from tapegrad._src.tensor.spec import Spec, named_strides
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.function_node import BackwardCFunction, as_tensors, gradients
from tapegrad.autograd.gradient_types import Tensors


class Laid(NamedTuple):
    """A gradient whose elements don't lie in row-major order. Others flow as they are."""

    value: Any
    strides: Ints


def laid(value: Any, strides: Ints | None) -> Any:
    """A value with strides, which are None in row-major order."""
    return value if value is None or strides is None else Laid(value, strides)


def value_in(grad: Any) -> Any:
    """A gradient without its strides."""
    return grad.value if type(grad) is Laid else grad


def strides_of(grad: Any) -> Ints | None:
    """The strides of a gradient; None: in row-major order, or there is none."""
    return grad.strides if type(grad) is Laid else None


class LaidOut:
    """A gradient type of values, with an account of how they lie.

    Args:
        values: the gradient type that computes.
    """

    def __init__(self, values: Any) -> None:
        self.values = values
        self.plain = values.run is on_values
        if values.add_into is None:
            self.add_into = None  # type: ignore[method-assign, assignment]

    def run(self, node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        plan = node.plan if isinstance(node, OperatorNode) else None
        if type(node) is AccumulateGrad and grads[0] is not None:
            return self._accumulate(node, grads, needed)
        if plan is None and self.plain and isinstance(node, BackwardCFunction):
            return custom(node, grads)
        strides = None
        for grad in grads:
            if type(grad) is Laid:
                strides, grads = strides_of(grads[0]), [value_in(grad) for grad in grads]
                break
        results = node.apply_values(grads, needed) if self.plain else self.values.run(node, grads, needed)
        if plan is None:
            return results
        layouts = plan.late.layouts[strides] if strides in plan.late.layouts else plan.gradient_layouts(strides)
        return results if layouts is None else tuple(map(laid, results, layouts))

    def _accumulate(self, node: AccumulateGrad, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Run the end of the tape. What lies otherwise than its leaf does is no memory of the ``.grad``."""
        strides, own = strides_of(grads[0]), node.variable._spec.gradient.strides
        grads[0] = value_in(grads[0])
        results = self.values.run(node, grads, needed)
        if type(grads[0]) is not Tensor:  # of which post-hooks see the ``.grad``
            grads[0] = laid(grads[0], strides)
        elif strides != own:
            grads[0] = laid(value_of(grads[0]), strides)
        return results

    def add(self, left: Any, right: Any) -> Any:
        return _sum(self.values.add, left, right)

    def add_into(self, left: Any, right: Any) -> Any:
        return _sum(self.values.add_into, left, right)

    def seed(self, seed: Tensor) -> Any:
        value, strides = self.values.seed(seed), seed._spec.strides
        return value if strides is None else Laid(value, strides)

    def to_hook(self, grad: Any) -> Tensor:
        if type(grad) is not Laid:
            return self.values.to_hook(grad)
        tensor = self.values.to_hook(grad.value)
        tensor._spec = without_gaps(tensor._spec, grad.strides)
        return tensor

    def from_hook(self, given: Tensor | None, returned: Any, hook: Callable) -> Any:
        value = self.values.from_hook(given, returned, hook)
        seen = given if returned is None else returned
        return value if seen is None else laid(value, seen._spec.strides)

    def to_hooks(self, grads: Sequence) -> tuple:
        return tuple(None if grad is None else self.to_hook(grad) for grad in grads)

    def from_hooks(self, given: tuple, returned: Any, hook: Callable) -> list:
        values = self.values.from_hooks(given, returned, hook)
        seen = given if returned is None else returned
        return [laid(value, x._spec.strides) if x is not None else value for value, x in zip(values, seen, strict=True)]


def custom(node: BackwardCFunction, grads: list) -> list:
    """The results of the author's backward, who sees how gradients lie, and makes others."""
    tensors = as_tensors(node, list(map(value_in, grads)))
    for tensor, grad in zip(tensors, grads, strict=True):
        if type(grad) is Laid:
            laid_out(tensor, grad.strides)  # type: ignore[arg-type]
    results = gradients(node, tensors)
    return [None if grad is None else laid(value_of(grad), grad._spec.strides) for grad in results]


def _sum(add: Callable, left: Any, right: Any) -> Any:
    if type(left) is not Laid and type(right) is not Laid:
        return add(left, right)
    values = [value_in(grad) for grad in (left, right)]
    shapes = [tuple(value.shape) for value in values]  # of mismatches they differ
    laid_in = [strides_of(grad) or contiguous_strides(shape) for grad, shape in zip((left, right), shapes, strict=True)]
    total = add(*values)
    shape = tuple(total.shape)
    return laid(total, named_strides(shape, elementwise_strides(shape, list(zip(shapes, laid_in, strict=True)))))


class LaidOutTensors(Tensors):
    """Tensors, laid out as values are."""

    @staticmethod
    def run(node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        results = node.apply(grads, needed)
        if not isinstance(node, OperatorNode) or grads[0] is None:
            return results
        layouts = node.plan.gradient_layouts(grads[0]._spec.strides) or (None,) * len(results)
        for result, strides in zip(results, layouts, strict=True):
            if result is not None and result._storage is None and not any(result is grad for grad in grads):
                laid_out(result, strides)
        return results


def laid_out(tensor: Tensor, strides: Ints | None) -> Tensor:
    """A tensor that nobody has seen, which lies so from now on; gaps are closed, for its memory has none."""
    tensor._spec = without_gaps(tensor._spec, strides)
    return tensor


@remembered("specs", nbytes=512)
def without_gaps(spec: Spec, strides: Ints | None) -> Spec:
    """This spec with these strides, or with those of memory that has no gaps."""
    shape = tuple(spec.shape)
    if strides is not None and has_gaps(shape, strides):
        strides = named_strides(shape, preserved_strides(shape, strides))
    return spec.replace(strides=strides)


def has_gaps(shape: Ints, strides: Ints) -> bool:
    """Tell whether there is memory between the elements that do not show it.

    >>> has_gaps((2, 3), (3, 1)), has_gaps((2, 3), (0, 1)), has_gaps((2, 3), (6, 2))
    (False, False, True)
    """
    kept = [axis for axis, stride in enumerate(strides) if stride]
    return not is_dense(tuple(shape[axis] for axis in kept), tuple(strides[axis] for axis in kept))

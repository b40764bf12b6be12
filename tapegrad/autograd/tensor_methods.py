"""The methods of Tensor that belong to autograd: ``backward``, ``retain_grad``, and those that register hooks."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.declaration.registry import PROPERTIES, public
from tapegrad._src.dispatch.nodes.accumulate_grad import separate, share_leaf_hooks
from tapegrad._src.execution.data.dtypes import FLOATING, dtype
from tapegrad._src.tape.hooks import HookDict, NodeHooks, RemovableHandle, add_hook, making
from tapegrad._src.tensor.refusals import refuse_to_call
from tapegrad._src.tensor.tensor import Tensor, edge_of, passes_for_leaf
from tapegrad.autograd import differentiate
from tapegrad.ops.checks import cpp_name


@public("Tensor")
def backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    inputs: Any = None,
) -> None:  # fmt: skip
    """Accumulate the gradients of this tensor into the leaves of its graph; see ``autograd.backward``.

    Args:
        gradient: that of this tensor, of its shape; it may be left out for a single real element, where it is 1.
        retain_graph: whether what the graph saved is kept for another call; by default as ``create_graph`` says.
        create_graph: whether the gradients are recorded, too, and can be differentiated.
        inputs: the leaves, or other tensors, that get gradients; by default all leaves.

    Raises:
        RuntimeError: no graph, a graph that was freed, or no ``gradient`` where one is needed.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).backward(gradient=torch.tensor([1.0, 10.0]))
    >>> x.grad
    tensor([ 2., 40.])
    """
    differentiate.backward((self,), gradient, retain_graph, create_graph, inputs=inputs)


def slots_of(tensor: Tensor) -> NodeHooks:
    """The hook slots for the gradient of a tensor: its node's, or the leaf's own, which its accumulator shares."""
    edge = edge_of(tensor)
    if edge is not None:
        return edge[0].own_hooks()
    with making:
        if tensor._leaf_hooks is None:
            tensor._leaf_hooks = NodeHooks()
            node = None if tensor._accumulator is None else tensor._accumulator()
            if node is not None:
                share_leaf_hooks(tensor, node)
    return tensor._leaf_hooks


@public("Tensor")
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call ``hook`` with the gradient of this tensor whenever it is computed; what it returns replaces the gradient.

    Raises:
        RuntimeError: if the tensor does not require grad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """
    if not self._spec.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    with making:
        slots = slots_of(self)  # first: a view may get its place in the graph here, where it has no hooks yet
        if self._hooks is None:
            self._hooks = OrderedDict()
            slots.attach_tensor(self.output_nr, self._hooks)
    return add_hook(self._hooks, hook)


@public("Tensor")
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call ``hook`` with this leaf each time its ``.grad`` has been accumulated; it must return None.

    Raises:
        RuntimeError: if the tensor does not require grad, or is no leaf.

    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
    >>> (x * 3).sum().backward()
    tensor([3., 3.])
    """
    if not self._spec.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if edge_of(self) is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    present, NodeHooks.of_leaves = slots_of(self).post_accumulate, True
    if not present:
        present.append(OrderedDict())
    return add_hook(present[0], hook)


@public("Tensor")
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf in ``.grad`` when it is computed; does nothing on a leaf.

    Raises:
        RuntimeError: if the tensor does not require grad; inside a function transform.
    """
    if not self._spec.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    refuse_to_call("retain_grad")
    edge = None if passes_for_leaf(self) else edge_of(self)
    if edge is None or self._retains:
        return
    reference = weakref.ref(self)

    def keep(grad: Tensor) -> None:
        tensor = reference()
        if tensor is not None:
            recorded = grad._spec.requires_grad
            kept = grad.clone() if recorded else separate(grad, grad)  # a node of its own, as in PyTorch
            kept._spec = kept._spec.replace(strides=None)
            tensor._grad = kept if tensor._grad is None else tensor._grad + grad

    node, output_nr = edge
    node.own_hooks().keep(output_nr, keep)
    self._retains = True


class _Cast:
    """The hook by which a leaf casts its gradients to its ``grad_dtype``, before others see them."""

    casts = True

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __call__(self, grad: Tensor) -> Tensor:
        if self.dtype.category < FLOATING:
            raise RuntimeError(f"gradients can't be cast to the grad_dtype {self.dtype} of a leaf: it is no dtype of "
                               "floating point or complex numbers")  # fmt: skip
        return grad if grad.dtype is self.dtype else grad.to(self.dtype)


def _get_grad_dtype(tensor: Tensor) -> Any:
    if edge_of(tensor) is not None:
        raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
    return tensor._spec.dtype if tensor._grad_dtype is False else tensor._grad_dtype


def _set_grad_dtype(tensor: Tensor, value: Any) -> None:
    if not (value is None or isinstance(value, dtype)):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
    if edge_of(tensor) is not None:
        raise RuntimeError("grad_dtype can only be set on leaf tensors.")
    present = tensor._grad
    if value is not None and present is not None and present.dtype is not value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{value.scalar_name}' because there is already a gradient with dtype "
            f"'{cpp_name(present.dtype)}'. Please clear the gradient (.grad = None) before changing grad_dtype, or "
            "ensure the new grad_dtype matches the existing gradient's dtype."
        )
    tensor._grad_dtype = value
    slots = slots_of(tensor)
    others = [pair for pair in slots.tensor_pre if not any(isinstance(hook, _Cast) for hook in pair[1].values())]
    slots.tensor_pre[:] = others if value is None else [(0, OrderedDict({-1: _Cast(value)})), *others]
    NodeHooks.made = True
    node = None if tensor._accumulator is None else tensor._accumulator()
    if node is not None:
        share_leaf_hooks(tensor, node)


def _delete_grad_dtype(tensor: Tensor) -> None:
    raise RuntimeError("grad_dtype can't be deleted: x.grad_dtype = x.dtype is what it was")


PROPERTIES["grad_dtype"] = property(
    _get_grad_dtype,
    _set_grad_dtype,
    _delete_grad_dtype,
    """The dtype to which gradients of this leaf are cast; None: they stay as they arrive. Its own, unless it is set.

    Raises:
        RuntimeError: this is no leaf, it is set to something else, or ``.grad`` has another dtype.

    >>> x = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    >>> x.grad_dtype = torch.float32
    >>> (x * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """,
)


def _set_backward_hooks(tensor: Tensor, hooks: HookDict | None) -> None:
    """Hooks that are set on a leaf run; a non-leaf's node only knows those of ``register_hook``."""
    tensor._hooks = hooks
    if edge_of(tensor) is None:
        slots_of(tensor).tensor_pre[:] = [] if hooks is None else [(0, hooks)]


def _delete_backward_hooks(tensor: Tensor) -> None:
    raise RuntimeError("Deletion of _backwards_hooks not allowed!")


def _get_post_accumulate(tensor: Tensor) -> HookDict | None:
    present = () if tensor._leaf_hooks is None else tensor._leaf_hooks.post_accumulate
    return present[0] if present else None


def _set_post_accumulate(tensor: Tensor, hooks: HookDict | None) -> None:
    slots_of(tensor).post_accumulate[:] = [] if hooks is None else [hooks]


def _delete_post_accumulate(tensor: Tensor) -> None:
    raise RuntimeError("Deletion of _post_accumulate_grad_hooks not allowed!")


PROPERTIES["_backward_hooks"] = property(
    lambda self: self._hooks,
    _set_backward_hooks,
    _delete_backward_hooks,
    "The hooks on this version of the tensor, by their handles' ids.",
)
PROPERTIES["_post_accumulate_grad_hooks"] = property(
    _get_post_accumulate,
    _set_post_accumulate,
    _delete_post_accumulate,
    "The hooks of a leaf that run when its gradient has been accumulated, by their handles' ids.",
)

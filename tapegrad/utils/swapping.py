"""``swap_tensors``: two tensors exchange all that they are, but not who they are."""

from __future__ import annotations

import weakref
from typing import Any

from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.tape.hooks import making
from tapegrad._src.tape.node import Node
from tapegrad._src.tensor.tensor import Tensor, views_of

POISONED = (
    "Trying to execute AccumulateGrad node that was poisoned by swap_tensors this can happen when you try to run "
    "backward on a tensor that was swapped. For a module m with "
    "`torch.__future__.set_swap_module_params_on_conversion(True)` you should not change the device or dtype of the "
    "module (e.g. `m.cpu()` or `m.half()`) between running forward and backward. To resolve this, please only change "
    "the device/dtype before running forward (or after both forward and backward)."
)


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange the contents of two tensors: data, history, gradient, class and attributes.

    Raises:
        RuntimeError: somebody holds a weak reference to one of them, or a view of it; or their classes have other
            slots.

    >>> x, y = torch.zeros(2), torch.ones(3)
    >>> swap_tensors(x, y)
    >>> x, y
    (tensor([1., 1., 1.]), tensor([0., 0.]))
    """
    tensors = (("t1", t1), ("t2", t2))
    for name, tensor in tensors:
        if _weak_references(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    slots = [_slots(type(tensor)) for _, tensor in tensors]
    if isinstance(t2, Tensor) and slots[0] != slots[1]:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    for name, tensor in tensors:
        _refuse_views(name, tensor)
    accumulators = [_accumulator(tensor) for _, tensor in tensors]
    for name in ("__class__", "__dict__", *sorted(slots[0])):
        _exchange(name, t1, t2)
    for tensor, node in zip((t2, t1), accumulators, strict=True):
        _readmit(tensor, node)


def _weak_references(tensor: Any) -> bool:
    """Tell whether anybody but the tensor's own storage holds a weak reference to it."""
    storage = getattr(tensor, "_storage", None)
    own = () if storage is None else storage.members
    return any(all(reference is not one for one in own) for reference in weakref.getweakrefs(tensor))


def _slots(cls: type) -> set[str]:
    names = {name for base in cls.__mro__ for name in getattr(base, "__slots__", ())}
    return {name for name in names if not name.startswith("__")}


def _refuse_views(name: str, tensor: Any) -> None:
    views = list(views_of(tensor))
    if views:
        raise RuntimeError(
            f"Expected use_count of {name} to be 1 or 2 with an AccumulateGrad node but got {1 + 2 * len(views)} make "
            "sure you are not holding references to the tensor in other places."
        )


def _accumulator(tensor: Tensor) -> Node | None:
    return None if tensor._accumulator is None else tensor._accumulator()


def _exchange(name: str, t1: Tensor, t2: Tensor) -> None:
    missing = object()
    one, two = getattr(t1, name, missing), getattr(t2, name, missing)
    for tensor, value, present in ((t1, two, one), (t2, one, two)):
        if value is not missing:
            setattr(tensor, name, value)
        elif present is not missing:
            delattr(tensor, name)


def _readmit(tensor: Tensor, accumulator: Node | None) -> None:
    """Let storage and graph know a tensor under the object that it is now."""
    storage = tensor._storage
    if storage is not None:
        with making:
            storage.admit(tensor)
    if isinstance(accumulator, AccumulateGrad):
        accumulator.variable = tensor
        accumulator.register_prehook(_refuse_to_run)


def _refuse_to_run(grads: Any) -> None:
    raise RuntimeError(POISONED)


def set_module(obj: Any, mod: str) -> None:
    """Let a function or class say that it comes from a module.

    Raises:
        TypeError: the name of the module is no string.
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod

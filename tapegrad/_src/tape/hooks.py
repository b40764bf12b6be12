"""Hooks: where a node keeps them, and the handle that takes one off."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

making = threading.RLock()
"""Held while something is made of which there must be one only, for several threads may be the first to ask for it: the
hook slots of a node, the accumulator of a leaf, the storage of a tensor, ..."""

HookDict = OrderedDict[int, Callable]
"""Hooks by the id of their handle, in the order in which they were registered."""

module_forward_pre: HookDict = OrderedDict()
module_forward: HookDict = OrderedDict()
module_forward_always_called: OrderedDict[int, bool] = OrderedDict()
"""Hooks of all modules: before ``forward``, after it, and which of these run even if it raises. Modules that nobody has
imported yet will ask for them, too; so a profile may register some before."""


class RemovableHandle:
    """The result of registering a hook: ``remove()`` takes the hook off; also usable as a context manager.

    Args:
        hooks_dict: the ordered dictionary that holds the hook; the handle does not keep it alive.
        extra_dict: one dictionary or several that have an entry under the same id, removed with it.

    >>> from collections import OrderedDict
    >>> hooks = OrderedDict()
    >>> handle = RemovableHandle(hooks)
    >>> hooks[handle.id] = print
    >>> handle.remove(), len(hooks)
    (None, 0)
    """

    __module__ = "tapegrad.utils.hooks"
    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref: Any = weakref.ref(hooks_dict)
        with making:
            self.id = RemovableHandle.next_id
            RemovableHandle.next_id += 1
        extras = [extra_dict] if isinstance(extra_dict, Mapping) else extra_dict or ()
        self.extra_dict_ref: tuple = tuple(map(weakref.ref, extras))

    def remove(self) -> None:
        """Take the hook off; a second time does nothing."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple:
        extras = tuple(reference() for reference in self.extra_dict_ref)
        return (self.hooks_dict_ref(), self.id, extras)

    def __setstate__(self, state: tuple) -> None:
        hooks, self.id = state[:2]
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        extras = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if extra is None else extra) for extra in extras)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def add_hook(hooks: HookDict, hook: Callable) -> RemovableHandle:
    """Put a hook at the end of a dictionary of hooks."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


class NodeHooks:
    """The hook slots of one node, in the order in which they run.

    Attributes:
        tensor_pre: hooks of the output tensors, by output number, the dictionaries in the order of their making.
        retain: the hook of ``retain_grad`` by output number, after all tensor hooks.
        pre: the node's own, before it runs.
        post_accumulate: of an accumulator: the leaf's, after its ``.grad`` has been updated; one dictionary or none.
        post: the node's own, after it has run.
        made: whether there has ever been one in this process that sees gradients.
        of_leaves: whether there has ever been one that is told when a leaf has been accumulated to.

    What nobody has registered yet is None: most nodes with a hook have one kind, and a graph has many nodes.
    A leaf has slots of its own, of which its accumulator shares the lists ``tensor_pre`` and ``post_accumulate``.
    """

    __slots__ = ("tensor_pre", "retain", "pre", "post_accumulate", "post")
    made = of_leaves = False

    def __init__(self) -> None:
        self.tensor_pre: list[tuple[int, HookDict]] = []
        self.retain: dict[int, Callable] | None = None
        self.pre: HookDict | None = None
        self.post_accumulate: list[HookDict] = []
        self.post: HookDict | None = None

    def add_pre(self, hook: Callable) -> RemovableHandle:
        """Register a hook that runs before the node."""
        NodeHooks.made = True
        with making:
            if self.pre is None:
                self.pre = OrderedDict()
        return add_hook(self.pre, hook)

    def add_post(self, hook: Callable) -> RemovableHandle:
        """Register a hook that runs after the node."""
        NodeHooks.made = True
        with making:
            if self.post is None:
                self.post = OrderedDict()
        return add_hook(self.post, hook)

    def keep(self, output_nr: int, hook: Callable) -> None:
        """Register the hook by which an output keeps its gradient."""
        with making:
            self.retain = {**(self.retain or {}), output_nr: hook}

    def attach_tensor(self, output_nr: int, hooks: HookDict) -> None:
        """Run the hooks in this dictionary, now and later, on the gradient of an output."""
        NodeHooks.made = True
        if not any(present is hooks for _, present in self.tensor_pre):
            self.tensor_pre.append((output_nr, hooks))

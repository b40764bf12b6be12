"""``torch.utils.module_tracker``: the modules that are being called, or whose backward runs, by name."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Self
from weakref import WeakKeyDictionary

from tapegrad._src.tape.hooks import RemovableHandle
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.graph_task import _current_graph_task_id
from tapegrad.autograd.multi_grad_hooks import register_multi_grad_hook
from tapegrad.autograd.variable import ImperativeEngine
from tapegrad.nn.modules.hooks import register_module_forward_hook, register_module_forward_pre_hook
from tapegrad.nn.modules.module import Module
from tapegrad.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]

logger = logging.getLogger(__name__)


class ModuleTracker:
    """A context that knows which modules are being called, and whose backward runs.

    A module's backward begins when the gradients of all its outputs are there, and ends with those of its inputs.

    Attributes:
        parents: names of these modules, as ``state_dict`` has them behind the class of the outermost; and ``"Global"``.

    >>> with ModuleTracker() as tracker:
    ...     layer = torch.nn.Linear(2, 2)
    ...     _ = layer.register_forward_pre_hook(lambda *_: print(sorted(tracker.parents)))
    ...     _ = layer(torch.ones(1, 2))
    ['Global', 'Linear']
    """

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: WeakKeyDictionary[Module, str] = WeakKeyDictionary()
        self._handles: list[RemovableHandle] = []
        self._is_queued = False

    @property
    def is_bw(self) -> bool:
        """True while a backward call runs."""
        return _current_graph_task_id() != -1

    def _name_of(self, module: Module) -> str:
        own = self._names.setdefault(module, type(module).__name__)
        for name, child in module.named_children():
            if child not in self._names:
                self._names[child] = f"{own}.{name}"
                self._name_of(child)
        return own

    def _enter(self, name: str) -> None:
        if name in self.parents:
            logger.info("The module %s is entered a second time: what is in parents may be wrong", name)
        self.parents.add(name)

    def _leave(self, name: str) -> None:
        if name not in self.parents:
            logger.info("The module %s is left, and was never entered: what is in parents may be wrong", name)
        self.parents.discard(name)

    def _enter_backward(self, name: str) -> None:
        if not self._is_queued:  # whose inputs need no gradients is never left
            ImperativeEngine.queue_callback(self._end_backward)
            self._is_queued = True
        self._enter(name)

    def _end_backward(self) -> None:
        self.parents, self._is_queued = {"Global"}, False

    def _call_with(self, name: str, values: Any, function: Callable[[str], None]) -> None:
        """Call a function when the gradients of all these tensors are there."""
        tensors = [one for one in tree_leaves(values) if isinstance(one, Tensor) and one.requires_grad]
        if tensors:
            self._handles.append(register_multi_grad_hook(tensors, lambda _: function(name)))

    def _before(self, module: Module, given: Any) -> None:
        name = self._name_of(module)
        self._enter(name)
        self._call_with(name, given, self._leave)

    def _after(self, module: Module, given: Any, result: Any) -> None:
        name = self._name_of(module)
        self._leave(name)
        self._call_with(name, result, self._enter_backward)

    def __enter__(self) -> Self:
        self._handles = [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *exception: Any) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

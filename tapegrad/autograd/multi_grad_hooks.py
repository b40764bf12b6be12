"""``register_multi_grad_hook``: one hook for the gradients of several tensors."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.engine import GraphTask
from tapegrad._src.tape.hooks import RemovableHandle
from tapegrad._src.tape.node import Node
from tapegrad._src.tensor.tensor import Tensor, edge_of
from tapegrad.autograd.graph_task import _will_engine_execute_node
from tapegrad.autograd.running import engine

MODES = ("all", "any")


class _MultiHandle(RemovableHandle):
    """Takes several hooks off at once."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple:
        return self.handles

    def __setstate__(self, state: tuple) -> None:
        self.handles = state


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call ``fn`` in each backward with the gradients of all of ``tensors`` that it computes, or with the first.

    Args:
        tensors: tensors that require grad. With ``mode="any"`` others may stand among them; they are passed over.
        fn: with ``mode="all"`` it is called once per backward, when the last gradient is there, with a list: a gradient
            for each tensor, None for those that this backward does not compute. With ``mode="any"`` it is called
            with the first gradient. What it returns is ignored.
        mode: ``"all"`` or ``"any"``.

    Returns:
        A handle; ``handle.remove()`` takes the hook off.

    Raises:
        ValueError: another mode.
        AssertionError: with ``mode="all"``, a tensor that does not require grad.

    >>> a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    >>> handle = register_multi_grad_hook([a, b], lambda grads: print([grad is not None for grad in grads]))
    >>> (a * b).sum().backward()
    [True, True]
    >>> (a * b).sum().backward(inputs=[a])
    [True, False]
    """
    if mode not in MODES:
        raise ValueError(f"Expects mode to be one of {MODES} but got {mode}")
    if mode == "any":
        hook = _First(fn).hook
        return _MultiHandle(tuple(tensor.register_hook(hook) for tensor in tensors if tensor.requires_grad))
    collector = _Collector(fn, [_node_finder(tensor) for tensor in tensors])
    return _MultiHandle(
        tuple(tensor.register_hook(collector.hook(position)) for position, tensor in enumerate(tensors))
    )


def _node_finder(tensor: Tensor) -> Callable[[], Node | None]:
    """Gives the node that takes the gradient of this version of a tensor, while it lives.

    The hook must not own what owns the hook: so nodes and leaves are held weakly.
    """
    if not tensor.requires_grad:
        raise AssertionError("Expected gradient function to be set")
    edge = edge_of(tensor)
    if edge is not None:
        return weakref.ref(edge[0])
    leaf = weakref.ref(tensor)

    def accumulator() -> Node | None:
        alive = leaf()
        reference = None if alive is None else alive._accumulator
        return None if reference is None else reference()

    return accumulator


def _task() -> GraphTask:
    task = engine.current_task
    if task is None:
        raise AssertionError("expected this hook to be called inside a backward call")
    return task


class _First:
    """The hook of ``mode="any"``: passes on the first gradient of each backward call."""

    def __init__(self, fn: Callable[[Tensor], None]) -> None:
        self.fn = fn
        self.seen: weakref.WeakSet[GraphTask] = weakref.WeakSet()
        self.lock = threading.Lock()

    @property
    def hook(self) -> Callable[[Tensor], None]:
        @functools.wraps(self.fn)
        def first(grad: Tensor) -> None:
            task = _task()
            with self.lock:
                late = task in self.seen
                self.seen.add(task)
            if not late:
                self.fn(grad)

        return first


class _Collector:
    """The hooks of ``mode="all"``: collect the gradients of each backward call, and pass them on when they are there.

    What has been collected hangs on the backward call, and is gone with it if that fails half-way.
    """

    def __init__(self, fn: Callable[[list], None], nodes: list[Callable[[], Node | None]]) -> None:
        self.fn, self.nodes = fn, nodes
        self.collected: weakref.WeakKeyDictionary[GraphTask, tuple[list, list[int]]] = weakref.WeakKeyDictionary()
        self.lock = threading.Lock()

    def hook(self, position: int) -> Callable[[Tensor], None]:
        def collect(grad: Tensor) -> None:
            task = _task()
            with self.lock:
                grads, waiting = self.collected.get(task) or self._start(task)
                grads[position] = grad
                waiting[0] -= 1
                complete = not waiting[0]
                if complete:
                    del self.collected[task]
            if complete:
                self.fn(grads)

        return collect

    def _start(self, task: GraphTask) -> tuple[list, list[int]]:
        nodes = [node() for node in self.nodes]
        expected = sum(node is not None and _will_engine_execute_node(node) for node in nodes)
        entry: tuple[list, list[int]] = ([None] * len(self.nodes), [expected])
        self.collected[task] = entry
        return entry

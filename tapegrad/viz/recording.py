"""Records about a tape beyond the tape itself: modules, lines, and how the backward calls went.

Note [What pictures record]
A node knows neither the module in whose call it was made, nor when it ran: that would cost every program time. Inside
``record()`` this thread's watchers (Note [Watchers] in ``tape/modes.py``) and the hooks of all modules note it, on the
node (``_seen``). Outside nothing is watched, and programs run by plans that know nothing of it. The norms of gradients
are computed like everything else, and read when they are drawn.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from time import perf_counter_ns
from typing import Any

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.engine import GraphRoot
from tapegrad._src.execution.data.dtypes import complex128, float64
from tapegrad._src.execution.data.tracing import wait_for
from tapegrad._src.functions.norms import vector_norm
from tapegrad._src.tape.modes import switched, thread, watching
from tapegrad._src.tape.node import Node
from tapegrad._src.tensor.tensor import Tensor, describe, value_of, wrap
from tapegrad.autograd.running import engine
from tapegrad.autograd.source_lines import set_record_source_lines
from tapegrad.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook


class ModuleCall:
    """One call of a module.

    Attributes:
        name: by which path the module whose call is around it has it; its class, if there is none.
        kind: its class.
        outer: the call around this one, or None.
    """

    __slots__ = ("name", "kind", "outer")

    def __init__(self, name: str, kind: str, outer: ModuleCall | None) -> None:
        self.name, self.kind, self.outer = name, kind, outer


class NodeRecord:
    """The notes about a node.

    Attributes:
        call: the innermost call of a module in which it was made, or None.
        order: as which one it ran in its last backward call, from 1; None if it did not run.
        nanoseconds: how long that took, with waiting for its results, where operators are computed at once.
        forward_nanoseconds: the same of the operator whose backward it is; None if that is not known.
        norms: the norms of the gradients that it was given, as tensors; None for those that did not arrive.
        captured: whether its gradient was what the backward call was asked for, so that it did not have to run.
        task: the number of that backward call.
    """

    __slots__ = ("call", "order", "nanoseconds", "forward_nanoseconds", "norms", "captured", "task")

    def __init__(self, call: ModuleCall | None = None) -> None:
        self.call = call
        self.order: int | None = None
        self.nanoseconds = 0
        self.forward_nanoseconds: int | None = None
        self.norms: tuple[Tensor | None, ...] = ()
        self.captured = False
        self.task: int | None = None


def record_of(node: Node) -> NodeRecord | None:
    """The notes about a node, if there are any."""
    seen = node._seen
    return seen if isinstance(seen, NodeRecord) else None


def own_record(node: Node) -> NodeRecord:
    """The notes about a node, new ones if there were none."""
    seen = record_of(node)
    if seen is None:
        seen = node._seen = NodeRecord()
    return seen


class record:
    """Context manager: note for pictures in which module and on which line each node is made, and how backward goes.

    What is made outside is drawn without that. Operators take longer inside, and backward calls wait for every node,
    so that the times that pictures show are those of the nodes. It belongs to the thread.

    >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    >>> with torch.viz.record():
    ...     loss = net(torch.ones(1, 2)).sum()
    ...     loss.backward(retain_graph=True)
    >>> print(torch.viz.graph(loss))
    graph of 3 nodes and 2 leaves
    saved for backward: 20 B
    backward: 5 nodes ran, ...
    tensor f32[]
    SumBackward0 f32[]            #1, ..., norm 1
    Sequential
      1: Tanh
        TanhBackward0 f32[1, 3]   saves f32[1, 3], 12 B  #2, ..., norm 1.73
      0: Linear
        AddmmBackward0 f32[1, 3]  saves f32[1, 2], 8 B  #3, ..., norm ...
        0.weight f32[3, 2]        #..., norm ...
        0.bias f32[3]             #..., norm ...
    """

    def __init__(self) -> None:
        self._calls: list[tuple[ModuleCall, Any]] = []
        self._on = ExitStack()
        self._owner: int | None = None
        self._runs: dict[int, int] = {}

    def __enter__(self) -> record:
        """
        Raises:
            RuntimeError: it is entered already.
        """
        if self._owner is not None:
            raise RuntimeError("viz.record() is entered already; make another one for a block inside it")
        self._owner = threading.get_ident()
        on = self._on
        on.enter_context(set_record_source_lines(True))
        watchers = {"node_watcher": self._note_node, "backward_watcher": self._watched}
        on.enter_context(watching(interceptor=self._time_operator, **watchers))
        on.callback(register_module_forward_pre_hook(self._begin).remove)
        on.callback(register_module_forward_hook(self._end, always_call=True).remove)
        return self

    def __exit__(self, *exception: object) -> None:
        self._owner = None
        self._on.close()

    def _begin(self, module: Any, args: tuple) -> None:
        if threading.get_ident() == self._owner:
            outer, around = self._calls[-1] if self._calls else (None, None)
            kind = type(module).__name__
            paths = () if around is None else around.named_modules()
            name = next((path for path, one in paths if one is module), "") or kind
            self._calls.append((ModuleCall(name, kind, outer), module))

    def _end(self, module: Any, args: tuple, output: Any) -> None:
        if threading.get_ident() == self._owner:
            while self._calls and self._calls.pop()[1] is not module:
                pass  # calls that an error has ended

    def _time_operator(self, op: OperatorLike, args: tuple, settings: dict) -> Any:
        start = perf_counter_ns()
        results = op(*args, **settings)
        made = [one for one in (results if isinstance(results, tuple) else (results,)) if isinstance(one, Tensor)]
        if not (thread.modes.deferred or thread.modes.level):
            wait_for(value_of(one) for one in made)
        edge = next((one._edge for one in made if one._edge is not None), None)
        if edge is not None:
            own_record(edge[0]).forward_nanoseconds = perf_counter_ns() - start
        return results

    def _note_node(self, node: Node) -> None:
        own_record(node).call = self._calls[-1][0] if self._calls else None

    def _watched(self, gradient_ops: Any) -> RecordedGradientOps:
        return RecordedGradientOps(self, gradient_ops)

    def run_node(self, run: Any, node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Run one node of a backward call, and note how.

        Args:
            run: what runs it.
            node: the node.
            grads: the gradients that have arrived, one for each output of its operator.
            needed: which of its gradients are asked for; None for all.
        """
        task = engine.current_task
        assert task is not None
        if isinstance(node, GraphRoot):
            for one, info in task.exec_info.items():
                seen = own_record(one)
                seen.order, seen.task, seen.captured = None, task.id, bool(info.captures) and not info.needed
            return run(node, grads, needed)
        norms = tuple(map(norm_of, grads))
        start = perf_counter_ns()
        results = run(node, grads, needed)
        if not thread.modes.deferred:
            wait_for(value_of(one) if isinstance(one, Tensor) else one for one in results)
        seen = own_record(node)
        seen.nanoseconds, seen.norms, seen.task = perf_counter_ns() - start, norms, task.id
        seen.order = self._runs[task.id] = self._runs.get(task.id, 0) + 1
        seen.captured = False
        return results


class RecordedGradientOps:
    """A gradient type whose nodes ``record()`` sees."""

    def __init__(self, recording: record, gradient_ops: Any) -> None:
        self.gradient_ops = gradient_ops
        self.run = functools.partial(recording.run_node, gradient_ops.run)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.gradient_ops, name)


def norm_of(grad: Any) -> Tensor | None:
    """The norm of a gradient, a value or a tensor; None where none arrived, and inside function transforms."""
    if grad is None or thread.modes.level:
        return None
    tensor = grad if isinstance(grad, Tensor) else wrap(grad, describe(grad))
    with switched(grad=False):
        return vector_norm(tensor.detach(), dtype=complex128 if tensor.is_complex() else float64)

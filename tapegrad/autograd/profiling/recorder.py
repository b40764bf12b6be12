"""The recorder of a profile: it watches the calls of operators and the nodes of backward. See ``profile.py``."""

from __future__ import annotations

import functools
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from time import perf_counter_ns
from types import FrameType
from typing import Any

from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.engine import GraphRoot
from tapegrad._src.execution.data.tracing import wait_for
from tapegrad._src.tape.hooks import RemovableHandle, module_forward, module_forward_always_called, module_forward_pre
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, Node
from tapegrad._src.tensor.paths import called
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.autograd.profiling.events import SCOPE_BACKWARD, SCOPE_FORWARD, SCOPE_USER, FunctionEvent
from tapegrad.autograd.profiling.names import aten_name

PACKAGE = str(Path(__file__).resolve().parents[2]) + os.sep
EVALUATE = "autograd::engine::evaluate_function: "
STEP = "ProfilerStep#"
MODULE = "nn.Module: "


class _ThreadNumber(threading.local):
    """A small number for each thread, by the order in which they are first seen."""

    next_number = count(1).__next__

    def __init__(self) -> None:
        self.number = self.next_number()


_thread_number = _ThreadNumber()


class Entry:
    """An event while it is being recorded; ``end`` is None until it is over. Times in nanoseconds."""

    __slots__ = ("end", "flops", "memory", "name", "scope", "sequence_nr", "shapes", "stack", "start", "thread")

    end: int | None

    def __init__(self, name: str, scope: int, shapes: list, stack: list[str] | None, sequence_nr: int) -> None:
        self.name, self.scope, self.shapes, self.stack, self.sequence_nr = name, scope, shapes, stack, sequence_nr
        self.thread, self.memory, self.flops = _thread_number.number, 0, 0
        self.end = None
        self.start = perf_counter_ns()

    def close(self) -> None:
        """It is over now, unless it was before."""
        if self.end is None:
            self.end = perf_counter_ns()


class Recorder:
    """The records of one profile, in the order of beginning."""

    def __init__(self, *, shapes: bool, stacks: bool, memory: bool, flops: bool, sync: bool) -> None:
        self.shapes, self.stacks, self.memory, self.flops, self.sync = shapes, stacks, memory, flops, sync
        self.entries: list[Entry] = []
        self._modules: list[tuple[Any, Entry]] = []
        self._called: dict[int, tuple[Any, str]] = {}
        self.begun = perf_counter_ns()

    def begin(
        self, name: str, scope: int, inputs: Sequence[Any] = (), sequence_nr: int = -1, stack: list[str] | None = None
    ) -> Entry:
        """An event that begins now."""
        shapes = [list(getattr(item, "shape", ())) for item in inputs] if self.shapes else []
        entry = Entry(name, scope, shapes, stack, sequence_nr)
        self.entries.append(entry)
        return entry

    def on_operator(self, op: OperatorLike, args: tuple, settings: dict) -> Any:
        """Watch one call of an operator."""
        entry = self.begin(aten_name(op), SCOPE_FORWARD, args, stack=_places() if self.stacks else None)
        try:
            result = op(*args, **settings)
            outputs = result if isinstance(result, tuple) else (result,)
            self._finish(outputs)
        finally:
            entry.close()
        edge = next((out._edge for out in outputs if out._edge is not None), None)
        entry.sequence_nr = -1 if edge is None else edge[0].sequence_nr
        if self.memory:
            entry.memory = sum(out.nbytes for out in outputs)
        if self.flops:
            entry.flops = flops_of(entry.name, [getattr(arg, "shape", ()) for arg in args])
        return result

    def on_function(self, name: str, inputs: Sequence[Any], node: Node | None, run: Callable[[], Any]) -> Any:
        """Watch the forward of a custom function."""
        entry = self.begin(name, SCOPE_FORWARD, inputs, -1 if node is None else node.sequence_nr)
        try:
            return run()
        finally:
            entry.close()

    @contextmanager
    def watching_modules(self) -> Iterator[None]:
        """Watch the calls of modules inside."""
        before = RemovableHandle(module_forward_pre)
        after = RemovableHandle(module_forward, extra_dict=module_forward_always_called)
        module_forward_pre[before.id] = lambda module, args: self.begin_module(module)
        module_forward[after.id] = lambda module, args, output: self.end_module(module)
        module_forward_always_called[after.id] = True
        try:
            yield
        finally:
            before.remove()
            after.remove()

    def begin_module(self, module: Any) -> None:
        """A call of a module begins, on whatever thread."""
        if self in recorders():
            if id(module) not in self._called:
                self._called[id(module)] = module, called(module)
            name = self._called[id(module)][1]
            self._modules.append((module, self.begin(f"{MODULE}{name}", SCOPE_FORWARD)))

    def end_module(self, module: Any) -> None:
        """It has ended, and so have the calls inside that were left by an error."""
        if self in recorders():
            while self._modules:
                inner, entry = self._modules.pop()
                entry.close()
                if inner is module:
                    break

    def on_backward(self, gradient_ops: Any) -> WatchedGradientOps:
        """Watch one backward call."""
        return WatchedGradientOps(self, gradient_ops)

    def run_node(self, run: Callable, node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Watch one node of a backward call."""
        if isinstance(node, GraphRoot):
            return run(node, grads, needed)
        name, sequence_nr = node.name(), -1 if node.sequence_nr == HIGHEST_SEQUENCE_NR else node.sequence_nr
        outer = self.begin(EVALUATE + name, SCOPE_FORWARD, (), sequence_nr)
        inner = self.begin(name, SCOPE_BACKWARD, grads, sequence_nr)
        try:
            results = run(node, grads, needed)
            self._finish(results)
        finally:
            inner.close()
            outer.close()
        return results

    def _finish(self, results: Sequence[Any]) -> None:
        if self.sync:
            wait_for(value_of(result) if isinstance(result, Tensor) else result for result in results)

    def events(self) -> list[FunctionEvent]:
        """The events that were seen. One that is not over yet lasts until now."""
        forward_threads: dict[int, int] = {}
        for entry in self.entries:
            if entry.scope == SCOPE_FORWARD and not entry.name.startswith(EVALUATE) and entry.sequence_nr >= 0:
                forward_threads.setdefault(entry.sequence_nr, entry.thread)
        return [self._event(position, entry, forward_threads) for position, entry in enumerate(self.entries, 1)]

    def _event(self, position: int, entry: Entry, forward_threads: dict[int, int]) -> FunctionEvent:
        entry.close()
        assert entry.end is not None
        backward = entry.scope == SCOPE_BACKWARD or entry.name.startswith(EVALUATE)
        return FunctionEvent(
            id=position,
            name=STEP[:-1] + "*" if entry.name.startswith(STEP) else entry.name,
            trace_name=entry.name,
            overload_name="",
            thread=entry.thread,
            fwd_thread=forward_threads.get(entry.sequence_nr, 0) if backward else 0,
            start_us=(entry.start - self.begun) / 1000,
            end_us=(entry.end - self.begun) / 1000,
            input_shapes=entry.shapes,
            concrete_inputs=[],
            kwinputs={},
            stack=entry.stack or [],
            scope=entry.scope,
            sequence_nr=entry.sequence_nr,
            cpu_memory_usage=entry.memory,
            flops=entry.flops,
            is_user_annotation=entry.scope == SCOPE_USER,
        )

    def save(self, path: str, metadata: dict[str, Any] | None = None) -> None:
        """Write a trace for ``chrome://tracing`` or Perfetto."""
        process = os.getpid()
        named: list[dict] = [
            {"ph": "M", "name": "process_name", "pid": process, "tid": 0, "ts": 0, "args": {"name": "python"}}
        ]
        for entry in self.entries:
            entry.close()
            assert entry.end is not None
            named.append({
                "ph": "X", "cat": "user_annotation" if entry.scope == SCOPE_USER else "cpu_op", "name": entry.name,
                "pid": process, "tid": entry.thread, "ts": entry.start / 1000, "dur": (entry.end - entry.start) / 1000,
                "args": _trace_arguments(entry),
            })  # fmt: skip
        trace = {"schemaVersion": 1, "displayTimeUnit": "ms", **(metadata or {}), "traceEvents": named}
        with open(path, "w") as file:
            json.dump(trace, file)


class WatchedGradientOps:
    """A gradient type whose nodes a profile sees."""

    def __init__(self, recorder: Recorder, gradient_ops: Any) -> None:
        self.gradient_ops = gradient_ops
        self.run = functools.partial(recorder.run_node, gradient_ops.run)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.gradient_ops, name)


def _trace_arguments(entry: Entry) -> dict[str, Any]:
    arguments: dict[str, Any] = {"Input Dims": entry.shapes} if entry.shapes else {}
    return arguments if entry.sequence_nr < 0 else {**arguments, "Sequence number": entry.sequence_nr}


def _places() -> list[str]:
    """The places in the user's program that led here, the innermost first."""
    places = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith((PACKAGE, "<runner")):
            places.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return places


def flops_of(name: str, shapes: Sequence[tuple[int, ...]]) -> int:
    """The floating point operations of a product of matrices or a sum or product of tensors; 0 for anything else.

    >>> flops_of("aten::mm", [(2, 3), (3, 4)])
    48
    """
    counts = [functools.reduce(int.__mul__, shape, 1) for shape in shapes]
    if name in ("aten::mm", "aten::bmm") and len(shapes[1]) > 1:
        return 2 * counts[0] * shapes[1][-1]
    if name == "aten::addmm" and len(shapes) > 2 and len(shapes[2]) > 1:
        return 2 * counts[1] * shapes[2][-1]
    return max(counts) if name in ("aten::add", "aten::mul") else 0


def recorders() -> list[Recorder]:
    """The profiles that watch this thread."""
    owners = (getattr(watcher, "__self__", None) for watcher in thread.backward_watchers)
    return [owner for owner in owners if isinstance(owner, Recorder)]

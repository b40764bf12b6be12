"""The engine: runs the backward graph, each node once, when all its gradients have arrived.

Note [Order]
A node runs when every edge that leads to it has delivered (``dependencies``); among those ready, the one made last in
the forward pass runs first, and of equals the one that was ready first. A backward call inside a hook or a node runs
to its end before the outer one goes on, so the deeper call comes first: see Note [Reentrant] in ``threads.py``. Where
nodes belong to several threads this is the order within each of them: see Note [Workers] in ``workers.py``.

Note [Pruning]
With ``outputs`` only the nodes on a path to them run. ``exec_info`` holds what is wanted of each node; a node that only
has captures does not run: the gradient that arrives for it is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any

from tapegrad._src.engine.gradient_ops import GradientOps, on_values
from tapegrad._src.engine.graph_task import WHOLLY_NEEDED, GraphTask, InputBuffer
from tapegrad._src.engine.threads import NESTED_PER_THREAD, EngineThread, report, run_on_stand_in
from tapegrad._src.engine.turns import turns_of
from tapegrad._src.engine.workers import WorkersRun
from tapegrad._src.tape.hooks import HookDict, NodeHooks
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, Edge, Node, name_of

next_tick: Callable[[], int] = count().__next__
"""Which of several nodes with the same number was ready first."""


class GraphRoot(Node):
    """The node that the engine starts with: its gradients are the seeds, its edges lead to the roots."""

    __slots__ = ("seeds",)
    input_slots = 0

    def __init__(self, edges: Sequence[Edge | None], seeds: Sequence[Any]) -> None:
        self.next_edges = tuple(edges)
        self.seeds = tuple(seeds)
        self.sequence_nr = HIGHEST_SEQUENCE_NR

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        return self.seeds

    apply = apply_values


def wrong_number(node: Node | None, grads: Sequence) -> str:
    """The message for a node that did not return as many gradients as it has edges."""
    assert node is not None
    return f"{name_of(node)} returned {len(grads)} gradients, but it has {len(node.next_edges)} edges"


def _run_pre_hooks(hooks: HookDict, gradient_ops: GradientOps, buffer: list) -> list:
    """The gradients at a node after its own hooks have seen them. They keep nothing of it when it runs."""
    given = gradient_ops.to_hooks(buffer)
    for hook in tuple(hooks.values()):
        returned = hook(given)
        buffer[:] = gradient_ops.from_hooks(given, returned, hook)
        given = given if returned is None else returned
    return buffer


def always() -> bool:
    """True."""
    return True


def never() -> bool:
    """False."""
    return False


class Engine:
    """Executes backward graphs. One engine serves the whole process; its state is per thread and per call.

    Args:
        workers: whether there may be nodes with a ``worker``; asked at each backward call. Where there are none, no
            time is spent on looking for them.
    """

    def __init__(self, workers: Callable[[], bool] = always) -> None:
        self._thread = EngineThread()
        self._workers = workers

    @property
    def current_task(self) -> GraphTask | None:
        """The innermost backward call that runs on this thread."""
        tasks = self._thread.tasks
        return tasks[-1] if tasks else None

    @property
    def running_tasks(self) -> tuple[GraphTask, ...]:
        """The backward calls that run on this thread, or that this thread works for, outermost first."""
        return tuple(self._thread.tasks)

    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` when the current backward call has finished.

        Raises:
            RuntimeError: outside a backward call.
        """
        task = self.current_task
        if task is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        task.final_callbacks.append(callback)

    def execute(
        self, roots: Sequence[Edge], inputs: Sequence[Any], keep_graph: bool, create_graph: bool, accumulate_grad: bool,
        outputs: Sequence[Edge], gradient_ops: GradientOps, single_thread: Callable[[], bool] = never,
    ) -> list[Any]:  # fmt: skip
        """Run backward from ``roots`` and return the gradients captured at ``outputs``.

        Args:
            roots: the edges to start from.
            inputs: their gradients (seeds), one for each root.
            keep_graph: keep what nodes saved, so that the graph can be run again.
            create_graph: whether the backward pass is itself recorded; told to whoever asks, not used here.
            accumulate_grad: let the nodes at ``outputs`` run (they accumulate) instead of capturing what reaches them.
            outputs: run only what leads to these edges; empty for everything.
            gradient_ops: how gradients are added and nodes are run.
            single_thread: whether all must be done on the calling thread, whatever the nodes say; asked only if it
                matters.

        Returns:
            A gradient, or None, for each of ``outputs``; an empty list when ``accumulate_grad``.
        """
        here = self._thread
        tasks = here.tasks
        root = GraphRoot(roots, inputs)
        task = GraphTask(gradient_ops, keep_graph, create_graph, len(tasks), root)
        task.count_dependencies(root)
        if outputs:
            task.init_to_execute(root, outputs, accumulate_grad=accumulate_grad)
        if len(tasks) - here.base >= NESTED_PER_THREAD and not single_thread():
            return run_on_stand_in(here, partial(self._complete, task, root, single_thread))
        return self._complete(task, root, single_thread)

    def _complete(self, task: GraphTask, root: GraphRoot, single_thread: Callable[[], bool]) -> list[Any]:
        """Run the graph and the callbacks, on this thread and on those of the nodes."""
        here = self._thread
        tasks = here.tasks
        try:
            tasks.append(task)
            if self._workers() and task.has_workers() and thread.modes.multithreading and not single_thread():
                WorkersRun(here, task, self._step).run(root)
            else:
                try:
                    self._run(task, root)
                except BaseException as error:  # tell who watches for that
                    report(task.node, error)
                    raise
            task.node = None
            for callback in task.final_callbacks:  # callbacks may queue others: the list grows while it is read
                callback()
        finally:
            del tasks[task.depth :]
        return task.captured_vars

    def _run(self, task: GraphTask, root: GraphRoot) -> None:
        """The loop: take the most urgent ready node, run it, deliver its gradients."""
        dependencies, not_ready, exec_info = task.dependencies, task.not_ready, task.exec_info
        look = exec_info.get
        run, release = task.gradient_ops.run, not task.keep_graph
        plain = run is on_values
        capture = task.captured_vars
        add, add_into = task.gradient_ops.add, task.add_into
        ready, tick, in_turn = task.ready, next_tick, NodeHooks.made or NodeHooks.of_leaves
        node: Node | None = root
        buffer: Any = []
        inputs: Any
        if (plain or task.unseen) and len(root.next_edges) == 1 and root.next_edges[0] is not None:
            node, input_nr = root.next_edges[0]
            buffer = [None] * node.input_slots
            buffer[input_nr] = root.seeds[0]  # nobody sees the root run
        while node is not None:
            task.node = node
            info = exec_info[node] if exec_info else WHOLLY_NEEDED
            if node.hook_slots is None and info.needed and not info.captures:
                grads = node.apply_values(buffer, info.edges) if plain else run(node, buffer, info.edges)
            elif exec_info:
                grads = self._run_selected(task, node, buffer)
            else:
                grads = self._run_hooked(task, node, buffer, None)
            if release and info.needed:
                node.release_variables()
            edges, node = node.next_edges, None
            if len(edges) != len(grads):
                raise ValueError(wrong_number(task.node, grads))
            if in_turn and len(edges) > 1:
                turns = turns_of(task.node, dependencies, len(ready))
                if turns is not None:
                    edges, grads = [edges[i] for i in turns], [grads[i] for i in turns]
            urgent = -ready[0][0] if ready else -1  # the highest number among the nodes that are ready
            position = -1
            for edge in edges:
                position += 1  # quicker than enumerate or zip
                if edge is None:
                    continue
                successor, input_nr = edge
                waiting = dependencies[successor] - 1
                if waiting or successor in not_ready or successor.input_slots != 1:
                    inputs = not_ready.get(successor)
                    if inputs is None:
                        inputs = not_ready[successor] = InputBuffer((None,) * successor.input_slots)
                    inputs.accumulate(input_nr, grads[position], add, add_into)
                    if waiting:
                        dependencies[successor] = waiting
                        continue
                    del not_ready[successor]
                else:
                    inputs = [grads[position]]
                asked = look(successor) if exec_info else WHOLLY_NEEDED
                if asked is not None:
                    if not asked.needed and successor.hook_slots is None:  # it need not run
                        for slot, output_nr in asked.captures:
                            capture[output_nr] = inputs[slot]
                        continue
                    order = successor.sequence_nr
                    if order <= urgent:
                        heappush(ready, (-order, tick(), successor, inputs))
                        continue
                    if node is not None:  # it was the most urgent, so it was ready before its equals
                        heappush(ready, (-urgent, -1, node, buffer))
                    node, buffer, urgent = successor, inputs, order  # it need not queue
            grads = inputs = ()  # what was delivered belongs to its receivers
            if node is None and ready:
                _, _, node, buffer = heappop(ready)

    def visits(
        self, roots: Sequence[Edge], inputs: Sequence[Any], outputs: Sequence[Edge], gradient_ops: GradientOps
    ) -> Iterator[tuple[Node, list, Sequence]]:
        """Run what leads to ``outputs`` one node at a time, for who wants to look on: see ``execute``.

        Nothing accumulates, and the graph is kept: between two nodes anything else may be done, or nothing ever.

        Yields:
            The node that has run, the gradients that it was given, and one, or None, for each of its edges; a node at
            ``outputs`` gives none.
        """
        tasks, tick = self._thread.tasks, next_tick
        root = GraphRoot(roots, inputs)
        task = GraphTask(gradient_ops, keep_graph=True, create_graph=False, depth=len(tasks), root=root)
        task.count_dependencies(root)
        task.init_to_execute(root, outputs, accumulate_grad=False)
        ready: list[tuple[int, int, Node, list]] = [(0, tick(), root, [])]
        while ready:
            _, _, node, buffer = heappop(ready)
            task.depth = len(tasks)
            try:
                tasks.append(task)
                task.node = node
                grads = self._step(task, node, buffer)
            finally:
                del tasks[task.depth :]
            for successor in self._deliver(task, node, grads):
                heappush(ready, (-successor.sequence_nr, tick(), successor, task.not_ready.pop(successor)))
            if node is not root:
                yield node, buffer, grads

    @staticmethod
    def _deliver(task: GraphTask, node: Node, grads: Sequence) -> Iterator[Node]:
        """Put a node's gradients into the buffers of its successors; gives those that are ready and wanted."""
        if len(node.next_edges) != len(grads):
            raise ValueError(wrong_number(node, grads))
        for edge, grad in zip(node.next_edges, grads, strict=True):
            if edge is None:
                continue
            successor, input_nr = edge
            buffer = task.not_ready.setdefault(successor, InputBuffer((None,) * successor.input_slots))
            buffer.accumulate(input_nr, grad, task.gradient_ops.add)
            task.dependencies[successor] -= 1
            if not task.dependencies[successor] and successor in task.exec_info:
                yield successor

    def _step(self, task: GraphTask, node: Node, buffer: list) -> Sequence:
        """Run one node with its hooks, as the loop above does, and return a gradient for each of its edges."""
        exec_info = task.exec_info
        if exec_info:
            grads = self._run_selected(task, node, buffer)
        elif node.hook_slots is None:
            grads = task.gradient_ops.run(node, buffer, None)
        else:
            grads = self._run_hooked(task, node, buffer, None)
        if not task.keep_graph and (not exec_info or exec_info[node].needed):
            node.release_variables()
        return grads

    def _run_selected(self, task: GraphTask, node: Node, buffer: list) -> Sequence:
        """Run a node of a call with ``outputs``: capture what was asked for, run the node only if it is needed."""
        info = task.exec_info[node]
        if node.hook_slots is not None and not info.needed:
            buffer = self._tensor_hooks(task, node.hook_slots, buffer)
        for slot, output_nr in info.captures:
            task.captured_vars[output_nr] = buffer[slot]
        if not info.needed:
            return (None,) * len(node.next_edges)
        if node.hook_slots is None:
            return task.gradient_ops.run(node, buffer, info.edges)
        return self._run_hooked(task, node, buffer, info.edges)

    def _run_hooked(self, task: GraphTask, node: Node, buffer: list, needed: tuple[bool, ...] | None) -> Sequence:
        assert node.hook_slots is not None
        return self._run_own_hooks(task, node, self._tensor_hooks(task, node.hook_slots, buffer), needed)

    @staticmethod
    def _tensor_hooks(task: GraphTask, hooks: NodeHooks, buffer: list) -> list:
        """Hooks of the node's output tensors, then ``retain_grad``. Where no gradient has arrived hooks get None.

        The hooks of one tensor see the same object, so that one sees what another did to it in place. What they give
        takes the place of what has arrived.
        """
        gradient_ops = task.gradient_ops
        for output_nr, tensor_hooks in tuple(hooks.tensor_pre):
            given = None if buffer[output_nr] is None else gradient_ops.to_hook(buffer[output_nr])
            for hook in tuple(tensor_hooks.values()):
                returned = hook(given)
                if returned is not None or given is not None:
                    buffer[output_nr] = gradient_ops.from_hook(given, returned, hook)
                    given = given if returned is None else returned
        if hooks.retain:
            for output_nr, hook in tuple(hooks.retain.items()):
                if buffer[output_nr] is not None:
                    hook(gradient_ops.to_hook(buffer[output_nr]))
        return buffer

    @staticmethod
    def _run_own_hooks(task: GraphTask, node: Node, buffer: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Pre-hooks of the node, the node, its post-hooks."""
        hooks, gradient_ops = node.hook_slots, task.gradient_ops
        assert hooks is not None
        if hooks.pre:
            buffer = _run_pre_hooks(hooks.pre, gradient_ops, buffer)
        had_post = bool(hooks.post)
        grads = gradient_ops.run(node, buffer, needed)
        if hooks.post:
            given = gradient_ops.to_hooks(grads)
            # without hooks a node is free to use up what comes in: the first, registered while it ran, get nothing
            incoming = gradient_ops.to_hooks(buffer if had_post else [])
            for hook in tuple(hooks.post.values()):
                returned = hook(given, incoming)
                grads = gradient_ops.from_hooks(given, returned, hook)
                given = given if returned is None else returned
        return grads

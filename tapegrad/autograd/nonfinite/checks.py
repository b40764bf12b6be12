"""Looking for nan and inf in what operators and nodes return, without waiting for each.

Note [Checks that wait]
Every operator (``forward=True``) and every node leaves a *step*: what it was given, and a flag for each result
(``execution/array_functions/nonfinite.py``, Note [Flags]). Steps are read many at a time, in the order in which they
were left, and the first with a bad result is reported. They are read before a user's code could see the damage: before
a hook or a custom function runs, at both ends of a backward call, at the end of the context. Accumulation into
``.grad`` goes on meanwhile; what came after the step that is reported is taken back.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tapegrad._src.dispatch import AccumulateGrad, OperatorNode, Plan
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.engine import GraphRoot
from tapegrad._src.engine.threads import report
from tapegrad._src.execution.array_functions.nonfinite import flag, read
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.tape.modes import inherited_state, thread
from tapegrad._src.tape.node import Node
from tapegrad._src.tape.positions import here
from tapegrad._src.tensor.tensor import Tensor, value_of, write
from tapegrad.autograd.nonfinite.report import backward_text, forward_text, raw
from tapegrad.autograd.running import engine

STEPS_AT_A_TIME = 64
ELEMENTS_HELD = 1 << 24
"""The number of steps, and of elements of results, that may wait to be read."""


class Checks(NamedTuple):
    """The work of anomaly detection: the value of ``modes.anomaly``.

    Attributes:
        enabled: whether it is on.
        check_nan, check_inf: what to look for.
        forward: whether to look for it in the forward pass too.
    """

    enabled: bool = False
    check_nan: bool = True
    check_inf: bool = False
    forward: bool = False

    @property
    def any(self) -> bool:
        """True if results are looked at."""
        return self.enabled and (self.check_nan or self.check_inf)


OFF = Checks()


class CheckedStep:
    """Something that was done, and a flag for each of its results."""

    __slots__ = ("flags",)

    flags: Sequence[Any]

    def failure(self, index: int, nan: bool) -> RuntimeError:
        """The error for result ``index``."""
        raise NotImplementedError

    def undo(self) -> None:
        """Take back what could be seen of it, for an earlier step has failed: nothing."""


class ForwardStep(CheckedStep):
    """An operator that was run: its operands, its results' flags, and where."""

    __slots__ = ("op", "args", "place")

    def __init__(self, op: OperatorLike, args: list, flags: list, place: Any) -> None:
        self.op, self.args, self.flags, self.place = op, args, flags, place

    def failure(self, index: int, nan: bool) -> RuntimeError:
        names = [self.op.input_name(position) for position in range(len(self.args))]
        return RuntimeError(forward_text(self.op, list(zip(names, self.args, strict=True)), index, nan, self.place))


class BackwardStep(CheckedStep):
    """A node that was run: the gradients it was given, what it had saved, and its results' flags."""

    __slots__ = ("node", "given", "saved", "roots")

    def __init__(self, node: Node, given: Sequence[Any], saved: Any, flags: list, roots: Sequence[Node]) -> None:
        self.node, self.given, self.saved, self.flags, self.roots = node, given, saved, flags, roots

    def failure(self, index: int, nan: bool) -> RuntimeError:
        """The error for a gradient. It knows the node that is to blame (``error.blamed``)."""
        text = backward_text(self.node, self.given, saved_by(self.node, self.saved), index, nan, self.roots)
        error = RuntimeError(text)
        error.blamed = self.node  # type: ignore[attr-defined]
        return error


def saved_by(node: Node, saved: Any) -> list[tuple[str, Any]]:
    """The values that an operator's node had saved, by the names of the formulas."""
    if not isinstance(node, OperatorNode) or not isinstance(saved, tuple):
        return []
    op, plan = node.plan.op, node.plan
    names = [op.input_name(position) for position in plan.saved_inputs]
    names += [(op.outputs or ("out",))[position] for position in plan.saved_outputs]
    return [(name, raw(item)) for name, item in zip(names, saved, strict=True)]


class Accumulation(CheckedStep):
    """A gradient that was added to ``.grad`` while checks waited."""

    __slots__ = ("variable", "grad", "value")

    def __init__(self, variable: Tensor) -> None:
        self.flags = ()
        self.variable, self.grad = variable, variable._grad
        self.value = None if self.grad is None else value_of(self.grad)

    def undo(self) -> None:
        self.variable._grad = self.grad
        if self.grad is not None and value_of(self.grad) is not self.value:
            write(self.grad, self.value)


class WaitingSteps:
    """Steps that wait to be read. See Note [Checks that wait]."""

    def __init__(self) -> None:
        self.steps: deque[CheckedStep] = deque()  # nodes of a backward call may run on several threads: each may
        self.reading = threading.Lock()  # append, one reads
        self.held = 0

    def add(self, step: CheckedStep, held: int = 0) -> None:
        """Leave a step, whose results have this many elements; read all if too much waits."""
        self.steps.append(step)
        self.held += held
        if len(self.steps) >= STEPS_AT_A_TIME or self.held > ELEMENTS_HELD:
            self.read()

    def read(self) -> None:
        """Wait for the flags of all steps. Raises RuntimeError: for the first that has what is looked for."""
        with self.reading:
            self.held = 0
            steps = [self.steps.popleft() for _ in range(len(self.steps))]
        checks: Checks = thread.modes.anomaly or OFF
        if not steps or not checks.enabled:
            return
        answers = read([one for step in steps for one in step.flags if one is not None])
        if any(map(any, answers)):
            self._report(steps, iter(answers), checks)

    @staticmethod
    def _report(steps: Sequence[CheckedStep], answers: Iterator, checks: Checks) -> None:
        for position, step in enumerate(steps):
            for index, one in enumerate(step.flags):
                nan, inf = (False, False) if one is None else next(answers)
                if (nan and checks.check_nan) or (inf and checks.check_inf):
                    for later in reversed(steps[position:]):
                        later.undo()
                    raise step.failure(index, nan and checks.check_nan)


class _Forward(threading.local):
    """The steps of the forward pass, for each thread, and how many formulas of operators it is computing.

    What formulas compute on the way is not looked at: some make inf or nan and mask it.
    """

    def __init__(self) -> None:
        self.waiting = WaitingSteps()
        self.formulas = 0


_forward = _Forward()
inherited_state.append(_forward)


def read_forward() -> None:
    """Read what waits of this thread's forward pass."""
    _forward.waiting.read()


def check_operator(plan: Plan, args: tuple, results: tuple[Tensor, ...]) -> None:
    """Leave a step for an operator that was run."""
    forward, spec = _forward, plan.out_specs[0]
    if forward.formulas or (plan.single and spec.dtype.category < FLOATING):
        return
    flags = [flag(value_of(result)) for result in results]
    if flags[0] is None and all(one is None for one in flags):
        return
    edge = results[0]._edge
    place = here() if edge is None else edge[0]._origin
    operands = [value_of(arg) if isinstance(arg, Tensor) else arg for arg in args]
    forward.waiting.add(ForwardStep(plan.op, operands, flags, place), spec.numel)


class Checked:
    """A gradient type that has the results of every node looked at; what it does is another's work."""

    def __init__(self, gradient_ops: Any) -> None:
        read_forward()
        self.gradient_ops = gradient_ops
        self.waiting = WaitingSteps()
        self.awaited: dict[Node, tuple[int, Any, Any]] = {}
        self.roots: list[Node] = []
        self.add, self.add_into, self.seed = gradient_ops.add, gradient_ops.add_into, gradient_ops.seed
        self.from_hook = gradient_ops.from_hook

    def run(self, node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        """Run a node and leave a step."""
        formula = isinstance(node, OperatorNode)
        saved = node.saved if formula else self._prepare(node)  # type: ignore[attr-defined]
        _forward.formulas += formula
        try:
            results = self.gradient_ops.run(node, grads, needed)
        except Exception:
            self.waiting.read()  # what is found there came first
            raise
        finally:
            _forward.formulas -= formula
        if not results or isinstance(node, GraphRoot):
            return results
        hooks = 0 if node.hook_slots is None else len(node.hook_slots.post or ())
        if hooks:
            self.awaited[node] = hooks, grads, saved  # PyTorch looks at what the hooks make of it
        else:
            self._leave(node, grads, saved, results)
        return results

    def _prepare(self, node: Node) -> Any:
        """Before a node runs that is no operator's, and has saved nothing that is shown."""
        if isinstance(node, AccumulateGrad) and node.hook_slots is None:
            self.waiting.add(Accumulation(node.variable))
        elif isinstance(node, GraphRoot):
            self.roots = [edge[0] for edge in node.next_edges if edge is not None]
            engine.queue_callback(self._finish)
        else:
            self.waiting.read()
        return None

    def _finish(self) -> None:
        """At the end of the backward call, when no node runs on which an error could be blamed."""
        try:
            self.waiting.read()
        except RuntimeError as error:
            report(None, error)
            raise

    def _leave(self, node: Node, grads: Any, saved: Any, results: Sequence) -> None:
        flags = [None if result is None else flag(raw(result)) for result in results]
        held = sum([one.size for one in flags if one is not None])
        if held:
            self.waiting.add(BackwardStep(node, grads, saved, flags, self.roots), held)

    def to_hook(self, grad: Any) -> Any:
        """A gradient as a hook sees it, when all before it has been looked at."""
        self.waiting.read()
        return self.gradient_ops.to_hook(grad)

    def to_hooks(self, grads: Sequence) -> tuple:
        """Gradients as hooks see them, when all before them has been looked at."""
        self.waiting.read()
        return self.gradient_ops.to_hooks(grads)

    def from_hooks(self, given: tuple, returned: Any, hook: Callable) -> Any:
        """The gradients after a hook; after the last one of a node, they are what it returned."""
        results = self.gradient_ops.from_hooks(given, returned, hook)
        node = engine.current_task.node  # type: ignore[union-attr]
        if node in self.awaited:
            left, grads, saved = self.awaited.pop(node)
            if left > 1:
                self.awaited[node] = left - 1, grads, saved
            else:
                self._leave(node, grads, saved, results)
        return results

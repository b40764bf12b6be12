"""Finding the operator at which the tape and jax part: every node of a backward pass against ``jax.vjp`` of its kernel.

Note [Causes]
A node's gradients are compared with those which jax finds of the same operator for the same inputs and the same
incoming gradients. Where they differ, both are computed again at points nearby, chosen at random. If they agree there,
the inputs sit at a kink, or at a pole or the edge of a domain; if they do not, a formula is wrong: a fault. Kinks and
rules, which hold everywhere, are known by the table of conventions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.dispatch.plan import Plan
from tapegrad._src.dispatch.view_history import CopySlices
from tapegrad._src.engine import GraphRoot
from tapegrad._src.execution.array_functions.host import to_host
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.tape.modes import watching
from tapegrad._src.tape.node import Node, name_of
from tapegrad._src.tape.positions import here
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.ops.conventions import Convention
from tapegrad.ops.foreign import pulled
from tapegrad.ops.kinds import zeros_of
from tapegrad.ops.operator import TABLE

TOLERANCES = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-4, "complex64": 1e-4}
"""The most that two ways of computing a gradient may differ by, beside the largest of its numbers; others: 1e-8."""


@dataclass(frozen=True)
class Difference:
    """An operator whose gradients are not those of jax.

    Attributes:
        operator, node: the operator, and what the node is called.
        input: the name of the input whose gradient differs.
        largest: the largest difference.
        cause: "kink" or "rule" (see Note [Two conventions] in ``ops/conventions.py``), "pole" for another point where
            there is no derivative, or "fault".
        where: the place in the user's program.
    """

    operator: str
    node: str
    input: str
    largest: float
    cause: str
    where: Any = None

    def __str__(self) -> str:
        place = "" if self.where is None else f", at {self.where.place}"
        return f"{self.node} (of {self.operator}{place}), the gradient of {self.input}: {self._reason()}"

    def _reason(self) -> str:
        if self.cause == "fault":
            return f"a fault: its formula is not the derivative of its kernel (by {self.largest:.3g}, nearby too)"
        if self.cause == "pole":
            return "no fault: nearby the two agree; here there is no derivative: a pole, a tie, the edge of a domain"
        known = TABLE[self.operator].convention
        choice = f"{known.where}, PyTorch gives {known.torch}; jax gives {known.jax}"
        return f"no fault but a convention, a {self.cause}: {choice}"


@dataclass
class Recording:
    """The record of a program: each node's operator's arguments and place, and what flowed in backward."""

    calls: dict[Node, tuple[tuple, Any]] = field(default_factory=dict)
    ran: list[tuple[Node, list, Sequence]] = field(default_factory=list)

    @contextmanager
    def forward(self) -> Iterator[None]:
        """See operators run for a block."""

        def note(op: OperatorLike, args: tuple, settings: dict) -> Any:
            values = tuple(value_of(arg) if isinstance(arg, Tensor) else arg for arg in args)
            results = op(*args, **settings)
            for result in results if isinstance(results, tuple) else (results,):
                if isinstance(result, Tensor) and result._edge is not None:
                    self.calls.setdefault(result._edge[0], (values, here()))
            return results

        with watching(interceptor=note):
            yield

    @contextmanager
    def backward(self) -> Iterator[None]:
        """See nodes run for a block."""
        with watching(backward_watcher=lambda gradient_ops: _Noted(gradient_ops, self.ran)):
            yield

    def differences(self) -> Iterator[Difference]:
        """The operators that differ, in the order in which backward ran them."""
        for ran, given, gave in self.ran:
            node, grads, results = inner(ran, given) if isinstance(ran, CopySlices) else (ran, given, gave)
            if isinstance(node, OperatorNode) and node in self.calls:
                yield from compare_node(node, *self.calls[node], grads, results)

    @property
    def unchecked(self) -> list[str]:
        """The names of the nodes that no operator made, those of custom functions above all."""
        checked = (OperatorNode, CopySlices, AccumulateGrad, GraphRoot)
        return sorted({name_of(node) for node, _, _ in self.ran if not isinstance(node, checked)})


class _Noted:
    """A gradient type that notes what each node was given, and gave."""

    def __init__(self, gradient_ops: Any, ran: list) -> None:
        self._gradient_ops, self._ran = gradient_ops, ran

    def __getattr__(self, name: str) -> Any:
        return getattr(self._gradient_ops, name)

    def run(self, node: Node, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        given = list(grads)
        results = self._gradient_ops.run(node, grads, needed)
        self._ran.append((node, given, results))
        return results


def inner(node: CopySlices, grads: list) -> tuple[Node | None, list, None]:
    """The node of the operator whose result was written to a view, and what it was given."""
    if type(node.inner) is not tuple or grads[0] is None:
        return None, grads, None
    return node.inner[0], [node.part.of(grads[0], *node.offsets)], None


def compare_node(
    node: OperatorNode, values: tuple, place: Any, grads: Sequence, results: Sequence | None
) -> Iterator[Difference]:
    """The gradients of one node that differ from those of jax.

    Args:
        values: the arguments of the operator.
        place: where it was called.
        grads, results: what the node was given in backward, and what it gave (or None).
    """
    plan = node.plan
    wanted = plan.needed if results is None else tuple(result is not None for result in results)
    if not any(wanted) or all(grad is None for grad in grads):
        return
    cotangents = [_seed(plan, grads, index) for index in range(plan.num_outputs)]
    given = [*cotangents, *_present(values)]
    results = _kernel(plan, _by_formulas(plan, wanted))(*given)[: len(wanted)] if results is None else results
    expected = _kernel(plan, _by_jax(plan, wanted))(*given)
    pairs = zip(plan.positions, results, expected, strict=True)
    differing = [pair for pair in pairs if pair[1] is not None and differ(*pair[1:])]
    if not differing:
        return
    agrees = _agree_nearby(plan, values, cotangents, wanted)
    for position, ours, theirs in differing:
        cause, largest = _cause(plan.op.convention, agrees), largest_difference(ours, theirs)
        yield Difference(plan.op.name, node.name(), plan.op.input_name(position), largest, cause, place)


def _cause(known: Convention | None, agrees: bool) -> str:
    """See Note [Causes]."""
    if known is not None and not known.kink:
        return "rule"
    if not agrees:
        return "fault"
    return "pole" if known is None else "kink"


def _seed(plan: Plan, grads: Sequence, index: int) -> Any:
    """The gradient of one output, or zeros."""
    if index < len(grads) and grads[index] is not None:
        return grads[index]
    spec, model = plan.out_specs[index], next(grad for grad in grads if grad is not None)
    return zeros_of(model, shape=tuple(spec.shape), dtype=spec.dtype)


def _present(values: tuple) -> list:
    return [value for value in values if value is not None]


def _kernel(plan: Plan, function: Callable) -> Callable:
    return Kernel(function, name=f"compare_{plan.op.name}", wide=plan.kernels.wide).dispatcher()


def _by_jax(plan: Plan, wanted: tuple[bool, ...]) -> Callable:
    """A function of the outputs' gradients and the arguments: the gradients of the inputs, by jax."""
    function, count = plan.op.prepare(plan.specs, plan.settings), plan.num_outputs
    asked = {position for position, want in zip(plan.positions, wanted, strict=True) if want}
    marks = tuple(i in asked for i, spec in enumerate(plan.specs) if spec is not None)
    flows = [spec.dtype.category >= 2 for spec in plan.out_specs]

    def gradients(*values: Any) -> tuple:
        given = [g for g, flowing in zip(values[:count], flows, strict=True) if flowing]
        found = iter(pulled(function, given, values[count:], marks))
        return tuple(next(found) if position in asked else None for position in plan.positions)

    return gradients


def _by_formulas(plan: Plan, wanted: tuple[bool, ...]) -> Callable:
    """The same by the operator's formulas, which get the outputs from the kernel; and behind them the outputs."""
    function, count = plan.op.prepare(plan.specs, plan.settings), plan.num_outputs
    absent = [position for position, spec in enumerate(plan.specs) if spec is None]

    def gradients(*values: Any) -> tuple:
        outputs = function(*values[count:])
        outputs = (outputs,) if plan.single else outputs
        arguments = list(values[count:])
        for position in absent:
            arguments.insert(position, None)
        saved = [arguments[i] for i in plan.saved_inputs] + [outputs[i] for i in plan.saved_outputs]
        return (*plan.gradients(values[: plan.slots], saved, wanted), *outputs)

    return gradients


def _agree_nearby(plan: Plan, values: tuple, cotangents: list, wanted: tuple[bool, ...], draws: int = 16) -> bool:
    """Tell whether formulas and jax agree around the arguments, where the outputs and both gradients are numbers."""
    ours, theirs = (_kernel(plan, by(plan, wanted)) for by in (_by_formulas, _by_jax))
    rng = np.random.default_rng(0)
    for _ in range(draws):
        moved = [*cotangents, *(_moved(value, rng) for value in _present(values))]
        found, by_jax = ours(*moved), theirs(*moved)
        outputs = [as_wide(out) for out in found[len(by_jax) :] if is_inexact(out.dtype)]
        for a, b in zip(found[: len(by_jax)], by_jax, strict=True):
            if a is not None and differ(a, b, among=_in_domain(outputs, a.shape)):
                return False
    return True


def _in_domain(outputs: list, shape: tuple[int, ...]) -> np.ndarray:
    """At which elements of a gradient the outputs are numbers: by element, if the shapes are the same."""
    parts = [np.isfinite(out) for out in outputs]
    return np.all([part if part.shape == tuple(shape) else np.full(shape, part.all()) for part in parts], axis=0)


def _moved(value: Any, rng: np.random.Generator) -> Any:
    """A floating or complex argument, every element moved a little; any other as it is."""
    array = np.asarray(value)
    if isinstance(value, (bool, int, float, complex)) or not is_inexact(array.dtype):
        return value
    complex_ = array.dtype.kind == "c"
    noise = rng.standard_normal(array.shape) + (1j * rng.standard_normal(array.shape) if complex_ else 0)
    wide = array.astype("complex128" if complex_ else "float64")
    return np.asarray(wide + 0.01 * (0.1 + np.abs(wide)) * noise, array.dtype)


# -- comparing numbers -------------------------------------------------------------------------------------------------


def is_inexact(dtype: Any) -> bool:
    """Tell whether an array's dtype is floating or complex; bfloat16 and the like count."""
    return np.dtype(dtype).kind not in "biu"


def differ(ours: Any, theirs: Any, rtol: float | None = None, atol: float = 0.0, among: Any = None) -> bool:
    """Tell whether two arrays differ by more than ``atol`` plus ``rtol`` times the largest number; nan agrees with nan.

    With ``among``, a mask, only numbers are compared, and only there.
    """
    a, b = as_wide(ours), as_wide(theirs)
    finite = np.isfinite(a) & np.isfinite(b)
    if among is not None:
        finite &= among
    elif not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return True
    rtol = TOLERANCES.get(str(np.asarray(ours).dtype), 1e-8) if rtol is None else rtol
    scale = np.abs(b[finite]).max(initial=0)
    return bool((np.abs(a[finite] - b[finite]) > atol + rtol * scale).any())


def largest_difference(ours: Any, theirs: Any) -> float:
    """The largest difference of two arrays; nan where only one of them is."""
    a, b = as_wide(ours), as_wide(theirs)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        return float(np.where(same, 0, np.abs(a - b)).max(initial=0))


def as_wide(value: Any) -> np.ndarray:
    """The elements as float64 or complex128."""
    array = to_host(value)
    return array.astype("complex128" if array.dtype.kind == "c" else "float64")

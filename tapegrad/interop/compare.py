"""``compare``: value and gradients of one function, by the tape and by jax, side by side.

Note [The same function, by jax]
jax differentiates the Python function itself, called with tensors around its tracers. What the tape holds constant is
constant to jax too: a tensor that does not require grad and meets one which does (what ``detach`` gave, what a
``no_grad`` block computed) stops jax's gradient. Hooks, and the backward formulas of custom functions, are the tape's
alone, so that a comparison shows what they change.
"""

from __future__ import annotations

import html
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.bindings.state.generator import default_generator
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.execution.array_functions.host import array_of, from_host, is_traced
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import get_default_dtype
from tapegrad._src.tape.modes import switched, thread, watching
from tapegrad._src.tensor.tensor import Tensor, describe, value_of, wrap
from tapegrad.autograd.differentiate import grad
from tapegrad.interop.first_difference import Difference, Recording, as_wide, differ, largest_difference


@dataclass(frozen=True)
class ComparedRow:
    """One line of a comparison: the value, or the gradient of an input.

    Attributes:
        name: what is compared.
        ours, theirs: by the tape and by jax; of complex inputs jax's gradient is shown conjugated, as the tape's is.
        agrees: whether they are the same, up to rounding.
        largest: the largest difference; ``relative``: divided by the largest number of jax's.
        conjugated: whether jax's own gradient is the conjugate of what is shown.
    """

    name: str
    ours: np.ndarray
    theirs: np.ndarray
    agrees: bool
    conjugated: bool = False

    @property
    def largest(self) -> float:
        return largest_difference(self.ours, self.theirs)

    @property
    def relative(self) -> float:
        numbers = np.abs(as_wide(self.theirs))
        scale = numbers[np.isfinite(numbers)].max(initial=0)
        return self.largest / scale if scale else self.largest

    def cells(self) -> list[str]:
        """The texts of the row."""
        kind = f"{self.theirs.dtype}{list(self.theirs.shape)}"
        verdict = "agrees" if self.agrees else "DIFFERS"
        verdict += ", jax's is the conjugate" if self.conjugated else ""
        return [self.name, kind, f"{self.largest:.2e}", f"{self.relative:.2e}", verdict]


@dataclass(frozen=True)
class Comparison:
    """The findings of ``compare``; they print as a table.

    Attributes:
        rows: the values, then the gradients.
        differences: the operators whose own gradients differ, in the order of backward, up to the first fault; looked
            for only if a row differs.
        unchecked: if no operator differs though a row does, the nodes that are no operators': of custom functions.
    """

    rows: list[ComparedRow]
    differences: list[Difference] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """True if all rows agree."""
        return all(row.agrees for row in self.rows)

    @property
    def first(self) -> Difference | None:
        """The first operator that differs."""
        return self.differences[0] if self.differences else None

    @property
    def fault(self) -> Difference | None:
        """The first operator that differs for no stated reason."""
        return next((one for one in self.differences if one.cause == "fault"), None)

    def verdict(self) -> list[str]:
        """The verdict on the rows."""
        if self.agrees:
            return ["the tape and jax agree"]
        if self.differences:
            later = [f"then {one}" for one in self.differences[1:]]
            return [f"the first operator that differs: {self.first}", *later]
        known = f" (here: {', '.join(self.unchecked)})" if self.unchecked else ""
        return [f"no operator differs by itself; what else changes gradients are hooks and custom functions{known}"]

    def __str__(self) -> str:
        table = [HEAD, *(row.cells() for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        padded = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
        return "\n".join([*padded, *self.verdict()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = ["".join(f"<td>{html.escape(cell)}</td>" for cell in row.cells()) for row in self.rows]
        head = "".join(f"<th>{cell}</th>" for cell in HEAD)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        said = "".join(f"<p>{html.escape(line)}</p>" for line in self.verdict())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}"


HEAD = ["", "", "difference", "relative", ""]


def compare(fn: Callable, *inputs: Any, rtol: float | None = None, atol: float = 0.0) -> Comparison:
    """Value and gradients of ``fn`` by the tape and by ``jax.vjp`` of the same function, in one call.

    Where they differ, every node of the tape's backward pass is held against jax by itself, to find the operator at
    which they part, the line of it, and whether that is a convention (see ``subgradient``) or a fault.

    Args:
        fn: a function of tensors; gives a tensor, or a structure (tuple, list, dict) of tensors and other things.
        inputs: tensors, arrays, numbers, and other things. Of each tensor, array or number that is floating or complex
            a gradient is taken; the function gets it as a leaf of its own.
        rtol: how much the two may differ, beside the largest number of jax's; by default 1e-4 in float32, 1e-8 in
            float64, 1e-2 and 5e-2 in float16 and bfloat16.
        atol: how much they may differ in any case.

    Raises:
        RuntimeError: no output requires grad.
        jax.errors.TracerArrayConversionError: the function reads elements of what depends on its inputs.
        NotImplementedError: it uses an operator whose kernel jax has no derivative of.

    >>> print(torch.compare(lambda x: (x * x).sum(), torch.tensor([1.0, 2.0])))
                             difference  relative
    value        float32[]   0.00e+00    0.00e+00  agrees
    gradient: x  float32[2]  0.00e+00    0.00e+00  agrees
    the tape and jax agree
    >>> torch.compare(lambda x: x.abs().sum(), torch.zeros(2)).first.cause
    'kink'
    """
    with switched(deferred=False):  # operators are compared one by one
        return _compared(_Program(fn, [_leaf(one) for one in inputs]), rtol, atol)


def _compared(program: _Program, rtol: float | None, atol: float) -> Comparison:
    recording = Recording()
    values, gradients = program.by_tape(recording)
    expected, theirs = program.by_jax()

    def row(name: str, a: Any, b: Any, conjugated: bool = False) -> ComparedRow:
        return ComparedRow(name, np.asarray(a), np.asarray(b), not differ(a, b, rtol, atol), conjugated)

    names = ["value"] if len(values) == 1 else [f"value {i}" for i in range(len(values))]
    rows = [row(name, a, b) for name, a, b in zip(names, values, expected, strict=True)]
    for name, ours, b in zip(program.names(), gradients, theirs, strict=True):
        rows.append(row(f"gradient: {name}", ours, b, jnp.iscomplexobj(b)))
    if all(one.agrees for one in rows):
        return Comparison(rows)
    differences = list(_up_to_a_fault(recording.differences()))
    return Comparison(rows, differences, [] if differences else recording.unchecked)


def _up_to_a_fault(differences: Iterator[Difference]) -> Iterator[Difference]:
    for one in differences:
        yield one
        if one.cause == "fault":
            return


class _Program:
    """A function with its inputs, which can be run by the tape and by jax.

    Attributes:
        inputs: tensors and other things.
        wanted: the positions of those that gradients are taken of.
        seeds: after ``by_tape``: the gradient of each output. Those of several elements are not all alike, so that
            errors are seen which add up to zero.
    """

    def __init__(self, fn: Callable, inputs: list) -> None:
        self.fn, self.inputs = fn, inputs
        tensors = [(i, one) for i, one in enumerate(inputs) if isinstance(one, Tensor)]
        self.wanted = [i for i, one in tensors if one.dtype.category >= 2]
        self.seeds: list = []
        self.differentiable: list[bool] = []
        self.random = default_generator.stream.mark()

    def names(self) -> list[str]:
        """The function's names of the inputs with gradients."""
        try:
            parameters = list(inspect.signature(self.fn).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        known = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return [known[i] if i < len(known) else f"input {i}" for i in self.wanted]

    def values(self) -> list:
        """The arrays that gradients are taken of."""
        return [array_of(value_of(self.inputs[i])) for i in self.wanted]

    def run(self, values: Sequence) -> tuple[list[Tensor], list[Tensor]]:
        """Call the function with leaves around these values; its leaves, and the tensors that it returns."""
        default_generator.stream.restore(self.random)
        given = [_copied(one) for one in self.inputs]
        for i, value in zip(self.wanted, values, strict=True):
            given[i] = wrap(value, self.inputs[i]._spec.bare.replace(requires_grad=True))
        with switched(grad=True):
            return [given[i] for i in self.wanted], list(_tensors(self.fn(*given)))

    def by_tape(self, recording: Recording) -> tuple[list, list]:
        """The values of the outputs that require grad, and the gradients of the inputs."""
        with recording.forward():
            leaves, outputs = self.run(self.values())
        self.differentiable = [out.requires_grad for out in outputs]
        outputs = [out for out in outputs if out.requires_grad]
        if not outputs:
            raise RuntimeError("compare(): nothing that the function returns requires grad")
        self.seeds = [_seed_of(value_of(out), out._spec.device) for out in outputs]
        seeds = [wrap(seed, describe(seed)) for seed in self.seeds]
        with recording.backward():
            found = grad(outputs, leaves, seeds, retain_graph=True, allow_unused=True, materialize_grads=True)
        return [value_of(out) for out in outputs], [value_of(one) for one in found]  # type: ignore[arg-type]

    def by_jax(self) -> tuple[list, list]:
        """The same by jax, in its 64-bit mode: indices have 64 bits; gradients in PyTorch's convention."""
        with jax.enable_x64(True):
            values, pull = jax.vjp(self.traced, *self.values())
            return values, [jnp.conj(one) for one in pull([jnp.conj(seed) for seed in self.seeds])]

    def traced(self, *values: Any) -> list:
        """The same outputs as a function of values, for jax to differentiate."""
        with constants_stopped():
            _, outputs = self.run(values)
        pairs = zip(outputs, self.differentiable, strict=True)
        return [value_of(out) for out, differentiable in pairs if differentiable]


@contextmanager
def constants_stopped() -> Iterator[None]:
    """Stop jax's gradients where the tape's stop. See Note [The same function, by jax]."""

    def stopped(arg: Any) -> Any:
        if not isinstance(arg, Tensor) or arg.requires_grad:
            return arg
        value = value_of(arg)
        return wrap(jax.lax.stop_gradient(value), arg._spec.fresh) if is_traced(value) else arg

    def intercept(op: OperatorLike, args: tuple, settings: dict) -> Any:
        return op(*(map(stopped, args) if thread.modes.grad else args), **settings)

    with watching(interceptor=intercept):
        yield


def _leaf(given: Any) -> Any:
    """A tensor, an array or a number that can have a gradient as a tensor; anything else as it is."""
    if isinstance(given, Tensor) or not isinstance(given, (np.ndarray, np.generic, jax.Array, float, complex)):
        return given
    if isinstance(given, (float, complex)) and not isinstance(given, np.generic):
        default = get_default_dtype()
        given = np.asarray(given, default.numpy if isinstance(given, float) else np.result_type(default.numpy, "c8"))
    value = from_host(np.array(given), device("cpu")) if isinstance(given, (np.ndarray, np.generic)) else given
    return wrap(value, describe(value))


def _copied(given: Any) -> Any:
    """A tensor of its own, so that the function may write to it."""
    return wrap(value_of(given), given._spec.bare) if isinstance(given, Tensor) else given


def _seed_of(value: Any, on: device) -> Any:
    """The gradient of an output: 1 of a single element, else numbers between 1/2 and 3/2."""
    ramp = 0.5 + np.arange(value.size) * 0.6180339887 % 1 if value.size > 1 else np.ones(1)
    return from_host(np.asarray(ramp.reshape(value.shape), value.dtype), on)


def _tensors(result: Any) -> Iterator[Tensor]:
    """The tensors of a structure."""
    if isinstance(result, Tensor):
        yield result
    elif isinstance(result, (tuple, list)):
        for part in result:
            yield from _tensors(part)
    elif isinstance(result, Mapping):
        yield from _tensors(list(result.values()))

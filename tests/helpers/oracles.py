"""What every operator of the table is held against: ``jax.vjp`` and ``jax.jvp`` of its kernel, and finite differences.

Note [The conjugate convention]
PyTorch's gradients are conjugates of JAX's: for a kernel ``f`` the gradient is ``conj(vjp(conj(g)))``. With the real
inner product ``<a, b> = Re(sum(conj(a) * b))`` this makes ``<g, jvp(t)> == <grad(g), t>``, for complex numbers too.

Note [One program per sample]
All that the engine computes for a sample, and all that it is compared with, is traced into one function that XLA
compiles once, where a program for each would cost several times as much. Tensors around tracers record and
differentiate like any others. Once more, value and gradients are computed at once, as users do, and must be the same.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from samples import Sample

from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.recording.execution_mode import deferred
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, value_of, wrap
from tapegrad.autograd import grad
from tapegrad.ops.operator import Operator

CPU = device("cpu")
STEP = 1e-5


@dataclass(frozen=True)
class Case:
    """A sample, with what is known of it before anything is computed."""

    op: Operator
    sample: Sample

    @cached_property
    def arrays(self) -> tuple[int, ...]:
        """The positions of the arguments that are arrays."""
        return tuple(i for i, arg in enumerate(self.sample.args) if isinstance(arg, np.ndarray))

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The positions of the differentiable arguments."""
        args = self.sample.args
        return tuple(i for i in self.arrays if args[i].dtype.kind in "fc" and self.op.differentiable(i))

    @cached_property
    def constants(self) -> tuple[int, ...]:
        """The positions of floating arguments without a formula, where the sample doesn't say that this is meant."""
        args, name = self.sample.args, self.op.input_name
        floating = [i for i in self.arrays if args[i].dtype.kind in "fc" and i not in self.inputs]
        return tuple(i for i in floating if name(i) not in self.sample.constants)

    def values(self) -> list[np.ndarray]:
        """The array arguments."""
        return [self.sample.args[i] for i in self.arrays]

    def arguments(self, arrays: Sequence[Any]) -> list[Any]:
        """The arguments of a call, with ``arrays`` in the places of the arrays."""
        args = list(self.sample.args)
        for position, array in zip(self.arrays, arrays, strict=True):
            args[position] = array
        return args

    def tensors(self, arrays: Sequence[Any], wanted: Sequence[int]) -> list[Any]:
        """The arguments of a call as tensors; those at ``wanted`` require grad."""
        args = self.arguments(arrays)
        return [tensor(arg, i in wanted) if i in self.arrays else arg for i, arg in enumerate(args)]

    def call(self, arrays: Sequence[Any], wanted: Sequence[int]) -> tuple[list[Any], list[Tensor]]:
        """The tensors of a call and its outputs."""
        tensors = self.tensors(arrays, wanted)
        return tensors, as_list(self.op(*tensors, **self.sample.settings))

    @cached_property
    def kernel(self) -> Callable:
        """The kernel as a function of all arrays, with settings bound and promotion done."""
        return self._prepared(self.op)

    @cached_property
    def reference(self) -> Callable:
        """The array function whose derivatives by JAX are the truth: the sample's own, or the kernel."""
        if self.sample.oracle is None:
            return self.kernel
        op = copy.copy(self.op)
        op.function = self.sample.oracle
        return self._prepared(op)

    def _prepared(self, op: Operator) -> Callable:
        prepared = op.prepare([spec_of(arg) for arg in self.sample.args], self.sample.settings)
        return lambda *arrays: prepared(*[arg for arg in self.arguments(arrays) if arg is not None])


def tensor(value: Any, requires_grad: bool) -> Tensor:
    return wrap(value, Spec.of(tuple(value.shape), dtypes.from_numpy(value.dtype), CPU, requires_grad))


def spec_of(arg: Any) -> Any:
    if isinstance(arg, np.ndarray):
        return Spec.of(arg.shape, dtypes.from_numpy(arg.dtype), CPU)
    return None if arg is None else type(arg)


def as_list(result: Any) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def is_inexact(value: Any) -> bool:
    return dtypes.as_dtype(value.dtype).category >= 2


def flowing(op: Operator, outputs: Any) -> list:
    """Of the outputs of an operator those that take gradients."""
    return [out for out in as_list(outputs)[: op.flowing] if is_inexact(out)]


def weights(shapes: Sequence[Any], seed: int) -> list[np.ndarray]:
    """Cotangents or tangents: random arrays like these, none of whose elements is small."""
    generator = np.random.default_rng(seed)
    made = []
    for like in shapes:
        values = generator.uniform(0.5, 1.5, like.shape)
        if np.dtype(like.dtype).kind == "c":
            values = values + 1j * generator.uniform(-1.5, -0.5, like.shape)
        made.append(values.astype(like.dtype))
    return made


def subsets(positions: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The proper subsets of up to three inputs; of more, single ones and all but one."""
    count = len(positions)
    sizes = range(1, count) if count <= 3 else (1, count - 1)
    for size in sizes:
        yield from combinations(positions, size)


# -- what is computed --------------------------------------------------------------------------------------------------


def gradients(case: Case, arrays: Sequence[Any], cotangents: Sequence[Any], wanted: Sequence[int]) -> list[Any]:
    """The gradients of the inputs at ``wanted``, by the engine, not recorded."""
    tensors, outputs = case.call(arrays, wanted)
    roots = flowing(case.op, outputs)
    found = grad(roots, [tensors[i] for i in wanted], [tensor(g, False) for g in cotangents], allow_unused=True)
    return [None if one is None else value_of(one) for one in found]


def recorded(case: Case, arrays: Sequence[Any], cotangents: Sequence[Any], second: Sequence[Any]) -> tuple[list, list]:
    """The gradients with ``create_graph``, and the gradients of these with respect to inputs and cotangents."""
    tensors, outputs = case.call(arrays, case.inputs)
    inputs, seeds = [tensors[i] for i in case.inputs], [tensor(g, True) for g in cotangents]
    roots = flowing(case.op, outputs)
    first = grad(roots, inputs, seeds, create_graph=True, allow_unused=True)
    defined = [(one, tensor(v, False)) for one, v in zip(first, second, strict=True) if one is not None]
    pairs = [(one, v) for one, v in defined if one._spec.requires_grad]
    twice: Sequence[Any] = [None] * (len(inputs) + len(seeds))
    if pairs:
        twice = grad([one for one, _ in pairs], [*inputs, *seeds], [v for _, v in pairs], allow_unused=True)
    zeros = [jnp.zeros(x.shape, x.dtype.numpy) for x in (*inputs, *seeds)]
    return (
        [None if one is None else value_of(one) for one in first],
        [zero if one is None else value_of(one) for one, zero in zip(twice, zeros, strict=True)],
    )


def conjugate_vjp(function: Callable, primals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """PyTorch's gradients of an array function which returns a list, by JAX. See Note [The conjugate convention]."""
    _, vjp = jax.vjp(function, *primals)
    return [jnp.conj(one) for one in vjp([jnp.conj(g) for g in cotangents])]


def linear_map(function: Callable, primals: Sequence[Any], often: bool) -> Callable:
    """A function from tangents of the inputs to those of the outputs, by JAX; traced once if it is called ``often``."""
    if often:
        return jax.linearize(function, *primals)[1]
    return lambda *tangents: jax.jvp(function, tuple(primals), tangents)[1]


def of_inputs(case: Case, arrays: Sequence[Any], positions: Sequence[int]) -> Callable:
    """The reference as a function of the inputs at ``positions`` to a list of the outputs that take gradients."""
    places = [case.arrays.index(i) for i in positions]

    def function(*inputs: Any) -> list:
        given = list(arrays)
        for place, value in zip(places, inputs, strict=True):
            given[place] = value
        return flowing(case.op, case.reference(*given))

    return function


def tangents_of(case: Case, arrays: Sequence[Any], tangents: Sequence[Any], given: Sequence[int]) -> list[Any]:
    """The tangents of outputs that take gradients, by the operator's forward mode, from the inputs at ``given`` alone.

    The other outputs have none.
    """
    primals, out = case.arguments(arrays), case.kernel(*arrays)
    placed = dict(zip(case.inputs, tangents, strict=True))
    found = case.op.jvp(primals, [placed[i] if i in given else None for i in range(len(primals))], out,
                        **case.sample.settings)  # fmt: skip
    outputs = as_list(out)
    found = [None] * len(outputs) if found is None else as_list(found)
    taking = len(outputs) if case.op.flowing is None else case.op.flowing
    assert all(one is None for one in found[taking:])
    return [
        jnp.zeros(value.shape, value.dtype) if one is None else one
        for one, value in list(zip(found, outputs, strict=True))[:taking]
        if is_inexact(value)
    ]


def everything(case: Case, arrays: Sequence[Any], probes: Probes, thorough: bool) -> dict[str, tuple[list, list]]:
    """All pairs (ours, expected) of a sample, by name. See Note [One program per sample]."""
    tangents, cotangents, second = probes.tangents, probes.cotangents, probes.second
    reference = of_inputs(case, arrays, case.inputs)
    inputs = [arrays[case.arrays.index(i)] for i in case.inputs]
    values = [value_of(out) for out in case.call(arrays, case.inputs)[1]]
    pairs = {"value": (values, as_list(case.reference(*arrays)))}
    if not (case.sample.derivable and case.inputs and flowing(case.op, values)):
        return pairs
    count = len(inputs)

    def first_order(*given: Any) -> list:
        return conjugate_vjp(reference, given[:count], given[count:])

    if case.sample.twice:
        truth, again = jax.vjp(first_order, *inputs, *cotangents)  # its gradients are needed: it is traced once
    else:
        truth = first_order(*inputs, *cotangents)
    pairs["gradient"] = gradients(case, arrays, cotangents, case.inputs), truth
    for subset in subsets(case.inputs) if thorough else ():
        expected = [one for i, one in zip(case.inputs, truth, strict=True) if i in subset]
        pairs[f"gradient of {named(case, subset)} alone"] = gradients(case, arrays, cotangents, subset), expected
    for position in case.constants:
        frozen, value = of_inputs(case, arrays, (position,)), arrays[case.arrays.index(position)]
        zero, derivative = [jnp.zeros_like(value)], conjugate_vjp(frozen, [value], cotangents)
        pairs[f"gradient of {named(case, (position,))}, which has no formula"] = zero, derivative
    if case.sample.twice:
        ours, twice = recorded(case, arrays, cotangents, second)
        pairs["recorded gradient"] = ours, truth
        pairs["second order"] = twice, [jnp.conj(one) for one in again([jnp.conj(g) for g in second])]
    if case.sample.forward:
        linear = linear_map(reference, inputs, often=thorough)
        for given in [case.inputs, *(subsets(case.inputs) if thorough else ())]:
            name = "tangent" if given == case.inputs else f"tangent from {named(case, given)} alone"
            directions = [t if i in given else jnp.zeros_like(t) for i, t in zip(case.inputs, tangents, strict=True)]
            expected = linear(*directions)
            pairs[name] = tangents_of(case, arrays, tangents, given), expected
    return pairs


def named(case: Case, positions: Sequence[int]) -> str:
    """The names of these inputs; of variadic ones with the position."""
    names = case.op.inputs
    return "+".join(names[i] if i < len(names) else f"{case.op.variadic}[{i - len(names)}]" for i in positions)


# -- what is compared --------------------------------------------------------------------------------------------------


@dataclass
class Verdict:
    """What the oracles found wrong with an operator at a sample: complaints by the name of the oracle."""

    case: Case
    complaints: dict[str, str] = field(default_factory=dict)

    def expect(self, oracle: str, complaint: str | None) -> None:
        """Note a complaint, if there is one."""
        if complaint is not None:
            self.complaints[oracle] = complaint

    def __str__(self) -> str:
        return "\n".join([str(self.case.sample), *(f"{name}: {text}" for name, text in self.complaints.items())])


def examine(op: Operator, sample: Sample, thorough: bool = True) -> Verdict:
    """Hold an operator against every oracle at a sample.

    Only if this is to be ``thorough``: every subset of the inputs, narrower types, and what is computed at once, with
    finite differences. These depend on the operator more than on the sample, or doubt that JAX can derive its kernel.
    """
    case = Case(op, sample)
    verdict = Verdict(case)
    with jax.enable_x64(True):
        inputs = [sample.args[i] for i in case.inputs]
        outputs = flowing(op, jax.eval_shape(case.kernel, *case.values()))
        probes = directions(case, Probes(weights(inputs, 1), weights(outputs, 2), weights(inputs, 3)))
        pairs = against_jax(verdict, probes, thorough)
        if inputs and outputs and sample.derivable:
            pruning(verdict)
            if thorough or sample.oracle is not None:
                at_once(verdict, probes, pairs)
            if thorough:
                types(verdict)
        elif inputs and outputs:
            refused_backward(verdict, probes)
        if inputs and outputs and not sample.twice:
            refused_twice(verdict, probes)
        if inputs and outputs and not (sample.forward and sample.derivable):
            refused_forward(verdict, probes)
    return verdict


@dataclass(frozen=True)
class Probes:
    """Directions at a sample: tangents of the inputs, cotangents of the outputs, cotangents of the gradients."""

    tangents: list
    cotangents: list
    second: list


def directions(case: Case, probes: Probes) -> Probes:
    """The directions to try: any, unless the sample says otherwise."""
    choose = case.sample.directions
    if choose is None:
        return probes
    outputs = on_host(as_list(jax.jit(case.kernel)(*case.values())))
    second, _ = choose(outputs, probes.second, probes.cotangents)
    return Probes(*choose(outputs, probes.tangents, probes.cotangents), second)


def against_jax(verdict: Verdict, probes: Probes, thorough: bool) -> dict[str, tuple[list, list]]:
    """Value, gradients, second order and tangents against JAX; forward against reverse mode."""
    case = verdict.case

    def program(arrays: list, tangents: list, cotangents: list, second: list) -> dict:
        return everything(case, arrays, Probes(tangents, cotangents, second), thorough)

    program.__name__ = case.op.name
    found = jax.jit(program)(case.values(), probes.tangents, probes.cotangents, probes.second)
    pairs = {name: (on_host(ours), on_host(expected)) for name, (ours, expected) in found.items()}
    for name, (ours, expected) in pairs.items():
        verdict.expect(name, difference(ours, expected))
    gradient = pairs["gradient"][0] if "gradient" in pairs else [None]
    if "tangent" in pairs and all(one is not None for one in gradient):
        tangent = pairs["tangent"][0]
        forward, reverse = inner(probes.cotangents, tangent), inner(gradient, probes.tangents)
        rtol = max(map(rounding, tangent), default=0)
        verdict.expect("adjoint", unequal("<g, jvp(t)>", forward, "<grad(g), t>", reverse, rtol, 1e-9))
    return pairs


def at_once(verdict: Verdict, probes: Probes, pairs: dict) -> None:
    """Value and gradients as users compute them, at once and deferred; where it is smooth, finite differences too."""
    case, arrays = verdict.case, list(map(jnp.asarray, verdict.case.values()))
    cotangents = list(map(jnp.asarray, probes.cotangents))

    def values(given: list) -> list:
        return on_host([value_of(out) for out in case.call(given, case.inputs)[1]])

    def smooth_values(given: list) -> list:
        return flowing(case.op, values(given))

    def first(given: list) -> list:
        return on_host(gradients(case, given, cotangents, case.inputs))

    def slope(function: Callable) -> list:
        up, down = (function(moved(case, arrays, probes.tangents, step)) for step in (STEP, -STEP))
        return [(a - b) / (2 * STEP) for a, b in zip(up, down, strict=True)]

    verdict.expect("value at once", difference(values(arrays), pairs["value"][0]))
    verdict.expect("gradient at once", difference(first(arrays), pairs["gradient"][0]))
    with deferred():
        verdict.expect("value deferred", difference(values(arrays), pairs["value"][0]))
        verdict.expect("gradient deferred", difference(first(arrays), pairs["gradient"][0]))
    if not case.sample.smooth or any(one is None for one in pairs["gradient"][0]):
        return
    numeric, ours = inner(probes.cotangents, slope(smooth_values)), inner(pairs["gradient"][0], probes.tangents)
    verdict.expect("finite differences", unequal("numerical", numeric, "<grad(g), t>", ours, 1e-5, 1e-7))
    if case.sample.second and case.sample.twice:
        count = len(case.inputs)
        numeric, ours = inner(probes.second, slope(first)), inner(pairs["second order"][0][:count], probes.tangents)
        verdict.expect("finite differences, second order", unequal("numerical", numeric, "ours", ours, 1e-5, 1e-7))


def types(verdict: Verdict) -> None:
    """Gradients have the shape and the dtype of their inputs, in narrower types too. Nothing is computed."""
    case = verdict.case
    has_complex = any(case.sample.args[i].dtype.kind == "c" for i in case.arrays)
    for name in ("float32",) if has_complex else ("float32", "bfloat16"):
        narrow = {"f": jnp.dtype(name), "c": jnp.dtype("complex64")}
        arrays = [array.astype(narrow.get(array.dtype.kind, array.dtype)) for array in case.values()]
        try:
            outputs = flowing(case.op, jax.eval_shape(case.kernel, *arrays))
        except (TypeError, NotImplementedError):
            continue  # the kernel has no such type
        found = jax.eval_shape(lambda *given: gradients(case, given[0], given[1], case.inputs), arrays, outputs)
        expected = [arrays[case.arrays.index(i)] for i in case.inputs]
        verdict.expect(f"types in {name}", difference_of_types(found, expected))


def pruning(verdict: Verdict) -> None:
    """What does not require grad has no edge; what is not asked for is not computed. Nothing is computed here.

    Of the outputs all that take gradients require grad, and no others.
    """
    case = verdict.case
    slots = [i for i in range(len(case.sample.args)) if case.op.differentiable(i)]

    def program(arrays: list) -> list:
        outputs = case.call(arrays, case.inputs)[1]
        requiring, flows = sum(out._spec.requires_grad for out in outputs), len(flowing(case.op, outputs))
        verdict.expect("outputs", unequal("so many require grad:", requiring, "so many take gradients:", flows))
        whole = node_of(outputs)
        taking = outputs[: whole.input_slots]  # a node has no slots behind that of its last differentiable output
        seeds = [jnp.ones(out.shape, out.dtype.numpy) if is_inexact(out) else None for out in taking]
        for subset in [case.inputs, *subsets(case.inputs)]:
            edges = node_of(case.call(arrays, subset)[1]).next_edges
            led = tuple(i for i, edge in zip(slots, edges, strict=True) if edge is not None)
            verdict.expect("edges", unequal("edges at", led, "inputs that require grad", subset))
            found = whole.apply_values(seeds, tuple(i in subset for i in slots))
            computed = tuple(i for i, one in zip(slots, found, strict=True) if one is not None)
            verdict.expect("pruning", unequal("computed at", computed, "asked for", subset))
        return []

    def node_of(outputs: list[Tensor]) -> Any:
        return next(out._edge[0] for out in outputs if out._edge is not None)

    jax.eval_shape(program, case.values())


def refused_backward(verdict: Verdict, probes: Probes) -> None:
    """An operator that is recorded but has no derivative says so when backward gets there."""
    case = verdict.case
    try:
        jax.eval_shape(lambda arrays, g: gradients(case, arrays, g, case.inputs), case.values(), probes.cotangents)
    except (RuntimeError, NotImplementedError) as error:
        if "is not implemented" not in str(error):
            verdict.expect("refused backward", f"does not say that it is not implemented: {error}")
    else:
        verdict.expect("refused backward", "backward works; say so in the sample")


def refused_twice(verdict: Verdict, probes: Probes) -> None:
    """An operator without a second derivative says so when backward gets there."""
    case = verdict.case
    try:
        jax.eval_shape(lambda arrays: recorded(case, arrays, probes.cotangents, probes.second), case.values())
    except (RuntimeError, NotImplementedError) as error:
        if "is not implemented" not in str(error):
            verdict.expect("refused second order", f"does not say that it is not implemented: {error}")
    else:
        verdict.expect("refused second order", "it works; say so in the sample")


def refused_forward(verdict: Verdict, probes: Probes) -> None:
    """An operator without forward mode says so, by name."""
    case = verdict.case
    try:
        jax.eval_shape(lambda arrays, t: tangents_of(case, arrays, t, case.inputs), case.values(), probes.tangents)
    except NotImplementedError as error:
        if case.op.name not in str(error):
            verdict.expect("refused forward mode", f"does not name {case.op.name}: {error}")
    else:
        verdict.expect("refused forward mode", "forward mode works; say so in the sample")


# -- comparing ---------------------------------------------------------------------------------------------------------


def inner(left: Sequence[Any], right: Sequence[Any]) -> float:
    """``Re(sum(conj(left) * right))`` over lists of arrays."""
    return sum(float(np.sum(np.conj(a) * b).real) for a, b in zip(left, right, strict=True))


def moved(case: Case, arrays: Sequence[Any], tangents: Sequence[Any], step: float) -> list:
    """The arrays, with the differentiable inputs moved along their tangents."""
    arrays = list(arrays)
    for position, tangent in zip(case.inputs, tangents, strict=True):
        place = case.arrays.index(position)
        arrays[place] = jnp.asarray(np.asarray(arrays[place]) + step * tangent)
    return arrays


def on_host(values: Sequence[Any]) -> list[Any]:
    return [None if value is None else np.asarray(value) for value in values]


def unequal(a_name: str, a: Any, b_name: str, b: Any, rtol: float = 0, atol: float = 0) -> str | None:
    """A complaint, if two numbers (or tuples of them) differ."""
    if np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
        return None
    return f"{a_name} is {a}, {b_name} is {b}"


def rounding(array: Any) -> float:
    """The relative tolerance for what was computed in the type of ``array``."""
    return 1e-7 if np.dtype(array.dtype) in (np.float64, np.complex128) else 1e-5


def difference_of_types(ours: Sequence[Any], expected: Sequence[Any]) -> str | None:
    """How two lists of arrays differ in number, shape or dtype; None if they don't."""
    if len(ours) != len(expected):
        return f"{len(ours)} results, expected {len(expected)}"
    for position, (a, b) in enumerate(zip(ours, expected, strict=True)):
        if a is None:
            return f"[{position}] is None"
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"[{position}] is {a.dtype}{list(a.shape)}, expected {b.dtype}{list(b.shape)}"
    return None


def difference(ours: Sequence[Any], expected: Sequence[Any]) -> str | None:
    """How two lists of arrays differ in number, shape, dtype or value; None if they don't."""
    complaint = difference_of_types(ours, expected)
    if complaint is not None:
        return complaint
    for position, (a, b) in enumerate(zip(ours, expected, strict=True)):
        if not np.allclose(a, b, rtol=rounding(b), atol=rounding(b) / 100, equal_nan=True):
            return f"[{position}] is\n{a}\nexpected\n{b}"
    return None

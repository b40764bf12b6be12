"""The host tier against XLA: every rule, and every kernel of the table, forward and backward. See Note [The host tier].

Note [What is exact]
Integers, bools, and what is only moved or chosen must be the same, bit for bit; also where nan and infinities are, and
the signs of zeros. Other floating-point numbers may differ by some units in the last place. XLA flushes subnormal
numbers: what is subnormal counts as zero of either sign.
"""

import importlib
import pkgutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from host_cases import CASES
from jax.extend.core import jaxpr_as_fun
from oracles import Case, as_list, gradients, is_inexact, weights
from samples import all_samples

from tapegrad import ops
from tapegrad.execution.host_tier.rules import Unwritable
from tapegrad.execution.host_tier.writer import written, written_jaxpr
from tapegrad.ops.operator import TABLE

pytestmark = pytest.mark.once("kernels are run by themselves")

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"tapegrad.ops.{module.name}")


BY_XLA = {}
"""The operators whose kernels are not written, and the primitives that they lack."""


# -- how they are compared ---------------------------------------------------------------------------------------------


def differences(host, xla, ulps=0, near=0, zeros=True):
    """What is wrong with an array of the host, or ""."""
    xla = np.asarray(xla)
    if type(host) is not np.ndarray or (host.shape, host.dtype) != (xla.shape, xla.dtype):
        return f"{type(host).__name__} {getattr(host, 'dtype', '')}{getattr(host, 'shape', '')}, not {xla.dtype}{xla.shape}"
    if jnp.issubdtype(xla.dtype, jnp.complexfloating):
        size = None if not np.isfinite(xla).any() else np.where(np.isfinite(xla), np.absolute(xla), 0)
        return parts_differ(host.real, xla.real, ulps, near, zeros, size) or parts_differ(
            host.imag, xla.imag, ulps, near, zeros, size
        )
    if jnp.issubdtype(xla.dtype, jnp.floating):
        return parts_differ(host, xla, ulps, near, zeros, None)
    return wrong(host == xla, host, xla)


def parts_differ(host, xla, ulps, near, zeros, size):
    """The same of floating-point numbers, whose last place is that of ``size``, or their own."""
    info = jnp.finfo(xla.dtype)
    tiny, eps = float(info.tiny), float(info.eps)
    host, xla = host.astype(np.float64), xla.astype(np.float64)
    size = np.absolute(xla) if size is None else size
    with np.errstate(all="ignore"):
        close = np.absolute(host - xla) <= ulps * np.maximum(size, tiny) * eps + near + (tiny if ulps or near else 0)
    same = (host == xla) | (np.isnan(host) & np.isnan(xla)) | close
    if zeros:
        same &= (np.signbit(host) == np.signbit(xla)) | np.isnan(host) | (host != 0) | (xla != 0)
    flushed = (np.absolute(host) <= tiny) & (np.absolute(xla) <= tiny) & ((host == 0) != (xla == 0))
    return wrong(same | flushed, host, xla)


def unlike(host, xla):
    """The same of results of many operations: their errors are measured by the largest number among them."""
    xla = np.asarray(xla)
    if not jnp.issubdtype(xla.dtype, jnp.inexact):
        return differences(host, xla)
    size = np.absolute(xla[np.isfinite(xla)]).max(initial=0)
    return differences(host, xla, 4096, 4096 * float(jnp.finfo(xla.dtype).eps) * float(size), zeros=False)


def wrong(same, host, xla):
    places = np.argwhere(~same)[:4]
    return "; ".join(f"at {tuple(map(int, at))} {host[tuple(at)]!r}, not {xla[tuple(at)]!r}" for at in places)


def leaves(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def on_host(function, arguments):
    """The results of the written function, the arguments being read-only."""
    arguments = [np.array(argument) for argument in arguments]
    for argument in arguments:
        argument.setflags(write=False)
    with jax.enable_x64(True):
        body = written(function, arguments).body
    with np.errstate(all="ignore"):
        return body(*arguments)


def all_of(cases):
    """One function of all the arguments of some cases, and these."""

    def function(*arguments):
        arguments, results = iter(arguments), []
        for case in cases:
            results += leaves(case.function(*[next(arguments) for _ in case.arguments]))
        return tuple(results)

    return function, [argument for case in cases for argument in case.arguments]


def complaints(cases):
    """What the host tier gets wrong of some cases, which are compiled by XLA as one program."""
    with jax.enable_x64(True):
        function, arguments = all_of(cases)
        expected = iter(jax.jit(function)(*arguments))
    found = []
    for case in cases:
        for number, result in enumerate(leaves(on_host(case.function, case.arguments))):
            problem = differences(result, next(expected), *case[2:])
            if problem:
                shown = ", ".join(f"{argument.dtype}{argument.shape}" for argument in case.arguments)
                found.append(f"result {number} of {shown}: {problem}")
    return found


# -- how they are written ----------------------------------------------------------------------------------------------


def test_a_written_function_reads_as_numpy():
    x = jax.ShapeDtypeStruct((3,), "float32")
    assert written(lambda x, y: (x * y).sum(), [x, x]).source == (
        "def body(x0, x1):\n    return asarray(reduce_add(multiply(x0, x1), (0,)))"
    )


def test_results_without_dimensions_are_arrays():
    x = np.ones((), "float32")
    assert type(written(lambda x: x * x + 1, [x]).body(x)) is np.ndarray


# -- the rules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("primitive", sorted(CASES))
def test_a_primitive_is_what_xla_computes(primitive):
    assert complaints(CASES[primitive]) == []


# -- the kernels of the table ------------------------------------------------------------------------------------------


def traced(sample):
    """The jaxpr of an operator's outputs and of its gradients, its arguments, and which of the results there are."""
    case = Case(TABLE[sample.op], sample)
    with jax.enable_x64(True):
        outputs = [out for out in as_list(jax.eval_shape(case.kernel, *case.values())) if is_inexact(out)]
        seeds = weights(outputs, 1) if case.inputs and outputs and sample.derivable else []

        def both(arrays, seeds):
            found = gradients(case, arrays, seeds, case.inputs) if seeds else []
            return as_list(case.kernel(*arrays)), found

        return *jax.make_jaxpr(both, return_shape=True)(case.values(), seeds), [*case.values(), *seeds]


def first_of_each(samples):
    found = {}
    for sample in samples:
        found.setdefault(sample.op, sample)
    return list(found.values())


SAMPLES = list(all_samples())
FIRST = first_of_each(SAMPLES)


def check(sample):
    """The host tier and XLA agree on an operator's outputs and gradients, or it says what is missing."""
    closed, tree, arguments = traced(sample)
    try:
        host = written_jaxpr(closed, jax.tree.leaves(tree)).body
    except Unwritable as missing:
        assert sample.op in BY_XLA, f"{sample.op} is not written: {missing}"
        return
    with jax.enable_x64(True):
        expected = jax.jit(jaxpr_as_fun(closed))(*arguments)
    with np.errstate(all="ignore"):
        found = host(*arguments)
    for one, other in zip(found, expected, strict=True):
        assert unlike(one, other) == ""


@pytest.mark.parametrize("sample", FIRST, ids=lambda sample: sample.op)
def test_a_kernel_is_what_xla_computes(sample):
    check(sample)


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_kernel_is_what_xla_computes_at_every_sample(sample):
    check(sample)

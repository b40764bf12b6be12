"""The NumPy backend against XLA: every rule, and every kernel of the table, forward and backward. See Note [The NumPy
backend].

Note [What is exact]
Integers, bools, and what is only moved or chosen must be the same, bit for bit; also where nan and infinities are, and
the signs of zeros. Other floating-point numbers may differ by some units in the last place. XLA flushes subnormal
numbers: what is subnormal counts as zero of either sign.
"""

import importlib
import math
import pkgutil
import tracemalloc
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from host_cases import CASES
from jax.extend.core import jaxpr_as_fun
from oracles import Case, as_list, gradients, is_inexact, weights
from samples import all_samples

from tapegrad import ops
from tapegrad._src.execution.numpy_backend import casts, elementwise, indexing, operands, reductions, scans, special
from tapegrad._src.execution.numpy_backend.operands import RULES, Unwritable, by_ufunc
from tapegrad._src.execution.numpy_backend.writer import written, written_jaxpr
from tapegrad.ops.attention import safe_softmax
from tapegrad.ops.operator import TABLE
from tapegrad.ops.page import BY_XLA
from tapegrad.ops.softmax import log_softmax, softmax

pytestmark = pytest.mark.once("kernels are run by themselves")

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"tapegrad.ops.{module.name}")


ONLY_LATER = set()
"""Of the operators that XLA computes those whose first sample is written."""


# -- how they are compared ---------------------------------------------------------------------------------------------


def differences(host, xla, ulps=0, near=0, zeros=True):
    """What is wrong with an array of the host, or ""."""
    xla = np.asarray(xla)
    if type(host) is not np.ndarray or (host.shape, host.dtype) != (xla.shape, xla.dtype):
        return f"{type(host).__name__} {host.dtype}{host.shape}, not {xla.dtype}{xla.shape}"
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
    same = (host == xla) | (np.isnan(host) & np.isnan(xla)) | (close & np.isfinite(host) & np.isfinite(xla))
    if zeros:
        same &= (np.signbit(host) == np.signbit(xla)) | np.isnan(host) | (host != 0) | (xla != 0)
    flushed = (np.absolute(host) <= tiny) & (np.absolute(xla) <= tiny) & ((host == 0) != (xla == 0))
    return wrong(same | flushed, host, xla)


def unlike(host, xla):
    """The same of results of many operations: their errors are measured by the largest number among them."""
    xla = np.asarray(xla)
    if not jnp.issubdtype(xla.dtype, jnp.inexact):
        return differences(host, xla)
    eps = float(jnp.finfo(xla.dtype).eps)
    size = max(float(np.absolute(xla[np.isfinite(xla)]).max(initial=0)), eps)  # the square of a rest is noise
    return differences(host, xla, 4096, 4096 * eps * size, zeros=False)


def wrong(same, host, xla):
    places = np.argwhere(~same)[:4]
    return "; ".join(f"at {tuple(map(int, at))} {host[tuple(at)]!r}, not {xla[tuple(at)]!r}" for at in places)


def leaves(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def run(body, arguments):
    """What a written function gives, who can't write to its arguments."""
    arguments = [np.array(argument) for argument in arguments]
    for argument in arguments:
        argument.setflags(write=False)
    with np.errstate(all="ignore"):
        return body(*arguments)


def on_host(function, arguments):
    """The results of a function, which is written for the host."""
    with jax.enable_x64(True):
        body = written(function, arguments).body
    return run(body, arguments)


def all_of(cases):
    """One function of all the arguments of some cases, and these."""

    def function(*arguments):
        arguments, results = iter(arguments), []
        for case in cases:
            results += leaves(case.function(*[next(arguments) for _ in case.arguments]))
        return tuple(results)

    return function, [argument for case in cases for argument in case.arguments]


def complaints(cases):
    """What the NumPy backend gets wrong of some cases, which are compiled by XLA as one program."""
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
    assert written(lambda x, y: (x * y).prod(), [x, x]).source == (
        "def body(x0, x1):\n    return asarray(product_of_rows(multiply(x0, x1)))"
    )


def test_large_temporaries_are_written_over(monkeypatch):
    x, row = jax.ShapeDtypeStruct((300, 40), "float32"), jax.ShapeDtypeStruct((40,), "float32")
    source = written(lambda x, y, row: x - y * 2 + row * 3, [x, x, row]).source
    assert ":= multiply(x1," in source and ":= multiply(x2," not in source
    shares = written(lambda x, row: (e := jnp.exp(x - row)) / e.sum(1, keepdims=True), [x, row]).source
    assert shares.endswith("v1)") and ":= subtract(x0" in shares
    assert written(lambda x, y: (x + y, (x + y) * 2), [x, x]).source.count("add(x0, x1)") == 1
    assert ":=" not in written(lambda x, y: x - y * 2, [row, row]).source


def test_a_number_for_each_long_row_is_not_repeated():
    x, k = np.random.default_rng(0).standard_normal((40, 4, 32, 32)).astype("float32"), np.arange(4.0, dtype="float32")
    code = written(lambda x, k: (x - k[:, None, None]) * 2 * k[:, None, None], [x, k])
    assert code.source.count("_by_rows(") == 2
    before = np.getbufsize()
    np.testing.assert_array_equal(code.body(x, k), (x - k[:, None, None]) * 2 * k[:, None, None])
    assert np.getbufsize() == before
    assert "_by_rows" not in written(lambda x, k: x * k[:, None, None], [x[:2], k]).source


def test_sums_of_products_of_long_rows_are_products_of_vectors():
    x, y = np.random.default_rng(0).integers(-9, 9, (2, 3, 4, 64)).astype("float32")
    code = written(lambda x, y: ((x * y).sum(-1), jnp.square(x).sum((0, 2)), x * y), [x, y])
    assert code.source.count("vecdot(") == 1  # the product is wanted, too
    for found, expected in zip(code.body(x, y), ((x * y).sum(-1), (x * x).sum((0, 2)), x * y), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_what_follows_from_constants_is_not_written_over():
    x, ones = np.ones((40, 40), "float32"), np.ones((40, 40), "float32")
    body = written(lambda x: jnp.asarray(ones) @ ones + x, [x]).body
    assert body(x)[0, 0] == body(x)[0, 0] == 41


def test_results_without_dimensions_are_arrays():
    x = np.ones((), "float32")
    assert type(written(lambda x: x * x + 1, [x]).body(x)) is np.ndarray


def test_arguments_are_not_written_to_and_may_be_shown():
    x = np.arange(6.0).reshape(2, 3)
    x.setflags(write=False)
    turned = written(lambda x: x.T, [x]).body(x)
    assert np.shares_memory(turned, x) and not turned.flags.writeable


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_what_is_chosen_of_many_is_numpys_choice_bit_for_bit(dtype):
    many = np.resize(np.array([0.0, -0.0, 1.5, np.nan, np.inf, -np.inf], "float64"), (130, 70))
    many = np.nan_to_num(many, posinf=7, neginf=-7).astype(dtype) if dtype == "int16" else many.astype(dtype)
    condition = np.resize([True, False, False, True, False], (130, 70))
    zero, seven = np.zeros((), dtype), np.array(7, dtype)
    kept = many.copy()
    for yes, no in [(zero, many), (many, zero), (zero, zero), (seven, many), (many, many[::-1]), (zero, many[0]),
                    (many.T.copy().T, zero), (-zero, many)]:  # fmt: skip
        for where in (condition, condition.T.copy().T):
            found = elementwise.chosen(where, yes, no)
            assert found.tobytes() == np.where(where, yes, no).tobytes() and found.dtype == dtype
            assert not np.shares_memory(found, many) and not np.shares_memory(found, where)
    assert many.tobytes() == kept.tobytes()


@pytest.mark.parametrize("shape", [(3, 5), (40, 256), (2, 40, 96), (4096,), (1, 65536), (64, 100)])
def test_products_of_rows_are_products(shape):
    x = np.random.default_rng(0).uniform(0.9, 1.1, shape)
    x.flat[1] = -1.0
    np.testing.assert_allclose(reductions.product_of_rows(x), x.prod(-1), rtol=1e-11)
    x.flat[2] = np.nan
    assert np.isnan(np.ravel(reductions.product_of_rows(x))[0])


@pytest.mark.parametrize("shape", [(3, 5), (16, 64), (40, 7), (2, 40, 3), (0, 5), (20, 65), (300, 1)])
def test_the_greatest_and_the_least_of_rows_are_those(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype("float32")
    if x.size:
        x.flat[1], x.flat[x.size // 2] = np.nan, -np.inf
    for found, expected in ((reductions.greatest_of_rows, x.max(-1)), (reductions.least_of_rows, x.min(-1))):
        assert found(x).dtype == x.dtype
        np.testing.assert_array_equal(found(x), expected)
    swapped = x.swapaxes(0, -1)  # not in order
    if swapped.size:
        np.testing.assert_array_equal(reductions.greatest_of_rows(swapped), swapped.max(-1))


ENDS = [((3, 5), (1,)), ((3, 5), (0,)), ((2, 3, 4), (0, 2)), ((2, 3, 4, 5), (2, 3)), ((1, 3, 300), (0, 2)),
        ((2, 3, 4), (1,)), ((0, 5), (0,)), ((3, 5), (0, 1)), ((7,), (0,)), ((3, 0), (1,)),
        ((5000, 2), (0,))]  # fmt: skip


@pytest.mark.parametrize(("shape", "axes"), ENDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_over_the_first_and_the_last_dimensions_are_sums(shape, axes, dtype):
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
    if x.size > 8:
        x.flat[1], x.flat[x.size // 2], x.flat[-1] = np.nan, np.inf, -np.inf
    found = on_host(lambda x: x.sum(axes), [x])
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x.sum(axes))


SPREAD = [(1, 0), (40, 0), (1, -85), (1, 85), (200, 0), (1, 1000)]


def test_products_that_are_added_up_and_the_greatest_of_all_are_what_they_are():
    x, y = np.random.default_rng(0).integers(-9, 9, (2, 3, 4)).astype("float32")
    assert "dot" in written(lambda x, y: (x * y).sum(), [x, y]).source
    assert on_host(lambda x, y: (x * y).sum(), [x, y]) == (x * y).sum()
    assert on_host(lambda x: jnp.square(jnp.abs(x.T)).sum(), [x]) == (x * x).sum()
    assert on_host(lambda x, row: (x * row).sum(), [x, y[0]]) == (x * y[0]).sum()
    assert (on_host(jnp.max, [x]), on_host(jnp.min, [x])) == (x.max(), x.min())
    x[1, 1] = np.nan
    assert np.isnan(on_host(jnp.max, [x])) and np.isnan(on_host(jnp.min, [x]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int8", "bool", "float16"])
def test_what_a_constant_keeps_of_an_array_keeps_all_its_bits(dtype):
    mask = np.array([[True, False, True], [False, True, False]])
    x = np.array([[np.nan, np.inf, -0.0], [np.nan, -np.inf, 7]]) if dtype[0] in "fc" else np.arange(6).reshape(2, 3)
    x = x.astype(dtype)
    for given in (x, np.asfortranarray(x)):
        for case in (lambda x: jnp.where(mask, x, 0), lambda x: jnp.where(mask, 0, x)):
            with jax.enable_x64(True):
                expected = np.asarray(case(given))
            assert on_host(case, [given]).tobytes() == expected.tobytes()


@pytest.mark.parametrize(("scale", "shift"), SPREAD)
@pytest.mark.parametrize("operator", [softmax, log_softmax])
def test_rows_that_are_steady_and_others_have_their_softmax(operator, scale, shift):
    x = (np.random.default_rng(0).standard_normal((3, 4, 8)) * scale + shift).astype("float32").astype("float64")
    x[0, 1, :3], x[0, 2, 1] = -np.inf, -np.inf
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    expected = exponentials / exponentials.sum(-1, keepdims=True)
    if operator is log_softmax:
        expected = x - x.max(-1, keepdims=True) - np.log(exponentials.sum(-1, keepdims=True))
    function = partial(operator.function, axis=2)
    assert f"{operator.name}_of_rows" in written(function, [x.astype("float32")]).source
    found = on_host(function, [x.astype("float32")])
    near = {"rtol": 1e-6 * (1 + abs(x[np.isfinite(x)]).max()), "atol": 1e-37}
    np.testing.assert_allclose(found, expected, **(near if operator is softmax else {"rtol": 1e-6, "atol": 2e-6}))
    assert operator is not log_softmax or (found <= 0).all()


@pytest.mark.parametrize("spoilt", [np.nan, np.inf, -np.inf])
def test_the_softmax_of_rows_that_have_none_is_what_the_equations_say(spoilt):
    x = np.ones((2, 3), "float32")
    x[1] = spoilt
    assert np.isnan(on_host(lambda x: jax.nn.softmax(x, 1), [x])[1]).all()
    assert on_host(lambda x: jax.nn.softmax(x, 1), [x[:, :0]]).shape == (2, 0)


@pytest.mark.parametrize("shape", [(3, 5, 4), (5, 4), (3, 1, 4), (3, 5, 1), (4,)])
@pytest.mark.parametrize("hidden", [0.0, 90.0, np.inf, np.nan])
def test_the_softmax_of_what_a_mask_leaves_sees_nothing_else(shape, hidden):
    draw = np.random.default_rng(0)
    counts = draw.random(shape) < 0.7
    whole = np.broadcast_to(counts, (3, 5, 4))
    x = np.where(whole, draw.standard_normal((3, 5, 4)), hidden).astype("float32")

    def function(x, counts):
        return safe_softmax.function(jnp.where(counts, 2 * x, -jnp.inf), axis=2)

    assert "softmax_of_masked_rows" in written(function, [x, counts]).source
    exponentials = np.where(whole, np.exp(2 * x.astype("float64")), 0)
    expected = exponentials / np.maximum(exponentials.sum(-1, keepdims=True), 1e-300)
    np.testing.assert_allclose(on_host(function, [x, counts]), expected, rtol=1e-6)


@pytest.mark.parametrize(("rows", "copied"), [(32, True), (31, False)])
def test_batches_of_transposed_matrices_are_copied_where_that_is_quicker(rows, copied):
    draw = np.random.default_rng(0)
    x, y = draw.standard_normal((2, rows, 33)), draw.standard_normal((2, 40, 33))

    def function(x, y):
        return x @ y.mT

    assert (".mT.copy()" in written(function, [x, y]).source) is copied
    np.testing.assert_allclose(on_host(function, [x, y]), np.einsum("bnd,bmd->bnm", x, y), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_systems_are_solved_also_where_there_is_no_solution(lower, unit):
    a = np.random.default_rng(0).standard_normal((4, 5, 5)) + 4 * np.eye(5)
    a[1, 2, 2], a[2, 3, 3], a[3, 2, 2] = 0, np.nan, np.inf
    b = np.random.default_rng(1).standard_normal((4, 5, 2))

    def solve(a, b):
        return jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=lower, unit_diagonal=unit)

    with jax.enable_x64(True):
        expected = np.asarray(solve(a, b))
    np.testing.assert_allclose(on_host(solve, [a, b]), expected, rtol=1e-9)


def test_rows_are_compared_in_what_is_written():
    code = written(lambda x: x.max(1), [jax.ShapeDtypeStruct((40, 8), "float32")])
    assert "greatest_of_rows" in code.source


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "copied"),
    [(32, 64, 256, "x0.copy('F')"), (128, 256, 10, "x1.T.copy()"), (32, 32, 32, ""), (2, 128, 256, ""), (0, 4, 9, "")],
)
def test_of_a_small_product_along_rows_the_smaller_matrix_is_turned(rows, depth, columns, copied):
    x, y = (np.arange(n * depth, dtype="float32").reshape(n, depth) % 7 for n in (rows, columns))
    code = written(lambda x, y: x @ y.T, [x, y])
    assert copied in code.source and ("copy" in code.source) == bool(copied)
    assert (code.body(x, y) == x @ y.T).all()


def test_the_gamma_function_of_few_and_of_many_numbers_is_the_same():
    few = np.concatenate([np.arange(-20, 40) + 0.3, [1e-3, 0.4999, 0.5, 170.5]])
    many = np.resize(few, (few.size, 2 * special.TOGETHER // few.size))
    for function in (special.lgamma, special.digamma):
        assert many.size > special.TOGETHER
        np.testing.assert_allclose(function(many), np.resize(function(few), many.shape), rtol=1e-11, atol=1e-12)
        assert function(few.reshape(2, -1)).shape == (2, few.size // 2)
        assert float(function(np.array(3.5))) == pytest.approx(float(function(few * 0 + 3.5)[0]), rel=1e-14)
    np.testing.assert_allclose(special.lgamma(few), [math.lgamma(x) for x in few], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("low", "high"), [(0.25, 16), (0.2, 40), (-20, -0.1)])
@pytest.mark.parametrize("many", [False, True])
def test_special_functions_of_narrow_numbers_are_accurate_to_some_last_digits(low, high, many):
    x = np.linspace(low, high, 2 * special.TOGETHER if many else 500, dtype="float32")
    near = np.array([1, 2, 1.4616321], "float32") * np.float32(1.0001)
    x = np.concatenate([x, near]) if low > 0 else x
    share = x / np.float32(40)
    trigamma = partial(special.polygamma, np.float32(1))
    cases = {special.lgamma: x, special.digamma: x, trigamma: np.abs(x), special.erf: x, special.erf_inv: share}
    for function, given in cases.items():
        with np.errstate(all="ignore"):
            expected, found = function(given.astype("float64")), function(given).astype("float32")
            assert function(given[3]) == pytest.approx(float(found[3]), rel=6e-7)
        np.testing.assert_allclose(found, expected.astype("float32"), rtol=6e-7, atol=1e-12)


# -- the rules ---------------------------------------------------------------------------------------------------------


HERE = (casts, elementwise, reductions, scans, special)
NO_CASE = {"add_any", "copy", "copy_p", "stop_gradient"}
"""As others, or nothing at all."""


def test_every_rule_has_cases():
    """Those of the other files have tests of their own, in ``test_numpy_backend_shapes.py``."""
    names = {module.__name__ for module in HERE}
    assert {name for name, rule in RULES.items() if rule.__module__ in names} - NO_CASE == set(CASES)


@pytest.mark.parametrize("primitive", sorted(CASES))
def test_a_primitive_is_what_xla_computes(primitive):
    assert complaints(CASES[primitive]) == []


# -- the kernels of the table ------------------------------------------------------------------------------------------


def traced(sample):
    """What an operator's outputs are and what its gradients are: pairs of a jaxpr and arguments."""
    case = Case(TABLE[sample.op], sample)
    with jax.enable_x64(True):
        forward = jax.make_jaxpr(lambda *arrays: as_list(case.kernel(*arrays)))(*case.values())
        outputs = [aval for aval in forward.out_avals if is_inexact(aval)]
        parts = [(forward, case.values())]
        if case.inputs and outputs and sample.derivable:
            count, arguments = len(outputs), [*weights(outputs, 1), *case.values()]
            backward = jax.make_jaxpr(lambda *args: gradients(case, args[count:], args[:count], case.inputs))
            parts.append((backward(*arguments), arguments))
    return parts


def written_or_known(sample):
    """The parts of ``traced`` with their functions, or None, if the table says that XLA computes the operator."""
    parts = traced(sample)
    try:
        return [(closed, written_jaxpr(closed, closed.out_avals).body, arguments) for closed, arguments in parts]
    except Unwritable as missing:
        assert sample.op in BY_XLA, f"{sample.op} is not written: {missing}"
        return None


def check(sample):
    """The NumPy backend and XLA agree on an operator's outputs and gradients."""
    for closed, body, arguments in written_or_known(sample) or ():
        with jax.enable_x64(True):
            expected = jax.jit(jaxpr_as_fun(closed))(*arguments)
        found = run(body, arguments)
        assert [unlike(*pair) for pair in zip(found, expected, strict=True)] == [""] * len(found)


def first_of_each(samples):
    found = {}
    for sample in samples:
        found.setdefault(sample.op, sample)
    return list(found.values())


SAMPLES = list(all_samples())
FIRST = first_of_each(SAMPLES)


@pytest.mark.parametrize("name", ["lcm", "ctc_loss", "lstm_layer", "matrix_exp", "hermite_polynomial_h"])
def test_loops_of_kernels_stay_loops(name):
    """Though what is jitted inside is traced as if it was not: Note [Flat traces]."""
    (looping, _), *_ = traced(next(sample for sample in FIRST if sample.op == name))
    assert "while[" in str(looping) or "scan[" in str(looping)
    (straight, _), *_ = traced(next(sample for sample in FIRST if sample.op == "elu"))
    assert "jit[" not in str(straight)


def test_all_kernels_are_written_but_for_those_that_the_table_of_operators_names():
    missing = {sample.op for sample in FIRST if written_or_known(sample) is None}
    assert missing == set(BY_XLA) - ONLY_LATER


@pytest.mark.parametrize("sample", FIRST, ids=lambda sample: sample.op)
def test_a_kernel_is_what_xla_computes(sample):
    check(sample)


@pytest.mark.parametrize("sample", FIRST, ids=lambda sample: sample.op)
def test_a_kernel_that_writes_over_what_it_made_is_the_same(sample, monkeypatch):
    expected = [(run(body, arguments), closed, arguments) for closed, body, arguments in written_or_known(sample) or ()]
    monkeypatch.setattr(operands, "TEMPORARY", 0)
    for before, closed, arguments in expected:
        found = run(written_jaxpr(closed, closed.out_avals).body, arguments)
        assert [str(one) + str(one.dtype) for one in found] == [str(one) + str(one.dtype) for one in before]


@pytest.mark.ring("everything")
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_kernel_is_what_xla_computes_at_every_sample(sample):
    check(sample)


# -- and they can fail -------------------------------------------------------------------------------------------------



def renamed(equation, primitive):
    """An equation as if it were one of another primitive."""
    equation.primitive = primitive
    return equation


WRONG = {
    "neg": elementwise.identity,
    "max": lambda writer, equation: by_ufunc(np.fmax, equation),  # of nan and a number the number
    "sign": lambda writer, equation: by_ufunc(np.sign, equation),  # no -0
    "floor": lambda writer, equation: by_ufunc(np.trunc, equation),
    "exp": lambda writer, equation: by_ufunc(np.expm1, equation),
    "not": lambda writer, equation: by_ufunc(np.logical_not, equation),  # bools
    "convert_element_type": lambda writer, equation: (
        equation.full(0).method("astype", equation.params["new_dtype"])  # wraps around
    ),
    "rem": lambda writer, equation: by_ufunc(np.remainder, equation),
    "argmax": lambda writer, equation: RULES["argmin"](writer, renamed(equation, "argmin")),
    "reduce_sum": lambda writer, equation: RULES["reduce_prod"](writer, renamed(equation, "reduce_prod")),
    "sort": lambda writer, equation: equation.inputs(),
    "erf_inv": lambda writer, equation: RULES["erf"](writer, equation),
}


@pytest.mark.parametrize("primitive", sorted(WRONG))
def test_a_wrong_rule_is_found(primitive, monkeypatch):
    monkeypatch.setitem(RULES, primitive, WRONG[primitive])
    assert complaints(CASES[primitive][:4])


def test_a_wrong_rule_is_found_in_kernels(monkeypatch):
    sample = next(sample for sample in FIRST if sample.op == "tanh")
    check(sample)
    monkeypatch.setitem(RULES, "mul", RULES["add"])
    with pytest.raises(AssertionError):
        check(sample)


def test_a_kernel_that_is_not_written_is_found(monkeypatch):
    monkeypatch.delitem(RULES, "tanh")
    with pytest.raises(AssertionError, match="tanh is not written: tanh"):
        check(next(sample for sample in FIRST if sample.op == "tanh"))


@pytest.mark.parametrize(
    "host, complaint",
    [
        (np.array([1, 2], "int64"), "int64"),
        (np.array([1, 2, 3], "float32"), "(3,)"),
        (np.float32(1), "float32"),
        (np.array([1, np.nan], "float32"), "nan"),
        (np.array([-0.0, 2], "float32"), "-0.0"),
        (np.array([1, 3e38], "float32"), "inf"),
        (np.array([1, np.inf], "float32"), "not np.float64(2.0)"),
    ],
)
def test_a_wrong_result_is_complained_of(host, complaint):
    xla = np.array({"-0.0": [0, 2], "inf": [1, np.inf]}.get(complaint, [1, 2]), "float32")
    assert complaint in differences(host, xla, ulps=2)
    assert differences(xla, xla) == ""


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_of_what_is_not_dense_are_taken_without_a_copy_of_all(axis):
    """NumPy's ``take`` first makes the array dense."""
    many = np.broadcast_to(np.arange(3.0), (400_000, 3)).T if axis else np.broadcast_to(np.arange(3.0), (400_000, 3))
    places = np.array([[5, -1], [0, 5]])
    tracemalloc.start()
    got = indexing.taken(many, places, axis)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(got, np.ascontiguousarray(many).take(places, axis))
    assert got.flags.c_contiguous and peak < 10_000
    with pytest.raises(IndexError):
        indexing.taken(many, np.array([400_000]), axis)


@pytest.mark.parametrize("least", [-100, 0, 5])
@pytest.mark.parametrize("add", [True, False])
def test_many_places_are_written_to_as_by_xla(add, least):
    rng = np.random.default_rng(0)
    x, places = np.zeros((100, 90), "float32"), rng.permuted(np.tile(np.arange(100), (90, 1)), axis=1).T + least
    values = rng.integers(-9, 9, x.shape).astype("float32")

    def write(x, places, values):
        at = x.at[places, jnp.arange(90)]
        return at.add(values) if add else at.set(values)

    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(write)(x, places, values))
    np.testing.assert_array_equal(on_host(write, [x, places, values]), expected)


@pytest.mark.parametrize("shape", [(70, 200), (3, 90, 110), (2, 9000), (9000, 2), (1, 5000)])
def test_copies_of_large_transposed_arrays_are_in_order(shape):
    x = np.random.default_rng(0).standard_normal(shape).swapaxes(-1, -2)
    copy = on_host(jnp.copy, [x])
    assert copy.flags.c_contiguous and not np.shares_memory(copy, x)
    np.testing.assert_array_equal(copy, x)

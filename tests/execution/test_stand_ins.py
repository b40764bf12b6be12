"""What the host calls in place of NumPy's functions gives what they give; and what it costs is counted."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.array_functions import random
from tapegrad._src.execution.array_functions.random import KeyStream
from tapegrad._src.execution.numpy_backend import indexing, random_bits, reductions, scans, vectorized, writer
from tapegrad._src.execution.numpy_backend.cutting import cut
from tapegrad._src.execution.numpy_backend.random_bits import random_part
from tapegrad._src.execution.tiers import costs
from tapegrad._src.execution.tiers.costs import FIGURES, cost_of

F = torch.nn.functional
pytestmark = pytest.mark.once("it is the same in both")

EXTREMES = np.array([0, np.inf, -np.inf, np.nan, -1, -2, 1e38, -100, 88.9, 1e-40, -1e-30], np.float32)


def many(low, high, dtype="float32"):
    """So many numbers that stand-ins are used, extremes among them."""
    numbers = np.random.RandomState(0).uniform(low, high, 1 << 16).astype(dtype)
    if dtype == "float32":
        numbers[: EXTREMES.size] = EXTREMES
    return numbers


@pytest.mark.parametrize("name", ["log1p", "expm1"])
@pytest.mark.parametrize("bounds", [(-1, 1), (-1e-6, 1e-6), (-0.999, 80), (-80, 1)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_logarithms_and_exponentials_near_1(name, bounds):
    x = many(*bounds)
    x = x[x > -1] if name == "log1p" else x
    exact = getattr(np, name)(x.astype(np.float64))
    found, rounded = getattr(vectorized, name)(x), exact.astype(np.float32)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~finite], rounded[~finite])
    off = np.abs(found.astype(np.float64) - exact)[finite] / np.spacing(np.abs(rounded[finite]))
    assert off.max() < 8
    into = np.empty_like(x)
    assert getattr(vectorized, name)(x, into) is into
    np.testing.assert_array_equal(into, found)


@pytest.mark.parametrize("dtype", [str(one) for one in vectorized.LIMITS])
def test_bounds(dtype):
    x, number = many(-9, 9, dtype), np.asarray(2, dtype)
    for mine, its in ((vectorized.at_least, np.maximum), (vectorized.at_most, np.minimum)):
        np.testing.assert_array_equal(mine(x, number), its(x, number))
        np.testing.assert_array_equal(mine(number, x), its(x, number))
    np.testing.assert_array_equal(vectorized.clipped(-number, x, number), np.minimum(np.maximum(x, -number), number))
    if dtype.startswith("float"):
        assert np.isnan(vectorized.at_least(x, np.asarray(np.nan, dtype))).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_rows_are_added_in_their_order(dtype, index):
    random = np.random.RandomState(0)
    rows, values = random.randint(7, size=40).astype(index), (random.randn(40, 6) * 1e3).astype(dtype)
    mine, its = np.ones((7, 6), dtype), np.ones((7, 6), dtype)
    assert indexing.add_rows(mine, rows, values)
    np.add.at(its, rows, values)
    np.testing.assert_array_equal(mine, its)


@pytest.mark.parametrize(
    ("array", "rows", "values"),
    [
        (np.zeros((3, 4), "float32"), np.array([-1]), np.ones((1, 4), "float32")),
        (np.zeros((3, 4), "float32"), np.array([3]), np.ones((1, 4), "float32")),
        (np.zeros((3, 4), "float32"), np.array([0]), np.ones((1, 4), "float64")),
        (np.zeros((3, 4), "float16"), np.array([0]), np.ones((1, 4), "float16")),
        (np.zeros((4, 3), "float32").T, np.array([0]), np.ones((1, 4), "float32")),
        (np.zeros((3, 4), "float32"), np.array([0], "int16"), np.ones((1, 4), "float32")),
    ],
)
def test_rows_that_are_left_to_others(array, rows, values):
    assert not indexing.add_rows(array, rows, values)
    assert not array.any()


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum])
@pytest.mark.parametrize("axis", [0, 1])
def test_accumulated_row_by_row(ufunc, axis):
    x = np.random.RandomState(0).randn(5, 4, scans.SIDE_BY_SIDE).astype(np.float32)
    np.testing.assert_array_equal(scans.accumulated_along(ufunc, x, axis), ufunc.accumulate(x, axis))


def test_choices_that_are_bounds_and_others():
    """``where(x > c, c, x)`` is a minimum; not where the numbers are others, or the one compared with is an array."""
    x, bounds = np.linspace(-1, 1, 3000, dtype="float32"), np.linspace(1, -1, 3000, dtype="float32")
    x[0] = np.nan
    example = [jax.ShapeDtypeStruct(x.shape, "float32")]
    for function, name in (
        (lambda x: jnp.where(x > 0.5, 0.5, x), "at_most"), (lambda x: jnp.where(x <= 0.5, 0.5, x), "at_least"),
        (lambda x: jnp.where(x > 0.5, 0.25, x), "where"), (lambda x: jnp.where(x > bounds, 0.5, x), "where"),
    ):  # fmt: skip
        code = writer.written(function, example)
        assert name in code.source
        np.testing.assert_array_equal(code.body(x), function(x))


@pytest.mark.parametrize("shape", [(300, 130), (70_000,), (5, 7), (40, 41, 42)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_many(shape, dtype):
    random = np.random.RandomState(0)
    x, y = random.randn(*shape).astype(dtype), random.randn(*shape).astype(dtype)
    exact = x.astype(np.longdouble).sum(), (x.astype(np.longdouble) * y).sum()
    tolerance = np.finfo(dtype).eps * np.sqrt(x.size) * 16
    for mine, its in zip((reductions.total(x), reductions.total(x, y)), exact, strict=True):
        assert mine.dtype == dtype and abs(float(mine - its)) < tolerance
    transposed = x.T if x.ndim > 1 else x[::-1]
    assert abs(float(reductions.total(transposed) - exact[0])) < tolerance
    assert np.isnan(reductions.total(np.where(x == x.max(), np.nan, x)))


def test_a_number_of_64_bits_is_no_row():
    def host(dtype):
        return cost_of(jax.make_jaxpr(lambda x: x * 2.0 + 1.0)(np.ones(10_000, dtype))).host

    with jax.enable_x64(True):
        assert host("float64") < 3 * host("float32")


def test_what_strips_draw_costs_what_it_costs_whole():
    assert FIGURES[random_part.name] == FIGURES["random_bits"]


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.3, 0.5, 0.9, 0.99999999, 1.0])
def test_masks_are_those_of_uniform_numbers(p):
    from tapegrad._src.execution.array_functions.random import bernoulli

    key = jax.random.key(3)
    np.testing.assert_array_equal(
        bernoulli(key, (999,), np.dtype("float32"), p), jax.random.uniform(key, (999,), jnp.float32) < p
    )


@pytest.mark.parametrize("length", [10, 5000])
def test_functions_of_these(length):
    """Short arrays by NumPy's functions, long ones by stand-ins."""
    x = torch.linspace(-30, 30, length).requires_grad_()
    f = torch.nn.functional
    exact = torch.linspace(-30, 30, length, dtype=torch.float64).requires_grad_()
    for function in (f.softplus, f.mish, f.elu, f.logsigmoid, f.hardswish, f.relu6, torch.log1p, torch.expm1):
        inputs = (x.abs(), exact.abs()) if function is torch.log1p else (x, exact)
        mine, its = map(function, inputs)
        torch.testing.assert_close(mine.double(), its, rtol=1e-5, atol=1e-6)
        grads = torch.autograd.grad(mine.sum(), x)[0].double(), torch.autograd.grad(its.sum(), exact)[0]
        torch.testing.assert_close(*grads, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("found", ["X86_V3", "NEON", "baseline(X86_V2)"])
def test_exponentials_are_dear_to_processors_without_avx_512(monkeypatch, found):
    monkeypatch.setattr(vectorized, "_targets", lambda ufunc: {"current": found, "available": "X86_V4 X86_V3"})
    figures = costs.figures_here()
    assert figures["tanh"].host > 3 * costs.BY_NAMES["exp exp2 log log1p expm1 tanh"].host
    monkeypatch.setattr(costs, "FIGURES", figures)
    large = jax.make_jaxpr(jnp.tanh)(jax.ShapeDtypeStruct((200_000,), "float32"))
    assert cost_of(large).host > cost_of(large).xla
    monkeypatch.setattr(vectorized, "_targets", lambda ufunc: {"current": "X86_V4", "available": "X86_V4 X86_V3"})
    monkeypatch.setattr(costs, "FIGURES", costs.figures_here())
    assert cost_of(large).host < cost_of(large).xla


def test_arrays_that_are_joined_are_not_cut_across():
    x = jax.ShapeDtypeStruct((1024, 1024), "float32")
    assert cut(jax.make_jaxpr(lambda x, y: jnp.concatenate([x, y]))(x, x)) is None
    assert cut(jax.make_jaxpr(lambda x, y: jnp.concatenate([jnp.sin(x), y]))(x, x)).inner
    assert not cut(jax.make_jaxpr(lambda x, y: jnp.concatenate([x, y], 1))(x, x)).inner


def drawn(draws):
    """Numbers of one seed, drawn by functions of how many; and the state of the generator after them."""
    torch.manual_seed(3)
    numbers = [draw(5 if index % 3 else 70) for index, draw in enumerate(draws)]
    return [one.numpy().copy() for one in numbers], torch.get_rng_state().tolist()


DRAWS = {
    "uniform": torch.rand, "normal": torch.randn, "integers": lambda n: torch.randint(0, 9, (n,)),
    "order": torch.randperm, "coins": lambda n: torch.bernoulli(torch.full((n,), 0.4)),
    "one": lambda n: torch.rand(()), "many": lambda n: torch.rand(3000),
    "dropout": lambda n: F.dropout(torch.ones(n)), "apart": lambda n: torch.rand(n, generator=torch.Generator()),
}  # fmt: skip


@pytest.mark.parametrize("names", [[one] for one in DRAWS] + [[*DRAWS], ["uniform", "integers"], ["many", "one"]])
def test_numbers_are_those_of_their_keys_however_many_are_drawn_before(monkeypatch, names):
    draws = [DRAWS[name] for name in names] * (200 // len(names))
    found, state = drawn(draws)
    monkeypatch.setattr(random_bits, "MOST_AHEAD", 1)
    torch.execution.clear_caches()
    expected, expected_state = drawn(draws)
    assert state == expected_state
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_seed_between_a_key_and_its_bits_is_seen():
    stream, bits = KeyStream(3), random_bits._bits
    for number in range(1, 8):
        key = random_bits.wrapped(stream.next_key())
        if number == 6:  # it would be looked at together with the next ones
            stream.reseed(4)
        np.testing.assert_array_equal(random_bits.foreseen(bits, key, (4,), 32), bits(key, (4,), 32))


@pytest.mark.parametrize("low, high", [(0, 1), (0, 2), (-5, 7), (3, 2**31), (-(2**40), 2**41), (0, 2**62), (-3, 2**33)])
@pytest.mark.parametrize("size", [(), (3,), (7, 9), (0, 2), (2000,)])
def test_whole_numbers_are_those_of_the_kernel(monkeypatch, low, high, size):
    torch.manual_seed(1)
    numbers = [torch.randint(low, high, size) for _ in range(5)]
    monkeypatch.setattr(random, "FEW_INTEGERS", 0)
    torch.manual_seed(1)
    for one in numbers:
        assert one.shape == size and torch.equal(one, torch.randint(low, high, size))

"""PyTorch's random numbers, bit for bit: the same programs on both libraries, after the same seed.

What is compared are all bits of all results, their strides, and the state in which the generators are left.
"""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch as pytorch
from harness import agree

import tapegrad
from tapegrad._src.streams.elementary import fma32, log32, sincos32
from tapegrad._src.streams.mersenne import MersenneTwister

pytestmark = [pytest.mark.parity, pytest.mark.once("numbers are made on the host at once; test_deferred asks")]

SIZES = [0, 1, 2, 15, 16, 17, 31, 32, 33, 100, 1000]
HALVES = ["float16", "bfloat16"]
WIDE = ["float32", "float64"]
FLOATS = [*HALVES, *WIDE]
COMPLEX = ["complex64", "complex128"]
WHOLE = ["int64", "int32", "int16", "int8", "uint8"]


@pytest.fixture(autouse=True)
def _stream():
    tapegrad.random.use("pytorch")
    yield
    tapegrad.random.use("jax")


def bits(result):
    """The elements of a result, to the last bit, and how they lie in memory."""
    if isinstance(result, (list, tuple)):
        return [bits(one) for one in result]
    if not isinstance(result, (tapegrad.Tensor, pytorch.Tensor)):
        return result
    array = result.detach()
    array = (array.float() if str(array.dtype).endswith("bfloat16") else array).numpy()
    return str(result.dtype).replace("tapegrad", "torch"), tuple(result.shape), result.stride(), array.tobytes()


def same(program, seed=3):
    """Check that a program gives the same bits on both libraries, and leaves the generators in the same state."""
    found = []
    for torch in (tapegrad, pytorch):
        torch.manual_seed(seed)
        found.append([bits(program(torch)), torch.get_rng_state().numpy().tobytes()])
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1]


def each_size(draw, dtype):
    """A program that draws each of the sizes, twice."""

    def program(torch):
        return [draw(torch, n, getattr(torch, dtype)) for n in SIZES for _ in range(2)]

    return program


# Whole draws --------------------------------------------------------------------------------------------------------

def ramp(torch, n, d, last):
    """``n`` numbers from 0 on, below ``last``, that both libraries compute alike."""
    return (torch.arange(n) * (last * 1024 // max(n, 1)) / 1024).to(d)


ANY_FLOATS = {
    "rand": lambda torch, n, d: torch.rand(n, dtype=d),
    "randn": lambda torch, n, d: torch.randn(n, dtype=d),
    "uniform_": lambda torch, n, d: torch.empty(n, dtype=d).uniform_(-0.3123, 1.7456),
    "uniform_ near 0": lambda torch, n, d: torch.empty(n, dtype=d).uniform_(0, 1e-3),
    "normal_": lambda torch, n, d: torch.empty(n, dtype=d).normal_(0.7, 1.3),
    "rand_like": lambda torch, n, d: torch.rand_like(torch.empty(n, dtype=d)),
    "randn_like": lambda torch, n, d: torch.randn_like(torch.empty(2, n, dtype=d)),
}

REAL_FLOATS = {
    "exponential_": lambda torch, n, d: torch.empty(n, dtype=d).exponential_(0.7),
    "log_normal_": lambda torch, n, d: torch.empty(n, dtype=d).log_normal_(0.7, 1.3),
    "cauchy_": lambda torch, n, d: torch.empty(n, dtype=d).cauchy_(0.7, 1.3),
    "geometric_": lambda torch, n, d: torch.empty(n, dtype=d).geometric_(0.37),
    "bernoulli_": lambda torch, n, d: torch.empty(n, dtype=d).bernoulli_(0.37),
    "bernoulli_ tensor": lambda torch, n, d: torch.empty(n, dtype=torch.int32).bernoulli_(ramp(torch, n, d, 1)),
    "bernoulli": lambda torch, n, d: torch.bernoulli(torch.full((n,), 0.37, dtype=d)),
    "bernoulli number": lambda torch, n, d: torch.bernoulli(torch.empty(n, dtype=d), 0.37),
    "random_": lambda torch, n, d: torch.empty(n, dtype=d).random_(),
    "random_ to": lambda torch, n, d: torch.empty(n, dtype=d).random_(200),
    "randint": lambda torch, n, d: torch.randint(-7, 100, (n,), dtype=d),
    "dropout": lambda torch, n, d: torch.nn.functional.dropout(torch.ones(n, dtype=d), 0.3),
    "normal": lambda torch, n, d: torch.normal(0.5, 2.0, (n,), dtype=d),
    "normal of tensors": lambda torch, n, d: torch.normal(ramp(torch, n, d, 1), torch.full((n,), 0.3, dtype=d)),
    "normal of means": lambda torch, n, d: torch.normal(ramp(torch, n, d, 1), 0.3),
    "normal of deviations": lambda torch, n, d: torch.normal(0.3, ramp(torch, n, d, 1)),
    "normal into others": lambda torch, n, d: torch.normal(ramp(torch, n, d, 1), 0.3, out=torch.zeros(n).double()),
    "multinomial once": lambda torch, n, d: torch.multinomial(torch.arange(1, n + 2).to(d), 1),
    "multinomial again": lambda torch, n, d: torch.multinomial(torch.arange(1, n % 200 + 2).to(d), 7, True),
    "poisson": lambda torch, n, d: torch.poisson(ramp(torch, n, d, 30)),
}  # fmt: skip

OF_WHOLE = {
    "random_": lambda torch, n, d: torch.empty(n, dtype=d).random_(),
    "random_ from": lambda torch, n, d: torch.empty(n, dtype=d).random_(3, None),
    "random_ to": lambda torch, n, d: torch.empty(n, dtype=d).random_(100),
    "randint": lambda torch, n, d: torch.randint(3, 100, (n,), dtype=d),
    "bernoulli_": lambda torch, n, d: torch.empty(n, dtype=d).bernoulli_(0.37),
    "geometric_": lambda torch, n, d: torch.empty(n, dtype=d).geometric_(0.37),
    "randperm": lambda torch, n, d: torch.randperm(min(n, 100), dtype=d),
}

OF_WIDE = {
    "multinomial": lambda torch, n, d: torch.multinomial(torch.arange(1, n + 2).to(d), n // 2 + 1),
    "binomial by inversion": lambda torch, n, d: torch.binomial(
        torch.full((n,), 12.0, dtype=d), ramp(torch, n, d, 1)),
    "binomial by rejection": lambda torch, n, d: torch.binomial(
        torch.full((n,), 400.0, dtype=d), ramp(torch, n, d, 1)),
    "_standard_gamma": lambda torch, n, d: torch._standard_gamma(ramp(torch, n, d, 9)),
    "gumbel noise": lambda torch, n, d: torch.empty(n, dtype=d).exponential_(),
    "rrelu": lambda torch, n, d: torch.nn.functional.rrelu(ramp(torch, n, d, 2) - 1, 0.1, 0.3, True),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
@pytest.mark.parametrize("name", ANY_FLOATS)
def test_floats_and_complex_numbers(name, dtype):
    same(each_size(ANY_FLOATS[name], dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", REAL_FLOATS)
def test_floats(name, dtype):
    same(each_size(REAL_FLOATS[name], dtype))


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("name", OF_WHOLE)
def test_whole_numbers(name, dtype):
    same(each_size(OF_WHOLE[name], dtype))


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("name", OF_WIDE)
def test_wide_floats(name, dtype):
    same(each_size(OF_WIDE[name], dtype))


RANGES = [(0, 2**28 - 1), (0, 2**28), (-5, 2**31), (-(2**63), 2**63 - 1), (2**62, 2**62 + 9), (-(2**40), 2**41 + 1)]


@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_wide_ranges(bounds):
    same(lambda torch: [torch.randint(*bounds, (50,)), torch.empty(50, dtype=torch.int64).random_(*bounds)])


@pytest.mark.filterwarnings("ignore:from is out of bounds", "ignore:to - 1 is out of bounds")
@pytest.mark.parametrize("bounds", [(2**24 + 1, 2**24 + 99), (-(2**40) - 1, 2**41 + 1)], ids=str)
def test_ranges_with_gaps(bounds):
    same(lambda torch: torch.randint(*bounds, (50,), dtype=torch.float32))


EXTREMES = {
    "wide bounds": lambda torch: torch.empty(40, dtype=torch.float64).uniform_(0, 2.0**1023),
    "bounds that are one": lambda torch: torch.empty(40).uniform_(3, 3),
    "infinite halves": lambda torch: torch.empty(40, dtype=torch.float16).cauchy_(0, 1e6),
    "infinite numbers": lambda torch: torch.empty(40, dtype=torch.float64).log_normal_(0, 1e4),
    "large deviations": lambda torch: torch.empty(40, dtype=torch.float64).normal_(1e300, 1e305),
    "no deviation": lambda torch: torch.empty(40).normal_(3, 0),
    "certain ones": lambda torch: [torch.empty(9).bernoulli_(1.0), torch.empty(9).bernoulli_(0.0)],
    "a rare success": lambda torch: torch.empty(40, dtype=torch.int64).geometric_(1e-9),
    "many a second": lambda torch: torch.empty(40).exponential_(1e30),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name):
    same(EXTREMES[name])


def test_all_64_bits():
    same(lambda torch: torch.empty(50, dtype=torch.int64).random_(-(2**63), None))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1023, 1024, 1025, 5000])
def test_permutations(n):
    same(lambda torch: [torch.randperm(n), torch.randperm(n)])


def test_many_numbers():
    same(lambda torch: [torch.randn(100_003), torch.rand(50_000), torch.empty(30_000).exponential_()])


def test_bools():
    same(lambda torch: [torch.empty(40, dtype=torch.bool).random_(), torch.empty(40, dtype=torch.bool).bernoulli_(0.3)])


def test_dirichlet():
    """In float64 the sums of rows are added in another order than PyTorch's: the last digit may differ."""
    same(lambda torch: torch._sample_dirichlet(ramp(torch, 40, torch.float32, 5).reshape(8, 5) + 0.125))
    found = []
    for torch in (tapegrad, pytorch):
        torch.manual_seed(0)
        found.append(torch._sample_dirichlet(ramp(torch, 40, torch.float64, 5).reshape(8, 5) + 0.125).numpy())
    np.testing.assert_allclose(*found, rtol=4e-16)


# How numbers lie in memory ------------------------------------------------------------------------------------------

LAYOUTS = {
    "transposed": lambda torch, fill: fill(torch.empty(4, 5).t()),
    "a slice": lambda torch, fill: fill(torch.zeros(6, 10)[1:4, ::2]),
    "permuted": lambda torch, fill: fill(torch.empty(3, 4, 5).permute(2, 0, 1)),
    "channels last": lambda torch, fill: fill(torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last)),
    "a column": lambda torch, fill: fill(torch.zeros(20, 3)[:, 1]),
    "with lengths of 1": lambda torch, fill: fill(torch.empty(1, 20, 1).transpose(0, 1)),
}

FILLS = {
    "uniform_": lambda x: x.uniform_(),
    "normal_": lambda x: x.normal_(),
    "random_": lambda x: x.random_(9),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "exponential_": lambda x: x.exponential_(),
}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, fill):
    same(lambda torch: LAYOUTS[layout](torch, FILLS[fill]))


LIKE = {
    "rand_like": lambda torch, x: torch.rand_like(x),
    "randn_like": lambda torch, x: torch.randn_like(x),
    "randint_like": lambda torch, x: torch.randint_like(x, 9),
    "rand_like in rows": lambda torch, x: torch.rand_like(x, memory_format=torch.contiguous_format),
    "dropout": lambda torch, x: torch.nn.functional.dropout(x.fill_(1)),
    "bernoulli": lambda torch, x: torch.bernoulli(x.fill_(0.5)),
    "bernoulli number": lambda torch, x: torch.bernoulli(x.fill_(0.5), 0.3),
    "poisson": lambda torch, x: torch.poisson(x.fill_(3)),
    "bernoulli_ tensor": lambda torch, x: x.bernoulli_(ramp(torch, x.numel(), torch.float32, 1).reshape(x.shape)),
}


@pytest.mark.parametrize("name", LIKE)
@pytest.mark.parametrize("layout", ["transposed", "permuted", "channels last"])
def test_like_others(layout, name):
    same(lambda torch: LAYOUTS[layout](torch, lambda x: LIKE[name](torch, x)))


# Functions ----------------------------------------------------------------------------------------------------------

FUNCTIONS = {
    "dropout, no training": lambda torch, F: F.dropout(torch.ones(9), 0.3, False),
    "dropout of all": lambda torch, F: F.dropout(torch.ones(9), 1.0),
    "dropout in place": lambda torch, F: F.dropout(torch.ones(9), 0.3, inplace=True),
    "dropout1d": lambda torch, F: F.dropout1d(torch.ones(3, 4, 2)),
    "dropout2d": lambda torch, F: F.dropout2d(torch.ones(3, 4, 2, 2)),
    "dropout3d": lambda torch, F: F.dropout3d(torch.ones(3, 4, 2, 2, 2)),
    "alpha_dropout": lambda torch, F: F.alpha_dropout(ramp(torch, 50, torch.float32, 2), 0.3, True) == F.selu(
        torch.tensor(-1e9)),
    "feature_alpha_dropout": lambda torch, F: F.feature_alpha_dropout(torch.ones(4, 3, 2), 0.3, True) > 1,
    "gumbel_softmax": lambda torch, F: F.gumbel_softmax(torch.zeros(5, 4), hard=True),
    "attention": lambda torch, F: F.scaled_dot_product_attention(
        torch.ones(2, 3, 4), torch.ones(2, 5, 4), torch.ones(2, 5, 4), dropout_p=0.5),
    "fractional pooling": lambda torch, F: F.fractional_max_pool2d(torch.arange(128.0).reshape(1, 2, 8, 8), 2, 3),
    "multinomial of rows": lambda torch, F: torch.multinomial(torch.arange(1.0, 13).reshape(3, 4), 3),
    "multinomial of rows again": lambda torch, F: torch.multinomial(torch.arange(1.0, 13).reshape(3, 4), 9, True),
    "multinomial with zeros": lambda torch, F: torch.multinomial(torch.tensor([0.0, 1, 0, 3]), 5, True),
    "binomial of one": lambda torch, F: torch.binomial(torch.tensor([5.0, 50]), torch.tensor(0.3)),
    "poisson of few and many": lambda torch, F: torch.poisson(torch.tensor([0.0, 0.5, 9.9, 10, 1000])),
    "normal that broadcasts": lambda torch, F: torch.normal(torch.zeros(3, 1), torch.ones(4)),
    "native_dropout": lambda torch, F: torch.native_dropout(torch.ones(40), 0.3, True)[1],
    "rand with out": lambda torch, F: torch.rand(3, out=torch.empty(3)),
    "empty shapes": lambda torch, F: [torch.rand(0, 3), torch.randn(2, 0), torch.rand(())],
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    same(lambda torch: FUNCTIONS[name](torch, torch.nn.functional))


def test_normal_numbers_wait_for_the_next_call():
    def program(torch):
        drawn = [torch.randn(n) for n in (1, 1, 3, 16, 2, 0, 5)]
        drawn += [torch.rand(3), torch.randn(1, dtype=torch.float64), torch.empty(3).log_normal_(), torch.randn(1)]
        torch.manual_seed(5)
        return [*drawn, torch.randn(3)]

    same(program)


@pytest.mark.parametrize("seed", [0, 1, -1, 2**32, 2**32 + 7, 2**63, 2**64 - 1])
def test_seeds(seed):
    same(lambda torch: [torch.rand(3), torch.initial_seed()], seed=seed)


def test_long_interleavings():
    chance = np.random.default_rng(0)
    names = [name for name in REAL_FLOATS if name != "poisson"]
    plan = [(names[chance.integers(len(names))], int(chance.integers(1, 60))) for _ in range(80)]
    same(lambda torch: [REAL_FLOATS[name](torch, n, torch.float32) for name, n in plan])


def truncated(torch, n):
    """Normal numbers, those beyond two deviations drawn again: a loop that depends on what was drawn."""
    x = torch.empty(n).normal_(0, 0.5)
    while (outside := x.abs() > 1).any():
        x = torch.where(outside, torch.empty_like(x).normal_(0, 0.5), x)
    return x


def test_loops_that_draw_again():
    same(lambda torch: [truncated(torch, n) for n in (5, 200)])


def test_shuffles_of_a_loader():
    """As a sampler does it: a seed from the default generator, and a generator of its own."""

    def program(torch):
        orders = []
        for _ in range(3):
            generator = torch.Generator()
            generator.manual_seed(int(torch.empty((), dtype=torch.int64).random_().item()))
            orders.append(torch.randperm(200, generator=generator))
        return orders

    same(program)


# Generators ---------------------------------------------------------------------------------------------------------


def test_states_go_both_ways():
    for drawn in (0, 1, 5, 623, 624, 625, 1248):
        pytorch.manual_seed(9)
        pytorch.rand(drawn), pytorch.randn(3, dtype=pytorch.float64)
        tapegrad.set_rng_state(tapegrad.from_numpy(pytorch.get_rng_state().numpy()))
        assert bits(tapegrad.randn(40)) == bits(pytorch.randn(40))
        pytorch.set_rng_state(pytorch.from_numpy(tapegrad.get_rng_state().numpy()))
        assert bits(pytorch.rand(700)) == bits(tapegrad.rand(700))


def test_generators():
    def program(torch):
        g = torch.Generator()
        first = [g.initial_seed(), torch.rand(3, generator=g), torch.randperm(5, generator=g), torch.rand(2)]
        g.manual_seed(4)
        state, other = g.get_state(), g.clone_state()
        second = [torch.empty(20).normal_(generator=g), torch.rand(2, generator=other)]
        g.set_state(state)
        return [*first, *second, torch.randn(20, generator=g), other.initial_seed(), state]

    same(program)


def test_fork_rng():
    def program(torch):
        before = torch.randn(1)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(8)
            inside = torch.rand(4)
        return [before, inside, torch.randn(2)]

    same(program)


MISTAKES = [
    lambda torch: torch.Generator().set_state(torch.zeros(5056, dtype=torch.uint8)),
    lambda torch: torch.Generator().set_state(torch.zeros(16, dtype=torch.uint8)),
    lambda torch: torch.Generator().set_state(torch.zeros(5056)),
    lambda torch: torch.Generator().set_state(3),
    lambda torch: torch.Generator().get_offset(),
    lambda torch: torch.Generator().set_offset(1),
]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake):
    found = []
    for torch in (tapegrad, pytorch):
        with pytest.raises((RuntimeError, TypeError)) as raised:
            mistake(torch)
        found.append((raised.type, str(raised.value)))
    assert found[0] == found[1]


def test_a_failed_set_state_changes_nothing():
    g = tapegrad.Generator()
    before = bits(g.get_state())
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        g.set_state(tapegrad.zeros(5056, dtype=tapegrad.uint8))
    assert bits(g.get_state()) == before


def test_generators_keep_to_their_streams():
    ours = tapegrad.Generator().manual_seed(0)
    tapegrad.random.use("jax")
    by_keys = tapegrad.Generator().manual_seed(0)
    assert ours.get_state().shape == (5056,) and by_keys.get_state().shape == (16,)
    assert bits(tapegrad.rand(3, generator=ours)) == bits(pytorch.rand(3, generator=pytorch.Generator().manual_seed(0)))
    copy = pickle.loads(pickle.dumps(ours))
    assert bits(tapegrad.rand(3, generator=copy)) == bits(tapegrad.rand(3, generator=ours))


def test_use_keeps_the_seed_and_refuses_other_names():
    tapegrad.random.use("jax")
    tapegrad.manual_seed(7)
    numbers = bits(tapegrad.rand(3))
    tapegrad.random.use("pytorch")
    assert tapegrad.initial_seed() == 7
    assert bits(tapegrad.rand(3)) == bits(pytorch.rand(3, generator=pytorch.Generator().manual_seed(7)))
    with pytest.raises(ValueError, match="'numpy' is no stream; expected one of 'jax', 'pytorch'"):
        tapegrad.random.use("numpy")
    tapegrad.random.use("jax")
    assert bits(tapegrad.rand(3)) == numbers


def test_the_environment_variable(monkeypatch):
    monkeypatch.setenv("TAPEGRAD_RANDOM", "pytorch")
    program = "import tapegrad as torch; _ = torch.manual_seed(0); print(torch.rand(3).tolist())"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.strip() == str(pytorch.rand(3, generator=pytorch.Generator().manual_seed(0)).tolist())


# Where computation goes ---------------------------------------------------------------------------------------------


def test_deferred():
    def program(torch):
        return [torch.rand(4) * 2, torch.nn.functional.dropout(torch.ones(9)), torch.bernoulli(torch.full((5,), 0.5))]

    with tapegrad.deferred():
        same(program)


def test_the_same_in_a_vmap():
    def program(torch):
        draw = lambda x: (x + torch.rand(3), torch.nn.functional.dropout(x), torch.randn(2), torch.randperm(4))
        return torch.func.vmap(draw, randomness="same")(torch.ones(2, 3))

    same(program)


def test_different_ones_in_a_vmap():
    def program(torch):
        draw = lambda x: (x + torch.rand(3), torch.randn(20), torch.randperm(4), torch.bernoulli(x / 2))
        return torch.func.vmap(draw, randomness="different")(torch.ones(2, 3))

    same(program)


def test_what_depends_on_elements_in_a_vmap():
    def program(torch):
        draw = lambda x: (torch.poisson(x), x + torch.poisson(torch.ones(3)), torch.multinomial(x, 4, True))
        return torch.func.vmap(draw, randomness="different")(torch.arange(1.0, 7).reshape(2, 3))

    same(program)


def test_what_depends_on_elements_is_refused_where_jax_traces():
    import jax

    with pytest.raises(RuntimeError, match=r"poisson: with PyTorch's streams.*inside of jax.jit"):
        jax.jit(tapegrad.interop.to_jax(tapegrad.poisson))(np.ones(3, np.float32))


def test_what_depends_on_elements_in_a_compiled_step():
    step = tapegrad.compile(lambda x: tapegrad.poisson(x + tapegrad.rand(3)) * 2, fullgraph=True)
    before = bits(tapegrad.get_rng_state())
    with pytest.raises(RuntimeError, match="reads the elements of a tensor"):
        step(tapegrad.ones(3))
    assert bits(tapegrad.get_rng_state()) == before
    tapegrad.manual_seed(0)
    split = tapegrad.compile(lambda x: tapegrad.poisson(x) * 2, fullgraph=False)
    found = [bits(split(tapegrad.ones(9))) for _ in range(4)]
    tapegrad.manual_seed(0)
    assert found == [bits(tapegrad.poisson(tapegrad.ones(9)) * 2) for _ in range(4)]


def model(torch):
    """A function that drops, its parameter, and a loss."""
    weight = torch.randn(6, 4, requires_grad=True)

    def step(x):
        weight.grad = None
        hidden = torch.nn.functional.dropout(x @ weight, 0.4)
        noise, _unused = torch.randn(3, 4), torch.rand(5)
        loss = (hidden * noise + torch.rand(4)).sum()
        loss.backward()
        return loss.detach(), weight.grad.clone()

    return step


@pytest.mark.parametrize("fullgraph", [True, False])
def test_a_compiled_step_draws_what_the_function_does(fullgraph):
    tapegrad.manual_seed(0)
    step = model(tapegrad)
    expected = [step(tapegrad.ones(3, 6)) for _ in range(6)]
    tapegrad.manual_seed(0)
    compiled = tapegrad.compile(model(tapegrad), fullgraph=fullgraph)
    found = [compiled(tapegrad.ones(3, 6)) for _ in range(6)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one[0].numpy(), other[0].numpy(), rtol=1e-5)
        np.testing.assert_allclose(one[1].numpy(), other[1].numpy(), rtol=1e-5)
    assert len({float(one[0]) for one in found}) == 6


def test_another_stream_compiles_anew():
    step = tapegrad.compile(lambda x: x + tapegrad.rand(3))
    for _ in range(3):
        step(tapegrad.zeros(3))
    tapegrad.random.use("jax")
    tapegrad.manual_seed(0)
    expected = bits(tapegrad.rand(3))
    for _ in range(3):
        tapegrad.manual_seed(0)
        assert bits(step(tapegrad.zeros(3))) == expected


def test_checkpoints_draw_the_same_again():
    def program(torch):
        x = torch.ones(4, 5, requires_grad=True)
        drop = lambda x: torch.nn.functional.dropout(x * 2)
        y = tapegrad.utils.checkpoint.checkpoint(drop, x, use_reentrant=False) if torch is tapegrad else drop(x)
        between = torch.rand(2)
        y.sum().backward()
        return y, x.grad, between, torch.rand(2)

    same(program)


def test_checkpoints_in_a_compiled_step():
    def run(wrap):
        tapegrad.manual_seed(1)
        x = tapegrad.ones(4, 5, requires_grad=True)

        def step():
            x.grad = None
            drop = lambda x: tapegrad.nn.functional.dropout(x * 2)
            y = tapegrad.utils.checkpoint.checkpoint(drop, x, use_reentrant=False)
            after = tapegrad.rand(2)
            y.sum().backward()
            return y.detach(), x.grad.clone(), after

        step = wrap(step)
        return [bits(list(step())) for _ in range(5)]

    assert run(tapegrad.compile) == run(lambda step: step)


def test_numbers_are_constants_of_what_jax_traces():
    import jax

    tapegrad.manual_seed(0)
    traced = jax.jit(tapegrad.interop.to_jax(lambda x: x + tapegrad.rand(3)))
    first, second = np.asarray(traced(np.zeros(3, np.float32))), np.asarray(traced(np.zeros(3, np.float32)))
    assert first.tolist() == second.tolist()


# Elementary functions -----------------------------------------------------------------------------------------------


def test_polynomials_are_near_the_functions():
    x = np.linspace(1e-6, 1, 1001).astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(log32(x), np.log(x), rtol=2e-7, atol=1e-7)
    sine, cosine = sincos32(x * 6)
    np.testing.assert_allclose(sine, np.sin(x * 6), atol=2e-7)
    np.testing.assert_allclose(cosine, np.cos(x * 6), atol=2e-7)


def test_the_comparison_can_fail():
    with pytest.raises(AssertionError):
        same(lambda torch: torch.rand(3) if torch is pytorch else torch.rand(4)[:3])
    wrong = MersenneTwister(1)
    assert not np.array_equal(wrong.words(3), MersenneTwister(2).words(3))
    assert fma32(np.array([1.0]), np.float64(2**-30), np.float64(1)) == 1


# A whole training ---------------------------------------------------------------------------------------------------


def train(torch):
    """Weights, shuffles, dropout and noise of a small network; its losses, and what it has learned."""
    torch.manual_seed(0)
    inputs = torch.randn(64, 8)
    targets = torch.randint(3, (64,))
    bound = 8**-0.5
    w1, b1 = torch.empty(16, 8).uniform_(-bound, bound), torch.empty(16).uniform_(-bound, bound)
    w2, b2 = torch.empty(3, 16).normal_(0, 0.1), torch.zeros(3)
    parameters = [p.requires_grad_() for p in (w1, b1, w2, b2)]
    losses = []
    for _ in range(4):
        order = torch.randperm(64)
        for batch in order.split(16):
            x = inputs[batch] + 0.01 * torch.randn(16, 8)
            hidden = torch.nn.functional.dropout((x @ w1.t() + b1).relu(), 0.2)
            loss = torch.nn.functional.cross_entropy(hidden @ w2.t() + b2, targets[batch])
            loss.backward()
            with torch.no_grad():
                for p in parameters:
                    p -= 0.1 * p.grad
                    p.grad = None
            losses.append(loss.item())
    return np.array(losses), np.concatenate([p.detach().numpy().ravel() for p in parameters])


def test_a_training_can_be_laid_over_pytorchs():
    (losses, learned), (expected_losses, expected) = train(tapegrad), train(pytorch)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    np.testing.assert_allclose(learned, expected, rtol=1e-4, atol=1e-6)
    assert tapegrad.get_rng_state().numpy().tobytes() == pytorch.get_rng_state().numpy().tobytes()


def test_a_single_number_that_is_expanded():
    """What is drawn one by one, of a tensor without dimensions."""

    def program(torch):
        torch.manual_seed(0)
        one = torch.tensor(3.0, dtype=torch.float64)
        return [
            torch.poisson(one.expand(4)), torch._standard_gamma(one), torch.poisson(one),
            torch.binomial(one.expand(3), one.expand(3) / 6),
        ]  # fmt: skip

    tapegrad.random.use("pytorch")
    try:
        agree(program)
    finally:
        tapegrad.random.use("jax")

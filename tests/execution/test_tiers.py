"""Kernels run by NumPy or by XLA, and nobody can tell: Note [Tiers] in ``execution/tiers/tiered_kernel.py``."""

import contextlib
import gc
import math
import subprocess
import sys
import threading
import warnings
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.data.allocating import ALIGNED
from tapegrad._src.execution.data.values import materialized
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.execution.programs import running, subprogram
from tapegrad._src.execution.tiers import costs, entry, tiered_kernel, xla_copies
from tapegrad._src.execution.tiers import settings as tier_settings
from tapegrad._src.execution.tiers.settings import Tier, compiler, settings
from tapegrad._src.execution.tiers.tiered_kernel import Tiered
from tapegrad._src.execution.tiers.xla_copies import aligned, xla_copy, xla_readable
from tapegrad._src.tensor.tensor import value_of

pytestmark = pytest.mark.once("it looks at what is computed at once, and says where not")

LARGE = 300_000
"""So many elements XLA computes quicker, once it has compiled."""


def kernel(function, *arguments, name="tried"):
    """A kernel for arguments of these types, and what decides how it runs."""
    made = Kernel(function, name=name, wide=False, arguments=arguments)
    return made, made._tiered


def floats(*shape):
    return shape, np.dtype("float32")


@pytest.fixture
def background(monkeypatch):
    """What is due is compiled on a thread of its own."""
    monkeypatch.setattr(settings, "background", True)


# -- which tier --------------------------------------------------------------------------------------------------------


def test_small_calls_are_numpys():
    tried, tiered = kernel(lambda x, y: x * y, floats(3), floats(3))
    result = tried.run(np.ones(3, "float32"), np.full(3, 2, "float32"))
    assert type(result) is np.ndarray and result.tolist() == [2, 2, 2]
    assert tiered.tier is Tier.HOST


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_halves_are_xlas_sooner_for_numpy_converts_each(dtype):
    def cost(dtype):
        return costs.cost_of(jax.make_jaxpr(lambda x: x * x + x)(jax.ShapeDtypeStruct((12_000,), dtype)))

    half, single = cost(dtype), cost("float32")
    assert half.host > half.xla and half.host > single.host and single.host < single.xla + 2_000


def test_large_calls_are_numpys_until_xla_has_compiled():
    tried, tiered = kernel(lambda x: jnp.tanh(x) * x + jnp.exp(x), floats(LARGE))
    x = np.linspace(0, 1, LARGE, dtype="float32")
    first, tiers = tried.run(x), []
    for _ in range(1000):
        tiers.append(tiered.tier)
        if tiers[-1] is Tier.XLA:
            break
        tried.run(x)
    assert tiers[0] is Tier.COLD and tiers[-1] is Tier.XLA
    hot = tried.run(x)
    assert isinstance(hot, jax.Array)
    np.testing.assert_allclose(first, hot, rtol=1e-5, atol=1e-6)


def test_what_takes_longer_than_compiling_is_xlas_at_once():
    x = jnp.linspace(0.0, 1.0, 1000)
    tried, tiered = kernel(lambda x: jax.lax.fori_loop(0, 100_000, lambda i, x: jnp.tanh(x), x), floats(1000))
    assert isinstance(tried.run(x), jax.Array)
    assert tiered.tier is Tier.XLA


def test_what_xla_is_slow_at_stays_with_numpy():
    tried, tiered = kernel(lambda x: jnp.sort(x), floats(LARGE))
    x = np.linspace(1, 0, LARGE, dtype="float32")
    assert (tried.run(x) == x[::-1]).all()
    assert tiered.tier is Tier.HOST


def test_what_cannot_be_written_for_numpy_is_xlas():
    def called_back(x):
        return jax.pure_callback(lambda x: np.asarray(x) + 1, jax.ShapeDtypeStruct((2,), "float32"), x)

    tried, tiered = kernel(called_back, floats(2))
    assert np.asarray(tried.run(np.zeros(2, "float32"))).tolist() == [1, 1]
    tried.run(np.zeros(2, "float32"))
    assert tiered.tier in (Tier.XLA, Tier.HOST)


# -- the switch --------------------------------------------------------------------------------------------------------


def test_the_switch_is_heard_by_kernels_that_have_run():
    x = torch.tensor([1.0, 2.0])
    kinds = [type(value_of(x * 2))]
    for name in ("xla", "host", "auto"):
        with torch.execution.tiers(name):
            assert torch.execution.tiers() == name
            kinds.append(type(value_of(x * 2)))
        assert torch.execution.tiers() == "auto"
    assert [kind is np.ndarray for kind in kinds] == [True, False, True, True]


def test_there_are_three_tiers():
    with pytest.raises(ValueError, match="no such tiers.*'auto' or 'host' or 'xla'.*'numpy'"):
        torch.execution.tiers("numpy")
    assert torch.execution.tiers() == "auto"


def test_deterministic_algorithms_give_the_same_bits_at_every_call():
    x = torch.rand(LARGE)
    torch.use_deterministic_algorithms(True)
    try:
        results = [((x * 3).tanh().exp() + x.sin()).numpy() for _ in range(60)]
    finally:
        torch.use_deterministic_algorithms(False)
    assert all((result == results[0]).all() for result in results[1:])


def test_stats_tell_how_kernels_run():
    (torch.ones(7) * 2 + 1).sum()
    found = torch.execution.stats().tiers
    assert found.host > 0 and found.failures >= 0
    assert "TierStats(host=" in repr(torch.execution.stats())


# -- what users see ----------------------------------------------------------------------------------------------------


def test_numbers_and_arrays_of_both_kinds_may_meet():
    tried, _ = kernel(lambda x, y, z: x * y + z, floats(3), float, floats(3))
    results = [
        tried.run(x, 2.5, z)
        for x in (np.ones(3, "float32"), jnp.ones(3))
        for z in (np.ones(3, "float32"), jnp.ones(3))
    ]
    assert all(type(result) is np.ndarray and result.tolist() == [3.5] * 3 for result in results)


def test_a_number_of_another_type_is_taken_as_jax_takes_it():
    tried, _ = kernel(lambda x, y: x * y, floats(2), float)
    ones = np.ones(2, "float32")
    assert np.asarray(tried.run(ones, 2)).tolist() == [2, 2]
    assert np.asarray(tried.run(ones, True)).dtype == "float32"


def test_results_are_arrays_also_without_dimensions():
    tried, _ = kernel(lambda x: (x.sum(), None, x[0]), floats(2))
    total, nothing, first = tried.run(np.ones(2, "float32"))
    assert type(total) is type(first) is np.ndarray and nothing is None


def test_numpy_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = torch.tensor([0.0, 1e30, -1.0], requires_grad=True)
        y = (x / 0.0) * x.exp() + x.log() + (x * x * x)
        y.sum().backward()
        assert not x.grad.isfinite().all()


def test_the_users_own_handling_of_floating_point_errors_is_left_alone():
    with np.errstate(all="raise"):
        assert (torch.tensor([1e30]) * 1e30).item() == float("inf")
        with pytest.raises(FloatingPointError):
            np.float32(1e30) * np.float32(1e30)


def test_kernels_run_inside_of_kernels():
    """A finalizer may compute while NumPy does: a context can't be entered twice."""
    tried, tiered = kernel(lambda x: x / x, floats(2))
    zeros = np.zeros(2, "float32")
    tried.run(zeros)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = entry.quietly(tried.run, zeros)
    assert np.isnan(result).all() and tiered.tier is Tier.HOST


def test_no_array_of_the_users_is_a_value():
    given = np.ones(3, "float32")
    x = torch.tensor(given)
    given[:] = 7
    y = x.clone()
    out, seen = y.numpy(), value_of(y)
    out[:] = 5
    assert x.tolist() == seen.tolist() == [1, 1, 1] and y.tolist() == [5, 5, 5]
    assert y.data_ptr() != x.data_ptr()
    with pytest.raises(ValueError, match="read-only"):
        from tapegrad._src.functions.conversion import host_array

        host_array(x)[0] = 3


def test_views_of_memory_that_is_written_to_keep_what_they_showed():
    x = torch.arange(6.0).reshape(2, 3)
    transposed = x.t().contiguous()
    rows = x[0].clone()
    x.add_(1)
    x[0] = 9
    assert transposed.tolist() == [[0, 3], [1, 4], [2, 5]] and rows.tolist() == [0, 1, 2]
    assert x.tolist() == [[9, 9, 9], [4, 5, 6]]


def test_jax_gets_arrays_of_its_own_kind():
    x = torch.tensor([1.0, 2.0]) * 2
    assert type(value_of(x)) is np.ndarray
    assert isinstance(x.jax(), jax.Array) and x.jax() is x.jax()
    assert jax.jit(lambda t: t)(x).tolist() == [2, 4]
    assert torch.from_dlpack(np.from_dlpack(x)).tolist() == [2, 4]


def test_the_copy_that_xla_gets_lives_as_long_as_the_array():
    array = np.ones(10_000)
    copy = weakref.ref(xla_copy(array))
    assert xla_copy(array) is copy()
    del array
    gc.collect()
    assert copy() is None


def test_xla_reads_an_array_where_it_lies():
    array = aligned(np.ones((100, 100), "float32"))
    assert xla_readable(array) is array
    assert jax.device_put(xla_readable(array), may_alias=True).unsafe_buffer_pointer() == array.ctypes.data
    for other in (array.T, aligned(np.ones(10_001, "float32"))[1:]):
        copy = xla_readable(other)
        assert xla_readable(other) is copy and not np.may_share_memory(copy, other)
        assert copy.ctypes.data % ALIGNED == 0 and (copy == other).all()
        assert jax.device_put(copy, may_alias=True).unsafe_buffer_pointer() == copy.ctypes.data


def test_large_results_of_the_host_lie_where_xla_reads_them():
    with torch.execution.tiers("host"):
        x = torch.arange(5000.0)
        results = [x + count for count in range(4)] + [x.outer(x[:7]).t().contiguous(), x.cumsum(0), x.sort()[0]]
        leaf = torch.ones(5000, requires_grad=True)
        ((leaf * 2).sum() + (leaf * 3).sum()).backward()
    for result in [*results, leaf.grad]:
        assert xla_readable(value_of(result)) is value_of(result)
    assert [float(one[1]) for one in results[:4]] == [1, 2, 3, 4]
    assert leaf.grad[0] == 5


def test_results_of_the_host_are_arrays_like_others_and_may_be_the_last_that_is_freed():
    program = (
        "import builtins, tapegrad as torch\n"
        "array = (torch.ones(300, 300) + 1).numpy()\n"
        "while array.base is not None:\n"
        "    array = array.base\n"
        "array.resize((600, 300), refcheck=False)\n"
        "builtins.kept = [array, (torch.ones(300, 300) + 2).numpy()]\n"
        "print(array[299, 299], array[300, 0], kept[1].sum())\n"
    )
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "2.0 0.0 270000.0", "")


def test_what_users_may_write_to_is_never_read_where_it_lies():
    memory = aligned(np.ones((600, 600), "float32"))
    shown = torch.from_numpy(memory)
    for tiers in ("xla", "auto"):
        with torch.execution.tiers(tiers):
            for count in range(12):
                memory[...] = count
                product = shown @ shown @ shown
                memory[...] = -1  # XLA may not have begun
                assert float(product[0, 0]) == pytest.approx(600.0**2 * count**3, rel=1e-4)


def test_a_tensor_that_xla_still_reads_is_not_written_over():
    with torch.execution.tiers("host"):
        x = torch.tensor(aligned(np.ones((600, 600), "float32"))) * 1
    with torch.execution.tiers("xla"):
        for count in range(1, 12):
            product = x @ x @ x
            with torch.execution.tiers("host"):
                x.add_(1)
            assert float(product[0, 0]) == pytest.approx(600.0**2 * count**3, rel=1e-4)


def test_a_gradient_that_grows_in_place_is_seen_by_xla():
    x = torch.ones(LARGE, requires_grad=True)
    for count in range(1, 5):
        (x * 2.0).sum().backward()
        assert float(x.grad.jax()[0]) == 2 * count


@pytest.mark.parametrize("before", ["xla", "auto"])
def test_a_compiled_step_takes_both_kinds_of_values(before):
    with torch.execution.tiers(before):
        w = torch.tensor([1.0, 2.0], requires_grad=True)

    @torch.compile
    def step(x):
        loss = (w * x).sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.5 * w.grad)
            w.grad = None
        return loss

    x = torch.tensor([1.0, -1.0])
    kept = w.detach().clone()
    losses = [step(x).item() for _ in range(4)]
    assert losses == [-1, -2, -3, -4]
    assert kept.tolist() == [1, 2] and x.tolist() == [1, -1]
    assert w.tolist() == [-1, 4]


# -- the compiler in the background ------------------------------------------------------------------------------------


def hot(tried, tiered, x):
    """Call it until the next call is XLA's; which tier computes each is given, in one letter."""
    tiers = ""
    while tiered.tier in (Tier.NEW, Tier.COLD) or tiered.way.calls < tiered.way.swaps:
        assert type(tried.run(x)) is np.ndarray
        tiers += tiered.tier.value[2]
    return tiers


def test_what_is_compiled_in_the_background_is_swapped_in_at_a_fixed_call(background):
    tried, tiered = kernel(lambda x: jnp.tanh(x) + x * 2, floats(LARGE))
    x = np.ones(LARGE, "float32")
    before = tier_settings.counters["compiled"]
    host, xla, compiling = costs.cost_of(jax.make_jaxpr(lambda x: jnp.tanh(x) + x * 2)(x))
    starts = math.ceil(compiling / (host - xla))
    swaps = starts + math.ceil(tiered_kernel.PATIENCE * compiling / host)
    assert hot(tried, tiered, x) == "l" * (starts - 1) + "m" * (swaps - starts + 1)
    assert tiered.way.calls == swaps and tiered.tier is Tier.COMPILING
    assert isinstance(tried.run(x), jax.Array)
    assert tiered.tier is Tier.XLA and tier_settings.counters["compiled"] == before + 1


@pytest.mark.parametrize("compiler_is", ["quick", "slow", "as it is"])
def test_how_long_the_compiler_takes_changes_nothing(background, monkeypatch, compiler_is):
    if compiler_is == "slow":
        monkeypatch.setattr(compiler, "add", lambda due: None)
    elif compiler_is == "quick":
        monkeypatch.setattr(compiler, "add", lambda due: due.compile())
    tried, tiered = kernel(lambda x, n, y: jnp.tanh(x) * y + jnp.exp(x), floats(LARGE), type(None), float)
    x, found = np.linspace(0, 1, LARGE, dtype="float32"), []
    tried.run(x, None, 2.0)
    swaps = tiered.way.swaps
    for _ in range(swaps + 3):
        found.append(type(tried.run(x, None, 2.0)) is np.ndarray)
    assert found == [True] * (swaps - 1) + [False] * 4


def test_a_call_waits_for_what_is_being_compiled_and_for_nothing_else(background, monkeypatch):
    begun, free, compiled = threading.Event(), threading.Event(), []

    class First:
        def compile(self):
            begun.set()
            free.wait()

    compiler.add(First())
    begun.wait()
    tried, tiered = kernel(lambda x: jnp.tanh(x) + x * 4, floats(LARGE))
    compile = Tiered._compile
    monkeypatch.setattr(Tiered, "_compile", lambda self: compiled.append(threading.current_thread()) or compile(self))
    x = np.ones(LARGE, "float32")
    hot(tried, tiered, x)
    assert isinstance(tried.run(x), jax.Array) and compiled == [threading.current_thread()]
    free.set()
    compiler.wait()
    assert len(compiled) == 1


def test_an_interrupt_while_a_call_waits_leaves_it_to_the_next(monkeypatch):
    tried, tiered = kernel(lambda x: jnp.tanh(x) + x * 5, floats(LARGE))
    x = np.ones(LARGE, "float32")
    hot(tried, tiered, x)

    def interrupted(self):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Tiered, "_compile", interrupted)
        tried.run(x)
    assert tiered.tier is Tier.COMPILING and isinstance(tried.run(x), jax.Array)


@pytest.mark.parametrize("fails_in", ["the background", "the call"])
def test_a_failure_of_the_compiler_leaves_the_kernel_to_numpy(background, monkeypatch, fails_in):
    tried, tiered = kernel(lambda x: jnp.tanh(x) + x * 3, floats(LARGE), name="unlucky")
    x = np.ones(LARGE, "float32")
    with torch.execution.without("strips"):
        tried.run(x)
    monkeypatch.setattr(compiler, "add", lambda due: due.compile() if fails_in == "the background" else None)

    class Failing:
        def lower(self):
            raise RuntimeError("no room")

    monkeypatch.setattr(tiered, "_traced", Failing())
    with warnings.catch_warnings(), torch.execution.without("strips"):
        warnings.simplefilter("error")
        hot(tried, tiered, x)
        with pytest.raises(RuntimeWarning, match="unlucky could not be compiled and is left to NumPy.*no room"):
            tried.run(x)
        assert type(tried.run(x)) is np.ndarray and tiered.tier is Tier.HOST


def test_what_fails_in_the_background_ends_nothing(monkeypatch):
    told, order, both = [], [], threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda how: told.append(str(how.exc_value)))

    class Due:
        def __init__(self, name):
            self.name = name

        def compile(self):
            order.append(self.name)
            if self.name == "warned of":
                both.wait()
                raise RuntimeWarning("warnings are errors")

    for name in ("warned of", "next"):
        compiler.add(Due(name))
    both.set()
    compiler.wait()
    assert order == ["warned of", "next"] and told == ["warnings are errors"]


def test_a_failure_of_numpys_leaves_the_kernel_to_xla_once():
    tried, _ = kernel(lambda x: x + 1, floats(3), name="unlucky")
    x = np.ones(3, "float32")
    tried.run(x)

    def failing(x):
        raise IndexError("of NumPy's")

    tried.run.__globals__["body"] = failing
    with pytest.warns(RuntimeWarning, match="unlucky could not be computed by NumPy.*of NumPy's"):
        assert np.asarray(tried.run(x)).tolist() == [2, 2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(tried.run(x), jax.Array)


def test_no_room_for_a_result_is_said_in_pytorchs_words():
    tried, tiered = kernel(lambda x: x + 1, floats(3))
    tried.run(np.ones(3, "float32"))

    def failing(x):
        raise MemoryError

    tried.run.__globals__["body"] = failing
    with pytest.raises(RuntimeError, match="bad_alloc"):
        tried(np.ones(3, "float32"))
    assert tiered.tier is Tier.HOST


def test_a_program_that_has_taken_long_enough_is_compiled_in_the_background(background, monkeypatch):
    monkeypatch.setattr(subprogram, "SECONDS_PER_SUBPROGRAM", 1e-4)
    monkeypatch.setattr(subprogram, "SECONDS_PER_INSTRUCTION", 0)
    x = torch.rand(400, 400)
    compiled = torch.execution.stats().compiled
    with torch.deferred():
        for _ in range(6):
            y = ((x * 2 + 1).tanh() * x - 0.125).sum().item()
    assert torch.execution.stats().compiled == compiled + 1
    assert y == pytest.approx(float(np.sum(np.tanh(x.numpy() * 2 + 1) * x.numpy() - 0.125)), rel=1e-4)


def kept_for_xla():
    """The bytes of all copies that are kept for XLA."""
    return sum(copy.nbytes for kept in (xla_copies._copies, xla_copies._xla_copies) for _, copy in kept.values())


def test_a_compiled_program_reads_what_the_host_has_computed_where_it_lies(background, monkeypatch):
    monkeypatch.setattr(subprogram, "SECONDS_PER_SUBPROGRAM", 1e-4)
    monkeypatch.setattr(subprogram, "SECONDS_PER_INSTRUCTION", 0)
    with torch.execution.tiers("host"):
        x = torch.ones(300, 500) * 2
    compiled, copied = torch.execution.stats().compiled, kept_for_xla()
    with torch.deferred():
        for _ in range(6):
            y = ((x * 3 + 1).tanh() * x - 0.25).sum().item()
    assert torch.execution.stats().compiled == compiled + 1
    assert y == pytest.approx(300 * 500 * (2 * math.tanh(7) - 0.25), rel=1e-5)
    assert isinstance(materialized(value_of(x)), np.ndarray)
    assert kept_for_xla() <= copied  # copies of other tests may be gone


def test_a_program_that_takes_no_time_is_not_compiled(background):
    compiled = torch.execution.stats().compiled
    with torch.deferred():
        for number in range(40):
            assert (torch.ones(3) * number + 1).sum().item() == 3 * (number + 1)
    compiler.wait()
    assert torch.execution.stats().compiled == compiled


def many_numbers():
    """A program of 300 products, run six times; how many were compiled, and what the last one gave."""
    numbers = [torch.tensor(float(number)) for number in range(300)]
    compiled = torch.execution.stats().compiled
    with torch.deferred():
        for _ in range(6):
            squares = [x * x for x in numbers]
            assert squares[17].item() == 289
    return torch.execution.stats().compiled - compiled, squares


@pytest.mark.parametrize("argument, compiled", [(2000, 0), (0, 1)])
def test_a_program_of_many_numbers_is_not_left_to_xla_where_that_is_slower(background, monkeypatch, argument, compiled):
    monkeypatch.setattr(subprogram, "SECONDS_PER_SUBPROGRAM", 0)
    monkeypatch.setattr(running, "SECONDS_PER_TINY_INSTRUCTION", 0)
    monkeypatch.setattr(running, "BATCHED_ARGUMENT", argument)
    torch.execution.clear_caches()
    times, squares = many_numbers()
    assert times == compiled
    assert all(type(materialized(value_of(one))) is np.ndarray for one in squares)


def test_a_gradient_of_another_type_than_was_expected_is_not_taken_for_that():
    made = Kernel(lambda g, x: g * x, name="tried", wide=True, arguments=(floats(3), floats(3)), checked=1)
    x = np.arange(3, dtype="float32")
    for g in (np.ones(3, "float32"), np.ones(3), np.ones((2, 3), "float32"), np.ones(3, "float32")):
        result = made.run(g, x)
        assert (result.dtype, result.shape) == (g.dtype, g.shape)


def test_many_threads_run_one_kernel(background):
    tried, tiered = kernel(lambda x, y: jnp.exp(x) / y, floats(5), floats(5))
    x, wrong = np.zeros(5, "float32"), []

    def run():
        for _ in range(300):
            if np.isinf(tried.run(x, x)).sum() != 5:
                wrong.append(tiered.tier)

    threads = [threading.Thread(target=run) for _ in range(4)]
    with contextlib.ExitStack() as stack:
        for thread in threads:
            thread.start()
            stack.callback(thread.join)
    assert not wrong and tiered.tier is Tier.HOST


def test_the_process_ends_while_something_is_compiled():
    program = (
        "import numpy as np, tapegrad as torch\n"
        "x = torch.rand(600, 600)\n"
        "for _ in range(200):\n"
        "    y = (x.tanh() * 2).exp().sin()\n"
        "    if torch.execution.stats().tiers.compiling:\n"
        "        break\n"
        "print('over')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "over", "")


def test_kernels_that_are_gone_are_not_remembered():
    tried, tiered = kernel(lambda x: x + 1, floats(3))
    tried.run(np.ones(3, "float32"))
    known = weakref.ref(tiered)
    assert isinstance(tiered, Tiered)
    del tried, tiered
    gc.collect()
    assert known() is None


@pytest.mark.parametrize("shape", [(128, 128), (130, 256), (3, 70, 64), (200, 200), (1, 20_000)])
def test_copies_of_what_lies_in_columns_are_in_rows(shape):
    x = torch.arange(float(np.prod(shape))).reshape(shape)
    for seen in (x.mT, x.flip(-1).mT, x.mT[..., 1:], x[..., :1].expand(shape).mT):
        with torch.execution.tiers("host"):
            copy = seen.contiguous().clone()
        assert copy.is_contiguous() and copy.tolist() == seen.tolist()

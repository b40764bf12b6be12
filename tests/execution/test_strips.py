"""Large kernels that NumPy runs strip by strip, on several threads: the same numbers, on any number of threads."""

import os
import subprocess
import sys
import threading
import time
import warnings

import jax
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.numpy_backend import cutting
from tapegrad._src.execution.numpy_backend.cutting import cut
from tapegrad._src.execution.state import threads as threads_module
from tapegrad._src.execution.state.threads import AWAKE, SLEEPLESS, Blas, Helpers, blas, helpers
from tapegrad._src.execution.tiers import stripped

F = torch.nn.functional
pytestmark = pytest.mark.once("chooses how kernels are run")
CALLS = 14
"""After so many calls a kernel is cut."""


@pytest.fixture(autouse=True)
def host(monkeypatch):
    """NumPy computes, strips are small, and the number of threads is as it was afterwards."""
    monkeypatch.setattr(cutting, "TARGET", cutting.TARGET // 4)
    before, alone = helpers.number, [one.get() for one in blas()]
    with torch.execution.tiers("host"):
        yield
    helpers.number = before
    for one, number in zip(blas(), alone, strict=True):
        one.set(number)


@pytest.fixture
def x():
    return torch.linspace(-2, 2, 300_000).reshape(300, 1000).requires_grad_()


def results(program, x, threads):
    """The results of many calls, and the last gradient."""
    helpers.number, found = threads, []
    for _ in range(CALLS):
        x.grad = None
        torch.manual_seed(0)
        y = program(x)
        if y.requires_grad:
            y.backward(torch.ones_like(y))
        found = [y.detach().numpy(), *([] if x.grad is None else [x.grad.numpy()])]
    return found


PROGRAMS = {
    "elementwise": lambda x: (x.sin() * 2).exp(),
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "softmax": lambda x: x.softmax(-1),
    "layer norm": lambda x: F.layer_norm(x, (1000,)),
    "sums of rows": lambda x: (x * x + x.exp()).sum(-1),
    "places of the greatest": lambda x: x.detach().sort(-1)[1],
    "what every strip reads": lambda x: (x.detach() * torch.linspace(0, 1, 1000)).tanh(),
    "random": lambda x: F.dropout(x.exp(), 0.3),
    "long rows": lambda x: x.reshape(3, 100_000).tanh(),
    "rows put together": lambda x: F.avg_pool2d(x.reshape(3, 4, 250, 100), 2),
    "half": lambda x: x.bfloat16().exp().float(),
    "embedding": lambda x: F.embedding(torch.arange(900) % 300, x.detach()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_bits_are_the_same_on_any_number_of_threads_and_without_strips(name, x):
    program = PROGRAMS[name]
    before = torch.execution.stats().tiers.stripped
    found = [results(program, x, threads) for threads in (1, 2, 3)]
    assert torch.execution.stats().tiers.stripped > before
    with torch.execution.without("strips"):
        found.append(results(program, x, 1))
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.mean(), lambda x: (x * x).sum(0), lambda x: x.amax(), lambda x: x.std(),
        lambda x: x.softmax(0),
        lambda x: F.batch_norm(x.reshape(30, 10, 1000), None, None, training=True),
        lambda x: F.batch_norm(x.reshape(30, 1, 10, 1000), None, None, training=True),
    ],
)  # fmt: skip
def test_sums_over_all_rows_do_not_depend_on_threads(program, x):
    found = [results(program, x, threads) for threads in (1, 2, 3)]
    assert all(np.array_equal(one, other) for others in found[1:] for one, other in zip(found[0], others, strict=True))
    with torch.execution.without("strips"):
        for one, other in zip(found[0], results(program, x, 1), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_updates_of_large_parameters_are_the_same(x):
    def trained(threads):
        helpers.number = threads
        p = torch.nn.Parameter(x.detach().clone())
        optimizer = torch.optim.AdamW([p], lr=0.1)
        for _ in range(CALLS):
            p.grad = x.detach() * 0.5
            optimizer.step()
        return p.detach().numpy()

    with torch.execution.without("strips"):
        expected = trained(1)
    assert np.array_equal(trained(3), expected)


def test_small_kernels_are_never_cut():
    before, small = torch.execution.stats().tiers.stripped, torch.ones(100, 100)
    for _ in range(CALLS):
        small.exp().softmax(-1)
    assert torch.execution.stats().tiers.stripped == before
    assert cut(jax.make_jaxpr(lambda x: jax.numpy.exp(x))(jax.ShapeDtypeStruct((100, 100), "float32"))) is None


def test_kernels_that_are_not_row_wise_are_not_cut():
    large = jax.ShapeDtypeStruct((1000, 1000), "float32")
    for function in (lambda x: jax.nn.softmax(x, (0, 1)), lambda x: x.cumsum(0).cumsum(1), lambda x: x @ x):
        assert cut(jax.make_jaxpr(function)(large)) is None


def test_arrays_that_do_not_lie_in_order_give_the_same(x):
    expected = results(lambda x: x.exp(), x, 2)[0]
    turned = x.detach().T.contiguous().T
    assert np.array_equal(turned.exp().numpy(), expected)


def test_numpy_warns_of_nothing(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = results(lambda x: (x.detach().log() / 0).exp() - x.detach().log(), x, 3)[0]
    assert np.isnan(found).any()


def test_threads_that_compute_give_the_same(x):
    expected, found = results(lambda x: x.exp() * 2, x, 3), []
    threads = [threading.Thread(target=lambda: found.append((x.detach().exp() * 2).numpy())) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert all(np.array_equal(one, expected[0]) for one in found) and len(found) == 2


def test_set_num_threads_is_told_to_blas():
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 1 and all(one.get() == 1 for one in blas())
    torch.set_num_threads(2)
    assert torch.get_num_threads() == 2


def test_copies_are_the_same(x):
    helpers.number = 3
    large = torch.arange(3_000_000.0).reshape(1000, 3000)
    assert np.array_equal(large.T.contiguous().numpy(), large.numpy().T)
    assert np.array_equal(large.clone().numpy(), large.numpy())


def spinning():
    """The least seconds of the CPU that threads of BLAS take while nobody asks for anything."""
    x, least = np.ones((300, 300), np.float32), 1.0
    for _ in range(4):
        x.dot(x)
        start = time.process_time()
        time.sleep(0.02)
        least = min(least, time.process_time() - start)
    return least


def test_threads_of_blas_sleep_between_products():
    for one in blas():
        one.sleeps_after(AWAKE)
    assert spinning() < 0.008


def test_threads_of_blas_are_sleepless_without(monkeypatch):
    told = []
    monkeypatch.setattr(threads_module, "alone", lambda: True)
    monkeypatch.setattr(Blas, "sleeps_after", lambda _, awake: told.append(awake))
    with torch.execution.without("resting BLAS"):
        assert set(told) <= {SLEEPLESS}
        told.clear()
    assert set(told) <= {AWAKE} and len(told) == len(blas())


def test_what_users_say_about_idle_threads_is_heeded(monkeypatch):
    monkeypatch.setenv("OPENBLAS_THREAD_TIMEOUT", "20")
    for one in blas():
        monkeypatch.setattr(one, "_library", type("", (), {"openblas_read_env": None, "blas_thread_shutdown_": None}))
        one.sleeps_after(AWAKE)  # calls nothing
    assert os.environ["OPENBLAS_THREAD_TIMEOUT"] == "20"


# -- threads that help -------------------------------------------------------------------------------------------------


@pytest.fixture
def team():
    made = Helpers()
    made.number = 3
    yield made
    made.end()


def test_each_piece_is_computed_once(team):
    found = []
    for count in (1, 2, 50):
        found.clear()
        team.run(found.append, count)
        assert sorted(found) == list(range(count))


def test_several_threads_compute(team):
    met = threading.Barrier(3)
    team.run(lambda number: met.wait(10), 3)


def test_an_error_ends_it_and_the_next_one_runs(team):
    done = []

    def work(number):
        if number == 3:
            raise ArithmeticError("number 3")
        done.append(number)

    with pytest.raises(ArithmeticError, match="number 3"):
        team.run(work, 10_000)
    assert len(done) < 10_000
    team.run(done.append, 10)
    assert set(range(10)) <= set(done)


def test_work_inside_work_is_done_by_who_does_it(team):
    found = []
    team.run(lambda number: team.run(lambda inner: found.append((number, inner)), 3), 3)
    assert len(found) == 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_fork_begins_without_threads():
    program = """
import os, warnings
from tapegrad._src.execution.state.threads import helpers
warnings.simplefilter("ignore")
helpers.number = 3
helpers.run(lambda number: None, 3)
child = os.fork()
found = []
helpers.run(found.append, 5)
assert sorted(found) == [0, 1, 2, 3, 4]
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("both")
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert found.stdout == "both\n" and not found.stderr


def test_a_process_ends_quietly():
    program = f"""
import tapegrad as torch
torch.set_num_threads(3)
x = torch.ones(1000, 500)
for _ in range({CALLS}):
    y = x.exp() + x
print(torch.execution.stats().tiers.stripped > 0)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert found.stdout == "True\n" and not found.stderr


def test_the_first_call_is_of_the_whole_function(x):
    class Found:
        body, cost = staticmethod(lambda x: x), None

    asked = []
    stripping = stripped.Stripping(Found, lambda: asked.append(1), lambda cost: None)
    stripping(x)
    assert not asked
    stripping(x)
    assert asked

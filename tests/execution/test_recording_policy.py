"""What is not worth recording is computed as it comes, in deferred mode too. See Note [What is worth recording]."""

import os
import random
import sys
import warnings

import jax
import pytest

import tapegrad as torch
from tapegrad._src.execution.data.values import DeferredValue
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.execution.recording import program, recording_policy
from tapegrad._src.execution.tiers.settings import settings
from tapegrad._src.tensor.tensor import value_of

pytestmark = pytest.mark.once("it is deferred here")


@pytest.fixture(autouse=True)
def background(monkeypatch):
    """XLA compiles on a thread of its own, as it does outside tests; nothing is known of this thread's programs."""
    monkeypatch.setattr(settings, "background", True)
    torch.execution.clear_caches()
    program.recording.__init__()
    with torch.deferred():
        yield
    program.recording.__init__()


def is_recorded(tensor):
    return type(value_of(tensor)) is DeferredValue


def loop(x, times):
    """So many times two operators."""
    for _ in range(times):
        x = x * 0.5 + 1
    return x


def wasted_instructions(x):
    """Programs of which no two are alike, as many as it takes."""
    for times in range(1, 40):
        loop(x, times).sum().item()
    assert not is_recorded(x + 1)


def recorded_programs(run):
    """How many programs were recorded."""
    before = torch.execution.stats()
    run()
    after = torch.execution.stats()
    return after.hits + after.misses - before.hits - before.misses


def test_programs_that_never_come_back_are_computed_as_they_come():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert is_recorded(x + 1)
    lengths = random.Random(0).sample(range(1, 200), 150)

    def run():
        for length in lengths:
            loop(x, length).sum().backward()

    assert recorded_programs(run) < 60
    with torch.execution.tiers("xla"):
        y = torch.tensor([1.0, 2.0], requires_grad=True)
        for length in lengths:
            loop(y, length).sum().backward()
    assert torch.allclose(x.grad, y.grad)


def test_what_numpy_computes_sooner_than_it_is_recorded_is_computed_as_it_comes():
    a = torch.tensor(2.0, requires_grad=True)

    def run():
        for start in range(1, 100):
            x = start + 0 * a
            while (x * x - a).abs().item() > 1e-3:
                x = x - (x * x - a) / (2 * x)
            x.backward()

    assert recorded_programs(run) < 100
    assert a.grad.item() / 99 == pytest.approx(0.5 / 2**0.5, rel=1e-3)


def test_a_long_loop_is_not_recorded_whole_before_it_has_come_back():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    length = 2 * recording_policy.APART * recording_policy.WASTED
    assert not is_recorded(loop(x, recording_policy.WASTED))
    found = []
    for _ in range(6):
        y = loop(x, length)
        found.append(is_recorded(y))
        y.sum().backward()
    assert found[0] is False
    assert found[-1] is True


def of_length(length):
    """The gradient of a small function of so many numbers."""
    x = torch.full((length,), 0.5, requires_grad=True)
    ((x * 2).tanh() + x[: length // 2].sum()).sum().backward()
    return x.grad


def test_other_lengths_cost_no_kernels_of_their_own_where_nothing_is_recorded(monkeypatch, cache_limit):
    cache_limit(entries=1 << 20, bytes=1 << 40)
    wasted_instructions(torch.ones(2))
    for length in range(100, 104):
        of_length(length)
    made, make = [], Kernel.__init__

    def counted(self, *args, **given):
        made.append(self)
        make(self, *args, **given)

    monkeypatch.setattr(Kernel, "__init__", counted)
    found = of_length(219)
    assert made == []
    monkeypatch.undo()
    with torch.execution.tiers("xla"):
        assert torch.allclose(found, of_length(219))


def test_lengths_that_never_come_back_are_given_up_soon():
    assert recorded_programs(lambda: [of_length(length) for length in range(100, 180)]) < 12


def test_what_was_planned_where_nothing_was_recorded_is_recorded_later():
    x = torch.ones(7)
    wasted_instructions(x)
    y = torch.ones(9)
    assert not is_recorded(y * 3)
    y.mul_(1.5).mul_(2.0).mul_(0.5)
    program.recording.program.suspended = 0
    assert is_recorded(y * 3)
    assert is_recorded(y.mul_(2.0))
    assert (y * 3).tolist() == [9.0] * 9


@pytest.mark.parametrize("computed", [False, True])
def test_calls_of_very_many_pieces(computed):
    x = torch.arange(600.0).reshape(200, 3).requires_grad_()
    if computed:
        wasted_instructions(torch.ones(2))
    rows = x.unbind()
    assert is_recorded(rows[199]) is not computed
    (torch.stack(rows) * torch.cat([row.sum().reshape(1) for row in rows])[:, None]).sum().backward()
    assert torch.allclose(x.grad, 2 * x.detach().sum(1, keepdim=True).expand(200, 3))


def test_what_comes_back_and_is_long_enough_is_recorded_again():
    x = torch.ones(64, 64, requires_grad=True)
    wasted_instructions(x)
    with torch.no_grad():
        for _ in range(2 * recording_policy.APART * recording_policy.WASTED):
            x + 1
    found = []
    for _ in range(12):
        y = loop(x, 60)
        found.append(is_recorded(y))
        y.sum().backward()
    assert found[-1] is True
    assert program.recording.policy.budget == recording_policy.BUDGET


def test_nothing_is_computed_before_its_time_where_all_is_deterministic():
    x = torch.ones(3)
    torch.use_deterministic_algorithms(True)
    try:
        assert is_recorded(loop(x, 2 * recording_policy.WASTED))
    finally:
        torch.use_deterministic_algorithms(False)


def test_what_was_recorded_and_what_was_not_are_one_graph():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    first = x * x
    wasted_instructions(x)
    assert not is_recorded(first * 3)
    (grad,) = torch.autograd.grad((first * 3).sum(), x, create_graph=True)
    assert grad.tolist() == [6.0, 12.0]
    grad.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_trace_and_a_compiled_step_are_what_they_are():
    x = torch.ones(3)
    wasted_instructions(x)
    traced = jax.jit(lambda array: value_of(torch.interop.from_jax_array(array) * x + 1))
    assert traced(jax.numpy.ones(3)).tolist() == [2.0] * 3
    step = torch.compile(lambda y: (y * x).sum())
    assert [step(torch.full((3,), float(i))).item() for i in range(4)] == [0.0, 3.0, 6.0, 9.0]


def test_errors_are_the_same_ones():
    x = torch.ones(3)
    wasted_instructions(x)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        x[torch.tensor([7])]
    with pytest.raises(RuntimeError, match="size of tensor"):
        x + torch.ones(2)


@pytest.mark.parametrize("computed", [False, True])
def test_calls_of_many_arguments_and_results(computed):
    x = torch.arange(60.0).reshape(20, 3).requires_grad_()
    if computed:
        wasted_instructions(torch.ones(2))
    rows = x.unbind()
    assert is_recorded(rows[19]) is not computed
    torch.stack([row * number for number, row in enumerate(rows)]).sum().backward()
    assert x.grad.tolist() == [[float(number)] * 3 for number in range(20)]


@pytest.mark.skipif(sys.platform != "linux", reason="it forks")
def test_a_forked_process_computes_nothing():
    x = torch.ones(3)
    wasted_instructions(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child:
        try:
            (x + 1).tolist()
        except RuntimeError as error:
            os._exit(0 if "forked" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

"""Compiled steps that XLA compiles in the background, while calls are made at once."""

import gc
import threading
from contextlib import nullcontext

import jax
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.programs import compiled_before, step_executable
from tapegrad._src.execution.programs.step_executable import StepExecutable
from tapegrad._src.execution.programs.subprogram import counters
from tapegrad._src.execution.recording import execution_mode
from tapegrad._src.execution.state.persistent import persistent_cache
from tapegrad._src.execution.tiers.settings import compiler, settings
from tapegrad._src.tape.modes import alone
from tapegrad.compiler.replay.cache_entry import LOOK_AGAIN

pytestmark = pytest.mark.once("it looks at what is made at once, and says where not")


CACHE_DIRECTORY = compiled_before.cache_directory


@pytest.fixture(autouse=True)
def background(monkeypatch):
    """As in a user's process, but that a step is compiled after few calls."""
    monkeypatch.setattr(settings, "background", True)
    monkeypatch.setattr(step_executable, "SECONDS_PER_STEP", 0.002)
    monkeypatch.setattr(step_executable, "SECONDS_PER_INSTRUCTION", 0.0002)
    monkeypatch.setattr(compiled_before, "cache_directory", lambda: None)  # that of the tests is on disk


def training(width=8):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(16, width), torch.randn(16, 1)

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def runs_of(step, calls=400):
    """The losses of calls, and after how many of them the first one was replayed."""
    losses, first = [], None
    for number in range(calls):
        losses.append(step())
        if first is None and step.replayed:
            first = number
    return [loss.item() for loss in losses], first


def test_calls_go_on_at_once_until_the_program_takes_over_and_give_the_same():
    losses, first = runs_of(torch.compile(training()))
    assert 5 < first < 300
    plain = training()
    np.testing.assert_allclose(losses, [plain().item() for _ in range(400)], rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("add", [lambda due: due.compile(), lambda due: None], ids=["at once", "never"])
def test_how_long_the_compiler_takes_changes_nothing(monkeypatch, add):
    runs_of(torch.compile(training()), 20)  # what is imported on the way makes a first call another one
    torch.execution.clear_caches()
    expected = runs_of(torch.compile(training()))
    torch.execution.clear_caches()
    monkeypatch.setattr(compiler, "add", add)
    assert runs_of(torch.compile(training())) == expected


def test_the_step_is_all_that_is_compiled_also_where_its_state_was_of_numpy():
    compiles = []

    def count(event, seconds, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            compiles.append(seconds)

    w = torch.randn(3, 77, requires_grad=True)  # a shape of its own: no other test has compiled a copy of such an array
    x = torch.randn(77, 2)

    @torch.compile
    def step():
        loss = ((w @ x) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.01)
            w.grad = None
        return loss.detach()

    jax.monitoring.register_event_duration_secs_listener(count)
    try:
        runs_of(step)
    finally:
        jax.monitoring.unregister_event_duration_listener(count)
    assert step.replayed > 100
    assert len(compiles) == 1


def test_a_long_program_is_compiled_in_pieces_in_the_background_too(monkeypatch):
    threads = []

    def count(event, seconds, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            threads.append(threading.current_thread().name)

    w = torch.full((5, 5), 0.5)

    @torch.compile
    def step(h):
        for _ in range(600):
            h = torch.tanh(h * w) + h
        return h

    h, plain = torch.full((5, 5), 0.01), step.function
    before, expected = counters.compiled, plain(h)
    jax.monitoring.register_event_duration_secs_listener(count)
    try:
        for _ in range(3):
            step(h)
        assert step.replayed == 0
        assert "compiled in the background, until then at once" in step.report()
        torch.execution.wait_for_compiler()
        found = [step(h) for _ in range(3)]
    finally:
        jax.monitoring.unregister_event_duration_listener(count)
    assert step.replayed == 3
    assert len(threads) == counters.compiled - before > 0
    assert all(torch.allclose(one, expected, rtol=1e-4) for one in found)


def test_wait_for_compiler_has_the_program_take_over_with_the_next_call(monkeypatch):
    monkeypatch.setattr(step_executable, "SECONDS_PER_STEP", 1e6)
    step = torch.compile(training())
    for _ in range(6):
        step()
    assert step.replayed == 0
    assert "compiled in the background, until then at once" in step.report()
    torch.execution.wait_for_compiler()
    for _ in range(3):
        step()
    assert step.replayed >= 2
    assert step.report().endswith("kind 1: replayed")


def test_what_is_in_the_cache_on_disk_takes_over_sooner(monkeypatch, tmp_path):
    for name, value in ("SECONDS_PER_STEP", 0.5), ("SECONDS_TO_LOAD", 0.001), ("SECONDS_TO_LOWER", 0.0001):
        monkeypatch.setattr(step_executable, name, value)
    monkeypatch.setattr(compiled_before, "cache_directory", CACHE_DIRECTORY)

    def calls_until_replayed(directory):
        step = torch.compile(training())
        persistent_cache(directory)
        try:
            for _ in range(3):
                step()
            torch.execution.wait_for_compiler()
        finally:
            persistent_cache(enabled=False)
        return waits.pop()

    waits, later = [], StepExecutable.compile_later
    monkeypatch.setattr(
        StepExecutable, "compile_later", lambda self: (later(self), waits.append(self.calls_left))[0]
    )
    cold, warm, elsewhere = (calls_until_replayed(tmp_path / name) for name in ("a", "a", "b"))
    assert warm < cold / 5 < elsewhere / 4


def test_nothing_is_compiled_for_a_step_that_cannot_be_replayed(monkeypatch):
    compiled, captured, w = counters.compiled, [], torch.ones(3, requires_grad=True)

    @torch.compile
    def step():
        captured.append(torch.compiler.is_compiling())
        (w * 2).sum().backward()
        return w.grad.sum().item() > 7

    for _ in range(40):
        step()
    assert counters.compiled == compiled
    assert captured.count(True) <= 3 and not any(captured[LOOK_AGAIN + 1 :])
    for _ in range(100):
        step()
    assert 1 <= sum(captured[40:]) <= 3  # it is tried anew, seldom


def test_calls_of_which_each_is_another_kind_are_made_at_once():
    captured = []

    @torch.compile
    def step(x, number):
        captured.append(torch.compiler.is_compiling())
        return x * len(str(number))

    for number in range(120):
        assert step(torch.ones(2), number).tolist() == [float(len(str(number)))] * 2
    assert captured.count(True) < 20 and not any(captured[-60:])


def test_a_step_is_compiled_once_whatever_its_first_call_does():
    compiled = counters.compiled
    step = torch.compile(training())  # its first call makes the buffers of momentum
    for _ in range(5):
        step()
    torch.execution.wait_for_compiler()
    for _ in range(5):
        step()
    assert step.replayed >= 3
    assert counters.compiled == compiled + 1


def test_what_fails_to_be_compiled_is_made_at_once(monkeypatch):
    def fail(self):
        raise RuntimeError("no")

    monkeypatch.setattr(StepExecutable, "_compile", fail)
    step, plain = torch.compile(training()), training()
    with pytest.warns(RuntimeWarning, match="a step of .* operations could not be compiled"):
        losses, first = runs_of(step)
    assert first is None
    assert losses == [plain().item() for _ in range(400)]


def test_fullgraph_goes_on_to_refuse():
    step = torch.compile(lambda x: x.sum().item(), fullgraph=True)
    for _ in range(6):
        with pytest.raises(RuntimeError, match="reads the elements of a tensor"):
            step(torch.ones(3))


def doubled(x, times=60):
    for _ in range(times):
        x = -x
    return (x * 2).sum()


def test_kinds_of_calls_wait_each_by_itself(monkeypatch):
    step, found = torch.compile(doubled), []
    for length in (3, 5) * 400:
        found.append(step(torch.ones(length)).item())
    assert found == [6.0, 10.0] * 400
    assert step.report().count(": replayed") == 2


def test_what_takes_less_time_at_once_than_a_program_stays_at_once():
    step = torch.compile(doubled)
    assert [step(torch.ones(3), 1).item() for _ in range(400)] == [-6.0] * 400
    assert step.replayed == 0 and "calls at once take no longer" in step.report()


@pytest.mark.parametrize("made", [lambda: doubled, lambda: torch.nn.Linear(2, 2)], ids=["function", "module"])
def test_what_must_be_one_graph_is_a_program_however_small(made):
    step = torch.compile(made(), fullgraph=True)
    for _ in range(8):
        step(torch.ones(2))
    torch.execution.wait_for_compiler()
    step(torch.ones(2))
    assert ": replayed" in step.report()


def test_small_steps_are_replayed_after_about_the_time_that_compiling_them_takes(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(settings, "background", True)
    monkeypatch.setattr(compiled_before, "cache_directory", lambda: None)
    step = torch.compile(training())
    for _ in range(4):
        step()
    (calls,) = (int(line.split()[-2]) for line in step.report().splitlines() if "until then at once" in line)
    assert 300 < calls < 3000  # of a quarter of a millisecond each


def test_the_compilers_thread_counts_as_no_user():
    step = torch.compile(training())
    for _ in range(4):
        step()
    torch.execution.wait_for_compiler()
    compiler.wait()
    assert any(one.name == "tapegrad-compiler" for one in threading.enumerate())
    assert alone()


@pytest.mark.parametrize("fails", [False, True])
def test_a_captured_call_does_not_wait_for_collections_of_garbage(fails):
    thresholds, before = [], gc.get_threshold()

    @torch.compile
    def step(x):
        thresholds.append(gc.get_threshold()[0])
        if fails:
            raise KeyError
        return x * 2

    with pytest.raises(KeyError) if fails else nullcontext():
        step(torch.ones(3))
    assert thresholds == [execution_mode.MANY]
    assert gc.get_threshold() == before

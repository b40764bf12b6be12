"""Ctrl-C at any time: nothing is lost, and what there was before and after it goes on.

Python raises an interrupt between two instructions of the main thread. Here a timer sends them, at instants that a seed
chooses, to loops that compute; what was half done in JAX's Python or in a finalizer is let be.
"""

import gc
import random
import signal
import sys
from itertools import count

import numpy as np
import pytest
from instants import at_each_instant

import tapegrad as torch
from tapegrad._src.execution.array_functions import updates
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.modes import thread
from tapegrad.autograd.differentiate import engine
from tapegrad.ops.operator import forget_plans

ROUNDS = 40
OURS = ("/tapegrad/", "<written function>", __file__)

pytestmark = pytest.mark.once("each test says how operators are computed")


@pytest.fixture
def interrupted(monkeypatch):
    """``interrupted(work, within)`` calls ``work()`` until an interrupt comes, after less than ``within`` seconds."""
    chance = random.Random(0)

    def interrupt(signum, frame):
        code = frame.f_code
        if code is not interrupt.__code__ and any(ours in code.co_filename for ours in OURS):
            raise KeyboardInterrupt
        signal.setitimer(signal.ITIMER_REAL, 1e-4, 0.05)

    def run(work, within):
        with pytest.raises(KeyboardInterrupt):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + within * chance.random(), 0.05)
                while True:
                    work()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)

    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)  # it came in a finalizer: another one will
    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()
    yield run
    torch.set_execution("immediate")
    gc.enable()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("how", ["immediate", "deferred"])
def test_what_was_computed_before_and_after_is_right(interrupted, how):
    torch.set_execution(how)
    for _ in range(4 * ROUNDS):
        numbers = [torch.tensor(0)]

        def count():
            numbers.append(numbers[-1] + 1)  # noqa: B023 - it is called in this round
            if len(numbers) > 200:  # noqa: B023
                del numbers[1:]  # noqa: B023

        interrupted(count, within=0.002)
        count()
        assert [number.item() for number in numbers[-5:]] == list(range(len(numbers)))[-5:]


@pytest.mark.parametrize("how", ["immediate", "deferred"])
def test_modes_are_what_they_were_when_a_backward_call_is_interrupted(interrupted, how):
    torch.set_execution(how)
    x = torch.ones(2, requires_grad=True)

    def pass_through():
        torch.autograd.grad((x * 2).sum(), x)

    for _ in range(4 * ROUNDS):
        interrupted(pass_through, within=0.002)
        assert torch.is_grad_enabled() and engine.current_task is None


def step_of(count, large):
    """Something that adds 1 to all elements of two tensors, in place, and takes its time."""

    def step():
        count.add_(1)
        large.add_(1 + 0 * (large @ large).tanh())

    return step


def counted(count, large):
    """What both tensors have been counted up to."""
    number = count.item()
    np.testing.assert_array_equal(large.numpy(), np.full(large.shape, number, "float32"))
    return number


def test_a_compiled_step_is_made_or_not(interrupted):
    count, large = torch.zeros(()), torch.zeros(256, 256)
    step = torch.compile(step_of(count, large))
    for _ in range(3):
        step()
    for _ in range(ROUNDS):
        interrupted(step, within=0.02)
        before = counted(count, large)
        step()
        assert counted(count, large) == before + 1


def test_while_a_step_is_compiled_nothing_is_lost(interrupted):
    for _ in range(ROUNDS // 2):
        count, large = torch.zeros(()), torch.zeros(64, 64)
        step = torch.compile(step_of(count, large))
        interrupted(step, within=0.2)
        if count.item() != large[0, 0].item():  # it came between the two, when Python was run
            large.add_(1)
        before = counted(count, large)
        for _ in range(3):
            step()
        assert counted(count, large) == before + 3


def test_a_grad_is_there_whatever_is_added_to_it(interrupted):
    x = torch.ones(1 << 20, requires_grad=True)
    for _ in range(ROUNDS):
        x.grad = None
        interrupted(lambda: (x * 2).sum().backward(), within=0.03)
        if x.grad is not None:
            first, *others = np.unique(x.grad.numpy())
            assert first % 2 == 0 and not others


def test_a_memory_is_there_whatever_part_of_it_is_written(interrupted):
    rows = torch.zeros(8, 1 << 17)
    written = 0

    def write():
        nonlocal written
        rows[written % 8] = float(written)
        rows[written % 8].add_(8.0)
        written += 1

    for _ in range(8):
        write()
    for _ in range(ROUNDS):
        interrupted(write, within=0.01)
        found = rows.numpy()
        assert (found == found[:, :1]).all() and (found[:, 0] % 8 == np.arange(8)).all()


# -- at each instant ---------------------------------------------------------------------------------------------------


@pytest.fixture
def at_each(monkeypatch):
    """``at_each_instant``, in the mode that a test has chosen; afterwards the thread is as it was."""

    def run(make, **choice):
        modes = thread.modes

        def made():
            work, check = make()

            def checked():
                assert engine.current_task is None and capturing.by is None and not thread.result_watchers
                assert thread.modes is modes
                check()

            return work, checked

        return at_each_instant(made, **choice)

    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    gc.disable()
    yield run
    gc.enable()
    torch.set_execution("immediate")


@pytest.mark.parametrize("how", ["immediate", "deferred"])
def test_a_fresh_parameter_is_trained_or_not(at_each, how):
    torch.set_execution(how)

    def make():
        w = torch.tensor([1.0, 2.0], requires_grad=True)

        def work():
            (w * w).sum().backward()
            with torch.no_grad():
                w.sub_(w.grad, alpha=0.25)

        def check():
            assert w.tolist() in ([1.0, 2.0], [0.5, 1.0])
            assert w.grad is None or w.grad.tolist() == [2.0, 4.0]
            w.grad = None
            for number in (2.0, 3.0):
                with torch.no_grad():
                    w.fill_(number)
            (w * w).sum().backward()
            assert (w.tolist(), w.grad.tolist()) == ([3.0, 3.0], [6.0, 6.0])

        return work, check

    assert at_each(make, every=5) > 30


@pytest.mark.parametrize("how", ["immediate", "deferred"])
def test_all_who_show_a_memory_see_what_is_written_to_it(at_each, how):
    """Also if the interrupt came when they were to be told, for the first time, that it is written to."""
    torch.set_execution(how)

    def make():
        base = torch.zeros(4) + 1
        shown = [base]

        def work():
            shown.append(base[1:3])
            shown.append(base.detach())
            shown[1].add_(1)
            shown.append(base.view(2, 2))
            shown[2][0] = 7.0

        def check():
            assert base.tolist() in ([1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 2.0, 1.0], [7.0, 2.0, 2.0, 1.0])
            base.mul_(2)
            numbers = base.tolist()
            parts = [numbers, numbers[1:3], numbers, [numbers[:2], numbers[2:]]]
            assert [tensor.tolist() for tensor in shown] == parts[: len(shown)]

        return work, check

    assert at_each(make, every=3) > 60


def test_a_write_that_was_made_is_counted(at_each):
    """Or else backward would compute with what was saved before, and is not that any more."""

    def make():
        base = torch.tensor([2.0, 3.0])
        base.add_(1)
        before = base._version

        def check():
            assert (base.tolist() == [3.0, 4.0]) == (base._version == before)

        return (lambda: base.mul_(2)), check

    assert at_each(make) > 10


@pytest.mark.parametrize(("sizes", "before"), [((2, 3), 0), ((2, 3), 2), ((2, 5000), 2)], ids=["first", "row", "alone"])
def test_parameters_are_updated_or_not(at_each, sizes, before):
    """Each as a whole, and counted if it is; and the next step begins from what is there."""

    def make():
        parameters = [torch.full((size,), 8.0, requires_grad=True) for size in sizes]
        optimizer = torch.optim.SGD(parameters, lr=0.5, momentum=0.5)

        def prepare():
            for p in parameters:
                p.grad = torch.ones(p.shape)

        for _ in range(before):
            prepare()
            optimizer.step()
        prepare()
        found = [(p[0].item(), p._version) for p in parameters]

        def check():
            for p, (number, version) in zip(parameters, found, strict=True):
                assert (p == p[0]).all() and version <= p._version <= version + 1
                assert p[0].item() == number or p._version > version
            numbers = [p[0].item() for p in parameters]
            prepare()
            optimizer.step()
            assert all((p < number).all() for p, number in zip(parameters, numbers, strict=True))

        return optimizer.step, check

    assert at_each(make, every=7) > 30


def test_a_kernel_whose_first_call_is_interrupted_is_run(at_each):
    x = torch.linspace(0, 1, 7)

    def make():
        forget_plans()

        def check():
            assert torch.allclose((x * 3).cos(), torch.cos(3 * x)) and x.tolist()[-1] == 1

        return (lambda: (x * 3).cos()), check

    assert at_each(make, within=("first", "_take", "_decided")) > 5


@pytest.mark.parametrize("sizes", [(140_000, 2), (300_000, 1 << 21)], ids=["one thread", "several"])
def test_large_parameters_are_updated_as_a_whole(monkeypatch, sizes):
    """An interrupt that comes while one of their strips is computed waits for the others."""
    descend, numbers = updates.IN_PLACE[updates.descent], count()

    def interrupted(*args):
        if next(numbers) == 0:
            signal.raise_signal(signal.SIGINT)
        descend(*args)

    monkeypatch.setitem(updates.IN_PLACE, updates.descent, interrupted)
    parameters, given = [np.full(size, 8, "float32") for size in sizes], (updates.descent, (False, False), (0.0, -0.5))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            updates.run_in_place([updates.PlacedUpdate(*given, [p], np.ones_like(p)) for p in parameters])
        assert next(numbers) > 2 and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert all((p == 7.5).all() for p in parameters)


STEP = ("_record", "captured", "call", "_account", "run_captured", "_use_up", "run", "settle_captured", "call_into")


@pytest.mark.parametrize("before", [0, 1], ids=["first", "second"])
def test_a_step_that_is_being_captured_leaves_what_python_has_done(at_each, before):
    """Nothing is captured for ever; and what was computed is there, whether its program has been run or not."""

    def make():
        w, count, one = torch.ones(2, requires_grad=True), torch.zeros(()), torch.ones(2)

        @torch.compile
        def step(x):
            w.grad = None
            (w * x).sum().backward()
            with torch.no_grad():
                w.add_(w.grad)
                count.add_(1)

        for _ in range(before):
            step(one)

        def check():
            made, counted = w.tolist()[0] - 1, count.item()
            assert {made, counted} <= {before, before + 1.0}
            for _ in range(2):
                step(one)
            assert (w.tolist(), count.item()) == ([made + 3, made + 3], counted + 2)

        return (lambda: step(one)), check

    assert at_each(make, within=STEP, every=2) > 20

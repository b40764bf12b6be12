"""Ctrl-C at any time: nothing is lost, and what there was before and after it goes on.

Python raises an interrupt between two instructions of the main thread. Here a timer sends them, at instants that a seed
chooses, to loops that compute; what was half done in JAX's Python or in a finalizer is let be.
"""

import gc
import random
import signal
import sys

import numpy as np
import pytest

import tapegrad as torch
from tapegrad.autograd.differentiate import engine

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

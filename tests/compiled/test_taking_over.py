"""A program that takes over from calls at once: what it writes over is not there twice."""

import gc
import tracemalloc

import pytest

import tapegrad as torch
from tapegrad._src.execution.data import allocating
from tapegrad._src.execution.programs import step_executable
from tapegrad._src.execution.tiers import settings

SIZE = 1 << 18


@pytest.fixture
def during(monkeypatch):
    """The memory of NumPy's arrays, in bytes, whenever a program of XLA's begins, which compiles in the background."""
    monkeypatch.setattr(settings.settings, "background", True)
    found, call_into = [], step_executable.call_into

    def watched(*arguments):
        found.append(tracemalloc.get_traced_memory()[0])
        call_into(*arguments)

    monkeypatch.setattr(step_executable, "call_into", watched)
    tracemalloc.start()
    yield found
    tracemalloc.stop()


def stepping(*tensors):
    @torch.compile
    def step():
        for tensor in tensors:
            tensor.mul_(0.5).add_(1.0)
        return sum(tensor.sum() for tensor in tensors)

    for _ in range(3):
        step()
    torch.execution.wait_for_compiler()
    return step


def test_state_is_not_there_twice(during):
    tensors = [torch.ones(SIZE) for _ in range(4)]
    step = stepping(*tensors)
    before = tracemalloc.get_traced_memory()[0]
    found = step().item()
    # the last one is freed by the call, and a thread of XLA's lets go of the one before when it has been copied
    assert len(during) == 1 and before - during[0] > SIZE * 4
    assert found == sum(tensor.sum() for tensor in tensors).item()


def test_memory_is_given_back_before_a_large_program_runs_for_the_first_time(during, monkeypatch):
    given_back = []
    monkeypatch.setattr(allocating, "_trim", lambda: given_back.append(len(during)))
    step = stepping(*[torch.ones(SIZE) for _ in range(10)])
    for _ in range(3):
        step()
    assert given_back == [0] and len(during) == 3
    with torch.execution.without("giving back"):
        step = stepping(*[torch.ones(SIZE) for _ in range(10)])
        step()
    stepping(torch.ones(SIZE))()
    assert given_back == [0]


def test_state_that_others_hold_is_left_to_them(during):
    tensor = torch.ones(SIZE)
    step = stepping(tensor)
    held = tensor.numpy()
    before = held.copy()
    step()
    assert (held == before * 0.5 + 1).all()  # NumPy sees what the tensor has
    other = tensor.detach()
    step()
    assert (other == tensor).all().item()


def test_memory_is_given_back_after_steps_and_seldom(monkeypatch):
    given_back = []
    monkeypatch.setattr(allocating, "_trim", lambda: given_back.append(1))
    monkeypatch.setattr(allocating.giving_back, "due", 0.0)
    monkeypatch.setattr(allocating, "SHARE", 1e-9)
    x = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([x])
    with torch.execution.without("giving back"):
        x.sum().backward()
        optimizer.step()
    assert not given_back
    for _ in range(3):
        optimizer.step()
    assert given_back == [1]


def test_what_a_captured_call_had_is_gone_with_it(during):
    tensors = [torch.ones(SIZE) for _ in range(16)]

    @torch.compile
    def step():
        for tensor in tensors:
            tensor.mul_(0.5)
        return tensors[0].sum()

    found = []
    gc.disable()
    try:
        for _ in range(3):
            step()
            found.append(tracemalloc.get_traced_memory()[0])
    finally:
        gc.enable()
    assert found[1] - found[0] < 8 * SIZE * 4 and found[2] - found[1] < 8 * SIZE * 4

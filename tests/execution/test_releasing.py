"""Programs that run let go of what nobody reads any more, and lose nothing when they are interrupted."""

import tracemalloc

import pytest

import tapegrad as torch
from tapegrad._src.execution.recording.recorded_call import Call

SIZE, LENGTH = 1 << 19, 40
MIB = SIZE * 4 / 2**20


def chain(x, length=LENGTH):
    for _ in range(length):
        x = (x + 1).cos()
    return x


@pytest.fixture(autouse=True)
def one_thread():
    """Threads that help have arrays of their own, and how many at a time is chance."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def peak(function):
    """The most memory that arrays of NumPy's take while a function runs, in arrays of ``SIZE`` floats."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1] / 2**20 / MIB
    finally:
        tracemalloc.stop()


def test_a_program_takes_no_more_memory_than_calls_at_once():
    def run():
        with torch.deferred(), torch.execution.tiers("host"):
            chain(torch.ones(SIZE)).sum().item()

    with torch.execution.without("recording policy"):
        assert peak(run) < 6
        with torch.execution.without("releasing"):
            assert peak(run) > LENGTH


def test_an_input_is_let_go_of_by_its_last_reader():
    def run():
        with torch.deferred(), torch.execution.tiers("host"):
            x = torch.ones(8 * SIZE)
            x.add_(1)
            x.sum().item()
            for _ in range(3):
                x.add_(1)  # what it was is read for the last time
            x = chain(x[:8])
            x.sum().item()

    run()
    with torch.execution.without("recording policy"):
        assert peak(run) < 3 * 8


@pytest.mark.parametrize("stop", [1, 2, 30, 2 * LENGTH])  # a program each, which has not come before
def test_an_interrupted_run_loses_nothing(stop, monkeypatch):
    with torch.deferred(), torch.execution.tiers("host"):
        x = torch.linspace(0, 1, SIZE)
        middle = chain(x, stop)
        end = chain(middle)
        del x  # the program alone has it
        run, calls = Call.run, []

        def interrupted(call, *arrays):
            calls.append(call)
            if len(calls) == stop:
                raise KeyboardInterrupt
            return run(call, *arrays)

        monkeypatch.setattr(Call, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            end.sum().item()
        monkeypatch.undo()
        found = [end.sum().item(), middle.sum().item()]
    x = torch.linspace(0, 1, SIZE)
    assert found == [chain(chain(x, stop)).sum().item(), chain(x, stop).sum().item()]

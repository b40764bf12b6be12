"""Progress: shown where somebody looks and waits, and nowhere else."""

import io
import os
import sys
import threading
from contextlib import contextmanager, redirect_stderr

import pytest

import tapegrad as torch
from tapegrad._src import progress

pytestmark = pytest.mark.once("what is shown doesn't depend on it")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "MOMENT", 0.0)
    monkeypatch.setattr(progress, "REFRESH", 0.001)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)


@contextmanager
def looking():
    """Somebody looks, and is shown all at once."""
    with redirect_stderr(Terminal()) as terminal:
        yield terminal


def cube(x):
    return x**3


def test_who_waits_is_told_of_what():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    with looking() as terminal:
        torch.autograd.gradcheck(cube, x, check_forward_ad=True)
    for what in ("differences", "gradients", "tangents"):
        assert f"gradcheck: {what}" in terminal.getvalue()
    with looking() as terminal:
        torch.autograd.functional.jacobian(cube, x)
    assert "Jacobian" in terminal.getvalue() and "/2" in terminal.getvalue()
    with looking() as terminal:  # one call of the function, for which nobody waits
        torch.autograd.functional.jacobian(cube, x, strategy="forward-mode", vectorize=True)
    assert "Jacobian" not in terminal.getvalue()


def test_compiling(monkeypatch):
    """The compiler is waited for until the bar has been seen."""
    shown, leave = threading.Event(), progress.waiting.__exit__

    def seen(self, *args, **kwargs):
        shown.set()
        return refresh(self, *args, **kwargs)

    def left(self, *exception):
        shown.wait(30)
        leave(self, *exception)

    monkeypatch.setattr(progress.waiting, "__exit__", left)
    step = torch.compile(lambda x: x * 2 + 1)
    with looking() as terminal:
        refresh = progress.bars().refresh
        monkeypatch.setattr(progress.bars(), "refresh", seen)
        for _ in range(3):
            step(torch.ones(3))
    assert "compiling a step of 2 operations" in terminal.getvalue()


def test_nobody_looks(monkeypatch):
    items, seen = [1, 2], []
    assert progress.progress(items, "counting") is items
    with looking():
        assert progress.progress(items, "counting") is not items
        thread = threading.Thread(target=lambda: seen.append(progress.bars()))
        thread.start()
        thread.join()
        assert seen == [None]
        monkeypatch.setenv("TQDM_DISABLE", "1")
        assert progress.progress(items, "counting") is items
        monkeypatch.delenv("TQDM_DISABLE")
        monkeypatch.setattr(progress, "find_spec", lambda name: None)
        assert progress.progress(items, "counting") is items


@pytest.mark.parametrize(
    ("columns", "lines", "found"), [(0, 0, (79, 23)), (0, 30, (79, 29)), (60, 0, (59, 23)), (60, 30, None)]
)
def test_terminals_without_a_size(columns, lines, found):
    """tqdm would show nothing on them, or cut off what stands last."""
    from termios import tcsetwinsize

    looked_at, written_to = os.openpty()
    tcsetwinsize(written_to, (lines, columns))
    with os.fdopen(looked_at, "rb"), os.fdopen(written_to, "w") as terminal, redirect_stderr(terminal):
        size = progress.assumed_size()
        shown = progress.progress(range(3), "counting")
        assert (shown.ncols, shown.nrows) == (found or (59, 29))
        shown.close()
    assert size == ({} if found is None else {"ncols": found[0], "nrows": found[1]})


def test_there_is_no_standard_error():
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        with redirect_stderr(stream):
            assert progress.bars() is None and progress.assumed_size() == {}


def test_notebooks(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel.zmqshell", sys)
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    assert not progress.in_notebook()
    monkeypatch.setattr(progress, "find_spec", lambda name: sys)
    assert progress.in_notebook() and progress.bars().__module__ == "tqdm.notebook"


def test_what_is_quick_shows_nothing(monkeypatch):
    monkeypatch.setattr(progress, "MOMENT", 60.0)
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    with looking() as terminal, progress.waiting("nothing much"):
        torch.autograd.gradcheck(cube, x)
    assert terminal.getvalue() == ""


def test_an_error_passes():
    with looking(), pytest.raises(ZeroDivisionError):
        with progress.waiting("failing"):
            raise ZeroDivisionError
    assert not [thread for thread in threading.enumerate() if thread.name == "tapegrad-progress"]

"""Writes to a part of a large memory don't copy it, as long as nobody could tell: Note [Memory that is reused]."""

import threading

import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.array_functions.host import address
from tapegrad._src.tensor import tensor as tensors
from tapegrad._src.tensor.tensor import WORTH_REUSING, value_of
from tapegrad.autograd.graph import allow_mutation_on_saved_tensors, saved_tensors_survive_mutation

pytestmark = pytest.mark.once("only writes that are made at once can reuse memory")

ROWS, COLUMNS = 64, WORTH_REUSING // 4 // 64


@pytest.fixture(autouse=True, params=["auto", "xla"])
def tier(request):
    """By NumPy and by XLA memory is reused in different ways."""
    with torch.execution.tiers(request.param):
        yield request.param


def memory():
    """A large memory that has been written to, so that its present value is nobody else's."""
    x = torch.zeros(ROWS, COLUMNS)
    x[0] = 1.0
    x[1] = 1.0
    return x


def one_row(x):
    x[2] = 5.0


def another_tensor(x):
    x[2] = torch.full((COLUMNS,), 5.0)


def through_a_view(x):
    x[2].add_(5.0)


def a_column(x):
    x[:, 2] = 5.0


def half(x):
    x[: ROWS // 2, ::2].mul_(3.0)


WRITES = [one_row, another_tensor, through_a_view, a_column, half]


def where(x):
    """Where the value lies in fact."""
    value = value_of(x)
    return value.ctypes.data if isinstance(value, np.ndarray) else address(value)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_the_value_stays_where_it_is(write):
    x = memory()
    small = torch.tensor(x.tolist())
    before = where(x)
    write(x)
    assert where(x) == before
    write(small)
    np.testing.assert_array_equal(x.numpy(), small.numpy())


def test_a_small_value_of_numpy_s_stays_where_it_is(tier):
    x = torch.zeros(4, 4)
    x[0] = 1.0
    kept, before = x.clone(), where(x)
    x[1:, ::2] = torch.full((3, 2), 2.0)
    x[3, 3] = 4
    x[2].add_(1.0)
    if tier == "auto":
        assert where(x) == before
    assert x.tolist() == [[1, 1, 1, 1], [2, 0, 2, 0], [3, 1, 3, 1], [2, 0, 2, 4]] and kept.sum() == 4
    assert x._version == 4


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_an_array_that_was_given_away_stays_as_it_was(write):
    """XLA knows of NumPy arrays that look into a buffer, and copies it then."""
    x = memory()
    given = np.asarray(value_of(x))
    assert given.ctypes.data == where(x)
    before = given.copy()
    write(x)
    np.testing.assert_array_equal(given, before)
    assert not np.array_equal(x.numpy(), before)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_a_value_that_somebody_holds_stays_as_it_was(write):
    x = memory()
    held = value_of(x)
    before = np.array(held)
    write(x)
    np.testing.assert_array_equal(np.asarray(held), before)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_what_is_saved_for_backward_stays_as_it_was(write):
    x = memory()
    x[3] = 2.0
    w = torch.ones(ROWS, COLUMNS, requires_grad=True)
    with saved_tensors_survive_mutation():
        out = (w * x).sum()
    expected = x.clone()
    write(x)
    out.backward()
    np.testing.assert_array_equal(w.grad.numpy(), expected.numpy())


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_mutation_of_saved_tensors(write):
    x = memory()
    w = torch.ones(ROWS, COLUMNS, requires_grad=True)
    with allow_mutation_on_saved_tensors():
        out = (w * x).sum()
        expected = x.clone()
        write(x)
        write(x)
        out.backward()
    np.testing.assert_array_equal(w.grad.numpy(), expected.numpy())


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_recorded_writes(write):
    w = torch.ones(COLUMNS, requires_grad=True)
    x = memory()
    for row in range(4, 8):
        x[row] = w * row
    before = where(x)
    write(x)
    assert x.grad_fn.name() == "torch::autograd::CopySlices"
    x.sum().backward()
    after = where(x)  # before NumPy sees it, which may move it
    small, v = torch.zeros(ROWS, COLUMNS), torch.ones(COLUMNS, requires_grad=True)
    small[:2] = 1.0
    for row in range(4, 8):
        small[row] = v * row
    write(small)
    small.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), v.grad.numpy())
    np.testing.assert_array_equal(x.detach().numpy(), small.detach().numpy())
    assert after == before


def test_while_other_threads_use_tensors_it_is_copied():
    x = memory()
    x[3] = 0.0
    before, ready, over = where(x), threading.Event(), threading.Event()

    def wait():
        x.sum()
        ready.set()
        over.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    ready.wait()
    try:
        x[2] = 5.0
        assert where(x) != before
    finally:
        over.set()
        thread.join()
    x[2] = 6.0
    before = where(x)
    x[2] = 7.0
    assert where(x) == before


def test_a_small_memory_is_copied():
    x = torch.zeros(4, 4)
    for row in range(3):
        x[row] = 1.0
    before = where(x)
    held = x._storage.value
    x[3] = 1.0
    assert where(x) != before and np.asarray(held)[3].tolist() == [0, 0, 0, 0]


def test_a_failing_write_leaves_it(monkeypatch):
    x = memory()
    expected = x.numpy()
    with pytest.raises(RuntimeError, match="expand"):
        x[2] = torch.ones(3)
    monkeypatch.setattr(tensors, "WORTH_REUSING", 0)
    with pytest.raises(IndexError):
        x[ROWS] = 1.0
    np.testing.assert_array_equal(x.numpy(), expected)

"""Gradients that are added up where one of them lies, and that nobody can tell: Note [Sums in place]."""

import threading
import weakref

import jax
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.array_functions import sums
from tapegrad._src.tape.hooks import NodeHooks
from tapegrad._src.tensor.tensor import describe, value_of, wrap
from tapegrad.autograd.function_node import FunctionBase
from tapegrad.autograd.gradient_types import Values

pytestmark = pytest.mark.once("only sums that are made at once can reuse memory")

SIZE = sums.WORTH_DONATING // 4


@pytest.fixture(params=["xla", "host"])
def donated(monkeypatch, request):
    """What was given away, to XLA or to NumPy: copies of the arrays, taken before."""
    given, kernel, in_place = [], sums._into.of(np.ones(SIZE, np.float32)), sums.add_in_place
    into = kernel.function

    def watched_host(left, right):
        given.append(np.array(left))
        return in_place(left, right)

    def watched(left, right):
        given.append(np.array(left))
        result = into(left, right)
        assert left.is_deleted()
        return result

    monkeypatch.setattr(kernel._jitted, "_function", watched)
    monkeypatch.setattr(kernel, "run", watched)
    monkeypatch.setattr(sums._into, "of", lambda left: kernel)
    monkeypatch.setattr(sums, "add_in_place", watched_host)
    with torch.execution.tiers(request.param):
        yield given


def leaf(size=SIZE):
    return torch.ones(size, requires_grad=True)


def times(x, *factors):
    """A tensor whose gradient comes back once for each factor."""
    return sum(((x * factor) for factor in factors[1:]), x * factors[0])


def place(value):
    """Where an array lies."""
    return value.ctypes.data if isinstance(value, np.ndarray) else value.unsafe_buffer_pointer()


def accumulate(x, count):
    for _ in range(count):
        (x * 2.0).sum().backward()


# -- sums in a buffer --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("uses", "given_away"), [(2, 0), (3, 1), (5, 3)])
def test_only_sums_that_the_engine_has_made_are_given_away(donated, uses, given_away):
    x = leaf()
    y = x.exp()
    times(y, *range(1, uses + 1)).sum().backward()
    assert len(donated) == given_away
    expected = np.exp(1, dtype="float32") * sum(range(1, uses + 1))
    np.testing.assert_allclose(x.grad.numpy(), np.full(SIZE, expected), rtol=1e-6)


def test_small_sums_are_worth_it_for_numpy_alone(donated, request):
    x = leaf(4)
    times(x, 1, 2, 3, 4).sum().backward()
    assert len(donated) == (2 if request.node.callspec.params["donated"] == "host" else 0)
    assert x.grad.tolist() == [10] * 4


def test_what_hooks_saw_stays_as_it_was(donated):
    x, seen = leaf(), []
    y = x * 1.0
    parts = [y * factor for factor in (1.0, 2.0, 3.0, 4.0)]
    for part in parts:
        part.register_hook(seen.append)
        part.grad_fn.register_hook(lambda grads, given: seen.extend(grad for grad in grads if grad is not None))
    y.register_hook(seen.append)
    y.retain_grad()
    sum(part.sum() for part in parts).backward()
    assert len(donated) == 2
    assert sorted(float(grad[0]) for grad in seen) == [1, 1, 1, 1, 1, 2, 3, 4, 10]
    assert float(y.grad[0]) == float(x.grad[-1]) == 10


def test_what_a_custom_function_keeps_stays_as_it_was(donated):
    kept = torch.full((SIZE,), 2.0)

    class Doubling(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return kept

    x = leaf()
    y = x * 1.0
    sum(Doubling.apply(y).sum() for _ in range(4)).backward()
    assert len(donated) == 2
    assert (float(x.grad[0]), kept[0].item(), kept[-1].item()) == (8, 2, 2)


def test_what_is_captured_stays_as_it_was(donated):
    x = leaf()
    y, z = x * 1.0, x * 2.0
    out = times(y, 1.0, 2.0, 3.0) + times(z, 1.0, 2.0, 3.0)
    first = torch.autograd.grad(out.sum(), (x, y, z), retain_graph=True)
    second = torch.autograd.grad(out.sum(), (x, y, z))
    assert len(donated) == 4
    assert [float(grad[0]) for grad in (*first, *second)] == [18, 6, 6] * 2


def test_sums_that_are_recorded_are_never_given_away(donated):
    x = leaf()
    (grad,) = torch.autograd.grad(times(x, 1.0, 2.0, 3.0, 4.0).sum(), x, create_graph=True)
    assert not donated
    assert float(grad[0]) == 10


def test_a_trace_keeps_its_values(donated):
    def gradient(array):
        x = wrap(array, describe(array)).requires_grad_()
        times(x, 1.0, 2.0, 3.0).sum().backward()
        return value_of(x.grad)

    assert float(jax.jit(gradient)(np.ones(SIZE, "float32"))[0]) == 6
    if torch.execution.tiers() == "xla":  # by NumPy what no tracer has a part in is computed, not traced
        assert not donated


# -- .grad -------------------------------------------------------------------------------------------------------------


def test_from_the_second_addition_on_grad_stays_where_it_is(donated):
    x = leaf()
    accumulate(x, 2)
    before = place(value_of(x.grad))
    accumulate(x, 3)
    assert place(value_of(x.grad)) == before
    assert len(donated) == 3
    assert x.grad._version == 4
    assert float(x.grad[0]) == 10


def holding_the_array(x):
    held = value_of(x.grad)
    return lambda: held


def holding_numbers(x):
    held = np.array(x.grad)
    return lambda: held


def holding_a_copy(x):
    held = x.grad.clone()
    return held.numpy


def holding_a_product_that_saved_it(x):
    w = torch.ones(SIZE, requires_grad=True)
    with torch.autograd.graph.saved_tensors_survive_mutation():
        out = (w * x.grad).sum()

    def read():
        out.backward()
        return w.grad.numpy()

    return read


@pytest.mark.parametrize(
    "hold",
    [holding_the_array, holding_numbers, holding_a_copy, holding_a_product_that_saved_it],
    ids=lambda hold: hold.__name__,
)
def test_what_somebody_holds_of_a_grad_stays_as_it_was(hold):
    x = leaf()
    accumulate(x, 3)
    read = hold(x)
    accumulate(x, 2)
    np.testing.assert_array_equal(np.asarray(read()), np.full(SIZE, 6.0))
    assert float(x.grad[0]) == 10


def test_numpy_sees_the_sum():
    x = leaf()
    accumulate(x, 3)
    seen = x.grad.numpy()
    accumulate(x, 2)
    np.testing.assert_array_equal(seen, np.full(SIZE, 10.0))


def test_views_and_handles_see_the_sum(donated):
    x = leaf()
    accumulate(x, 2)
    alias, part, data = x.grad.detach(), x.grad[2:4], x.grad.data
    accumulate(x, 2)
    assert len(donated) > 0
    assert (float(alias[0]), part.tolist(), float(data[-1])) == (8, [8, 8], 8)


def test_a_grad_that_the_user_has_set_is_not_given_away(donated):
    numbers = np.full(SIZE, 5.0, "float32")
    x = leaf()
    x.grad = torch.from_numpy(numbers)
    accumulate(x, 1)
    assert not donated
    accumulate(x, 2)
    assert float(x.grad[0]) == 11


def test_while_another_thread_may_read_nothing_is_given_away(donated):
    x = leaf()
    accumulate(x, 2)
    begun, over = threading.Event(), threading.Event()

    def other():
        torch.ones(1)
        begun.set()
        over.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    begun.wait(10)
    accumulate(x, 2)
    over.set()
    thread.join()
    assert not donated
    assert float(x.grad[0]) == 8


# -- what is kept alive ------------------------------------------------------------------------------------------------


def test_gradients_and_saved_values_die_as_backward_proceeds(monkeypatch):
    """While a node runs, there are of all gradients the seed and its own; what was saved for nodes before is gone."""
    run, made, alive, left = Values.run, [], [], []

    def watched(node, grads, needed):
        alive.append(sum(reference() is not None for reference in made))
        left.append(sum(reference() is not None for reference in saved))
        results = run(node, grads, needed)
        made.extend(weakref.ref(grad) for grad in results if grad is not None)
        return results

    x = leaf(3)
    y, saved = x, []
    for _ in range(4):
        y = y.exp()  # saves what it gives
        saved.append(weakref.ref(value_of(y)))
        y = y * torch.ones(3)
    loss = y.sum()
    del y
    monkeypatch.setattr(Values, "run", staticmethod(watched))
    for seen_by in (NodeHooks, FunctionBase):  # else strides are kept account of, too
        monkeypatch.setattr(seen_by, "made", False)
    loss.backward()
    assert max(alive) == 2
    assert left == [4, 4, 4, 4, 3, 3, 2, 2, 1, 1, 0]

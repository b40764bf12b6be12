"""Backward passes that come back: remembered ones give what the engine gives; where anything differs, it is asked."""

import contextlib
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaves import leaf

import tapegrad as torch
from tapegrad.autograd import backward_cache
from tapegrad.autograd.running import engine

pytestmark = pytest.mark.once("here it is chosen by each test")

STEPS = 5
"""Enough to be left to the engine, observed, and remembered."""


@pytest.fixture
def eager(monkeypatch):
    """Every pass is observed the first time, however small it is."""
    monkeypatch.setattr(backward_cache, "FEWEST", 1)
    monkeypatch.setattr(backward_cache.PassSignature, "FIRST", 1)
    backward_cache._kinds.clear()
    yield
    backward_cache._kinds.clear()


@pytest.fixture
def walks(monkeypatch):
    """The backward passes that the engine has walked."""
    found, execute = [], engine.execute

    def counting(*arguments):
        found.append(arguments)
        return execute(*arguments)

    monkeypatch.setattr(engine, "execute", counting)
    backward_cache._kinds.clear()
    return found


def execution(deferred):
    return torch.deferred() if deferred else contextlib.nullcontext()


def outcome(step, state, number):
    """What a step gives, or the error that it raises."""
    try:
        results = step(number, *state)
    except RuntimeError as error:
        results = [str(error)]
    grads = [None if tensor.grad is None else tensor.grad.tolist() for tensor in state]
    return [x.tolist() if isinstance(x, torch.Tensor) else x for x in results], grads


def outcomes(step, deferred):
    """What several steps give, computed at once or deferred."""
    state = leaf(), leaf(1.0, 2.0, 3.0)
    with execution(deferred), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [outcome(step, state, number) for number in range(STEPS)]


# -- steps that are not the same each time -----------------------------------------------------------------------------


def total(x, w):
    return ((x * w).sin() * x + w.exp()).sum()


def training(number, x, w):
    x.grad = w.grad = None
    loss = total(x, w)
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    return (loss,)


def accumulating(number, x, w):
    if number == 3:
        x.grad = None
    total(x, w).backward()
    return ()


def accumulating_in_place(number, x, w):
    total(x, w).backward()
    x.grad.zero_()
    return (x.grad._version, w.grad._version)


def reading_before(number, x, w):
    loss = total(x, w)
    read = loss.item() if number % 2 else None
    loss.backward()
    return (read,)


def hook_on_tensor(number, x, w):
    y = x * w
    if number >= 3:
        y.register_hook(lambda grad: grad * 10)
    (y * y).sum().backward()
    return ()


def hook_on_node(number, x, w):
    y, seen = x * w, []
    if number >= 3:
        y.grad_fn.register_hook(lambda inputs, outputs: seen.append(outputs[0].tolist()))
    (y * y).sum().backward()
    return seen


def hook_before_node(number, x, w):
    y = x * w
    if number >= 3:
        y.grad_fn.register_prehook(lambda outputs: (outputs[0] + 1,))
    (y * y).sum().backward()
    return ()


def hook_on_leaf(number, x, w):
    handle = x.register_hook(lambda grad: grad * number)
    total(x, w).backward()
    handle.remove()
    return ()


def hook_after_leaf(number, x, w):
    seen = []
    if number >= 3:
        handle = w.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.tolist()))
    total(x, w).backward()
    if number >= 3:
        handle.remove()
    return seen


def retaining(number, x, w):
    y = x * w
    if number >= 3:
        y.retain_grad()
    (y * y).sum().backward()
    return (y.grad,) if number >= 3 else ()


def written_since(number, x, w):
    y = x * w
    z = (y * y).sum()
    if number == 3:
        y.mul_(2)
    z.backward()
    return ()


def leaf_written_since(number, x, w):
    z = total(x, w)
    if number == 3:
        with torch.no_grad():
            w.add_(1)
    z.backward()
    return ()


def output_written_since(number, x, w):
    y = x.exp()
    z = (y * w).sum()
    if number == 3:
        y.add_(1)
    z.backward()
    return ()


def data_replaced(number, x, w):
    z = total(x, w)
    if number == 3:
        x.data = torch.ones(3)
    z.backward()
    return ()


def twice_through(number, x, w):
    z = total(x, w)
    z.backward(retain_graph=number != 3)
    z.backward()
    return ()


def part_was_freed(number, x, w):
    y = (x * w).exp()
    y.sum().backward(retain_graph=number != 3)
    (y * x).sum().backward()
    return ()


def detached(number, x, w):
    y = x * w
    z = y.detach() if number >= 3 else y
    (y * z).sum().backward()
    return ()


def another_leaf(number, x, w):
    """Two leaves that hold one array."""
    twin = x.detach().requires_grad_()
    (x * w * (twin if number >= 3 else x)).sum().backward()
    return (None if twin.grad is None else twin.grad,)


def exchanged(number, x, w):
    a, b = (x, w) if number < 3 else (w, x)
    (a.exp() * a * b).sum().backward()
    return ()


def other_order(number, x, w):
    """Made in another order, so that gradients meet in another order: 1e8 - 1e8 + w, or 1e8 + w - 1e8."""
    constants = x.detach() * 1e8, x.detach() * -1e8
    parts = [lambda: x * 1e8, lambda: x * w, lambda: x * -1e8]
    made = {index: parts[index]() for index in ((0, 1, 2) if number < 3 else (1, 2, 0))}
    (made[0] + made[1] + made[2]).sum().backward()
    return constants


def renumbered(number, x, w):
    a, b = x.sin() * 1e8, x.cos() * w
    if number >= 3:
        a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 1)
    (a + b).sum().backward()
    return ()


def another_number(number, x, w):
    ((x * (2.0 + number)) ** (2 + number % 2) * w).sum().backward()
    return ()


def another_seed(number, x, w):
    y = x * w
    y.backward(torch.full((3,), float(number)) if number % 2 else y.detach())
    return ()


def grown_seed(number, x, w):
    (total(x, w) * 1.0).backward(torch.tensor(2.0) * number)
    return ()


def passing(number, x, w):
    """What arrives at the leaves is the seed itself."""
    (x + w).backward(torch.tensor([1.0, 2.0, 3.0]))
    return ()


def not_recorded(number, x, w):
    with torch.set_grad_enabled(number != 3):
        y = x * w
    (y * x).sum().backward()
    return ()


def frozen(number, x, w):
    z = total(x, w)
    w.requires_grad_(number != 3)
    z.backward()
    w.requires_grad_()
    return ()


def no_leaf_any_more(number, x, w):
    y = x.detach().requires_grad_()
    z = (y * w).sum()
    if number == 3:
        y.requires_grad_(False)
        y.mul_(w.detach())
        y.requires_grad_()
        y = y * 1
    z.backward()
    return ()


def views(number, x, w):
    y = x * w
    first, rest = y[:1], y[1:]
    (first.sum() * rest.exp()).sum().backward()
    return ()


def written_view(number, x, w):
    y = x * w
    y[number % 2].mul_(2)
    (y * y).sum().backward()
    return ()


def in_place(number, x, w):
    y = x * w
    y.mul_(w).add_(1)
    (y * x).sum().backward()
    return ()


def several_outputs(number, x, w):
    a, b = (x * w).split([1, 2])
    values, places = torch.sort(b, descending=number >= 3)
    (values * a).sum().backward()
    return (places,)


def one_of_several_outputs(number, x, w):
    parts = torch.unbind(x * w)
    (parts[0] * parts[1 if number < 3 else 2]).backward()
    return ()


def saved_by_hooks(number, x, w):
    def scaled(kept):
        return kept * (2 if number == 3 else 1)

    if number < 3:
        total(x, w).backward()
        return ()
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, scaled):
        z = total(x, w)
    z.backward()
    return ()


def looked_at(number, x, w):
    y = (x * w).sin()
    if number == 3:
        y.grad_fn._raw_saved_self.register_hooks(lambda tensor: tensor, lambda tensor: tensor * 2)
    y.sum().backward()
    return ()


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


def custom(number, x, w):
    y = x * w
    y = Twice.apply(y) if number >= 3 else y * 2
    (y * x).sum().backward()
    return ()


def only_some(number, x, w):
    total(x, w).backward(inputs=[x] if number >= 3 else None)
    return ()


def recorded(number, x, w):
    total(x, w).backward(create_graph=number >= 3)
    x.grad, w.grad = x.grad.detach(), w.grad.detach()
    return ()


def several_roots(number, x, w):
    y = total(x, w)
    if number >= 3:
        torch.autograd.backward([y, (x * x).sum()])
    else:
        y.backward()
    return ()


def other_shapes(number, x, w):
    y = (x * w).repeat(1 + number // 3)
    (y * y).sum().backward()
    return ()


def asked_for(number, x, w):
    return torch.autograd.grad(total(x, w), (w, x) if number < 3 else (x, w))


def asked_for_and_accumulated(number, x, w):
    z = total(x, w)
    if number % 2:
        z.backward()
        return ()
    return torch.autograd.grad(z, (x, w))


def asked_for_some(number, x, w):
    return torch.autograd.grad(total(x, w), (x, w) if number < 3 else (x,))


def asked_for_twice(number, x, w):
    z = total(x, w)
    first = torch.autograd.grad(z, (x, w, x), retain_graph=number != 3)
    return (*first, *torch.autograd.grad(z, (x, w)))


def asked_for_one_that_is_not_used(number, x, w):
    other = leaf()
    return torch.autograd.grad(total(x, w), (x, w) if number < 3 else (x, w, other))


def asked_for_an_inner_one(number, x, w):
    y = x * w
    return torch.autograd.grad((y * y).sum(), (x, w) if number < 3 else (y,))


def number_after_write(number, x, w):
    y = x * w
    y.mul_(2)
    y.clamp(-1.0, 1.0).sum().backward()
    return ()


def packed_after_write(number, x, w):
    y = x * w
    y.mul_(2)
    z = y * y
    _ = z.grad_fn._raw_saved_self
    z.sum().backward()
    return ()


def saved_grad(number, x, w):
    if x.grad is None:
        x.grad = torch.ones(3)
    ((w * x.grad.detach()).exp() + x).sum().backward()
    return ()


def saved_grad_data(number, x, w):
    if x.grad is None:
        x.grad = torch.ones(3)
    ((w * x.grad.data).exp() + x).sum().backward()
    return ()


def saved_grad_itself(number, x, w):
    if x.grad is None:
        x.grad = torch.ones(3)
    ((w * x.grad).exp() + x).sum().backward()
    return ()


def grad_shares_memory(number, x, w):
    buffer = torch.ones(6)
    x.grad = buffer[:3] if number >= 3 else torch.ones(3)
    ((w * buffer[3:]).exp() + x).sum().backward()
    return ()


def grad_is_data_of_a_leaf(number, x, w):
    x.grad, w.grad = w.data, None
    (w * w + x).sum().backward()
    return ()


def grad_is_a_saved_output(number, x, w):
    e = w.exp()
    x.grad = e.data if number >= 2 else torch.ones(3)
    (e + x).sum().backward()
    return ()


def stale_window(number, x, w):
    y = x * w
    v = y[:2]
    y.mul_(2)
    z = v * v
    kept = None
    if number % 2:
        kept = w.detach() * 2
    else:
        y.data.mul_(2)
    z.sum().backward()
    return (kept,)


def refused_by_a_leaf(number, x, w):
    x.grad = w.grad = None
    if number == 3:
        with torch.inference_mode():
            x.grad = torch.ones(3)
    z = (w * w + x).sum()
    try:
        z.backward()
    except RuntimeError:
        x.grad = None
        z.backward()
    return ()


def refused_by_a_leaf_that_was_moved(number, x, w):
    t = torch.ones(3, requires_grad=True)
    e = w.exp()
    z = (e * e + t * 3).sum()
    kept = None
    if number % 2:
        t.requires_grad_(False)
        t.mul_(x)
    else:
        kept = x.detach() * 2
    try:
        z.backward()
    except RuntimeError:
        e.sum().backward()
    return (kept,)


def packed_by_hand(number, x, w):
    seen = []

    def unpack(kept):
        seen.append(None if x.grad is None else x.grad.tolist())
        return kept

    z = w.exp() * w
    z.grad_fn._raw_saved_self.register_hooks(lambda kept: kept, unpack)
    (z + x).sum().backward()
    return seen


STEP_PROGRAMS = [
    training, accumulating, accumulating_in_place, reading_before, hook_on_tensor, hook_on_node, hook_before_node,
    hook_on_leaf, hook_after_leaf, retaining, written_since, leaf_written_since, output_written_since, data_replaced,
    twice_through, part_was_freed, detached, another_leaf, exchanged, other_order, renumbered, another_number,
    another_seed, grown_seed, passing, not_recorded, frozen, no_leaf_any_more, views, written_view, in_place,
    several_outputs, one_of_several_outputs, saved_by_hooks, looked_at, custom, only_some, recorded, several_roots,
    other_shapes, asked_for, asked_for_and_accumulated, asked_for_some, asked_for_twice,
    asked_for_one_that_is_not_used, asked_for_an_inner_one, number_after_write, packed_after_write, saved_grad,
    saved_grad_data, saved_grad_itself, grad_shares_memory, grad_is_data_of_a_leaf, grad_is_a_saved_output,
    stale_window, refused_by_a_leaf, refused_by_a_leaf_that_was_moved, packed_by_hand,
]  # fmt: skip


@pytest.mark.parametrize("step", STEP_PROGRAMS, ids=lambda step: step.__name__)
def test_every_step_gives_what_it_gives_at_once(step, eager):
    for expected, got in zip(outcomes(step, False), outcomes(step, True), strict=True):
        assert [type(x) for x in got[0]] == [type(x) for x in expected[0]]
        for left, right in zip((*expected[0], *expected[1]), (*got[0], *got[1]), strict=True):
            if isinstance(left, str) or left is None:
                assert right == left
            else:
                np.testing.assert_allclose(right, left, rtol=1e-5)


REMEMBERED = [
    accumulating, hook_on_tensor, hook_on_node, retaining, written_since, detached, passing, views, in_place,
    several_outputs, asked_for, asked_for_and_accumulated,
]  # fmt: skip


@pytest.mark.parametrize("step", REMEMBERED, ids=lambda step: step.__name__)
def test_the_engine_is_asked_once_for_equal_passes(step, eager, walks):
    state = leaf(), leaf(1.0, 2.0, 3.0)
    with torch.deferred():
        for number in range(3):
            outcome(step, state, number)
    assert len(walks) == 1


# -- each check is needed ----------------------------------------------------------------------------------------------


def differs(step):
    """Whether a step gives something else deferred than at once, or breaks."""
    try:
        return outcomes(step, True) != outcomes(step, False)
    except IndexError:  # an instruction reads what is not there
        return True


@pytest.mark.parametrize("step", [hook_on_tensor, other_order, another_leaf], ids=lambda step: step.__name__)
def test_without_a_look_at_the_graph_results_would_be_wrong(step, eager, monkeypatch):
    monkeypatch.setattr(backward_cache.CachedBackward, "_check_graph", lambda self, nodes, leaves: None)
    assert differs(step)


@pytest.mark.parametrize("step", [written_since, leaf_written_since, twice_through], ids=lambda step: step.__name__)
def test_without_a_look_at_what_was_saved_errors_would_be_missed(step, eager, monkeypatch):
    monkeypatch.setattr(
        backward_cache.CachedBackward, "fits", lambda self, nodes, leaves, place, seed: self.segment.begins_at(place)
    )
    assert differs(step)


def test_without_a_look_at_the_gradients_that_are_there_values_would_be_wrong(eager, monkeypatch):
    monkeypatch.setattr(backward_cache, "may_accumulate_last", lambda nodes, leaves: True)
    assert differs(saved_grad_data)


# -- any program -------------------------------------------------------------------------------------------------------

UNARY = [torch.sin, torch.exp, torch.neg, torch.tanh, lambda x: x * 2, lambda x: x + 1, lambda x: x.view(3), torch.relu]
BINARY = [torch.add, torch.mul, torch.sub, torch.maximum, lambda x, y: x + 0.5 * y, lambda x, y: x.detach() * y]

calls = st.lists(st.tuples(st.integers(0, 13), st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=12)


def built(program, x, w):
    """The loss of a program: each call takes what others gave before, counted from the last."""
    made = [x, w]
    for operator, first, second in program:
        a, b = made[-1 - first % len(made)], made[-1 - second % len(made)]
        made.append(UNARY[operator](a) if operator < len(UNARY) else BINARY[operator - len(UNARY)](a, b))
    return sum(made[-3:], start=x * w).sum()


@given(st.lists(calls, min_size=1, max_size=2), st.lists(st.integers(0, 1), min_size=3, max_size=6))
@settings(max_examples=60, deadline=None)
def test_programs_that_take_turns(programs, turns):
    def grads(deferred):
        x, w = leaf(0.1, -0.2, 0.3), leaf(-0.3, 0.2, 0.1)
        with execution(deferred):
            for turn in turns:
                built(programs[turn % len(programs)], x, w).backward()
            return [[] if tensor.grad is None else tensor.grad.tolist() for tensor in (x, w)]

    backward_cache._kinds.clear()
    kind = backward_cache.PassSignature
    first, kind.FIRST, fewest, backward_cache.FEWEST = kind.FIRST, 1, backward_cache.FEWEST, 1
    try:
        got = grads(True)
    finally:
        backward_cache.PassSignature.FIRST, backward_cache.FEWEST = first, fewest
    for left, right in zip(got, grads(False), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


# -- what is kept ------------------------------------------------------------------------------------------------------


def test_a_loop_is_walked_twice(walks):
    """As it stands: the first pass is left to the engine, the second observed."""
    x, w = leaf(), leaf(1.0, 2.0, 3.0)
    with torch.deferred():
        for _ in range(10):
            x.grad = w.grad = None
            y = x
            for _ in range(20):
                y = y * w
            y.sum().backward()
    assert len(walks) == 2


def test_small_graphs_are_left_to_the_engine(walks):
    x = leaf()
    with torch.deferred():
        for _ in range(10):
            (x * 2).sum().backward()
    assert len(walks) == 10


def test_what_never_comes_back_is_observed_more_and_more_rarely(eager, monkeypatch):
    made = []
    observe = backward_cache.observe
    monkeypatch.setattr(backward_cache, "observe", lambda *arguments: made.append(1) or observe(*arguments))
    x, w = leaf(), leaf(1.0, 2.0, 3.0)
    with torch.deferred():
        for number in range(64):  # as many operators, of which the last is the same; never the same between
            y = x
            for digit in range(6):
                y = y * w if number >> digit & 1 else y + w
            y.sum().backward()
    assert len(made) <= 7


def test_no_more_is_kept_than_the_limit_of_caches_allows(eager, cache_limit):
    cache_limit(entries=2)
    x = leaf()
    with torch.deferred():
        for length in range(3, 20):
            y = x
            for _ in range(length):
                y = y * 2
            y.sum().backward()
    assert len(backward_cache._kinds) <= 9


def test_nothing_of_a_graph_is_kept_alive(eager):
    watched = []
    with torch.deferred():
        for _ in range(STEPS):
            x = leaf()
            y = x * 2
            watched += [weakref.ref(x), weakref.ref(y.grad_fn)]
            (y * y).sum().backward()
            del x, y
    assert [reference() for reference in watched] == [None] * len(watched)


def test_no_class_is_kept_alive(eager):
    def step():
        class Passing(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, grad):
                return grad

        x = leaf()
        y = Passing.apply(x)
        watched.append(weakref.ref(type(y.grad_fn)))
        y.sum().backward()

    watched = []
    with torch.deferred():
        for _ in range(STEPS):
            step()
    gc.collect()
    assert [reference() for reference in watched] == [None] * STEPS


def test_every_call_counts_as_a_task_of_the_engine(eager):
    ids = []
    with torch.deferred():
        for number in range(4):
            x, w = leaf(), leaf(1.0, 2.0, 3.0)
            total(x, w).backward()
            if number % 2:
                x.register_hook(lambda grad: ids.append(torch._C._current_graph_task_id()))
                (x * 2).sum().backward()
    assert ids[1] - ids[0] == 3


def test_threads_have_their_own_programs(eager):
    found = {}

    def loop(name):
        x, w = leaf(), leaf(1.0, 2.0, 3.0 + name)
        with torch.deferred():
            for number in range(30):
                training(number, x, w)
            found[name] = w.tolist()

    threads = [threading.Thread(target=loop, args=(name,)) for name in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in range(3):
        x, w = leaf(), leaf(1.0, 2.0, 3.0 + name)
        for number in range(30):
            training(number, x, w)
        np.testing.assert_allclose(found[name], w.tolist(), rtol=1e-4)


def test_an_error_in_the_observed_pass_leaves_what_had_arrived(eager):
    """As the engine leaves it: the leaves that were reached before the error have their gradients."""

    def grads(deferred):
        with execution(deferred):
            x, w = leaf(), leaf(1.0, 2.0, 3.0)
            y = x.exp()
            z = (y * y).sum() + (w * w).sum()  # w's side was made later, so it runs first
            y.add_(1)
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                z.backward()
            return x.grad, w.grad.tolist()

    assert grads(True) == grads(False) == (None, [2.0, 4.0, 6.0])

"""What is remembered of calls is held to a limit, and forgetting it changes nothing but time."""

import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src import caches
from tapegrad._src.caches import Cache, Interned, Memory, remembered, weigh
from tapegrad._src.execution.data.dtypes import float32
from tapegrad._src.execution.recording import program as deferred
from tapegrad._src.tensor.spec import Spec
from tapegrad.interop import from_jax
from tapegrad.utils.checkpoint import checkpoint


def together(count, work):
    """``work(0)``, ``work(1)``, ... each on a thread of its own; what they returned."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))


# -- the memory by itself ----------------------------------------------------------------------------------------------

alone = pytest.mark.once("nothing is computed")


@pytest.fixture
def memory(monkeypatch):
    """A memory of its own, with a limit of 100 entries."""
    own = Memory()
    own.most = 100, 1 << 40
    monkeypatch.setattr(caches, "memory", own)
    return own


def rounds(memory, cache, keys, count, steps=True):
    """Go through some keys again and again; for each round how many of them had to be made anew."""
    made = []
    for _ in range(count):
        before = memory.made
        for key in keys:
            memory.steps += steps
            if cache.get(key) is None:
                cache.keep(key, str(key))
        made.append(memory.made - before)
    return made


@alone
def test_within_the_limit_nothing_is_forgotten(memory):
    assert rounds(memory, Cache("numbers"), range(100), 5) == [100, 0, 0, 0, 0]
    assert memory.evictions == 0


@alone
@pytest.mark.parametrize("steps", [True, False])
def test_the_limit_holds(memory, steps):
    cache, longest = Cache("numbers"), 0
    for number in range(5000):
        memory.steps += steps
        cache.keep(number, str(number))
        longest = max(longest, len(cache))
    assert longest <= (130 if steps else 4 * 130)  # all belongs to one step, as far as one can know
    assert memory.evictions == memory.made - len(cache)


@alone
def test_what_is_used_stays_and_what_is_not_goes(memory):
    cache = Cache("numbers")
    for number in range(1000):
        memory.steps += 1
        for key in (*(f"used {i}" for i in range(20)), number):
            if cache.get(key) is None:
                cache.keep(key, key)
    used = {key for key in (*cache.recent, *cache.older) if str(key).startswith("used")}
    assert len(used) == 20
    assert memory.made == 1020  # none of those was made twice
    numbers = [key for key in (*cache.recent, *cache.older) if type(key) is int]
    assert min(numbers) > 850


@alone
def test_a_loop_over_a_little_more_than_fits_finds_most_of_it(memory):
    cache = Cache("numbers")
    other = Cache("others")
    for key in range(20):
        other.keep(key, str(key))
    assert sum(rounds(memory, cache, range(110), 20)[1:]) / (19 * 110) < 0.3


@alone
def test_a_step_that_needs_more_than_the_limit_keeps_it(memory):
    cache = Cache("numbers")
    for _ in range(5):
        rounds(memory, cache, range(300), 1, steps=False)
        memory.steps += 1
    assert memory.made == 300


@alone
def test_bytes_count_as_entries_do(memory):
    memory.most = 1 << 20, 1000
    cache = Cache("numbers", nbytes=10)
    rounds(memory, cache, range(1000), 1)
    assert len(cache) <= 130 and memory.bytes <= 1300


@alone
def test_what_is_weighed_counts_until_it_is_freed(memory, no_gc):
    thing = threading.Event()
    weigh(thing, 500), weigh(thing, 500)
    assert memory.bytes == 500
    del thing
    assert memory.bytes == 0


@alone
def test_what_is_heavy_is_forgotten_for_its_weight(memory):
    memory.most = 1 << 20, 1000
    cache = Cache("events", nbytes=1)
    for number in range(100):
        memory.steps += 1
        weigh(cache.keep(number, threading.Event()), 100)
    assert len(cache) <= 13


@alone
def test_a_cache_that_nobody_holds_is_no_longer_counted(memory, no_gc):
    Cache("numbers").keep(1, "one")
    memory.count()
    assert memory.entries == 0


@alone
def test_a_function_that_remembers(memory):
    calls = []

    @remembered("sums")
    def add(x, y, **more):
        calls.append((x, y))
        return f"{x + y}{more}"

    assert [add(1, 2), add(1, 2), add(1, 2, z=3), add(1, 2, z=3)] == ["3{}", "3{}", "3{'z': 3}", "3{'z': 3}"]
    assert len(calls) == 2
    caches.memory.clear()
    assert add(1, 2) == "3{}" and len(calls) == 3


@alone
def test_a_finalizer_may_remember_something(memory):
    cache = Cache("things")
    for number in range(1000):
        memory.steps += 1
        thing = threading.Event()
        weakref.finalize(thing, cache.keep, f"after {number}", number)
        cache.keep(number, thing)
        del thing
    assert len(cache) <= 300


@alone
def test_of_interned_objects_there_is_one_as_long_as_somebody_holds_it(no_gc):
    interned = Interned()
    found = together(4, lambda _: [interned.only(key, threading.Event()) for key in range(500)])
    assert len({id(one) for each in found for one in each}) == 500
    assert len(interned) == 500
    del found
    assert len(interned) == 0


@alone
@pytest.mark.parametrize("limit", [{"entries": 0}, {"bytes": 0}, {"entries": -1, "bytes": 5}])
def test_a_limit_is_at_least_one(limit):
    before = caches.memory.most
    with pytest.raises(ValueError, match=r"set_cache_limit: limits must be at least 1, got entries="):
        torch.execution.set_cache_limit(**limit)
    assert caches.memory.most == before


# -- programs at a limit -----------------------------------------------------------------------------------------------


def leaf(*shape):
    return torch.linspace(-1, 1, int(np.prod(shape))).reshape(shape).detach().requires_grad_()


def layers():
    w, b = leaf(3, 4), leaf(4)
    for length in (1, 2, 1):
        ((torch.ones(length, 3) @ w + b).tanh() ** 2).mean().backward()
    return w.grad, b.grad


def writes():
    x = leaf(3, 2)
    y = x * 1
    for row in range(2):
        y[row] *= row
    y[:2] += 1
    y.t().mul_(2)
    y.sum().backward()
    return y, x.grad


def orders():
    x = leaf(3)
    y = (x**3).sum()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first.sin().sum(), x, create_graph=True)
    second.sum().backward()
    return first, second, x.grad


def a_compiled_step():
    w = leaf(3)

    @torch.compile
    def step(x):
        w.grad = None
        loss = (w * x).exp().sum()
        loss.backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.1)
        return loss

    return *[step(torch.ones(length, 3)) for length in (1, 2, 1, 2, 1)], w


def transforms():
    x = leaf(4, 3)
    mapped = torch.func.vmap(torch.func.grad(lambda row: (row.sin() * row).sum()))(x)
    return mapped, torch.func.jvp(lambda x: x.exp().cumsum(0), (x.detach(),), (torch.ones(4, 3),))[1]


def a_checkpoint():
    x = leaf(5)
    y = x
    for _ in range(3):
        y = checkpoint(lambda y: (y * 2).sin(), y, use_reentrant=False)
    y.sum().backward()
    return y, x.grad


def a_function_of_jax():
    function = from_jax(lambda x, *, power: jnp.cumsum(x**power))
    x = leaf(3)
    for power in (1, 2, 3, 2):
        function(x, power=power).sum().backward()
    return (x.grad,)


PROGRAMS = [layers, writes, orders, a_compiled_step, transforms, a_checkpoint, a_function_of_jax]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("limit", [{"entries": 1}, {"entries": 50}, {"bytes": 1}])
def test_results_are_the_same_at_any_limit(program, limit, cache_limit):
    expected = [result.detach().numpy() for result in program()]
    cache_limit(**limit)
    before = torch.execution.stats().evictions
    found = [result.detach().numpy() for result in program()]
    for got, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-6)
    assert torch.execution.stats().evictions > before or limit == {"entries": 50}


def test_lengths_that_do_not_come_back_are_forgotten(cache_limit):
    w = leaf(3)
    cache_limit(entries=24)
    before = torch.execution.stats().evictions
    for length in range(1, 16):
        (torch.ones(length, 3) * w).sum().backward()
    known = torch.execution.stats()
    assert known.entries <= 48
    assert known.evictions >= before + 24
    assert sum(count for kind, count in known.kinds.items() if kind != "tables") == known.entries
    assert w.grad.tolist() == [15 * 8] * 3


@pytest.mark.parametrize("before", [[], [3, 4, 5, 6]], ids=["first", "cast"])
def test_what_only_a_plan_holds_is_freed_with_it(no_gc, cache_limit, before):
    for length in before:  # so that the plan that follows is cast from another
        x = leaf(length)
        (x.sin() * x).sum().backward()
    x = leaf(7)
    y = x.sin() * x
    kernels = y.grad_fn.plan.kernels
    kernel, plan = weakref.ref(kernels.forward), weakref.ref(y.grad_fn.plan)
    y.sum().backward()
    del kernels
    torch.execution.clear_caches()
    assert plan() is not None and kernel() is not None
    del y
    deferred.run_recorded()
    torch.execution.clear_caches()
    assert plan() is None and kernel() is None


def test_a_plan_that_was_forgotten_is_made_anew_with_the_kernels_that_live(cache_limit):
    x = leaf(7)
    y = x * x
    torch.execution.clear_caches()
    z = x * x
    assert z.grad_fn.plan is not y.grad_fn.plan
    assert z.grad_fn.plan.kernels is y.grad_fn.plan.kernels
    (y + z).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * x.detach().numpy())


def test_a_spec_is_the_same_as_long_as_a_tensor_has_it(no_gc):
    x = torch.ones(3, 17, 2)
    torch.execution.clear_caches()
    assert torch.zeros(3, 17, 2)._spec is x._spec
    assert x.requires_grad_()._spec is torch.zeros(3, 17, 2).requires_grad_()._spec


@pytest.mark.once("nothing is computed")
def test_a_spec_that_nobody_has_is_freed(no_gc):
    cpu = torch.ones(1)._spec.device
    spec = Spec.of((23, 29), float32, cpu)
    bare, fresh, gradient = spec.bare, spec.fresh, spec.replace(requires_grad=True, strides=(1, 23)).gradient
    seen = list(map(weakref.ref, (spec, bare, fresh, gradient)))
    del spec, bare, fresh, gradient
    torch.execution.clear_caches()
    assert [one() for one in seen] == [None] * 4


def test_constants_that_were_forgotten_are_made_anew():
    for _ in range(2):
        x = leaf(3)
        x.sum().backward()
        assert x.grad.tolist() == [1, 1, 1]
        torch.execution.clear_caches()


# -- everything is forgotten -------------------------------------------------------------------------------------------


def test_after_that_nothing_is_remembered():
    x = leaf(3)
    (x * 2).sum().backward()
    assert torch.execution.stats().entries > 0
    torch.execution.clear_caches()
    known = torch.execution.stats()
    assert (known.entries, known.kinds, known.programs) == (0, {}, 0)


def test_in_the_middle_of_a_graph():
    x = leaf(3)
    y = (x * 2).exp()
    torch.execution.clear_caches()
    z = y * y
    torch.execution.clear_caches()
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * np.exp(4 * x.detach().numpy()), rtol=1e-5)


def test_by_a_hook_in_a_backward_call():
    x = leaf(3)
    y = (x * 2).exp()
    y.register_hook(lambda grad: torch.execution.clear_caches())
    (y * y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * np.exp(4 * x.detach().numpy()), rtol=1e-5)


@pytest.mark.once("it is deferred here")
def test_in_the_middle_of_a_deferred_program():
    x, found = leaf(3), []
    with torch.deferred():
        for _ in range(4):
            y = x * 2
            torch.execution.clear_caches()
            z = (y * y + y).sum()
            torch.execution.clear_caches()
            z.backward()
            found.append(z.item())
    assert len(set(found)) == 1
    np.testing.assert_allclose(x.grad.numpy(), 4 * (8 * x.detach().numpy() + 2), rtol=1e-6)


def test_between_and_in_the_calls_of_a_compiled_step():
    w = leaf(3).detach()
    step = torch.compile(lambda x: (w * x).exp().sum())
    x = torch.ones(3) * 2
    expected = step(x).item()
    for number in range(12):
        if number in (4, 5, 9):
            torch.execution.clear_caches()
        assert step(x).item() == expected
    assert step.replayed > 0
    assert "kind 1: replayed" in step.report()


def test_plans_of_an_operator_are_found_again(cache_limit):
    """Whatever looks a plan up itself finds it also where it has become an older one."""
    x, y = torch.ones(3), torch.ones(3)
    programs = [
        lambda: x * y, lambda: x * 2.0, lambda: 3 - x, lambda: x.sin(), lambda: x[1], lambda: x.clone().add_(1),
        lambda: x.clone().addcmul_(x, y, value=0.5), lambda: x.clone().neg_(), lambda: x.sum(),
    ]  # fmt: skip
    for program in programs:
        program(), program(), program()
    deferred.run_recorded()
    caches.memory._turn()
    before = torch.execution.stats()
    for program in programs:
        program()
    deferred.run_recorded()
    after = torch.execution.stats()
    assert [after.kinds[kind] for kind in ("plans", "specs", "calls of functions")] == [
        before.kinds[kind] for kind in ("plans", "specs", "calls of functions")
    ]
    assert after.made - before.made <= after.programs


# -- several threads ---------------------------------------------------------------------------------------------------


def test_threads_that_make_and_forget_at_once(cache_limit):
    cache_limit(entries=5)

    def work(number):
        found = []
        for length in range(1, 4):
            x = torch.ones(length, number + 1, requires_grad=True)
            (x * 3).sin().sum().backward()
            found.append(x.grad)
        return found

    for each in together(3, work):
        for grad in each:
            np.testing.assert_allclose(grad.numpy(), 3 * np.cos(3), rtol=1e-5)


@pytest.mark.once("it does so itself")
def test_one_thread_forgets_while_others_compute():
    done = threading.Event()

    def forgets():
        while not done.wait(0.001):
            torch.execution.clear_caches()

    def work(number):
        for _ in range(4):
            x = torch.ones(number + 2, requires_grad=True)
            (x * x).sum().backward()
            assert x.grad.tolist() == [2] * (number + 2)
        return True

    forgetting = threading.Thread(target=forgets)
    forgetting.start()
    try:
        assert together(2, work) == [True, True]
    finally:
        done.set()
        forgetting.join()

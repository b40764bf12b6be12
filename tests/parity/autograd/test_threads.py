"""Several threads: separate graphs, shared leaves, shared graphs, modes; the same programs on both.

Threads start together, at a barrier, and switch as often as Python can make them. A join has a limit, so that a
deadlock is a failure.
"""

import sys
import threading

import pytest
from harness import agree, attempt
from workers import give_workers, one, several

pytestmark = pytest.mark.parity

PROGRAMS = []
LIMIT = 60


def program(function):
    """Collects a program: a function of the module which tells what it saw."""
    PROGRAMS.append(function)
    return function


def together(count, work):
    """``work(0)``, ``work(1)``, ... each on a thread of its own; what they returned, or what they raised."""
    results, start = [None] * count, threading.Barrier(count, timeout=LIMIT)

    def target(number):
        start.wait()
        results[number] = attempt(lambda: work(number))

    threads = [threading.Thread(target=target, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert not any(thread.is_alive() for thread in threads), "deadlock"
    return results


@pytest.fixture(autouse=True)
def frequent_switches():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def leaf(torch, *values):
    return torch.tensor(values, requires_grad=True, dtype=torch.float64)


# -- separate graphs and shared leaves ---------------------------------------------------------------------------------


@program
def separate_graphs(torch):
    def work(number):
        x = leaf(torch, 1.0 + number, 2.0)
        for _ in range(10):
            ((x * x).exp() * (number + 1)).sum().backward()
        return x.grad

    return together(6, work)


@program
def shared_leaves_lose_no_update(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)

    def work(number):
        for _ in range(50):
            (x * y * (number + 1)).sum().backward()

    return together(8, work), x.grad, y.grad


@program
def shared_leaves_and_recorded_backwards(torch):
    x = leaf(torch, 1.0, 2.0)

    def work(number):
        for _ in range(10):
            (first,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
            first.sum().backward()

    return together(4, work), x.grad


@program
def grad_calls_share_leaves_and_leave_them_alone(torch):
    x = leaf(torch, 1.0, 2.0)
    return together(6, lambda number: torch.autograd.grad((x * x * number).sum(), x)[0]), x.grad


@program
def each_thread_records_its_own_graph(torch):
    x = leaf(torch, 1.0, 2.0)
    outs = together(6, lambda number: (x * (number + 1)).exp())
    sum(out.sum() for out in outs).backward()
    return x.grad, [out.grad_fn.name() for out in outs]


@program
def a_graph_made_here_is_run_there(torch):
    x = leaf(torch, 1.0, 2.0)
    outs = [(x * number).sum() for number in range(4)]
    return together(4, lambda number: outs[number].backward()), x.grad


@program
def forks_and_joins(torch):
    """Each thread adds to what the one before it made, and some of it is used by two."""
    x = leaf(torch, 2.0)
    shared = x * x
    firsts = together(3, lambda number: shared * (number + 1))
    seconds = together(3, lambda number: firsts[number] * firsts[(number + 1) % 3])
    torch.autograd.backward([second.sum() for second in seconds])
    return x.grad


@program
def backward_into_chosen_leaves(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)

    def work(number):
        for _ in range(20):
            (x * y).backward(inputs=[x] if number % 2 else [y])

    return together(4, work), x.grad, y.grad


# -- shared graphs -----------------------------------------------------------------------------------------------------


@program
def a_shared_graph_that_is_kept(torch):
    x = leaf(torch, 1.0, 2.0)
    shared = (x * x).exp()

    def work(number):
        for _ in range(20):
            (shared * (number + 1)).sum().backward(retain_graph=True)

    return together(4, work), x.grad


@program
def a_shared_graph_that_is_not_kept(torch):
    """At least one succeeds; the others learn that the graph has been freed."""
    outcomes = []
    for _ in range(10):
        x = leaf(torch, 1.0, 2.0)
        shared = (x * x).exp() * x.sin()
        results = together(5, lambda number, shared=shared: (shared * shared).sum().backward())
        failures = [result for result in results if result is not None]
        assert all(kind == "RuntimeError" for _, kind, _ in failures)
        assert all("Specify retain_graph=True" in text for _, _, text in failures)
        assert all("backward through the graph a second time" in text for _, _, text in failures)
        outcomes.append((len(failures) < 5, x.grad is not None))
    return outcomes


@program
def retain_graph_here_and_not_there_after_it(torch):
    x = leaf(torch, 3.0)
    out = x * x
    together(3, lambda number: out.backward(retain_graph=True))
    account = [x.grad.clone(), together(1, lambda number: out.backward())]
    return account, attempt(lambda: out.backward())[:2], x.grad


# -- modes -------------------------------------------------------------------------------------------------------------


@program
def a_new_thread_has_the_default_modes(torch):
    x = leaf(torch, 1.0)
    with torch.no_grad():
        inside = together(2, lambda number: (torch.is_grad_enabled(), (x * 2).requires_grad))
        here = (x * 2).requires_grad
    return inside, here


@program
def grad_modes_do_not_leak_between_threads(torch):
    x, meet = leaf(torch, 1.0), threading.Barrier(4, timeout=LIMIT)

    def work(number):
        seen = []
        for turn in range(20):
            with torch.set_grad_enabled((number + turn) % 2 == 0):
                meet.wait()
                seen.append((x * 2).requires_grad)
                meet.wait()
        return seen, torch.is_grad_enabled()

    return together(4, work)


@program
def backward_in_one_thread_leaves_the_modes_of_the_others(torch):
    x, inside, checked = leaf(torch, 1.0), threading.Event(), threading.Event()

    def work(number):
        if number == 0:
            a = x * 2
            a.register_hook(lambda grad: (inside.set(), checked.wait(LIMIT))[0])
            a.backward()
            return torch.is_grad_enabled()
        assert inside.wait(LIMIT)
        seen = torch.is_grad_enabled(), (x * 3).requires_grad
        checked.set()
        return seen

    return together(2, work), x.grad


@program
def saved_tensors_hooks_belong_to_their_thread(torch):
    x, packed = leaf(torch, 5.0), [[], []]
    meet = threading.Barrier(2, timeout=LIMIT)

    def work(number):
        def pack(tensor):
            packed[number].append(tensor.item())
            return tensor

        if number == 0:
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                meet.wait()
                (x * x).backward()
                meet.wait()
        else:
            meet.wait()
            (x.exp() * x).backward()
            meet.wait()

    return together(2, work), packed, x.grad


@program
def multithreading_off_is_the_threads_own(torch):
    with torch.autograd.set_multithreading_enabled(False):
        inside = together(2, lambda number: torch.autograd.is_multithreading_enabled())
        here = torch.autograd.is_multithreading_enabled()
    return inside, here, torch.autograd.is_multithreading_enabled()


@program
def nesting_works_with_multithreading_off(torch):
    def nest(left):
        x = leaf(torch, float(left))
        if left:
            x.register_hook(lambda grad: nested(left))
        (x * 2).backward()

    def nested(left):
        with torch.enable_grad():
            nest(left - 1)

    with torch.autograd.set_multithreading_enabled(False):
        return attempt(lambda: nest(100))


# -- hooks -------------------------------------------------------------------------------------------------------------


@program
def hooks_run_on_the_thread_that_called_backward(torch):
    x = leaf(torch, 1.0)

    def work(number):
        seen = []
        a = x * 2
        a.register_hook(lambda grad: seen.append(threading.get_ident()))
        a.grad_fn.register_hook(lambda inputs, outputs: seen.append(threading.get_ident()))
        a.backward()
        return seen == [threading.get_ident()] * 2

    return together(4, work)


@program
def hooks_that_come_and_go_while_others_run_backward(torch):
    x = leaf(torch, 1.0)

    def work(number):
        for _ in range(30):
            if number == 0:
                x.register_hook(lambda grad: grad).remove()
            else:
                (x * 2).backward()

    return together(3, work), x.grad


@program
def post_accumulate_hooks_run_once_for_each_backward(torch):
    x, calls = leaf(torch, 1.0), []
    x.register_post_accumulate_grad_hook(lambda tensor: calls.append(1))
    together(4, lambda number: [(x * 2).backward() for _ in range(20)] and None)
    return len(calls), x.grad


@program
def errors_stay_in_their_thread(torch):
    x = leaf(torch, 1.0)

    def work(number):
        a = x * 2

        def hook(grad):
            if number % 2:
                raise ValueError(f"thread {number}")

        a.register_hook(hook)
        a.backward()
        return "fine"

    return together(6, work), x.grad


@pytest.mark.parametrize("mode", ["all", "any"])
def test_multi_grad_hooks_count_per_backward(mode):
    def program(torch):
        x, y, seen = leaf(torch, 1.0), leaf(torch, 2.0), []

        def hook(grads):
            grads = grads if mode == "all" else [grads]
            seen.append(sorted(0.0 if grad is None else grad.sum().item() for grad in grads))

        handle = torch.autograd.graph.register_multi_grad_hook((x, y), hook, mode=mode)

        def work(number):
            for _ in range(5):
                (x * (number + 1) + y * (number + 1)).sum().backward()

        results = together(4, work)
        handle.remove()
        (x + y).backward()
        return results, sorted(seen), x.grad, y.grad

    agree(program)


@pytest.mark.parametrize("mode", ["all", "any"])
def test_multi_grad_hooks_when_one_thread_fails_half_way(mode):
    def program(torch):
        x, y, seen = leaf(torch, 1.0), leaf(torch, 2.0), []
        failed = threading.Event()
        torch.autograd.graph.register_multi_grad_hook((x, y), lambda grads: seen.append(1), mode=mode)

        def work(number):
            a, b = x * 1, y * 1  # y's gradient comes first

            def hook(grad):
                if number == 0:
                    failed.set()
                    raise ValueError("half-way")
                assert failed.wait(LIMIT)

            a.register_hook(hook)
            (a + b).sum().backward()

        return together(3, work), len(seen), x.grad, y.grad

    agree(program)


# -- custom functions --------------------------------------------------------------------------------------------------


def square_of(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    return Square.apply


@program
def custom_functions_in_many_threads(torch):
    x, square = leaf(torch, 3.0), square_of(torch)

    def work(number):
        for _ in range(20):
            square(x * (number + 1)).backward()

    return together(4, work), x.grad


@program
def a_shared_custom_node_that_is_not_kept(torch):
    outcomes = []
    for _ in range(10):
        x = leaf(torch, 3.0)
        shared = square_of(torch)(x)
        results = together(4, lambda number, shared=shared: (shared * 1).sum().backward())
        failures = [result for result in results if result is not None]
        assert all("Specify retain_graph=True" in text for _, _, text in failures)
        outcomes.append((len(failures) < 4, x.grad is not None))
    return outcomes


@program
def nested_backwards_in_many_threads(torch):
    y = leaf(torch, 1.0)

    def nest(left):
        x = leaf(torch, float(left))

        def hook(grad):
            with torch.enable_grad():
                if left:
                    nest(left - 1)
                else:
                    (y * 2).backward()

        x.register_hook(hook)
        (x * 2).backward()

    return together(4, lambda number: nest(30)), y.grad


@program
def in_place_on_tensors_of_ones_own(torch):
    x = leaf(torch, 1.0, 2.0)

    def work(number):
        a = x.clone()
        a.mul_(number + 1)
        a.add_(x)
        a.sum().backward()
        return a.detach(), a._version

    return together(4, work), x.grad


@program
def detaching_and_using_a_shared_leaf(torch):
    """Whoever detaches must not take the data away from one who just begins to use it."""
    account = []
    for turn in range(30):
        x = leaf(torch, 1.0 + turn, 2.0)

        def work(number, x=x):
            return x.detach() * 2 if number % 2 else (x * 2).sum().backward()

        account.append((together(4, work), x.grad))
    return account


SETTINGS = {
    "anomaly": ("is_anomaly_enabled()", "autograd.set_detect_anomaly({})", True, False),
    "check_nan": ("is_anomaly_check_nan_enabled()", "set_anomaly_enabled(False, {})", False, True),
    "grad": ("is_grad_enabled()", "set_grad_enabled({})", False, True),
    "multithreading": ("autograd.is_multithreading_enabled()", "autograd.set_multithreading_enabled({})", False, True),
    "view_replay": ("_C._is_view_replay_enabled()", "_C._set_view_replay_enabled({})", True, False),
    "forward_grad": ("_C._is_fwd_grad_enabled()", "_C._set_fwd_grad_enabled({})", False, True),
    "dtype": ("get_default_dtype().itemsize", "set_default_dtype(torch.float{})", 64, 32),
    "device": ("get_default_device().type", "set_default_device({!r})", "meta", None),
    "deterministic": ("get_deterministic_debug_mode()", "set_deterministic_debug_mode({})", 1, 0),
    "warnings": ("is_warn_always_enabled()", "set_warn_always({})", True, False),
    "autocast": ("is_autocast_enabled('cpu')", "set_autocast_enabled('cpu', {})", True, False),
    "autocast_cache": ("is_autocast_cache_enabled()", "set_autocast_cache_enabled({})", False, True),
    "precision": ("get_float32_matmul_precision()", "set_float32_matmul_precision({!r})", "high", "highest"),
    "fastpath": ("backends.mha.get_fastpath_enabled()", "backends.mha.set_fastpath_enabled({})", False, True),
    "attention": ("backends.cuda.math_sdp_enabled()", "backends.cuda.enable_math_sdp({})", False, True),
}
"""How settings are asked for and set, a value, and the one to go back to."""


@pytest.mark.once("nothing is computed")
@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_the_threads_or_the_programs(name):
    """What another thread sees of what is set here, and the other way round."""
    ask, put, value, back = SETTINGS[name]

    def program(torch):
        def asked():
            return eval(f"torch.{ask}", {"torch": torch})

        def put_and_asked(given):
            eval(f"torch.{put.format(given)}", {"torch": torch})
            return asked()

        told = [asked()]
        try:
            told += [put_and_asked(value), *together(1, lambda number: asked())]
            told += [put_and_asked(back), *together(1, lambda number: put_and_asked(value)), asked()]
        finally:
            put_and_asked(back)
        return told

    agree(program)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_same(program):
    agree(program)


ON_WORKERS = [
    (program, choose)
    for program in PROGRAMS
    for choose in (one, several)
    if program is not hooks_run_on_the_thread_that_called_backward
    and not (program is a_shared_graph_that_is_not_kept and choose is several)
]
"""Programs and workers. On several, two calls may come to the branches of a graph in different orders, so that each
finds what the other has freed: then nobody succeeds."""


@pytest.mark.parametrize(("program", "choose"), ON_WORKERS, ids=lambda given: given.__name__)
def test_same_on_workers(program, choose, monkeypatch):
    give_workers(monkeypatch, choose)
    agree(program)

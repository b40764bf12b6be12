"""Backward calls inside hooks, inside nodes and inside callbacks: the same programs on both, telling what they saw."""

import pytest
from harness import Programs, agree, attempt, leaf

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def nested(torch, work):
    """A hook that runs ``work`` with grad mode on, and leaves the gradient as it is."""

    def hook(grad):
        with torch.enable_grad():
            work()

    return hook


def doubling(torch, work=None, label="", log=None):
    """A custom function which doubles, and whose backward notes that it ran and runs ``work``, with grad mode on."""

    class Doubling(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            if log is not None:
                log.append(label)
            if work is not None:
                with torch.enable_grad():
                    work()
            return grad * 2

    return Doubling.apply


# -- a graph of its own ------------------------------------------------------------------------------------------------


@program
def backward_inside_a_hook_accumulates_at_once(torch):
    x, y, seen = leaf(torch, 1.0), leaf(torch, 3.0), []
    a = x * 2
    a.register_hook(nested(torch, lambda: ((y * y).backward(), seen.append(y.grad.clone()))))
    (a * 5).backward()
    return x.grad, y.grad, seen


@program
def grad_inside_a_hook_replaces_the_gradient(torch):
    x = leaf(torch, 2.0)
    a = x * 3

    def hook(grad):
        with torch.enable_grad():
            return torch.autograd.grad((a.detach().requires_grad_() ** 3).sum(), [], allow_unused=True) or grad

    def second(grad):
        with torch.enable_grad():
            b = a.detach().requires_grad_()
            return grad * torch.autograd.grad((b**3).sum(), b)[0]

    a.register_hook(second)
    (a * 1).sum().backward()
    return x.grad, attempt(lambda: hook(None))


@program
def backward_inside_a_custom_backward(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0)
    out = doubling(torch, lambda: (y * y * y).backward())(x)
    (out * out).sum().backward()
    return x.grad, y.grad


@program
def a_custom_backward_that_differentiates_its_own_forward(torch):
    class Checkpointed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x * x).sin()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                again = x.detach().requires_grad_()
                out = (again * again).sin()
            out.backward(grad)
            return again.grad

    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0)
    (Checkpointed.apply(x) * 3).sum().backward()
    ((y * y).sin() * 3).sum().backward()
    return x.grad, y.grad


@program
def backward_of_the_same_leaf_inside_its_hook(torch):
    """The nested call accumulates first; the outer gradient is added to it."""
    x, calls = leaf(torch, 2.0), []

    def hook(grad):
        calls.append(grad.clone())
        if len(calls) == 1:
            with torch.enable_grad():
                (x * 10).backward()

    x.register_hook(hook)
    (x * 3).backward()
    return x.grad, calls


@program
def a_nested_call_may_run_the_outer_graph_if_it_is_kept(torch):
    x = leaf(torch, 2.0)
    a = x * x
    b = a * 3
    calls = []

    def hook(grad):
        if not calls:
            calls.append(1)
            with torch.enable_grad():
                a.backward(retain_graph=True)

    b.register_hook(hook)
    (b * 2).backward(retain_graph=True)
    return x.grad


@program
def a_nested_call_that_frees_the_outer_graph_makes_it_fail(torch):
    x = leaf(torch, 2.0)
    a = x * x
    b = a * 3
    b.register_hook(nested(torch, lambda: a.backward()))
    return attempt(lambda: (b * 2).backward())[:2], x.grad


@program
def several_nested_calls_one_after_the_other(torch):
    x, ys = leaf(torch, 1.0), [leaf(torch, float(i)) for i in range(4)]
    a = x * 2
    for y in ys:
        a.register_hook(nested(torch, lambda y=y: (y * y).backward()))
    a.backward()
    return [y.grad for y in ys], x.grad


@program
def second_order_inside_a_hook(torch):
    x, y, seen = leaf(torch, 1.0), leaf(torch, 3.0), []

    def work():
        (first,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
        seen.append(torch.autograd.grad(first.sum(), y)[0])

    x.register_hook(nested(torch, work))
    (x * 2).backward()
    return seen, x.grad


@program
def a_nested_call_within_a_recorded_one(torch):
    x, y = leaf(torch, 2.0), leaf(torch, 3.0)
    a = x * x
    a.register_hook(lambda grad: (y * y).backward() if torch.is_grad_enabled() else None)
    (first,) = torch.autograd.grad((a * a).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return first.detach(), second, y.grad, first.requires_grad


# -- modes -------------------------------------------------------------------------------------------------------------


@program
def grad_mode_inside_and_after(torch):
    x, y, seen = leaf(torch, 1.0), leaf(torch, 1.0), []

    def note(grad=None):
        seen.append(torch.is_grad_enabled())

    y.register_hook(note)

    def hook(grad):
        note()
        with torch.enable_grad():
            note()
            out = y * 2
            out.backward()
            note()
        note()

    a = x * 2
    a.register_hook(hook)
    x.register_hook(note)
    a.backward()
    note()
    return seen


@program
def a_nested_recorded_call_gives_back_the_outer_mode(torch):
    x, y, seen = leaf(torch, 1.0), leaf(torch, 2.0), []

    def hook(grad):
        with torch.enable_grad():
            torch.autograd.grad((y * y).sum(), y, create_graph=True)
        seen.append(torch.is_grad_enabled())

    a = x * 2
    a.register_hook(hook)
    x.register_hook(lambda grad: seen.append(torch.is_grad_enabled()))
    a.backward()
    return seen, torch.is_grad_enabled()


@program
def a_hook_computes_without_grad_unless_it_asks(torch):
    x, y, seen = leaf(torch, 1.0), leaf(torch, 2.0), []
    x.register_hook(lambda grad: seen.append(attempt(lambda: (y * y).backward())))
    (x * 2).backward()
    return seen, y.grad


@program
def grad_mode_after_a_nested_failure(torch):
    x, y, seen = leaf(torch, 1.0), leaf(torch, 2.0), []

    def fail(grad):
        raise ValueError("inside")

    def hook(grad):
        with torch.enable_grad():
            out = y * 2
            out.register_hook(fail)
            seen.append(attempt(lambda: out.backward()))
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())

    x.register_hook(hook)
    (x * 2).backward()
    return seen, torch.is_grad_enabled(), x.grad


# -- order -------------------------------------------------------------------------------------------------------------


@program
def nested_calls_run_before_what_waits_outside(torch):
    log = []

    def named(label, work=None):
        return doubling(torch, work, label, log)

    def inner():
        y = leaf(torch, 1.0)
        named("inner last")(named("inner first")(y)).backward()

    x = leaf(torch, 1.0)
    waits = named("outer waits")(x)
    nests = named("outer nests", inner)(x)
    (waits + nests).backward()
    return log, x.grad


@program
def an_old_graph_inside_a_new_one_goes_first_all_the_same(torch):
    log, y = [], leaf(torch, 1.0)
    old = doubling(torch, None, "old", log)(y)
    x = leaf(torch, 1.0)
    waits = doubling(torch, None, "waits", log)(x)
    nests = doubling(torch, lambda: old.backward(), "nests", log)(x)
    (waits * nests).backward()
    return log


@program
def three_levels(torch):
    log = []

    def level(n):
        y = leaf(torch, float(n))
        y.register_hook(lambda grad: log.append((n, grad.clone())))
        a = doubling(torch, (lambda: level(n + 1)) if n < 3 else None, f"down {n}", log)(y)
        b = doubling(torch, None, f"waits {n}", log)(y)
        c = doubling(torch, None, f"goes {n}", log)(a)
        (b + c).backward()
        log.append(f"up {n}")

    level(0)
    return log


# -- errors ------------------------------------------------------------------------------------------------------------


def raising(error):
    def hook(grad):
        raise error

    return hook


@program
def an_error_of_the_nested_call_comes_out_of_the_outer_one(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)

    def work():
        out = y * 2
        out.register_hook(raising(ValueError("from inside")))
        out.backward()

    x.register_hook(nested(torch, work))
    return attempt(lambda: (x * 2).backward()), x.grad, y.grad


@program
def a_retain_graph_error_of_the_nested_call(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    used = y * y
    used.backward()
    x.register_hook(nested(torch, lambda: used.backward()))
    return attempt(lambda: (x * 2).backward()), x.grad


@program
def an_error_in_a_nested_custom_backward(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise RuntimeError("Simulate error")

    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    out = doubling(torch, lambda: Fails.apply(y).backward())(x)
    account = [attempt(lambda: out.backward()), x.grad, y.grad]
    (x * 4).backward()
    return account, x.grad


@program
def a_nested_error_that_the_hook_catches_stops_nothing(torch):
    x, y, caught = leaf(torch, 1.0), leaf(torch, 2.0), []
    out = y * 2
    out.register_hook(raising(KeyError("gone")))
    x.register_hook(nested(torch, lambda: caught.append(attempt(lambda: out.backward()))))
    (x * 2).backward()
    return caught, x.grad, y.grad


@program
def interrupts_pass_through_both(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 2.0)
    out = y * 2
    out.register_hook(raising(KeyboardInterrupt("stop")))
    x.register_hook(nested(torch, lambda: out.backward()))
    try:
        (x * 2).backward()
    except KeyboardInterrupt as error:
        caught = str(error)
    (x * 3).detach()
    return caught, x.grad, torch.is_grad_enabled()


# -- depth -------------------------------------------------------------------------------------------------------------


def to_the_bottom(torch, depth, bottom):
    """Nests ``depth`` backward calls, each in a hook of the one before; the last one runs ``bottom``."""
    grads = []

    def level(left):
        x = leaf(torch, 1.0)
        x.register_hook(nested(torch, bottom if left == 0 else lambda: level(left - 1)))
        (x * (left + 1)).backward()
        grads.append(x.grad)

    level(depth)
    return grads


@program
def deeper_than_the_stack_of_a_thread(torch):
    seen = []
    grads = to_the_bottom(torch, 200, lambda: seen.append(torch.is_grad_enabled()))
    return len(grads), sum(grads), seen


@program
def a_custom_backward_two_thousand_deep(torch):
    class Down(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = torch.tensor(x.item() - 1, requires_grad=True)
                ctx.out = ctx.x - 1
            return ctx.out.detach()

        @staticmethod
        def backward(ctx, grad):
            if ctx.x.item() < 0:
                return grad
            with torch.enable_grad():
                Down.apply(ctx.x).sum().backward()
            return grad + ctx.x.grad

    x = torch.tensor(2000.0, requires_grad=True)
    Down.apply(x).sum().backward()
    return x.grad


FAR = 55
"""Deep enough for another thread here; PyTorch, which changes threads at 60, loses what is raised there."""


@program
def an_error_from_far_below(torch):
    def bottom():
        raise ValueError("at the bottom")

    return attempt(lambda: to_the_bottom(torch, FAR, bottom)), torch.is_grad_enabled()


@program
def an_interrupt_from_far_below(torch):
    def bottom():
        raise KeyboardInterrupt("at the bottom")

    try:
        to_the_bottom(torch, FAR, bottom)
    except KeyboardInterrupt as error:
        return str(error)


@program
def modes_far_below_are_the_callers(torch):
    seen = []

    def bottom():
        y = leaf(torch, 1.0)
        seen.append((torch.is_grad_enabled(), (y * 2).requires_grad))
        with torch.no_grad():
            seen.append((y * 2).requires_grad)

    to_the_bottom(torch, 100, bottom)
    return seen, torch.is_grad_enabled()


@program
def saved_tensor_hooks_far_below_are_the_callers(torch):
    packed = []

    def pack(tensor):
        packed.append(tensor.item())
        return tensor

    def bottom():
        y = leaf(torch, 7.0)
        (y * y).sum().backward()

    x = leaf(torch, 1.0)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        to_the_bottom(torch, 100, bottom)
    (x * x).backward()
    return packed.count(7.0), 1.0 in packed


# -- callbacks ---------------------------------------------------------------------------------------------------------


def queue(torch, callback):
    torch.autograd.Variable._execution_engine.queue_callback(callback)


@program
def a_callback_runs_once_at_the_end_of_the_call_that_queued_it(torch):
    x, y, log = leaf(torch, 1.0), leaf(torch, 1.0), []

    def work():
        y.register_hook(lambda grad: queue(torch, lambda: log.append("inner callback")))
        (y * 2).backward()
        log.append("inner done")

    a = x * 2

    def hook(grad):
        queue(torch, lambda: log.append("outer callback"))
        nested(torch, work)(grad)

    a.register_hook(hook)
    x.register_hook(lambda grad: log.append("outer leaf"))
    a.backward()
    log.append("outer done")
    (x * 2).backward()
    return log


@program
def callbacks_may_queue_others_and_see_the_gradients(torch):
    x, log = leaf(torch, 1.0), []

    def first():
        log.append(("first", x.grad.clone(), torch.is_grad_enabled()))
        queue(torch, lambda: log.append(("third", torch.is_grad_enabled())))

    def hook(grad):
        queue(torch, first)
        queue(torch, lambda: log.append(("second",)))

    x.register_hook(hook)
    (x * 2).backward()
    return log


@program
def errors_of_callbacks_come_out_after_everything_has_run(torch):
    x, log = leaf(torch, 1.0), []

    def bad():
        raise ValueError("in the callback")

    def hook(grad):
        queue(torch, bad)
        queue(torch, lambda: log.append("the next one"))

    x.register_hook(hook)
    return attempt(lambda: (x * 2).backward()), x.grad, log


@program
def callbacks_are_forgotten_when_the_call_fails(torch):
    x, log = leaf(torch, 1.0), []
    a = x * 2
    a.register_hook(lambda grad: queue(torch, lambda: log.append("called")))
    handle = x.register_hook(raising(ValueError("no")))
    account = attempt(lambda: (a * 3).backward())
    handle.remove()
    (x * 2).backward()
    return account, log


@program
def backward_inside_a_callback(torch):
    x, y = leaf(torch, 1.0), leaf(torch, 1.0)
    out = y * 5
    x.register_hook(lambda grad: queue(torch, lambda: out.backward()))
    (x * 2).backward()
    return x.grad, y.grad


@program
def callbacks_of_grad_calls(torch):
    x, log = leaf(torch, 1.0), []
    a = x * 2
    a.register_hook(lambda grad: queue(torch, lambda: log.append(x.grad)))
    return torch.autograd.grad((a * 3).sum(), x), log


@program
def callbacks_need_a_backward_call(torch):
    return attempt(lambda: queue(torch, print))


@program
def callbacks_far_below_belong_to_the_call_that_queued_them(torch):
    log = []

    def bottom():
        queue(torch, lambda: log.append("bottom's end"))
        log.append("bottom")

    to_the_bottom(torch, 100, bottom)
    return log


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_same(program):
    agree(program)

"""Hooks of modules: before and after ``forward``, before and after backward, of one module and of all."""

import copy
import pickle
from contextlib import contextmanager

import pytest
from harness import Programs, agree, attempt, warned
from small_modules import modules, vector

import tapegrad

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def hooks_of_all(torch):
    return __import__(f"{torch.__name__}.nn.modules.module", fromlist=["x"])


@contextmanager
def registered(*handles):
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def noting(seen, name):
    """A hook that notes what it gets."""

    def hook(module, *rest):
        seen.append([name, type(module).__name__, rest])

    return hook


@program
def before_and_after(torch):
    module, x, seen = modules(torch).Scale(), vector(torch), []
    module.register_forward_pre_hook(noting(seen, "pre"))
    module.register_forward_pre_hook(noting(seen, "first"), prepend=True)
    module.register_forward_pre_hook(noting(seen, "pre with kwargs"), with_kwargs=True)
    module.register_forward_hook(noting(seen, "after"))
    module.register_forward_hook(noting(seen, "after with kwargs"), with_kwargs=True)
    module.register_forward_hook(noting(seen, "first after"), prepend=True)
    return [module(x).detach(), module(x, power=2).detach(), module(x=x).detach(), seen]


@program
def what_hooks_change(torch):
    module, x = modules(torch).Scale(), vector(torch)
    account = []
    for hook in (
        lambda module, args: args[0] * 2, lambda module, args: (args[0] * 3,), lambda module, args: (args[0], 2),
        lambda module, args: [args[0]],
    ):  # fmt: skip
        with module.register_forward_pre_hook(hook):
            account.append(attempt(lambda: module(x).detach()))
    for hook in (
        lambda module, args, kwargs: ((x * 2,), {"power": 2}), lambda module, args, kwargs: (args, {}, 1),
        lambda module, args, kwargs: 3, lambda module, args, kwargs: ((), {"x": x}),
        lambda module, args, kwargs: {"x": 1}, lambda module, args, kwargs: "ab",
    ):  # fmt: skip
        with module.register_forward_pre_hook(hook, with_kwargs=True):
            account.append(attempt(lambda: module(x).detach()))
    for hook in (lambda module, args, out: out * 2, lambda module, args, out: (out, 3), lambda module, args, out: 7):
        with module.register_forward_hook(hook):
            account.append(module(x))
    with module.register_forward_hook(lambda module, args, kwargs, out: [out, kwargs], with_kwargs=True):
        account.append(module(x, power=2))
    return [*account, len(module._forward_hooks), len(module._forward_hooks_with_kwargs), module(x)]


@program
def always_called(torch):
    seen = []

    class Failing(torch.nn.Module):
        def forward(self, x, power=1):
            raise ValueError("no")

    def raising(module, args, out):
        raise KeyError("hook")

    module, x = Failing(), vector(torch)
    module.register_forward_hook(noting(seen, "not called"))
    module.register_forward_hook(noting(seen, "always"), always_call=True)
    module.register_forward_hook(noting(seen, "always with kwargs"), always_call=True, with_kwargs=True)
    account = [attempt(lambda: module(x, power=3)), seen.copy()]
    module.register_forward_hook(raising, always_call=True)
    account += [warned(lambda: attempt(lambda: module(x))), len(seen)]
    working = modules(torch).Scale()
    seen.clear()
    working.register_forward_hook(noting(seen, "once"), always_call=True)
    working.register_forward_hook(raising)
    working.register_forward_hook(noting(seen, "late"), always_call=True)
    account += [attempt(lambda: working(x)), seen.copy()]
    seen.clear()
    every = hooks_of_all(torch)
    with registered(
        every.register_module_forward_hook(noting(seen, "of all"), always_call=True),
        every.register_module_forward_hook(raising, always_call=True),
    ):
        account += [warned(lambda: attempt(lambda: module(x))), seen.copy()]
    first, seen[:] = seen[0], []
    working.register_forward_pre_hook(lambda module, args: 1 / 0)
    return [*account, first, attempt(lambda: working(x)), seen]


@program
def of_all_modules(torch):
    every, seen, net, x = hooks_of_all(torch), [], modules(torch).Net(), vector(torch, True)
    net.first.register_forward_hook(noting(seen, "own"))
    with registered(
        every.register_module_forward_pre_hook(noting(seen, "pre")),
        every.register_module_forward_hook(noting(seen, "after")),
        every.register_module_forward_hook(noting(seen, "after with kwargs"), with_kwargs=True),
        every.register_module_full_backward_pre_hook(noting(seen, "before backward")),
        every.register_module_full_backward_hook(noting(seen, "backward")),
    ):
        first = net.first(x)
        first.sum().backward()
        account = [first.grad_fn.name(), attempt(lambda: every.register_module_backward_hook(print))]
    net(x)
    return [*account, seen, x.grad]


@program
def gradients_seen(torch):
    seen, net, x = [], modules(torch).Net(), vector(torch, True)
    net.rest[1].register_full_backward_hook(noting(seen, "in place"))
    net.first.register_full_backward_hook(noting(seen, "first"))
    net.first.register_full_backward_hook(noting(seen, "before that"), prepend=True)
    net.first.register_full_backward_pre_hook(noting(seen, "pre"))
    net.first.register_full_backward_pre_hook(noting(seen, "before the pre"), prepend=True)
    net.register_full_backward_hook(noting(seen, "all"))
    y = attempt(lambda: net(x))
    if isinstance(y, list):
        return y
    (y * y).sum().backward()
    return [seen, x.grad, net.first.weight.grad]


@program
def gradients_changed(torch):
    module, x, account = modules(torch).Scale(), vector(torch, True), []
    for hook in (
        lambda module, given, out: (given[0] * 2,), lambda module, given, out: None, lambda module, given, out: given,
        lambda module, given, out: (given[0], given[0]), lambda module, given, out: (None,),
        lambda module, given, out: [given[0] * 3], lambda module, given, out: given[0] * 4,
    ):  # fmt: skip
        with module.register_full_backward_hook(hook):
            x.grad = module.weight.grad = None
            account += [attempt(lambda: module(x).sum().backward()), x.grad, module.weight.grad]
    for hook in (
        lambda module, out: (out[0] * 2,), lambda module, out: None, lambda module, out: (out[0], out[0]),
        lambda module, out: [out[0] * 3],
    ):  # fmt: skip
        with module.register_full_backward_pre_hook(hook):
            x.grad = module.weight.grad = None
            account += [attempt(lambda: module(x).sum().backward()), x.grad, module.weight.grad]
    return account


@program
def several_inputs_and_outputs(torch):
    module, x, y, seen = modules(torch).Split(), vector(torch, True), vector(torch, True), []
    module.register_full_backward_hook(noting(seen, "backward"))
    module.register_full_backward_pre_hook(noting(seen, "pre"))
    first, number, second = module(x, y)
    account = [first.grad_fn.name(), second.grad_fn.name(), number]
    (first.sum() + second.sum()).backward()
    account += [seen.copy(), x.grad.clone(), y.grad.clone()]
    seen.clear()
    module(x, 3.0)[2].sum().backward()
    account += [seen.copy(), x.grad.clone()]
    seen.clear()
    module(x, vector(torch))[0].sum().backward()
    account += [seen.copy(), x.grad.clone()]
    seen.clear()
    module(x.detach(), y)[0].sum()
    module(x, y=y)[2].sum().backward()
    return [*account, seen, x.grad, y.grad]


@program
def inputs_that_require_no_grad(torch):
    module, x, seen = modules(torch).Scale(), vector(torch), []
    module.register_full_backward_hook(noting(seen, "backward"))
    account = [warned(lambda: module(x).sum().backward()), seen.copy(), module.weight.grad]
    with module.register_full_backward_hook(lambda module, given, out: (x,)), pytest.warns(UserWarning):
        account.append(attempt(lambda: module(x).sum().backward()))
    with torch.no_grad():
        account.append(module(x))
    seen.clear()
    module.requires_grad_(False)
    return [*account, module(x), module(vector(torch, True)).sum().backward(), seen]


@program
def other_outputs(torch):
    class Other(torch.nn.Module):
        def forward(self, x):
            return {"a": x * 2}

    module, seen, x = Other(), [], vector(torch, True)
    module.register_full_backward_hook(noting(seen, "backward"))
    account = [warned(lambda: module(x))]
    with pytest.warns(UserWarning):
        account.append(attempt(lambda: module(x)["a"].sum().backward()))
    return [*account, seen, x.grad]


@program
def of_the_old_kind(torch):
    module, x, seen = modules(torch).Scale(), vector(torch, True), []
    module.register_backward_hook(noting(seen, "old"))
    account = [warned(lambda: module(x).sum().backward()), seen.copy(), x.grad]
    account += [attempt(lambda: module.register_full_backward_hook(print))]
    full = modules(torch).Scale()
    full.register_full_backward_hook(noting(seen, "full"))
    account += [attempt(lambda: full.register_backward_hook(print))]

    class Plain(torch.nn.Module):
        def forward(self, x, kind="tensor"):
            kinds = {
                "tensor": lambda: x * 2, "tuple": lambda: (x * 2, x * 3), "dict": lambda: {"n": 3, "a": x * 2},
                "nested": lambda: ((x * 2,),), "list": lambda: [x * 2], "constant": lambda: x.detach(),
            }  # fmt: skip
            return kinds[kind]()

    plain = Plain()
    plain.register_backward_hook(noting(seen, "plain"))
    for kind in ("tensor", "tuple", "dict", "nested", "list", "constant"):
        account.append([kind, warned(lambda: plain(x, kind=kind))])  # noqa: B023
        account.append([kind, warned(lambda: attempt(lambda: plain(x, kind)))])  # noqa: B023
    return account


@program
def of_all_and_of_the_old_kind(torch):
    every, seen, module, x = hooks_of_all(torch), [], modules(torch).Shift(), vector(torch, True)
    before = getattr(every, "_global_is_full_backward_hook", None)
    with registered(every.register_module_full_backward_hook(noting(seen, "full"))):
        account = [attempt(lambda: module(x * 2)), attempt(lambda: every.register_module_backward_hook(print))]
    return [*account, seen, before in (True, None)]


@program
def in_place_on_what_a_hook_passed_on(torch):
    m, seen, x = modules(torch), [], vector(torch, True)
    net = torch.nn.Sequential(m.Scale(), m.Shift(), m.Scale(3.0))
    net[1].register_full_backward_hook(noting(seen, "in place"))
    first = attempt(lambda: net(x).sum())
    net[1]._backward_hooks.clear()
    net[0].register_full_backward_hook(noting(seen, "before"))
    second = attempt(lambda: net(x).sum())
    return [first, second, seen]


@program
def second_order(torch):
    module, x, seen = modules(torch).Scale(), vector(torch, True), []
    module.register_full_backward_hook(lambda module, given, out: (given[0] * 2,))
    module.register_full_backward_hook(noting(seen, "seen"))
    y = module(x, power=2)
    (g,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    g.sum().backward()
    return [g.detach(), x.grad, module.weight.grad, len(seen), [part.requires_grad for part in seen[0][2][0]]]


@program
def removed_in_between(torch):
    module, x, seen = modules(torch).Scale(), vector(torch, True), []
    handle = module.register_full_backward_hook(noting(seen, "seen"))
    y = module(x)
    handle.remove()
    y.sum().backward()
    module(x).sum().backward()
    return [len(seen), len(module._backward_hooks), module(x).grad_fn.name()]


@program
def only_inputs_are_wanted(torch):
    module, x, seen = modules(torch).Scale(), vector(torch, True), []
    module.register_full_backward_hook(noting(seen, "seen"))
    grads = torch.autograd.grad(module(x).sum(), (x, module.weight))
    account = [grads, seen.copy()]
    seen.clear()
    return [*account, torch.autograd.grad(module(x).sum(), module.weight), seen]


@program
def calls_that_share_a_module(torch):
    module, x, seen = modules(torch).Scale(), vector(torch, True), []
    module.register_full_backward_hook(noting(seen, "seen"))
    module(module(x)).sum().backward()
    return [seen, x.grad]


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program):
    agree(program)


def test_hooks_with_a_module_are_pickled_and_copied_with_it():
    wrapped = tapegrad.nn.modules.hooks.WrappedHook
    module = tapegrad.nn.Module()
    module.hook = wrapped(len, module)
    again = pickle.loads(pickle.dumps(module))
    assert again.hook.module() is again
    assert copy.deepcopy(module).hook.module() is not None
    assert pickle.loads(pickle.dumps(wrapped(len)))([1, 2]) == 2
    dead = wrapped(len, tapegrad.nn.Module())
    with pytest.raises(RuntimeError, match="You are trying to call the hook of a dead Module!"):
        dead()
    with pytest.raises(RuntimeError, match="You are trying to revive the hook of a dead Module!"):
        pickle.loads(pickle.dumps(dead))


@pytest.mark.parametrize("how", ["register_full_backward_hook", "register_backward_hook", "register_forward_hook"])
def test_hooks_of_a_module_that_makes_a_view_in_no_grad(how):
    def program(torch):
        class View(torch.nn.Module):
            def forward(self, x):
                with torch.no_grad():
                    return x.view(-1)

        seen, x = [], torch.ones(2, 2, requires_grad=True)
        net, base = View(), x * 1
        getattr(net, how)(lambda module, *given: seen.append(len(given)))
        view = net(base)
        account = [view._is_view(), view.requires_grad, attempt(lambda: list(view.mul_(2))), list(seen)]
        base.sum().backward()
        return account, seen, x.grad, view.grad_fn and view.grad_fn.name()

    agree(program)

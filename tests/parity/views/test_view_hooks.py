"""Hooks and retained gradients of bases and views, before and after writes."""

import pytest
from harness import Programs, agree, attempt
from viewing import counted, gradients, leaf, now, place

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


@program
def hooks_on_base_and_view_around_a_write(torch):
    log, a = [], leaf(torch, 3)
    x = a * 1
    v = x[:2]

    def note(mark):
        return lambda g: log.append([mark, g.tolist()])

    x.register_hook(note("base, before"))
    v.register_hook(note("view, before"))
    v.mul_(3)
    x.register_hook(note("base, after"))
    v.register_hook(note("view, after"))
    (x * x).sum().backward(retain_graph=True)
    log.append("view")
    (v * v).sum().backward()
    return log, a.grad


@program
def hooks_that_change_gradients(torch):
    a = leaf(torch, 3)
    x = a * 1
    v = x[:2]
    x.register_hook(lambda g: g * 10)
    v.register_hook(lambda g: g * 100)
    v.mul_(3)
    x.register_hook(lambda g: g + 1)
    v.register_hook(lambda g: g + 2)
    return gradients(torch, x, a), gradients(torch, v, a), gradients(torch, [x, v], a)


@program
def retained_gradients_around_a_write_to_the_view(torch):
    a = leaf(torch, 3)
    x = a * 1
    v = x[:2]
    x.retain_grad()
    v.retain_grad()
    v.mul_(3)
    (x * x).sum().backward(retain_graph=True)
    first = [now(t.grad) for t in (x, v, a)]
    (v * 2).sum().backward()
    return first, x.grad, v.grad, x.retains_grad, v.retains_grad


@program
def retained_gradients_around_a_write_to_the_base(torch):
    a = leaf(torch, 3)
    x = a * 1
    v = x[:2]
    v.retain_grad()
    x.mul_(2)
    x.retain_grad()
    (v * x[1:]).sum().backward()
    return v.grad, x.grad, a.grad


@program
def gradients_retained_after_a_write(torch):
    a = leaf(torch, 3)
    x = a * 1
    v, u = x[:2], x[1:]
    v.mul_(3)
    v.retain_grad()
    u.retain_grad()
    x.retain_grad()
    (v * u).sum().backward()
    return v.grad, u.grad, x.grad, a.grad


@program
def hooks_on_nodes_of_writes(torch):
    log, a = [], leaf(torch, 3)
    x = a * 1
    v = x[:2]
    v.mul_(3)

    def note(mark):
        return lambda *given: log.append([mark, [[g if g is None else g.tolist() for g in grads] for grads in given]])

    x.grad_fn.register_hook(note("CopySlices"))
    x.grad_fn.register_prehook(note("CopySlices, before"))
    v.grad_fn.register_hook(note("view"))
    x.grad_fn.next_functions[0][0].register_hook(note("mul"))
    (x.sum() + (v * v).sum()).backward()
    return log, a.grad


@program
def order_of_running(torch):
    log, a, b = [], leaf(torch, 3), leaf(torch, 2)
    x = a * 1
    value = b * 2
    v = x[1:]
    v.mul_(value)
    u = x[:2] + 0
    for mark, tensor in (("x", x), ("value", value), ("v", v), ("u", u)):
        tensor.grad_fn.register_prehook(lambda g, mark=mark: log.append(mark))
    (x.sum() + v.sum() + u.sum()).backward()
    return log


@program
def a_hook_on_a_view_of_a_leaf(torch):
    log, a = [], leaf(torch, 3)
    v = a[:2]
    v.register_hook(lambda g: log.append(g.tolist()))
    v.retain_grad()
    with torch.no_grad():
        a.mul_(2)
    log.append(place(v, a))
    (v * 2).sum().backward()
    return log, v.grad, a.grad


@program
def a_hook_on_a_constant_that_comes_to_require_grad(torch):
    log, w = [], leaf(torch, 2)
    x = counted(torch, 3)
    refused = attempt(lambda: x.register_hook(print)), attempt(lambda: x[:1].retain_grad())
    v = x[:2]
    v.mul_(w)
    x.register_hook(lambda g: log.append(["x", g.tolist()]))
    v.register_hook(lambda g: log.append(["v", g.tolist()]))
    x.retain_grad()
    (x.sum() + v.sum()).backward()
    return refused, log, x.grad, w.grad


@program
def multi_grad_hooks_on_views(torch):
    log, a = [], leaf(torch, 4)
    x = a * 1
    v, u = x[:2], x[2:]
    v.mul_(2)
    torch.autograd.graph.register_multi_grad_hook(
        (x, v, u), lambda grads: log.append([g if g is None else g.tolist() for g in grads])
    )
    (x.sum() + v.sum() * 2).backward(retain_graph=True)
    (u * v).sum().backward()
    return log


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

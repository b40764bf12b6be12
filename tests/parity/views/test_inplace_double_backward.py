"""Higher orders through writes and views: ``create_graph``, ``gradgradcheck``, gradients that are written to."""

import pytest
from harness import Programs, agree
from viewing import gradients, leaf, name, now, place

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


@program
def create_graph_through_writes(torch):
    a, w = leaf(torch, 2, 2), leaf(torch, 2)
    x = a * a
    v = x[0]
    v.mul_(w)
    x.t()[1].mul_(x[1, 0].clone())
    g = torch.autograd.grad((x * x).sum(), [a, w], create_graph=True)
    return [[item, name(item)] for item in g], gradients(torch, g, a, w)


@program
def create_graph_through_regenerated_views(torch):
    a = leaf(torch, 3)
    x = a * a
    v, e = x[1:], x.view(3, 1).expand(3, 2)
    x.mul_(a)
    (g,) = torch.autograd.grad((v * v).sum() + (e * e).sum(), a, create_graph=True)
    return [g, name(g)], gradients(torch, g, a)


@program
def third_order(torch):
    a = leaf(torch, 2)
    x = a * a
    x[:1].mul_(a[1:])
    x.view(2, 1)[1].pow_(2)
    total, seen = (x * x).sum(), []
    for _ in range(3):
        (g,) = torch.autograd.grad(total, a, create_graph=True)
        seen.append(g)
        total = (g * g).sum()
    return seen


@program
def writes_to_gradients(torch):
    """A gradient that is part of a graph, written to, and through a view."""
    a = leaf(torch, 2)
    (g,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
    g[0].mul_(2)
    g.mul_(a)
    return place(g), gradients(torch, g, a)


@program
def accumulated_gradients_as_views(torch):
    """``x.grad`` that is a view: additions to it in place are seen by its base."""
    a = leaf(torch, 2)
    flat = torch.zeros(4)
    a.grad = flat[2:]
    (a * 3).sum().backward()
    (a * a).sum().backward()
    return now(a.grad, flat), a.grad._base is flat, flat._version


@program
def gradcheck_through_writes(torch):
    def inner(a, w):
        x = a * 1
        x[0].mul_(w)
        x.t()[1].sin_()
        v = x.view(-1)[1:3]
        x.mul_(2)
        return x.sin(), v * w

    double = {"dtype": torch.float64}
    a, w = torch.tensor([[0.1, 0.2], [0.3, 0.4]], **double), torch.tensor([0.5, 0.6], **double)
    given = (a.requires_grad_(), w.requires_grad_())
    return torch.autograd.gradcheck(inner, given), torch.autograd.gradgradcheck(inner, given)


@program
def gradcheck_through_complex_writes(torch):
    def inner(a, w):
        x = a * 1
        x.real.mul_(w)
        torch.view_as_real(x)[1].sin_()
        x.conj()[:1].mul_(2j)
        return x

    a = torch.tensor([0.1 + 0.2j, 0.3 - 0.4j], dtype=torch.complex128)
    given = (a.requires_grad_(), torch.tensor([0.5, 0.6], dtype=torch.float64).requires_grad_())
    return torch.autograd.gradcheck(inner, given), torch.autograd.gradgradcheck(inner, given)


@program
def gradcheck_of_a_constant_base(torch):
    def inner(w):
        x = torch.ones(3, 2, dtype=torch.float64)
        e = x[:, :1].expand(3, 2)
        x[1] = w * w
        x.t()[0, 2:].mul_(w[0])
        return x, e * e

    w = torch.tensor([0.5, 0.6], dtype=torch.float64).requires_grad_()
    return torch.autograd.gradcheck(inner, (w,)), torch.autograd.gradgradcheck(inner, (w,))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

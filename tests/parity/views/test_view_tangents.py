"""Forward mode through views and writes: tangents of bases and views show the same memory, as their primals do."""

import pytest
from forward_mode import level
from harness import Programs, agree, attempt
from viewing import counted, leaf, now

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def dual(torch, x, scale=1.0):
    """A dual of a tensor whose tangent is 10, 20, 30, ... times a scale."""
    return torch.autograd.forward_ad.make_dual(x, counted(torch, *x.shape, dtype=x.dtype) * 10 * scale)


def tangents(torch, *tensors):
    """The tangents of tensors as they are now; None where there is none."""
    found = [torch.autograd.forward_ad.unpack_dual(tensor).tangent for tensor in tensors]
    return [None if tangent is None else tangent.tolist() for tangent in found]


def each(torch, *tensors):
    """Values and tangents."""
    return now(*tensors), tangents(torch, *tensors)


@program
def views_of_a_dual(torch):
    with level(torch):
        d = dual(torch, counted(torch, 2, 3))
        views = [
            d[0],
            d.t(),
            d.view(-1)[2:4],
            d.t()[1],
            d.expand(2, 2, 3),
            d.unbind()[1],
            d.diagonal(),
            d[None, ..., 1],
        ]
        return each(torch, *views), [v._is_view() for v in views]


@program
def a_write_through_a_view_of_a_dual(torch):
    with level(torch):
        d = dual(torch, counted(torch, 2, 3))
        v, u = d[0], d.t()[1]
        v.mul_(2)
        seen = [each(torch, d, v, u)]
        u.mul_(dual(torch, counted(torch, 2)))
        return seen, each(torch, d, v, u)


@program
def a_write_to_a_dual_base(torch):
    with level(torch):
        d = dual(torch, counted(torch, 2, 3))
        v = d[0]
        d.mul_(dual(torch, counted(torch, 2, 3)))
        seen = [each(torch, d, v)]
        d.zero_()
        return seen, each(torch, d, v)


@program
def a_dual_written_into_a_base_without_a_tangent(torch):
    with level(torch):
        x = counted(torch, 2, 3)
        before, v = x[1], x[0]
        v.mul_(dual(torch, counted(torch, 3)))
        seen = [each(torch, x, v, before, x[:, 1])]
        before.add_(dual(torch, counted(torch, 3), 2.0))
        return seen, each(torch, x, v, before, x.t())


@program
def a_dual_assigned_to_items(torch):
    with level(torch):
        x = counted(torch, 2, 3)
        x[0] = dual(torch, counted(torch, 3))
        seen = [each(torch, x)]
        x[:, 1] = 5.0
        seen.append(each(torch, x))
        x[torch.tensor([1])] = dual(torch, counted(torch, 1, 3))
        x[1, 2:] *= 3
        return seen, each(torch, x, x[1])


@program
def a_base_that_becomes_dual_shows_it_in_its_views(torch):
    with level(torch):
        x = counted(torch, 2, 3)
        v, u = x[0], x.view(-1)[2:4]
        x.mul_(dual(torch, counted(torch, 2, 3)))
        return each(torch, x, v, u), tangents(torch, v * 2, u + v[:2])


@program
def a_constant_written_into_a_dual(torch):
    with level(torch):
        d = dual(torch, counted(torch, 2, 3))
        v = d[0]
        v.copy_(torch.zeros(3))
        d[1, 0] = 5
        d[1, 1:].fill_(7)
        return each(torch, d, v)


@program
def a_tangent_is_written_in_place(torch):
    forward_ad = torch.autograd.forward_ad
    with level(torch):
        x, t = counted(torch, 3), counted(torch, 3)
        d = forward_ad.make_dual(x, t)
        same = forward_ad.unpack_dual(d).tangent
        v = d[1:]
        d.mul_(2)
        v.mul_(2)
        again = forward_ad.unpack_dual(d).tangent
        return each(torch, d, v), now(same, again, t), t._version, again is t, again is same


@program
def detached_and_data(torch):
    with level(torch):
        d = dual(torch, counted(torch, 3))
        e, p = d.detach(), d.data
        d.mul_(2)
        return each(torch, d, e, p)


@program
def a_dual_of_a_view(torch):
    with level(torch):
        x = counted(torch, 4)
        d = dual(torch, x[1:3])
        v = d[:1]
        v.mul_(3)
        x.add_(1)
        return each(torch, x, d, v), d._is_view(), v._base is d


@program
def history_and_tangents(torch):
    with level(torch):
        a = leaf(torch, 3)
        d = dual(torch, a) * 1
        v = d[1:]
        v.mul_(2)
        v.add_(d[:2].clone())
        (g,) = torch.autograd.grad((d * d).sum(), a)
        return each(torch, d, v, g), d.grad_fn.name(), v.grad_fn.name()


@program
def complex_views(torch):
    with level(torch):
        d = dual(torch, counted(torch, 3, dtype=torch.complex64) * (1 + 1j))
        d = d * 1
        real, imag = d.real, d.imag
        real.mul_(2)
        imag.copy_(real)
        pairs = torch.view_as_real(d)
        pairs[1].mul_(3)
        return each(torch, d, real, imag, pairs)


@program
def jacobian_vector_products_of_programs_that_write(torch):
    def written(x):
        out = torch.zeros(3, 2)
        for i in range(3):
            out[i] = x[:2] * x[i]
        out.t()[0].mul_(out[:, 1].clone())
        out.view(-1)[2:5].sin_()
        return out * x[2]

    x, t = counted(torch, 3), torch.ones(3)
    with level(torch):
        d = torch.autograd.forward_ad.make_dual(x, t)
        result = written(d)
        forward = torch.autograd.forward_ad.unpack_dual(result).tangent
    a = counted(torch, 3).requires_grad_()
    out = written(a)
    rows = [torch.autograd.grad(out.reshape(-1)[i], a, retain_graph=True)[0] for i in range(6)]
    return forward, torch.stack(rows).sum(1)


@program
def duals_and_primals_are_views(torch):
    forward_ad = torch.autograd.forward_ad
    with level(torch):
        x, a, t = counted(torch, 2, 3), leaf(torch, 3), counted(torch, 3)
        d, e = dual(torch, x.t()), forward_ad.make_dual(a, t)
        p, q = (forward_ad.unpack_dual(item).primal for item in (d, e))
        account = [[item._is_view(), item._base is x, item._base is a, item.requires_grad] for item in (d, e, p, q)]
        nodes = [e.grad_fn.name(), q.grad_fn.name(), q.grad_fn.next_functions[0][0].name()]
        written = [attempt(lambda item=item: now(item.mul_(2))) for item in (e, q, d, p)]
        return account, nodes, written, each(torch, d, p), forward_ad.unpack_dual(d).tangent.stride(), now(x)


@program
def what_is_written_and_read_at_once(torch):
    """Where PyTorch's tangents are right: the tangent isn't read after it was written."""
    with level(torch):
        d = dual(torch, counted(torch, 2, 2))
        d.mul_(d.t().clone())
        d[0].add_(d[0])
        return each(torch, d)


@program
def outside_of_the_level(torch):
    x = counted(torch, 2, 2)
    v = x[0]
    with level(torch):
        v.mul_(dual(torch, counted(torch, 2)))
        inside = tangents(torch, x, v)
    x.mul_(2)
    with level(torch):
        return inside, each(torch, x, v), attempt(lambda: tangents(torch, x[1] * 2))


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

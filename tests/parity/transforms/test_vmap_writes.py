"""Views of examples and writes to them inside ``vmap``, on both: what every alias shows, also of what was mapped over,
and the gradients; directed programs, and drawn ones."""

import numpy as np
import pytest
from harness import Programs, agree, attempt

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()
"""Functions of one example, a vector of three; each returns what it has to show."""


@program
def a_write_through_a_view(torch, x):
    x[1:].add_(10)
    return x * 2


@program
def views_of_views(torch, x):
    v = x[1:]
    u = v[:1]
    x.mul_(2)
    u.add_(1)
    return v, u, x * 1


@program
def an_expanded_view(torch, x):
    y = x.expand(2, 3)
    x.add_(1)
    return y * 1


@program
def parts(torch, x):
    y = x.clone()
    a, b, c = y.unbind()
    s = y.split(2)
    y.mul_(5)
    y[0] = 9.0
    return a, b, c, s[0], s[1]


@program
def into_zeros_like_examples(torch, x):
    y = torch.zeros_like(x)
    y[::2] = x[::2]
    y[1] = x.sum()
    return y


@program
def as_strided(torch, x):
    y = x.clone()
    y.as_strided((2,), (2,)).mul_(3)
    return y, y.as_strided((2, 2), (1, 1))


@program
def transposed_and_diagonal(torch, x):
    y = x.outer(x)
    y.t().add_(x)
    y.diagonal().zero_()
    return y


@program
def at_integers(torch, x):
    y = x.clone()
    y[torch.tensor([0, 2])] = x[:2]
    y[torch.tensor([0])] += 1
    y[x.argsort().flip(0)] *= 2
    return y


@program
def another_shape_in_place(torch, x):
    y = x.clone()
    y.unsqueeze_(0)
    y.t_()
    y.squeeze_(1)
    return y


@program
def filled_with_an_example(torch, x):
    x.fill_(x[2])
    return x * 1


@program
def what_all_share(torch, x):
    y = torch.zeros(3)
    y.add_(1)
    return x + y, y


@program
def integers(torch, x):
    y = x.long()
    y[1] = y[0]
    y += x.long()
    return y


@program
def copied_over_itself(torch, x):
    y = x.clone()
    y.copy_(x.flip(0))
    y[:1].copy_(y[2:])
    return y


@program
def through_what_is_detached(torch, x):
    y = x.detach()
    y.mul_(3)
    x[1:].detach()[0] = 7.0
    return x * y, x


@program
def without_recording(torch, x):
    y = x * 1
    with torch.no_grad():
        y.mul_(3)
        y[0] = 5.0
    return y * x


@program
def a_view_from_before(torch, x):
    v = x[0]
    w = x.unfold(0, 2, 1)
    x.add_(1)
    return v * 1, w * 1


@program
def swapped(torch, x):
    y = torch.stack([x, x * 2])
    y[0], y[1] = y[1].clone(), y[0].clone()
    y[:, 1:] = y[:, :-1].clone()
    return y.flatten(), y.view(3, 2)


@program
def by_many_functions(torch, x):
    y = x.clone()
    y.index_add_(0, torch.tensor([0, 0, 1]), x)
    y.scatter_add_(0, torch.tensor([2]), x[:1])
    y.masked_fill_(y > 4, 0.0)
    return y.neg_().abs_()


@program
def complex_numbers(torch, x):
    y = torch.view_as_real(torch.complex(x, x))
    y[..., 0] = 5
    z = torch.complex(x, x)
    z.real.add_(1)
    return y, z.conj() * 1


def examples(torch):
    return torch.arange(6.0).reshape(2, 3)


def as_list(result):
    return list(result) if isinstance(result, tuple) else [result]


def square_sum(torch, results):
    """A number that depends on all results that are recorded."""
    return sum((part * part).sum() for part in results if part.dtype == torch.float32)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values(program):
    def account(torch):
        x = examples(torch)
        y = examples(torch)
        one = as_list(torch.func.vmap(lambda x: program(torch, x))(x))
        two = as_list(torch.func.vmap(torch.func.vmap(lambda x: program(torch, x)), in_dims=0)(y[None]))
        return one, x, two, y

    agree(account)


WITHOUT_GRADIENTS = ("integers", "another_shape_in_place", "what_all_share", "parts")
"""The last is refused by PyTorch where it is recorded: one of several views that a function returned is written to."""


@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.__name__ not in WITHOUT_GRADIENTS], ids=lambda p: p.__name__
)
def test_gradients(program):
    def account(torch):
        func, x, leaf = torch.func, examples(torch), examples(torch).requires_grad_()
        results = as_list(func.vmap(lambda x: program(torch, x))(leaf * 1))
        total = lambda x: square_sum(torch, as_list(program(torch, x * 1)))
        inside = attempt(lambda: func.vmap(func.grad(total))(x))
        outside = func.grad(lambda x: func.vmap(total)(x).sum())(x)
        return torch.autograd.grad(square_sum(torch, results), leaf)[0], inside, outside

    agree(account, rtol=1e-5)


OUTSIDE = {
    "written": lambda torch, x: (torch.func.vmap(lambda a: a.add_(1))(x), x),
    "written in chunks": lambda torch, x: (torch.func.vmap(lambda a: a.add_(1), chunk_size=1)(x), x),
    "columns": lambda torch, x: (torch.func.vmap(lambda a: a.mul_(2).sum(), in_dims=1)(x), x),
    "a part of it": lambda torch, x: (torch.func.vmap(lambda a: a.zero_())(x[:, 1:]), x),
    "nested": lambda torch, x: (torch.func.vmap(torch.func.vmap(lambda a: a.add_(1)))(x), x),
    "returned": lambda torch, x: torch.func.vmap(lambda a: a.add_(1))(x) is x,
    "a leaf": lambda torch, x: torch.func.vmap(lambda a: a.add_(1))(x.requires_grad_()),
    "no leaf": lambda torch, x: torch.func.vmap(lambda a: a.add_(1))(x.requires_grad_() * 1).detach(),
    "what is shared": lambda torch, x: [
        (torch.func.vmap(lambda a, b: a * b.add_(1), in_dims=(0, None))(x, y), y) for y in [x[0].clone()]
    ],
    "by a gradient outside": lambda torch, x: torch.func.grad(
        lambda y: torch.func.vmap(lambda a: a.add_(1))(y).sum()
    )(x),
    "captured by a gradient": lambda torch, x: torch.func.vmap(torch.func.grad(lambda a: (x[0].add_(1) * a).sum()))(x),
}


@pytest.mark.parametrize("program", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_what_was_mapped_over(program):
    agree(lambda torch: attempt(lambda: program(torch, examples(torch))))


# -- drawn programs ----------------------------------------------------------------------------------------------------

VIEWS = {
    (2, 3): [lambda t: t[0], lambda t: t[1], lambda t: t.t(), lambda t: t.view(6)],
    (3, 2): [lambda t: t.t(), lambda t: t[:, 0]],
    (6,): [lambda t: t.view(2, 3), lambda t: t[3:]],
    (3,): [lambda t: t.expand(2, 3).clone(), lambda t: t.flip(0)],
}
WRITES = [
    lambda t, other: t.mul_(2),
    lambda t, other: t.add_(other),
    lambda t, other: t.copy_(other.clone()),
    lambda t, other: t.sub_(1),
    lambda t, other: t.zero_(),
    lambda t, other: t.__setitem__(0, other[-1].clone()),
]


def drawn(seed):
    """A function of one example of shape (2, 3), which takes views, writes to them and computes, as a seed says."""

    def function(torch, x):
        rng = np.random.default_rng(seed)
        pool = [x, x.clone()]
        for _ in range(9):
            t = pool[rng.integers(len(pool))]
            fitting = [other for other in pool if other.shape == t.shape]
            other = fitting[rng.integers(len(fitting))]
            kind = rng.random()
            if kind < 0.4:
                pool.append(VIEWS[tuple(t.shape)][rng.integers(len(VIEWS[tuple(t.shape)]))](t))
            elif kind < 0.8:
                WRITES[rng.integers(len(WRITES))](t, other)
            else:
                pool.append(t.clone() * other.clone())  # PyTorch would refuse later writes to what it has saved
        return tuple(part * 1 for part in pool)

    return function


@pytest.mark.parametrize("seed", range(30))
def test_drawn(seed):
    function = drawn(seed)

    def account(torch):
        x, leaf = torch.arange(12.0).reshape(2, 2, 3) / 8, (torch.arange(12.0).reshape(2, 2, 3) / 8).requires_grad_()
        results = torch.func.vmap(lambda x: function(torch, x))(x)
        recorded = torch.func.vmap(lambda x: function(torch, x))(leaf * 1)
        return [list(results), x, torch.autograd.grad(square_sum(torch, recorded), leaf)[0]]

    agree(account, rtol=1e-5, atol=1e-6)

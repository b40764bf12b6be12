"""Random steps, and random things that users do between calls: compiled they must do what they do when they are not."""

import random

import numpy as np
import pytest
from compiled_programs import compare, leaf

import tapegrad as torch


class World:
    """What a step works on, and what users hold of it."""

    def __init__(self):
        self.w = [leaf(1.0, 2.0, 3.0), leaf(0.5, -1.0, 2.0)]
        self.b = [torch.zeros(3), torch.ones(3)]
        self.views = [self.b[0][1:], self.b[1].detach(), self.w[0].detach()]
        self.h, self.c, self.loss = torch.zeros(3), [torch.ones(3), leaf(1.0, 1.0, 1.0)], torch.zeros(())
        self.rate, self.flag, self.held = 0.1, True, []

    def shown(self):
        held = [thing if isinstance(thing, torch.Tensor) or thing is None else np.array(thing) for thing in self.held]
        return self.w, self.b, self.views, self.h, self.c, self.loss, held


def differentiate(world, x, i):
    loss = ((world.w[i] * x) ** 2).sum()
    loss.backward()
    return loss


def descend(world, x, i):
    with torch.no_grad():
        for p in world.w:
            if p.grad is not None:
                p.sub_(p.grad * world.rate)


def clear(world, x, i):
    for p in world.w:
        p.grad = None


def zero(world, x, i):
    for p in world.w:
        if p.grad is not None:
            p.grad.zero_()


def shrink(world, x, i):
    if world.w[i].grad is not None:
        world.w[i].grad.mul_(0.5)


def swap(world, x, i):
    old = world.b[0] * 1
    world.b[0].copy_(world.b[1])
    world.b[1].copy_(old)
    return old


def average(world, x, i):
    world.h = (0.5 * world.h + world.w[i] * x).detach()
    return world.h


def rebind(world, x, i):
    world.c[0] = world.c[0] * 0.5 + world.b[i]


def descend_anew(world, x, i):
    loss = (world.c[1] * x).sum() ** 2
    (grad,) = torch.autograd.grad(loss, world.c[1])
    world.c[1] = (world.c[1].detach() - 0.01 * grad).requires_grad_()
    return loss.detach()


def remember(world, x, i):
    world.loss = ((world.w[i] * x) ** 2).sum()
    world.loss.backward()
    return world.loss


def double_if(world, x, i):
    if world.flag:
        world.b[i].mul_(2)


STATEMENTS = [
    differentiate, descend, clear, zero, shrink, swap, double_if, average, rebind, descend_anew, remember,
    lambda world, x, i: world.b[i].mul_(0.9).add_(x),
    lambda world, x, i: world.views[i].add_(1.0),
    lambda world, x, i: world.views[i].sum() + world.b[i].sum(),
    lambda world, x, i: world.b[i].copy_(world.b[1 - i]),
    lambda world, x, i: world.b[i].add_(torch.rand(3)),
    lambda world, x, i: x * world.rate,
    lambda world, x, i: world.h.sum() + world.c[0].sum(),
    lambda world, x, i: setattr(world, "h", world.h + 1 if i else world.c[0]),
    lambda world, x, i: world.b[i].__setitem__(1, x[0]),
    lambda world, x, i: (world.w[i] * 2)[1:].sum().backward(),
]  # fmt: skip


def write(world, i, number):
    with torch.no_grad():
        world.w[i].add_(1)
        world.b[i].add_(1)


def freeze(world, i, number):
    world.w[i] = world.w[i].detach().clone().requires_grad_()


def set_rate(world, i, number):
    world.rate /= 2


def set_flag(world, i, number):
    world.flag = not world.flag


ACTS = [
    write, freeze, set_rate, set_flag,
    lambda world, i, number: setattr(world.w[i], "data", torch.full((3,), float(number))),
    lambda world, i, number: setattr(world.w[i], "grad", torch.ones(3) if number % 2 else None),
    lambda world, i, number: world.views[i].mul_(3),
    lambda world, i, number: world.b.__setitem__(i, torch.full((3,), 2.0)),
    lambda world, i, number: world.held.append(world.b[i].numpy()),
    lambda world, i, number: world.held.append(world.b[i].detach().jax()),
    lambda world, i, number: world.held.append(world.b[i].detach()),
    lambda world, i, number: world.held.append(world.w[i].grad),
    lambda world, i, number: torch.manual_seed(number),
    lambda world, i, number: setattr(world, "h", (world.b[i], world.c[0], world.w[i].detach())[number % 3]),
    lambda world, i, number: world.c.__setitem__(0, (world.h, torch.ones(3), world.views[1])[number % 3]),
    lambda world, i, number: world.held.append((world.h, world.c[i])[number % 2]),
    lambda world, i, number: world.h.add_(1),
]  # fmt: skip

RETURNS = [
    lambda world, results: None,
    lambda world, results: results,
    lambda world, results: (results[-1:], results),
    lambda world, results: world.b[0],
    lambda world, results: {"grad": world.w[0].grad, "w": world.w[0]},
    lambda world, results: world.b[0].detach(),
    lambda world, results: world.h,
]


def program_of(seed):
    """A random program: the same for the same seed."""

    def program(wrap):
        chance, world = random.Random(seed), World()
        statements = [(chance.choice(STATEMENTS), chance.randint(0, 1)) for _ in range(chance.randint(1, 5))]
        returned = chance.choice(RETURNS)
        acts = {n: (chance.choice(ACTS), chance.randint(0, 1)) for n in range(3, 12) if chance.random() < 0.35}

        @wrap
        def step(x):
            results = [statement(world, x, i) for statement, i in statements]
            return returned(world, [result for result in results if result is not None])

        def call(number):
            if number in acts:
                act, i = acts[number]
                act(world, i, number)
            return step(world.b[1] if seed % 7 == 0 and number % 3 == 1 else torch.full((3,), float(number % 4)))

        return call, [world.shown]

    return program


@pytest.mark.parametrize("seed", range(24))
def test_random_steps(seed):
    compare(program_of(seed), calls=13)

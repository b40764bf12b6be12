"""Drawn programs in forward mode on both: operators, views and writes on dual and constant tensors; tangents agree."""

import forward_mode  # noqa: F401 - for what it does
import numpy as np
import pytest
from harness import agree, attempt

pytestmark = pytest.mark.parity

UNARY = {
    "sin": lambda torch, x: x.sin(),
    "tanh": lambda torch, x: x.tanh(),
    "sigmoid": lambda torch, x: x.sigmoid(),
    "abs": lambda torch, x: x.abs(),
    "scaled": lambda torch, x: 1 - x * 0.5,
    "clone": lambda torch, x: x.clone(),
    "detach": lambda torch, x: x.detach(),
    "in halves and back": lambda torch, x: x.double().float(),
}
LAST = {
    "mean": lambda torch, x: x.mean(-1),
    "max": lambda torch, x: x.amax(-1),
    "logsumexp": lambda torch, x: x.logsumexp(-1),
    "softmax": lambda torch, x: x.softmax(-1),
    "cumsum": lambda torch, x: x.cumsum(-1),
    "prod": lambda torch, x: x.prod(-1),
    "sum of all": lambda torch, x: x.sum(),
}
VIEWS = {
    "row": lambda torch, x: x[0],
    "column": lambda torch, x: x[..., 1],
    "transpose": lambda torch, x: x.transpose(0, -1),
    "unbind": lambda torch, x: x.unbind(0)[-1],
    "whole": lambda torch, x: x.view_as(x),
    "flipped shape": lambda torch, x: x.reshape(tuple(x.shape)[::-1]),
}
BINARY = {
    "add": lambda torch, x, y: x + y,
    "mul": lambda torch, x, y: x * y,
    "div": lambda torch, x, y: x / (y * y + 1),
    "maximum": lambda torch, x, y: torch.maximum(x, y),
    "where": lambda torch, x, y: torch.where(x > 0, x, y),
    "stack": lambda torch, x, y: torch.stack([x, y])[1],
}
WRITES = {
    "mul_": lambda torch, x, y: x.mul_(y),
    "add_": lambda torch, x, y: x.add_(y, alpha=0.5),
    "copy_": lambda torch, x, y: x.copy_(y),
    "sin_": lambda torch, x, y: x.sin_(),
    "zero_": lambda torch, x, y: x.zero_(),
    "clamp_": lambda torch, x, y: x.clamp_(-0.5, 0.5),
    "fill_": lambda torch, x, y: x.fill_(y.reshape(-1)[0]),
    "all items": lambda torch, x, y: x.__setitem__(..., y),
    "masked_fill_": lambda torch, x, y: x.masked_fill_(x > 0, 0.25),
    "lerp_": lambda torch, x, y: x.lerp_(y, 0.25),
}


class Drawing:
    """A program that is run while it is drawn. Draws depend on the seed and on shapes: both modules run one."""

    def __init__(self, torch, seed, grads=False):
        self.torch, self.rng, self.grads = torch, np.random.default_rng(seed), grads
        self.make_dual = torch.autograd.forward_ad.make_dual
        self.inputs = [self.dual(2, 3), self.dual(3)]
        self.pool = [*(x * 1 if grads else x for x in self.inputs), self.values(2, 3), self.values(3)]
        self.account = []

    def values(self, *shape):
        return self.torch.tensor(self.rng.uniform(-1, 1, shape).tolist())

    def dual(self, *shape):
        return self.make_dual(self.values(*shape).requires_grad_(self.grads), self.values(*shape))

    def one_of(self, choices):
        return choices[self.rng.integers(len(choices))]

    def like(self, x):
        """An operand of the shape of ``x``, or that broadcasts to it."""
        return self.one_of([y for y in self.pool if tuple(y.shape) in (tuple(x.shape), tuple(x.shape)[-1:], ())])

    def with_dimensions(self, count):
        return self.one_of([x for x in self.pool if x.ndim >= count])

    def step(self):
        kind = self.one_of(["unary", "binary", "binary", "last", "view", "view", "write", "write", "write", "matmul"])
        return getattr(self, kind)()

    def apply(self, table, *operands):
        return table[self.one_of(sorted(table))](self.torch, *operands)

    def unary(self):
        self.pool.append(self.apply(UNARY, self.one_of(self.pool)))

    def last(self):
        self.pool.append(self.apply(LAST, self.with_dimensions(1)))

    def binary(self):
        x = self.one_of(self.pool)
        self.pool.append(self.apply(BINARY, x, self.like(x)))

    def view(self):
        self.pool.append(self.apply(VIEWS, self.with_dimensions(1)))

    def matmul(self):
        x = self.with_dimensions(1)
        y = self.one_of([y for y in self.pool if y.ndim and y.shape[0] == x.shape[-1]] or [None])
        self.pool.append((x * x).sum() if y is None else x @ y)

    def write(self):
        """The operand is a copy: where it shares memory with what is written to, PyTorch's tangents are wrong."""
        x = self.one_of(self.pool)
        self.apply(WRITES, x, self.like(x).clone())

    def run(self, steps):
        for _ in range(steps):
            self.account.append(attempt(self.step))
        unpack = self.torch.autograd.forward_ad.unpack_dual
        return [self.account, [[x.shape, *unpack(x)] for x in self.pool]]

    def run_backward(self, steps):
        for _ in range(steps):
            self.account.append(attempt(self.step))
        total = sum((x * x).sum() for x in self.pool)
        grads = self.torch.autograd.grad(total, self.inputs, allow_unused=True, materialize_grads=True)
        unpack = self.torch.autograd.forward_ad.unpack_dual
        return [list(unpack(grad)) for grad in grads]


@pytest.mark.parametrize("seed", range(40))
def test_drawn_programs(seed):
    def program(torch):
        with torch.autograd.forward_ad.dual_level():
            return Drawing(torch, seed).run(12)

    agree(program, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(100, 115))
def test_drawn_programs_forward_over_reverse(seed):
    def program(torch):
        with torch.autograd.forward_ad.dual_level():
            return attempt(lambda: Drawing(torch, seed, grads=True).run_backward(8))

    agree(program, rtol=1e-3, atol=1e-4)

"""Backward hands its work to the device and doesn't wait for it: nothing that it computes is read on the host."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
import tapegrad.nn.functional as F
from tapegrad._src.tensor.tensor import value_of

READERS = ("__array__", "__bool__", "__float__", "__int__", "__complex__", "__index__", "__iter__", "__dlpack__")
METHODS = ("item", "tolist", "block_until_ready", "unsafe_buffer_pointer", "is_ready")


@pytest.fixture(autouse=True)
def by_xla():
    """What NumPy computes is there when the call returns."""
    with torch.execution.tiers("xla"):
        yield


@pytest.fixture
def reads(monkeypatch):
    """The names of whatever read an array, or waited for one, so far; NumPy's functions take the buffer itself."""
    seen, array = [], type(jnp.zeros(()))

    def watch(owner, name, reads_array):
        original = getattr(owner, name)

        def watched(*args, **keywords):
            if reads_array(args[0]):
                seen.append(name)
            return original(*args, **keywords)

        monkeypatch.setattr(owner, name, watched)

    for name in (*READERS, *METHODS):
        watch(array, name, lambda value: True)
    for name in ("asarray", "array"):
        watch(np, name, lambda value: isinstance(value, array))
    for name in ("device_get", "block_until_ready"):
        watch(jax, name, lambda value: True)
    return seen


def leaf(*shape):
    return torch.linspace(-1.0, 2.0, int(np.prod(shape))).reshape(shape).requires_grad_()


def mlp():
    w, v = leaf(2, 3), leaf(2, 3)
    return ((torch.ones(2, 2) @ w).tanh() * v).relu().mean()


def classifier():
    logits, table = leaf(2, 3), leaf(2, 3)
    index = torch.tensor([1, 0])
    return F.cross_entropy(logits + F.embedding(index, table), index) + F.dropout(table[index], 0.5).sum()


def writes():
    x, y = leaf(2, 3), leaf(3)
    z = x * 1.0
    z[0] = y
    z[:, 1].mul_(2.0)
    return (z.cumprod(1) + z.sort(0).values).prod()


def shared_weight():
    w = leaf(2, 3)
    return ((w * w).exp() + w + w.where(w > 0, 2 * w)).sum()


def mixed_types():
    x, n = leaf(3), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    return (x * n).norm() + n.var() + (x**2.0).max()


def custom():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            return 3 * grad * ctx.saved_tensors[0] ** 2

    x = leaf(3)
    y = Cube.apply(x)
    y.register_hook(lambda grad: grad * 2)
    y.retain_grad()
    return y.sum()


PROGRAMS = [mlp, classifier, writes, shared_weight, mixed_types, custom]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_backward_reads_nothing(program, reads):
    loss = program()
    reads.clear()
    loss.backward(retain_graph=True)
    loss.backward()
    assert reads == []


def test_grad_reads_nothing(reads):
    x = leaf(2, 3)
    y = (x.exp() @ x.t()).tanh()
    reads.clear()
    (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    torch.autograd.grad(grad.sum(), x)
    assert reads == []


def test_accumulating_reads_nothing(reads):
    x = torch.ones(1 << 16, requires_grad=True)
    reads.clear()
    for _ in range(4):
        sum(x * float(i) for i in range(4)).sum().backward()
    assert reads == []
    assert float(x.grad[0]) == 24


READS = {
    "item": lambda x: x.sum().item(),
    "numpy": lambda x: x.detach().numpy(),
    "tolist": lambda x: x.tolist(),
    "a condition": lambda x: bool(x.sum() > 0),
    "waiting": lambda x: jax.block_until_ready(value_of(x)),
    "a checked index": lambda x: x[torch.tensor([0])],
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_in_backward_would_be_noticed(read, reads):
    x, kept = leaf(3), []
    x.register_hook(lambda grad: kept.append(read(grad)))
    loss = x.sum()
    reads.clear()
    loss.backward()
    assert reads

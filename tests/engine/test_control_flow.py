"""Control flow beyond what PyTorch does: loops that are one node, what can't be traced, jax's, ``vmap``."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tapegrad as torch
from tapegrad import nn
from tapegrad._higher_order_ops import associative_scan, scan, while_loop
from tapegrad._higher_order_ops import map as mapped
from tapegrad.interop import to_jax

XS = np.random.default_rng(0).normal(size=(12, 4))
W = torch.tensor(np.random.default_rng(1).normal(size=(4, 4)), requires_grad=True)
TURNED = W.t()
BIASED = nn.GRUCell(4, 4).double()
ORDER = torch.tensor([3, 0, 1, 2])


@pytest.fixture(autouse=True)
def long_enough(monkeypatch):
    """Loops of a few steps are one operator here."""
    monkeypatch.setattr(importlib.import_module("tapegrad._higher_order_ops.scan"), "LONG", 2)


class Rounded(torch.autograd.Function):
    """Rounds, with a gradient of three."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


def silently(h, x):
    with torch.no_grad():
        s = h * 2
    return h * 0.5 + s * x, h * s


def nested(h, x):
    carry, ys = scan(lambda c, z: (c * 0.9 + z, c * z), h, x.expand(10, 4))
    return carry * 0.1, ys.sum(0)


TRACED = {
    "a module": lambda h, x: ((r := BIASED(h[None], x[None])[0]), r * 1),
    "a view from outside": lambda h, x: (h @ TURNED * 0.3 + W[0] + x, h),
    "detached": lambda h, x: (h.detach() * 0.5 + x * h, h * x),
    "data": lambda h, x: (h.data * 0.5 + x * W.data[0] * h, h * x),
    "no_grad": silently,
    "indices": lambda h, x: (h[ORDER] * 0.5 + x, h[0] * x),
    "a kink": lambda h, x: (torch.relu(h @ W) * 0.1 + x, h.abs()),
    "several results": lambda h, x: (h.max() * x * 0.1, h.sort().values),
    "complex numbers": lambda h, x: ((h + 1j * x).abs() * 0.3, torch.view_as_real((h + 1j * x) ** 2)),
    "constants": lambda h, x: (torch.ones(4) * h * 0.5, torch.arange(4.0) + x),
    "what it was given": lambda h, x: (h, x),
    "a scan": nested,
}
BY_PYTHON = {
    "a custom function": lambda h, x: (Rounded.apply(h) * 0.3 + x, h * 2),
    "a write": lambda h, x: ((r := (h + x).mul_(2)) * 0.1, r * h),
    "a number": lambda h, x: (h * 0.1 + x.sum().item(), h * x),
    "a choice": lambda h, x: ((h * 0.1 if x.sum() > 0 else h * 0.2) + x, h * 1),
}
STEPS = TRACED | BY_PYTHON


def one_by_one(step, h, xs):
    rows = []
    for x in xs.unbind():
        h, row = step(h, x)
        rows.append(row)
    return h, torch.stack(rows)


@pytest.mark.parametrize("name", STEPS)
def test_a_scan_is_its_steps(name):
    found = []
    for loop in (one_by_one, scan):
        h, xs = (torch.tensor(part, requires_grad=True) for part in (XS[0] / 9, XS))
        carry, rows = loop(STEPS[name], h, xs)
        leaves = [h, xs, W, *BIASED.parameters()]
        loss = carry.sin().sum() + rows.sin().sum()
        first = torch.autograd.grad(loss, leaves, create_graph=True, materialize_grads=True)
        second = torch.autograd.grad(sum((g * g).sum() for g in first), leaves, materialize_grads=True)
        found.append([one.detach().numpy() for one in (loss, *first, *second)])
    assert rows.grad_fn.name() == ("ScanAutogradOpBackward" if name in TRACED else "StackBackward0")
    for plain, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-11)


def test_a_step_that_draws_numbers_draws_new_ones():
    torch.manual_seed(0)
    expected = [torch.rand(2) for _ in range(9)]
    torch.manual_seed(0)
    _, rows = scan(lambda h, x: (h * 1, torch.rand(2) + x), torch.zeros(2), torch.zeros(9, 2))
    assert torch.equal(rows, torch.stack(expected))


def test_a_step_may_write_to_buffers():
    norm = nn.BatchNorm1d(4).double()
    scan(lambda h, x: (h * 1, norm(torch.stack([x, h]))), torch.tensor(XS[0]), torch.tensor(XS))
    assert norm.num_batches_tracked.item() == len(XS) and norm.running_mean.isfinite().all()


def test_what_a_step_reads_is_read_anew():
    scale, xs = [1.0], torch.ones(9)
    step = lambda total, x: (total + x * scale[0], total * 1)
    first = scan(step, torch.tensor(0.0), xs)[0].item()
    scale[0] = -0.0
    assert (first, scan(step, torch.tensor(0.0), xs)[0].item()) == (9.0, 0.0)


TRANSFORMS = {
    "grad": lambda f: torch.func.grad(lambda h: f(h)[1].sum())(torch.tensor(XS[0])),
    "jvp": lambda f: torch.func.jvp(f, (torch.tensor(XS[0]),), (torch.tensor(XS[1]),)),
    "vmap": lambda f: torch.vmap(f)(torch.tensor(XS)),
    "hessian": lambda f: torch.func.hessian(lambda h: f(h)[1].sum())(torch.tensor(XS[0])),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name):
    step = lambda h, x: ((h @ W.detach()).tanh() + x, h * x)
    ours, plain = (TRANSFORMS[name](lambda h, f=f: f(step, h, torch.tensor(XS))) for f in (scan, one_by_one))
    for one, other in zip(*(torch.utils._pytree.tree_leaves(tree) for tree in (ours, plain)), strict=True):
        torch.testing.assert_close(one, other)


def test_examples_choose_for_themselves():
    choose = lambda p, x: torch.cond(p > 0, lambda x: x.sin(), lambda x: x * x, (x,))
    x = torch.tensor([1.0, 2.0])
    mapped_choose = lambda x: torch.vmap(choose)(torch.tensor([1.0, -1.0]), x)
    assert torch.equal(mapped_choose(x), torch.stack([x[0].sin(), x[1] ** 2]))
    assert torch.equal(torch.func.grad(lambda x: mapped_choose(x).sum())(x), torch.stack([x[0].cos(), 2 * x[1]]))


def test_examples_end_for_themselves():
    double = lambda x: while_loop(lambda x: x < 10, lambda x: (x * 2,), (x,))[0]
    x = torch.tensor([1.0, 3.0, 20.0])
    assert torch.vmap(double)(x).tolist() == [16, 12, 20]
    assert torch.func.grad(lambda x: torch.vmap(double)(x).sum())(x).tolist() == [16, 4, 1]


JAX = {
    "cond": (lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * x, (x,)), lambda x: x * x),
    "while": (lambda x: while_loop(lambda x: x.sum() > -50, lambda x: (x * 2,), (x,))[0], lambda x: x * 2),
    "scan": (lambda x: scan(lambda c, x: (c + x, c * 1), torch.zeros(()), x)[0], jnp.sum),
    "vmap": (lambda x: mapped(lambda x: x.sin(), x), jnp.sin),
    "associative_scan": (lambda x: associative_scan(torch.add, x, 0, combine_mode="generic"), jnp.cumsum),
}


@pytest.mark.parametrize("name", JAX)
def test_in_what_jax_traces_it_is_control_flow_of_jax(name):
    ours, theirs = JAX[name]
    x = -jnp.arange(9.0)
    assert name in ("vmap", "associative_scan") or f"{name}[" in str(jax.make_jaxpr(to_jax(ours))(x))
    np.testing.assert_allclose(jax.jit(to_jax(ours))(x), theirs(x), rtol=1e-6)
    if name != "while":
        np.testing.assert_allclose(*(jax.grad(lambda x, f=f: f(x).sum())(x) for f in (to_jax(ours), theirs)), rtol=1e-5)


def test_a_compiled_step_chooses_at_run_time():
    @torch.compile
    def step(x):
        y = torch.cond(x.sum() > 0, lambda x: x.sin() * W[0], lambda x: x * x, (x,))
        (grad,) = torch.autograd.grad(y.sum(), x)
        return y.detach(), grad

    for sign in (1, -1, 1, -1):
        x = (sign * torch.tensor(np.abs(XS[0]))).requires_grad_()
        y, grad = step(x)
        expected = x.sin() * W[0] if sign > 0 else x * x
        torch.testing.assert_close(y, expected.detach())
        torch.testing.assert_close(grad, torch.autograd.grad(expected.sum(), x)[0])


def looped(x):
    """``x`` doubled until its sum is over 100: how often that is depends on the numbers."""
    count = torch.zeros((), dtype=torch.int64)
    return torch.while_loop(lambda n, x: x.sum() < 100, lambda n, x: (n + 1, x * 2), (count, x))


def test_a_loop_of_a_compiled_step_is_one_that_ends_at_run_time():
    step = torch.compile(looped)
    for start in (1.0, 2.0, 3.0, 1.0):
        step(torch.full((3,), start))
    torch.execution.wait_for_compiler()
    for start in (40.0, 0.25, 1.0, 5.0):
        x = torch.full((3,), start)
        for ours, expected in zip(step(x), looped(x), strict=True):
            torch.testing.assert_close(ours, expected)
    assert "replayed" in str(step.report()).partition("kind 1:")[2]


def test_a_loop_of_a_compiled_step_with_gradients_is_run_by_python():
    x = torch.full((3,), 2.0, requires_grad=True)
    torch.compile(looped)(x)[1].sum().backward()
    assert x.grad.tolist() == [32.0] * 3


def test_branches_that_differ_are_refused():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="expected same dim but got 1 and 0"):
        torch.cond(torch.tensor(True), lambda x: x * 2, lambda x: x.sum(), (x,))


def test_branches_may_write():
    x = torch.ones(2)
    torch.cond(torch.tensor(True), lambda x: x.add_(1), lambda x: x * 2, (x,))
    assert x.tolist() == [2, 2]


def test_a_short_loop_is_run_by_python(monkeypatch):
    monkeypatch.undo()
    h, xs = torch.zeros(2, requires_grad=True), torch.ones(3, 2)
    carry, rows = scan(lambda h, x: (h + x, h * x), h, xs)
    assert carry.grad_fn.name() == "AddBackward0" and rows.tolist() == [[0, 0], [1, 1], [2, 2]]

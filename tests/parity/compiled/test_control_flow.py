"""``cond``, ``while_loop``, ``scan``, ``associative_scan`` and ``map``: values, gradients and refusals as PyTorch's."""

import importlib

import numpy as np
import pytest
import torch

import tapegrad

pytestmark = [
    pytest.mark.parity, pytest.mark.once("PyTorch compiles each of them"), pytest.mark.filterwarnings("ignore")
]  # fmt: skip

DATA = np.random.default_rng(0).normal(size=(3, 9, 4))


@pytest.fixture(autouse=True)
def long_enough(monkeypatch):
    """Loops of a few steps are one operator here."""
    monkeypatch.setattr(importlib.import_module("tapegrad._higher_order_ops.scan"), "LONG", 2)


def flow(m):
    """The functions of either library."""
    return importlib.import_module(f"{m.__name__}._higher_order_ops")


class Given:
    """What programs take: tensors that require grad, and one that steps capture."""

    def __init__(self, m):
        self.m, self.flow = m, flow(m)
        self.x, self.xs, self.other = (m.tensor(part, requires_grad=True) for part in (DATA[0, 0], DATA[1], DATA[2]))
        self.w = m.tensor(DATA[0, :4], requires_grad=True)
        self.leaves = [self.x, self.xs, self.other, self.w]


def cell(g):
    return lambda h, x: ((h @ g.w + x).tanh(), {"double": h * 2, "sum": (h + x).sum()})


def affine(a, b):
    return {"m": a["m"] * b["m"], "b": a["b"] * b["m"] + b["b"]}


PROGRAMS = {
    "cond": lambda g: g.m.cond(g.x.sum() > 0, lambda x: x.sin() @ g.w, lambda x: (x * x) @ g.w, (g.x,)),
    "cond, the other": lambda g: g.m.cond(g.x.sum() <= 0, lambda x: x.sin() @ g.w, lambda x: x * x, (g.x,)),
    "cond of a tree": lambda g: g.m.cond(g.m.tensor([1]), lambda t: {"a": t["b"][0] * 2},
                                         lambda t: {"a": t["b"][0] * 3}, ({"b": [g.x]},)),
    "cond of a bool": lambda g: g.m.cond(g.x.shape[0] > 4, lambda x: x.sin(), lambda x: x.cos(), (g.x,)),
    "cond without operands": lambda g: g.m.cond(g.m.tensor(False), lambda: g.x.sin(), lambda: g.x.cos()),
    "cond of ints": lambda g: g.m.cond(g.m.tensor(True), lambda: 3, lambda: 4),
    "while_loop": lambda g: g.flow.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x.sin() @ g.w),
                                              (g.m.tensor(0), g.x)),
    "while_loop of an int": lambda g: g.flow.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x * 2),
                                                        (0, g.x.detach())),
    "while_loop that never begins": lambda g: g.flow.while_loop(lambda x: x.sum() < -99, lambda x: (x * 2,),
                                                               (g.x.detach(),)),
    "scan": lambda g: g.flow.scan(cell(g), g.x, g.xs),
    "scan in reverse": lambda g: g.flow.scan(cell(g), g.x, g.xs, reverse=True),
    "scan along the last dimension": lambda g: g.flow.scan(lambda c, x: (c + x, c * x.sin()), g.xs[:, 0] * 1, g.xs,
                                                           dim=-1),
    "scan of trees": lambda g: g.flow.scan(
        lambda c, x: ([c[0] + x["a"], c[1] * 0.5], [c[0] * x["b"], x["a"] + c[1]]), [g.x, g.x * 2],
        {"a": g.xs, "b": g.other},
    ),
    "scan without results": lambda g: g.flow.scan(lambda c, x: (c + x, []), g.x.detach(), g.xs.detach()),
    "scan without slices": lambda g: g.flow.scan(lambda c, x: (c + x, c * x), g.x, []),
    "associative_scan": lambda g: g.flow.associative_scan(lambda a, b: a * b, g.xs, 0, combine_mode="generic"),
    "associative_scan in reverse": lambda g: g.flow.associative_scan(affine, {"m": g.xs, "b": g.other}, 1, reverse=True,
                                                                     combine_mode="generic"),
    "associative_scan of matrices": lambda g: g.flow.associative_scan(lambda a, b: (a @ b) * g.x, g.other[:8].reshape(
        2, 4, 4), 0, combine_mode="generic"),
    "map": lambda g: g.flow.map(lambda x: (x @ g.w).sin(), g.xs),
    "map with arguments": lambda g: g.flow.map(lambda x, y, n: {"a": x[0] * y, "b": x[1].sum() * n}, [g.xs, g.other],
                                               g.x, 3),
}  # fmt: skip


def leaves_of(m, result):
    return m.utils._pytree.tree_leaves(result)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name):
    found = []
    for m in (torch, tapegrad):
        given = Given(m)
        outputs = leaves_of(m, PROGRAMS[name](given))
        losses = [out.sin().sum() for out in outputs if isinstance(out, m.Tensor) and out.requires_grad]
        if losses:
            sum(losses).backward()
        shown = [out.detach().numpy() if isinstance(out, m.Tensor) else out for out in outputs]
        found.append((shown, [np.zeros(()) if x.grad is None else x.grad.numpy() for x in given.leaves]))
    (values, grads), (our_values, our_grads) = found
    for theirs, ours in zip([*values, *grads], [*our_values, *our_grads], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["scan", "map"])
def test_a_loop_is_one_node(name):
    nodes = [leaves_of(m, PROGRAMS[name](Given(m)))[0].grad_fn for m in (torch, tapegrad)]
    assert nodes[1].name() == nodes[0].name() and len(nodes[1].next_functions) == len(nodes[0].next_functions)


def stepped(m, combine, carry, xs):
    """A scan as Python runs it: PyTorch's own has wrong gradients of gradients."""
    rows = []
    for x in xs.unbind():
        carry, row = combine(carry, x)
        rows.append(list(row.values()))
    return [carry, *(m.stack(column) for column in zip(*rows, strict=True))]


def test_gradients_of_gradients():
    found = []
    for m in (torch, tapegrad):
        g = Given(m)
        outputs = stepped(m, cell(g), g.x, g.xs) if m is torch else leaves_of(m, g.flow.scan(cell(g), g.x, g.xs))
        first = m.autograd.grad(sum(out.sin().sum() for out in outputs), [g.x, g.xs, g.w], create_graph=True)
        second = m.autograd.grad(sum((one * one).sum() for one in first), [g.x, g.xs, g.w])
        found.append([one.detach().numpy() for one in (*first, *second)])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


def twice(x):
    return x * 2


REFUSED = {
    "cond of several": lambda g: g.m.cond(g.x > 0, twice, twice, (g.x,)),
    "cond of a string": lambda g: g.m.cond("yes", twice, twice, (g.x,)),
    "cond of no functions": lambda g: g.m.cond(g.m.tensor(True), 3, twice, (g.x,)),
    "cond of a tensor": lambda g: g.m.cond(g.m.tensor(True), twice, twice, g.x.detach()),
    "cond of numbers": lambda g: g.m.cond(g.m.tensor(True), twice, twice, (1.0,)),
    "cond, other dimensions": lambda g: g.m.cond(g.m.tensor(True), twice, lambda x: x.sum(), (g.x,)),
    "cond, other dtypes": lambda g: g.m.cond(g.m.tensor(True), twice, lambda x: x.float(), (g.x,)),
    "cond, other trees": lambda g: g.m.cond(g.m.tensor(True), twice, lambda x: (x * 2, x * 3), (g.x,)),
    "while_loop of no functions": lambda g: g.flow.while_loop(3, twice, (g.x,)),
    "while_loop of floats": lambda g: g.flow.while_loop(lambda n: n < 3, twice, (0.0,)),
    "while_loop, a condition of one element": lambda g: g.flow.while_loop(lambda x: x[:1] < 3, twice, (g.x,)),
    "while_loop, a condition that is no bool": lambda g: g.flow.while_loop(lambda x: x.sum(), twice, (g.x,)),
    "while_loop, another shape": lambda g: g.flow.while_loop(lambda x: x.sum() < 99, lambda x: (x.sum(),), (g.x,)),
    "while_loop, another dtype": lambda g: g.flow.while_loop(lambda x: x.sum() < 99, lambda x: (x.float(),), (g.x,)),
    "scan over nothing there": lambda g: g.flow.scan(lambda c, x: (c, x), g.x, g.xs, dim=4),
    "scan, reverse=1": lambda g: g.flow.scan(lambda c, x: (c, x), g.x, g.xs, reverse=1),
    "scan of no function": lambda g: g.flow.scan(3, g.x, g.xs),
    "scan without a start": lambda g: g.flow.scan(lambda c, x: (c, x), [], g.xs),
    "scan from a float": lambda g: g.flow.scan(lambda c, x: (c, x), 1.0, g.xs),
    "scan over a float": lambda g: g.flow.scan(lambda c, x: (c, x), g.x, [g.xs, 1.0]),
    "scan over no slices": lambda g: g.flow.scan(lambda c, x: (c, x), g.x, g.xs[:0]),
    "scan, another dtype": lambda g: g.flow.scan(lambda c, x: ((c + x).float(), c * x), g.x, g.xs),
    "associative_scan of no function": lambda g: g.flow.associative_scan(3, g.xs, 0, combine_mode="generic"),
    "associative_scan, no mode": lambda g: g.flow.associative_scan(twice, g.xs, 0, combine_mode="all"),
    "associative_scan on a CPU": lambda g: g.flow.associative_scan(twice, g.xs, 0),
    "associative_scan, reverse=1": lambda g: g.flow.associative_scan(twice, g.xs, 0, 1, "generic"),
    "associative_scan of a float": lambda g: g.flow.associative_scan(twice, [g.xs, 1.0], 0, combine_mode="generic"),
    "associative_scan of nothing": lambda g: g.flow.associative_scan(twice, g.xs[:0], 0, combine_mode="generic"),
    "associative_scan of two": lambda g: g.flow.associative_scan(lambda a, b: (a, b), g.xs, 0, combine_mode="generic"),
    "map of a float": lambda g: g.flow.map(twice, 3.0),
    "map over no slices": lambda g: g.flow.map(twice, g.xs[:0]),
    "map over slices of two numbers": lambda g: g.flow.map(lambda x: x[0] * 2, [g.xs, g.xs[:2]]),
}  # fmt: skip


def refusal(m, name):
    torch._dynamo.reset()  # which gives lengths names when it has seen several
    with pytest.raises((RuntimeError, ValueError, AssertionError, IndexError)) as caught:
        REFUSED[name](Given(m))
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    """The sentences are PyTorch's; what its compiler says around them, and of its tensors, is not."""
    ours, theirs = refusal(tapegrad, name), refusal(torch, name)
    builtin = next(kind for kind in type(theirs).__mro__ if kind.__module__ == "builtins")
    assert isinstance(ours, builtin)
    sentence = str(ours).partition(", where lhs")[0].replace("tapegrad.Tensor", "torch.Tensor")
    assert sentence in str(theirs).replace("\\n", "\n")


def test_where_they_are():
    for name in ("cond", "while_loop", "scan", "associative_scan", "map"):
        places = [importlib.import_module(f"{m.__name__}._higher_order_ops.{name}") for m in (torch, tapegrad)]
        assert all(callable(getattr(place, name)) for place in places)
        assert callable(getattr(tapegrad._higher_order_ops, name))
    assert tapegrad.cond is tapegrad._higher_order_ops.cond


def test_the_gradient_of_a_loop_that_never_begins():
    """PyTorch's is that of one step."""
    x = tapegrad.ones(2, requires_grad=True)
    (y,) = tapegrad._higher_order_ops.while_loop(lambda x: x.sum() < 0, lambda x: (x * 2,), (x,))
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]

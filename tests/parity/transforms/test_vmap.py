"""``vmap`` on both: which dimension of what is mapped over, where it goes, and what is refused with which words."""

import functools
from collections import namedtuple

import pytest
from harness import agree, attempt

pytestmark = pytest.mark.parity

Pair = namedtuple("Pair", "first second")


def given(torch):
    """A matrix whose rows or columns are examples, and a tensor of three dimensions."""
    return torch.arange(6.0).reshape(2, 3), torch.arange(24.0).reshape(2, 3, 4)


DIMENSIONS = {
    "negative": lambda vmap, torch, x, y: vmap(lambda a: a * 2, in_dims=-1, out_dims=-1)(x),
    "shared": lambda vmap, torch, x, y: vmap(lambda a, b: a * b, in_dims=(1, None))(x, torch.tensor([1.0, 2.0])),
    "out": lambda vmap, torch, x, y: [vmap(lambda a: a, out_dims=place)(y) for place in (0, 1, 2, -1, -2, -3)],
    "nested": lambda vmap, torch, x, y: vmap(
        vmap(lambda a, b: a.sum() * b, in_dims=(0, None)), in_dims=(2, 0)
    )(y, torch.arange(4.0)),
    "three deep": lambda vmap, torch, x, y: vmap(vmap(vmap(lambda a: a + 1)))(y),
    "three deep, turned": lambda vmap, torch, x, y: vmap(
        vmap(vmap(lambda a: a * 2, out_dims=0), in_dims=1, out_dims=1), out_dims=2
    )(y),
    "trees": lambda vmap, torch, x, y: list(
        vmap(lambda d: (d["a"] + d["b"][0], Pair(d["a"], (d["b"][1],))))({"a": x, "b": [x, x * 2]})
    ),
    "a dict": lambda vmap, torch, x, y: vmap(lambda d: {"s": d["a"], "t": {"u": d["a"].sum()}})({"a": x}),
    "dimensions of trees": lambda vmap, torch, x, y: vmap(
        lambda d, e: d["a"] + d["b"] + e, in_dims=({"a": 0, "b": None}, 1)
    )({"a": x, "b": torch.ones(())}, x.T),
    "dimensions of a list": lambda vmap, torch, x, y: vmap(lambda l: l[0] + l[1], in_dims=([0, None],))(
        [x, torch.ones(3)]
    ),
    "outputs in a tree": lambda vmap, torch, x, y: vmap(lambda a: (a, {"k": a.sum()}), out_dims=(1, {"k": 0}))(x),
    "one output in a tuple": lambda vmap, torch, x, y: vmap(lambda a: (a,))(x),
    "a tuple for one output": lambda vmap, torch, x, y: vmap(lambda a: a, out_dims=(1,))(x),
    "lists": lambda vmap, torch, x, y: vmap(lambda a: [a, a], out_dims=[0, 1])(x),
    "none": lambda vmap, torch, x, y: vmap(lambda a: (a, 3, torch.ones(2)), out_dims=(0, None, None))(x),
    "keywords are shared": lambda vmap, torch, x, y: vmap(lambda a, *, b: a + b)(x, b=torch.ones(3)),
    "no tensors": lambda vmap, torch, x, y: vmap(lambda a, b: a * b, in_dims=(0, None))(x, 2),
    "nothing to map over": lambda vmap, torch, x, y: vmap(lambda a: a * 2)(torch.zeros(0, 3)),
    "captured": lambda vmap, torch, x, y: [vmap(lambda a: y, out_dims=place)(x) for place in (0, 1)],
    "captured twice": lambda vmap, torch, x, y: vmap(vmap(lambda a: y))(x),
    "an input itself": lambda vmap, torch, x, y: [
        vmap(lambda a: a, in_dims=place, out_dims=out)(x) is x for place in (0, 1) for out in (0, 1, -1)
    ],
    "dtypes of scalars": lambda vmap, torch, x, y: vmap(lambda a, b: a + b)(
        torch.arange(2.0, dtype=torch.float64), torch.ones(2, 3)
    ),
    "what examples look like": lambda vmap, torch, x, y: vmap(
        lambda a: a * a.ndim + a.shape[0] + a.size(-1) + a.numel() + len(a) + a.stride()[0] + a.dim()
    )(x),
    "chunks": lambda vmap, torch, x, y: [
        vmap(lambda a, b: (a * b, b.sum()), in_dims=(1, None), out_dims=(1, 0), chunk_size=size)(y, torch.ones(4))
        for size in (1, 2, 3, 5)
    ],
    "chunks of trees": lambda vmap, torch, x, y: vmap(lambda d: {"a": d["a"]}, chunk_size=1)({"a": x}),
    "the function's name": lambda vmap, torch, x, y: vmap(given).__name__,
}  # fmt: skip


@pytest.mark.parametrize("program", DIMENSIONS.values(), ids=DIMENSIONS.keys())
def test_dimensions(program):
    agree(lambda torch: program(torch.func.vmap, torch, *given(torch)))


REFUSED = {
    "no such dimension": lambda vmap, torch, x: vmap(lambda a: a, in_dims=2)(x),
    "no such negative dimension": lambda vmap, torch, x: vmap(lambda a: a, in_dims=-3)(x),
    "no such dimension of the output": lambda vmap, torch, x: vmap(lambda a: a, out_dims=3)(x),
    "no such negative dimension of the output": lambda vmap, torch, x: vmap(lambda a: a, out_dims=-4)(x),
    "a text": lambda vmap, torch, x: vmap(lambda a: a, in_dims="x")(x),
    "a text for the output": lambda vmap, torch, x: vmap(lambda a: a, out_dims="x")(x),
    "a dict for a tensor": lambda vmap, torch, x: vmap(lambda a: a, in_dims=({"a": 0},))(x),
    "a float": lambda vmap, torch, x: vmap(lambda a: a, in_dims=(1.0,))(x),
    "a list for a tuple": lambda vmap, torch, x: vmap(lambda a: a[0], in_dims=[0, None])([x, x]),
    "a tuple for a list": lambda vmap, torch, x: vmap(lambda a: a[0], in_dims=((0, 0),))([x, x]),
    "an absent key": lambda vmap, torch, x: vmap(lambda a: a["a"], in_dims=({"a": 0},))({"a": x, "b": x}),
    "nothing is mapped": lambda vmap, torch, x: vmap(lambda a: a, in_dims=None)(x),
    "a number is mapped": lambda vmap, torch, x: vmap(lambda a, b: a * b)(x, 2),
    "no arguments": lambda vmap, torch, x: vmap(lambda: torch.ones(2))(),
    "a scalar": lambda vmap, torch, x: vmap(lambda a: a)(torch.tensor(1.0)),
    "other sizes": lambda vmap, torch, x: vmap(lambda a, b: a)(x, x.T),
    "a number as the output": lambda vmap, torch, x: vmap(lambda a: 3.0)(x),
    "no output": lambda vmap, torch, x: vmap(lambda a: None)(x),
    "a number beside the output": lambda vmap, torch, x: vmap(lambda a: (a, 1))(x),
    "a text in a tree": lambda vmap, torch, x: vmap(lambda a: {"a": a, "b": "s"})(x),
    "an example as if it were none": lambda vmap, torch, x: vmap(lambda a: (a, a), out_dims=(0, None))(x),
    "too few dimensions of outputs": lambda vmap, torch, x: vmap(lambda a: (a, a.sum()), out_dims=(1,))(x),
    "too many dimensions of outputs": lambda vmap, torch, x: vmap(lambda a: a, out_dims=(1, 0))(x),
    "a list of dimensions for a tuple": lambda vmap, torch, x: vmap(lambda a: (a, a), out_dims=[0, 1])(x),
    "an empty chunk": lambda vmap, torch, x: vmap(lambda a: a, chunk_size=0)(x),
    "a negative chunk": lambda vmap, torch, x: vmap(lambda a: a, chunk_size=-1)(x),
    "another randomness": lambda vmap, torch, x: vmap(lambda a: a, randomness="x")(x),
    "a partial function": lambda vmap, torch, x: vmap(functools.partial(lambda b, a: 1, 2))(x),
    "a function of PyTorch": lambda vmap, torch, x: vmap(torch.sin)(2),
    "a dimension that an example hasn't": lambda vmap, torch, x: vmap(lambda a: a.sum(1))(x),
    "too many indices": lambda vmap, torch, x: vmap(lambda a: a[1, 1])(x),
}


@pytest.mark.parametrize("program", REFUSED.values(), ids=REFUSED.keys())
def test_refused(program):
    agree(lambda torch: attempt(lambda: program(torch.func.vmap, torch, given(torch)[0])))


BATCHED = {
    "a basis": lambda torch, y, w: torch.autograd.grad(y, w, torch.eye(3), is_grads_batched=True),
    "recorded": lambda torch, y, w: torch.autograd.grad(y, w, torch.eye(3), is_grads_batched=True, create_graph=True),
    "one that does not depend": lambda torch, y, w: torch.autograd.grad(
        y, (w, torch.ones(1, requires_grad=True)), torch.eye(3), is_grads_batched=True, allow_unused=True
    ),
    "no batch": lambda torch, y, w: torch.autograd.grad(y, w, torch.ones(3), is_grads_batched=True),
    "another shape": lambda torch, y, w: torch.autograd.grad(y, w, torch.ones(3, 2), is_grads_batched=True),
    "none": lambda torch, y, w: torch.autograd.grad(y.sum(), w, None, is_grads_batched=True),
    "other batches": lambda torch, y, w: torch.autograd.grad(
        (y, w * 3), w, (torch.eye(3), torch.ones(2, 3)), is_grads_batched=True
    ),
    "a dimension too many": lambda torch, y, w: torch.autograd.grad(
        y, w, torch.ones(2, 1, 3), is_grads_batched=True
    ),
    "one is none": lambda torch, y, w: torch.autograd.grad((y, w), w, (torch.eye(3), None), is_grads_batched=True),
}


@pytest.mark.parametrize("program", BATCHED.values(), ids=BATCHED.keys())
def test_batched_gradients(program):
    def account(torch):
        w = torch.ones(3, requires_grad=True)
        y = w * w
        found = attempt(lambda: program(torch, y, w))
        return found if isinstance(found, list) else [None if g is None else g.detach() for g in found]

    agree(account)

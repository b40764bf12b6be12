"""Random numbers inside ``vmap`` on both: refused, the same for all examples, or different ones for each."""

import pytest
from harness import agree, attempt

import tapegrad

pytestmark = pytest.mark.parity

SIZE = 16

DRAWS = {
    "rand": lambda torch, x: torch.rand(SIZE),
    "randint": lambda torch, x: torch.randint(0, 1000, (SIZE,)),
    "randperm": lambda torch, x: torch.randperm(SIZE),
    "rand_like": lambda torch, x: torch.rand_like(x),
    "randn_like what is shared": lambda torch, x: torch.randn_like(torch.zeros(SIZE)),
    "randint_like": lambda torch, x: torch.randint_like(x, 1000),
    "normal": lambda torch, x: torch.normal(1.0, 1.0, (SIZE,)),
    "normal of means": lambda torch, x: torch.normal(x, 1.0),
    "bernoulli": lambda torch, x: torch.bernoulli(x),
    "bernoulli of a number": lambda torch, x: torch.bernoulli(x, 0.5),
    "bernoulli of what is shared": lambda torch, x: torch.bernoulli(torch.full((SIZE,), 0.5)),
    "multinomial": lambda torch, x: torch.multinomial(x, 9),
    "multinomial of what is shared": lambda torch, x: torch.multinomial(torch.ones(SIZE), 9, replacement=True),
    "dropout": lambda torch, x: torch.nn.functional.dropout(x),
    "dropout of what is shared": lambda torch, x: torch.nn.functional.dropout(torch.ones(SIZE)),
    "dropout outside training": lambda torch, x: torch.nn.functional.dropout(x, training=False),
    "a generator": lambda torch, x: torch.rand(SIZE, generator=torch.Generator().manual_seed(0)),
    "out": lambda torch, x: torch.rand(SIZE, out=torch.zeros(SIZE)),
    "normal_": lambda torch, x: x.clone().normal_(),
    "random_": lambda torch, x: x.clone().random_(5, 1000),
    "bernoulli_": lambda torch, x: x.clone().bernoulli_(x),
    "bernoulli_ by what is shared": lambda torch, x: x.clone().bernoulli_(torch.full((SIZE,), 0.5)),
    "uniform_ of what is shared": lambda torch, x: torch.zeros(SIZE).uniform_(),
    "bernoulli_ of what is shared": lambda torch, x: torch.zeros(SIZE).bernoulli_(0.5),
    "one after the other": lambda torch, x: torch.rand(SIZE) - torch.rand(SIZE),
}


def pattern(y):
    """The shape and dtype of a result, and along which dimensions of examples it differs."""
    apart = [bool((y != y.narrow(axis, 0, 1)).any()) for axis in range(y.ndim - 1)]
    return [tuple(y.shape), str(y.dtype), apart]


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_draws(draw):
    def account(torch):
        x = torch.full((3, SIZE), 0.5)
        vmap = torch.func.vmap
        return [
            attempt(lambda: pattern(vmap(lambda x: draw(torch, x), randomness=how)(x)))  # noqa: B023
            for how in ("error", "same", "different")
        ]

    agree(account)


NESTED = ("rand", "randperm", "bernoulli", "bernoulli_", "normal_", "dropout", "uniform_ of what is shared")


@pytest.mark.parametrize("name", NESTED)
def test_nested(name):
    def account(torch):
        x = torch.full((2, 3, SIZE), 0.5)
        vmap, told = torch.func.vmap, []
        for outer in ("error", "same", "different"):
            for inner in ("error", "same", "different"):
                function = vmap(vmap(lambda x: DRAWS[name](torch, x), randomness=inner), randomness=outer)
                told.append(attempt(lambda: pattern(function(x))))  # noqa: B023
        return told

    agree(account)


def test_between_gradients():
    def account(torch):
        func, x = torch.func, torch.full((3, SIZE), 0.5)
        noise = lambda x: (torch.nn.functional.dropout(x) * x).sum()
        mapped = func.vmap(func.grad(noise), randomness="different")(x)
        same = func.grad(lambda x: func.vmap(noise, randomness="same")(x).sum())(x)
        return [pattern(mapped), pattern(same)]

    agree(account)


def test_one_example_is_drawn_as_if_it_were_alone():
    """The examples' numbers are distributed as those of single calls are: here, all of them lie where they should."""
    torch = tapegrad
    torch.manual_seed(0)
    draws = torch.func.vmap(lambda x: torch.randn(64) * x, randomness="different")(torch.ones(16))
    assert abs(float(draws.mean())) < 0.1 and abs(float(draws.std()) - 1) < 0.1
    orders = torch.func.vmap(lambda x: torch.randperm(8), randomness="different")(torch.ones(3))
    assert orders.sort(1).values.tolist() == [list(range(8))] * 3

"""The samplers that distributions are made of: their distributions, and how samples move with their parameters.

The numbers themselves differ from PyTorch's. Its derivatives of samples are approximations, good to three or four
digits; ours are compared closely with the derivative of the distribution function, by differences.
"""

import numpy as np
import pytest
from harness import agree, same_error
from scipy import special, stats
from transcripts import same_transcript

import tapegrad

pytestmark = pytest.mark.parity

COUNT = 4000
TOO_UNLIKELY = 1e-6
"""Samples of the right distribution would be refused once in a million runs; and seeds are fixed."""

SAMPLERS = {
    "normal": (lambda torch, n: torch.normal(n(2.0), 3.0), stats.norm(2, 3)),
    "normal of both": (lambda torch, n: torch.normal(n(2.0), n(3.0)), stats.norm(2, 3)),
    "gamma of small shape": (lambda torch, n: torch._standard_gamma(n(0.3)), stats.gamma(0.3)),
    "gamma of large shape": (lambda torch, n: torch._standard_gamma(n(7.0)), stats.gamma(7)),
    "dirichlet": (
        lambda torch, n: torch._sample_dirichlet(n(1.0)[:, None] * torch.tensor([0.5, 1, 2], dtype=torch.float64))[
            :, 1
        ],
        stats.beta(1, 2.5),
    ),
}
COUNTERS = {
    "bernoulli": (lambda torch, n: torch.bernoulli(n(0.3)), stats.bernoulli(0.3)),
    "poisson": (lambda torch, n: torch.poisson(n(2.5)), stats.poisson(2.5)),
    "binomial": (lambda torch, n: torch.binomial(n(9.0), n(0.3)[:1]), stats.binom(9, 0.3)),
    "multinomial": (
        lambda torch, n: torch.multinomial(torch.tensor([1.0, 5.0, 2.0]), COUNT, True).double(),
        stats.rv_discrete(values=([0, 1, 2], [1 / 8, 5 / 8, 2 / 8])),
    ),
}


def sample(program):
    tapegrad.manual_seed(5)
    return program(tapegrad, lambda x: tapegrad.full((COUNT,), x, dtype=tapegrad.float64)).numpy()


@pytest.mark.parametrize("name", SAMPLERS)
def test_continuous(name):
    program, distribution = SAMPLERS[name]
    assert stats.kstest(sample(program), distribution.cdf).pvalue > TOO_UNLIKELY


@pytest.mark.parametrize("name", COUNTERS)
def test_discrete(name):
    program, distribution = COUNTERS[name]
    numbers, seen = np.unique(sample(program), return_counts=True)
    expected = COUNT * distribution.pmf(numbers)
    common = expected > 5
    observed = np.append(seen[common], COUNT - seen[common].sum())
    expected = np.append(expected[common], COUNT - expected[common].sum())
    some = expected > 0
    assert stats.chisquare(observed[some], expected[some]).pvalue > TOO_UNLIKELY


def test_a_seed_gives_the_same_samples():
    program = SAMPLERS["gamma of small shape"][0]
    assert (sample(program) == sample(program)).all()


def test_samples_of_dirichlet_distributions_sum_to_one():
    rows = tapegrad._sample_dirichlet(tapegrad.tensor([[0.1, 2.0, 30.0], [1.0, 1.0, 1.0]]))
    np.testing.assert_allclose(rows.sum(-1).numpy(), 1, rtol=1e-6)


# -- derivatives of samples --------------------------------------------------------------------------------------------


def slope(function, at):
    """The derivative by differences of fourth order."""
    step = 1e-3 * at
    near, far = (function(at + k * step) - function(at - k * step) for k in (1, 2))
    return (8 * near - far) / (12 * step)


GAMMAS = [(0.5, 0.1), (2.0, 1.5), (10.0, 12.0), (0.1, 1e-5), (100.0, 95.0), (0.5, 5.0), (3.0, 0.01)]
BETAS = [(0.5, 0.7, 0.1), (2, 3, 0.5), (10, 12, 0.6), (0.1, 0.1, 1e-5), (100, 95, 0.5), (0.5, 5, 0.3), (3, 0.1, 0.99)]


def test_how_gamma_samples_move():
    shape, x = np.array(GAMMAS).T
    ours = tapegrad._standard_gamma_grad(tapegrad.tensor(shape), tapegrad.tensor(x)).numpy()
    truth = -slope(lambda a: special.gammainc(a, x), shape) / stats.gamma.pdf(x, shape)
    np.testing.assert_allclose(ours, truth, rtol=1e-8)


def test_how_dirichlet_samples_move():
    a, b, x = np.array(BETAS).T
    ours = tapegrad._dirichlet_grad(*map(tapegrad.tensor, (x, a, a + b))).numpy()
    truth = -slope(lambda a: special.betainc(a, b, x), a) / stats.beta.pdf(x, a, b) / (1 - x)
    np.testing.assert_allclose(ours, truth, rtol=1e-8)


def test_derivatives_beside_pytorch():
    """Its approximations; a sample's gradient is that times the gradient it gets."""

    def program(torch):
        shape, x = torch.tensor(GAMMAS, dtype=torch.float64).T
        a, b, y = torch.tensor(BETAS, dtype=torch.float64).T
        leaf = shape.clone().requires_grad_()
        moved = torch._standard_gamma(leaf)
        (gradient,) = torch.autograd.grad(moved, leaf, x, create_graph=True)
        expected = x * torch._standard_gamma_grad(shape, moved.detach())
        return [
            torch._standard_gamma_grad(shape, x), torch._dirichlet_grad(y, a, a + b), gradient.grad_fn.name(),
            torch.allclose(gradient, expected), moved.grad_fn.name(), moved.grad_fn._saved_self,
        ]  # fmt: skip

    agree(program, rtol=2e-3)


UNDERIVABLE = {
    "gamma, twice": lambda torch, x: torch.autograd.grad(
        torch.autograd.grad(torch._standard_gamma(x).sum(), x, create_graph=True)[0].sum(), x
    ),
    "dirichlet": lambda torch, x: torch._sample_dirichlet(x).sum().backward(),
    "dirichlet, moving": lambda torch, x: torch._dirichlet_grad(x / 9, x, x + 1).sum().backward(),
    "binomial": lambda torch, x: torch.binomial(x.detach(), x / 9).sum().backward(),
}


@pytest.mark.parametrize("name", UNDERIVABLE)
def test_without_derivative(name):
    same_error(UNDERIVABLE[name], np.array([0.5, 2.0, 3.0]))


LINES = """
torch.binomial(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 0.0])), torch.binomial(torch.ones(2, 1), torch.ones(1))
torch.binomial(torch.tensor([-3.0, 4.0, 2.5]), torch.tensor([0.5, 2.0, 1.0]))
torch.binomial(torch.tensor([0.0, 4.0]), torch.tensor([0.5, float("nan")]))
torch.binomial(torch.ones(2), torch.ones(2, requires_grad=True)).requires_grad
torch.binomial(torch.ones(2), torch.ones(2, dtype=torch.float64))
torch.binomial(torch.ones(2, dtype=torch.int64), torch.ones(2))
torch.binomial(torch.ones(2, dtype=torch.float16), torch.ones(2, dtype=torch.float16))
torch.binomial(3, torch.ones(2))
torch._standard_gamma(torch.tensor([0.0, -1.0, float("nan")]))
torch._standard_gamma(torch.ones(0, 2)), torch._standard_gamma(torch.ones(2), generator=torch.Generator()).shape
torch._standard_gamma(torch.ones(2, dtype=torch.float64, requires_grad=True)).dtype
torch._standard_gamma(torch.tensor([1]))
torch._standard_gamma(torch.ones(1, dtype=torch.bfloat16))
torch._standard_gamma(2.0)
torch._sample_dirichlet(torch.ones(2, 3)).shape
torch._dirichlet_grad(torch.ones(1), torch.ones(1).double(), torch.ones(1))
torch._standard_gamma_grad(torch.ones(1), torch.ones(1).double())
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_line(line):
    same_transcript(line)

"""``torch.distributions`` beside PyTorch's: every distribution, every pair with a divergence, every transform."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
import torch as pytorch
from harness import agree, attempt, same_error, warned

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("what is drawn and computed is the same in any order")]

POSITIVE, OTHERS = [0.5, 1.5, 3.0], [2.5, 0.7, 1.0]
REAL = [-0.5, 0.0, 1.3]
PROBS, LOGITS = [0.1, 0.5, 0.8], [-1.0, 0.3, 2.0]
ROWS = [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]
MATRIX = [[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]]
TRIL = [[1.0, 0.0, 0.0], [0.3, 1.2, 0.0], [-0.1, 0.2, 0.8]]


def one(name, *parameters, **settings):
    """A distribution by its name; lists become tensors that require grad."""
    keywords = {key: settings.pop(key) for key in list(settings) if isinstance(settings[key], list)}

    def make(torch, given):
        made = [given(p) if isinstance(p, list) else p for p in parameters]
        named = {key: given(value) for key, value in keywords.items()}
        return getattr(torch.distributions, name)(*made, **named, **settings)

    return name, make


def of(name, make):
    """A distribution that is made of others: ``make(d, given)``, where ``d`` is the module of distributions."""
    return name, lambda torch, given: make(torch.distributions, given)


EXAMPLES = [
    one("Bernoulli", PROBS), one("Bernoulli", logits=LOGITS), one("Bernoulli", 0.3), one("Bernoulli", [0.0, 1.0]),
    one("Beta", POSITIVE, OTHERS), one("Beta", 2.0, 3.0), one("Beta", [0.5, 1.5], 0.5),
    one("Binomial", 10, PROBS), one("Binomial", 4, logits=LOGITS), one("Binomial", [3.0, 5.0, 4.0], PROBS),
    one("Categorical", ROWS), one("Categorical", logits=LOGITS), one("Categorical", [0.0, 1.0]),
    one("Cauchy", REAL, POSITIVE), one("Cauchy", 0.0, 1.0),
    one("Chi2", POSITIVE), one("Chi2", 2.0),
    one("ContinuousBernoulli", PROBS), one("ContinuousBernoulli", logits=LOGITS), one("ContinuousBernoulli", 0.2),
    one("Dirichlet", POSITIVE), one("Dirichlet", [[0.5, 0.6], [2.0, 3.0]]),
    one("Exponential", POSITIVE), one("Exponential", 2.0),
    one("FisherSnedecor", [3.0, 1.5, 5.0], [5.0, 3.0, 1.0]), one("FisherSnedecor", 3.0, 6.0),
    one("Gamma", POSITIVE, OTHERS), one("Gamma", 2.0, 3.0),
    one("GeneralizedPareto", REAL, POSITIVE, [0.3, -0.4, 0.7]), one("GeneralizedPareto", 0.0, 1.0, [0.0, 2.0]),
    one("Geometric", PROBS), one("Geometric", logits=LOGITS), one("Geometric", 0.4),
    one("Gumbel", REAL, POSITIVE), one("Gumbel", 0.0, 1.0),
    one("HalfCauchy", POSITIVE), one("HalfCauchy", 2.0),
    one("HalfNormal", POSITIVE), one("HalfNormal", 2.0),
    of("Independent", lambda d, given: d.Independent(d.Normal(given(ROWS), 1.0), 1)),
    of("Independent", lambda d, given: d.Independent(d.Bernoulli(given(PROBS)), 0)),
    one("InverseGamma", [0.5, 1.5, 3.0], OTHERS), one("InverseGamma", 4.0, 3.0),
    one("Kumaraswamy", POSITIVE, OTHERS), one("Kumaraswamy", 2.0, 3.0),
    one("LKJCholesky", 3, 0.5), one("LKJCholesky", 4, POSITIVE), one("LKJCholesky", 2, [1.0]),
    one("Laplace", REAL, POSITIVE), one("Laplace", 0.0, 1.0),
    one("LogNormal", REAL, POSITIVE), one("LogNormal", 0.0, 1.0),
    one("LogisticNormal", REAL, POSITIVE), one("LogisticNormal", ROWS, 1.0), one("LogisticNormal", 0.0, 1.0),
    one("LowRankMultivariateNormal", REAL, [[1.0], [0.5], [-0.2]], POSITIVE),
    one("LowRankMultivariateNormal", ROWS, [[1.0, 2.0], [0.5, 0.1], [-0.2, 0.0]], POSITIVE),
    of("MixtureSameFamily", lambda d, given: d.MixtureSameFamily(
        d.Categorical(given(PROBS)), d.Normal(given(REAL), given(POSITIVE)))),
    of("MixtureSameFamily", lambda d, given: d.MixtureSameFamily(
        d.Categorical(given(ROWS)), d.Independent(d.Normal(given([[[0.0, 1.0]] * 3] * 2), 1.0), 1))),
    one("Multinomial", 5, ROWS), one("Multinomial", 3, logits=LOGITS),
    one("MultivariateNormal", REAL, MATRIX), one("MultivariateNormal", ROWS, precision_matrix=MATRIX),
    one("MultivariateNormal", REAL, scale_tril=[TRIL, TRIL]),
    one("NegativeBinomial", 5, PROBS), one("NegativeBinomial", POSITIVE, logits=[-1.0, 0.3, 0.5]),
    one("Normal", REAL, POSITIVE), one("Normal", 0.0, 1.0), one("Normal", REAL, 2.0),
    one("OneHotCategorical", ROWS), one("OneHotCategorical", logits=LOGITS),
    one("OneHotCategoricalStraightThrough", ROWS),
    one("Pareto", POSITIVE, OTHERS), one("Pareto", 1.0, 3.0),
    one("Poisson", POSITIVE), one("Poisson", 20.0),
    one("RelaxedBernoulli", [0.7], PROBS), one("RelaxedBernoulli", [2.0], logits=LOGITS),
    of("RelaxedOneHotCategorical", lambda d, given: d.RelaxedOneHotCategorical(given([0.7])[0], given(ROWS))),
    one("StudentT", [0.5, 1.5, 3.0], REAL, POSITIVE), one("StudentT", 3.0),
    of("TransformedDistribution", lambda d, given: d.TransformedDistribution(
        d.Normal(given(REAL), 1.0), [d.AffineTransform(1.0, -2.0), d.TanhTransform()])),
    of("TransformedDistribution", lambda d, given: d.TransformedDistribution(
        d.Normal(given([[0.0, 1.0]]), 1.0), [d.ReshapeTransform((2,), (1, 2)), d.ExpTransform()])),
    one("Uniform", REAL, [1.0, 2.0, 1.5]), one("Uniform", 0.0, 2.0),
    one("VonMises", REAL, [0.5, 5.0, 3.0]), one("VonMises", 0.5, 2.0),
    one("Weibull", POSITIVE, [1.5, 2.0, 1.2]), one("Weibull", 1.0, 2.0),
    one("Wishart", 4.0, MATRIX), one("Wishart", [3.5, 5.0], scale_tril=TRIL), one("Wishart", 5.0, precision_matrix=MATRIX),
]  # fmt: skip
NUMBERED = [
    pytest.param(make, id=f"{name}-{[n for n, _ in EXAMPLES[:number]].count(name)}")
    for number, (name, make) in enumerate(EXAMPLES)
]


def made(torch, make, dtype="float64"):
    """A distribution, and the parameters that it was made of."""
    leaves = []

    def given(value):
        leaves.append(torch.tensor(value, dtype=getattr(torch, dtype), requires_grad=True))
        return leaves[-1]

    return make(torch, given), leaves


def plain(value):
    return value.detach() if hasattr(value, "detach") else value


def grads(torch, result, leaves):
    """A result, and the gradients of a sum of it with respect to leaves."""
    if not result.requires_grad:
        return [plain(result), None]
    weights = torch.linspace(0.5, 1.5, max(result.numel(), 1), dtype=result.dtype)[: result.numel()]
    return [plain(result), *torch.autograd.grad((result.reshape(-1) * weights).sum(), leaves, allow_unused=True)]


def seeded(torch):
    torch.manual_seed(0)
    return torch


@pytest.fixture(autouse=True)
def streams():
    with tapegrad.random.use("pytorch"):
        yield


def test_every_distribution_has_an_example():
    kinds = {name for name in pytorch.distributions.__all__ if name[0].isupper() and "Transform" not in name}
    kinds |= {"TransformedDistribution"}
    assert kinds - {name for name, _ in EXAMPLES} == {"Distribution", "ExponentialFamily"}


@pytest.mark.parametrize("make", NUMBERED)
def test_what_it_is(make):
    """Shapes, moments, supports, what it shows, what it enumerates, and the gradients of all of them."""

    def program(torch):
        d, leaves = made(torch, make)
        moments = [
            attempt(lambda name=name: grads(torch, getattr(d, name), leaves))
            for name in ("mean", "mode", "variance", "stddev")
        ]
        functions = [
            attempt(lambda name=name: grads(torch, getattr(d, name)(), leaves)) for name in ("entropy", "perplexity")
        ]
        listed = [attempt(lambda e=e: plain(d.enumerate_support(expand=e))) for e in (True, False)]
        support = type(d).support
        return [
            repr(d), list(d.batch_shape), list(d.event_shape), d.has_rsample, d.has_enumerate_support, moments,
            functions, listed, type(d.support).__name__, d.support.is_discrete, d.support.event_dim,
            {name: repr(c) for name, c in d.arg_constraints.items()} if "Uniform" not in repr(d) else None,
            torch.distributions.constraints.is_dependent(support), attempt(lambda: list(d.param_shape)),
        ]  # fmt: skip

    agree(program, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", NUMBERED)
def test_what_it_draws(make):
    """Samples of the same seed are PyTorch's, and so are the gradients that flow through them."""

    def program(torch):
        d, leaves = made(seeded(torch), make)
        drawn = d.sample((5,)), d.sample(), d.sample((2, 3))
        found = attempt(lambda: grads(torch, d.rsample((4,)), leaves))
        return [x.requires_grad for x in drawn], [plain(x) for x in drawn], found

    agree(program, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("make", NUMBERED)
def test_how_likely(make):
    """Densities, distribution functions and their inverses, with gradients for values and parameters."""

    def program(torch):
        d, leaves = made(seeded(torch), make)
        x = d.sample((4,))
        if not d.support.is_discrete:
            x.requires_grad_()
        values = [x] if x.requires_grad else []
        u = torch.linspace(0.1, 0.9, 4, dtype=torch.float64).reshape(4, *[1] * len(d.batch_shape))
        u.requires_grad_()
        return [
            attempt(lambda: grads(torch, d.log_prob(x), leaves + values)),
            attempt(lambda: grads(torch, d.cdf(x), leaves + values)),
            attempt(lambda: grads(torch, d.icdf(u), [*leaves, u])),
        ]

    agree(program, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("make", NUMBERED)
def test_in_a_larger_batch(make):
    def program(torch):
        d, _ = made(seeded(torch), make)
        more = d.expand((2, *d.batch_shape))
        again = more.expand((3, *more.batch_shape))
        x = again.sample()
        return [
            repr(more), list(again.batch_shape), list(again.event_shape), plain(x), plain(again.log_prob(x)),
            attempt(lambda: plain(again.mean)), attempt(lambda: plain(more.variance)), type(more).__name__,
        ]  # fmt: skip

    agree(program, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("make", NUMBERED)
def test_what_is_refused(make):
    """Values outside of the support, of wrong shapes, and what is no tensor."""

    def program(torch):
        d, _ = made(torch, make)
        x = d.sample((2,)).detach()
        wrong = [
            attempt(lambda: d.log_prob(torch.full(x.shape, float("nan"), dtype=torch.float64))),
            attempt(lambda: d.log_prob(torch.zeros((7, 7, 7), dtype=torch.float64))),
            attempt(lambda: plain(d.log_prob(2.0))), attempt(lambda: plain(d.cdf("two"))),
        ]  # fmt: skip
        return [said if isinstance(said, list) else plain(said) for said in wrong]

    agree(program, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("make", NUMBERED)
def test_copies(make):
    """A distribution is pickled and copied; and float32 is computed in float32."""
    d, _ = made(seeded(tapegrad), make)
    x = d.sample()
    with tapegrad.no_grad():
        expected = d.log_prob(x).numpy()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(d)).log_prob(x).detach().numpy(), expected)
    np.testing.assert_array_equal(copy.copy(d).log_prob(x).detach().numpy(), expected)

    def program(torch):
        d, _ = made(seeded(torch), make, "float32")
        return plain(d.log_prob(d.sample()))

    agree(program, rtol=2e-3, atol=1e-4)

"""``torch.distributions`` beside PyTorch's: every distribution, every pair with a divergence, every transform."""

import copy
import pickle
import warnings

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
    one("Wishart", 4.0, MATRIX), one("Wishart", [3.5, 5.0], scale_tril=TRIL),
    one("Wishart", 5.0, precision_matrix=MATRIX),
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


def beside(program, rtol=1e-6, atol=1e-8):
    """Assert that a program does the same on both; classes are in other modules, and PyTorch's Wishart always warns."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Singular sample detected")
        agree(lambda torch: renamed(program(torch)), rtol, atol)


def renamed(value):
    if isinstance(value, (list, tuple)):
        return [renamed(item) for item in value]
    return value.replace("'tapegrad.", "'torch.") if isinstance(value, str) else value


def seeded(torch):
    torch.manual_seed(0)
    return torch


@pytest.fixture(autouse=True)
def streams():
    """PyTorch's random numbers; and numbers among parameters are float64, like tensors."""
    tapegrad.random.use("pytorch")
    for torch in (tapegrad, pytorch):
        torch.set_default_dtype(torch.float64)
    yield
    for torch in (tapegrad, pytorch):
        torch.set_default_dtype(torch.float32)
    tapegrad.random.use("jax")


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
            torch.distributions.constraints.is_dependent(support),
            None if isinstance(d, torch.distributions.Geometric) else attempt(lambda: list(d.param_shape)),
        ]  # fmt: skip

    beside(program)


@pytest.mark.parametrize("make", NUMBERED)
def test_what_it_draws(make):
    """Samples of the same seed are PyTorch's, and so are the gradients that flow through them."""

    def program(torch):
        d, leaves = made(seeded(torch), make)
        drawn = d.sample((5,)), d.sample(), d.sample((2, 3))
        is_wishart = isinstance(d, torch.distributions.Wishart)  # PyTorch's writes over what its gradient needs
        found = attempt(lambda: plain(d.rsample((4,))) if is_wishart else grads(torch, d.rsample((4,)), leaves))
        return [x.requires_grad for x in drawn], [plain(x) for x in drawn], found

    beside(program, rtol=2e-4, atol=1e-7)  # PyTorch's gradients of gamma samples are series that are cut off


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

    beside(program, rtol=2e-6, atol=1e-7)


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

    beside(program, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("make", NUMBERED)
def test_what_is_refused(make):
    """Values outside of the support, of wrong shapes, and what is no tensor."""

    def program(torch):
        d, _ = made(torch, make)
        x = d.sample((2,)).detach()
        wrong = [
            attempt(lambda: d.log_prob(torch.full(x.shape, float("nan"), dtype=torch.float64))),
            attempt(lambda: d.log_prob(torch.zeros((7, 7, 7), dtype=torch.float64))),
            attempt(lambda: plain(d.log_prob(2.0))),
        ]  # fmt: skip
        return [said if isinstance(said, list) else plain(said) for said in wrong]

    beside(program)


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

    for torch in (tapegrad, pytorch):
        torch.set_default_dtype(torch.float32)
    beside(program, rtol=2e-3, atol=1e-4)


PAIRS = sorted({(p.__name__, q.__name__) for p, q in pytorch.distributions.kl._KL_REGISTRY})
SINGLE = {name: [make for other, make in EXAMPLES if other == name] for name, _ in EXAMPLES}
INSIDE = {
    "Uniform": one("Uniform", [0.2, 0.3, 0.4], [0.9, 0.8, 0.7])[1],
    "Bernoulli": one("Bernoulli", [0.0, 0.5, 1.0])[1],
    "Binomial": one("Binomial", 10, [0.2, 0.5, 0.7])[1],
    "Pareto": one("Pareto", [1.0, 0.5, 2.0], [2.5, 1.5, 0.5])[1],
    "Wishart": one("Wishart", 6.0, TRIL)[1],
    "ExponentialFamily": one("Chi2", POSITIVE)[1],
}
"""Others than the first example: values that lie in more supports, and borders."""


@pytest.mark.parametrize(("p_name", "q_name"), PAIRS)
def test_divergences(p_name, q_name):
    """All pairs, in both examples each, with gradients for the parameters of both."""

    def program(torch):
        found = []
        for p_make in [*SINGLE.get(p_name, [])[:2], INSIDE.get(p_name)]:
            for q_make in [SINGLE.get(q_name, [None])[0], INSIDE.get(q_name)]:
                if p_make and q_make:
                    (p, p_leaves), (q, q_leaves) = made(torch, p_make), made(torch, q_make)
                    found.append(attempt(lambda p=p, q=q, o=[*p_leaves, *q_leaves]: divergence(torch, p, q, o)))
        return found

    beside(program, rtol=1e-6, atol=1e-8)


def divergence(torch, p, q, leaves):
    """With gradients where it is finite; where it isn't, they depend in PyTorch on how it is computed."""
    result = torch.distributions.kl_divergence(p, q)
    return grads(torch, result, leaves) if result.isfinite().all() else [plain(result)]


def test_divergences_of_what_is_alike():
    def program(torch):
        d = torch.distributions
        kl, normal = d.kl_divergence, d.Normal(torch.zeros(2, 3), torch.ones(3))
        chi, half = d.Chi2(torch.tensor([1.0, 2.0])), torch.tensor(0.5)
        wide = d.Independent(normal, 1)
        return [
            kl(normal, normal), kl(wide, d.Independent(d.Normal(torch.ones(2, 3), 2.0), 1)), kl(chi, d.Chi2(3.0)),
            kl(d.LogNormal(0.0, 1.0), d.LogNormal(1.0, 2.0)),
            attempt(lambda: kl(d.Poisson(1.0), d.Normal(0.0, 1.0))),
            attempt(lambda: kl(wide, d.Independent(normal, 2))), attempt(lambda: kl(normal, d.Cauchy(0.0, 1.0))),
            attempt(lambda: kl(d.Binomial(2, half), d.Binomial(3, half))),
            attempt(lambda: kl(standard(torch, 2), standard(torch, 3))),
            warned(lambda: register_ambiguous(torch)),
        ]  # fmt: skip

    beside(program)


def standard(torch, size):
    return torch.distributions.MultivariateNormal(torch.zeros(size), torch.eye(size))


def register_ambiguous(torch):
    d = torch.distributions
    first, second = type("First", (d.Normal,), {}), type("Second", (d.Normal,), {})
    d.register_kl(first, d.Normal)(lambda p, q: torch.zeros(1))
    d.register_kl(d.Normal, second)(lambda p, q: torch.ones(1))
    assert d.kl_divergence(first(0.0, 1.0), second(0.0, 1.0)).item() == 0


def transform(make, values, backward=None):
    """A transform, what goes in, and what it is turned back from, if that is something else than what came out."""
    return make, values, backward


TRANSFORMS = {
    "Abs": transform(lambda d, t: d.AbsTransform(), REAL),
    "Affine": transform(lambda d, t: d.AffineTransform(1.0, -2.0), REAL),
    "Affine-tensors": transform(lambda d, t: d.AffineTransform(t(REAL), t(POSITIVE)), REAL),
    "Affine-events": transform(lambda d, t: d.AffineTransform(t(REAL), t([POSITIVE] * 2), 1), ROWS),
    "Affine-number": transform(lambda d, t: d.AffineTransform(0, 3, 1), ROWS),
    "Cat": transform(lambda d, t: d.CatTransform([d.ExpTransform(), d.TanhTransform()], -1, [1, 2]), ROWS),
    "Cat-events": transform(lambda d, t: d.CatTransform(
        [d.AffineTransform(0.0, 2.0, 1), d.IndependentTransform(d.ExpTransform(), 1)], 0), ROWS),
    "Compose": transform(lambda d, t: d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.ExpTransform()]), REAL),
    "Compose-nothing": transform(lambda d, t: d.identity_transform, REAL),
    "Compose-events": transform(lambda d, t: d.ComposeTransform([d.ExpTransform(), d.StickBreakingTransform()]), ROWS),
    "CorrCholesky": transform(lambda d, t: d.CorrCholeskyTransform(), [REAL, LOGITS]),
    "CorrCholesky-small": transform(lambda d, t: d.CorrCholeskyTransform(), [0.3]),
    "CumulativeDistribution": transform(
        lambda d, t: d.CumulativeDistributionTransform(d.Normal(t(REAL), 2.0)), [0.3, 0.4, -1.0]),
    "Exp": transform(lambda d, t: d.ExpTransform(), REAL),
    "Exp-inverse": transform(lambda d, t: d.ExpTransform().inv, POSITIVE),
    "Independent": transform(lambda d, t: d.IndependentTransform(d.ExpTransform(), 1), ROWS),
    "LowerCholesky": transform(lambda d, t: d.LowerCholeskyTransform(), MATRIX),
    "PositiveDefinite": transform(lambda d, t: d.PositiveDefiniteTransform(), MATRIX),
    "Power": transform(lambda d, t: d.PowerTransform(t(OTHERS)), POSITIVE),
    "Power-number": transform(lambda d, t: d.PowerTransform(-2.0), POSITIVE),
    "Reshape": transform(lambda d, t: d.ReshapeTransform((3,), (3, 1)), ROWS),
    "Sigmoid": transform(lambda d, t: d.SigmoidTransform(), [*REAL, 50.0, -800.0]),
    "Softmax": transform(lambda d, t: d.SoftmaxTransform(), ROWS),
    "Softplus": transform(lambda d, t: d.SoftplusTransform(), [*REAL, 15.0]),
    "Stack": transform(lambda d, t: d.StackTransform([d.ExpTransform(), d.SigmoidTransform()]), ROWS),
    "Stack-last": transform(lambda d, t: d.StackTransform([d.ExpTransform()] * 3, -1), ROWS),
    "StickBreaking": transform(lambda d, t: d.StickBreakingTransform(), ROWS),
    "Tanh": transform(lambda d, t: d.TanhTransform(), REAL),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("cache_size", [0, 1])
def test_transforms(name, cache_size):
    """There and back, how much they stretch, shapes, signs, sets, caches, equality, with gradients."""
    make, values, _ = TRANSFORMS[name]

    def program(torch):
        leaves = []

        def given(value):
            leaves.append(torch.tensor(value, dtype=torch.float64, requires_grad=True))
            return leaves[-1]

        t = make(torch.distributions, given)
        t = t.with_cache(cache_size)
        x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        y = t(x)
        other = y.detach().clone().requires_grad_()
        return [
            repr(t), repr(t.inv), t.bijective, attempt(lambda: renamed(str(plain(t.sign)))), t.inv.inv is t,
            grads(torch, y, [x, *leaves]), grads(torch, t.inv(other), [other, *leaves]), plain(t.inv(y)),
            (t.inv(y) is x), (t(x) is y),
            attempt(lambda: grads(torch, t.log_abs_det_jacobian(x, t(x)), [x, *leaves])),
            attempt(lambda: grads(torch, t.inv.log_abs_det_jacobian(other, t.inv(other)), [other, *leaves])),
            list(t.forward_shape(x.shape)), list(t.inverse_shape(y.shape)),
            t.domain.event_dim, t.codomain.event_dim, type(t.domain).__name__, type(t.codomain).__name__,
            t == t, t != t, t == torch.distributions.ExpTransform(), t.inv == t.inv, t.inv == t,
            attempt(lambda: t.event_dim), plain(t.codomain.check(y)), plain(t.domain.check(x)),
            plain(pickle.loads(pickle.dumps(torch.distributions.ExpTransform()))(x)),
        ]  # fmt: skip

    beside(program, rtol=1e-6, atol=1e-9)


SETS = {
    "boolean": [0.0, 1.0, 0.5], "one_hot": [[0.0, 1.0], [1.0, 1.0]], "nonnegative_integer": [-1.0, 0.0, 0.5],
    "positive_integer": [0.0, 1.0], "real": [1.0, float("nan")], "real_vector": [[1.0, float("nan")], [0.0, 1.0]],
    "positive": [0.0, 1.0], "nonnegative": [0.0, -1.0], "unit_interval": [-1.0, 0.0, 1.0, 2.0], "simplex": ROWS,
    "lower_triangular": [TRIL, MATRIX], "lower_cholesky": [TRIL, MATRIX], "corr_cholesky": [TRIL, np.eye(3).tolist()],
    "square": [TRIL, MATRIX], "symmetric": [TRIL, MATRIX], "positive_semidefinite": [np.eye(2).tolist()] * 2,
    "positive_definite": [MATRIX, np.diag([1.0, -1.0, 1.0]).tolist()], "dependent": REAL,
    "integer_interval(0, 3)": [-1.0, 0.0, 1.5, 3.0, 4.0], "interval(-1.0, 1.0)": REAL,
    "half_open_interval(-1.0, 1.3)": REAL, "greater_than(0.0)": REAL, "greater_than_eq(0.0)": REAL,
    "less_than(0.0)": REAL, "multinomial(3)": [[1.0, 2.0], [2.0, 2.0]],
    "independent(constraints.positive, 1)": [[1.0, 2.0], [-1.0, 2.0]],
    "independent(constraints.positive, 2)": [1.0, 2.0],
    "cat([constraints.positive, constraints.less_than(0.0)], -1, [1, 2])": [[1.0, -1.0, -2.0], [-1.0, 0.0, -1.0]],
    "stack([constraints.positive, constraints.less_than(0.0)], -1)": [[1.0, -1.0], [-1.0, 0.0]],
    "MixtureSameFamilyConstraint(constraints.positive)": [[1.0, 2.0]],
    "cat([constraints.real], 5)": REAL, "cat([1])": REAL, "cat([constraints.real], 0, [1, 2])": REAL,
    "independent(1, 1)": REAL, "independent(constraints.real, -1)": REAL, "independent(constraints.real, 'a')": REAL,
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_constraints(name):
    """What is in them, what they show, and the transforms that lead to them."""

    def program(torch):
        constraints = torch.distributions.constraints

        def tell():
            c = eval(f"constraints.{name}", {"constraints": constraints})
            x = torch.tensor(SETS[name], dtype=torch.float64)
            ways = torch.distributions.biject_to, torch.distributions.transform_to
            shown = repr(c) if hasattr(c, "_shown") or "object at" not in repr(c) else None
            return [
                attempt(lambda: c.check(x)), None if "cat" in name or "stack" in name or "multi" in name else shown,
                attempt(lambda: c.is_discrete), attempt(lambda: c.event_dim), constraints.is_dependent(c),
                [attempt(lambda way=way: repr(way(c))) for way in ways],
            ]  # fmt: skip

        return attempt(tell)

    beside(program)


def test_registries():
    def program(torch):
        d = torch.distributions
        registry = type(d.biject_to)()

        class Even(d.constraints.Constraint):
            pass

        registry.register(Even)(lambda c: d.ExpTransform())
        registry.register(d.constraints.real, lambda c: d.TanhTransform())
        return [
            repr(registry(Even())), repr(registry(d.constraints.real)),
            attempt(lambda: registry(d.constraints.simplex)), attempt(lambda: registry.register(3, lambda c: c)),
            repr(d.biject_to(d.constraints.positive)),
        ]  # fmt: skip

    beside(program)


@pytest.mark.parametrize("name", [
    "Bernoulli(1.5)", "Bernoulli()", "Bernoulli(0.5, 0.5)", "Beta(-1.0, 1.0)", "Binomial(-1, torch.tensor(0.5))",
    "Categorical(torch.tensor(0.5))", "Categorical(torch.tensor([-1.0, 2.0]))", "Categorical()", "Cauchy(0.0, -1.0)",
    "ContinuousBernoulli(1.5, validate_args=True)", "Dirichlet(torch.tensor(1.0))", "Exponential(-1.0)",
    "FisherSnedecor(-1.0, 1.0)", "Gamma(torch.tensor([1.0, -1.0]), 1.0)", "Geometric(0.0)", "Geometric(2.0)",
    "HalfNormal(-1.0)", "Independent(d.Normal(0.0, 1.0), 1)", "LKJCholesky(1)", "Kumaraswamy(-1.0, 1.0)",
    "LowRankMultivariateNormal(torch.zeros(2), torch.zeros(3, 1), torch.ones(2))",
    "LowRankMultivariateNormal(torch.zeros(2), torch.zeros(2, 1), torch.ones(3))",
    "LowRankMultivariateNormal(torch.zeros(5, 2), torch.zeros(3, 2, 1), torch.ones(2))",
    "MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0))", "MixtureSameFamily(d.Categorical(torch.ones(2)), 1)",
    "MixtureSameFamily(d.Categorical(torch.ones(2)), d.Normal(torch.zeros(3), 1.0))",
    "MixtureSameFamily(d.Categorical(torch.ones(4, 2)), d.Normal(torch.zeros(3, 2), 1.0))",
    "Multinomial(1.5, torch.ones(2))", "MultivariateNormal(torch.zeros(2))", "MultivariateNormal(torch.tensor(1.0))",
    "MultivariateNormal(torch.zeros(2), torch.ones(2))", "MultivariateNormal(torch.zeros(2), -torch.eye(2))",
    "MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2))", "NegativeBinomial(1.0, torch.tensor(1.0))",
    "Normal(0.0, 0.0)", "Normal(float('nan'), 1.0)", "Normal('a', 1.0)", "OneHotCategorical(torch.tensor(1.0))",
    "Poisson(-1.0)", "StudentT(-1.0)", "TransformedDistribution(d.Normal(0.0, 1.0), 3)",
    "TransformedDistribution(d.Normal(0.0, 1.0), [3])",
    "TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform())", "Uniform(1.0, 0.0)",
    "Weibull(-1.0, 1.0)",
    "Wishart(1.0, torch.eye(3))", "Wishart(3.0)", "Wishart(3.0, torch.ones(2))", "ExpTransform(cache_size=2)",
    "ReshapeTransform((2,), (3,))", "ReshapeTransform((2,), (2, 1)).forward_shape((3,))",
    "CorrCholeskyTransform().forward_shape((4,))", "CorrCholeskyTransform().inverse_shape((4, 3))",
    "StickBreakingTransform().forward_shape(())", "CatTransform([1])", "CatTransform([d.ExpTransform()], 0, [1, 2])",
    "CatTransform([d.ExpTransform()], 3)(torch.zeros(2))", "CatTransform([d.ExpTransform()])(torch.zeros(2))",
    "StackTransform([d.ExpTransform()])(torch.zeros(2))", "Poisson(1.0).entropy()", "Poisson(1.0).rsample()",
    "IndependentTransform(d.ExpTransform(), 2)(torch.zeros(2))", "Distribution().sample()",
    "Distribution(validate_args=False).expand((2,))",
    "Binomial(torch.tensor([1.0, 2.0]), torch.tensor(0.5)).entropy()", "Distribution.set_default_validate_args(3)",
    "Independent(d.Bernoulli(torch.ones(2)), 1).enumerate_support()",
    "Normal(torch.zeros(2), 1.0).log_prob(torch.zeros(3))",
    "MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(3))",
    "utils.tril_matrix_to_vec(torch.ones(2, 2), 2)", "utils.vec_to_tril_matrix(torch.ones(2))",
])  # fmt: skip
def test_errors(name):
    def program(torch):
        return eval(f"d.{name}", {"torch": torch, "d": torch.distributions})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same_error(program)


def test_subclasses():
    """A user's own: what it must define, and what it inherits."""

    def program(torch):
        d = torch.distributions

        class Shifted(d.Normal):
            pass

        class Custom(d.Normal):
            def __init__(self, loc):
                super().__init__(loc, 1.0)

        class Own(d.Gamma):
            def __init__(self, rate):
                self.name = "own"
                super().__init__(2.0, rate)

            def expand(self, batch_shape, _instance=None):
                new = self._get_checked_instance(Own, _instance)
                new.name = self.name + "s"
                return super().expand(batch_shape, _instance=new)

        class Bare(d.Distribution):
            def log_prob(self, value):
                self._validate_sample(value)
                return value

        own = Own(3.0).expand((2,))
        said = []
        said += warned(lambda: said.append(Bare().log_prob(torch.ones(1))))
        said += warned(lambda: d.Normal(0.0, 1.0).sample_n(2))
        return [
            repr(Shifted(0.0, 1.0).expand((2,))), attempt(lambda: Custom(0.0).expand((2,))),
            type(own).__name__, own.name, repr(own), list(own.sample().shape), renamed(said),
        ]  # fmt: skip

    beside(program)


@pytest.mark.parametrize("low_rank", [False, True])
def test_subclasses_with_events_of_another_shape(low_rank):
    """The matrices that are worked out are those of the distribution underneath (gpytorch)."""

    def program(torch):
        d = torch.distributions

        class Tasks(d.LowRankMultivariateNormal if low_rank else d.MultivariateNormal):
            @property
            def event_shape(self):
                return torch.Size((1, *self._event_shape))

        given = (torch.ones(3, 1), torch.ones(3)) if low_rank else (None, None, torch.tensor(TRIL))
        made = Tasks(torch.zeros(2, 3), *given)
        return made.covariance_matrix, made.scale_tril, made.precision_matrix, made.variance, list(made.event_shape)

    beside(program)


def test_validation_is_switched():
    def program(torch):
        d = torch.distributions
        d.Distribution.set_default_validate_args(False)
        try:
            unchecked = d.Normal(0.0, -1.0), d.Poisson(1.0).log_prob(torch.tensor(0.5))
        finally:
            d.Distribution.set_default_validate_args(True)
        more = d.Normal(0.0, -1.0, validate_args=False).expand((2,)).log_prob(torch.ones(2))
        return [repr(unchecked[0]), unchecked[1], more, attempt(lambda: d.Normal(0.0, -1.0))]

    beside(program)


def test_helpers():
    def program(torch):
        u = torch.distributions.utils
        square = torch.arange(9.0).reshape(3, 3)
        return [
            u.broadcast_all(1, torch.zeros(2), 3.0), u.broadcast_all(1, 2.0), attempt(lambda: u.broadcast_all("a")),
            u.logits_to_probs(square), u.logits_to_probs(square, True), u.probs_to_logits(square / 10),
            u.probs_to_logits(square / 10, is_binary=True), u.clamp_probs(torch.tensor([0.0, 1.0])),
            [u.tril_matrix_to_vec(square, k) for k in (-1, 0, 1)],
            [u.vec_to_tril_matrix(u.tril_matrix_to_vec(square, k), k) for k in (-1, 0, 1)],
        ]  # fmt: skip

    beside(program)


def test_in_compiled_steps():
    """A step that draws, and knows how likely it was, is compiled and replayed."""
    w = tapegrad.zeros(3, requires_grad=True)

    @tapegrad.compile
    def step(x):
        d = tapegrad.distributions.Normal(x * w, tapegrad.ones(3), validate_args=False)
        prior = tapegrad.distributions.Normal(0.0, 1.0, validate_args=False)
        loss = tapegrad.distributions.kl_divergence(d, prior).sum() - d.log_prob(x).sum()
        loss.backward()
        return loss

    tapegrad.random.use("jax")
    losses = [step(tapegrad.full((3,), float(k))).item() for k in range(4)]
    np.testing.assert_allclose(losses, [0.5 * 3 * k * k + 1.5 * np.log(2 * np.pi) for k in range(4)])


def test_gradients_of_wishart_samples():
    """PyTorch has none: they are held to the mean, which grows with the degrees of freedom."""
    df, scale = tapegrad.tensor(5.0, requires_grad=True), tapegrad.tensor(TRIL, requires_grad=True)
    drawn = tapegrad.distributions.Wishart(df, scale_tril=scale).rsample((3,))
    scaled = tapegrad.distributions.Wishart(df, scale_tril=2 * scale)
    tapegrad.manual_seed(0)
    (gradient,) = tapegrad.autograd.grad(scaled.rsample((3,)).sum(), scale)
    tapegrad.manual_seed(0)
    twice = tapegrad.distributions.Wishart(df, scale_tril=2 * scale).rsample((3,)).sum()
    assert drawn.requires_grad
    np.testing.assert_allclose((gradient * scale).sum().item(), 2 * twice.item())  # of degree two in the factor

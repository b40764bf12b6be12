"""``torch.distributions``: probability distributions, transforms of them, and how far they are apart.

>>> loc = torch.tensor(0.0, requires_grad=True)
>>> x = torch.distributions.Normal(loc, 1.0).rsample((10,))
>>> x.sum().backward()
>>> loc.grad
tensor(10.)
"""

from tapegrad.distributions import constraints, kl, transforms, utils
from tapegrad.distributions.bernoulli import Bernoulli
from tapegrad.distributions.beta import Beta
from tapegrad.distributions.binomial import Binomial
from tapegrad.distributions.categorical import Categorical
from tapegrad.distributions.cauchy import Cauchy
from tapegrad.distributions.chi2 import Chi2
from tapegrad.distributions.constraint_registry import biject_to, transform_to
from tapegrad.distributions.continuous_bernoulli import ContinuousBernoulli
from tapegrad.distributions.dirichlet import Dirichlet
from tapegrad.distributions.distribution import Distribution
from tapegrad.distributions.exp_family import ExponentialFamily
from tapegrad.distributions.exponential import Exponential
from tapegrad.distributions.fishersnedecor import FisherSnedecor
from tapegrad.distributions.gamma import Gamma
from tapegrad.distributions.generalized_pareto import GeneralizedPareto
from tapegrad.distributions.geometric import Geometric
from tapegrad.distributions.gumbel import Gumbel
from tapegrad.distributions.half_cauchy import HalfCauchy
from tapegrad.distributions.half_normal import HalfNormal
from tapegrad.distributions.independent import Independent
from tapegrad.distributions.inverse_gamma import InverseGamma
from tapegrad.distributions.kl import kl_divergence, register_kl
from tapegrad.distributions.kumaraswamy import Kumaraswamy
from tapegrad.distributions.laplace import Laplace
from tapegrad.distributions.lkj_cholesky import LKJCholesky
from tapegrad.distributions.log_normal import LogNormal
from tapegrad.distributions.logistic_normal import LogisticNormal
from tapegrad.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from tapegrad.distributions.mixture_same_family import MixtureSameFamily
from tapegrad.distributions.multinomial import Multinomial
from tapegrad.distributions.multivariate_normal import MultivariateNormal
from tapegrad.distributions.negative_binomial import NegativeBinomial
from tapegrad.distributions.normal import Normal
from tapegrad.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from tapegrad.distributions.pareto import Pareto
from tapegrad.distributions.poisson import Poisson
from tapegrad.distributions.relaxed_bernoulli import RelaxedBernoulli
from tapegrad.distributions.relaxed_categorical import RelaxedOneHotCategorical
from tapegrad.distributions.studentT import StudentT
from tapegrad.distributions.transformed_distribution import TransformedDistribution
from tapegrad.distributions.transforms import *  # noqa: F403
from tapegrad.distributions.uniform import Uniform
from tapegrad.distributions.von_mises import VonMises
from tapegrad.distributions.weibull import Weibull
from tapegrad.distributions.wishart import Wishart

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet",
    "Distribution", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric",
    "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace",
    "LogNormal", "LogisticNormal", "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial",
    "MultivariateNormal", "NegativeBinomial", "Normal", "OneHotCategorical", "OneHotCategoricalStraightThrough",
    "Pareto", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution",
    "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "kl_divergence", "register_kl", "transform_to",
]  # fmt: skip
__all__ += transforms.__all__

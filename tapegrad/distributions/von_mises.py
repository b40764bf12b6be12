"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import bool as boolean
from tapegrad._src.execution.data.dtypes import float64
from tapegrad._src.functions.creation import zeros
from tapegrad._src.functions.random import rand
from tapegrad._src.functions.selection import where
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.distributions import constraints
from tapegrad.distributions.distribution import Distribution, validated
from tapegrad.distributions.utils import lazy_property, same_as

__all__ = ["VonMises"]

SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
LARGE = (
    (0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377),
    (0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654, -0.00420059),
)
"""Coefficients of the polynomials for the modified Bessel functions: Abramowitz and Stegun, 9.8.1 to 9.8.4."""


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    result: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = coefficient + x * result
    return result


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Tensor:
    """The logarithm of the modified Bessel function of order 0 or 1, of positive numbers."""
    small = _polynomial((x / 3.75).pow(2), SMALL[order])
    small = (x.abs() * small if order else small).log()
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, LARGE[order]).log()
    return where(x < 3.75, small, large)


class VonMises(Distribution):
    """The von Mises distribution of angles: proportional to ``exp(concentration cos(x - loc))``.

    Samples are drawn in float64, by Best's and Fisher's rejection from a wrapped Cauchy distribution (1979).

    Args:
        loc: an angle.
        concentration: how narrow it is about it.

    >>> VonMises(torch.tensor(1.0), torch.tensor(4.0)).variance
    tensor(0.1365)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _parts = {"loc": 0, "concentration": 0, "variance": 0}
    mean = same_as("loc")
    mode = same_as("loc")

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._declare(validate_args, loc=loc, concentration=concentration)

    @validated
    def log_prob(self, value: Tensor) -> Tensor:
        normalizer = math.log(2 * math.pi) + _log_modified_bessel_fn(self.concentration, order=0)
        return self.concentration * (value - self.loc).cos() - normalizer

    @staticmethod
    def _proposal(kappa: Tensor) -> Tensor:
        """The parameter of the distribution that is drawn from, of the concentration."""
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            loc, kappa, shape = self.loc.to(float64), self.concentration.to(float64), self._extended_shape(sample_shape)
            x = zeros(shape, dtype=float64, device=loc.device)
            is_done, proposal = zeros(shape, dtype=boolean, device=loc.device), self._proposal(kappa)
            while not is_done.all():
                u1, u2, u3 = rand((3, *shape), dtype=float64, device=loc.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + proposal * z) / (proposal + z)
                c = kappa * (proposal - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                x = where(accept, (u3 - 0.5).sign() * f.acos(), x)
                is_done = is_done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @lazy_property
    def variance(self) -> Any:
        """That of the angle's point on the circle: one less the length of the mean."""
        kappa = self.concentration
        return 1 - (_log_modified_bessel_fn(kappa, order=1) - _log_modified_bessel_fn(kappa, order=0)).exp()

"""Written by ``python -m tapegrad.stubs``: see ``tapegrad/stubs/__init__.py``."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Literal, Self, SupportsIndex, overload

import jax
import numpy as np

from tapegrad.execution.devices import device as _device
from tapegrad.execution.dtypes import dtype as _dtype
from tapegrad.bindings.generator import Generator
from tapegrad.bindings.storages import TypedStorage, UntypedStorage
from tapegrad.bindings import return_types
from tapegrad.tape.hooks import RemovableHandle
from tapegrad.tape.node import Node
from tapegrad.tensor.layout import layout as _layout
from tapegrad.tensor.layout import memory_format as _memory_format
from tapegrad.tensor.spec import Size
from tapegrad.tensor.tensor import Tensor

_Number = _int | _float | _complex
_Scalar = _int | _float | _complex | Tensor

def airy_ai(x: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Airy's function ``Ai``: by its series, or as Bessel functions of order 1/3 (DLMF 9.6.2, 9.6.6)."""
def bessel_j0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Bessel function of the first kind of order 0."""
def bessel_j1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Bessel function of the first kind of order 1."""
def bessel_y0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Bessel function of the second kind of order 0."""
def bessel_y1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Bessel function of the second kind of order 1."""
@overload
def chebyshev_polynomial_t(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial T of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_t(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial T of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_t(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial T of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_u(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial U of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_u(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial U of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_u(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial U of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_v(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial V of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_v(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial V of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_v(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial V of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_w(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial W of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_w(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial W of degree ``n`` at ``x``, broadcast."""
@overload
def chebyshev_polynomial_w(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The Chebyshev polynomial W of degree ``n`` at ``x``, broadcast."""
def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The derivative of ``lgamma``."""
def entr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``-x * log(x)``; 0 at 0, ``-inf`` below."""
def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The error function."""
def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``1 - erf(x)``, accurate far to the right."""
def erfcx(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``exp(x^2) * erfc(x)``."""
def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverse error function; in float64 with a step of Newton's, which XLA's needs close to 1."""
def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``2 ** x``."""
def expit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``1 / (1 + exp(-x))``."""
def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``e ** x - 1``, accurate near 0."""
def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The regularized lower incomplete gamma function ``P(x, y)``."""
def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The regularized upper incomplete gamma function ``Q(x, y)``."""
def gammaln(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
@overload
def hermite_polynomial_h(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Hermite polynomial H of degree ``n`` at ``x``, broadcast."""
@overload
def hermite_polynomial_h(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Hermite polynomial H of degree ``n`` at ``x``, broadcast."""
@overload
def hermite_polynomial_h(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The Hermite polynomial H of degree ``n`` at ``x``, broadcast."""
@overload
def hermite_polynomial_he(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Hermite polynomial He of degree ``n`` at ``x``, broadcast."""
@overload
def hermite_polynomial_he(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Hermite polynomial He of degree ``n`` at ``x``, broadcast."""
@overload
def hermite_polynomial_he(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The Hermite polynomial He of degree ``n`` at ``x``, broadcast."""
def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The modified Bessel function of order 0."""
def i0e(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``i0(x) * exp(-|x|)``."""
def i1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The modified Bessel function of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``i1(x) * exp(-|x|)``."""
@overload
def laguerre_polynomial_l(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Laguerre polynomial L of degree ``n`` at ``x``, broadcast."""
@overload
def laguerre_polynomial_l(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Laguerre polynomial L of degree ``n`` at ``x``, broadcast."""
@overload
def laguerre_polynomial_l(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The Laguerre polynomial L of degree ``n`` at ``x``, broadcast."""
@overload
def legendre_polynomial_p(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Legendre polynomial P of degree ``n`` at ``x``, broadcast."""
@overload
def legendre_polynomial_p(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Legendre polynomial P of degree ``n`` at ``x``, broadcast."""
@overload
def legendre_polynomial_p(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The Legendre polynomial P of degree ``n`` at ``x``, broadcast."""
def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``log(1 + x)``, accurate near 0."""
def log_ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The logarithm of the standard normal distribution function."""
def log_softmax(input: Tensor, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
    """See ``torch.log_softmax``."""
def logit(input: Tensor, eps: _float | Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """``log(x / (1 - x))``, of ``input`` clamped to ``[eps, 1 - eps]`` if ``eps`` is given."""
def logsumexp(input: Tensor, dim: Sequence[_int] | _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The logarithm of the sum over ``dim`` of ``exp(input)``, without overflow; -inf of nothing."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The modified Bessel function of the first kind of order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""
def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = ...) -> Tensor:
    """The logarithm of the gamma function of ``p`` variables; inf or nan where ``input <= (p - 1) / 2``."""
def ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The distribution function of the standard normal distribution."""
def ndtri(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The quantile of the standard normal distribution."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The ``n``-th derivative of ``digamma``."""
def psi(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The derivative of ``lgamma``."""
def round(input: Tensor, *, decimals: _int = ..., out: Tensor | None = ...) -> Tensor:
    """The nearest number with so many digits after the point, of two the one whose last digit is even."""
def scaled_modified_bessel_k0(x: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``modified_bessel_k0(x) * exp(x)``."""
def scaled_modified_bessel_k1(x: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``modified_bessel_k1(x) * exp(x)``."""
@overload
def shifted_chebyshev_polynomial_t(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial T of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_t(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial T of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_t(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial T of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_u(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial U of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_u(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial U of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_u(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial U of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_v(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial V of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_v(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial V of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_v(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial V of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_w(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial W of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_w(x: _Scalar, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial W of degree ``n`` at ``x``, broadcast."""
@overload
def shifted_chebyshev_polynomial_w(x: Tensor, n: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The shifted Chebyshev polynomial W of degree ``n`` at ``x``, broadcast."""
def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``sin(pi x) / (pi x)``, 1 at 0."""
def softmax(input: Tensor, dim: _int, dtype: _dtype | None = ...) -> Tensor:
    """See ``torch.softmax``."""
def spherical_bessel_j0(x: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``sin(x) / x``."""
@overload
def xlog1py(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input * log1p(other)``, 0 where ``input`` is 0; either may be a number."""
@overload
def xlog1py(self: _Scalar, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input * log1p(other)``, 0 where ``input`` is 0; either may be a number."""
@overload
def xlog1py(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input * log1p(other)``, 0 where ``input`` is 0; either may be a number."""
@overload
def xlogy(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0; either may be a number."""
@overload
def xlogy(self: _Scalar, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0; either may be a number."""
@overload
def xlogy(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0; either may be a number."""
@overload
def zeta(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Hurwitz zeta function: the sum of ``(k + other) ** -input`` over whole numbers ``k``."""
@overload
def zeta(self: _Scalar, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Hurwitz zeta function: the sum of ``(k + other) ** -input`` over whole numbers ``k``."""
@overload
def zeta(input: Tensor, other: _Scalar, *, out: Tensor | None = ...) -> Tensor:
    """The Hurwitz zeta function: the sum of ``(k + other) ** -input`` over whole numbers ``k``."""

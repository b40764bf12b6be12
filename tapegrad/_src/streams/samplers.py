"""Samplers that try until they may keep a number, and so take as many words as it needs: one number after the other.

Each takes its parameters as arrays of one shape, and gives what PyTorch's sampler of the same method does: Poisson
numbers by products (Knuth, 1969) or PTRS (Hörmann, 1993a), binomial ones by inversion or BTRS (Hörmann, 1993b), gamma
ones by Marsaglia and Tsang (2000).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tapegrad._src.streams.elementary import log
from tapegrad._src.streams.mersenne import Mark, MersenneTwister

_BLOCK = 256


class Doubles:
    """Uniform numbers of float64, and normal ones, one by one; what was made in advance is given back in the end."""

    def __init__(self, twister: MersenneTwister) -> None:
        self._twister = twister
        self._begin: Mark = twister.mark()
        self._ahead: list[float] = []
        self._taken = self._made = 0

    def next(self) -> float:
        """The next uniform number in [0, 1)."""
        if self._taken == self._made:
            self._ahead = self._twister.doubles(_BLOCK).tolist()
            self._made += _BLOCK
        self._taken += 1
        return self._ahead[self._taken - self._made - 1]

    def normal(self) -> float:
        """The next normal number of mean 0 and variance 1."""
        twister = self._twister
        waiting, twister.normal = twister.normal, None
        if waiting is not None:
            return waiting
        angle, radius = 2 * math.pi * self.next(), math.sqrt(-2 * math.log1p(-self.next()))
        twister.normal = radius * math.sin(angle)
        return radius * math.cos(angle)

    def end(self) -> None:
        """Leave the generator as if only what was taken had been made."""
        normal = self._twister.normal
        self._twister.go_back(self._begin)
        self._twister.words(2 * self._taken)
        self._twister.normal = normal


@contextmanager
def doubles(twister: MersenneTwister) -> Iterator[Doubles]:
    """Numbers of a generator for a block."""
    source = Doubles(twister)
    try:
        yield source
    finally:
        source.end()


def poisson(twister: MersenneTwister, rates: np.ndarray) -> np.ndarray:
    """Poisson numbers with these means, of their dtype."""
    with doubles(twister) as source:
        found = [_poisson(rate, source) for rate in rates.astype(np.float64).ravel().tolist()]
    return np.array(found, np.float64).astype(rates.dtype).reshape(rates.shape)


def _poisson(rate: float, source: Doubles) -> float:
    if rate >= 10:
        return _poisson_by_rejection(rate, source)
    if rate == 0:
        return 0
    least, product, count = math.exp(-rate), source.next(), 0
    while product > least:
        product *= source.next()
        count += 1
    return count


def _poisson_by_rejection(rate: float, source: Doubles) -> float:
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse, edge = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u = source.next() - 0.5
        v = source.next()
        us = 0.5 - abs(u)
        count = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= edge:
            return count
        if count < 0 or (us < 0.013 and v > us):
            continue
        if log(v) + math.log(inverse) - math.log(a / (us * us) + b) <= (
            -rate + count * log_rate - math.lgamma(count + 1)
        ):
            return count


# Binomial numbers ---------------------------------------------------------------------------------------------------


def binomial(twister: MersenneTwister, counts: np.ndarray, probs: np.ndarray) -> np.ndarray:
    """The numbers of successes in so many trials of these probabilities, of their dtype."""
    d = counts.dtype
    with doubles(twister) as source, np.errstate(invalid="ignore"):
        found = [_binomial(d, n, p, source) for n, p in zip(counts.ravel(), probs.ravel(), strict=True)]
    return np.array(found, np.float64).astype(d).reshape(counts.shape)


def _binomial(d: np.dtype, count: np.floating, prob: np.floating, source: Doubles) -> float:
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return float(count)
    if np.isnan(prob):
        return math.nan
    less = prob if prob <= 0.5 else d.type(1.0 - float(prob))
    by_rejection = float(count * less) >= 10.0
    found = (_binomial_by_rejection if by_rejection else _binomial_by_inversion)(d, count, less, source)
    return found if prob <= 0.5 else float(count) - found


def _binomial_by_inversion(d: np.dtype, count: np.floating, prob: np.floating, source: Doubles) -> float:
    trials, found, most = 0.0, 0.0, float(count)
    log_miss = float(np.log1p(-prob)) if d == np.float32 else math.log1p(-float(prob))
    while True:
        trials += math.ceil(log(source.next()) / log_miss) if log_miss else math.inf
        if trials > most:
            return found
        found += 1


_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _stirling_tail(k: float) -> float:
    """The rest of the logarithm of ``k!`` beside Stirling's formula."""
    if k < len(_TAILS):
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _binomial_by_rejection(d: np.dtype, n: np.floating, p: np.floating, source: Doubles) -> float:
    one = d.type(1)
    deviation = float(np.sqrt(n * p * (one - p)))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * float(p)
    c = float(n * p) + 0.5
    edge, odds = 0.92 - 4.2 / b, float(p / (one - p))
    alpha, mode, count = (2.83 + 5.1 / b) * deviation, float(np.floor((n + one) * p)), float(n)
    while True:
        u = source.next() - 0.5
        v = source.next()
        us = 0.5 - abs(u)
        k = float(d.type(math.floor((2 * a / us + b) * u + c)))
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= edge:
            return k
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + _stirling_tail(mode) + _stirling_tail(count - mode) - _stirling_tail(k) - _stirling_tail(count - k)
        )  # fmt: skip
        if log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


# Gamma numbers ------------------------------------------------------------------------------------------------------


def gamma(twister: MersenneTwister, shapes: np.ndarray) -> np.ndarray:
    """Gamma numbers of these shapes and scale 1, of their dtype; the least is the smallest that has all digits."""
    d = shapes.dtype
    with doubles(twister) as source:
        found = [_gamma(shape, source, single=d == np.float32) for shape in shapes.ravel().tolist()]
    numbers = np.array(found, np.float64).astype(d).reshape(shapes.shape)
    return np.maximum(numbers, np.finfo(d).tiny)


def _gamma(shape: float, source: Doubles, single: bool) -> float:
    """One number; ``single``: the parameter is of float32, and so is what is computed of it alone."""
    near = np.float32 if single else np.float64
    scale = 1.0
    if shape < 1:
        if shape == 0:
            return 0.0
        scale = (1 - source.next()) ** float(np.float32(1) / near(shape))
        shape = float(near(shape) + near(1))
    d = float(near(shape) - near(np.float32(1) / np.float32(3)))
    c = 1 / math.sqrt(9 * d)
    squeeze = float(np.float32(0.0331))
    while True:
        while True:
            x = source.normal()
            y = 1 + c * x
            if y > 0:
                break
        v = y * y * y
        u = 1 - source.next()
        square = x * x
        if u < 1 - squeeze * square * square or math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v


def dirichlet(twister: MersenneTwister, parameters: np.ndarray) -> np.ndarray:
    """Dirichlet numbers: rows of gamma numbers over their sums."""
    d = parameters.dtype
    with doubles(twister) as source:
        found = [_gamma(shape, source, single=False) for shape in parameters.ravel().tolist()]
    numbers = np.array(found, np.float64).reshape(parameters.shape)
    shares = (numbers / numbers.sum(-1, keepdims=True)).astype(d)
    return np.clip(shares, np.finfo(d).tiny, np.nextafter(d.type(1), d.type(0)))


# Others -------------------------------------------------------------------------------------------------------------


def slopes(twister: MersenneTwister, x: np.ndarray, low: float, high: float) -> np.ndarray:
    """For each element the slope of a randomized leaky unit: from [low, high) where it is not positive, else 1."""
    negative = x <= 0
    low, high = (low, high) if x.dtype == np.float64 else (float(np.float32(low)), float(np.float32(high)))
    drawn = twister.doubles(int(negative.sum())) * (high - low) + low
    found = np.ones(x.shape, x.dtype)
    found[negative] = drawn.astype(x.dtype)
    return found


def chosen(twister: MersenneTwister, weights: np.ndarray, count: int) -> np.ndarray:
    """Indices of the last dimension, int64, in proportion to the weights, each put back before the next is drawn."""
    rows = weights.reshape(-1, weights.shape[-1])
    sums = np.cumsum(rows, axis=-1, dtype=np.promote_types(rows.dtype, np.float32))
    uniforms = twister.doubles(len(rows) * count).reshape(len(rows), count)
    with np.errstate(invalid="ignore"):
        shares = sums / sums[:, -1:]
    found = [np.searchsorted(share.astype(np.float64), u) for share, u in zip(shares, uniforms, strict=True)]
    return np.array(found, np.int64).reshape(*weights.shape[:-1], count)

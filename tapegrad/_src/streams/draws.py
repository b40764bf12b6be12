"""Draws that PyTorch's kernels for CPUs make of words: uniform numbers, normal numbers, whole numbers, and so on.

A draw is a function of a ``MersenneTwister``, a count, a NumPy dtype, whether the numbers are going to lie in row-major
order, and parameters, which are those of the functions of the same name in ``execution/array_functions/random.py``. It
gives as many numbers as are counted, in the order in which they lie in memory. Nearly all are computed in float64 and
rounded.

Note [Sixteen at a time]
Normal numbers are made of pairs of uniform ones (Box and Muller, 1958). Where there are at least 16, and they lie in
row-major order, PyTorch first makes as many uniform numbers as there are to be normal ones and then takes 16 of
them at a time, 8 pairs; if some are left over, the last 16 are made anew. Otherwise they are made one by one in
float64, and the second of a pair waits for the next call.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tapegrad._src.streams.elementary import fma, fma32, libm, log, log32, rounded, sincos32, to32
from tapegrad._src.streams.mersenne import MersenneTwister

_TWO_PI = np.float64(np.float32(2 * math.pi))
_ROWS = 512  # of 16 numbers, so that what is computed of them stays near
_WIDE_RANGE = 2**28
_FEW = 1024
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def cast(numbers: np.ndarray, d: np.dtype) -> np.ndarray:
    """Numbers of float64 in another dtype; the halves are reached through float32."""
    if d.itemsize == 2 and d.kind not in "iu":
        numbers = numbers.astype(np.float32)
    return numbers.astype(d)


def _is_double(d: np.dtype) -> bool:
    return d == np.float64


def uniform(twister: MersenneTwister, count: int, d: np.dtype, in_order: bool, low: float, high: float) -> np.ndarray:
    """Numbers in [low, high); for a complex dtype, both parts are."""
    if d.kind == "c":
        return uniform(twister, 2 * count, np.finfo(d).dtype, in_order, low, high).view(d)
    if _is_double(d):
        numbers = twister.doubles(count)
        numbers = numbers if low == 0 and high == 1 else fma(numbers, high - low, low)
    else:
        numbers = _scaled(twister.floats(count), np.float32(low), np.float32(high)).astype(d)
    least, limit = cast(np.array([low, high]), d)
    numbers[numbers == limit] = least
    return numbers


def _scaled(numbers: np.ndarray, low: np.float32, high: np.float32) -> np.ndarray:
    if low == 0 and high == 1:
        return numbers
    return (numbers.astype(np.float64) * np.float64(high - low) + np.float64(low)).astype(np.float32)


# Normal numbers: Note [Sixteen at a time] ---------------------------------------------------------------------------


def normal(twister: MersenneTwister, count: int, d: np.dtype, in_order: bool, mean: float, std: float) -> np.ndarray:
    """Normal numbers; a complex one has the variance in both parts together."""
    if d.kind == "c":
        return normal(twister, 2 * count, np.finfo(d).dtype, in_order, mean, std / math.sqrt(2)).view(d)
    if count < 16 or not in_order:
        return cast(fma(_one_by_one(twister, count), std, mean), d)
    boxed = _boxed64 if _is_double(d) else _boxed32
    if d.itemsize == 2:
        return _filled_by_blocks(twister, count, boxed, mean, std).astype(d)
    return _filled(twister, count, boxed, mean, std)


def _filled(twister: MersenneTwister, count: int, boxed: Callable, mean: float, std: float) -> np.ndarray:
    uniforms = twister.doubles if boxed is _boxed64 else twister.floats
    numbers, whole = uniforms(count), count - count % 16
    boxed(numbers[:whole].reshape(-1, 2, 8), mean, std)
    if whole != count:
        numbers[-16:] = uniforms(16)
        boxed(numbers[-16:].reshape(-1, 2, 8), mean, std)
    return numbers


def _filled_by_blocks(twister: MersenneTwister, count: int, boxed: Callable, mean: float, std: float) -> np.ndarray:
    """As the halves are filled: what is left over takes no numbers before the last 16 are made."""
    whole = count - count % 16
    numbers = twister.floats(whole + (16 if whole != count else 0))
    boxed(numbers.reshape(-1, 2, 8), mean, std)
    if whole == count:
        return numbers
    return np.concatenate([numbers[: count - 16], numbers[-16:]])


def _boxed32(uniforms: np.ndarray, mean: float, std: float) -> None:
    """Make normal numbers of uniform ones in their place: float32 of shape (blocks, 2, 8)."""
    standard = mean == 0 and std == 1
    mean, std = np.float64(np.float32(mean)), np.float64(np.float32(std))
    for first in range(0, len(uniforms), _ROWS):
        block = uniforms[first : first + _ROWS]
        radius = to32(np.sqrt(-2 * log32((1 - block[:, 0]).astype(np.float64))))
        sine, cosine = sincos32(to32(block[:, 1].astype(np.float64) * _TWO_PI))
        for half, wave in enumerate((cosine, sine)):
            numbers = radius * wave
            block[:, half] = numbers if standard else fma32(to32(numbers), std, mean)


def _boxed64(uniforms: np.ndarray, mean: float, std: float) -> None:
    """Make normal numbers of uniform ones in their place: float64 of shape (blocks, 2, 8)."""
    radius = np.sqrt(-2 * libm(math.log, 1 - uniforms[:, 0].ravel()))
    angle = 2 * math.pi * uniforms[:, 1].ravel()
    for half, wave in enumerate((math.cos, math.sin)):
        uniforms[:, half] = fma(radius * libm(wave, angle), std, mean).reshape(-1, 8)


def _one_by_one(twister: MersenneTwister, count: int) -> np.ndarray:
    """Normal numbers of mean 0 and variance 1, float64; the first may have been made before."""
    waiting: list[float] = [] if twister.normal is None or not count else [twister.normal]
    pairs = (count - len(waiting) + 1) // 2
    angle, radius = twister.doubles(2 * pairs).reshape(-1, 2).T
    radius = np.sqrt(-2 * libm(math.log1p, -radius))
    angle = 2 * math.pi * angle
    made = np.stack([radius * libm(math.cos, angle), radius * libm(math.sin, angle)], 1).ravel()
    numbers = np.concatenate([waiting, made])
    if count:
        twister.normal = float(numbers[-1]) if len(numbers) > count else None
    return numbers[:count]


def log_normal(
    twister: MersenneTwister, count: int, d: np.dtype, in_order: bool, mean: float, std: float
) -> np.ndarray:
    """Numbers whose logarithm is normal."""
    return cast(libm(_exp, fma(_one_by_one(twister, count), std, mean)), d)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


# Of one uniform number each -----------------------------------------------------------------------------------------


def _transformed(x: np.ndarray, d: np.dtype, quick: Callable, exact: Callable) -> np.ndarray:
    return exact(x).astype(d) if _is_double(d) else rounded(quick, exact, x).astype(d)


def exponential(twister: MersenneTwister, count: int, d: np.dtype, in_order: bool, rate: float) -> np.ndarray:
    """Exponential numbers with the mean 1 / rate."""
    scale = -1.0 / rate
    return _transformed(
        twister.doubles(count), d, lambda x: scale * np.log1p(-x), lambda x: scale * libm(math.log1p, -x)
    )


def cauchy(
    twister: MersenneTwister, count: int, d: np.dtype, in_order: bool, median: float, sigma: float
) -> np.ndarray:
    """Cauchy numbers."""
    return cast(fma(libm(math.tan, math.pi * (twister.doubles(count) - 0.5)), sigma, median), d)


def geometric(twister: MersenneTwister, count: int, d: np.dtype, in_order: bool, p: float) -> np.ndarray:
    """The number of trials up to the first success, each of probability ``p``."""
    return cast(np.ceil(libm(log, twister.doubles(count)) / math.log1p(-p)), d)


def bernoulli(twister: MersenneTwister, count: int, d: np.dtype, in_order: bool, p: float) -> np.ndarray:
    """1 with the probability ``p``, else 0."""
    return (twister.doubles(count) < p).astype(d)


# Whole numbers ------------------------------------------------------------------------------------------------------


def integers(twister: MersenneTwister, count: int, d: np.dtype, in_order: bool, low: int, high: int) -> np.ndarray:
    """Whole numbers in [low, high), of any dtype."""
    if d.name in _DIGITS:
        low, high = _least(low, _DIGITS[d.name], d), _most(high, _DIGITS[d.name], d)
    return _from_range(twister, count, d, high - low, low)


def _from_range(twister: MersenneTwister, count: int, d: np.dtype, length: int, low: int) -> np.ndarray:
    if length < _WIDE_RANGE:
        return cast((twister.words(count) % np.uint32(length)).astype(np.int64) + low, d)
    pairs = twister.pairs(count)
    if length == 2**64:
        return cast(pairs.view(np.int64), d)
    return cast((pairs % np.uint64(length) + np.uint64(low % 2**64)).view(np.int64), d)


def _nearest(number: int, d: np.dtype) -> int:
    return int(cast(np.array([number], np.int64), d).astype(np.float64)[0])


def _least(low: int, digits: int, d: np.dtype) -> int:
    """The lower bound, if it is no number of the dtype the next one that is."""
    above = _nearest(low + 1, d)
    return above + 2 ** (abs(low + 1).bit_length() - digits) if above < low else low


def _most(high: int, digits: int, d: np.dtype) -> int:
    """The upper bound, if the last number below is none of the dtype the next one that is."""
    below = _nearest(high - 1, d)
    return below - 2 ** (abs(high - 1).bit_length() - digits) if below >= high else high


def integers_from(twister: MersenneTwister, count: int, d: np.dtype, in_order: bool, low: int, high: int) -> np.ndarray:
    """Whole numbers from ``low`` to the largest that the dtype has, which is ``high - 1`` but for int64."""
    if d == np.int64:
        high = 2**63
    low = _least(low, _DIGITS[d.name], d) if d.name in _DIGITS else low
    return _from_range(twister, count, d, high - low, low)


def all_integers(twister: MersenneTwister, count: int, d: np.dtype, in_order: bool, low: int, high: int) -> np.ndarray:
    """Whole numbers from 0 to the largest that the dtype has."""
    wide = d in (np.dtype(np.int64), np.dtype(np.float64))
    words = twister.pairs(count) if wide else twister.words(count).astype(np.uint64)
    return cast((words % np.uint64(2**63 if d == np.int64 else high)).view(np.int64), d)


# Orders -------------------------------------------------------------------------------------------------------------


def permutation(twister: MersenneTwister, count: int) -> np.ndarray:
    """The numbers below ``count`` in a random order: each place is exchanged with one behind it, or itself."""
    if count < 2:
        return np.arange(count)
    left = np.arange(count, 1, -1)
    if count >= (2**32 - 1) // 20:
        steps = (twister.pairs(count - 1) % left.astype(np.uint64)).astype(np.int64)
    else:
        steps = (twister.words(count - 1) % left.astype(np.uint32)).astype(np.int64)
    steps = np.append(steps, 0)
    return _exchanged_in_turn(steps) if count < _FEW else _exchanged_at_once(steps + np.arange(count))


def _exchanged_in_turn(steps: np.ndarray) -> np.ndarray:
    order = list(range(len(steps)))
    for place, step in enumerate(steps.tolist()):
        order[place], order[place + step] = order[place + step], order[place]
    return np.array(order)


def _exchanged_at_once(targets: np.ndarray) -> np.ndarray:
    """The numbers after place ``i`` was exchanged with ``targets[i] >= i``, one ``i`` after the other.

    What is at a place when its turn comes, was brought there by the last exchange before that had it as its target;
    that was then at the place of that exchange. Such chains are followed all at once, by doubling (Wyllie, 1979).
    """
    places = np.arange(len(targets))
    last, before = _occurrences(targets, places)
    brought = np.where(targets == places, before, last)
    first = np.where(brought < 0, places, brought)
    while not ((further := first[first]) == first).all():
        first = further
    return np.where(targets == places, first, np.where(before < 0, targets, first[before]))


def _occurrences(targets: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each number, at which place it occurs last; for each place, where its number occurs last before; else -1."""
    last, before = np.full(len(targets), -1), np.full(len(targets), -1)
    last[targets] = places  # of several the last stays
    latest, scratch = last.copy(), np.empty_like(last)
    rest = places[last[targets] != places]
    while rest.size:
        numbers = targets[rest]
        scratch[numbers] = rest
        is_latest = scratch[numbers] == rest
        found, of = rest[is_latest], numbers[is_latest]
        before[latest[of]] = found
        latest[of] = found
        rest = rest[~is_latest]
    return last, before


DRAWS = {
    draw.__name__: draw
    for draw in (
        uniform, normal, log_normal, exponential, cauchy, geometric, bernoulli, integers, integers_from, all_integers,
    )
}  # fmt: skip
"""The draws by the names of the functions in ``execution/array_functions/random.py``."""

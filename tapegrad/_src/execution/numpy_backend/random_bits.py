"""Rules of random numbers: the counter-based generator Threefry, bit for bit as jax has it.

Note [Keys on the host]
A key of jax's is two 32-bit integers; an array of keys has a dtype of its own, and a shape without these two. On the
host it is an array of 64-bit integers of that shape, so that what moves elements moves keys.

Note [Lanes]
A hundred calls of NumPy take fifty microseconds, however few numbers there are. So a few are computed as one integer of
Python's, in which each has a lane of 64 bits: sums and shifts of 32 bits stay in their lanes, and what is above the
32nd bit of one is cleared.

Note [Foreseen keys]
Programs draw little and often: an action, the times of a batch, some noise. The keys that a stream will give are known,
and what is drawn with one of them now is likely to be drawn with the next ones, too. So bits for a few numbers are
computed for some keys together: for 4 when a second draw follows, then for 16, up to ``MOST_AHEAD``; what is not asked
for was computed in vain. The bits are the same. Keys that are split off keys follow one another likewise.

Salmon et al., *Parallel random numbers: as easy as 1, 2, 3*, 2011.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive

from tapegrad._src.caches import memory
from tapegrad._src.execution.numpy_backend.operands import Unwritable, call, rule
from tapegrad._src.tape.mechanisms import FORESEEN_KEYS

Pair = tuple[np.ndarray, np.ndarray]


def threefry(key: Pair, counters: Pair) -> Pair:
    """Threefry-2x32 with 20 rounds: 64 random bits for each pair of counters.

    Args:
        key: two arrays of ``uint32``, which broadcast with the counters.
        counters: two arrays of ``uint32``.
    """
    keys = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    second = np.asarray(counters[1] + keys[1])
    if 0 < second.size <= FEW:
        return _in_lanes(keys, counters, second.shape)
    first, spare = np.empty_like(second), np.empty_like(second)
    first[...] = counters[0] + keys[0]
    add, either, differing, to_left, to_right = _STEPS
    for group in range(5):
        for left, right in _ROTATIONS[group % 2]:
            add(first, second, first)
            to_left(second, left, spare)
            to_right(second, right, second)
            either(second, spare, second)
            differing(second, first, second)
        add(first, keys[(group + 1) % 3], first)
        add(second, keys[(group + 2) % 3] + _GROUPS[group], second)
    return first, second


FEW = 64
"""So many pairs of counters are few. See Note [Lanes]."""


def _in_lanes(keys: tuple[np.ndarray, ...], counters: Pair, shape: tuple[int, ...]) -> Pair:
    """The same for few counters. See Note [Lanes]."""
    size = math.prod(shape)
    ones = int.from_bytes(b"\1\0\0\0\0\0\0\0" * size, "little")
    mask = ones * 0xFFFFFFFF
    first, second, *added = [
        x.item() * ones if x.size == 1 else int.from_bytes(np.broadcast_to(x, shape).astype("<u8").tobytes(), "little")
        for x in (*counters, *keys)
    ]
    first, second = first + added[0] & mask, second + added[1] & mask
    for group in range(5):
        for turn in _TURNS[group % 2]:
            first = first + second & mask
            second = ((second << turn | second >> 32 - turn) & mask) ^ first
        first = first + added[(group + 1) % 3] & mask
        second = second + added[(group + 2) % 3] + (group + 1) * ones & mask
    words = [np.frombuffer(x.to_bytes(8 * size, "little"), "<u8").astype(np.uint32) for x in (first, second)]
    return words[0].reshape(shape), words[1].reshape(shape)


_STEPS = np.add, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift


def _words(*numbers: int) -> list[np.ndarray]:
    """Arrays without dimensions, which NumPy's functions take in half the time of its scalars."""
    return [np.asarray(number, np.uint32) for number in numbers]


_PARITY, _ZERO, *_GROUPS = _words(0x1BD11BDA, 0, 1, 2, 3, 4, 5)
_TURNS = (13, 15, 26, 6), (17, 29, 16, 24)
_ROTATIONS = [[tuple(_words(turn, 32 - turn)) for turn in turns] for turns in _TURNS]


def wrapped(words: np.ndarray) -> np.ndarray:
    """Keys, from an array of which the last dimension has their two words."""
    return np.ascontiguousarray(words).view(np.uint64).reshape(words.shape[:-1])


def unwrapped(keys: np.ndarray) -> np.ndarray:
    """The two words of keys, along one more dimension."""
    return np.ascontiguousarray(keys).reshape((*keys.shape, 1)).view(np.uint32)


def words_of(keys: np.ndarray, rank: int) -> Pair:
    """Both words of keys, with ``rank`` dimensions of one element behind."""
    words = unwrapped(keys).reshape((*keys.shape, *[1] * rank, 2))
    return words[..., 0], words[..., 1]


def counted(shape: tuple[int, ...], first: int = 0) -> Pair:
    """0, 1, 2, ..., or from another number on, in a shape, the upper and the lower words; one upper word, where all are
    zero."""
    end = first + math.prod(shape)
    if end <= 1 << 32:
        return _ZERO, np.arange(first, end, dtype=np.uint32).reshape(shape)
    count = np.arange(first, end, dtype=np.uint64).reshape(shape)
    return (count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32)


MOST_DRAWN, LARGEST_DRAWN = 32, 1 << 14
"""The number of arrays of bits that are kept of those drawn last, and the most elements that one has."""

_drawn: dict[tuple, np.ndarray] = {}


def random_bits_of(keys: np.ndarray, shape: tuple[int, ...], width: int) -> np.ndarray:
    """Random bits, of a shape for each key, in unsigned integers of a width.

    Small ones are kept for a while: a backward pass draws the mask of a dropout again.
    """
    key = keys.tobytes(), keys.shape, shape, width
    bits = _drawn.get(key)
    if bits is None:
        bits = foreseen(_bits, keys, shape, width)
        if bits.size <= LARGEST_DRAWN:
            bits.flags.writeable = False
            _drawn[key] = bits
            if len(_drawn) > MOST_DRAWN:
                oldest, *_ = list(_drawn)  # in one go, for another thread may draw meanwhile
                _drawn.pop(oldest, None)
    return bits


memory.others.append(_drawn)


class Foresight:
    """The number of keys of a stream that are worth looking at together."""

    __slots__ = ("_end", "_count")

    def __init__(self) -> None:
        self._end, self._count = -SKIPPED, 1

    def keys_from(self, number: int, each: int, key_at: Callable[[int], np.ndarray]) -> np.ndarray:
        """The key of a number and some that follow, of which so many random words are taken each: four times as many
        as before, if those were all passed by. ``key_at`` gives the data of that of a number."""
        follows = 0 < number - self._end <= SKIPPED
        self._count = min(4 * self._count, MOST_AHEAD, max(LARGEST_DRAWN // each, 1)) if follows else 1
        self._end = number + self._count - 1
        return wrapped(np.stack([key_at(one) for one in range(number, self._end + 1)]))


MOST_AHEAD, SKIPPED = 64, 4
"""Up to so many keys are looked at together; so many draws of another kind may come between."""

FEW_WORDS = 1 << 10
"""Draws of so many words at most are foreseen: the calls of NumPy take longer than what they compute."""

MOST_FORESEEN = 1 << 10
"""The most results that are kept ahead."""

_foreseen: dict[tuple, np.ndarray] = {}
_batches: dict[bytes, tuple[np.ndarray, int]] = {}
memory.others += [_foreseen, _batches]


def expect(key: bytes, stream: Any, number: int) -> None:
    """Note the key that a stream gives now, and its number. See Note [Foreseen keys]."""
    _latest[0] = key, stream, number


_latest: list[tuple[bytes, Any, int]] = [(b"", None, 0)]


def foreseen(function: Callable, keys: np.ndarray, shape: tuple[int, ...], *settings: Any) -> np.ndarray:
    """The result of a function of keys, for one key computed together with those of the keys that are likely to follow.
    See Note [Foreseen keys]."""
    each = math.prod(shape)
    if keys.ndim or not 0 < each <= FEW_WORDS or FORESEEN_KEYS.off:
        return function(keys, shape, *settings)
    ahead = _foreseen.pop((function, keys.tobytes(), shape, settings), None)
    if ahead is not None:
        return ahead
    batch = _batch_of(keys, each)
    if batch.size == 1:
        return function(keys, shape, *settings)
    if len(_foreseen) + batch.size > MOST_FORESEEN:
        _foreseen.clear()
    results = function(batch, shape, *settings)
    for index in range(1, batch.size):
        _foreseen[function, batch[index].tobytes(), shape, settings] = results[index, ...]
    return results[0, ...]


def _batch_of(key: np.ndarray, each: int) -> np.ndarray:
    """A key, and those that are likely to be asked for next in its place."""
    name = key.tobytes()
    keys, index = _batches.get(name, (None, 0))
    if keys is not None:
        return keys[index:]
    latest, stream, number = _latest[0]
    if name != latest:
        return key.reshape(1)
    keys = stream.foresight.keys_from(number, each, stream.key_at)
    if keys[0] != key:  # it has another seed by now
        return key.reshape(1)
    _keep_batch(keys)
    return keys


def _keep_batch(keys: np.ndarray) -> None:
    """Keep what follows each of some keys."""
    if keys.size > 1:
        if len(_batches) + keys.size > 4 * MOST_FORESEEN:
            _batches.clear()
        _batches.update((key.tobytes(), (keys, index)) for index, key in enumerate(keys))


def random_part_of(key: np.ndarray, shape: tuple[int, ...], width: int, *starts: np.ndarray) -> np.ndarray:
    """Those of the random bits of one key that come after so many, which the places are together.

    >>> key = wrapped(np.array([1, 2], "uint32"))
    >>> np.array_equal(random_part_of(key, (3,), 32, np.asarray(4)), random_bits_of(key, (7,), 32)[4:])
    True
    """
    return _bits(key, shape, width, sum(map(int, starts)))


def _bits(keys: np.ndarray, shape: tuple[int, ...], width: int, start: int = 0) -> np.ndarray:
    first, second = threefry(words_of(keys, len(shape)), counted(shape, start))
    if width == 64:
        return np.asarray((first.astype(np.uint64) << np.uint64(32)) | second)
    return np.asarray(first ^ second).astype(f"uint{width}")


def split_keys(keys: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """New keys, of a shape for each key."""
    return foreseen(_split, keys, shape)


def _split(keys: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    made = wrapped(np.stack(threefry(words_of(keys, len(shape)), counted(shape)), -1))
    if keys.ndim == 1:
        for column in made.reshape(keys.size, -1).T:
            _keep_batch(np.ascontiguousarray(column))
    return made


def seeded(seeds: np.ndarray) -> np.ndarray:
    """The keys of seeds."""
    return wrapped(np.stack(words_of_seeds(seeds), -1))


def words_of_seeds(seeds: np.ndarray) -> Pair:
    """The upper and the lower words of integers; those of 32 bits have no upper word."""
    bits = seeds.dtype.itemsize * 8
    upper = (
        (seeds.astype(np.uint64) >> np.uint64(32)).astype(np.uint32) if bits > 32 else np.zeros_like(seeds, "uint32")
    )
    return upper, seeds.astype(np.uint32)


def folded(keys: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Keys of keys and a number."""
    return wrapped(np.stack(threefry(words_of(keys, 0), words_of_seeds(data)), -1))


def known_keys(*avals: Any) -> None:
    """See to it that keys are Threefry's, and counted as is usual.

    Raises:
        Unwritable: they are not.
    """
    partitionable = jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
    if not partitionable or any(str(aval.dtype) != "key<fry>" for aval in avals):
        raise Unwritable(f"random: {', '.join(str(aval.dtype) for aval in avals)}")


@rule("random_wrap")
def random_wrap(writer: Any, equation: Any) -> Any:
    """Keys, from arrays of words."""
    known_keys(equation.aval)
    return call(wrapped, equation.full(0))


@rule("random_unwrap")
def random_unwrap(writer: Any, equation: Any) -> Any:
    """Arrays of words, from keys."""
    known_keys(equation.avals[0])
    return call(unwrapped, equation.full(0))


@rule("random_seed")
def random_seed(writer: Any, equation: Any) -> Any:
    """Keys, from integers."""
    known_keys(equation.aval)
    return call(seeded, equation.full(0))


@rule("random_split")
def random_split(writer: Any, equation: Any) -> Any:
    """More keys."""
    known_keys(equation.aval)
    return call(split_keys, equation.full(0), tuple(equation.params["shape"]))


@rule("random_fold_in")
def random_fold_in(writer: Any, equation: Any) -> Any:
    """Keys that depend on a number, too."""
    known_keys(equation.aval)
    return call(folded, *equation.inputs())


@rule("random_bits")
def random_bits(writer: Any, equation: Any) -> Any:
    """Random bits."""
    known_keys(equation.avals[0])
    shape, width = tuple(equation.params["shape"]), int(equation.params["bit_width"])
    return call(random_bits_of, equation.full(0), shape, width)


random_part = Primitive("tapegrad_random_part")
"""Random bits from a place on: takes a key, and numbers that are the place together."""


@rule(random_part.name)
def random_part_(writer: Any, equation: Any) -> Any:
    """Some random bits of one key."""
    shape, width = tuple(equation.params["shape"]), int(equation.params["bit_width"])
    key, *starts = (equation.full(index) for index in range(len(equation.avals)))
    return call(random_part_of, key, shape, width, *starts)


@rule("threefry2x32")
def threefry2x32(writer: Any, equation: Any) -> Any:
    """The generator itself."""
    return writer.several(call(threefry, equation.inputs(0, 2), equation.inputs(2)), 2)

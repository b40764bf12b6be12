"""Random numbers: streams of keys, and samples drawn with them.

A ``KeyStream`` is the state of a generator: a seed and how many keys were taken. Nothing of it lives on a device. Its
keys are the data of JAX's threefry keys, which kernels take like any other array; so the same seed gives the same
numbers on every device, and a compiled kernel serves all draws of one shape.

Note [Draws by the bucket]
A kernel that draws takes XLA some 200 ms to compile, and a network starts with a draw for each of its shapes. With
threefry the n-th number depends on the key and on n only; so on the CPU a draw takes the first numbers of one of a few
sizes, which are compiled once, and gives the same result as a kernel made for its shape.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tapegrad._src.execution.array_functions.host import committed, from_host, may_look, to_host
from tapegrad._src.execution.array_functions.layouts import made_on
from tapegrad._src.execution.data.devices import META, device
from tapegrad._src.execution.data.dtypes import dtype, uint64
from tapegrad._src.execution.data.opaque import Meta
from tapegrad._src.execution.data.sizes import exporting
from tapegrad._src.execution.kernels.kernel import Kernel, kernel_for
from tapegrad._src.execution.numpy_backend.random_bits import Foresight, expect, random_bits_of, split_keys, wrapped
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.execution.tiers.settings import hosted

KEY_SHAPE = (2,)
"""The shape of a key's data, of dtype uint32."""

DEFAULT_SEED = 67280421310721
"""PyTorch's seed of a generator that was not given one."""

_BUCKETS = tuple(4**power for power in range(3, 11))  # 64 to 2**20


class KeyStream:
    """An endless supply of keys, determined by a seed.

    Attributes:
        root: the seed, between 0 and 2**64 - 1.
        offset: how many keys were taken since.
        retired: whether the generator that had it has another one now.
        seeds: how often it was given a seed.
        foresight: how many of its keys are looked at together.

    >>> a, b = KeyStream(3), KeyStream(3)
    >>> bool((a.next_key() == b.next_key()).all())
    True
    """

    has_keys = True
    """True if operators get keys, and not numbers. See Note [Streams] in ``bindings/state/generator.py``."""

    __slots__ = ("_lock", "foresight", "offset", "retired", "root", "seeds")

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self.retired = False
        self.foresight = Foresight()
        self.root = seed
        self.offset = self.seeds = 0
        self._lock = threading.Lock()

    def reseed(self, seed: int) -> None:
        """Start again with this seed."""
        with self._lock:
            self.root, self.offset = seed, 0
            self.seeds += 1

    def next_key(self) -> np.ndarray:
        """The data of a JAX key that no other call gets: two words, hashed from the seed and the offset."""
        with self._lock:
            self.offset += 1
            offset = self.offset
        key = self.key_at(offset)
        expect(key.tobytes(), self, offset)
        if capturing.by is not None:
            capturing.by.note_random(key, self, (self.root, offset - 1), None)
        return key

    def key_at(self, offset: int) -> np.ndarray:
        """The data of the key that is taken when so many have been, this one among them."""
        state = self.root.to_bytes(8, "little") + offset.to_bytes(8, "little")
        return np.frombuffer(hashlib.blake2b(state, digest_size=8).digest(), np.uint32)

    def mark(self) -> tuple[int, int]:
        """All that determines what comes next."""
        return self.root, self.offset

    def restore(self, mark: tuple[int, int]) -> None:
        """Go to where ``mark`` was called."""
        self.root, self.offset = mark

    rewind = restore

    def draw(
        self, what: Callable, shape: tuple[int, ...], d: dtype, on: device, *parameters: Any, strides: Any = None
    ) -> Any:
        """A value of independent samples; where they lie in memory makes no difference."""
        return draw(what, self, shape, d, on, *parameters)

    def order(self, shape: tuple[int, ...], d: dtype, on: device) -> Any:
        """A value of numbers in a random order; see ``permutation``."""
        return permutation(self, shape, d, on)


def entropy() -> int:
    """A seed that nobody can predict."""
    return secrets.randbits(64)


def jax_key(data: Any) -> Any:
    """The JAX key with this data; for kernels."""
    return jax.random.wrap_key_data(data, impl="threefry2x32")


def is_key(data: Any) -> bool:
    """Tell whether an operator was given a key, and not what would have been drawn with it."""
    return data.dtype == np.uint32


# What can be drawn: functions of a key, a shape, a NumPy dtype and parameters that broadcast to the shape ------------


def _wide(np_dtype: np.dtype) -> np.dtype:
    """The dtype in which numbers are drawn: with the bits of a half there would be no tails, and zeros."""
    return np.dtype(np.float32) if np_dtype.itemsize == 2 else np_dtype


def uniform(key: Any, shape: tuple[int, ...], np_dtype: np.dtype, low: Any, high: Any) -> Any:
    """Numbers in [low, high); for a complex dtype, both parts are."""
    if np_dtype.kind == "c":
        real_key, imag_key = jax.random.split(key)
        part = np.finfo(np_dtype).dtype
        return jax.lax.complex(uniform(real_key, shape, part, low, high), uniform(imag_key, shape, part, low, high))
    numbers = (jax.random.uniform(key, shape, _wide(np_dtype)) * (high - low) + low).astype(np_dtype)
    return jnp.where(numbers >= high, low, numbers).astype(np_dtype)  # rounding may have reached high


def normal(key: Any, shape: tuple[int, ...], np_dtype: np.dtype, mean: Any, std: Any) -> Any:
    """Normal numbers; a complex one has the variance in both parts together."""
    return (jax.random.normal(key, shape, _wide(np_dtype)) * std + mean).astype(np_dtype)


def log_normal(key: Any, shape: tuple[int, ...], np_dtype: np.dtype, mean: Any, std: Any) -> Any:
    """Numbers whose logarithm is normal."""
    return jnp.exp(normal(key, shape, _wide(np_dtype), mean, std)).astype(np_dtype)


def exponential(key: Any, shape: tuple[int, ...], np_dtype: np.dtype, rate: Any) -> Any:
    """Exponential numbers with the mean 1 / rate, none of them 0, as in PyTorch: logarithms are taken of them."""
    wide = _wide(np_dtype)
    numbers = jnp.maximum(jax.random.exponential(key, shape, wide), np.finfo(wide).eps / 2)
    return (numbers / rate).astype(np_dtype)


def cauchy(key: Any, shape: tuple[int, ...], np_dtype: np.dtype, median: Any, sigma: Any) -> Any:
    """Cauchy numbers."""
    return (jax.random.cauchy(key, shape, _wide(np_dtype)) * sigma + median).astype(np_dtype)


def geometric(key: Any, shape: tuple[int, ...], np_dtype: np.dtype, p: Any) -> Any:
    """The number of trials up to the first success, each of probability ``p``, by inversion: ceil(log u / log(1-p))."""
    unit = jax.random.uniform(key, shape, jnp.float32, minval=np.finfo(np.float32).tiny)
    return jnp.maximum(jnp.ceil(jnp.log(unit) / jnp.log1p(-p)), 1).astype(np_dtype)


def bernoulli(key: Any, shape: tuple[int, ...], np_dtype: np.dtype, p: Any) -> Any:
    """1 with the probability ``p``, else 0: where numbers of 23 bits, those of ``uniform``, are below it.

    >>> bernoulli(jax.random.key(0), (4,), np.dtype("int32"), 0.5)
    Array([0, 0, 1, 1], dtype=int32)
    """
    least = math.ceil(float(np.float32(p)) * 2.0**23) if isinstance(p, (int, float)) and 0 <= p < 1 else 1 << 23
    if least == 1 << 23:
        return (jax.random.uniform(key, shape, jnp.float32) < p).astype(np_dtype)
    return (jax.random.bits(key, shape, jnp.uint32) < np.uint32(least << 9)).astype(np_dtype)


def integers(key: Any, shape: tuple[int, ...], np_dtype: np.dtype, low: Any, high: Any) -> Any:
    """Whole numbers in [low, high), of any dtype."""
    return jax.random.randint(key, shape, low, high, jnp.int64).astype(np_dtype)


def integers_from(key: Any, shape: tuple[int, ...], np_dtype: np.dtype, low: Any, high: Any) -> Any:
    """Whole numbers from ``low`` to the largest that a dtype has, which is ``high - 1``."""
    return integers(key, shape, np_dtype, low, high)


def all_integers(key: Any, shape: tuple[int, ...], np_dtype: np.dtype, low: Any, high: Any) -> Any:
    """Whole numbers from 0 to the largest that a dtype has, which is ``high - 1``."""
    return integers(key, shape, np_dtype, low, high)


def _bits(key: Any, shape: tuple[int, ...], np_dtype: np.dtype) -> Any:
    return jax.random.bits(key, shape, np_dtype)


def _order(key: Any, shape: tuple[int, ...], np_dtype: np.dtype) -> Any:
    return jnp.argsort(jax.random.bits(key, shape, np.uint64), stable=True).astype(np_dtype)


_WIDE = (integers, integers_from, all_integers, _order)

# Drawing ------------------------------------------------------------------------------------------------------------


def draw(what: Callable, stream: KeyStream, shape: tuple[int, ...], d: dtype, on: device, *parameters: Any) -> Any:
    """A value of independent samples.

    Args:
        what: one of the functions above.
        stream: where the key comes from.
        shape, d, on: of the result.
        parameters: numbers, those of ``what``.

    >>> from tapegrad._src.execution.data.dtypes import float32
    >>> draw(uniform, KeyStream(0), (2, 3), float32, device("cpu"), 0.0, 1.0).shape
    (2, 3)
    """
    if on is META:
        return Meta(shape, d.numpy)
    key = stream.next_key()
    wide = d.is_64bit or what in _WIDE
    count = math.prod(shape)
    by_bucket = on.is_host and may_look() and not exporting.on
    bucket = next((size for size in _BUCKETS if size >= count), None) if by_bucket else None
    if bucket is not None and what is integers and hosted() and bucket <= FEW_INTEGERS and _is_ordinary(*parameters):
        return from_host(_integers_here(wrapped(key), shape, bucket, *parameters).astype(d.numpy), on)
    if bucket is not None:
        flat = _take(kernel_for(_kernel, what, (bucket,), d.numpy, wide, made_on()), from_key(key, on), parameters)
        return from_host(flat[:count].reshape(shape).copy(), on)
    return kernel_for(_kernel, what, tuple(shape), d.numpy, wide, made_on(on))(from_key(key, on), *parameters)


FEW_INTEGERS = 1 << 12
"""So many whole numbers are drawn without a kernel: half of what that takes are calls for a remainder."""


def _is_ordinary(low: int, high: int) -> bool:
    return -(1 << 62) <= low < high <= 1 << 62


def _integers_here(key: np.ndarray, shape: tuple[int, ...], bucket: int, low: int, high: int) -> np.ndarray:
    """The same as ``integers``: remainders of 128 bits, of which jax leaves out the upper half for spans of more than
    32 bits, as the square of ``2 ** 32`` is zero in 64."""
    upper, lower = (random_bits_of(one, (bucket,), 64)[: math.prod(shape)] for one in split_keys(key, (2,)))
    span = high - low
    fold = ((1 << 32) % span) ** 2 % (1 << 64) % span
    remainders = (upper % np.uint64(span) * np.uint64(fold) + lower % np.uint64(span)) % np.uint64(span)
    return (low + remainders.astype(np.int64)).reshape(shape)


def permutation(stream: KeyStream, shape: tuple[int, ...], d: dtype, on: device) -> Any:
    """The numbers below the last length of a shape in a random order, another one in each row.

    They are put in the order of as many random words, on the host: sorting there needs no compilation.
    """
    if not may_look() or exporting.on or on is META:
        return draw(_order, stream, shape, d, on)
    bits = draw(_bits, stream, shape, uint64, device("cpu"))
    return from_host(np.argsort(to_host(bits), -1, "stable").astype(d.numpy), on)


def from_key(key: np.ndarray, on: device) -> Any:
    """The data of a key as a value that a kernel on a device can take."""
    return from_host(key, on.free) if committed() or on is META else key


def _take(kernel: Callable, key: Any, parameters: tuple) -> np.ndarray:
    """The result of a kernel on the host; also inside a trace of JAX's, which has no part in the host's generators."""
    try:
        return to_host(kernel(key, *parameters))
    except jax.errors.TracerArrayConversionError:
        with jax.core.eval_context():
            return to_host(kernel(key, *parameters))


def _kernel(what: Callable, shape: tuple[int, ...], np_dtype: np.dtype, wide: bool, made: Callable) -> Any:
    def sample(key: Any, *parameters: Any) -> Any:
        return made(what(jax_key(key), shape, np_dtype, *parameters))

    return Kernel(sample, name=what.__name__.strip("_"), wide=wide).dispatcher()

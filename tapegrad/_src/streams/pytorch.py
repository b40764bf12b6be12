"""The stream of PyTorch's generator for CPUs, as generators of ours take from it.

Note [Numbers of the host]
The n-th number of a Mersenne Twister can't be had without those before, so it has no keys that a kernel could take:
numbers are made on the host, when they are asked for, and are data like any other. What was asked for is a
``DrawRecipe``.
A step that is compiled follows the recipes of the call that was captured, in their order, each time it is replayed.
Inside of a trace of jax's they are constants.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.execution.array_functions.host import from_host
from tapegrad._src.execution.data.devices import META, device
from tapegrad._src.execution.data.dtypes import dtype
from tapegrad._src.execution.data.opaque import Meta
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.streams import samplers
from tapegrad._src.streams.draws import DRAWS, permutation
from tapegrad._src.streams.mersenne import Mark, MersenneTwister
from tapegrad._src.tensor.geometry import contiguous_strides, is_contiguous, memory_order


class DrawRecipe(NamedTuple):
    """A request: samples of a distribution (or a ``"permutation"``) of a shape, a dtype and strides."""

    what: str
    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...] | None = None
    parameters: tuple[Any, ...] = ()

    def made(self, twister: MersenneTwister) -> np.ndarray:
        """The numbers that were asked for. What a dtype can't hold becomes infinite without a warning."""
        with np.errstate(all="ignore"):
            return self._made(twister)

    def _made(self, twister: MersenneTwister) -> np.ndarray:
        if self.what == "permutation":
            *sizes, count = self.shape
            rows = [permutation(twister, count) for _ in range(math.prod(sizes))]
            return np.array(rows, self.dtype).reshape(self.shape)
        strides = contiguous_strides(self.shape) if self.strides is None else self.strides
        in_order = is_contiguous(self.shape, strides)
        axes = tuple(reversed(range(len(self.shape))) if in_order else memory_order(self.shape, [strides]))[::-1]
        count = math.prod(self.shape)
        numbers = DRAWS[self.what](twister, count, self.dtype, in_order, *self.parameters)
        if axes == tuple(range(len(axes))):
            return numbers.reshape(self.shape)
        lain = numbers.reshape([self.shape[axis] for axis in axes])
        return np.ascontiguousarray(lain.transpose(np.argsort(axes)))


class Marking(NamedTuple):
    """That the stream was marked."""

    mark: Any


class Restoring(NamedTuple):
    """That the stream went back to a mark, or to that of an earlier ``Marking``."""

    to: Any


class TwisterStream:
    """The numbers of a Mersenne Twister. See Note [Numbers of the host].

    Attributes:
        twister: the generator.
        retired: whether the generator of ours that had it has another one now.

    >>> stream = TwisterStream(0)
    >>> stream.root, stream.has_keys
    (0, False)
    """

    has_keys = False

    __slots__ = ("_lock", "retired", "twister")

    def __init__(self, seed: int) -> None:
        self.retired = False
        self.twister = MersenneTwister(seed)
        self._lock = threading.Lock()

    @property
    def root(self) -> int:
        """The seed."""
        return self.twister.seed

    def reseed(self, seed: int) -> None:
        """Start again with this seed."""
        with self._lock:
            self.twister.reseed(seed)

    def mark(self) -> Mark:
        """All that determines what comes next."""
        with self._lock:
            mark = self.twister.mark()
        if capturing.by is not None:
            capturing.by.note_random(None, self, mark, Marking(mark))
        return mark

    def restore(self, mark: Mark) -> None:
        """Go to where ``mark`` was called."""
        if capturing.by is not None:
            capturing.by.note_random(None, self, self.twister.mark(), Restoring(mark))
        self.rewind(mark)

    def rewind(self, mark: Mark) -> None:
        """``restore``, as no part of what is computed."""
        with self._lock:
            self.twister.go_back(mark)

    def draw(
        self, what: Callable, shape: tuple[int, ...], d: dtype, on: device, *parameters: Any, strides: Any = None
    ) -> Any:
        """A value of independent samples, drawn in the order in which they lie in memory.

        Args:
            what: one of the functions of ``execution/array_functions/random.py``.
            shape, d, on, strides: of the result; the value is row-major in any case.
            parameters: numbers, those of ``what``.
        """
        return self._follow(DrawRecipe(what.__name__, tuple(shape), d.numpy, strides, parameters), on)

    def order(self, shape: tuple[int, ...], d: dtype, on: device) -> Any:
        """A value of the numbers below the last length in a random order, another one in each row."""
        return self._follow(DrawRecipe("permutation", tuple(shape), d.numpy), on)

    def sample(self, sampler: str, on: device, *arguments: Any) -> Any:
        """A value of samples that are taken one by one: ``sampler`` is a function of ``streams/samplers.py``."""
        with self._lock:
            return from_host(getattr(samplers, sampler)(self.twister, *arguments), on)

    def _follow(self, recipe: DrawRecipe, on: device) -> Any:
        if on is META:
            return Meta(recipe.shape, recipe.dtype)
        capture = capturing.by
        with self._lock:
            before = None if capture is None else self.twister.mark()
            array = recipe.made(self.twister)
        if capture is not None:
            capture.note_random(array, self, before, recipe)
        return from_host(array, on)

    def recipes(self, taken: Sequence[DrawRecipe | Marking | Restoring]) -> tuple:
        """The notes of a call, in a form that is equal for equal calls; nothing if no numbers were made."""
        if not any(isinstance(one, DrawRecipe) for one in taken):
            return ()
        marks = {id(one.mark): place for place, one in enumerate(taken) if isinstance(one, Marking)}
        return tuple(
            Marking(None) if isinstance(one, Marking)
            else Restoring(marks.get(id(one.to), one.to)) if isinstance(one, Restoring)
            else one
            for one in taken
        )  # fmt: skip

    def made_again(self, recipes: Sequence[DrawRecipe | Marking | Restoring]) -> list[Any]:
        """The numbers that all of these make, one after the other; where the stream is marked, the mark."""
        made: list[Any] = []
        with self._lock:
            for one in recipes:
                if isinstance(one, DrawRecipe):
                    made.append(one.made(self.twister))
                elif isinstance(one, Marking):
                    made.append(self.twister.mark())
                else:
                    self.twister.go_back(made[one.to] if isinstance(one.to, int) else one.to)
                    made.append(None)
        return made

"""The Mersenne Twister (Matsumoto and Nishimura, 1998) in the state in which PyTorch keeps and stores it.

Note [Words]
All numbers are made of *words* of 32 bits, or of two words, the first of which is the upper half. NumPy has the same
generator; ours begins where PyTorch's does for a seed, and can be saved in PyTorch's form: ``STATE``, of 5056 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

LENGTH = 624
"""The number of words before they are stirred again."""

STATE = np.dtype({
    "names": ["seed", "left", "seeded", "next", "words", "normal", "has_normal"],
    "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", LENGTH), "<f8", "<i4"],
    "offsets": [0, 8, 12, 16, 24, 5024, 5040],
    "itemsize": 5056,
})  # fmt: skip
"""The layout of a generator's state in PyTorch: ``left`` and ``next`` say how many of the words were taken."""

_FEW = 2048


@dataclass(frozen=True, eq=False)
class Mark:
    """All that determines what comes next; a mark equals itself only."""

    seed: int
    words: np.ndarray
    position: int
    untouched: bool
    normal: float | None


class MersenneTwister:
    """An endless supply of words, determined by a seed.

    Attributes:
        seed: the seed, between 0 and 2**64 - 1; its lower 32 bits decide.
        normal: the second of two normal numbers that were made together, if the first was all that was wanted.

    >>> MersenneTwister(0).words(2)
    array([2357136044, 2546248239], dtype=uint32)
    """

    __slots__ = ("_bits", "_state", "_untouched", "_wide", "normal", "seed")

    def __init__(self, seed: int) -> None:
        self._bits = np.random.MT19937(0)
        self._state = np.random.RandomState(self._bits)
        self._wide = np.random.Generator(self._bits)
        self.normal: float | None = None
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Start again with this seed."""
        self._state.seed(seed & 0xFFFFFFFF)
        self.seed, self.normal, self._untouched = seed, None, True

    def words(self, count: int) -> np.ndarray:
        """The next words, uint32."""
        if count == 0:
            return np.empty(0, np.uint32)
        self._untouched = False
        if count < _FEW:
            return self._bits.random_raw(count).astype(np.uint32)
        return self._wide.integers(0, 2**32, size=count, dtype=np.uint32)

    def pairs(self, count: int) -> np.ndarray:
        """The next pairs of words, each as one number, uint64."""
        words = self.words(2 * count).astype(np.uint64)
        return words[0::2] << np.uint64(32) | words[1::2]

    def floats(self, count: int) -> np.ndarray:
        """Numbers in [0, 1) of 24 bits, float32."""
        return (self.words(count) & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2**-24)

    def doubles(self, count: int) -> np.ndarray:
        """Numbers in [0, 1) of 53 bits, float64."""
        return (self.pairs(count) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53

    def mark(self) -> Mark:
        """The present state."""
        state: Any = self._bits.state["state"]
        return Mark(self.seed, state["key"], int(state["pos"]), self._untouched, self.normal)

    def go_back(self, mark: Mark) -> None:
        """Go to a state that ``mark`` gave."""
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": mark.words, "pos": mark.position}}
        self.seed, self._untouched, self.normal = mark.seed, mark.untouched, mark.normal

    def stored(self) -> np.ndarray:
        """The state as PyTorch stores it, uint8."""
        mark, state = self.mark(), np.zeros((), STATE)
        taken = 0 if mark.untouched and mark.position == LENGTH else mark.position
        state["seed"], state["seeded"], state["words"] = mark.seed, 1, mark.words
        state["next"], state["left"] = taken, LENGTH + 1 - taken if taken else 1
        if mark.normal is not None:
            state["normal"], state["has_normal"] = mark.normal, 1
        return np.frombuffer(state.tobytes(), np.uint8)

    def restore(self, stored: np.ndarray) -> None:
        """Go to a state that PyTorch has stored. Raises RuntimeError: PyTorch's message, for bytes that are none."""
        state = np.frombuffer(stored.tobytes(), STATE)[0]
        left, taken = int(state["left"]), int(state["next"])
        if state["seeded"] != 1 or not 0 < left <= LENGTH or taken > LENGTH:
            raise RuntimeError("Invalid mt19937 state")
        normal = float(state["normal"]) if state["has_normal"] else None
        words = state["words"].astype(np.uint32)
        self.go_back(Mark(int(state["seed"]), words, LENGTH if left == 1 else taken, taken == 0, normal))

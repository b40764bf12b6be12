"""``torch.quasirandom``: Sobol sequences, whose points fill a cube more evenly than random ones.

The direction numbers are those of Joe and Kuo, https://web.maths.unsw.edu.au/~fkuo/sobol/, which SciPy has.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Self

import numpy as np

from tapegrad._src.bindings.state.generator import Generator
from tapegrad._src.execution.data.dtypes import dtype as dtype_class
from tapegrad._src.execution.data.dtypes import float32, float64, get_default_dtype
from tapegrad._src.functions.construction import from_numpy
from tapegrad._src.functions.joining import cat
from tapegrad._src.functions.random import randint
from tapegrad._src.tensor.tensor import Tensor

__all__ = ["SobolEngine"]


@cache
def _scipy_stats() -> Any:
    """SciPy's statistics, which few programs need, and which take long to import; jax brings SciPy along."""
    return import_module("scipy.stats.qmc")


class SobolEngine:
    """Draws the points of a Sobol sequence, one after another.

    Args:
        dimension: of the cube, at most 21201.
        scramble: whether the sequence is scrambled, by Owen's method.
        seed: for scrambling; None takes random numbers of the default generator.

    Attributes:
        num_generated: how many points have been drawn.
        sobolstate: the direction numbers, (dimension, 30).
        shift, quasi: the first point, and the last that was drawn, as multiples of ``2**-30``.

    Raises:
        ValueError: the dimension is out of range.

    >>> SobolEngine(dimension=2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        directions = _scipy_stats().Sobol(dimension, scramble=False, bits=self.MAXBIT)._sv.astype(np.int64)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            shift, directions = self._scrambled(directions)
        self.sobolstate, self.shift = from_numpy(directions), from_numpy(shift)
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scrambled(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A random first point, and the direction numbers, as vectors of bits, times random triangular matrices."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        bits = 1 << np.arange(self.MAXBIT)
        shift = randint(2, (self.dimension, self.MAXBIT), device="cpu", generator=generator).numpy() @ bits
        matrices = randint(2, (self.dimension, self.MAXBIT, self.MAXBIT), device="cpu", generator=generator).numpy()
        rows = (np.tril(matrices, -1) + np.eye(self.MAXBIT, dtype=np.int64)) @ bits[::-1]
        parities = np.bitwise_count(rows[:, None, :] & directions[:, :, None]) % 2
        return shift, parities.astype(np.int64) @ bits[::-1]

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: dtype_class | None = None) -> Tensor:
        """The next ``n`` points, (n, dimension), in [0, 1).

        Args:
            n: how many.
            out: what they are written to, which gets their shape.
            dtype: theirs; the default dtype if it is None.

        Raises:
            NotImplementedError: ``dtype`` is neither float32 nor float64.
        """
        dtype = get_default_dtype() if dtype is None else dtype
        first = [self._first_point.to(dtype)] if self.num_generated == 0 else []
        more = n - len(first)
        if (more or not first) and dtype not in (float32, float64):
            raise NotImplementedError(f"\"_sobol_engine_draw\" not implemented for '{dtype.scalar_name}'")
        result = cat([*first, self._following(more).to(dtype) * 2.0**-self.MAXBIT])
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def _following(self, n: int) -> Tensor:
        """The next points as multiples of ``2**-30``: each differs from that before by one direction number."""
        before = max(self.num_generated - 1, 0)
        numbers = np.arange(before, before + n)
        lowest_zero = np.bitwise_count(numbers & ~(numbers + 1))  # ones below it
        steps = [self.quasi.numpy()[None], self.sobolstate.numpy().T[lowest_zero]]
        points = np.bitwise_xor.accumulate(np.concatenate(steps), axis=0)
        self.quasi = from_numpy(points[-1].copy())
        return from_numpy(points[1:])

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: dtype_class | None = None) -> Tensor:
        """The next ``2**m`` points, where this makes their number a power of 2.

        Args:
            m: the exponent.
            out, dtype: see ``draw``.

        Raises:
            ValueError: the number of points is none.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points "
                f"have been previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do "
                "this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> Self:
        """Begin again."""
        self.quasi, self.num_generated = self.shift.clone(), 0
        return self

    def fast_forward(self, n: int) -> Self:
        """Leave out ``n`` points."""
        before = max(self.num_generated - 1, 0)
        after = before + n - (self.num_generated == 0)
        changed = (before ^ before >> 1) ^ (after ^ after >> 1)  # directions that come an odd number of times
        columns = [bit for bit in range(self.MAXBIT) if changed >> bit & 1]
        moved = np.bitwise_xor.reduce(self.sobolstate.numpy()[:, columns], axis=1)
        self.quasi = from_numpy(self.quasi.numpy() ^ moved)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        parts += ["scramble=True"] if self.scramble else []
        parts += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(parts)})"

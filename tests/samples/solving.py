"""Samples of the operators in ``ops/solving.py``."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from jax import lax

from samples import Sample, array
from tapegrad.ops import solving
from tapegrad.ops.operator import TABLE

COMPLEX = {"dtype": "complex128"}


def matrix(*shape, dtype="float64", seed=0):
    """Matrices that are far from singular, and not in need of pivoting in the same way."""
    return array(*shape, dtype=dtype, seed=seed) + 3 * np.eye(shape[-2], shape[-1])[::-1]


SQUARE = matrix(3, 3)
RIGHT = array(3, 2, seed=1)
BATCH = matrix(2, 3, 3, seed=2)
COMPLEX_SQUARE = matrix(3, 3, **COMPLEX)
COMPLEX_RIGHT = array(3, 2, seed=1, **COMPLEX)
VECTOR = array(3, seed=4)
NOTHING = array(0, 0)
TRIANGULAR = np.tril(array(3, 3, seed=7), -1) / 3 + np.triu(SQUARE)[::-1, ::-1] + 2 * np.eye(3)


def factored(x):
    """The arguments of an equation whose matrix was decomposed, by LAPACK: tests are listed without jax compiling."""
    matrices = x.reshape(-1, *x.shape[-2:])
    lu, pivots = map(np.stack, zip(*map(scipy.linalg.lu_factor, matrices), strict=True))
    permutation = np.broadcast_to(np.arange(x.shape[-1], dtype=np.int32), pivots.shape).copy()
    for rows, swaps in zip(permutation, pivots, strict=True):
        for row, other in enumerate(swaps):
            rows[[row, other]] = rows[[other, row]]
    return x, lu.reshape(x.shape), permutation.reshape(x.shape[:-1])


def remembering(op, *args, note="", **settings):
    """A sample of an operator with factors among its outputs, which nobody differentiates.

    They move when the inputs do, so that finite differences of all outputs don't apply.
    """
    operator = TABLE[op]

    def oracle(*args, **settings):
        named = zip(operator.outputs, operator.function(*args, **settings), strict=True)
        return tuple(lax.stop_gradient(out) if name == "lu" else out for name, out in named)

    return Sample(op, args, settings, smooth=False, oracle=oracle, note=note)


def solved_anew(x, factors, permutation, y, *, left, back, vector):
    """``solve_factored`` without the factors, which have no derivative. See Note [Factors that are remembered]."""
    a = x.conj().swapaxes(-1, -2) if back else x
    return solving.solve_ex.function(a, y, left=left, vector=vector)[0]


def equation(x, y, note="", left=True, back=False, vector=False):
    """A sample of ``solve_factored``."""
    lu_factors = factored(x)
    settings = {"left": left, "back": back, "vector": vector}
    return Sample(
        "solve_factored", (*lu_factors, y), settings, smooth=False, oracle=solved_anew, constants=("lu",), note=note
    )


SAMPLES = [
    Sample("solve_triangular", (SQUARE, RIGHT), {"upper": True}),
    Sample("solve_triangular", (BATCH, RIGHT), {"upper": False, "unitriangular": True}),
    Sample("solve_triangular", (COMPLEX_SQUARE, COMPLEX_RIGHT.T), {"upper": True, "left": False}),
    Sample("solve_triangular", (NOTHING, array(0, 2)), {"upper": True}),
    remembering("solve_ex", SQUARE, RIGHT),
    remembering("solve_ex", SQUARE, array(2, 3, 2, seed=1), note="batch on the right"),
    remembering("solve_ex", BATCH, VECTOR, vector=True),
    remembering("solve_ex", COMPLEX_SQUARE, COMPLEX_RIGHT.T, left=False),
    remembering("solve_ex", NOTHING, array(0, 2)),
    equation(BATCH, RIGHT),
    equation(SQUARE, VECTOR, vector=True, back=True),
    equation(COMPLEX_SQUARE, COMPLEX_RIGHT, back=True),
    equation(COMPLEX_SQUARE, COMPLEX_RIGHT.T, left=False, back=True),
    Sample(
        "triangular_solve",
        (RIGHT, np.stack([TRIANGULAR, -TRIANGULAR])),
        {"upper": True, "transpose": False, "unitriangular": False},
    ),
    Sample(
        "triangular_solve",
        (array(2, 3, 2, seed=1, **COMPLEX), COMPLEX_SQUARE),
        {"upper": False, "transpose": True, "unitriangular": True},
    ),
    Sample("inv", (BATCH,)),
    Sample("inv", (COMPLEX_SQUARE,)),
    Sample("inv", (NOTHING,)),
]  # fmt: skip

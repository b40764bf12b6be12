"""Samples of linear equations, factorizations by LU, determinants, and functions of matrices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from samples import Sample, array

from tapegrad.execution.dtypes import float64
from tapegrad.ops import determinants, distances, ldl, lu, matrix_functions, solving  # noqa: F401 - they are looked up in the table
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
    """The arguments of an equation whose matrix was decomposed."""
    with jax.enable_x64(True):
        lu, _, permutation, _ = solving.factors(x)
    return x, np.asarray(lu), np.asarray(permutation)


def remembering(op, *args, note="", **settings):
    """A sample of an operator with factors among its outputs, which nobody differentiates.

    They move when the inputs do, so that finite differences of all outputs don't apply.
    """
    operator = TABLE[op]

    def oracle(*args, **settings):
        named = zip(operator.outputs, operator.function(*args, **settings), strict=True)
        return tuple(lax.stop_gradient(out) if name == "lu" else out for name, out in named)

    return Sample(op, args, settings, smooth=False, oracle=oracle, note=note)


def phase_and_logarithm(x):
    """``slogdet`` of complex matrices; JAX has no derivative of a phase by ``sign``."""
    _, logabsdet, *rest = TABLE["slogdet"].function(x)
    det = jnp.linalg.det(x)
    return det / jnp.abs(det), logabsdet, *map(lax.stop_gradient, rest)


def cofactors(x):
    """The adjugates of 3 by 3 matrices: by cross products of their rows."""
    rows = [x[..., i, :] for i in range(3)]
    return jnp.stack([jnp.cross(rows[1], rows[2]), jnp.cross(rows[2], rows[0]), jnp.cross(rows[0], rows[1])], -1)


def cofactors_derivative(x, t):
    """The derivative of that."""
    return jax.jvp(cofactors, (x,), (t,))[1]


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


EQUATIONS = [
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
]

PIVOTS = np.array([3, 2, 3], "int32")
TALL, WIDE = matrix(3, 2), matrix(2, 3)

DECOMPOSITIONS = [
    Sample("swap_rows", (RIGHT, PIVOTS), {"back": False}),
    Sample("swap_rows", (array(2, 3, 2), np.array([[3, 2, 3], [1, 3, 3]], "int32")), {"back": True}),
    Sample("permutation_matrix", (PIVOTS,), {"rows": 3, "dtype": float64}),
    Sample("lu_factor", (BATCH,)),
    Sample("lu_factor", (TALL,)),
    Sample("lu_factor", (WIDE,)),
    Sample("lu_factor", (COMPLEX_SQUARE,)),
    Sample("lu_factor", (NOTHING,)),
    Sample("lu", (BATCH,)),
    Sample("lu", (matrix(2, 3, **COMPLEX),)),
    Sample("lu_unpack", (TALL,)),
    Sample("lu_unpack", (TALL,), {"data": False}),
    Sample("lu_unpack", (matrix(2, 3, **COMPLEX),)),
    Sample("lu_solve", (TRIANGULAR, PIVOTS, RIGHT), {"left": True, "adjoint": False}),
    Sample("lu_solve", (TRIANGULAR, PIVOTS, array(2, 3, 2, seed=1)), {"left": True, "adjoint": True}),
    Sample("lu_solve", (COMPLEX_SQUARE[::-1], PIVOTS, COMPLEX_RIGHT.T), {"left": False, "adjoint": True}),
]

DETERMINANTS = [
    remembering("det", SQUARE),
    remembering("det", matrix(2, 2, 2, **COMPLEX)),
    remembering("det", NOTHING),
    remembering("slogdet", BATCH),
    Sample("slogdet", (COMPLEX_SQUARE,), smooth=False, oracle=phase_and_logarithm),
    Sample("adjugate", (BATCH,), oracle=cofactors),
    Sample("adjugate", (COMPLEX_SQUARE,), oracle=cofactors),
    Sample("adjugate_derivative", (COMPLEX_SQUARE, array(3, 3, seed=3, **COMPLEX)), oracle=cofactors_derivative),
]

SYMMETRIC = SQUARE + SQUARE.T
LDL = [
    Sample("ldl_factor", (SYMMETRIC,), {"hermitian": False}, derivable=False),
    Sample("ldl_solve", (np.eye(3), np.array([1, 2, 3], "int32"), RIGHT), {"hermitian": True}, derivable=False),
]

SPACE = [
    Sample("matrix_exp", (array(3, 3),)),
    Sample("matrix_exp", (array(2, 2, 2, **COMPLEX),)),
    Sample("matrix_exp", (NOTHING,)),
    Sample("cross", (array(2, 3), array(2, 3, seed=1)), {"axis": 1}),
    Sample("cross", (array(3, 1, **COMPLEX), array(3, 2, seed=1, **COMPLEX)), {"axis": 0}),
]

ROWS, OTHERS = array(3, 2), array(2, 2, seed=1)
FIRST_ORDER = {"twice": False, "second": False, "forward": False}
DISTANCES = [
    *[Sample("cdist", (ROWS, OTHERS), {"p": p}, **FIRST_ORDER) for p in (0.5, 1, 2, float("inf"))],
    Sample("cdist", (array(2, 3, 2), OTHERS), {"p": 1.5}, **FIRST_ORDER),
    Sample("cdist", (array(0, 2), OTHERS), {"p": 2}, **FIRST_ORDER),
    *[Sample("pdist", (ROWS,), {"p": p}, **FIRST_ORDER) for p in (2, 2.5)],
    Sample("euclidean_dist", (ROWS, OTHERS), forward=False),
    Sample("euclidean_dist", (array(2, 3, 2), array(2, 2, 2, seed=1)), forward=False),
    Sample("cdist_adjoint", (OTHERS, OTHERS, ROWS[:2], OTHERS), {"p": 2, "first": True}, derivable=False),
    Sample("pdist_adjoint", (array(3), ROWS, array(3)), {"p": 2}, derivable=False),
]

SAMPLES = SPACE + DISTANCES + LDL + EQUATIONS + DECOMPOSITIONS + DETERMINANTS

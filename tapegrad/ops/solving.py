"""Linear equations: triangular ones, general ones by LU, inverses.

Note [Factors that are remembered]
An equation is solved by an LU decomposition, and so is the adjoint equation which backward asks for: by the same one.
``solve_ex`` gives its factors as further outputs, and ``solve_factored`` solves equations with a matrix whose factors
are known. It is a function of the matrix; the factors are a note of work already done, and have no derivative.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tapegrad.ops.conventions import rule
from tapegrad.ops.kinds import broadcast_to, general, sum_to
from tapegrad.ops.matmul import adjoint, matmul
from tapegrad.ops.memory_formats import by_columns
from tapegrad.ops.shape import permute, squeeze_axis, unsqueeze
from tapegrad.ops.slicing import tril, triu


def batch_of(*arrays):
    """The common batch of arrays of matrices."""
    return jnp.broadcast_shapes(*[array.shape[:-2] for array in arrays])


def expanded(x, batch, trailing=2):
    """``x`` with its batch broadcast; the last ``trailing`` dimensions are no batch."""
    return jnp.broadcast_to(x, (*batch, *x.shape[x.ndim - trailing :]))


# -- triangular equations ----------------------------------------------------------------------------------------------


def triangle(x, upper, unitriangular):
    """The part of ``x`` that a triangular equation reads."""
    return triu(x, diagonal=int(unitriangular)) if upper else tril(x, diagonal=-int(unitriangular))


def triangular_gradient(g, x, out, x_shape, upper, left, unitriangular):
    """The gradient of the matrix: of ``X = A^-1 B``, ``-A^-H g X^H``, where it is read."""
    back = solve_triangular(adjoint(x), g, upper=not upper, left=left, unitriangular=unitriangular)
    full = matmul(back, adjoint(out)) if left else matmul(adjoint(out), back)
    return sum_to(-triangle(full, upper, unitriangular), shape=tuple(x_shape))


def triangular_tangent(t_x, t_y, x, out, upper, left, unitriangular):
    """The tangent of the solution: ``A^-1 (dB - dA X)``."""
    if t_x is not None:
        part = triangle(t_x, upper, unitriangular)
        part = matmul(part, out) if left else matmul(out, part)
        t_y = -part if t_y is None else t_y - part
    return solve_triangular(x, t_y, upper=upper, left=left, unitriangular=unitriangular)


@general(
    x=lambda g, x, x_shape, out, upper, left, unitriangular: triangular_gradient(
        g, x, out, x_shape, upper, left, unitriangular
    ),
    y=lambda g, x, y_shape, out, upper, left, unitriangular: sum_to(
        solve_triangular(adjoint(x), g, upper=not upper, left=left, unitriangular=unitriangular), shape=tuple(y_shape)
    ),
    jvp=lambda t_x, t_y, x, out, upper, left, unitriangular: triangular_tangent(
        t_x, t_y, x, out, upper, left, unitriangular
    ),
    aten="linalg_solve_triangular", lies=by_columns,
)  # fmt: skip
def solve_triangular(x, y, *, upper, left=True, unitriangular=False):
    """The solution of ``x @ out = y`` (``out @ x = y`` unless ``left``) for triangular ``x``; batches broadcast.

    Only the triangle is read, and with ``unitriangular`` not its diagonal, which counts as ones.
    """
    batch = batch_of(x, y)
    return lax.linalg.triangular_solve(
        expanded(x, batch), expanded(y, batch), left_side=left, lower=not upper, unit_diagonal=unitriangular
    )


# -- LU ----------------------------------------------------------------------------------------------------------------


def factors(x):
    """The LU decomposition of matrices: packed factors, pivots (from 0), permutation, and the first pivot that is 0."""
    lu, pivots, permutation = lax.linalg.lu(x)
    zero = jnp.diagonal(lu, axis1=-2, axis2=-1) == 0
    info = jnp.where(jnp.any(zero, -1), jnp.argmax(zero, -1) + 1, 0) if zero.shape[-1] else jnp.zeros(zero.shape[:-1])
    return lu, pivots.astype(jnp.int32), permutation.astype(jnp.int32), info.astype(jnp.int32)


def permuted(x, permutation, axis):
    """Rows (axis -2) or columns (axis -1) of ``x`` in the order of a permutation."""
    places = permutation[..., None] if axis == -2 else permutation[..., None, :]
    return jnp.take_along_axis(x, places, axis, mode="promise_in_bounds")


def solution(lu, permutation, y, left, back):
    """The solution of equations with the matrix ``A[permutation] = L U`` (or its adjoint, if ``back``)."""
    batch = batch_of(lu, y)
    lu, y, permutation = expanded(lu, batch), expanded(y, batch), expanded(permutation, batch, 1)
    axis = -2 if left else -1
    permuting_first = left != back
    if permuting_first:
        y = permuted(y, permutation, axis)
    for lower in (True, False) if permuting_first else (False, True):
        y = lax.linalg.triangular_solve(
            lu, y, left_side=left, lower=lower, transpose_a=back, conjugate_a=back, unit_diagonal=lower
        )
    return y if permuting_first else permuted(y, jnp.argsort(permutation, axis=-1), axis)


def column(x, vector):
    """A batch of vectors as matrices of one column."""
    return unsqueeze(x, axis=x.ndim) if vector else x


def no_column(x, vector):
    """Matrices of one column as the vectors that they were."""
    return squeeze_axis(x, axis=x.ndim - 1) if vector else x


def equation_gradient(g, x, y_gradient, out, x_shape, left, back, vector):
    """The gradient of the matrix of an equation, by that of its right-hand side."""
    one, other = column(y_gradient, vector), adjoint(column(out, vector))
    full = matmul(one, other) if left else matmul(other, one)
    return sum_to(-(adjoint(full) if back else full), shape=tuple(x_shape))


def solved_back(g, x, lu, permutation, left, back, vector):
    """The gradient of the right-hand side, before the sum over what was broadcast: the adjoint equation's solution."""
    return solve_factored(x, lu, permutation, g, left=left, back=not back, vector=vector)


def equation_tangent(t_x, t_y, x, lu, permutation, out, left, back, vector):
    """The tangent of the solution: ``A^-1 (dB - dA X)``."""
    if t_x is not None:
        t_x, known = adjoint(t_x) if back else t_x, column(out, vector)
        part = no_column(matmul(t_x, known) if left else matmul(known, t_x), vector)
        t_y = -part if t_y is None else t_y - part
    return solve_factored(x, lu, permutation, t_y, left=left, back=back, vector=vector)


@general(
    x=lambda g, x, lu, permutation, out, x_shape, left, back, vector: equation_gradient(
        g, x, solved_back(g, x, lu, permutation, left, back, vector), out, x_shape, left, back, vector
    ),
    y=lambda g, x, lu, permutation, y_shape, left, back, vector: sum_to(
        solved_back(g, x, lu, permutation, left, back, vector), shape=tuple(y_shape)
    ),
    jvp=lambda t_x, t_y, x, lu, permutation, out, left, back, vector: equation_tangent(
        t_x, t_y, x, lu, permutation, out, left, back, vector
    ),
    aten=None, convention=rule("everywhere", "that of the matrix, of which the factors are", "that of the factors"),
)  # fmt: skip
def solve_factored(x, lu, permutation, y, *, left, back, vector):
    """The solution of ``x @ out = y``, by factors of ``x``. See Note [Factors that are remembered].

    With ``left=False`` that of ``out @ x = y``; with ``back`` the matrix is the adjoint of ``x``; with ``vector``,
    ``y`` is a batch of vectors.
    """
    out = solution(lu, permutation, y[..., None] if vector else y, left, back)
    return out[..., 0] if vector else out


@general(
    x=lambda g_out, x, lu, permutation, out, x_shape, left, vector: equation_gradient(
        g_out, x, solved_back(g_out, x, lu, permutation, left, False, vector), out, x_shape, left, False, vector
    ),
    y=lambda g_out, x, lu, permutation, y_shape, left, vector: sum_to(
        solved_back(g_out, x, lu, permutation, left, False, vector), shape=tuple(y_shape)
    ),
    jvp=lambda t_x, t_y, x, lu, permutation, out, left, vector: (
        equation_tangent(t_x, t_y, x, lu, permutation, out, left, False, vector),
        None,
        None,
        None,
    ),
    outputs=("out", "lu", "permutation", "info"), aten="_linalg_solve_ex", saved={"A": "x", "LU": "lu"},
    flowing=1,
)  # fmt: skip
def solve_ex(x, y, *, left=True, vector=False):
    """The solution of ``x @ out = y`` (``out @ x = y`` unless ``left``), the factors of ``x``, and where they fail.

    ``info`` (int32) is 0, or the number of the first pivot that is zero. With ``vector``, ``y`` is a batch of vectors.
    """
    lu, _, permutation, info = factors(x)
    out = solution(lu, permutation, y[..., None] if vector else y, left, False)
    return out[..., 0] if vector else out, lu, permutation, info


@general(
    x=lambda g_inverse, inverse: -matmul(matmul(adjoint(inverse), g_inverse), adjoint(inverse)),
    jvp=lambda t_x, inverse: (-matmul(matmul(inverse, t_x), inverse), None),
    outputs=("inverse", "info"), aten="linalg_inv_ex",
    lies=by_columns,
)  # fmt: skip
def inv(x):
    """The inverses of square matrices, and for each 0 or the number of the first pivot that is zero (int32)."""
    lu, _, permutation, info = factors(x)
    return solution(lu, permutation, jnp.eye(x.shape[-1], dtype=x.dtype), True, False), info


# -- the older spelling of triangular equations ------------------------------------------------------------------------


def _of(x, transpose, upper):
    """A triangular matrix, or its transpose, and whether that is upper."""
    axes = tuple(range(x.ndim))
    return (permute(x, axes=(*axes[:-2], axes[-1], axes[-2])), not upper) if transpose else (x, upper)


def old_gradient(g, g_clone, solution, x, x_shape, upper, transpose, unitriangular):
    """The gradient of the matrix: as that of ``solve_triangular``, and what comes to its clone."""
    turned, is_upper = _of(x, transpose, upper)
    full = triangular_gradient(g, turned, solution, g_clone.shape, is_upper, True, unitriangular)
    return sum_to(_of(full, transpose, upper)[0] + g_clone, shape=tuple(x_shape))


def old_solution(y, x, upper, transpose, unitriangular, back=False):
    """The solution of an equation with the triangle of ``x``, or of the adjoint equation."""
    turned, is_upper = _of(x, transpose, upper)
    if back:
        turned, is_upper = adjoint(turned), not is_upper
    return solve_triangular(turned, y, upper=is_upper, unitriangular=unitriangular)


def old_tangent(t_y, t_x, x, solution, upper, transpose, unitriangular):
    """The tangents of the solution and of the clone."""
    turned, is_upper = _of(x, transpose, upper)
    t_turned = None if t_x is None else _of(t_x, transpose, upper)[0]
    t = triangular_tangent(t_turned, t_y, turned, solution, is_upper, True, unitriangular)
    return t, None if t_x is None else broadcast_to(t_x, shape=(*solution.shape[:-2], *t_x.shape[-2:]))


@general(
    y=lambda g_solution, y, x, solution, upper, transpose, unitriangular: sum_to(
        old_solution(g_solution, x, upper, transpose, unitriangular, back=True), shape=tuple(y.shape)
    ),
    x=lambda g_solution, g_clone, solution, y, x, x_shape, upper, transpose, unitriangular: old_gradient(
        g_solution, g_clone, solution, x, x_shape, upper, transpose, unitriangular
    ),
    jvp=lambda t_y, t_x, x, solution, upper, transpose, unitriangular: old_tangent(
        t_y, t_x, x, solution, upper, transpose, unitriangular
    ),
    outputs=("solution", "clone"), saved={"self": "y", "A": "x"}, lies=by_columns,
)  # fmt: skip
def triangular_solve(y, x, *, upper, transpose, unitriangular):
    """The solution of ``x @ out = y`` for a triangular ``x`` (or its transpose), and ``x``, with the batch of both."""
    turned, is_upper = (jnp.swapaxes(x, -1, -2), not upper) if transpose else (x, upper)
    solved = solve_triangular.function(turned, y, upper=is_upper, unitriangular=unitriangular)
    return solved, jnp.broadcast_to(x, (*solved.shape[:-2], *x.shape[-2:]))

"""Eigenvalues and eigenvectors, of Hermitian matrices and of any.

Note [Phases]
Eigenvectors and singular vectors are defined up to a factor: of a real matrix a sign, which no small change of the
matrix changes, of a complex one a phase ``e^{i phi}``, which any function that computes them chooses as it likes. A
loss that depends on that choice has no derivative. Along the phase of vector i the loss changes by ``Im(v_i^H g_i)``,
which must be 0: PyTorch checks it in backward, and refuses. So do we, where numbers are at hand (``PhasedNode``).

Note [Degenerate values]
Vectors that belong to equal values are defined up to more than a factor, and formulas divide by the difference of the
values: a gradient through them is nan. A gradient of the values alone goes another way, and is finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.execution.array_functions.host import innermost, is_traced, may_look, to_host
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.kernels.deferred_checks import check_later
from tapegrad._src.execution.kernels.kernel import Shaped, kernel_for
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.ops.einsum import identity_of
from tapegrad.ops.kinds import General, cast, conj, declaration, general
from tapegrad.ops.matmul import adjoint, matmul
from tapegrad.ops.memory_formats import by_columns
from tapegrad.ops.reductions import sum
from tapegrad.ops.shape import unsqueeze
from tapegrad.ops.slicing import diag_embed, diagonal
from tapegrad.ops.solving import solve_ex
from tapegrad.ops.unary import real

# -- the parts of matrices ---------------------------------------------------------------------------------------------


def row(values):
    """Vectors as matrices of one row: (..., n) to (..., 1, n)."""
    return unsqueeze(values, axis=values.ndim - 1)


def column(values):
    """Vectors as matrices of one column: (..., n) to (..., n, 1)."""
    return unsqueeze(values, axis=values.ndim)


def identity_like(x):
    """The identity of the size of square matrices, in the real type of their elements."""
    dtype = dtypes.as_dtype(x.dtype)
    return identity_of(x, size=x.shape[-1], dtype=REAL.get(dtype, dtype))


REAL = {dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}


def diagonal_of(x):
    """The main diagonals of matrices."""
    return diagonal(x, offset=0, axis1=x.ndim - 2, axis2=x.ndim - 1)


def on_diagonal(values):
    """Diagonal matrices."""
    return diag_embed(values, offset=0, axis1=values.ndim - 1, axis2=values.ndim)


def by_gaps(x, values):
    """``x_ij / (values_j - values_i)`` beside the diagonal; 0 on it."""
    ones = identity_like(x)
    return x * (1 - ones) / (row(values) - column(values) + ones)


# -- phases ------------------------------------------------------------------------------------------------------------


class PhasedNode(OperatorNode):
    """The node of complex vectors, which refuses gradients of losses that depend on their phases. See Note [Phases]."""

    arriving: list | None = None

    def saved_values(self) -> list:
        values = super().saved_values()
        self._check(values)
        return values

    def saved_items(self) -> list:
        items = super().saved_items()
        self._check([value_of(item) if isinstance(item, Tensor) else item for item in items])
        return items

    def apply_values(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        self.arriving = grads
        try:
            return super().apply_values(grads, needed)
        finally:
            self.arriving = None

    def apply(self, grads: list, needed: tuple[bool, ...] | None) -> Sequence:
        self.arriving = [value_of(grad) if isinstance(grad, Tensor) else grad for grad in grads]
        try:
            return super().apply(grads, needed)
        finally:
            self.arriving = None

    def _check(self, saved: list) -> None:
        plan: Any = self.plan  # of an operator that is ``Phased``
        grads = self.arriving
        vectors = plan.out_specs[plan.op.vectors[0]]
        if grads is None or not vectors.dtype.is_complex or vectors.device is META:
            return
        if any(map(is_traced, [*saved, *grads])):
            return
        outputs = [None] * len(plan.out_specs)
        for position, value in zip(plan.saved_outputs, saved[len(plan.saved_inputs) :], strict=True):
            outputs[position] = value
        plan.op.refuse_phases(grads, outputs)


class Phased(General):
    """An operator whose outputs are vectors without a phase of their own: Notes [Phases] and [Degenerate values].

    Its formulas get None for a gradient that is not there. ``vectors`` says which outputs have phases; ``independent``
    is an array function which tells from gradients and outputs whether the loss depends on them as little as PyTorch
    allows; ``complaint`` and ``consequence`` are what is said where it does.
    """

    vectors: tuple[int, ...] = (1,)
    independent: Callable
    complaint: str
    consequence = "quantity, so it is ill-defined."
    undefined = True

    def node_class(self, base: type, num_outputs: int) -> type:
        return super().node_class(PhasedNode, num_outputs)

    def refuse_phases(self, grads: Sequence, outputs: Sequence) -> None:
        """Check the gradients that have arrived. Raises RuntimeError: PyTorch's message."""
        defined = tuple(grad is not None for grad in grads)
        if not any(defined[position] for position in self.vectors):
            return
        given = [grad for grad in grads if grad is not None]
        independent = innermost(kernel_for(_test, type(self).independent, defined)(*given, *outputs))
        text = (
            f"{self.complaint} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            f"specified loss function depends on this {self.consequence}"
        )
        if not may_look():
            check_later(independent, _dependent, (), lambda _: RuntimeError(text))
        elif not to_host(independent).all():
            raise RuntimeError(text)


def _dependent(independent: Any) -> Any:
    return ~independent


def _test(independent: Callable, defined: tuple[bool, ...]) -> Callable:
    """The kernel which says whether a loss is independent of all phases."""

    def test(*values: Any) -> Any:
        given = iter(values)
        grads = [next(given) if has else None for has in defined]
        return jnp.all(independent(grads, list(given)))

    return Shaped(test, name="phases", wide=True)


# -- Hermitian matrices ------------------------------------------------------------------------------------------------


ENOUGH = 1e-2
"""The most that a phase may change a loss, absolutely and relatively."""


def independent_of_phases(grads: Sequence, outputs: Sequence) -> Any:
    """Tell whether ``Im(v_i^H g_i)`` is small enough, for each eigenvector."""
    return jnp.abs(jnp.sum(jnp.conj(outputs[1]) * grads[1], axis=-2).imag) <= ENOUGH


class Eigh(Phased):
    """Of Hermitian matrices."""

    independent = staticmethod(independent_of_phases)
    complaint = "linalg_eigh_backward: The eigenvectors"


def eigh_gradient(g_values, g_vectors, values, vectors):
    """``V (diag(g_values) + skew(V^H g_vectors) / gaps) V^H``: Hermitian, and the adjoint of ``eigh_tangent`` there."""
    if g_vectors is None:
        return matmul(vectors * row(g_values), adjoint(vectors))
    turned = matmul(adjoint(vectors), g_vectors)
    middle = by_gaps((turned - adjoint(turned)) / 2, values)
    middle = middle if g_values is None else middle + on_diagonal(g_values)
    return matmul(vectors, matmul(middle, adjoint(vectors)))


def eigh_tangent(t, values, vectors):
    """From ``A V = V diag(values)``: ``V^H dA V`` has the values' tangents on its diagonal; dV = V X, X = the rest /
    gaps."""
    turned = matmul(adjoint(vectors), matmul(t, vectors))
    return real(diagonal_of(turned)), matmul(vectors, by_gaps(turned, values))


@declaration(Eigh)(
    x=eigh_gradient,
    jvp=lambda t_x, values, vectors: eigh_tangent(t_x, values, vectors),
    outputs=("values", "vectors"), aten="_linalg_eigh", saved={"eigenvalues": "values", "eigenvectors": "vectors"},
    lies=by_columns,
)  # fmt: skip
def eigh(x, *, lower):
    """The eigenvalues (real, ascending) and the eigenvectors (columns) of Hermitian matrices, of which one triangle is
    read."""
    vectors, values = lax.linalg.eigh(x, lower=lower, symmetrize_input=False)
    return values, vectors


@general(aten="linalg_eigvalsh")
def eigvalsh(x, *, lower):
    """The eigenvalues alone, where nobody differentiates."""
    return jnp.linalg.eigvalsh(x, UPLO="L" if lower else "U", symmetrize_input=False)


# -- any matrices ------------------------------------------------------------------------------------------------------


class Eig(Phased):
    """Of any square matrices, which count as complex even where they are real."""

    independent = staticmethod(independent_of_phases)
    complaint = "linalg_eig_backward: The eigenvectors"


def eig_gradient(g_values, g_vectors, values, vectors):
    """The adjoint of ``eig_tangent``: ``V^-H Y V^H``, with g_values on the diagonal of Y."""
    back = adjoint(vectors)
    if g_vectors is None:
        return solve_ex(back, column(g_values) * back)[0]
    turned = matmul(back, g_vectors)
    middle = by_gaps(turned - matmul(back, vectors * row(real(diagonal_of(turned)))), conj(values))
    middle = middle if g_values is None else middle + on_diagonal(g_values)
    return solve_ex(back, matmul(middle, back))[0]


def eig_tangent(t, values, vectors):
    """From ``A V = V diag(values)``: with ``X = V^-1 dA V``, values move by the diagonal of X, vectors by V times the
    rest / gaps, less what would change their length."""
    moved = solve_ex(vectors, matmul(cast(t, dtype=dtypes.as_dtype(vectors.dtype)), vectors))[0]
    turned = matmul(vectors, by_gaps(moved, values))
    growth = real(sum(conj(vectors) * turned, axis=(vectors.ndim - 2,), keepdims=True))
    return diagonal_of(moved), turned - vectors * growth


@declaration(Eig)(
    x=eig_gradient,
    jvp=lambda t_x, values, vectors: eig_tangent(t_x, values, vectors),
    outputs=("values", "vectors"), aten="linalg_eig", saved={"eigenvalues": "values", "eigenvectors": "vectors"},
    on_host="tpu",
    lies=by_columns,
)  # fmt: skip
def eig(x):
    """The eigenvalues and eigenvectors (columns of length 1) of square matrices, complex."""
    values, vectors = lax.linalg.eig(x, compute_left_eigenvectors=False)
    return values, vectors


@general(aten="linalg_eigvals", on_host="tpu")
def eigvals(x):
    """The eigenvalues alone, where nobody differentiates."""
    return lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]

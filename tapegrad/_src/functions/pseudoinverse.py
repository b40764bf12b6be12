"""PyTorch's pseudoinverses, ranks, condition numbers, and least squares."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.bounds import numbers
from tapegrad._src.bindings.declaration.declarations import Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.layouts import in_column_major_order
from tapegrad._src.bindings.matrix_checks import check_matrices, check_square
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.functions.eigen import eigh, eigvalsh
from tapegrad._src.functions.matmul import matmul
from tapegrad._src.functions.norms import matrix_norm
from tapegrad._src.functions.qr import check_matrices_of
from tapegrad._src.functions.reductions import amax, sum
from tapegrad._src.functions.selection import masked_fill
from tapegrad._src.functions.shape import adjoint, squeeze, unsqueeze
from tapegrad._src.functions.slicing import narrow
from tapegrad._src.functions.solving import inv_ex
from tapegrad._src.functions.svd import check_singular_values, svd, svdvals
from tapegrad._src.functions.unary import nan_to_num
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import arithmetic, comparison, selection, unary
from tapegrad.ops import pseudoinverse as ops
from tapegrad.ops.kinds import broadcast_shapes

# -- tolerances --------------------------------------------------------------------------------------------------------


def default_rtol(input: Tensor) -> float:
    """The tolerance that PyTorch takes for rounding, relative to the largest singular value."""
    return dtypes.finfo(input.dtype).eps * max(input.shape[-2:])


def as_number(tolerance: Any, other: Any) -> Any:
    """A tensor without dimensions beside a number, as a number."""
    beside = isinstance(other, float) and isinstance(tolerance, Tensor)
    return tolerance.item() if beside and not tolerance.ndim and not tolerance._spec.requires_grad else tolerance


def tolerances(name: str, input: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """The absolute and the relative tolerance, numbers or tensors; the relative one's default counts only where there
    is no positive absolute one.
    Raises TypeError: a number and a tensor. RuntimeError: complex tolerances.
    """
    if isinstance(atol, Tensor) != isinstance(rtol, Tensor):
        atol, rtol = as_number(atol, rtol), as_number(rtol, atol)
    if not (isinstance(atol, Tensor) or isinstance(rtol, Tensor)):
        atol = 0.0 if atol is None else float(atol)
        return atol, (0.0 if atol > 0 else default_rtol(input)) if rtol is None else float(rtol)
    for kind, tolerance in (("atol", atol), ("rtol", rtol)):
        if tolerance is not None and not isinstance(tolerance, Tensor):
            raise TypeError(
                f"linalg_{name}() received an invalid combination of arguments - got {kind}="
                f"{type(tolerance).__name__} beside a Tensor"
            )
        if isinstance(tolerance, Tensor) and tolerance.dtype.is_complex:
            got = tolerance.dtype.scalar_name
            raise RuntimeError(f"torch.linalg.{name}: {kind} tensor of complex type is not supported. Got {got}")
    if rtol is None:
        rtol = selection.where(comparison.gt(atol, 0), 0.0, default_rtol(input))
    broadcast_shapes([*(tolerance.shape for tolerance in (atol, rtol) if tolerance is not None), input.shape[:-2]])
    return 0.0 if atol is None else atol.detach(), rtol.detach()


# -- pseudoinverses and ranks ------------------------------------------------------------------------------------------


@public("linalg")
def pinv(input: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Tensor:
    """The pseudoinverses of matrices (..., m, n), of shape (..., n, m).

    Singular values up to ``max(atol, rtol * the largest)`` count as 0. The default of ``rtol`` (or ``rcond``) is the
    rounding of max(m, n) additions; it is 0 if there is an ``atol``. ``hermitian`` matrices need only eigenvalues.

    Raises:
        RuntimeError: fewer than two dimensions; integers or half types.

    >>> torch.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.0000]])
    """
    if input.ndim < 2 or input.dtype.category < FLOATING or input.dtype.itemsize < 4 or input.dtype is dtypes.complex32:
        shown = f"{input.dtype.scalar_name}{{[{', '.join(map(str, input.shape))}]}}"
        raise RuntimeError(
            f"linalg.pinv({shown}): expected a tensor with 2 or more dimensions of float, double, cfloat or cdouble "
            "types"
        )
    if hermitian:
        check_square("linalg.eigh", input)
    atol, rtol = tolerances("pinv", input, atol, rcond if rtol is None else rtol)
    if thread.modes.autocast and input.numel():
        return _product_of_factors(input, atol, rtol, hermitian)
    inverse = ops.pinv(input, atol, rtol, hermitian=bool(hermitian))
    check_singular_values(inverse, input, axes=(-2, -1))
    return inverse


def _product_of_factors(input: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    """The pseudoinverse under autocast, which sees the factors and their product: that is computed in the low dtype."""
    if hermitian:
        sizes, right = eigh(input)
        left, magnitudes = right, unary.abs(sizes)
    else:
        left, sizes, adjoint_of_right = svd(input, full_matrices=False)
        right, magnitudes = adjoint(adjoint_of_right), sizes
    largest = amax(magnitudes, -1, keepdim=True)
    bounds = [unsqueeze(bound, -1) if isinstance(bound, Tensor) else bound for bound in (atol, rtol)]
    counts = comparison.gt(magnitudes, bounds[0]) & comparison.gt(magnitudes, largest * bounds[1])
    inverses = selection.where(counts, unary.reciprocal(sizes), 0.0)
    return matmul(right * unsqueeze(inverses, -2), adjoint(left))


@public("torch", "Tensor")
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """``linalg.pinv`` with ``rcond``."""
    return pinv(input, rcond)


@public("linalg")
def matrix_rank(
    input: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None
) -> Tensor:
    """The ranks (int64) of matrices: how many singular values are larger than ``max(atol, rtol * the largest)``.

    ``tol`` is an ``atol`` without an ``rtol``. The default of ``rtol`` is as in ``pinv``.

    Args:
        hermitian: whether the matrices are Hermitian, whose eigenvalues are looked at.

    Raises:
        RuntimeError: fewer than two dimensions, integers.

    >>> torch.linalg.matrix_rank(torch.ones(3, 3))
    tensor(1)
    """
    check_matrices("torch.linalg.matrix_rank", input, "input")
    check_finfo(input)
    if tol is not None:
        atol, rtol = tol, 0.0 if not isinstance(tol, Tensor) else tol.new_zeros(())
    atol, rtol = tolerances("matrix_rank", input, atol, rtol)
    source = input.detach()
    sizes = eigvalsh(source) if hermitian else svdvals(source)
    return ops.rank_of(sizes, atol, rtol)


def check_finfo(input: Tensor) -> None:
    """Refuse dtypes of which PyTorch doesn't know the rounding. Raises RuntimeError: PyTorch's message."""
    if input.dtype.category < FLOATING or input.dtype.itemsize < 4 or input.dtype is dtypes.complex32:
        raise RuntimeError("This function doesn't handle types other than float and double")


# -- condition numbers -------------------------------------------------------------------------------------------------


def _check_order(input: Tensor, p: Any) -> None:
    if not isinstance(p, str) and abs(p) not in (1, 2, math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p:g}")
    if isinstance(p, str) or abs(p) != 2:
        shown = p if isinstance(p, str) else f"{p:g}"
        check_square(f"linalg.cond(ord={shown})", input)
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")


@public("linalg", out=Out(history="copied"))
def cond(input: Tensor, p: Any = None) -> Tensor:
    """The condition numbers of matrices with respect to a matrix norm ``p``: 2 (the default) and -2 from singular
    values, or of square ones "fro", "nuc", 1, -1, inf, -inf: the norm times that of the inverse; inf for a singular
    matrix.

    Raises:
        RuntimeError: fewer than two dimensions, an unknown order, no square matrices.

    >>> torch.linalg.cond(torch.tensor([[4.0, 0.0], [0.0, 1.0]]))
    tensor(4.)
    """
    if input.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    p = 2 if p is None else p
    _check_order(input, p)
    if 0 in input.shape:
        return input.new_zeros(tuple(input.shape[:-2]), dtype=input.dtype.to_real())
    if p == "nuc":
        return arithmetic.mul(sum(svdvals(input), -1), sum(unary.reciprocal(svdvals(input)), -1))
    if not isinstance(p, str) and abs(p) == 2:
        values = svdvals(input)
        largest, smallest = narrow(values, -1, 0, 1), narrow(values, -1, values.shape[-1] - 1, 1)
        return squeeze(arithmetic.div(largest, smallest) if p == 2 else arithmetic.div(smallest, largest), -1)
    return _inverse_condition(input, p)


def _inverse_condition(input: Tensor, p: Any) -> Tensor:
    """The norm times that of the inverse; where there is none, inf."""
    inverse, info = inv_ex(input)
    singular = unsqueeze(unsqueeze(comparison.gt(info, 0), -1), -1)
    inverse = masked_fill(inverse, singular, math.inf)
    return nan_to_num(arithmetic.mul(matrix_norm(input, p), matrix_norm(inverse, p)), math.inf, math.inf, -math.inf)


# -- least squares -----------------------------------------------------------------------------------------------------

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


@public("linalg")
def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The smallest ``solution`` of ``input @ solution = b`` in the sense of least squares, a named tuple with
    ``residuals``, ``rank`` and ``singular_values``; ``input`` (..., m, n), ``b`` (..., m, k) or (..., m).

    Singular values up to ``rcond`` times the largest count as 0 (driver "gels" asks for full rank and doesn't look).
    Which of the other results there are depends on the driver and the shape: squared residuals if m > n and the rank
    is n and the driver isn't "gelsy" (the default), ranks unless it is "gels", singular values of "gelsd" and "gelss".

    Raises:
        RuntimeError: shapes, dtypes or drivers that don't fit.

    >>> torch.linalg.lstsq(torch.tensor([[1.0], [1.0]]), torch.tensor([[1.0], [3.0]])).solution
    tensor([[2.0000]])
    """
    driver = "gelsy" if driver is None else driver
    vector = _check_lstsq(input, b, driver)
    rows, columns = input.shape[-2:]
    tolerance = 0.0 if driver == "gels" else default_rtol(input) if rcond is None else float(rcond)
    ranked, valued, measured = driver != "gels", driver in ("gelsd", "gelss"), rows > columns and driver != "gelsy"

    def solved(measured: bool) -> Any:
        return ops.lstsq(input, b, tolerance, vector=vector, measured=measured, ranked=ranked, valued=valued)

    result = solved(measured)
    if measured and ranked:
        ranks = numbers(result[2])
        if ranks is not None and (ranks < columns).any():
            result = solved(False)
    solution, lengths, rank, values = result
    if not (vector or solution._spec.level):
        in_column_major_order(solution)
    return return_types.linalg_lstsq((solution, lengths, rank, values.detach()))


def _check_lstsq(input: Tensor, b: Tensor, driver: str) -> bool:
    """Refuse what doesn't fit; whether ``b`` is of vectors."""
    name = "torch.linalg.lstsq"
    check_matrices_of(name, input)
    if b.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if driver not in DRIVERS:
        raise RuntimeError(f"{name}: parameter `driver` should be one of ({', '.join(DRIVERS)})")
    if not 0 <= input.ndim - b.ndim <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = input.ndim - b.ndim == 1
    if input.shape[-2] != b.shape[-1 if vector else -2]:
        side = "1" if vector else "2"
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-{side})")
    if input.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {input.dtype.scalar_name} "
            f"and other's dtype {b.dtype.scalar_name}"
        )
    check_finfo(input)
    broadcast_shapes([input.shape[:-2], b.shape[: b.ndim - 2 + vector]])
    return vector

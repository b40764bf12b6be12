"""PyTorch's covariances and correlations."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.bounds import negative, refuse_elements
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import BOOL, FLOATING
from tapegrad._src.functions.matmul import mm
from tapegrad._src.functions.reductions import sum
from tapegrad._src.functions.retyping import imag, real
from tapegrad._src.functions.selection import clamp
from tapegrad._src.functions.shape import reshape, squeeze, t, unsqueeze
from tapegrad._src.functions.slicing import diagonal
from tapegrad._src.functions.unary import complex
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ops import arithmetic, unary
from tapegrad.ops.kinds import conj


def _check_input(name: str, input: Tensor) -> None:
    if input.ndim > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )


def _check_weights(name: str, weights: Tensor, count: int, kind: str) -> None:
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
        )
    floating = weights.dtype.category >= FLOATING
    if floating != (kind == "floating point"):
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with "
                           f"{weights.dtype.scalar_name} dtype")  # fmt: skip
    if weights._spec.numel != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights._spec.numel} != {count}"
        )
    refuse_elements(weights, negative, complaint=lambda _: RuntimeError(f"cov(): {name} cannot be negative"))


def _weights(count: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    """The weight of each observation; None: each once."""
    for name, weights, kind in (("fweights", fweights, "integral"), ("aweights", aweights, "floating point")):
        if weights is not None:
            _check_weights(name, weights, count, kind)
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return arithmetic.mul(fweights, aweights)


def _freedom(total: Any, weights: Tensor | None, aweights: Tensor | None, correction: int) -> Any:
    """The number by which the sum of products is divided: never less than 0."""
    freedom: Any
    if weights is None or aweights is None or correction == 0:
        freedom = total - correction
    else:
        freedom = total - correction * sum(arithmetic.mul(weights, aweights)) / total
    if bool(freedom <= 0):
        warn("cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.")
        return freedom * 0
    return freedom


@public("torch", "Tensor")
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of variables, the rows of ``input`` (n, observations): (n, n); of a vector, its variance.

    Args:
        correction: subtracted from the number of observations.
        fweights: how often each observation occurred (integers).
        aweights: how important each is.

    Raises:
        RuntimeError: more than two dimensions, booleans, weights that don't fit.

    >>> torch.cov(torch.tensor([[0.0, 2.0], [2.0, 0.0]]))
    tensor([[ 2., -2.],
            [-2.,  2.]])
    """
    _check_input("cov", input)
    if input.dtype.category == BOOL:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = reshape(input, (1, -1)) if input.ndim < 2 else input
    count = x.shape[1]
    weights = _weights(count, fweights, aweights)
    total: Any = count if weights is None else sum(weights)
    if weights is not None and not bool(total):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    mean = arithmetic.div(sum(x if weights is None else arithmetic.mul(x, weights), 1), total)
    freedom = _freedom(total, weights, aweights, correction)
    x = arithmetic.sub(x, unsqueeze(mean, 1))
    other = t(x if weights is None else arithmetic.mul(x, weights))
    return squeeze(arithmetic.div(mm(x, conj(other) if x.dtype.is_complex else other), freedom))


@public("torch", "Tensor")
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables, the rows of ``input`` (n, observations): (n, n), between -1 and 1.

    Raises:
        RuntimeError: more than two dimensions, booleans.
    """
    _check_input("corrcoef", input)
    c = cov(input)
    if c.ndim == 0:
        return arithmetic.div(c, c)
    variances = diagonal(c)
    deviations = unary.sqrt(real(variances) if c.dtype.is_complex else variances)
    c = arithmetic.div(arithmetic.div(c, reshape(deviations, (-1, 1))), reshape(deviations, (1, -1)))
    if c.dtype.is_complex:
        return complex(clamp(real(c), -1, 1), clamp(imag(c), -1, 1))
    return clamp(c, -1, 1)

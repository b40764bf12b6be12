"""The samplers that distributions are made of: binomial numbers, and gamma and Dirichlet samples with how they move."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.declaration.scalars import unsupported
from tapegrad._src.bindings.state.generator import next_key, one_by_one
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import samplers as ops


def _check_wide(kernel: str, input: Tensor) -> None:
    """Refuse all but float32 and float64."""
    if input.dtype.category != FLOATING or input.dtype.itemsize < 4:
        raise unsupported(kernel, input.dtype)


def _check_same(first: Tensor, *others: Tensor) -> None:
    for other in others:
        if other.dtype is not first.dtype:
            raise RuntimeError(f"Found dtype {other.dtype.scalar_name} but expected {first.dtype.scalar_name}")


@public("torch")
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """The number of successes in ``count`` trials of probability ``prob``, broadcast; of their dtype.

    Raises:
        ValueError: ``count`` is not floating.
        RuntimeError: the dtypes differ; backward, for there is no derivative.
    """
    if count.dtype.category != FLOATING:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {count.dtype.scalar_name}")
    _check_same(count, prob)
    _check_wide("binomial_cpu", count)
    found = one_by_one("binomial", generator, "binomial", count.dtype, count, prob)
    key = next_key("binomial", generator, count.device, count, prob) if found is None else found
    return ops.binomial(count, prob, key)


@public("torch")
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Samples of the gamma distributions of shape ``input`` and scale 1; differentiable once."""
    _check_wide("gamma_cpu", input)
    found = one_by_one("_standard_gamma", generator, "gamma", input.dtype, input)
    key = next_key("_standard_gamma", generator, input.device, input) if found is None else found
    return ops.standard_gamma(input, key)


@public("torch")
def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The rate at which samples ``output`` of gamma distributions move with their shape ``input``."""
    _check_wide("_standard_gamma_grad_cpu", input)
    _check_same(input, output)
    return ops.standard_gamma_grad(input, output)


@public("torch")
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Samples of the Dirichlet distributions whose parameters are the rows of ``input``."""
    _check_wide("dirichlet", input)
    found = one_by_one("_sample_dirichlet", generator, "dirichlet", input.dtype, input)
    key = next_key("_sample_dirichlet", generator, input.device, input) if found is None else found
    return ops.sample_dirichlet(input, key)


@public("torch")
def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The rate at which Dirichlet samples ``x`` move with ``alpha``, over ``1 - x``; ``total`` is the sum of the
    parameters."""
    _check_same(x, alpha, total)
    _check_wide("_dirichlet_grad_cpu", x)
    return ops.dirichlet_grad(x, alpha, total)

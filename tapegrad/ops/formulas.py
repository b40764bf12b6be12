"""Formulas that families share: of what is constant, and of what PyTorch has no derivative of."""

from __future__ import annotations

from tapegrad._src.execution.data.dtypes import as_dtype
from tapegrad.ops.kinds import zeros_of


def zeros(g):
    """The gradient of a function that is constant wherever it has a derivative: zeros, not "no gradient"."""
    return zeros_of(g, shape=tuple(g.shape), dtype=as_dtype(g.dtype))


# -- arithmetic --------------------------------------------------------------------------------------------------------


def underivable(what: str):
    """The formula of an operator that PyTorch records but can't differentiate: raises once backward gets there."""

    def formula(g):
        raise RuntimeError(f"derivative for {what} is not implemented")

    formula.underivable = what  # type: ignore[attr-defined]
    return formula

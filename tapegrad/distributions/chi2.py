"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from tapegrad._src.tensor.tensor import Tensor
from tapegrad.distributions import constraints
from tapegrad.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The distribution of the sum of ``df`` squared standard normal numbers: ``Gamma(df / 2, 1 / 2)``.

    Args:
        df: the degrees of freedom.

    >>> Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}
    _parts = Gamma._parts

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2

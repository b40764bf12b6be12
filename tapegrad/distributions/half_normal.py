"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.distributions.folded import Folded
from tapegrad.distributions.normal import Normal
from tapegrad.distributions.utils import formula

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """The distribution of the absolute value of a normal number with mean zero.

    Args:
        scale: its standard deviation.

    >>> HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _parts: dict[str, int] = {}
    mean = formula(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = formula(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args=validate_args)

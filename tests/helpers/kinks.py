"""Calls that sit at the kinks of operators, with their gradients by PyTorch and by jax.

The tables are in the files of samples: a ``Kink`` for each operator that declares one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from samples import families


@dataclass(frozen=True)
class Kink:
    """A call that sits at a kink.

    Attributes:
        call: ``call(torch, *tensors)``.
        inputs: the arrays, of which the first is the one that a gradient is taken of.
        by_torch, by_jax: the gradient of the sum, as PyTorch and as jax have it.
        jnp: the function in jax's own words, or None.
    """

    call: Callable
    inputs: tuple
    by_torch: list
    by_jax: list
    jnp: Callable | None = None

    def gradient(self, torch: Any) -> np.ndarray:
        """The gradient by a module that speaks PyTorch's language."""
        x, *others = map(torch.tensor, self.inputs)
        x.requires_grad_()
        return torch.autograd.grad(self.call(torch, x, *others).sum(), x)[0].detach().numpy()

    def jax_gradient(self) -> np.ndarray:
        """The gradient of the function in jax's own words."""
        x, *others = map(jnp.asarray, self.inputs)
        return np.asarray(jax.grad(lambda x: self.jnp(x, *others).sum())(x))


def f(*numbers: Any) -> np.ndarray:
    return np.array(numbers, "float32")


def all_kinks() -> dict[str, Kink]:
    """Those of all families, by operator: each has them beside its samples."""
    tables = [getattr(family, "KINKS", {}) for family in families().values()]
    return dict(sorted((name, kink) for table in tables for name, kink in table.items()))

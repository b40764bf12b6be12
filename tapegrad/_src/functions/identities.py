"""The functions that identities of operators, ``torch.ops.aten.NAME.OVERLOAD``, call: public ones of that name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.functions import slicing
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.overloads import homes


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return self.softmax(dim)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return self.log_softmax(dim)


def _unsafe_view(self: Tensor, size: Any) -> Tensor:
    return self.reshape(size)


def _to_copy(self: Tensor, **options: Any) -> Tensor:
    return self.to(**options, copy=True)


def slice(self: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    if self.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = wrap_dim(dim, self.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, length = slicing.slice_bounds(self.shape[axis], start, end, step)
    return slicing.sliced(self, axis, first, length, step)


def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """The loss, and by what a mean is divided."""
    how = ("none", "mean", "sum")[reduction]
    loss = NAMESPACES["nn.functional"]["nll_loss"](self, target, weight, ignore_index=ignore_index, reduction=how)
    counted = target != ignore_index
    if how == "none":
        return loss, self.new_zeros(())
    parts = self.new_ones(target.shape) if weight is None else weight[target.where(counted, 0)]
    return loss, (parts * counted).sum()


PRIVATE: dict[str, Callable] = {
    function.__name__: function
    for function in (_softmax, _log_softmax, _unsafe_view, _to_copy, slice, nll_loss_forward)
}
"""Those that are nowhere public."""

_PREFIXES = {"torch": "", "Tensor": "", "nn.functional": "", "linalg": "linalg_", "special": "special_", "fft": "fft_"}
_PUBLIC = [(_prefix, NAMESPACES.setdefault(_home, {})) for _home, _prefix in _PREFIXES.items()]
homes.fill([*_PUBLIC, ("", PRIVATE), ("", NAMESPACES.setdefault("ops.aten", {}))])

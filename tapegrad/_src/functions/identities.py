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


PRIVATE: dict[str, Callable] = {
    function.__name__: function
    for function in (_softmax, _log_softmax, _unsafe_view, _to_copy, slice)
}
"""Those that are nowhere public."""

_PREFIXES = {"torch": "", "Tensor": "", "nn.functional": "", "linalg": "linalg_", "special": "special_", "fft": "fft_"}
_PUBLIC = [(_prefix, NAMESPACES.setdefault(_home, {})) for _home, _prefix in _PREFIXES.items()]
homes.fill([*_PUBLIC, ("", PRIVATE), ("", NAMESPACES.setdefault("ops.aten", {}))])

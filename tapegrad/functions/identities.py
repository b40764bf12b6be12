"""What an identity of an operator, ``torch.ops.aten.NAME.OVERLOAD``, calls: the public function of that name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.functions.registry import NAMESPACES
from tapegrad.ops.overloads import HOMES
from tapegrad.tensor.tensor import Tensor


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return self.softmax(dim)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    return self.log_softmax(dim)


def _unsafe_view(self: Tensor, size: Any) -> Tensor:
    return self.reshape(size)


def _to_copy(self: Tensor, **options: Any) -> Tensor:
    return self.to(**options, copy=True)


def constant_pad_nd(self: Tensor, pad: Any, value: Any = 0) -> Tensor:
    function: Callable[..., Tensor] = NAMESPACES["nn.functional"]["pad"]
    return function(self, list(pad), "constant", value)


PRIVATE: dict[str, Callable] = {
    function.__name__: function for function in (_softmax, _log_softmax, _unsafe_view, _to_copy, constant_pad_nd)
}
"""Those that are nowhere public."""

for _prefix, _home in (("", "torch"), ("", "Tensor"), ("", "nn.functional"), ("linalg_", "linalg"),
                       ("special_", "special")):  # fmt: skip
    HOMES.append((_prefix, NAMESPACES.setdefault(_home, {})))
HOMES.append(("", PRIVATE))

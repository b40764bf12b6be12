"""``torch.nn.attention``: which kernels ``scaled_dot_product_attention`` may use; scores and masks by functions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from tapegrad._src.declaring import on_demand
from tapegrad._src.functions.attention import kernels

__getattr__, __dir__ = on_demand(__name__, {"tapegrad.nn.attention": "bias flex_attention"})

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(Enum):
    """PyTorch's names of kernels of attention. See Note [Kernels of attention] in ``functions/attention.py``."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value


NAMES = {
    "cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION,
    "mem_efficient": SDPBackend.EFFICIENT_ATTENTION, "math": SDPBackend.MATH, "overrideable": SDPBackend.OVERRIDEABLE,
}  # fmt: skip


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict]:
    """Let ``scaled_dot_product_attention`` use these kernels and no others, inside.

    Args:
        backends: one, or a list.
        set_priority: whether the first of the list is to be preferred: there is but one that fits, so it is.

    Raises:
        AssertionError: ``backends`` is something else.

    >>> q = torch.ones(1, 1, 2, 2, requires_grad=True)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(q, q, q).grad_fn.name()
    'UnsafeViewBackward0'
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    chosen, before = backends if isinstance(backends, list) else [backends], dict(kernels)
    try:
        kernels.update({name: backend in chosen for name, backend in NAMES.items()})
        yield {}
    finally:
        kernels.update(before)

"""``torch.backends.cuda``: see ``torch.backends``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad._src.functions.attention import kernels
from tapegrad._src.warn import warn
from tapegrad.nn.attention import SDPBackend, sdpa_kernel


class Matmul:
    """Switches of matrix products on a GPU."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = Matmul()


def is_built() -> bool:
    """False: the package has no code for GPUs of its own. ``torch.cuda.is_available()`` says whether JAX has one."""
    return False


def _switches(kernel: str) -> tuple[Any, Any]:
    """Functions that say whether a kernel of attention may be used, and that switch it."""

    def enabled() -> bool:
        return kernels[kernel]

    def enable(enabled: bool) -> None:
        kernels[kernel] = bool(enabled)

    enabled.__name__, enable.__name__ = f"{kernel}_sdp_enabled", f"enable_{kernel}_sdp"
    enabled.__doc__ = f"Whether ``scaled_dot_product_attention`` may use the kernel ``{kernel}``."
    enable.__doc__ = f"Say whether ``scaled_dot_product_attention`` may use the kernel ``{kernel}``."
    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switches("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switches("mem_efficient")
math_sdp_enabled, enable_math_sdp = _switches("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _switches("cudnn")


class SDPAParams:
    """The arguments of attention for which a kernel is wanted: see ``can_use_flash_attention``.

    Args:
        query, key, value, attn_mask: the tensors, or None.
        dropout: the probability.
        is_causal, enable_gqa: as in ``scaled_dot_product_attention``.
    """

    def __init__(
        self, query: Any, key: Any, value: Any, attn_mask: Any, dropout: float, is_causal: bool, enable_gqa: bool
    ) -> None:
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def is_flash_attention_available() -> bool:
    """False: which kernel computes attention is for XLA to choose."""
    return False


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False: which kernel computes attention is for XLA to choose."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention
is_ck_sdpa_available = is_flash_attention_available


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[Any]:
    """Name the kernels that attention may use within a block; deprecated for ``torch.nn.attention.sdpa_kernel``."""
    warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. "
        "Please see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
    )
    chosen = {
        SDPBackend.FLASH_ATTENTION: enable_flash, SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
        SDPBackend.MATH: enable_math, SDPBackend.CUDNN_ATTENTION: enable_cudnn,
    }  # fmt: skip
    with sdpa_kernel([backend for backend, is_enabled in chosen.items() if is_enabled]) as context:
        yield context


_reduction = {"fp16_bf16": False}


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Say whether products of attention may be summed in half precision; it is remembered, and XLA chooses."""
    _reduction["fp16_bf16"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Tell what ``allow_fp16_bf16_reduction_math_sdp`` was told."""
    return _reduction["fp16_bf16"]

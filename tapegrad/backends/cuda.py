"""``torch.backends.cuda``: see ``torch.backends``."""


from typing import Any

from tapegrad._src.functions.attention import kernels


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

"""``torch.utils._triton``: whether Triton is there, with which PyTorch writes kernels."""

__all__ = ["has_triton", "has_triton_package"]


def has_triton() -> bool:
    """False: XLA writes kernels.

    >>> has_triton()
    False
    """
    return False


def has_triton_package() -> bool:
    """False: nothing asks for the package."""
    return False

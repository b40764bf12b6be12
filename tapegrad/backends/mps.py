"""``torch.backends.mps``: see ``torch.backends``."""


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Refused: tensors don't lie on Apple's GPUs.

    Args:
        major, minor: a version of macOS.

    Raises:
        RuntimeError: always, as PyTorch's without them.
    """
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def is_available() -> bool:
    """False: tensors don't lie on Apple's GPUs."""
    return False


def is_built() -> bool:
    """False: tensors don't lie on Apple's GPUs."""
    return False

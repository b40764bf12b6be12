"""``torch.backends.mps``: see ``torch.backends``."""


def is_available() -> bool:
    """False: tensors don't lie on Apple's GPUs."""
    return False


def is_built() -> bool:
    """False: tensors don't lie on Apple's GPUs."""
    return False

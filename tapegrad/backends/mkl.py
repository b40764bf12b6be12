"""``torch.backends.mkl``: see ``torch.backends``."""


def is_available() -> bool:
    """False: Intel's MKL is not linked."""
    return False

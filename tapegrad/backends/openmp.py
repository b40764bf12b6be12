"""``torch.backends.openmp``: see ``torch.backends``."""


def is_available() -> bool:
    """False: XLA's threads are its own."""
    return False

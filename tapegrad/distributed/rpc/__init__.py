"""``torch.distributed.rpc``: as where PyTorch was built without it. Processes run one program together here."""

from tapegrad._src.absent import refusing

__getattr__ = refusing(__name__)

__all__ = ["is_available"]


def is_available() -> bool:
    """False.

    >>> is_available()
    False
    """
    return False

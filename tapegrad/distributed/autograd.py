"""``torch.distributed.autograd``: as where PyTorch was built without it. A loss over a mesh has gradients as any."""

from tapegrad._src.absent import RefusedClass, refusing

__getattr__ = refusing(__name__)
__all__ = ["context", "is_available"]


def is_available() -> bool:
    """False.

    >>> is_available()
    False
    """
    return False


class context(RefusedClass):
    """A backward pass over remote calls, in PyTorch. Refused."""

    refusal = "torch.distributed.autograd.context", "a loss over a mesh, or of several processes, has gradients as any"

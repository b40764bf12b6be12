"""``torch._guards``: what imports ask of PyTorch's tracer, which is not here."""

from tapegrad._src.absent import refusing

__getattr__ = refusing(__name__)
__all__ = ["TracingContext", "active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> None:
    """None: no tensors are made without values but those of ``device="meta"``.

    >>> active_fake_mode() is None
    True
    """


def detect_fake_mode(inputs: object = None) -> None:
    """None, whatever is given."""


class TracingContext:
    """The state of PyTorch's tracer while it traces a program, which it never does here."""

    @staticmethod
    def try_get() -> None:
        """None: nothing is being traced.

        >>> TracingContext.try_get() is None
        True
        """

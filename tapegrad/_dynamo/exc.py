"""``torch._dynamo.exc``: errors of PyTorch's tracer, which programs catch. Those of exporting are raised here, too."""

from typing import Any

from tapegrad._src.absent import refusing
from tapegrad.export.errors import TorchDynamoException, Unsupported, UserError, UserErrorType

__getattr__ = refusing(__name__)
__all__ = [
    "BackendCompilerFailed", "InternalTorchDynamoError", "TorchDynamoException", "Unsupported", "UserError",
    "UserErrorType",
]  # fmt: skip


class InternalTorchDynamoError(TorchDynamoException):
    """An error of the tracer's own mistakes."""


class BackendCompilerFailed(TorchDynamoException):
    """An error of a backend: it has raised another one, or gave what can't be called.

    Args:
        backend_fn: the backend.
        inner_exception: what it has raised.

    >>> print(BackendCompilerFailed(print, ValueError("no")))
    backend='print' raised:
    ValueError: no
    """

    def __init__(self, backend_fn: Any, inner_exception: Exception) -> None:
        self.backend_name = getattr(backend_fn, "__name__", "?")
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """With what it begins anew."""

"""``torch._dynamo.exc``: errors of PyTorch's tracer, which programs catch. Those of exporting are raised here, too."""

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
    """An error if the compiler fails."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """With what it begins anew."""

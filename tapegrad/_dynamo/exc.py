"""``torch._dynamo.exc``: errors of PyTorch's tracer, which programs catch. None is ever raised here."""

from tapegrad.absent import refusing

__getattr__ = refusing(__name__)
__all__ = ["BackendCompilerFailed", "InternalTorchDynamoError", "TorchDynamoException", "Unsupported", "UserError"]


class TorchDynamoException(RuntimeError):
    """The base class of these errors."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error of the tracer's own mistakes."""


class BackendCompilerFailed(TorchDynamoException):
    """An error if the compiler fails."""


class Unsupported(TorchDynamoException):
    """An error of a call that can't be traced."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """With what it begins anew."""


class UserError(Unsupported):
    """An error of a mistake of the program."""

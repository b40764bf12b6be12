"""``torch._dynamo.exc``: errors of PyTorch's tracer, which programs catch. None is ever raised here."""

from tapegrad.absent import refusing

__getattr__ = refusing(__name__)
__all__ = ["BackendCompilerFailed", "InternalTorchDynamoError", "TorchDynamoException", "Unsupported", "UserError"]


class TorchDynamoException(RuntimeError):
    """The base class of these errors."""


class InternalTorchDynamoError(TorchDynamoException):
    """What the tracer raises of its own mistakes."""


class BackendCompilerFailed(TorchDynamoException):
    """What it raises if the compiler fails."""


class Unsupported(TorchDynamoException):
    """What it raises if it can't trace a call."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """With what it begins anew."""


class UserError(Unsupported):
    """What it raises of a program's mistake."""

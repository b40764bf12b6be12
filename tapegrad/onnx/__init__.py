"""``torch.onnx``: models are not exported here, and whoever asks is told so."""

from enum import IntEnum

from tapegrad._src.absent import EXPORTS, refused, refusing

__getattr__ = refusing(__name__)

__all__ = ["OperatorExportTypes", "TrainingMode", "export", "is_in_onnx_export"]

export = refused("torch.onnx.export", EXPORTS)


class OperatorExportTypes(IntEnum):
    """Which operators an exported model may have, in PyTorch."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(IntEnum):
    """In which mode a model is exported, in PyTorch."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def is_in_onnx_export() -> bool:
    """False.

    >>> is_in_onnx_export()
    False
    """
    return False

"""``torch.onnx``: models are not exported here, and whoever asks is told so."""

from tapegrad.absent import refusing

__getattr__ = refusing(__name__)

__all__ = ["is_in_onnx_export"]


def is_in_onnx_export() -> bool:
    """False.

    >>> is_in_onnx_export()
    False
    """
    return False

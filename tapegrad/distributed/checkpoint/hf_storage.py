"""``torch.distributed.checkpoint.hf_storage``: refused where it is used, so that libraries which only import it can."""

from __future__ import annotations

from typing import Any

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


class _Refused:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            f"torch.distributed.checkpoint.{type(self).__name__} is not in tapegrad (yet): torch.load reads files of "
            "safetensors, and the package safetensors writes them; torch.distributed.checkpoint.save has "
            "a format of its own"
        )


class HuggingFaceStorageReader(_Refused):
    """What reads a checkpoint of several files of safetensors, in PyTorch.

    Raises:
        NotImplementedError: always; it says what to do instead.
    """


class HuggingFaceStorageWriter(_Refused):
    """What writes a checkpoint as several files of safetensors, in PyTorch.

    Raises:
        NotImplementedError: always; it says what to do instead.
    """

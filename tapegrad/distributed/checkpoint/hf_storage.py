"""``torch.distributed.checkpoint.hf_storage``: refused where it is used, so that libraries which only import it can."""

from __future__ import annotations

from tapegrad._src.absent import RefusedClass

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


class HuggingFaceStorageReader(RefusedClass):
    """A reader of a checkpoint of several files of safetensors, in PyTorch. Refused."""

    refusal = (
        "torch.distributed.checkpoint.",
        "torch.load reads files of safetensors, and the package safetensors writes them; "
        "torch.distributed.checkpoint.save has a format of its own",
    )


class HuggingFaceStorageWriter(RefusedClass):
    """A writer of a checkpoint as several files of safetensors, in PyTorch. Refused."""

    refusal = HuggingFaceStorageReader.refusal

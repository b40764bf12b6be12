"""``FullyShardedDataParallel``: refused where it is used, so that libraries which only ask for its instances can."""

from __future__ import annotations

from typing import Any

from tapegrad.nn import Module


class FullyShardedDataParallel(Module):
    """A module around another, whose parameters are divided among processes, in PyTorch.

    Raises:
        NotImplementedError: always; it says what to do instead.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "torch.distributed.fsdp.FullyShardedDataParallel is not in tapegrad (yet): "
            "torch.distributed.fsdp.fully_shard divides the parameters of a module, which stays itself"
        )

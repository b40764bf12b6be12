"""``FullyShardedDataParallel``: refused where it is used, so that libraries which only ask for its instances can."""

from __future__ import annotations

from tapegrad._src.absent import RefusedClass
from tapegrad.nn import Module


class FullyShardedDataParallel(RefusedClass, Module):
    """A module around another, whose parameters are divided among processes, in PyTorch. Refused."""

    refusal = (
        "torch.distributed.fsdp.FullyShardedDataParallel",
        "torch.distributed.fsdp.fully_shard divides the parameters of a module, which stays itself",
    )

"""``torch.distributed.fsdp``: parameters of which each device has a part."""

from tapegrad.distributed.fsdp.fully_shard import FSDPModule, UnshardHandle, fully_shard, register_fsdp_forward_method
from tapegrad.distributed.fsdp.policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from tapegrad.distributed.fsdp.wrapping import FullyShardedDataParallel

__all__ = [
    "CPUOffloadPolicy", "FSDPModule", "FullyShardedDataParallel", "MixedPrecisionPolicy", "OffloadPolicy",
    "UnshardHandle", "fully_shard", "register_fsdp_forward_method",
]  # fmt: skip

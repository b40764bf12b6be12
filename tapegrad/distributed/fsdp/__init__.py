"""``torch.distributed.fsdp``: parameters of which each device has a part."""

from tapegrad.distributed.fsdp.fully_shard import fully_shard

__all__ = ["fully_shard"]

"""``torch.distributed._tensor.placement_types``: where placements were before. Nothing is defined here."""

from tapegrad._src.absent import refusing
from tapegrad.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__getattr__ = refusing(__name__)
__all__ = ["Partial", "Placement", "Replicate", "Shard"]

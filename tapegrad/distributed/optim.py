"""``torch.distributed.optim``: refused where it is used, so that libraries which only ask for its classes can."""

from __future__ import annotations

from tapegrad._src.absent import RefusedClass, refusing
from tapegrad.optim import Optimizer

__getattr__ = refusing(__name__)
__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(RefusedClass, Optimizer):
    """An optimizer whose state is divided among processes, in PyTorch. Refused."""

    refusal = (
        "torch.distributed.optim.ZeroRedundancyOptimizer",
        "torch.distributed.fsdp.fully_shard divides parameters, and with them the states of any optimizer",
    )

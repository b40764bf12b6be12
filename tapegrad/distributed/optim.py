"""``torch.distributed.optim``: refused where it is used, so that libraries which only ask for its classes can."""

from __future__ import annotations

from typing import Any

from tapegrad.optim import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer whose state is divided among processes, in PyTorch.

    Raises:
        NotImplementedError: always; it says what to do instead.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "torch.distributed.optim.ZeroRedundancyOptimizer is not in tapegrad (yet): "
            "torch.distributed.fsdp.fully_shard divides parameters, and with them the states of any optimizer"
        )

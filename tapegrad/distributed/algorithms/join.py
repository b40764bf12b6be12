"""``torch.distributed.algorithms.join``: refused where it is used, so that libraries which only import it can."""

from __future__ import annotations

from typing import Any

__all__ = ["Join", "JoinHook", "Joinable"]


class Joinable:
    """What takes part in a ``Join``, in PyTorch."""


class JoinHook:
    """What a process that has no more data does meanwhile, in PyTorch."""


class Join:
    """Processes with unequal numbers of batches, in PyTorch.

    Raises:
        NotImplementedError: always; it says what to do instead.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "torch.distributed.algorithms.join.Join is not in tapegrad (yet): XLA sums gradients within the step, "
            "which all processes must take; give each as many batches, as DistributedSampler and drop_last do"
        )

"""``torch.distributed.algorithms.join``: refused where it is used, so that libraries which only import it can."""

from __future__ import annotations

from tapegrad._src.absent import RefusedClass

__all__ = ["Join", "JoinHook", "Joinable"]


class Joinable:
    """A participant of a ``Join``, in PyTorch."""


class JoinHook:
    """The work of a process that has no more data meanwhile, in PyTorch."""


class Join(RefusedClass):
    """Processes with unequal numbers of batches, in PyTorch. Refused."""

    refusal = (
        "torch.distributed.algorithms.join.Join",
        "XLA sums gradients within the step, "
        "which all processes must take; give each as many batches, as DistributedSampler and drop_last do",
    )

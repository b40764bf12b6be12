"""``torch.distributed.fsdp.sharded_grad_scaler``: gradients of parts are scaled as any."""

from __future__ import annotations

from tapegrad.amp.grad_scaler import GradScaler

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A ``GradScaler``: a norm, or a question for inf, of a tensor on a mesh is asked of all its parts.

    >>> ShardedGradScaler(enabled=False).is_enabled()
    False
    """

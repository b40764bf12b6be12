"""``torch.distributed._tensor``: what ``torch.distributed.tensor`` was called before."""

from tapegrad.distributed import tensor as _now
from tapegrad.distributed._tensor import placement_types

globals().update({name: getattr(_now, name) for name in _now.__all__ if name != "placement_types"})
__all__ = sorted({*_now.__all__, "placement_types"})  # noqa: PLE0605 - filled from there

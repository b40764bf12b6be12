"""Options by which PyTorch computes ``linear_cross_entropy`` piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

from tapegrad._src.execution.data.dtypes import bfloat16, dtype, float16, float32, float64

__all__ = ["LinearCrossEntropyOptions"]


@dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Options for the memory that ``linear_cross_entropy`` may take in PyTorch. Here they change nothing.

    Args:
        allow_retain_graph: whether ``backward`` may be called twice.
        batch_chunk_size: how many examples are computed together.
        chunking_method: how that is found: None, ``"auto"``, or ``"aspect_ratio"``, with a factor as in
            ``"aspect_ratio:2"``.
        acc_policy: ``"auto"``, ``"accurate"``, ``"balanced"`` or ``"compact"``.
        acc_dtype: in what sums are formed: a floating dtype, or None.

    Raises:
        ValueError: an option that PyTorch doesn't take.

    >>> LinearCrossEntropyOptions(batch_chunk_size=4).acc_policy
    'auto'
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or (colon and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in (None, float16, bfloat16, float32, float64):
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, got "
                f"{self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically."
            )

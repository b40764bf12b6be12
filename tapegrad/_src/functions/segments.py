"""Reductions of segments of a dimension."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.bounds import negative, refuse_elements
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.execution.data.dtypes import int32, int64
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops import joining, scans, segments
from tapegrad.ops.checks import refuse_dtypes
from tapegrad.ops.kinds import cast, zeros_of

NAMES = {"sum": "sum", "mean": "mean", "max": "max", "min": "min", "prod": "prod", "amax": "max", "amin": "min"}


def _check(data: Tensor, given: Tensor, axis: int) -> None:
    if data.ndim < given.ndim:
        raise RuntimeError(
            "Expected data.dim() >= lengths_value.dim() to be true, but got false.  (Could this error message be "
            "improved?  If so, please report an enhancement request to PyTorch.)"
        )
    refuse_dtypes("_segment_reduce_cpu", data._spec, bool=True, integral=True, complex=True)
    if given.dtype not in (int64, int32):
        raise NotImplementedError(
            f"\"_segment_reduce_lengths_cpu_kernel1\" not implemented for '{given.dtype.scalar_name}'"
        )


def _add_up_to_other(lengths: Any, total: int) -> Any:
    return lengths.sum(-1) != total


def _bounds(data: Tensor, lengths: Tensor, axis: int, unsafe: bool) -> Tensor:
    """The places where segments of these lengths begin and end.
    Raises RuntimeError: negative ones, or others than there are elements.
    """
    if not unsafe:
        refuse_elements(lengths, negative, complaint=lambda _: RuntimeError("lengths contains negative value!"))
        refuse_elements(
            lengths, _add_up_to_other, data.shape[axis],
            complaint=lambda _: RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
                "!unsafe."
            ),
        )  # fmt: skip
    ends = scans.cumsum(lengths, axis=lengths.ndim - 1, reverse=False, dtype=int64)
    first = zeros_of(ends, shape=(*ends.shape[:-1], 1), dtype=int64)
    return joining.cat(first, ends, axis=ends.ndim - 1)


@public("torch")
def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: float | None = None,
) -> Tensor:  # fmt: skip
    """The ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"prod"`` of each segment of a dimension.

    Segments lie behind one another; ``lengths`` (*dimensions before, segments), or ``offsets``, one more, say how.
    ``initial`` takes part in each. Without it the sum of nothing is 0, the mean nan, and so on. It has no second
    derivative.

    Args:
        data: floating numbers.
        indices: refused by PyTorch, and here.
        axis: the dimension of the segments.
        unsafe: whether the lengths are taken as they are, without checks.

    Raises:
        RuntimeError: lengths that don't fit; neither lengths nor offsets; an unknown ``reduce``.
        NotImplementedError: integers or complex numbers.

    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), "sum", lengths=torch.tensor([2, 1]))
    tensor([3., 3.])
    """
    where = wrap_dim(axis, data.ndim)
    if reduce not in NAMES:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if lengths is not None:
        _check(data, lengths, where)
        bounds = _bounds(data, lengths, where, unsafe)
    else:
        assert offsets is not None
        _check(data, offsets, where)
        bounds = offsets if offsets.dtype is int64 else cast(offsets, dtype=int64)
    start = None if initial is None else float(initial)
    return segments.segment_reduce(data, bounds, axis=where, how=NAMES[reduce], initial=start)


@public("torch")
def _segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: float | None = None,
) -> Tensor:  # fmt: skip
    """``segment_reduce``, under its old name."""
    return segment_reduce(
        data, reduce, lengths=lengths, indices=indices, offsets=offsets, axis=axis, unsafe=unsafe, initial=initial
    )

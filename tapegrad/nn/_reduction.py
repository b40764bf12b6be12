"""Reductions of the losses of all elements, by PyTorch's old flags and by its numbers."""

from __future__ import annotations

from tapegrad._src.warn import warn

CODES = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """PyTorch's number for a reduction.

    Raises:
        ValueError: there is no such reduction.

    >>> get_enum("none"), get_enum("mean"), get_enum("sum")
    (0, 1, 2)
    """
    if reduction == "elementwise_mean":
        warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
    if reduction not in CODES:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return CODES[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the old flags say: true or None both, it is the mean.

    >>> legacy_get_string(False, None, emit_warning=False), legacy_get_string(None, False, emit_warning=False)
    ('sum', 'none')
    """
    average, reduced = (True if flag is None else flag for flag in (size_average, reduce))
    found = ("mean" if average else "sum") if reduced else "none"
    if emit_warning:
        warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.")
    return found


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """PyTorch's number for what the old flags say."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))

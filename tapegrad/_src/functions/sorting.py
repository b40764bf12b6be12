"""PyTorch's order: sorting, ranks, searching, counting; what depends on data in its shape is computed on the host."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.arguments import is_scalar, not_implemented, wrap_dim
from tapegrad._src.bindings.declaration.declarations import EXPECTED, Out
from tapegrad._src.bindings.declaration.registry import UNSET, public
from tapegrad._src.bindings.declaration.scalars import unsupported
from tapegrad._src.bindings.layouts import in_column_major_order, laid_out
from tapegrad._src.execution.array_functions.host import from_host, to_host
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.dtypes import COMPLEX, FLOATING
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.execution.numpy_backend.scans import stable_order
from tapegrad._src.functions.incomparable import order_of_rows
from tapegrad._src.functions.reductions import check_flag, check_nonempty, invalid, one_dim
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.geometry import contiguous_strides
from tapegrad._src.tensor.level_messages import DYNAMIC, NO_RULE
from tapegrad._src.tensor.lifted import all_elements, fresh, fresh_examples, mapping, sizes_of
from tapegrad._src.tensor.refusals import is_example, refuse_examples, refuse_meta
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor, value_of
from tapegrad.ops import gathering, reductions, sorting
from tapegrad.ops.kinds import cast


def numbers(array: np.ndarray, like: Tensor) -> Tensor:
    """An int64 tensor of numbers found on the host, on the device of another tensor."""
    array = np.ascontiguousarray(array, np.int64).reshape(array.shape)
    return fresh(from_host(array, like.device), Spec.of(array.shape, dtypes.int64, like.device))


def on_host(input: Tensor) -> np.ndarray:
    """The elements of a tensor, now: waits for them, and fails under ``jax.jit``."""
    return to_host(value_of(input))


# -- sorting -----------------------------------------------------------------------------------------------------------


def check_sortable(name: str, input: Tensor) -> None:
    """Refuse what has no order. Raises RuntimeError: complex elements."""
    if input.dtype.is_complex:
        raise RuntimeError(f" {name} does not support complex dtypes on CPU")


@public("torch", "Tensor")
def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = UNSET) -> Any:
    """The elements along ``dim`` in order, a named tuple of ``values`` and ``indices``; nan is the largest.

    Equal elements keep their order, whether ``stable`` is asked for or not.

    Args:
        dim: the dimension that is sorted.
        descending: whether the largest comes first.

    Raises:
        RuntimeError: complex elements.

    >>> values, indices = torch.sort(torch.tensor([3, 1, 2]), descending=True)
    >>> values, indices
    (tensor([3, 2, 1]), tensor([0, 2, 1]))
    """
    if not isinstance(descending, bool) or isinstance(dim, bool):
        raise invalid("sort", dim, descending)
    axis = one_dim("sort", dim, input.ndim)
    check_sortable("Sort", input)
    operator = sorting.sort if stable is UNSET else sorting.sort_stable
    return return_types.sort(operator(input, axis=axis, descending=descending))


@public("torch", "Tensor", out=Out(EXPECTED))
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    """The indices (int64) that sort ``input`` along ``dim``; equal elements keep their order.

    Args:
        descending: whether the largest comes first.
        stable: changes nothing: the order is stable.

    Raises:
        RuntimeError: complex elements.

    >>> torch.argsort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    check_flag("argsort", "descending", descending)
    axis = one_dim("argsort", dim, input.ndim)
    check_sortable("Sort", input)
    return sorting.argsort(input, axis=axis, descending=descending)


@public("torch", "Tensor", out=Out(EXPECTED, called="sort"))
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]


@public("torch", "Tensor")
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The ``k`` largest (or smallest) elements along ``dim``, best first: a named tuple of ``values`` and ``indices``.

    nan is the largest. ``sorted=False`` allows any order, and changes nothing here.

    Raises:
        RuntimeError: fewer than ``k`` elements; bool or complex elements.

    >>> torch.topk(torch.tensor([3, 1, 2]), 2).values
    tensor([3, 2])
    """
    if isinstance(k, (bool, float, str)) or k is None:
        raise TypeError(f"topk(): argument 'k' (position 2) must be int, not {type(k).__name__}")
    axis, k = one_dim("topk", dim, input.ndim), int(k)
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    check_sortable("topk", input)
    if input.dtype is dtypes.bool:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    return return_types.topk(sorting.topk(input, k=k, axis=axis, largest=largest))


@public("torch", "Tensor", out=Out("output values must be of same type as input", apart=True))
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The ``k``-th smallest elements over ``dim``, counted from 1: a named tuple of ``values`` and ``indices``.

    Raises:
        RuntimeError: fewer than ``k`` elements.
        NotImplementedError: bool or complex elements.

    >>> torch.kthvalue(torch.tensor([30, 10, 20]), 2).values
    tensor(20)
    """
    axis = one_dim("kthvalue", dim, input.ndim)
    check_nonempty("kthvalue", input, (axis,))
    if not 1 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    if (input.dtype is dtypes.bool and input.ndim) or input.dtype.category == COMPLEX:
        raise not_implemented("kthvalue_cpu", input.dtype)
    return return_types.kthvalue(sorting.kthvalue(input, k=int(k), axis=axis, keepdims=keepdim))


_OF_MODE = Out("expected scalar type '{R}' but got '{O}' for values output")


@public("torch", "Tensor", out=_OF_MODE)
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent elements over ``dim``, the smallest of several: a named tuple of ``values`` and ``indices``.

    Raises:
        NotImplementedError: several complex elements.
        RuntimeError: a complex one that requires grad.

    >>> torch.mode(torch.tensor([2, 1, 2])).values
    tensor(2)
    """
    axis = one_dim("mode", dim, input.ndim)
    check_nonempty("mode", input, (axis,))
    if input.dtype.category == COMPLEX:
        if input._spec.numel and input.ndim:
            raise not_implemented("mode_cpu", input.dtype)
        if input._spec.requires_grad and thread.modes.grad:
            raise RuntimeError("mode does not support automatic differentiation for outputs with complex dtype.")
    return return_types.mode(sorting.mode(input, axis=axis, keepdims=keepdim))


# -- examples of a vmap, one by one ------------------------------------------------------------------------------------


def examples_on_host(tensor: Tensor) -> list[np.ndarray]:
    """The elements of each example, in a row, of a tensor that is one of the examples of a ``vmap``; or of the one."""
    count = math.prod(sizes_of(mapping(tensor)))
    return list(to_host(all_elements(tensor)).reshape(count, *tensor.shape))


def for_each_example(function: Callable[[np.ndarray], np.ndarray], tensor: Tensor) -> Tensor:
    """The int64 tensor that a function makes of a tensor's elements; on each example by itself, if it is one.
    Raises RuntimeError: what the function gives has not the same shape for all examples.
    """
    found = [function(example) for example in examples_on_host(tensor)]
    shape = found[0].shape if found else (0,)
    for position, array in enumerate(found):
        if array.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(array.shape)} at entry {position}"
            )
    levels = mapping(tensor)
    value = from_host(np.array(found, np.int64).reshape(*sizes_of(levels), *shape), tensor.device)
    return fresh_examples(value, Spec.of(shape, dtypes.int64, tensor.device), levels)


# -- where nonzero -----------------------------------------------------------------------------------------------------


@public(
    "torch", "Tensor",
    out=Out(
        "nonzero: Expected out tensor to have scalar type {R} but got scalar type{O}", history="none",
        single="nonzero does not support the out kwarg when as_tuple is True",
    ),
)  # fmt: skip
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: int64 of shape (number, ndim), or a tuple with one tensor for each
    dimension (``as_tuple``; a 0-dim tensor counts as one of length 1).

    The elements are read on the host: not under ``jax.jit``.
    """
    refuse_examples(NO_RULE.format("nonzero_numpy") if as_tuple else DYNAMIC.format("nonzero"), input)
    refuse_meta("nonzero", input)
    array = on_host(input)
    if as_tuple:
        return tuple(numbers(places, input) for places in np.nonzero(np.atleast_1d(array)))
    return in_column_major_order(numbers(np.argwhere(array), input))


@public("torch", "Tensor")
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero: int64 of shape (number, ndim)."""
    refuse_meta("nonzero", input)
    return in_column_major_order(for_each_example(np.argwhere, input))


# -- searching ---------------------------------------------------------------------------------------------------------


def _search_side(right: bool, side: str | None) -> bool:
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    return right or side == "right"


def _check_search(boundaries: Tensor, values: Any) -> None:
    ndim = values.ndim if isinstance(values, Tensor) else 0
    if ndim == 0 and boundaries.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({boundaries.ndim}) and input value's dim(0) numel(1)"
        )
    if boundaries.ndim != 1 and boundaries.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(boundaries.shape)} and "
            f"input value tensor {list(values.shape)}"
        )


def _scalar(value: Any, like: Tensor) -> Tensor:
    """A number as a 0-dim tensor of its own type."""
    default = dtypes.complex64 if isinstance(value, complex) else dtypes.get_default_dtype()
    array = np.asarray(value, dtypes.int64.numpy if isinstance(value, int) else default.numpy)
    return fresh(from_host(array, like.device), Spec.of((), dtypes.from_numpy(array.dtype), like.device))


_FOUND_PLACES = Out(
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on "
    "whether out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is False",
    history="none",
)


@public("torch", out=_FOUND_PLACES)
def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Find the places where numbers of ``input`` would be inserted into ``sorted_sequence``, ascending along its last
    dimension.

    In front of equal ones, or behind them (``right=True`` or ``side="right"``). ``sorter`` holds the indices that sort
    ``sorted_sequence`` where it is not. int64, or int32 if ``out_int32``.

    Raises:
        RuntimeError: shapes that don't match; contradictory sides.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 4]))
    tensor([1, 2])
    """
    right = _search_side(right, side)
    _check_search(sorted_sequence, input)
    if sorter is not None:
        sorted_sequence = gathering.gather(sorted_sequence, sorter, axis=sorted_sequence.ndim - 1)
    values = _scalar(input, sorted_sequence) if is_scalar(input) else input
    for given in (sorted_sequence, values):
        if given.dtype.is_complex or given.dtype is dtypes.bool:
            raise unsupported("searchsorted_out_cpu", given.dtype)
    return sorting.searchsorted(
        sorted_sequence, values, right=right, dtype=dtypes.int32 if out_int32 else dtypes.int64
    )


@public("torch", out=_FOUND_PLACES)
def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the interval between ``boundaries`` (ascending) in which each number lies; see ``searchsorted``.

    Args:
        out_int32: whether the result is int32, not int64.
        right: whether a number that equals a boundary lies behind it.

    Raises:
        RuntimeError: ``boundaries`` is not 1-dimensional.

    >>> torch.bucketize(torch.tensor([1, 3, 9]), torch.tensor([1, 3, 5]))
    tensor([0, 1, 3])
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


# -- counting ----------------------------------------------------------------------------------------------------------


@public("torch", "Tensor")
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count each number in a 1-dimensional tensor of integers that are not negative, or sum its
    ``weights``; as long as the largest number asks for, or ``minlength``. Not differentiable: backward raises.

    The largest number is read on the host: not under ``jax.jit``.

    Raises:
        RuntimeError: negative numbers, more dimensions, other lengths of weights.
        NotImplementedError: not integers.
    """
    if input.dtype.category >= FLOATING or input.dtype is dtypes.bool:
        raise not_implemented("bincount_cpu", input.dtype)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    refuse_meta("bincount", input)
    array = to_host(all_elements(input))
    if input.ndim != 1 or (array.size and array.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")

    def counted(example: np.ndarray) -> np.ndarray:
        count = max(int(example.max()) + 1 if example.size else 0, minlength)
        kind = dtypes.int64 if weights is None else weights.dtype
        check_size((count,), kind.itemsize, input.device.type)
        return np.zeros(count, np.int64)

    return sorting.bincount(input, weights, size=for_each_example(counted, input).shape[0])


def _histogram_bounds(input: Tensor, low: float, high: float) -> tuple[Any, Any]:
    if low == high and input._spec.numel:
        bounds = reductions.aminmax(input, axis=tuple(range(input.ndim)), keepdims=False)
        if is_example(input):
            return _bounds_of_examples(*bounds)
        low, high = (0.0, 1.0) if input.device is META else (float(on_host(bound)) for bound in bounds)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    return (low - 1, high + 1) if low == high else (low, high)


def _bounds_of_examples(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """The bounds of a histogram for each example of a ``vmap``."""
    lows, highs = (to_host(all_elements(bound)) for bound in (low, high))
    bad = np.flatnonzero(~(np.isfinite(lows) & np.isfinite(highs)))
    if bad.size:
        shown = lows.ravel()[bad[0]], highs.ravel()[bad[0]]
        raise RuntimeError("torch.histc: range of [{:g}, {:g}] is not finite".format(*shown))
    apart = cast(low == high, dtype=low.dtype)
    return low - apart, high + apart


@public(
    "torch", "Tensor", out=Out(
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {r} and hist {o}",
        history="none",
    ),
)  # fmt: skip
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Count the elements in each of ``bins`` equal intervals between ``min`` and ``max``, which stand for the
    extrema if they are equal; in the dtype of ``input``. Not differentiable.

    Raises:
        RuntimeError: no bins; bounds in the wrong order or not finite.
        NotImplementedError: not floating.

    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=2, min=0, max=3)
    tensor([2., 1.])
    """
    if input.dtype.category != FLOATING:
        raise not_implemented("histogram_cpu", input.dtype)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if max < min:
        raise RuntimeError("torch.histc: max must be larger than min")
    check_size((bins + 1,), input.dtype.itemsize, input.device.type)
    low, high = _histogram_bounds(input, float(min), float(max))
    return sorting.histc(input, low, high, bins=bins)


# -- distinct elements -------------------------------------------------------------------------------------------------


def _results(values: Tensor, inverse: np.ndarray | None, counts: np.ndarray, want_counts: bool) -> Any:
    extra = [] if inverse is None else [numbers(inverse, values)]
    extra += [numbers(counts, values)] if want_counts else []
    return (values, *extra) if extra else values


def _slices_apart(values: Tensor, axis: int | None) -> Tensor:
    """A new tensor, in whose memory each of the slices along a dimension is in one piece."""
    if not axis:
        return values
    rows = (values.shape[axis], *values.shape[:axis], *values.shape[axis + 1 :])
    own, *others = contiguous_strides(rows)
    return laid_out(values, (*others[:axis], own, *others[axis:]))


def _check_slices(input: Tensor, axis: int) -> None:
    if 0 in (*input.shape[:axis], *input.shape[axis + 1 :]):
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")


def _unique(name: str, find: Callable, input: Tensor, dim: int | None, want_inverse: bool) -> tuple[Any, ...]:
    """The axis, and on the host: where the distinct elements are, the inverse if it is wanted, and the counts."""
    operator = ("_unique2" if dim is None else "unique_dim") if name == "unique" else name
    refuse_examples(DYNAMIC.format(operator), input)
    refuse_meta(operator, input)
    if input.dtype.category == COMPLEX:
        flat = dim is None or (dim == 0 and input.ndim == 1 and name == "unique_consecutive")
        raise not_implemented("unique" if flat else "unique_dim", input.dtype)
    axis = None if dim is None else wrap_dim(dim, input.ndim)
    if axis is not None:
        _check_slices(input, axis)
    array = on_host(input)
    if array.dtype.kind == "V":  # NumPy orders no nans of these
        array = array.astype(np.float32)
    rows = array.reshape(-1, 1) if axis is None else np.moveaxis(array, axis, 0)
    rows = rows.reshape(rows.shape[0], -1) if rows.size else rows.reshape(len(rows), 0)
    if dim is not None and find is _distinct_rows and rows.dtype.kind not in "biu" and np.isnan(rows).any():
        find = _distinct_incomparable_rows
    places, inverse, counts = find(rows, want_inverse)
    if axis is None and inverse is not None:
        inverse = inverse.reshape(array.shape)
    return axis, numbers(places, input), inverse, counts


Runs = tuple[np.ndarray, np.ndarray | None, np.ndarray]


def _distinct_rows(rows: np.ndarray, want_inverse: bool) -> Runs:
    """Of a matrix: the numbers of its distinct rows in order, which of them each row is, how often each occurs."""
    if rows.shape[1] == 1:
        order = stable_order(rows[:, 0])
    else:
        order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(len(rows))
    return _distinct_in(order, rows, want_inverse)


def _distinct_incomparable_rows(rows: np.ndarray, want_inverse: bool) -> Runs:
    """The same of rows where there are nans, which only PyTorch's own order of comparisons can put in its order."""
    return _distinct_in(order_of_rows(rows.astype(np.float64)), rows, want_inverse)


def _distinct_in(order: np.ndarray, rows: np.ndarray, want_inverse: bool) -> Runs:
    first, inverse, counts = _runs(rows.take(order, 0), want_inverse)
    if inverse is None:
        return order[first], None, counts
    back = np.empty(len(rows), np.int64)
    back[order] = inverse
    return order[first], back, counts


def _runs(rows: np.ndarray, want_inverse: bool) -> Runs:
    """Of a matrix: where runs of equal rows begin, in which run each row is, how long each run is."""
    new = np.ones(len(rows), bool)
    np.not_equal(rows[1:], rows[:-1]).any(1, out=new[1:])
    first = np.flatnonzero(new)
    return first, np.cumsum(new) - 1 if want_inverse else None, np.diff(first, append=len(rows))


@public("torch", "functional", "Tensor", in_place=False, out=False)
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct elements in ascending order, or the distinct slices along ``dim``; each nan is distinct.

    With ``return_inverse`` also the index of each element among them, with ``return_counts`` also how often each occurs
    (int64). They are found on the host: not under ``jax.jit``. Not differentiable: backward raises.

    Args:
        sorted: changes nothing: they are sorted in any case.

    Raises:
        NotImplementedError: complex elements.

    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    axis, places, inverse, counts = _unique("unique", _distinct_rows, input, dim, return_inverse)
    values = sorting.unique(input, places) if axis is None else sorting.unique_dim(input, places, axis=axis)
    values = _slices_apart(values, axis)
    return _results(values, inverse, counts, return_counts)


@public("torch", name="_unique")
def unique_and_inverse(input: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    """``unique`` of all elements, and where each is among them: without ``return_inverse`` an empty tensor."""
    return _unique2(input, sorted, return_inverse)[:2]


@public("torch")
def _unique2(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """``_unique``, and how often each occurs: without ``return_counts`` an empty tensor."""
    found = unique(input, sorted, return_inverse, return_counts)
    values, *rest = found if isinstance(found, tuple) else (found,)
    others = iter(rest)
    nothing = input.new_empty(0, dtype=dtypes.int64)
    inverse, counts = (next(others) if wanted else nothing for wanted in (return_inverse, return_counts))
    return values, inverse, counts


@public("torch", "functional", "Tensor", in_place=False, out=False)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first element (or slice along ``dim``) of every run of equal ones: see ``unique``.

    Args:
        return_inverse: whether to return the run of each element, too.
        return_counts: whether to return the lengths of the runs, too.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    axis, places, inverse, counts = _unique("unique_consecutive", _runs, input, dim, return_inverse)
    values = _slices_apart(sorting.unique_consecutive(input, places, axis=axis), axis)
    return _results(values, inverse, counts, return_counts)

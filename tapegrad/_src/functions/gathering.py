"""PyTorch's named functions that read and write at places given by index tensors and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.bounds import negative, outside, refuse_elements
from tapegrad._src.bindings.declaration.declarations import EXPECTED, InPlace, Out
from tapegrad._src.bindings.declaration.registry import UNSET, public
from tapegrad._src.bindings.declaration.scalars import converted, is_number, no_overload, refuse_unfitting, unsupported
from tapegrad._src.bindings.naming import NO_DERIVATIVE, renamed, underivable
from tapegrad._src.bindings.writes.in_place import not_of_integers
from tapegrad._src.bindings.writes.overlaps import refuse_shared_parts
from tapegrad._src.execution.array_functions.host import from_host
from tapegrad._src.execution.data.devices import META
from tapegrad._src.execution.data.dtypes import BOOL, COMPLEX, int32, int64
from tapegrad._src.execution.data.dtypes import bool as bool_
from tapegrad._src.execution.data.sizes import check_size
from tapegrad._src.functions.arrangement import repeat_each
from tapegrad._src.functions.shape import expanded, ravel, reshaped
from tapegrad._src.functions.sorting import examples_on_host, for_each_example, numbers, on_host
from tapegrad._src.tensor.lifted import fresh
from tapegrad._src.tensor.refusals import refuse_examples, refuse_meta, refuse_number
from tapegrad._src.tensor.spec import Spec
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.errors import warn_once
from tapegrad.ops import gathering, slicing
from tapegrad.ops import shape as shape_ops
from tapegrad.ops.arithmetic import remainder
from tapegrad.ops.kinds import broadcast_shapes, cast
from tapegrad.ops.operator import Operator


def check_range(index: Tensor, axis: int, length: int) -> None:
    """Refuse an index that is not in [0, length). Raises RuntimeError: PyTorch's message."""
    text = "is out of bounds for dimension"
    refuse_elements(
        index, outside, 0, length,
        complaint=lambda found: RuntimeError(f"index {found.number} {text} {axis} with size {length}"),
    )  # fmt: skip


def _length(x: Tensor, axis: int) -> int:
    spec = x._spec
    return tuple.__getitem__(spec.shape, axis) if spec.ndim else 1


# -- each element by itself --------------------------------------------------------------------------------------------


def _check_index(function: str, x: Tensor, index: Tensor, name: str) -> None:
    """Refuse an index tensor of the wrong dtype or number of dimensions; an empty one may have any."""
    spec = index._spec
    if not spec.numel:
        return
    if spec.dtype is not int64 and spec.dtype is not int32:
        raise RuntimeError(f"{function}(): Expected dtype int32/int64 for index")
    if spec.ndim != x._spec.ndim and max(spec.ndim, 1) != max(x.ndim, 1):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")


@public("torch", "Tensor", out=Out(EXPECTED, apart=True, resizes=True))
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """``out[i, j] = input[index[i, j], j]`` for ``dim=0``: an element for each index.

    Args:
        dim: the dimension in which ``index`` counts.
        index: int64 or int32, of as many dimensions as ``input``; the result has its shape.
        sparse_grad: changes nothing: gradients are dense.

    Raises:
        RuntimeError: an index out of range; an index tensor longer than ``input`` in another dimension.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    axis = wrap_dim(dim, input.ndim)
    _check_index("gather", input, index, "input")
    apart = index._spec.shape != input._spec.shape
    for other in range(input.ndim if apart and index.ndim and index._spec.numel else 0):
        if other != axis and index.shape[other] > input.shape[other]:
            raise RuntimeError(
                f"Size does not match at dimension {other} expected index {list(index.shape)} to be no larger than "
                f"self {list(input.shape)} apart from dimension {axis}"
            )
    check_range(index, axis, _length(input, axis))
    return gathering.gather(input, index, axis=axis)


def _check_scatter(input: Tensor, dim: int, index: Tensor, src: Tensor | None) -> int:
    axis = wrap_dim(dim, input.ndim)
    _check_index("scatter", input, index, "self")
    if src is not None:
        if src.dtype is not input.dtype:
            raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
        if index._spec.numel and max(src.ndim, 1) != max(index.ndim, 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    shape = index._spec.shape
    apart = shape != input._spec.shape or (src is not None and shape != src._spec.shape)
    for other in range(index.ndim if apart and input.ndim and index._spec.numel else 0):
        too_long = other != axis and index.shape[other] > input.shape[other]
        if src is not None and src.ndim and index.shape[other] > src.shape[other]:
            too_long = True
        if too_long:
            source = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from "
                f"dimension {axis}{source}"
            )
    check_range(index, axis, _length(input, axis))
    return axis


def _part(src: Tensor, index: Tensor) -> Tensor:
    """As much of a source as there are indices for."""
    if src._spec.shape == index._spec.shape:
        return src
    if not index._spec.numel:
        src, index_shape = shape_ops.view(src, shape=(-1,)), tuple(index.shape)
        return shape_ops.view(slicing.slice_(src, 0, axis=0, length=0, step=1), shape=index_shape)
    for axis in range(src.ndim):
        length = index.shape[axis] if index.ndim else 1
        if src.shape[axis] != length:
            src = slicing.slice_(src, 0, axis=axis, length=length, step=1)
    return src if src.shape == index.shape else shape_ops.view(src, shape=tuple(index.shape))


def _overload_of_scatter(dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None) -> str:
    own = "src" if isinstance(src, Tensor) else "value"
    return own if reduce is None else "reduce" if own == "src" else "value_reduce"


@public(
    "torch", "Tensor", in_place=InPlace(apart="strictly", underivable=True, overloads=_overload_of_scatter),
    out=Out(EXPECTED),
)  # fmt: skip
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = UNSET, *, value: Any = UNSET, reduce: str | None = None
) -> Tensor:
    """``input`` with elements of ``src``, or one number, where ``gather`` would read; ``reduce`` may be "add" or
    "multiply". Where an index is repeated the last one stays, yet each gets the gradient of the place.

    Args:
        dim: the dimension in which ``index`` counts.
        index: int64 or int32, of as many dimensions as ``input``, and no longer than it in the others.
        src, value: a tensor at least as large as ``index``, of the dtype of ``input``; or a number.

    Raises:
        RuntimeError: an index out of range; shapes or dtypes that don't match.
        TypeError: ``src`` is neither a tensor nor a number.

    >>> torch.scatter(torch.zeros(2, 3), 1, torch.tensor([[0], [2]]), 5.0)
    tensor([[5., 0., 0.],
            [0., 0., 5.]])
    """
    src = value if src is UNSET else src
    if not isinstance(src, Tensor) and not is_number(src):
        given = [argument for argument in (dim, index, src) if argument is not UNSET]
        raise no_overload("scatter", given, _SCATTER_OVERLOADS)
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    tensor = src if isinstance(src, Tensor) else None
    if reduce is not None and tensor is not None:
        warn_once(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
            "PyTorch release. Use torch.scatter_reduce instead for more reduction options."
        )
    axis = _check_scatter(input, dim, index, tensor)
    if reduce is None and tensor is None:
        return gathering.scatter_number(input, converted(src, input.dtype), index, axis=axis)
    if tensor is None:
        tensor = expanded(_number_like(src, input), tuple(index.shape))
    operator = {None: gathering.scatter, "add": gathering.scatter_add, "multiply": gathering.scatter_prod}[reduce]
    result = operator(input, index, _part(tensor, index), axis=axis)
    return result if reduce is None else underivable(renamed(result, NO_DERIVATIVE), "aten::scatter")


_SCATTER_OVERLOADS = (
    "int dim, Tensor index, Tensor src",
    "int dim, Tensor index, Tensor src, *, str reduce",
    "int dim, Tensor index, Number value",
    "int dim, Tensor index, Number value, *, str reduce",
)


def _number_like(value: Any, like: Tensor) -> Tensor:
    """A number as a 0-dim tensor of the dtype of another tensor."""
    array = np.asarray(converted(value, like.dtype), like.dtype.numpy)
    return fresh(from_host(array, like.device), Spec.of((), like.dtype, like.device))


@public("torch", "Tensor", in_place=InPlace(apart="strictly", captured="scatter_add_"), out=Out(EXPECTED))
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """``input`` with every element of ``src`` added where ``gather`` would read.

    Args:
        dim: the dimension in which ``index`` counts.
        index: int64 or int32, of as many dimensions as ``input``, and no larger than ``src``.

    Raises:
        RuntimeError: an index out of range; shapes or dtypes that don't match.

    >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([0, 2, 0]), torch.ones(3))
    tensor([2., 0., 1.])
    """
    axis = _check_scatter(input, dim, index, src)
    return gathering.scatter_add(input, index, _part(src, index), axis=axis)


_REDUCTIONS: dict[str, Operator] = {
    "sum": gathering.scatter_sum, "prod": gathering.scatter_prod, "mean": gathering.scatter_mean,
    "amax": gathering.scatter_amax, "amin": gathering.scatter_amin,
}  # fmt: skip


_NOT_REDUCED = {"mean": (BOOL,), "amax": (COMPLEX,), "amin": (COMPLEX,)}
"""The categories of dtypes that PyTorch doesn't reduce."""


@public(
    "torch", "Tensor", out=Out(EXPECTED),
    in_place=InPlace(apart="strictly", captured="scatter_reduce_", overloads=lambda *args, **kwargs: "two"),
)  # fmt: skip
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``input`` reduced ("sum", "prod", "mean", "amax", "amin") with all elements of ``src`` that go to a place.

    Without ``include_self`` what ``input`` held there does not count. Gradients of equal extrema are shared evenly.

    Args:
        dim: the dimension in which ``index`` counts.
        index: int64 or int32, of as many dimensions as ``input``, and no larger than ``src``.
        reduce: how elements that meet become one.

    Raises:
        RuntimeError: an index out of range; shapes or dtypes that don't match; an unknown reduction.

    >>> torch.scatter_reduce(torch.zeros(2), 0, torch.tensor([0, 1, 1]), torch.tensor([1.0, 2.0, 3.0]), "amax")
    tensor([1., 3.])
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    axis = _check_scatter(input, dim, index, src)
    if input.dtype.category in _NOT_REDUCED.get(reduce, ()):
        raise unsupported(f"scatter_gather_tensor_cpu_reduce_{reduce}", input.dtype)
    return _reduced(input, index, _part(src, index), axis, reduce, bool(include_self))


def _reduced(input: Tensor, index: Tensor, src: Tensor, axis: int, reduce: str, include_self: bool) -> Tensor:
    """``scatter_reduce`` of arguments that fit."""
    return _REDUCTIONS[reduce](input, index, src, axis=axis, include_self=include_self)


@public("torch", "Tensor", out=Out(EXPECTED, called="gather", apart=True))
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """``gather`` with the other dimensions broadcast; without ``dim``, from all elements in a row.

    Raises:
        IndexError: no dimension.
        RuntimeError: ``indices`` are not int64, or have another number of dimensions.
    """
    if dim is not None and input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    if indices.dtype is not int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.scalar_name}"
        )
    if dim is None:
        return gather(ravel(input), 0, ravel(indices))
    axis = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    length = _length(input, axis)
    open_shapes = [[1 if d == axis else n for d, n in enumerate(tensor.shape)] for tensor in (input, indices)]
    common = broadcast_shapes([tuple(shape) for shape in open_shapes])
    targets = [
        tuple(tensor.shape[d] if d == axis else n for d, n in enumerate(common)) for tensor in (input, indices)
    ]
    input, indices = (
        tensor if tensor.shape == target else expanded(tensor, target)
        for tensor, target in zip((input, indices), targets, strict=True)
    )
    return gathering.gather(input, remainder(indices, max(length, 1)), axis=axis)


# -- whole slices ------------------------------------------------------------------------------------------------------


@public("torch", "Tensor", out=Out("index_select(): self and result must have the same scalar type", apart=True))
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of a dimension that a vector of indices names.

    Args:
        dim: the dimension, which is as long as ``index`` in the result.

    Raises:
        IndexError: an index out of range, or no vector.
        RuntimeError: ``index`` is not of int32 or int64.

    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([1, 1]))
    tensor([[2, 2],
            [4, 4]])
    """
    axis = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.dtype not in (int64, int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if input.ndim == 0 and index._spec.numel != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {index._spec.numel} value(s)"
        )
    length = _length(input, axis)
    if input.ndim > 1 and not input._spec.numel and index._spec.numel:
        if not length:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        refuse_elements(index, outside, 0, length, complaint=lambda found: RuntimeError(
            f"INDICES element is out of DATA bounds, id={found.number} axis_dim={length}"
        ))  # fmt: skip
    what = "index out of range in self"
    refuse_elements(index, outside, 0, length, complaint=lambda _: IndexError(what))
    return gathering.index_select(input, index, axis=axis)


def _check_slices(name: str, input: Tensor, index: Tensor, source: Tensor, axis: int) -> None:
    """Check the source of ``index_add``."""
    if index.ndim > 1:
        raise IndexError(
            f"{name}_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{index.dtype.scalar_name} and size: {list(index.shape)}"
        )
    if index.dtype not in (int64, int32):
        raise RuntimeError(f"{name}_(): Expected dtype int32/int64 for index but got: {index.dtype.scalar_name}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}_(): self ({input.dtype.scalar_name}) and source ({source.dtype.scalar_name}) must have the same "
            "scalar type"
        )
    count = _length(source, axis) if axis < source.ndim else 1
    if index._spec.numel != count:
        raise RuntimeError(
            f"{name}_(): Number of indices ({index._spec.numel}) should be equal to source.size(dim): ({count}), "
            f"for dim: {axis}"
        )
    if input._spec.shape != source._spec.shape and _without(input, axis) != _without(source, axis):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input.shape)} source.shape = {list(source.shape)}"
        )


def _without(x: Tensor, axis: int) -> tuple[int, ...]:
    shape = tuple(x._spec.shape)
    return shape[:axis] + shape[axis + 1 :]


_INDEXED = Out(EXPECTED, apart="but the first")


@public("torch", "Tensor", in_place=InPlace(apart="strictly", captured="index_add_"), out=_INDEXED)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """``input`` with ``alpha`` times the slices of ``source`` added where ``index_select`` would read.

    Args:
        dim: the dimension in which ``index`` counts.
        index: a vector of int64 or int32, as long as ``source`` in ``dim``.

    Raises:
        IndexError, RuntimeError: an index out of range; shapes or dtypes that don't match.

    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 0]), torch.ones(2), alpha=2)
    tensor([4., 0., 0.])
    """
    axis = wrap_dim(dim, input.ndim)
    _check_slices("index_add", input, index, source, axis)
    check_range(index, axis, _length(input, axis))
    if alpha != 1:
        return gathering.index_add_scaled(input, index, source, converted(alpha, source.dtype), axis=axis)
    return gathering.index_add(input, index, source, axis=axis)


@public("torch", "Tensor", in_place=InPlace(apart="strictly"), out=_INDEXED)
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``input`` reduced ("prod", "mean", "amax", "amin") with the slices of ``source`` that go where ``index_select``
    would read. Without ``include_self`` what ``input`` held there does not count.

    Args:
        dim: the dimension in which ``index`` counts.
        index: a vector of int64 or int32, as long as ``source`` in ``dim``.
        reduce: how elements that meet become one.

    Raises:
        IndexError, RuntimeError: an index out of range; shapes or dtypes that don't match; an unknown reduction.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.index_reduce(torch.ones(2), 0, torch.tensor([1, 1]), torch.tensor([2.0, 3.0]), "prod")
    tensor([1., 6.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    axis = wrap_dim(dim, input.ndim)
    _check_slices("index_reduce", input, index, source, axis)
    warn_once("index_reduce() is in beta and the API may change at any time.")
    if input.dtype.category in ((BOOL, COMPLEX) if input.ndim < 2 else _NOT_REDUCED.get(reduce, ())):
        kernel = {"mean": "div_floor_cpu", "amax": "maximum_cpu", "amin": "minimum_cpu"}
        raise unsupported("index_func_" if input.ndim < 2 else kernel[reduce], input.dtype)
    if input.ndim > 1 and not include_self and input.dtype.category in (BOOL, COMPLEX):
        raise unsupported("index_reduce_func_exclude_input_init", input.dtype)
    what = "index out of range in self"
    refuse_elements(index, outside, 0, _length(input, axis), complaint=lambda _: IndexError(what))
    column = reshaped(index, tuple(-1 if d == axis else 1 for d in range(input.ndim)))
    each = expanded(column, tuple(source.shape)) if input.ndim else column
    _check_scatter(input, axis, each, source)
    source = _part(source, each)
    if reduce == "prod":
        return gathering.index_prod(input, index, source, axis=axis, include_self=bool(include_self))
    return renamed(_reduced(input, each, source, axis, reduce, bool(include_self)), "IndexReduceBackward0")


@public("torch", "Tensor", in_place=InPlace(apart="strictly"), out=_INDEXED)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """``input`` with slices of ``source`` where ``index_select`` would read.

    Args:
        dim: the dimension in which ``index`` counts.
        index: a vector of int64, as long as ``source`` in ``dim``.

    Raises:
        IndexError, RuntimeError: an index out of range; shapes or dtypes that don't match.

    >>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 2.0]))
    tensor([2., 0., 1.])
    """
    axis = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if index.dtype is not int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {index.dtype.scalar_name}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{input.dtype.scalar_name} and (source) {source.dtype.scalar_name}"
        )
    _check_copied(input, index, source, axis)
    length = _length(input, axis)
    refuse_elements(
        index, outside, 0, length,
        complaint=lambda found: IndexError(
            f"index_copy_(): index {found.number} is out of bounds for dimension {axis} with size {length}"
        ),
    )  # fmt: skip
    return gathering.index_copy(input, index, source, axis=axis)


def _check_copied(input: Tensor, index: Tensor, source: Tensor, axis: int) -> None:
    if source.ndim != input.ndim and source.ndim and input.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({input.ndim})"
        )
    mine, given = _without(input, axis), _without(source, axis)
    if mine != given and source.ndim:
        at = next((d for d, (a, b) in enumerate(zip(mine, given, strict=False)) if a != b), 0)
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, mine))} at dimension {at} and source slice shape: {' '.join(map(str, given))} at "
            f"dimension {at}."
        )
    count = _length(source, axis) if axis < source.ndim else 1
    if index._spec.numel != count:
        raise IndexError(
            f"index_copy_(): Number of indices ({index._spec.numel}) should be equal to source.size(dim) ({count})"
        )


def _refuse_shared_index(tensor: Tensor, dim: int, index: Tensor, value: Any) -> None:
    refuse_shared_parts(tensor, (index,), strict=True)


@public(
    "torch", "Tensor",
    in_place=InPlace(overlapping="deprecated", apart=False, first=_refuse_shared_index, captured="index_fill_",
                     overloads=("int_Scalar", "int_Tensor")),
)  # fmt: skip
@not_of_integers
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """``input`` with a number, or a 0-dim tensor, in place of the slices that ``index`` names.

    Args:
        dim: the dimension in which ``index`` counts.

    Raises:
        IndexError: an index out of range.
        RuntimeError: ``value`` has dimensions, or can't be converted.

    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([2, 0]), 1.0)
    tensor([1., 0., 1.])
    """
    axis = wrap_dim(dim, input.ndim)
    if isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if index.dtype is not int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if (value.dtype.category == COMPLEX if isinstance(value, Tensor) else isinstance(value, complex)) and (
        not input.dtype.is_complex
    ):
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    length = _length(input, axis)
    text = f"is out of bounds for dimension {axis} with size {length}"
    refuse_elements(index, outside, -length, length, complaint=lambda found: IndexError(f"index {found.number} {text}"))
    if isinstance(value, Tensor):
        refuse_unfitting(value, input.dtype)
        return gathering.index_fill_tensor(input, index, value, axis=axis)
    return gathering.index_fill(input, index, converted(value, input.dtype), axis=axis)


# -- among all elements in a row ---------------------------------------------------------------------------------------


def _check_places(name: str, index: Tensor) -> None:
    if index.dtype is not int64:
        raise RuntimeError(f"{name}: Expected a long tensor for index, but got {index.dtype.scalar_name}")


def _check_flat(name: str, input: Tensor, index: Tensor) -> None:
    _check_places(name, index)
    count = input._spec.numel
    refuse_elements(
        index, outside, -count, count,
        complaint=lambda found: IndexError(
            f"out of range: tried to access index {found.number} on a tensor of {count} elements."
        ),
    )  # fmt: skip


@public(
    "torch", "Tensor", out=Out(
        "take(): self and out expected to have the same dtype, but got self.dtype = {R} and out.dtype = {O}", apart=True
    ),
)  # fmt: skip
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at places counted in row-major order (negative ones from the end), in the shape of ``index``.

    Raises:
        IndexError: out of range.
    """
    if index._spec.numel and not input._spec.numel:
        raise IndexError("take(): tried to take from an empty tensor")
    _check_flat("take()", input, index)
    return gathering.take(input, index)


@public("torch", "Tensor", in_place=InPlace(apart="strictly"))
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """``input`` with the elements of ``source`` put, or added, at places counted in row-major order.

    Args:
        index: int64, of any shape.
        source: as many elements as ``index``, of the dtype of ``input``.
        accumulate: whether they are added to what is there.

    Raises:
        IndexError: out of range, or another number of elements.

    >>> torch.put(torch.zeros(2, 2), torch.tensor([3, 0]), torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 1.]])
    """
    _check_places("put_()", index)
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {input.dtype.scalar_name} "
            f"and source.dtype = {source.dtype.scalar_name}"
        )
    if source._spec.numel != index._spec.numel:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source._spec.numel}, index.numel() = {index._spec.numel}"
        )
    _check_flat("put_()", input, index)
    return gathering.put(input, index, source, accumulate=bool(accumulate))


# -- by masks ----------------------------------------------------------------------------------------------------------


@public("torch", "Tensor", out=Out("masked_select(): self and result must have the same scalar type", apart=True))
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements of ``input`` where ``mask`` is set, in a row; the two are broadcast.

    The mask is read on the host: not under ``jax.jit``.

    Raises:
        RuntimeError: the mask is not boolean, or does not broadcast; it is mapped over by ``vmap``.

    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    if mask.dtype is not bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    refuse_examples(
        "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for "
        "each batch this would return a differently shaped Tensor. Please file an issue at "
        "https://github.com/pytorch/pytorch/issues if you need this feature.",
        mask,
    )
    refuse_meta("masked_select", input, mask)
    shape = broadcast_shapes([mask.shape, input.shape])
    places = np.flatnonzero(np.broadcast_to(on_host(mask), shape))
    return gathering.masked_select(input, numbers(places, input), shape=shape)


def _refuse_larger_mask(tensor: Tensor, mask: Tensor, source: Tensor) -> None:
    if mask.ndim > tensor.ndim:
        raise RuntimeError(
            f"expand(CPUBoolType{{{list(mask.shape)}}}, size={list(tensor.shape)}): the number of sizes provided "
            f"({tensor.ndim}) must be greater or equal to the number of dimensions in the tensor ({mask.ndim})"
        )


@public("torch", "Tensor", in_place=InPlace(apart=False, first=_refuse_larger_mask))
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """``input`` with the first elements of ``source`` where ``mask`` is set, in row-major order.

    Raises:
        RuntimeError: ``source`` has too few elements or another dtype.
    """
    if source.dtype is not input.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{input.dtype.scalar_name} and {source.dtype.scalar_name}"
        )
    if mask.dtype.name == "uint8":
        warn(
            "masked_scatter_ received a mask with dtype torch.uint8, this behavior is now deprecated,please use a mask "
            "with dtype torch.bool instead."
        )
    if mask.dtype is not bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.scalar_name}"
        )
    shape = broadcast_shapes([input.shape, mask.shape])
    suspect = source._spec.numel < np.prod(shape, dtype=int) and mask.device is not META
    if suspect and any(
        np.count_nonzero(np.broadcast_to(example, shape)) > source._spec.numel for example in examples_on_host(mask)
    ):
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return gathering.masked_scatter(input, mask, source)


# -- by indices that may be out of range where a mask is not set -------------------------------------------------------


def _check_masked_index(x: Tensor, indices: Any) -> None:
    for position, index in enumerate(indices):
        if not isinstance(index, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 2, but got {type(index).__name__}")
        if index.dtype not in (int64, int32):
            raise RuntimeError(f"_unsafe_masked_index found unexpected index type {index.dtype.scalar_name}")
    if len(indices) > x.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.ndim} (got {len(indices)})")


@public("torch")
def _unsafe_masked_index(self: Tensor, mask: Tensor, indices: Any, fill: Any) -> Tensor:
    """``self[indices]`` where ``mask`` is set, ``fill`` elsewhere; there, indices may be out of range."""
    _check_masked_index(self, indices)
    places = broadcast_shapes([tuple(index.shape) for index in indices])
    if self._spec.numel:
        broadcast_shapes([tuple(mask.shape), (*places, *self.shape[len(indices) :])])
    return gathering.unsafe_masked_index(self, _as_mask(mask), converted(fill, self.dtype), *indices)


@public("torch")
def _unsafe_masked_index_put_accumulate(self: Tensor, mask: Tensor, indices: Any, values: Tensor) -> Tensor:
    """``self`` with ``values`` added at ``indices`` where ``mask`` is set; elsewhere, indices may be out of range."""
    _check_masked_index(self, indices)
    if not self._spec.numel:
        return shape_ops.clone(self)
    if values.dtype is not self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{self.dtype.scalar_name} for the destination and {values.dtype.scalar_name} for the source."
        )
    written = broadcast_shapes([tuple(mask.shape), tuple(values.shape)])
    places = (*broadcast_shapes([tuple(index.shape) for index in indices]), *self.shape[len(indices) :])
    short = len(written) > len(places) or any(n not in (1, m) for n, m in zip(written[::-1], places[::-1]))  # noqa: B905
    if short:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(written)} cannot be broadcast to indexing result of shape "
            f"{list(places)}"
        )
    return gathering.unsafe_masked_index_put_accumulate(self, _as_mask(mask), values, *indices)


def _as_mask(mask: Tensor) -> Tensor:
    return mask if mask.dtype is bool_ else cast(mask, dtype=bool_)


# -- made from indices -------------------------------------------------------------------------------------------------


@public("nn.functional", native=True)
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 zeros with a one at each class, along a new last dimension as long as there are classes.

    ``tensor`` holds the classes, int64 of any shape, and ``num_classes`` says how many there are (-1: one more than the
    greatest).

    Raises:
        RuntimeError: classes that are not int64, negative, or too large.

    >>> torch.nn.functional.one_hot(torch.tensor([2, 0]))
    tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    if tensor.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not tensor._spec.numel:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return gathering.one_hot(tensor, num_classes=num_classes)
    if num_classes == -1:
        refuse_examples(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.",
            tensor,
        )
        refuse_number(tensor)
        num_classes = max(int(on_host(tensor).max()) + 1, 1)
    refuse_elements(tensor, negative, complaint=lambda _: RuntimeError("Class values must be non-negative."))
    what = "Class values must be smaller than num_classes."
    refuse_elements(tensor, outside, 0, num_classes, complaint=lambda _: RuntimeError(what))
    return gathering.one_hot(tensor, num_classes=num_classes)


@public("torch")
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Every item of a dimension (of all elements in a row without ``dim``) several times in succession.

    ``repeats`` is a number, or a vector with one for each item. Given only that vector: the indices that repeat so.

    Args:
        output_size: the length of the result, which spares the sum of ``repeats``.

    Raises:
        RuntimeError: numbers that are negative, or not as many as there are items.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([2, 1]))
    tensor([1, 1, 2])
    """
    if repeats is None:
        return _repeated_places(input, output_size)
    return _repeat_interleave(input, repeats, dim, output_size)


@public("Tensor", name="repeat_interleave")
def repeat_interleave_method(
    self: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """``torch.repeat_interleave``."""
    return _repeat_interleave(self, repeats, dim, output_size)


def _repeat_interleave(input: Tensor, repeats: Any, dim: int | None, output_size: int | None) -> Tensor:
    if not isinstance(repeats, Tensor):
        if isinstance(repeats, Sequence):
            repeats = numbers(np.asarray(repeats), input)
        else:
            return repeat_each(input, repeats, dim)
    if dim is None:
        input, dim = ravel(input), 0
    axis = wrap_dim(dim, input.ndim)
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if repeats._spec.numel == 1:
        repeats = expanded(ravel(repeats), (_length(input, axis),))
    if repeats._spec.numel != _length(input, axis):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats._spec.numel} and input.size({axis}) = {_length(input, axis)}"
        )
    return gathering.index_select(input, _repeated_places(repeats, output_size), axis=axis)


def _repeated_places(repeats: Tensor, output_size: int | None) -> Tensor:
    if repeats.dtype not in (int64, int32):
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{repeats.dtype.scalar_name}'")
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")

    if repeats.device is META:
        if output_size is None:
            raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
        return repeats.new_zeros(output_size)

    def places_of(counts: np.ndarray) -> np.ndarray:
        if counts.size and counts.min() < 0:
            raise RuntimeError("repeats can not be negative")
        check_size((int(counts.sum(dtype=object)),), int64.itemsize)
        places = np.repeat(np.arange(counts.size, dtype=np.int64), counts)
        if output_size is not None and output_size != places.size:
            raise RuntimeError("allocated size does not match required size")
        return places

    return for_each_example(places_of, repeats)

"""PyTorch's reductions: sums, means, extrema, counts, statistics, norms, softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tapegrad._src.bindings import return_types
from tapegrad._src.bindings.arguments import not_implemented, shape_of_arguments, wrap_dim, wrap_dims
from tapegrad._src.bindings.declaration.declarations import EXPECTED, IN_TARGETS_DTYPE, Computes, Out
from tapegrad._src.bindings.declaration.registry import UNSET, public
from tapegrad._src.bindings.declaration.scalars import common_dtype
from tapegrad._src.execution.data import dtypes
from tapegrad._src.execution.data.dtypes import COMPLEX, FLOATING, dtype
from tapegrad._src.execution.data.promotion import warn_of_cast
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.ops import arithmetic, comparison, reductions, selection, sorting
from tapegrad.ops import shape as shape_ops

# -- checks ------------------------------------------------------------------------------------------------------------


def invalid(name: str, *arguments: Any) -> TypeError:
    """PyTorch's complaint about arguments that fit none of a function's signatures."""
    given = ", ".join(type(argument).__name__ for argument in arguments)
    return TypeError(f"{name}() received an invalid combination of arguments - got ({given})")


def check_flag(name: str, argument: str, value: Any) -> None:
    """Refuse anything but a bool. Raises TypeError: naming the argument."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}(): argument '{argument}' must be bool, not {type(value).__name__}")


def check_dtype(name: str, value: Any) -> None:
    """Refuse anything but a dtype or None. Raises TypeError: naming the argument."""
    if value is not None and not isinstance(value, dtype):
        raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(value).__name__}")


def one_dim(name: str, dim: Any, ndim: int) -> int:
    """A single dimension as a non-negative number. Raises TypeError: not an int. IndexError: out of range."""
    if type(dim) is not int and (isinstance(dim, (bool, float, str, tuple, list)) or dim is None):
        raise TypeError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    return wrap_dim(dim, ndim)


def several_dims(name: str, dim: Any, ndim: int) -> tuple[int, ...]:
    """One or more dimensions as non-negative numbers; None or none stands for all.

    Raises:
        TypeError: neither an int nor ints.
        IndexError: out of range.
        RuntimeError: a dimension twice.
    """
    if isinstance(dim, (bool, float, str)):
        raise invalid(name, dim)
    return wrap_dims(dim, ndim)


def refuse_complex(kernel: str, input: Tensor) -> None:
    """Refuse a complex tensor as PyTorch's CPU kernels do. Raises NotImplementedError: naming the kernel."""
    if input.dtype.is_complex:
        raise not_implemented(kernel, input.dtype)


def check_nonempty(name: str, input: Tensor, axes: Sequence[int], prefix: str = "(): ") -> None:
    """Refuse to look for an extremum along a dimension of length 0. Raises IndexError: naming the dimension."""
    for axis in axes if input.ndim else ():
        if input.shape[axis] == 0:
            raise IndexError(f"{name}{prefix}Expected reduction dim {axis} to have non-zero size.")


def check_differentiable_dtype(input: Tensor, wanted: dtype | None) -> None:
    """Refuse to sum what requires grad in a type that can't, and warn of complex numbers that become real.
    Raises RuntimeError: PyTorch's message.
    """
    warn_of_cast(input.dtype, wanted)
    if wanted is not None and wanted.category < FLOATING and input._spec.requires_grad and thread.modes.grad:
        raise RuntimeError(f"Autograd not support dtype: {wanted.scalar_name}")


# -- sums and means ----------------------------------------------------------------------------------------------------


@public("torch", "Tensor", out=IN_TARGETS_DTYPE, is_settled=True)
def sum(input: Tensor, dim: Any = UNSET, keepdim: bool = UNSET, *, dtype: dtype | None = None) -> Tensor:
    """The sum of all elements, or over ``dim`` (an int, ints, or None or () for all).

    Booleans and integers are summed in int64, unless ``dtype`` says otherwise; with ``dtype`` elements are cast first.

    Args:
        dim: an int, or ints; None, () or nothing stands for all dimensions.
        dtype: what the elements are cast to first, and the result is.

    Raises:
        TypeError: ``keepdim`` without ``dim``, or an argument of a type that does not fit.
        IndexError: ``dim`` is out of range.
        RuntimeError: a dimension twice; an integral ``dtype`` where ``input`` requires grad.

    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).sum(0)
    tensor([4., 6.])
    """
    check_dtype("sum", dtype)
    check_differentiable_dtype(input, dtype)
    if dim is UNSET:
        if keepdim is not UNSET:
            raise invalid("sum", keepdim)
        return reductions.sum_all(input) if dtype is None else reductions.sum_all(input, dtype=dtype)
    keepdim = False if keepdim is UNSET else keepdim
    check_flag("sum", "keepdim", keepdim)
    return reductions.sum(input, axis=several_dims("sum", dim, input.ndim), keepdims=keepdim, dtype=dtype)


@public("Tensor")
def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The sum over those dimensions in which a tensor of this size would have to be expanded; ``self`` if in none.

    Raises:
        RuntimeError: a tensor of this size can't be expanded to that of ``self``.

    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    if not size:
        raise TypeError('sum_to_size() missing 1 required positional arguments: "size"')
    sizes, shape = shape_of_arguments(size), tuple(self.shape)
    extra = len(shape) - len(sizes)
    if extra < 0 or [n for n, m in zip(sizes, shape[extra:], strict=True) if n not in (1, m)]:
        raise RuntimeError(f"size {{{list(sizes)}}} is not expandable to size {{{list(shape)}}}.")
    if not sizes:
        return reductions.sum_all(self)
    axes = (*range(extra), *(extra + axis for axis, n in enumerate(sizes) if n == 1 and shape[extra + axis] != 1))
    result = reductions.sum(self, axis=axes, keepdims=True, dtype=None) if axes else self
    return shape_ops.view(result, shape=sizes) if extra else result


def check_mean_dtype(name: str, input: Tensor, wanted: dtype | None) -> None:
    """Refuse a mean of integers, or in integers; warn of one of complex numbers in real ones.
    Raises RuntimeError: PyTorch's message.
    """
    warn_of_cast(input.dtype, wanted)
    which, found = ("Input", input.dtype) if wanted is None else ("Optional", wanted)
    if found.category < FLOATING:
        raise RuntimeError(
            f"{name}(): could not infer output dtype. {which} dtype must be either a floating point or complex dtype. "
            f"Got: {found.scalar_name}"
        )


def _not_of_mean(arguments: tuple, target: dtype) -> str | None:
    """The message about a target of integers, if the mean is that of all elements."""
    return "mean.dtype_out(): input types can't be cast to the desired output type {O}" if len(arguments) == 1 else None


@public("torch", "Tensor", out=Out(cast=_not_of_mean, computes=Computes(FLOATING)), is_settled=True)
def mean(input: Tensor, dim: Any = UNSET, keepdim: bool = UNSET, *, dtype: dtype | None = None) -> Tensor:
    """The arithmetic mean of all elements, or over ``dim``; of nothing, nan.

    Args:
        dim: an int, or ints; None, () or nothing stands for all dimensions.

    Raises:
        RuntimeError: integers, without a floating ``dtype``.

    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(1, keepdim=True)
    tensor([[1.5000],
            [3.5000]])
    """
    check_dtype("mean", dtype)
    check_mean_dtype("mean", input, dtype)
    if dim is UNSET:
        if keepdim is not UNSET:
            raise invalid("mean", keepdim)
        return reductions.mean_all(input) if dtype is None else reductions.mean_all(input, dtype=dtype)
    keepdim = False if keepdim is UNSET else keepdim
    check_flag("mean", "keepdim", keepdim)
    return reductions.mean(input, axis=several_dims("mean", dim, input.ndim), keepdims=keepdim, dtype=dtype)


@public("torch", "Tensor", out=Out(EXPECTED, computes=Computes(FLOATING, "nansum_cpu", real=True)))
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The sum over ``dim`` (or of all) of the elements that are not nan.

    Raises:
        RuntimeError: complex elements.

    >>> torch.nansum(torch.tensor([1.0, torch.nan, 2.0]))
    tensor(3.)
    """
    if input.dtype.is_complex:
        raise RuntimeError("nansum on CPU does not support complex inputs")
    check_dtype("nansum", dtype)
    return reductions.nansum(input, axis=several_dims("nansum", dim, input.ndim), keepdims=keepdim, dtype=dtype)


@public("torch", "Tensor", out=Out(computes=Computes(FLOATING, "nansum_cpu", real=True), called="nansum"))
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The mean over ``dim`` (or of all) of the elements that are not nan.

    Raises:
        RuntimeError: integers, or complex elements.

    >>> torch.nanmean(torch.tensor([1.0, torch.nan, 2.0]))
    tensor(1.5000)
    """
    if input.dtype.category < FLOATING:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.scalar_name}"
        )
    total = nansum(input, dim, keepdim, dtype=dtype)
    axes = several_dims("nanmean", dim, input.ndim)
    return arithmetic.div(total, reductions.sum(comparison.eq(input, input), axis=axes, keepdims=keepdim))


@public("torch", "Tensor")
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Count the elements that are not zero, of all or over ``dim``; int64."""
    return reductions.count_nonzero(input, axis=several_dims("count_nonzero", dim, input.ndim))


@public("torch", "Tensor")
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix.

    Raises:
        RuntimeError: not a matrix.
        NotImplementedError: booleans.
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype is dtypes.bool:
        raise not_implemented("trace", input.dtype)
    return reductions.trace(input)


# -- truth -------------------------------------------------------------------------------------------------------------


def _truth(name: str, operator: Callable, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    check_flag(name, "keepdim", keepdim)
    none = isinstance(dim, (tuple, list)) and not dim
    return operator(input, axis=() if none else several_dims(name, dim, input.ndim), keepdims=keepdim)


def _no_truth(name: str, arguments: tuple, target: dtype) -> str | None:
    return None if target in (dtypes.bool, dtypes.uint8) else f"{name} only supports bool tensor for result, got: {{O}}"


@public("torch", "Tensor", out=Out(partial(_no_truth, "all"), history="none"), is_settled=True)
def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Tell whether all elements, or all over ``dim``, are nonzero: bool, but uint8 of uint8. ``dim=()`` reduces
    nothing.

    >>> torch.all(torch.tensor([[True, True], [True, False]]), 1)
    tensor([ True, False])
    """
    return _truth("all", reductions.all, input, dim, keepdim)


@public("torch", "Tensor", in_place=False, out=False, native=True)
def _is_all_true(input: Tensor) -> Tensor:
    """Tell whether all elements of booleans are true, as a tensor."""
    return input.all()


@public("torch", "Tensor", in_place=False, out=False, native=True)
def _is_any_true(input: Tensor) -> Tensor:
    """Tell whether any element of booleans is true, as a tensor."""
    return input.any()


@public("torch", "Tensor", out=Out(partial(_no_truth, "any"), history="none"), is_settled=True)
def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Tell whether any element, or any over ``dim``, is nonzero: bool, but uint8 of uint8. ``dim=()`` reduces nothing.

    >>> torch.any(torch.tensor([[False, True], [False, False]]), 1)
    tensor([ True, False])
    """
    return _truth("any", reductions.any, input, dim, keepdim)


# -- extrema -----------------------------------------------------------------------------------------------------------


def _of_two(name: str, input: Tensor, other: Tensor) -> Tensor:
    if common_dtype(input, other).is_complex:
        raise RuntimeError(f"{name} not implemented for complex tensors.")
    return (selection.maximum if name == "maximum" else selection.minimum)(input, other)


def _extremum(name: str, input: Tensor, dim: Any, keepdim: Any, other: Any) -> Any:
    """The three forms of ``max`` and ``min``: of all, over one dimension with indices, of two tensors."""
    largest = name == "max"
    if isinstance(dim, Tensor) and keepdim is UNSET and other is UNSET:
        dim, other = UNSET, dim
    if isinstance(other, Tensor) and dim is UNSET and keepdim is UNSET:
        return _of_two("maximum" if largest else "minimum", input, other)
    if other is not UNSET or (dim is UNSET and keepdim is not UNSET):
        raise invalid(name, *[argument for argument in (dim, keepdim, other) if argument is not UNSET])
    if dim is UNSET:
        refuse_complex(f"{name}_all", input)
        check_any_elements(name, input)
        return (reductions.max_all if largest else reductions.min_all)(input)
    if isinstance(dim, (bool, float, str, tuple, list)) or dim is None:
        raise invalid(name, dim)
    axis = wrap_dim(dim, input.ndim)
    check_nonempty(name, input, (axis,))
    if input.dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support complex input")
    keepdim = False if keepdim is UNSET else keepdim
    check_flag(name, "keepdim", keepdim)
    operator, result = (sorting.max, return_types.max) if largest else (sorting.min, return_types.min)
    return result(operator(input, axis=axis, keepdims=keepdim))


def check_any_elements(name: str, input: Tensor) -> None:
    """Refuse to look for an extremum of nothing. Raises RuntimeError: PyTorch's message."""
    if input._spec.numel == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )


_CAN_CAST = (
    "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be true, but got "
    "false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
)
_EXTREME = Out("Expected the dtype for input and out to match, but got {R} for input's dtype and {O} for out's dtype.")


def _of_extremum(arguments: tuple, target: dtype) -> str | None:
    """The message about a target that the extremum of one tensor can't be cast to."""
    return None if len(arguments) > 1 and isinstance(arguments[1], Tensor) else _CAN_CAST


@public("torch", "Tensor", out=Out(cast=_of_extremum), is_settled=True)
def max(input: Tensor, dim: Any = UNSET, keepdim: bool = UNSET, *, other: Any = UNSET) -> Any:
    """The largest element; with ``dim``, a named tuple of the largest ``values`` and their ``indices`` over it; with
    another tensor, ``maximum``.

    nan is larger than everything. Among equal elements ``indices`` has the first, which gets the gradient; the largest
    of all shares it among equals.

    Args:
        dim: the dimension to look along; in its place another tensor, which may be given as ``other``, too.

    Raises:
        RuntimeError: no elements, and no ``dim``.
        IndexError: ``dim`` has length 0.

    >>> values, indices = torch.tensor([[1.0, 5.0], [7.0, 2.0]]).max(1)
    >>> values, indices
    (tensor([5., 7.]), tensor([1, 0]))
    """
    return _extremum("max", input, dim, keepdim, other)


@public("torch", "Tensor", out=Out(cast=_of_extremum), is_settled=True)
def min(input: Tensor, dim: Any = UNSET, keepdim: bool = UNSET, *, other: Any = UNSET) -> Any:
    """The smallest element, or those over ``dim``, or ``minimum``: see ``max``.

    Args:
        dim: the dimension to look along; in its place another tensor, which may be given as ``other``, too.

    >>> torch.tensor([3.0, 1.0, 1.0]).min(0).indices
    tensor(1)
    """
    return _extremum("min", input, dim, keepdim, other)


def _extreme_values(name: str, kernel: str, operator: Callable, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    axes = several_dims(name, dim, input.ndim)
    if input._spec.numel == 0 and (dim is None or dim == ()):
        check_any_elements(name, input)
    check_nonempty(name, input, axes)
    refuse_complex(kernel, input)
    check_flag(name, "keepdim", keepdim)
    return operator(input, axis=axes, keepdims=keepdim)


@public("torch", "Tensor", out=_EXTREME, is_settled=True)
def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The largest elements over ``dim`` (all if it is empty); equal ones share the gradient.

    Raises:
        IndexError, RuntimeError: nothing to reduce.

    >>> torch.tensor([[1.0, 5.0], [7.0, 2.0]]).amax((0, 1))
    tensor(7.)
    """
    return _extreme_values("amax", "max_values_cpu", reductions.amax, input, dim, keepdim)


@public("torch", "Tensor", out=_EXTREME, is_settled=True)
def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The smallest elements over ``dim`` (all if it is empty); equal ones share the gradient.

    Raises:
        IndexError, RuntimeError: nothing to reduce.

    >>> torch.tensor([[1.0, 5.0], [7.0, 2.0]]).amin(0, keepdim=True)
    tensor([[1., 2.]])
    """
    return _extreme_values("amin", "min_values_cpu", reductions.amin, input, dim, keepdim)


@public("torch", "Tensor")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest elements, of all or over ``dim``: a named tuple ``(min, max)``.

    Raises:
        IndexError, RuntimeError: nothing to reduce.

    >>> tuple(torch.aminmax(torch.tensor([3.0, 1.0, 2.0])))
    (tensor(1.), tensor(3.))
    """
    if dim is None:
        axes: tuple[int, ...] = tuple(range(input.ndim))
        if input._spec.numel == 0:
            raise RuntimeError(
                "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
            )
    else:
        axes = several_dims("aminmax", one_dim("aminmax", dim, input.ndim), input.ndim)
        check_nonempty("aminmax", input, axes, ": ")
    refuse_complex("aminmax_cpu", input)
    return return_types.aminmax(reductions.aminmax(input, axis=axes, keepdims=keepdim))


def _position(name: str, operator: Callable, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    if input.dtype.is_complex or input.dtype is dtypes.bool:
        raise RuntimeError(f"{name}(): does not support {'complex' if input.dtype.is_complex else 'bool'} input")
    axis = None if dim is None else one_dim(name, dim, input.ndim)
    if axis is not None:
        check_nonempty(name, input, (axis,))
    elif input._spec.numel == 0:
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    return operator(input, axis=axis, keepdims=keepdim)


@public("torch", "Tensor", out=Out(EXPECTED, history="none"), is_settled=True)
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the first largest element over ``dim``, or in the flattened tensor; nan is the largest.

    Raises:
        IndexError: nothing to reduce.
        RuntimeError: bool or complex elements.

    >>> torch.tensor([[1.0, 5.0], [7.0, 2.0]]).argmax(1)
    tensor([1, 0])
    """
    return _position("argmax", reductions.argmax, input, dim, keepdim)


@public("torch", "Tensor", out=Out(EXPECTED, history="none"), is_settled=True)
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the first smallest element over ``dim``, or in the flattened tensor; nan is the smallest.

    Raises:
        IndexError: nothing to reduce.
        RuntimeError: bool or complex elements.

    >>> torch.tensor([[1.0, 5.0], [7.0, 2.0]]).argmin()
    tensor(0)
    """
    return _position("argmin", reductions.argmin, input, dim, keepdim)


# -- variance ----------------------------------------------------------------------------------------------------------


def _spread(
    name: str, operator: Callable, input: Tensor, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> Any:
    """The common forms of ``std``, ``var`` and the two with means."""
    if isinstance(dim, bool):
        if unbiased is not UNSET or correction is not UNSET:
            raise invalid(name, dim, unbiased)
        dim, unbiased = None, dim
    if unbiased is not UNSET and correction is not UNSET:
        raise invalid(name, dim, unbiased, correction)
    if unbiased is not UNSET:
        check_flag(name, "unbiased", unbiased)
        correction = int(unbiased)
    correction = 1 if correction is UNSET or correction is None else correction
    if input.dtype.category < FLOATING:
        what = "std and var" if name in ("std", "var") else name
        raise RuntimeError(f"{what} only support floating point and complex dtypes")
    axes = several_dims(name, dim, input.ndim)
    warn_of_freedom(name, input, axes, correction)
    return operator(input, axis=axes, keepdims=keepdim, correction=correction)


def warn_of_freedom(name: str, input: Tensor, axes: tuple[int, ...], correction: float) -> None:
    """Warn, as PyTorch does, when a variance has no degrees of freedom."""
    count = reductions.length(input.shape, axes) if input._spec.numel else 0
    if count - correction <= 0:
        warn(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor "
            "(input numel divided by output numel)."
        )


@public("torch", "Tensor")
def std(
    input: Tensor, dim: Any = None, unbiased: bool = UNSET, keepdim: bool = False, *, correction: Any = UNSET
) -> Tensor:
    """The standard deviation, of all or over ``dim``: the root of ``var``. Also ``std(unbiased)``.

    Args:
        dim: an int, or ints; None for all.
        unbiased, correction: what the sum of squares is divided by, as in ``var``.

    Raises:
        RuntimeError: integers.

    >>> torch.std(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return _spread("std", reductions.std, input, dim, unbiased, keepdim, correction)


@public("torch", "Tensor")
def var(
    input: Tensor, dim: Any = None, unbiased: bool = UNSET, keepdim: bool = False, *, correction: Any = UNSET
) -> Tensor:
    """The variance, of all or over ``dim``: squared distances from the mean, summed, over the number of elements less
    ``correction`` (1 unless given; ``unbiased=False`` means 0). Real, also of complex elements. Also ``var(unbiased)``.

    Args:
        dim: an int, or ints; None for all.

    Raises:
        RuntimeError: integers.

    >>> torch.var(torch.tensor([1.0, 2.0, 3.0])), torch.var(torch.tensor([1.0, 2.0, 3.0]), correction=0)
    (tensor(1.), tensor(0.6667))
    """
    return _spread("var", reductions.var, input, dim, unbiased, keepdim, correction)


@public("torch")
def std_mean(
    input: Tensor, dim: Any = None, unbiased: bool = UNSET, keepdim: bool = False, *, correction: Any = UNSET
) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean: see ``std``.

    Args:
        dim: an int, or ints; None for all.
        unbiased, correction: what the sum of squares is divided by, as in ``var``.

    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    return _spread("std_mean", reductions.std_mean, input, dim, unbiased, keepdim, correction)


@public("torch")
def var_mean(
    input: Tensor, dim: Any = None, unbiased: bool = UNSET, keepdim: bool = False, *, correction: Any = UNSET
) -> tuple[Tensor, Tensor]:
    """Variance and mean: see ``var``.

    Args:
        dim: an int, or ints; None for all.
        unbiased, correction: what the sum of squares is divided by, as in ``var``.

    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    return _spread("var_mean", reductions.var_mean, input, dim, unbiased, keepdim, correction)


# -- order statistics --------------------------------------------------------------------------------------------------


def _median(name: str, input: Tensor, dim: Any, keepdim: Any) -> Any:
    if input.dtype.category == COMPLEX or input.dtype is dtypes.bool:
        raise not_implemented("median_cpu" if dim is UNSET else "median_out", input.dtype)
    if dim is UNSET:
        if keepdim is not UNSET:
            raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
        return (reductions.median_all if name == "median" else reductions.nanmedian_all)(input)
    axis = one_dim(name, dim, input.ndim)
    check_nonempty("median", input, (axis,))
    keepdim = False if keepdim is UNSET else keepdim
    operator, result = (
        (sorting.median, return_types.median) if name == "median" else (sorting.nanmedian, return_types.nanmedian)
    )
    return result(operator(input, axis=axis, keepdims=keepdim))


@public("torch", "Tensor")
def median(input: Tensor, dim: int = UNSET, keepdim: bool = UNSET) -> Any:
    """The median of all elements, or over ``dim`` a named tuple of the medians and their ``indices``.

    Of an even number of elements it is the lower one of the two in the middle; nan if there is one.

    Raises:
        NotImplementedError: bool or complex elements.

    >>> torch.median(torch.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    """
    return _median("median", input, dim, keepdim)


@public("torch", "Tensor")
def nanmedian(input: Tensor, dim: int = UNSET, keepdim: bool = UNSET) -> Any:
    """``median`` of the elements that are not nan.

    Args:
        dim: the dimension to reduce; without it, the median of all elements.

    >>> torch.nanmedian(torch.tensor([4.0, torch.nan, 3.0]))
    tensor(3.)
    """
    return _median("nanmedian", input, dim, keepdim)

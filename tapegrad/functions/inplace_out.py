"""``out=``: writing a result into a tensor that is given.

Note [Results written into tensors]
A function called with ``out=`` computes its result without recording it, and writes that into the tensor, which gets the
result's shape if it has another one. A result may be written to a tensor of another dtype if it can be cast to that, as in
place; many of PyTorch's functions want just the dtype of the result (``EXACT`` has their words), and some compute in
that of the tensor (``COMPUTED_IN``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad.execution.dtypes import BOOL, COMPLEX, FLOATING, dtype
from tapegrad.execution.promotion import can_cast
from tapegrad.functions import return_types
from tapegrad.functions.inplace import become, refuse_in_place
from tapegrad.functions.inplace_rules import refuse_shared_parts
from tapegrad.functions.registry import out_writers
from tapegrad.functions.scalars import unsupported
from tapegrad.ops.checks import cpp_name
from tapegrad.tape.modes import switched, thread
from tapegrad.tensor.geometry import Geometry, contiguous_strides, extent
from tapegrad.tensor.placing import nbytes_of, place, resize_memory
from tapegrad.tensor.tensor import Tensor, storage_of


def write_out(name: str, function: Callable, target: Any, args: tuple, kwargs: dict) -> Any:
    """Call a function and write what it gives into ``target``, which is returned: a tensor, or several.

    See Note [Results written into tensors].

    Raises:
        RuntimeError: an argument requires grad; the result can't be cast to the target's dtype.
        TypeError: there are more or fewer targets than results.
    """
    targets = _targets(name, target)
    if thread.modes.grad and any(tensor.requires_grad for tensor in _tensors((*targets, *args, *kwargs.values()))):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    with switched(grad=False):
        result = function(*args, **_computed_in(name, targets[0].dtype, kwargs))
        results = result if isinstance(result, tuple) else (result,)
        _check_count(name, target, targets, result)
        for one, given in zip(results, targets, strict=True):
            _check_dtype(name, one.dtype, given.dtype, (*args, *kwargs.values()), several=len(results) > 1)
        for one, given in zip(results, targets, strict=True):
            _write(one, given, (*args, *kwargs.values()))
    return return_types.OUT.get(type(result), tuple)(targets) if isinstance(result, tuple) else target


out_writers.append(write_out)


def _targets(name: str, target: Any) -> Sequence[Tensor]:
    targets = target if isinstance(target, (tuple, list)) else (target,)
    for one in targets:
        if not isinstance(one, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(one).__name__}")
    return targets


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        found.extend(_tensors(value) if isinstance(value, (tuple, list)) else [value] if isinstance(value, Tensor) else [])
    return found


def _check_count(name: str, target: Any, targets: Sequence[Tensor], result: Any) -> None:
    if isinstance(target, Tensor):
        if isinstance(result, tuple):
            raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(target).__name__}")
    elif not isinstance(result, tuple):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    elif len(targets) != len(result):
        raise TypeError(f"expected tuple of {len(result)} elements but got {len(targets)}")


def _write(result: Tensor, target: Tensor, operands: tuple) -> None:
    if result.shape != target.shape:
        _resize(target, tuple(result.shape))
    refuse_in_place(target)
    if target._storage is not None:
        refuse_shared_parts(target, operands)
    become(target, result)


def _resize(target: Tensor, shape: tuple[int, ...]) -> None:
    """Give a target the shape of the result; its memory is made larger if need be. That is part of the write."""
    if target._spec.numel:
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does not "
            f"match the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            stacklevel=6,
        )
    spot, storage = Geometry(shape, contiguous_strides(shape), target._offset), storage_of(target)
    if extent(spot) * target.dtype.itemsize > nbytes_of(storage):
        resize_memory(storage, extent(spot) * target.dtype.itemsize)
    place(target, storage, spot, target.dtype, target._lens)


# -- dtypes ------------------------------------------------------------------------------------------------------------

COMPUTED_IN: dict[str, tuple[int, str]] = {
    **{name: (BOOL, "") for name in ("sum", "prod", "zeros", "ones", "full", "eye", "empty")},
    **{name: (BOOL + 1, f"{name}_out_cpu") for name in ("cumsum", "cumprod")},
    **{name: (BOOL + 1, f"{name}_cpu") for name in ("arange", "linspace", "logspace", "range")},
    **{name: (FLOATING, "nansum_cpu") for name in ("nansum", "nanmean")},
    **{name: (BOOL, "") for name in ("rand", "randn", "randint", "randperm")},
    "mean": (FLOATING, ""),
}  # fmt: skip
"""Functions that compute in the dtype of the target: the least category of dtypes that they take, and the kernel that PyTorch
says it has not got for others."""

_REAL_ONLY = ("arange", "range", "nansum", "nanmean")


def _computed_in(name: str, target: dtype, kwargs: dict) -> dict:
    """The keyword arguments of a call, with the dtype of the target if it is to compute in that."""
    if name not in COMPUTED_IN or kwargs.get("dtype") is not None:
        return kwargs
    least, kernel = COMPUTED_IN[name]
    if target.category < least or (name in _REAL_ONLY and target.category == COMPLEX):
        if kernel:
            raise unsupported(kernel, target)
        return kwargs
    return {**kwargs, "dtype": target}


_SAME = "Expected out tensor to have dtype {r}, but got {o} instead"

EXACT: dict[str, str] = {
    **dict.fromkeys(
        "abs absolute ceil conj_physical fix floor frac neg negative round sgn sign trunc hardshrink bitwise_not "
        "positive".split(), "Found dtype {O} but expected {R}"
    ),
    **dict.fromkeys(
        "msort sort topk kthvalue mode cummax cummin aminmax tril triu softmax log_softmax mm matmul bmm addmm addmv "
        "baddbmm gather take_along_dim index_add index_copy index_reduce scatter scatter_add scatter_reduce slice_scatter "
        "diag renorm norm vector_norm argmax argmin argsort".split(), _SAME
    ),
    **{name: f"{name} does not support non-boolean outputs." for name in ("isneginf", "isposinf", "signbit")},
    **{name: f"{name} only supports bool tensor for result, got: {{O}}" for name in ("all", "any")},
    **dict.fromkeys(
        ("amax", "amin"), "Expected the dtype for input and out to match, but got {R} for input's dtype and {O} for out's dtype."
    ),
    **dict.fromkeys(("complex", "polar"), "Expected object of scalar type {R} but got scalar type {O} for argument 'out'"),
    **dict.fromkeys(("dot", "vdot"), "result dtype {O} does not match input dtype {R}"),
    **dict.fromkeys(
        ("searchsorted", "bucketize"),
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether "
        "out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is False",
    ),
    **{name: f"{name}(): self and result must have the same scalar type" for name in ("index_select", "masked_select")},
    "nan_to_num": "nan_to_num: dtype of out: {O} should be same as input: {R}",
    "histc": "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {r} and hist {o}",
    "nonzero": "nonzero: Expected out tensor to have scalar type {R} but got scalar type{O}",
    "float_power": "the output given to float_power has dtype {O} but the operation's result requires dtype {R}",
    "heaviside": "heaviside is not yet implemented for tensors with different dtypes.",
    "inner": "tensordot: Expected the output tensor to have dtype {R}, but got an output tensor with dtype {O}",
    "logcumsumexp": "expected scalar_type {R} but found {O}",
    "mv": "addmv input tensors must have the same dtype, but got {O}, {R}, and {R}",
    "addbmm": "self and mat2 must have the same dtype, but got {O} and {R}",
    "where": "Expected out type to be {R} but got {O}",
    "take": "take(): self and out expected to have the same dtype, but got self.dtype = {R} and out.dtype = {O}",
    "linalg.norm": "linalg.norm expected out tensor dtype {R} but got: {O}",
}  # fmt: skip
"""What functions say that want a target of the very dtype of the result, with the dtypes' names: of the result ``{R}``, of the
target ``{O}``, in small letters those of C++."""

CASTING: dict[str, tuple[type[Exception], str]] = {
    **dict.fromkeys(
        "cat stack hstack vstack dstack column_stack".split(),
        (TypeError, "torch.cat(): input types can't be cast to the desired output type {O}"),
    ),
    **dict.fromkeys(
        ("max", "min"),
        (RuntimeError, "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to be "
                       "true, but got false.  (Could this error message be improved?  If so, please report an "
                       "enhancement request to PyTorch.)"),
    ),
    "mean": (RuntimeError, "mean.dtype_out(): input types can't be cast to the desired output type {O}"),
    "logsumexp": (RuntimeError, "logsumexp(): Expected floating point type for result tensor, but got: {O}"),
    "ldexp": (RuntimeError, "ldexp can't be cast to the desired output type {O}"),
    "mvlgamma": (RuntimeError, "mvlgamma: result type {R} can't be cast to the desired output type {R}"),
}  # fmt: skip
"""What functions say, in words of their own, of a target that the result can't be cast to."""


def _check_dtype(name: str, result: dtype, target: dtype, arguments: tuple, several: bool) -> None:
    """Refuse a target of the wrong dtype."""
    if result is target:
        return
    words = {"R": result.scalar_name, "O": target.scalar_name, "r": cpp_name(result), "o": cpp_name(target)}
    exact = _SAME if several or (name in COMPUTED_IN and name not in ("mean", "nanmean")) else EXACT.get(name)
    if name.startswith(("clamp", "clip")) and len(_tensors(arguments)) == 1:
        exact = EXACT["abs"]
    if exact is not None:
        raise RuntimeError(exact.format(**words))
    if name in CASTING and not can_cast(result, target) and not (name == "mean" and len(arguments) > 1):
        error, text = CASTING[name]
        raise error(text.format(**words))

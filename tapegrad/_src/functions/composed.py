"""Functions as PyTorch composes them of others, for those who are shown what its dispatcher sees.

Here they are one operator each, or none. See Note [Dispatch] in ``bindings/dispatching.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.dispatching import hidden, show
from tapegrad._src.bindings.shown_calls import composed
from tapegrad._src.execution.data.dtypes import bool as bool_
from tapegrad._src.execution.data.dtypes import int64, uint8
from tapegrad._src.functions.indexing import Selection, selection
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.layout import strided
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.overloads import identity

FUNCTIONS = NAMESPACES["torch"]


# -- products ----------------------------------------------------------------------------------------------------------


def flattened(input: Tensor) -> Tensor:
    """A batch of rows as one matrix."""
    return input.view(math.prod(input.shape[:-1]), input.shape[-1])


@composed("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """``input @ weight.T + bias``: a product of matrices with a sum in it, as far as rows lie in memory one by one."""
    if weight.ndim != 2 or input.ndim == 0:
        return NotImplemented
    if bias is None:
        return matmul(input, weight.t())
    if input.ndim == 2:
        return FUNCTIONS["addmm"](bias, input, weight.t())
    if input.is_contiguous() and bias.ndim == 1:
        rows = flattened(input)
        return FUNCTIONS["addmm"](bias, rows, weight.t()).view(*input.shape[:-1], weight.shape[0])
    return matmul(input, weight.t()) + bias


@composed("matmul", "__matmul__")
def matmul(input: Tensor, other: Tensor, **options: Any) -> Any:
    """A product of vectors, matrices or batches of matrices."""
    if options or not isinstance(other, Tensor) or 0 in (input.ndim, other.ndim):
        return NotImplemented
    dims = input.ndim, other.ndim
    if dims == (1, 1):
        return input.dot(other)
    if dims == (2, 1):
        return input.mv(other)
    if dims == (1, 2):
        return input.unsqueeze(0).mm(other).squeeze_(0)
    if dims == (2, 2):
        return input.mm(other)
    if input.shape[-1] != other.shape[-2 if other.ndim > 1 else 0]:
        return NotImplemented
    if is_folded(input, other):
        return folded(input, other)
    return batched(input, other)


def is_folded(input: Tensor, other: Tensor) -> bool:
    """Tell whether a batch is multiplied by one matrix as one matrix: if nothing has to be copied for it."""
    wide, narrow = (input, other) if input.ndim >= other.ndim else (other, input)
    if wide.ndim < 3 or narrow.ndim > 2:
        return False
    if narrow.requires_grad and input.ndim >= other.ndim:
        return True
    if input.ndim == 2:
        return False
    shape, strides = tuple(wide.shape[:-1]), wide.stride()[:-1]
    if input.ndim < other.ndim:  # a vector, and a batch that is transposed
        shape, strides = (*wide.shape[:-2], wide.shape[-1]), (*wide.stride()[:-2], wide.stride()[-1])
    return all(strides[i] == strides[i + 1] * shape[i + 1] for i in range(len(shape) - 1))


def folded(input: Tensor, other: Tensor) -> Any:
    """A batch times one matrix or vector."""
    if input.ndim < other.ndim:
        return NotImplemented
    rows, shape = input.reshape(math.prod(input.shape[:-1]), input.shape[-1]), input.shape[:-1]
    if other.ndim == 1:
        return unsafe_view(rows.mv(other), shape)
    return unsafe_view(rows.mm(other), (*shape, other.shape[-1]))


def batched(input: Tensor, other: Tensor) -> Tensor:
    """A product of two batches, which are broadcast."""
    vectors = input.ndim == 1, other.ndim == 1
    left = (1, *input.shape)[-2:] if vectors[0] else tuple(input.shape[-2:])
    right = (*other.shape, 1) if vectors[1] else tuple(other.shape[-2:])
    if input.ndim <= 2 and other.ndim >= 3:
        other.transpose(-2, -1)  # PyTorch looks at it
    batch = tuple(np.broadcast_shapes(tuple(input.shape[:-2]), tuple(other.shape[:-2])))
    size = math.prod(batch)
    one = reshaped(input.expand((*batch, *left)), (size, *left))
    two = reshaped(other.expand((*batch, *right)), (size, *right))
    ends = (() if vectors[0] else (left[0],)) + (() if vectors[1] else (right[1],))
    return unsafe_view(one.bmm(two), (*batch, *ends))


def reshaped(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor in another shape: a view if it can be one."""
    try:
        return x.view(shape)
    except RuntimeError:
        return unsafe_view(x.contiguous(), shape)


def unsafe_view(x: Tensor, shape: Any) -> Tensor:
    """A result that nobody else has, in another shape."""
    return show(identity("aten", "_unsafe_view", "default"), (x, list(shape)), {}, lambda one, size: one.reshape(size))


# -- elements ----------------------------------------------------------------------------------------------------------


@composed("isfinite")
def isfinite(input: Tensor) -> Any:
    """Which elements are finite, of floating numbers."""
    if not input.is_floating_point():
        return NotImplemented
    bounded = input.abs() != math.inf
    return (input == input) * bounded


@composed("where")
def where(condition: Tensor, input: Any = None, other: Any = None, **options: Any) -> Any:
    """A choice between tensors, or numbers that become tensors first."""
    if input is None and other is None and not options:
        return condition.nonzero().unbind(1)
    if options or (isinstance(input, Tensor) and isinstance(other, Tensor)) or input is None or other is None:
        return NotImplemented
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        with hidden():
            like = FUNCTIONS["empty"]((), dtype=FUNCTIONS["result_type"](input, other), device="meta")
        choices = [number(one, like, condition.device) for one in (other, input)]
        return FUNCTIONS["where"](condition, *choices[::-1])
    like = input if isinstance(input, Tensor) else other
    choices = [one if isinstance(one, Tensor) else number(one, like) for one in (input, other)]
    return FUNCTIONS["where"](condition, *choices)


def number(one: Any, like: Tensor, device: Any = None) -> Tensor:
    """A number as a tensor, of the dtype of another if that can be."""
    with hidden():
        dtype = FUNCTIONS["result_type"](like, one)
    options = {"dtype": dtype, "layout": strided, "device": like.device if device is None else device}
    return show(identity("aten", "scalar_tensor", "default"), (one,), options, FUNCTIONS["scalar_tensor"])


@composed("batch_norm")
def batch_norm(*args: Any, **options: Any) -> Any:
    """The operator, after an empty tensor for what it reserves."""
    training = options.get("training", len(args) > 5 and args[5])
    if training:
        options = {"dtype": uint8, "layout": strided, "device": args[0].device}
        show(identity("aten", "empty", "memory_format"), ([0],), options, FUNCTIONS["empty"])
    return NotImplemented


@composed("dropout1d", "dropout2d", "dropout3d", "feature_dropout")
def feature_dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Whole channels that are zeros at random, and larger for that else."""
    if not training or not 0 < p < 1 or inplace or input.ndim < 3:
        return NotImplemented
    noise = input.new_empty((*input.shape[:2], *[1] * (input.ndim - 2))).bernoulli_(1 - p)
    show(identity("aten", "div_", "Scalar"), (noise, 1 - p), {}, lambda one, by: one.div_(by))
    return input * noise


@composed("square")
def square(input: Tensor) -> Any:
    """Its second power."""
    return input**2


@composed("dropout", "dropout_")
def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, train: bool | None = None
) -> Any:
    """Elements that are zeros at random, and larger for that else."""
    training = training if train is None else train
    if not training or not 0 < p < 1 or not input.numel():
        return NotImplemented
    noise = show(identity("aten", "empty_like", "default"), (input,), {}, FUNCTIONS["empty_like"]).bernoulli_(1 - p)
    show(identity("aten", "div_", "Scalar"), (noise, 1 - p), {}, lambda one, by: one.div_(by))
    return input.mul_(noise) if inplace else input * noise


def by_scalar(x: Tensor, name: str, by: Any) -> Tensor:
    """A tensor that is written to by a number, as PyTorch's C++ calls that."""
    if x.requires_grad:
        return getattr(x, name)(by)
    show(identity("aten", name, "Scalar"), (x, by), {}, lambda one, by: getattr(one, name)(by))
    return x


@composed("alpha_dropout")
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False, *, train: bool | None = None
) -> Any:
    """Elements that become ``-1.7580993408473766`` at random, and then all scaled and shifted."""
    training = training if train is None else train
    if not training or not 0 < p < 1 or inplace or not input.numel():
        return NotImplemented
    noise = FUNCTIONS["empty_like"](input).bernoulli_(1 - p)
    slope = 1.7580993408473766
    scale = 1 / math.sqrt((slope * slope * p + 1) * (1 - p))
    shift = show(identity("aten", "add", "Scalar"), (noise, -1), {}, lambda one, by: one.add(by))
    by_scalar(by_scalar(shift, "mul_", slope * scale), "add_", slope * scale * p)
    return (input * by_scalar(noise, "mul_", scale)).add_(shift)


@composed("rms_norm")
def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Any:
    """The input over the root mean square of its last dimensions."""
    dims = len(normalized_shape)
    fits = dims and list(normalized_shape) == list(input.shape[-dims:])
    if input.dtype.name not in ("float32", "float64") or not fits:
        return NotImplemented
    squares = input.pow(2).mean(list(range(input.ndim - dims, input.ndim)), keepdim=True)
    root = by_scalar(squares, "add_", float(np.finfo(input.dtype.numpy).eps) if eps is None else eps).rsqrt()
    return input * root if weight is None else input * root * weight


@composed("isclose")
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Which elements are equal, or differ by less than what is allowed."""
    if not input.is_floating_point() or other.dtype is not input.dtype or equal_nan or min(rtol, atol) < 0:
        return NotImplemented
    with switched(grad=False):
        close = input == other
        if rtol == 0 and atol == 0:
            return close
        relative = show(identity("aten", "mul", "Scalar"), (other, rtol), {}, lambda one, by: one * by).abs()
        allowed = show(identity("aten", "add", "Scalar"), (relative, atol), {}, lambda one, by: one + by)
        error = (input - other).abs()
        return close.bitwise_or_(isfinite(error).bitwise_and_(error <= allowed))


@composed("isreal")
def isreal(input: Tensor) -> Any:
    """Which elements have no imaginary part: of real numbers all."""
    return NotImplemented if input.is_complex() else FUNCTIONS["ones_like"](input, dtype=bool_)


@composed("one_hot")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Any:
    """Rows with a 1 at the place that an integer names."""
    if not tensor.numel() or tensor.device.type == "meta":
        return NotImplemented
    with hidden():
        least, most = int(tensor.min()), int(tensor.max())
    if least < 0 or -1 != num_classes <= most or tensor.dtype is not int64:
        return NotImplemented
    for extreme in FUNCTIONS["aminmax"](tensor):
        extreme.item()
    count = most + 1 if num_classes == -1 else num_classes
    return FUNCTIONS["zeros"](*tensor.shape, count, dtype=int64).scatter_(-1, tensor.unsqueeze(-1), 1)


# -- matrices ----------------------------------------------------------------------------------------------------------


LINALG = NAMESPACES["linalg"]


def checked(name: str, A: Tensor, *args: Any, **options: Any) -> Any:
    """The result of a function of matrices, by the one that says how it went, and PyTorch's look whether it went well.

    Args:
        name: that of the function.
        A: the matrix.
        args, options: what else it takes.
    """
    if not may_fail(A):
        return NotImplemented
    found = LINALG[f"{name}_ex"](A, *args, **options)

    def look(*_: Any, **__: Any) -> None:
        with hidden():
            if bool((found[-1] != 0).any()):
                LINALG[name](A, *args, **options)  # which says what is wrong

    by_name = {"is_matrix": A.ndim == 2}
    show(identity("aten", "_linalg_check_errors", "default"), (found[-1], f"linalg.{name}"), by_name, look)
    return found[0]


@composed("linalg_inv", "inverse")
def inverse(A: Tensor) -> Any:
    """The inverse of a matrix."""
    return checked("inv", A)


@composed("linalg_cholesky")
def linalg_cholesky(A: Tensor, *, upper: bool = False) -> Any:
    """The Cholesky factor of a matrix."""
    return checked("cholesky", A, upper=upper)


@composed("linalg_solve")
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Any:
    """The solution of linear equations."""
    return checked("solve", A, B, left=left)


def may_fail(A: Any) -> bool:
    """Tell whether something is a batch of square matrices of inexact numbers."""
    square = isinstance(A, Tensor) and A.ndim > 1 and A.shape[-1] == A.shape[-2]
    return square and (A.is_floating_point() or A.is_complex()) and A.device.type != "meta"


# -- parts -------------------------------------------------------------------------------------------------------------


def places_of(chosen: Selection) -> list[Tensor | None]:
    """The index tensors and masks of a selection, each in the place of its (first) dimension."""
    found: list[Tensor | None] = []
    for axis, tensor in chosen.indexed:
        found.extend([None] * (axis - sum(one.ndim if one is not None and is_mask(one) else 1 for one in found)))
        found.append(tensor)
    return found


def is_mask(tensor: Tensor) -> bool:
    """Tell whether an index tensor is a mask."""
    return tensor.dtype.category == 0


def picked(part: Tensor, places: list[Tensor | None]) -> Tensor:
    """The elements that index tensors pick."""
    return part[tuple(slice(None) if one is None else one for one in places)]


def put(part: Tensor, places: list[Tensor | None], value: Tensor) -> Tensor:
    """Write a value where index tensors say."""
    part[tuple(slice(None) if one is None else one for one in places)] = value
    return part


def lifted_index(index: Any) -> Any:
    """An index with tensors for lists of numbers in it."""
    items = index if isinstance(index, tuple) else (index,)
    made = tuple([_lifted(one) if isinstance(one, (list, range)) and is_numbers(one) else one for one in items])
    return index if all(one is other for one, other in zip(made, items, strict=True)) else made


def is_numbers(items: Any) -> bool:
    """Tell whether a list is one of numbers, or of such lists."""
    return len(items) > 0 and all(is_numbers(one) if isinstance(one, list) else isinstance(one, int) for one in items)


def _lifted(items: Any) -> Tensor:
    with hidden():
        made = FUNCTIONS["tensor"](list(items))
    lifted: Tensor = show(identity("aten", "lift_fresh", "default"), (made,), {}, lambda one: one)
    return lifted


@composed("__getitem__")
def getitem(self: Tensor, index: Any) -> Any:
    """A part: views, one after the other, and then what index tensors pick."""
    chosen = selection(self, lifted_index(index))
    if not chosen.indexed:
        return NotImplemented
    return show(identity("aten", "index", "Tensor"), (chosen.view(), places_of(chosen)), {}, picked)


@composed("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> Any:
    """Writing to a part: to a view, or where index tensors say."""
    if index is False:
        return NotImplemented
    if not isinstance(value, Tensor):
        value = FUNCTIONS["tensor"](value, dtype=self.dtype)
    chosen = selection(self, None if index is True else index, writing=True)
    part = chosen.view() if chosen.steps else self
    if chosen.indexed:
        show(identity("aten", "index_put_", "default"), (part, places_of(chosen), value), {}, put)
    elif value.ndim == 0 and part.ndim:
        part.fill_(value)
    else:
        extra = value.ndim - part.ndim
        part.copy_(value.reshape(value.shape[extra:]) if extra > 0 else value)
    return None

"""Functions that choose between operands, bound them or blend them."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.declaration.declarations import ARITHMETIC, OTHER_DTYPE, InPlace, Out, refuse_wider
from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.bindings.declaration.scalars import (
    common_dtype,
    converted,
    element_of,
    is_number,
    no_overload,
    operand,
    python_number,
    refuse,
    refuse_unfitting,
    unsupported,
)
from tapegrad._src.bindings.layouts import in_row_major_order
from tapegrad._src.bindings.writes.cached import two_operands
from tapegrad._src.bindings.writes.in_place import not_of_integers, written_shape
from tapegrad._src.bindings.writes.overlaps import refuse_shared_parts
from tapegrad._src.execution.data.dtypes import BOOL, COMPLEX, FLOATING, dtype
from tapegrad._src.functions.arithmetic import pair
from tapegrad._src.functions.unary import declare
from tapegrad._src.tensor.level_messages import DYNAMIC
from tapegrad._src.tensor.lifted import mapped_over
from tapegrad._src.tensor.refusals import refuse_examples
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops import selection
from tapegrad.ops.kinds import broadcast_shapes

# -- pairs of tensors --------------------------------------------------------------------------------------------------


declare(pair(selection.maximum, {COMPLEX: (RuntimeError, "maximum not implemented for complex tensors.")}))
declare(pair(selection.minimum, {COMPLEX: (RuntimeError, "minimum not implemented for complex tensors.")}))
declare(pair(selection.fmax, {COMPLEX: (RuntimeError, "fmax not implemented for complex tensors.")}))
declare(pair(selection.fmin, {COMPLEX: (RuntimeError, "fmin not implemented for complex tensors.")}))


# -- bounds ------------------------------------------------------------------------------------------------------------

_NOT_CAST = "result type {R} can't be cast to the desired output type {o}"


def _found(arguments: tuple, target: dtype) -> str | None:
    """The message about a target of another dtype, if the bounds are numbers."""
    return OTHER_DTYPE if sum(isinstance(argument, Tensor) for argument in arguments) == 1 else None


_CLAMP = (
    "Tensor input, Tensor min = None, Tensor max = None, *, Tensor out = None",
    "Tensor input, Number min = None, Number max = None, *, Tensor out = None",
)


def _refuse_complex_bounds(*values: Any) -> None:
    kinds = [value._spec.dtype.is_complex if isinstance(value, Tensor) else type(value) is complex for value in values]
    if True in kinds:
        raise NotImplementedError("clamp is not supported for complex types")


def _bound(value: Any, x: Tensor) -> Any:
    """A bound that is a number, in the dtype of the result."""
    if value is None:
        return None
    value = python_number(value)
    own = x._spec.dtype
    within = type(value) is not complex and own.category >= FLOATING
    return converted(value, own if within else common_dtype(x, value))


_CLAMPED = InPlace(check=refuse_wider(_NOT_CAST), overloads=("", "Tensor"))


@public(
    "torch", "Tensor", aliases=("clip",), in_place=_CLAMPED, out=Out(_found),
    is_settled=True,
)
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """``input`` limited to ``[min, max]``, two numbers or two tensors, either of them None; ``max`` if they contradict.

    Raises:
        RuntimeError: there is no bound.
        TypeError: one bound is a number, the other a tensor.

    >>> torch.clamp(torch.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    own = input._spec.dtype
    if own.category == FLOATING and type(min) in (float, int) and type(max) in (float, int):
        return selection.clamp.with_numbers(input, (converted(min, own), converted(max, own)), {})
    bounds = [bound for bound in (min, max) if bound is not None]
    if not bounds:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if all(isinstance(bound, Tensor) for bound in bounds):
        _refuse_complex_bounds(input, min, max)
        if len(bounds) == 2:
            refuse("clamp_cpu", (input, *bounds), BOOL)
        return selection.clamp_tensor(input, min, max)
    if not all(map(is_number, bounds)):
        raise no_overload("clamp", (input, min, max), _CLAMP)
    _refuse_complex_bounds(input, *[python_number(bound) for bound in bounds])
    if own.category == BOOL:
        which = "" if len(bounds) == 2 else "max_" if min is None else "min_"
        refuse(f"clamp_{which}scalar_cpu", (input, *map(python_number, bounds)), BOOL)
    return selection.clamp(input, _bound(min, input), _bound(max, input))


@public(
    "torch", "Tensor", in_place=_CLAMPED._replace(captured=ARITHMETIC), out=Out(_found),
    is_settled=True,
)
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """The greater of ``input`` and ``min``, a number or a tensor; a tie's gradient goes to ``input``.

    Raises:
        TypeError: ``min`` is neither a number nor a tensor.
    """
    if isinstance(min, Tensor):
        refuse("maximum_cpu", (input, min), COMPLEX)
        return selection.clamp_min_tensor(input, min)
    if not is_number(min):
        raise no_overload("clamp_min", (input, min), _with_number("min"))
    _refuse_complex_bounds(input, python_number(min))
    refuse("clamp_min_scalar_cpu", (input, python_number(min)), BOOL)
    return selection.clamp_min(input, _bound(min, input))


@public(
    "torch", "Tensor", in_place=_CLAMPED._replace(captured=ARITHMETIC), out=Out(_found),
    is_settled=True,
)
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """The smaller of ``input`` and ``max``, a number or a tensor; a tie's gradient goes to ``input``.

    Raises:
        TypeError: ``max`` is neither a number nor a tensor.
    """
    if isinstance(max, Tensor):
        refuse("minimum_cpu", (input, max), COMPLEX)
        return selection.clamp_max_tensor(input, max)
    if not is_number(max):
        raise no_overload("clamp_max", (input, max), _with_number("max"))
    _refuse_complex_bounds(input, python_number(max))
    refuse("clamp_max_scalar_cpu", (input, python_number(max)), BOOL)
    return selection.clamp_max(input, _bound(max, input))


def _with_number(argument: str) -> tuple[str, str]:
    return (
        f"Tensor input, Tensor {argument}, *, Tensor out = None",
        f"Tensor input, Number {argument}, *, Tensor out = None",
    )


# -- selection ---------------------------------------------------------------------------------------------------------

_WHERE = (
    "Tensor condition",
    "Tensor condition, Tensor input, Tensor other, *, Tensor out = None",
    "Tensor condition, Number self, Tensor other",
    "Tensor condition, Tensor input, Number other",
    "Tensor condition, Number self, Number other",
)


@public("torch", out=Out("Expected out type to be {R} but got {O}"), is_settled=True)
def where(condition: Any, *values: Any, **named: Any) -> Any:
    """``where(condition, input, other)``: ``input`` where the condition holds, ``other`` elsewhere, broadcast.

    Either may be a number. ``where(condition)`` gives the indices of the nonzero elements, as
    ``nonzero(as_tuple=True)`` does.

    The arguments' ``values`` may be ``named``, as PyTorch names them: ``input=`` (or ``self=``) and ``other=``.

    Raises:
        RuntimeError: the condition is not boolean.

    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if not values and not named:
        refuse_examples(DYNAMIC.format("where"), condition)
        return NAMESPACES["torch"]["nonzero"](condition, as_tuple=True)
    values = (*values, *[named[key] for key in ("input", "self", "other") if key in named])
    fits = len(values) == 2 and all(isinstance(value, Tensor) or is_number(value) for value in values)
    if not fits or not isinstance(condition, Tensor):
        raise no_overload("where", (condition, *values), _WHERE)
    return _select(condition, *values)


@public("Tensor", name="where")
def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """The tensor where the condition holds, ``other`` elsewhere."""
    return _select(condition, self, other)


def _select(condition: Tensor, x: Any, y: Any) -> Tensor:
    if condition.dtype.name not in ("bool", "uint8"):
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            + condition.dtype.scalar_name
        )
    if condition.dtype.name == "uint8":
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future "
            "version of PyTorch. Use a boolean condition instead."
        )
    beside = next((value.dtype for value in (x, y) if isinstance(value, Tensor)), condition.dtype)
    x, y = [value if isinstance(value, Tensor) else element_of(value, beside) for value in (x, y)]
    return selection.where(condition, x, y)


_C_NAMES = {"int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char", "uint8": "unsigned char",
            "float32": "float", "float64": "double"}  # fmt: skip


def _refuse_parts_of_mask(tensor: Tensor, mask: Tensor, value: Any) -> None:
    refuse_shared_parts(tensor, (mask,))
    if tensor.shape != mask.shape:
        written_shape(tensor, mask, "masked_fill_.Scalar")


@public(
    "torch", "Tensor",
    in_place=InPlace(overlapping="deprecated", apart=False, first=_refuse_parts_of_mask,
                     captured={"Scalar": ARITHMETIC}),
)  # fmt: skip
@not_of_integers
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """``input`` with ``value``, a number or a 0-dim tensor, where the mask holds. The dtype stays that of ``input``.

    Raises:
        RuntimeError: the mask is not boolean; the value has dimensions, or does not fit the dtype.

    >>> x = torch.tensor([-1.0, 2.0])
    >>> x.masked_fill(x < 0, -torch.inf)
    tensor([-inf, 2.])
    """
    if not isinstance(value, Tensor) and not is_number(value):
        raise no_overload("masked_fill", (input, mask, value),
                    ("Tensor input, Tensor mask, Tensor value", "Tensor input, Tensor mask, Number value"))  # fmt: skip
    if mask.dtype.category != BOOL:
        got = _C_NAMES.get(mask.dtype.name, mask.dtype.name)
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {got}")
    if mask.shape != input.shape:  # PyTorch names the mask first
        broadcast_shapes([mask.shape, input.shape], mapped_over(input._spec, mask._spec))
    if not isinstance(value, Tensor):
        return in_row_major_order(selection.masked_fill(input, mask, converted(value, input.dtype)))
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    refuse_unfitting(value, input.dtype)
    return in_row_major_order(selection.masked_fill_tensor(input, mask, value))


# -- several terms -----------------------------------------------------------------------------------------------------


def _of_lerp(arguments: tuple, target: dtype) -> str | None:
    """The message about a target of another dtype, if the weight is a tensor."""
    return OTHER_DTYPE if any(isinstance(weight, Tensor) for weight in arguments[2:]) else None


@public("torch", "Tensor", in_place=InPlace(fast=(two_operands, selection.lerp)), out=Out(_of_lerp))
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    """``input + weight * (end - input)``, for a ``weight`` that is a number or a tensor.

    Raises:
        RuntimeError: the dtypes differ.
        NotImplementedError: they are integral.

    >>> torch.lerp(torch.tensor([0.0, 10.0]), torch.tensor([10.0, 20.0]), 0.5)
    tensor([ 5., 15.])
    """
    for name, value in (("end", end), ("weight", weight)):
        if isinstance(value, Tensor) and value.dtype is not input.dtype and (value.ndim or name == "end"):
            names = [_C_NAMES.get(dtype.name, dtype.name) for dtype in (input.dtype, value.dtype)]
            raise RuntimeError(f"expected dtype {names[0]} for `{name}` but got dtype {names[1]}")
    if input.dtype.category < FLOATING:
        raise unsupported(f"lerp_kernel_{'tensor' if isinstance(weight, Tensor) else 'scalar'}", input.dtype)
    if isinstance(weight, Tensor):
        return selection.lerp_tensor(input, end, weight)
    return selection.lerp(input, end, operand(weight, input.dtype))


@public("torch", "Tensor", in_place=InPlace(fast=(two_operands, selection.addcmul, "value")))
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``, broadcast, for a number ``value``.

    >>> torch.addcmul(torch.ones(2), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), value=10)
    tensor([31., 81.])
    """
    tensors = input, tensor1, tensor2
    refuse("addcmul_cpu_out", tensors, BOOL)
    return selection.addcmul(*tensors, converted(value, common_dtype(*tensors)))


@public("torch", "Tensor", in_place=InPlace(fast=(two_operands, selection.addcdiv, "value")))
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``, broadcast, for a number ``value``.

    Raises:
        RuntimeError: both ``tensor1`` and ``tensor2`` are integral.

    >>> torch.addcdiv(torch.ones(2), torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0]), value=10)
    tensor([6., 6.])
    """
    tensors = input, tensor1, tensor2
    if tensor1.dtype.category < FLOATING and tensor2.dtype.category < FLOATING:
        raise RuntimeError(INTEGER_ADDCDIV)
    return selection.addcdiv(*tensors, converted(value, common_dtype(*tensors)))


INTEGER_ADDCDIV = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
    "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
    "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for "
    "float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), "
    "for all dtypes."
)

"""Functions of layers, reductions and shapes as PyTorch composes them of others, for those who are shown what its
dispatcher sees.

See ``composed.py``, which has products, elements and parts. Note [Dispatch] in ``bindings/dispatching.py``.
"""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES
from tapegrad._src.bindings.dispatching import show
from tapegrad._src.bindings.schema_calls import bound_by
from tapegrad._src.bindings.shown_calls import composed
from tapegrad._src.execution.data.dtypes import FLOATING, finfo
from tapegrad._src.functions.composed import unsafe_view
from tapegrad._src.functions.identities import PRIVATE
from tapegrad._src.tensor.layout import memory_format
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.overloads import identity
from tapegrad.ops.schemas import schemas_of

contiguous_format = memory_format("contiguous_format")
FUNCTIONS, LAYERS = NAMESPACES["torch"], NAMESPACES.setdefault("nn.functional", {})


def as_operator(name: str, run: Any, *args: Any, overload: str = "default", **kwargs: Any) -> Any:
    """Show a call as one of an operator; what it takes is told as its schema does."""
    schema = schemas_of(name)[overload]
    bound = bound_by(schema, name, args, kwargs)
    if bound is None:
        return NotImplemented
    given, named = schema.shown(bound)
    return show(identity("aten", name, overload), given, named, run)


# -- shapes ------------------------------------------------------------------------------------------------------------


@composed("reshape")
def reshape(input: Tensor, *shape: Any, **options: Any) -> Any:
    """A view, if it can be one; else of a copy."""
    size = options.get("shape", shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    if (input.requires_grad and input._spec.level) or not all(type(one) is int for one in size):
        return NotImplemented
    try:
        return input.view(size)
    except RuntimeError:
        pass
    known = math.prod(one for one in size if one >= 0)
    if sum(one < 0 for one in size) > 1 or (known and input.numel() % known):
        return NotImplemented
    whole = [input.numel() // known if one < 0 else one for one in size]
    return unsafe_view(input.clone(memory_format=contiguous_format), whole)


@composed("ravel")
def ravel(input: Tensor) -> Any:
    """All elements in a row."""
    return input.contiguous().view(-1)


@composed("contiguous")
def contiguous(input: Tensor, *, memory_format: Any = contiguous_format) -> Any:
    """A copy, if it doesn't lie as it should."""
    if input.is_contiguous(memory_format=memory_format):
        return NotImplemented
    return input.clone(memory_format=memory_format)


# -- reductions --------------------------------------------------------------------------------------------------------


def _corrected(name: str) -> Any:
    """A variance over dimensions, whose correction is told."""

    def compose(input: Tensor, dim: Any = None, *args: Any, **options: Any) -> Any:
        if dim is None or isinstance(dim, bool) or args or "correction" in options:
            return NotImplemented
        unbiased = options.pop("unbiased", True)
        return FUNCTIONS[name](input, dim, correction=int(unbiased), **options)

    return compose


for _name in ("var", "std", "var_mean", "std_mean"):
    composed(_name)(_corrected(_name))


@composed("masked_select")
def masked_select(input: Tensor, mask: Tensor) -> Any:
    """The elements that a mask picks."""
    return show(identity("aten", "masked_select", "default"), (input, mask), {}, FUNCTIONS["masked_select"])


@composed("argsort")
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The places of the elements in their order, of which the elements are left out."""
    return NotImplemented if stable else FUNCTIONS["sort"](input, dim, descending)[1]


# -- elements ----------------------------------------------------------------------------------------------------------


@composed("isclose")
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Which elements differ by less than is allowed."""
    if equal_nan or not input.is_floating_point() or not other.is_floating_point():
        return NotImplemented
    close = input == other
    if not rtol and not atol:
        return close
    allowed = scalar("add", scalar("mul", other, rtol).abs(), atol)
    error = (input - other).abs()
    return close.bitwise_or_(finite(error).bitwise_and_(error <= allowed))


def finite(x: Tensor) -> Tensor:
    """Which elements are finite."""
    bounded = x.abs() != math.inf
    return (x == x) * bounded


def scalar(name: str, x: Tensor, by: Any) -> Tensor:
    """A function of a tensor and a number, as C++ calls it."""
    return show(identity("aten", name, "Scalar"), (x, by), {}, FUNCTIONS[name])


def _in_place(name: str) -> Any:
    """An activation that writes in place."""

    def compose(input: Tensor, *args: Any, inplace: bool = False, **options: Any) -> Any:
        return LAYERS[f"{name}_"](input, *args, **options) if inplace else NotImplemented

    return compose


for _name in ("relu", "leaky_relu", "elu", "celu", "selu", "hardtanh"):
    composed(_name)(_in_place(_name))


@composed("relu6")
def relu6(input: Tensor, inplace: bool = False) -> Any:
    """Elements between 0 and 6."""
    return NotImplemented if inplace else LAYERS["hardtanh"](input, 0, 6)


@composed("rdiv", "__rdiv__", "__rtruediv__")
def rdiv(self: Tensor, other: Any) -> Any:
    """A number divided by a tensor."""
    return self.reciprocal() * other


# -- layers ------------------------------------------------------------------------------------------------------------


@composed("rms_norm")
def rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Rows divided by the root of the mean of their squares."""
    if input.dtype.category != FLOATING or tuple(input.shape[-len(normalized_shape) :]) != tuple(normalized_shape):
        return NotImplemented
    eps = finfo(input.dtype).eps if eps is None else eps
    axes = list(range(input.ndim - len(normalized_shape), input.ndim))
    squares = input.pow(2).mean(axes, keepdim=True)
    squares = show(identity("aten", "add_", "Scalar"), (squares, eps), {}, lambda one, by: one.add_(by))
    found = input * squares.rsqrt()
    return found if weight is None else found * weight


@composed("scaled_dot_product_attention")
def attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    *, scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """The products in one operator, where PyTorch has one for them on a CPU."""
    plain = dropout_p == 0 and not enable_gqa and query.ndim == key.ndim == value.ndim == 4
    if not plain or query.shape[-1] != value.shape[-1] or (attn_mask is not None and attn_mask.requires_grad):
        return NotImplemented
    name = "_scaled_dot_product_flash_attention_for_cpu"
    options = {"attn_mask": attn_mask, "scale": scale}
    return as_operator(name, PRIVATE[name], query, key, value, dropout_p, is_causal, **options)[0]

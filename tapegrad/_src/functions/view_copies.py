"""``view_copy``, ``t_copy``, ...: what PyTorch's view functions show, as tensors of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.arguments import shape_of_arguments
from tapegrad._src.bindings.declaration.declarations import EXPECTED, Out
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.state import attributes, memory
from tapegrad._src.dispatch.codegen.forward_ad import apart
from tapegrad._src.execution.data.dtypes import dtype as dtype_class
from tapegrad._src.functions import joining, retyping, shape, slicing
from tapegrad._src.tape.node import name_of
from tapegrad._src.tensor.dual import set_tangent
from tapegrad._src.tensor.tensor import Tensor, edge_of, value_of, wrap


def own_copy(view: Any) -> Any:
    """A view, or several of one function, as tensors with memory of their own; the node says that they are copies."""
    if isinstance(view, (tuple, list)):
        return tuple(own_copy(part) for part in view)
    edge = edge_of(view)
    result = wrap(value_of(view), view._spec.fresh.replace(strides=None, dual=False), edge)
    if view._spec.dual:
        set_tangent(result, apart(view._tangent))
    if edge is None or name_of(edge[0]).endswith("_copy"):
        return result
    return renamed(result, f"{name_of(edge[0])}_copy")


def copying(function: Callable) -> Callable:
    """A view function, with copies for results."""

    @functools.wraps(function)
    def copied(*args: Any, **kwargs: Any) -> Any:
        return own_copy(function(*args, **kwargs))

    shown = function.__name__.strip("_")
    own = f"\n\n    {function.__doc__}" if function.__name__ == "_slice" else ""
    copied.__doc__ = f"What ``{shown}`` shows, as a tensor of its own; it takes and raises what ``{shown}`` does.{own}"
    return copied


def _view(input: Tensor, *size: Any, dtype: Any = None) -> Tensor:
    given = size if dtype is None else (dtype,)
    if input.is_contiguous() or isinstance(given[0], dtype_class):
        return shape.view(input, *given)
    lengths = shape.infer_shape(shape_of_arguments(given), input._spec.numel)
    return shape.ops.view(input, shape=lengths)  # also where strides can't say it


def _slice(input: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    """That is ``start:end:step`` in the dimension ``dim`` of an index.

    Raises:
        RuntimeError: ``step`` is not positive.

    >>> torch.slice_copy(torch.arange(5), 0, 1, 4)
    tensor([1, 2, 3])
    """
    if step < 1:
        raise RuntimeError("slice step must be positive")
    first, length = slicing.slice_bounds(input.shape[shape.wrap_dim(dim, input.ndim)], start, end, step)
    return slicing.sliced(input, shape.wrap_dim(dim, input.ndim), first, length, step)


def _expand(input: Tensor, size: Any, *, implicit: bool = False) -> Tensor:
    return shape.expand(input, size)


def _unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    return slicing.unfold(input, dimension, size, step)


for _name, _function in {
    "alias_copy": lambda input: shape.view_of(input, shape.ops.alias), "as_strided_copy": memory.as_strided,
    "detach_copy": attributes.detach, "diagonal_copy": slicing.diagonal, "expand_copy": _expand,
    "permute_copy": shape.permute, "select_copy": slicing.select, "slice_copy": _slice, "split_copy": joining.split,
    "split_with_sizes_copy": joining.split_with_sizes, "squeeze_copy": shape.squeeze, "t_copy": shape.t,
    "transpose_copy": shape.transpose, "unbind_copy": joining.unbind, "unfold_copy": _unfold,
    "unsqueeze_copy": shape.unsqueeze, "view_as_complex_copy": retyping.view_as_complex,
    "view_as_real_copy": retyping.view_as_real, "view_copy": _view,
}.items():  # fmt: skip
    public("torch", name=_name, out=Out(EXPECTED, history="unknown"))(copying(_function))


_OF_NARROW = Out(
    "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message be improved?  If "
    "so, please report an enhancement request to PyTorch.)",
    resized="",
)


@public("torch", "Tensor", out=_OF_NARROW)
def narrow_copy(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` items of a dimension, from ``start`` on, as a tensor of their own.

    Args:
        dim: the dimension.

    Raises:
        RuntimeError: ``dim`` is out of range, or the dimension is shorter than that.

    >>> torch.arange(4).narrow_copy(0, 1, 2)
    tensor([1, 2])
    """
    if dim >= input.ndim > 0:
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error "
            "message be improved?  If so, please report an enhancement request to PyTorch.)"
        )
    if length < 0 and input.ndim:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({input.shape[dim]}).")
    copied = own_copy(slicing.narrow(input, dim, start, length))
    return renamed(copied, "NarrowCopyBackward0")

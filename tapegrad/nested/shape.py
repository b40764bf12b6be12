"""Nested tensors in other shapes: their values are, and the ragged dimension may have another number then."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.functions.shape import broadcast_to as spread
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.spec import Size
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.nested.attributes import is_contiguous, shape_of
from tapegrad.nested.construction import jagged_from_list
from tapegrad.nested.elementwise import raggedness_matches
from tapegrad.nested.overloads import unsupported
from tapegrad.nested.tensor import Jagged, answers, is_jagged, state_of, with_values


def need_contiguous(tensor: Any, schema: str, name: str = "self") -> None:
    """Refuse a nested tensor with gaps, or whose ragged dimension does not follow the batch.

    Args:
        schema: PyTorch's name of the function and of its arguments.
        name: that of the tensor among them.
    """
    if not is_jagged(tensor) or state_of(tensor).lengths is not None or state_of(tensor).ragged != 1:
        raise ValueError(f"NestedTensor {schema}: expected {name} to be a contiguous jagged layout NestedTensor")


def inner_dim(dim: int, state: Jagged) -> int:
    """The dimension of the values that one of a nested tensor is: of the batch, the ragged one."""
    return state.ragged - 1 if dim == 0 else dim - 1


def wrapped_dim(dim: int, state: Jagged, called: str, *, ndim: int | None = None, ragged: bool = False,
                batch: bool = False) -> int:  # fmt: skip
    """A dimension as a number that is not negative. Raises RuntimeError: it is the ragged one, or the batch.

    Args:
        called: the function, for messages.
        ndim: the number of dimensions, if it isn't that of the tensor.
        ragged, batch: whether those are allowed.
    """
    found = wrap_dim(dim, len(state.shape) if ndim is None else ndim)
    if found == state.ragged and not ragged:
        raise RuntimeError(f"{called}(): not supported for NestedTensor on ragged dim")
    if found == 0 and not batch:
        raise RuntimeError(f"{called}(): not supported for NestedTensor on dim=0")
    return found


def sequence(first: Any, rest: tuple) -> list:
    """Numbers that were given one by one, or as one sequence."""
    return list(first) if isinstance(first, (tuple, list)) else [first, *rest]


# Copies --------------------------------------------------------------------------------------------------------------


@answers("clone")
def _clone(input: Tensor, *, memory_format: Any = layouts.preserve_format) -> Tensor:
    state = state_of(input)
    if state.lengths is not None and memory_format is layouts.contiguous_format:
        if state.ragged != 1:
            raise AssertionError("NJT with ragged_idx != 1 not supported for contiguous clone")
        return jagged_from_list(list(input.unbind()), None)[0]
    return with_values(input, state.values.clone(memory_format=memory_format))


@answers("contiguous")
def _contiguous(self: Tensor, memory_format: Any = layouts.contiguous_format) -> Tensor:
    return self if is_contiguous(self, memory_format) else _clone(self, memory_format=memory_format)


# The order of dimensions ---------------------------------------------------------------------------------------------


@answers("transpose", "swapaxes", "swapdims")
def transposed(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """The tensor with two dimensions exchanged, neither of which is the batch."""
    state = state_of(input)
    first, second = (wrap_dim(dim, len(state.shape)) for dim in (dim0, dim1))
    if state.ragged in (first, second):
        if 0 in (first, second):
            raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
        ragged = second if first == state.ragged else first
        return state.with_values(state.values.transpose(first - 1, second - 1), ragged).as_tensor()
    first, second = (wrapped_dim(dim, state, "transpose") for dim in (first, second))
    return with_values(input, state.values.transpose(first - 1, second - 1))


@answers("permute")
def permuted(input: Tensor, *dims: Any) -> Tensor:
    """The tensor with its dimensions in another order, the batch first."""
    state, given = state_of(input), sequence(dims[0], dims[1:])
    ndim = len(state.shape)
    if ndim != len(given):
        raise ValueError(f"permute(): number of dimensions in the tensor input ({ndim}) does not match the length of "
                         f"the desired ordering of dimensions ({len(given)}).")  # fmt: skip
    order = [wrap_dim(dim, ndim) for dim in given]
    if len(set(order)) < ndim:
        raise ValueError("permute(): duplicate dims are not allowed.")
    if state.lengths is not None:
        raise ValueError("permute(): not supported on jagged layout nested tensor with holes")
    if order[0] != 0:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    values = state.values.permute([dim - 1 for dim in order[1:]])
    return state.with_values(values, order.index(state.ragged)).as_tensor()


@answers("movedim", "moveaxis")
def _movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    ndim = len(state_of(input).shape)
    froms, tos = (
        [wrap_dim(dim, ndim) for dim in (one if isinstance(one, (tuple, list)) else (one,))]
        for one in (source, destination)
    )
    order = [dim for dim in range(ndim) if dim not in froms]
    for to, dim in sorted(zip(tos, froms, strict=True)):
        order.insert(to, dim)
    return permuted(input, order)


@answers("T.__get__")
def _reversed(self: Tensor) -> Tensor:
    return permuted(self, list(range(len(state_of(self).shape)))[::-1])


@answers("mT.__get__", "adjoint", "mH.__get__")
def _matrix_transposed(self: Tensor) -> Tensor:
    return transposed(self, -2, -1)


# Other shapes --------------------------------------------------------------------------------------------------------


def _inner_shape(input: Tensor, size: Sequence[Any]) -> list[int]:
    """The shape of the values for one of the tensor. Raises RuntimeError: the entries would be others."""
    state, outer = state_of(input), tuple(shape_of(input))
    if state.ragged != 1 and outer != tuple(size):
        raise RuntimeError(f"view(): does not support ragged_idx != 1 except when inp._size == size. inp._size is "
                           f"({outer}) and size is ({list(size)}).")  # fmt: skip
    if len(size) < 3 or not raggedness_matches(state, size):
        raise RuntimeError(f"view(): cannot view shape {outer} as {list(size)}")
    return [state.values.shape[dim] if dim == state.ragged - 1 else length for dim, length in enumerate(size[1:])]


@answers("view")
def _view(self: Tensor, *size: Any, **named: Any) -> Tensor:
    first = named.get("size", size[0] if size else ())
    if type(first).__name__ == "dtype":
        raise unsupported("view")
    return with_values(self, state_of(self).values.view(_inner_shape(self, sequence(first, size[1:]))))


@answers("reshape")
def reshaped(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """The tensor in another shape, with the same entries."""
    size = sequence(named.get("shape", shape[0] if shape else ()), shape[1:])
    return with_values(input, state_of(input).values.reshape(_inner_shape(input, size)))


@answers("view_as", "reshape_as")
def _view_as(self: Tensor, other: Tensor) -> Tensor:
    return reshaped(self, tuple(other.shape))


@answers("flatten")
def _flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    state, outer = state_of(input), tuple(shape_of(input))
    first, last = (wrapped_dim(dim, state, "flatten") for dim in (start_dim, end_dim))
    if first == last:
        return input
    return reshaped(input, (*outer[:first], prod(outer[first : last + 1]), *outer[last + 1 :]))


@answers("unflatten")
def _unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    outer = tuple(shape_of(input))
    dim = wrap_dim(dim, len(outer))
    size = [*outer[:dim], *sizes, *outer[dim + 1 :]]
    return with_values(input, state_of(input).values.view(_inner_shape(input, size)))


@answers("unsqueeze")
def _unsqueeze(input: Tensor, dim: int) -> Tensor:
    state = state_of(input)
    found = wrapped_dim(dim, state, "unsqueeze", ndim=len(state.shape) + 1, ragged=True)
    return state.with_values(state.values.unsqueeze(found - 1), state.ragged + (found <= state.ragged)).as_tensor()


@answers("squeeze")
def _squeeze(input: Tensor, dim: Any = None) -> Tensor:
    if not isinstance(dim, int):
        raise unsupported("squeeze" if dim is None else "squeeze.dims")
    need_contiguous(input, "squeeze_dim(self: jt, dim: any)")
    found = wrapped_dim(dim, state_of(input), "squeeze")
    return with_values(input, state_of(input).values.squeeze(found - 1))


# Spread over more ----------------------------------------------------------------------------------------------------


@answers("expand")
def expanded(self: Tensor, *size: Any, **named: Any) -> Tensor:
    """The tensor with dimensions of length 1 repeated."""
    state = state_of(self)
    wanted = sequence(named.get("size", size[0] if size else ()), size[1:])
    if not raggedness_matches(state, wanted):
        raise RuntimeError(f"expand(): cannot expand shape {tuple(state.outer)} -> {wanted}")
    lengths = [-1 if dim == state.ragged else wanted[dim] for dim in range(1, len(state.shape))]
    return with_values(self, state.values.expand(lengths))


@answers("expand_as")
def _expand_as(self: Tensor, other: Tensor) -> Tensor:
    if is_jagged(self):
        return expanded(self, tuple(other.shape))
    return with_values(other, self.expand(state_of(other).values.shape))


@answers("broadcast_to")
def broadcast_to(input: Tensor, *shape: Any, **named: Any) -> Tensor:
    """The tensor in a shape with as many dimensions."""
    size = sequence(named.get("size", named.get("shape", shape[0] if shape else ())), shape[1:])
    missing = len(state_of(input).shape) - len(size)
    if missing < 0:
        raise ValueError("broadcast_to(): broadcasting to a higher-dim shape is currently not supported for nested "
                         "tensors with the jagged layout")  # fmt: skip
    return expanded(input, [1] * missing + list(size))


def broadcast_shape(shapes: Sequence[Any]) -> Size:
    """The shape that all of these are spread over. Raises RuntimeError: lengths differ."""
    ndim = max(map(len, shapes))
    found: list[Any] = []
    for place in range(-ndim, 0):
        lengths = {shape[place] for shape in shapes if len(shape) >= -place} - {1}
        if len(lengths) > 1:
            raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape")
        found.append(lengths.pop() if lengths else 1)
    return Size.of(found)


@answers("broadcast_tensors")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Tensors spread over one shape, that of the nested ones among them."""
    given = tensors[0] if isinstance(tensors[0], (tuple, list)) else tensors
    shape = broadcast_shape([one.shape for one in given])
    nested = next(one for one in given if is_jagged(one))
    found = []
    for one in given:
        if is_jagged(one):
            found.append(broadcast_to(one, shape))
        elif one.dim() < len(shape):
            found.append(with_values(nested, spread(one, state_of(nested).values.shape)))
        else:
            raise ValueError("broadcast_tensors(): broadcasting nested tensors with dense tensors of equal or higher "
                             "dim is not currently supported")  # fmt: skip
    return tuple(found)

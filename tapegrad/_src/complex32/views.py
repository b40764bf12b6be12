"""Functions of complex halves that show the same memory in another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.placement import empty_strided
from tapegrad._src.bindings.state.memory import as_strided
from tapegrad._src.complex32.tensor import (
    FALLBACKS,
    HalfValue,
    answers,
    is_half,
    of_parts,
    state_of,
)
from tapegrad._src.execution.data.dtypes import complex32, complex64, dtype, float16, float32
from tapegrad._src.functions import retyping
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor.geometry import Geometry, extent
from tapegrad._src.tensor.tensor import Tensor

ASKED = frozenset(("is_contiguous", "is_conj", "dim_order", "is_non_overlapping_and_dense"))
"""Questions about how a tensor lies."""

SHOWING: set[str] = set()
"""Functions that show the memory of their arguments, or may."""


def shows(*names: str) -> None:
    """Declare functions, or attributes, that show the memory of their arguments, or may."""
    SHOWING.update(names)


shows("H", "T", "mH", "mT", "H.__get__", "T.__get__", "mH.__get__", "mT.__get__", "adjoint", "t", "transpose")
shows("swapaxes", "swapdims", "movedim", "moveaxis", "permute", "conj", "_conj", "resolve_conj", "resolve_neg")
shows("__getitem__", "select", "slice", "narrow", "diagonal", "linalg_diagonal", "as_strided", "unfold", "positive")
shows("split", "split_with_sizes", "chunk", "tensor_split", "hsplit", "vsplit", "dsplit", "unbind")
shows("unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "expand", "expand_as", "broadcast_to", "meshgrid")
shows("broadcast_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "squeeze", "unsqueeze", "contiguous")
shows("view", "view_as", "reshape", "reshape_as", "flatten", "unflatten", "ravel")


def outline(tensor: Tensor) -> Tensor:
    """A tensor of complex64 without elements that lies in memory as another does."""
    state = state_of(tensor)
    shape, strides, offset = state.shape, state.layout, state.parts.storage_offset() // 2
    memory = empty_strided((extent(Geometry(shape, strides, offset)),), (1,), dtype=complex64, device="meta")
    made = as_strided(memory, shape, strides, offset)
    return retyping.conj(made) if state.conjugated else made


def replaced(given: Any, change: Callable[[Tensor], Any]) -> Any:
    """Arguments with the tensors of complex halves among them replaced, also in sequences."""
    if is_half(given):
        return change(given)
    if isinstance(given, (list, tuple)):
        made = [replaced(one, change) for one in given]
        return type(given)(*made) if hasattr(given, "_fields") else type(given)(made)
    return given


def shown(func: Callable, name: str, args: tuple, kwargs: dict) -> Any:
    """The result of a function that shows memory; NotImplemented if it does not, or copies what is there."""
    if name not in SHOWING and name not in ASKED:
        return NotImplemented
    if name == "view" and any(isinstance(arg, dtype) for arg in (*args, *kwargs.values())):
        return retyped(*args, **kwargs)
    outlines: list[tuple[Tensor, Tensor]] = []

    def outlined(tensor: Tensor) -> Tensor:
        outlines.append((outline(tensor), tensor))
        return outlines[-1][0]

    given, named = replaced(args, outlined), {key: replaced(arg, outlined) for key, arg in kwargs.items()}
    if any(isinstance(one, Tensor) and one.device.type != "meta" for one in given):
        return NotImplemented
    with switched(grad=False):
        found = func(*given, **named)
    if name in ASKED:
        return found
    return _on_memory(found, {id(made.untyped_storage().storage): tensor for made, tensor in outlines},
                      {id(made): tensor for made, tensor in outlines})  # fmt: skip


def _on_memory(found: Any, owners: dict[int, Tensor], same: dict[int, Tensor]) -> Any:
    """Results that show outlines, as tensors that show the parts; NotImplemented if one does not."""
    if isinstance(found, (list, tuple)):
        made = [_on_memory(one, owners, same) for one in found]
        if any(one is NotImplemented for one in made):
            return NotImplemented
        return type(found)(*made) if hasattr(found, "_fields") else type(found)(made)
    if id(found) in same:
        return same[id(found)]
    owner = owners.get(id(found.untyped_storage().storage))
    if owner is None:
        return NotImplemented
    parts = state_of(owner).parts
    strides = (*(2 * stride for stride in found.stride()), 1)
    part = as_strided(parts, (*found.shape, 2), strides, 2 * found.storage_offset())
    return HalfValue(part, found.is_conj()).as_tensor()


FALLBACKS["views"] = shown


def _alias(parts: Tensor) -> Tensor:
    return parts.view(parts.shape)


@answers("view_as_real")
def view_as_real(input: Tensor) -> Tensor:
    """The parts, as a view."""
    state = state_of(input)
    if state.conjugated:
        retyping.view_as_real(outline(input))  # which says what PyTorch says
    return _alias(state.parts)


def of_pairs(pairs: Tensor) -> Tensor:
    """The complex halves whose parts lie along the last dimension of halves, which fits: a view."""
    return HalfValue(_alias(pairs)).as_tensor()


@answers("real", "real.__get__")
def real(input: Tensor) -> Tensor:
    """The real parts, as a view."""
    return state_of(input).parts[..., 0]


@answers("imag", "imag.__get__")
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view."""
    state = state_of(input)
    return retyping._neg_view(state.parts)[..., 1] if state.conjugated else state.parts[..., 1]


@answers("real.__set__")
def _set_real(self: Tensor, value: Any) -> None:
    real(self).copy_(value)


@answers("imag.__set__")
def _set_imag(self: Tensor, value: Any) -> None:
    imag(self).copy_(value)


@answers("detach")
def _detach(self: Tensor) -> Tensor:
    return of_parts(state_of(self).parts.detach(), state_of(self))


def retyped(input: Tensor, to: Any = None, **named: Any) -> Tensor:
    """The memory shown as numbers of another dtype. Raises NotImplementedError: they have 8 bytes or more."""
    to, parts = named.get("dtype", to), state_of(input).parts
    if to is complex32:
        return of_parts(_alias(parts), state_of(input))
    if to.itemsize == 4:
        return parts.view(to)[..., 0]
    if to.itemsize <= 2 and input.ndim and parts.is_contiguous():
        return parts.view(to).view((*input.shape[:-1], input.shape[-1] * (4 // to.itemsize)))
    raise NotImplementedError(f"view of complex32 as {to} is not in tapegrad: cast to complex64")


def viewed_as_halves(input: Tensor) -> Tensor:
    """The memory of numbers of 4 bytes shown as complex halves. Raises NotImplementedError: they have others."""
    if input.element_size() == 2 and input.ndim and input.shape[-1] % 2 == 0:
        return of_pairs(input.view(float16).unflatten(-1, (-1, 2)))
    if input.element_size() != 4:
        raise NotImplementedError(f"view of {input.dtype} as complex32 is not in tapegrad: view it as float16 first")
    return of_pairs(input.view(float32).unsqueeze(-1).view(float16))

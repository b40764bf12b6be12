"""Nested tensors made of lists, of values and offsets, and of parts of ordinary tensors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tapegrad._src.execution.data.dtypes import int64
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.creation import arange, zeros
from tapegrad._src.functions.joining import cat
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import no_grad
from tapegrad.nested.attributes import shown
from tapegrad.nested.strided import buffer_of, strided_of
from tapegrad.nested.tensor import Jagged, NestedTensor, _check, is_jagged, is_nested, stored


def view_of_parts(
    values: Tensor, offsets: Tensor, lengths: Tensor | None = None, ragged: int = 1, least: int | None = None,
    greatest: int | None = None,
) -> NestedTensor:  # fmt: skip
    """A nested tensor that is a view of values: their history is its history."""
    _check(values, offsets, lengths)
    cache = {} if least is None else {"min_seqlen": stored(least)}
    if greatest is not None:
        cache["max_seqlen"] = stored(greatest)
    return Jagged(shown(values), offsets, lengths, ragged, cache).as_tensor()  # type: ignore[return-value]


def jagged_from_list(
    tensors: list[Tensor], offsets: Tensor | None, dtype: Any = None, device: Any = None
) -> tuple[NestedTensor, Tensor]:
    """A jagged tensor with these entries, and its offsets.

    Args:
        tensors: of one dtype, device and number of dimensions, of which one may be of several lengths.
        offsets: where entries begin, and where the last one ends; by default that is counted.
        dtype, device: those of the result, by default theirs.

    Raises:
        RuntimeError: there are none, or they do not go together.
    """
    _check_list(tensors)
    ragged = _ragged_dim([tensor.shape for tensor in tensors])
    values = cat(tensors, ragged - 1).to(device=device, dtype=dtype)
    counts = [tensor.shape[ragged - 1] for tensor in tensors]
    if offsets is None:
        offsets = as_tensor([0, *counts], device=values.device, dtype=int64).cumsum(0)
    return view_of_parts(values, offsets, None, ragged, min(counts), max(counts)), offsets


def _check_list(tensors: list[Tensor]) -> None:
    if not tensors:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for say, of in (("must have the same dtype", lambda one: one.dtype),
                    ("must be on the same device", lambda one: one.device),
                    ("must have the same dim", lambda one: one.ndim)):  # fmt: skip
        if len({of(tensor) for tensor in tensors}) > 1:
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list {say}")
    if tensors[0].ndim == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")


def _ragged_dim(shapes: Sequence[Sequence[int]]) -> int:
    """The dimension whose length differs; 1 if none does."""
    differ = [dim + 1 for dim in range(len(shapes[0])) if any(shape[dim] != shapes[0][dim] for shape in shapes)]
    if len(differ) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout "
            "only allows for a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    return differ[0] if differ else 1


def _unsupported(layout: Any) -> RuntimeError:
    return RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")


def nested_tensor(
    tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A nested tensor with copies of these entries, without their history.

    Args:
        tensor_list: tensors, or what ``torch.as_tensor`` takes.
        dtype, device: those of the result; by default those of the first entry.
        layout: ``torch.jagged``; or ``torch.strided``, which is the default, and knows fewer functions.
        requires_grad: whether it is a leaf that requires grad.
        pin_memory: whether it is put into pinned memory.

    Raises:
        RuntimeError: another layout; entries that do not go together.

    >>> torch.nested.nested_tensor([torch.arange(2), torch.arange(3)], layout=torch.jagged).unbind()
    (tensor([0, 1]), tensor([0, 1, 2]))
    """
    layout = layout or layouts.strided
    if layout not in (layouts.strided, layouts.jagged):
        raise _unsupported(layout)
    with no_grad():
        if layout is layouts.strided:
            made = strided_of(tensor_list, dtype, device)
        else:
            parts = [one if isinstance(one, Tensor) else as_tensor(one) for one in tensor_list]
            made, _ = jagged_from_list(parts, None, dtype, device)
    made.requires_grad_(requires_grad)
    return made.pin_memory() if pin_memory else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """A nested tensor of these entries, with their history.

    Args:
        ts: tensors with as many dimensions; or one tensor, whose first dimension is the batch; or a nested one.
        dtype, device: those of the result; by default those of the first entry.
        layout: ``torch.jagged``, or ``torch.strided``, which is the default.

    Raises:
        TypeError: what is neither a tensor nor a list of some.
        RuntimeError: a tensor with one dimension, a nested tensor of another layout, another layout.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.nested.as_nested_tensor([x, x[:1]], layout=torch.jagged).sum().backward()
    >>> x.grad
    tensor([2., 1.])
    """
    is_list = isinstance(ts, (list, tuple)) and all(isinstance(one, Tensor) for one in ts)
    if not (isinstance(ts, Tensor) or is_list):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, Tensor) and ts.dim() < 2:
        raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
    if is_nested(ts):
        if layout is not ts.layout:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(device=device, dtype=dtype)
    if layout in (None, layouts.strided):
        return buffer_of(ts, dtype, device) if isinstance(ts, Tensor) else strided_of(list(ts), dtype, device)
    if layout is not layouts.jagged:
        raise _unsupported(layout)
    if isinstance(ts, Tensor):
        return _of_dense(ts, dtype, device)
    return jagged_from_list(list(ts), None, dtype, device)[0]


def _of_dense(dense: Tensor, dtype: Any, device: Any) -> Tensor:
    """The jagged tensor whose entries are those of a dense one, all of one length."""
    values = dense.contiguous().flatten(0, 1).to(device=device, dtype=dtype)
    batch, length = dense.shape[:2]
    offsets = arange(batch + 1, dtype=int64, device=values.device) * length
    return view_of_parts(values, offsets, None, 1, length, length)


def nested_tensor_from_jagged(
    values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None, jagged_dim: int | None = None,
    min_seqlen: int | None = None, max_seqlen: int | None = None,
) -> Tensor:  # fmt: skip
    """The jagged tensor of these parts: a view of ``values``, with their history.

    Args:
        values: the rows of all entries, one after the other.
        offsets: where each entry begins, and where the last one ends.
        lengths: how long each entry is; with offsets, where there may be gaps between them.
        jagged_dim: which dimension is ragged, with the batch before all of them; by default 1.
        min_seqlen, max_seqlen: the least and the greatest length, where they are known.

    Raises:
        RuntimeError: neither offsets nor lengths.
        TypeError: a part that is no tensor.
        ValueError: ``jagged_dim`` is less than 1.
        AssertionError: parts that do not go together.

    >>> x = torch.nested.nested_tensor_from_jagged(torch.arange(5), torch.tensor([0, 2, 5]))
    >>> x.unbind()
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = _begun(lengths), None
    for place, name, part in ((1, "input", values), (2, "offsets", offsets), (4, "lengths", lengths)):
        if not isinstance(part, Tensor) and part is not None:
            raise TypeError(f"_nested_view_from_jagged(): argument '{name}' (position {place}) must be Tensor, not "
                            f"{type(part).__name__}")  # fmt: skip
    ragged = 1 if jagged_dim is None else jagged_dim
    if ragged < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    return view_of_parts(values, offsets, lengths, ragged, min_seqlen, max_seqlen)


def _begun(lengths: Tensor) -> Tensor:
    """Offsets of entries of these lengths."""
    return cat([zeros(1, dtype=int64, device=lengths.device), lengths.cumsum(0)])


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = layouts.strided) -> Tensor:
    """A nested tensor of the rows of a tensor from ``start`` on, ``length`` of them: one number for all, or for each.

    Args:
        tensor: an ordinary tensor, whose first dimension is the batch.
        dim: 1 for the jagged layout, which gives a view; 0 for the strided one.
        start, length: integers, or tensors of some for the jagged layout.
        layout: ``torch.jagged``, or ``torch.strided``, which is the default.

    Raises:
        RuntimeError: another dimension, layout or kind of numbers.

    >>> x = torch.nested.narrow(torch.arange(6).view(2, 3), 1, torch.tensor([0, 1]), 2, layout=torch.jagged)
    >>> x.unbind()
    (tensor([0, 1]), tensor([4, 5]))
    """
    for name, given in (("start", start), ("length", length)):
        if not isinstance(given, (int, Tensor)):
            raise RuntimeError(f"{name} must be an integer or a tensor")
    if layout is layouts.strided:
        if isinstance(start, Tensor) or isinstance(length, Tensor):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return strided_of(list(tensor.unbind()), None, None).narrow(dim, start, length)
    if layout is not layouts.jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    parts = [one if isinstance(one, Tensor) else as_tensor([one], device=tensor.device) for one in (start, length)]
    return jagged_from_tensor_and_lengths(tensor, *parts)[0]


def jagged_from_tensor_and_lengths(
    tensor: Tensor, starts: Tensor, lengths: Tensor
) -> tuple[NestedTensor, Tensor, Tensor | None]:
    """A jagged tensor that shows these rows of each entry of a tensor, its offsets, and lengths if there are gaps.

    Raises:
        RuntimeError: there are not as many starts and lengths as entries.
    """
    batch, most = tensor.shape[0], tensor.shape[1]
    if any(tuple(one.shape) not in ((), (1,), (batch,)) for one in (starts, lengths)):
        raise RuntimeError("When constructing a jagged nested tensor using narrow(), your start and length must be "
                           "Tensors that broadcast to input.shape[0]")  # fmt: skip
    starts, lengths = starts.expand(batch), lengths.expand(batch)
    begin = starts + arange(batch, dtype=int64, device=tensor.device) * most
    offsets = cat([begin, (begin[-1] + lengths[-1]).unsqueeze(0)])
    values = tensor.view(-1, *tensor.shape[2:])
    counts = lengths.tolist()
    least, greatest = min(counts), max(counts)
    if _has_no_gaps(starts.tolist(), counts, most):
        inside = values[int(offsets[0]) : int(offsets[-1])]
        return view_of_parts(inside, offsets - offsets[0], None, 1, least, greatest), offsets, None
    return view_of_parts(values, offsets, lengths, 1, least, greatest), offsets, lengths


def _has_no_gaps(starts: list[int], counts: list[int], most: int) -> bool:
    """Tell whether each entry ends where the next one begins, as PyTorch looks at it."""
    offsets = [start + place * most for place, start in enumerate(starts)]
    steps = [b - a for a, b in pairwise(offsets[1:-1])]
    whole = all(count == most for count in counts[1:-1])
    return whole and all(step == most for step in steps) and starts[0] + counts[0] == most


def masked_select(tensor: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask is True, as a jagged tensor that has them row by row.

    Args:
        tensor: an ordinary tensor.
        mask: bools, of its shape or one that is spread over it.

    Raises:
        RuntimeError: one of the two is nested or sparse.

    >>> torch.nested.masked_select(torch.arange(4).view(2, 2), torch.tensor([[True, False], [True, True]])).unbind()
    (tensor([0]), tensor([2, 3]))
    """
    for given, what in ((tensor, "tensor, given "), (mask, "mask, given: ")):
        if given.layout is not layouts.strided or is_jagged(given):
            raise RuntimeError(f"torch.nested.masked_select requires a strided {what}{given.layout}")
    counts = mask.expand(tensor.shape).sum(tensor.ndim - 1).view(-1)
    return view_of_parts(tensor.masked_select(mask), _begun(counts))

"""``torch.nn.utils.rnn``: sequences of different lengths, padded or packed, for recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

from tapegrad._src.execution.data.dtypes import float16, float32, float64, int8, int16, int32, int64, uint8
from tapegrad._src.functions.arrangement import pad
from tapegrad._src.functions.construction import as_tensor
from tapegrad._src.functions.creation import arange, empty_like
from tapegrad._src.functions.joining import stack
from tapegrad._src.functions.packing import _pack_padded_sequence, _pad_packed_sequence
from tapegrad._src.functions.sorting import sort
from tapegrad._src.tensor.tensor import Tensor

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip

ON_CPU = (
    "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be "
    "instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
    "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
)


class PackedSequence_(NamedTuple):
    """The fields of ``PackedSequence``."""

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences one step after the other, the longest first; made by ``pack_padded_sequence`` and ``pack_sequence``.

    Attributes:
        data: all elements, (sum of the lengths, ...).
        batch_sizes: how many sequences there are at each step, int64 on the CPU.
        sorted_indices, unsorted_indices: where each of the sequences was before they were sorted, and the inverse; None
            if they were not.

    Raises:
        ValueError: ``batch_sizes`` on another device.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    def __new__(
        cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:  # fmt: skip
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(ON_CPU)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor, move: Callable[[Tensor], Tensor]) -> Self:
        indices = (None if one is None else move(one) for one in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *indices)

    def pin_memory(self) -> Self:
        """With data in pinned memory."""
        return self._with(self.data.pin_memory(), lambda one: one.pin_memory())

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """With data of another dtype or on another device, as ``Tensor.to`` takes them; itself, if it is there."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._with(data, lambda one: one.to(data.device))

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """On a GPU."""
        given = self.data.to(*args, **kwargs).is_cuda if args or kwargs else False
        return self.to(*args, **kwargs) if given else self.to(*args, **{**kwargs, "device": "cuda"})

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """On the CPU."""
        given = self.data.to(*args, **kwargs).device.type == "cpu" if args or kwargs else False
        return self.to(*args, **kwargs) if given else self.to(*args, **{**kwargs, "device": "cpu"})

    def double(self) -> Self:
        """With data in float64."""
        return self.to(dtype=float64)

    def float(self) -> Self:
        """With data in float32."""
        return self.to(dtype=float32)

    def half(self) -> Self:
        """With data in float16."""
        return self.to(dtype=float16)

    def long(self) -> Self:
        """With data in int64."""
        return self.to(dtype=int64)

    def int(self) -> Self:
        """With data in int32."""
        return self.to(dtype=int32)

    def short(self) -> Self:
        """With data in int16."""
        return self.to(dtype=int16)

    def char(self) -> Self:
        """With data in int8."""
        return self.to(dtype=int8)

    def byte(self) -> Self:
        """With data in uint8."""
        return self.to(dtype=uint8)

    @property
    def is_cuda(self) -> bool:
        """True if the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Tell whether the data is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation; None of None.

    >>> invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    numbers = arange(0, permutation.numel(), device=permutation.device)
    return empty_like(permutation).scatter_(0, permutation, numbers)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Padded sequences packed.

    Args:
        input: (steps, batch, ...), or (batch, steps, ...) if ``batch_first``.
        lengths: of the sequences, on the CPU; decreasing, unless ``enforce_sorted`` is False.

    Raises:
        RuntimeError: lengths in another order, not positive, or of another number than the sequences.

    >>> padded = torch.tensor([[1, 2, 3], [4, 5, 0]])
    >>> pack_padded_sequence(padded, [3, 2], batch_first=True).data
    tensor([1, 4, 2, 5, 3])
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=int64)
    else:
        lengths = as_tensor(lengths, dtype=int64, device="cpu")
    order = None
    if not enforce_sorted:
        lengths, order = sort(lengths, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = _pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """Pad what was packed: (steps, batch, ...), or (batch, steps, ...) if ``batch_first``; and give the lengths.

    Args:
        padding_value: what padding is.
        total_length: how many steps there are to be; as many as the longest sequence has, by default.

    Raises:
        ValueError: ``total_length`` is less than that.

    >>> pad_packed_sequence(pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])]), batch_first=True)[0]
    tensor([[1, 2, 3],
            [4, 5, 0]])
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    steps = longest if total_length is None else total_length
    padded, lengths = _pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value, steps)
    back = sequence.unsorted_indices
    if back is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, back), lengths[back.cpu()]


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (length, ...) side by side, padded to the length of the longest: (steps, batch, ...), or (batch, steps,
    ...) if ``batch_first``.

    Args:
        padding_value: what padding is.
        padding_side: ``"right"``, behind the sequences, or ``"left"``, before them.

    Raises:
        RuntimeError: no sequences; such of different shapes; another ``padding_side``.

    >>> pad_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])], batch_first=True, padding_side="left")
    tensor([[1, 2, 3],
            [0, 4, 5]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    given = tuple(sequences)
    _check_sequences(given, padding_side)
    steps, shape = max(one.shape[0] for one in given), given[0].shape[1:]
    padded = []
    for one in given:
        one = one.to(given[0].dtype).expand(one.shape[0], *shape)
        widths = (0, steps - one.shape[0]) if padding_side == "right" else (steps - one.shape[0], 0)
        padded.append(pad(one, (*[0] * 2 * len(shape), *widths), value=padding_value))
    return stack(padded, 0 if batch_first else 1)


def _check_sequences(sequences: Sequence[Any], side: str) -> None:
    if side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {side}.")
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    for number, one in enumerate(sequences):
        if not isinstance(one, Tensor):
            raise TypeError(f"expected Tensor as element {number} in argument 0, but got {type(one).__name__}")
        if not one.ndim:
            raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    for one in sequences:
        for axis, (a, b) in enumerate(zip(sequences[0].shape, one.shape, strict=False)):
            if axis and a != b != 1:
                raise RuntimeError(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                    f"{axis}"
                )


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences that were padded, each of its length; as in PyTorch, what is not ``batch_first`` becomes that.

    ``padded_sequences`` is (longest, batch, ...), or (batch, longest, ...) if ``batch_first``; ``lengths`` is (batch,),
    int64.

    >>> unpad_sequence(torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([3, 2]), batch_first=True)
    [tensor([1, 2, 3]), tensor([4, 5])]
    """
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    places = arange(padded_sequences.shape[1], device=lengths.device)
    return [one[places < length] for one, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """The ``sequences``, a list of tensors (length, ...), packed: see ``pad_sequence`` and ``pack_padded_sequence``.

    With ``enforce_sorted`` the longest has to come first; otherwise they are sorted, and the order is kept.

    >>> pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])]).batch_sizes
    tensor([2, 2, 1])
    """
    lengths = as_tensor([one.size(0) for one in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed: ``packed_sequences`` as a list of tensors (length, ...).

    >>> unpack_sequence(pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])]))
    [tensor([1, 2, 3]), tensor([4, 5])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)

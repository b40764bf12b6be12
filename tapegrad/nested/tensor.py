"""``NestedTensor``: what a nested tensor is, and who answers for it.

Note [Nested tensors]
A nested tensor of the jagged layout has ordinary tensors: its values, in which the rows of all entries of the batch
lie one after the other along one dimension, and offsets, which say where each entry begins. All that is differentiable
of it is the values: its functions are compositions of operators on them, so that gradients, tangents, transforms and
devices need nothing of their own. What it requires, its ``grad_fn`` and its hooks are those of its values, and its
gradient has its own offsets. The class takes part in functions as any class can (Note [Overriding functions] in
``bindings/subclass.py``): calls come to ``answered``, which finds what was declared for their name, or if it is a
function of elements. As long as nobody has imported this room there is no such class, and dense programs ask nobody.

One of the strided layout has the elements of all its entries in one tensor with one dimension, and a shape for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.bindings.declaration.handing import torch_name_of
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.functions.creation import zeros
from tapegrad._src.functions.masked import refuse_nested
from tapegrad._src.tape.modes import switched
from tapegrad._src.tensor import layout as layouts
from tapegrad._src.tensor.spec import Size, Spec
from tapegrad._src.tensor.tensor import Tensor, new_tensor
from tapegrad.nested.lengths import RaggedLength, length_of


class Nested(Opaque):
    """The value of a nested tensor, of either layout.

    Attributes:
        values: the tensor that has all elements, and their history.
    """

    __slots__ = ("values", "shape", "dtype", "__weakref__")

    below = None
    nbytes = 0
    values: Tensor
    cls: type

    @property
    def spec(self) -> Spec:
        """The spec of such a tensor, in whose shape that of the values stands."""
        return self.values._spec.composed(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.values._spec.numel

    def as_tensor(self) -> Tensor:
        """A tensor with this value."""
        return filled(new_tensor(self.cls), self)

    def with_values(self, values: Tensor) -> Nested:
        """The value with the same entries, and other elements."""
        raise NotImplementedError

    def run(self, function: Callable, values: tuple) -> Any:
        raise NotImplementedError("a nested tensor does not take part in this: compute with x.values()")


def filled(tensor: Tensor, value: Nested) -> Tensor:
    """A tensor that was given a value, in place."""
    tensor._value, tensor._spec, tensor._edge = value, value.spec, None
    return tensor


def become(tensor: Tensor, value: Nested) -> Tensor:
    """Give a nested tensor another value, in place."""
    tensor._value, tensor._spec = value, value.spec
    return tensor


class Jagged(Nested):
    """The value of a nested tensor of the jagged layout.

    Attributes:
        offsets: where each entry begins along the ragged dimension of ``values``, and where the last one ends.
        lengths: how long each entry is; None where it ends where the next one begins.
        ragged: the number of the ragged dimension, with the batch before all of them: at least 1.
        length: what stands in the shape for the ragged length.
        cache: "min_seqlen" and "max_seqlen" as far as they are known, as tensors of that many empty rows.
    """

    __slots__ = ("offsets", "lengths", "ragged", "length", "cache")

    def __init__(
        self, values: Tensor, offsets: Tensor, lengths: Tensor | None = None, ragged: int = 1,
        cache: dict | None = None, length: RaggedLength | None = None,
    ) -> None:  # fmt: skip
        self.values, self.offsets, self.lengths, self.ragged = values, offsets, lengths, ragged
        self.length = length or length_of(offsets if lengths is None else lengths)
        self.cache = cache or {}
        self.shape = (offsets._spec.shape[0] - 1, *values._spec.shape)
        self.dtype = values._spec.dtype.numpy

    @property
    def cls(self) -> type:  # type: ignore[override]
        """The class of tensors with such a value."""
        return NestedTensor

    @property
    def outer(self) -> Size:
        """The shape, with a symbol for the ragged length."""
        inner = list(self.values.shape)
        inner[self.ragged - 1] = self.length  # type: ignore[call-overload]
        return Size.of((self.shape[0], *inner))

    def with_values(self, values: Tensor, ragged: int | None = None) -> Jagged:
        return Jagged(values, self.offsets, self.lengths, ragged or self.ragged, self.cache, self.length)


class NestedTensor(Tensor):
    """A nested tensor of the jagged layout. ``torch.nested.nested_tensor`` makes one. See Note [Nested tensors].

    Args:
        values: the rows of all entries, one after the other along one dimension.
        offsets: where each entry begins, and where the last one ends: one more than there are entries.
        lengths: how long each entry is, where there are gaps between them.
        requires_grad: whether it is a leaf that requires grad.
        _ragged_idx: which dimension is ragged, with the batch before all of them.
        _metadata_cache: the least and the greatest length, as far as they are known.

    Raises:
        AssertionError: offsets that are not of one dimension, or on another device, or lengths of another count.

    >>> x = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(1, 3)], layout=torch.jagged)
    >>> x.size(0), x.size(2), x.offsets(), x.values().shape
    (2, 3, tensor([0, 2, 3]), torch.Size([3, 3]))
    """

    __slots__ = ()
    __hash__ = Tensor.__hash__

    def __new__(cls, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None, **options: Any) -> NestedTensor:
        """A nested tensor of its parts."""
        _check(values, offsets, lengths)
        values = values.detach() if options.get("requires_grad") else values
        parts = Jagged(values, offsets, lengths, options.get("_ragged_idx", 1), options.get("_metadata_cache"))
        made = filled(new_tensor(cls), parts)
        return made.requires_grad_() if options.get("requires_grad") else made  # type: ignore[return-value]

    def __init__(self, values: Tensor, offsets: Tensor, *, lengths: Tensor | None = None, **options: Any) -> None:
        """All is done by ``__new__``."""

    def offsets(self) -> Tensor:
        """The places where entries begin, and where the last one ends."""
        return self._value.offsets

    def lengths(self) -> Tensor | None:
        """The lengths of the entries, where there are gaps between them; else None."""
        return self._value.lengths

    @property
    def _values(self) -> Tensor:  # type: ignore[override]
        return self._value.values

    @property
    def _offsets(self) -> Tensor:
        return self._value.offsets

    @property
    def _lengths(self) -> Tensor | None:
        return self._value.lengths

    @property
    def _ragged_idx(self) -> int:
        return self._value.ragged

    @property
    def _size(self) -> tuple:
        return tuple(self._value.outer)

    @property
    def _strides(self) -> tuple:
        inner = self._value.values.stride()
        return (self._value.length * inner[self._value.ragged - 1], *inner)

    @property
    def _metadata_cache(self) -> dict:
        return self._value.cache

    def _get_max_seqlen(self) -> int:
        return _extreme(self._value, "max_seqlen", max)

    def _get_min_seqlen(self) -> int:
        return _extreme(self._value, "min_seqlen", min)

    @property
    def _max_seqlen(self) -> int:
        return self._get_max_seqlen()

    @property
    def _min_seqlen(self) -> int:
        return self._get_min_seqlen()

    @property
    def _max_seqlen_tensor(self) -> Tensor | None:
        return self._value.cache.get("max_seqlen")

    @property
    def _min_seqlen_tensor(self) -> Tensor | None:
        return self._value.cache.get("min_seqlen")

    @property
    def _maybe_max_seqlen(self) -> int | None:
        return known(self._value, "max_seqlen")

    @property
    def _maybe_min_seqlen(self) -> int | None:
        return known(self._value, "min_seqlen")

    def _is_contiguous_or_false(self) -> bool:
        return self._value.lengths is None and self._value.values.is_contiguous()

    def __tensor_flatten__(self) -> tuple[list[str], dict]:
        names = ["_values", "_offsets", "_lengths", "_min_seqlen_tensor", "_max_seqlen_tensor"]
        kept = [name for name in names if getattr(self, name) is not None]
        return kept, {"requires_grad": self.requires_grad, "ragged_idx": self._value.ragged}

    @staticmethod
    def __tensor_unflatten__(inner_tensors: dict, meta: dict, outer_size: Any, outer_stride: Any) -> NestedTensor:
        given = {name: inner_tensors.get(f"_{name}_tensor") for name in ("min_seqlen", "max_seqlen")}
        return NestedTensor(
            inner_tensors["_values"], inner_tensors["_offsets"], lengths=inner_tensors.get("_lengths"),
            requires_grad=meta["requires_grad"], _ragged_idx=meta["ragged_idx"],
            _metadata_cache={name: one for name, one in given.items() if one is not None},
        )  # fmt: skip

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Answer for a function, if anything does."""
        return answered(func, args, kwargs or {})


NestedTensor.__module__ = "torch.nested._internal.nested_tensor"


def _check(values: Tensor, offsets: Tensor, lengths: Tensor | None) -> None:
    if offsets is None:
        raise AssertionError("offsets must not be None")
    if offsets.ndim != 1:
        raise AssertionError(f"offsets must be 1D, but got {offsets.ndim}D")
    if isinstance(values, NestedTensor):
        raise AssertionError("values must not be a NestedTensor")
    if values.device != offsets.device:
        raise AssertionError(f"values and offsets must be on the same device, but got values.device={values.device} "
                             f"and offsets.device={offsets.device}")  # fmt: skip
    if lengths is not None and lengths.shape[0] != offsets.shape[0] - 1:
        raise AssertionError(
            f"offsets and lengths batch sizes must match: offsets.shape[0] - 1 = {offsets.shape[0] - 1}, "
            f"lengths.shape[0] = {lengths.shape[0]}"
        )


def lengths_of(state: Jagged) -> Tensor:
    """The lengths of the entries."""
    return state.offsets.diff() if state.lengths is None else state.lengths


def stored(number: int) -> Tensor:
    """A number as PyTorch keeps it among tensors: the number of empty rows."""
    return zeros(number, 0)


def known(state: Jagged, name: str) -> int | None:
    """A number in the cache; None if it is not there."""
    kept = state.cache.get(name)
    return None if kept is None else kept if isinstance(kept, int) else kept.shape[0]


def _extreme(state: Jagged, name: str, of: Callable) -> int:
    found = known(state, name)
    if found is None:
        found = of(lengths_of(state).tolist())
        state.cache[name] = stored(found)
    return found


# Answers -------------------------------------------------------------------------------------------------------------

ANSWERS: dict[str, Callable] = {}
"""The functions that answer for functions of PyTorch's, of the jagged layout, by their names; for an attribute, by
``"shape.__get__"``."""

STRIDED: dict[str, Callable] = {}
"""Those of the strided layout."""

FALLBACKS: dict[bool, Callable] = {}
"""The functions that are asked if nothing was declared, by whether a jagged tensor is there."""


FROM_SPEC = frozenset(
    f"{name}.__get__" for name in """dtype device is_cuda is_cpu is_xla is_mps is_meta is_quantized is_mkldnn is_xpu
    is_ipu is_vulkan is_maia is_mtia is_sparse is_sparse_csr itemsize __dict__ ndim""".split()  # noqa: SIM905
) | frozenset("""dim ndimension is_complex is_floating_point is_signed element_size get_device __hash__ has_names
    is_conj is_neg __dir__ is_inference""".split())  # noqa: SIM905 - shorter # fmt: skip
"""The attributes that are the same of any tensor: its spec tells."""


MASKED = {"std": "std/var", "var": "std/var", "softmax": "amax", "log_softmax": "amax", "softmin": "amin"}
"""The names in errors of functions of ``torch.masked`` that refuse nested tensors, where they are other ones."""


def answers(*names: str, of: Sequence[dict] = (ANSWERS,)) -> Callable[[Callable], Callable]:
    """Declare what is done for functions of these names if an argument is nested."""

    def declare(function: Callable) -> Callable:
        for table in of:
            table.update(dict.fromkeys(names, function))
        return function

    return declare


BOTH = (ANSWERS, STRIDED)


def name_of(function: Any) -> str:
    """The name under which an answer is looked for."""
    name = torch_name_of(function)
    is_getter = isinstance(getattr(function, "__self__", None), property)
    if is_getter:
        return ".".join(name.split(".")[-2:])
    return name.rpartition(".")[2].removeprefix("special_")


def answered(func: Any, args: tuple, kwargs: dict) -> Any:
    """The result of a function that was called with nested tensors. Raises NotImplementedError: there is none."""
    name = name_of(func)
    if torch_name_of(func).startswith("torch.masked."):
        refuse_nested(MASKED.get(name, name), args[0] if args else kwargs["input"])
    if name in FROM_SPEC:
        with switched(torch_function=False):
            return func(*args, **kwargs)
    jagged = any(isinstance(one, NestedTensor) for one in tensors_in((*args, *kwargs.values())))
    answer = (ANSWERS if jagged else STRIDED).get(name)
    if answer is not None:
        return answer(*args, **kwargs)
    return FALLBACKS[jagged](func, name, args, kwargs)


def tensors_in(args: Sequence[Any]) -> list[Tensor]:
    """The tensors among arguments, and in lists among them."""
    found: list[Tensor] = []
    for arg in args:
        if isinstance(arg, Tensor):
            found.append(arg)
        elif isinstance(arg, (list, tuple)):
            found += [one for one in arg if isinstance(one, Tensor)]
    return found


def is_jagged(x: Any) -> bool:
    """Tell whether something is a nested tensor of the jagged layout."""
    return isinstance(x, NestedTensor)


def is_nested(x: Any) -> bool:
    """Tell whether something is a nested tensor."""
    return isinstance(x, Tensor) and isinstance(x._value, Nested)


def state_of(tensor: Tensor) -> Any:
    """The parts of a nested tensor."""
    return tensor._value


def with_values(tensor: Tensor, values: Tensor) -> Tensor:
    """A tensor with the entries of another, and other elements."""
    return tensor._value.with_values(values).as_tensor()


def layout_of(tensor: Tensor) -> Any:
    """The layout of a nested tensor."""
    return layouts.jagged if is_jagged(tensor) else layouts.strided


def row_numel(state: Jagged) -> int:
    """The number of elements of an entry for each step of the ragged dimension."""
    inner = state.values.shape
    return math.prod([*inner[: state.ragged - 1], *inner[state.ragged :]])

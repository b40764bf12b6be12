"""``Spec``: all that a plan needs to know about a tensor before it looks at its data.

Note [Specs decide plans]
A tensor carries an interned ``Spec``. Plans are found by the specs of the arguments (and the modes, and the
settings), so whatever must change how an operator treats a tensor is a field of the spec, and costs nothing
per call: shape, dtype and device; whether it requires grad; whether it is *plain* (never shared, never written, so
that its value can be read and saved without asking its storage); whether its class overrides functions.

Note [Inference tensors]
What is made in inference mode has ``inference`` in its spec. Plans of that mode give it to their outputs, ``fresh()``
to what no operator made, the gradient type ``InferenceValues`` to gradients; a view has what its base has
(``as_view``). It is looked at where plans are made (what would be saved for backward is refused there; a call on
inference tensors only is not recorded) and where memory is written to (``refuse_inference``). That nothing is recorded
inside is ``Modes.grad``.
"""

from __future__ import annotations

from collections import deque
from operator import attrgetter, index
from typing import Any, SupportsIndex, overload

from tapegrad._src.caches import Cache, Interned, memory
from tapegrad._src.execution.data import devices, dtypes
from tapegrad._src.execution.data.sizes import SYMBOL, check_size
from tapegrad._src.tensor.geometry import contiguous_strides, is_dense

_item, _tuple = tuple.__getitem__, tuple.__new__


def _length(item: Any, position: int) -> int:
    """An integer, whatever its type is, as a Python one; a length that is not known as it is."""
    if type(item) is SYMBOL:
        return item
    try:
        length = index(item)
    except TypeError:
        module = "numpy." if type(item).__module__ == "numpy" else ""
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {position} is '{module}{type(item).__name__}')"
        ) from None
    if not -(2**63) <= length < 2**63:
        raise ValueError("Overflow when unpacking long long")
    return length



class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple that prints as ``torch.Size([2, 3])`` and knows its ``numel()``.

    >>> Size((2, 3)), Size((2, 3)).numel(), Size((2, 3))[1:]
    (torch.Size([2, 3]), 6, torch.Size([3]))
    """

    __module__ = "tapegrad"
    __slots__ = ()

    def __new__(cls, *lengths: Any, **keywords: Any) -> Size:
        """Lengths from something iterable. Raises TypeError, ValueError: PyTorch's messages, for what is no int64."""
        made = _tuple(cls, *lengths, **keywords)
        if all(type(length) is int and -(2**63) <= length < 2**63 for length in made):
            return made
        return _tuple(cls, map(_length, made, range(len(made))))

    @classmethod
    def of(cls, lengths: Any) -> Size:
        """A size of what is known to be lengths: integers, or symbols that stand for some."""
        return _tuple(cls, lengths)

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        result = 1
        for length in self:
            result *= length
        return result

    @overload
    def __getitem__(self, place: SupportsIndex) -> int: ...

    @overload
    def __getitem__(self, place: slice) -> Size: ...

    def __getitem__(self, place: Any) -> Any:
        if type(place) is int:
            return _item(self, place)
        item = _item(self, place)
        return Size.of(item) if isinstance(place, slice) else item

    def __add__(self, other: tuple) -> Size:
        return Size.of(tuple(self) + tuple(other))

    def __radd__(self, other: tuple) -> Size:
        return Size.of(tuple(other) + tuple(self))

    def __mul__(self, times: Any) -> Size:
        return Size.of(tuple(self) * times)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __reduce__(self) -> tuple:
        return Size, (tuple(self),)


class Spec:
    """Shape, dtype, device and flags of a tensor. Interned: equal specs are the same object, so hashing is by identity.

    That is so as long as somebody holds it, a tensor or a plan for example; afterwards it is forgotten.

    Attributes:
        shape: a ``Size``.
        dtype: a tapegrad dtype.
        device: a tapegrad device.
        requires_grad: whether operators on it are recorded.
        plain: whether its storage is its own and was never written.
        overrides: whether its class has a ``__torch_function__`` of its own; ``"dispatch"`` if it has a
            ``__torch_dispatch__``.
        inference: whether it was made in inference mode.
        dual: whether it has a tangent at the present forward-mode level.
        strides: how many elements apart neighbours lie in memory; None for a contiguous tensor.
        window: whether it is a view, or a part, of memory that has been written to; see Note [Memory that is shared].
        level: in how many function transforms, one inside the other, it lives; see Note [Levels] in ``lifted.py``.
        mismatched: whether it was given data of another shape or dtype than its place in the graph takes gradients of.
        flags: all of this but the shape, and of the strides whether there are any.
    """

    __slots__ = (
        "shape", "dtype", "device", "requires_grad", "plain", "overrides", "inference", "dual", "strides", "window",
        "level", "mismatched", "numel", "ndim", "flags", "__weakref__",
    )  # fmt: skip
    _interned = Interned()

    is_nested_tensor = False
    is_cpp_nested_tensor = False

    shape: Size
    dtype: dtypes.dtype
    device: devices.device
    requires_grad: bool
    plain: bool
    overrides: Any
    inference: bool
    dual: bool
    strides: tuple[int, ...] | None
    window: bool
    level: int
    mismatched: bool
    numel: int
    ndim: int
    flags: tuple

    @classmethod
    def of(
        cls, shape: tuple[int, ...], dtype: dtypes.dtype, device: devices.device, requires_grad: bool = False,
        plain: bool = True, overrides: Any = False, inference: bool = False, dual: bool = False,
        strides: tuple[int, ...] | None = None, window: bool = False, level: int = 0, mismatched: bool = False,
    ) -> Spec:  # fmt: skip
        """The spec with these fields."""
        if device.sharded and not device.fits(shape):  # type: ignore[attr-defined]
            device = device.free
        contiguous = strides is None
        flags = dtype, device, requires_grad, plain, overrides, inference, dual, contiguous, window, level, mismatched
        key = tuple(shape), strides, flags
        return cls._interned.get(key) or cls._made(*key)

    @classmethod
    def _made(cls, shape: tuple[int, ...], strides: tuple[int, ...] | None, flags: tuple) -> Spec:
        dtype, device = flags[:2]
        check_size(shape, dtype.itemsize, device.type, owned=strides is None or is_dense(shape, strides))
        spec = object.__new__(cls)
        spec.shape, spec.strides, spec.flags = Size.of(shape), strides, flags
        (
            spec.dtype, spec.device, spec.requires_grad, spec.plain, spec.overrides, spec.inference, spec.dual, _,
            spec.window, spec.level, spec.mismatched,
        ) = flags  # fmt: skip
        spec.numel, spec.ndim = spec.shape.numel(), len(shape)
        if not spec.overrides:
            _recent.append(spec)  # a loop that drops its tensors would make it anew each time
        return cls._interned.only((shape, strides, flags), spec)

    def composed(self, shape: tuple[int, ...]) -> Spec:
        """The spec of a tensor of this shape that is made of one with this spec, and whose class answers for it."""
        strides = (0,) * len(shape)
        return Spec.of(shape, self.dtype, self.device.free, self.requires_grad, overrides=True, strides=strides)

    def shaped(self, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> Spec:
        """This spec for another shape, and strides if it has any; for one on a single device."""
        flags = self.flags
        if flags[7] is not (strides is None):
            flags = (*flags[:7], strides is None, *flags[8:])
        key = shape, strides, flags
        return self._interned.get(key) or self._made(*key)

    def replace(self, **changes: Any) -> Spec:
        """This spec with ``changes``; remembered, so that it is one look-up the next time."""
        key = (self, *changes.items())
        changed = _changed.recent.get(key) or _changed.get(key)
        if changed is None:
            fields = dict(zip(_FIELDS, _fields_of(self), strict=True))
            changed = _changed.keep(key, Spec.of(**{**fields, **changes}))
        return changed

    @property
    def bare(self) -> Spec:
        """This spec without its flags: what a compiled kernel depends on."""
        bare = _bare.recent.get(self) or _bare.get(self)
        return bare or _bare.keep(self, Spec.of(self.shape, self.dtype, self.device, level=self.level))

    @property
    def fresh(self) -> Spec:
        """This spec for a value of its own: neither shared nor written, of no class, without gaps in memory."""
        fresh = _fresh.recent.get(self) or _fresh.get(self)
        if fresh is None:
            dense = self.strides is None or is_dense(self.shape, self.strides)
            is_fresh = dense and self.plain and not self.window and not self.overrides
            changes = {"plain": True, "window": False, "overrides": False, "strides": self.strides if dense else None}
            fresh = _fresh.keep(self, self if is_fresh else self.replace(**changes))
        return fresh

    @property
    def gradient(self) -> Spec:
        """The spec of a gradient that is kept for this one: without flags, in memory like it if that has no gaps."""
        gradient = _gradient.recent.get(self) or _gradient.get(self)
        if gradient is None:
            gradient = self.bare if self.strides is None else self.bare.replace(strides=self.fresh.strides)
            _gradient.keep(self, gradient)
        return gradient

    @property
    def layout(self) -> tuple[int, ...]:
        """The strides, of a contiguous tensor too."""
        return contiguous_strides(self.shape) if self.strides is None else self.strides

    def __repr__(self) -> str:
        names = ("requires_grad", "plain", "overrides", "inference", "dual", "window", "mismatched")
        flags = [name for name in names if getattr(self, name)]
        return f"Spec({list(self.shape)}, {self.dtype.name}, {self.device}{''.join(', ' + flag for flag in flags)})"


_FIELDS = Spec.__slots__[:12]
_fields_of = attrgetter(*_FIELDS)

_changed, _bare, _fresh, _gradient = (Cache("specs", nbytes=512) for _ in range(4))
_recent: deque[Spec] = deque(maxlen=256)
memory.others.append(_recent)
"""Specs by another one, and what is to be different. Plans and tensors hold those that they need."""


def named_strides(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides as a spec names them: None for those of a contiguous tensor."""
    return None if strides == contiguous_strides(tuple(shape)) else strides


def legacy_type_name(spec: Spec) -> str:
    """PyTorch's name of a tensor type in old messages: ``torch.FloatTensor``, ``torch.cuda.DoubleTensor``."""
    names = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long",
             "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
             "complex64": "ComplexFloat", "complex128": "ComplexDouble"}  # fmt: skip
    where = "" if spec.device.type == "cpu" else f".{spec.device.type}"
    return f"torch{where}.{names.get(spec.dtype.name, spec.dtype.name)}Tensor"


def core_type_name(spec: Spec) -> str:
    """The name of a tensor type in messages of PyTorch's core: newer dtypes go by the names they have in C++."""
    legacy = legacy_type_name(spec)
    if spec.device.type == "meta":
        return f"Meta{legacy.rpartition('.')[2].removesuffix('Tensor')}Type"
    if spec.dtype.name in ("bfloat16", "bool", "complex64", "complex128"):
        return f"{spec.device.type.upper()}{legacy.rpartition('.')[2].removesuffix('Tensor')}Type"
    return legacy

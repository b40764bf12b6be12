"""``Tensor``: a handle on a value, with its place in the graph. Methods are attached by ``functions/``.

Note [State of a tensor]
``_value`` is the data while the spec is plain; afterwards the ``_storage`` has it, and ``_value`` is what was last read
(Note [Memory that is shared] in ``storage.py``), from ``_offset`` on, through ``_view_bits``
(``execution/array_functions/windows.py``). ``_edge`` is ``(grad_fn, output_nr)``, or None for a leaf; a leaf that
requires grad finds its accumulator through a weak reference (``_accumulator``), for the accumulator owns the leaf. Rare
state (``_grad``, hooks, ...) are class attributes until set, so that making a tensor sets three slots.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from numpy import ndarray

from tapegrad._src.caches import Cache
from tapegrad._src.doors import Door
from tapegrad._src.execution.array_functions.host import is_traced
from tapegrad._src.execution.array_functions.layouts import lay_out_as
from tapegrad._src.execution.array_functions.windows import read_window, write_window
from tapegrad._src.execution.data.devices import device, device_of, only_device
from tapegrad._src.execution.data.dtypes import dtype, from_numpy
from tapegrad._src.execution.data.opaque import Opaque
from tapegrad._src.execution.data.values import is_ready, materialized
from tapegrad._src.execution.recording.capturing import capturing
from tapegrad._src.tape.hooks import HookDict, NodeHooks, making
from tapegrad._src.tape.modes import alone, switched, thread
from tapegrad._src.tape.node import Edge, Node
from tapegrad._src.tensor.geometry import contiguous_strides, overlaps_itself
from tapegrad._src.tensor.shared import borrowed_part, is_shared, replace_part, withhold
from tapegrad._src.tensor.spec import Size, Spec
from tapegrad._src.tensor.storage import Counter, InferenceStorage, Storage, storage_made_by
from tapegrad.errors import INFERENCE_IN_PLACE

if TYPE_CHECKING:  # methods and properties are attached by ``bindings/attach.py``
    from tapegrad._src.tensor.methods import TensorMethods
else:
    TensorMethods = object


class Tensor(TensorMethods):
    """A multi-dimensional array that remembers how it was computed.

    Create one with ``tapegrad.tensor`` and the other factories; ``Tensor(2, 3)`` and ``Tensor([1, 2])`` are PyTorch's
    legacy constructors.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * 3 + 2).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """

    __module__ = "tapegrad"
    __slots__ = ("_value", "_spec", "_edge", "__dict__", "__weakref__")

    _value: Any
    _spec: Spec
    _edge: Edge | None
    _storage: Storage | None = None
    _grad: Tensor | None = None
    _grad_dtype: Any = False
    _accumulator: weakref.ref[Node] | None = None
    _tangent: Tensor | None = None
    _retains: bool = False
    _lost_grad: tuple[tuple[str, Any], ...] | None = None
    _leaf_hooks: NodeHooks | None = None
    _hooks: HookDict | None = None
    _offset: int = 0
    _view_bits: int = 0
    _seen: float = 0
    _detached_from_outside: bool = False
    _counter: Counter | None = None
    _view: View | None = None
    _astray: list[weakref.ref[Tensor]] | None = None

    __array_priority__: ClassVar[int] = 1000

    def __hash__(self) -> int:
        """A number for the tensor's identity: equal tensors are not the same key."""
        return id(self)

    @property
    def shape(self) -> Size:
        """The lengths of the dimensions."""
        return self._spec.shape

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return self._spec.dtype

    @property
    def device(self) -> device:
        """The device of the data."""
        return self._spec.device.free

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._spec.ndim

    @property
    def is_leaf(self) -> bool:
        """True if it was made by the user, not by a recorded operator."""
        return edge_of(self) is None

    @property
    def output_nr(self) -> int:
        """Which output of its ``grad_fn`` this tensor is; of a view whose ``grad_fn`` is out of date, which it was."""
        edge = self._edge
        return 0 if edge is None else edge[1]

    @property
    def grad_fn(self) -> Node | None:
        """The node that computes gradients of the operator which made this tensor; None for a leaf."""
        edge = edge_of(self)
        return None if edge is None else edge[0]

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this one is a view of; never itself a view."""
        return None if self._view is None else self._view.base

    @property
    def _version(self) -> int:
        """The number of times that the data was written to."""
        return version_of(self)

    @property
    def retains_grad(self) -> bool:
        """True if ``retain_grad`` was called on this non-leaf."""
        return self._retains


new_tensor = object.__new__


class View:
    """The relation that makes a tensor a view of another one: Note [Views] in ``dispatch/view_history.py``.

    Attributes:
        base: the tensor that it is a view of, which is not itself a view.
        creation: why it may not be written to where gradients are recorded, or None.
        version: the version of the data that its place in the graph belongs to.
        leaf: whether the user said that it requires grad, of a view that nothing recorded.
        reinterpretation: how it came to show its base as other numbers, if it does (``dispatch/view_history.py``).
        turn: of a view that was written to, the sequence number of the place that it will get, and the version then:
            the node is made when somebody asks for it, but takes its turn in backward as if it had been made at once.
    """

    __slots__ = ("base", "creation", "version", "leaf", "reinterpretation", "turn")

    def __init__(self, base: Tensor, creation: str | None, version: int, reinterpretation: Any = None) -> None:
        self.base, self.creation, self.version = base, creation, version
        self.reinterpretation = reinterpretation
        self.leaf = False
        self.turn: tuple[int, int] | None = None


def views_of(base: Tensor) -> Iterator[Tensor]:
    """The views of a base that somebody still holds, also those that show other memory than the base by now."""
    storage = base._storage
    for member in () if storage is None else storage.living():
        if member._view is not None and member._view.base is base:
            yield member
    for reference in base._astray or ():
        view = reference()
        if view is not None and view._storage is not storage:
            yield view


def remember_astray(view: Tensor, base: Tensor) -> None:
    """Note that a view may show other memory than its base."""
    if base._astray is None:
        base._astray = []
    base._astray[:] = [other for other in base._astray if other() is not None and other() is not view]
    base._astray.append(weakref.ref(view))


view_remaker: Door[Callable[[Tensor, View], None]] = Door("view_remaker", filled_by="dispatch/view_history.py")
"""Gives a view its place in the graph again after a write."""


def version_of(tensor: Tensor) -> int:
    """The number of writes to the data of a tensor. Raises RuntimeError: it is an inference tensor."""
    counter, storage = tensor._counter, tensor._storage
    if (counter is None and tensor._spec.inference) or (counter is not None and counter.untracked):
        raise RuntimeError("Inference tensors do not track version counter.")
    return 0 if storage is None else (counter or storage.counter).version


def refuse_inference(tensor: Tensor) -> None:
    """Raise if ``tensor`` was made in inference mode and may not be written to outside.

    What ``detach`` or ``data`` made of it outside has a counter, and may.
    """
    counter = tensor._counter
    if tensor._spec.inference and not thread.modes.inference and (counter is None or counter.untracked):
        raise RuntimeError(INFERENCE_IN_PLACE)


def edge_of(tensor: Tensor) -> Edge | None:
    """The place of a tensor in the graph; made again for a view, if its memory was written to since it was made."""
    view = tensor._view
    stale = view is not None and tensor._spec.window and view.version != version_of(tensor)
    if stale and (tensor._edge is not None or view.base._spec.requires_grad):  # type: ignore[union-attr]
        with making:
            if view is not None and view.version != version_of(tensor):  # another thread may have been first
                view_remaker.content(tensor, view)
    return tensor._edge


def passes_for_leaf(tensor: Tensor) -> bool:
    """Tell whether a tensor counts as a leaf where PyTorch doesn't look for a view's new place in the graph.

    So does a view that nothing recorded, though its base was written to and has a history by now.
    """
    return tensor._edge is None and (tensor._view is None or tensor._view.turn is None)


def wrap(value: Any, spec: Spec, edge: Edge | None = None) -> Tensor:
    """A tensor around a value. The caller knows the spec, which must describe the value."""
    tensor = new_tensor(Tensor)
    tensor._value = value
    tensor._spec = spec
    tensor._edge = edge
    return tensor


def describe(value: Any, *, on: device | None = None) -> Spec:
    """The spec of a value that is ``on`` a device, or wherever it says it is."""
    if on is None and type(value) is ndarray:
        key = value.shape, value.dtype
        return _of_arrays.recent.get(key) or _of_arrays.get(key) or _described(value)
    if isinstance(value, Opaque) and value.spec is not None:
        return value.spec
    return Spec.of(value.shape, from_numpy(value.dtype), device_of(value) if on is None else on)


def shown(value: Any) -> Tensor:
    """A tensor with a value of any kind, of the class that it asks for."""
    if isinstance(value, Opaque) and value.as_tensor is not None:
        return value.as_tensor()
    return wrap(value, describe(value))


_of_arrays = Cache("specs", nbytes=512)
"""Specs of arrays of the host, by shape and dtype."""


def _described(array: ndarray) -> Spec:
    where = only_device()
    spec = Spec.of(array.shape, from_numpy(array.dtype), where or device_of(array))
    return spec if where is None else _of_arrays.keep((array.shape, array.dtype), spec)


# -- memory ------------------------------------------------------------------------------------------------------------


def value_of(tensor: Tensor) -> Any:
    """The value of a tensor as it is now."""
    spec = tensor._spec
    if spec.plain:
        return tensor._value
    return window_value(tensor) if spec.window else tensor._storage.value  # type: ignore[union-attr]


def materialize(tensor: Tensor) -> bool:
    """Give a tensor whose value is deferred the array in its place, and say whether there was anything to do."""
    storage, value = tensor._storage, tensor._value  # read once: another thread may do it, too
    memory = None if storage is None else storage.memory
    if not is_ready(value):
        tensor._value = materialized(value)
    if not is_ready(memory):
        storage.value = materialized(memory)  # type: ignore[union-attr]
    return not (is_ready(value) and is_ready(memory))


def window_value(tensor: Tensor) -> Any:
    """The value of a window, read again if its storage has been written to since."""
    storage, value = tensor._storage, tensor._value  # in this order: a write first counts, and then clears the value
    assert storage is not None
    if tensor._seen == storage.data_version:
        return value
    data_version, spec = storage.data_version, tensor._spec
    if spec.level and isinstance(value, Opaque) and value.is_part_of(storage.value):
        tensor._seen = data_version
        return value
    if shows_all(tensor, storage):
        value = storage.value
    else:
        place = tuple(spec.shape), spec.layout, tensor._offset, spec.dtype.numpy, tensor._view_bits
        alive = storage.shared and is_shared(storage) and capturing.by is None
        value = storage.memory.shown(tensor) if alive else read_window(storage.value, memory_layout(storage), *place)
    if tensor._detached_from_outside and isinstance(value, Opaque):  # else it is a part of what is no tensor of a level
        value = value.detached_from_outside()  # type: ignore[attr-defined]
    tensor._value, tensor._seen = value, data_version
    return value


def window_operand(tensor: Tensor) -> Any:
    """``window_value`` for an operator that reads the window now, keeps nothing of it, and is not deferred."""
    storage = tensor._storage
    if tensor._seen == storage.data_version:  # type: ignore[union-attr]
        return tensor._value
    spec, found = tensor._spec, None
    if storage.shared and not (tensor._view_bits or tensor._detached_from_outside):  # type: ignore[union-attr]
        place = tuple(spec.shape), spec.layout, tensor._offset, spec.dtype.numpy
        found = borrowed_part(storage, *place)  # type: ignore[arg-type]
    return window_value(tensor) if found is None else found


def memory_layout(storage: Storage) -> tuple[int, ...]:
    """The strides of a storage's value."""
    return contiguous_strides(tuple(storage.memory.shape)) if storage.strides is None else storage.strides


def shows_all(tensor: Tensor, storage: Storage) -> bool:
    """Tell whether a tensor shows the memory just as the storage's value does."""
    spec = tensor._spec
    memory = storage.memory
    same = spec.shape == memory.shape and spec.strides == storage.strides and spec.dtype.numpy == memory.dtype
    return same and not tensor._offset and not tensor._view_bits


def storage_of(tensor: Tensor) -> Storage:
    """The storage of a tensor, made now if it has none."""
    storage = tensor._storage
    return _new_storage(tensor) if storage is None else storage


def counter_of(tensor: Tensor) -> Counter:
    """The counter of the writes to a tensor."""
    return tensor._counter or storage_of(tensor).counter


def leave(tensor: Tensor) -> Counter:
    """The counter of the writes to a tensor, which takes it along to another memory.

    Who stays behind learns of writes that are made there, so is plain no longer.
    """
    counter, storage = counter_of(tensor), storage_of(tensor)
    if any(member is not tensor for member in storage.living()):
        counter.astray = True
        mark_written(storage)
    if tensor._view is not None:
        remember_astray(tensor, tensor._view.base)
    for view in list(views_of(tensor)):
        remember_astray(view, tensor)
    return counter


def _new_storage(tensor: Tensor) -> Storage:
    with making:
        if tensor._storage is None:
            edge, value, strides = tensor._edge, tensor._value, tensor._spec.strides
            lifted = getattr(value, "origin", None) is not None  # its views are views of that
            if strides is not None and not lifted and overlaps_itself(tensor._spec.shape, strides):
                edge, value = None, _shown_once(value, strides)
            if edge is not None:
                storage = storage_made_by(edge, value, strides)
            else:
                storage = (InferenceStorage if tensor._spec.inference else Storage)(value, strides)
            join(tensor, storage)
        return tensor._storage  # type: ignore[return-value]


def _shown_once(value: Any, strides: tuple[int, ...]) -> Any:
    """The memory of what has stride 0 somewhere: a gradient. See Note [Gradients as views] in ``ops/kinds.py``."""
    shape = tuple(value.shape)
    first = tuple(length if stride else 1 for length, stride in zip(shape, strides, strict=True))
    return read_window(value, contiguous_strides(shape), first, contiguous_strides(shape), 0)


def lay_out_memory(tensor: Tensor, strides: tuple[int, ...] | None) -> None:
    """Let the elements of an output, which its node keeps, lie in memory as ``strides`` say (None: row-major).

    What the node hands out of it lies so, too, also what a hook on saved tensors was given. If such a hook has exposed
    the memory or written to it, it stays as it is.
    """
    storage = storage_of(tensor)
    if storage.written:
        return
    for member in storage.living():
        if member._spec.strides == storage.strides and member._spec.shape == tensor._spec.shape:
            member._spec = member._spec.replace(strides=strides)
    storage.strides = strides


def share(tensor: Tensor, other: Tensor, offset: int | None = None, view_bits: int | None = None) -> Tensor:
    """Put a tensor, which has its value and strides, on the memory of another one.

    ``offset`` and ``view_bits`` are those of the other, if they are not given.
    """
    storage = storage_of(other)
    tensor._offset = other._offset if offset is None else offset
    tensor._view_bits = other._view_bits if view_bits is None else view_bits
    if other._detached_from_outside:
        tensor._detached_from_outside = True
    if other._counter is not None:
        tensor._counter = other._counter
    join(tensor, storage)
    return tensor


def sharing_handle(tensor: Tensor, edge: Edge | None, **changes: Any) -> Tensor:
    """A tensor on the memory of another, no view of it, with a place in the graph, no tangent, and no class."""
    spec = tensor._spec.replace(plain=True, window=False, overrides=False, dual=False, **changes)
    storage = tensor._storage
    seen = 0 if storage is None else storage.data_version
    result = wrap(value_of(tensor), spec, edge)
    result._seen = seen
    return share(result, tensor)


def join(tensor: Tensor, storage: Storage) -> None:
    """Make a tensor, which has its value, a member of a storage.

    Whoever writes to the storage in another thread does so before or after. And when the tensor has a storage, all
    else is as it must be: an interrupt comes with a call, and there is none any more.
    """
    with making:
        spec = _spec_through(tensor, storage) if storage.written else tensor._spec
        storage.admit(tensor)
        tensor._storage, tensor._spec = storage, spec


def _spec_through(tensor: Tensor, storage: Storage) -> Spec:
    """The spec of a member that reads its value through the storage."""
    window = tensor._view is not None or tensor._detached_from_outside or not shows_all(tensor, storage)
    return tensor._spec.replace(plain=False, window=window)


def storage_to_write(tensor: Tensor) -> Storage:
    """The storage of a tensor that is about to be written to. No member of it is plain afterwards."""
    storage = storage_of(tensor)
    if not storage.written:
        mark_written(storage)
    return storage


def mark_written(storage: Storage) -> None:
    """Let the members of a storage read their values through it.

    It counts as written when that is so of all of them, whatever interrupts this: till then nothing is written to it,
    and who reads through it already finds what he had.
    """
    with making:
        if not storage.written:
            for member in storage.living():
                member._spec = _spec_through(member, storage)
            storage.written = True


writing = threading.RLock()
"""Held from reading a memory to replacing it, where a part of it is written: another thread may write another part."""


WORTH_REUSING = 1 << 16
"""From how many bytes on a memory is not copied when a part of it is written, if that can be helped."""


def donatable(storage: Storage) -> Storage | None:
    """The storage, if its next value may be put where the present one lies, and is put there at once; else None.

    Who reads the memory will read it anew: an interrupt may come with the value, and nobody tells them then.

    Note [Memory that is reused]
    A write makes another array, which costs as much as the memory is large, however small the part that is written. It
    need not be so if nobody but the storage holds the present array: then XLA may overwrite it. That nobody does is
    known from the array's reference count (other arrays in the same buffer XLA knows of), as long as no other thread
    can be reading it, and it was made by a write, so that it never was anybody else's. While a program is captured,
    nothing is reused: what is called then does not run before later.
    """
    value = storage.memory
    if capturing.by is not None or storage.shared or storage.watcher is not None or not storage.data_version:
        return None
    if type(value) is not ndarray and (value.nbytes < WORTH_REUSING or not is_ready(value) or is_traced(value)):
        return None  # NumPy writes to a small one in no time
    unshared = sys.getrefcount(value) == 3  # the storage's, ours, getrefcount's
    if not unshared or not alone() or type(storage) is not Storage:
        return None
    storage.writes += 1
    return storage


def write(tensor: Tensor, value: Any) -> None:
    """Replace the data of a tensor; all that share its memory see it, and its version goes up by one."""
    storage = tensor._storage
    writes = 0 if storage is None else storage.writes
    try:
        storage = put(tensor, value)
    except BaseException:
        storage = tensor._storage
        if storage is not None and storage.writes != writes:  # an interrupt, when it had been written
            counter_of(tensor).bump()
        raise
    counter = tensor._counter or storage.counter
    counter.version += 1  # nothing is called before it, not ``bump`` either
    if thread.modes.recording:
        counter.remember_place()


def count_write(tensor: Tensor) -> None:
    """Count a write to a tensor, of which nobody else tells."""
    storage_to_write(tensor)
    counter_of(tensor).bump()


def put(tensor: Tensor, value: Any) -> Storage:
    """``write`` without counting it; gives the memory that was written to."""
    storage = tensor._storage
    if capturing.by is not None:
        capturing.by.note(tensor)
        if is_shared(storage):
            withhold(storage)  # type: ignore[arg-type]
    if storage is None or not storage.written:
        storage = storage_to_write(tensor)
    spec = tensor._spec
    if spec.device.sharded and (not spec.window or shows_all(tensor, storage)):
        value = lay_out_as(value, storage.value, spec.device)
    if spec.inference:
        refuse_inference(tensor)
    if spec.level:
        _put_lifted(tensor, storage, value)
    elif not spec.window or shows_all(tensor, storage):
        storage.replace(value)
    else:
        place = spec.layout, tensor._offset, spec.dtype.numpy, tensor._view_bits
        if storage.shared and is_shared(storage):
            replace_part(storage, value, *place)
        else:
            holder = donatable(storage)
            storage.replace(write_window(storage.value, memory_layout(storage), value, *place, holder=holder))
    if spec.window and not spec.level:  # there what is read has another history than what was written
        tensor._value, tensor._seen = value, storage.data_version
    return storage


def _put_lifted(tensor: Tensor, storage: Storage, value: Any) -> None:
    """``put`` at a level: see Note [Histories further out] in ``lifted.py``."""
    spec, whole = tensor._spec, value
    through = value.written_through(tensor, storage.value) if isinstance(value, Opaque) else None
    if through is not None:
        storage.replace(through)
        return
    if spec.window and not shows_all(tensor, storage):
        place = spec.layout, tensor._offset, spec.dtype.numpy, tensor._view_bits
        with switched(grad=thread.modes.grad and not tensor._detached_from_outside):
            whole = write_window(storage.value, memory_layout(storage), value, *place)
        whole = whole.detached_from_outside() if tensor._detached_from_outside else whole
    storage.replace(whole.written_over(storage.value, tensor))

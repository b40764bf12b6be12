"""Tensors that are saved for backward and written to: PyTorch's way to allow it, and what immutable arrays give.

Note [Mutation of saved tensors]
Inside the context what is saved is kept by a handle. The storage of each saved tensor tells the context before it is
written to (``Storage.watcher``); the context then keeps the value as it is now for every handle on that version.
Arrays are immutable, so that this *clone* copies nothing. PyTorch's bookkeeping is shown under PyTorch's names, because
programs count its entries: all of them go when the last node that needs them goes.

Note [Saved tensors that survive]
``saved_tensors_survive_mutation`` needs no books: nodes keep a handle on the value instead of the tensor (``snapshot``
in ``dispatch/nodes/saved_tensor.py``), which no write can reach. It is a mode, so that programs without it run by other
plans.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary, WeakValueDictionary

from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.storage import Storage
from tapegrad._src.tensor.tensor import Tensor, storage_of, value_of, wrap
from tapegrad.autograd.grad_mode import ModeDecorator
from tapegrad.autograd.saved_tensors import saved_tensors_hooks

OUTSIDE = (
    "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    "in which the graph was originally recorded."
)


class Handle:
    """A thing that a node keeps instead of a tensor; one for each tensor and version."""

    __slots__ = ("__weakref__",)


class MutationContext:
    """The state of ``allow_mutation_on_saved_tensors``. See Note [Mutation of saved tensors].

    Attributes:
        cloned: by handle, what a tensor was before it was written to.
        original: by handle, the tensors that have not been written to since they were saved.
        tid_to_weakhandle: the handles that are alive, by tensor, storage and version.
        sid_to_tid: the keys of that map, by storage and version.
    """

    active: MutationContext | None = None

    def __init__(self) -> None:
        self.cloned: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.original: WeakKeyDictionary[Handle, Tensor] = WeakKeyDictionary()
        self.tid_to_weakhandle: WeakValueDictionary[tuple[int, int, int], Handle] = WeakValueDictionary()
        self.sid_to_tid: dict[tuple[int, int], set[tuple[int, int, int]]] = defaultdict(set)

    def clear(self) -> None:
        """Forget everything."""
        for entries in (self.cloned, self.original, self.tid_to_weakhandle, self.sid_to_tid):
            entries.clear()

    def _sid(self, storage: Storage) -> tuple[int, int]:
        return storage.serial, storage.writes

    def pack(self, tensor: Tensor) -> Handle:
        """A handle on a tensor as it is now."""
        storage = storage_of(tensor)
        storage.watcher = self.before_write
        sid = self._sid(storage)
        tid = (id(tensor), *sid)
        self.sid_to_tid[sid].add(tid)
        handle = self.tid_to_weakhandle.get(tid)
        if handle is None:
            handle = self.tid_to_weakhandle[tid] = Handle()
            self.original[handle] = tensor
        return handle

    def unpack(self, handle: Handle) -> Tensor:
        """The tensor as it was when it was saved. Raises AssertionError: in another context, or in none."""
        kept = self.cloned if handle in self.cloned else self.original
        if MutationContext.active is None or handle not in kept:
            raise AssertionError(OUTSIDE)
        return kept[handle]

    def before_write(self, storage: Storage) -> None:
        """Keep the present value for every handle on it."""
        for tid in self.sid_to_tid.get(self._sid(storage), ()):
            handle = self.tid_to_weakhandle.get(tid)
            if handle is not None and handle not in self.cloned:
                tensor = self.original.pop(handle)
                self.cloned[handle] = wrap(value_of(tensor), tensor._spec.bare)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[MutationContext]:
    """A context in which tensors that are saved for backward may be written to: gradients are those of what they were.

    Both the forward and the backward pass belong inside it. It gives the object that keeps the books, for inspection.

    Raises:
        RuntimeError: inside another such context.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.clone()
    ...     out = (y**2).sum()
    ...     y *= 0
    ...     out.backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if MutationContext.active is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    context = MutationContext.active = MutationContext()
    try:
        with saved_tensors_hooks(context.pack, context.unpack):
            yield context
    finally:
        context.clear()
        MutationContext.active = None


class saved_tensors_survive_mutation(ModeDecorator):
    """Let backward use the values that were saved, whatever is written to the tensors afterwards.

    PyTorch has no counterpart: there, writing to a tensor that a node has saved makes backward fail ("one of the
    variables needed for gradient computation has been modified by an inplace operation"), unless it was cloned before.
    Here no write changes an array: the old value is still there, and keeping it costs its memory, no copy. What is
    *recorded* inside the block has the gradients of the values as they were; backward may be called outside.

    It is a decorator too; ``set_saved_tensors_survive_mutation`` switches it on for good.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_survive_mutation():
    ...     y = x * 3
    ...     z = y * y
    ...     _ = y.zero_()
    >>> z.sum().backward()
    >>> x.grad
    tensor([18., 36.])
    """

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.previous: list[bool] = []

    def clone(self) -> saved_tensors_survive_mutation:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self.previous.append(thread.modes.surviving)
        thread.modes = thread.modes.replace(surviving=self.mode)

    def __exit__(self, *exception: object) -> None:
        thread.modes = thread.modes.replace(surviving=self.previous.pop())


def set_saved_tensors_survive_mutation(mode: bool) -> None:
    """Switch ``saved_tensors_survive_mutation`` on or off, for this thread and for those that are started later.

    Args:
        mode: whether it is on.

    Raises:
        TypeError: ``mode`` is no bool.

    >>> torch.autograd.graph.set_saved_tensors_survive_mutation(True)
    >>> x = torch.ones(2, requires_grad=True)
    >>> y = x.exp()
    >>> z = y.sin()
    >>> y += 1
    >>> z.sum().backward()
    >>> torch.autograd.graph.set_saved_tensors_survive_mutation(False)
    """
    if not isinstance(mode, bool):
        raise TypeError(f"set_saved_tensors_survive_mutation(): expected a bool, got {type(mode).__name__}")
    thread.modes = thread.modes.replace(surviving=mode)
    type(thread).modes = type(thread).modes.replace(surviving=mode)

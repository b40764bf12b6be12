"""Checkpointed calls that are recorded, but keep nothing for backward, which runs them again instead.

Note [Recomputation]
While a checkpointed function runs, hooks on saved tensors (``Frame.pack``) keep a ``Placeholder`` of each tensor and
nothing else. When backward reads the first of them (``Frame.unpack``), the function runs again, under other hooks
(``LaterRun.pack``): the n-th tensor that is saved then goes to the n-th placeholder. So:

- One backward call runs the function once, for all its placeholders. Each is read once and forgotten, also if the
  graph is kept. Outside of backward, each reading runs the function.
- The second run stops, by an exception, at the last tensor that the first one saved.
- A frame knows its placeholders weakly, and nodes own the frame through their hooks, so that all goes when the graph
  does. A placeholder that is gone (its node has run) is passed over.
- The arguments are kept as saved tensors too, under the hooks outside of the frame: to an enclosing checkpoint they
  are some of those that it computes again. This is what makes checkpoints nest.
- The second run is itself recorded, with detached tensors saved, so that it may contain a backward of its own.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any

from tapegrad._src.dispatch import SavedTensor, gradient_edge
from tapegrad._src.dispatch.nodes.packing import EverythingSavedError
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import enable_grad, no_grad
from tapegrad.autograd.running import engine
from tapegrad.autograd.saved_tensors import saved_tensors_hooks

TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\u2011debug mode globally.
"""


class CheckpointError(RuntimeError):
    """An error: the second run of a checkpointed function has not saved what the first has."""


class _StopRecomputationError(EverythingSavedError):
    """Ends a second run: everything that backward needs is there."""


class _Group(threading.local):
    current: GraphExecGroup | None = None


_group = _Group()


class GraphExecGroup:
    """A context in which checkpointed regions are computed again at most once, even by several backward calls.

    Those calls must not need the same saved tensor twice. Reentrant checkpoints know nothing of it.

    Raises:
        RuntimeError: on entry, inside another one.

    >>> from tapegrad.utils.checkpoint import checkpoint, GraphExecGroup
    >>> x, runs = torch.ones(2, requires_grad=True), []
    >>> a, b = checkpoint(lambda x: runs.append(1) or (x.sin(), x.exp()), x, use_reentrant=False)
    >>> with GraphExecGroup():
    ...     a.sum().backward(), b.sum().backward()
    (None, None)
    >>> len(runs)
    2
    """

    def __enter__(self) -> GraphExecGroup:
        if _group.current is not None:
            raise RuntimeError(
                f"GraphExecGroup contexts cannot be nested. Already inside group {_group.current}"
            )
        _group.current = self
        return self

    def __exit__(self, *exception: object) -> None:
        _group.current = None

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _group.current


def _occasion() -> Hashable:
    """The occasion that a recomputation is good for: this group of backward calls, this backward call, or just now."""
    if _group.current is not None:
        return _group.current
    task = engine.current_task
    return object() if task is None else task.id


class Placeholder:
    """Stands for a tensor that was saved in the first run; holds those of later runs, by occasion, until they are read.

    A tensor that has been read leaves None.
    """

    __slots__ = ("tensors", "__weakref__")

    def __init__(self) -> None:
        self.tensors: dict[Hashable, Tensor | None] = {}


class Frame:
    """A checkpointed call: how it is run again, and what it saved. See Note [Recomputation].

    Args:
        again: runs the function again on these arguments, under the circumstances of the first run.
        early_stop: whether a run ends with the last tensor needed.
        describe: what must be the same of tensors saved in both runs.
        on_error: gets a ``CheckpointError`` and raises what the user is to see; None for the error itself.
    """

    def __init__(
        self, again: Callable, *, early_stop: bool, describe: Callable[[Tensor], Any],
        on_error: Callable[[CheckpointError], Any] | None = None,
    ) -> None:  # fmt: skip
        self.again, self.early_stop, self.describe, self.on_error = again, early_stop, describe, on_error
        self.arguments: list[Any] = []
        self.placeholders: list[weakref.ref[Placeholder]] = []
        self.descriptions: list[Any] = []
        self.runs: dict[Hashable, LaterRun] = {}
        self.completed = False
        self.lenient = False

    def keep(self, args: tuple) -> None:
        """Keep the arguments for later runs."""
        self.arguments = [SavedTensor.of(x, gradient_edge(x)) if isinstance(x, Tensor) else x for x in args]

    def recording(self) -> saved_tensors_hooks:
        """The hooks for the first run."""
        return saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, tensor: Tensor) -> Placeholder:
        """Keep a placeholder of a tensor."""
        placeholder = Placeholder()
        self.placeholders.append(weakref.ref(placeholder))
        with no_grad():
            self.descriptions.append(self.describe(tensor))
        return placeholder

    def unpack(self, placeholder: Placeholder) -> Tensor:
        """The tensor that a placeholder stands for, computed again unless it was already, on this occasion.
        Raises CheckpointError: the second run was another than the first, or the tensor has been read on this occasion.
        """
        try:
            return self._unpack(placeholder)
        except CheckpointError as error:
            if self.on_error is None:
                raise
            self.on_error(error)
            raise

    def _unpack(self, placeholder: Placeholder) -> Tensor:
        occasion = _occasion()
        if occasion not in self.runs:
            self._run(occasion)
        tensor = placeholder.tensors[occasion]
        if tensor is None:
            raise CheckpointError(_read_twice())
        placeholder.tensors[occasion] = None
        if not isinstance(occasion, (int, GraphExecGroup)):
            self._forget(occasion)
        return tensor

    def _forget(self, occasion: Hashable) -> None:
        """Drop what a run gave for an occasion that will not come again."""
        del self.runs[occasion]
        for placeholder in filter(None, (reference() for reference in self.placeholders)):
            placeholder.tensors.pop(occasion, None)

    def _run(self, occasion: Hashable) -> None:
        """Run the function again."""
        arguments = [x.unpack(None) if isinstance(x, SavedTensor) else x for x in self.arguments]
        run = LaterRun(self, occasion)
        try:
            with saved_tensors_hooks(run.pack, run.unpack), enable_grad():
                self.again(*arguments)
        except _StopRecomputationError:
            pass
        self.runs[occasion] = run
        if not self.lenient:
            self._compare(run)

    def _compare(self, run: LaterRun) -> None:
        """Refuse a run that did not save what the first one did."""
        if run.saved != len(self.placeholders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.placeholders)}\n"
                f"Number of tensors saved during recomputation: {run.saved}.\n{TIP}"
            )
        differences = ""
        for position, (reference, before) in enumerate(zip(self.placeholders, self.descriptions, strict=True)):
            placeholder = reference()
            if placeholder is None:
                continue
            now = self.describe(placeholder.tensors[run.occasion])  # type: ignore[arg-type]
            if now != before:
                differences += (
                    f"tensor at position {position}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n"
                )
        if differences:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                f"during the forward pass.\n{differences}.\n{TIP}"
            )


def _read_twice() -> str:
    overlap = (
        "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute "
        "gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
    )
    return (
        "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
        f"{'' if _group.current is None else overlap}If you are calling ctx.saved_tensors in backward, make sure to do "
        "so only once. Otherwise please open an issue with details on your use case."
    )


class LaterRun:
    """One later run of a checkpointed function: its hooks hand what it saves to the placeholders, in order.

    It holds its frame weakly: the graph that it records may outlive the frame, and must not keep it alive.
    """

    def __init__(self, frame: Frame, occasion: Hashable) -> None:
        self.frame = weakref.ref(frame)
        self.occasion = occasion
        self.saved = 0

    def pack(self, tensor: Tensor) -> Tensor:
        """Hand a tensor to the placeholder whose turn it is; what the run itself saves is the tensor, detached."""
        tensor = tensor.detach() if tensor.requires_grad else tensor
        frame = self.frame()
        assert frame is not None, "Internal error: target_frame reference is None"
        position, self.saved = self.saved, self.saved + 1
        if position >= len(frame.placeholders):
            self._surplus(frame)
            return tensor
        placeholder = frame.placeholders[position]()
        if placeholder is not None:  # else a backward inside the function has freed it
            placeholder.tensors[self.occasion] = tensor
        if frame.early_stop and self.saved == len(frame.placeholders):
            raise _StopRecomputationError
        return tensor

    @staticmethod
    def _surplus(frame: Frame) -> None:
        """Refuse a tensor too many, unless this is a backward inside of a first run that has not come to its end."""
        assert not frame.early_stop, "Unexpected state: target_frame.early_stop is set"
        if frame.completed:
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                f"forward pass.\n{TIP}"
            )
        frame.lenient = True

    @staticmethod
    def unpack(tensor: Tensor) -> Tensor:
        """Give what was kept: it is the tensor."""
        return tensor

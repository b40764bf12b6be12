"""Hooks on tensors that are saved for backward: ``saved_tensors_hooks`` and its kin.

The hooks in force are the thread's: a stack of pairs (pack, unpack) of which the innermost is used
(``thread.saved_hooks``; see Note [Saved tensors] in ``dispatch/nodes/saved_tensor.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tapegrad._src.dispatch.nodes.saved_tensor import Hooks, check_hooks, incompatible
from tapegrad._src.execution.data.devices import device
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor


def _use(stack: tuple[Hooks, ...]) -> None:
    thread.saved_hooks = stack
    thread.modes = thread.modes.replace(saved_hooks=bool(stack))


def push_hooks(*hooks: Any) -> None:
    """Use a pair ``(pack, unpack)`` for what this thread saves from here on.
    Raises TypeError: not two callables. RuntimeError: such hooks are disabled now; the text is what ``disable_hooks``
    was given.
    """
    check_hooks("_push_saved_tensors_default_hooks", hooks)
    if thread.saved_hooks_disabled is not None:
        raise RuntimeError(thread.saved_hooks_disabled)
    _use((*thread.saved_hooks, hooks))


def pop_hooks() -> None:
    """Go back to the hooks that were in force before the last ``push_hooks``.
    Raises RuntimeError: there are none to take off.
    """
    if not thread.saved_hooks:
        raise RuntimeError("there are no saved tensors hooks to pop: each push is popped once")
    _use(thread.saved_hooks[:-1])


def top_hooks(ignore_is_tracing: bool) -> Hooks | None:
    """The pair in force, or None."""
    return thread.saved_hooks[-1] if thread.saved_hooks else None


def hooks_are_enabled() -> bool:
    """Tell whether hooks may be pushed on this thread."""
    return thread.saved_hooks_disabled is None


def enable_hooks() -> None:
    """Allow hooks to be pushed again."""
    thread.saved_hooks_disabled = None


def disable_hooks(error_message: Any, fail_if_non_empty: bool = True) -> None:
    """Refuse, with this message, hooks that are pushed from here on.
    Raises TypeError: the message is no text. RuntimeError: the message itself, if there are hooks in force already and
    ``fail_if_non_empty``.
    """
    if not isinstance(error_message, str):
        signature = "(error_message: str, fail_if_non_empty: bool = True) -> None"
        raise TypeError(incompatible("_saved_tensors_hooks_disable", signature, (error_message,)))
    thread.saved_hooks_disabled = error_message
    if fail_if_non_empty and thread.saved_hooks:
        raise RuntimeError(error_message)


def disabled_message() -> str | None:
    """Why hooks may not be pushed now, or None."""
    return thread.saved_hooks_disabled


class saved_tensors_hooks:
    """A context in which each tensor that is saved for backward goes through hooks.

    Args:
        pack_hook: called with a tensor when it is saved; what it returns is kept instead. It may not write to the
            tensor.
        unpack_hook: called with what was kept whenever the tensor is read; must return a tensor of the same content.

    Raises:
        RuntimeError: on entry, inside ``disable_saved_tensors_hooks``.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), lambda kept: torch.tensor(kept)):
    ...     y = x * x
    >>> y.sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        push_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exception: object) -> None:
        pop_hooks()


class save_on_cpu(saved_tensors_hooks):
    """A context in which what is saved for backward waits in the host's memory, and goes back when it is read.

    Args:
        pin_memory: accepted, and without effect: the copies are the same.
        device_type: accepted, and without effect: a tensor goes back to the device that it came from.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[device, Tensor]:
            copy = tensor.cpu()
            return tensor.device, copy.clone() if pin_memory and copy is tensor else copy

        def unpack(packed: tuple[device, Tensor]) -> Tensor:
            origin, tensor = packed
            return tensor.to(origin, non_blocking=pin_memory)

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A context in which ``saved_tensors_hooks`` may not be entered; trying raises ``RuntimeError(error_message)``.

    Raises:
        RuntimeError: the same, on entry, if there are hooks in force already.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
    RuntimeError: not here
    """
    previous = disabled_message()
    try:
        disable_hooks(error_message)
        yield
    finally:
        enable_hooks() if previous is None else disable_hooks(previous)

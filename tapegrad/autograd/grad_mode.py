"""Switching gradient recording off and on, and other modes of the thread: context managers, decorators, functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, TypeVar

from tapegrad._src.bindings.declaration.handing import overridden
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.positions import note_grad_switch
from tapegrad._src.tensor.tensor import Tensor, count_write, counter_of, storage_to_write
from tapegrad._src.warn import warn

F = TypeVar("F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Tell whether grad mode is on in this thread; operators are recorded then, except in inference mode."""
    return thread.modes.grad_enabled


@public("torch", asks="nobody")
def is_inference_mode_enabled() -> bool:
    """Tell whether inference mode is on in this thread."""
    return thread.modes.inference


def _set_grad_enabled(mode: bool) -> None:
    """Set the grad mode; a function mode, if one is on, is handed the call."""
    if thread.modes.function_modes:
        overridden(_set_grad_enabled, (mode,), None, (), "native")
    else:
        thread.modes = thread.modes.with_grad(mode)


_set_grad_enabled.torch_name = "torch._C._set_grad_enabled"  # type: ignore[attr-defined]


def is_multithreading_enabled() -> bool:
    """Tell whether backward calls of this thread may use further threads."""
    return thread.modes.multithreading


@public("torch", "Tensor")
def is_inference(input: Tensor) -> bool:
    """Tell whether a tensor was made in inference mode; see ``inference_mode``."""
    return input._spec.inference


class ModeDecorator:
    """A context manager that is a decorator too, of functions and of generators.

    A decorated generator has the mode only while its body runs; its caller keeps its own at every suspension.
    """

    def clone(self) -> Self:
        """A fresh instance with the same arguments, for one more entry."""
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
            )
            return _decorated(self, function)
        if inspect.isgeneratorfunction(function):
            return _decorated_generator(self, function)
        return _decorated(self, function)


def _decorated(context: ModeDecorator, function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context.clone():
            return function(*args, **kwargs)

    return call


def _decorated_generator(context: ModeDecorator, function: Any) -> Any:
    @functools.wraps(function)
    def generate(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        try:
            with context.clone():
                response = generator.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with context.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    with context.clone():
                        response = generator.throw(error)
                else:
                    with context.clone():
                        response = generator.send(request)
        except StopIteration as stop:
            return stop.value

    return generate


class _Switch(ModeDecorator):
    """Sets the grad mode on entry and restores the caller's on exit."""

    enabled: bool

    def __new__(cls, orig_func: Any = None) -> Any:
        return object.__new__(cls) if orig_func is None else object.__new__(cls)(orig_func)

    def __enter__(self) -> None:
        before = thread.modes
        self.previous = before.grad_enabled
        note_grad_switch(self.previous, self.enabled)
        self.before, self.inside = before, before.with_grad(self.enabled)
        if before.function_modes:
            _set_grad_enabled(self.enabled)
        else:
            thread.modes = self.inside

    def __exit__(self, *exception: object) -> None:
        modes = thread.modes
        if modes is self.inside and not modes.function_modes:  # nothing is called first: an interrupt would come then
            thread.modes = self.before
        else:
            _set_grad_enabled(self.previous)
        note_grad_switch(self.enabled, self.previous, known=False)


class no_grad(_Switch):
    """Record nothing: results of operators don't require grad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    enabled = False


class enable_grad(_Switch):
    """Record again, inside ``no_grad``."""

    enabled = True


class set_grad_enabled(ModeDecorator):
    """Set the grad mode at once, as a function; restore it, as a context manager; or decorate.

    Raises:
        TypeError: ``mode`` is no bool.
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        self.previous = thread.modes.grad_enabled
        self.mode = mode
        note_grad_switch(self.previous, mode)
        _set_grad_enabled(mode)

    def __call__(self, function: F) -> F:
        _set_grad_enabled(self.previous)
        return super().__call__(function)

    def __enter__(self) -> None:
        note_grad_switch(thread.modes.grad_enabled, self.mode)
        _set_grad_enabled(self.mode)

    def __exit__(self, *exception: object) -> None:
        note_grad_switch(self.mode, self.previous, known=False)
        _set_grad_enabled(self.previous)

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __str__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__


class inference_mode(ModeDecorator):
    """Record nothing, and make tensors that never can be: they have no version counter and aren't saved for backward.

    Functions make inference tensors inside; a view is an inference tensor if its base is one. Tensors made outside stay
    what they are. With ``mode=False``, inside, everything is as outside, and grad mode is on.

    Args:
        mode: whether to switch the mode on or off; or a function, which then always runs in inference mode.

    >>> with torch.inference_mode():
    ...     x = torch.ones(2) * 2
    >>> x.is_inference(), torch.ones(2, requires_grad=True) + x
    (True, tensor([3., 3.], grad_fn=<AddBackward0>))
    """

    def __new__(cls, mode: Any = True) -> Any:
        return object.__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        modes = thread.modes
        self.previous = {
            "inference": modes.inference, "grad": modes.grad_enabled, "forward_grad": modes.forward_grad
        }  # fmt: skip
        note_grad_switch(modes.grad_enabled, not self.mode)
        thread.modes = modes.replace(inference=self.mode, grad=not self.mode, forward_grad=not self.mode)

    def __exit__(self, *exception: object) -> None:
        note_grad_switch(not self.mode, self.previous["grad"], known=False)
        thread.modes = thread.modes.replace(**self.previous)

    def clone(self) -> inference_mode:
        return type(self)(self.mode)


class set_multithreading_enabled(ModeDecorator):
    """Allow backward calls of this thread to use further threads, or not; at once, and undone by a ``with`` block."""

    def __init__(self, mode: bool) -> None:
        self.previous = thread.modes.multithreading
        self.mode = mode
        _set_multithreading_enabled(mode)

    def __enter__(self) -> None:
        """The mode has been set already."""

    def __exit__(self, *exception: object) -> None:
        _set_multithreading_enabled(self.previous)

    def clone(self) -> set_multithreading_enabled:
        return type(self)(self.mode)


def _set_multithreading_enabled(mode: bool) -> None:
    if not isinstance(mode, bool):
        raise TypeError(
            f"set_multithreading_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
        )
    if thread.modes.function_modes:
        overridden(_set_multithreading_enabled, (mode,), None, (), "native")
    else:
        thread.modes = thread.modes.replace(multithreading=mode)


class _force_original_view_tracking(ModeDecorator):
    """Say whether views that were written to are made again step by step, from here on or in a block.

    They always are here: what is set is kept, for each thread, and changes nothing.

    >>> with torch.autograd._force_original_view_tracking(True):
    ...     torch._C._is_view_replay_enabled()
    True
    """

    def __init__(self, mode: bool) -> None:
        self.previous, self.mode = thread.view_replay, mode
        _set_view_replay_enabled(mode)

    def __call__(self, function: F) -> F:
        _set_view_replay_enabled(self.previous)
        return super().__call__(function)

    def __enter__(self) -> None:
        """It was set already."""

    def __exit__(self, *exception: object) -> None:
        _set_view_replay_enabled(self.previous)

    def clone(self) -> _force_original_view_tracking:
        return type(self)(self.mode)


def _set_view_replay_enabled(mode: bool) -> None:
    if not isinstance(mode, bool):
        raise TypeError(
            f"set_view_replay_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
        )
    thread.view_replay = mode


def _is_view_replay_enabled() -> bool:
    return thread.view_replay


class _unsafe_preserve_version_counter(ModeDecorator):
    """Hide writes to tensors from autograd: after the block their versions are what they were when this was made.

    Backward goes by the data that it finds then.

    Args:
        tensors: one tensor, or a tuple of them.

    >>> x = torch.zeros(2)
    >>> with torch.autograd._unsafe_preserve_version_counter(x):
    ...     x.add_(1)._version
    1
    >>> x._version
    0
    """

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("Expected tensors to be a tuple")
        self.versions = tuple(tensor._version for tensor in self.tensors)

    def __enter__(self) -> None:
        """The versions have been noted already."""

    def __exit__(self, *exception: object) -> None:
        set_versions(self.tensors, self.versions)


# Versions -------------------------------------------------------------------------------------------------------------


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Tell autograd that a tensor, or each of several, was written to in a way that it can't know of.

    Inference tensors, which have no version, stay as they are.

    Raises:
        RuntimeError: neither a tensor nor an iterable of tensors.

    >>> x = torch.zeros(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if not isinstance(tensor, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    tensors: Any = (tensor,) if isinstance(tensor, Tensor) else tensor
    for one in tensors:
        if not isinstance(one, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not one._spec.inference:
            count_write(one)


def set_versions(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Set the version counters of tensors, for those who hide writes from autograd.
    Raises TypeError: no sequences of tensors and of integers. RuntimeError: not as many versions as tensors, a negative
    version, or an inference tensor.
    """
    if not _are(tensors, Tensor) or not _are(versions, int):
        raise TypeError(
            "_unsafe_set_version_counter(): incompatible function arguments. The following argument types are "
            "supported:\n    1. (arg0: collections.abc.Sequence[torch.Tensor], arg1: collections.abc.Sequence"
            "[typing.SupportsInt | typing.SupportsIndex]) -> None"
        )
    if len(tensors) != len(versions):
        raise RuntimeError(f"tensors_len={len(tensors)}, versions_len={len(versions)}")
    for tensor, version in zip(tensors, versions, strict=True):
        if tensor._spec.inference:
            raise RuntimeError(
                "Tried to call torch.autograd._unsafe_set_version() on a tensor that does not have a version counter. "
                "Was it created in inference mode?"
            )
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
        storage_to_write(tensor)
        counter_of(tensor).version = version


def _are(items: Any, kind: type) -> bool:
    return isinstance(items, Sequence) and all(isinstance(item, kind) for item in items)

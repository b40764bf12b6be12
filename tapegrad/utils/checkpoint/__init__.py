"""Functions that keep little for backward, and are computed again there: ``torch.utils.checkpoint``.

``checkpoint(..., use_reentrant=False)`` records the function and keeps placeholders of what it saves (see Note
[Recomputation] in ``recomputation.py``). ``use_reentrant=True`` runs it unrecorded, as one custom function, whose
backward records it on detached inputs and runs backward through that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from tapegrad._src.bindings.declaration.registry import UNSET
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.differentiate import backward
from tapegrad.autograd.function import Function
from tapegrad.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad
from tapegrad.autograd.graph_task import is_checkpoint_valid
from tapegrad.utils.checkpoint.debug import Debugging
from tapegrad.utils.checkpoint.recomputation import CheckpointError, Frame, GraphExecGroup
from tapegrad.utils.checkpoint.selective import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from tapegrad.utils.checkpoint.state import (
    DefaultDeviceType,
    Surroundings,
    _infer_device_type,
    get_device_states,
    set_device_states,
)

__all__ = [
    "SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType",
    "GraphExecGroup", "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "create_selective_checkpoint_contexts", "detach_variable", "get_device_states", "noop_context_fn",
    "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip

Contexts = tuple[AbstractContextManager, AbstractContextManager]

_SUPPRESSED = (
    "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
    "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
)
_WHY_USE_REENTRANT = (
    "use_reentrant=False is recommended, but if you need to preserve the current default behavior, you can pass "
    "use_reentrant=True. Refer to docs for more details on the differences between the two variants."
)


class _Switches:
    """The settings that the context managers of this module make for the whole process; None leaves it to the
    arguments."""

    early_stop: bool | None = None
    debug: bool | None = None


@contextmanager
def _switch(name: str, value: bool | None) -> Iterator[None]:
    before = getattr(_Switches, name)
    setattr(_Switches, name, value)
    try:
        yield
    finally:
        setattr(_Switches, name, before)


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """A context whose checkpoints stop computing again as soon as all that is needed is there, or don't.

    What counts is where the forward is; the backward may be outside.
    """
    return _switch("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """A context whose checkpoints log their operators, or don't, whatever their ``debug`` says (None: as it says)."""
    return _switch("debug", enabled)


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: what ``checkpoint`` uses unless given others."""
    return nullcontext(), nullcontext()


def detach_variable(inputs: tuple) -> tuple:
    """The tensors of a tuple as leaves, with the same ``requires_grad``; anything else as it is.

    Raises:
        RuntimeError: no tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return tuple(
        item.detach().requires_grad_(item.requires_grad) if isinstance(item, Tensor) else item for item in inputs
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among ``inputs`` requires grad."""
    if not any(item.requires_grad for item in inputs if isinstance(item, Tensor)):
        warn("None of the inputs have requires_grad=True. Gradients will be None")


class CheckpointFunction(Function):
    """A function that is run without recording, and again, recorded, in backward: ``use_reentrant=True``."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable, preserve_rng_state: bool, *args: Any) -> Any:
        """The result of the function, with nothing recorded.

        Args:
            ctx: the node.
            run_function: the function.
            preserve_rng_state: whether it draws the same numbers again in backward.
            args: its arguments.
        """
        check_backward_validity(args)
        _infer_device_type(*args)
        ctx.run_function = run_function
        ctx.surroundings = Surroundings(preserve_rng_state)
        ctx.inputs = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.tensor_indices = [position for position, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx.save_for_backward(*[args[position] for position in ctx.tensor_indices])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run the function again, and backward through it.

        Raises:
            RuntimeError: in ``autograd.grad``, or ``backward`` with ``inputs``; or no output requires grad.
        """
        if not is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for position, tensor in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[position] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.surroundings.again(), enable_grad():
            outputs = ctx.run_function(*detached)
        _backward_through((outputs,) if isinstance(outputs, Tensor) else outputs, grads)
        return (None, None, *(item.grad if isinstance(item, Tensor) else None for item in detached))


def _backward_through(outputs: Iterable[Any], grads: tuple) -> None:
    """Run backward from those outputs that require grad. Raises RuntimeError: there are none."""
    roots = [
        (out, grads[position])
        for position, out in enumerate(outputs)
        if isinstance(out, Tensor) and out.requires_grad
    ]
    if not roots:
        raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
    backward([out for out, _ in roots], [grad for _, grad in roots])


def checkpoint(
    function: Callable, *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn, determinism_check: str = "default", debug: bool = False,
    early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call ``function(*args, **kwargs)`` without keeping what it saves for backward; there it is computed again.

    Args:
        use_reentrant: True for the variant that runs the function as one node, False for the one that records it. Say
            which: None warns, and means True. With True, keyword arguments, ``context_fn`` and ``debug`` are refused,
            ``grad()`` and ``backward(inputs=)`` raise, and tensors inside of containers are constants.
        context_fn: makes two contexts, one for the function, one for computing it again.
        determinism_check: ``"default"`` compares shapes, dtypes and devices of what is saved both times, ``"none"``
            only how many there are.
        debug: say, when both times differ, which operators ran.
        early_stop: stop computing again as soon as everything that is needed is there.
        preserve_rng_state: (in ``kwargs``; True) use the same random numbers again.

    Raises:
        ValueError: arguments that the variant does not take; an unknown ``determinism_check``.
        CheckpointError: from backward, when the function does not do the same again.

    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> y = checkpoint(lambda x: x.exp().exp(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([ 2.7183, 41.1936])
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, "
            f"calling checkpoint without use_reentrant will raise an exception. {_WHY_USE_REENTRANT}"
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        frame, contexts = _frame(function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop)
        return _record(frame, contexts, function, args, kwargs)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def _metadata(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_DETERMINISM_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": _metadata, "none": lambda tensor: None}


def _frame(
    function: Callable, args: tuple, kwargs: dict, preserve_rng_state: bool, context_fn: Callable[[], Contexts],
    determinism_check: str, debug: bool, early_stop: bool,
) -> tuple[Frame, AbstractContextManager]:  # fmt: skip
    """The frame of a call, and the context for its first run."""
    on_error = None
    if debug if _Switches.debug is None else _Switches.debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        debugging = Debugging()
        context_fn, on_error = debugging.contexts, debugging.explain
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(
            f"determinism_check should be one of {list(_DETERMINISM_CHECKS)}, but got {determinism_check}"
        )
    _infer_device_type(*args)
    first, second = context_fn()
    surroundings = Surroundings(preserve_rng_state)

    def again(*arguments: Any) -> None:
        with surroundings.again(), second:
            function(*arguments, **kwargs)

    stop = early_stop if _Switches.early_stop is None else _Switches.early_stop
    frame = Frame(again, early_stop=stop, describe=_DETERMINISM_CHECKS[determinism_check], on_error=on_error)
    return frame, first


def _record(frame: Frame, context: AbstractContextManager, function: Callable, args: tuple, kwargs: dict) -> Any:
    """The first run of a checkpointed function."""
    if not is_grad_enabled():
        return function(*args, **kwargs)
    frame.keep(args)
    result = UNSET
    with frame.recording(), context:
        result = function(*args, **kwargs)
    if result is UNSET:
        raise RuntimeError(_SUPPRESSED)
    frame.completed = True
    return result


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Apply functions one after another, in segments that are checkpointed, all but the last.

    Args:
        functions: a list of functions or modules, or a module that can be iterated (``Sequential``).
        segments: how many segments to make.
        input: what the first function takes; each takes what the one before returned.
        use_reentrant, preserve_rng_state: as for ``checkpoint``.

    Raises:
        ValueError: other keyword arguments.

    >>> x = torch.ones(2, requires_grad=True)
    >>> checkpoint_sequential([torch.exp, torch.log, torch.exp], 2, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([2.7183, 2.7183])
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In "
            f"version 2.9 we will raise an exception if use_reentrant is not passed. {_WHY_USE_REENTRANT}"
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {','.join(kwargs)}")
    functions = list(functions)
    size = len(functions) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        part = _chain(functions[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _chain(functions[last:])(input)


def _chain(functions: list[Callable]) -> Callable[[Any], Any]:
    def forward(input: Any) -> Any:
        for function in functions:
            input = function(input)
        return input

    return forward

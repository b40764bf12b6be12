"""Hooks of modules: those of all modules, and a call of a module that has some.

Note [Calls with hooks]
The order is PyTorch's: forward pre-hooks (those of all modules first), the inputs go through a ``BackwardHook``,
``forward``, forward hooks, and the outputs go through the ``BackwardHook``. A hook that was registered with
``always_call`` runs also if one of these raises; what it raises itself is then only a warning.
"""

from __future__ import annotations

import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from tapegrad._src.tape.hooks import RemovableHandle
from tapegrad._src.tape.hooks import module_forward as forward
from tapegrad._src.tape.hooks import module_forward_always_called as forward_always_called
from tapegrad._src.tape.hooks import module_forward_pre as forward_pre
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.backward_hook import BackwardHook

buffer_registration: OrderedDict[int, Callable] = OrderedDict()
module_registration: OrderedDict[int, Callable] = OrderedDict()
parameter_registration: OrderedDict[int, Callable] = OrderedDict()
backward_pre: OrderedDict[int, Callable] = OrderedDict()
backward: OrderedDict[int, Callable] = OrderedDict()
forward_with_kwargs: OrderedDict[int, bool] = OrderedDict()


class Kind:
    """The fact whether the backward hooks of all modules are full ones; None before there were any."""

    is_full: bool | None = None


def add(hooks: OrderedDict, hook: Callable, *marks: OrderedDict, prepend: bool = False) -> RemovableHandle:
    """Put a hook into a dictionary of hooks, and its handle's id into those that say more of it.

    Args:
        hooks: where hooks are kept by their id.
        hook: the hook.
        marks: the dictionaries that are to have the id, too.
        prepend: whether it is to be the first one.
    """
    handle = RemovableHandle(hooks, extra_dict=list(marks))
    hooks[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def replaced(hooks: OrderedDict[int, Callable], module: Any, name: str, value: Any) -> Any:
    """The thing that is registered under a name when the hooks have seen it: the last that one of them returned."""
    for hook in hooks.values():
        output = hook(module, name, value)
        if output is not None:
            value = output
    return value


# Hooks of all modules -------------------------------------------------------------------------------------------------


def register_module_buffer_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """``hook(module, name, buffer)`` is called for every buffer that a module registers, and may return another one."""
    return add(buffer_registration, hook)


def register_module_module_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """``hook(module, name, submodule)`` is called for every module that one registers, and may return another one."""
    return add(module_registration, hook)


def register_module_parameter_registration_hook(hook: Callable[..., None]) -> RemovableHandle:
    """``hook(module, name, param)`` is called for every parameter that a module registers, and may return another."""
    return add(parameter_registration, hook)


def register_module_forward_pre_hook(hook: Callable[..., None]) -> RemovableHandle:
    """``hook(module, args)`` is called before ``forward`` of every module, and may return other arguments."""
    return add(forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., None], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """``hook(module, args, output)`` is called after ``forward`` of every module, and may return another output.

    Args:
        hook: the function; with ``with_kwargs`` it is called as ``hook(module, args, kwargs, output)``.
        with_kwargs: whether it gets the keyword arguments.
        always_call: whether it is called also if ``forward`` raises.
    """
    marks = [forward_with_kwargs] * with_kwargs + [forward_always_called] * always_call
    return add(forward, hook, *marks)


def register_module_backward_hook(hook: Callable) -> RemovableHandle:
    """The hook that ``register_module_full_backward_hook`` replaces: it sees the last node of each module only.

    Raises:
        RuntimeError: full backward hooks have been registered for all modules.
    """
    return add_backward(hook, is_full=False)


def register_module_full_backward_pre_hook(hook: Callable) -> RemovableHandle:
    """``hook(module, grad_output)`` is called before the backward of every module, and may return other gradients."""
    return add(backward_pre, hook)


def register_module_full_backward_hook(hook: Callable) -> RemovableHandle:
    """``hook(module, grad_input, grad_output)`` is called after the backward of every module.

    It may return what is to be taken for ``grad_input``.

    Raises:
        RuntimeError: hooks of ``register_module_backward_hook`` are there.
    """
    return add_backward(hook, is_full=True)


def add_backward(hook: Callable, is_full: bool) -> RemovableHandle:
    """Register a backward hook of all modules; they are all of one kind."""
    if Kind.is_full is (not is_full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )
    Kind.is_full = is_full
    return add(backward, hook)


# A call ---------------------------------------------------------------------------------------------------------------


class WrappedHook:
    """A hook that gets its module first, which it doesn't keep alive; it is pickled with it.

    Args:
        hook: the function.
        module: the module, if it wants one.
    """

    def __init__(self, hook: Callable, module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module: Any = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        return {**state, "module": self.module()} if self.with_module else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


class HookedCall:
    """One call of a module that has hooks: Note [Calls with hooks].

    Attributes:
        module: the module.
        args, kwargs: its arguments, as the hooks have left them.
        result: its output, None while there is none.
        called: the ids of the hooks with ``always_call`` that have been called.
    """

    __slots__ = ("module", "args", "kwargs", "result", "called")

    def __init__(self, module: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self) -> Any:
        """Call the module and its hooks."""
        try:
            return self.complete()
        except Exception:
            self.call_remaining(forward, forward_always_called, forward_with_kwargs, "global module")
            own = self.module
            always, with_kwargs = own._forward_hooks_always_called, own._forward_hooks_with_kwargs
            self.call_remaining(own._forward_hooks, always, with_kwargs, "module")
            raise

    def complete(self) -> Any:
        """Everything, where nothing raises."""
        module = self.module
        pre_hooks = [*backward_pre.values(), *module._backward_pre_hooks.values()]
        full, partial = module._get_backward_hooks()
        self.before()
        around = BackwardHook(module, full, pre_hooks) if full or pre_hooks else None
        if around is not None:
            self.args = around.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self.after()
        if around is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but "
                    f"received {type(self.result)}"
                )
            self.result = around.setup_output_hook(self.result)
        if partial:
            hook_last_node(module, partial, self.args, self.result)
        return self.result

    def before(self) -> None:
        """The hooks before ``forward``."""
        with_kwargs = self.module._forward_pre_hooks_with_kwargs
        for key, hook in (*forward_pre.items(), *self.module._forward_pre_hooks.items()):
            if key not in with_kwargs:
                given = hook(self.module, self.args)
                if given is not None:
                    self.args = given if isinstance(given, tuple) else (given,)
                continue
            given = hook(self.module, self.args, self.kwargs)
            if isinstance(given, tuple) and len(given) == 2:
                self.args, self.kwargs = given
            elif given is not None:
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {given}."
                )

    def after(self) -> None:
        """The hooks after ``forward``."""
        own = self.module
        for key, hook in (*forward.items(), *own._forward_hooks.items()):
            if key in forward_always_called or key in own._forward_hooks_always_called:
                self.called.add(key)
            self.call_after(hook, key in forward_with_kwargs or key in own._forward_hooks_with_kwargs)

    def call_after(self, hook: Callable, with_kwargs: bool) -> None:
        """One hook after ``forward``."""
        more = (self.kwargs,) if with_kwargs else ()
        given = hook(self.module, self.args, *more, self.result)
        if given is not None:
            self.result = given

    def call_remaining(self, hooks: dict, always: dict, with_kwargs: dict, what: str) -> None:
        """The hooks that run whatever happens, and have not yet; what they raise is a warning."""
        for key, hook in hooks.items():
            if key not in always or key in self.called:
                continue
            try:
                self.call_after(hook, key in with_kwargs)
            except Exception as error:
                warn(
                    f"{what} forward hook with ``always_call=True`` raised an exception that was silenced as another "
                    f"error was raised in forward: {error!s}"
                )


# Backward hooks of the old kind ---------------------------------------------------------------------------------------


def hook_last_node(module: Any, hooks: list[Callable], inputs: Any, result: Any) -> None:
    """Let hooks see the gradients of the node that made a module's first output."""
    first = result
    while not isinstance(first, Tensor):
        values = iter(first.values()) if isinstance(first, dict) else None
        first = next(value for value in values if isinstance(value, Tensor)) if values else first[0]
    node = first.grad_fn
    if node is not None:
        for hook in hooks:
            node.register_hook(WrappedHook(hook, module))
        warn_of_partial_view(inputs, result, node)


MISSING = " is deprecated and will be removed in future versions. This hook will be missing some of the "
MISSING_SOME = MISSING.removesuffix("of the ")
DOCUMENTED = " Please use register_full_backward_hook to get the documented behavior."


def warn_of_partial_view(inputs: Any, result: Any, node: Any) -> None:
    """Say where a hook on the last node sees less than a module's gradients."""
    what = partial_view(as_tensors(inputs), as_tensors(result), node)
    if what:
        warn(what, FutureWarning)


def as_tensors(value: Any) -> tuple | None:
    """One tensor or a tuple of them as a tuple; None if it is something else."""
    if isinstance(value, Tensor):
        return (value,)
    return value if isinstance(value, tuple) and all(isinstance(item, Tensor) for item in value) else None


def partial_view(inputs: tuple | None, outputs: tuple | None, node: Any) -> str | None:
    """The part of a module that a hook on its last node misses, as a sentence, or None."""
    start = "Using non-full backward hooks on a Module that does not "
    if outputs is None:
        return f"{start}return a single Tensor or a tuple of Tensors{MISSING}grad_output.{DOCUMENTED}"
    if inputs is None:
        return f"{start}take as input a single Tensor or a tuple of Tensors{MISSING}grad_input.{DOCUMENTED}"
    nodes = {output.grad_fn for output in outputs if output.grad_fn is not None}
    start = "Using a non-full backward hook when "
    if not nodes or (len(nodes) == 1 and node not in nodes):
        return f"{start}outputs are nested in python data structure{MISSING_SOME}grad_output."
    if len(nodes) > 1:
        return f"{start}outputs are generated by different autograd Nodes{MISSING_SOME}grad_output.{DOCUMENTED}"
    if {x.grad_fn for x in inputs if x.grad_fn is not None} != {edge[0] for edge in node.next_functions}:
        return f"{start}the forward contains multiple autograd Nodes{MISSING_SOME}grad_input.{DOCUMENTED}"
    return None

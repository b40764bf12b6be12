"""``torch.autograd.Function``: functions with a backward of the user's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tapegrad._src.dispatch.nodes.error import DelayedError
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.function_call import run_function
from tapegrad.autograd.function_levels import apply as apply_at_level
from tapegrad.autograd.function_levels import taken_along
from tapegrad.autograd.function_mapped import no_vmap
from tapegrad.autograd.function_node import BackwardCFunction, FunctionBase, FunctionCtx, HookMixin, no_backward
from tapegrad.autograd.grad_mode import no_grad

__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "NestedIOFunction",
    "once_differentiable",
]  # fmt: skip


class FunctionMeta(type):
    """Makes the class of a Function's nodes along with the Function.

    Args:
        name, bases, attrs: those of the class.
    """

    def __init__(cls, name: str, bases: tuple, attrs: dict) -> None:
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls})
        super().__init__(name, bases, attrs)


class _SingleLevelFunction(FunctionBase, FunctionCtx, HookMixin, metaclass=FunctionMeta):
    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the function; to be overridden.

        Either ``forward(ctx, *args)``, or ``forward(*args)`` along with ``setup_context``.
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> Any:
        """Say what to save, given the inputs and the output of a ``forward`` that takes no ``ctx``."""
        raise NotImplementedError("setup_context is not implemented.")

    backward = staticmethod(no_backward)
    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Differentiate the function in forward mode: the tangents of its outputs from those of its inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )


NO_SETUP = _SingleLevelFunction.setup_context


class Function(_SingleLevelFunction):
    """An operator with a backward of its own. Subclass it, write ``forward`` and ``backward``, and call ``apply``.

    >>> class Exp(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         result = x.exp()
    ...         ctx.save_for_backward(result)
    ...         return result
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (result,) = ctx.saved_tensors
    ...         return grad_output * result
    >>> x = torch.zeros(2, requires_grad=True)
    >>> Exp.apply(x)
    tensor([1., 1.], grad_fn=<ExpBackward>)
    """

    generate_vmap_rule = False
    clear_saved_tensors_on_access = False
    boxed_grads_call = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html"
            "#torch.autograd.Function)"
        )

    vmap = staticmethod(no_vmap)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function: run ``forward`` unrecorded, and record one node for all of it.

        Raises:
            RuntimeError: inside a function transform, if the function has no ``setup_context``.
        """
        if thread.modes.function_modes and hasattr(thread.function_modes[-1], "custom_function"):
            return thread.function_modes[-1].custom_function(cls, args, kwargs)
        with_setup = cls.setup_context is not NO_SETUP
        if with_setup:
            args, kwargs = with_defaults(cls, args, kwargs)
        if kwargs:
            args = by_position(cls.forward, args, kwargs, 0 if with_setup else 1)
        if thread.levels:
            if with_setup:
                return apply_at_level(cls, args)
            args = taken_along(args)
        return run_function(cls, args, with_setup)


def with_defaults(cls: Any, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """The arguments of a forward that takes no ctx, with its default values filled in."""
    forward = cls.forward
    known = cls.__dict__.get("_signature")
    if known is None or known[0] != forward:  # kept by the class, which may be given another forward
        known = cls._signature = forward, inspect.signature(forward)
    arguments = known[1].bind(*args, **kwargs)
    arguments.apply_defaults()
    return arguments.args, arguments.kwargs


def by_position(forward: Any, args: tuple, kwargs: dict, skipped: int) -> tuple:
    """All arguments by position: up to the last one that is given; ``skipped`` parameters come before them.
    Raises TypeError: PyTorch's message about arguments that don't fit.
    """
    code = forward.__code__
    names = code.co_varnames[skipped : code.co_argcount]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if name in names[: len(args)]:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    last = max(map(names.index, kwargs))
    for position in range(len(args), last):
        if names[position] not in kwargs:
            raise TypeError(f"forward() missing required argument: '{names[position]}' (position {position})")
    return (*args, *(kwargs[name] for name in names[len(args) : last + 1]))


def as_leaf(tensor: Tensor) -> Tensor:
    """A new handle on a tensor, that is a leaf and requires grad, inside function transforms too."""
    leaf = tensor.detach()
    leaf.requires_grad = True
    return leaf


def once_differentiable(fn: Callable) -> Callable:
    """Decorate a ``backward`` that can't be differentiated itself: doing so raises.

    Args:
        fn: the ``backward``, which is run without recording.
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not (thread.modes.grad and any(isinstance(arg, Tensor) and arg.requires_grad for arg in args)):
            return outputs
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        error = DelayedError(
            "trying to differentiate twice a function that was marked with @once_differentiable", len(outputs)
        )
        return error(*[None if out is None else as_leaf(out) for out in outputs])

    return wrapper


class InplaceFunction(Function):
    """A Function with an attribute ``inplace``; kept for old code."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """A Function that once took nested structures of tensors; kept for old code."""

    def forward_extended(self, *input: Any) -> None:
        """To be overridden by the old kind of functions, which can't be called any more.

        Raises:
            NotImplementedError: it was not overridden.
        """
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> None:
        """To be overridden by the old kind of functions, which can't be called any more.

        Args:
            grad_output: the gradients of the outputs.

        Raises:
            NotImplementedError: it was not overridden.
        """
        raise NotImplementedError

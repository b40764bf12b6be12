"""``torch.utils._python_dispatch``: contexts that run in place of each operator's kernel."""

from __future__ import annotations

from typing import Any

from tapegrad.dispatch.call_cache import replay
from tapegrad.ops.overloads import OpOverload, ShownCall, shown
from tapegrad.tape.modes import switched, thread
from tapegrad.tensor.tensor import Tensor, value_of
from tapegrad.utils.operator_modes import OperatorMode, each_output, in_pytorch_words

__all__ = ["TorchDispatchMode", "_get_current_dispatch_mode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode(OperatorMode):
    """A context in which ``__torch_dispatch__`` computes each operator; the operator itself is recorded as always.

    Operators are ours, by PyTorch's names (see Note [Identities] in ``ops/overloads.py``): fewer than PyTorch's
    dispatcher sees, for the functions that make tensors, and ``detach``, are none, and in-place functions are the
    operator that computes what is written.

    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     y = torch.ones(2).sin().sum()
    aten.sin.default
    aten.sum.default
    """

    def __torch_dispatch__(self, func: OpOverload, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Compute ``func`` of these arguments, without recording; ``func(*args, **kwargs)`` is what is expected."""
        raise NotImplementedError

    def handle(self, op: Any, func: OpOverload, args: tuple, settings: dict) -> Any:
        def values() -> Any:
            kwargs = in_pytorch_words(settings)
            with switched(grad=False), shown(ShownCall(op, settings, func, len(args), kwargs)):
                return each_output(self.__torch_dispatch__(func, (), args, dict(kwargs)), _value)

        return replay(op, args, settings, values)


def _value(result: Any) -> Any:
    if not isinstance(result, Tensor):
        raise TypeError(f"__torch_dispatch__ must return what the operator does, a Tensor, not {type(result).__name__}")
    return value_of(result)


def _get_current_dispatch_mode() -> OperatorMode | None:
    """The innermost mode, or None."""
    modes = (getattr(interceptor, "__self__", None) for interceptor in reversed(thread.interceptors))
    return next((mode for mode in modes if isinstance(mode, OperatorMode)), None)


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether a tensor's class says how it is taken apart into tensors, and made of them again.

    >>> is_traceable_wrapper_subclass(torch.ones(2))
    False
    """
    parts = "__tensor_flatten__", "__tensor_unflatten__"
    return isinstance(t, Tensor) and type(t) is not Tensor and all(hasattr(t, part) for part in parts)

"""``torch.utils._python_dispatch``: contexts, and classes of tensors, that compute in place of each operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from tapegrad._src.bindings.declaration.handing import overriding
from tapegrad._src.bindings.dispatching import (
    RECOMPOSED,
    adopted,
    as_said,
    dispatching_classes,
    hidden,
    in_words,
    run_operator,
    show_saved,
    values_of,
    without_innermost,
)
from tapegrad._src.dispatch.call_cache import replay
from tapegrad._src.dispatch.operator_like import OperatorLike
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.ops.overloads import OpOverload, ShownCall, shown
from tapegrad.ops.wording import Worded
from tapegrad.utils.operator_modes import OperatorMode

__all__ = [
    "BaseTorchDispatchMode", "TorchDispatchMode", "_disable_current_modes", "_get_current_dispatch_mode",
    "_get_current_dispatch_mode_stack", "_pop_mode_temporarily", "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass", "is_traceable_wrapper_subclass_type", "return_and_correct_aliasing",
    "transform_subclass",
]  # fmt: skip


class TorchDispatchMode(OperatorMode):
    """A context in which ``__torch_dispatch__`` computes each operator, as PyTorch's dispatcher sees it below autograd.

    It sees the forward pass and the backward pass, functions that make tensors, and what writes, by PyTorch's names and
    with its arguments: Note [Dispatch] in ``bindings/dispatching.py``. Where one operator here does what takes PyTorch
    several, it sees the one that computes; ``docs/from_pytorch.md`` says which.

    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     y = torch.ones(2).sin().sum()
    aten.ones.default
    aten.sin.default
    aten.sum.default
    """

    sees_functions = True

    def __torch_dispatch__(self, func: OpOverload, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        """Compute ``func`` of these arguments, without recording; ``func(*args, **kwargs)`` is what is expected."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        overriding.admit(modes=1)
        super().__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        overriding.admit(modes=-1)

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """A new instance: what PyTorch once used in place of ``with Mode():``."""
        return cls(*args, **kwargs)

    def handle(self, op: OperatorLike, func: OpOverload, args: tuple, settings: dict) -> Any:
        if op.name in RECOMPOSED:
            with self.again():
                return RECOMPOSED[op.name](*args, **settings)
        func = as_said(func)
        call, found = self.worded(op, func, args, settings), []
        types = tuple(dispatching_classes(args)) if overriding.dispatches else ()

        def meant(args: tuple, kwargs: dict) -> Any:
            return run_operator(op, func, call, args, kwargs, settings)

        def values() -> Any:
            with switched(grad=False), shown(ShownCall(func, call.args, call.kwargs, meant)):
                found.append(self.__torch_dispatch__(func, types, call.args, dict(call.kwargs)))
            return values_of(found[0])

        result = replay(op, args, settings, values)
        result = adopted(found[0], result)
        with self.again():
            self.show_saved(result)
        return result

    def worded(self, op: OperatorLike, func: OpOverload, args: tuple, settings: dict) -> Worded:
        """A call of an operator in PyTorch's words."""
        return in_words(op, func, args, settings)

    def show_saved(self, result: Any) -> None:
        """Show what is done with results that their own node saves."""
        show_saved(result)


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that calls the operator and does nothing else.

    >>> with BaseTorchDispatchMode():
    ...     torch.ones(2).sum()
    tensor(2.)
    """

    def __torch_dispatch__(self, func: OpOverload, types: tuple, args: tuple = (), kwargs: dict | None = None) -> Any:
        return func(*args, **(kwargs or {}))


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Tell whether a mode is on in this thread.

    >>> is_in_torch_dispatch_mode()
    False
    """
    return bool(_get_current_dispatch_mode_stack())


@contextmanager
def _pop_mode_temporarily(k: Any = None) -> Iterator[Any]:
    """Run a block without the innermost mode, and give that."""
    with without_innermost() as mode:
        yield mode


def _get_current_dispatch_mode() -> OperatorMode | None:
    """The innermost mode, or None."""
    modes = (getattr(interceptor, "__self__", None) for interceptor in reversed(thread.interceptors))
    return next((mode for mode in modes if isinstance(mode, OperatorMode)), None)


def _get_current_dispatch_mode_stack() -> list[OperatorMode]:
    """The modes of this thread, the innermost last."""
    modes = (getattr(interceptor, "__self__", None) for interceptor in thread.interceptors)
    return [mode for mode in modes if isinstance(mode, OperatorMode)]


@contextmanager
def _disable_current_modes() -> Iterator[list[OperatorMode]]:
    """Run a block without modes, and give them, the innermost first.

    >>> with _disable_current_modes() as modes:
    ...     modes
    []
    """
    stack = _get_current_dispatch_mode_stack()[::-1]
    with hidden():
        yield stack


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Tell whether a tensor's class says how it is taken apart into tensors, and made of them again.

    >>> is_traceable_wrapper_subclass(torch.ones(2))
    False
    """
    parts = "__tensor_flatten__", "__tensor_unflatten__"
    return isinstance(t, Tensor) and type(t) is not Tensor and all(hasattr(t, part) for part in parts)


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """Tell whether a class of tensors says how one is taken apart into tensors, and made of them again.

    >>> is_traceable_wrapper_subclass_type(torch.Tensor)
    False
    """
    parts = "__tensor_flatten__", "__tensor_unflatten__"
    return issubclass(t, Tensor) and t is not Tensor and all(hasattr(t, part) for part in parts)


def transform_subclass(
    t: Any, callback: Callable[[str, Tensor], Tensor], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor that wraps others, with what ``callback(name, inner)`` makes of each.

    >>> transform_subclass(wrapper, lambda name, inner: inner.double())  # doctest: +SKIP
    """
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(inner, context, size, stride)


def return_and_correct_aliasing(func: OpOverload, args: tuple, kwargs: dict, out: Any) -> Any:
    """Give the result of a ``__torch_dispatch__`` for an operator: the argument that it wrote to, if it writes.

    >>> x = torch.ones(2)
    >>> return_and_correct_aliasing(torch.ops.aten.add_.Tensor, (x, 1), {}, torch.zeros(2)) is x
    True
    """
    schema = func._schema
    if schema is None or not schema.is_mutable:
        return out
    positional = dict(zip([one.name for one in schema.arguments], args, strict=False))
    given = positional | kwargs
    marks = {
        one.alias_info.before_set: given.get(one.name)
        for one in schema.arguments if one.alias_info is not None and one.alias_info.is_write
    }  # fmt: skip
    found = [marks.get(one.alias_info.before_set) if one.alias_info is not None else None for one in schema.returns]
    if len(found) == 1:
        return found[0] if isinstance(found[0], Tensor) else out
    outs = out if isinstance(out, (tuple, list)) else (out,)
    return type(outs)(mine if isinstance(mine, Tensor) else one for mine, one in zip(found, outs, strict=True))

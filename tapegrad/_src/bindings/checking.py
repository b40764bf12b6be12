"""``torch._check`` and its kind: conditions that raise an error when they don't hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._src.bindings.declaration.handing import asked, overridden
from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.bindings.symbolic import SymBool
from tapegrad._src.execution.data.dtypes import BOOL
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn

UNEXPLAINED = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


@public("torch", asks="nobody")
def _check_with(error_type: type[Exception], cond: Any, message: Any) -> None:
    """Raise an error if a condition does not hold.

    Args:
        error_type: its class, none of warnings.
        cond: a bool.
        message: gives the text when it is called; None for a general one.

    Raises:
        error_type: the condition is False.
        TypeError: it is no bool, or the message can't be called.
        AssertionError: another class of errors.
    """
    if not isinstance(cond, (bool, SymBool)):
        if isinstance(cond, Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert "
                "that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if not issubclass(error_type, Exception) or issubclass(error_type, Warning):
        raise AssertionError(f"error_type must be a subclass of Exception but not Warning, got {error_type}")
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(UNEXPLAINED if message is None else str(message()))


def _check_layout(name: str, error_type: type[Exception]) -> None:
    def check(cond: Any, message: Callable[[], Any] | None = None) -> None:
        _check_with(error_type, cond, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"""Raise {error_type.__name__} if a condition, a bool, does not hold.

    Args:
        cond: the condition.
        message: gives the text when it is called.
    """
    public("torch", asks="nobody")(check)


for _name, _error in {
    "_check": RuntimeError, "_check_index": IndexError, "_check_value": ValueError, "_check_type": TypeError,
    "_check_not_implemented": NotImplementedError,
}.items():  # fmt: skip
    _check_layout(_name, _error)


@public("torch", asks="nobody")
def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """Raise RuntimeError if a number is negative, or larger than ``max``. Deprecated: use ``_check``."""
    warn(
        "_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious.     Use "
        "_check(i >= 0) instead.",
        FutureWarning,
    )
    check = NAMESPACES["torch"]["_check"]
    check(i >= 0, message)
    if max is not None:
        check(i <= max, message)


@public("torch", asks="nobody")
def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """``_check_with`` for a tensor of truth values, which must all be true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype.category != BOOL:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(NAMESPACES["torch"]["all"](cond).item()), message)


@public("torch", asks="nobody")
def _check_tensor_all(cond: Any, message: Any = None) -> None:
    """``_check`` for a tensor of truth values, which must all be true."""
    _check_tensor_all_with(RuntimeError, cond, message)


@public("torch", asks="nobody")
def _assert(condition: Any, message: Any) -> Any:
    """``assert condition, message``, which classes and modes can override.

    Raises:
        AssertionError: the condition does not hold.
    """
    if type(condition) is not Tensor and asked((condition,), {}):
        return overridden(NAMESPACES["torch"]["_assert"], (condition, message), {}, (condition,))
    if not condition:
        raise AssertionError(message)
    return None

"""Agreements of steps and branches, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.execution.data.dtypes import float32
from tapegrad._src.tensor.tensor import Tensor

INCOMPLETE = (
    "This higher order operator doesn't work unless it is captured completely with torch.compile. Got graph "
    "break/error:\n\n"
)
"""The beginning of the message of PyTorch, which compiles control flow always, about what a function must not do."""


def check_alike(left: Sequence[Any], right: Sequence[Any], names: tuple[str, str]) -> None:
    """Refuse tensors that don't have the same shapes and dtypes in pairs. Raises RuntimeError: PyTorch's sentences."""
    if len(left) != len(right):
        raise RuntimeError(
            f"Expected {names[0]} and {names[1]} to have same number of outputs but got lhs:[{shown_all(left)}] and "
            f"rhs:[{shown_all(right)}]"
        )
    pairs = [(one, differing(*pair), *pair) for one, pair in enumerate(zip(left, right, strict=True))]
    found = [
        f"pair[{one}] differ in {', '.join(map(repr, differences))}, where lhs is {shown(a)} and rhs is {shown(b)}"
        for one, differences, a, b in pairs
        if differences
    ]
    if found:
        raise RuntimeError(
            f"Expected {names[0]} and {names[1]} to have same metadata but found:\n" + "\n".join(found)
        )


def differing(left: Any, right: Any) -> list[str]:
    """The difference of two tensors."""
    if not (isinstance(left, Tensor) and isinstance(right, Tensor)):
        return [] if type(left) is type(right) else [f"type: {type(left)} vs {type(right)}"]
    found = []
    if left.shape != right.shape:
        found += [f"shape: {left.shape} vs {right.shape}", f"stride: {left.stride()} vs {right.stride()}"]
    if left.dtype != right.dtype:
        found += [f"dtype: {left.dtype} vs {right.dtype}"]
    if left.device != right.device:
        found += [f"device: {left.device} vs {right.device}"]
    return found


def shown(value: Any) -> str:
    """A tensor without its numbers, as PyTorch shows it."""
    if not isinstance(value, Tensor):
        return repr(value)
    parts = ["...", f"size={tuple(value.shape)}"]
    parts += [f"dtype={value.dtype}"] if value.dtype is not float32 else []
    if value.grad_fn is not None:
        parts.append(f"grad_fn=<{value.grad_fn.name()}>")
    elif value.requires_grad:
        parts.append("requires_grad=True")
    return f"FakeTensor({', '.join(parts)})"


def shown_all(values: Sequence[Any]) -> str:
    """Several of them."""
    return ", ".join(map(shown, values))

"""Derivatives of reductions, powers and losses as PyTorch composes them, for those who are shown a backward pass.

See ``shown_backward.py``, which has those of products and views.
"""

from __future__ import annotations

import math
from typing import Any

from tapegrad._src.bindings.dispatching import show
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.shown_backward import composed, named
from tapegrad.ops.overloads import identity
from tapegrad.ops.wording import REDUCTIONS


def scalar(name: str, x: Any, by: Any, run: Any) -> Any:
    """A function of a tensor and a number, as C++ calls it: ``aten.NAME.Scalar``."""
    return show(identity("aten", name, "Scalar"), (x, by), {}, run)


def multiplied(x: Any, by: Any) -> Any:
    """A tensor times a number."""
    return scalar("mul", x, by, lambda one, factor: one * factor)


def divided(x: Any, by: Any) -> Any:
    """A tensor divided by a number."""
    return scalar("div", x, by, lambda one, divisor: one / divisor)


def spread(g: Any, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Any:
    """A gradient with the dimensions that were reduced."""
    for axis in () if keepdims else sorted(axes):
        g = g.unsqueeze(axis)
    return g.expand(shape)


@composed("power")
def _power(g: Any, saved: dict, given: dict) -> dict | None:
    exponent, x = given["exponent"], saved.get("x")
    if x is None or exponent in (0, 1) or isinstance(exponent, complex) or not x.is_floating_point():
        return None
    return {"x": g * multiplied(x.pow(float(exponent - 1)), float(exponent))}


@composed("sqrt")
def _sqrt(g: Any, saved: dict, given: dict) -> dict:
    return {"x": g / multiplied(saved["out"], 2)}


@composed("sum")
def _sum(g: Any, saved: dict, given: dict) -> dict | None:
    if given["dtype"] is not None or not isinstance(given["axis"], tuple):
        return None
    return {"x": spread(g, tuple(saved["x_spec"].shape), given["axis"], given["keepdims"])}


@named("slice_backward", "slice")
def _slice(g: Tensor, saved: dict, given: dict) -> tuple:
    start, step, shape = saved.get("start", 0), given["step"], list(saved["x_spec"].shape)
    return g, shape, given["axis"], start, start + given["length"] * step, step


@composed("mean_all")
def _mean_all(g: Any, saved: dict, given: dict) -> dict | None:
    shape = tuple(saved["x_spec"].shape)
    if given["dtype"] is not None or not math.prod(shape):
        return None
    return {"x": divided(g.expand(shape), math.prod(shape))}


@composed("mean")
def _mean(g: Any, saved: dict, given: dict) -> dict | None:
    shape, axes = tuple(saved["x_spec"].shape), given["axis"]
    axes = axes if isinstance(axes, tuple) else (axes,)
    count = math.prod(shape[axis] for axis in axes)
    if given["dtype"] is not None or not count:
        return None
    return {"x": divided(spread(g, shape, axes, given["keepdims"]), count)}


@composed("var")
def _var(g: Any, saved: dict, given: dict) -> dict | None:
    x, axes = saved.get("x"), given["axis"]
    if x is None or not isinstance(axes, tuple) or not x.is_floating_point():
        return None
    count = math.prod(x.shape[axis] for axis in axes) - given["correction"]
    if count <= 0 or len(axes) == x.ndim:
        return None
    for axis in () if given["keepdims"] else sorted(axes):
        g = g.unsqueeze(axis)
    return {"x": multiplied(g, 2.0 / count) * (x - x.mean(list(axes), keepdim=True))}


@composed("view")
def _view(g: Any, saved: dict, given: dict) -> dict:
    return {"x": g.reshape(tuple(saved["x_spec"].shape))}


@composed("mse_loss")
def _mse_loss(g: Any, saved: dict, given: dict) -> dict | None:
    x, y, how = saved.get("x"), saved.get("y"), REDUCTIONS[given["reduction"]]
    if given["wanted"] != {"x"} or not (isinstance(x, Tensor) and isinstance(y, Tensor)) or x.shape != y.shape:
        return None

    def compute(g: Tensor, x: Tensor, y: Tensor, how: int) -> Tensor:
        return g * (x - y) * (2 / x.numel() if how == REDUCTIONS["mean"] else 2)

    return {"x": show(identity("aten", "mse_loss_backward", "default"), (g, x, y, how), {}, compute)}

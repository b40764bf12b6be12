"""Custom functions in forward mode: call the user's ``jvp`` and make the outputs dual. See Note [Duals]."""

from __future__ import annotations

from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.dual import set_tangent, tangent_of
from tapegrad._src.tensor.tensor import Tensor, version_of
from tapegrad.autograd.forward_ad import check_tangent
from tapegrad.autograd.function_node import BackwardCFunction, among, constant_tensors, dirty_tensors, zeros

Tangents = list[tuple[Tensor | None, int]]
"""For each argument of forward its tangent, or None, and that tangent's version."""


def tangents_of(args: tuple) -> Tangents | None:
    """The tangents of the arguments, as they are before forward; None if none of them has one."""
    found = [tangent_of(arg) if isinstance(arg, Tensor) else None for arg in args]
    if all(tangent is None for tangent in found):
        return None
    return [(tangent, 0 if tangent is None else version_of(tangent)) for tangent in found]


def give_tangents(
    node: BackwardCFunction, args: tuple, tangents: Tangents, raw: tuple, outputs: list
) -> None:
    """Make the outputs of a custom function dual.

    Args:
        node: the function's node, which ``jvp`` gets as ``ctx``.
        args, tangents: of forward.
        raw, outputs: what forward returned, and what the caller gets.

    Raises:
        RuntimeError: ``jvp`` returned what does not fit the outputs.
    """
    results = call_jvp(node, args, tangents, len(raw))
    dirty, constant = dirty_tensors(node), constant_tensors(node)
    for position, (out, given, result) in enumerate(zip(outputs, raw, results, strict=True)):
        if not isinstance(given, Tensor):
            continue
        if given.dtype.category < FLOATING or among(given, constant):
            if result is not None:
                raise RuntimeError(
                    f"Function's jvp returned a gradient at position {position}, but  the corresponding forward output "
                    "is not a differentiable Tensor.You should return None at that position instead."
                )
        elif among(given, dirty):
            check_written(args, tangents, given, result)
            give_tangent(out, result)
        else:
            check_view(args, tangents, out, result)
            give_tangent(out, result)


def _is_inexact(arg: object) -> bool:
    """Tell whether an argument is a tensor that could have a tangent."""
    return isinstance(arg, Tensor) and arg.dtype.category >= FLOATING


def call_jvp(node: BackwardCFunction, args: tuple, tangents: Tangents, count: int) -> tuple:
    """Call the user's jvp and give its result: a tensor or None for each output."""
    given = [
        zeros(arg._spec.bare) if tangent is None and node._materialize and _is_inexact(arg) else tangent
        for arg, (tangent, _) in zip(args, tangents, strict=True)
    ]
    modes = thread.modes
    thread.modes = modes.replace(forward_grad=False)
    try:
        results = node.apply_jvp(*given)
    finally:
        thread.modes = thread.modes.replace(forward_grad=modes.forward_grad)
    results = results if isinstance(results, tuple) else (results,)
    for position, result in enumerate(results):
        if not (result is None or isinstance(result, Tensor)):
            raise RuntimeError(
                f"expected Variable or None (got {type(result).__name__}) for grad output {position}."
            )
    if len(results) != count:
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients "
            f"(expected {count} but got {len(results)})"
        )
    return results


def give_tangent(out: Tensor, tangent: Tensor | None) -> None:
    """Make an output dual, if it is not so already with this very tangent."""
    if out._spec.dual:
        if tangent is tangent_of(out):
            return
        raise RuntimeError("Only inplace operations can re-set the forward grad of a Tensor that already has one.")
    if tangent is None or tangent.dtype.category < FLOATING:
        raise RuntimeError("Expected both tensor and its forward grad to be floating point or complex")
    check_tangent(out, tangent, 0)
    set_tangent(out, tangent)


def check_written(args: tuple, tangents: Tangents, given: Tensor, result: Tensor | None) -> None:
    """A function that writes to its input must write to the input's tangent too, and return it."""
    for arg, (tangent, version) in zip(args, tangents, strict=True):
        if arg is given and tangent is not None:
            if result is None or version_of(result) == version:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
            if result is not tangent:
                raise RuntimeError(
                    "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is "
                    "modifying an input inplace, then the jvp function must modify the gradient inplace and return it "
                    "as-is."
                )


def check_view(args: tuple, tangents: Tangents, out: Tensor, result: Tensor | None) -> None:
    """The tangent of a view of a dual input must be a view of that input's tangent."""
    if out._view is None:
        return
    for arg, (tangent, _) in zip(args, tangents, strict=True):
        if tangent is not None and origin(arg) is out._base:
            if result is None or result._view is None:
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning "
                    "a view."
                )
            if result._base is not origin(tangent):
                whose = "the given" if tangent._view is None else "the same base as the given"
                raise RuntimeError(
                    f"A custom Function is returning a view but the jvp is not returning a view of {whose} grad input."
                )
            return


def origin(tensor: Tensor) -> Tensor:
    """The tensor that this one is a view of, or itself."""
    return tensor if tensor._view is None else tensor._view.base

"""``out=``: writing a result into a tensor that is given.

Note [Results written into tensors]
A function called with ``out=`` computes its result without recording it, and writes that into the tensor, which gets
the result's shape if it has another one. A result may be written to a tensor of another dtype if it can be cast to
that, as in place; many of PyTorch's functions want just the dtype of the result, and some compute in that of the
tensor. Which does what is declared with the function: Note [Declared once] in ``declarations.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._src.bindings.declaration.declarations import EXPECTED, Out, said
from tapegrad._src.bindings.declaration.parser_table import FUNCTIONS
from tapegrad._src.bindings.declaration.registry import out_writer, unprefixed
from tapegrad._src.bindings.declaration.scalars import unsupported
from tapegrad._src.bindings.naming import NO_DERIVATIVE, renamed
from tapegrad._src.bindings.viewing import geometry_of
from tapegrad._src.bindings.writes.in_place import become, captured_base, check_castable, copy_, refuse_in_place
from tapegrad._src.bindings.writes.overlaps import refuse_shared_parts, resize_for
from tapegrad._src.dispatch import DelayedError
from tapegrad._src.dispatch.function_levels import lower
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.data.dtypes import COMPLEX, FLOATING, dtype
from tapegrad._src.execution.data.promotion import can_cast
from tapegrad._src.tape.modes import switched, thread
from tapegrad._src.tensor.placing import window_on
from tapegrad._src.tensor.refusals import refuse_examples
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.errors import NotDifferentiableError


def _refuse_mapped(name: str, out: Out, operands: Sequence[Tensor]) -> None:
    """Refuse to write a result that depends on examples of a ``vmap``, or random numbers there, into a given tensor."""
    if out.random and any(level.maps for level in thread.levels):
        raise RuntimeError(
            "vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out "
            "variants as a workaround"
        )
    rule = f"Batching rule not implemented for aten::{name}.out; the fallback path doesn't work on out= or view ops."
    refuse_examples(rule, *operands)


def write_out(name: str, out: Out, function: Callable, target: Any, args: tuple, kwargs: dict) -> Any:
    """Call a function and write what it gives into ``target``, which is returned: a tensor, or several.

    See Note [Results written into tensors].

    Raises:
        RuntimeError: an argument requires grad; the result can't be cast to the target's dtype.
        NotDifferentiableError: an argument is dual.
        TypeError: there are more or fewer targets than results.
    """
    targets = _targets(name, target)
    if out.makes:
        return _write_made(name, out, function, target, args, kwargs)
    _refuse_operands(name, out, len(targets), _tensors((*targets, *args, *kwargs.values())), name)
    return _write_result(name, out, function, target, args, kwargs)


def _write_made(name: str, out: Out, function: Callable, target: Any, args: tuple, kwargs: dict) -> Tensor:
    """``write_out`` of a function that makes a tensor, whose options have to be the target's.

    Raises:
        RuntimeError: PyTorch's messages, for an option that is not the target's, and a target that requires grad.
    """
    options = dict(kwargs)
    _check_option("dtype", options.get("dtype"), target.dtype)
    on = options.pop("device", None)
    if on is not None:
        _check_option("device type", device(on).type, target.device.type)
    if target.requires_grad and out.makes == "nothing":
        raise RuntimeError("cannot resize variables that require grad")
    _refuse_operands(name, out, 1, _tensors((target, *args)), f"aten::{name}")
    requires_grad = options.pop("requires_grad", False)
    if requires_grad and target.dtype.category < FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    _write_result(name, out, function, target, args, {**options, "device": target.device})
    return target.requires_grad_() if requires_grad else target


def _check_option(what: str, given: Any, own: Any) -> None:
    if isinstance(given, dtype) and given is not own:
        given, own = given.scalar_name, own.scalar_name
    elif isinstance(given, dtype) or given is None or given == own:
        return
    raise RuntimeError(f"{what} {given} does not match {what} of out parameter ({own})")


def _refuse_operands(name: str, out: Out, targets: int, operands: Sequence[Tensor], said: str) -> None:
    """Refuse what autograd, forward mode or ``vmap`` would have to follow into the first of these, the targets."""
    own = unprefixed(name)
    if thread.modes.level:
        _refuse_mapped(own, out, operands)
    _refuse_derivatives(said, own, out, operands[:targets], operands)


def _write_result(name: str, out: Out, function: Callable, target: Any, args: tuple, kwargs: dict) -> Any:
    targets = _targets(name, target)
    operands = _tensors((*targets, *args, *kwargs.values()))
    with switched(grad=thread.modes.grad and out.history in ("copied", "unknown")):
        result = function(*args, **_computed_in(out, targets[0].dtype, kwargs))
        if out.single and isinstance(result, tuple):
            raise RuntimeError(out.single)
        _check_count(name, target, targets, result)
        results = _placed(result if isinstance(result, tuple) else (result,), targets, operands)
        if out.computes is not None and out.computes.converts:
            results = [one.to(given.dtype) for one, given in zip(results, targets, strict=True)]
        for one, given in zip(results, targets, strict=True):
            _check_dtype(out, one.dtype, given.dtype, (*args, *kwargs.values()), several=len(results) > 1)
        for one, given in zip(results, targets, strict=True):
            if out.history == "unknown" and one.requires_grad:
                one = _without_derivative(one, _stops_at(out)[0] or unprefixed(name))
            _write_from(out, one, given, (*args, *kwargs.values()))
    return getattr(type(result), "_out", tuple)(targets) if isinstance(result, tuple) else target


out_writer.fill(write_out)


def _refuse_derivatives(name: str, own: str, out: Out, targets: Sequence[Tensor], operands: Sequence[Tensor]) -> None:
    """Refuse tensors that require grad, or have tangents, where PyTorch does. Raises: see ``write_out``."""
    if out.history == "copied":
        return
    unknown, (forward, reverse) = out.history == "unknown", _stops_at(out)
    looked_at = targets if unknown else operands
    if out.history != "none" and thread.modes.grad and any(tensor.requires_grad for tensor in looked_at):
        refusing = f"aten::{forward or own}" if unknown else reverse or name
        raise RuntimeError(
            f"{refusing}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if thread.modes.forward_grad and any(tensor._spec.dual for tensor in operands):
        called = forward or (own if own in FUNCTIONS else name)
        raise NotDifferentiableError(
            f"Trying to use forward AD with aten::{called} that does not support it." if unknown else
            f"Trying to use forward AD with {called}_out that does not support it because it is an out= function"
        )


def _stops_at(out: Out) -> tuple[str | None, str | None]:
    """The functions at which derivatives stop, in forward and in reverse mode; None for the function itself."""
    return out.called if isinstance(out.called, tuple) else (out.called, out.called)


def _without_derivative(result: Tensor, function: str) -> Tensor:
    """A result through which backward can't go: PyTorch's message says so there."""
    return renamed(DelayedError(f"derivative for aten::{function} is not implemented", 1)(result), NO_DERIVATIVE)


def _targets(name: str, target: Any) -> Sequence[Tensor]:
    targets = target if isinstance(target, (tuple, list)) else (target,)
    for one in targets:
        if not isinstance(one, Tensor):
            raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(one).__name__}")
    return targets


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    tensors: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, (tuple, list)):
            tensors.extend(_tensors(value))
    return tensors


def _placed(results: Sequence[Tensor], targets: Sequence[Tensor], operands: Sequence[Tensor]) -> Sequence[Tensor]:
    """The results on the devices of their targets, where no tensor says that they are to be elsewhere.
    Raises RuntimeError: PyTorch's message, if one does.
    """
    pairs = list(zip(results, targets, strict=True))
    for one, given in pairs:
        if one.device is not given.device and len(operands) > len(targets):
            raise RuntimeError(
                f"Attempting to copy from device {one.device} to device {given.device}, but cross-device copies are "
                "not allowed!"
            )
    return [one if one.device is given.device else one.to(given.device) for one, given in pairs]


def _check_count(name: str, target: Any, targets: Sequence[Tensor], result: Any) -> None:
    if isinstance(target, Tensor):
        if isinstance(result, tuple):
            raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(target).__name__}")
    elif not isinstance(result, tuple):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    elif len(targets) != len(result):
        raise TypeError(f"expected tuple of {len(result)} elements but got {len(targets)}")


def _write_from(out: Out, result: Tensor, target: Tensor, operands: tuple) -> None:
    """Write a result to a target, further out if that was captured by a transform."""
    level = thread.levels[-1] if thread.levels else None
    if level is not None and not level.maps and target.shape == result.shape:
        base = target._view.base if target._view is not None else captured_base(target)
        inside = base is not None and base._spec.level < target._spec.level == level.depth
        if base is not None and inside and base.dtype is target.dtype and not base._spec.requires_grad:
            target = window_on(base, geometry_of(target))  # what was captured is written where it lies
    if level is None or target._spec.level == level.depth or (level.maps and result._spec.level == level.depth):
        _write(out, result, target, operands)
        return
    below, _ = lower(result, level)
    with level.outside(), switched(grad=False):
        _write_from(out, below, target, operands)


def _write(out: Out, result: Tensor, target: Tensor, operands: tuple) -> None:
    if target._spec.strides is not None and not out.resizes:
        refuse_in_place(target)
    if out.apart:
        refuse_shared_parts(target, operands[out.apart == "but the first" :], strict=True)
    if out.makes == "as many" and result._spec.numel == target._spec.numel:
        result = result.view(target.shape)
    elif result.shape != target.shape:
        if out.makes != "nothing" and out.history != "copied":
            check_castable(result.dtype, target.dtype)  # before anything is changed
        _warn_of_shape(out.resized, target, result)
        resize_for(result.contiguous() if _goes_by_rows(out, target, operands) else result, target)
    if out.makes == "nothing":
        return
    refuse_in_place(target)
    if target._storage is not None:
        refuse_shared_parts(target, operands)
    if out.history == "copied":
        copy_(target, result)
    else:
        become(target, result)


def _goes_by_rows(out: Out, target: Tensor, operands: tuple) -> bool:
    """Tell whether a target that gets another shape gets it row by row."""
    if out.rows == "elements":
        return bool(target._spec.numel)
    if out.rows == "complex":
        return not target.dtype.is_complex and any(operand.dtype.is_complex for operand in _tensors(operands))
    return bool(out.rows)


def _warn_of_shape(resized: str, target: Tensor, result: Tensor) -> None:
    count = target._spec.numel
    if count and resized:
        old, new = list(target.shape), list(result.shape)
        warn(resized.format(old=old, new=new, count=count, length=result._spec.numel))


# -- dtypes ------------------------------------------------------------------------------------------------------------


def _computed_in(out: Out, target: dtype, kwargs: dict) -> dict:
    """The keyword arguments of a call, with the dtype of the target if it is to compute in that."""
    computes = out.computes
    if computes is None or kwargs.get("dtype") is not None:
        return kwargs
    if target.category < computes.least or (computes.real and target.category == COMPLEX):
        if computes.kernel:
            raise unsupported(computes.kernel, target)
        return kwargs
    return kwargs if computes.converts else {**kwargs, "dtype": target}


def _check_dtype(out: Out, result: dtype, target: dtype, arguments: tuple, several: bool) -> None:
    """Refuse a target of the wrong dtype."""
    if result is target:
        return
    exact = out.dtype(arguments, target) if callable(out.dtype) else out.dtype
    error, cast = out.cast if isinstance(out.cast, tuple) else (RuntimeError, out.cast)
    if several and not isinstance(cast, str):
        exact = exact or EXPECTED
    if exact is not None:
        raise RuntimeError(said(exact, result, target))
    cast = cast(arguments, target) if callable(cast) else cast
    if cast is not None and not can_cast(result, target):
        raise error(said(cast, result, target))

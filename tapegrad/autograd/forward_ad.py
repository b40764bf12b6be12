"""Forward-mode differentiation: dual tensors inside a ``dual_level``."""

from __future__ import annotations

from typing import Any, NamedTuple

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.naming import renamed
from tapegrad._src.bindings.tangents import embedded
from tapegrad._src.bindings.viewing import as_view, view_of
from tapegrad._src.dispatch.codegen.forward_ad import primal_of
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.dual import forget_tangents, set_tangent, tangent_of
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.grad_mode import ModeDecorator
from tapegrad.ops.shape import alias, view

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """The primal and the tangent of a dual tensor; the tangent is None for a tensor that is not dual."""

    primal: Tensor
    tangent: Tensor | None


def refuse_nested() -> None:
    """Refuse to begin a dual level inside another one. Raises RuntimeError: PyTorch's message."""
    if thread.modes.forward_level >= 0:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")


def enter_dual_level() -> int:
    """Begin a dual level and return its number, which is 0.

    Raises:
        RuntimeError: inside another one.
    """
    refuse_nested()
    thread.modes = thread.modes.replace(forward_level=0)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the dual level; every tangent is gone.

    Raises:
        RuntimeError: there is none.
    """
    present = thread.modes.forward_level
    level = present if level is None else level
    if level != present:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    forget_tangents()
    thread.modes = thread.modes.replace(forward_level=-1)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of ``tensor`` with a tangent, which operators propagate until the level is left.

    Args:
        tensor: floating or complex, of any shape.
        tangent: of the same shape. It is kept if it lies in its memory as ``tensor`` does in its own, otherwise a copy
            is.
        level: the present level, 0, if given.

    Raises:
        ValueError: either is integral.
        RuntimeError: outside a level, for another size, if either is dual already, or for a copy of the tangent of a
            tensor that shows one place of its memory several times.

    >>> from tapegrad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    """
    level = thread.modes.forward_level if level is None else level
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, given in (("primal", tensor), ("tangent", tangent)):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {given.dtype}")
    return _make_dual(tensor, tangent, level)


@public("torch")
def _make_dual(tensor: Tensor, tangent: Tensor, level: int) -> Tensor:
    """``make_dual`` as classes of the user's see it."""
    check_tangent(tensor, tangent, level)
    dual = view_of(tensor, view, shape=tuple(tensor.shape))
    set_tangent(dual, embedded(tangent, tensor))
    return dual


def check_tangent(tensor: Tensor, tangent: Tensor, level: int) -> None:
    """Refuse a tangent that does not fit.

    Args:
        tensor: what the tangent is to be of.
        tangent: of its shape and dtype.
        level: the level, which must be the innermost.

    Raises:
        RuntimeError: another level than 0; one of the two has a tangent already; shapes that differ.
    """
    if level != 0:
        raise RuntimeError("Invalid level given to _make_dual")
    if tangent_of(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
            f"{level} is not supported."
        )
    if tangent_of(tangent) is not None:
        raise RuntimeError(
            f"Setting a forward grad that itself has a forward gradient at the same level{level} is not supported."
        )
    if tangent.shape != tensor.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The primal and the tangent of a tensor; the tangent is None for one that is not dual, and outside a level."""
    level = thread.modes.forward_level if level is None else level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_unpack_dual(tensor, level))


@public("torch")
def _unpack_dual(dual: Tensor, level: int) -> tuple[Tensor, Tensor | None]:
    """``unpack_dual`` as classes of the user's see it."""
    primal = renamed(alias(primal_of(dual)), "torch::autograd::Identity")
    as_view(dual, primal, dual._spec.strides, dual._offset)
    return primal, tangent_of(dual) if thread.modes.forward_grad else None


class dual_level(ModeDecorator):
    """A level of forward mode: dual tensors live inside it.

    Raises:
        RuntimeError: when entered inside another one.
    """

    def __enter__(self) -> int:  # type: ignore[override]
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def __getattr__(name: str) -> Any:
    if name == "_current_level":  # in PyTorch a variable of the module
        return thread.modes.forward_level
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def _is_fwd_grad_enabled() -> bool:
    return thread.modes.forward_grad


class _set_fwd_grad_enabled(ModeDecorator):
    """Switch the propagation of tangents off and on, inside a level."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.previous = thread.modes.forward_grad
        thread.modes = thread.modes.replace(forward_grad=mode)

    def clone(self) -> Any:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        thread.modes = thread.modes.replace(forward_grad=self.previous)


set_fwd_grad_enabled = _set_fwd_grad_enabled
"""The same, for use: PyTorch has it under the private name alone."""

"""Gradients that are too long are shortened."""

from __future__ import annotations

from collections.abc import Iterable
from types import GeneratorType
from typing import Any

from tapegrad._src.functions.construction import tensor
from tapegrad._src.functions.joining import stack
from tapegrad._src.functions.norms import vector_norm
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.autograd.grad_mode import no_grad

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]

Tensors = Tensor | Iterable[Tensor]


def listed(tensors: Tensors) -> list[Any]:
    """One tensor, or several, as a list."""
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def gradients(parameters: Tensors) -> list[Any]:
    """The gradients of those parameters that have one."""
    return [parameter.grad for parameter in listed(parameters) if parameter.grad is not None]


def check_devices(tensors: list[Any], foreach: bool | None) -> None:
    """Refuse ``foreach=True`` where there are no such functions."""
    for device in {x.device for x in tensors} if foreach else ():
        if device.type not in ("cpu", "cuda"):
            raise RuntimeError(f"foreach=True was passed, but can't use the foreach API on {device.type} tensors")


@no_grad()
def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all elements of several tensors: a tensor without dimensions.

    Args:
        tensors: one or several.
        norm_type: the order of the norm; ``inf`` for the largest magnitude.
        error_if_nonfinite: whether a norm that is infinite or nan is an error.
        foreach: makes no difference here.

    Raises:
        RuntimeError: the norm is not finite, if that is an error.

    >>> get_total_norm([tensor([3.0]), tensor([4.0])])
    tensor(5.)
    """
    tensors, order = listed(tensors), float(norm_type)
    if not tensors:
        return tensor(0.0)
    check_devices(tensors, foreach)
    device = tensors[0].device
    total = vector_norm(stack([vector_norm(x, order).to(device) for x in tensors]), order)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Any, foreach: bool | None = None
) -> None:
    """Multiply gradients, in place, with what makes their norm ``max_norm``, if it is larger.

    Args:
        parameters: the tensors whose ``.grad`` is meant.
        max_norm: the largest norm.
        total_norm: the norm that they have, as ``get_total_norm`` gives it.
        foreach: makes no difference here.

    >>> w = torch.tensor([0.0, 0.0], requires_grad=True)
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grads_with_norm_([w], max_norm=1.0, total_norm=torch.tensor(5.0))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    grads = gradients(parameters)
    if not grads:
        return
    check_devices(grads, foreach)
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor.to(grad.device))


@no_grad()
def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Shorten the gradients of parameters, all by the same factor and in place, if their norm is too large.

    Args:
        parameters: one tensor, or several.
        max_norm: the largest norm of all gradients together.
        norm_type: the order of the norm; ``inf`` for the largest magnitude.
        error_if_nonfinite: whether a norm that is infinite or nan is an error.
        foreach: makes no difference here.

    Returns:
        the norm that they had.

    >>> x = torch.zeros(2, requires_grad=True)
    >>> x.grad = torch.tensor([3.0, 4.0])
    >>> clip_grad_norm_(x, 1.0), x.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    is_generator = isinstance(parameters, GeneratorType)
    parameters = listed(parameters)
    if is_generator and not parameters:
        warn("`parameters` is an empty generator, no gradient clipping will occur.")
    total = get_total_norm(gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The former name of ``clip_grad_norm_``, with its arguments: ``parameters``, ``max_norm``, ``norm_type``,
    ``error_if_nonfinite`` and ``foreach``.

    >>> import warnings
    >>> w = torch.tensor([0.0, 0.0], requires_grad=True)
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.utils.clip_grad_norm([w], max_norm=1.0)
    tensor(5.)
    """
    warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Bring all elements of the gradients of parameters into ``[-clip_value, clip_value]``, in place.

    Args:
        parameters: one tensor, or several.
        clip_value: the largest magnitude.
        foreach: makes no difference here.
    """
    bound, grads = float(clip_value), gradients(parameters)
    check_devices(grads, foreach)
    for grad in grads:
        grad.clamp_(min=-bound, max=bound)

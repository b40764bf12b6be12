"""Refusals of ``strict=True``: results that do not depend on the inputs, which are zeros otherwise.

Every check is the identity unless it is strict, so that the caller states it without asking.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapegrad._src.functions.creation import zeros_like
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.functional.arguments import Tensors

INDEPENDENT = "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."

CONSTANT = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
        "differentiable manner from the input when running in strict mode."
    ),
    "grad_inputs": (
        "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is "
        "not allowed in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} "
        "is independent of the input. This is not allowed in strict mode. You should ensure that your function is "
        "twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear function "
        "for example)."
    ),
    "hessian": (
        "The hessian of the user-provided function with respect to input {} is independent of the input. This is not "
        "allowed in strict mode. You should ensure that your function is thrice differentiable and that the hessian "
        "depends on the inputs."
    ),
}
"""Messages about tensors that don't require grad, by what the tensor is."""

MISSING = {
    "back": INDEPENDENT,
    "back_trick": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
        "backward trick to compute forward mode gradients. This is not allowed in strict mode."
    ),
    "double_back": (
        "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode."
    ),
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
        "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD."
    ),
}
"""Messages about gradients that there are none of, by the backward pass that should have given them."""

CONSTANT_RESULT = (
    "The {} of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)


def check_dependent(tensors: Sequence[Tensor | None], role: str, strict: bool) -> None:
    """Refuse a tensor that doesn't require grad, and one that is missing.

    Args:
        role: what the tensors are: a key of ``CONSTANT``.
    """
    for index, tensor in enumerate(tensors if strict else ()):
        if tensor is None:
            raise RuntimeError(INDEPENDENT.format(index))
        if not tensor.requires_grad:
            raise RuntimeError(CONSTANT[role].format(index))


def filled_in(grads: Sequence[Tensor | None], like: Tensors, stage: str, strict: bool, create_graph: bool) -> Tensors:
    """The gradients, with zeros for those that are missing.

    Args:
        like: tensors of the shapes and dtypes of the gradients.
        stage: the backward pass that gave them: a key of ``MISSING``.

    Raises:
        RuntimeError: strict, and one is missing, or will not be differentiable and ``create_graph`` says it shall be.
    """
    if strict:
        _check_complete(grads, stage, create_graph)
    return tuple(zeros_like(other) if one is None else one for one, other in zip(grads, like, strict=True))


def _check_complete(grads: Sequence[Tensor | None], stage: str, create_graph: bool) -> None:
    matrix = "hessian" if stage.startswith("double") else "jacobian"
    for index, one in enumerate(grads):
        if one is None:
            raise RuntimeError(MISSING[stage].format(index))
        if create_graph and not one.requires_grad:
            raise RuntimeError(CONSTANT_RESULT.format(matrix, index))

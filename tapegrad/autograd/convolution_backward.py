"""``torch.ops.aten.convolution_backward``: all gradients of a convolution by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._src.bindings.declaration.registry import NAMESPACES, public
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.autograd.differentiate import grad
from tapegrad.autograd.grad_mode import enable_grad, is_grad_enabled


@public("ops.aten")
def convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Sequence[int] | None, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    """The gradients of a convolution with respect to its input, its weight and its bias.

    Args:
        grad_output: the gradient of the result.
        input, weight: what was convolved, (batch, channels, *lengths), with what.
        bias_sizes: the shape of the bias; it changes nothing.
        stride, padding, dilation, transposed, output_padding, groups: how.
        output_mask: which of the three gradients are wanted; the others are None.

    >>> x, w, g = torch.ones(1, 1, 3), torch.ones(1, 1, 2), torch.ones(1, 1, 2)
    >>> torch.ops.aten.convolution_backward(g, x, w, [1], [1], [0], [1], False, [0], 1, [True, False, True])
    (tensor([[[1., 2., 1.]]]), None, tensor([2.]))
    """
    recorded = is_grad_enabled() and any(x.requires_grad for x in (grad_output, input, weight))
    wants = [bool(wanted) for wanted in output_mask]
    inputs = [x if x.requires_grad else x.detach().requires_grad_() for x in (input, weight)]
    found: list[Any] = [None, None]
    if any(wants[:2]):
        with enable_grad():
            x, y = inputs
            output = _convolve(x, y, stride, padding, dilation, transposed, output_padding, groups)
        targets = [x for x, wanted in zip(inputs, wants, strict=False) if wanted]
        gradients = iter(grad(output, targets, grad_output, create_graph=recorded, materialize_grads=True))
        found = [(next(gradients) if wanted else None) for wanted in wants[:2]]
    if wants[2]:
        found.append(grad_output.sum((0, *range(2, grad_output.ndim))))
    return found[0], found[1], found[2] if wants[2] else None


def _convolve(
    input: Tensor, weight: Tensor, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
    groups: int,
) -> Tensor:  # fmt: skip
    functions, rank = NAMESPACES["torch"], input.ndim - 2
    if transposed:
        convolve = functions[f"conv_transpose{rank}d"]
        return convolve(input, weight, None, stride, padding, output_padding, groups, dilation)
    return functions[f"conv{rank}d"](input, weight, None, stride, padding, dilation, groups)

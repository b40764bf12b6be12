"""What PyTorch's nodes show as ``_saved_NAME`` and ours compute from the plan of their call when somebody asks.

Those are sizes, and settings that an operator has in other words. A field that is only named differently is in the
``saved_names`` of its operator.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from tapegrad.dispatch import Plan
from tapegrad.ops import convolution, elementwise, indexing, losses, matmul, patches, reductions, resampling, strided

Field = Callable[[Plan], Any]


def size(argument: int, axis: int) -> Field:
    """The length of one dimension of an argument."""
    return lambda plan: plan.specs[argument].shape[axis]


def sizes(argument: int) -> Field:
    """The shape of an argument."""
    return lambda plan: tuple(plan.specs[argument].shape)


def sampled(attribute: str) -> Field:
    """An attribute of the samplings, for each dimension."""
    return lambda plan: tuple(getattr(sampling, attribute) for sampling in plan.settings["samplings"])


def always(value: Any) -> Field:
    """The same for every call."""
    return lambda plan: value


def numel(plan: Plan) -> int:
    """The number of elements of the input."""
    return prod(plan.specs[0].shape)


def bias_sizes(plan: Plan) -> tuple[int, ...]:
    """The shape of the bias; of none, PyTorch says ``(0,)``."""
    return (0,) if plan.specs[2] is None else tuple(plan.specs[2].shape)


def low_padding(plan: Plan) -> tuple[int, ...]:
    """The padding in front of each dimension."""
    return tuple(low for low, _ in plan.settings["padding"])


def scale(plan: Plan) -> float | None:
    """The factor that one dimension was scaled by, if it was given."""
    return plan.settings["samplings"][0].scale


def reduction_code(plan: Plan) -> int:
    """PyTorch's number of a way to reduce a loss."""
    return ("none", "mean", "sum").index(plan.settings["reduction"])


convolution.convolution.computed_fields = {
    "bias_sym_sizes_opt": bias_sizes, "padding": low_padding, "transposed": always(False),
    "output_padding": lambda plan: (0,) * len(plan.settings["stride"]),
}  # fmt: skip
convolution.conv_transpose.computed_fields = {
    "bias_sym_sizes_opt": bias_sizes, "padding": low_padding, "transposed": always(True),
}  # fmt: skip
strided.as_strided.computed_fields = {
    "size": lambda plan: plan.settings["shape"], "stride": lambda plan: plan.settings["strides"],
}  # fmt: skip
strided.as_strided.saved_names = {"storage_offset": "offset"}
reductions.mean.computed_fields = reductions.mean_all.computed_fields = {"self_sym_numel": numel}
matmul.addbmm.computed_fields = {
    "batch1_sym_argsize_0": size(1, 0), "batch1_sym_argsize_1": size(1, 1), "batch2_sym_argsize_2": size(2, 2),
}  # fmt: skip
matmul.addmm.computed_fields = {"mat1_sym_sizes": sizes(1), "mat2_sym_sizes": sizes(2)}
patches.im2col.computed_fields = {
    "self_sym_argsize_minus_1": size(0, -1), "self_sym_argsize_minus_2": size(0, -2), "padding": sampled("low"),
    "kernel_size": sampled("kernel"), "stride": sampled("stride"), "dilation": sampled("dilation"),
}  # fmt: skip
for (kind, ndim), operator in resampling.INTERPOLATIONS.items():
    operator.computed_fields = {"output_size": sampled("size")}
    if ndim == 1:
        operator.computed_fields["scales"] = scale
    if not kind.startswith("nearest"):
        operator.computed_fields["align_corners"] = lambda plan: plan.settings["samplings"][0].align
indexing.gather.computed_fields = {"sparse_grad": always(False)}
elementwise.div_rounded.saved_names = {"rounding_mode": "rounding_mode"}
losses.nll_loss.computed_fields = {
    "reduction": reduction_code, "ignore_index": lambda plan: plan.settings["ignore_index"] % 2**64,
}  # fmt: skip
for loss in (
    losses.mse_loss, losses.binary_cross_entropy, losses.binary_cross_entropy_with_logits, losses.smooth_l1_loss,
    losses.huber_loss,
):  # fmt: skip
    loss.saved_names = {"target": "y"}
    loss.computed_fields = {"reduction": reduction_code}

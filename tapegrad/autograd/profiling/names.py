"""What an operator of the table is called in a profile: the name of PyTorch's operator that does the same."""

from __future__ import annotations

import re
from typing import Any

from tapegrad.functions.registry import NAMESPACES

OWN = {
    "affine_grid": "affine_grid_generator",
    "affine_grid_adjoint": "affine_grid_generator_backward",
    "attention": "scaled_dot_product_attention",
    "attention_by_parts": "scaled_dot_product_attention",
    "batch_norm_legit": "_native_batch_norm_legit",
    "batch_norm_no_training": "_native_batch_norm_legit_no_training",
    "cast": "_to_copy",
    "cdist_adjoint": "_cdist_backward",
    "circular_pad1d": "_pad_circular",
    "circular_pad2d": "_pad_circular",
    "circular_pad3d": "_pad_circular",
    "copy": "copy_",
    "ctc_gradient": "_ctc_loss_backward",
    "embedding_bag_adjoint": "_embedding_bag_backward",
    "floored": "clamp_min",
    "grid_sample": "grid_sampler_2d",
    "grid_sample3d": "grid_sampler_3d",
    "gru_layer": "gru",
    "histogramdd_edges": "_histogramdd_bin_edges",
    "linear_1d_without_bias": "mv",
    "linear_nd": "addmm",
    "linear_nd_without_bias": "mm",
    "logsigmoid": "log_sigmoid_forward",
    "lstm_layer": "mkldnn_rnn_layer",
    "lu": "linalg_lu",
    "masked_scatter_adjoint": "masked_scatter_backward",
    "max_unpool1d": "max_unpool2d",
    "multi_margin_gradient": "multi_margin_loss_backward",
    "multilabel_margin_gradient": "multilabel_margin_loss_backward",
    "number_remainder": "remainder",
    "number_xlog1py": "special_xlog1py",
    "pack_padded_sequence": "_pack_padded_sequence",
    "pad_packed_sequence": "_pad_packed_sequence",
    "pdist_adjoint": "_pdist_backward",
    "plane_gather": "max_pool2d_backward",
    "plane_scatter": "max_unpool2d",
    "prelu_backward": "_prelu_kernel_backward",
    "rnn_relu_layer": "rnn_relu",
    "rnn_tanh_layer": "rnn_tanh",
    "segment_gradient": "_segment_reduce_backward",
    "softmax_gradient": "_softmax_backward_data",
    "sum_to": "sum",
    "unique": "_unique2",
    "window_scatter": "max_pool2d_with_indices_backward",
    "unsafe_view": "_unsafe_view",
    "vecmat": "mv",
    "xlog1py_number": "special_xlog1py",
    "zeros_of": "zeros_like",
}
"""Operators whose node's name says something else than what they do."""

PRIVATE = frozenset("""
batch_norm_with_update chunk_cat dirichlet_grad euclidean_dist fft_c2c fft_c2r fft_r2c neg_view safe_softmax
sample_dirichlet standard_gamma standard_gamma_grad unsafe_masked_index unsafe_masked_index_put_accumulate
upsample_bicubic2d_aa upsample_bilinear2d_aa upsample_nearest_exact1d upsample_nearest_exact2d upsample_nearest_exact3d
""".split())  # noqa: SIM905 - a table is easier to read without the quotes
"""Operators that have an underscore before their names in PyTorch."""

_names: dict[str, str] = {}


def aten_name(op: Any) -> str:
    """``aten::NAME`` for an operator. What is only a step inside one of PyTorch's operators keeps its own name.

    >>> from tapegrad.ops.operator import TABLE
    >>> [aten_name(TABLE[name]) for name in ("mul", "sum_all", "entr", "cast")]
    ['aten::mul', 'aten::sum', 'aten::special_entr', 'aten::_to_copy']
    """
    name = _names.get(op.name)
    if name is None:
        own = f"_{op.name}" if op.name in PRIVATE else OWN.get(op.name)
        name = _names[op.name] = f"aten::{own or _public(op.name) or _from_node(op.name, op.node)}"
    return name


def _public(name: str) -> str | None:
    """The name, if it is a function's in PyTorch."""
    if any(name in NAMESPACES.get(home, ()) for home in ("torch", "Tensor", "nn.functional")):
        return name
    home = next((home for home in ("special", "linalg") if name in NAMESPACES.get(home, ())), None)
    return None if home is None else f"{home}_{name}"


def _from_node(name: str, node: str) -> str:
    """
    >>> _from_node("vector_norm", "LinalgVectorNormBackward0"), _from_node("recurrence", "torch::autograd::Nothing")
    ('linalg_vector_norm', 'recurrence')
    """
    base = re.sub(r"Backward\d+$", "", node)
    if "::" in base or base == "CopySlices":
        return name
    ending = name.replace("_", "")
    if base.lower().endswith(ending):
        rest = base[: len(base) - len(ending)]
        return f"{_snake_case(rest)}_{name}" if rest else name
    return _snake_case(base)


def _snake_case(name: str) -> str:
    """
    >>> _snake_case("EmbeddingDenseBackward")
    'embedding_dense_backward'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", name).lower()

"""Identities of operators, as ``torch.ops.aten.NAME.OVERLOAD``: what policies and logs call an operator by.

Note [Identities]
PyTorch's dispatcher knows each operator by a namespace, a name and an overload. Programs name them so to say which
results a checkpoint keeps: ``torch.ops.aten.mm.default``. Here an identity is a name that can be compared, hashed and,
where there is a function of that name, called. ``identity_of`` gives that of one of our operators: mostly its name's
``default``; ``IDENTITIES`` has the others. Where one operator of ours does what takes PyTorch several (a product of
batches, attention), it goes by the one that computes; functions that make tensors, and ``detach``, are no operators,
and what a function writes in place goes by the operator that computes it. Operators that PyTorch has no counterpart of
are in the namespace ``tapegrad``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tapegrad.doors import Door

homes: Door[list[tuple[str, dict[str, Callable]]]] = Door("homes", filled_by="functions/identities.py")
"""Where the functions behind identities are found: a prefix of their names in ``aten``, and functions by name."""


class OpOverload:
    """One overload of an operator. There is one object for each, so that it is compared and hashed by identity.

    >>> import tapegrad as torch
    >>> torch.ops.aten.add.Tensor, str(torch.ops.aten.add.Tensor), torch.ops.aten.add.Tensor.name()
    (<OpOverload(op='aten.add', overload='Tensor')>, 'aten.add.Tensor', 'aten::add.Tensor')
    >>> torch.ops.aten.neg.default(torch.ones(2))
    tensor([-1., -1.])
    """

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = packet
        self.namespace, self._opname, self._overloadname = packet.namespace, packet._opname, overload
        self.__name__ = f"{packet._opname}.{overload}"
        self.__module__ = packet.__module__

    def name(self) -> str:
        """The name in schemas: ``aten::sin``, ``aten::add.Tensor``."""
        suffix = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.namespace}::{self._opname}{suffix}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _shown.calls:
            call = _shown.calls[-1]
            if call.func is self and call.kwargs == kwargs and call.arity == len(args):
                return call.op(*args, **call.settings)
        return self.overloadpacket(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.namespace}.{self._opname}', overload='{self._overloadname}')>"

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __reduce__(self) -> tuple:
        return identity, (self.namespace, self._opname, self._overloadname)


class OpOverloadPacket:
    """All overloads of an operator: attributes are the overloads. Calling it calls the function of that name.

    Raises:
        AttributeError: there is no such overload.
    """

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace, self._opname = namespace, name
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = name
        self.__module__ = f"torch._ops.{namespace}"

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(OVERLOADS.get(self._opname) or (("default",) if _writes(self._opname) else ("default", "out")))

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__") or overload not in self.overloads():
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{overload}'")
        found = OpOverload(self, overload)
        return self.__dict__.setdefault(overload, found)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = _function(self._opname)
        if function is None:
            raise NotImplementedError(f"{self} names an operator, for policies and logs; no function here computes it")
        return function(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self.namespace}.{self._opname}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __copy__(self) -> OpOverloadPacket:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __reduce__(self) -> tuple:
        return _packet, (self.namespace, self._opname)


class OpNamespace:
    """``torch.ops.aten``: the operators by name.

    Raises:
        AttributeError: there is none of that name.
    """

    def __init__(self, name: str, known: Callable[[str], bool]) -> None:
        self.name = name
        self._known = known

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if (name.startswith("__") and name not in OVERLOADS) or not self._known(name):
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        packet = OpOverloadPacket(self.name, name)
        return self.__dict__.setdefault(name, packet)

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self.name}' from 'torch.ops'>"


class ShownCall(NamedTuple):
    """A call that is being shown to a program under the name ``func``, with ``arity`` arguments and ``kwargs``."""

    op: Any
    settings: dict
    func: OpOverload
    arity: int
    kwargs: dict


class _Shown(threading.local):
    def __init__(self) -> None:
        self.calls: list[ShownCall] = []


_shown = _Shown()


@contextmanager
def shown(call: ShownCall) -> Iterator[None]:
    """A block in which calling ``call.func`` with as many arguments and the same keywords runs the operator itself."""
    _shown.calls.append(call)
    try:
        yield
    finally:
        _shown.calls.pop()


def identity(namespace: str, name: str, overload: str) -> OpOverload:
    """The identity with this name."""
    found: OpOverload = getattr(_packet(namespace, name), overload)
    return found


def _packet(namespace: str, name: str) -> OpOverloadPacket:
    found: OpOverloadPacket = getattr(NAMESPACES[namespace], name)
    return found


def identity_of(op: Any, args: Sequence) -> OpOverload:
    """What PyTorch calls one of our operators when it is applied to these arguments. See Note [Identities]."""
    name = IDENTITIES.get(op.name, op.name)
    if op.name in OWN:
        return identity("tapegrad", op.name, "default")
    if not isinstance(name, str):
        name = name(*args)
    name, _, overload = name.partition(".")
    return identity("aten", name, overload or "default")


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.startswith("__")


def _known(name: str) -> bool:
    return name in OVERLOADS or name in NAMED or _function(name) is not None


def _function(name: str) -> Callable | None:
    for prefix, functions in homes.content:
        found = functions.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if found is not None:
            return found
    return None


# Names --------------------------------------------------------------------------------------------------------------


def _by_second(name: str) -> Callable[..., str]:
    """The overload for a tensor or for a number, as the second argument is."""
    return lambda x, y: f"{name}.{'Tensor' if hasattr(y, 'dtype') else 'Scalar'}"


def _product(x: Any, y: Any) -> str:
    """A product of batches folds into one of matrices where a factor has no batch (on the left: and requires grad)."""
    if y.ndim <= 2:
        return "mv" if y.ndim == 1 else "mm"
    return "mm" if x.ndim <= 2 and x.requires_grad else "bmm"


IDENTITIES: dict[str, str | Callable[..., str]] = {
    **{name: _by_second(name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or",
                                           "bitwise_xor", "searchsorted")},
    **{name: f"{name}.Tensor" for name in ("add", "sub", "rsub", "mul", "div", "remainder", "fmod", "copysign",
                                           "xlogy", "slice", "split", "unsafe_split", "index", "ldexp",
                                           "bitwise_left_shift", "bitwise_right_shift")},
    **{name: f"{name}.int" for name in ("transpose", "select", "unbind")},
    **{name: f"{name}.dim" for name in ("mean", "max", "min", "median", "nanmedian")},
    **{name: f"{name}.correction" for name in ("var", "std", "var_mean", "std_mean")},
    **{name: f"linalg_{name}" for name in ("vector_norm", "solve_triangular")},
    **{name: f"linalg_{name}" for name in ("cholesky_ex", "eig", "eigvals", "eigvalsh", "householder_product", "lstsq",
                                           "qr", "svdvals")},
    "eigh": "_linalg_eigh", "svd": "_linalg_svd", "pinv": "linalg_pinv.atol_rtol_tensor",
    "histogram": "histogram.bins_tensor", "histogram_between": "histogram.bin_ct", "isin": "isin.Tensor_Tensor",
    "histogramdd_edges": "_histogramdd_bin_edges", "histogramdd_between": "_histogramdd_from_bin_cts",
    "chunk_cat": "_chunk_cat", "unsafe_masked_index": "_unsafe_masked_index",
    "unsafe_masked_index_put_accumulate": "_unsafe_masked_index_put_accumulate", "solve_ex": "_linalg_solve_ex",
    "inv": "linalg_inv_ex", "euclidean_dist": "_euclidean_dist",
    "pdist_adjoint": "_pdist_backward", "pdist": "_pdist_forward", "cdist_adjoint": "_cdist_backward", "cdist":
    "_cdist_forward", "cross": "linalg_cross", "matrix_exp": "linalg_matrix_exp", "ldl_solve":
    "linalg_ldl_solve", "ldl_factor": "linalg_ldl_factor_ex", "slogdet": "_linalg_slogdet", "det":
    "_linalg_det", "lu_solve": "linalg_lu_solve", "lu": "linalg_lu", "lu_factor": "linalg_lu_factor_ex",
    **{f"{name}_all": name for name in ("sum", "mean", "max", "min", "median", "nanmedian", "prod")},
    **{name: f"special_{name}" for name in ("xlog1py", "entr", "ndtri", "log_ndtr", "i0e", "i1", "i1e", "zeta")},
    **{f"{prefix}bessel_{order}": f"special_{prefix}bessel_{order}" for prefix, orders in (
        ("", "j0 j1 y0 y1"), ("modified_", "i0 i1 k0 k1"), ("scaled_modified_", "k0 k1"), ("spherical_", "j0")
    ) for order in orders.split()},
    **{f"{prefix}chebyshev_polynomial_{kind}": f"special_{prefix}chebyshev_polynomial_{kind}"
       for prefix in ("", "shifted_") for kind in "tuvw"},
    **{f"{name}_polynomial_{kind}": f"special_{name}_polynomial_{kind}" for name, kind in (
        ("hermite", "h"), ("hermite", "he"), ("laguerre", "l"), ("legendre", "p"))},
    **{name: f"_{name}" for name in ("standard_gamma", "standard_gamma_grad", "sample_dirichlet", "dirichlet_grad")},
    "airy_ai": "special_airy_ai", "erfcx": "special_erfcx",
    "xlog1py_number": "special_xlog1py.other_scalar", "number_xlog1py": "special_xlog1py.self_scalar",
    "zeta_number": "special_zeta.other_scalar", "number_zeta": "special_zeta.self_scalar", "times": "mul.Scalar",
    "plus": "add.Scalar",
    "frexp": "frexp.Tensor", "fft_c2c": "_fft_c2c", "fft_r2c": "_fft_r2c",
    "fft_c2r": "_fft_c2r",
    **{f"clamp{end}_tensor": f"clamp{end}.Tensor" for end in ("", "_min", "_max")},
    **{f"reflect_pad{n}d": f"reflection_pad{n}d" for n in (1, 2, 3)},
    **{f"replicate_pad{n}d": f"replication_pad{n}d" for n in (1, 2, 3)},
    **{f"scatter_{how}": "scatter_reduce.two" for how in ("sum", "mean", "amax", "amin", "prod")},
    **{f"upsample_nearest_exact{n}d": f"_upsample_nearest_exact{n}d" for n in (1, 2, 3)},
    **{f"{name}_adjoint": f"{name}_backward" for name in ("select", "slice", "diagonal", "unfold", "masked_scatter",
                                                          "nll_loss")},
    "add_scaled": "add.Tensor", "sub_scaled": "sub.Tensor", "rsub_scaled": "rsub.Tensor", "rsub_number": "rsub.Scalar",
    "rsub_number_scaled": "rsub.Scalar", "div_rounded": "div.Tensor_mode", "over": "div.Tensor",
    "remainder_number": "remainder.Scalar", "number_remainder": "remainder.Scalar_Tensor",
    "fmod_number": "fmod.Scalar", "pow": "pow.Tensor_Tensor", "pow_number": "pow.Tensor_Scalar",
    "number_pow": "pow.Scalar", "power": "pow.Tensor_Scalar", "copysign_number": "copysign.Scalar",
    "xlogy_number": "xlogy.Scalar_Other", "number_xlogy": "xlogy.Scalar_Self", "round_decimals": "round.decimals",
    "lerp": "lerp.Scalar", "lerp_tensor": "lerp.Tensor", "where": "where.self", "real": "select.int",
    "imag": "select.int", "masked_fill": "masked_fill.Scalar", "masked_fill_tensor": "masked_fill.Tensor",
    "conj": "_conj", "cast": "_to_copy", "broadcast_to": "expand", "spread": "expand", "bitcast": "view.dtype",
    "neg_view": "_neg_view", "unsafe_view": "_unsafe_view", "squeeze_axis": "squeeze.dim",
    "squeeze_axes": "squeeze.dims", "constant_pad": "constant_pad_nd", "bernoulli": "bernoulli.p",
    "normal_of_mean": "normal.Tensor_float", "normal_of_std": "normal.float_Tensor", "normal": "normal.Tensor_Tensor",
    "overwrite_uniform": "uniform_", "overwrite_normal": "normal_", "overwrite_exponential": "exponential_",
    "overwrite_cauchy": "cauchy_", "overwrite_log_normal": "log_normal_", "overwrite_geometric": "geometric_",
    "overwrite_bernoulli": "bernoulli_.float", "overwrite_bernoulli_tensor": "bernoulli_.Tensor",
    "overwrite_random": "random_", "overwrite_random_to": "random_.to", "overwrite_random_from_to": "random_.from",
    "prelu": "_prelu_kernel", "prelu_backward": "_prelu_kernel_backward", "logsigmoid": "log_sigmoid_forward",
    "dropout": "native_dropout", "alpha_dropout": "native_dropout", "sum": "sum.dim_IntList",
    "count_nonzero": "count_nonzero.dim_IntList", "prod": "prod.dim_int", "softmax": "_softmax",
    "log_softmax": "_log_softmax", "safe_softmax": "_safe_softmax",
    "matmul": _product, "vecmat": "mm", "linear_2d": "addmm", "linear_nd": "addmm", "linear_2d_without_bias": "mm",
    "linear_nd_without_bias": "mm", "linear_1d_without_bias": "mv", "attention_scores": "bmm",
    "attention": "_scaled_dot_product_flash_attention_for_cpu",
    "attention_by_parts": "_scaled_dot_product_attention_math", "einsum": "bmm",
    "conv_transpose": "convolution", "conv_weight": "convolution_backward",
    "fill": "fill.Tensor", "fill_number": "fill.Scalar", "zero": "zero_", "index_add_scaled": "index_add",
    "scatter": "scatter.src",
    "scatter_number": "scatter.value", "index_fill": "index_fill.int_Scalar",
    "index_fill_tensor": "index_fill.int_Tensor", "put_number": "put", "argsort": "sort", "sort_stable": "sort.stable",
    "unique": "_unique2", "nll_loss": "nll_loss_forward", "nll_loss2d": "nll_loss2d_forward", "identity_of": "eye",
    "embedding_adjoint": "embedding_dense_backward", "embedding_renorm": "embedding_renorm_",
    "avg_pool1d": "avg_pool2d",
    "adaptive_avg_pool2d": "_adaptive_avg_pool2d", "adaptive_avg_pool3d": "_adaptive_avg_pool3d",
    "adaptive_avg_pool1d": "_adaptive_avg_pool2d", "adaptive_max_pool1d": "adaptive_max_pool2d",
    "max_pool1d": "max_pool2d_with_indices", "max_pool2d": "max_pool2d_with_indices",
    "max_pool3d": "max_pool3d_with_indices", "upsample_bilinear2d_aa": "_upsample_bilinear2d_aa",
    "upsample_bicubic2d_aa": "_upsample_bicubic2d_aa", "plane_scatter": "max_unpool2d",
    "layer_norm": "native_layer_norm",
    "group_norm": "native_group_norm", "batch_norm": "native_batch_norm", "batch_norm_inference": "native_batch_norm",
    "rms_norm": "_fused_rms_norm", "weight_norm": "_weight_norm_interface",
    "affine_grid": "affine_grid_generator", "affine_grid_adjoint": "affine_grid_generator_backward",
    "grid_sample": "grid_sampler_2d", "grid_sample3d": "grid_sampler_3d", "grid_spread": "grid_sampler_2d_backward",
    "embedding_bag": "_embedding_bag", "embedding_bag_adjoint": "_embedding_bag_backward",
    "bag_products": "_embedding_bag_per_sample_weights_backward",
    "ctc_loss": "_ctc_loss", "ctc_gradient": "_ctc_loss_backward", "max_unpool1d": "max_unpool2d",
    "batch_norm_legit": "_native_batch_norm_legit", "batch_norm_legit_inference": "_native_batch_norm_legit",
    "batch_norm_alone": "_native_batch_norm_legit", "batch_norm_with_update": "_batch_norm_with_update",
    "batch_norm_no_training": "_native_batch_norm_legit_no_training",
    "complex_convolution": "convolution", "complex_conv_transpose": "convolution",
    "nll_loss_of_any": "nll_loss2d_forward", "distance_norm": "norm.ScalarOpt_dim", "over_count": "div.Scalar",
    "segment_gradient": "_segment_reduce_backward",
    "multi_margin_gradient": "multi_margin_loss_backward", "softmax_gradient": "_softmax_backward_data",
    "multilabel_margin_loss": "multilabel_margin_loss_forward",
    "multilabel_margin_gradient": "multilabel_margin_loss_backward",
    "masked_dropout": "native_dropout", "dropout_gradient": "native_dropout_backward",
    "max_pool2d_gradient": "max_pool2d_with_indices_backward",
    "lstm_layer": "mkldnn_rnn_layer", "gru_layer": "gru.input", "rnn_tanh_layer": "rnn_tanh.input",
    "rnn_relu_layer": "rnn_relu.input", "pack_padded_sequence": "_pack_padded_sequence",
    "pad_packed_sequence": "_pad_packed_sequence",
}  # fmt: skip
"""PyTorch's names of our operators, where they are not their own names' ``default``."""

OWN = frozenset((
    "sum_to", "zeros_of", "compared", "filled_like", "share", "on_diagonal", "causal_mask", "truncate", "scatter_kept",
    "scatter_count", "weighted_rows", "resample", "resample_adjoint", "plane_gather", "shift", "recurrence",
    "window_scatter",
    "products_before", "copy_slices", "window_adjoint", "pad_adjoint", "circular_pad1d", "circular_pad2d",
    "circular_pad3d", "floored", "moments", "fft_r2c_adjoint", "fft_c2r_adjoint",
    "rank_of", "solve_factored", "adjugate_derivative", "adjugate", "permutation_matrix", "swap_rows",
    "extent", "rank", "rank_slope", "ranks", "unravel_index",
))  # fmt: skip
"""Operators that PyTorch has no counterpart of."""

NAMED = frozenset((
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_cudnn_attention", "_convolution", "cudnn_convolution", "_fused_rms_norm",
    *[name.partition(".")[0] for name in IDENTITIES.values() if isinstance(name, str)],
    "convolution", "hardtanh_backward", "leaky_relu_backward", "threshold_backward", "hardshrink_backward",
    "softshrink_backward", "diagonal_copy", "split_with_sizes", "unsafe_split_with_sizes", "fill", "copy",
    "max_pool2d_with_indices",
    "searchsorted", "binary_cross_entropy", "im2col", "col2im", "alias", "_to_copy", "detach", "as_strided",
    "unique_dim",
))  # fmt: skip
"""Names of ``aten`` that no function here has, but operators or programs do."""

OVERLOADS = {
    name: tuple(overloads.split())
    for name, _, overloads in (entry.partition(": ") for entry in """
histogram: bins_tensor bins_tensor_out bin_ct bin_ct_out; isin: Tensor_Tensor Tensor_Tensor_out Tensor_Scalar
Tensor_Scalar_out Scalar_Tensor Scalar_Tensor_out; gru: input data; lstm: input data; rnn_relu: input data; rnn_tanh:
input data;
__and__: Scalar Tensor; __iand__: Tensor Scalar; __ior__: Tensor Scalar; __ixor__: Tensor Scalar; __lshift__: Tensor
Scalar Scalar_out Tensor_out; __or__: Tensor Scalar; __rshift__: Tensor Scalar Scalar_out Tensor_out; __xor__: Tensor
Scalar; add: Tensor Scalar out Scalar_out; add_: Tensor Scalar; addmm: default out dtype_out dtype; all: default dim
dims out dims_out all_out; any: default dim dims out dims_out all_out; arange: default start start_step start_out out;
argsort: default stable stable_out; atleast_1d: default Sequence; atleast_2d: default Sequence; atleast_3d: default
Sequence; baddbmm: default out dtype_out dtype; bernoulli: default out p Tensor Tensor_out float_out; bernoulli_:
Tensor float; bitwise_and: Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out; bitwise_and_: Tensor
Scalar; bitwise_left_shift: Tensor Tensor_Scalar Scalar_Tensor Tensor_out Tensor_Scalar_out Scalar_Tensor_out;
bitwise_or: Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out; bitwise_or_: Tensor Scalar;
bitwise_right_shift: Tensor Tensor_Scalar Scalar_Tensor Tensor_out Tensor_Scalar_out Scalar_Tensor_out; bitwise_xor:
Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out; bitwise_xor_: Tensor Scalar; bmm: default out
dtype_out dtype; bucketize: Tensor Scalar Tensor_out Scalar_out; clamp: default Tensor out Tensor_out; clamp_: default
Tensor; clamp_max: default Tensor out Tensor_out; clamp_max_: default Tensor; clamp_min: default Tensor out Tensor_out;
clamp_min_: default Tensor; clip: default Tensor out Tensor_out; clip_: default Tensor; conv1d: default padding;
conv2d: default padding; conv3d: default padding; conv_transpose2d: input; conv_transpose3d: input; copysign: Tensor
Scalar out Scalar_out; copysign_: Tensor Scalar; count_nonzero: default dim_IntList dim_IntList_out out; div: Tensor
Scalar Tensor_mode Scalar_mode out out_mode Scalar_out Scalar_mode_out; div_: Tensor Tensor_mode Scalar Scalar_mode;
divide: Tensor Scalar Tensor_mode Scalar_mode out out_mode; divide_: Tensor Tensor_mode Scalar_mode Scalar; dsplit: int
array; empty: memory_format out; eq: Tensor Scalar Scalar_out Tensor_out; eq_: Scalar Tensor; eye: default m out m_out;
fill: Scalar Scalar_out Tensor Tensor_out; fill_: Scalar Tensor; flatten: using_ints; float_power: Tensor_Tensor
Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out; float_power_: Tensor Scalar; floor_divide: default
Scalar out Scalar_out; floor_divide_: Tensor Scalar; fmod: Tensor Scalar Tensor_out Scalar_out; fmod_: Tensor Scalar;
frexp: Tensor Tensor_out default;
ge: Tensor Scalar Scalar_out Tensor_out; ge_: Scalar Tensor; greater: Tensor Scalar Scalar_out Tensor_out;
greater_equal: Tensor Scalar Scalar_out Tensor_out; gt: Tensor Scalar Scalar_out Tensor_out; gt_: Scalar Tensor;
hardshrink_backward: default grad_input; hardtanh_backward: default grad_input; hsplit: int array; index: Tensor
Tensor_out; index_fill: int_Tensor int_Scalar int_Scalar_out int_Tensor_out; index_fill_: int_Tensor int_Scalar;
kthvalue: default values; ldexp: Tensor out; le: Tensor Scalar Scalar_out Tensor_out; le_: Scalar Tensor;
leaky_relu_backward: default grad_input; lerp: Scalar Tensor Scalar_out Tensor_out; lerp_: Scalar Tensor; less: Tensor
Scalar Scalar_out Tensor_out; less_equal: Tensor Scalar Scalar_out Tensor_out; linalg_matrix_norm: default str_ord out
str_ord_out; linalg_norm: default ord_str out ord_str_out; linalg_pinv:
default atol_rtol_float atol_rtol_tensor atol_rtol_tensor_out atol_rtol_float_out out rcond_tensor out_rcond_tensor;
linspace: Tensor_Tensor Tensor_Scalar Scalar_Tensor default
out Tensor_Tensor_out Tensor_Scalar_out Scalar_Tensor_out; log_softmax: int int_out; logspace: Tensor_Tensor
Tensor_Scalar Scalar_Tensor default out Tensor_Tensor_out Tensor_Scalar_out Scalar_Tensor_out; lt: Tensor Scalar
Scalar_out Tensor_out; lt_: Scalar Tensor; masked_fill: Scalar Scalar_out Tensor Tensor_out; masked_fill_: Scalar
Tensor; max: other default dim dim_max unary_out out; mean: default dim out dtype_out; median: default dim dim_values
out; meshgrid: default indexing; min: other default dim dim_min unary_out out; mm: default out dtype_out dtype; mode:
default values; moveaxis: intlist int; movedim: int intlist; mul: Tensor Scalar out Scalar_out; mul_: Tensor Scalar;
multiply: Tensor Scalar out; multiply_: Tensor Scalar; nanmedian: default dim dim_values out; narrow: default Tensor;
ne: Tensor Scalar Scalar_out Tensor_out; ne_: Scalar Tensor; norm: Scalar ScalarOpt_dim ScalarOpt_dim_dtype dtype_out
out ScalarOpt_dtype ScalarOpt_dtype_out Scalar_out; normal: Tensor_float Tensor_float_out float_Tensor_out float_Tensor
Tensor_Tensor Tensor_Tensor_out float_float float_float_out out; not_equal: Tensor Scalar Scalar_out Tensor_out; pow:
Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out; pow_: Scalar Tensor; prod: default
dim_int int_out out; rand: default generator out generator_out; rand_like: default generator out generator_out;
randint: default generator low low_generator out generator_out low_out low_generator_out; randint_like: default Tensor
low_dtype generator Tensor_generator low_generator_dtype out generator_out Tensor_out Tensor_generator_out
low_dtype_out low_generator_dtype_out; randn: default generator out generator_out; randn_like: default generator out
generator_out; random_: from to default; randperm: default generator out generator_out; range: step default out out_;
remainder: Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out; remainder_: Tensor Scalar;
repeat_interleave: Tensor self_Tensor self_int Tensor_out; round: default decimals out decimals_out; round_: default
decimals; rsub: Tensor Scalar Tensor_out Scalar_out; scatter: value src reduce value_reduce src_out value_out
reduce_out value_reduce_out; scatter_: src value reduce value_reduce; scatter_reduce: two two_out; scatter_reduce_:
two; searchsorted: Tensor Tensor_out Scalar Scalar_out; select: int; slice: Tensor; softmax: int int_out;
softshrink_backward: default grad_input; sort: default stable values values_stable; special_xlog1py: default
other_scalar self_scalar out self_scalar_out other_scalar_out; special_xlogy: default other_scalar self_scalar out
self_scalar_out other_scalar_out; special_zeta: default other_scalar self_scalar out self_scalar_out other_scalar_out;
split: Tensor sizes default; squeeze: default dim dims; std: default dim correction correction_out out; std_mean:
default dim correction correction_out; sub: Tensor Scalar out Scalar_out; sub_: Tensor Scalar; subtract: Tensor out
Scalar; subtract_: Tensor Scalar; sum: dim_IntList default IntList_out out; tensor_split: sections indices
tensor_indices_or_sections; threshold_backward: default grad_input; to: device dtype other dtype_layout; topk: default
values; transpose: int; true_divide: Tensor Scalar out; true_divide_: Tensor Scalar; unbind: int; unflatten: int;
unsafe_split: Tensor Tensor_out; upsample_bicubic2d: default vec out; upsample_bilinear2d: default vec out vec_out;
upsample_linear1d: default vec out; upsample_nearest1d: default vec out; upsample_nearest2d: default vec out vec_out;
upsample_nearest3d: default vec out; upsample_trilinear3d: default vec out; var: default dim correction correction_out
out; var_mean: default dim correction correction_out; view: default dtype; vsplit: int array; where: self ScalarOther
ScalarSelf Scalar default self_out; xlogy: Tensor Scalar_Other Scalar_Self OutTensor OutScalar_Self OutScalar_Other;
xlogy_: Tensor Scalar_Other
""".replace("\n", " ").strip().split("; "))
}  # fmt: skip
"""The overloads of a name, where they are not ``default`` and ``out`` (or just ``default`` of what writes)."""

aten = OpNamespace("aten", _known)
prim = OpNamespace("prim", frozenset(("device",)).__contains__)
NAMESPACES = {"aten": aten, "prim": prim, "tapegrad": OpNamespace("tapegrad", OWN.__contains__)}

"""The functions of which PyTorch's CPU has no kernel for complex halves, and its words for that."""

from __future__ import annotations

from typing import Any

from tapegrad._src.execution.data.dtypes import complex32, dtype
from tapegrad._src.tensor.tensor import Tensor

_BY_KERNEL = {
    "acos_vml_cpu": "acos arccos",
    "acosh_cpu": "acosh arccosh",
    "addmm_impl_cpu_": "addmm addbmm linalg_multi_dot svd_lowrank pca_lowrank mm linear inner tensordot",
    "addmv_impl_cpu": "addmv mv",
    "baddbmm": "baddbmm",
    "dot": "dot",
    "vdot": "vdot linalg_vecdot",
    "bmm": "bmm matrix_exp linalg_matrix_exp bilinear",
    "addr_cpu": "addr",
    "addcdiv_cpu_out": "addcdiv",
    "asin_vml_cpu": "asin arcsin",
    "asinh_cpu": "asinh arcsinh",
    "atan_vml_cpu": "atan arctan",
    "atanh_cpu": "atanh arctanh",
    "cholesky_cpu": "cholesky linalg_cholesky linalg_cholesky_ex",
    "cholesky_inverse_out_cpu": "cholesky_inverse",
    "cholesky_solve_cpu": "cholesky_solve",
    "sum_cpu": "corrcoef trapz trapezoid mean sum cosine_embedding_loss",
    "cos_vml_cpu": "cos",
    "cosh_cpu": "cosh",
    "cross": "cross linalg_cross",
    "cumsum_out_cpu": "cumsum cumulative_trapezoid",
    "masked_scatter": "masked_scatter",
    "im2col_out_cpu": "unfold",
    "adaptive_avg_pool2d": "adaptive_avg_pool1d",
    "adaptive_avg_pool3d_cpu": "adaptive_avg_pool3d",
    "scatter_gather_scalar_cpu": "lu_unpack",
    "cumprod_out_cpu": "cumprod",
    "div_cpu": "div divide true_divide gradient normalize softsign",
    "equal_notnan_cpu": "equal",
    "exp_vml_cpu": "exp soft_margin_loss logsumexp special_logsumexp",
    "flip_cpu": "flip",
    "log1p_vml_cpu": "log1p special_log1p",
    "geqrf_cpu": "geqrf qr linalg_qr",
    "linspace_cpu": "linspace",
    "logspace_cpu": "logspace",
    "log_vml_cpu": "log",
    "log10_vml_cpu": "log10",
    "log2_vml_cpu": "log2",
    "pow": "ldexp pow square",
    "logaddexp_cpu": "logaddexp",
    "logical_not_cpu": "logical_not",
    "lu_cpu": (
        "lu linalg_det det linalg_lu_factor linalg_lu_factor_ex linalg_lu linalg_solve linalg_solve_ex "
        "linalg_tensorsolve"
    ),
    "logical_and_cpu": "logical_and",
    "logical_or_cpu": "logical_or",
    "logical_xor_cpu": "logical_xor",
    "rms_norm": "rms_norm",
    "silu_cpu": "silu",
    "tanh_vml_cpu": "tanhshrink tanh",
    "ormqr_cpu": "ormqr",
    "sin_vml_cpu": "sin",
    "sinc_cpu": "sinc special_sinc",
    "sinh_cpu": "sinh",
    "tan_vml_cpu": "tan",
    "triangular_solve_cpu": "triangular_solve linalg_solve_triangular",
    "exp2": "exp2 special_exp2",
    "expm1_vml_cpu": "expm1 special_expm1",
    "nan_to_num": "nan_to_num",
    "reciprocal_cpu": "reciprocal",
    "random_kernel_cpu": "random",
    "rsqrt_cpu": "rsqrt",
    "sqrt_vml_cpu": "sqrt",
    "lerp_kernel_scalar": "lerp",
    "angle_cpu": "angle",
    "linalg_svd_cpu": "svd linalg_cond linalg_svd linalg_svdvals",
    "scatter_gather_tensor_cpu": "gather scatter scatter_add take_along_dim",
    "take_put_cpu": "put",
    "take_cpu": "take",
    "eye": "eye",
    "trace": "trace",
    "logcumsumexp_out_cpu": "logcumsumexp",
    "sigmoid_cpu": "sigmoid special_expit",
    "prod_out_cpu": "prod",
    "pixel_shuffle": "pixel_shuffle",
    "pixel_unshuffle": "pixel_unshuffle",
    "channel_shuffle": "channel_shuffle",
    "scatter_reduce_exclude_input_init": "scatter_reduce",
    "linalg_eig_out_cpu": "linalg_eig linalg_eigvals",
    "linalg_eigh_cpu": "linalg_eigh linalg_eigvalsh",
    "orgqr_cpu": "linalg_householder_product orgqr",
    "ldl_factor_kernel_cpu": "linalg_ldl_factor linalg_ldl_factor_ex",
    "ldl_solve_kernel_cpu": "linalg_ldl_solve",
    "arange_cpu": "arange range",
    "linalg.lu_solve_cpu": "lu_solve linalg_lu_solve",
}
"""Names of functions, by that of the kernel which is not there."""

_BY_MESSAGE = {
    "sparse_sampled_addmm: Expected self to be a floating-point or complex tensor, but got ComplexHalf": (
        "sampled_addmm"
    ),
    "logdet: Low precision dtypes not supported. Got ComplexHalf": "logdet",
    "MKL FFT doesn't support tensors of type: Half": (
        "fft_fft fft_fft2 fft_fftn fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn fft_irfft "
        "fft_irfft2 fft_irfftn stft istft"
    ),
    "This function doesn't handle types other than float and double": "linalg_lstsq linalg_matrix_rank",
    "linalg.slogdet: Low precision dtypes not supported. Got ComplexHalf": "linalg_slogdet",
    "linalg.vander supports floating point, complex, and integer tensors, but got ComplexHalf": "linalg_vander",
    "linalg.inv: Low precision dtypes not supported. Got ComplexHalf": (
        "linalg_inv inverse linalg_inv_ex linalg_tensorinv matrix_power linalg_matrix_power"
    ),
}
"""Names of functions that are refused before a kernel is looked for, by the message."""

NOT_IMPLEMENTED = "\"{}\" not implemented for 'ComplexHalf'"

REFUSED: dict[str, Exception] = {
    **{name: NotImplementedError(NOT_IMPLEMENTED.format(kernel)) for kernel, names in _BY_KERNEL.items()
       for name in names.split()},
    **{name: RuntimeError(text) for text, names in _BY_MESSAGE.items() for name in names.split()},
}  # fmt: skip
"""The errors of functions that are refused, by their names."""

OPERATORS = {"__pow__": "pow", "__rpow__": "pow", "__ipow__": "pow", "__truediv__": "div", "__itruediv__": "div",
             "__rtruediv__": "reciprocal", "__rdiv__": "reciprocal"}  # fmt: skip
"""Python's operators, and the functions that they call."""

UNLESS_EMPTY: set[str] = set()
"""Functions that find out that there is no kernel where there is something to compute."""


def passes_empty(*names: str) -> None:
    """Declare functions that are refused only where there is something to compute."""
    UNLESS_EMPTY.update(names)


passes_empty("cummax", "cummin", "cumprod", "cumsum", "prod", "mode", "kthvalue", "equal", "flip")
passes_empty("gather", "put", "take", "pixel_shuffle", "pixel_unshuffle", "bernoulli", "softmax", "softmin")
passes_empty("log_softmax", "bilinear", "linear", "inner", "mm", "einsum", "linalg_multi_dot", "linalg_matrix_power")
passes_empty("cholesky", "linalg_cholesky", "linalg_cholesky_ex", "svd", "linalg_svd", "linalg_svdvals", "linalg_det")
passes_empty("linalg_eigh", "linalg_eigvalsh", "linalg_ldl_factor", "linalg_ldl_factor_ex", "linalg_ldl_solve")
passes_empty("linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_lu_solve", "lu_solve", "linalg_solve")
passes_empty("linalg_solve_ex")


def refuse(name: str, leaves: list[Any], gives_halves: bool) -> None:
    """Refuse what has no kernel for complex halves, if there are elements to compute with.

    Raises:
        NotImplementedError, RuntimeError: PyTorch's message.
    """
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    halves = [one for one in tensors if one.dtype is complex32]
    if any(isinstance(leaf, dtype) and leaf is not complex32 for leaf in leaves):
        return  # what is cast before it is computed with
    if not gives_halves and len(halves) < len(tensors):
        return  # what is cast before it is computed with
    called = OPERATORS.get(name, name).rstrip("_")
    error = _error_of(called, tensors, leaves)
    if error is not None and (called not in UNLESS_EMPTY or all(one._spec.numel for one in tensors)):
        raise type(error)(*error.args)


def _error_of(called: str, tensors: list[Tensor], leaves: list[Any]) -> Exception | None:
    if called in ("matmul", "__matmul", "__rmatmul"):
        return _of_product(tensors) if all(one._spec.numel for one in tensors) else None
    texts = [leaf for leaf in leaves if isinstance(leaf, str)]
    if called == "div" and texts:
        return NotImplementedError(NOT_IMPLEMENTED.format(f"div_{texts[0]}_cpu"))
    if called == "pad" and texts and texts[0] in _PADDING:
        lengths = [leaf for leaf in leaves if type(leaf) is int]
        return NotImplementedError(NOT_IMPLEMENTED.format(f"{_PADDING[texts[0]]}_pad{len(lengths) // 2}d"))
    if called in ("linalg_pinv", "pinverse"):
        shape = ", ".join(map(str, tensors[0].shape))
        return RuntimeError(f"linalg.pinv(ComplexHalf{{[{shape}]}}): expected a tensor with 2 or more dimensions of "
                            "float, double, cfloat or cdouble types")  # fmt: skip
    if called == "equal" and not (len(tensors) == 2 and tensors[0] is tensors[1]):
        return NotImplementedError(NOT_IMPLEMENTED.format("equal_cpu"))
    if called in ("linspace", "logspace") and tensors:
        return None
    return REFUSED.get(called)


_PADDING = {"reflect": "reflection", "replicate": "replication"}


def _of_product(tensors: list[Tensor]) -> Exception:
    kinds = (tensors[0].ndim, tensors[1].ndim)
    kernel = {(1, 1): "dot", (2, 1): "addmv_impl_cpu", (1, 2): "addmm_impl_cpu_", (2, 2): "addmm_impl_cpu_"}
    return NotImplementedError(NOT_IMPLEMENTED.format(kernel.get(kinds, "bmm")))


WORDS = (("ComplexFloat", "ComplexHalf"), ("c10::complex<float>", "c10::complex<c10::Half>"),
         ("torch.complex64", "torch.complex32"))  # fmt: skip
"""Words in messages about complex64, and those about complex halves."""


def in_words_of_halves(error: Exception, gives_halves: bool) -> Exception:
    """An error that was raised of complex64, as it would be of complex halves."""
    text = str(error)
    for of_floats, of_halves in WORDS if gives_halves else ():
        text = text.replace(of_floats, of_halves)
    return error if text == str(error) else type(error)(text)

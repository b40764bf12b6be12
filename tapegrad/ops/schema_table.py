"""The schemas of PyTorch's operators, by name: what its dispatcher takes. See Note [Schemas] in ``schemas.py``.

They are facts about PyTorch 2.13. Operators with the same schema stand together; those that write in place are left out
where they follow from the ones that don't. ``OUTS`` names the overload that writes what an operator gives into tensors,
and its arguments for them, where these are not ``out`` and ``out``.
"""

from __future__ import annotations

SCHEMAS = """
as_strided_scatter: (Tensor self, Tensor src, int[] size, int[] stride, int? storage_offset=None) -> Tensor
allclose: (Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool
bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar eq.Scalar ge.Scalar gt.Scalar le.Scalar lt.Scalar ne.Scalar:
    (Tensor self, Scalar other) -> Tensor
bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor bitwise_xor.Scalar_Tensor: (Scalar self, Tensor other) -> Tensor
bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor eq.Tensor ge.Tensor gt.Tensor le.Tensor lt.Tensor ne.Tensor:
    (Tensor self, Tensor other) -> Tensor
bucketize.Scalar: (Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor
bucketize.Tensor: (Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor
index_copy: (Tensor self, int dim, Tensor index, Tensor source) -> Tensor
isneginf isposinf: (Tensor self) -> Tensor
repeat_interleave.Tensor: (Tensor repeats, *, int? output_size=None) -> Tensor
searchsorted.Scalar: (Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None,
    Tensor? sorter=None) -> Tensor
searchsorted.Tensor: (Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None,
    Tensor? sorter=None) -> Tensor
nonzero argwhere: (Tensor self) -> Tensor
equal: (Tensor self, Tensor other) -> bool
_adaptive_avg_pool2d: (Tensor self, int[2] output_size) -> Tensor
_adaptive_avg_pool2d_backward hardsigmoid_backward hardswish_backward mish_backward silu_backward: (Tensor
    grad_output, Tensor self) -> Tensor
_adaptive_avg_pool3d: (Tensor self, int[3] output_size) -> Tensor
_cdist_backward: (Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor
_cdist_forward: (Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor
_chunk_cat: (Tensor[] tensors, int dim, int num_chunks) -> Tensor
_conj _neg_view alias detach lift_fresh squeeze t view_as_complex view_as_real: (Tensor(a) self) -> Tensor(a)
_ctc_loss: (Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool
    zero_infinity=False) -> (Tensor, Tensor)
_ctc_loss.Tensor: (Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool
    zero_infinity=False) -> (Tensor, Tensor)
_ctc_loss_backward: (Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor
    neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor
_ctc_loss_backward.Tensor: (Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor
    target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor
_dirichlet_grad: (Tensor x, Tensor alpha, Tensor total) -> Tensor
_embedding_bag: (Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool
    sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor,
    Tensor, Tensor, Tensor)
_embedding_bag_backward: (Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, Tensor
    maximum_indices, int num_weights, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, int
    padding_idx=-1) -> Tensor
_embedding_bag_per_sample_weights_backward: (Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor
    offset2bag, int mode, int padding_idx=-1) -> Tensor
_euclidean_dist: (Tensor x1, Tensor x2) -> Tensor
_fake_quantize_learnable_per_channel_affine: (Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min,
    int quant_max, float grad_factor=1.) -> Tensor
_fake_quantize_learnable_per_channel_affine_backward: (Tensor grad, Tensor self, Tensor scale, Tensor zero_point, int
    axis, int quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)
_fake_quantize_learnable_per_tensor_affine: (Tensor self, Tensor scale, Tensor zero_point, int quant_min, int
    quant_max, float grad_factor=1.) -> Tensor
_fake_quantize_learnable_per_tensor_affine_backward: (Tensor grad, Tensor self, Tensor scale, Tensor zero_point, int
    quant_min, int quant_max, float grad_factor=1.) -> (Tensor, Tensor, Tensor)
_fake_quantize_per_tensor_affine_cachemask_tensor_qparams: (Tensor self, Tensor scale, Tensor zero_point, Tensor
    fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)
_fft_c2c: (Tensor self, int[] dim, int normalization, bool forward) -> Tensor
_fft_c2r: (Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor
_fft_r2c: (Tensor self, int[] dim, int normalization, bool onesided) -> Tensor
_histogramdd_bin_edges: (Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) ->
    Tensor[]
_histogramdd_from_bin_cts: (Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False)
    -> Tensor
_index_put_impl_: (Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) ->
    Tensor(a!)
_linalg_det: (Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)
_linalg_eigh: (Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)
_linalg_slogdet: (Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)
_linalg_solve_ex: (Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU,
    Tensor pivots, Tensor info)
_linalg_svd: (Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S,
    Tensor Vh)
_local_scalar_dense: (Tensor self) -> Scalar
_log_softmax _softmax: (Tensor self, int dim, bool half_to_float) -> Tensor
_log_softmax_backward_data _softmax_backward_data: (Tensor grad_output, Tensor output, int dim, ScalarType
    input_dtype) -> Tensor
_native_batch_norm_legit.no_stats: (Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float
    eps) -> (Tensor, Tensor, Tensor)
_native_batch_norm_legit_no_training: (Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor
    running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)
_pack_padded_sequence: (Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)
_pad_packed_sequence: (Tensor data, Tensor batch_sizes, bool batch_first, Scalar padding_value, int total_length) ->
    (Tensor, Tensor)
_pdist_backward: (Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor
_pdist_forward: (Tensor self, float p=2.) -> Tensor
_prelu_kernel: (Tensor self, Tensor weight) -> Tensor
_prelu_kernel_backward: (Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)
_safe_softmax: (Tensor self, int dim, ScalarType? dtype=None) -> Tensor
_sample_dirichlet _standard_gamma poisson: (Tensor self, Generator? generator=None) -> Tensor
_scaled_dot_product_attention_math: (Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float
    dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) ->
    (Tensor, Tensor)
_scaled_dot_product_flash_attention_for_cpu: (Tensor query, Tensor key, Tensor value, float dropout_p=0., bool
    is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)
_scaled_dot_product_flash_attention_for_cpu_backward: (Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor
    out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor
    grad_query, Tensor grad_key, Tensor grad_value)
_segment_reduce_backward: (Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None, Tensor?
    offsets=None, int axis=0, Scalar? initial=None) -> Tensor
_standard_gamma_grad: (Tensor self, Tensor output) -> Tensor
_to_copy: (Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None,
    bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
_unique2: (Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor,
    Tensor)
_unsafe_masked_index: (Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor
_unsafe_masked_index_put_accumulate: (Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor
_unsafe_view: (Tensor self, int[] size) -> Tensor
_upsample_bicubic2d_aa _upsample_bilinear2d_aa upsample_bicubic2d upsample_bilinear2d: (Tensor self, int[2]
    output_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor
_upsample_bicubic2d_aa.vec _upsample_bilinear2d_aa.vec upsample_bicubic2d.vec upsample_bilinear2d.vec
    upsample_linear1d.vec upsample_trilinear3d.vec: (Tensor input, int[]? output_size, bool align_corners, float[]?
    scale_factors) -> Tensor
_upsample_nearest_exact1d upsample_nearest1d: (Tensor self, int[1] output_size, float? scales=None) -> Tensor
_upsample_nearest_exact1d.vec _upsample_nearest_exact2d.vec _upsample_nearest_exact3d.vec upsample_nearest1d.vec
    upsample_nearest2d.vec upsample_nearest3d.vec: (Tensor input, int[]? output_size, float[]? scale_factors) ->
    Tensor
_upsample_nearest_exact2d upsample_nearest2d: (Tensor self, int[2] output_size, float? scales_h=None, float?
    scales_w=None) -> Tensor
_upsample_nearest_exact3d upsample_nearest3d: (Tensor self, int[3] output_size, float? scales_d=None, float?
    scales_h=None, float? scales_w=None) -> Tensor
_weight_norm_interface: (Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)
abs acos acosh all angle any asin asinh atan atanh bitwise_not ceil conj_physical cos cosh deg2rad digamma erf erfc
    erfinv exp exp2 expm1 floor frac hardsigmoid hardswish i0 isfinite isinf isnan isreal lgamma linalg_eigvals
    linalg_matrix_exp log log10 log1p log2 logical_not max median min mish nanmedian neg rad2deg reciprocal relu round
    rsqrt sgn sigmoid sign signbit silu sin sinc sinh special_bessel_j0 special_bessel_j1 special_bessel_y0
    special_bessel_y1 special_entr special_erfcx special_i0e special_i1 special_i1e special_log_ndtr
    special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
    special_ndtri sqrt tan tanh trace trunc: (Tensor self) -> Tensor
absolute_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ fix_ negative_ set_ square_ zero_: (Tensor(a!) self) ->
    Tensor(a!)
adaptive_max_pool2d: (Tensor self, int[2] output_size) -> (Tensor, Tensor)
adaptive_max_pool3d: (Tensor self, int[3] output_size) -> (Tensor, Tensor)
add.Scalar rsub.Scalar sub.Scalar: (Tensor self, Scalar other, Scalar alpha=1) -> Tensor
add.Tensor rsub.Tensor sub.Tensor: (Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
addbmm baddbmm: (Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
addcdiv addcmul: (Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
addmm: (Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
addmm.dtype: (Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) -> Tensor
addmv: (Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor
addr: (Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
affine_grid_generator: (Tensor theta, int[] size, bool align_corners) -> Tensor
affine_grid_generator_backward: (Tensor grad, int[] size, bool align_corners) -> Tensor
all.dim any.dim: (Tensor self, int dim, bool keepdim=False) -> Tensor
all.dims any.dims: (Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor
amax amin: (Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
aminmax: (Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)
arange: (Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) ->
    Tensor
arange.start: (Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None) -> Tensor
arange.start_step: (Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None) -> Tensor
arctan2_ bitwise_and_.Tensor bitwise_or_.Tensor bitwise_xor_.Tensor copy_.Tensor divide_.Tensor eq_.Tensor
    floor_divide_.Tensor ge_.Tensor greater_.Tensor greater_equal_.Tensor gt_.Tensor ldexp_ le_.Tensor less_.Tensor
    less_equal_.Tensor lt_.Tensor multiply_.Tensor ne_.Tensor not_equal_.Tensor true_divide_.Tensor: (Tensor(a!) self,
    Tensor other) -> Tensor(a!)
argmax argmin: (Tensor self, int? dim=None, bool keepdim=False) -> Tensor
as_strided: (Tensor(a) self, int[] size, int[] stride, int? storage_offset=None) -> Tensor(a)
atan2 bitwise_left_shift.Tensor bitwise_right_shift.Tensor copysign.Tensor div.Tensor floor_divide fmax fmin
    fmod.Tensor gcd hypot igamma igammac lcm ldexp.Tensor logaddexp logaddexp2 logical_and logical_or logical_xor
    max.other maximum min.other minimum mul.Tensor nextafter remainder.Tensor special_xlog1py special_zeta vdot
    xlogy.Tensor: (Tensor self, Tensor other) -> Tensor
avg_pool2d: (Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, bool
    count_include_pad=True, int? divisor_override=None) -> Tensor
avg_pool2d_backward: (Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool
    ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor
avg_pool3d: (Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, bool
    count_include_pad=True, int? divisor_override=None) -> Tensor
baddbmm.dtype: (Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, Scalar alpha=1) ->
    Tensor
bartlett_window blackman_window hamming_window hann_window kaiser_window: (int window_length, *, ScalarType?
    dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
bartlett_window.periodic blackman_window.periodic hamming_window.periodic hann_window.periodic kaiser_window.periodic:
    (int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None) -> Tensor
bernoulli: (Tensor self, *, Generator? generator=None) -> Tensor
bernoulli.Tensor: (Tensor self, Tensor p, *, Generator? generator=None) -> Tensor
bernoulli.p: (Tensor self, float p, *, Generator? generator=None) -> Tensor
bernoulli_.float: (Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)
binary_cross_entropy: (Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor
binary_cross_entropy_backward: (Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1)
    -> Tensor
binary_cross_entropy_with_logits: (Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int
    reduction=1) -> Tensor
bincount: (Tensor self, Tensor? weights=None, int minlength=0) -> Tensor
binomial: (Tensor count, Tensor prob, Generator? generator=None) -> Tensor
bitwise_and_.Scalar bitwise_or_.Scalar bitwise_xor_.Scalar divide_.Scalar eq_.Scalar ge_.Scalar greater_.Scalar
    greater_equal_.Scalar gt_.Scalar le_.Scalar less_.Scalar less_equal_.Scalar lt_.Scalar multiply_.Scalar ne_.Scalar
    not_equal_.Scalar true_divide_.Scalar: (Tensor(a!) self, Scalar other) -> Tensor(a!)
bitwise_left_shift.Scalar_Tensor bitwise_right_shift.Scalar_Tensor remainder.Scalar_Tensor special_xlog1py.self_scalar
    special_zeta.self_scalar xlogy.Scalar_Self: (Scalar self, Tensor other) -> Tensor
bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor_Scalar copysign.Scalar div.Scalar floor_divide.Scalar
    fmod.Scalar mul.Scalar remainder.Scalar special_xlog1py.other_scalar special_zeta.other_scalar xlogy.Scalar_Other:
    (Tensor self, Scalar other) -> Tensor
block_diag: (Tensor[] tensors) -> Tensor
bmm mm: (Tensor self, Tensor mat2) -> Tensor
bmm.dtype mm.dtype: (Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor
cat stack: (Tensor[] tensors, int dim=0) -> Tensor
cauchy_: (Tensor(a!) self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor(a!)
celu: (Tensor self, Scalar alpha=1.) -> Tensor
channel_shuffle: (Tensor self, int groups) -> Tensor
cholesky cholesky_inverse: (Tensor self, bool upper=False) -> Tensor
cholesky_solve: (Tensor self, Tensor input2, bool upper=False) -> Tensor
clamp: (Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
clamp.Tensor: (Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
clamp_max: (Tensor self, Scalar max) -> Tensor
clamp_max.Tensor: (Tensor self, Tensor max) -> Tensor
clamp_min: (Tensor self, Scalar min) -> Tensor
clamp_min.Tensor: (Tensor self, Tensor min) -> Tensor
clip_: (Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)
clip_.Tensor: (Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)
clone: (Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
col2im: (Tensor self, int[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) ->
    Tensor
complex: (Tensor real, Tensor imag) -> Tensor
constant_pad_nd: (Tensor self, int[] pad, Scalar value=0) -> Tensor
convolution: (Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed,
    int[] output_padding, int groups) -> Tensor
convolution_backward: (Tensor grad_output, Tensor input, Tensor weight, int[]? bias_sizes, int[] stride, int[]
    padding, int[] dilation, bool transposed, int[] output_padding, int groups, bool[3] output_mask) -> (Tensor,
    Tensor, Tensor)
copy: (Tensor self, Tensor src, bool non_blocking=False) -> Tensor
copy.Dict_Tensor: (Dict(Tensor, t)(a) self) -> Dict(Tensor, t)
copy_: (Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
copy_.float: (Tensor(a!) self, float other) -> Tensor(a!)
copy_.int: (Tensor(a!) self, int other) -> Tensor(a!)
count_nonzero: (Tensor self, int? dim=None) -> Tensor
count_nonzero.dim_IntList: (Tensor self, int[] dim) -> Tensor
cross_entropy_loss: (Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100, float
    label_smoothing=0.) -> Tensor
cummax cummin: (Tensor self, int dim) -> (Tensor values, Tensor indices)
cumprod cumsum: (Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
diag_embed: (Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor
diagonal: (Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)
diagonal_backward: (Tensor grad_output, int[] input_sizes, int offset, int dim1, int dim2) -> Tensor
diagonal_scatter: (Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor
dist: (Tensor self, Tensor other, Scalar p=2) -> Tensor
div.Scalar_mode: (Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
div.Tensor_mode: (Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
divide_.Scalar_mode: (Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)
divide_.Tensor_mode: (Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)
dot: (Tensor self, Tensor tensor) -> Tensor
elu: (Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor
elu_backward: (Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor
    self_or_result) -> Tensor
embedding: (Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) ->
    Tensor
embedding_dense_backward: (Tensor grad_output, Tensor indices, int num_weights, int padding_idx, bool
    scale_grad_by_freq) -> Tensor
embedding_renorm_: (Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)
empty.memory_format: (int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
empty_like ones_like rand_like randn_like zeros_like: (Tensor self, *, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
empty_strided: (int[] size, int[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None) -> Tensor
expand: (Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)
exponential_: (Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)
eye: (int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
eye.m: (int n, int m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) ->
    Tensor
fake_quantize_per_channel_affine_cachemask: (Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min,
    int quant_max) -> (Tensor output, Tensor mask)
fake_quantize_per_tensor_affine_cachemask: (Tensor self, float scale, int zero_point, int quant_min, int quant_max) ->
    (Tensor output, Tensor mask)
fill.Scalar: (Tensor self, Scalar value) -> Tensor
fill.Tensor: (Tensor self, Tensor value) -> Tensor
fill_.Scalar: (Tensor(a!) self, Scalar value) -> Tensor(a!)
fill_.Tensor: (Tensor(a!) self, Tensor value) -> Tensor(a!)
fill_diagonal_: (Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)
flip: (Tensor self, int[] dims) -> Tensor
float_power_.Scalar pow_.Scalar: (Tensor(a!) self, Scalar exponent) -> Tensor(a!)
float_power_.Tensor pow_.Tensor: (Tensor(a!) self, Tensor exponent) -> Tensor(a!)
fractional_max_pool2d: (Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> (Tensor,
    Tensor)
fractional_max_pool3d: (Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> (Tensor,
    Tensor)
frexp.Tensor: (Tensor self) -> (Tensor mantissa, Tensor exponent)
full: (int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None) -> Tensor
full_like: (Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
gather: (Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
gelu: (Tensor self, *, str approximate="none") -> Tensor
gelu_backward: (Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor
geometric_: (Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)
geqrf: (Tensor self) -> (Tensor a, Tensor tau)
glu: (Tensor self, int dim=-1) -> Tensor
glu_backward: (Tensor grad_output, Tensor self, int dim) -> Tensor
grid_sampler_2d grid_sampler_3d: (Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool
    align_corners) -> Tensor
grid_sampler_2d_backward: (Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode,
    bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)
gru.data rnn_relu.data rnn_tanh.data: (Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases,
    int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)
gru.input rnn_relu.input rnn_tanh.input: (Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers,
    float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)
gru_cell rnn_relu_cell rnn_tanh_cell: (Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor?
    b_hh=None) -> Tensor
hamming_window.periodic_alpha: (int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
hamming_window.periodic_alpha_beta: (int window_length, bool periodic, float alpha, float beta, *, ScalarType?
    dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
hardshrink softshrink: (Tensor self, Scalar lambd=0.5) -> Tensor
hardshrink_backward: (Tensor grad_out, Tensor self, Scalar lambd) -> Tensor
hardtanh: (Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor
hardtanh_backward: (Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor
hash_tensor: (Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor
heaviside: (Tensor self, Tensor values) -> Tensor
histc: (Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor
histogram.bin_ct: (Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) ->
    (Tensor hist, Tensor bin_edges)
histogram.bins_tensor: (Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor
    bin_edges)
histogramdd: (Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist,
    Tensor[] bin_edges)
histogramdd.TensorList_bins: (Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool
    density=False) -> (Tensor hist, Tensor[] bin_edges)
histogramdd.int_bins: (Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor
    hist, Tensor[] bin_edges)
huber_loss: (Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor
huber_loss_backward: (Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor
im2col: (Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor
index.Tensor: (Tensor self, Tensor?[] indices) -> Tensor
index.Tensor_hacked_twin: (Tensor self, Tensor[] indices) -> Tensor
index_add: (Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor
index_fill.int_Scalar scatter.value: (Tensor self, int dim, Tensor index, Scalar value) -> Tensor
index_fill.int_Tensor: (Tensor self, int dim, Tensor index, Tensor value) -> Tensor
index_put: (Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor
index_put.hacked_twin: (Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor
index_put_: (Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)
index_reduce: (Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor
index_select: (Tensor self, int dim, Tensor index) -> Tensor
isclose: (Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) ->
    Tensor
isin.Scalar_Tensor: (Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor
isin.Tensor_Scalar: (Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor
isin.Tensor_Tensor: (Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor
kaiser_window.beta: (int window_length, bool periodic, float beta, *, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None) -> Tensor
kthvalue: (Tensor self, int k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
leaky_relu: (Tensor self, Scalar negative_slope=0.01) -> Tensor
leaky_relu_backward: (Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor
lerp.Scalar: (Tensor self, Tensor end, Scalar weight) -> Tensor
lerp.Tensor: (Tensor self, Tensor end, Tensor weight) -> Tensor
linalg_cholesky_ex: (Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)
linalg_cross: (Tensor self, Tensor other, *, int dim=-1) -> Tensor
linalg_eig: (Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)
linalg_eigvalsh: (Tensor self, str UPLO="L") -> Tensor
linalg_householder_product: (Tensor input, Tensor tau) -> Tensor
linalg_inv_ex: (Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)
linalg_ldl_factor_ex: (Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots,
    Tensor info)
linalg_ldl_solve: (Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor
linalg_lstsq: (Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals,
    Tensor rank, Tensor singular_values)
linalg_lu: (Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)
linalg_lu_factor_ex: (Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor
    info)
linalg_lu_solve: (Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor
linalg_pinv: (Tensor self, float rcond, bool hermitian=False) -> Tensor
linalg_pinv.atol_rtol_float: (Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor
linalg_pinv.atol_rtol_tensor: (Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor
linalg_pinv.rcond_tensor: (Tensor self, Tensor rcond, bool hermitian=False) -> Tensor
linalg_qr: (Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)
linalg_solve_triangular: (Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor
linalg_svdvals: (Tensor A, *, str? driver=None) -> Tensor
linalg_vector_norm: (Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) ->
    Tensor
linspace: (Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
    bool? pin_memory=None) -> Tensor
linspace.Scalar_Tensor: (Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None) -> Tensor
linspace.Tensor_Scalar: (Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None) -> Tensor
linspace.Tensor_Tensor: (Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None) -> Tensor
log_normal_: (Tensor(a!) self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor(a!)
log_sigmoid_backward: (Tensor grad_output, Tensor self, Tensor buffer) -> Tensor
log_sigmoid_forward: (Tensor self) -> (Tensor output, Tensor buffer)
logcumsumexp: (Tensor self, int dim) -> Tensor
logit: (Tensor self, float? eps=None) -> Tensor
logspace: (Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None,
    Device? device=None, bool? pin_memory=None) -> Tensor
logspace.Scalar_Tensor: (Scalar start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
logspace.Tensor_Scalar: (Tensor start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
logspace.Tensor_Tensor: (Tensor start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
logsumexp: (Tensor self, int[1] dim, bool keepdim=False) -> Tensor
lstm_cell: (Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor,
    Tensor)
lu_unpack: (Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L,
    Tensor U)
masked_fill.Scalar: (Tensor self, Tensor mask, Scalar value) -> Tensor
masked_fill.Tensor: (Tensor self, Tensor mask, Tensor value) -> Tensor
masked_scatter: (Tensor self, Tensor mask, Tensor source) -> Tensor
masked_scatter_backward: (Tensor grad_output, Tensor mask, int[] sizes) -> Tensor
masked_select: (Tensor self, Tensor mask) -> Tensor
max.dim median.dim min.dim nanmedian.dim: (Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor
    indices)
max_pool2d_with_indices: (Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool
    ceil_mode=False) -> (Tensor, Tensor)
max_pool2d_with_indices_backward: (Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, int[2] padding,
    int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor
max_pool3d_with_indices: (Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool
    ceil_mode=False) -> (Tensor, Tensor)
max_unpool2d: (Tensor self, Tensor indices, int[2] output_size) -> Tensor
max_unpool3d: (Tensor self, Tensor indices, int[3] output_size, int[3] stride, int[3] padding) -> Tensor
mean prod sum: (Tensor self, *, ScalarType? dtype=None) -> Tensor
mean.dim sum.dim_IntList: (Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
mkldnn_rnn_layer: (Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor
    cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool
    bidirectional, bool batch_first, bool train) -> (Tensor, Tensor, Tensor, Tensor)
mode: (Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)
mse_loss soft_margin_loss: (Tensor self, Tensor target, int reduction=1) -> Tensor
mse_loss_backward: (Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor
multi_margin_loss: (Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) ->
    Tensor
multi_margin_loss_backward: (Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor?
    weight=None, int reduction=1) -> Tensor
multilabel_margin_loss_backward: (Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) ->
    Tensor
multilabel_margin_loss_forward: (Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)
multinomial: (Tensor self, int num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor
mv: (Tensor self, Tensor vec) -> Tensor
mvlgamma: (Tensor self, int p) -> Tensor
nan_to_num: (Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor
nansum: (Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
native_batch_norm: (Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool
    training, float momentum, float eps) -> (Tensor, Tensor, Tensor)
native_batch_norm_backward: (Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var,
    Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
native_dropout: (Tensor input, float p, bool? train) -> (Tensor, Tensor)
native_dropout_backward: (Tensor grad_output, Tensor mask, float scale) -> Tensor
native_group_norm: (Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps) ->
    (Tensor, Tensor, Tensor)
native_group_norm_backward: (Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, int N, int C,
    int HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
native_layer_norm: (Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor,
    Tensor)
native_layer_norm_backward: (Tensor grad_out, Tensor input, int[] normalized_shape, Tensor mean, Tensor rstd, Tensor?
    weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)
new_empty new_ones new_zeros: (Tensor self, int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None) -> Tensor
new_empty_strided: (Tensor self, int[] size, int[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None) -> Tensor
new_full: (Tensor self, int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None) -> Tensor
nll_loss2d_backward nll_loss_backward: (Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction,
    int ignore_index, Tensor total_weight) -> Tensor
nll_loss2d_forward nll_loss_forward: (Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index) ->
    (Tensor output, Tensor total_weight)
nonzero_static: (Tensor self, *, int size, int fill_value=-1) -> Tensor
norm.Scalar: (Tensor self, Scalar p=2) -> Tensor
norm.ScalarOpt_dim: (Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor
norm.ScalarOpt_dim_dtype: (Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor
norm.ScalarOpt_dtype: (Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor
normal.Tensor_Tensor: (Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor
normal.Tensor_float: (Tensor mean, float std=1., *, Generator? generator=None) -> Tensor
normal.float_Tensor: (float mean, Tensor std, *, Generator? generator=None) -> Tensor
normal.float_float: (float mean, float std, int[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout?
    layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
normal_: (Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)
normal_functional: (Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor
one_hot: (Tensor self, int num_classes=-1) -> Tensor
ones rand randn zeros: (int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None) -> Tensor
ormqr: (Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor
permute: (Tensor(a) self, int[] dims) -> Tensor(a)
pixel_shuffle: (Tensor self, int upscale_factor) -> Tensor
pixel_unshuffle: (Tensor self, int downscale_factor) -> Tensor
polar: (Tensor abs, Tensor angle) -> Tensor
polygamma: (int n, Tensor self) -> Tensor
polygamma_: (Tensor(a!) self, int n) -> Tensor(a!)
pow.Scalar: (Scalar self, Tensor exponent) -> Tensor
pow.Tensor_Scalar: (Tensor self, Scalar exponent) -> Tensor
pow.Tensor_Tensor: (Tensor self, Tensor exponent) -> Tensor
prod.dim_int: (Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
put: (Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor
randint: (int high, int[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool?
    pin_memory=None) -> Tensor
randint.low: (int low, int high, int[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool?
    pin_memory=None) -> Tensor
randint_like: (Tensor self, int high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
randint_like.Tensor: (Tensor self, Tensor high, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None,
    bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
randint_like.low_dtype: (Tensor self, int low, int high, *, ScalarType? dtype=None, Layout? layout=None, Device?
    device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
random_: (Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)
random_.from: (Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)
random_.to: (Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)
randperm: (int n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
reflection_pad1d replication_pad1d: (Tensor self, int[2] padding) -> Tensor
reflection_pad2d replication_pad2d: (Tensor self, int[4] padding) -> Tensor
reflection_pad3d replication_pad3d: (Tensor self, int[6] padding) -> Tensor
renorm: (Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor
repeat: (Tensor self, int[] repeats) -> Tensor
requires_grad_: (Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)
resize_: (Tensor(a!) self, int[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)
resize_as_: (Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)
resize_as_sparse_: (Tensor(a!) self, Tensor the_template) -> Tensor(a!)
roll: (Tensor self, int[1] shifts, int[1] dims=[]) -> Tensor
rot90: (Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor
round.decimals: (Tensor self, *, int decimals) -> Tensor
scalar_tensor: (Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None)
    -> Tensor
scatter.reduce: (Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor
scatter.src scatter_add: (Tensor self, int dim, Tensor index, Tensor src) -> Tensor
scatter.value_reduce: (Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor
scatter_reduce.two: (Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor
segment_reduce: (Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int
    axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor
select.int: (Tensor(a) self, int dim, int index) -> Tensor(a)
select_backward: (Tensor grad_output, int[] input_sizes, int dim, int index) -> Tensor
select_scatter: (Tensor self, Tensor src, int dim, int index) -> Tensor
set_.source_Storage: (Tensor(a!) self, Storage source) -> Tensor(a!)
set_.source_Storage_storage_offset: (Tensor(a!) self, Storage source, int storage_offset, int[] size, int[] stride=[])
    -> Tensor(a!)
set_.source_Tensor: (Tensor(a!) self, Tensor source) -> Tensor(a!)
set_.source_Tensor_storage_offset: (Tensor(a!) self, Tensor source, int storage_offset, int[] size, int[] stride=[])
    -> Tensor(a!)
sigmoid_backward tanh_backward: (Tensor grad_output, Tensor output) -> Tensor
slice.Tensor: (Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)
slice_backward: (Tensor grad_output, int[] input_sizes, int dim, int start, int end, int step) -> Tensor
slice_scatter: (Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor
smooth_l1_loss: (Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor
smooth_l1_loss_backward: (Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor
softplus: (Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor
softplus_backward: (Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor
softshrink_backward: (Tensor grad_output, Tensor self, Scalar lambd) -> Tensor
sort: (Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
sort.stable: (Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
sparse_resize_ sparse_resize_and_clear_: (Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)
special_airy_ai special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0:
    (Tensor x) -> Tensor
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
    special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
    special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
    special_shifted_chebyshev_polynomial_w: (Tensor x, Tensor n) -> Tensor
special_chebyshev_polynomial_t.n_scalar special_chebyshev_polynomial_u.n_scalar
    special_chebyshev_polynomial_v.n_scalar special_chebyshev_polynomial_w.n_scalar
    special_hermite_polynomial_h.n_scalar special_hermite_polynomial_he.n_scalar
    special_laguerre_polynomial_l.n_scalar special_legendre_polynomial_p.n_scalar
    special_shifted_chebyshev_polynomial_t.n_scalar special_shifted_chebyshev_polynomial_u.n_scalar
    special_shifted_chebyshev_polynomial_v.n_scalar special_shifted_chebyshev_polynomial_w.n_scalar: (Tensor x, Scalar
    n) -> Tensor
special_chebyshev_polynomial_t.x_scalar special_chebyshev_polynomial_u.x_scalar
    special_chebyshev_polynomial_v.x_scalar special_chebyshev_polynomial_w.x_scalar
    special_hermite_polynomial_h.x_scalar special_hermite_polynomial_he.x_scalar
    special_laguerre_polynomial_l.x_scalar special_legendre_polynomial_p.x_scalar
    special_shifted_chebyshev_polynomial_t.x_scalar special_shifted_chebyshev_polynomial_u.x_scalar
    special_shifted_chebyshev_polynomial_v.x_scalar special_shifted_chebyshev_polynomial_w.x_scalar: (Scalar x, Tensor
    n) -> Tensor
split split_with_sizes: (Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]
split.Tensor: (Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]
split.sizes: (Tensor(a -> *) self, int[] split_size, int dim=0) -> Tensor(a)[]
squeeze.dim unsqueeze: (Tensor(a) self, int dim) -> Tensor(a)
squeeze.dims: (Tensor(a) self, int[] dim) -> Tensor(a)
std var: (Tensor self, bool unbiased=True) -> Tensor
std.correction var.correction: (Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) ->
    Tensor
std.dim var.dim: (Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor
std_mean var_mean: (Tensor self, bool unbiased=True) -> (Tensor, Tensor)
std_mean.correction var_mean.correction: (Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool
    keepdim=False) -> (Tensor, Tensor)
std_mean.dim var_mean.dim: (Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)
subtract_.Scalar: (Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
subtract_.Tensor: (Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
swapaxes_: (Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)
swapdims_ transpose_: (Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)
take: (Tensor self, Tensor index) -> Tensor
threshold: (Tensor self, Scalar threshold, Scalar value) -> Tensor
threshold_backward: (Tensor grad_output, Tensor self, Scalar threshold) -> Tensor
topk: (Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)
transpose.int: (Tensor(a) self, int dim0, int dim1) -> Tensor(a)
triangular_solve: (Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> (Tensor
    solution, Tensor cloned_coefficient)
tril triu: (Tensor self, int diagonal=0) -> Tensor
tril_indices triu_indices: (int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device?
    device=None, bool? pin_memory=None) -> Tensor
unbind.int: (Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
unfold: (Tensor(a) self, int dimension, int size, int step) -> Tensor(a)
unfold_backward: (Tensor grad_in, int[] input_sizes, int dim, int size, int step) -> Tensor
uniform_: (Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)
unique_consecutive: (Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor,
    Tensor, Tensor)
unique_dim: (Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor,
    Tensor, Tensor)
unsafe_split.Tensor: (Tensor self, int split_size, int dim=0) -> Tensor[]
unsafe_split_with_sizes: (Tensor self, int[] split_sizes, int dim=0) -> Tensor[]
upsample_bilinear2d_backward: (Tensor grad_output, int[2] output_size, int[4] input_size, bool align_corners, float?
    scales_h=None, float? scales_w=None) -> Tensor
upsample_linear1d: (Tensor self, int[1] output_size, bool align_corners, float? scales=None) -> Tensor
upsample_nearest2d_backward: (Tensor grad_output, int[2] output_size, int[4] input_size, float? scales_h=None, float?
    scales_w=None) -> Tensor
upsample_trilinear3d: (Tensor self, int[3] output_size, bool align_corners, float? scales_d=None, float?
    scales_h=None, float? scales_w=None) -> Tensor
view: (Tensor(a) self, int[] size) -> Tensor(a)
view.dtype: (Tensor(a) self, ScalarType dtype) -> Tensor(a)
where: (Tensor condition) -> Tensor[]
where.Scalar: (Tensor condition, Scalar self, Scalar other) -> Tensor
where.ScalarOther: (Tensor condition, Tensor self, Scalar other) -> Tensor
where.ScalarSelf: (Tensor condition, Scalar self, Tensor other) -> Tensor
where.self: (Tensor condition, Tensor self, Tensor other) -> Tensor
"""

OUTS = """
IntList_out out: sum.dim_IntList
L L info: linalg_cholesky_ex
OutScalar_Other out: xlogy.Scalar_Other
OutScalar_Self out: xlogy.Scalar_Self
OutTensor out: xlogy.Tensor
ScalarOpt_dtype_out out: norm.ScalarOpt_dtype
Scalar_Tensor_out out: bitwise_left_shift.Scalar_Tensor bitwise_right_shift.Scalar_Tensor isin.Scalar_Tensor
    linspace.Scalar_Tensor logspace.Scalar_Tensor remainder.Scalar_Tensor
Scalar_mode_out out: div.Scalar_mode
Scalar_out out: add.Scalar copysign.Scalar div.Scalar fill.Scalar floor_divide.Scalar fmod.Scalar lerp.Scalar
    masked_fill.Scalar mul.Scalar norm.Scalar pow.Scalar remainder.Scalar rsub.Scalar sub.Scalar
Tensor_Scalar_out out: bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor_Scalar isin.Tensor_Scalar
    linspace.Tensor_Scalar logspace.Tensor_Scalar pow.Tensor_Scalar
Tensor_Tensor_out out: isin.Tensor_Tensor linspace.Tensor_Tensor logspace.Tensor_Tensor normal.Tensor_Tensor
    pow.Tensor_Tensor
Tensor_float_out out: normal.Tensor_float
Tensor_out mantissa exponent: frexp.Tensor
Tensor_out out: bernoulli.Tensor bitwise_left_shift.Tensor bitwise_right_shift.Tensor clamp.Tensor clamp_max.Tensor
    clamp_min.Tensor fill.Tensor fmod.Tensor lerp.Tensor masked_fill.Tensor randint_like.Tensor remainder.Tensor
    rsub.Tensor unsafe_split.Tensor
X X M: triangular_solve
a a tau: geqrf
all_out out: all any
atol_rtol_float_out out: linalg_pinv.atol_rtol_float
atol_rtol_tensor_out out: linalg_pinv.atol_rtol_tensor
beta_out out: kaiser_window.beta
bin_ct_out hist bin_edges: histogram.bin_ct
bins_tensor_out hist bin_edges: histogram.bins_tensor
correction_out out: std.correction var.correction
correction_out out0 out1: std_mean.correction var_mean.correction
decimals_out out: round.decimals
dim_IntList_out out: count_nonzero.dim_IntList
dim_max max max_values: max.dim
dim_min min min_indices: min.dim
dim_values values indices: median.dim nanmedian.dim
dims_out out: all.dims any.dims
dtype_out out: addmm.dtype baddbmm.dtype bmm.dtype mean mm.dtype
float_Tensor_out out: normal.float_Tensor
float_float_out out: normal.float_float
float_out out: bernoulli.p
int_Scalar_out out: index_fill.int_Scalar
int_Tensor_out out: index_fill.int_Tensor
int_out out: prod.dim_int
inverse inverse info: linalg_inv_ex
low_dtype_out out: randint_like.low_dtype
low_out out: randint.low
m_out out: eye.m
n_scalar_out out: special_chebyshev_polynomial_t.n_scalar special_chebyshev_polynomial_u.n_scalar
    special_chebyshev_polynomial_v.n_scalar special_chebyshev_polynomial_w.n_scalar
    special_hermite_polynomial_h.n_scalar special_hermite_polynomial_he.n_scalar
    special_laguerre_polynomial_l.n_scalar special_legendre_polynomial_p.n_scalar
    special_shifted_chebyshev_polynomial_t.n_scalar special_shifted_chebyshev_polynomial_u.n_scalar
    special_shifted_chebyshev_polynomial_v.n_scalar special_shifted_chebyshev_polynomial_w.n_scalar
other_scalar_out out: special_xlog1py.other_scalar special_zeta.other_scalar
out LD pivots info: linalg_ldl_factor_ex
out LU pivots info: linalg_lu_factor_ex
out P L U: linalg_lu lu_unpack
out Q R: linalg_qr
out eigenvalues eigenvectors: linalg_eig
out min max: aminmax
out out: add.Tensor all.dim any.dim copysign.Tensor div.Tensor empty.memory_format ldexp.Tensor max.other mean.dim
    min.other mul.Tensor std.dim sub.Tensor var.dim
out out save_mean save_invstd: native_batch_norm
out out0 out1: native_dropout
out out0 out1 out2: native_group_norm native_layer_norm unique_consecutive
out solution residuals rank singular_values: linalg_lstsq
out values indices: cummax cummin
out_mode out: div.Tensor_mode
out_rcond_tensor out: linalg_pinv.rcond_tensor
periodic_alpha_beta_out out: hamming_window.periodic_alpha_beta
periodic_alpha_out out: hamming_window.periodic_alpha
periodic_out out: bartlett_window.periodic blackman_window.periodic hamming_window.periodic hann_window.periodic
    kaiser_window.periodic
reduce_out out: scatter.reduce
self_out out: where.self
self_scalar_out out: special_xlog1py.self_scalar special_zeta.self_scalar
src_out out: scatter.src
start_out out: arange.start_step
two_out out: scatter_reduce.two
unary_out out: max min
value_out out: scatter.value
value_reduce_out out: scatter.value_reduce
values values indices: kthvalue mode sort topk
values_stable values indices: sort.stable
x_scalar_out out: special_chebyshev_polynomial_t.x_scalar special_chebyshev_polynomial_u.x_scalar
    special_chebyshev_polynomial_v.x_scalar special_chebyshev_polynomial_w.x_scalar
    special_hermite_polynomial_h.x_scalar special_hermite_polynomial_he.x_scalar
    special_laguerre_polynomial_l.x_scalar special_legendre_polynomial_p.x_scalar
    special_shifted_chebyshev_polynomial_t.x_scalar special_shifted_chebyshev_polynomial_u.x_scalar
    special_shifted_chebyshev_polynomial_v.x_scalar special_shifted_chebyshev_polynomial_w.x_scalar
"""

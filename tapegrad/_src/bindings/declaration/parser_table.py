"""The signatures by which PyTorch's parser judges calls, by name. See Note [The gate] in ``parser.py``.

They are facts about PyTorch 2.13, collected from what it says of calls that fit nothing; names with the same signatures
stand together. ``|`` is between overloads, in the order in which they are tried.
"""

from __future__ import annotations

import re


def by_name(table: str) -> dict[str, str]:
    """The signatures of each name; an entry begins a line, and goes on in lines that are indented. ``()`` is empty."""
    entries = [entry.partition(": ") for entry in re.sub(r"\n +", " ", table.strip()).split("\n")]
    return {name: text.replace("()", "") for names, _, text in entries for name in names.split()}


def product_added(one: str, other: str, dtype: bool = False) -> str:
    """The signatures of functions that add a product of two tensors, with the old ones that have factors in between."""
    tensors, numbers = f"Tensor {one}, Tensor {other}", "*, Number beta=1, Number alpha=1, Tensor out=None"
    old = f"~Number beta, Tensor input, Number alpha, {tensors}, *, Tensor out=None"
    signatures = [old, old.replace(" Number alpha,", ""), f"Tensor input, {tensors}, {numbers}"]
    return " | ".join([*signatures, f"Tensor input, {tensors}, dtype out_dtype, {numbers}"][: 3 + dtype])


OPTIONS = (
    "dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False"
)
"""The options that every factory takes."""


FUNCTIONS = by_name("""
_unique: Tensor input, bool sorted=True, bool return_inverse=False
_unique2: Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False
abs absolute acos acosh alias_copy angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh bitwise_not
    ceil conj_physical cos cosh deg2rad detach_copy digamma erf erfc erfinv exp exp2 expm1 fix floor frac i0 inverse
    isneginf isposinf lgamma linalg_eigvals log log10 log1p log2 logical_not logsigmoid msort neg negative rad2deg
    reciprocal rsqrt sgn sigmoid sign signbit sin sinc sinh special_bessel_j0 special_bessel_j1 special_bessel_y0
    special_bessel_y1 special_digamma special_entr special_erf special_erfc special_erfcx special_erfinv special_exp2
    special_expit special_expm1 special_gammaln special_i0 special_i0e special_i1 special_i1e special_log1p
    special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
    special_modified_bessel_k1 special_ndtr special_ndtri special_psi special_sinc sqrt square t_copy tan tanh trunc
    view_as_complex_copy view_as_real_copy:
        Tensor input, *, Tensor out=None
_conj _neg_view abs_ acos_ acosh_ adjoint arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ argwhere asin_ asinh_ atan_
    atanh_ ceil_ conj conj_physical_ corrcoef cos_ cosh_ deg2rad_ det detach detach_ erf_ erfc_ exp2_ exp_ expm1_ fix_
    fliplr flipud floor_ frac_ get_device i0_ imag is_complex is_conj is_floating_point is_inference is_neg is_nonzero
    is_signed isfinite isinf isnan isreal linalg_matrix_exp log10_ log1p_ log2_ log_ logdet matrix_exp neg_ negative_
    numel positive rad2deg_ ravel real reciprocal_ relu relu_ resolve_conj resolve_neg rsqrt_ selu selu_ sigmoid_ sin_
    sinc_ sinh_ sqrt_ square_ t tan_ tanh_ trace trunc_ view_as_complex view_as_real zero_:
        Tensor input
arctan2 atan2 fmax fmin gcd hypot igamma igammac inner kron lcm ldexp linalg_matmul logaddexp logaddexp2 logical_and
    logical_or logical_xor matmul maximum minimum mul nextafter special_gammainc special_gammaincc vdot:
        Tensor input, Tensor other, *, Tensor out=None
copysign eq fmod ge greater greater_equal gt le less less_equal lt ne not_equal:
        Tensor input, Tensor other, *, Tensor out=None | Tensor input, Number other, *, Tensor out=None
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
    special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
    special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
    special_shifted_chebyshev_polynomial_w:
        Tensor x, Tensor n, *, Tensor out=None | Number x, Tensor n, *, Tensor out=None | Tensor x, Number n, *, Tensor
        out=None
alpha_dropout alpha_dropout_ dropout dropout_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout
    feature_dropout_:
        Tensor input, float p, bool train
fft_fft fft_hfft fft_ifft fft_ihfft fft_irfft fft_rfft:
        Tensor input, index? n=None, int dim=-1, str? norm=None, *, Tensor out=None
fft_fft2 fft_hfft2 fft_ifft2 fft_ihfft2 fft_irfft2 fft_rfft2:
        Tensor input, indices[1]? s=None, ints[1] dim={-2,-1}, str? norm=None, *, Tensor out=None
fft_fftn fft_hfftn fft_ifftn fft_ihfftn fft_irfftn fft_rfftn:
        Tensor input, indices[1]? s=None, ints[1]? dim=None, str? norm=None, *, Tensor out=None
column_stack dstack hstack linalg_multi_dot row_stack vstack: Tensors tensors, *, Tensor out=None
bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor remainder: Tensor input, Tensor other, *,
    Tensor out=None | Number self, Tensor other | Tensor input, Number other, *, Tensor out=None
equal gcd_ is_same_size lcm_ ldexp_: Tensor input, Tensor other
cat concat concatenate stack: Tensors tensors, int dim=0, *, Tensor out=None
frexp geqrf linalg_eig slogdet: Tensor input, *, Tensors[2] out=None
special_airy_ai special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0:
        Tensor x, *, Tensor out=None
special_xlog1py special_xlogy special_zeta xlogy: Tensor input, Tensor other, *, Tensor out=None | Number self, Tensor
    other, *, Tensor out=None | Tensor input, Number other, *, Tensor out=None
grid_sampler grid_sampler_2d grid_sampler_3d:
        Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners
bartlett_window blackman_window hann_window:
        int window_length, *, OPTIONS | int window_length, bool periodic, *, OPTIONS
dsplit hsplit vsplit: Tensor input, int sections | Tensor input, ints indices
floor_divide multiply true_divide: Tensor input, Tensor other, *, Tensor out=None | Tensor input, Number other
_sample_dirichlet _standard_gamma poisson: Tensor input, Generator? generator=None
empty_like ones_like zeros_like: Tensor input, *, memory_format? memory_format=None, OPTIONS
adaptive_avg_pool1d adaptive_max_pool1d: Tensor input, ints[1] output_size
add sub: ~Tensor input, Number alpha, Tensor other, *, Tensor out=None | Tensor input, Tensor other, *, Number alpha=1,
    Tensor out=None
addcdiv addcmul: ~Tensor input, Number value, Tensor tensor1, Tensor tensor2, *, Tensor out=None | Tensor input, Tensor
    tensor1, Tensor tensor2, *, Number value=1, Tensor out=None
all any: Tensor input, *, Tensor out=None | Tensor input, ints? dim=None, bool keepdim=False, *, Tensor out=None |
    Tensor input, int dim, bool keepdim=False, *, Tensor out=None
amax amin: Tensor input, ints[1] dim=None, bool keepdim=False, *, Tensor out=None
argmax argmin: Tensor input, int? dim=None, bool keepdim=False, *, Tensor out=None
as_strided as_strided_: Tensor input, indices size, indices stride, index? storage_offset=None
celu celu_: Tensor input, Number alpha=1.0
cholesky cholesky_inverse: Tensor input, bool upper=False, *, Tensor out=None
chunk unsafe_chunk: Tensor input, int chunks, int dim=0
clamp clip: Tensor input, Tensor? min=None, Tensor? max=None, *, Tensor out=None | Tensor input, Number? min=None,
    Number? max=None, *, Tensor out=None
clamp_ clip_: Tensor input, Tensor? min=None, Tensor? max=None | Tensor input, Number? min=None, Number? max=None
cosine_embedding_loss margin_ranking_loss:
        Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=at::Reduction::Mean
cummax cummin: Tensor input, int dim, *, Tensors[2] out=None
cumprod cumsum: Tensor input, int dim, *, dtype? dtype=None, Tensor out=None
fft_fftfreq fft_rfftfreq: int n, float d=1.0, *, Tensor out=None, OPTIONS
fft_fftshift fft_ifftshift: Tensor input, ints[1]? dim=None
fill fill_: Tensor input, Tensor value | Tensor input, Number value
hardshrink softshrink: Tensor input, Number lambd=0.5, *, Tensor out=None
lstm: Tensor data, Tensor batch_sizes, Tensors hx, Tensors params, bool has_biases, int num_layers, float dropout, bool
    train, bool bidirectional | Tensor input, Tensors hx, Tensors params, bool has_biases, int num_layers, float
    dropout, bool train, bool bidirectional, bool batch_first
gru rnn_relu rnn_tanh: Tensor data, Tensor batch_sizes, Tensor hx, Tensors params, bool has_biases, int num_layers,
    float dropout, bool train, bool bidirectional | Tensor input, Tensor hx, Tensors params, bool has_biases, int
    num_layers, float dropout, bool train, bool bidirectional, bool batch_first
lstm_cell: Tensor input, Tensors hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None
gru_cell rnn_relu_cell rnn_tanh_cell:
        Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None
_pack_padded_sequence: Tensor input, Tensor lengths, bool batch_first
_pad_packed_sequence: Tensor data, Tensor batch_sizes, bool batch_first, Number padding_value, int total_length
index_put index_put_: Tensor input, Tensors indices, Tensor values, bool accumulate=False
allclose isclose: Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False
linalg_det linalg_inv: Tensor A, *, Tensor out=None
logcumsumexp unsqueeze_copy: Tensor input, int dim, *, Tensor out=None
logit special_logit: Tensor input, float? eps=None, *, Tensor out=None
logsumexp special_logsumexp: Tensor input, ints[1] dim, bool keepdim=False, *, Tensor out=None
linalg_matrix_power matrix_power: Tensor input, int n, *, Tensor out=None
max min: Tensor input, *, Tensor out=None | Tensor input, Tensor other, *, Tensor out=None | Tensor input, int dim, bool
    keepdim=False, *, Tensors[2] out=None
max_pool1d max_pool1d_with_indices: Tensor input, ints[1] kernel_size, ints[1] stride=None, ints[1] padding=0, ints[1]
    dilation=1, bool ceil_mode=False
median nanmedian: Tensor input | Tensor input, int dim, bool keepdim=False, *, Tensors[2] out=None
bmm mm: Tensor input, Tensor mat2, *, Tensor out=None | Tensor input, Tensor mat2, dtype out_dtype, *, Tensor out=None
moveaxis movedim: Tensor input, int source, int destination | Tensor input, ints source, ints destination
mvlgamma special_multigammaln: Tensor input, int p, *, Tensor out=None
nanmean nansum: Tensor input, ints[1]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor out=None
ger outer: Tensor input, Tensor vec2, *, Tensor out=None
flip permute: Tensor input, ints dims
polygamma special_polygamma: int n, Tensor input, *, Tensor out=None
float_power pow: Tensor input, Tensor exponent, *, Tensor out=None | Number self, Tensor exponent, *, Tensor out=None |
    Tensor input, Number exponent, *, Tensor out=None
nanquantile quantile: Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor
    out=None | Tensor input, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor out=None
rand randn: indices size, *, Generator? generator, Tensor out=None, OPTIONS | indices size, *, Tensor out=None, OPTIONS
rand_like randn_like: Tensor input, *, Generator? generator, memory_format? memory_format=None, OPTIONS | Tensor input,
    *, memory_format? memory_format=None, OPTIONS
rrelu rrelu_: Tensor input, Number lower=0.125, Number upper=0.3333333333333333, bool training=False, Generator?
    generator=None
_segment_reduce segment_reduce: Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor?
    offsets=None, int axis=0, bool unsafe=False, Number? initial=None
log_softmax softmax: Tensor input, int dim, dtype? dtype=None, *, Tensor out=None
split_with_sizes unsafe_split_with_sizes: Tensor input, indices split_sizes, int dim=0
std var: Tensor input, ints[1]? dim, bool unbiased=True, bool keepdim=False, *, Tensor out=None | Tensor input, ints[1]?
    dim=None, *, Number? correction=None, bool keepdim=False, Tensor out=None | Tensor input, bool unbiased=True
std_mean var_mean: Tensor input, ints[1]? dim, bool unbiased=True, bool keepdim=False | Tensor input, ints[1]? dim=None,
    *, Number? correction=None, bool keepdim=False | Tensor input, bool unbiased=True
swapdims transpose: Tensor input, int dim0, int dim1
cumulative_trapezoid trapezoid: Tensor y, Tensor x, *, int dim=-1 | Tensor y, *, Number dx=1, int dim=-1
tril triu: Tensor input, index diagonal=0, *, Tensor out=None
tril_indices triu_indices: int row, int col, int offset=0, *, OPTIONS
ones zeros: indices size, *, Tensor out=None, OPTIONS
_chunk_cat: Tensors tensors, int dim, int num_chunks, *, Tensor out=None
_ctc_loss: Tensor log_probs, Tensor targets, ints input_lengths, ints target_lengths, int blank=0, bool
    zero_infinity=False | Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0,
    bool zero_infinity=False
_dirichlet_grad: Tensor x, Tensor alpha, Tensor total
_make_dual: Tensor primal, Tensor tangent, int level
_native_batch_norm_legit: Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool
    training, float momentum, float eps, *, Tensors[3] out=None | Tensor input, Tensor? weight, Tensor? bias, bool
    training, float momentum, float eps, *, Tensors[3] out=None
_native_batch_norm_legit_no_training:
        Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps
_softmax_backward_data: Tensor grad_output, Tensor output, int dim, dtype input_dtype, *, Tensor grad_input=None
_standard_gamma_grad: Tensor input, Tensor output
_unpack_dual: Tensor dual, int level
_unsafe_masked_index: Tensor input, Tensor mask, Tensors indices, Number fill
_unsafe_masked_index_put_accumulate: Tensor input, Tensor mask, Tensors indices, Tensor values
addmv_: ~Number beta, Tensor input, Number alpha, Tensor mat, Tensor vec | ~Number beta, Tensor input, Tensor mat,
    Tensor vec | Tensor input, Tensor mat, Tensor vec, *, Number beta=1, Number alpha=1
affine_grid_generator: Tensor theta, indices size, bool align_corners
aminmax: Tensor input, *, int? dim=None, bool keepdim=False, Tensors[2] out=None
arange: Number end, *, Tensor out=None, OPTIONS | Number start, Number end, *, OPTIONS | Number start, Number end,
    Number step=1, *, Tensor out=None, OPTIONS
argsort: Tensor input, *, bool stable, int dim=-1, bool descending=False, Tensor out=None | Tensor input, int dim=-1,
    bool descending=False
as_strided_copy: Tensor input, indices size, indices stride, index? storage_offset=None, *, Tensor out=None
as_strided_scatter: Tensor input, Tensor src, indices size, indices stride, index? storage_offset=None
as_tensor: object data, *, dtype dtype=None, device? device=None
asarray: object obj, *, dtype? dtype=None, device? device=None, bool? copy=None, bool? requires_grad=None
avg_pool1d: Tensor input, ints[1] kernel_size, ints[1] stride=None, ints[1] padding=0, bool ceil_mode=False, bool
    count_include_pad=True
avg_pool2d: Tensor input, ints[2] kernel_size, ints[2] stride=None, ints[2] padding=0, bool ceil_mode=False, bool
    count_include_pad=True, int? divisor_override=None, *, Tensor out=None
avg_pool3d: Tensor input, ints[3] kernel_size, ints[3] stride=None, ints[3] padding=0, bool ceil_mode=False, bool
    count_include_pad=True, int? divisor_override=None, *, Tensor out=None
batch_norm: Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float
    momentum, float eps, bool cudnn_enabled
bernoulli: Tensor input, *, Generator? generator=None, Tensor out=None | Tensor input, float p, *, Generator?
    generator=None
bilinear: Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None
binary_cross_entropy_with_logits:
        Tensor input, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=at::Reduction::Mean
bincount: Tensor input, Tensor? weights=None, index minlength=0
binomial: Tensor count, Tensor prob, Generator? generator=None
broadcast_to: Tensor input, indices size
bucketize: Tensor input, Tensor boundaries, *, bool out_int32=False, bool right=False, Tensor out=None | Number self,
    Tensor boundaries, *, bool out_int32=False, bool right=False
channel_shuffle: Tensor input, index groups
native_channel_shuffle: Tensor input, index groups
conv_tbc: Tensor input, Tensor weight, Tensor bias, index pad=0
cholesky_solve: Tensor input, Tensor input2, bool upper=False, *, Tensor out=None
clamp_max: Tensor input, Tensor max, *, Tensor out=None | Tensor input, Number max, *, Tensor out=None
clamp_max_: Tensor input, Tensor max | Tensor input, Number max
clamp_min: Tensor input, Tensor min, *, Tensor out=None | Tensor input, Number min, *, Tensor out=None
clamp_min_: Tensor input, Tensor min | Tensor input, Number min
clone: Tensor input, *, memory_format? memory_format=None
combinations: Tensor input, int r=2, bool with_replacement=False
complex: Tensor real, Tensor imag, *, Tensor out=None
constant_pad_nd: Tensor input, indices pad, Number value=0
conv1d: Tensor input, Tensor weight, Tensor? bias=None, indices[1] stride=1, indices[1] padding=0, indices[1]
    dilation=1, index groups=1 | Tensor input, Tensor weight, Tensor? bias=None, indices[1] stride=1, str
    padding="valid", indices[1] dilation=1, index groups=1
conv2d: Tensor input, Tensor weight, Tensor? bias=None, indices[2] stride=1, indices[2] padding=0, indices[2]
    dilation=1, index groups=1 | Tensor input, Tensor weight, Tensor? bias=None, indices[2] stride=1, str
    padding="valid", indices[2] dilation=1, index groups=1
conv3d: Tensor input, Tensor weight, Tensor? bias=None, indices[3] stride=1, indices[3] padding=0, indices[3]
    dilation=1, index groups=1 | Tensor input, Tensor weight, Tensor? bias=None, indices[3] stride=1, str
    padding="valid", indices[3] dilation=1, index groups=1
conv_transpose1d: Tensor input, Tensor weight, Tensor? bias=None, indices[1] stride=1, indices[1] padding=0, indices[1]
    output_padding=0, index groups=1, indices[1] dilation=1
conv_transpose2d: Tensor input, Tensor weight, Tensor? bias=None, indices[2] stride=1, indices[2] padding=0, indices[2]
    output_padding=0, index groups=1, indices[2] dilation=1
conv_transpose3d: Tensor input, Tensor weight, Tensor? bias=None, indices[3] stride=1, indices[3] padding=0, indices[3]
    output_padding=0, index groups=1, indices[3] dilation=1
cosine_similarity: Tensor x1, Tensor x2, int dim=1, float eps=1e-08
count_nonzero: Tensor input, int? dim=None | Tensor input, ints dim
cov: Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None
cross: Tensor input, Tensor other, int? dim=None, *, Tensor out=None
ctc_loss: Tensor log_probs, Tensor targets, ints input_lengths, ints target_lengths, int blank=0, int
    reduction=at::Reduction::Mean, bool zero_infinity=False | Tensor log_probs, Tensor targets, Tensor input_lengths,
    Tensor target_lengths, int blank=0, int reduction=at::Reduction::Mean, bool zero_infinity=False
diag: Tensor input, int diagonal=0, *, Tensor out=None
slice_inverse: Tensor input, Tensor src, int dim=0, index? start=None, index? end=None, index step=1
diag_embed: Tensor input, int offset=0, int dim1=-2, int dim2=-1
diagflat: Tensor input, int offset=0
diagonal: Tensor input, int offset=0, int dim1=0, int dim2=1
diagonal_copy: Tensor input, int offset=0, int dim1=0, int dim2=1, *, Tensor out=None
diagonal_scatter: Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1
diff: Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, *, Tensor out=None
dist: Tensor input, Tensor other, Number p=2
div: Tensor input, Tensor other, *, Tensor out=None | Tensor input, Tensor other, *, str? rounding_mode, Tensor out=None
    | Tensor input, Number other, *, str? rounding_mode
divide: Tensor input, Tensor other, *, Tensor out=None | Tensor input, Tensor other, *, str? rounding_mode, Tensor
    out=None | Tensor input, Number other | Tensor input, Number other, *, str? rounding_mode
dot: Tensor input, Tensor tensor, *, Tensor out=None
elu elu_: Tensor input, Number alpha=1, Number scale=1, Number input_scale=1
embedding: Tensor weight, Tensor indices, index padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False
embedding_bag: Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor?
    per_sample_weights, bool include_last_offset, int? padding_idx | Tensor weight, Tensor indices, Tensor offsets, bool
    scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool
    include_last_offset=False
embedding_renorm_: Tensor input, Tensor indices, float max_norm, float norm_type
empty: indices size, *, memory_format? memory_format=None, Tensor out=None, OPTIONS
empty_permuted: indices size, ints physical_layout, *, OPTIONS
empty_strided: indices size, indices stride, *, OPTIONS
expand_copy: Tensor input, indices size, *, bool implicit=False, Tensor out=None
eye: index n, *, Tensor out=None, OPTIONS | index n, index m, *, Tensor out=None, OPTIONS
flatten: Tensor input, int start_dim=0, int end_dim=-1
frombuffer: object buffer, *, dtype dtype, int count=-1, int offset=0, bool requires_grad=False
full: indices size, Number fill_value, *, Tensor out=None, OPTIONS
full_like: Tensor input, Number fill_value, *, memory_format? memory_format=None, OPTIONS
gather: Tensor input, int dim, Tensor index, *, bool sparse_grad=False, Tensor out=None
gelu: Tensor input, *, str approximate="none", Tensor out=None
glu: Tensor input, int dim=-1
gradient: Tensor input, *, ints dim, int edge_order=1 | Tensor input, *, Number spacing, ints dim, int edge_order=1 |
    Tensor input, *, Number? spacing=None, int? dim=None, int edge_order=1 | Tensor input, *, Numbers spacing, int?
    dim=None, int edge_order=1 | Tensor input, *, Numbers spacing, ints dim, int edge_order=1 | Tensor input, *, Tensors
    spacing, int? dim=None, int edge_order=1 | Tensor input, *, Tensors spacing, ints dim, int edge_order=1
group_norm:
        Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True
hamming_window: int window_length, *, OPTIONS | int window_length, bool periodic, *, OPTIONS | int window_length, bool
    periodic, float alpha, *, OPTIONS | int window_length, bool periodic, float alpha, float beta, *, OPTIONS
hardtanh_: Tensor input, Number min_val=-1, Number max_val=1
hash_tensor: Tensor input, ints[1] dim=None, *, bool keepdim=False, int mode=0, Tensor out=None
heaviside: Tensor input, Tensor values, *, Tensor out=None
hinge_embedding_loss: Tensor input, Tensor target, float margin=1.0, int reduction=at::Reduction::Mean
histc: Tensor input, int bins=100, Number min=0, Number max=0, *, Tensor out=None
histogram: Tensor input, Tensor bins, *, Tensor? weight=None, bool density=False, Tensors[2] out=None | Tensor input,
    int bins=100, *, floats? range=None, Tensor? weight=None, bool density=False, Tensors[2] out=None
histogramdd: Tensor input, int bins, floats? range=None, Tensor? weight=None, bool density=False | Tensor input, ints
    bins, floats? range=None, Tensor? weight=None, bool density=False | Tensor input, Tensors bins, floats? range=None,
    Tensor? weight=None, bool density=False
index_add: Tensor input, int dim, Tensor index, Tensor source, *, Number alpha=1, Tensor out=None
index_copy: Tensor input, int dim, Tensor index, Tensor source, *, Tensor out=None
index_fill: Tensor input, int dim, Tensor index, Tensor value | Tensor input, int dim, Tensor index, Number value
index_reduce: Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True, Tensor out=None
index_select: Tensor input, int dim, Tensor index, *, Tensor out=None
instance_norm: Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool
    use_input_stats, float momentum, float eps, bool cudnn_enabled
is_inference_mode_enabled: ()
isin: Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor out=None | Number
    element, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor out=None | Tensor elements,
    Number test_element, *, bool assume_unique=False, bool invert=False, Tensor out=None
istft: Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool
    normalized=False, bool? onesided=None, int? length=None, bool return_complex=False
kaiser_window: int window_length, *, OPTIONS | int window_length, bool periodic, *, OPTIONS | int window_length, bool
    periodic, float beta, *, OPTIONS
kl_div: Tensor input, Tensor target, int reduction=at::Reduction::Mean, *, bool log_target=False
kthvalue: Tensor input, index k, int dim=-1, bool keepdim=False, *, Tensors[2] out=None
layer_norm: Tensor input, indices normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool
    cudnn_enable=True
leaky_relu leaky_relu_: Tensor input, Number negative_slope=0.01
lerp: Tensor input, Tensor end, Tensor weight, *, Tensor out=None | Tensor input, Tensor end, Number weight, *, Tensor
    out=None
fake_quantize_per_tensor_affine: Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max | Tensor
    input, float scale, int zero_point, int quant_min, int quant_max
fake_quantize_per_channel_affine: Tensor input, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max
fused_moving_avg_obs_fake_quant: Tensor input, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor
    running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool
    per_row_fake_quant=False, bool symmetric_quant=False
_fake_quantize_learnable_per_tensor_affine: Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max,
    float grad_factor=1.0
_fake_quantize_learnable_per_channel_affine: Tensor input, Tensor scale, Tensor zero_point, int axis, int quant_min, int
    quant_max, float grad_factor=1.0
linalg_cholesky: Tensor input, *, bool upper=False, Tensor out=None
linalg_cholesky_ex: Tensor input, *, bool upper=False, bool check_errors=False, Tensors[2] out=None
linalg_cond: Tensor input, Number? p=None, *, Tensor out=None | Tensor input, str p, *, Tensor out=None
linalg_cross: Tensor input, Tensor other, *, int dim=-1, Tensor out=None
linalg_diagonal: Tensor A, *, int offset=0, int dim1=-2, int dim2=-1
linalg_eigh: Tensor input, str UPLO="L", *, Tensors[2] out=None
linalg_eigvalsh: Tensor input, str UPLO="L", *, Tensor out=None
linalg_householder_product: Tensor input, Tensor tau, *, Tensor out=None
linalg_inv_ex: Tensor A, *, bool check_errors=False, Tensors[2] out=None
linalg_ldl_factor: Tensor input, *, bool hermitian=False, Tensors[2] out=None
linalg_ldl_factor_ex: Tensor input, *, bool hermitian=False, bool check_errors=False, Tensors[3] out=None
linalg_ldl_solve: Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False, Tensor out=None
linalg_lstsq: Tensor input, Tensor b, float? rcond=None, *, str? driver=None, Tensors[4] out=None
linalg_lu: Tensor A, *, bool pivot=True, Tensors[3] out=None
linalg_lu_factor: Tensor A, *, bool pivot=True, Tensors[2] out=None
linalg_lu_factor_ex: Tensor A, *, bool pivot=True, bool check_errors=False, Tensors[3] out=None
linalg_lu_solve: Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False, Tensor out=None
linalg_matrix_norm: Tensor input, Number ord, ints dim={-2,-1}, bool keepdim=False, *, dtype? dtype=None, Tensor
    out=None | Tensor input, str ord="fro", ints dim={-2,-1}, bool keepdim=False, *, dtype? dtype=None, Tensor out=None
linalg_matrix_rank: Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False, Tensor out=None |
    Tensor input, *, float? atol=None, float? rtol=None, bool hermitian=False, Tensor out=None | Tensor input, Tensor
    tol, bool hermitian=False, *, Tensor out=None | Tensor input, float tol, bool hermitian=False, *, Tensor out=None
linalg_norm: Tensor input, Number? ord=None, ints[1]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor
    out=None | Tensor input, str ord, ints[1]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor out=None
linalg_pinv: Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False, Tensor out=None | Tensor
    input, *, float? atol=None, float? rtol=None, bool hermitian=False, Tensor out=None | Tensor input, Tensor rcond,
    bool hermitian=False, *, Tensor out=None | Tensor input, float rcond, bool hermitian=False, *, Tensor out=None
linalg_qr: Tensor A, str mode="reduced", *, Tensors[2] out=None
linalg_slogdet: Tensor A, *, Tensors[2] out=None
linalg_solve: Tensor A, Tensor B, *, bool left=True, Tensor out=None
linalg_solve_ex: Tensor A, Tensor B, *, bool left=True, bool check_errors=False, Tensors[2] out=None
linalg_solve_triangular:
        Tensor input, Tensor B, *, bool upper, bool left=True, bool unitriangular=False, Tensor out=None
linalg_svd: Tensor A, bool full_matrices=True, *, str? driver=None, Tensors[3] out=None
linalg_svdvals: Tensor A, *, str? driver=None, Tensor out=None
linalg_tensorinv: Tensor input, int ind=2, *, Tensor out=None
linalg_tensorsolve: Tensor input, Tensor other, ints? dims=None, *, Tensor out=None
linalg_vander: Tensor x, *, index? N=None
linalg_vecdot: Tensor x, Tensor y, *, int dim=-1, Tensor out=None
linalg_vector_norm:
        Tensor input, Number ord=2, ints[1]? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor out=None
linear: Tensor input, Tensor weight, Tensor? bias=None, *, Tensor out=None
linspace: Tensor start, Tensor end, int steps, *, Tensor out=None, OPTIONS | Number start, Tensor end, int steps, *,
    Tensor out=None, OPTIONS | Tensor start, Number end, int steps, *, Tensor out=None, OPTIONS | Number start, Number
    end, int steps, *, Tensor out=None, OPTIONS
logit_: Tensor input, float? eps=None
logspace: Tensor start, Tensor end, int steps, float base=10.0, *, Tensor out=None, OPTIONS | Number start, Tensor end,
    int steps, float base=10.0, *, Tensor out=None, OPTIONS | Tensor start, Number end, int steps, float base=10.0, *,
    Tensor out=None, OPTIONS | Number start, Number end, int steps, float base=10.0, *, Tensor out=None, OPTIONS
lu_solve: Tensor input, Tensor LU_data, Tensor LU_pivots, *, Tensor out=None
lu_unpack: Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True, *, Tensors[3] out=None
masked_fill: Tensor input, Tensor mask, Tensor value | Tensor input, Tensor mask, Number value
masked_scatter: Tensor input, Tensor mask, Tensor source
masked_select: Tensor input, Tensor mask, *, Tensor out=None
max_pool2d: Tensor input, ints[2] kernel_size, ints[2] stride=None, ints[2] padding=0, ints[2] dilation=1, bool
    ceil_mode=False
max_pool3d: Tensor input, ints[3] kernel_size, ints[3] stride=None, ints[3] padding=0, ints[3] dilation=1, bool
    ceil_mode=False
mean: Tensor input, *, dtype? dtype=None, Tensor out=None | Tensor input, ints[1]? dim, bool keepdim=False, *, dtype?
    dtype=None, Tensor out=None
mode: Tensor input, int dim=-1, bool keepdim=False, *, Tensors[2] out=None
multinomial: Tensor input, index num_samples, bool replacement=False, *, Generator? generator=None, Tensor out=None
mv: Tensor input, Tensor vec, *, Tensor out=None
nan_to_num: Tensor input, float? nan=None, float? posinf=None, float? neginf=None, *, Tensor out=None
nan_to_num_: Tensor input, float? nan=None, float? posinf=None, float? neginf=None
narrow: Tensor input, int dim, Tensor start, index length | Tensor input, int dim, index start, index length
narrow_copy: Tensor input, int dim, index start, index length, *, Tensor out=None
native_batch_norm: Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training,
    float momentum, float eps, *, Tensors[3] out=None
native_dropout: Tensor input, float p, bool? train
native_group_norm: Tensor input, Tensor? weight, Tensor? bias, index N, index C, index HxW, int group, float eps
native_layer_norm: Tensor input, indices normalized_shape, Tensor? weight, Tensor? bias, float eps
nonzero: Tensor input, *, bool as_tuple=False, Tensor out=None
nonzero_static: Tensor input, *, index size, int fill_value=-1, Tensor out=None
normal: Tensor mean, Tensor std, *, Generator? generator=None, Tensor out=None | Tensor mean, float std=1, *, Generator?
    generator=None, Tensor out=None | float mean, Tensor std, *, Generator? generator=None, Tensor out=None | float
    mean, float std, indices size, *, Generator? generator=None, Tensor out=None, OPTIONS
one_hot: Tensor input, int num_classes=-1
orgqr: Tensor input, Tensor input2, *, Tensor out=None
ormqr: Tensor input, Tensor input2, Tensor input3, bool left=True, bool transpose=False, *, Tensor out=None
pairwise_distance: Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False
pdist: Tensor input, float p=2
permute_copy: Tensor input, ints dims, *, Tensor out=None
pinverse: Tensor input, float rcond=1e-15
pixel_shuffle: Tensor input, int upscale_factor
pixel_unshuffle: Tensor input, int downscale_factor
poisson_nll_loss: Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction
polar: Tensor abs, Tensor angle, *, Tensor out=None
prelu: Tensor input, Tensor weight
prod: Tensor input, *, dtype? dtype=None | Tensor input, int dim, bool keepdim=False, *, dtype? dtype=None, Tensor
    out=None
put: Tensor input, Tensor index, Tensor source, bool accumulate=False
qr: Tensor input, bool some=True, *, Tensors[2] out=None
randint: index high, indices size, *, Generator? generator, Tensor out=None, OPTIONS | index high, indices size, *,
    Tensor out=None, OPTIONS | index low, index high, indices size, *, Generator? generator, Tensor out=None, OPTIONS |
    index low, index high, indices size, *, Tensor out=None, OPTIONS
randint_like: Tensor input, index low, index high, *, Generator? generator, memory_format? memory_format=None, OPTIONS |
    Tensor input, index low, index high, *, memory_format? memory_format=None, OPTIONS | Tensor input, Tensor high, *,
    Generator? generator, memory_format? memory_format=None, OPTIONS | Tensor input, Tensor high, *, memory_format?
    memory_format=None, OPTIONS | Tensor input, index high, *, Generator? generator, memory_format? memory_format=None,
    OPTIONS | Tensor input, index high, *, memory_format? memory_format=None, OPTIONS
randperm: index n, *, Generator? generator, Tensor out=None, OPTIONS | index n, *, Tensor out=None, OPTIONS
range: Number start, Number end, Number step=1, *, Tensor out=None, dtype dtype=None, layout layout=torch.strided,
    device device=None, bool requires_grad=False
_weight_norm: Tensor v, Tensor g, int dim=0
norm_except_dim: Tensor v, int pow=2, int dim=0
renorm: Tensor input, Number p, int dim, Number maxnorm, *, Tensor out=None
repeat_interleave: Tensor input, Tensor repeats, int? dim=None, *, index? output_size=None | Tensor repeats, *, index?
    output_size=None | Tensor input, index repeats, int? dim=None, *, index? output_size=None
reshape: Tensor input, indices shape
resize_as_: Tensor input, Tensor the_template, *, memory_format? memory_format=None
result_type: Tensor tensor, Tensor other | Number scalar, Tensor tensor | Tensor tensor, Number other | Number scalar1,
    Number scalar2
rms_norm: Tensor input, indices normalized_shape, Tensor? weight=None, float? eps=None
roll: Tensor input, indices[1] shifts, ints[1] dims=None
rot90: Tensor input, int k=1, ints dims={0,1}
round: Tensor input, *, Tensor out=None | Tensor input, *, int decimals, Tensor out=None
round_: Tensor input | Tensor input, *, int decimals
rsub: Tensor input, Tensor other, *, Number alpha=1 | Tensor input, Number other, Number alpha=1
scalar_tensor: Number s, *, OPTIONS
scaled_dot_product_attention: Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool
    is_causal=False, *, float? scale=None, bool enable_gqa=False
scatter: Tensor input, int dim, Tensor index, Tensor src, *, Tensor out=None | Tensor input, int dim, Tensor index,
    Tensor src, *, str reduce, Tensor out=None | Tensor input, int dim, Tensor index, Number value, *, Tensor out=None |
    Tensor input, int dim, Tensor index, Number value, *, str reduce, Tensor out=None
scatter_add: Tensor input, int dim, Tensor index, Tensor src, *, Tensor out=None
scatter_reduce: Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True, Tensor out=None
searchsorted: Tensor sorted_sequence, Tensor input, *, bool out_int32=False, bool right=False, str? side=None, Tensor?
    sorter=None, Tensor out=None | Tensor sorted_sequence, Number self, *, bool out_int32=False, bool right=False, str?
    side=None, Tensor? sorter=None, Tensor out=None
select: Tensor input, int dim, index index
select_copy: Tensor input, int dim, index index, *, Tensor out=None
select_scatter: Tensor input, Tensor src, int dim, index index
slice_copy: Tensor input, int dim=0, index? start=None, index? end=None, index step=1, *, Tensor out=None
slice_scatter: Tensor input, Tensor src, int dim=0, index? start=None, index? end=None, index step=1, *, Tensor out=None
softplus: Tensor input, Number beta=1, Number threshold=20, *, Tensor out=None
sort: Tensor input, *, bool? stable, int dim=-1, bool descending=False, Tensors[2] out=None | Tensor input, int dim=-1,
    bool descending=False, *, Tensors[2] out=None
special_log_softmax: Tensor input, int dim, *, dtype? dtype=None
special_round: Tensor input, *, int decimals=0, Tensor out=None
special_softmax: Tensor input, int dim, dtype? dtype=None
split_copy: Tensor input, index split_size, int dim=0, *, Tensors out=None
split_with_sizes_copy: Tensor input, indices split_sizes, int dim=0, *, Tensors out=None
squeeze: Tensor input | Tensor input, int dim | Tensor input, ints dim
squeeze_copy: Tensor input, *, Tensor out=None | Tensor input, int dim, *, Tensor out=None | Tensor input, ints dim, *,
    Tensor out=None
subtract: Tensor input, Tensor other, *, Number alpha=1, Tensor out=None | Tensor input, Number other, Number alpha=1
sum: Tensor input, *, dtype? dtype=None | Tensor input, ints[1]? dim, bool keepdim=False, *, dtype? dtype=None, Tensor
    out=None
svd: Tensor input, bool some=True, bool compute_uv=True, *, Tensors[3] out=None
swapaxes: Tensor input, int axis0, int axis1
take: Tensor input, Tensor index, *, Tensor out=None
take_along_dim: Tensor input, Tensor indices, int? dim=None, *, Tensor out=None
tensor: object data, *, dtype dtype=None, device? device=None, bool pin_memory=False, bool requires_grad=False
tensor_split: Tensor input, indices indices, int dim=0 | Tensor input, Tensor tensor_indices_or_sections, int dim=0 |
    Tensor input, index sections, int dim=0
threshold: Tensor input, Number threshold, Number value, *, Tensor out=None
threshold_: Tensor input, Number threshold, Number value
tile: Tensor input, indices dims
topk: Tensor input, index k, int dim=-1, bool largest=True, bool sorted=True, *, Tensors[2] out=None
transpose_copy: Tensor input, int dim0, int dim1, *, Tensor out=None
trapz: Tensor y, *, float dx=1, int dim=-1 | Tensor y, Tensor x, *, int dim=-1
triangular_solve:
        Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False, *, Tensors[2] out=None
triplet_margin_loss: Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, bool
    swap=False, int reduction=at::Reduction::Mean
unbind: Tensor input, int dim=0
unbind_copy: Tensor input, int dim=0, *, Tensors out=None
unflatten: Tensor input, int dim, indices sizes
unfold_copy: Tensor input, int dimension, int size, int step, *, Tensor out=None
unsafe_split: Tensor input, index split_size, int dim=0
unsqueeze: Tensor input, int dim
vander: Tensor x, int? N=None, bool increasing=False
view_copy: Tensor input, dtype dtype, *, Tensor out=None | Tensor input, indices size, *, Tensor out=None
where: Tensor condition | Tensor condition, Tensor input, Tensor other, *, Tensor out=None | Tensor condition, Number
    self, Tensor other | Tensor condition, Tensor input, Number other | Tensor condition, Number self, Number other
xlogy_: Tensor input, Tensor other | Tensor input, Number other
_foreach_abs _foreach_abs_ _foreach_acos _foreach_acos_ _foreach_asin _foreach_asin_ _foreach_atan _foreach_atan_
    _foreach_ceil _foreach_ceil_ _foreach_cos _foreach_cos_ _foreach_cosh _foreach_cosh_ _foreach_erf _foreach_erf_
    _foreach_erfc _foreach_erfc_ _foreach_exp _foreach_exp_ _foreach_expm1 _foreach_expm1_ _foreach_floor
    _foreach_floor_ _foreach_frac _foreach_frac_ _foreach_lgamma _foreach_lgamma_ _foreach_log _foreach_log10
    _foreach_log10_ _foreach_log1p _foreach_log1p_ _foreach_log2 _foreach_log2_ _foreach_log_ _foreach_max _foreach_neg
    _foreach_neg_ _foreach_reciprocal _foreach_reciprocal_ _foreach_round _foreach_round_ _foreach_rsqrt _foreach_rsqrt_
    _foreach_sigmoid _foreach_sigmoid_ _foreach_sign _foreach_sign_ _foreach_sin _foreach_sin_ _foreach_sinh
    _foreach_sinh_ _foreach_sqrt _foreach_sqrt_ _foreach_tan _foreach_tan_ _foreach_tanh _foreach_tanh_ _foreach_trunc
    _foreach_trunc_ _foreach_zero_:
        Tensors self
_foreach_add _foreach_add_: Tensors self, Number scalar | Tensors self, Numbers scalars | Tensors self, Tensor other, *,
    Number alpha=1 | Tensors self, Tensors other, *, Number alpha=1
_foreach_sub _foreach_sub_:
        Tensors self, Number scalar | Tensors self, Numbers scalars | Tensors self, Tensors other, *, Number alpha=1
_foreach_div _foreach_div_ _foreach_mul _foreach_mul_: Tensors self, Numbers scalars | Tensors self, Tensor other |
    Tensors self, Tensors other | Tensors self, Number scalar
_foreach_clamp_max _foreach_clamp_max_ _foreach_clamp_min _foreach_clamp_min_ _foreach_maximum _foreach_maximum_
    _foreach_minimum _foreach_minimum_:
        Tensors self, Number scalar | Tensors self, Numbers scalars | Tensors self, Tensors other
_foreach_pow: Number self, Tensors exponent | Tensors self, Number exponent | Tensors self, Numbers exponent | Tensors
    self, Tensors exponent
_foreach_pow_: Tensors self, Number exponent | Tensors self, Numbers exponent | Tensors self, Tensors exponent
_foreach_lerp _foreach_lerp_: Tensors self, Tensors tensors1, Number weight | Tensors self, Tensors tensors1, Numbers
    weight | Tensors self, Tensors tensors1, Tensors weights
_foreach_addcdiv _foreach_addcdiv_ _foreach_addcmul _foreach_addcmul_:
        Tensors self, Tensors tensor1, Tensors tensor2, Numbers scalars | Tensors self, Tensors tensor1, Tensors
        tensor2, Tensor scalars | Tensors self, Tensors tensor1, Tensors tensor2, Number value=1
_foreach_clone: Tensors self, *, memory_format? memory_format=None
_foreach_copy_: Tensors self, Tensors src, bool non_blocking=False
_foreach_mm: Tensors self, Tensors mat2
_foreach_norm _foreach_powsum: Tensors self, Number ord=2, dtype? dtype=None
_amp_foreach_non_finite_check_and_unscale_: Tensors self, Tensor found_inf, Tensor inv_scale
_amp_update_scale_: Tensor input, Tensor growth_tracker, Tensor found_inf, float scale_growth_factor, float
    scale_backoff_factor, int growth_interval
""") | {
    "addbmm": product_added("batch1", "batch2"),
    "addmm": product_added("mat1", "mat2", dtype=True),
    "addmv": product_added("mat", "vec"),
    "addr": product_added("vec1", "vec2"),
    "baddbmm": product_added("batch1", "batch2", dtype=True),
}
"""Functions of ``torch`` and its namespaces, whose names have the namespace's prefix."""

METHODS = by_name("""
__abs__ __bool__ __complex__ __float__ __index__ __int__ __invert__ __neg__ __pos__ _is_view absolute_ bitwise_not_
    data_ptr digamma_ dim element_size erfinv_ item lgamma_ logical_not_ ndimension nelement retain_grad sgn_ sign_
    storage_offset t_ tolist untyped_storage:
        ()
bitwise_and bitwise_and_ bitwise_left_shift bitwise_left_shift_ bitwise_or bitwise_or_ bitwise_right_shift
    bitwise_right_shift_ bitwise_xor bitwise_xor_ copysign_ eq_ floor_divide_ fmod_ ge_ greater_ greater_equal_ gt_ le_
    less_ less_equal_ lt_ multiply_ ne_ not_equal_ remainder remainder_ true_divide_ xlogy:
        Tensor other | Number other
arctan2_ atan2_ expand_as hypot_ igamma_ igammac_ logical_and_ logical_or_ logical_xor_ mul_ nextafter_ reshape_as
    type_as view_as:
        Tensor other
bfloat16 bool byte cdouble cfloat char cpu double float half int long short: *, memory_format? memory_format=None
addbmm addbmm_ baddbmm baddbmm_: ~Number beta, Number alpha, Tensor batch1, Tensor batch2 | ~Number beta, Tensor batch1,
    Tensor batch2 | Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1
float_power float_power_ pow pow_: Tensor exponent | Number exponent
new_empty new_ones new_zeros: indices size, *, OPTIONS
add_ sub_: ~Number alpha, Tensor other | Tensor other, *, Number alpha=1
addcdiv_ addcmul_: ~Number value, Tensor tensor1, Tensor tensor2 | Tensor tensor1, Tensor tensor2, *, Number value=1
addmm addmm_: ~Number beta, Number alpha, Tensor mat1, Tensor mat2 | ~Number beta, Tensor mat1, Tensor mat2 | Tensor
    mat1, Tensor mat2, *, Number beta=1, Number alpha=1
addmv addmv_: ~Number beta, Number alpha, Tensor mat, Tensor vec | ~Number beta, Tensor mat, Tensor vec | Tensor mat,
    Tensor vec, *, Number beta=1, Number alpha=1
addr addr_: ~Number beta, Number alpha, Tensor vec1, Tensor vec2 | ~Number beta, Tensor vec1, Tensor vec2 | Tensor vec1,
    Tensor vec2, *, Number beta=1, Number alpha=1
cumprod_ cumsum_: int dim, *, dtype? dtype=None
contiguous is_contiguous: *, memory_format memory_format=contiguous_format
is_pinned pin_memory: device? device=None
bmm mm: Tensor mat2
polygamma polygamma_: int n
size stride: int? dim=None
swapdims_ transpose_: int dim0, int dim1
tril_ triu_: index diagonal=0
as_subclass: object cls
bernoulli_: Tensor p, *, Generator? generator=None | float p=0.5, *, Generator? generator=None
cauchy_: float median=0, float sigma=1, *, Generator? generator=None
copy_: Tensor other, bool non_blocking=False | ~Tensor other, bool async=False
cuda: device? device=None, bool non_blocking=False, *, memory_format? memory_format=None
div_: Tensor other | Tensor other, *, str? rounding_mode | Number other, *, str? rounding_mode
divide_: Tensor other | Tensor other, *, str? rounding_mode | Number other | Number other, *, str? rounding_mode
expand: indices size, *, bool implicit=False
exponential_: float lambd=1, *, Generator? generator=None
fill_diagonal_: Number fill_value, bool wrap=False
geometric_: float p, *, Generator? generator=None
heaviside_: Tensor values
index_add_: int dim, Tensor index, Tensor source, *, Number alpha=1
index_copy_: int dim, Tensor index, Tensor source
index_fill_: int dim, Tensor index, Tensor value | int dim, Tensor index, Number value
index_reduce_: int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True
is_set_to: Tensor tensor
lerp_: Tensor end, Tensor weight | Tensor end, Number weight
log_normal_: float mean=1, float std=2, *, Generator? generator=None
map2_: Tensor x, Tensor y, object callable
map_: Tensor other, object callable
masked_fill_: Tensor mask, Tensor value | Tensor mask, Number value
masked_scatter_: Tensor mask, Tensor source
mvlgamma_: int p
new: *, device? device=None | Storage storage | Tensor other | indices size, *, device? device=None | object data, *,
    device? device=None
new_empty_strided: indices size, indices stride, *, OPTIONS
new_full: indices size, Number fill_value, *, OPTIONS
new_tensor: object data, *, dtype dtype=None, device? device=None, bool requires_grad=False
nonzero: () | *, bool as_tuple
normal_: float mean=0, float std=1, *, Generator? generator=None
numpy: *, bool force=False
put_: Tensor index, Tensor source, bool accumulate=False
random_: *, Generator? generator=None | int from, int? to, *, Generator? generator=None | int to, *, Generator?
    generator=None
renorm_: Number p, int dim, Number maxnorm
repeat: indices repeats
repeat_interleave: Tensor repeats, int? dim=None, *, index? output_size=None | index repeats, int? dim=None, *, index?
    output_size=None
requires_grad_: bool requires_grad=True
resize_: indices size, *, memory_format? memory_format=None
scatter_: int dim, Tensor index, Tensor src | int dim, Tensor index, Tensor src, *, str reduce | int dim, Tensor index,
    Number value | int dim, Tensor index, Number value, *, str reduce
scatter_add_: int dim, Tensor index, Tensor src
scatter_reduce_: int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True
set_: () | Storage source | Storage source, index storage_offset, indices size, indices stride=None | Tensor source |
    Tensor source, index storage_offset, indices size, indices stride=None
squeeze_: () | int dim | ints dim
subtract_: Tensor other, *, Number alpha=1 | Number other, Number alpha=1
sum_to_size: indices size
swapaxes_: int axis0, int axis1
to: device device=None, dtype dtype=None, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None
    | dtype dtype, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None | Tensor tensor, bool
    non_blocking=False, bool copy=False, *, memory_format? memory_format=None
to_dense: dtype? dtype=None, *, bool? masked_grad=None
type: object dtype=None, bool non_blocking=False, *, memory_format? memory_format=None
unfold: int dimension, int size, int step
uniform_: float from=0, float to=1, *, Generator? generator=None
unsqueeze_: int dim
view: dtype dtype | indices size
where: Tensor condition, Tensor other | Tensor condition, Number other
""")
"""Methods of ``Tensor``, where they are not the function without its first parameter and ``out``."""

NUMBERS_AS_TENSORS = frozenset((
    "add", "add_", "copy", "copy_", "div", "div_", "divide", "divide_", "floor_divide", "floor_divide_", "mul",
    "mul_", "multiply", "multiply_", "sub", "sub_", "subtract", "subtract_", "true_divide", "true_divide_",
    "to", "_conj", "_to_copy",
))
"""Functions for which a number will do where their signatures have a tensor."""

INNER = by_name("""
atleast_1d atleast_2d atleast_3d: Tensor input | Tensors tensors
chain_matmul: Tensors matrices
huber_loss: Tensor input, Tensor target, int reduction=1, float delta=1
pad: Tensor input, indices pad, str mode="constant", float? value=None
smooth_l1_loss: Tensor input, Tensor target, int reduction=1, float beta=1
""")
"""Functions in C++ that have the name of one in Python, which calls them."""

METHODS_IN_PYTHON = frozenset(("istft", "norm", "split", "unflatten", "unique", "unique_consecutive"))
"""Methods that are written in Python though there are functions by their names in C++."""

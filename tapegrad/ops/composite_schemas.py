"""The schemas of PyTorch's functions that its dispatcher takes apart into operators, by name.

Dispatch modes don't see these; graphs that are recorded above autograd have them (Note [Graphs above autograd] in
``fx/_composites.py``). They are facts about PyTorch 2.13, written as those in ``schema_table.py``.
"""

COMPOSITES = """
absolute arccos arccosh arcsin arcsinh arctan arctanh atleast_1d atleast_2d atleast_3d corrcoef det fix fliplr flipud
    inverse log_sigmoid logdet matrix_exp msort negative relu6 selu special_digamma special_erf special_erfc
    special_erfinv special_exp2 special_expit special_expm1 special_gammaln special_i0 special_log1p special_ndtr
    special_psi special_sinc square: (Tensor self) -> Tensor
__and__.Scalar __or__.Scalar __xor__.Scalar: (Tensor self, Scalar other) -> Tensor
__and__.Tensor __or__.Tensor __xor__.Tensor: (Tensor self, Tensor other) -> Tensor
adaptive_avg_pool1d: (Tensor self, int[1] output_size) -> Tensor
adaptive_avg_pool2d: (Tensor self, int[2] output_size) -> Tensor
adaptive_avg_pool3d: (Tensor self, int[3] output_size) -> Tensor
adaptive_max_pool1d: (Tensor self, int[1] output_size) -> (Tensor, Tensor)
adjoint conj imag mH mT matrix_H numpy_T positive ravel real resolve_conj resolve_neg: (Tensor(a) self) -> Tensor(a)
alpha_dropout dropout feature_alpha_dropout feature_dropout: (Tensor input, float p, bool train) -> Tensor
alpha_dropout_ dropout_ feature_alpha_dropout_ feature_dropout_: (Tensor(a!) self, float p, bool train) -> Tensor(a!)
arctan2 divide.Tensor greater.Tensor greater_equal.Tensor inner kron less.Tensor less_equal.Tensor linalg_matmul
    matmul multiply.Tensor not_equal.Tensor special_gammainc special_gammaincc special_xlogy true_divide.Tensor
    type_as: (Tensor self, Tensor other) -> Tensor
argsort: (Tensor self, int dim=-1, bool descending=False) -> Tensor
argsort.stable: (Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor
atleast_1d.Sequence atleast_2d.Sequence atleast_3d.Sequence broadcast_tensors meshgrid: (Tensor[] tensors) -> Tensor[]
avg_pool1d: (Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False, bool
    count_include_pad=True) -> Tensor
batch_norm: (Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training,
    float momentum, float eps, bool cudnn_enabled) -> Tensor
bilinear: (Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor
broadcast_to: (Tensor(a) self, int[] size) -> Tensor(a)
cartesian_prod column_stack dstack hstack linalg_multi_dot row_stack vstack: (Tensor[] tensors) -> Tensor
cdist: (Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor
chain_matmul: (Tensor[] matrices) -> Tensor
chalf: (Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
chunk: (Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
clip: (Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
clip.Tensor: (Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
combinations: (Tensor self, int r=2, bool with_replacement=False) -> Tensor
concat concatenate: (Tensor[] tensors, int dim=0) -> Tensor
contiguous: (Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)
conv1d: (Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], int[1] padding=[0], int[1] dilation=[1],
    int groups=1) -> Tensor
conv1d.padding: (Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], str padding="valid", int[1]
    dilation=[1], int groups=1) -> Tensor
conv2d: (Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=[1, 1], int[2] padding=[0, 0], int[2]
    dilation=[1, 1], int groups=1) -> Tensor
conv2d.padding: (Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=[1, 1], str padding="valid", int[2]
    dilation=[1, 1], int groups=1) -> Tensor
conv3d: (Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=[1, 1, 1], int[3] padding=[0, 0, 0], int[3]
    dilation=[1, 1, 1], int groups=1) -> Tensor
conv3d.padding: (Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=[1, 1, 1], str padding="valid", int[3]
    dilation=[1, 1, 1], int groups=1) -> Tensor
conv_transpose1d: (Tensor input, Tensor weight, Tensor? bias=None, int[1] stride=[1], int[1] padding=[0], int[1]
    output_padding=[0], int groups=1, int[1] dilation=[1]) -> Tensor
conv_transpose2d.input: (Tensor input, Tensor weight, Tensor? bias=None, int[2] stride=[1, 1], int[2] padding=[0, 0],
    int[2] output_padding=[0, 0], int groups=1, int[2] dilation=[1, 1]) -> Tensor
conv_transpose3d.input: (Tensor input, Tensor weight, Tensor? bias=None, int[3] stride=[1, 1, 1], int[3] padding=[0,
    0, 0], int[3] output_padding=[0, 0, 0], int groups=1, int[3] dilation=[1, 1, 1]) -> Tensor
cosine_embedding_loss margin_ranking_loss: (Tensor input1, Tensor input2, Tensor target, float margin=0., int
    reduction=1) -> Tensor
cosine_similarity: (Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor
cov: (Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor
cross: (Tensor self, Tensor other, int? dim=None) -> Tensor
ctc_loss.IntList: (Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int
    reduction=1, bool zero_infinity=False) -> Tensor
ctc_loss.Tensor: (Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int
    reduction=1, bool zero_infinity=False) -> Tensor
cumulative_trapezoid.dx trapezoid.dx: (Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor
cumulative_trapezoid.x trapezoid.x trapz.x: (Tensor y, Tensor x, *, int dim=-1) -> Tensor
diag: (Tensor self, int diagonal=0) -> Tensor
diagflat: (Tensor self, int offset=0) -> Tensor
diff: (Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor
divide.Scalar greater.Scalar greater_equal.Scalar less.Scalar less_equal.Scalar multiply.Scalar not_equal.Scalar
    special_xlogy.other_scalar true_divide.Scalar: (Tensor self, Scalar other) -> Tensor
divide.Scalar_mode: (Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
divide.Tensor_mode: (Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
dsplit.array hsplit.array vsplit.array: (Tensor(a -> *) self, int[] indices) -> Tensor(a)[]
dsplit.int hsplit.int vsplit.int: (Tensor(a -> *) self, int sections) -> Tensor(a)[]
einsum: (str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor
embedding_bag: (Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool
    sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)
embedding_bag.padding_idx: (Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool
    sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor,
    Tensor)
expand_as reshape_as view_as: (Tensor(a) self, Tensor other) -> Tensor(a)
fft_fft fft_hfft fft_ifft fft_ihfft fft_irfft fft_rfft: (Tensor self, int? n=None, int dim=-1, str? norm=None) ->
    Tensor
fft_fft2 fft_hfft2 fft_ifft2 fft_ihfft2 fft_irfft2 fft_rfft2: (Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str?
    norm=None) -> Tensor
fft_fftn fft_hfftn fft_ifftn fft_ihfftn fft_irfftn fft_rfftn: (Tensor self, int[1]? s=None, int[1]? dim=None, str?
    norm=None) -> Tensor
fft_fftshift fft_ifftshift: (Tensor self, int[1]? dim=None) -> Tensor
flatten.using_ints: (Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)
float_power.Scalar: (Scalar self, Tensor exponent) -> Tensor
float_power.Tensor_Scalar: (Tensor self, Scalar exponent) -> Tensor
float_power.Tensor_Tensor: (Tensor self, Tensor exponent) -> Tensor
frobenius_norm.dim special_logsumexp: (Tensor self, int[1] dim, bool keepdim=False) -> Tensor
ger outer: (Tensor self, Tensor vec2) -> Tensor
gradient.array: (Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]
gradient.scalararray: (Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]
gradient.scalarint: (Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]
gradient.scalarrayarray: (Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]
gradient.scalarrayint: (Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]
gradient.tensorarray: (Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]
gradient.tensorarrayint: (Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]
grid_sampler: (Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor
group_norm: (Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,
    bool cudnn_enabled=True) -> Tensor
hinge_embedding_loss: (Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor
instance_norm: (Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool
    use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor
is_complex is_conj is_contiguous is_distributed is_floating_point is_inference is_neg is_nonzero is_signed: (Tensor
    self) -> bool
is_contiguous.memory_format: (Tensor self, MemoryFormat memory_format) -> bool
is_vulkan_available: () -> bool
istft: (Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True,
    bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor
kl_div: (Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor
l1_loss multilabel_margin_loss: (Tensor self, Tensor target, int reduction=1) -> Tensor
layer_norm: (Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float
    eps=1e-05, bool cudnn_enable=True) -> Tensor
linalg_cholesky: (Tensor self, *, bool upper=False) -> Tensor
linalg_cond: (Tensor self, Scalar? p=None) -> Tensor
linalg_cond.p_str: (Tensor self, str p) -> Tensor
linalg_det linalg_inv: (Tensor A) -> Tensor
linalg_diagonal: (Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)
linalg_eigh: (Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)
linalg_ldl_factor: (Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)
linalg_lu_factor: (Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)
linalg_matrix_norm: (Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) ->
    Tensor
linalg_matrix_norm.str_ord: (Tensor self, str ord="fro", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType?
    dtype=None) -> Tensor
linalg_matrix_power matrix_power: (Tensor self, int n) -> Tensor
linalg_matrix_rank: (Tensor self, float tol, bool hermitian=False) -> Tensor
linalg_matrix_rank.atol_rtol_float: (Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) ->
    Tensor
linalg_matrix_rank.atol_rtol_tensor: (Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) ->
    Tensor
linalg_matrix_rank.tol_tensor: (Tensor input, Tensor tol, bool hermitian=False) -> Tensor
linalg_norm: (Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) ->
    Tensor
linalg_norm.ord_str: (Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
linalg_slogdet: (Tensor A) -> (Tensor sign, Tensor logabsdet)
linalg_solve: (Tensor A, Tensor B, *, bool left=True) -> Tensor
linalg_solve_ex: (Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)
linalg_svd: (Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)
linalg_tensorinv: (Tensor self, int ind=2) -> Tensor
linalg_tensorsolve: (Tensor self, Tensor other, int[]? dims=None) -> Tensor
linalg_vander: (Tensor x, *, int? N=None) -> Tensor
linalg_vecdot: (Tensor x, Tensor y, *, int dim=-1) -> Tensor
linear: (Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
log_softmax.int softmax.int special_softmax: (Tensor self, int dim, ScalarType? dtype=None) -> Tensor
lstm.data: (Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float
    dropout, bool train, bool bidirectional) -> (Tensor, Tensor, Tensor)
lstm.input: (Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train,
    bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)
lu_solve: (Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor
max_pool1d: (Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool
    ceil_mode=False) -> Tensor
max_pool1d_with_indices: (Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1],
    bool ceil_mode=False) -> (Tensor, Tensor)
max_pool2d: (Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool
    ceil_mode=False) -> Tensor
max_pool3d: (Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool
    ceil_mode=False) -> Tensor
meshgrid.indexing: (Tensor[] tensors, *, str indexing) -> Tensor[]
moveaxis.int movedim.int: (Tensor(a) self, int source, int destination) -> Tensor(a)
moveaxis.intlist movedim.intlist: (Tensor(a) self, int[] source, int[] destination) -> Tensor(a)
nanmean: (Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
nanquantile quantile: (Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") ->
    Tensor
nanquantile.scalar quantile.scalar: (Tensor self, float q, int? dim=None, bool keepdim=False, *, str
    interpolation="linear") -> Tensor
narrow: (Tensor(a) self, int dim, int start, int length) -> Tensor(a)
narrow.Tensor: (Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)
native_channel_shuffle: (Tensor self, int groups) -> Tensor
nll_loss nll_loss2d nll_loss_nd: (Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int
    ignore_index=-100) -> Tensor
norm_except_dim: (Tensor v, int pow=2, int dim=0) -> Tensor
nuclear_norm: (Tensor self, bool keepdim=False) -> Tensor
nuclear_norm.dim: (Tensor self, int[2] dim, bool keepdim=False) -> Tensor
orgqr: (Tensor self, Tensor input2) -> Tensor
pad: (Tensor self, int[] pad, str mode="constant", float? value=None) -> Tensor
pairwise_distance: (Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor
pdist: (Tensor self, float p=2.) -> Tensor
pinverse: (Tensor self, float rcond=1.0000000000000001e-15) -> Tensor
poisson_nll_loss: (Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor
prelu: (Tensor self, Tensor weight) -> Tensor
qr: (Tensor self, bool some=True) -> (Tensor Q, Tensor R)
repeat_interleave.self_Tensor: (Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor
repeat_interleave.self_int: (Tensor self, int repeats, int? dim=None, *, int? output_size=None) -> Tensor
reshape: (Tensor(a) self, int[] shape) -> Tensor(a)
rms_norm: (Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor
rrelu: (Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator?
    generator=None) -> Tensor
rrelu_: (Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator?
    generator=None) -> Tensor(a!)
scaled_dot_product_attention: (Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.,
    bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor
selu_: (Tensor(a!) self) -> Tensor(a!)
size.int sym_size.int: (Tensor self, int dim) -> int
slogdet: (Tensor self) -> (Tensor sign, Tensor logabsdet)
special_log_softmax: (Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
special_logit: (Tensor self, float? eps=None) -> Tensor
special_multigammaln: (Tensor self, int p) -> Tensor
special_polygamma: (int n, Tensor self) -> Tensor
special_round: (Tensor self, *, int decimals=0) -> Tensor
special_xlogy.self_scalar: (Scalar self, Tensor other) -> Tensor
stft: (Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool normalized=False,
    bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor
stft.center: (Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool
    center=True, str pad_mode="reflect", bool normalized=False, bool? onesided=None, bool? return_complex=None, bool?
    align_to_window=None) -> Tensor
subtract.Scalar: (Tensor self, Scalar other, Scalar alpha=1) -> Tensor
subtract.Tensor: (Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
sum_to_size: (Tensor self, int[] size) -> Tensor
svd: (Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)
swapaxes: (Tensor(a) self, int axis0, int axis1) -> Tensor(a)
swapdims: (Tensor(a) self, int dim0, int dim1) -> Tensor(a)
take_along_dim: (Tensor self, Tensor indices, int? dim=None) -> Tensor
tensor_split.indices: (Tensor(a -> *) self, int[] indices, int dim=0) -> Tensor(a)[]
tensor_split.sections: (Tensor(a -> *) self, int sections, int dim=0) -> Tensor(a)[]
tensor_split.tensor_indices_or_sections: (Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) ->
    Tensor(a)[]
tensordot: (Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor
tile: (Tensor self, int[] dims) -> Tensor
to.device: (Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat?
    memory_format=None) -> Tensor(a)
to.dtype: (Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat?
    memory_format=None) -> Tensor(a)
to.dtype_layout: (Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool?
    pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)
to.other: (Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None)
    -> Tensor(a)
trapz.dx: (Tensor y, *, float dx=1., int dim=-1) -> Tensor
triplet_margin_loss: (Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float
    eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor
unflatten.int: (Tensor(a) self, int dim, int[] sizes) -> Tensor(a)
unsafe_chunk: (Tensor self, int chunks, int dim=0) -> Tensor[]
vander: (Tensor x, int? N=None, bool increasing=False) -> Tensor
"""

"""The calls that programs are drawn from, by family.

In a template ``{x}`` is the tensor it is about; ``{y}`` what broadcasts with it, a tensor or a number, ``{y_tensor}``
no number, ``{t}`` a tensor of its shape; ``{d}``, ``{e}`` dimensions; ``{n}`` a small whole number, ``{c}`` a number;
``{shape}`` another shape for its elements, ``{perm}`` an order of its dimensions, ``{index}`` a basic index, ``{mask}``
booleans of its shape. What a tensor can't be given to fails, and is drawn again.
"""

from __future__ import annotations

PLAIN = """
    {x} * 2 | {x} * {t} | {x} + {y} | {x} - {t} | {x}.sin() | {x} * {x} | {x}.sum() | {x}.sum(0) | {x}.t() | {x}[0]
    {x}[{index}] | {x} @ {x}.mT | {x}.exp().clamp(max=4) | {x}.clone() | {x}.view(-1) | {x}.expand(2, *{x}.shape)
    torch.cat([{x}, {t}]) | torch.stack([{x}, {t}]) | {x} ** 2 | -{x} | {x}.sigmoid() | torch.where({mask}, {x}, {t})
    {x}.unbind(0)[0] | {x}.unsqueeze(0) | {x}.mean() | {x}.double() | {x}.relu() | {x}.abs()
"""

SMOOTH = """
    {x} + {y} | {x} - {y} | {x} * {y} | {y} - {x} | -{x} | {x} * {x} | {x} ** 2 | {x} ** 3 | {x} / 2
    {x} / ({y} ** 2 + 1) | {x}.sin() | {x}.cos() | {x}.tanh() | {x}.sigmoid() | torch.exp({x} / 4)
    ({x} ** 2 + 1).log() | ({x} ** 2 + 1).sqrt() | torch.atan({x}) | {x}.sinh() | torch.erf({x}) | F.softplus({x})
    F.silu({x}) | F.gelu({x}) | F.elu({x}) | F.logsigmoid({x}) | torch.add({x}, {y}, alpha={n})
    torch.sub({x}, {y}, alpha=2) | torch.addcmul({x}, {t}, {t}, value={c}) | torch.addcdiv({x}, {t}, {t} ** 2 + 1)
    torch.lerp({x}, {t}, {c}) | torch.atan2({x}, {y} ** 2 + 1) | torch.square({x}) | ({x} ** 2 + 1).rsqrt()
    ({x} ** 2 + 1).reciprocal() | torch.expm1({x} / 4) | torch.log1p({x} ** 2) | torch.sinc({x} + 3)
    torch.logaddexp({x}, {t}) | torch.hypot({x}, {t} ** 2 + 1) | torch.float_power({x} ** 2 + 1, {c})
    torch.mul({x}, {y}) | torch.special.expit({x}) | F.mish({x}) | F.tanhshrink({x}) | F.softsign({x})
    torch.asinh({x}) | {x}.rsub({y}) | torch.asin({x} / 300) | torch.acosh({x} ** 2 + 2) | torch.atanh({x} / 300)
    torch.erfc({x}) | torch.exp2({x} / 4) | torch.digamma({x} ** 2 + 1) | torch.lgamma({x} ** 2 + 1)
    torch.logit({x} / 500 + 0.5) | torch.special.ndtr({x}) | torch.special.log_ndtr({x})
    torch.special.erfcx({x} ** 2) | torch.xlogy({x}, {t} ** 2 + 1) | torch.special.xlog1py({x}, {t} ** 2)
    torch.logaddexp2({x}, {t}) | torch.deg2rad({x}) | torch.ldexp({x}, {t}) | torch.special.entr({x} ** 2 + 1)
    torch.polygamma(1, {x} ** 2 + 1) | torch.erfinv({x} / 500) | torch.mvlgamma({x} ** 2 + 3, 2) | torch.cosh({x} / 4)
    torch.log2({x} ** 2 + 1)
"""

ELEMENTWISE = """
    {x}.abs() | F.relu({x}) | {x}.clamp(-1, 1) | torch.clamp({x}, min={c}) | torch.maximum({x}, {t})
    torch.minimum({x}, {t}) | torch.where({mask}, {x}, {y}) | torch.where({mask}, {x}, {t})
    {x}.masked_fill({mask}, {c}) | F.leaky_relu({x}) | F.hardtanh({x}) | {x}.floor() | {x}.round() | {x}.sign()
    {x}.trunc() | {x}.frac() | torch.fmod({x}, 2) | torch.remainder({x}, 2) | F.relu6({x}) | torch.copysign({x}, {t})
    torch.nan_to_num({x}) | F.hardsigmoid({x}) | F.hardswish({x}) | F.threshold({x}, 0.25, 2.0) | F.celu({x})
    F.softshrink({x}) | F.hardshrink({x}) | torch.heaviside({x}, {t}) | torch.fmax({x}, {t}) | F.selu({x})
    torch.dist({x}, {t}) | {x}.conj() | {x}.real | {x}.abs() ** 2 | torch.angle({x}) | torch.view_as_real({x})
    torch.complex({x}, {t}) | torch.polar({x}, {t}) | {x}.to(torch.float64) | {x}.float() | {x}.double()
    {x}.to(torch.complex64) | {x}.half() | {x}.bfloat16() | {x}.int() | {x}.bool() | {x}.type_as({t}) | {x}.to({t})
    {x}.long() | {x} == {y} | {x} < {y} | {x} >= 0 | {x} // 2 | {x} % 3 | torch.isfinite({x}) | {x} & {t} | ~{x}
    {x} << 1 | torch.bitwise_xor({x}, {t}) | {x}.logical_not() | torch.logical_and({x}, {t}) | torch.zeros_like({x})
    torch.ones_like({x}) | torch.full_like({x}, {c}) | {x}.new_zeros(2) | {x}.clone() | {x}.contiguous() | +{x}
    torch.true_divide({x}, 2) | torch.div({x}, 2, rounding_mode='floor') | torch.clip({x}, -{c}, {c})
    {x}.new_tensor([1, 2]) | torch.gcd({x}, {t}) | torch.isclose({x}, {t}) | torch.mul({x}, True) | {x} * 1.5
    {x} + 1j | 2 ** {x} | torch.sgn({x}) | torch.clamp({x}, {t} - 1, {t}) | {x}.clamp_min({c})
    {x}.fmod({t} ** 2 + 1) | torch.floor_divide({x}, 2) | {x}.ceil() | torch.fmin({x}, {t})
    torch.where({mask}, {x}, 2) | torch.where({x} > 0, 1.5, {x}) | {x}.short() | {x}.byte() | {x}.char()
    torch.signbit({x}) | torch.frexp({x})[0] | torch.nextafter({x}, {t}) | {x}.isinf() | {x}.isreal()
    torch.lcm({x}, {t}) | {x} - {x}.mean() | {x} != {x} | {x}.ne({y}) | torch.bitwise_or({x}, 1)
    F.prelu({x}, {x}.flatten()[:1]) | {x} * {x}.sum() | F.rrelu({x}, 0.2, 0.2) | {x}.to(torch.complex128)
    torch.rsub({x}, {y}) | {x} ** {t} | {x}.pow(0) | {x}.pow(-1) | 0 ** {x} | torch.empty_like({x}).fill_({c})
    {x}.new_full((2,), {c}) | torch.scalar_tensor({c}) * {x} | {x}.cfloat() | torch.tensor([1, 2]) * {x}.sum()
    {x} * torch.tensor(2.0, dtype=torch.float64) | torch.positive({x}) | {x}.conj_physical() | torch.isin({x}, {t})
    torch.bucketize({x}, torch.tensor([-1.0, 0.0, 1.0])) | {x}.mul({t}.half()) | {x} + {t}.long()
"""

REDUCTIONS = """
    {x}.sum() | {x}.sum({d}) | {x}.sum({d}, keepdim=True) | {x}.mean() | {x}.mean({d}) | {x}.prod() | {x}.prod({d})
    {x}.sum((0, -1)) | {x}.max() | {x}.min() | {x}.max({d}).values | {x}.min({d}, keepdim=True)[0] | {x}.amax({d})
    {x}.amin() | {x}.argmax() | {x}.argmin({d}) | {x}.std() | {x}.var({d}) | {x}.var({d}, unbiased=False) | {x}.norm()
    {x}.norm(dim={d}) | {x}.norm(1) | {x}.logsumexp({d}) | {x}.cumsum({d}) | {x}.cumprod({d}) | {x}.cummax({d}).values
    {x}.logcumsumexp({d}) | {x}.median() | {x}.median({d})[0] | {x}.nansum() | {x}.softmax({d}) | {x}.log_softmax({d})
    F.softmin({x}, {d}) | {x}.any() | {x}.all({d}) | {x}.count_nonzero() | {x}.diff()
    torch.linalg.vector_norm({x}, dim={d}) | torch.std_mean({x})[0] | torch.var_mean({x}, dim={d})[1]
    {x}.aminmax(dim={d})[0] | {x}.sum(dtype=torch.float64) | F.normalize({x}, dim={d}) | {x}.trace()
    torch.kthvalue({x}, 1).values | {x}.quantile(0.4) | {x}.mean((0, 1)) | torch.linalg.norm({x})
    F.layer_norm({x}, {x}.shape[-1:]) | F.rms_norm({x}, {x}.shape[-1:]) | {x}.renorm(2, 0, 1.0) | torch.cov({x})
    {x}.nanmean() | {x}.sum().item() | {x}.mode({d})[0] | {x}.nanmedian() | {x}.std({d}, keepdim=True)
    {x}.var(correction=0) | {x}.norm(p=3, dim={d}) | {x}.norm(float('inf')) | {x}.norm(0)
    torch.linalg.vector_norm({x}, 1.5) | torch.linalg.matrix_norm({x}) | {x}.sum(()) | {x}.mean(dtype=torch.float64)
    torch.trapezoid({x}, dim={d}) | torch.cumulative_trapezoid({x}) | {x}.prod({d}, keepdim=True)
    {x}.quantile(torch.tensor([0.2, 0.7]), dim={d}) | {x}.nanquantile(0.4, {d}) | {x}.argmax(keepdim=True)
    {x}.cumsum({d}, dtype=torch.float64) | torch.linalg.norm({x}, 'nuc') | {x}.sum({d}, dtype=torch.float32)
    F.softmax({x}, {d}, dtype=torch.float64) | {x}.all() | {x}.max() - {x}.min()
    torch.logdet({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype)) | torch.corrcoef({x}) | {x}.histc(3)
    {x}.unique_consecutive() | F.normalize({x}, 1.0, {d}) | F.local_response_norm({x}[None], 2)
    F.instance_norm({x}[None]) | {x}.aminmax()[1] | {x}.amin(({d},)) | F.group_norm({x}[None], 1, weight={x}[:, 0])
    F.layer_norm({x}, {x}.shape[-1:], {x}[0], {x}[0])
"""

SHAPES = """
    {x}.reshape({shape}) | {x}.view({shape}) | {x}.flatten() | {x}.ravel() | {x}.t() | {x}.T | {x}.mT
    {x}.transpose({d}, {e}) | {x}.permute({perm}) | {x}.unsqueeze({d}) | {x}.squeeze() | {x}.squeeze({d})
    {x}.expand(2, *{x}.shape) | {x}[None].expand({n}, *[-1] * {x}.ndim) | {x}.movedim({d}, {e})
    {x}.narrow({d}, 0, 1) | {x}.select({d}, 0) | {x}.diagonal() | {x}.unfold({d}, 1, 1) | {x}.flip({d})
    {x}.roll(1, {d}) | {x}.repeat(2, *[1] * {x}.ndim) | {x}[{index}] | {x}[{index}] | {x}[{index}] | {x}[{index}]
    {x}.unbind({d})[0] | {x}.chunk(2, {d})[0] | {x}.split(1, {d})[-1] | {x}.tile(2) | {x}.tril() | {x}.triu(1)
    {x}.repeat_interleave(2, {d}) | {x}.view_as({t}) | {x}.expand_as({t}) | {x}.rot90() | {x}.swapaxes({d}, {e})
    {x}.unflatten({d}, (1, -1)) | {x}.diag() | F.pad({x}, (1, 0)) | F.pad({x}, (1, 1), value={c}) | {x}.diag_embed()
    torch.atleast_2d({x}) | torch.broadcast_to({x}, (2, *{x}.shape)) | {x}.sum_to_size({t}.shape) | {x}.view(-1)
    {x}.as_strided((2,), (1,)) | {x}.tensor_split(2, {d})[1] | {x}.hsplit(1)[0] | {x}.narrow_copy({d}, 0, 1)
    {x}.unsafe_chunk(2, {d})[0] | {x}.fliplr() | {x}.dsplit(1)[0] | {x}.vsplit(1)[0] | {x}.diagflat()
    torch.atleast_3d({x}) | {x}.moveaxis({d}, {e}) | {x}.adjoint() | {x}.split_with_sizes([1] * {x}.shape[0])[0]
    {x}.as_strided((2, 2), (1, 0)) | {x}.as_strided_scatter({x}.flatten()[:2], (2,), (1,)) | {x}.unfold(0, 2, 1)
    {x}.reshape_as({t}) | torch.constant_pad_nd({x}, (0, 1)) | F.pad({x}[None], (1, 1), 'reflect')
    F.pad({x}[None], (1, 1), 'circular') | F.pad({x}[None], (1, 0), 'replicate') | F.pad({x}, (-1, 1))
    {x}.repeat_interleave(torch.tensor([1, 2]), 0) | {x}.rot90(2) | {x}.triu(-1) | torch.combinations({x}.flatten())
    torch.vander({x}.flatten()) | {x}.flip((0, -1)) | {x}.roll((1, 1), (0, -1)) | torch.tril_indices(2, 2)
    {x}.clone(memory_format=torch.contiguous_format) | torch.squeeze_copy({x}) | {x}.view(1, -1).expand(2, -1)
    {x}.unbind(-1)[-1] | torch.swapdims({x}, {d}, {e}) | {x}.view_as({x}.clone()) | {x}[..., None].squeeze(-1)
    {x}.expand(*{x}.shape) | {x}.sum_to_size({x}.shape)
"""

INDEXING = """
    {x}.index_select({d}, torch.tensor([0, 0])) | {x}.gather({d}, torch.zeros_like({x}, dtype=torch.long))
    {x}[{mask}] | {x}.masked_select({mask}) | {x}[torch.tensor([0, 0])] | {x}[..., torch.tensor([0, -1])]
    {x}.take(torch.tensor([0, 0])) | {x}[[0]] | {x}[:, [0, 0]] | {x}[{mask}].sum()
    {x}.scatter({d}, torch.zeros_like({x}, dtype=torch.long), {t})
    {x}.scatter_add({d}, torch.zeros_like({x}, dtype=torch.long), {t}) | {x}.index_add(0, torch.tensor([0]), {x}[:1])
    {x}.index_copy(0, torch.tensor([0]), {x}[-1:]) | {x}.index_fill({d}, torch.tensor([0]), {c})
    {x}.masked_scatter({mask}, {t}) | {x}.index_put((torch.tensor([0]),), {x}[-1])
    torch.take_along_dim({x}, {x}.argsort({d}), {d}) | {x}.nonzero() | {x}.sort({d}, stable=True)[0]
    {x}.argsort({d}, stable=True) | {x}.topk(1, {d})[0] | torch.searchsorted({x}.flatten().sort()[0], {x})
    {x}.msort() | {x}.scatter_reduce({d}, torch.zeros_like({x}, dtype=torch.long), {t}, 'amax') | torch.unique({x})
    torch.bincount({x}.flatten().abs()) | {x}.select_scatter({x}[0], 0, 0)
    F.one_hot({x}.flatten().abs().clamp(0, 2), 3) | F.embedding(torch.tensor([0, 0]), {x})
    {x}.slice_scatter({x}[:1], 0, 0, 1) | torch.diagonal_scatter({x}, {x}.diagonal())
    {x}.index_reduce(0, torch.tensor([0]), {x}[:1], 'mean') | {x}.put(torch.tensor([0]), {x}.flatten()[:1])
    {x}.argwhere() | {x}.scatter({d}, torch.zeros_like({x}, dtype=torch.long), {c})
    {x}.scatter_reduce({d}, torch.zeros_like({x}, dtype=torch.long), {t}, 'prod')
    {x}.scatter_reduce({d}, torch.zeros_like({x}, dtype=torch.long), {t}, 'mean', include_self=False)
    {x}[{mask}, None] | {x}[None, {mask}] | {x}[[0, -1], [0, 0]] | {x}[torch.tensor([[0, 0]])]
    {x}[:, torch.tensor([0, 1]), None] | {x}[torch.tensor(0)] | {x}[True] | {x}[..., [0], :]
    {x}.gather({d}, {x}.argsort({d}, stable=True)) | {x}.index_select({d}, torch.tensor([0, -1 % 2]))
    {x}.masked_fill({mask}, {x}.sum()) | F.embedding_bag(torch.tensor([[0, 1]]), {x})
    {x}.index_fill({d}, torch.tensor([0]), {x}.sum()) | {x}.scatter_add(0, torch.tensor([[0, 0]]), {t})
    torch.where({mask})[0] | {x}.index_put((torch.tensor([0, 0]),), {x}[:1], accumulate=True)
    {x}.take_along_dim(torch.tensor([[0]]), -1) | {x}[{x}.argmax()] | {x}.kthvalue(1, {d})[0]
    {x}.nonzero(as_tuple=True)[0] | torch.tensor_split({x}, [1], {d})[0] | {x}[:, -1:][::2]
"""

JOINING = """
    torch.cat([{x}, {t}], {d}) | torch.stack([{x}, {t}], {d}) | torch.cat([{x}, {x}, {x}]) | torch.hstack([{x}, {t}])
    torch.vstack([{x}, {t}]) | torch.stack([{x}, {x}]) | torch.cat(({x}, {t}))
    torch.broadcast_tensors({x}, {y_tensor})[1] | torch.block_diag({x}, {t}) | torch.dstack([{x}, {t}])
    torch.meshgrid({x}.flatten(), {t}.flatten(), indexing='ij')[0]
    torch.cartesian_prod({x}.flatten(), {t}.flatten()) | torch.column_stack([{x}, {t}])
"""

PRODUCTS = """
    {x} @ {t} | {x} @ {x}.mT | {x}.mT @ {t} | torch.mm({x}, {t}.t()) | torch.matmul({x}, {x}.mT)
    torch.dot({x}.flatten(), {t}.flatten()) | {x} @ torch.ones(3) | torch.outer({x}.flatten(), {t}.flatten())
    torch.einsum('ij,kj->ik', {x}, {t}) | torch.einsum('...i,...i->...', {x}, {t}) | torch.mv({x}, {x}[0])
    F.linear({x}, {t}) | torch.tensordot({x}, {t}, {x}.ndim) | torch.addmm({x}[:, :1], {x}, {t}.t())
    torch.kron({x}, {t}) | torch.inner({x}, {t}) | torch.bmm({x}[None], {t}[None].mT) | torch.cross({x}, {t}, dim=-1)
    torch.linalg.multi_dot([{x}, {t}.mT, {x}]) | torch.vdot({x}.flatten(), {t}.flatten())
    torch.linalg.det({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype))
    torch.linalg.inv({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype))
    torch.linalg.solve({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype), {t}) | torch.cdist({x}, {t})
    {x} @ {x}.T | torch.baddbmm({x}[None] @ {x}[None].mT, {x}[None], {t}[None].mT, beta=2)
    torch.linalg.cholesky({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype))
    torch.addmv({x}[:, 0], {x}, {x}[0]) | torch.addr({x}, {x}[:, 0], {x}[0])
    torch.addbmm({x} @ {x}.mT, {x}[None], {x}.mT[None]) | torch.linalg.matrix_power({x} @ {x}.mT, 2)
    torch.linalg.eigvalsh({x} @ {x}.mT) | torch.linalg.svdvals({x}) | torch.linalg.pinv({x})
    torch.linalg.slogdet({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype))[1] | torch.linalg.qr({x})[1].abs()
    torch.matrix_exp({x} @ {x}.mT / 100)
    torch.linalg.solve_triangular({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype), {t}, upper=True)
    torch.einsum('ij,ij->', {x}, {t}) | torch.einsum('i...->...', {x}) | torch.einsum('ij->ji', {x})
    torch.chain_matmul({x}, {t}.mT, {x}) | torch.bilinear({x}, {x}, {x}[None, :, :1] @ {x}[None, :1], None)
    F.pdist({x}) | torch.linalg.vecdot({x}, {t}) | torch.cdist({x}, {t}, p=1) | torch.tensordot({x}, {t}, ([0], [0]))
    torch.matmul({x}[0], {t}.mT) | torch.linalg.lu_factor({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype))[0]
    torch.fft.fft({x}).abs() | torch.fft.rfft({x}).real | torch.fft.ifft({x}) | torch.fft.irfft({x})
    torch.fft.fftshift({x}) | torch.fft.fft2({x}).imag | torch.fft.hfft({x}) | F.linear({x}, {t}, {x}[:, 0])
    torch.cross({x}, {x}.flip(-1), dim=-1)
    torch.linalg.lstsq({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype), {t})[0]
"""

LOSSES = """
    F.mse_loss({x}, {t}) | F.l1_loss({x}, {t}, reduction='sum') | F.smooth_l1_loss({x}, {t}) | F.huber_loss({x}, {t})
    F.mse_loss({x}, {t}, reduction='none') | F.binary_cross_entropy_with_logits({x}, {t})
    F.binary_cross_entropy({x}.sigmoid(), {t}.sigmoid()) | F.kl_div({x}, {t}.softmax(-1), reduction='batchmean')
    F.cross_entropy({x}, torch.zeros({x}.shape[0], dtype=torch.long))
    F.nll_loss({x}.log_softmax(1), torch.tensor([0, 1])) | F.cross_entropy({x}, {t}.softmax(1))
    F.cosine_similarity({x}, {t}, dim={d}) | F.gaussian_nll_loss({x}, {t}, {t} ** 2 + 1)
    F.poisson_nll_loss({x}, {t}) | F.soft_margin_loss({x}, {t}.sign()) | F.margin_ranking_loss({x}, {t}, {t}.sign())
    F.hinge_embedding_loss({x}, {t}.sign()) | F.pairwise_distance({x}, {t})
    F.cosine_embedding_loss({x}, {t}, torch.ones(2)) | F.triplet_margin_loss({x}, {t}, {x}.flip(0))
    F.multilabel_soft_margin_loss({x}, {t}.sigmoid()) | F.multi_margin_loss({x}, torch.tensor([0, 1])) | F.glu({x})
    F.scaled_dot_product_attention({x}[None], {t}[None], {t}[None]) | F.conv1d({x}[None], {x}[None, :, :1])
    F.avg_pool1d({x}[None], 2) | F.max_pool1d({x}[None], 2) | F.dropout({x}, 0.5, training=False)
    F.batch_norm({x}, None, None, training=True) | F.group_norm({x}[None], 1)
    F.interpolate({x}[None], scale_factor=2.0) | F.conv2d({x}[None, None], {x}[None, None, :1, :1])
    F.conv_transpose1d({x}[None], {x}[:, :1, None]) | F.conv1d({x}[None], {x}[None, :, :1], padding=1)
    F.max_pool2d({x}[None, None], 2) | F.avg_pool2d({x}[None, None], 2, 1, 1) | F.adaptive_avg_pool1d({x}[None], 2)
    F.adaptive_max_pool1d({x}[None], 1) | F.lp_pool1d({x}[None], 2, 2) | F.unfold({x}[None, None], 2)
    F.fold({x}[None], (1, 2), (1, 1)) | F.pixel_shuffle({x}[:, None, None].repeat(2, 1, 1, 1), 1)
    F.interpolate({x}[None, None], size=(3, 3), mode='bilinear')
    F.interpolate({x}[None], size=4, mode='linear', align_corners=True)
    F.interpolate({x}[None, None], size=(2, 3), mode='bicubic') | F.interpolate({x}[None, None], size=2, mode='area')
    F.grid_sample({x}[None, None], {t}[None, :, :2, None].repeat(1, 1, 1, 2), align_corners=False)
    F.ctc_loss({x}.log_softmax(-1)[:, None], torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    F.multilabel_margin_loss({x}, torch.zeros_like({x}, dtype=torch.long))
    F.cross_entropy({x}, torch.tensor([0, 1]), weight={t}[0].abs(), label_smoothing=0.1)
    F.nll_loss({x}, torch.tensor([0, -100]), ignore_index=-100)
    F.binary_cross_entropy_with_logits({x}, {t}, pos_weight={t}.abs())
    F.huber_loss({x}, {t}, delta=0.5, reduction='sum') | F.smooth_l1_loss({x}, {t}, beta=0.0)
    F.kl_div({x}, {t}, log_target=True, reduction='sum') | F.mse_loss({x}, {t}, weight={t} ** 2)
    F.cross_entropy({x}.t()[None], torch.tensor([[0, 1]]))
    F.scaled_dot_product_attention({x}[None], {t}[None], {t}[None], is_causal=True)
    F.affine_grid({x}[None, :2, :3], (1, 1, 2, 2), align_corners=False)
    F.batch_norm({x}, {x}[0].detach(), {x}[0].detach() ** 2, {x}[0], {x}[0])
    F.bilinear({x}, {x}, {x}[None].mT @ {x}[None])
    F.max_unpool1d(*F.max_pool1d({x}[None], 2, return_indices=True), 2)
"""

WRITES = """
    {x}.add_({y}) | {x}.mul_({y}) | {x}.sub_({y}) | {x}.div_(2) | {x}.zero_() | {x}.fill_({c}) | {x}.copy_({y_tensor})
    {x} += {y} | {x} *= {y} | {x} -= {y} | {x} /= 2 | {x}[{index}] = {c} | {x}[{index}] = {y} | {x}[{index}] += {c}
    {x}[{mask}] = {c} | {x}[{index}] *= {c} | {x}[0] = {x}[-1].clone() | {x}[{index}] = {x}[{index}].clone()
    {x}.sin_() | {x}.exp_().clamp_(max=4) | {x}.tanh_() | {x}.sigmoid_() | {x}.abs_() | {x}.neg_() | {x}.clamp_(-1, 1)
    F.relu_({x}) | {x}.square_() | {x}.pow_(2) | {x}.sqrt_() | {x}.masked_fill_({mask}, {c})
    {x}.index_fill_({d}, torch.tensor([0]), {c}) | {x}.addcmul_({t}, {t}) | {x}.lerp_({t}, {c})
    {x}.scatter_(0, torch.zeros_like({x}, dtype=torch.long), {c})
    {x}.index_add_(0, torch.tensor([0]), {x}[:1].clone()) | {x}.masked_scatter_({mask}, {t}.clone()) | {x}.t_()
    {x}.unsqueeze_(0) | {x}.squeeze_() | {x}.transpose_({d}, {e})
    {x}.index_copy_(0, torch.tensor([0]), {x}[-1:].clone()) | {x}.cumsum_({d}) | {x}.floor_() | {x}.round_()
    {x}.detach_() | {x}.requires_grad_() | {x}.clip_(min=0) | torch.add({x}, {y}, out={x})
    {x}.index_put_((torch.tensor([0, 0]),), {x}[:1].clone(), accumulate=True) | {x}.tril_()
    {x}.select(0, 0).mul_({c}) | {x}.view(-1)[:2].add_({c}) | {x}.unbind(0)[0].add_(1) | {x}.diagonal().zero_()
    {x}.narrow({d}, 0, 1).sin_() | {x}.t().mul_({c}) | {x}.real.add_(1) | torch.sin({x}, out={x})
    {x}.swapaxes_({d}, {e})
"""



def templates(text: str) -> list[str]:
    """The templates that a table holds."""
    lines = [item.strip() for line in text.strip().splitlines() for item in line.split(" | ")]
    return [line for line in lines if line not in ("", "{x}", "{t}")]


FAMILIES = {
    name: templates(text) for name, text in {
        "plain": PLAIN, "smooth": SMOOTH,
        "elementwise": ELEMENTWISE, "reductions": REDUCTIONS, "shapes": SHAPES, "indexing": INDEXING,
        "joining": JOINING, "products": PRODUCTS, "losses": LOSSES, "writes": WRITES,
    }.items()
}  # fmt: skip
FAMILIES["elementwise"].append("{x} | {t}")  # a bar is what separates templates
FAMILIES["smooth shapes"] = templates("""
    {x}.flatten() | {x}.T | {x}.transpose({d}, {e}) | {x}.unsqueeze({d}) | {x}[None] | {x}.flip({d})
    {x}.roll(1, {d}) | {x}[{index}] | {x}.select({d}, 0) | torch.cat([{x}, {t}], {d}) | torch.stack([{x}, {t}])
    {x}.expand(2, *{x}.shape) | {x}.reshape({shape}) | {x}.tril() | {x}.clone() | {x}.repeat(2, *[1] * {x}.ndim)
""")
FAMILIES["smooth sums"] = templates("""
    {x}.sum({d}) | {x}.mean({d}) | {x}.prod({d}) | {x}.softmax({d}) | {x}.log_softmax({d}) | {x}.logsumexp({d})
    {x}.cumsum({d}) | {x}.cumprod({d}) | {x}.var({d}) | ({x} ** 2 + 1).norm(dim={d}) | {x} @ {t}.mT
    torch.einsum('...i,...i->...', {x}, {t}) | F.layer_norm({x}, {x}.shape[-1:])
    torch.outer({x}.flatten(), {t}.flatten()) | F.mse_loss({x}, {t}) | F.binary_cross_entropy_with_logits({x}, {t})
    torch.linalg.det({x} @ {x}.mT + torch.eye({x}.shape[-2], dtype={x}.dtype))
    torch.logcumsumexp({x}, {d}) | {x}.diff()
""")

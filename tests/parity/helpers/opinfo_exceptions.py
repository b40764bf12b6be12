"""What of PyTorch's database of operators is not compared, and what is not compared closely; each with its reason."""

from collections.abc import Callable

SPARSE = "sparse tensors: results of other kinds than here are compared; test_sparse.py has them"
COMPILED = "compiles CUDA code at run time: CUDA only"
SCALED = "scaled products of float8 matrices: CUDA only, private"
FUSED = "a fused kernel of CUDA, private; scaled_dot_product_attention is the public function"


OF_SPARSE: dict[str, str] = dict.fromkeys(("to_sparse", "sparse.sampled_addmm", "sparse.mm.reduce"), SPARSE)
"""Entries that are compared, or refused, elsewhere, and why."""

ELSEWHERE = {"chalf": "``halves_database.py`` compares complex numbers of two halves"}

LEFT_OUT: dict[str, str] = OF_SPARSE | {
    "jiterator_unary": COMPILED,
    "jiterator_binary": COMPILED,
    "jiterator_4inputs_with_extra_args": COMPILED,
    "jiterator_binary_return_by_ref": COMPILED,
    "jiterator_2inputs_2outputs": COMPILED,
    "torch._scaled_mm": SCALED,
    "torch._scaled_mm_v2": SCALED,
    "torch.ops.aten._flash_attention_forward": FUSED,
    "torch.ops.aten._efficient_attention_forward": FUSED,
} | ELSEWHERE
"""Entries that are not run, and why."""

CHUNKED = "a private custom operator that saves memory, after which a node is named. Here the option changes nothing"

NAMED_OTHERWISE: dict[str, str] = dict.fromkeys(
    ("nn.functional.linear_cross_entropy.chunked", "nn.functional.linear_cross_entropy.chunked_none"), CHUNKED
)
"""Entries whose nodes may have other names, and why."""

DRAWN = "random numbers: the streams differ. test_random.py and test_samplers.py have the distributions"

RANDOM: dict[str, str] = dict.fromkeys(
    (
        "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal", "normal.in_place",
        "normal.number_mean", "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform",
        "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
        "nn.functional.feature_alpha_dropout.with_train", "nn.functional.fractional_max_pool2d",
        "nn.functional.fractional_max_pool3d", "nn.functional.rrelu", "svd_lowrank", "pca_lowrank",
    ),
    DRAWN,
)  # fmt: skip
"""Entries whose values aren't compared; shapes, dtypes and node names are."""

DROPOUT: dict[str, Callable[[tuple, dict], float]] = {
    "nn.functional.multi_head_attention_forward": lambda args, kwargs: args[9],
    "nn.functional.scaled_dot_product_attention": lambda args, kwargs: kwargs.get("dropout_p", 0.0),
}
"""Entries whose values are random where the probability that these functions find in the arguments is not 0."""

MEMORY = "memory as it is found"

UNINITIALIZED: dict[str, str] = dict.fromkeys(
    ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"), MEMORY
)
"""Entries whose values mean nothing."""

ROUGH: dict[str, tuple[float, float]] = {
    "nn.functional.hardsigmoid": (1e-7, 1e-9),  # PyTorch multiplies by 1/6 in float32
    # PyTorch's values are off by up to 1e-6 in places; test_special.py compares ours with SciPy's to 2e-12
    **dict.fromkeys([f"special.bessel_{kind}" for kind in ("j0", "j1", "y0", "y1")], (1e-5, 3e-6)),
    "special.airy_ai": (1e-5, 3e-6),
    "cov": (1e-5, 1e-4),  # its weights are float32, and results are large where their sum is near the correction
    "linalg.householder_product": (1e-7, 1e-9),  # random factors are no reflectors: second derivatives reach 1e5
}
"""Entries compared less closely than to a relative error of 1e-9 and an absolute one of 1e-10."""

WRONG_PART = "PyTorch gives the input the gradient of what was overwritten; its own test expects to fail here"
INEXACT = "PyTorch's is off by 1e-6, and nan of large complex numbers; its own test expects to fail here"
NOT_THE_DERIVATIVE = "PyTorch's is not the derivative of the inverse, but near it where the factor is near 1"
NOT_THERE = "PyTorch has none of it"
WHOLE_TANGENT = "PyTorch's reads all of the matrix's tangent, not just the triangle of which it has a gradient"

MORE_HERE = "PyTorch has no derivative here; tapegrad has"
LAST_WINS = "of several elements for one place PyTorch's memory format decides which is there; here it is the last"

FUSED_ONLY = "PyTorch's fused kernel for CPUs has no second derivative and no forward mode; ours has"
NOT_ITS_ADJOINT = "PyTorch's result has no tangent, though it has a gradient"

STAGES_OTHERWISE: dict[tuple[str, str], str] = {
    **{("nn.functional.scaled_dot_product_attention", stage): FUSED_ONLY for stage in ("second", "tangent")},
    ("scatter_reduce.prod", "tangent"): NOT_ITS_ADJOINT,
    ("native_dropout_backward", "tangent"): NOT_THERE,
    **{(name, stage): NOT_THERE for name in NAMED_OTHERWISE for stage in ("second", "tangent")},
    **{(name, "tangent"): MORE_HERE for name in ("grid_sampler_2d", "grid_sampler_3d", "nn.functional.grid_sample")},
    ("nn.functional.hardsigmoid", "second"): MORE_HERE,
    ("nn.functional.max_unpool2d", "tangent"): LAST_WINS,
    ("native_layer_norm", "second"): "PyTorch fails for a bias without a weight",
    **{("as_strided_scatter", stage): WRONG_PART for stage in ("gradient", "second", "tangent")},
    ("logcumsumexp", "tangent"): INEXACT,
    ("triangular_solve", "tangent"): WHOLE_TANGENT,
    ("cholesky_inverse", "tangent"): NOT_THE_DERIVATIVE,
    ("cholesky", "tangent"): NOT_THERE,
    **{(f"index_reduce.{how}", "tangent"): NOT_THERE for how in ("mean", "prod", "amin", "amax")},
}
"""Stages (gradient, second, tangent) of an entry that are not compared, and why."""

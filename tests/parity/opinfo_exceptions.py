"""What of PyTorch's database of operators is not compared, and what is not compared closely; each with its reason."""

SPARSE = "sparse tensors: tapegrad has dense ones only"
COMPILED = "compiles CUDA code at run time: CUDA only"
SCALED = "scaled products of float8 matrices: CUDA only, private"
FUSED = "a fused kernel of CUDA, private; scaled_dot_product_attention is the public function"

LEFT_OUT: dict[str, str] = {
    "to_sparse": SPARSE,
    "sparse.sampled_addmm": SPARSE,
    "sparse.mm.reduce": SPARSE,
    "jiterator_unary": COMPILED,
    "jiterator_binary": COMPILED,
    "jiterator_4inputs_with_extra_args": COMPILED,
    "jiterator_binary_return_by_ref": COMPILED,
    "jiterator_2inputs_2outputs": COMPILED,
    "torch._scaled_mm": SCALED,
    "torch._scaled_mm_v2": SCALED,
    "torch.ops.aten._flash_attention_forward": FUSED,
    "torch.ops.aten._efficient_attention_forward": FUSED,
    "chalf": "complex numbers of two halves: there are no arrays of them here, and the cast says so",
}
"""Entries that are not run, and why."""

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

MEMORY = "memory as it is found"

UNINITIALIZED: dict[str, str] = dict.fromkeys(
    ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"), MEMORY
)
"""Entries whose values mean nothing."""

ROUGH: dict[str, tuple[float, float]] = {}
"""Entries compared less closely than to a relative error of 1e-9 and an absolute one of 1e-10."""

STAGES_OTHERWISE: dict[tuple[str, str], str] = {}
"""Stages (gradient, second, tangent) of an entry that are not compared, and why."""

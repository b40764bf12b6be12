"""What ``test_extremes.py`` does not compare, and why: where PyTorch's own numbers depend on how they were computed."""

from collections.abc import Callable

PIECES = "PyTorch's vectors do otherwise than what is left over at their end, whose choice is ours; rows of five have it"
DENORMAL = "XLA takes denormal numbers for 0, and 0 times infinity is nan"
ORDER = "chains of sums and products: their order, which libraries choose, decides which of infinity and nan comes out"
PADDED = "PyTorch multiplies the zeros around an image, too, and 0 times infinity is nan; here they take no part"
TIES = "which of several equal elements is taken is up to PyTorch's algorithm"
DIVIDED = "PyTorch divides the product by each factor; here it is that of the others"
UPDATED = "PyTorch's mean is updated by differences, and those of infinities are nan"
OVERFLOW = "PyTorch's exponentials overflow, and their quotient is nan; here it has the limit"
ROUNDED = "it is limited to 1, and rounding decides whether that is inside"
NO_PROBABILITIES = "these are no logarithms of probabilities, of which PyTorch's recursion is made"
RAISES = "PyTorch's library for matrices raises, or gives up halfway, at numbers that are not finite; here they give nan"
OVERWRITTEN = "PyTorch gives the input the gradient of what was overwritten; its own test expects to fail here"

ANY = "gradients"
INPUTS = "inputs"

OTHERWISE: dict[tuple[str, str], str] = {
    **dict.fromkeys(
        [
            (f"nn.functional.{name}", INPUTS)
            for name in ("elu", "celu", "selu", "softshrink", "hardshrink", "hardtanh", "relu6", "hardswish")
        ]
        + [("logit", INPUTS)],
        PIECES,
    ),
    **dict.fromkeys(
        [
            (name, stage)
            for stage in (ANY, INPUTS)
            for name in (
                "lu", "lu_solve", "logdet", "linalg.det", "linalg.slogdet", "linalg.lu_factor", "linalg.lu_factor_ex",
                "linalg.lu", "nn.functional.bilinear", "nn.functional.linear_cross_entropy.chunked",
                "native_group_norm", "nn.functional.group_norm", "grid_sampler_2d", "grid_sampler_3d", "fft.ifft", "fft.ifft2", "fft.ifftn", "fft.ihfft",
                "fft.ihfft2", "fft.ihfftn", "fft.irfft", "fft.irfft2", "fft.irfftn", "fft.fft", "fft.fft2",
                "fft.fftn", "fft.hfft", "fft.hfft2", "fft.hfftn", "fft.rfft", "fft.rfft2", "fft.rfftn",
            )
        ]
        + [("cdist", INPUTS), ("stft", INPUTS), ("ormqr", INPUTS), ("qr", INPUTS), ("linalg.qr", INPUTS)],
        ORDER,
    ),
    **dict.fromkeys(
        [
            (f"nn.functional.conv{kind}{dims}d", stage)
            for kind in ("", "_transpose") for dims in (1, 2, 3) for stage in (ANY, INPUTS)
        ],
        PADDED,
    ),
    **dict.fromkeys([(name, INPUTS) for name in ("topk", "kthvalue", "mode", "sort", "msort")], TIES),
    **dict.fromkeys(
        [
            (name, INPUTS)
            for name in (
                "prod", "cumprod", "masked.prod", "masked.cumprod", "linalg.vander", "scatter_reduce.prod",
                "index_reduce.prod", "_segment_reduce.lengths", "_segment_reduce.offsets",
            )
        ],
        DIVIDED,
    ),
    **dict.fromkeys(
        [(name, INPUTS) for name in ("var_mean", "std_mean", "nn.functional.instance_norm", "native_layer_norm")],
        UPDATED,
    ),
    **dict.fromkeys(
        [
            (name, INPUTS)
            for name in ("cholesky_inverse", "linalg.cholesky_ex", "linalg.lstsq", "linalg.lstsq.grad_oriented",
                         "linalg.tensorsolve")
        ],
        RAISES,
    ),
    ("cumprod", ANY): DIVIDED,
    ("nn.functional.grid_sample", INPUTS): "coordinates that are no numbers become any index in PyTorch",
    ("nn.functional.pdist", INPUTS): "PyTorch subtracts infinite distances from each other",
    ("nn.functional.soft_margin_loss", INPUTS): OVERFLOW,
    ("corrcoef", ANY): ROUNDED,
    ("nn.functional.ctc_loss", INPUTS): NO_PROBABILITIES,
    ("as_strided_scatter", ANY): OVERWRITTEN,
    ("as_strided_scatter", INPUTS): OVERWRITTEN,
}  # fmt: skip
"""Entries whose samples are not compared as they are (``ANY``) or with extreme numbers in them (``INPUTS``), and why."""

ELEMENTS: dict[str, tuple[Callable[[float], bool], str]] = {
    **dict.fromkeys(
        ["exp", *(f"nn.functional.{name}" for name in ("elu", "celu", "selu", "mish", "softplus"))],
        (lambda value: value == -745.0, DENORMAL),
    ),
    "nn.functional.logsigmoid": (lambda value: value == 710.0, DENORMAL),
    "hypot": (lambda value: value == 1e-300, DENORMAL),
    "digamma": (lambda value: value == 1e300, "jax's trigamma falls to 0 sooner"),
    "special.erfcx": (lambda value: value == 1e300, "PyTorch's falls to 0 sooner"),
}
"""Elements that are not compared for functions of one and of two, by what picks them, and why."""

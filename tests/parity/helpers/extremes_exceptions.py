"""What ``test_extremes.py`` does not compare, and why: where PyTorch's own numbers depend on how they were computed."""

from collections.abc import Callable

ANY = "gradients"
INPUTS = "inputs"


def entries(stages: tuple[str, ...], names: str, reason: str) -> dict[tuple[str, str], str]:
    return {(name, stage): reason for name in names.split() for stage in stages}


OTHERWISE: dict[tuple[str, str], str] = {
    **entries(
        (INPUTS,),
        "nn.functional.elu nn.functional.celu nn.functional.selu nn.functional.softshrink nn.functional.hardshrink "
        "nn.functional.hardtanh nn.functional.relu6 nn.functional.hardswish logit",
        "PyTorch's vectors do otherwise than what is left over at their end, which is ours; rows of five have that",
    ),
    **entries(
        (ANY, INPUTS),
        "lu lu_solve logdet linalg.det linalg.slogdet linalg.lu_factor linalg.lu_factor_ex linalg.lu "
        "nn.functional.bilinear nn.functional.linear_cross_entropy.chunked native_group_norm nn.functional.group_norm "
        "grid_sampler_2d grid_sampler_3d fft.fft fft.fft2 fft.fftn fft.hfft fft.hfft2 fft.hfftn fft.rfft fft.rfft2 "
        "fft.rfftn fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.ihfft2 fft.ihfftn fft.irfft fft.irfft2 fft.irfftn",
        "chains of sums and products: their order, which libraries choose, decides which of infinity and nan comes out",
    ),
    **entries((INPUTS,), "stft ormqr qr linalg.qr", "as above: where numbers are infinite, their order decides"),
    **entries(
        (ANY, INPUTS),
        "nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d "
        "nn.functional.conv_transpose2d nn.functional.conv_transpose3d",
        "PyTorch multiplies the zeros around an image, too, and 0 times infinity is nan; here they take no part",
    ),
    **entries((INPUTS,), "topk kthvalue mode sort msort", "which of equal elements is taken is up to the algorithm"),
    **entries(
        (INPUTS,),
        "prod cumprod masked.prod masked.cumprod linalg.vander scatter_reduce.prod index_reduce.prod "
        "_segment_reduce.lengths _segment_reduce.offsets",
        "PyTorch divides products by their factors; here they are multiplied without these",
    ),
    **entries((ANY,), "cumprod", "as above"),
    **entries(
        (INPUTS,),
        "var_mean std_mean nn.functional.instance_norm native_layer_norm",
        "PyTorch's mean is updated by differences, and those of infinities are nan",
    ),
    **entries(
        (INPUTS,),
        "cholesky_inverse linalg.cholesky_ex linalg.lstsq linalg.lstsq.grad_oriented linalg.tensorsolve",
        "PyTorch's library for matrices raises, or gives up halfway, at such numbers; here they give nan",
    ),
    **entries((INPUTS,), "cdist nn.functional.pdist", "PyTorch subtracts infinite distances, or divides by them"),
    **entries((INPUTS,), "nn.functional.grid_sample", "coordinates that are no numbers become any index in PyTorch"),
    **entries(
        (INPUTS,), "nn.functional.soft_margin_loss", "PyTorch's exponentials overflow; here the quotient has a limit"
    ),
    **entries((ANY,), "corrcoef", "it is limited to 1, and rounding decides whether that is inside"),
    **entries((INPUTS,), "nn.functional.ctc_loss", "these are no logarithms of probabilities"),
    **entries(
        (ANY, INPUTS), "as_strided_scatter", "PyTorch gives the input the gradient of what was overwritten"
    ),
}
"""Entries whose samples aren't compared as they are (``ANY``) or with extreme numbers in them (``INPUTS``), and why."""

DENORMAL = "XLA takes denormal numbers for 0, and 0 times infinity is nan"

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

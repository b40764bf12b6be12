"""Convolutions, beside PyTorch's."""

import pytest
import torch as pytorch
from case_tables import case_of, of
from harness import agree, attempt, same, same_error

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
UNNAMED = ("2d, complex",)  # several convolutions of parts there

IMAGE = of(2, 2, 4, 5)
KERNEL = of(3, 2, 2, 3)
SIGNAL = of(1, 4, 5)

CONVOLUTIONS = {
    "1d": (lambda F, x, w, b: F.conv1d(x, w, b), SIGNAL, of(3, 4, 2), of(3)),
    "1d, no batch": (lambda F, x, w, b: F.conv1d(x, w, b), SIGNAL[0], of(3, 4, 2), of(3)),
    "1d, groups": (lambda F, x, w, b: F.conv1d(x, w, b, stride=2, padding=1, groups=2), SIGNAL, of(6, 2, 2), of(6)),
    "1d, depthwise": (lambda F, x, w: F.conv1d(x, w, groups=4, dilation=2), SIGNAL, of(4, 1, 2)),
    "2d": (lambda F, x, w, b: F.conv2d(x, w, b), IMAGE, KERNEL, of(3)),
    "2d, strides": (lambda F, x, w: F.conv2d(x, w, stride=(2, 1), padding=(1, 0)), IMAGE, KERNEL),
    "2d, same": (lambda F, x, w: F.conv2d(x, w, padding="same", dilation=(1, 2)), IMAGE, KERNEL),
    "2d, valid": (lambda F, x, w: F.conv2d(x, w, padding="valid"), IMAGE, KERNEL),
    "2d, no batch": (lambda F, x, w: F.conv2d(x, w), IMAGE[0], KERNEL),
    "2d, empty batch": (lambda F, x, w: F.conv2d(x, w), IMAGE[:0], KERNEL),
    "2d, complex": (
        lambda F, x, w: F.conv2d(x, w), of(1, 1, 3, 3, dtype="complex128"), of(1, 1, 2, 2, dtype="complex128")
    ),
    "3d": (lambda F, x, w, b: F.conv3d(x, w, b), of(1, 1, 2, 3, 2), of(1, 1, 1, 2, 2), of(1)),
    "transpose, 1d": (lambda F, x, w, b: F.conv_transpose1d(x, w, b, stride=2), of(1, 3, 3), of(3, 2, 2), of(2)),
    "transpose, 1d, no batch": (lambda F, x, w: F.conv_transpose1d(x, w), of(3, 3), of(3, 2, 2)),
    "transpose, 2d": (lambda F, x, w, b: F.conv_transpose2d(x, w, b), of(1, 3, 2, 3), of(3, 2, 2, 2), of(2)),
    "transpose, 2d, all": (
        lambda F, x, w, b: F.conv_transpose2d(x, w, b, 2, 1, 1, 2, 2), of(1, 4, 2, 3), of(4, 1, 2, 2), of(2)
    ),
    "transpose, 3d": (lambda F, x, w: F.conv_transpose3d(x, w), of(1, 1, 2, 1, 2), of(1, 1, 1, 2, 2)),
}  # fmt: skip


@case_of(CONVOLUTIONS)
def test_convolutions(case):
    program, *inputs = CONVOLUTIONS[case]
    same(lambda torch, *args: program(torch.nn.functional, *args), *inputs, names=case not in UNNAMED)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64"])
def test_convolution_dtypes(dtype):
    def program(torch, x, w):
        return torch.conv2d(x.to(getattr(torch, dtype)), w.to(getattr(torch, dtype)))

    same(program, IMAGE.round(1), KERNEL.round(1), second=False, names=False, rtol=5e-2, atol=2e-2)


CONVOLUTION_ERRORS = {
    "channels": (lambda F, x, w: F.conv2d(x, w), IMAGE, of(2, 3, 2, 2)),
    "dimensions": (lambda F, x, w: F.conv2d(x, w), of(1, 1, 2, 4, 5), KERNEL),
    "dimensions, few": (lambda F, x, w: F.conv2d(x, w), of(4, 5), KERNEL),
    "dimensions, 1d": (lambda F, x, w: F.conv1d(x, w), IMAGE, of(3, 2, 2)),
    "dimensions, 3d": (lambda F, x, w: F.conv3d(x, w), of(3, 4), of(2, 3, 2, 2, 2)),
    "weight dimensions": (lambda F, x, w: F.conv2d(x, w), IMAGE, of(3, 2, 2)),
    "kernel": (lambda F, x, w: F.conv2d(x, w), of(1, 2, 1, 5), KERNEL),
    "kernel, dilated": (lambda F, x, w: F.conv2d(x, w, padding=1, dilation=7), IMAGE, KERNEL),
    "bias": (lambda F, x, w, b: F.conv2d(x, w, b), IMAGE, KERNEL, of(2)),
    "bias dimensions": (lambda F, x, w, b: F.conv2d(x, w, b), IMAGE, KERNEL, of(3, 1)),
    "groups, channels": (lambda F, x, w: F.conv2d(x, w, groups=3), IMAGE, KERNEL),
    "groups, output": (lambda F, x, w: F.conv1d(x, w, groups=2), SIGNAL, of(3, 2, 2)),
    "groups, 0": (lambda F, x, w: F.conv2d(x, w, groups=0), IMAGE, KERNEL),
    "stride": (lambda F, x, w: F.conv2d(x, w, stride=0), IMAGE, KERNEL),
    "strides": (lambda F, x, w: F.conv2d(x, w, stride=(1, 1, 1)), IMAGE, KERNEL),
    "padding": (lambda F, x, w: F.conv2d(x, w, padding=-1), IMAGE, KERNEL),
    "dilation": (lambda F, x, w: F.conv2d(x, w, dilation=0), IMAGE, KERNEL),
    "same, strided": (lambda F, x, w: F.conv2d(x, w, padding="same", stride=2), IMAGE, KERNEL),
    "padding, name": (lambda F, x, w: F.conv2d(x, w, padding="x"), IMAGE, KERNEL),
    "dtypes": (lambda F, x, w: F.conv2d(x.float(), w), IMAGE[:1], KERNEL),
    "bias dtype": (lambda F, x, w, b: F.conv2d(x, w, b.float()), IMAGE, KERNEL, of(3)),
    "bool": (lambda F, x, w: F.conv2d(x > 0, w > 0), IMAGE, KERNEL),
    "transpose, channels": (lambda F, x, w: F.conv_transpose2d(x, w), of(1, 3, 2, 3), of(2, 2, 2, 2)),
    "transpose, bias": (lambda F, x, w, b: F.conv_transpose2d(x, w, b), of(1, 3, 2, 3), of(3, 2, 2, 2), of(3)),
    "transpose, groups": (lambda F, x, w: F.conv_transpose2d(x, w, groups=2), of(1, 3, 2, 3), of(3, 2, 2, 2)),
    "transpose, output_padding": (
        lambda F, x, w: F.conv_transpose2d(x, w, output_padding=1), of(1, 3, 2, 3), of(3, 2, 2, 2)
    ),
    "transpose, too small": (lambda F, x, w: F.conv_transpose2d(x, w, padding=2), of(1, 3, 1, 1), of(3, 2, 2, 2)),
}  # fmt: skip


@case_of(CONVOLUTION_ERRORS)
def test_convolution_errors(case):
    program, *inputs = CONVOLUTION_ERRORS[case]
    same_error(lambda torch, *args: program(torch.nn.functional, *args), *inputs)


@pytest.mark.parametrize("kinds", [
    ("float16", "float32", None), ("float16", "float32", "float32"), ("float64", "float32", "float32"),
    ("int64", "float32", "float32"), ("bfloat16", "float32", None), ("complex64", "float32", None),
    ("float64", "float32", None),
])  # fmt: skip
@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv_transpose3d"])
def test_kinds_that_do_not_go_together(kinds, name):
    def program(torch):
        space = int(name[-2])
        shapes = (1, 1, *[4] * space), (1, 1, *[2] * space), (1,)
        pairs = zip(shapes, kinds, strict=True)
        given = [kind and torch.ones(shape, dtype=getattr(torch, kind)) for shape, kind in pairs]
        found = attempt(lambda: getattr(torch.nn.functional, name)(*given))
        refuses = [kind for kind in kinds if not BY_ONEDNN.get(kind, True)]
        return found[:2] if refuses else found

    agree(program)


BY_ONEDNN = {
    "float16": pytorch.ops.mkldnn._is_mkldnn_fp16_supported(),
    "bfloat16": pytorch.ops.mkldnn._is_mkldnn_bf16_supported(),
}
"""Whether PyTorch asks oneDNN for convolutions of halves; on other processors another kernel refuses, in its words."""

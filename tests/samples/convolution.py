"""Samples of the operators in ``ops/convolution.py``."""

from __future__ import annotations

from samples import Sample, array


def conv(op, x, w, bias=None, stride=1, padding=0, dilation=1, groups=1, note="", **more):
    n = x.ndim - 2
    pairs = padding if isinstance(padding, tuple) else ((padding, padding),) * n
    settings = {**more, "stride": (stride,) * n, "padding": pairs, "dilation": (dilation,) * n, "groups": groups}
    args = (x, w) if op == "conv_weight" else (x, w, bias)
    return Sample(op, args, settings, note=note)


IMAGE = array(2, 2, 4, 5)
KERNEL = array(3, 2, 2, 3)
SIGNAL = array(1, 4, 5)

SAMPLES = [
    conv("convolution", IMAGE, KERNEL, array(3)),
    conv("convolution", IMAGE, KERNEL, None, stride=2, padding=1),
    conv("convolution", IMAGE, KERNEL, None, padding=((0, 1), (1, 1))),
    conv("convolution", IMAGE, array(3, 2, 2, 2), None, dilation=2, padding=1),
    conv("convolution", SIGNAL, array(6, 2, 2), array(6), groups=2, stride=2),
    conv("convolution", SIGNAL, array(4, 1, 2), None, groups=4),
    conv("convolution", array(1, 2, 4, dtype="complex128"), array(1, 2, 2, dtype="complex128"), None, note="complex"),
    conv("convolution", array(1, 1, 2, 3, 2), array(1, 1, 1, 2, 2), array(1)),
    conv("convolution", array(0, 4, 5), array(6, 2, 2), array(6), groups=2),
    conv("conv_transpose", array(2, 3, 3, 3), KERNEL, array(2), output_size=(4, 5)),
    conv("conv_transpose", array(1, 3, 3, 3), KERNEL, None, output_size=(7, 6), stride=2, padding=((0, 0), (1, 1))),
    conv("conv_transpose", array(1, 4, 3), array(4, 2, 2), None, output_size=(8,), stride=2, dilation=2, groups=2),
    conv("conv_weight", IMAGE, array(2, 3, 3, 3), kernel_size=(2, 3)),
    conv("conv_weight", SIGNAL, array(1, 6, 2), kernel_size=(2,), stride=2, groups=2),
    conv("conv_weight", SIGNAL, array(1, 6, 3), kernel_size=(2,), dilation=2, groups=2),
    conv("complex_convolution", array(1, 2, 4, dtype="complex128"), array(1, 2, 2, dtype="complex128"), array(1) + 0j),
    conv("complex_conv_transpose", array(1, 2, 3, dtype="complex128"), array(2, 1, 2, dtype="complex128"), None,
         output_size=(6,), stride=2),
    conv("conv_transpose", array(1, 1, 2), array(1, 1, 2), None, output_size=(6,), stride=1, dilation=2, note="longer"),
    conv("conv_weight", array(1, 1, 6), array(1, 1, 2), kernel_size=(2,), dilation=2, note="longer"),
]  # fmt: skip

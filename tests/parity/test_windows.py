"""Convolution, pooling, interpolation and patches beside PyTorch's."""

import numpy as np
import pytest
from harness import same, same_error
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

NAN, INF = float("nan"), float("inf")
MATRIX = array(2, 3)
UNNAMED = ("2d, complex",)  # several convolutions of parts there


def of(*shape, seed=0, dtype="float64"):
    return array(*shape, seed=seed, dtype=dtype)


def case_of(table):
    """Parametrize a test over a table of (program, *inputs)."""
    return pytest.mark.parametrize("case", table)


# -- convolution -------------------------------------------------------------------------------------------------------

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


# -- pooling -----------------------------------------------------------------------------------------------------------

PLANE = of(1, 2, 4, 5)
LINE = of(1, 2, 5)
CUBE = of(1, 2, 3, 4, 3)

POOLS = {
    "max, 1d": (lambda F, x: F.max_pool1d(x, 2), LINE),
    "max, 1d, ties": (lambda F, x: F.max_pool1d(x, 2), np.array([[[3.0, 3.0, 1.0, 3.0]]])),
    "max, 1d, nan": (lambda F, x: F.max_pool1d(x, 2, padding=1), np.array([[[NAN, 1.0, 2.0, NAN, 3.0]]])),
    "max, 1d, padding": (lambda F, x: F.max_pool1d(x, 2, stride=1, padding=1), np.array([[[-3.0, -2.0]]])),
    "max, 1d, indices": (lambda F, x: F.max_pool1d(x, 2, return_indices=True), LINE),
    "max, 2d": (lambda F, x: F.max_pool2d(x, 2), PLANE),
    "max, 2d, indices": (lambda F, x: F.max_pool2d(x, 2, return_indices=True), PLANE),
    "max, 2d, all": (
        lambda F, x: F.max_pool2d(x, (2, 3), (1, 2), (1, 1), dilation=(2, 1), ceil_mode=True, return_indices=True),
        PLANE,
    ),
    "max, 2d, no batch": (lambda F, x: F.max_pool2d(x, 3, 1), PLANE[0]),
    "max, 2d, empty batch": (lambda F, x: F.max_pool2d(x, 2), PLANE[:0]),
    "max, 2d, overlapping": (lambda F, x: F.max_pool2d(x, 2, 1), PLANE),
    "max, 2d, all -inf": (lambda F, x: F.max_pool2d(x, 2, padding=1, return_indices=True), np.full((1, 1, 3, 3), -INF)),
    "max, 2d, nans": (lambda F, x: F.max_pool2d(x, 2, return_indices=True), np.array([[[[NAN, 1.0], [2.0, NAN]]]])),
    "max, 2d, ints": (lambda F, x: F.max_pool2d(x, 2, padding=1), np.array([[[-5, -3], [-2, -9]]])),
    "max, 3d": (lambda F, x: F.max_pool3d(x, 2, return_indices=True), CUBE),
    "adaptive max, 1d": (lambda F, x: F.adaptive_max_pool1d(x, 3), LINE),
    "adaptive max, 2d": (lambda F, x: F.adaptive_max_pool2d(x, (3, None), return_indices=True), PLANE),
    "adaptive max, 3d": (lambda F, x: F.adaptive_max_pool3d(x, 2), CUBE),
    "unpool": (lambda F, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), of(1, 2, 4, 4)),
    "unpool, size": (lambda F, x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2, output_size=(5,)), LINE),
    "avg, 1d": (lambda F, x: F.avg_pool1d(x, 2, 1), LINE),
    "avg, 1d, padding": (lambda F, x: F.avg_pool1d(x, 2, padding=1), np.array([[[2.0, 2.0, 2.0]]])),
    "avg, 2d": (lambda F, x: F.avg_pool2d(x, 2), PLANE),
    "avg, 2d, all": (lambda F, x: F.avg_pool2d(x, (2, 3), 2, (1, 1), ceil_mode=True), PLANE),
    "avg, 2d, inside": (lambda F, x: F.avg_pool2d(x, 2, 2, 1, ceil_mode=True, count_include_pad=False), PLANE),
    "avg, 2d, divisor": (lambda F, x: F.avg_pool2d(x, 2, divisor_override=3), PLANE),
    "avg, 2d, no batch": (lambda F, x: F.avg_pool2d(x, 2), PLANE[0]),
    "avg, 2d, ints": (lambda F, x: F.avg_pool2d(x, 2), np.array([[[-5, -3], [-2, -9]]])),
    "avg, 3d": (lambda F, x: F.avg_pool3d(x, 2), CUBE),
    "adaptive avg, 1d": (lambda F, x: F.adaptive_avg_pool1d(x, 3), LINE),
    "adaptive avg, 1d, overlapping": (lambda F, x: F.adaptive_avg_pool1d(x, 2), np.array([[[1.0, 2.0, 3.0]]])),
    "adaptive avg, 1d, longer": (lambda F, x: F.adaptive_avg_pool1d(x, 7), LINE),
    "adaptive avg, 2d": (lambda F, x: F.adaptive_avg_pool2d(x, (3, None)), PLANE),
    "adaptive avg, 2d, one": (lambda F, x: F.adaptive_avg_pool2d(x, 1), PLANE),
    "adaptive avg, 2d, none": (lambda F, x: F.adaptive_avg_pool2d(x, 0), PLANE),
    "adaptive avg, 3d": (lambda F, x: F.adaptive_avg_pool3d(x, 2), CUBE),
    "lp, 1d": (lambda F, x: F.lp_pool1d(x, 2, 2), LINE),
    "lp, 2d": (lambda F, x: F.lp_pool2d(x, 3, 2), np.abs(PLANE)),
}
NO_POOL_NAMES = ("unpool, size",)
NEVER_BACKWARD_POOLS = ("adaptive avg, 2d, none",)  # PyTorch refuses


@case_of(POOLS)
def test_pools(case):
    program, x = POOLS[case]
    same(lambda torch, x: program(torch.nn.functional, x), x,
         names=case not in NO_POOL_NAMES, grads=case not in NEVER_BACKWARD_POOLS)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_pool_dtypes(dtype):
    def program(torch, x):
        F, x = torch.nn.functional, x.to(getattr(torch, dtype))
        return F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3), F.interpolate(x, 7, mode="bilinear")

    same(program, PLANE, second=False, names=False, rtol=2e-2, atol=1e-2)


def pool_errors():
    for dims, shape in ((1, (1, 3, 4)), (2, (1, 3, 4, 4)), (3, (1, 3, 4, 4, 4))):
        x = np.ones(shape)
        for name in ("max_pool", "avg_pool"):
            for label, args in {
                "kernel 0": (0,), "negative kernel": (-2,), "stride 0": (2, 0), "negative stride": (2, -1),
                "negative padding": (2, 2, -1), "wide padding": (2, 2, 2), "kernels": ((2,) * (dims + 1),),
                "strides": (2, (2,) * (dims + 1)), "paddings": (2, 2, (1,) * (dims + 1)), "float": (2.5,),
                "too big": (9,),
            }.items():  # fmt: skip
                yield f"{name}{dims}d, {label}", f"{name}{dims}d", args, x
            yield f"{name}{dims}d, dimensions", f"{name}{dims}d", (2,), x[None]
            yield f"{name}{dims}d, channels", f"{name}{dims}d", (2,), x[:, :0]
            yield f"{name}{dims}d, bool", f"{name}{dims}d", (2,), x > 0
            yield f"{name}{dims}d, complex", f"{name}{dims}d", (2,), x + 0j
        for name in ("adaptive_avg_pool", "adaptive_max_pool"):
            for label, args in {"negative": (-1,), "sizes": ((2,) * (dims + 1),)}.items():
                yield f"{name}{dims}d, {label}", f"{name}{dims}d", args, x
            yield f"{name}{dims}d, dimensions", f"{name}{dims}d", (2,), x[None]
            yield f"{name}{dims}d, few", f"{name}{dims}d", (2,), x[0, 0]
            yield f"{name}{dims}d, empty", f"{name}{dims}d", (2,), x[..., :0]
            yield f"{name}{dims}d, int", f"{name}{dims}d", (2,), x.astype("int32")


DIFFERENT_POOL_ERRORS = (
    "avg_pool1d, negative stride",  # PyTorch shows the plane that it makes of the line
    "avg_pool3d, too big",  # its own words
    "max_pool1d, complex",  # another kernel when a gradient is wanted
)


@pytest.mark.parametrize(("case", "name", "args", "x"), [
    pytest.param(*each, id=each[0]) for each in pool_errors() if each[0] not in DIFFERENT_POOL_ERRORS
])  # fmt: skip
def test_pool_errors(case, name, args, x):
    same_error(lambda torch, x: getattr(torch.nn.functional, name)(x, *args), x)


MORE_POOL_ERRORS = {
    "divisor": (lambda F, x: F.avg_pool2d(x, 2, divisor_override=0), PLANE),
    "max, dilation": (lambda F, x: F.max_pool2d(x, 2, dilation=0), PLANE),
    "unpool, dtype": (lambda F, x: F.max_unpool2d(x, x.int(), 2), PLANE),
    "unpool, size": (lambda F, x: F.max_unpool2d(x, x.long(), 2, output_size=(99, 99)), PLANE),
    "unpool, index": (lambda F, x: F.max_unpool2d(x, x.long() * 0 + 99999, 2), PLANE),
}


@case_of(MORE_POOL_ERRORS)
def test_more_pool_errors(case):
    program, x = MORE_POOL_ERRORS[case]
    same_error(lambda torch, x: program(torch.nn.functional, x), x)


# -- resizing ----------------------------------------------------------------------------------------------------------

RESIZES = {
    "nearest, 1d": (LINE, {"size": 7}), "nearest, 2d": (PLANE, {"scale_factor": 2}), "nearest, 3d": (CUBE, {"size": 2}),
    "nearest, factors": (PLANE, {"scale_factor": (1.5, 0.7)}), "nearest, smaller": (PLANE, {"size": (3, 2)}),
    "nearest, recomputed": (PLANE, {"scale_factor": 1.3, "recompute_scale_factor": True}),
    "nearest-exact, 1d": (LINE, {"size": 3, "mode": "nearest-exact"}),
    "nearest-exact, 2d": (PLANE, {"scale_factor": 1.7, "mode": "nearest-exact"}),
    "nearest-exact, 3d": (CUBE, {"size": 2, "mode": "nearest-exact"}),
    "linear": (np.array([[[1.0, 3.0]]]), {"size": 4, "mode": "linear"}),
    "linear, aligned": (LINE, {"size": 8, "mode": "linear", "align_corners": True}),
    "bilinear": (PLANE, {"scale_factor": 2, "mode": "bilinear"}),
    "bilinear, factor": (PLANE, {"scale_factor": 1.7, "mode": "bilinear"}),
    "bilinear, factor without effect": (PLANE, {"scale_factor": 1.1, "mode": "bilinear"}),
    "bilinear, aligned": (PLANE, {"size": (3, 9), "mode": "bilinear", "align_corners": True}),
    "bilinear, one": (PLANE, {"size": 1, "mode": "bilinear", "align_corners": True}),
    "trilinear": (CUBE, {"size": 4, "mode": "trilinear"}),
    "bicubic": (PLANE, {"size": (7, 3), "mode": "bicubic"}),
    "bicubic, aligned": (PLANE, {"size": (7, 3), "mode": "bicubic", "align_corners": True}),
    "area": (PLANE, {"size": (3, 2), "mode": "area"}), "area, 1d": (LINE, {"size": 3, "mode": "area"}),
    "bilinear, antialias": (PLANE, {"size": (2, 3), "mode": "bilinear", "antialias": True}),
    "bicubic, antialias": (PLANE, {"size": (2, 3), "mode": "bicubic", "antialias": True}),
    "empty batch": (PLANE[:0], {"size": 3}),
}  # fmt: skip


@case_of(RESIZES)
def test_interpolate(case):
    x, settings = RESIZES[case]
    same(lambda torch, x: torch.nn.functional.interpolate(x, **settings), x)


RESIZE_ERRORS = {
    "nothing": (PLANE, {}), "both": (PLANE, {"size": 2, "scale_factor": 2}),
    "align": (PLANE, {"size": 4, "align_corners": True}),
    "mode": (PLANE, {"size": 4, "mode": "x"}), "bilinear": (LINE, {"size": 4, "mode": "bilinear"}),
    "linear": (PLANE, {"size": 4, "mode": "linear"}), "trilinear": (PLANE, {"size": 4, "mode": "trilinear"}),
    "sizes": (PLANE, {"size": (4,)}), "factors": (PLANE, {"scale_factor": (2.0,)}), "2d": (MATRIX, {"size": 4}),
    "6d": (of(1, 1, 1, 1, 2, 2), {"size": 4}), "size 0": (PLANE, {"size": 0}), "channels": (PLANE[:, :0], {"size": 4}),
    "antialias": (PLANE, {"size": 4, "antialias": True}), "bicubic": (LINE, {"size": 4, "mode": "bicubic"}),
    "recompute": (PLANE, {"size": 4, "recompute_scale_factor": True}),
    "int": (np.ones((1, 1, 2, 2), "int64"), {"size": 4}),
}  # fmt: skip


@case_of(RESIZE_ERRORS)
def test_interpolate_errors(case):
    x, settings = RESIZE_ERRORS[case]
    same_error(lambda torch, x: torch.nn.functional.interpolate(x, **settings), x)


PATCHES = {
    "unfold": (lambda F, x: F.unfold(x, 2), PLANE),
    "unfold, all": (lambda F, x: F.unfold(x, (2, 3), (2, 1), (1, 0), (1, 2)), PLANE),
    "unfold, no batch": (lambda F, x: F.unfold(x, 2), PLANE[0]),
    "fold": (lambda F, x: F.fold(x, (4, 5), 2), of(1, 8, 12)),
    "fold, all": (lambda F, x: F.fold(x, (4, 5), (2, 3), (2, 1), (1, 0), (1, 2)), of(1, 12, 8)),
    "fold, no batch": (lambda F, x: F.fold(x, (4, 5), 2), of(8, 12)),
}


@case_of(PATCHES)
def test_patches(case):
    program, x = PATCHES[case]
    same(lambda torch, x: program(torch.nn.functional, x), x)


PATCH_ERRORS = {
    "no window": (lambda F, x: F.unfold(x, 6), PLANE),
    "kernel 0": (lambda F, x: F.unfold(x, 0), PLANE),
    "kernels": (lambda F, x: F.unfold(x, (2, 2, 2)), PLANE),
    "int": (lambda F, x: F.unfold(x, 2), np.ones((1, 1, 2, 2), "int64")),
    "fold, windows": (lambda F, x: F.fold(x, (4, 5), 2), of(1, 8, 11)),
    "fold, depth": (lambda F, x: F.fold(x, (4, 5), 2), of(1, 7, 12)),
    "fold, dimensions": (lambda F, x: F.fold(x, (4, 5), 2), of(8)),
}


@case_of(PATCH_ERRORS)
def test_patch_errors(case):
    program, x = PATCH_ERRORS[case]
    same_error(lambda torch, x: program(torch.nn.functional, x), x)

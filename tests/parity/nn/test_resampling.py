"""Interpolation, beside PyTorch's."""

import numpy as np
import pytest
from case_tables import case_of, of
from harness import agree, attempt, same, same_error
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
MATRIX = array(2, 3)

PLANE = of(1, 2, 4, 5)
LINE = of(1, 2, 5)
CUBE = of(1, 2, 3, 4, 3)

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
    "linear, bytes": (np.ones((1, 1, 2), "uint8"), {"size": 4, "mode": "linear"}),
    "trilinear, bytes": (np.ones((1, 1, 2, 2, 2), "uint8"), {"size": 4, "mode": "trilinear"}),
}  # fmt: skip


@case_of(RESIZE_ERRORS)
def test_interpolate_errors(case):
    x, settings = RESIZE_ERRORS[case]
    same_error(lambda torch, x: torch.nn.functional.interpolate(x, **settings), x)


@pytest.mark.parametrize("shape", [(1, 3, 0), (1, 3, 0, 2), (1, 3, 2, 2, 0)], ids=str)
def test_nothing_has_no_size_to_interpolate_to(shape):
    agree(lambda torch: attempt(lambda: torch.nn.functional.interpolate(torch.ones(shape), scale_factor=2.0)))


@pytest.mark.parametrize("antialias", [False, True], ids=["", "antialias"])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_bytes_are_rounded_as_there(mode, antialias):
    """Of images, whose channels are planes or lie last, and of what has more channels: other code in PyTorch."""
    rng = np.random.default_rng(0)
    images = {
        (channels, *size): rng.integers(0, 256, (2, channels, *size)).tolist()
        for channels, size in ((1, (9, 8)), (3, (5, 7)), (5, (6, 6)))
    }

    def program(torch):
        for (channels, *size), pixels in images.items():
            planes = torch.tensor(pixels, dtype=torch.uint8)
            for x in (planes, planes.contiguous(memory_format=torch.channels_last)):
                for align in (False, True):
                    settings = {"mode": mode, "align_corners": align, "antialias": antialias}
                    for target in ((8, 9), (4, 3), tuple(size)):
                        y = torch.nn.functional.interpolate(x, size=target, **settings)
                        yield channels, align, target, y.tolist(), y.stride()
                    yield torch.nn.functional.interpolate(x, scale_factor=(1.05, 0.6), **settings).tolist()

    agree(lambda torch: list(program(torch)))

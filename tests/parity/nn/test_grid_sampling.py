"""Sampling at the points of grids, beside PyTorch's."""

import numpy as np
import pytest
import torch
from case_tables import uniform as of
from expressions import expression
from harness import same, same_error

import tapegrad

PLANE, SPOTS = of(2, 1, 3, 4), of(2, 2, 2, 2, seed=1, low=-1.6, high=1.6)
VOLUME, SPOTS3 = of(1, 1, 2, 3, 2), of(1, 1, 2, 1, 3, seed=1, low=-1.6, high=1.6)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize(
    ("mode", "padding"),
    [("bilinear", "zeros"), ("bilinear", "border"), ("nearest", "reflection"), ("bicubic", "border")],
)
def test_grid_sample(mode, padding, align):
    same(expression(f"F.grid_sample(x, y, '{mode}', '{padding}', {align})"), PLANE, SPOTS)


GRIDS = {
    "volume": ("F.grid_sample(x, y, align_corners=True)", VOLUME, SPOTS3),
    "volume, reflection": ("F.grid_sample(x, y, padding_mode='reflection', align_corners=False)", VOLUME, SPOTS3),
    "corners": ("F.grid_sample(x, y, 'bilinear', 'border', True)", PLANE, np.array([[[[-1.0, 1], [0, 0]]]] * 2)),
    "edges": ("F.grid_sample(x, y, 'bilinear', 'zeros', False)", PLANE, np.array([[[[-1.0, 1], [0, 0]]]] * 2)),
    "not contiguous": ("F.grid_sample(x.transpose(2, 3), y.flip(3), align_corners=False)", PLANE, SPOTS),
    "no batch": ("F.grid_sample(x[:0], y[:0], align_corners=False)", PLANE, SPOTS),
    "one element": ("F.grid_sample(x[..., :1, :1], y, 'bilinear', 'reflection', True)", PLANE, SPOTS),
    "grid_sampler": ("torch.grid_sampler(x, y, 0, 1, False)", PLANE, SPOTS),
    "affine_grid": ("F.affine_grid(x, [2, 1, 2, 3], align_corners=False)", of(2, 2, 3)),
    "affine_grid, corners": ("F.affine_grid(x, (2, 1, 2, 3), True)", of(2, 2, 3)),
    "affine_grid, volume": ("F.affine_grid(x, (1, 1, 2, 3, 1), True)", of(1, 3, 4)),
    "moved": ("F.grid_sample(x, F.affine_grid(y, (2, 1, 3, 4), False), align_corners=False)", PLANE, of(2, 2, 3)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", GRIDS)
def test_grids(case):
    text, *inputs = GRIDS[case]
    same(expression(text), *inputs)


def test_coordinates_that_are_not_finite():
    inf, nan = float("inf"), float("nan")
    at = np.array([[[[nan, 0.0], [inf, 0], [-inf, 0], [3e9, 0], [1, 0]]]])
    for mode, padding in (("bilinear", "zeros"), ("bilinear", "border"), ("nearest", "zeros"), ("bicubic", "border")):
        program = expression(f"F.grid_sample(x, y, '{mode}', '{padding}', False)")
        same(program, np.array([[[[1.0, 2, 3]]]]), at, grads=False)
    volume = np.array([[[[[nan, 0.0, 0], [inf, 0, 0]]]]])
    same(expression("F.grid_sample(x, y, align_corners=False)"), VOLUME, volume, grads=False)


def test_grid_sample_of_halves():
    program = expression("F.grid_sample(x.bfloat16(), y.bfloat16(), align_corners=True)")
    same(program, PLANE, SPOTS / 2, second=False, rtol=2e-2, atol=2e-2)


GRID_ERRORS = [
    "F.grid_sample(x, y, mode='foo')", "F.grid_sample(x, y, padding_mode='foo')", "F.grid_sample(x, y[..., :1])",
    "F.grid_sample(x, y[:1])", "F.grid_sample(x[0], y)", "F.grid_sample(x, y.float())",
    "F.grid_sample(x.int(), y.int())", "F.grid_sample(x[:, :, :0], y)", "torch.grid_sampler_2d(x, y[:, 0], 0, 0, True)",
    "torch.grid_sampler_3d(x, y, 0, 0, True)", "F.grid_sample(x[:, None], y.new_zeros(2, 1, 1, 1, 3), 'bicubic')",
    "F.affine_grid(x[0], [2, 3, 4], False)", "F.affine_grid(x[0], [1, 1, 4, 5], False)",
    "F.affine_grid(x[:, 0, :2, :3], [2, 1, 0, 5], False)", "F.affine_grid(x[:, 0, :2, :3].int(), [2, 1, 3, 5], False)",
    "F.affine_grid(x[:, 0, :2, :3], [3, 1, 3, 5], False)", "torch.affine_grid_generator(x[:, 0, :2], [2, 1, 3], True)",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", GRID_ERRORS)
def test_grid_errors(text):
    same_error(expression(text), PLANE, SPOTS)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [(7, 28), (16, 5), (3, 7, 4)], ids=str)
def test_slopes_at_elements(dtype, size):
    """The identity meets the elements themselves, where the last digit decides which slope there is."""
    rng = np.random.default_rng(0)
    picture, dims = rng.normal(size=(1, 2, *size)), len(size)

    def program(lib):
        made = getattr(lib, dtype)
        theta = lib.eye(dims, dims + 1, dtype=made)[None].requires_grad_()
        grid = lib.nn.functional.affine_grid(theta, (1, 1, *size), align_corners=False)
        found = lib.nn.functional.grid_sample(lib.tensor(picture, dtype=made), grid, align_corners=False)
        found.square().sum().backward()
        return grid.detach().numpy(), found.detach().numpy(), theta.grad.numpy()

    mine, theirs = program(tapegrad), program(torch)
    np.testing.assert_array_equal(mine[0], theirs[0])
    for own, other in zip(mine[1:], theirs[1:], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-4 if dtype == "float32" else 1e-11)

"""Fractional pooling, its inverse and what else gives places, beside PyTorch's."""

import pytest
from case_tables import uniform as of
from expressions import expression
from harness import same, same_error

import tapegrad as torch

PLANES, VOLUMES = of(2, 2, 6, 7), of(1, 2, 5, 6, 4)
STARTS = of(2, 2, 2, low=0.0, high=1.0)
STARTS3 = of(1, 2, 3, low=0.0, high=1.0)

POOLS = {
    "plane": ("F.fractional_max_pool2d(x, 2, 3, return_indices=True, _random_samples=y.detach())", PLANES, STARTS),
    "ratio": ("F.fractional_max_pool2d(x[0], (2, 3), None, (0.5, 0.7), False, y[:1].detach())", PLANES, STARTS),
    "one": ("F.fractional_max_pool2d(x, 2, 1, _random_samples=y.detach())", PLANES, STARTS),
    "volume": ("F.fractional_max_pool3d(x, (2, 3, 1), (2, 3, 3), None, True, y.detach())", VOLUMES, STARTS3),
    "unpool": ("F.max_unpool2d(x, L([[[[0, 5], [7, 10]]]]), 2)", of(1, 1, 2, 2)),
    "unpool, length": ("F.max_unpool1d(x, L([[[1, 2], [1, 3]]]), 2, output_size=[5])", of(1, 2, 2)),
    "unpool, volume": ("F.max_unpool3d(x, L([[[[[7, 0]]]]]), (2, 1, 2))", of(1, 1, 1, 1, 2)),
    "with indices": ("F.max_pool2d_with_indices(x, 2)", PLANES),
    "adaptive with indices": ("F.adaptive_max_pool2d_with_indices(x, (2, 3))", PLANES),
    "torch.adaptive_max_pool1d": ("torch.adaptive_max_pool1d(x[0], 3)", PLANES),
    "transposed": ("F.conv_transpose2d(x, y, stride=2, output_padding=3, dilation=4)", of(1, 1, 2, 3), of(1, 1, 2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("case", POOLS)
def test_pools(case):
    text, *inputs = POOLS[case]
    same(expression(text), *inputs)


def test_the_last_of_two_for_one_place_stays():
    """PyTorch's threads race for it, and either may stay."""
    x, places = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), torch.tensor([[[0, 5], [5, 10]]])
    assert torch.nn.functional.max_unpool2d(x, places, 2).view(-1)[[0, 5, 10]].tolist() == [1, 3, 4]


POOL_ERRORS = [
    "F.fractional_max_pool2d(x, 2)", "F.fractional_max_pool2d(x, 7, 3)", "F.fractional_max_pool2d(x, (2, 2, 2), 3)",
    "F.fractional_max_pool2d(x, 2, (3,))", "F.fractional_max_pool2d(x[0, 0], 2, 3)",
    "F.fractional_max_pool2d(x.int(), 2, 3)", "F.fractional_max_pool2d(x, 2, 3, _random_samples=x[0])",
    "F.fractional_max_pool2d(x, 2, 3, _random_samples=x[0].detach())",
    "F.fractional_max_pool2d(x, 2, 3, _random_samples=x[0].detach().float())",
    "F.fractional_max_pool2d(x[:, :0], 2, 3)",
    "F.fractional_max_pool2d(x, 2, 3, _random_samples=x[0, 0].detach())", "F.fractional_max_pool3d(x[None], 2, 3)",
    "F.max_unpool2d(x, (x * 0).long() + 999, 2)", "F.max_unpool2d(x, x.long()[..., :1], 2)",
    "F.max_unpool2d(x[0, 0], x.long()[0, 0], 2)", "F.max_unpool1d(x, x.long(), 2)", "F.max_unpool2d(x, x.int(), 2)",
    "F.max_unpool2d(x, x.long() * 0, 2, output_size=(1, 2, 3))", "F.max_unpool2d(x.int(), x.long() * 0, 2)",
]  # fmt: skip


@pytest.mark.parametrize("text", POOL_ERRORS)
def test_pool_errors(text):
    same_error(expression(text), PLANES)

"""Infinite gradients and nan in short programs: what a mask hides, and what nobody hides, beside PyTorch."""

import numpy as np
import pytest
from harness import same, same_error

pytestmark = pytest.mark.parity

NAN = float("nan")
ROWS = np.array([[0.0, -0.0, 1.0, 2.0], [3.0, 1.0, 0.5, 1.0], [0.0, -0.0, 1.0, 2.0]])
WITH_NAN = np.array([NAN, 1.0, 3.0])

PROGRAMS = {
    "a root at 0 of the largest": lambda torch, x, y: torch.sqrt(x.max() - 3),
    "a root at 0 of the smallest": lambda torch, x, y: torch.sqrt(x.min()),
    "a root at 0 of the median": lambda torch, x, y: (torch.sqrt(x.median() - 1), torch.sqrt(x.nanmedian() - 1)),
    "entropy, masked": lambda torch, x, y: torch.where(x > 0, torch.xlogy(x, x), 0.0),
    "entropy of more than -1, masked": lambda torch, x, y: torch.where(x > 0, torch.special.xlog1py(x, -x), 0.0),
    "xlogy of numbers, masked": lambda torch, x, y: torch.where(x > 5, torch.xlogy(x, 0.0), 0.0),
    "kl_div, masked": lambda torch, x, y: torch.where(
        x > 0, torch.nn.functional.kl_div(-x.detach(), x, reduction="none"), 0.0
    ),
    "powers to 0, inf": lambda torch, x, y: torch.sqrt(x ** torch.zeros(4, dtype=x.dtype) - 1),
    "renorm of one row, masked": lambda torch, x, y: torch.where(x > 5, torch.sqrt(x.renorm(2, 0, 3.0) * 0), 0.0),
    "distances of equal rows": lambda torch, x, y: torch.sqrt(torch.pdist(x)),
    "the row of padding": lambda torch, x, y: torch.sqrt(
        torch.nn.functional.embedding(torch.tensor([0, 1]), x, padding_idx=0)
    ),
    "a pool of roots": lambda torch, x, y: torch.nn.functional.lp_pool1d(x[None], 2.0, 2),
    "the sum of what is not nan": lambda torch, x, y: torch.sqrt(y.nansum() - 4),
    "losses of nan": lambda torch, x, y: [
        loss(y, torch.ones(3, dtype=y.dtype), reduction="none")
        for loss in (torch.nn.functional.huber_loss, torch.nn.functional.smooth_l1_loss)
    ],
    "margins of nan": lambda torch, x, y: (
        torch.nn.functional.multi_margin_loss(y, torch.tensor(1)),
        torch.nn.functional.multilabel_margin_loss(y, torch.tensor([1, -1, 0])),
    ),
    "the greatest of a bag with nan": lambda torch, x, y: torch.nn.functional.embedding_bag(
        torch.tensor([0, 1, 2, 1, 0, 2, 0]), y[:, None], torch.tensor([0, 3, 6]), mode="max"
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_what_is_masked_and_what_is_not(case):
    same(PROGRAMS[case], ROWS, WITH_NAN, second=False, names=False)


def test_targets_that_are_no_probabilities():
    for target in (-1.0, 1.5, NAN):
        same_error(lambda torch, x, target=target: torch.nn.functional.binary_cross_entropy(
            x, torch.full((2,), target, dtype=x.dtype)), np.array([0.3, 0.6]))  # fmt: skip

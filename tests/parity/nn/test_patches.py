"""Windows as columns, beside PyTorch's."""

import numpy as np
import pytest
from case_tables import case_of, of
from harness import same, same_error
from transcripts import same_transcript

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

PLANE = of(1, 2, 4, 5)
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


HOSTILE = """
F.unfold(torch.ones(2, 2), 1)
F.unfold(torch.ones(()), 1)
F.unfold(torch.ones(1, 2, 2), (1.5,))
F.unfold(torch.ones(1, 2, 2), 1, dilation=(None,))
F.unfold(torch.ones(1, 2, 2), 1, padding=True)
F.fold(torch.ones(1, 2, 2), (1, 2), (None, 1))
F.fold(torch.ones(1, 2, 2), 1.5, 1)
F.fold(torch.ones(1, 2, 2), (1, 2, 3), 1)
torch.zeros(3).index_fill(0, torch.ones(2, 2), 1.0)
torch.zeros(3).index_fill(0, torch.ones(2, 2), torch.ones(1))
torch.zeros(3).as_subclass(torch.float32)
torch.zeros(3).as_subclass(3)
F.max_unpool3d(torch.ones(2, 2), torch.ones(2, 2).long(), 1)
F.max_unpool1d(torch.ones(2, 2), torch.ones(2, 2).long(), 1, output_size=5)
"""


@pytest.mark.parametrize("line", HOSTILE.strip().splitlines())
def test_arguments_are_judged_in_pytorch_s_order(line):
    same_transcript(f"F = torch.nn.functional; {line}")

"""Reductions of segments beside PyTorch's."""

import numpy as np
import pytest
from expressions import expression
from harness import same, same_error

LINE, SHEET = np.array([1.0, 2, 3, 4, 5, 6]), np.array([[1.0, 5, 3], [4, 2, 3]])
KINDS = ("sum", "mean", "max", "min", "prod")

SEGMENTS = {
    **{kind: (f"torch.segment_reduce(x, '{kind}', lengths=L([2, 0, 4]), initial=2.0)", LINE) for kind in KINDS},
    **{f"{kind}, rows": (f"torch.segment_reduce(x, '{kind}', lengths=L([[1, 2], [2, 1]]), axis=1)", SHEET) for kind in
       KINDS},
    "offsets": ("torch.segment_reduce(x, 'sum', offsets=L([0, 2, 4]))", LINE),
    "shares": ("torch.segment_reduce(x, 'max', lengths=L([2, 4]))", np.array([2.0, 2, 1, 0, 3, 0])),
    "zeros": ("torch.segment_reduce(x, 'prod', lengths=L([2, 4]))", np.array([0.0, 2, 1, 0, 3, 0])),
    "nan": ("torch.segment_reduce(x, 'prod', lengths=L([2, 4]))", np.array([np.nan, 2, 1, 1, 3, 0])),
    "int32": ("torch.segment_reduce(x, 'mean', lengths=L([2, 4]).int(), axis=-1)", LINE),
}  # fmt: skip


@pytest.mark.parametrize("case", SEGMENTS)
def test_segments(case):
    text, *inputs = SEGMENTS[case]
    same(expression(text), *inputs, second=False)


def test_segments_of_nothing():
    same(expression("torch.segment_reduce(x[:0], 'mean', lengths=L([0, 0]))"), LINE, grads=False)


SEGMENT_ERRORS = [
    "torch.segment_reduce(x, 'foo', lengths=L([2, 4]))", "torch.segment_reduce(x, 'sum')",
    "torch.segment_reduce(x, 'sum', lengths=L([2, 3]))", "torch.segment_reduce(x, 'sum', lengths=L([-2, 8]))",
    "torch.segment_reduce(x, 'sum', lengths=L([[2, 4]]))", "torch.segment_reduce(x, 'sum', lengths=L([2]), axis=1)",
    "torch.segment_reduce(x, 'sum', lengths=L([2, 4]), indices=L([0]))",
    "torch.segment_reduce(x.long(), 'sum', lengths=L([2, 4]))",
]  # fmt: skip


@pytest.mark.parametrize("text", SEGMENT_ERRORS)
def test_segment_errors(text):
    same_error(expression(text), LINE)

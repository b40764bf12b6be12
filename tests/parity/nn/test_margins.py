"""Losses of classes with a margin, beside PyTorch's."""

import numpy as np
import pytest
from case_tables import ids
from case_tables import uniform as of
from expressions import expression
from harness import same, same_error

# -- bags of embeddings ------------------------------------------------------------------------------------------------

TABLE, NUMBERS, OFFSETS, SAMPLE_WEIGHTS = of(5, 3), ids(1, 2, 2, 4, 0), ids(0, 2, 2, 3), of(5)


# -- classification over time ------------------------------------------------------------------------------------------

LOGITS, LABELS, LENGTHS = of(6, 3, 4), ids([1, 2, 2], [3, 1, 0], [1, 1, 1]), ids(3, 2, 3)


# -- losses with a margin ----------------------------------------------------------------------------------------------

SCORES, TARGETS, CLASS_WEIGHTS = of(3, 4), ids(1, 3, 0), "torch.tensor([.5, 1, 2, 3], dtype=torch.float64)"
SEVERAL = ids([1, 3, -1, 0], [0, -1, 2, 2], [-1, 1, 1, 1])
MARGINS = {
    "single": ("F.multi_margin_loss(x, y)", SCORES, TARGETS),
    "squared": ("F.multi_margin_loss(x, y, p=2, margin=0.7, reduction='none')", SCORES, TARGETS),
    "weighted": (f"F.multi_margin_loss(x, y, weight={CLASS_WEIGHTS}, reduction='sum')", SCORES, TARGETS),
    "one example": ("F.multi_margin_loss(x[0], y[0])", SCORES, TARGETS),
    "one example, a list": ("F.multi_margin_loss(x[0], y[:1], reduction='none')", SCORES, TARGETS),
    "one class": ("F.multi_margin_loss(x[0, 0], y[2])", SCORES, TARGETS),
    "none": ("F.multi_margin_loss(x[:0], y[:0], reduction='none')", SCORES, TARGETS),
    "at the margin": ("F.multi_margin_loss(x, y)", np.array([[1.0, 0.0, 0.5]]), ids(0)),
    "several": ("F.multilabel_margin_loss(x, y)", SCORES, SEVERAL),
    "several, each": ("F.multilabel_margin_loss(x, y, reduction='none')", SCORES, SEVERAL),
    "several, one example": ("F.multilabel_margin_loss(x[0], y[0], reduction='sum')", SCORES, SEVERAL),
}


@pytest.mark.parametrize("case", MARGINS)
def test_margins(case):
    text, *inputs = MARGINS[case]
    same(expression(text), *inputs, second=False)


MARGIN_ERRORS = [
    "F.multi_margin_loss(x, y[:2, 0])", "F.multi_margin_loss(x, y[:, 0], p=3)",
    "F.multi_margin_loss(x, y[:, 0], weight=x[0, :2].detach())", "F.multi_margin_loss(x, y[:, 0], weight=x.detach())",
    "F.multi_margin_loss(x[None], y[:, 0])", "F.multi_margin_loss(x, y[:, 0] + 4)", "F.multi_margin_loss(x, y[:, 2])",
    "F.multi_margin_loss(x.int(), y[:, 2])", "F.multi_margin_loss(x, y[:, 2].int())",
    "F.multi_margin_loss(x.bfloat16(), y[:, 1])", "F.multi_margin_loss(x, y[:, 1], weight=x[0])",
    "F.multi_margin_loss(x[:, :0], y[:, 0])", "F.multilabel_margin_loss(x, y[:2])",
    "F.multilabel_margin_loss(x[None], y[None])", "F.multilabel_margin_loss(x, y + 3)",
    "F.multilabel_margin_loss(x, y - 1)", "F.multilabel_margin_loss(x.int(), y)",
    "F.multilabel_margin_loss(x, y.int())", "F.multilabel_margin_loss(x, y, reduction='foo')",
]  # fmt: skip


@pytest.mark.parametrize("text", MARGIN_ERRORS)
def test_margin_errors(text):
    same_error(expression(text), SCORES, SEVERAL)


SECONDS = [
    ("F.multi_margin_loss(x, L([1, 3, 0]))", SCORES),
    ("F.multilabel_margin_loss(x, L([[1, -1, 0, 0]] * 3))", SCORES),
    ("F.ctc_loss(x, L([[1, 2]] * 3), [6, 6, 6], [2, 2, 2])", LOGITS),
    ("F.embedding_bag(L([[1, 2]]), x)", TABLE),
    ("F.embedding_bag(L([[1, 2]]), torch.ones(3, 2, dtype=x.dtype), mode='sum', per_sample_weights=x)", of(1, 2)),
    ("torch.segment_reduce(x, 'max', lengths=L([1, 2]))", of(3)),
]


@pytest.mark.parametrize(("text", "x"), SECONDS, ids=[text for text, _ in SECONDS])
def test_there_is_no_second_derivative(text, x):
    def program(torch, x):
        y = expression(text)(torch, x)
        (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
        torch.autograd.grad(g.sum(), x)

    same_error(program, x)

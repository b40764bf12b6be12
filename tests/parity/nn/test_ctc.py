"""Connectionist temporal classification, beside PyTorch's."""

import pytest
from case_tables import ids
from case_tables import uniform as of
from expressions import expression
from harness import same, same_error

LOGITS, LABELS, LENGTHS = of(6, 3, 4), ids([1, 2, 2], [3, 1, 0], [1, 1, 1]), ids(3, 2, 3)
CTC = {
    **{
        name: (f"F.ctc_loss(x.log_softmax(2), y, L([6, 5, 6]), z, reduction='{name}')", LOGITS, LABELS, LENGTHS)
        for name in ("none", "mean", "sum")
    },
    "probabilities that don't add up": ("F.ctc_loss(x, y, L([6, 5, 6]), z, reduction='none')", LOGITS, LABELS, LENGTHS),
    "behind one another": ("F.ctc_loss(x, y, (6, 5, 6), (3, 2, 3))", LOGITS, ids(1, 2, 2, 3, 1, 1, 1, 1)),
    "one": ("F.ctc_loss(x[:, 0], y[0], L(6), L(3), reduction='none')", LOGITS, LABELS),
    "other blank": (
        "F.ctc_loss(x, y.clamp(0, 1), L([6, 5, 6]), z, blank=3, reduction='none')", LOGITS, LABELS, LENGTHS),
    "no labels": ("F.ctc_loss(x, y, [6, 5, 6], [0, 2, 3], reduction='none')", LOGITS, LABELS),
    "impossible": ("F.ctc_loss(x, y, L([2, 5, 6]), z, reduction='none')", LOGITS, LABELS, LENGTHS),
    "no infinity": ("F.ctc_loss(x, y, L([2, 5, 6]), z, 0, 'sum', True)", LOGITS, LABELS, LENGTHS),
    "no steps": ("F.ctc_loss(x, y, [0, 5, 6], [0, 2, 3], reduction='none')", LOGITS, LABELS),
    "by number": ("torch.ctc_loss(x, y.int(), L([6, 5, 6]), z.int(), 0, 2)", LOGITS, LABELS, LENGTHS),
}


@pytest.mark.parametrize("case", CTC)
def test_ctc_loss(case):
    text, *inputs = CTC[case]
    same(expression(text), *inputs, second=False)


CTC_ERRORS = [
    "F.ctc_loss(x, y, L([6, 5, 6]), z, blank=9)", "F.ctc_loss(x, y, L([7, 5, 6]), z)",
    "F.ctc_loss(x, y, L([-1, 5, 6]), z)",
    "F.ctc_loss(x, y, L([6, 5, 6]), z + 1)", "F.ctc_loss(x, y, L([6, 5, 6]), z - 4)", "F.ctc_loss(x, y, L([6, 5]), z)",
    "F.ctc_loss(x, y, L([6, 5, 6]), z[:2])", "F.ctc_loss(x, y[:2], L([6, 5, 6]), z)",
    "F.ctc_loss(x, y.view(-1)[:7], L([6, 5, 6]), z)", "F.ctc_loss(x, y, L([6., 5, 6]), z)",
    "F.ctc_loss(x.bfloat16(), y, L([6, 5, 6]), z)", "F.ctc_loss(x.long(), y, L([6, 5, 6]), z)",
    "F.ctc_loss(x, y[None], L([6, 5, 6]), z)", "F.ctc_loss(x[:0], y, L([0, 0, 0]), z)",
    "F.ctc_loss(x, y, L([6, 5, 6]), z, reduction='foo')",
]  # fmt: skip


@pytest.mark.parametrize("text", CTC_ERRORS)
def test_ctc_errors(text):
    same_error(expression(text), LOGITS, LABELS, LENGTHS)

"""Grids of points, bags of embeddings, unpooling, segments, classification over time, margins: as in PyTorch."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, same, same_error


def of(*shape, seed=0, low=-2.0, high=2.0, dtype="float64"):
    rng = np.random.default_rng(seed + 7 * len(shape))
    return rng.uniform(low, high, shape).astype(dtype)


def ids(*numbers):
    return np.array(numbers)


# -- grids -------------------------------------------------------------------------------------------------------------

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


# -- bags of embeddings ------------------------------------------------------------------------------------------------

TABLE, NUMBERS, OFFSETS, SAMPLE_WEIGHTS = of(5, 3), ids(1, 2, 2, 4, 0), ids(0, 2, 2, 3), of(5)
BAGS = {
    **{mode: (f"F.embedding_bag(y, x, z, mode='{mode}')", TABLE, NUMBERS, OFFSETS) for mode in ("sum", "mean", "max")},
    "rows": ("F.embedding_bag(y, x)", TABLE, ids([1, 2], [3, 3])),
    "last": ("F.embedding_bag(y, x, z, mode='sum', include_last_offset=True)", TABLE, NUMBERS, OFFSETS),
    "padding": ("F.embedding_bag(y, x, z, padding_idx=2)", TABLE, NUMBERS, OFFSETS),
    "padding, max": ("F.embedding_bag(y, x, z, mode='max', padding_idx=-3)", TABLE, NUMBERS, OFFSETS),
    "frequency": ("F.embedding_bag(y, x, z, scale_grad_by_freq=True)", TABLE, ids(0, 1, 2, 2, 2), OFFSETS),
    "weights": ("F.embedding_bag(L([1, 2, 2, 4, 0]), x, z, mode='sum', per_sample_weights=y)", TABLE, SAMPLE_WEIGHTS,
                OFFSETS),
    "nothing": ("F.embedding_bag(y[:0], x, z[:2] * 0, mode='max')", TABLE, NUMBERS, OFFSETS),
    "int32": ("F.embedding_bag(y.int(), x, z.int(), mode='sum')", TABLE, NUMBERS, OFFSETS),
    "all results": ("torch.embedding_bag(x, y, z, False, 2)", TABLE, NUMBERS, OFFSETS),
}  # fmt: skip


@pytest.mark.parametrize("case", BAGS)
def test_embedding_bag(case):
    text, *inputs = BAGS[case]
    same(expression(text), *inputs, second=False)


def test_embedding_bag_shrinks_the_rows_it_uses():
    def program(torch):
        weight = torch.ones(3, 4, dtype=torch.float64)
        out = torch.nn.functional.embedding_bag(torch.tensor([[0, 2]]), weight, max_norm=1.0)
        return [out, weight]

    agree(program)


BAG_ERRORS = [
    "F.embedding_bag(y, x)", "F.embedding_bag(y, x, z[None])", "F.embedding_bag(y[None, None], x)",
    "F.embedding_bag(y, x, z, mode='foo')", "F.embedding_bag(y, x, z, per_sample_weights=x[0])",
    "F.embedding_bag(y, x, z, per_sample_weights=x[:, 0])", "F.embedding_bag(y, x[0], z)",
    "F.embedding_bag(y, x, z, mode='max', scale_grad_by_freq=True)",
    "F.embedding_bag(y, x, z, mode='max', sparse=True)",
    "F.embedding_bag(y + 3, x, z)", "F.embedding_bag(y - 1, x, z)", "F.embedding_bag(y.int().float(), x, z)",
    "F.embedding_bag(y, x.int(), z)", "F.embedding_bag(y, x, z, padding_idx=7)", "F.embedding_bag(y, x, z + 3)",
    "F.embedding_bag(y + 3, x, z, mode='sum')", "F.embedding_bag(y.int().float(), x, z, mode='sum')",
    "F.embedding_bag(y, x, z[:0], include_last_offset=True)", "F.embedding_bag(y, x, L([0, 9]))",
    "F.embedding_bag(y, x, z, mode='sum', per_sample_weights=x[:, 0].float())",
]  # fmt: skip


@pytest.mark.parametrize("text", BAG_ERRORS)
def test_bag_errors(text):
    lines = expression(text)
    same_error(lines, TABLE, NUMBERS, OFFSETS, match="offsets[0] has to be 0" if text.endswith("z + 3)") else None)


# -- classification over time ------------------------------------------------------------------------------------------

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

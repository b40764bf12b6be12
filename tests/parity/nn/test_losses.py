"""The losses of ``torch.nn.functional`` beside PyTorch's."""

import numpy as np
import pytest
from case_tables import case_of, of
from harness import agree, attempt, same, same_error
from samples import array

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

NAN, INF = float("nan"), float("inf")
MATRIX = array(2, 3)
TARGET = array(2, 3, seed=5)
ROW = array(3)
NOTHING = array(0, 3)
P = array(2, 3, low=0.05, high=0.95)
Q = array(2, 3, low=0.1, high=0.9, seed=5)
WEIGHT = array(3, low=0.5, high=2.0)
CLASSES = np.array([2, 0])
F32 = np.ones((2, 3), "float32")
REDUCTIONS = ["mean", "sum", "none"]

# -- losses ------------------------------------------------------------------------------------------------------------

POINTWISE = {
    "mse_loss": {}, "l1_loss": {}, "smooth_l1_loss": {"beta": 0.7}, "huber_loss": {"delta": 0.7}, "kl_div": {},
    "poisson_nll_loss": {}, "hinge_embedding_loss": {"margin": 0.5}, "binary_cross_entropy_with_logits": {},
}  # fmt: skip


@pytest.mark.parametrize("scale", [1, 100])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("target", [[0, 2, 1, 2], [-100, 2, -100, 0], [-100] * 4, [1, 1, 2, 0], [0, 3, 1, 2]])
def test_a_cross_entropy_without_a_graph_is_that_with_one(target, reduction, scale):
    x = (array(4, 3) * scale).astype("float32")

    def program(torch):
        logits, classes = torch.tensor(x), torch.tensor(target)
        run = torch.nn.functional.cross_entropy
        found = [run(logits, classes, reduction=reduction)]
        if -100 not in target:
            found += [run(logits, classes, ignore_index=2, reduction=reduction)]
        with torch.no_grad():
            found += [run(torch.tensor(x, requires_grad=True), classes, reduction=reduction)]
        with torch.inference_mode():
            found += [run(logits.double(), classes, reduction=reduction)]
        return found

    if 3 in target:
        same_error(program)
    else:
        same(program, grads=False, rtol=1e-6)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", POINTWISE)
def test_pointwise_losses(name, reduction):
    def program(torch, x, y):
        return getattr(torch.nn.functional, name)(x, y, reduction=reduction, **POINTWISE[name])

    same(program, MATRIX, Q)
    if reduction != "sum" and "logits" not in name:
        same(program, MATRIX, array(3, low=0.2, high=0.8), second=False)


LOSSES = {
    "mse, 0-dim": (lambda F, x, y: F.mse_loss(x, y), of(), of(seed=3)),
    "mse, nothing": (lambda F, x: F.mse_loss(x, x * 2), NOTHING),
    "mse, weight": (lambda F, x, y, w: F.mse_loss(x, y, weight=w), MATRIX, TARGET, Q),
    "mse, weight, none": (lambda F, x, y, w: F.mse_loss(x, y, weight=w, reduction="none"), MATRIX, TARGET, Q),
    "mse, old flags": (lambda F, x, y: F.mse_loss(x, y, size_average=False), MATRIX, TARGET),
    "mse, promoted": (lambda F, x, y: F.mse_loss(x.float(), y), MATRIX, TARGET),
    "mse, int target": (lambda F, x, y: F.mse_loss(x, y), MATRIX, np.array([[1, 2, 3], [4, 5, 6]])),
    "l1 at 0": (lambda F, x, y: F.l1_loss(x, y, reduction="none"), np.array([1.0, 2.0]), np.array([1.0, 1.0])),
    "mse, weight, whole numbers": (lambda F, x, y, w: F.mse_loss(x.byte(), y.byte(), weight=w), MATRIX, TARGET, Q),
    "l1, weight": (lambda F, x, y, w: F.l1_loss(x, y, weight=w), MATRIX, TARGET, Q),
    "smooth_l1 at beta": (
        lambda F, x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.5),
        np.array([0.0, 0.5, -0.5, 0.2, 3.0]), np.zeros(5),
    ),
    "smooth_l1, beta 0": (lambda F, x, y: F.smooth_l1_loss(x, y, beta=0.0), MATRIX, TARGET),
    "huber at delta": (
        lambda F, x, y: F.huber_loss(x, y, reduction="none", delta=0.5),
        np.array([0.0, 0.5, -0.5, 0.2, 3.0]), np.zeros(5),
    ),
    "huber, promoted": (lambda F, x, y: F.huber_loss(x.float(), y), MATRIX, TARGET),
    "huber, weight": (lambda F, x, y, w: F.huber_loss(x, y, weight=w), MATRIX, TARGET, Q),
    "bce": (lambda F, x, y: F.binary_cross_entropy(x, y), P, Q),
    "bce, weight": (lambda F, x, y: F.binary_cross_entropy(x, y, x.detach()[0] + 1, reduction="sum"), P, Q),
    "bce at the ends": (
        lambda F, x: F.binary_cross_entropy(x, x.detach()[[0, 2, 0, 2]], reduction="none"),
        np.array([0.0, 0.0, 1.0, 1.0]),
    ),
    "bce, target": (lambda F, x, y: F.binary_cross_entropy(x, y, reduction="none"), np.array([0.0, 0.3]), Q[0, :2]),
    "logits far out": (
        lambda F, x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
        np.array([1000.0, -1000.0, 0.0, 2.0]), np.array([0.0, 1.0, 0.0, 0.3]),
    ),
    "logits, weights": (
        lambda F, x, y: F.binary_cross_entropy_with_logits(x, y, y.detach()[1] + 1, pos_weight=y.detach()[0] + 1),
        MATRIX, Q,
    ),
    "logits, pos_weight far out": (
        lambda F, x, y: F.binary_cross_entropy_with_logits(x, y, pos_weight=y.detach() + 2, reduction="none"),
        np.array([1000.0, -1000.0, 0.0, 2.0]), np.array([0.0, 1.0, 0.0, 0.3]),
    ),
    "logits, dtype of target": (lambda F, x, y: F.binary_cross_entropy_with_logits(x, y.float()), MATRIX, Q),
    "kl, log target": (lambda F, x, y: F.kl_div(x, y, log_target=True), MATRIX, Q),
    "kl, batchmean": (lambda F, x, y: F.kl_div(x, y, reduction="batchmean"), MATRIX, Q),
    "poisson, full": (lambda F, x, y: F.poisson_nll_loss(x, y, full=True), MATRIX, np.abs(TARGET) * 3),
    "poisson, rate": (lambda F, x, y: F.poisson_nll_loss(x, y, log_input=False), P, Q),
    "gaussian": (lambda F, x, y, v: F.gaussian_nll_loss(x, y, v), MATRIX, TARGET, Q),
    "gaussian, full": (
        lambda F, x, y, v: F.gaussian_nll_loss(x, y, v, full=True, reduction="none"), MATRIX, TARGET, Q[:, :1]
    ),
    "gaussian, small variance": (lambda F, x, y, v: F.gaussian_nll_loss(x, y, v), MATRIX, TARGET, Q * 1e-9),
    "gaussian, number": (lambda F, x, y: F.gaussian_nll_loss(x, y, 0.5), MATRIX, TARGET),
    "ranking": (lambda F, x, y: F.margin_ranking_loss(x, y, (x > y) * 2.0 - 1, margin=0.3), MATRIX, TARGET),
    "ranking at 0": (lambda F, x: F.margin_ranking_loss(x, x.detach(), x.detach() * 0 + 1), of(1)),
    "hinge at the margin": (
        lambda F, x: F.hinge_embedding_loss(x, x.detach() * 0 - 1, reduction="none"), np.array([1.0, 0.5])
    ),
    "cosine_embedding": (
        lambda F, x, y, t: F.cosine_embedding_loss(x, y, t, margin=0.1), MATRIX, TARGET, np.array([1, -1])
    ),
    "triplet": (lambda F, x, y: F.triplet_margin_loss(x, y, x * y, margin=3.0), MATRIX, TARGET),
    "triplet, swap": (lambda F, x, y: F.triplet_margin_loss(x, y, x * y, margin=3.0, swap=True, p=1), MATRIX, TARGET),
    "triplet, distance": (
        lambda F, x, y: F.triplet_margin_with_distance_loss(
            x, y, x * y, distance_function=lambda a, b: (a - b).abs().sum(-1), margin=3.0
        ),
        MATRIX, TARGET,
    ),
    "soft_margin": (lambda F, x: F.soft_margin_loss(x, x.detach().sign()), MATRIX),
    "multilabel_soft_margin": (lambda F, x, y: F.multilabel_soft_margin_loss(x, y), MATRIX, Q),
    "cosine": (lambda F, x, y: F.cosine_similarity(x, y), MATRIX, TARGET),
    "cosine, broadcast": (lambda F, x, y: F.cosine_similarity(x, y, dim=-1), MATRIX, ROW),
    "cosine at 0": (lambda F, x, y: F.cosine_similarity(x, y, dim=0), np.zeros(2), np.ones(2)),
    "distance": (lambda F, x, y: F.pairwise_distance(x, y, keepdim=True), MATRIX, TARGET),
    "distance of equals": (lambda F, x: F.pairwise_distance(x, x.detach()), MATRIX),
    "distance, p": (lambda F, x, y: F.pairwise_distance(x, y, p=3.0), MATRIX, TARGET),
    "normalize": (lambda F, x: F.normalize(x), MATRIX),
    "normalize, p": (lambda F, x: F.normalize(x, p=1.0, dim=0), MATRIX),
    "normalize at 0": (lambda F, x: F.normalize(x, dim=0), np.zeros(2)),
}  # fmt: skip
UNNAMED = (
    "distance", "distance of equals", "distance, p",  # PyTorch calls the norm NormBackward1 there
    "logits, dtype of target",  # here a cast follows
    "probabilities", "probabilities of one",  # DivBackward1 there: the overload for numbers
    "multi_margin", "multi_margin, squared",  # one node there
)  # fmt: skip
FIRST_ONLY = (
    "bce at the ends", "cosine at 0", "distance of equals", "gaussian, small variance", "normalize at 0",
    "logits, dtype of target", "mse, promoted",
)  # fmt: skip
NEVER_BACKWARD = ("huber, promoted",)  # PyTorch can't


@case_of(LOSSES)
def test_losses(case):
    program, *inputs = LOSSES[case]
    same(
        lambda torch, *args: program(torch.nn.functional, *args), *inputs,
        names=case not in UNNAMED, grads=case not in NEVER_BACKWARD, second=case not in FIRST_ONLY,
        rtol=1e-6 if "promoted" in case else 1e-7,
    )  # fmt: skip


CLASS_LOSSES = {
    "plain": (MATRIX, CLASSES),
    "weight": (MATRIX, CLASSES, WEIGHT),
    "one": (ROW, np.array(1)),
    "plane": (of(2, 3, 2, 2), np.array([[[0, 1], [2, 2]], [[1, 1], [0, 2]]]), WEIGHT),
    "line": (of(2, 3, 2), np.array([[0, 1], [2, 2]])),
    "bytes": (MATRIX, np.array([2, 0], "uint8")),
    "nothing": (NOTHING, np.zeros(0, "int64")),
    "float32": (MATRIX.astype("float32"), CLASSES),
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
@case_of(CLASS_LOSSES)
def test_class_losses(case, reduction):
    x, target, *weight = CLASS_LOSSES[case]

    def program(torch, x, target, *weight):
        F, weight = torch.nn.functional, [one.detach() for one in weight]
        return F.nll_loss(x, target, *weight, reduction=reduction), F.cross_entropy(
            x, target, *weight, reduction=reduction
        )

    tolerance = {"rtol": 1e-5, "atol": 1e-6} if case == "float32" else {}
    names = (case, reduction) != ("line", "none")  # there PyTorch's result is a view of a plane's
    same(program, x, target, *weight, names=names, **tolerance)


def test_one_class_of_a_vector():
    """PyTorch computes this, but can't differentiate it."""
    same(lambda torch, x, t: torch.nn.functional.nll_loss(x, t), ROW, np.array([1]), grads=False)


CROSS_ENTROPIES = {
    "ignored": (lambda F, x, t, w: F.cross_entropy(x, t, w, ignore_index=2), MATRIX, CLASSES, WEIGHT),
    "all ignored": (lambda F, x, t, w: F.cross_entropy(x, t, ignore_index=1), MATRIX, np.array([1, 1]), WEIGHT),
    "ignored by default": (lambda F, x, t, w: F.nll_loss(x, t, reduction="none"), MATRIX, np.array([-100, 1]), WEIGHT),
    "smoothing": (lambda F, x, t, w: F.cross_entropy(x, t, label_smoothing=0.1), MATRIX, CLASSES, WEIGHT),
    "smoothing, ignored": (
        lambda F, x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1, ignore_index=0), MATRIX, CLASSES, WEIGHT
    ),
    "smoothing, none": (
        lambda F, x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1, reduction="none"), MATRIX, CLASSES, WEIGHT
    ),
    "smoothing, sum of a line": (
        lambda F, x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1, reduction="sum"),
        of(2, 3, 2), np.array([[0, 1], [2, 2]]), WEIGHT,
    ),
    "smoothing, mean of a line": (
        lambda F, x, t, w: F.cross_entropy(x, t, w, label_smoothing=0.1),
        of(2, 3, 2), np.array([[0, 1], [2, 2]]), WEIGHT,
    ),
    "probabilities": (lambda F, x, t, w: F.cross_entropy(x, t), MATRIX, Q, WEIGHT),
    "probabilities, weight": (lambda F, x, t, w: F.cross_entropy(x, t, w, reduction="sum"), MATRIX, Q, WEIGHT),
    "probabilities, smoothing": (
        lambda F, x, t, w: F.cross_entropy(x, t, w, reduction="none", label_smoothing=0.2), MATRIX, Q, WEIGHT
    ),
    "probabilities of one": (lambda F, x, t, w: F.cross_entropy(x, t), ROW, Q[0], WEIGHT),
    "-inf": (lambda F, x, t, w: F.cross_entropy(x, t), np.array([[0.0, -INF]]), np.array([0]), WEIGHT),
    "-inf at the target": (lambda F, x, t, w: F.cross_entropy(x, t), np.array([[0.0, -INF]]), np.array([1]), WEIGHT),
    "multi_margin": (lambda F, x, t, w: F.multi_margin_loss(x, t), MATRIX, CLASSES, WEIGHT),
    "multi_margin, squared": (
        lambda F, x, t, w: F.multi_margin_loss(x, t, p=2, margin=0.5, weight=w, reduction="none"),
        MATRIX, CLASSES, WEIGHT,
    ),
}  # fmt: skip


@case_of(CROSS_ENTROPIES)
def test_cross_entropy(case):
    program, x, target, weight = CROSS_ENTROPIES[case]
    second = "margin" not in case and "-inf" not in case and "all" not in case
    same(
        lambda torch, x, t: program(torch.nn.functional, x, t, torch.tensor(weight.tolist(), dtype=torch.float64)),
        x, target, second=second, names=case not in UNNAMED,
    )  # fmt: skip


LOSS_ERRORS = {
    "gaussian, int": (lambda F, x: F.gaussian_nll_loss(x, x, x), np.array([1, 2])),
    "gaussian, bool": (lambda F, x: F.gaussian_nll_loss(x, x, x * 1.0), np.array([True, False])),
    "gaussian, complex": (lambda F, x: F.gaussian_nll_loss(x, x, x * 1j), MATRIX),
    "reduction": (lambda F, x: F.mse_loss(x, x, reduction="x"), MATRIX),
    "mse, shapes": (lambda F, x, y: F.mse_loss(x, y), MATRIX, of(2)),
    "mse, int": (lambda F, x: F.mse_loss(x, x), np.array([1, 2])),
    "mse, weight": (lambda F, x, y, w: F.mse_loss(x, y, weight=w), MATRIX, TARGET, ROW),
    "l1, int": (lambda F, x: F.l1_loss(x, x), np.array([1, 2])),
    "smooth_l1, beta": (lambda F, x: F.smooth_l1_loss(x, x, beta=-1), MATRIX),
    "huber, delta": (lambda F, x: F.huber_loss(x, x, delta=0), MATRIX),
    "bce, shapes": (lambda F, x, y: F.binary_cross_entropy(x, y), P, ROW),
    "bce, dtypes": (lambda F, x, y: F.binary_cross_entropy(x, y), P, F32),
    "bce, range": (lambda F, x: F.binary_cross_entropy(x * 2, x), P + 0.5),
    "bce, nan": (lambda F, x: F.binary_cross_entropy(x * NAN, x), P),
    "bce, weight": (lambda F, x, y, w: F.binary_cross_entropy(x, y, w.detach()), P, Q, of(2)),
    "bce, weight grad": (lambda F, x, y, w: F.binary_cross_entropy(x, y, w), P, Q, WEIGHT),
    "logits, shapes": (lambda F, x, y: F.binary_cross_entropy_with_logits(x, y), P, ROW),
    "logits, weight grad": (lambda F, x, y, w: F.binary_cross_entropy_with_logits(x, y, w), P, Q, WEIGHT),
    "logits, int": (lambda F, x: F.binary_cross_entropy_with_logits(x, x), np.array([1, 0])),
    "logits, int target": (
        lambda F, x, y: F.binary_cross_entropy_with_logits(x.float(), y),
        P,
        np.ones((2, 3), "int64"),
    ),
    "kl, int": (lambda F, x: F.kl_div(x, x), np.array([1, 0])),
    "nll, float target": (lambda F, x, t: F.nll_loss(x, t[:, 0]), MATRIX, MATRIX),
    "nll, batch": (lambda F, x, t: F.nll_loss(x, t), MATRIX, np.array([0, 1, 2])),
    "nll, matrix of targets": (lambda F, x, t: F.nll_loss(x, t), MATRIX, np.array([[0], [1]])),
    "nll, out of range": (lambda F, x, t: F.nll_loss(x, t), MATRIX, np.array([0, 3])),
    "nll, negative": (lambda F, x, t: F.nll_loss(x, t), MATRIX, np.array([0, -1])),
    "nll, int32": (lambda F, x, t: F.nll_loss(x, t.int()), MATRIX, CLASSES),
    "nll, weight": (lambda F, x, t, w: F.nll_loss(x, t, w.detach()), MATRIX, CLASSES, of(2)),
    "nll, weight dtype": (lambda F, x, t, w: F.nll_loss(x, t, w.detach().float()), MATRIX, CLASSES, WEIGHT),
    "nll, weight grad": (lambda F, x, t, w: F.nll_loss(x, t, w), MATRIX, CLASSES, WEIGHT),
    "nll, plane": (lambda F, x, t: F.nll_loss(x, t), of(2, 3, 2, 2), np.zeros((2, 2), "int64")),
    "nll, plane sizes": (lambda F, x, t: F.nll_loss(x, t), of(2, 3, 2, 2), np.zeros((2, 2, 3), "int64")),
    "nll, line": (lambda F, x, t: F.nll_loss(x, t), of(2, 3, 2), np.zeros((2, 3), "int64")),
    "nll, 0-dim": (lambda F, x, t: F.nll_loss(x, t), of(), np.array(0)),
    "nll, int": (lambda F, x, t: F.nll_loss(x, t), np.ones((2, 3), "int64"), CLASSES),
    "ce, int probabilities": (lambda F, x, t: F.cross_entropy(x, t), MATRIX, np.ones((2, 3), "int64")),
    "ce, ignored probabilities": (lambda F, x: F.cross_entropy(x, x, ignore_index=1), MATRIX),
    "ce, smoothing": (lambda F, x, t: F.cross_entropy(x, t, label_smoothing=1.5), MATRIX, CLASSES),
    "ce, int": (lambda F, x, t: F.cross_entropy(x, t), np.ones((2, 3), "int64"), CLASSES),
    "ce, out of range": (lambda F, x, t: F.cross_entropy(x, t), MATRIX, np.array([0, 3])),
    "cosine, int": (lambda F, x: F.cosine_similarity(x, x), np.ones((2, 3), "int64")),
    "cosine, complex": (lambda F, x: F.cosine_similarity(x, x), np.ones((2, 3), "complex64")),
    "cosine, dim": (lambda F, x: F.cosine_similarity(x, x, dim=2), MATRIX),
    "normalize, int": (lambda F, x: F.normalize(x), np.ones((2, 3), "int64")),
    "soft_margin, target": (lambda F, x: F.soft_margin_loss(x, x), MATRIX),
}


@case_of(LOSS_ERRORS)
def test_loss_errors(case):
    program, *inputs = LOSS_ERRORS[case]
    same_error(lambda torch, *args: program(torch.nn.functional, *args), *inputs)


CORE = {
    "binary_cross_entropy_with_logits": (MATRIX, P, None, None),
    "cosine_embedding_loss": (MATRIX, TARGET, np.array([1, -1]), 0.1),
    "hinge_embedding_loss": (MATRIX, np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]), 0.5),
    "kl_div": (MATRIX, P),
    "margin_ranking_loss": (MATRIX, TARGET, np.array([[1], [-1]]), 0.1),
    "poisson_nll_loss": (MATRIX, P, True, False, 1e-8),
    "triplet_margin_loss": (MATRIX, TARGET, P, 1.0, 2.0, 1e-6, False),
}
"""Losses that are functions of ``torch`` too, and their arguments up to the reduction, which is a number there."""


@pytest.mark.parametrize("name", CORE)
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_losses_of_the_core(name, reduction):
    same(lambda torch, *given: getattr(torch, name)(*given, reduction), *CORE[name], second=reduction == 1)


def test_what_the_core_has_with_and_without_defaults():
    same(lambda torch, x, y: [torch.kl_div(x, y, 7, log_target=True), torch.hinge_embedding_loss(x, y)], MATRIX, TARGET)
    same(lambda torch, x, y: torch.binary_cross_entropy_with_logits(x, y, x.detach(), y.detach(), 1), MATRIX, P)
    same(lambda torch, x, y: [torch.triplet_margin_loss(x, y, -x), torch.margin_ranking_loss(x, y, x)], MATRIX, TARGET)
    same(lambda torch, x: [torch.alpha_dropout(x, 0.5, False), torch.feature_alpha_dropout(x, 0.0, True)], MATRIX)
    same(lambda torch, x, y, w, b: torch.bilinear(x, y, w, b), MATRIX, TARGET, of(2, 3, 3), of(2))
    same_error(lambda torch, x, y: torch.kl_div(x, y, "mean"), MATRIX, TARGET)


@pytest.mark.parametrize("margin", [{}, {"margin": 1}, {"reduction": "none"}])
def test_ranked_integers_have_a_loss_of_the_default_type(margin):
    x, y = np.array([1, 2]), np.array([3, 1])
    same(lambda torch, x, y: torch.nn.functional.margin_ranking_loss(x, y, x, **margin), x, y, grads=False)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("options", [{}, {"margin": 2.7, "reduction": "none"}, {"margin": 3, "reduction": "sum"}])
def test_hinges_of_whole_numbers_are_whole_numbers(dtype, options):
    def program(torch):
        x, target = torch.tensor([1, 0, 2]).to(getattr(torch, dtype)), torch.tensor([1, -1, 1])
        return [
            attempt(lambda of=of: torch.nn.functional.hinge_embedding_loss(x, of, **options))
            for of in (target, target.float())
        ]

    agree(program)


def test_nll_loss_looks_at_shapes_before_targets():
    def program(torch):
        nll_loss = torch.nn.functional.nll_loss
        shapes = [
            ((2, 1, 2, 1), (2,)), ((2, 1, 2), (2,)), ((2, 1), (2,)), ((2, 1, 2, 1), (2, 2, 1)), ((2, 1, 2), (2, 2)),
            ((1,), ()),
        ]  # fmt: skip
        return [
            attempt(lambda x=x, y=y, w=w: nll_loss(torch.ones(x), torch.ones(y, dtype=torch.long), w))
            for x, y in shapes for w in (None, torch.ones(3))
        ]  # fmt: skip

    agree(program)


@pytest.mark.parametrize("target", ["bool", "int64", "float32"])
@pytest.mark.parametrize("input", ["bool", "uint8", "int64", "float32"])
def test_losses_of_booleans_and_whole_numbers_are_refused_alike(input, target):
    def program(torch):
        F = torch.nn.functional
        x, y = (torch.tensor([1, 0]).to(getattr(torch, dtype)) for dtype in (input, target))
        losses = [
            F.l1_loss, F.poisson_nll_loss, lambda x, y: F.poisson_nll_loss(x, y, log_input=False), F.soft_margin_loss,
            F.multilabel_soft_margin_loss, lambda x, y: F.margin_ranking_loss(x, x, y),
        ]  # fmt: skip
        return [attempt(lambda loss=loss: loss(x, y)) for loss in losses]

    agree(program)


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("shape", [(), (1,), (2,), (0,)])
def test_one_example_without_a_batch(name, reduction, shape):
    def program(torch):
        target = torch.zeros(shape, dtype=torch.int64)
        return attempt(lambda: getattr(torch.nn.functional, name)(torch.ones(3), target, reduction=reduction))

    agree(program)


@pytest.mark.parametrize("name", ["nll_loss", "binary_cross_entropy_with_logits", "l1_loss", "smooth_l1_loss"])
@pytest.mark.parametrize("kinds", [("int64", "float32"), ("bool", "bool"), ("float32", "bool"), ("float32", "uint8")])
def test_kinds_that_do_not_go_together(name, kinds):
    def program(torch):
        x, target = (torch.ones(shape, dtype=getattr(torch, kind)) for kind, shape in zip(kinds, shapes, strict=True))
        settings = {"beta": 0.0} if name == "smooth_l1_loss" else {}
        return attempt(lambda: getattr(torch.nn.functional, name)(x, target, **settings))

    shapes = [(2, 3, 2, 2), (2, 2, 2) if name == "nll_loss" else (2, 3, 2, 2)]
    agree(program)


def test_shapes_are_compared_before_kinds():
    agree(lambda torch: attempt(lambda: torch.nn.functional.l1_loss(torch.ones(2, 2), torch.ones(3, 2).bool())))

"""The functions behind functions, as ``torch`` has them, beside PyTorch's."""

import pytest
from case_tables import uniform as of
from expressions import expression
from harness import agree, same, same_error

FEATURES, SCALE = of(2, 3, 2), of(3, low=0.5)

NATIVE = {
    "native_batch_norm": ("torch.native_batch_norm(x, y, z, None, None, True, 0.1, 1e-5)", FEATURES, SCALE, of(3)),
    "legit": ("torch._native_batch_norm_legit(x, y, z, True, 0.1, 1e-5)", FEATURES, SCALE, of(3)),
    "no training": (
        "torch._native_batch_norm_legit_no_training(x, y, None, z.detach(), z.detach(), 0.1, 1e-5)", FEATURES, SCALE,
        of(3, low=0.5),
    ),
    "native_layer_norm": ("torch.native_layer_norm(x, (3, 2), None, None, 1e-5)", FEATURES),
    "native_group_norm": ("torch.native_group_norm(x, y, z, 2, 3, 2, 3, 1e-5)", FEATURES, SCALE, of(3)),
    "batch_norm": ("torch.batch_norm(x, y, z, None, None, True, 0.1, 1e-5, False)", FEATURES, SCALE, of(3)),
    "instance_norm": ("torch.instance_norm(x, y, z, None, None, True, 0.1, 1e-5, False)", FEATURES, SCALE, of(3)),
    "constant_pad_nd": ("torch.constant_pad_nd(x, (1, -1, 0, 2), 5.0)", FEATURES),
    "_softmax_backward_data": ("torch._softmax_backward_data(x, y, 1, torch.float64)", of(2, 3), of(2, 3, seed=1)),
    "native_dropout_backward": ("torch.ops.aten.native_dropout_backward(x, x > 0, 2.0)", of(2, 3)),
    "index": ("torch.ops.aten.index(x, [None, L([0, 2])])", of(2, 3)),
    "bilinear, antialiased": ("torch.ops.aten._upsample_bilinear2d_aa(x, (2, 2), False)", of(1, 1, 4, 5)),
    "batch_norm of nothing": ("F.batch_norm(x[:0], None, None, y, z, training=True)", FEATURES, SCALE, of(3)),
    "dropout3d, not in training": ("F.dropout3d(x[None], 0.5, False)", FEATURES),
    "feature_alpha_dropout": ("F.feature_alpha_dropout(x[0, 0], 0.5, False)", FEATURES),
    "linear_cross_entropy": (
        "F.linear_cross_entropy(x, y, L([0, 4, 2]), linear_bias=z)", of(3, 4), of(5, 4, seed=1), of(5),
    ),
    "linear_cross_entropy, space": (
        "F.linear_cross_entropy(x, y, L([[0, 1], [1, 1]]), label_smoothing=0.1)", of(2, 4), of(3, 2, 4, seed=1)
    ),
    "cross_entropy of probabilities": ("F.cross_entropy(x, y.softmax(1))", of(2, 3), of(2, 3, seed=1)),
    "pairwise_distance": ("F.pairwise_distance(x, y)", of(2, 3), of(2, 3, seed=1)),
}  # fmt: skip


@pytest.mark.parametrize("case", NATIVE)
def test_native(case):
    text, *inputs = NATIVE[case]
    same(expression(text), *inputs)


def test_native_dropout_keeps_what_it_says():
    def program(torch):
        x = torch.ones(50, requires_grad=True)
        out, kept = torch.native_dropout(x, 0.5, True)
        out.sum().backward()
        same_mask = bool((out == kept * 2.0).all()) and bool((x.grad == out).all())
        return [same_mask, out.grad_fn.name(), *torch.native_dropout(x.detach(), 1.0, True)]

    agree(program)


@pytest.mark.parametrize("hard", [False, True])
def test_gumbel_softmax(hard):
    def program(torch):
        torch.manual_seed(0)
        x = torch.zeros(40, 3, requires_grad=True)
        y = torch.nn.functional.gumbel_softmax(x, hard=hard)
        (g,) = torch.autograd.grad(y[:, 0].sum(), x)
        ones = (y.detach() > 0.999).sum().item() == 40
        return [y.grad_fn.name(), (y.sum(1) - 1).abs().max().item() < 1e-5, ones == hard, bool((g[:, 0] >= 0).all())]

    agree(program)


NATIVE_ERRORS = [
    "torch.constant_pad_nd(x, (1, 2, 3))", "torch.constant_pad_nd(x, (1,) * 8)",
    "torch.native_layer_norm(x, (5,), None, None, 1e-5)",
    "torch.native_layer_norm(x, 2, None, None, 1e-5)", "torch.native_group_norm(x, None, None, 2, 3, 2, 2, 1e-5)",
    "torch.native_group_norm(x, None, None, 1, 3, 2, 3, 1e-5)", "F.linear_cross_entropy(x, x, L([0]))",
    "F.linear_cross_entropy(x[0], x[0, 0], L([0]))", "F.linear_cross_entropy(x[0], x[0][:, :1], L([0]))",
    "F.linear_cross_entropy(x[0], x[0], x[0, :, :3].detach() @ x[0].detach().T, ignore_index=1)",
]  # fmt: skip


@pytest.mark.parametrize("text", NATIVE_ERRORS)
def test_native_errors(text):
    same_error(expression(text), FEATURES)

"""Multi-head attention, fractional pooling and unpooling, segments, the functions behind functions: as in PyTorch."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, same, same_error
from test_grid_sampling import of

# -- multi-head attention ----------------------------------------------------------------------------------------------

QUERY, KEY, VALUE = of(3, 2, 4), of(5, 2, 4, seed=1), of(5, 2, 4, seed=2)
WEIGHTS = {"in_proj_weight": (12, 4), "in_proj_bias": (12,), "out_proj_weight": (4, 4), "out_proj_bias": (4,)}


def attention(**changed):
    """A program: attention with weights of its own; shapes and expressions may be changed."""

    def program(torch, query, key, value):
        def made(item, seed):
            if isinstance(item, tuple):
                return torch.tensor(of(*item, seed=seed).tolist(), dtype=torch.float64)
            return eval(item, {"torch": torch}) if isinstance(item, str) else item

        options = {**WEIGHTS, "bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0,
                   "embed_dim_to_check": 4, "num_heads": 2, **changed}  # fmt: skip
        options = {name: made(item, seed) for seed, (name, item) in enumerate(options.items())}
        return torch.nn.functional.multi_head_attention_forward(query, key, value, **options)

    return program


FUTURE = "torch.ones(3, 5, dtype=torch.bool).triu(2)"
PADDING = "torch.tensor([[False] * 5, [False] * 4 + [True]])"
BIASES = {"bias_k": (1, 1, 4), "bias_v": (1, 1, 4)}
ATTENTION = {
    "plain": {},
    "no weights": {"need_weights": False},
    "weights of each head": {"average_attn_weights": False},
    "mask": {"attn_mask": FUTURE},
    "mask that is added": {"attn_mask": f"{FUTURE}.double()", "need_weights": False},
    "padding": {"key_padding_mask": PADDING, "need_weights": False},
    "both masks": {"key_padding_mask": PADDING, "attn_mask": FUTURE},
    "mask of each head": {"attn_mask": f"{FUTURE}.repeat(4, 1, 1)", **BIASES},
    "biases": {**BIASES, "add_zero_attn": True, "key_padding_mask": PADDING},
    "separate": {"use_separate_proj_weight": True, "in_proj_weight": None,
                 **{f"{one}_proj_weight": (4, 4) for one in "qkv"}},
    "static": {"static_k": (4, 2, 2), "static_v": (4, 2, 2), "need_weights": False},
    "without biases": {"in_proj_bias": None, "out_proj_bias": None},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", ATTENTION)
def test_attention(case):
    same(attention(**ATTENTION[case]), QUERY, KEY, VALUE, second=False)


def test_attention_of_one_tensor():
    def program(torch, x, y):
        own = attention(need_weights=False)(torch, x, x, x)[0]
        return [own, *attention()(torch, x, y, y), *attention()(torch, x[:, 0], y[:, 0], y[:, 1])]

    same(program, QUERY, KEY, second=False)


ATTENTION_ERRORS = [
    {"embed_dim_to_check": 5}, {"num_heads": 3}, {"in_proj_weight": None}, {"use_separate_proj_weight": True},
    {"attn_mask": f"{FUTURE}[:2]"}, {"attn_mask": f"{FUTURE}[None]"}, {"attn_mask": f"{FUTURE}[None, None]"},
    {"attn_mask": f"{FUTURE}.int()"}, {"key_padding_mask": f"{PADDING}[0]"}, {"key_padding_mask": f"{PADDING}[:1]"},
    {"key_padding_mask": f"{PADDING}[:, :3]"}, {"is_causal": True}, {"bias_k": (1, 1, 4)}, {"static_k": (1, 5, 2)},
    {"static_k": (4, 5, 3)}, {**BIASES, "static_k": (4, 5, 2)},
    {"use_separate_proj_weight": True, "q_proj_weight": (4, 3), "k_proj_weight": (4, 4), "v_proj_weight": (4, 4)},
]  # fmt: skip


@pytest.mark.parametrize("changed", ATTENTION_ERRORS, ids=str)
def test_attention_errors(changed):
    same_error(attention(**changed), QUERY, KEY, VALUE)


ODD_SHAPES = [((4,), (5, 2, 4), (5, 2, 4)), ((3, 2, 4), (5, 4), (5, 2, 4)), ((3, 4), (5, 2, 4), (5, 4)),
              ((3, 2, 4), (5, 2, 4), (4, 2, 4))]  # fmt: skip


@pytest.mark.parametrize("shapes", ODD_SHAPES, ids=str)
def test_attention_shape_errors(shapes):
    same_error(attention(), *[of(*shape) for shape in shapes])


# -- pooling -----------------------------------------------------------------------------------------------------------

PLANES, VOLUMES = of(2, 2, 6, 7), of(1, 2, 5, 6, 4)
STARTS = of(2, 2, 2, low=0.0, high=1.0)
STARTS3 = of(1, 2, 3, low=0.0, high=1.0)
POOLS = {
    "plane": ("F.fractional_max_pool2d(x, 2, 3, return_indices=True, _random_samples=y.detach())", PLANES, STARTS),
    "ratio": ("F.fractional_max_pool2d(x[0], (2, 3), None, (0.5, 0.7), False, y[:1].detach())", PLANES, STARTS),
    "one": ("F.fractional_max_pool2d(x, 2, 1, _random_samples=y.detach())", PLANES, STARTS),
    "volume": ("F.fractional_max_pool3d(x, (2, 3, 1), (2, 3, 3), None, True, y.detach())", VOLUMES, STARTS3),
    "unpool": ("F.max_unpool2d(x, L([[[[0, 5], [5, 10]]]]), 2).sum()", of(1, 1, 2, 2)),
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
    same(expression(text), *inputs, grads=case != "unpool")


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


# -- segments ----------------------------------------------------------------------------------------------------------

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


# -- the functions behind functions ------------------------------------------------------------------------------------

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

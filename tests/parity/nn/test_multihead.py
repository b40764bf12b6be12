"""Multi-head attention beside PyTorch's."""

import pytest
from case_tables import uniform as of
from harness import same, same_error

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

"""Attention, of one head and of several, beside PyTorch's."""

import numpy as np
import pytest
from case_tables import case_of, of
from harness import agree, attempt, same, same_error
from torch.nn.attention import SDPBackend, sdpa_kernel

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

QUERIES, KEYS, VALUES = of(1, 2, 3, 2), of(1, 2, 4, 2, seed=1), of(1, 2, 4, 2, seed=2)
SOME = np.array([[True, True, False, True], [False] * 4, [True, False, False, True]])

ATTENTION = {
    "plain": ({}, QUERIES, KEYS, VALUES),
    "causal": ({"is_causal": True}, QUERIES, KEYS, VALUES),
    "scale": ({"scale": 0.3}, QUERIES, KEYS, VALUES),
    "mask": ({}, QUERIES, KEYS, VALUES, SOME),
    "added mask": ({}, QUERIES, KEYS, VALUES, of(3, 4)),
    "no batch": ({}, QUERIES[0, 0], KEYS[0, 0], VALUES[0, 0]),
    "one batch": ({}, QUERIES[0], KEYS[0], of(2, 4, 3)),
    "grouped": ({"enable_gqa": True}, of(1, 4, 3, 2), KEYS, VALUES),
}


@case_of(ATTENTION)
def test_attention(case):
    settings, q, k, v, *mask = ATTENTION[case]

    def program(torch, q, k, v, *mask):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, *mask, **settings)

    fused = case in ("plain", "causal", "scale", "mask", "grouped")
    same(program, q, k, v, *mask, names=case != "no batch", second=not fused)
    if fused:  # PyTorch has no second derivative of its fused kernel, but of the formula
        with sdpa_kernel(SDPBackend.MATH):
            same(program, q, k, v, *mask, names=False)


@pytest.mark.parametrize("settings", [{"is_causal": True}, {"scale": 0.3}], ids=str)
def test_attention_beyond_reverse_mode(settings):
    """Forward mode, forward over reverse, second derivatives inside ``vmap``; PyTorch by the formula."""

    def program(torch):
        q, k, v = (torch.tensor(x) for x in (QUERIES, KEYS, VALUES))

        def loss(q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, **settings).pow(2).sum()

        def penalty(q, k, v):
            return sum(part.pow(2).sum() for part in torch.func.grad(loss, argnums=(0, 1, 2))(q, k, v))

        three = (0, 1, 2)
        batched = [torch.stack([x, 2 * x]) for x in (q, k, v)]
        return (
            torch.func.jvp(loss, (q, k, v), (k[:, :, :3], q[:, :, [0, 1, 2, 0]], v)),
            torch.func.jvp(torch.func.grad(loss, argnums=three), (q, k, v), (q, k, v)),
            torch.func.vmap(torch.func.grad(penalty, argnums=three))(*batched),
        )

    with sdpa_kernel(SDPBackend.MATH):
        agree(program, rtol=1e-9)


def test_attention_of_several_heads_twice():
    """The second derivatives of ``multi_head_attention_forward``, by which a gradient penalty goes through layers."""

    def program(torch, x, weight, bias, out_weight):
        return torch.nn.functional.multi_head_attention_forward(
            x, x, x, 4, 2, weight, bias, None, None, False, 0.0, out_weight, None, need_weights=False, is_causal=True,
            attn_mask=torch.ones(3, 3).tril() == 0,
        )[0]  # fmt: skip

    with sdpa_kernel(SDPBackend.MATH):
        same(program, of(3, 2, 4), of(12, 4, seed=1), of(12, seed=2), of(4, 4, seed=3), names=False)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_attention_dtypes(dtype):
    def program(torch, q, k, v):
        q, k, v = (one.to(getattr(torch, dtype)) for one in (q, k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    same(program, QUERIES, KEYS, VALUES, second=False, rtol=3e-2, atol=1e-2)


def sdpa(torch, *args, **settings):
    return torch.nn.functional.scaled_dot_product_attention(*args, **settings)


ATTENTION_ERRORS = {
    "dtypes": lambda torch, q, k, v: sdpa(torch, q, k.float(), v),
    "mask dtype": lambda torch, q, k, v: sdpa(torch, q, k, v, torch.ones(3, 4).long()),
    "mask half": lambda torch, q, k, v: sdpa(torch, q, k, v, torch.ones(3, 4).half()),
    "mask shape": lambda torch, q, k, v: sdpa(torch, q, k, v, torch.ones(3, 3).double()),
    "vectors": lambda torch, q, k, v: sdpa(torch, q[0, 0, 0], k[0, 0, 0], v[0, 0, 0]),
    "heads": lambda torch, q, k, v: sdpa(torch, torch.cat([q, q], 1), k, v),
    "groups": lambda torch, q, k, v: sdpa(torch, torch.cat([q, q[:, :1]], 1), k, v, enable_gqa=True),
    "dropout": lambda torch, q, k, v: sdpa(torch, q, k, v, dropout_p=1.5),
    "width": lambda torch, q, k, v: sdpa(torch, q, k[..., :1], v),
    "mask and causal": lambda torch, q, k, v: sdpa(torch, q[0], k[0], v[0], torch.ones(3, 4).double(), is_causal=True),
}


@case_of(ATTENTION_ERRORS)
def test_attention_errors(case):
    same_error(ATTENTION_ERRORS[case], QUERIES, KEYS, VALUES)


@pytest.mark.parametrize("dtype", ["int64", "bool", "complex64"])
@pytest.mark.parametrize("shapes", [[(0, 2, 3)] * 3, [(2, 3), (0, 3), (0, 3)], [(1, 2, 0)] * 3, [(2, 3)] * 3])
def test_of_nothing_no_dtype_is_refused(shapes, dtype):
    def program(torch):
        given = [torch.ones(shape, dtype=getattr(torch, dtype)) for shape in shapes]
        return attempt(lambda: torch.nn.functional.scaled_dot_product_attention(*given))

    agree(program)


@pytest.mark.parametrize("layout", ["row-major", "heads inside", "expanded"])
@pytest.mark.parametrize("requires_grad", [True, False])
def test_the_result_lies_as_the_query(layout, requires_grad):
    def program(torch):
        x = torch.arange(48.0).view(2, 3, 2, 4).sin().requires_grad_(requires_grad)
        rows = torch.ones(2, 2, 3, 4)
        inside = x.transpose(1, 2)
        query = {"row-major": rows, "heads inside": inside, "expanded": inside[:1].expand(2, 2, 3, 4)}
        attend = torch.nn.functional.scaled_dot_product_attention
        given = (query[layout], rows, rows), (rows, query[layout], query[layout])
        return [(y.stride(), y.is_contiguous(), (y * 2).stride(), y) for y in (attend(*each) for each in given)]

    agree(program, atol=1e-7)  # sums of numbers near 1 in float32, of which one is near 0


NAN, INF = float("nan"), float("inf")
HIDING = {
    "booleans": [[True, True, True, True, False]] * 3, "floats": [[0.0, 0.0, 0.0, 0.0, -INF]] * 3,
    "rows": [[True] * 4 + [False], [False] * 5, [True] * 2 + [False] * 3],
    "rows of floats": [[0.0] * 4 + [-INF], [-INF] * 5, [0.0] * 2 + [-INF] * 3],
    "causal": None, "nothing": None,
}  # fmt: skip


@pytest.mark.parametrize("kernel", ["FLASH_ATTENTION", "MATH"])
@pytest.mark.parametrize("hidden", HIDING)
@pytest.mark.parametrize(("what", "number"), [("key", NAN), ("key", INF), ("value", NAN), ("value", INF)])
def test_what_is_hidden_is_multiplied_all_the_same(what, number, hidden, kernel):
    rng = np.random.default_rng(0)
    shapes = {"query": (1, 2, 3, 4), "key": (1, 2, 5, 4), "value": (1, 2, 5, 4)}
    arrays = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    arrays[what][:, :, 4] = number

    def program(torch):
        given = [torch.tensor(array.tolist(), requires_grad=True) for array in arrays.values()]
        mask = None if HIDING[hidden] is None else torch.tensor(HIDING[hidden])
        with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, kernel)):
            y = torch.nn.functional.scaled_dot_product_attention(*given, mask, is_causal=hidden == "causal")
        return y.isnan().tolist(), [g.isnan().tolist() for g in torch.autograd.grad(y.sum(), given)]

    agree(program)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("hidden", ["key_padding_mask", "attn_mask"])
def test_nan_in_padding(hidden, weights):
    def program(torch):
        torch.manual_seed(0)
        layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)
        x = torch.ones(2, 3, 4)
        x[:, 2] = NAN
        mask = torch.tensor([[False, False, True]] * (2 if hidden == "key_padding_mask" else 3))
        y, shares = layer(x[:, :2] if hidden != "attn_mask" else x, x, x, need_weights=weights, **{hidden: mask})
        return y.isnan().tolist(), None if shares is None else shares.isnan().tolist()

    agree(program)

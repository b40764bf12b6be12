"""``torch.nn.attention``: causal masks by kind, masks by blocks, and scores that a function modifies."""

import importlib

import numpy as np
import pytest
import torch
from harness import attempt
from transcripts import MODULES

import tapegrad
from tapegrad import func, nn
from tapegrad.nn.attention import bias, flex_attention

pytestmark = [pytest.mark.parity, pytest.mark.once("composed of what runs in all ways")]

DATA = np.random.default_rng(0)
QUERY, KEY, VALUE = (DATA.normal(size=(2, 4, 5, 6)), DATA.normal(size=(2, 4, 7, 6)), DATA.normal(size=(2, 4, 7, 3)))
FEW = (DATA.normal(size=(2, 2, 7, 6)), DATA.normal(size=(2, 2, 7, 3)))
TABLE = DATA.normal(size=(4, 5, 7))


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    importlib.import_module("torch.nn.attention.bias")  # with Dynamo, which takes long
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    monkeypatch.setattr(flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


# Causal masks ---------------------------------------------------------------------------------------------------------

BIASES = {
    "left": lambda b: b.causal_upper_left(5, 7),
    "right": lambda b: b.causal_lower_right(5, 7),
    "square": lambda b: b.causal_lower_right(7, 7),
}


@pytest.mark.parametrize("which", BIASES)
def test_causal_masks(which):
    shown = []
    for module in MODULES:
        mask = BIASES[which](module.nn.attention.bias)
        tensors = [module.tensor(one, requires_grad=True) for one in (QUERY[:, :, : mask.seq_len_q], KEY, VALUE)]
        if which == "square":
            tensors[0] = module.tensor(KEY, requires_grad=True)
        out = module.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask)
        out.sin().sum().backward()
        shown.append([repr(mask), mask.variant, *(one.detach().numpy() for one in (out, *(x.grad for x in tensors)))])
    assert shown[1][:2] == shown[0][:2]
    for ours, theirs in zip(shown[1][2:], shown[0][2:], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_causal_masks_refuse():
    calls = [
        lambda m: m.nn.attention.bias.causal_upper_left(3),
        lambda m: m.nn.attention.bias.causal_lower_right(3, 4, 5),
        lambda m: m.nn.attention.bias.CausalBias(1, 2, 3),
        lambda m: m.nn.functional.scaled_dot_product_attention(
            *[m.ones(1, 1, 2, 2)] * 3, attn_mask=m.nn.attention.bias.causal_upper_left(2, 2), is_causal=True
        ),
    ]
    for call in calls:
        theirs, ours = (attempt(lambda call=call, module=module: call(module)) for module in MODULES)
        assert ours == theirs
    with pytest.warns(UserWarning, match="will produce NaNs"):
        bias.causal_lower_right(3, 2)


# Scores that are modified ---------------------------------------------------------------------------------------------


def modifications(module):
    """Functions of scores, by what they do."""
    table = module.tensor(TABLE)
    return {
        "none": None,
        "relative": lambda score, b, h, q, k: score + (q - k),
        "alibi": lambda score, b, h, q, k: score * module.exp2(-(h + 1.0)) + b,
        "table": lambda score, b, h, q, k: score + table[h, q, k],
        "capped": lambda score, b, h, q, k: 2 * module.tanh(score / 2),
        "causal": lambda score, b, h, q, k: module.where(q >= k, score, -float("inf")),
    }


def masks(module):
    """Functions of indices, by what they say."""
    documents = module.tensor([0, 0, 1, 1, 1, 2, 2])
    return {
        "causal": lambda b, h, q, k: q >= k,
        "window": lambda b, h, q, k: (q - k).abs() <= 1 + h,
        "documents": lambda b, h, q, k: documents[q] == documents[k],
        "nothing for some": lambda b, h, q, k: (q > 1) & (k < 3),
        "joined": module.nn.attention.flex_attention.or_masks(
            module.nn.attention.flex_attention.and_masks(
                lambda b, h, q, k: q >= k, module.nn.attention.flex_attention.noop_mask
            ),
            lambda b, h, q, k: k < 2,
        ),
    }


def flexed(module, score="none", mask=None, **settings):
    """Attention by a module: the result and the logarithms of sums."""
    flex = module.nn.attention.flex_attention
    others = FEW if settings.get("enable_gqa") else (KEY, VALUE)
    tensors = [module.tensor(one) for one in (QUERY, *others)]
    block = None
    if mask is not None:
        block = flex.create_block_mask(masks(module)[mask], 2, 4, 5, 7, device="cpu", BLOCK_SIZE=2)
    out, aux = flex.flex_attention(
        *tensors, modifications(module)[score], block, return_aux=flex.AuxRequest(lse=True), **settings
    )
    return [out.numpy(), aux.lse.numpy()]


CASES = [{"score": score} for score in modifications(tapegrad)] + [{"mask": mask} for mask in masks(tapegrad)]
CASES += [{"score": "relative", "mask": "causal", "enable_gqa": True, "scale": 0.3}]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case.values())))
def test_flex_attention(case):
    for ours, theirs in zip(flexed(tapegrad, **case), flexed(torch, **case), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_half_precision_is_computed_in_float32():
    out = [
        module.nn.attention.flex_attention.flex_attention(*(
            module.tensor(one).to(module.bfloat16) for one in (QUERY, KEY, VALUE)
        )) for module in MODULES
    ]  # fmt: skip
    assert str(out[1].dtype) == str(out[0].dtype)
    np.testing.assert_allclose(out[1].float().numpy(), out[0].float().numpy(), rtol=1e-2)


def test_it_has_derivatives():
    """Of the tensors, and of what the function has from outside."""
    table = tapegrad.tensor(TABLE, requires_grad=True)
    block = flex_attention.create_block_mask(lambda b, h, q, k: q >= k, None, None, 5, 7)

    def attended(query, key, value, table):
        add = lambda score, b, h, q, k: score + table[h, q, k]
        return flex_attention.flex_attention(query, key, value, add, block)

    tensors = [tapegrad.tensor(one, requires_grad=True) for one in (QUERY, KEY, VALUE)]
    seen = tapegrad.ones(5, 7, dtype=tapegrad.bool).tril()
    plain = nn.functional.scaled_dot_product_attention(*tensors, table.masked_fill(~seen, -float("inf")))
    wanted = tapegrad.autograd.grad(plain.sin().sum(), [*tensors, table])
    got = tapegrad.autograd.grad(attended(*tensors, table).sin().sum(), [*tensors, table], create_graph=True)
    for ours, theirs in zip(got, wanted, strict=True):
        assert tapegrad.allclose(ours, theirs)
    assert all(one.isfinite().all() for one in tapegrad.autograd.grad(sum(one.sum() for one in got), tensors))


def test_a_query_that_sees_nothing_has_no_gradient():
    block = flex_attention.create_block_mask(lambda b, h, q, k: q > 2, None, None, 5, 7)
    query = tapegrad.tensor(QUERY, requires_grad=True)
    out, aux = flex_attention.flex_attention(
        query, tapegrad.tensor(KEY), tapegrad.tensor(VALUE), None, block,
        return_aux=flex_attention.AuxRequest(lse=True, max_scores=True),
    )  # fmt: skip
    (out.sum() + aux.lse[:, :, 3:].sum()).backward()
    assert (out[:, :, :3] == 0).all() and (query.grad[:, :, :3] == 0).all() and query.grad.isfinite().all()
    assert (aux.lse[:, :, :3] == -float("inf")).all() and aux.max_scores.shape == (2, 4, 5)


# Masks by blocks ------------------------------------------------------------------------------------------------------


def looks(module):
    """What masks by blocks show."""
    flex = module.nn.attention.flex_attention
    causal, half = (lambda b, h, q, k: q >= k), (lambda b, h, q, k: (q + b * 3) // 2 >= k - h)
    first = flex.create_block_mask(causal, None, None, 300, 260, device="cpu")
    second = flex.create_block_mask(half, 2, 3, 10, 12, device="cpu", BLOCK_SIZE=(2, 3))
    third = flex.create_block_mask(causal, None, 1, 9, 9, device="cpu", BLOCK_SIZE=2, separate_full_blocks=False)
    by_hand = flex.BlockMask.from_kv_blocks(
        module.tensor([[[1, 2]]], dtype=module.int32), module.tensor([[[[0, 1], [0, 1]]]], dtype=module.int32),
        BLOCK_SIZE=4, compute_q_blocks=False,
    )  # fmt: skip
    several = [first, second, third, second[1], second[-1, 2], second[:, :, 1:3], first._adjust(200, 130),
               second._adjust(5, 7), by_hand, second.to("cpu")]  # fmt: skip
    counts = [[one.kv_num_blocks.tolist(), one.to_dense().tolist(), one.numel(), one.sparsity(), one.shape,
               one.q_num_blocks is not None and one.q_num_blocks.tolist(), len(one.as_tuple())]
              for one in several]  # fmt: skip
    texts = [text for one in (first, second, third) for text in (str(one), one.to_string((3, 2), limit=2))]
    texts += [repr(second).replace("torch.Size", ""), repr(third).replace("torch.Size", "")]
    elements = [flex.create_mask(half, 2, 3, 4, 5, device="cpu").tolist(),
                flex.create_mask(modifications(module)["causal"], 1, 1, 4, 5, device="cpu").tolist()]  # fmt: skip
    return [counts, texts, elements]


def test_masks_by_blocks():
    theirs, ours = map(looks, MODULES)
    assert ours == theirs


def small(module, *shapes):
    return [module.ones(shape) for shape in shapes or [(1, 1, 4, 2)] * 3]


def causal(module, q=4, k=4, batch=None):
    mask = lambda b, h, q, k: q >= k
    return module.nn.attention.flex_attention.create_block_mask(mask, batch, None, q, k, device="cpu", BLOCK_SIZE=2)


REFUSED = [
    lambda m, f: f.flex_attention(*small(m, (1, 1, 4, 2), (1, 1, 4, 3), (1, 1, 4, 3))),
    lambda m, f: f.flex_attention(*small(m, (1, 4, 2), (1, 4, 2), (1, 4, 2))),
    lambda m, f: f.flex_attention(*small(m, (2,), (1, 4, 2), (1, 4, 2))),
    lambda m, f: f.flex_attention(*small(m, (1, 4, 4, 2), (1, 2, 4, 2), (1, 2, 4, 2))),
    lambda m, f: f.flex_attention(*small(m, (1, 4, 4, 2), (1, 3, 4, 2), (1, 3, 4, 2)), enable_gqa=True),
    lambda m, f: f.flex_attention(*small(m, (2, 1, 4, 2), (1, 1, 4, 2), (1, 1, 4, 2))),
    lambda m, f: f.flex_attention(*small(m, (2, 1, 4, 2), (1, 1, 4, 2), (1, 1, 4, 2)), None, causal(m)),
    lambda m, f: f.flex_attention(*small(m), None, causal(m, 2, 4)),
    lambda m, f: f.flex_attention(*small(m), None, causal(m, 6, 4)),
    lambda m, f: f.flex_attention(*small(m), None, causal(m)[0]),
    lambda m, f: f.flex_attention(*small(m), return_lse=True, return_aux=f.AuxRequest()),
    lambda m, f: f.create_block_mask(lambda s, b, h, q, k: s, 1, 1, 2, 2).never,
    lambda m, f: f.create_block_mask(lambda b: b, 1, 1, 2, 2),
    lambda m, f: f.and_masks(3),
    lambda m, f: f.or_masks(None),
    lambda m, f: f.BlockMask.from_kv_blocks(m.ones(1), m.ones(1)),
    lambda m, f: f.BlockMask.from_kv_blocks(m.ones(1, 1, 1), m.ones(1, 1, 1, 1), m.ones(1)),
]


@pytest.mark.parametrize("call", REFUSED)
def test_refusals(call):
    theirs, ours = (
        attempt(lambda module=module: call(module, module.nn.attention.flex_attention)) for module in MODULES
    )
    assert ours[0] == theirs[0] == "raised" and ours[1] == theirs[1]
    assert (
        ours[2].partition(" at 0x")[0].partition("<function")[0]
        == (theirs[2].partition(" at 0x")[0].partition("<function")[0])
    )


def test_under_transforms():
    """A batch of queries, mapped over."""
    several = tapegrad.tensor(DATA.normal(size=(3, 1, 2, 4, 2)))
    one = lambda x: flex_attention.flex_attention(x, x, x, lambda score, b, h, q, k: score - (q - k))
    together = func.vmap(one)(several)
    assert tapegrad.allclose(together, tapegrad.stack([one(x) for x in several]))

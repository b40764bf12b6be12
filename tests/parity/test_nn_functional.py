"""Normalization, embedding, attention and dropout beside PyTorch's."""

import numpy as np
import pytest
from harness import agree, attempt, same, same_error
from samples import array
from torch.nn.attention import SDPBackend, sdpa_kernel

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

MATRIX = array(2, 3)
ROW = array(3)
NOTHING = array(0, 3)
F32 = np.ones((2, 3), "float32")


def of(*shape, seed=0, dtype="float64"):
    return array(*shape, seed=seed, dtype=dtype)


def case_of(table):
    """Parametrize a test over a table of (program, *inputs)."""
    return pytest.mark.parametrize("case", table)


# -- normalization -----------------------------------------------------------------------------------------------------

FEATURES = of(2, 4, 3)
CHANNELS = array(4, low=0.5, high=2.0)
SHIFT = of(4, seed=3)
LAST = array(3, low=0.5, high=2.0)

NORMALIZATIONS = {
    "layer": (lambda F, x, w, b: F.layer_norm(x, (3,), w, b), FEATURES, LAST, ROW),
    "layer, two dimensions": (lambda F, x, w: F.layer_norm(x, [4, 3], w, eps=1e-3), FEATURES, of(4, 3)),
    "layer, plain": (lambda F, x: F.layer_norm(x, (3,)), FEATURES),
    "layer, bias only": (lambda F, x, b: F.layer_norm(x, (3,), None, b), FEATURES, ROW),
    "layer, constant": (lambda F, x: F.layer_norm(x, (2,)), np.ones((1, 2))),
    "layer, nothing": (lambda F, x: F.layer_norm(x, (3,)), NOTHING),
    "group": (lambda F, x, w, b: F.group_norm(x, 2, w, b), FEATURES, CHANNELS, SHIFT),
    "group, plain": (lambda F, x: F.group_norm(x, 4), of(2, 4, 2, 2)),
    "group, matrix": (lambda F, x, w: F.group_norm(x, 1, w), of(2, 4), CHANNELS),
    "batch": (lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True), FEATURES, CHANNELS, SHIFT),
    "batch, plain": (lambda F, x: F.batch_norm(x, None, None, training=True), of(2, 3)),
    "batch, plane": (lambda F, x, w: F.batch_norm(x, None, None, w, training=True), of(2, 4, 2, 2), CHANNELS),
    "batch, inference": (
        lambda F, x, w, b: F.batch_norm(x, b.detach() * 2, w.detach() + 1, w, b),
        FEATURES,
        CHANNELS,
        SHIFT,
    ),
    "batch, inference, plain": (lambda F, x, w: F.batch_norm(x, w.detach(), w.detach()), FEATURES, CHANNELS),
    "instance": (lambda F, x, w, b: F.instance_norm(x, None, None, w, b), FEATURES, CHANNELS, SHIFT),
    "instance, running": (
        lambda F, x, w: F.instance_norm(x, w.detach(), w.detach(), w, use_input_stats=False),
        FEATURES,
        CHANNELS,
    ),
    "rms": (lambda F, x, w: F.rms_norm(x, (3,), w), FEATURES, LAST),
    "rms, plain": (lambda F, x: F.rms_norm(x, (4, 3), eps=1e-3), FEATURES),
    "local response": (lambda F, x: F.local_response_norm(x, 2), FEATURES),
    "local response, all": (lambda F, x: F.local_response_norm(x, 3, alpha=0.5, beta=0.6, k=2.0), of(1, 4, 2, 2)),
}


@case_of(NORMALIZATIONS)
def test_normalizations(case):
    program, *inputs = NORMALIZATIONS[case]
    second = case != "layer, bias only"  # PyTorch's double backward fails there
    same(lambda torch, *args: program(torch.nn.functional, *args), *inputs, second=second)


def test_running_statistics():
    def program(torch):
        F, x = torch.nn.functional, torch.arange(24.0).view(2, 4, 3) ** 1.5
        mean, var, other_mean, other_var = torch.zeros(4), torch.ones(4), torch.zeros(4), torch.ones(4)
        for _ in range(2):
            F.batch_norm(x, mean, var, training=True, momentum=0.3)
            F.instance_norm(x, other_mean, other_var)
        small, spread = torch.zeros(1), torch.ones(1)
        F.batch_norm(torch.tensor([[1.0], [3.0]]), small, spread, training=True)
        return mean, var, other_mean, other_var, small, spread, mean._version

    same(program, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_normalization_dtypes(dtype):
    def program(torch, x, w, b):
        F, x = torch.nn.functional, x.to(getattr(torch, dtype))
        w, b = w.float(), b.float()
        return F.batch_norm(x, None, None, w, b, True), F.group_norm(x, 2, w, b), F.layer_norm(x.mT, (4,), w, b)

    same(program, FEATURES, CHANNELS, SHIFT, second=False, rtol=2e-2, atol=1e-2)


NORMALIZATION_ERRORS = {
    "batch of one": (lambda F, x: F.batch_norm(x, None, None, training=True), of(1, 3)),
    "batch, statistics": (lambda F, x: F.batch_norm(x, None, None), MATRIX),
    "batch, variance": (lambda F, x: F.batch_norm(x, x.detach()[0], None), MATRIX),
    "batch, one statistic": (lambda F, x: F.batch_norm(x, x.detach()[0], None, training=True), MATRIX),
    "batch, weight": (lambda F, x, w: F.batch_norm(x, None, None, w, training=True), MATRIX, of(2)),
    "batch, bias": (lambda F, x, w: F.batch_norm(x, None, None, None, w, training=True), MATRIX, of(2)),
    "batch, mean": (lambda F, x, w: F.batch_norm(x, w.detach(), w.detach()), MATRIX, of(2)),
    "batch, int": (lambda F, x: F.batch_norm(x, None, None, training=True), np.ones((2, 3), "int64")),
    "batch, dtypes": (lambda F, x, w: F.batch_norm(x, None, None, w, training=True), F32, ROW),
    "batch, narrow weight": (lambda F, x, w: F.batch_norm(x, None, None, w.float(), training=True), MATRIX, ROW),
    "batch, eps": (lambda F, x, w: F.batch_norm(x, w.detach(), w.detach(), eps=-1.0), MATRIX, ROW),
    "batch, momentum": (lambda F, x: F.batch_norm(x, None, None, training=True, momentum=None), MATRIX),
    "layer, shape": (lambda F, x: F.layer_norm(x, (2,)), MATRIX),
    "layer, long shape": (lambda F, x: F.layer_norm(x, (2, 3)), ROW),
    "layer, weight": (lambda F, x, w: F.layer_norm(x, (3,), w), MATRIX, of(2)),
    "layer, bias": (lambda F, x, w: F.layer_norm(x, (3,), None, w), MATRIX, of(2)),
    "layer, int": (lambda F, x: F.layer_norm(x, (3,)), np.ones((2, 3), "int64")),
    "layer, dtypes": (lambda F, x, w: F.layer_norm(x, (3,), w), F32, ROW),
    "layer, no shape": (lambda F, x: F.layer_norm(x, ()), MATRIX),
    "layer, int shape": (lambda F, x: F.layer_norm(x, 3), MATRIX),
    "group, channels": (lambda F, x: F.group_norm(x, 2), MATRIX),
    "group, weight": (lambda F, x, w: F.group_norm(x, 2, w), of(2, 4), of(2)),
    "group, dimensions": (lambda F, x: F.group_norm(x, 2), of(4)),
    "group, one value": (lambda F, x: F.group_norm(x, 2), of(1, 2)),
    "group, int": (lambda F, x: F.group_norm(x, 2), np.ones((2, 4), "int64")),
    "group, 0": (lambda F, x: F.group_norm(x, 0), of(2, 4)),
    "group, negative": (lambda F, x: F.group_norm(x, -1), of(2, 4)),
    "instance, no space": (lambda F, x: F.instance_norm(x), MATRIX),
    "instance, one element": (lambda F, x: F.instance_norm(x), of(2, 3, 1)),
    "instance, statistics": (lambda F, x: F.instance_norm(x, use_input_stats=False), FEATURES),
    "rms, shape": (lambda F, x: F.rms_norm(x, (2,)), MATRIX),
    "rms, weight": (lambda F, x, w: F.rms_norm(x, (3,), w), MATRIX, of(2)),
    "rms, int": (lambda F, x: F.rms_norm(x, (3,)), np.ones((2, 3), "int64")),
    "local response": (lambda F, x: F.local_response_norm(x, 2), MATRIX),
}


@case_of(NORMALIZATION_ERRORS)
def test_normalization_errors(case):
    program, *inputs = NORMALIZATION_ERRORS[case]
    same_error(lambda torch, *args: program(torch.nn.functional, *args), *inputs)


# -- embedding ---------------------------------------------------------------------------------------------------------

ROWS = of(4, 3)
LOOKUPS = np.array([[1, 3], [3, 0]])

EMBEDDINGS = {
    "plain": (lambda F, w, i: F.embedding(i, w), ROWS, LOOKUPS),
    "padding": (lambda F, w, i: F.embedding(i, w, padding_idx=3), ROWS, LOOKUPS),
    "negative padding": (lambda F, w, i: F.embedding(i, w, padding_idx=-1), ROWS, LOOKUPS),
    "by frequency": (lambda F, w, i: F.embedding(i, w, scale_grad_by_freq=True), ROWS, LOOKUPS),
    "int32": (lambda F, w, i: F.embedding(i.int(), w), ROWS, LOOKUPS),
    "one": (lambda F, w, i: F.embedding(i, w), ROWS, np.array(2)),
    "none": (lambda F, w, i: F.embedding(i, w), ROWS, np.zeros(0, "int64")),
    "int table": (lambda F, w, i: F.embedding(i, w.long()), ROWS, LOOKUPS),
}


@case_of(EMBEDDINGS)
def test_embeddings(case):
    program, *inputs = EMBEDDINGS[case]
    same(lambda torch, *args: program(torch.nn.functional, *args), *inputs)


def test_embedding_max_norm():
    def program(torch, w, i):
        w = w.detach().clone()
        return torch.nn.functional.embedding(i, w, max_norm=1.0), w

    same(program, ROWS, np.array([1, 3]))


EMBEDDING_ERRORS = {
    "range": (lambda F, w: F.embedding(w.detach().long() * 0 + 4, w), ROWS),
    "negative": (lambda F, w: F.embedding(w.detach().long() * 0 - 1, w), ROWS),
    "float": (lambda F, w: F.embedding(w.float(), w), ROWS),
    "bytes": (lambda F, w, i: F.embedding(i, w), ROWS, LOOKUPS.astype("uint8")),
    "bool": (lambda F, w, i: F.embedding(i > 0, w), ROWS, LOOKUPS),
    "vector": (lambda F, w, i: F.embedding(i, w[0]), ROWS, LOOKUPS),
    "padding": (lambda F, w, i: F.embedding(i, w, padding_idx=4), ROWS, LOOKUPS),
    "low padding": (lambda F, w, i: F.embedding(i, w, padding_idx=-5), ROWS, LOOKUPS),
    "no rows": (lambda F, w, i: F.embedding(i, w[:0]), ROWS, LOOKUPS),
}


@case_of(EMBEDDING_ERRORS)
def test_embedding_errors(case):
    program, *inputs = EMBEDDING_ERRORS[case]
    same_error(lambda torch, *args: program(torch.nn.functional, *args), *inputs)


# -- attention ---------------------------------------------------------------------------------------------------------

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
}


@case_of(ATTENTION_ERRORS)
def test_attention_errors(case):
    same_error(ATTENTION_ERRORS[case], QUERIES, KEYS, VALUES)


# -- dropout -----------------------------------------------------------------------------------------------------------


def shares(torch, name, shape, p, **settings):
    """What dropout does to ones, apart from which: the values that occur, and whether their shares are right."""
    torch.manual_seed(0)
    x = torch.ones(shape, requires_grad=True)
    y = getattr(torch.nn.functional, name)(x, p, **settings)
    y.sum().backward()
    values = sorted({round(float(value), 5) for value in y.detach().reshape(-1).tolist()})
    slopes = sorted({round(float(value), 5) for value in x.grad.reshape(-1).tolist()})
    kept = float((y.detach() == values[-1]).double().mean())
    return values, slopes, abs(kept - (1 - p)) < 0.08, y.grad_fn is None or y.grad_fn.name()


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", ["dropout", "alpha_dropout"])
def test_dropout(name, p):
    if p == 0.0:
        agree(lambda torch: getattr(torch.nn.functional, name)(torch.ones(3), p, True).tolist())
    else:
        agree(lambda torch: shares(torch, name, (60, 60), p, training=True)[: 4 if p < 1 else 2])


CHANNEL_DROPOUTS = [
    ("dropout1d", (400, 5)), ("dropout1d", (20, 50, 3)), ("dropout2d", (20, 50, 2, 2)),
    ("dropout3d", (20, 50, 1, 2, 2)), ("feature_alpha_dropout", (20, 50, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "shape"), CHANNEL_DROPOUTS, ids=str)
def test_dropout_of_channels(name, shape):
    def whole(torch):
        x = getattr(torch.nn.functional, name)(torch.ones(shape), 0.4, True)
        lead = 1 if name == "dropout1d" and len(shape) == 2 else 2
        flat = x.reshape(*shape[:lead], -1)
        return bool((flat == flat[..., :1]).all())

    agree(whole)
    agree(lambda torch: shares(torch, name, shape, 0.4, training=True)[: 3 if name == "dropout1d" else 4])


def test_dropout_differs_between_calls_and_repeats_with_the_seed():
    def program(torch):
        def once():
            return torch.nn.functional.dropout(torch.ones(50)).tolist()

        torch.manual_seed(3)
        first, second = once(), once()
        torch.manual_seed(3)
        return first == second, first == once()

    agree(program)


def test_dropout_in_place():
    def program(torch):
        x = torch.ones(4)
        y = torch.nn.functional.dropout(x, 1.0, inplace=True)
        z = torch.nn.functional.dropout(x, 0.5, training=False)
        return x is y, x is z, x.tolist(), x._version > 0

    agree(program)


DROPOUT_ERRORS = {
    "p": lambda F, x: F.dropout(x, 1.5),
    "negative p": lambda F, x: F.dropout(x, -0.1),
    "int": lambda F, x: F.dropout(x.long()),
    "bool": lambda F, x: F.dropout(x > 0),
    "complex": lambda F, x: F.dropout(x + 0j),
    "1d": lambda F, x: F.dropout1d(x),
    "alpha": lambda F, x: F.alpha_dropout(x, 2.0),
    "features": lambda F, x: F.feature_alpha_dropout(x, 0.5, True),
    "leaf": lambda F, x: F.dropout(x, inplace=True),
}


@case_of(DROPOUT_ERRORS)
def test_dropout_errors(case):
    same_error(lambda torch, x: DROPOUT_ERRORS[case](torch.nn.functional, x), ROW)


@pytest.mark.parametrize("shape", [(1, 3, 0), (1, 3, 0, 2), (1, 3, 2, 2, 0)], ids=str)
def test_nothing_has_no_size_to_interpolate_to(shape):
    agree(lambda torch: attempt(lambda: torch.nn.functional.interpolate(torch.ones(shape), scale_factor=2.0)))

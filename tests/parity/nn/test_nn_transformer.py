"""Attention of several heads, and transformers: values, gradients of first and second order, masks, messages."""

import copy
import pickle

import numpy as np
import pytest
import torch as pytorch
from harness import agree, attempt, recorded_warnings, warned

import tapegrad
from tests.parity.nn.test_recurrent import filled, numbers, waves

pytestmark = pytest.mark.once("what attention computes depends on no order")


def attention(torch, *args, **kwargs):
    return filled(torch, torch.nn.MultiheadAttention(*args, dtype=torch.float64, **kwargs))


def causal(torch, size):
    return torch.ones(size, size, dtype=torch.bool).triu(1)


def padding(torch, *lengths):
    return torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]


def inputs(torch, *shapes):
    return [waves(torch, *shape, shift=number).requires_grad_() for number, shape in enumerate(shapes)]


def seen(torch, module, found, given):
    """What a module gives, and derivatives by what it is given and by its parameters."""
    out = [one for one in found if one is not None]
    leaves = [*given, *(one for one in module.parameters() if one.requires_grad)]
    loss = sum((one.sin() * (number + 1)).sum() for number, one in enumerate(out))
    first = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
    total = sum((one * one).sum() for one in first if one is not None)
    second = torch.autograd.grad(total, leaves, allow_unused=True)
    return numbers([found, first, second])


SELF = [
    ({}, {}),
    ({"bias": False, "batch_first": True}, {"average_attn_weights": False}),
    ({"add_bias_kv": True, "add_zero_attn": True}, {"attn_mask": causal}),
    ({"batch_first": True}, {"attn_mask": causal, "is_causal": True}),
    ({"batch_first": True}, {"key_padding_mask": lambda torch, _: padding(torch, 3, 2)}),
]


@pytest.mark.parametrize(("options", "masks"), SELF, ids=range(len(SELF)))
def test_self_attention(options, masks):
    def program(torch):
        module = attention(torch, 4, 2, **options)
        (x,) = inputs(torch, (2, 3, 4) if options.get("batch_first") else (3, 2, 4))
        given = {name: one(torch, 3) if callable(one) else one for name, one in masks.items()}
        return seen(torch, module, module(x, x, x, **given), [x])

    agree(program)


def test_weights_that_nobody_wants():
    def program(torch):
        module = attention(torch, 4, 2, batch_first=True)
        (x,) = inputs(torch, (2, 3, 4))
        out, weights = module(x, x, x, need_weights=False, attn_mask=causal(torch, 3), is_causal=True)
        first = torch.autograd.grad(out.sin().sum(), [x, *module.parameters()])
        return numbers([out, first]), weights

    agree(program)


@pytest.mark.parametrize("batched", [True, False])
def test_attention_to_another_sequence(batched):
    def program(torch):
        module = attention(torch, 4, 2, kdim=3, vdim=5)
        batch = (2,) if batched else ()
        given = inputs(torch, (3, *batch, 4), (6, *batch, 3), (6, *batch, 5))
        return seen(torch, module, module(*given), given), sorted(module.state_dict())

    agree(program)


def test_a_key_that_is_the_value():
    def program(torch):
        module = attention(torch, 4, 2, batch_first=True)
        given = inputs(torch, (2, 3, 4), (2, 5, 4))
        return seen(torch, module, module(given[0], given[1], given[1]), given)

    agree(program)


def test_masks_in_one():
    def program(torch):
        module, x = torch.nn.MultiheadAttention(4, 2), torch.zeros(2, 3, 4)
        mask, there = torch.arange(9.0).reshape(3, 3), torch.arange(6.0).reshape(2, 3)
        each = torch.arange(36.0).reshape(4, 3, 3)
        pairs = [(None, None), (None, there), (mask, None), (mask, there), (each, there)]
        return [module.merge_masks(*pair, x) for pair in pairs]

    agree(program)


ENCODERS = [
    {},
    {"norm_first": True, "activation": "gelu", "batch_first": True},
    {"bias": False, "layer_norm_eps": 0.1},
]


def small(torch, kind, **options):
    module = getattr(torch.nn, kind)(4, 2, dim_feedforward=6, dropout=0.0, dtype=torch.float64, **options)
    return filled(torch, module)


@pytest.mark.parametrize("options", ENCODERS, ids=str)
def test_layers(options):
    def program(torch):
        encoder, decoder = small(torch, "TransformerEncoderLayer", **options), small(
            torch, "TransformerDecoderLayer", **options
        )
        # Of PyTorch's fused attention there is no second derivative.
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            x, memory = inputs(torch, (3, 2, 4), (3, 2, 4))
            there = None if options.get("batch_first") else padding(torch, 3, 2)
            encoded = encoder(x, src_mask=causal(torch, x.shape[1 if options.get("batch_first") else 0]),
                              src_key_padding_mask=there)  # fmt: skip
            decoded = decoder(x, memory, memory_key_padding_mask=there)
            return seen(torch, encoder, [encoded], [x]), seen(torch, decoder, [decoded], [x, memory])

    agree(program)


@pytest.mark.parametrize("batch_first", [True, False])
def test_transformer(batch_first):
    def program(torch):
        module = torch.nn.Transformer(
            4, 2, 2, 1, 6, dropout=0.0, batch_first=batch_first, activation=torch.tanh, dtype=torch.float64
        )
        filled(torch, module)
        src, tgt = inputs(torch, (2, 3, 4), (2, 5, 4))
        if not batch_first:
            src, tgt = src.transpose(0, 1), tgt.transpose(0, 1)
        mask = module.generate_square_subsequent_mask(5, dtype=torch.float64)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            return seen(torch, module, [module(src, tgt, tgt_mask=mask)], [src, tgt])

    with recorded_warnings():
        agree(program)


def test_second_derivatives_of_the_fused_kernel():
    """Which PyTorch has not."""
    module = small(tapegrad, "TransformerEncoderLayer")
    (x,) = inputs(tapegrad, (3, 2, 4))
    fused = seen(tapegrad, module, [module(x)], [x])
    with tapegrad.nn.attention.sdpa_kernel(tapegrad.nn.attention.SDPBackend.MATH):
        for ours, theirs in zip(fused, seen(tapegrad, module, [module(x)], [x]), strict=True):
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-12)


@pytest.mark.parametrize("lengths", [(4, 2, 3), (4, 4, 1)])
@pytest.mark.parametrize("grad", [True, False])
def test_padding_in_evaluation(lengths, grad):
    def program(torch):
        layer = small(torch, "TransformerEncoderLayer", batch_first=True)
        norm = torch.nn.LayerNorm(4, dtype=torch.float64)
        module = torch.nn.TransformerEncoder(layer, 2, norm).eval()
        (x,) = inputs(torch, (3, 4, 4))
        with torch.set_grad_enabled(grad):
            return numbers(module(x, src_key_padding_mask=padding(torch, *lengths)))

    with recorded_warnings():
        agree(program)


def test_masks_that_are_causal_are_found():
    def program(torch):
        layer = small(torch, "TransformerDecoderLayer", batch_first=True)
        module = torch.nn.TransformerDecoder(layer, 2)
        x, memory = inputs(torch, (2, 3, 4), (2, 5, 4))
        mask = torch.nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)
        return numbers([module(x, memory, mask), module(x, memory, mask * 0), module(x, memory, tgt_is_causal=False)])

    agree(program)


def test_what_modules_show():
    def program(torch):
        modules = [
            torch.nn.MultiheadAttention(4, 2, add_bias_kv=True), torch.nn.MultiheadAttention(4, 2, kdim=3, bias=False),
            torch.nn.Transformer(4, 2, 1, 1, 6, activation="gelu"),
        ]  # fmt: skip
        shapes = [[(name, tuple(one.shape)) for name, one in module.state_dict().items()] for module in modules]
        return [repr(module) for module in modules], shapes

    with recorded_warnings():
        agree(program)


def test_states_move_between_the_libraries():
    with recorded_warnings():
        ours, theirs = (torch.nn.Transformer(4, 2, 1, 1, 6).eval() for torch in (tapegrad, pytorch))
    filled(tapegrad, ours)
    theirs.load_state_dict({name: pytorch.tensor(one.numpy()) for name, one in ours.state_dict().items()})
    given = [waves(pytorch, 3, 2, 4, dtype="float32"), waves(pytorch, 5, 2, 4, dtype="float32")]
    expected = theirs(*given).detach().numpy()
    given = [tapegrad.tensor(one.numpy()) for one in given]
    np.testing.assert_allclose(ours(*given).detach().numpy(), expected, atol=1e-5)
    for twin in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        np.testing.assert_allclose(twin(*given).detach().numpy(), expected, atol=1e-5)


def test_first_parameters():
    module = tapegrad.nn.MultiheadAttention(16, 2)
    bound = (6 / (16 + 48)) ** 0.5
    assert 0.9 * bound < module.in_proj_weight.abs().max() <= bound
    assert not module.in_proj_bias.any() and not module.out_proj.bias.any()


def test_dropout_of_weights():
    module = filled(tapegrad, tapegrad.nn.MultiheadAttention(4, 2, dropout=0.5))
    x = waves(tapegrad, 3, 2, 4, dtype="float32")
    assert not tapegrad.equal(module(x, x, x)[0], module(x, x, x)[0])
    module.eval()
    assert tapegrad.equal(module(x, x, x)[0], module(x, x, x)[0])


REFUSED = [
    lambda torch, nn: nn.MultiheadAttention(0, 2),
    lambda torch, nn: nn.MultiheadAttention(4, 3),
    lambda torch, nn: nn.MultiheadAttention(4, 2)(torch.ones(3, 4), torch.ones(3, 1, 4), torch.ones(3, 4)),
    lambda torch, nn: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 4)] * 3, attn_mask=torch.ones(2, 2).bool()),
    lambda torch, nn: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 4)] * 3, attn_mask=torch.ones(3, 3).int()),
    lambda torch, nn: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 4)] * 3, key_padding_mask=torch.ones(2, 3) > 0),
    lambda torch, nn: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 4)] * 3, is_causal=True),
    lambda torch, nn: nn.MultiheadAttention(4, 2)(*[torch.ones(3, 1, 5)] * 3),
    lambda torch, nn: nn.TransformerEncoderLayer(4, 2, activation="tanh"),
    lambda torch, nn: nn.TransformerDecoderLayer(4, 3),
    lambda torch, nn: nn.Transformer(4, 2, 1, 1, 6)(torch.ones(3, 2, 4), torch.ones(3, 1, 4)),
    lambda torch, nn: nn.Transformer(4, 2, 1, 1, 6, batch_first=True)(torch.ones(3, 2, 4), torch.ones(2, 2, 4)),
    lambda torch, nn: nn.Transformer(4, 2, 1, 1, 6)(torch.ones(3, 2, 5), torch.ones(3, 2, 4)),
    lambda torch, nn: nn.attention.sdpa_kernel("math").__enter__(),
    lambda torch, nn: nn.attention.sdpa_kernel((nn.attention.SDPBackend.MATH,)).__enter__(),
]


@pytest.mark.parametrize("make", REFUSED)
def test_refusals(make):
    with recorded_warnings():
        agree(lambda torch: [attempt(lambda: make(torch, torch.nn))])


WARNED = [
    lambda torch, nn: nn.MultiheadAttention(4, 2)(
        *[torch.ones(3, 1, 4)] * 3, attn_mask=torch.zeros(3, 3), key_padding_mask=torch.zeros(1, 3) > 0
    ),
    lambda torch, nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 1),
    lambda torch, nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 1, batch_first=True), 1),
    lambda torch, nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, batch_first=True, bias=False), 1),
    lambda torch, nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, batch_first=True, norm_first=True), 1),
    lambda torch, nn: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(4, 2, activation=torch.tanh, batch_first=True), 1
    ),
    lambda torch, nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, batch_first=True), 1),
]


@pytest.mark.parametrize("make", WARNED)
def test_warnings(make):
    agree(lambda torch: warned(lambda: make(torch, torch.nn)))


KERNELS = [
    ("MATH", {}), ("FLASH_ATTENTION", {}), ("EFFICIENT_ATTENTION", {}), ("CUDNN_ATTENTION", {}),
    ("FLASH_ATTENTION", {"is_causal": True}), ("FLASH_ATTENTION", {"dropout_p": 0.5}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), KERNELS)
def test_kernels_of_attention(name, options):
    def program(torch):
        attention = torch.nn.attention
        q = waves(torch, 2, 2, 3, 4, dtype="float32").requires_grad_()

        def node(x):
            return torch.nn.functional.scaled_dot_product_attention(x, x, x, **options).grad_fn.name()

        kernel = getattr(attention.SDPBackend, name)
        with attention.sdpa_kernel(kernel):
            alone = [attempt(lambda: node(q)), attempt(lambda: node(q[0]))]
        with attention.sdpa_kernel([kernel, attention.SDPBackend.MATH], set_priority=True) as nothing:
            both = [attempt(lambda: node(q)), attempt(lambda: node(q[0]))]
            switches = torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()
        return alone, both, switches, nothing, torch.backends.cuda.cudnn_sdp_enabled(), repr(kernel), int(kernel)

    with recorded_warnings():
        agree(program)


def test_switches_of_kernels():
    def program(torch):
        cuda, q = torch.backends.cuda, torch.ones(1, 1, 2, 2, requires_grad=True)
        cuda.enable_flash_sdp(False)
        try:
            name = torch.nn.functional.scaled_dot_product_attention(q, q, q).grad_fn.name()
        finally:
            cuda.enable_flash_sdp(True)
        return name, cuda.flash_sdp_enabled(), torch.backends.mha.get_fastpath_enabled()

    agree(program)

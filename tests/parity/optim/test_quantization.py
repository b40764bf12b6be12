"""Fake quantization beside PyTorch's."""

import numpy as np
import pytest
import torch
from expressions import expression
from harness import same, same_error

import tapegrad

X = np.array([[-1.34, -0.26, 0.04], [0.31, 0.87, 1.42]])
EDGES = np.array([0.25, -0.25, np.nan, np.inf, -np.inf, 1e30, -0.0])
TENSOR, CHANNEL = "torch.fake_quantize_per_tensor_affine", "torch.fake_quantize_per_channel_affine"
LEARNT = "torch._fake_quantize_learnable_per"
S, Z = "torch.tensor([0.25, 0.5])", "torch.tensor([0, 3], dtype=torch.int32)"

QUANTIZED = {
    "numbers": (f"{TENSOR}(x, 0.1, 3, -6, 8)", X),
    "tensors": (f"{TENSOR}(x, torch.tensor([0.1]), torch.tensor([3], dtype=torch.int32), -6, 8)", X),
    "a float for a zero point": (f"{TENSOR}(x, torch.tensor(0.1), torch.tensor(-1.6), -6, 8)", X),
    "an integer in a tensor": (f"{TENSOR}(x, 0.1, torch.tensor(3), -6, 8)", X),
    "a zero point out of bounds": (f"{TENSOR}(x, torch.tensor(0.1), torch.tensor(20), -6, 8)", X),
    "edges": (f"{TENSOR}(x, 0.1, 3, -6, 8)", EDGES),
    "a scale of zero": (f"{TENSOR}(x, 0.0, 3, -6, 8)", X),
    "a negative scale": (f"{TENSOR}(x, -0.1, 3, -6, 8)", X),
    "nothing": (f"{TENSOR}(x[:0], 0.1, 3, -6, 8)", X),
    "channels": (f"{CHANNEL}(x, {S}, {Z}, 0, -4, 5)", X),
    "channels behind": (f"{CHANNEL}(x.t(), {S}, {Z}, 1, -4, 5)", X),
    "channels, floats": (f"{CHANNEL}(x, {S}, {Z} + 0.4, 0, -4, 5)", X),
    "channels, halves": (f"{CHANNEL}(x, {S}, {Z}.half(), 0, -4, 5)", X),
}  # fmt: skip


@pytest.mark.parametrize("case", QUANTIZED)
def test_quantized(case):
    text, *inputs = QUANTIZED[case]
    same(expression(text), *inputs)


@pytest.mark.parametrize("dtype", ["half", "bfloat16", "float"])
def test_small_dtypes(dtype):
    for call in (f"{TENSOR}(x.{dtype}(), 0.1, 3, -6, 8)", f"{CHANNEL}(x.{dtype}(), {S}, {Z}, 0, -4, 5)"):
        same(expression(call), X, second=False)


REFUSED = [
    f"{TENSOR}(x, 0.1, 0, 8, -8)", f"{TENSOR}(x, 0.1, 20, -8, 8)", f"{TENSOR}(x.long(), 0.1, 0, -8, 8)",
    f"{TENSOR}(x, torch.tensor([0.1, 0.2]), torch.tensor(0), -8, 8)",
    f"{TENSOR}(x, torch.tensor(0.1, requires_grad=True), torch.tensor(0), -8, 8)", f"{TENSOR}(x, 0.1, 0, -8)",
    f"{CHANNEL}(x, {S}, {Z}, 1, -8, 8)", f"{CHANNEL}(x, {S}, {Z}, 5, -8, 8)", f"{CHANNEL}(x, {S}, {Z}, -2, -8, 8)",
    f"{CHANNEL}(x, {S}, {Z}.long(), 0, -8, 8)", f"{CHANNEL}(x, {S}.double(), {Z}, 0, -8, 8)",
    f"{CHANNEL}(x, {S}, {Z} + 20, 0, -8, 8)", f"{CHANNEL}(x, {S}[:1], {Z}, 0, -8, 8)",
    f"{CHANNEL}(x, {S}[None], {Z}, 0, -8, 8)", f"{CHANNEL}(x, {S}, {Z}, 0, 8, -8)",
    f"{CHANNEL}(x, {S}.requires_grad_(), {Z}, 0, -8, 8)", f"{CHANNEL}(x.long(), {S}, {Z}, 0, -8, 8)",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text):
    same_error(expression(text), X)


@pytest.mark.parametrize("kind", ["tensor", "channel"])
def test_learnt_scales(kind):
    found = []
    for m in (torch, tapegrad):
        count = 2 if kind == "channel" else 1
        x = m.tensor(X, dtype=m.float32, requires_grad=True)
        scale, point = (m.tensor(part[:count], requires_grad=True) for part in ([0.125, 0.25], [0.7, -1.2]))
        given = (x, scale, point, 0) if kind == "channel" else (x, scale, point)
        out = getattr(m, f"_fake_quantize_learnable_per_{kind}_affine")(*given, -6, 7, 0.5)
        (out * x.detach().cos()).sum().backward()
        found.append([out.grad_fn.name(), *(one.detach().numpy() for one in (out, x.grad, scale.grad, point.grad))])
    assert found[0][0] == found[1][0]
    for theirs, ours in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_nodes():
    names = []
    for m in (torch, tapegrad):
        x = m.ones(2, requires_grad=True)
        scale, point = m.ones(2), m.zeros(2, dtype=m.int32)
        calls = [m.fake_quantize_per_tensor_affine(x, 1.0, 0, 0, 1),
                 m.fake_quantize_per_tensor_affine(x, scale[0], point[0], 0, 1),
                 m.fake_quantize_per_channel_affine(x, scale, point, 0, 0, 1)]  # fmt: skip
        names.append([out.grad_fn.name() for out in calls])
    assert names[0] == names[1]

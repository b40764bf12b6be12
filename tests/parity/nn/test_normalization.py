"""Normalization, beside PyTorch's."""

import numpy as np
import pytest
from case_tables import case_of, of
from harness import agree, same, same_error
from samples import array

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

MATRIX = array(2, 3)
ROW = array(3)
NOTHING = array(0, 3)
F32 = np.ones((2, 3), "float32")

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


def test_the_gradient_of_the_tangent_of_batch_norm():
    """PyTorch's is wrong; here it is what finite differences of the tangent say."""

    def tangent(x):
        forward_ad = tapegrad.autograd.forward_ad
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x, x.sin())
            y = tapegrad.nn.functional.batch_norm(dual, None, None, training=True)
            return forward_ad.unpack_dual(tapegrad.hypot(y, dual)).tangent.sum()

    x = tapegrad.tensor(array(4, 3).tolist(), dtype=tapegrad.float64, requires_grad=True)
    (grad,) = tapegrad.autograd.grad(tangent(x), x)
    for place in ((0, 0), (1, 2), (3, 1)):
        step = tapegrad.zeros(4, 3, dtype=tapegrad.float64)
        step[place] = 1e-5
        slope = (tangent(x.detach() + step) - tangent(x.detach() - step)) / 2e-5
        np.testing.assert_allclose(grad[place].item(), slope.item(), rtol=1e-6)


def test_rms_norm_of_complex_numbers_lies_in_rows():
    def program(torch):
        x = torch.tensor([[1.5j, 0.75, 0.25], [0.25, 0.75, 1.25]]).t()
        found = [torch.nn.functional.rms_norm(x, shape) for shape in (x.shape, x.shape[1:])]
        return [[one, one.stride()] for one in found]

    agree(program)

"""Numbers of half precision are rounded where PyTorch rounds them: Note [Halves] in ``ops/kinds.py``."""

import numpy as np
import pytest
import torch as pytorch

import tapegrad

pytestmark = pytest.mark.parity

ONE_KERNEL = [
    "x * 0.3", "x / 0.3", "0.3 / x", "x.add(x * 2, alpha=0.3)", "x.sub(x * 2, alpha=0.3)", "x.lerp(x * 2, 0.3)",
    "x.tanh()", "x.deg2rad()", "x.rad2deg()", "F.leaky_relu(x, 0.3)", "F.elu(x, 0.3)", "F.celu(x, 0.3)", "F.selu(x)",
    "F.softplus(x, 0.3)", "F.hardswish(x)", "F.tanhshrink(x)", "F.rrelu(x, 0.1, 0.3)",
    "F.smooth_l1_loss(x, x * 2, beta=0.3, reduction='none')",
]  # fmt: skip
BFLOAT16_TOO = [
    "x.sigmoid()", "F.gelu(x)", "F.gelu(x, approximate='tanh')", "F.silu(x)", "F.mish(x)", "x.view(64, -1).softmax(1)",
]  # fmt: skip
PRODUCTS = [
    "x.view(32, 32).addmm(x.view(32, 32), x.view(32, 32), beta=0.3, alpha=0.7)",
    "x.addmv(x.view(1024, 1), x[:1], beta=0.3, alpha=0.7)",
    "x.view(4, 16, 16).baddbmm(x.view(4, 16, 16), x.view(4, 16, 16), beta=0.3, alpha=0.7)",
    "x.view(32, 32).addr(x[:32], x[32:64])",
]
COMPOSED = ["x ** 3", "x.sin()", "x.rsqrt()", "x.reciprocal()", "x.atan2(x + 1)", "F.softsign(x)", "x / (x + 4)"]


def gradient(lib, text, dtype):
    """The gradient of an expression of 1,024 numbers."""
    x = lib.linspace(-3, 3, 1024).to(getattr(lib, dtype)).requires_grad_()
    y = eval(text, {"x": x, "F": lib.nn.functional})
    y.backward(lib.linspace(-1, 1, 1024).to(y.dtype).view_as(y))
    return x.grad.float().numpy()


@pytest.mark.parametrize(
    ("text", "dtype"),
    [(text, dtype) for dtype in ("float16", "bfloat16") for text in ONE_KERNEL]
    + [(text, "bfloat16") for text in BFLOAT16_TOO + PRODUCTS + COMPOSED],
)
def test_gradients_are_rounded_as_pytorchs(text, dtype):
    """Once, where PyTorch has one kernel for a gradient; after each operation, where it composes it."""
    np.testing.assert_array_equal(gradient(tapegrad, text, dtype), gradient(pytorch, text, dtype))



@pytest.mark.once("numbers of one kernel")
@pytest.mark.parametrize(
    "text",
    ["x + 0.3", "x.add(x * 2, alpha=0.3)", "x.sub(x * 2, alpha=0.3)", "x.fmod(0.3)", "x ** 3",
     "x[:64].view(8, 8).addbmm(x.view(16, 8, 8), x.view(16, 8, 8))"],
)
def test_results_that_pytorch_rounds_twice(text):
    """Computed in float32 and rounded once: nearer to the exact result than PyTorch's."""

    def result(lib, wide=False):
        x = lib.linspace(-3, 3, 1024).to(lib.bfloat16)
        return eval(text, {"x": x.double() if wide else x}).double().numpy()

    exact = result(pytorch, wide=True)
    ours, theirs = np.abs(result(tapegrad) - exact).mean(), np.abs(result(pytorch) - exact).mean()
    assert ours < theirs

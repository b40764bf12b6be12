"""Convolutions that are computed as products of matrices are those that XLA computes."""

from functools import partial

import jax
import numpy as np
import pytest
from jax import lax

from tapegrad.ops import convolution, convolving

pytestmark = pytest.mark.once("kernels alone: nothing is recorded")

BATCH = 4
CASES = [  # channels, output channels, space, kernel, stride, padding, dilation
    (3, 4, (6, 5), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    (2, 3, (7, 6), (2, 3), (2, 1), ((0, 2), (1, 0)), (1, 2)),
    (1, 2, (5, 8), (1, 1), (2, 3), ((0, 0), (0, -1)), (1, 1)),
    (5, 1, (4, 6), (4, 2), (1, 2), ((2, 1), (0, 0)), (1, 3)),
    (2, 3, (4, 3, 5), (2, 1, 3), (1, 2, 1), ((1, 0), (0, 1), (-1, 1)), (2, 1, 1)),
]
NAMES = ("stride", "padding", "dilation")


def settings_of(case):
    return dict(zip(NAMES, case[4:], strict=True), groups=1)


def drawn(case):
    """An input, a weight, and a gradient of the result."""
    channels, out, space, kernel, *_ = case
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(BATCH, channels, *space)), rng.normal(size=(out, channels, *kernel))
    y = jax.eval_shape(by_xla(case), x, w)
    return x, w, rng.normal(size=y.shape)


def by_xla(case):
    _, _, _, _, stride, padding, dilation = case
    return lambda x, w: lax.conv_general_dilated(x, w, stride, padding, rhs_dilation=dilation)


def lowered(function, *args):
    """Which operations of StableHLO a function comes to here."""
    return jax.jit(function).lower(*args).as_text()


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(convolving, "_as_product", lambda *_: True)
    monkeypatch.setattr(convolving, "_as_products", lambda *_: True)
    monkeypatch.setattr(convolving, "_as_sum", lambda *_: True)


@pytest.mark.parametrize("case", CASES)
def test_a_product_is_the_convolution(case, always):
    x, w, _ = drawn(case)
    ours = partial(convolution.convolution.function, **settings_of(case))
    np.testing.assert_allclose(jax.jit(ours)(x, w), by_xla(case)(x, w), atol=1e-12)
    assert "stablehlo.convolution" not in lowered(ours, x, w)


@pytest.mark.parametrize("at_once", [1, 100, 1 << 20])
@pytest.mark.parametrize("case", CASES)
def test_products_are_the_gradient_of_the_weight(case, at_once, always, monkeypatch):
    monkeypatch.setattr(convolving, "_LAID_OUT_AT_ONCE", at_once)
    x, w, g = drawn(case)
    ours = partial(convolution.conv_weight.function, kernel_size=case[3], **settings_of(case))
    (expected,) = jax.vjp(partial(by_xla(case), x), w)[1](g)
    np.testing.assert_allclose(jax.jit(ours)(x, g), expected, atol=1e-12)
    assert "stablehlo.convolution" not in lowered(ours, x, g)


@pytest.mark.parametrize("case", CASES)
def test_a_sum_of_products_is_the_gradient_of_the_input(case, always):
    x, w, g = drawn(case)
    ours = partial(convolution.conv_transpose.function, output_size=case[2], **settings_of(case))
    (expected,) = jax.vjp(lambda x: by_xla(case)(x, w), x)[1](g)
    np.testing.assert_allclose(jax.jit(ours)(g, w), expected, atol=1e-12)
    assert "stablehlo.convolution" not in lowered(ours, g, w)


def is_product(x, w, dtype="float32", groups=1):
    """Whether convolution of these shapes is a product of matrices."""
    given = (jax.ShapeDtypeStruct(shape, dtype) for shape in (x, w))
    ours = partial(convolving.convolved, stride=(1, 1), padding=((1, 1), (1, 1)), dilation=(1, 1), groups=groups)
    return "stablehlo.convolution" not in lowered(ours, *given)


def test_few_channels_and_single_places_are_products():
    assert is_product((8, 3, 32, 32), (16, 3, 3, 3))
    assert is_product((8, 64, 32, 32), (64, 64, 1, 1))
    assert not is_product((8, 16, 32, 32), (16, 16, 3, 3))


def test_what_would_be_stored_is_bounded():
    assert not is_product((64, 3, 256, 256), (32, 3, 5, 5))
    assert not is_product((8, 7, 32, 32), (16, 7, 5, 5))  # 175 elements in a window, for 16 channels
    assert is_product((8, 3, 32, 32), (2, 3, 3, 3))


def test_other_types_groups_and_nothing_are_left_to_xla():
    assert not is_product((8, 3, 32, 32), (16, 3, 3, 3), "bfloat16")
    assert not is_product((8, 4, 32, 32), (16, 2, 3, 3), groups=2)
    assert not is_product((0, 3, 32, 32), (16, 3, 3, 3))


def is_sum(x, w, **settings):
    """Whether a transposed convolution of these shapes is a sum of products."""
    given = (jax.ShapeDtypeStruct(shape, settings.get("dtype", "float32")) for shape in (x, w))
    pads = {"stride": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1)}
    ours = partial(convolving.transposed, groups=settings.get("groups", 1), **pads)
    return "stablehlo.convolution" not in lowered(ours, *given)


def test_few_channels_that_come_out_are_sums_of_products():
    assert is_sum((8, 64, 16, 16), (6, 64, 5, 5))
    assert not is_sum((8, 64, 16, 16), (16, 64, 5, 5))
    assert not is_sum((64, 64, 64, 64), (6, 64, 5, 5))
    assert not is_sum((8, 64, 16, 16), (6, 64, 5, 5), dtype="bfloat16")
    assert not is_sum((8, 8, 16, 16), (4, 4, 5, 5), groups=2)


def of_weight(x, y, kernel=(3, 3)):
    """The gradient of a weight, and from what it is found: an input and a gradient of these shapes."""
    settings = {"stride": (1,) * len(kernel), "padding": ((1, 1),) * len(kernel), "dilation": (1,) * len(kernel)}
    given = (jax.ShapeDtypeStruct(shape, "float32") for shape in (x, y))
    return partial(convolution.conv_weight.function, kernel_size=kernel, groups=1, **settings), *given


def is_products(*args, **kernel):
    return "stablehlo.convolution" not in lowered(*of_weight(*args, **kernel))


def test_gradients_of_wide_weights_are_products():
    assert is_products((64, 16, 16, 16), (64, 32, 16, 16))
    assert is_products((256, 3, 16, 16), (256, 16, 16, 16))
    assert not is_products((64, 16, 16, 16), (64, 16, 16, 16))
    assert not is_products((8, 16, 16, 16), (8, 32, 16, 16))  # XLA compiles that in half the time
    assert is_products((8, 96, 16, 16), (8, 32, 16, 16), kernel=(1, 1))
    assert not is_products((8, 16, 16), (8, 64, 16), kernel=(3,))
    assert not is_products((2, 256, 512, 512), (2, 256, 512, 512))
    assert not is_products((1, 2, 8, 40, 40), (1, 64, 8, 40, 40), kernel=(33, 3, 3))


def test_rows_of_few_images_are_stored_at_once(monkeypatch):
    def memory():
        function, *given = of_weight((32, 32, 64, 64), (32, 32, 64, 64))
        return jax.jit(function).lower(*given).compile().memory_analysis().temp_size_in_bytes

    bounded = memory()
    monkeypatch.setattr(convolving, "_LAID_OUT_AT_ONCE", 1 << 30)
    assert bounded < memory() / 2

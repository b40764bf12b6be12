"""The ways in which NumPy computes a convolution agree with jax, each where it is forced, and where it is chosen."""

from functools import partial

import jax
import numpy as np
import pytest
from jax import lax

import tapegrad as torch
from tapegrad._src.execution.numpy_backend import channels_innermost, convolutions, shares, windowed, winograd
from tapegrad._src.execution.numpy_backend.writer import written
from tapegrad._src.execution.state.threads import helpers
from tapegrad.ops import convolution

pytestmark = pytest.mark.once("kernels are run by themselves")

CASES = {  # batch, channels, outputs, space, kernel, stride, padding, dilation
    "square": (5, 3, 4, (9, 8), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
    "every second": (2, 3, 4, (9, 8), (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)),
    "single elements": (2, 3, 4, (8, 8), (1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1)),
    "signal": (3, 2, 5, (11,), (4,), (3,), ((2, 1),), (2,)),
    "volume": (1, 2, 3, (6, 5, 7), (2, 1, 3), (1, 2, 2), ((1, 0), (0, 1), (-1, 1)), (1, 1, 2)),
    "uneven padding": (2, 3, 4, (9, 10), (3, 3), (1, 1), ((0, 2), (3, 1)), (1, 1)),
    "less than nothing": (3, 4, 5, (9, 9), (3, 2), (3, 2), ((-1, 1), (0, -2)), (1, 2)),
    "cut": (3, 2, 3, (9, 12), (3, 3), (1, 1), ((-1, 0), (1, -2)), (1, 1)),
    "strips": (3, 2, 3, (70, 66), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)),
}
FUNCTIONS = {
    convolutions.TILES: {"winograd", "winograd_between"},
    convolutions.COLUMNS: {"by_columns", "images_by_columns", "kernel_by_columns"},
    convolutions.ROWS: {"by_rows", "images_by_rows", "kernel_by_rows"},
    convolutions.SINGLE: {"at_positions", "images_at_positions", "kernel_at_positions"},
    convolutions.PLANES: {"swept", "swept_between"},
    convolutions.ANY: {"convolved"},
}


def drawn(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def three(case):
    """A convolution and its two gradients: our functions, what they are given, and jax's results."""
    batch, channels, outputs, space, kernel, stride, padding, dilation = case
    x, w = drawn(batch, channels, *space), drawn(outputs, channels, *kernel)
    plain = partial(lax.conv_general_dilated, window_strides=stride, padding=padding, rhs_dilation=dilation)
    y = np.asarray(plain(x, w))
    g = drawn(*y.shape)
    to_x, to_w = jax.vjp(plain, x, w)[1](g)
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": 1}
    yield partial(convolution.convolution.function, **settings), (x, w), y
    yield partial(convolution.conv_transpose.function, output_size=space, **settings), (g, w), to_x
    yield partial(convolution.conv_weight.function, kernel_size=kernel, **settings), (x, g), to_w


def close(found, expected):
    expected = np.asarray(expected)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-5 * np.abs(expected).max())


def preferring(name):
    """What puts a way first where it can be taken, and otherwise leaves the order as ever."""

    def ways_of(seen, dtype):
        return sorted(convolutions.ways(seen, np.dtype(dtype)), key=lambda way: (way.name != name, way))

    return ways_of


def forget():
    """Forget the ways that were chosen, and how windows lie in them."""
    windowed.choices.cache.clear()
    channels_innermost.rows.cache.clear()


@pytest.fixture(autouse=True)
def choices_forgotten():
    """What is chosen in a test holds for that test alone."""
    forget()
    yield
    forget()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", FUNCTIONS)
def test_each_way_is_the_convolution(way, case, monkeypatch):
    monkeypatch.setattr(windowed, "ways_of", preferring(way))
    for function, arguments, expected in three(CASES[case]):
        close(written(function, arguments).body(*arguments), expected)


@pytest.mark.parametrize("at_a_time", [1, 500])
def test_ways_are_laid_out_in_parts_of_any_size(at_a_time, monkeypatch):
    monkeypatch.setattr(channels_innermost, "AT_A_TIME", at_a_time)
    monkeypatch.setattr(winograd, "AT_A_TIME", max(at_a_time // 100, 1))
    for way in (convolutions.ROWS, convolutions.TILES):
        monkeypatch.setattr(windowed, "ways_of", preferring(way))
        for name in ("square", "every second", "volume"):
            forget()
            for function, arguments, expected in three(CASES[name]):
                close(written(function, arguments).body(*arguments), expected)


@pytest.fixture
def small_shares(monkeypatch):
    """Each image or two is a share, and the number of threads is as it was afterwards."""
    monkeypatch.setattr(shares, "EACH", 1.0)
    monkeypatch.setattr(winograd, "FEWEST", 1)
    monkeypatch.setattr(winograd, "FEWEST_SUMMED", 1)
    before = helpers.number
    forget()
    yield
    helpers.number = before
    forget()


@pytest.mark.parametrize("way", FUNCTIONS)
def test_the_images_of_a_batch_are_shared_out_and_the_bits_are_the_same(way, small_shares, monkeypatch):
    monkeypatch.setattr(windowed, "ways_of", preferring(way))
    shared, run = [], helpers.run
    monkeypatch.setattr(type(helpers), "run", lambda _, work, count: (shared.append(count), run(work, count)))
    for name in ("square", "every second", "signal", "single elements"):
        for function, arguments, expected in three(CASES[name]):
            body, found = written(function, arguments).body, []
            for helpers.number in (1, 2, 3):
                found.append(body(*arguments))
            close(found[0], expected)
            assert all(np.array_equal(found[0], one) for one in found)
    assert way == convolutions.COLUMNS or max(shared) > 1


def test_an_infinite_number_in_one_share_is_seen_by_all(small_shares):
    case = (4, 64, 64, (16, 16), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1))
    for function, arguments, _ in three(case):
        arguments[0][3, 1, 5, 7] = np.inf
        code, expected = written(function, arguments), np.asarray(jax.jit(function)(*arguments))
        assert "winograd" in code.source
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(code.body(*arguments), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("batch", [1, 5, 8, 33])
@pytest.mark.parametrize("least", [1, 3, 40])
def test_shares_are_all_images_in_order(batch, least):
    for numbers in (0, 1 << 22):
        found = shares.shares(batch, 1e9, numbers, least)
        assert [i for one in found for i in range(one.start, one.stop)] == [*range(batch)]
        assert len(found) <= (2 if numbers else max(batch // least, 1))


CHOSEN = {
    "many channels": ((2, 64, 64, (32, 32), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)), convolutions.TILES),
    "few channels": ((2, 8, 8, (32, 32), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)), convolutions.PLANES),
    "small images": ((2, 512, 512, (7, 7), (3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)), convolutions.COLUMNS),
    "strides": ((4, 64, 128, (32, 32), (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)), convolutions.ROWS),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_layers_of_nets_take_the_way_that_is_made_for_them(name):
    case, way = CHOSEN[name]
    for function, arguments, expected in three(case):
        code = written(function, arguments)
        assert any(f"{one}(" in code.source for one in FUNCTIONS[way]), code.source
        close(code.body(*arguments), expected)


def test_kernels_of_wide_numbers_are_not_approximated():
    case, _ = CHOSEN["many channels"]
    x, w = (drawn(*shape).astype("float64") for shape in ((2, 64, 32, 32), (64, 64, 3, 3)))
    with jax.enable_x64(True):
        (function, _, _), *_ = three(case)
        code = written(function, (x, w))
        assert "winograd" not in code.source
        expected = lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)))
        np.testing.assert_allclose(code.body(x, w), expected, atol=1e-11)


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_reaches_only_what_reads_it(number):
    for function, arguments, _ in three(CHOSEN["many channels"][0]):
        arguments[0][0, 1, 5, 7] = number
        code = written(function, arguments)
        assert "winograd" in code.source
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                code.body(*arguments), jax.jit(function)(*arguments), rtol=1e-3, atol=1e-3
            )  # fmt: skip


def test_the_error_is_a_few_times_that_of_direct_sums():
    """In units of the results' deviation, against sums of float64."""
    (function, (x, w), _), *_ = three(CHOSEN["many channels"][0])
    with jax.enable_x64(True):
        exactly = np.asarray(lax.conv_general_dilated(x.astype("f8"), w.astype("f8"), (1, 1), ((1, 1), (1, 1))))
    off = np.abs(written(function, (x, w)).body(x, w) - exactly) / exactly.std()
    assert off.max() < 2e-5 and np.sqrt((off**2).mean()) < 2e-6


def by_tiles():
    """A convolution that is chosen to be Winograd's, and random arguments of it."""
    (function, (x, w), _), *_ = three(CHOSEN["many channels"][0])
    assert "winograd(" in written(function, (x, w)).source
    return written(function, (x, w)).body, x.copy(), w


@pytest.mark.parametrize("padding", [((1, 1), (1, 1)), ((0, 5), (4, -2)), ((-1, 0), (2, 2))])
def test_windows_of_zeros_give_zero(padding):
    case = (2, 64, 64, (32, 32), (3, 3), (1, 1), padding, (1, 1))
    (function, (x, w), _), *_ = three(case)
    x[:, :, 5:19, 7:20] = 0
    x[1, :, :, :3] = -0.0
    code, expected = written(function, (x, w)), np.asarray(lax.conv_general_dilated(x, w, (1, 1), padding))
    assert "winograd(" in code.source
    found = code.body(x, w)
    assert (expected == 0).any() and np.array_equal(found == 0, expected == 0)
    close(found, expected)


def test_a_masked_kernel_reads_nothing_of_what_it_masks():
    body, x, w = by_tiles()
    w[:, :, 1, 1:] = w[:, :, 2] = 0
    x[:, :, :15] = 0
    assert (body(x, w)[:, :, :15] == 0).all()


def test_a_relu_behind_a_bias_of_zero_stops_the_gradient_where_images_are_zero():
    x, w = drawn(2, 64, 32, 32), drawn(64, 64, 3, 3)
    x[:, :, 6:] = 0
    bias = torch.zeros(64, requires_grad=True)
    torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), bias, padding=1).relu().sum().backward()

    def loss(bias):
        return jax.nn.relu(lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1))) + bias[:, None, None]).sum()

    expected = np.asarray(jax.vjp(loss, np.zeros(64, "f4"))[1](np.float32(1))[0])
    np.testing.assert_allclose(bias.grad.numpy(), expected, atol=1)  # of 16,384 where zeros are rounded


def test_without_winograd_sums_are_direct():
    function, arguments, expected = next(three(CHOSEN["many channels"][0]))
    assert "winograd(" in written(function, arguments).source
    with torch.execution.without("winograd"):
        code = written(function, arguments)
    assert "winograd(" not in code.source
    close(code.body(*arguments), expected)

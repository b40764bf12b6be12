"""The NumPy backend against XLA: what moves elements, products of matrices, control flow, indices, windows, keys.

Each check runs a function by both (``agrees``). What only moves elements must be the same to the bit.
"""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from tapegrad._src.execution.numpy_backend import swept, windowed
from tapegrad._src.execution.numpy_backend.elementwise import chosen
from tapegrad._src.execution.numpy_backend.operands import RULES, Unwritable
from tapegrad._src.execution.numpy_backend.writer import written
from tapegrad.ops.sorting import _searched

pytestmark = pytest.mark.once("kernels are run by themselves")

DTYPES = ["float32", "float64", "complex64", "int32", "int8", "bool", "float16", ml_dtypes.bfloat16]


def drawn(*shape, dtype="float32"):
    """Numbers of a shape and a dtype, the same ones in each run."""
    random = np.random.default_rng(0)
    values = random.normal(size=shape) * 5
    if np.dtype(dtype).kind == "c":
        values = values + 1j * random.normal(size=shape)
    return np.asarray(values).astype(dtype)


def agrees(function, *arguments, tolerance=0.0):
    """Run a function by XLA and as it is written; gives its source."""
    arguments = [np.asarray(argument) for argument in arguments]
    kept = [argument.copy() for argument in arguments]
    with jax.enable_x64(True):
        body, source, _ = written(function, [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arguments])
        expected = jax.tree.leaves(jax.jit(function)(*arguments))
    with np.errstate(all="ignore"):
        results = jax.tree.leaves(body(*arguments))
    for result, value in zip(results, map(np.asarray, expected), strict=True):
        assert type(result) is np.ndarray
        assert (result.dtype, result.shape) == (value.dtype, value.shape)
        if tolerance:
            wide = np.complex128 if value.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(result.astype(wide), value.astype(wide), rtol=tolerance, atol=tolerance)
        else:
            wide = np.float32 if value.dtype == ml_dtypes.bfloat16 else value.dtype
            np.testing.assert_array_equal(result.astype(wide), value.astype(wide))
    for argument, before in zip(arguments, kept, strict=True):
        assert argument.tobytes() == before.tobytes()
    return source


def test_the_check_finds_what_is_wrong(monkeypatch):
    monkeypatch.setitem(RULES, "rev", RULES["copy"])
    with pytest.raises(AssertionError, match="Mismatched"):
        agrees(lambda x: x[::-1], drawn(3))


# -- the writer --------------------------------------------------------------------------------------------------------


def test_what_constants_give_is_computed_when_it_is_written():
    assert "arange" not in agrees(lambda x: jnp.where(jnp.tri(3, dtype=bool), x, 0), drawn(3, 3))


def test_arguments_and_results_that_are_none():
    def function(x, nothing, y):
        return (x + y, nothing)

    x = jax.ShapeDtypeStruct((), "float32")
    assert written(function, [x, None, x]).body(np.ones((), "float32"), None, np.ones((), "float32"))[0] == 2


def test_what_is_computed_twice_is_written_once():
    source = agrees(lambda x: jnp.tanh(x + x) * (jnp.tanh(x + x) - jnp.tanh(x + x)), drawn(3), tolerance=1e-6)
    assert source.count("tanh") == source.count("add(") == 1


def test_what_is_written_to_is_not_shared():
    def function(x, i):
        zeros = jnp.zeros(3)
        return zeros.at[i].set(x), jnp.zeros(3), zeros.at[i].add(x), x.at[i].set(1.0), x.at[i].set(2.0)

    agrees(function, drawn(3), np.array([0, 1, 1]))


def test_what_only_one_way_assigns_is_not_read_in_another():
    def function(x, i, j):
        return x[i, j], jnp.where(i < 0, i + 3, i).astype("int32") + 1, x[j, i], x[i]

    for places in ([0, 1], [0, -9], [2, -1]):
        agrees(function, drawn(3, 3), np.array(places), np.array([1, 0]))


# -- shapes ------------------------------------------------------------------------------------------------------------

X = drawn(2, 3, 4)

MOVED = {
    "reshape": lambda x: (x.reshape(6, 4), x.reshape(24), x[None], x[:1, :1, :1].reshape(()), x[0][None].squeeze(0)),
    "transpose": lambda x: (x.T, x.swapaxes(1, 2), x.transpose(1, 0, 2), x[0].T),
    "broadcast": lambda x: (jnp.broadcast_to(x[:, :1], (2, 3, 4)), jnp.broadcast_to(x[0, 0], (2, 4)), jnp.ones((2, 3))),
    "broadcast and transpose": lambda x: jnp.broadcast_to(x[0, 0], (3, 4)).T,
    "broadcast and reverse": lambda x: jnp.flip(jnp.broadcast_to(x[0], (2, 3, 4)), (0, 2)),
    "slice": lambda x: (
        x[1],
        x[:, 2],
        x[0, :, 3],
        x[1, 1, 1],
        x[..., ::2],
        x[:, 1:],
        x[:, 3:],
        x[1:, 1:2, 3:].squeeze(),
    ),
    "reverse": lambda x: (x[::-1, :, ::-2], jnp.flip(x)),
    "join": lambda x: (jnp.stack([x, x + 1], 1), jnp.concatenate([x, x[:, :1], x[:, :0]], 1), jnp.concatenate([x])),
    "split": lambda x: jnp.split(x, [1, 1, 3], axis=2),
    "tile": lambda x: (jnp.tile(x, (2, 1, 3)), jnp.tile(x, (2, 1, 1, 1)), jnp.tile(x, (0, 1, 1))),
    "iota": lambda x: (lax.broadcasted_iota(x.dtype, (2, 3, 4), 1), jnp.arange(3), x),
    "large iota": lambda x: lax.broadcasted_iota(jnp.int32, (300, 300), 1),
}


@pytest.mark.parametrize("name", MOVED)
@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", ml_dtypes.bfloat16])
def test_moving_elements(name, dtype):
    agrees(MOVED[name], X.astype(dtype))
    agrees(lambda x: MOVED["reverse"](MOVED["transpose"](x)[0]), X.astype(dtype))


def test_a_slice_that_is_broadcast_later_is_no_index():
    agrees(lambda x: lax.squeeze(lax.broadcast_in_dim(x[0, :, 0:1], (2, 3, 1), (1, 2)), (2,)), X)


def test_a_slice_of_one_place_is_an_index():
    assert agrees(lambda x: x[1, :, 2], X).endswith("return x0[1, :, 2, ...]")


@pytest.mark.parametrize(
    "config",
    [
        [(1, 2, 0), (-1, 0, 0), (0, 1, 2)],
        [(-1, 2, 1), (-2, -1, 0), (-2, -3, 2)],
        [(0, 0, 0), (-1, -1, 0), (-1, 0, 0)],
        [(-5, 7, 0), (0, 0, 0), (-1, 0, 0)],
        [(0, 0, 0), (-2, 1, 2), (3, -4, 1)],
        [(0, 0, 0), (0, 0, 0), (0, 0, 0)],
        [(1, 1, 1), (0, 0, 1), (2, 0, 0)],
    ],
)
@pytest.mark.parametrize("fill", [0.0, -0.0, 7.0])
def test_padding(config, fill):
    agrees(lambda x: lax.pad(x, np.float32(fill), config), X)
    agrees(lambda x: lax.pad(x[:0, :1], np.float32(fill), [(low + 9, high, inner) for low, high, inner in config]), X)


@pytest.mark.parametrize("place", [-9, -1, 0, 1, 2, 7, np.iinfo("int64").max, np.iinfo("int64").min])
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_slices_at_places_that_are_data(place, dtype):
    place = np.asarray(place).astype(dtype)
    agrees(lambda x, i: lax.dynamic_slice(x, (0 * i, i, i), (2, 2, 1)), X, place)
    agrees(lambda x, i: lax.dynamic_index_in_dim(x, i, 1, keepdims=False), X, place)
    agrees(lambda x, i: lax.dynamic_index_in_dim(x[0, 0], i, 0, keepdims=False), X, place)
    agrees(lambda x, i: lax.dynamic_update_slice(x, x[:1, :2] * 2, (0 * i, i, i)), X, place)
    agrees(lambda x, i: lax.dynamic_update_slice(jnp.zeros_like(x), x[:, :1], (i, i, i)), X, place)
    agrees(lambda x, i: lax.dynamic_update_slice(x, -x, (i, i, i)), X, place)


def test_places_counted_from_the_end_are_one_call():
    source = agrees(lambda x, i: lax.dynamic_index_in_dim(x, i, 1, keepdims=False), X, np.array(-1))
    assert source == "def body(x0, x1):\n    v0 = clamped(x1, 2, 3)\n    return x0[:, v0]"


# -- products ----------------------------------------------------------------------------------------------------------

PRODUCTS = [
    ((3, 4), (4, 2), (((1,), (0,)), ((), ()))),
    ((4, 3), (2, 4), (((0,), (1,)), ((), ()))),
    ((4,), (4,), (((0,), (0,)), ((), ()))),
    ((4,), (4, 3), (((0,), (0,)), ((), ()))),
    ((2, 3, 4), (4, 2), (((2,), (0,)), ((), ()))),
    ((2, 3, 4), (4, 2, 5), (((2, 0), (0, 1)), ((), ()))),
    ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
    ((2, 3, 4), (7, 4, 3, 2), (((2, 1), (1, 2)), ((0,), (3,)))),
    ((2, 3, 2, 4), (2, 4, 3), (((3,), (1,)), ((0, 1), (0, 2)))),
    ((2, 3), (2, 3), (((1,), (1,)), ((0,), (0,)))),
    ((2, 3), (2, 5), (((), ()), ((0,), (0,)))),
    ((2, 3), (5,), (((), ()), ((), ()))),
    ((), (), (((), ()), ((), ()))),
    ((0, 3), (0, 5), (((0,), (0,)), ((), ()))),
    ((2, 0), (2, 0), (((1,), (1,)), ((0,), (0,)))),
    ((0, 3), (3, 5), (((1,), (0,)), ((), ()))),
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_matrices(dtype):
    dtype = np.dtype(dtype)
    tolerance = 0.0 if dtype.kind in "iub" else 2e-2 if dtype.itemsize == 2 else 1e-4

    def products(*arrays):
        pairs = zip(arrays[::2], arrays[1::2], PRODUCTS, strict=True)
        return [lax.dot_general(x, y, numbers) for x, y, (*_, numbers) in pairs]

    arrays = [drawn(*shape, dtype=dtype) for first, second, _ in PRODUCTS for shape in (first, second)]
    agrees(products, *arrays, tolerance=tolerance)


def test_products_of_another_dtype_than_their_factors():
    def product(dtype):
        return lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=dtype)

    agrees(product("int32"), drawn(3, 4, dtype="int8") * 9, drawn(4, 2, dtype="int8") * 9)
    agrees(product("float32"), drawn(3, 4, dtype="float16"), drawn(4, 2, dtype="float16"), tolerance=1e-5)
    agrees(product("float64"), drawn(3, 4), drawn(4, 2), tolerance=1e-6)


def test_sixteen_bit_floats_are_summed_up_in_thirty_two():
    ones = np.ones((1, 4096), ml_dtypes.bfloat16)
    agrees(lambda x: x @ x.T, ones)


def test_a_linear_layer_is_two_calls():
    source = agrees(lambda x, w, b: x @ w.T + b, drawn(5, 4), drawn(3, 4), drawn(3), tolerance=1e-4)
    assert source.endswith("return add(x0.dot(x1.T), x2)")


# -- control flow ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [-1, 0, 1, 2, 5])
def test_branches(place):
    branches = [lambda x: (x + 1, x[0]), lambda x: (x * 2, x[1]), lambda x: (-x, x[2])]
    agrees(lambda x, i: lax.switch(i, branches, x), X[0], np.array(place))
    agrees(lambda x, i: lax.cond(i > 0, *branches[:2], x), X[0], np.array(place))


def test_the_branch_for_this_platform_is_written_alone():
    source = agrees(lambda x: lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x * 2), X)
    assert "multiply" not in source
    assert "[" not in source
    branches = {"cpu": lambda x: x + x, "host": lambda x: x * 2, "default": lambda x: x - 1}
    assert "multiply" in agrees(lambda x: lax.platform_dependent(x, **branches), X)


def test_loops():
    x, count = X[0], np.array(4)
    agrees(lambda x, n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + x), (0, x)), x, count)
    agrees(lambda x, n: lax.fori_loop(0, n, lambda i, c: c + i, x), x, count)
    agrees(lambda x, n: lax.while_loop(lambda c: False, lambda c: c + 1, x), x, count)
    for reverse in (False, True):
        agrees(
            lambda x, reverse=reverse: lax.scan(
                lambda c, a: (c + a, jnp.concatenate([-c, a])), x[0], x[1:], reverse=reverse
            ),
            x,
        )
    agrees(lambda x: lax.scan(lambda c, a: (c + 1, c), jnp.float32(0), None, length=3), x)
    agrees(lambda x: lax.scan(lambda c, a: (c - 1, a * 2), x, x[:0], length=0), x)
    agrees(lambda x: lax.map(lambda a: a * 2, x), x)
    halved = jax.vmap(lambda n, x: lax.while_loop(lambda c: c[0] > 1, lambda c: (c[0] // 2, c[1] + x), (n, x)))
    agrees(halved, np.array([1, 9, 0, 4]), np.stack([x, x + 1, x + 2, x + 3]))


def test_functions_inside_functions():
    agrees(lambda x: jax.checkpoint(lambda x: x * 2)(jax.jit(lambda x: -x)(x)) + jax.jit(lambda x: -x)(x[::-1]), X)
    agrees(lambda x: lax.custom_linear_solve(lambda v: v * 2, x, lambda f, b: b / 2), X)


def test_a_primitive_without_a_rule_is_named():
    with pytest.raises(Unwritable, match="householder_product"):
        written(lax.linalg.householder_product, [jax.ShapeDtypeStruct(shape, "float32") for shape in ((3, 3), (3,))])


# -- indices -----------------------------------------------------------------------------------------------------------

Y = drawn(4, 3, 5)

READ = {
    "rows": lambda x, i, j: x[i],
    "columns": lambda x, i, j: x[:, i],
    "last": lambda x, i, j: x[..., i],
    "pairs": lambda x, i, j: x[i, j],
    "pairs around": lambda x, i, j: x[i, :, j],
    "pairs behind": lambda x, i, j: x[:, i, j],
    "grid": lambda x, i, j: x[i[:, None], j[None], 1],
    "one": lambda x, i, j: x[i[0]],
    "one element": lambda x, i, j: x[i[0], j[1], i[2]],
    "known": lambda x, i, j: (x[np.array([1, 2, -1])], x[np.array([1, 2]), :, np.array([-1, 0])]),
    "none": lambda x, i, j: x[i[:0]],
    "clip": lambda x, i, j: jnp.take(x, i, axis=1, mode="clip"),
    "fill": lambda x, i, j: jnp.take(x, i, axis=2, mode="fill"),
    "wrap": lambda x, i, j: jnp.take(x, i, axis=2, mode="wrap"),
    "filled": lambda x, i, j: x.at[i, :, j].get(mode="fill", fill_value=7),
    "along": lambda x, i, j: jnp.take_along_axis(x[..., 0], i[:, None], 1),
    "along, clipped": lambda x, i, j: jnp.take_along_axis(x[..., 0], i[:, None], 1, mode="clip"),
    "along the first": lambda x, i, j: jnp.take_along_axis(x[..., 0], jnp.stack([i, j, i], 1), 0),
    "along the last": lambda x, i, j: jnp.take_along_axis(
        x, i[:, None, None] + jnp.arange(3, dtype=i.dtype)[:, None], 2
    ),
    "diagonal": lambda x, i, j: (jnp.diagonal(x), jnp.diagonal(x[0])),
}

PLACES = {
    "within": (np.array([0, 2, -1, 2]), np.array([1, -3, 2, 0])),
    "beyond": (np.array([0, 7, -9, 2]), np.array([1, -3, 2**33 + 1, -100])),
    "unsigned": (np.array([0, 2, 1, 2], "uint8"), np.array([1, 0, 2, 0], "uint32")),
    "all unsigned": (np.array([0, 2, 1, 2], "uint64"), np.array([1, 0, 2, 0], "uint64")),
    "small": (np.array([0, 2, -1, -9], "int8"), np.array([1, -3, 2, 0], "int16")),
}


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("name", READ)
def test_reading_at_places_that_are_data(name, places):
    agrees(READ[name], Y, *PLACES[places])


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "complex64", ml_dtypes.bfloat16])
def test_what_is_beyond_the_end_is_filled(dtype):
    agrees(lambda x, i: jnp.take(x, i, axis=1, mode="fill"), drawn(2, 3, dtype=dtype), np.array([0, 3, -4]))


@pytest.mark.parametrize("dtype", ["uint8", "uint64"])
def test_places_that_are_not_counted_from_the_end(dtype):
    places = np.array([0, 200, 1], dtype)
    for mode in ("clip", "fill"):
        agrees(lambda x, i, mode=mode: jnp.take(x, i, axis=1, mode=mode), Y, places)
        agrees(lambda x, i, mode=mode: x.at[i, :, i].get(mode=mode), Y, places)
        agrees(lambda x, i, mode=mode: x.at[i].add(1.0, mode=mode), Y, places)


def test_rows_are_one_call():
    source = agrees(READ["rows"], Y, *PLACES["within"])
    assert source.splitlines()[1:3] == ["    try:", "        v0 = taken(x0, x1, 0)"]


WRITTEN = {
    "rows": lambda x, i, j: (x.at[i], x[:4] * 2),
    "rows of one number": lambda x, i, j: (x.at[i], 2.0),
    "columns": lambda x, i, j: (x.at[:, i], x[:, :1]),
    "pairs": lambda x, i, j: (x.at[i, j], x[:4, 0]),
    "pairs around": lambda x, i, j: (x.at[i, :, j], x[:4, :, 0]),
    "one": lambda x, i, j: (x.at[i[0]], x[0]),
    "one element": lambda x, i, j: (x.at[i[1], 1, j[1]], 3.0),
    "none": lambda x, i, j: (x.at[i[:0]], 3.0),
    "zeros": lambda x, i, j: (jnp.zeros((4, 3), x.dtype).at[i], x[..., 0]),
    "known": lambda x, i, j: (x.at[np.array([0, 1, 1]), :, np.array([0, 1, -1])], x[:3, :, 0]),
}


@pytest.mark.parametrize("places", ["within", "beyond", "unsigned"])
@pytest.mark.parametrize("name", WRITTEN)
def test_writing_at_places_that_are_data(name, places):
    def written_by(way, mode):
        def function(x, i, j):
            target, values = WRITTEN[name](x, i, j)
            return getattr(target, way)(values, mode=mode)

        return function

    for way in ("set", "add", "multiply", "min", "max"):
        for mode in ("clip", "drop"):
            tolerance = 1e-6 if way in ("add", "multiply") else 0
            agrees(written_by(way, mode), Y, *PLACES[places], tolerance=tolerance)


def test_sums_of_many_rows():
    rows = np.random.default_rng(0).integers(-50, 50, (30, 10))
    values = drawn(30, 10, 4, 5)
    for places in (rows, rows.astype("int32"), np.where(rows == 3, 50, rows), np.where(rows == 3, -51, rows)):
        agrees(lambda x, i, v: x.at[i].add(v, mode="drop"), drawn(50, 4, 5), places, values, tolerance=1e-4)


def test_writing_where_nan_is():
    x, places = np.array([1, np.nan, 3], "float32"), np.array([0, 1, 1, 2, 2])
    values = np.array([np.nan, 1, 2, 5, 4], "float32")
    for way in ("min", "max", "add", "set"):
        agrees(lambda x, i, v, way=way: getattr(x.at[i], way)(v), x, places, values)


@pytest.mark.parametrize("dtype", ["int8", "float16", ml_dtypes.bfloat16])
def test_sums_of_small_numbers_at_one_place(dtype):
    agrees(lambda x, i, v: x.at[i].add(v), np.ones(3, dtype), np.zeros(100, "int32"), np.full(100, 3, dtype))


STARTS = np.array([[0, 0], [1, 2], [-2, 3], [5, 9]], "int32")
WINDOWS = {
    "all kept": ((1, 2, 3), (), (0, 2), (2, 3, 3)),
    "one dropped": ((0, 2), (1,), (2, 0), (2, 1, 3)),
    "in another order": ((0, 2), (1,), (1, 0), (1, 1, 2)),
}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_windows_at_places_that_are_data(name, mode):
    kept, gone, starts, sizes = WINDOWS[name]
    gathered = lax.GatherDimensionNumbers(offset_dims=kept, collapsed_slice_dims=gone, start_index_map=starts)
    scattered = lax.ScatterDimensionNumbers(
        update_window_dims=kept, inserted_window_dims=gone, scatter_dims_to_operand_dims=starts
    )
    agrees(lambda x, s: lax.gather(x, s, gathered, sizes, mode=mode), Y, STARTS)
    agrees(lambda x, s: lax.gather(x, s, gathered, sizes, mode=mode), Y, STARTS.astype("uint8"))
    values = jax.eval_shape(lambda: lax.gather(Y, STARTS, gathered, sizes, mode="clip"))
    values = drawn(*values.shape)
    for combine in (lax.scatter, lax.scatter_add, lax.scatter_max):
        tolerance = 1e-5 if combine is lax.scatter_add else 0
        agrees(
            lambda x, s, v, combine=combine: combine(x, s, v, scattered, mode=mode),
            Y,
            STARTS,
            values,
            tolerance=tolerance,
        )


# -- windows that slide ------------------------------------------------------------------------------------------------

CONVOLUTIONS = {
    "plain": ((2, 4, 7, 6), (6, 4, 3, 2), {"window_strides": (1, 1), "padding": "VALID"}),
    "dilated": (
        (2, 4, 7, 6),
        (6, 4, 3, 2),
        {"window_strides": (2, 3), "padding": ((1, 2), (-1, 3)), "lhs_dilation": (2, 3), "rhs_dilation": (2, 1)},
    ),
    "groups": ((2, 4, 7), (6, 2, 3), {"window_strides": (2,), "padding": "SAME", "feature_group_count": 2}),
    "batch groups": ((4, 3, 7), (6, 3, 3), {"window_strides": (1,), "padding": "SAME", "batch_group_count": 2}),
    "channels last": (
        (2, 7, 6, 4),
        (3, 2, 4, 6),
        {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": ("NHWC", "HWIO", "NHWC")},
    ),
    "volumes": ((2, 3, 4, 5, 4), (2, 3, 2, 2, 2), {"window_strides": (1, 1, 2), "padding": "SAME"}),
    "no place": ((2, 1, 3), (4, 1, 5), {"window_strides": (1,), "padding": "VALID"}),
    "empty": ((0, 1, 3), (4, 1, 2), {"window_strides": (1,), "padding": "VALID"}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16"])
def test_convolutions(name, dtype):
    first, second, settings = CONVOLUTIONS[name]
    tolerance = 5e-2 if dtype == "float16" else 2e-3
    agrees(lambda x, w: lax.conv_general_dilated(x, w, **settings), drawn(*first, dtype=dtype),
           drawn(*second, dtype=dtype), tolerance=tolerance)  # fmt: skip


@pytest.mark.parametrize("at_a_time", [1, 200, 400, 1 << 17])
@pytest.mark.parametrize(
    "width, padding", [((3, 2), ((1, 1), (0, 1))), ((2, 3), ((-1, 2), (1, -2))), ((1, 2), "VALID")]
)
def test_convolutions_are_laid_out_in_parts_of_any_size(width, padding, at_a_time, monkeypatch):
    monkeypatch.setattr(swept, "LAID_OUT", at_a_time)
    windowed.choices.cache.clear()
    x, w = drawn(5, 2, 6, 7), drawn(4, 2, *width)

    def convolved(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), padding)

    assert "swept(" in agrees(convolved, x, w, tolerance=1e-4)
    y = np.asarray(convolved(x, w))
    assert "swept_between(" in agrees(lambda y: jax.vjp(lambda w: convolved(x, w), w)[1](y), y, tolerance=1e-4)
    windowed.choices.cache.clear()


@pytest.mark.parametrize("number", [np.inf, np.nan])
def test_what_is_no_number_counts_in_the_windows_that_read_it(number):
    x, w, y = np.zeros((1, 1, 4, 5), "float32"), np.ones((1, 1, 3, 3), "float32"), np.ones((1, 1, 4, 5), "float32")
    x[0, 0, 1, 4] = number

    def convolved(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)))

    agrees(convolved, x, w)
    agrees(lambda x, y: jax.vjp(lambda w: convolved(x, w), w)[1](y), x, y)


@pytest.mark.parametrize("combine, start", [(lax.add, 0.0), (lax.max, -np.inf), (lax.min, np.inf)])
def test_pooling(combine, start):
    x = drawn(2, 7, 8)
    width, strides = (1, 3, 2), (1, 2, 1)

    def pooled(padding, **settings):
        return lambda x: lax.reduce_window(x, np.float32(start), combine, width, strides, padding, **settings)

    agrees(pooled(((0, 0), (1, 1), (0, 1))), x, tolerance=1e-5)
    agrees(pooled("VALID", base_dilation=(1, 2, 1), window_dilation=(1, 1, 2)), x, tolerance=1e-5)
    agrees(pooled("SAME"), np.where(x > 8, np.nan, x), tolerance=1e-5)


# -- linear algebra and transforms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_factorizations(dtype):
    a = drawn(2, 3, 3, dtype=dtype)
    positive = a @ a.conj().swapaxes(-1, -2)
    linalg, close = lax.linalg, {"tolerance": 1e-3}
    agrees(linalg.cholesky, np.stack([positive[0], -positive[1]]), **close)
    agrees(linalg.cholesky, positive[:0], **close)
    agrees(lambda a: linalg.svd(a, compute_uv=False), a[:, :2], **close)
    agrees(lambda a: linalg.svd(a, full_matrices=True), a, **close)
    agrees(linalg.eigh, np.stack([positive[0], positive[1] * np.nan]), **close)
    agrees(lambda a: linalg.eigh(a)[1], positive, **close)
    for one in (a, a[0], a[:, :, :2], a[:, :2], a[:0], a[:, :0], np.zeros_like(a), np.stack([a[0], a[1] * np.nan])):
        agrees(linalg.lu, one, **close)
    agrees(lambda a: linalg.eig(a, compute_left_eigenvectors=False), a, **close)
    agrees(lambda a: linalg.qr(a, full_matrices=False), a[:, :, :2], **close)
    agrees(lambda p: linalg.lu_pivots_to_permutation(p, 4), np.array([[2, 2, 3], [0, 1, 2]], "int32"))


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_triangular_systems(size, dtype):
    a = drawn(2, size, size, dtype=dtype) / (4 * size) + 2 * np.eye(size, dtype=dtype)

    def solutions(a, b):
        cases = [
            (left, lower, turned, unit) for left in (0, 1) for lower in (0, 1) for turned in (0, 1) for unit in (0, 1)
        ]
        return [
            lax.linalg.triangular_solve(a, b if left else b.mT, left_side=bool(left), lower=bool(lower),
                                        transpose_a=bool(turned), conjugate_a=bool(turned), unit_diagonal=bool(unit))
            for left, lower, turned, unit in cases
        ]  # fmt: skip

    agrees(solutions, a, drawn(2, size, 2, dtype=dtype), tolerance=1e-4)


def test_a_singular_triangular_system():
    agrees(lambda a: lax.linalg.triangular_solve(a, jnp.ones_like(a), left_side=True), np.zeros((3, 3), "float32"))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_fourier_transforms(dtype):
    x, fft = drawn(3, 4, dtype=dtype), jnp.fft
    agrees(lambda x: (fft.fft(x), fft.ifft(x), fft.fft2(x), fft.ifftn(x)), x, tolerance=1e-5)
    agrees(lambda x: (fft.irfft(x), fft.irfft(x, 5), fft.irfft(x, 1), fft.irfft2(x)), x, tolerance=1e-5)
    agrees(lambda x: (fft.rfft(x), fft.rfft(x, 7), fft.rfftn(x)), x.real, tolerance=1e-5)


# -- random numbers ----------------------------------------------------------------------------------------------------

KEY = np.array([7, 123456], "uint32")


def test_random_bits_are_the_same():
    wrapped, data = jax.random.wrap_key_data, jax.random.key_data
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        agrees(lambda k, dtype=dtype: jax.random.bits(wrapped(k), (3, 5), dtype), KEY)
        agrees(lambda k, dtype=dtype: jax.random.bits(wrapped(k), (70,), dtype), KEY)  # more than few
    agrees(lambda k: (jax.random.bits(wrapped(k), ()), jax.random.bits(wrapped(k), (0, 3))), KEY)
    agrees(lambda k: (data(jax.random.split(wrapped(k), (2, 3))), data(jax.random.split(wrapped(k))[1])), KEY)
    agrees(lambda k, n: data(jax.random.fold_in(wrapped(k), n)), KEY, np.array(-5, "int32"))
    for dtype in ("int64", "int32", "uint64"):
        agrees(lambda n: data(jax.random.key(n)), np.array(-5).astype(dtype))
    agrees(lambda k: jax.vmap(lambda k: jax.random.bits(wrapped(k), (3,)))(k), np.stack([KEY, KEY + 1]))
    agrees(lambda k: jax.random.bits(k, (3,)), KEY)
    agrees(lambda k: jax.random.uniform(wrapped(k), (100,)), KEY)


# -- choices -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64", "bool", "complex64", "complex128"])
def test_many_elements_are_chosen_as_few_are(dtype):
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        for shape, other in (((100, 200), ()), ((100, 200), (200,)), ((100, 200), (100, 200))):
            yes, no = ((rng.normal(size=one) * 5).astype(dtype) for one in (shape, other))
            if yes.dtype.kind in "fc":
                yes.flat[:4] = np.nan, np.inf, -np.inf, -0.0
            condition = rng.random(shape) > 0.5
            agrees(jnp.where, condition, yes, no)
            agrees(jnp.where, condition, no, yes)
            agrees(lambda condition, yes: jnp.where(condition, yes, jnp.zeros((), yes.dtype)), condition, yes)
            assert chosen(condition, yes, no).base is None


def test_the_square_of_what_has_no_sign_is_that_of_the_number():
    assert "absolute" not in written(lambda x: lax.square(lax.abs(x)), [X]).source
    agrees(lambda x: lax.square(lax.abs(x)), X)
    agrees(lambda x: lax.square(lax.abs(x)), (X + 1j * X).astype("complex64"))


# -- functions with forms ----------------------------------------------------------------------------------------------


SEARCHED = {
    "one row": ([-1.0, 0, 0, 2], [[-2, -1, 0], [1, 2, np.nan]]),
    "rows": ([[1, 3, 5], [2, 2, 9]], [[0, 1, 2, 3, 4, 5, 6, 7, 8], [2, 1, 3, 9, 8, 10, 2, 2, 0]]),
    "short rows": ([[1, 3, 5], [2, 2, 9]], [[3], [2]]),
    "not in order": ([3.0, 1, 2], [1.0, 2, 3]),
    "nan": ([1.0, 2, np.nan, np.nan], [0.0, np.inf, np.nan]),
    "nothing but nan": ([np.nan], [0.0, np.nan]),
    "nowhere": (np.zeros(0), [1.0, 2]),
    "nothing": ([1.0, 2], np.zeros(0)),
}


@pytest.mark.parametrize("dtype", ["float32", "int64", ml_dtypes.bfloat16])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("case", SEARCHED)
def test_a_search_is_one_call(case, right, dtype):
    with np.errstate(invalid="ignore"):
        ordered, values = (np.asarray(x).astype(dtype) for x in SEARCHED[case])
    assert "indices_among" in agrees(lambda *arrays: _searched(*arrays, right=right), ordered, values)


def test_a_mapped_search_is_what_its_equations_say():
    ordered, values = np.sort(drawn(3, 4), 0), drawn(3, 5)
    search = lambda ordered, value: _searched(ordered, value, right=False)
    assert "indices_among" not in agrees(jax.vmap(search, (1, None), 1), ordered, values[0])


def test_nothing_is_differentiated_through_a_form():
    x = jnp.arange(3.0)
    assert jax.grad(lambda x: (x * _searched(x, x, right=False)).sum())(x).tolist() == [0, 1, 2]


# -- places ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [3, 700])
@pytest.mark.parametrize("lowest", [0, -40])
def test_many_places_are_added_to(columns, lowest):
    random = np.random.default_rng(1)
    x, rows = drawn(40, columns, dtype="int32"), random.integers(lowest, 40, 60)
    updates, places = drawn(60, columns, dtype="int32"), random.integers(lowest, 40, (60, columns))
    agrees(lambda x, i, y: x.at[i].add(y), x, rows, updates)
    agrees(lambda x, i, y: x.at[i].max(y), x, rows, updates)
    agrees(lambda x, i, y: x.at[i, jnp.arange(columns)].add(y), x, places, updates)
    agrees(lambda x, i, y: x.T.at[jnp.arange(columns), i].add(y), x, places, updates)


def test_what_lies_beyond_the_end_is_left_out_of_many_sums():
    x, rows = drawn(4, 700), np.array([0, 9, 3])
    agrees(lambda x, i, y: x.at[i].add(y), x, rows, drawn(3, 700))
    agrees(lambda x, i, y: x.at[jnp.arange(4)[:, None], i].add(y), x, np.full((4, 200), 800), drawn(4, 200))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_factors_are_multiplied_abreast(dtype):
    x = np.random.default_rng(3).uniform(0.9, 1.1, (90, 192)).astype(dtype)
    x[0, 3], x[1, 5], x[2, 7], x[3, 9] = 0, np.nan, np.inf, -1
    agrees(lambda x: x.prod(1), x, tolerance=1e-5 if dtype == "float32" else 1e-13)

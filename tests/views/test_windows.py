"""Windows on values against NumPy, which can write through strides: every kind of box, and memory of other dtypes."""

from math import prod

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from tapegrad._src.execution.array_functions import windows
from tapegrad._src.execution.array_functions.windows import CONJUGATED, NEGATED, Window, read_window, write_window
from tapegrad._src.execution.data import boxes
from tapegrad._src.execution.kernels.kernel import kernel_for

pytestmark = pytest.mark.once("kernels on arrays, which are never deferred")

F32, C64, F64, I16 = map(np.dtype, ("float32", "complex64", "float64", "int16"))


def memory(dtype, size):
    """A row of numbers that are all different, in every dtype that a window shows them in."""
    numbers = np.arange(1, size + 1, dtype="float64")
    return (numbers + 1j * (100 + numbers) if np.dtype(dtype).kind == "c" else numbers).astype(dtype)


def expected(row, dtype, shape, strides, offset, view_bits=0):
    shown = as_strided(row.view(dtype)[offset:], shape, [stride * np.dtype(dtype).itemsize for stride in strides])
    return look(shown, view_bits)


def look(array, view_bits):
    array = np.conj(array) if view_bits & CONJUGATED else array
    return np.negative(array) if view_bits & NEGATED else array


def check(old, root, root_strides, shape, strides, offset, dtype=None, view_bits=0):
    """Read a window on a memory of dtype ``old``, then write it."""
    row, dtype = memory(old, prod(root)), np.dtype(dtype or old)
    last = offset + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
    assert last < row.nbytes // dtype.itemsize
    value = as_strided(row, root, [stride * row.dtype.itemsize for stride in root_strides])
    with jax.enable_x64(True):
        array = jnp.asarray(value)
    shown = read_window(array, root_strides, shape, strides, offset, dtype, view_bits)
    assert (shown.dtype, shown.shape) == (dtype, shape)
    np.testing.assert_array_equal(np.asarray(shown), expected(row, dtype, shape, strides, offset, view_bits))
    new = memory(dtype, prod(shape)).reshape(shape)
    with jax.enable_x64(True):
        written = write_window(array, root_strides, jnp.asarray(new), strides, offset, dtype, view_bits)
    target = as_strided(row.view(dtype)[offset:], shape, [stride * dtype.itemsize for stride in strides])
    target[...] = look(new, view_bits)
    np.testing.assert_array_equal(np.asarray(written), value)


BOXES = {
    "all": ((4, 6), (6, 1), 0),
    "transposed": ((6, 4), (1, 6), 0),
    "row": ((6,), (1,), 12),
    "column": ((4,), (6,), 5),
    "rows": ((2, 6), (6, 1), 6),
    "block": ((2, 3), (6, 1), 8),
    "block_of_columns": ((3, 2), (1, 6), 8),
    "every_second": ((2, 3), (12, 2), 7),
    "every_fourth": ((4, 2), (6, 4), 1),
    "split": ((4, 3), (6, 2), 1),
    "halves": ((2, 2, 6), (12, 6, 1), 0),
    "ones": ((1, 4, 1), (7, 6, 3), 2),
    "element": ((), (), 23),
    "diagonal": ((3,), (7,), 0),
}  # fmt: skip
OTHERS = {
    "over_an_edge": ((2, 4), (6, 1), 3),
    "long_diagonal": ((2,), (23,), 0),
}


@pytest.mark.parametrize(("shape", "strides", "offset"), BOXES.values(), ids=BOXES)
def test_boxes(shape, strides, offset):
    assert boxes.box_form((24,), shape, strides, offset)
    check(F32, (4, 6), (6, 1), shape, strides, offset)
    check(F32, (24,), (1,), shape, strides, offset)


@pytest.mark.parametrize(("shape", "strides", "offset"), OTHERS.values(), ids=OTHERS)
def test_what_is_no_box_goes_by_index(shape, strides, offset):
    assert boxes.box_form((4, 6), shape, strides, offset) == boxes.box_form((24,), shape, strides, offset) == ""
    check(F32, (4, 6), (6, 1), shape, strides, offset)


@pytest.mark.parametrize("name", ["column", "block", "over_an_edge"])
def test_memory_in_another_order(name):
    check(F32, (6, 4), (1, 6), *{**BOXES, **OTHERS}[name])


def test_overlaps_are_read_and_the_last_of_repeated_elements_is_written():
    row, value = memory(F32, 6), jnp.asarray(memory(F32, 6))
    for shape, strides in [((3, 3), (1, 1)), ((2, 3), (0, 2)), ((2, 2, 2), (2, 0, 1))]:
        np.testing.assert_array_equal(
            read_window(value, (1,), shape, strides, 1), expected(row, F32, shape, strides, 1)
        )
    assert write_window(value, (1,), jnp.asarray([[7, 8], [9, 10.0]]), (0, 2), 1).tolist() == [1, 9, 3, 10, 5, 6]


def test_nothing_to_show_or_to_write():
    value = jnp.zeros(6)
    assert read_window(value, (1,), (0, 3), (3, 1), 0).shape == (0, 3)
    assert write_window(value, (1,), jnp.zeros((0, 3)), (3, 1), 0).tolist() == [0] * 6
    assert read_window(jnp.zeros((0,)), (1,), (2, 0), (1, 1), 0).shape == (2, 0)


def test_what_is_written_is_cast():
    assert write_window(jnp.zeros(3, "int32"), (1,), jnp.asarray([1.5]), (1,), 1).tolist() == [0, 1, 0]


RETYPED = {
    "real": (C64, (2, 3), (6, 2), 0, F32),
    "imag": (C64, (2, 3), (6, 2), 1, F32),
    "imag_of_a_column": (C64, (2,), (6,), 3, F32),
    "as_real": (C64, (2, 3, 2), (6, 2, 1), 0, F32),
    "across_elements": (C64, (2, 2), (2, 1), 7, F32),
    "as_complex": (F32, (2, 1), (2, 1), 0, C64),
    "doubles_of_floats": (F32, (2,), (1,), 0, F64),
    "floats_of_doubles": (F64, (2, 6), (6, 1), 0, F32),
    "complex_of_doubles": (F64, (3,), (2,), 1, C64),
    "shorts_of_floats": (F32, (3, 2), (4, 1), 1, I16),
    "low_shorts_of_floats": (F32, (3,), (2,), 0, I16),
    "floats_of_shorts": (I16, (3,), (1,), 0, F32),
    "bytes_of_booleans": (np.dtype(bool), (6,), (1,), 0, np.dtype("uint8")),
    "booleans_of_booleans": (np.dtype(bool), (2,), (3,), 1, np.dtype(bool)),
}


@pytest.mark.parametrize(("old", "shape", "strides", "offset", "dtype"), RETYPED.values(), ids=RETYPED)
def test_memory_of_another_dtype(old, shape, strides, offset, dtype):
    check(old, (2, 3), (3, 1), shape, strides, offset, dtype)


def test_a_rest_that_is_no_whole_element_stays():
    value = jnp.asarray([1, 2, 3], "float32")
    with jax.enable_x64(True):
        written = write_window(value, (1,), jnp.zeros(1, "float64"), (1,), 0, F64)
    assert written.tolist() == [0, 0, 3]


@pytest.mark.parametrize("view_bits", [CONJUGATED, NEGATED, CONJUGATED + NEGATED])
def test_view_bits(view_bits):
    check(C64, (2, 3), (3, 1), (2, 2), (3, 1), 1, C64, view_bits)
    check(C64, (2, 3), (3, 1), (2, 3), (6, 2), 1, F32, NEGATED)


def test_offsets_share_a_kernel():
    value = jnp.zeros((5, 7))
    kernel_for.cache.clear()
    for offset in range(7):
        read_window(value, (7, 1), (5,), (7,), offset)
    made = [make for make, *_ in kernel_for.cache.recent if make is not windows.kernel_at]
    assert made == [windows.reader]


def test_a_box_needs_no_index_arrays():
    def lowered(box):
        window = Window((5,), (7,), F32, F32)
        return str(jax.make_jaxpr(lambda value, offset: window.read(value, (7, 1), offset, box))(jnp.zeros((5, 7)), 0))

    assert "gather" in lowered(boxes.NO_BOX)
    assert not {"gather", "reshape[new_sizes=(35,)"} & set(lowered(boxes.OWN).split())

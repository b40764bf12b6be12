"""``x[...]``, and what reads and writes as it does, against PyTorch."""

import warnings

import numpy as np
import pytest
from case_tables import lines
from expressions import expression, statements
from harness import agree, same, same_error
from samples import array

pytestmark = pytest.mark.parity

A, B, V, S, E = array(2, 3), array(2, 3, seed=1), array(3), array(), array(0, 3)
CUBE = array(2, 3, 4)
Z = array(2, 3, dtype="complex128")

BASIC = lines("""
x[0]
x[-1]
x[0, 1]
x[0][1]
x[1, -1]
x[:]
x[1:]
x[:, 0]
x[:, 1:]
x[::2]
x[:, ::2]
x[0, 1:]
x[0:2]
x[0:2, 0:3]
x[-2:]
x[5:]
x[0:0]
x[:, -2:5]
x[...]
x[()]
x[..., 0]
x[0, ...]
x[..., 1:, 1]
x[None]
x[..., None]
x[None, 0]
x[0, None]
x[:, None, 1]
x[None, None, 0, None, 1]
x[..., ...]
x[True]
x[False]
x[True, 0]
x[0, True]
x[..., True]
x[L(1)]
x[L(1), L(0)]
x[np.int64(1)]
x[np.array(1)]
x[L(1):]
x[0:L([1])]
x[slice(None), slice(L(1), None)]
""")


@pytest.mark.parametrize("text", BASIC)
def test_basic_indices(text):
    same(expression(text), A)


EMPTY_SLICES = ["x[:-1, :]", "x[1:, :]", "x[:0, :]", "x[-1:, 1:]", "x[0:, :]", "x[:7, :]", "x[:, :-4]"]


@pytest.mark.parametrize("text", EMPTY_SLICES)
def test_slices_of_what_is_empty(text):
    same(expression(text), np.zeros((0, 3)), second=False)


ADVANCED = lines("""
x[[0, 1]]
x[[1, 1, 0]]
x[[0, -1]]
x[[]]
x[range(2)]
x[[0, 1], [1, 0]]
x[[0, 1],]
x[(0, 1),]
x[:, [0, 1]]
x[0, [0, 2]]
x[[0, 0], 1]
x[[0], [[1], [2]]]
x[[True, False]]
x[:, [True, False, True]]
x[0, [True, False, True]]
x[[True, False], [0]]
x[L([1, 0, 1])]
x[L([[0, 1], [1, 0]])]
x[:, L([2, 0])]
x[L([0, 1]), L([2, 0])]
x[L([[0], [1]]), L([0, 1])]
x[L([0], dtype=torch.int32)]
x[L([], dtype=torch.int64)]
x[L(1), L([1, 0])]
x[L([1, 1]), 1:]
x[None, L([1, 0])]
x[L([1, 0]), None]
x[L([1, 0]), None, L([0, 2])]
x[..., L([0, 0])]
x[x > 0]
x[x > 9]
x[x[:, 0] > 0]
x[:, x[0] > 0]
x[x[:, 0] > -9, 1]
x[L([True, False])]
x[L(True)]
x[L(False)]
x[None, L([True, False])]
x[np.array([0, 1])]
x[np.array([True, False])]
x[np.array([[0, 1], [1, 0]])]
x[np.array([1, 0]), np.array([0, 1])]
x[[0.7, 1.2]]
x[True, [0, 1]]
x[[0, 1], True]
""")


@pytest.mark.parametrize("text", ADVANCED)
def test_advanced_indices(text):
    same(expression(text), A)


@pytest.mark.parametrize("text", lines("""
x[0, :, [0, 1]]
x[:, 0, [0, 1]]
x[[0, 1], :, [0, 1]]
x[[0, 1], [0, 1]]
x[:, [0, 1], [0, 1]]
x[[0, 1], 0]
x[[0], :, 0]
x[[0, 1], None, [0, 1]]
x[..., [0, 1]]
x[1:, [0, 1]]
x[1:, None, [0, 1], ::2]
x[[0], 1:, [1]]
x[x > 0]
x[(x > 0).any(-1)]
x[0, (x > 0)[0]]
x[(x > 0)[:, :, 0], 1]
x[:, :, ::3]
x[0, ..., 1]
x[None, ..., None]
x[[[0, 1], [1, 0]]]
x[[slice(0, 1), 0]]
x[[None]]
x[[0, L(1)]]
x[[[0, 1]]]
"""))
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_of_three_dimensions(text):
    same(expression(text), CUBE)


@pytest.mark.parametrize("text", lines("""
x[None]
x[...]
x[()]
x[True]
x[False]
x[L(True)]
x[..., None]
x[x > -9]
"""))
def test_of_a_scalar(text):
    same(expression(text), S)


@pytest.mark.parametrize("text", lines("""
x[:]
x[:, 1]
x[L([], dtype=torch.int64)]
x[x > 0]
x[:, [0, 1]]
x[None, 0:0]
"""))
def test_without_elements(text):
    same(expression(text), E)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64", "int32", "int16", "uint8", "bool"])
@pytest.mark.parametrize("text", ["x[1]", "x[:, 1:]", "x[[0, 1], [1, 0]]", "x[x > 0]"])  # fmt: skip
def test_dtypes(text, dtype):
    program = expression(text)
    same(lambda torch, x: program(torch, x.to(getattr(torch, dtype)).detach()), A, grads=False)


@pytest.mark.parametrize("text", ["x[0]", "x[[0, 0, 1]]", "x[x.real > 0]"])  # fmt: skip
def test_complex(text):
    same(expression(text), Z)


def test_uint8_masks_warn():
    def program(torch, x):
        torch.set_warn_always(True)
        try:
            with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
                return x[torch.tensor([1, 0], dtype=torch.uint8)]
        finally:
            torch.set_warn_always(False)

    same(program, A, grads=False)


@pytest.mark.parametrize("text", lines("""
x[2]
x[-3]
x[0, 3]
x[0, 0, 0]
x[0, 0, 0:1]
x[0, ..., 0, 0]
x[::-1]
x[::0]
x[0.5]
x['a']
x[:, 'a']
x[b'a']
x[1.0:2]
x[{}]
x[object()]
x[:, object()]
x[1 + 0j]
x[np.float32(1)]
x[np.bool_(True)]
L(1.0)[0]
L(1.0)[:]
L(1.0)[0, 0]
L(1.0)[..., 0]
L(1.0)[L(0)]
L(1.0)[L([0])]
L(1.0)[[]]
x[L(5)]
x[L([5])]
x[L([-3])]
x[L([2**63 - 1])]
x[L([-2**63, 0])]
x[L([-2**31], dtype=torch.int32)]
x[[0, -3]]
x[:, L([5])]
x[L([0]), L([5])]
x[L([0, 1, 5]), 0]
x[0, L([3])]
x[None, L([3])]
x[L([0.5])]
x[L(0.5)]
x[L([0], dtype=torch.int16)]
x[L([])]
x[L([True, False, True])]
x[L([[True, False]])]
x[0, L([True, False])]
x[L([True, True]), L([0, 1, 2])]
x[L([0, 1]), L([0, 1, 2])]
x[x[..., None] > 0]
"""))  # fmt: skip
def test_errors_of_indices(text):
    same_error(expression(text), A)


NAMED = lines("""
x.index_put((L([1]),), y[0])
x.index_put((L([0, 0]),), y[0])
x.index_put((L([0, 0]),), y, accumulate=True)
x.index_put((L([0, 1]), L([2, 2])), y[0, :2])
x.index_put((x > 0,), y[0, 0])
x.index_put((torch.zeros(0, 1, dtype=torch.long), L([9, 8])), y[0, 0])
x[torch.zeros(0, 1, dtype=torch.long), L([9, 8])]
x.index_put([L([True, False])], y[0])
torch.index_put(x, (L([0]),), y[0, 0], True)
""")


@pytest.mark.parametrize("text", NAMED)
def test_named_functions(text):
    same(expression(text), A, B)


@pytest.mark.parametrize("text", lines("""
torch.where(L([[True, False], [True, True]]))
torch.where(L([3, 0, 1]))
"""))
def test_from_indices(text):
    same(expression(text))


@pytest.mark.parametrize("text", lines("""
x.index_put((L([2]),), L(1.0, dtype=torch.float64))
x.index_put((L([0]),), x[0, :2])
x.index_put((L([0]),), L(1))
x.index_put((L([0]), L([0]), L([0])), x[0, 0])
x.index_put((None, L([0])), x[0, 0])
x.index_put((L([0.0]),), x[0, 0])
x.index_put((L([0]), L([0, 1, 2])), x[0, :2])
x.index_put((L([0]),), L([1, 2]))
"""))  # fmt: skip
def test_errors_of_named_functions(text):
    same_error(expression(text), A)


@pytest.mark.parametrize("text", lines("""
x.index_put((), L(1.0))
"""))
def test_errors_of_some_kind(text):
    same_error(expression(text), A, match="")


# -- writing -----------------------------------------------------------------------------------------------------------

WRITES = lines("""
x[0] = 1
x[-1] = 2.5
x[0] = True
x[0] = L([1.0, 2, 3])
x[0] = L([1, 2, 3])
x[0] = L(2, dtype=torch.int32)
x[0] = L(2.0, dtype=torch.float32)
x[0] = L(2.0 + 1j)
x[0] = L([[1.0, 2, 3]])
x[0] = torch.ones(1, 1, 1, 3)
x[0, 0] = L([1.0])
x[0, 0] = 7
x[0][0]; x[1, 1] = 7
x[:, 0] = L([7.0, 8])
x[1:] = 3
x[1:, ::2] = L([5.0, 6])
x[::2] = 3
x[...] = 5
x[:] = 5
x[()] = 5
x[:] = x.clone() * 2
x[None] = 5
x[None, 0] = 5
x[:, None, 1] = L([[1.0], [2.0]])
x[True] = 5
x[False] = 5
x[None, False] = 7
x[0, True] = 7
x[0:0] = L([1.0, 2, 3])
x[[]] = 1
x[x > 0] = 0
x[x > 9] = 1
x[x > 9] = torch.ones(0, dtype=x.dtype)
x[L(True)] = 7
x[L(False)] = 7
x[[0, 1], [0, 1]] = 9
x[[0, 1], [0, 1]] = L([9.0, 8], dtype=x.dtype)
x[[0, 0], [0, 0]] = L([9.0, 8], dtype=x.dtype)
x[[0, 1]] = L([[1.0], [2.0]], dtype=x.dtype)
x[:, [0, 1]] = L([[1.0, 2.0]], dtype=x.dtype)
x[0, [0, 1]] = 7
x[0, None, [0, 1]] = 7
x[1, L([True, False, True])] = L([1.0, 2], dtype=x.dtype)
x[L([0, 1]), :2] = L([[1.0, 2], [3, 4]], dtype=x.dtype)
x[L(1)] = 3
x[L([0])] = torch.ones(1, 1, 1, 3, dtype=x.dtype)
x[np.array([1])] = 2
x[0] = np.float64(2)
x[0] = np.int64(2)
x = L([1, 2]); x[0] = 1.7
x = L([1, 2]); x[L([0])] = 1.7
x = L([True]); x[0] = 5
x = L([1], dtype=torch.uint8); x[0] = -1
x = L(3.0); x[...] = 5
x = L(3.0); x[()] = 5
x = L(3.0); x[None] = 5
x = L(3.0); x[L(True)] = 5
x = x * 1; x[0] = 5; x = x._version
""")


@pytest.mark.parametrize("text", WRITES)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_writing(text):
    program = statements(text)
    same(lambda torch, x: program(torch, x.clone()), A, grads=False)


@pytest.mark.parametrize("text", lines("""
x = x * 2; x[0] = 1
x = x * 2; x[0] = y[0]
x = x * 2; x[:, 1:] = y[:, 1:] * y[:, 1:]
x = x * 2; x[[0, 0]] = y
x = x * 2; x[x > 0] = y[0, 0]
x = x * 2; x[0, 1:] = y[1, :2]; x = x * x
x = torch.zeros(2, 3, dtype=x.dtype); x[0] = y[0]; x[1, 1] = y[0, 0] * 3
"""))
def test_writing_is_differentiable(text):
    same(statements(text), A, B, names=False)


@pytest.mark.parametrize("text", lines("""
x[5] = 1
x[5, L([0])] = 1
x[..., L([3])] = 1
x[::-1] = 3
x[0.5] = 1
x[object()] = 1
x[0] = [1, 2, 3]
x[0] = np.array([1.0, 2, 3])
x[0] = np.float32(2)
x[0] = 'a'
x[0] = None
x[0] = 1j
x[0] = L([1, 2])
x[0] = torch.ones(2, 1, 3)
x[0, 0] = L([1.0, 2])
x[0:0] = torch.ones(5)
x[x > 0] = torch.ones(7, dtype=x.dtype)
x[x > 9] = torch.ones(5, dtype=x.dtype)
x[L([0])] = L(2.0, dtype=torch.float32)
x[L([0])] = L(2)
L([1, 2])[0] = float('nan')
L([1, 2])[L([0])] = float('inf')
L([1], dtype=torch.uint8)[0] = 300
x[L([5])] = torch.ones(2, 2, 2, dtype=x.dtype)
x.index_put_((L([5, 1]),), torch.ones(3, dtype=x.dtype))
L([0j, 1j])[1] = L([0j, 1j])
L([0, 1], dtype=torch.bfloat16)[1] = L([0, 1], dtype=torch.bfloat16)
L(3.0)[0] = 5
"""))  # fmt: skip
def test_errors_of_writing(text):
    def program(torch, x):
        return statements(text)(torch, x.detach())

    same_error(program, A)


@pytest.mark.parametrize("text", ["x[0] = 1", "x[x > 0] = 1", "x[:] = 1", "x[...] = 1", "x[L([0])] = 1"])
def test_leaves_that_require_grad_are_not_written(text):
    same_error(statements(text), A)


def test_parameters_are_written_without_grad_mode():
    def program(torch, x):
        with torch.no_grad():
            x[0] = 1.0
            x[:, 1] = torch.tensor([2.0, 3.0])
        return (x * x).sum(), x.is_leaf, x.requires_grad

    same(program, A)


def test_saved_indices():
    def program(torch, x):
        return x[:, [0, 1]].grad_fn._saved_indices, x[[0]].grad_fn._saved_indices

    same(program, A)


def test_second_backward_through_a_released_index():
    def program(torch, x):
        y = x[[0, 1]].sum()
        y.backward()
        y.backward()

    same_error(program, A)


@pytest.mark.parametrize("dims", [0, 1, 2])
@pytest.mark.parametrize("index", [
    "1.5", "object()", "(0.5, object())", "torch.ones(2)", "(0, 1.5)", "(0, 0, 1.5)", "(None, 1.5)",
    "(torch.tensor([True, False]), 1.5)", "{}", "1j", "[object()]",
])  # fmt: skip
def test_indices_are_counted_before_anybody_looks_what_they_are(index, dims):
    def program(torch, x):
        given = eval(index, {"torch": torch})
        x[(0,) * (2 - dims)][given] if dims < 2 else x[given]

    same_error(program, np.arange(4.0).reshape(2, 2))


@pytest.mark.parametrize("index", [0, -1, 1, 5])
def test_a_number_of_no_dimension(index):
    same_error(lambda torch, x: x[index], np.array(1.5))
    same_error(lambda torch, x: x.detach().__setitem__(index, 2.0), np.array(1.5))


def test_each_place_is_warned_of_a_list_in_place_of_a_tuple():
    def told(torch):
        x, places = torch.arange(4.0).view(2, 2), [torch.tensor([0, 1]), torch.tensor([1, 1])]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = [x[places], x[places]]
            x[places] = 1.0
        return found, x, [str(one.message).partition(" (Triggered")[0] for one in caught]

    agree(told)

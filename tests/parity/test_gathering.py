"""The named functions that read and write by index tensors and masks, against PyTorch."""

import numpy as np
import pytest
from case_tables import lines
from expressions import expression
from harness import same, same_error
from test_indexing import A, B, Z

pytestmark = pytest.mark.parity

NAMED = lines("""
x.gather(1, L([[0, 0], [2, 1]]))
x.gather(0, L([[0, 1, 1]]))
x.gather(-1, L([[2], [0]]), sparse_grad=False)
torch.gather(input=x, dim=0, index=L([[1]]))
x.gather(1, L([[0]], dtype=torch.int32))
x.gather(1, torch.zeros(0, 3, dtype=torch.int64))
x.gather(1, torch.zeros(0, dtype=torch.int64))
x[0].gather(0, L(1))
x[0, 0].gather(0, L([0, 0]))
x.scatter(1, L([[0], [2]]), 1.5)
x.scatter(1, L([[0], [2]]), 2)
x.scatter(dim=0, index=L([[1, 0, 1]]), value=0.5)
x.scatter(1, L([[0, 2], [1, 0]]), y[:, :2])
x.scatter(0, L([[1, 1, 1], [0, 1, 0]]), y)
torch.scatter(x, dim=1, index=L([[0, 1, 2], [2, 1, 0]]), src=y)
x.scatter(1, torch.zeros(0, dtype=torch.int64), 1.0)
x[0, 0].scatter(0, L(0), 5.0)
x.scatter_add(1, L([[0, 0, 2], [1, 1, 1]]), y)
torch.scatter_add(x, 0, L([[0, 0, 1]]), y[:1])
x[0].scatter_add(0, L([0, 0, 0]), y[0])
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'sum')
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'prod')
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, reduce='mean')
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'amax')
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'amin')
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'sum', include_self=False)
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'prod', include_self=False)
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'mean', include_self=False)
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'amax', include_self=False)
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'amin', include_self=False)
x.index_select(0, L([1, 1, 0]))
x.index_select(1, L([2]))
torch.index_select(x, dim=-1, index=L([0, 0]))
x.index_select(0, L(1))
x.index_select(0, torch.zeros(0, dtype=torch.int64))
x[0, 0].index_select(0, L([0]))
x.index_add(0, L([0, 0]), y)
x.index_add(1, L([2, 0]), y[:, :2], alpha=2)
torch.index_add(x, 0, L(1), y[:1])
x[0, 0].index_add(0, L(0), y[0, 0])
x.index_copy(0, L([1]), y[:1])
x.index_copy(1, L([2, 0]), y[:, :2])
x.index_copy(0, L([0, 0]), y)
x[0, 0].index_copy(0, L([0]), y[0, :1])
x.index_fill(0, L([1]), 1.5)
x.index_fill(1, L([0, -1]), 2)
x.index_fill(1, L([0, 0]), y[0, 0])
x.index_fill(0, L(1), 0)
x.take(L([4, 0, 4]))
x.take(L([[-1, 2]]))
torch.take(x, L([], dtype=torch.int64))
x.put(L([4, 0]), y[0, :2])
x.put(L([[4, 4]]), y[0, :2])
x.put(L([4, 4, -1]), y[0], accumulate=True)
x.take_along_dim(L([[0], [2]]), 1)
x.take_along_dim(L([[0, 2]]), 1)
x.take_along_dim(L([[1]]), dim=0)
x.take_along_dim(L([5, 0]))
x.take_along_dim(L([[-1]]), 1)
x.take_along_dim(L([[5]]), 1)
x.masked_select(x > 0)
x.masked_select(L([True, False, True]))
x.masked_select(mask=L(True))
x[0].masked_select(y > 0)
x[0, 0].masked_select(L(True))
x.masked_scatter(x > 0, y)
x.masked_scatter(L([True, False, True]), y)
x[0].masked_scatter(y > -9, y)
x.masked_scatter(x > 9, y)
""")


@pytest.mark.parametrize("text", NAMED)
def test_named_functions(text):
    same(expression(text), A, B)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64", "int32", "int16", "uint8", "bool"])
@pytest.mark.parametrize("text", [
    "x.gather(1, L([[0], [2]]))", "x.index_select(1, L([1, 1]))", "x.take(L([4, 0]))", "x.masked_select(x > 0)",
    "x.scatter(1, L([[0], [2]]), 1)", "x.index_fill(0, L([1]), 0)",
])  # fmt: skip
def test_dtypes(text, dtype):
    program = expression(text)
    same(lambda torch, x: program(torch, x.to(getattr(torch, dtype)).detach()), A, grads=False)


@pytest.mark.parametrize("text", [
    "x.gather(1, L([[0, 0], [2, 2]]))", "x.take(L([4, 4, 0]))", "x.scatter(0, L([[0, 1, 1]]), x[:1])",
])  # fmt: skip
def test_complex(text):
    same(expression(text), Z)


TIES = np.array([5.0, 2.0])


@pytest.mark.parametrize("reduce", ["amax", "amin", "prod", "mean", "sum"])
@pytest.mark.parametrize("own", [True, False])
def test_scatter_reduce_ties_and_zeros(reduce, own):
    program = expression(f"x.scatter_reduce(0, L([0, 0, 1]), y, {reduce!r}, include_self={own})")
    same(program, TIES, np.array([5.0, 5.0, 2.0]))
    same(program, TIES, np.array([0.0, 3.0, 2.0]))
    same(program, np.array([0.0, 2.0]), np.array([1.0, 3.0, 0.0]))
    same(program, TIES, np.array([0.0, 0.0, 2.0]), second=False)


def test_scatter_reduce_of_integers():
    for reduce in ("amax", "amin", "prod", "mean", "sum"):
        for own in (True, False):
            text = f"x.scatter_reduce(0, L([0, 0, 1]), L([4, 5, -6]), {reduce!r}, include_self={own})"
            same(expression(text), np.array([1, 2, 3]))


@pytest.mark.parametrize("text", [
    "x.scatter(1, L([[0], [2]]), y, reduce='add')", "x.scatter(1, L([[0], [0]]), 2.0, reduce='multiply')",
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:The reduce argument")
def test_scatter_with_a_reduction(text):
    program = expression(text)
    same(lambda torch, x, y: program(torch, x.detach(), y.detach()), A, B)


def test_gradient_of_a_source_with_elements_to_spare():
    """PyTorch refuses in backward; here the spare elements get zeros."""
    import tapegrad as torch

    src = torch.tensor(B.tolist(), requires_grad=True)
    torch.tensor(A.tolist()).scatter_add(1, torch.tensor([[0]]), src).sum().backward()
    assert src.grad.tolist() == [[1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("text", lines("""
F.one_hot(L([0, 2]))
F.one_hot(L([[0, 2], [1, 1]]), 4)
F.one_hot(L(2))
F.one_hot(L([], dtype=torch.int64), 3)
F.one_hot(L([0, 1]), num_classes=2)
"""))
def test_from_indices(text):
    same(expression(text))


@pytest.mark.parametrize("text", lines("""
x.gather(1, L([[3]]))
x.gather(1, L([[-1]]))
x.gather(2, L([[0]]))
x.gather(1, L([0]))
x.gather(1, L([[0], [0], [0]]))
x.gather(0, L([[0, 0, 0, 0]]))
x.gather(1, L([[0.0]]))
x[0, 0].gather(1, L(0))
x.scatter(1, L([[3]]), 1.0)
x.scatter(1, L([[0], [0], [0]]), 1.0)
x.scatter(1, L([[0, 1]]), x[:1, :1])
x.scatter(1, L([[0]]), L([[1]]))
x.scatter(1, L([0]), 1.0)
x.scatter(1, L([[0]]), 1.0, reduce='foo')
L([1, 2]).scatter(0, L([0]), float('nan'))
x.scatter_add(1, L([[3]]), x)
x.scatter_add(1, L([[0]]), x.float())
x.scatter_add(1, L([[0, 1, 2, 0]]), x)
x.scatter_reduce(1, L([[0]]), x, 'foo')
x.index_select(0, L([2]))
x.index_select(0, L([-1]))
x.index_select(0, L([0.0]))
x.index_select(0, L([[0]]))
x.index_select(2, L([0]))
x[0, 0].index_select(0, L([0, 0]))
x[0, 0].index_select(0, L([1]))
x.index_add(0, L([2]), x[:1])
x.index_add(0, L([-1]), x[:1])
x.index_add(0, L([0]), x)
x.index_add(0, L([0]), x[:1, :2])
x.index_add(0, L([0]), x[:1].float())
x.index_add(0, L([0.0]), x[:1])
x.index_add(0, L([[0]]), x[:1])
x.index_copy(0, L([0]), x)
x.index_copy(0, L([2]), x[:1])
x.index_copy(0, L([0]), x[:1].float())
x.index_copy(0, L([0.0]), x[:1])
x.index_copy(0, L([0]), x[:1, :2])
x.index_copy(0, L(0), x[0])
x.index_copy(0, L([[0]]), x[:1])
x.index_fill(0, L([2]), 1.0)
x.index_fill(0, L([0]), L([1.0]))
x.index_fill(0, L([0]), 1j)
x.index_fill(0, L([[0]]), 1)
x.take(L([6]))
x.take(L([0.0]))
x.take_along_dim(L([0]), 1)
x.take_along_dim(L([[0.0]]), 1)
x.take_along_dim(L([[0], [1], [0]]), 1)
x.masked_select(L([1, 0, 1]))
x.masked_select(L([True, False]))
x.masked_scatter(x > -9, x[0])
x.masked_scatter(x > 0, L([1, 2, 3]))
x.masked_scatter(L([1, 0, 1]), x)
x.put(L([6]), x[0, :1])
x.put(L([0, 1]), x[0, :1])
F.one_hot(L([0, 3]), 3)
F.one_hot(L([0, -1]))
F.one_hot(L([0.0]))
F.one_hot(L([], dtype=torch.int64))
F.one_hot(L([1]), 0)
F.one_hot(L([0], dtype=torch.int32))
"""))  # fmt: skip
def test_errors_of_named_functions(text):
    same_error(expression(text), A)


@pytest.mark.parametrize("text", lines("""
x.scatter(1, L([[0]]))
x.scatter(1, L([[0]]), 'a')
x.index_fill(0, L([0]), 'a')
x.scatter_add(1, L([[0]]), 1.0)
"""))
def test_errors_of_some_kind(text):
    same_error(expression(text), A, match="")

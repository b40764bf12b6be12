"""Slices, diagonals, triangles and windows, against PyTorch."""

import pytest
from case_tables import cases, lines
from expressions import expression
from harness import same, same_error

from tests.parity.functions.test_shape import CUBE, A, E, S, Z

pytestmark = pytest.mark.parity

RESULTS = cases(
    (lines("""
x.narrow(0, 1, 1)
x.narrow(1, -2, 2)
x.narrow(0, 2, 0)
x.narrow(1, L(1), 2)
torch.narrow(x, dim=1, start=0, length=2)
x.select(0, 1)
x.select(1, -1)
torch.select(x, dim=0, index=0)
x.diagonal()
x.diagonal(1)
x.diagonal(-1)
x.diagonal(7)
x.diagonal(offset=1, dim1=1, dim2=0)
torch.diagonal(x, 0, -1, -2)
x.diag()
x.diag(1)
x[0].diag()
torch.diag(x[0], -1)
torch.diag_embed(x)
torch.diag_embed(x, 1, 0, 2)
torch.diag_embed(x, offset=-1, dim1=0, dim2=1)
torch.diagflat(x)
torch.diagflat(x[0], 1)
x.unfold(1, 2, 1)
x.unfold(0, 1, 1)
x.unfold(1, 0, 1)
x.unfold(-1, 3, 2)
x.tril()
x.tril(1)
torch.tril(x, diagonal=-1)
x.triu()
torch.triu(x, 1)
x.select_scatter(x[0], 0, 1)
torch.select_scatter(x, x[:, 0], 1, -1)
x.slice_scatter(x[:1], 0, 1)
torch.slice_scatter(x, x[:, :2], 1, 0, 3, 2)
x.diagonal_scatter(x[0, :2])
x.diagonal_scatter(x[0, :2], 1)
"""), {"matrix": A}),
    (lines("""
x.diagonal(0, 0, 2)
x.diagonal(1, 2, 1)
x.tril(-1)
x.unfold(2, 3, 1)
"""), {"cube": CUBE}),
    (lines("""
x.unfold(0, 1, 1)
x.unfold(0, 0, 1)
torch.diagflat(x)
"""), {"point": S}),
    (lines("""
x.narrow(0, 0, 0)
x.diagonal()
x.tril()
"""), {"empty": E}),
    (lines("""
x.diagonal()
x.tril()
"""), {"complex": Z}),
)  # fmt: skip


@pytest.mark.parametrize(("text", "x"), RESULTS)
@pytest.mark.filterwarnings("ignore")
def test_results(text, x):
    same(expression(text), x)


@pytest.mark.parametrize("text", """
x.narrow(0, 0, 3)
x.narrow(0, 3, 0)
x.narrow(0, 0, -1)
x.narrow(2, 0, 1)
L(1.0).narrow(0, 0, 0)
x.select(0, 2)
x.select(0, -3)
x.select(2, 0)
L(1.0).select(0, 0)
x.diagonal(0, 0, 0)
x.diagonal(0, 0, 2)
L(1.0).diag()
torch.zeros(2, 2, 2).diag()
torch.diag_embed(L(1.0))
torch.diag_embed(x, 0, 0, 0)
x.unfold(1, 4, 1)
x.unfold(1, 2, 0)
x.unfold(1, -1, 1)
x.unfold(2, 1, 1)
L(1.0).unfold(0, 2, 1)
x[0].tril()
""".strip().splitlines())  # fmt: skip
def test_errors(text):
    same_error(expression(text), A)


@pytest.mark.parametrize("text", [
    "x.select(0, 1.5)", "x.select_scatter(x, 0, 0)", "x.slice_scatter(x, 0, 0, 1)",
])  # fmt: skip
def test_errors_of_some_kind(text):
    same_error(expression(text), A, match="")

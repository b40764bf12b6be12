"""Complex numbers as pairs, and pairs as complex numbers, against PyTorch."""

import pytest
from case_tables import cases, lines
from expressions import expression
from harness import agree, attempt, same, same_error
from samples import array

from tests.parity.functions.test_shape import A, Z

pytestmark = pytest.mark.parity

RESULTS = cases(
    (lines("""
torch.view_as_real(x)
torch.view_as_complex(torch.view_as_real(x))
torch.view_as_real(x * x).sum(-1)
"""), {"complex": Z}),
)  # fmt: skip


@pytest.mark.parametrize(("text", "x"), RESULTS)
@pytest.mark.filterwarnings("ignore")
def test_results(text, x):
    same(expression(text), x)


def test_view_as_complex():
    same(expression("torch.view_as_complex(x)"), array(3, 2))


@pytest.mark.parametrize("text", """
torch.view_as_complex(x)
torch.view_as_complex(L(1.0))
torch.view_as_complex(torch.zeros(2, 2, dtype=torch.int64))
torch.view_as_real(x)
""".strip().splitlines())  # fmt: skip
def test_errors(text):
    same_error(expression(text), A)


@pytest.mark.parametrize("kind", ["uint8", "int16", "int32", "float64"])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)], ids=str)
def test_the_bytes_of_nothing(shape, kind):
    agree(lambda torch: attempt(lambda: torch.zeros(shape).view(getattr(torch, kind))))

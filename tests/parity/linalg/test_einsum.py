"""``einsum`` beside PyTorch's."""

import pytest
from case_tables import of
from harness import same, same_error

from tests.parity.linalg.test_matmul import BATCH, COMPLEX, INTS, A, B

pytestmark = pytest.mark.parity

EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 2)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)), ("ij->", (2, 3)),
    ("ij->j", (2, 3)), ("i,i->", (3,), (3,)), ("i,j->ij", (3,), (3,)), ("ij,ij->ij", (2, 3), (2, 3)),
    ("ij,ij->ij", (1, 3), (2, 1)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)), ("...ij,...jk", (2, 2, 3), (3, 2)),
    ("ij,jk,kl->il", (2, 3), (3, 2), (2, 3)), ("ij,jk", (2, 3), (3, 2)), ("ba", (2, 3)),
    (" i j , j k -> i k ", (2, 3), (3, 2)),
    ("...ij->ij", (2, 2, 3)), ("...->", (2, 3)), ("i...->i", (2, 3)), ("...i,i->i...", (2, 3), (3,)),
    ("", ()), ("->", ()),
    (",", (), ()), ("ij,", (2, 3), ()), ("i,->i", (2,), ()), ("...ii->...i", (2, 2, 2)), ("ij,jk->ik", (2, 1), (3, 4)),
    ("i...,i...->...", (2, 3), (2, 1)), ("Ab->bA", (2, 3)), ("aB", (2, 3)), ("iij,jk->ik", (2, 2, 3), (3, 2)),
    ("ij,k->j", (2, 3), (2,)),
]  # fmt: skip


@pytest.mark.parametrize(("equation", "shapes"), [(e, s) for e, *s in EINSUMS], ids=str)
def test_einsum(equation, shapes):
    inputs = [of(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    same(lambda torch, *args: torch.einsum(equation, *args), *inputs)


EINSUM_CASES = {
    "complex": (lambda torch, x, y: torch.einsum("ij,jk->ki", x, y), of(2, 3, dtype=COMPLEX), of(3, 2, dtype=COMPLEX)),
    "sublists": (lambda torch, x, y: torch.einsum(x, [0, 1], y, [1, 2], [0, 2]), A, B),
    "sublists without output": (lambda torch, x, y: torch.einsum(x, [0, 1], y, [1, 2]), A, B),
    "sublist with ellipsis": (lambda torch, x: torch.einsum(x, [..., 0, 1], [..., 1, 0]), BATCH),
    "list of operands": (lambda torch, x, y: torch.einsum("ij,jk", [x, y]), A, B),
    "promoted products": (lambda torch, x, y: torch.einsum("ij,ij->ij", x, y.float()), A, A),
    "int": (lambda torch, x: torch.einsum("ij,kj", x, x), INTS),
    "int32 sums": (lambda torch, x: torch.einsum("ij->", x.int()), INTS),
    "int and float": (lambda torch, x, y: torch.einsum("ij,ij->ij", x, y), INTS, A),
}


@pytest.mark.parametrize("case", EINSUM_CASES)
def test_einsum_cases(case):
    program, *inputs = EINSUM_CASES[case]
    same(program, *inputs, names=False)


EINSUM_ERRORS = [
    ("ij,jk->ik", (2, 3), (2, 3)), ("ij,jk->ik", (2, 3)), ("i", (2,), (2,)), ("ij->ik", (2, 3)), ("ij->ii", (2, 3)),
    ("ijk->i", (2, 3)), ("ij->i->j", (2, 3)), ("i1->i", (2, 3)), ("..ij->i", (2, 3)), ("...i...->i", (2, 3)),
    ("...->i", (2, 3)), ("ii->i", (2, 3)), ("ij", ), ("i->i.", (2,)), ("i->1", (2,)), ("ijk...->i", (2, 3)),
    ("...->......", (2, 3)), ("...,...", (2, 3), (4, 3)), ("ii", (1, 3)), ("i->i,", (2,)), ("ij-ij", (2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("equation", "shapes"), [(e, s) for e, *s in EINSUM_ERRORS], ids=str)
def test_einsum_errors(equation, shapes):
    same_error(lambda torch, *args: torch.einsum(equation, *args), *[of(*shape) for shape in shapes])


ERRORS = {
    "einsum, no operand": (lambda torch: torch.einsum("ij"),),
    "einsum, number": (lambda torch: torch.einsum("ij", 3),),
    "einsum, dtypes": (lambda torch, x, y: torch.einsum("ij,jk", x.float(), y), A, B),
    "einsum, sublist": (lambda torch, x: torch.einsum(x, [0, 52]), A),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    program, *inputs = ERRORS[case]
    same_error(program, *inputs)

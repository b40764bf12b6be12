"""What decompositions refuse, beside PyTorch: shapes, dtypes, matrices without a decomposition, losses without a
gradient."""

import numpy as np
import pytest
import torch as pytorch
from expressions import expression
from harness import agree, same_error, warned
from samples import array

import tapegrad
from tapegrad.errors import LinAlgError

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated")]

NAN = np.full((2, 2), np.nan)
SQUARE, TALL, WIDE, VECTOR, INTS = np.eye(2), array(3, 2), array(2, 3), array(3), np.eye(2, dtype=int)
INDEFINITE = np.array([np.eye(3), np.diag([1.0, -1.0, 2.0])])

FUNCTIONS = [
    "torch.linalg.eigh(x)", "torch.linalg.eigvalsh(x)", "torch.linalg.eig(x)", "torch.linalg.eigvals(x)",
    "torch.linalg.svd(x)",
    "torch.linalg.svdvals(x)", "torch.svd(x)", "torch.linalg.qr(x)", "torch.geqrf(x)", "torch.linalg.cholesky(x)",
    "torch.linalg.cholesky_ex(x)", "torch.cholesky_inverse(x)", "torch.cholesky_solve(x, x)", "torch.linalg.pinv(x)",
    "torch.linalg.matrix_rank(x)", "torch.linalg.cond(x)", "torch.linalg.matrix_norm(x, 'nuc')",
    "torch.linalg.lstsq(x, x)",
    "torch.linalg.householder_product(x, x[0])", "torch.ormqr(x, x[0], x)",
]  # fmt: skip


@pytest.mark.parametrize("text", FUNCTIONS)
def test_what_is_no_matrix_of_floats(text):
    """Vectors, matrices that are not square, integers and half types: the same exception, or none."""

    def program(torch):
        made = [
            torch.ones(3),
            torch.ones(2, 3),
            torch.ones(2, 2, dtype=torch.int64),
            torch.ones(2, 2, dtype=torch.float16),
        ]
        return [refusal(expression(text), torch, x) for x in made]

    agree(program)


def refusal(program, torch, x):
    """What a program raises; None if it doesn't."""
    try:
        program(torch, x)
    except Exception as error:  # what it raises is what is compared
        return [type(error).__name__, str(error)]
    return None


ERRORS = {
    "eigh of nan": ("torch.linalg.eigh(x)", np.full((3, 3), np.nan)),
    "eig of nan": ("torch.linalg.eig(x)", NAN),
    "svd of nan": ("torch.linalg.svd(x)", NAN),
    "svd of inf": ("torch.linalg.svdvals(x)", np.full((3, 3), np.inf)),
    "pinv of nan": ("torch.linalg.pinv(x)", NAN),
    "cholesky": ("torch.linalg.cholesky(x)", -SQUARE),
    "cholesky in a batch": ("torch.linalg.cholesky(x)", INDEFINITE),
    "cholesky_ex": ("torch.linalg.cholesky_ex(x, check_errors=True)", INDEFINITE[1]),
    "UPLO": ("torch.linalg.eigh(x, 'X')", SQUARE),
    "driver of svd": ("torch.linalg.svd(x, driver='gesvd')", SQUARE),
    "mode of qr": ("torch.linalg.qr(x, 'full')", SQUARE),
    "sizes of cholesky_solve": ("torch.cholesky_solve(x, y)", WIDE, np.eye(3)),
    "dtypes of cholesky_solve": ("torch.cholesky_solve(x, x.float())", SQUARE),
    "batches of cholesky_solve": ("torch.cholesky_solve(x, y)", np.ones((3, 2, 2)), np.ones((2, 2, 2))),
    "batches of lstsq": ("torch.linalg.lstsq(x, y)", np.ones((3, 2, 2)), np.ones((2, 2, 2))),
    "batches of tolerances": ("torch.linalg.pinv(x, atol=L([0.1, 0.1, 0.1]))", np.ones((2, 2, 2))),
    "order of cond": ("torch.linalg.cond(x, 3)", SQUARE),
    "cond of a wide one": ("torch.linalg.cond(x, 'fro')", WIDE),
    "name of cond": ("torch.linalg.cond(x, 'nox')", SQUARE),
    "driver of lstsq": ("torch.linalg.lstsq(x, x, driver='x')", SQUARE),
    "rows of lstsq": ("torch.linalg.lstsq(x, y)", TALL, WIDE),
    "dimensions of lstsq": ("torch.linalg.lstsq(x, y)", SQUARE, INDEFINITE),
    "dtypes of lstsq": ("torch.linalg.lstsq(x, x.float())", SQUARE),
    "reflectors": ("torch.linalg.householder_product(x, y)", TALL, VECTOR),
    "reflectors of a wide one": ("torch.linalg.householder_product(x, y)", WIDE, VECTOR),
    "dtype of reflectors": ("torch.linalg.householder_product(x, x[0].float())", TALL),
    "batch of reflectors": ("torch.linalg.householder_product(x, x)", SQUARE),
    "rows of ormqr": ("torch.ormqr(x, x[0], y)", TALL, WIDE),
    "columns of ormqr": ("torch.ormqr(x, x[0], x, left=False)", TALL),
    "complex atol": ("torch.linalg.pinv(x, atol=L(1j))", SQUARE),
    "complex tol": ("torch.linalg.matrix_rank(x, L(1j))", SQUARE),
    "q of pca": ("torch.pca_lowrank(x, 7)", SQUARE),
    "niter of pca": ("torch.pca_lowrank(x, 2, niter=-1)", SQUARE),
    "pairs of lobpcg": ("torch.lobpcg(x, k=2)", np.eye(5)),
    "minimum of nothing": ("torch.linalg.matrix_norm(x, -2)", np.zeros((0, 3))),
    "nuc over all": ("torch.norm(x, 'nuc')", INDEFINITE),
    "nuc of narrow": ("torch.linalg.matrix_norm(x.half(), 'nuc')", SQUARE),
    "complete qr, backward": ("torch.linalg.qr(x, 'complete')[1].sum().backward()", TALL),
    "qr without Q, backward": ("torch.linalg.qr(x, 'r')[1].sum().backward()", TALL),
    "geqrf, backward": ("torch.geqrf(x)[0].sum().backward()", TALL),
    "geqrf of complex": ("torch.geqrf(x)", array(2, 2, dtype="complex128")),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    text, *inputs = ERRORS[case]
    same_error(expression(text), *inputs)


def test_a_number_and_a_tensor_as_tolerances():
    same_error(
        expression("torch.linalg.pinv(x, atol=L([0.1, 0.2]), rtol=0.1)"),
        SQUARE,
        match="invalid combination of arguments",
    )


PHASES = {
    "eigh": "torch.linalg.eigh(x + x.mH)[1]",
    "eig": "torch.linalg.eig(x)[1]",
    "U": "torch.linalg.svd(x)[0]",
    "V": "torch.linalg.svd(x)[2]",
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("case", PHASES)
def test_a_loss_that_depends_on_phases(case, create_graph):
    def program(torch, x):
        loss = (expression(PHASES[case])(torch, x) * (1 + 2j)).real.sum()
        torch.autograd.grad(loss, x, create_graph=create_graph)

    same_error(program, array(2, 2, dtype="complex128"))


def test_eigenvectors_of_real_matrices_have_phases_too():
    same_error(lambda torch, x: torch.linalg.eig(x)[1].real.sum().backward(), np.array([[1.0, -2.0], [1.0, 1.0]]))


def test_a_loss_that_depends_on_phases_with_saved_tensor_hooks():
    def program(torch, x):
        with torch.autograd.graph.saved_tensors_hooks(lambda saved: saved, lambda saved: saved):
            vectors = torch.linalg.eigh(x + x.mH)[1]
        vectors.real.sum().backward()

    same_error(program, array(2, 2, dtype="complex128"))


def test_info_of_matrices_that_are_not_positive():
    def program(torch):
        batch = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]]])
        return [torch.linalg.cholesky_ex(batch, upper=upper).info for upper in (False, True)]

    agree(program)


def test_the_error_is_a_linalg_error():
    with pytest.raises(LinAlgError, match="leading minor of order 1"):
        tapegrad.linalg.cholesky(-tapegrad.eye(2))


@pytest.mark.parametrize("text", ["torch.geqrf(x)", "torch.ormqr(x, x[0], x)", "torch.cholesky(x)"])
@pytest.mark.parametrize("module", [pytorch, tapegrad], ids=["pytorch", "tapegrad"])
@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
def test_no_forward_mode(module, text):
    forward = module.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(module.eye(2), module.eye(2))
        with pytest.raises(
            NotImplementedError, match="Trying to use forward AD with (geqrf|ormqr|cholesky) that does not"
        ):
            expression(text)(module, dual)


def test_old_names_warn():
    def program(torch):
        torch.set_warn_always(True)
        try:
            return warned(lambda: [torch.qr(torch.eye(2)), torch.cholesky(torch.eye(2))])
        finally:
            torch.set_warn_always(False)

    agree(program)

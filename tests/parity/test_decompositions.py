"""Decompositions of matrices beside PyTorch's. Vectors are compared by what does not depend on their signs and
phases."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, same
from samples import array

import tapegrad

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:torch.(qr|cholesky) is deprecated", "ignore:.*torch.jit.script.* is deprecated"),
]

A, TALL, WIDE, BATCH = array(3, 3), array(3, 2), array(2, 3), array(2, 3, 2)
Z, TALL_Z, WIDE_Z = (array(*x.shape, dtype="complex128") for x in (A, TALL, WIDE))
POSITIVE = A @ A.T + 2 * np.eye(3)
POSITIVE_Z = Z @ Z.conj().T + 2 * np.eye(3)
DEFINITE_6 = np.diag([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]) + 0.1
NOTHING = np.zeros((0, 3, 3))

# -- eigenvalues and singular values -----------------------------------------------------------------------------------

SPECTRA = {
    "eigh": ("torch.linalg.eigh(x)[1].abs()", A),
    "eigh reads the lower triangle": ("[*torch.linalg.eigh(x)][:1] + [torch.linalg.eigh(x, 'L')[1] ** 2]", A),
    "eigh of the upper triangle": ("torch.linalg.eigh(x, UPLO='U')[1] ** 2", A),
    "eigh of complex": ("torch.linalg.eigh(x + x.mH)[1].abs()", Z),
    "eigh projector": ("(lambda v: v[:, :1] @ v[:, :1].mH)(torch.linalg.eigh(x)[1])", POSITIVE_Z),
    "eigh of a batch": ("torch.linalg.eigh(x.mT @ x)[1].abs()", BATCH),
    "eigvalsh": ("torch.linalg.eigvalsh(x)", POSITIVE_Z),
    "eigvalsh of nothing": ("torch.linalg.eigvalsh(x)", NOTHING),
    "eig": ("torch.linalg.eig(x)[1].abs().sum(1)", A),
    "eig of complex": ("torch.linalg.eig(x)[1].abs().sum(1)", Z),
    "eigvals": ("torch.linalg.eigvals(x).abs().sort()[0]", A),
    "svd": ("[torch.linalg.svd(x)[i].abs() for i in (0, 2)]", A),
    "svd, reduced": ("[torch.linalg.svd(x, full_matrices=False)[i].abs() for i in (0, 2)]", WIDE),
    "svd of complex": ("[torch.linalg.svd(x, full_matrices=False)[i].abs() for i in (0, 2)]", TALL_Z),
    "svd, the pairs' phases": ("(lambda u, s, vh: u @ vh)(*torch.linalg.svd(x, full_matrices=False))", WIDE_Z),
    "svd of a batch": ("torch.linalg.svd(x, full_matrices=False)[0] ** 2", BATCH),
    "svd, U alone": ("torch.linalg.svd(x)[0][:, :2] ** 2", TALL),
    "svdvals": ("torch.linalg.svdvals(x)", BATCH),
    "torch.svd": ("torch.svd(x)[2] ** 2", TALL),
    "torch.svd, full": ("x.svd(some=False)[0][:, :2].abs()", TALL),
    "torch.svd, values": ("torch.svd(x, compute_uv=False)", TALL),
}


@pytest.mark.parametrize("case", SPECTRA)
def test_spectra(case):
    text, *inputs = SPECTRA[case]
    same(expression(text), *inputs)


# -- Cholesky and QR ---------------------------------------------------------------------------------------------------

FACTORS = {
    "cholesky": ("torch.linalg.cholesky(x)", POSITIVE),
    "cholesky of complex": ("torch.linalg.cholesky(x, upper=True)", POSITIVE_Z),
    "cholesky reads the lower triangle": (
        "torch.linalg.cholesky(x + x.new_tensor([[0, 7, 7], [0, 0, 7], [0, 0, 0]]))",
        POSITIVE,
    ),
    "cholesky_ex": ("torch.linalg.cholesky_ex(x)", POSITIVE),
    "cholesky of nothing": ("torch.linalg.cholesky(x)", NOTHING),
    "torch.cholesky": ("torch.cholesky(x, upper=True)", POSITIVE),
    "cholesky_inverse": ("torch.cholesky_inverse(x)", np.tril(POSITIVE_Z)),
    "cholesky_inverse of an upper one": ("x.cholesky_inverse(True)", np.triu(POSITIVE)),
    "cholesky_solve": ("torch.cholesky_solve(x, y)", TALL_Z, np.tril(POSITIVE_Z)),
    "cholesky_solve of an upper one, broadcast": ("torch.cholesky_solve(x, y, upper=True)", BATCH, np.triu(POSITIVE)),
    "qr": ("torch.linalg.qr(x)", A),
    "qr of a tall one": ("torch.linalg.qr(x)", TALL_Z),
    "qr of a wide one": ("torch.linalg.qr(x, 'complete')", WIDE_Z),
    "qr, R of a batch": ("torch.linalg.qr(x).R", BATCH),
    "torch.qr": ("torch.qr(x)", TALL),
    "householder_product": ("torch.linalg.householder_product(x, y)", TALL_Z, TALL_Z[0]),
    "orgqr of fewer": ("torch.orgqr(x, y)", TALL, TALL[0, :1]),
    "ormqr": ("torch.ormqr(x, y, z)", TALL, TALL[0], TALL),
    "ormqr, other side": ("x.ormqr(y, z, left=False, transpose=True)", TALL_Z, TALL_Z[0], WIDE_Z),
}


@pytest.mark.parametrize("case", FACTORS)
def test_factors(case):
    text, *inputs = FACTORS[case]
    same(expression(text), *inputs)


# -- pseudoinverses ----------------------------------------------------------------------------------------------------

LOW_RANK = np.outer([1.0, 2.0, 3.0], [1.0, 2.0]) / 4

PSEUDOINVERSES = {
    "pinv": ("torch.linalg.pinv(x)", TALL),
    "pinv of complex": ("torch.pinverse(x)", WIDE_Z),
    "pinv of low rank": ("torch.linalg.pinv(x, rcond=1e-12)", LOW_RANK),
    "pinv of Hermitian": ("torch.linalg.pinv(x, hermitian=True)", POSITIVE_Z),
    "pinv, tolerances": ("torch.linalg.pinv(x, atol=L([0.5, 3.0]), rtol=L(0.1))", BATCH),
    "pinv, rcond": ("torch.linalg.pinv(x, L([0.1, 0.9]))", BATCH),
    "pinv, atol": ("torch.linalg.pinv(x, atol=1.5)", A),
    "pinv of nothing": ("torch.linalg.pinv(x)", np.zeros((2, 0, 3))),
    "lstsq": ("torch.linalg.lstsq(x, y)", TALL, A),
    "lstsq of complex": ("torch.linalg.lstsq(x, y, driver='gels')[:2]", TALL_Z, Z[:, :1]),
    "lstsq of low rank": ("torch.linalg.lstsq(x, y, driver='gelsd', rcond=1e-12)[0]", LOW_RANK, A),
    "lstsq of a wide one": ("torch.linalg.lstsq(x, y, driver='gelss')", WIDE, A[:2]),
    "lstsq of vectors": ("torch.linalg.lstsq(x, y)[0]", BATCH, WIDE),
    "lstsq, broadcast": ("torch.linalg.lstsq(x, y)[0]", BATCH, TALL[None]),
    "matrix_rank": ("torch.linalg.matrix_rank(x)", LOW_RANK),
    "matrix_rank, tolerance": ("[torch.linalg.matrix_rank(x, t) for t in (2.0, L([0.5, 3.0]))]", BATCH),
    "matrix_rank of Hermitian": ("torch.linalg.matrix_rank(x, atol=4.0, rtol=0.1, hermitian=True)", POSITIVE),
    "cond": ("torch.linalg.cond(x)", BATCH),
    "cond, -2": ("torch.linalg.cond(x, -2)", A),
    "cond, 1": ("torch.linalg.cond(x.detach(), 1)", A),
    "cond, fro": ("torch.linalg.cond(x.detach(), 'fro')", Z),
    "cond, nuc": ("torch.linalg.cond(x, 'nuc')", A),
    "cond of singular ones": ("[torch.linalg.cond(torch.ones(2, 2), p) for p in (1, 'fro', float('inf'))]",),
    "cond of nothing": ("[torch.linalg.cond(torch.ones(2, 0, 0), p) for p in (None, 1, 'nuc')]",),
    "nuc": ("torch.linalg.matrix_norm(x, 'nuc', (0, 2))", BATCH),
    "nuc, keepdim": ("torch.linalg.matrix_norm(x, 'nuc', (2, 0), keepdim=True)", BATCH),
    "nuc by norm": ("torch.norm(x, 'nuc')", WIDE_Z),
    "2-norm": ("torch.linalg.norm(x, 2)", TALL),
    "-2-norm": ("torch.linalg.matrix_norm(x, -2, keepdim=True)", TALL_Z),
    "norms in double": ("torch.linalg.matrix_norm(x.float(), 2, dtype=torch.float64)", TALL),
    "norms of nothing": ("[torch.linalg.matrix_norm(torch.ones(0, 3), p) for p in ('nuc', 2)]",),
}


@pytest.mark.parametrize("case", PSEUDOINVERSES)
def test_pseudoinverses(case):
    text, *inputs = PSEUDOINVERSES[case]
    same(expression(text), *inputs)


def test_condition_by_the_inverse_has_a_gradient():
    """PyTorch's backward refuses here: its ``cond`` writes into the inverse that it has saved."""
    x = tapegrad.tensor(A.tolist(), dtype=tapegrad.float64, requires_grad=True)
    whole, parts = tapegrad.linalg.cond(x, 1), tapegrad.linalg.norm(x, 1) * tapegrad.linalg.norm(tapegrad.inverse(x), 1)
    gradients = [tapegrad.autograd.grad(one, x)[0].numpy() for one in (whole, parts)]
    np.testing.assert_allclose(*gradients)


# -- traps: where there is more than one derivative, or none -----------------------------------------------------------

ONE = np.eye(2)

TRAPS = {
    "eigvalsh of equal values": ("torch.linalg.eigvalsh(x)", ONE),
    "eigh of equal values": ("torch.linalg.eigh(x)[1].abs()", ONE),
    "svdvals of equal values": ("torch.linalg.svdvals(x)", ONE),
    "svdvals of zeros": ("torch.linalg.svdvals(x)", 0 * ONE),
    "svd of equal values": ("torch.linalg.svd(x)[0].abs()", ONE),
    "qr of low rank": ("torch.linalg.qr(x)[1]", np.array([[1.0, 2.0], [2.0, 4.0]])),
    "pinv of low rank": ("torch.linalg.pinv(x)", np.array([[1.0, 2.0], [2.0, 4.0]])),
    "nuc at a singular matrix": ("torch.linalg.matrix_norm(x, 'nuc')", np.diag([5.0, 0.0])),
    "2-norm of equal values": ("torch.linalg.matrix_norm(x, 2)", ONE),
    "fro at 0": ("torch.linalg.matrix_norm(x)", 0 * ONE),
    "cond of the identity": ("torch.linalg.cond(x)", ONE),
}


@pytest.mark.parametrize("case", TRAPS)
def test_traps(case):
    text, *inputs = TRAPS[case]
    same(expression(text), *inputs, second=False)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_narrow_types(dtype):
    def program(torch, x):
        x = x.to(getattr(torch, dtype))
        return [torch.linalg.eigvalsh(x), torch.linalg.cholesky(x), torch.linalg.svdvals(x), torch.linalg.pinv(x)]

    same(program, POSITIVE, rtol=1e-4, atol=1e-5, second=False)


def test_matrices_that_are_not_contiguous():
    def program(torch, x):
        return [
            torch.linalg.svdvals(x.mT),
            torch.linalg.qr(x[:, ::2])[1].abs(),
            torch.linalg.cholesky((x @ x.mT)[1:, 1:]),
        ]

    same(program, POSITIVE)


# -- named tuples, names, and what is not recorded ---------------------------------------------------------------------


def test_names():
    def program(torch):
        x = torch.tensor(POSITIVE.tolist(), dtype=torch.float64, requires_grad=True)
        results = [
            torch.linalg.eigh(x), torch.linalg.eig(x), torch.linalg.svd(x), torch.svd(x), torch.linalg.qr(x),
            torch.qr(x), torch.geqrf(x), torch.linalg.cholesky_ex(x), torch.linalg.lstsq(x, x),
            torch.linalg.lstsq(x, x, driver="gelsd"),
        ]  # fmt: skip

        def seen(item):
            return item.requires_grad, item.grad_fn and item.grad_fn.name(), list(item.shape)

        return [[type(result).__name__, [seen(item) for item in result]] for result in results]

    agree(program)


def test_names_of_arguments():
    def program(torch):
        x, names = torch.eye(2), ("input", "A")
        functions = (
            "eigh",
            "eigvalsh",
            "eig",
            "svd",
            "svdvals",
            "qr",
            "cholesky",
            "cholesky_ex",
            "pinv",
            "matrix_rank",
            "cond",
        )

        def accepts(function, name):
            try:
                getattr(torch.linalg, function)(**{name: x})
            except TypeError:
                return False
            return True

        return [[accepts(function, name) for name in names] for function in functions]

    agree(program)


def test_fields_of_named_tuples():
    def program(torch):
        x = torch.eye(2)
        return [
            torch.linalg.eigh(x).eigenvalues, torch.linalg.eig(x).eigenvectors, torch.linalg.svd(x).Vh, torch.svd(x).V,
            torch.linalg.qr(x).R.abs(), torch.linalg.cholesky_ex(x).info, torch.linalg.lstsq(x, x).rank,
        ]  # fmt: skip

    agree(program)


def test_out():
    def program(torch):
        x, values, vectors = torch.tensor([[2.0, 1.0], [1.0, 2.0]]), torch.empty(2), torch.empty(2, 2)
        torch.linalg.eigh(x, out=(values, vectors))
        torch.linalg.cholesky(x, out=vectors)
        return [values, vectors]

    agree(program)


def test_values_alone_where_nobody_differentiates():
    def program(torch):
        x = torch.tensor(POSITIVE.tolist(), requires_grad=True)
        with torch.no_grad():
            return [torch.linalg.eigvalsh(x), torch.linalg.svdvals(x), torch.linalg.eigvals(x).abs().sort()[0]]

    agree(program)


def test_low_rank_of_full_rank():
    """Of as many columns as there are, random directions give everything."""

    def program(torch, x):
        u, s, v = torch.svd_lowrank(x, 2, niter=1)
        shifted = torch.svd_lowrank(x, 2, niter=1, M=x[:1])
        return [
            u @ v.mH,
            s,
            shifted[1],
            torch.pca_lowrank(x, 2, niter=1)[2].abs(),
            torch.pca_lowrank(x.mT, center=False)[1],
        ]

    same(program, TALL, names=False, second=False)


def test_lobpcg():
    def program(torch):
        x = torch.tensor(DEFINITE_6.tolist(), dtype=torch.float64, requires_grad=True)
        values, vectors = torch.lobpcg(x, k=2, niter=-1)
        grad = torch.autograd.grad(values.sum() + vectors.abs().sum(), x)[0]
        with_b = torch.lobpcg(x.detach(), k=1, B=2 * torch.eye(6, dtype=torch.float64), largest=False, niter=-1)
        return [values.detach(), vectors.detach().abs(), (grad + grad.mT) / 2, with_b[0], with_b[1].abs()]

    agree(program, rtol=1e-4, atol=1e-5)


def test_forward_mode():
    def program(torch):
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            x = forward.make_dual(
                torch.tensor(TALL.tolist(), dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64)
            )
            y = x.mT @ x
            u, s, vh = torch.linalg.svd(x)
            results = [
                torch.linalg.eigvalsh(y), torch.linalg.eigh(y)[1].abs(), torch.linalg.eigvals(y).real.sort()[0], s,
                u[:, :2].abs(), vh.abs(), torch.linalg.cholesky(y), torch.linalg.qr(x)[1].abs(), torch.linalg.pinv(x),
                *torch.linalg.lstsq(x, x.sum(1), driver="gels")[:2], torch.linalg.matrix_norm(x, "nuc"),
            ]  # fmt: skip
            return [list(forward.unpack_dual(result)) for result in results]

    agree(program)

"""Where decompositions of matrices are alike, beside PyTorch's: traps, narrow types, names, forward mode, low ranks."""

import numpy as np
import pytest
from expressions import expression
from harness import agree, same
from matrices import POSITIVE, TALL

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:torch.(qr|cholesky) is deprecated", "ignore:.*torch.jit.script.* is deprecated"),
]

DEFINITE_6 = np.diag([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]) + 0.1

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

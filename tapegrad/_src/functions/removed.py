"""Functions that PyTorch has taken away: who calls them is told what to call instead, in its words."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any, NoReturn

from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.tensor.tensor import Tensor

REMOVED = "This function was deprecated since version 1.9 and is now removed."
SOLVE = (
    f"{REMOVED} `torch.solve` is deprecated in favor of `torch.linalg.solve`. "
    "`torch.linalg.solve` has its arguments reversed and does not return the LU factorization.\n\n"
    "To get the LU factorization see `torch.lu`, which can be used with `torch.lu_solve` or `torch.lu_unpack`.\n"
    "X = torch.solve(B, A).solution should be replaced with:\nX = torch.linalg.solve(A, B)"
)
LSTSQ = (
    f"{REMOVED} `torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`.\n"
    "`torch.linalg.lstsq` has reversed arguments and does not return the QR decomposition in the returned tuple "
    "(although it returns other information about the problem).\n\n"
    "To get the QR decomposition consider using `torch.linalg.qr`.\n\n"
    "The returned solution in `torch.lstsq` stored the residuals of the solution in the last m - n columns of the "
    "returned value whenever m > n. In torch.linalg.lstsq, the residuals are in the field 'residuals' of the "
    "returned named tuple.\n\nThe unpacking of the solution, as in\n"
    "X, _ = torch.lstsq(B, A).solution[:A.size(1)]\nshould be replaced with:\n"
    "X = torch.linalg.lstsq(A, B).solution"
)


@public("torch", asks="nobody")
def matrix_rank(input: Tensor, tol: Any = None, symmetric: bool = False, *, out: Any = None) -> NoReturn:
    """Removed: ``torch.linalg.matrix_rank``.

    Args:
        tol, symmetric: nobody reads them any more.

    Raises:
        RuntimeError: always.

    >>> torch.linalg.matrix_rank(torch.eye(2))
    tensor(2)
    """
    raise RuntimeError(
        f"{REMOVED}\nPlease use the `torch.linalg.matrix_rank` function instead. "
        "The parameter 'symmetric' was renamed in `torch.linalg.matrix_rank()` to 'hermitian'."
    )


@public("torch", asks="nobody")
def solve(input: Tensor, A: Tensor, *, out: Any = None) -> NoReturn:
    """Removed: ``torch.linalg.solve``.

    Args:
        A: nobody reads it any more.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(SOLVE)


@public("torch", asks="nobody")
def lstsq(input: Tensor, A: Tensor, *, out: Any = None) -> NoReturn:
    """Removed: ``torch.linalg.lstsq``.

    Args:
        A: nobody reads it any more.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(LSTSQ)


@public("Tensor", name="solve")
def _solve(self: Tensor, other: Tensor) -> NoReturn:
    """Removed: see ``torch.solve``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(SOLVE)


@public("Tensor", name="lstsq")
def _lstsq(self: Tensor, other: Tensor) -> NoReturn:
    """Removed: see ``torch.lstsq``.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(LSTSQ)


@public("torch", "Tensor", in_place=False, out=False)
def symeig(
    self: Tensor, eigenvectors: bool = False, upper: bool = True, *, e: Any = None, v: Any = None
) -> NoReturn:
    """Removed: ``torch.linalg.eigh``.

    Args:
        eigenvectors, upper, e, v: nobody reads them any more.

    Raises:
        RuntimeError: always.

    >>> torch.linalg.eigvalsh(torch.eye(2))
    tensor([1., 1.])
    """
    raise RuntimeError(
        f"{REMOVED} The default behavior has changed from using the upper triangular portion of the matrix by default "
        "to using the lower triangular portion.\n\nL, _ = torch.symeig(A, upper=upper) should be replaced with:\n"
        "L = torch.linalg.eigvalsh(A, UPLO='U' if upper else 'L')\n\nand\n\n"
        "L, V = torch.symeig(A, eigenvectors=True) should be replaced with:\n"
        "L, V = torch.linalg.eigh(A, UPLO='U' if upper else 'L')"
    )


@public("torch", "Tensor", in_place=False, out=False)
def eig(self: Tensor, eigenvectors: bool = False, *, e: Any = None, v: Any = None) -> NoReturn:
    """Removed: ``torch.linalg.eig``.

    Args:
        eigenvectors, e, v: nobody reads them any more.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(
        f"{REMOVED} `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble` rather than real tensors "
        "mimicking complex tensors.\n\nL, _ = torch.eig(A) should be replaced with:\n"
        "L_complex = torch.linalg.eigvals(A)\n\nand\n\n"
        "L, V = torch.eig(A, eigenvectors=True) should be replaced with:\nL_complex, V_complex = torch.linalg.eig(A)"
    )


@public("Tensor")
def reinforce(self: Tensor, reward: Any) -> NoReturn:
    """Removed: ``torch.distributions`` has ``log_prob``.

    Args:
        reward: nobody reads it any more.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError(cleandoc("""
        reinforce() was removed.
        Use torch.distributions instead.
        See https://pytorch.org/docs/main/distributions.html

        Instead of:

        probs = policy_network(state)
        action = probs.multinomial()
        next_state, reward = env.step(action)
        action.reinforce(reward)
        action.backward()

        Use:

        probs = policy_network(state)
        # NOTE: categorical is equivalent to what used to be called multinomial
        m = torch.distributions.Categorical(probs)
        action = m.sample()
        next_state, reward = env.step(action)
        loss = -m.log_prob(action) * reward
        loss.backward()
        """) + "\n")

"""Sizes that no machine has memory for: PyTorch's error in its words, and never the end of the process."""

import pytest
from harness import same_error

import tapegrad
from tapegrad._src.execution.data.sizes import MEMORY_ERRORS, out_of_memory, refused

pytestmark = pytest.mark.parity

HUGE, LARGE = 1 << 62, 1 << 47  # bytes that no number counts; that no machine has

SIZES = {
    "empty": lambda torch, n: torch.empty(n),
    "empty of an image": lambda torch, n: torch.empty(1, 3, n // 2**20, n // 2**20),
    "zeros": lambda torch, n: torch.zeros(n),
    "zeros of a matrix": lambda torch, n: torch.zeros(n // 2**15, 1 << 40),
    "ones of bool": lambda torch, n: torch.ones(n, 4, dtype=torch.bool),
    "full": lambda torch, n: torch.full((n,), 1.0),
    "new_zeros": lambda torch, n: torch.ones(2).new_zeros(n),
    "new_full": lambda torch, n: torch.ones(2, dtype=torch.float64).new_full((n,), 2.0),
    "rand": lambda torch, n: torch.rand(n),
    "randint": lambda torch, n: torch.randint(0, 5, (n,)),
    "randperm": lambda torch, n: torch.randperm(n),
    "normal": lambda torch, n: torch.normal(0.0, 1.0, (n,)),
    "linspace": lambda torch, n: torch.linspace(0, 1, n),
    "logspace": lambda torch, n: torch.logspace(0, 1, n),
    "eye": lambda torch, n: torch.eye(n // 8, 4),
    "fftfreq": lambda torch, n: torch.fft.fftfreq(n),
    "bincount": lambda torch, n: torch.bincount(torch.tensor([n])),
    "bincount to a length": lambda torch, n: torch.bincount(torch.tensor([1]), minlength=n),
    "bincount with weights": lambda torch, n: torch.bincount(torch.tensor([1]), torch.tensor([1.0]), minlength=n),
    "histc": lambda torch, n: torch.histc(torch.ones(3), bins=n),
    "one_hot": lambda torch, n: torch.nn.functional.one_hot(torch.tensor([0, 1]), n),
    "pad": lambda torch, n: torch.nn.functional.pad(torch.ones(2), (n, 0)),
    "interpolate": lambda torch, n: torch.nn.functional.interpolate(torch.ones(1, 1, 2), size=n),
    "adaptive pooling": lambda torch, n: torch.nn.functional.adaptive_avg_pool2d(torch.ones(1, 1, 2, 2), (n, 1)),
    "affine_grid": lambda torch, n: torch.nn.functional.affine_grid(torch.ones(1, 2, 3), (1, 1, n, 1), False),
    "conv": lambda torch, n: torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 1), padding=n // 4),
    "vander": lambda torch, n: torch.vander(torch.ones(2), n),
    "fft": lambda torch, n: torch.fft.fft(torch.ones(3), n=n),
    "multinomial": lambda torch, n: torch.ones(3).multinomial(n, replacement=True),
    "repeat_interleave": lambda torch, n: torch.repeat_interleave(torch.ones(1), torch.tensor([n])),
    "resize_": lambda torch, n: torch.zeros(3).resize_(n),
    "legacy constructor": lambda torch, n: torch.FloatTensor(n),
}


@pytest.mark.parametrize("n", [HUGE, LARGE])
@pytest.mark.parametrize("name", SIZES)
def test_too_large(name, n):
    same_error(lambda torch: SIZES[name](torch, n))


RESULTS = {
    "mul": lambda torch, n: torch.ones(n, 1) * torch.ones(n),
    "matmul": lambda torch, n: torch.ones(n, 1) @ torch.ones(1, n),
    "outer": lambda torch, n: torch.outer(torch.ones(n), torch.ones(n)),
    "kron": lambda torch, n: torch.kron(torch.ones(n), torch.ones(n)),
    "einsum": lambda torch, n: torch.einsum("i,j->ij", torch.ones(n), torch.ones(n)),
    "cdist": lambda torch, n: torch.cdist(torch.ones(n, 1), torch.ones(n, 1)),
    "where": lambda torch, n: torch.where(torch.ones(n, 1) > 0, torch.ones(n), 0.0),
    "diag": lambda torch, n: torch.diag(torch.ones(n)),
    "repeat": lambda torch, n: torch.ones(2).repeat(n, n, 8),
    "repeat past all numbers": lambda torch, n: torch.ones(2).repeat(n, n, n),
    "of a leaf": lambda torch, n: torch.ones(n, 1, requires_grad=True) * torch.ones(n, requires_grad=True),
    "numel of expand": lambda torch, n: torch.ones(n).expand(1 << 60, n),
    "numel of expand, of two": lambda torch, n: torch.ones(1).expand(1 << 32, 1 << 32),
    "numel of meshgrid": lambda torch, n: torch.meshgrid(*[torch.ones(n)] * 3, indexing="ij"),
    "numel of cartesian_prod": lambda torch, n: torch.cartesian_prod(*[torch.ones(n)] * 3),
    "numel of combinations": lambda torch, n: torch.combinations(torch.ones(n), 3),
    "numel of eye": lambda torch, n: torch.eye(1 << 40),
    "no elements": lambda torch, n: torch.zeros(0, 1 << 62, 1 << 62),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    same_error(lambda torch: RESULTS[name](torch, 1 << 22))


@pytest.mark.parametrize("make", [
    lambda torch: torch.ones(1).expand(HUGE), lambda torch: torch.ones(2).as_strided((LARGE,), (0,)),
    lambda torch: torch.meshgrid(*[torch.ones(1 << 16)] * 3, indexing="ij"),
])  # fmt: skip
def test_views_need_memory(make):
    """PyTorch shows one element so many times and computes nothing: here it takes the memory, and is refused."""
    with pytest.raises(RuntimeError, match="allocate memory|Storage size calculation overflowed"):
        make(tapegrad)


@pytest.mark.once("a captured call is recorded")
def test_inside_of_compile():
    """A captured call refuses as any other, and the function can be called afterwards."""
    step = tapegrad.compile(lambda x, n: x.reshape(n, 1) * x)
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"can't allocate memory: you tried to allocate \d+ bytes"):
            step(tapegrad.ones(1 << 22), 1 << 22)
        assert step(tapegrad.ones(2), 2).shape == (2, 2)


def test_memory_errors_of_numpy_and_xla():
    """What passed the check and is too much for the moment is PyTorch's error too."""
    error = MEMORY_ERRORS[-1]("RESOURCE_EXHAUSTED: Out of memory allocating 64 bytes.")
    assert str(out_of_memory(error)) == str(refused(64))
    other = MEMORY_ERRORS[-1]("INTERNAL: something else")
    assert out_of_memory(other) is other

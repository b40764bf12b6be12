"""What dtype arithmetic has, and what it does to numbers that don't fit: Python and NumPy numbers, 0-dim tensors."""

import math

import numpy as np
import pytest
from harness import same, same_error

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:ComplexHalf support")]  # PyTorch says so once

DTYPES = ["bool", "uint8", "int16", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]
NUMBERS = [True, 3, 2.5, 1.5j, np.float32(2.5), np.int16(3)]


def made(torch, dtype, shape):
    return torch.ones(shape, dtype=getattr(torch, dtype))


@pytest.mark.parametrize("left", DTYPES)
def test_tensors_with_tensors(left):
    def program(torch):
        pairs = [(right, shape) for right in DTYPES for shape in ((2,), ())]
        return [made(torch, left, (2,)) + made(torch, right, shape) for right, shape in pairs]

    same(program)


@pytest.mark.parametrize("left", DTYPES)
def test_scalars_with_tensors(left):
    same(lambda torch: [made(torch, left, ()) * made(torch, right, (2,)) for right in DTYPES])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2,), ()], ids=["1d", "0d"])
def test_tensors_with_numbers(dtype, shape):
    def program(torch):
        x = made(torch, dtype, shape)
        return [x * number for number in NUMBERS] + [number + x for number in NUMBERS]

    same(program)


@pytest.mark.parametrize("dtype", DTYPES)
def test_division_and_powers(dtype):
    def program(torch):
        x = made(torch, dtype, (2,))
        return [x / x, x / 2, 2 / x, x**2, x**2.0, 2**x, torch.exp(x), torch.sqrt(x), x == 1]

    same(program)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_default_dtype_decides_for_integers(dtype):
    def program(torch, n):
        previous = torch.get_default_dtype()
        torch.set_default_dtype(getattr(torch, dtype))
        try:
            return [n / 2, n * 2.5, torch.exp(n), n**0.5, n * 1j, torch.where(n > 1, 1.0, 2.0), 1 / n]
        finally:
            torch.set_default_dtype(previous)

    same(program, np.array([1, 2, 3]), rtol=1e-6)


GRADIENTS = {
    "int * float": lambda torch, x, n: n * x,
    "float / int": lambda torch, x, n: x / n,
    "float ** int": lambda torch, x, n: x**n,
    "0-dim double * float": lambda torch, x, n: x[0, 0].double() * x.float(),
    "float + 0-dim double": lambda torch, x, n: x.float() + x[0, 0],
    "half * 0-dim float": lambda torch, x, n: x.half() * x[0, 0].float(),
    "bool * float": lambda torch, x, n: (n > 2) * x,
    "real * complex": lambda torch, x, n: x * (1 + 2j),
    "real + complex": lambda torch, x, n: x + x * 1j,
    "real / complex": lambda torch, x, n: x / torch.tensor([1 + 1j, 2j, 3 - 1j], dtype=torch.complex128),
    "float ** 0-dim double": lambda torch, x, n: x.float() ** x[0, 0],
    "maximum": lambda torch, x, n: torch.maximum(x.float(), x * 0.5),
    "where": lambda torch, x, n: torch.where(n > 2, x.float(), x),
}


@pytest.mark.parametrize("case", GRADIENTS)
def test_gradients_have_the_dtype_of_their_tensor(case):
    x, n = np.array([[0.5, 1.5, 2.5], [0.7, 1.7, 2.7]]), np.array([[1, 2, 3], [4, 1, 2]])
    half = "half" in case
    same(GRADIENTS[case], x, n, rtol=5e-3 if half else 1e-6, second=not half)


OVERFLOWS = {
    "int8 + 300": lambda torch: torch.tensor([100, 2], dtype=torch.int8) + 300,
    "int8 * 2": lambda torch: torch.tensor([100, 2], dtype=torch.int8) * 2,
    "uint8 - 3": lambda torch: torch.tensor([1, 200], dtype=torch.uint8) - 3,
    "uint8 * -1": lambda torch: torch.tensor([1, 200], dtype=torch.uint8) * -1,
    "-uint8": lambda torch: -torch.tensor([1, 200], dtype=torch.uint8),
    "uint8 == 300": lambda torch: torch.tensor([44, 200], dtype=torch.uint8) == 300,
    "uint8 < 300": lambda torch: torch.tensor([1, 200], dtype=torch.uint8) < 300,
    "int32 * 2**40": lambda torch: torch.tensor([1, 2], dtype=torch.int32) * 2**40,
    "int32 + 2**31": lambda torch: torch.tensor([1, 2], dtype=torch.int32) + 2**31,
    "int64 + 2**63": lambda torch: torch.tensor([1, 2]) + 2**63,
    "int64 * 2**62": lambda torch: torch.tensor([1, 2]) * 2**62,
    "bool + 2**40": lambda torch: torch.tensor([True, False]) + 2**40,
    "float32 * 2**40": lambda torch: torch.tensor([1.0, 2]) * 2**40,
    "float32 * (2**53 + 1)": lambda torch: torch.tensor([1.0, 2], dtype=torch.float64) * (2**53 + 1),
    "float32 * 1e300": lambda torch: torch.tensor([1.0, 0.0]) * 1e300,
    "float16 * 1e5": lambda torch: torch.tensor([0.001, 3], dtype=torch.float16) * 100000,
    "float16 + 1e5": lambda torch: torch.tensor([0.001, 3], dtype=torch.float16) + 100000,
    "float16 < 1e10": lambda torch: torch.tensor([0.001, 3], dtype=torch.float16) < 1e10,
    "where with 1e10": lambda torch: torch.where(torch.tensor([True, False]), torch.ones(2, dtype=torch.float16), 1e10),
    "bool * 2.5": lambda torch: torch.tensor([True, False]) * 2.5,
    "bool + bool": lambda torch: torch.tensor([True, False]) + torch.tensor([True, True]),
    "bool / bool": lambda torch: torch.tensor([True, False]) / torch.tensor([True, True]),
    "int8 ** 7": lambda torch: torch.tensor([2, 3], dtype=torch.int8) ** 7,
    "2 ** -1": lambda torch: 2 ** torch.tensor([-1, 1, 2]),
    "-1 ** -3": lambda torch: torch.tensor([-1, 1, 2, 0]) ** torch.tensor([-3, -1, -1, 0]),
    "inf": lambda torch: torch.tensor([1, 2]) * math.inf,
}


@pytest.mark.parametrize("case", OVERFLOWS)
def test_overflow(case):
    same(OVERFLOWS[case])


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 2**70], ids=["2**64", "-2**63-1", "2**70"])
def test_ints_that_64_bits_do_not_hold(number):
    same_error(lambda torch, x: x * number, np.array([1.0]))
    same_error(lambda torch, x: x + number, np.array([1]))
    same_error(lambda torch, x: x == number, np.array([1]))


def test_an_int_that_is_too_large_is_refused_after_small_ones_have_passed():
    def clamped(torch, x, low, high):
        torch.clamp(x, -1, 1), torch.clamp(x, -1, 1)
        return x.masked_fill(x > 2, 0).masked_fill(x > 2, 1).clamp(low, high)

    same(clamped, np.array([1.0, 40_000.0, -3.0], "float32"), -(2**15), 2**15)
    same(clamped, np.array([1.0, 40_000.0, -3.0], "float32"), -2.5, 2**40)
    same_error(clamped, np.array([1.0]), -1, 2**70)
    same_error(lambda torch, x: x.clamp(-1, 1).clamp(-1, 70_000), np.array([1.0], "float16"))


def test_numpy_numbers():
    x, n = np.array([1.0, 2], "float32"), np.array([1, 2])
    for number in (np.float32(2), np.float64(2), np.int64(2), np.uint8(2), np.bool_(True)):
        same(lambda torch, t, i, k=number: (t * k, i * k, t + k, i == k, k == i, torch.add(t, k)), x, n)
        same(lambda torch, t, i, k=number: (k * t, k * i, k + t, k / t), x, n)


@pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning")  # PyTorch's
def test_numpy_arrays():
    """On the right NumPy computes, with its promotion; on the left they are refused."""
    x, row, point = np.array([1.0, 2], "float32"), np.array([3.0, 4]), np.array(2.0)
    for other in (row, point):
        same(lambda torch, t, k=other: (t + k, t - k, t * k, t / k, t // k, t % k, t**k, t == k), x, grads=False)
    same_error(lambda torch, t: row * t, x)
    same_error(lambda torch, t: t * row, x)
    same_error(lambda torch, t: t < row, x)


def test_rounding_of_sums_in_halves():
    """One rounding for each function, not one for each step."""
    x = np.linspace(0.1, 2, 6, dtype="float32")
    for dtype in ("float16", "bfloat16"):
        same(
            lambda torch, t, d=dtype: torch.lerp(t.to(getattr(torch, d)), t.to(getattr(torch, d)) * 3, 0.3),
            x,
            rtol=2e-2,
        )
        same(lambda torch, t, d=dtype: t.to(getattr(torch, d)) * 1.001, x, second=False, rtol=0, atol=0)

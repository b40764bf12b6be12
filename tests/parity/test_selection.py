"""Choosing between tensors, beside PyTorch's."""

import math

import numpy as np
import pytest
from harness import same
from samples import array

pytestmark = pytest.mark.parity

A, B, V, W, POINT, EMPTY = array(2, 3), array(2, 3, seed=1), array(3), array(3, seed=1), array(), array(0, 3)
Z = array(2, 3, dtype="complex128") / 2 + 0.7
N, M = np.array([[1, -2, 3], [4, 5, -6]]), np.array([2, 3, -4])
POSITIVE_POINT, FLAGS = np.asarray(0.7), A > 0
INF, NAN = math.inf, math.nan


WHERE = {
    "tensors": (A, B), "broadcast": (A, V), "a number": (A, 2.5), "an int": (A, 2), "a number first": (2, A),
    "complex": (Z, A), "integers and floats": (N, V), "integers and a float": (N, 2.5), "numbers": (1, 2),
    "float and int": (1.0, 2),
}  # fmt: skip


@pytest.mark.parametrize("case", WHERE)
def test_where(case):
    grads = case != "complex"  # where PyTorch's backward fails
    same(lambda torch, c, x, y: torch.where(c, x, y), FLAGS, *WHERE[case], grads=grads)


def test_where_method():
    same(lambda torch, x, y: (x.where(x > 0, y), x.where(x > 0, 0)), A, B)


def test_masked_fill():
    same(lambda torch, x, m: x.masked_fill(m, 2), A, FLAGS)
    same(lambda torch, x, m, v: x.masked_fill(m, v), A, FLAGS[0], POINT)
    same(lambda torch, x, m: x.masked_fill(m, 2.7), N, FLAGS)
    same(lambda torch, x, m: x.masked_fill(m, math.nan), A, FLAGS)
    same(lambda torch, x, m: x.masked_fill(m, -INF), V, FLAGS)
    same(lambda torch, x, m: x.masked_fill(m, 1j), Z, FLAGS)
    same(lambda torch, x, m, v: x.masked_fill(m, v.float()), A, FLAGS, POINT)

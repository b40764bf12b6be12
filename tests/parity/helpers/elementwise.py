"""Arrays that programs of elementwise functions are tried on, and how they are called."""

import math

import numpy as np
from harness import same, same_error
from samples import array

A, B, V, W, POINT, EMPTY = array(2, 3), array(2, 3, seed=1), array(3), array(3, seed=1), array(), array(0, 3)
POSITIVE, UNIT, ABOVE = array(2, 3, low=0.2), array(2, 3, low=-0.9, high=0.9), array(2, 3, low=1.1, high=3)
AWAY, AWAY_V = POSITIVE * np.array([1, -1, 1]), array(3, low=0.2, seed=1) * np.array([-1, 1, 1])
Z = array(2, 3, dtype="complex128") / 2 + 0.7
N, M = np.array([[1, -2, 3], [4, 5, -6]]), np.array([2, 3, -4])
POSITIVE_POINT, FLAGS = np.asarray(0.7), A > 0
INF, NAN = math.inf, math.nan
ODD = np.array([NAN, INF, -INF, 0.0, -0.0, 1.0])


def call(name, *args, **kwargs):
    """The program that calls ``torch.name`` (or ``torch.special.name``) on its tensors and these arguments."""
    home, _, short = name.rpartition(".")

    def program(torch, *tensors):
        return getattr(getattr(torch, home) if home else torch, short)(*tensors, *args, **kwargs)

    return program


def same_or_same_error(program, *inputs, **options):
    """What PyTorch refuses is refused in the same words; what it takes gives the same."""
    try:
        same(program, *inputs, **options)
    except (NotImplementedError, RuntimeError):
        same_error(program, *inputs)


def at(*numbers, dtype="float64"):
    return np.array(numbers, dtype)


def same_function(case, args, kwargs):
    """A case is called by its function in ``torch``; what is particular about it stands behind a comma or a space."""
    name = case.split(",")[0].split(" ")[0]
    same(lambda torch, *given: getattr(torch, name)(*given, **kwargs), *args)


def same_saved(program, fields):
    """What the node of a program's result has saved."""

    def saved(torch, x, y):
        node = program(torch, x, y).grad_fn
        values = [getattr(node, f"_saved_{field}") for field in fields]
        return [value.detach() if isinstance(value, torch.Tensor) else plain(value) for value in values]

    def plain(value):
        return float(value) if isinstance(value, int) else value  # an int beside floats is a float here

    same(saved, POSITIVE, array(3, low=0.2, seed=1))


NUMBERS = [2, 2.5, -3, np.float32(1.5), np.int64(2)]
"""What stands beside a tensor in programs of operators."""


def same_broadcast(program):
    """An operator of two tensors, of which one is broadcast, or empty."""
    for x, y in ((POSITIVE, AWAY_V), (POSITIVE_POINT, AWAY), (EMPTY, V)):
        same(program, x, y, rtol=1e-6)


def same_with_number(program, number, refused=lambda x: False):
    """An operator of floats, and of integers, and a number."""
    for x in (POSITIVE, N):
        (same_error if refused(x) else same)(lambda torch, t: program(torch, t, number), x)

"""What tests over tables of cases are made of: arrays of a shape, and parameters with names that can be read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from samples import array

of = array


def uniform(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0, dtype: str = "float64") -> np.ndarray:
    """Numbers drawn between ``low`` and ``high``, of which some may be near one another."""
    rng = np.random.default_rng(seed + 7 * len(shape))
    return rng.uniform(low, high, shape).astype(dtype)


def case_of(table: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrize a test over a table of (program, *inputs), by its names."""
    return pytest.mark.parametrize("case", table)


def cases(*groups: tuple[Iterable[str], dict[str, np.ndarray]]) -> list[Any]:
    """Parameters ``(text, array)`` with readable ids, from pairs of lists.

    >>> [case.id for case in cases((["x.sum()", "x.max()"], {"point": np.array(1.5)}))]
    ['x.sum()-point', 'x.max()-point']
    """
    return [
        pytest.param(text, array, id=f"{text}-{name}")
        for texts, arrays in groups
        for text, (name, array) in itertools.product(texts, arrays.items())
    ]


def lines(*texts: str) -> list[str]:
    """The lines of texts, each of which is a program."""
    return [line for text in texts for line in text.strip().splitlines()]


def ids(*numbers: Any) -> np.ndarray:
    """An array of integers, as rows of tables and classes are named by."""
    return np.array(numbers)

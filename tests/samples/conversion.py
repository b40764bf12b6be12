"""Samples of the operators in ``ops/conversion.py``."""

from __future__ import annotations

from samples import Sample, array
from tapegrad._src.execution.data import dtypes

SAMPLES = [
    Sample("truncate", (array(2, 3, low=-300.0, high=300.0),), {"dtype": dtypes.int32}, constants=("x",)),
    Sample("truncate", (array(3, dtype="complex128"),), {"dtype": dtypes.uint8}, constants=("x",)),
]  # fmt: skip

"""Samples of the operators in ``ops/nested.py``."""

from __future__ import annotations

from samples import Sample, array
from tapegrad.ops import nested  # noqa: F401 - imported on demand elsewhere

SAMPLES = [
    Sample(name, (array(3, 2),))
    for name in ("nested_view_from_jagged", "nested_get_values", "nested_values", "nested_tensor_from_tensor_list")
]

"""The host tier against XLA: every kernel of the table, forward and backward, at every sample. See Note [The host tier]."""

import importlib
import pkgutil

import jax
import numpy as np
import pytest
from samples import all_samples

from tapegrad import ops
from tapegrad.execution.host_tier.writer import written

pytestmark = pytest.mark.once("kernels are run by themselves")

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"tapegrad.ops.{module.name}")

SAMPLES = list(all_samples())


def test_a_written_function_reads_as_numpy():
    x = jax.ShapeDtypeStruct((3,), "float32")
    assert written(lambda x, y: (x * y).sum(), [x, x]).source == (
        "def body(x0, x1):\n    return asarray(reduce_add(multiply(x0, x1), (0,)))"
    )


def test_results_without_dimensions_are_arrays():
    x = np.ones((), "float32")
    assert type(written(lambda x: x * x + 1, [x]).body(x)) is np.ndarray

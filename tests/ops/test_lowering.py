"""Every kernel of the table, forward and backward, lowers for CUDA and TPU: a CPU is enough to find out.

What lowers is not yet run there; but that a platform has no such algorithm shows here. See Note [Kernels on the host]
in ``ops/fallbacks.py``.
"""

from functools import partial

import jax
import numpy as np
import pytest
from jax.extend.core import jaxpr_as_fun
from samples import all_samples

from tapegrad.ops import fallbacks
from tapegrad.ops.operator import TABLE
from tests.ops.test_numpy_backend import FIRST, traced

pytestmark = pytest.mark.once("nothing is run")

PLATFORMS = ("cuda", "tpu")
CALLBACK = "platform for the specified backend cpu is different"
"""What jax says to a program that calls the host, where it is compiled for a platform that is not here."""


def refused(sample, platform):
    """What jax says against lowering an operator's kernels for a platform."""
    found = []
    for closed, arguments in traced(sample):
        with jax.enable_x64(True):
            staged = jax.jit(jaxpr_as_fun(closed)).trace(*arguments)
            try:
                staged.lower(lowering_platforms=(platform,))
            except (NotImplementedError, ValueError) as error:
                found.append(str(error))
    return found


@pytest.mark.parametrize("sample", FIRST, ids=lambda sample: sample.op)
def test_a_kernel_lowers_where_it_is_not_said_to_run_on_the_host(sample, monkeypatch):
    operator = TABLE[sample.op]
    if operator.on_host:
        monkeypatch.setattr(fallbacks.jax, "default_backend", lambda: "tpu")
        operator.remember_nothing()
    try:
        for platform in PLATFORMS:
            found = refused(sample, platform)
            assert [CALLBACK in one for one in found] == [True] * len(found)
            assert bool(found) == (platform in operator.on_host)
    finally:
        if operator.on_host:
            operator.remember_nothing()


LACKING = [sample for sample in all_samples() if sample.op in ("eig", "eigvals")]


@pytest.mark.parametrize("sample", LACKING, ids=str)
def test_on_the_host_it_computes_the_same(sample):
    direct = partial(TABLE[sample.op].function.__wrapped__, **sample.settings)
    with jax.enable_x64(True):
        expected = jax.tree.leaves(jax.jit(direct)(*sample.args))
        found = jax.tree.leaves(jax.jit(partial(fallbacks.called, direct))(*sample.args))
    assert [one.dtype for one in found] == [one.dtype for one in expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_without_the_fallback_it_does_not_lower():
    sample = next(sample for sample in FIRST if sample.op == "eig")
    assert any("primitive 'eig' not found for platform tpu" in one for one in refused(sample, "tpu"))

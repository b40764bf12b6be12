"""Every operator of the table, at every sample, against every oracle. See ``oracles.py`` and ``samples.py``."""

import importlib
import pkgutil

import pytest
from oracles import examine
from samples import all_samples

from tapegrad import ops
from tapegrad.ops.operator import TABLE
from tests.rings import is_drawn, reaches

pytestmark = pytest.mark.once("what a sample computes is traced; then it runs at once, and deferred")

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"tapegrad.ops.{module.name}")

SAMPLES = list(all_samples())

SLOW = frozenset("""
matrix_exp grid_sample grid_sample3d grid_spread ormqr lstsq pinv polygamma qr solve_ex standard_gamma solve_factored
householder_product lu_factor renorm lu_solve slogdet cholesky_solve adjugate det inv embedding_bag segment_reduce lu
svd eig eigh ctc_loss ldl_solve triangular_solve solve_triangular cholesky_inverse cholesky cholesky_ex cdist pdist
attention attention_by_parts lstm_layer gru_layer rnn_tanh_layer rnn_relu_layer lstm_cell gru_cell
""".split())  # noqa: SIM905 - a table is easier to read without the quotes
"""Operators whose programs take XLA a second: of their samples only the first is run, but in the ring of everything.
Most of these come in the whole ring."""

SERIES = frozenset("""
adjugate_derivative airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 igamma igammac log_ndtr ndtri number_zeta zeta
""".split())  # noqa: SIM905
"""Operators that take XLA half a second, of which there are cheaper ones alike: so do they."""


FIRST = {sample.op: sample for sample in reversed(SAMPLES)}
"""The sample at which an operator is examined in the default ring, and thoroughly in wider ones."""

IN_FULL = 4
"""In the full ring one in so many operators is examined thoroughly; of those that take XLA long, so many at all."""


HANDFUL = {"add", "mul", "matmul", "sum", "amax", "where", "gather", "sort", "convolution", "softmax", "as_strided"}
"""Operators of as many kinds, for the first ring."""


def ring_of(sample):
    """The smallest ring in which a sample is tried; None if that is drawn. See Note [Rings of tests]."""
    if sample is not FIRST[sample.op]:
        return "everything" if sample.op in SLOW else None
    if sample.op in SLOW | SERIES:
        return "full" if is_drawn(sample.op, IN_FULL) else "whole"
    return "first" if sample.op in HANDFUL else "default"


def marked(sample):
    ring = ring_of(sample)
    return pytest.param(sample, marks=pytest.mark.ring(ring) if ring else (), id=str(sample))


def test_every_operator_has_samples():
    assert sorted(set(TABLE) - {sample.op for sample in SAMPLES}) == []


def test_every_sample_names_an_operator():
    assert sorted({sample.op for sample in SAMPLES} - set(TABLE)) == []


def is_thorough(sample, ring):
    """Whether all is asked of an operator at a sample."""
    wide = reaches(ring, "whole") or (reaches(ring, "full") and is_drawn(sample.op, IN_FULL))
    return wide and sample is FIRST[sample.op]


@pytest.mark.parametrize("sample", list(map(marked, SAMPLES)))
def test_operator(sample, ring):
    verdict = examine(TABLE[sample.op], sample, thorough=is_thorough(sample, ring))
    assert not verdict.complaints, str(verdict)


@pytest.mark.ring("everything")
@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample is not FIRST[sample.op]], ids=str)
def test_operator_thoroughly(sample):
    verdict = examine(TABLE[sample.op], sample)
    assert not verdict.complaints, str(verdict)

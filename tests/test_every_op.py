"""Every operator of the table, at every sample, against every oracle. See ``oracles.py`` and ``samples.py``."""

import importlib
import pkgutil

import pytest
from oracles import examine
from samples import all_samples

from tapegrad import ops
from tapegrad.ops.operator import TABLE

for module in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"tapegrad.ops.{module.name}")

SAMPLES = list(all_samples())


def test_every_operator_has_samples():
    assert sorted(set(TABLE) - {sample.op for sample in SAMPLES}) == []


def test_every_sample_names_an_operator():
    assert sorted({sample.op for sample in SAMPLES} - set(TABLE)) == []


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_operator(sample):
    verdict = examine(TABLE[sample.op], sample)
    assert not verdict.complaints, str(verdict)

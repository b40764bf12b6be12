"""PyTorch's database of operators, on its samples for sparse layouts: see ``opinfo_sparse.py`` for what is compared.

Samples of a million elements are left out; ``TAPEGRAD_OPINFO_SAMPLES=all`` runs them, too.

How many agree is counted: run whole, the file ends with a line as "761 of 761 samples that PyTorch computes agree; of
30 others ...". Those others are samples of which PyTorch has no result, or no gradient (``BEYOND``): here they have
one, which is that of dense tensors.
"""

import os
from collections import Counter

import pytest
import torch as pytorch
from opinfo import counterpart
from opinfo_sparse import LAYOUTS, all_entries, attempt, disagreement, errors, ours, samples, seen_of

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("PyTorch's own samples"), pytest.mark.filterwarnings("ignore")]

LARGE = float("inf") if os.environ.get("TAPEGRAD_OPINFO_SAMPLES") == "all" else 1000

NAMES = ("masked.amax", "masked.amin", "masked.mean", "masked.prod", "masked.sum", "mul", "randn_like", "sum",
         "zeros_like")  # fmt: skip
"""The entries of the database that have samples for sparse layouts."""

RANDOM = {"randn_like": "random numbers, of which only layout, shape and indices are compared"}

NO_GRADIENT = "PyTorch has no gradient of sums over dimensions, or of products of such layouts; here they have one"
EMPTY_LINES = "PyTorch's reduction of CSR along rows fails where a row is empty"

BEYOND = {
    "PyTorch raises RuntimeError('expand is unsupported": NO_GRADIENT,
    "PyTorch raises RuntimeError('Expected result Tensor to be of format CSR": NO_GRADIENT,
    "PyTorch raises RuntimeError('sparse_coo_to_sparse: conversion from Sparse to": NO_GRADIENT,
    "PyTorch raises RuntimeError('The size of tensor a": EMPTY_LINES,
    "PyTorch raises RuntimeError('empty_sparse_compressed expected sparse compressed (non-block)": NO_GRADIENT,
}
"""Errors of PyTorch's, by a part of what is said of them, where there is a result here, and why.

That result, and its gradients at the places of their leaves, are those of dense tensors in PyTorch. All samples of
which PyTorch has a result agree."""


COMPUTED = ("Expected result Tensor to be of format CSR", "empty_sparse_compressed expected sparse compressed")
"""Errors of PyTorch's, which has no kernel for such layouts, where something is computed here."""


def entries(name):
    return [entry for entry in all_entries() if entry.name == name]


def of_layout(name, layout):
    found = [(entry, sample) for entry in entries(name) for sample in samples(entry, layout, pytorch.float64, True)]
    return [(entry, sample) for entry, sample in found if sample.input.numel() < LARGE]


def complaint_of(entry, sample):
    found = disagreement(entry, sample)
    if found is None or (entry.name in RANDOM and "values[0]" in found):
        return None
    return found


@pytest.fixture(scope="module")
def counted(request):
    """Counts samples, and prints the count when all have been run."""
    tally = Counter()
    yield tally
    if tally["groups"] == len(NAMES) * len(LAYOUTS):
        text = sentence(tally)
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n{text}")


def sentence(tally):
    """The count in words.

    >>> sentence(Counter({"all": 5, "differs": 1, "no gradient": 2}))
    '2 of 3 samples that PyTorch computes agree; of 2 others: 2 no gradient'
    """
    beyond = {why: count for why, count in tally.items() if why not in ("all", "groups", "differs")}
    computed, others = tally["all"] - sum(beyond.values()), "; ".join(f"{n} {why}" for why, n in beyond.items())
    agree = computed - tally["differs"]
    return f"{agree} of {computed} samples that PyTorch computes agree; of {sum(beyond.values())} others: {others}"


def cause_of(complaint):
    """The reason why PyTorch has no result to compare with; ``"differs"`` if it has one."""
    return next((why for known, why in BEYOND.items() if known in complaint), "differs")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_samples(name, layout, counted):
    pairs = of_layout(name, layout)
    complaints = [found for pair in pairs if (found := complaint_of(*pair)) is not None]
    counted.update(["groups", *["all"] * len(pairs), *map(cause_of, complaints)])
    unknown = [one for one in complaints if not any(known in one for known in BEYOND)]
    assert not unknown, f"{len(unknown)} samples differ\n\n" + "\n\n".join(unknown[:3])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_errors(layout):
    """What the database says is an error raises an error of that type."""
    for name in NAMES:
        for entry in entries(name):
            for one in errors(entry, layout):
                if any(known in one.error_regex for known in COMPUTED):
                    continue
                sample = one.sample_input
                parts = ours((sample.input, tuple(sample.args), dict(sample.kwargs)))
                error = attempt(lambda: seen_of(tapegrad, counterpart(entry), parts))[1]  # noqa: B023 - called at once
                assert isinstance(error, one.error_type), (name, layout, error, one.error_regex)

"""One name for each family: in ``ops/``, in ``functions/``, of its samples and of its programs beside PyTorch.

Whoever knows one of the four files finds the other three. What has no pair is listed here, with the reason.
"""

from pathlib import Path

import pytest
from samples import families

import tapegrad.nested
import tapegrad.sparse  # noqa: F401 - imported on demand
from tapegrad.ops.operator import TABLE

pytestmark = pytest.mark.once("reads the names of files")

TESTS = Path(__file__).resolve().parents[1]
PACKAGE = TESTS.parent / "tapegrad"

HOW_OPERATORS_ARE_DECLARED = {
    "checks", "conventions", "facts", "fallbacks", "foreign", "formulas", "levels", "memory_formats", "operator",
    "composite_schemas", "overloads", "page", "saved_fields", "schema_table", "schemas", "signatures", "wording",
}  # fmt: skip
"""Files of ``ops/`` in which no operators of a family are."""

WITHOUT_FUNCTIONS = {
    "assignment": "what ``bindings/writes/in_place.py`` writes with",
    "convolving": "how convolutions are computed: ``convolution`` has the operators",
    "kinds": "operators that the kinds themselves speak",
    "nested": "``nested/``, a room of its own that is imported on demand",
    "sparse": "``sparse/``, a room of its own that is imported on demand",
    "strided": "views whose history is made again: ``bindings/state/memory.py``, ``bindings/placement.py``",
}

WITHOUT_OPERATORS = {
    "composed": "compositions of functions of other families, as PyTorch's dispatcher sees them",
    "composed_layers": "the same, of layers, reductions and shapes",
    "construction": "made from data on the host",
    "core_losses": "``losses`` as ``torch`` has them",
    "creation": "computed on the host",
    "incomparable": "an order of numbers on the host, for ``unique``",
    "dlpack": "shared with other libraries",
    "foreach": "other functions, for lists",
    "identities": "finds the functions of all families",
    "inner_names": "other names of functions of several families",
    "inplace_elements": "writes, of functions of several families",
    "legacy": "classes of tensors that are made",
    "linear_loss": "made of ``matmul`` and ``losses``",
    "lowrank": "made of ``qr``, ``svd`` and ``matmul``",
    "masked": "made of ``reductions``, ``scans`` and ``softmax``",
    "multihead": "made of ``attention`` and ``matmul``",
    "observing": "made of ``quantization`` and ``reductions``",
    "random_inplace": "``random``, in place",
    "removed": "computes nothing",
    "sampled": "made of ``slicing`` and ``reductions``",
    "signal_windows": "made of ``arithmetic``",
    "similarities": "made of ``reductions`` and ``losses``",
    "spectral": "made of ``fft``",
    "statistics": "made of ``matmul`` and ``reductions``",
    "view_copies": "``shape``, ``slicing`` and others, copied",
}


def stems(folder):
    return {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}


OPERATORS, FUNCTIONS = stems(PACKAGE / "ops"), stems(PACKAGE / "_src" / "functions")
FAMILIES = sorted(OPERATORS & FUNCTIONS)


def test_operators_have_functions_of_the_same_name():
    listed = HOW_OPERATORS_ARE_DECLARED | WITHOUT_FUNCTIONS.keys()
    assert (OPERATORS - FUNCTIONS) ^ listed == set()


def test_functions_have_operators_of_the_same_name():
    assert (FUNCTIONS - OPERATORS) ^ WITHOUT_OPERATORS.keys() == set()


def test_samples_stand_in_the_file_of_their_family():
    homes = {name: op.__module__.rpartition(".")[2] for name, op in TABLE.items()}
    assert families().keys() <= OPERATORS
    for family, module in families().items():
        strangers = {sample.op for sample in module.SAMPLES if homes[sample.op] != family}
        assert strangers == set(), f"samples/{family}.py"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_samples_and_programs(family):
    assert (TESTS / "samples" / f"{family}.py").exists()
    assert len([*(TESTS / "parity").glob(f"*/test_{family}.py")]) == 1

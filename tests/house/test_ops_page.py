"""The page of operators, and what it says of complex numbers."""

import ast
import subprocess
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest
from oracles import Case, flowing, gradients, weights
from samples import all_samples
from sources import PACKAGE, tree_of

import tapegrad
from tapegrad.ops.facts import FACTS
from tapegrad.ops.kinds import elementwise
from tapegrad.ops.operator import TABLE
from tapegrad.ops.page import families, page, variants

pytestmark = pytest.mark.once("nothing is computed")


def test_every_operator_is_on_the_page():
    rows = [row for _, members in families() for row in members]
    assert sorted(row.operator.partition("(")[0] for row in rows) == sorted(TABLE)
    assert f"{len(TABLE)} operators" in page()


def test_it_is_printed():
    command = [sys.executable, "-m", "tapegrad.ops", "--markdown"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    row = "| `mul(x, y)` | elementwise | `x: y; y: x` | `x, y` | elementwise kind | yes | yes | yes | MulBackward0 |"
    assert row in printed
    assert printed.count("\n## ") + printed.startswith("## ") == len(list(families()))


def test_variants_stand_with_the_operator_that_they_are_variants_of():
    assert set(variants()) <= set(TABLE)
    assert "\npow: power, pow_number, number_pow\n" in page()
    assert "\nrsub: rsub_number, rsub_scaled, rsub_number_scaled\n" in page()


METHODS = {"check", "output_strides", "materialize"}
"""What a kind says by a method, and never for one operator alone."""


def set_later():
    """Assignments to facts of operators in modules of the package, outside functions and classes."""
    for path in sorted(PACKAGE.rglob("*.py")):
        statements = [node for node in tree_of(path).body if isinstance(node, (ast.Assign, ast.For))]
        for node in [node for statement in statements for node in ast.walk(statement)]:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in FACTS | METHODS:
                yield f"{path.stem}:{node.lineno} sets {ast.unparse(node)}"


def test_facts_are_declared_and_never_set_later():
    assert list(set_later()) == []


def test_what_is_no_fact_of_operators_is_refused():
    with pytest.raises(TypeError, match=r"formulas for \['keeps_layuot'\]"):
        elementwise(keeps_layuot=True)(lambda x: x)


def first_samples():
    """The first sample of each operator that takes complex numbers, with complex numbers."""
    found = {}
    for sample in all_samples():
        floating = [isinstance(arg, np.ndarray) and arg.dtype.kind in "fc" for arg in sample.args]
        if any(floating) and not TABLE[sample.op].real:
            pairs = zip(sample.args, floating, strict=True)
            wide = [arg.astype("complex128") if is_float else arg for arg, is_float in pairs]
            found.setdefault(sample.op, replace(sample, args=tuple(wide)))
    return list(found.values())


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("sample", first_samples(), ids=lambda sample: sample.op)
def test_who_is_not_declared_real_takes_complex_numbers(sample):
    """Nothing is computed: it is enough that JAX can trace value and gradients."""
    case = Case(TABLE[sample.op], sample)
    with jax.enable_x64(True):
        outputs = flowing(case.op, jax.eval_shape(case.kernel, *case.values()))
        assert outputs or not case.op.formulas
        if case.inputs and outputs and sample.derivable:
            seeds = weights(outputs, 1)
            grads = jax.eval_shape(lambda arrays: gradients(case, arrays, seeds, case.inputs), case.values())
            assert all(grad is None or grad.dtype == np.complex128 for grad in grads)


def test_who_is_declared_real_refuses_them():
    x = tapegrad.ones(2, dtype=tapegrad.complex64)
    with pytest.raises(NotImplementedError, match="\"erf\" not implemented for 'ComplexFloat'"):
        TABLE["erf"](x)

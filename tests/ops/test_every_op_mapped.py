"""Every operator of the table under function transforms: mapped by ``vmap``, differentiated through and inside it.

Two examples of a sample, computed at once, must be what they are one after the other. As in ``oracles.py``, all that is
compared for one operator is traced into one program.
"""

from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import Case, as_list, is_inexact, tensor
from samples import all_samples

import tapegrad
from tapegrad import func
from tapegrad._src.tensor.tensor import value_of
from tapegrad.autograd import grad
from tapegrad.ops import operator
from tapegrad.ops.levels import Vmapped
from tapegrad.ops.operator import TABLE
from tests.ops.test_every_op import SLOW

pytestmark = pytest.mark.once("what a sample computes is traced")


def chosen(sample):
    """Samples with something to map over, of real numbers, that can be differentiated."""
    arrays = [arg for arg in sample.args if isinstance(arg, np.ndarray)]
    return sample.derivable and arrays and all(a.dtype.kind != "c" for a in arrays) and all(a.size for a in arrays)


def first_samples():
    seen = set()
    for sample in all_samples():
        if sample.op not in seen and chosen(sample):
            seen.add(sample.op)
            late = [pytest.mark.ring("everything")] if sample.op in SLOW else []
            yield pytest.param(sample, marks=late, id=str(sample))


def second_example(array):
    """Another example like this one: close, so that what the operator asks of it still holds."""
    return array * np.asarray(0.98, array.dtype) if array.dtype.kind == "f" else array


def weights(out):
    """A gradient for an output."""
    return jnp.cos(jnp.arange(out.size, dtype=out.dtype)).reshape(out.shape)


def value_and_gradients(case, call, arrays, weigh):
    """The outputs of a call, and the gradients of their inexact ones, as arrays."""
    tensors = [tensor(array, i in case.inputs) for i, array in zip(case.arrays, arrays, strict=True)]
    outputs = as_list(call(*tensors))
    roots, wanted = [[x for x in xs if x.requires_grad] for xs in (outputs, tensors)]
    cotangents = [tensor(weigh(value_of(root)), False) for root in roots]
    grads = grad(roots, wanted, cotangents, allow_unused=True, materialize_grads=True) if roots else []
    return [value_of(out) for out in outputs], [value_of(g) for g in grads]


def both(case):
    """A program that computes two examples at once, and one after the other."""

    def call(*tensors):
        return case.op(*case.arguments(tensors), **case.sample.settings)

    def program(first, second):
        pairs = [jnp.stack(pair) for pair in zip(first, second, strict=True)]
        together = value_and_gradients(case, func.vmap(call), pairs, weights)
        apart = [
            value_and_gradients(case, call, example, lambda out, i=i: weights(jnp.stack([out, out]))[i])
            for i, example in enumerate((first, second))
        ]
        return together, jax.tree.map(lambda *pair: jnp.stack(pair), *apart)

    return program


def tangents(case):
    """A program that computes the tangents of two examples at once, and one after the other."""

    def call(*tensors):
        return case.op(*case.arguments(tensors), **case.sample.settings)

    def of_one(*tensors):
        moved = [x for x, i in zip(tensors, case.arrays, strict=True) if i in case.inputs]

        def of_moved(*given):
            rest = iter(given)
            return call(*(next(rest) if i in case.inputs else x for x, i in zip(tensors, case.arrays, strict=True)))

        return func.jvp(of_moved, tuple(moved), tuple(moved))

    def program(first, second):
        pairs = [tensor(jnp.stack(pair), False) for pair in zip(first, second, strict=True)]
        together = func.vmap(of_one)(*pairs)
        apart = [of_one(*(tensor(array, False) for array in example)) for example in (first, second)]
        together, *apart = ([list(map(value_of, as_list(part))) for part in parts] for parts in (together, *apart))
        return together, jax.tree.map(lambda *pair: jnp.stack(pair), *apart)

    return program


def compare(program, sample):
    case = Case(TABLE[sample.op], sample)
    first = case.values()
    second = [second_example(array) for array in first]
    with jax.enable_x64(True):
        together, apart = jax.jit(program(case))(first, second)
    for got, expected in zip(jax.tree.leaves(together), jax.tree.leaves(apart), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-10, equal_nan=is_inexact(got))


@pytest.mark.parametrize("sample", list(first_samples()))
def test_mapped_operator(sample):
    compare(both, sample)


def some_samples():
    """Of each kind of operator some: how a tangent is computed is a matter of the kind."""
    seen = Counter()
    for parameter in first_samples():
        (sample,) = parameter.values
        op = TABLE[sample.op]
        if sample.forward and Case(op, sample).inputs and not parameter.marks:
            seen[type(op), op.jvp_formula is None] += 1
            if seen[type(op), op.jvp_formula is None] <= 6:
                yield parameter


@pytest.mark.parametrize("sample", list(some_samples()))
def test_mapped_tangent(sample):
    compare(tangents, sample)


def wrong_order(monkeypatch):
    """Examples come out in the wrong order."""
    prepare = Vmapped.prepare
    monkeypatch.setattr(Vmapped, "prepare", lambda *given: lambda *values: prepare(*given)(*values)[::-1])


def forgotten_sum(monkeypatch):
    """Of what all examples share, the gradient for the first is taken, not the sum."""
    monkeypatch.setattr("tapegrad.ops.levels.sum_to", lambda grad, shape: grad[0])


@pytest.mark.parametrize(("fault", "shared"), [(wrong_order, False), (forgotten_sum, True)])
def test_a_wrong_rule_is_noticed(fault, shared, monkeypatch):
    def difference():
        x = tapegrad.tensor([[1.0, 2.0], [3.0, 5.0]], dtype=tapegrad.float64, requires_grad=True)
        y = tapegrad.tensor([0.5, -1.0], dtype=tapegrad.float64, requires_grad=True)
        mapped = func.vmap(tapegrad.mul, (0, None))(x, y)
        wanted = y if shared else x
        return (grad(mapped.pow(2).sum(), wanted)[0] - grad((x * y).pow(2).sum(), wanted)[0]).abs().max().item()

    assert difference() == 0
    operator.forget_plans()
    fault(monkeypatch)
    assert difference() > 0
    monkeypatch.undo()
    operator.forget_plans()
    assert difference() == 0

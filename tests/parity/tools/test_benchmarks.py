"""What the benchmarks run in PyTorch, tapegrad and JAX is the same."""

import jax
import pytest
import torch

import tapegrad
from benchmarks import dynamic_jax, dynamic_programs, lengths, lengths_jax

pytestmark = [pytest.mark.parity, pytest.mark.once("the benchmarks choose for themselves")]


@pytest.mark.parametrize("name", dynamic_programs.PROGRAMS)
def test_a_dynamic_program_is_the_same_in_pytorch(name):
    program = dynamic_programs.PROGRAMS[name]
    theirs = program.run(torch, program.few)
    assert program.run(tapegrad, program.few) == pytest.approx(theirs, rel=1e-4)
    if name in dynamic_jax.PURE:
        assert dynamic_jax.PURE[name](jax, program.few) == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize("name", lengths.PROGRAMS)
def test_a_net_is_the_same_in_pytorch(name):
    theirs = lengths.PROGRAMS[name](torch)(3)
    assert lengths.PROGRAMS[name](tapegrad)(3) == pytest.approx(theirs, rel=1e-4)
    if name in lengths_jax.PURE:
        assert lengths_jax.PURE[name](jax)(3) == pytest.approx(theirs, rel=1e-4)

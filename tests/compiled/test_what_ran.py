"""What Python does besides computing with tensors is done at each call, or known to be the same."""

from __future__ import annotations

import pytest

import tapegrad as torch
from tests.compiled.what_ran_programs import PROGRAMS, observed


@pytest.mark.once("what Python does besides is the same in both")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiled_step_does_what_it_does_at_once(name):
    make = PROGRAMS[name]
    assert observed(make, torch.compile) == observed(make, lambda step: step)

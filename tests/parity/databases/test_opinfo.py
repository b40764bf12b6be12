"""Every operator of PyTorch's own database, on its samples: see ``opinfo.py`` for what is compared.

One sample of each entry and dtype is run, the last that it has: the first are often of no dimensions; second
derivatives and forward mode, which take most of the time, then in float64 alone. ``TAPEGRAD_OPINFO_SAMPLES=all`` runs
all samples and compares everything, a number as many, spread over all there are. One line at the end of the run says
how many there were.
"""

from __future__ import annotations

import os

import pytest
import torch as pytorch
from late_database import listed
from opinfo import ENTRIES, account, cases, counterpart, disagreement, pairs_of_dtypes, translated
from opinfo_exceptions import (
    DROPOUT,
    ELSEWHERE,
    LEFT_OUT,
    NAMED_OTHERWISE,
    OF_SPARSE,
    RANDOM,
    ROUGH,
    STAGES_OTHERWISE,
    UNINITIALIZED,
)

import tapegrad

WANTED = os.environ.get("TAPEGRAD_OPINFO_SAMPLES")
LIMIT = None if WANTED == "all" else int(WANTED or 1)

RUN = listed(lambda: [name for name in ENTRIES if name not in LEFT_OUT])


@pytest.mark.parametrize(("name", "dtype"), listed(lambda: pairs_of_dtypes(RUN)), ids=str)
def test_entry(name, dtype, record_property):
    entry, complaints, counts = ENTRIES[name], [], dict.fromkeys(("forward", "gradient", "second", "tangent"), 0)
    shown = name not in RANDOM and name not in UNINITIALIZED
    rtol, atol = ROUGH.get(name, (1e-9, 1e-10))
    stages = [stage for stage in counts if (name, stage) not in STAGES_OTHERWISE]
    if WANTED is None and dtype == "complex128":
        stages = [stage for stage in stages if stage in ("forward", "gradient")]
    for theirs, ours in cases(entry, getattr(pytorch, dtype), LIMIT):
        exact = shown and not (name in DROPOUT and DROPOUT[name](theirs.args, theirs.kwargs))
        expected, got = account(theirs, stages, exact), account(ours, stages, exact)
        complaint = disagreement(got, expected, rtol, atol, names=name not in NAMED_OTHERWISE)
        complaints += [] if complaint is None else [f"{theirs}\n{complaint}"]
        for stage in counts:
            counts[stage] += stage in expected and not isinstance(expected[stage], Exception)
    record_property("opinfo", {"name": name, "left_out": len(LEFT_OUT), "agrees": not complaints, "counts": counts})
    assert not complaints, f"{len(complaints)} samples differ\n\n" + "\n\n".join(complaints[:3])


@pytest.mark.parametrize("name", sorted(LEFT_OUT.keys() - OF_SPARSE.keys() - ELSEWHERE.keys()))
def test_what_is_left_out_is_not_there(name):
    dtype = pytorch.float64 if pytorch.float64 in ENTRIES[name].dtypes else pytorch.float32
    with pytest.raises((AttributeError, NotImplementedError)):
        counterpart(ENTRIES[name])(tapegrad.ones(2, 2, dtype=translated(dtype)))


def test_exceptions_are_of_the_database():
    stages = {name for name, _ in STAGES_OTHERWISE}
    assert {*LEFT_OUT, *NAMED_OTHERWISE, *RANDOM, *DROPOUT, *UNINITIALIZED, *ROUGH, *stages} <= set(ENTRIES)

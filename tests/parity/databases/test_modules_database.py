"""Every class of PyTorch's own database of modules, and those beyond it: see ``modinfo.py`` for what is compared.

One sample of each class is run, in training and in evaluation if they differ; three in the ring ``whole``, and all in
``everything``. One line at the end of the run says how many there were.
"""

from __future__ import annotations

import itertools
import warnings

import pytest
import torch as pytorch
from harness import flat_outputs
from late_database import listed
from modinfo import (
    BEYOND,
    ENTRIES,
    Sample,
    copies,
    disagreement,
    hand_back,
    hand_over,
    observed,
    otherwise_in_memory,
    ours_of,
    samples_of,
    shown,
    wrong_samples_of,
)
from modinfo_exceptions import LEFT_OUT, MEMORY_OTHERWISE, NAMED_OTHERWISE, ONCE, RANDOM, ROUGH
from opinfo import tensor, translated

import tapegrad

RUN = listed(lambda: [name for name in ENTRIES if name not in LEFT_OUT])
MODES = listed(lambda: [
    (name, training)
    for name in RUN
    for training in ((True, False) if ENTRIES[name].train_and_eval_differ else (True,))
])  # fmt: skip


def check(sample: Sample, second: bool = True) -> None:
    """Assert that one sample does the same on both."""
    theirs, ours = sample.pair()
    assert shown(ours) == shown(theirs)
    values = sample.name not in RANDOM or not sample.training or "_random_samples" in sample.made[1]
    called = sample.called
    if any(map(pytorch.nn.parameter.is_lazy, theirs.parameters())) or sample.name.startswith("Lazy"):
        call_first(theirs, ours, called)
    expected = observed(pytorch, theirs, called, values, second and sample.name not in ONCE)
    got = observed(tapegrad, ours, ours_of(called), values, second and sample.name not in ONCE)
    rtol, named = ROUGH.get(sample.name, 1e-9), sample.name not in NAMED_OTHERWISE
    complaint = disagreement(got, expected, rtol, names=named)
    assert complaint is None, f"{sample}\n{complaint}"
    assert shown(ours) == shown(theirs)
    if "raised" in expected or not values:
        return
    if sample.name not in MEMORY_OTHERWISE:
        elsewhere = disagreement_of_layout(theirs, ours, called)
        assert elsewhere is None, f"{sample}, memory in another order\n{elsewhere}"
    check_copies(ours, ours_of(called))
    hand_back(ours, theirs)


def call_first(theirs, ours, called) -> None:
    """Call lazy modules once, so that they have parameters, and make these the same."""
    theirs(*called[0], **called[1])
    args, kwargs = ours_of(called)
    ours(*args, **kwargs)
    hand_over(theirs, ours)


def disagreement_of_layout(theirs, ours, called) -> str | None:
    moved = otherwise_in_memory(called)
    expected = observed(pytorch, theirs, moved, second=False)
    got = observed(tapegrad, ours, ours_of(moved), second=False)
    return disagreement(got, expected, ROUGH.get(type(ours).__name__, 1e-9), names=False)


def check_copies(module, called) -> None:
    """Copies look the same, hold tensors of their own, and give the same."""
    before = [buffer.clone() for buffer in module.buffers()]
    made = list(copies(module))
    expected = outputs_of(module, called)
    after = [buffer.clone() for buffer in module.buffers()]
    for other in made:
        assert shown(other) == shown(module) and type(other) is type(module)
        assert not {id(p) for p in module.parameters()} & {id(p) for p in other.parameters()}
        for mine, theirs in itertools.zip_longest(other.buffers(), before):
            assert tapegrad.equal(mine, theirs)
        got = [*outputs_of(other, called), *other.buffers()]
        for mine, theirs in itertools.zip_longest(got, [*expected, *after]):
            tapegrad.testing.assert_close(mine, theirs, equal_nan=True)


def outputs_of(module, called) -> list:
    args, kwargs = called
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return flat_outputs(module(*args, **kwargs))


@pytest.mark.parametrize(("name", "training"), MODES)
def test_entry(name, training, ring, record_property):
    limit = None if ring == "everything" else 3 if ring == "whole" else 1
    samples, complaints = list(samples_of(name, limit, training)), []
    for sample in samples:
        try:
            check(sample)
        except AssertionError as complaint:
            complaints.append(str(complaint))
    record_property(
        "modinfo", {"name": name, "left_out": len(LEFT_OUT), "agrees": not complaints, "samples": len(samples)}
    )
    assert not complaints, f"{len(complaints)} samples differ\n\n" + "\n\n".join(complaints[:3])


@pytest.mark.parametrize("make", BEYOND, ids=lambda make: make().name)
def test_beyond_the_database(make):
    check(make())


@pytest.mark.parametrize("name", listed(lambda: [name for name in RUN if ENTRIES[name].module_error_inputs_func]))
@pytest.mark.once("raises before anything is computed")
def test_what_is_refused(name):
    for sample, early in wrong_samples_of(name):
        theirs, ours = (refusal(torch, sample, early) for torch in (pytorch, tapegrad))
        assert ours == theirs


def refusal(torch, sample, early):
    """The type and the text of what is raised."""
    made, called = (sample.made, sample.called) if torch is pytorch else map(translated, (sample.made, sample.called))
    make = getattr(torch.nn, sample.name)
    if early:
        with pytest.raises(Exception) as raised:
            make(*made[0], **made[1])
    else:
        module = make(*made[0], **made[1])
        with pytest.raises(Exception) as raised:
            module(*called[0], **called[1])
    return type(raised.value).__name__, str(raised.value).partition("\nWhere:\n")[0]


def test_what_is_left_out_is_not_there():
    assert all(not hasattr(tapegrad.nn, name) for name in LEFT_OUT)
    assert {*LEFT_OUT} <= set(ENTRIES)


def test_all_classes_have_samples():
    """Containers and what is never called aside, and what ``test_nn_transformer.py`` tries."""
    have = {*ENTRIES, *(make().name for make in BEYOND)}
    uncalled = {"Container", "LinearCrossEntropyOptions", "Module", "ModuleDict", "ModuleList", "NLLLoss2d",
                "ParameterDict", "ParameterList", "RNNBase", "RNNCellBase", "Sequential",
                "TransformerDecoder"}  # fmt: skip
    ours = {name for name in tapegrad.nn.modules.__all__ if isinstance(getattr(tapegrad.nn, name), type)}
    assert ours - have <= uncalled


def test_the_oracle_can_fail():
    sample = next(samples_of("Linear", 1))
    theirs, ours = sample.pair()
    ours.weight.data[0, 0] += 1e-3
    expected, got = observed(pytorch, theirs, sample.called), observed(tapegrad, ours, ours_of(sample.called))
    assert disagreement(got, expected).startswith("forward")
    assert tensor(expected_output(theirs, sample)).shape == ours(*ours_of(sample.called)[0]).shape


def expected_output(module, sample):
    return module(*sample.called[0], **sample.called[1]).detach()

"""The bad input of PyTorch's own database of operators raises the same types of exceptions.

The first line of the text must be PyTorch's too, or match the pattern that the database gives. See ``opinfo.py``.
"""

from __future__ import annotations

import re
import warnings

import pytest
import torch as pytorch
from harness import sentence
from late_database import listed
from opinfo import ENTRIES, counterpart, same_type, tensor, translated
from opinfo_exceptions import LEFT_OUT

pytestmark = pytest.mark.parity

DESCRIPTOR = "methods called by the class on something else than a tensor: Python's words for those written in C"
DIMENSIONS = "arrays of more than 64 dimensions"
RESIZED = "PyTorch leaves a tensor behind that shows more than its memory, and may crash when it is looked at"

OTHERWISE: dict[str, str] = {
    **dict.fromkeys(
        ("__radd__", "__rmul__", "__rdiv__", "__rand__", "__ror__", "__rxor__", "__rmod__", "__rpow__", "__rsub__"),
        DESCRIPTOR,
    ),
    **dict.fromkeys(("amax", "amin", "aminmax"), DIMENSIONS),
    **dict.fromkeys(("cat", "multinomial"), RESIZED),
    "nn.functional.max_pool1d": "with indices PyTorch pools planes of one row, and says so in other words",
    "gradient": "a tensor on the meta device, which there is not here",
}
"""Entries whose bad input isn't compared, and why."""

WITH_ERRORS = listed(lambda: [
    name for name, entry in ENTRIES.items()
    if entry.error_inputs_func is not None and name not in LEFT_OUT and name not in OTHERWISE
])  # fmt: skip


class Memories:
    """Translates tensors so that those which share memory still do."""

    def __init__(self):
        self.memories, self.made, self.alive = {}, {}, []

    def __call__(self, source):
        if id(source) not in self.made:
            self.alive.append(source)
            self.made[id(source)] = self.translated(source)
        return self.made[id(source)]

    def translated(self, source):
        plain = source.detach()
        size = plain.untyped_storage().nbytes() // plain.itemsize
        if plain.is_conj() or plain.is_neg() or not size:
            return tensor(source)
        place = plain.untyped_storage().data_ptr(), plain.dtype
        if place not in self.memories:
            self.memories[place] = tensor(plain.as_strided((size,), (1,), 0).clone())
        shown = self.memories[place].as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset()).detach()
        return shown.requires_grad_() if source.requires_grad else shown


def outcome(function, given):
    """What a call raises; None if it doesn't."""
    input, args, kwargs = given
    try:
        function(input, *args, **kwargs)
    except Exception as error:  # what it raises is what is compared
        return error
    return None


def complaint(theirs, ours, pattern):
    """How two outcomes differ in what matters; None if they don't."""
    if theirs is None or ours is None:
        return None if theirs is ours else f"{ours!r}, expected {theirs!r}"
    if not same_type(ours, theirs):
        return f"{ours!r}, expected {theirs!r}"
    if str(theirs).splitlines()[:1] == sentence(ours).splitlines()[:1] or re.search(pattern, str(ours)):
        return None
    return f"{sentence(ours)!r}, expected {str(theirs)!r}"


@pytest.mark.parametrize("name", WITH_ERRORS)
def test_bad_input(name, monkeypatch):
    entry, complaints = ENTRIES[name], []
    ours = counterpart(entry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for position, bad in enumerate(entry.error_inputs("cpu")):
            given = (bad.sample_input.input, tuple(bad.sample_input.args), dict(bad.sample_input.kwargs))
            with monkeypatch.context() as patch:
                patch.setattr("opinfo.tensor", Memories())
                counterparts = translated(given)
            found = complaint(outcome(entry.op, given), outcome(ours, counterparts), bad.error_regex)
            complaints += [] if found is None else [f"[{position}] {found}"]
    assert not complaints, "\n".join(complaints)


def test_the_comparison_can_fail():
    same, other = RuntimeError("a"), RuntimeError("b")
    assert complaint(same, RuntimeError("a"), "x") is None
    assert complaint(same, None, "x") == "None, expected RuntimeError('a')"
    assert complaint(None, other, "x") == "RuntimeError('b'), expected None"
    assert complaint(same, other, "x") == "'b', expected 'a'"
    assert complaint(same, TypeError("a"), "x") == "TypeError('a'), expected RuntimeError('a')"


def test_memory_is_shared():
    row = pytorch.arange(4.0)
    memories = Memories()
    whole, part = memories(row), memories(row[1:])
    whole.zero_()
    assert part.tolist() == [0, 0, 0] and memories(row) is whole

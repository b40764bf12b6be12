"""What comes with the package is found by first calls, computes the same bits, and is ignored where it does not fit."""

import os
import sys

import pytest

import tapegrad as torch
from benchmarks.first_operators import CALLS
from tapegrad._src.dispatch import shape_class
from tapegrad._src.dispatch.shape_class import ShapeClasses, outlined_numbers
from tapegrad._src.shipping import calls, running, writing
from tapegrad._src.shipping.calls import Specimen
from tapegrad._src.tape import kept
from tests.execution.test_cold_start import printed
from tests.execution.test_kept import anew, computed, traces  # noqa: F401 - a fixture

pytestmark = pytest.mark.once("a file of its own")

SOME = [
    Specimen("t.tanh(x)", {"x": "ab"}), Specimen("x.sum(1)", {"x": "ab"}), Specimen("x.softmax(1)", {"x": "ab"}),
    Specimen("x @ w", {"x": "ab", "w": "bc"}), Specimen("x * y", {"x": "ab", "y": "ab"}),
    Specimen("y ** 3", {"y": "ab"}),
    Specimen("x.expand(2, a, b) * 2", {"x": "ab"}), Specimen("t.einsum('ij,kj->ik', x, y)", {"x": "ab", "y": "ab"}),
]  # fmt: skip

FOUND = ["t.tanh(x)", "x.sum(1)", "x.softmax(1)", "x @ w", "x * y", "y ** 3", "x.expand(2, 4, 5) * 2"]


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A file of a few calls."""
    place = tmp_path_factory.mktemp("shipped") / "shipped.bin"
    before = kept.store, kept.shipped, shape_class.MOST_CLASSES, shape_class.MOST_TRIED, shape_class.pattern_of
    make, made = ShapeClasses.made, calls.calls
    kept.store, running.calls = kept.Keeper(None), lambda: SOME
    try:
        anew()
        assert running.run() == {}
        writing.write(place)
    finally:
        running.calls, ShapeClasses.made = made, make
        kept.store, kept.shipped, shape_class.MOST_CLASSES, shape_class.MOST_TRIED, shape_class.pattern_of = before
        torch.execution.clear_caches()
    return place


@pytest.fixture
def found(monkeypatch, shipped):
    """A process that has met nothing, and finds the file."""
    monkeypatch.setattr(kept, "store", kept.Keeper(None))
    monkeypatch.setattr(kept, "shipped", kept.Shipped(shipped))
    assert kept.shipped.is_there
    anew()
    yield shipped
    anew()


def test_a_first_call_of_other_lengths_traces_nothing_and_computes_the_same_bits(found, traces, monkeypatch):  # noqa: F811
    mine = []
    for call in FOUND:
        anew()
        mine.append(computed(call))
    assert traces == []
    monkeypatch.setattr(kept, "shipped", kept.Shipped(None))
    for call, bits in zip(FOUND, mine, strict=True):
        anew()
        assert computed(call) == bits, call
    assert traces


def test_calls_that_are_large_or_have_other_settings_are_traced_as_ever(found, traces):  # noqa: F811
    torch.ones(70, 70).tanh()  # how long XLA takes would be guessed from small ones
    assert traces
    traces.clear()
    torch.ones(4, 5).softmax(0)
    assert traces
    traces.clear()
    torch.ones(4, 5).tanh()
    assert traces == []
    with torch.execution.tiers("xla"):
        anew()
        assert torch.ones(5).tanh().tolist() == pytest.approx([0.76159416] * 5)


def test_a_file_that_does_not_fit_is_ignored(found, tmp_path, monkeypatch):
    data, place = found.read_bytes(), tmp_path / "other.bin"

    def is_there(data):
        place.write_bytes(data)
        return kept.Shipped(place).is_there

    assert is_there(data)
    assert not is_there(b"") and not is_there(b"short") and not is_there(data[:200])
    for byte in (0, 17, 30):  # the digest, a length, the table
        changed = bytearray(data)
        changed[byte] ^= 1
        assert not is_there(bytes(changed))
    assert not kept.Shipped(tmp_path / "none").is_there and not kept.Shipped(tmp_path).is_there
    monkeypatch.setattr(kept, "versions", lambda: ["another jax"])
    assert not is_there(data)


def test_an_entry_that_is_damaged_is_ignored(found, tmp_path):
    file = kept.CompressedFile(found)
    key, (begin, length, _) = next((key, place) for key, place in file._table.items() if key != kept.ABOUT)
    assert file.find(key) and file.find(b"nothing") is None
    data = bytearray(found.read_bytes())
    data[file._start + begin + length // 2] ^= 1
    place = tmp_path / "damaged.bin"
    place.write_bytes(bytes(data))
    assert kept.CompressedFile(place).find(key) is None


def test_it_is_ignored_when_a_source_has_changed(found, monkeypatch, tmp_path):
    package = tmp_path / "package"
    for room in kept.SOURCES:
        (package / room).mkdir(parents=True)
    source = package / "ops" / "one.py"
    source.write_text("a = 1")
    monkeypatch.setattr(kept, "PACKAGE", package)
    place = tmp_path / "mine.bin"
    place.write_bytes(kept.compressed({kept.ABOUT: kept.about()}))
    is_there = lambda: kept.Shipped(place).is_there
    assert is_there()
    later = place.stat().st_mtime_ns + 10**9
    os.utime(source, ns=(later, later))  # as after a checkout: what is newer is read
    assert is_there()
    source.write_text("a = 2")
    os.utime(source, ns=(later, later))
    assert not is_there()
    source.write_text("a = 1")
    assert is_there()
    (package / "ops" / "two.py").write_text("")
    assert not is_there()


def test_the_environment_says_which_file_is_read(monkeypatch, tmp_path):
    monkeypatch.setenv(kept.SHIPPED, "")
    assert kept.shipped_path() is None
    monkeypatch.setenv(kept.SHIPPED, str(tmp_path))
    assert kept.shipped_path() == tmp_path
    monkeypatch.delenv(kept.SHIPPED)
    assert kept.shipped_path() == kept.PACKAGE / "_src" / "tape" / f"shipped-{sys.implementation.cache_tag}.bin"


PROGRAM = """
import json
import tapegrad as torch
from tapegrad._src.execution.tiers import tiered_kernel
from tapegrad._src.tape import kept
traced, trace = [], tiered_kernel.Tiered._trace
tiered_kernel.Tiered._trace = lambda self: [traced.append(self.kernel.name), trace(self)][1]
x = torch.tensor([[0.5, 1.0, -2.0], [0.25, 4.0, 3.0]]).requires_grad_()
y = x.tanh()
(grad,) = torch.autograd.grad(y, x, torch.ones_like(y))
print(json.dumps([kept.shipped.is_there, y.tolist(), grad.tolist(), traced]))
"""


def test_a_fresh_process_finds_it(shipped):
    there, *results, traced = printed(PROGRAM, TAPEGRAD_SHIPPED=str(shipped))
    assert there and traced == []
    assert printed(PROGRAM, TAPEGRAD_SHIPPED="")[1:3] == results


def test_sizes_among_settings_are_symbols(traces):  # noqa: F811
    anew()
    for length in (7, 9, 11, 13):
        x = torch.ones(length, length + 4).requires_grad_()
        torch.autograd.grad(x.sum(1), x, torch.ones(length), create_graph=True)
        if length == 9:
            traces.clear()
    assert traces == []


def test_what_reads_numbers_is_found_by_which_are_equal():
    assert outlined_numbers((4, 5, 0, 1, 4), False) == outlined_numbers((7, 2, 0, 1, 7), False)
    assert outlined_numbers((4, 4), False) != outlined_numbers((4, 5), False)
    assert outlined_numbers((4, 4), True) == ()


def test_calls_are_written_for_all_families():
    codes = [call.code for call in calls.calls()]
    assert len(codes) > 1500 and all(compile(code, code, "eval") for code in codes)
    assert sum(call in codes for family in CALLS.values() for call in family) > 100

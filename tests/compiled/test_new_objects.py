"""Calls that bring new objects: nothing keeps these alive, and they are no new kind of calls each."""

from __future__ import annotations

import dataclasses
import gc
import sys
import types
import weakref
from statistics import median
from typing import NamedTuple

import numpy as np
import pytest

import tapegrad as torch
from tapegrad.compiler import step as step_module
from tapegrad.compiler.capture.captured_call import CapturedCall
from tapegrad.compiler.step import MOST_STRANGERS


@dataclasses.dataclass
class Batch:
    """A batch as an object."""

    x: torch.Tensor
    scale: float = 2.0

    def doubled(self):
        return self.x * 2


@dataclasses.dataclass(frozen=True)
class Frozen:
    """The same, which can't be changed; it has a part."""

    x: torch.Tensor
    scale: float = 2.0
    inner: Batch | None = None

    def doubled(self):
        return self.inner.x * 2


@dataclasses.dataclass(slots=True)
class Slotted:
    """The same, in slots."""

    x: torch.Tensor
    scale: float = 2.0

    def doubled(self):
        return self.x * 2


class Pair(NamedTuple):
    """A named tuple."""

    x: torch.Tensor
    scale: float = 2.0

    def doubled(self):
        return self.x * 2


class Plain:
    """An object of a class of the user's."""

    def __init__(self, x):
        self.x, self.scale = x, 2.0

    def doubled(self):
        return self.x * 2


class InSlots(Plain):
    """The same, in slots."""

    __slots__ = ("x", "scale")


def tensor(number):
    return torch.full((3,), float(number))


MADE = {
    "dataclass": (lambda number: Batch(tensor(number)), True),
    "frozen dataclass": (lambda number: Frozen(tensor(number), 2.0, Batch(tensor(number))), True),
    "slotted dataclass": (lambda number: Slotted(tensor(number)), True),
    "named tuple": (lambda number: Pair(tensor(number)), True),
    "object": (lambda number: Plain(tensor(number)), True),
    "namespace": (lambda number: types.SimpleNamespace(x=(x := tensor(number)), scale=2.0, doubled=x.double), False),
    "dataclass with more": (lambda number: _with_more(Batch(tensor(number))), True),
    "object in slots": (lambda number: InSlots(tensor(number)), False),
}


def _with_more(batch):
    batch.more = 1
    return batch


def step(batch):
    """What all of them have."""
    return batch.doubled() * batch.scale + batch.x


@pytest.mark.once("it is the same in both")
@pytest.mark.parametrize("kind", MADE)
def test_new_objects(kind):
    make, replayed = MADE[kind]
    compiled, alive = torch.compile(step), []
    for number in range(10):
        batch = make(number)
        alive.append(weakref.ref(batch.x))
        assert compiled(batch).tolist() == step(batch).tolist()
    del batch
    gc.collect()
    assert bool(compiled.replayed) is replayed, compiled.report()
    assert sum(one() is not None for one in alive) <= (1 if replayed else 0), compiled.report()
    assert len(compiled.known_entries()) <= 2


@pytest.mark.once("it is the same in both")
def test_new_arrays():
    compiled, alive = torch.compile(lambda x: torch.from_numpy(x) * 2), []
    for number in range(10):
        array = np.full(3, number, np.float32)
        alive.append(weakref.ref(array))
        assert compiled(array).tolist() == [2.0 * number] * 3
        del array
    gc.collect()
    assert not any(one() is not None for one in alive)
    assert len(compiled.known_entries()) == 1 and "another ndarray in each call" in compiled.report()


@pytest.mark.once("it is the same in both")
def test_objects_that_stay_are_kinds_of_their_own():
    objects = [Plain(tensor(1)), Plain(tensor(2))]
    nets = [torch.nn.Linear(3, 3) for _ in range(4)]
    compiled = torch.compile(lambda net, one: net(one.x).sum().detach())
    for number in range(24):
        net, one = nets[number % 4], objects[number % 2]
        assert compiled(net, one).item() == pytest.approx(net(one.x).sum().item(), rel=1e-5)
    assert compiled.replayed >= 12, compiled.report()


@pytest.mark.once("it is the same in both")
def test_what_changes_in_a_dataclass_or_its_class_is_noticed(monkeypatch):
    compiled, last = torch.compile(step), []
    for number in range(8):
        batch = Batch(tensor(number), 2.0 if number < 4 else 3.0)
        if number == 6:
            monkeypatch.setattr(Batch, "doubled", lambda self: self.x * 10)
        assert compiled(batch).tolist() == step(batch).tolist()

    def keeping(batch):
        batch.scale += 1
        last.append(batch)
        return batch.x * batch.scale

    compiled = torch.compile(keeping)
    for number in range(6):
        batch = Batch(tensor(number))
        assert compiled(batch).tolist() == [3.0 * number] * 3 and last[-1] is batch and batch.scale == 3.0


@pytest.fixture
def counted(monkeypatch):
    """A function that has calls of another be counted: the list of their first arguments."""

    def count(owner, name):
        given, function = [], getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *args: (given.append(args[0]), function(*args))[1])
        return given

    return count


@pytest.mark.once("it is the same in both")
def test_calls_of_kinds_that_come_once_are_not_captured(counted):
    captured = counted(CapturedCall, "run")
    compiled = torch.compile(lambda x: (x * 2).sum())
    for number in range(1, 40):
        assert compiled(torch.ones(number)).item() == 2.0 * number
    assert len(captured) == MOST_STRANGERS, compiled.report()


@pytest.mark.once("it is the same in both")
def test_where_most_calls_are_of_new_kinds_they_cost_a_few_frames():
    """Nor are they compared with kinds that are made at once anyway."""

    def own(given):
        return [given["number"]] * int(w.sum())

    compiled, w, codes, counts = torch.compile(own), torch.ones(3), [], []
    for number in (*[0] * 5, *[1] * 5, *range(100, 150)):  # two kinds that come again, and are made at once
        codes.clear()
        if number >= 130:
            sys.setprofile(lambda frame, event, _: codes.append(frame.f_code) if event == "call" else None)
        try:
            compiled({"number": number})
        finally:
            sys.setprofile(None)
        counts += [codes.index(own.__code__)] if codes else []
    assert median(counts) <= 5, (counts, codes)


@pytest.mark.once("it is the same in both")
def test_kinds_that_come_again_are_replayed_though_there_are_many():
    compiled = torch.compile(lambda x: (x * 2).sum())
    for number in range(12 * 12):
        length = 1 + number % 12
        assert compiled(torch.ones(length)).item() == 2.0 * length
    assert compiled.replayed > 12 * 3, compiled.report()


CALLS = {
    "tensors": lambda n: ((torch.full((n,), 2.0), torch.ones(n)), {}),
    "keywords": lambda n: ((torch.full((n,), 2.0),), {"y": torch.ones(n), "scale": 1.0}),
    "containers": lambda n: (({"x": torch.full((n,), 2.0), "y": [torch.ones(n), (1.0,)]},), {}),
    "dataclasses": lambda n: (({"x": Batch(torch.full((n,), 1.0)), "y": (torch.ones(n),)},), {}),
}


def joined(x, y=None, scale=1.0):
    """The products of what is given, in any form."""
    if isinstance(x, dict):
        x, (y, *_) = x["x"], x["y"]
    return (x.doubled() if isinstance(x, Batch) else x) * y * scale


@pytest.mark.once("it is the same in both")
@pytest.mark.parametrize("form", CALLS)
def test_several_kinds_are_recognized_without_their_keys(form, counted):
    compiled, keys = torch.compile(joined), counted(step_module, "cache_key")
    for number in range(24):
        args, kwargs = CALLS[form](1 + number % 4)
        assert compiled(*args, **kwargs).tolist() == joined(*args, **kwargs).tolist()
        if number == 15:
            keys.clear()
    assert not keys and compiled.replayed >= 8, compiled.report()


@pytest.mark.once("it is the same in both")
def test_calls_that_only_resemble_those_before_are_not_taken_for_them():
    compiled, one = torch.compile(joined), torch.full((2,), 3.0)
    for _ in range(4):
        assert compiled(torch.full((2,), 3.0), torch.full((2,), 3.0)).tolist() == [9.0, 9.0]
    assert compiled(one, one).tolist() == [9.0, 9.0]
    assert compiled({"x": one, "y": [one]}).tolist() == [9.0, 9.0]
    for given in ([one, one], (one, one)):
        assert compiled({"x": one, "y": given}).tolist() == [9.0, 9.0]
    assert compiled(one, 2.0).tolist() == [6.0, 6.0] and compiled(one, True).tolist() == [3.0, 3.0]
    with pytest.raises(TypeError):
        compiled(one, one, unknown=1)


@pytest.mark.once("it is the same in both")
def test_replays_that_are_never_used_are_given_up(counted):
    """A memory that NumPy has, too, is in the way of each call: that is tried a few times."""
    captured = counted(CapturedCall, "run")
    double = torch.compile(lambda x: x * 2)
    for number in range(40):
        array = np.full(3, number, np.float32)
        assert double(torch.from_numpy(array).unsqueeze(0)).tolist() == [[2.0 * number] * 3]
    assert 2 < len(captured) < 16, double.report()


@pytest.mark.once("it is the same in both")
def test_modules_that_are_to_blame_are_passed_over(counted):
    """What reads elements, at any depth, is known from one call: what is beside it is compiled at once."""

    class Reading(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner, self.other = inner, torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.other(self.inner(x)) * (2 if x.sum() > 1 else 3)

    net = torch.nn.Linear(3, 3)
    for _ in range(4):
        net = Reading(net)
    captured = counted(CapturedCall, "run")
    model = torch.compile(net)
    for number in range(8):
        model(torch.ones(2, 3) * number)
    entered = {id(call.shared.function.__self__) for call in captured if call.shared.by_itself}
    assert entered == {id(one) for one in net.modules() if isinstance(one, torch.nn.Linear)}

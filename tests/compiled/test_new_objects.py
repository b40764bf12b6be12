"""Calls that bring new objects: nothing keeps these alive, and they are no new kind of calls each."""

from __future__ import annotations

import dataclasses
import gc
import types
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import tapegrad as torch


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


def tensor(number):
    return torch.full((3,), float(number))


MADE = {
    "dataclass": (lambda number: Batch(tensor(number)), True),
    "frozen dataclass": (lambda number: Frozen(tensor(number), 2.0, Batch(tensor(number))), True),
    "slotted dataclass": (lambda number: Slotted(tensor(number)), True),
    "named tuple": (lambda number: Pair(tensor(number)), True),
    "object": (lambda number: Plain(tensor(number)), False),
    "namespace": (lambda number: types.SimpleNamespace(x=(x := tensor(number)), scale=2.0, doubled=x.double), False),
    "dataclass with more": (lambda number: _with_more(Batch(tensor(number))), False),
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

"""How an entry of the table is declared, and what programs share: data, small nets, what is watched for its life."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tapegrad as torch
from tapegrad import nn

CALLS = 8
"""So many calls are made of an entry that doesn't say otherwise."""


@dataclass(frozen=True)
class Entry:
    """An entry of the table.

    Attributes:
        name, file: of the function that sets the program up, and where it is written.
        style: what kind of program it is, in words.
        calls: how many calls are made.
        raises: whether calls may raise; what they raise is compared then.
        rtol: by how much numbers may differ; XLA rounds differently where it fuses.
    """

    name: str
    file: str
    style: str
    calls: int = CALLS
    raises: bool = False
    rtol: float = 1e-5


def program(style: str, **settings: Any) -> Callable[[Callable], Callable]:
    """Declare an entry: ``program(compile)`` returns a function of the call's number, and what can be observed.

    ``compile`` is ``torch.compile``, or gives its argument back; ``compile.in_place(net)`` is ``net.compile()``.
    """

    def declare(make: Callable) -> Callable:
        make.entry = Entry(make.__name__, make.__code__.co_filename, style, **settings)  # type: ignore[attr-defined]
        return make

    return declare


SCALE = [1]
"""How many times as many rows batches have, and as many hidden units nets: more where costs are measured."""

ALIVE: list[weakref.ref] = []
"""What was watched and may be alive."""


def watched(thing: Any) -> Any:
    """The thing, of which is compared whether it is alive after the last call."""
    ALIVE.append(weakref.ref(thing))
    return thing


def regression(number: int, rows: int = 4, width: int = 3) -> tuple[Any, Any]:
    """The batch of a call: floats of shape (rows, width) and targets of shape (rows, 1)."""
    generator = np.random.RandomState(100 + number)
    x = generator.randn(rows * SCALE[0], width).astype(np.float32)
    return torch.tensor(x), torch.tensor(x.sum(1, keepdims=True) * 0.5 + 0.25)


def classes(number: int, rows: int = 4, width: int = 3, of: int = 3) -> tuple[Any, Any]:
    """The batch of a call: floats of shape (rows, width) and labels of shape (rows,)."""
    generator, rows = np.random.RandomState(200 + number), rows * SCALE[0]
    return torch.tensor(generator.randn(rows, width).astype(np.float32)), torch.tensor(generator.randint(of, size=rows))


def images(number: int, rows: int = 2, channels: int = 1, side: int = 6, of: int = 3) -> tuple[Any, Any]:
    """The batch of a call: floats of shape (rows, channels, side, side) and labels of shape (rows,)."""
    generator = np.random.RandomState(300 + number)
    x = generator.randn(rows * SCALE[0], channels, side, side).astype(np.float32)
    return torch.tensor(x), torch.tensor(generator.randint(of, size=rows * SCALE[0]))


def tokens(number: int, rows: int = 2, length: int = 5, of: int = 7) -> Any:
    """The batch of a call: words of shape (rows, length)."""
    return torch.tensor(np.random.RandomState(400 + number).randint(of, size=(rows * SCALE[0], length)))


def mlp(width: int = 3, hidden: int = 5, out: int = 1) -> Any:
    """A small net."""
    hidden *= SCALE[0]
    return nn.Sequential(nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, out))


def sgd(net: Any, lr: float = 0.1, **settings: Any) -> Any:
    """Its optimizer."""
    return torch.optim.SGD(net.parameters(), lr=lr, **settings)

"""How many functions of Python a call goes through, once calls of its kind have come before: upper bounds.

Frames are those of functions that lie in the package, or were written by it. What fails says which were entered.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

import tapegrad as torch
from tapegrad.tape.kept import SHIPPED, VARIABLE

PACKAGE = str(Path(torch.__file__).parent) + os.sep
WARM = 60
"""Of so many calls some are the third or fourth of their kind, which are watched, and take longer."""


def frames_of(call: Callable[[], object]) -> list[str]:
    """The functions of the package that a call enters, in their order."""
    entered = []

    def note(frame, event, arg):
        code = frame.f_code
        if event == "call" and (code.co_filename.startswith(PACKAGE) or code.co_filename[0] == "<"):
            entered.append(f"{code.co_filename.removeprefix(PACKAGE)}:{code.co_firstlineno} {code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return [frame for frame in entered if not frame.startswith("<frozen") and "frames_of" not in frame]


def matrix(**settings):
    return torch.ones(4, 5, **settings)


def of_two_nodes(leaf):
    return (leaf * 2).sum()


def product():
    a, b = torch.ones(3), torch.ones(3)
    return lambda: a * b


def total():
    x = matrix()
    return lambda: x.sum()


def layer():
    x, linear = matrix(), torch.nn.Linear(5, 3)
    return lambda: linear(x)


def sum_in_place():
    x = matrix()
    return lambda: x.add_(1.0)


def row_in_place():
    x = matrix()

    def call():
        x[0] += 1

    return call


def number_to_row():
    x = matrix()
    return lambda: x.__setitem__(0, 1.0)


def tensor_to_rows():
    x, row, places = matrix(), torch.ones(5), count()
    return lambda: x.__setitem__(next(places) % 4, row)


def column_in_place():
    x = matrix()
    return lambda: x[:, 1].mul_(2)


def backward():
    leaf = matrix(requires_grad=True)

    def prepared():
        leaf.grad = None
        return of_two_nodes(leaf).backward

    return prepared


def backward_again():
    leaf = matrix(requires_grad=True)
    return lambda: of_two_nodes(leaf).backward


def new_length():
    lengths = count(10)

    def prepared():
        length = next(lengths)
        a, b = torch.ones(length), torch.ones(length)
        return lambda: a * b

    return prepared


CALLS = {
    product: 4, total: 4, layer: 15, sum_in_place: 10, row_in_place: 48, number_to_row: 12, tensor_to_rows: 13,
    column_in_place: 39,
}  # fmt: skip
PREPARED = {backward: 37, backward_again: 46, new_length: 40}


def explained(frames: list[str], most: int) -> str:
    return f"{len(frames)} frames, {most} at most:\n" + "\n".join(frames)


@pytest.mark.once("each execution has its own way")
@pytest.mark.parametrize("program", CALLS, ids=lambda program: program.__name__)
def test_calls_that_come_again(program):
    call, most = program(), CALLS[program]
    for _ in range(WARM):
        call()
    frames = frames_of(call)
    assert len(frames) <= most, explained(frames, most)


@pytest.mark.once("each execution has its own way")
@pytest.mark.parametrize("program", PREPARED, ids=lambda program: program.__name__)
def test_calls_that_are_prepared(program):
    prepare, most = program(), PREPARED[program]
    for _ in range(WARM):
        prepare()()
    seen = sorted((frames_of(prepare()) for _ in range(9)), key=len)
    assert len(seen[4]) <= most, explained(seen[4], most)


COLD = """
from test_frames import frames_of, torch
a, b = torch.ones(3), torch.ones(3)
print("\\n".join(frames_of(lambda: a * b)))
"""


@pytest.mark.once("it runs in a process of its own")
def test_the_first_call_of_a_process():
    """Where nothing that was written before is found on disk."""
    env, here = {**os.environ, VARIABLE: "", SHIPPED: ""}, Path(__file__).parent
    command = [sys.executable, "-c", COLD]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env, cwd=here)
    frames = done.stdout.splitlines()
    files = {frame.partition(":")[0] for frame in frames}
    assert len(frames) <= 580, explained(frames, 580)
    assert len(files) <= 36, sorted(files)

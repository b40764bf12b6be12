"""How many functions of Python a call goes through, once calls of its kind have come before: upper bounds.

Frames are those of functions that lie in the package, or were written by it. What fails says which were entered.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

import tapegrad as torch
from tapegrad._src.tape.kept import SHIPPED, VARIABLE

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


def element():
    x = matrix()
    return lambda: x[0, 0]


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
    product: 4, total: 4, layer: 15, sum_in_place: 10, row_in_place: 50, number_to_row: 14, tensor_to_rows: 15,
    column_in_place: 39, element: 28,
}  # fmt: skip
PREPARED = {backward: 37, backward_again: 46, new_length: 38}


FIRST = 396, 38
"""Of the first product of a process, where nothing that was written before is found on disk: frames, and files."""


def steady(program: Callable) -> list[str]:
    """The frames of a call that came before."""
    call = program()
    for _ in range(WARM):
        call()
    return frames_of(call)


def prepared(program: Callable) -> list[str]:
    """The frames of a call on what is made for it alone; those of the median of some."""
    prepare = program()
    for _ in range(WARM):
        prepare()()
    return sorted((frames_of(prepare()) for _ in range(9)), key=len)[4]


def all_frames() -> dict[str, list[str]]:
    """The frames of all these calls, in a process that has done nothing else."""
    found = {"first": frames_of(product())}
    found |= {program.__name__: steady(program) for program in CALLS}
    return found | {program.__name__: prepared(program) for program in PREPARED}


@pytest.fixture(scope="module")
def entered() -> dict[str, list[str]]:
    env = {**os.environ, VARIABLE: "", SHIPPED: "", "PYTHONPATH": str(Path(PACKAGE).parent)}
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True, env=env)
    return json.loads(done.stdout)


def explained(frames: list[str], most: int) -> str:
    return f"{len(frames)} frames, {most} at most:\n" + "\n".join(frames)


@pytest.mark.once("it runs in a process of its own, where nobody overrides functions")
@pytest.mark.parametrize("program", [*CALLS, *PREPARED], ids=lambda program: program.__name__)
def test_calls_that_come_again(program, entered):
    frames, most = entered[program.__name__], {**CALLS, **PREPARED}[program]
    assert 0 < len(frames) <= most, explained(frames, most)


@pytest.mark.once("it runs in a process of its own, where nothing was called before")
def test_the_first_call_of_a_process(entered):
    frames, (most, files) = entered["first"], FIRST
    assert 0 < len(frames) <= most, explained(frames, most)
    assert len({frame.partition(":")[0] for frame in frames}) <= files, explained(frames, most)


if __name__ == "__main__":
    print(json.dumps(all_frames()))

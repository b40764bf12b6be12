"""Long loops of compiled steps as loops of XLA's: what they compute, and which they are."""

from __future__ import annotations

import pytest

import tapegrad as torch
from tapegrad._src.execution.programs import step_executable
from tapegrad._src.execution.programs.scanned_loops import scanned_loops, shorter_by

pytestmark = pytest.mark.once("it is the same in both")

TURNS, WIDTH = 24, 6


def weights(*shapes):
    torch.manual_seed(0)
    return [(torch.randn(*shape) * 0.3).requires_grad_() for shape in shapes]


def plain_cell(given, parameters):
    w, u, b = parameters
    state, total = torch.zeros(4, WIDTH), 0.0
    for turn in range(TURNS):
        state = torch.tanh(given[turn] @ w + state @ u + b)
        total = total + (state**2).mean()
    return total, state


def by_numbers(given, parameters):
    """Numbers that count enter what is computed."""
    w, u, b = parameters
    state = given[0]
    for turn in range(TURNS):
        state = torch.tanh(state @ w + b) * (1 - 0.01 * turn) + (given[turn] @ u) / (turn + 1)
    return state.sum(), state


def two_before(given, parameters):
    """A turn reads what the last but one has given: forwards it is no loop that carries one period."""
    w, u, b = parameters
    before = state = given[0]
    for turn in range(TURNS):
        before, state = state, torch.tanh(state @ w + before @ u + b + given[turn])
    return state.sum(), before


def kept_in_lists(given, parameters):
    w, u, b = parameters
    states, state = [], given[0]
    for one in given.unbind():
        state = torch.relu(state @ w + one @ u + b)
        states.append(state)
    return (torch.stack(states) * torch.cat(states[::-1]).reshape(TURNS, 4, WIDTH)).mean(), states[5]


def backwards_and_forwards(given, parameters):
    w, u, b = parameters
    state, other, seen = torch.zeros(4, WIDTH), torch.ones(4, WIDTH), []
    for turn in range(TURNS):
        state = torch.tanh(given[turn] @ w + state @ u)
        seen.append(state)
    for one in seen[::-1]:
        other = torch.sigmoid(one @ w + other @ u + b)
    return other.sum() + seen[-1].sum(), other


def with_noise(given, parameters):
    w, u, b = parameters
    state = given[0]
    for turn in range(TURNS):
        state = torch.nn.functional.dropout(torch.tanh(state @ w + given[turn] @ u + b), 0.3)
    return state.sum(), state


def of_integers(given, parameters):
    """What the loop carries are numbers of places."""
    w, u, b = parameters
    place, total = torch.zeros(4, dtype=torch.int64), given[0].sum() * 0
    for turn in range(TURNS):
        scores = given[turn] @ w + b + torch.nn.functional.embedding(place, u)
        place = scores.argmax(1)
        total = total + scores.logsumexp(1).mean()
    return total, place


PROGRAMS = {
    plain_cell: True, by_numbers: True, two_before: True, kept_in_lists: True, backwards_and_forwards: True,
    with_noise: True, of_integers: True,
}  # fmt: skip


@pytest.fixture
def made(monkeypatch):
    """The compiled programs, which are noted."""
    found = []
    before = step_executable.StepExecutable.__init__

    def init(self, *args, **kwargs):
        before(self, *args, **kwargs)
        found.append(self)

    monkeypatch.setattr(step_executable.StepExecutable, "__init__", init)
    return found


def step_of(program, parameters):
    optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)

    def step(given):
        optimizer.zero_grad()
        loss, rest = program(given, parameters)
        loss.backward()
        optimizer.step()
        return loss.detach(), rest.detach()

    return step


def run(program, compile, calls=7):
    parameters = weights((WIDTH, WIDTH), (WIDTH, WIDTH), (WIDTH,))
    torch.manual_seed(1)
    data, results = [torch.randn(TURNS, 4, WIDTH) for _ in range(3)], []
    torch.manual_seed(2)
    step = compile(step_of(program, parameters))
    for call in range(calls):
        results.append(step(data[call % 3]))
        torch.execution.wait_for_compiler()
    return results, parameters, step


def agree(one, other):
    for mine, its in zip(one, other, strict=True):
        torch.testing.assert_close(mine, its, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_steps_with_loops(program, made):
    results, parameters, step = run(program, torch.compile)
    plain, its, _ = run(program, lambda function: function)
    assert step.replayed >= 3, step.report()
    assert bool(made[-1]._loops) is PROGRAMS[program]
    for one, other in zip(results, plain, strict=True):
        agree(one, other)
    agree(parameters, its)
    agree([one.grad for one in parameters], [one.grad for one in its])


def test_the_switch(made):
    with torch.execution.without("scanned loops"):
        results, _, step = run(plain_cell, torch.compile)
    assert step.replayed >= 3 and not made[-1]._loops
    agree(results[-1], run(plain_cell, lambda function: function)[0][-1])


def test_layers_with_weights_of_their_own_are_no_loop(made):
    layers = weights(*[(160, 160)] * 12)
    x = torch.randn(2, 160)

    def step(x):
        for w in layers:
            x = torch.tanh(x @ w)
        return x.sum().detach()

    compiled = torch.compile(step)
    for _ in range(4):
        compiled(x)
    assert not made[-1]._loops


def test_one_period_is_left_to_compile(made):
    run(plain_cell, torch.compile)
    executable = made[-1]
    assert len(executable._code) - shorter_by(executable._loops) < len(executable._code) / 2
    forward, backward = executable._loops
    assert TURNS - 1 <= forward.times <= TURNS and TURNS - 4 <= backward.times <= TURNS
    assert len(backward.carried) >= 4  # the gradients of the state, and of three parameters


class FakeCall:
    """A kernel with one result."""

    single, count = True, 1

    def __init__(self):
        self.avals = (type("Aval", (), {"nbytes": 4})(),)


def test_what_is_no_loop_of_xlas():
    """Of codes of fake kernels: a period that reads one of two before, a result of the loop from outside of it."""
    f, g, inputs = FakeCall(), FakeCall(), [1.0]
    turns = range(1, 40)
    one_before = [(f, -1), *((f, turn - 1) for turn in turns)]
    assert not scanned_loops(one_before[:6], bytes(6), inputs)  # too few
    pairs = [(f, -1), (g, 0)]
    for turn in turns:
        pairs += [(f, 2 * turn - 1), (g, 2 * turn)]
    assert [(loop.times, loop.carried) for loop in scanned_loops(pairs, bytes(80), inputs)] == [(40, ((1, -1),))]
    far = [(f, -1), (g, 0), (f, 1), (g, 2)]
    for turn in range(2, 40):
        far += [(f, 2 * turn - 3), (g, 2 * turn)]
    assert not scanned_loops(far, bytes(80), inputs)
    last = bytes(79) + b"\1"
    assert [(loop.last, loop.stacked) for loop in scanned_loops(pairs, last, inputs)] == [((0,), ())]
    assert [(loop.last, loop.stacked) for loop in scanned_loops(pairs, b"\1" * 80, inputs)] == [((), (0, 1))]

"""How long programs are cut into pieces, and what pieces give besides what is wanted."""

from functools import partial

import jax
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.programs.loop_carry import KEPT_BYTES, extra_outputs
from tapegrad._src.execution.programs.partition import cut, run_through, specialized
from tapegrad._src.execution.recording.program import recording, wanted_of

pytestmark = pytest.mark.once("functions of programs")


def recorded(program):
    """The instructions of a program, which of their results are wanted, and the inputs."""
    with torch.deferred():
        held = program()
        now = recording.program
        found = list(now.code), wanted_of(now), list(now.inputs)
        del held
    return found


def states(steps, width=4, cell=lambda h, c: ((h * 0.5 + c).tanh(), (c - h).sin() + c)):
    """The last of two states that go through a loop."""
    h = c = torch.linspace(0, 1, width)
    for _ in range(steps):
        h, c = cell(h, c)
    return h, c


def test_pieces_of_a_loop_are_equal():
    placed = list(cut(*recorded(lambda: states(120))[:2]))
    assert len(placed) > 3
    assert len({place.subprogram for place in placed}) == 1
    assert placed[0].arguments[:2] != placed[1].arguments[:2]  # the first begins with one array twice


@pytest.mark.parametrize(
    ("general", "code", "arguments"),
    [
        ([("f", -1, -2), ("g", 0, -1)], [("f", -1, -1), ("g", 0, -1)], (7, 7)),
        ([("f", -1, -2), ("g", -1, -2)], [("f", -1, -2), ("g", -2, -1)], None),  # they are not the same two
        ([("f", -1, -2), ("g", -3, -2)], [("f", -1, -2), ("g", 0, -2)], None),  # one is computed in the piece
        ([("f", -1, -2), ("g", 0, -2)], [("f", -1, -2), ("g", -1, -2)], None),
    ],
)
def test_which_pieces_are_others_with_equal_arguments(general, code, arguments):
    found = specialized(tuple(general), tuple(code), (7, 8))
    assert found == (None if arguments is None else (tuple(general), arguments))


def test_what_is_wanted_of_one_period_alone_is_given_by_all_if_it_is_small():
    def program(state, extra):
        h, more, held = torch.linspace(0, 1, state), torch.ones(extra), []
        for number in range(120):
            value = h.mean() + more
            h = (value.mean() * h).sin()
            if number == 7:
                held.append(value)
        return h, held

    programs = (partial(program, 64, 1), partial(program, 4, 64))
    small, large = ({place.subprogram for place in cut(*recorded(each)[:2])} for each in programs)
    assert len(small) < len(large)


@pytest.mark.parametrize("want", [1, 50])
def test_what_nobody_reads_any_more_is_dropped(want):
    def program():
        held = []
        x = torch.linspace(0, 1, 4)
        for number in range(150):
            y = x.sin() * 2
            x = y + x.cos()
            if number % want == 0:
                held.append(y)
        return x, held

    code, wanted, _ = recorded(program)
    there = set()
    for place in cut(code, wanted):
        assert all(slot < 0 or slot in there for slot in place.arguments)
        there.update(place.results)
        done = {slot for slot in place.done if slot >= 0}
        assert there.issuperset(done)
        there.difference_update(done)
    assert there == {slot for slot, want in enumerate(wanted) if want}


def flops(code, wanted, inputs, more=()):
    """How many operations XLA makes of a program that gives some more results."""

    def program(*arguments):
        results = run_through(code, arguments, lambda call, *values: call.inline(*values))
        return [result for slot, result in enumerate(results) if wanted[slot] or slot in more]

    return jax.jit(program).lower(*inputs).compile().cost_analysis()["flops"]


def test_what_goes_through_a_loop_is_computed_once():
    """Note [What XLA computes twice]: if the first assertion fails, XLA has learnt better, and we need not help it."""
    w = torch.full((4, 4), 0.1)
    cell = lambda h, c: (((c + 1) * c) @ w, c * 0.5 + h)
    short, long = (recorded(lambda steps=steps: states(steps, cell=cell)) for steps in (12, 24))
    assert flops(*long) > 3 * flops(*short)
    assert flops(*long, extra_outputs(*long)) < 2.5 * flops(*short, extra_outputs(*short))


def test_so_is_what_one_kernel_reads_that_uses_it_several_times():
    x, cell = torch.ones(2, 4), torch.nn.GRUCell(4, 4)

    def last(steps):
        h = torch.zeros(2, 4)
        with torch.no_grad():
            for _ in range(steps):
                h = cell(x, h + 1)
        return h

    short, long = (recorded(lambda steps=steps: last(steps)) for steps in (12, 24))
    assert flops(*long) > 2.5 * flops(*short)
    assert flops(*long, extra_outputs(*long)) < 2.2 * flops(*short, extra_outputs(*short))


def test_what_one_period_gives_to_a_later_one_is_kept_unless_all_is_cheap():
    def names(program):
        code, wanted, inputs = recorded(program)
        calls = [call for call, *_ in code for _ in range(call.count)]
        return [calls[slot].kernel.name for slot in extra_outputs(code, wanted, inputs)]

    w = torch.full((4, 4), 0.1)
    x = torch.ones(4)

    def all_held():
        held = [states(1)]
        for _ in range(30):
            h, c = held[-1]
            held.append(((h * 0.5 + c).tanh(), (c - h).sin() + c))
        return held

    def through_matrices():
        y = x
        for _ in range(30):
            y = (y - (y * 2 + 1)) @ w
        return y

    def cheap():
        y = x
        for _ in range(30):
            y = y - (y * 2 + 1)
        return y

    def running_total():
        total = torch.zeros(4)
        for _ in range(30):
            y = (x * 0.5).sin()
            total = total + y * y.cos()
        return total

    assert names(lambda: states(2)) == []
    assert set(names(lambda: states(30))) == {"add", "tanh"}
    assert len(names(lambda: states(30))) in (56, 57, 58)
    assert len(names(through_matrices)) == 29
    assert names(all_held) == names(cheap) == names(running_total) == []


def test_what_takes_much_memory_is_not_kept():
    width = KEPT_BYTES // 4 // 8
    assert extra_outputs(*recorded(lambda: states(12, width // 4)))
    assert not extra_outputs(*recorded(lambda: states(12, width)))


def test_equal_pieces_compute_the_same():
    with torch.deferred():
        found = states(120)
    expected = states(120)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)

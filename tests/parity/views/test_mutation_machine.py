"""A machine that draws programs of views, writes, detaches and backward calls: tapegrad and PyTorch run each of them.

After every step it compares what can be seen of every tensor that lives: values, strides, versions, what is a view of
what, the graph behind it, gradients; and what the step gave or raised. ``mutation_steps`` says what is drawn,
``mutation_programs`` what is compared (Note [What is not compared]).

The test draws a hundred programs, always the same. The recorded run draws ten thousand others::

    export TAPEGRAD_MUTATION_PROGRAMS=10000
    python -m pytest tests/parity/views/test_mutation_machine.py -k drawn --hypothesis-seed=0

That compiles some thousands of kernels, which takes most of its time, and is kept for the next run.
"""

import os
from functools import cache, partial

import mutation_steps
import pytest
import torch as pytorch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mutation_programs import Player, disagreement, minimal, quiet

import tapegrad
from tapegrad._src.dispatch import view_history
from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.tensor import tensor
from tapegrad._src.tensor.storage import Counter, Storage

pytestmark = pytest.mark.parity

RECORDED = "TAPEGRAD_MUTATION_PROGRAMS"
COUNT = int(os.environ.get(RECORDED, "100"))


def drawing(count, derandomize=True):
    """How programs are drawn. They are made smaller by ``minimal``, which knows lines."""
    return settings(
        max_examples=count, derandomize=derandomize, deadline=None, database=None,
        phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def examine(lines, lazy=False):
    return disagreement(lines, partial(Player, pytorch), partial(Player, tapegrad), lazy)


@drawing(COUNT, derandomize=RECORDED not in os.environ)
@given(program=mutation_steps.programs(), lazy=st.booleans())
def test_drawn(program, lazy):
    found = examine(program, lazy)
    if found is not None:
        raise minimal(found, partial(examine, lazy=lazy)) from None


@cache
def drawn(count):
    """The first programs that the machine draws."""
    programs = []

    @drawing(count)
    @given(program=mutation_steps.programs())
    def collect(program):
        programs.append(program)

    collect()
    return programs


# -- what is drawn -----------------------------------------------------------------------------------------------------


def accounts(program):
    """What each step of a program gives on PyTorch, and the names of the nodes behind it at the end."""
    with quiet():
        player = Player(pytorch)
        outcomes = [player.step(line) for line in program]
        return outcomes, " ".join(player.history()["graph"])


def test_most_steps_work_and_some_fail():
    outcomes = [outcome for program in drawn(200) for outcome in accounts(program)[0]]
    failed = [outcome for outcome in outcomes if isinstance(outcome, list) and outcome[:1] == ["raised"]]
    assert len(outcomes) > 1200
    assert 0.03 < len(failed) / len(outcomes) < 0.2
    messages = "modified by an inplace operation", "is a view and is being modified", "leaf Variable", "a second time"
    for part in messages:
        assert any(part in text for _, _, text in failed), part


def test_what_matters_is_drawn():
    text = "\n".join(line for program in drawn(200) for line in program)
    nodes = " ".join(accounts(program)[1] for program in drawn(200))
    words = ".view(", ".t()", "detach()", ".data", "no_grad", "inference_mode", "] = ", "] += ", "backward(", "_()"
    for word in words:
        assert word in text, word
    for name in ("CopySlices", "AsStridedBackward0", "SplitBackward0", "DoubleBackward", "AccumulateGrad"):
        assert name in nodes, name


# -- the comparison can fail -------------------------------------------------------------------------------------------


def forgotten(self, value):
    """``Storage.replace`` which lets the windows of the storage keep what they have read."""
    replace(self, value)
    self.data_version -= 1


def keeps_what_was_written_over(self, grads, needed):
    """``CopySlices.apply_values`` which gives the base the gradient of what was written over, too."""
    return (grads[0], *copy_slices(self, grads, needed)[1:])


def accumulates_twice(self, grads, needed):
    accumulate(self, grads, needed)
    return accumulate(self, grads, needed)


replace, copy_slices, accumulate = Storage.replace, view_history.CopySlices.apply_values, AccumulateGrad.apply_values

FAULTS = {
    "views do not see writes": lambda patch: patch.setattr(Storage, "replace", forgotten),
    "versions are not counted": lambda patch: patch.setattr(Counter, "bump", lambda self: None),
    "histories are not made again": lambda patch: patch.setattr(
        tensor.view_remaker, "content", lambda tensor, view: None
    ),
    "a wrong gradient of what was written over": lambda patch: patch.setattr(
        view_history.CopySlices, "apply_values", keeps_what_was_written_over
    ),
    "gradients are added twice": lambda patch: patch.setattr(AccumulateGrad, "apply_values", accumulates_twice),
    "forbidden views are written to": lambda patch: patch.setattr(
        view_history.View, "creation", property(lambda self: None, lambda self, value: None)
    ),
}


LATE = pytest.mark.ring("everything")
FOUND_LATE = "a wrong gradient of what was written over"
"""It takes more than a hundred programs to find this fault: it is looked for in the ring of everything."""


@pytest.mark.parametrize("fault", [pytest.param(fault, marks=LATE if fault == FOUND_LATE else ()) for fault in FAULTS])
def test_a_fault_is_found(fault, monkeypatch):
    with monkeypatch.context() as patch:
        FAULTS[fault](patch)
        assert any(examine(program) for program in drawn(200)), fault


def test_a_program_is_made_as_small_as_it_can_be():
    program = ["a = torch.ones(2)", "b = a * 2", "with torch.no_grad(): c = a.view(2)", "a.add_(1)", "b.add_(1)"]

    class Wrong(Player):
        def step(self, line):
            return super().step("a.data.add_(1)" if line == "a.add_(1)" else line)

    wrong = partial(disagreement, theirs=partial(Player, pytorch), ours=partial(Wrong, pytorch))
    found = minimal(wrong(program), wrong)
    assert found.lines == ["a = torch.ones(2)", "a.add_(1)"]
    assert "a._version: 0, expected 1" in str(found)


# -- programs that once disagreed --------------------------------------------------------------------------------------

PROGRAMS = {
    "a graph with a write through a view is freed": """
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True).add(1)
        a[1:] = 0.0
        a.sum().backward()
        a.sum().backward()
    """,
    "a leaf that was detached gets no gradient": """
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a.abs()
        a.detach_()
        b.sum().backward()
    """,
    "a leaf that was detached and written to": """
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a.abs()
        c = torch.tensor([1.0, 2.0], requires_grad=True)
        a.detach_()
        a.mul_(c)
        b.sum().backward()
    """,
    "views of a leaf that was detached": """
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.no_grad(): b = a[:]
        a.detach_()
    """,
    "the gradient of a view that nothing recorded": """
        a = torch.tensor([1.0, 2.0], requires_grad=True).mul(2)
        with torch.no_grad(): b = a[:1]
        values(torch.autograd.grad(a.sum(), b, allow_unused=True, retain_graph=True))
        values(torch.autograd.grad(a.sum(), b))
    """,
    "an empty slice": """
        a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        b = a[1:]
        c = b[1:]
        d = a[3:]
    """,
    "the type of complex numbers that were written over": """
        a = torch.tensor([1j, 2j], requires_grad=True).mul(2)
        b = a * a
        a.mul_(2)
        b.sum().real.backward()
    """,
    "a tensor without dimensions is written into itself": """
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a.sum()
        b[None] = b
    """,
    "a view of itself is written into a tensor": """
        a = torch.tensor([1.0, 2.0], requires_grad=True).mul(2)
        a[None, :] = a
        a[None, None, :] = a
    """,
    "nothing is saved for a gradient that goes nowhere": """
        a = torch.tensor([1.0, 2.0], requires_grad=True).mul(2)
        with torch.no_grad(): b = a[:]
        c = b * b
        a[:] += 1
        c.sum().backward()
    """,
    "the name of an overload": """
        a = torch.tensor([[1.0, 2.0]], requires_grad=True).sum(0)
        b = a * a
        a.detach().mul_(2)
        b.sum().backward()
    """,
    "a step over a dimension of length 1": """
        a = torch.tensor([[1.0, 2.0]], requires_grad=True)
        b = a[:, :1]
        c = b[:, ::2]
        d = b[..., None, ::3]
    """,
    "an index out of range behind a new dimension": """
        a = torch.tensor([[1.0, 2.0]])
        a[:, None, 3]
        a[0, None, 3] = 1.0
    """,
    "a view in another dtype has steps of its own behind it": """
        a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True).mul(2)
        b = a[:1]
        c = torch.view_as_complex(b)
        b.mul_(b)
    """,
    "a base is detached after a write through its view": """
        a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True).clone()
        b = torch.view_as_complex(a)
        b.fill_(-1)
        a.detach_()
    """,
    "a view that the user says requires grad": """
        a = torch.tensor([1.0, 2.0, 3.0])
        b = a[1:]
        b.requires_grad_()
        with torch.no_grad(): c = b[:1]
        b[0] = 4.0
        b[None, 1:] = torch.tensor([[1.0]])
    """,
    "nothing is detached in inference mode": """
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a * 2
        with torch.inference_mode(): a.detach_()
        with torch.inference_mode(): b.detach_()
    """,
    "what a view is that may not be looked at": """
        a = torch.tensor([1.0, 2.0], requires_grad=True).mul(2)
        with torch.inference_mode(): b = a[:]
        a.mul_(2)
    """,
}


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name, lazy):
    found = examine([line.strip() for line in PROGRAMS[name].strip().splitlines()], lazy)
    if found is not None:
        raise found

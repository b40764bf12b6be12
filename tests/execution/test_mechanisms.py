"""Mechanisms that can be switched off: what programs compute stays the same, and each switch does something."""

import sys
import threading
from collections import Counter
from contextlib import contextmanager

import jax
import numpy as np
import pytest

import tapegrad as torch
from tapegrad import nn
from tapegrad._src.execution.recording import recording_policy
from tapegrad._src.execution.recording.program import recording
from tapegrad._src.execution.tiers import settings as tier_settings
from tapegrad._src.execution.tiers.host_trace import flat
from tapegrad._src.tape import kept
from tapegrad._src.tape.modes import thread
from tapegrad.autograd import backward_cache

pytestmark = pytest.mark.once("chooses when operators are computed")

NAMES = tuple(torch.execution.mechanisms())


@contextmanager
def visited():
    """The functions of the package that are entered in a block, by their qualified names, and how often."""
    found, before = Counter(), sys.getprofile()

    def note(frame, event, _):
        if event == "call" and "tapegrad" in frame.f_code.co_filename:
            found[frame.f_code.co_qualname] += 1

    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


# -- programs ----------------------------------------------------------------------------------------------------------


def lengths():
    """Losses and gradients of batches of which no two are of one length."""
    w, found = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_(), []
    for length in range(2, 9):
        x = torch.linspace(0, 1, 3 * length).reshape(length, 3)
        ((x @ w).tanh().softmax(-1) * x.sum(1, keepdim=True)).pow(2).sum().backward()
        found.append(w.grad.clone())
    return found


def settings():
    """The same call with another number each time."""
    x = torch.linspace(-2, 2, 5).requires_grad_()
    for step in range(1, 9):
        torch.nn.functional.leaky_relu(x, 0.01 * step).sum().backward()
    return [x.grad]


def pieces():
    """Tensors taken apart and put together, of new counts each time."""
    x = torch.arange(400.0).requires_grad_()
    for count in (90, 91, 92, 93):
        torch.stack(list(x[:count].unbind())).pow(2).sum().backward()
    return [x.grad]


def views():
    """Views, and writes through them."""
    x = torch.arange(24.0).reshape(4, 6)
    for i in range(8):
        part = x[i % 4]
        part.add_(1.0)
        x[:, i % 6] *= 0.5
        x[0] += 1
        x.t().reshape(-1)[:3].sum()
    return [x]


def plain_views():
    """Views of memory that nobody writes to."""
    x = torch.arange(24.0).reshape(4, 6)
    return [sum((x[i % 4].t() for i in range(8)), torch.zeros(6))]


def writes():
    """The same in-place call again and again."""
    x = torch.zeros(5)
    for _ in range(8):
        x.add_(torch.ones(5)).mul_(0.5)
    return [x]


def functions():
    """Small public functions again and again."""
    x = torch.linspace(-1, 1, 6)
    for _ in range(8):
        x = torch.nn.functional.softplus(x).clamp(-1, 1) - x.mean()
    return [x]


def updates():
    """Steps of an optimizer."""
    parameters = [torch.full((3,), float(i), requires_grad=True) for i in range(6)]
    optimizer = torch.optim.Adam(parameters, lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        sum((p * p).sum() for p in parameters).backward()
        optimizer.step()
    return parameters


def weights():
    return torch.linspace(-0.5, 0.5, 9).reshape(3, 3).clone().requires_grad_()


def deferred():
    """Steps that are recorded and come back."""
    w = weights()
    with torch.deferred():
        for _ in range(5):
            x = torch.ones(2, 3)
            for _ in range(8):
                x = (x @ w).tanh()
            x.sum().backward()
    return [w.grad]


def looped():
    """The same, long enough to be looked through for what goes through the loop, and compiled."""
    w, b = weights(), torch.zeros(3, requires_grad=True)
    with torch.execution.tiers("xla"), torch.deferred():
        for _ in range(3):
            x = torch.ones(2, 3)
            for _ in range(24):
                x = x + (x @ w + b).tanh() * x
            x.sum().backward()
    return [w.grad, b.grad]


def turns():
    """A loop with products, compiled."""
    w = weights()

    @torch.compile
    def step(x):
        for _ in range(40):
            x = (x @ w).tanh() + x
        return x.detach()

    for _ in range(4):
        x = step(torch.ones(2, 3))
    torch.execution.wait_for_compiler()
    return [x, step(torch.ones(2, 3))]


def scalars():
    """Hundreds of single numbers, all alike."""
    numbers = [torch.tensor(0.01 * i, requires_grad=True) for i in range(120)]
    with torch.execution.tiers("xla"), torch.deferred():
        for _ in range(5):
            torch.autograd.backward([x * x + x * 2.0 for x in numbers])
    return [x.grad for x in numbers]


def ragged():
    """Recorded loops that never come back."""
    w = weights()
    with torch.deferred():
        for count in range(1, 30):
            x = torch.ones(1, 3)
            for _ in range(count):
                x = (x @ w).tanh() + 0.1
            x.sum().backward()
    return [w.grad]


def large():
    """The same call on arrays that XLA computes sooner than NumPy."""
    x = torch.linspace(0, 1, 200_000)
    for _ in range(12):
        y = x.lgamma()
    return [y]


def large_chain():
    """Recorded functions of large arrays, each of which is read once."""
    x = torch.linspace(0, 1, 300_000)
    with torch.deferred():
        for _ in range(8):
            x = (x + 1).cos()
        x.sum().item()
    return [x]


def pictures():
    """A convolution of many channels, and its gradients."""
    x, w = torch.linspace(-1, 1, 1 << 16).reshape(1, 64, 32, 32), torch.linspace(-0.1, 0.1, 36864).reshape(64, 64, 3, 3)
    y = torch.nn.functional.conv2d(x.requires_grad_(), w.requires_grad_(), padding=1)
    return [y, *torch.autograd.grad(y.mean(), (x, w))]


def wide_rows():
    """The same calls on arrays that are computed strip by strip, and their gradients."""
    x = torch.linspace(-2, 2, 300_000).reshape(300, 1000).requires_grad_()
    for _ in range(16):
        x.grad = None
        y = x.softmax(-1)
        y.sum(0).pow(2).sum().backward()
    return [y, x.grad]


def training(asks=False):
    """A compiled step of training, that may ask for the loss, and its results."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    @torch.compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return torch.tensor(loss.item() if loss.item() < 100 else 100) if asks else loss.detach()

    x = torch.linspace(-1, 1, 15).reshape(5, 3)
    losses = [step(x) for _ in range(8)]
    return step, [*losses, *model.parameters()]


def compiled():
    return training()[1]


def asking():
    return training(asks=True)[1]


def draws():
    """Random numbers of a few kinds, again and again."""
    torch.manual_seed(0)
    made = [(torch.rand(3), torch.randint(9, (2, 2)), torch.randn(4)) for _ in range(12)]
    return [one for several in made for one in several]


PROGRAMS = draws, lengths, settings, pieces, views, plain_views, writes, functions, updates, deferred, ragged
COMPILING = looped, scalars, compiled, asking
"""Those for which XLA compiles programs."""

_expected = {}


def arrays(results):
    return [result.detach().numpy().copy() for result in results]


def expected(program):
    """What a program gives with everything switched on."""
    if program not in _expected:
        before, thread.modes = thread.modes, thread.modes.replace(without=frozenset())
        _expected[program] = arrays(program())
        thread.modes = before
    return _expected[program]


def agree(program, *names):
    """Whether a program gives the same without these."""
    known = expected(program)
    with torch.execution.without(*names):
        found = arrays(program())
    for ours, theirs in zip(found, known, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_programs_compute_the_same_without(name):
    for program in PROGRAMS:
        agree(program, name)


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(one, marks=pytest.mark.ring("whole")) for one in NAMES[1:])])
@pytest.mark.parametrize("program", COMPILING, ids=lambda program: program.__name__)
def test_a_program_that_is_compiled_computes_the_same_without(program, name):
    agree(program, name)


def test_programs_compute_the_same_without_any():
    with torch.execution.without(*NAMES):
        for program in (settings, views):
            agree(program)


# -- each does something -----------------------------------------------------------------------------------------------

MARKS = {
    "shape classes": (lengths, "ShapeClasses.bound"),
    "plan templates": (lengths, "Template.bind"),
    "symbolic kernels": (lengths, "SymbolicKernel.keys"),
    "dynamic settings": (settings, "DynamicRun.bind"),
    "many operands": (pieces, "looping_runner.<locals>.run"),
    "strips": (wide_rows, "stripped"),
    "steady rows": (lengths, "softmax_of_rows"),
    "foreseen keys": (draws, "Foresight.keys_from"),
    "winograd": (pictures, "winograd"),
    "numpy backend": (writes, "Tiered._decided"),
    "call cache": (functions, "watched"),
    "view cache": (plain_views, "_known_view"),
    "write cache": (writes, "_written"),
    "fused updates": (updates, "FusedParameters.run"),
    "cached backward": (deferred, "RecordedSegment.append"),
    "releasing": (large_chain, "steps_of"),
    "batching": (scalars, "Batched.run"),
    "loop carry": (looped, "loop_carry"),
    "scanned loops": (turns, "scanned_loops"),
    "background compiling": (large, "Compiler.add"),
}
"""For each a program, and a function that is entered in it only with the mechanism switched on."""


@pytest.fixture
def background(monkeypatch):
    """XLA compiles on a thread of its own, as it does outside tests, and this thread has recorded nothing."""
    monkeypatch.setattr(tier_settings.settings, "background", True)
    recording.__init__()
    yield
    recording.__init__()


@pytest.mark.ring("full")
@pytest.mark.parametrize("name", MARKS)
def test_what_is_switched_off_is_not_entered(name, background):
    program, mark = MARKS[name]
    torch.execution.clear_caches()
    backward_cache._kinds.clear()
    with visited() as on:
        program()
    with torch.execution.without(name), visited() as off:
        program()
    assert on[mark] and not off[mark]


def test_traces_are_not_flat_without():
    traced = lambda: str(jax.make_jaxpr(flat(lambda x: jax.numpy.clip(x, 0, 1)))(1.0))
    assert "jit" not in traced()
    with torch.execution.without("flat traces"):
        assert "jit" in traced()


def test_programs_that_never_come_back_are_all_recorded_without(background):
    def recorded():
        recording.__init__()
        before = torch.execution.stats()
        ragged()
        after = torch.execution.stats()
        return after.hits + after.misses - before.hits - before.misses

    with torch.execution.without("recording policy"):
        assert recorded() >= 29
    assert recorded() < 29


@pytest.mark.ring("full")
def test_updates_are_not_compiled_by_themselves_without():
    assert "SGD, by itself" in training(asks=True)[0].report()
    with torch.execution.without("compiled updates"):
        assert "SGD, by itself" not in training(asks=True)[0].report()


def test_nothing_is_kept_on_disk_without(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "store", kept.Keeper(tmp_path))
    torch.execution.clear_caches()
    with torch.execution.without("disk cache"):
        lengths()
    assert not kept.store.new and not kept.store.missed
    torch.execution.clear_caches()
    lengths()
    assert kept.store.new


def test_what_comes_with_the_package_is_not_looked_for_without(monkeypatch):
    class Asked(kept.Shipped):
        keys = []
        is_there = True

        def find(self, key):
            self.keys.append(key)

    monkeypatch.setattr(kept, "shipped", Asked(None))
    torch.execution.clear_caches()
    with torch.execution.without("shipped classes"):
        lengths()
    assert not Asked.keys
    lengths()
    assert Asked.keys


def test_every_mechanism_is_tested():
    assert set(NAMES) - set(MARKS) == {
        "flat traces", "disk cache", "shipped classes", "recording policy", "compiled updates", "giving back",
        "resting BLAS",
    }  # fmt: skip


# -- the switch --------------------------------------------------------------------------------------------------------


def test_blocks_nest_and_restore_what_was():
    with torch.execution.without("call cache", "numpy backend"):
        with torch.execution.without("numpy backend", "view cache"):
            assert torch.execution.tiers() == "xla"
        assert torch.execution.tiers() == "xla"
    assert torch.execution.tiers() == "auto"
    assert not thread.modes.without


def test_an_error_in_a_block_restores_what_was(background):
    with pytest.raises(KeyError), torch.execution.without("background compiling", "numpy backend"):
        raise KeyError
    assert torch.execution.tiers() == "auto" and tier_settings.settings.background


def test_a_function_can_be_decorated(background):
    @torch.execution.without("recording policy")
    def suspended(deep=1):
        return recording_policy.may_suspend() or (deep and suspended(deep - 1))

    assert not suspended() and not suspended() and recording_policy.may_suspend()


def test_another_thread_is_not_concerned(background):
    found = []
    with torch.execution.without("recording policy"):
        other = threading.Thread(target=lambda: found.append(recording_policy.may_suspend()))
        other.start(), other.join()
    assert found == [True]


def test_other_modes_that_a_block_sets_stay():
    with torch.execution.without("view cache"):
        torch.set_grad_enabled(False)
    try:
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_a_name_that_is_unknown_is_refused_with_all_names():
    with pytest.raises(ValueError, match="no such mechanism") as refused:
        torch.execution.without("shape classes", "caches")
    assert "'caches'" in str(refused.value) and all(repr(name) in str(refused.value) for name in NAMES)


def test_each_has_a_sentence():
    for sentence in torch.execution.mechanisms().values():
        assert sentence[0].isupper() and sentence.endswith(".") and len(sentence.split()) >= 8

"""Optimizers' updates compiled by themselves, in steps that can't be replayed: Note [Compiled modules]."""

import copy
import math
import threading

import numpy as np
import pytest

import tapegrad as torch
from tapegrad import nn
from tapegrad._src.execution.programs import step_executable
from tapegrad._src.execution.tiers.settings import settings
from tapegrad.compiler.capture.numbers import Numbers
from tapegrad.compiler.capture.proxies import can_tell, proxying
from tapegrad.compiler.guards.guards import Guards
from tapegrad.compiler.replay import compiled_modules

pytestmark = pytest.mark.once("calls are compiled in one way")

MATH = math


def made(width=6):
    """A net and a batch: the same each time, if no other thread draws numbers."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
    return net, torch.randn(16, width), torch.randn(16, 1)


def training(
    compiled=True, make=torch.optim.Adam, calls=9, width=6, between=lambda number, optimizer, net: None, given=None
):
    """The step, after some calls of it, its optimizer and its net."""
    net, x, y = given or made(width)
    optimizer = make(net.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item() if loss.item() < 100.0 else 100.0

    run = torch.compile(step) if compiled else step
    for number in range(calls):
        between(number, optimizer, net)
        run()
    return run, optimizer, net


def updates_in(step):
    """What the report says of updates."""
    return [line.strip() for line in step.report().splitlines() if not line.startswith(("  Sequential", "kind"))][1:]


def agree(ours, plain):
    """What optimizers have is the same up to rounding."""
    mine, its = ours.state_dict(), plain.state_dict()
    assert mine["param_groups"] == its["param_groups"] and list(vars(ours)) == list(vars(plain))
    for one, other in zip(mine["state"].values(), its["state"].values(), strict=True):
        assert list(one) == list(other) and [v._version for v in one.values()] == [v._version for v in other.values()]
        for name in one:
            torch.testing.assert_close(one[name], other[name], rtol=1e-4, atol=1e-6)


def test_a_step_that_reads_its_loss_has_its_update_compiled():
    kept = []
    step, optimizer, _ = training(between=lambda number, optimizer, net: kept.append(list(optimizer.state.values())))
    _, plain, _ = training(False)
    assert updates_in(step) == ["Adam, by itself: replayed"] and not compiled_modules.compiled_updates
    agree(optimizer, plain)
    assert all(one is other for one, other in zip(kept[1], optimizer.state.values(), strict=True))


def test_there_is_a_program_for_each_choice_of_parameters():
    def between(number, optimizer, net):
        net[0].requires_grad_(number % 2 == 0)

    step, optimizer, _ = training(calls=16, between=between)
    assert updates_in(step) == ["Adam, by itself: replayed"]
    part = step.known_entries()[0].compiled_modules[-1]
    assert len(part.call.known_entries()) == 2 and part.call.replayed > 4
    agree(optimizer, training(False, calls=16, between=between)[1])


def test_rates_move():
    def between(number, optimizer, net):
        optimizer.param_groups[0]["lr"] = 0.1 / (number + 1)

    step, optimizer, _ = training(calls=12, between=between)
    assert updates_in(step) == ["Adam, by itself: replayed"]
    agree(optimizer, training(False, calls=12, between=between)[1])


def test_capturable():
    def make(parameters, lr):
        return torch.optim.AdamW(parameters, lr=lr, capturable=True)

    step, optimizer, _ = training(make=make)
    assert updates_in(step) == ["AdamW, by itself: replayed"]
    agree(optimizer, training(False, make=make)[1])


def test_copies_have_none_of_it():
    copies = []
    training(between=lambda number, optimizer, net: copies.append(copy.deepcopy(optimizer)))
    assert all(list(vars(one)) == list(vars(copies[0])) for one in copies)


def test_an_error_takes_it_away_again():
    step, optimizer, _ = training()
    hook = optimizer.register_step_post_hook(lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        step()
    assert not compiled_modules.compiled_updates
    hook.remove()
    step()


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setattr(compiled_modules.settings, "updates", False)
    assert updates_in(training()[0]) == []


def test_threads_have_updates_of_their_own():
    found = {}

    def train(number, given):
        found[number] = training(calls=9 + number, given=given)[1]

    threads = [threading.Thread(target=train, args=(number, made())) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, optimizer in found.items():
        agree(optimizer, training(False, calls=9 + number)[1])
    assert len(found) == 2 and not compiled_modules.compiled_updates


def roots(x):
    return math.sqrt(x)


def test_what_another_thread_has_put_in_the_place_of_math_is_no_obstacle():
    """A call that is captured with stand-ins shares its globals with calls of other threads."""
    reached = Guards([(roots, "roots")])
    with proxying(reached, {("a number that moves",)}, Numbers()):
        assert roots.__globals__["math"] is not MATH
        assert not can_tell(Guards([(roots, "roots")]))
    assert roots.__globals__["math"] is MATH


LARGE = "Adam, by itself: replayed"
SMALL = "Adam, by itself: Python is run: calls at once take no longer than its program would"


@pytest.mark.parametrize(("width", "said"), [(8, SMALL), (320, LARGE)], ids=["small", "large"])
def test_small_parameters_are_updated_together_instead(width, said, monkeypatch):
    monkeypatch.setattr(settings, "background", True)
    monkeypatch.setattr(step_executable, "SECONDS_PER_STEP", 0.002)
    monkeypatch.setattr(step_executable, "SECONDS_PER_INSTRUCTION", 0.0002)

    def make(parameters, lr):
        more = [nn.Parameter(torch.ones(width, width)) for _ in range(8)]
        for one in more:
            one.grad = torch.ones(width, width)
        optimizer = torch.optim.Adam(parameters, lr=lr)
        optimizer.add_param_group({"params": more, "lr": 0.001})
        monkeypatch.setattr(optimizer, "zero_grad", lambda: None)
        return optimizer

    step, *_ = training(make=make, calls=8, width=8)
    torch.execution.wait_for_compiler()
    step()
    assert updates_in(step) == [said]
    assert np.isfinite(step())

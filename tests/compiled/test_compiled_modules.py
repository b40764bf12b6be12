"""Modules compiled by themselves, in steps that can't be replayed: Note [Compiled modules]."""

import copy

import numpy as np
import pytest

import tapegrad as torch
from tapegrad import nn

pytestmark = pytest.mark.once("calls are compiled in one way")


def network(width=6):
    return nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.Tanh(), nn.Linear(width, 1))


def training(compiled, calls=9):
    """Losses that a step reads, the parameters after them, and the step."""
    torch.manual_seed(0)
    net, kept = network(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(16, 6), torch.randn(16, 1)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        kept.append(loss.item())
        return len(kept)

    run = torch.compile(step) if compiled else step
    assert [run() for _ in range(calls)] == list(range(1, calls + 1))
    return kept, [*net.parameters(), *net.buffers()], run, net


def test_a_step_that_reads_its_loss_has_its_model_compiled():
    ours, state, step, net = training(True)
    losses, expected, _, _ = training(False)
    np.testing.assert_allclose(ours, losses, rtol=1e-5)
    for one, other in zip(state, expected, strict=True):
        torch.testing.assert_close(one, other)
    first, second, third = step.report().splitlines()[1:]
    assert first.startswith("kind 1: Python is run: it is split where elements are read at ")
    assert (second, third) == ("  Sequential, by itself: replayed", "  SGD, by itself: replayed")
    assert "_compiled_call_impl" not in net.__dict__


def test_graphs_have_the_node_of_compiled_functions_only_inside():
    net, names = network(), []

    @torch.compile
    def step(x):
        out = net(x)
        names.append(out.grad_fn.name())
        print(end="")
        return out

    for _ in range(8):
        step(torch.ones(4, 6))
    assert names[0] == "AddmmBackward0" and names[-1] == "CompiledFunctionBackward"
    assert net(torch.ones(4, 6)).grad_fn.name() == "AddmmBackward0"


def test_an_error_takes_them_away_again():
    net, fails = network(), []

    @torch.compile
    def step(x):
        out = net(x).sum().item()
        if fails:
            raise KeyError(fails[0])
        return out

    for _ in range(6):
        step(torch.ones(4, 6))
    fails.append("no more")
    with pytest.raises(KeyError, match="no more"):
        step(torch.ones(4, 6))
    assert "_compiled_call_impl" not in net.__dict__


def test_modules_inside_of_one_that_prints_are_compiled():
    class Talking(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = network(), nn.Linear(1, 2)

        def forward(self, x):
            x = self.first(x)
            print(end="")
            return self.second(x)

    torch.manual_seed(1)
    plain = Talking()
    net = torch.compile(copy.deepcopy(plain))
    for x in torch.randn(8, 5, 6):
        plain(x).sum().backward()
        net(x).sum().backward()
    for one, other in zip(net.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-5)
    assert net.report().splitlines()[2:] == ["  Sequential, by itself: replayed", "  Linear, by itself: replayed"]


def test_a_module_may_be_copied_and_saved_in_the_step():
    net, copies = network(), []

    @torch.compile
    def step(x):
        copies.append(copy.deepcopy(net))
        return net(x).sum().item(), list(net.state_dict())

    for _ in range(8):
        _, names = step(torch.ones(4, 6))
    assert names == list(net.state_dict())
    assert all("_compiled_call_impl" not in vars(one) or one(torch.ones(4, 6)) is not None for one in copies)


def test_hooks_on_a_module_are_called_each_time():
    net, seen = network(), []
    net.register_forward_hook(lambda *_: seen.append(1))

    @torch.compile
    def step(x):
        return net(x).sum().item()

    for _ in range(8):
        step(torch.ones(4, 6))
    assert len(seen) == 8

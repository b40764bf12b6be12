"""Averages of weights beside PyTorch's."""

import numpy as np
import pytest
import torch

import tapegrad

pytestmark = pytest.mark.parity

FUNCTIONS = {
    "equal": lambda utils: {},
    "ema, each": lambda utils: {"avg_fn": utils.get_ema_avg_fn(0.9)},
    "ema, together": lambda utils: {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
    "equal, each": lambda utils: {"avg_fn": utils.get_swa_avg_fn()},
    "equal, together": lambda utils: {"multi_avg_fn": utils.get_swa_multi_avg_fn()},
    "own": lambda utils: {"avg_fn": lambda average, current, count: average * 0.5 + current * 0.25 + count},
}


def batches(lib, dtype="float64"):
    rng = np.random.default_rng(0)
    return [lib.tensor(rng.normal(size=(4, 3)).tolist(), dtype=getattr(lib, dtype)) for _ in range(4)]


def small_net(lib):
    net = lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.BatchNorm1d(2)).double()
    with lib.no_grad():
        for i, p in enumerate(net.parameters()):
            p.copy_(lib.linspace(-1, 1 + i, p.numel(), dtype=lib.float64).reshape(p.shape))
    return net


def averaged(lib, how, use_buffers):
    """Train for some steps, average after each; the state of the average."""
    net = small_net(lib)
    average = lib.optim.swa_utils.AveragedModel(net, use_buffers=use_buffers, **FUNCTIONS[how](lib.optim.swa_utils))
    optimizer = lib.optim.SGD(net.parameters(), lr=0.1)
    for x in batches(lib):
        optimizer.zero_grad()
        (net(x) ** 2 - net(x)).sum().backward()
        optimizer.step()
        average.update_parameters(net)
    return average


def same_states(mine, theirs):
    assert list(mine) == list(theirs)
    for key in theirs:
        assert str(mine[key].dtype).split(".")[1] == str(theirs[key].dtype).split(".")[1], key
        np.testing.assert_allclose(mine[key].detach().numpy(), theirs[key].detach().numpy(), rtol=1e-9, err_msg=key)


AVERAGES = [(how, False) for how in FUNCTIONS] + [(how, True) for how in FUNCTIONS if how != "equal, together"]


@pytest.mark.parametrize(("how", "use_buffers"), AVERAGES)
def test_averages(how, use_buffers):
    same_states(*(averaged(lib, how, use_buffers).state_dict() for lib in (tapegrad, torch)))


@pytest.mark.parametrize("lib", [tapegrad, torch])
def test_equal_averages_of_integers_are_refused(lib):
    """The number of batches that a norm has seen is one."""
    with pytest.raises(RuntimeError, match="Integer division with addcdiv is no longer supported"):
        averaged(lib, "equal, together", True)


def test_batch_norms_are_worked_out_anew():
    def program(lib):
        average = averaged(lib, "equal", False).eval()
        loader = [[x, None] if i % 2 else x for i, x in enumerate(batches(lib))]
        lib.optim.swa_utils.update_bn(loader, average)
        assert average.module[1].momentum == 0.1
        assert not average.training
        return average.state_dict()

    same_states(program(tapegrad), program(torch))


@pytest.mark.parametrize(
    "options", [{}, {"anneal_strategy": "linear", "anneal_epochs": 4}, {"anneal_epochs": 0}, {"anneal_epochs": 1}]
)
def test_rates(options):
    def program(lib):
        groups = [{"params": [lib.zeros(1)]}, {"params": [lib.zeros(1)], "lr": 0.5}]
        optimizer = lib.optim.SGD(groups, lr=0.1)
        schedule = lib.optim.swa_utils.SWALR(optimizer, [0.05, 0.01], **options)
        seen = []
        for step in range(14):
            optimizer.step()
            schedule.step()
            seen.append(schedule.get_last_lr())
            if step == 5:
                state = schedule.state_dict()
                schedule = lib.optim.swa_utils.SWALR(optimizer, [0.05, 0.01])
                schedule.load_state_dict(state)
        return seen, sorted(state)

    (mine, keys), (theirs, others) = program(tapegrad), program(torch)
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert set(others) <= set(keys)


ERRORS = """
lib.optim.swa_utils.get_ema_avg_fn(1.5)
lib.optim.swa_utils.get_ema_multi_avg_fn(-0.5)
lib.optim.swa_utils.AveragedModel(lib.nn.Linear(1, 1), avg_fn=print, multi_avg_fn=print)
lib.optim.swa_utils.SWALR(lib.optim.SGD([lib.zeros(1)]), 0.1, anneal_strategy="up")
lib.optim.swa_utils.SWALR(lib.optim.SGD([lib.zeros(1)]), 0.1, anneal_epochs=-1)
lib.optim.swa_utils.SWALR(lib.optim.SGD([lib.zeros(1)]), [0.1, 0.2])
""".strip().splitlines()


@pytest.mark.parametrize("line", ERRORS)
def test_refusals(line):
    seen = []
    for lib in (tapegrad, torch):
        with pytest.raises(Exception) as caught:
            eval(line, {"lib": lib, "print": print})
        seen.append((type(caught.value), str(caught.value)))
    assert seen[0] == seen[1]

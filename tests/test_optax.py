"""``optim.Optax``: optax's optimizers, on the tape's parameters."""

import numpy as np
import optax
import pytest

import tapegrad as torch


def course(optimizer_of, steps=20):
    """The parameters after some steps on a bowl."""
    w = [torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor(3.0, requires_grad=True)]
    optimizer = optimizer_of(w)
    for _ in range(steps):
        optimizer.zero_grad()
        ((w[0] ** 2).sum() + (w[1] - 1) ** 2).backward()
        optimizer.step()
    return [one.detach().numpy() for one in w], optimizer


def test_adam_is_adam():
    mine, _ = course(lambda w: torch.optim.Adam(w, lr=0.1))
    theirs, _ = course(lambda w: torch.optim.Optax(w, optax.adam(0.1)))
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


def test_chains_and_schedules_of_optax():
    schedule = optax.exponential_decay(0.1, 1, 0.9)
    chain = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(schedule, momentum=0.9))
    expected = [np.array([1.0, -2.0], np.float32), np.array(3.0, np.float32)]
    state = chain.init(expected)
    for _ in range(20):
        updates, state = chain.update([2 * expected[0], 2 * (expected[1] - 1)], state, expected)
        expected = [np.asarray(one) for one in optax.apply_updates(expected, updates)]
    got, _ = course(lambda w: torch.optim.Optax(w, chain))
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_state_is_taken_over():
    whole, _ = course(lambda w: torch.optim.Optax(w, optax.adam(0.1)), 10)
    half, first = course(lambda w: torch.optim.Optax(w, optax.adam(0.1)), 5)
    state = first.state_dict()

    def going_on(w):
        with torch.no_grad():
            for one, value in zip(w, half, strict=True):
                one.copy_(torch.tensor(value))
        second = torch.optim.Optax(w, optax.adam(0.1))
        second.load_state_dict(state)
        return second

    for one, other in zip(course(going_on, 5)[0], whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_refusals():
    w = [torch.zeros(1, requires_grad=True)]
    with pytest.raises(TypeError, match="must be a gradient transformation of optax"):
        torch.optim.Optax(w, 0.1)
    with pytest.raises(ValueError, match=r"takes no options for groups, but got \['lr'\]"):
        torch.optim.Optax([{"params": w, "lr": 0.1}], optax.sgd(0.1))

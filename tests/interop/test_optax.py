"""``optim.Optax``: optax's optimizers, on the tape's parameters."""

import jax
import numpy as np
import optax
import optax.contrib
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


TRANSFORMATIONS = {
    "adam": lambda: optax.adam(0.1),
    "lion": lambda: optax.lion(0.05, weight_decay=0.1),
    "chain": lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1, momentum=0.9)),
    "schedule": lambda: optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 0.2, 3, 7)),
    "groups": lambda: optax.multi_transform({"a": optax.adam(0.1), "b": optax.sgd(0.05)}, ["a", "b"]),
    "a frozen group": lambda: optax.multi_transform({"a": optax.lion(0.1), "b": optax.set_to_zero()}, ["a", "b"]),
    "a mask": lambda: optax.chain(optax.masked(optax.add_decayed_weights(0.1), [True, False]), optax.rmsprop(0.05)),
    "every third step": lambda: optax.MultiSteps(optax.adam(0.1), 3),
    "rates in the state": lambda: optax.inject_hyperparams(optax.adam)(learning_rate=0.1),
    "noise": lambda: optax.noisy_sgd(0.1, key=jax.random.key(3)),
    "the loss": lambda: optax.polyak_sgd(),
    "a plateau": lambda: optax.chain(optax.sgd(0.6), optax.contrib.reduce_on_plateau(patience=1, factor=0.5)),
}


@jax.jit
def bowl(w):
    return (w[0] ** 2).sum() + (w[1] - 1) ** 2


@pytest.mark.parametrize("compiled", [False, True], ids=["call by call", "compiled"])
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations_do_what_optax_does_with_them(name, compiled):
    transformation = optax.with_extra_args_support(TRANSFORMATIONS[name]())
    expected = [jax.numpy.array([1.0, -2.0]), jax.numpy.array(3.0)]
    w = [torch.tensor(np.asarray(one), requires_grad=True) for one in expected]
    optimizer = torch.optim.Optax(w, transformation)

    def closure():
        optimizer.zero_grad()
        loss = (w[0] ** 2).sum() + (w[1] - 1) ** 2
        loss.backward()
        return loss

    def step():
        return optimizer.step(closure)

    step = torch.compile(step) if compiled else step
    state = transformation.init(expected)
    for _ in range(7):
        step()
        value, grads = jax.value_and_grad(bowl)(expected)
        updates, state = transformation.update(grads, state, expected, value=value, grad=grads)
        expected = optax.apply_updates(expected, updates)
    for one, other in zip(w, expected, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), np.asarray(other), rtol=1e-5, atol=1e-6)


def test_a_loss_that_is_asked_for_and_not_given():
    w = torch.zeros(1, requires_grad=True)
    with pytest.raises(TypeError, match="'value'"):
        torch.optim.Optax([w], optax.polyak_sgd()).step()


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

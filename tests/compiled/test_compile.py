"""``tapegrad.compile``: steps that are compiled do what they do when they are not, and are replayed."""

from functools import partial

import jax
import optax
import pytest
from compiled_programs import X, Y, clear, compare, descend, loss_of, model

import tapegrad as torch
from tapegrad.interop import from_jax, is_tensor, to_arrays, to_tensors
from tapegrad.nn import functional as F

# -- optimizers and their state ----------------------------------------------------------------------------------------


def sgd(wrap):
    parameters = model()

    @wrap
    def step(x, y):
        clear(parameters)
        loss = loss_of(parameters, x, y)
        loss.backward()
        descend(parameters)
        return loss

    return lambda number: step(X * (number + 1), Y), parameters


def zero_in_place(wrap):
    parameters = model()

    @wrap
    def step():
        for p in parameters:
            if p.grad is not None:
                p.grad.zero_()
        loss = loss_of(parameters)
        loss.backward()
        descend(parameters)
        return loss.detach()

    return lambda number: step(), parameters


def lazy_momentum(wrap):
    parameters, buffers = model(), {}

    @wrap
    def step():
        clear(parameters)
        loss_of(parameters).backward()
        with torch.no_grad():
            for number, p in enumerate(parameters):
                if number not in buffers:
                    buffers[number] = torch.zeros_like(p)
                buffers[number].mul_(0.9).add_(p.grad)
                p.sub_(buffers[number], alpha=0.1)

    return lambda number: step(), [parameters, buffers]


def adam(wrap, counter):
    parameters = model()
    first, second = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    state = {"count": counter}

    @wrap
    def step():
        clear(parameters)
        loss = loss_of(parameters)
        loss.backward()
        with torch.no_grad():
            state["count"] += 1
            count = state["count"]
            for p, m, v in zip(parameters, first, second, strict=True):
                m.mul_(0.9).add_(p.grad, alpha=0.1)
                v.mul_(0.99).addcmul_(p.grad, p.grad, value=0.01)
                p.sub_(0.1 * (m / (1 - 0.9**count)) / ((v / (1 - 0.99**count)).sqrt() + 1e-3))
        return loss.detach()

    return lambda number: step(), [parameters, first, second, state]


def adam_with_number(wrap):
    return adam(wrap, 0)


def adam_with_tensor(wrap):
    return adam(wrap, torch.tensor(0.0))


def clipping(wrap):
    parameters = model()

    @wrap
    def step(x):
        clear(parameters)
        loss = loss_of(parameters, x) * 10
        loss.backward()
        norm = torch.stack([p.grad.norm() for p in parameters]).norm()
        with torch.no_grad():
            for p in parameters:
                p.grad.mul_((1.0 / norm).clamp(max=1.0)).clamp_(-0.5, 0.5)
        descend(parameters)
        return {"loss": loss.detach(), "norm": norm, "rate": 0.1, "shape": tuple(x.shape)}

    return lambda number: step(X * (number + 1)), parameters


def two_backwards(wrap):
    parameters = model()

    @wrap
    def step():
        clear(parameters)
        losses = []
        for part in (slice(0, 2), slice(2, 3)):
            loss = loss_of(parameters, X[part], Y[part])
            loss.backward()
            losses.append(loss.detach())
        descend(parameters)
        return losses

    return lambda number: step(), parameters


def accumulating(wrap):
    parameters = model()

    @wrap
    def micro(x):
        loss_of(parameters, x).backward()

    def call(number):
        micro(X * (number + 1))
        if number % 4 == 3:
            clear(parameters)

    return call, parameters


def batch_norm_and_dropout(wrap):
    parameters, mean, var = model(), torch.zeros(2), torch.ones(2)

    @wrap
    def step():
        clear(parameters)
        x = F.batch_norm(X, mean, var, training=True)
        loss = loss_of(parameters, F.dropout(x, 0.3))
        loss.backward()
        descend(parameters)
        return loss.detach()

    return lambda number: step(), [parameters, mean, var]


def optax_adam(wrap):
    parameters, optimizer = model(), optax.adam(0.1)
    state = to_tensors(optimizer.init(to_arrays(parameters)))
    update = from_jax(lambda grads, state, parameters: optimizer.update(grads, state, parameters))
    leaves = partial(jax.tree.leaves, is_leaf=is_tensor)

    @wrap
    def step():
        clear(parameters)
        loss_of(parameters).backward()
        with torch.no_grad():
            updates, new = update([p.grad for p in parameters], state, parameters)
            for p, u in zip(parameters, updates, strict=True):
                p.add_(u)
            for old, now in zip(leaves(state), leaves(new), strict=True):
                old.copy_(now)

    return lambda number: step(), [parameters, leaves(state)]


REPLAYED = [
    sgd, zero_in_place, lazy_momentum, adam_with_tensor, clipping, two_backwards, batch_norm_and_dropout, accumulating,
    optax_adam,
]  # fmt: skip


@pytest.mark.parametrize("program", REPLAYED, ids=lambda program: program.__name__)
def test_steps_that_are_replayed(program):
    compare(program, calls=8, replayed=True)


@pytest.mark.once("deferred, what it is compared with compiles programs, too, which would be counted")
def test_a_counter_in_python_is_counted_but_not_compiled_anew():
    before = torch.execution.stats().compiled
    compiled = compare(adam_with_number, calls=8, replayed=True)
    assert compiled.replayed == 5
    assert torch.execution.stats().compiled - before <= 3


# -- what changes between calls ----------------------------------------------------------------------------------------


def changing(change, replayed=True):
    """A program whose state is changed by a function before calls 4 and 6."""

    def program(wrap):
        state = {"parameters": model(), "rate": 0.1, "hooks": [], "seen": []}

        @wrap
        def step():
            clear(state["parameters"])
            loss = loss_of(state["parameters"])
            loss.backward()
            descend(state["parameters"], state["rate"])
            return loss.detach()

        def call(number):
            if number in (4, 6):
                change(state, number)
            return step()

        return call, [lambda: state["parameters"], lambda: state["rate"], lambda: state["seen"]]

    return program


def change_rate(state, number):
    state["rate"] /= 2


def rebind(state, number):
    state["parameters"][0] = (state["parameters"][0].detach() * 2).requires_grad_()


def replace_data(state, number):
    state["parameters"][0].data = torch.tensor([[1.0], [float(number)]])


def write(state, number):
    with torch.no_grad():
        state["parameters"][0].add_(1)
        state["parameters"][1].copy_(torch.tensor([0.5]))


def write_through_a_view(state, number):
    state["parameters"][0].detach()[0] = 3


def freeze(state, number):
    state["parameters"] = state["parameters"][:1] + [torch.tensor([float(number)], requires_grad=True)]


def replace_gradient(state, number):
    state["parameters"][0].grad = torch.ones(2, 1)


def hook(state, number):
    state["parameters"][0].register_hook(lambda grad: grad * number)


def hook_after(state, number):
    def halve(p):
        p.grad.mul_(0.5)

    state["parameters"][0].register_post_accumulate_grad_hook(halve)


CHANGES = [change_rate, rebind, replace_data, write, write_through_a_view, freeze, replace_gradient, hook, hook_after]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_changes_between_calls_is_noticed(change):
    compare(changing(change), calls=9, replayed=True)


def test_a_rate_that_changes_is_not_compiled_anew():
    before = torch.execution.stats().compiled
    compare(changing(change_rate), calls=12)
    assert torch.execution.stats().compiled - before <= 2

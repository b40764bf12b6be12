"""Steps that tapegrad compiles and PyTorch runs as they are: the same numbers, versions, flags, nodes and errors."""

import pytest
from harness import agree, attempt

import tapegrad

A, B = [[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]], [[1.0], [0.0], [2.0]]
CALLS = 6


def compiled(torch, step):
    """The step, compiled if it is tapegrad's, and how to see that it was replayed in the end."""
    if torch is not tapegrad:
        return step, lambda: True
    made = torch.compile(step)
    return made, lambda: made.replayed > 0


def account(tensors):
    grads = [None if x.grad is None else x.grad.numpy().copy() for x in tensors]
    return grads, [[x.detach().numpy().copy(), x._version, x.requires_grad, x.is_leaf] for x in tensors]


def told(torch, step, state, *arguments):
    """What is seen after each of some calls."""
    step, replayed = compiled(torch, step)
    seen = []
    for _ in range(CALLS):
        result = step(*arguments)
        node = None if result.grad_fn is None else type(result.grad_fn).__name__
        seen.append([result.detach().numpy().copy(), result.requires_grad, node, account(state)])
    return [seen, replayed()]


def data(torch):
    weight = torch.tensor([[0.3], [-0.2]], requires_grad=True)
    return weight, torch.tensor([0.1], requires_grad=True), torch.tensor(A), torch.tensor(B)


def momentum(torch):
    weight, bias, x, y = data(torch)
    parameters, buffers = [weight, bias], [torch.zeros(2, 1), torch.zeros(1)]

    def step(x, y):
        for p in parameters:
            p.grad = None
        loss = ((x @ weight + bias - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p, b in zip(parameters, buffers, strict=True):
                b.mul_(0.9).add_(p.grad)
                p.sub_(b, alpha=0.1)
        return loss

    return told(torch, step, parameters + buffers, x, y)


def normalized(torch):
    weight, bias, x, y = data(torch)
    mean, var = torch.zeros(2), torch.ones(2)

    def step(x, y):
        for p in (weight, bias):
            if p.grad is not None:
                p.grad.zero_()
        h = torch.nn.functional.batch_norm(x, mean, var, training=True)
        loss = torch.nn.functional.mse_loss(h @ weight + bias, y)
        loss.backward()
        norm = torch.stack([weight.grad.norm(), bias.grad.norm()]).norm()
        with torch.no_grad():
            for p in (weight, bias):
                p.grad.mul_((1 / norm).clamp(max=1.0))
                p -= 0.1 * p.grad
        return loss

    return told(torch, step, [weight, bias, mean, var], x, y)


def views(torch):
    state = torch.arange(6.0).reshape(2, 3)
    row, handle = state[0], state.detach()

    def step(x):
        row.mul_(0.5)
        state[1, 1:] += x
        return handle.sum() * 2

    return told(torch, step, [state, row, handle], torch.tensor(2.0))


def rebinding(torch):
    weight, _, x, y = data(torch)
    parameters, state = [weight], {"average": torch.zeros(2, 1), "step": torch.tensor(0.0), "loss": torch.zeros(())}

    def step(x, y):
        loss = ((x @ parameters[0] - y) ** 2).mean()
        loss.backward()
        state["loss"] = loss.detach()
        grad, state["step"] = parameters[0].grad, state["step"] + 1
        state["average"] = 0.9 * state["average"] + 0.1 * grad
        with torch.no_grad():
            moved = parameters[0] - 0.1 * state["average"] / (1 - 0.9 ** state["step"])
        parameters[0] = moved.requires_grad_()
        return state["loss"]

    return [told(torch, step, parameters, x, y), account([*parameters, state["average"], state["step"]])]


@pytest.mark.parametrize("program", [momentum, normalized, views, rebinding], ids=lambda program: program.__name__)
def test_steps(program):
    agree(program, rtol=1e-5, atol=1e-6)


def test_a_graph_that_was_used_up():
    def program(torch):
        w = torch.tensor([1.0, 2.0], requires_grad=True)

        def square():
            loss = (w * w).sum()
            loss.backward()
            return loss

        step, _ = compiled(torch, square)
        return [attempt(lambda: step().backward()) for _ in range(CALLS)], w.grad.numpy()

    agree(program)

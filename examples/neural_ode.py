"""A neural ordinary differential equation learns a spiral; its gradients come from the adjoint equation.

Nothing of the forward solution is kept for backward but where it passed at the times that are asked for.
"""

import torch
from torch import nn
from training import options, train

given = options(steps=60)
torch.manual_seed(0)

TIMES, SPAN, BATCH = 12, 0.15, 16


def rk4(slope, states, span):
    """One step of Runge and Kutta, for several states at once."""
    moved = lambda slopes, share: [x + share * span * s for x, s in zip(states, slopes, strict=True)]
    a = slope(states)
    b = slope(moved(a, 0.5))
    c = slope(moved(b, 0.5))
    d = slope(moved(c, 1.0))
    return moved([(p + 2 * q + 2 * r + s) / 6 for p, q, r, s in zip(a, b, c, d, strict=True)], 1.0)


class Solution(torch.autograd.Function):
    """Where a start is moved to by a field, at all times."""

    @staticmethod
    def forward(ctx, field, start, *parameters):
        path = [start]
        for _ in range(TIMES):
            path += rk4(lambda states: [field(states[0])], path[-1:], SPAN)
        ctx.field, ctx.parameters = field, parameters
        ctx.save_for_backward(*path)
        return torch.stack(path)

    @staticmethod
    def backward(ctx, grads):
        path, sums = ctx.saved_tensors, [torch.zeros_like(p) for p in ctx.parameters]
        adjoint = grads[-1]

        def slope(states):
            with torch.enable_grad():
                x = states[0].detach().requires_grad_()
                dx = ctx.field(x)
                found = torch.autograd.grad(dx, (x, *ctx.parameters), -states[1])
            return [dx.detach(), *found]

        for x, grad in zip(reversed(path[1:]), reversed(grads[:-1]), strict=True):
            _, adjoint, *sums = rk4(slope, [x, adjoint, *sums], -SPAN)
            adjoint = adjoint + grad
        return None, adjoint, *sums


class Field(nn.Module):
    """The velocity at each place."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, x):
        return self.layers(x**3)


field = Field()
optimizer = torch.optim.RMSprop(field.parameters(), lr=3e-3)
turning = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


def spirals():
    """Starts, and where the true field moves them."""
    while True:
        path = [2 * torch.rand(BATCH, 2) - 1]
        for _ in range(TIMES):
            path += rk4(lambda states: [states[0] ** 3 @ turning], path[-1:], SPAN)
        yield path[0], torch.stack(path)


@given.compiled
def step(start, path):
    optimizer.zero_grad()
    loss = (Solution.apply(field, start, *field.parameters()) - path).abs().mean()
    loss.backward()
    optimizer.step()
    return loss


train(step, spirals(), given)

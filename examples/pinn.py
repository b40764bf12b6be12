"""A physics-informed net solves Burgers' equation: it is told the equation, the start and the ends, and no solution."""

import math

import torch
from torch import nn
from training import options, train

given = options(steps=100)
torch.manual_seed(0)

VISCOSITY = 0.01 / math.pi
net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.995)


def derivatives(u, x, t):
    """Of each number of u, by the x and the t that belong to it."""
    return torch.autograd.grad(u, (x, t), torch.ones_like(u), create_graph=True)


def velocity(x, t):
    return net(torch.stack([x, t], 1))[:, 0]


@given.compiled
def step(x, t):
    optimizer.zero_grad()
    x.requires_grad_()
    t.requires_grad_()
    u = velocity(x, t)
    u_x, u_t = derivatives(u, x, t)
    u_xx, _ = derivatives(u_x, x, t)
    inside = (u_t + u * u_x - VISCOSITY * u_xx).square().mean()
    start = (velocity(x.detach(), torch.zeros_like(t)) + (math.pi * x.detach()).sin()).square().mean()
    ends = velocity(torch.ones_like(x), t.detach()).square().mean()
    ends = ends + velocity(-torch.ones_like(x), t.detach()).square().mean()
    loss = inside + start + ends
    loss.backward()
    optimizer.step()
    schedule.step()
    return loss


def places():
    """Where the equation is to hold, other ones at each step."""
    while True:
        yield 2 * torch.rand(128) - 1, torch.rand(128)


train(step, places(), given)
print(f"the velocity at x = -0.5, t = 0.25 is {velocity(torch.tensor([-0.5]), torch.tensor([0.25])).item():.3f}")

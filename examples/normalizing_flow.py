"""A normalizing flow of affine couplings learns how the points of two moons are distributed."""

import math

import torch
from torch import nn
from torch.distributions import Independent, Normal
from training import options, train

given = options(steps=100)
torch.manual_seed(0)

LAYERS, HIDDEN, BATCH = 4, 32, 128


class Coupling(nn.Module):
    """One coordinate is scaled and moved by what the other one says."""

    def __init__(self):
        super().__init__()
        self.said = nn.Sequential(nn.Linear(1, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 2))

    def forward(self, x):
        left, right = x.chunk(2, 1)
        log_scale, shift = self.said(left).chunk(2, 1)
        log_scale = log_scale.tanh()
        return torch.cat([right * log_scale.exp() + shift, left], 1), log_scale[:, 0]


class Flow(nn.Module):
    """What moves the moons to a normal distribution."""

    def __init__(self):
        super().__init__()
        self.couplings = nn.ModuleList([Coupling() for _ in range(LAYERS)])
        self.register_buffer("center", torch.zeros(2))

    def log_prob(self, x):
        found = 0.0
        for coupling in self.couplings:
            x, log_scale = coupling(x)
            found = found + log_scale
        return found + Independent(Normal(self.center, torch.ones_like(self.center)), 1).log_prob(x)


flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda count: min(1.0, (count + 1) / 20))


@given.compiled
def step(x):
    optimizer.zero_grad()
    loss = -flow.log_prob(x).mean()
    loss.backward()
    optimizer.step()
    schedule.step()
    return loss


def moons():
    """Points of two half circles, which reach into one another."""
    while True:
        angles, upper = math.pi * torch.rand(BATCH), torch.rand(BATCH) < 0.5
        x = torch.where(upper, angles.cos(), 1 - angles.cos())
        y = torch.where(upper, angles.sin(), 0.5 - angles.sin())
        yield (torch.stack([x, y], 1) + 0.05 * torch.randn(BATCH, 2),)


train(step, moons(), given)

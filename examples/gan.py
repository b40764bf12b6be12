"""A Wasserstein GAN with gradient penalty learns to place points on a ring of eight spots."""

import math

import torch
from torch import nn
from training import options, train

given = options(steps=100)
torch.manual_seed(0)

NOISE, HIDDEN, BATCH, PENALTY = 4, 64, 128, 1.0


def mlp(inputs, outputs):
    return nn.Sequential(
        nn.Linear(inputs, HIDDEN), nn.LeakyReLU(0.2), nn.Linear(HIDDEN, HIDDEN), nn.LeakyReLU(0.2),
        nn.Linear(HIDDEN, outputs),
    )  # fmt: skip


generator, critic = mlp(NOISE, 2), mlp(2, 1)
generating = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.0, 0.9))
judging = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))


def ring():
    """Points from the eight spots."""
    angles = torch.randint(8, (BATCH,)) * (math.pi / 4)
    return torch.stack([angles.cos(), angles.sin()], 1) + 0.05 * torch.randn(BATCH, 2)


def penalty(real, fake):
    """How far the critic's slope, somewhere between the two, is from 1."""
    share = torch.rand(BATCH, 1)
    between = (share * real + (1 - share) * fake).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((slope.norm(dim=1) - 1) ** 2).mean()


@given.compiled
def step(real):
    fake = generator(torch.randn(BATCH, NOISE)).detach()
    judging.zero_grad()
    loss = critic(fake).mean() - critic(real).mean() + PENALTY * penalty(real, fake)
    loss.backward()
    judging.step()

    generating.zero_grad()
    (-critic(generator(torch.randn(BATCH, NOISE))).mean()).backward()
    generating.step()
    return loss


train(step, iter(lambda: (ring(),), None), given)
with torch.no_grad():
    points = generator(torch.randn(BATCH, NOISE))
print(f"{(points.norm(dim=1) - 1).abs().mean():.3f} is how far points are from the ring in the mean")

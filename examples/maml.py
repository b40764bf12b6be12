"""MAML: a net learns to learn sines, each from five points, by a step whose own derivative is taken."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call
from training import options, train

given = options(steps=100)
torch.manual_seed(0)

TASKS, POINTS, INNER_LR = 4, 5, 0.05
net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)


def error(weights, x, y):
    return F.mse_loss(functional_call(net, weights, (x,)), y)


def adapted(weights, x, y):
    """The weights after a step of gradient descent, as a function of those before."""
    grads = torch.autograd.grad(error(weights, x, y), weights.values(), create_graph=True)
    return {name: w - INNER_LR * g for (name, w), g in zip(weights.items(), grads, strict=True)}


@given.compiled
def step(x, y):
    optimizer.zero_grad()
    loss = 0.0
    for task in range(TASKS):
        weights = dict(net.named_parameters())
        weights = adapted(weights, x[task, :POINTS], y[task, :POINTS])
        weights = adapted(weights, x[task, :POINTS], y[task, :POINTS])
        loss = loss + error(weights, x[task, POINTS:], y[task, POINTS:]) / TASKS
    loss.backward()
    optimizer.step()
    return loss


def sines():
    """Tasks: points of sines of several heights and phases."""
    while True:
        heights, phases = 0.1 + 4.9 * torch.rand(TASKS, 1, 1), math.pi * torch.rand(TASKS, 1, 1)
        x = 10 * torch.rand(TASKS, 2 * POINTS, 1) - 5
        yield x, heights * (x - phases).sin()


train(step, sines(), given)

"""A Gaussian process learns its length, its height and its noise from forty points, and says what lies between them."""

import torch
from torch.distributions import MultivariateNormal
from training import options, train

given = options(steps=80)
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

x = torch.rand(40).sort().values * 6
y = x.sin() + 0.1 * torch.randn(40)
length, height, noise = parameters = [torch.tensor(value, requires_grad=True) for value in (0.0, 0.0, -1.0)]
optimizer = torch.optim.Adam(parameters, lr=0.05)


def covariance(a, b):
    """Of the values at places ``a`` with those at places ``b``."""
    return (2 * height).exp() * (-0.5 * ((a[:, None] - b) / length.exp()) ** 2).exp()


def of_measurements():
    return covariance(x, x) + (2 * noise).exp() * torch.eye(len(x))


@given.compiled
def step():
    optimizer.zero_grad()
    loss = -MultivariateNormal(torch.zeros_like(x), of_measurements()).log_prob(y)
    loss.backward()
    optimizer.step()
    return loss


@torch.no_grad()
def predicted(places):
    """The means and the standard deviations of the values at some places."""
    factor = torch.linalg.cholesky(of_measurements())
    across = covariance(x, places)
    mean = across.T @ torch.cholesky_solve(y[:, None], factor)[:, 0]
    explained = torch.linalg.solve_triangular(factor, across, upper=False).square().sum(0)
    return mean, ((2 * height).exp() - explained).sqrt()


train(step, iter(tuple, None), given)
for place, mean, deviation in zip((1.5, 3.0, 8.0), *predicted(torch.tensor([1.5, 3.0, 8.0])), strict=True):
    print(f"at {place}: {mean:.3f} +- {deviation:.3f}")

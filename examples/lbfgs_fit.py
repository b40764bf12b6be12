"""LBFGS fits two damped oscillations to noisy measurements."""

import torch
from training import options, train

given = options(steps=20)
torch.manual_seed(0)

times = torch.linspace(0, 6, 300, dtype=torch.float64)


def curve(heights, damping, frequencies, phases):
    """The sum of some damped oscillations."""
    waves = (-damping[:, None] * times).exp() * (frequencies[:, None] * times + phases[:, None]).cos()
    return heights @ waves


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


measured = curve(numbers(2.0, 0.7), numbers(0.5, 0.1), numbers(3.0, 7.0), numbers(0.3, 1.2))
measured = measured + 0.05 * torch.randn(300, dtype=torch.float64)
guess = [numbers(1.5, 1.0), numbers(0.3, 0.3), numbers(2.8, 7.2), numbers(0.0, 0.8)]
guess = [part.requires_grad_() for part in guess]
optimizer = torch.optim.LBFGS(guess, max_iter=4, line_search_fn="strong_wolfe")


@given.compiled
def closure():
    optimizer.zero_grad()
    loss = (curve(*guess) - measured).square().mean()
    loss.backward()
    return loss


train(lambda: optimizer.step(closure), iter(tuple, None), given)
for name, part in zip(("heights", "damping", "frequencies", "phases"), guess, strict=True):
    print(f"{name:12}", *(f"{number:8.3f}" for number in part.tolist()))

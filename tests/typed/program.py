"""A user's program, as strict type checkers see it: ``mypy --strict tests/typed/program.py`` finds nothing in it.

It runs, too: what a checker believes of a name is what the name is.
"""

from typing import assert_type

import numpy as np

import tapegrad as torch
import tapegrad.nn.functional as F
from tapegrad import Tensor, nn


def layer(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Operators, functions and methods give tensors."""
    hidden = F.relu(x @ weight.t()) * 2 + 1
    return hidden if bias is None else hidden + bias


def train() -> float:
    """Factories, views, reductions with and without a dimension, gradients, writes, numbers."""
    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(4, 3))
    x, target = torch.rand(5, 3), torch.zeros(5, dtype=torch.int64)
    assert_type(x, Tensor)
    loss = F.cross_entropy(layer(x, weight), target)
    loss.backward()
    assert_type(weight.grad, Tensor | None)
    with torch.no_grad():
        if weight.grad is not None:
            assert_type(weight.sub_(weight.grad, alpha=0.1), nn.Parameter)
            weight -= 0.1 * weight.grad
    return float(loss.item())


def shapes() -> tuple[int, ...]:
    """Sizes are tuples of ints; what returns several tensors has fields with names."""
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    largest = x.max(dim=1)
    assert_type(largest.values, Tensor)
    assert_type(x.max(), Tensor)
    assert_type(torch.sort(x, dim=0).indices, Tensor)
    assert_type(x.size(0), int)
    assert_type(x.shape[0], int)
    assert_type(torch.split(x, 1), tuple[Tensor, ...])
    assert_type(x == x.view(2, 3), Tensor)
    first, second = torch.linalg.qr(x)
    assert_type(first, Tensor)
    assert_type(torch.fft.fft(second), Tensor)
    array = x.permute(1, 0).detach().numpy()
    assert_type(torch.where(x > 1, x, 0.0).sum(dim=(0, 1), keepdim=True), Tensor)
    return tuple(np.asarray(array).shape)

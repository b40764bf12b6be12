"""What a net of modules costs beside the same one written with functions: on the same parameters, forward and backward.

A net is a function of a module that speaks PyTorch's language; it gives the net of modules, a function that does
without, and what both are called with. Modules are written as programs for PyTorch write them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.models import block_torch
from benchmarks.whole.model import residual_block

Run = Callable[[], Any]
Net = tuple[Any, Callable[[Any], Any], Any]


def given(torch: Any, *shape: int) -> Any:
    """An input that is the same for everybody."""
    return torch.tensor(np.random.default_rng(0).standard_normal(shape, "float32"))


def mlp(torch: Any, small: bool) -> Net:
    """Linear layers with ``relu`` between them."""
    nn, functional = torch.nn, torch.nn.functional
    width, batch = (4, 2) if small else (128, 64)
    net = nn.Sequential(
        nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )
    w1, b1, w2, b2, w3, b3 = net.parameters()

    def of_functions(x: Any) -> Any:
        x = functional.relu(functional.linear(x, w1, b1))
        x = functional.relu(functional.linear(x, w2, b2))
        return functional.linear(x, w3, b3)

    return net, of_functions, given(torch, batch, width)


def residual(torch: Any, small: bool) -> Net:
    """ResNet-18 for small images, with fewer blocks and channels: a stem, two blocks, one that halves, a classifier."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(torch.nn.Module):
        def __init__(self, channels: int, more: int) -> None:
            super().__init__()
            stride = 1 if channels == more else 2
            self.conv1 = nn.Conv2d(channels, more, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(more)
            self.conv2 = nn.Conv2d(more, more, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(more)
            self.relu = nn.ReLU()
            self.shortcut = nn.Sequential()
            if stride == 2:
                self.shortcut = nn.Sequential(nn.Conv2d(channels, more, 1, stride, bias=False), nn.BatchNorm2d(more))

        def forward(self, x: Any) -> Any:
            y = self.relu(self.bn1(self.conv1(x)))
            return self.relu(self.bn2(self.conv2(y)) + self.shortcut(x))

    channels, size, batch = (2, 4, 2) if small else (16, 16, 4)
    net = nn.Sequential(
        nn.Conv2d(3, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(), Block(channels, channels),
        Block(channels, channels), Block(channels, 2 * channels), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(2 * channels, 10),
    )  # fmt: skip
    norms = [one for one in net.modules() if isinstance(one, nn.BatchNorm2d)]
    statistics = {id(one.weight): (one.running_mean, one.running_var, one.num_batches_tracked) for one in norms}
    stem, scale, shift = list(net.parameters())[:3]
    blocks = [(2 if block.shortcut else 1, list(block.parameters())) for block in list(net)[3:6]]
    head = list(net[-1].parameters())

    def norm(x: Any, scale: Any, shift: Any) -> Any:
        mean, var, count = statistics[id(scale)]
        count.add_(1)
        return functional.batch_norm(x, mean, var, scale, shift, training=True)

    def block(x: Any, stride: int, parameters: list[Any]) -> Any:
        conv1, scale1, shift1, conv2, scale2, shift2, *shortcut = parameters
        y = functional.relu(norm(functional.conv2d(x, conv1, None, stride, 1), scale1, shift1))
        y = norm(functional.conv2d(y, conv2, None, 1, 1), scale2, shift2)
        if shortcut:
            conv, scale, shift = shortcut
            x = norm(functional.conv2d(x, conv, None, stride), scale, shift)
        return functional.relu(y + x)

    def of_functions(x: Any) -> Any:
        x = functional.relu(norm(functional.conv2d(x, stem, None, 1, 1), scale, shift))
        for stride, parameters in blocks:
            x = block(x, stride, parameters)
        return functional.linear(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1), *head)

    return net, of_functions, given(torch, batch, 3, size, size)


def recurrent(torch: Any, small: bool) -> Net:
    """An LSTM over a sequence, and a linear layer on its last result."""
    nn, functional = torch.nn, torch.nn.functional
    inputs, hidden, steps, batch = (2, 3, 4, 2) if small else (32, 64, 16, 8)

    class Last(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(inputs, hidden)
            self.head = nn.Linear(hidden, 10)

        def forward(self, x: Any) -> Any:
            y, _ = self.lstm(x)
            return self.head(y[-1])

    net = Last()
    *weights, weight, bias = net.parameters()

    def of_functions(x: Any) -> Any:
        zeros = torch.zeros(1, x.shape[1], hidden)
        y, _, _ = torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, True, False, False)
        return functional.linear(y[-1], weight, bias)

    return net, of_functions, given(torch, steps, batch, inputs)


def block(torch: Any, small: bool) -> Net:
    """A block as GPT-2 has it: causal attention and a layer with ``gelu``, normalized in front, with residuals."""
    nn, functional = torch.nn, torch.nn.functional
    width, heads, length, batch = (4, 2, 3, 2) if small else (64, 4, 32, 4)

    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            q, k, v = self.qkv(x).view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4).unbind()
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(batch, length, width))

    net = residual_block(torch, width, Attention())
    scale1, shift1, w_in, b_in, w_out, b_out, scale2, shift2, w_up, b_up, w_down, b_down = net.parameters()
    parameters = w_in, b_in, w_out, b_out, w_up, b_up, w_down, b_down, scale1, shift1, scale2, shift2

    def of_functions(x: Any) -> Any:
        return block_torch(functional, heads, x, *parameters)

    return net, of_functions, given(torch, batch, length, width)


def graph(torch: Any, small: bool) -> Net:
    """Two graph convolutions: neighbours are added up by a sparse matrix, which has 100,000 edges."""
    nn, functional = torch.nn, torch.nn.functional
    nodes, edges, width = (6, 12, 2) if small else (10_000, 100_000, 32)
    ends = torch.tensor(np.random.default_rng(1).integers(0, nodes, (2, edges)))
    adjacency = torch.sparse_coo_tensor(ends, torch.ones(edges), (nodes, nodes)).coalesce()

    class Convolutions(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(width, width), nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            x = torch.relu(torch.sparse.mm(adjacency, self.first(x)))
            return torch.sparse.mm(adjacency, self.second(x))

    net = Convolutions()
    w1, b1, w2, b2 = net.parameters()

    def of_functions(x: Any) -> Any:
        x = functional.relu(adjacency @ functional.linear(x, w1, b1))
        return adjacency @ functional.linear(x, w2, b2)

    return net, of_functions, given(torch, nodes, width)


NETS = {"MLP": mlp, "residual net": residual, "LSTM": recurrent, "GPT block": block, "graph convolutions": graph}
"""The nets by name."""


def step(net: Any, x: Any, parameters: list[Any]) -> Run:
    """Forward and backward of a mean square; the gradients are dropped."""

    def run() -> None:
        y = net(x)
        (y * y).mean().backward()
        for parameter in parameters:
            parameter.grad = None

    return run


def steps(torch: Any, name: str, small: bool) -> dict[str, Run]:
    """A step of a net of modules, and of the same one of functions."""
    net, of_functions, x = NETS[name](torch, small)
    parameters = list(net.parameters())
    return {"modules": step(net, x, parameters), "functions": step(of_functions, x, parameters)}

"""Convolution nets: residual ones, a UNet, and a plain one that is made deeper and wider."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.whole.model import Arrays, Model, conv, labels, linear, norm, normal, statistics

MOMENTUM = ("SGD", {"lr": 0.05, "momentum": 0.9, "weight_decay": 5e-4})


def plan_of(widths: Sequence[int], blocks: int) -> list[tuple[int, int, int]]:
    """Channels in and out and the stride of each block: ``blocks`` in each width."""
    inputs = [widths[0], *(width for width in widths for _ in range(blocks))]
    return [(a, b, 1 + (number > 0 and number % blocks == 0)) for number, (a, b) in enumerate(pairwise(inputs))]


def pictures(rng: np.random.Generator, size: int, batch: int) -> Arrays:
    """Pictures and their labels."""
    return [normal(rng, batch, 3, size, size), labels(rng, 10, batch)]


def classified(torch: Any, net: Any, x: Any, targets: Any) -> Any:
    """Mean cross entropy."""
    return torch.nn.functional.cross_entropy(net(x), targets)


def resnet(widths: Sequence[int], blocks: int, size: int, batch: int) -> Model:
    """A ResNet for small pictures, with batch norm, and a convolution on the short way where the width grows: SGD."""
    plan = plan_of(widths, blocks)

    def net(torch: Any) -> Any:
        nn, functional = torch.nn, torch.nn.functional

        class Block(torch.nn.Module):
            def __init__(self, inputs: int, outputs: int, stride: int) -> None:
                super().__init__()
                self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
                self.bn1 = nn.BatchNorm2d(outputs)
                self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
                self.bn2 = nn.BatchNorm2d(outputs)
                self.shortcut = nn.Sequential()
                if stride > 1:
                    short = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
                    self.shortcut = nn.Sequential(short, nn.BatchNorm2d(outputs))

            def forward(self, x: Any) -> Any:
                y = functional.relu(self.bn1(self.conv1(x)))
                y = self.bn2(self.conv2(y))
                y += self.shortcut(x)
                return functional.relu(y)

        return nn.Sequential(
            nn.Conv2d(3, widths[0], 3, 1, 1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(inplace=True),
            *(Block(*sizes) for sizes in plan), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], 10),
        )  # fmt: skip

    def parameters(rng: np.random.Generator) -> Arrays:
        found = [*conv(rng, 3, widths[0]), *norm(widths[0])]
        for inputs, outputs, stride in plan:
            found += [*conv(rng, inputs, outputs), *norm(outputs), *conv(rng, outputs, outputs), *norm(outputs)]
            found += [*conv(rng, inputs, outputs, 1), *norm(outputs)] if stride > 1 else []
        return [*found, *linear(rng, widths[-1], 10)]

    def buffers() -> Arrays:
        inside = [width for _, width, stride in plan for width in (2 + (stride > 1)) * [width]]
        return statistics(widths[0], *inside)

    settings = {"strides": tuple(stride for _, _, stride in plan)}
    data = lambda rng: pictures(rng, size, batch)
    return Model(parameters, data, net, classified, "images_jax:resnet", settings, MOMENTUM, buffers)


def conv_net(depth: int, width: int, size: int, batch: int) -> Model:
    """Convolutions of one width with batch norm, one behind the other: SGD."""

    def net(torch: Any) -> Any:
        nn = torch.nn
        layers: list[Any] = []
        for number in range(depth):
            layers += [nn.Conv2d(width if number else 3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)]
            layers.append(nn.ReLU())
        return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))

    def parameters(rng: np.random.Generator) -> Arrays:
        found = [(*conv(rng, width if number else 3, width), *norm(width)) for number in range(depth)]
        return [*(one for layer in found for one in layer), *linear(rng, width, 10)]

    data = lambda rng: pictures(rng, size, batch)
    running = lambda: statistics(*depth * [width])
    return Model(parameters, data, net, classified, "images_jax:conv_net", {}, MOMENTUM, running)


def unet(widths: Sequence[int], groups: int, size: int, batch: int) -> Model:
    """A UNet as diffusion models have it, smaller: group norm and ``silu``; it says the noise in pictures. Adam."""
    down, up = list(pairwise(widths)), list(pairwise(widths[::-1]))

    def net(torch: Any) -> Any:
        nn, functional = torch.nn, torch.nn.functional

        class Double(torch.nn.Module):
            def __init__(self, inputs: int, outputs: int) -> None:
                super().__init__()
                self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
                self.norm1 = nn.GroupNorm(groups, outputs)
                self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
                self.norm2 = nn.GroupNorm(groups, outputs)

            def forward(self, x: Any) -> Any:
                x = functional.silu(self.norm1(self.conv1(x)))
                return functional.silu(self.norm2(self.conv2(x)))

        class UNet(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = Double(3, widths[0])
                self.down = nn.ModuleList([Double(a, b) for a, b in down])
                self.up = nn.ModuleList([Double(a + b, b) for a, b in up])
                self.last = nn.Conv2d(widths[0], 3, 1)

            def forward(self, x: Any) -> Any:
                kept = [self.first(x)]
                for layer in self.down:
                    kept.append(layer(functional.avg_pool2d(kept[-1], 2)))
                x = kept.pop()
                for layer in self.up:
                    x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
                    x = layer(torch.cat([x, kept.pop()], dim=1))
                return self.last(x)

        return UNet()

    def parameters(rng: np.random.Generator) -> Arrays:
        found: Arrays = []
        for inputs, outputs in [(3, widths[0]), *down, *((a + b, b) for a, b in up)]:
            found += [*conv(rng, inputs, outputs, bias=True), *norm(outputs)]
            found += [*conv(rng, outputs, outputs, bias=True), *norm(outputs)]
        return [*found, *conv(rng, widths[0], 3, 1, bias=True)]

    def loss(torch: Any, net: Any, x: Any, noise: Any) -> Any:
        return torch.nn.functional.mse_loss(net(x), noise)

    def data(rng: np.random.Generator) -> Arrays:
        return [normal(rng, batch, 3, size, size), normal(rng, batch, 3, size, size)]

    settings = {"levels": len(down), "groups": groups}
    return Model(parameters, data, net, loss, "images_jax:unet", settings, ("Adam", {"lr": 1e-3}))

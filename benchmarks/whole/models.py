"""The models that are measured, by name."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.whole.graphs import graph
from benchmarks.whole.images import resnet, unet
from benchmarks.whole.model import Model
from benchmarks.whole.ppo import ppo
from benchmarks.whole.sequences import gpt, lstm, vit
from benchmarks.whole.small import mlp, policy, scalars

MODELS: dict[str, Callable[[], Model]] = {
    "MLP 3072-512-512-10, batch 128, SGD": lambda: mlp((3072, 512, 512, 10), 128),
    "GPT, 4 layers, width 128, AdamW": lambda: gpt(4, 128, 4, 64, 8, 256),
    "GPT, 6 layers, width 512, AdamW": lambda: gpt(6, 512, 8, 128, 8, 256),
    "LSTM language model, 2 x 200, AdamW": lambda: lstm(2, 200, 35, 20, 2000),
    "ResNet of width 16, batch 32, SGD": lambda: resnet((16, 32, 64), 3, 32, 32),
    "ResNet-18 for 32 x 32, batch 16, SGD": lambda: resnet((64, 128, 256, 512), 2, 32, 16),
    "UNet with group norm, Adam": lambda: unet((32, 64, 128), 8, 32, 8),
    "vision transformer, 4 layers, width 128, AdamW": lambda: vit(4, 128, 4, 32, 4, 16),
    "graph network, 4,000 edges, Adam": lambda: graph(3, 1000, 4000, 64),
    "PPO with 2 x 64, Adam": lambda: ppo(64, 64, 8, 2, 4),
    "scalar network 2-16-16-1, 8 samples, SGD": lambda: scalars((2, 16, 16, 1), 8),
    "50 samples of a small policy, Adam": lambda: policy(4, 128, 2, 50),
}

SMALL: dict[str, Callable[[], Model]] = dict(
    zip(
        MODELS,
        [
            lambda: mlp((6, 5, 5, 3), 4),
            lambda: gpt(1, 8, 2, 4, 2, 11),
            lambda: gpt(2, 8, 4, 3, 2, 7),
            lambda: lstm(2, 4, 3, 2, 7),
            lambda: resnet((2, 4), 1, 8, 3),
            lambda: resnet((4,), 1, 4, 2),
            lambda: unet((2, 4), 2, 4, 2),
            lambda: vit(1, 8, 2, 8, 4, 2),
            lambda: graph(1, 6, 9, 4),
            lambda: ppo(4, 3, 2, 1, 2),
            lambda: scalars((2, 3, 1), 2),
            lambda: policy(3, 4, 2, 3),
        ],
        strict=True,
    )
)
"""The same, so small that they show what works and not how fast."""

"""Trajectories of three models on a mesh and on one device: at once, deferred, compiled. Run by ``test_sharded.py``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import tapegrad as torch
from tapegrad.distributed.device_mesh import DeviceMesh, init_device_mesh
from tapegrad.distributed.tensor import Replicate, Shard, distribute_module, distribute_tensor
from tapegrad.distributed.tensor.modules import distributed
from tapegrad.nn import functional as F

STEPS = 12
WAYS = ("at once", "deferred", "compiled")


class MLP(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(12, 32), torch.nn.Linear(32, 4)

    def forward(self, x: Any) -> Any:
        return self.down(torch.tanh(self.up(x)))


class ConvNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = torch.nn.Conv2d(2, 8, 3, padding=1), torch.nn.BatchNorm2d(8)
        self.head = torch.nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return self.head(torch.relu(self.norm(self.conv(x))).mean((2, 3)))


class Block(torch.nn.Module):
    """A block of a transformer as GPT has it, with an embedding before and a head behind."""

    def __init__(self, width: int = 16, words: int = 16) -> None:
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(words, width), torch.nn.Linear(width, words)
        self.norm, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.q, self.k, self.v = (torch.nn.Linear(width, width) for _ in range(3))
        self.out = torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        x = self.embed(x)
        y = self.norm(x)
        split = lambda z: z.unflatten(-1, (4, -1)).transpose(1, 2)
        y = F.scaled_dot_product_attention(split(self.q(y)), split(self.k(y)), split(self.v(y)), is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return self.head(x + self.down(F.gelu(self.up(self.second(x)))))


def data(model: torch.nn.Module) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    if isinstance(model, Block):
        words = torch.tensor(rng.integers(0, 16, (8, 9)))
        return words[:, :-1].contiguous(), words[:, 1:].contiguous()
    shape = (16, 12) if isinstance(model, MLP) else (16, 2, 6, 6)
    return torch.tensor(rng.standard_normal(shape).astype("f")), torch.tensor(rng.integers(0, 4, 16))


def loss_of(model: Any, x: Any, y: Any) -> Any:
    return F.cross_entropy(model(x).flatten(0, -2), y.flatten())


SPLIT = {"up.weight": 0, "up.bias": 0, "down.weight": 1, "q.weight": 0, "k.weight": 0, "v.weight": 0, "out.weight": 1}
"""Along which dimension the tensor-parallel layout splits a parameter; all others are on each device."""


def tensor_parallel(model: torch.nn.Module, mesh: DeviceMesh) -> torch.nn.Module:
    for name, p in list(model.named_parameters()):
        owner, _, last = name.rpartition(".")
        placements = [Replicate(), Shard(SPLIT[name]) if name in SPLIT else Replicate()]
        setattr(model.get_submodule(owner), last, distributed(p, mesh, placements))
    return distribute_module(model, mesh)


def fully_sharded(model: torch.nn.Module, mesh: DeviceMesh) -> torch.nn.Module:
    for name, p in list(model.named_parameters()):
        owner, _, last = name.rpartition(".")
        placements = [Shard(0) if p.shape[0] % mesh.size(0) == 0 else Replicate(), Replicate()]
        setattr(model.get_submodule(owner), last, distributed(p, mesh, placements))
    return distribute_module(model, mesh)


LAYOUTS: dict[str, Callable] = {"data": distribute_module, "tensor": tensor_parallel, "sharded": fully_sharded}


def trajectory(kind: type, way: str, layout: str | None, mesh: DeviceMesh | None) -> tuple[list[float], Any]:
    """The losses of some steps, and the model then."""
    torch.manual_seed(0)
    model = kind()
    x, y = data(model)
    if layout is not None:
        model = LAYOUTS[layout](model, mesh)
        over = [Shard(0)] * 2 if layout == "data" else [Shard(0), Replicate()]
        x, y = (distribute_tensor(given, mesh, over) for given in (x, y))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if way == "compiled" else step
    losses = []
    for _ in range(STEPS):
        if way == "deferred":
            with torch.deferred():
                losses.append(run().item())
        else:
            losses.append(run().item())
    return losses, model


def main(cases: list[str]) -> None:
    """Compare with one device, for cases such as ``MLP:sharded``."""
    mesh = init_device_mesh("cpu", (4, 2), mesh_dim_names=("data", "model"))
    for case in cases:
        name, _, layout = case.partition(":")
        alone, plain = trajectory(globals()[name], "at once", None, None)
        for way in WAYS:
            losses, model = trajectory(globals()[name], way, layout, mesh)
            worst = max(abs(a - b) for a, b in zip(alone, losses, strict=True))
            for (path, p), q in zip(model.named_parameters(), plain.parameters(), strict=True):
                assert p.grad.placements == p.placements, (path, p.grad.placements, p.placements)
                worst = max(worst, (p.detach().full_tensor() - q.detach()).abs().max().item())
            print(case, way, worst, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

"""A training is stopped half-way, kept in a file, and resumed from it as if nothing had happened."""

import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from training import options, train

given = options(steps=100)
torch.manual_seed(0)


class Training:
    """A net, its optimizer and its schedule, and all that has to be kept of them."""

    def __init__(self):
        self.net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 3))
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 10, gamma=0.8)
        self.step = given.compiled(self.take)

    def take(self, x, y):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.net(x), y)
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        return loss

    def save(self, path):
        parts = {name: getattr(self, name).state_dict() for name in ("net", "optimizer", "schedule")}
        torch.save(parts | {"random": torch.get_rng_state()}, path)

    def load(self, path):
        parts = torch.load(path)
        torch.set_rng_state(parts.pop("random"))
        for name, state in parts.items():
            getattr(self, name).load_state_dict(state)


x = torch.randn(64, 16)
y = (x @ torch.randn(16, 3)).argmax(1)


def steps():
    """All steps, with a new process, or what would be one, half-way."""
    training = Training()
    for _ in range(given.steps // 2):
        yield (training.step,)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "half-way.pt")
        training.save(path)
        training = Training()
        training.load(path)
    for _ in range(given.steps - given.steps // 2):
        yield (training.step,)


train(lambda step: step(x, y), steps(), given)

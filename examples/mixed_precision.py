"""A network computes in bfloat16 where that is good enough, and its gradients are scaled."""

import torch
import torch.nn.functional as F
from digits import batches, digits
from torch import nn
from training import options, train

given = options(steps=100)
torch.manual_seed(0)

net = nn.Sequential(
    nn.Flatten(), nn.Linear(256, 128), nn.LayerNorm(128), nn.GELU(), nn.Linear(128, 128), nn.LayerNorm(128), nn.GELU(),
    nn.Linear(128, 10),
)  # fmt: skip
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, fused=True)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=20)


@given.compiled
def step(images, labels):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.cross_entropy(net(images), labels)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss


train(step, batches(*digits(1024), size=64), given)
print(f"gradients are scaled by {scaler.get_scale()}")

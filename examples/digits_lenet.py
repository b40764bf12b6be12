"""LeNet learns to read digits."""

import torch
import torch.nn.functional as F
from digits import batches, digits
from torch import nn
from training import options, train

given = options(steps=200)
torch.manual_seed(0)

net = nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(64, 84), nn.ReLU(), nn.Linear(84, 10),
)  # fmt: skip
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


@given.compiled
def step(images, labels):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()
    return loss


train(step, batches(*digits(1024), size=64), given)

images, labels = digits(256)
with torch.no_grad():
    right = (net(images).argmax(1) == labels).float().mean()
print(f"{right:.1%} of new digits are read right")

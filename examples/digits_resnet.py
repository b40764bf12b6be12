"""A small residual network with batch normalization reads digits; its learning rate follows a cosine."""

import torch
import torch.nn.functional as F
from digits import batches, digits
from torch import nn
from training import options, train

given = options(steps=100)
torch.manual_seed(0)


class Block(nn.Module):
    """Two convolutions, around which the input passes."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
        self.shortcut = nn.Identity() if stride == 1 else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        inner = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(inner)) + self.shortcut(x))


net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(),
    Block(8, 8, 1), Block(8, 16, 2), Block(16, 32, 2),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
)  # fmt: skip
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, given.steps)


@given.compiled
def step(images, labels):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(images), labels, label_smoothing=0.1)
    loss.backward()
    optimizer.step()
    return loss


def scheduled_step(images, labels):
    loss = step(images, labels)
    schedule.step()
    return loss


train(scheduled_step, batches(*digits(1024), size=64), given)

net.eval()
images, labels = digits(256)
with torch.no_grad():
    right = (net(images).argmax(1) == labels).float().mean()
print(f"{right:.1%} of new digits are read right")

"""A graph convolutional net finds out to which group each of 200 nodes belongs, from the groups of a few."""

import torch
import torch.nn.functional as F
from torch import nn
from training import options, train

given = options(steps=100)
torch.manual_seed(0)

GROUPS, EACH, WIDTH = 4, 50, 32
groups = torch.arange(GROUPS).repeat_interleave(EACH)
alike = groups[:, None] == groups
edges = (torch.rand(alike.shape) < torch.where(alike, 0.15, 0.01)).triu(1).nonzero().T
source, target = torch.cat([edges, edges.flip(0), torch.arange(len(groups)).expand(2, -1)], 1)
degree = torch.zeros(len(groups)).index_add(0, source, torch.ones(len(source)))
weight = (degree[source] * degree[target]).rsqrt()
known = torch.rand(len(groups)) < 0.1
features = torch.randn(len(groups), 16) + 0.3 * torch.randn(GROUPS, 16)[groups]


class Convolution(nn.Module):
    """Each node gets the weighted sum of what its neighbours say."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        said = weight[:, None] * self.linear(x)[source]
        return torch.zeros(len(x), said.shape[1]).index_add(0, target, said)


class Net(nn.Module):
    """Two convolutions."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Convolution(16, WIDTH), Convolution(WIDTH, GROUPS)

    def forward(self, x):
        x = F.dropout(F.relu(self.first(x)), 0.5, self.training)
        return self.second(x)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=5e-4)


@given.compiled
def step():
    optimizer.zero_grad()
    loss = F.cross_entropy(net(features)[known], groups[known])
    loss.backward()
    optimizer.step()
    return loss


train(step, iter(tuple, None), given)
net.eval()
with torch.no_grad():
    right = (net(features).argmax(1) == groups)[~known].float().mean()
print(f"{right:.1%} of the other nodes are found right")

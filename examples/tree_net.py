"""A recursive net learns what expressions like ``(1 and (not 0))`` are worth; no two trees need be alike."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from training import options, train

given = options(steps=60)
torch.manual_seed(0)
random.seed(0)

WIDTH, BATCH = 24, 8


def tree(depth):
    """A random expression: 0 or 1, ("not", expression), or ("and" or "or", expression, expression)."""
    if depth == 0 or random.random() < 0.2:
        return random.randint(0, 1)
    if random.random() < 0.2:
        return "not", tree(depth - 1)
    return random.choice(["and", "or"]), tree(depth - 1), tree(depth - 1)


def worth(expression):
    """What an expression is worth, 0 or 1."""
    if isinstance(expression, int):
        return expression
    operator, *parts = expression
    values = [worth(part) for part in parts]
    return 1 - values[0] if operator == "not" else (min if operator == "and" else max)(values)


class TreeNet(nn.Module):
    """Each part of an expression becomes a vector, from those of its own parts."""

    def __init__(self):
        super().__init__()
        self.leaves = nn.Embedding(2, WIDTH)
        self.operators = nn.ModuleDict({
            "no": nn.Linear(WIDTH, WIDTH), "and": nn.Linear(2 * WIDTH, WIDTH), "or": nn.Linear(2 * WIDTH, WIDTH),
        })  # fmt: skip
        self.head = nn.Linear(WIDTH, 2)

    def vector(self, expression):
        if isinstance(expression, int):
            return self.leaves.weight[expression]
        operator, *parts = expression
        inner = torch.cat([self.vector(part) for part in parts])
        return self.operators["no" if operator == "not" else operator](inner).tanh()

    def forward(self, expressions):
        return self.head(torch.stack([self.vector(one) for one in expressions]))


net = TreeNet()
optimizer = torch.optim.Adagrad(net.parameters(), lr=0.1)


@given.compiled
def step(expressions, values):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(expressions), values)
    loss.backward()
    optimizer.step()
    return loss


def forests():
    """Batches of trees, which come again and again."""
    made = [[tree(4) for _ in range(BATCH)] for _ in range(4)]
    while True:
        for trees in made:
            yield trees, torch.tensor([worth(one) for one in trees])


train(step, forests(), given)

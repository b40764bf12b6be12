"""A recurrent net reads this repository's README word by word, and remembers from one piece to the next."""

import re
from collections import Counter

import torch
import torch.nn.functional as F
from text import read
from torch import nn
from training import options, train

given = options(steps=100)
torch.manual_seed(0)

ROWS, LENGTH, WORDS, WIDTH = 8, 16, 400, 64
words = re.findall(r"[a-z]+|[.,:;]", read().lower())
known = ["<other>", *(word for word, _ in Counter(words).most_common(WORDS - 1))]
place = {word: number for number, word in enumerate(known)}
data = torch.tensor([place.get(word, 0) for word in words])


class Reader(nn.Module):
    """Logits of the next word; what it remembers stays with it."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(len(known), WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=2, dropout=0.1)
        self.head = nn.Linear(WIDTH, len(known))
        self.hidden, self.cell = torch.zeros(2, ROWS, WIDTH), torch.zeros(2, ROWS, WIDTH)

    def forward(self, read):
        seen, (hidden, cell) = self.lstm(self.words(read), (self.hidden, self.cell))
        self.hidden, self.cell = hidden.detach(), cell.detach()
        return self.head(seen)


net = Reader()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


@given.compiled
def step(read, following):
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(net(read).flatten(0, 1), following.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()
    return loss


def pieces():
    """The text in so many rows, which are read side by side, piece by piece."""
    rows = data[: len(data) // ROWS * ROWS].view(ROWS, -1).T
    while True:
        for begin in range(0, len(rows) - LENGTH, LENGTH):
            yield rows[begin : begin + LENGTH], rows[begin + 1 : begin + LENGTH + 1]


train(step, pieces(), given)

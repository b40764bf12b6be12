"""A small GPT learns to write as this repository's README is written, letter by letter."""

import torch
import torch.nn.functional as F
from text import read
from torch import nn
from training import options, train

given = options(steps=200)
torch.manual_seed(0)

WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 64, 4, 2, 32, 16
text = read()
letters = sorted(set(text))
place = {letter: number for number, letter in enumerate(letters)}
data = torch.tensor([place[letter] for letter in text])


class Block(nn.Module):
    """Attention to what came before, and a layer for each letter by itself."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.norms[1](x))


class GPT(nn.Module):
    """Logits of the next letter, at each place."""

    def __init__(self):
        super().__init__()
        self.letters, self.places = nn.Embedding(len(letters), WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)], nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, len(letters), bias=False)
        self.head.weight = self.letters.weight
        self.apply(small)

    def forward(self, given):
        return self.head(self.blocks(self.letters(given) + self.places.weight[: given.shape[1]]))


def small(layer):
    if isinstance(layer, (nn.Linear, nn.Embedding)):
        nn.init.normal_(layer.weight, std=0.02)


net = GPT()
optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, betas=(0.9, 0.95))


@given.compiled
def step(inputs, targets):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(inputs).flatten(0, 1), targets.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    return loss


def batches():
    while True:
        places = torch.randint(len(data) - CONTEXT, (BATCH, 1)) + torch.arange(CONTEXT + 1)
        yield data[places[:, :-1]], data[places[:, 1:]]


@torch.no_grad()
def written(begin, count=60):
    """What the net writes after ``begin``, always the likeliest letter."""
    found = [place[letter] for letter in begin]
    for _ in range(count):
        found.append(int(net(torch.tensor([found[-CONTEXT:]]))[0, -1].argmax()))
    return "".join(letters[number] for number in found)


train(step, batches(), given)
print(repr(written("The ")))

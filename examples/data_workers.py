"""Two worker processes draw the digits that the main process learns from."""

import torch
import torch.nn.functional as F
from digits import draw
from torch import nn
from torch.utils.data import DataLoader, Dataset
from training import options, train


class Drawn(Dataset):
    """Digits, each of which is drawn when it is asked for, always the same way."""

    def __len__(self):
        return 512

    def __getitem__(self, place):
        torch.manual_seed(place)
        return draw(torch.tensor([place % 10]))[0], place % 10


def epochs(loader):
    while True:
        yield from loader


def main():
    given = options(steps=40)
    torch.manual_seed(0)
    loader = DataLoader(Drawn(), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(256, 10),
    )  # fmt: skip
    optimizer = torch.optim.NAdam(net.parameters(), lr=5e-3)

    @given.compiled
    def step(images, labels):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    train(step, epochs(loader), given)


if __name__ == "__main__":  # workers import this file
    main()

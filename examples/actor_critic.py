"""An actor and a critic learn to balance a pole on a cart, in an environment that is plain Python."""

import math
import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical
from training import options, train

given = options(steps=60)
torch.manual_seed(0)
random.seed(0)

MOVES, DISCOUNT = 32, 0.98


class CartPole:
    """A pole on a cart, which is pushed to the left or to the right 50 times a second."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.state = [random.uniform(-0.05, 0.05) for _ in range(4)]

    def push(self, right):
        """Move on; whether the pole still stands. If not, there is a new one."""
        x, speed, angle, turning = self.state
        cos, sin = math.cos(angle), math.sin(angle)
        pushed = ((10.0 if right else -10.0) + 0.05 * turning**2 * sin) / 1.1
        bending = (9.8 * sin - cos * pushed) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        speeding = pushed - 0.05 * bending * cos / 1.1
        self.state = [x + 0.02 * speed, speed + 0.02 * speeding, angle + 0.02 * turning, turning + 0.02 * bending]
        stands = abs(self.state[0]) < 2.4 and abs(self.state[2]) < 0.21
        if not stands:
            self.reset()
        return stands


class Player(nn.Module):
    """Logits of the two moves, and what is still to be won."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, state):
        inner = self.inner(state)
        return self.actor(inner), self.critic(inner).squeeze(-1)


pole, player = CartPole(), Player()
optimizer = torch.optim.Adam(player.parameters(), lr=0.01)


@torch.no_grad()
def play():
    """Some moves, with the states before them, and what was won from each of them on."""
    states, moves, stood = [], [], []
    for _ in range(MOVES):
        states.append(pole.state)
        logits, _ = player(torch.tensor(pole.state))
        moves.append(Categorical(logits=logits).sample().item())
        stood.append(pole.push(moves[-1]))
    won, total = [], player(torch.tensor(pole.state))[1].item()
    for stands in reversed(stood):
        total = 1.0 + DISCOUNT * total if stands else 0.0
        won.insert(0, total)
    return torch.tensor(states), torch.tensor(moves), torch.tensor(won)


@given.compiled
def learn(states, moves, won):
    optimizer.zero_grad()
    logits, expected = player(states)
    policy = Categorical(logits=logits)
    acting = -(policy.log_prob(moves) * (won - expected).detach()).mean()
    loss = acting + 0.5 * F.smooth_l1_loss(expected, won) - 0.01 * policy.entropy().mean()
    loss.backward()
    optimizer.step()
    return loss


train(lambda: learn(*play()), iter(tuple, None), given)

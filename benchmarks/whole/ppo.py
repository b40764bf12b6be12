"""Proximal policy optimization: pendulums are swung up by three torques; a step is a rollout and its minibatches."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.whole.model import Arrays, Model
from benchmarks.whole.small import layers

ACTIONS, OBSERVATIONS = 3, 3
GAMMA, LAMBDA, CLIP, VALUE, ENTROPY = 0.99, 0.95, 0.2, 0.5, 0.01
TICK, TORQUE, GRAVITY = 0.05, 2.0, 10.0


def ppo(hidden: int, steps: int, environments: int, epochs: int, minibatches: int) -> Model:
    """An actor and a critic with two layers each: Adam.

    Sampling takes random numbers that are data, so that all libraries act alike.
    """

    def net(torch: Any) -> Any:
        nn = torch.nn

        def mlp(outputs: int) -> Any:
            sizes = pairwise((OBSERVATIONS, hidden, hidden))
            inside = [layer for a, b in sizes for layer in (nn.Linear(a, b), nn.Tanh())]
            return nn.Sequential(*inside, nn.Linear(hidden, outputs))

        class ActorCritic(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.actor = mlp(ACTIONS)
                self.critic = mlp(1)

            def forward(self, x: Any) -> tuple[Any, Any]:
                return self.actor(x), self.critic(x).squeeze(-1)

        return ActorCritic()

    def parameters(rng: np.random.Generator) -> Arrays:
        inside = (OBSERVATIONS, hidden, hidden)
        return [*layers(rng, (*inside, ACTIONS)), *layers(rng, (*inside, 1))]

    def data(rng: np.random.Generator) -> Arrays:
        start = rng.uniform(-1, 1, (environments, 2)).astype("float32")
        orders = [rng.permutation(steps * environments).reshape(minibatches, -1) for _ in range(epochs)]
        return [start, rng.gumbel(size=(steps, environments, ACTIONS)).astype("float32"), np.concatenate(orders)]

    adam = ("Adam", {"lr": 3e-4})
    return Model(
        parameters, data, net, surrogate, "ppo_jax:surrogate", optimizer=adam, steps=rollout_and_update,
        jax_steps="ppo_jax:rollout_and_update",
    )  # fmt: skip


def surrogate(torch: Any, net: Any, seen: Any, actions: Any, before: Any, advantages: Any, returns: Any) -> Any:
    """The clipped objective, with the critic's loss and the entropy."""
    logits, values = net(seen)
    log_probs = torch.log_softmax(logits, dim=-1)
    chosen = log_probs.gather(1, actions.unsqueeze(1)).squeeze(1)
    ratio = (chosen - before).exp()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    clipped = torch.clamp(ratio, 1 - CLIP, 1 + CLIP)
    gain = torch.min(ratio * advantages, clipped * advantages).mean()
    entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
    return VALUE * ((values - returns) ** 2).mean() - gain - ENTROPY * entropy


def rollout_and_update(torch: Any, net: Any, one: Callable[..., Any]) -> Callable[..., Any]:
    """A step: act, estimate advantages, and learn from minibatches; the last one's loss."""

    def step(start: Any, noise: Any, orders: Any) -> Any:
        with torch.no_grad():
            batch = rollout(torch, net, start, noise)
        for order in orders.unbind():
            loss = one(*(whole[order] for whole in batch))
        return loss

    return step


def rollout(torch: Any, net: Any, state: Any, noise: Any) -> list:
    """Observations, actions, their log probabilities, advantages and returns, of all pendulums and times."""
    kept, rewards, values = [], [], []
    for gumbel in noise.unbind():
        seen = observed(torch, state)
        logits, value = net(seen)
        action = (logits + gumbel).argmax(-1)
        log_prob = torch.log_softmax(logits, dim=-1).gather(1, action.unsqueeze(1)).squeeze(1)
        state, reward = swung(torch, state, action)
        kept.append((seen, action, log_prob))
        rewards.append(reward)
        values.append(value)
    _, last = net(observed(torch, state))
    advantages = estimated(rewards, [*values, last])
    returns = [advantage + value for advantage, value in zip(advantages, values, strict=True)]
    return [torch.cat(list(one)) for one in (*zip(*kept, strict=True), advantages, returns)]


def observed(torch: Any, state: Any) -> Any:
    """Cosine and sine of the angle, and the speed."""
    angle, speed = state.unbind(1)
    return torch.stack([angle.cos(), angle.sin(), speed], dim=1)


def swung(torch: Any, state: Any, action: Any) -> tuple[Any, Any]:
    """The state one tick later, and the reward."""
    angle, speed = state.unbind(1)
    reward = angle.cos() - 0.1 * speed**2
    speed = (speed + TICK * (1.5 * GRAVITY * angle.sin() + TORQUE * (action - 1))).clamp(-8, 8)
    return torch.stack([angle + TICK * speed, speed], dim=1), reward


def estimated(rewards: list, values: list) -> list:
    """Generalized advantage estimation."""
    advantage, found = 0.0, []
    for reward, (now, later) in zip(rewards[::-1], list(pairwise(values))[::-1], strict=True):
        advantage = reward + GAMMA * later - now + GAMMA * LAMBDA * advantage
        found.append(advantage)
    return found[::-1]

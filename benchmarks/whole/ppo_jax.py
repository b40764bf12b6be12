"""Proximal policy optimization in JAX: the rollout, the advantages and the minibatches are loops of XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.whole.layers_jax import linear
from benchmarks.whole.ppo import CLIP, ENTROPY, GAMMA, GRAVITY, LAMBDA, TICK, TORQUE, VALUE


def net(parameters: list, x: Any) -> tuple[Any, Any]:
    """Logits and values."""
    found = []
    for w1, b1, w2, b2, w3, b3 in (parameters[:6], parameters[6:]):
        y = jnp.tanh(linear(jnp.tanh(linear(x, w1, b1)), w2, b2))
        found.append(linear(y, w3, b3))
    logits, values = found
    return logits, values[..., 0]


def surrogate(
    parameters: list, buffers: list, seen: Any, actions: Any, before: Any, advantages: Any, returns: Any
) -> tuple[Any, list]:
    """The clipped objective, with the critic's loss and the entropy."""
    logits, values = net(parameters, seen)
    log_probs = jax.nn.log_softmax(logits)
    ratio = jnp.exp(jnp.take_along_axis(log_probs, actions[:, None], axis=1)[:, 0] - before)
    advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8)
    gain = jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantages).mean()
    entropy = -(jnp.exp(log_probs) * log_probs).sum(-1).mean()
    return VALUE * ((values - returns) ** 2).mean() - gain - ENTROPY * entropy, buffers


def rollout_and_update(one: Callable, state: tuple, start: Any, noise: Any, orders: Any) -> tuple[tuple, Any]:
    """A step: act, estimate advantages, and learn from minibatches; the last one's loss."""
    batch = rollout(state[0], start, noise)

    def minibatch(state: tuple, order: Any) -> tuple[tuple, Any]:
        return one(state, *(whole[order] for whole in batch))

    state, losses = jax.lax.scan(minibatch, state, orders)
    return state, losses[-1]


def rollout(parameters: list, start: Any, noise: Any) -> list:
    """Observations, actions, their log probabilities, advantages and returns."""

    def act(state: Any, gumbel: Any) -> tuple[Any, tuple]:
        seen = observed(state)
        logits, value = net(parameters, seen)
        action = jnp.argmax(logits + gumbel, -1)
        log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], axis=1)[:, 0]
        state, reward = swung(state, action)
        return state, (seen, action, log_prob, reward, value)

    state, (seen, actions, log_probs, rewards, values) = jax.lax.scan(act, start, noise)
    later = jnp.concatenate([values[1:], net(parameters, observed(state))[1][None]])
    advantages = estimated(rewards, values, later)
    found = (seen, actions, log_probs, advantages, advantages + values)
    return [one.reshape(-1, *one.shape[2:]) for one in found]


def observed(state: Any) -> Any:
    """Cosine and sine of the angle, and the speed."""
    angle, speed = state.T
    return jnp.stack([jnp.cos(angle), jnp.sin(angle), speed], 1)


def swung(state: Any, action: Any) -> tuple[Any, Any]:
    """The state one tick later, and the reward."""
    angle, speed = state.T
    reward = jnp.cos(angle) - 0.1 * speed**2
    speed = jnp.clip(speed + TICK * (1.5 * GRAVITY * jnp.sin(angle) + TORQUE * (action - 1)), -8, 8)
    return jnp.stack([angle + TICK * speed, speed], 1), reward


def estimated(rewards: Any, values: Any, later: Any) -> Any:
    """Generalized advantage estimation."""

    def back(advantage: Any, delta: Any) -> tuple[Any, Any]:
        advantage = delta + GAMMA * LAMBDA * advantage
        return advantage, advantage

    deltas = rewards + GAMMA * later - values
    return jax.lax.scan(back, jnp.zeros_like(deltas[0]), deltas, reverse=True)[1]

"""Reinforcement learning: policies that are sampled, buffers that are drawn from, targets that follow."""

import random
from collections import deque, namedtuple
from types import SimpleNamespace

import numpy as np

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import mlp, program, regression

F = nn.functional
Categorical = torch.distributions.Categorical
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class Walk:
    """An environment: a point is pushed, and rewarded where it stays near zero."""

    def __init__(self):
        self.rng, self.state, self.t = np.random.RandomState(0), np.zeros(3, np.float32), 0

    def reset(self):
        self.state, self.t = self.rng.randn(3).astype(np.float32), 0
        return self.state

    def step(self, action):
        self.t += 1
        self.state = (0.9 * self.state + 0.1 * (action - 0.5)).astype(np.float32)
        return self.state, -float(np.abs(self.state).sum()), self.t >= 3, {}


@program("REINFORCE of PyTorch's examples: log_probs kept on the policy", calls=6, rtol=1e-4)
def reinforce(compile):
    policy, env = mlp(3, 5, 2), Walk()
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    episode = SimpleNamespace(log_probs=[], rewards=[])

    def select_action(state):
        probs = F.softmax(policy(torch.from_numpy(state).float().unsqueeze(0)), dim=1)
        m = Categorical(probs)
        action = m.sample()
        episode.log_probs.append(m.log_prob(action))
        return action.item()

    def finish_episode():
        R, returns, losses = 0, deque(), []
        for r in episode.rewards[::-1]:
            R = r + 0.99 * R
            returns.appendleft(R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        for log_prob, R in zip(episode.log_probs, returns, strict=True):
            losses.append(-log_prob * R)
        opt.zero_grad()
        loss = torch.cat(losses).sum()
        loss.backward()
        opt.step()
        del episode.rewards[:]
        del episode.log_probs[:]
        return loss.detach()

    @compile
    def run():
        state, done = env.reset(), False
        while not done:
            state, reward, done, _ = env.step(select_action(state))
            episode.rewards.append(reward)
        return finish_episode()

    return lambda n: run(), [policy, env, episode.rewards]


@program("a policy's compiled update, with the episode outside", rtol=1e-4)
def policy_update(compile):
    policy = mlp(3, 5, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)

    @compile
    def update(states, actions, returns):
        loss = -(Categorical(logits=policy(states)).log_prob(actions) * returns).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    def call(n):
        states, returns = regression(n, rows=4 + n % 2)
        with torch.no_grad():
            actions = Categorical(logits=policy(states)).sample()
        return update(states, actions, returns.squeeze(1))

    return call, [policy]


class ReplayMemory:
    """The tutorial's."""

    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


@program("DQN of the tutorial: memory, epsilon, a soft update of the target", calls=10, rtol=1e-4)
def dqn(compile):
    policy, target, env, memory = mlp(3, 5, 2), mlp(3, 5, 2), Walk(), ReplayMemory(20)
    target.load_state_dict(policy.state_dict())
    opt = torch.optim.AdamW(policy.parameters(), lr=0.01, amsgrad=True)
    loop = SimpleNamespace(steps_done=0, state=torch.tensor(env.reset()).unsqueeze(0))

    def select_action(state):
        epsilon = 0.05 + 0.85 * 0.9**loop.steps_done
        loop.steps_done += 1
        if random.random() > epsilon:
            with torch.no_grad():
                return policy(state).max(1).indices.view(1, 1)
        return torch.tensor([[random.randrange(2)]], dtype=torch.long)

    def optimize_model():
        if len(memory) < 4:
            return
        batch = Transition(*zip(*memory.sample(4), strict=True))
        mask = torch.tensor([s is not None for s in batch.next_state], dtype=torch.bool)
        states, actions, rewards = torch.cat(batch.state), torch.cat(batch.action), torch.cat(batch.reward)
        values = policy(states).gather(1, actions)
        following = torch.zeros(4)
        with torch.no_grad():
            following[mask] = target(torch.cat([s for s in batch.next_state if s is not None])).max(1).values
        loss = nn.SmoothL1Loss()(values, (following * 0.9 + rewards).unsqueeze(1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        opt.step()

    @compile
    def step():
        action = select_action(loop.state)
        observation, reward, done, _ = env.step(action.item())
        after = None if done else torch.tensor(observation).unsqueeze(0)
        memory.push(loop.state, action, after, torch.tensor([reward]))
        loop.state = torch.tensor(env.reset()).unsqueeze(0) if done else after
        optimize_model()
        merged, mine = target.state_dict(), policy.state_dict()
        for key in mine:
            merged[key] = mine[key] * 0.05 + merged[key] * 0.95
        target.load_state_dict(merged)

    return lambda n: step(), [policy, target, loop, len(memory)]


@program("a compiled TD update on batches of a NumPy buffer", rtol=1e-4)
def td_update(compile):
    q, target = mlp(3, 5, 2), mlp(3, 5, 2)
    opt = torch.optim.Adam(q.parameters(), lr=0.01)
    rng = np.random.RandomState(1)
    buffer = {"s": rng.randn(20, 3).astype(np.float32), "a": rng.randint(2, size=20), "r": rng.randn(20)}

    @compile
    def update(s, a, r):
        with torch.no_grad():
            y = r + 0.9 * target(s + 0.1).max(1).values
        loss = F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    def call(n):
        index = rng.randint(20, size=4)
        batch = {key: torch.as_tensor(value[index]) for key, value in buffer.items()}
        found = update(batch["s"], batch["a"], batch["r"].float())
        if n % 4 == 3:
            target.load_state_dict(q.state_dict())
        return found

    return call, [q, target]


@program("PPO: epochs over shuffled minibatches, clipped ratios, an early end by the KL", calls=5, rtol=1e-4)
def ppo(compile):
    actor, critic = mlp(3, 5, 2), mlp(3, 5, 1)
    opt = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01, eps=1e-5)

    @compile
    def update(obs, actions, old, advantages, returns):
        indices = np.arange(len(obs))
        fractions = []
        for _ in range(2):
            np.random.shuffle(indices)
            for start in range(0, len(obs), 2):
                mb = indices[start : start + 2]
                dist = Categorical(logits=actor(obs[mb]))
                ratio = (dist.log_prob(actions[mb]) - old[mb]).exp()
                with torch.no_grad():
                    kl = ((ratio - 1) - ratio.log()).mean()
                    fractions.append(((ratio - 1.0).abs() > 0.2).float().mean().item())
                a = advantages[mb]
                policy_loss = torch.max(-a * ratio, -a * ratio.clamp(0.8, 1.2)).mean()
                value_loss = 0.5 * ((critic(obs[mb]).view(-1) - returns[mb]) ** 2).mean()
                loss = policy_loss - 0.01 * dist.entropy().mean() + 0.5 * value_loss
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
                opt.step()
            if kl > 0.5:
                break
        return fractions

    def call(n):
        obs, advantages = regression(n)
        with torch.no_grad():
            dist = Categorical(logits=actor(obs))
            actions = dist.sample()
            old = dist.log_prob(actions)
        return update(obs, actions, old, advantages.view(-1), advantages.view(-1) + 1)

    return call, [actor, critic]


@program("actor and critic, n steps unrolled with advantages", rtol=1e-4)
def a2c(compile):
    net, actor, critic = nn.Linear(3, 5), nn.Linear(5, 2), nn.Linear(5, 1)
    params = [*net.parameters(), *actor.parameters(), *critic.parameters()]
    opt = torch.optim.RMSprop(params, lr=0.01)

    @compile
    def update(states, rewards):
        log_probs, values, entropies = [], [], []
        for s in states:
            h = torch.tanh(net(s))
            dist = Categorical(logits=actor(h))
            a = dist.sample()
            log_probs.append(dist.log_prob(a))
            entropies.append(dist.entropy())
            values.append(critic(h).squeeze(-1))
        R, loss = torch.zeros(()), 0
        for r, v, lp, e in zip(rewards.flip(0), values[::-1], log_probs[::-1], entropies[::-1], strict=True):
            R = r + 0.9 * R
            loss = loss - lp * (R - v).detach() + 0.5 * (R - v) ** 2 - 0.01 * e
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: update(regression(n)[0], regression(n)[1].view(-1)), params


@program("soft actor-critic: two critics, a temperature that is learnt, polyak", calls=5, rtol=1e-4)
def sac(compile):
    actor, q1, q2, target = mlp(3, 5, 2), mlp(4, 5, 1), mlp(4, 5, 1), mlp(4, 5, 1)
    log_alpha = torch.zeros(1, requires_grad=True)
    opt_a, opt_q = (torch.optim.Adam(p, lr=0.01) for p in (actor.parameters(), [*q1.parameters(), *q2.parameters()]))
    opt_t = torch.optim.Adam([log_alpha], lr=0.01)

    def act(s):
        mu, log_std = actor(s).chunk(2, -1)
        dist = torch.distributions.Normal(mu, log_std.clamp(-3, 1).exp())
        u = dist.rsample()
        return torch.tanh(u), (dist.log_prob(u) - torch.log(1 - torch.tanh(u) ** 2 + 1e-6)).sum(-1)

    @compile
    def update(s, r):
        with torch.no_grad():
            a2, lp2 = act(s)
            y = r + 0.9 * (target(torch.cat([s, a2], 1)).squeeze(1) - log_alpha.exp() * lp2)
        sa = torch.cat([s, s[:, :1].tanh()], 1)
        loss_q = F.mse_loss(q1(sa).squeeze(1), y) + F.mse_loss(q2(sa).squeeze(1), y)
        opt_q.zero_grad()
        loss_q.backward()
        opt_q.step()
        for p in q1.parameters():
            p.requires_grad = False
        a, lp = act(s)
        sa = torch.cat([s, a], 1)
        loss_a = (log_alpha.exp().detach() * lp - torch.min(q1(sa), q2(sa)).squeeze(1)).mean()
        opt_a.zero_grad()
        loss_a.backward()
        opt_a.step()
        for p in q1.parameters():
            p.requires_grad = True
        loss_t = -(log_alpha * (lp + 1).detach()).mean()
        opt_t.zero_grad()
        loss_t.backward()
        opt_t.step()
        with torch.no_grad():
            for p, t in zip(q1.parameters(), target.parameters(), strict=True):
                t.data.mul_(0.95)
                t.data.add_(0.05 * p.data)

    return lambda n: update(regression(n)[0], regression(n)[1].view(-1)), [actor, q1, target, log_alpha]


@program("a bandit whose counts and values are Python's", calls=12)
def bandit(compile):
    class Bandit:
        def __init__(self):
            self.counts, self.values = [0] * 3, [0.0] * 3

        def choose(self):
            return self.values.index(max(self.values)) if random.random() > 0.3 else random.randrange(3)

        def update(self, arm, reward):
            self.counts[arm] += 1
            self.values[arm] += (reward - self.values[arm]) / self.counts[arm]

    bandit, means = Bandit(), torch.tensor([0.1, 0.5, 0.9])

    @compile
    def play():
        arm = bandit.choose()
        reward = (means[arm] + 0.1 * torch.randn(())).item()
        bandit.update(arm, reward)
        return arm

    return lambda n: play(), bandit

"""Whole programs, as people write them: models with handwritten layers and optimizers, numerics, bookkeeping.

Each is a function of the module and of a source of numbers, and tells what it saw: losses, gradients, texts.
"""

import copy
import io
import math
import pickle
from contextlib import redirect_stdout

import jax
import numpy as np
import pytest
from harness import Programs, agree, attempt, recorded_warnings

import tapegrad
from tapegrad._src.tensor.tensor import describe, value_of, wrap

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def normal(torch, rng, *shape, scale=0.5, dtype=None):
    return torch.tensor(rng.normal(size=shape) * scale, dtype=dtype or torch.float32)


def weights(torch, rng, *shapes, dtype=None):
    """Leaves that require grad, one for each shape."""
    return [normal(torch, rng, *shape, dtype=dtype).requires_grad_() for shape in shapes]


def grads(tensors):
    return [x.grad for x in tensors]


# -- supervised learning -----------------------------------------------------------------------------------------------


@program
def linear_regression(torch, rng):
    x = normal(torch, rng, 8, 3)
    y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3
    w = torch.zeros(3, requires_grad=True)
    b = torch.zeros((), requires_grad=True)
    losses = []
    for _ in range(4):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= 0.1 * w.grad
            b -= 0.1 * b.grad
        w.grad.zero_()
        b.grad = None
    return losses, w, b, w._version, w.is_leaf, f"{loss:.4f}", w.grad, b.grad


@program
def logistic_regression_with_momentum(torch, rng):
    x, y = normal(torch, rng, 8, 3), torch.from_numpy((rng.random(8) > 0.5).astype("float32"))
    parameters = [torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)]
    velocities = [torch.zeros_like(p) for p in parameters]
    for _ in range(3):
        logits = x @ parameters[0] + parameters[1]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
        found = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for p, grad, velocity in zip(parameters, found, velocities, strict=True):
                velocity.mul_(0.9).add_(grad)
                p.sub_(velocity, alpha=0.5)
    accuracy = ((logits.sigmoid() > 0.5).float() == y).float().mean()
    return loss, logits, accuracy, parameters, velocities


@program
def mlp_with_minibatches_clipping_and_adam(torch, rng):
    functional = torch.nn.functional
    x, y = normal(torch, rng, 12, 4), torch.tensor(rng.integers(0, 3, 12))
    parameters = weights(torch, rng, (4, 5), (5,), (5, 3), (3,))
    first, second = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    order, losses = torch.from_numpy(rng.permutation(12)), []
    for step, start in enumerate(range(0, 12, 4), 1):
        batch = order[start : start + 4]
        hidden = torch.relu(x[batch] @ parameters[0] + parameters[1])
        loss = functional.cross_entropy(hidden @ parameters[2] + parameters[3], y[batch], label_smoothing=0.1)
        for p in parameters:
            p.grad = None
        loss.backward()
        losses.append(loss)
        with torch.no_grad():
            norm = torch.sqrt(sum((p.grad**2).sum() for p in parameters))
            for p, m, v in zip(parameters, first, second, strict=True):
                p.grad.mul_(torch.clamp(0.5 / (norm + 1e-6), max=1.0))
                m.mul_(0.9).add_(p.grad, alpha=0.1)
                v.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                p.addcdiv_(m / (1 - 0.9**step), (v / (1 - 0.999**step)).sqrt().add_(1e-3), value=-0.01)
    return losses, norm, parameters, first, second


@program
def convolutional_classifier(torch, rng):
    functional = torch.nn.functional
    x = normal(torch, rng, 2, 1, 8, 8)
    kernel, shift, head = parameters = weights(torch, rng, (3, 1, 3, 3), (3,), (48, 2))
    mean, variance = torch.zeros(3), torch.ones(3)
    for _ in range(2):
        h = functional.conv2d(x, kernel, padding=1)
        h = functional.batch_norm(h, mean, variance, None, shift, training=True)
        h = functional.max_pool2d(functional.relu(h), 2)
        scores = functional.log_softmax(h.flatten(1) @ head, dim=-1)
        loss = functional.nll_loss(scores, torch.tensor([0, 1]))
        loss.backward()
    h = functional.batch_norm(functional.conv2d(x, kernel, padding=1), mean, variance, None, shift)
    return loss, grads(parameters), mean, variance, h


@program
def residual_network_in_one_dimension(torch, rng):
    functional = torch.nn.functional
    x, *kernels, gain = leaves = weights(torch, rng, (2, 3, 10), (4, 3, 3), (4, 4, 3), (4, 3, 1), (4,))
    h = functional.silu(functional.group_norm(functional.conv1d(x, kernels[0], padding="same"), 2, gain))
    h = functional.conv1d(h, kernels[1], stride=2, padding=1) + functional.conv1d(x, kernels[2], stride=2)
    pooled = functional.adaptive_avg_pool1d(h, 1).squeeze(-1)
    up = functional.interpolate(h, scale_factor=2, mode="nearest")
    (pooled.pow(2).sum() + functional.pad(up, (1, 2), mode="reflect").square().mean()).backward()
    return pooled, up, grads(leaves)


@program
def text_classifier_with_embeddings(torch, rng):
    functional = torch.nn.functional
    table, head = leaves = weights(torch, rng, (10, 4), (2, 4))
    tokens = torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0], [9, 9, 9, 9]])
    embedded = functional.embedding(tokens, table, padding_idx=0)
    mask = (tokens != 0).unsqueeze(-1)
    pooled = (embedded * mask).sum(1) / mask.sum(1).clamp(min=1)
    loss = functional.cross_entropy(functional.linear(pooled, head), torch.tensor([0, 1, 1]))
    loss.backward()
    return embedded, pooled, loss, grads(leaves), table.grad[0].abs().sum().item()


@program
def language_model_with_tied_weights(torch, rng):
    functional = torch.nn.functional
    (table,) = weights(torch, rng, (6, 3))
    tokens = torch.tensor([[0, 1, 2], [3, 4, 5]])
    logits = functional.linear(functional.embedding(tokens[:, :-1], table).tanh(), table)
    loss = functional.cross_entropy(logits.reshape(-1, 6), tokens[:, 1:].reshape(-1))
    loss.backward()
    again = functional.cross_entropy((table[tokens[:, :-1]].tanh() @ table.T).transpose(1, 2), tokens[:, 1:])
    return loss, again, table.grad, torch.autograd.grad(again, table)


@program
def matrix_factorisation(torch, rng):
    users, items = parameters = weights(torch, rng, (4, 3), (5, 3))
    i, j = torch.tensor([[0, 1, 2, 3, 3, 0], [4, 3, 2, 1, 0, 4]])
    ratings, losses = normal(torch, rng, 6), []
    for _ in range(2):
        scores = users @ items.T
        predicted = (users[i] * items[j]).sum(-1)
        ranked = torch.take_along_dim(scores, torch.argsort(scores, dim=1), dim=1)
        picked = scores.gather(1, j[:4].view(-1, 1)).squeeze(1)
        loss = ((predicted - ratings) ** 2).mean() + 0.01 * (users.norm() ** 2 + picked.sum() + ranked[:, 0].sum())
        users.grad = items.grad = None
        loss.backward()
        losses.append(loss)
        with torch.no_grad():
            for p in parameters:
                p -= 0.05 * p.grad
    return losses, parameters, ranked, picked


# -- sequences and attention -------------------------------------------------------------------------------------------


@program
def lstm(torch, rng):
    leaves = weights(torch, rng, (3, 16), (4, 16), (16,))
    h = torch.zeros(2, 4)
    c = h.clone()
    states = []
    for x in normal(torch, rng, 5, 2, 3):
        i, f, g, o = (x @ leaves[0] + h @ leaves[1] + leaves[2]).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * c.tanh()
        states.append(h)
    out = torch.stack(states)
    ((out[-1] ** 2).sum() + out.mean()).backward()
    return out, c, grads(leaves)


@program
def gru_on_sequences_of_different_lengths(torch, rng):
    functional = torch.nn.functional
    w, u, b = leaves = weights(torch, rng, (9, 3), (9, 3), (9,))
    x, h = normal(torch, rng, 2, 4, 3), torch.zeros(2, 3)
    alive = torch.arange(4)[None, :] < torch.tensor([4, 2])[:, None]
    for t in range(4):
        of_input, of_state = functional.linear(x[:, t], w, b), functional.linear(h, u)
        reset, update, new = of_input.split(3, 1)
        reset_h, update_h, new_h = torch.tensor_split(of_state, 3, dim=1)
        update = (update + update_h).sigmoid()
        new = torch.tanh(new + (reset + reset_h).sigmoid() * new_h)
        h = torch.where(alive[:, t : t + 1], (1 - update) * new + update * h, h)
    return h, alive, torch.autograd.grad(h.sum(), leaves)


@program
def transformer_block(torch, rng):
    functional = torch.nn.functional
    batch, length, heads, width = 2, 4, 2, 6
    x, qkv, out, up, down, gain = leaves = weights(torch, rng, (2, 4, 6), (18, 6), (6, 6), (8, 6), (6, 8), (6,))

    def block(by_hand):
        h = functional.linear(functional.layer_norm(x, (width,), gain), qkv)
        q, k, v = h.view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
        if by_hand:
            scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
            future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
            h = functional.softmax(scores.masked_fill(future, float("-inf")), dim=-1) @ v
        else:
            h = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = x + functional.linear(h.transpose(1, 2).contiguous().view(batch, length, width), out)
        return h + functional.linear(functional.gelu(functional.linear(functional.layer_norm(h, [width]), up)), down)

    ours, builtin = block(True), block(False)
    ours.pow(2).mean().backward()
    return ours, builtin, torch.allclose(ours, builtin, atol=1e-5), grads(leaves)


@program
def attention_written_with_einsum(torch, rng):
    q, k, v, w = leaves = weights(torch, rng, (2, 3, 2, 4), (2, 5, 2, 4), (2, 5, 2, 4), (2, 4, 3))
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
    y = torch.einsum("...hd,hde->...e", torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v), w)
    bilinear = torch.einsum("bi,ij,bj->b", q[:, 0, 0], k[0, :4, 0], v[:, 0, 1])
    return y, bilinear, torch.autograd.grad(y.square().sum() + bilinear.sum(), leaves)


@program
def rotary_positions_real_and_complex(torch, rng):
    x = torch.arange(24.0).view(1, 4, 6).requires_grad_()
    angles = torch.outer(torch.arange(4).float(), 1.0 / 10000 ** (torch.arange(0, 6, 2).float() / 6))
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = angles.cos(), angles.sin()
    y = torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)
    y.pow(2).sum().backward()
    turned = torch.view_as_complex(x.detach().reshape(1, 4, 3, 2)) * torch.polar(torch.ones_like(angles), angles)
    return y, x.grad, turned, torch.allclose(torch.view_as_real(turned).flatten(-2), y)


@program
def hidden_markov_model(torch, rng):
    transitions, emissions = leaves = weights(torch, rng, (3, 3), (3, 4))
    step, emit = transitions.log_softmax(1), emissions.log_softmax(1)
    forward = emit[:, 0] - math.log(3)
    best, back = emit[:, 0], []
    for seen in (3, 1, 2):
        forward = torch.logsumexp(forward[:, None] + step, dim=0) + emit[:, seen]
        best, source = (best[:, None] + step).max(dim=0)
        best = best + emit[:, seen]
        back.append(source)
    path = [best.argmax().item()]
    for source in reversed(back):
        path.append(source[path[-1]].item())
    forward.logsumexp(0).backward()
    return forward, best, path, grads(leaves)


# -- generative models, games, reinforcement ---------------------------------------------------------------------------


@program
def variational_autoencoder(torch, rng):
    encoder, decoder = leaves = weights(torch, rng, (6, 4), (2, 6))
    x, noise = torch.tensor(rng.random((5, 6)), dtype=torch.float32), normal(torch, rng, 5, 2, scale=1)
    mean, log_variance = (x @ encoder).chunk(2, -1)
    z = mean + torch.exp(0.5 * log_variance) * noise
    mismatched = torch.nn.functional.binary_cross_entropy(torch.sigmoid(z @ decoder), x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    (mismatched + divergence).backward()
    return z, mismatched, divergence, grads(leaves)


@program
def two_players_with_detach(torch, rng):
    functional = torch.nn.functional
    generator, critic = players = weights(torch, rng, (2, 3), (3, 1))
    losses = []
    for _ in range(2):
        fake = torch.tanh(normal(torch, rng, 4, 2) @ generator)
        of_critic = functional.softplus(-(normal(torch, rng, 4, 3) @ critic)).mean()
        of_critic = of_critic + functional.softplus(fake.detach() @ critic).mean()
        critic.grad = None
        of_critic.backward()
        critic.data -= 0.1 * critic.grad
        of_generator = functional.softplus(-(fake @ critic)).mean()
        generator.grad = None
        of_generator.backward()
        with torch.no_grad():
            generator.add_(generator.grad, alpha=-0.1)
        losses.append((of_critic.item(), of_generator.item()))
    return losses, players, grads(players), [p._version for p in players]


@program
def gradient_penalty(torch, rng):
    """The last layer's bias has no part in the penalty; those of hidden layers do, with zeros."""
    parameters = w, b, v, c = weights(torch, rng, (3, 4), (4,), (4, 1), (1,))
    real, fake, mix = normal(torch, rng, 5, 3), normal(torch, rng, 5, 3), torch.tensor(rng.random((5, 1)))
    x = (mix * real + (1 - mix) * fake).float().requires_grad_()
    told = []
    for activation in (torch.relu, lambda h: torch.nn.functional.leaky_relu(h, 0.2), torch.tanh):
        score = activation(x @ w + b) @ v + c
        (slope,) = torch.autograd.grad(
            outputs=score, inputs=x, grad_outputs=torch.ones_like(score), create_graph=True, retain_graph=True
        )
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        unused = attempt(lambda penalty=penalty: torch.autograd.grad(penalty, c, retain_graph=True))
        told.append([slope.detach(), penalty, torch.autograd.grad(penalty, [*parameters[:3], x]), unused])
    return told


@program
def coupling_flow(torch, rng):
    x, mix, weight = leaves = weights(torch, rng, (6, 2), (2,), ())
    scale = torch.tanh(x[:, 0] * mix[0] + mix[1])
    z = torch.stack((x[:, 0], x[:, 1] * scale.exp() + weight * x[:, 0]), dim=-1)
    log_density = (-0.5 * z**2 - 0.5 * math.log(2 * math.pi)).sum(-1) + scale
    (-log_density.mean()).backward()
    inverse = torch.stack((z[:, 0], (z[:, 1] - weight * z[:, 0]) * torch.exp(-scale)), 1)
    return z, log_density, torch.allclose(inverse, x, atol=1e-6), grads(leaves)


@program
def policy_gradient(torch, rng):
    (policy,) = weights(torch, rng, (3, 2))
    states, actions = torch.tensor(rng.integers(0, 3, 6)), torch.tensor(rng.integers(0, 2, 6))
    rewards, returns, running = normal(torch, rng, 6), torch.zeros(6), 0.0
    for t in reversed(range(6)):
        running = rewards[t] + 0.9 * running
        returns[t] = running
    advantage = (returns - returns.mean()) / (returns.std() + 1e-8)
    scores = torch.log_softmax(policy[states], -1)
    chosen = scores.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
    ratio = (chosen - chosen.detach()).exp()
    surrogate = torch.min(ratio * advantage, torch.clamp(ratio, 0.8, 1.2) * advantage).mean()
    entropy = -(scores.exp() * scores).sum(-1).mean()
    (-surrogate - 0.01 * entropy).backward()
    return returns, advantage, surrogate, entropy, policy.grad, policy.argmax(-1), torch.bincount(actions)


@program
def quantisation_with_straight_through_gradients(torch, rng):
    x, codes = leaves = weights(torch, rng, (4, 2), (3, 2))
    distances = x.pow(2).sum(1, keepdim=True) + codes.pow(2).sum(1) - 2 * x @ codes.t()
    nearest = distances.argmin(1)
    quantised = x + (codes[nearest] - x).detach()
    loss = (quantised * torch.arange(8.0).view(4, 2)).sum()
    loss = loss + 0.25 * (codes[nearest] - x.detach()).pow(2).mean() + (codes[nearest].detach() - x).pow(2).mean()
    loss.backward()
    return distances, nearest, quantised, grads(leaves)


# -- derivatives of derivatives ----------------------------------------------------------------------------------------


@program
def physics_informed_network(torch, rng):
    w, b, v = leaves = weights(torch, rng, (1, 6), (6,), (6, 1), dtype=torch.float64)
    x = torch.linspace(0, 1, 5, dtype=torch.float64).reshape(-1, 1).requires_grad_()
    u = torch.tanh(x @ w + b) @ v
    slope = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    bend = torch.autograd.grad(slope, x, grad_outputs=torch.ones_like(slope), create_graph=True)[0]
    loss = (bend + math.pi**2 * u).square().mean() + u[0].square().sum() + u[-1].pow(2).sum()
    loss.backward()
    return u, slope, bend.detach(), loss, grads(leaves), x.grad


@program
def learning_to_learn(torch, rng):
    w, b = leaves = weights(torch, rng, (3,), (1,), dtype=torch.float64)
    total = 0
    for _ in range(2):
        x, y = normal(torch, rng, 4, 3, dtype=torch.float64), normal(torch, rng, 4, dtype=torch.float64)
        fast = [w, b]
        for _ in range(2):
            loss = ((torch.sin(x @ fast[0] + fast[1]) - y) ** 2).mean()
            found = torch.autograd.grad(loss, fast, create_graph=True)
            fast = [p - 0.1 * grad for p, grad in zip(fast, found, strict=True)]
        total = total + ((torch.sin(x @ fast[0] + fast[1]) - y) ** 2).mean()
    total.backward()
    return total, fast, grads(leaves)


@program
def hessian_by_rows_and_by_vector_products(torch, rng):
    (x,) = weights(torch, rng, (4,), dtype=torch.float64)
    v = normal(torch, rng, 4, dtype=torch.float64)
    rosenbrock = (x[:-1] ** 2 * 100 - x[1:]).pow(2).sum() + (1 - x).pow(2).sum()
    (grad,) = torch.autograd.grad(rosenbrock, x, create_graph=True)
    (product,) = torch.autograd.grad(grad @ v, x, retain_graph=True)
    hessian = torch.stack([torch.autograd.grad(part, x, retain_graph=True)[0] for part in grad])
    return rosenbrock, grad.detach(), hessian, product, torch.allclose(hessian @ v, product)


@program
def forward_derivative_by_differentiating_twice(torch, rng):
    (x,) = weights(torch, rng, (2,), dtype=torch.float64)
    w = normal(torch, rng, 3, 2, dtype=torch.float64)
    dummy = torch.ones(3, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(torch.sin(w @ x), x, dummy, create_graph=True)
    return grad.detach(), torch.autograd.grad(grad, dummy, torch.tensor([1.0, 2.0], dtype=torch.float64))


# -- numerics ----------------------------------------------------------------------------------------------------------


@program
def euler_and_runge_kutta(torch, rng):
    rates = torch.tensor([0.5, 1.5], requires_grad=True, dtype=torch.float64)
    y = coarse = torch.tensor([1.0, 0.0], dtype=torch.float64)
    zero = torch.zeros((), dtype=torch.float64)
    matrix = torch.stack([torch.stack([zero, rates[0]]), torch.stack([-rates[1], -0.1 * rates[0]])])
    trajectory = [y]
    for _ in range(3):
        k1 = matrix @ y
        k2 = matrix @ (y + 0.05 * k1)
        k3 = matrix @ (y + 0.05 * k2)
        k4 = matrix @ (y + 0.1 * k3)
        y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        coarse = coarse + 0.1 * (matrix @ coarse)
        trajectory.append(y)
    torch.dist(y, coarse).backward()
    return torch.stack(trajectory), coarse, rates.grad


@program
def kalman_filter(torch, rng):
    move = torch.tensor([[1.0, 0.1], [0, 1]], requires_grad=True)
    log_noise = torch.tensor(-2.0, requires_grad=True)
    look = torch.tensor([[1.0, 0]])
    x, p, likelihood = torch.zeros(2, 1), torch.eye(2), 0
    for z in torch.tensor([0.1, 0.25, 0.28]):
        x, p = move @ x, move @ p @ move.mT + log_noise.exp() * torch.eye(2)
        s = look @ p @ look.t() + 0.1
        gain, surprise = p @ look.T / s, z - look @ x
        x, p = x + gain @ surprise, (torch.eye(2) - gain @ look) @ p
        likelihood = likelihood - 0.5 * (surprise**2 / s + torch.log(2 * math.pi * s))
    likelihood.sum().backward()
    return x, p, likelihood, move.grad, log_noise.grad, p.trace(), torch.outer(x[:, 0], x[:, 0])


@program
def gram_schmidt(torch, rng):
    (a,) = weights(torch, rng, (4, 3), dtype=torch.float64)
    basis = []
    for column in a.unbind(1):
        for unit in basis:
            column = column - (unit @ column) * unit
        basis.append(column / column.norm())
    q = torch.stack(basis, 1)
    r = q.T @ a
    r.diag().abs().sum().backward()
    return q, r, a.grad, torch.allclose(q.mT @ q, torch.eye(3, dtype=torch.float64)), torch.dist(q @ r, a) < 1e-9


@program
def newton_until_converged(torch, rng):
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    steps = 0
    while abs(value := x**3 - 2 * x - 5) > 1e-10:
        (slope,) = torch.autograd.grad(value, x)
        with torch.no_grad():
            x -= value / slope
        steps += 1
    return x.item(), steps, bool(value < 1), int(x), round(float(x), 3), math.sin(x), x > 2


@program
def power_iteration(torch, rng):
    normalize = torch.nn.functional.normalize
    (w,) = weights(torch, rng, (4, 3))
    u = torch.ones(4)
    with torch.no_grad():
        for _ in range(5):
            v = normalize(w.t().mv(u), dim=0)
            u = normalize(torch.mv(w, v), dim=0)
    largest = torch.dot(u, torch.mv(w, v))
    (w / largest).square().sum().backward()
    return u, v, largest, w.grad


@program
def graph_network(torch, rng):
    x, w = leaves = weights(torch, rng, (5, 3), (3, 2))
    source, target = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
    degree = torch.zeros(5).index_add_(0, target, torch.ones(6))
    norm = degree.clamp(min=1).rsqrt()
    messages = (x @ w)[source] * norm[source, None]
    wide = target.unsqueeze(1).expand(-1, 2)
    summed = torch.zeros(5, 2).index_add(0, target, messages)
    scattered = torch.zeros(5, 2).scatter_add_(0, wide, messages)
    highest = torch.full((5, 2), -9.0).scatter_reduce(0, wide, messages, reduce="amax")
    ((torch.relu(summed) * norm[:, None]).sum() + scattered.pow(2).mean() + highest.mean()).backward()
    adjacency = torch.zeros(5, 5, dtype=torch.long)
    adjacency[source, target] = 1
    return degree, summed, scattered, highest, grads(leaves), (adjacency @ adjacency).diagonal()


@program
def k_means(torch, rng):
    x = normal(torch, rng, 10, 2)
    centers = x[:3].clone()
    for _ in range(3):
        distances = ((x[:, None] - centers[None]) ** 2).sum(-1).sqrt()
        nearest = distances.argmin(1)
        members = torch.nn.functional.one_hot(nearest, num_classes=3).float()
        centers = (members.T @ x) / members.sum(0).clamp_min(1).unsqueeze(1)
    inertia = distances.gather(1, nearest[:, None]).pow(2).sum()
    return centers, nearest, inertia, nearest.unique(return_counts=True), distances.topk(2, dim=1, largest=False)


@program
def complex_valued_model(torch, rng):
    z, w = (
        torch.tensor(rng.normal(size=shape) + 1j * rng.normal(size=shape), requires_grad=True) for shape in (4, (4, 4))
    )
    y = w @ z
    turned = torch.exp(1j * torch.angle(z))
    loss = (y * y.conj()).real.sum() + torch.view_as_real(turned).sum() + (z.abs() ** 2).sum() + z.imag.sum()
    loss.backward()
    with torch.no_grad():
        z -= 0.01 * z.grad
    return y, turned, loss, z.grad, w.grad, z, repr(z.detach()[:2]), w.detach().mH @ w.detach()


@program
def sixty_four_bits(torch, rng):
    x, small = torch.tensor([2**40 + 1, -7, 9, 2**62]), torch.arange(6).view(2, 3)
    hashed = x * 6364136223846793005 + 1442695040888963407
    shifted = (x // 3, x % 5, x >> 3, x << 1, x & 255, x | 1, x ^ small.sum(), ~x)
    reduced = (small.cumsum(1), small.float().mean(), small.prod(), x.max())
    return hashed, shifted, reduced, x.sort(), x.to(torch.int32), small / 2


# -- bookkeeping -------------------------------------------------------------------------------------------------------


@program
def scalars_that_build_a_graph(torch, rng):
    a, b = torch.Tensor([-4.0]).double(), torch.Tensor([2.0]).double()
    a.requires_grad = b.requires_grad = True
    c, d = a + b, a * b + b**3
    c = c + c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    f = (c - d) ** 2
    g = f / 2.0 + 10.0 / f
    g.backward()
    return g.data.item(), a.grad.item(), b.grad.item(), str(g), repr(a.grad)


@program
def layers_and_an_optimizer_as_classes(torch, rng):
    class Linear:
        def __init__(self, inputs, outputs):
            self.weight, self.bias = weights(torch, rng, (outputs, inputs), (outputs,))

        def __call__(self, x):
            return x @ self.weight.T + self.bias

    class Momentum:
        def __init__(self, parameters):
            self.parameters, self.state = list(parameters), {}

        @torch.no_grad()
        def step(self):
            for p in self.parameters:
                velocity = self.state.setdefault(p, torch.zeros_like(p))
                p.add_(velocity.mul_(0.9).add_(p.grad), alpha=-0.1)

        def zero_grad(self, set_to_none):
            for p in self.parameters:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad.detach_().zero_()

    layers = [Linear(2, 4), Linear(4, 1)]
    optimizer = Momentum(p for layer in layers for p in vars(layer).values())
    x, y, losses = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]]), torch.tensor([[0.0], [1], [1], [0]]), []
    for epoch in range(3):
        loss = torch.nn.functional.mse_loss(torch.sigmoid(layers[1](torch.tanh(layers[0](x)))), y)
        optimizer.zero_grad(set_to_none=epoch % 2 == 0)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses, optimizer.parameters, len(optimizer.state), layers[0].weight in set(optimizer.parameters)


@program
def groups_of_parameters(torch, rng):
    a, b, frozen = torch.ones(2, requires_grad=True), torch.full((2,), 2.0, requires_grad=True), torch.zeros(2)
    groups = [{"params": [a], "lr": 0.1}, {"params": [b, frozen], "lr": 0.01, "decay": 0.1}]
    log = []
    for _ in range(3):
        (a * b + frozen).sum().backward()
        for group in groups:
            for p in group["params"]:
                if p.grad is not None:
                    step = p.grad.add(p.data, alpha=group["decay"]) if "decay" in group else p.grad
                    p.data.add_(step, alpha=-group["lr"])
                    p.grad.zero_()
        log.append((a.tolist(), b.tolist(), frozen.grad))
    return log, a, b, [p.requires_grad for group in groups for p in group["params"]]


@program
def gradients_accumulated_over_microbatches(torch, rng):
    (w,) = weights(torch, rng, (3,))
    x = normal(torch, rng, 8, 3)
    for part in x.split(2):
        ((part @ w).pow(2).sum() / 8).backward()
    accumulated, w.grad = w.grad.clone(), None
    ((x @ w) ** 2).mean().backward()
    same = torch.allclose(accumulated, w.grad)
    w.grad.data.mul_(1 / w.grad.norm())
    return accumulated, same, w.grad, w.grad.norm()


@program
def checkpoints(torch, rng):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w**2).sum().backward()
    saved = pickle.dumps({"w": w.detach(), "step": 3, "count": torch.arange(3), "half": torch.ones(2).bfloat16()})
    state, other, twin = pickle.loads(saved), pickle.loads(pickle.dumps(w)), copy.deepcopy(w)
    with torch.no_grad():
        w.copy_(state["w"] * 2)
    return state, other, other.is_leaf, twin, twin.grad, twin is w, w, w.grad


@program
def what_is_printed(torch, rng):
    x = torch.tensor([[1.5, -2.25], [1e-3, 1e4]], requires_grad=True)
    y = x * 2
    text = io.StringIO()
    with redirect_stdout(text):
        print(x, y, y.sum(), x.detach(), x.grad, x > 0)
        print("shape", x.shape, x.size(0), x.dtype == torch.float32, [x[0, 0]], {"mean": y.mean(0)})
        print(f"{y.sum()} {y.sum().item():.3f} {y.sum():.2f} {x[0]} {y[0, 0]:>10.3f}|")
        print(torch.tensor(3), torch.arange(2000))
    return text.getvalue()


@program
def a_fresh_tensor_is_filled(torch, rng):
    (x,) = weights(torch, rng, (3, 4))
    out = torch.zeros(3, 4)
    out[0] = x[0] * 2
    out[1, 1:3] = x[1, :2]
    out[2, [0, 3]] = x[2, 0]
    out[out > 0.5] = 0.0
    out[-1, -1] = x.sum()
    out.square().sum().backward()
    padded = torch.zeros(2, 3, dtype=torch.long)
    for row, sequence in enumerate(([1, 2], [3])):
        padded[row, : len(sequence)] = torch.tensor(sequence)
    banded = torch.zeros(3, 3)
    for i in range(3):
        banded[i, i], banded[i, (i + 1) % 3] = i, -1
    return out.detach(), out._version, x.grad, padded, banded


@program
def data_and_detach(torch, rng):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (w * w).sum()
    w.data *= 0.5
    loss.backward()
    before = w.data
    w.data = torch.tensor([5.0, 6.0])
    grad = w.grad.clone()
    w.grad.data.zero_()
    return before, w, grad, w.grad, w.detach(), before.requires_grad, w.data.clone().requires_grad_()


@program
def the_graph_is_kept_then_freed(torch, rng):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x.exp() * x).sum()
    seen = []
    for _ in range(3):
        y.backward(retain_graph=True)
        seen.append(x.grad.clone())
    y.backward()
    return seen, x.grad, attempt(y.backward)


@program
def hooks_on_tensors(torch, rng):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []
    doubling = x.register_hook(lambda grad: grad * 2)
    y = x * 3
    y.register_hook(lambda grad: seen.append(grad.clone()))
    y.retain_grad()
    y.sum().backward()
    first = x.grad.clone()
    doubling.remove()
    x.grad = None
    (x * 3).sum().backward()
    return seen, first, x.grad, y.grad, y.retains_grad


@program
def modes_as_decorators(torch, rng):
    w, x = torch.ones(2, requires_grad=True), torch.tensor([1.0, 2.0])

    @torch.no_grad()
    def evaluate():
        return x @ w, torch.is_grad_enabled()

    @torch.enable_grad()
    def train():
        return x @ w

    with torch.no_grad():
        inside = train(), w * 2
    with torch.set_grad_enabled(False):
        off = w * w
    return evaluate(), inside, off, attempt(lambda: w.add_(1)), attempt(evaluate()[0].backward), torch.is_grad_enabled()


@program
def in_place_chains(torch, rng):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y += 1
    y.sub_(x).div_(2).clamp_(min=1.2)
    y.sum().backward()
    a = x.exp()
    stale = (a * a).sum()
    a.add_(1)
    target, copied = torch.zeros(3), torch.zeros(3)
    target.add_(x).sigmoid_()
    copied.copy_(x)
    return y, y._version, x.grad, attempt(stale.backward), target, copied, target.requires_grad


@program
def a_long_chain(torch, rng):
    y = x = torch.tensor(0.5, requires_grad=True)
    for _ in range(200):
        y = y * 1.001 + x * 0.001
    y.backward()
    node, length = y.grad_fn, 0
    while node.next_functions:
        node, length = node.next_functions[0][0], length + 1
    return y, x.grad, length, node.name(), [(node.name(), slot) for node, slot in y.grad_fn.next_functions]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    def account(torch):
        before = torch.is_warn_always_enabled()
        torch.set_warn_always(True)  # what a process says only once may have been said by another test
        try:
            with recorded_warnings() as caught:
                told = function(torch, np.random.default_rng(0))
        finally:
            torch.set_warn_always(before)
        said = {(item.category.__name__, str(item.message).split(" (Triggered")[0]): None for item in caught}
        return told, [list(warning) for warning in said]

    agree(account, rtol=1e-4, atol=1e-6)


# -- inside the user's own transforms of JAX ---------------------------------------------------------------------------


def on_arrays(function):
    """A function of tensors as one of arrays."""

    def call(*arrays):
        results = function(tapegrad, *[wrap(array, describe(array)) for array in arrays])
        return [value_of(result) for result in results]

    return call


def training_step(torch, x, y, *parameters):
    w, b, v = parameters = [p.detach().requires_grad_() for p in parameters]
    loss = torch.nn.functional.cross_entropy(torch.nn.functional.gelu(x @ w + b) @ v, y.long())
    loss.backward()
    with torch.no_grad():
        for p in parameters:
            p.sub_(p.grad, alpha=0.1)
    return loss, *parameters, *grads(parameters)


def second_derivatives(torch, x, y, w, b, v):
    x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
    u = torch.tanh(x @ w + b) @ v
    (slope,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope.square().sum(), x, create_graph=True)
    return u, slope, bend, *torch.autograd.grad(bend.square().mean(), (x, w))


def attention_and_decisions(torch, x, y, w, b, v):
    x = x.detach().requires_grad_()
    h = (x @ w)[None]
    h = torch.nn.functional.scaled_dot_product_attention(h, h, h, is_causal=True)[0, y.long()]
    best, place = h.max(1)
    counts = torch.nn.functional.one_hot(h.argmax(-1), 5).sum(0) * 2**40
    filled = torch.zeros(*h.shape, dtype=torch.float64)
    filled[..., 0] = best
    (h.double() * filled).sum().backward()
    return h, best, place, counts, filled, x.grad


@pytest.mark.parametrize("function", [training_step, second_derivatives, attention_and_decisions])
@pytest.mark.parametrize("transform", ["jit", "vmap"])
def test_under_jax(function, transform):
    rng = np.random.default_rng(0)
    shapes = {"x": (4, 3), "y": (), "w": (3, 5), "b": (5,), "v": (5, 3)}
    arrays = [rng.normal(size=shape).astype("float32") for shape in shapes.values()]
    arrays[1] = np.array([0, 2, 1, 1], "int32")
    arrays = [jax.numpy.asarray(array) for array in arrays]
    call = on_arrays(function)
    expected = call(*arrays)
    if transform == "jit":
        found = jax.jit(call)(*arrays)
    else:
        found = [result[0] for result in jax.vmap(call)(*[array[None] for array in arrays])]
    for one, other in zip(found, expected, strict=True):  # the summands are up to 40
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5, strict=True)

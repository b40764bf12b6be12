"""Generative nets: adversarial ones, autoencoders, diffusion, language models and how they are sampled."""

import math

import numpy as np

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import mlp, program, regression, tokens

F = nn.functional


def players():
    """A generator and a discriminator, with their optimizers."""
    g, d = mlp(2, 5, 3), nn.Sequential(nn.Linear(3, 5), nn.LeakyReLU(0.2), nn.Linear(5, 1))
    adam = torch.optim.Adam
    return g, d, adam(g.parameters(), lr=0.01, betas=(0.5, 0.999)), adam(d.parameters(), lr=0.01, betas=(0.5, 0.999))


@program("DCGAN's step: gradients of the discriminator are added, and dropped")
def dcgan(compile):
    g, d, opt_g, opt_d = players()
    criterion = nn.BCEWithLogitsLoss()

    @compile
    def step(real):
        d.zero_grad()
        label = torch.full((real.size(0), 1), 1.0)
        loss_real = criterion(d(real), label)
        loss_real.backward()
        fake = g(torch.randn(real.size(0), 2))
        label.fill_(0.0)
        loss_fake = criterion(d(fake.detach()), label)
        loss_fake.backward()
        opt_d.step()
        g.zero_grad()
        label.fill_(1.0)
        loss_g = criterion(d(fake), label)
        loss_g.backward()
        opt_g.step()
        return (loss_real + loss_fake).detach(), loss_g.detach()

    return lambda n: step(regression(n)[0]), [g, d]


@program("a GAN that prints its losses by item() and appends them")
def gan_that_prints(compile):
    g, d, opt_g, opt_d = players()
    losses = {"g": [], "d": []}

    @compile
    def step(i, real):
        opt_d.zero_grad()
        fake = g(torch.randn(len(real), 2))
        loss_d = F.softplus(-d(real)).mean() + F.softplus(d(fake.detach())).mean()
        loss_d.backward()
        opt_d.step()
        opt_g.zero_grad()
        loss_g = F.softplus(-d(fake)).mean()
        loss_g.backward()
        opt_g.step()
        if i % 3 == 0:
            print(f"[{i}/8]\tLoss_D: {loss_d.item():.4f}\tLoss_G: {loss_g.item():.4f}")
        losses["g"].append(loss_g.item())
        losses["d"].append(loss_d.item())

    return lambda n: step(n, regression(n)[0]), [g, d, losses]


@program("WGAN-GP: a penalty by double backward, the generator in each third call", calls=12, rtol=1e-4)
def wgan_gp(compile):
    g, d, opt_g, opt_d = players()

    @compile
    def step(i, real):
        fake = g(torch.randn(len(real), 2)).detach()
        alpha = torch.rand(len(real), 1)
        mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        out = d(mixed)
        gradients = torch.autograd.grad(out, mixed, torch.ones_like(out), create_graph=True, retain_graph=True)[0]
        penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean()
        loss = d(fake).mean() - d(real).mean() + 10 * penalty
        opt_d.zero_grad()
        loss.backward()
        opt_d.step()
        if i % 3 == 0:
            opt_g.zero_grad()
            (-d(g(torch.randn(len(real), 2))).mean()).backward()
            opt_g.step()
        return loss.detach()

    return lambda n: step(n, regression(n)[0]), [g, d]


@program("WGAN: weights are clamped")
def wgan(compile):
    g, d, _, _ = players()
    opt_d = torch.optim.RMSprop(d.parameters(), lr=0.01)

    @compile
    def step(real):
        opt_d.zero_grad()
        with torch.no_grad():
            fake = g(torch.randn(len(real), 2))
        loss = d(fake).mean() - d(real).mean()
        loss.backward()
        opt_d.step()
        for p in d.parameters():
            p.data.clamp_(-0.1, 0.1)
        return loss.detach()

    return lambda n: step(regression(n)[0]), [d]


@program("cycle losses, and a buffer of images of former steps drawn by random", rtol=1e-4)
def cycle_gan(compile):
    import random

    a, b = mlp(3, 4, 3), mlp(3, 4, 3)
    opt = torch.optim.Adam([*a.parameters(), *b.parameters()], lr=0.01)
    pool = []

    def pooled(images):
        if len(pool) < 2:
            pool.append(images)
            return images
        if random.uniform(0, 1) > 0.5:
            i = random.randint(0, 1)
            found, pool[i] = pool[i].clone(), images
            return found
        return images

    @compile
    def step(x):
        opt.zero_grad()
        fake = a(x)
        loss = F.l1_loss(b(fake), x)
        loss.backward()
        opt.step()
        return pooled(fake.detach()), loss.detach()

    return lambda n: step(regression(n)[0]), [a, b, pool]


@program("a variational autoencoder with a weight that is annealed")
def vae(compile):
    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.dec = nn.Linear(3, 5), nn.Linear(2, 3)
            self.mu, self.logvar = nn.Linear(5, 2), nn.Linear(5, 2)

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            return mu + torch.randn_like(std) * std

        def forward(self, x):
            h = F.relu(self.enc(x))
            mu, logvar = self.mu(h), self.logvar(h)
            return torch.sigmoid(self.dec(self.reparameterize(mu, logvar))), mu, logvar

    net = VAE()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    @compile
    def step(x, beta):
        opt.zero_grad()
        recon, mu, logvar = net(x)
        bce = F.binary_cross_entropy(recon, x, reduction="sum")
        loss = bce - 0.5 * beta * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss.backward()
        opt.step()
        return {"loss": loss.item(), "beta": beta}

    return lambda n: step(torch.sigmoid(regression(n)[0]), min(1.0, n / 5)), [net]


@program("VQ-VAE: nearest codes, straight through, codes averaged in no_grad", rtol=1e-4)
def vq_vae(compile):
    enc, dec, codes = nn.Linear(3, 2), nn.Linear(2, 3), nn.Parameter(torch.randn(4, 2), requires_grad=False)
    opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=0.01)

    @compile
    def step(x):
        z = enc(x)
        index = torch.cdist(z, codes).argmin(1)
        q = codes[index]
        loss = F.mse_loss(dec(z + (q - z).detach()), x) + 0.25 * F.mse_loss(z, q.detach())
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            hot = F.one_hot(index, 4).float()
            counts = hot.sum(0).clamp(min=1).unsqueeze(1)
            codes.mul_(0.9).add_(0.1 * (hot.t() @ z) / counts)
        return index

    return lambda n: step(regression(n)[0]), [enc, dec, codes]


@program("Gumbel softmax with an annealed temperature")
def gumbel(compile):
    net = mlp(3, 5, 4)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    state = {"tau": 1.0}

    @compile
    def step(x):
        y = F.gumbel_softmax(net(x), tau=state["tau"], hard=False)
        loss = (y * torch.arange(4.0)).sum(-1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        state["tau"] = max(0.5, state["tau"] * math.exp(-0.1))
        return loss.detach()

    return lambda n: step(regression(n)[0]), [net, state]


@program("a DDPM step: times by randint, noise by randn_like")
def diffusion(compile):
    net = mlp(4, 6, 3)
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)
    betas = torch.linspace(1e-4, 0.02, 20)
    alphas = torch.cumprod(1 - betas, 0)

    @compile
    def step(x):
        t = torch.randint(0, 20, (len(x),))
        noise = torch.randn_like(x)
        a = alphas[t].unsqueeze(1)
        noisy = a.sqrt() * x + (1 - a).sqrt() * noise
        loss = F.mse_loss(net(torch.cat([noisy, t.unsqueeze(1) / 20], 1)), noise)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(regression(n)[0]), [net]


@program("sampling by a DDPM: a loop over times, in no_grad", calls=5, rtol=1e-4)
def diffusion_samples(compile):
    net = mlp(4, 6, 3)
    betas = torch.linspace(1e-4, 0.02, 5)
    alphas = 1 - betas
    cumulated = torch.cumprod(alphas, 0)

    @compile
    @torch.no_grad()
    def sample(count):
        x = torch.randn(count, 3)
        for t in reversed(range(5)):
            time = torch.full((count, 1), t / 5)
            x = (x - betas[t] / (1 - cumulated[t]).sqrt() * net(torch.cat([x, time], 1))) / alphas[t].sqrt()
            if t > 0:
                x = x + betas[t].sqrt() * torch.randn_like(x)
        return x

    return lambda n: sample(3), [net]


@program("noise by np.random in a denoising autoencoder")
def denoising(compile):
    net = mlp(3, 5, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    @compile
    def step(x):
        noisy = x + torch.from_numpy(np.random.randn(*x.shape).astype(np.float32))
        loss = F.mse_loss(net(noisy), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return lambda n: step(regression(n)[0]), [net]


class Block(nn.Module):
    """A block of a transformer, as nanoGPT writes it."""

    def __init__(self, width, heads=2, dropout=0.0):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.heads, self.dropout = heads, dropout

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = self.qkv(self.norm1(x)).split(c, dim=2)
        q, k, v = (one.view(b, t, self.heads, c // self.heads).transpose(1, 2) for one in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(b, t, c))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """A small one."""

    def __init__(self, words=7, width=8, length=8, dropout=0.0):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.block, self.norm, self.head = Block(width, dropout=dropout), nn.LayerNorm(width), nn.Linear(width, words)
        self.length = length

    def forward(self, idx, targets=None):
        x = self.words(idx) + self.places(torch.arange(idx.size(1)))
        x = self.norm(self.block(x))
        if targets is None:
            return self.head(x[:, [-1], :]), None
        logits = self.head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


@program("nanoGPT's training step", calls=6)
def gpt(compile):
    net = GPT()
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)

    @compile
    def step(idx):
        _, loss = net(idx[:, :-1].contiguous(), idx[:, 1:].contiguous())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return loss.detach()

    return lambda n: step(tokens(n)), [net]


@program("a GPT with dropout, and evaluation in between by estimate_loss", calls=6)
def gpt_estimates(compile):
    net = GPT(dropout=0.2)
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)

    @torch.no_grad()
    def estimate(idx):
        net.eval()
        losses = torch.zeros(2)
        for k in range(2):
            _, loss = net(idx[k : k + 1, :-1].contiguous(), idx[k : k + 1, 1:].contiguous())
            losses[k] = loss.item()
        net.train()
        return losses.mean()

    @compile
    def step(n, idx):
        if n % 3 == 0:
            print(f"val loss {estimate(idx):.4f}")
        _, loss = net(idx[:, :-1].contiguous(), idx[:, 1:].contiguous())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()

    return lambda n: step(n, tokens(n)), [net]


@program("a GPT generates, by multinomial, and the context grows", calls=4)
def gpt_generates(compile):
    net = GPT().eval()

    @compile
    @torch.no_grad()
    def generate(idx, count, temperature=1.0, top_k=None):
        for _ in range(count):
            logits, _ = net(idx[:, -net.length :])
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, -1), 1)), dim=1)
        return idx

    return lambda n: generate(tokens(0, length=2), 3, 0.8, top_k=3), [net]


@program("a GPT generates one word in each call until a word that ends it", calls=8)
def gpt_next_word(compile):
    net = GPT(length=40).eval()
    words = [tokens(0, rows=1, length=2)]

    @compile
    @torch.no_grad()
    def next_word(idx):
        logits, _ = net(idx)
        return torch.cat((idx, logits[:, -1].argmax(-1, keepdim=True)), 1)

    def call(n):
        words.append(next_word(words[-1]))
        return words[-1][0, -1].item() == 6

    return call, words


@program("beam search over a table of transitions", calls=4)
def beam_search(compile):
    table = torch.randn(5, 5).log_softmax(-1)

    @compile
    @torch.no_grad()
    def search(start, width):
        beams = [([start], 0.0)]
        for _ in range(3):
            found = []
            for path, score in beams:
                values, indices = table[path[-1]].topk(width)
                found += [([*path, int(i)], score + float(v)) for v, i in zip(values, indices, strict=True)]
            beams = sorted(found, key=lambda one: -one[1])[:width]
        return beams[0]

    return lambda n: search(n % 3, 2), []


@program("a flow: log determinants, in both directions", rtol=1e-4)
def flow(compile):
    net = mlp(1, 5, 2)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    base = torch.distributions.Normal(0.0, 1.0)

    @compile
    def step(x):
        a, b = x[:, :1], x[:, 1:2]
        s, t = net(a).chunk(2, 1)
        z = torch.cat([a, b * torch.exp(s) + t], 1)
        loss = -(base.log_prob(z).sum(1) + s.sum(1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(regression(n)[0]), [net]

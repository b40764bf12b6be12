"""Models of sequences: a GPT and an LSTM, which say the next token, and a transformer that sees pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.whole.model import Arrays, Model, conv, labels, linear, norm, normal, residual_block

ADAMW = ("AdamW", {"lr": 3e-4, "weight_decay": 0.1})


def gpt(layers: int, width: int, heads: int, length: int, batch: int, vocabulary: int) -> Model:
    """A GPT as nanoGPT has it, with cross entropy of each token: AdamW."""

    def net(torch: Any) -> Any:
        nn, functional = torch.nn, torch.nn.functional

        class Attention(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.qkv = nn.Linear(width, 3 * width)
                self.out = nn.Linear(width, width)

            def forward(self, x: Any) -> Any:
                batch, length, width = x.shape
                q, k, v = self.qkv(x).split(width, dim=2)
                q, k, v = (one.view(batch, length, heads, width // heads).transpose(1, 2) for one in (q, k, v))
                y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
                return self.out(y.transpose(1, 2).contiguous().view(batch, length, width))

        class GPT(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.tokens = nn.Embedding(vocabulary, width)
                self.positions = nn.Embedding(length, width)
                self.blocks = nn.ModuleList([residual_block(torch, width, Attention()) for _ in range(layers)])
                self.ln = nn.LayerNorm(width)
                self.head = nn.Linear(width, vocabulary)

            def forward(self, tokens: Any) -> Any:
                x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
                for block in self.blocks:
                    x = block(x)
                return self.head(self.ln(x))

        return GPT()

    def parameters(rng: np.random.Generator) -> Arrays:
        found = [normal(rng, vocabulary, width, fan_in=width), normal(rng, length, width, fan_in=width)]
        for _ in range(layers):
            found += [*norm(width), *linear(rng, width, 3 * width), *linear(rng, width, width)]
            found += [*norm(width), *linear(rng, width, 4 * width), *linear(rng, 4 * width, width)]
        return [*found, *norm(width), *linear(rng, width, vocabulary)]

    data = tokens_of(vocabulary, batch, length)
    return Model(parameters, data, net, next_token, "sequences_jax:gpt", {"heads": heads}, ADAMW)


def tokens_of(vocabulary: int, *shape: int) -> Any:
    """A maker of tokens, and of those that come next."""

    def data(rng: np.random.Generator) -> Arrays:
        tokens = labels(rng, vocabulary, *shape)
        return [tokens, np.roll(tokens, -1, axis=-1)]

    return data


def next_token(torch: Any, net: Any, tokens: Any, following: Any) -> Any:
    """Mean cross entropy."""
    scores = net(tokens)
    return torch.nn.functional.cross_entropy(scores.view(-1, scores.size(-1)), following.view(-1))


def lstm(layers: int, width: int, length: int, batch: int, vocabulary: int) -> Model:
    """A language model of LSTM layers, as PyTorch's example of word models has it: AdamW."""

    def net(torch: Any) -> Any:
        nn = torch.nn

        class LanguageModel(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.encoder = nn.Embedding(vocabulary, width)
                self.rnn = nn.LSTM(width, width, layers)
                self.decoder = nn.Linear(width, vocabulary)

            def forward(self, tokens: Any) -> Any:
                y, _ = self.rnn(self.encoder(tokens))
                return self.decoder(y)

        return LanguageModel()

    def parameters(rng: np.random.Generator) -> Arrays:
        found = [normal(rng, vocabulary, width, fan_in=width)]
        for _ in range(layers):
            (w_x, b_x), (w_h, b_h) = (linear(rng, width, 4 * width) for _ in range(2))
            found += [w_x, w_h, b_x, b_h]
        return [*found, *linear(rng, width, vocabulary)]

    data = tokens_of(vocabulary, length, batch)
    return Model(parameters, data, net, next_token, "sequences_jax:lstm", {"layers": layers}, ADAMW)


def vit(layers: int, width: int, heads: int, size: int, patch: int, batch: int) -> Model:
    """A vision transformer of PyTorch's own encoder layers, the mean of the patches, and cross entropy: AdamW."""

    def net(torch: Any) -> Any:
        nn = torch.nn

        class VisionTransformer(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.positions = nn.Parameter(torch.zeros(1, (size // patch) ** 2, width))
                self.patches = nn.Conv2d(3, width, patch, patch)
                layer = nn.TransformerEncoderLayer(
                    width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
                )
                self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
                self.ln = nn.LayerNorm(width)
                self.head = nn.Linear(width, 10)

            def forward(self, pictures: Any) -> Any:
                x = self.patches(pictures).flatten(2).transpose(1, 2) + self.positions
                return self.head(self.ln(self.encoder(x)).mean(dim=1))

        return VisionTransformer()

    def parameters(rng: np.random.Generator) -> Arrays:
        found = [normal(rng, 1, (size // patch) ** 2, width, fan_in=width), *conv(rng, 3, width, patch, bias=True)]
        for _ in range(layers):
            found += [*linear(rng, width, 3 * width), *linear(rng, width, width)]
            found += [*linear(rng, width, 4 * width), *linear(rng, 4 * width, width), *norm(width), *norm(width)]
        return [*found, *norm(width), *linear(rng, width, 10)]

    def loss(torch: Any, net: Any, pictures: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(net(pictures), targets)

    def data(rng: np.random.Generator) -> Arrays:
        return [normal(rng, batch, 3, size, size), labels(rng, 10, batch)]

    settings = {"heads": heads, "patch": patch}
    return Model(parameters, data, net, loss, "sequences_jax:vit", settings, ADAMW)

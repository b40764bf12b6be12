"""Recurrent nets and attention, over sequences of other lengths."""

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import program, sgd, tokens

F = nn.functional
LENGTHS = (5, 3, 6, 4)


class Tagger(nn.Module):
    """Words, a recurrent net, and scores."""

    def __init__(self, kind=nn.LSTM, **settings):
        super().__init__()
        self.words, self.out = nn.Embedding(7, 4), nn.Linear(5, 7)
        self.net = kind(4, 5, batch_first=True, **settings)

    def forward(self, x, state=None):
        h, state = self.net(self.words(x), state)
        return self.out(h), state


def trained(compile, net, batch):
    """Steps of a tagger that says the next word."""
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    @compile
    def step(words):
        logits, _ = net(words[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 7), words[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(batch(n)), [net]


@program("an LSTM over words", calls=6)
def lstm(compile):
    return trained(compile, Tagger(), tokens)


@program("a GRU at four lengths", calls=10)
def gru_lengths(compile):
    return trained(compile, Tagger(nn.GRU), lambda n: tokens(n, length=LENGTHS[n % 4]))


@program("a GRU at four lengths, dynamic", calls=10)
def gru_dynamic(compile):
    return trained(
        lambda function: compile(function, dynamic=True), Tagger(nn.GRU), lambda n: tokens(n, length=LENGTHS[n % 4])
    )


@program("truncated backward through time: the state is detached and kept", calls=6)
def truncated(compile):
    net = Tagger()
    opt, kept = sgd(net), {"state": None}

    @compile
    def step(words):
        logits, state = net(words[:, :-1], kept["state"])
        loss = F.cross_entropy(logits.reshape(-1, 7), words[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        opt.step()
        kept["state"] = tuple(one.detach() for one in state)
        return loss.item()

    return lambda n: step(tokens(n)), [net, kept]


@program("an LSTM that is given its state, which goes round outside", calls=6)
def state_goes_round(compile):
    net = Tagger()
    opt, kept = sgd(net), [torch.zeros(1, 2, 5), torch.zeros(1, 2, 5)]

    @compile
    def step(words, h, c):
        logits, (h, c) = net(words[:, :-1], (h, c))
        loss = F.cross_entropy(logits.reshape(-1, 7), words[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach(), h.detach(), c.detach()

    def call(n):
        loss, *kept[:] = step(tokens(n), *kept)
        return loss

    return call, [net, kept]


@program("a cell unrolled by hand, with a list of its states", calls=6)
def unrolled(compile):
    cell, out = nn.GRUCell(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)

    @compile
    def step(x, y):
        h, states = torch.zeros(x.size(1), 4), []
        for row in x:
            h = cell(row, h)
            states.append(h)
        loss = F.mse_loss(out(torch.stack(states)).squeeze(-1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    def call(n):
        x = torch.sin(torch.arange(24.0).view(4, 2, 3) + n)
        return step(x, x.sum(-1))

    return call, [cell, out]


@program("packed sequences, sorted by their lengths", calls=5)
def packed(compile):
    net, words = nn.GRU(4, 5, batch_first=True), nn.Embedding(7, 4)
    opt = torch.optim.SGD([*net.parameters(), *words.parameters()], lr=0.1)

    @compile
    def step(x, lengths):
        inside = nn.utils.rnn.pack_padded_sequence(words(x), lengths, batch_first=True, enforce_sorted=False)
        _, h = net(inside)
        loss = h.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(tokens(n), torch.tensor([5, 3] if n % 2 else [4, 4])), [net]


@program("padding and masks of ragged sentences", calls=6)
def padded(compile):
    net = Tagger()
    opt = sgd(net)

    @compile
    def step(sentences):
        words = nn.utils.rnn.pad_sequence(sentences, batch_first=True, padding_value=0)
        mask = words[:, 1:] != 0
        logits, _ = net(words[:, :-1])
        loss = F.cross_entropy(logits.transpose(1, 2), words[:, 1:], reduction="none")
        loss = (loss * mask).sum() / mask.sum().clamp(min=1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step([tokens(n, 1, 4)[0], tokens(n + 50, 1, 2 + n % 2)[0]]), [net]


@program("a translator with teacher forcing by a coin of random's", calls=8)
def seq2seq(compile):
    import random

    encoder, decoder, words, out = nn.GRUCell(4, 5), nn.GRUCell(4, 5), nn.Embedding(7, 4), nn.Linear(5, 7)
    params = [p for m in (encoder, decoder, words, out) for p in m.parameters()]
    opt = torch.optim.SGD(params, lr=0.1)

    @compile
    def step(x, y):
        h = torch.zeros(len(x), 5)
        for t in range(x.size(1)):
            h = encoder(words(x[:, t]), h)
        token, loss = y[:, 0], 0
        forcing = random.random() < 0.5
        for t in range(1, y.size(1)):
            h = decoder(words(token), h)
            logits = out(h)
            loss = loss + F.cross_entropy(logits, y[:, t])
            token = y[:, t] if forcing else logits.argmax(1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item() / y.size(1)

    return lambda n: step(tokens(n, length=3), tokens(n + 9, length=3)), params


@program("an encoder of PyTorch's, with a padding mask and a schedule of warming up", calls=5, rtol=1e-4)
def encoder(compile):
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.1, batch_first=True)
    net, words, out = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), nn.Embedding(7, 4), nn.Linear(4, 7)
    params = [p for m in (net, words, out) for p in m.parameters()]
    opt = torch.optim.SGD(params, lr=0.1)  # Adam makes steps of rounding: keys have a bias
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: min((step + 1) ** -0.5, (step + 1) * 0.5))

    @compile
    def step(x):
        h = net(words(x), src_key_padding_mask=x == 6)
        loss = F.cross_entropy(out(h).view(-1, 7), x.view(-1), ignore_index=6)
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step()
        return loss.detach()

    def call(n):
        x = tokens(n, of=6)
        x[0, 4:] = 6
        return step(x)

    return call, params


@program("attention by hand, whose weights are kept for pictures", calls=6)
def attention_kept(compile):
    class Attend(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4), None

        def forward(self, x):
            weights = torch.softmax(self.q(x) @ self.k(x).transpose(-2, -1) / 2.0, -1)
            self.last = weights.detach()
            return weights @ self.v(x)

    net = Attend()
    opt = sgd(net)

    @compile
    def step(x):
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()

    def call(n):
        step(torch.cos(torch.arange(24.0).view(2, 3, 4) * (n + 1)))
        return net.last

    return call, [net]


@program("CTC with targets of other lengths", calls=5, rtol=1e-4)
def ctc(compile):
    net = nn.Linear(3, 5)
    opt = sgd(net)

    @compile
    def step(x, targets, lengths):
        log_probs = net(x).log_softmax(-1)
        loss = F.ctc_loss(log_probs, targets, torch.full((2,), 6), lengths)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    def call(n):
        x = torch.sin(torch.arange(36.0).view(6, 2, 3) * (n + 1))
        return step(x, torch.tensor([[1, 2, 3], [2, 4, 0]]), torch.tensor([3, 2]))

    return call, [net]


@program("a decoder with a cache of keys and values that grows", calls=6)
def kv_cache(compile):
    q, k, v = (nn.Linear(4, 4) for _ in range(3))
    cache = {"k": torch.zeros(1, 0, 4), "v": torch.zeros(1, 0, 4)}

    @compile
    @torch.no_grad()
    def step(x):
        cache["k"] = torch.cat([cache["k"], k(x)], 1)
        cache["v"] = torch.cat([cache["v"], v(x)], 1)
        return torch.softmax(q(x) @ cache["k"].transpose(1, 2), -1) @ cache["v"]

    return lambda n: step(torch.sin(torch.arange(4.0).view(1, 1, 4) + n)), cache


@program("a decoder with a cache of fixed length, filled at a position that counts", calls=6)
def kv_cache_fixed(compile):
    k, cache, state = nn.Linear(4, 4), torch.zeros(1, 40, 4), {"position": 0}

    @compile
    @torch.no_grad()
    def step(x):
        cache[:, state["position"]] = k(x)[:, 0]
        state["position"] += 1
        return x @ cache[:, : state["position"]].transpose(1, 2)

    return lambda n: step(torch.sin(torch.arange(4.0).view(1, 1, 4) + n)), [cache, state]

"""How batches and settings come: loaders, arrays, records, the environment, caches, streams of other lengths."""

import functools
import os
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import classes, mlp, program, regression, sgd

F = nn.functional


def steps_of(net, opt, loss_of=F.mse_loss):
    """A step of a model, which other steps call."""

    def step(x, y):
        loss = loss_of(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return step


@program("an epoch over a DataLoader that shuffles, in the step", calls=5)
def loader_inside(compile):
    net = mlp()
    opt = sgd(net)
    data = torch.utils.data.TensorDataset(*regression(0, rows=8))
    loader = torch.utils.data.DataLoader(data, batch_size=3, shuffle=True)
    inner = steps_of(net, opt)

    @compile
    def epoch():
        return sum(inner(x, y).item() for x, y in loader) / len(loader)

    return lambda n: epoch(), [net]


@program("the next batch of a loader's iterator is taken in the step, and begun anew at its end", calls=8)
def next_of_loader(compile):
    net = mlp()
    opt = sgd(net)
    data = torch.utils.data.TensorDataset(*regression(0, rows=8))
    loader = torch.utils.data.DataLoader(data, batch_size=3, shuffle=True)
    source = SimpleNamespace(it=iter(loader))
    inner = steps_of(net, opt)

    @compile
    def step():
        try:
            batch = next(source.it)
        except StopIteration:
            source.it = iter(loader)
            batch = next(source.it)
        return inner(*batch)

    return lambda n: step(), [net]


@program("nanoGPT's get_batch: windows of a NumPy array at places that randint draws", calls=6)
def get_batch(compile):
    data = np.random.RandomState(0).randint(0, 7, size=60)
    net = nn.Sequential(nn.Embedding(7, 4), nn.Linear(4, 7))
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)

    @compile
    def step():
        ix = torch.randint(len(data) - 5, (2,))
        x = torch.stack([torch.from_numpy(data[i : i + 4].astype(np.int64)) for i in ix])
        y = torch.stack([torch.from_numpy(data[i + 1 : i + 5].astype(np.int64)) for i in ix])
        loss = F.cross_entropy(net(x).view(-1, 7), y.view(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return lambda n: step(), [net]


@program("fresh arrays of NumPy in each call")
def fresh_arrays(compile):
    net = mlp()
    opt = sgd(net)
    inner = steps_of(net, opt)

    @compile
    def step(x, y):
        return inner(torch.from_numpy(x).float(), torch.tensor(y, dtype=torch.float32))

    def call(n):
        rng = np.random.RandomState(n)
        return step(rng.randn(4, 3), rng.randn(4, 1))

    return call, [net]


@dataclass
class Batch:
    """What a loader gives."""

    inputs: torch.Tensor
    targets: torch.Tensor
    meta: dict = field(default_factory=dict)

    def to(self, device):
        return Batch(self.inputs.to(device), self.targets.to(device), self.meta)


@dataclass
class Output:
    """What a step gives."""

    loss: torch.Tensor
    logits: torch.Tensor
    correct: int = 0


@program("a dataclass comes, and a dataclass is returned")
def dataclasses_both_ways(compile):
    net = mlp(out=3)
    opt = sgd(net)

    @compile
    def step(batch):
        batch = batch.to("cpu")
        logits = net(batch.inputs)
        loss = F.cross_entropy(logits, batch.targets)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return Output(loss.detach(), logits.detach(), int((logits.argmax(1) == batch.targets).sum()))

    return lambda n: step(Batch(*classes(n), {"id": n})), [net]


@program("a dataclass is returned, whose tensors are read outside")
def returned_dataclass(compile):
    net = mlp(out=3).eval()

    @compile
    @torch.no_grad()
    def predict(x):
        logits = net(x)
        return Output(loss=logits.logsumexp(1), logits=logits)

    return lambda n: predict(classes(n)[0]), [net]


@program("HuggingFace's: a model that gives a dict of outputs, with or without labels")
def model_output(compile):
    class ModelOutput(dict):
        def __getattr__(self, name):
            return self[name]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp(out=3)

        def forward(self, input=None, labels=None, **kwargs):
            logits = self.net(input)
            loss = None if labels is None else F.cross_entropy(logits, labels)
            return ModelOutput(loss=loss, logits=logits)

    net = Model()
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)

    @compile
    def step(batch):
        outputs = net(**batch)
        outputs.loss.backward()
        opt.step()
        opt.zero_grad()
        return {"loss": outputs.loss.detach().float(), "logits": outputs.logits.detach()}

    def call(n):
        x, y = classes(n)
        return step({"input": x, "labels": y})

    return call, [net]


@program("a dict of batches whose keys and lengths change")
def dicts_of_batches(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(batches):
        losses = {name: F.mse_loss(net(x), y) for name, (x, y) in batches.items()}
        opt.zero_grad()
        sum(losses.values()).backward()
        opt.step()
        return {name: loss.item() for name, loss in losses.items()}

    def call(n):
        batches = {"a": regression(n), "b": regression(n + 9, rows=2)}
        if n % 3 == 2:
            del batches["b"]
        return step(batches)

    return call, [net]


@program("ragged lists of tensors, one by one")
def ragged_lists(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(xs):
        losses = [net(x).mean() for x in xs]
        loss = torch.stack(losses).sum() / len(xs)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step([regression(n, rows=r)[0] for r in ((2, 3), (3, 2), (1, 2, 3))[n % 3]]), [net]


@program("batches of another length at the end of each epoch, dynamic")
def last_batch(compile):
    net = mlp()
    step = compile(steps_of(net, sgd(net)), dynamic=True)
    return lambda n: step(*regression(n, rows=4 if n % 4 < 3 else 1 + n // 4)), [net]


@program("a curriculum: the width of the window grows")
def curriculum(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y, keep):
        mask = (torch.arange(len(x)) < keep).float().unsqueeze(1)
        loss = ((net(x) - y) ** 2 * mask).sum() / keep
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n), min(4, 1 + n // 2)), [net]


@program("os.environ decides whether to print")
def environment(compile):
    net = mlp()
    inner = steps_of(net, sgd(net))

    @compile
    def step(x, y):
        loss = inner(x, y)
        if os.environ.get("STEP_DEBUG", "0") == "1":
            print("debug", tuple(loss.shape))
        if int(os.environ.get("LOCAL_RANK", 0)) == 0:
            loss = loss * 1
        return loss

    def call(n):
        os.environ["STEP_DEBUG"] = "1" if n == 5 else "0"
        return step(*regression(n))

    return call, [net]


@program("lru_cache keeps masks by length")
def cached_masks(compile):
    net = nn.Linear(3, 3)
    opt = sgd(net)

    @functools.lru_cache(maxsize=32)
    def mask(length):
        return torch.tril(torch.ones(length, length))

    @compile
    def step(x):
        loss = (mask(len(x)) @ net(x)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(regression(n, rows=3 + n % 2)[0]), [net]


@program("a cached table of positions that grows where a sequence is longer", calls=6)
def cached_positions(compile):
    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            self.cached, self.cos = 0, None

        def forward(self, x):
            if len(x) > self.cached:
                self.cached = len(x)
                self.cos = torch.cos(torch.arange(self.cached).float().unsqueeze(1))
            return x * self.cos[: len(x)]

    net = nn.Sequential(nn.Linear(3, 3), Rotary())
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    @compile
    def step(x):
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(regression(n, rows=(3, 3, 3, 5, 4, 5)[n % 6])[0]), [net]


@program("flags of a config switch branches between calls")
def flags(compile):
    net, config = mlp(), SimpleNamespace(use_l1=False, dropout=0.0, log=True, schedule=[1.0, 0.5])
    opt, seen = sgd(net), []

    @compile
    def step(x, y, epoch):
        out = net(F.dropout(x, config.dropout) if config.dropout > 0 else x)
        loss = (F.l1_loss if config.use_l1 else F.mse_loss)(out, y) * config.schedule[epoch]
        opt.zero_grad()
        loss.backward()
        opt.step()
        if config.log:
            seen.append(loss.detach())

    def call(n):
        config.use_l1, config.log, config.dropout = n in (3, 4), n < 6, 0.5 if n == 7 else 0.0
        step(*regression(n), min(n // 4, 1))

    return call, [net, seen]


@program("predict: numbers, lists and NumPy come back", rtol=1e-4)
def predicts(compile):
    net = mlp(out=3).eval()

    @compile
    @torch.no_grad()
    def predict(x):
        probabilities = net(x).softmax(-1)
        return probabilities.argmax(-1).tolist(), probabilities.max().item(), probabilities.numpy()

    return lambda n: predict(classes(n)[0]), [net]


@program("predict: only tensors come back, of any length, in inference mode")
def infers(compile):
    net = mlp(out=3).eval()

    @compile
    def predict(x):
        with torch.inference_mode():
            return net(x).softmax(-1)

    return lambda n: predict(classes(n, rows=1 + n % 3)[0]), [net]


@program("normalisation with running numbers kept by hand in a module")
def running_numbers(compile):
    class Normalizer(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(3))
            self.register_buffer("count", torch.zeros(()))
            self.steps = 0

        def forward(self, x):
            if self.training:
                with torch.no_grad():
                    self.count += len(x)
                    self.mean += (x.mean(0) - self.mean) * len(x) / self.count
                self.steps += 1
            return x - self.mean

    net = nn.Sequential(Normalizer(), mlp())
    opt = sgd(net)
    inner = steps_of(net, opt)
    step = compile(inner)

    def call(n):
        net.train(n % 4 < 3)
        return step(*regression(n))

    return call, [net]


@program("a confusion matrix in place, and metrics at the end")
def metrics(compile):
    net, matrix = mlp(out=3).eval(), torch.zeros(3, 3, dtype=torch.long)

    @compile
    @torch.no_grad()
    def update(x, y):
        predicted = net(x).argmax(1)
        for t, p in zip(y, predicted, strict=True):
            matrix[t, p] += 1

    def call(n):
        update(*classes(n))
        return (matrix.diagonal().sum() / matrix.sum()).item() if n % 4 == 3 else None

    return call, matrix


@program("embedding bags and sparse ids, a table that is updated in place", calls=6)
def recommender(compile):
    users, items = nn.Embedding(5, 3), nn.Embedding(6, 3)
    opt = torch.optim.Adagrad([*users.parameters(), *items.parameters()], lr=0.1)

    @compile
    def step(u, i, r):
        loss = F.mse_loss((users(u) * items(i)).sum(1), r)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    def call(n):
        rng = np.random.RandomState(n)
        return step(torch.tensor(rng.randint(5, size=4)), torch.tensor(rng.randint(6, size=4)), torch.ones(4))

    return call, [users, items]


@program("a graph net: messages gathered by edges, of which the number changes", calls=6)
def graph_net(compile):
    net = nn.Linear(3, 3)
    opt = sgd(net)

    @compile
    def step(x, edges):
        source, target = edges
        out = torch.zeros_like(x).index_add(0, target, net(x)[source])
        degree = torch.bincount(target, minlength=len(x)).clamp(min=1).unsqueeze(1)
        loss = (out / degree - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    def call(n):
        rng = np.random.RandomState(n)
        return step(regression(n)[0], torch.tensor(rng.randint(4, size=(2, 5 + n % 2))))

    return call, [net]

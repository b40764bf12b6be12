"""Training loops in the styles of public code: trainers with configurations, callbacks, meters, bars, schedules."""

import argparse
import dataclasses
import logging
import time
from collections import defaultdict, deque
from types import SimpleNamespace

from tqdm import tqdm

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import classes, mlp, program, regression, sgd

F = nn.functional
logger = logging.getLogger(__name__)


def plain_step(net, opt):
    """The step that everybody writes."""

    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss

    return step


@program("the tutorial's step")
def tutorial(compile):
    net = mlp()
    opt = sgd(net)
    step = compile(plain_step(net, opt))
    return lambda n: step(*regression(n)), [net, opt]


@program("the tutorial's loop, which reads the loss every third batch and prints")
def tutorial_loop(compile):
    net = mlp()
    opt = sgd(net, momentum=0.9)
    losses = []

    @compile
    def train(batch, x, y):
        pred = net(x)
        loss = F.mse_loss(pred, y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        if batch % 3 == 0:
            loss, current = loss.item(), (batch + 1) * len(x)
            losses.append(loss)
            print(f"loss: {loss:>7f}  [{current:>5d}/{40:>5d}]")

    return lambda n: train(n, *regression(n)), [net, opt, losses]


@program("return loss.item()")
def returns_item(compile):
    net = mlp()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss.item()

    return lambda n: step(*regression(n)), [net, opt]


@program("losses.append(loss.item())")
def appends_item(compile):
    net, losses = mlp(), []
    opt = torch.optim.AdamW(net.parameters(), lr=1e-2)

    @compile
    def step(x, y):
        loss = F.smooth_l1_loss(net(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        losses.append(loss.item())

    return lambda n: step(*regression(n)), [net, opt, losses]


@program("appends detached losses, reduces them at the end of an epoch")
def appends_detached(compile):
    net, losses, epochs = mlp(), [], []
    opt = sgd(net)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.detach())

    def call(n):
        step(*regression(n))
        if n % 4 == 3:
            epochs.append(torch.stack(losses).mean().item())
            losses.clear()

    return call, [net, opt, losses, epochs]


class AverageMeter:
    """ImageNet's."""

    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    """ImageNet's."""
    with torch.no_grad():
        maxk = max(topk)
        _, pred = output.topk(maxk, 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand(maxk, target.size(0)))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


@program("ImageNet's meters, with item() in each step")
def imagenet_meters(compile):
    net = mlp(out=3)
    opt = sgd(net, momentum=0.9, weight_decay=1e-4)
    losses, top1, top2 = AverageMeter("Loss", ":.4e"), AverageMeter("Acc@1", ":6.2f"), AverageMeter("Acc@2", ":6.2f")

    @compile
    def train(i, x, y):
        output = net(x)
        loss = F.cross_entropy(output, y)
        acc1, acc2 = accuracy(output, y, topk=(1, 2))
        losses.update(loss.item(), x.size(0))
        top1.update(acc1[0].item(), x.size(0))
        top2.update(acc2[0].item(), x.size(0))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 4 == 0:
            print("\t".join(str(one) for one in (losses, top1, top2)))

    return lambda n: train(n, *classes(n)), [net, opt, losses, top1, top2]


@program("meters that keep tensors until somebody asks")
def lazy_meter(compile):
    net, opt_kept = mlp(), {}
    opt = sgd(net)

    class Meter:
        def __init__(self):
            self.total, self.count = torch.zeros(()), 0

        def update(self, value, n):
            self.total = self.total + value.detach() * n
            self.count += n

    meter = Meter()

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        meter.update(loss, len(x))

    def call(n):
        step(*regression(n))
        opt_kept[n] = (meter.total / meter.count).item()

    return call, [net, opt, meter, opt_kept]


@dataclasses.dataclass
class TrainConfig:
    """What a trainer is told."""

    lr: float = 0.05
    betas: tuple = (0.9, 0.95)
    weight_decay: float = 0.1
    grad_clip: float | None = 1.0
    log_every: int = 3
    extra: dict = dataclasses.field(default_factory=dict)


class Trainer:
    """minGPT's, with callbacks."""

    def __init__(self, config, model, compile):
        self.config, self.model = config, model
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=config.lr, betas=config.betas, weight_decay=config.weight_decay
        )
        self.callbacks, self.iter_num, self.loss = defaultdict(list), 0, None
        self.train_step = compile(self.train_step)

    def add_callback(self, onevent, callback):
        self.callbacks[onevent].append(callback)

    def trigger_callbacks(self, onevent):
        for callback in self.callbacks.get(onevent, []):
            callback(self)

    def train_step(self, x, y):
        self.loss = F.mse_loss(self.model(x), y)
        self.model.zero_grad(set_to_none=True)
        self.loss.backward()
        if self.config.grad_clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config.grad_clip)
        self.optimizer.step()
        self.trigger_callbacks("on_batch_end")
        self.iter_num += 1


@program("a trainer with a dataclass as its configuration and callbacks that print")
def mingpt_trainer(compile):
    trainer, lines = Trainer(TrainConfig(), mlp(), compile), []

    def tell(trainer):
        if trainer.iter_num % trainer.config.log_every == 0:
            print(f"iter {trainer.iter_num}: train loss {trainer.loss.item():.5f}")
            lines.append(trainer.iter_num)

    trainer.add_callback("on_batch_end", tell)

    def call(n):
        trainer.train_step(*regression(n))
        if n == 5:
            trainer.config.grad_clip = 0.1

    return call, [trainer.model, trainer.optimizer, lines, trainer.callbacks.keys(), trainer.iter_num]


@program("a trainer whose step counts in itself, and nothing else")
def counting_trainer(compile):
    class Loop:
        def __init__(self):
            self.net, self.global_step, self.history = mlp(), 0, deque(maxlen=3)
            self.opt = sgd(self.net)

        def training_step(self, batch):
            x, y = batch["x"], batch["y"]
            loss = F.mse_loss(self.net(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            self.global_step += 1
            return {"loss": loss.detach(), "step": self.global_step}

    loop = Loop()
    step = compile(loop.training_step)

    def call(n):
        x, y = regression(n)
        found = step({"x": x, "y": y})
        loop.history.append(found["step"])
        return found

    return call, loop


@program("Lightning's: training_step, log dictionary, hooks before and after")
def lightning_like(compile):
    class Lit(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.logged, self.steps = mlp(), {}, 0

        def log(self, name, value, prog_bar=False):
            self.logged[name] = value.detach() if torch.is_tensor(value) else value

        def training_step(self, batch, batch_idx):
            x, y = batch
            loss = F.mse_loss(self.net(x), y)
            self.log("train_loss", loss, prog_bar=True)
            self.log("batch", batch_idx)
            return loss

        def on_train_batch_end(self, outputs):
            self.steps += 1

    module = Lit()
    opt = torch.optim.Adam(module.parameters(), lr=0.01)

    @compile
    def fit_step(batch, batch_idx):
        loss = module.training_step(batch, batch_idx)
        opt.zero_grad()
        loss.backward()
        opt.step()
        module.on_train_batch_end(loss)

    return lambda n: fit_step(regression(n), n), [module, module.logged, opt]


@program("a progress bar with set_postfix in the step")
def tqdm_postfix(compile):
    net = mlp()
    opt = sgd(net)
    bar = tqdm(range(8), disable=True)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        bar.set_postfix(loss=f"{loss.item():.4f}")
        bar.update(1)
        return loss.detach()

    return lambda n: step(*regression(n)), [net, bar.n]


@program("tqdm over micro batches inside of the step, switched off")
def tqdm_inside(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def epoch(xs, ys):
        total = 0.0
        for x, y in tqdm(list(zip(xs, ys, strict=True)), disable=True):
            loss = F.mse_loss(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(x)
        return total / 4

    return lambda n: epoch(*(t.split(2) for t in regression(n))), [net, opt]


@program("a logger that is off")
def logger_off(compile):
    net = mlp()
    opt = sgd(net)
    logger.setLevel(logging.WARNING)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        logger.debug("loss %s", loss)
        return loss.detach()

    return lambda n: step(*regression(n)), [net, opt]


@program("a logger that is switched on later")
def logger_comes_on(compile):
    net, lines = mlp(), []
    opt = sgd(net)
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    own = logging.Logger("step")
    own.addHandler(handler)
    own.setLevel(logging.WARNING)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if own.isEnabledFor(logging.INFO):
            own.info("loss %.4f", loss.item())

    def call(n):
        own.setLevel(logging.INFO if n >= 5 else logging.WARNING)
        step(*regression(n))

    return call, [net, lines]


@program("a scheduler that steps in the step")
def scheduler_inside(compile):
    net = mlp()
    opt = sgd(net, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=10)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step()
        return loss.detach()

    return lambda n: step(*regression(n)), [net, opt, schedule.state_dict(), schedule.get_last_lr]


@program("a scheduler that steps behind the compiled step, and warms up")
def scheduler_outside(compile):
    net = mlp()
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda n: min(1.0, (n + 1) / 4))
    step = compile(plain_step(net, opt))

    def call(n):
        loss = step(*regression(n))
        schedule.step()
        return loss.detach(), schedule.get_last_lr()

    return call, [net, opt]


@program("the rate by hand, of the step's number, as nanoGPT does")
def nanogpt_rate(compile):
    net = mlp()
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)

    def get_lr(it):
        return 0.01 * (it + 1) / 4 if it < 4 else 0.01 * 0.5 ** (it - 3)

    @compile
    def step(it, x, y):
        for group in opt.param_groups:
            group["lr"] = get_lr(it)
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        return loss.detach()

    return lambda n: step(n, *regression(n)), [net, opt]


@program("ReduceLROnPlateau is given the loss")
def plateau(compile):
    net = mlp()
    opt = sgd(net, lr=0.5)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1, factor=0.5)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step(loss.item())
        return loss.detach()

    return lambda n: step(*regression(n)), [net, opt]


@program("early stopping: the best loss so far and a patience")
def early_stopping(compile):
    net, stop = mlp(), SimpleNamespace(best=float("inf"), bad=0, done=False)
    opt = sgd(net, lr=0.6)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        value = loss.item()
        if value < stop.best - 1e-3:
            stop.best, stop.bad = value, 0
        else:
            stop.bad += 1
        stop.done = stop.bad >= 3
        return value

    return lambda n: None if stop.done else step(*regression(n)), [net, stop]


@program("options of argparse, which change between the calls")
def argparse_options(compile):
    net = mlp()
    parser = argparse.ArgumentParser()
    parser.add_argument("--smooth", type=float, default=0.0)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args(["--smooth", "0.1"])
    opt = sgd(net)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y * (1 - args.smooth))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if args.verbose:
            print("loss", round(loss.item(), 3))

    def call(n):
        args.smooth = 0.1 if n < 4 else 0.3
        args.verbose = n >= 6
        step(*regression(n))

    return call, [net, args]


@program("a clock in the step, which nobody sees")
def clocks(compile):
    net, times = mlp(), []
    opt = sgd(net)

    @compile
    def step(x, y):
        begun = time.perf_counter()
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        times.append(time.perf_counter() - begun > 0)
        return loss.detach()

    return lambda n: step(*regression(n)), [net, times]


@program("train() and eval() in turn, in one function")
def train_and_eval(compile):
    net = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.5), nn.Linear(5, 1))
    opt = sgd(net)

    @compile
    def run(x, y, train):
        net.train(train)
        with torch.set_grad_enabled(train):
            loss = F.mse_loss(net(x), y)
        if train:
            opt.zero_grad()
            loss.backward()
            opt.step()
        return loss.detach()

    return lambda n: run(*regression(n), n % 2 == 0), [net, opt]


@program("an epoch of training, and one of evaluation by another function, with the last batch shorter")
def ragged_epochs(compile):
    net = mlp(out=3)
    opt = sgd(net, momentum=0.9)

    @compile
    def train(x, y):
        net.train()
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    @compile
    @torch.no_grad()
    def evaluate(x, y):
        net.eval()
        return (net(x).argmax(1) == y).sum().item()

    def call(n):
        batch = classes(n, rows=4 if n % 3 < 2 else 2)
        return (train if n % 4 < 3 else evaluate)(*batch)

    return call, [net, opt]


@program("a history of Keras's kind: a dict of lists")
def dict_of_lists(compile):
    net, history = mlp(out=3), defaultdict(list)
    opt = sgd(net)

    @compile
    def step(x, y):
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        history["loss"].append(float(loss))
        history["accuracy"].append((logits.argmax(-1) == y).float().mean().item())

    return lambda n: step(*classes(n)), [net, history]


@program("keeps the best state in a deepcopy")
def keeps_best(compile):
    net, best = mlp(), {"loss": float("inf"), "state": None}
    opt = sgd(net)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if loss.item() < best["loss"]:
            best["loss"] = loss.item()
            best["state"] = {name: value.clone() for name, value in net.state_dict().items()}

    return lambda n: step(*regression(n)), [net, best]


@program("writes checkpoints now and then")
def checkpoints(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(n, x, y):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if n % 4 == 3:
            torch.save(net.state_dict(), f"step{n}.pt")
        return loss.detach()

    return lambda n: step(n, *regression(n)), [net]


@program("writes a line of CSV in each step")
def csv_lines(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with open("log.csv", "a") as file:
            print(f"{loss.item():.4f},{opt.param_groups[0]['lr']}", file=file)

    return lambda n: step(*regression(n)), [net]

"""What is done with gradients and parameters: accumulation, clipping, averages, scalers, groups, several optimizers."""

import copy
import math
from contextlib import nullcontext

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import classes, mlp, program, regression, sgd

F = nn.functional


@program("accumulation: an update in each third call")
def accumulation(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(n, x, y):
        loss = F.mse_loss(net(x), y) / 3
        loss.backward()
        if (n + 1) % 3 == 0:
            opt.step()
            opt.zero_grad()
        return loss.detach()

    return lambda n: step(n, *regression(n)), [net, opt]


@program("accumulation counted by the trainer, with no_sync's kind of context")
def accumulation_counted(compile):
    net, state = mlp(), {"micro": 0, "updates": 0}
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    @compile
    def step(x, y):
        state["micro"] += 1
        last = state["micro"] % 2 == 0
        with nullcontext():
            (F.mse_loss(net(x), y) / 2).backward()
        if last:
            opt.step()
            opt.zero_grad(set_to_none=True)
            state["updates"] += 1

    return lambda n: step(*regression(n)), [net, opt, state]


@program("micro steps inside of one call, as nanoGPT does")
def micro_steps(compile):
    net = mlp()
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)

    @compile
    def step(xs, ys):
        for x, y in zip(xs, ys, strict=True):
            loss = F.mse_loss(net(x), y) / len(xs)
            loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        return loss.detach() * len(xs)

    return lambda n: step(*(t.split(2) for t in regression(n))), [net, opt]


@program("clip_grad_norm_ whose norm is logged by item()")
def clip_and_item(compile):
    net, norms = mlp(), []
    opt = sgd(net)

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), 0.5).item())
        opt.step()
        return {"loss": loss.item(), "norm": norms[-1]}

    return lambda n: step(*regression(n)), [net, norms]


@program("clip_grad_value_ and a norm by hand")
def clip_value(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y):
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.1)
        total = torch.sqrt(sum(p.grad.pow(2).sum() for p in net.parameters() if p.grad is not None))
        opt.step()
        return total

    return lambda n: step(*regression(n)), [net]


@program("if torch.isnan(loss): the batch is left out")
def skips_nan(compile):
    net, skipped = mlp(), []
    opt = sgd(net)

    @compile
    def step(n, x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        if torch.isnan(loss):
            skipped.append(n)
            return None
        loss.backward()
        opt.step()
        return loss.detach()

    def call(n):
        x, y = regression(n)
        return step(n, x * float("nan") if n in (3, 6) else x, y)

    return call, [net, skipped]


@program("if not math.isfinite(loss.item()): raise, as DETR does")
def checks_finite(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        value = loss.item()
        if not math.isfinite(value):
            raise SystemExit(f"Loss is {value}")
        opt.zero_grad()
        loss.backward()
        opt.step()
        return value

    return lambda n: step(*regression(n)), [net]


@program("GradScaler and autocast")
def scaler(compile):
    net = mlp()
    opt = sgd(net)
    scaler = torch.amp.GradScaler("cpu", init_scale=128.0, growth_interval=3)

    @compile
    def step(x, y):
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.mse_loss(net(x).float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        return loss.detach()

    return lambda n: step(*regression(n)), [net, scaler.state_dict]


@program("GradScaler meets an overflow", rtol=1e-4)
def scaler_overflows(compile):
    net, scales = mlp(), []
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0, growth_interval=2)

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        scales.append(scaler.get_scale())

    def call(n):
        x, y = regression(n)
        return step(x * float("inf") if n == 5 else x, y)

    return call, [net, opt, scales]


@program("autocast as the trainer's context, or nullcontext", rtol=1e-4)
def context_from_outside(compile):
    net = mlp()
    opt = sgd(net)
    ctx = nullcontext()

    @compile
    def step(x, y):
        with ctx:
            loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n)), [net]


@program("fine-tuning: a warm-up, groups, clipping, and a line for each call", calls=12)
def fine_tuning(compile):
    body, head = nn.Linear(3, 4), nn.Linear(4, 3)
    groups = [{"params": body.parameters(), "lr": 0.01}, {"params": head.parameters(), "weight_decay": 0.1}]
    opt = torch.optim.AdamW(groups, lr=0.05)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda n: min(1.0, (n + 1) / 4))
    loss_of = nn.CrossEntropyLoss()

    @compile
    def step(x, y):
        loss = loss_of(head(torch.relu(body(x))), y)
        loss.backward()
        nn.utils.clip_grad_norm_([*body.parameters(), *head.parameters()], 1.0)
        opt.step()
        schedule.step()
        opt.zero_grad()
        print(f"{loss.item():.4f} at {schedule.get_last_lr()}")

    return lambda n: step(*classes(n)), [body, head, opt]


@program("a scaler that is off")
def scaler_off(compile):
    net = mlp()
    opt = sgd(net)
    scaler = torch.amp.GradScaler("cpu", enabled=False)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        opt.zero_grad(set_to_none=True)
        return loss.detach()

    return lambda n: step(*regression(n)), [net]


@program("decay for matrices, none for biases; another rate per group")
def decay_groups(compile):
    net = mlp()
    groups = [
        {"params": [p for p in net.parameters() if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in net.parameters() if p.dim() < 2], "weight_decay": 0.0, "lr": 0.02},
    ]
    opt = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.95))

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        return loss.detach()

    def call(n):
        found = step(*regression(n))
        if n == 4:
            opt.param_groups[1]["lr"] = 0.2
        return found

    return call, [net, opt]


@program("two optimizers, for an encoder and a head")
def two_optimizers(compile):
    body, head = nn.Linear(3, 4), nn.Linear(4, 1)
    optimizers = [torch.optim.Adam(body.parameters(), lr=0.01), sgd(head, momentum=0.9)]

    @compile
    def step(x, y):
        for opt in optimizers:
            opt.zero_grad()
        loss = F.mse_loss(head(torch.relu(body(x))), y)
        loss.backward()
        for opt in optimizers:
            opt.step()
        return loss.detach()

    return lambda n: step(*regression(n)), [body, head, *optimizers]


@program("other optimizers: RMSprop, Adagrad, NAdam, Adamax", calls=5)
def other_optimizers(compile):
    nets = [mlp() for _ in range(4)]
    kinds = (torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.NAdam, torch.optim.Adamax)
    optimizers = [kind(net.parameters(), lr=0.01) for kind, net in zip(kinds, nets, strict=True)]

    @compile
    def step(x, y):
        losses = []
        for net, opt in zip(nets, optimizers, strict=True):
            opt.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            opt.step()
            losses.append(loss.detach())
        return losses

    return lambda n: step(*regression(n)), [nets]


@program("LBFGS and its closure", calls=4, rtol=1e-3)
def lbfgs(compile):
    net = nn.Linear(3, 1)
    opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=3)

    @compile
    def step(x, y):
        def closure():
            opt.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            return loss

        return opt.step(closure)

    return lambda n: step(*regression(n, rows=6)).detach(), [net]


@program("opt.step(closure) of a first-order optimizer")
def closure_step(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y):
        def closure():
            opt.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            return loss

        return opt.step(closure).detach()

    return lambda n: step(*regression(n)), [net]


@program("SGD by hand in no_grad")
def sgd_by_hand(compile):
    net = mlp()

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
        return loss.detach()

    return lambda n: step(*regression(n)), [net]


@program("SGD by p.data")
def sgd_by_data(compile):
    net = mlp()

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        loss.backward()
        for p in net.parameters():
            p.data.add_(p.grad.data, alpha=-0.1)
            p.grad.zero_()
        return loss.item()

    return lambda n: step(*regression(n)), [net]


@program("parameters that autograd.grad gives gradients for, and that are replaced")
def functional_update(compile):
    weights = [torch.randn(3, 4).requires_grad_(), torch.randn(4, 1).requires_grad_()]

    @compile
    def step(x, y):
        loss = F.mse_loss(torch.tanh(x @ weights[0]) @ weights[1], y)
        grads = torch.autograd.grad(loss, weights)
        for i, (w, g) in enumerate(zip(weights, grads, strict=True)):
            weights[i] = (w - 0.1 * g).detach().requires_grad_()
        return loss.detach()

    return lambda n: step(*regression(n)), weights


@program("an average of the weights in no_grad")
def ema(compile):
    net = mlp()
    shadow = copy.deepcopy(net)
    opt = sgd(net)

    @torch.no_grad()
    def update(decay=0.9):
        for s, p in zip(shadow.parameters(), net.parameters(), strict=True):
            s.mul_(decay).add_(p, alpha=1 - decay)

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        update()
        return loss.detach()

    return lambda n: step(*regression(n)), [net, shadow]


@program("an average whose decay warms up with the number of updates")
def ema_warms_up(compile):
    class EMA:
        def __init__(self, net):
            self.shadow = {name: p.clone().detach() for name, p in net.named_parameters()}
            self.updates = 0

        def update(self, net):
            self.updates += 1
            decay = min(0.99, (1 + self.updates) / (10 + self.updates))
            for name, p in net.named_parameters():
                self.shadow[name] = decay * self.shadow[name] + (1 - decay) * p.data

    net = mlp()
    ema, opt = EMA(net), sgd(net)

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        ema.update(net)
        return loss.detach()

    return lambda n: step(*regression(n)), [net, ema]


@program("a momentum encoder: b.data = m * b.data + (1 - m) * a.data")
def momentum_encoder(compile):
    online, target = mlp(), mlp()
    opt = sgd(online)

    @compile
    def step(x, m):
        loss = F.mse_loss(online(x), target(x).detach() + 1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for a, b in zip(online.parameters(), target.parameters(), strict=True):
            b.data = m * b.data + (1 - m) * a.data
        return loss.detach()

    return lambda n: step(regression(n)[0], 0.9), [online, target]


@program("AveragedModel and SWALR")
def swa(compile):
    net = mlp()
    opt = sgd(net)
    averaged = torch.optim.swa_utils.AveragedModel(net)

    @compile
    def step(n, x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        if n >= 3:
            averaged.update_parameters(net)
        return loss.detach()

    return lambda n: step(n, *regression(n)), [net, averaged.module, averaged.n_averaged]


@program("SAM: two passes, weights are moved and put back")
def sam(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y):
        F.mse_loss(net(x), y).backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
            moves = [p.grad * (0.05 / (norm + 1e-12)) for p in net.parameters()]
            for p, move in zip(net.parameters(), moves, strict=True):
                p.add_(move)
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        with torch.no_grad():
            for p, move in zip(net.parameters(), moves, strict=True):
                p.sub_(move)
        opt.step()
        opt.zero_grad()
        return loss.detach()

    return lambda n: step(*regression(n)), [net]


@program("lookahead: slow weights in each fourth call, counted in the optimizer's state")
def lookahead(compile):
    class Lookahead:
        def __init__(self, base, k=4, alpha=0.5):
            self.base, self.k, self.alpha, self.step_num = base, k, alpha, 0
            self.slow = [[p.clone().detach() for p in group["params"]] for group in base.param_groups]

        def step(self):
            self.base.step()
            self.step_num += 1
            if self.step_num % self.k == 0:
                for group, slows in zip(self.base.param_groups, self.slow, strict=True):
                    for p, slow in zip(group["params"], slows, strict=True):
                        slow.add_(p.data - slow, alpha=self.alpha)
                        p.data.copy_(slow)

    net = mlp()
    opt = Lookahead(sgd(net))

    @compile
    def step(x, y):
        net.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n)), [net, opt.slow, opt.step_num]


@program("an optimizer of one's own, with its state")
def own_optimizer(compile):
    class Lion(torch.optim.Optimizer):
        def __init__(self, params, lr=0.01, betas=(0.9, 0.99), weight_decay=0.1):
            super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    p.data.mul_(1 - group["lr"] * group["weight_decay"])
                    state = self.state[p]
                    if len(state) == 0:
                        state["exp_avg"] = torch.zeros_like(p)
                    average, (beta1, beta2) = state["exp_avg"], group["betas"]
                    update = average * beta1 + p.grad * (1 - beta1)
                    p.add_(update.sign_(), alpha=-group["lr"])
                    average.mul_(beta2).add_(p.grad, alpha=1 - beta2)

    net = mlp()
    opt = Lion(net.parameters())

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n)), [net, opt]


@program("per-parameter statistics: a dict of norms")
def norms_by_name(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y):
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        norms = {name: p.grad.norm().item() for name, p in net.named_parameters() if p.grad is not None}
        opt.step()
        return norms

    return lambda n: step(*regression(n)), [net]


@program("gradient noise and sign, per parameter")
def noisy_gradients(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y):
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        for p in net.parameters():
            p.grad += 0.01 * torch.randn_like(p.grad)
        opt.step()

    return lambda n: step(*regression(n)), [net]


@program("layers are frozen and thawed between calls")
def freezing(compile):
    net = mlp(out=3)
    opt = sgd(net)

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        return loss.detach()

    def call(n):
        net[0].requires_grad_(n >= 4)
        return step(*classes(n))

    return call, [net]


@program("spectral norm, and weight decay in the loss")
def spectral(compile):
    net = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)), nn.ReLU(), nn.Linear(4, 1))
    opt = sgd(net)

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y) + 1e-3 * sum((p**2).sum() for p in net.parameters())
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n)), [net]


@program("gradients are hooked: scaled as they come, and counted")
def hooked_gradients(compile):
    net, counts = mlp(), {"hooks": 0}
    opt = sgd(net)

    def hook(g):
        counts["hooks"] += 1
        return g.clamp(-0.1, 0.1)

    for p in net.parameters():
        p.register_hook(hook)

    @compile
    def step(x, y):
        opt.zero_grad()
        F.mse_loss(net(x), y).backward()
        opt.step()

    return lambda n: step(*regression(n)), [net, counts]


@program("optimizer in backward: hooks after accumulation")
def optimizer_in_backward(compile):
    net = mlp()
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}

    def hook(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in net.parameters():
        p.register_post_accumulate_grad_hook(hook)

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return loss.detach()

    return lambda n: step(*regression(n)), [net]

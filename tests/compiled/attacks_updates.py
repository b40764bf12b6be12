"""Optimizers whose updates are compiled by themselves, as the steps read their losses: Note [Compiled modules]."""

import copy
import pickle

import numpy as np

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import mlp, program, regression, sgd, watched

F, optim = nn.functional, torch.optim


def read(loss):
    """The number, by which Python chooses its way: such a step can't be replayed."""
    if loss.item() != loss.item():
        raise ValueError("the loss is not a number")
    return loss.item()


def told(optimizer):
    """How often parameters and states were written to, and which of the states are where they were."""
    found = []
    for group in optimizer.param_groups:
        for p in group["params"]:
            state = optimizer.state.get(p, {})
            found.append((p._version, {key: getattr(one, "_version", one) for key, one in state.items()}))
    return found


def updating(compile, make, before=lambda n, net, opt: None, update=lambda opt: opt.step(), width=3):
    """A step that reads its loss. ``before`` each call something is done, and ``update`` is what the step does."""
    net = mlp(width)
    opt, first = make(net), {}

    @compile
    def step(x, y):
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        result = update(opt)
        return read(loss), result

    def call(n):
        before(n, net, opt)
        found = step(*regression(n))
        same = [first.setdefault((p, key), one) is one for p in opt.state for key, one in opt.state[p].items()]
        return found, told(opt), same, list(vars(opt))

    return call, [net, opt]


def adam(net, **options):
    return optim.Adam(net.parameters(), lr=0.02, **options)


def several(compile, makes):
    """A step for each of several optimizers."""
    made = [updating(compile, make) for make in makes]
    return lambda n: [call(n) for call, _ in made], [state for _, state in made]


@program("updates of each kind of optimizer", calls=6, rtol=1e-4)
def updates_of_all(compile):
    classes = [optim.Adadelta, optim.Adagrad, optim.Adamax, optim.ASGD, optim.NAdam, optim.RAdam, optim.RMSprop,
               optim.Rprop, optim.Adafactor]  # fmt: skip
    return several(compile, [lambda net, cls=cls: cls(net.parameters(), lr=0.01) for cls in classes])


@program("options of updates", calls=6, rtol=1e-4)
def updates_with_options(compile):
    makes = [
        lambda net: sgd(net, lr=0.01, momentum=0.9, nesterov=True, maximize=True),
        lambda net: sgd(net, momentum=0.9, dampening=0.1, weight_decay=0.1, foreach=True),
        lambda net: adam(net, amsgrad=True, weight_decay=0.1, foreach=True),
        lambda net: optim.AdamW(net.parameters(), lr=0.02, fused=True, maximize=True),
        lambda net: optim.RMSprop(net.parameters(), lr=0.01, momentum=0.9, centered=True),
    ]
    return several(compile, makes)


@program("updates of other dtypes", calls=6, rtol=2e-2)
def updates_of_dtypes(compile):
    made = [adam(mlp().double()), sgd(mlp().bfloat16(), momentum=0.9), adam(nn.Linear(3, 2, dtype=torch.complex64))]
    generator = np.random.RandomState(5)

    @compile
    def step(opt, scale):
        opt.step()
        return read(scale)

    def call(n):
        for opt in made:
            for p in opt.param_groups[0]["params"]:
                p.grad = torch.tensor(generator.randn(*p.shape)).to(p.dtype)
        return [step(opt, torch.tensor(1.0)) for opt in made], [told(opt) for opt in made]

    return call, made


@program("a rate that is set in each call", calls=12)
def updates_at_rates(compile):
    def before(n, net, opt):
        opt.param_groups[0]["lr"] = 0.1 / (n + 1)

    return updating(compile, lambda net: optim.AdamW(net.parameters(), lr=0.1), before)


@program("a rate that is an int, a float and a tensor", calls=12)
def updates_at_kinds_of_rates(compile):
    rates = [1, 0.1, torch.tensor(0.05), 0.1, 1, torch.tensor(0.01), 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]

    def before(n, net, opt):
        opt.param_groups[0]["lr"] = rates[n]

    return updating(compile, sgd, before)


@program("a schedule that wraps step, and moves momentum, too", calls=12)
def updates_on_schedule(compile):
    schedules = []

    def make(net):
        opt = sgd(net, momentum=0.9)
        schedules.append(optim.lr_scheduler.OneCycleLR(opt, max_lr=0.2, total_steps=20))
        return opt

    def update(opt):
        opt.step()
        schedules[0].step()
        return schedules[0].get_last_lr()

    return updating(compile, make, update=update)


@program("hooks before and after an update")
def updates_with_hooks(compile):
    seen = []

    def make(net):
        opt = adam(net)
        opt.register_step_pre_hook(lambda opt, args, kwargs: seen.append(("before", len(args), dict(kwargs))))
        opt.register_step_post_hook(lambda opt, args, kwargs: print("after", len(seen)))
        return opt

    call, state = updating(compile, make)
    return call, [*state, seen]


@program("a hook that gives the update a closure")
def updates_with_closures_of_hooks(compile):
    def make(net):
        opt, calls = sgd(net), []

        def hook(opt, args, kwargs):
            calls.append(1)
            return (args, {"closure": lambda: len(calls)}) if len(calls) % 3 == 0 else None

        opt.register_step_pre_hook(hook)
        return opt

    return updating(compile, make, update=lambda opt: opt.step())


@program("a hook that has another optimizer updated")
def updates_another(compile):
    other = sgd(nn.Linear(2, 1))
    for p in other.param_groups[0]["params"]:
        p.grad = torch.ones_like(p)

    def make(net):
        opt = sgd(net)
        opt.register_step_pre_hook(lambda opt, args, kwargs: ((other,), {}))
        return opt

    call, state = updating(compile, make)
    return call, [*state, other]


@program("closures in some calls")
def updates_by_closures(compile):
    calls = []

    def update(opt):
        calls.append(1)
        return opt.step(lambda: torch.tensor(2.0)) if len(calls) % 2 else opt.step()

    return updating(compile, lambda net: sgd(net, momentum=0.9), update=update)


@program("gradients that are there in some calls", calls=12)
def updates_of_some(compile):
    def before(n, net, opt):
        net[0].requires_grad_(n % 4 != 3)

    return updating(compile, adam, before)


@program("gradients that are zeros, or of no call", calls=10)
def updates_with_zeros(compile):
    net = mlp()
    opt = sgd(net, momentum=0.9, weight_decay=0.1)

    @compile
    def step(x, y, to_none, backward):
        opt.zero_grad(set_to_none=to_none)
        loss = F.mse_loss(net(x), y)
        if backward:
            loss.backward()
        opt.step()
        return read(loss)

    return lambda n: (step(*regression(n), n % 2 == 0, n % 5 != 4), told(opt)), [net, opt]


@program("groups that come, states that are loaded or cleared", calls=14)
def updates_after_changes(compile):
    extra = nn.Parameter(torch.ones(2))

    def before(n, net, opt):
        extra.grad = torch.full((2,), 0.5)
        if n == 4:
            opt.add_param_group({"params": [extra], "lr": 0.5, "weight_decay": 0.1})
        if n == 7:
            opt.load_state_dict(copy.deepcopy(opt.state_dict()))
        if n == 9:
            opt.state.clear()
        if n == 11:
            opt.state[extra]["exp_avg"] = torch.full((2,), 3.0)

    call, state = updating(compile, lambda net: optim.AdamW(net.parameters(), lr=0.02), before)
    return call, [*state, extra]


@program("an optimizer that is copied, pickled and shown in the step")
def updates_and_copies(compile):
    copies = []

    def update(opt):
        opt.step()
        copies[:] = [copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))]
        for one in copies:
            for p in one.param_groups[0]["params"]:
                p.grad = torch.ones_like(p)
            one.step()
        return str(opt), opt.state_dict()["param_groups"], sorted(vars(opt)), sorted(opt.__getstate__())

    call, state = updating(compile, adam, update=update)
    return call, [*state, copies]


class Counting(optim.Optimizer):
    """Momentum that begins slowly: steps are counted in Python."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})
        self.updates = 0

    @torch.no_grad()
    def step(self, closure=None):
        self.updates += 1
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    state = self.state[p]
                    state["step"] = state.get("step", 0) + 1
                    state.setdefault("momentum", torch.zeros_like(p)).lerp_(p.grad, 0.5)
                    p.sub_(state["momentum"] * (group["lr"] * (1 - 0.5 ** state["step"])))
        return self.updates


@program("an optimizer of the user's that counts", calls=12)
def updates_counted(compile):
    return updating(compile, lambda net: Counting(net.parameters()))


class Talking(Counting):
    """One that prints, and calls that of its base."""

    def step(self, closure=None):
        print("update", self.updates)
        return super().step(closure)


@program("an optimizer that prints, with super")
def updates_printed(compile):
    return updating(compile, lambda net: Talking(net.parameters()))


class Wrapping(optim.Optimizer):
    """Looks ahead: has another do the updates, and goes back half of the way at each third."""

    def __init__(self, base):
        self.base, self.slow = base, [p.detach().clone() for p in base.param_groups[0]["params"]]
        super().__init__(base.param_groups[0]["params"], {})
        self.count = torch.zeros(())

    @torch.no_grad()
    def step(self):
        self.base.step()
        self.count += 1
        share = torch.where(self.count % 3 == 0, 0.5, 0.0)
        for p, slow in zip(self.param_groups[0]["params"], self.slow, strict=True):
            p.lerp_(slow, share)
            slow.copy_(p)


@program("an optimizer that wraps another")
def updates_wrapped(compile):
    call, state = updating(compile, lambda net: Wrapping(sgd(net, momentum=0.9)))
    return call, [*state, state[1].base, state[1].slow]


class Noisy(optim.SGD):
    """Adds noise to gradients, and refuses some."""

    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            p.grad += torch.randn_like(p) * 0.01
        if self.param_groups[0]["lr"] == 0.5:
            raise ValueError("the rate is too high")
        return super().step(closure)


@program("an optimizer that draws, and raises in one call", raises=True)
def updates_drawn(compile):
    def before(n, net, opt):
        opt.param_groups[0]["lr"] = 0.5 if n == 5 else 0.1

    return updating(compile, lambda net: Noisy(net.parameters(), lr=0.1, momentum=0.9), before)


@program("an optimizer made in each call")
def updates_of_new_ones(compile):
    net = mlp()

    @compile
    def step(x, y):
        opt = watched(sgd(net))
        opt.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        opt.step()
        return read(loss)

    return lambda n: step(*regression(n)), [net]


@program("two updates in a call, and one outside")
def updates_twice(compile):
    def before(n, net, opt):
        if n % 3 == 2:
            opt.step()

    return updating(compile, lambda net: sgd(net, lr=0.02, momentum=0.9), before, lambda opt: (opt.step(), opt.step()))


@program("updates that others see: arrays, aliases, kept gradients and states", calls=10)
def updates_seen(compile):
    kept, arrays = [], []

    def before(n, net, opt):
        if n == 0:
            arrays.extend((net[0].weight.detach().numpy(), net[0].weight.detach(), net[2].weight.view(-1)))
        kept.append((net[0].weight.grad, *(one.get("exp_avg") for one in opt.state.values())))
        if n == 6:
            net[2].weight.data = net[2].weight.data * 2
        if n == 8:
            kept.append([one["exp_avg"].clone() for one in opt.state.values()])

    call, state = updating(compile, adam, before)
    return call, [*state, kept, arrays]


@program("an update in each hook of a backward pass")
def updates_in_backward(compile):
    net = mlp()
    optimizers = {p: optim.SGD([p], lr=0.1, momentum=0.9) for p in net.parameters()}
    for p in net.parameters():
        p.register_post_accumulate_grad_hook(lambda p: optimizers[p].step())

    @compile
    def step(x, y):
        loss = F.mse_loss(net(x), y)
        loss.backward()
        return read(loss)

    return lambda n: step(*regression(n)), [net, list(optimizers.values())]


@program("a scaler that leaves out updates", calls=10)
def updates_scaled(compile):
    net = mlp()
    opt = adam(net)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8, growth_interval=3)

    @compile
    def step(x, y):
        opt.zero_grad()
        with torch.autocast("cpu"):
            loss = F.mse_loss(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        return scaler.get_scale()

    def call(n):
        x, y = regression(n)
        return step(x * float("inf") if n % 4 == 3 else x, y)

    return call, [net, opt]


@program("an update in other modes", calls=10)
def updates_in_modes(compile):
    modes = [torch.no_grad, torch.enable_grad, lambda: torch.autocast("cpu"), torch.no_grad, torch.enable_grad]

    def update(opt):
        with modes[0]():
            return opt.step()

    return updating(compile, adam, lambda n, net, opt: modes.append(modes.pop(0)) if n % 2 else None, update)


@program("a differentiable update")
def updates_differentiable(compile):
    p = torch.ones(3, requires_grad=True)
    rate = torch.tensor(0.1, requires_grad=True)

    @compile
    def step(x):
        w = p.clone()
        opt = optim.SGD([w], lr=rate, differentiable=True)
        w.grad = x
        opt.step()
        (w * w).sum().backward()
        return read(rate.grad)

    return lambda n: step(regression(n)[0][0]), [p, rate]


RATES = {"of the second": 1.0}


class OwnRates(optim.SGD):
    is_elementwise = False

    def update(self, p, grad, state, group):
        second = p is self.param_groups[0]["params"][1]  # nothing tells it from the first but what it is
        super().update(p, grad * RATES["of the second"] if second else grad, state, group)


@program("a rate that is read for the second of two parameters that are alike", calls=10)
def updates_at_own_rates(compile):
    weights = [torch.ones(3, requires_grad=True) for _ in range(2)]
    opt = OwnRates(weights, lr=0.1)

    @compile
    def step(x):
        opt.zero_grad()
        loss = ((weights[0] * weights[1] - x) ** 2).sum()
        loss.backward()
        opt.step()
        return loss

    def call(n):
        RATES["of the second"] = 1.0 + n // 5
        return step(regression(n)[0][0])

    return call, [*weights, opt]

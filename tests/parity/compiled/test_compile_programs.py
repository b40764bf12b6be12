"""Steps as programs make them, with optimizers, schedules, scalers and distributions: replayed, and as on PyTorch."""

import argparse
import warnings

import numpy as np
import pytest
from harness import agree

import tapegrad

CALLS = 12

pytestmark = pytest.mark.once("a compiled step is recorded in either mode")


def told(torch, step, see, arguments=lambda call: (), replayed=CALLS - 6):
    """What is seen after each of some calls; most of ours must have been replayed."""
    made = torch.compile(step) if torch is tapegrad else step
    seen = []
    for call in range(CALLS):
        given = made(*arguments(call))
        seen.append([given.detach().numpy().copy(), [np.copy(one) for one in see()]])
    if torch is tapegrad:
        assert made.replayed >= replayed, made.report()
    return seen


class Task:
    """A small net, and what it is to learn."""

    def __init__(self, torch, *layers):
        nn = torch.nn
        self.torch, self.net = torch, nn.Sequential(nn.Linear(3, 4), *layers, nn.Tanh(), nn.Linear(4, 2))
        with torch.no_grad():
            for place, p in enumerate(self.net.parameters()):
                p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape) * (0.3 + 0.1 * place))
        self.x = torch.linspace(-1, 1, 15).reshape(5, 3).sin()
        self.y = torch.tensor([0, 1, 1, 0, 1])

    def step(self, optimizer, *others):
        """A step of training, after which some others make theirs."""

        def step():
            optimizer.zero_grad()
            loss = self.torch.nn.functional.cross_entropy(self.net(self.x), self.y)
            loss.backward()
            optimizer.step()
            for other in others:
                other.step()
            return loss

        return step

    def see(self):
        return [p.detach().numpy() for p in self.net.parameters()]


OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    "Adam": {"lr": 0.01, "weight_decay": 0.1},
    "AdamW": {"lr": 0.01},
    "RMSprop": {"lr": 0.01},
    "Adagrad": {"lr": 0.1},
    "NAdam": {"lr": 0.01},
    "Adadelta": {},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_in_a_step_with_layers(name):
    def program(torch):
        task = Task(torch, torch.nn.LayerNorm(4))
        return told(torch, task.step(getattr(torch.optim, name)(task.net.parameters(), **OPTIMIZERS[name])), task.see)

    agree(program)


SCHEDULES = {
    "steps": lambda of, optimizer: of.StepLR(optimizer, 8, gamma=0.5),
    "exponential": lambda of, optimizer: of.ExponentialLR(optimizer, 0.9),
    "cosine": lambda of, optimizer: of.CosineAnnealingLR(optimizer, 20),
    "a function": lambda of, optimizer: of.LambdaLR(optimizer, lambda count: 1 / (count + 1)),
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("where", ["inside", "outside"])
def test_a_schedule(name, where):
    def program(torch):
        task, rates = Task(torch), []
        optimizer = torch.optim.SGD(task.net.parameters(), lr=0.5)
        schedule = SCHEDULES[name](torch.optim.lr_scheduler, optimizer)

        def see():
            if where == "outside":
                schedule.step()
            rates.append(schedule.get_last_lr())
            return [*task.see(), optimizer.param_groups[0]["lr"], schedule.last_epoch]

        replayed = 0 if name == "steps" else CALLS - 6
        return told(torch, task.step(optimizer, *[schedule] * (where == "inside")), see, replayed=replayed), rates

    agree(program)


def test_a_schedules_state_is_a_copy():
    def program(torch):
        optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        states, last = [], schedule.get_last_lr()
        for _ in range(3):
            optimizer.step()
            schedule.step()
            states.append(schedule.state_dict())
        seen = [state["_last_lr"] for state in states]
        schedule.load_state_dict(states[0])
        optimizer.step()
        schedule.step()
        return last, seen, states[0]["_last_lr"], schedule.get_last_lr()

    agree(program)


def test_a_loss_with_a_leaf_and_a_custom_function_in_its_history():
    def program(torch):
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, grad):
                return 3 * ctx.saved_tensors[0] ** 2 * grad

        w = torch.tensor([0.5, -0.2], requires_grad=True)

        def step(x):
            w.grad = None
            between = (x * 0.5).requires_grad_()
            (slope,) = torch.autograd.grad((between * w).sum() ** 2, between, create_graph=True)
            loss = (Cube.apply(w) - x).sum() ** 2 + (slope**2).sum()
            loss.backward()
            with torch.no_grad():
                w.sub_(w.grad, alpha=0.01)
            return loss

        told_of = told(torch, step, lambda: [w.detach().numpy()], lambda call: (torch.tensor([1.0, call / 9]),))
        loss = step(torch.ones(2)) if torch is not tapegrad else torch.compile(step)(torch.ones(2))
        names = []
        for _ in range(2):
            try:
                loss.backward()
            except RuntimeError as error:
                names.append(str(error).split(" (")[0])
        return told_of, loss.requires_grad, loss.grad_fn.name(), names

    agree(program)


def test_a_leaf_that_somebody_has_is_not_left_out():
    """The function gives it away: a later backward must reach it."""
    made = []

    def step(x):
        leaf = (x * 2).requires_grad_()
        made.append(leaf)
        return (leaf + 1).sum()

    compiled = tapegrad.compile(step)
    for call in range(1, 6):
        loss = compiled(tapegrad.ones(2))
        loss.backward()
        assert len(made) == call and made[-1].grad.tolist() == [1.0, 1.0]


def test_an_argument_is_made_to_require_grad():
    def program(torch):
        given = []

        def arguments(call):
            given[:] = [torch.tensor([0.1 * call, 1.0])]
            return given

        def step(x):
            x.requires_grad_()
            loss = (x**2).sum()
            loss.backward()
            return loss.detach()

        return told(torch, step, lambda: [given[0].grad.numpy(), given[0].requires_grad, given[0].is_leaf], arguments)

    agree(program)


def test_a_mask_is_read_once_and_again_when_it_was_written_to():
    def program(torch):
        task, mask = Task(torch), torch.tensor([True, False, True, True, False])
        optimizer = torch.optim.SGD(task.net.parameters(), lr=0.1)

        def step():
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(task.net(task.x)[mask], task.y[mask])
            loss.backward()
            optimizer.step()
            return loss

        first = told(torch, step, task.see)
        made = torch.compile(step) if torch is tapegrad else step
        later = []
        for call in range(10):
            if call % 4 == 3:
                mask[call // 4] = not mask[call // 4]
            later.append(made().detach().numpy().copy())
        return first, later, task.see()

    agree(program)


def test_what_is_read_and_written_is_read_each_time():
    def program(torch):
        count, x = torch.zeros(()), torch.ones(3)

        def step():
            factor = 2.0 if count.item() % 3 == 0 else 1.0
            count.add_(1)
            return x * factor

        return told(torch, step, lambda: [count.numpy()], replayed=0)

    agree(program)


def test_what_is_read_and_rebound_is_read_each_time():
    def program(torch):
        kept = {"x": torch.zeros(())}

        def step():
            factor = 2.0 if kept["x"].item() % 3 == 0 else 1.0
            kept["x"] = kept["x"] + 1
            return torch.ones(3) * factor

        return told(torch, step, lambda: [kept["x"].numpy()], replayed=0)

    agree(program)


DISTRIBUTIONS = {
    "Normal": lambda of, torch, w: of.Normal(w, w.exp()).log_prob(torch.ones(2)).sum(),
    "Categorical": lambda of, torch, w: of.Categorical(logits=w).log_prob(torch.tensor([0, 1])).sum(),
    "a divergence": lambda of, torch, w: of.kl_divergence(of.Normal(w, w.exp()), of.Normal(0.0, 1.0)).sum(),
    "of several": lambda of, torch, w: of.MultivariateNormal(w, w.exp().diag()).log_prob(torch.ones(2)),
    "geometric": lambda of, torch, w: of.Geometric(w.sigmoid()).log_prob(torch.tensor([1.0, 3.0])).sum(),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions_check_what_they_are_given(name):
    def program(torch):
        w = torch.tensor([0.3, -0.4], requires_grad=True)
        optimizer = torch.optim.Adam([w], lr=0.1)

        def step():
            optimizer.zero_grad()
            loss = -DISTRIBUTIONS[name](torch.distributions, torch, w)
            loss.backward()
            optimizer.step()
            return loss

        return told(torch, step, lambda: [w.detach().numpy()])

    agree(program)


def test_what_distributions_refuse_is_said_late():
    normal = tapegrad.compile(lambda loc: tapegrad.distributions.Normal(loc, 1.0).log_prob(tapegrad.zeros(2)))
    for _ in range(4):
        assert normal(tapegrad.ones(2)).tolist() == pytest.approx([-1.4189385] * 2)
    with pytest.raises(ValueError, match=r"parameter loc \(Tensor of shape \(2,\)\) of distribution Normal to satisfy"):
        normal(tapegrad.tensor([1.0, float("nan")])).tolist()


@pytest.mark.parametrize("value", [1.0, float("inf")])
def test_a_scaled_step(value):
    """One whose gradients are not finite is left out."""

    def program(torch):
        task = Task(torch)
        optimizer = torch.optim.Adam(task.net.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=4)

        def step(factor):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(task.net(task.x), task.y) * factor
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss

        def see():
            return [*task.see(), scaler.get_scale(), *(one["step"].numpy() for one in optimizer.state.values())]

        return told(torch, step, see, lambda call: (torch.tensor(value if call % 5 == 4 else 1.0),))

    agree(program)


def test_options_of_a_command_line():
    def program(torch):
        given = argparse.Namespace(factor=2.0)
        x = torch.ones(3)
        step = lambda: x * given.factor
        made = torch.compile(step) if torch is tapegrad else step
        seen = []
        for call in range(8):
            given.factor = 2.0 if call < 5 else 3.0
            seen.append(made().numpy().copy())
        assert torch is not tapegrad or made.replayed >= 2, made.report()
        return seen

    agree(program)


def test_hooks_of_optimizers_are_seen():
    calls = []
    task = Task(tapegrad)
    optimizer = tapegrad.optim.SGD(task.net.parameters(), lr=0.1)
    made = tapegrad.compile(task.step(optimizer))
    for call in range(10):
        if call == 5:
            handle = tapegrad.optim.optimizer.register_optimizer_step_post_hook(lambda *args: calls.append(1))
        if call == 8:
            handle.remove()
        made()
    assert len(calls) == 3


def test_warnings_of_layers_are_no_obstacle():
    lstm, x = tapegrad.nn.LSTM(3, 4, batch_first=True), tapegrad.ones(2, 5, 3)
    made = tapegrad.compile(tapegrad.no_grad()(lambda: lstm(x)[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(6):
            made()
    assert made.replayed >= 3, made.report()


@pytest.mark.once("the program is the same")
def test_numbers_move_whatever_else_is_in_the_library():
    """A step that has the library as an attribute reaches all of it that is imported, and that tells types apart."""
    assert tapegrad.nn.DataParallel is not None
    test_a_schedule("exponential", "inside")

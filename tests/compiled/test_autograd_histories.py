"""Tensors with a history that leave a compiled call: backward passes are asked for later, and do what they would."""

import gc
import weakref

import numpy as np
import pytest
from compiled_programs import agree, compare, seen

import tapegrad as torch
from tapegrad import nn
from tapegrad._src.execution.programs import step_executable
from tapegrad._src.execution.programs.subprogram import counters
from tapegrad._src.execution.tiers.settings import settings
from tapegrad.nn import functional as F

pytestmark = pytest.mark.once("chooses when operators are computed")

NAME = "CompiledFunctionBackward"


def ramp(*shape, scale=0.1):
    return (torch.arange(float(np.prod(shape)), dtype=torch.float64).reshape(shape) * scale).sin()


def net(*layers, seed=0):
    """A model whose parameters are numbers that are always the same."""
    model = nn.Sequential(*layers).double()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters(), seed + 1):
            parameter.copy_(ramp(*parameter.shape, scale=0.7 * number) * 0.5)
    return model


def mlp():
    return net(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 2))


def trained(model, compiled, x, loss, rate=0.1):
    """A step that is made of a compiled model, and the rest as it stands."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)

    def step(number):
        optimizer.zero_grad()
        out = loss(compiled(x(number)))
        out.backward()
        optimizer.step()
        return out

    return step, [*model.parameters(), *model.buffers()]


def rows(number):
    return ramp(4, 3) + number / 4


def square(out):
    return (out**2).mean()


PROGRAMS, UNREPLAYED = {}, {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def left_to_python(function):
    UNREPLAYED[function.__name__] = function
    return function


# -- models and losses -------------------------------------------------------------------------------------------------


@program
def a_perceptron(wrap):
    model = mlp()
    return trained(model, wrap(model), rows, square)


@program
def a_convolutional_net_with_statistics(wrap):
    model = net(
        nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(16, 3),
    )  # fmt: skip
    targets = torch.tensor([0, 1, 2])
    pictures = lambda number: ramp(3, 2, 4, 4, scale=number + 0.3)
    return trained(model, wrap(model), pictures, lambda out: F.cross_entropy(out, targets))


@program
def dropout(wrap):
    model = net(nn.Linear(3, 32), nn.Dropout(0.5), nn.Linear(32, 2))
    return trained(model, wrap(model), rows, square)


@program
def training_and_evaluation_in_turn(wrap):
    model = net(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    compiled = wrap(model)
    step, state = trained(model, compiled, rows, square)

    def call(number):
        trained_loss = step(number)
        model.eval()
        with torch.no_grad():
            evaluated = compiled(rows(0))
        model.train()
        return trained_loss, evaluated

    return call, state


@program
def a_recurrent_net(wrap):
    model = nn.LSTM(3, 4, batch_first=True).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(ramp(*parameter.shape))
    compiled = wrap(model)

    def call(number):
        out, (hidden, cell) = compiled(ramp(2, 5, 3) + number)
        (out.sum() + hidden.sum() * 2).backward()
        return out.detach(), cell.detach()

    return call, list(model.parameters())


@program
def a_frozen_and_a_shared_parameter(wrap):
    model = net(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
    model[2].weight = model[0].weight
    model[0].bias.requires_grad_(False)
    return trained(model, wrap(model), rows, square)


@program
def a_loss(wrap):
    model, loss = mlp(), wrap(F.cross_entropy)
    return trained(model, model, rows, lambda out: loss(out, torch.tensor([0, 1, 1, 0])))


@program
def compiled_functions_in_series(wrap):
    first, second, loss = net(nn.Linear(3, 8), nn.Tanh()), net(nn.Linear(8, 2)), wrap(F.cross_entropy)
    head, tail = wrap(first), wrap(second)
    both = nn.ModuleList([first, second])
    return trained(both, lambda x: tail(head(x)), rows, lambda out: loss(out, torch.tensor([0, 1, 1, 0])))


@program
def a_discriminator(wrap):
    generator = net(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
    critic = net(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    compiled = wrap(critic)

    def call(number):
        fake = generator(ramp(4, 2) + number)
        wrong = F.softplus(compiled(fake.detach())).mean() + F.softplus(-compiled(rows(number))).mean()
        wrong.backward()
        right = F.softplus(-compiled(fake)).mean()
        right.backward()
        return wrong, right

    return call, [*generator.parameters(), *critic.parameters()]


@program
def twice_in_one_step(wrap):
    model = mlp()
    compiled = wrap(model)

    def call(number):
        one, two = compiled(rows(number)), compiled(rows(number + 1))
        ((one - two) ** 2).mean().backward()
        return one.detach(), two.detach()

    return call, list(model.parameters())


@program
def accumulated_gradients(wrap):
    model = mlp()
    compiled = wrap(model)

    def call(number):
        for part in range(3):
            square(compiled(rows(part + number))).backward()
        gradients = [parameter.grad.clone() for parameter in model.parameters()]
        model.zero_grad()
        return gradients

    return call, []


# -- what comes out ----------------------------------------------------------------------------------------------------


@program
def containers_of_outputs_that_depend_on_each_other(wrap):
    model = mlp()

    def forward(x):
        hidden = model[0](x).tanh()
        return {"hidden": hidden, "outs": [model[2](hidden), model[2](-hidden)], "kept": hidden.detach() * 2, "n": 3}

    compiled = wrap(forward)

    def call(number):
        model.zero_grad()
        given = compiled(rows(number))
        loss = square(given["outs"][0]) + (given["hidden"].sum() if number % 2 else 0)
        loss.backward()
        return given["kept"], given["n"], loss

    return call, list(model.parameters())


@program
def gradients_and_hooks_at_an_output_that_others_depend_on(wrap):
    weight = torch.tensor([0.5, -1.0], requires_grad=True)
    compiled = wrap(lambda x: ((a := (x * weight).tanh()), (b := (a * 2).exp()), b.sum() + a.sum()))

    def call(number):
        a, b, total = compiled(torch.ones(2) * (number + 1))
        (inner,) = torch.autograd.grad(total, a, retain_graph=True)
        a.retain_grad()
        arrived = []
        b.register_hook(arrived.append)
        (total * 2 + b.mean()).backward()
        return inner, a.grad, arrived[0]

    return call, [weight]


@program
def an_output_without_a_gradient_where_that_would_be_nan(wrap):
    compiled = wrap(lambda x: ((x * x).sum(), x.log(), x.argmax()))
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)

    def call(number):
        loss = compiled(x)[0]
        loss.backward()
        return loss

    return call, [x]


@program
def views_that_come_out(wrap):
    model = net(nn.Linear(3, 4))
    compiled = wrap(lambda x: (model(x).squeeze(-1)[1:], *model(x).t().chunk(2), model(x)[:, -1], model(x).view(2, -1)))

    def call(number):
        model.zero_grad()
        first, *others = given = compiled(rows(number))
        first.mul_(2)
        (first.sum() + sum((one**2).sum() for one in others[1:])).backward()
        return [one.detach().clone() for one in given], first.stride(), others[-1].stride()

    return call, list(model.parameters())


@program
def outputs_that_are_written_to(wrap):
    compiled = wrap(lambda x: x * 2)

    def call(number):
        x = ramp(3).requires_grad_()
        out = compiled(x)
        out.mul_(3)
        out[0] = 0
        version = out._version
        (out * out).sum().backward()
        return out.detach(), version, x.grad

    return call, []


@program
def an_argument_that_comes_out_again(wrap):
    compiled = wrap(lambda x: (x, x * 2))

    def call(number):
        x = ramp(3).requires_grad_() * (number + 1)
        same, double = compiled(x)
        return same is x, double.grad_fn.next_functions[0][0] is x.grad_fn, double.detach()

    return call, []


@program
def in_place_functions_inside(wrap):
    model = net(nn.Linear(3, 4))

    def forward(x):
        hidden = model(x).clone()
        hidden[:, 0] = 0
        return hidden.mul_(2).relu_()

    return trained(model, wrap(forward), rows, square)


# -- what goes in, and how it is asked for -----------------------------------------------------------------------------


@program
def gradients_of_some_inputs(wrap):
    model = mlp()
    compiled = wrap(model)

    def call(number):
        x = rows(number).requires_grad_()
        out = square(compiled(x))
        some = torch.autograd.grad(out, [x, model[0].weight], retain_graph=True)
        return *some, *torch.autograd.grad(out, [model[2].bias])

    return call, []


@program
def arguments_with_a_common_history(wrap):
    compiled = wrap(lambda x, y, z: (x * y).sum() + z.sum())
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)

    def call(number):
        leaf.grad = None
        x = leaf * (number + 1)
        y = x.exp()
        return compiled(x, y, y)

    def step(number):
        out = call(number)
        out.backward()
        return out

    return step, [leaf]


@program
def hooks_on_what_is_outside(wrap):
    model = net(nn.Linear(3, 4), nn.Tanh())
    model[0].weight.register_hook(torch.neg)
    compiled = wrap(model)

    def call(number):
        model.zero_grad()
        out = compiled(rows(number))
        out.register_hook(lambda grad: grad * 0.5)
        out.retain_grad()
        out.sum().backward()
        return out.grad, model[0].weight.grad.clone()

    return call, []


@program
def the_graph_is_kept(wrap):
    model = mlp()
    compiled = wrap(model)

    def call(number):
        model.zero_grad()
        loss = square(compiled(rows(number)))
        loss.backward(retain_graph=True)
        loss.backward()
        return loss

    return call, list(model.parameters())


@program
def a_gradient_penalty(wrap):
    critic = net(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    compiled = wrap(critic)

    def call(number):
        critic.zero_grad()
        x = rows(number).requires_grad_()
        out = compiled(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        loss = ((slope.norm(dim=1) - 1) ** 2).mean() + out.mean()
        loss.backward()
        return loss, x.grad

    return call, list(critic.parameters())


@program
def gradients_of_gradients_of_gradients(wrap):
    compiled = wrap(lambda x, w: (x * w).sin() * x.detach() + w.exp())

    def call(number):
        x, w = (ramp(2) + 0.3).requires_grad_(), (ramp(2) + 0.5).requires_grad_()
        first = torch.autograd.grad(compiled(x * 1, w).sum(), [x, w], create_graph=True)
        (second,) = torch.autograd.grad((first[0] * first[1]).sum(), x, create_graph=True)
        (third,) = torch.autograd.grad(second.sum(), w)
        return [one.detach() for one in (*first, second, third)]

    return call, []


@program
def a_penalty_inside(wrap):
    critic = net(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def penalty(x):
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
        return ((slope.norm(dim=1) - 1) ** 2).mean()

    compiled = wrap(penalty)

    def call(number):
        critic.zero_grad()
        loss = compiled(rows(number))
        loss.backward()
        return loss

    return call, list(critic.parameters())


@program
def complex_numbers(wrap):
    compiled = wrap(lambda x: (x * x.conj()).real.sqrt() * x)
    x = torch.tensor([1 + 2j, 2 - 1j], dtype=torch.complex128, requires_grad=True)

    def call(number):
        x.grad = None
        compiled(x * (number + 1)).abs().sum().backward()
        return torch.view_as_real(x.grad)

    return call, []


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    compare(PROGRAMS[name], calls=5, replayed=True)


@program
def gradients_that_come_later(wrap):
    """Who sets or looks at gradients that are not there at first does so when they are."""
    weight = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)

    def dropping(x):
        weight.grad = None
        return weight * x

    drops, updates = wrap(dropping), wrap(lambda x: (optimizer.step(), x * 2)[1])
    asks = wrap(lambda x: x if weight.grad is None else x + weight.grad)

    def call(number):
        if number > 2:
            weight.grad = ramp(2) + number
        seen = [asks(ramp(2)), updates(ramp(2)), asks(ramp(2))]
        return [one.clone() for one in seen], drops(ramp(2)).detach(), weight.grad, weight.detach().clone()

    return call, []


# -- what stays Python's -----------------------------------------------------------------------------------------------


@left_to_python
def a_hook_inside(wrap):
    model, counted = net(nn.Linear(3, 4)), []

    def forward(x):
        hidden = model(x)
        hidden.register_hook(lambda grad: counted.append(1) or grad * 2)
        return hidden.tanh()

    compiled = wrap(forward)

    def call(number):
        model.zero_grad()
        compiled(rows(number)).sum().backward()
        return len(counted)

    return call, list(model.parameters())


@left_to_python
def a_module_with_a_backward_hook(wrap):
    model, counted = net(nn.Linear(3, 4)), []
    model.register_full_backward_hook(lambda module, grad_input, grad_output: counted.append(1))
    compiled = wrap(model)

    def call(number):
        model.zero_grad()
        compiled(rows(number).requires_grad_()).sum().backward()
        return len(counted)

    return call, list(model.parameters())


class Counting(torch.autograd.Function):
    counted = 0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        Counting.counted += 1
        (x,) = ctx.saved_tensors
        return 2 * x * grad


@left_to_python
def a_custom_function(wrap):
    Counting.counted = 0
    compiled = wrap(lambda x: Counting.apply(x * 2).sin())
    x = torch.ones(3, requires_grad=True)

    def call(number):
        compiled(x).sum().backward()
        return Counting.counted

    return call, [x]


@left_to_python
def a_tensor_with_a_history_that_is_kept(wrap):
    model, kept = net(nn.Linear(3, 4)), []

    def forward(x):
        kept.append(model(x))
        return kept[-1].tanh()

    compiled = wrap(forward)

    def call(number):
        model.zero_grad()
        (compiled(rows(number)).sum() + kept[-1].sum()).backward()
        return len(kept)

    return call, list(model.parameters())


@left_to_python
def a_backward_pass_through_a_history_from_outside(wrap):
    leaf = torch.ones(3, requires_grad=True)

    def step(y):
        loss = (y * y).sum()
        loss.backward()
        return loss.detach()

    compiled = wrap(step)

    def call(number):
        leaf.grad = None
        return compiled(leaf * (number + 1.0))

    return call, [leaf]


@left_to_python
def a_leaf_that_is_made_inside(wrap):
    def forward(x):
        point = torch.ones(3, requires_grad=True)
        return (point * x).sum(), point

    compiled = wrap(forward)

    def call(number):
        x = ramp(3).requires_grad_()
        out, point = compiled(x)
        out.backward()
        return point.grad, x.grad

    return call, []


@left_to_python
def an_argument_that_comes_out_detached(wrap):
    compiled = wrap(lambda x: (x * 2, x.detach()))

    def call(number):
        x = ramp(3).requires_grad_() * (number + 1)
        double, detached = compiled(x)
        return double.grad_fn.next_functions[0][0] is x.grad_fn, detached.requires_grad

    return call, []


@left_to_python
def an_output_that_shows_one_element_several_times(wrap):
    compiled = wrap(lambda x: (x * 2).sum().expand(3))

    def call(number):
        x = ramp(2).requires_grad_()
        out = compiled(x)
        out.sum().backward()
        return x.grad, out.stride()

    return call, []


@left_to_python
def views_of_one_memory(wrap):
    compiled = wrap(lambda x: ((y := x * 2), y.view(-1)))

    def call(number):
        x = ramp(2, 2).requires_grad_()
        y, flat = compiled(x)
        with torch.no_grad():
            flat[0] = 5
        (y * y).sum().backward()
        return y.detach(), x.grad

    return call, []


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize("name", UNREPLAYED)
def test_programs_left_to_python(name):
    compare(UNREPLAYED[name], calls=5, replayed=False)


def test_the_comparison_can_fail():
    """A gradient that arrives in the wrong place is found, be it a little one."""

    def wrong(wrap):
        leaf = torch.ones(3, requires_grad=True)
        compiled = wrap(lambda x: x * 2)

        def call(number):
            leaf.grad = None
            compiled(leaf).sum().backward()
            leaf.grad.mul_(1.001 if compiled.__class__.__name__ == "Compiled" else 1)

        return call, [leaf]

    with pytest.raises(AssertionError):
        compare(wrong)


# -- the graph, errors, memory -----------------------------------------------------------------------------------------


def warm(function, *arguments, calls=3):
    compiled = torch.compile(function)
    for _ in range(calls):
        compiled(*arguments)
    assert compiled.replayed
    return compiled


def test_the_graph():
    model = net(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2))
    compiled = warm(model, rows(0))
    for out in (compiled(rows(1)), torch.compile(model)(rows(1))):
        node = out.grad_fn
        assert (node.name(), type(node).__name__, out._version, out.is_leaf) == (NAME, NAME, 0, False)
        ends = {id(end.variable) for end, _ in node.next_functions}
        assert ends == {id(parameter) for parameter in model.parameters()}
        assert isinstance(node, torch.autograd.graph.Node)


def test_a_call_that_records_nothing_keeps_nothing():
    model = mlp()
    compiled = torch.compile(model)
    for _ in range(4):
        with torch.no_grad():
            assert compiled(rows(0)).grad_fn is None
        with torch.inference_mode():
            assert compiled(rows(0)).is_inference()


def write_weight(model, x, out):
    with torch.no_grad():
        model[2].weight.add_(1)


def write_output(model, x, out):
    with torch.no_grad():
        out.add_(1)


def write_input(model, x, out):
    x.mul_(2)


def write_what_nobody_saved(model, x, out):
    with torch.no_grad():
        model[0].bias.add_(1)
        model[2].bias.add_(1)


WRITES = [write_weight, write_output, write_input, write_what_nobody_saved]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("calls", [1, 4], ids=["captured", "replayed"])
def test_writes_after_the_forward_pass(write, calls):
    """Who writes to what was saved is told of it, and nobody else."""

    def told(compiles):
        model = net(nn.Linear(3, 2), nn.Sigmoid(), nn.Linear(2, 2), nn.Sigmoid())
        forward = torch.compile(model) if compiles else model
        for _ in range(calls):
            x = ramp(4, 3).requires_grad_() * 1
            out = forward(x)
        write(model, x, out)
        try:
            out.sum().backward()
        except RuntimeError as error:
            return str(error).partition(", which is output 0 of")[0].partition(" is at version")[0]
        return [parameter.grad.numpy() for parameter in model.parameters()]

    ours, plain = told(True), told(False)
    assert isinstance(ours, str) == isinstance(plain, str) == (write is not write_what_nobody_saved)
    agree(ours, plain, write.__name__)


def test_a_second_backward_pass_is_refused():
    compiled = warm(mlp(), rows(0))
    loss = square(compiled(rows(1)))
    loss.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()
    with pytest.raises(RuntimeError, match="appears to not have been used"):
        torch.autograd.grad(compiled(rows(1)).sum(), torch.ones(1, requires_grad=True))


def test_other_flags_and_formulas():
    """What is guarded is seen: a parameter that is frozen, a mode, a function of jax's that looks on."""
    model = mlp()
    compiled = warm(model, rows(0))
    model[0].weight.requires_grad_(False)
    compiled(rows(0)).sum().backward()
    assert model[0].weight.grad is None and model[2].weight.grad is not None
    model[0].weight.requires_grad_(True)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: packed.append(x) or x, lambda x: x):
        compiled(rows(0)).sum().backward()
    assert packed


def kept_bytes(out, given):
    """What the nodes of a history have saved, but for parameters, and what was given."""
    there = {id(one._value) for one in given}
    stack, known, arrays = [out.grad_fn], set(), {}
    while stack:
        node = stack.pop()
        if node is None or id(node) in known:
            continue
        known.add(id(node))
        stack += [following for following, _ in node.next_functions]
        kept = getattr(node, "kept", None) or getattr(node, "saved", None) or ()
        for item in kept:
            if isinstance(item, torch.Tensor):
                item = None if item.is_leaf and item.requires_grad else item._value
            if hasattr(item, "nbytes") and id(item) not in there:
                arrays[id(item)] = item.nbytes
    return sum(arrays.values())


MODELS = {
    "perceptron": (lambda: net(nn.Linear(3, 64), nn.GELU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)), (256, 3)),
    "convolutions": (lambda: net(nn.Conv2d(2, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AvgPool2d(2)), (4, 2, 16, 16)),
    "attention": (lambda: nn.MultiheadAttention(16, 4, batch_first=True).double(), (2, 8, 16)),
    "masks": (lambda: net(nn.Linear(3, 64), nn.Dropout(), nn.Softmax(-1), nn.Threshold(0.1, 0)), (256, 3)),
}


@pytest.mark.parametrize("name", MODELS)
def test_no_more_is_kept_than_nodes_would_save(name):
    make, shape = MODELS[name]
    model = make()
    given = (ramp(*shape),) * (3 if name == "attention" else 1)
    compiled = torch.compile(model)
    first = lambda out: out[0] if isinstance(out, tuple) else out
    plain = kept_bytes(first(model(*given)), given)
    ours = [kept_bytes(first(compiled(*given)), given) for _ in range(4)]
    assert 0 < min(ours) <= max(ours) <= plain + 64, (ours, plain)  # a random key, say


def test_what_was_kept_is_let_go():
    model = mlp()
    compiled, held = warm(model, rows(0)), []
    for number in range(4):
        x = rows(number)
        out = compiled(x)
        held += [weakref.ref(x), weakref.ref(out), weakref.ref(out.grad_fn)]
        out.sum().backward()
        assert not isinstance(out.grad_fn.kept, list)
        del x, out
    gc.collect()
    assert [one() for one in held] == [None] * len(held)


def test_backward_programs_are_compiled_when_they_are_asked_for():
    model = mlp()
    compiled = warm(model, rows(0))
    assert not compiled(rows(0)).grad_fn.backward._programs
    for _ in range(3):
        out = compiled(rows(0))
        out.sum().backward()
        assert len(out.grad_fn.backward._programs) == 1
    x = rows(0).requires_grad_()
    torch.autograd.grad(compiled(rows(0)).sum(), model[0].weight)
    assert len(out.grad_fn.backward._programs) == 2
    assert x.grad is None


def test_both_programs_are_compiled_in_the_background(monkeypatch):
    """Calls go on at once until both are there; then the model and its backward pass are a program each."""
    monkeypatch.setattr(settings, "background", True)
    monkeypatch.setattr(step_executable, "SECONDS_PER_STEP", 0.002)
    monkeypatch.setattr(step_executable, "SECONDS_PER_INSTRUCTION", 0.0002)
    monkeypatch.setattr(step_executable, "SECONDS_TO_LOAD", 0.002)  # where the tests have run before
    monkeypatch.setattr(step_executable, "REPLAY", -1.0)  # small as they are, their programs pay
    models = [mlp(), mlp()]
    compiled, counted = torch.compile(models[0]), counters.compiled
    steps = [trained(model, run, rows, square)[0] for model, run in zip(models, (compiled, models[1]), strict=True)]
    first = None
    for number in range(400):
        ours, plain = (step(number % 4) for step in steps)
        np.testing.assert_allclose(ours.item(), plain.item(), rtol=1e-9)
        if compiled.replayed and first is None:
            first = number
            assert counters.compiled == counted + 2
    assert first is not None and 2 < first < 300, compiled.report()
    assert counters.compiled == counted + 2
    assert compiled.report().endswith("kind 1: replayed")


def test_inside_a_step_that_is_compiled_as_a_whole():
    """Nested compiled functions are captured as they stand."""
    model = mlp()
    inner = torch.compile(model)
    step, (first, *_) = trained(model, inner, rows, square)
    whole = torch.compile(lambda x: step(0))
    for _ in range(4):
        whole(torch.ones(1))
    assert whole.replayed and not inner.calls, whole.report()
    assert first.grad is not None


def test_a_pass_through_a_captured_history_inside_a_capture():
    """A compiled step that runs backward through what another compiled function has returned before."""

    def told(wrap):
        model = mlp()
        forward, finish = wrap(model), wrap(lambda out: square(out).backward())
        grads = []
        for number in range(4):
            model.zero_grad()
            finish(forward(rows(number)))
            grads.append([seen(parameter.grad) for parameter in model.parameters()])
        return grads

    agree(told(torch.compile), told(lambda function: function), "gradients")

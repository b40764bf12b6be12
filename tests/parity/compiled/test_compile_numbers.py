"""Steps with Python numbers that are others in each call: replayed, and as PyTorch computes them without compiling."""

import copy
import math
from math import cos

import pytest
from harness import agree

import tapegrad

CALLS = 20
A, B = [[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]], [[1.0], [0.0], [2.0]]

pytestmark = pytest.mark.once("a compiled step is recorded in either mode")

TURN = 0


def told(torch, step, see, arguments=lambda call: (), before=lambda call: None, replayed=CALLS - 8):
    """What is seen after each of some calls; most of ours must have been replayed."""
    made = torch.compile(step) if torch is tapegrad else step
    seen = []
    for call in range(CALLS):
        before(call)
        given = made(*arguments(call))
        given = given.detach().numpy().copy() if isinstance(given, torch.Tensor) else given
        seen.append([given, type(given).__name__ if isinstance(given, (int, float)) else None, see()])
    if torch is tapegrad:
        assert made.replayed >= replayed, made.report()
        assert replayed <= 0 or "replayed" in made.report().splitlines()[-1], made.report()
    return seen


class Model:
    """A linear model, its loss, and a plain step."""

    def __init__(self, torch):
        self.torch = torch
        self.w = torch.tensor([[0.3], [-0.2]], requires_grad=True)
        self.x, self.y = torch.tensor(A), torch.tensor(B)
        self.m, self.v = torch.zeros(2, 1), torch.zeros(2, 1)

    def backward(self, scale=1.0):
        self.w.grad = None
        loss = ((self.x @ self.w - self.y) ** 2).mean()
        (loss * scale).backward()
        return loss

    def descend(self, rate):
        with self.torch.no_grad():
            self.w.sub_(self.w.grad, alpha=rate)

    def adam(self, t, rate=0.1, beta1=0.9, beta2=0.99):
        with self.torch.no_grad():
            self.m.mul_(beta1).add_(self.w.grad, alpha=1 - beta1)
            self.v.mul_(beta2).addcmul_(self.w.grad, self.w.grad, value=1 - beta2)
            denominator = (self.v.sqrt() / math.sqrt(1 - beta2**t)).add_(1e-8)
            self.w.addcdiv_(self.m, denominator, value=-rate / (1 - beta1**t))

    def see(self):
        return [one.detach().numpy().copy() for one in (self.w, self.m, self.v)]


def adam_by_closure(torch):
    model, t = Model(torch), 0

    def step():
        nonlocal t
        t += 1
        loss = model.backward()
        model.adam(t)
        return loss

    return told(torch, step, lambda: [t, model.see()])


def adam_in_an_object(torch):
    class Adam:
        def __init__(self):
            self.model, self.t, self.rate = Model(torch), 0, 0.1

        def step(self):
            loss = self.model.backward()
            self.t += 1
            self.model.adam(self.t, self.rate)
            return loss

    adam = Adam()
    return told(torch, adam.step, lambda: [adam.t, adam.rate, adam.model.see()])


def adam_with_slots(torch):
    class Counter:
        __slots__ = ("count",)

    counter, model = Counter(), Model(torch)
    counter.count = 0

    def step():
        counter.count += 1
        model.backward()
        model.adam(counter.count)

    return told(torch, step, lambda: [counter.count, model.see()])


def adam_with_a_state(torch):
    model = Model(torch)
    state = {"step": 0, "betas": (0.9, 0.99), "rates": [0.1, 0.2]}

    def step():
        state["step"] += 1
        state["rates"][0] *= 0.95
        beta1, beta2 = state["betas"]
        loss = model.backward()
        model.adam(state["step"], state["rates"][0], beta1, beta2)
        return loss

    return told(torch, step, lambda: [state["step"], list(state["rates"]), model.see()])


def adam_with_a_global(torch):
    global TURN
    TURN = 0
    model = Model(torch)

    def step():
        global TURN
        TURN += 1
        loss = model.backward()
        model.adam(TURN)
        return loss

    return told(torch, step, lambda: [TURN, model.see()])


def powers_kept_as_numbers(torch):
    model, state = Model(torch), {"beta1": 1.0, "beta2": 1.0}

    def step():
        model.backward()
        state["beta1"] *= 0.9
        state["beta2"] = state["beta2"] * 0.99
        with torch.no_grad():
            model.m.lerp_(model.w.grad, 0.1)
            model.v.mul_(0.99).addcmul_(model.w.grad, model.w.grad, value=0.01)
            rate = 0.1 * (1 - state["beta2"]) ** 0.5 / (1 - state["beta1"])
            model.w -= rate * model.m / (model.v.sqrt() + 1e-8)
        return rate

    return told(torch, step, lambda: [state["beta1"], state["beta2"], model.see()])


def schedule_as_argument(torch):
    model = Model(torch)

    def step(rate, *, scale):
        loss = model.backward(scale)
        model.descend(rate / scale)
        return loss

    made = torch.compile(step) if torch is tapegrad else step
    seen = []
    for call in range(CALLS):
        loss = made(0.1 / (call + 1), scale=2.0)
        seen.append([loss.detach().numpy().copy(), model.see()])
    assert torch is not tapegrad or made.replayed >= CALLS - 5, made.report()
    return seen


def schedule_of_a_counter(torch):
    model, t = Model(torch), 0

    def schedule(step):
        return 0.05 * (1 + cos(math.pi * step / 20)) + 0.001 * math.exp(-step)

    def step():
        nonlocal t
        rate = schedule(t)
        t = t + 1
        loss = model.backward()
        model.descend(rate)
        return loss, rate

    return told(torch, lambda: step()[1], lambda: [t, model.see()])


def schedule_from_outside(torch):
    model = Model(torch)
    options = {"rate": 0.1}

    def step():
        loss = model.backward()
        model.descend(options["rate"])
        return loss

    def before(call):
        options["rate"] = 0.1 * 0.9 ** (call // 2)

    return told(torch, step, model.see, before=before, replayed=CALLS - 10)


def warming_up(torch):
    model, t = Model(torch), 0

    def step():
        nonlocal t
        t += 1
        loss = model.backward()
        model.descend(0.1 * min(1.0, t / 6))
        return loss

    return told(torch, step, lambda: [t, model.see()], replayed=CALLS - 9)


def average(torch):
    model, average, updates = Model(torch), torch.zeros(2, 1), 0

    def step():
        nonlocal updates
        updates += 1
        decay = min(0.99, (1 + updates) / (10 + updates))
        model.backward()
        model.descend(0.1)
        with torch.no_grad():
            average.mul_(decay).add_(model.w, alpha=1 - decay)
        return average

    return told(torch, step, lambda: [updates, model.see()])


def scaled_loss(torch):
    model = Model(torch)
    scaler = {"scale": 4.0, "good": 0}

    def step():
        loss = model.backward(scaler["scale"])
        with torch.no_grad():
            model.w.grad.div_(scaler["scale"])
        model.descend(0.1)
        scaler["good"] += 1
        if scaler["good"] == 4:
            scaler["scale"], scaler["good"] = scaler["scale"] * 2, 0
        return loss

    return told(torch, step, lambda: [dict(scaler), model.see()], replayed=6)


def clipped(torch):
    model, limit = Model(torch), [1.0]

    def step():
        loss = model.backward()
        with torch.no_grad():
            model.w.grad.mul_((limit[0] / (model.w.grad.norm() + 1e-6)).clamp(max=1.0))
        limit[0] *= 0.9
        model.descend(0.1)
        return loss

    return told(torch, step, lambda: [limit[0], model.see()])


def every_fifth(torch):
    model, t = Model(torch), 0

    def step():
        nonlocal t
        t += 1
        loss = model.backward()
        model.descend(0.1 / t)
        if t % 5 == 0:
            with torch.no_grad():
                model.m.copy_(model.w)
        return loss

    return told(torch, step, lambda: [t, model.see()], replayed=8)


def stopping(torch):
    model, rate = Model(torch), [0.1]

    def step():
        loss = model.backward()
        model.descend(rate[0])
        if rate[0] > 0.03:
            rate[0] *= 0.8
        return loss

    return told(torch, step, lambda: [rate[0], model.see()], replayed=CALLS - 10)


def becoming_a_float(torch):
    model, numbers = Model(torch), [1]

    def step():
        model.backward()
        model.descend(0.1 * numbers[0])
        numbers[0] = numbers[0] + 1 if numbers[0] < 4 else numbers[0] / 2
        return numbers[0]

    return told(torch, step, lambda: [list(numbers), type(numbers[0]).__name__, model.see()], replayed=2)


PROGRAMS = [
    adam_by_closure, adam_in_an_object, adam_with_slots, adam_with_a_state, adam_with_a_global, powers_kept_as_numbers,
    schedule_as_argument, schedule_of_a_counter, schedule_from_outside, warming_up, average, scaled_loss, clipped,
    every_fifth, stopping, becoming_a_float,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_numbers(program):
    agree(program, rtol=1e-4, atol=1e-6)


def _written(x, write):
    y = x * 1
    write(y)
    return y


OF_NUMBERS = {
    "clamp": lambda torch, x, t: x.clamp(-t, t / 2),
    "clamp_min": lambda torch, x, t: torch.clamp_min(x, t),
    "clamp_max_": lambda torch, x, t: _written(x, lambda y: y.clamp_max_(t)),
    "pow": lambda torch, x, t: x.pow(t) + t**x,
    "pow_": lambda torch, x, t: _written(x, lambda y: y.pow_(t)),
    "full": lambda torch, x, t: x * torch.full((3,), t),
    "full_like": lambda torch, x, t: x * torch.full_like(x, t) + x.new_full((3,), t),
    "fill_": lambda torch, x, t: x * _written(x, lambda y: y.fill_(t)),
    "masked_fill": lambda torch, x, t: x.masked_fill(x > 1, t),
    "where": lambda torch, x, t: torch.where(x > t - 2, x, t),
    "comparisons": lambda torch, x, t: (x > t) * x + (x == t) * 3 + (t <= x) * 1.0,
    "remainders": lambda torch, x, t: torch.fmod(x * 7, t + 4) + (x * 7) % (t + 4),
    "xlogy": lambda torch, x, t: torch.xlogy(x, t + 5) + torch.copysign(x, t),
}


@pytest.mark.parametrize("start", [-3.0, -3, 0.5], ids=repr)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_functions_of_numbers(name, start):
    """Gradients, too, whatever the number is: also where other formulas are quicker, or the number is an int."""
    exact = name != "full" or isinstance(start, float)

    def program(torch):
        w = torch.tensor([1.0, 2.0, 0.5], requires_grad=True)

        def step(t):
            w.grad = None
            result = OF_NUMBERS[name](torch, w, t)
            result.sum().backward()
            return result

        return told(torch, step, lambda: w.grad.numpy().copy(), lambda call: (start + call,), replayed=16 * exact)

    agree(program, rtol=1e-5, atol=1e-6)


def test_numbers_that_no_element_can_be():
    """What refuses a number while the call is captured refuses it when it is replayed."""

    @tapegrad.compile
    def step(x, bound):
        return x.clamp(max=bound)

    x = tapegrad.tensor([1.0, 2.0])
    for bound in (0.5, 1.0, 1.5, 1.75, 1.875):
        assert step(x, bound).tolist() == [min(1.0, bound), bound]
    assert step.replayed >= 2
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        step(x, 1e39)
    assert step(x, float("inf")).tolist() == [1.0, 2.0]


def counting(body, **more):
    """A step with a counter, and with a state for more."""

    def program(torch):
        state = {"t": 0, **copy.deepcopy(more)}

        def step(x):
            state["t"] += 1
            return body(torch, state, state["t"], x)

        made = torch.compile(step) if torch is tapegrad else step
        seen = []
        for _ in range(8):
            given = made(torch.tensor([1.0, 2.0, 0.5]))
            given = given.detach().numpy().copy() if isinstance(given, torch.Tensor) else given
            seen.append([given, type(given).__name__ if isinstance(given, (int, float)) else None, repr(state)])
            assert all(type(value) in (int, float, list, dict, tuple, str) for value in state.values())
        return seen

    return program


READ = {
    "a table": counting(lambda torch, state, t, x: x * state["rates"][t], rates=[0.1] * 4 + [0.01] * 9),
    "float": counting(lambda torch, state, t, x: x * float(t)),
    "text": counting(lambda torch, state, t, x: x * float(f"{t}.5")),
    "a length": counting(lambda torch, state, t, x: torch.zeros(t % 4 + 1) + x[0]),
    "an index": counting(lambda torch, state, t, x: x[t % 3] * 2),
    "a slice": counting(lambda torch, state, t, x: x[t % 3 :] * 2),
    "an item": counting(lambda torch, state, t, x: x.__setitem__(t % 3, t / 2) or x * 1),
    "a new tensor": counting(lambda torch, state, t, x: torch.tensor([[t, 0.5]]) * t + torch.full((2,), t / 4)),
    "integers": counting(lambda torch, state, t, x: torch.tensor([1, 2]) * t),
    "an exponent": counting(lambda torch, state, t, x: x**t),
    "limits": counting(lambda torch, state, t, x: x.clamp(max=t / 5) + torch.where(x > 1, x, t / 3)),
    "a comparison": counting(lambda torch, state, t, x: (x > t / 4).float()),
    "a setting": counting(lambda torch, state, t, x: torch.nn.functional.leaky_relu(-x, t / 10)),
    "a type": counting(lambda torch, state, t, x: x * t if type(t) is int else x),
    "a class": counting(lambda torch, state, t, x: x * t if isinstance(t, int) else x),
    "a choice": counting(lambda torch, state, t, x: x if t % 2 else -x),
    "a key": counting(lambda torch, state, t, x: x * {1: 2.0, 2: 3.0}.get(t, 1.0)),
    "a list": counting(lambda torch, state, t, x: (state["seen"].append(t * 2), x * t)[1], seen=[]),
    "a tuple": counting(lambda torch, state, t, x: (state.update(pair=(t, t / 2)), x * state["pair"][1])[1], pair=()),
    "results": counting(lambda torch, state, t, x: [t, t / 2, {"t": t}, (x * t).tolist()]),
    "a reset": counting(lambda torch, state, t, x: (state.update(t=0) if t >= 3 else None, x * t)[1]),
    "an error": counting(lambda torch, state, t, x: x / (t - 5) if t != 5 else x),
    "math": counting(lambda torch, state, t, x: x * math.hypot(t, 2) + math.floor(t / 3) + math.fsum([t, 1])),
}


@pytest.mark.parametrize("read", READ)
def test_what_python_reads_of_a_number(read):
    agree(READ[read], rtol=1e-5, atol=1e-6)


def test_numbers_that_choose_the_kind_of_a_call_have_a_program_each():
    @tapegrad.compile
    def step(x, mode):
        return x.sum(mode)

    x = tapegrad.ones(2, 3)
    for _ in range(6):
        assert step(x, 0).tolist() == [2, 2, 2]
        assert step(x, 1).tolist() == [3, 3]
    assert step.replayed >= 5, step.report()


def test_a_course_is_found_again():
    state = {"t": 0}

    @tapegrad.compile
    def step(x):
        state["t"] += 1
        return x * state["t"] if state["t"] % 3 else x - state["t"]

    x = tapegrad.ones(1)
    for t in range(1, 25):
        assert step(x).item() == (t if t % 3 else 1 - t)
    assert step.replayed >= 16, step.report()

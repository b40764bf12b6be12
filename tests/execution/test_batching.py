"""Programs of many tiny results, run as a few wide ones: what they give, and when it is done."""

import random

import jax
import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.kernels.kernel import Kernel
from tapegrad._src.execution.programs import batching, running, subprogram
from tapegrad._src.execution.recording.program import recording
from tapegrad._src.tensor.tensor import value_of, wrap

pytestmark = pytest.mark.once("programs are deferred here")

SAMPLES = [(0.5, -1.0, 1.0), (2.0, 0.25, -1.0), (-0.75, 1.5, 1.0)]


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Nothing is known of programs yet, and what comes for the second time is compiled."""
    monkeypatch.setattr(subprogram, "SEEN_ENOUGH", 2)
    running._programs.clear(), running._recent.clear(), batching.machine.cache.clear()
    running.reset_stats()


@pytest.fixture
def batches(monkeypatch):
    """The programs that were batched; all are whose results are tiny, from the second time on."""
    monkeypatch.setattr(batching, "LONG_ENOUGH", 1)
    monkeypatch.setattr(batching, "WIDE_ENOUGH", 0)
    found = []

    def noted(code, wanted, inputs):
        found.append(batching.batched(code, wanted, inputs))
        return found[-1]

    monkeypatch.setattr(running, "batched", noted)
    return found


def neuron(weights, values):
    """One number of a layer, each product and each sum an operator."""
    *weights, bias = weights
    return sum((w * x for w, x in zip(weights, values, strict=True)), bias)


def perceptron(samples=SAMPLES, dtype=torch.float32, width=6):
    """The loss of a perceptron of 0-dimensional tensors, and the gradients of its weights."""
    numbers = random.Random(0)
    draw = lambda count: [
        torch.tensor(numbers.uniform(-1, 1), dtype=dtype, requires_grad=True) for _ in range(count + 1)
    ]
    hidden, last = [draw(2) for _ in range(width)], draw(width)
    losses = []
    for x, y, label in samples:
        values = [torch.tensor(x, dtype=dtype), torch.tensor(y, dtype=dtype)]
        inner = [neuron(weights, values).relu() for weights in hidden]
        losses.append((1 - label * neuron(last, inner)).relu())
    loss = sum(losses) * (1 / len(losses))
    loss.backward()
    return [loss.detach(), *(w.grad for weights in (*hidden, last) for w in weights)]


def numbers_of(results):
    return [np.asarray(result.float().numpy()) for result in results]


def agree(program, times=3):
    """Whether a program gives the same each time, deferred, as at once."""
    expected = numbers_of(program())
    for _ in range(times):
        with torch.deferred():
            found = program()
        for ours, theirs in zip(numbers_of(found), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=1e-7)


# -- the same results --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_perceptron_of_scalars(dtype, batches):
    agree(lambda: perceptron(dtype=dtype))
    assert len(batches) == 1


def vectors_and_scalars():
    x = torch.tensor([0.5, -1.5, 2.0], requires_grad=True)
    y = sum((x * number).sin() * x[0] for number in range(3)).sum()
    y.backward()
    return y.detach(), x.grad


def numbers_of_every_kind():
    x = torch.tensor(1.5)
    return x * 2, x**2, x**2.5, 2**x, x + True, x > 1, torch.tensor(3) // 2, torch.tensor(3) * 0.5


def masks_and_integers():
    x, i = torch.tensor([1.0, -2.0]), torch.tensor([3, 4])
    return torch.where(x > 0, x, x * 0.1), (x > 0) & (i > 3), i * i + 1, (i % 2).float() * x


def a_large_input():
    table = torch.arange(100.0)
    return [table[i] * table.sum() for i in range(5)]


def complex_numbers():
    z = torch.tensor([1 + 2j, -0.5j], requires_grad=True)
    w = (z * z.conj()).real.sum()
    w.backward()
    return w.detach(), z.grad.real, z.grad.imag


def drawn_numbers():
    torch.manual_seed(3)
    return [torch.rand(2) * torch.nn.functional.dropout(torch.ones(4)).sum() for _ in range(3)]


def extreme_numbers():
    x = torch.tensor([0.0, -0.0, float("inf"), float("nan")])
    return x * 1e300, x + float("nan"), x / 0.0, torch.copysign(torch.ones(4), x), x * -0.0


def written_in_place():
    x = torch.zeros(3)
    for number in range(3):
        x[number] = number + 0.5
        x[1:].add_(x[0])
    return (x,)


def halves_and_numbers():
    x = torch.tensor([1.0, 3.0, 0.7])
    return [y for z in (x.half(), x.bfloat16()) for y in (z * 0.1, z + 257, z * 1e6, torch.lerp(z, z * 2, 0.1), 1.1**z)]


PROGRAMS = [
    vectors_and_scalars, numbers_of_every_kind, masks_and_integers, a_large_input, complex_numbers, drawn_numbers,
    extreme_numbers, written_in_place, halves_and_numbers,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_they_compute(program, batches):
    agree(program)
    assert batches


@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed, batches):
    """Operators on any of the values before, of three shapes and two dtypes."""

    def program():
        choose = random.Random(seed)
        values = [torch.tensor(0.3), torch.tensor([0.5, -1.0]), torch.tensor(2), torch.tensor([[1.0], [3.0]])]
        for _ in range(60):
            x, y = choose.choice(values), choose.choice(values)
            kind = choose.choice(["+", "*", "sin", "where", "number", "int"])
            if kind == "+":
                new = x + y
            elif kind == "*":
                new = (x * y).clamp(-2, 2)
            elif kind == "sin":
                new = x.sin()
            elif kind == "where":
                new = torch.where(x > y, x, y)
            elif kind == "number":
                new = x * choose.choice([0.5, -1.5, 2, 1])
            else:
                new = x.clamp(-9, 9).int() - 1
            if new.numel() <= 4:
                values.append(new)
        return values[-20:]

    agree(program, times=2)
    assert batches


def test_other_numbers_in_the_same_program(batches):
    """What is known of a program is not which numbers it was given."""
    program = lambda number: [torch.tensor([1.0, 2.0]) * number, torch.tensor(number) + 1.5, torch.tensor(2.0) ** 2]
    for number in (0.5, 2.5, -1.0):
        with torch.deferred():
            found = program(number)
        assert [one.tolist() for one in found] == [[number, 2 * number], number + 1.5, 4]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("at_once", [1, 1024])
def test_numbers_that_become_infinite_in_a_compiled_function(at_once, monkeypatch, batches):
    monkeypatch.setattr("tapegrad._src.execution.programs.step_executable.AT_ONCE", at_once)
    step = torch.compile(lambda x: (x * 1e300, x / 1e300))
    assert [[y.tolist() for y in step(torch.tensor([1.0, -2.0]))] for _ in range(4)] == [
        [[float("inf"), float("-inf")], [0.0, -0.0]]
    ] * 4


def test_a_compiled_function(monkeypatch, batches):
    monkeypatch.setattr("tapegrad._src.execution.programs.step_executable.AT_ONCE", 16)
    weights = [torch.tensor(0.1 * i, requires_grad=True) for i in range(12)]

    def loss_of(values):
        for w in weights:
            w.grad = None
        loss = sum((neuron(weights[i : i + 3], values) - 1) ** 2 for i in range(0, 12, 3))
        loss.backward()
        with torch.no_grad():
            for w in weights:
                w -= 0.1 * w.grad
        return loss.detach()

    step = torch.compile(loss_of)
    data = [torch.tensor(0.5), torch.tensor(-1.5)]
    losses = [step(data).item() for _ in range(5)]
    for i, w in enumerate(weights):
        w.data = torch.tensor(0.1 * i)
    np.testing.assert_allclose([loss_of(data).item() for _ in range(5)], losses, rtol=1e-6)
    assert step.replayed and batches


# -- when it is done ---------------------------------------------------------------------------------------------------


def code_of(program):
    """The instructions that a program records."""
    with torch.deferred():
        kept = program()
        code = list(recording.program.code)
        del kept
    return code


def squares(count, size=1):
    values = [torch.ones(size) * number for number in range(count)]
    return [value * value for value in values]


def chain(count):
    x = torch.ones(2)
    for _ in range(count):
        x = x * x
    return x


def test_long_programs_of_tiny_things_are_batched():
    assert batching.is_fine(code_of(lambda: squares(200)))
    assert not batching.is_fine(code_of(lambda: squares(20)))
    assert not batching.is_fine(code_of(lambda: squares(200, size=batching.TINY + 1)))
    assert not batching.is_fine(code_of(lambda: chain(400)))


def test_programs_of_many_kernels_are_not(monkeypatch, batches):
    monkeypatch.setattr(batching, "MOST_BRANCHES", 2)
    x = torch.tensor([3.0, 1.0, 2.0])
    for _ in range(3):
        with torch.deferred():
            found = x.sin(), x.roll(1), x.roll(2), x * x
        assert [one.tolist() for one in found[1:]] == [[2, 3, 1], [1, 2, 3], [9, 1, 4]]
    assert batches == [None]  # and it is not tried again


def test_programs_with_a_kernel_that_jax_cannot_map_are_not(batches):
    def asked(x):
        return jax.pure_callback(lambda x: -np.asarray(x), jax.ShapeDtypeStruct((), np.float32), x)

    negated = Kernel(asked, name="negated", wide=False).dispatcher()
    x = torch.tensor(2.0)
    for _ in range(3):
        with torch.deferred():
            found = [wrap(negated(value_of(x * number)), x._spec) for number in range(4)]
        assert [one.item() for one in found] == [0, -2, -4, -6]
    assert len(batches) == 1  # and it is not tried again


def test_the_first_time_kernels_run_one_by_one_the_second_time_one_program_is_compiled():
    for compiled in (0, 1, 1):
        with torch.deferred():
            found = squares(200)
        assert [value.item() for value in found[:3]] == [0, 1, 4]
        assert torch.execution.stats().compiled == compiled


def test_what_is_compiled_is_shared_by_programs_of_about_the_same_length(batches):
    for count in (37, 60):
        for _ in range(2):
            with torch.deferred():
                found = squares(count)
            assert found[-1].item() == (count - 1) ** 2
    assert len(batches) == 2 and len(batching.machine.cache) == 1


def test_depths_say_what_has_to_wait():
    add = Kernel(lambda x, y: x + y, name="add", wide=False).call_for([1.0, 2.0])
    code = [(add, -1, -2), (add, 0, 0), (add, -1, -1), (add, 1, 2)]
    assert batching.depths(code) == [0, 1, 0, 2]

"""Compiled functions and what tensors can be to one another: arguments, views, aliases, gradients, graphs, levels."""

import copy
import threading

import jax
import numpy as np
import pytest
from compiled_programs import X, Y, clear, compare, descend, leaf, loss_of, model, seen

import tapegrad as torch
from tapegrad.compiler import DataDependentError
from tapegrad.utils.checkpoint import checkpoint

ONES = torch.ones(2)


def kinds_of_arguments(wrap):
    @wrap
    def step(x, *rest, scale=1.0, tree=None):
        return (x * scale + sum(rest, 0) + (0 if tree is None else tree["a"])).sum(0)

    calls = [
        lambda: step(X), lambda: step(X, scale=2.0), lambda: step(X, X), lambda: step(X.to(torch.float64)),
        lambda: step(X[0]), lambda: step(X, tree={"a": X}), lambda: step(X, tree={"a": 2}), lambda: step(X, 1, True),
    ]  # fmt: skip
    return lambda number: [calls[number % 8]() for _ in range(1)], []


def same_tensor_twice(wrap):
    step = wrap(lambda x, y: x * 2 + y)
    return lambda number: step(X, X) if number in (0, 1, 2, 5) else step(X, X + number), []


def handles_of_one_memory(wrap):
    @wrap
    def step(x, y):
        return x * 2 + y

    def call(number):
        x = X * number
        return step(x, x.detach()) if number < 4 else step(x, X)

    return call, []


def a_parameter_as_argument(wrap):
    w = leaf(1.0, 2.0)

    @wrap
    def step(x):
        (w * x).sum().backward()

    def call(number):
        step(torch.ones(2) if number < 4 else w)

    return call, [w]


def aliases_that_are_written(wrap):
    w, other = torch.ones(2), torch.ones(2)
    w.add_(1)
    other.add_(1)

    @wrap
    def step(x):
        w.mul_(1.5)
        return x + 1

    return lambda number: step(other if number < 5 else w.detach()), [w, other]


def a_part_without_a_history(wrap):
    w = leaf(1.0, 2.0)

    @wrap
    def step():
        part = w.chunk(2)[0]
        with torch.no_grad():
            w.mul_(0.5)
        return part  # its history is refused to who asks for it, and nobody does

    def call(number):
        return step().tolist()

    return call, [w]


def arguments_in_place(wrap):
    state = torch.zeros(2)

    @wrap
    def step(h, x):
        h.mul_(0.5).add_(x)
        return h

    def call(number):
        result = step(state, ONES)
        return result is state, result

    return call, [state]


def views_of_parameters(wrap):
    w = leaf(1.0, 2.0, 3.0)

    @wrap
    def step(x):
        with torch.no_grad():
            w[1:].mul_(0.5)
            w[0] = x
        return w[:2].detach() * 2

    return lambda number: step(torch.tensor(float(number))), [w]


def kept_views(wrap):
    w = torch.arange(4.0)
    view, handle = w[1:3], w.detach()

    @wrap
    def step():
        view.add_(1)
        handle.mul_(1.5)
        return w.sum()

    return lambda number: step(), [w, view, handle]


def returns_views(wrap):
    w = torch.arange(4.0)

    @wrap
    def step():
        w.add_(1)
        return w[1:3], w, w.detach()

    def call(number):
        part, whole, handle = step()
        part.mul_(2)
        return part, whole is w, handle

    return call, [w]


def returns_views_of_results(wrap):
    @wrap
    def step(x):
        y = x * 2
        return y.t(), (y + 1)[0], (y + 2).view(-1), (y * 2)[:, 1:]

    def call(number):
        results = step(X * number)
        bases = [view._base.shape for view in results]
        strides = [(view.stride(), view.storage_offset()) for view in results]
        results[1].add_(1)
        return results, bases, strides, results[1]._base

    return call, []


def returns_one_twice(wrap):
    @wrap
    def step(x):
        y = x * 2
        return y, y, y + 1

    def call(number):
        one, other, third = step(X)
        one.add_(1)
        return one is other, other, third

    return call, []


def returns_a_gradient(wrap):
    w = leaf(1.0, 2.0)

    @wrap
    def step(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad

    def call(number):
        grad = step(ONES * number)
        grad.add_(1)
        return grad is w.grad

    return call, [w]


def returns_what_was_written(wrap):
    @wrap
    def step(x):
        y = x * 2
        y.add_(1)
        y += 3
        return y

    return lambda number: step(X), []


def grad_arguments(wrap):
    @wrap
    def step(x):
        (x * x).sum().backward()

    x = leaf(1.0, 2.0)

    def call(number):
        step(x)
        if number == 4:
            x.grad = None
        if number == 5:
            x.grad = torch.ones(2)

    return call, [x]


def differentiated_outside(wrap):
    w = leaf(1.0, 2.0)
    forward = wrap(lambda x: (w * x).relu().sum())

    def call(number):
        loss = forward(ONES * (number + 1))
        loss.backward()
        return loss

    return call, [w]


def differentiated_twice(wrap):
    w = leaf(1.0, 2.0)

    @wrap
    def step():
        w.grad = None
        loss = (w * w).sum()
        loss.backward()
        return loss

    def call(number):
        loss = step()
        with pytest.raises(RuntimeError, match="a second time"):
            loss.backward()
        loss.grad_fn.register_hook(print)
        return loss

    return call, [w]


def losses_that_are_looked_at(wrap):
    w = leaf(1.0, 2.0)

    @wrap
    def step():
        w.grad = None
        w2 = w.detach().mul_(2)
        loss = (w * w * 2).sum()
        loss.backward()
        return loss, loss.detach() + w2.sum()

    def call(number):
        loss, other = step()
        handle = loss.detach()
        handle.add_(1)
        return loss, other, handle

    return call, [w]


def sums_differentiated_twice(wrap):
    w = leaf(1.0, 2.0)

    @wrap
    def step():
        w.grad = None
        loss = w.sum()
        loss.backward()
        return loss

    def call(number):
        loss = step()
        loss.backward()
        return loss

    return call, [w]


def custom_functions(wrap):
    class Double(torch.autograd.Function):
        factor = 2.0

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * Double.factor

        @staticmethod
        def backward(ctx, grad):
            return grad * Double.factor + ctx.saved_tensors[0]

    w = leaf(1.0, 2.0)

    @wrap
    def step():
        w.grad = None
        checkpoint(lambda h: (Double.apply(h) * h).sum(), w, use_reentrant=False).backward()

    def call(number):
        if number == 4:
            Double.factor = 3.0
        step()

    return call, [w]


def transforms(wrap):
    w = leaf(1.0, 2.0)

    @wrap
    def step(x):
        square = lambda v: (w.detach() * v * v).sum()
        return torch.func.grad(square)(x), torch.vmap(square)(x.expand(2, 2)), torch.func.jvp(square, (x,), (x,))

    return lambda number: step(ONES * number), []


def nested(wrap):
    w = leaf(1.0, 2.0)
    inner = torch.compile(lambda x: w * x)

    @wrap
    def step(x):
        w.grad = None
        inner(x).sum().backward()
        return inner(x).detach()

    def call(number):
        return inner(ONES * number).detach() if number == 3 else step(ONES * number)

    return call, [w]


def recursive(wrap):
    step = wrap(lambda x, depth: x if depth == 0 else step(x * 2, depth - 1))
    return lambda number: step(X, 3), []


def inference(wrap):
    w = leaf(1.0, 2.0)
    forward = wrap(lambda x: w * x)

    def call(number):
        with torch.inference_mode() if number % 2 else torch.no_grad():
            return forward(ONES * number)

    return call, []


class Net:
    def __init__(self):
        self.weight, self.running, self.training, self.frozen = leaf(1.0, 2.0), torch.zeros(2), True, False

    def __call__(self, x):
        h = self.weight * x
        if self.training:
            self.running.mul_(0.9).add_(h.detach(), alpha=0.1)
        return (h - self.running).sum()


def modules(wrap):
    net = Net()
    forward = wrap(net)

    def call(number):
        net.training = number not in (4, 5, 6)
        net.weight.grad = None
        with torch.no_grad():
            return forward(ONES * number)

    return call, [net.weight, net.running]


def loading(wrap):
    parameters, saved = model(), [torch.full((2, 1), 3.0), torch.ones(1)]

    @wrap
    def step():
        clear(parameters)
        loss_of(parameters).backward()
        descend(parameters)

    def call(number):
        if number == 4:
            with torch.no_grad():
                for p, s in zip(parameters, saved, strict=True):
                    p.copy_(s)
        step()

    return call, [parameters, saved]


def held_arrays(wrap):
    w = torch.ones(3)
    held = []

    @wrap
    def step():
        w.mul_(2.0)

    def call(number):
        held.append((w.numpy(), w.detach().jax(), w.clone(), np.asarray(w.jax())))
        step()
        return [[np.array(part) for part in four] for four in held]

    return call, [w]


def pairs_of_one_shape(wrap):
    a, b, c = (torch.arange(4.0) + i for i in range(3))

    @wrap
    def step():
        old = a.clone()
        a.copy_(b)
        b.copy_(c)
        c.copy_(old)

    return lambda number: step(), [a, b, c]


def equal_values(wrap):
    a, b, r = torch.zeros(2), torch.zeros(2), torch.ones(2)

    @wrap
    def step(x):
        a.copy_(x)
        b.copy_(x)
        return a + 2 * b + r

    def call(number):
        result = step(ONES * number)
        if number == 3:
            b.add_(5)
        return result

    return call, [a, b]


def ones_that_are_shared(wrap):
    w = torch.ones((), requires_grad=True)

    @wrap
    def step():
        w.grad = None
        (w * 3).backward()

    def call(number):
        if number == 4:
            with torch.no_grad():
                w.mul_(2)
        step()

    return call, [w]


def frozen_between(wrap):
    w = leaf(1.0, 2.0)
    step = wrap(lambda x: (w * x).detach())

    def call(number):
        w.requires_grad_(number not in (3, 4))
        return step(ONES), w.requires_grad

    return call, [w]


def marked(wrap):
    w = leaf(1.0, 2.0)
    w.scale = 1.0
    step = wrap(lambda: (w * w.scale).detach())

    def call(number):
        w.scale = 1.0 + number // 4
        return step()

    return call, [w]


PROGRAMS = [value for value in list(globals().values()) if getattr(value, "__code__", None) is not None
            and value.__module__ == __name__]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_tensors_are_to_one_another(program):
    compare(program, calls=8)


REPLAYED = [arguments_in_place, views_of_parameters, kept_views, custom_functions, transforms, modules, loading,
            held_arrays, inference, grad_arguments, returns_a_gradient, returns_what_was_written, marked,
            returns_views_of_results, losses_that_are_looked_at]  # fmt: skip


@pytest.mark.parametrize("program", REPLAYED, ids=lambda program: program.__name__)
def test_that_is_replayed_nevertheless(program):
    compare(program, calls=10, replayed=True)


# -- errors ------------------------------------------------------------------------------------------------------------


def test_reading_elements_is_refused_and_nothing_has_happened():
    parameters, generator = model(), torch.default_generator

    @torch.compile(fullgraph=True)
    def step():
        clear(parameters)
        loss = loss_of(parameters) * torch.rand(())
        loss.backward()
        descend(parameters)
        torch.set_grad_enabled(False)
        if loss > 1:
            return loss
        return loss * 2

    loss_of(parameters).backward()
    before = seen(parameters), generator.get_offset(), torch.is_grad_enabled()
    with pytest.raises(DataDependentError, match=r"(?s)test_compile_tensors.py.*in step.*torch.where.*fullgraph=False"):
        step()
    after = seen(parameters), generator.get_offset(), torch.is_grad_enabled()
    assert repr(after) == repr(before)


def test_an_error_that_the_function_catches_is_raised_nevertheless():
    @torch.compile(fullgraph=True)
    def step(x):
        try:
            return x * x.sum().item()
        except RuntimeError:
            return x

    with pytest.raises(DataDependentError):
        step(X)


def put_by_masks(x, row, number):
    parts = [x.clone() for _ in range(7)]
    parts[0][parts[0] < 0] = 0.5
    parts[1][x[:, 0] > 0] = row
    parts[2][:, torch.tensor([True, False, True])] = number
    parts[3][~(x > 0)] = number.view(1, 1)
    parts[4][0][parts[4][0] > 0] = -8
    parts[5].t()[row > 0] = x[:, 0]
    parts[6][x > 0] = torch.tensor(3)
    return torch.stack(parts)


def test_what_is_put_by_a_mask_needs_no_places():
    """It is chosen among what was there and what is put, for no element of a mask can be read here."""
    step, found = torch.compile(put_by_masks, fullgraph=True), []
    for call in [put_by_masks, *[step] * 4]:
        x, row, number = leaf([[1.0, -2.0, 0.0], [-1.0, 0.5, 2.0]]), leaf(1.0, -1.0, 2.0), leaf(0.25)
        y = call(x * 2, row * 2, number.sum() * 2)
        y.square().sum().backward()
        found.append([y.tolist(), x.grad.tolist(), row.grad.tolist(), number.grad.tolist()])
    assert found[1:] == found[:1] * 4


@pytest.mark.parametrize(
    ("mask", "value", "message"),
    [
        (lambda x: x > 0, lambda x: torch.ones(2), None),
        (lambda x: x[0] > 0, lambda x: 1.0, r"mask \[3\] at index 0 does not match .* \[2, 3\]"),
        (lambda x: x[:, 0] > 0, lambda x: torch.ones(2), "shape mismatch: value tensor of shape .2. cannot"),
        (lambda x: x[:, 0] > 0, lambda x: torch.ones(3, dtype=torch.float64), "requires the source and destination"),
    ],
)
def test_what_no_mask_can_put(mask, value, message):
    @torch.compile(fullgraph=True)
    def step(x):
        x = x.clone()
        x[mask(x)] = value(x)
        return x

    with pytest.raises((DataDependentError, RuntimeError, IndexError), match=message or "reads the elements"):
        step(torch.ones(2, 3))


def test_a_program_may_be_split():
    def program(wrap):
        parameters = model()

        @wrap
        def step():
            clear(parameters)
            loss = loss_of(parameters)
            loss.backward()
            descend(parameters, 0.1 if loss > 0.5 else 0.05)
            return loss.item()

        return lambda number: step(), parameters

    compiled = compare(program, calls=6, replayed=False)
    assert "elements are read at" in compiled.report()


def test_other_errors_leave_what_they_would():
    def program(wrap):
        w = leaf(1.0, 2.0)

        @wrap
        def step(fail):
            with torch.no_grad():
                w.mul_(2)
            w.grad = None
            (w * w).sum().backward()
            if fail:
                raise ValueError("on purpose")
            with torch.no_grad():
                w.add_(1)

        def call(number):
            if number in (1, 5):
                with pytest.raises(ValueError, match="on purpose"):
                    step(True)
            else:
                step(False)

        return call, [w]

    compare(program, calls=8)


def test_errors_of_operators():
    compiled = torch.compile(lambda x, y: x @ y)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
            compiled(X, X)
    assert (X @ Y.reshape(1, 3)[:, :2].reshape(2, 1)).shape == compiled(X, torch.ones(2, 1)).shape


# -- around it ---------------------------------------------------------------------------------------------------------


def test_methods_are_compiled_for_each_instance():
    class Trainer:
        def __init__(self, start):
            self.w = torch.tensor([start])

        @torch.compile
        def step(self, x):
            self.w.add_(x)
            return self.w * 2

    one, other = Trainer(1.0), Trainer(10.0)
    for number in range(5):
        assert one.step(ONES[:1]).item() == 2 * (2.0 + number)
        assert other.step(ONES[:1]).item() == 2 * (11.0 + number)
    assert one.step.replayed and other.step.replayed and Trainer.step.calls == 0
    shallow, deep = copy.copy(one), copy.deepcopy(one)
    shallow.w = torch.zeros(1)
    assert shallow.step(ONES[:1]).item() == 2 and deep.step(ONES[:1]).item() == 14 and one.w.item() == 6


def test_attributes_of_a_module_that_is_compiled():
    net = Net()
    compiled = torch.compile(net)
    assert compiled.weight is net.weight and compiled.training
    compiled.training = False
    assert not net.training and "training" not in vars(compiled)
    copied = copy.deepcopy(compiled)
    assert copied.weight is not net.weight and copied(ONES).item() == compiled(ONES).item()


def test_inside_of_jit_it_is_traced():
    w = torch.ones(2)
    compiled = torch.compile(lambda x: w * x)
    for _ in range(3):
        compiled(ONES)
    jitted = jax.jit(lambda array: compiled(torch.from_jax_array(array)).jax() + compiled(ONES).jax())
    assert jitted(np.float32([1.0, 3.0])).tolist() == [2.0, 4.0]
    update = torch.compile(lambda: w.add_(1))
    for _ in range(3):
        update()
    jax.jit(lambda array: (update(), array)[1])(np.float32(1.0))
    assert w.tolist() == [5.0, 5.0]


def test_under_anomaly_mode_python_runs():
    calls = []

    def step(x):
        calls.append(1)
        return x * 2

    compiled = torch.compile(step)
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly(check_nan=False):
        compiled(X)
    assert len(calls) == 1 and compiled.calls == 0


def write_by_numpy(tensor):
    tensor.numpy()[0] = 7.0


@pytest.mark.parametrize("write", [lambda t: t.mul_(3.0), lambda t: t.data.fill_(2.0), write_by_numpy])
def test_what_is_read_on_the_host_is_what_was_written_last(write):
    w = torch.ones(3)
    compiled = torch.compile(lambda x: (x * w).sum())
    x = torch.ones(3)
    for _ in range(6):  # XLA has been given the same array several times
        compiled(x)
    for tensor in (w, x):
        write(tensor)
        for _ in range(3):
            assert compiled(x) == (x * w).sum()
    assert compiled.replayed > 6


def test_in_threads():
    w = torch.zeros(2)
    compiled = torch.compile(lambda x: w * 0 + x * 2)
    failures = []

    def work(number):
        for _ in range(5):
            if compiled(torch.full((2,), float(number))).tolist() != [2.0 * number] * 2:
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures

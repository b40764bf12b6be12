"""Calls that look like the last one, and are not; and what changes where it can hardly be seen."""

import enum

import pytest
from compiled_programs import X, compare, leaf

import tapegrad as torch

ONES = torch.ones(2)
INTEGERS = torch.tensor([1, 2])
FACTORS = {ONES: 5.0}


def program_of(function, calls):
    """A program that makes these calls, one after the other; each thrice at first."""

    def program(wrap):
        step = wrap(function)
        return lambda number: calls[max(number - 3, 0) % len(calls)](step), []

    return program


def attributed():
    x = torch.ones(2)
    x.scale = 3.0
    return x


def graded():
    x = leaf(1.0, 1.0)
    x.grad = torch.ones(2)
    return x


def written():
    return torch.ones(2).add_(1)


def hooked():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda grad: grad * 10)
    return x


def gradient_of(x):
    (x * 3).sum().backward()
    return x.grad * 1


ARGUMENTS = {
    "numbers": (lambda x, n: x * n if n is not True else x, [
        lambda step: step(ONES, 1), lambda step: step(ONES, True), lambda step: step(ONES, 1.0),
        lambda step: step(ONES, -0.0), lambda step: step(ONES, 0.0), lambda step: step(ONES, 0),
    ]),
    "names": (lambda x=ONES, y=ONES, *z: x * 2 + y, [
        lambda step: step(X[0], y=X[1]), lambda step: step(X[0], X[1]), lambda step: step(y=X[0], x=X[1]),
        lambda step: step(x=X[0], y=X[1]), lambda step: step(X[0]), lambda step: step(), lambda step: step(y=X[0]),
    ]),
    "tensors": (lambda x: (x * getattr(x, "scale", 2.0 if x.is_leaf and x.grad is not None else 1.0)).detach(), [
        lambda step: step(torch.ones(2)), lambda step: step(attributed()), lambda step: step(graded()),
        lambda step: step(written()), lambda step: step(leaf(1.0, 2.0)), lambda step: step(leaf(1.0, 2.0) * 2),
        lambda step: step(X[0]), lambda step: step(X.t()[0][:2]), lambda step: step(torch.ones(2, dtype=torch.int64)),
    ]),
    "twice": (lambda x, y: (x is y, x + y), [
        lambda step: step(X[0], X[1]), lambda step: step(ONES, ONES), lambda step: step(ONES, ONES.detach()),
    ]),
    "containers": (lambda x: x[0] + x[1], [
        lambda step: step(X), lambda step: step([X, X]), lambda step: step((ONES, 2)), lambda step: step({0: X, 1: 1}),
    ]),
    "keys": (lambda items: [x * key for key, x in items.items()], [
        lambda step: step({1: INTEGERS}), lambda step: step({1.0: INTEGERS}), lambda step: step({True: INTEGERS}),
    ]),
    "hooks": (gradient_of, [
        lambda step: step(leaf(1.0, 2.0)), lambda step: step(hooked()), lambda step: step(leaf(1.0, 2.0)),
    ]),
    "what is reached otherwise": (lambda x: x * 2 if x is ONES else x * 3, [
        lambda step: step(ONES), lambda step: step(X[0]), lambda step: step(X[0]), lambda step: step(X[0]),
    ]),
    "what is a key elsewhere": (lambda x: x * FACTORS.get(x, 1.0), [
        lambda step: step(ONES), lambda step: step(X[0]), lambda step: step(X[0]), lambda step: step(X[0]),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_of_another_kind(name):
    function, calls = ARGUMENTS[name]
    compare(program_of(function, calls), calls=2 * len(calls) + 4, replayed=True)


def swap_code(helper, w):
    helper.__code__ = (lambda x, *, factor=1.0: x * factor + 1).__code__


def swap_keyword_default(helper, w):
    helper.__kwdefaults__ = {"factor": 5.0}


def shadow_a_builtin(helper, w):
    helper.__globals__["max"] = lambda *numbers: 7.0


def hook_the_accumulator(helper, w):
    accumulator = w.expand_as(w).grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda grads, outputs: (w.grad.mul_(2), None)[1])
    helper.accumulator = accumulator


def give_a_gradient(helper, w):
    w.grad = torch.full((2,), 2.0, dtype=torch.float32).add_(1)


def take_the_gradient(helper, w):
    w.grad = None


UNSEEN = [swap_code, swap_keyword_default, shadow_a_builtin, hook_the_accumulator, give_a_gradient, take_the_gradient]


@pytest.mark.parametrize("change", UNSEEN, ids=lambda change: change.__name__)
def test_what_can_hardly_be_seen_is_seen(change):
    def program(wrap):
        w = leaf(1.0, 2.0)
        globals().pop("max", None)

        def helper(x, *, factor=2.0):
            return x * max(factor, 1.0)

        @wrap
        def step(x):
            loss = (helper(w) * x).sum() * (1 if w.grad is None else 2)
            loss.backward()
            return loss

        def call(number):
            if number == 5:
                change(helper, w)
            return step(ONES)

        return call, [w]

    try:
        compare(program, calls=9, replayed=True)
    finally:
        globals().pop("max", None)


@pytest.mark.parametrize("name", ["storage_offset", "_is_view", "_base", "_version"])
def test_who_asks_where_a_tensor_lies_is_not_replayed(name):
    asking = {
        "storage_offset": lambda x: x * x.storage_offset(),
        "_is_view": lambda x: x * 2 if x._is_view() else x,
        "_base": lambda x: x if x._base is None else x._base * 2,
        "_version": lambda x: x * 2 if x._version > 1 else x,
    }
    calls = [
        lambda step: step(torch.ones(3)[:2]), lambda step: step(torch.ones(3)[1:]), lambda step: step(written()),
        lambda step: step(written().add_(1)), lambda step: step(torch.ones(2, 1).view(2)), lambda step: step(ONES),
    ]  # fmt: skip
    compare(program_of(asking[name], [*calls, *calls[::-1]]), calls=12, replayed=False)


class Rates:
    rate, other = 1.0, 2.0


class Kind(enum.Enum):
    ONLY = [1.0]


def trade_attributes(rates, numbers):
    del rates.unused
    rates.rate = 3.0


def trade_class_attributes(rates, numbers):
    del Rates.other
    Rates.rate = 5.0


def replace_by_an_equal(rates, numbers):
    numbers.clear()
    numbers.add(1.0)


def write_into_an_enum(rates, numbers):
    Kind.ONLY.value[0] = 7.0


AS_MANY = [trade_attributes, trade_class_attributes, replace_by_an_equal, write_into_an_enum]


@pytest.mark.parametrize("change", AS_MANY, ids=lambda change: change.__name__)
def test_changes_that_leave_as_many_as_there_were(change):
    def program(wrap):
        rates, numbers = Rates(), {1}
        rates.unused, Rates.other, Rates.rate, Kind.ONLY.value[0] = 0.0, 2.0, 1.0, 1.0
        step = wrap(lambda x: (x * rates.rate * Kind.ONLY.value[0], x * sum(numbers)))

        def call(number):
            if number == 4:
                change(rates, numbers)
            return step(INTEGERS)

        return call, []

    compare(program, calls=7, replayed=True)


@pytest.mark.once("it is the same in both")
def test_a_kind_that_can_be_replayed_is_found_after_one_that_can_not():
    """Calls of a kind that is made at once for good are looked at one in eight times only."""
    seen = []

    def step(x, reads):
        y = (x * 2).tanh()
        if reads and y.sum() > 0:
            seen.append(len(seen))
        return y.sum()

    compiled, x = torch.compile(step), torch.ones(3)
    for _ in range(60):
        assert compiled(x, True) == step(x, True)
    assert compiled.replayed == 0 and len(seen) == 120
    for _ in range(40):
        assert compiled(x, False) == step(x, False)
        torch.execution.wait_for_compiler()
    assert compiled.calls == 100 and compiled.replayed >= 20, compiled.report()
    assert compiled(x, True) == step(x, True) and len(seen) == 122

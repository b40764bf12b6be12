"""In-place methods that were called so before: what the short way does, and where it must not be taken.

Every program makes calls of one kind several times, for only the first two go the long way: Note [Repeated writes].
"""

import pytest
from harness import Programs, agree, attempt, leaf, watching_class

import tapegrad
from tapegrad._src.dispatch.call_cache import NEVER
from tapegrad._src.dispatch.call_keys import WRITE
from tapegrad._src.tape.modes import thread
from tapegrad.ops import arithmetic, assignment

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()

METHODS = {
    "add_": [0.5, 3, True], "sub_": [0.5, 3], "mul_": [0.5, 3, False], "div_": [0.5, 3], "copy_": [0.5, 3, True],
}  # fmt: skip


def state(*tensors):
    return [(t.tolist(), t._version, t.requires_grad, t.is_leaf, str(t.dtype)) for t in tensors]


@program
def every_method_more_than_once(torch):
    p, q, seen = leaf(torch), torch.tensor([2.0, 0.5, 1.0]), []
    with torch.no_grad():
        for name, numbers in METHODS.items():
            for other in (q, q.sum(), p, *numbers):
                for _ in range(5):
                    seen.append(getattr(p, name)(other) is p)
            seen.append(state(p))
        for _ in range(5):
            p.add_(q, alpha=0.5).sub_(q, alpha=0.25).add_(q, alpha=2).subtract_(1.5, alpha=2.0)
        seen.append(state(p, q))
        for _ in range(5):
            p.zero_().add_(1.0)
            p /= q
            p -= 2
        return seen, state(p, q)


@program
def counters(torch):
    seen = []
    for dtype in (torch.int64, torch.int32, torch.uint8, torch.bool):
        count, row = torch.tensor(1, dtype=dtype), torch.ones(3, dtype=dtype)
        for number in (1, 3, -2, True, 0.5, 2**31, 2**60, 2**62, 2**64):
            for name in METHODS:
                for tensor in (count, row):
                    for _ in range(4):
                        outcome = attempt(lambda: getattr(tensor, name)(number))  # noqa: B023
                        seen.append(outcome if isinstance(outcome, str) else state(tensor))
        for _ in range(4):
            count.add_(torch.ones((), dtype=dtype))
            row += count
            seen += [attempt(lambda: row.add_(2, alpha=alpha)) for alpha in (3, 0.5) if dtype is not torch.bool]  # noqa: B023
            seen.append(state(count.zero_(), row.copy_(count)))
    return seen


@program
def counters_share_memory(torch):
    counts = torch.arange(4)
    one, all_of_them, attempts = counts[1], counts.view(2, 2), []
    for _ in range(5):
        one += 1
        all_of_them.mul_(2)
        attempts.append(attempt(lambda: counts.sub_(one)))  # noqa: B023
    return attempts, state(counts, one, all_of_them)


@program
def averages_of_gradients(torch):
    p, g = leaf(torch), torch.tensor([2.0, 0.5, 1.0])
    m, v = torch.zeros(3), torch.zeros(3)
    with torch.no_grad():
        for _ in range(5):
            m.lerp_(g, 0.1)
            v.mul_(0.99).addcmul_(g, g, value=0.01)
            p.addcdiv_(m, v, value=-0.25)
            p.addcmul_(p, g.sum(), value=0.5).lerp_(p, 2).addcmul_(g, g).addcdiv_(p, g, value=True)
        wrong = [attempt(lambda: p.addcmul_(g, g, value=1e300))]
        wrong += [attempt(lambda: p.addcmul_(g, g[:2], value=0.5)), attempt(lambda: p[:2].lerp_(p[1:], 0.5))]
    return wrong, attempt(lambda: p.lerp_(g, 0.1)), state(p, m, v)


@program
def outside_no_grad(torch):
    a, x, accounts = torch.ones(3), leaf(torch), []
    for _ in range(5):
        a.add_(2.0).mul_(a).copy_(a)
        accounts.append(state(a))
    y = a * x
    a.add_(2.0)
    with torch.no_grad():
        for _ in range(4):
            x.add_(2.0)
    accounts += [attempt(lambda: x.add_(2.0)), attempt(lambda: x.zero_()), attempt(y.sum().backward), state(x)]
    a.add_(x)
    return accounts, a.grad_fn.name(), state(a)


@program
def those_who_share_the_memory_see_it(torch):
    base = torch.arange(6.0)
    row, whole, detached = base[2:5], base.view(6), base.detach()
    before = [base.add_(1.0).tolist() for _ in range(5)]
    for _ in range(5):
        row.mul_(2.0)
        whole.sub_(base)
        detached.add_(torch.ones(6), alpha=0.5)
    return before, state(base, row, whole, detached)


@program
def memory_that_is_shared_in_part(torch):
    m = torch.arange(8.0)
    m.add_(0.0)
    a, b, c = m[:4], m[2:6], torch.ones(4)
    for _ in range(5):
        a.add_(c)
        a.copy_(c)
    mine, other = torch.ones(4), torch.ones(4)
    for _ in range(5):
        mine.add_(other.view(4)).add_(mine.view(4))
    return attempt(lambda: a.add_(b)), attempt(lambda: a.copy_(b)), attempt(lambda: a.add_(a)), state(m, a, b, mine)


@program
def what_does_not_fit(torch):
    x, wide, i, outcomes = torch.ones(2), torch.ones(3, dtype=torch.float64), torch.tensor([1, 2]), []
    for _ in range(5):
        outcomes += [attempt(lambda: x.add_(wide)), attempt(lambda: i.mul_(0.5)), attempt(lambda: x.sub_(True))]
        outcomes += [attempt(lambda: x.add_(1 + 2j)), attempt(lambda: x.add_(2**64)), attempt(lambda: i.zero_())]
        outcomes += [attempt(lambda: x.add_(1.0, alpha=1j)), attempt(lambda: i.add_(i, alpha=0.5))]
        x.add_(wide[:2]).mul_(i).add_(2**60)
        i.add_(i).mul_(3)
    return outcomes, state(x, i)


@program
def an_expanded_tensor(torch):
    row = torch.ones(1, 3)
    shown = row.expand(2, 3)
    for _ in range(5):
        row.add_(1.0)
    return [attempt(lambda: shown.add_(1.0)) for _ in range(5)], shown.zero_().tolist(), state(row)


@program
def inference_tensors(torch):
    c = torch.ones(2)
    with torch.inference_mode():
        a = torch.ones(2)
        for _ in range(5):
            a.add_(1.0)
            c.add_(a)
    c.add_(1.0)
    before = a.tolist()
    return before, [attempt(lambda: a.add_(1.0)) for _ in range(4)], state(c)


@program
def a_class_that_overrides_functions(torch):
    calls = []
    plain, own = torch.ones(3), torch.ones(3).as_subclass(watching_class(torch, calls))
    for _ in range(4):
        plain.add_(1.0).add_(plain)
    for _ in range(4):
        plain.add_(own)
        own.mul_(2.0)
    return [name for name in calls if name in ("add_", "mul_")], plain.tolist()


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)


@pytest.mark.parametrize(("method", "op", "other"), [
    ("add_", arithmetic.add, 0.25), ("mul_", arithmetic.mul, 0.25), ("copy_", assignment.copy, None),
])  # fmt: skip
def test_calls_that_come_again_take_the_short_way(method, op, other):
    x = tapegrad.ones(7)
    for _ in range(4):  # the first write changes what is known of the tensor
        getattr(x, method)(tapegrad.ones(7) if other is None else other)
    assert [run for key, run in op.plans.items() if key[:3] == (WRITE, thread.modes, x._spec) and run]


def test_what_must_be_cast_never_does():
    x, y = tapegrad.ones(7), tapegrad.ones(7, dtype=tapegrad.float64)
    for _ in range(5):
        x.add_(y)
    plans, modes = arithmetic.add.plans.items(), thread.modes
    runs = [run for key, run in plans if key[:2] == (WRITE, modes) and key[3] is y._spec]
    assert NEVER in runs and not any(runs)
    with pytest.raises(TypeError):
        x.mul_(y, alpha=2.0)
    with pytest.raises(TypeError):
        x.zero_(1)

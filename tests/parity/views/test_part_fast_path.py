"""Assignments to parts of tensors that were made so before: what the short way does, and where it must not be taken.

Every program makes calls of one kind several times: Note [Parts that are written again], Note [Unread views].
"""

import numpy as np
import pytest
from harness import Programs, agree, attempt, watching_class

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated")]

PROGRAMS = program = Programs()

NAN = float("nan")


def state(*tensors):
    return [(str(t.tolist()), t._version, t.requires_grad, t.is_leaf, str(t.dtype)) for t in tensors]


@program
def numbers_of_all_kinds(torch):
    seen = []
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int64, torch.int16, torch.uint8, torch.bool):
        x = torch.ones(3, 4, dtype=dtype)
        for number in (2, -1, 0.5, -0.0, True, 1e39, float("inf"), NAN, 2**24 + 1, 2**31, 2**63, 1 + 2j):
            for _ in range(4):
                seen.append(attempt(lambda: x.__setitem__(1, number)))  # noqa: B023
                seen.append(attempt(lambda: x.__setitem__((slice(None), -1), number)))  # noqa: B023
            seen.append(state(x))
    return seen


@program
def places_of_all_kinds(torch):
    x, t = torch.zeros(4, 5, 3), torch.arange(3.0)
    kinds = [
        lambda i: i, lambda i: -i - 1, lambda i: (i, 1), lambda i: (i, -2, 0), lambda i: slice(i, None),
        lambda i: slice(None, None, 2), lambda i: (slice(1, 3), i), lambda i: (slice(None), slice(-9, 9), 1),
        lambda i: (i, ..., 0), lambda i: (None, i), lambda i: (), lambda i: slice(3, 1), lambda i: [i, 0],
        lambda i: (slice(0, 99, 3), slice(i, i + 1), slice(None)), lambda i: np.int64(i), lambda i: torch.tensor(i),
    ]  # fmt: skip
    for index in kinds:
        for i in (0, 1, 2, 1):
            x[index(i)] = float(i) + 0.5
            x[index(i)] += 1
            x[index(i)].mul_(2)
    for index in kinds[:2]:
        for i in (0, 1, 2, 1):
            x[index(i)] = t
            x[index(i)] = t[:1]
            x[index(i)] = t.view(1, 1, 1, 3)
    return state(x), [attempt(lambda: x.__setitem__(i, 1.0)) for i in (4, -5, (0, 5), (0, 0, 0, 0))], state(x)  # noqa: B023


@program
def a_part_is_assigned_to_itself(torch):
    x, versions = torch.arange(12.0).view(3, 4), []
    for i in range(6):
        x[i % 3] += 1
        x[:, 1] *= 2
        x[1:] = x[1:]
        x[0, 2] -= i
        versions.append((x._version, x.tolist()))
    row = x[1]
    for _ in range(4):
        x[1] = row
        x[2] = row
        row += 1
    return versions, state(x, row), [attempt(lambda: x.__setitem__(slice(0, 2), x[1:])) for _ in range(4)], state(x)


@program
def who_shares_the_memory_sees_it(torch):
    x = torch.zeros(3, 4)
    flat, row, turned, other = x.view(12), x[1], x.t(), x.detach()
    seen = []
    for i in range(5):
        x[1] = float(i)
        seen += [row.tolist(), flat.tolist()]
        turned[2] += 1
        other[0, 3] = i
        flat[5] = row[0] + 1
        row[2:] = 7.0
        seen.append(state(x, flat, row, turned, other))
    late = x[1]
    x[1] = 3.0
    copy = late + 0
    x[1] += 1
    return seen, copy.tolist(), late.tolist(), state(x, late)


@program
def what_numpy_sees(torch):
    x = torch.zeros(3, 2)
    for i in range(4):
        x[0] = float(i)
    seen = x.numpy()
    for i in range(4):
        x[1] = float(i)
        x[0] += 1
        seen[2] = i
        x[2] += 1
    return seen.tolist(), state(x)


@program
def what_was_saved_is_missed(torch):
    x, w = torch.ones(3, 2), torch.ones(2, requires_grad=True)
    for i in range(5):
        x[0] = float(i)
        x[1] += 1
    y = (x[1] * w).sum()
    x[2] = 1.0
    first = attempt(y.backward)
    z = (x * w).sum()
    z.backward()
    return first, w.grad.tolist(), state(x, w)


@program
def what_is_recorded(torch):
    w, seen = torch.ones(2, requires_grad=True), []
    for i in range(5):
        h = torch.ones(3, 2) * w
        h[0] += 1
        h[1] = float(i)
        h[:, 1].mul_(2)
        h[2] = w
        h[2] *= 3
        h[:, 0] = w[0]
        h[0:1] = w[1:]
        h[1, -1] = i
        h[2] = NAN if i == 3 else 2**24 + i
        h.sum().backward()
        seen += [state(h), w.grad.tolist(), h.grad_fn.name()]
        plain = torch.zeros(3, 2)
        for _ in range(4):
            plain[0] = 1.0
        plain[1] = w
        plain[0] += 1
        seen += [state(plain), plain.grad_fn.name(), plain[0].grad_fn.name()]
        seen.append(attempt(lambda: w.__setitem__(0, 1.0)))
        with torch.no_grad():
            w[0] += 1
            w[1] = 2.0
        seen.append(state(w))
    return seen


@program
def views_that_may_not_be_written(torch):
    w = torch.ones(4, 2, requires_grad=True)
    first = (w * 1).unbind()[0]
    with torch.no_grad():
        second, third = w[1:], (w * 1)[1:]
    plain, wide = torch.zeros(4, 2), torch.zeros(1, 2).expand(3, 2)
    seen = []
    for _ in range(5):
        plain[1:][0] = 1.0
        seen += [attempt(lambda one=one: one.__setitem__(0, 1.0)) for one in (first, second, third, wide)]
    return seen, state(plain, second, third, wide)


@program
def inference_and_forward_mode(torch):
    x, seen = torch.zeros(3, 2), []
    for _ in range(4):
        x[0] += 1
    with torch.inference_mode():
        inner = torch.zeros(3, 2)
        for _ in range(4):
            x[0] += 1
            x[1] = 2.0
            inner[0] += 1
            inner[1] = 1.0
    seen.append(inner.tolist())
    seen += [attempt(lambda: inner.__setitem__(0, 1.0)) for _ in range(4)]
    x[0] += 1
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(3, 2), torch.ones(3, 2))
        for _ in range(4):
            dual[0] = 2.0
            dual[1] *= 3
            x[1] += 1
        seen += [part.tolist() for part in torch.autograd.forward_ad.unpack_dual(dual)]
    return seen, state(x)


@program
def transforms(torch):
    def written(x):
        out = x * 1
        for i in range(4):
            out[0] += 1
            out[1] = float(i)
            out[2] = x[0]
        return out

    rows = torch.arange(6.0).view(2, 3)
    jacobian = torch.func.jacrev(written)(rows[1])
    return torch.func.vmap(written)(rows).tolist(), jacobian.tolist(), written(rows[0]).tolist()


@program
def empty_parts_behind_the_end_of_the_memory(torch):
    seen = []
    for _ in range(5):
        a = torch.tensor([[3.0, 0.0, 3.0], [6.0, 4.0, 1.0]])[1:]
        b = a[1:, 1, ...]
        a[1:] = 1.5
        a[0] += 1
        b[:] = 1.0
        a[1:, 2] = 5.0
        seen += [b.cumsum(0).tolist(), b.fill_(2).mul_(2).tolist(), a[1:, 1].copy_(torch.ones(0)).tolist(), state(a, b)]
    return seen


@program
def all_of_a_tensor(torch):
    leaf, other, seen = torch.ones(3, 2, requires_grad=True), torch.ones(3, 2, requires_grad=True), []
    for index in (slice(None), (slice(None), slice(None)), slice(0, 3), Ellipsis, slice(0, 2), slice(None, None, 2)):
        for value in (2.0, other, other[:1], torch.zeros(3, 2), torch.tensor(1.0), "itself"):
            for _ in range(5):
                x = leaf * 2
                try:
                    x[index] = x if isinstance(value, str) else value
                except RuntimeError as error:
                    seen.append(str(error))
                before = [None if one is None else one.name() for one, _ in x.grad_fn.next_functions]
                seen.append((x.grad_fn.name(), before))
                seen += [x.tolist(), x._version, x.requires_grad]
                (grad,) = torch.autograd.grad(x.sum(), leaf, allow_unused=True)
                seen.append(None if grad is None else grad.tolist())
    return seen


@program
def a_class_that_overrides_functions(torch):
    calls = []
    plain, own = torch.ones(3, 2), torch.ones(3, 2).as_subclass(watching_class(torch, calls))
    for _ in range(4):
        plain[0] += 1
        plain[1] = 1.0
    for _ in range(4):
        own[0] = 1.0
        own[1] += 1
        plain[0] = own[0]
    return [name for name in calls if "item" in name], plain.tolist()


@program
def memory_that_was_put_elsewhere(torch):
    x, seen = torch.zeros(3, 2), []
    for i in range(4):
        x[0] = float(i)
    view = x[1:]
    x.data = torch.ones(3, 2)
    for i in range(4):
        view[0] = float(i)
        x[1] += 1
        seen += state(x, view)
    x.resize_(4, 2)
    for i in range(4):
        x[3] = float(i)
        x[0] += 1
    return seen, x.tolist(), x._version


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

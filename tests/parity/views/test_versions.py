"""Version counters: raised, set and preserved by hand; ``data``; what is noticed by backward."""

import pytest
from harness import Programs, agree, attempt, leaf

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


V = [1.0, 2.0]


@program
def versions_can_be_raised(torch):
    raise_, c, x = torch.autograd.graph.increment_version, torch.ones(2), leaf(torch, V)
    raise_(c)
    raise_([c, x])
    raise_(iter((c,)))
    counted = [c._version, x._version]
    for kind in (torch.int64, torch.bool, torch.complex64):
        t = torch.ones(2, dtype=kind)
        raise_(t)
        counted.append(t._version)
    cases = [lambda: raise_(3), lambda: raise_([3]), lambda: raise_([]), lambda: raise_(None), lambda: raise_((c, 3))]
    return counted, [attempt(case) for case in cases], c._version


@program
def who_shares_a_raised_version(torch):
    raise_, c = torch.autograd.graph.increment_version, torch.ones(4)
    detached, data, view = c.detach(), c.data, c.view(2, 2)
    raise_(detached)
    raise_(data)
    account = [c._version, detached._version, data._version, view._version]
    raise_(view)
    return account, [c._version, detached._version, data._version, view._version]


@program
def a_raised_version_is_noticed(torch):
    x, w = leaf(torch, V), torch.ones(2)
    product, y = (x * w).sum(), x.exp()
    total = y.sum()
    torch.autograd.graph.increment_version([w, y])
    return attempt(product.backward), attempt(total.backward)


@program
def versions_can_be_set(torch):
    set_, c, d = torch._C._autograd._unsafe_set_version_counter, torch.ones(2), torch.ones(2)
    set_((c, d), (7, 2))
    account = [c._version, d._version]
    set_([c], [1])
    text = "_unsafe_set_version_counter(): incompatible function arguments."
    wrong = [(c, 1), ((c, 3), (1, 2)), ((c,), ("a",)), ((c,), (1.5,))]
    kinds = [attempt(lambda: set_(*case)) for case in wrong]  # noqa: B023 - called at once
    return [
        account,
        c._version,
        attempt(lambda: set_((c,), (-1,))),
        attempt(lambda: set_((c, c), (1,))),
        attempt(lambda: set_((), ())),
        [[kind[1], kind[2].startswith(text)] for kind in kinds],
        c._version,
    ]


@program
def writes_can_be_hidden(torch):
    preserve = torch.autograd._unsafe_preserve_version_counter
    c, d = torch.ones(2), torch.ones(3)
    d.add_(1)
    account = []
    with preserve(c):
        account.append(c.mul_(2)._version)
    with preserve((c, d)):
        account.append([c.mul_(2)._version, d.mul_(2)._version])
    account.append([c._version, d._version, c, d])
    return account, attempt(lambda: preserve([c])), attempt(lambda: preserve((3,)))


@program
def backward_after_hidden_writes(torch):
    preserve, x, w = torch.autograd._unsafe_preserve_version_counter, leaf(torch, V), torch.ones(2) * 3
    first = (x * w).sum()
    with preserve(w):
        w.mul_(2)
    first.backward()
    second = (x * w).sum()
    w.mul_(1)
    torch._C._autograd._unsafe_set_version_counter((w,), (0,))
    second.backward()
    y = x.exp()
    kept = y.sum()
    with preserve(y), torch.no_grad():
        y.mul_(2).div_(2)
    kept.backward()
    return x.grad


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

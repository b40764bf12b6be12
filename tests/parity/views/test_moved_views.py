"""Views and bases that were put on other memory: by ``.data =``, ``set_``, ``resize_``, ``as_strided_``.

A view remains one of its base for autograd, and they go on counting their writes together; but it is read and written
where it lies. Every way to move one of them meets every way to write afterwards.
"""

import forward_mode  # noqa: F401 - for what it does
import pytest
from harness import agree, attempt
from viewing import counted, gradients, leaf, name, parents

import tapegrad

pytestmark = pytest.mark.parity


def tens(torch, *shape):
    return counted(torch, *shape) * 10


def give(target, source):
    """A move by ``.data =``: of "x" or "v", to what ``source`` gives."""
    return lambda torch, x, v, u: setattr({"x": x, "v": v, "u": u}[target], "data", source(torch, x, v))


def with_more_memory(torch, x, v, u):
    x.resize_(9)[6:] = 7


MOVES = {
    "x.data = fresh": give("x", lambda torch, x, v: tens(torch, 6)),
    "x.data = larger": give("x", lambda torch, x, v: tens(torch, 8)),
    "x.data = matrix": give("x", lambda torch, x, v: tens(torch, 2, 3)),
    "x.data = column": give("x", lambda torch, x, v: tens(torch, 6, 2)[:, 1]),
    "x.data = part": give("x", lambda torch, x, v: tens(torch, 9)[2:8]),
    "x.data = x.data": give("x", lambda torch, x, v: x.data),
    "x.data = v.data": give("x", lambda torch, x, v: v.data),
    "x.data = float64": give("x", lambda torch, x, v: tens(torch, 6).double()),
    "v.data = fresh": give("v", lambda torch, x, v: tens(torch, 3)),
    "v.data = larger": give("v", lambda torch, x, v: tens(torch, 7)),
    "v.data = x.data": give("v", lambda torch, x, v: x.data),
    "v.data = x.data[:3]": give("v", lambda torch, x, v: x.data[:3]),
    "v.data = float64": give("v", lambda torch, x, v: tens(torch, 3).double()),
    "u.data = fresh": give("u", lambda torch, x, v: tens(torch, 2)),
    "x.set_(fresh)": lambda torch, x, v, u: x.set_(tens(torch, 6)),
    "x.set_(part)": lambda torch, x, v, u: x.set_(tens(torch, 9), 1, (6,)),
    "x.set_()": lambda torch, x, v, u: x.set_(),
    "v.set_(fresh)": lambda torch, x, v, u: v.set_(tens(torch, 3)),
    "v.set_(of x)": lambda torch, x, v, u: v.set_(x.untyped_storage(), 2, (3,), (1,)),
    "x.resize_(4)": lambda torch, x, v, u: x.resize_(4),
    "x.resize_(9)": with_more_memory,
    "v.resize_(2)": lambda torch, x, v, u: v.resize_(2),
    "v.as_strided_": lambda torch, x, v, u: v.as_strided_((3,), (1,), 0),
    "x.as_strided_": lambda torch, x, v, u: x.as_strided_((3,), (2,), 1),
}


def repeated(write):
    """A write four times: from the third on it takes the short way of Note [Repeated writes]."""

    def four_times(torch, *arguments):
        for _ in range(4):
            write(torch, *arguments)

    return four_times


WRITES = {
    "nothing": lambda torch, x, v, u, w: None,
    "v[0] =": lambda torch, x, v, u, w: v.__setitem__(0, w),
    "v[1:] =": lambda torch, x, v, u, w: v.__setitem__(slice(1, None), w),
    "v[[0]] =": lambda torch, x, v, u, w: v.__setitem__([0], w),
    "v[::2] = tensor": lambda torch, x, v, u, w: v.__setitem__(slice(None, None, 2), w * torch.ones(v[::2].shape)),
    "v.mul_": repeated(lambda torch, x, v, u, w: v.mul_(w)),
    "v.index_fill_": lambda torch, x, v, u, w: v.index_fill_(0, torch.tensor([0]), w),
    "u[0] =": lambda torch, x, v, u, w: u.__setitem__(0, w),
    "u.add_": lambda torch, x, v, u, w: u.add_(w),
    "v[:2][0] =": lambda torch, x, v, u, w: v[:2].__setitem__(0, w),
    "x[1:3] =": lambda torch, x, v, u, w: x.__setitem__(slice(1, 3), w),
    "x.add_": lambda torch, x, v, u, w: x.add_(w),
    "v.detach()[0] =": lambda torch, x, v, u, w: v.detach().__setitem__(0, 5.0),
    "v[0], u[0], x[0] =": lambda torch, x, v, u, w: [t.__setitem__(0, w) for t in (v, u, x)],
}
UNLIKE = {("x.data = float64", "v[[0]] =")}
"""Pairs that PyTorch refuses in backward: it can't put a gradient of one dtype into that of another."""


def views(x):
    v = x[1:4]
    return x, v, v[:2]


def seen(torch, *tensors):
    """All that can be seen of tensors: where they lie, who shares memory, versions, places in the graph."""
    memory = [t.untyped_storage().data_ptr() for t in tensors]
    account = [[[a == b for b in memory] for a in memory]]
    account.append([t.data_ptr() - start if t.numel() else 0 for t, start in zip(tensors, memory, strict=True)])
    for t in tensors:
        account.append([attempt(t.detach().tolist), t.shape, t.stride(), t.storage_offset(), str(t.dtype), t._version])
        account.append([t._is_view(), t._base is tensors[0], attempt(lambda t=t: [t.requires_grad, t.is_leaf])])
        account.append([name(t), parents(t)])
    return account


def tried(action):
    """What an action raises, if it does."""
    outcome = attempt(action)
    return outcome if isinstance(outcome, list) and outcome[:1] == ["raised"] else None


def constant(torch, move, write):
    x, v, u = views(counted(torch, 6))
    done = [tried(lambda: move(torch, x, v, u)), tried(lambda: write(torch, x, v, u, 50.0))]
    return done, seen(torch, x, v, u)


def recorded(torch, move, write):
    a, w = leaf(torch, 6), torch.tensor(3.0, requires_grad=True)
    x, v, u = views(a * 2)
    done = [tried(lambda: move(torch, x, v, u)), tried(lambda: write(torch, x, v, u, w))]
    return done, seen(torch, x, v, u), [gradients(torch, t, a, w) for t in (x, v, u)]


def saved_before(torch, move, write):
    a = leaf(torch, 6)
    x, v, u = views(a * 2)
    y = (v * v).sum() + (x * x).sum()
    done = [tried(lambda: move(torch, x, v, u)), tried(lambda: write(torch, x, v, u, 3.0))]
    return done, seen(torch, x, v, u), gradients(torch, y, a)


def written_value_recorded(torch, move, write):
    w = torch.tensor(3.0, requires_grad=True)
    x, v, u = views(counted(torch, 6))
    done = [tried(lambda: move(torch, x, v, u)), tried(lambda: write(torch, x, v, u, w))]
    return done, seen(torch, x, v, u), [gradients(torch, t, w) for t in (x, v, u)]


def leaf_without_grad_mode(torch, move, write):
    x, v, u = views(leaf(torch, 6))
    with torch.no_grad():
        done = [tried(lambda: move(torch, x, v, u)), tried(lambda: write(torch, x, v, u, 3.0))]
    return done, seen(torch, x, v, u)


KINDS = [constant, recorded, saved_before, written_value_recorded, leaf_without_grad_mode]
GAPPED = {(move, kind) for move in ("x.data = column", "x.as_strided_") for kind in (recorded, written_value_recorded)}
"""Of a base with gaps in memory PyTorch's gradients, where a view shows the gaps, are whatever was in memory."""


@pytest.mark.parametrize(
    ("move", "program"),
    [pytest.param(move, kind, id=f"{move}-{kind.__name__}") for move in MOVES for kind in KINDS
     if (move, kind) not in GAPPED],
)  # fmt: skip
def test_writes_after_a_move(move, program):
    """Each of ``WRITES``, to a base, its view and a view of that, of which one was put elsewhere."""
    for write in WRITES:
        if (move, write) not in UNLIKE:
            agree(lambda torch: program(torch, MOVES[move], WRITES[write]))  # noqa: B023 - called at once


def two_moves(torch):
    x, v, u = views(counted(torch, 6))
    x.data = tens(torch, 6)
    v.data = x.data[1:4]
    v[0], u[0], x[5] = 1, 2, 3
    return seen(torch, x, v, u)


def put_where_it_is(torch):
    x, v, u = views(counted(torch, 6))
    x.add_(1)
    v.data = v
    account = [v.clone()]
    x.mul_(2)
    u.data = u
    x.data = x
    v.sin_()
    return account, seen(torch, x, v, u)


def a_matrix_and_its_rows(torch):
    a = leaf(torch, 3, 3)
    x = a * 2
    rows, column = [x[0], x[1]], x[:, 1]
    x.data = tens(torch, 3, 3)
    rows[0].fill_(5)
    x.fill_diagonal_(7)
    column[1:] = 4
    column.data = tens(torch, 3)
    column[0] = 1
    rows[1].copy_(rows[0])
    return seen(torch, x, *rows, column), [gradients(torch, t, a) for t in (x, *rows, column)]


def moved_back(torch):
    a = leaf(torch, 6)
    x, v, u = views(a * 2)
    kept = x.data
    x.data = tens(torch, 6)
    v[0] = 1
    x.data = kept
    u[1] = 2
    x[0] = 3
    return seen(torch, x, v, u), [gradients(torch, t, a) for t in (x, v, u)]


def a_parameter_that_is_given_data_each_step(torch):
    """Its version never moves, so it stays as quick as it was."""
    p, account = leaf(torch), []
    for step in range(4):
        p.data = p.data - step
        account.append(gradients(torch, p * p, p))
    return account, p._version, p


def views_made_after_the_move(torch):
    w = leaf(torch, 2)
    x, v, _ = views(counted(torch, 6))
    v.data = tens(torch, 3)
    later, of_base = v[1:], x[:2]
    later.mul_(w)
    return seen(torch, x, v, later, of_base), [gradients(torch, t, w) for t in (x, v, later)]


def detached_before_the_move(torch):
    x, v, _ = views(leaf(torch, 6) * 1)
    d = v.detach()
    v.data = tens(torch, 3)
    d[0] = 7
    v[1] = 8
    return seen(torch, x, v, d)


def tangents(torch):
    fwad = torch.autograd.forward_ad
    with fwad.dual_level():
        x = fwad.make_dual(counted(torch, 6), tens(torch, 6))
        x.data = tens(torch, 6)
        x[0] = 5
        x.mul_(3)
        return [part.tolist() for part in fwad.unpack_dual(x)[:2]]


@pytest.mark.parametrize(
    "program",
    [two_moves, put_where_it_is, a_matrix_and_its_rows, moved_back, a_parameter_that_is_given_data_each_step,
     views_made_after_the_move, detached_before_the_move, tangents],
    ids=lambda program: program.__name__,
)  # fmt: skip
def test_together(program):
    agree(program)


def test_the_reported_programs():
    x = tapegrad.tensor([1.0, 2.0, 3.0])
    v = x[0:2]
    x.data = tapegrad.tensor([7.0, 8.0, 9.0])
    v[-1] = 50.0
    assert (x.tolist(), v.tolist()) == ([7, 8, 9], [1, 50])
    b = tapegrad.zeros(3)
    v = b[0:2]
    v.data = tapegrad.ones(3)
    v[0] = 9.0
    assert (b.tolist(), v.tolist()) == ([0, 0, 0], [9, 1, 1])

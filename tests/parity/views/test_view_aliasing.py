"""Every function that makes views: writes to base, view and view of view are seen by all; who is a view of what."""

import pytest
from harness import agree, attempt
from viewing import counted, gradients, leaf, name, now, place, places

pytestmark = pytest.mark.parity

REAL, COMPLEX, INTEGERS = "float32", "complex64", "int32"

VIEWS = {
    "view": lambda torch, x: x.view(4, 3),
    "view, same shape": lambda torch, x: x.view(3, 4),
    "view, -1": lambda torch, x: x.view(-1),
    "view_as": lambda torch, x: x.view_as(torch.ones(2, 6)),
    "reshape": lambda torch, x: x.reshape(2, 2, 3),
    "reshape, function": lambda torch, x: torch.reshape(x, (2, 6)),
    "reshape_as": lambda torch, x: x.reshape_as(torch.ones(2, 6)),
    "reshape that must copy": lambda torch, x: x.t().reshape(2, 6),
    "flatten": lambda torch, x: x.flatten(),
    "flatten of one dimension": lambda torch, x: x[0].flatten(),
    "ravel": lambda torch, x: x.ravel(),
    "unflatten": lambda torch, x: x.unflatten(1, (2, 2)),
    "item": lambda torch, x: x[1],
    "last item": lambda torch, x: x[-1],
    "element": lambda torch, x: x[1, 2],
    "slice": lambda torch, x: x[1:],
    "slice of everything": lambda torch, x: x[:],
    "slice with steps": lambda torch, x: x[::2, 1::2],
    "empty slice": lambda torch, x: x[3:],
    "column": lambda torch, x: x[:, 1],
    "none": lambda torch, x: x[None],
    "none among others": lambda torch, x: x[1, None, 1:],
    "ellipsis": lambda torch, x: x[...],
    "ellipsis, then item": lambda torch, x: x[..., -1],
    "0-dim index": lambda torch, x: x[torch.tensor(1)],
    "transpose": lambda torch, x: x.transpose(0, 1),
    "swapaxes": lambda torch, x: x.swapaxes(0, 1),
    "swapdims": lambda torch, x: x.swapdims(0, 1),
    "t": lambda torch, x: x.t(),
    "T": lambda torch, x: x.T,
    "mT": lambda torch, x: x.mT,
    "H": lambda torch, x: x.H,
    "mH": lambda torch, x: x.mH,
    "adjoint": lambda torch, x: x.adjoint(),
    "permute": lambda torch, x: x.permute(1, 0),
    "movedim": lambda torch, x: x.movedim(0, 1),
    "moveaxis": lambda torch, x: torch.moveaxis(x, 1, 0),
    "expand": lambda torch, x: x.expand(2, 3, 4),
    "expand_as": lambda torch, x: x.expand_as(torch.ones(2, 3, 4)),
    "broadcast_to": lambda torch, x: torch.broadcast_to(x, (2, 3, 4)),
    "broadcast_tensors": lambda torch, x: torch.broadcast_tensors(x, torch.ones(2, 1, 1))[0],
    "squeeze": lambda torch, x: x[None].squeeze(),
    "squeeze, dim": lambda torch, x: x[None].squeeze(0),
    "squeeze, dims": lambda torch, x: x[None].squeeze((0, 1)),
    "unsqueeze": lambda torch, x: x.unsqueeze(1),
    "narrow": lambda torch, x: x.narrow(0, 1, 2),
    "select": lambda torch, x: x.select(1, 2),
    "diagonal": lambda torch, x: x.diagonal(),
    "diagonal, offset": lambda torch, x: x.diagonal(1),
    "unfold": lambda torch, x: x.unfold(1, 2, 2),
    "as_strided": lambda torch, x: x.as_strided((2, 2), (4, 1), 5),
    "detach": lambda torch, x: x.detach(),
    "data": lambda torch, x: x.data,
    "atleast_3d": lambda torch, x: torch.atleast_3d(x),
    "positive": lambda torch, x: x.positive(),
    "real of real": lambda torch, x: x.real,
    "conj of real": lambda torch, x: x.conj(),
    "contiguous": lambda torch, x: x.contiguous(),
    "to": lambda torch, x: x.to(torch.float32),
    "split": lambda torch, x: x.split(2)[0],
    "split, last": lambda torch, x: x.split([1, 2])[1],
    "split, function": lambda torch, x: torch.split(x, 2, dim=1)[1],
    "chunk": lambda torch, x: x.chunk(2)[1],
    "tensor_split": lambda torch, x: x.tensor_split(2)[0],
    "tensor_split, indices": lambda torch, x: torch.tensor_split(x, (1,), dim=1)[1],
    "hsplit": lambda torch, x: x.hsplit(2)[1],
    "vsplit": lambda torch, x: torch.vsplit(x, (1,))[1],
    "dsplit": lambda torch, x: x.view(3, 2, 2).dsplit(2)[1],
    "unbind": lambda torch, x: x.unbind()[1],
    "unbind, dim": lambda torch, x: torch.unbind(x, 1)[2],
    "iteration": lambda torch, x: list(x)[1],
    "unsafe_split": lambda torch, x: torch.unsafe_split(x, 2)[0],
    "unsafe_chunk": lambda torch, x: x.unsafe_chunk(2)[1],
    "nested": lambda torch, x: x.t()[1:, ::2].unsqueeze(0)[0, 1],
}
"""Views of a real matrix of shape (3, 4)."""

OF_COMPLEX = {
    "real": lambda torch, x: x.real,
    "imag": lambda torch, x: x.imag,
    "real, function": lambda torch, x: torch.real(x),
    "view_as_real": lambda torch, x: torch.view_as_real(x),
    "view_as_real, item": lambda torch, x: torch.view_as_real(x)[1, ..., 1],
    "view_as_complex": lambda torch, x: torch.view_as_complex(torch.view_as_real(x)),
    "conj": lambda torch, x: x.conj(),
    "conj, item": lambda torch, x: x.conj()[1],
    "item, conj": lambda torch, x: x[1].conj(),
    "conj of conj": lambda torch, x: x.conj().conj(),
    "imag of conj": lambda torch, x: x.conj().imag,
    "mH": lambda torch, x: x.mH,
    "H": lambda torch, x: x.H,
    "transpose": lambda torch, x: x.t(),
    "column of real": lambda torch, x: x.real[:, 1],
}
"""Views of a complex matrix of shape (3, 4)."""

OTHER_DTYPES = {
    "int32": lambda torch, x: x.view(torch.int32),
    "int32, item": lambda torch, x: x.view(torch.int32)[1],
    "item, int32": lambda torch, x: x[1].view(torch.int32),
    "int16": lambda torch, x: x.view(torch.int16),
    "uint8": lambda torch, x: x.view(torch.uint8),
    "float64": lambda torch, x: x.view(torch.float64),
    "complex64": lambda torch, x: x.view(torch.complex64),
    "its own": lambda torch, x: x.view(torch.float32),
}
"""Views of a real matrix of shape (3, 4) as another dtype."""

EVERY = [
    *[pytest.param(REAL, make, id=key) for key, make in VIEWS.items()],
    *[pytest.param(COMPLEX, make, id=f"complex, {key}") for key, make in OF_COMPLEX.items()],
    *[pytest.param(REAL, make, id=f"as dtype, {key}") for key, make in OTHER_DTYPES.items()],
]
every_view = pytest.mark.parametrize(("dtype", "make"), EVERY)


def matrix(torch, dtype):
    """Numbers in memory of their own; complex ones with imaginary parts."""
    x = counted(torch, 3, 4, dtype=getattr(torch, dtype))
    return (x * (1 + 2j)).clone() if dtype == COMPLEX else x


@every_view
def test_writes_are_seen(dtype, make):
    """By the view when the base is written to, by the base when the view is, by views of both, in this order."""

    def program(torch):
        x = matrix(torch, dtype)
        v = make(torch, x)
        seen = [places(x, v)]
        x.mul_(2)
        seen.append(now(x, v, x._version, v._version))
        v.fill_(3)
        seen.append(now(x, v, x._version, v._version))
        w = v[..., :1] if v.ndim else v.view(1)
        x[1:].zero_()
        seen.append(now(v, w))
        w.fill_(7)
        seen.append(now(x, v, w, x._version, w._version))
        seen.append(attempt(lambda: now(v.add_(1))))
        return seen, places(x, v, w)

    agree(program)


@every_view
def test_views_of_what_was_written_to(dtype, make):
    """A view made after writes, beside another view, sees later writes to either."""

    def program(torch):
        x = matrix(torch, dtype)
        other = x[:, 1:3]
        other.fill_(5)
        v = make(torch, x)
        seen = now(v, v._version, v._base is x)
        other[0] = 9
        seen.append(now(v))
        v.fill_(2)
        seen.append(now(x, other))
        u = make(torch, x)
        u.zero_()
        return seen, places(x, v, u, other)

    agree(program)


@every_view
def test_only_the_view_is_kept(dtype, make):
    """A view outlives the name of its base and keeps it; siblings go on seeing one another."""

    def program(torch):
        x = matrix(torch, dtype)
        v, u = make(torch, x), make(torch, x)
        del x
        v.fill_(2)
        return places(v, u), v._base is u._base, v._base is not None and v._base.clone()

    agree(program)


@every_view
def test_history_of_a_write_to_the_view(dtype, make):
    def program(torch):
        a = matrix(torch, dtype).requires_grad_()
        x = a * 1
        v = make(torch, x)
        seen = [places(x, v)]
        seen.append(attempt(lambda: now(v.mul_(3))))
        seen.append(attempt(lambda: places(x, v)))
        return seen, gradients(torch, x, a), attempt(lambda: gradients(torch, [x * x, v * v], a))

    agree(program)


@every_view
def test_history_of_a_write_to_the_base(dtype, make):
    def program(torch):
        a = matrix(torch, dtype).requires_grad_()
        x = a * 1
        v = make(torch, x)
        x.mul_(3)
        seen = [place(x), attempt(lambda: place(v, x))]
        return seen, attempt(lambda: gradients(torch, [v * v], a)), gradients(torch, x, a)

    agree(program)


@every_view
def test_what_is_constant_comes_to_require_grad(dtype, make):
    def program(torch):
        scale = torch.tensor(2.0, requires_grad=True)
        x = matrix(torch, dtype)
        v, u = make(torch, x), make(torch, x)
        seen = [attempt(lambda: now(v.mul_(scale))), places(x, v, u)]
        x.mul_(scale)
        seen.append([place(x), attempt(lambda: place(v, x)), attempt(lambda: place(u, x))])
        return seen, attempt(lambda: gradients(torch, [v, u * u], scale))

    agree(program)


@every_view
def test_without_grad_mode(dtype, make):
    """Views and writes both inside; then outside what each of them says, and whether they can be used."""

    def program(torch):
        a = matrix(torch, dtype).requires_grad_()
        x = a * 1
        with torch.no_grad():
            v, u = make(torch, a), make(torch, x)
            v.fill_(2)
            u.fill_(3)
        seen = [places(a, v), places(x, u)]
        seen.append([attempt(lambda t=t: now(t.mul_(2))) for t in (v, u, x)])
        return seen, attempt(lambda: name(v * 2)), attempt(lambda: name(u * 2)), gradients(torch, x, a)

    agree(program)


@every_view
def test_views_of_leaves(dtype, make):
    def program(torch):
        a = matrix(torch, dtype).requires_grad_()
        v = make(torch, a)
        seen = [places(a, v), attempt(lambda: now(v.mul_(2))), attempt(lambda: now(v[...].fill_(1)))]
        with torch.no_grad():
            seen.append(attempt(lambda: now(v.mul_(2))))
        seen.append(attempt(lambda: places(a, v)))
        return seen, attempt(lambda: gradients(torch, v * v, a))

    agree(program)


@every_view
def test_a_leaf_made_after_its_view(dtype, make):
    """``requires_grad_`` of the base: the view requires grad at once, but its gradient goes nowhere."""

    def program(torch):
        a = matrix(torch, dtype)
        v = make(torch, a)
        a.requires_grad_()
        seen = places(a, v)
        return seen, attempt(lambda: gradients(torch, v * v, a)), attempt(lambda: v.grad), name(make(torch, a))

    agree(program)


# -- several views at once ---------------------------------------------------------------------------------------------


def overlapping(torch):
    """Windows that overlap in parts, each written to in turn."""
    x = counted(torch, 3, 4)
    views = [x[:2], x[1:], x.t()[1:3], x[..., ::2], x.view(-1)[3:9], x.diagonal(), x.view(2, 6)[1]]
    seen = []
    for step, v in enumerate(views):
        v.add_(10.0 ** (step % 3))
        seen.append(now(x, *views, x._version))
    return seen


def through_views_of_views(torch):
    x = counted(torch, 3, 4)
    deep = x.t()[1:].unsqueeze(0).transpose(0, 2).squeeze().view(3, 3)[1, ::2]
    deep.mul_(100)
    x.neg_()
    deep[1] = 0
    return x, deep, deep._base is x, deep._version


def reading_in_every_order(torch):
    """What was read before a write must not be read again after it."""
    x, seen = counted(torch, 2, 3), []
    row, column, everything = x[1], x[:, 1], x.view(-1)
    for write in (lambda: row.add_(1), lambda: x.mul_(2), lambda: column.zero_(), lambda: everything[5:].fill_(9)):
        seen.append([row + 0, column + 0])
        write()
        seen.append([everything + 0, row.sum(), column.tolist(), x.max().item()])
    return seen


def detached_and_data(torch):
    """``detach()`` shares data and versions, ``data`` only data; views of them too."""
    a = leaf(torch, 2, 3)
    x = a * 1
    d, p = x.detach(), x.data
    dv, pv = d[0], p[1]
    d.add_(1)
    p.mul_(2)
    dv.zero_()
    pv.neg_()
    x[0, 0].fill_(4)
    return places(x, d, p, dv, pv), [x.is_leaf, d.requires_grad, p.requires_grad]


def swapped_halves(torch):
    x = counted(torch, 4)
    first, second = x[:2], x[2:]
    kept = first.clone()
    first.copy_(second)
    second.copy_(kept)
    x[[0, 1]] = x[[1, 0]]
    return x, first, second, x._version


def rows_in_a_loop(torch):
    out = torch.zeros(3, 2)
    for i, row in enumerate(out):
        row += i
        out[i] *= 2
    return out, out._version


def a_view_of_an_expanded_tensor(torch):
    x = counted(torch, 3, 1)
    e = x.expand(3, 4)
    part = e[1]
    x.mul_(2)
    e[0].zero_()
    return x, e, part, part._base is x, part.is_contiguous()


def assigned_slices(torch):
    x = counted(torch, 2, 3)
    v = x.t()
    v[0] = torch.tensor([7.0, 8.0])
    x[:, 2] = 5
    v[1:2, :] = x[0, 0]
    x[1] = x[0].clone()
    return x, v, x._version


def views_of_integers(torch):
    x = torch.tensor([[1, 2], [3, 4]])
    v = x.t()[1]
    v += 10
    x[0] <<= 1
    v[v > 12] = 0
    flags = x > 5
    flags[0].logical_not_()
    return x, v, flags, x._version


def windows_that_overlap_themselves(torch):
    """All that may be written to them is one number."""
    x = counted(torch, 3, 4)
    u, s = x.unfold(1, 2, 1), torch.as_strided(x, (2, 2), (1, 1))
    x.mul_(2)
    seen = [now(u, s)]
    u[1].fill_(5)
    s.zero_()
    return seen, places(x, u, s)


def empty_views(torch):
    x = counted(torch, 3)
    e = x[3:]
    e.fill_(1)
    e.add_(1)
    none = torch.ones(0, 2)
    none.t().mul_(2)
    return x, e, x._version, none, none._version


def a_0_dim_view_of_itself(torch):
    x = torch.tensor(1.0)
    v, one = x.view(()), x.view(1)
    one += 1
    x.mul_(5)
    return x, v, one, v._base is x


def the_base_of_views_of_detached(torch):
    a = leaf(torch, 4)
    base = a * 1
    d = base[1:].detach()
    v = d[1:]
    return d._base is None, d._is_view(), v._base is d, v._is_view(), base[1:].data._is_view()


TOGETHER = [
    overlapping, through_views_of_views, reading_in_every_order, detached_and_data, swapped_halves, rows_in_a_loop,
    a_view_of_an_expanded_tensor, assigned_slices, views_of_integers,
    windows_that_overlap_themselves, empty_views, a_0_dim_view_of_itself,
    the_base_of_views_of_detached,
]  # fmt: skip


@pytest.mark.parametrize("program", TOGETHER, ids=lambda program: program.__name__)
def test_together(program):
    agree(program)

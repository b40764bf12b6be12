"""Writes that are refused, and how: leaves, several views at once, views made unrecorded, overlapping memory."""

import warnings

import pytest
from harness import Programs, agree, attempt
from viewing import counted, gradients, leaf, name, now, place, places

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()

# -- which views, and what is tried on them ----------------------------------------------------------------------------

SEVERAL = {
    "unbind": lambda torch, x: x.unbind()[1],
    "iteration": lambda torch, x: next(iter(x)),
    "split": lambda torch, x: x.split(1)[1],
    "split with sizes": lambda torch, x: x.split([1, 1])[0],
    "split_with_sizes": lambda torch, x: torch.split_with_sizes(x, [1, 1])[1],
    "chunk": lambda torch, x: x.chunk(2)[1],
    "one chunk": lambda torch, x: x.chunk(1)[0],
    "one split": lambda torch, x: x.split(2)[0],
    "tensor_split": lambda torch, x: x.tensor_split(2)[1],
    "tensor_split, indices": lambda torch, x: x.tensor_split((1,))[0],
    "hsplit": lambda torch, x: x.hsplit(2)[1],
    "vsplit": lambda torch, x: x.vsplit(2)[0],
    "unsafe_split": lambda torch, x: x.unsafe_split(1)[1],
    "unsafe_chunk": lambda torch, x: x.unsafe_chunk(2)[1],
    "unsafe_split_with_sizes": lambda torch, x: torch.unsafe_split_with_sizes(x, [1, 1])[1],
    "view of unbind": lambda torch, x: x.unbind()[1][:2],
    "unbind of view": lambda torch, x: x[:, :2].unbind()[1],
    "view of view of split": lambda torch, x: x.split(1)[1][0].view(2, 2),
    "split of split": lambda torch, x: x.split(1)[1].split(2, 1)[1],
    "unbind of unsafe_split": lambda torch, x: x.unsafe_split(1)[1].unbind()[0],
    "broadcast_tensors": lambda torch, x: torch.broadcast_tensors(x, torch.ones(2, 1))[0],
    "detached unbind": lambda torch, x: x.unbind()[1].detach(),
    "unbind of detached": lambda torch, x: x.detach().unbind()[1],
    "data of unbind": lambda torch, x: x.unbind()[1].data,
}
"""Views that functions give which return several, of a matrix of shape (2, 4)."""


def in_mode(mode, make):
    """A view made in a mode: ``no_grad``, ``inference_mode``, ``enable_grad``."""

    def made(torch, x):
        with getattr(torch, mode)():
            return make(torch, x)

    return made


def row(torch, x):
    return x[1]


def of_unrecorded(mode):
    return lambda torch, x: in_mode(mode, lambda torch, x: x[:, :2])(torch, x)[1]


def unrecorded_of(mode):
    return lambda torch, x: in_mode(mode, row)(torch, x[:, :2])


def unbind_of(make):
    return lambda torch, x: make(torch, x).unbind()[1]


def of_unbind(make):
    return lambda torch, x: make(torch, x.unbind()[1])


MODES = {
    "recorded": row,
    **{
        f"{mode}{where}": make
        for mode in ("no_grad", "inference_mode")
        for where, make in {
            "": in_mode(mode, row),
            ", unbind": in_mode(mode, lambda torch, x: x.unbind()[1]),
            ", view of it": of_unrecorded(mode),
            ", of a view": unrecorded_of(mode),
            ", unbind of it": unbind_of(in_mode(mode, lambda torch, x: x[:, :2])),
            ", of unbind": of_unbind(in_mode(mode, lambda torch, x: x[:2])),
            ", detached": in_mode(mode, lambda torch, x: x[1].detach()),
            ", written there": in_mode(mode, lambda torch, x: x[1].add_(1)),
            ", expand": in_mode(mode, lambda torch, x: x.expand(2, 2, 4)[1]),
        }.items()
    },
    "no_grad in inference_mode": in_mode("inference_mode", in_mode("no_grad", row)),
    "enable_grad in no_grad": in_mode("no_grad", in_mode("enable_grad", row)),
}
"""Views made in modes where nothing is recorded, of a matrix of shape (2, 4)."""

VIEWS = {**SEVERAL, **MODES}

BASES = {
    "recorded": lambda torch: leaf(torch, 2, 4) * 1,
    "leaf": lambda torch: leaf(torch, 2, 4),
    "constant": lambda torch: counted(torch, 2, 4),
    "written to": lambda torch: (leaf(torch, 2, 4) * 1).mul_(2),
}

ACTIONS = {
    "write": lambda torch, x, v: v.mul_(2),
    "write of what requires grad": lambda torch, x, v: v.mul_(torch.tensor(2.0, requires_grad=True)),
    "write to a view of it": lambda torch, x, v: v[..., :1].mul_(2),
    "assignment": lambda torch, x, v: v.__setitem__(0, 5.0),
    "assignment to an index": lambda torch, x, v: v.__setitem__(torch.tensor([0]), 5.0),
    "copy": lambda torch, x, v: v.copy_(leaf(torch, 1)),
    "fill": lambda torch, x, v: v.fill_(3),
    "write without grad mode": lambda torch, x, v: in_mode("no_grad", lambda torch, v: v.mul_(2))(torch, v),
    "write in inference mode": lambda torch, x, v: in_mode("inference_mode", lambda torch, v: v.mul_(2))(torch, v),
    "write to the base": lambda torch, x, v: x.mul_(torch.tensor(2.0, requires_grad=True)),
    "write to another view": lambda torch, x, v: x[0].mul_(torch.tensor(2.0, requires_grad=True)),
    "write to the base without grad mode": lambda torch, x, v: in_mode("no_grad", lambda torch, x: x.mul_(2))(torch, x),
    "unsqueeze_": lambda torch, x, v: v.unsqueeze_(0),
    "squeeze_": lambda torch, x, v: v.squeeze_(),
    "detach_": lambda torch, x, v: v.detach_(),
    "requires_grad_": lambda torch, x, v: v.requires_grad_(),
}


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS.keys())
@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS.keys())
def test_what_may_be_written_to(make, action):
    """For every kind of base: what an action gives or raises, what is there afterwards, whether both can be used."""

    def account(torch, x):
        v = make(torch, x)
        seen = [place(v, x), name(v), attempt(lambda: now(action(torch, x, v)))]
        return seen, attempt(lambda: places(x, v)), [attempt(lambda t=t: name(t * 2)) for t in (x, v)]

    agree(lambda torch: [account(torch, base(torch)) for base in BASES.values()])


# -- leaves ------------------------------------------------------------------------------------------------------------


def writes_to(torch, a, v):
    """What several kinds of writes to a leaf and to its view give."""
    w = torch.ones(2)
    return [
        attempt(lambda case=case: now(case()))
        for case in (
            lambda: a.add_(1),
            lambda: a.zero_(),
            lambda: a.copy_(w),
            lambda: a.__setitem__(0, 1.0),
            lambda: a.__setitem__(torch.tensor([True, False]), 1.0),
            lambda: a.__setitem__(slice(None), w),
            lambda: a.index_put_((torch.tensor([0]),), w[:1]),
            lambda: a.t_(),
            lambda: a.unsqueeze_(0),
            lambda: a.uniform_(),
            lambda: v.add_(1),
            lambda: v.view(2).add_(1),
            lambda: v.__setitem__(0, 1.0),
            lambda: v.unsqueeze_(0),
            lambda: v.normal_(),
            lambda: torch.add(w, w, out=a),
            lambda: torch.add(w, w, out=v),
            lambda: torch.add(w, w, out=a.detach()),
        )
    ]


@program
def leaves_and_their_views(torch):
    a = leaf(torch, 2)
    v = a[:]
    return writes_to(torch, a, v), places(a, v)


@program
def leaves_and_their_views_without_grad_mode(torch):
    a = leaf(torch, 2)
    with torch.no_grad():
        a[0] = 5
        a.mul_(2)
        v = a[1:]
        v.add_(1)
        a.view(2, 1).t_().fill_(4)
    return places(a, v), gradients(torch, a * a, a)


@program
def leaves_that_require_no_grad_now(torch):
    a = leaf(torch, 2).requires_grad_(False)
    v = a[:1]
    v.mul_(2)
    a.requires_grad_()
    return attempt(lambda: v.mul_(2)), attempt(lambda: a.mul_(2)), places(a, v)


@program
def what_was_refused_changed_nothing(torch):
    a, x = leaf(torch, 2), leaf(torch, 2) * 1
    v, parts = a[:1], x.unbind()
    seen = [attempt(lambda: v.mul_(2)), attempt(lambda: parts[0].mul_(2)), attempt(lambda: a.fill_(3))]
    return seen, places(a, v), places(x, *parts), gradients(torch, [x, parts[1], v], a)


@program
def the_first_of_two_writes_decides(torch):
    """A write to the base is allowed; it is the outputs of ``split`` that can't be used afterwards."""
    a = leaf(torch, 4)
    x = a * 1
    first, second = x.split(2)
    kept = first * 2
    x.mul_(2)
    seen = [name(first), attempt(lambda: first * 2), attempt(lambda: second.sum().backward())]
    with torch.no_grad():
        seen.append(attempt(lambda: now(second)))
        seen.append(attempt(lambda: now(second * 2)))
    seen.append([attempt(lambda: second.requires_grad), attempt(lambda: second.detach())])
    return seen, gradients(torch, [x, kept], a)


@program
def which_output_is_named(torch):
    x = leaf(torch, 6) * 1
    parts, pieces, rows = x.unbind(), x.split(2), x.view(2, 3).unbind(1)
    cases = [*parts[::2], *pieces, *rows, pieces[2][0], rows[2].view(1, 2), x.view(3, 2).chunk(3)[2].t()]
    return [attempt(lambda case=case: case.mul_(2)) for case in cases]


@program
def a_view_in_no_grad_and_a_write_there(torch):
    a = leaf(torch, 3)
    x = a * 1
    with torch.no_grad():
        v = x[:2]
        v.mul_(2)
        x.mul_(2)
    return places(x, v), attempt(lambda: v * 2), attempt(lambda: v.mul_(2)), gradients(torch, x, a)


@program
def views_of_constants_made_in_no_grad(torch):
    x, w = counted(torch, 3), leaf(torch, 3)
    with torch.no_grad():
        v, u = x[:2], x[1:]
    v.mul_(2)
    seen = [places(x, v, u)]
    seen.append(attempt(lambda: v.mul_(w[:2])))
    x.mul_(w)
    seen.append([attempt(lambda t=t: place(t, x)) for t in (x, v, u)])
    return seen, attempt(lambda: v.mul_(2)), attempt(lambda: u * 2), now(v, u)


@program
def inference_views_of_normal_tensors(torch):
    a = leaf(torch, 3)
    x = a * 1
    with torch.inference_mode():
        v = x[:2]
        u = v[:1]
        made = [t.is_inference() for t in (v, u)]
        v.add_(1)
    seen = [places(x, v, u), made]
    seen.append([attempt(lambda t=t: now(t.mul_(2))) for t in (v, u)])
    x.mul_(2)
    return seen, [attempt(lambda t=t: place(t, x)) for t in (v, u)], attempt(lambda: v * 2), gradients(torch, x, a)


@program
def views_of_inference_tensors(torch):
    with torch.inference_mode():
        x = counted(torch, 3)
        v = x[:2]
        v.mul_(2)
        inside = [now(x, v), v._is_view(), v._base is None, attempt(lambda: v._version)]
    u = x[1:]
    return (
        inside,
        [t.is_inference() for t in (v, u)],
        attempt(lambda: now(u * 2)),
        [attempt(lambda t=t: t.mul_(2)) for t in (x, v, u)],  # PyTorch refuses when it has written
        [attempt(lambda t=t: t._version) for t in (x, v, u)],
        attempt(lambda: u.requires_grad_()),
        u._is_view(),
        u._base is None,
    )


# -- memory that overlaps ----------------------------------------------------------------------------------------------

OVERLAPPING = {
    "expanded": lambda torch: counted(torch, 3, 1).expand(3, 2),
    "expanded, leading": lambda torch: counted(torch, 2).expand(3, 2),
    "expanded number": lambda torch: counted(torch, 1).expand(3, 2),
    "expanded to the same shape": lambda torch: counted(torch, 3, 2).expand(3, 2),
    "expanded empty": lambda torch: counted(torch, 0, 2).expand(3, 0, 2),
    "expanded, column": lambda torch: counted(torch, 3, 1).expand(3, 2)[:, 0],
    "expanded, row": lambda torch: counted(torch, 3, 1).expand(3, 2)[1],
    "one row of expanded": lambda torch: counted(torch, 2).expand(3, 2)[1:2],
    "as_strided with a stride of 0": lambda torch: counted(torch, 4).as_strided((2, 2), (0, 1)),
    "unfold": lambda torch: counted(torch, 4).unfold(0, 2, 1),
    "unfold without overlap": lambda torch: counted(torch, 4).unfold(0, 2, 2),
}

ONE = {
    "zero_": lambda torch, x: x.zero_(),
    "fill_": lambda torch, x: x.fill_(5),
    "fill_ with a tensor": lambda torch, x: x.fill_(torch.tensor(5.0)),
    "setitem": lambda torch, x: x.__setitem__(0, 5),
    "setitem of everything": lambda torch, x: x.__setitem__(slice(None), 5),
    "setitem, tensor": lambda torch, x: x.__setitem__(slice(None), torch.ones(())),
    "setitem, mask": lambda torch, x: x.__setitem__(x > 1.5, 5.0),
    "add_": lambda torch, x: x.add_(1),
    "mul_": lambda torch, x: x.mul_(torch.tensor(2.0)),
    "neg_": lambda torch, x: x.neg_(),
    "exp_": lambda torch, x: x.exp_(),
    "clamp_": lambda torch, x: x.clamp_(0, 2),
    "pow_": lambda torch, x: x.pow_(2),
    "copy_": lambda torch, x: x.copy_(torch.ones(())),
    "copy_ of itself": lambda torch, x: x.copy_(x),
    "masked_fill_": lambda torch, x: x.masked_fill_(torch.tensor(True), 5.0),
    "index_add_": lambda torch, x: x.index_add_(0, torch.tensor([0]), x[:1].clone()),
    "index_copy_": lambda torch, x: x.index_copy_(0, torch.tensor([0]), x[:1].clone()),
    "scatter_": lambda torch, x: x.scatter_(0, torch.zeros_like(x, dtype=torch.int64), 5.0),
    "cumsum_": lambda torch, x: x.cumsum_(0),
    "lerp_": lambda torch, x: x.lerp_(torch.ones(()), 0.5),
    "addcmul_": lambda torch, x: x.addcmul_(torch.ones(()), torch.ones(())),
    "relu_": lambda torch, x: x.relu_(),
    "floor_": lambda torch, x: x.floor_(),
    "logical_not_": lambda torch, x: x.logical_not_(),
    "eq_": lambda torch, x: x.eq_(1),
    "out": lambda torch, x: torch.add(torch.ones(x.shape), 1, out=x),
    "under no_grad": lambda torch, x: in_mode("no_grad", lambda torch, x: x.add_(1))(torch, x),
    "transpose_": lambda torch, x: x.transpose_(0, -1),
    "requires_grad, fill_": lambda torch, x: x.fill_(torch.tensor(5.0, requires_grad=True)),
    "requires_grad, mul_": lambda torch, x: x.mul_(torch.tensor(5.0, requires_grad=True)),
}

DEFINED = [key for key in OVERLAPPING if key != "unfold"]
"""What writing to windows that overlap in parts does, PyTorch leaves open."""

UNFOLDED = ["zero_", "fill_", "setitem of everything", "copy_ of itself", "setitem", "setitem, tensor"]


@pytest.mark.parametrize("write", ONE.values(), ids=ONE.keys())
def test_writes_to_tensors_that_overlap_themselves(write):
    def account(torch, make):
        x = make(torch)
        return [attempt(lambda: now(write(torch, x))), place(x), now(x._base), x._version]

    def program(torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [account(torch, OVERLAPPING[key]) for key in DEFINED]

    agree(program)


@pytest.mark.parametrize("key", UNFOLDED)
def test_writes_to_windows_that_overlap_in_parts(key):
    def program(torch):
        x = OVERLAPPING["unfold"](torch)
        return [attempt(lambda: now(ONE[key](torch, x))), place(x), now(x._base)]

    agree(program)


TWO = {
    "add_, shifted": lambda torch, x: x[1:].add_(x[:-1]),
    "add_, shifted back": lambda torch, x: x[:-1].add_(x[1:]),
    "mul_, shifted": lambda torch, x: x[:3].mul_(x[1:4]),
    "copy_, shifted": lambda torch, x: x[1:].copy_(x[:-1]),
    "setitem, shifted": lambda torch, x: x.__setitem__(slice(1, None), x[:-1]),
    "add_, itself": lambda torch, x: x.add_(x),
    "add_, the same part": lambda torch, x: x[1:].add_(x[1:]),
    "copy_, the same part": lambda torch, x: x[1:].copy_(x[1:]),
    "setitem, the same part": lambda torch, x: x.__setitem__(slice(1, None), x[1:]),
    "add_, other parts": lambda torch, x: x[:2].add_(x[2:4]),
    "add_, interleaved": lambda torch, x: x[::2].add_(x[1::2]),
    "add_, one element": lambda torch, x: x.add_(x[0]),
    "add_, one element of itself": lambda torch, x: x[:1].add_(x[0]),
    "fill_, one element": lambda torch, x: x.fill_(x[2]),
    "add_, transposed": lambda torch, x: x[:4].view(2, 2).add_(x[:4].view(2, 2).t()),
    "copy_, transposed": lambda torch, x: x[:4].view(2, 2).copy_(x[:4].view(2, 2).t()),
    "transposed, add_": lambda torch, x: x[:4].view(2, 2).t().mul_(x[:4].view(2, 2)),
    "the same, otherwise shaped": lambda torch, x: x.view(2, 3).add_(x.view(2, 3)[:]),
    "another shape": lambda torch, x: x.view(2, 3).add_(x[:3]),
    "column and row": lambda torch, x: x.view(2, 3)[:, 0].add_(x.view(2, 3)[0, :2]),
    "addcmul_": lambda torch, x: x[1:].addcmul_(x[:-1], x[1:]),
    "addcmul_, itself": lambda torch, x: x.addcmul_(x, x),
    "where": lambda torch, x: x[1:].masked_fill_(x[:-1] > 2, 0.0),
    "masked_fill_, value": lambda torch, x: x.masked_fill_(x > 2, x[0]),
    "index_put_": lambda torch, x: x.__setitem__(torch.tensor([1, 2]), x[:2]),
    "index_copy_": lambda torch, x: x.index_copy_(0, torch.tensor([1, 2]), x[:2]),
    "index_add_": lambda torch, x: x.index_add_(0, torch.tensor([1, 2]), x[1:3]),
    "scatter_": lambda torch, x: x.scatter_(0, torch.tensor([1, 2]), x[:2]),
    "lerp_": lambda torch, x: x[1:].lerp_(x[:-1], 0.5),
    "detached, shifted": lambda torch, x: x[1:].add_(x.detach()[:-1]),
    "data, shifted": lambda torch, x: x[1:].add_(x.data[:-1]),
    "pow_": lambda torch, x: x[1:].pow_(x[:-1]),
    "out, shifted": lambda torch, x: torch.add(x[1:], 1, out=x.data[:-1]),
    "out, the same": lambda torch, x: torch.add(x.data, x.data, out=x.data),
    "out, exp": lambda torch, x: torch.exp(x.data[:3], out=x.data[1:4]),
    "bits": lambda torch, x: x.data.view(torch.int32)[1:].bitwise_or_(x.data.view(torch.int32)[:-1]),
}


@pytest.mark.parametrize("requires_grad", [False, True], ids=["constant", "recorded"])
@pytest.mark.parametrize("write", TWO.values(), ids=TWO.keys())
def test_writes_that_read_the_same_memory(write, requires_grad):
    def program(torch):
        a = leaf(torch, 6).requires_grad_(requires_grad)
        x = a * 1
        result = attempt(lambda: now(write(torch, x)))
        return result, place(x), gradients(torch, x, a) if requires_grad else None

    agree(program)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

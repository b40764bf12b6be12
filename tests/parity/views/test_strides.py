"""Strides and offsets, as PyTorch shows them: of views, of new results, of copies; and what they forbid."""

import warnings

import pytest
from harness import Programs, agree, attempt
from layouts import counted, layout, layouts, node

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


@program
def asking_for_strides(torch):
    x = counted(torch, 2, 3, 4).transpose(0, 2)
    named = [x.stride(0), x.stride(-1), x.stride(dim=1), x.stride(), type(x.stride()).__name__]
    wrong = [lambda: x.stride(3), lambda: x.stride(-4), lambda: x.stride("a"), lambda: torch.ones(()).stride(0)]
    return named, torch.ones(()).stride(), [attempt(case) for case in wrong], torch.ones(()).storage_offset()


@program
def views_by_name(torch):
    x = counted(torch, 2, 3, 4)
    return layouts(
        x.view(6, 4), x.view(-1), x.view(2, 3, 2, 2), x.reshape(4, 6), x.view(2, 1, 3, 4), x.view_as(torch.ones(24)),
        x.transpose(0, 1), x.transpose(0, -1), x.permute(2, 0, 1), x.swapaxes(0, 2), x.swapdims(1, 2), x.mT, x[0].T,
        x[0].t(),
        x.movedim(0, 2), x.moveaxis((0, 1), (2, 0)), x.adjoint(), x[0].H,
        x.expand(2, 3, 4), x.expand(5, 2, 3, 4), x[:, :1].expand(2, 7, 4), x.expand_as(torch.ones(1, 2, 3, 4)),
        x.broadcast_to((2, 2, 3, 4)), torch.ones(()).expand(2, 3), torch.ones(1).expand(1, 1),
        x.squeeze(), x[:1].squeeze(0), x[:1].squeeze(), x[:, :1].squeeze((0, 1)), x.unsqueeze(0), x.unsqueeze(-1),
        x.unsqueeze(1),
        x.narrow(1, 1, 2), x.select(1, 2), x.select(-1, -1), x.diagonal(0, 1, 2), x.diagonal(-1), x.diagonal(1, 0, 2),
        x.unfold(1, 2, 1), x.unfold(2, 2, 2), torch.ones(()).unfold(0, 1, 1), x.unflatten(2, (2, 2)), x.flatten(1),
        x.flatten(),
        x.detach(), x.data, x.alias() if hasattr(x, "alias") else x.detach(), x.ravel(),
    )  # fmt: skip


@program
def views_in_several_parts(torch):
    x = counted(torch, 4, 6)
    parts = [
        x.split(2), x.split(4, 1), x.split([1, 3], 0), x.chunk(3, 1), x.unbind(), x.unbind(1), x.tensor_split(3, 1),
        x.tensor_split((1, 2)), x.hsplit(2), x.vsplit(2), x.view(4, 2, 3).dsplit((1,)), torch.unbind(x.t()),
        torch.split(x.t(), 4),
    ]  # fmt: skip
    return [layouts(*several) for several in parts]


@program
def what_index_tensors_pick(torch):
    a, i, ii = counted(torch, 2, 3, 4), torch.tensor([0, 1]), torch.tensor([[0, 1], [1, 0]])
    every, some = slice(None), slice(1, None)
    indices = [
        (i,), (every, i), (..., i), (i, i), (every, i, i), (i, every, i), (ii,), (every, ii), (0, i), (i, 0), (None, i),
        (i[:, None], i), (some, i), (i, 0, i), (ii.t(),), (every, ii.t()), (ii[:, 0], every, ii), (ii.t(), ii),
        ([1, 0],), (torch.tensor([True, False]),), (every, [True, False], every), ([],), (every, [], every),
    ]  # fmt: skip
    sources = [a, a.permute(2, 0, 1), a.permute(0, 2, 1), a.permute(1, 2, 0), a[:, ::2], a.permute(2, 1, 0),
               a.expand(2, 2, 3, 4)]  # fmt: skip
    written = a.permute(2, 0, 1)[:, i]
    written[1:].mul_(2)[0, 0].zero_()
    found = [attempt(lambda x=x, at=at: layouts(x[at])) for x in sources for at in indices]
    return found, written, written.mT.reshape(-1)


@program
def matrices_that_lie_by_columns(torch):
    L = torch.linalg
    a, p, v = counted(torch, 2, 3), torch.tensor([[2.0, 1.0], [0.5, 3.0]]), torch.ones(2)
    s, b = p @ p.mT, torch.stack([p, p.mT, p @ p.mT])
    factor = L.cholesky(s)
    return layouts(
        *L.qr(a), *L.qr(b), *L.svd(a), *L.svd(a, full_matrices=False), *L.svd(b), *torch.svd(a), *L.eigh(s), *L.eig(p),
        *L.eigh(b + b.mT), factor, L.cholesky(s, upper=True), L.cholesky(b @ b.mT + torch.eye(2)),
        L.solve(p, a), L.solve(p, v), L.solve(p, p, left=False), L.solve(b, b), L.solve(b, b[0]), L.solve(p.mT, a),
        L.lu_solve(*L.lu_factor(p), a), L.ldl_factor(s)[0], torch.cholesky_solve(a, factor), torch.geqrf(a)[0],
        torch.cholesky_inverse(factor), L.householder_product(*torch.geqrf(a.mT)), torch.ormqr(*torch.geqrf(p), a),
    )  # fmt: skip


@program
def results_that_lie_in_an_order_of_their_own(torch):
    x = counted(torch, 2, 3).t()
    z = torch.complex(x, x)
    return layouts(
        x.rot90(), x.rot90(2), x.rot90(3), x.rot90(0), x.t().rot90(), x.nonzero(), x.t().argwhere(), z.angle(),
        x.angle(), x.diff(), x.diff(dim=0), x.diff(n=2, dim=0), counted(torch, 4, 3).t().diff(),
        torch.nn.functional.glu(counted(torch, 2, 3, 4).transpose(0, 2)),
        torch.nn.functional.glu(counted(torch, 4, 3).t(), 1),
        torch.nn.functional.logsigmoid(x), *torch.frexp(x), x.repeat_interleave(2, 0), x.repeat_interleave(2, 1),
    )  # fmt: skip


@program
def sums_with_an_outer_product(torch):
    v, w, long = torch.ones(2), torch.arange(3.0), torch.arange(6.0)[::2]
    added = [torch.zeros(3, 2).t(), torch.zeros(2, 3), torch.zeros(3), torch.zeros(2, 1), torch.zeros(4, 6)[::2, ::2],
             torch.zeros(6, 2).t()[:, ::2]]  # fmt: skip
    sums = [torch.addr(x, *pair) for x in added for pair in ((v, w), (v, long), (torch.ones(4)[::2], long))]
    return layouts(*sums, torch.addr(added[0], v, w, beta=0), torch.addr(added[0].bool(), v.bool(), w.bool()))


@program
def results_on_a_copy_of_all_memory(torch):
    """What is like a tensor but for a part lies in memory where the tensor does, among the rest of its memory."""
    m, told = counted(torch, 3, 4), []
    for x in (m, m[:, 1:], m[:2], m.t()[1:], m[:, ::2], m[:, :1].expand(3, 4)):
        calls = [
            lambda x=x: torch.select_scatter(x, torch.zeros_like(x[1]), 0, 1),
            lambda x=x: torch.slice_scatter(x, torch.zeros_like(x[1:]), 0, 1),
            lambda x=x: torch.diagonal_scatter(x, torch.zeros_like(x.diagonal())),
            lambda x=x: torch.as_strided_scatter(x, torch.zeros(2, 2, dtype=x.dtype), (2, 2), (2, 1)),
            lambda x=x: torch.as_strided_scatter(x, torch.zeros(2, 2, dtype=x.dtype), (2, 2), (2, 1), 5),
            lambda x=x: torch.select_scatter(x.clone().requires_grad_()[1:], torch.zeros_like(x[1]), 0, 0),
        ]
        for call in calls:
            made = attempt(call)
            told.append([made, made if isinstance(made, list) else layout(made)])
            if not isinstance(made, list):
                rest = made.detach().as_strided((made.untyped_storage().nbytes() // made.element_size(),), (1,), 0)
                told.append([rest, made + 1, made._base is None, made.detach().add_(1), rest])
    x = m.requires_grad_()
    (x[:, 1:].select_scatter(torch.ones(3), 0, 1) * torch.arange(3.0)).pow(2).sum().backward()
    return told, x.grad


@program
def slices(torch):
    x = counted(torch, 4, 5, 6)
    return layouts(
        x[1], x[-1], x[1, 2], x[1, 2, 3], x[1:3], x[:, 1:3], x[..., 2], x[::2], x[1::3, ::2], x[None], x[:, None, 1:],
        x[None, 2, None],
        x[3:3], x[5:], x[-2:], x[:, -1], x[..., None], x[1, ..., 2], x[:, :, 5:2], x[()], x[...], x[1][2],
        x[1:][1:][::2],
        x.t()[0] if x.ndim < 3 else x.mT[1], x.transpose(0, 2)[1:3, 2], x[True], x[:, torch.tensor(1)],
    )  # fmt: skip


@program
def complex_views(torch):
    x = torch.complex(counted(torch, 3, 4), counted(torch, 3, 4))
    pairs = torch.view_as_real(x)
    views = [
        x.real,
        x.imag,
        pairs,
        x.t().real,
        x[1:, 1].imag,
        torch.view_as_real(x.t()),
        torch.view_as_complex(pairs[1:]),
        pairs[..., 1],
    ]
    return layouts(
        *views, x.conj(), x.mH, x.conj().real, torch.view_as_complex(counted(torch, 2)), x.view(torch.float32)
    )


@program
def views_in_another_dtype(torch):
    x = counted(torch, 4, 6)
    good = [
        (x, torch.int32),
        (x, torch.int16),
        (x, torch.float64),
        (x, torch.complex64),
        (x[1:], torch.float64),
        (x.t(), torch.int32),
    ]
    good += [
        (x[:, 2:4], torch.float64),
        (x[1], torch.uint8),
        (torch.ones(()), torch.int32),
        (x[::2], torch.int16),
        (x[:, ::2], torch.int32),
    ]
    return [layout(tensor.view(dtype)) for tensor, dtype in good]


@program
def views_in_another_dtype_that_cannot_be(torch):
    x = counted(torch, 3, 5)
    bad = [
        (x, torch.float64),
        (x.t(), torch.int16),
        (x[:, 1:5], torch.float64),
        (x[:, :4], torch.float64),
        (x[:, ::2], torch.uint8),
    ]
    bad += [
        (torch.ones(()), torch.int16),
        (x[:, ::2][:, :2], torch.complex64),
        (torch.ones(()), torch.float64),
        (x, torch.complex128),
    ]
    return [attempt(lambda tensor=tensor, dtype=dtype: tensor.view(dtype)) for tensor, dtype in bad]


@program
def as_complex_that_cannot_be(torch):
    x = counted(torch, 3, 3)
    bad = [
        x,
        x[:, :2],
        x.t()[:, :2],
        torch.ones(()),
        torch.ones(2, dtype=torch.int32),
        counted(torch, 4)[1:3],
        counted(torch, 2, 2).t(),
    ]
    bad_real = [x, torch.ones(2, dtype=torch.complex64).conj()]
    return [attempt(lambda t=t: torch.view_as_complex(t)) for t in bad], [
        attempt(lambda t=t: torch.view_as_real(t)) for t in bad_real
    ]


@program
def view_raises_where_strides_forbid_it(torch):
    x = counted(torch, 4, 6)
    cases = [
        (x.t(), (24,)), (x.t(), (6, 4)), (x.t(), (3, 2, 4)), (x.t(), (6, 2, 2)), (x[:, :4], (16,)),
        (x[:, :4], (2, 2, 4)), (x[:, :4], (4, 2, 2)),
        (x[:, :4], (8, 2)), (x.expand(2, 4, 6), (8, 6)), (x.expand(2, 4, 6), (2, 24)), (x[::2], (12,)), (x, (5,)),
        (x, (-1, 7)), (x, (-1, -1)),
        (x, (-2, 12)), (x[:0], (0, 3)), (x[:0], (-1, 0)), (x[:, 0], (2, 2)), (x[:, 0], (4, 1)),
        (torch.ones(()), (1, 1)), (torch.ones(1), ()),
    ]  # fmt: skip
    views = [attempt(lambda x=x, shape=shape: x.view(shape)) for x, shape in cases]
    return [view if isinstance(view, list) else layout(view) for view in views]


@program
def reshape_copies_then(torch):
    x = counted(torch, 2, 3).requires_grad_()
    base = x * 1
    made = [
        base.t().reshape(6), base.t().flatten(), base.t().ravel(), base.t().contiguous(), base.reshape(3, 2),
        base.reshape(2, 3), base.ravel(),
        base.flatten(), base[0].flatten(), base[0].ravel(), base.contiguous(), base.t().reshape(3, 2),
        base.t().reshape(3, 1, 2), base[:, :2].reshape(4),
        base.t().reshape_as(torch.ones(6)), base.expand(2, 2, 3).reshape(4, 3), base.expand(2, 2, 3).reshape(2, 6),
        base.t().reshape(-1, 2),
        base[:, 0].reshape(1, 2), base.t().flatten(0, 1), base.unflatten(1, (3, 1)), torch.reshape(base.t(), (2, 3)),
        base.t().unflatten(0, (3, 1)),
    ]  # fmt: skip
    return [[layout(y), node(y), y._is_view(), y.data_ptr() == base.data_ptr(), y.tolist()] for y in made]


@program
def elementwise_results(torch):
    x, y = counted(torch, 2, 3), counted(torch, 3, 2)
    z = counted(torch, 2, 3, 4)
    return layouts(
        x.t() * 2, x.t() + y, y + x.t(), x.t() + x.t(), x.t().exp(), x.t() * torch.ones(2), x.t() * torch.ones(()),
        x.t() > 1, ~(x.t() > 1),
        z.permute(2, 0, 1) + 1, z.permute(2, 0, 1) * z.permute(2, 0, 1), z.permute(2, 0, 1) * torch.ones(3),
        z.transpose(0, 1) - counted(torch, 3, 1, 4),
        x[:, :2] * 2, x[:, ::2] * 1, x[::2] + 1, x.expand(2, 2, 3) * 2, x[:1].expand(2, 3) + 1,
        torch.where(x.t() > 1, x.t(), 0.0), torch.where(x.t() > 1, y, 1.0),
        x.t().clamp(0, 1), -x.t(), x.t() / x.t(), x.t() ** 2, 2 ** x.t(), x.t().pow(y), torch.atan2(x.t(), y),
        torch.addcmul(x.t(), y, x.t()), x.t().relu(),
        x.t().sigmoid(), x.t().int() + x.t(), x.t().lerp(y, 0.5), torch.maximum(x.t(), y), x.t().logical_not(),
        torch.isnan(x.t()), x.t().abs(),
        z.permute(2, 1, 0)[:, :2] + 1, z[:, 1:, ::2].permute(1, 2, 0) * 3, x.t().masked_fill(x.t() > 2, 0.0),
        x.t().nan_to_num(), x.t().square(),
    )  # fmt: skip


@program
def results_that_are_always_contiguous(torch):
    x, m = counted(torch, 2, 3), counted(torch, 2, 3, 4).permute(2, 0, 1)
    return layouts(
        x.t().sum(0), m.sum(1, keepdim=True), x.t() @ x, torch.cat([x.t(), x.t()]), torch.stack([x.t(), x.t()]),
        x.t().repeat(2, 1), x.t().tril(),
        x.t()[torch.tensor([0, 2])], x.t().index_select(0, torch.tensor([0, 2])),
        x.t().gather(0, torch.tensor([[0, 1], [2, 0]])), x.t().masked_select(x.t() > 1),
    )  # fmt: skip


@program
def copies(torch):
    x, images = counted(torch, 2, 3, 4), counted(torch, 2, 3, 4, 5)
    last, kept, dense = torch.channels_last, torch.preserve_format, torch.contiguous_format
    each = [
        x,
        x.permute(2, 0, 1),
        x[:, :2],
        x[:, ::2].mT,
        x.expand(2, 2, 3, 4),
        x[:1].expand(2, 3, 4),
        images.contiguous(memory_format=last),
    ]
    copied = [
        [y.clone(), y.clone(memory_format=kept), y.clone(memory_format=dense), torch.empty_like(y),
            torch.zeros_like(y), torch.ones_like(y),
         torch.full_like(y, 2), torch.rand_like(y), torch.empty_like(y, memory_format=dense), y.to(torch.float64),
         y.int(), y.to(torch.float32, copy=True),
         y.contiguous(), y.double().float(), y.new_empty(y.shape), y.detach().clone(), torch.clone(y),
         y.new_zeros((2, 2)), y.type(torch.int64)]
        for y in each
    ]  # fmt: skip
    return [layouts(*several) for several in copied]


@program
def copies_have_the_elements_in_their_places(torch):
    x = counted(torch, 2, 3).t()
    y = x.clone()
    y[0, 1] = 9.0
    z = torch.empty_like(x).copy_(x)
    return x, y, z, y.t().view(6), y.as_strided((6,), (1,)), z.as_strided((6,), (1,)), layouts(y, z)


@program
def channels_last(torch):
    x, volume = counted(torch, 2, 3, 4, 5), counted(torch, 1, 2, 2, 2, 2)
    last, last3d = torch.channels_last, torch.channels_last_3d
    made = [
        x.contiguous(memory_format=last), x.to(memory_format=last), x.clone(memory_format=last),
        torch.empty((2, 3, 4, 5), memory_format=last),
        torch.empty_like(x, memory_format=last), torch.zeros_like(x, memory_format=last),
        x.double().float(memory_format=last),
        x.to(torch.float64, memory_format=last), volume.contiguous(memory_format=last3d),
        volume.to(memory_format=last3d),
        x.contiguous(memory_format=last).contiguous(), x.contiguous(memory_format=last) * 2,
        x.contiguous(memory_format=last) + x,
        x.contiguous(memory_format=last) + x.contiguous(memory_format=last), x.contiguous(memory_format=last)[0],
        x.contiguous(memory_format=last)[:, 1:],
    ]  # fmt: skip
    asked = [
        [
            y.is_contiguous(memory_format=last),
            y.is_contiguous(memory_format=last3d),
            y.is_contiguous(memory_format=torch.preserve_format),
        ]
        for y in made
    ]
    same = made[0].contiguous(memory_format=last) is made[0]
    return layouts(*made), asked, same, made[0].data_ptr() == made[0].contiguous(memory_format=last).data_ptr(), made[0]


@program
def memory_formats_that_cannot_be(torch):
    x, last, last3d = torch.ones(2, 3), torch.channels_last, torch.channels_last_3d
    cases = [
        lambda: x.contiguous(memory_format=last), lambda: x.contiguous(memory_format=last3d),
        lambda: x.contiguous(memory_format=3), lambda: x.clone(memory_format=last),
        lambda: x.clone(memory_format=3), lambda: x.is_contiguous(memory_format=3),
        lambda: x.is_contiguous(memory_format=last), lambda: x.to(memory_format=last),
        lambda: torch.empty((2, 3), memory_format=last),
        lambda: torch.empty((2, 3), memory_format=torch.preserve_format),
        lambda: torch.ones(1, 1, 1, 1).to(memory_format=last3d),
        lambda: torch.empty_like(x, memory_format=last), lambda: x.contiguous(memory_format=torch.preserve_format) is x,
    ]  # fmt: skip
    return [attempt(case) for case in cases]


@program
def as_strided_shows_any_part(torch):
    x = counted(torch, 4, 6)
    return [
        [layout(v), v.tolist(), v._base is x]
        for v in (
            x.as_strided((2, 3), (6, 1)), x.as_strided((2, 3), (1, 2), 1), torch.as_strided(x, [3], [7]),
            x[1].as_strided((2,), (1,)), x[1].as_strided((2,), (1,), 0),
            x.t().as_strided((4, 6), (6, 1)), x.as_strided((), (), 5), x.as_strided((0, 3), (1, 5), 2),
            x.as_strided((2, 2), (0, 1)), x.as_strided((3, 3), (1, 1)),
            torch.as_strided(x, size=(2,), stride=(3,), storage_offset=4), x[1:, 1:].as_strided((2, 2), (6, 1), 7),
        )
    ]  # fmt: skip


@program
def as_strided_that_cannot_be(torch):
    x = counted(torch, 2, 3)
    cases = [
        lambda: x.as_strided((2,), (-1,)), lambda: x.as_strided((-2,), (1,)), lambda: x.as_strided((2, 2), (1,)),
        lambda: x.as_strided((7,), (1,)),
        lambda: x.as_strided((3,), (1,), 4), lambda: x.as_strided((3,), (1,), -1),
        lambda: x.as_strided((2.0,), (2,), 1),
        lambda: x.double().as_strided((7,), (1,)), lambda: x.as_strided((2, 3), (4, 1), 1),
        lambda: x.as_strided_((7,), (1,)), lambda: x.as_strided_((2,), (-1,)),
    ]  # fmt: skip
    return [attempt(case) for case in cases], layout(x), x._version


@program
def gradients_of_as_strided(torch):
    x = counted(torch, 2, 3).requires_grad_()
    account = []
    for given in (
        lambda: x * 1,
        lambda: (x * 1).t(),
        lambda: (x * 1)[:, :2],
        lambda: (x * 1)[0],
        lambda: (x * 1)[:1].expand(2, 3),
    ):
        for size, stride, offset in [
            ((2, 2), (2, 1), 0),
            ((3,), (1,), 0),
            ((2, 2), (1, 1), 0),
            ((2,), (0,), 1),
            ((2,), (2,), None),
        ]:
            y = given()
            v = y.as_strided(size, stride, offset)
            weights = torch.arange(1.0, v.numel() + 1).reshape(v.shape)
            account.append([node(v), v.requires_grad, v.is_leaf, *torch.autograd.grad((v * weights).sum(), x)])
    return account


@program
def copies_of_views(torch):
    x = counted(torch, 2, 3).requires_grad_()
    y = x * 1
    made = [
        torch.view_copy(y, (6,)), torch.view_copy(y.t(), (6,)),
        torch.t_copy(y), torch.transpose_copy(y, 0, 1), torch.permute_copy(y, (1, 0)),
        torch.select_copy(y, 0, 1), torch.slice_copy(y, 1, 0, 2),
        torch.squeeze_copy(y[:1]), torch.squeeze_copy(y[:1], 0), torch.unsqueeze_copy(y, 0),
        torch.expand_copy(y, (2, 2, 3)), torch.diagonal_copy(y), torch.narrow_copy(y, 1, 0, 2),
        torch.alias_copy(y), torch.as_strided_copy(y, (2,), (2,), 1), torch.unfold_copy(y, 1, 2, 1),
        y.narrow_copy(0, 0, 1),
        *torch.unbind_copy(y), *torch.split_copy(y, 2, 1), *torch.split_with_sizes_copy(y, (1, 2), 1),
    ]  # fmt: skip
    return [[layout(z), node(z), z._is_view(), z.tolist(), z.requires_grad] for z in made]


@program
def gradients_of_copies_of_views(torch):
    x = counted(torch, 2, 3).requires_grad_()
    y = x * 1
    made = [
        torch.view_copy(y, (6,)), torch.view_copy(y.t(), (2, 3)),
        torch.t_copy(y), torch.select_copy(y, 0, 1), torch.expand_copy(y, (2, 2, 3)),
        torch.as_strided_copy(y, (3,), (1,), 1), torch.diagonal_copy(y), torch.unfold_copy(y, 1, 2, 1),
        torch.unbind_copy(y)[1], torch.narrow_copy(y, 1, 0, 2), torch.squeeze_copy(y[:1]),
    ]  # fmt: skip
    return [torch.autograd.grad((z * (z + 1)).sum(), x, retain_graph=True) for z in made]


@program
def as_strided_scatter(torch):
    x, source = counted(torch, 2, 3).requires_grad_(), torch.tensor([10.0, 20.0], requires_grad=True)
    y = x * 1
    made = [torch.as_strided_scatter(y, source, (2,), (2,), 1), y.as_strided_scatter(source, (2,), (1,))]
    grads = [torch.autograd.grad((z * z).sum(), source, retain_graph=True) for z in made]
    wrong = [
        lambda: torch.as_strided_scatter(y, source, (3,), (1,)),
        lambda: torch.as_strided_scatter(y, source, (2,), (9,)),
    ]
    return [[z.tolist(), layout(z), node(z)] for z in made], grads, [attempt(case) for case in wrong], y


@program
def conjugates_are_views(torch):
    x = torch.complex(counted(torch, 2, 2), counted(torch, 2, 2) + 1)
    c = x.conj()
    flags = [
        x.is_conj(),
        c.is_conj(),
        c.conj().is_conj(),
        c.is_neg(),
        c.imag.is_neg(),
        c.real.is_neg(),
        c.resolve_conj().is_conj(),
        c.imag.resolve_neg().is_neg(),
    ]
    flags += [
        c.t().is_conj(),
        c[0].is_conj(),
        c.clone().is_conj(),
        (c * 1).is_conj(),
        c.mH.is_conj(),
        torch.is_conj(c),
        torch.ones(2).conj().is_conj(),
        c.detach().is_conj(),
    ]
    same = [
        x.resolve_conj() is x,
        torch.ones(1).resolve_neg().is_neg(),
        c._base is x,
        c._is_view(),
        c.data_ptr() == x.data_ptr(),
        c.conj_physical().is_conj(),
    ]
    c[0, 0] = 5 + 7j
    before = [x.tolist(), c.tolist(), c.imag.tolist()]
    c.imag.mul_(2)
    x[1, 1] = 1j
    return flags, same, before, x, c, c.imag.tolist(), x._version, c._version, layouts(c, c.imag, c.resolve_conj())


@program
def gradients_through_conjugates(torch):
    leaf = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    x = leaf * (1 + 1j)
    c = x.conj()
    names = [node(c), node(c.imag), node(c.real), node(c.resolve_conj()), node(x.mH) if x.ndim == 2 else None]
    c.mul_(2 - 1j)
    names += [node(c), node(x)]
    y = (c.imag * torch.tensor([1.0, 2.0])).sum() + (x.real * x.imag).sum()
    return names, torch.autograd.grad(y, leaf), c, x


@program
def layouts_of_gradients(torch):
    account = []
    for given in (lambda: counted(torch, 2, 3).t(), lambda: counted(torch, 2, 4)[:, :3], lambda: counted(torch, 2, 3)):
        for function in (lambda x: x * 2, lambda x: x.t() * 2, lambda x: x.sum(0) * 1, lambda x: x.contiguous()):
            for create_graph in (False, True):
                x = given().requires_grad_()
                with warnings.catch_warnings():  # of a reference cycle
                    warnings.simplefilter("ignore")
                    (function(x) ** 2).sum().backward(create_graph=create_graph)
                account.append([layout(x.grad), x.grad.tolist(), node(x.grad)])
                (function(x) ** 2).sum().backward()
                account.append([x.grad.stride(), x.grad.tolist()])
    return account


@program
def operands_that_are_cast_are_copied_first(torch):
    makes = [
        lambda d: torch.ones(3, 2, dtype=d).expand(2, 3, 2).permute(2, 0, 1), lambda d: torch.ones(2, 2, 3, dtype=d),
        lambda d: torch.ones(3, 1, 1, dtype=d).expand(3, 2, 2).permute(2, 1, 0), lambda d: torch.ones((), dtype=d),
        lambda d: torch.ones(2, 3, 2, dtype=d).mT, lambda d: torch.ones(3, dtype=d).expand(2, 2, 3),
    ]  # fmt: skip
    account, dtypes = [], (torch.int64, torch.float32, torch.float64)
    for left in makes:
        for right in makes:
            for one, other in ((d, e) for d in dtypes for e in dtypes):
                x, y = left(one), right(other)
                account.append([f(x, y).stride() for f in (torch.add, torch.div, torch.lt, torch.maximum)])
        x = left(torch.int64)
        account.append([x.sin().stride(), torch.logical_not(x).stride(), (x * 1.5).stride(), (x / 2).stride()])
    return account


@program
def gradients_that_are_cast_are_written_anew(torch):
    account = []
    for given in (lambda: counted(torch, 2, 3), lambda: counted(torch, 3, 2).t(), lambda: counted(torch, 2, 6)[:, ::2]):
        for function in (
            lambda x: x.sum(-1, dtype=torch.float64), lambda x: x.sum(dtype=torch.float64),
            lambda x: x.mean(0, dtype=torch.float64), lambda x: x.sum((0, 1), keepdim=True, dtype=torch.float16),
            lambda x: x.nansum(0, dtype=torch.float64), lambda x: x.t().to(torch.float64),
        ):  # fmt: skip
            x = given().requires_grad_()
            for create_graph in (False, True):
                (grad,) = torch.autograd.grad(function(x).sin().sum(), x, create_graph=create_graph)
                account.append([grad.stride(), grad.dtype is x.dtype])
                with torch.no_grad():
                    account.append(grad.mul_(2).detach())
    return account


@program
def nodes_of_parts_of_complex_numbers(torch):
    def chain(x):
        names, last = [], x.grad_fn
        while last is not None:
            names.append(last.name())
            last = last.next_functions[0][0] if last.next_functions else None
        return names

    account = []
    views = [
        lambda x: x.real, lambda x: x.imag, lambda x: x.conj().real, lambda x: x.conj().imag, lambda x: x.conj(),
        lambda x: torch.view_as_real(x), lambda x: x.conj()[0], lambda x: x.imag[0], lambda x: x.mH,
        lambda x: x.t().imag, lambda x: x.conj().conj(), lambda x: x.conj().imag._neg_view(),
    ]  # fmt: skip
    for view in views:
        x = torch.complex(counted(torch, 2, 2), counted(torch, 2, 2)).requires_grad_() * 1
        v = view(x)
        account.append([chain(v), v._base is x, v._is_view()])
        v.mul_(2)
        account.append([chain(v), chain(x), v.tolist(), x.tolist(), v._version])
        x.add_(1j)
        account.append([chain(v), v.tolist()])
    return account


@program
def results_that_lie_otherwise(torch):
    """Operands in unusual order; functions whose results PyTorch lays out in ways of their own."""
    expanded, plain = counted(torch, 20).as_strided((9, 5, 2), (0, 1, 7)), counted(torch, 9, 5, 2)
    whole, other, cube = expanded.long(), plain.long(), counted(torch, 5, 4, 3)
    q = torch.tensor([0.5, 0.25])
    return layouts(
        torch.rsub(expanded, plain), torch.rsub(plain, expanded), torch.rsub(plain, expanded, alpha=2),
        2 - expanded, torch.rsub(expanded, 2), torch.rsub(expanded, 2, alpha=3),
        whole.__rand__(other), other.__rand__(whole), other.__ror__(whole), whole.__rxor__(other),
        torch.fill(expanded, 3.0), torch.fill(expanded, torch.tensor(3.0)), torch.fill(plain.mT, 1),
        torch.mvlgamma(expanded + 5, 1), torch.mvlgamma(expanded + 5, 3),
        torch.nn.functional.rrelu(expanded), torch.nn.functional.rrelu(expanded, training=True),
        *[torch.unique(cube, dim=axis) for axis in range(3)],
        *[torch.unique_consecutive(cube.mT, dim=axis) for axis in range(3)],
        *[torch.quantile(cube, q, axis, keep) for axis in (0, 1, 2, None) for keep in (False, True)],
        torch.nanquantile(cube, q, 1), torch.quantile(cube, 0.5, 1),
        torch.linalg.ldl_solve(torch.eye(3), torch.tensor([1, 2, 3], dtype=torch.int32), torch.ones(3, 2)),
        torch.conv_tbc(torch.ones(3, 2, 2), torch.ones(2, 2, 2), torch.ones(2)),
    )  # fmt: skip


@program
def as_strided_has_higher_derivatives(torch):
    x = counted(torch, 2, 3).double().requires_grad_()

    def windows(x):
        return (x * x).as_strided((3, 2), (1, 2), 0) ** 3, (x.t() ** 2).as_strided((2, 2), (2, 1), 1) * x[:, :2]

    return torch.autograd.gradcheck(windows, (x,)), torch.autograd.gradgradcheck(windows, (x,))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    agree(program)

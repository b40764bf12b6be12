"""Memory as programs see it: addresses, storages, ``set_``, ``resize_``, tensors made with strides, swapping."""

import copy
import pickle
import warnings
import weakref

import numpy as np
import pytest
from harness import Programs, agree, attempt

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def layout(x):
    """Shape, strides, offset, and the number of bytes of its storage."""
    return [tuple(x.shape), x.stride(), x.storage_offset(), x.is_contiguous(), x.untyped_storage().nbytes()]


def counted(torch, *shape):
    return torch.arange(float(torch.Size(shape).numel())).reshape(shape).clone()


def place(x):
    """The name and the parents of its node, and what else can be seen of its place in the graph."""
    node = x.grad_fn
    named = node and [node.name(), [before and before.name() for before, _ in node.next_functions]]
    return [named, x.requires_grad, x.is_leaf, x._is_view(), x._version]


def storage(x):
    """``x.storage()``, which PyTorch warns of once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x.storage()


def distances(first, *others):
    """How many bytes after the first tensor the others begin."""
    return [x.data_ptr() - first.data_ptr() for x in others]


@program
def addresses(torch):
    x = counted(torch, 4, 6)
    views = (
        x,
        x[1],
        x[:, 2],
        x[2:, 1:],
        x.t(),
        x.view(24)[7],
        x.detach(),
        x.data,
        x.reshape(6, 4),
        x.contiguous(),
        x.expand(2, 4, 6),
        x.as_strided((2,), (1,), 9),
    )
    one_memory = [v.untyped_storage().data_ptr() == x.data_ptr() for v in views]
    copies = [x.clone(), x.t().contiguous(), x.t().reshape(24), x * 1, x[0].clone()]
    another = [y.data_ptr() == x.data_ptr() for y in copies]
    empty = [
        torch.zeros(0).data_ptr(),
        torch.zeros(0, 3).untyped_storage().data_ptr(),
        x[4:].data_ptr(),
        x[:, 6:].data_ptr(),
    ]
    return distances(x, *views), one_memory, another, empty, x.data_ptr() != 0


@program
def addresses_outlive_writes(torch):
    x = counted(torch, 4, 6)
    v, before = x[1], x.data_ptr()
    x.add_(1)
    v.mul_(2)
    x[2] = 5.0
    y = x.t()
    return (
        x.data_ptr() == before,
        distances(x, v, y),
        before == x.untyped_storage().data_ptr(),
        x.is_set_to(x.view(4, 6)),
        y.is_set_to(x.t()),
    )


@program
def addresses_of_other_dtypes(torch):
    x = torch.complex(counted(torch, 3, 4), counted(torch, 3, 4))
    pairs, halves = torch.view_as_real(x), counted(torch, 4)
    views = x.real, x.imag, pairs[1], pairs[..., 1], x[1].imag, x.conj(), x.conj().imag, x[2:]
    return distances(x, *views), distances(
        halves, halves.view(torch.int16)[3], halves.view(torch.float64)[1:], halves[1:].view(torch.int32)
    )


@program
def who_is_set_to_whom(torch):
    x = counted(torch, 2, 3)
    others = (
        x,
        x[:],
        x[0],
        x.view(3, 2),
        x.detach(),
        x.data,
        x.clone(),
        x.t(),
        x.t().t(),
        x.view(2, 3),
        x[:, :3],
        x.view(torch.int32),
        x.alias() if hasattr(x, "alias") else x,
    )
    asked = [attempt(lambda y=y: x.is_set_to(y)) for y in others]
    return asked, attempt(lambda: x.is_set_to(3)), torch.zeros(0).is_set_to(torch.zeros(0))


@program
def untyped_storages(torch):
    x = counted(torch, 2, 3)
    s = x.untyped_storage()
    seen = [
        type(s).__name__,
        s.nbytes(),
        s.size(),
        len(s),
        str(s.device),
        s[6],
        s.tolist()[:8],
        s.data_ptr() == x.data_ptr(),
        s.element_size(),
        s.is_cuda,
        s.device.type,
    ]
    same = [
        x.untyped_storage() is s,
        x[1].untyped_storage() is s,
        x.untyped_storage()._cdata == x[1].untyped_storage()._cdata,
        s.data_ptr() == x[1].untyped_storage().data_ptr(),
    ]
    copied = s.clone()
    x[0, 0] = 1.0
    named = isinstance(s, torch.UntypedStorage), torch.is_storage(s), torch.is_storage(x)
    return (
        seen,
        same,
        copied.tolist()[:4],
        s.tolist()[:4],
        copied.nbytes(),
        named,
        x[1].untyped_storage().nbytes(),
        torch.zeros(0).untyped_storage().nbytes(),
    )


@program
def elements_of_untyped_storages(torch):
    x = torch.tensor([1, 2, 3], dtype=torch.uint8)
    s = x.untyped_storage()
    s[1] = 7
    wrong = [
        attempt(lambda: s[3]),
        attempt(lambda: s["a"]),
        attempt(lambda: s.__setitem__(5, 1)),
        attempt(lambda: s[1.5]),
    ]
    s.fill_(9)
    return x, [kind[:2] for kind in wrong], list(s), s[-1], s[0:2].tolist(), x._version


@program
def typed_storages(torch):
    x = counted(torch, 2, 3)
    s = storage(x)
    seen = [
        type(s).__name__,
        s.nbytes(),
        s.size(),
        len(s),
        s[2],
        str(s.dtype),
        s.tolist(),
        s.data_ptr() == x.data_ptr(),
        s.element_size(),
        str(s.device),
        s.pickle_storage_type(),
    ]
    s[1] = 10.0
    view = storage(x[1])
    return (
        seen,
        x,
        view.tolist(),
        list(view),
        isinstance(s, torch.TypedStorage),
        torch.is_storage(s),
        s.untyped().nbytes(),
        s.clone().tolist(),
        attempt(lambda: s[1:3]),
        x._version,
    )


@program
def typed_storages_of_other_kinds(torch):
    tensors = [
        torch.tensor([1, 2]),
        torch.tensor([True, False]),
        torch.tensor([1 + 2j]),
        torch.zeros(0),
        torch.ones(2, dtype=torch.bfloat16),
    ]
    return [[s.size(), s.nbytes(), s.tolist(), str(s.dtype), repr(s)] for s in (storage(t) for t in tensors)]


@program
def storages_by_hand(torch):
    s = torch.UntypedStorage(8)
    x = torch.tensor([], dtype=torch.float32).set_(s)
    x.fill_(2.0)
    y = torch.tensor([], dtype=torch.int32).set_(s)
    return x, y, s.nbytes(), s.data_ptr() == x.data_ptr(), layout(x)


@program
def storages_that_are_resized(torch):
    x = counted(torch, 2, 3)
    s = x.untyped_storage()
    s.resize_(32)
    account = [x, s.nbytes(), layout(x), x._version]
    s.resize_(0)
    account += [s.nbytes(), s.data_ptr(), tuple(x.shape)]
    s.resize_(24)
    x.fill_(1.0)
    return account, x, s.nbytes(), attempt(lambda: s.resize_(-1))[:2]


@program
def set_to_a_tensor(torch):
    x, y = torch.zeros(2), counted(torch, 2, 3)
    result = x.set_(y) is x
    y[0, 0] = 7.0
    account = [x, x._version, y._version, x.is_set_to(y), x._is_view(), layout(x)]
    x.add_(1)
    x.set_()
    t = torch.zeros(1).set_(y.t())
    t[0, 1] = -1.0
    return result, account, y, layout(x), layout(t), x.dtype is torch.float32, y._version, t._version


@program
def set_to_a_storage(torch):
    y = counted(torch, 2, 3)
    made = [
        torch.zeros(2).set_(y.untyped_storage()), torch.zeros(2).set_(storage(y)),
        torch.zeros(2).set_(storage(y), 1, (2, 2), (1, 1)), torch.zeros(2).set_(storage(y), 1, (2, 2)),
        torch.zeros(2).set_(y, 1, (2, 2), (1, 1)), torch.zeros(2).set_(y, 1, (2, 2)), torch.zeros(2).set_(source=y),
        torch.zeros(2).set_(y.untyped_storage(), 2, (3,), (1,)),
        torch.zeros(2).set_(y.untyped_storage(), storage_offset=1, size=(2,), stride=(2,)),
        torch.zeros(2).set_(y[1].untyped_storage(), 0, (6,)),
    ]  # fmt: skip
    before = [x.tolist() for x in made]
    y.mul_(2)
    return (
        before,
        made,
        [layout(x) for x in made],
        y._version,
        [x._version for x in made],
        [x.data_ptr() - y.data_ptr() for x in made],
    )


@program
def set_to_memory_of_another_dtype(torch):
    y = torch.tensor([1.0, 2.0], dtype=torch.float64)
    x = torch.zeros(1, dtype=torch.int32).set_(y.untyped_storage())
    b = torch.zeros(1, dtype=torch.uint8).set_(y.untyped_storage(), 8, (8,), (1,))
    b[7] = 0
    return x, b, y, layout(x), layout(b)


@program
def set_that_cannot_be(torch):
    x, y, leaf = torch.zeros(2), counted(torch, 2, 3), torch.zeros(2, requires_grad=True)
    z = torch.zeros(2)  # which PyTorch has moved already when it raises
    cases = [
        lambda: x.set_(y.double()), lambda: x.set_(storage(y.double())), lambda: leaf.set_(y), lambda: x.set_(y, 1),
        lambda: z.set_(y, -1, (2,), (1,)),
        lambda: z.set_(y.untyped_storage(), 0, (2, 2), (1,)), lambda: z.set_(y.untyped_storage(), 0, (2,), (-1,)),
    ]  # fmt: skip
    return [attempt(case) for case in cases], x, leaf, x._version, leaf._version


@program
def set_of_parameters(torch):
    p, weights = torch.nn.Parameter(torch.zeros(2)), counted(torch, 3)
    (p * 2).sum().backward()
    with torch.no_grad():
        p.set_(weights)
    account = [p, place(p), p.grad, layout(p)]
    p.grad = None
    (p * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return account, p.grad, attempt(lambda: p.set_(weights))


@program
def set_makes_a_saved_tensor_stale(torch):
    x, w = torch.ones(2, requires_grad=True), torch.ones(2)
    y = (x * w).sum()
    w.set_(torch.zeros(3))
    return attempt(y.backward)


@program
def set_of_what_is_recorded(torch):
    x = (torch.ones(2, requires_grad=True) * 2).set_(counted(torch, 3))
    y = torch.zeros(2).set_(counted(torch, 3).requires_grad_())
    return place(x), place(y), x.detach(), attempt(lambda: x.sum().backward())


@program
def set_of_a_view(torch):
    x = counted(torch, 2, 3)
    v = x[0]
    v.set_(torch.zeros(5))
    v.add_(1)
    return v, x, v._base is x, v._version, x._version


@program
def resizing(torch):
    account = []
    for size in [(3, 2), (2, 3), (2,), (6,), (1, 2, 3), (), (0, 2), (3, 1, 1)]:
        x = counted(torch, 2, 3)
        same = x.resize_(size) is x
        account.append([same, x, x._version, layout(x)])
    x = counted(torch, 2, 3)
    grown = x.resize_(4, 3)[:2], layout(x), x._version
    x.resize_((3, 2))
    again = x.tolist(), layout(x), x._version
    t = counted(torch, 2, 3).t()
    first = layout(t.resize_(2, 3))
    t = counted(torch, 2, 3).t()
    return (
        account,
        grown,
        again,
        first,
        layout(t.resize_(3, 2)),
        layout(counted(torch, 2, 3).resize_as_(torch.ones(2))),
        layout(torch.zeros(0).resize_(2)),
    )


@program
def resizing_what_is_viewed(torch):
    x = counted(torch, 2, 3)
    v, w = x[1], x.t()
    x.resize_(1, 2)
    account = [x.tolist(), v.tolist(), w.tolist(), layout(x), layout(v), x._version, v._version, v._base is x]
    x[0, 1] = 8.0
    account += [v.tolist(), w.tolist()]
    x.resize_(4, 2)
    x.zero_()
    x[1, 1] = 3.0
    return account, x, v, w, distances(x, v, w), layout(v)


@program
def resizing_a_view(torch):
    x = counted(torch, 3, 3)
    v = x[1]
    v.resize_(2, 2)
    v.mul_(10)
    account = [v.tolist(), x.tolist(), layout(v), x._version, v._base is x]
    v.resize_(2, 4)[1, 1:].zero_()
    return account, x, layout(v), layout(x), distances(x, v), v[0]


@program
def resizing_that_cannot_be(torch):
    x, leaf = counted(torch, 2, 3), torch.zeros(2, requires_grad=True)

    def silently():
        with torch.no_grad():
            leaf.resize_(3)

    cases = [
        lambda: leaf.resize_(3), lambda: leaf.resize_(2), silently, lambda: (leaf * 2).resize_(3),
        lambda: x.resize_(-2), lambda: x.resize_(2, -2), lambda: x.resize_(2.0),
        lambda: x.resize_(), lambda: leaf.resize_as_(x), lambda: x.resize_(2, 3, memory_format=torch.channels_last),
        lambda: x.resize_("a"),
        lambda: x.resize_(2, 3, memory_format=torch.preserve_format), lambda: leaf.detach().resize_(2).shape,
    ]  # fmt: skip
    return [attempt(case) for case in cases], layout(x), layout(leaf), x._version


@program
def resizing_with_a_memory_format(torch):
    images = torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    made = [
        torch.zeros(2).resize_(2, 3, 4, 5, memory_format=torch.channels_last), torch.zeros(2).resize_as_(images),
        torch.zeros(2).resize_as_(images, memory_format=torch.preserve_format),
        torch.zeros(2).resize_as_(images, memory_format=torch.contiguous_format),
        torch.resize_as_(torch.zeros(2), torch.zeros(3)),
    ]  # fmt: skip
    return [layout(x) for x in made]


@program
def made_with_strides(torch):
    made = [
        torch.empty_strided((2, 3), (1, 2)), torch.empty_strided((2, 3), (10, 2), dtype=torch.int64),
        torch.empty_strided((2,), (1,), requires_grad=True), torch.empty_strided((), ()),
        torch.empty_strided((0, 3), (1, 1)), torch.empty_strided([2, 2], [0, 1]),
        torch.zeros(2).new_empty_strided((2, 3), (1, 2)), torch.empty_permuted((2, 3, 5), (0, 2, 1)),
        torch.empty_permuted((2, 3), (1, 0), dtype=torch.int32),
        torch.empty((2, 3, 4, 5), memory_format=torch.channels_last), torch.empty_strided((3,), (4,), device="cpu"),
    ]  # fmt: skip
    return [[layout(x), str(x.dtype), x.requires_grad] for x in made]


@program
def made_with_strides_and_written(torch):
    x = torch.empty_strided((2, 3), (4, 1))
    x.copy_(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    v = x.t()
    v[0] = 7.0
    x.add_(1)
    return x, v, x * 1, layout(x * 1), layout(x.clone()), x[:, 1:].sum(), x.as_strided((2,), (4,), 2)


@program
def made_with_strides_that_cannot_be(torch):
    cases = [
        lambda: torch.empty_strided((2, 3), (-1, 2)), lambda: torch.empty_strided((2, 3), (1,)),
        lambda: torch.empty_strided((-2, 3), (1, 1)), lambda: torch.empty_permuted((2, 3), (0,)),
        lambda: torch.empty_permuted((2, 3), (0, 0)), lambda: torch.empty_permuted((2, 3), (0, 2)),
        lambda: torch.empty_permuted((2, 3), (0, -1)), lambda: torch.empty_strided(2, 1),
        lambda: torch.empty_strided((2,), (1,), dtype=torch.int64, requires_grad=True),
        lambda: torch.zeros(2).new_empty_strided((2,), (1, 1)),
    ]  # fmt: skip
    return [attempt(case) for case in cases]


@program
def layouts_that_leave_and_come_back(torch):
    x, array = counted(torch, 2, 3), np.arange(6.0).reshape(2, 3)
    row, alone = copy.deepcopy([x.t(), x[:, 1:]])
    row[0, 0] = 9.0
    back = [torch.from_numpy(array.T), torch.tensor(array.T), torch.as_tensor(array.T), torch.asarray(array.T)]
    back += [pickle.loads(pickle.dumps(x.t())), copy.copy(x.t()), torch.nn.Parameter(x.t()), row, alone]
    outs = [torch.add(x.t(), 1, out=torch.empty(0)), torch.add(x.t(), 1, out=torch.empty(3, 2))]
    return [[y.tolist(), *layout(y)[:4]] for y in (*back, *outs)], x.t().numpy().strides, x[:, ::2].numpy().tolist()


@program
def swapping_tensors(torch):
    x, y = counted(torch, 2, 3), torch.ones(2, requires_grad=True)
    x.name_of_mine, held = "x", id(x)
    torch.utils.swap_tensors(x, y)
    account = [
        x.requires_grad,
        y.requires_grad,
        x,
        y,
        hasattr(x, "name_of_mine"),
        getattr(y, "name_of_mine", None),
        id(x) == held,
    ]
    (x * 3).sum().backward()
    y.add_(1)
    return account, x.grad, y, y._version, x._version


@program
def swapping_that_cannot_be(torch):
    class Other(torch.Tensor):
        __slots__ = ("mine",)

    x, y = torch.ones(2), torch.zeros(3)
    watched = torch.zeros(2)
    reference = weakref.ref(watched)
    cases = [
        lambda: torch.utils.swap_tensors(x, torch.ones(1).as_subclass(Other)),
        lambda: torch.utils.swap_tensors(watched, y),
        lambda: torch.utils.swap_tensors(x, 3),
    ]
    return [attempt(case)[:2] for case in cases], reference() is watched


@program
def swapping_what_graphs_hold(torch):
    x, y = torch.ones(2, requires_grad=True), torch.zeros(3, requires_grad=True)
    (x * x).sum()
    torch.utils.swap_tensors(x, y)
    kept = (y * 2).sum()
    (y + 1).sum().backward()
    x2, y2 = torch.ones(2, requires_grad=True), torch.zeros(3, requires_grad=True)
    held = (x2 * 1).sum()
    return y.grad, x.grad, kept, attempt(lambda: torch.utils.swap_tensors(x2, y2)), held


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    agree(program)

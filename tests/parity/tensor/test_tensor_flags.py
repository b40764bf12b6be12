"""What a tensor says of itself and what of that can be set: ``requires_grad``, ``grad``, ``data``; what can't be."""

import copy
import math
import pickle
import warnings

import pytest
from harness import Programs, agree, attempt, leaf, warned

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def put(thing, name, value):
    setattr(thing, name, value)
    return getattr(thing, name)


V = [1.0, 2.0]


@program
def setting_requires_grad(torch):
    x, whole = leaf(torch, V), torch.ones(2, dtype=torch.int64)
    y = x * 2
    cases = [
        lambda: put(x, "requires_grad", 1), lambda: put(y, "requires_grad", False),
        lambda: put(y, "requires_grad", True), lambda: put(whole, "requires_grad", True),
        lambda: whole.requires_grad_(), lambda: whole.requires_grad_(False) is whole, lambda: y.requires_grad_() is y,
        lambda: y.requires_grad_(False), lambda: x.requires_grad_("yes"), lambda: delattr(x, "requires_grad"),
        lambda: torch.ones(2, dtype=torch.int64, requires_grad=True), lambda: torch.tensor([1], requires_grad=True),
        lambda: torch.arange(3, requires_grad=True), lambda: torch.arange(3.0, requires_grad=True),
        lambda: torch.ones(2, dtype=torch.complex64, requires_grad=True).requires_grad,
    ]  # fmt: skip
    return [attempt(case) for case in cases]


READ_ONLY = ["grad_fn", "is_leaf", "_version", "shape", "dtype", "output_nr", "name", "_base", "retains_grad", "ndim",
             "is_cuda", "device", "itemsize", "T"]  # fmt: skip


@pytest.mark.parametrize("name", READ_ONLY)
def test_read_only(name):
    def program(torch):
        x = leaf(torch, V)
        return attempt(lambda: put(x, name, None)), attempt(lambda: delattr(x, name))

    agree(program)


@program
def what_can_be_deleted(torch):
    x = leaf(torch, V)
    x.grad = torch.ones(2)
    account = [attempt(lambda: delattr(x, name)) for name in ("grad", "data", "_backward_hooks", "own")]  # noqa: B023
    x.own = 3
    del x.own
    return account, x.grad, hasattr(x, "own")


@program
def assigning_gradients(torch):
    x, c, whole = leaf(torch, V), torch.ones(2), torch.ones(2, dtype=torch.int64)
    y = x * 2
    cases = [
        lambda: put(x, "grad", 3), lambda: put(x, "grad", torch.ones(3)), lambda: put(x, "grad", c.double()),
        lambda: put(x, "grad", x), lambda: put(x, "grad", None), lambda: put(x, "grad", c), lambda: x.grad is c,
        lambda: put(c, "grad", torch.ones(2)), lambda: put(whole, "grad", c), lambda: put(whole, "grad", whole + 1),
        lambda: put(y, "grad", torch.ones(2)), lambda: x._grad, lambda: put(x, "_grad", torch.zeros(2)),
    ]  # fmt: skip
    return [attempt(case) for case in cases]


@program
def warnings_of_attributes(torch):
    x = leaf(torch, V)
    y, kept = x * 2, x * 3
    kept.retain_grad()
    return [
        warned(lambda: y.grad),
        warned(lambda: kept.grad),
        kept.retains_grad,
        warned(lambda: x.grad),
        warned(lambda: x.volatile),
        warned(lambda: setattr(x, "volatile", True)),
        x.name,
    ]


@program
def assigning_data(torch):
    x = leaf(torch, V)
    identity, whole = id(x), torch.ones(2, dtype=torch.int64)
    with torch.no_grad():
        x.add_(1)
    product = (x * x).sum()
    x.data = torch.ones(2) * 5
    account = [id(x) == identity, x._version, x.requires_grad, x.is_leaf, x]
    product.backward()
    account.append(x.grad)
    account += [attempt(lambda: put(x, "data", whole)), attempt(lambda: put(x, "data", 3))]
    account.append(put(x, "data", torch.ones(3)))
    x.data.mul_(3)
    account += [x, x._version, put(x, "data", torch.ones(2, dtype=torch.float64)).dtype == torch.float64]
    return account


@program
def writes_through_data_are_not_noticed(torch):
    x = leaf(torch, V)
    product = (x * x).sum()
    x.data.mul_(3)
    product.backward()
    return x._version, x.grad


@program
def writes_through_detach_are_noticed(torch):
    x = torch.ones(2) * 2
    w = leaf(torch, V)
    product = (w * x).sum()
    x.detach().mul_(3)
    return x._version, attempt(product.backward)


@program
def numpy_and_out(torch):
    x, c = leaf(torch, V), torch.ones(2)
    y = x * 2
    outside = [
        attempt(lambda: x.numpy()), attempt(lambda: y.numpy()), x.detach().numpy(), x.tolist(),
        attempt(lambda: torch.add(x, 1, out=c)), attempt(lambda: torch.add(c, 1, out=y)),
        attempt(lambda: torch.add(c, 1, out=x)),
    ]  # fmt: skip
    with torch.no_grad():
        inside = [x.numpy(), torch.add(x, 1, out=c), torch.add(c, 1, out=torch.empty(2, requires_grad=True))]
    return outside, inside


INTEGRAL = ["argmax", "argmin", "argsort", "isnan", "signbit", "isinf", "isfinite", "nonzero", "unique", "logical_not",
            "bool", "long", "int", "count_nonzero", "isreal", "isposinf"]  # fmt: skip


@program
def results_that_never_require_grad(torch):
    x = leaf(torch, V)
    results = [getattr(x, name)() for name in INTEGRAL]
    results += [torch.searchsorted(x, x), torch.bucketize(x, x), torch.unique_consecutive(x), torch.isclose(x, x)]
    results += [x == x, x > 1, torch.unique(x, return_inverse=True)[1], x.max(0)[1], x.sort()[1], x.topk(1)[1]]
    return [[result.requires_grad, result.grad_fn] for result in results]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol):
    def program(torch):
        x = leaf(torch, V)
        x.grad = torch.ones(2)
        back = pickle.loads(pickle.dumps([x, torch.ones(2), x], protocol))
        return [[t, t.is_leaf, t.grad] for t in back], back[0] is back[2]

    agree(program)


@program
def copies(torch):
    x = leaf(torch, V)
    x.grad = torch.ones(2)
    pair = copy.deepcopy([x, x])
    return [
        [pair[0] is pair[1], pair[0], pair[0].grad, pair[0] is x, pair[0].is_leaf],
        attempt(lambda: copy.deepcopy(x * 2)),
        copy.copy(x).requires_grad,
    ]


@program
def listed_attributes_can_be_read(torch):
    x, z = leaf(torch, [V]), torch.ones(2, 2, dtype=torch.complex64)

    def readable(t, name):
        return attempt(lambda: hasattr(t, name)) is True

    unreadable = [[name for name in dir(t) if not readable(t, name)] for t in (x, z)]
    return unreadable, attempt(lambda: x.imag), x.real is x


@program
def conversions_to_python(torch):
    def scalar(kind, value, **options):
        return attempt(lambda: kind(torch.tensor(value, **options)))

    return [
        [scalar(int, value) for value in (1.5, -1.5, math.nan, math.inf, -math.inf, 1e30, 1 + 2j, [1, 2], [], [3])],
        [scalar(float, value) for value in (1, True, 1 + 2j, [], [2.5])],
        [scalar(bool, value) for value in (0.0, 2, math.nan, [], [1, 2], [0])],
        [scalar(complex, value) for value in (1, 1.5, 1 + 2j)],
        [attempt(torch.tensor(value).__index__) for value in (3, True, 1.5, [3])],
        [attempt(torch.tensor(value).item) for value in (3, True, 1.5, [3], [], [1, 2])],
        int(torch.tensor(2.0**53 + 2, dtype=torch.float64)),
        [int(leaf(torch, 1.5)), bool(leaf(torch, 1.5)), leaf(torch, 1.5).item(), leaf(torch, V).tolist()],
    ]


@program
def who_warns_of_a_lost_history(torch):
    x = leaf(torch, 1.5)
    torch.set_warn_always(True)
    try:
        account = [warned(lambda: kind(x)) for kind in (float, int, bool, complex)]  # noqa: B023 - called at once
        account.append(warned(x.item))
        with torch.no_grad():
            account.append(warned(lambda: float(x)))
    finally:
        torch.set_warn_always(False)
    return account


@program
def numbers_that_do_not_fit(torch):
    def fill(dtype, value):
        return attempt(lambda: torch.ones(1, dtype=getattr(torch, dtype)).fill_(value))

    cases = [("int8", 300), ("int8", -128), ("uint8", 300), ("uint8", -1), ("int64", math.nan), ("float32", 1e50),
             ("float32", math.inf), ("float32", 2j), ("bool", 3), ("int32", 2.7), ("float16", 1e6)]  # fmt: skip
    return [fill(*case) for case in cases], attempt(lambda: torch.full((1,), 300, dtype=torch.uint8))


def _of_another_dtype(torch, kind, use, first):
    x = first(torch)
    x.grad_dtype = kind if kind is None else getattr(torch, kind)
    return x.grad_dtype, attempt(lambda: use(x)), x.grad


@program
def gradients_of_another_dtype(torch):
    def twice(x):
        return [(x * 3).sum().backward(), (x * x).sum().backward(), x.grad.dtype]

    def hooked(x):
        seen = []
        x.register_hook(lambda g: seen.append(g.dtype) or g * 2)
        x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.dtype))
        (x * 3).sum().backward()
        return seen

    class Wide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.double()

    def stepped(x):
        (x * 3).sum().backward()
        torch.optim.SGD([x], lr=0.5).step()
        return x.tolist()

    uses = [
        twice, hooked, stepped, lambda x: torch.autograd.grad((x * 3).sum(), x),
        lambda x: [Wide.apply(x).sum().backward(), (x * 3).sum().backward()],
        lambda x: [(x * 3).sum().backward(), Wide.apply(x).sum().backward()],
        lambda x: torch.autograd.grad(torch.autograd.grad((x**3).sum(), x, create_graph=True)[0].sum(), x),
        lambda x: [copy.deepcopy(x).grad_dtype, torch.nn.Parameter(x).grad_dtype, x.detach().grad_dtype, x[0].is_leaf],
    ]
    return [[_of_another_dtype(torch, kind, use, lambda torch: leaf(torch, V)) for use in uses]
            for kind in (None, "float16", "float64", "float32", "complex64")]  # fmt: skip


@program
def what_a_grad_dtype_refuses(torch):
    x, y = leaf(torch, V), torch.ones(2)
    z = x * 2
    cases = [
        lambda: put(x, "grad_dtype", "float"), lambda: put(z, "grad_dtype", None), lambda: z.grad_dtype,
        lambda: y.grad_dtype,
        lambda: put(y, "grad_dtype", torch.float16), lambda: put(x, "grad_dtype", torch.float16),
        lambda: put(x, "grad", y), lambda: put(x, "grad", y.half()), lambda: put(x, "grad_dtype", torch.float64),
        lambda: put(x, "grad_dtype", torch.float16), lambda: put(x, "grad_dtype", None),
        lambda: put(x, "grad", y.double()), lambda: put(x, "grad_dtype", torch.float16),
    ]  # fmt: skip
    return [attempt(case) for case in cases]


@program
def names_that_begin_with_an_underscore(torch):
    x = torch.arange(6.0).view(2, 3)
    s, z = x.to_sparse(), x * 1j
    cases = [
        lambda: x._addmm_activation(-torch.ones(2, 2), x),
        lambda: x._addmm_activation(x[:, :2], x, use_gelu=True, beta=2),
        lambda: x._grad_fn, lambda: type(leaf(torch, V).mul(2)._grad_fn).__name__,
        lambda: x._has_symbolic_sizes_strides, lambda: x._python_dispatch, lambda: x.const_data_ptr() == x.data_ptr(),
        lambda: x._typed_storage()._size(), lambda: x.storage_type().__name__, lambda: x._lazy_clone(),
        lambda: z._conj_physical(), lambda: s._to_dense(), lambda: attempt(x._to_dense)[:2], lambda: x._to_sparse(1),
        lambda: x._to_sparse_csr(), lambda: x._to_sparse_bsr((1, 3)), lambda: s._to_sparse_csc(),
        lambda: x._fix_weakref(),
        lambda: x.half()._autocast_to_full_precision(True, True).dtype, lambda: type(x._cdata),
        lambda: x._autocast_to_reduced_precision(True, False, torch.half, torch.bfloat16).dtype,
        lambda: x._autocast_to_reduced_precision(True, True, torch.half, torch.bfloat16).dtype,
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [repr(attempt(case)) for case in cases]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

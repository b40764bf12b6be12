"""``out=``: the result goes to a tensor that is given, of its shape and dtype or of others."""

import pytest
import torch as pytorch
from harness import Programs, agree, attempt, recorded_warnings, warned
from inplace_calls import OF_ONE, OF_TWO, OF_TWO_INTEGERS

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:An output with one or more elements was resized"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated"),
]

PROGRAMS = program = Programs()

A, B = [[0.25, 0.5, 0.75], [0.3, 0.6, 0.9]], [[2.0, 0.5, 1.0], [1.0, 3.0, 2.0]]


class Inputs:
    """The tensors that the calls take, made by a module."""

    def __init__(self, torch):
        self.torch = torch

    def __getattr__(self, name):
        tensor = self.torch.tensor
        made = {
            "a": lambda: tensor(A),
            "b": lambda: tensor(B),
            "u": lambda: tensor(A) + 1,
            "row": lambda: tensor([1.0, 2.0, 0.5]),
            "i": lambda: tensor([[1, 2, 3], [4, 5, 6]]),
            "j": lambda: tensor([[2, 1, 3], [1, 2, 4]]),
            "t": lambda: tensor(B).t(),
            "m": lambda: tensor([[True, False, True], [False, True, True]]),
            "s": lambda: tensor([[1.0, 2.0], [3.0, 4.0]]),
            "places": lambda: tensor([1, 0]),
            "batch": lambda: tensor([A]),
            "batch_t": lambda: tensor([B]).transpose(1, 2),
        }
        return made[name]()


MORE_OF_ONE = """
angle isneginf isposinf signbit all any amax amin argmax argmin mean nansum std var max min msort histc hardshrink
""".split()  # noqa: SIM905 - a table is easier to read without the quotes

MORE_OF_TWO = """
maximum minimum fmax fmin logaddexp logaddexp2 complex polar inner clamp clip
""".split()  # noqa: SIM905


def called(names, *operands):
    """Calls of functions of these operands, by name."""
    return {
        name: lambda n, out, f=name: getattr(n.torch, f)(*(getattr(n, one) for one in operands), out=out)
        for name in names
    }


CALLS = {
    **called([*OF_ONE, *MORE_OF_ONE], "a"),
    **called(("acosh", "arccosh"), "u"),
    **called([*OF_TWO, *MORE_OF_TWO], "a", "b"),
    **called(OF_TWO_INTEGERS, "i", "j"),
    **{
        f"{name} along": (lambda n, out, f=name: getattr(n.torch, f)(n.a, 1, out=out))
        for name in [
            "sum",
            "mean",
            "prod",
            "nansum",
            "std",
            "var",
            "amax",
            "amin",
            "argmax",
            "argmin",
            "all",
            "any",
            "cumsum",
            "cumprod",
            "logcumsumexp",
            "logsumexp",
            "softmax",
            "log_softmax",
            "diff",
        ]
    },
    **{
        name: (lambda n, out, f=name: getattr(n.torch, f)([n.a, n.b], out=out))
        for name in ["cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "row_stack"]
    },
    **{
        f"{name} matrices": (lambda n, out, f=name: getattr(n.torch, f)(n.a, n.t, out=out)) for name in ("mm", "matmul")
    },
    "bitwise_not": lambda n, out: n.torch.bitwise_not(n.i, out=out),
    "mv": lambda n, out: n.torch.mv(n.a, n.row, out=out),
    "dot": lambda n, out: n.torch.dot(n.row, n.row, out=out),
    "vdot": lambda n, out: n.torch.vdot(n.row, n.row, out=out),
    "outer": lambda n, out: n.torch.outer(n.row, n.row, out=out),
    "ger": lambda n, out: n.torch.ger(n.row, n.row, out=out),
    "bmm": lambda n, out: n.torch.bmm(n.batch, n.batch_t, out=out),
    "addmm": lambda n, out: n.torch.addmm(n.s, n.a, n.t, out=out),
    "addmv": lambda n, out: n.torch.addmv(n.s[0], n.a, n.row, out=out),
    "addr": lambda n, out: n.torch.addr(n.a, n.s[0], n.row, out=out),
    "addbmm": lambda n, out: n.torch.addbmm(n.s, n.batch, n.batch_t, out=out),
    "baddbmm": lambda n, out: n.torch.baddbmm(n.s[None], n.batch, n.batch_t, out=out),
    "addcmul": lambda n, out: n.torch.addcmul(n.a, n.b, n.b, value=2, out=out),
    "addcdiv": lambda n, out: n.torch.addcdiv(n.a, n.b, n.b, out=out),
    "lerp": lambda n, out: n.torch.lerp(n.a, n.b, 0.25, out=out),
    "where": lambda n, out: n.torch.where(n.m, n.a, n.b, out=out),
    "gather": lambda n, out: n.torch.gather(n.a, 1, n.places[:, None], out=out),
    "take": lambda n, out: n.torch.take(n.a, n.places, out=out),
    "take_along_dim": lambda n, out: n.torch.take_along_dim(n.a, n.places[:, None], 1, out=out),
    "index_select": lambda n, out: n.torch.index_select(n.a, 0, n.places, out=out),
    "masked_select": lambda n, out: n.torch.masked_select(n.a, n.m, out=out),
    "index_add": lambda n, out: n.torch.index_add(n.a, 0, n.places, n.b, out=out),
    "index_copy": lambda n, out: n.torch.index_copy(n.a, 0, n.places, n.b, out=out),
    "scatter": lambda n, out: n.torch.scatter(n.a, 0, n.places[None], n.b, out=out),
    "scatter_add": lambda n, out: n.torch.scatter_add(n.a, 0, n.places[None], n.b, out=out),
    "scatter_reduce": lambda n, out: n.torch.scatter_reduce(n.a, 0, n.places[None], n.b, "prod", out=out),
    "slice_scatter": lambda n, out: n.torch.slice_scatter(n.a, n.b[:1], 0, 1, 2, out=out),
    "diag": lambda n, out: n.torch.diag(n.a, out=out),
    "polygamma": lambda n, out: n.torch.polygamma(1, n.a, out=out),
    "mvlgamma": lambda n, out: n.torch.mvlgamma(n.u, 2, out=out),
    "renorm": lambda n, out: n.torch.renorm(n.a, 2, 0, 0.5, out=out),
    "searchsorted": lambda n, out: n.torch.searchsorted(n.row.sort()[0], n.a, out=out),
    "bucketize": lambda n, out: n.torch.bucketize(n.a, n.row.sort()[0], out=out),
    "norm": lambda n, out: n.torch.norm(n.a, out=out),
    "sum of integers": lambda n, out: n.torch.sum(n.i, 1, out=out),
    "prod of a dtype": lambda n, out: n.torch.prod(n.a, 1, dtype=n.torch.float64, out=out),
    "add a number": lambda n, out: n.torch.add(n.a, 2, out=out),
    "mul integers": lambda n, out: n.torch.mul(n.i, n.j, out=out),
    "div integers": lambda n, out: n.torch.div(n.i, n.j, out=out),
    "clamp numbers": lambda n, out: n.torch.clamp(n.a, 0.3, 0.6, out=out),
    "pow number": lambda n, out: n.torch.pow(n.a, 2, out=out),
    "round decimals": lambda n, out: n.torch.round(n.a, decimals=1, out=out),
    "linalg.vector_norm": lambda n, out: n.torch.linalg.vector_norm(n.a, out=out),
    "special.expit": lambda n, out: n.torch.special.expit(n.a, out=out),
    "special.i1": lambda n, out: n.torch.special.i1(n.a, out=out),
    "special.entr": lambda n, out: n.torch.special.entr(n.a, out=out),
    "special.xlog1py": lambda n, out: n.torch.special.xlog1py(n.a, n.b, out=out),
    "special.logsumexp": lambda n, out: n.torch.special.logsumexp(n.a, 1, out=out),
    "zeros": lambda n, out: n.torch.zeros(2, 3, out=out),
    "ones": lambda n, out: n.torch.ones((2, 3), out=out),
    "full": lambda n, out: n.torch.full((2, 3), 2, out=out),
    "eye": lambda n, out: n.torch.eye(2, 3, out=out),
    "linspace": lambda n, out: n.torch.linspace(0, 1, 3, out=out),
}


DTYPES = ("float32", "float64", "int64", "bool", "complex64", "float16")


def result(torch, name, out):
    return attempt(lambda: CALLS[name](Inputs(torch), out))


def given(torch, name, shape, dtype="float32"):
    """What is seen of a tensor given as ``out=``; after an error not what is in it: PyTorch may have begun to write."""
    out = torch.full(shape, 7, dtype=getattr(torch, dtype))
    before = out.clone()
    returned = result(torch, name, out)
    if isinstance(returned, list):
        assert torch is pytorch or (out == before).all(), out
        return [returned, list(out.shape), out._version]
    return [returned is out, out, list(out.stride()), out._version]


OTHERWISE = {"heaviside": "complex64", "std along": "complex64", "var along": "complex64", "addbmm": "float64"}
"""What PyTorch refuses in other words, or computes all the same, or writes to before it refuses."""


@pytest.mark.filterwarnings("ignore:torch.ger is deprecated")
@pytest.mark.parametrize("name", CALLS)
def test_shapes_and_dtypes(name):
    """An empty tensor, one of the right shape and others: of each dtype."""

    def program(torch):
        plain = CALLS[name](Inputs(torch), None)
        shape = tuple(plain.shape)
        seen = [
            given(torch, name, (0,), str(plain.dtype).split(".")[-1]),
            given(torch, name, (4, 2), str(plain.dtype).split(".")[-1]),
        ]
        return seen + [[dtype, given(torch, name, shape, dtype)] for dtype in DTYPES if dtype != OTHERWISE.get(name)]

    agree(program, rtol=2e-3, atol=1e-3)


def names(tensor):
    return None if tensor.grad_fn is None else tensor.grad_fn.name()


@program
def into_views(torch):
    base, n = torch.zeros(4, 3), Inputs(torch)
    part, turned = base[1:3], torch.zeros(3, 2)
    view = turned.t()
    returned = [torch.add(n.a, n.b, out=part) is part, torch.mul(n.a, 2, out=view) is view]
    return returned, base, base._version, part._version, turned, turned._version, view.stride(), view._base is turned


@program
def into_views_of_another_shape(torch):
    """What is larger than the view goes on in the memory of the base."""
    base, n = torch.zeros(4, 3), Inputs(torch)
    part = base[1:2]
    torch.add(n.a, n.b, out=part)
    return (
        base,
        list(part.shape),
        part.stride(),
        part.storage_offset(),
        part._base is base,
        base._version,
        part._version,
    )


@program
def into_memory_that_is_too_small(torch):
    out, n = torch.zeros(2), Inputs(torch)
    other = out[:1]
    before = out.data_ptr() == other.data_ptr()
    torch.add(n.a, n.b, out=out)
    return before, out, out._version, other._version, list(out.shape), out.is_contiguous()


@program
def into_what_is_smaller(torch):
    out = torch.arange(6.0).view(2, 3)
    torch.add(torch.ones(1), 3.0, out=out)
    return out, out._version, out.untyped_storage().nbytes()


@program
def warnings_of_other_shapes(torch):
    n = Inputs(torch)
    return [
        warned(lambda: torch.add(n.a, n.b, out=torch.zeros(4))),
        warned(lambda: torch.add(n.a, n.b, out=torch.zeros(0))),
        warned(lambda: torch.add(n.a, n.b, out=torch.zeros(2, 3))),
        warned(lambda: torch.sort(n.row, out=(torch.zeros(1), torch.zeros(2, dtype=torch.int64)))),
    ]


@program
def into_an_operand(torch):
    x = torch.tensor(A)
    torch.add(x, x, out=x)
    y = torch.arange(4.0).view(2, 2)
    torch.mul(y[0], 2.0, out=y[1])
    z = torch.arange(6.0)
    return [
        x,
        x._version,
        y,
        y._version,
        attempt(lambda: torch.add(z[1:], 1, out=z[:-1])),
        attempt(lambda: torch.add(torch.ones(2, 3), 1, out=torch.zeros(3).expand(2, 3))),
        z,
        z._version,
    ]


@program
def nothing_is_recorded(torch):
    n = Inputs(torch)
    x, out = n.a.requires_grad_(), torch.zeros(2, 3)
    refused = [
        attempt(lambda: torch.add(x, n.b, out=out)),
        attempt(lambda: torch.exp(x * 2, out=out)),
        attempt(lambda: torch.add(n.a, n.b, out=torch.zeros(2, 3, requires_grad=True))),
        attempt(lambda: torch.cat([n.a, x], out=out)),
        attempt(lambda: torch.sort(x, out=(out, torch.zeros(2, 3, dtype=torch.int64)))),
    ]
    with torch.no_grad():
        torch.add(x, n.b, out=out)
        leaf = torch.zeros(2, 3, requires_grad=True)
        returned = torch.add(x, n.b, out=leaf)
    return (
        refused,
        out,
        out._version,
        out.requires_grad,
        leaf,
        returned is leaf,
        leaf.is_leaf,
        leaf.requires_grad,
        leaf._version,
    )


@program
def what_was_saved_notices(torch):
    x, y = torch.tensor(A, requires_grad=True), torch.tensor(B)
    z = x * y
    torch.neg(y, out=y)
    w = x * 2
    with torch.no_grad():
        torch.neg(w, out=w)
    return attempt(lambda: z.sum().backward()), names(w), attempt(lambda: w.sum().backward()), x.grad


PAIRS = {
    "sort": lambda torch, x, out: torch.sort(x, out=out),
    "topk": lambda torch, x, out: torch.topk(x, 2, out=out),
    "kthvalue": lambda torch, x, out: torch.kthvalue(x, 2, out=out),
    "cummax": lambda torch, x, out: torch.cummax(x, 0, out=out),
    "cummin": lambda torch, x, out: torch.cummin(x, 0, out=out),
    "mode": lambda torch, x, out: torch.mode(x, out=out),
    "median": lambda torch, x, out: torch.median(x, 0, out=out),
    "max": lambda torch, x, out: torch.max(x, 0, out=out),
    "min": lambda torch, x, out: torch.min(x, 0, out=out),
    "nanmedian": lambda torch, x, out: torch.nanmedian(x, 0, out=out),
}


@pytest.mark.parametrize("name", PAIRS)
def test_two_results(name):
    def program(torch):
        x, call = torch.tensor([3.0, 1.0, 2.0]), PAIRS[name]
        values, indices = torch.empty(0), torch.empty(0, dtype=torch.int64)
        returned = call(torch, x, (values, indices))
        account = [type(returned).__name__, returned[0] is values, returned[1] is indices, returned.values is values]
        account += [values, indices, values._version, indices._version]
        account.append(attempt(lambda: call(torch, x, (torch.empty(0, dtype=torch.float64), indices)))[:2])
        account.append(attempt(lambda: call(torch, x, (torch.empty(0), torch.empty(0))))[:2])
        account.append(attempt(lambda: call(torch, x, (values, indices, values)))[:2])
        account.append(attempt(lambda: call(torch, x, values))[:2])
        return [*account, values._version, type(call(torch, x, [values, indices])).__name__]

    agree(program)


@program
def the_smallest_and_the_largest(torch):
    low, high = torch.empty(0), torch.empty(0)
    returned = torch.aminmax(torch.tensor(B), dim=0, out=(low, high))
    return type(returned).__name__, returned.min is low, returned[1] is high, low, high


@program
def what_is_no_target(torch):
    n = Inputs(torch)
    return [
        attempt(lambda: torch.add(n.a, n.b, out=(torch.zeros(2, 3),)))[:2],
        attempt(lambda: torch.add(n.a, n.b, out="a"))[:2],
        torch.add(n.a, n.b, out=None),
        attempt(lambda: torch.relu(n.a, out=torch.zeros(2, 3)))[:2],
        attempt(lambda: torch.flatten(n.a, out=torch.zeros(6)))[:2],
    ]


@program
def random_numbers_are_written(torch):
    out = torch.full((3,), 7.0)
    returned = [torch.rand(3, out=out) is out, bool(((out >= 0) & (out < 1)).all()), out._version]
    whole = torch.full((3,), 7)
    returned += [torch.randperm(3, out=whole) is whole, sorted(whole.tolist()), whole._version]
    normal = torch.full((2,), 99.0)
    returned += [torch.normal(torch.zeros(2), 0.0, out=normal) is normal, normal]
    return returned + [
        torch.empty(2, out=torch.zeros(0)).shape == (2,),
        list(torch.zeros(2, 2, out=normal).shape),
        normal._version,
    ]


@program
def dtypes_that_are_given(torch):
    n, out = Inputs(torch), torch.zeros(3)
    return [
        attempt(lambda: torch.sum(n.a, 0, dtype=torch.float64, out=out)),
        attempt(lambda: torch.sum(n.a * 2, 0, out=torch.zeros(3, dtype=torch.int64))),
        torch.cumsum(n.a * 3, 0, out=torch.zeros(2, 3, dtype=torch.int64)),
        out._version,
    ]


@program
def functions_written_in_python(torch):
    """Some take it though they have no signatures; others say that they don't know it."""
    f, x, outcomes = torch.nn.functional, torch.tensor(A), []
    for call in (
        lambda out: torch.tensordot(x, x.t(), dims=1, out=out),
        lambda out: torch.spmm(x, x.t(), out=out),
        lambda out: f.normalize(x, out=out),
        lambda out: f.linear(x, x, out=out),
        lambda out: f.linear(x.clone().requires_grad_(), x, out=out),
        lambda out: f.avg_pool2d(x[None], 2, out=out),
        lambda out: torch.threshold(x, 0.5, -1, out=out),
        lambda out: torch.einsum("ij->i", x, out=out),
        lambda out: torch.det(x[:, :2], out=out),
        lambda out: f.glu(x.t(), out=out),
        lambda out: f.pad(x, (1, 1), out=out),
        lambda out: f.relu(x, out=out),
        lambda out: f.one_hot(x.long(), out=out),
    ):
        out = torch.empty(0)
        outcomes.append((attempt(lambda call=call, out=out: call(out) is out), out))
    return outcomes


@program
def where_forward_mode_stops(torch):
    """The operator that computes it is named, which may have another name than the function."""
    names = ["exp2", "expit", "gammaln", "psi", "i0e", "i1", "entr", "ndtri", "erfcx", "round", "logit"]
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(torch.tensor([0.5]), torch.tensor([1.0]))
        of_one = [getattr(torch.special, name) for name in names]
        of_two = [torch.special.gammainc, torch.special.zeta, torch.special.xlog1py]
        return [
            *[attempt(lambda f=f: f(x, out=torch.empty(1)))[2] for f in of_one],
            *[attempt(lambda f=f: f(x, x, out=torch.empty(1)))[2] for f in of_two],
        ]


@program
def targets_of_other_dtypes(torch):
    """Absolute values of complex numbers are cast, what is true is written as bytes too."""
    z, x = torch.tensor([3 + 4j, 1j]), torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    names = ("float32", "float64", "complex64", "complex128", "int64", "uint8", "bool")
    found = []
    for dtype in (getattr(torch, name) for name in names):
        found.append(attempt(lambda dtype=dtype: torch.abs(z, out=torch.zeros(2, dtype=dtype))))
        for truth in (torch.any, torch.all):
            found.append(attempt(lambda truth=truth, dtype=dtype: truth(x, 1, out=torch.zeros(2, dtype=dtype))))
    return found


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program):
    agree(program)


TAKEN = {
    "softmax": "torch.softmax(x, 0, out=o)", "log_softmax": "torch.log_softmax(x, 0, out=o)",
    "conj_physical": "torch.conj_physical(x, out=o)", "floor_divide": "torch.floor_divide(x, x, out=o)",
    "heaviside": "torch.heaviside(x, x, out=o)", "expand_copy": "torch.expand_copy(x, (3, 3), out=o)",
    "norm": "torch.linalg.norm(x, out=o)", "quantile": "torch.quantile(x, 0.5, out=o)",
    "cond": "torch.linalg.cond(x + torch.eye(3), out=o)",
    "outer": "torch.outer(x[0], x[0], out=o)", "hstack": "torch.hstack([x], out=o)",
    "inv": "torch.inverse(x + torch.eye(3), out=o)",
    "det": "torch.linalg.det(x, out=o)", "matrix_power": "torch.linalg.matrix_power(x, 3, out=o)",
    "erf": "torch.special.erf(x, out=o)", "cross": "torch.cross(x, x, dim=0, out=o)",
    "vecdot": "torch.linalg.vecdot(x, x, out=o)",
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_gradients_through_targets(name):
    """What is refused, and under whose name; what is recorded of a target, and what backward says of it."""

    def program(torch):
        def call(x, o):
            exec(TAKEN[name], {"torch": torch, "x": x, "o": o})
            return o.requires_grad, list(o.shape)

        def through():
            x, o = torch.full((3, 3), 0.5, requires_grad=True), torch.zeros(0)
            call(x, o)
            return torch.autograd.grad(o.sum(), x)[0].shape

        def dual():
            with torch.autograd.forward_ad.dual_level():
                call(torch.autograd.forward_ad.make_dual(torch.full((3, 3), 0.5), torch.ones(3, 3)), torch.zeros(0))

        x, o = torch.full((3, 3), 0.5), torch.zeros(0)
        return [
            attempt(lambda: call(x.clone().requires_grad_(), o.clone())),
            attempt(lambda: call(x, o.clone().requires_grad_())),
            attempt(through),
            (attempt(dual) or [None])[-1],
        ]

    agree(program)


def test_targets_that_get_another_shape():
    """Some without a warning, some row by row whatever the result is."""

    def program(torch):
        batch, definite = torch.ones(2, 3, 3), torch.eye(3) * 2 + 1
        calls = [
            lambda o: torch.addbmm(torch.ones(3, 3), batch, batch, out=o),
            lambda o: torch.cholesky_inverse(definite, out=o),
            lambda o: torch.cholesky_solve(torch.ones(3, 2), definite, out=o),
            lambda o: torch.quantile(torch.arange(12.0).reshape(3, 4), torch.tensor([0.5, 0.25]), 1, out=o),
            lambda o: torch.narrow_copy(batch, 0, 0, 1, out=o),
            lambda o: torch.abs(torch.ones(3, 2).t() * 1j, out=o), lambda o: torch.angle(batch.mT + 1j, out=o),
            lambda o: torch.abs(torch.ones(3, 2).t(), out=o),
        ]
        account = []
        for call in calls:
            for size in (0, 2):
                o = torch.zeros(size)
                with recorded_warnings() as caught:
                    call(o)
                account.append([list(o.shape), list(o.stride()), len(caught)])
        return account

    agree(program)


@pytest.mark.parametrize("call", [
    lambda torch, o: torch.sin(torch.ones(3), out=o), lambda torch, o: torch.add(torch.ones(3), 1, out=o),
    lambda torch, o: torch.pow(torch.ones(3), 2, out=o), lambda torch, o: torch.abs(torch.ones(3) * 1j, out=o),
])  # fmt: skip
def test_targets_that_are_refused_keep_their_shape(call):
    def program(torch):
        o = torch.empty(0, dtype=torch.long)
        return attempt(lambda: call(torch, o)), list(o.shape)

    agree(program)

"""What a function can do inside ``vmap`` with its examples, and what it can't: numbers, shapes that depend on them,
memory, new tensors like them; how they print."""

import copy
import warnings

import forward_mode  # noqa: F401 - for what it does
import pytest
import torch as pytorch
from harness import agree, attempt

import tapegrad

pytestmark = pytest.mark.parity


def put(x, index, value):
    """A copy of a tensor with a value put somewhere."""
    y = x.clone()
    y[index] = value
    return y


NUMBERS = {
    "bool": lambda torch, x, w: x if x.sum() > 0 else -x,
    "int": lambda torch, x, w: int(x[0]),
    "int of several": lambda torch, x, w: int(x),
    "float": lambda torch, x, w: float(x[0]),
    "index": lambda torch, x, w: [1, 2, 3][x[0].long()],
    "slice": lambda torch, x, w: x[x[0].long() % 2 :],
    "item": lambda torch, x, w: x.item(),
    "tolist": lambda torch, x, w: x.tolist(),
    "numpy": lambda torch, x, w: x.numpy(),
    "iteration": lambda torch, x, w: list(x)[1],
    "in": lambda torch, x, w: 1.0 in x,
    "format": lambda torch, x, w: f"{x[0]:.2f}",
    "is_nonzero": lambda torch, x, w: x[0].is_nonzero(),
    "equal": lambda torch, x, w: torch.equal(x, x),
    "equal shapes": lambda torch, x, w: torch.equal(x, x[:1]),
    "equal elsewhere": lambda torch, x, w: x * float(torch.equal(w, w)),
    "allclose": lambda torch, x, w: torch.allclose(x, x),
    "arange": lambda torch, x, w: torch.arange(x[0]),
    "full": lambda torch, x, w: torch.full((2,), x[0]),
    "full_like": lambda torch, x, w: torch.full_like(x, x[0]),
    "tensor": lambda torch, x, w: torch.tensor([x[0], x[1]]),
    "map_": lambda torch, x, w: x.map_(w, lambda a, b: a),
    "apply_": lambda torch, x, w: x.apply_(lambda a: a),
}

SHAPES = {
    "nonzero": lambda torch, x, w: x.nonzero(),
    "nonzero as a tuple": lambda torch, x, w: x.nonzero(as_tuple=True),
    "where": lambda torch, x, w: torch.where(x > 1),
    "argwhere": lambda torch, x, w: x.argwhere(),
    "argwhere of several numbers": lambda torch, x, w: (x > 2).argwhere(),
    "nonzero_static": lambda torch, x, w: torch.nonzero_static(x, size=2),
    "masked_select": lambda torch, x, w: x.masked_select(x > 1),
    "masked_select by a shared mask": lambda torch, x, w: x.masked_select(w > 0),
    "masked_select of what is shared": lambda torch, x, w: w.masked_select(x > 0),
    "a mask": lambda torch, x, w: x[x > 1],
    "a shared mask": lambda torch, x, w: x[w > 0],
    "a number at a mask": lambda torch, x, w: put(x, x > 2, 0.0),
    "an example's number at a mask": lambda torch, x, w: put(x, x > 2, x[0]),
    "at a shared mask": lambda torch, x, w: put(x, w > 0, x * 2),
    "masked_fill": lambda torch, x, w: x.masked_fill(x > 2, x[0]),
    "masked_scatter": lambda torch, x, w: x.masked_scatter(x > 1, x),
    "unique": lambda torch, x, w: x.unique(),
    "unique rows": lambda torch, x, w: torch.unique(x, dim=0),
    "unique_consecutive": lambda torch, x, w: x.unique_consecutive(),
    "repeat_interleave": lambda torch, x, w: torch.repeat_interleave(x, x.long()),
    "repeat_interleave to one size": lambda torch, x, w: torch.repeat_interleave(x, x.long() % 2 + 1, output_size=5),
    "repeat_interleave by what is shared": lambda torch, x, w: x.repeat_interleave(torch.tensor([1, 2, 1])),
    "bincount": lambda torch, x, w: torch.bincount(x.long()),
    "bincount to one size": lambda torch, x, w: torch.bincount(x.long(), minlength=9),
    "histc": lambda torch, x, w: torch.histc(x, 4),
    "histogram": lambda torch, x, w: torch.histogram(x, 3)[0],
    "one_hot": lambda torch, x, w: torch.nn.functional.one_hot(x.long()),
    "one_hot of known classes": lambda torch, x, w: torch.nn.functional.one_hot(x.long(), 8),
}

PLACES = {
    "an example": lambda torch, x, w: x[x[0].long() % 3],
    "several": lambda torch, x, w: x[x.long() % 3],
    "of what is shared": lambda torch, x, w: w[x.long() % 3],
    "put": lambda torch, x, w: put(x, x.long() % 3, x),
    "put where one number says": lambda torch, x, w: put(x, x.argmax(), 0.0),
    "put into what is shared": lambda torch, x, w: put(w, x.long() % 3, 1.0),
    "gather": lambda torch, x, w: x.gather(0, x.long() % 3),
    "index_select": lambda torch, x, w: x.index_select(0, x.long() % 3),
    "embedding": lambda torch, x, w: torch.nn.functional.embedding(x.long() % 3, torch.eye(3)),
    "embedding out of range": lambda torch, x, w: torch.nn.functional.embedding(x.long(), torch.eye(3)),
}

CHECKED = {
    "binary_cross_entropy": lambda torch, x, w: torch.nn.functional.binary_cross_entropy(x, x / 10),
    "cross_entropy": lambda torch, x, w: torch.nn.functional.cross_entropy(x[None], x[:1].long() % 3),
    "quantiles": lambda torch, x, w: torch.quantile(x, x / 10),
    "quantiles out of range": lambda torch, x, w: torch.quantile(x, x),
    "a division by zero": lambda torch, x, w: x.long() // (x.long() * 0),
    "segments": lambda torch, x, w: torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 2])),
    "weights": lambda torch, x, w: torch.cov(torch.stack([x, x * x]), fweights=torch.tensor([1, 2, 1])),
    "an inverse": lambda torch, x, w: torch.linalg.inv(torch.diag(x)),
    "an inverse that isn't": lambda torch, x, w: torch.linalg.inv(torch.diag(x - x[1])),
    "a Cholesky factor that isn't": lambda torch, x, w: torch.linalg.cholesky(torch.diag(-x)),
    "a determinant's gradient": lambda torch, x, w: torch.func.grad(torch.linalg.det)(torch.diag(x)),
    "factors that LAPACK finds": lambda torch, x, w: torch.linalg.ldl_factor(torch.diag(x) + 1)[0],
}

MEMORY = {
    "data_ptr": lambda torch, x, w: x.data_ptr(),
    "data": lambda torch, x, w: x.data,
    "data set": lambda torch, x, w: setattr(x, "data", w),
    "storage": lambda torch, x, w: x.untyped_storage(),
    "deepcopy": lambda torch, x, w: copy.deepcopy(x),
    "copy": lambda torch, x, w: copy.copy(x),
    "is_shared": lambda torch, x, w: x.is_shared(),
    "detach": lambda torch, x, w: x.detach(),
    "retain_grad": lambda torch, x, w: x.retain_grad(),
    "a hook": lambda torch, x, w: x.register_hook(lambda g: g),
    "flags": lambda torch, x, w: x * x.requires_grad + x.is_leaf + (x.grad is None) + (x._base is None) + x._version,
    "out": lambda torch, x, w: torch.add(x, x, out=torch.zeros(3)),
    "out that is shared": lambda torch, x, w: torch.add(w, w, out=torch.zeros(3)) + x,
}

NEW = {
    "zeros_like": lambda torch, x, w: torch.zeros_like(x).add_(x),
    "zeros_like what is shared": lambda torch, x, w: torch.zeros_like(w).add_(x),
    "zeros": lambda torch, x, w: torch.zeros(3).add_(x),
    "empty_like": lambda torch, x, w: torch.empty_like(x).copy_(x),
    "full_like": lambda torch, x, w: torch.full_like(x, 3).mul_(x),
    "of another dtype": lambda torch, x, w: torch.ones_like(x, dtype=torch.int64).add_(x.long()),
    "new_zeros": lambda torch, x, w: x.new_zeros(2, 3).add_(x),
    "new_full": lambda torch, x, w: x.new_full((3,), 2.0).add_(x),
    "new_empty_strided": lambda torch, x, w: x.new_empty_strided((3,), (1,)).copy_(x),
    "new_tensor": lambda torch, x, w: x.new_tensor([1.0, 2.0, 3.0]).add_(x),
    "as_tensor": lambda torch, x, w: torch.as_tensor(x),
}

WRITTEN = {
    name: lambda torch, x, w, name=name: getattr(w, name)(x)
    for name in ("add_", "mul_", "copy_", "atan2_", "pow_", "lt_", "hypot_", "__iadd__", "__imul__")
} | {
    "fill_": lambda torch, x, w: w.fill_(x[0]),
    "a part": lambda torch, x, w: w[:2].mul_(x[:2]),
    "setitem": lambda torch, x, w: w.__setitem__(0, x[0]),
    "index_add_": lambda torch, x, w: w.index_add_(0, torch.tensor([0, 1, 2]), x),
    "index_put_": lambda torch, x, w: w.index_put_((torch.tensor([0, 1, 2]),), x),
    "scatter_": lambda torch, x, w: w.scatter_(0, torch.tensor([0, 1, 2]), x),
    "no examples": lambda torch, x, w: w.sqrt_() + x,
}
"""Examples written to a tensor that all share."""

PROGRAMS = {
    f"{table}: {name}": program
    for table, programs in {
        "number": NUMBERS, "shape": SHAPES, "place": PLACES, "checked": CHECKED, "memory": MEMORY, "new": NEW,
        "written": WRITTEN,
    }.items()
    for name, program in programs.items()
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_inside(program):
    def account(torch):
        x, w = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), torch.ones(3)
        with warnings.catch_warnings():  # PyTorch warns of what it does example by example
            warnings.simplefilter("ignore")
            return attempt(lambda: torch.func.vmap(lambda x: program(torch, x, w))(x))

    agree(account, rtol=1e-4, atol=1e-6)


WIDER = {
    "an example copied": (lambda torch, x, w: torch.tensor(x, dtype=torch.float64), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
}


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize("program, expected", WIDER.values(), ids=WIDER.keys())
def test_what_pytorch_refuses(program, expected):
    x = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    with pytest.raises(RuntimeError):
        pytorch.func.vmap(lambda x: program(pytorch, x, None))(pytorch.tensor(x))
    assert tapegrad.func.vmap(lambda x: program(tapegrad, x, None))(tapegrad.tensor(x)).tolist() == expected


# -- text --------------------------------------------------------------------------------------------------------------


def printed(torch):
    """The texts of what a function meets at levels, one within the other."""
    x, w, seen, escaped = torch.arange(6.0).reshape(2, 3), torch.ones(3, requires_grad=True), [], []
    grad, vmap, jvp = torch.func.grad, torch.func.vmap, torch.func.jvp

    def see(x):
        seen.append(repr(x))
        escaped.append(x)
        return (x * x).sum()

    def written(x):
        y = torch.zeros(3)
        y[0] = x[0]
        see(y), see(x.long()), see(x > 1), see(torch.zeros_like(x))
        return y.sum()

    vmap(see)(x), vmap(see)(x[:, 0]), vmap(see)(torch.arange(2)), vmap(see)(torch.zeros(2, 0))
    vmap(vmap(see))(x.reshape(2, 3, 1))
    grad(see)(x[0]), grad(lambda y: vmap(see)(y).sum())(x), vmap(grad(see))(x)
    grad(lambda y: grad(see)(y).sum())(x[0]), jvp(see, (x[0],), (x[0],))
    grad(written)(x[0]), vmap(lambda x: see(w) + see(w * 2) + see(w * x))(x), vmap(see)(x.clone().requires_grad_())
    vmap(lambda x: see(torch.nn.Parameter(torch.ones(2))) + x)(x)
    return seen + [repr(item) for item in escaped]


def test_text():
    agree(printed)

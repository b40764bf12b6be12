"""Matrix products, ``linear`` and the ``addmm`` family beside PyTorch's."""

import numpy as np
import pytest
import torch
from case_tables import of
from harness import agree, attempt, same, same_error
from samples import array

import tapegrad

pytestmark = pytest.mark.parity

A = array(2, 3)
B = array(3, 2, seed=1)
V = array(3, seed=2)
BATCH = array(2, 2, 3, seed=3)
BATCHES = array(2, 3, 2, seed=4)
COMPLEX = "complex128"
INTS = np.array([[1, 2, 3], [4, 5, 6]])


def name(value):
    return "x".join(map(str, value)) or "0d" if isinstance(value, tuple) else None


# -- products ----------------------------------------------------------------------------------------------------------

SHAPES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((2, 2, 3), (3,)), ((2, 2, 3), (3, 2)),
    ((3,), (2, 3, 2)), ((2, 2, 3), (2, 3, 2)), ((2, 1, 2, 3), (3, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("x", "y"), SHAPES, ids=name)
def test_matmul(x, y):
    same(lambda torch, x, y: torch.matmul(x, y), of(*x), of(*y, seed=1))


@pytest.mark.parametrize(("x", "y"), SHAPES[:8], ids=name)
def test_matmul_of_complex(x, y):
    same(lambda torch, x, y: x @ y, of(*x, dtype=COMPLEX), of(*y, dtype=COMPLEX, seed=1))


def test_matmul_of_a_matrix_and_a_batch():
    same(lambda torch, x, y: x @ y, A, BATCHES, names=False)  # PyTorch transposes the batch and clones


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "int64", "uint8"])
@pytest.mark.parametrize(("x", "y"), [SHAPES[0], SHAPES[1], SHAPES[3], SHAPES[7]], ids=name)
def test_matmul_dtypes(x, y, dtype):
    def program(torch, x, y):
        return torch.matmul(x.to(getattr(torch, dtype)), y.to(getattr(torch, dtype)))

    same(program, of(*x).round(1) + 3, of(*y).round(1) + 3, second=False, names=False, rtol=2e-2)


PRODUCTS = {
    "mm": (lambda torch, x, y: torch.mm(x, y), A, B),
    "mm method": (lambda torch, x, y: x.mm(y), A, B),
    "bmm": (lambda torch, x, y: torch.bmm(x, y), BATCH, BATCHES),
    "mv": (lambda torch, x, y: torch.mv(x, y), A, V),
    "dot": (lambda torch, x, y: torch.dot(x, y), V, of(3)),
    "vdot": (lambda torch, x, y: torch.vdot(x, y), of(3, dtype=COMPLEX), of(3, dtype=COMPLEX, seed=1)),
    "vdot, real": (lambda torch, x, y: torch.vdot(x, y), V, of(3)),
    "vecdot": (lambda torch, x, y: torch.linalg.vecdot(x, y), A, of(1, 3)),
    "vecdot, dim": (lambda torch, x, y: torch.linalg.vecdot(x, y, dim=0), A, of(2, 3, seed=1)),
    "vecdot, 0-dim": (lambda torch, x, y: torch.linalg.vecdot(x, y), of(), of(seed=1)),
    "outer": (lambda torch, x, y: torch.outer(x, y), V, of(2)),
    "ger": (lambda torch, x, y: x.ger(y), V, of(2)),
    "outer, promoted": (lambda torch, x, y: torch.outer(x, y.long()), V, of(2)),
    "inner, vectors": (lambda torch, x, y: torch.inner(x, y), V, of(3)),
    "inner, matrices": (lambda torch, x, y: torch.inner(x, y), A, of(4, 3)),
    "inner, batch": (lambda torch, x, y: torch.inner(x, y), BATCH, of(4, 3)),
    "inner, 0-dim": (lambda torch, x, y: torch.inner(x, y), of(), A),
    "tensordot, 1": (lambda torch, x, y: torch.tensordot(x, y, 1), A, B),
    "tensordot, 0": (lambda torch, x, y: torch.tensordot(x, y, 0), V, of(2)),
    "tensordot, lists": (lambda torch, x, y: torch.tensordot(x, y, dims=([1], [0])), BATCH, of(2, 4)),
    "tensordot, negative": (lambda torch, x, y: torch.tensordot(x, y, dims=([-1, 0], [0, -1])), A, B),
    "tensordot, broadcast": (lambda torch, x, y: torch.tensordot(x, y, 1), A, of(1, 2)),
    "kron": (lambda torch, x, y: torch.kron(x, y), A, of(2, 2)),
    "kron, ranks": (lambda torch, x, y: torch.kron(x, y), of(2), A),
    "kron, 0-dim": (lambda torch, x, y: torch.kron(x, y), of(), A),
    "multi_dot": (lambda torch, x, y: torch.linalg.multi_dot([x, y, x]), A, B),
    "multi_dot, vectors": (lambda torch, x, y: torch.linalg.multi_dot([y, x.mT, y[:2]]), A, V),
    "chain_matmul": (lambda torch, x, y: torch.chain_matmul(x, y, x, y), A, B),
}

NO_NAMES = ("multi_dot", "multi_dot, vectors", "tensordot, 0")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", PRODUCTS)
def test_products(case):
    program, *inputs = PRODUCTS[case]
    same(program, *inputs, names=case not in NO_NAMES)


@pytest.mark.parametrize("case", ["outer", "kron", "inner, matrices", "tensordot, 1", "vecdot"])
def test_products_of_complex(case):
    program, x, y = PRODUCTS[case]
    same(program, of(*x.shape, dtype=COMPLEX), of(*y.shape, dtype=COMPLEX, seed=1), names=False)


# -- addends -----------------------------------------------------------------------------------------------------------

ADDENDS = {
    "addmm": (lambda torch, c, x, y: torch.addmm(c, x, y), of(2, 2), A, B),
    "addmm, factors": (lambda torch, c, x, y: torch.addmm(c, x, y, beta=0.5, alpha=2), of(2), A, B),
    "addmm, beta 0": (lambda torch, c, x, y: torch.addmm(c * float("nan"), x, y, beta=0), of(2), A, B),
    "addmm, alpha 0": (lambda torch, c, x, y: torch.addmm(c, x * float("nan"), y, alpha=0), of(2), A, B),
    "addmm, 0-dim": (lambda torch, c, x, y: c.addmm(x, y), of(), A, B),
    "addmm, no inner": (lambda torch, c, x, y: torch.addmm(c, x, y, beta=2), of(2), of(2, 0), of(0, 2)),
    "addmm, int": (lambda torch, c, x, y: torch.addmm(c.long(), x.long(), y.long(), beta=1.5, alpha=2.5), of(2), A, B),
    "addmv": (lambda torch, c, x, y: torch.addmv(c, x, y, beta=0.5, alpha=2), of(2), A, V),
    "baddbmm": (lambda torch, c, x, y: torch.baddbmm(c, x, y, beta=0.5, alpha=2), of(2, 2, 2), BATCH, BATCHES),
    "baddbmm, broadcast": (lambda torch, c, x, y: torch.baddbmm(c, x, y), of(2), BATCH, BATCHES),
    "addbmm": (lambda torch, c, x, y: torch.addbmm(c, x, y, beta=0.5, alpha=2), of(2, 2), BATCH, BATCHES),
    "addr": (lambda torch, c, x, y: torch.addr(c, x, y, beta=0.5, alpha=2), A, of(2), V),
    "addr, promoted": (lambda torch, c, x, y: torch.addr(c, x.float(), y.float()), A, of(2), V),
}


@pytest.mark.parametrize("case", ADDENDS)
def test_addends(case):
    program, *inputs = ADDENDS[case]
    same(program, *inputs, grads=not case.endswith((" 0", "promoted")))  # PyTorch's addr can't do that backwards


def test_addmm_of_complex():
    inputs = (of(2, 2, dtype=COMPLEX), of(2, 3, dtype=COMPLEX), of(3, 2, dtype=COMPLEX))
    same(lambda torch, c, x, y: torch.addmm(c, x, y, beta=0.5j, alpha=1 + 2j), *inputs)


# -- linear ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3), (0, 3)], ids=name)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_linear(shape, bias):
    inputs = (of(*shape), of(4, 3), of(4)) if bias else (of(*shape), of(4, 3))
    same(lambda torch, *args: torch.nn.functional.linear(*args), *inputs)


LINEAR = {
    "vector weight": (lambda torch, x, w: torch.nn.functional.linear(x, w), A, V),
    "both vectors": (lambda torch, x, w: torch.nn.functional.linear(x, w), V, of(3)),
    "broadcast bias": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), A, of(4, 3), of(1)),
    "0-dim bias": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), A, of(4, 3), of()),
    "matrix bias": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), A, of(4, 3), of(2, 4)),
    "complex": (
        lambda torch, x, w, b: torch.nn.functional.linear(x, w, b),
        of(2, 3, dtype=COMPLEX), of(4, 3, dtype=COMPLEX), of(4, dtype=COMPLEX),
    ),
    "bilinear": (
        lambda torch, x, y, w, b: torch.nn.functional.bilinear(x, y, w, b), A, of(2, 4), of(5, 3, 4), of(5)
    ),
    "bilinear, batch": (lambda torch, x, y, w: torch.nn.functional.bilinear(x, y, w), BATCH, of(2, 2, 4), of(5, 3, 4)),
}  # fmt: skip


@pytest.mark.parametrize("case", LINEAR)
def test_linear_cases(case):
    program, *inputs = LINEAR[case]
    same(program, *inputs)


# -- errors ------------------------------------------------------------------------------------------------------------

F32 = np.ones((2, 3), "float32")

ERRORS = {
    "mm, shapes": (lambda torch, x, y: torch.mm(x, y), A, A),
    "mm, dtypes": (lambda torch, x, y: torch.mm(x, y), F32, B),
    "mm, half": (lambda torch, x: torch.mm(x.half(), x.bfloat16().mT), A),
    "mm, int": (lambda torch, x, y: torch.mm(x.float(), y.int()), A, B),
    "mm, 3-dim": (lambda torch, x, y: torch.mm(x, y), BATCH, B),
    "bilinear, bias of another dtype": (
        lambda torch, x: torch.nn.functional.bilinear(x, x, x.new_ones(2, 3, 3), torch.ones(2)), A
    ),
    "mm, vector": (lambda torch, x, y: torch.mm(x, y), A, V),
    "mm, bool": (lambda torch, x: torch.mm(x > 0, x.mT > 0), A), "matmul, fold": (lambda torch, x, y: x @ y, BATCH, A),
    "matmul, vector": (lambda torch, x, y: x @ y, V, A),
    "matmul, matrix and vector": (lambda torch, x, y: x @ y, A, of(2)),
    "matmul, batch and vector": (lambda torch, x, y: x @ y, BATCH, of(2)),
    "matmul, 0-dim": (lambda torch, x, y: x @ y, of(), A),
    "matmul, batches": (lambda torch, x, y: x @ y, BATCH, of(3, 3, 2)),
    "matmul, inner": (lambda torch, x, y: x @ y, BATCH, BATCH),
    "matmul, dtypes of batches": (lambda torch, x, y: x.float() @ y, BATCH, BATCHES),
    "matmul, bool batches": (lambda torch, x, y: (x > 0) @ (y > 0), BATCH, BATCHES),
    "matmul, number": (lambda torch, x: torch.matmul(x, 3), A), "@ number": (lambda torch, x: x @ 3, A),
    "number @": (lambda torch, x: 3 @ x, A), "bmm, matrix": (lambda torch, x, y: torch.bmm(x, y), A, BATCHES),
    "bmm, second": (lambda torch, x, y: torch.bmm(x, y), BATCH, B),
    "bmm, batch": (lambda torch, x, y: torch.bmm(x, y), BATCH, of(1, 3, 2)),
    "mv, vector": (lambda torch, x, y: torch.mv(x, y), V, V),
    "mv, shapes": (lambda torch, x, y: torch.mv(x, y), A, of(2)),
    "mv, dtypes": (lambda torch, x, y: torch.mv(x, y), F32, V),
    "dot, matrix": (lambda torch, x, y: torch.dot(x, y), A, V),
    "dot, lengths": (lambda torch, x, y: torch.dot(x, y), of(2), V),
    "dot, dtypes": (lambda torch, x, y: torch.dot(x.float(), y), V, V),
    "vdot, lengths": (lambda torch, x, y: torch.vdot(x, y), of(2), V),
    "vecdot, dtypes": (lambda torch, x, y: torch.linalg.vecdot(x, y), F32, A),
    "vecdot, int": (lambda torch, x: torch.linalg.vecdot(x, x), INTS),
    "vecdot, shapes": (lambda torch, x, y: torch.linalg.vecdot(x, y), A, of(2, 2)),
    "vecdot, dim": (lambda torch, x: torch.linalg.vecdot(x, x, dim=2), A),
    "outer": (lambda torch, x, y: torch.outer(x, y), A, V),
    "outer, second": (lambda torch, x, y: torch.outer(x, y), V, A),
    "inner": (lambda torch, x, y: torch.inner(x, y), A, of(2, 2)),
    "inner, dtypes": (lambda torch, x, y: torch.inner(x, y), F32, A),
    "tensordot, lengths": (lambda torch, x: torch.tensordot(x, x, 1), A),
    "tensordot, negative": (lambda torch, x: torch.tensordot(x, x, -1), A),
    "tensordot, too many": (lambda torch, x: torch.tensordot(x, x, 3), A),
    "tensordot, lists": (lambda torch, x: torch.tensordot(x, x, ([0], [0, 1])), A),
    "tensordot, ints": (lambda torch, x: torch.tensordot(x, x, (0, 0)), A),
    "tensordot, float": (lambda torch, x: torch.tensordot(x, x, 1.5), A),
    "addmm, addend": (lambda torch, c, x, y: torch.addmm(c, x, y), of(3, 3), A, B),
    "addmm, shapes": (lambda torch, c, x, y: torch.addmm(c, x, y), of(2), A, A),
    "addmm, dtypes": (lambda torch, c, x, y: torch.addmm(c.float(), x, y), of(2), A, B),
    "addmm, second dtype": (lambda torch, c, x, y: torch.addmm(c, x, y.float()), of(2), A, B),
    "addmm, 3-dim": (lambda torch, c, x, y: torch.addmm(c, x, y), of(2), BATCH, B),
    "addmv, addend": (lambda torch, c, x, y: torch.addmv(c, x, y), V, A, V),
    "addmv, matrix": (lambda torch, c, x, y: torch.addmv(c, x, y), of(2), A, B),
    "addmv, dtypes": (lambda torch, c, x, y: torch.addmv(c.float(), x, y), of(2), A, V),
    "baddbmm, addend": (lambda torch, c, x, y: torch.baddbmm(c, x, y), of(3, 3), BATCH, BATCHES),
    "baddbmm, inner": (lambda torch, c, x, y: torch.baddbmm(c, x, y), of(2, 2, 2), BATCH, BATCH),
    "baddbmm, dtypes": (lambda torch, c, x, y: torch.baddbmm(c.float(), x, y), of(2, 2, 2), BATCH, BATCHES),
    "addbmm, addend": (lambda torch, c, x, y: torch.addbmm(c, x, y), of(3, 3), BATCH, BATCHES),
    "addr, addend": (lambda torch, c, x: torch.addr(c, x, x), of(3, 3), of(2)),
    "addr, matrix": (lambda torch, c, x: torch.addr(c, c, x), of(2, 2), of(2)),
    "addr, int": (lambda torch, c: torch.addr(c, c[0], c[0], beta=0.5), INTS),
    "linear, shapes": (lambda torch, x, w: torch.nn.functional.linear(x, w), A, of(2, 2)),
    "linear, batch": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), BATCH, of(2, 2), of(2)),
    "linear, bias": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), A, of(4, 3), of(3)),
    "linear, bias of batch": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), BATCH, of(4, 3), of(3)),
    "linear, dtypes": (lambda torch, x, w: torch.nn.functional.linear(x, w), F32, A),
    "linear, bias dtype": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b.float()), A, of(4, 3), of(4)),
    "linear, 3-dim weight": (lambda torch, x, w: torch.nn.functional.linear(x, w), A, of(1, 2, 3)),
    "linear, 0-dim": (lambda torch, x, w: torch.nn.functional.linear(x, w), of(), A),
    "linear, vector weight and bias": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), A, V, of()),
    "bilinear, batch": (lambda torch, x, y, w: torch.nn.functional.bilinear(x, y, w), A, of(3, 4), of(5, 3, 4)),
    "bilinear, second": (lambda torch, x, y, w: torch.nn.functional.bilinear(x, y, w), A, of(2, 4), of(5, 3, 5)),
    "multi_dot, one": (lambda torch, x: torch.linalg.multi_dot([x]), A),
    "multi_dot, shapes": (lambda torch, x: torch.linalg.multi_dot([x, x]), A),
    "multi_dot, 3-dim": (lambda torch, x, y, z: torch.linalg.multi_dot([x, y, z]), A, of(3, 3, 3), B),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    program, *inputs = ERRORS[case]
    same_error(program, *inputs)


# -- what is saved -----------------------------------------------------------------------------------------------------


def saved(*fields):
    """A program's ``grad_fn._saved_FIELD`` values, after it ran."""

    def wrap(program):
        return lambda torch, *args: [getattr(program(torch, *args).grad_fn, f"_saved_{field}") for field in fields]

    return wrap


SAVED = {
    "mm": (saved("self", "mat2")(lambda torch, x, y: torch.mm(x, y)), A, B),
    "bmm": (saved("self", "mat2")(lambda torch, x, y: torch.bmm(x, y)), BATCH, BATCHES),
    "mv": (saved("self", "vec")(lambda torch, x, y: torch.mv(x, y)), A, V),
    "dot": (saved("self", "tensor")(lambda torch, x, y: torch.dot(x, y)), V, V),
    "addmm": (
        saved("mat1", "mat2", "alpha", "beta")(lambda torch, c, x, y: torch.addmm(c, x, y, alpha=2, beta=3)),
        of(2), A, B,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAVED)
def test_saved(case):
    program, *inputs = SAVED[case]
    same(program, *inputs, grads=True, second=False)


GROUPED = {
    "rows": ((16, 16), (3, 16, 24), [8, 8, 16]),
    "rows, not all": ((16, 16), (3, 16, 24), [4, 10, 12]),
    "columns": ((3, 8, 16), (16, 24), [8, 8, 24]),
    "inner": ((16, 16), (16, 24), [8, 8, 16]),
    "none": ((3, 16, 16), (3, 16, 8), None),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("case", GROUPED)
def test_grouped_mm(case, dtype):
    """Beside PyTorch's, whose rows of no group have any numbers; gradients beside those of the products by hand."""
    left, right, offs = GROUPED[case]
    a, b = (np.random.default_rng(seed).normal(size=shape) for seed, shape in enumerate((left, right)))
    seen = []
    for module in (torch, tapegrad):
        x, y = (module.tensor(one).to(getattr(module, dtype)).requires_grad_() for one in (a, b))
        ends = None if offs is None else module.tensor(offs, dtype=module.int32)
        out = module.nn.functional.grouped_mm(x, y, offs=ends)
        weights = module.linspace(-1, 1, out.numel(), dtype=module.float64).to(out.dtype).reshape(out.shape)
        kept = (slice(None),) * (case == "columns") + (slice(offs[-1] if offs and case != "inner" else None),)
        (out * weights)[kept].sum().backward()
        seen.append([one.detach().double().numpy() for one in (out[kept], x.grad, y.grad)])
    used = slice(offs[-1] if offs and case != "inner" else None)
    seen = [[out, x if case == "columns" else x[used], y] for out, x, y in seen]
    for ours, theirs in zip(seen[1], seen[0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4 if dtype == "float32" else 0.1)


def grouped_errors(module):
    f, ones = module.nn.functional.grouped_mm, module.ones
    ends = module.tensor([8, 8, 16], dtype=module.int32)
    x, y = ones(16, 16), ones(3, 16, 24)
    return [
        lambda: f(x.double(), y.double(), offs=ends),
        lambda: f(x, y),
        lambda: f(ones(3, 16, 16), ones(3, 16, 8), offs=ends),
        lambda: f(x, y, offs=ends.long()),
        lambda: f(x, y, offs=ends[1:]),
        lambda: f(x, ones(3, 12, 24), offs=ends),
        lambda: f(x, y, offs=ends, out_dtype=module.float16),
        lambda: f(x, y, offs=ends, bias=ones(24)),
        lambda: f(x[0], y, offs=ends),
        lambda: f(x, y[0, 0], offs=ends),
        lambda: f(x, y.bfloat16(), offs=ends),
    ]


def test_grouped_mm_refuses():
    theirs, ours = ([attempt(call) for call in grouped_errors(module)] for module in (torch, tapegrad))
    assert ours == theirs
    for wrong in ([8, 4, 16], [8, 8, 20]):
        with pytest.raises(RuntimeError, match="offs is where groups end: expected rising numbers up to 16"):
            tapegrad.nn.functional.grouped_mm(
                tapegrad.ones(16, 4), tapegrad.ones(3, 4, 2), offs=tapegrad.tensor(wrong, dtype=tapegrad.int32)
            )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("scales", [{}, {"alpha": 0.3}, {"alpha": 0.3, "beta": 0.7}, {"beta": 3.4445}], ids=str)
def test_halves_are_rounded_once(scales, dtype):
    def program(torch):
        x = (torch.arange(64.0).view(8, 8) / 7).to(getattr(torch, dtype))
        y = x.t() / 3
        return [
            torch.addmm(y, x, x, **scales), torch.baddbmm(y[None], x[None], x[None], **scales),
            torch.addbmm(y, x[None], x[None], **scales), torch.nn.functional.linear(x, x, y[0]),
        ]  # fmt: skip

    agree(program, rtol=0, atol=0)


@pytest.mark.parametrize("rows, inner, columns", [(0, 3, 2), (2, 3, 0), (3, 0, 3), (0, 0, 0), (2, 3, 2)])
def test_booleans_are_multiplied_where_there_are_none(rows, inner, columns):
    def program(torch):
        x, y = torch.ones(rows, inner, dtype=torch.bool), torch.ones(inner, columns, dtype=torch.bool)
        calls = [
            lambda: x @ y, lambda: torch.mm(x, y), lambda: torch.bmm(x[None], y[None]),
            lambda: torch.mv(x, y[:, :1].flatten()), lambda: torch.nn.functional.linear(x, y.t()),
            lambda: torch.bmm(x[None][:0], y[None][:0]),
        ]  # fmt: skip
        return [attempt(call) for call in calls[: 3 + (columns > 0)] + calls[4:]]

    agree(program)


@pytest.mark.parametrize("shape", [(2,), (3, 2), (1, 3, 2), (3, 4)], ids=str)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kinds", [
    ("int64", "float32", "float32"), ("float64", "float32", "float32"), ("float16", "float32", "float64"),
    ("float32", "float32", "float16"),
])  # fmt: skip
def test_a_layer_of_another_kind(shape, bias, kinds):
    def program(torch):
        pairs = zip((shape, (2, 2), (2,)), kinds, strict=True)
        x, weight, addend = (torch.ones(size, dtype=getattr(torch, kind)) for size, kind in pairs)
        return attempt(lambda: torch.nn.functional.linear(x, weight, addend if bias else None))

    agree(program)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shapes", [[()], [(1,), (1, 1)], [(1, 1, 1)], [(2, 2), (1, 1, 1)]])
def test_chains_are_of_matrices(shapes):
    same_error(lambda torch: torch.chain_matmul(*map(torch.ones, shapes)))

"""Every in-place operator in every situation: fresh tensors, views, leaves, other dtypes, memory that overlaps."""

import pytest
from harness import agree, attempt
from inplace_calls import CALLS, OF_TWO_INTEGERS, Operands
from viewing import names

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:index_reduce\\(\\) is in beta"),
    pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter"),
    pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors is deprecated"),
]

VALUES = [[0.25, 0.5, 0.75], [0.3, 0.6, 0.9]]
OURS_ONLY = ("asinh", "arcsinh", "acosh", "arccosh", "atanh", "arctanh", "sgn")
"""Calls that PyTorch can't differentiate (of ``sgn_`` it gives a gradient that can't be read): here they can be."""


def called(name):
    return next(call for call in CALLS if call.name == name)


def matrix(torch, lift, dtype):
    """A tensor of 2 rows and 3 columns."""
    scale = 1 if dtype.is_floating_point or dtype.is_complex else 4
    return ((torch.tensor(VALUES) + lift) * scale).to(dtype)


PARTS = {
    "fresh": lambda matrix: (matrix.shape, lambda base: base),
    "transposed": lambda matrix: ((3, 2), lambda base: base.t()),
    "a part": lambda matrix: ((3, 5), lambda base: base[1:, 1:4]),
    "every other": lambda matrix: ((2, 6), lambda base: base[:, 1::2]),
}


def written(torch, call, part, dtype="float32", grads=True):
    """What is seen when a call writes to a part of a tensor."""
    dtype = getattr(torch, dtype)
    grads = grads and (dtype.is_floating_point or dtype.is_complex)
    values, operands = matrix(torch, call.lift, dtype), Operands(torch, dtype, grads)
    shape, take = PARTS[part](values)
    leaf = torch.ones(shape, dtype=dtype)
    take(leaf).copy_(values)
    base = leaf.requires_grad_() * 1 if grads else leaf
    before = base._version
    x = take(base)
    result = attempt(lambda: call.run(torch, x, operands))
    account = [base, base._version - before, x, x._version == base._version, str(x.dtype), names(base), names(x)]
    if isinstance(result, list):
        return [*account, result]
    account += [result is x, result]
    if base.requires_grad and call.name not in OURS_ONLY:
        account.append(attempt(lambda: (base * torch.full_like(base, 1.5).detach()).sum().abs().backward()))
        account += [leaf.grad, [one.grad for one in operands.leaves]]
    return account


@pytest.mark.parametrize("name", [call.name for call in CALLS])
def test_parts_are_written(name):
    agree(lambda torch: [written(torch, called(name), part) for part in PARTS], rtol=2e-5, atol=1e-6)


OTHER_ERRORS = {
    ("nan_to_num", "complex64"),
    ("functional.silu", "complex64"),
    ("addbmm", "bool"),
    ("baddbmm", "bool"),
    ("round to decimals", "bool"),
    ("round to decimals", "complex64"),
    ("functional.dropout all", "bool"),
}
"""Calls on dtypes that one of the two refuses, or refuses in other words, as it does the functions without ``_``."""


@pytest.mark.parametrize("name", [call.name for call in CALLS])
def test_dtypes_are_kept_or_refused(name):
    dtypes = [dtype for dtype in ("int64", "bool", "complex64", "uint8") if (name, dtype) not in OTHER_ERRORS]
    agree(lambda torch: [written(torch, called(name), "fresh", dtype, False) for dtype in dtypes], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", [call.name for call in CALLS])
def test_leaves_are_refused_or_written(name):
    def program(torch):
        call = called(name)
        leaf = matrix(torch, call.lift, torch.float32).requires_grad_()
        row = leaf[0]
        refused = [
            attempt(lambda: call.run(torch, x, Operands(torch, torch.float32)))  # noqa: B023 - called at once
            for x in (leaf, leaf.view(2, 3))
        ]
        account = [[bool(isinstance(one, list)), one] for one in refused] + [leaf, leaf._version, row]
        with torch.no_grad():
            returned = attempt(lambda: call.run(torch, leaf, Operands(torch, torch.float32)))
        return [*account, returned is leaf, leaf, leaf._version, leaf.is_leaf, leaf.requires_grad, names(leaf), row]

    agree(program, rtol=2e-5, atol=1e-6)


ORDERED = {
    "cumsum",
    "cumprod",
    "tril",
    "triu",
    "index_put accumulate",
    "addmv",
    "baddbmm",
    "masked_fill",
    "masked_fill tensor",
    "index_fill",
    "index_fill tensor",
    "index_put",
    "torch.index_put_",
    "tril below",
}
"""What these leave in memory that is shown twice depends on the order in which PyTorch writes."""


@pytest.mark.parametrize("name", [call.name for call in CALLS])
def test_expanded_tensors_are_refused_or_written(name):
    def program(torch):
        call = called(name)
        row = torch.full((3,), 0.5 + call.lift)
        x = row.expand(2, 3)
        outcome = attempt(lambda: call.run(torch, x, Operands(torch, torch.float32)))
        written = not isinstance(outcome, list)
        return [written, outcome if not written else None, row if name not in ORDERED else None, x._version]

    agree(program, rtol=2e-5, atol=1e-6)


EMPTY = [
    call.name
    for call in CALLS
    if call.name.split()[0]
    not in (
        "addmm",
        "addmv",
        "addr",
        "addbmm",
        "baddbmm",
        "index_add",
        "index_copy",
        "index_fill",
        "index_put",
        "index_reduce",
        "put",
        "scatter",
        "scatter_add",
        "scatter_reduce",
        "torch.index_put_",
        "lerp",
        "clamp",
        "addcmul",
        "addcdiv",
        *OF_TWO_INTEGERS,
        "__iand__",
        "__ior__",
        "__ixor__",
        "__ilshift__",
        "__irshift__",
        "masked_scatter",
    )
]


@pytest.mark.parametrize("name", [name for name in EMPTY if "functional" not in name])
def test_operands_that_do_not_broadcast(name):
    """And tensors of no elements, and of no dimensions."""

    def program(torch):
        call, seen = called(name), []
        for shape in ((0, 3), (), (3,), (2, 1)):
            x = torch.full(shape, 0.5 + call.lift)
            outcome = attempt(lambda: call.run(torch, x, Operands(torch, torch.float32)))  # noqa: B023 - called at once
            seen.append([outcome if isinstance(outcome, list) else outcome is x, x, x._version])
        return seen

    agree(program, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_the_target_is_looked_at_before_alpha(dtype):
    def program(torch):
        x = torch.ones(2, dtype=getattr(torch, dtype))
        return [
            attempt(lambda o=other, a=alpha, m=method: getattr(x.clone(), m)(o, alpha=a))
            for method in ("add_", "sub_", "add") for other in (True, 2, 2.5, 1j) for alpha in (True, 2, 0.5, 1j)
        ]  # fmt: skip

    agree(program)


def test_nan_to_num_leaves_integers_that_are_shown_twice_as_they_are():
    def program(torch):
        rows = [torch.full((3,), 2, dtype=dtype) for dtype in (torch.int64, torch.int8, torch.bool, torch.float32)]
        seen = [attempt(lambda row=row: row.expand(2, 3).nan_to_num_(1.0)) for row in rows]
        return seen, rows, [row._version for row in rows]

    agree(program)

"""The named functions that read and write by index tensors and masks, against PyTorch."""

import numpy as np
import pytest
from case_tables import lines
from expressions import expression
from harness import agree, attempt, same, same_error

from tests.parity.functions.test_indexing import A, B, Z

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated")]

NAMED = lines("""
x.gather(1, L([[0, 0], [2, 1]]))
x.gather(0, L([[0, 1, 1]]))
x.gather(-1, L([[2], [0]]), sparse_grad=False)
torch.gather(input=x, dim=0, index=L([[1]]))
x.gather(1, L([[0]], dtype=torch.int32))
x.gather(1, torch.zeros(0, 3, dtype=torch.int64))
x.gather(1, torch.zeros(0, dtype=torch.int64))
x[0].gather(0, L(1))
x[0, 0].gather(0, L([0, 0]))
x.scatter(1, L([[0], [2]]), 1.5)
x.scatter(1, L([[0], [2]]), 2)
x.scatter(dim=0, index=L([[1, 0, 1]]), value=0.5)
x.scatter(1, L([[0, 2], [1, 0]]), y[:, :2])
x.scatter(0, L([[1, 1, 1], [0, 1, 0]]), y)
torch.scatter(x, dim=1, index=L([[0, 1, 2], [2, 1, 0]]), src=y)
x.scatter(1, torch.zeros(0, dtype=torch.int64), 1.0)
x[0, 0].scatter(0, L(0), 5.0)
x.scatter_add(1, L([[0, 0, 2], [1, 1, 1]]), y)
torch.scatter_add(x, 0, L([[0, 0, 1]]), y[:1])
x[0].scatter_add(0, L([0, 0, 0]), y[0])
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'sum')
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'prod')
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, reduce='mean')
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'amax')
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'amin')
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'sum', include_self=False)
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'prod', include_self=False)
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'mean', include_self=False)
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'amax', include_self=False)
x.scatter_reduce(1, L([[0, 1, 0], [1, 1, 0]]), y, 'amin', include_self=False)
x.index_select(0, L([1, 1, 0]))
x.index_select(1, L([2]))
torch.index_select(x, dim=-1, index=L([0, 0]))
x.index_select(0, L(1))
x.index_select(0, torch.zeros(0, dtype=torch.int64))
x[0, 0].index_select(0, L([0]))
x.index_add(0, L([0, 0]), y)
x.index_add(1, L([2, 0]), y[:, :2], alpha=2)
torch.index_add(x, 0, L(1), y[:1])
x[0, 0].index_add(0, L(0), y[0, 0])
x.index_copy(0, L([1]), y[:1])
x.index_copy(1, L([2, 0]), y[:, :2])
x.index_copy(0, L([0, 0]), y)
x[0, 0].index_copy(0, L([0]), y[0, :1])
x.index_fill(0, L([1]), 1.5)
x.index_fill(1, L([0, -1]), 2)
x.index_fill(1, L([0, 0]), y[0, 0])
x.index_fill(0, L(1), 0)
x.take(L([4, 0, 4]))
x.take(L([[-1, 2]]))
torch.take(x, L([], dtype=torch.int64))
x.put(L([4, 0]), y[0, :2])
x.put(L([[4, 4]]), y[0, :2])
x.put(L([4, 4, -1]), y[0], accumulate=True)
x.take_along_dim(L([[0], [2]]), 1)
x.take_along_dim(L([[0, 2]]), 1)
x.take_along_dim(L([[1]]), dim=0)
x.take_along_dim(L([5, 0]))
x.take_along_dim(L([[-1]]), 1)
x.take_along_dim(L([[5]]), 1)
x.masked_select(x > 0)
x.masked_select(L([True, False, True]))
x.masked_select(mask=L(True))
x[0].masked_select(y > 0)
x[0, 0].masked_select(L(True))
x.masked_scatter(x > 0, y)
x.masked_scatter(L([True, False, True]), y)
x[0].masked_scatter(y > -9, y)
x.masked_scatter(x > 9, y)
""")


@pytest.mark.parametrize("text", NAMED)
def test_named_functions(text):
    same(expression(text), A, B)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64", "int32", "int16", "uint8", "bool"])
@pytest.mark.parametrize("text", [
    "x.gather(1, L([[0], [2]]))", "x.index_select(1, L([1, 1]))", "x.take(L([4, 0]))", "x.masked_select(x > 0)",
    "x.scatter(1, L([[0], [2]]), 1)", "x.index_fill(0, L([1]), 0)",
])  # fmt: skip
def test_dtypes(text, dtype):
    program = expression(text)
    same(lambda torch, x: program(torch, x.to(getattr(torch, dtype)).detach()), A, grads=False)


@pytest.mark.parametrize("text", [
    "x.gather(1, L([[0, 0], [2, 2]]))", "x.take(L([4, 4, 0]))", "x.scatter(0, L([[0, 1, 1]]), x[:1])",
])  # fmt: skip
def test_complex(text):
    same(expression(text), Z)


TIES = np.array([5.0, 2.0])


@pytest.mark.parametrize("reduce", ["amax", "amin", "prod", "mean", "sum"])
@pytest.mark.parametrize("own", [True, False])
def test_scatter_reduce_ties_and_zeros(reduce, own):
    program = expression(f"x.scatter_reduce(0, L([0, 0, 1]), y, {reduce!r}, include_self={own})")
    same(program, TIES, np.array([5.0, 5.0, 2.0]))
    same(program, TIES, np.array([0.0, 3.0, 2.0]))
    same(program, np.array([0.0, 2.0]), np.array([1.0, 3.0, 0.0]))
    same(program, TIES, np.array([0.0, 0.0, 2.0]), second=False)


def test_scatter_reduce_of_integers():
    for reduce in ("amax", "amin", "prod", "mean", "sum"):
        for own in (True, False):
            text = f"x.scatter_reduce(0, L([0, 0, 1]), L([4, 5, -6]), {reduce!r}, include_self={own})"
            same(expression(text), np.array([1, 2, 3]))


@pytest.mark.parametrize("text", [
    "x.scatter(1, L([[0], [2]]), y, reduce='add')", "x.scatter(1, L([[0], [0]]), 2.0, reduce='multiply')",
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:The reduce argument")
def test_scatter_with_a_reduction(text):
    program = expression(text)
    same(lambda torch, x, y: program(torch, x.detach(), y.detach()), A, B)


def test_gradient_of_a_source_with_elements_to_spare():
    """PyTorch refuses in backward; here the spare elements get zeros."""
    import tapegrad as torch

    src = torch.tensor(B.tolist(), requires_grad=True)
    torch.tensor(A.tolist()).scatter_add(1, torch.tensor([[0]]), src).sum().backward()
    assert src.grad.tolist() == [[1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("text", lines("""
F.one_hot(L([0, 2]))
F.one_hot(L([[0, 2], [1, 1]]), 4)
F.one_hot(L(2))
F.one_hot(L([], dtype=torch.int64), 3)
F.one_hot(L([0, 1]), num_classes=2)
"""))
def test_from_indices(text):
    same(expression(text))


@pytest.mark.parametrize("text", lines("""
x.gather(1, L([[3]]))
x.gather(1, L([[-1]]))
x.gather(2, L([[0]]))
x.gather(1, L([0]))
x.gather(1, L([[0], [0], [0]]))
x.gather(0, L([[0, 0, 0, 0]]))
x.gather(1, L([[0.0]]))
x[0, 0].gather(1, L(0))
x.scatter(1, L([[3]]), 1.0)
x.scatter(1, L([[0], [0], [0]]), 1.0)
x.scatter(1, L([[0, 1]]), x[:1, :1])
x.scatter(1, L([[0]]), L([[1]]))
x.scatter(1, L([0]), 1.0)
x.scatter(1, L([[0]]), 1.0, reduce='foo')
L([1, 2]).scatter(0, L([0]), float('nan'))
x.scatter_add(1, L([[3]]), x)
x.scatter_add(1, L([[0]]), x.float())
x.scatter_add(1, L([[0, 1, 2, 0]]), x)
x.scatter_reduce(1, L([[0]]), x, 'foo')
x.index_select(0, L([2]))
x.index_select(0, L([-1]))
x.index_select(0, L([0.0]))
x.index_select(0, L([[0]]))
x.index_select(2, L([0]))
x[0, 0].index_select(0, L([0, 0]))
x[0, 0].index_select(0, L([1]))
x.index_add(0, L([2]), x[:1])
x.index_add(0, L([-1]), x[:1])
x.index_add(0, L([0]), x)
x.index_add(0, L([0]), x[:1, :2])
x.index_add(0, L([0]), x[:1].float())
x.index_add(0, L([0.0]), x[:1])
x.index_add(0, L([[0]]), x[:1])
x.index_copy(0, L([0]), x)
x.index_copy(0, L([2]), x[:1])
x.index_copy(0, L([0]), x[:1].float())
x.index_copy(0, L([0.0]), x[:1])
x.index_copy(0, L([0]), x[:1, :2])
x.index_copy(0, L(0), x[0])
x.index_copy(0, L([[0]]), x[:1])
x.index_fill(0, L([2]), 1.0)
x.index_fill(0, L([0]), L([1.0]))
x.index_fill(0, L([0]), 1j)
x.index_fill(0, L([[0]]), 1)
x.take(L([6]))
x.take(L([0.0]))
x.take_along_dim(L([0]), 1)
x.take_along_dim(L([[0.0]]), 1)
x.take_along_dim(L([[0], [1], [0]]), 1)
x.masked_select(L([1, 0, 1]))
x.masked_select(L([True, False]))
x.masked_scatter(x > -9, x[0])
x.masked_scatter(x > 0, L([1, 2, 3]))
x.masked_scatter(L([1, 0, 1]), x)
x.put(L([6]), x[0, :1])
x.put(L([0, 1]), x[0, :1])
F.one_hot(L([0, 3]), 3)
F.one_hot(L([0, -1]))
F.one_hot(L([0.0]))
F.one_hot(L([], dtype=torch.int64))
F.one_hot(L([1]), 0)
F.one_hot(L([0], dtype=torch.int32))
"""))  # fmt: skip
def test_errors_of_named_functions(text):
    same_error(expression(text), A)


@pytest.mark.parametrize("text", lines("""
x.scatter(1, L([[0]]))
x.scatter(1, L([[0]]), 'a')
x.index_fill(0, L([0]), 'a')
x.scatter_add(1, L([[0]]), 1.0)
"""))
def test_errors_of_some_kind(text):
    same_error(expression(text), A, match="")


# -- derivatives of reductions -----------------------------------------------------------------------------------------

MEETING = {
    "ties": ([2.0, 1.0, 3.0, 0.5], [0, 0, 1, 3, 3], [2.0, 2.0, 5.0, 0.5, -1.0]),
    "all the same": ([7.0, 2.0, 2.0, 0.0], [1, 1, 1, 1, 1], [2.0, 2.0, 2.0, 1.0, 2.0]),
    "zeros": ([0.0, 1.0, 3.0, 0.0], [0, 0, 1, 3, 3], [2.0, 0.0, 0.0, 0.0, 0.0]),
    "a zero": ([3.0, 2.0, 3.0, 5.0], [0, 0, 1, 1, 3], [2.0, 0.0, 5.0, 0.5, 0.0]),
    "two zeros": ([3.0, 2.0, 3.0, 5.0], [0, 0, 1, 1, 3], [0.0, 0.0, 5.0, 0.5, 0.0]),
}
REDUCTIONS = {
    **{
        f"{name} {kind}{'' if own else ' alone'}": lambda torch, x, i, s, n=name, k=kind, o=own: getattr(torch, n)(
            x, 0, i, s, k, include_self=o
        )
        for name in ("scatter_reduce", "index_reduce")
        for kind in ("sum", "mean", "amax", "amin", "prod")[name == "index_reduce":]
        for own in (True, False)
    },
    "scatter_add": lambda torch, x, i, s: torch.scatter_add(x, 0, i, s),
    "index_add": lambda torch, x, i, s: torch.index_add(x, 0, i, s, alpha=2),
    "index_put": lambda torch, x, i, s: torch.index_put(x, (i,), s, accumulate=True),
    "put": lambda torch, x, i, s: torch.put(x, i, s, accumulate=True),
    "scatter add": lambda torch, x, i, s: torch.scatter(x, 0, i, s, reduce="add"),
}
NO_TANGENT = ("index_reduce", "scatter add", "scatter_reduce prod")
"""Those of which PyTorch has no tangents, or zeros: what is right is held by ``test_tangents_of_products``."""


def derivatives(torch, f, x, s):
    """Gradients, those of their squares, and tangents of ``f(x, s)``."""
    a, b = x.clone().requires_grad_(), s.clone().requires_grad_()
    weights = torch.arange(1.0, 1.0 + len(x))
    first = torch.autograd.grad((f(a, b) * weights).sum(), (a, b), create_graph=True)
    second = attempt(lambda: torch.autograd.grad(sum((g * g).sum() for g in first), (a, b), allow_unused=True))
    tangents = weights * 10, torch.arange(1.0, 1.0 + len(s))
    both, one = attempt(lambda: torch.func.jvp(f, (x, s), tangents)[1]), lambda s: f(x, s)
    return [g.detach() for g in first], second, both, attempt(lambda: torch.func.jvp(one, (s,), tangents[1:])[1])


@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning", "ignore:The reduce argument:UserWarning")
@pytest.mark.parametrize("numbers", MEETING)
def test_derivatives_of_reductions(numbers):
    """Equals share a gradient with what was there before also where it takes no part; tangents leave that out."""

    def run(torch):
        x, i, s = (torch.tensor(one) for one in MEETING[numbers])
        account = []
        for name, reduction in REDUCTIONS.items():
            found = attempt(lambda r=reduction: derivatives(torch, lambda x, s: r(torch, x, i, s), x, s))
            account.append([name, found[:2] if name.startswith(NO_TANGENT) else found])
        return account

    agree(run)


@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
@pytest.mark.parametrize("numbers", MEETING)
@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name.startswith(NO_TANGENT) and name[-3:] != "add"])
def test_tangents_of_products(name, numbers):
    """They are what the gradients say, but for extrema alone, whose tangents are those of ``scatter_reduce``."""
    import tapegrad as torch

    x, i, s = (torch.tensor(one) for one in MEETING[numbers])
    f = lambda x, s: REDUCTIONS[name](torch, x, i, s)
    along = torch.arange(1.0, 5.0), torch.arange(2.0, 7.0)
    found = torch.func.jvp(f, (x, s), along)[1]
    if name.startswith("index_reduce a"):
        g = lambda x, s: REDUCTIONS[name.replace("index", "scatter")](torch, x, i, s)
        expected = torch.func.jvp(g, (x, s), along)[1]
    else:
        rows = torch.func.jacrev(f, argnums=(0, 1))(x, s)
        expected = sum(row @ t for row, t in zip(rows, along, strict=True))
    assert torch.allclose(found, expected)


def test_products_of_several_zeros_have_no_second_derivative_in_any_mode():
    import tapegrad as torch

    x, i, s = (torch.tensor(one) for one in MEETING["two zeros"])
    loss = lambda s: torch.scatter_reduce(x, 0, i, s, "prod").sum()
    for call in (
        lambda: torch.func.jvp(torch.func.grad(loss), (s,), (s,)), lambda: torch.func.hessian(loss)(s),
        lambda: torch.func.grad(lambda s: torch.func.jvp(loss, (s,), (s + 1,))[1])(s),
        lambda: torch.func.jvp(lambda s: torch.func.jvp(loss, (s,), (s + 1,))[1], (s,), (s,)),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="Double backward is unsupported for src when >1 zeros"):
            call()


def history(tensor):
    """The names of the nodes that a tensor comes from; one that came before is a number."""
    seen = []

    def told(node):
        if node is None or node in seen:
            return None if node is None else seen.index(node)
        seen.append(node)
        return [node.name(), *[told(before) for before, _ in node.next_functions]]

    return told(tensor.grad_fn)


@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("numbers", MEETING)
def test_histories_of_products(numbers, include_self):
    """The product itself, its gradients, and the second ones, which are zeros where nothing depends on something."""

    def run(torch):
        x, i, s = (torch.tensor(one) for one in MEETING[numbers])
        x.requires_grad_(), s.requires_grad_()
        out = torch.scatter_reduce(x, 0, i, s, "prod", include_self=include_self)
        first = torch.autograd.grad(out.sum(), (x, s), create_graph=True)
        account = [history(out), *map(history, first), *first]
        for one in first:
            account += [attempt(lambda one=one: torch.autograd.grad(one.sum(), (x, s), retain_graph=True))]
        sliced = torch.index_reduce(x, 0, i, s, "prod", include_self=include_self)
        again = torch.autograd.grad(sliced.sum(), (x, s), create_graph=True)
        account += [history(sliced), [one.tolist() for one in again]]
        account.append(attempt(lambda: torch.autograd.grad(again[0].sum(), (x, s))))
        return account

    agree(run)


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("include_self", [True, False])
def test_the_nodes_of_a_product_of_slices(include_self):
    def tree(node):
        return node and [node.name(), *[tree(one) for one, _ in node.next_functions]]

    def program(torch):
        x, source = torch.ones(4, 3, requires_grad=True), torch.full((3, 3), 2.0, requires_grad=True)
        y = x.index_reduce(0, torch.tensor([0, 2, 0]), source, "prod", include_self=include_self)
        grads = torch.autograd.grad(y.sum(), (x, source), create_graph=True)
        return [tree(one.grad_fn) for one in (y, *grads)], y, grads

    agree(program)

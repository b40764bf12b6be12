"""``x[index] = value``: every form of index and of value, on what may be written and on what may not."""

import operator

import numpy as np
import pytest
from harness import Programs, agree, attempt, warned
from viewing import names

import tapegrad

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()

VALUES = [[float(4 * row + column) for column in range(4)] for row in range(3)]


def assigned(torch, index, value, make=lambda base: base, dtype="float32"):
    """What is seen of a tensor of 3 rows and 4 columns, of which ``make`` gives the part that is written to."""
    leaf = torch.tensor(VALUES).to(getattr(torch, dtype))
    if leaf.is_floating_point() or leaf.is_complex():
        leaf.requires_grad_()
    base = leaf * 1
    target, other = make(base), base[0]
    value = value(torch) if callable(value) else value
    failure = attempt(lambda: target.__setitem__(index(torch) if callable(index) else index, value))
    account = [failure, base, target, other, base._version, names(base), names(target), target._is_view()]
    if base.requires_grad:
        (base * base.detach()).sum().abs().backward()
        account.append(leaf.grad)
    if hasattr(value, "is_leaf") and value.is_leaf and value.requires_grad:
        account.append(value.grad)
    return account


BASIC = {
    "int": 1,
    "negative int": -1,
    "numpy int": np.int64(2),
    "slice": slice(0, 2),
    "all": slice(None),
    "ellipsis": ...,
    "steps": slice(None, None, 2),
    "open slice": slice(1, None),
    "negative slice": slice(-2, None),
    "empty slice": slice(2, 1),
    "ints": (1, 2),
    "int and slice": (1, slice(1, 3)),
    "slices": (slice(0, 2), slice(1, 4, 2)),
    "column": (slice(None), 1),
    "last column": (..., -1),
    "new first": None,
    "new in between": (slice(None), None, 2),
    "ellipsis at the end": (1, ...),
    "ellipsis between": (0, ..., 1),
    "tuple of nothing": (),
    "true": True,
    "false": False,
    "true and more": (True, 1),
    "new twice": (None, 1, None),
    "long bounds": slice(-100, 100),
}

INDEXED = {
    "list": [2, 0],
    "pair of lists": ([0, 2], [1, 3]),
    "list and slice": ([0, 2], slice(1, 3)),
    "slice and list": (slice(1, 3), [0, 3]),
    "int and list": (1, [0, 3]),
    "list and int": ([0, 2], -1),
    "lists around a dimension": ([[0], [2]], [1, 3]),
    "tensor": lambda torch: torch.tensor([0, 2]),
    "int32 tensor": lambda torch: torch.tensor([0, 2], dtype=torch.int32),
    "negative places": lambda torch: torch.tensor([-1, 0]),
    "0-dim tensor": lambda torch: torch.tensor(1),
    "0-dim tensors": lambda torch: (torch.tensor(1), torch.tensor(2)),
    "0-dim truth": lambda torch: torch.tensor(True),
    "no places": lambda torch: torch.tensor([], dtype=torch.int64),
    "mask": lambda torch: torch.tensor(VALUES) > 5,
    "mask of rows": lambda torch: torch.tensor([True, False, True]),
    "mask of nothing": lambda torch: torch.tensor(VALUES) > 99,
    "mask of columns": lambda torch: (slice(None), torch.tensor([True, False, False, True])),
    "row and mask": lambda torch: (1, torch.tensor([True, False, False, True])),
    "list of truths": [True, False, True],
    "numpy places": np.array([0, 2]),
    "numpy mask": np.array([True, False, True]),
    "matrix of places": lambda torch: torch.tensor([[0, 1], [2, 0]]),
    "places and new": lambda torch: (torch.tensor([0, 2]), None, slice(0, 2)),
    "places, new, places": lambda torch: (torch.tensor([0, 2]), None, torch.tensor([1, 3])),
    "ellipsis and places": lambda torch: (..., torch.tensor([0, 2])),
    "steps and places": lambda torch: (slice(None, None, 2), torch.tensor([0, 3])),
    "tensor in a slice": lambda torch: slice(torch.tensor(1), torch.tensor(3)),
    "uint8 mask": lambda torch: torch.tensor([1, 0, 1], dtype=torch.uint8),
}

WRONG = {
    "beyond": 3,
    "beyond below": -4,
    "second beyond": (0, 4),
    "too many": (0, 0, 0),
    "float": 1.5,
    "string": "a",
    "step zero": slice(0, 2, 0),
    "negative step": slice(2, 0, -1),
    "list beyond": [0, 5],
    "places beyond": lambda torch: torch.tensor([0, 3]),
    "places below": lambda torch: torch.tensor([-4]),
    "mask too short": lambda torch: torch.tensor([True, False]),
    "mask too deep": lambda torch: torch.ones(3, 4, 1, dtype=torch.bool),
    "float places": lambda torch: torch.tensor([0.0]),
    "places that don't broadcast": lambda torch: (torch.tensor([0, 1]), torch.tensor([0, 1, 2])),
    "dictionary": {},
    "second places beyond": lambda torch: (torch.tensor([0, 1]), torch.tensor([0, 4])),
    "beyond with places": ([0, 1], 4),
}


def scalar(torch):
    return torch.tensor(2.5, requires_grad=True)


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
@pytest.mark.parametrize("index", [*BASIC, *INDEXED])
def test_a_number_is_put(index):
    agree(lambda torch: assigned(torch, {**BASIC, **INDEXED}[index], 7.5))


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
@pytest.mark.parametrize("index", [*BASIC, *INDEXED])
def test_a_tensor_is_put(index):
    agree(lambda torch: assigned(torch, {**BASIC, **INDEXED}[index], scalar))


@pytest.mark.parametrize("index", WRONG)
def test_wrong_indices(index):
    """PyTorch has by then written what comes before the place that is out of range; here nothing is written."""

    def program(torch):
        return [
            assigned(torch, WRONG[index], value)[:1] + assigned(torch, WRONG[index], value)[4:8]
            for value in (7.5, scalar)
        ]

    agree(program)
    account = assigned(tapegrad, WRONG[index], 7.5)
    assert account[0] is not None and account[1].tolist() == VALUES and account[4] == 0


PARTS = {
    "int": 1,
    "slice": slice(0, 2),
    "steps": (slice(None), slice(1, None, 2)),
    "all": slice(None),
    "ellipsis": ...,
    "places": [1, 0],
    "mask": lambda torch: torch.tensor([True, False, True]),
    "ints": (0, 1),
    "new": (None, 1),
    "column": (slice(None), 2),
}

SOURCES = {
    "row": lambda torch: torch.tensor([9.0, 8.0, 7.0, 6.0], requires_grad=True),
    "leading ones": lambda torch: torch.ones(1, 1, 4, requires_grad=True),
    "two rows": lambda torch: torch.tensor([[9.0, 8.0, 7.0, 6.0], [5.0, 4.0, 3.0, 2.0]], requires_grad=True),
    "a column": lambda torch: torch.tensor([[9.0], [8.0]], requires_grad=True),
    "three": lambda torch: torch.tensor([1.0, 2.0, 3.0]),
    "one": lambda torch: torch.tensor([1.5], requires_grad=True),
    "integers": lambda torch: torch.tensor([1, 2, 3, 4]),
    "0-dim integer": lambda torch: torch.tensor(3),
    "double": lambda torch: torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True),
    "half": lambda torch: torch.tensor(1.5, dtype=torch.float16),
    "complex": lambda torch: torch.tensor([1.0 + 2.0j]),
    "truth": lambda torch: torch.tensor(True),
    "nothing": lambda torch: torch.ones(0),
    "int": 3,
    "bool": True,
    "complex number": 1j,
    "huge": 1e60,
    "numpy float": np.float64(2.5),
    "numpy array": np.ones(4),
    "list": [1.0, 2.0, 3.0, 4.0],
    "none": None,
    "string": "a",
    "transposed": lambda torch: torch.ones(4, 2).t(),
    "numpy bool": np.bool_(True),
}


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("part", PARTS)
def test_sources(part, source):
    agree(lambda torch: assigned(torch, PARTS[part], SOURCES[source]))


TARGETS = {
    "a transposed view": lambda base: base.t(),
    "rows": lambda base: base[1:],
    "columns": lambda base: base[:, ::2],
    "a view of a view": lambda base: base[1:].t()[1:],
    "other lengths": lambda base: base.view(2, 6),
    "a new tensor": lambda base: base.clone().t(),
    "itself": lambda base: base.view(3, 4),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "index",
    [
        "int",
        "slice",
        "column",
        "ellipsis",
        "all",
        "ints",
        "steps",
        "list",
        "mask of nothing",
        "new first",
        "tensor",
        "row and list",
    ],
)
def test_views_are_written_through(target, index):
    forms = {
        **BASIC,
        **INDEXED,
        "row and list": (0, [0, 1]),
        "column": (slice(None), 0),
        "list": [0, -1],
        "tensor": lambda torch: torch.tensor([-1]),
        "ints": (0, 1),
        "mask of nothing": (),
    }
    for value in (7.5, lambda torch: torch.tensor(2.5, requires_grad=True)):
        agree(lambda torch: assigned(torch, forms[index], value, TARGETS[target]))  # noqa: B023 - called at once


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "complex64", "float64", "float16"])
def test_dtypes_are_kept(dtype):
    def program(torch):
        values = (
            3,
            2.7,
            True,
            -1,
            1j,
            300,
            lambda torch: torch.tensor(1.5),
            lambda torch: torch.tensor(2),
            lambda torch: torch.tensor(True),
        )
        return [
            assigned(torch, index, value, dtype=dtype) for value in values for index in ((1, 2), slice(0, 2), [0, 1])
        ]

    agree(program, rtol=1e-3)


def names_deep(tensor):
    """The names of all nodes behind a tensor, in the order in which they are met."""
    found, waiting = [], [tensor.grad_fn]
    while waiting:
        node = waiting.pop(0)
        if node is not None:
            found.append(node.name())
            waiting.extend(behind for behind, _ in node.next_functions)
    return found


@program
def memory_is_read_that_is_written(torch):
    def outcome(write):
        x = torch.arange(6.0)
        return [attempt(lambda: write(x)), x, x._version]

    def rows(write):
        x = torch.arange(6.0).view(2, 3)
        return [attempt(lambda: write(x)), x, x._version]

    return [
        outcome(lambda x: x.__setitem__(slice(1, None), x[:-1])),
        outcome(lambda x: x.__setitem__(slice(None), x)),
        outcome(lambda x: x.__setitem__(slice(0, 3), x[3:])),
        outcome(lambda x: x.__setitem__((None, slice(1, 3)), x[1:3])),
        outcome(lambda x: x.__setitem__(slice(1, 5), x[1])),
        outcome(lambda x: x.__setitem__(slice(0, 4, 2), x[0:2])),
        outcome(lambda x: x.__setitem__([0, 1], x[1:3])),
        outcome(lambda x: x.__setitem__(..., x[2])),
        outcome(lambda x: x[:1].__setitem__((None, slice(None), None), x[:1])),
        outcome(lambda x: x.__setitem__(None, x.view_as(x))),
        rows(lambda x: x.__setitem__(slice(None), x[0])),
        rows(lambda x: x.__setitem__(0, x[1])),
        rows(lambda x: x.__setitem__(1, x[1])),
        rows(lambda x: x.__setitem__((..., [0, 1]), x[:, :2])),
        rows(lambda x: x.__setitem__((..., [0, 1, 2]), x)),
        rows(lambda x: x.__setitem__([1, 0], x)),
    ]


@program
def augmented_items(torch):
    leaf = torch.arange(6.0).view(2, 3).requires_grad_()
    x = leaf * 1
    x[1:] += 2
    x[0] *= x[1].clone()
    x[:, 1] -= leaf[:, 0]
    x[x > 4] /= 2
    (x * 2).sum().backward()
    return x, x._version, names(x), names_deep(x), leaf.grad


@program
def rows_are_filled_one_after_another(torch):
    weight = torch.tensor([[0.5, 1.0], [2.0, -1.0]], requires_grad=True)
    out, h = torch.zeros(3, 2), torch.ones(2)
    for i in range(3):
        h = torch.tanh(weight @ h)
        out[i] = h
    out.pow(2).sum().backward()
    return out, out._version, names_deep(out), weight.grad


@program
def expanded_tensors(torch):
    row = torch.zeros(3)
    x = row.expand(2, 3)
    x[0] = 1.0
    x[1, 1:] = torch.tensor([5.0, 6.0])
    return (
        row,
        row._version,
        attempt(lambda: x.__setitem__(slice(0, 2), 1.0)),
        attempt(lambda: x.__setitem__(..., torch.ones(2, 3))),
    )


@program
def places_of_expanded_tensors(torch):
    row = torch.zeros(3)
    x, seen = row.expand(2, 3), []
    for index, value in (
        ((torch.tensor([0]), torch.tensor([1])), 4.0),
        (torch.tensor([[True, False, True], [False, False, False]]), 2.0),
    ):
        seen.append([kind for kind, _ in warned(lambda: x.__setitem__(index, value))][:1])  # noqa: B023 - called at once
    return seen, row, row._version


@program
def leaves_and_views_of_them(torch):
    leaf = torch.ones(2, 3, requires_grad=True)
    forms = (0, slice(0, 1), ..., slice(None), (0, 1), [0, 1], torch.tensor([True, False]), None, (slice(None), [0]))
    refused = [attempt(lambda: leaf.__setitem__(form, 2.0)) for form in forms]  # noqa: B023 - called at once
    refused += [attempt(lambda: leaf.view(3, 2).__setitem__(form, 2.0)) for form in (0, ..., [0, 1])]  # noqa: B023
    wrong = [
        attempt(lambda: leaf.__setitem__(0, torch.ones(5))),
        attempt(lambda: leaf.__setitem__([5], 1.0)),
        attempt(lambda: leaf.__setitem__(5, 1.0)),
    ]
    with torch.no_grad():
        leaf[0] = 3.0
        leaf[:, 1] += 1
        leaf[leaf > 3] = 0.0
    return refused, wrong, leaf, leaf._version, leaf.is_leaf, leaf.requires_grad


@program
def views_that_may_not_be_written(torch):
    x = torch.ones(3, 2, requires_grad=True) * 1
    first, *_ = x.unbind()
    with torch.no_grad():
        quiet = x[1:]
    constant = torch.ones(3, 2)
    part, *_ = constant.split(2)
    return [
        attempt(lambda: first.__setitem__(0, 1.0)),
        attempt(lambda: first.__setitem__(..., 1.0)),
        attempt(lambda: quiet.__setitem__((0, 1), 1.0)),
        attempt(lambda: quiet.__setitem__([0], 1.0)),
        attempt(lambda: part.__setitem__(0, 1.0)),
        constant,
        attempt(lambda: part.__setitem__(0, torch.ones(2, requires_grad=True))),
        attempt(lambda: part.__setitem__([0], torch.ones(2, requires_grad=True))),
        constant.requires_grad,
        x._version,
        constant._version,
    ]


@program
def what_was_saved_notices(torch):
    x, y = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([4.0, 5.0, 6.0])
    z = x * y
    y[1] = 0.0
    w = x.exp()
    w[0] = 1.0
    return attempt(lambda: z.sum().backward()), attempt(lambda: w.sum().backward())


@program
def tensors_without_dimensions(torch):
    leaf = torch.tensor(3.0, requires_grad=True)
    seen = []
    for index in (..., (), None, True, torch.tensor(True), (None, ...)):
        for value in (2.0, torch.tensor(5.0, requires_grad=True), torch.ones(1)):
            x = leaf * 1
            x[index] = value
            seen += [x, x._version, names(x)]
    return seen, [attempt(lambda: x.__setitem__(form, 1.0)) for form in (0, slice(None), (0,), [0], (slice(None),))]  # noqa: B023


@program
def indices_of_dimensions_without_elements(torch):
    """There nothing is in range; where another dimension has no elements, no index is looked at."""
    nothing, rows, none = torch.zeros(0), torch.zeros(3, 0), torch.tensor([], dtype=torch.long)
    return [
        attempt(lambda: nothing[torch.tensor([0])]),
        attempt(lambda: nothing[none]),
        attempt(lambda: rows[torch.tensor([7])]),
        attempt(lambda: rows[[0], [1]]),
        attempt(lambda: nothing.__setitem__(torch.tensor([0]), 1.0)),
        attempt(lambda: nothing.__setitem__(torch.tensor([0]), torch.zeros(0))),
        attempt(lambda: rows.__setitem__(torch.tensor([7]), 1.0)),
        attempt(lambda: nothing.index_put((torch.tensor([0]),), torch.tensor(1.0))),
    ]


@program
def empty_parts(torch):
    leaf, value = torch.ones(2, 3, requires_grad=True), torch.ones(0, 3, requires_grad=True)
    x = leaf * 1
    x[2:] = value
    x[0:0, 1] = 5.0
    x[[]] = 7.0
    x.sum().backward()
    return x, x._version, leaf.grad, value.grad, attempt(lambda: x.__setitem__(slice(2, None), torch.ones(2, 3)))


@program
def second_derivatives(torch):
    x, v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([0.5, 1.5], requires_grad=True)
    y = x * x
    y[1:] = v * v * x[0]
    y[0] *= x[1]
    (first,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
    return first, torch.autograd.grad(first.sum(), [x, v])


@program
def in_inference_mode(torch):
    x = torch.ones(3)
    with torch.inference_mode():
        t = torch.zeros(3)
        t[1] = 2.0
        t[[0, 2]] = 1.0
        x[0] = 5.0
    return t, x, x._version, attempt(lambda: t.__setitem__(0, 1.0)), attempt(lambda: t.__setitem__([0], 1.0))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program):
    agree(program)


@pytest.mark.parametrize("index", [0, slice(1), ..., None, "a", (0, 0)], ids=str)
def test_elements_can_not_be_deleted(index):
    def program(torch):
        x = torch.ones(3, 2)
        tensors = [x, torch.nn.Parameter(x)]
        return [attempt(lambda one=one: operator.delitem(one, index)) for one in tensors]

    agree(program)


def test_parts_of_complex_numbers_can_be_set():
    def program(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        z = torch.complex(x * 2, x)
        z.imag = x * 3
        z.real = 5.0
        return [z.detach(), z.grad_fn.name(), torch.autograd.grad(z.imag.sum(), x)[0], z._version]

    agree(program)


def test_what_can_not_be_set_as_a_part_is_refused():
    def program(torch):
        z = torch.complex(torch.ones(2), torch.ones(2))
        return [attempt(lambda: setattr(z, "imag", torch.ones(3))), attempt(lambda: setattr(z.real, "imag", z.real)), z]

    agree(program)

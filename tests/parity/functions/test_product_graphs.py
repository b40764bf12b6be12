"""The whole graphs of products and losses that PyTorch composes: which nodes, and which results are views, of what."""

import pytest
from harness import Programs, agree

PROGRAMS = program = Programs()


def leaf(torch, *shape):
    return torch.ones(shape, requires_grad=True)


def graph(root):
    """The nodes that a result comes from: a name, and the graphs of its edges."""
    found, stack = [], [(root.grad_fn, 0)]
    while stack:
        node, depth = stack.pop()
        found.append([depth, None if node is None else node.name()])
        stack += [(edge, depth + 1) for edge, _ in reversed(node.next_functions if node is not None else ())]
    return found


def seen(*results):
    return [
        [graph(y), list(y.shape), list(y.stride()), None if y._base is None else list(y._base.shape)] for y in results
    ]


@program
def kronecker_products(torch):
    made = [leaf(torch), leaf(torch, 2), leaf(torch, 2, 2), leaf(torch, 2, 3)]
    return [seen(torch.kron(x, y)) for x in made for y in made]


@program
def inner_products(torch):
    shapes = [((3,), (3,)), ((2, 3), (4, 3)), ((3,), (4, 3)), ((4, 3), (3,)), ((2, 4, 3), (3,)), ((), (3,))]
    return [seen(torch.inner(leaf(torch, *left), leaf(torch, *right))) for left, right in shapes]


@program
def tensor_products(torch):
    cases = [
        ((2, 3), (2, 3), 2), ((2, 3), (3, 4), 1), ((2, 3), (3, 4), 0), ((3,), (3,), 1), ((2, 1), (3, 4), 1),
        ((2, 3), (1, 4), 1), ((2, 3, 4), (4, 5, 3), ([1, 2], [2, 0])), ((5, 3, 4), (4, 5, 3), ([0], [1])),
        ((0, 3), (3, 2), 1), ((2, 0), (0, 2), 1),
    ]  # fmt: skip
    return [seen(torch.tensordot(leaf(torch, *left), leaf(torch, *right), dims)) for left, right, dims in cases]


@program
def an_equation_for_one_operand(torch):
    cases = {
        "ij->ji": (2, 3), "ij": (2, 3), "ii->i": (3, 3), "ii": (3, 3), "ij->": (2, 3), "ij->i": (2, 3),
        "ij->j": (2, 3), "iji->ij": (2, 3, 2), "iij->ji": (2, 2, 3), "iii": (2, 2, 2), "...ij->...ji": (2, 3, 4),
        "bij->ib": (2, 3, 4), "": (),
    }  # fmt: skip
    return [seen(torch.einsum(equation, leaf(torch, *shape))) for equation, shape in cases.items()]


@program
def it_is_a_view_that_can_be_written_to(torch):
    x = torch.zeros(3, 3)
    torch.einsum("ij->ji", x)[0].fill_(1.0)
    torch.einsum("ii->i", x).add_(2.0)
    y = leaf(torch, 2, 2) * 1
    torch.einsum("ii->i", y).mul_(3.0)
    y.sum().backward()
    return x, x._version, y, y.grad_fn.name()


@program
def numbers_that_are_whole(torch):
    x = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
    sums = torch.einsum("ij->i", x), torch.einsum("ii", x), torch.einsum("ij->ji", x)
    return sums, torch.inner(x, x), torch.tensordot(x, x), torch.kron(x, x.double())


@program
def chains(torch):
    matrices, vector = (leaf(torch, 2, 3), leaf(torch, 3, 4), leaf(torch, 4, 2)), leaf(torch, 3)
    multi_dot = torch.linalg.multi_dot
    return seen(multi_dot(matrices), multi_dot([vector, *matrices[1:]]), multi_dot([matrices[0], vector]))


@program
def bilinear_forms(torch):
    weight, bias = leaf(torch, 5, 3, 4), leaf(torch, 5)
    bilinear = torch.nn.functional.bilinear
    return seen(
        bilinear(leaf(torch, 2, 3), leaf(torch, 2, 4), weight),
        bilinear(leaf(torch, 2, 6, 3), leaf(torch, 2, 6, 4), weight, bias),
        bilinear(leaf(torch, 3), leaf(torch, 4), weight),
    )  # fmt: skip


@program
def outer_products_and_unbatched_convolutions(torch):
    functions = torch.nn.functional
    return seen(
        torch.outer(leaf(torch, 3), leaf(torch, 4)),
        functions.conv2d(leaf(torch, 2, 5, 5), leaf(torch, 3, 2, 2, 2)),
        functions.conv_transpose1d(leaf(torch, 2, 5), leaf(torch, 2, 3, 2)),
    )


@program
def losses_with_margins(torch):
    """PyTorch's own functions add numbers and multiply by them with nodes of one edge."""
    functional, x, y = torch.nn.functional, leaf(torch, 2, 3), torch.ones(2, 3)
    return seen(
        functional.pairwise_distance(x, y), functional.margin_ranking_loss(x, y, y, 0.5),
        functional.hinge_embedding_loss(x, y), functional.cosine_embedding_loss(x, y, torch.tensor([1, -1])),
        functional.triplet_margin_loss(x, y, x * 2, swap=True),
        functional.triplet_margin_with_distance_loss(x, y, x * 2),
        functional.cross_entropy(x, torch.tensor([0, 1]), label_smoothing=0.1),
    )  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    agree(program)

"""What programs write in place: parameters, gradients, the same tensor twice, memory that overlaps, random numbers."""

import pytest
import torch as pytorch
from harness import Programs, agree, attempt, warned
from viewing import names

import tapegrad
from tapegrad._src.absent import is_stand_in

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()

VALUES = [[0.25, 0.5, 0.75], [0.3, 0.6, 0.9]]


def computed(torch, shape=None):
    """A leaf and a tensor computed from it."""
    leaf = torch.tensor(VALUES, requires_grad=True)
    return leaf, leaf * 1 if shape is None else (leaf * 1).view(shape)


# -- parameters and their gradients ------------------------------------------------------------------------------------


@program
def parameters_are_initialized(torch):
    weight, bias = torch.nn.Parameter(torch.ones(4, 3)), torch.nn.Parameter(torch.ones(4))
    with torch.no_grad():
        returned = [
            weight.uniform_(-1, 1) is weight,
            weight.normal_(0, 0.01) is weight,
            bias.fill_(0.5) is bias,
            bias.zero_() is bias,
        ]
        bounds = bool((weight.abs() < 1).all())
        weight.copy_(torch.arange(12.0).view(4, 3))
        weight[:, 0].zero_()
        weight[2].fill_(7.0)
        weight.t()[1].mul_(2)
        bias[1:3] = 1.0
        bias.clamp_(max=0.5).add_(1)
    refused = [
        attempt(lambda: weight.zero_()),
        attempt(lambda: weight[0].zero_()),
        attempt(lambda: bias.__setitem__(0, 1.0)),
    ]
    loss = (torch.ones(2, 3) @ weight.t() + bias).sum()
    loss.backward()
    return (
        returned,
        bounds,
        weight,
        weight._version,
        bias,
        bias._version,
        weight.is_leaf,
        refused,
        weight.grad,
        bias.grad,
        type(weight).__name__,
    )


@program
def a_step_of_descent(torch):
    """Momentum and Adam, as optimizers write them."""
    p = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    buffer, average, squares = torch.zeros(3), torch.zeros(3), torch.zeros(3)
    for _ in range(3):
        (p * p).sum().backward()
        with torch.no_grad():
            buffer.mul_(0.9).add_(p.grad)
            average.lerp_(p.grad, 0.1)
            squares.mul_(0.99).addcmul_(p.grad, p.grad, value=0.01)
            p.add_(buffer, alpha=-0.1)
            p.addcdiv_(average, squares.sqrt().add_(1e-8), value=-0.01)
        p.grad.zero_()
    return p, p._version, p.is_leaf, buffer, average, squares, squares._version, p.grad


@program
def data_is_written(torch):
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (p * p).sum()
    p.data.add_(1)
    p.data[0] = 5.0
    p.data.mul_(torch.tensor(2.0))
    loss.backward()
    before = p._version, p.data._version
    p.grad.data.zero_()
    p.grad.detach_()
    p.grad.add_(3)
    return before, p, p.grad, p.grad.requires_grad


@program
def gradients_with_a_graph_are_detached(torch):
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    p.grad = torch.autograd.grad((p * p * p).sum(), p, create_graph=True)[0]
    account = [p.grad.requires_grad, names(p.grad) is not None]
    p.grad.detach_()
    p.grad.zero_()
    return account, p.grad, p.grad.requires_grad


@program
def statistics_are_updated(torch):
    mean, count = torch.zeros(3), torch.tensor(0)
    x = torch.tensor(VALUES, requires_grad=True)
    for _ in range(2):
        count += 1
        with torch.no_grad():
            mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
        y = x - mean
        y.sum().backward()
    return mean, mean._version, count, count._version, count.dtype == torch.int64, mean.requires_grad, x.grad


# -- the same tensor twice ---------------------------------------------------------------------------------------------


@program
def a_tensor_is_its_own_operand(torch):
    def outcome(write):
        leaf, x = computed(torch)
        returned = attempt(lambda: write(x))
        account = [returned is x or returned, x, x._version, names(x)]
        return [*account, attempt(lambda: x.sum().backward()), leaf.grad]

    return [
        outcome(lambda x: x.add_(x)),
        outcome(lambda x: x.mul_(x)),
        outcome(lambda x: x.sub_(x, alpha=2)),
        outcome(lambda x: x.copy_(x)),
        outcome(lambda x: x.div_(x)),
        outcome(lambda x: x.addcmul_(x, x)),
        outcome(lambda x: x.lerp_(x, 0.5)),
        outcome(lambda x: x.mul_(x.detach())),
        outcome(lambda x: x.mul_(x.view(2, 3))),
        outcome(lambda x: x.eq_(x)),
        outcome(lambda x: x.masked_fill_(x > 0.5, 0.0)),
        outcome(lambda x: x.pow_(x)),
        outcome(lambda x: x.index_add_(0, torch.tensor([0, 1]), x)),
        outcome(lambda x: x.add_(x.mean())),
        outcome(lambda x: x.sub_(x.max())),
        outcome(lambda x: x.scatter_(0, torch.tensor([[0, 1, 0]]), x)),
        outcome(lambda x: x.fill_(x[0, 0])),
        outcome(lambda x: x.mul_(x[0])),
    ]


@program
def memory_is_shared_in_part(torch):
    def outcome(write):
        x = torch.arange(1.0, 7.0)
        return [attempt(lambda: [0, write(x[1:], x[:-1])][0]), x, x._version]

    places = torch.arange(5)
    return [
        outcome(write)
        for write in (
            lambda a, b: a.add_(b),
            lambda a, b: a.copy_(b),
            lambda a, b: a.addcmul_(b, b),
            lambda a, b: a.lerp_(b, 0.5),
            lambda a, b: a.clamp_(b),
            lambda a, b: a.pow_(b),
            lambda a, b: a.eq_(b),
            lambda a, b: a.index_add_(0, places, b),
            lambda a, b: a.index_copy_(0, places, b),
            lambda a, b: a.put_(places, b),
            lambda a, b: a.scatter_(0, places, b),
            lambda a, b: a.index_put_((places,), b),
            lambda a, b: a.add_(b[0]),
            lambda a, b: a.mul_(b[3]),
            lambda a, b: a.fill_(b[2]),
            lambda a, b: a.masked_fill_(b > 3, 1.0),
            lambda a, b: a.mul_(b.clone()),
            lambda a, b: a.view(5, 1).addr_(b, torch.ones(1)),
            lambda a, b: a.__iadd__(b),
            lambda a, b: a[::2].copy_(b[::2]),
            lambda a, b: a.float_power_(b) if 0 else a.fmod_(b),
        )
    ]


@program
def chained_calls(torch):
    leaf, x = computed(torch)
    y = x.add_(1).mul_(2).sub_(x.detach()).clamp_(0.5, 3).neg_()
    y.sum().backward()
    return y is x, x, x._version, names(x), leaf.grad


@program
def wider_operands(torch):
    """The result keeps the dtype of the tensor, the gradients those of the operands."""
    account = []
    for write in (
        lambda x, y: x.add_(y),
        lambda x, y: x.mul_(y),
        lambda x, y: x.copy_(y),
        lambda x, y: x.pow_(y),
        lambda x, y: x.addcmul_(y, y),
    ):
        leaf, x = computed(torch)
        y = torch.tensor(VALUES, dtype=torch.float64, requires_grad=True)
        refused = attempt(lambda: write(x, y))  # noqa: B023 - called at once
        account += [refused is x or refused, x, names(x)]
        x.sum().backward()
        account += [leaf.grad, y.grad]
    return account


@program
def wider_operands_through_views(torch):
    leaf, x = computed(torch)
    y = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    x[0].mul_(y)
    x[:, 1].add_(y[:2])
    x.sum().backward()
    return x, names(x), leaf.grad, y.grad


@program
def narrower_results_are_refused(torch):
    whole, truth = torch.tensor([1, 2]), torch.tensor([True, False])
    return [
        attempt(lambda: whole.add_(1.5)),
        attempt(lambda: whole.mul_(torch.tensor(1.5))),
        attempt(lambda: whole.div_(2)),
        attempt(lambda: truth.add_(1)),
        attempt(lambda: torch.ones(2).mul_(1j)),
        attempt(lambda: torch.ones(2).add_(torch.ones(2, 2))),
        attempt(lambda: torch.ones(1, 2).add_(torch.ones(2))) is not None,
        whole.add_(True),
        whole.mul_(torch.tensor([2, 3], dtype=torch.int8)),
        truth.logical_and_(torch.tensor([2.5, 0.0])),
        whole.copy_(torch.tensor([1.9, -1.9])),
        attempt(lambda: whole.floor_divide_(2)),
        attempt(lambda: whole.clamp_(0.5)),
        attempt(lambda: whole.pow_(-1)),
        attempt(lambda: whole.exp_()),
        whole,
        whole._version,
        truth._version,
    ]


@program
def failures_change_nothing(torch):
    leaf, x = computed(torch)
    before = x.grad_fn
    failures = [
        attempt(lambda: x.add_(torch.ones(4))),
        attempt(lambda: x.copy_(torch.ones(5, 3))),
        attempt(lambda: x.bitwise_not_()),
        attempt(lambda: x.addmm_(torch.ones(2, 2), torch.ones(3, 3))),
        attempt(lambda: x.index_add_(0, torch.tensor([5]), torch.ones(1, 3)))[:2],
        attempt(lambda: x.masked_fill_(torch.ones(2, 3), 1.0)),
        attempt(lambda: x.fill_(torch.ones(2))),
        attempt(lambda: x.normal_(0, -1)),
        attempt(lambda: x.clamp_())[:2],
        attempt(lambda: x.add_("a"))[:2],
        attempt(lambda: x.mul_(None))[:2],
        attempt(lambda: x.mul_())[:2],
    ]
    return failures, x, x._version, x.grad_fn is before, leaf._version


@program
def wide_warnings(torch):
    return [
        warned(lambda: torch.ones(2, 3).masked_fill_(torch.ones(3, dtype=torch.bool), 1.0)),
        [
            kind
            for kind, _ in warned(lambda: torch.ones(3).expand(2, 3).masked_fill_(torch.ones(3, dtype=torch.bool), 1.0))
        ],
    ]


# -- methods without an in-place variant -------------------------------------------------------------------------------


@program
def diagonals_are_filled(torch):
    leaf, x = computed(torch)
    tall, view = torch.zeros(7, 3), torch.zeros(3, 4)
    returned = x.fill_diagonal_(5) is x, tall.fill_diagonal_(2.0, wrap=True) is tall, view.t().fill_diagonal_(3).shape
    x.sum().backward()
    wrong = [
        attempt(lambda: torch.zeros(3).fill_diagonal_(1)),
        attempt(lambda: torch.zeros(2, 2, 3).fill_diagonal_(1)),
        attempt(lambda: leaf.fill_diagonal_(1)),
        attempt(lambda: torch.zeros(2, 2).fill_diagonal_("a")),
        torch.zeros(2, 2, dtype=torch.int64).fill_diagonal_(1.5),
        torch.zeros(2, 2, 2).fill_diagonal_(1.0),
    ]
    return returned, x, x._version, names(x), leaf.grad, tall, tall._version, view, view._version, wrong


@program
def python_functions_are_applied(torch):
    leaf, x = computed(torch)
    plain, whole, row = torch.tensor(VALUES), torch.tensor([1, 2, 3]), torch.tensor([1.0, 2.0, 3.0])
    seen = [plain.apply_(lambda v: v * 2) is plain, plain.map_(row, lambda v, w: v + w) is plain, plain, plain._version]
    seen += [
        plain.t().map2_(plain.t().clone(), row.view(3, 1), lambda a, b, c: a + b * c),
        plain,
        whole.apply_(lambda v: v * 2),
    ]
    return [
        *seen,
        attempt(lambda: x.apply_(abs)),
        attempt(lambda: leaf.map_(row, max)),
        attempt(lambda: row.map_(leaf, max)),
        attempt(lambda: row.map_(whole, max)),
        attempt(lambda: row.apply_(lambda v: "a")),
        attempt(lambda: row.map_(torch.ones(2), max)),
        row,
        row._version,
    ]


@program
def norms_are_limited(torch):
    leaf = torch.tensor([[3.0, 4.0], [0.3, 0.4]], requires_grad=True)
    x = torch.renorm(leaf, 2, 0, 1.0)
    (first,) = torch.autograd.grad(x.pow(2).sum() + x[0, 0] * 3, leaf, create_graph=True)
    bad = [attempt(lambda: torch.renorm(leaf, *arguments)) for arguments in ((0, 0, 1.0), (2, 0, -1.0), (2, 5, 1.0))]  # noqa: B023 - called at once
    return (
        x,
        names(x),
        first.detach(),
        torch.autograd.grad(first.sum(), leaf),
        bad,
        attempt(lambda: torch.renorm(leaf[0], 2, 0, 1.0)),
        attempt(lambda: torch.ones(2, 2, dtype=torch.int64).renorm_(2, 0, 1.0)),
    )


# -- random numbers ----------------------------------------------------------------------------------------------------

FILLS = {
    "uniform_": lambda x: x.uniform_(2, 3),
    "normal_": lambda x: x.normal_(),
    "exponential_": lambda x: x.exponential_(),
    "cauchy_": lambda x: x.cauchy_(),
    "log_normal_": lambda x: x.log_normal_(),
    "geometric_": lambda x: x.geometric_(0.5),
    "bernoulli_": lambda x: x.bernoulli_(0.5),
    "random_": lambda x: x.random_(),
    "random_ to": lambda x: x.random_(5),
    "random_ from": lambda x: x.random_(2, 5),
    "bernoulli_ of a tensor": lambda x: x.bernoulli_(x.detach() * 0),
}


@pytest.mark.parametrize("name", FILLS)
def test_random_numbers_are_filled_in(name):
    def program(torch):
        fill, seen = FILLS[name], []
        for take in (lambda base: base, lambda base: base.t(), lambda base: base[:, 1:], lambda base: base[0]):
            leaf, base = computed(torch)
            x = take(base)
            before = base.detach().clone()
            seen += [fill(x) is x, base._version, names(base), names(x), list(x.stride())]
            base.sum().backward()
            seen.append(leaf.grad)
            kept = leaf.grad.bool()
            seen.append(bool((base.detach()[kept] == before[kept]).all()))
        leaf = torch.ones(2, requires_grad=True)
        seen += [
            attempt(lambda: fill(leaf)),
            attempt(lambda: fill(leaf[:1])),
            attempt(lambda: fill(torch.ones(3).expand(2, 3))),
            leaf._version,
        ]
        with torch.no_grad():
            seen += [fill(leaf) is leaf, leaf._version, leaf.is_leaf, leaf.requires_grad]
        return seen

    agree(program)


SPARSE = {"resize_as_sparse_", "sparse_resize_", "sparse_resize_and_clear_"}
"""What changes the size of sparse tensors."""


def test_every_method_that_writes_is_there():
    def writing(module):
        return {name for name in dir(module.Tensor) if name.endswith("_") and not name.startswith("_")}

    assert writing(pytorch) == writing(tapegrad)


@pytest.mark.parametrize("name", sorted(SPARSE))
def test_what_resizes_sparse_tensors_is_refused_of_dense_ones(name):
    given = (tapegrad.ones(2),) if name == "resize_as_sparse_" else ((2,), 1, 0)
    with pytest.raises(NotImplementedError, match=f"Could not run 'aten::{name}' with arguments from the 'CPU' back"):
        getattr(tapegrad.ones(2), name)(*given)


AUGMENTED = ("add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")


@pytest.mark.parametrize("name", AUGMENTED)
def test_augmented_assignments_are_there(name):
    assert hasattr(tapegrad.Tensor, f"__i{name}__") == hasattr(pytorch.Tensor, f"__i{name}__")


def test_every_function_that_writes_is_there():
    names = {name for name in dir(pytorch) if name.endswith("_") and not name.startswith("_")}
    refused = {name for name in names if is_stand_in(getattr(tapegrad, name))}
    assert refused == set()


@program
def augmented_by_strangers(torch):
    x, whole = torch.tensor([4.0, 5.0]), torch.tensor([4, 5])
    y = whole
    whole <<= 1
    whole >>= 2
    whole |= 1
    whole &= 3
    whole ^= 7
    whole //= 2
    whole **= 2
    number = 1
    number += x
    return [
        y is whole,
        whole,
        whole._version,
        number,
        attempt(lambda: x.__iadd__("a")) is NotImplemented,
        attempt(lambda: exec("x += 'a'", {"x": x})),
        attempt(lambda: exec("x *= None", {"x": x})),
        x.copy_(3),
        x._version,
    ]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program):
    agree(program, rtol=1e-5)

"""What ends at leaves: how gradients are kept and added, what hooks see of that, and which leaf comes first."""

import warnings

import pytest
import torch as pytorch
from harness import Programs, agree, attempt, recorded_warnings

import tapegrad

pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:Using backward\\(\\) with create_graph=True"),
    pytest.mark.filterwarnings("ignore:grad and param do not obey"),
]

PROGRAMS = program = Programs()


def leaf(torch, *shape):
    return torch.arange(1.0, 7.0).reshape(shape or (2, 3)).requires_grad_()


# -- what hooks see ----------------------------------------------------------------------------------------------------

SOURCES = {
    "product": lambda torch, x, seed: (x * x).backward(seed),
    "sum": lambda torch, x, seed: x.sum().backward(),
    "two ways": lambda torch, x, seed: ((x + 1) + (x + 2)).backward(seed),
    "a view": lambda torch, x, seed: x.view(6).backward((seed * 1).view(6)),
    "the seed": lambda torch, x, seed: (x + 1).backward(seed),
    "shared": lambda torch, x, seed: ((x + torch.ones(2, 3, requires_grad=True)) * 2).backward(seed),
    "recorded": lambda torch, x, seed: (x * x).backward(seed, create_graph=True),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_post_hook_sees_the_memory_of_grad_where_it_is_kept(source):
    def account(torch):
        x, seen = leaf(torch), []

        def hook(grad_inputs, grad_outputs):
            (grad,) = grad_outputs
            seen.append([len(grad_inputs), grad.detach().clone(), x.grad.detach().clone(), grad is x.grad])
            seen.append([attempt(lambda: grad.mul_(-2).detach().clone()), x.grad.detach().clone()])

        node = torch.autograd.graph.get_gradient_edge(x).node
        node.register_hook(hook)
        for _ in range(2):
            SOURCES[source](torch, x, torch.full((2, 3), 3.0))
            seen.append(x.grad.detach().clone())
        assert len(seen) == 6
        return seen

    agree(account)


BEFORE = {
    "a tensor's": lambda x, node, kept: x.register_hook(lambda g: None),
    "a tensor's that looks": lambda x, node, kept: x.register_hook(lambda g: kept.append(g.sum().item())),
    "a tensor's that keeps it": lambda x, node, kept: x.register_hook(lambda g: kept.append(g)),
    "a tensor's that gives another": lambda x, node, kept: x.register_hook(lambda g: g * 2),
    "the node's": lambda x, node, kept: node.register_prehook(lambda grads: None),
    "the node's that keeps it": lambda x, node, kept: node.register_prehook(lambda grads: kept.append(grads)),
    "the node's that gives another": lambda x, node, kept: node.register_prehook(lambda grads: (grads[0] * 2,)),
}


LEAVES = {
    "in rows": lambda torch: torch.arange(1.0, 7.0).reshape(2, 3),
    "in columns": lambda torch: torch.arange(1.0, 7.0).reshape(3, 2).t(),
    "with gaps": lambda torch: torch.arange(1.0, 13.0).reshape(2, 6)[:, ::2],
}


@pytest.mark.parametrize("lies", LEAVES)
@pytest.mark.parametrize("before", BEFORE)
def test_who_has_seen_a_gradient_and_keeps_nothing_leaves_its_memory_to_grad(before, lies):
    def account(torch):
        seen = []
        for source in ("two ways", "product", "sum", "shared"):
            x, kept = LEAVES[lies](torch).requires_grad_(), []
            node = torch.autograd.graph.get_gradient_edge(x).node
            BEFORE[before](x, node, kept)
            node.register_hook(lambda gi, go, x=x: seen.append(attempt(lambda: [x.grad.mul_(-2) + 0, go[0] + 0])))
            SOURCES[source](torch, x, torch.full((2, 3), 3.0))
        return seen

    agree(account)


@program
def a_gradient_that_is_asked_for_twice_is_one_tensor(torch):
    x, z = leaf(torch), leaf(torch)
    y, seen = x * 1, []
    for targets in ([x, x], [y, y], [x, z, x], [y, x, y, x], [z, z]):
        allowed = {"allow_unused": True}
        for options in (allowed, {"create_graph": True, **allowed}, {"materialize_grads": True}):
            found = torch.autograd.grad((y * y).sum(), targets, retain_graph=True, **options)
            seen.append([[one is other for one in found] for other in found])
            seen.append(list(found))
    return seen


@program
def zeros_for_what_is_unused_lie_as_it_does(torch):
    unused = [leaf(torch).t(), leaf(torch, 3, 2)[:, ::2], torch.ones(1, 3).requires_grad_().expand(2, 3), leaf(torch)]
    found = torch.autograd.grad(leaf(torch).sum(), unused, materialize_grads=True, create_graph=True)
    return [[one.stride(), one.requires_grad, one.is_leaf] for one in found]


# -- gradients that are there ------------------------------------------------------------------------------------------

PRESENT = {
    "expanded": lambda torch: torch.ones(3).expand(2, 3),
    "one number": lambda torch: torch.tensor(1.0).expand(2, 3),
    "a column": lambda torch: torch.ones(2, 1).expand(2, 3),
    "expanded, and detached": lambda torch: torch.ones(3, requires_grad=True).expand(2, 3).detach(),
    "a part of what is expanded": lambda torch: torch.ones(3).expand(4, 2, 3)[1],
    "transposed": lambda torch: torch.ones(3, 2).t(),
    "with gaps": lambda torch: torch.ones(2, 6)[:, ::2],
    "a view": lambda torch: torch.ones(12)[3:9].view(2, 3),
    "that requires grad": lambda torch: torch.ones(2, 3, requires_grad=True),
    "computed": lambda torch: torch.ones(2, 3, requires_grad=True) * 2,
}


@pytest.mark.parametrize("present", PRESENT)
@pytest.mark.parametrize("recorded", [False, True])
def test_adding_to_a_grad_that_is_there(present, recorded):
    def account(torch):
        x = leaf(torch)
        x.grad = given = PRESENT[present](torch)

        def run():
            (x * x).sum().backward(create_graph=recorded)
            return [x.grad.detach(), x.grad is given, x.grad.stride(), given._version]

        return [attempt(run), attempt(run), given.detach()]

    agree(account)


def of_strides(make, recorded):
    def account(torch):
        x = leaf(torch)
        x.grad = make(torch)
        (x * 2).sum().backward(create_graph=recorded)
        return x.grad.stride()

    return account


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("present", ["transposed", "with gaps", "a view"])
@pytest.mark.parametrize("recorded", [False, True])
def test_a_grad_that_lies_otherwise_than_its_leaf_is_warned_of(present, recorded):
    said = []
    for torch in (pytorch, tapegrad):
        torch.set_warn_always(True)
        try:
            with recorded_warnings() as caught:
                of_strides(PRESENT[present], recorded)(torch)
        finally:
            torch.set_warn_always(False)
        said.append([str(one.message).split(" (Triggered")[0] for one in caught if "layout" in str(one.message)])
    assert said[1] == said[0]
    assert len(said[0]) == (present == "transposed" or (present == "with gaps" and not recorded))


@program
def a_leaf_on_other_memory_has_another_accumulator(torch):
    seen = []
    for size in (4, 3):
        x = torch.ones(4, requires_grad=True)
        y = x * x if size == 3 else x * 2
        with torch.no_grad():
            x.set_(torch.ones(size))
        if size == 4:
            seen.append(attempt(lambda x=x, y=y: torch.autograd.grad(y.sum(), x, retain_graph=True)))
            y.sum().backward()
            seen.append(x.grad)
        x.grad = None
        (x * 3).sum().backward()
        seen.append(x.grad)
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    with torch.no_grad():
        x.set_(torch.ones(3))
    y.sum().backward()
    return seen, x.grad


# -- turns -------------------------------------------------------------------------------------------------------------


def linear(torch):
    return torch.nn.functional.linear


OPERATORS = {
    "linear, rows": (lambda torch, x, w, b: linear(torch)(x, w, b), (2, 3), (4, 3), (4,)),
    "linear, one row": (lambda torch, x, w, b: linear(torch)(x, w, b), (3,), (4, 3), (4,)),
    "linear, batches": (lambda torch, x, w, b: linear(torch)(x, w, b), (2, 2, 3), (4, 3), (4,)),
    "linear, no bias": (lambda torch, x, w: linear(torch)(x, w), (2, 2, 3), (4, 3)),
    "addmm": (lambda torch, b, x, w: torch.addmm(b, x, w), (2, 4), (2, 3), (3, 4)),
    "matmul, 1 by 2": (lambda torch, x, y: x @ y, (3,), (3, 2)),
    "matmul, 2 by 1": (lambda torch, x, y: x @ y, (2, 3), (3,)),
    "matmul, 1 by 3": (lambda torch, x, y: x @ y, (3,), (2, 3, 2)),
    "matmul, 3 by 1": (lambda torch, x, y: x @ y, (2, 2, 3), (3,)),
    "matmul, 3 by 2": (lambda torch, x, y: x @ y, (2, 2, 3), (3, 2)),
    "matmul, 2 by 3": (lambda torch, x, y: x @ y, (2, 3), (2, 3, 2)),
    "matmul, 3 by 3": (lambda torch, x, y: x @ y, (2, 2, 3), (2, 3, 2)),
    "einsum": (lambda torch, x, y: torch.einsum("ij,jk->ik", x, y), (2, 3), (3, 2)),
    "einsum of three": (lambda torch, x, y, z: torch.einsum("ij,jk,kl->il", x, y, z), (2, 3), (3, 2), (2, 2)),
    "stack of 4": (lambda torch, *xs: torch.stack(xs), *[(2,)] * 4),
    "stack of 9": (lambda torch, *xs: torch.stack(xs), *[(2,)] * 9),
    "cat among others": (lambda torch, *xs: torch.cat([xs[0].view(2, 1).view(2), *xs[1:]]), *[(2,)] * 7),
    "while others wait": (
        lambda torch, *xs: torch.stack([*[one * 2 for one in xs[:3]], *xs[3:]]).sum() + xs[0].exp().sum(),
        *[(2,)] * 8,
    ),
    "block_diag": (lambda torch, *xs: torch.block_diag(*xs), (2,), (2,), (2,)),
    "rms_norm": (lambda torch, x, w: torch.nn.functional.rms_norm(x, (3,), w), (2, 3), (3,)),
    "layer_norm": (lambda torch, x, w, b: torch.nn.functional.layer_norm(x, (3,), w, b), (2, 3), (3,), (3,)),
    "instance_norm": (
        lambda torch, x, w, b: torch.nn.functional.instance_norm(x, None, None, w, b), (2, 3, 4), (3,), (3,)
    ),
    "attention": (
        lambda torch, q, k, v, mask: torch.nn.functional.scaled_dot_product_attention(q, k, v, mask),
        (1, 2, 3), (1, 2, 3), (1, 2, 3), (2, 2),
    ),
    "triplets": (
        lambda torch, a, b, c: torch.nn.functional.triplet_margin_loss(a, b, c, swap=True), (2, 3), (2, 3), (2, 3)
    ),
    "cosines": (
        lambda torch, x, y: torch.nn.functional.cosine_embedding_loss(x, y, torch.ones(2)), (2, 3), (2, 3)
    ),
    "kl_div": (lambda torch, x, y: torch.nn.functional.kl_div(x, y, reduction="sum"), (2, 3), (2, 3)),
    "kl_div of logarithms": (
        lambda torch, x, y: torch.nn.functional.kl_div(x, y, reduction="sum", log_target=True), (2, 3), (2, 3)
    ),
    "trapezoid": (lambda torch, y, x: torch.trapezoid(y, x), (2, 3), (2, 3)),
    "cumulative_trapezoid": (lambda torch, y, x: torch.cumulative_trapezoid(y, x), (2, 3), (2, 3)),
    "lstm_cell": (
        lambda torch, x, h, c, *weights: torch.lstm_cell(x, (h, c), *weights),
        (2, 3), (2, 4), (2, 4), (16, 3), (16, 4), (16,), (16,),
    ),
    "gru_cell": (lambda torch, *args: torch.gru_cell(*args), (2, 3), (2, 4), (12, 3), (12, 4), (12,), (12,)),
    "rnn_relu_cell": (lambda torch, *args: torch.rnn_relu_cell(*args), (2, 3), (2, 4), (4, 3), (4, 4), (4,), (4,)),
}  # fmt: skip


def in_turn(torch, function, shapes):
    log, leaves = [], []
    for number, shape in enumerate(shapes):
        size = int(pytorch.tensor(shape).prod())
        leaves.append((torch.arange(1.0, 1 + size).reshape(shape) / 7).requires_grad_())
        leaves[-1].register_post_accumulate_grad_hook(lambda _, number=number: log.append(number))
    found = function(torch, *leaves)
    sum(one.sum() for one in (found if isinstance(found, tuple) else (found,))).backward()
    return log


@pytest.mark.parametrize("name", OPERATORS)
def test_the_leaves_of_an_operator_have_their_turns_in_pytorchs_order(name):
    function, *shapes = OPERATORS[name]
    assert in_turn(tapegrad, function, shapes) == in_turn(pytorch, function, shapes)


MODULES = {
    "Linear": (lambda nn: nn.Linear(3, 4), (2, 3)),
    "layers": (lambda nn: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2)), (2, 3)),
    "convolutions": (
        lambda nn: nn.Sequential(nn.Conv2d(3, 4, 2), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(36, 2)), (1, 3, 4, 4)
    ),
    "LSTM": (lambda nn: nn.LSTM(3, 4, 2), (3, 1, 3)),
    "LSTM, projecting": (lambda nn: nn.LSTM(3, 4, proj_size=2), (3, 1, 3)),
    "GRU, both ways": (lambda nn: nn.GRU(3, 4, bidirectional=True), (3, 1, 3)),
    "RNN": (lambda nn: nn.RNN(3, 4, 2), (3, 1, 3)),
    "InstanceNorm1d": (lambda nn: nn.InstanceNorm1d(3, affine=True), (2, 3, 4)),
    "encoder": (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), (3, 1, 4)),
}


@pytest.mark.parametrize("name", MODULES)
def test_the_parameters_of_a_module_have_their_turns_in_pytorchs_order(name):
    def account(torch):
        make, shape = MODULES[name]
        module, log = make(torch.nn), []
        for path, parameter in module.named_parameters():
            parameter.register_post_accumulate_grad_hook(lambda _, path=path: log.append(path))
        x = (torch.arange(1.0, 1 + int(pytorch.tensor(shape).prod())).reshape(shape) / 7).requires_grad_()
        x.register_post_accumulate_grad_hook(lambda _: log.append("x"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = module(x)
        found = found[0] if isinstance(found, tuple) else found
        (found * found).sum().backward()
        return log

    agree(account)


def test_attention_of_three_inputs():
    def account(torch):
        module, log = torch.nn.MultiheadAttention(4, 2), []
        for path, parameter in module.named_parameters():
            parameter.register_post_accumulate_grad_hook(lambda _, path=path: log.append(path))
        module(*[torch.ones(2, 1, 4) for _ in range(3)])[0].sum().backward()
        return log

    agree(account)


@pytest.mark.parametrize("case", PROGRAMS, ids=lambda case: case.__name__)
def test_programs(case):
    agree(case)

"""Views and writes meet the rest: stale views that are asked, saved-tensor hooks, anomaly mode, functions that copy."""

import gc
import re
import weakref

import pytest
from harness import Programs, agree, attempt
from viewing import chain, counted, gradients, leaf, name, now, parents, place, places

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


# -- what can still be asked of a view that must not be used -----------------------------------------------------------

QUESTIONS = {
    "requires_grad": lambda torch, v: v.requires_grad,
    "is_leaf": lambda torch, v: v.is_leaf,
    "output_nr": lambda torch, v: v.output_nr,
    "grad_fn": lambda torch, v: v.grad_fn,
    "grad": lambda torch, v: v.grad,
    "set grad": lambda torch, v: setattr(v, "grad", torch.ones(2)),
    "requires_grad_": lambda torch, v: v.requires_grad_().requires_grad,
    "requires_grad_(False)": lambda torch, v: v.requires_grad_(False).requires_grad,
    "set requires_grad": lambda torch, v: setattr(v, "requires_grad", True),
    "set requires_grad, False": lambda torch, v: setattr(v, "requires_grad", False),
    "retain_grad": lambda torch, v: v.retain_grad(),
    "retains_grad": lambda torch, v: v.retains_grad,
    "register_hook": lambda torch, v: v.register_hook(print) is not None,
    "register_post_accumulate_grad_hook": lambda torch, v: v.register_post_accumulate_grad_hook(print) is not None,
    "_backward_hooks": lambda torch, v: v._backward_hooks,
    "_version": lambda torch, v: v._version,
    "_base": lambda torch, v: v._base is not None,
    "is_inference": lambda torch, v: v.is_inference(),
    "tolist": lambda torch, v: v.tolist(),
    "repr": lambda torch, v: repr(v),
    "detach": lambda torch, v: v.detach(),
    "data": lambda torch, v: v.data,
    "item": lambda torch, v: v[0].item(),
    "view": lambda torch, v: v.view(2),
    "clone": lambda torch, v: v.clone(),
    "numpy": lambda torch, v: v.numpy().tolist(),
    "backward": lambda torch, v: v.sum().backward(),
    "grad of it": lambda torch, v: torch.autograd.grad(leaf(torch) * 2, v, torch.ones(3), allow_unused=True),
    "gradient edge": lambda torch, v: torch.autograd.graph.get_gradient_edge(v).node.name(),
    "copy": lambda torch, v: torch.ones(2).copy_(v),
    "in no_grad": lambda torch, v: unrecorded(torch, lambda: v * 2),
}


def unrecorded(torch, action):
    with torch.no_grad():
        return action()


def split_of_recorded(torch):
    x = leaf(torch) * 1
    first, _ = x.split(2)
    x.mul_(2)
    return x, first


def split_of_constant(torch):
    x = counted(torch, 3)
    first, _ = x.split(2)
    x.mul_(leaf(torch))
    return x, first


def view_in_no_grad(torch):
    x = leaf(torch) * 1
    view = unrecorded(torch, lambda: x[:2])
    x.mul_(2)
    return x, view


def view_of_constant(torch):
    x = counted(torch, 3)
    view = x[:2]
    x.mul_(leaf(torch))
    return x, view


CRASHES = [(view_of_constant, "register_hook"), (view_of_constant, "register_post_accumulate_grad_hook")]
"""What PyTorch 2.13 does not survive."""

EACH = [
    pytest.param(make, key, id=f"{make.__name__}-{key}")
    for make in (split_of_recorded, split_of_constant, view_in_no_grad, view_of_constant)
    for key in QUESTIONS
    if (make, key) not in CRASHES
]


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")
@pytest.mark.parametrize(("make", "key"), EACH)
def test_what_a_stale_view_answers(make, key):
    question = QUESTIONS[key]

    def program(torch):
        x, view = make(torch)
        return attempt(lambda: question(torch, view)), attempt(lambda: place(view, x))

    agree(program)


# -- functions that copy -----------------------------------------------------------------------------------------------

COPIES = {
    "clone": lambda torch, x: x.clone(),
    "plus nothing": lambda torch, x: x + 0,
    "list index": lambda torch, x: x[[0, 1]],
    "tensor index": lambda torch, x: x[torch.tensor([0, 1])],
    "mask": lambda torch, x: x[x > 2],
    "mask of rows": lambda torch, x: x[torch.tensor([True, False, True])],
    "true": lambda torch, x: x[True],
    "mixed index": lambda torch, x: x[1:, [0, 2]],
    "index_select": lambda torch, x: x.index_select(0, torch.tensor([1])),
    "masked_select": lambda torch, x: x.masked_select(x > 2),
    "gather": lambda torch, x: x.gather(1, torch.zeros(3, 1, dtype=torch.int64)),
    "take": lambda torch, x: x.take(torch.tensor([0, 5])),
    "flip": lambda torch, x: x.flip(0),
    "roll": lambda torch, x: x.roll(1, 0),
    "rot90": lambda torch, x: torch.rot90(x),
    "repeat": lambda torch, x: x.repeat(1, 1),
    "tile": lambda torch, x: torch.tile(x, (1,)),
    "cat": lambda torch, x: torch.cat([x]),
    "stack": lambda torch, x: torch.stack([x]),
    "diag": lambda torch, x: torch.diag(x),
    "diag_embed": lambda torch, x: torch.diag_embed(x[0]),
    "tril": lambda torch, x: x.tril(),
    "to float64": lambda torch, x: x.to(torch.float64),
    "to, copy": lambda torch, x: x.to(torch.float32, copy=True),
    "contiguous of t": lambda torch, x: x.t().contiguous(),
    "reshape of t": lambda torch, x: x.t().reshape(-1),
    "flatten of t": lambda torch, x: x.t().flatten(),
    "ravel of t": lambda torch, x: x.t().ravel(),
    "sum over nothing": lambda torch, x: x[None].sum(0),
    "max": lambda torch, x: x.max(0).values,
    "sort": lambda torch, x: x.sort().values,
    "where": lambda torch, x: torch.where(x > 0, x, x),
    "clamp": lambda torch, x: x.clamp(-100, 100),
    "dropout, evaluating": lambda torch, x: torch.nn.functional.dropout(x, 0.5, False),
    "matmul": lambda torch, x: x @ torch.eye(4),
    "conj_physical": lambda torch, x: x.conj_physical(),
    "tensor": lambda torch, x: x.new_tensor(x.tolist()),
    "meshgrid": lambda torch, x: torch.meshgrid(x[0], x[:, 0], indexing="ij")[0].clone(),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES.keys())
def test_copies_see_no_writes(copy):
    def program(torch):
        a = leaf(torch, 3, 4)
        x = a * 1
        y = copy(torch, x)
        seen = [places(x, y)]
        y.zero_()
        seen.append(now(x, y))
        with torch.no_grad():
            x.fill_(7)
        return seen, now(x, y), x._version, y._version, y is x

    agree(program)


# -- saved tensors -----------------------------------------------------------------------------------------------------


def packing(torch, pack):
    log = []

    def packed(tensor):
        log.append(["pack", tensor.tolist(), tensor.is_leaf, tensor.requires_grad])
        return pack(tensor)

    def unpacked(kept):
        log.append("unpack")
        return kept

    return log, torch.autograd.graph.saved_tensors_hooks(packed, unpacked)


@program
def hooks_on_what_writes_through_views_save(torch):
    seen = []
    for pack in (lambda t: t, lambda t: t.clone(), lambda t: t.detach().clone()):
        a = leaf(torch, 4)
        log, hooks = packing(torch, pack)
        with hooks:
            x = a * 0.1
            v = x[1:3]
            v.exp_()
            x[3:].mul_(v[:1].clone())
            x.t()[0].sigmoid_()
        seen.append([log, attempt(lambda: gradients(torch, x, a)), log])  # noqa: B023 - called at once
    return seen


@program
def hooks_on_saved_views(torch):
    a = leaf(torch, 4)
    log, hooks = packing(torch, lambda t: t.detach().clone())
    with hooks:
        x = a * 1
        y = x[:2] * x[2:]
        x.mul_(0)
    return gradients(torch, y, a), log


@program
def saved_tensors_of_a_write_through_a_view(torch):
    a = leaf(torch, 3)
    x = a * 1
    v = x[1:]
    v.mul_(a[1:])
    node = x.grad_fn
    return node.name(), [name for name in dir(node) if name.startswith("_saved")], parents(x)


# -- anomaly mode, the order of things ---------------------------------------------------------------------------------


@program
def nan_from_a_write_through_a_view(torch):
    a = torch.tensor([-1.0, 4.0], requires_grad=True)

    def run():
        with torch.autograd.set_detect_anomaly(True):
            x = a * 1
            x[:1].sqrt_()
            x.sum().backward()

    outcome = attempt(run)
    return outcome[:2], re.sub(r"\s+", " ", outcome[2])[:200]


@program
def a_write_that_fails_in_backward(torch):
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            raise ValueError("not today")

    a = leaf(torch)
    x = a * 1
    Failing.apply(x[1:])
    return attempt(x.sum().backward), attempt(x.sum().backward), a.grad


@program
def backward_twice_through_writes(torch):
    a = leaf(torch)
    x = a * 1
    v = x[1:]
    v.mul_(v.detach().clone())
    x.sum().backward()
    again = attempt(x.sum().backward)
    return again, attempt(v.sum().backward), a.grad


@program
def a_view_written_to_and_forgotten(torch):
    a = leaf(torch, 4)
    b = a.narrow(0, 0, 2).clone().view(-1)
    b.relu_()
    c = b.clone()
    del b
    gc.collect()
    total = c.sum()
    total.backward()
    return total, a.grad


@program
def a_base_forgotten_by_all_but_its_view(torch):
    a = leaf(torch, 2, 2)
    v = (a * 1)[0]
    base = weakref.ref(v._base)
    v.mul_(3)
    gc.collect()
    return base() is v._base, chain(v), gradients(torch, [v, v._base], a)


@program
def inputs_of_backward_that_are_views(torch):
    a = leaf(torch, 4)
    x = a * 1
    v = x[:2]
    v.mul_(2)
    total = (x * x).sum() + (v * v).sum()
    v.retain_grad()
    total.backward(inputs=[v, a], retain_graph=True)
    return v.grad, a.grad, torch.autograd.grad(total, [v, x, a])


@program
def names_after_many_writes(torch):
    """A long chain of writes through views is one node for each."""
    a = leaf(torch, 3)
    x = a * 1
    for i in range(50):
        x[i % 3].mul_(1.0)
    v = x[:1]
    return len(chain(x)), name(v), gradients(torch, x, a)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

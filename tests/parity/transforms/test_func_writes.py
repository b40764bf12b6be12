"""What is written inside function transforms to what they were given or have captured, on both, and what is refused
there."""

import math

import pytest
from harness import agree, attempt

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning"),
              pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")]  # fmt: skip


def numbers(torch, *shape):
    return torch.arange(float(math.prod(shape)), dtype=torch.float64).reshape(shape).sin()


def buffers(torch, *batch):
    return torch.zeros(*batch, 2, dtype=torch.float64), torch.ones(*batch, 2, dtype=torch.float64)


# -- running statistics ------------------------------------------------------------------------------------------------

NORMS = {
    "batch_norm": lambda torch, x, m, v: torch.nn.functional.batch_norm(x, m, v, training=True),
    "by statistics": lambda torch, x, m, v: torch.nn.functional.batch_norm(x, m, v),
    "instance_norm": lambda torch, x, m, v: torch.nn.functional.instance_norm(x[..., None] * torch.arange(3.0), m, v),
    "legit": lambda torch, x, m, v: torch._native_batch_norm_legit(x, None, None, m, v, True, 0.1, 1e-5)[0],
    "with update": lambda torch, x, m, v: torch.ops.aten._batch_norm_with_update(
        x, m.detach() + 1, v.detach() + 1, m, v, 0.1, 1e-5
    )[0],
    "twice": lambda torch, x, m, v: NORMS["batch_norm"](torch, x, m, v) * NORMS["batch_norm"](torch, x * 2, m, v) + m,
    "weights": lambda torch, x, m, v: torch.nn.functional.batch_norm(x, m, v, x[0].detach(), training=True),
    "views": lambda torch, x, m, v: NORMS["batch_norm"](torch, x, m.view(-1), v[:]),
    "detached": lambda torch, x, m, v: NORMS["batch_norm"](torch, x, m.detach(), v.detach()),
    "copies": lambda torch, x, m, v: (c := m.clone(), NORMS["batch_norm"](torch, x, c, v + 0), c)[2] * x,
}  # fmt: skip
OVER = {
    "grad": lambda torch, f, x, m, v: torch.func.grad(lambda x: (f(x, m, v) ** 3).sum())(x),
    "grad, given": lambda torch, f, x, m, v: torch.func.grad(lambda x, m, v: (f(x, m, v) ** 3).sum())(x, m, v),
    "of the statistics": lambda torch, f, x, m, v: torch.func.grad(lambda m: f(x, m, v).sum())(m),
    "vjp": lambda torch, f, x, m, v: torch.func.vjp(lambda x: f(x, m, v), x)[0],
    "jvp": lambda torch, f, x, m, v: torch.func.jvp(lambda x: f(x, m, v), (x,), (x + 1,)),
    "jvp, given": lambda torch, f, x, m, v: torch.func.jvp(f, (x, m, v), (x + 1, m * 0, v * 0)),
    "jacrev": lambda torch, f, x, m, v: torch.func.jacrev(lambda x: f(x, m, v))(x),
    "jacfwd": lambda torch, f, x, m, v: torch.func.jacfwd(lambda x: f(x, m, v))(x),
    "hessian": lambda torch, f, x, m, v: torch.func.hessian(lambda x: (f(x, m, v) ** 3).sum())(x),
    "a constant": lambda torch, f, x, m, v: torch.func.grad(lambda w: (w * f(x, m, v)).sum())(x),
    "vmap that shares them": lambda torch, f, x, m, v: torch.vmap(lambda x: f(x, m, v))(x.expand(2, 3, 2)),
    "vmap of a constant": lambda torch, f, x, m, v: torch.vmap(lambda w: w * f(x, m, v))(torch.ones(3)),
}  # fmt: skip
MAPPED = {
    "vmap": lambda torch, f, x, m, v: torch.vmap(f)(x, m, v),
    "vmap of one input": lambda torch, f, x, m, v: torch.vmap(lambda m, v: f(x[0], m, v))(m, v),
    "vmap, one shared": lambda torch, f, x, m, v: torch.vmap(f, in_dims=(0, 0, None))(x, m, v[0]),
    "vmap by chunks": lambda torch, f, x, m, v: torch.vmap(f, chunk_size=2)(x, m, v),
    "vmap twice": lambda torch, f, x, m, v: torch.vmap(torch.vmap(f))(x[None], m[None], v[None]),
    "vmap twice, shared": lambda torch, f, x, m, v: torch.vmap(torch.vmap(f), in_dims=(0, None, None))(x[None], m, v),
    "vmap of grad": lambda torch, f, x, m, v: torch.vmap(torch.func.grad(lambda *a: (f(*a) ** 3).sum()))(x, m, v),
    "grad of vmap": lambda torch, f, x, m, v: torch.func.grad(lambda x: (torch.vmap(f)(x, m, v) ** 3).sum())(x),
    "vmap of jvp": lambda torch, f, x, m, v: torch.vmap(
        lambda x, m, v: torch.func.jvp(lambda x: f(x, m, v), (x,), (x + 1,))
    )(x, m, v),
    "jvp of vmap": lambda torch, f, x, m, v: torch.func.jvp(lambda x: torch.vmap(f)(x, m, v), (x,), (x + 1,)),
}


@pytest.mark.parametrize("norm", NORMS)
def test_running_statistics(norm):
    """They are written outside, where nothing counts it but for instances, and are of use there."""

    def account(torch, over, x, m, v):
        found = attempt(lambda: over(torch, lambda *given: NORMS[norm](torch, *given), x, m, v))
        after = m.detach().clone(), v.detach().clone(), m._version, v._version, m.requires_grad, (m * v).grad_fn
        return found, after, attempt(lambda: m.mul_(2).tolist())

    def run(torch):
        single = [account(torch, over, numbers(torch, 3, 2), *buffers(torch)) for over in OVER.values()]
        return single, [account(torch, over, numbers(torch, 3, 3, 2), *buffers(torch, 3)) for over in MAPPED.values()]

    agree(run)


def test_statistics_that_lie_across_are_written():
    """PyTorch writes them to copies; so it does to one that is shared, where the other is mapped over."""
    x, (m, v) = numbers(tapegrad, 4, 3, 2), buffers(tapegrad, 3)
    across, also = m.t().clone(), v.t().clone()
    norm = lambda x, m, v: NORMS["batch_norm"](tapegrad, x, m, v)
    tapegrad.vmap(norm, in_dims=1)(x, across, also)
    for one in range(3):
        norm(x[:, one], m[one], v[one])
    assert tapegrad.allclose(across, m.t()) and tapegrad.allclose(also, v.t())
    (m, v), (mean, variance) = buffers(tapegrad, 3), buffers(tapegrad)
    tapegrad.vmap(norm, in_dims=(None, 0, None))(x[:, 0], m, v[0])
    norm(x[:, 0], mean, variance)
    assert tapegrad.allclose(m, mean.expand(3, 2)) and tapegrad.allclose(v[0], variance)


REQUIRING = {"mean": (True, False), "variance": (False, True), "none": (False, False)}


@pytest.mark.parametrize("training", (True, False))
def test_statistics_that_are_refused(training):
    """Those that require grad, one without the other, those with tangents where they are used; first of all."""

    def run(torch):
        x, account, forward_ad = numbers(torch, 4, 2), [], torch.autograd.forward_ad
        calls = {
            "functional": lambda x, m, v: torch.nn.functional.batch_norm(x, m, v, training=training),
            "torch": lambda x, m, v: torch.batch_norm(x, None, None, m, v, training, 0.1, 1e-5, False),
            "native": lambda x, m, v: torch.native_batch_norm(x, None, None, m, v, training, 0.1, 1e-5)[0],
            "instance": lambda x, m, v: torch.nn.functional.instance_norm(
                x.expand(3, 4, 2).mT, m, v, None, None, training
            ),
        }
        for call in calls.values():
            for flags in REQUIRING.values():
                given = [one.requires_grad_(flag) for one, flag in zip(buffers(torch), flags, strict=True)]
                account += [attempt(lambda c=call, g=given: c(x, *g).detach()), [one.detach() for one in given]]
            m, v = buffers(torch)
            account += [attempt(lambda c=call, v=v: c(x, None, v)), attempt(lambda c=call, m=m: c(x, m, None)), m, v]
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(m, v)
                account.append(attempt(lambda c=call, d=dual, v=v: forward_ad.unpack_dual(c(x, d, v)).tangent))
                both = forward_ad.make_dual(x, x + 1), dual, v
                account.append(attempt(lambda c=call, given=both: forward_ad.unpack_dual(c(*given)).tangent))
        return account

    agree(run)


def module_programs(torch, module):
    """A module with buffers inside transforms: its statistics, and what counts its batches."""
    func, x = torch.func, numbers(torch, 4, 2)
    parameters, state = func.stack_module_state([module] * 3)
    run = lambda p, b, x: func.functional_call(module, (p, b), (x,))
    yield lambda: func.grad(lambda x: (module(x) ** 3).sum())(x).detach()
    yield lambda: [one.detach() for one in func.jvp(module, (x,), (x,))]
    yield lambda: torch.vmap(module)(x.expand(3, 4, 2)).detach()
    yield lambda: [torch.vmap(run, in_dims=(0, 0, None))(parameters, state, x).detach(), *held(state.items())]
    yield lambda: torch.vmap(module.eval())(x.expand(3, 4, 2)).detach()


def held(named):
    return [[name, tensor.detach().clone(), tensor._version] for name, tensor in named]


MODULES = {
    "moving": lambda nn: nn.BatchNorm1d(2),
    "average": lambda nn: nn.BatchNorm1d(2, momentum=None),
    "without": lambda nn: nn.BatchNorm1d(2, track_running_stats=False),
    "spectral": lambda nn: nn.utils.spectral_norm(nn.Linear(2, 2)),
    "parametrized": lambda nn: nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2)),
}


@pytest.mark.filterwarnings("ignore:.*spectral_norm. is deprecated")
@pytest.mark.parametrize("name", MODULES)
def test_buffers_of_modules(name):
    def run(torch):
        module = MODULES[name](torch.nn).double()
        with torch.no_grad():
            for tensor in (*module.parameters(), *module.buffers()):
                tensor.copy_(numbers(torch, *tensor.shape).abs() + 0.5)
        account = [[attempt(program), *held(module.named_buffers())] for program in module_programs(torch, module)]
        told = str(account[3][0]).replace("aten::div.out", "aten::normalize.out")  # which operator that is made of
        return [told if "aten" in told else account[3], account[:3], account[4:]]

    agree(run)


# -- other writes ------------------------------------------------------------------------------------------------------

ROWS = (0, 3, 3)
TABLES = {
    "embedding": lambda torch, i, w: torch.nn.functional.embedding(i, w, max_norm=1.0),
    "renorm": lambda torch, i, w: torch.embedding_renorm_(w, i, 1.0, 2.0),
    "bag": lambda torch, i, w: torch.nn.functional.embedding_bag(i[None], w, max_norm=1.0),
    "a sine": lambda torch, i, w: torch.sin(torch.ones(5, 2), out=w),
    "of a view": lambda torch, i, w: w.view(-1).add_(1).sum(),
    "of a part": lambda torch, i, w: w[1:].mul_(2).sum(),
    "in place": lambda torch, i, w: w.add_(1),
    "of a detached part": lambda torch, i, w: w[1:].detach().mul_(2).sum(),
    "an element of one": lambda torch, i, w: w.view(-1).detach().__setitem__(0, torch.tensor(2.0)) or w,
    "a sine of one": lambda torch, i, w: torch.sin(torch.ones(4, 2), out=w[1:].detach()),
}
CAPTURED = {
    "plain": lambda torch, f, i, w: f(i, w),
    "grad": lambda torch, f, i, w: torch.func.grad(lambda x: f(i, w).sum() * x)(torch.tensor(2.0)),
    "vmap of grad": lambda torch, f, i, w: torch.vmap(torch.func.grad(lambda x: f(i, w).sum() * x))(torch.ones(3)),
    "grad of vmap": lambda torch, f, i, w: torch.func.grad(lambda x: torch.vmap(lambda y: f(i, w).sum() * y)(x).sum())(
        torch.ones(3)
    ),
    "given": lambda torch, f, i, w: torch.func.grad(lambda x, w: (f(i, w) ** 2).sum() * x)(torch.tensor(2.0), w),
    "given to both": lambda torch, f, i, w: torch.func.grad(
        lambda x, w: torch.vmap(lambda x, w: f(i, w).sum() * x, (0, None))(x, w).sum()
    )(torch.ones(3), w),
    "jvp": lambda torch, f, i, w: torch.func.jvp(lambda x: f(i, w).sum() * x, (torch.ones(2),), (torch.ones(2),)),
    "vmap": lambda torch, f, i, w: torch.vmap(lambda x: f(i, w) * x)(torch.ones(3)),
    "vmap of rows": lambda torch, f, i, w: torch.vmap(lambda i: f(i, w))(i.expand(2, 3)),
    "vmap of both": lambda torch, f, i, w: torch.vmap(lambda w: f(i, w) * 1)(w[None]),
}


@pytest.mark.parametrize("name", TABLES)
def test_writes_to_what_is_captured(name):
    def run(torch):
        account = []
        for transform in CAPTURED.values():
            w, i = torch.arange(1.0, 11.0).view(5, 2), torch.tensor(ROWS)
            call = lambda w=w, i=i, t=transform: t(torch, lambda i, w: TABLES[name](torch, i, w), i, w)
            account.append([attempt(call), w.detach().clone(), w._version])
        return account

    agree(run)


def test_a_view_in_one_transform_is_not_remembered_for_another():
    """Levels are told by number: how deep, not of what kind."""

    def run(torch):
        c, account = torch.zeros(2), []
        for _ in range(3):
            account.append(torch.func.grad(lambda x: (c.view(-1) * x).sum())(torch.ones(2)))
            account.append(torch.vmap(lambda x: (c.view(-1).add_(1), (c * x).sum())[1])(torch.ones(3, 2)))
        return account, c

    agree(run)


LISTS = {
    "add": lambda torch, x, c: torch._foreach_add_([c], 1),
    "add a tensor": lambda torch, x, c: torch._foreach_add_([c], [x]),
    "mul twice": lambda torch, x, c: torch._foreach_mul_([c, c], 2),
    "exp": lambda torch, x, c: torch._foreach_exp_([c]),
    "zero": lambda torch, x, c: torch._foreach_zero_([c]),
    "addcmul": lambda torch, x, c: torch._foreach_addcmul_([c], [x], [x]),
    "lerp": lambda torch, x, c: torch._foreach_lerp_([c], [x], 0.25),
    "another of the level": lambda torch, x, c: torch._foreach_add_([x * 1, c], [c, x]),
    "of the level alone": lambda torch, x, c: torch._foreach_mul_([x * 1], [c]),
}
LEVELS = {
    "grad": lambda torch, f, x: torch.func.grad(lambda x: f(x).sum())(x),
    "jvp": lambda torch, f, x: torch.func.jvp(f, (x,), (x + 1,)),
    "jacfwd": lambda torch, f, x: torch.func.jacfwd(f)(x),
    "grad of grad": lambda torch, f, x: torch.func.grad(
        lambda x: torch.func.grad(lambda x: f(x).pow(2).sum())(x).sum()
    )(x),
    "functional": lambda torch, f, x: torch.autograd.functional.jvp(f, x, x),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_may_hold_what_is_captured(name):
    """PyTorch does not look into lists for what is captured, and writes to it further out."""

    def run(torch):
        account = []
        for over in LEVELS.values():
            x, c = numbers(torch, 3) + 1, numbers(torch, 3) + 2
            found = attempt(lambda x=x, c=c, o=over: o(torch, lambda x: (LISTS[name](torch, x, c), x * c)[1], x))
            account += [found, x, c, c._version, c.requires_grad]
        return account

    agree(run)


# -- views in place, and other sizes -----------------------------------------------------------------------------------

VIEWS = {
    "t_": lambda y: y.t_(),
    "transpose_": lambda y: y.transpose_(0, -1),
    "swapaxes_": lambda y: y.swapaxes_(0, 1),
    "swapdims_": lambda y: y.swapdims_(0, -1),
    "unsqueeze_": lambda y: y.unsqueeze_(1),
    "unsqueeze_ in front": lambda y: y.unsqueeze_(0),
    "squeeze_": lambda y: y.squeeze_(),
    "squeeze_ one": lambda y: y.squeeze_(0),
    "squeeze_ some": lambda y: y.squeeze_((0, 1)),
    "as_strided_": lambda y: y.as_strided_((2,), (1,)),
    "resize_": lambda y: y.resize_(6).zero_(),
    "resize_ to more": lambda y: y.resize_(7).zero_(),
    "resize_ to less": lambda y: y.resize_(1, 2),
    "resize_as_": lambda y: y.resize_as_(y.new_ones(2)),
    "set_": lambda y: y.set_(y.new_ones(4)),
    "set_ to nothing": lambda y: y.set_(),
}
WHERE = {
    "vmap": lambda torch, f, x: torch.vmap(lambda y: (f(y), y * 2)[1])(x),
    "vmap of the last": lambda torch, f, x: torch.vmap(lambda y: (f(y), y * 2)[1], in_dims=2)(x),
    "of a view": lambda torch, f, x: torch.vmap(lambda y: (f(y), y.mul_(2), y * 2)[2])(x[1:]),
    "then written": lambda torch, f, x: torch.vmap(lambda y: (f(y), y.add_(1), y * 2)[2])(x),
    "of the last, then written": lambda torch, f, x: torch.vmap(lambda y: (f(y), y.add_(1), y + 2)[2], in_dims=-1)(x),
    "written, then": lambda torch, f, x: torch.vmap(lambda y: (y.add_(1), f(y), y.mul_(2), y + 2)[3], in_dims=2)(x),
    "a view inside": lambda torch, f, x: torch.vmap(lambda y: (f(y[:1]).add_(1), y * 2)[1])(x),
    "what is computed": lambda torch, f, x: torch.vmap(lambda y: f(y * 1).add_(1))(x),
    "a view of that": lambda torch, f, x: torch.vmap(lambda y: f((y * 1)[:1]).add_(1))(x),
    "returned": lambda torch, f, x: torch.vmap(f)(x),
    "twice": lambda torch, f, x: torch.vmap(torch.vmap(lambda y: (f(y), y * 2)[1], in_dims=2))(x[:, None]),
    "grad": lambda torch, f, x: torch.func.grad(lambda x: (f(x) * 2).sum())(x[0]),
    "not differentiated": lambda torch, f, x: torch.func.grad(lambda a, y: (f(y) * a).sum())(x[0, 0, 1], x[0]),
    "captured": lambda torch, f, x: torch.func.grad(lambda a: (f(x) * a).sum())(torch.tensor(2.0)),
    "jvp": lambda torch, f, x: torch.func.jvp(lambda y: (f(y), y.mul_(2))[1], (x[0],), (x[0] + 1,)),
    "vmap of jvp": lambda torch, f, x: torch.vmap(lambda x: torch.func.jvp(lambda y: f(y) * 2, (x,), (x + 1,)))(x),
    "jvp of vmap": lambda torch, f, x: torch.func.jvp(torch.vmap(lambda y: f(y) * 2), (x,), (x + 1,)),
    "grad of vmap": lambda torch, f, x: torch.func.grad(lambda x: torch.vmap(lambda y: f(y * 2) * y.sum())(x).sum())(x),
    "grad of vmap of a view": lambda torch, f, x: torch.func.grad(
        lambda x: torch.vmap(lambda y: f((y * 2)[:1]) * y.sum())(x).sum()
    )(x),
    "recorded": lambda torch, f, x: torch.autograd.grad(
        torch.vmap(lambda y: f(y) * y)(w := x.clone().requires_grad_() * 2).sum(), w, materialize_grads=True
    ),
    "a leaf": lambda torch, f, x: torch.vmap(f)(x.clone().requires_grad_()),
}
NOT_EACH = {  # PyTorch reports bugs of its own, counts a write that it refuses, or names the views that it makes
    "resize_": ("vmap of the last", "of the last, then written", "written, then", "a view of that", "twice", "jvp",
                "vmap of jvp", "jvp of vmap"),
    "set_": ("jvp", "vmap of jvp", "jvp of vmap", "a leaf", "grad of vmap", "grad of vmap of a view", "recorded"),
    "as_strided_": ("jvp", "vmap of jvp", "jvp of vmap", "a leaf", "twice"),
}  # fmt: skip
NOT_EACH |= dict.fromkeys(("resize_ to more", "resize_ to less", "resize_as_"), NOT_EACH["resize_"])
NOT_EACH["set_ to nothing"] = NOT_EACH["set_"]


@pytest.mark.parametrize("name", VIEWS)
def test_views_in_place(name):
    """What was given becomes the view, too, unless it has a tangent; some examples stay as they are."""

    def run(torch):
        account = []
        for where, call in WHERE.items():
            x = numbers(torch, 3, 1, 3)
            if where not in NOT_EACH.get(name, ()):
                found = attempt(lambda x=x, call=call: call(torch, VIEWS[name], x))
                account.append([where, found, list(x.shape), x.stride(), x._version, x])
        return account

    agree(run)


def test_resizing_examples_that_are_not_in_front_is_refused():
    """PyTorch reports a bug of its own."""
    x = tapegrad.ones(2, 3)
    with pytest.raises(RuntimeError, match="the first dimension"):
        tapegrad.vmap(lambda y: y.resize_(7), in_dims=1)(x)
    assert x.shape == (2, 3) and x._version == 0


def test_the_node_of_a_view_in_place_outside():
    def run(torch):
        names = []
        for view in list(VIEWS.values())[:9]:
            x = numbers(torch, 2, 1, 3).requires_grad_() * 2
            torch.vmap(view)(x)
            names.append(type(x.grad_fn).__name__)
        return names

    agree(run)


def test_one_of_several_views_is_not_changed_in_place():
    def run(torch):
        functions = (lambda y: y.chunk(3, 1)[1].t_(), lambda y: (y * 2).chunk(3, 1)[1].unsqueeze_(0),
                     lambda y: (y * 2).unbind()[0].mul_(2), lambda y: y.chunk(3, 1)[1].mul_(2))  # fmt: skip
        grad = lambda f: torch.func.grad(lambda x: torch.vmap(f)(x).sum())(numbers(torch, 2, 1, 3))
        return [attempt(lambda f=f: grad(f)) for f in functions]

    agree(run)


DETACHED = {
    "a part": lambda z: z.detach()[1:].mul_(3),
    "transposed": lambda z: z.detach().t_().mul_(3),
    "of a transposed": lambda z: z.t().detach()[:, 1:].zero_(),
    "an element": lambda z: z.detach().__setitem__(0, 3.0),
    "all": lambda z: z.detach().mul_(3),
}
DIFFERENTIATED = {
    "jvp of vmap": lambda torch, f, x: torch.func.jvp(torch.vmap(f), (x,), (x + 1,)),
    "jvp of jvp": lambda torch, f, x: torch.func.jvp(lambda x: torch.func.jvp(f, (x,), (x,))[1], (x[0],), (x[0],)),
    "jvp of grad": lambda torch, f, x: torch.func.jvp(torch.func.grad(lambda x: f(x).sum()), (x[0],), (x[0],)),
    "hessian": lambda torch, f, x: torch.func.hessian(lambda x: f(x).sum())(x[0]),
    "grad of vmap": lambda torch, f, x: torch.func.grad(lambda x: torch.vmap(f)(x).sum())(x),
}


@pytest.mark.parametrize("write", DETACHED)
def test_what_is_detached_is_written(write):
    """The tangent stays, at each level."""

    def run(torch):
        f = lambda y: (z := y * 2, DETACHED[write](z), z * z * z)[-1]
        return [over(torch, f, numbers(torch, 2, 3, 1)) for over in DIFFERENTIATED.values()]

    agree(run)


MOVED = {
    "computed": lambda torch, y: (y * 1).set_(torch.ones(4).double()) * 2,
    "a view": lambda torch, y: y[:1].set_(torch.ones(4).double()) * y,
    "made here": lambda torch, y: torch.zeros(3).double().set_(torch.ones(3).double()) * y,
    "to an example": lambda torch, y: torch.zeros(3).double().set_(y) * 2,
    "to itself": lambda torch, y: (y * 1).set_(y) * 2,
    "to a part of it": lambda torch, y: (y * 1).set_(y, 1, (2,), (1,)) * 2,
    "written to": lambda torch, y: y.set_(torch.ones(4).double()).add_(1),
}


@pytest.mark.parametrize("name", MOVED)
def test_other_memory(name):
    def run(torch):
        account = []
        for over in (*list(DIFFERENTIATED.values())[::4], lambda torch, f, x: torch.vmap(f)(x)):
            x = numbers(torch, 2, 3)
            found = attempt(lambda x=x, over=over: over(torch, lambda y: MOVED[name](torch, y), x))
            refused = any(word in str(found) for word in ("forward AD", "TensorWrapper", "for set_", "a leaf"))
            account += ["refused"] if refused else [found, x, x._version]
        return account

    agree(run)


def test_a_source_that_is_shown_in_part_is_not_recorded():
    def run(torch):
        w, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True) * 2
        parts = [x.set_(w, 0, (2,), (1,)) for x in (torch.zeros(3), y)]
        return [[x.requires_grad, x.grad_fn is None, attempt(lambda x=x: x.sum().backward())] for x in parts]

    agree(run)


# -- what is refused inside --------------------------------------------------------------------------------------------


def hooked(torch, run):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return run()


REFUSED = {
    "requires_grad_": lambda torch, x, c, w: x.requires_grad_(),
    "requires_grad_ of a result": lambda torch, x, c, w: (x * 2).requires_grad_(False),
    "requires_grad_ of a new one": lambda torch, x, c, w: torch.ones(3, dtype=torch.int64).requires_grad_(),
    "requires_grad_ of a captured one": lambda torch, x, c, w: c.requires_grad_(),
    "requires_grad": lambda torch, x, c, w: setattr(c, "requires_grad", True),
    "a parameter": lambda torch, x, c, w: torch.nn.Parameter(torch.ones(3)).requires_grad,
    "retain_grad": lambda torch, x, c, w: (x * 2).retain_grad(),
    "retain_grad of a constant": lambda torch, x, c, w: c.retain_grad(),
    "retain_grad of a leaf": lambda torch, x, c, w: x.retain_grad(),
    "backward": lambda torch, x, c, w: (x * w).sum().backward(),
    "backward of a captured one": lambda torch, x, c, w: torch.autograd.backward((w * w).sum()),
    "gradient": lambda torch, x, c, w: torch.autograd.grad((w * x).sum(), w)[0].sum(),
    "functional": lambda torch, x, c, w: torch.autograd.functional.vjp(lambda y: (y * y).sum(), x)[1],
    "jacobian": lambda torch, x, c, w: torch.autograd.functional.jacobian(lambda y: y * y, x),
    "detach_ of a captured one": lambda torch, x, c, w: c.detach_().sum(),
    "detach_": lambda torch, x, c, w: x.detach_().requires_grad,
    "set_ of a captured one": lambda torch, x, c, w: c.set_(torch.zeros(2)).sum(),
    "data": lambda torch, x, c, w: x.data.sum(),
    "data is set": lambda torch, x, c, w: setattr(x, "data", torch.zeros(3)),
    "shared memory": lambda torch, x, c, w: x.share_memory_().sum(),
    "hooks": lambda torch, x, c, w: hooked(torch, lambda: (x * x).sum()),
    "on another device": lambda torch, x, c, w: torch.autograd.graph.save_on_cpu().__enter__(),
    "checkpoint": lambda torch, x, c, w: torch.utils.checkpoint.checkpoint(
        lambda x: (x * x).sum(), x, use_reentrant=False
    ),
}
INSIDE = {
    "grad": lambda torch, f, x: torch.func.grad(f)(x),
    "vjp": lambda torch, f, x: torch.func.vjp(f, x)[0],
    "jvp": lambda torch, f, x: torch.func.jvp(f, (x,), (x,))[0],
    "vmap": lambda torch, f, x: torch.vmap(f)(x.expand(2, 3)),
    "vmap of grad": lambda torch, f, x: torch.vmap(torch.func.grad(f))(x.expand(2, 3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_inside(name):
    if name == "on another device":
        return agree(lambda torch: attempt(lambda: torch.func.grad(lambda x: _on_cpu(torch, x))(torch.ones(3))))

    def run(torch):
        account = []
        for inside in INSIDE.values():
            x, c, w = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3), torch.ones(3, requires_grad=True)
            seen = []

            def f(x, c=c, w=w, seen=seen):
                found = attempt(lambda: REFUSED[name](torch, x, c, w))
                seen.append(found if not isinstance(found, torch.Tensor) else "a tensor")
                return (x * x).sum()

            result = attempt(lambda inside=inside, f=f, x=x: inside(torch, f, x))
            result = result if isinstance(result, list) else result.detach()
            account.append([result, seen, c, c.requires_grad, x, w.grad])
        return account

    agree(run)
    return None


LEAVES = {
    "grad": lambda torch, f, x: torch.func.grad(f)(x),
    "vmap": lambda torch, f, x: torch.vmap(f)(x),
    "forward-mode, vectorized": lambda torch, f, x: torch.autograd.functional.jacobian(
        f, x, vectorize=True, strategy="forward-mode"
    ),
    "hessian, vectorized": lambda torch, f, x: torch.autograd.functional.hessian(
        f, x, vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
    "jacobian": lambda torch, f, x: torch.autograd.functional.jacobian(f, x),
}


@pytest.mark.parametrize("transform", LEAVES)
def test_a_captured_leaf_that_comes_to_require_grad_stays_where_it_is(transform):
    def run(torch):
        account = []
        for write in (False, True):
            x, w = numbers(torch, 3), numbers(torch, 3)

            def f(x, w=w, write=write):
                w.requires_grad = True
                if write:
                    w.data.mul_(2)
                return (w * x).sin().sum()

            found = attempt(lambda f=f, x=x: LEAVES[transform](torch, f, x))
            account += [found if isinstance(found, list) else [found.detach(), found.requires_grad]]
            (w * 2).sum().backward()
            account += [w.detach(), w.grad, w.is_leaf]
        return account

    agree(run)


def _on_cpu(torch, x):
    with torch.autograd.graph.save_on_cpu():
        return (x * x).sum()


def test_hooks_around_transforms():
    """Those that record refuse to begin; the others don't save anything."""

    def run(torch):
        loss, x, account = lambda x: (x**3).sum(), torch.ones(2), []
        for call in (
            lambda: torch.func.grad(loss)(x), lambda: torch.func.vjp(loss, x)[0], lambda: torch.func.jacrev(loss)(x),
            lambda: torch.func.jvp(loss, (x,), (x,)), lambda: torch.func.jacfwd(loss)(x),
            lambda: torch.vmap(loss)(x[None]), lambda: torch.func.hessian(loss)(x),
            lambda: torch.vmap(torch.func.grad(loss))(x[None]),
        ):  # fmt: skip
            packed = []
            with torch.autograd.graph.saved_tensors_hooks(lambda t, p=packed: (p.append(1), t)[1], lambda t: t):
                account.append([attempt(call), packed])
        return account

    agree(run)


NAMES = """
c.add_(t);c.add_(2);c += 1;c *= t;c.sub_(t);c.subtract_(t);c.multiply_(2);c.divide_(2);c.true_divide_(2);c.div_(t)
c.div_(t, rounding_mode="floor");c.div_(2, rounding_mode="floor");c.floor_divide_(2);c //= t;c.pow_(t);c.pow_(2);c **= t
c.eq_(2);c.eq_(t);c.not_equal_(2);c.lt_(t);c.greater_(t);c.remainder_(2);c %= 2;c.fmod_(t);c.copysign_(2);c.xlogy_(t)
c.xlogy_(2);c.lerp_(t, 0.5);c.lerp_(c, t);c.clamp_(t);c.clamp_(0);c.clamp_(max=1.0);c.clip_(t);c.clamp_min_(1)
c.clamp_min_(t);c.clamp_max_(t);c.fill_(1);c.fill_(t.sum());c.zero_();c.copy_(t);c[0] = t.sum();c[L] = t;c.round_()
c.round_(decimals=2);c.masked_fill_(c > 0, 1.0);c.masked_fill_(c > 0, t.sum());c.masked_fill_(t > 2, 1.0)
c.index_fill_(0, L, 1.0);c.index_fill_(0, L, t.sum());c.scatter_(0, L, t);c.scatter_(0, L, 1.0);c.index_copy_(0, L, t)
c.scatter_(0, L, t, reduce="add");c.scatter_(0, L, 1.0, reduce="add");c.scatter_reduce_(0, L, t, "sum");c.hypot_(t)
c.index_add_(0, L, t);c.random_();c.random_(3);c.random_(1, 3);c.uniform_();c.bernoulli_(0.5);c.squeeze_();c.squeeze_(0)
c.t_();c.unsqueeze_(0);c.atan2_(t);c.arctan2_(t);c.addcmul_(t, t);c.sigmoid_();c.nan_to_num_();c.logical_not_()
i &= 1;i &= i;i.bitwise_and_(1);i.bitwise_or_(i);i <<= 1;i.gcd_(i)
"""


@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter")
@pytest.mark.parametrize("transform", ["grad", "vmap"])
def test_names_in_refusals(transform):
    """Of what was captured: messages name the overload that was called, those of ``vmap`` do not."""

    def account(torch):
        names = {"torch": torch, "L": torch.tensor([0, 1, 2]), "c": torch.ones(3), "i": torch.ones(3).long()}
        x = torch.arange(1.0, 4.0) if transform == "grad" else torch.arange(1.0, 7.0).reshape(2, 3)
        told = []
        for line in NAMES.strip().replace("\n", ";").split(";"):
            if transform == "vmap" and " t" not in line.replace("(", " "):
                continue

            def function(t, line=line):
                exec(line, {**names, "t": t})
                return t.sum()

            told.append([line, attempt(lambda function=function: getattr(torch.func, transform)(function)(x))])
        return [told, names["c"], names["i"]]

    agree(account)


# -- shapes that don't fit ---------------------------------------------------------------------------------------------

UNFITTING = {
    "add_": lambda x, y: x.add_(y), "copy_": lambda x, y: x.copy_(y),
    "masked_fill_": lambda x, y: x.masked_fill_(y > 0, 1), "masked_fill": lambda x, y: x.masked_fill(y > 0, 1),
    "where": lambda x, y: (x * 1).where(y > 0, x),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFITTING)
def test_what_does_not_fit_is_told_with_the_dimensions_that_are_mapped_over(name):
    def program(torch):
        f, map = UNFITTING[name], torch.func.vmap
        shapes = [((2, 3), (2, 4)), ((2, 1), (2, 4)), ((2, 3), (2, 5, 3)), ((2,), (2, 3))]
        seen = [attempt(lambda a=a, b=b: map(f)(torch.ones(a), torch.ones(b))) for a, b in shapes]
        seen += [attempt(lambda a=a, b=b: map(map(f))(torch.ones(7, *a), torch.ones(7, *b))) for a, b in shapes]
        seen.append(attempt(lambda: map(f, in_dims=(0, None))(torch.ones(2, 3), torch.ones(4))))
        if name != "add_":
            seen.append(attempt(lambda: map(f, in_dims=(None, 0))(torch.ones(3), torch.ones(2, 4))))
        return seen, attempt(lambda: f(torch.ones(3), torch.ones(4)))

    agree(program)

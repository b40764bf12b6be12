"""Inference mode: what is an inference tensor, what may be done with one, and what the mode does to normal tensors."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from harness import Programs, agree, attempt, leaf, warned

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def inference(torch, values, **options):
    with torch.inference_mode():
        return torch.tensor(values, **options)


def flags(*tensors):
    """Whether each is an inference tensor, requires grad, and is a leaf."""
    return [[t.is_inference(), t.requires_grad, t.is_leaf] for t in tensors]


def modes(torch):
    return [torch.is_inference_mode_enabled(), torch.is_grad_enabled()]


V, A = [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]


# -- the mode ----------------------------------------------------------------------------------------------------------


@program
def contexts_nest(torch):
    account = [modes(torch)]
    with torch.inference_mode():
        account.append(modes(torch))
        with torch.inference_mode(False):
            account.append(modes(torch))
            with torch.inference_mode(mode=True):
                account.append(modes(torch))
            account.append(modes(torch))
        account.append(modes(torch))
    return account, modes(torch)


@program
def grad_mode_inside(torch):
    account, x = [], leaf(torch, V)
    with torch.no_grad():
        with torch.inference_mode(False):
            account.append([modes(torch), (x * x).requires_grad])
        account.append(modes(torch))
    with torch.inference_mode():
        with torch.enable_grad():
            y = x * x
            account.append([modes(torch), flags(y), y.grad_fn])
            with torch.inference_mode():
                account.append(modes(torch))
            account.append(modes(torch))
            with torch.inference_mode(False):
                account.append((x * x).requires_grad)
        account.append(modes(torch))
        torch.set_grad_enabled(True)
        account.append(modes(torch))
    return account, modes(torch)


@program
def modes_are_restored_after_an_exception(torch):
    def fail():
        with torch.inference_mode():
            torch.set_grad_enabled(True)
            raise ValueError("inside")

    return attempt(fail), modes(torch)


@program
def decorators(torch):
    @torch.inference_mode()
    def with_parentheses():
        "Says so."
        return modes(torch)

    @torch.inference_mode
    def without():
        return modes(torch)

    @torch.inference_mode(False)
    def off():
        return modes(torch)

    @torch.inference_mode(mode=False)
    def off_by_name():
        return modes(torch)

    class Model:
        @torch.inference_mode()
        def method(self, x):
            return flags(x * 2)

    def direct():
        return modes(torch)

    functions = [with_parentheses, without, off, off_by_name, torch.inference_mode(direct)]
    functions.append(torch.inference_mode(mode=direct))
    account = [function() for function in functions]
    with torch.inference_mode():
        account.append([function() for function in functions])
    account.append([with_parentheses.__name__, with_parentheses.__doc__, without.__name__])
    return account, Model().method(leaf(torch, V)), modes(torch)


@program
def decorated_generators(torch):
    @torch.inference_mode()
    def generate():
        received = yield modes(torch)
        yield [received, modes(torch), flags(torch.ones(2))]
        return "returned"

    generator = generate()
    account = [inspect.isgeneratorfunction(generate), next(generator), modes(torch), generator.send("sent")]
    return account, attempt(lambda: next(generator)), modes(torch)


@program
def decorated_classes_warn(torch):
    def decorate():
        @torch.inference_mode()
        class Model:
            pass

    return warned(decorate)


@program
def an_instance_used_in_itself(torch):
    mode = torch.inference_mode()
    with mode:
        pass
    with mode:
        account = modes(torch)
    return account, modes(torch), mode.mode, torch.inference_mode(False).mode


# -- which tensors are inference tensors -------------------------------------------------------------------------------


@program
def factories(torch):
    x, c = leaf(torch, V), torch.ones(2)
    with torch.inference_mode():
        made = [
            torch.ones(2), torch.zeros(2, requires_grad=True), torch.tensor(V), torch.tensor(V, requires_grad=True),
            torch.empty(2), torch.full((2,), 1.0), torch.arange(3), torch.eye(2), torch.linspace(0, 1, 3),
            torch.rand(2), torch.randperm(3), torch.bernoulli(c), torch.as_tensor(V), torch.from_numpy(np.ones(2)),
            torch.ones_like(x), torch.ones_like(x, requires_grad=True), x.new_zeros(2), torch.Tensor(2),
            copy.deepcopy(x), pickle.loads(pickle.dumps(x)), c.clone(), torch.empty(2).uniform_(),
            torch.unique(c), torch.nonzero(c), torch.masked_select(c, c > 0), torch.tril_indices(2, 2),
        ]  # fmt: skip
    return flags(*made), torch.is_inference(made[0]), torch.is_inference(c), made[0].is_inference()


@program
def results_of_functions(torch):
    x, c = leaf(torch, V), torch.ones(2)
    with torch.inference_mode():
        f = torch.ones(2)
        made = [
            x * 2, x + x, x * c, x + f, f * f, x.sum(), x.exp(), x > 1, x.max(0)[0], x.max(0)[1], x.to(torch.float64),
            x[[0]], x[x > 1], torch.cat([x, c]), torch.stack([c, f]), x.clone(), c.clone(), f.clone(), x @ x, x.diag(),
            torch.where(x > 1, x, c), torch.nn.functional.relu(x), x.argmax(), torch.einsum("i,i->", x, x), x.long(),
        ]  # fmt: skip
    return flags(*made), [t.grad_fn for t in made]


@program
def views(torch):
    x, c = leaf(torch, V), torch.ones(2)
    m = leaf(torch, A)
    with torch.inference_mode():
        f, g = torch.ones(2), torch.ones(2, requires_grad=True)
        made = []
        for t in (x, c, f, g):
            made += [t.view(2, 1), t.view(2, 1).view(2), t[0], t[:1], t.expand(3, 2), t.reshape(1, 2), t.unsqueeze(0)]
            made += [*t.unbind(), *t.split(1), t.squeeze(), t.view_as(t), t.detach(), t.data, t.flatten()]
        made += [m.t(), m.transpose(0, 1), m.diagonal(), m.permute(1, 0), torch.broadcast_to(x, (2, 2)), m[0, 1], m[0]]
        same = [x.contiguous() is x, x.to(torch.float32) is x, x.view(2, 1)._is_view(), f.view(2, 1)._is_view()]
        bases = [c.view(2, 1)._base is c, c.view(2, 1).view(2)._base is c]
    return flags(*made), [t.grad_fn for t in made], same, bases


@program
def views_outside(torch):
    f, g = inference(torch, V), inference(torch, V, requires_grad=True)
    made = [f.view(2, 1), f[0], f.detach(), f.data, g.view(2, 1), g[0], g.detach(), f.contiguous(), torch.as_tensor(f)]
    made += [*f.unbind(), f.reshape(1, 2), f.expand(2, 2), *g.split(1)]
    return flags(*made)


@program
def functions_of_inference_tensors_outside(torch):
    f, g = inference(torch, V), inference(torch, V, requires_grad=True)
    c, x = torch.ones(2), leaf(torch, V)
    made = [
        f * 2, f + f, f * f, f.sum(), f.exp(), f > 1, f.clone(), torch.cat([f, f]), f.to(torch.float64),
        f * c, f + c, f + x, x + f, torch.cat([x, f]), torch.stack([f, x]), torch.where(f > 1, x, x), x - f,
        g + g, g * g, g.exp(), g.sum(), g > 1, torch.cat([g, f]), g + c, g * c, torch.cat([g, c]), torch.ones_like(f),
        f.new_ones(2), copy.deepcopy(f), copy.deepcopy(g), pickle.loads(pickle.dumps(f)), x.masked_fill(f > 1, 3.0),
    ]  # fmt: skip
    return flags(*made), [t.grad_fn.name() if t.grad_fn is not None else None for t in made]


@program
def gradients_of_inference_tensors(torch):
    g, c, x = inference(torch, V, requires_grad=True), torch.ones(2) * 3, leaf(torch, V)
    (g * c + x).sum().backward()
    (g + x).sum().backward()
    return g.grad, g.is_inference(), g.grad.is_inference(), x.grad


@program
def requires_grad_flag(torch):
    f, g = inference(torch, V), inference(torch, V, requires_grad=True)

    def assign(tensor, value):
        tensor.requires_grad = value

    account = [
        attempt(lambda: f.requires_grad_()),
        attempt(lambda: assign(f, True)),
        attempt(lambda: f.detach().requires_grad_()),
        attempt(lambda: torch.nn.Parameter(f)),
        attempt(lambda: g.requires_grad_()),
        attempt(lambda: assign(f, False)),
        f.requires_grad_(False) is f,
        flags(torch.nn.Parameter(f, requires_grad=False)),
    ]
    with torch.inference_mode():
        h, c = torch.ones(2).requires_grad_(), torch.ones(2)
        assign(c, True)
        account.append(flags(h, c, torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(leaf(torch, V).detach())))
        account.append(attempt(lambda: torch.ones(2).long().requires_grad_()))
        account += [h, (h * 2).requires_grad]
    g.requires_grad_(False)
    return account, flags(g)


# -- versions and writes -----------------------------------------------------------------------------------------------


@program
def versions(torch):
    f, c = inference(torch, V), torch.ones(2)
    with torch.inference_mode():
        account = [attempt(lambda: torch.ones(2)._version), c.add_(1)._version]
        account.append(attempt(lambda: torch.autograd._unsafe_preserve_version_counter(f)))
    torch.autograd.graph.increment_version([f, c])
    set_ = torch._C._autograd._unsafe_set_version_counter
    return account, attempt(lambda: f._version), c._version, attempt(lambda: set_((f,), (1,)))


@program
def normal_tensors_written_inside(torch):
    x, c, f = leaf(torch, V), torch.ones(2), inference(torch, V)
    a = x.clone()
    with torch.inference_mode():
        for t in (x, c, a):
            t.add_(1)
            t.mul_(f)
            t[0] = 5.0
        x.copy_(f)
        torch.add(f, 1, out=c)
        f.add_(c)
        account = [flags(x, c, a, f), [x._version, c._version, a._version], a.grad_fn.name(), x, c, a, f]
    return account, flags(x, c, a, f)


@program
def a_write_inside_is_noticed_by_backward(torch):
    x = leaf(torch, V)
    a = x.clone()
    product = (a * a).sum()
    exponential = x.exp()
    total = exponential.sum()
    with torch.inference_mode():
        a.add_(2)
        exponential.zero_()
    return attempt(product.backward), attempt(total.backward)


@program
def inference_tensors_written_outside(torch):
    f, g, c, x = inference(torch, V), inference(torch, V, requires_grad=True), torch.ones(2), leaf(torch, V)

    def put(tensor, index, value):
        tensor[index] = value

    def add(tensor):
        tensor += 1

    actions = [
        lambda: f.add_(1), lambda: f.zero_(), lambda: f.copy_(c), lambda: f.copy_(x), lambda: put(f, 0, 1.0),
        lambda: put(f, f > 1, 1.0), lambda: add(f), lambda: f.uniform_(), lambda: f.fill_(1), lambda: f.detach_() is f,
        lambda: torch.add(c, c, out=f), lambda: f.view(2, 1).add_(1),
        lambda: f.index_fill_(0, torch.tensor([0]), 1.0), lambda: g.add_(1), lambda: g.copy_(c),
        lambda: f.exponential_(), lambda: f.clone().zero_(), lambda: f.pow_(2),
    ]  # fmt: skip
    outside = [attempt(action) for action in actions]
    with torch.no_grad():
        under_no_grad = [attempt(action) for action in (actions[0], actions[2], actions[13])]
    return outside, under_no_grad  # PyTorch has written, though it raises


@program
def inference_tensors_written_inside(torch):
    f, g, x = inference(torch, V), inference(torch, V, requires_grad=True), leaf(torch, V)
    with torch.inference_mode():
        f.add_(1).mul_(x)
        f[0] = 7.0
        g.copy_(f)
        f.detach().add_(1)
        f.view(2, 1)  # dies before the next write
        torch.add(x, 1, out=f)
    return f, g, flags(f, g)


@program
def writing_inference_tensors_into_normal_ones(torch):
    f, x = inference(torch, [2.0, 3.0]), leaf(torch, V)
    added, product = x.clone().add_(f), x.clone()
    account = [added, added.grad_fn.name(), x.clone().copy_(f), torch.ones(2).mul_(f)]
    return account, attempt(lambda: product.mul_(f)), flags(added, product)


# -- saving for backward -----------------------------------------------------------------------------------------------


@program
def inference_tensors_are_not_saved(torch):
    f, x, m = inference(torch, V), leaf(torch, V), leaf(torch, A)
    programs = [
        lambda: x * f, lambda: f * x, lambda: x / f, lambda: m @ f, lambda: f @ m, lambda: torch.addcmul(x, f, x),
        lambda: torch.where(f > 1, x, x), lambda: x + f, lambda: x - f, lambda: torch.addcmul(x, f, f),
        lambda: torch.maximum(x, f), lambda: f**x, lambda: torch.nn.functional.mse_loss(x, f),
        lambda: torch.einsum("i,i->", x, f),
    ]  # fmt: skip
    refused = [attempt(lambda: make().detach()) for make in programs]  # noqa: B023 - called at once
    with torch.no_grad():
        account = [x * f, flags(x * f)]
    return refused, account, x * f.clone()


@program
def custom_functions_do_not_save_them_either(torch):
    class Times(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            ctx.save_for_backward(x, y)
            return x * y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return grad * y, grad * x

    f, x = inference(torch, V), leaf(torch, V)
    with torch.inference_mode():
        inside = Times.apply(x, f)
    return flags(inside), attempt(lambda: Times.apply(x, f))


# -- views made inside, used outside -----------------------------------------------------------------------------------


@program
def a_view_made_inside_refuses_writes_that_would_be_recorded(torch):
    x = leaf(torch, V)
    a = x.clone()
    with torch.inference_mode():
        made = [a.view(2, 1), a.view(2, 1).view(2), x.view(2, 1), x[0], a.unsqueeze(0)]
    refused = [attempt(lambda: view.mul_(2)) for view in made]  # noqa: B023 - called at once
    return refused, flags(*made), [repr(view) for view in made], [view.grad_fn for view in made]


@program
def a_view_made_inside_of_a_constant_may_be_written(torch):
    with torch.inference_mode():
        view = torch.ones(2).view(2, 1)
        view.mul_(2)
    with torch.inference_mode(False):
        base = torch.ones(2)
    with torch.inference_mode():
        other = base.view(2, 1)
    del base
    other.mul_(3)
    return view, other, flags(view, other)


# -- backward in inference mode ----------------------------------------------------------------------------------------


@program
def backward_inside(torch):
    x, y = leaf(torch, V), leaf(torch, V)
    end, other = (x * x).sum(), (y * y).sum()
    y.grad = torch.ones(2)
    seen = []
    hook = x.register_hook(lambda grad: seen.append([flags(grad), modes(torch)]))
    with torch.inference_mode():
        end.backward(retain_graph=True)
        other.backward()
        grads = torch.autograd.grad(end, x, retain_graph=True) + torch.autograd.grad(end, x, create_graph=True)
        account = [flags(x.grad, y.grad, *grads), x.grad.clone(), y.grad, *grads]
        end.backward(retain_graph=True)
    hook.remove()
    return account, seen, x.grad.clone(), attempt(end.backward)


@program
def gradients_that_were_there_stay_normal(torch):
    x, unreached = leaf(torch, V), leaf(torch, V)
    x.grad, unreached.grad = torch.ones(2), torch.ones(2)
    broken = torch._C._functions.UndefinedGrad()(unreached * 1)
    end = (x * 2 + broken).sum()
    with torch.inference_mode():
        end.backward()
    return flags(x.grad, unreached.grad), x.grad, unreached.grad


@program
def there_is_nothing_to_run_backward_from_inside(torch):
    x = leaf(torch, V)
    with torch.inference_mode():
        y = (x * x).sum()
        g = torch.ones((), requires_grad=True)
        g.backward()
        return attempt(y.backward), attempt(lambda: torch.autograd.grad(y, x)), g.grad, torch.autograd.grad(g, g)


@program
def inference_tensors_as_seeds(torch):
    x, f = leaf(torch, V), inference(torch, [2.0, 3.0])
    y = x * 3
    y.backward(f, retain_graph=True)
    other = leaf(torch, V)
    other.grad = f
    return x.grad, flags(x.grad, other.grad), torch.autograd.grad(y, x, f)


# -- what else tensors can do ------------------------------------------------------------------------------------------


@program
def attributes_of_inference_tensors(torch):
    f, g = inference(torch, V), inference(torch, V, requires_grad=True)
    return [
        repr(f), repr(g), f.tolist(), f.numpy(), f.sum().item(), f.is_leaf, f.output_nr, f.grad_fn, f.grad,
        f._is_view(), f._base, attempt(lambda: f.retain_grad()), attempt(lambda: f.sum().backward()), f.shape,
        f.requires_grad, attempt(lambda: torch.autograd.graph.get_gradient_edge(f)),
        attempt(lambda: torch.is_inference(3)),
    ]  # fmt: skip


@program
def data_can_be_exchanged(torch):
    f, c = inference(torch, V), torch.zeros(2)
    c.data = f
    return flags(c), c


@program
def subclasses(torch):
    class Named(torch.Tensor):
        pass

    with torch.inference_mode():
        f = torch.ones(2).as_subclass(Named)
        g = f * 2
    return flags(f, g), type(g).__name__, attempt(lambda: f.add_(1)), flags(f * 2), attempt(lambda: f._version)


@program
def hooks_and_grads_inside(torch):
    with torch.inference_mode():
        g = torch.ones(2, requires_grad=True)
        g.register_hook(lambda grad: grad * 2)
        g.retain_grad()
        x = leaf(torch, V)
        x.grad = torch.ones(2)
        return flags(g, x, x.grad), attempt(lambda: torch.ones(2).register_hook(print))


@program
def other_dtypes_inside(torch):
    x = torch.ones(4)
    with torch.inference_mode():
        shown = [x.view(torch.int32), x.view(torch.float32), x.view(4)]
    return flags(*shown), [attempt(lambda t=t: t._version) for t in shown]


@program
def what_is_detached_outside_may_be_written_to(torch):
    with torch.inference_mode():
        x = torch.ones(3)
        inside = x.detach()
    seen = []
    for y in (x.data, x.detach(), x[:2].data, x.detach().data, inside, x.data[:2], x.detach().view(3), x):
        seen.append(attempt(lambda y=y: y._version))
        seen.append(attempt(lambda y=y: y.add_(1)))
        seen.append(attempt(lambda y=y: y.__setitem__(slice(None), 5.0)))
        seen.append(attempt(lambda y=y: y.__setitem__(0, 7.0)))
        seen.append(attempt(lambda y=y: y.copy_(torch.zeros(y.shape))))
        seen.append(attempt(lambda y=y: y.t_()))
        seen.append(attempt(lambda y=y: y._version))
        seen.append(x.tolist())
    return seen


@program
def resizing(torch):
    x, seen = torch.ones(2, 3, requires_grad=True), []
    seen.append(attempt(lambda: x.resize_(6)))
    with torch.inference_mode():
        seen.append(list(x.resize_(6).shape))
        seen.append(list(x.resize_as_(torch.ones(2, 2)).shape))
        inside = torch.ones(2, 3)
        seen.append(inside.resize_(2, 2).tolist())
    seen.append(list(inside.resize_(2, 2).shape))
    return seen, x.requires_grad, attempt(lambda: inside.resize_(3))


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

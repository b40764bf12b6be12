"""Version counters: who shares one, what bumps it, and what backward says of a saved tensor that was written to."""

import re

import pytest
from harness import Programs, agree, attempt
from viewing import counted, gradients, leaf, now, places

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


def versions(*tensors):
    return [tensor._version for tensor in tensors]


# -- who shares --------------------------------------------------------------------------------------------------------


@program
def base_views_and_detached(torch):
    x = leaf(torch, 2, 3) * 1
    everybody = [x, x[0], x.t()[1], x.detach(), x.detach()[0], x[1].detach(), x.view(-1).data, x.data, x.data[0]]
    seen = []
    for tensor in everybody:
        with torch.no_grad():
            tensor.add_(1)
        seen.append(versions(*everybody))
    return seen


@program
def results_have_counters_of_their_own(torch):
    x = counted(torch, 2, 3)
    x.add_(1)
    results = [x.clone(), x + 0, x.contiguous(), x.to(torch.float64), x.t().contiguous(), x.t().reshape(-1), x[[0]]]
    x.add_(1)
    return versions(x, *results)


@program
def the_tensor_itself(torch):
    x = counted(torch, 2)
    x.add_(1)
    same = [x.contiguous(), x.to(torch.float32), x.float(), x.cpu(), x.real, x.requires_grad_(), x.resolve_conj()]
    return [[y is x, y._version] for y in same]


@program
def data_of_data_and_of_views(torch):
    x = counted(torch, 4)
    x.add_(1)
    p = x.data
    q, v, d = p.data, p[1:], p.detach()
    p.add_(1)
    v.add_(1)
    q.add_(1)
    return versions(x, p, q, v, d), now(x)


@program
def setting_data_keeps_the_counter(torch):
    x, y = counted(torch, 3), counted(torch, 2)
    v = x[1:]
    x.add_(1)
    y.add_(1).add_(1)
    x.data = y
    seen = [versions(x, y, v), now(x, y, v)]
    x.add_(1)
    seen.append([versions(x, y, v), now(x, y, v)])
    y.add_(1)
    u = x[:1]
    u.add_(1)
    return seen, [versions(x, y, v, u), now(x, y, v, u)], v._base is x, u._base is x


@program
def setting_data_of_a_view(torch):
    x = counted(torch, 3)
    v = x[1:]
    v.data = torch.zeros(4)
    v.add_(1)
    return versions(x, v), now(x, v), v._is_view(), v._base is x


@program
def setting_data_to_a_view(torch):
    x, y = counted(torch, 3), counted(torch, 2, 2)
    x.data = y[0]
    x.mul_(2)
    y.mul_(3)
    return versions(x, y), now(x, y), x._is_view(), x._base is None


@program
def duals_share_versions(torch):
    forward_ad = torch.autograd.forward_ad
    x = counted(torch, 3)
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x, torch.ones(3))
        x.add_(1)
        seen = versions(x, d)
        p, _ = forward_ad.unpack_dual(d)
        d.mul_(2)
        seen.append(versions(x, d, p))
        v = d[1:]
        v.mul_(2)
        return seen, versions(x, d, p, v), now(x, d, p)


@program
def gradients_count_too(torch):
    a = leaf(torch)
    (a * 2).sum().backward()
    seen = [a.grad._version, a._version]
    v = a.grad[1:]
    (a * 3).sum().backward()
    seen.append([a.grad._version, v._version, now(v)])
    a.grad.zero_()
    a.grad.detach_()
    return seen, a.grad._version, now(v)


# -- what bumps --------------------------------------------------------------------------------------------------------

WRITES = {
    "add_": lambda torch, x: x.add_(1),
    "iadd": lambda torch, x: x.__iadd__(1),
    "copy_": lambda torch, x: x.copy_(torch.ones(3)),
    "copy_ of itself": lambda torch, x: x.copy_(x),
    "fill_": lambda torch, x: x.fill_(1),
    "zero_": lambda torch, x: x.zero_(),
    "setitem": lambda torch, x: x.__setitem__(0, 1),
    "setitem, slice": lambda torch, x: x.__setitem__(slice(None), 1),
    "setitem, empty": lambda torch, x: x.__setitem__(slice(3, None), 1),
    "setitem, mask": lambda torch, x: x.__setitem__(x > 1, 1.0),
    "setitem, nothing chosen": lambda torch, x: x.__setitem__(x > 100, 1.0),
    "setitem, index": lambda torch, x: x.__setitem__([0, 1], torch.ones(2)),
    "augmented item": lambda torch, x: augmented(x),
    "element of a view": lambda torch, x: x[1:][0].mul_(2),
    "out": lambda torch, x: torch.mul(torch.ones(3), 2, out=x),
    "out of itself": lambda torch, x: torch.mul(x, 2, out=x),
    "resize_": lambda torch, x: x.resize_(3),
    "resize_, larger": lambda torch, x: x.resize_(4)[:3],
    "resize_, shape": lambda torch, x: x.resize_(1, 3),
    "transpose_": lambda torch, x: x.transpose_(0, 0),
    "t_": lambda torch, x: x.t_(),
    "squeeze_": lambda torch, x: x.squeeze_(),
    "unsqueeze_": lambda torch, x: x.unsqueeze_(0),
    "as_strided_": lambda torch, x: x.as_strided_((2,), (1,)),
    "set_": lambda torch, x: x.set_(torch.ones(2)),
    "detach_": lambda torch, x: x.detach_(),
    "requires_grad_": lambda torch, x: x.requires_grad_(),
    "normal_": lambda torch, x: x.normal_(),
    "uniform_": lambda torch, x: x.uniform_(),
    "clamp_": lambda torch, x: x.clamp_(0, 1),
    "masked_fill_": lambda torch, x: x.masked_fill_(x > 1, 0),
    "index_add_": lambda torch, x: x.index_add_(0, torch.tensor([0]), torch.ones(1)),
    "scatter_": lambda torch, x: x.scatter_(0, torch.tensor([0]), torch.ones(1)),
    "addcmul_": lambda torch, x: x.addcmul_(x, x),
    "cumsum_": lambda torch, x: x.cumsum_(0),
    "relu_": lambda torch, x: torch.relu_(x),
    "sigmoid_": lambda torch, x: x.sigmoid_(),
    "dropout": lambda torch, x: torch.nn.functional.dropout(x, 0.5, True, True),
    "dropout, evaluating": lambda torch, x: torch.nn.functional.dropout(x, 0.5, False, True),
    "relu, inplace": lambda torch, x: torch.nn.functional.relu(x, inplace=True),
    "no_grad": lambda torch, x: within(torch.no_grad(), lambda: x.add_(1)),
    "inference_mode": lambda torch, x: within(torch.inference_mode(), lambda: x.add_(1)),
    "view in inference_mode": lambda torch, x: within(torch.inference_mode(), lambda: x[1:].add_(1)),
    "increment_version": lambda torch, x: torch.autograd.graph.increment_version(x),
    "increment_version of a view": lambda torch, x: torch.autograd.graph.increment_version(x[1:]),
    "increment_version of two": lambda torch, x: torch.autograd.graph.increment_version([x, x[1:]]),
    "set to 7": lambda torch, x: torch._C._autograd._unsafe_set_version_counter((x,), (7,)),
    "set of a view": lambda torch, x: torch._C._autograd._unsafe_set_version_counter((x[1:],), (7,)),
    "preserved": lambda torch, x: within(preserved(torch, x), lambda: x.add_(1)),
    "view, preserved": lambda torch, x: within(preserved(torch, x), lambda: x[1:].add_(1)),
    "numpy": lambda torch, x: x.numpy().tolist(),
    "backward": lambda torch, x: (x * leaf(torch)).sum().backward(),
}


def within(context, action):
    with context:
        return action()


def preserved(torch, x):
    return torch.autograd._unsafe_preserve_version_counter(x)


def augmented(x):
    x[1:] *= 2
    x[0] += 1
    x[x > 1] -= 1


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_writes_count(write):
    def program(torch):
        x = counted(torch, 3)
        v, d, p = x[1:], x.detach(), x.data
        outcome = attempt(lambda: write(torch, x) is None)
        return outcome, versions(x, v, d, p), v._base is x

    agree(program)


# -- what is noticed ---------------------------------------------------------------------------------------------------

SAVERS = {
    "mul": lambda torch, x: x * leaf(torch, *x.shape),
    "square": lambda torch, x: x**2,
    "sin": lambda torch, x: x.sin(),
    "matmul": lambda torch, x: x @ leaf(torch, *reversed(x.shape)),
    "exp": lambda torch, x: x.exp(),
    "view": lambda torch, x: x.view(-1)[1:] * 2,
    "add": lambda torch, x: x + leaf(torch, *x.shape),
    "sum": lambda torch, x: x.sum(),
    "max": lambda torch, x: x.max(1)[0],
    "where": lambda torch, x: torch.where(x > 2, x, x * 2),
    "mul of a view": lambda torch, x: x[0] * x[1],
    "mul of a transpose": lambda torch, x: x.t() * leaf(torch, *reversed(x.shape)),
    "mul of detached": lambda torch, x: x.detach() * leaf(torch, *x.shape),
    "mul of data": lambda torch, x: x.data * leaf(torch, *x.shape),
    "mul of parts": lambda torch, x: x.unbind()[0] * leaf(torch, x.shape[1]),
}

BETWEEN = {
    "nothing": lambda torch, x, y: None,
    "base": lambda torch, x, y: x.add_(1),
    "base, twice": lambda torch, x, y: x.add_(1).mul_(2),
    "view": lambda torch, x, y: x[1:].add_(1),
    "view, other part": lambda torch, x, y: x[:0].add_(1),
    "detached": lambda torch, x, y: x.detach().zero_(),
    "view of detached": lambda torch, x, y: x.detach()[0].zero_(),
    "data": lambda torch, x, y: x.data.add_(0),
    "no_grad": lambda torch, x, y: within(torch.no_grad(), lambda: x.t().add_(1)),
    "inference_mode": lambda torch, x, y: within(torch.inference_mode(), lambda: x.add_(1)),
    "item": lambda torch, x, y: x.__setitem__((0, 0), 5.0),
    "mask": lambda torch, x, y: x.__setitem__(x > 100, 5.0),
    "increment": lambda torch, x, y: torch.autograd.graph.increment_version(x),
    "result": lambda torch, x, y: y.mul_(2),
    "view of result": lambda torch, x, y: y.view(-1)[:1].mul_(2),
    "no_grad, result": lambda torch, x, y: within(torch.no_grad(), lambda: y.view(-1)[:1].mul_(2)),
    "detached result": lambda torch, x, y: y.detach().view(-1)[:1].zero_(),
    "set data": lambda torch, x, y: setattr(x, "data", torch.ones(2, 2)),
    "preserved": lambda torch, x, y: within(preserved(torch, x), lambda: x.add_(0)),
}


@pytest.mark.parametrize("write", BETWEEN.values(), ids=BETWEEN.keys())
@pytest.mark.parametrize("save", SAVERS.values(), ids=SAVERS.keys())
def test_what_was_saved_and_then_written_to(save, write):
    """Of a result that was saved from, of a view of one, and of a constant: the gradient, or the whole message."""

    def program(torch):
        account = []
        for make in (lambda a: a * 1, lambda a: (a * 1).view(4)[:].view(2, 2), lambda a: a.detach().clone()):
            a = leaf(torch, 2, 2)
            x = make(a)
            y = save(torch, x)
            attempt(lambda: write(torch, x, y))  # noqa: B023 - called at once
            account.append([gradients(torch, y, a) if y.requires_grad else None, x._version, y._version])
        return account

    agree(program)


@program
def which_node_is_named(torch):
    """A view is output 0 of what made it, or of ``AsStrided`` after a write."""
    x = leaf(torch, 2, 2) * 1
    cases = [x[0], x.t(), x.view(-1), x.expand(1, 2, 2), x.unbind()[1], x.view(4)[1:], x[0] * 1]
    results = [(case * leaf(torch, *case.shape)).sum() for case in cases]
    x.add_(1)
    late = [case for number, case in enumerate(cases) if number not in (4, 6)]
    results += [(case * leaf(torch, *case.shape)).sum() for case in late]
    x[0, 0].mul_(2)
    return [attempt(result.backward) for result in results]


@program
def outputs_that_were_saved(torch):
    a = leaf(torch, 2, 2)
    seen = []
    for function in ("exp", "sigmoid", "tanh", "sqrt", "softmax", "relu"):
        for write in (lambda y: y.mul_(2), lambda y: y[0].mul_(2), lambda y: y.t().detach().zero_()):
            y = torch.softmax(a * 1, 0) if function == "softmax" else getattr(a * 1, function)()
            total = y.sum()
            write(y)
            seen.append([function, attempt(lambda: torch.autograd.grad(total, a)[0])])  # noqa: B023 - at once
    return seen


@program
def outputs_of_writes_that_were_saved(torch):
    a = leaf(torch, 2, 2)
    seen = []
    for write in (lambda x: x.mul_(2), lambda x: x[1].mul_(2), lambda x: x[0].mul_(2), lambda x: None):
        x = a * 1
        v = x[0]
        v.exp_()
        total = (x * 2).sum() + v.sum()
        write(x)
        seen.append(attempt(lambda: torch.autograd.grad(total, a)[0]))  # noqa: B023 - called at once
    return seen


@program
def versions_that_come_back(torch):
    """What counts is the number, not the data."""
    a = leaf(torch, 2)
    w = counted(torch, 2)
    total = (a * w).sum()
    w.add_(1)
    torch._C._autograd._unsafe_set_version_counter((w,), (0,))
    total.backward()
    other = (a * w).sum()
    w.sub_(1).add_(1)
    return a.grad, attempt(other.backward)


@program
def a_saved_view_whose_siblings_are_written_to(torch):
    x = counted(torch, 4)
    left, right = x[:2], x[2:]
    a = leaf(torch, 2)
    total = (left * a).sum()
    right.add_(1)
    return attempt(total.backward), versions(x, left, right)


@program
def writes_between_two_backwards(torch):
    a, w = leaf(torch, 2), counted(torch, 2)
    total = (a * w[:]).sum()
    total.backward(retain_graph=True)
    w.data.mul_(10)
    total.backward(retain_graph=True)
    w.mul_(2)
    return a.grad, attempt(total.backward)


@program
def optimizer_steps_between(torch):
    w = leaf(torch, 2)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    with torch.no_grad():
        w -= 0.5 * w.grad
    return attempt(loss.backward), versions(w), places(w)


@program
def under_anomaly_mode(torch):
    """The same error; the hint is another one."""
    a = leaf(torch, 2, 2)
    x = a * 1

    def run():
        with torch.autograd.set_detect_anomaly(True):
            y = x[0] * x[1]
            x[0].add_(1)
            y.sum().backward()

    outcome = attempt(run)
    return outcome[:2], re.sub(r"\s+", " ", outcome[2])[:420]


@program
def saved_tensors_as_seen_by_the_user(torch):
    x = leaf(torch, 2, 2) * 1
    v = x[0]
    node = (v * x[1]).grad_fn
    seen = [now(node._saved_self, node._saved_other)]
    x.add_(1)
    return seen, attempt(lambda: node._saved_self), attempt(lambda: node._saved_other)


@program
def uncounted_writes_to_what_a_node_saved_of_its_own_output(torch):
    """Backward goes by what is there then."""
    x = leaf(torch, 3)
    seen = []
    for write in (lambda y: y.data.mul_(2), lambda y: y.data[1:].fill_(7), lambda y: y.detach().data.neg_()):
        y = x.sigmoid()
        write(y)
        (first,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
        (again,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        seen.append([first.tolist(), again.tolist(), y.grad_fn._saved_result.tolist()])
    y = x.exp()
    with torch.autograd._unsafe_preserve_version_counter(y), torch.no_grad():
        y.mul_(2)
    return seen, torch.autograd.grad(y.sum(), x)[0].tolist()


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

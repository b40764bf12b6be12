"""Views in place: ``t_``, ``squeeze_``, ``as_strided_``, ... and what becomes of history, versions and other views."""

import pytest
from harness import Programs, agree, attempt
from layouts import counted, layout, layouts, node

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


@program
def as_strided_in_place(torch):
    x = counted(torch, 4, 6)
    v = x[1]
    same = x.as_strided_((2, 2), (6, 2), 1) is x
    v.mul_(10)
    return same, layout(x), x, v, x._version, v._version, v._base is x, torch.as_strided_(v, (2,), (2,)), layout(v)


@program
def views_in_place(torch):
    account = []
    for change in (
        lambda x: x.t_(), lambda x: x.transpose_(0, 1), lambda x: x.squeeze_(), lambda x: x.unsqueeze_(0),
        lambda x: x.swapaxes_(0, 1), lambda x: x.swapdims_(0, 1),
        lambda x: x.as_strided_((2,), (2,), 1), lambda x: x.squeeze_(0), lambda x: x.unsqueeze_(-1),
        lambda x: x.squeeze_((0, 1)), lambda x: torch.swapaxes(x, 0, 1),
        lambda x: x.t_().t_(), lambda x: x.transpose_(0, 0), lambda x: x.moveaxis(0, 1),
    ):  # fmt: skip
        for given in (
            counted(torch, 2, 3),
            counted(torch, 1, 3),
            counted(torch, 2, 3).requires_grad_() * 1,
            (counted(torch, 2, 3).requires_grad_() * 1)[:1],
        ):
            v = given[0]
            result = attempt(lambda change=change, given=given: change(given))
            account.append(
                [
                    result is given,
                    layout(given),
                    given._version,
                    node(given),
                    given._is_view(),
                    v.tolist(),
                    layout(v),
                    v._version,
                    node(v),
                ]
            )
    return account


@program
def views_in_place_that_cannot_be(torch):
    leaf, x = counted(torch, 2, 3).requires_grad_(), counted(torch, 2, 3, 4)
    part, other = (leaf * 1).unbind()
    cases = [
        lambda: leaf.t_(), lambda: leaf.unsqueeze_(0), lambda: x.t_(), lambda: x.transpose_(0, 3),
        lambda: x.squeeze_(4), lambda: x.unsqueeze_(5), lambda: part.unsqueeze_(0),
        lambda: leaf[0].unsqueeze_(0), lambda: x.swapaxes_(0, 5), lambda: other.squeeze_(),
    ]  # fmt: skip
    return [attempt(case) for case in cases], layout(x), layout(leaf), x._version, leaf._version, layout(part)


@program
def writes_after_views_in_place(torch):
    x = counted(torch, 2, 3)
    v, w = x[1], x.t()
    x.t_()
    x[0, 1] = 9.0
    x.mul_(2)
    account = [x, v, w, layouts(x, v, w)]
    v.unsqueeze_(0).zero_()
    return account, x, v, w, layouts(x, v, w), v._base is x, x._version


@program
def gradients_after_views_in_place(torch):
    leaf = counted(torch, 2, 3).requires_grad_()
    x = leaf * 2
    v = x[0]
    x.t_()
    x.mul_(torch.tensor([3.0, 4.0]))
    v.add_(1)
    names = [node(x), node(v)]
    y = (x * counted(torch, 3, 2)).sum() + (v * v).sum()
    return names, torch.autograd.grad(y, leaf), x, v


@program
def where_nothing_is_recorded(torch):
    leaf = counted(torch, 2, 4).requires_grad_()
    windows, (upper, _) = (leaf + 1).view(8).unfold(0, 2, 2), (leaf + 1).chunk(2)
    with torch.no_grad():
        windows.as_strided_((3,), (1,))
        upper.t_()
        leaf.t_()
        columns = (leaf * 1).t()
    account = [node(windows), windows._version, attempt(lambda: upper.is_leaf), attempt(lambda: upper.grad_fn)]
    columns.t_()
    with torch.inference_mode():
        inner = counted(torch, 2, 3)
        inner.t_()
        account.append([layout(inner), layout(inner.t_())])
    return account, layout(leaf), leaf.is_leaf, leaf._version, layout(columns), columns._version, attempt(inner.t_)


@program
def refused_before_the_dimensions_are_looked_at(torch):
    leaf = counted(torch, 2, 3).requires_grad_()
    with torch.no_grad():
        unrecorded = (leaf + 1).t().squeeze(0)
    cases = [
        lambda: leaf.transpose_(5, 0), lambda: leaf.squeeze_(7), lambda: leaf.unsqueeze_(7), lambda: leaf.t_(),
        lambda: leaf.as_strided_((9,), (9,)), lambda: unrecorded.transpose_(5, 0),
        lambda: counted(torch, 2).squeeze_(4),
    ]  # fmt: skip
    return [attempt(case) for case in cases], layout(leaf), leaf._version


@program
def hooks_and_kept_gradients_stay_where_they_were(torch):
    seen, x = [], counted(torch, 1, 3).requires_grad_() * 2
    x.register_hook(lambda g: seen.append(["before", tuple(g.shape)]))
    x.retain_grad()
    x.t_()
    x.register_hook(lambda g: seen.append(["after", tuple(g.shape)]))
    (x * 3).sum().backward()
    return seen, tuple(x.grad.shape), tuple(x.shape), x.retains_grad


@program
def what_was_saved_is_stale(torch):
    leaf = counted(torch, 2, 3).requires_grad_()
    out, weights = leaf.exp(), counted(torch, 2, 3)
    product = leaf * weights
    out.t_()
    weights.t_()
    return attempt(lambda: out.sum().backward()), attempt(lambda: product.sum().backward())


@program
def set_of_recorded_views(torch):
    account = []
    for source in (None, torch.zeros(3)):
        x = counted(torch, 4).requires_grad_() + 1
        v = x[::2]
        v.set_(v if source is None else source)
        account.append(
            [node(x), node(v), x._version, v._version, v._base is x, attempt(lambda x=x: x.sum().backward())]
        )
    x = counted(torch, 4).requires_grad_() + 1
    v = x[::2]
    with torch.no_grad():
        v.set_(torch.ones(3))
    return account, node(v), x._version, v._version, v.sum().item()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    agree(program)

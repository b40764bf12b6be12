"""What a ``TorchDispatchMode`` sees: the calls of PyTorch's dispatcher, forward, backward, in place, of factories."""

import numpy as np
import pytest
import torch
from dispatching import calls_of, dispatch_of, logging_mode
from harness import agree, attempt

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("modes see what is called")]


def leaf(lib, *shape):
    return lib.arange(float(np.prod(shape))).reshape(shape).sub(2).div(7).requires_grad_()


def network(lib):
    x, w, b = lib.ones(5, 4), lib.ones(3, 4, requires_grad=True), lib.zeros(3, requires_grad=True)
    hidden = lib.nn.functional.relu(lib.nn.functional.linear(x, w, b))
    lib.nn.functional.cross_entropy(hidden, lib.tensor([0, 1, 2, 0, 1])).backward()


def writes(lib):
    y = lib.zeros(2, 3)
    y.add_(1)
    y += y
    y.mul_(y)
    y[0] = 5
    y[0, 1] = 2.0
    y[:, 1] = y[:, 0]
    y[lib.arange(2) > 0] = 3.0
    y.copy_(lib.ones(3))
    y.zero_()
    y.fill_(2.0)
    y.clamp_(0, 1)
    y.pow_(2)
    y.normal_()
    y.uniform_()
    y.t_()
    y.sqrt_()


def factories(lib):
    x = lib.ones(5, 4)
    lib.zeros(2), lib.ones(2, 3), lib.full((2,), 3.0), lib.arange(3), lib.arange(1, 3), lib.arange(1, 7, 2)
    lib.randn(2), lib.rand(2), lib.randint(3, (2,)), lib.randperm(3), lib.eye(2), lib.linspace(0, 1, 3), lib.empty(2)
    lib.zeros_like(x), lib.randn_like(x), lib.empty_like(x), lib.full_like(x, 2.0), lib.randint_like(x, 3)
    x.new_zeros(2), x.new_ones(2, 3), x.new_full((2,), 1.0), x.new_tensor([1.0]), x.new_empty(2)
    lib.zeros(2, dtype=lib.int64), lib.tensor([1.0, 2.0]), lib.as_tensor([1.0]), lib.scalar_tensor(1.0)
    lib.tril_indices(2, 2), lib.normal(0.0, 1.0, (2,)), lib.zeros(2, requires_grad=True), lib.hann_window(3)
    lib.bernoulli(lib.ones(2)), lib.multinomial(lib.ones(2), 1), lib.from_numpy(np.ones(2)), lib.logspace(0, 1, 2)


def views(lib):
    x = lib.ones(5, 4)
    x.view(20), x.reshape(2, 10), x.t(), x.transpose(0, 1), x[0], x[:, 1:3], x[..., None], x.unsqueeze(0), x.squeeze()
    x.expand(2, 5, 4), x.permute(1, 0), x.flatten(), x.T, x.mT, x.chunk(2), x.split(2), x.unbind(), x.select(0, -1)
    x.narrow(0, 1, 2), x.diagonal(), x.as_strided((2,), (1,)), x.unfold(0, 2, 1), x.detach(), x.t().contiguous()
    x.clone(), x.movedim(0, 1), x[lib.arange(2)], x[x > 0], x.to(lib.float64), x.double(), x[0, 0].item(), x.data


def into(lib):
    x, out = lib.ones(5, 4), lib.empty(5, 4)
    lib.add(x, x, out=out), lib.mm(x, x.t(), out=lib.empty(5, 5)), lib.cat([x, x], out=lib.empty(10, 4))
    lib.sum(x, 0, out=lib.empty(4)), lib.arange(3, out=lib.empty(3)), lib.zeros(3, out=lib.empty(3))
    lib.max(x, 0, out=(lib.empty(4), lib.empty(4, dtype=lib.int64)))


def computes(lib):
    x, t, F = lib.ones(5, 4), lib.arange(5), lib.nn.functional
    x + 1, x * x, x / 2, 1 - x, x**2, 2**x, x @ x.t(), x.sum(), x.sum(0), x.mean(-1), x.max(0), x.argmax(0), -x, x > 0
    x.softmax(-1), x.log_softmax(1), F.gelu(x), F.layer_norm(x, (4,)), F.dropout(x, 0.5), F.mse_loss(x, x), x.exp()
    F.embedding(t, x), lib.where(x > 0, x, 0.0), x.std(), x.var(0), x.norm(), lib.cat([x, x]), lib.stack([x, x])
    x.cumsum(0), x.topk(2), x.clamp(min=0), x.masked_fill(x > 0, 0.0), x.gather(0, t[:, None]), lib.outer(x[0], x[0])
    lib.bmm(x[None], x.t()[None]), lib.matmul(x[None], x.t()), lib.addmm(x @ x.t(), x, x.t()), x.isfinite()
    lib.conv2d(x[None, None], x[None, None, :2, :2]), F.max_pool2d(x[None, None], 2), F.avg_pool2d(x[None, None], 2)
    F.batch_norm(x, None, None, training=True), F.pad(x, (1, 1)), x.flip(0), x.tril(), F.normalize(x), x.int()


def small_backwards(lib):
    b, F = leaf(lib, 3), lib.nn.functional
    for program in (
        lambda w: w.sin(), lambda w: w * w, lambda w: w * b[:, None], lambda w: w / 2, lambda w: w.exp(),
        lambda w: w.tanh(), lambda w: F.relu(w), lambda w: w.softmax(1), lambda w: w @ w.t(), lambda w: w.t(),
        lambda w: w[0], lambda w: w.view(12) * 2, lambda w: F.silu(w), lambda w: w.clone().mul_(2), lambda w: F.gelu(w),
        lambda w: F.layer_norm(w, (4,)), lambda w: lib.cat([w, w]),
    ):  # fmt: skip
        program(leaf(lib, 3, 4)).sum().backward()


def accumulates(lib):
    w = leaf(lib, 2)
    for _ in range(2):
        (w * w).sum().backward()


@pytest.mark.parametrize("program", [
    network, writes, factories, views, into, computes, small_backwards, accumulates,
], ids=lambda program: program.__name__)  # fmt: skip
def test_calls(program):
    given = program not in (views, computes)
    assert calls_of(tapegrad, program, given) == calls_of(torch, program, given)


def test_calls_are_shown_with_their_arguments():
    def program(lib):
        x = lib.ones(2, 3)
        x.softmax(-1), x.transpose(-1, 0), x.sum(-1, keepdim=True), x.view(-1), x[1:, 2], x.expand(2, -1)
        x.clamp(max=1)
        lib.cat([x, x], -1), x.to(lib.float64), x.add(2, alpha=3), x.gather(1, lib.zeros(2, 1, dtype=lib.int64))
        lib.nn.functional.conv2d(x[None, None], x[None, None, :1, :2], stride=2, padding=1)

    assert calls_of(tapegrad, program) == calls_of(torch, program)


def test_results_and_history_are_those_of_the_program():
    def program(lib):
        with logging_mode(lib):
            w = leaf(lib, 2, 3)
            y = lib.zeros(2, 3, requires_grad=True)
            z = (w.exp() + y).mul_(2)
            z[0] = 1.0
            z.sum().backward()
        return z, z.grad_fn.name(), w.grad, y.grad, y.is_leaf, z._version

    agree(program)


def test_a_mode_may_compute_something_else():
    """What it gives in place of a factory, of a view, or in the backward pass is what the program goes on with."""

    def program(lib):
        aten = lib.ops.aten

        class Mode(dispatch_of(lib).TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                if func in (aten.zeros.default, aten.cos.default):
                    return out + 10
                return out

        w = leaf(lib, 2)
        with Mode():
            made = lib.zeros(2)
            w.sin().sum().backward()
        return made, w.grad

    agree(program)


def test_modes_nest_and_are_off_while_they_have_a_call():
    def program(lib):
        seen = []

        class Mode(dispatch_of(lib).TorchDispatchMode):
            def __init__(self, name):
                super().__init__()
                self.name = name

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                inside = len(dispatch_of(lib)._get_current_dispatch_mode_stack())
                seen.append((self.name, str(func), list(lib.ones(1).shape), inside))
                return func(*args, **(kwargs or {}))

        with Mode("outer"), Mode("inner"):
            lib.zeros(2).add_(1).sin()
            with dispatch_of(lib)._disable_current_modes() as modes:
                lib.zeros(2)
                seen.append([mode.name for mode in modes])
        return seen

    agree(program)


def test_a_mode_that_raises_leaves_all_as_it_was():
    def program(lib):
        class Mode(dispatch_of(lib).TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                raise ValueError("no")

        x = lib.ones(2)
        with Mode():
            found = [attempt(lambda: lib.zeros(2)), attempt(lambda: x.add_(1)), attempt(lambda: x.sin())]
        return found, x, x._version, lib.zeros(1)

    agree(program)


def test_schemas():
    def program(lib):
        aten = lib.ops.aten
        found = []
        for op in (aten.add.Tensor, aten.add_.Tensor, aten.add.out, aten.max.dim, aten.max.dim_max, aten.zeros.default,
                   aten.sum.dim_IntList, aten._softmax.default, aten.copy_.default):  # fmt: skip
            schema = op._schema
            found += [str(schema).replace("SymInt", "int"), schema.name, schema.overload_name, schema.is_mutable,
                      [one.name for one in schema.arguments], len(schema.returns)]  # fmt: skip
        return found

    agree(program)


def test_names_of_the_database():
    """Of operators of PyTorch's database: how many of their samples are shown as the same calls, by name."""
    from opinfo import ENTRIES, cases
    from opinfo_exceptions import LEFT_OUT

    same = total = 0
    for name, entry in list(ENTRIES.items())[::12]:
        if name in LEFT_OUT or torch.float32 not in entry.dtypes:
            continue
        for theirs, ours in cases(entry, torch.float32, 1):
            found = [calls_of(case.module, lambda lib, case=case: attempt(case.call), False) for case in (ours, theirs)]
            same, total = same + (found[0] == found[1]), total + 1
    assert same / total > 0.75, (same, total)


def compositions(lib):
    x = lib.tensor([[2.0, 1.0], [1.0, 3.0]])
    g, mask = x.clone().requires_grad_(), lib.tensor([[True, False], [True, True]])
    norm, one_hot = lib.nn.functional.rms_norm, lib.nn.functional.one_hot
    found = [
        lib.isclose(x, x + 1e-9), lib.isclose(x, x + 1, rtol=0.0, atol=0.0), lib.isclose(x, x / 0), lib.isreal(x),
        lib.allclose(x, x), norm(g, (2,)), norm(g, (2, 2), x, 0.5), one_hot(lib.tensor([0, 2])),
        one_hot(lib.tensor([[0, 2]]), 4), lib.linalg.inv(g), lib.inverse(x), lib.linalg.cholesky(g, upper=True),
        lib.linalg.solve(g, x), lib.linalg.solve(x, g[0]), lib.linalg.solve(x, g, left=False), lib.isposinf(x),
        lib.bucketize(x, lib.tensor([1.5, 2.5])), lib.searchsorted(lib.tensor([1.5, 2.5]), x, right=True),
        lib.count_nonzero(x), lib.signal.windows.hann(0), lib.signal.windows.hann(1), lib.masked.sum(x, mask=mask),
        lib.masked.mean(x, 1, mask=mask), lib.masked.amax(x, 0, mask=mask), lib.masked.prod(g, mask=mask),
        lib.as_strided_scatter(x, lib.zeros(2), (2,), (2,)), lib.native_layer_norm(x, (2,), None, None, 0.1)[0],
        attempt(lambda: lib.linalg.inv(x * 0)), attempt(lambda: lib.linalg.cholesky(-x)),
        attempt(lambda: lib.linalg.solve(x * 0, x)), attempt(lambda: norm(x, (3,))), attempt(lambda: one_hot(x)),
    ]  # fmt: skip
    with dispatch_of(lib)._disable_current_modes():
        total = sum(one.square().sum() for one in found if isinstance(one, lib.Tensor) and one.requires_grad)
        return [one.detach() if isinstance(one, lib.Tensor) else one for one in found], lib.autograd.grad(total, g)


def test_what_is_composed():
    """It is seen as PyTorch composes it, and comes to the same."""

    def shown(lib):
        with logging_mode(lib, arguments=False) as mode:
            found = compositions(lib)
        return found, [name.partition(".S")[0].partition(".T")[0] for name in mode.seen if "detach" not in name]

    agree(shown)


def test_alpha_dropout_is_composed():
    names, values = [], []
    for lib in (torch, tapegrad):
        with logging_mode(lib, arguments=False) as mode:
            found = lib.nn.functional.alpha_dropout(lib.ones(1000, requires_grad=True), 0.4, True)
        names.append(mode.seen)
        values.append(sorted({round(one, 4) for one in found.tolist()}))
    assert [name.replace("_.Tensor", "_.Scalar") for name in names[1]] == [
        name.replace("_.Tensor", "_.Scalar") for name in names[0]
    ]
    assert values[1] == values[0]


def test_a_mode_whose_init_does_not_call_its_base():
    def shown(lib):
        class Names(dispatch_of(lib).TorchDispatchMode):
            def __init__(self):
                self.seen = []

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                self.seen.append(str(func))
                return func(*args, **(kwargs or {}))

        names, x = Names(), lib.ones(2)
        for _ in range(2):
            with names, names:
                x.sin()
        return names.seen

    agree(shown)

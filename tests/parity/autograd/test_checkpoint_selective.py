"""Selective checkpoints, the names of operators, and modes that compute them."""

import functools
import importlib

import pytest
from checkpoints import checkpoint_of, counted, leaf, name_of
from harness import agree, attempt

# -- selective ---------------------------------------------------------------------------------------------------------


def selective(torch, policy, **options):
    """A wrapper of functions: checkpointed, with a policy."""
    contexts = functools.partial(torch.utils.checkpoint.create_selective_checkpoint_contexts, policy, **options)
    return checkpoint_of(torch, context_fn=contexts)


def keeping(torch, *names):
    """A policy that keeps the results of operators named so, and a list of all that it was asked for."""
    asked = []
    choice = torch.utils.checkpoint.CheckpointPolicy

    def policy(context, op, *args, **kwargs):
        asked.append(str(op))
        assert not context.is_recompute
        return choice.MUST_SAVE if str(op) in names else choice.PREFER_RECOMPUTE

    return policy, asked


def policies_are_asked(torch):
    policy, asked = keeping(torch, "aten.mm.default")
    x, y = torch.eye(2, dtype=torch.float64).requires_grad_(), torch.ones(2, 2, dtype=torch.float64)
    out = selective(torch, policy)(lambda x, y: ((x @ y).sin() + x * 2 - y / 3).exp().sum(0).neg())(x, y)
    seen = len(asked)
    out.sum().backward()
    return asked, seen == len(asked), out, x.grad


def what_policies_see(torch):
    seen = []

    def policy(context, op, *args, **kwargs):
        out = context.op_output
        seen.append([str(op), context.is_recompute, [a.shape for a in args if isinstance(a, torch.Tensor)],
                     out.shape, out.requires_grad, op is torch.ops.aten.mm.default, op in {torch.ops.aten.exp.default}])
        return op is torch.ops.aten.mm.default

    x = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)
    selective(torch, policy)(lambda x: (x @ x).exp())(x).sum().backward()
    return seen, x.grad


def a_list_of_operators(torch):
    x = leaf(torch, 1.0, 2.0)
    out = selective(torch, [torch.ops.aten.sin.default, torch.ops.aten.exp.default])(lambda x: x.sin().cos().exp())(x)
    out.sum().backward()
    return out, x.grad


def each_policy(torch):
    rows = []
    for policy in list(torch.utils.checkpoint.CheckpointPolicy)[:4]:
        x = leaf(torch, 1.0, 2.0)
        out = selective(torch, lambda *args, policy=policy: policy)(lambda x: x.sin().cos().exp() * x)(x)
        out.sum().backward(retain_graph=True)
        again = attempt(lambda out=out: out.sum().backward())
        rows.append([policy.name, out, x.grad, again])
    return rows


def not_kept_where_it_stops(torch):
    """The last operator is not reached again, so that its result is still there for the second backward."""
    x = leaf(torch, 1.0)
    out = selective(torch, [torch.ops.aten.sin.default])(lambda x: x.sin())(x)
    out.backward(retain_graph=True)
    return attempt(out.backward), x.grad


def a_policy_with_state(torch):
    class Policy:
        def __init__(self):
            self.calls = 0

        def __call__(self, context, op, *args, **kwargs):
            self.calls += 1
            choice = torch.utils.checkpoint.CheckpointPolicy
            return choice.MUST_SAVE if self.calls % 2 else choice.PREFER_RECOMPUTE

    policy, x = Policy(), leaf(torch, 1.0)
    out = selective(torch, policy)(lambda x: x.sin().cos().sin().cos())(x)
    out.backward()
    return out, policy.calls, x.grad


def a_kept_result_is_written_to(torch):
    rows = []
    for allow in (False, True):
        x = leaf(torch, 1.0)
        policy, _ = keeping(torch, "aten.sin.default")
        out = selective(torch, policy, allow_cache_entry_mutation=allow)(lambda x: x.sin().mul_(2).cos().exp())(x)
        rows.append([out, attempt(out.backward), x.grad])
    return rows[0], rows[1][:2]


def several_outputs(torch):
    policy, asked = keeping(torch, "aten.var_mean.correction")
    x = leaf(torch, 1.0, 2.0, 4.0)

    def function(x):
        a, b = torch.var_mean(x)
        return a * b

    out = selective(torch, policy)(function)(x)
    return torch.autograd.grad(out, x), asked


def a_view_of_what_is_not_differentiable(torch):
    x, y = torch.tensor([1, 2, 3]), leaf(torch, 1.0)
    out = selective(torch, [torch.ops.aten.view.default])(lambda x, y: (x.view(-1), y.sin().cos()))(x, y)
    out[1].sum().backward()
    return out[0], y.grad


def other_operators_the_second_time(torch):
    rows = []
    for second in (lambda x: x.sin().tan().exp(), lambda x: x.sin().sin().exp()):
        runs = iter([lambda x: x.sin().cos().exp(), second])
        x = leaf(torch, 1.0)
        policy, _ = keeping(torch, "aten.cos.default")
        out = selective(torch, policy)(lambda x, runs=runs: next(runs)(x))(x)
        rows.append(attempt(out.backward))
    return rows


def selective_with_higher_order(torch):
    x = leaf(torch, 1.0)
    out = selective(torch, [torch.ops.aten.sin.default])(lambda x: x.sin().exp())(x)
    (first,) = torch.autograd.grad(out, x, create_graph=True)
    return first, attempt(lambda: torch.autograd.grad(first, x))


def selective_without_grad(torch):
    policy, asked = keeping(torch)
    with torch.no_grad():
        selective(torch, policy)(lambda x: x.sin())(leaf(torch, 1.0))
    return asked


def kept_statistics(torch):
    rows = []
    for policy in ([torch.ops.aten.native_batch_norm.default], [torch.ops.aten.exp.default]):
        x, (m, v) = torch.arange(6.0).double().view(3, 2).sin().requires_grad_(), torch.ones(2, 2).double().unbind()
        keep = functools.partial(torch.utils.checkpoint.create_selective_checkpoint_contexts, policy)
        norm = lambda x, m=m, v=v: torch.nn.functional.batch_norm(x.exp(), m, v, training=True).exp()
        out = torch.utils.checkpoint.checkpoint(norm, x, use_reentrant=False, context_fn=keep)
        m.zero_()
        out.pow(2).sum().backward()
        rows.append([m, v, x.grad])
    return rows


def only_overloads(torch):
    make = torch.utils.checkpoint.create_selective_checkpoint_contexts
    outcome = attempt(lambda: make([torch.ops.aten.sin]))
    return outcome[:2], outcome[2].partition(" of type ")[0], outcome[2].partition(">. ")[2]


@pytest.mark.parametrize(
    "program",
    [
        policies_are_asked, what_policies_see, a_list_of_operators, each_policy, not_kept_where_it_stops,
        a_policy_with_state, a_kept_result_is_written_to, several_outputs, a_view_of_what_is_not_differentiable,
        other_operators_the_second_time, selective_with_higher_order, selective_without_grad, only_overloads,
        kept_statistics,
    ],
    ids=name_of,
)  # fmt: skip
def test_selective(program):
    agree(program)


# -- identities --------------------------------------------------------------------------------------------------------


def identities(torch):
    aten = torch.ops.aten
    rows = []
    for op in (aten.sin.default, aten.add.Tensor, aten.add_.Tensor, aten.sum.dim_IntList, aten.mm.default,
               aten._softmax.default, aten.native_layer_norm.default, aten.detach.default, aten.mm.out,
               aten.var_mean.correction, torch.ops.prim.device.default,
               aten._scaled_dot_product_flash_attention.default):  # fmt: skip
        rows.append([str(op), repr(op), op.name(), op.__name__, op.namespace, op._opname, op._overloadname,
                     repr(op.overloadpacket), str(op.overloadpacket), op == op.overloadpacket, op._name,
                     op._overloadpacket is op.overloadpacket, op.is_view])  # fmt: skip
    return rows, str(aten), aten.name, aten.sin.default is aten.sin.default, len({aten.sin.default, aten.sin.default})


def identities_that_are_none(torch):
    return [
        attempt(call)
        for call in (
            lambda: torch.ops.aten.nosuch, lambda: torch.ops.aten.sin.nosuch, lambda: torch.ops.aten.add.default2,
            lambda: torch.ops.aten.sin_.out, lambda: torch.ops.prim.nosuch,
        )
    ]  # fmt: skip


def identities_are_called(torch):
    aten = torch.ops.aten
    x, y = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), torch.ones(2, 2)
    return (
        aten.sin.default(x), aten.add.Tensor(x, y, alpha=2), aten.mm.default(x, y), aten.sum.dim_IntList(x, [0], True),
        aten.mul(x, 3), aten._softmax.default(x, 1, False), aten.view.default(x, [4]), aten.var_mean.correction(x, [0]),
        aten.relu.default(x), aten.linalg_vector_norm.default(x), aten.constant_pad_nd.default(y, [1, 0], 2.0),
    )  # fmt: skip


@pytest.mark.parametrize("program", [identities, identities_that_are_none, identities_are_called], ids=name_of)
def test_identities(program):
    agree(program)


# -- modes that compute operators --------------------------------------------------------------------------------------


def counting_mode(torch, name):
    """A mode that counts the calls of one operator that are computed."""
    dispatch = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")

    class Counting(dispatch.TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += str(func) == name
            return func(*args, **(kwargs or {}))

    return Counting()


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("saves", [True, False])
def test_what_is_not_needed_is_not_computed(stop, saves):
    """The function runs again, but stops where its last operator saves its input, before it computes."""

    def program(torch):
        x = leaf(torch, 1.0)
        function, calls = counted(lambda x: x.sin() if saves else x.add(1))
        mode = counting_mode(torch, "aten.sin.default" if saves else "aten.add.Tensor")
        with torch.utils.checkpoint.set_checkpoint_early_stop(stop), mode:
            out = checkpoint_of(torch)(function)(x)
        forward = [len(calls), mode.count]
        with mode:
            out.backward()
        return forward, len(calls), mode.count, x.grad

    agree(program)


def test_modes_may_compute_something_else():
    """What a mode returns is the operator's result; what is recorded is the operator."""

    def program(torch):
        dispatch = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")

        class Mode(dispatch.TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                return out + 10 if func is torch.ops.aten.exp.default else out

        x = leaf(torch, 1.0)
        with Mode():
            out = x.exp()
        out.backward()
        return out, x.grad

    agree(program)


def test_the_current_mode():
    def program(torch):
        dispatch = importlib.import_module(f"{torch.__name__}.utils._python_dispatch")
        current, seen = dispatch._get_current_dispatch_mode, []

        def function(x):
            out = x.cos().exp()
            kept = current().storage[torch.ops.aten.exp.default][0].val
            seen.append([type(current()).__name__, kept, kept.requires_grad])
            return out.sin()

        selective(torch, lambda *args, **kwargs: True)(function)(leaf(torch, 1.0))
        with counting_mode(torch, "") as mode:
            return seen, current() is mode

    agree(program)

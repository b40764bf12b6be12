"""What nodes save for backward, as their attributes show it, and hooks on one saved tensor."""

import pytest
from harness import Programs, agree, attempt, leaf
from saving import hooked, names, without_addresses

PROGRAMS = program = Programs()


# -- fields ------------------------------------------------------------------------------------------------------------


@program
def a_saved_input_is_the_same_object(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    node = (x * y).grad_fn
    return node._saved_self is x, node._saved_other is y, node._raw_saved_self is node._raw_saved_self


@program
def only_custom_functions_have_saved_tensors(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(torch, 1.0, 2.0)
    nodes = [(x * x).grad_fn, x.exp().grad_fn, x.view(2).grad_fn, Twice.apply(x).grad_fn, torch.linalg.eigh(x.diag())]
    nodes = [*nodes[:4], nodes[4][0].grad_fn, nodes[0].next_functions[0][0]]
    asked = ("saved_tensors", "to_save", "variable", "needs_input_grad", "next_functions")
    return [[hasattr(node, name) for name in asked] for node in nodes]


@program
def a_saved_output_is_another_object_on_the_same_storage(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x.exp()
    saved = y.grad_fn._saved_result
    before = [saved is y, saved.grad_fn is y.grad_fn, saved._version, saved.output_nr, saved.is_leaf]
    with torch.no_grad():
        y += 1
    return before, saved, saved._version, y._version, attempt(lambda: y.grad_fn._saved_result).__class__.__name__


@program
def handles_on_a_saved_output_share_its_version(torch):
    y = leaf(torch, 1.0, 2.0).exp()
    with torch.no_grad():
        y.mul_(1.0)
    z = leaf(torch, 1.0, 2.0).exp()
    first, second = z.grad_fn._saved_result, z.grad_fn._saved_result
    with torch.no_grad():
        z.add_(1)
    return y._version, first._version, second._version, first.tolist() == z.tolist() == second.tolist()


@program
def a_saved_output_without_gradient_is_the_same_object(torch):
    x = leaf(torch, 1.0, 3.0, 2.0)
    values, indices = x.max(0)
    node = values.grad_fn
    seen = [node._saved_indices is indices, node._saved_indices.requires_grad]
    indices.add_(0)
    return seen, attempt(lambda: values.backward())


@program
def raw_fields(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0)
    nodes = [(x * y).grad_fn, (x * 2).grad_fn, x.exp().grad_fn, (x**2).grad_fn, (x + y).grad_fn, x[[0]].grad_fn,
             torch.where(x > 1, x, y).grad_fn, x.clamp(1, 2).grad_fn, torch.stack([x, y]).grad_fn]  # fmt: skip
    return [names(node) for node in nodes], [type(getattr(node, n)).__name__ for node in nodes for n in names(node)]


@program
def losses_show_targets_and_numbers_of_reductions(torch):
    x, target = leaf(torch, 1.0, 2.0), torch.tensor([1.0, -1.0])
    losses = torch.nn.functional.soft_margin_loss, torch.nn.functional.mse_loss, torch.nn.functional.huber_loss
    nodes = [loss(x, target, reduction="sum").grad_fn for loss in losses]
    return [names(node) for node in nodes], [(node._saved_target, node._saved_reduction) for node in nodes]


@program
def tensors_go_plain_values_stay(torch):
    x = leaf(torch, 1.0, 2.0)
    nodes = [(x * x).grad_fn, (x**2).grad_fn, x.sum(0).grad_fn, x.clamp(0.5, 1.5).grad_fn]
    before = [nodes[1]._saved_exponent, nodes[3]._saved_min]
    for node in nodes:
        node(torch.ones(()) if node is nodes[2] else torch.ones(2))
    out = (x * x).sum() + (x**2).sum() + x.clamp(0.5, 1.5).sum()
    second = [out.grad_fn.next_functions[0][0].next_functions[i][0] for i in (0, 1)]
    clamp = out.grad_fn.next_functions[1][0].next_functions[0][0]
    power = second[1].next_functions[0][0]
    out.backward()
    return before, power._saved_exponent, clamp._saved_min, clamp._saved_max, attempt(lambda: power._saved_self)


@program
def numbers_do_not_count_as_saved(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0)
    out = x.lerp(y, 0.5).sum()
    out.backward()
    out.backward()
    return x.grad, out.grad_fn.next_functions[0][0]._saved_weight


@program
def a_wrapped_number_is_a_tensor(torch):
    x = leaf(torch, 1.0, 2.0)
    out = x * 2.5
    shown = out.grad_fn._saved_other
    none = attempt(lambda: out.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t))
    out.grad_fn._raw_saved_other.register_hooks(lambda t: t * 2, lambda t: t * 2)
    out.sum().backward()
    return shown, out.grad_fn._saved_self, none, x.grad, attempt(lambda: out.grad_fn._saved_other)


@program
def access_after_a_backward(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0)
    out = x * y
    node, raw = out.grad_fn, out.grad_fn._raw_saved_self
    out.sum().backward()
    register = [
        attempt(lambda r=r: r.register_hooks(lambda t: t, lambda t: t)) for r in (raw, node._raw_saved_other)
    ]
    fields = [attempt(lambda name=name: getattr(node, name)) for name in ("_saved_self", "_saved_other")]
    return fields, register, attempt(lambda: raw.unpack())


@program
def a_kept_graph_keeps_what_it_saved(torch):
    x = leaf(torch, 1.0, 2.0)
    out = x.exp() * x
    out.sum().backward(retain_graph=True)
    seen = [out.grad_fn._saved_other is x, out.grad_fn._saved_self]
    out.sum().backward()
    return seen, attempt(lambda: out.grad_fn._saved_other), x.grad


@program
def missing_fields(torch):
    node = leaf(torch, 1.0, 2.0).exp().grad_fn
    missing = ("_saved_self", "_saved_nope", "_raw_saved_self")
    return [attempt(lambda name=name: getattr(node, name)) for name in missing]


@program
def indices_with_gaps(torch):
    x = torch.ones(2, 2, requires_grad=True)
    index = torch.tensor([0, 1])
    node = x[:, index].grad_fn
    raw = node._raw_saved_indices
    seen = [len(raw), [type(item).__name__ for item in raw], node._saved_indices[0], node._saved_indices[1]]
    raw[1].register_hooks(lambda t: t + 1, lambda t: t - 1)
    seen.append(node._saved_indices[1])
    seen.append(attempt(lambda: raw[0].register_hooks(lambda t: t, lambda t: t)))
    return seen, list(node._saved_self_sym_sizes)


@program
def which_version_is_saved(torch):
    x = leaf(torch, 1.0, 2.0)
    u = x * 1
    out = u * u
    u.add_(1)
    return attempt(lambda: out.sum().backward()), attempt(lambda: out.grad_fn._saved_self)


@program
def detached_in_place(torch):
    x = leaf(torch, 1.0, 2.0)
    u = x * 1
    out = u.sin()
    u.detach_()
    seen = [out.grad_fn._saved_self is u, attempt(lambda: out.sum().backward())]
    v = x.exp()
    out = v.sum()
    v.detach_()
    out.backward()
    leaf_ = leaf(torch, 1.0, 2.0)
    out = leaf_ * leaf_
    leaf_.detach_()
    return seen, x.grad, attempt(lambda: out.sum().backward())


@program
def detached_in_place_and_written(torch):
    x = leaf(torch, 1.0, 2.0)
    v = x.exp()
    out = v.sum()
    v.detach_()
    v.add_(1)
    return attempt(lambda: out.backward())


@program
def a_leaf_that_stops_requiring_grad_may_be_used(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    out = x * y
    x.requires_grad_(False)
    return torch.autograd.grad(out.sum(), y)


# -- SavedTensor -------------------------------------------------------------------------------------------------------


@program
def a_saved_tensor_cannot_be_made(torch):
    return attempt(lambda: torch._C._autograd.SavedTensor())


@program
def what_a_saved_tensor_is(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 1.0, 2.0)
    raw = (x * y).grad_fn._raw_saved_self
    seen = [isinstance(raw, torch._C._autograd.SavedTensor), raw.data is y or raw.data is x, raw.unpack() is x,
            raw.unpack_hook]  # fmt: skip
    raw.register_hooks(lambda t: 5, lambda kept: torch.ones(2))
    out = x.exp()
    result = out.grad_fn._raw_saved_result
    return seen, raw.data, callable(raw.unpack_hook), result.data, attempt(lambda: result.unpack())


@program
def register_hooks_refuses(torch):
    x = leaf(torch, 1.0, 2.0)
    raw = (x * x).grad_fn._raw_saved_self
    identity = lambda t: t
    wrong = [(), (1, 2), (identity,), (identity, 3), (3, identity), (None, None), (identity, identity, identity)]
    seen = [without_addresses(attempt(lambda args=args: raw.register_hooks(*args))) for args in wrong]
    raw.register_hooks(identity, identity)
    return seen, attempt(lambda: raw.register_hooks(identity, identity))


@program
def register_hooks_with_wrong_arity(torch):
    x = leaf(torch, 1.0, 2.0)
    first, second = x * x, x * x
    seen = [attempt(lambda: first.grad_fn._raw_saved_self.register_hooks(lambda: 1, lambda t: t))[:2]]
    second.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda: 1)
    return seen, attempt(lambda: second.sum().backward())[:2], attempt(lambda: second.grad_fn._saved_self)[:2]


@program
def registered_hooks_get_a_detached_tensor(torch):
    x, log = leaf(torch, 1.0, 2.0), []
    out = x * x

    def pack(t):
        log.append([t is x, t.requires_grad, t.is_leaf, torch.is_grad_enabled(), t])
        return t

    def unpack(t):
        log.append([torch.is_grad_enabled(), t])
        return t

    out.grad_fn._raw_saved_self.register_hooks(pack, unpack)
    saved = out.grad_fn._saved_self
    out.sum().backward()
    return log, saved is x, saved.is_leaf, saved.requires_grad, saved.grad_fn, x.grad


@program
def registered_hooks_on_an_output(torch):
    x, log = leaf(torch, 1.0, 2.0), []
    out = x.exp()
    out.grad_fn._raw_saved_result.register_hooks(lambda t: log.append(t.requires_grad) or t * 2, lambda t: t / 2)
    saved = out.grad_fn._saved_result
    out.sum().backward()
    return log, saved, saved.grad_fn is out.grad_fn, saved is out, x.grad


@program
def registered_hooks_may_change_the_gradient(torch):
    x, y = leaf(torch, 1.0, 2.0), leaf(torch, 3.0, 4.0)
    out = x * y
    out.grad_fn._raw_saved_other.register_hooks(lambda t: 2 * t, lambda t: 2 * t)
    out.sum().backward()
    return x.grad, y.grad


@program
def unpack_must_give_a_tensor(torch):
    x = leaf(torch, 1.0, 2.0)
    seen = []
    for wrong in (5, None, [1.0], "tensor"):
        out = x * x
        out.grad_fn._raw_saved_self.register_hooks(lambda t, wrong=wrong: wrong, lambda kept: kept)
        seen += [attempt(lambda out=out: out.grad_fn._saved_self), attempt(lambda out=out: out.sum().backward())]
    return seen


@program
def pack_may_not_write(torch):
    x = leaf(torch, 1.0, 2.0)
    out = x * x
    seen = [attempt(lambda: out.grad_fn._raw_saved_self.register_hooks(lambda t: t.mul_(2), lambda t: t))]

    def forward():
        with hooked(torch, lambda t: t.add_(1), lambda t: t):
            return x.exp()

    return seen, attempt(forward), x


@program
def errors_of_hooks_pass(torch):
    class Boom(Exception):
        pass

    def bad(t):
        raise Boom("boom")

    def forward(pack, unpack):
        with hooked(torch, pack, unpack):
            return x * x

    x = leaf(torch, 1.0, 2.0)
    seen = [attempt(lambda: forward(bad, lambda t: t))]
    out = forward(lambda t: t, bad)
    seen += [attempt(lambda: out.sum().backward()), attempt(lambda: out.grad_fn._saved_self)]
    (x * x).sum().backward()
    return seen, x.grad, torch._C._autograd._top_saved_tensors_default_hooks(False)


# -- fields of many operators ------------------------------------------------------------------------------------------

FIELDS = {
    "torch.stack([o(1), o(1)])": "dim",
    "o(2, 2)[:, torch.tensor([0, 1])]": "indices self_sym_sizes",
    "o(2, 2).mean()": "self_sym_sizes self_sym_numel",
    "o(2, 2).mean(1)": "dim keepdim self_sym_sizes self_sym_numel",
    "F.interpolate(o(1, 1, 2), 4, mode='linear')": "output_size align_corners scales self_sym_sizes",
    "F.interpolate(o(1, 1, 2), scale_factor=0.5, mode='linear')": "output_size align_corners scales",
    "F.interpolate(o(1, 1, 2, 2), 3)": "output_size self_sym_sizes",
    "F.conv2d(o(1, 1, 3, 3), o(1, 1, 3, 3), o(1))": "input weight bias_sym_sizes_opt padding stride dilation groups "
    "transposed output_padding",
    "F.conv2d(o(1, 1, 3, 3), o(1, 1, 3, 3))": "bias_sym_sizes_opt",
    "torch.addbmm(o(3, 3), o(1, 3, 3), o(1, 3, 3))": "batch1 batch2 alpha beta batch1_sym_argsize_0 "
    "batch1_sym_argsize_1 batch2_sym_argsize_2",
    "torch.addmm(o(2, 3), o(2, 2), o(2, 3))": "mat1 mat2 alpha beta mat1_sym_sizes mat2_sym_sizes",
    "F.unfold(o(1, 1, 3, 3), 2)": "kernel_size stride padding dilation self_sym_argsize_minus_1 "
    "self_sym_argsize_minus_2",
    "torch.logit(o(1, 1, 2), 0.5)": "self eps",
    "torch.logit(o(1, 1, 2))": "self eps",
    "torch.div(o(1), 2.0, rounding_mode='trunc')": "rounding_mode",
    "o(2) / o(2)": "self other",
    "F.threshold(o(5), 1.0, 1.0)": "self threshold",
    "o(2).tanh()": "result",
    "F.nll_loss(o(3, 5), torch.tensor([1, 0, 4]))": "weight target ignore_index reduction",
    "F.nll_loss(o(3, 5), torch.tensor([1, 0, 4]), torch.ones(5))": "weight target",
    "F.mse_loss(o(2), o(2))": "self target reduction",
    "F.embedding(torch.tensor([0, 1]), o(2, 2))": "indices",
    "o(2, 2).gather(0, torch.tensor([[0, 1]]))": "dim index sparse_grad",
    "o(2, 2).index_select(0, torch.tensor([0]))": "dim index self_sym_sizes",
    "o(2).lerp(o(2), o(2))": "self end weight",
    "o(2).clamp(0.0, 1.0)": "self min max",
    "o(2).masked_fill(torch.tensor([True, False]), 0.0)": "mask",
    "torch.where(o(2) > 0, o(2), 0.0)": "condition",
    "F.softplus(o(2))": "self beta threshold",
    "F.leaky_relu(o(2), 0.1)": "self negative_slope",
    "o(2, 2).softmax(1)": "result dim",
    "o(2, 2).logsumexp(1)": "self result dim keepdim",
    "torch.where(o(2) > 0, o(2), o(2))": "condition",
    "o(3).max(0)[0]": "dim keepdim indices",
    "o(2, 2).transpose(0, 1)": "dim0 dim1",
    "o(4).view(2, 2)": "self_sym_sizes",
    "o(1).expand(3)": "self_sym_sizes",
    "o(2, 2).select(0, 1)": "dim index self_sym_sizes",
    "o(2)**o(2)": "self exponent result",
    "F.gelu(o(2), approximate='tanh')": "self approximate",
}
"""Expressions of tensors of ones, and the fields that are looked at."""


@pytest.mark.parametrize("expression", FIELDS)
def test_fields(expression):
    def run(torch):
        def o(*shape):
            return torch.ones(*shape, requires_grad=True)

        node = eval(expression, {"torch": torch, "F": torch.nn.functional, "o": o}).grad_fn
        values = [getattr(node, f"_saved_{field}") for field in FIELDS[expression].split()]
        raw = [hasattr(node, f"_raw_saved_{field}") for field in FIELDS[expression].split()]
        return [list(v) if isinstance(v, tuple) else v for v in values], raw

    agree(run)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

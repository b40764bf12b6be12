"""The graph of views and writes: what is recorded, where gradients go, which nodes run."""

import pytest
from harness import Programs, agree, attempt
from viewing import chain, counted, gradients, leaf, name, now, parents, place, places

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()

# -- nodes -------------------------------------------------------------------------------------------------------------


@program
def a_write_through_a_view(torch):
    a, w = leaf(torch, 2, 3), leaf(torch, 3)
    x = a * 1
    v = x[0]
    v.mul_(w)
    return places(x, v), gradients(torch, x, a, w), chain(v)


@program
def a_write_through_a_view_of_a_constant(torch):
    w = leaf(torch, 3)
    x = counted(torch, 2, 3)
    v, u = x[0], x.view(-1)[2:5]
    v.mul_(w)
    return places(x, v, u), gradients(torch, [x, u * u], w), chain(u)


@program
def a_constant_written_to_a_recorded_tensor(torch):
    a = leaf(torch, 2, 3)
    x = a * 1
    x[0].mul_(torch.tensor([1.0, 2.0, 3.0]))
    x[1].zero_()
    x[:, 1].fill_(4)
    return place(x), chain(x), gradients(torch, x, a)


@program
def views_of_views(torch):
    a = leaf(torch, 2, 3)
    x = a * 1
    v = x.t()
    u = v[1:]
    w = u[0]
    w.mul_(2)
    u.mul_(3)
    return places(x, v, u, w), [chain(item) for item in (x, v, u, w)], gradients(torch, [x, v * u[0]], a)


@program
def writes_in_turns(torch):
    a = leaf(torch, 2, 3)
    x = a * 1
    v, u = x[0], x[:, 1]
    seen = []
    for write in (v, x, u, v, x):
        write.mul_(2)
        seen.append([chain(x), name(v), name(u), x._version])
    return seen, gradients(torch, [x, v * v, u], a)


@program
def history_of_the_base_and_then_of_the_view(torch):
    a = leaf(torch, 3)
    x = a * 1
    v = x[:2]
    before = v.grad_fn
    x.mul_(2)
    after = v.grad_fn
    return before is after, after is v.grad_fn, before.name(), after.name(), parents(v), gradients(torch, v * v, a)


@program
def reading_grad_fn_without_grad_mode(torch):
    a = leaf(torch, 3)
    x = a * 1
    v = x[:2]
    x.mul_(2)
    with torch.no_grad():
        seen = [place(v, x)]
        v.grad_fn.register_hook(lambda *_: seen.append("ran"))
        doubled = v * 2
    return seen, doubled.requires_grad, gradients(torch, v * v, a), seen[1:]


@program
def a_write_without_grad_mode_to_base_and_view(torch):
    a = leaf(torch, 3)
    x = a * 1
    v = x[:2]
    with torch.no_grad():
        x.mul_(2)
        first = places(x, v)
        v.mul_(3)
    return first, places(x, v), gradients(torch, [x, v], a)


@program
def a_constant_base_written_to_without_grad_mode(torch):
    w = leaf(torch, 2)
    x = counted(torch, 3)
    v = x[:2]
    with torch.no_grad():
        v.mul_(w)
    first = places(x, v)
    v.mul_(w)
    return first, places(x, v), gradients(torch, x, w)


@program
def strides_of_the_regenerated_node(torch):
    a = leaf(torch, 2, 3)
    x = a * 1
    v = x.t()[1:]
    x.mul_(2)
    node = v.grad_fn
    names = ("_saved_size", "_saved_stride", "_saved_storage_offset")
    return [[name in dir(node), attempt(lambda name=name: getattr(node, name))] for name in names]


@program
def expanded_views_of_what_was_written_to(torch):
    a = leaf(torch, 3, 1)
    x = a * 1
    e = x.expand(3, 4)
    x.mul_(2)
    return place(e, x), chain(e), gradients(torch, e, a)


@program
def windows_that_overlap_of_what_was_written_to(torch):
    a = leaf(torch, 4)
    x = a * 1
    u = x.unfold(0, 2, 1)
    s = x.as_strided((3, 3), (1, 0))
    x.mul_(2)
    return places(x, u, s), gradients(torch, [u * u, s], a)


@program
def complex_parts(torch):
    a = leaf(torch, 3, dtype=torch.complex64)
    x = a * (1 + 2j)
    pairs, real, imag = torch.view_as_real(x), x.real, x.imag
    pairs[0].mul_(2)
    seen = [places(x, pairs, real, imag)]
    real.mul_(3)
    imag.copy_(real)
    return seen, places(x, pairs, real, imag), gradients(torch, [x * x, pairs, imag], a)


@program
def conjugates_written_to(torch):
    a = leaf(torch, 3, dtype=torch.complex64)
    x = a * (1 + 2j)
    c = x.conj()
    c.mul_(1j)
    seen = [places(x, c)]
    x.mul_(2)
    part = c[:2]
    part.mul_(3)
    return seen, places(x, c, part), gradients(torch, [x * x, c], a)


@program
def complex_made_of_pairs(torch):
    a = leaf(torch, 3, 2)
    x = a * 1
    c = torch.view_as_complex(x)
    c[1:].mul_(1j)
    seen = [places(x, c)]
    x.mul_(2)
    return seen, places(x, c), gradients(torch, [x, c * c], a)


@program
def real_views_of_a_constant_complex_base(torch):
    w = leaf(torch, 3)
    x = counted(torch, 3, dtype=torch.complex64)
    real = x.real
    real.mul_(w)
    return places(x, real), chain(x), gradients(torch, x * x, w)


@program
def integer_views_of_what_requires_grad(torch):
    a = leaf(torch, 3)
    x = a * 1
    bits = x.view(torch.int32)
    account = [places(x, bits)]
    account.append(attempt(lambda: now(bits.fill_(0))))
    account.append(attempt(lambda: places(x, bits)))
    return account, gradients(torch, x, a)


@program
def a_node_for_every_write(torch):
    a = leaf(torch, 3)
    x = a * 1
    first = x.grad_fn
    v = x[0]
    v.mul_(2)
    second = x.grad_fn
    v.add_(1)
    third = x.grad_fn
    return (
        second.next_functions[0][0] is first,
        third.next_functions[0][0] is second,
        v.grad_fn.next_functions[0][0] is third,
        [node._sequence_nr() < after._sequence_nr() for node, after in ((first, second), (second, third))],
    )


@program
def the_metadata_of_a_rebased_base(torch):
    a = leaf(torch, 2, 3)
    x = a * 1
    x[0].mul_(2)
    node = x.grad_fn
    edge = torch.autograd.graph.get_gradient_edge(x)
    return type(node).__name__, node.name(), edge.node is node, edge.output_nr, x.output_nr, node.metadata


@program
def an_output_that_is_not_the_first(torch):
    a = leaf(torch, 4)
    values, _ = torch.sort(a * 1)
    first, second = torch.unsafe_split(a * 1, 2)
    second[0].mul_(3)
    values[1:].mul_(2)
    return places(values, first, second), gradients(torch, [values, first, second], a)


# -- gradients ---------------------------------------------------------------------------------------------------------


@program
def rows_filled_in_a_loop(torch):
    h, w = leaf(torch, 3), leaf(torch, 3)
    out = torch.zeros(4, 3)
    state = h * 1
    for i in range(4):
        state = state * w
        out[i] = state
    return chain(out), parents(out), out._version, gradients(torch, out, h, w)


@program
def rows_that_read_earlier_ones(torch):
    w = leaf(torch, 2)
    out = torch.ones(4, 2)
    for i in range(1, 4):
        out[i] = out[i - 1].clone() * w
    return gradients(torch, out, w)


@program
def rows_that_read_earlier_ones_without_a_copy(torch):
    w = leaf(torch, 2)
    out = torch.ones(4, 2)
    for i in range(1, 4):
        out[i] = out[i - 1] * w
    return gradients(torch, out, w)


@program
def a_mask_assigned(torch):
    a, w = leaf(torch, 2, 3), leaf(torch, 2)
    x = a * 1
    x[torch.tensor([[True, False, False], [False, False, True]])] = w
    v = x[1]
    v[v > 4.5] = 0.0
    return places(x, v), chain(x), gradients(torch, x, a, w)


@program
def positions_assigned(torch):
    a, w = leaf(torch, 3, 2), leaf(torch, 2)
    x = a * 1
    x[torch.tensor([2, 0])] = w
    x[1, torch.tensor([1])] = w[:1]
    x.t()[0, 1:] += w
    return place(x), chain(x), gradients(torch, x, a, w)


@program
def augmented_items(torch):
    a, w = leaf(torch, 2, 3), leaf(torch, 3)
    x = a * 1
    x[0] += w
    x[:, 1] *= 2
    x[1, 1:] -= x[0, 1:].clone()
    x[..., None][1] /= 2
    return chain(x), x._version, gradients(torch, x, a, w)


@program
def an_item_assigned_with_itself(torch):
    a = leaf(torch, 4)
    x = a * 1
    x[1:3] = x[1:3]
    x[0] = x[3] * 2
    return chain(x), gradients(torch, x, a)


@program
def views_that_are_not_contiguous(torch):
    a, w = leaf(torch, 2, 3, 4), leaf(torch, 2)
    x = a * 1
    v = x.permute(2, 0, 1)[1::2, :, 2]
    v.mul_(w)
    x.transpose(0, 2)[3].add_(v[0].sum())
    return places(x, v), gradients(torch, [x, v * v], a, w)


@program
def a_base_that_is_not_contiguous(torch):
    a = leaf(torch, 3, 2)
    x = a.t().contiguous().t() * 1
    y = a.t() * 1
    v, u = x[1:], y[:, 1]
    v.mul_(2)
    u.mul_(3)
    return places(x, v), places(y, u), gradients(torch, [x, y * y], a)


@program
def a_reshaped_copy_is_no_view(torch):
    a = leaf(torch, 2, 3)
    x = a * 1
    r, v = x.t().reshape(-1), x.reshape(-1)
    r.mul_(2)
    v.mul_(3)
    return places(x, r, v), gradients(torch, [x, r], a)


@program
def written_values_that_need_casts_and_broadcasts(torch):
    a, w = leaf(torch, 2, 3), torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    x = a * 1
    x[0] = w
    x.t()[1:].copy_(torch.tensor([[1, 2]]))
    x[1, 0:1].copy_(w)
    return chain(x), parents(x), gradients(torch, x, a, w)


@program
def what_was_overwritten_gets_zeros(torch):
    a, b = leaf(torch, 3), leaf(torch, 3)
    x = a * 1
    x[:] = b
    y = a * 1
    y.view(3).copy_(b)
    z = a * 1
    z[:2].zero_()
    return [chain(item) for item in (x, y, z)], gradients(torch, [x, y], a, b), gradients(torch, z, a)


@program
def a_saved_output_of_a_write_through_a_view(torch):
    a = leaf(torch, 4)
    x = a * 0.1
    x[1:3].exp_()
    x.view(2, 2)[0].sigmoid_()
    return gradients(torch, x, a)


@program
def a_saved_input_seen_through_a_view(torch):
    a = leaf(torch, 4)
    x = a * 1
    y = x[:2] * x[2:]
    x[3].add_(1)
    return gradients(torch, y, a)


@program
def a_sum_of_base_and_views(torch):
    a = leaf(torch, 2, 2)
    x = a * 1
    v = x[0]
    y = v * 3
    v.add_(1)
    z = v * 5
    x.t()[1].mul_(2)
    return gradients(torch, [x, y, z, v], a)


# -- undefined gradients, nodes that are not needed --------------------------------------------------------------------


def watching(torch, log, mark):
    """A function that lets the gradient pass and notes whether there was one."""

    class Watching(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            log.append([mark, None if g is None else g.tolist()])
            return g

    return Watching.apply


@program
def an_undefined_gradient_of_a_base(torch):
    """The gradient of a base that nobody uses is undefined, not zero."""
    log, a = [], leaf(torch, 2)

    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return None

    x = watching(torch, log, "before")(a)
    x.view_as(x)[:1].mul_(3)
    y = Nothing.apply(x)
    y.sum().backward()
    return log, a.grad


@program
def an_undefined_gradient_beside_a_defined_one(torch):
    log, a, w = [], leaf(torch, 4), leaf(torch, 2)
    x = watching(torch, log, "base")(a)
    x[:2].copy_(watching(torch, log, "value")(w))
    x[0].detach()
    x[2:].sum().backward()
    return log, a.grad, w.grad


@program
def an_input_without_gradient_in_a_write(torch):
    """``x[0] *= w`` where only one of the two requires grad."""
    a, w = leaf(torch, 2), leaf(torch, 2)
    x = a * 1
    x[:1].mul_(2)
    c = counted(torch, 2)
    c[1:].mul_(w[0])
    return [chain(x), parents(x)], [chain(c), parents(c)], gradients(torch, [x, c], a, w)


@program
def nodes_that_are_not_needed_do_not_run(torch):
    log, a, b = [], leaf(torch, 2), leaf(torch, 2)
    x = watching(torch, log, "a")(a)
    value = watching(torch, log, "b")(b)
    x[:].mul_(value)
    grads = [torch.autograd.grad(x.sum(), [wanted], retain_graph=True)[0].tolist() for wanted in (a, b)]
    return grads, log


@program
def needed_through_the_view_only(torch):
    log, a, b = [], leaf(torch, 3), leaf(torch, 3)
    x = watching(torch, log, "a")(a)
    v = x[1:]
    v.mul_(watching(torch, log, "b")(b)[1:])
    one = torch.autograd.grad(v.sum(), b, retain_graph=True)[0].tolist()
    two = torch.autograd.grad((x[0] + v[0]), a, retain_graph=True)[0].tolist()
    (x * x).sum().backward(inputs=[b])
    return one, two, log, a.grad, b.grad


@program
def gradients_of_intermediate_tensors(torch):
    a = leaf(torch, 3)
    x = a * 1
    old = torch.autograd.graph.get_gradient_edge(x)
    v = x[1:]
    old_view = torch.autograd.graph.get_gradient_edge(v)
    v.mul_(2)
    total = (x * x).sum()
    return [
        attempt(lambda wanted=wanted: torch.autograd.grad(total, wanted, retain_graph=True, allow_unused=True)[0])
        for wanted in (x, v, old, old_view, a)
    ]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

"""Steps that are about transforms over functions that write: to what they capture, to what they are given, to
statistics; and modules that are run side by side."""

from __future__ import annotations

from .operators import templates
from .steps import indented, step
from .writer import Writer

WRITTEN = templates("""
    {m}.add_({v}.detach()) | {m}.add_({v}) | {m}.add_({v}.sum()) | {m}.add_(1) | {m}.copy_({v}) | {m}[0] = {v}[0]
    {m}.mul_(2) | {m}.zero_() | {m}.fill_(1.5) | {m}.lerp_({v}.detach(), 0.5) | {m}[0] = 0.5 | {m} *= {v}.detach()
    {m}.masked_fill_({v} > 0, 0.5) | {m}.clamp_(-1, 1) | torch.add({m}, 1, out={m}) | {m}.data.add_(1)
    {m}.detach().mul_(2) | {m}.copy_({v}.detach()) | {m}.index_add_(0, torch.tensor([0]), {v}[:1].detach())
    {m}.addcmul_({v}, {v}) | {m}.index_copy_(0, torch.tensor([0]), {v}[:1]) | {m}.index_fill_(0, torch.tensor([0]), 2)
    {m}.index_put_((torch.tensor([0]),), {v}[:1]) | {m}.scatter_(0, torch.zeros_like({m}, dtype=torch.long), 2.0)
    {m}.view(-1)[0] = 3 | {m}.sin_() | {m}[0].add_({v}[0].detach()) | {m}.sub_({v}.mean().detach(), alpha=0.5)
    torch.sin({v}, out={m}) | {m}.relu_() | {m}.requires_grad_() | {m}.cumsum_(0)
    {m}.put_(torch.tensor([0]), {v}.flatten()[:1])
    {m}.scatter_add_(0, torch.zeros_like({m}, dtype=torch.long), {v}) | {m}.set_({v}) | {m}.resize_(1) | {m}.t_()
    {m}.diagonal().zero_() | {m}.where({v} > 0, {v}).add_(1) | {m}.masked_scatter_({v} > 0, {v})
    {m}.div_({v} ** 2 + 1)
    torch._foreach_add_([{m}], 1) | {m}.retain_grad() | {m}.detach_() | {m}.unsqueeze_(0) | {m}.squeeze_()
    {m}.exp_().tanh_()
""")

RESULTS = templates("""
    {v}.pow(2).sum() | ({v} * {m}).sum() | ({v} * {m}.detach()).sum() | {v}.sin().sum() + {m}.sum() | {m}.sum()
""")

OVER = templates("""
    torch.func.grad({f})({a}, {b}) | torch.func.grad({f}, argnums=(0, 1))({a}, {b})
    torch.func.grad({f}, argnums=1)({a}, {b})
    torch.func.vmap({f})({aa}, {bb}) | torch.func.vmap({f}, (0, None))({aa}, {b})
    torch.func.vmap({f}, (None, 0))({a}, {bb})
    torch.func.jvp({f}, ({a}, {b}), ({a} * 2, {b} * 2)) | torch.func.vjp({f}, {a}, {b})[1](torch.ones(()))
    torch.func.jacrev({f})({a}, {b}) | torch.func.jacfwd({f})({a}, {b}) | torch.func.functionalize({f})({a}, {b})
    torch.func.functionalize({f}, remove='mutations_and_views')({a}, {b}) | torch.func.hessian({f})({a}, {b})
    torch.func.vmap(torch.func.grad({f}), (0, None))({aa}, {b}) | torch.func.vmap(torch.func.grad({f}))({aa}, {bb})
    torch.func.grad(lambda x, y: torch.func.vmap({f}, (0, None))(x, y).sum())({aa}, {b})
    torch.func.grad_and_value({f})({a}, {b}) | torch.func.grad(torch.func.functionalize({f}))({a}, {b})
    torch.func.vmap({f}, (0, None), chunk_size=1)({aa}, {b})
    torch.func.jvp(torch.func.grad({f}), ({a}, {b}), ({a} * 2, {b} * 2))
    torch.func.vmap(torch.func.vmap({f}, (0, None)), (0, None))({aa}[None], {b})
    torch.vmap({f}, (-1, None))({aa}.movedim(0, -1), {b})
    torch.autograd.functional.jacobian({f}, ({a}, {b})) | torch.autograd.functional.hessian({f}, ({a}, {b}))
    torch.autograd.functional.jacobian({f}, ({a}, {b}), vectorize=True)
    torch.autograd.functional.jacobian({f}, ({a}, {b}), vectorize=True, strategy='forward-mode')
    torch.autograd.functional.vjp({f}, ({a}, {b})) | torch.autograd.functional.jvp({f}, ({a}, {b}), ({a} * 2, {b} * 2))
    torch.func.vjp({f}, {a}, {b})[0]
""")


def told(name: str, expression: str) -> str:
    """Statements that note what is in a result, whatever tree it is."""
    return f"{name} = {expression}\nlog('{name}', *torch.utils._pytree.tree_leaves({name}))"


@step(6, "written transforms")
def over_a_write(w: Writer) -> str | None:
    """A transform of a function that writes to what it captures, or to an argument."""
    dtype = w.choice((w.module.float32, w.module.float32, w.module.float64))
    shape = w.choice(((3,), (2, 3), (2, 2)))
    x, y, captured, name = w.fresh("b"), w.fresh("b"), w.new_name(), w.fresh("f")
    grad = ", requires_grad=True" if w.chance(15) else ""
    head = [
        f"{x} = {w.literal(shape, dtype)}",
        f"{y} = {w.literal(shape, dtype)}",
        f"{captured} = {w.literal(shape, dtype, grad)}{w.choice(('', '', '.clone()', '.t().clone().t()'))}",
    ]
    target = w.choice((captured, captured, "y", "x", "inner", "captured view", "y view"))
    lines = {"inner": ["c = torch.zeros_like(x)"], "captured view": [f"c = {captured}[:1]"], "y view": ["c = y[:1]"]}
    body = list(lines.get(target, []))
    m = "c" if target in lines else target
    calls = [w.choice(WRITTEN).format(m=m, v="x" if w.chance(85) else "y") for _ in range(w.number(1, 2))]
    shield = w.choice(("", "", "", "with torch.no_grad():"))
    body += [indented(shield, call) if shield else call for call in calls]
    body.append(f"return {w.choice(RESULTS).format(m=m, v='x')}")
    slots = {"f": name, "a": x, "b": y, "aa": f"torch.stack([{x}, {x} * 2])", "bb": f"torch.stack([{y}, {y} + 1])"}
    found = w.fresh("b")
    over = told(found, w.choice(OVER).format_map(slots))
    function = indented(f"def {name}(x, y):", "\n".join(body))
    return "\n".join([*head, function, over, f"log('after', {x}, {y}, {captured})"])


NORMS = templates("""
    F.batch_norm({v}, {r}, {s}, training=True) | F.batch_norm({v}, {r}, {s}, training=True, momentum=0.5)
    F.batch_norm({v}, {r}, {s}, {s} * 2, {s} + 1, True) | F.batch_norm({v}, {r}, {s})
    F.instance_norm({v}, {r}, {s}, use_input_stats=True)
    F.instance_norm({v}, {r}, {s}, momentum=0.5) | torch.batch_norm({v}, None, None, {r}, {s}, True, 0.1, 1e-5, False)
    F.instance_norm({v}, {r}, {s}, use_input_stats=False) | F.batch_norm({v}, {r}, {s}, training=True, momentum=0.0)
    torch.native_batch_norm({v}, None, None, {r}, {s}, True, 0.1, 1e-5)[0]
    F.batch_norm({v}, {r}, {s}, training=True, eps=0.1)
""")

NORMED = templates("""
    torch.func.vmap(lambda v, r, s: {n}, ({i}, {j}, {k}))({vv}, {r}, {s})
    torch.func.vmap(lambda v, r, s: {n}, ({i}, {j}, {k}))({vv}, {r}, {s})
    torch.func.grad(lambda v: ({nc}).pow(2).sum())({v}) | torch.func.jvp(lambda v: {nc}, ({v},), ({v} * 2,))
    torch.func.vmap(lambda v: {nc})({vv}) | torch.func.vjp(lambda v: {nc}, {v})[1](torch.ones_like({v}))
    torch.func.jacrev(lambda v: ({nc}).sin().sum())({v}) | torch.func.functionalize(lambda v: {nc})({v})
    torch.func.grad(lambda v, r, s: ({n}).sin().sum())({v}, {r}, {s}) | torch.func.jacfwd(lambda v: ({nc}).sum())({v})
    torch.func.vmap(torch.func.grad(lambda v, r, s: ({n}).sin().sum()), (0, {j}, {k}))({vv}, {r}, {s})
    torch.func.grad(lambda v: torch.func.vmap(lambda v, r, s: {n}, (0, {j}, {k}))(v, {r}, {s}).sin().sum())({vv})
""")


@step(4, "written transforms")
def statistics(w: Writer) -> str | None:
    """A transform over a norm that writes its running statistics."""
    r, s, v = w.fresh("b"), w.fresh("b"), w.fresh("b")
    n = w.choice(NORMS)
    shape = (2, 3, 2) if "instance" in n or w.chance(30) else (2, 3)
    i, j, k = w.choice(((0, 0, 0), (0, 0, 0), (0, None, None), (None, 0, 0), (0, None, 0), (0, 0, None)))
    count = "2, " if j == 0 else "", "2, " if k == 0 else ""
    template = w.choice(NORMED)
    if "{j}" not in template:
        count = "", ""
    head = [
        f"{r} = torch.zeros({count[0]}3)",
        f"{s} = torch.ones({count[1]}3)",
        f"{v} = {w.literal(shape, w.module.float32)}",
    ]
    slots = {"n": n.format(v="v", r="r", s="s"), "nc": n.format(v="v", r=r, s=s), "i": i, "j": j, "k": k,
             "vv": f"torch.stack([{v}, {v} * 2])" if i == 0 or "(0, {j}" in template or "{i}" not in template else v,
             "v": v, "r": r, "s": s}  # fmt: skip
    return "\n".join([*head, told(w.fresh("b"), template.format_map(slots)), f"log('statistics', {r}, {s})"])


MODULES = templates("""
    torch.nn.BatchNorm1d, 3 | torch.nn.BatchNorm1d, 3, momentum=None | torch.nn.BatchNorm1d, 3, affine=False
    torch.nn.InstanceNorm1d, 3, affine=True, track_running_stats=True | torch.nn.Linear, 3, 2 | torch.nn.LayerNorm, 3
    torch.nn.BatchNorm1d, 3, track_running_stats=False | torch.nn.Conv1d, 3, 2, 1 | torch.nn.PReLU
    torch.nn.GroupNorm, 1, 3
""")

SIDE_BY_SIDE = templates("""
    torch.func.vmap({call}, (0, 0, None))({p}, {q}, {x})
    torch.func.vmap({call}, (0, 0, 0))({p}, {q}, torch.stack([{x}, {x} * 2]))
    torch.func.grad(lambda p: torch.func.vmap({call}, (0, 0, None))(p, {q}, {x}).pow(2).sum())({p})
    torch.func.vmap(torch.func.grad(lambda p, b, v: {call1}.pow(2).sum()), (0, 0, None))({p}, {q}, {x})
    torch.func.jvp(lambda v: torch.func.vmap({call}, (0, 0, None))({p}, {q}, v), ({x},), ({x} * 2,))
    torch.func.vmap({call}, (0, None, None))({p}, dict({m}.named_buffers()), {x}) | {m}({x})
    torch.func.functional_call({m}, (dict({m}.named_parameters()), dict({m}.named_buffers())), ({x},))
    torch.func.grad(lambda p: torch.func.functional_call({m}, p, ({x},)).sin().sum())(dict({m}.named_parameters()))
    torch.func.vmap({call}, (0, 0, None), randomness='different')({p}, {q}, {x})
    torch.func.jacrev(lambda v: torch.func.functional_call({m}, dict({m}.named_parameters()), (v,)).sum())({x})
""")


@step(4, "written transforms")
def side_by_side(w: Writer) -> str | None:
    """Several modules as one, and what becomes of their buffers."""
    p, q, m, x = w.fresh("b"), w.fresh("b"), w.fresh("b"), w.fresh("b")
    kind = w.choice(MODULES)
    shape = (2, 3, 2) if any(word in kind for word in ("Instance", "Conv", "Group")) else (2, 3)
    head = [f"{p}, {q}, {m} = ensemble({kind})", f"{x} = {w.literal(shape, w.module.float32)}"]
    once = f"torch.func.functional_call({m}, (p, b), (v,))"
    slots = {"call": f"lambda p, b, v: {once}", "call1": once, "p": p, "q": q, "m": m, "x": x}
    lines = [told(w.fresh("b"), w.choice(SIDE_BY_SIDE).format_map(slots)) for _ in range(w.number(1, 2))]
    return "\n".join([*head, *lines, f"log('buffers', *{q}.values(), *{m}.buffers())"])

"""Steps that are about second derivatives that are zero, about gradients asked for twice, and about accumulators."""

from __future__ import annotations

from .operators import templates
from .steps import step
from .writer import Slots, Writer

LINEAR = templates("""
    {x}.relu() | {x}.abs() | {x}.sign() | torch.sgn({x}) | {x}.floor() | {x}.clamp(-1, 1) | {x}.max() | {x}.amax({d})
    F.max_pool1d({x}[None], 2) | F.avg_pool1d({x}[None], 2) | F.adaptive_avg_pool1d({x}[None], 2) | {x}.sum({d})
    F.adaptive_max_pool1d({x}[None], 1) | F.kl_div({x}, {t}.softmax(-1), reduction='sum') | F.l1_loss({x}, {t})
    F.nll_loss({x}, torch.zeros({x}.shape[0], dtype=torch.long)) | F.leaky_relu({x}) | {x}.mean() | {x} * 2 | {x}[0]
    {x}.sort({d}, stable=True)[0] | {x}.cumsum({d}) | F.linear({x}, {t}) | {x} @ {t}.mT | {x}.min({d})[0] | {x} + 1
    F.hinge_embedding_loss({x}, {t}.sign()) | F.margin_ranking_loss({x}, {t}, {t}.sign())
    F.threshold({x}, 0.25, 2.0)
    F.multi_margin_loss({x}, torch.tensor([0, 1])) | F.hardtanh({x}) | F.relu6({x}) | F.hardshrink({x}) | {x}.clone()
    F.max_pool2d({x}[None, None], 2) | F.avg_pool2d({x}[None, None], 2) | F.interpolate({x}[None], scale_factor=2.0)
    torch.where({mask}, {x}, {t}) | {x}.masked_fill({mask}, 0.5) | {x}.cummax({d})[0]
    F.fold({x}[None], (1, 2), (1, 1))
    {x}.scatter_add({d}, torch.zeros_like({x}, dtype=torch.long), {t}) | {x}.norm(float('inf')) | {x}.norm(1)
    {x}.trunc()
    F.smooth_l1_loss({x}, {t}, beta=0.0) | torch.dist({x}, {t}, 1) | {x}.nansum() | {x}.diff() | torch.frac({x})
    {x}.real
    F.embedding(torch.tensor([0, 0]), {x}) | {x}.angle() | F.hardsigmoid({x}) | F.hardswish({x}) | {x}.quantile(0.4)
    torch.cdist({x}, {t}, p=1) | F.pixel_shuffle({x}[:, None, None].repeat(4, 1, 1, 1).transpose(0, 1), 2) | {x}.var()
    F.multilabel_margin_loss({x}, torch.zeros_like({x}, dtype=torch.long))
    F.max_pool3d({x}[None, None, None], (1, 2, 2))
    F.binary_cross_entropy({x}.sigmoid(), {t}.sigmoid()) | F.cross_entropy({x}, {t}.softmax(-1)) | {x}.prod()
    {x} ** 2
""")

SECOND = templates("""
    torch.autograd.grad({g}.sum(), {x}) | torch.autograd.grad({g}.sum(), {x}, allow_unused=True)
    torch.autograd.grad({g}.sum(), {x}, materialize_grads=True, create_graph=True)
    torch.autograd.grad(({g} * {x}).sum(), {x}, create_graph=True) | torch.autograd.grad({g}.pow(2).sum(), {x})
    torch.autograd.grad({g}.sum(), [{x}, {y}], allow_unused=True, create_graph=True)
    torch.autograd.grad({g}.sum(), [{y}], materialize_grads=True, create_graph=True)
    torch.autograd.grad(torch.autograd.grad(({g} * {x}).sum(), {x}, create_graph=True)[0].sum(), {x})
""")


@step(6, "zeros")
def second(w: Writer) -> str | None:
    """The second derivative of what has none, or a first one."""
    x, y, g = w.recorded(), w.recorded(), w.fresh("g")
    if x is None or y is None:
        return None
    f = w.choice(LINEAR).format_map(Slots(w, x))
    weight = w.choice(("", "", ".pow(2)", ".sin()"))
    options = w.choice(("create_graph=True", "create_graph=True", "create_graph=True, materialize_grads=True"))
    first = f"{g}, = torch.autograd.grad(({f}){weight}.sum(), [{x}], {options})\nlog('first', {g}, {g}.requires_grad)"
    again = w.choice(SECOND).format(g=g, x=x, y=y)
    return f"{first}\nlog('second', *[(h is None or h.requires_grad, h) for h in {again}])\n" + (
        f"log('numbers', *[h for h in {again}])" if w.chance(80) else f"{g}.sum().backward()"
    )


@step(3, "zeros")
def asked_twice(w: Writer) -> str | None:
    """The gradient of one tensor, asked for several times."""
    x, y, g = w.recorded(), w.recorded(), w.fresh("g")
    if x is None or y is None:
        return None
    wanted = w.choice((f"{y}, {y}", f"{y}, {y}, {x}", f"{x}, {y}, {x}", f"{y}, {y}.view_as({y})"))
    options = w.choice(("", ", create_graph=True", ", allow_unused=True", ", materialize_grads=True"))
    root = x + w.choice((".sum()", ".pow(2).sum()", ".sin().sum()"))
    ask = f"{g} = torch.autograd.grad({root}, [{wanted}]{options})\nlog('asked', *{g}, [{g}[0] is h for h in {g}])"
    if w.chance(50):
        ask += f"\nwith torch.no_grad():\n    {g}[0] is None or {g}[0].mul_(2)\nlog('written', *{g})"
    return ask


ACCUMULATED = templates("""
    {k}.register_hook(lambda gi, go: log('{h}', len(gi), *go, {x}.grad)) | {x}.grad.mul_(2)
    {k}.register_prehook(lambda go: log('{h}', *go, {x}.grad))
    {k}.register_prehook(lambda go: (go[0] * 2,)) | {k}.register_prehook(lambda go: (None,))
    {k}.register_hook(lambda gi, go: {x}.grad.mul_(-1) is None or None)
    {x}.register_post_accumulate_grad_hook(lambda p: log('{h}', p.grad, p is {x}))
    {x}.register_post_accumulate_grad_hook(lambda p: setattr(p, 'grad', None))
    {x}.register_hook(lambda g: log('{h}', g, {x}.grad)) | {x}.register_hook(lambda g: g.neg())
    {k}.register_hook(lambda gi, go: log('{h}', same_memory(go[0], {x}.grad)))
    {x}.register_hook(lambda g: log('{h}', {y}.grad)) | {k}.register_hook(lambda gi, go: log('{h}', {y}.grad))
""")


@step(6, "accumulators")
def accumulator(w: Writer) -> str | None:
    """Hooks of all kinds on one leaf and its accumulator, and a backward or two."""
    x = w.floating(lambda x: x.requires_grad and x.is_leaf)
    y = w.floating(lambda x: x.requires_grad and x.is_leaf)
    if x is None or y is None:
        return None
    k = w.fresh("k")
    node = w.choice((f"torch.autograd.graph.get_gradient_edge({x}).node",
                     f"{x}.view_as({x}).grad_fn.next_functions[0][0]"))  # fmt: skip
    lines = [f"{k} = {node}", f"log('{k}', {k}.name(), {k}.variable is {x})"]
    for hook in w.chances.choices(ACCUMULATED, k=w.number(1, 4)):
        h = w.fresh("h")
        text = hook.format(k=k, x=x, y=y, h=h)
        lines.append(f"{h} = {text}" if "register" in text else f"{x}.grad is None or {text}")
    loss = w.choice(("({x} * {y}).sum()", "({x}.sum() * {y}.sum())", "{x}.sin().sum() + {x}.sum() + {y}.sum()",
                     "{x}.expand(2, *{x}.shape).sum() + {y}.sum()", "{x}.sum()")).format(x=x, y=y)  # fmt: skip
    options = w.choice(("", "", "create_graph=True", f"inputs=[{x}]"))
    lines += [f"({loss}).backward({options})"] * w.number(1, 2)
    lines.append(f"log('grads', {x}.grad, {y}.grad)")
    return "\n".join(lines)

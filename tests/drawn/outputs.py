"""Steps that are about ``out=`` that is a part of something larger, and the orders of arguments of long ago."""

from __future__ import annotations

from .operators import templates
from .steps import indented, step
from .writer import Slots, Writer

PARTS = templates("""
    {m}[:, 1] | {m}[1:3] | {m}.t() | {m}[::2] | {m}[0] | {m}.view(-1)[2:7] | {m}[:, ::2] | {m}.view(-1)[3] | {m}[1:1]
    {m}.view(-1)[::3] | {m}.diagonal() | {m}[:, 1:] | {m}.t()[1] | {m}.view(-1) | {m}.detach()[1]
    {m}.as_strided((2, 2), (3, 1)) | {m}.expand(1, 4, 3) | {m}[2].unsqueeze(0) | {m}.unflatten(0, (2, 2))[1]
""")

FACTORIES = templates("""
    torch.linspace(0, 1, {n}, out={o}) | torch.arange({n}, out={o}) | torch.arange(0.5, {n}, out={o})
    torch.logspace(0, 2, {n}, out={o}) | torch.logspace(0, 1, {n}, 2.0, out={o}) | torch.range(0, {n}, out={o})
    torch.zeros({n}, out={o}) | torch.ones({n}, 2, out={o}) | torch.full(({n},), 2.5, out={o})
    torch.eye({n}, out={o})
    torch.zeros((2, {n}), out={o}) | torch.arange(3, 3 - {n}, -1, out={o}) | torch.full((2, 2), True, out={o})
    torch.linspace(-2, 2, {n}, out={o}) | torch.linspace(0, 9, {n}, dtype={o}.dtype, out={o})
    torch.ones((), out={o})
    torch.arange({n}, dtype=torch.float32, out={o}) | torch.eye(2, {n}, out={o})
    torch.tril(torch.ones(2, 2), out={o})
""")

ORDINARY = templates("""
    torch.add({x}, 1, out={o}) | torch.mul({x}, {t}, out={o}) | torch.sin({x}, out={o}) | torch.sum({x}, {d}, out={o})
    torch.cat([{x}, {t}], out={o}) | torch.stack([{x}, {t}], out={o}) | torch.cumsum({x}, {d}, out={o})
    torch.mean({x}, {d}, keepdim=True, out={o}) | torch.eq({x}, 0, out={o}) | torch.argmax({x}, {d}, out={o})
    torch.index_select({x}, {d}, torch.tensor([0, 0]), out={o}) | torch.nonzero({x}, out={o})
    torch.abs({x}, out={o})
    torch.matmul({x}, {t}.mT, out={o}) | torch.outer({x}.flatten(), {x}.flatten()[:2], out={o})
    torch.diag({x}, out={o})
    torch.where({mask}, {x}, {t}, out={o}) | torch.clamp({x}, 0, 1, out={o}) | torch.true_divide({x}, 2, out={o})
    torch.gather({x}, {d}, torch.zeros_like({x}, dtype=torch.long), out={o}) | torch.amax({x}, {d}, out={o})
    torch.masked_select({x}, {mask}, out={o}) | torch.take({x}, torch.tensor([[0, 0]]), out={o})
    torch.tril({x}, out={o})
    torch.logical_not({x}, out={o}) | torch.neg({x}, out={o}) | torch.pow({x}, 2, out={o})
    torch.dot({x}, {x}, out={o})
    torch.linalg.norm({x}, out={o}) | torch.cumprod({x}, {d}, out={o}) | torch.softmax({x}, {d}, out={o})
    torch.conj_physical({x}, out={o}) | torch.real({x}).add(0, out={o}) | torch.fft.fft({x}, out={o})
    torch.bitwise_not({x}, out={o}) | torch.prod({x}, {d}, out={o}) | torch.std({x}, {d}, out={o})
    torch.sort({x}, stable=True, out=({o}, torch.empty(0, dtype=torch.long))) | torch.addmm({x}, {x}, {x}.mT, out={o})
""")

RANDOM = templates("""
    torch.rand({n}, out={o}) | torch.randn({n}, out={o}) | torch.randint(5, ({n},), out={o})
    torch.randperm({n}, out={o}) | torch.normal(0.0, 1.0, ({n},), out={o}) | torch.rand(2, {n}, out={o})
    torch.bernoulli(torch.full(({n},), 0.5), out={o}) | torch.multinomial(torch.ones(5), {n}, out={o})
    torch.normal(torch.zeros({n}), 1.0, out={o}) | torch.randn(({n}, 3), out={o}) | {o}.uniform_() | {o}.normal_()
    {o}.random_(5) | {o}.bernoulli_(0.5) | {o}.exponential_() | {o}.geometric_(0.5) | {o}.log_normal_()
    {o}.cauchy_()
""")

KINDS = "float32", "float32", "float32", "float64", "int64", "complex64", "bool", "int32", "float16"


@step(7, "parts")
def into_a_part(w: Writer) -> str | None:
    """``out=`` into a part of memory, right or wrong in shape and dtype. All of the memory is compared."""
    m, o = w.new_name(), w.fresh("o")
    dtype = w.choice(KINDS)
    head = f"{m} = torch.full((4, 3), 7, dtype=torch.{dtype})\n{o} = {w.choice(PARTS).format(m=m)}\n"
    which = w.choice((FACTORIES, FACTORIES, ORDINARY, ORDINARY, RANDOM))
    x = w.tensor() if which is ORDINARY else m
    if x is None:
        return None
    slots = Slots(w, x) if which is ORDINARY else {"n": w.number(1, 5)}
    slots["o"] = o
    call = f"warned(lambda: {w.choice(which).format_map(slots)})"
    if w.chance(80):
        call = indented("with torch.no_grad():", call)
    told = f"log('{o}', {o}.shape == {m}.shape, list({o}.shape), steps({o}), str({o}.dtype))\n"
    if which is RANDOM:  # other numbers in each library; what was not to be written is as it was
        return f"{head}{call}\n{told}log('kept', ({m} == 7).tolist()[0][0], list({o}.shape))\n{m}.zero_()\n{o}.zero_()"
    return f"{head}{call}\n{told}log('part', {o}, {m})"


# -- the orders of arguments of long ago -------------------------------------------------------------------------------

DEPRECATED = templates("""
    {x}.add_(2, {t}) | {x}.add(2, {t}) | torch.add({x}, 2, {t}) | {x}.sub_(0.5, {t}) | {x}.sub(2, {t})
    torch.sub({x}, 2, {t}) | {x}.addcmul_(0.5, {t}, {t}) | {x}.addcmul(2, {t}, {t})
    torch.addcmul({x}, 0.5, {t}, {t})
    {x}.addcdiv_(0.5, {t}, {t}.abs() + 1) | torch.addcdiv({x}, 2, {t}, {t}.abs() + 1) | {x}.addmm(1, {m}, {m}.mT)
    {x}.addmm_(1, {t}, {t}.mT) | torch.addmm({x}, 1, {t}, {t}.mT) | torch.addmm(2, {x}, 0.5, {t}, {t}.mT)
    torch.addmm(2, {x}, {t}, {t}.mT) | {x}.addmm(2, 0.5, {t}, {t}.mT) | {x}.addmv(1, {t}, {t}[0])
    {x}[:, 0].addmv(2, {t}, {t}[0]) | torch.addmv(2, {x}[:, 0], 0.5, {t}, {t}[0]) | {x}.addr(2, {t}[:, 0], {t}[0])
    {x}.addr_(0.5, 2, {t}[:, 0], {t}[0]) | torch.addr(2, {x}, 0.5, {t}[:, 0], {t}[0])
    {x}.addbmm(2, {t}[None], {t}[None].mT) | torch.addbmm(2, {x}, 0.5, {t}[None], {t}[None].mT)
    {x}[None].baddbmm(2, {t}[None], {t}[None].mT) | torch.baddbmm(2, {x}[None], 0.5, {t}[None], {t}[None].mT)
    {x}.sub_(2, {t}, alpha=2) | {x}.add_(2, other={t}) | {x}.add_(alpha=2, other={t}) | torch.add(2, {t}, {x})
    {x}.div_({t}, 2) | {x}.mul_(2, {t}) | torch.add({x}, True, {t}) | {x}.add_(torch.tensor(2.0), {t})
    {x}.addcmul_(torch.tensor(0.5), {t}, {t}) | {x}.addcmul_({t}, {t}, 0.5) | torch.sum({x}, dim={d}, keepdim=1)
    {x}.T | torch.range(0, 2) | {x}.norm(2, {d}) | {x}.symeig() | torch.cross({x}, {t}) | F.sigmoid({x}) | F.tanh({x})
    torch.meshgrid({x}.flatten(), {t}.flatten())[0] | F.upsample({x}[None], scale_factor=2) | {x}.var(unbiased=False)
    F.mse_loss({x}, {t}, size_average=False) | F.l1_loss({x}, {t}, reduce=False)
    F.nll_loss({x}, torch.tensor([0, 1]), None, True)
    {x}[torch.tensor({bytes}, dtype=torch.uint8)] | {x}.masked_fill(({mask}).byte(), 0.5) | F.softmax({x})
    F.log_softmax({x})
    torch.where(({mask}).byte(), {x}, {t}) | {x}.masked_select(({mask}).byte()) | F.mse_loss({x}, {t}[:1])
    F.gumbel_softmax({x}).shape
    {x}.lerp_({t}, torch.tensor(0.5)) | {x}.index_reduce({d}, torch.tensor([0]), {x}[:1], 'amax')
    F.conv1d({x}[None], {x}[None, :, :2], padding='same')
    {x}.scatter({d}, torch.zeros_like({x}, dtype=torch.long), {t}, reduce='add') | {x}.resize({shape})
    {x}.storage().size()
    F.interpolate({x}[None], scale_factor=2, mode='linear') | {x}.new({t}) | {x}.type('torch.DoubleTensor')
    {x}.addcdiv(2, {t}, {t})
""")


@step(6, "deprecated")
def deprecated(w: Writer) -> str | None:
    """A form of long ago, with its warning."""
    shape = w.choice(((2, 2), (2, 2), (2, 3), (3, 3)))
    x = w.target(lambda x: x.dtype.is_floating_point and x.ndim == 2)
    head = ""
    if x is None or w.chance(40):
        x = w.new_name()
        grad = w.choice((".requires_grad_()", ".requires_grad_().clone()", ""))
        head = f"{x} = {w.literal(shape, w.choice((w.module.float32, w.module.float64)))}{grad}\n"
        if not w.keep(head[:-1]):
            return None
    slots = Slots(w, x, near=True)
    slots["m"], slots["bytes"] = slots["t"], [i % 2 for i in range(w[x].shape[0])]
    call = w.choice(DEPRECATED).format_map(slots)
    if w.chance(40):
        return indented("with torch.no_grad():", f"log('old', warned(lambda: {call}))")
    return f"{w.new_name()} = warned(lambda: {call})"

"""Steps that are about reductions that scatter: ties, zeros, what counts itself; and all derivatives of them."""

from __future__ import annotations

from .operators import templates
from .steps import indented, step
from .writer import Slots, Writer, nested

REDUCES = "sum", "prod", "mean", "amax", "amin"

SCATTERED = templates("""
    {x}.scatter_reduce({d}, {i}, {s}, '{r}', include_self={k}) | {x}.scatter_reduce({d}, {i}, {s}, '{r}')
    {x}.scatter_reduce({d}, {i}, {s}, '{r}', include_self=False) | {x}.scatter_add({d}, {i}, {s})
    {x}.clone().scatter_reduce_({d}, {i}, {s}, '{r}', include_self={k})
    {x}.scatter({d}, {i}, {s}, reduce='add') | {x}.scatter({d}, {i}, {s}, reduce='multiply')
    {x}.clone().scatter_({d}, {i}, 0.5, reduce='multiply') | {x}.scatter({d}, {i}, {s})
    {x}.clone().index_put_(({first},), {s}, accumulate=True) | {x}.put({j}, {s}.flatten()[:{J}], accumulate=True)
""")

INDEXED = templates("""
    {x}.index_reduce({d}, {j}, {s}, '{r}', include_self={k}) | {x}.index_reduce({d}, {j}, {s}, '{r}')
    {x}.index_add({d}, {j}, {s}, alpha={c}) | {x}.index_add({d}, {j}, {s})
    {x}.clone().index_reduce_({d}, {j}, {s}, '{r}', include_self={k}) | {x}.index_copy({d}, {j}, {s})
""")

DERIVATIVES = templates("""
    ({f}({a}, {b}) * {w}).sum().backward()
    log('jvp', *torch.func.jvp({f}, ({a}, {b}), ({t}, {u})))
    log('vjp', *torch.func.vjp({f}, {a}, {b})[1]({w}))
    log('grads', *torch.autograd.grad(({f}({a}, {b}) * {w}).sum(), [{a}, {b}]))
    log('jac', *torch.func.jacrev({f}, argnums=(0, 1))({a}, {b}))
    log('jacfwd', *torch.func.jacfwd({f}, argnums=(0, 1))({a}, {b}))
    log('over', *torch.func.jvp(torch.func.grad(lambda x, s: {f}(x, s).pow(2).sum()), ({a}, {b}), ({t}, {u})))
    log('vmap', torch.func.vmap({f})(torch.stack([{a}, {t}]), torch.stack([{b}, {u}])))
    log('vmap', torch.func.vmap({f}, (0, None))(torch.stack([{a}, {t}]), {b}))
""")

TWICE = (
    "{g} = torch.autograd.grad({f}({a}, {b}).pow(2).sum(), [{a}, {b}], create_graph=True)\n"
    "log('twice', *torch.autograd.grad(sum(({g}[0] * {w}).sum() for {g} in [{g}, {g}[1:]]), [{a}, {b}], "
    "allow_unused=True))"
)


@step(8, "scattered")
def scattered(w: Writer) -> str | None:
    """A function that scatters into its first argument, and something of its derivatives."""
    dtype = w.choice(("float32", "float32", "float64", "float64", "int64", "complex64", "float16"))
    shape = w.choice(((3,), (2, 3), (3, 2), (4,)))
    axis, kind = w.number(0, len(shape) - 1), getattr(w.module, dtype)
    index = [w.number(0, shape[axis] - 1) for _ in range(w.number(1, shape[axis]))]
    by_index = w.chance(40)
    source = tuple(len(index) if i == axis else n for i, n in enumerate(shape))
    placed = nested(source, lambda i: w.number(0, shape[axis] - 1))
    a, b, name = w.new_name(), w.fresh("s"), w.fresh("f")
    grad = ", requires_grad=True" if dtype != "int64" and w.chance(85) else ""
    head = f"{a} = {few(w, shape, kind, grad)}\n{b} = {few(w, source, kind, grad)}\n"
    slots = Slots(w, "x")
    slots.update(x="x", s="s", d=str(axis - len(shape) * w.chance(20)), r=w.choice(REDUCES), k=str(w.chance(50)),
                 i=f"torch.tensor({placed})", j=f"torch.tensor({index})", J=len(index),
                 first=f"torch.tensor({[i % shape[0] for i in range(source[0])]})",
                 c=w.choice((0.5, 2)) if grad else 2)  # fmt: skip
    body = w.choice(INDEXED if by_index else SCATTERED).format_map(slots)
    how = w.choice((*DERIVATIVES, TWICE, TWICE)) if grad else f"log('value', {name}({a}, {b}))"
    how = how.format(f=name, a=a, b=b, g=w.fresh("g"), w=w.literal(shape, kind), t=w.literal(shape, kind),
                     u=w.literal(source, kind))  # fmt: skip
    return head + indented(f"def {name}(x, s):", f"return {body}") + "\n" + how


def few(w: Writer, shape: tuple[int, ...], dtype: object, options: str) -> str:
    """A tensor of a few different numbers, zero among them: many ties."""
    if w.chance(25):
        return w.literal(shape, dtype, options)
    count, turn = w.number(1, 4), w.number(1, 5)
    values = nested(shape, lambda i: (0, 1, 2, -1)[turn * (i + 1) % count])
    return f"torch.tensor({values}, dtype=torch.{w.number_types.get(dtype, 'float32')}{options})"

"""Steps that are about who is handed a function: subclasses, things, modes, and the tables that they go by."""

from __future__ import annotations

import re

from . import steps
from .operators import FAMILIES, templates
from .steps import indented, step
from .writer import Slots, Writer

ON_ONE = templates("""
    {k} * 1.5 | 1.5 * {k} | {k} - 1 | 1 - {k} | {k} / 2 | 2 / {k} | {k} ** 2 | 2 ** {k} | {k} // 2 | {k} % 2 | -{k}
    abs({k})
    {k} @ {k}.mT | {k}[0] | {k} > 0 | {k} == {t} | len({k}) | {k}.shape[-1] | str({k}.dtype) | {k}.grad | {k}.T
    {k}.requires_grad
    {k}.sum() | torch.add({k}, {t}) | torch.mul(2, {k}) | {t} * {k} | {t} + {k} | {t} @ {k}.mT | {k} + {t} | {k} - {t}
    torch.cat([{k}, {t}]) | torch.stack([{t}, {k}]) | F.relu({k}) | F.softmax({k}, -1) | F.linear({k}, {t})
    {k}.size()
    {k}.numel() | {k}.dim() | {k}.ndim | {k}.is_leaf | [y for y in {k}] | {k}.unbind(0)[0] | {k}.tolist()
    {k}.max({d})[0]
    {k}.add_(1) | {k}.mul_({t}) | {k}.clone() | {k}.detach() | {k}.data | {k}.view(-1) | {k}.reshape(-1) | {k}.t()
    torch.where({k} > 0, {k}, {t}) | torch.sum({k}, 0) | torch.mean({k}) | torch.exp({k} / 4) | {k}.sin().cos()
    {k}.pow(2)
    {k}.rsub(1) | torch.rsub({k}, 1) | {k} & 1 | ~{k} | {k} < {t} | {t} < {k} | {k} != 0 | {k} >= 1 | {k} << 1 | +{k}
    {k}.float() | {k}.double() | {k}.to(torch.float64) | {k}.type_as({t}) | {k}.cpu() | {k}.contiguous()
    {k}.expand_as({t})
    {k}.unsqueeze(0) | {k}.squeeze() | {k}.permute({perm}) | {k}.flatten() | {k}.new_zeros(2) | torch.zeros_like({k})
    {k}.real
    torch.linalg.norm({k}) | torch.fft.fft({k}).real | torch.special.expit({k}) | F.mse_loss({k}, {t})
    {k}.is_floating_point()
    F.layer_norm({k}, {k}.shape[-1:]) | F.cross_entropy({k}, {t}.softmax(-1)) | F.gelu({k}) | F.dropout({k}, 0.0)
    {k}.stride()
    torch.einsum('...i,...i->...', {k}, {t}) | torch.matmul({k}, {t}.mT) | torch.norm({k}) | {k}.norm()
    {k}.split(1)[0] | {k}.std()
    torch.nn.Parameter({k}) | {k}.register_hook(lambda g: g) and 1 | {k}.requires_grad_() | {k}.is_contiguous()
    {k}.untyped_storage().nbytes()
    round({k}) | divmod({k}, 2)[0] | 0 in {k} | hash({k}) == id({k}) | bool({k}.sum() > 0)
    {k}.item() if {k}.numel() == 1 else 0
    {k}.backward(torch.ones_like({t})) | {k}.sum().backward() | {k}.sin().sum().backward()
    torch.autograd.grad({k}.sum(), [{k}])[0]
    type({k}.sum()).__name__ | type({k}.new_ones(1)).__name__ | type({k}[0]).__name__ | {k}.shape | {k}.device.type
    {k}.mT | {k}.H
    torch.is_tensor({k}) | torch.numel({k}) | torch.empty_like({k}).shape
    torch.result_type({k}, {t}) == torch.float32 | {k}.index_select(0, torch.tensor([0]))
    {k}.masked_fill({mask}, 0.5) | {k}.copy_({t}) | {t}.clone().copy_({k}) | {t}.clone().add_({k})
    torch.add({t}, 1, out={k}) | {k}.fill_(1)
    {k}.__getitem__(0) | {k}.__add__(1) | torch.Tensor.add({k}, 1) | torch.Tensor.__rsub__({k}, 1)
    {k}.__class__.__name__ | {k}.var_mean() | {k}.nonzero()
""")

SET = templates("""
    {k}[0] = 1.5 | {k} += 1 | {k} *= {t} | {k}.grad = None | {k}.requires_grad = True | {k}.data = {t} | {k} -= 0.5
    {k} /= 2 | {k} **= 2
    {k}[{index}] = {t}[{index}] | {t}.clone()[0] = {k}[0] | {k}[{mask}] = 0
""")

TABLE = templates("""
    torch.Tensor.mul: lambda a, b: a * 0 + 5 | torch.Tensor.add: lambda a, b: a - 1 | torch.add: lambda a, b: a + 7
    torch.mul: lambda a, b: a | torch.Tensor.sum: lambda a: 3.0 | torch.sum: lambda a, *d: 4.0 | torch.sin: torch.cos
    torch.Tensor.sin: torch.Tensor.cos | torch.nn.functional.relu: lambda a, **k: a
    torch.Tensor.__rsub__: lambda a, b: a
    torch.Tensor.sub: lambda a, b: 2 | torch.Tensor.div: lambda a, b: b | torch.Tensor.matmul: lambda a, b: 1
    torch.cat: lambda x, *d: 9
    torch.Tensor.__getitem__: lambda a, i: i | torch.Tensor.pow: lambda a, b: b | torch.Tensor.gt: lambda a, b: 'gt'
    torch.exp: torch.abs
    torch.Tensor.neg: lambda a: 'neg' | torch.matmul: lambda a, b: 'matmul' | torch.Tensor.__pow__: lambda a, b: 'pow'
    torch.stack: lambda x, *d: 8
    torch.Tensor.eq: lambda a, b: 'eq' | torch.Tensor.__rpow__: lambda a, b: 'rpow'
    torch.Tensor.__rdiv__: lambda a, b: 'rdiv' | torch.neg: torch.abs
    torch.Tensor.__add__: lambda a, b: 'add' | torch.Tensor.__radd__: lambda a, b: 'radd'
    torch.Tensor.__mul__: lambda a, b: 'mul'
    torch.Tensor.__rmul__: lambda a, b: 'rmul' | torch.Tensor.__matmul__: lambda a, b: '@'
    torch.Tensor.__rmatmul__: lambda a, b: 'r@'
    torch.Tensor.__sub__: lambda a, b: 'sub' | torch.Tensor.__truediv__: lambda a, b: 'truediv'
    torch.Tensor.__rtruediv__: lambda a, b: 'rtruediv'
""")

WITH_THINGS = templates("""
    {x} * {o} | {o} * {x} | {x} + {o} | {o} + {x} | {x} - {o} | {x} / {o} | {x} ** {o} | {x} @ {o} | {x} < {o}
    torch.add({x}, {o}) | torch.mul({o}, {x})
    torch.stack([{x}, {o}]) | torch.cat([{o}, {x}]) | {x}.add({o}) | {x}.mul({o}) | torch.where({x} > 0, {x}, {o})
    torch.sin({o}) | F.relu({o}) | {x}.add_({o})
    torch.sum({o}) | torch.matmul({x}, {o}) | F.linear({x}, {o}) | {x} == {o} | {x} // {o} | {x} % {o}
    torch.exp({o}) | torch.neg({o}) | {x} & {o}
    torch.sum({o}, 0) | torch.pow({x}, {o}) | {x}.sub({o}) | torch.Tensor.add({x}, {o}) | torch.Tensor.add({o}, 1)
    {x}.expand_as({o}) | {x}[{o}] | {x} > {o}
""")


def table(w: Writer) -> str:
    return f"{{{', '.join(w.chances.sample(TABLE, w.number(1, 5)))}}}"


def noted(w: Writer, call: str) -> str:
    return f"log('{w.fresh('n')}', *(lambda r: [type(r).__name__, bare(r)])({call}))"


def tried(text: str) -> str:
    """A statement that may fail: the next ones are run all the same."""
    return f"try:\n    {text}\nexcept Exception as error:\n    log('error', type(error).__name__, error)"


@step(5, "overrides")
def subclassed(w: Writer) -> str | None:
    """Calls on a subclass that notes what it is handed, or goes by a table."""
    x = w.floating(lambda x: x.numel() > 0)
    if x is None:
        return None
    k = w.fresh("k")
    source = w.choice((x, x, f"{x}.detach()", f"{x}.detach().clone().requires_grad_()"))
    lines = [f"{k} = {w.choice((f'{source}.as_subclass(Tagged)', f'tabled({source}, {table(w)})'))}"]
    for _ in range(w.number(1, 4)):
        slots = Slots(w, x)
        if w.chance(25):
            families = ("smooth", "elementwise", "reductions", "shapes", "joining", "products", "losses", "indexing")
            text = w.choice(FAMILIES[w.choice(families)]).format_map(slots)
            text = noted(w, re.sub(rf"\b{x}\b", k, text))
        elif w.chance(12):
            text = w.choice(SET).format_map({**slots, "k": k, **{s: slots[s] for s in ("t", "index", "mask")}})
        else:
            slots["k"] = k
            text = noted(w, w.choice(ON_ONE).format_map(slots))
        lines.append(tried(text))
    if w.chance(20):
        lines.append(f"{w.new_name()} = {k} * 2")
    return "\n".join(lines)


@step(4, "overrides")
def beside_a_thing(w: Writer) -> str | None:
    """Calls of a tensor and what is none."""
    x = w.tensor(lambda x: x.numel() > 0)
    if x is None:
        return None
    o = w.fresh("o")
    lines = [f"{o} = {w.choice((f'thing({table(w)})', f'thing({table(w)})', 'Reflected()', 'Refusing()'))}"]
    for _ in range(w.number(1, 3)):
        text = noted(w, w.choice(WITH_THINGS).format(x=x, o=o))
        lines.append(tried(text))
    return "\n".join(lines)


@step(4, "overrides")
def function_mode(w: Writer) -> str | None:
    """Some statement under a mode that notes what is called, or changes it."""
    chosen = w.choice(("operator", "operator", "view", "write", "backward", "gradient", "in_mode", "leaf", "chain"))
    body = getattr(steps, chosen)(w)
    if body is None:
        return None
    tag = w.fresh("w")
    watching = w.choice((f"Watching('{tag}')", f"Watching('{tag}')", f"Watching('{tag}', {table(w)})",
                         f"Watching('{tag}'), Watching('{tag}b')"))  # fmt: skip
    return indented(f"with {watching}:", body)

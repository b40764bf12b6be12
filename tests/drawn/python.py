"""Steps that are Python's, around tensors: what counts or is kept, conditions on values, draws, what comes and goes."""

from __future__ import annotations

from .operators import templates
from .steps import step
from .writer import Writer

COUNTED = templates("""
    Kept.n += 1 | Kept.n = Kept.n + 1 if Kept.n < 5 else 0 | Kept.rate *= 0.5 | Kept.rate = max(0.25, Kept.rate * 0.9)
    Kept.table['k'] = Kept.table.get('k', 0) + 1 | Kept.table[Kept.n] = Kept.rate | Kept.table.pop('k', None)
    Kept.log.append(Kept.n) | Kept.log.append((len(Kept.log), Kept.n)) | Kept.log = Kept.log[-3:] | Kept.log.clear()
    Kept.log.append({x}.detach().sum().item()) | Kept.log.append(Kept.draws.random()) | Kept.log.append({x}.shape[0])
    Kept.table['last'] = {x}.detach() | Kept.log.append({x}.detach().mean()) | Kept.pair = (Kept.n, [Kept.rate])
    Kept.table = {{'n': Kept.n, 'names': sorted(map(str, Kept.table))}} | Kept.text = f'{{Kept.n}} of {{len(Kept.log)}}'
""")

USED = templates("""
    {x} * Kept.n | {x} * Kept.rate | {x} + Kept.table.get('k', 0) | {x} * (2 if Kept.n % 2 else 3) | {x} + len(Kept.log)
    {x} * 2 if float({x}.detach().sum()) > {c} else {x} + 1 | {x} - 1 if ({x} > {c}).any() else {x} * 3
    {x} * 2 if Kept.draws.random() < 0.5 else {x} + 1 | {x} * Kept.draws.choice([0.5, 2]) | {x} + {x}.detach().max()
    {x} + {x}.detach().max().item() | {x} * {x}.detach().mean().tolist() | {x} / max(1, len(Kept.table))
    {x} * getattr(Kept, 'scale', 1) | {x} + Kept.table['last'].sum() if 'last' in Kept.table else {x} + 0
    {x} * float(Kept.text[:1] or 1) | {x} + sum(one for one in Kept.log[-2:] if type(one) is int)
""")

COMING = (
    "if hasattr(Kept, 'scale'):\n    del Kept.scale\nelse:\n    Kept.scale = 2",
    "Kept.scale = getattr(Kept, 'scale', 0) + 1",
    "try:\n    Kept.table['k'] += 1\nexcept KeyError:\n    Kept.table['k'] = 1",
    "{y} = {x} + Kept.n\nfor i in range(Kept.n % 3):\n    {y} = {y} * (i + 1)",
    "while len(Kept.log) > 2:\n    Kept.log.pop(0)",
)


@step(5, "python")
def counted(w: Writer) -> str | None:
    """Something that Python keeps is another one."""
    x = w.floating(lambda x: x.ndim > 0)
    text = w.choice((*COUNTED, *COMING))
    return x and text.format(x=x, y=w.new_name())


@step(8, "python")
def used(w: Writer) -> str | None:
    """A tensor that is computed as Python's numbers, or a tensor's, say."""
    x = w.floating(lambda x: x.ndim > 0)
    return x and f"{w.new_name()} = {w.choice(USED).format(x=x, c=w.choice((-1, 0, 0.5, 2)))}"

"""Steps that are about memory: what is written by an index, to ``out=``, in place; what is put elsewhere."""

from __future__ import annotations

from typing import Any

from .operators import templates
from .steps import MODES, indented, step
from .writer import Slots, Writer, elements

OUT = templates("""
    torch.add({x}, {y}, out={o}) | torch.mul({x}, {t}, out={o}) | torch.sub({x}, {y}, alpha=2, out={o})
    torch.exp({x} / 4, out={o}) | torch.neg({x}, out={o}) | torch.abs({x}, out={o}) | torch.sum({x}, {d}, out={o})
    torch.mean({x}, {d}, out={o}) | torch.amax({x}, {d}, out={o}) | torch.cumsum({x}, {d}, out={o})
    torch.cat([{x}, {t}], {d}, out={o}) | torch.stack([{x}, {t}], {d}, out={o}) | torch.matmul({x}, {t}.mT, out={o})
    torch.div({x}, 2, out={o}) | torch.clamp({x}, -1, 1, out={o}) | torch.maximum({x}, {t}, out={o})
    torch.where({mask}, {x}, {t}, out={o}) | torch.index_select({x}, {d}, torch.tensor([0, 0]), out={o})
    torch.gather({x}, {d}, torch.zeros_like({x}, dtype=torch.long), out={o}) | torch.eq({x}, {y}, out={o})
    torch.argmax({x}, {d}, out={o}) | torch.prod({x}, {d}, out={o}) | torch.tril({x}, out={o})
    torch.pow({x}, 3, out={o}) | torch.sigmoid({x}, out={o}) | torch.floor({x}, out={o})
    torch.logical_not({x}, out={o}) | torch.std({x}, {d}, out={o}) | torch.take({x}, torch.tensor([0, 0]), out={o})
    torch.addcmul({x}, {t}, {t}, out={o}) | torch.any({x}, {d}, out={o})
    torch.linalg.vector_norm({x}, dim={d}, out={o}) | torch.masked_select({x}, {mask}, out={o})
    torch.mm({x}, {t}.t(), out={o}) | torch.logsumexp({x}, {d}, out={o}) | torch.lerp({x}, {t}, {c}, out={o})
    torch.nonzero({x}, out={o}) | torch.roll({x}, 1, {d}, out={o})
    torch.median({x}, {d}, out=({o}, torch.empty(0, dtype=torch.long)))
    torch.sort({x}, {d}, stable=True, out=({o}, torch.empty(0, dtype=torch.long)))
    torch.bitwise_and({x}, {t}, out={o})
""")

IN_PLACE = templates("""
    {x}.asin_() | {x}.atan_() | {x}.cos_() | {x}.cosh_() | {x}.erf_() | {x}.exp2_() | {x}.expm1_() | {x}.ceil_()
    {x}.trunc_() | {x}.frac_() | {x}.sign_() | {x}.sgn_() | {x}.asinh_() | {x}.sinc_() | {x}.log1p_() | {x}.tan_()
    {x}.reciprocal_() | {x}.rsqrt_() | {x}.log_() | {x}.addcdiv_({t}, {t}) | {x}.atan2_({t}) | {x}.copysign_({t})
    {x}.bitwise_and_({t}) | {x}.bitwise_or_({t}) | {x}.bitwise_not_() | {x}.logical_not_() | {x}.logical_and_({t})
    {x}.cumprod_({d}) | {x}.clamp_min_({c}) | {x}.clamp_max_({y_tensor}) | {x}.eq_({y}) | {x}.lt_({y})
    {x}.ge_({y_tensor}) | {x}.fmod_({y}) | {x}.remainder_(2) | {x}.floor_divide_(2) | {x}.pow_({y}) | {x}.xlogy_({y})
    {x}.hypot_({t}) | {x}.nan_to_num_() | {x}.heaviside_({t}) | {x}.renorm_(2, 0, 1.0) | {x}.fill_diagonal_({c})
    {x}.triu_() | {x}.put_(torch.tensor([0, 1]), {x}.flatten()[:2].clone())
    {x}.put_(torch.tensor([0, 0]), {x}.flatten()[:2].clone(), accumulate=True)
    {x}.scatter_add_({d}, torch.zeros_like({x}, dtype=torch.long), {t}.clone())
    {x}.addmm_({t}.clone(), {t}.mT.clone())
    {x}.scatter_reduce_({d}, torch.zeros_like({x}, dtype=torch.long), {t}.clone(), 'amax')
    {x}.scatter_reduce_({d}, torch.zeros_like({x}, dtype=torch.long), {t}.clone(), 'mean', include_self=False)
    {x}.index_reduce_(0, torch.tensor([0, 0]), {x}[:1].repeat(2, *[1] * ({x}.ndim - 1)), 'prod')
    {x}.scatter_({d}, torch.zeros_like({x}, dtype=torch.long), {t}.clone()) | F.leaky_relu_({x}) | F.elu_({x})
    F.hardtanh_({x}) | F.threshold_({x}, 0.25, 2.0) | F.celu_({x}) | F.selu_({x}) | F.silu({x}, inplace=True)
    F.hardswish({x}, inplace=True) | F.mish({x}, inplace=True) | F.relu6({x}, inplace=True) | {x}.sub_({y}, alpha=2)
    {x}.add_({t}, alpha=0.5) | {x}.addr_({x}.flatten()[:1].clone(), {x}.flatten()[:1].clone())
    {x}.masked_fill_({mask}, {x}.sum().detach()) | {x}.index_fill_({d}, torch.tensor([0]), {x}.sum().detach())
    {x}.div_(2, rounding_mode='floor') | {x}.digamma_() | {x}.swapdims_({d}, {e}) | {x}.squeeze_({d})
    {x}.unsqueeze_({d}) | {x}.copy_({x}.flip(0)) | {x}.copy_({x}.mT.clone()) | {x} **= 2 | {x} //= 2 | {x} %= 2
    {x} &= {t} | {x} @= {t}.mT.clone() | {x} ^= True | {x} <<= 1
""")

MOVES = templates("""
    {x}.data = {t} | {x}.data = {t}.clone().mT | {x}.data = {x}.data[{index}]
    {x}.data = {x}.detach().t().contiguous() | {x}.data = {x}.data.view({shape}) | {x}.set_({t})
    {x}.set_({x}[{index}].detach()) | {x}.resize_({x}.shape[::-1]) | {x}.as_strided_((2,), (1,))
    {x}.set_({t}.untyped_storage(), 0, (1,), (1,)) | {x}.resize_as_({t}) | {x}.data = {x}.data * 2
    {x}.data = {x}.data.clone().flip(0) | {x}.data.t_()
""")

SEEN = templates("""
    {x}.view(torch.int32).view(torch.float32) | {x}.view(torch.uint8).view({x}.dtype) | {x}.as_strided((2,), (0,))
    {x}.as_strided((2, 2), (1, 1)) | {x}.imag | {x}.conj() | {x}.conj().imag | torch.view_as_real({x})
    {x}.unflatten({d}, (-1, 1)) | {x}.mT | {x}.H | {x}.adjoint() | {x}.unfold({d}, 1, 1) | {x}.view({shape}).detach()
    {x}[{index}].data | {x}.chunk(2, {d})[-1] | {x}.alias() | {x}.split([1] * {x}.shape[{d}], {d})[0]
    {x}.expand_as({t}) | {x}.view_as({t}) | {x}.diagonal(offset=1) | torch.view_as_complex({x}[..., :2]) | {x}._conj()
    {x}.T[{index}] | {x}.permute({perm})[None] | {x}.reshape({shape}) | {x}.squeeze() | {x}.contiguous()
    {x}.to({x}.dtype) | {x}.type(torch.float32) | {x}.swapdims({d}, {e}) | {x}.ravel()
    {x}._reshape_alias({x}.shape, {x}.stride()) | {x}.unsafe_split(1, {d})[0] | {x}.hsplit(1)[0] | {x}.vsplit(1)[0]
""")


def is_defined(x: Any) -> bool:
    """Whether no place is shown twice: a write by an index is not refused then. See Note [Undefined writes]."""
    return len(set(elements(x))) == x.numel()


def advanced(w: Writer, x: Any) -> str:
    """An index of integers in lists or tensors, masks, and what basic ones have."""
    items: list[str] = []
    lengths = list(x.shape)
    while lengths and (not items or w.chance(70)):
        length, *lengths = lengths
        most = max(length - 1, 0)
        picked = [w.number(-1, most) for _ in range(2)]
        items.append(w.choice((
            str(picked[0]), ":", "1:", "::2", "None", str(picked), f"torch.tensor({picked})",
            f"torch.tensor({picked[:1]})", f"torch.tensor({[picked, picked]})", f"torch.tensor({picked[0]})",
            str([i % 2 > 0 for i in range(length)]),
            f"torch.tensor({[i % 2 == 0 for i in range(length)]})", "True", "[]", "slice(None, None, 2)",
        )))  # fmt: skip
    if w.chance(15):
        items.insert(w.number(0, len(items)), "...")
    return ", ".join(items) + ("," if len(items) == 1 and items[0][0] == "[" else "")


@step(7, "indexed")
def indexed_write(w: Writer) -> str | None:
    x = w.target(lambda x: x.ndim > 0 and is_defined(x) and (w.daring or not (x.is_leaf and x.requires_grad)))
    if x is None:
        return None
    index = advanced(w, w[x])
    try:
        shape = tuple(w.world.evaluate(f"{x}[{index}]").shape)
    except Exception:  # whatever it refuses
        return f"{x}[{index}] = 1.5" if w.daring else None
    module = w.module
    dtype = w.choice((w[x].dtype,) * 12 + (module.float32, module.float64, module.int64, module.bool))
    ones = tuple(1 if w.chance(50) else length for length in shape)
    shape = w.choice((shape, shape, shape[1:], shape[-1:], (1, *shape), (), ones))
    written = w.literal(shape, dtype)
    value = w.choice((w.scalar(x), written, written, f"{written}.requires_grad_()"))
    if value.endswith("grad_()"):
        leaf = w.new_name()
        return f"{leaf} = {value}\n{x}[{index}] = {leaf}"
    hows = ["{x}[{i}] = {v}", "{x}[{i}] = {v}", "{x}[{i}] += {v}", "{x}[{i}] *= 2", "{x}[{i}] = {x}[{i}] * 2"]
    if "tensor(" in index and ":" not in index and "tensor(" in value:
        hows += ["{x}.index_put_(({i},), {v}, accumulate=True)", "{x}.index_put_(({i},), {v})"] * 2
    how = w.choice(hows)
    return how.format(x=x, i=index, v=value)


@step(4, "indexed")
def indexed_read(w: Writer) -> str | None:
    x = w.tensor(lambda x: x.ndim > 0)
    return x and f"{w.new_name()} = {x}[{advanced(w, w[x])}]"


@step(4, "out")
def out(w: Writer) -> str | None:
    x = w.tensor()
    if x is None:
        return None
    read = elements(w[x])
    o = w.target(lambda o: is_defined(o) and o.numel() and w.is_alone(o) and set(elements(o)).isdisjoint(read))
    target = w.choice(("torch.empty(0)", f"torch.empty(0, dtype={w[x].dtype})", f"torch.zeros_like({x})"))
    slots, made = Slots(w, x), o is None or w.chance(30)
    slots["o"] = w.new_name() if made else o if not w[o].ndim or w.chance(70) else f"{o}[{w.index(w[o])}]"
    text = w.choice(OUT).format_map(slots)
    if made:
        text = f"{slots['o']} = {target}\n{text}"
    return indented(f"with torch.{w.choice(('no_grad()', 'no_grad()', 'inference_mode()', 'enable_grad()'))}:", text)


@step(6, "writes")
def any_write(w: Writer) -> str | None:
    x = w.target(lambda x: w.daring or not (x.is_leaf and x.requires_grad))
    text = x and w.choice(IN_PLACE).format_map(Slots(w, x, near=True))
    return text and (indented(f"with torch.{w.choice(MODES)}:", text) if w.chance(20) else text)


@step(4, "moves")
def move(w: Writer) -> str | None:
    x = w.target(lambda x: x.is_contiguous() and w.is_alone(x))
    return x and w.choice(MOVES).format_map(Slots(w, x, near=True))


@step(5, "views")
def odd_view(w: Writer) -> str | None:
    x = w.tensor()
    return x and f"{w.new_name()} = {w.choice(SEEN).format_map(Slots(w, x))}"

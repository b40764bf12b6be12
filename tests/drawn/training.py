"""Steps that are about modules and optimizers."""

from __future__ import annotations

from .operators import templates
from .steps import indented, step
from .writer import Writer

LAYERS = templates("""
    filled(torch.nn.Linear, {n}, 2) | filled(torch.nn.Linear, {n}, 3, bias=False) | filled(torch.nn.LayerNorm, {n})
    filled(torch.nn.RMSNorm, {n}) | filled(torch.nn.PReLU) | filled(torch.nn.GELU, 'tanh')
    filled(torch.nn.Softmax, -1) | filled(torch.nn.BatchNorm1d, {n}) | filled(torch.nn.BatchNorm1d, {n}, affine=False)
    filled(torch.nn.BatchNorm1d, {n}, momentum=None) | filled(torch.nn.Dropout, 0.0) | filled(torch.nn.Tanh)
    filled(torch.nn.GRUCell, {n}, 2) | filled(torch.nn.RNNCell, {n}, 2) | filled(torch.nn.LSTM, {n}, 2)
    filled(torch.nn.GRU, {n}, 2) | filled(torch.nn.Flatten, 0) | filled(torch.nn.Softplus, 2.0) | filled(torch.nn.GLU)
    filled(torch.nn.Hardswish) | filled(torch.nn.Conv1d, {m}, 2, 2)
    filled(torch.nn.Conv1d, {m}, 2, 1, padding=1, padding_mode='circular')
    filled(torch.nn.ConvTranspose1d, {m}, 2, 2) | filled(torch.nn.GroupNorm, 1, {m})
    filled(torch.nn.InstanceNorm1d, {m}, affine=True) | filled(torch.nn.MaxPool1d, 2) | filled(torch.nn.AvgPool1d, 2)
    filled(torch.nn.LPPool1d, 2, 2) | filled(torch.nn.AdaptiveAvgPool1d, 2) | filled(torch.nn.Identity)
    filled(torch.nn.MultiheadAttention, {n}, 1, batch_first=True)
    filled(torch.nn.TransformerEncoderLayer, {n}, 1, 4, dropout=0.0, batch_first=True)
    filled(torch.nn.Bilinear, {n}, {n}, 2) | filled(torch.nn.Upsample, scale_factor=2)
    filled(torch.nn.LocalResponseNorm, 2) | filled(torch.nn.CosineSimilarity, 0)
    filled(torch.nn.Unflatten, -1, (1, -1)) | filled(torch.nn.ReflectionPad1d, 1)
    filled(torch.nn.ConstantPad1d, 1, 0.5) | filled(torch.nn.Embedding, 3, 2) | filled(torch.nn.EmbeddingBag, 3, 2)
    filled(torch.nn.LeakyReLU, 0.1, inplace=True) | filled(torch.nn.SELU, inplace=True)
""")

OPTIMIZERS = templates("""
    SGD({p}, lr=0.1) | SGD({p}, lr=0.1, momentum=0.9)
    SGD({p}, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1) | Adam({p}, lr=0.01)
    AdamW({p}, lr=0.01, amsgrad=True) | Adam({p}, lr=0.01, maximize=True)
    RMSprop({p}, lr=0.01, momentum=0.9, centered=True) | Adagrad({p}, lr=0.1, lr_decay=0.1) | Adadelta({p}, lr=1.0)
    Adamax({p}, lr=0.01) | NAdam({p}, lr=0.01) | RAdam({p}, lr=0.1) | ASGD({p}, lr=0.1) | Rprop({p}, lr=0.01)
    LBFGS({p}, lr=0.1, max_iter=3) | SGD([dict(params={p}, lr=0.5)], lr=0.1, foreach=False)
    Adam({p}, lr=torch.tensor(0.01)) | Adam({p}, lr=0.01, capturable=False, weight_decay=0.1, foreach=True)
""")

WRAPPED = (
    "{m}", "{m}", "{m}", "torch.nn.Sequential({m}, torch.nn.Tanh())", "torch.nn.Sequential(torch.nn.Sigmoid(), {m})",
    "torch.nn.utils.parametrizations.weight_norm({m})", "{m}.requires_grad_(False)", "{m}.eval()", "{m}.double()",
    "torch.nn.utils.parametrizations.spectral_norm({m}).eval()", "{m}.half().float()",
)  # fmt: skip


@step(4, "modules")
def module(w: Writer) -> str | None:
    x = w.floating(lambda x: x.ndim in (2, 3) and x.numel() > 0)
    if x is None:
        return None
    name, made = w.fresh("m"), w.new_name()
    layer = w.choice(LAYERS).format(n=w[x].shape[-1], m=w[x].shape[-2])
    layer = w.choice(WRAPPED).format(m=layer)
    given = ", ".join([x] * (3 if "Multihead" in layer else 2 if "Bilinear" in layer or "Cosine" in layer else 1))
    given = f"{x}.long().abs() % 3" if "Embedding" in layer else given
    part = "[0]" if any(word in layer for word in ("GRU(", "LSTM(", "Multihead")) else ""
    lines = [f"{name} = {layer}"]
    if w.chance(30):
        lines.append(w.choice((
            "{m}.register_full_backward_hook(lambda m, gi, go: log('{m}', *gi, *go))",
            "{m}.register_forward_hook(lambda m, i, o: log('{m}', *i))",
            "{m}.register_forward_pre_hook(lambda m, i: tuple(v * 1 for v in i))",
            "{m}.register_full_backward_pre_hook(lambda m, go: tuple(g * 2 for g in go))",
        )).format(m=name))  # fmt: skip
    call = w.choice((
        f"{name}({given})", f"{name}({given})",
        f"torch.func.functional_call({name}, dict({name}.named_parameters()), ({given},))",
        f"torch.utils.checkpoint.checkpoint({name}, {given}, use_reentrant=False)",
    ))  # fmt: skip
    lines.append(f"{made} = {call}{part}")
    if w.chance(50):
        lines.append(f"{made}.pow(2).sum().backward()")
        lines.append(f"log('{name}', *[p.grad for p in {name}.parameters()], *{name}.buffers())")
    return "\n".join(lines)


@step(4, "optimizers")
def optimizer(w: Writer) -> str | None:
    name = w.fresh("o")
    chosen = w.choice(OPTIMIZERS)
    kinds = w.module.float32, w.module.float64
    x = w.target(lambda x: x.dtype in kinds and x.is_leaf and x.requires_grad and x.numel() > 0)
    if x is None:
        return None
    losses = "({x} ** 2).sum()", "{x}.sin().sum()", "(({x} - 1) ** 2).mean() + {x}.sum()", "({x}.tanh() * {x}).sum()"
    loss = w.choice(losses).format(x=x)
    head = f"{name} = torch.optim.{chosen.format(p=f'[{x}]')}"
    after = f"    log('{name}', {x}.detach(), loss)"
    if "LBFGS" in chosen:
        closure = f"def f{name[1:]}():\n    {name}.zero_grad()\n    loss = {loss}\n    loss.backward()\n    return loss"
        return f"{head}\n{closure}\nfor i in range(2):\n    loss = {name}.step(f{name[1:]})\n{after}"
    clip = w.choice(("", "", f"\n    torch.nn.utils.clip_grad_norm_([{x}], 0.5)", f"\n    {x}.grad.clamp_(-0.3, 0.3)"))
    clear = w.choice(("zero_grad()", "zero_grad(set_to_none=False)", "zero_grad()"))
    again = w.choice(("", "", f"\n{name}.load_state_dict({name}.state_dict())\n{name}.step()"))
    return (
        f"{head}\nfor i in range({w.number(2, 4)}):\n    {name}.{clear}\n    loss = {loss}\n    loss.backward(){clip}\n"
        f"    {name}.step()\n{after}{again}"
    )


FOREACH = templates("""
    torch._foreach_add([{x}, {t}], 2) | torch._foreach_mul([{x}, {t}], [{t}, {x}]) | torch._foreach_exp([{x}, {t}])
    torch._foreach_norm([{x}, {t}]) | torch._foreach_addcmul([{x}], [{t}], [{t}], 0.5)
    torch._foreach_lerp([{x}], [{t}], 0.5) | torch._foreach_sqrt([{x} ** 2 + 1])
    torch._foreach_maximum([{x}], [{t}]) | torch._foreach_div([{x}, {t}], 2.0)
""")


@step(1, "foreach")
def foreach(w: Writer) -> str | None:
    x = w.floating()
    if x is None:
        return None
    t = w.operand(x, numbers=False, same=True)
    text = f"{w.new_name()} = {w.choice(FOREACH).format(x=x, t=t)}[0]"
    return indented("with torch.no_grad():", text)  # its nodes have names of their own


@step(2, "writes")
def foreach_write(w: Writer) -> str | None:
    x = w.target(lambda x: x.dtype.is_floating_point)
    if x is None:
        return None
    t = w.operand(x, numbers=False, same=True, near=True)
    text = w.choice((
        "torch._foreach_mul_([{x}], 0.5)", "torch._foreach_add_([{x}], [{t}], alpha=0.5)",
        "torch._foreach_zero_([{x}])",
        "torch._foreach_copy_([{x}], [{t}])", "torch._foreach_lerp_([{x}], [{t}], 0.5)",
    )).format(x=x, t=t)  # fmt: skip
    return indented("with torch.no_grad():", text)

"""Steps that are about what one thread sets and another sees. Each thread is waited for: programs stay the same."""

from __future__ import annotations

from . import steps
from .operators import templates
from .steps import indented, step
from .writer import Writer

SETTINGS = templates("""
    torch.set_grad_enabled(False) | torch.set_grad_enabled(True) | torch.autograd.set_detect_anomaly(True)
    torch.autograd.set_detect_anomaly(True, check_nan=False) | torch.set_default_dtype(torch.float64)
    torch.set_autocast_enabled('cpu', True) | torch.set_autocast_dtype('cpu', torch.float16)
    torch.set_anomaly_enabled(False)
    torch.set_default_dtype(torch.float32) | torch.autograd.set_multithreading_enabled(False) | pass
""")

INSIDE = templates("""
    torch.no_grad() | torch.inference_mode() | torch.enable_grad() | torch.autograd.detect_anomaly()
    torch.autocast('cpu', torch.bfloat16) | torch.set_grad_enabled(False) | torch.inference_mode(False)
    torch.autocast('cpu', enabled=False) | torch.autograd.set_detect_anomaly(True)
    torch.autograd.set_detect_anomaly(False)
    torch.autograd.graph.saved_tensors_hooks(lambda t: (log('pack'), t)[1], lambda t: (log('unpack'), t)[1])
    torch.autograd.set_multithreading_enabled(False) | torch.autograd.graph.save_on_cpu() | Watching('w')
    torch.autograd.forward_ad.dual_level() | torch.autograd.graph.disable_saved_tensors_hooks('no hooks')
""")

BODIES = templates("""
    {x} * 2 | {x}.sin() | {x} @ {x}.mT | torch.tensor([0.5, 1.5]) | torch.ones(2) * {x}.sum() | {x}.clone()
    {x}.sum().backward()
    ({x} * {x}).sum().backward() | torch.autograd.grad({x}.sin().sum(), {x})[0] | {x}.detach()
    {x}.sqrt().sum().backward()
    F.linear({x}, {x}) | torch.zeros(2) | {x}.exp().sum().backward(retain_graph=True) | {x}.view(-1)
    torch.full((2,), 1.5)
    torch.func.grad(lambda v: v.sin().sum())({x}) | torch.func.vmap(torch.sin)({x}) | {x}.requires_grad
    torch.arange(0.5, 2)
    Double.apply({x}) | (0 * {x}.sqrt().log()).sum().backward() | {x}.mm({x}.t()) | {x}.add_(1) | {x}.data.mul_(2)
    torch.utils.checkpoint.checkpoint(torch.sin, {x}, use_reentrant=False) | {x}.register_hook(named('t')) and None
""")


@step(8, "threads")
def threaded(w: Writer) -> str | None:
    """Something in another thread: what it sees, what it sets, and what is seen of that here."""
    x = w.floating(lambda x: x.numel() > 0)
    if x is None:
        return None
    name = w.fresh("f")
    body = ["log('in', *modes())"]
    if w.chance(50):
        body.append(w.choice(SETTINGS))
    call = f"r = {w.choice(BODIES).format(x=x)}"
    body.append(indented(f"with {w.choice(INSIDE)}:", f"{call}\nlog('inside', *modes())") if w.chance(50) else call)
    body += ["log('out', *modes())", "return r"]
    text = indented(f"def {name}():", "\n".join(body))
    run = f"{w.new_name()} = in_thread({name})"
    if w.chance(50):
        run = indented(f"with {w.choice(INSIDE)}:", run + ("\nlog('here', *modes())" if w.chance(50) else ""))
    elif w.chance(30):
        run = f"{w.choice(SETTINGS)}\n{run}"
    then = w.choice((f"log('then', {x} * 2)", "log('then', torch.ones(1))", "log('then')"))
    return f"{text}\n{run}\nlog('here', *modes())\n{then}"


@step(3, "threads")
def set_here(w: Writer) -> str | None:
    """A setting around another step, or from here on."""
    if w.chance(50):
        return f"{w.choice(SETTINGS)}\nlog('set', *modes())"
    body = w.choice((steps.operator, steps.backward, steps.gradient, steps.write))(w)
    return body and indented(f"with {w.choice(INSIDE)}:", f"{body}\nlog('modes', *modes())")


LARGE = templates("""
    {b} @ {b}.mT | {b}.softmax(-1)
    F.conv1d({b}[None], wave(4, {b}.shape[0], 3)) | F.conv2d({b}[None, None], wave(3, 1, 3, 3)) | {b}.sum(0)
    {b}.cumsum(1) | {b}.var(1)
    F.layer_norm({b}, {b}.shape[-1:]) | {b}.logsumexp(0) | ({b} @ {b}.mT).tanh() | {b}.exp().mean(1) | F.gelu({b})
    torch.einsum('ij,kj->ik', {b}, {b})
    F.batch_norm({b}, None, None, training=True) | F.avg_pool1d({b}[None], 3) | torch.cdist({b}, {b} + 1)
    {b}.prod(0) | F.cross_entropy({b}, {b}.softmax(-1))
    F.scaled_dot_product_attention({b}[None], {b}[None], {b}[None])
    F.interpolate({b}[None, None], scale_factor=2, mode='bicubic') | {b}.std()
""")


@step(4, "repeated")
def repeated(w: Writer) -> str | None:
    """One call on larger arrays, so often that it is run in all ways in which it can be."""
    name, shape = w.fresh("b"), w.choice(((24, 48), (48, 24), (16, 16)))
    count = w.choice((3, 6, 30))
    call = w.choice(LARGE).format(b=name)
    head = f"{name} = wave{shape}.requires_grad_()\nfor i in range({count}):\n"
    note = f"log('again', {call}.detach(), {name}.grad)"
    return f"{head}    {name}.grad = None\n    ({call}).sum().backward()\n    {note}"

"""What a step of a drawn program may be: functions which draw statements, or give None if the pool doesn't allow it."""

from __future__ import annotations

from collections.abc import Callable

from . import playing
from .operators import FAMILIES
from .writer import Slots, Writer

Step = Callable[[Writer], "str | None"]

STEPS: list[Step] = []
WEIGHTS: list[int] = []
FEATURES: dict[str, list[Step]] = {}
"""Steps by what they are about: what ``--only`` names, and by what programs are counted."""

PURE = ("smooth", "smooth", "elementwise", "reductions", "shapes", "joining", "products", "losses", "indexing")
GRADUAL = (
    "smooth",
    "smooth",
    "smooth",
    "reductions",
    "shapes",
    "products",
    "elementwise",
    "joining",
    "indexing",
    "losses",
)
MODES = (
    "no_grad()",
    "enable_grad()",
    "inference_mode()",
    "set_grad_enabled(False)",
    "set_grad_enabled(True)",
    "no_grad()",
)


def step(weight: int, feature: str) -> Callable[[Step], Step]:
    """Put a function among the steps."""

    def enlist(function: Step) -> Step:
        STEPS.append(function)
        WEIGHTS.append(weight)
        FEATURES.setdefault(feature, []).append(function)
        return function

    return enlist


# -- leaves and operators ----------------------------------------------------------------------------------------------


@step(4, "leaves")
def leaf(w: Writer) -> str:
    shape, dtype = w.choice(w.shapes), w.choice(w.dtypes)
    text = w.literal(shape, getattr(w.module, dtype))
    if len(shape) == 2:
        text += w.choice(("", "", "", "", ".t()", "[:, ::2]", "[1:]", f".expand(2, *{shape})", ".t().contiguous().t()"))
    if dtype == "bool" or "int" in dtype:
        return f"{w.new_name()} = {text}"
    text += w.choice((".requires_grad_()", ".requires_grad_()", ".requires_grad_()", "", ".requires_grad_().clone()"))
    return f"{w.new_name()} = {text}"


@step(26, "operators")
def operator(w: Writer) -> str | None:
    text = w.call(PURE)
    return text and f"{w.new_name()} = {text}"


@step(5, "operators")
def chain(w: Writer) -> str | None:
    first = w.call(("smooth", "elementwise", "shapes"))
    if first is None:
        return None
    then = w.choice((".sin()", ".sum(0)", " * 2", ".t()", "[0]", ".abs()", ".mean()", ".cumsum(0)"))
    return f"{w.new_name()} = ({first}){then}"


@step(3, "operators")
def several(w: Writer) -> str | None:
    x = w.tensor(lambda x: x.ndim > 0)
    if x is None:
        return None
    call = w.choice(("unbind({d})", "chunk(2, {d})", "split(1, {d})", "max({d})", "sort({d}, stable=True)",
        "topk(2, {d})", "tensor_split(2)",
                     "cummin({d})", "mode({d})", "aminmax()"))  # fmt: skip
    return f"{w.new_name()} = {x}.{call.format_map(Slots(w, x))}[{w.choice((0, 1, 0))}]"


@step(3, "operators")
def scalars(w: Writer) -> str | None:
    x = w.tensor(lambda x: x.numel() == 1)
    return x and f"{w.new_name()} = {x}.item()" if w.chance(50) else x and f"log('number', {x}.tolist())"


# -- memory ------------------------------------------------------------------------------------------------------------


@step(9, "writes")
def write(w: Writer) -> str | None:
    x = w.target(lambda x: w.daring or not (x.is_leaf and x.requires_grad))
    if x is None:
        return None
    text = w.choice(FAMILIES["writes"]).format_map(Slots(w, x, near=True))
    if w[x].requires_grad and playing.attempt(lambda: w[x].is_leaf) is True:  # a view of many may refuse to say
        return f"with torch.{w.choice(MODES)}:\n    {text}"
    return text


@step(5, "views")
def view(w: Writer) -> str | None:
    x = w.tensor(lambda x: x.ndim > 0)
    text = x and w.choice(("{x}[{index}]", "{x}.t()", "{x}.view({shape})", "{x}.detach()", "{x}.select({d}, 0)",
        "{x}.view(-1)", "{x}[{index}]",
                           "{x}.expand(2, *{x}.shape)", "{x}.diagonal()", "{x}.real", "{x}.unsqueeze({d})",
                           "{x}.transpose({d}, {e})"))  # fmt: skip
    return text and f"{w.new_name()} = {text.format_map(Slots(w, x))}"


@step(3, "data")
def detach(w: Writer) -> str | None:
    x = w.tensor()
    how = w.choice(("data", "detach()", "detach().clone()", "clone()", "detach().requires_grad_()"))
    return x and f"{w.new_name()} = {x}.{how}"


@step(2, "data")
def write_data(w: Writer) -> str | None:
    x = w.target()
    return x and w.choice(
        ("{x}.data.mul_({c})", "{x}.data[{index}] = {c}", "{x}.data.zero_()", "{x}.detach().add_(1)")
    ).format_map(Slots(w, x))


@step(4, "modes")
def in_mode(w: Writer) -> str | None:
    body = w.choice((operator, view, write, detach, operator))(w)
    return body and indented(f"with torch.{w.choice(MODES)}:", body)


# -- hooks -------------------------------------------------------------------------------------------------------------

ANSWERS = (
    "",
    "",
    "",
    ", lambda g: 1 / 0",
    ", lambda g: g.detach()",
    ", lambda g: g.sum() if g.ndim else g",
    ", lambda g: g * 2",
    ", lambda g: g + 1",
    ", lambda g: g.clone()",
    ", lambda g: None",
)


@step(4, "hooks")
def tensor_hook(w: Writer) -> str | None:
    x, handle = w.recorded(), w.fresh("h")
    return x and f"{handle} = {x}.register_hook(named('{handle}'{w.choice(ANSWERS)}))"


@step(3, "hooks")
def retain(w: Writer) -> str | None:
    x = w.recorded()
    return x and f"{x}.retain_grad()"


@step(3, "hooks")
def accumulated(w: Writer) -> str | None:
    x, handle = w.floating(lambda x: x.requires_grad and x.is_leaf), w.fresh("h")
    after = w.choice(
        ("log('{0}', x.grad)", "log('{0}', x.grad, x.grad.requires_grad)", "setattr(x, 'grad', None)", "x.grad.mul_(2)")
    )
    return x and f"{handle} = {x}.register_post_accumulate_grad_hook(lambda x: {after.format(handle)})"


@step(3, "hooks")
def on_node(w: Writer) -> str | None:
    x, handle = w.floating(lambda x: x.grad_fn is not None), w.fresh("h")
    how = w.choice(("register_hook", "register_prehook"))
    return x and f"{handle} = {x}.grad_fn.{how}(node_hook('{handle}'))"


@step(2, "hooks")
def multi(w: Writer) -> str | None:
    names, handle = w.tensors(lambda x: x.requires_grad), w.fresh("h")
    if not names:
        return None
    chosen = w.chances.sample(names, min(len(names), w.number(1, 3)))
    return (f"{handle} = torch.autograd.graph.register_multi_grad_hook(({', '.join(chosen)},), "
            f"lambda gs: log('{handle}', *(gs if isinstance(gs, (list, tuple)) else (gs,)))"
            f"{w.choice(('', '', ', mode=any_of'))})".replace("any_of", "'any'"))  # fmt: skip


@step(2, "hooks")
def reentrant(w: Writer) -> str | None:
    x, y, handle = w.recorded(), w.recorded(), w.fresh("h")
    if x is None or y is None:
        return None
    inner = w.choice((f"torch.autograd.grad({y}.sum(), {y})", f"({y}.detach().requires_grad_() * 2).sum().backward()",
                      "torch.autograd.grad((g.detach().requires_grad_() ** 2).sum(), [])"))  # fmt: skip
    return f"{handle} = {x}.register_hook(lambda g: log('{handle}', g, {inner}))"


@step(3, "graph")
def shown(w: Writer) -> str | None:
    x = w.recorded()
    if x is None or any(
        word in line for line in w.lines for word in ("create_graph", "func", "dual", "checkpoint", "jac")
    ):
        return None  # of derivatives PyTorch has a graph of its own
    return f"log('graph', around({x}))"


@step(1, "hooks")
def remove(w: Writer) -> str | None:
    handles = [name for name in w.world.names if name[0] == "h" and name[1:].isdigit()]
    return f"{w.choice(handles)}.remove()" if handles else None


# -- custom functions, checkpoints, saved tensors ----------------------------------------------------------------------


@step(5, "functions")
def custom(w: Writer) -> str | None:
    x = w.target(lambda x: x.dtype.is_floating_point)
    if x is None:
        return None
    call = w.choice(("Double.apply({x})", "Product.apply({x}, {t})[{i}]", "Cube.apply({x})", "Shift.apply({x})",
        "Pair.apply({x}, 2.0)[{i}]",
                     "Double.apply(Double.apply({x}))", "Double.apply({x}) + Cube.apply({x})",
                     "Shift.apply({x}.clone())"))  # fmt: skip
    slots = Slots(w, x)
    slots["i"] = w.choice("001")
    return f"{w.new_name()} = {call.format_map(slots)}"


@step(3, "saved")
def saved_hooks(w: Writer) -> str | None:
    text = w.call(("smooth", "shapes", "products"))  # of losses and norms PyTorch saves what its kernels need, too
    body = text and f"{w.new_name()} = {text}"
    pack = w.choice(
        (
            "lambda t: t",
            "lambda t: t.detach().clone()",
            "lambda t: (log('pack'), t)[1]",
            "lambda t: t * 2",
            "lambda t: (t, 1)",
        )
    )
    unpack = {"lambda t: t * 2": "lambda t: t / 2", "lambda t: (t, 1)": "lambda t: t[0]"}.get(
        pack, "lambda t: (log('unpack'), t)[1]"
    )
    context = w.choice((f"torch.autograd.graph.saved_tensors_hooks({pack}, {unpack})",
        "torch.autograd.graph.save_on_cpu()",
                        "torch.autograd.graph.allow_mutation_on_saved_tensors()"))  # fmt: skip
    return body and indented(f"with {context}:", body)


@step(4, "checkpoints")
def checkpoint(w: Writer) -> str | None:
    names = w.tensors(lambda x: x.dtype.is_floating_point)
    if not names:
        return None
    chosen = w.chances.sample(names, min(len(names), w.number(1, 2)))
    found = function(w, chosen)
    if found is None:
        return None
    name, text = found
    options = w.choice(
        (
            "use_reentrant=False",
            "use_reentrant=False",
            "use_reentrant=True",
            "use_reentrant=False, preserve_rng_state=False",
        )
    )
    return f"{text}\n{w.new_name()} = torch.utils.checkpoint.checkpoint({name}, {', '.join(chosen)}, {options})"


# -- derivatives -------------------------------------------------------------------------------------------------------


@step(10, "backward")
def backward(w: Writer) -> str | None:
    x = w.recorded()
    if x is None:
        return None
    root = (
        x
        if w[x].numel() == 1 and w.chance(80)
        else f"{x}{w.choice(('.sum()', '.sum()', '.sin().sum()', '.pow(2).mean()', '.sum()'))}"
    )
    options = w.choice(
        ("", "", "retain_graph=True", "retain_graph=True", "create_graph=True", f"inputs=[{w.recorded()}]")
    )
    if w.chance(15):
        return f"{x}.backward({w.literal(tuple(w[x].shape), w[x].dtype)}{options and ', '}{options})"
    return f"({root}).backward({options})"


@step(6, "backward")
def gradient(w: Writer) -> str | None:
    x, y = w.recorded(), w.recorded()
    if x is None or y is None:
        return None
    options = "".join(w.choice(choices) for choices in (("", ", create_graph=True", ", create_graph=True",
        ", retain_graph=True"),
                                                        (", allow_unused=True", ", allow_unused=True", "",
                                                        ", materialize_grads=True")))  # fmt: skip
    root = x + w.choice((".sum()", ".pow(2).sum()", ".sin().sum()"))
    return f"{w.new_name()}, = torch.autograd.grad({root}, [{y}]{options})"


@step(3, "backward")
def several_roots(w: Writer) -> str | None:
    x, y, z = w.recorded(), w.recorded(), w.recorded()
    if x is None or y is None:
        return None
    options = w.choice(("", "", ", retain_graph=True", f", inputs=[{z}, {x}]", ", create_graph=True"))
    ones = f"[torch.ones_like({x}), None]" if w.chance(50) else f"[torch.ones_like({x}), torch.ones_like({y}.sum())]"
    return f"torch.autograd.backward([{x}, {y}.sum()], {ones}{options})"


@step(3, "backward")
def odd_gradients(w: Writer) -> str | None:
    x, y = w.recorded(), w.recorded()
    if x is None or y is None:
        return None
    call = w.choice((
        "torch.autograd.grad({x}.sum(), torch.autograd.graph.get_gradient_edge({y}), retain_graph=True)",
        "torch.autograd.grad({x}, [{y}], torch.stack([torch.ones_like({x}), {x} * 2]), is_grads_batched=True)",
        "torch.autograd.grad([{x}.sum(), {y}.sum()], [{y}, {x}], allow_unused=True, retain_graph=True)",
        "torch.autograd.grad(torch.autograd.grad({x}.pow(2).sum(), {y}, create_graph=True)[0].sum(), {y})",
        "torch.autograd.grad({x}, {y}, torch.ones_like({x}), retain_graph=True)",
        "torch.autograd.grad(torch.autograd.graph.get_gradient_edge({x}), {y}, torch.ones_like({x}))",
    )).format(x=x, y=y)  # fmt: skip
    return f"{w.new_name()} = {call}[0]"


@step(3, "control")
def training(w: Writer) -> str | None:
    x = w.target(lambda x: x.dtype.is_floating_point and x.is_leaf and x.requires_grad and x.numel() > 0)
    if x is None:
        return None
    clear = w.choice(("{x}.grad = None", "{x}.grad.zero_()", "pass")).format(x=x)
    update = w.choice(
        (
            "{x}.sub_({x}.grad, alpha=0.1)",
            "{x} -= 0.1 * {x}.grad",
            "{x}.data.sub_(0.1 * {x}.grad)",
            "{x}.copy_({x} * 0.5)",
        )
    ).format(x=x)
    loss = w.choice(
        (f"({x} ** 2).sum()", f"{x}.sin().sum()", f"{x}.sigmoid().pow(2).mean()", f"Double.apply({x}).sum()")
    )
    name = w.new_name()
    return (f"for i in range({w.number(2, 4)}):\n    {name} = {loss}\n    {name}.backward()\n"
            "    with torch.no_grad():\n"
            f"        {update}\n    log('step', {name})\n    {clear}")  # fmt: skip


@step(2, "leaves")
def flag(w: Writer) -> str | None:
    x = w.tensor(lambda x: x.is_leaf)
    return x and f"{x}.requires_grad_({w.choice(('False', 'True', ''))})"


@step(2, "backward")
def use_gradient(w: Writer) -> str | None:
    x = w.tensor(lambda x: x.is_leaf and x.grad is not None)
    return x and w.choice((f"{w.new_name()} = {x}.grad", f"{x}.grad = None", f"{w.new_name()} = {x}.grad * {x}",
        f"{x}.grad.zero_()",
                           f"with torch.no_grad():\n    {x}.sub_({x}.grad, alpha=0.1)"))  # fmt: skip


@step(1, "backward")
def clear(w: Writer) -> str | None:
    x = w.tensor(lambda x: x.is_leaf and x.requires_grad)
    return x and f"{x}.grad = None"


@step(4, "duals")
def dual(w: Writer) -> str | None:
    x = w.floating()
    found = function(w, [x]) if x else None
    if found is None:
        return None
    name, text = found
    primal, tangent = w.new_name(), w.operand(x, numbers=False, same=True)
    out = "l" if primal != "l" else "k"
    return (f"{text}\nwith forward_ad.dual_level():\n    {out} = {name}(forward_ad.make_dual({x}, {tangent}))\n"
            f"    log('dual', *forward_ad.unpack_dual({out}))\n"
            f"    {primal} = forward_ad.unpack_dual({out}).tangent\n    del {out}")  # fmt: skip


# -- functions and transforms ------------------------------------------------------------------------------------------


INSIDE = (
    "Cube.apply({x})",
    "{x}.detach() * {x}",
    "torch.func.grad(lambda v: v.pow(3).sum())({x})",
    "torch.func.vmap(lambda v: v * v)({x})",
    "torch.autograd.grad({x}.pow(2).sum(), {x}, create_graph=True)[0]",
    "torch.func.jvp(torch.sin, ({x},), ({x},))[1]",
    "torch.utils.checkpoint.checkpoint(torch.sin, {x}, use_reentrant=False)",
    "torch.func.vjp(torch.exp, {x} * 0.1)[1]({x})[0]",
    "Double.apply({x})",
    "torch.func.jacrev(torch.sin)({x}).sum()",
    "torch.func.jacfwd(lambda v: v * v)({x}).sum(0)",
)
"""What a function that is differentiated may do itself, besides operators."""


def function(
    w: Writer, arguments: list[str], scalar: bool = False, families: tuple[str, ...] = GRADUAL, length: int = 3
) -> tuple[str, str] | None:
    """A function of tensors like these: its name and its text. The body is run as it is drawn."""
    name, inner = w.fresh("f"), Writer(w.module, w.chances, w.plain)
    parameters = "xyz"[: len(arguments)]
    inner.world.names.update(
        {p: w[a].detach().clone().requires_grad_() for p, a in zip(parameters, arguments, strict=True)}
    )
    inner.counted = w.counted + 10
    local = dict(inner.world.names)

    def again() -> None:
        inner.world.names = dict(local)
        for line in inner.lines:
            exec(line, inner.world.names)

    inner.begin_again = again  # type: ignore[method-assign]
    for _ in range(w.number(1, length)):
        target = inner.floating(lambda x: x.numel() > 0)
        if target is None:
            return None
        free = next(letter for letter in "uvwpqrstmno" if letter not in inner.world.names)
        made = [name for name in "uvw" if name in inner.world.names]
        if made and families is GRADUAL and w.chance(20):
            inner.keep(
                w.choice(("{x}.mul_({y})", "{x}[{index}] = {c}", "{x}.add_({y})", "{x}[0] = 0.5")).format_map(
                    Slots(inner, made[-1], near=True)
                )
            )
        text = inner.call(families, target)
        if families is GRADUAL and w.chance(20):
            text = w.choice(INSIDE).format(x=target)
        if text and ".item()" not in text:
            inner.keep(f"{free} = {text}")
    results = [name for name in "uvwpqrstmno" if name in inner.world.names and inner[name].dtype.is_floating_point]
    if not results:
        return None
    result = results[-1] + (f".{w.choice(('sum()', 'pow(2).sum()', 'mean()', 'sin().sum()'))}" if scalar else "")
    w.counted = inner.counted
    body = "\n".join(inner.lines)
    return name, indented(f"def {name}({', '.join(parameters)}):", f"{body}\nreturn {result}")


TRANSFORMS = (
    ("scalar", "torch.func.grad({f}, argnums={arg})({args})"),
    ("scalar", "torch.func.grad_and_value({f})({args})[0]"),
    ("any", "torch.func.vjp({f}, {args})[1]({f}({args}))[0]"),
    ("any", "torch.func.jvp({f}, ({args},), ({args},))[1]"),
    ("any", "torch.func.jacrev({f}, argnums={arg})({args})"),
    ("any", "torch.func.jacfwd({f}, argnums={arg})({args})"),
    ("scalar", "torch.func.hessian({f})({args})"),
    ("any", "torch.func.vmap({f})({stacked})"),
    ("any", "torch.func.vmap({f}, in_dims={dims})({partly})"),
    ("scalar", "torch.func.vmap(torch.func.grad({f}))({stacked})"),
    ("scalar", "torch.func.jvp(torch.func.grad({f}), ({args},), ({args},))[1]"),
    ("scalar", "torch.func.grad(lambda *xs: torch.func.grad({f})(*xs).pow(2).sum())({args})"),
    ("any", "torch.func.linearize({f}, {args})[1]({args})"),
    ("any", "torch.func.vmap(torch.func.vmap({f}))({twice})"),
    ("any", "torch.autograd.functional.jacobian({f}, ({args},), create_graph=True)[0]"),
    ("scalar", "torch.autograd.functional.hessian({f}, ({args},))[0][0]"),
    ("any", "torch.func.functionalize({f})({args})"),
    ("any", "torch.func.vmap(torch.func.jacrev({f}))({stacked})"),
    ("any", "torch.autograd.functional.vjp({f}, ({args},), {f}({args}))[1][0]"),
    ("any", "torch.autograd.functional.jvp({f}, ({args},), ({args},))[1]"),
)


@step(9, "transforms")
def transform(w: Writer) -> str | None:
    names = w.tensors(lambda x: x.dtype.is_floating_point and x.numel() > 0)
    if not names:
        return None
    chosen = w.chances.sample(names, min(len(names), w.number(1, 2)))
    kind, template = w.choice(TRANSFORMS)
    found = function(w, chosen, scalar=kind == "scalar")
    if found is None:
        return None
    name, text = found
    slots = {
        "f": name, "args": ", ".join(chosen), "arg": w.number(0, len(chosen) - 1),
        "stacked": ", ".join(f"torch.stack([{x}, {x} * 2])" for x in chosen),
        "twice": ", ".join(f"torch.stack([{x}, {x} * 2])[None]" for x in chosen),
        "partly": ", ".join([f"torch.stack([{chosen[0]}, {chosen[0]} + 1], -1)", *chosen[1:]]),
        "dims": repr((-1, *[None] * (len(chosen) - 1))),
    }  # fmt: skip
    return f"{text}\n{w.new_name()} = {template.format_map(slots)}"


# -- control flow ------------------------------------------------------------------------------------------------------


@step(3, "control")
def branch(w: Writer) -> str | None:
    x, name = w.tensor(lambda x: x.numel() > 0 and not x.dtype.is_complex), w.new_name()
    first, second = w.call(PURE), w.call(PURE)
    if x is None or first is None or second is None:
        return None
    return f"if {x}.sum() > 0:\n    {name} = {first}\nelse:\n    {name} = {second}"


@step(3, "control")
def loop(w: Writer) -> str | None:
    x = w.floating(lambda x: x.numel() > 0)
    if x is None:
        return None
    name = w.new_name()
    if w.chance(30):
        ends = f"    if not {name}.abs().sum() > 3:\n        break"  # however small it is made
        return f"{name} = {x}\nfor i in range(9):\n{ends}\n    {name} = {name} / 2"
    body = w.choice(
        ("{n}.sin() + {n}", "{n} * 0.5 + i", "{n} * {x}", "torch.tanh({n}) * (i + 1)", "{n} + {n}.mean()")
    ).format(n=name, x=x)
    return f"{name} = {x}\nfor i in range({w.number(2, 3)}):\n    {name} = {body}"


@step(2, "control")
def attempt(w: Writer) -> str | None:
    body = w.choice((write, backward, gradient, operator))(w)
    return body and indented("try:", body) + "\nexcept Exception as error:\n    log('error', type(error).__name__)"


@step(1, "control")
def forget(w: Writer) -> str | None:
    names = w.tensors()
    return f"del {w.choice(names)}" if len(names) > 4 else None


def indented(header: str, body: str) -> str:
    return header + "\n" + "\n".join(f"    {line}" for line in body.splitlines() if line)

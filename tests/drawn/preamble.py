"""What the lines of a drawn program may speak of, besides ``torch``. A program is printed with what it uses of this."""

import random
import threading
import warnings

import tapegrad as torch

seen = []


def log(tag, *values):
    """Note what a hook was given, as it is now."""
    seen.append([tag, *[v.detach().clone() if isinstance(v, torch.Tensor) else said(v) for v in values]])


class Kept:
    """What Python keeps from one call of a step to the next."""

    n, rate, text = 0, 1.0, ""
    log, table = [], {}
    draws = random.Random(7)


def said(value):
    """An error as PyTorch says it, without what tapegrad adds; anything else as it is."""
    return str(value).partition("\nWhere:\n")[0][:90] if isinstance(value, Exception) else value


def named(tag, answer=None):
    """A hook that notes what it is given, and answers with a function of the gradient, or nothing."""

    def hook(grad):
        log(tag, grad, grad.requires_grad)
        return None if answer is None else answer(grad)

    return hook


def node_hook(tag):
    """A hook of a node, before it or behind it."""
    return lambda *grads: log(tag, *[grad for group in grads for grad in group])


def steps(x):
    """The strides of a tensor; a step along a dimension of length 1 is none."""
    return [step * (length > 1) for step, length in zip(x.stride(), x.shape, strict=True)]


def same_memory(x, y):
    """Whether two tensors begin at one place."""
    return x.data_ptr() == y.data_ptr()


def around(x):
    """The names of the nodes behind a tensor, three deep."""
    found, nodes = [], [x.grad_fn]
    for _ in range(3):
        found.append([None if node is None else node.name() for node in nodes])
        nodes = [after for node in nodes if node is not None for after, _ in node.next_functions]
    return found


def filled(kind, *settings, **more):
    """A module whose parameters are numbers that can be told apart."""
    module = kind(*settings, **more)
    with torch.no_grad():
        for number, p in enumerate(module.parameters()):
            p.copy_(torch.arange(p.numel()).add(number).mul(1.7).sin().mul(8).round().div(8).reshape(p.shape))
    return module


class Double(torch.autograd.Function):
    """Twice, and says so."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        log("Double", grad)
        return grad * 2


class Product(torch.autograd.Function):
    """The product and the sum of two tensors; the sum has no derivative."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        total = x + y
        ctx.mark_non_differentiable(total)
        return x * y, total

    @staticmethod
    def backward(ctx, grad, grad_total):
        x, y = ctx.saved_tensors
        log("Product", ctx.needs_input_grad, grad, grad_total)
        return (grad * y).sum_to_size(x.shape), (grad * x).sum_to_size(y.shape)


class Cube(torch.autograd.Function):
    """The cube, in the form that function transforms take."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 3 * x * x * tangent


class Shift(torch.autograd.Function):
    """Writes to its argument, and gives it back."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


class Pair(torch.autograd.Function):
    """Sine and cosine; gradients that nobody asked for are None."""

    @staticmethod
    def forward(ctx, x, scale):
        ctx.set_materialize_grads(False)
        ctx.scale = scale
        ctx.save_for_backward(x)
        return x.sin() * scale, x.cos()

    @staticmethod
    def backward(ctx, first, second):
        (x,) = ctx.saved_tensors
        log("Pair", first, second)
        total = torch.zeros_like(x)
        if first is not None:
            total = total + first * x.cos() * ctx.scale
        if second is not None:
            total = total - second * x.sin()
        return total, None


# -- what is handed to those who would do it themselves ----------------------------------------------------------------


def called(func):
    """The name by which a function is known: that of the first place where it is found."""
    name = func.__name__
    if name in ("__get__", "__set__", "__delete__"):
        kinds = [vars(kind).items() for kind in torch.Tensor.__mro__]
        return next((f"Tensor.{key}.{name}" for kind in kinds for key, item in kind if item is func.__self__), name)
    for place in ("Tensor", "", "nn.functional", "linalg", "special", "fft", "_C"):
        home = torch
        for part in filter(None, place.split(".")):
            home = getattr(home, part)
        for known in (name, f"__{name}__", f"__r{name}__"):
            if getattr(home, known, None) is func:
                return f"{place}.{known}".lstrip(".")
    return f"? {name}"


def handed(who, func, types):
    """Note that a function was handed over."""
    seen.append([who, called(func), [kind.__name__ for kind in types]])


def bare(item):
    """A tensor without its class."""
    return item.as_subclass(torch.Tensor) if isinstance(item, torch.Tensor) else item


class Tagged(torch.Tensor):
    """Notes what it is handed, and leaves it to tensors."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        handed("Tagged", func, types)
        return super().__torch_function__(func, types, args, kwargs or {})


class Tabled(torch.Tensor):
    """Goes by a table of functions; what isn't in it is left to tensors."""

    table = {}

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        handed("Tabled", func, types)
        if func in cls.table:
            return cls.table[func](*[bare(item) for item in args], **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})


def tabled(x, table):
    """A tensor that goes by this table."""
    return x.as_subclass(type("Tabled", (Tabled,), {"table": table}))


class Thing:
    """No tensor, but goes by a table; what isn't in it is refused."""

    table = {}

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        handed("Thing", func, types)
        return cls.table[func](*args, **(kwargs or {})) if func in cls.table else NotImplemented


def thing(table):
    """A thing that goes by this table."""
    return type("Thing", (Thing,), {"table": table})()


class Reflected:
    """No tensor, and knows what tensors may do with it from the left."""

    def __radd__(self, other):
        return other + 10

    def __rmul__(self, other):
        return other * 10

    def __rsub__(self, other):
        return "rsub"

    def __rtruediv__(self, other):
        return "rtruediv"

    def __rpow__(self, other):
        return "rpow"

    def __rmatmul__(self, other):
        return "rmatmul"

    def __gt__(self, other):
        return "gt"


class Refusing(Reflected):
    """Refuses all that it is handed, but knows what may be done from the left."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        handed("Refusing", func, types)
        return NotImplemented


class Watching(torch.overrides.TorchFunctionMode):
    """Notes what is called while it is on; what is in its table is done by that."""

    def __init__(self, tag, table=()):
        super().__init__()
        self.tag, self.table = tag, dict(table)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        handed(self.tag, func, types)
        return self.table.get(func, func)(*args, **(kwargs or {}))


# -- warnings, threads, modules side by side ---------------------------------------------------------------------------


def warned(call):
    """What a call gives; what it warns of is noted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        always = torch.is_warn_always_enabled()
        torch.set_warn_always(True)
        try:
            return call()
        finally:
            torch.set_warn_always(always)
            told = {str(w.message).partition(" (Triggered internally")[0]: w.category.__name__ for w in caught}
            seen.append(["warned", list(told.values()), list(told)])


def modes():
    """What is set, as this thread sees it."""
    on = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_anomaly_enabled()
    cast = torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu")).rpartition(".")[2]
    return [*on, *cast, str(torch.get_default_dtype()).rpartition(".")[2]]


def in_thread(call):
    """What a call gives in another thread, which is waited for."""
    answers = []

    def run():
        try:
            answers.append((call(), None))
        except Exception as error:
            answers.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if answers[0][1] is not None:
        raise answers[0][1]
    return answers[0][0]


def ensemble(kind, *settings, **more):
    """The parameters of two modules, stacked, their buffers, and a module that computes with them."""
    models = [filled(kind, *settings, **more) for _ in range(2)]
    with torch.no_grad():
        for p in models[1].parameters():
            p.mul_(0.5)
    return *torch.func.stack_module_state(models), filled(kind, *settings, **more)


def wave(*shape):
    """A larger tensor, of numbers that have many digits."""
    count = 1
    for length in shape:
        count *= length
    return torch.arange(count).mul(0.7).sin().reshape(shape)

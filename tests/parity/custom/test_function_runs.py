"""Custom functions on both: differentiated twice, run by the engine, with hooks, of subclasses, and freed."""

import gc
import threading
import weakref

import pytest
from custom import double, function, gradients, same_gradient
from harness import agree, attempt, leaf

pytestmark = pytest.mark.parity

# -- differentiating twice ---------------------------------------------------------------------------------------------


def fifth_power(torch, save_output=False):
    def forward(ctx, x):
        out = x**5
        ctx.save_for_backward(x, out) if save_output else ctx.save_for_backward(x)
        return out

    def backward(ctx, g):
        if save_output:
            x, out = ctx.saved_tensors
            return 5 * g * out / x
        return 5 * g * ctx.saved_tensors[0] ** 4

    return function(torch, forward, backward, name="FifthPower")


@pytest.mark.parametrize("save_output", [False, True], ids=["saving the input", "saving the output"])
def test_higher_derivatives(save_output):
    def program(torch):
        x = leaf(torch)
        account = []
        out = fifth_power(torch, save_output).apply(x * 1)
        for _ in range(3):
            (out,) = torch.autograd.grad(out.sum(), x, create_graph=True)
            account.append(out)
        out.sum().backward()
        return [account, x.grad]

    agree(program)


def test_second_derivatives_through_the_gradient():
    def program(torch):
        x, w = leaf(torch), leaf(torch, 2.0, 3.0, 4.0)
        y = fifth_power(torch).apply(x)
        (g,) = torch.autograd.grad(y, x, w, create_graph=True)
        return [g, g.grad_fn.name(), torch.autograd.grad(g.sum(), [x, w])]

    agree(program)


def test_backward_may_apply_functions():
    def program(torch):
        class Inner(torch.autograd.Function):
            @staticmethod
            def forward(ctx, g, x):
                ctx.save_for_backward(g, x)
                return g * x.cos()

            @staticmethod
            def backward(ctx, gg):
                g, x = ctx.saved_tensors
                return gg * x.cos(), -gg * g * x.sin()

        class Outer(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.sin()

            @staticmethod
            def backward(ctx, g):
                return Inner.apply(g, *ctx.saved_tensors)

        x = leaf(torch)
        (g,) = torch.autograd.grad(Outer.apply(x).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        return [g, g.grad_fn.name(), h]

    agree(program)


def test_saved_tensors_are_the_same_objects():
    def program(torch):
        account = []
        x = leaf(torch)
        z = x * 2
        for given in (x, z):
            def backward(ctx, g, given=given):
                account.append([ctx.saved_tensors[0] is given, torch.is_grad_enabled(), g.requires_grad])
                return g
            y = function(torch, lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], backward).apply(given)
            torch.autograd.grad(y.sum(), x, create_graph=True)
            torch.autograd.grad(y, x, torch.ones(3, requires_grad=True), create_graph=True)
            torch.autograd.grad(y.sum(), x)
        return account

    agree(program)


@pytest.mark.parametrize("way", ["first order", "of a seed that requires grad", "of a constant seed", "with None"])
def test_once_differentiable(way):
    def program(torch):
        once = torch.autograd.function.once_differentiable
        modes = []

        def backward(ctx, g):
            modes.append(torch.is_grad_enabled())
            return (g * 3, None) if way == "with None" else (g * 3, g)

        Mine = function(torch, lambda ctx, x, y: x * y, once(backward))
        x, y = leaf(torch), leaf(torch)
        out = Mine.apply(x, y)
        if way == "first order":
            return [gradients(out, x, y), modes]
        seed = torch.ones(3, requires_grad=way != "of a constant seed")
        g, h = torch.autograd.grad(out, [x, y], seed, create_graph=True, allow_unused=True)
        node = g.grad_fn
        names = node and [node.name(), type(node).__name__, [[f and f.name(), nr] for f, nr in node.next_functions]]
        return [g, h, names, modes, attempt(lambda: g.sum().backward())]

    agree(program)


def test_once_differentiable_keeps_the_functions_name():
    agree(lambda torch: torch.autograd.function.once_differentiable(same_gradient).__name__)


# -- running -----------------------------------------------------------------------------------------------------------


def test_backward_inside_backward():
    def program(torch):
        account = []

        def forward(ctx, x):
            with torch.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.out = ctx.x.exp()
            return ctx.out.detach()

        def backward(ctx, g):
            account.append(torch.is_grad_enabled())
            with torch.enable_grad():
                torch.autograd.backward(ctx.out, g, retain_graph=True)
            account.append(torch.is_grad_enabled())
            (again,) = torch.autograd.grad(ctx.out, ctx.x, g)
            return ctx.x.grad + again

        x = leaf(torch)
        Mine = function(torch, forward, backward)
        first = gradients(Mine.apply(Mine.apply(x)), x)
        return [first, account, torch.is_grad_enabled()]

    agree(program)


def test_modes_are_restored_after_forward_and_backward():
    def program(torch):
        account = []

        def forward(ctx, x):
            account.append(torch.is_grad_enabled())
            torch.set_grad_enabled(True)
            return x * 2

        def backward(ctx, g):
            account.append(torch.is_grad_enabled())
            torch.set_grad_enabled(True)
            return g

        Mine = function(torch, forward, backward)
        x = leaf(torch)
        y = Mine.apply(Mine.apply(x))
        with torch.no_grad():
            Mine.apply(x)
            account.append(torch.is_grad_enabled())
            y.backward(torch.ones(3))
            account.append(torch.is_grad_enabled())

        def failing(ctx, x):
            torch.set_grad_enabled(False)
            raise ValueError("inside")

        account.append(attempt(lambda: function(torch, failing, failing).apply(x)))
        return [account, torch.is_grad_enabled()]

    agree(program)


def test_recording_inside_forward():
    def program(torch):
        def forward(ctx, x):
            with torch.enable_grad():
                return x * 2

        x = leaf(torch)
        y = function(torch, forward, lambda ctx, g: g * 100).apply(x)
        return [y.grad_fn.name(), gradients(y, x)]

    agree(program)


def test_only_what_is_needed_runs():
    def program(torch):
        seen = []

        def backward(ctx, g):
            seen.append(ctx.needs_input_grad)
            return g, g * 2

        x, y = leaf(torch), leaf(torch)
        z = function(torch, lambda ctx, x, y: x * y, backward).apply(x, y)
        other = function(torch, double, lambda ctx, g: 1 / 0, name="Other").apply(x)
        return [torch.autograd.grad((z + 0).sum(), [y]), torch.autograd.grad(z.sum(), [x], allow_unused=True), seen,
                torch.autograd.grad((y + other).sum(), y)]  # fmt: skip

    def run(torch):
        return attempt(lambda: program(torch))

    agree(run)


def test_node_hooks():
    def program(torch):
        events = []
        x, y = leaf(torch), leaf(torch)
        a, b = function(torch, lambda ctx, x, k, y: (x * y, x + y), lambda ctx, g, h: (g, None, g + h)).apply(x, 2, y)
        node = a.grad_fn
        node.register_prehook(lambda grads: events.append(["pre", grads]))
        node.register_hook(lambda inputs, outputs: events.append(["post", inputs, outputs]))
        handle = node.register_hook(lambda inputs, outputs: (inputs[0] * 10, None))
        a.register_hook(lambda g: events.append(["a", g]))
        b.register_hook(lambda g: g * 2)
        a.retain_grad()
        (a * 2 + b * 3).sum().backward(retain_graph=True)
        handle.remove()
        torch.autograd.grad(b.sum(), [x, y])
        return [events, x.grad, y.grad, a.grad, len(node.next_functions)]

    agree(program)


def test_the_order_of_nodes():
    def program(torch):
        order = []

        def named(name):
            return function(torch, double, lambda ctx, g: (order.append(name), g)[1], name=name)

        x = leaf(torch)
        a = named("A").apply(x)
        b = named("B").apply(a)
        c = named("C").apply(a)
        (b + c).sum().backward()
        numbers = [t.grad_fn._sequence_nr() for t in (a, b, c)]
        return [order, [later - numbers[0] for later in numbers]]

    agree(program)


def test_the_node_is_ctx():
    def program(torch):
        found = []
        Mine = function(torch, lambda ctx, x: (found.append(ctx), x * 2)[1], lambda ctx, g: (found.append(ctx), g)[1])
        y = Mine.apply(leaf(torch))
        y.sum().backward()
        cls = type(y.grad_fn)
        bases = [base.__name__ for base in cls.__mro__ if base.__name__ not in ("_FunctionBase", "_HookMixin", "Node")]
        return [[ctx is y.grad_fn for ctx in found], cls is Mine._backward_cls, bases[:3], cls.__qualname__,
                isinstance(y.grad_fn, torch.autograd.graph.Node), repr(y)]  # fmt: skip

    def names(torch):
        account = program(torch)
        account[2] = [name for name in account[2] if "Function" in name or "Backward" in name][:2]
        return account

    agree(names)


def test_every_subclass_has_a_node_class_of_its_own():
    def program(torch):
        Base = function(torch, double, same_gradient, name="Base")
        Derived = type("Derived", (Base,), {})
        x = leaf(torch)
        y = Derived.apply(x)
        return [y.grad_fn.name(), Base.apply(x).grad_fn.name(), y.grad_fn._forward_cls is Derived, gradients(y, x),
                issubclass(Derived._backward_cls, Base._backward_cls)]  # fmt: skip

    agree(program)


def test_applying_the_node_by_hand():
    def program(torch):
        Mine = function(torch, lambda ctx, x, y: (ctx.save_for_backward(x), x * y)[1], lambda ctx, g: (g, g * 2))
        node = Mine.apply(leaf(torch), leaf(torch)).grad_fn
        return [node.apply(torch.ones(3)), node.apply(torch.ones(1)), attempt(lambda: node(torch.ones(3)))]

    agree(program)


def test_context_after_backward():
    def program(torch):
        kept = []

        def backward(ctx, g):
            kept.append(ctx)
            return g * ctx.saved_tensors[0]

        x = leaf(torch)
        y = function(torch, lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], backward).apply(x)
        y.sum().backward(retain_graph=True)
        again = kept[0].saved_tensors
        y.sum().backward()
        return [again, attempt(lambda: kept[0].saved_tensors), x.grad]

    agree(program)


def test_forward_on_another_thread():
    def program(torch):
        x = leaf(torch)
        found = []

        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        Mine = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[0])

        def work():
            found.append(Mine.apply(x))

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        return gradients(found[0], x)

    agree(program)


# -- classes of tensors ------------------------------------------------------------------------------------------------


def test_tensor_subclasses():
    def program(torch):
        class Plain(torch.Tensor):
            pass

        class Loud(torch.Tensor):
            calls = []

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                cls.calls.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})

        account = []
        for cls in (torch.nn.Parameter, Plain, Loud):
            x = cls(torch.ones(3)) if cls is torch.nn.Parameter else torch.ones(3).as_subclass(cls)
            for forward in (lambda ctx, x: x, lambda ctx, x: x.clone(), lambda ctx, x: x.view(-1)):
                given = x if x.requires_grad else x.requires_grad_()
                y = function(torch, forward, same_gradient).apply(given)
                account.append([cls.__name__, type(y).__name__, y is given, type(y.grad_fn).__name__, y.is_leaf])
            y.sum().backward()
            account.append(x.grad.as_subclass(torch.Tensor))
        return account

    agree(program)


# -- lifetime ----------------------------------------------------------------------------------------------------------


def test_functions_are_freed_with_their_outputs():
    def program(torch):
        class Token:
            pass

        def forward(ctx, x):
            ctx.token = tokens[-1]
            out = x * 2
            ctx.save_for_backward(x, out)
            return out

        tokens, alive = [], []
        gc.collect()
        gc.disable()
        try:
            Mine = function(torch, forward, lambda ctx, g: g * ctx.saved_tensors[1])
            for use in (lambda y: None, lambda y: y.sum().backward(), lambda y: y.grad_fn.saved_tensors):
                tokens.append(Token())
                y = Mine.apply(leaf(torch))
                use(y)
                seen = weakref.ref(tokens.pop()), weakref.ref(y.grad_fn)
                del y
                alive.append([reference() is not None for reference in seen])
        finally:
            gc.enable()
        return alive

    agree(program)


def test_a_cycle_through_ctx_can_be_collected():
    def program(torch):
        def forward(ctx, x):
            ctx.out = x * 2
            return ctx.out

        gc.collect()
        gc.disable()
        try:
            y = function(torch, forward, same_gradient).apply(leaf(torch))
            node = weakref.ref(y.grad_fn)
            del y
            before = node() is not None
        finally:
            gc.enable()
        gc.collect()
        return [before, node() is not None]

    agree(program)


def test_errors_reach_the_caller_with_their_own_traceback():
    def program(torch):
        class Special(Exception):
            pass

        def helper_that_raises():
            raise Special("special")

        x = leaf(torch)
        y = function(torch, double, lambda ctx, g: helper_that_raises()).apply(x)
        try:
            y.sum().backward()
        except Special as error:
            names, trace = [], error.__traceback__
            while trace is not None:
                names.append(trace.tb_frame.f_code.co_name)
                trace = trace.tb_next
            return [str(error), names[-1], x.grad]

    agree(program)

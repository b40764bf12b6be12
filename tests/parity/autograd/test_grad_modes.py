"""Grad modes as contexts, functions and decorators: the same programs on both, telling what they saw."""

import gc
import inspect
import threading

import pytest
from harness import Programs, agree, attempt, leaf, warned

pytestmark = pytest.mark.parity

PROGRAMS = program = Programs()


@program
def no_grad_and_enable_grad_nest(torch):
    x, account = leaf(torch, 2.0), []

    def look():
        account.append([torch.is_grad_enabled(), (x * x).requires_grad])

    look()
    with torch.no_grad():
        look()
        with torch.enable_grad():
            look()
            with torch.no_grad():
                look()
            look()
        look()
    look()
    return account


@program
def modes_are_restored_after_an_exception(torch):
    def fail():
        with torch.no_grad():
            raise ValueError("inside")

    return attempt(fail), torch.is_grad_enabled()


@program
def set_grad_enabled_as_function_and_as_context(torch):
    account = []
    with torch.set_grad_enabled(False):
        account.append(torch.is_grad_enabled())
        with torch.set_grad_enabled(True):
            account.append(torch.is_grad_enabled())
        account.append(torch.is_grad_enabled())
    account.append(torch.is_grad_enabled())
    torch.set_grad_enabled(False)
    account.append(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    account.append(torch.is_grad_enabled())
    return account, attempt(lambda: torch.set_grad_enabled("yes"))


@program
def modes_as_decorators(torch):
    x = leaf(torch, 2.0)

    @torch.no_grad()
    def without():
        return (x * x).requires_grad

    @torch.no_grad
    def bare():
        "Says so."
        return (x * x).requires_grad

    @torch.enable_grad()
    def with_():
        return (x * x).requires_grad

    @torch.set_grad_enabled(False)
    def switched():
        return (x * x).requires_grad

    account = [without(), bare(), bare.__name__, bare.__doc__, with_(), switched(), torch.is_grad_enabled()]
    with torch.no_grad():
        account += [with_(), torch.is_grad_enabled()]
    return account


@program
def decorated_methods_and_recursion(torch):
    class Model:
        @torch.no_grad()
        def method(self, x):
            return (x * x).requires_grad

        @classmethod
        @torch.no_grad()
        def of_class(cls, x):
            return (x * x).requires_grad

    @torch.no_grad()
    def down(depth):
        return [torch.is_grad_enabled()] + (down(depth - 1) if depth else []) + [torch.is_grad_enabled()]

    x = leaf(torch, 2.0)
    return Model().method(x), Model.of_class(x), down(2), torch.is_grad_enabled()


@program
def decorated_classes_warn(torch):
    def decorate():
        @torch.no_grad()
        class Model:
            pass

    return warned(decorate)


@program
def decorated_generators(torch):
    seen = []

    @torch.no_grad()
    def generate():
        seen.append(torch.is_grad_enabled())
        received = yield torch.is_grad_enabled()
        seen.append(received)
        try:
            yield torch.is_grad_enabled()
        except ValueError as error:
            seen.append(str(error))
            yield torch.is_grad_enabled()
        return "returned"

    generator = generate()
    account = [inspect.isgeneratorfunction(generate), torch.is_grad_enabled()]
    account += [next(generator), torch.is_grad_enabled()]
    account += [generator.send("sent"), torch.is_grad_enabled()]
    account += [generator.throw(ValueError("thrown")), torch.is_grad_enabled()]
    account.append(attempt(lambda: next(generator)))

    def delegate():
        account.append((yield from generate()))

    for _ in delegate():
        account.append(torch.is_grad_enabled())
    return account, seen


@program
def closing_a_decorated_generator(torch):
    seen = []

    @torch.no_grad()
    def generate():
        try:
            yield 1
        finally:
            seen.append(torch.is_grad_enabled())

    generator = generate()
    next(generator)
    generator.close()
    with torch.no_grad():
        other = generate()
        next(other)
    seen.append(torch.is_grad_enabled())
    del other
    gc.collect()
    return seen, torch.is_grad_enabled()


@program
def an_exception_in_a_decorated_generator(torch):
    @torch.no_grad()
    def generate():
        yield 1
        raise KeyError("inside")

    generator = generate()
    next(generator)
    return attempt(lambda: next(generator)), torch.is_grad_enabled()


@program
def assignments_under_no_grad_keep_leaves_leaves(torch):
    x = leaf(torch, [1.0, 2.0])
    (x * x).sum().backward()
    with torch.no_grad():
        x -= 0.5 * x.grad
        x.mul_(2)
        x += 1
    return x, x.is_leaf, x.grad_fn is None


@program
def backward_under_no_grad(torch):
    x = leaf(torch, 2.0)
    y = x.exp() * x
    with torch.no_grad():
        y.backward(retain_graph=True)
        (second,) = torch.autograd.grad(y, x, create_graph=True)
        account = [torch.is_grad_enabled(), second.requires_grad]
    return account, x.grad, torch.autograd.grad(second, x)


@program
def set_grad_enabled_as_a_decorator_undoes_itself(torch):
    account = [torch.is_grad_enabled()]

    @torch.set_grad_enabled(False)
    def without():
        return torch.is_grad_enabled()

    account += [torch.is_grad_enabled(), without(), torch.is_grad_enabled()]
    with torch.no_grad():

        @torch.set_grad_enabled(True)
        def with_():
            return torch.is_grad_enabled()

        account += [torch.is_grad_enabled(), with_(), torch.is_grad_enabled()]
    switch = torch.set_grad_enabled(False)
    account.append(torch.is_grad_enabled())
    with switch:
        account.append(torch.is_grad_enabled())
    account += [torch.is_grad_enabled(), str(switch), repr(switch), torch.set_grad_enabled(mode=True).mode]
    return account, [attempt(lambda: torch.set_grad_enabled(value)) for value in (1, None, 0.0)]  # noqa: B023


@program
def what_decorated_functions_keep(torch):
    @torch.no_grad()
    def documented(x, *, scale=2):
        "Says so."
        return x * scale

    bare, direct = torch.no_grad(documented), torch.enable_grad(lambda x: x * 2)
    x = leaf(torch, 2.0)
    return [
        [f.__name__, f.__doc__, f.__wrapped__.__name__, str(inspect.signature(f))] for f in (documented, bare)
    ] + [documented(x, scale=3), bare(x), direct(x), attempt(documented), attempt(lambda: documented(x, size=3))]


@program
def decorators_on_all_sorts_of_methods(torch):
    class Model:
        @torch.no_grad
        def bare(self):
            return torch.is_grad_enabled()

        @staticmethod
        @torch.no_grad()
        def static():
            return torch.is_grad_enabled()

        @property
        @torch.no_grad()
        def asked(self):
            return torch.is_grad_enabled()

        @torch.no_grad()
        def __call__(self):
            return torch.is_grad_enabled()

        @torch.enable_grad()
        @torch.no_grad()
        def inner_wins(self):
            return torch.is_grad_enabled()

    model = Model()
    return model.bare(), Model.static(), model.asked, model(), model.inner_wins(), torch.is_grad_enabled()


@program
def decorated_classes_work_still(torch):
    made = []

    def decorate():
        @torch.no_grad()
        class Model:
            def __init__(self, x):
                made.append(torch.is_grad_enabled())
                self.y = x * x

            def later(self):
                return torch.is_grad_enabled()

        model = Model(leaf(torch, 2.0))
        made.extend([model.y.requires_grad, model.later(), inspect.isclass(Model)])

    return warned(decorate), made, warned(lambda: torch.set_grad_enabled(True)(object))


@program
def generators_recurse(torch):
    @torch.no_grad()
    def without(depth):
        seen.append(torch.is_grad_enabled())
        if depth:
            for step in with_(depth - 1):
                seen.append(torch.is_grad_enabled())
                yield step
        yield depth

    @torch.enable_grad()
    def with_(depth):
        seen.append(torch.is_grad_enabled())
        if depth:
            yield from without(depth - 1)
        yield depth

    account = []
    for generator in (without, with_):
        for mode in (True, False):
            seen = []
            with torch.set_grad_enabled(mode):
                for step in generator(3):
                    seen.append([step, torch.is_grad_enabled()])
            account.append(seen)
    return account


def switched(torch, switch):
    """A generator that tells what it receives, and in which mode it runs."""

    @switch()
    def talk(limit=5):
        told = ["start", torch.is_grad_enabled()]
        try:
            while limit:
                limit -= 1
                received = yield [told, torch.is_grad_enabled()]
                told = [received, torch.is_grad_enabled()]
        except KeyError as error:
            yield ["caught", str(error), torch.is_grad_enabled()]
        finally:
            ends.append(torch.is_grad_enabled())
        return ["returned", torch.is_grad_enabled()]

    ends = []
    return talk, ends


def talked(torch, switch, conversation):
    """What is heard from such a generator, and the caller's mode after each step, in both modes of the caller."""
    account = []
    for mode in (True, False):
        with torch.set_grad_enabled(mode):
            talk, ends = switched(torch, switch)
            generator = talk()
            heard = [[attempt(lambda: step(generator)), torch.is_grad_enabled()] for step in conversation]  # noqa: B023
            account.append([heard, ends, torch.is_grad_enabled()])
    return account


class Final(BaseException):
    """What no generator catches."""


def caught(action):
    """The exception, of whatever kind, that an action raises."""
    try:
        return action()
    except BaseException as error:  # what it raises is what is compared
        return ["raised", type(error).__name__, str(error)]


CONVERSATIONS = {
    "to the end": [next] * 7,
    "sending": [next, lambda g: g.send("one"), lambda g: g.send("two"), lambda g: g.send(None)],
    "sending at once": [lambda g: g.send("too early"), next],
    "throwing what it catches": [next, lambda g: g.throw(KeyError("thrown")), next],
    "throwing what it does not catch": [next, lambda g: g.throw(ValueError("thrown")), next],
    "throwing at once": [lambda g: g.throw(KeyError("thrown")), next],
    "throwing a class": [next, lambda g: g.throw(KeyError), next],
    "throwing StopIteration": [next, lambda g: g.throw(StopIteration("thrown")), next],
    "throwing the last word": [next, lambda g: caught(lambda: g.throw(Final("over"))), next],
    "closing": [next, lambda g: g.close(), next],
    "closing at once": [lambda g: g.close(), next],
    "closing twice": [next, next, lambda g: g.close(), lambda g: g.close()],
    "throwing GeneratorExit": [next, lambda g: caught(lambda: g.throw(GeneratorExit())), next],
}


SWITCHES = {
    "no_grad": lambda torch: torch.no_grad,
    "enable_grad": lambda torch: torch.enable_grad,
    "set_grad_enabled": lambda torch: lambda: torch.set_grad_enabled(False),
    "inference_mode": lambda torch: torch.inference_mode,
}


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("switch", SWITCHES)
def test_a_generator_keeps_its_mode_to_itself(switch, name):
    def program(torch):
        return talked(torch, SWITCHES[switch](torch), CONVERSATIONS[name])

    agree(program)


@program
def generators_that_change_the_mode_themselves(torch):
    @torch.no_grad()
    def change():
        torch.set_grad_enabled(True)
        yield torch.is_grad_enabled()
        seen.append(torch.is_grad_enabled())
        yield torch.is_grad_enabled()

    seen = []
    return [[mode, torch.is_grad_enabled()] for mode in change()], seen, torch.is_grad_enabled()


@program
def a_generator_that_ignores_being_closed(torch):
    @torch.no_grad()
    def stubborn():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    generator = stubborn()
    next(generator)
    return attempt(generator.close), torch.is_grad_enabled()


@program
def the_mode_of_a_coroutine_is_that_of_its_caller(torch):
    """An ``async`` function is decorated as any other: the mode is on while the coroutine is made, not in its body."""

    @torch.no_grad()
    async def ask():
        return torch.is_grad_enabled()

    async def ask_inside():
        with torch.no_grad():
            inner = torch.is_grad_enabled()
        return inner, torch.is_grad_enabled()

    def run(coroutine):
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value

    return [run(ask()), run(ask_inside()), inspect.iscoroutinefunction(ask), torch.is_grad_enabled()]


@program
def decorated_async_generators(torch):
    @torch.no_grad()
    async def count():
        yield torch.is_grad_enabled()

    def run(coroutine):
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value

    return [run(count().__anext__()), inspect.isasyncgen(count()), torch.is_grad_enabled()]


@program
def results_under_no_grad(torch):
    x, c = leaf(torch, [1.0, 2.0]), torch.ones(2)
    with torch.no_grad():
        y = x * 2
        z = torch.ones(2, requires_grad=True)
        made = [y, z, z * 2, x.exp(), c + x, x.clone(), x.detach(), torch.nn.Parameter(c), x[[0]], y.requires_grad_()]
        c.add_(x)
        x[0] = 5.0
    return made, [t.grad_fn for t in made], [t.is_leaf for t in (*made, x, c)], c.requires_grad, x, x._version


@program
def writes_under_no_grad_are_counted(torch):
    x = leaf(torch, 2.0)
    y = x * 1
    z = y * y
    with torch.no_grad():
        y.mul_(2)
    return y._version, y.requires_grad, y.grad_fn.name(), attempt(z.backward)


@program
def custom_functions_follow_the_mode(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append([torch.is_grad_enabled(), ctx.needs_input_grad])
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.is_grad_enabled())
            return grad * 2

    seen, x = [], leaf(torch, 2.0)
    with torch.no_grad():
        y = Twice.apply(x)
    z = Twice.apply(x)
    with torch.no_grad():
        z.backward()
    return seen, y.requires_grad, y.grad_fn, z.requires_grad, x.grad


@program
def threads_start_with_grad_mode_on(torch):
    seen = []

    def look():
        seen.append([torch.is_grad_enabled(), torch.is_inference_mode_enabled()])
        torch.set_grad_enabled(False)

    with torch.no_grad():
        other = threading.Thread(target=look)
        other.start()
        other.join()
        seen.append(torch.is_grad_enabled())
    return seen, torch.is_grad_enabled()


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

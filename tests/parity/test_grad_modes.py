"""Grad modes as contexts, functions and decorators: the same programs on both, telling what they saw."""

import gc
import inspect

import pytest
from harness import agree, attempt, warned

pytestmark = pytest.mark.parity

PROGRAMS = []


def program(function):
    """Collects a program: a function of the module which tells what it saw."""
    PROGRAMS.append(function)
    return function


def leaf(torch, values):
    return torch.tensor(values, requires_grad=True)


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


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_program(function):
    agree(function)

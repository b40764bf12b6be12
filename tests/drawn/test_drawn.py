"""A fixed handful of drawn programs, and that the machine can fail. The recorded run is ``python -m tests.drawn``."""

import ast
from random import Random

import pytest

import tapegrad
from drawn.comparing import nudged
from drawn.hunting import Hunt, right_module, runnable
from drawn.modes import MODES, as_step, at_a_jump, at_once, compiled, deferred
from drawn.shrinking import smaller, smallest
from drawn.steps import FEATURES
from drawn.writer import Writer
from tapegrad.ops import unary
from tapegrad.ops.operator import Formula

pytestmark = pytest.mark.once("each program says when it is computed")

COUNT = 6


@pytest.mark.parametrize("number", range(COUNT))
def test_a_drawn_program(number):
    group = Hunt(right_module()).examine(f"ring:{number}")
    assert group is None or group.left, group.text()


def test_a_seed_draws_one_program():
    module = right_module()
    assert Hunt(module).program("ring:1") == Hunt(module).program("ring:1") != Hunt(module).program("ring:2")


@pytest.mark.ring("full")
def test_what_matters_is_drawn():
    module = right_module()
    text = "\n".join(Hunt(module, frozenset({feature})).program(f"ring:{n}") for feature in FEATURES for n in range(6))
    words = (
        "register_hook",
        "torch.func.",
        "checkpoint(",
        ".backward(",
        "autograd.grad(",
        "no_grad()",
        "saved_tensors_hooks",
    )
    missing = [
        word for word in (*words, ".apply(", "make_dual", ".data", "detach()", "if ", "for i in") if word not in text
    ]
    assert not missing


# -- the machine can fail ----------------------------------------------------------------------------------------------


def first_found(only, number=40):
    """The first group among programs that are kept to some features."""
    hunting = Hunt(right_module(), frozenset(only))
    return next(group for n in range(number) if (group := hunting.examine(f"fail:{n}")) and not group.left)


@pytest.fixture
def wrong_formula(monkeypatch):
    """The derivative of the sine has the wrong sign."""
    sine = unary.sin
    monkeypatch.setitem(sine.formulas, "x", Formula(lambda g, x: -g * unary.cos(x)))
    sine.plan_cache.clear(), sine.kernels.clear(), sine.families.clear()
    yield
    sine.plan_cache.clear(), sine.kernels.clear(), sine.families.clear()


SINE = "a = torch.tensor([0.5, 1.0], requires_grad=True)\nb = a.sin()\nc = b * 2\nd = c + a\nd.sum().backward()"
HOOK = (
    "a = torch.tensor([0.5, 1.0], requires_grad=True)\nb = a * 2\nc = b.exp()\n"
    "h1 = b.register_hook(named('h1'))\n(b + c).sum().backward()"
)


@pytest.mark.parity
@pytest.mark.parametrize("mode", ["at once", "deferred", "remembered", "compiled"])
def test_a_wrong_formula_is_found(mode, wrong_formula):
    assert "grad" in MODES[mode][0](right_module(), SINE).what


@pytest.mark.parity
def test_a_wrong_formula_is_made_small(wrong_formula):
    group = Hunt(right_module()).put("1", "at once", SINE, at_once(right_module(), SINE))
    assert len(group.program.splitlines()) <= 3 and "sin()" in group.program and "exp" not in group.program
    exec(runnable(group.program), {})


@pytest.mark.parity
def test_a_hook_that_is_not_called_is_found(monkeypatch):
    register = tapegrad.Tensor.register_hook
    monkeypatch.setattr(tapegrad.Tensor, "register_hook", lambda self, hook: register(self, lambda grad: None))
    found = deferred(right_module(), HOOK)
    group = Hunt(right_module()).put("1", "deferred", HOOK, found)
    assert found.kind == "log" and "exp" not in group.program and len(group.program.splitlines()) <= 4


@pytest.mark.parity
def test_a_wrong_formula_is_drawn(wrong_formula):
    assert "sin" in first_found({"backward"}).program


def test_modes_are_compared_where_there_is_no_pytorch(monkeypatch):
    assert all(MODES[mode][0](tapegrad, HOOK) is None for mode in MODES)
    monkeypatch.setattr(tapegrad, "compile", lambda function, **_: lambda *args: {})
    assert compiled(tapegrad, HOOK) is not None


def test_derivatives_are_compared_with_those_of_jax(wrong_formula):
    leaf = "a = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)"
    program = f"{leaf}\ndef smooth(x):\n    return x.sin().sum()"
    assert MODES["jax"][0](tapegrad, program).kind == "jax"


# -- its parts ---------------------------------------------------------------------------------------------------------


def test_a_program_is_made_as_small_as_it_can_be():
    program = "a = 1\nwith x:\n    b = f(a, key=2)\n    if c:\n        del b\nd = b + g(h(b)).i"
    assert smallest(program, lambda text: "h(" in text) == "d = h(b)"
    assert smallest(program, lambda text: "del" in text) == "del b"
    assert all(ast.parse(text) for text in smaller(program))


def test_a_program_as_a_step():
    setup, step, fresh = as_step("a = torch.tensor([1.0])\nb = a * 2\na.add_(b)", {"a": "a", "b": "b.clone()"})
    assert setup == "a = torch.tensor([1.0])" and "b = a * 2" in step and "return {'a': a, 'b': b.clone()}" in step
    assert step.startswith("def step(a)" if fresh else "def step()")


def test_what_stands_at_a_jump():
    first, second = nudged("a = torch.tensor([1.5, 0.0])\nb = a + 1.5").splitlines()
    assert "[1.5, " not in first and second == "b = a + 1.5"
    rounded = "a = torch.tensor([[-1.0, -0.5, 0.0], [0.5, 1.0, 1.5]])\nb = F.batch_norm(a, None, None, training=True)"
    branch = "\nif b.sum() > {}:\n    c = b\nelse:\n    c = b[0]"
    assert at_a_jump(right_module(), rounded + branch.format(0), "shape")
    assert not at_a_jump(right_module(), rounded + branch.format(1), "shape")


@pytest.mark.parity
def test_what_cannot_be_read_is_not_drawn():
    writer = Writer(right_module(), Random("1"))
    assert writer.keep("a = torch.ones(2, 3)") and writer.keep("seen.append(a)")
    assert not writer.keep("torch.func.vmap(lambda x: (globals().update(b=x), x)[1])(a)")
    assert writer.lines == ["a = torch.ones(2, 3)", "seen.append(a)"]

"""A fixed handful of drawn programs, and that the machine can fail. The recorded run is ``python -m tests.drawn``."""

import ast
import json
from collections import Counter
from random import Random

import pytest

import tapegrad
from drawn.bits import compared, digests, in_two_processes, replay
from drawn.comparing import nudged
from drawn.hunting import Hunt, right_module, runnable
from drawn.modes import MODES, as_step, at_a_jump, at_once, compiled, deferred
from drawn.playing import Player, play
from drawn.shrinking import smaller, smallest
from drawn.steps import FEATURES
from drawn.writer import Writer
from tapegrad.ops import unary
from tapegrad.ops.operator import Formula, forget_plans

pytestmark = pytest.mark.once("each program says when it is computed")

COUNT = 6


@pytest.fixture(scope="module", autouse=True)
def as_before():
    """PyTorch's ``register_hook``, which the machine replaces, is back for other tests."""
    module = right_module()
    yield
    register = module.Tensor.register_hook
    if hasattr(register, "looks"):
        module.Tensor.register_hook = register.__wrapped__



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
    words += (".apply(", "make_dual", ".data", "detach()", "if ", "for i in", "scatter_reduce(", "functional_call(")
    words += ("as_subclass(", "tabled(", "thing(", "Watching(", "in_thread(", "warned(", "out=", "batch_norm(")
    missing = [word for word in words if word not in text]
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
    forget_plans()
    yield
    forget_plans()


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


# -- the families that came last: programs that agree, and a fault that makes each differ ------------------------------


def silent(function):
    """A fault: a function that does nothing."""
    return lambda *args, **options: args[0]


A = "a = torch.tensor([0.5, 1.0], requires_grad=True)\n"
KEPT = "a = torch.tensor([0.5, 1.0], requires_grad=True)\nKept.n += 1\nb = a * Kept.n\nKept.log.append(Kept.n)"
FAULTS = {
    "written transforms": (
        "r = torch.zeros(2, 3)\ntorch.func.vmap(lambda v, r: r.add_(v))(torch.ones(2, 3), r)\nlog('r', r)",
        "Tensor.add_", lambda add: lambda self, other: self + other,
    ),
    "subclasses": (
        A + "log('s', bare(torch.sin(a.as_subclass(Tagged))))", "sin", lambda sin: tapegrad.Tensor.sin,
    ),
    "tables": (
        A + "log('t', bare(torch.sin(tabled(a, {torch.sin: torch.cos}))))", "sin", lambda sin: tapegrad.Tensor.sin,
    ),
    "function modes": (
        A + "with Watching('w', {torch.sin: torch.cos}):\n    b = torch.sin(a)",
        "sin", lambda sin: tapegrad.Tensor.sin,
    ),
    "parts": (
        "m = torch.full((4, 3), 7.0)\ntorch.sin(torch.ones(3), out=m[1])", "sin", lambda sin: lambda x, out: x.sin(),
    ),
    "scattered": (
        "s = torch.ones(3)\nlog('s', s.scatter_reduce(0, torch.tensor([0, 0, 1]), s * 2, 'sum', include_self=False))",
        "Tensor.scatter_reduce", lambda f: lambda *args, include_self: f(*args),
    ),
    "scattered tangents": (
        "log('t', torch.func.jvp(lambda s: s.scatter_reduce(0, torch.tensor([0]), s[:1], 'amax'), (torch.ones(3),), "
        "(torch.ones(3) * 2,))[1])", "func.jvp", lambda jvp: lambda f, x, t: (f(*x), t[0] * 1.5),
    ),
    "deprecated": (
        "log('w', warned(lambda: torch.nn.functional.mse_loss(torch.ones(2), torch.ones(2), size_average=False)))",
        "nn.functional.mse_loss", lambda loss: lambda x, y, size_average: loss(x, y, reduction="sum"),
    ),
    "threads": (
        "def f():\n    torch.set_default_dtype(torch.float64)\nin_thread(f)\nb = torch.ones(2)",
        "set_default_dtype", silent,
    ),
    "zeros": (
        A + "b, = torch.autograd.grad(a.exp().sum(), [a], create_graph=True)\nlog('b', b.requires_grad)",
        "autograd.grad", lambda grad: lambda *args, create_graph: grad(*args),
    ),
    "asked twice": (
        A + "g = torch.autograd.grad(a.exp().sum(), [a, a * 1], allow_unused=True)\nlog('g', *g)",
        "autograd.grad", lambda grad: lambda *args, **options: grad(*args, **options)[:1] * 2,
    ),
    "accumulators": (
        A + "k = torch.autograd.graph.get_gradient_edge(a).node\nk.register_prehook(lambda g: log('k', *g))\n"
        "h = a.register_post_accumulate_grad_hook(lambda p: log('h', p.grad))\na.exp().sum().backward()",
        "Tensor.register_post_accumulate_grad_hook", silent,
    ),
    "repeated": (
        "for i in range(5):\n    log('i', (wave(8, 8) @ wave(8, 8)).sum(0))",
        "Tensor.sum", lambda f: lambda x, d: f(x, 1),
    ),
}  # fmt: skip


@pytest.mark.parity
@pytest.mark.parametrize("family", FAULTS)
def test_a_fault_of_a_family_is_found(family, monkeypatch):
    program, name, fault = FAULTS[family]
    assert at_once(right_module(), program) is None
    owner, _, attribute = name.rpartition(".")
    place = tapegrad
    for part in filter(None, owner.split(".")):
        place = getattr(place, part)
    monkeypatch.setattr(place, attribute, fault(getattr(place, attribute)))
    assert at_once(right_module(), program) is not None


def first_again(function, **options):
    """A fault: a compiler that gives what the first call gave."""
    found = []
    return lambda *args: found[0] if found else (found.append(function(*args)), found[0])[1]


def test_what_python_keeps_is_compared(monkeypatch):
    assert compiled(tapegrad, KEPT) is None and "class Kept" in runnable(KEPT)
    monkeypatch.setattr(tapegrad, "compile", first_again)
    assert compiled(tapegrad, KEPT) is not None
    assert "kept" in compiled(tapegrad, KEPT.replace("b = a * Kept.n", "b = a * 2")).what


def test_what_a_program_sets_is_put_back():
    program = "torch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\na = torch.ones(1)"
    (*_, (_, _, marks)), _ = play(Player(tapegrad), program)
    assert marks["a"]["dtype"] == "float64"
    assert tapegrad.get_default_dtype() is tapegrad.float32 and tapegrad.is_grad_enabled()


@pytest.mark.parity
def test_programs_are_counted_by_what_they_draw_from():
    hunting = Hunt(right_module(), frozenset({"scattered"}))
    hunting.compare = lambda seed, text: None
    hunting.examine("count:1")
    assert hunting.features == Counter({"leaves": 1, "scattered": 1}) and not hunting.differ_by


# -- two processes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def two_programs(tmp_path):
    path = tmp_path / "programs"
    path.write_text("".join(f"{json.dumps([f'bits:{number}', SINE])}\n" for number in range(2)))
    return path


def test_the_same_bits_are_the_same_digests():
    seen = play(Player(tapegrad), SINE)
    assert dict(digests(seen)) == dict(digests(play(Player(tapegrad), SINE)))
    other = seen[0], {**seen[1], "b": seen[1]["b"] * (1 + 2**-23)}
    assert [name for name, digest in digests(other) if dict(digests(seen))[name] != digest] == ["[1].b"]


def test_other_bits_are_told(two_programs, monkeypatch):
    first, second = two_programs.with_name("1"), two_programs.with_name("2")
    replay(two_programs, first)
    sine = tapegrad.Tensor.sin
    monkeypatch.setattr(tapegrad.Tensor, "sin", lambda self: sine(self) * (1 + 2**-23))
    replay(two_programs, second)
    found = compared(first, second)
    assert found.runs["at once"] == 2 and compared(first, first).differing == []
    assert {(seed, mode) for seed, mode, _ in found.differing} >= {("bits:0", "at once"), ("bits:1", "at once")}
    assert "b.grad_fn" in found.text() and "bits: program bits:0, at once" in found.text()


@pytest.mark.ring("full")
def test_two_processes_compute_the_same(two_programs):
    found = in_two_processes(two_programs)
    assert found.statuses == (0, 0) and found.runs["at once"] == 2 and not found.differing


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

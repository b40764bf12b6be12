"""Steps that read numbers: tapegrad splits the program there, and all is as PyTorch has it without compiling."""

import pytest
from harness import agree, attempt

import tapegrad
from tapegrad.compiler import DataDependentError

CALLS = 7
A, B = [[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]], [[1.0], [0.0], [2.0]]

pytestmark = pytest.mark.once("a compiled step is recorded in either mode")


def told(torch, step, state, calls=CALLS):
    """What is seen after each of some calls; ours must say that it was split, and where."""
    made = torch.compile(step) if torch is tapegrad else step
    seen = []
    for _ in range(calls):
        given = made()
        given = given.detach().numpy().copy() if isinstance(given, torch.Tensor) else given
        grads = [None if x.grad is None else x.grad.numpy().copy() for x in state]
        seen.append([given, grads, [[x.detach().numpy().copy(), x._version] for x in state]])
    if torch is tapegrad:
        assert "it is split where elements are read at" in made.report(), made.report()
        assert "test_compile_split.py" in made.report()
    return seen


def data(torch):
    return torch.tensor([[0.3], [-0.2]], requires_grad=True), torch.tensor(A), torch.tensor(B)


def logged(torch):
    w, x, y = data(torch)
    log = []

    def step():
        w.grad = None
        loss = ((x @ w - y) ** 2).mean()
        log.append(f"{loss.item():.5f}")
        loss.backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.1)
        return loss

    return told(torch, step, [w]), log


def branching(torch):
    w, x, y = data(torch)
    ways = []

    def step():
        loss = ((x @ w - y) ** 2).mean()
        if loss > 1.2:
            ways.append("far")
            (loss * 2).backward()
        else:
            ways.append("near")
            loss.sqrt().backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.1)
            w.grad.zero_()
        return loss

    return told(torch, step, [w]), ways


def hooked(torch):
    w, x, y = data(torch)
    seen = []
    w.register_hook(lambda grad: seen.append(round(float(grad.sum()), 4)))

    def step():
        h = x @ w
        h.register_hook(lambda grad: grad * 2)
        seen.append(round(h.sum().item(), 4))
        ((h - y) ** 2).sum().backward()
        with torch.no_grad():
            w.sub_(w.grad, alpha=0.01)
        return h

    return told(torch, step, [w]), seen


def clipped(torch):
    w, x, y = data(torch)
    velocity = [torch.zeros(2, 1)]

    def step():
        w.grad = None
        ((x @ w - y) ** 2).sum().backward()
        norm = float(w.grad.norm())
        velocity[0] = 0.9 * velocity[0] + w.grad * min(1.0, 1.0 / (norm + 1e-6))
        with torch.no_grad():
            w.sub_(velocity[0], alpha=0.1)
        return norm < 1

    return told(torch, step, [w]), velocity[0].numpy()


def of_several_reads(torch):
    w, x, _ = data(torch)
    counts = [0]

    def step():
        counts[0] += 1
        h = x @ w
        for _ in range(3):
            h = h * 2 if h.sum().item() < 3 else h - 1
        text = f"{h.sum():.3f} {h.detach().numpy().shape} {h.tolist()[0][0]:.3f}"
        h.sum().backward()
        return text

    return told(torch, step, [w]), counts


def changing(torch):
    w, x, _ = data(torch)
    turn = torch.tensor(0)

    def step():
        turn.add_(1)
        if int(turn) % 3 == 0:
            with torch.no_grad():
                w.mul_(0.5)
        h = (x @ w).sum()
        return h * int(turn)

    return told(torch, step, [w, turn], calls=10)


@pytest.mark.parametrize("program", [logged, branching, hooked, clipped, of_several_reads, changing])
def test_steps(program):
    agree(program, rtol=1e-4, atol=1e-5)


def test_an_error_behind_a_split_leaves_what_it_would():
    def program(torch):
        w = torch.ones(2, requires_grad=True)

        def step():
            (w * w).sum().backward()
            if w.grad.sum().item() > 8:
                raise ValueError("too far")
            with torch.no_grad():
                w.add_(1)

        step = torch.compile(step) if torch is tapegrad else step
        return [[attempt(step), w.detach().numpy().copy(), w.grad.numpy().copy()] for _ in range(4)]

    agree(program)


def test_a_full_graph_is_not_split():
    x = tapegrad.ones(2)

    @tapegrad.compile(fullgraph=True)
    def step(x):
        return x * x.sum().item()

    with pytest.raises(DataDependentError, match=r"(?s)elements of a tensor at .*test_compile_split.py.*in step"):
        step(x)


MODES = "default, lite, reduce-overhead, max-autotune-no-cudagraphs, max-autotune"
UNKNOWN_MODE = f"Unrecognized mode={{}}, should be one of: {MODES}"
UNKNOWN_BACKEND = "Invalid backend: 'nope', see `torch._dynamo.list_backends()` for available backends."
BOTH = "Either mode or options can be specified, but both can't be specified at the same time."


@pytest.mark.parametrize(
    ("settings", "kind", "text"),
    [
        ({"mode": "nope"}, RuntimeError, UNKNOWN_MODE.format("nope")),
        ({"mode": 3, "disable": True}, RuntimeError, UNKNOWN_MODE.format(3)),
        ({"backend": "nope", "mode": "nope"}, RuntimeError, UNKNOWN_BACKEND),
        ({"backend": "nope", "disable": True}, RuntimeError, UNKNOWN_BACKEND),
        ({"mode": "default", "options": {}}, RuntimeError, BOTH),
        ({"dynamic": "yes"}, AssertionError, "Expected enable to be a bool, got <class 'str'>"),
        ({"model": 3}, AssertionError, "A callable function is expected, but <class 'int'> is provided."),
        ({"options": 3}, AttributeError, "'int' object has no attribute 'items'"),
        ({"options": {"debug": 1}}, RuntimeError, "Unexpected type of attr debug, got int should be bool"),
    ],
)
def test_settings_that_pytorch_refuses(settings, kind, text):
    """In the words that PyTorch was asked for; to ask it here would import its compilers, which takes half a minute."""
    with pytest.raises(kind) as caught:
        tapegrad.compile(**({"model": lambda x: x} | settings))
    assert str(caught.value) == text


def test_settings():
    def double(x):
        return x * 2

    x = tapegrad.ones(1)
    assert tapegrad.compile(double, disable=True) is double
    assert tapegrad.compile(disable=True)(double) is double
    with pytest.raises(RuntimeError, match="Model can't be None"):
        tapegrad.compile()(None)
    accepted = [{"mode": mode} for mode in ("default", "reduce-overhead", "max-autotune")]
    accepted += [{"options": {"debug": True}}, {"dynamic": True, "recompile_limit": 3, "isolate_recompiles": True}]
    accepted += [{"options": {"max-autotune": True, "compile_threads": 2}}, {"backend": "eager", "options": {"foo": 1}}]
    accepted += [{"backend": "eager", "name": "other"}, {"backend": "inductor", "fullgraph": True}]
    for given in accepted:
        made = tapegrad.compile(**given)(double)
        assert made.__name__ == "double"
        assert made(x).item() == tapegrad.compile(model=double, **given)(x).item() == 2
    with pytest.raises(RuntimeError, match=r"^Unexpected optimization option foo, known options are \[.*'debug'"):
        tapegrad.compile(double, options={"foo": 1})
    assert tapegrad.compile(double, backend=lambda graph, inputs: graph)(x).item() == 2

"""What checkpoints check: that a function does the same again, and their arguments."""

import logging
import platform

import pytest
from checkpoints import checkpoint_of, leaf, name_of
from harness import agree, attempt, warned

# -- what differs is noticed -------------------------------------------------------------------------------------------


def three(torch, x):
    return x.sin().exp().sin()


def two(torch, x):
    return x.sin().exp()


def another_shape(torch, x):
    return x.sin() * torch.tensor([1.0, 2.0])


def another_dtype(torch, x):
    return x.float().sin().exp().double()


def differing(torch, first, second, **options):
    """A backward where the function does something else than it did before."""
    runs = iter([first, second])
    x = leaf(torch, 1.0)
    out = checkpoint_of(torch, **options)(lambda x: next(runs)(torch, x))(x)
    outcome = attempt(out.sum().backward)
    if not isinstance(outcome, list):
        return [outcome, x.grad]
    message = outcome[2].partition("\nTip:")[0].partition("_dynamo")[0]
    return [*outcome[:2], message if "debug" not in options else message.splitlines()[:3]]


@pytest.mark.parametrize("options", [{}, {"determinism_check": "none"}, {"early_stop": False}], ids=str)
@pytest.mark.parametrize("second", [two, three, another_shape, another_dtype], ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", [two, three], ids=lambda f: f.__name__)
def test_nondeterminism(first, second, options):
    if (first, second) == (three, three) and "determinism_check" in options:
        first = two
    agree(lambda torch: differing(torch, first, second, **options))


@pytest.fixture
def logs(monkeypatch):
    """Lets PyTorch log without the stacks of C++, which take it minutes, and messages that pytest can't format."""
    monkeypatch.setattr(platform, "machine", lambda: "another")
    monkeypatch.setattr(logging, "raiseExceptions", False)


def test_debug(logs):
    agree(lambda torch: differing(torch, two, another_shape, debug=True))


@pytest.mark.parametrize("enabled", [True, False, None])
@pytest.mark.parametrize("debug", [True, False])
def test_debug_switch(enabled, debug, logs):
    def program(torch):
        with torch.utils.checkpoint.set_checkpoint_debug_enabled(enabled):
            return differing(torch, two, another_shape, debug=debug)

    agree(program)


def test_debug_says_which_operators_ran(logs):
    def program(torch):
        runs = iter([two, another_shape])
        x = leaf(torch, 1.0)
        out = checkpoint_of(torch, debug=True)(lambda x: next(runs)(torch, x))(x)
        with pytest.raises(torch.utils.checkpoint.CheckpointError) as caught:
            out.sum().backward()
        text = str(caught.value)
        lines = [line for line in text.splitlines() if "torch._ops.aten.sin" in line or "torch._ops.aten.exp" in line]
        places = [line for line in text.splitlines() if __file__ in line and line.endswith((":two", ":another_shape"))]
        headings = [line for line in text.splitlines() if line.startswith("|")]
        shown = [line.partition(" = ")[2].partition("   (")[0] for line in lines]
        return shown, sorted({place.rpartition(":")[2] for place in places}), headings

    agree(program)


# -- arguments ---------------------------------------------------------------------------------------------------------


def refusals(torch):
    c, x = torch.utils.checkpoint, leaf(torch, 1.0)
    contexts = lambda: c.noop_context_fn()
    calls = [
        lambda: c.checkpoint(torch.sin, x, use_reentrant=True, other=1, another=2),
        lambda: c.checkpoint(torch.sin, x, use_reentrant=True, context_fn=contexts),
        lambda: c.checkpoint(torch.sin, x, use_reentrant=True, debug=True),
        lambda: c.checkpoint(torch.sin, x, use_reentrant=False, determinism_check="strict"),
        lambda: c.checkpoint(torch.sin, x, use_reentrant=False, context_fn=contexts, debug=True),
        lambda: c.checkpoint_sequential([torch.sin], 1, x, use_reentrant=False, other=1),
        lambda: c.checkpoint_sequential([torch.sin], 2, x, use_reentrant=False),
        lambda: c.detach_variable([x]),
        lambda: c.create_selective_checkpoint_contexts(2),
        lambda: c.create_selective_checkpoint_contexts([2]),
    ]
    return [attempt(call) for call in calls]


def contexts_are_used(torch):
    seen = []

    class Context:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            seen.append(["enter", self.name, torch.is_grad_enabled()])

        def __exit__(self, kind, *rest):
            seen.append(["exit", self.name, None if kind is None else kind.__name__])

    def context_fn():
        seen.append("made")
        return Context("first"), Context("second")

    x = leaf(torch, 1.0)
    function = lambda x: seen.append("run") or x.sin().exp()
    checkpoint_of(torch, context_fn=context_fn)(function)(x).backward()
    with torch.no_grad():
        checkpoint_of(torch, context_fn=context_fn)(function)(x)
    return seen


def a_context_that_swallows(torch):
    class Swallow:
        def __enter__(self):
            return self

        def __exit__(self, *exception):
            return True

    def fail(x):
        raise KeyError("lost")

    x = leaf(torch, 1.0)
    wrapped = checkpoint_of(torch, context_fn=lambda: (Swallow(), Swallow()))
    return attempt(lambda: wrapped(fail)(x)), attempt(lambda: wrapped(torch.sin)(x))


def warnings_given(torch):
    c, x = torch.utils.checkpoint, leaf(torch, 1.0)
    return (
        warned(lambda: c.checkpoint(torch.sin, x)),
        warned(lambda: c.checkpoint_sequential([torch.sin, torch.cos], 2, x)),
        warned(lambda: c.checkpoint(torch.sin, torch.ones(1), use_reentrant=True)),
        warned(lambda: c.checkpoint(torch.sin, torch.ones(1), use_reentrant=False)),
        warned(lambda: c.check_backward_validity([1, torch.ones(1)])),
        warned(lambda: c.check_backward_validity([x])),
    )


def device_states(torch):
    c = torch.utils.checkpoint
    return (
        c.get_device_states(torch.ones(2), [1, {"a": torch.ones(1)}]), c.set_device_states([], []),
        c._infer_device_type(torch.ones(2)) == c.DefaultDeviceType.get_device_type(),
    )


def detached_variables(torch):
    x, y = leaf(torch, 1.0), torch.ones(2)
    out = torch.utils.checkpoint.detach_variable((x.sin(), y, 3, x))
    return out, [item.is_leaf for item in out if isinstance(item, torch.Tensor)], out[3] is x


def policies(torch):
    return [[policy.name, policy.value] for policy in torch.utils.checkpoint.CheckpointPolicy]


@pytest.mark.parametrize(
    "program",
    [refusals, contexts_are_used, a_context_that_swallows, warnings_given, device_states, detached_variables, policies],
    ids=name_of,
)
def test_arguments(program):
    agree(program)

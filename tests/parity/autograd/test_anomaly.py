"""Anomaly detection: which function fails, where it was called, and what is left of it afterwards."""

import contextlib
import gc
import io
import re
import threading
import warnings
import weakref
from functools import partial

import pytest
from harness import agree, attempt, recorded_warnings

pytestmark = pytest.mark.parity

FRAME = re.compile(r'  File "([^"]*)", line (\d+), in (\S+)\n(?!  File)(?:    (.*)\n)?')


def shown(text):
    """A text with tracebacks, without the frames of other files than this one, and without places in C++."""
    text = text.split(" (Triggered internally")[0]
    return FRAME.sub(lambda frame: frame[0] if frame[1] == __file__ else "", text).rstrip()


def told_by(action):
    """What an action gives or raises, and the texts of all warnings."""
    with recorded_warnings() as caught:
        result = attempt(action)
    return [result, [[warning.category.__name__, shown(str(warning.message))] for warning in caught]]


@contextlib.contextmanager
def quietly(torch, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(**arguments):
            yield


def leaf(torch, *numbers, **kind):
    return torch.tensor(list(numbers or (0.0, 1.0)), requires_grad=True, **kind)


def state(torch):
    return [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]


def failing(torch, error="no gradient today"):
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            raise ValueError(error)

    return Failing


def returning_nan(torch, position):
    class ReturningNan(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return [(grad * float("nan"), grad), (grad, grad * float("nan")), (None, grad * float("nan"))][position]

    return ReturningNan


# What is raised, and what is said ------------------------------------------------------------------------------------


def it_says_that_it_is_on(torch):
    def run():
        with torch.autograd.detect_anomaly():
            pass
        torch.autograd.detect_anomaly(False)
        with torch.autograd.set_detect_anomaly(True):
            pass

    return told_by(run)


def nan_is_found(torch):
    def run():
        with torch.autograd.detect_anomaly():
            x = leaf(torch)
            y = torch.sqrt(x) * 0
            y.sum().backward()

    return told_by(run)


def nan_in_another_output(torch):
    def run():
        with torch.autograd.detect_anomaly():
            x = leaf(torch)
            (torch.ones(2) / (x * 0) * 0).sum().backward()

    return told_by(run)


def nan_in_a_write_through_a_view(torch):
    def run():
        with torch.autograd.detect_anomaly():
            y = leaf(torch) * 1
            y[:1].sqrt_()
            (y * 0).sum().backward()

    return told_by(run)


def nan_of_a_base_written_through_a_view(torch):
    def run():
        with torch.autograd.detect_anomaly():
            y = leaf(torch) * 1
            y[1] = 5.0
            y.sqrt_()
            (y * 0).sum().backward()

    return told_by(run)


def nan_in_complex_numbers(torch):
    def run():
        z = torch.tensor([0j, 1 + 1j], requires_grad=True)
        (z.sqrt() * 0).sum().backward(torch.tensor(1 + 0j))

    with quietly(torch):
        return [told_by(run)[0]]


def nan_in_half_precision(torch):
    def run(dtype):
        (leaf(torch, dtype=dtype).sqrt() * 0).sum().backward()

    with quietly(torch):
        return [told_by(partial(run, dtype))[0] for dtype in (torch.float16, torch.bfloat16, torch.float64)]


def without_a_forward_pass(torch):
    def run():
        x = leaf(torch)
        y = torch.sqrt(x) * 0
        with torch.autograd.detect_anomaly():
            y.sum().backward()

    return told_by(run)


def nan_is_not_looked_for(torch):
    def run():
        x = leaf(torch)
        with torch.autograd.detect_anomaly(check_nan=False):
            (torch.sqrt(x) * 0).sum().backward()
        return x.grad

    return told_by(run)


def inf_is_not_nan(torch):
    x = leaf(torch)
    with quietly(torch):
        torch.sqrt(x).sum().backward()
    return x.grad


def off_again_in_backward(torch):
    x = leaf(torch)
    with quietly(torch):
        y = x.sqrt() * 0
    y.sum().backward()
    return x.grad


def with_grad(torch):
    def run():
        x = leaf(torch)
        with torch.autograd.set_detect_anomaly(True):
            return torch.autograd.grad((x.sqrt() * 0).sum(), x)

    return told_by(run)


def with_inputs(torch):
    def run():
        x, w = leaf(torch), leaf(torch)
        with torch.autograd.set_detect_anomaly(True):
            y = (x.sqrt() * w * 0).sum()
            y.backward(inputs=[w], retain_graph=True)  # the nan is on a path that nobody asked for
            y.backward(inputs=[x])

    return told_by(run)


def a_custom_function_that_raises(torch):
    function = failing(torch)

    def run(check_nan):
        with torch.autograd.set_detect_anomaly(True, check_nan):
            y = function.apply(leaf(torch))
            y.sum().backward()

    return [told_by(partial(run, check_nan)) for check_nan in (True, False)]


def a_custom_function_that_returns_nan(torch):
    def run(position):
        function = returning_nan(torch, position)
        x, y = leaf(torch), leaf(torch)
        with torch.autograd.set_detect_anomaly(True):
            function.apply(x, y).sum().backward()

    return [told_by(partial(run, position)) for position in range(3)]


def written_and_freed(torch):
    def written():
        x = leaf(torch)
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            y = x.exp()
            y.add_(1)
            y.sum().backward()

    def freed():
        x = leaf(torch)
        with torch.autograd.set_detect_anomaly(True):
            y = x.exp().sum()
            y.backward()
            y.backward()

    return [told_by(written), told_by(freed)]


def warnings_are_errors(torch):
    function = failing(torch)

    def run():
        with torch.autograd.set_detect_anomaly(True):
            function.apply(leaf(torch)).sum().backward()

    said = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stderr(said):
        warnings.filterwarnings("error", "Error detected in ")
        result = attempt(run)
    return [result, shown(said.getvalue())]


# Hooks --------------------------------------------------------------------------------------------------------------


def a_hook_that_raises(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            x = leaf(torch)
            y = x * 2
            y.register_hook(lambda grad: 1 / 0)
            y.exp().sum().backward()

    return told_by(run)


def a_hook_on_a_node_that_raises(torch):
    def run(register):
        with torch.autograd.set_detect_anomaly(True):
            x = leaf(torch)
            y = x * 2
            getattr(y.grad_fn, register)(lambda *grads: 1 / 0)
            y.exp().sum().backward()

    return [told_by(partial(run, register)) for register in ("register_prehook", "register_hook")]


def a_hook_that_makes_nan(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            x = leaf(torch)
            y = x * 2
            y.register_hook(lambda grad: grad * float("nan"))
            y.exp().sum().backward()

    return told_by(run)


def a_hook_on_a_leaf_that_makes_nan(torch):
    x = leaf(torch)
    with torch.autograd.set_detect_anomaly(True):
        x.register_hook(lambda grad: grad * float("nan"))
        (x * 2).sum().backward()
    return x.grad


def a_hook_that_mends_nan(torch):
    x = leaf(torch)
    with torch.autograd.set_detect_anomaly(True):
        y = torch.sqrt(x)
        y.grad_fn.register_hook(lambda grads, outputs: None)
        y.grad_fn.register_hook(lambda grads, outputs: (torch.nan_to_num(grads[0]),))
        (y * 0).sum().backward()
    return x.grad


def a_hook_that_leaves_nan(torch):
    def run():
        x = leaf(torch)
        with torch.autograd.set_detect_anomaly(True):
            y = torch.sqrt(x)
            y.grad_fn.register_hook(lambda grads, outputs: None)
            (y * 0).sum().backward()

    return told_by(run)


def hooks_before_and_after_nan(torch):
    seen = []

    def run():
        x = leaf(torch)
        x.register_hook(lambda grad: seen.append("leaf"))
        with torch.autograd.set_detect_anomaly(True):
            y = x * 1
            z = torch.sqrt(y)
            y.register_hook(lambda grad: seen.append("after"))
            z.register_hook(lambda grad: seen.append("before"))
            (z * 0).sum().backward()

    return [told_by(run)[0], seen]


def an_accumulator_that_fails(torch):
    def run():
        x = leaf(torch)
        x.register_post_accumulate_grad_hook(lambda tensor: 1 / 0)
        with torch.autograd.set_detect_anomaly(True):
            (x * 2).sum().backward()

    return told_by(run)


def a_seed_of_nan(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            (leaf(torch) * 2).backward(torch.tensor([float("nan"), 1.0]))

    x = leaf(torch)
    with torch.autograd.set_detect_anomaly(True):
        x.backward(torch.tensor([float("nan"), 1.0]))
    return [told_by(run), x.grad]


# What is left -------------------------------------------------------------------------------------------------------


def gradients_after_a_failure(torch):
    x, v, w = leaf(torch), leaf(torch), leaf(torch)
    v.grad = torch.ones(2)
    with torch.autograd.set_detect_anomaly(True):
        early = w * 3
        y = torch.sqrt(x * v) * early * 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = attempt(lambda: y.sum().backward())
    return [error, x.grad, v.grad, w.grad]


def gradients_that_were_there(torch):
    x, w = leaf(torch), leaf(torch)
    (x * w).sum().backward()
    with torch.autograd.set_detect_anomaly(True):
        y = torch.sqrt(x * w) * w * 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = attempt(lambda: y.sum().backward())
    (x * w).sum().backward()
    return [error, x.grad, w.grad]


def states_are_restored(torch):
    seen = [state(torch)]
    torch.autograd.set_detect_anomaly(True)
    seen.append(state(torch))
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        seen.append(state(torch))
        with quietly(torch):
            seen.append(state(torch))
        seen.append(state(torch))
        with torch.autograd.set_detect_anomaly(False):
            seen.append(state(torch))
    seen.append(state(torch))
    torch.autograd.set_detect_anomaly(False)
    seen.append(state(torch))
    with torch.autograd.set_detect_anomaly(False, False):
        seen.append(state(torch))
    seen.append(state(torch))
    torch.set_anomaly_enabled(True, False)
    seen.append(state(torch))
    torch.set_anomaly_enabled(False)
    seen.append(state(torch))
    with contextlib.suppress(KeyError), quietly(torch):
        raise KeyError
    return [*seen, state(torch)]


def the_state_is_that_at_its_making(torch):
    context = torch.autograd.set_detect_anomaly(True, False)
    torch.autograd.set_detect_anomaly(True)
    with context:
        seen = [state(torch)]
    return [*seen, state(torch)]


def arguments_that_are_no_bools(torch):
    def enter(check_nan):
        with quietly(torch, check_nan=check_nan):
            pass

    return [
        attempt(lambda: enter("yes")),
        attempt(lambda: torch.autograd.set_detect_anomaly("yes")),
        attempt(lambda: torch.autograd.set_detect_anomaly(1)),
        attempt(lambda: torch.autograd.set_detect_anomaly(True, 1)),
        attempt(lambda: torch.set_anomaly_enabled(None)),
        state(torch),
    ]


def names(torch):
    module = torch.autograd.anomaly_mode
    return [sorted(module.__all__), module.detect_anomaly is torch.autograd.detect_anomaly]


# Metadata -----------------------------------------------------------------------------------------------------------


def metadata_of_nodes(torch):
    before = leaf(torch) * 2
    before.grad_fn.metadata["mine"] = 1
    with quietly(torch):
        x = leaf(torch)
        y = x * 2
        y.grad_fn.metadata["mine"] = 2
        accumulator = y.grad_fn.next_functions[0][0]
        with torch.no_grad():
            nothing = (x * 2).grad_fn
    kinds = [type(y.grad_fn.metadata["traceback_"]).__name__, type(y.grad_fn.metadata).__name__]
    return [
        before.grad_fn.metadata,
        {key: shown("".join(value)) if key == "traceback_" else value for key, value in y.grad_fn.metadata.items()},
        shown("".join(accumulator.metadata["traceback_"])),
        nothing,
        kinds,
    ]


def metadata_that_was_cleared(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            y = leaf(torch).sqrt()
            z = y * 0
            y.grad_fn.metadata.clear()
            z.sum().backward()

    return told_by(run)


def metadata_that_was_changed(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            y = leaf(torch).sqrt()
            z = y * 0
            y.grad_fn.metadata["traceback_"] = ["  on the third line\n"]
            z.sum().backward()

    return told_by(run)


def parents(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            x = leaf(torch)
            y = (x**1.5).sum()
            (first,) = torch.autograd.grad(y, x, create_graph=True)
            seen.append(
                [
                    list(first.grad_fn.metadata),
                    first.grad_fn.metadata["parent_"].name(),
                    first.grad_fn.metadata["parent_"] is y.grad_fn.next_functions[0][0],
                    list(y.grad_fn.metadata),
                ]
            )
            (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
            torch.autograd.grad((second * 0).sum(), x, create_graph=True)

    seen = []
    return [told_by(run), seen]


def parents_without_a_forward_pass(torch):
    def run():
        x = leaf(torch)
        y = (x**1.5).sum()
        with torch.autograd.set_detect_anomaly(True):
            (first,) = torch.autograd.grad(y, x, create_graph=True)
            torch.autograd.grad((first * 0).sum(), x, create_graph=True)

    return told_by(run)


def a_custom_function_twice(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return torch.sqrt(x) * grad

    def run():
        with torch.autograd.set_detect_anomaly(True):
            x = leaf(torch)
            y = Twice.apply(x).sum()
            (first,) = torch.autograd.grad(y, x, create_graph=True)
            (first * 0).sum().backward()

    return told_by(run)


def a_backward_in_a_hook(torch):
    def run():
        with torch.autograd.set_detect_anomaly(True):
            x = leaf(torch)
            y = x * 2

            def hook(grad):
                with torch.enable_grad():
                    inner = (leaf(torch).sqrt() * 0).sum()
                inner.backward()

            y.register_hook(hook)
            y.exp().sum().backward()

    return told_by(run)


# Life and death -----------------------------------------------------------------------------------------------------


class Thing:
    pass


def metadata_outlives_the_tensor(torch):
    with quietly(torch):
        y = leaf(torch) * 2
    node = y.grad_fn
    node.metadata["thing"] = Thing()
    reference = weakref.ref(node.metadata["thing"])
    del y
    seen = [reference() is not None, "traceback_" in node.metadata]
    del node
    return [*seen, reference() is None]


def parents_die(torch):
    def make():
        x = leaf(torch)
        y = x.exp()
        with quietly(torch):
            torch.autograd.grad(y, x, torch.ones(2), create_graph=True)
        y.grad_fn.metadata[0] = thing = Thing()
        return y, weakref.ref(thing)

    y, reference = make()
    seen = [reference() is not None]
    del y
    return [*seen, reference() is None]


def graphs_die_after_a_failure(torch):
    def make():
        with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = leaf(torch)
            y = torch.sqrt(x) * 0
            (first,) = torch.autograd.grad((x**1.5).sum(), x, create_graph=True)
            y.grad_fn.metadata[0] = thing = Thing()
            errors = [attempt(lambda: y.sum().backward()), attempt(lambda: (first * 0).sum().backward())]
        return errors, weakref.ref(thing)

    errors, reference = make()
    return [errors, reference() is None]


def results_do_not_live_on(torch):
    with quietly(torch):
        x = leaf(torch)
        y = torch.sqrt(x + 1)
        reference = weakref.ref(y)
        y.sum().backward()
        del y
        return [reference() is None]


PROGRAMS = [
    it_says_that_it_is_on, nan_is_found, nan_in_another_output, nan_in_a_write_through_a_view,
    nan_of_a_base_written_through_a_view, nan_in_complex_numbers, nan_in_half_precision,
    without_a_forward_pass, nan_is_not_looked_for, inf_is_not_nan, off_again_in_backward, with_grad, with_inputs,
    a_custom_function_that_raises, a_custom_function_that_returns_nan, written_and_freed, warnings_are_errors,
    a_hook_that_raises, a_hook_on_a_node_that_raises, a_hook_that_makes_nan, a_hook_on_a_leaf_that_makes_nan,
    a_hook_that_mends_nan, a_hook_that_leaves_nan, hooks_before_and_after_nan, an_accumulator_that_fails,
    a_seed_of_nan, gradients_after_a_failure, gradients_that_were_there, states_are_restored,
    the_state_is_that_at_its_making, arguments_that_are_no_bools, names, metadata_of_nodes, metadata_that_was_cleared,
    metadata_that_was_changed, parents, parents_without_a_forward_pass, a_custom_function_twice, a_backward_in_a_hook,
    metadata_outlives_the_tensor, parents_die, graphs_die_after_a_failure, results_do_not_live_on,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_same_on_both(program):
    gc.collect()
    gc.disable()
    try:
        agree(program)
    finally:
        gc.enable()


def test_the_comparison_of_tracebacks_can_fail():
    texts = [f'Trace:\n  File "{file}", line 3, in run\n    y = 1\n' for file in (__file__, "/lib/torch/graph.py")]
    assert shown(texts[0]) != shown(texts[1]) == "Trace:"
    assert shown('  File "a.py", line 1, in <module>\n' + texts[0]) == shown(texts[0])


def on_another_thread(action):
    """What an action tells on another thread, which lives before it is called."""
    begun, go, told = threading.Event(), threading.Event(), []

    def target():
        attempt(action.before)
        begun.set()
        go.wait(60)
        told.append(told_by(action))

    other = threading.Thread(target=target)
    other.start()
    begun.wait(60)
    yield
    go.set()
    other.join(60)
    yield told


class Differentiates:
    """An action: makes a nan in backward, having used the module before."""

    def __init__(self, torch):
        self.torch = torch

    def before(self):
        self.x = self.torch.tensor([0.0], requires_grad=True)
        (self.x * 2).sum().backward()

    def __call__(self):
        torch, y = self.torch, self.x.sqrt() * 0
        return [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled(), attempt(y.sum().backward)]


def test_all_threads_have_one_mode():
    """It is switched on for threads that live already, and seen wherever it was switched."""

    def program(torch):
        told = []
        for options in ({}, {"check_nan": False}):
            steps = on_another_thread(Differentiates(torch))
            next(steps)
            with torch.autograd.set_detect_anomaly(True, **options):
                told += next(steps)
        steps = on_another_thread(Differentiates(torch))
        next(steps)
        return [told, next(steps), torch.is_anomaly_enabled()]

    agree(program)


def test_what_another_thread_switches_on_is_on_here():
    """Also where modes of before are restored: at the end of a block, and of a backward call."""

    def program(torch):
        def switched_in(block):
            with block:
                other = threading.Thread(target=torch.autograd.set_detect_anomaly, args=(True,))
                other.start()
                other.join()
            return torch.is_anomaly_enabled()

        def in_backward():
            x = torch.ones(1, requires_grad=True)
            x.register_hook(lambda g: switched_in(contextlib.nullcontext()) and None)
            (x * 2).sum().backward()

        told = []
        for block in (contextlib.nullcontext(), torch.no_grad(), torch.inference_mode(), in_backward):
            try:
                in_backward() if block is in_backward else switched_in(block)
                x = torch.tensor([0.0], requires_grad=True)
                told.append(told_by(lambda: (x.sqrt() * 0).sum().backward()))  # noqa: B023
            finally:
                torch.autograd.set_detect_anomaly(False)
        return [told, torch.is_anomaly_enabled()]

    agree(program)

"""Errors of backward name the lines of the program that matter, after PyTorch's own sentence."""

import gc
import inspect
import linecache
import sys
import threading
import weakref
from types import SimpleNamespace

import pytest
from leaves import leaf

import tapegrad as torch
from tapegrad._src.tape.modes import thread
from tapegrad._src.tape.positions import Position, explain, here, stack
from tapegrad.errors import SECOND_BACKWARD

HOW = "torch.autograd.set_record_source_lines(True), before the forward pass, lets this error name the lines"


@pytest.fixture(autouse=True)
def the_backward_call_is_over():
    yield
    assert thread.backward_call is None


def at(function, offset):
    """How errors speak of a line of a function, counted from its ``def``."""
    source, first = inspect.getsourcelines(function)
    return f"at {__file__}:{first + offset} in {function.__name__}: {source[offset].strip()}"


def said_by(program, *, recording=True):
    """PyTorch's sentence, and the facts that follow it."""
    with torch.autograd.set_record_source_lines(recording), pytest.raises(RuntimeError) as error:
        program()
    sentence, _, facts = str(error.value).partition("\nWhere:\n")
    return sentence, [fact.removeprefix("  ") for fact in facts.splitlines()]


# -- a graph that was freed --------------------------------------------------------------------------------------------


def freed_by_backward():
    y = leaf().exp()
    y.sum().backward()
    y.sum().backward()


def freed_by_grad():
    x = leaf()
    y = x.exp()
    torch.autograd.grad(y.sum(), x)
    y.grad_fn._saved_result


def freed_in_a_custom_function():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    y = Square.apply(leaf()).sum()
    y.backward()
    y.backward()


def freed_where_hooks_packed_it():
    y = leaf().exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda x: x, lambda x: x)
    y.sum().backward()
    y.sum().backward()


def freed_by_a_nested_call():
    x = leaf()
    inner = x.exp().sum()

    def hook(grad):
        inner.backward()

    y = x * 2
    y.register_hook(hook)
    y.sum().backward()
    inner.backward()


@pytest.mark.parametrize(
    ("program", "offset"),
    [(freed_by_backward, 2), (freed_by_grad, 3), (freed_in_a_custom_function, 12), (freed_where_hooks_packed_it, 3)],
)
@pytest.mark.parametrize("recording", [False, True])
def test_the_backward_call_that_freed_the_graph_is_always_known(program, offset, recording):
    sentence, facts = said_by(program, recording=recording)
    assert sentence == SECOND_BACKWARD
    assert facts == [f"it was freed by the backward call {at(program, offset)}"]


def test_a_nested_call_frees_with_its_own_line():
    _, facts = said_by(freed_by_a_nested_call, recording=False)
    assert facts[0].endswith("in hook: inner.backward()")


def test_a_call_on_another_thread_is_known():
    y = leaf().exp().sum()
    other = threading.Thread(target=lambda: y.backward(), name="other")
    other.start()
    other.join()
    _, facts = said_by(lambda: y.backward(), recording=False)
    assert "other = threading.Thread" in facts[0]


def test_a_program_without_a_source_file():
    code = compile("y = x.exp().sum()\ny.backward()\n\ny.backward()", "<no such file>", "exec")
    _, facts = said_by(lambda: exec(code, {"x": leaf()}))
    assert facts == ["it was freed by the backward call at <no such file>:2 in <module>"]


# -- what was written to -----------------------------------------------------------------------------------------------


def an_input_is_written():
    y = leaf() * 1
    z = y * y
    y.add_(1)
    z.sum().backward()


def an_output_is_written():
    x = leaf()
    y = x.exp()
    y.add_(1)
    y.mul_(2)
    y.sum().backward()


def a_detached_handle_is_written():
    w = torch.ones(3)
    z = leaf() * w
    w.detach().zero_()
    z.sum().backward()


def written_in_a_custom_function():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    x = leaf() * 1
    z = Square.apply(x)
    x.zero_()
    z.sum().backward()


@pytest.mark.parametrize(
    ("program", "node", "saved", "written"),
    [
        (an_input_is_written, "MulBackward0", 2, [3]),
        (an_output_is_written, "ExpBackward0", 2, [3, 4]),
        (a_detached_handle_is_written, "MulBackward0", 2, [3]),
        (written_in_a_custom_function, "SquareBackward", 12, [13]),
    ],
)
def test_who_saved_it_and_what_wrote_to_it(program, node, saved, written):
    sentence, facts = said_by(program)
    assert sentence.startswith("one of the variables needed for gradient computation has been modified by an inplace")
    assert sentence.endswith("torch.autograd.set_detect_anomaly(True, check_nan=False).")
    assert facts == [
        f"it was saved for {node}, by the operation {at(program, saved)}",
        *(f"it was modified {at(program, line)}" for line in written),
    ]
    plain, how = said_by(program, recording=False)
    assert plain == sentence and how == [HOW]


def test_writes_before_the_save_are_not_named():
    def program():
        y = leaf() * 1
        y.add_(1)
        z = y * y
        y.add_(2)
        z.sum().backward()

    _, facts = said_by(program)
    assert facts[1:] == [f"it was modified {at(program, 4)}"]


def test_many_writes_keep_the_last():
    def program():
        y = leaf() * 1
        z = y * y
        for _ in range(100):
            y.add_(1)
        z.sum().backward()

    _, facts = said_by(program)
    assert facts[-1] == f"it was modified {at(program, 4)}" and len(facts) <= 66


# -- no graph ----------------------------------------------------------------------------------------------------------


def in_no_grad():
    x = leaf()
    with torch.no_grad():
        # as a long function may have it
        y = x.exp()
    (y * 2).sum().backward()


def after_a_switch():
    x = leaf()
    torch.set_grad_enabled(False)
    y = x.exp()
    torch.set_grad_enabled(True)
    y.sum().backward()


def in_a_decorated_function():
    @torch.no_grad()
    def predict(x):
        return x.exp()

    y = predict(leaf())
    y.sum().backward()


def after_enable_grad():
    x = leaf()
    with torch.no_grad():
        with torch.enable_grad():
            x.sin()
        y = x.exp()
    y.sum().backward()


def through_an_integer():
    x = leaf()
    y = x.argmax()
    y.float().backward()


def through_a_comparison():
    y = leaf() > 0
    y.float().sum().backward()


def through_detach():
    x = leaf() * 2
    y = x.detach()
    (y * 3).sum().backward()


def through_data():
    y = leaf().data
    y.sum().backward()


def without_any():
    x = torch.ones(3)
    x.sum().backward()


LOST = [
    (in_no_grad, ["exp, which ran while grad mode was off, {4}", "{2}"]),
    (after_a_switch, ["exp, which ran while grad mode was off, {3}", "{2}"]),
    (through_an_integer, ["argmax, whose result is torch.int64, {2}"]),
    (through_a_comparison, ["gt, whose result is torch.bool, {1}"]),
    (through_detach, ["detach {2}"]),
    (through_data, ["data {1}"]),
    (after_enable_grad, ["exp, which ran while grad mode was off, {5}"]),
    (without_any, []),
]


@pytest.mark.parametrize(("program", "losses"), LOST, ids=lambda value: getattr(value, "__name__", ""))
def test_where_the_gradient_was_lost(program, losses):
    sentence, (described, *facts) = said_by(program)
    assert sentence == "element 0 of tensors does not require grad and does not have a grad_fn"
    assert described == "it is a Tensor of shape [] and type torch.float32"
    lines = [at(program, offset) for offset in range(len(inspect.getsourcelines(program)[0]))]
    starts = ["its gradient was lost in ", "grad mode was switched off "]
    assert facts == [start + loss.format(*lines) for start, loss in zip(starts, losses, strict=False)]
    assert said_by(program, recording=False) == (sentence, [described, HOW])


def test_a_decorated_function_switches_grad_off_where_it_is_called():
    _, (_, lost, off) = said_by(in_a_decorated_function)
    assert lost.endswith("in predict: return x.exp()")
    assert off == f"grad mode was switched off {at(in_a_decorated_function, 5)}"


def a_target_without_grad():
    x = leaf()
    y = x.detach()
    torch.autograd.grad(x.sum(), y)


def test_a_target_that_lost_its_gradient():
    sentence, facts = said_by(a_target_without_grad)
    assert sentence == "One of the differentiated Tensors does not require grad"
    assert facts[1:] == [f"its gradient was lost in detach {at(a_target_without_grad, 2)}"]


def test_a_parameter_is_called_so():
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    _, facts = said_by(lambda: parameter.backward(torch.ones(2)))
    assert facts[0] == "it is a Parameter of shape [2] and type torch.float32"


# -- not used ----------------------------------------------------------------------------------------------------------


def not_used():
    x = leaf()
    y = x * 2
    loss = x.sum()
    torch.autograd.grad(loss, y)


def test_what_was_not_used():
    sentence, facts = said_by(not_used)
    assert sentence == (
        "The differentiated Tensor at index 0 appears to not have been used in the graph. "
        "Set allow_unused=True if this is the desired behavior."
    )
    assert facts == [
        "it is a Tensor of shape [3] and type torch.float32",
        f"it was made by MulBackward0, by the operation {at(not_used, 2)}",
        f"the graph ends in the operation {at(not_used, 3)}",
    ]
    assert said_by(not_used, recording=False)[1] == [facts[0], HOW]


# -- the switch --------------------------------------------------------------------------------------------------------


def test_the_switch():
    torch.autograd.set_record_source_lines(True)
    assert thread.modes.source_lines
    with torch.autograd.set_record_source_lines(False):
        assert not thread.modes.recording
        with torch.autograd.set_detect_anomaly(True):
            assert thread.modes.recording
        assert not thread.modes.recording
    assert thread.modes.source_lines
    torch.autograd.set_record_source_lines(False)
    with pytest.raises(TypeError, match="argument 'mode' must be bool, not int"):
        torch.autograd.set_record_source_lines(1)


def test_it_is_on_under_anomaly_detection():
    with pytest.warns(UserWarning, match="Error detected in Mul"):
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            sentence, facts = said_by(an_input_is_written, recording=False)
    assert sentence.endswith("Good luck!")
    assert facts[1] == f"it was modified {at(an_input_is_written, 3)}"


def test_off_nothing_is_kept():
    x = leaf()
    y = x * 2
    with torch.no_grad():
        z = x * 2
    z.add_(1)
    assert "_origin" not in vars(y.grad_fn) and "_lost_grad" not in vars(z) and z._storage.counter.writes is None


def test_recording_keeps_no_frame_and_no_tensor():
    class Thing:
        pass

    def make():
        thing = Thing()
        with torch.autograd.set_record_source_lines(True):
            x = leaf()
            y = x * 2
            with torch.no_grad():
                z = y * 3
            z.add_(1)
        y.sum().backward()
        return weakref.ref(thing), weakref.ref(x), y.grad_fn, z

    gc.disable()
    try:
        thing, x, *kept = make()
        assert thing() is None and len(kept) == 2
        del kept
        assert x() is None
    finally:
        gc.enable()


# -- positions ---------------------------------------------------------------------------------------------------------


def test_here_is_the_caller():
    position = here()
    assert (position.file, position.function) == (__file__, "test_here_is_the_caller")
    assert linecache.getline(position.file, position.line).strip() == "position = here()"
    assert position.position is position and position.notes() == {}


def test_frames_of_ours_are_passed_over():
    seen = []
    x = leaf()
    x.register_hook(lambda grad: seen.append((here(), stack())))
    x.sum().backward()
    position, places = seen[0]
    assert position.function == "<lambda>"
    names = [code.co_name for code, _ in places.frames[:2]]
    assert names == ["<lambda>", "test_frames_of_ours_are_passed_over"]


def test_a_thread_of_ours_has_the_place_of_the_call_it_works_for():
    seen = []
    losses = [leaf().exp().sum() for _ in range(50)]

    def nested(grad):
        if losses:
            loss = losses.pop()
            loss.register_hook(nested)
            loss.backward()
        else:
            seen.append((threading.current_thread(), thread.backward_call.function))

    nested(None)  # further down than one stack holds: see Note [Reentrant] in engine/threads.py
    assert seen[0][0] is not threading.current_thread() and seen[0][1] == "nested"


def test_a_stack_without_frames_has_no_position():
    assert stack().__class__((), None).position is None


def test_the_line_of_a_call_over_several_lines():
    position = (
        here()
    )  # fmt: skip
    first = inspect.getsourcelines(test_the_line_of_a_call_over_several_lines)[1]
    assert position.line == first + 2


def test_facts_follow_the_sentence():
    assert explain("No.", ["a", None, "b"]) == "No.\nWhere:\n  a\n  b"
    assert explain("No.", []) == "No."
    frame = sys._getframe()
    assert str(Position(frame.f_code, 0)).startswith(f"{__file__}:")


# -- notebooks ---------------------------------------------------------------------------------------------------------


def test_a_cell_of_a_notebook_is_called_what_ipython_calls_it(monkeypatch):
    cells = {"<third cell>": ("Cell", "In[3]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=cells.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    program = compile("x = 1\ndef cell():\n    return here()", "<third cell>", "exec")
    names = {"here": here}
    exec(program, names)
    assert str(names["cell"]()) == "Cell In[3], line 3 in cell"
    assert str(here()).startswith(f"{__file__}:")


@pytest.mark.parametrize("shell", [None, SimpleNamespace(), SimpleNamespace(compile=SimpleNamespace())])
def test_other_shells_name_files(monkeypatch, shell):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert str(here()).startswith(f"{__file__}:")

"""Anomaly detection beyond PyTorch's: nan and inf in the forward pass too, told with operands, line and cause."""

import gc
import inspect
import warnings
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from leaves import leaf

import tapegrad as torch
from tapegrad._src.engine import Engine
from tapegrad._src.execution.array_functions import nonfinite
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import describe, wrap
from tapegrad.autograd.gradient_types import Values
from tapegrad.autograd.nonfinite import checks as nonfinite_checks

inf, nan = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def watchers_are_gone():
    yield
    assert thread.node_watchers == thread.result_watchers == thread.backward_watchers == thread.failure_watchers == ()


def caught(action, *, within=None, **arguments):
    """The text of the error that an action raises under anomaly detection."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError) as error, torch.autograd.detect_anomaly(**arguments):
            action()
    return str(error.value)


def line_of(function, offset=1):
    return f"{__file__}:{inspect.getsourcelines(function)[1] + offset}"


# -- the forward pass --------------------------------------------------------------------------------------------------


def test_the_first_operator_that_makes_nan_is_named_with_its_operands_and_its_line():
    def program():
        x = leaf(4.0, -1.0)
        y = x * 2
        z = y.sqrt()
        return (z + 1).log().sum()

    said = caught(program, forward=True)
    assert said.splitlines() == [
        "Operator 'sqrt' returned nan values in its 0th output (forward pass).",
        "Where:",
        f"  it was called at {line_of(program, 3)} in program: z = y.sqrt()",
        "  x: float32[2], min -2, max 8, 0 nan, 0 inf",
        "  Hint: the square root of a negative number is nan: clamp the argument",
    ]


CAUSES = {
    "0 / 0": (lambda: leaf(0.0) / leaf(0.0), "0 / 0 is nan"),
    "inf / inf": (lambda: leaf(inf) / leaf(inf), "inf / inf is nan"),
    "root of a negative number": (lambda: leaf(-1.0).sqrt(), "square root of a negative number"),
    "logarithm of a negative number": (lambda: leaf(-1.0).log(), "logarithm of a negative number"),
    "power of a negative number": (lambda: leaf(-1.0) ** 0.5, "negative number to a power"),
    "inf - inf": (lambda: leaf(inf) - leaf(inf), "inf - inf is nan"),
    "0 * inf": (lambda: leaf(inf) * leaf(0.0), r"0 * inf is nan"),
    "outside of the arc cosine": (lambda: leaf(2.0).acos(), "between -1 and 1"),
    "a row that is masked throughout": (lambda: torch.softmax(leaf(-inf, -inf), 0), "all of it masked"),
    "the mean of nothing": (lambda: leaf([]).mean(), "mean of no elements"),
    "the spread of one": (lambda: leaf(1.0).std(), "correction"),
    "nan in the data": (lambda: leaf(nan) * 2, "x is nan already"),
}

INFINITE = {
    "division by 0": (lambda: leaf(1.0) / leaf(0.0), "division by 0"),
    "logarithm of 0": (lambda: leaf(0.0).log(), "logarithm of 0"),
    "1 / sqrt(0)": (lambda: leaf(0.0).rsqrt(), "1 / sqrt(0)"),
    "0 to a negative power": (lambda: leaf(0.0) ** -1.5, "0 to a negative power"),
    "overflow": (lambda: leaf(1000.0).exp(), "too large"),
    "overflow of a product": (lambda: leaf(1e30) * 1e30, "too large"),
}


@pytest.mark.parametrize(("action", "cause"), CAUSES.values(), ids=CAUSES)
def test_the_cause_of_nan(action, cause):
    said = caught(action, forward=True)
    assert "returned nan values" in said and cause in said.partition("Hint:")[2]


@pytest.mark.parametrize(("action", "cause"), INFINITE.values(), ids=INFINITE)
def test_the_cause_of_inf(action, cause):
    said = caught(action, forward=True, check_inf=True)
    assert "returned inf values" in said and cause in said.partition("Hint:")[2]


def test_what_is_not_asked_for_passes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly(forward=True):
            assert leaf(0.0).log().item() == -inf
        with torch.autograd.detect_anomaly(check_nan=False, check_inf=True, forward=True):
            leaf(-1.0).sqrt()
        with torch.autograd.detect_anomaly():
            leaf(-1.0).sqrt()
        with torch.autograd.detect_anomaly(forward=True):
            leaf(nan).isnan(), torch.tensor([1, 2]) // 2, torch.where(leaf(nan).isnan(), leaf(0.0), leaf(1.0))


def test_operators_that_record_nothing_are_looked_at_too():
    def program():
        with torch.no_grad():
            torch.zeros(2) / torch.zeros(2)

    assert f"{line_of(program, 2)} in program" in caught(program, forward=True)


def test_the_second_output_is_named_by_its_number():
    said = caught(lambda: torch.std_mean(torch.tensor([1.0]), correction=1), forward=True)
    assert "'std_mean' returned nan values in its 0th output" in said


def test_operators_of_hooks_and_custom_functions_are_looked_at():
    class Rooted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return torch.nan_to_num((grad - 3).sqrt())

    def on_a_leaf():
        x = leaf(1.0)
        x.register_hook(lambda grad: torch.nan_to_num((grad - 3).sqrt()))
        (x * 2).sum().backward()

    def inside():
        y = leaf(1.0) * 2
        y.register_hook(lambda grad: torch.nan_to_num((grad - 3).sqrt()))
        y.exp().sum().backward(torch.tensor(0.1), create_graph=True, inputs=[y])

    def custom():
        Rooted.apply(leaf(1.0)).sum().backward()

    for program in (on_a_leaf, inside, custom):
        said = caught(program, forward=True)
        assert "Operator 'sqrt'" in said and "nan_to_num((grad - 3).sqrt())" in said


def test_what_formulas_compute_on_the_way_is_not_judged():
    """The formula of sinc meets 0 / 0 at 0, and masks it; only what it returns counts."""
    with torch.autograd.set_detect_anomaly(True, forward=True):
        x = leaf([0.0])
        assert torch.autograd.grad(torch.sinc(x), x, create_graph=True)[0].tolist() == [0.0]


# -- the backward pass -------------------------------------------------------------------------------------------------


def test_the_branch_that_where_did_not_select():
    def program():
        x = leaf(0.0, 4.0)
        y = torch.where(x > 0, x.sqrt(), torch.zeros(2))
        y.sum().backward()

    for arguments in ({}, {"forward": True}, {"check_inf": True}):
        said = caught(program, **arguments)
        assert said.startswith("Function 'SqrtBackward0' returned nan values in its 0th output.\nWhere:\n")
        assert f"it is the backward of the operation at {line_of(program, 2)} in program" in said
        assert "gradient of output 0: float32[2], min 0, max 1, 0 nan, 0 inf" in said
        assert "saved out: float32[2], min 0, max 2, 0 nan, 0 inf" in said
        assert "WhereBackward0 gives what it did not select a gradient of 0, and 0 * inf is nan" in said
        assert "f(torch.where(good, x, 1)) instead of torch.where(good, f(x), 0)" in said


def test_what_overflowed_in_the_branch_that_was_not_selected():
    x = leaf(1000.0, 1.0)
    said = caught(lambda: torch.where(x < 10, x.exp(), torch.zeros(2)).sum().backward())
    assert "Function 'ExpBackward0'" in said and "the forward pass has overflowed; WhereBackward0 gives" in said
    filled = caught(lambda: x.exp().masked_fill(x > 10, 0.0).sum().backward())
    assert "the forward pass has overflowed; MaskedFillBackward0 gives" in filled


def test_the_advice_on_where_helps():
    x = leaf(0.0, 4.0)
    with torch.autograd.set_detect_anomaly(True, forward=True, check_inf=True):
        good = x > 0
        torch.where(good, torch.where(good, x, torch.ones(2)).sqrt(), torch.zeros(2)).sum().backward()
    assert x.grad.tolist() == [0.0, 0.25]


BACKWARD_CAUSES = {
    "root at 0": (lambda: (leaf(0.0).sqrt() * 0).sum(), "SqrtBackward0", "derivative of sqrt at 0 is infinite"),
    "logarithm at 0": (lambda: (leaf(0.0).log() * 0).sum(), "LogBackward0", "derivative of log at 0 is infinite"),
    "division by 0": (lambda: (leaf(1.0) / leaf(0.0) * 0).sum(), "DivBackward0", "the divisor is 0"),
    "power below 1 at 0": (lambda: (leaf(0.0) ** 0.5 * 0).sum(), "PowBackward0", "at x = 0 is infinite for p < 1"),
    "arc cosine at 1": (lambda: (leaf(1.0).acos() * 0).sum(), "AcosBackward0", "at -1 and 1 is infinite"),
    "nan from the forward pass": (lambda: (leaf(1.0) * leaf(nan)).sum(), "MulBackward0", "what it saved is nan"),
    "an infinite gradient": (lambda: leaf(0.0).pow(2).sum().sqrt(), "PowBackward0", "check_inf=True"),
}  # fmt: skip


@pytest.mark.parametrize(("program", "node", "cause"), BACKWARD_CAUSES.values(), ids=BACKWARD_CAUSES)
def test_the_cause_of_nan_in_backward(program, node, cause):
    said = caught(lambda: program().backward())
    assert said.startswith(f"Function '{node}' returned nan") and cause in said.partition("Hint:")[2]


def test_inf_in_backward():
    said = caught(lambda: leaf(0.0).pow(2).sum().sqrt().backward(), check_inf=True)
    assert said.startswith("Function 'SqrtBackward0' returned inf values in its 0th output.")


def test_a_seed_that_is_nan_is_told_as_such():
    said = caught(lambda: (leaf(1.0) * 2).backward(torch.tensor(nan)))
    assert "the gradient that came in is nan already" in said


def test_without_a_forward_pass_there_is_no_line():
    y = leaf(0.0).sqrt() * 0
    assert "its forward pass ran without anomaly detection" in caught(lambda: y.sum().backward())


# -- when it is looked -------------------------------------------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch):
    """How many flags each reading took."""
    seen = []

    def counting(flags):
        seen.append(len(flags))
        return nonfinite.read(flags)

    monkeypatch.setattr(nonfinite_checks, "read", counting)
    return seen


def test_checks_are_read_many_at_a_time(reads):
    x, w = leaf(1.0, 2.0, 3.0, 4.0), torch.ones(4)
    with torch.autograd.set_detect_anomaly(True, forward=True):
        y = x
        for _ in range(50):
            y = y * w
        y.sum().backward()
    assert reads == [51, 51]


def test_a_leaf_at_every_step_does_not_make_it_wait(reads):
    leaves = [leaf(1.0) for _ in range(20)]
    with torch.autograd.set_detect_anomaly(True):
        y = leaves[0]
        for w in leaves[1:]:
            y = y * w
        y.backward()
    assert len(reads) == 1


def test_a_long_program_is_read_meanwhile(reads):
    with torch.autograd.set_detect_anomaly(True, forward=True):
        y = torch.ones(4)
        for _ in range(200):
            y = y + 1
    assert reads == [64, 64, 64, 8]


def test_results_are_not_held_for_long():
    with torch.autograd.set_detect_anomaly(True, forward=True):
        first = torch.ones(4) + 1
        value = weakref.ref(first._value)
        del first
        y = torch.ones(4)
        for _ in range(64):
            y = y + 1
        gc.collect()
        assert value() is None


def test_large_results_are_read_sooner(reads, monkeypatch):
    monkeypatch.setattr(nonfinite_checks, "ELEMENTS_HELD", 10)
    with torch.autograd.set_detect_anomaly(True, forward=True):
        y = torch.ones(4) + 1
        y = y + 1
        assert reads == []
        y + 1
        assert reads == [3]


def test_large_values_are_reduced_where_they_are(monkeypatch):
    monkeypatch.setattr(nonfinite, "_LOOKED_AT", 2)
    values = [torch.tensor(numbers)._value for numbers in ([1.0, 2, 3], [1.0, nan, 3], [1.0, 2, -inf], [nan])]
    flags = [nonfinite.flag(value) for value in values]
    assert [flag.dtype.kind for flag in flags] == ["b", "b", "b", "f"]
    assert nonfinite.read(flags) == [(False, False), (True, False), (False, True), (True, False)]
    wide = nonfinite.flag(torch.tensor([nan, 1, 2], dtype=torch.float64)._value)
    assert nonfinite.read([wide, *flags[:1]]) == [(True, False), (False, False)]
    said = caught(lambda: (leaf(0.0, 1.0, 2.0).sqrt() * 0).sum().backward())
    assert said.startswith("Function 'SqrtBackward0' returned nan")


def test_on_an_accelerator_every_value_is_reduced_where_it_is(monkeypatch):
    monkeypatch.setattr(nonfinite, "has_accelerator", lambda: True)
    values = [torch.tensor(numbers)._value for numbers in ([1.0], [nan, 3], [inf])]
    flags = [nonfinite.flag(value) for value in values]
    assert {flag.dtype.kind for flag in flags} == {"b"}
    assert nonfinite.read(flags) == [(False, False), (True, False), (False, True)]


def test_what_was_accumulated_after_the_failure_is_taken_back():
    x, w = leaf([0.0]), leaf([3.0])
    w.grad = torch.tensor([1.0])
    before = w.grad
    caught(lambda: ((x * w).sqrt() * 0).sum().backward())
    assert x.grad is None and w.grad is before and w.grad.tolist() == [1.0]


def test_a_later_error_does_not_hide_what_came_first():
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("later")

    assert "SqrtBackward0" in caught(lambda: (Failing.apply(leaf(0.0)).sqrt() * 0).sum().backward())


def test_the_user_s_own_error_gets_a_note():
    with pytest.raises(KeyError) as error, torch.autograd.set_detect_anomaly(True, forward=True):
        leaf(-1.0).sqrt()
        raise KeyError("something else")
    assert "Operator 'sqrt' returned nan" in error.value.__notes__[0]


def test_what_waits_is_read_when_it_is_switched_off():
    torch.autograd.set_detect_anomaly(True, forward=True)
    leaf(-1.0).sqrt()
    with pytest.raises(RuntimeError, match="Operator 'sqrt'"):
        torch.autograd.set_detect_anomaly(False)
    assert not torch.is_anomaly_enabled()


def test_more_arguments_than_pytorch_has():
    with pytest.raises(TypeError, match="argument 'forward' .* must be bool, not str"):
        torch.autograd.set_detect_anomaly(True, forward="yes")
    assert not torch.is_anomaly_enabled()


# -- together with other things ----------------------------------------------------------------------------------------


def test_under_the_users_jit_nothing_can_be_looked_at():
    def gradient(value):
        x = wrap(value, describe(value).replace(requires_grad=True))
        with torch.autograd.set_detect_anomaly(True, forward=True):
            y = (x.sqrt() * 0).sum()
            return torch.autograd.grad(y, x)[0]._value

    with jax.checking_leaks():
        assert np.isnan(jax.jit(gradient)(jnp.zeros(2))).all()


def test_with_hooks_on_saved_tensors():
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.detach(), lambda x: x):
        said = caught(lambda: (leaf(0.0).sqrt() * 0).sum().backward(), forward=True)
    assert said.startswith("Function 'SqrtBackward0' returned nan")


def test_with_the_profiler():
    def program():
        with torch.autograd.profiler.profile():
            (leaf(0.0).sqrt() * 0).sum().backward()

    for arguments in ({}, {"forward": True}):
        assert caught(program, **arguments).startswith("Function 'SqrtBackward0' returned nan")
    with pytest.warns(UserWarning, match="Error detected in SqrtBackward0"), torch.autograd.profiler.profile():
        with pytest.raises(RuntimeError), torch.autograd.set_detect_anomaly(True):
            (leaf(0.0).sqrt() * 0).sum().backward()


def test_nodes_on_several_threads():
    x = leaf(0.0, 1.0)
    with torch.autograd.set_detect_anomaly(True):
        y = x * 1
        z = y.sqrt()
        loss = (z * 0).sum()
    z.grad_fn.worker = "elsewhere"
    engine = Engine()
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        checked = nonfinite_checks.Checked(Values)
        edges = [(loss.grad_fn, 0)]
        with pytest.MonkeyPatch.context() as patch, pytest.raises(RuntimeError) as error:
            patch.setattr(nonfinite_checks, "engine", engine)
            engine.execute(edges, [torch.tensor(1.0)._value], False, False, True, (), checked)
    assert str(error.value).startswith("Function 'SqrtBackward0' returned nan") and x.grad is None
    assert [str(warning.message).splitlines()[0] for warning in said] == [
        "Error detected in SqrtBackward0. Traceback of forward call that caused the error:"
    ]


def test_a_hook_that_switches_it_on_switches_it_on():
    """Modes are restored at the end of a backward call, but this one is the program's."""
    x = leaf(1.0)
    x.register_hook(lambda grad: torch.autograd.set_detect_anomaly(True) and None)
    try:
        (x * 2).sum().backward()
        assert torch.is_anomaly_enabled() and thread.modes.detecting and thread.modes.watched
    finally:
        torch.autograd.set_detect_anomaly(False)
    assert not thread.modes.detecting and not thread.modes.watched


# -- off, it costs nothing ---------------------------------------------------------------------------------------------


def test_programs_without_it_know_nothing_of_it():
    x = leaf(1.0, 2.0)
    y = x * 3
    assert "_origin" not in vars(y.grad_fn) and y.grad_fn.metadata == {}
    with torch.autograd.set_detect_anomaly(True):
        x * 3
    again = x * 3
    assert "_origin" not in vars(again.grad_fn)


def test_a_graph_can_be_made_with_it_and_run_without():
    x = leaf(1.0, 4.0)
    with torch.autograd.set_detect_anomaly(True, forward=True):
        y = x.sqrt().sum()
    y.backward()
    assert x.grad.tolist() == [0.5, 0.25]


def test_no_frame_is_kept_alive():
    class Thing:
        pass

    def make():
        thing = Thing()
        reference = weakref.ref(thing)
        with torch.autograd.set_detect_anomaly(True, forward=True):
            return leaf(1.0) * 2, reference

    gc.disable()
    try:
        y, reference = make()
        assert reference() is None and "in make" in y.grad_fn.metadata["traceback_"][-1]
    finally:
        gc.enable()


def test_summaries():
    assert str(nonfinite.summarize(np.array([1.5, -2.0, nan, inf, 0.0]))) == "min -2, max 1.5, 1 nan, 1 inf"
    assert nonfinite.summarize(np.array([0.0, 0.0, 1.0])).zero == 2
    assert str(nonfinite.summarize(np.array([nan]))) == "no finite element, 1 nan, 0 inf"
    assert nonfinite.summarize(np.array([3 + 4j])).greatest == 5.0
    assert nonfinite.summarize(5).least == 5

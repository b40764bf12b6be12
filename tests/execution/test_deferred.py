"""Deferred execution as a user meets it: the same results, fewer calls of XLA, and nothing that is left behind."""

import logging
import os
import pickle
import random
import subprocess
import sys
import textwrap
import threading
import traceback
import weakref
from copy import deepcopy
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from leaves import leaf

import tapegrad as torch
from tapegrad._src.execution.array_functions.host import array_of
from tapegrad._src.execution.data.values import DeferredValue
from tapegrad._src.execution.programs import running, subprogram
from tapegrad._src.execution.recording import program as deferred
from tapegrad._src.tape.modes import thread
from tapegrad._src.tensor.tensor import value_of, wrap
from tapegrad.utils.checkpoint import checkpoint

pytestmark = pytest.mark.once("here it is chosen by each test")

NUMBERS = [0.5, -1.5, 2.0]


@pytest.fixture
def fresh(monkeypatch):
    """Nothing is known of programs yet, and what comes for the second time is compiled."""
    monkeypatch.setattr(subprogram, "SEEN_ENOUGH", 2)
    running._programs.clear(), running._recent.clear()
    running.reset_stats()
    return torch.execution.stats


def is_deferred(tensor):
    """Whether a tensor's value is not computed yet."""
    value = value_of(tensor)
    return type(value) is DeferredValue and value.program is not None


def numbers_of(results):
    """What a program gave, as arrays."""
    return [result.detach().numpy() if isinstance(result, torch.Tensor) else result for result in results]


# -- the same results --------------------------------------------------------------------------------------------------


def first_order():
    x, w = leaf(*NUMBERS), leaf(1.0, 2.0, 3.0)
    loss = ((x * w).exp() * x).sum()
    loss.backward()
    return loss, x.grad, w.grad


def accumulated():
    x = leaf(*NUMBERS)
    for _ in range(3):
        (x * x).sum().backward()
    return (x.grad,)


def second_order():
    x = leaf(*NUMBERS)
    (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (bend,) = torch.autograd.grad(slope.square().sum(), x, create_graph=True)
    bend.sum().backward()
    return slope, bend, x.grad


def written():
    x = leaf(*NUMBERS)
    y = x * 2
    first = y[:2]
    first.mul_(3)
    y[2] = x[0]
    y.sum().backward()
    return y, first, x.grad


def views_of_a_leaf(*NUMBERS):
    x = torch.tensor(NUMBERS)
    view, other = x[1:], x.detach()
    x.add_(1)
    view *= 2
    return x, view, other


def step_by_hand():
    w = leaf(*NUMBERS)
    for _ in range(3):
        w.grad = None
        (w * w).sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
    return (w,)


def hooks_that_read():
    x, seen = leaf(*NUMBERS), []
    y = x * 2
    y.register_hook(lambda grad: seen.extend(grad.tolist()) or grad * grad.sum().item())
    x.register_post_accumulate_grad_hook(lambda tensor: seen.append(tensor.grad.sum().item()))
    (y * y).sum().backward()
    return x.grad, np.array(seen)


def decisions():
    x, passed = leaf(*NUMBERS), []
    for row in (x * 2).exp():
        passed.append(bool(row > 1))
        x = x * 2 if row > 1 else x + 1
    return x, np.array(passed)


def reentrant():
    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with torch.enable_grad():
                y = x.detach().requires_grad_()
                (y * y * y).sum().backward()
            return grad * y.grad

    x = leaf(*NUMBERS)
    (Inner.apply(x * 2) * 3).sum().backward()
    return (x.grad,)


def recomputed():
    x = leaf(*NUMBERS)
    checkpoint(lambda x: (x * 2).sin() * x, x, use_reentrant=False).sum().backward()
    return (x.grad,)


def drawn():
    torch.manual_seed(7)
    x = leaf(*NUMBERS)
    y = torch.nn.functional.dropout(x * torch.rand(3), 0.5) + torch.randn(3)
    y.sum().backward()
    return y, x.grad, torch.randint(10, (3,)), torch.randperm(3)


def transforms():
    x = torch.tensor(NUMBERS)
    slope = torch.func.grad(lambda x: (x.sin() * x).sum())
    return torch.func.vmap(lambda x: x * 2 + x.exp())(x), slope(x), torch.func.jvp(torch.sin, (x,), (x,))[1]


def forward_mode():
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.tensor(NUMBERS), torch.ones(3))
        return tuple(torch.autograd.forward_ad.unpack_dual(dual.sin() * 2))


def wide_and_narrow():
    x = leaf(*NUMBERS)
    index = x.argmax()
    return x.double().cumsum(0), index, x[index] * 2**40, (x > 0).sum() * 2**40


SAME = [
    first_order, accumulated, second_order, written, views_of_a_leaf, step_by_hand, hooks_that_read, decisions,
    reentrant, recomputed, drawn, transforms, forward_mode, wide_and_narrow,
]  # fmt: skip


@pytest.mark.parametrize("program", SAME, ids=lambda program: program.__name__)
def test_the_results_are_those_of_immediate_execution(program):
    expected = numbers_of(program())
    for _ in range(3):  # kernel by kernel, then compiled, then from what is remembered
        with torch.deferred():
            found = numbers_of(program())
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, strict=True)


@pytest.mark.parametrize("program", [first_order, written, second_order], ids=lambda program: program.__name__)
def test_under_the_users_jit(program):
    def arrays():
        with torch.deferred():
            return [array_of(value_of(result)) for result in program()]

    for one, other in zip(jax.jit(arrays)(), program(), strict=True):
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-6)


def test_a_trace_that_ends_leaves_nothing_deferred():
    """What depends on the trace is computed in it; what does not is no part of it."""
    kept, ones = [], torch.ones(3)

    @jax.jit
    def function(array):
        with torch.deferred():
            constant = ones * 2
            kept.append(constant)
            return array_of(value_of(wrap(array, constant._spec) * constant))

    assert function(jnp.ones(3)).tolist() == [2, 2, 2] and kept[0].tolist() == [2, 2, 2]


# -- what is deferred --------------------------------------------------------------------------------------------------


def test_shapes_and_dtypes_are_known_and_nothing_is_computed():
    with torch.deferred():
        x = leaf(*NUMBERS) * 2
        y = (x @ x).double()
        assert (y.shape, y.dtype, y.ndim, x.numel(), len(x), x.stride()) == ((), torch.float64, 0, 3, 3, (1,))
        assert x.requires_grad and x.grad_fn.name() == "MulBackward0" and x.device.type == "cpu"
        assert is_deferred(x) and is_deferred(y)
    assert not is_deferred(x) and not is_deferred(y)


READERS = {
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy().sum(),
    "np.asarray": lambda x: np.asarray(x)[0],
    "print": lambda x: str(x),
    "bool": lambda x: bool(x[0] > 0),
    "float": lambda x: float(x[1]),
    "int": lambda x: int(x[2]),
    "format": lambda x: f"{x[2]:.2f}",
    "equal": lambda x: torch.equal(x, x),
    "dlpack": lambda x: np.from_dlpack(x)[1],
    "pickle": lambda x: pickle.loads(pickle.dumps(x)).tolist(),
    "deepcopy": lambda x: deepcopy(x).tolist(),
    "jax": lambda x: float(x.jax().sum()),
    "where": lambda x: len(x.nonzero()),
    "mask": lambda x: x[x > 0].shape,
    "index": lambda x: [10, 20, 30][torch.tensor(1) + 1],
    "iteration": lambda x: [one.item() for one in x],
    "data_ptr": lambda x: x.data_ptr() == x.view(-1).data_ptr(),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_reading_computes(read):
    expected = read(torch.tensor(NUMBERS) * 2)
    with torch.deferred():
        x = torch.tensor(NUMBERS) * 2
        assert is_deferred(x)
        assert read(x) == expected


def test_the_end_of_a_backward_computes():
    with torch.deferred():
        x = leaf(*NUMBERS)
        loss = (x * x).sum()
        assert is_deferred(loss)
        loss.backward()
        assert not is_deferred(loss) and not is_deferred(x.grad)


def test_the_end_of_the_block_computes_also_after_an_exception():
    with pytest.raises(KeyError), torch.deferred():
        x = torch.ones(3) * 2
        raise KeyError
    assert not is_deferred(x) and torch.get_execution() == "immediate"


def test_blocks_and_settings_nest():
    with torch.deferred():
        with torch.deferred():
            x = torch.ones(3) * 2
        assert torch.get_execution() == "deferred"
        torch.set_execution("immediate")
        y = x + 1
        assert not is_deferred(y) and torch.get_execution() == "immediate"
        torch.set_execution("deferred")
        z = y + 1
        assert is_deferred(z)
    assert torch.get_execution() == "immediate" and not is_deferred(z)
    torch.set_execution("immediate")  # for threads to come, too


def test_no_such_execution():
    with pytest.raises(ValueError, match="no such execution.*'immediate' or 'deferred'.*'lazy'"):
        torch.set_execution("lazy")


# -- programs ----------------------------------------------------------------------------------------------------------


def training_step(x):
    loss = ((x * 2).sin() * x).sum()
    loss.backward()
    return loss


def test_the_second_time_a_structure_is_known_and_compiled_once(fresh):
    with torch.deferred():
        for _ in range(4):
            training_step(leaf(*NUMBERS))
    stats = fresh()
    assert (stats.misses, stats.hits, stats.compiled, stats.programs) == (1, 3, 1, 1)
    assert stats.compile_seconds > 0


class Texts(logging.Handler):
    """The texts of what is logged."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


@pytest.fixture
def logged():
    """What JAX logs, as texts."""
    handler, logger = Texts(), logging.getLogger("jax")
    logger.addHandler(handler)
    yield handler.texts
    logger.removeHandler(handler)


def test_what_immediate_execution_has_compiled_is_used(fresh, logged):
    """A program that is run kernel by kernel shares kernels with calls that are computed at once."""
    x = torch.ones(7)
    program = lambda: ((x * 2).exp() + x).sum().item()
    with torch.execution.tiers("xla"), jax.log_compiles():
        expected = program()
        logged.clear()
        with torch.deferred():
            assert program() == expected
        assert not logged
        with torch.deferred():
            assert ((x * 2).exp() - x).sum().item() > 0
        assert any("compilation of jit(sub)" in text for text in logged)


def test_why_a_structure_was_new(fresh):
    with torch.deferred():
        x = torch.ones(3)
        y = (x * 2 + 1).tolist()
        y = (x * 2 + 1).tolist()
        y = (x * 2 - 1).tolist()
        kept = x * 2
        y = kept - 1
        y.tolist()
        (x.exp() * 2).tolist()
    first, other_operator, other_wanted, unlike = fresh().reasons
    assert first == "the first program that begins with mul(in0, in1)"
    assert other_operator.startswith("instruction 1 is sub(%0, in") and "it was add(%0, in" in other_operator
    assert "other results are wanted" in other_wanted
    assert unlike.startswith("the first program that begins with exp")


def test_other_numbers_are_no_other_structure(fresh):
    with torch.deferred():
        for number in range(3):
            assert (torch.ones(3) * (0.5 + number)).tolist() == [0.5 + number] * 3
    assert (fresh().misses, fresh().hits) == (1, 2)


def test_what_nobody_holds_is_not_materialised(monkeypatch):
    """Saved values that are used up inside a program are never given back by XLA: here the loss and a gradient are."""
    run, wanted_of_each = deferred.program_runner.content, []
    note = lambda program, wanted: wanted_of_each.append(wanted) or run(program, wanted)
    monkeypatch.setattr(deferred.program_runner, "content", note)
    with torch.deferred():
        x = leaf(*NUMBERS)
        y = x
        for _ in range(10):
            y = y.sin()
        loss = y.sum()
        del y
        loss.backward()
    (wanted,) = wanted_of_each
    assert sum(wanted) == 2 and len(wanted) > 20


def test_a_long_loop_compiles_its_body_only(fresh):
    with torch.deferred():
        x = torch.ones(3)
        for _ in range(1000):
            x = (x * 0.5).sin() + 1
        found = x.tolist()
    assert fresh().compiled <= 3
    assert np.allclose(found, found[0])


def cell_loop(steps, width=3, before=lambda x: x):
    """A recurrent cell with two states, which begin as one array; its input is cut in pieces, one for each step."""
    xs = torch.linspace(-1, 1, 24 * width).reshape(24, width).requires_grad_()
    w = torch.full((width, width), 0.1, requires_grad=True)
    h = c = torch.zeros(width)
    for x in before(xs).unbind()[:steps]:
        gate = (h @ w + x).sigmoid()
        c = gate * c + (1 - gate) * (h + x).tanh()
        h = gate * c.tanh()
    (h * h).sum().backward()
    return h, w.grad, xs.grad


def test_a_recurrent_cell_gives_the_same(fresh):
    expected = numbers_of(cell_loop(24))
    for _ in range(3):
        with torch.deferred():
            found = cell_loop(24)
        for one, other in zip(numbers_of(found), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_loop_is_compiled_when_it_comes_for_the_first_time(fresh):
    """And only what stands beside it when it comes again; its first and its last period are no pieces of their own."""
    counts = []
    for _ in range(4):
        with torch.deferred():
            cell_loop(24)
        counts.append(fresh().compiled)
    assert counts[0] >= 2
    assert counts[1:] == [counts[1]] * 3
    assert counts[1] <= 4


def test_what_is_compiled_for_a_loop_serves_programs_that_begin_otherwise(fresh):
    with torch.deferred():
        cell_loop(24)
    before = fresh().compiled
    with torch.deferred():
        cell_loop(24, before=lambda xs: xs * 2)
    assert fresh().misses == 2
    assert fresh().compiled - before <= 1


def test_a_kernel_alone_is_not_compiled_as_a_program(fresh):
    x = torch.ones(3)
    for _ in range(3):
        with torch.deferred():
            assert (-x).tolist() == [-1] * 3
    assert fresh().compiled == 0
    for _ in range(3):
        with torch.deferred(), torch.execution.tiers("xla"):
            assert x.unbind()[1].item() == 1  # the others need not be computed
    assert fresh().compiled == 1


def test_a_program_that_grows_too_long_is_run(monkeypatch, fresh):
    with torch.deferred():
        x = torch.zeros(3)
        for _ in range(deferred.LONGEST + 2):
            x = x + 1
        assert len(deferred.recording.program.values) < 10
        assert x.tolist() == [deferred.LONGEST + 2] * 3


def test_what_is_remembered_is_bounded(cache_limit, fresh):
    cache_limit(entries=1)
    with torch.deferred():
        for length in range(16):
            x = torch.zeros(3)
            for _ in range(length + 1):
                x = x + 1
            assert x.tolist() == [length + 1] * 3
    assert fresh().programs <= 5 and fresh().misses == 16


def test_a_program_that_is_another_each_time_takes_no_more_memory(monkeypatch, fresh):
    monkeypatch.setattr(running, "MOST_ALIKE", 4)
    steps = (torch.sin, torch.cos, torch.neg, torch.tanh)
    with torch.deferred():
        for number in range(4**4):
            x = leaf(*NUMBERS)
            y = x
            for place in range(4):
                y = steps[number // 4**place % 4](y)
            (y * 2).sum().backward()
    assert fresh().misses == 4**4
    assert fresh().programs <= 4 * 4  # four of each kind: they differ in the last instruction
    assert len(subprogram._executables) <= 2 * fresh().programs + 2 * 8  # and those of the programs that were last


@pytest.mark.ring("everything")
def test_a_million_programs_keep_memory_flat(monkeypatch, fresh):
    monkeypatch.setattr(subprogram, "SEEN_ENOUGH", 10**9)  # compiling what comes again would take hours
    monkeypatch.setattr(subprogram, "SECONDS_PER_SUBPROGRAM", 10**9)
    steps, draw, memory = (torch.sin, torch.cos, torch.neg, torch.tanh, torch.abs, torch.exp), random.Random(0), []
    x = torch.full((3,), 0.1)
    with torch.deferred():
        for number in range(1_000_000):
            y = x
            for _ in range(draw.randint(3, 6)):
                y = draw.choice(steps)(y)
            y.tolist()
            if number in (30_000, 999_999):
                memory.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
    assert fresh().misses > 500_000
    assert memory[1] - memory[0] < 20 << 20


def test_nothing_is_kept_alive(no_gc):
    with torch.deferred():
        x = torch.ones(3) * 2
        y = x + 1
        held = weakref.ref(x)
        del x
        assert held() is None
        assert y.tolist() == [3, 3, 3]
        value = weakref.ref(array_of(value_of(y)))
        del y
        assert value() is None


# -- errors ------------------------------------------------------------------------------------------------------------


WRONG = {
    "shapes": (lambda x: x + torch.ones(4), "size of tensor a"),
    "dtypes": (lambda x: x @ torch.ones(3, dtype=torch.float64), "dtype"),
    "an index out of range": (lambda x: x[torch.tensor([7])], "out of bounds"),
    "a singular matrix": (lambda x: torch.linalg.inv(x[:1, None] * 0), "singular"),
    "no number": (lambda x: x.item(), "3 elements"),
    "a leaf is written to": (lambda x: leaf(*NUMBERS).add_(x), "leaf Variable"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_errors_come_at_the_call_and_leave_the_program_as_it_was(wrong):
    call, words = wrong
    with torch.deferred():
        x = torch.tensor(NUMBERS) * 2
        with pytest.raises((RuntimeError, IndexError), match=words) as caught:
            call(x)
        assert traceback.extract_tb(caught.tb)[1].name == "<lambda>"
        assert (x + 1).tolist() == [2.0, -2.0, 5.0]


def test_an_error_in_a_hook_leaves_what_was_recorded():
    def refuse(grad):
        raise KeyError("refused")

    with torch.deferred():
        x = leaf(*NUMBERS)
        y = x * 2
        z = y * y
        y.register_hook(refuse)
        with pytest.raises(KeyError, match="refused"):
            z.sum().backward()
        assert z.tolist() == [1, 9, 16] and x.grad is None
        (x * 3).sum().backward()
        assert x.grad.tolist() == [3, 3, 3]


def test_a_program_that_fails_leaves_no_poisoned_values(monkeypatch):
    """What was deferred when running failed is computed by itself when it is read."""

    def fail(program, wanted):
        raise MemoryError

    with torch.deferred():
        x = torch.ones(3) * 2
        y = x + 1
        with monkeypatch.context() as broken:
            broken.setattr(deferred.program_runner, "content", fail)
            with pytest.raises(RuntimeError, match="bad_alloc"):
                y.tolist()
        z = y * 2
        assert z.tolist() == [6, 6, 6] and x.tolist() == [2, 2, 2]


def test_anomaly_mode_runs_at_once():
    with torch.deferred(), torch.autograd.set_detect_anomaly(True, check_nan=True):
        x = leaf(0.0, 1.0)
        with pytest.raises(RuntimeError, match="(?s)SqrtBackward0.*nan"):
            (x.sqrt() * 0).sum().backward()
        assert torch.get_execution() == "deferred"
        assert not is_deferred(x * 2)
    assert not thread.modes.deferred


# -- both executions in one program ------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", ["immediate", "deferred"])
@pytest.mark.parametrize("differentiate", ["immediate", "deferred"])
def test_recorded_in_one_and_differentiated_in_the_other(record, differentiate):
    torch.set_execution(record)
    x, constant = leaf(*NUMBERS), torch.ones(3) * 2
    y = (x * constant).exp() * 1
    y[0] = 1.0
    loss = (y * x).sum()
    torch.set_execution(differentiate)
    loss.backward()
    added = constant + x.grad
    torch.set_execution("immediate")
    expected = np.exp(np.multiply(2, NUMBERS)) * (1 + 2 * np.array(NUMBERS))
    expected[0] = 1
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(added.numpy(), expected + 2, rtol=1e-6)


def test_pending_values_are_taken_where_operators_run_at_once():
    with torch.deferred():
        x = torch.ones(3) * 2
        torch.set_execution("immediate")
        torch.set_execution("deferred")
        y = x + 1
        thread.modes = thread.modes.replace(deferred=False)
        assert is_deferred(y) and (y * x).tolist() == [6, 6, 6]
        thread.modes = thread.modes.replace(deferred=True)


# -- threads -----------------------------------------------------------------------------------------------------------


def in_a_thread(function):
    found = []
    other = threading.Thread(target=lambda: found.append(function()))
    other.start()
    other.join()
    return found[0]


def test_each_thread_has_a_program_and_what_was_set_holds_for_new_ones():
    torch.set_execution("deferred")
    x = torch.ones(3) * 2
    assert in_a_thread(torch.get_execution) == "deferred"
    assert in_a_thread(lambda: len(deferred.recording.program.code)) == 0
    assert is_deferred(x)
    torch.set_execution("immediate")
    assert in_a_thread(torch.get_execution) == "immediate"
    with torch.deferred():
        assert in_a_thread(torch.get_execution) == "immediate"


def test_values_are_handed_from_thread_to_thread():
    """What another thread has recorded is computed by who wants it, and that thread's program goes on."""
    torch.set_execution("deferred")
    x = leaf(*NUMBERS)
    y = x * 2
    assert in_a_thread(lambda: (y + 1).tolist()) == [2.0, -2.0, 5.0]
    z = y * 3
    assert z.tolist() == [3.0, -9.0, 12.0]
    w = in_a_thread(lambda: z * y)  # the thread ends, and what it recorded was not run
    assert is_deferred(w)
    w.sum().backward()
    torch.set_execution("immediate")
    assert w.tolist() == [3.0, 27.0, 48.0] and x.grad.tolist() == [12.0, -36.0, 48.0]


def test_many_threads_at_once():
    torch.set_execution("deferred")
    shared, found = leaf(*NUMBERS) * 2, []

    def work(number):
        x = leaf(*NUMBERS)
        for _ in range(20):
            x.grad = None
            (x * shared.detach() * number).sum().backward()
        found.append((x.grad * (1 / number)).tolist())

    workers = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    torch.set_execution("immediate")
    np.testing.assert_allclose(found, [[1.0, -3.0, 4.0]] * 4, rtol=1e-6)


# -- several devices ---------------------------------------------------------------------------------------------------

TWO_DEVICES = """
    import tapegrad as torch
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.deferred():
        y = x * 2
        z = y.to("cpu:1") * 3
        w = z.exp().sum() + z.sum()
        other = torch.ones(2, device="cpu:1") * 2
        assert (w.device, z.device, y.device) == (torch.device("cpu:1"), torch.device("cpu:1"), x.device)
        w.backward()
        both = other + z
    slopes = [round(number) for number in x.grad.tolist()]
    print(y.tolist(), z.tolist(), slopes, both.tolist(), both.device, x.grad.device)
"""


def test_programs_belong_to_devices():
    settings = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(TWO_DEVICES)], env=os.environ | settings,
                         capture_output=True, text=True)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    slopes = [round(6 * number) for number in np.exp([6.0, 12.0]) + 1]
    assert ran.stdout.strip() == f"[2.0, 4.0] [6.0, 12.0] {slopes} [8.0, 14.0] cpu:1 cpu"

"""Threads, where PyTorch has no counterpart or another answer: what is made lazily, errors from far below, exits."""

import copy
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fake_nodes import Act, run

import tapegrad as torch
from tapegrad._src.caches import Interned
from tapegrad._src.dispatch.kernels import Kernels
from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad, leaf_edge
from tapegrad._src.dispatch.nodes.operator import OperatorNode
from tapegrad._src.execution.data.devices import device
from tapegrad._src.execution.programs.step_executable import StepExecutable
from tapegrad._src.tape import modes
from tapegrad._src.tape.hooks import RemovableHandle
from tapegrad._src.tape.modes import Modes, alone
from tapegrad._src.tensor.tensor import describe, storage_of, value_of, wrap
from tapegrad.autograd.differentiate import engine
from tapegrad.ops.unary import sin

LIMIT = 60
ROUNDS = 60


@pytest.fixture(autouse=True)
def frequent_switches():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def together(count, work):
    """``work(0)``, ``work(1)``, ... each on a thread of its own, which start at a barrier; what they returned."""
    results, errors, start = [None] * count, [], threading.Barrier(count, timeout=LIMIT)

    def target(number):
        try:
            start.wait()
            results[number] = work(number)
        except BaseException as error:  # handed to the test
            errors.append(error)

    threads = [threading.Thread(target=target, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert not any(thread.is_alive() for thread in threads), "deadlock"
    if errors:
        raise errors[0]
    return results


def racing(count, work):
    """As ``together``, where each thread may lose its turn before any line of tapegrad's, so that races show."""
    chance = random.Random(count)

    def at_a_line(frame, event, argument):
        if "/tapegrad/" not in frame.f_code.co_filename:
            return None
        if chance.random() < 0.5:
            time.sleep(0)
        return at_a_line

    def traced(number):
        sys.settrace(at_a_line)
        try:
            return work(number)
        finally:
            sys.settrace(None)

    return together(count, traced)


def nest(depth, bottom):
    """``depth`` backward calls, each in a hook of the one before; ``bottom`` in a hook of the last."""
    x = torch.ones(1, requires_grad=True)

    def hook(grad):
        with torch.enable_grad():
            nest(depth - 1, bottom) if depth > 1 else bottom()

    x.register_hook(hook)
    (x * 2).backward()


# -- what there must be one of -----------------------------------------------------------------------------------------


def one_for_all(make, argument, rounds=100):
    """Whether several threads which ask at once all get the same object, each time for an argument of its own."""
    given = [argument(number) for number in range(rounds)]
    meet = threading.Barrier(3, timeout=LIMIT)

    def work(number):
        found = []
        try:
            for item in given:
                meet.wait()
                found.append(make(item))
        except BaseException:
            meet.abort()
            raise
        return found

    return all(one is two is three for one, two, three in zip(*racing(3, work), strict=True))


def leaf(number=0):
    return torch.ones(2, requires_grad=True)


def test_accumulators():
    kept = []

    def edge(x):
        node = leaf_edge(x)[0]
        kept.append(node)
        return node

    assert one_for_all(edge, leaf)


def test_storages():
    assert one_for_all(storage_of, leaf)


def test_hook_slots():
    assert one_for_all(lambda node: node.own_hooks(), lambda number: (leaf() * 2).grad_fn)


def test_modes_are_complete_before_they_are_seen():
    def modes(number):
        found = Modes.of(anomaly=f"test {number}")
        assert found.forward_level == -1 and found.grad
        return found

    assert one_for_all(modes, int)


def test_node_classes():
    def fresh(number):
        operator = copy.copy(sin)
        operator._node_class = None
        return operator

    assert one_for_all(lambda operator: operator.node_class(OperatorNode, 2), fresh)


def test_plans_and_kernels():
    """Many threads that are the first to make a call: the same plan for all, and right results."""
    for size in range(2, 12):
        x = torch.ones(size, 97, requires_grad=True)
        outs = racing(4, lambda _, x=x: (x * 2).exp())
        assert len({id(out.grad_fn.plan) for out in outs}) == 1
        assert len({id(out.grad_fn.plan.kernels) for out in outs}) == 1
        together(4, lambda number, outs=outs: outs[number].sum().backward())
        np.testing.assert_allclose(x.grad.numpy(), 8 * np.exp(2), rtol=1e-6)


def test_kernels_shared_by_plans():
    def fresh(number):
        operator = copy.copy(sin)
        operator.kernels = Interned()
        return operator

    spec = torch.ones(2)._spec
    assert one_for_all(lambda operator: Kernels.of(operator, (spec,), {}), fresh, rounds=10)


def test_handles_have_ids_of_their_own():
    ids = racing(6, lambda _: [RemovableHandle(set()).id for _ in range(300)])
    assert len({number for taken in ids for number in taken}) == 1800


def test_no_hook_is_lost_when_many_threads_register():
    for _ in range(ROUNDS):
        x, calls = leaf(), []
        a = x * 2

        def work(number, x=x, a=a, calls=calls):
            x.register_hook(lambda grad: calls.append(number))
            a.register_hook(lambda grad: calls.append(number))
            x.register_post_accumulate_grad_hook(lambda tensor: calls.append(number))
            a.grad_fn.register_prehook(lambda grads: calls.append(number))

        racing(3, work)
        a.sum().backward()
        assert sorted(calls) == sorted([0, 1, 2] * 4)


def test_hooks_of_a_leaf_whose_accumulator_is_being_made():
    """The hook is found whichever comes first."""
    for _ in range(ROUNDS):
        x, calls = leaf(), []

        def work(number, x=x, calls=calls):
            return x.register_hook(calls.append) if number else (x * 2).sum()

        out = racing(2, work)[0]
        out.backward()
        assert len(calls) == 1


@pytest.mark.parametrize(
    ("change", "after"),
    [(lambda x: x.add_(1.0), [2.0, 2.0]), (lambda x: x.detach(), [0.0, 0.0])],
    ids=["add_", "detach"],
)
def test_who_reads_a_tensor_while_it_gets_a_storage_sees_it_before_or_after(change, after):
    for _ in range(ROUNDS):
        x = torch.zeros(2)
        results = racing(3, lambda number, x=x: (x * 2).tolist() if number else change(x))
        assert all(result in ([0.0, 0.0], after) for result in results[1:])


def test_threads_may_write_to_different_parts_of_one_memory():
    """As in PyTorch, where they write to different places; here each write replaces the whole."""
    for _ in range(ROUNDS // 8):
        x = torch.zeros(3, 4)

        def work(number, x=x):
            for column in range(4):
                x[number, column] = float(number + 1)
                x[number].add_(1)

        racing(3, work)
        assert x.tolist() == [[number + 5.0, number + 4.0, number + 3.0, number + 2.0] for number in range(3)]
        assert x._version == 24


def test_threads_may_record_writes_to_different_parts_of_one_memory():
    for _ in range(ROUNDS // 8):
        w = leaf()
        x = torch.zeros(3, 2)

        def work(number, x=x, w=w):
            x[number] = w * (number + 1)
            x[number].mul_(2)

        racing(3, work)
        x.sum().backward()
        assert w.grad.tolist() == [12.0, 12.0]


def test_threads_are_counted_while_they_begin_and_end():
    """``alone`` is asked in backward calls that add to a ``.grad`` and in writes, whatever other threads do."""
    torch.is_grad_enabled()  # the thread that asks is a user
    done = threading.Event()

    def begin_and_end():
        while not done.is_set():
            together(20, lambda number: torch.is_grad_enabled())

    others = [threading.Thread(target=begin_and_end, daemon=True) for _ in range(2)]
    for thread in others:
        thread.start()
    try:
        wanted, latest = 500, time.monotonic() + LIMIT
        while wanted and time.monotonic() < latest:
            wanted -= not alone()
    finally:
        done.set()
        for thread in others:
            thread.join(LIMIT)
    assert not wanted
    assert alone()


def test_a_thread_that_helps_is_one_user_as_long_as_it_does():
    def help_out(number):
        with modes.adopt(state):
            counts.append(users())
        counts.append(users())

    def users():
        return sum(ref() is threading.current_thread() for ref in modes._users)

    state, counts = modes.thread_state(), []
    together(1, help_out)
    assert counts == [1, 0]


@pytest.mark.once("a program holds what it reads until it is run")
@pytest.mark.parametrize(
    "write",
    [lambda x: x.add_(1), lambda x: x.detach().add_(1), lambda x: x.data.add_(1), lambda x: x.zero_().add_(2),
     lambda x: setattr(x, "data", torch.full((3,), 2.0))],
    ids=["itself", "through detach", "through data", "twice", "other data"],
)  # fmt: skip
def test_what_was_written_over_is_freed(write):
    """A tensor keeps ``_value`` in step with its storage, but never what the storage no longer has."""
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(3) * 1
        before = weakref.ref(value_of(x))
        shared = x.detach()
        write(x)
        assert before() is None or shared.tolist() == [1.0] * 3
        del shared
        assert before() is None
        assert x.tolist() == [2.0] * 3
    finally:
        gc.enable()


def test_gradients_lose_no_update():
    """Exact, however often threads change places; integers in float64 are."""
    x = torch.zeros(3, dtype=torch.float64, requires_grad=True)

    def work(number):
        for _ in range(200):
            (x * (number + 1)).sum().backward()

    together(8, work)
    assert x.grad.tolist() == [200.0 * 36] * 3


@pytest.mark.once("what is deferred is said here")
def test_threads_may_read_one_deferred_value():
    """Whoever comes first computes it; that of two who met it pending one was told of an array is no error."""
    for number in range(ROUNDS):
        w = leaf()
        with torch.deferred():
            x = w * number

        def work(thread, x=x, w=w):
            return torch.autograd.grad((x * 2).sum(), w, retain_graph=True)[0].tolist() if thread else (x + 1).tolist()

        assert together(4, work) == [[number + 1.0] * 2, *[[2.0 * number] * 2] * 3]


@pytest.mark.once("what is deferred is said here")
def test_a_thread_may_read_what_a_step_leaves_that_another_one_captures(monkeypatch):
    """Its results are known by then, and its program is being run, which uses up its inputs."""
    count, run, read = torch.zeros(2), StepExecutable.run, []
    reader = threading.Thread(target=lambda: read.append(count.tolist()), daemon=True)

    def run_when_it_is_read(whole, inputs, results):
        reader.start()
        reader.join(0.1)
        run(whole, inputs, results)

    monkeypatch.setattr(StepExecutable, "run", run_when_it_is_read)
    assert torch.compile(lambda: count.add_(1).sum())().item() == 2
    reader.join(LIMIT)
    assert read == [[1.0, 1.0]]


@pytest.mark.once("what is deferred is said here")
def test_threads_may_call_one_compiled_function():
    count = torch.zeros(2)
    scaled = torch.compile(lambda x: (count * 0 + x).sum())
    for _ in range(3):
        scaled(torch.ones(2))  # while no other thread writes to what is captured

    def work(number):
        for index in range(40):
            count.add_(1)  # what it reads changes meanwhile
            assert scaled(torch.full((2,), float(index))).item() == 2 * index

    racing(4, work)
    assert scaled.replayed > 1


# -- from far below ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_exception_from_far_below_keeps_its_type_and_traceback(error):
    """PyTorch loses what is raised deeper than 60 calls, and says ``SystemError`` instead."""

    def bottom():
        raise error("at the bottom")

    with pytest.raises(error, match="at the bottom") as caught:
        nest(150, bottom)
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)].count("nest") == 150
    assert torch.is_grad_enabled()
    x = leaf()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_the_default_device_goes_along():
    seen = []

    def nest(depth):
        run(Act(lambda: nest(depth - 1)), engine=engine) if depth else seen.append(
            (torch.get_default_device(), threading.current_thread().name)
        )

    with device("cuda:1"):
        nest(30)
    assert seen == [(device("cuda:1"), "tapegrad-stand-in")]


def test_a_traced_backward_stays_on_its_thread(monkeypatch):
    """Tracers belong to the thread that traces; neither workers nor stand-ins could do anything with them."""
    monkeypatch.setattr(engine, "_workers", lambda: True)
    for node_class in (OperatorNode, AccumulateGrad):
        monkeypatch.setattr(node_class, "worker", property(lambda node: "a"))
    names = []

    def function(value, depth=25):
        x = wrap(value, describe(value)).requires_grad_()

        def hook(grad):
            names.append(threading.current_thread().name)
            with torch.enable_grad():
                return wrap(function(value, depth - 1), describe(value)) if depth else None

        x.register_hook(hook)
        (x * x).sum().backward()
        return value_of(x.grad)

    np.testing.assert_allclose(jax.jit(function)(jnp.asarray([1.0, 2.0])), [2.0, 4.0])
    assert names == [threading.current_thread().name] * 26


# -- interrupts --------------------------------------------------------------------------------------------------------


def interrupt_the_main_thread():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


@pytest.fixture
def interruptible():
    """Interrupts are what they are at a terminal, also in a process that was told to ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_while_a_stand_in_works_comes_when_it_has_finished():
    finished, returned = [], threading.Event()

    def bottom():
        interrupt_the_main_thread()
        too_early = returned.wait(0.2)
        x = leaf()
        (x * 2).sum().backward()
        finished.append((x.grad.tolist(), too_early))

    with pytest.raises(KeyboardInterrupt):
        nest(30, bottom)
    returned.set()
    assert finished == [([2.0, 2.0], False)]
    assert engine.current_task is None


@pytest.fixture
def one_interrupt():
    """However many signals come, the first one interrupts."""
    come = []

    def interrupt(*_):
        come.append(True)
        if len(come) == 1:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_while_a_worker_works_stops_the_call(monkeypatch, one_interrupt):
    monkeypatch.setattr(engine, "_workers", lambda: True)
    monkeypatch.setattr(OperatorNode, "worker", property(lambda node: "a"))
    interrupted, x = threading.Event(), leaf()
    out = x * 2

    def hook(grad):
        while not interrupted.wait(0.05):  # a signal that comes right before the main thread waits does not wake it
            interrupt_the_main_thread()

    out.register_hook(hook)
    with pytest.raises(KeyboardInterrupt):
        out.sum().backward()
    interrupted.set()
    y = leaf()
    (y * 3).sum().backward()  # the worker goes on with what comes next
    assert (x.grad, y.grad.tolist()) == (None, [3.0, 3.0])


# -- fresh interpreters ------------------------------------------------------------------------------------------------

COMMON = """
import sys, threading
import tapegrad as torch

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        if len(sys.argv) > 1:
            raise ValueError("inside backward")
        return grad * 2

def nest(depth):
    x = torch.ones(1, requires_grad=True)
    def hook(grad):
        with torch.enable_grad():
            nest(depth - 1) if depth > 1 else Double.apply(x * 1).sum().backward()
    a = x * 2
    a.register_hook(hook)
    a.backward()
"""

SCRIPTS = {
    "here": "x = torch.ones(1, requires_grad=True)\nDouble.apply(x).backward()",
    "far below": "nest(50)",
    "in a thread": "thread = threading.Thread(target=nest, args=(3,))\nthread.start()\nthread.join()",
}


@pytest.mark.once("a process of its own knows nothing of this one's execution")
@pytest.mark.parametrize(("where", "fails"), [
    ("here", False),
    ("far below", True),
    *(pytest.param(*case, marks=pytest.mark.ring("whole")) for case in (
        ("here", True), ("far below", False), ("in a thread", False), ("in a thread", True)
    )),
])  # fmt: skip
def test_a_fresh_interpreter_exits_cleanly(where, fails):
    result = subprocess.run(
        [sys.executable, "-c", COMMON + SCRIPTS[where], *(["raises"] if fails else [])],
        capture_output=True, text=True, timeout=120, env={**os.environ, "JAX_PLATFORMS": "cpu"}, check=False,
    )  # fmt: skip
    if not fails:
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    else:
        assert result.returncode == (0 if "thread" in where else 1)
        assert result.stderr.strip().splitlines()[-1] == "ValueError: inside backward"


DEVICES = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import threading
import tapegrad as torch
from tapegrad.autograd.differentiate import engine
from tapegrad._src.dispatch.nodes.accumulate_grad import AccumulateGrad
from tapegrad._src.dispatch.nodes.operator import OperatorNode

engine._workers = lambda: True
for node_class in (OperatorNode, AccumulateGrad):
    node_class.worker = property(lambda node: str(node._input_metadata[0].device) if
                                 node._input_metadata[0].device.index else None)
x = torch.ones(3, requires_grad=True)
y = torch.ones(3, device="cpu:1", requires_grad=True)
names = []
here, there = (x * 2).exp(), (y * 3).exp()
there.register_hook(lambda grad: names.append((str(grad.device), threading.current_thread().name)))
here.register_hook(lambda grad: names.append((str(grad.device), threading.current_thread().name)))
(here * there.to("cpu")).sum().backward()
print(sorted(names))
print(str(x.grad.device), str(y.grad.device), [round(v, 2) for v in (x.grad[0].item(), y.grad[0].item())])
"""


@pytest.mark.ring("full")
@pytest.mark.once("a process of its own knows nothing of this one's execution")
def test_two_devices_two_threads():
    """Where the second CPU device is treated as an accelerator would be."""
    result = subprocess.run(
        [sys.executable, "-c", DEVICES], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "[('cpu', 'MainThread'), ('cpu:1', 'tapegrad-worker-cpu:1')]",
        f"cpu cpu:1 [{2 * np.exp(5):.2f}, {3 * np.exp(5):.2f}]",
    ]


LEAVES = """
import atexit, sys
import jax

def tell():
    print("all there" if all(array.is_ready() for array in jax.live_arrays()) else "XLA is still busy")

atexit.register(tell)  # it is called after those that are registered later

import tapegrad as torch
from tapegrad._src.execution.recording.program import run_recorded

torch.set_execution(sys.argv[1])
x = torch.ones(600, 600)
(x @ x).tanh().sum().item()
found = []
for _ in range(16):
    found.append((x @ x).tanh())
run_recorded()
raise KeyboardInterrupt
"""


def by_itself(source, how):
    """What a program does in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", source, how], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip


@pytest.mark.once("how operators are computed is said to the process")
@pytest.mark.parametrize("how", ["immediate", "deferred"])
def test_a_process_ends_when_all_is_there(how):
    """XLA's threads may crash if Python goes while they are busy."""
    result = by_itself(LEAVES, how)
    assert result.stdout == "all there\n"
    assert result.stderr.splitlines()[-1] == "KeyboardInterrupt"


FORKS = """
import multiprocessing, os, sys, threading, warnings
import numpy as np
import tapegrad as torch

warnings.simplefilter("ignore")  # jax and CPython warn of each fork, in the parent

def answer(work):
    try:
        return work()
    except RuntimeError as error:
        return str(error)

def forked(work):
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.write(writes, repr(answer(work)).encode())
        os._exit(0)  # as multiprocessing does
    status = os.waitpid(child, 0)[1]
    return eval(os.read(reads, 4096)) if status == 0 else f"exit status {status}"

def train(size):
    x = torch.ones(size, size, requires_grad=True)
    (x @ x).sum().backward()
    return x.grad[0, 0].item()

def on_a_thread():
    answers = []
    thread = threading.Thread(target=lambda: answers.append(answer(lambda: train(2))))
    thread.start()
    thread.join()
    return answers[0]

print("before", forked(lambda: train(200)))
torch.set_execution(sys.argv[1])
x = torch.ones(2, requires_grad=True)
late, loss, step = x * 3, (x * 2).exp().sum(), torch.compile(lambda x: x * 2)
train(200), [step(x.detach()) for _ in range(4)], x.tolist()
print("numpy", forked(lambda: float(np.linalg.det(np.eye(9)) + x.detach().numpy().sum())))
refused = [lambda: train(200), lambda: loss.backward(), lambda: step(x.detach()), lambda: torch.rand(2), on_a_thread]
answers = {forked(work) for work in refused}
print(len(answers), answers.pop())
with multiprocessing.get_context("fork").Pool(1) as pool:
    print("pool", pool.apply(answer, (os.getpid,)) != os.getpid())
print("parent", train(200), late.tolist())
"""


@pytest.mark.once("how operators are computed is said to the process")
@pytest.mark.parametrize("how", ["immediate", pytest.param("deferred", marks=pytest.mark.ring("whole"))])
def test_a_forked_process_says_that_it_cannot_compute(how):
    """It would wait for threads of XLA's that are in its parent alone; other work than tapegrad's it does."""
    result = by_itself(FORKS, how)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "before 400.0",
        "numpy 3.0",
        "1 tapegrad can't compute in a process that was forked after its parent had computed: XLA's threads are not in "
        "it, and what waits for them would never end; start processes by spawn, as with "
        "multiprocessing.get_context('spawn'), or fork before the first tensor is made",
        "pool True",
        "parent 400.0 [3.0, 3.0]",
    ]

"""The engine on several threads: workers, stand-ins for deep nesting, callbacks and errors; fake nodes, plain floats.

Threads meet by events and barriers, never by waiting for a time; every join and every meeting has a limit, so that a
deadlock is a failure.
"""

import contextvars
import faulthandler
import gc
import inspect
import os
import random
import subprocess
import sys
import threading
import time
import traceback
import weakref

import pytest
from fake_nodes import Act, Floats, Leaf, Scale, Trouble, run

import tapegrad
from tapegrad._src.engine import Engine
from tapegrad._src.engine.threads import NESTED_PER_THREAD, STAND_INS_KEPT, ReentrantThread
from tapegrad._src.engine.workers import stop_workers
from tapegrad._src.tape.modes import switched, thread

pytestmark = pytest.mark.once("fake nodes, no operators")

LIMIT = 30  # seconds, for what takes milliseconds


@pytest.fixture(autouse=True)
def a_deadlock_ends_the_process():
    """With a traceback of every thread. It must not last for ever where the test itself is what waits."""
    faulthandler.dump_traceback_later(4 * LIMIT, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


class At(Scale):
    """A node of a worker; notes its label and the thread that it ran on."""

    def __init__(self, worker, label, edges, log, weights=None, work=None):
        super().__init__(label, edges, weights)
        self.worker, self.where, self.work = worker, log, work

    def apply_values(self, grads, needed):
        self.where.append((self.label, threading.current_thread().name))
        if self.work is not None:
            self.work()
        return super().apply_values(grads, needed)


def at(worker, action):
    """A node of a worker that does what it is told."""
    node = Act(action)
    node.worker = worker
    return node


def name_of(worker):
    return threading.current_thread().name if worker is None else f"tapegrad-worker-{worker}"


def started(*targets):
    threads = [threading.Thread(target=target, daemon=True) for target in targets]
    for one in threads:
        one.start()
    return threads


def joined(threads):
    for one in threads:
        one.join(LIMIT)
    assert not any(one.is_alive() for one in threads), "deadlock"


def within_limit(action):
    """Run on a thread of its own, which must come to an end; what it returns or raises."""
    outcome = []

    def target():
        try:
            outcome.append((action(), None))
        except BaseException as error:  # handed to the test
            outcome.append((None, error))

    joined(started(target))
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


# -- workers -----------------------------------------------------------------------------------------------------------


def test_each_node_runs_on_the_worker_of_its_key_and_the_others_on_the_calling_thread():
    log, leaf = [], Leaf()
    left, right = At("a", "left", [leaf], log, (2.0,)), At("b", "right", [leaf], log, (3.0,))
    middle = At(None, "middle", [left], log, (10.0,))
    top = At("a", "top", [middle, right], log)
    run(top)
    assert sorted(log) == [
        ("left", name_of("a")), ("middle", name_of(None)), ("right", name_of("b")), ("top", name_of("a"))
    ]  # fmt: skip
    assert leaf.grad == 23.0


def test_a_worker_lives_on_and_serves_every_engine():
    seen = []
    for _ in range(3):
        run(at("a", lambda: seen.append(threading.get_ident())))
    assert len(set(seen)) == 1
    assert threading.get_ident() not in seen


def test_within_a_worker_the_node_made_last_runs_first():
    log = []
    nodes = [At("a", label, [Leaf()], log) for label in ("first", "second", "third")]
    run(At("a", "top", [nodes[1], nodes[2], nodes[0]], log))
    assert [label for label, _ in log] == ["top", "third", "second", "first"]


def test_workers_run_at_the_same_time():
    """Each node waits for the other two, so that none could end before all had begun."""
    meet, leaf = threading.Barrier(3, timeout=LIMIT), Leaf()
    nodes = [At(key, "node", [leaf], [], None, meet.wait) for key in ("a", "b", None)]
    within_limit(lambda: run(Scale("top", nodes)))
    assert leaf.grad == 3.0


def test_without_multithreading_everything_runs_on_the_calling_thread():
    log = []
    with switched(multithreading=False):
        run(At("a", "top", [At("b", "below", [Leaf()], log)], log))
    assert log == [("top", name_of(None)), ("below", name_of(None))]


def test_a_call_on_a_single_thread_stays_on_the_calling_thread():
    log, asked = [], []

    def single_thread():
        asked.append(True)
        return True

    top = At("a", "top", [Leaf()], log)
    Engine().execute([(top, 0)], [1.0], False, False, True, [], Floats(), single_thread)
    assert log == [("top", name_of(None))] and asked
    asked.clear()
    Engine().execute([(Scale("top", [Leaf()]), 0)], [1.0], False, False, True, [], Floats(), single_thread)
    assert asked == []  # nothing would have left it anyway


def test_an_engine_without_workers_does_not_look_for_them():
    log = []
    run(At("a", "top", [Leaf()], log), engine=Engine(workers=lambda: False))
    assert log == [("top", name_of(None))]


def test_gradients_that_meet_are_summed_across_workers():
    leaf = Leaf()
    bottom = At("a", "bottom", [leaf], [])
    parts = [At(key, "part", [bottom], [], (weight,)) for key, weight in zip("abcd" * 5, range(20), strict=True)]
    run(Scale("top", parts))
    assert leaf.grad == sum(range(20))


def test_gradients_that_arrive_at_the_same_time_are_all_summed():
    class Slow(Floats):
        def add(self, left, right):
            time.sleep(0)  # others may go on here
            return super().add(left, right)

    for _ in range(20):
        leaf, meet = Leaf(), threading.Barrier(6, timeout=LIMIT)
        bottom = At("a", "bottom", [leaf], [])
        parts = [At(key, "part", [bottom] * 5, [], (1.0,) * 5, meet.wait) for key in "abcdef"]
        within_limit(lambda parts=parts: run(Scale("top", parts), gradient_ops=Slow()))
        assert leaf.grad == 30.0


def test_captures_and_pruning_across_workers():
    log, x, y = [], Leaf(), Leaf()
    left, right = At("a", "left", [x], log, (2.0,)), At("b", "right", [y], log, (3.0,))
    top = At(None, "top", [left, right], log)
    assert run(top, outputs=[x, left], keep_graph=True) == [2.0, 1.0]
    assert [label for label, _ in log] == ["top", "left"]
    assert (x.grad, y.grad, left.released) == (None, None, False)
    assert run(top, outputs=[y], accumulate=True) == []
    assert (x.grad, y.grad, right.released, left.released) == (None, 3.0, True, False)


def test_a_capture_of_a_node_of_a_worker():
    leaf = Leaf()
    node = At("b", "node", [leaf], [])
    assert run(At("a", "top", [node], [], (4.0,)), outputs=[node]) == [4.0]
    assert run((node, 0), seeds=[5.0], outputs=[node]) == [5.0]


def test_hooks_run_on_the_worker_of_their_node():
    where = []

    def note(*arguments):
        where.append(threading.current_thread().name)

    node = At("a", "node", [Leaf()], [])
    hooks = node.own_hooks()
    hooks.add_pre(note)
    hooks.add_post(note)
    hooks.keep(0, note)
    run(Scale("top", [node]))
    assert where == [name_of("a")] * 3


def test_nodes_on_workers_see_the_callers_modes_and_context():
    seen, color = [], contextvars.ContextVar("color", default="none")

    def look():
        seen.append((thread.modes.grad, thread.modes.anomaly, color.get()))
        thread.modes = thread.modes.replace(grad=True)
        color.set("changed")

    with switched(grad=False, anomaly="on"):
        token = color.set("red")
        run(Scale("top", [at("a", look), at("b", look), Act(look)]))
        color.reset(token)
    run(at("a", look))
    assert sorted(seen[:3]) == [(False, "on", "red")] * 3
    assert seen[3] == (True, None, "none")


def test_the_running_node_is_known_on_each_thread():
    engine, seen = Engine(), {}
    meet = threading.Barrier(3, timeout=LIMIT)

    def look(label):
        meet.wait()
        seen[label] = engine.current_task.node.label, engine.current_task.id
        meet.wait()

    nodes = [At(key, str(key), [Leaf()], [], None, lambda key=key: look(str(key))) for key in ("a", "b", None)]
    within_limit(lambda: run(Scale("top", nodes), engine=engine))
    assert {label: found for label, (found, _) in seen.items()} == {"a": "a", "b": "b", "None": "None"}
    assert len({number for _, number in seen.values()}) == 1
    assert engine.current_task is None


def test_callbacks_queued_on_a_worker_run_at_the_end_on_the_calling_thread():
    engine, log = Engine(), []
    queue = at("a", lambda: engine.queue_callback(lambda: log.append(threading.current_thread().name)))
    late = At("b", "late", [Leaf()], log)
    late.sequence_nr = -1
    run(Scale("top", [late, queue]), engine=engine)
    assert log == [("late", name_of("b")), name_of(None)]


# -- errors on workers -------------------------------------------------------------------------------------------------


def failing(error=Trouble):
    raise error("here")


@pytest.mark.parametrize("error", [Trouble, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["node", "hook"])
def test_what_is_raised_on_a_worker_reaches_the_caller_with_its_traceback(error, where):
    bad = at("a", lambda: None)
    if where == "node":
        bad = at("a", lambda: failing(error))
    else:
        bad.register_prehook(lambda grads: failing(error))
    with pytest.raises(error, match="here") as caught:
        run(Scale("top", [bad]))
    assert "failing" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    log = []
    run(At("a", "again", [Leaf()], log))
    assert log == [("again", name_of("a"))]


def test_an_error_on_the_calling_thread_waits_for_the_nodes_that_run():
    began, failed, ended = threading.Event(), threading.Event(), []

    def slow():
        began.set()
        assert failed.wait(LIMIT)
        ended.append(True)

    def fail():
        assert began.wait(LIMIT)
        threading.Thread(target=failed.set).start()
        failing()

    with pytest.raises(Trouble):
        within_limit(lambda: run(Scale("top", [Act(fail), at("a", slow)])))
    assert ended == [True]


def test_after_an_error_what_waits_is_dropped():
    log = []
    waits = At("a", "waits", [Leaf()], log)
    bad = at("a", failing)
    with pytest.raises(Trouble):
        run(Scale("top", [waits, bad]))
    run(At("a", "other", [Leaf()], log))
    assert [label for label, _ in log] == ["other"]


def test_what_waits_for_the_calling_thread_is_dropped_too():
    failed, log = threading.Event(), []
    engine = Engine()

    def hold():
        assert failed.wait(LIMIT)

    def call():
        thread.failure_watchers = (lambda node, error: failed.set(),)
        waits = Scale("waits", [Leaf()], None, log)
        holds = Act(hold)
        with pytest.raises(Trouble):
            run(Scale("top", [waits, holds, at("a", failing)]), engine=engine)
        thread.failure_watchers = ()
        dropped = weakref.ref(waits)
        del waits, holds
        gc.collect()
        assert dropped() is None
        run(Scale("again", [at("a", lambda: log.append("again"))]), engine=engine)

    within_limit(call)
    assert log == ["again"]


def test_of_two_errors_the_first_is_raised():
    first, second = threading.Event(), threading.Event()

    def fails_first():
        assert second.wait(LIMIT)
        raise Trouble("first")

    def fails_second():
        second.set()
        assert first.wait(LIMIT)
        raise Trouble("second")

    def both():
        thread.failure_watchers = (lambda node, error: first.set(),)
        run(Scale("top", [at("a", fails_first), at("b", fails_second)]))

    with pytest.raises(Trouble, match="first"):
        within_limit(both)


def test_those_who_watch_for_failures_learn_of_the_node_on_its_worker():
    told, bad = [], at("a", failing)

    def watched():
        thread.failure_watchers = (lambda node, error: told.append((node, str(error), name_of("a"))),)
        run(Scale("top", [bad]))

    with pytest.raises(Trouble):
        within_limit(watched)
    assert told == [(bad, "here", name_of("a"))]


# -- nesting on workers ------------------------------------------------------------------------------------------------


def test_a_nested_call_on_a_worker_serves_its_own_nodes_and_those_of_others():
    engine, log, depths = Engine(), [], []

    def nested():
        depths.append(engine.current_task.depth)
        inner = At("b", "inner b", [Leaf()], log, None, lambda: depths.append(engine.current_task.depth))
        run(At("a", "inner a", [At(None, "inner home", [inner], log)], log), engine=engine)
        depths.append(engine.current_task.depth)

    within_limit(lambda: run(Scale("top", [at("a", nested)]), engine=engine))
    assert log == [("inner a", name_of("a")), ("inner home", name_of("a")), ("inner b", name_of("b"))]
    assert depths == [0, 1, 0]
    assert engine.current_task is None


def test_two_workers_whose_nested_calls_need_one_another():
    """Each has a nested call wait for the other: they would wait for ever if they did not serve meanwhile."""
    engine, meet, log = Engine(), threading.Barrier(2, timeout=LIMIT), []

    def nested(other):
        meet.wait()
        run(At(other, f"on {other}", [Leaf()], log), engine=engine)

    nodes = [at("a", lambda: nested("b")), at("b", lambda: nested("a"))]
    within_limit(lambda: run(Scale("top", nodes), engine=engine))
    assert sorted(log) == [("on a", name_of("a")), ("on b", name_of("b"))]


def test_nested_nodes_come_before_outer_ones_on_the_same_worker():
    engine, log = Engine(), []
    inner = At("a", "inner", [Leaf()], log)  # made first, so that only its depth speaks for it

    def nested():
        run(Scale("top", [inner, at("b", lambda: None)]), engine=engine)

    waits = At("a", "outer", [Leaf()], log)
    nests = At("a", "nests", [Leaf()], log, None, nested)
    within_limit(lambda: run(At("a", "top", [waits, nests], log), engine=engine))
    assert [label for label, _ in log] == ["top", "nests", "inner", "outer"]


def test_errors_of_nested_calls_on_workers_surface_in_the_outer_one():
    engine = Engine()

    def nested():
        run(at("b", failing), engine=engine)

    with pytest.raises(Trouble):
        within_limit(lambda: run(Scale("top", [at("a", nested)]), engine=engine))

    def caught():
        with pytest.raises(Trouble):
            nested()

    leaf = Leaf()
    within_limit(lambda: run(Scale("top", [at("a", caught), leaf]), engine=engine))
    assert leaf.grad == 1.0


@pytest.mark.parametrize("keys", [("a",), ("a", "b"), ("a", None), ("a", None, "b", "c")], ids=str)
def test_deep_nesting_across_workers(keys):
    engine, depth, reached = Engine(), 600, []

    def nest(left):
        if left:
            run(at(keys[left % len(keys)], lambda: nest(left - 1)), engine=engine)
        else:
            reached.append(engine.current_task.depth)

    within_limit(lambda: nest(depth))
    assert reached == [depth - 1]


def test_several_callers_share_the_workers():
    def work(number):
        rng = random.Random(number)
        for _ in range(20):
            leaf = Leaf()
            layer = [leaf]
            for _ in range(6):
                layer = [
                    At(rng.choice(["a", "b", None]), "node", [rng.choice(layer), rng.choice(layer)], [], (0.5, 0.5))
                    for _ in range(4)
                ]
            run(Scale("top", layer, (0.25,) * 4))
            results.append(leaf.grad)

    results = []
    joined(started(*(lambda number=number: work(number) for number in range(6))))
    assert results == [1.0] * 120


@pytest.mark.parametrize("seed", range(10))
def test_a_random_graph_on_workers_gives_what_it_gives_on_one_thread(seed):
    def build(keys):
        rng = random.Random(seed)
        nodes = [Leaf(), Leaf(), Leaf()]
        leaves = list(nodes)
        for _ in range(60):
            edges = [rng.choice([*nodes, None]) for _ in range(rng.randint(1, 3))]
            weights = [rng.choice([-2.0, 0.5, 1.0, 2.0]) for _ in edges]  # sums are exact in any order
            nodes.append(At(rng.choice(keys), "node", edges, [], weights))
        return nodes[-3:], leaves

    alone, leaves = build([None, None, None])
    run(*alone)
    spread, others = build(["a", "b", None])
    within_limit(lambda: run(*spread))
    assert [leaf.grad for leaf in others] == [leaf.grad for leaf in leaves]


# -- what is kept alive ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fails", [False, True])
def test_workers_and_stand_ins_keep_nothing_alive(fails):
    engine = Engine()

    def nest(left):
        if left:
            run(Act(lambda: nest(left - 1)), engine=engine)
        elif fails:
            failing()

    def scenario():
        leaf = Leaf()
        watched.append(weakref.ref(leaf))
        top = At("a", "top", [At("b", "below", [leaf], [])], [], None, lambda: nest(2 * NESTED_PER_THREAD))
        try:
            run(Scale("root", [top]), engine=engine)
        except Trouble:
            pass
        else:
            assert not fails

    watched = []
    gc.collect()
    gc.disable()
    try:
        scenario()
        deadline = time.monotonic() + LIMIT
        while watched[0]() is not None:  # until both workers wait again
            assert time.monotonic() < deadline
    finally:
        gc.enable()


# -- stand-ins ---------------------------------------------------------------------------------------------------------


def test_the_call_that_nests_too_deep_is_run_by_another_thread():
    engine, names = Engine(), []

    def nest(left):
        names.append((threading.current_thread().name, engine.current_task and engine.current_task.depth))
        if left:
            run(Act(lambda: nest(left - 1)), engine=engine)

    nest(2 * NESTED_PER_THREAD + 1)
    here = threading.current_thread().name
    assert [name for name, _ in names[: NESTED_PER_THREAD + 1]] == [here] * (NESTED_PER_THREAD + 1)
    assert {name for name, _ in names[NESTED_PER_THREAD + 1 :]} == {"tapegrad-stand-in"}
    assert [depth for _, depth in names[1:]] == list(range(2 * NESTED_PER_THREAD + 1))


def test_thousands_of_nested_calls():
    engine, reached = Engine(), []

    def nest(left):
        if left:
            run(Act(lambda: nest(left - 1)), engine=engine)
        else:
            reached.append(engine.current_task.depth)

    within_limit(lambda: nest(5000))
    assert reached == [4999]
    assert len(ReentrantThread.idle) <= STAND_INS_KEPT


def interrupted_when_it_begins(monkeypatch, before):
    """Nested calls that an interrupt stops right ``before`` a stand-in is given its job, or after; what that has done.

    Returns:
        What was done when the interrupt had come out, and what has been done at the end.
    """
    engine, done, began, returned = Engine(), [], threading.Event(), threading.Event()
    begin = ReentrantThread.begin

    def interrupted(outcome):
        if not before:
            begin(outcome)
            assert began.wait(LIMIT)
        raise KeyboardInterrupt

    def nest(left):
        if left:
            run(Act(lambda: nest(left - 1)), engine=engine)
        else:
            began.set()
            returned.wait(0.2)
            done.append(engine.current_task.depth)

    with monkeypatch.context() as patches:
        patches.setattr(ReentrantThread, "begin", staticmethod(interrupted))
        with pytest.raises(KeyboardInterrupt):
            nest(NESTED_PER_THREAD + 1)
    seen = list(done)
    returned.set()
    assert engine.current_task is None
    nest(NESTED_PER_THREAD + 2)
    return seen, done


def test_an_interrupt_before_the_caller_waits_comes_when_the_job_is_done(monkeypatch):
    seen, done = interrupted_when_it_begins(monkeypatch, before=False)
    assert seen == [NESTED_PER_THREAD] and done == [NESTED_PER_THREAD, NESTED_PER_THREAD + 1]


def test_an_interrupt_before_a_job_is_given_away_comes_at_once(monkeypatch):
    seen, done = interrupted_when_it_begins(monkeypatch, before=True)
    assert seen == [] and done == [NESTED_PER_THREAD + 1]


def test_stand_ins_are_used_again():
    engine, seen = Engine(), []

    def nest(left):
        if left:
            run(Act(lambda: nest(left - 1)), engine=engine)
        else:
            seen.append(threading.get_ident())

    for _ in range(5):
        nest(NESTED_PER_THREAD + 1)
    assert len(set(seen)) == 1


def test_a_bound_call_never_gets_a_stand_in():
    engine, names = Engine(), []

    def nest(left):
        names.append(threading.current_thread().name)
        if left:
            top = Act(lambda: nest(left - 1))
            engine.execute([(top, 0)], [1.0], False, False, True, [], Floats(), lambda: True)

    nest(NESTED_PER_THREAD + 5)
    assert set(names) == {threading.current_thread().name}


@pytest.mark.parametrize("error", [Trouble, KeyboardInterrupt])
def test_what_a_stand_in_raises_comes_out_at_the_top(error):
    engine = Engine()

    def nest(left):
        if left:
            run(Act(lambda: nest(left - 1)), engine=engine)
        else:
            failing(error)

    with pytest.raises(error, match="here") as caught:
        nest(3 * NESTED_PER_THREAD)
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames.count("nest") == 3 * NESTED_PER_THREAD + 1
    assert engine.current_task is None
    leaf = Leaf()
    run(Scale("top", [leaf]), engine=engine)
    assert leaf.grad == 1.0


def test_a_stand_in_sees_the_callers_modes_and_context_and_leaves_its_own():
    engine, seen, color = Engine(), [], contextvars.ContextVar("color", default="none")

    def nest(left):
        if left:
            run(Act(lambda: nest(left - 1)), engine=engine)
        else:
            seen.append((threading.current_thread().name, thread.modes.grad, color.get()))

    with switched(grad=False):
        token = color.set("red")
        nest(NESTED_PER_THREAD + 1)
        color.reset(token)
    nest(NESTED_PER_THREAD + 1)
    assert seen == [("tapegrad-stand-in", False, "red"), ("tapegrad-stand-in", True, "none")]


def test_several_threads_nest_deeply_at_the_same_time():
    engine, reached = Engine(), []
    meet = threading.Barrier(4, timeout=LIMIT)

    def nest(left):
        if left:
            run(Act(lambda: nest(left - 1)), engine=engine)
        else:
            meet.wait()  # all are at the bottom, each with its own stand-ins
            reached.append(engine.current_task.depth)

    joined(started(*[lambda: nest(300)] * 4))
    assert reached == [299] * 4


def test_workers_stop_at_exit_when_they_have_done_what_they_are_at():
    seen, began, go_on, stopped = [], threading.Event(), threading.Event(), threading.Event()

    def busy():
        seen.append(threading.current_thread())
        began.set()
        assert go_on.wait(LIMIT)

    caller = started(lambda: run(at("a", busy)))
    assert began.wait(LIMIT)
    stopper = started(lambda: (stop_workers(LIMIT), stopped.set()))
    assert not stopped.is_set()
    go_on.set()
    joined(caller + stopper)
    run(at("a", lambda: seen.append(threading.current_thread())))  # another one is started if need be
    assert not seen[0].is_alive() and seen[1].is_alive()


# -- processes ---------------------------------------------------------------------------------------------------------

SCRIPT = """
import os, sys, threading, types
package = types.ModuleType("tapegrad")  # the engine's room alone
package.__path__ = [sys.argv[1]]
sys.modules["tapegrad"] = package
sys.path.insert(0, sys.argv[2])
from fake_nodes import Act, run
from tapegrad._src.engine import Engine

engine = Engine()

def nest(left):
    if left:
        node = Act(lambda: nest(left - 1))
        node.worker = "ab"[left % 2] if sys.argv[3] == "workers" else None
        run(node, engine=engine)
    elif sys.argv[4] == "raises":
        raise ValueError("at the bottom")

if sys.argv[4] == "forks":
    nest(100)
    child = os.fork()
    if child == 0:
        done = threading.Thread(target=nest, args=(100,), daemon=True)
        done.start()
        done.join(30)
        os._exit(17 if not done.is_alive() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
else:
    nest(100)
print("the end")
"""


FORK_IS_KNOWN = ("-W", "ignore:This process:DeprecationWarning")
"""From Python 3.12 on it warns of each fork of a process that has threads."""


@pytest.mark.parametrize("where", ["workers", "stand-ins"])
@pytest.mark.parametrize("how", ["returns", "raises", "forks"])
def test_the_interpreter_exits_cleanly(where, how):
    result = subprocess.run(
        [sys.executable, *FORK_IS_KNOWN, "-c", SCRIPT, os.path.dirname(tapegrad.__file__),
         os.path.dirname(inspect.getfile(Act)), where, how],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if how == "raises":
        assert result.returncode == 1
        assert result.stderr.strip().splitlines()[-1] == "ValueError: at the bottom"
        assert result.stdout == ""
    else:
        assert (result.returncode, result.stdout, result.stderr) == (0, "the end\n", "")

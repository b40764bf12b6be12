"""Hooks, callbacks, exceptions, nested and concurrent backwards, on fake nodes."""

import threading
from collections import OrderedDict

import pytest
from fake_nodes import Act, Leaf, Scale, Trouble, run

from tapegrad._src.engine import Engine

pytestmark = pytest.mark.once("fake nodes, no operators")


def two_branches():
    """A node with two branches, to leaves x and y, all of which say in ``log`` that they ran."""
    log, x, y = [], Leaf(), Leaf()
    left, right = Scale("left", [x], (2.0,), log), Scale("right", [y], (3.0,), log)
    return log, x, right, Scale("top", [left, right], None, log)


# -- hooks -------------------------------------------------------------------------------------------------------------


def hooked(node, log, label):
    """Registers on a node a hook of every kind that says that it ran."""
    hooks = node.own_hooks()
    hooks.add_post(lambda inputs, outputs: log.append((f"{label} post", inputs, outputs)))
    hooks.add_pre(lambda outputs: log.append((f"{label} pre", outputs)))
    hooks.keep(0, lambda grad: log.append((f"{label} retain", grad)))
    hooks.attach_tensor(0, OrderedDict({0: lambda grad: log.append((f"{label} tensor", grad))}))
    return hooks


def test_hooks_run_in_order_tensor_retain_pre_node_post():
    log = []
    node = Scale("node", [Leaf()], (3.0,), log)
    hooked(node, log, "node")
    run(node, seeds=[2.0])
    assert log == [("node tensor", 2.0), ("node retain", 2.0), ("node pre", (2.0,)), ("node", 2.0),
                   ("node post", (6.0,), (2.0,))]  # fmt: skip


def test_hooks_replace_what_flows():
    log, leaf = [], Leaf()
    node = Scale("node", [leaf], (3.0,), log)
    hooks = node.own_hooks()
    hooks.attach_tensor(0, OrderedDict({0: lambda grad: grad + 1, 1: lambda grad: grad * 10}))
    hooks.add_pre(lambda grads: (grads[0] + 0.5,))
    hooks.add_post(lambda inputs, outputs: (inputs[0] * 100,))
    hooks.add_post(lambda inputs, outputs: (inputs[0] + 1,))
    run(node)
    assert log == [("node", 20.5)]
    assert leaf.grad == 6151.0


def test_an_undefined_gradient_is_shown_to_hooks_and_not_retained():
    called = []
    node = Scale("node", [Leaf()])
    node.own_hooks().attach_tensor(0, OrderedDict({0: called.append}))
    node.own_hooks().keep(0, lambda grad: called.append("retained"))
    run(node, seeds=[None])
    assert called == [None]


def test_a_hook_sees_the_sum_once():
    seen, leaf = [], Leaf()
    bottom = Scale("bottom", [leaf])
    bottom.own_hooks().attach_tensor(0, OrderedDict({0: seen.append}))
    run(Scale("top", [bottom, bottom], (2.0, 3.0)))
    assert seen == [5.0]


def test_a_captured_node_runs_its_tensor_hooks_only():
    log = []
    node = Scale("node", [Leaf()], None, log)
    hooked(node, log, "node").attach_tensor(0, OrderedDict({0: lambda grad: grad * 7}))
    assert run(Scale("top", [node]), outputs=[node]) == [7.0]
    assert log == [("node tensor", 1.0), ("node retain", 7.0)]


def test_a_node_off_the_path_runs_no_hooks():
    log, x, right, top = two_branches()
    hooked(right, log, "right")
    assert run(top, outputs=[x]) == [2.0]
    assert [entry[0] for entry in log] == ["top", "left"]


def test_a_hook_may_remove_itself_while_running():
    calls, node = [], Scale("node", [Leaf()])
    hooks = node.own_hooks()
    hooks.attach_tensor(0, OrderedDict({0: lambda grad: (calls.append(grad), hooks.tensor_pre.clear())[0]}))
    run(node, keep_graph=True)
    run(node)
    assert calls == [1.0]


# -- keeping, failing, nesting -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [True, False])
def test_nodes_forget_unless_the_graph_is_kept(keep):
    _, _, right, top = two_branches()
    run(top, keep_graph=keep)
    assert [node.released for node in (top, right)] == [not keep] * 2


def test_nodes_forget_after_they_ran_not_before():
    class Careful(Scale):
        def apply_values(self, grads, needed):
            assert not self.released
            return super().apply_values(grads, needed)

    leaf = Leaf()
    run(Careful("node", [leaf]))
    assert leaf.grad == 1.0


def failing():
    raise Trouble


@pytest.mark.parametrize("where", ["node", "hook", "callback"])
def test_an_exception_passes_through_and_leaves_the_engine_as_it_was(where):
    engine, leaf = Engine(), Leaf()
    good = Scale("good", [leaf])
    bad = Act(failing) if where == "node" else Scale("bad", [])
    if where == "hook":
        bad.register_prehook(lambda grads: failing())
    if where == "callback":
        bad = Act(lambda: engine.queue_callback(failing))
    with pytest.raises(Trouble):
        run(Scale("top", [good, bad]), engine=engine)
    assert engine.current_task is None
    leaf.grad = None
    run(Scale("top", [good]), engine=engine)
    assert leaf.grad == 1.0


def test_nothing_runs_after_the_node_that_failed():
    log = []
    later = Scale("later", [Leaf()], None, log)
    bad = Act(failing)
    with pytest.raises(Trouble):
        run(Scale("top", [later, bad], None, log))
    assert [label for label, _ in log] == ["top"]


def test_a_backward_inside_a_node_runs_to_its_end_first():
    engine, log = Engine(), []
    inner_leaf, outer_leaf = Leaf(log, "inner leaf"), Leaf(log, "outer leaf")
    depths = []

    def nested():
        depths.append(engine.current_task.depth)
        run(Scale("inner", [inner_leaf], None, log), engine=engine)
        depths.append(engine.current_task.depth)

    class Probe(Scale):
        def apply_values(self, grads, needed):
            depths.append(engine.current_task.depth)
            return super().apply_values(grads, needed)

    inner_leaf_of_probe = Leaf()
    outer = Scale("outer", [outer_leaf], None, log)
    top = Scale("top", [outer, Act(lambda: (nested(), run(Probe("probe", [inner_leaf_of_probe]), engine=engine)))])
    run(top, engine=engine)
    assert [label for label, _ in log] == ["inner", "inner leaf", "outer", "outer leaf"]
    assert depths == [0, 0, 1]
    assert engine.current_task is None


def test_a_backward_inside_a_node_may_share_the_graph():
    engine, leaf = Engine(), Leaf()
    shared = Scale("shared", [leaf], (2.0,))
    nested = Act(lambda: run(shared, engine=engine, keep_graph=True))
    run(Scale("top", [shared, nested]), engine=engine, keep_graph=True)
    assert leaf.grad == 4.0


def test_an_exception_in_a_nested_backward_reaches_the_outer_caller():
    engine = Engine()
    with pytest.raises(Trouble):
        run(Act(lambda: run(Act(failing), engine=engine)), engine=engine)
    assert engine.current_task is None


def test_a_nested_exception_can_be_caught_and_the_outer_backward_goes_on():
    engine, leaf = Engine(), Leaf()

    def nested():
        with pytest.raises(Trouble):
            run(Act(failing), engine=engine)

    run(Scale("top", [leaf, Act(nested)]), engine=engine)
    assert leaf.grad == 1.0


# -- callbacks ---------------------------------------------------------------------------------------------------------


def test_callbacks_run_at_the_end_in_order_and_may_queue_others():
    engine, log = Engine(), []
    late = Scale("late", [Leaf()], None, log)

    def queue():
        engine.queue_callback(lambda: (log.append(("first",)), engine.queue_callback(lambda: log.append(("third",)))))
        engine.queue_callback(lambda: log.append(("second",)))

    run(Scale("top", [late, Act(queue)]), engine=engine)
    assert [entry[0] for entry in log] == ["late", "first", "second", "third"]


def test_callbacks_belong_to_the_backward_that_queued_them():
    engine, log = Engine(), []

    def outer():
        engine.queue_callback(lambda: log.append("outer"))
        run(Act(lambda: engine.queue_callback(lambda: log.append("inner"))), engine=engine)
        log.append("node")

    run(Act(outer), engine=engine)
    assert log == ["inner", "node", "outer"]


def test_callbacks_do_not_run_after_a_failure_nor_in_the_next_backward():
    engine, log = Engine(), []
    queue = Act(lambda: engine.queue_callback(lambda: log.append("called")))
    bad = Act(failing)
    bad.sequence_nr = -1
    with pytest.raises(Trouble):
        run(Scale("top", [queue, bad]), engine=engine)
    run(Scale("good", [Leaf()]), engine=engine)
    assert log == []


def test_callbacks_outside_a_backward_are_refused():
    with pytest.raises(RuntimeError, match="Final callbacks can only be installed during backward pass"):
        Engine().queue_callback(print)


# -- threads -----------------------------------------------------------------------------------------------------------


def test_each_thread_has_its_own_backward():
    engine, leaves, tasks = Engine(), [Leaf(), Leaf()], []
    meet = threading.Barrier(2, timeout=10)

    def work(leaf):
        def look():
            meet.wait()
            tasks.append(engine.current_task)
            meet.wait()

        run(Scale("top", [leaf, Act(look)]), engine=engine)

    threads = [threading.Thread(target=work, args=(leaf,)) for leaf in leaves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [leaf.grad for leaf in leaves] == [1.0, 1.0]
    assert tasks[0] is not tasks[1]
    assert [task.depth for task in tasks] == [0, 0]
    assert engine.current_task is None


def test_tasks_are_numbered():
    engine, ids = Engine(), []
    for _ in range(2):
        run(Act(lambda: ids.append(engine.current_task.id)), engine=engine)
    assert ids[1] == ids[0] + 1

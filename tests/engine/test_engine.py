"""The engine by itself: fake nodes, gradients that are plain floats, no arrays anywhere."""

import ast
import gc
import random
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest
from fake_nodes import Floats, Leaf, Scale, chain, run

from tapegrad._src.engine import GraphTask, InputBuffer
from tapegrad._src.tape.hooks import NodeHooks
from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, name_of

pytestmark = pytest.mark.once("fake nodes, no operators")

# -- the numbers -------------------------------------------------------------------------------------------------------


def test_a_chain_multiplies():
    leaf = Leaf()
    run(chain(5, leaf, 2.0))
    assert leaf.grad == 32.0


def test_two_edges_to_one_slot_are_summed_before_the_leaf_runs():
    log, leaf = [], None
    leaf = Leaf(log)
    run(Scale("x+x", [leaf, leaf], (1.0, 1.0)))
    assert log == [("leaf", 2.0)]


def test_a_diamond_runs_its_meeting_point_once():
    log, leaf = [], Leaf()
    bottom = Scale("bottom", [leaf], (10.0,), log)
    left, right = Scale("left", [bottom], (2.0,), log), Scale("right", [bottom], (3.0,), log)
    run(Scale("top", [left, right], None, log))
    assert log == [("top", 1.0), ("right", 1.0), ("left", 1.0), ("bottom", 5.0)]
    assert leaf.grad == 50.0


class Watched(Floats):
    """A gradient type that notes what it runs; ``plain`` says whether it may be kept from seeing the start."""

    def __init__(self, plain):
        super().__init__()
        self.plain, self.ran = plain, []

    def run(self, node, grads, needed):
        self.ran.append(name_of(node))
        return node.apply_values(grads, needed)


@pytest.mark.parametrize("accumulate", [True, False])
def test_who_looks_at_nodes_sees_the_start_and_who_does_not_gets_the_same(accumulate):
    found = {}
    for plain in (True, False):
        leaf, other = Leaf(), Leaf()
        top = Scale("top", [Scale("left", [leaf], (2.0,)), Scale("right", [leaf, other], (3.0, 5.0)), leaf], None)
        gradient_ops = Watched(plain)
        captured = run(top, outputs=[leaf, other], accumulate=accumulate, gradient_ops=gradient_ops)
        found[plain] = captured, leaf.grad, other.grad
        assert ("GraphRoot" in gradient_ops.ran) is not plain
    assert found[True] == found[False]


def test_the_only_root_may_be_captured_itself():
    leaf = Leaf()
    root = Scale("root", [leaf], (3.0,))
    assert run(root, outputs=[root, leaf], gradient_ops=Watched(True)) == [1.0, 3.0]
    assert run(root, outputs=[root], gradient_ops=Watched(True)) == [1.0]


def test_a_ladder_of_diamonds_visits_each_node_once():
    log, leaf = [], Leaf()
    node = leaf
    for _ in range(30):  # 2**30 paths
        left, right = Scale("left", [node], (0.5,), log), Scale("right", [node], (0.5,), log)
        node = Scale("top", [left, right], None, log)
    run(node)
    assert len(log) == 90
    assert leaf.grad == 1.0


def test_the_same_root_twice_adds_its_seeds():
    log, leaf = [], Leaf()
    root = Scale("root", [leaf], (3.0,), log)
    run(root, root, seeds=[1.0, 4.0])
    assert log == [("root", 5.0)]
    assert leaf.grad == 15.0


def test_a_root_that_depends_on_another_root():
    log, leaf = [], Leaf()
    lower = Scale("lower", [leaf], (2.0,), log)
    upper = Scale("upper", [lower], (10.0,), log)
    run(lower, upper, seeds=[1.0, 1.0])
    assert log == [("upper", 1.0), ("lower", 11.0)]
    assert leaf.grad == 22.0


def test_a_leaf_as_root():
    leaf = Leaf()
    run(leaf, seeds=[7.0])
    assert leaf.grad == 7.0


def test_gradients_arrive_in_the_slot_that_the_edge_names():
    class Pair(Scale):
        input_slots = 2

    log, leaf = [], Leaf()
    pair = Pair("pair", [leaf], None, log)
    first, second = Scale("first", [(pair, 0)], (2.0,)), Scale("second", [(pair, 1)], (3.0,))
    run(Scale("top", [first, second, (pair, 1)], (1.0, 1.0, 4.0)))
    assert log == [("pair", 2.0, 7.0)]


def test_slots_that_nothing_reaches_are_undefined():
    class Pair(Scale):
        input_slots = 2

    log = []
    run((Pair("pair", [Leaf()], None, log), 1))
    assert log == [("pair", None, 1.0)]


def test_undefined_gradients_flow_and_add_nothing():
    log, leaf = [], Leaf()
    bottom = Scale("bottom", [leaf], None, log)
    undefined = Scale("undefined", [bottom], None, log)
    undefined.apply_values = lambda grads, needed: [None]
    gradient_ops = Floats()
    run(Scale("top", [undefined, bottom], (1.0, 2.0)), gradient_ops=gradient_ops)
    assert log == [("bottom", 2.0)]
    assert gradient_ops.additions == []


def test_a_leaf_that_only_undefined_gradients_reach_stays_without():
    leaf = Leaf()
    run(Scale("top", [leaf]), seeds=[None])
    assert leaf.grad is None


def test_no_edge_no_gradient():
    leaf = Leaf()
    run(Scale("top", [None, leaf, None], (5.0, 2.0, 5.0)))
    assert leaf.grad == 2.0


def test_additions_happen_in_the_order_of_arrival_and_never_with_undefined():
    leaf, gradient_ops = Leaf(), Floats()
    run(Scale("top", [leaf, leaf, leaf], (1.0, 2.0, 4.0)), gradient_ops=gradient_ops)
    assert gradient_ops.additions == [(1.0, 2.0), (3.0, 4.0)]


def test_a_node_must_return_one_gradient_for_each_edge():
    root = Scale("top", [Leaf(), Leaf()], (1.0,))
    with pytest.raises((ValueError, RuntimeError)):
        run(root)


# -- what waits: buffer, dependencies ----------------------------------------------------------------------------------


def test_input_buffer_sums_by_slot():
    buffer = InputBuffer((None, None, None))
    for position, grad in ((2, 1.0), (0, None), (2, 5.0), (2, None), (1, None)):
        buffer.accumulate(position, grad, float.__add__)
    assert buffer == [None, None, 6.0]


def test_input_buffer_never_writes_into_what_it_was_given():
    first, second = [1.0], [2.0]
    buffer = InputBuffer((None,))
    buffer.accumulate(0, first, lambda a, b: [a[0] + b[0]])
    buffer.accumulate(0, second, lambda a, b: [a[0] + b[0]])
    assert (first, second, buffer) == ([1.0], [2.0], [[3.0]])


def counted(root):
    task = GraphTask(Floats(), keep_graph=False, create_graph=False, depth=0)
    task.count_dependencies(root)
    return task


def test_dependencies_count_edges_not_nodes():
    leaf = Leaf()
    bottom = Scale("bottom", [leaf, leaf])
    top = Scale("top", [bottom, None, bottom, leaf])
    assert counted(top).dependencies == {bottom: 2, leaf: 3}


def test_all_nodes_are_counted_once_however_many_paths_lead_to_them():
    node = leaf = Leaf()
    for _ in range(40):
        node = Scale("double", [node, node])
    dependencies = counted(node).dependencies
    assert len(dependencies) == 40
    assert set(dependencies.values()) == {2}
    assert dependencies[leaf] == 2


# -- the order ---------------------------------------------------------------------------------------------------------


def test_the_node_made_last_runs_first():
    log = []
    first, second, third = (Scale(name, [Leaf()], None, log) for name in ("first", "second", "third"))
    run(Scale("top", [second, third, first], None, log))
    assert [label for label, _ in log] == ["top", "third", "second", "first"]


def test_leaves_accumulate_as_soon_as_they_can():
    log, leaf = [], None
    leaf = Leaf(log)
    below = Scale("below", [Leaf()], None, log)
    run(Scale("top", [below, leaf], None, log))
    assert [label for label, _ in log] == ["top", "leaf", "below"]


@pytest.mark.parametrize("hooked, leaves", [(False, text) for text in ("ab", "abc", "abcd", "abcde")]
                         + [(True, text) for text in ("ab", "abc", "acbd", "acebd")])  # fmt: skip
def test_equals_run_in_the_order_of_arrival_and_in_that_of_a_heap_where_hooks_see_it(hooked, leaves, monkeypatch):
    """See Note [Turns]."""
    monkeypatch.setattr(NodeHooks, "made", hooked)
    monkeypatch.setattr(NodeHooks, "of_leaves", False)
    log, labels = [], sorted(leaves)
    ends = [Leaf(log, label) for label in labels]
    below = Scale("below", ends, None, log)
    run(Scale("top", [below, *ends], None, log))
    assert "".join(label for label, _ in log) == "topbelow" + leaves


def test_set_sequence_nr_drives_the_order():
    log = []
    first, second = Scale("first", [Leaf()], None, log), Scale("second", [Leaf()], None, log)
    top = Scale("top", [first, second], None, log)
    first._set_sequence_nr(second._sequence_nr() + 1)
    run(top)
    assert [label for label, _ in log] == ["top", "first", "second"]


def test_a_node_waits_for_all_of_its_gradients_even_if_it_was_made_last():
    log = []
    late = Scale("late", [Leaf()], None, log)
    middle = Scale("middle", [late], None, log)
    late._set_sequence_nr(HIGHEST_SEQUENCE_NR - 1)
    run(Scale("top", [late, middle], None, log))
    assert log == [("top", 1.0), ("middle", 1.0), ("late", 2.0)]


# -- outputs: captures and pruning -------------------------------------------------------------------------------------


def two_branches():
    log, x, y = [], Leaf(label="x"), Leaf(label="y")
    x.log = y.log = log
    left, right = Scale("left", [x], (2.0,), log), Scale("right", [y], (3.0,), log)
    return log, x, y, left, right, Scale("top", [left, right], None, log)


def test_a_capture_is_what_would_enter_the_leaf_which_does_not_run():
    log, x, y, _, _, top = two_branches()
    assert run(top, outputs=[x]) == [2.0]
    assert (x.grad, y.grad) == (None, None)
    assert [label for label, _ in log] == ["top", "left"]


def test_the_branch_that_nobody_asked_for_does_not_run_and_is_not_asked():
    log, _, y, left, right, top = two_branches()
    assert run(top, outputs=[y]) == [3.0]
    assert [label for label, _ in log] == ["top", "right"]
    assert top.needed == (False, True)
    assert left.needed == "never run"
    assert right.needed is None  # all that there is


def test_without_outputs_nodes_are_asked_for_everything():
    *_, left, _, top = two_branches()
    run(top)
    assert top.needed is None and left.needed is None


def test_accumulating_into_chosen_leaves_only():
    log, x, y, _, _, top = two_branches()
    assert run(top, outputs=[x], accumulate=True) == []
    assert (x.grad, y.grad) == (2.0, None)
    assert [label for label, _ in log] == ["top", "left", "x"]


def test_several_captures_in_the_order_asked_for_with_repetition():
    _, x, y, left, _, top = two_branches()
    assert run(top, outputs=[y, x, y, left]) == [3.0, 2.0, 3.0, 1.0]


def test_a_capture_in_the_middle_does_not_stop_what_flows_on():
    log, x, _, left, _, top = two_branches()
    assert run(top, outputs=[left, x]) == [1.0, 2.0]
    assert [label for label, _ in log] == ["top", "left"]


def test_a_node_that_is_only_captured_neither_runs_nor_forgets():
    log, _, _, left, right, top = two_branches()
    assert run(top, outputs=[left]) == [1.0]
    assert [label for label, _ in log] == ["top"]
    assert (top.released, left.released, right.released) == (True, False, False)


def test_the_root_itself_can_be_captured():
    log, *_, top = two_branches()
    assert run(top, seeds=[4.0], outputs=[top]) == [4.0]
    assert log == []


def test_an_output_that_is_not_reached_gives_nothing_and_nothing_runs():
    log, *_, top = two_branches()
    assert run(top, outputs=[Leaf()]) == [None]
    assert log == []


def test_a_capture_sums_all_paths():
    leaf = Leaf()
    bottom = Scale("bottom", [leaf], (10.0,))
    left, right = Scale("left", [bottom], (2.0,)), Scale("right", [bottom], (3.0,))
    assert run(Scale("top", [left, right]), outputs=[bottom, leaf]) == [5.0, 50.0]


def test_a_capture_takes_the_slot_that_was_asked_for():
    class Pair(Scale):
        input_slots = 2

    pair = Pair("pair", [Leaf()])
    top = Scale("top", [(pair, 0), (pair, 1)], (2.0, 3.0))
    assert run(top, outputs=[(pair, 1), (pair, 0)]) == [3.0, 2.0]


def test_pruned_nodes_do_not_hold_up_those_that_run():
    """``below`` waits for a gradient from ``left``, which runs, and for none from ``right``, which does not."""
    log, x, y = [], Leaf(), Leaf()
    right = Scale("right", [y], None, log)
    left = Scale("left", [x, right], (2.0, 1.0), log)
    assert run(Scale("top", [left, right], None, log), outputs=[x]) == [2.0]
    assert [label for label, _ in log] == ["top", "left"]


def test_pruning_walks_a_ladder_of_diamonds_in_linear_time():
    node = leaf = Leaf()
    for _ in range(60):
        node = Scale("double", [node, node], (0.5, 0.5))
    assert run(node, outputs=[leaf]) == [1.0]


def test_a_root_that_is_alone_runs_the_hooks_of_its_outputs_though_nothing_wanted_is_behind_it():
    log, other = [], Leaf()
    root = Scale("root", [Leaf(log)], (2.0,), log)
    root.own_hooks().attach_tensor(0, {0: lambda grad: log.append(("hook", grad))})
    root.own_hooks().add_pre(lambda grads: log.append("before the node"))
    assert run(root, outputs=[other]) == [None]
    run(root, outputs=[other], accumulate=True)
    assert log == [("hook", 1.0), ("hook", 1.0)]
    assert not root.released


def test_of_several_roots_those_that_lead_nowhere_wanted_run_no_hooks():
    log, wanted = [], Leaf()
    useless, useful = Scale("useless", [Leaf(log)], None, log), Scale("useful", [wanted], (3.0,), log)
    useless.own_hooks().attach_tensor(0, {0: lambda grad: log.append("hook")})
    assert run(useless, useful, outputs=[wanted]) == [3.0]
    assert log == [("useful", 1.0)]


# -- random graphs -----------------------------------------------------------------------------------------------------


def random_graph(seed, size=40):
    """Nodes with random edges to earlier ones, a log of who ran, and what each node must receive from seeds of 1."""
    rng, log, nodes = random.Random(seed), [], [Leaf(label="0"), Leaf(label="1"), Leaf(label="2")]
    for leaf in nodes:
        leaf.log = log
    for number in range(3, size):
        edges = [rng.choice([*nodes, None]) for _ in range(rng.randint(1, 3))]
        nodes.append(Scale(str(number), edges, [rng.choice([-2.0, 0.5, 1.0, 3.0]) for _ in edges], log))
    roots = rng.sample(nodes[-5:], 2)
    received = dict.fromkeys(nodes, None)
    for root in roots:
        received[root] = 1.0
    for node in reversed(nodes[3:]):
        if received[node] is not None:
            for edge, weight in zip(node.next_edges, node.weights, strict=True):
                if edge is not None:
                    received[edge[0]] = (received[edge[0]] or 0.0) + weight * received[node]
    return rng, log, nodes, roots, received


def leads_to(node, targets):
    """Whether a path of at least one edge leads from ``node`` to one of ``targets``."""
    stack, seen = [node], set()
    while stack:
        for edge in stack.pop().next_edges:
            if edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                stack.append(edge[0])
    return bool(seen & set(targets))


@pytest.mark.parametrize("seed", range(20))
def test_a_random_graph_gives_every_node_its_gradient_once_and_in_order(seed):
    _, log, nodes, roots, received = random_graph(seed)
    run(*roots)
    assert {int(label): grad for label, grad in log} == {
        number: pytest.approx(received[node]) for number, node in enumerate(nodes) if received[node] is not None
    }
    inner = [int(label) for label, _ in log if int(label) >= 3]
    assert inner == sorted(inner, reverse=True)
    assert len(log) == len(set(log))


@pytest.mark.parametrize("seed", range(20))
def test_a_random_graph_with_outputs_runs_what_leads_to_them_and_nothing_else(seed):
    rng, log, nodes, roots, received = random_graph(seed)
    outputs = rng.sample(nodes, 3)
    found = run(*roots, outputs=outputs)
    assert found == [None if received[node] is None else pytest.approx(received[node]) for node in outputs]
    expected = {
        str(number)
        for number, node in enumerate(nodes)
        if received[node] is not None and leads_to(node, outputs)
    }  # fmt: skip
    assert {label for label, _ in log} == expected


# -- size --------------------------------------------------------------------------------------------------------------


@pytest.mark.ring("full")
def test_a_million_nodes_without_recursion_in_linear_time():
    def seconds(length):
        leaf = Leaf()
        root = chain(length, leaf)
        start = time.process_time()
        run(root)
        assert leaf.grad == 1.0
        return time.process_time() - start, root

    gc.disable()  # its passes over a growing heap are not the engine's
    try:
        short, _ = seconds(100_000)
        long, root = seconds(1_000_000)
    finally:
        gc.enable()
    assert long < 30 * short  # ten times for a linear engine, a hundred for a quadratic one
    last = weakref.ref(root)
    del root, _
    assert last() is None


def test_a_long_graph_with_skips_is_pruned_and_dropped_without_recursion():
    leaf = previous = Leaf()
    node = Scale("link", [leaf])
    for _ in range(150_000):
        node, previous = Scale("link", [node, previous], (0.5, 0.0)), node
    first = weakref.ref(leaf)
    assert run(node, outputs=[leaf]) == [0.0]
    assert node.topological_nr == 150_001
    del node, previous, leaf
    assert first() is None


# -- what the engine does not know -------------------------------------------------------------------------------------

PACKAGE = Path(sys.modules["tapegrad"].__file__).parent

ALONE = """
import sys, types
package = types.ModuleType("tapegrad")
package.__path__ = [sys.argv[1]]
sys.modules["tapegrad"] = package
import tapegrad._src.engine, tapegrad._src.tape.node, tapegrad._src.tape.modes
print(sorted(name for name in sys.modules if name.split(".")[0] in ("jax", "jaxlib", "numpy", "tapegrad")))
"""


def test_engine_and_tape_load_without_jax_and_without_the_rest_of_the_house():
    result = subprocess.run([sys.executable, "-c", ALONE, str(PACKAGE)], capture_output=True, text=True, check=True)
    loaded = ast.literal_eval(result.stdout)
    assert {name.split(".")[0] for name in loaded} == {"tapegrad"}
    assert {name.split(".")[2] for name in loaded if name.count(".") > 1} == {"doors", "engine", "tape"}

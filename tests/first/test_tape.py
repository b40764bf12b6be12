"""The tape by itself: modes, nodes, edges."""

import threading

import pytest
from fake_nodes import Leaf, Scale, Trouble, chain

from tapegrad._src.tape.modes import Modes, switched, thread
from tapegrad._src.tape.node import HIGHEST_SEQUENCE_NR, Node, next_sequence_nr

pytestmark = pytest.mark.once("no operator runs")

# -- modes -------------------------------------------------------------------------------------------------------------


def test_equal_modes_are_the_same_object():
    assert Modes.of(grad=False) is Modes.of(grad=False, inference=False)
    assert Modes.of(grad=False) is not Modes.of()
    assert Modes.of(grad=False, inference=True).replace(grad=True) is Modes.of(inference=True)


def test_modes_are_immutable():
    modes = Modes.of()
    with pytest.raises(AttributeError, match="replace"):
        modes.grad = False
    assert modes.grad is True


class Detection:
    """Stands for a setting of anomaly detection."""

    enabled = True


FOLLOWING = {"grad": ["grad_enabled"], "deferred": ["deferred_enabled"], "inference": ["grad"],
             "anomaly": ["detecting", "recording"], "source_lines": ["recording"], "forked": ["deferred"]}  # fmt: skip
"""Modes that another one changes."""


@pytest.mark.parametrize("name", Modes._defaults)
def test_every_mode_has_a_default_and_can_be_replaced(name):
    value = Detection if name == "anomaly" else "changed"
    changed = Modes.of().replace(**{name: value})
    others = {other for other in Modes.__slots__ if other[0] != "_"} - {name, *FOLLOWING.get(name, [])}
    assert getattr(changed, name) == value
    assert all(getattr(changed, other) == getattr(Modes.of(), other) for other in others)
    assert f"{name}={value}" in repr(changed)


def test_nothing_is_recorded_in_inference_mode_whatever_the_grad_mode():
    for enabled in (True, False):
        modes = Modes.of(inference=True, grad=enabled)
        assert modes.grad is False and modes.grad_enabled is enabled
        assert modes.replace(inference=False) is Modes.of(grad=enabled)


def test_switched_restores_the_callers_modes_also_after_an_exception():
    before = thread.modes
    with switched(grad=False):
        with pytest.raises(Trouble), switched(grad=True, inference=True):
            assert thread.modes is Modes.of(inference=True)
            raise Trouble
        assert thread.modes is before.replace(grad=False)
    assert thread.modes is before


def test_modes_belong_to_a_thread():
    seen = []
    with switched(grad=False):
        other = threading.Thread(target=lambda: seen.append(thread.modes))
        other.start()
        other.join()
    assert seen == [Modes.of()]


# -- nodes -------------------------------------------------------------------------------------------------------------


def test_sequence_numbers_grow_and_stay_below_that_of_accumulators():
    first, second = next_sequence_nr(), next_sequence_nr()
    assert first < second < HIGHEST_SEQUENCE_NR
    node = Scale("node", [])
    assert node._sequence_nr() == node.sequence_nr > second


def test_sequence_numbers_are_unique_across_threads():
    numbers = []

    def take():
        numbers.append([next_sequence_nr() for _ in range(5000)])

    threads = [threading.Thread(target=take) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len({number for taken in numbers for number in taken}) == 20_000
    assert all(taken == sorted(taken) for taken in numbers)


def test_next_functions_show_missing_edges():
    leaf = Leaf()
    assert Scale("top", [None, (leaf, 0), (leaf, 1)]).next_functions == ((None, 0), (leaf, 0), (leaf, 1))
    assert leaf.next_functions == ()


def test_topological_nr_is_the_length_of_the_longest_path():
    leaf = Leaf()
    short = Scale("short", [leaf])
    top = Scale("top", [short, None, chain(3, leaf)])
    assert (leaf.topological_nr, short.topological_nr, top.topological_nr) == (0, 1, 4)


def test_topological_nr_does_not_depend_on_sequence_numbers():
    leaf = Leaf()
    bottom = Scale("bottom", [leaf])
    top = Scale("top", [Scale("middle", [bottom]), leaf])
    bottom._set_sequence_nr(top.sequence_nr + 1)
    assert top.topological_nr == 3


def test_own_hooks_are_made_once_and_per_node():
    first, second = Scale("first", []), Scale("second", [])
    assert first.own_hooks() is first.own_hooks()
    assert second.hook_slots is None and Node.hook_slots is None


def test_metadata_is_per_node():
    first, second = Scale("first", []), Scale("second", [])
    first.metadata["note"] = 1
    assert first.metadata == {"note": 1} and second.metadata == {}


def test_a_node_without_a_backward_says_so_by_name():
    class Mystery(Node):
        next_edges = ()

    for backward, gradient_ops in ((Mystery().apply_values, "values"), (Mystery().apply, "tensors")):
        with pytest.raises(NotImplementedError, match=f"Mystery has no backward on {gradient_ops}"):
            backward([1.0], None)


def test_a_node_is_named_after_its_class():
    assert Leaf().name() == "Leaf"
    assert repr(chain(0, Leaf())).startswith("<")

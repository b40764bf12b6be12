"""The comparisons of views and writes can fail: what is broken on purpose is found."""

import pytest
from harness import agree

from tapegrad._src.bindings import viewing
from tapegrad._src.bindings.writes import in_place
from tapegrad._src.dispatch import view_history
from tapegrad._src.tensor import storage, tensor
from tapegrad._src.tensor.storage import Counter
from tests.parity.views.test_view_aliasing import overlapping
from tests.parity.views.test_view_history import a_write_through_a_view, writes_in_turns
from tests.parity.views.test_view_hooks import order_of_running
from tests.parity.views.test_view_refusals import which_output_is_named
from tests.parity.views.test_view_versions import base_views_and_detached, which_node_is_named

pytestmark = pytest.mark.parity


def late_turn(base, edge, original=view_history.take_history):
    original(base, edge)
    if base._view is not None:
        base._view.turn = None


def old_numbers(window, original=tensor.window_value):
    return original(window) if window._value is None else window._value


def all_to_the_base(self, grads, needed):
    return (grads[0],) + (None,) * (len(self.next_edges) - 1)


UNMOVED = property(lambda self: 0, lambda self, version: None)
"""A count that stays where it is."""


BROKEN = {
    "creation is forgotten": (viewing, "creation_of", lambda origin, creation: None, which_output_is_named),
    "what was written gets no gradient": (
        view_history.CopySlices, "apply_values", all_to_the_base, a_write_through_a_view,
    ),
    "places are not made again": (tensor, "edge_of", lambda tensor: tensor._edge, writes_in_turns),
    "windows don't look": (tensor, "window_value", old_numbers, overlapping),
    "writes are not counted": (Counter, "version", UNMOVED, base_views_and_detached),
    "nobody notices": (storage.Counter, "version", UNMOVED, which_node_is_named),
}


@pytest.mark.parametrize(("where", "what", "broken", "program"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_broken_is_found(monkeypatch, where, what, broken, program):
    agree(program)
    monkeypatch.setattr(where, what, broken)
    with pytest.raises(AssertionError):
        agree(program)


def test_a_late_turn_is_found(monkeypatch):
    agree(order_of_running)
    monkeypatch.setattr(in_place, "take_history", late_turn)
    with pytest.raises(AssertionError):
        agree(order_of_running)
